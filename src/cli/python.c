/* SPDX-License-Identifier: MIT */
/* A Python with the package of the data directory is started, or takes the place of this process. */
#include "cli/python.h"

#include "cli/command.h"
#include "corun/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32u
#define CANNOT_RUN 127

struct call {
    char folder[PATH_BYTES + 16]; /* the package */
    const char *words[ARGUMENTS_MAX + 3];
};

static enum corun_status cannot_run(const char *python, int error, struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        "%s cannot be run: %s; reports need python3 with numpy, and matplotlib for the page (Debian: "
                        "apt-get install python3-numpy python3-matplotlib)",
                        python, strerror(error));
}

/* Becomes python; comes back with errno if there is none. */
static int execute(const struct call *call)
{
    signal(SIGPIPE, SIG_DFL);
    execvp(call->words[0], (char *const *)call->words); /* which changes none of them */
    return errno;
}

/* The child: becomes python, or tells why not through the pipe, which closes by itself otherwise. */
static _Noreturn void become(const struct call *call, int pipe_end)
{
    int error = execute(call);
    (void)!write(pipe_end, &error, sizeof error);
    _exit(CANNOT_RUN);
}

static enum corun_status spawn(const struct call *call, struct corun_diagnostics *list, int *exit_status)
{
    const char *python = call->words[0];
    int ends[2], error = 0, state = 0;
    if (pipe2(ends, O_CLOEXEC))
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no pipe to %s: %s", python, strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(call, ends[1]);
    close(ends[1]);
    ssize_t told = child > 0 ? read(ends[0], &error, sizeof error) : 0;
    close(ends[0]);
    if (child < 0)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "no process for %s: %s", python, strerror(errno));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    if (told > 0)
        return cannot_run(python, error, list);
    *exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (WIFSIGNALED(state))
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "%s was ended by signal %d", python, WTERMSIG(state));
    return CORUN_OK;
}

/* The command line: python, the package, the arguments, NULL. */
static enum corun_status make_call(const char *const *arguments, struct corun_diagnostics *list, struct call *call)
{
    const char *wanted = getenv("CORUN_PYTHON");
    char data[PATH_BYTES];
    uint32_t count = 0;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (status)
        return status;
    snprintf(call->folder, sizeof call->folder, "%s/python", data);
    if (access(call->folder, R_OK))
        return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){call->folder, 0, 0},
                            "the Python package of corun is not there: %s", strerror(errno));
    call->words[0] = wanted && *wanted ? wanted : "python3";
    call->words[1] = call->folder;
    for (; arguments[count] && count < ARGUMENTS_MAX; count++)
        call->words[2 + count] = arguments[count];
    call->words[2 + count] = NULL;
    return CORUN_OK;
}

enum corun_status python_run(const char *const *arguments, struct corun_diagnostics *list, int *exit_status)
{
    struct call call;
    enum corun_status status = make_call(arguments, list, &call);
    return status ? status : spawn(&call, list, exit_status);
}

enum corun_status python_become(const char *const *arguments, struct corun_diagnostics *list)
{
    struct call call;
    enum corun_status status = make_call(arguments, list, &call);
    if (status)
        return status;
    fflush(NULL);
    return cannot_run(call.words[0], execute(&call), list);
}
