/* SPDX-License-Identifier: MIT */
/*
 * Co-scheduling by asymptotic profiling (Wang 2017, algorithm 4-2): steps that double until the split settles or too little is
 * left, then the rest at once. So the GPU is measured at sizes that come closer to the one that matters, in few steps.
 *
 * Beyond the thesis, because one step split evenly would cost a machine with devices of very different speeds more than it
 * gains: all waiting for slow devices together may last `patience` times what the fastest device would need for the whole task.
 * After that, what the CPU has not begun is recalled; a GPU cannot be, and is left behind: the others continue without it, and it
 * joins them when it has ended. In the last step, the CPU's rest is divided anew where that saves as much. And what is left is divided
 * by extrapolated times, as soon as a further step would cost more than it could mend (extrapolate.h). A GPU's first part is not smaller than
 * what occupies its multiprocessors (`fill`). With a large `patience` and without `extrapolate` and `fill` this is the algorithm of the thesis.
 */
#include "split/extrapolate.h"
#include "split/strategy.h"

#include <math.h>
#include <string.h>

#define CPU 0u

/* Of `patience`, for a CPU that was recalled to complete what it has begun. */
static const double recall_fraction = 0.25;

/* Seconds that may be waited in all steps together. */
static double patience_seconds(const struct corun_split_view *view)
{
    double fastest = 0;
    for (uint32_t d = 0; d < view->device_count; d++)
        fastest = view->usable[d] ? fmax(fastest, corun_split_rate(view, d)) : fastest;
    return fastest > 0 ? view->parameters->patience * (double)view->iterations / fastest : INFINITY;
}

/* How long the first device that ended in a step has waited for the others, until the next step or now; negative if none has. */
static double waited(const struct corun_split_view *view, uint32_t index)
{
    const struct corun_split_step *step = &view->steps[index];
    double limit = index + 1 < view->step_count ? step[1].start : view->now;
    double first = INFINITY, last = 0;
    for (uint32_t d = 0; d < view->device_count; d++) {
        const struct corun_split_part *part = &step->part[d];
        double end = part->busy ? limit : fmin(step->start + part->seconds, limit);
        if (part->begin == part->end)
            continue;
        first = part->busy ? first : fmin(first, end);
        last = fmax(last, end);
    }
    return isinf(first) ? -1 : last - first;
}

/* Shares by the rates of those that are idle. */
static void idle_shares(const struct corun_split_view *view, double *share)
{
    double sum = 0;
    strategy_rate_shares(view, share);
    for (uint32_t d = 0; d < view->device_count; d++) {
        share[d] = view->busy[d] ? 0 : share[d];
        sum += share[d];
    }
    for (uint32_t d = 0; d < view->device_count && sum > 0; d++)
        share[d] /= sum;
}

/* A first part that leaves a GPU's multiprocessors without work takes as long as one that does not, and tells less. */
static void enlarge_to_flat(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    uint64_t sum = 0;
    for (uint32_t d = 0; d < view->device_count; d++)
        sum += decision->parts[d];
    for (uint32_t d = 0; d < view->device_count; d++) {
        uint64_t part = decision->parts[d], spare = view->left - sum;
        uint64_t more = part && view->flat[d] > part ? view->flat[d] - part : 0;
        more = more < spare ? more : spare;
        decision->parts[d] += more;
        sum += more;
    }
    for (uint32_t d = 0; d < view->device_count && sum; d++)
        decision->share[d] = (double)decision->parts[d] / (double)sum;
}

static void give_first(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    double share[CORUN_SPLIT_MAX_DEVICES];
    if (view->learned) {
        strategy_give(view, decision, view->left, view->learned);
        return;
    }
    strategy_blind_shares(view, share);
    strategy_give(view, decision, strategy_step(view, view->parameters->first * (double)view->iterations), share);
    enlarge_to_flat(view, decision);
    decision->profiling = true;
}

/* Iterations of a step; of one that the CPU did alone while others were late, what it did until then. */
static double step_size(const struct corun_split_step *step)
{
    const struct corun_split_part *cpu = &step->part[CPU];
    return (double)(cpu->end - cpu->begin == step->iterations ? cpu->done : step->iterations);
}

/* Algorithm 4-2, lines 4 to 14. */
static void give_next(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    const struct corun_split_step *last = &view->steps[view->step_count - 1];
    double share[CORUN_SPLIT_MAX_DEVICES], step = step_size(last);
    struct extrapolation known;
    bool extrapolated = view->parameters->extrapolate > 0 && extrapolate(view, &known);
    idle_shares(view, share);
    decision->variance = strategy_variance(view, last->share, share);
    bool settled = !last->profiling || decision->variance < view->parameters->variance ||
                   view->parameters->rest * step > (double)view->left;
    if (settled || (extrapolated && known.error_cost < known.step_cost)) {
        strategy_give(view, decision, view->left, extrapolated ? known.share : share);
        return;
    }
    strategy_give(view, decision, strategy_step(view, view->parameters->growth * step), share);
    decision->profiling = true;
}

