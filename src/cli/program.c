/* SPDX-License-Identifier: MIT */
/* The libraries, the environment and the folder of records for a CUDA program, and the program's start. */
#include "cli/program.h"

#include "base/search_path.h"
#include "corun/config.h"
#include "corun/workload.h"
#include "cuda/program_file.h"
#include "cuda/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

error_t program_option(int key, struct argp_state *state, struct program *program)
{
    switch (key) {
    case ARGP_KEY_ARG: /* everything from here on is the program's */
        program->words = &state->argv[state->next - 1];
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
static enum corun_status find_path(struct program *program, struct corun_diagnostics *list)
{
    const char *name = program->words[0];
    if (search_path_find(name, program->path, sizeof program->path))
        return CORUN_OK;
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "no program `%s`%s", name,
                        strchr(name, '/') ? "" : " in PATH");
}

/* A folder of ours that has the file: in the build tree, or where it is installed. */
static bool find_folder(const char *const places[2], const char *file, char path[PATH_BYTES], char self[PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", self, PATH_BYTES - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < 2; i++) {
        char probe[PATH_BYTES + 64];
        snprintf(probe, sizeof probe, "%s/%s/%s", self, places[i], file);
        if (access(probe, R_OK) == 0) {
            int written = snprintf(path, PATH_BYTES, "%s/%s", self, places[i]);
            if (written > 0 && (size_t)written < PATH_BYTES)
                return true;
        }
    }
    return false;
}

enum corun_status program_libraries(char path[PATH_BYTES], struct corun_diagnostics *list)
{
    static const char *const places[] = {"cuda", "../lib/corun"};
    char self[PATH_BYTES];
    if (find_folder(places, "libcorun-cuda.so", path, self))
        return CORUN_OK;
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        "the CUDA libraries are not next to %s (cuda, ../lib/corun)", self);
}

/* The folder with the shim. */
static enum corun_status find_shim(char path[PATH_BYTES], struct corun_diagnostics *list)
{
    static const char *const places[] = {"shim", "../lib/corun/shim"};
    char self[PATH_BYTES];
    if (find_folder(places, "libcuda.so.1", path, self))
        return CORUN_OK;
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "the shim is not next to %s (shim, ../lib/corun/shim)",
                        self);
}

/* Wrong GPUs are told here, before the program starts. */
static enum corun_status check_gpus(struct program *program, struct corun_diagnostics *list)
{
    enum corun_status status = corun_data_directory(program->data, sizeof program->data, list);
    uint32_t most_sms = 0;
    char *copy = program->gpus ? strdup(program->gpus) : NULL, *rest = NULL;
    if (program->gpus && !copy)
        return CORUN_MEMORY;
    if (copy && !*copy && status == CORUN_OK) /* whose list has no name at all */
        status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "'' is no name of a GPU");
    for (char *one = copy ? strtok_r(copy, ";", &rest) : NULL; one && status == CORUN_OK;
         one = strtok_r(NULL, ";", &rest)) {
        struct corun_gpu_config config;
        status = corun_gpu_config_load(one, program->data, list, &config);
        if (status == CORUN_OK)
            status = corun_gpu_config_check(&config, list);
        most_sms = config.sms > most_sms ? config.sms : most_sms;
    }
    free(copy);
    if (status == CORUN_OK && most_sms && program->threads > most_sms)
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "of %" PRIu64 " threads %u are used, one for each SM",
                     program->threads, most_sms);
    return status;
}

/* VARIABLE=first/second:what was there, once, as programs start others; false when out of memory */
static bool put_first(const char *variable, const char *first, const char *second)
{
    char *value = NULL, *path = NULL;
    const char *before = getenv(variable);
    bool good = asprintf(&path, "%s%s%s", first, *second ? "/" : "", second) >= 0;
    size_t length = good ? strlen(path) : 0;
    bool there = good && before && !strncmp(before, path, length) && (before[length] == ':' || !before[length]);
    if (good && !there)
        good = asprintf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "") >= 0 &&
               !setenv(variable, value, 1);
    free(value);
    free(path);
    return good;
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

