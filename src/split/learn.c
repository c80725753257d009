/* SPDX-License-Identifier: MIT */
/*
 * Iterative tasks: the split of a run serves the next. Its times are watched: when the devices do not end together, the split is
 * corrected by the times of that run; when that does not help, and runs last longer than they did since the split was learned, it is
 * given up and the next run measures anew. While corrections shorten the runs they go on: a GPU whose time hardly depends on its share
 * needs several.
 */
#include "split/engine.h"

#include <math.h>
#include <string.h>

/*
 * How long a device will need for as many iterations in the next run, if all of them are in one part: as the parts outside of
 * profiling needed, without copies of what is there now, and with what has to be moved again. 0 if nothing is known.
 */
static double seconds_next_time(const struct corun_split *split, uint32_t device)
{
    const struct device_account *account = &split->accounts[device];
    uint64_t iterations = split->result.devices[device].iterations;
    const struct corun_split_device_result *result = &split->result.devices[device];
    if (account->final_done && account->final_seconds > 0)
        return account->final_seconds * (double)iterations / (double)account->final_done + account->setup_seconds;
    return result->seconds; /* only in profiling steps: better than nothing */
}

void learn(struct corun_split *split)
{
    double share[CORUN_SPLIT_MAX_DEVICES] = {0}, sum = 0, least = INFINITY, most = 0;
    uint32_t known = 0;
    for (uint32_t d = 0; d < split->device_count; d++) {
        double seconds = split->usable[d] ? seconds_next_time(split, d) : 0;
        if (!(seconds > 0))
            continue;
        known++;
        least = fmin(least, seconds);
        most = fmax(most, seconds);
        share[d] = (double)split->result.devices[d].iterations / seconds;
        sum += share[d];
    }
    if (!known) {
        split->knows = false;
        return;
    }
    for (uint32_t d = 0; d < split->device_count; d++)
        share[d] /= sum;
    double imbalance = most > 0 ? (most - least) / most : 0, limit = split->parameters.drift;
    bool learned_now = !split->result.reused, late = imbalance > limit, was_late = split->last_imbalance > limit;
    if (!learned_now && late && was_late && imbalance > split->last_imbalance / 2 &&
        most > split->best_seconds * (1 + limit)) {
        split->knows = false;
        split->result.drifted = true;
        split->last_imbalance = 0;
        return;
    }
    if (learned_now || late)
        memcpy(split->learned, share, sizeof share);
    split->last_imbalance = learned_now ? 0 : imbalance;
    split->best_seconds = learned_now ? most : fmin(most, split->best_seconds);
    split->knows = true;
}

void corun_split_forget(struct corun_split *split)
{
    split->knows = false;
    split->last_imbalance = 0;
}
