#include "cli/command.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_BETWEEN_LINES 0.2

struct progress {
    bool shown, line_is_there;
    double last;
    int signals; /* SIGINT and SIGTERM arrive here while the run lasts; -1: they do not */
    sigset_t mask_before;
    bool interrupted;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct progress *progress_begin(bool quiet)
{
    struct progress *progress = calloc(1, sizeof *progress);
    if (!progress)
        return NULL;
    progress->shown = !quiet && isatty(STDERR_FILENO);
    progress->last = seconds(); /* a short run shows nothing */
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    progress->signals = -1;
    if (!sigprocmask(SIG_BLOCK, &wanted, &progress->mask_before)) {
        progress->signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
        if (progress->signals < 0)
            sigprocmask(SIG_SETMASK, &progress->mask_before, NULL);
    }
    return progress;
}

/* Takes all that have come: a second one must not end the process before the report is out. */
static bool take_signals(struct progress *progress)
{
    struct signalfd_siginfo information;
    while (progress->signals >= 0 && read(progress->signals, &information, sizeof information) == sizeof information)
        progress->interrupted = true;
    return progress->interrupted;
}

bool progress_step(struct progress *progress, const char *format, ...)
{
    if (!progress)
        return true;
    double now = seconds();
    if (progress->shown && now - progress->last >= SECONDS_BETWEEN_LINES) {
        progress->last = now;
        progress->line_is_there = true;
        fputs("\r\033[K", stderr);
        va_list arguments;
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fflush(stderr);
    }
    return !take_signals(progress);
}

void progress_message(struct progress *progress, const char *text)
{
    bool line = progress && progress->line_is_there;
    fprintf(stderr, "%scorun: %s\n", line ? "\r\033[K" : "", text);
    if (progress)
        progress->line_is_there = false;
}

bool progress_cycles(struct progress *progress, const char *stage, uint64_t cycle, uint64_t limit)
{
    double thousands = (double)cycle / 1000, all = (double)limit / 1000;
    if (!limit)
        return progress_step(progress, "%.40s: %.1f thousand cycles", stage, thousands);
    return progress_step(progress, "%.40s: %.1f of %.1f thousand cycles, %.0f %%", stage, thousands, all,
                         100 * thousands / all);
}

void progress_end(struct progress *progress)
{
    if (!progress)
        return;
    if (progress->line_is_there)
        fputs("\r\033[K", stderr);
    if (progress->signals >= 0) {
        take_signals(progress);
        close(progress->signals);
        sigprocmask(SIG_SETMASK, &progress->mask_before, NULL);
    }
    free(progress);
}