static bool detach(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0;
}

/*
 * What the command says of checkpoints takes the same room in the environment, however much it says: where the stack of the program lies depends on that,
 * and a run that goes on is given other options than the one before it. False when out of memory.
 */
static bool level_environment(void)
{
    static const char *const variables[] = {setting_RECORD, setting_CHECKPOINT, setting_CHECKPOINT_CYCLE,
                                            setting_CHECKPOINT_EVERY, setting_RESUME};
    char rest[3 * PATH_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        used += value ? strlen(value) : 0;
        if (!value && setenv(variables[i], "", 1))
            return false;
    }
    if (used < sizeof rest)
        memset(rest, '-', sizeof rest - 1 - used);
    return !setenv("CORUN_CUDA_REST", rest, 1);
}

/* A program that shares a GPU, or has its own, has what the command says, not what is around it. 0, or the error. */
static int set_settings(const struct program *program)
{
    char threads[24], cycle[24], every[24];
    snprintf(threads, sizeof threads, "%" PRIu64, program->threads);
    snprintf(cycle, sizeof cycle, "%" PRIu64, program->checkpoint_cycle);
    snprintf(every, sizeof every, "%" PRIu64, program->checkpoint_every);
    const struct {
        const char *variable, *value;
    } settings[] = {{setting_DATA, program->shim ? NULL : program->data},
                    {setting_RECORD, program->record},
                    {setting_CAPTURE, program->capture},
                    {setting_GPU, program->gpus},
                    {program->shim ? setting_SHIM_DAEMON : setting_DAEMON, program->daemon},
                    {setting_DAEMON_GPU, program->daemon_gpu},
                    {setting_SHIM_SLICES, program->shim_slices ? "1" : NULL},
                    {setting_SHIM_WORKERS, program->shim_workers ? "1" : NULL},
                    {setting_NAME, program->name},
                    {setting_GOAL, program->goal},
                    {setting_GOAL_KIND, program->goal_kind},
                    {setting_ISOLATED, program->isolated},
                    {setting_CHECK, program->checks},
                    {setting_SLICE, program->slice},
                    {setting_WORKERS, program->workers},
                    {setting_REGION, program->region},
                    {setting_SAMPLE, program->sample},
                    {setting_PROFILE, program->profile ? "1" : NULL},
                    {setting_KERNEL_TIMEOUT, program->kernel_timeout},
                    {setting_PATIENCE, program->patience},
                    {setting_LAUNCH_COSTS, program->launch_costs ? "1" : NULL},
                    {setting_FUNCTIONAL, program->functional ? "1" : NULL},
                    {setting_CHECKPOINT, program->checkpoint},
                    {setting_CHECKPOINT_CYCLE, program->checkpoint_cycle ? cycle : NULL},
                    {setting_CHECKPOINT_EVERY, program->checkpoint_every ? every : NULL},
                    {setting_RESUME, program->resume},
                    {setting_THREADS, program->threads ? threads : NULL}};
    static const char *const alone[] = {setting_GPU,     setting_FUNCTIONAL,     setting_CAPTURE,
                                        setting_THREADS, setting_KERNEL_TIMEOUT, setting_REGION,
                                        setting_SAMPLE,  setting_CHECKPOINT,     setting_RESUME};
    for (size_t i = 0; program->daemon && i < sizeof alone / sizeof *alone; i++)
        (void)unsetenv(alone[i]);
    if (!program->daemon || program->shim)
        (void)unsetenv(setting_DAEMON);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (settings[i].value && setenv(settings[i].variable, settings[i].value, 1))
            return errno;
    }
    return (program->checkpoint || program->resume) && !level_environment() ? ENOMEM : 0;
}

