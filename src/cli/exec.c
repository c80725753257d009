/* corun exec: a CUDA program that nobody changed, on the simulated GPU. */
#include "cli/command.h"

#include "base/vector.h"
#include "campaign/specification.h"
#include "corun/config.h"
#include "corun/workload.h"
#include "cuda/program_file.h"
#include "cuda/settings.h"
#include "report/program_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_BYTES 65536

enum { KEY_GPU = 'g', KEY_JSON = 'j', KEY_QUIET = 'q', KEY_FUNCTIONAL = 0x100, KEY_THREADS, KEY_CSV };

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0,
     "a name (see `corun list gpus`) or a YAML file, with overrides; given again, the program sees one more GPU "
     "[gtx980]",
     1},
    {"functional", KEY_FUNCTIONAL, NULL, 0, "results without timing", 1},
    {"threads", KEY_THREADS, "N", 0, "host threads that advance SMs [1]", 1},
    {"csv", KEY_CSV, "FILE", 0, "a row for each launch, copy and fill; - is standard output", 2},
    {"json", KEY_JSON, "FILE", 0, "the same with all counters", 2},
    {"quiet", KEY_QUIET, NULL, 0, "no table at the end", 2},
    {0},
};

static const char doc[] =
    "Runs a CUDA program on a simulated GPU: `corun exec --gpu quadro-v100 -- ./program arguments`. The program is "
    "linked with the shared CUDA runtime (nvcc -cudart shared) or uses the driver API, and holds PTX (docs/cuda.md). "
    "The table of its kernels goes to the standard error output; the exit status is the program's.";

