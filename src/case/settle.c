/* SPDX-License-Identifier: MIT */
/* Batches of a shared run, two measures of what they tell, and when that is enough. */
#include "case/settle.h"

#include "base/archive.h"
#include "case/run.h"

#include <math.h>
#include <string.h>

#define FEWEST_BATCHES 8u
#define NORMAL 1.96 /* standard deviations in half of an interval of 95 % */
#define MILLION 1e6
#define NARROWEST 1e-6       /* that an interval is taken for: as finely as widths are known */
#define ISOLATED_PARTS 256.0 /* of a cycle of the isolated run, so that slow applications have whole numbers, too */

/* At which look these sums were taken: a step ends at it or soon after. */
static uint64_t look_of(const struct settle_series *series, uint64_t cycle)
{
    return cycle / series->look_cycles;
}

/* The batch that begins with the last sums has not ended yet. */
static bool is_under_way(const struct settle_series *series, uint64_t cycle)
{
    return series->count &&
           look_of(series, cycle) < look_of(series, series->cycles[series->count - 1]) + series->batch_looks;
}

void settle_add(struct settle_series *series, uint64_t cycle, uint64_t instructions)
{
    if (is_under_way(series, cycle))
        return;
    if (series->count == RATIO_POINTS + 1) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < series->count; i += 2, kept++) {
            series->cycles[kept] = series->cycles[i];
            series->instructions[kept] = series->instructions[i];
        }
        series->count = kept;
        series->batch_looks *= 2;
        if (is_under_way(series, cycle))
            return;
    }
    series->cycles[series->count] = cycle;
    series->instructions[series->count++] = instructions;
}

/* ---- the isolated run ---- */

/* Behind its end it goes on as it did in the mean. */
static double mean_speed(const struct baseline_curve *curve)
{
    const struct baseline_point *last = &curve->points[curve->count - 1];
    return (double)last->thread_instructions / (double)last->cycles;
}

/* Cycles that so many instructions take alone. */
static double isolated_cycles(const struct baseline_curve *curve, double instructions)
{
    for (uint32_t i = 1; i < curve->count; i++) {
        const struct baseline_point *from = &curve->points[i - 1], *to = &curve->points[i];
        if (instructions < (double)to->thread_instructions)
            return (double)from->cycles + (instructions - (double)from->thread_instructions) /
                                              (double)(to->thread_instructions - from->thread_instructions) *
                                              (double)(to->cycles - from->cycles);
    }
    return instructions / mean_speed(curve);
}

/* Instructions that it has done alone after so many cycles. */
static double isolated_instructions(const struct baseline_curve *curve, double cycles)
{
    for (uint32_t i = 1; i < curve->count; i++) {
        const struct baseline_point *from = &curve->points[i - 1], *to = &curve->points[i];
        if (cycles < (double)to->cycles)
            return (double)from->thread_instructions +
                   (cycles - (double)from->cycles) / (double)(to->cycles - from->cycles) *
                       (double)(to->thread_instructions - from->thread_instructions);
    }
    return cycles * mean_speed(curve);
}

/* Instructions after `left` further cycles at so many per cycle, where it is not slower alone. */
static double held_instructions(const struct baseline_curve *curve, double instructions, double left, double speed)
{
    for (uint32_t i = 1; i < curve->count; i++) {
        const struct baseline_point *from = &curve->points[i - 1], *to = &curve->points[i];
        double until = (double)to->thread_instructions;
        double alone = (until - (double)from->thread_instructions) / (double)(to->cycles - from->cycles);
        double slower = fmin(speed, alone);
        if (until <= instructions)
            continue;
        if (instructions + slower * left < until)
            return instructions + slower * left;
        left -= (until - instructions) / slower;
        instructions = until;
    }
    return instructions + speed * left;
}

/* ---- the estimate ---- */

/* What the batches say. */
struct batches {
    uint32_t count;
    struct ratio_point held[RATIO_POINTS],
        shared[RATIO_POINTS]; /* by either measure: cycles, and what was done in them */
};

