#include "cli/python.h"

#include "corun/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define ARGUMENTS_MAX 32u
#define CANNOT_RUN 127

/* The child: becomes python, or tells why not through the pipe, which closes by itself otherwise. */
static _Noreturn void become(const char *python, char *const *arguments, int pipe_end)
{
    signal(SIGPIPE, SIG_DFL);
    execvp(python, arguments);
    int error = errno;
    (void)!write(pipe_end, &error, sizeof error);
    _exit(CANNOT_RUN);
}

static enum corun_status spawn(const char *python, char *const *arguments, struct corun_diagnostics *list,
                               int *exit_status)
{
    int ends[2], error = 0, state = 0;
    if (pipe2(ends, O_CLOEXEC))
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no pipe to %s: %s", python, strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(python, arguments, ends[1]);
    close(ends[1]);
    ssize_t told = child > 0 ? read(ends[0], &error, sizeof error) : 0;
    close(ends[0]);
    if (child < 0)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "no process for %s: %s", python, strerror(errno));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    if (told > 0)
        return corun_report(
            list, CORUN_NOT_FOUND, CORUN_NOWHERE,
            "%s cannot be run: %s; reports need python3 with numpy, and matplotlib for the page (Debian: "
            "apt-get install python3-numpy python3-matplotlib)",
            python, strerror(error));
    *exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (WIFSIGNALED(state))
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "%s was ended by signal %d", python, WTERMSIG(state));
    return CORUN_OK;
}

enum corun_status python_run(const char *const *arguments, struct corun_diagnostics *list, int *exit_status)
{
    const char *wanted = getenv("CORUN_PYTHON"), *python = wanted && *wanted ? wanted : "python3";
    char data[PATH_BYTES], folder[PATH_BYTES + 16], *words[ARGUMENTS_MAX + 3] = {strdup(python), NULL};
    uint32_t count = 2;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    snprintf(folder, sizeof folder, "%s/python", status ? "" : data);
    if (!status && access(folder, R_OK))
        status = corun_report(list, CORUN_NOT_FOUND, (struct corun_place){folder, 0, 0},
                              "the Python package of corun is not there: %s", strerror(errno));
    words[1] = strdup(folder);
    for (; arguments[count - 2] && count < ARGUMENTS_MAX + 2; count++)
        words[count] = strdup(arguments[count - 2]);
    for (uint32_t i = 0; i < count && !status; i++) {
        if (!words[i])
            status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    if (!status)
        status = spawn(python, words, list, exit_status);
    for (uint32_t i = 0; i < count; i++)
        free(words[i]);
    return status;
}
