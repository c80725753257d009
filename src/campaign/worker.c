/* SPDX-License-Identifier: MIT */
/* A child process simulates one case and writes its JSON into a pipe; the parent reads, watches and ends it. */
#include "campaign/worker.h"

#include "base/arena.h"
#include "base/checkpoint_file.h"
#include "base/number.h"
#include "campaign/commands.h"
#include "case/run.h"
#include "case/specification.h"
#include "share/load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than any result: a worker that writes more has gone astray. */
#define MESSAGE_MAX_BYTES (UINT64_C(64) << 20)

#define NICENESS 10

#define OWN_WORDS 9u           /* of a command, besides its options and arguments */
#define MESSAGE_MARK "corun: " /* what a command begins its messages with */
#define SAID_BYTES 65536       /* of what it says: the end */
#define INTERRUPTED 130        /* its exit status then */
#define NOT_LOADED 127         /* that of the dynamic linker */

struct header {
    uint64_t end, bytes; /* enum worker_end; of the text that follows */
};

static void send(int pipe, enum worker_end end, const char *text, size_t bytes)
{
    struct header header = {end, bytes};
    const char *parts[] = {(const char *)&header, text};
    size_t sizes[] = {sizeof header, bytes};
    for (int i = 0; i < 2; i++) {
        for (size_t done = 0; done < sizes[i];) {
            ssize_t written = write(pipe, parts[i] + done, sizes[i] - done);
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                return; /* the parent is gone */
            done += (size_t)written;
        }
    }
}

/* The first message of an error, or what the status means. */
static const char *reason(const struct corun_diagnostics *list, enum corun_status status)
{
    for (size_t i = 0; list && i < corun_diagnostics_count(list); i++) {
        if (corun_diagnostics_get(list, i)->status != CORUN_OK)
            return corun_diagnostics_get(list, i)->message;
    }
    return corun_status_meaning(status);
}

static void on_policy_call(void *user, bool begins)
{
    struct worker_watch *watch = user;
    watch->inside_since = begins ? run_clock() : 0;
}

/* A state that cannot be read is none: the case begins anew. */
static void drop_damaged(const char *path)
{
    struct checkpoint_reader *reader;
    if (checkpoint_read(path, NULL, &reader) == CORUN_SYNTAX)
        remove(path);
    checkpoint_reader_destroy(reader);
}

/* In the child: simulates and writes the JSON to `stream`. */
static enum corun_status simulate(const struct corun_campaign_run_request *request,
                                  const struct corun_campaign_case *item, const char *checkpoint,
                                  struct worker_watch *watch, struct arena *arena, struct corun_diagnostics *list,
                                  FILE *stream)
{
    struct corun_gpu_config gpu;
    struct corun_case_application applications[CORUN_MAX_APPLICATIONS];
    struct corun_case job = {.gpu = &gpu,
                             .applications = applications,
                             .application_count = item->application_count,
                             .cycles = item->cycles,
                             .settle = item->settle,
                             .seed = item->seed,
                             .threads = 1,
                             .baseline_jobs = 1,
                             .data_directory = request->data_directory,
                             .cache_directory = request->cache_directory,
                             .replay_directory = request->replay_directory,
                             .checkpoint_file = checkpoint,
                             .checkpoint_seconds = request->checkpoint_seconds,
                             .checkpoint_optional = true,
                             .resume_file = checkpoint};
    if (checkpoint)
        drop_damaged(checkpoint);
    enum corun_status status = corun_gpu_config_load(item->gpu, request->data_directory, list, &gpu);
    if (policy_path_length(item->policy)) {
        job.policy_call = on_policy_call;
        job.policy_call_user = watch;
        on_policy_call(watch, true); /* it is loaded */
    }
    if (!status)
        status = specify_policy(item->policy, arena, list, &job.policy, &job.parameters);
    on_policy_call(watch, false);
    for (uint32_t i = 0; i < item->application_count && !status; i++)
        status = specify_application(item->applications[i], arena, list, &applications[i]);
    struct corun_case_result *result = NULL;
    if (!status)
        status = corun_case_run(&job, list, &result);
    for (uint32_t i = 0; result && i < result->application_count && !status; i++)
        status = result->applications[i].result.status;
    if (!status)
        status = request->write(result, stream);
    corun_case_result_destroy(result);
    return status;
}