/* Of the batches from `first` on: the half widths of what is done per cycle, relative. */
struct widths {
    uint32_t first;
    double held, shared;
};

/* What was done in a batch; the estimator wants more than nothing, which one instruction of thousands is as good as. */
static struct ratio_point point_of(uint64_t cycles, uint64_t done)
{
    return (struct ratio_point){cycles, done ? done : 1};
}

/* False: too few, or a policy has dropped work. */
static bool make_batches(const struct settle_series *series, const struct baseline_curve *curve,
                         struct batches *batches)
{
    batches->count = series->count ? series->count - 1 : 0;
    if (batches->count < FEWEST_BATCHES || curve->count < 2 || !curve->points[curve->count - 1].thread_instructions)
        return false;
    double before = isolated_cycles(curve, (double)series->instructions[0]);
    for (uint32_t i = 0; i < batches->count; i++) {
        double after = isolated_cycles(curve, (double)series->instructions[i + 1]);
        uint64_t cycles = series->cycles[i + 1] - series->cycles[i];
        if (series->instructions[i + 1] < series->instructions[i])
            return false;
        batches->held[i] = point_of(cycles, series->instructions[i + 1] - series->instructions[i]);
        batches->shared[i] = point_of(cycles, (uint64_t)((after - before) * ISOLATED_PARTS));
        before = after;
    }
    return true;
}

/* Batches in which nothing was done at all agree, but on nothing. */
static double width_of(const struct ratio_point *points, uint32_t count)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = points[i].instructions > most ? points[i].instructions : most;
    uint64_t millionths = most > 1 ? ratio_half_width_in_turn(points, count) : RATIO_UNKNOWN;
    return millionths == RATIO_UNKNOWN ? (double)INFINITY : fmax((double)millionths / MILLION, NARROWEST);
}

/*
 * The first batches may still warm up: of the first quarter of them so many are left out that the rest agrees best (White, Simulation 69, 1997). False:
 * there is no interval.
 */
static bool find_widths(const struct batches *batches, struct widths *best)
{
    *best = (struct widths){0, (double)INFINITY, (double)INFINITY};
    for (uint32_t first = 0; first <= batches->count / 4 && batches->count - first >= FEWEST_BATCHES; first++) {
        struct widths these = {first, width_of(batches->held + first, batches->count - first),
                               width_of(batches->shared + first, batches->count - first)};
        bool known = isfinite(these.held) && isfinite(these.shared);
        if (known && fmin(these.held, these.shared) < fmin(best->held, best->shared))
            *best = these;
    }
    return isfinite(best->held);
}

bool settle_estimate(const struct settle_series *series, const struct baseline_curve *curve, uint64_t instructions,
                     uint64_t left, struct settle_estimate *estimate)
{
    struct batches batches;
    struct widths widths;
    if (!make_batches(series, curve, &batches) || !find_widths(&batches, &widths))
        return false;
    uint64_t first = series->instructions[widths.first], last = series->instructions[batches.count];
    double measured = (double)(series->cycles[batches.count] - series->cycles[widths.first]);
    double now = (double)instructions, rest = (double)left;
    double speed = (double)(last - first) / measured;
    double share = (isolated_cycles(curve, (double)last) - isolated_cycles(curve, (double)first)) / measured;
    double held = held_instructions(curve, now, rest, speed) - now;
    double shared = isolated_instructions(curve, isolated_cycles(curve, now) + share * rest) - now;
    /* Of independent estimates of one thing, each counts by the inverse of its variance. */
    double part = 1 / (1 + widths.held * widths.held / (widths.shared * widths.shared));
    /* The mean of what was measured strays from the true one, and so does that of the rest of the window. */
    double both = rest > 0 ? sqrt((measured + rest) / rest) : 0;
    /* Which measure is right is not known either: 1.96 standard deviations, and no more than to the farther one. */
    double either = fmin(NORMAL * sqrt(part * (1 - part)), fmax(part, 1 - part));
    estimate->instructions = now + part * held + (1 - part) * shared;
    estimate->half_width =
        both * (part * widths.held * held + (1 - part) * widths.shared * shared) + either * fabs(held - shared);
    return true;
}