/* By how much the devices that still work on a step may be late: one whose rate is known, by half of what it should need. */
static double tolerated(const struct corun_split_view *view, uint32_t index, double patience)
{
    struct corun_split_view before = *view;
    double most = 0;
    before.step_count = index;
    for (uint32_t d = 0; d < view->device_count; d++) {
        const struct corun_split_part *part = &view->steps[index].part[d];
        double rate = corun_split_rate(&before, d);
        if (part->busy && rate > 0 && d != CPU) /* the CPU can be recalled: what it has done is not lost */
            most = fmax(most, 0.5 * (double)(part->end - part->begin) / rate + 0.1 * patience);
    }
    return most;
}

/* Some have ended a profiling step, others have not: wait, then recall the CPU, then leave behind who is late. */
static void wait_for_step(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    uint32_t index = view->step_count - 1;
    double patience = patience_seconds(view), spent = 0, wait = waited(view, index);
    bool late = false;
    for (uint32_t d = 0; d < view->device_count; d++)
        late = late || view->steps[index].part[d].busy;
    if (!late) { /* who works was left behind before this step */
        give_next(view, decision);
        return;
    }
    for (uint32_t i = 0; i < index; i++)
        spent += fmax(0, waited(view, i));
    double recall = fmax(tolerated(view, index, patience), (1 - recall_fraction) * patience - spent);
    double leave = recall + (view->busy[CPU] ? recall_fraction * patience : 0);
    if (isinf(patience))
        return;
    if (wait < 0) { /* who was left behind has ended, the others have not */
        decision->recall = 1u << CPU;
        return;
    }
    /* A wake-up may come a rounding error too early: what is all but spent counts as spent. */
    if (wait < recall * (1 - 1e-9)) {
        decision->wake = view->now + (recall - wait);
    } else if (wait < leave * (1 - 1e-9)) {
        decision->recall = 1u << CPU;
        decision->wake = view->now + (leave - wait);
    } else {
        give_next(view, decision);
    }
}

/* The shortest part that the idle GPUs ever had: another one takes at least as long. */
static double shortest_part(const struct corun_split_view *view)
{
    double shortest = INFINITY;
    for (uint32_t i = 0; i < view->step_count; i++)
        for (uint32_t d = 1; d < view->device_count; d++)
            if (view->steps[i].part[d].done && !view->busy[d])
                shortest = fmin(shortest, view->steps[i].part[d].seconds);
    return shortest;
}

static double idle_rate(const struct corun_split_view *view, uint32_t device)
{
    return view->busy[device] || !view->usable[device] ? 0 : corun_split_rate(view, device);
}

/* Iterations per second of the idle GPUs, with what they have to move, if they divide `open` iterations with the CPU. */
static double further_rate(const struct corun_split_view *view, double own, double open, double *moving)
{
    double sum = own, others = 0;
    for (uint32_t d = 1; d < view->device_count; d++)
        sum += idle_rate(view, d);
    for (uint32_t d = 1; d < view->device_count; d++) {
        double rate = idle_rate(view, d), part = open * rate / sum;
        double moves = strategy_moving(view, d, strategy_unheld(view, d, part));
        others += part > 0 ? part / (part / rate + moves) : 0;
        *moving = fmax(*moving, moves);
    }
    return others;
}

/* The CPU still computes its last part: is it worth dividing what it has not begun? */
static void shorten_tail(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    const struct corun_split_part *part = strategy_cpu_part(view);
    double own = corun_split_rate(view, CPU);
    if (!part || !(own > 0))
        return;
    double open = (double)(part->end - part->begin - part->done), rest = open / own, moving = 0;
    double others = further_rate(view, own, open, &moving);
    double saved = fmin(rest * others / (others + own), rest - moving - shortest_part(view));
    if (others > 0 && saved > patience_seconds(view))
        decision->recall = 1u << CPU;
}

void strategy_cap(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    bool idle = false;
    for (uint32_t d = 0; d < view->device_count; d++)
        idle = idle || (view->usable[d] && !view->busy[d]);
    if (!strategy_busy(view) && strategy_give_only(view, decision))
        return;
    if (!view->step_count)
        give_first(view, decision);
    else if (!strategy_busy(view))
        give_next(view, decision);
    else if (idle && view->left && view->steps[view->step_count - 1].profiling)
        wait_for_step(view, decision);
    else if (idle && view->busy[CPU])
        shorten_tail(view, decision);
    strategy_fetch(view, decision);
}