struct exec_options {
    struct corun_diagnostics *list;
    enum corun_status status;
    const char *gpu, *csv, *json;
    uint64_t threads; /* 0: as the libraries have it */
    bool functional, quiet;
    char gpus[4 * PATH_BYTES];
    char **program; /* with its arguments, ends with NULL */
    char path[PATH_BYTES], data[PATH_BYTES], libraries[PATH_BYTES], folder[256];
    bool fixed_path;
    char runtime[64];
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct exec_options *exec = state->input;
    size_t used;
    switch (key) {
    case KEY_GPU:
        used = strlen(exec->gpus);
        if (used + strlen(value) + 2 > sizeof exec->gpus)
            argp_error(state, "--gpu is too long");
        snprintf(exec->gpus + used, sizeof exec->gpus - used, "%s%s", exec->gpu ? ";" : "", value);
        exec->gpu = exec->gpus;
        break;
    case KEY_FUNCTIONAL:
        exec->functional = true;
        break;
    case KEY_THREADS:
        command_keep(&exec->status, specify_number(value, "--threads", 1000, 1, 1000, exec->list, &exec->threads));
        break;
    case KEY_CSV:
        exec->csv = value;
        break;
    case KEY_JSON:
        exec->json = value;
        break;
    case KEY_QUIET:
        exec->quiet = true;
        break;
    case ARGP_KEY_ARG: /* everything from here on is the program's */
        exec->program = &state->argv[state->next - 1];
        state->next = state->argc;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a program is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* As a shell finds it. */
static enum corun_status find_program(struct exec_options *exec)
{
    const char *name = exec->program[0], *search = getenv("PATH");
    if (strchr(name, '/') || !search) {
        snprintf(exec->path, sizeof exec->path, "%s", name);
        return CORUN_OK;
    }
    while (*search) {
        size_t length = strcspn(search, ":");
        int written = snprintf(exec->path, sizeof exec->path, "%.*s/%s", (int)length, search, name);
        if (written > 0 && (size_t)written < sizeof exec->path && access(exec->path, X_OK) == 0)
            return CORUN_OK;
        search += length + (search[length] == ':');
    }
    return corun_report(exec->list, CORUN_NOT_FOUND, CORUN_NOWHERE, "no program `%s` in PATH", name);
}

/* The folder with the CUDA libraries: in the build tree, or where they are installed. */
static enum corun_status find_libraries(struct exec_options *exec)
{
    static const char *const places[] = {"cuda", "../lib/corun"};
    char self[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char probe[PATH_BYTES + 64];
        snprintf(probe, sizeof probe, "%s/%s/libcorun-cuda.so", self, places[i]);
        if (access(probe, R_OK) == 0) {
            int written = snprintf(exec->libraries, sizeof exec->libraries, "%s/%s", self, places[i]);
            if (written > 0 && (size_t)written < sizeof exec->libraries)
                return CORUN_OK;
        }
    }
    return corun_report(exec->list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        "the CUDA libraries are not next to %s (cuda, ../lib/corun)", self);
}

/* Wrong GPUs are told here, before the program starts. */
static enum corun_status check_gpus(struct exec_options *exec)
{
    enum corun_status status = corun_data_directory(exec->data, sizeof exec->data, exec->list);
    char *copy = exec->gpu ? strdup(exec->gpu) : NULL, *rest = NULL;
    if (exec->gpu && !copy)
        return CORUN_MEMORY;
    for (char *one = copy ? strtok_r(copy, ";", &rest) : NULL; one && status == CORUN_OK;
         one = strtok_r(NULL, ";", &rest)) {
        struct corun_gpu_config config;
        status = corun_gpu_config_load(one, exec->data, exec->list, &config);
        if (status == CORUN_OK)
            status = corun_gpu_config_check(&config, exec->list);
    }
    free(copy);
    return status;
}

/* VARIABLE=first:what was there */
static void put_first(const char *variable, const char *first, const char *second)
{
    char value[LIST_BYTES];
    const char *before = getenv(variable);
    snprintf(value, sizeof value, "%s%s%s%s%s", first, *second ? "/" : "", second, before && *before ? ":" : "",
             before ? before : "");
    setenv(variable, value, 1);
}

/* A script whose first line does not say whose: shells run it themselves. */
static bool is_plain_text(const char *path)
{
    char head[4] = "";
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = descriptor < 0 ? 0 : read(descriptor, head, sizeof head);
    if (descriptor >= 0)
        close(descriptor);
    return bytes > 0 && !memchr(head, 0, (size_t)bytes) && memcmp(head, "\177ELF", sizeof head) != 0;
}

static void start(const struct exec_options *exec)
{
    put_first("LD_LIBRARY_PATH", exec->libraries, "");
    if (exec->fixed_path && exec->runtime[0])
        put_first("LD_PRELOAD", exec->libraries, exec->runtime);
    setenv(setting_DATA, exec->data, 1);
    setenv(setting_RECORD, exec->folder, 1);
    if (exec->gpu)
        setenv(setting_GPU, exec->gpu, 1);
    if (exec->functional)
        setenv(setting_FUNCTIONAL, "1", 1);
    if (exec->threads) {
        char threads[24];
        snprintf(threads, sizeof threads, "%" PRIu64, exec->threads);
        setenv(setting_THREADS, threads, 1);
    }
    /* Addresses of host memory that a kernel uses decide cache sets: the same in every run. */
    (void)personality(ADDR_NO_RANDOMIZE);
    execv(exec->path, exec->program);
    if (errno == ENOEXEC && is_plain_text(exec->path))
        execvp(exec->path, exec->program); /* gives it to the shell */
}

/* The program's exit status, as shells have it; -1 if it could not be started. */
static int run_program(struct exec_options *exec)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    int failure[2], status = 0, problem = 0;
    if (pipe2(failure, O_CLOEXEC))
        return -1;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        start(exec);
        problem = errno;
        (void)!write(failure[1], &problem, sizeof problem);
        _exit(127);
    }
    close(failure[1]);
    bool failed = child > 0 && read(failure[0], &problem, sizeof problem) == sizeof problem;
    close(failure[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (child < 0 || failed) {
        exec->status = corun_report(exec->list, CORUN_FILE, (struct corun_place){exec->path, 0, 0},
                                    "cannot be started: %s", strerror(failed ? problem : errno));
        return -1;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int by_number(const struct dirent **left, const struct dirent **right)
{
    long a = atol((*left)->d_name), b = atol((*right)->d_name);
    return (a > b) - (a < b);
}

static int is_record(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Reads what every process left, and takes it away. */
static enum corun_status collect(struct exec_options *exec, struct program_record *record)
{
    struct dirent **entries;
    enum corun_status status = CORUN_OK;
    int count = scandir(exec->folder, &entries, is_record, by_number);
    for (int i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%.200s", exec->folder, entries[i]->d_name);
        enum corun_status read = program_record_read(record, path, exec->list);
        status = status == CORUN_OK ? read : status;
        unlink(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    rmdir(exec->folder);
    return status;
}

static enum corun_status write_file(struct exec_options *exec, const struct program_record *record, const char *path,
                                    bool json)
{
    FILE *file = output_open(path, exec->list);
    if (!file)
        return CORUN_FILE;
    enum corun_status status = CORUN_OK;
    if (json)
        status = program_json(record, file);
    else if (!program_csv(record, file))
        status = CORUN_MEMORY;
    enum corun_status closed = output_close(file, path, exec->list);
    return status == CORUN_OK ? closed : status;
}

static enum corun_status report(struct exec_options *exec, const struct program_record *record)
{
    enum corun_status status = CORUN_OK;
    if (!exec->quiet && record->devices.count) {
        struct report_style style = output_style(stderr);
        fflush(stdout);
        fputc('\n', stderr);
        if (!program_table(record, &style, stderr))
            status = CORUN_MEMORY;
    }
    if (status == CORUN_OK && exec->csv)
        status = write_file(exec, record, exec->csv, false);
    if (status == CORUN_OK && exec->json)
        status = write_file(exec, record, exec->json, true);
    return status;
}

/* What must be there before the program starts, and the folder for what its processes leave. */
static enum corun_status prepare(struct exec_options *exec)
{
    const char *temporary = getenv("TMPDIR");
    enum corun_status status = exec->status;
    if (status == CORUN_OK)
        status = find_program(exec);
    if (status == CORUN_OK)
        status = find_libraries(exec);
    if (status == CORUN_OK)
        status = check_gpus(exec);
    if (status == CORUN_OK)
        status = program_file_check(exec->path, exec->list, &exec->fixed_path, exec->runtime);
    if (status != CORUN_OK)
        return status;
    snprintf(exec->folder, sizeof exec->folder, "%.200s/corun-exec-XXXXXX",
             temporary && *temporary ? temporary : P_tmpdir);
    if (!mkdtemp(exec->folder))
        status = corun_report(exec->list, CORUN_FILE, (struct corun_place){exec->folder, 0, 0},
                              "no folder can be made: %s", strerror(errno));
    return status;
}

/* The exit status of the program; what is wrong on our side is in exec->status. */
static int execute(struct exec_options *exec, struct program_record *record)
{
    exec->status = prepare(exec);
    if (exec->status != CORUN_OK)
        return -1;
    int result = run_program(exec);
    enum corun_status collected = collect(exec, record);
    if (exec->status == CORUN_OK)
        exec->status = collected;
    if (result >= 0 && collected == CORUN_OK)
        exec->status = report(exec, record);
    return result;
}

int command_exec(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "-- PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct exec_options exec = {.list = corun_diagnostics_create()};
    struct program_record *record = program_record_create();
    int result = -1;
    exec.status = exec.list && record ? CORUN_OK : CORUN_MEMORY;
    if (exec.list && record) {
        command_parse_in_order(&argp, argc, argv, &exec);
        result = execute(&exec, record);
    }
    int status = output_diagnostics(exec.list, exec.status);
    program_record_destroy(record);
    if (exec.list)
        corun_diagnostics_destroy(exec.list);
    return result >= 0 && exec.status == CORUN_OK ? result : status;
}