bool settle_is_known(const struct settle_estimate *estimate, double half_width, uint64_t instructions,
                     const struct settle_goal *goal)
{
    if (!(estimate->half_width <= half_width))
        return false;
    if (!(goal->window > 0))
        return true;
    bool meets = estimate->instructions >= goal->window;
    return fabs(estimate->instructions - goal->window) > estimate->half_width &&
           ((double)instructions >= goal->now) == meets;
}

/* ---- the looks ---- */

struct settling {
    const struct run *run;
    uint32_t applications;
    uint64_t window, look_cycles, begin; /* begin: of the first batch, at the earliest */
    uint64_t settled;
    uint32_t known; /* looks, one after the other, at which everything was known */
    struct settle_series series[CORUN_MAX_APPLICATIONS];
    struct settle_estimate estimates[CORUN_MAX_APPLICATIONS];
};

struct settling *settling_create(const struct run *run, struct arena *arena)
{
    const struct corun_case *job = run->job;
    struct settling *settling = ARENA_NEW(arena, struct settling);
    uint64_t arrived = 0;
    if (!settling)
        return NULL;
    for (uint32_t a = 0; a < job->application_count; a++)
        arrived = job->applications[a].start_cycle > arrived ? job->applications[a].start_cycle : arrived;
    *settling = (struct settling){.run = run,
                                  .applications = job->application_count,
                                  .window = job->cycles,
                                  .look_cycles = baseline_curve_step(job->cycles)};
    settling->begin = arrived + ratio_scale(job->cycles - arrived, SETTLE_WARM_UP, 100);
    for (uint32_t a = 0; a < job->application_count; a++)
        settling->series[a] = (struct settle_series){.look_cycles = settling->look_cycles, .batch_looks = 1};
    return settling;
}

/* One application: what is known of it now. False: not enough, or it does not go on to the end of the window. */
static bool look_at(struct settling *settling, uint32_t index, uint64_t cycle)
{
    const struct run *run = settling->run;
    const struct member *member = &run->members[index];
    struct settle_estimate *estimate = &settling->estimates[index];
    struct corun_application_result result;
    corun_gpu_application(run->gpu, index, &result);
    settle_add(&settling->series[index], cycle, result.thread_instructions);
    if (result.status != CORUN_OK || !member->has_baseline)
        return false;
    double window = (double)(settling->window - result.arrived_cycle);
    double half_width = run_isolated_ipc(member) * window * run->job->settle / MILLION;
    struct settle_goal goal = {0, 0};
    if (member->goal_ipc > 0)
        goal =
            (struct settle_goal){member->goal_ipc * (double)(cycle - result.arrived_cycle), member->goal_ipc * window};
    return settle_estimate(&settling->series[index], &member->baseline.curve, result.thread_instructions,
                           settling->window - cycle, estimate) &&
           settle_is_known(estimate, half_width, result.thread_instructions, &goal);
}

bool settling_look(struct settling *settling, uint64_t cycle)
{
    bool known = true;
    if (cycle < settling->begin || cycle >= settling->window)
        return false;
    for (uint32_t a = 0; a < settling->applications; a++)
        known = look_at(settling, a, cycle) && known;
    bool early = cycle - settling->begin < ratio_scale(settling->window, SETTLE_EARLIEST - SETTLE_WARM_UP, 100);
    settling->known = known && !early ? settling->known + 1 : 0;
    if (settling->known == SETTLE_LOOKS)
        settling->settled = cycle;
    return settling->settled != 0;
}

uint64_t settling_cycle(const struct settling *settling)
{
    return settling->settled;
}

const struct settle_estimate *settling_estimate(const struct settling *settling, uint32_t application)
{
    return &settling->estimates[application];
}

void settling_archive(struct corun_archive *archive, struct settling *settling)
{
    archive_section(archive, "settling", 1);
    ARCHIVE(archive, settling->known);
    for (uint32_t a = 0; a < settling->applications; a++)
        ARCHIVE(archive, settling->series[a]);
}
