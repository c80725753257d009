/* SPDX-License-Identifier: MIT */
/* A program is started with files for its outputs, waited for, and its outputs are read. */
#include "campaign/process.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* All of a file, from its beginning. NULL when out of memory. */
static char *read_all(FILE *file)
{
    char *text = NULL, chunk[4096];
    size_t bytes = 0, count;
    FILE *copy = open_memstream(&text, &bytes);
    rewind(file);
    while (copy && (count = fread(chunk, 1, sizeof chunk, file)) > 0)
        fwrite(chunk, 1, count, copy);
    if (!copy || fclose(copy)) {
        free(text);
        return NULL;
    }
    while (bytes && strchr(" \t\r\n", text[bytes - 1]))
        text[--bytes] = 0;
    return text;
}

/* A file each for what it says takes any amount without anybody reading meanwhile. */
static int spawn(const char *const *arguments, FILE *output, FILE *said, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
    if (!error)
        error = posix_spawnp(pid, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

enum corun_status process_run(const char *const *arguments, struct corun_diagnostics *list,
                              struct process_output *output)
{
    FILE *files[2] = {tmpfile(), tmpfile()};
    pid_t pid = 0;
    int error = files[0] && files[1] ? spawn(arguments, files[0], files[1], &pid) : errno, status = 0;
    *output = (struct process_output){0};
    if (!error) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        output->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        output->output = read_all(files[0]);
        output->said = read_all(files[1]);
        if (!output->output || !output->said)
            error = ENOMEM;
    }
    for (int i = 0; i < 2; i++) {
        if (files[i])
            fclose(files[i]);
    }
    if (!error)
        return CORUN_OK;
    process_output_free(output);
    return corun_report(list, error == ENOENT ? CORUN_NOT_FOUND : CORUN_FILE, CORUN_NOWHERE, "%s cannot be run: %s",
                        arguments[0], error == ENOENT ? "there is no such command" : strerror(error));
}

void process_output_free(struct process_output *output)
{
    free(output->output);
    free(output->said);
    *output = (struct process_output){0};
}
