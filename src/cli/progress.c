/* SPDX-License-Identifier: MIT */
/* Progress on the terminal: cycles, cases, time left; and the signals that end a command early. */
#include "cli/command.h"

#include "corun/campaign.h"
#include "corun/case.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_BETWEEN_LINES 0.2
#define LEAST_DONE 0.01 /* before that, nothing is said about the time that is left */

struct progress {
    bool shown, line_is_there;
    double last, began, shared_began; /* shared_began: of the shared run of a case; 0: not yet */
    int signals;                      /* SIGINT and SIGTERM arrive here while the run lasts; -1: they do not */
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
    progress->began = progress->last = seconds(); /* a short run shows nothing */
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

bool progress_cycles(struct progress *progress, const char *stage, uint64_t cycle, uint64_t limit)
{
    double thousands = (double)cycle / 1000, all = (double)limit / 1000;
    if (!limit)
        return progress_step(progress, "%.40s: %.1f thousand cycles", stage, thousands);
    return progress_step(progress, "%.40s: %.1f of %.1f thousand cycles, %.0f %%", stage, thousands, all,
                         100 * thousands / all);
}

/*
 * Of a case, in seconds; NAN: not known yet. Isolated runs are side by side, and their cycles are quicker than those of the shared run:
 * as soon as there is something of the latter, what it took so far tells more.
 */
static double seconds_left(struct progress *progress, const struct corun_case_progress *now)
{
    double time = seconds(), done = now->done, since = progress->began;
    bool is_shared = !strcmp(now->stage, CORUN_STAGE_SHARED);
    if (is_shared && !progress->shared_began)
        progress->shared_began = time;
    if (is_shared && now->cycle_limit) {
        done = (double)now->cycle / (double)now->cycle_limit;
        since = progress->shared_began;
    }
    return done >= LEAST_DONE ? (time - since) * (1 - done) / done : (double)NAN;
}

bool progress_case(struct progress *progress, const struct corun_case_progress *now)
{
    char left[40] = "?";
    if (!progress)
        return true;
    double time = seconds_left(progress, now);
    if (isnan(now->done))
        return progress_cycles(progress, now->stage, now->cycle, now->cycle_limit);
    if (!isnan(time))
        progress_duration(time, left, sizeof left);
    return progress_step(progress, "%.40s: %.1f of %.1f thousand cycles; %.0f %% of all, %s left", now->stage,
                         (double)now->cycle / 1000, (double)now->cycle_limit / 1000, 100 * now->done, left);
}

const char *progress_duration(double seconds, char *text, size_t bytes)
{
    uint64_t whole = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds + 0.5) : 0;
    if (whole >= 3600)
        snprintf(text, bytes, "%" PRIu64 " h %02" PRIu64 " min", whole / 3600, whole / 60 % 60);
    else
        snprintf(text, bytes, "%" PRIu64 " min %02" PRIu64 " s", whole / 60, whole % 60);
    return text;
}

bool progress_campaign(struct progress *progress, const char *name, bool quiet,
                       const struct corun_campaign_progress *now)
{
    char left[40] = "?", elsewhere[60] = "";
    if (now->failure && !quiet) {
        fprintf(stderr, "%scorun: a case failed: %s\n", progress && progress->line_is_there ? "\r\033[K" : "",
                now->failure);
        if (progress)
            progress->line_is_there = false;
    }
    if (!isnan(now->seconds_left))
        progress_duration(now->seconds_left, left, sizeof left);
    if (now->elsewhere)
        snprintf(elsewhere, sizeof elsewhere, ", %u with other runners", now->elsewhere);
    return progress_step(progress, "%.60s: %u of %u cases, %u running%s, %u failed, %s left", name, now->finished,
                         now->total, now->running, elsewhere, now->failed, left);
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
