/* SPDX-License-Identifier: MIT */
/*
 * Iterative tasks: the split of a run serves the next. Its times are watched: when the devices do not end together, the split is
 * corrected by the times of that run, as soon as what the split has cost since its last correction exceeds what it costs to move the bytes of
 * the iterations that change sides: so no more than twice the necessary is lost, however many rounds there will be. When corrections do
 * not help, and runs last longer than they did since the split was learned, it is given up and the next run measures anew. While corrections
 * shorten the runs, corrections continue: a GPU whose time hardly depends on its share needs several.
 */
#include "split/engine.h"

#include "split/gpu.h"

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

/* A copy has a latency: two measurements of different sizes tell it. */
static void note_moves(struct moves *moves, double iterations, double seconds)
{
    double more = iterations - moves->iterations, each = (seconds - moves->seconds) / more;
    bool apart = moves->iterations > 0 && fabs(more) > 0.1 * iterations;
    if (apart && each > 0 && seconds - each * iterations >= 0) {
        moves->each = each;
        moves->start = seconds - each * iterations;
    } else if (apart || !(moves->each > 0) || seconds <= moves->start) {
        moves->each = seconds / iterations;
        moves->start = 0;
    } else {
        moves->each = (seconds - moves->start) / iterations;
    }
    moves->iterations = iterations;
    moves->seconds = seconds;
}

void learn_move(struct corun_split *split, uint32_t device, double iterations, double seconds)
{
    note_moves(&split->moves[device], iterations, seconds);
}

/* How long the bytes of iterations took to a GPU, when any were last moved: by parts, until copies were measured by themselves. */
static void learn_moving(struct corun_split *split)
{
    double iterations, seconds;
    for (uint32_t d = 1; d < split->device_count; d++) {
        const struct device_account *account = &split->accounts[d];
        split->setup[d] = fmax(split->setup[d], split->result.devices[d].setup_seconds);
        split->returning[d] = account->back > 0 ? account->back_seconds / account->back : split->returning[d];
        if (split->executor && split->executor->operations->fetched(split->executor, d, &iterations, &seconds)) {
            note_moves(&split->moves[d], iterations, seconds);
        } else if (account->kept_seconds > 0 && account->moved > 0 && !(split->moves[d].iterations > 0)) {
            split->moves[d] = (struct moves){.each = account->kept_seconds / account->moved};
        }
    }
}

uint64_t learned_end(const struct corun_split *split, uint32_t device)
{
    double before = 0, all = (double)split->result.iterations;
    for (uint32_t d = 1; d < device; d++)
        before += split->knows ? floor(split->learned[d] * all) : 0;
    return before < all ? split->result.iterations - (uint64_t)before : 0;
}

void find_held(struct corun_split *split)
{
    for (uint32_t d = 1; d < split->device_count; d++)
        split->held[d] = split->keeps && !split->rates ? gpu_held(split->gpus[d - 1], learned_end(split, d)) : 0;
}

/* A GPU had the `kept` bytes of what it computed in the run before: it has lost most of them since. What it never had is no loss, and moves once. */
static bool has_lost_most(const struct corun_split *split, uint32_t device)
{
    double lost = 0, all = 0;
    for (size_t i = 0; i < split->steps.count; i++) { /* of the run before, which may have had more iterations */
        const struct corun_split_part *part = &split->steps.data[i].part[device];
        uint64_t end = part->begin + part->done;
        end = end < split->result.iterations ? end : split->result.iterations;
        if (part->begin >= end)
            continue;
        all += (double)(end - part->begin);
        lost += (double)(end - part->begin) * gpu_lacks(split->gpus[device - 1], part->begin, end);
    }
    return lost > all / 2;
}

/*
 * The program has changed most of the `kept` bytes that a GPU had: so many of its iterations are its own as can be moved in until the CPU has done the
 * rest. How long bytes take is believed where not much fewer told it.
 */