/* LD_AUDIT: every program that this one starts may hold the static runtime, too (src/cuda/static_runtime.c). */
static bool set_libraries(const struct program *program)
{
    if (program->shim)
        return put_first("LD_LIBRARY_PATH", program->libraries, "");
    return put_first("LD_LIBRARY_PATH", program->libraries, "") &&
           put_first("LD_AUDIT", program->libraries, "libcorun-static-runtime.so");
}

/* For the guard: in the program's process. */
static int become(const void *user)
{
    const struct program *program = user;
    int problem = set_settings(program);
    if (problem)
        return problem;
    if (program->output_to_errors && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return errno;
    if (program->without_terminal && !detach())
        return errno;
    if (program->native) {
        signal(SIGPIPE, SIG_DFL);
        execv(program->path, program->words);
        return errno;
    }
    if (!set_libraries(program) ||
        (program->fixed_path && program->runtime[0] && !put_first("LD_PRELOAD", program->libraries, program->runtime)))
        return ENOMEM;
    signal(SIGPIPE, SIG_DFL); /* which the command ignores */
    /* Addresses of host memory that a kernel uses decide cache sets: the same in every run. */
    if (!program->shim)
        (void)personality(ADDR_NO_RANDOMIZE);
    execv(program->path, program->words);
    if (errno == ENOEXEC && is_plain_text(program->path))
        execvp(program->path, program->words); /* gives it to the shell */
    return errno;
}

enum corun_status program_environment(struct program *program, struct corun_diagnostics *list, FILE *stream)
{
    static const char *const names[] = {
        "LD_LIBRARY_PATH",   "LD_AUDIT",           setting_DATA,       setting_DAEMON, setting_SHIM_DAEMON,
        setting_SHIM_SLICES, setting_SHIM_WORKERS, setting_DAEMON_GPU, setting_NAME,   setting_GOAL,
        setting_GOAL_KIND,   setting_ISOLATED,     setting_CHECK};
    enum corun_status status =
        program->shim ? find_shim(program->libraries, list) : program_libraries(program->libraries, list);
    if (status == CORUN_OK && !program->shim)
        status = corun_data_directory(program->data, sizeof program->data, list);
    if (status != CORUN_OK)
        return status;
    if (set_settings(program) || !set_libraries(program))
        return CORUN_MEMORY;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && strchr(value, '\n'))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s has more than one line", names[i]);
        if (value)
            fprintf(stream, "%s=%s\n", names[i], value);
    }
    return CORUN_OK;
}

enum corun_status program_find(struct program *program, struct corun_diagnostics *list)
{
    enum corun_status status = find_path(program, list);
    if (status == CORUN_OK && program->native)
        return CORUN_OK;
    if (status == CORUN_OK && program->shim)
        return find_shim(program->libraries, list);
    if (status == CORUN_OK)
        status = program_libraries(program->libraries, list);
    if (status == CORUN_OK)
        status = check_gpus(program, list);
    if (status == CORUN_OK)
        status = program_file_check(program->path, list, &program->fixed_path, program->runtime);
    return status;
}

enum corun_status program_run(struct program *program, struct corun_diagnostics *list)
{
    struct guard *guard = &program->guard;
    guard->become = become;
    guard->user = program;
    guard->folder = program->record ? program->record : program->capture;
    int problem = guard_run(guard), status = guard->status;
    if (problem)
        return corun_report(list, CORUN_FILE, (struct corun_place){program->path, 0, 0}, "cannot be started: %s",
                            strerror(problem));
    program->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return CORUN_OK;
}

int program_folder_make(struct arena *arena, const char *beginning, const char **folder)
{
    char *made = arena_format(arena, "%s.XXXXXX", beginning);
    if (!made)
        return ENOMEM;
    if (!mkdtemp(made))
        return errno;
    char *path = realpath(made, NULL); /* programs change their folder */
    *folder = path ? arena_copy_text(arena, path, strlen(path)) : NULL;
    free(path);
    return *folder ? 0 : ENOMEM;
}

void program_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}
