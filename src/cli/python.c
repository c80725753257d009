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

static enum corun_status cannot_run(const char *python, int error, struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        "%s cannot be run: %s; reports need python3 with numpy, and matplotlib for the page (Debian: "
                        "apt-get install python3-numpy python3-matplotlib)",
                        python, strerror(error));
}

/* The child: becomes python, or tells why not through the pipe, which closes by itself otherwise. */
static _Noreturn void become(char *const *words, int pipe_end)
{
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
    int error = errno;
    (void)!write(pipe_end, &error, sizeof error);
    _exit(CANNOT_RUN);
}

static enum corun_status spawn(char *const *words, struct corun_diagnostics *list, int *exit_status)
{
    const char *python = words[0];
    int ends[2], error = 0, state = 0;
    if (pipe2(ends, O_CLOEXEC))
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no pipe to %s: %s", python, strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(words, ends[1]);
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

static void free_words(char **words)
{
    for (uint32_t i = 0; words[i]; i++)
        free(words[i]);
}

/* The command line: python, the package, the arguments, NULL. After an error there is nothing to free. */
static enum corun_status make_words(const char *const *arguments, struct corun_diagnostics *list, char **words)
{
    const char *wanted = getenv("CORUN_PYTHON");
    char data[PATH_BYTES], folder[PATH_BYTES + 16];
    uint32_t count = 0, last = 0;
    words[0] = NULL;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (status)
        return status;
    snprintf(folder, sizeof folder, "%s/python", data);
    if (access(folder, R_OK))
        return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){folder, 0, 0},
                            "the Python package of corun is not there: %s", strerror(errno));
    while (arguments[last] && last < ARGUMENTS_MAX)
        last++;
    for (count = 0; count < last + 2; count++) {
        const char *word = count == 0   ? (wanted && *wanted ? wanted : "python3")
                           : count == 1 ? folder
                                        : arguments[count - 2];
        words[count] = strdup(word);
        words[count + 1] = NULL;
        if (!words[count]) {
            free_words(words);
            return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
        }
    }
    return CORUN_OK;
}

enum corun_status python_run(const char *const *arguments, struct corun_diagnostics *list, int *exit_status)
{
    char *words[ARGUMENTS_MAX + 3];
    enum corun_status status = make_words(arguments, list, words);
    if (status)
        return status;
    status = spawn(words, list, exit_status);
    free_words(words);
    return status;
}

enum corun_status python_become(const char *const *arguments, struct corun_diagnostics *list)
{
    char *words[ARGUMENTS_MAX + 3];
    enum corun_status status = make_words(arguments, list, words);
    if (status)
        return status;
    fflush(NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
    status = cannot_run(words[0], errno, list);
    free_words(words);
    return status;
}
