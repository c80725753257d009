/* SPDX-License-Identifier: MIT */
/* How fast the CPU has been lately: where iterations differ, the mean of a run says little of what comes next. */
#ifndef CORUN_SPLIT_PROGRESS_H
#define CORUN_SPLIT_PROGRESS_H

enum { MOST_SAMPLES = 32 };

struct progress {
    struct {
        double seconds, done; /* iterations, in so many seconds of computing */
    } samples[MOST_SAMPLES];  /* of a run, the oldest first; when there is no room, every second one goes */
    unsigned count;
};

void progress_note(struct progress *progress, double seconds, double done);
/*
 * When `done` iterations have been done in `seconds`: iterations per second since the latest sample that is at least a sixteenth of all seconds ago, if since then
 * `enough` were done, so that what is begun and not done does not matter; if there is none, since a sample a quarter of all seconds ago. 0: not known.
 */
double progress_rate(const struct progress *progress, double seconds, double done, double enough);

#endif
