/* Messages, streams and their ends. */
#include "cli/command.h"

#include "corun/case.h"

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

const char *command_cache(const char *given, bool none, char *room, size_t bytes)
{
    if (none)
        return NULL;
    return given ? given : corun_cache_directory(room, bytes) ? room : NULL;
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

FILE *output_open(const char *path, struct corun_diagnostics *list)
{
    if (!strcmp(path, "-"))
        return stdout;
    FILE *file = fopen(path, "we");
    if (!file)
        corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot be written: %s", strerror(errno));
    return file;
}

enum corun_status output_close(FILE *file, const char *path, struct corun_diagnostics *list)
{
    if (file == stdout)
        return CORUN_OK;
    bool failed = ferror(file) != 0;
    errno = 0;
    failed = fclose(file) || failed;
    if (!failed)
        return CORUN_OK;
    return corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "not everything could be written%s%s",
                        errno ? ": " : "", errno ? strerror(errno) : "");
}