/* In the child: it becomes the command. Comes back, with errno, only if that cannot be. */
static void become_command(const struct corun_campaign_run_request *request, const struct corun_campaign_case *item,
                           int pipe, FILE *said)
{
    struct arena *arena = arena_create();
    const struct command_kind *kind = command_find(item->command);
    const char **words =
        arena ? ARENA_ARRAY(arena, const char *, item->option_count + item->application_count + OWN_WORDS) : NULL;
    size_t count = 0;
    errno = ENOMEM;
    if (!words)
        return;
    words[count++] = request->program;
    words[count++] = item->command;
    for (uint32_t i = 0; i < item->option_count; i++) {
        const struct corun_campaign_option *option = &item->options[i];
        words[count] = option->value ? arena_format(arena, "--%s=%s", option->name, option->value)
                                     : arena_format(arena, "--%s", option->name);
        if (!words[count++])
            return;
    }
    words[count++] = "--json=-";
    words[count++] = "--quiet";
    if (kind->has_jobs)
        words[count++] = "--jobs=1";
    if (kind->has_cache) {
        words[count++] =
            request->cache_directory ? arena_format(arena, "--cache=%s", request->cache_directory) : "--no-cache";
        if (!words[count - 1])
            return;
    }
    words[count++] = "--";
    for (uint32_t i = 0; i < item->application_count; i++)
        words[count++] = item->applications[i];
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(pipe, STDOUT_FILENO) < 0 ||
        dup2(fileno(said), STDERR_FILENO) < 0)
        return;
    signal(SIGPIPE, SIG_DFL);
    execv(request->program, (char *const *)words);
}

/* Who works at this machine comes first, unless CORUN_NICENESS says something else; it does not matter if that cannot be. */
static void be_nice(void)
{
    const char *said = getenv("CORUN_NICENESS");
    uint64_t niceness;
    (void)!nice(said && number_parse(said, 1000, &niceness) && niceness < 20 ? (int)niceness : NICENESS);
}

/* What every worker is for its parent and its machine. */
static void settle_child(pid_t parent, const struct corun_campaign_run_request *request)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would read what it writes */
    if (getppid() != parent)          /* it was gone before that */
        _exit(0);
    be_nice();
    signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    signal(SIGPIPE, SIG_IGN);
    sigset_t none; /* the parent may have blocked those that it waits for */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (request->memory_bytes) {
        struct rlimit limit = {request->memory_bytes, request->memory_bytes};
        setrlimit(RLIMIT_AS, &limit);
    }
}

__attribute__((noreturn)) static void run_command(int pipe, pid_t parent, FILE *said,
                                                  const struct corun_campaign_run_request *request, size_t index)
{
    settle_child(parent, request);
    become_command(request, corun_campaign_get(request->campaign, index), pipe, said);
    dprintf(fileno(said), MESSAGE_MARK "%s cannot be run: %s\n", request->program, strerror(errno));
    _exit(corun_status_exit(CORUN_FILE));
}

__attribute__((noreturn)) static void run_child(int pipe, pid_t parent, struct worker_watch *watch,
                                                const struct corun_campaign_run_request *request, size_t index,
                                                const char *checkpoint)
{
    settle_child(parent, request);
    struct arena *arena = arena_create();
    struct corun_diagnostics *list = corun_diagnostics_create();
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    enum corun_status status = CORUN_MEMORY;
    if (arena && list && stream)
        status =
            simulate(request, corun_campaign_get(request->campaign, index), checkpoint, watch, arena, list, stream);
    if (stream && fclose(stream) != 0)
        status = CORUN_MEMORY;
    if (status == CORUN_OK) {
        send(pipe, WORKER_RESULT, text, bytes);
    } else {
        const char *why = reason(list, status);
        send(pipe, status == CORUN_MEMORY ? WORKER_LOST : WORKER_FAILURE, why, strlen(why));
    }
    _exit(0); /* what the parent has in its buffers is not for this process to write */
}

/* A file that is in memory only. */
static bool open_said(struct worker *worker)
{
    int file = memfd_create("said", MFD_CLOEXEC);
    worker->said = file >= 0 ? fdopen(file, "r+") : NULL;
    if (!worker->said && file >= 0)
        close(file);
    return worker->said != NULL;
}

