/* SPDX-License-Identifier: MIT */
/* A child process simulates one case and writes its JSON into a pipe; the parent reads, watches and ends it. */
#include "campaign/worker.h"

#include "base/arena.h"
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

/* In the child: simulates and writes the JSON to `stream`. */
static enum corun_status simulate(const struct corun_campaign_run_request *request,
                                  const struct corun_campaign_case *item, struct worker_watch *watch,
                                  struct arena *arena, struct corun_diagnostics *list, FILE *stream)
{
    struct corun_gpu_config gpu;
    struct corun_case_application applications[CORUN_MAX_APPLICATIONS];
    struct corun_case job = {.gpu = &gpu,
                             .applications = applications,
                             .application_count = item->application_count,
                             .cycles = item->cycles,
                             .seed = item->seed,
                             .threads = 1,
                             .baseline_jobs = 1,
                             .data_directory = request->data_directory,
                             .cache_directory = request->cache_directory};
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

__attribute__((noreturn)) static void run_child(int pipe, pid_t parent, struct worker_watch *watch,
                                                const struct corun_campaign_run_request *request, size_t index)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would read what it writes */
    if (getppid() != parent)          /* it was gone before that */
        _exit(0);
    (void)!nice(NICENESS);   /* who works at this machine comes first; it does not matter if not */
    signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    signal(SIGPIPE, SIG_IGN);
    sigset_t none; /* the parent may have blocked those that it waits for */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (request->memory_bytes) {
        struct rlimit limit = {request->memory_bytes, request->memory_bytes};
        setrlimit(RLIMIT_AS, &limit);
    }
    struct arena *arena = arena_create();
    struct corun_diagnostics *list = corun_diagnostics_create();
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    enum corun_status status = CORUN_MEMORY;
    if (arena && list && stream)
        status = simulate(request, corun_campaign_get(request->campaign, index), watch, arena, list, stream);
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

bool worker_start(struct worker *worker, const struct corun_campaign_run_request *request, size_t index)
{
    int ends[2];
    if (!worker->watch) {
        void *shared = mmap(NULL, sizeof *worker->watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
            return false;
        worker->watch = shared;
    }
    worker->watch->inside_since = 0;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    fflush(NULL); /* what is in our buffers would be written once more if a policy called exit() */
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return false;
    }
    if (pid == 0) {
        close(ends[0]);
        run_child(ends[1], parent, worker->watch, request, index);
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

enum worker_end worker_take(struct worker *worker, const struct corun_campaign_run_request *request, const char **text,
                            size_t *bytes)
{
    int status = 0;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(worker->pipe);
    worker->pid = 0;
    struct header header;
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
