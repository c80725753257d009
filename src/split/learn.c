/* SPDX-License-Identifier: MIT */
/*
 * Iterative tasks: the split of a run serves the next. Its times are watched: when the devices do not end together, the split is
 * corrected by the times of that run, as soon as what the split has cost since its last correction exceeds what it costs to move the bytes of
 * the iterations that change sides: so no more than twice the necessary is lost, however many rounds there will be. When corrections do
 * not help, and runs last longer than they did since the split was learned, it is given up and the next run measures anew. While corrections
 * shorten the runs, corrections continue: a GPU whose time hardly depends on its share needs several.
 */
#include "split/engine.h"

#include <math.h>
#include <string.h>

/* What a device has computed, also if others were first with some of it: that tells its speed. */
static double computed(const struct corun_split *split, uint32_t device)
{
    return fmax((double)split->result.devices[device].iterations, (double)split->accounts[device].final_done);
}

/*
 * How long a device will need for as many iterations in the next run, if all of them are in one part: as the parts outside of
 * profiling needed, without copies of what is there now, and with what has to be moved again. 0 if nothing is known.
 */
static double seconds_next_time(const struct corun_split *split, uint32_t device)
{
    const struct device_account *account = &split->accounts[device];
    const struct corun_split_device_result *result = &split->result.devices[device];
    if (account->final_done && account->final_seconds > 0)
        return account->final_seconds * computed(split, device) / (double)account->final_done + account->setup_seconds;
    return result->seconds; /* only in profiling steps: better than nothing */
}

/* Seconds that the bytes of a further iteration took to a GPU, when any were last moved. */
static void learn_moving(struct corun_split *split)
{
    for (uint32_t d = 1; d < split->device_count; d++)
        if (split->accounts[d].kept_seconds > 0 && split->accounts[d].moved > 0)
            split->moving[d] = split->accounts[d].kept_seconds / split->accounts[d].moved;
}

/* What it costs to move the bytes of those iterations that a GPU gets more than now. */
static double moving_seconds(const struct corun_split *split, const double *share)
{
    double most = 0;
    for (uint32_t d = 1; d < split->device_count; d++)
        most = fmax(most, split->moving[d] * (share[d] - split->learned[d]) * (double)split->result.iterations);
    return most;
}

static void give_up(struct corun_split *split)
{
    split->knows = false;
    split->last_imbalance = 0;
    split->lost = 0;
}

/* The others have done all that the split had for a device before it did. */
static bool overtaken(const struct corun_split *split)
{
    for (uint32_t d = 0; d < split->device_count; d++)
        if (split->knows && split->result.reused && split->usable[d] && !(computed(split, d) > 0) &&
            split->learned[d] * (double)split->result.iterations >= 2 * (double)split->task.granularity)
            return true;
    return false;
}

/* A CPU that saves less time than the host needs to hand out a part beside it is left out. Returns the sum of the rates that are left. */
static double leave_out_cpu(const struct corun_split *split, double *rate, double sum)
{
    double handing = INFINITY, iterations = (double)split->result.iterations, others = sum - rate[CPU];
    for (uint32_t d = 1; d < split->device_count; d++)
        if (rate[d] > 0)
            handing = fmin(handing, split->handing[d]);
    if (isinf(handing) || iterations / others - iterations / sum >= handing)
        return sum;
    rate[CPU] = 0;
    return others;
}

void learn(struct corun_split *split)
{
    double share[CORUN_SPLIT_MAX_DEVICES] = {0}, sum = 0, least = INFINITY, most = 0;
    uint32_t known = 0;
    learn_moving(split);
    for (uint32_t d = 0; d < split->device_count; d++) {
        double seconds = split->usable[d] ? seconds_next_time(split, d) : 0;
        if (!(seconds > 0))
            continue;
        known++;
        least = fmin(least, seconds);
        most = fmax(most, seconds);
        share[d] = computed(split, d) / seconds;
        sum += share[d];
    }
    if (!known || overtaken(split)) {
        give_up(split);
        return;
    }
    sum = leave_out_cpu(split, share, sum);
    double together = (double)split->result.iterations / sum; /* seconds, if all ended at once */
    for (uint32_t d = 0; d < split->device_count; d++)
        share[d] /= sum;
    double imbalance = most > 0 ? (most - least) / most : 0, limit = split->parameters.drift;
    /* Where one side has computed what was the other's, both end together, and yet too late. */
    imbalance = most > together ? fmax(imbalance, 1 - together / most) : imbalance;
    bool learned_now = !split->result.reused, late = imbalance > limit, was_late = split->last_imbalance > limit;
    if (!learned_now && late && was_late && imbalance > split->last_imbalance / 2 &&
        most > split->best_seconds * (1 + limit)) {
        give_up(split);
        split->result.drifted = true;
        return;
    }
    split->lost += late && !learned_now ? fmax(0, most - together) : 0;
    if (learned_now || (late && split->lost >= moving_seconds(split, share))) {
        memcpy(split->learned, share, sizeof share);
        split->lost = 0;
    }
    split->last_imbalance = learned_now ? 0 : imbalance;
    split->best_seconds = learned_now ? most : fmin(most, split->best_seconds);
    split->usual = learned_now ? split->result.seconds : fmin(split->result.seconds, split->usual);
    split->knows = true;
}

void corun_split_forget(struct corun_split *split)
{
    give_up(split);
}
