/* SPDX-License-Identifier: MIT */
/* Samples of what the CPU has done. */
#include "split/progress.h"

#include <math.h>

void progress_note(struct progress *progress, double seconds, double done)
{
    if (progress->count && !(seconds > progress->samples[progress->count - 1].seconds))
        return;
    if (progress->count == MOST_SAMPLES) {
        progress->count = MOST_SAMPLES / 2;
        for (unsigned i = 1; i < progress->count; i++)
            progress->samples[i] = progress->samples[2 * i];
    }
    progress->samples[progress->count].seconds = seconds;
    progress->samples[progress->count].done = done;
    progress->count++;
}

double progress_rate(const struct progress *progress, double seconds, double done, double enough)
{
    for (unsigned i = progress->count; i-- > 0;) {
        double passed = seconds - progress->samples[i].seconds, more = done - progress->samples[i].done;
        if ((passed >= seconds / 16 && more >= enough && passed > 0) || (passed >= seconds / 4 && passed > 0))
            return fmax(more, enough / 8) / passed; /* at most that, where nothing is done */
    }
    return 0;
}