void give_back_changed(struct corun_split *split)
{
    enum { FEWER = 16 };
    double all = (double)split->result.iterations, granule = (double)split->task.granularity, each = split->cpu_each;
    memset(split->lacks, 0, sizeof split->lacks);
    for (uint32_t d = 1; d < split->device_count && split->knows && split->keeps && !split->rates; d++) {
        const struct moves *moves = &split->moves[d];
        double share = split->learned[d] * all, last = fmin(share, (double)gpu_again(split->gpus[d - 1]));
        double start = moves->start + split->setup[d] + split->latency[d] + split->returning[d] * last;
        uint64_t end = learned_end(split, d), count = (uint64_t)fmin(share, (double)end);
        double lacks = split->lacks[d] = share * gpu_lacks(split->gpus[d - 1], end - count, end), held = share - lacks;
        double in_time = (split->learned[CPU] * all + share) * each + moves->each * held - start;
        in_time = floor(fmax(held, in_time / (moves->each + each)) / granule) * granule;
        if (!(each > 0) || !(moves->each > 0) || !(lacks > share / 2) || FEWER * moves->iterations < lacks ||
            in_time >= share || !has_lost_most(split, d))
            continue;
        split->learned[d] = in_time / all;
        split->learned[CPU] += (share - in_time) / all;
        split->expected[d] *= in_time / share;
        split->expected[CPU] = split->learned[CPU] * all * each;
    }
}

/* What it costs to move the bytes of those iterations that a GPU gets more than now. */
static double moving_seconds(const struct corun_split *split, const double *share)
{
    double most = 0, all = (double)split->result.iterations;
    for (uint32_t d = 1; d < split->device_count; d++)
        most = fmax(most, split->moves[d].each * (share[d] - split->learned[d]) * all);
    return most;
}

/* Before a GPU's iterations are the CPU's: it is the last that is given any. */
static uint32_t beside_cpu(const struct corun_split *split, const double *share)
{
    uint32_t device = CPU;
    double granule = (double)split->task.granularity / (double)split->result.iterations;
    for (uint32_t d = 1; d < split->device_count; d++)
        if (split->usable[d] && fmax(share[d], split->learned[d]) >= granule)
            device = d;
    return device;
}

/*
 * Beside the iterations that it has, the GPU next to the CPU's gets as many as it can move in and compute until the CPU has done the rest, up to its `share`: so nobody
 * waits for them. Each run after that begins with more on the GPU. The time that the CPU saves has to be worth the latency of a copy, twice, which delays what is
 * moved behind the CPU's parts.
 */
static void add_arriving(struct corun_split *split, const double *share, double cpu_rate, double gpu_rate)
{
    uint32_t d = beside_cpu(split, share);
    const struct moves *moves = &split->moves[d];
    double all = (double)split->result.iterations, granule = (double)split->task.granularity;
    if (d == CPU || !(cpu_rate > 0) || !(gpu_rate > 0))
        return;
    double start = fmax(moves->start, split->latency[d]),
           arrives = fmax(0, split->fetched_at[d] - split->result.seconds) + split->setup[d] + start;
    double seconds = split->learned[CPU] * all / cpu_rate - arrives;
    double more = seconds / (moves->each + 1 / gpu_rate + 1 / cpu_rate);
    more = floor(fmin(more, (share[d] - split->learned[d]) * all) / granule) * granule;
    if (!(more / cpu_rate > 2 * start) || !(more > 0))
        return;
    split->learned[d] += more / all;
    split->learned[CPU] = fmax(0, split->learned[CPU] - more / all);
}

/* Whether everything for the GPUs is worth what has to be moved for it: the next round would wait for the CPU by more than twice as long. */
static bool gains_more_than_it_moves(const struct corun_split *split, const double *share, double cpu_rate,
                                     double together)
{
    double start = 0, cpu = split->learned[CPU] * (double)split->result.iterations / cpu_rate;
    for (uint32_t d = 1; d < split->device_count; d++)
        start = fmax(start, split->moves[d].start);
    return cpu_rate > 0 && cpu - together > 2 * (start + moving_seconds(split, share));
}

