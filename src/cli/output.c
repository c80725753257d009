/* Messages, streams and their ends. */
#include "cli/command.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_diagnostics(const struct corun_diagnostics *list, enum corun_status status)
{
    size_t count = list ? corun_diagnostics_count(list) : 0;
    bool explained = false, stopped = false;
    fflush(stdout); /* so that messages come after what was printed before */
    for (size_t i = 0; i < count; i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, i);
        fputs("corun: ", stderr);
        if (item->place.file) {
            fprintf(stderr, "%s:", item->place.file);
            if (item->place.line)
                fprintf(stderr, "%u:", item->place.line);
            if (item->place.line && item->place.column)
                fprintf(stderr, "%u:", item->place.column);
            fputc(' ', stderr);
        }
        fprintf(stderr, "%s%s\n", item->status == CORUN_OK ? "warning: " : "", item->message);
        explained = explained || item->status != CORUN_OK;
        stopped = stopped || item->status == CORUN_WATCHDOG;
    }
    if (stopped)
        fputs("corun: a kernel that is not endless, only long, needs a larger --watchdog\n", stderr);
    if (status != CORUN_OK && !explained)
        fprintf(stderr, "corun: %s\n", corun_status_meaning(status));
    return corun_status_exit(status);
}

struct report_style output_style(FILE *stream)
{
    bool terminal = isatty(fileno(stream));
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    return (struct report_style){.utf8 = terminal && !strcmp(nl_langinfo(CODESET), "UTF-8"),
                                 .colour = terminal && term && strcmp(term, "dumb") && !(no_colour && no_colour[0])};
}

static void close_stdout(void)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) || failed;
    failed = failed || fclose(stdout);
    if (!failed)
        return;
    /* When an earlier write failed, its reason is gone: the same happens again. */
    if (!errno && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = EIO;
    if (errno != EPIPE) /* whoever closed a pipe does not want to hear about it */
        fprintf(stderr, "corun: standard output cannot be written: %s\n", strerror(errno));
    _exit(corun_status_exit(CORUN_FILE));
}

void output_guard(void)
{
    atexit(close_stdout);
}

enum corun_status outputs_check(const struct output *outputs, size_t count, struct corun_diagnostics *list)
{
    const char *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i].path)
            continue;
        if (!*outputs[i].path)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: the name of the file is missing",
                                outputs[i].option);
        if (strcmp(outputs[i].path, "-") != 0)
            continue;
        if (first)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s and %s cannot both go to standard output", first,
                                outputs[i].option);
        first = outputs[i].option;
    }
    return CORUN_OK;
}

enum corun_status outputs_open(struct output *outputs, size_t count, struct corun_diagnostics *list)
{
    enum corun_status status = outputs_check(outputs, count, list);
    for (size_t i = 0; i < count && status == CORUN_OK; i++) {
        const char *path = outputs[i].path;
        if (!path)
            continue;
        outputs[i].file = strcmp(path, "-") ? fopen(path, "we") : stdout;
        if (!outputs[i].file)
            status = corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot be written: %s",
                                  strerror(errno));
    }
    return status == CORUN_OK ? CORUN_OK : outputs_close(outputs, count, status, list);
}

enum corun_status outputs_close(struct output *outputs, size_t count, enum corun_status status,
                                struct corun_diagnostics *list)
{
    for (size_t i = 0; i < count; i++) {
        FILE *file = outputs[i].file;
        outputs[i].file = NULL;
        if (!file || file == stdout)
            continue;
        bool failed = ferror(file) != 0;
        errno = 0;
        failed = fclose(file) || failed;
        if (!failed)
            continue;
        corun_report(list, CORUN_FILE, (struct corun_place){outputs[i].path, 0, 0},
                     "not everything could be written%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
        status = status == CORUN_OK ? CORUN_FILE : status;
    }
    return status;
}