static void close_said(struct worker *worker)
{
    if (worker->said)
        fclose(worker->said);
    worker->said = NULL;
}

bool worker_start(struct worker *worker, const struct corun_campaign_run_request *request, size_t index)
{
    int ends[2];
    bool is_command = corun_campaign_get(request->campaign, index)->command != NULL;
    if (!worker->watch) {
        void *shared = mmap(NULL, sizeof *worker->watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
            return false;
        worker->watch = shared;
    }
    worker->watch->inside_since = 0;
    if (is_command && !open_said(worker))
        return false;
    if (pipe2(ends, O_CLOEXEC)) {
        close_said(worker);
        return false;
    }
    fflush(NULL); /* what is in our buffers would be written once more if a policy called exit() */
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        close_said(worker);
        errno = error;
        return false;
    }
    if (pid == 0) {
        close(ends[0]);
        if (is_command)
            run_command(ends[1], parent, worker->said, request, index);
        run_child(ends[1], parent, worker->watch, request, index, worker->checkpoint);
    }
    close(ends[1]);
    worker->pid = pid;
    worker->pipe = ends[0];
    worker->index = index;
    worker->started = run_clock();
    worker->out_of_time = worker->too_long = worker->stuck = false;
    worker->bytes = 0;
    return true;
}

/* Room for so many more, and a NUL. */
static bool make_room(struct worker *worker, size_t bytes)
{
    size_t wanted = worker->bytes + bytes + 1;
    if (wanted <= worker->capacity)
        return true;
    size_t capacity = worker->capacity * 2 > wanted ? worker->capacity * 2 : wanted;
    char *message = realloc(worker->message, capacity);
    if (!message)
        return false;
    worker->message = message;
    worker->capacity = capacity;
    return true;
}

bool worker_read(struct worker *worker)
{
    char chunk[65536];
    ssize_t bytes = read(worker->pipe, chunk, sizeof chunk);
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    worker->too_long = bytes > 0 && worker->bytes + (size_t)bytes > MESSAGE_MAX_BYTES;
    if (bytes < 0 || worker->too_long || !make_room(worker, (size_t)bytes)) {
        kill(worker->pid, SIGKILL); /* it may be waiting for us to read the rest */
        worker->bytes = 0;
        return true;
    }
    memcpy(worker->message + worker->bytes, chunk, (size_t)bytes);
    worker->bytes += (size_t)bytes;
    worker->message[worker->bytes] = 0;
    return bytes == 0;
}

void worker_watch(struct worker *worker, const struct corun_campaign_run_request *request)
{
    if (!worker->pid || worker->out_of_time || worker->stuck)
        return;
    double now = run_clock(), since = worker->watch->inside_since;
    worker->stuck = since > 0 && now - since > CORUN_POLICY_SECONDS + 1;
    worker->out_of_time = !worker->stuck && request->seconds && now - worker->started > request->seconds;
    if (worker->stuck || worker->out_of_time)
        kill(worker->pid, SIGKILL);
}

/* Signals that a program brings on itself; with a limit, memory that is not to be had leads to them, too. */
static bool is_own_fault(int number, const struct corun_campaign_run_request *request)
{
    switch (number) {
    case SIGFPE:
    case SIGILL:
    case SIGSYS:
    case SIGTRAP:
        return true;
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
        return !request->memory_bytes;
    default:
        return false;
    }
}