/* Goes as far from the learned split towards `share` as moves no bytes. What was lost until then does not count, if that is any way. */
static void correct_freely(struct corun_split *split, const double *share)
{
    double gpus = 0, all = (double)split->result.iterations, granule = (double)split->task.granularity;
    for (uint32_t d = 1; d < split->device_count; d++) {
        double there = fmin(share[d], fmax(split->learned[d], (double)split->held[d] / all));
        split->lost = (there - split->learned[d]) * all >= granule ? 0 : split->lost;
        split->learned[d] = there;
        gpus += there;
    }
    split->learned[CPU] = fmax(0, 1 - gpus);
}

/* A GPU has been given more in the run than the split has for it: that was a part of its own, behind the others, and need not be one next time. */
static bool has_exceeded(const struct corun_split *split)
{
    double all = (double)split->result.iterations, granule = (double)split->task.granularity;
    for (uint32_t d = 1; d < split->device_count; d++)
        if ((double)split->result.devices[d].iterations >= split->learned[d] * all + granule)
            return true;
    return false;
}

static void give_up(struct corun_split *split)
{
    split->knows = false;
    split->cpu_tried = false; /* the first round may leave it nothing again */
    split->last_imbalance = 0;
    split->lost = 0;
}

/* A GPU was left out of rounds that took less than its part did; this one, of more iterations, has taken longer. */
static bool would_pay(struct corun_split *split)
{
    bool pays = false;
    for (uint32_t d = 1; d < split->device_count; d++) {
        if (!(split->left_out[d] > 0) || !split->usable[d] || !(split->result.seconds > split->left_out[d]))
            continue;
        split->left_out[d] = 0;
        pays = true;
    }
    return pays;
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

static bool any_was_stale(const struct corun_split *split)
{
    for (uint32_t d = 1; d < split->device_count; d++)
        if (split->was_stale[d])
            return true;
    return false;
}

/* A device has done nothing because it still worked for an earlier run: that tells nothing of the split. */
static bool was_held_up(const struct corun_split *split)
{
    for (uint32_t d = 1; d < split->device_count; d++)
        if (split->knows && split->usable[d] && split->was_stale[d] && !(computed(split, d) > 0) &&
            split->learned[d] * (double)split->result.iterations >= (double)split->task.granularity)
            return true;
    return false;
}

/*
 * A CPU is left out that saves less time than the host needs to hand out a part beside it, or that would need longer for a granule than the others for
 * everything. Returns the sum of the rates that are left.
 */
static double leave_out_cpu(const struct corun_split *split, double *rate, double sum)
{
    double handing = INFINITY, iterations = (double)split->result.iterations, others = sum - rate[CPU];
    double granule = (double)split->task.granularity * fmax(1, split->threads) / rate[CPU];
    for (uint32_t d = 1; d < split->device_count; d++)
        if (rate[d] > 0)
            handing = fmin(handing, split->handing[d]);
    bool is_needed = isinf(handing) || iterations / others - iterations / sum >= handing;
    if (!(others > 0) || (is_needed && granule <= iterations / others))
        return sum;
    rate[CPU] = 0;
    return others;
}

/*
 * A GPU's part that cannot be computed by the CPU as well is waited for. Where a share by rates still takes the GPU longer than the CPU needs for everything,
 * being a part at all does, and the GPU is left out. Returns the sum of the rates that are left.
 */
static double leave_out_gpus(struct corun_split *split, const double *seconds, double *rate, double sum)
{
    double alone = rate[CPU] > 0 ? (double)split->result.iterations / rate[CPU] : INFINITY;
    for (uint32_t d = 1; d < split->device_count && !split->may_race && split->result.reused; d++) {
        if (!(seconds[d] > alone))
            continue;
        split->left_out[d] = fmax(seconds[d], split->result.seconds);
        sum -= rate[d];
        rate[d] = 0;
    }
    return sum;
}

/*
 * A CPU that nothing was left for, and that nothing is known of: one granule for each thread, in the next run, and half a granule more, for that run may have fewer iterations
 * and GPUs' parts are rounded up.
 */
static bool try_cpu(const struct corun_split *split, double *share)
{
    double granule = (double)split->task.granularity / (double)split->result.iterations;
    double granules = fmin(0.5, (0.5 + split->threads) * granule);
    if (split->may_race || !split->usable[CPU] || split->cpu_tried)
        return false;
    for (uint32_t d = 1; d < split->device_count; d++)
        share[d] *= 1 - granules;
    share[CPU] = granules;
    return true;
}

/* What the run took longer than the CPU alone would have taken. A gain makes up for earlier losses. */
static void note_waste(struct corun_split *split)
{
    const struct corun_split_device_result *cpu = &split->result.devices[CPU];
    double alone =
        cpu->iterations ? cpu->seconds / (double)cpu->iterations * (double)split->result.iterations : INFINITY;
    split->spent += split->result.seconds;
    split->wasted = fmax(0, split->wasted + split->result.seconds - alone);
}

void learn(struct corun_split *split)
{
    double share[CORUN_SPLIT_MAX_DEVICES] = {0}, needs[CORUN_SPLIT_MAX_DEVICES] = {0}, sum = 0, least = INFINITY,
           most = 0;
    uint32_t known = 0;
    note_waste(split);
    learn_moving(split);
    find_held(split);
    if (was_held_up(split))
        return;
    for (uint32_t d = 0; d < split->device_count; d++) {
        double seconds = split->usable[d] ? seconds_next_time(split, d) : 0;
        if (!(seconds > 0))
            continue;
        known++;
        needs[d] = seconds;
        least = fmin(least, seconds);
        most = fmax(most, seconds);
        share[d] = computed(split, d) / seconds;
        sum += share[d];
    }
    if (!known || overtaken(split) || would_pay(split)) {
        give_up(split);
        return;
    }
    double cpu_rate = share[CPU];
    split->cpu_tried = split->cpu_tried || cpu_rate > 0;
    sum = leave_out_gpus(split, needs, share, leave_out_cpu(split, share, sum));
    double together = (double)split->result.iterations / sum; /* seconds, if all ended at once */
    for (uint32_t d = 0; d < split->device_count; d++)
        share[d] /= sum;
    bool tries = try_cpu(split, share);
    double imbalance = most > 0 ? (most - least) / most : 0, limit = split->parameters.drift;
    /* Where one side has computed what was the other's, both end together, and yet too late. */
    imbalance = most > together ? fmax(imbalance, 1 - together / most) : imbalance;
    bool learned_now = !split->knows || (!split->result.reused && !any_was_stale(split)), late = imbalance > limit,
         was_late = split->last_imbalance > limit;
    if (!learned_now && late && was_late && imbalance > split->last_imbalance / 2 &&
        most > split->best_seconds * (1 + limit)) {
        give_up(split);
        split->result.drifted = true;
        return;
    }
    split->lost += late && !learned_now ? fmax(0, most - together) : 0;
    if (split->keeps && split->ahead) { /* the rest follows behind the CPU's parts */
        if (!split->knows)
            memset(split->learned, 0, sizeof split->learned);
        if (!split->knows || late || has_exceeded(split))
            correct_freely(split, share);
        uint32_t d = beside_cpu(split, share);
        if (!(share[CPU] > 0) && gains_more_than_it_moves(split, share, cpu_rate, together))
            memcpy(split->learned, share, sizeof share);
        else
            add_arriving(split, share, cpu_rate, share[d] * sum);
    } else if (learned_now || tries || (late && split->lost >= moving_seconds(split, share))) {
        memcpy(split->learned, share, sizeof share);
        split->lost = 0;
    }
    split->cpu_each = cpu_rate > 0 ? 1 / cpu_rate : split->cpu_each;
    for (uint32_t d = 0; d < split->device_count; d++) {
        double done = computed(split, d), next = split->learned[d] * (double)split->result.iterations;
        split->expected[d] = done > 0 ? seconds_next_time(split, d) * next / done : 0;
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