/* What happened to a worker without a message of its own. */
static enum worker_end explain(const struct worker *worker, const struct corun_campaign_run_request *request,
                               int status, char *text, size_t bytes)
{
    const char *policy = corun_campaign_get(request->campaign, worker->index)->policy;
    int path = (int)policy_path_length(policy), number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool inside = worker->watch->inside_since > 0;
    enum worker_end end = WORKER_FAILURE;
    if (worker->stuck) {
        snprintf(text, bytes, "policy %.*s: one call of it did not return within %d seconds", path, policy,
                 CORUN_POLICY_SECONDS);
        return end;
    }
    if (worker->out_of_time || worker->too_long || (number && !is_own_fault(number, request)))
        end = WORKER_LOST;
    if (worker->out_of_time)
        snprintf(text, bytes, "it took longer than %u seconds", request->seconds);
    else if (worker->too_long)
        snprintf(text, bytes, "its result is longer than %u MiB", (unsigned)(MESSAGE_MAX_BYTES >> 20));
    else if (number && inside && number != SIGKILL)
        snprintf(text, bytes, "policy %.*s crashed: signal %d (%s)", path, policy, number, strsignal(number));
    else if (number)
        snprintf(text, bytes, "the worker was killed by signal %d (%s)%s", number, strsignal(number),
                 number == SIGKILL ? ", as the system does when memory runs out" : "");
    else if (inside)
        snprintf(text, bytes, "policy %.*s ended the process, with status %d", path, policy, WEXITSTATUS(status));
    else
        snprintf(text, bytes, "the worker ended with status %d and no result", WEXITSTATUS(status));
    size_t length = strlen(text);
    if (path && strncmp(text, "policy ", 7) != 0) /* code that is not ours comes to mind first */
        snprintf(text + length, bytes - length, "; it ran %.*s", path, policy);
    return end;
}

/* The first message that a command ended with, else its last words. False: it said nothing. */
static bool find_message(FILE *said, char *message, size_t bytes)
{
    char tail[SAID_BYTES + 1];
    long end = fseek(said, 0, SEEK_END) ? 0 : ftell(said);
    if (end <= 0 || fseek(said, end > SAID_BYTES ? end - SAID_BYTES : 0, SEEK_SET))
        return false;
    char *line, *rest = tail, *last = NULL;
    tail[fread(tail, 1, SAID_BYTES, said)] = 0;
    while ((line = strsep(&rest, "\n"))) {
        bool is_ours = !strncmp(line, MESSAGE_MARK, strlen(MESSAGE_MARK)) && !strstr(line, ": warning: ");
        last = *line ? line : last;
        if (!is_ours)
            continue;
        last = line + strlen(MESSAGE_MARK);
        break;
    }
    if (last)
        snprintf(message, bytes, "%s", last);
    return last != NULL;
}

/* Out of memory, also when it was to be loaded; or interrupted. */
static bool is_hosts_fault(int exit_status, const struct corun_campaign_run_request *request)
{
    return exit_status == corun_status_exit(CORUN_MEMORY) || exit_status == INTERRUPTED ||
           (exit_status == NOT_LOADED && request->memory_bytes);
}

/* How a command ended. */
static enum worker_end take_command(struct worker *worker, const struct corun_campaign_run_request *request, int status,
                                    const char **text, size_t *bytes)
{
    enum worker_end end = WORKER_RESULT;
    bool ended = WIFEXITED(status) && !worker->too_long;
    *text = worker->message;
    *bytes = worker->bytes;
    if (!ended || WEXITSTATUS(status) || !worker->bytes) {
        end = explain(worker, request, status, worker->why, sizeof worker->why);
        if (ended && find_message(worker->said, worker->why, sizeof worker->why) &&
            is_hosts_fault(WEXITSTATUS(status), request))
            end = WORKER_LOST;
        *text = worker->why;
        *bytes = strlen(worker->why);
    }
    close_said(worker);
    return end;
}

enum worker_end worker_take(struct worker *worker, const struct corun_campaign_run_request *request, const char **text,
                            size_t *bytes)
{
    int status = 0;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(worker->pipe);
    worker->pid = 0;
    struct header header;
    if (worker->said)
        return take_command(worker, request, status, text, bytes);
    if (worker->bytes >= sizeof header) {
        memcpy(&header, worker->message, sizeof header);
        if (header.bytes == worker->bytes - sizeof header && header.end <= WORKER_LOST) {
            *text = worker->message + sizeof header;
            *bytes = header.bytes;
            return (enum worker_end)header.end;
        }
    }
    enum worker_end end = explain(worker, request, status, worker->why, sizeof worker->why);
    *text = worker->why;
    *bytes = strlen(worker->why);
    return end;
}

void worker_kill(struct worker *worker)
{
    if (!worker->pid)
        return;
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(worker->pipe);
    close_said(worker);
    worker->pid = 0;
}

void worker_free(struct worker *worker)
{
    worker_kill(worker);
    free(worker->message);
    worker->message = NULL;
    worker->capacity = 0;
    if (worker->watch)
        munmap(worker->watch, sizeof *worker->watch);
    worker->watch = NULL;
}
