/* SPDX-License-Identifier: MIT */
/*
 * A run: ask the strategy, begin parts, wait until something has ended, note what became of it, ask again. Here nothing knows
 * what a device is; the executor does.
 */
#include "split/engine.h"

#include "split/clock.h"
#include "split/gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the last decisions could not say twice. */
struct asking {
    struct corun_split_view view;
    struct corun_split_decision decision;
};

static double now(struct corun_split *split)
{
    return split->executor->operations->now(split->executor);
}

static bool any_busy(const struct corun_split *split)
{
    for (uint32_t d = 0; d < split->device_count; d++)
        if (split->busy[d])
            return true;
    return false;
}

static void fill_view(struct corun_split *split, struct corun_split_view *view)
{
    *view = (struct corun_split_view){.iterations = split->result.iterations,
                                      .left = ranges_total(&split->left),
                                      .granularity = split->task.granularity,
                                      .now = now(split),
                                      .device_count = split->device_count,
                                      .step_count = (uint32_t)split->steps.count,
                                      .steps = split->steps.data,
                                      .learned = split->knows ? split->learned : NULL,
                                      .parameters = &split->parameters,
                                      .context = split->strategy_context};
    for (uint32_t d = 0; d < split->device_count; d++) {
        view->usable[d] = split->usable[d];
        view->busy[d] = split->busy[d];
        view->flat[d] = split->rates ? split->rates[d].flat : d ? gpu_flat(split->gpus[d - 1]) : 0;
        if (!split->busy[d])
            continue;
        struct corun_split_step *step = &split->steps.data[split->step_of[d]];
        step->part[d].seconds = view->now - step->start;
        step->part[d].done = split->executor->operations->progress(split->executor, d);
    }
}

static enum corun_status check(const struct corun_split *split, const struct asking *asked,
                               struct corun_diagnostics *diagnostics)
{
    uint64_t sum = 0;
    for (uint32_t d = 0; d < split->device_count; d++) {
        uint64_t part = asked->decision.parts[d];
        if (part && (split->busy[d] || !split->usable[d]))
            return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "strategy %s gives iterations to device %u, which %s", split->strategy_name, d,
                                split->busy[d] ? "has not ended its part" : "cannot be used");
        if (part > asked->view.left - sum)
            return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "strategy %s gives away more than the %llu iterations that are left",
                                split->strategy_name, (unsigned long long)asked->view.left);
        sum += part;
    }
    if (!sum && !any_busy(split))
        return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "strategy %s gives nothing to anybody, and %llu iterations are left", split->strategy_name,
                            (unsigned long long)asked->view.left);
    return CORUN_OK;
}

/*
 * Takes the part of a device out of what is left: the CPU from the front, GPUs from the back, so that an iterative task finds
 * its bytes where they were. Whole granules: a part grows to the next border.
 */
static void cut(struct corun_split *split, struct corun_split_step *step, uint32_t device, uint64_t count)
{
    uint64_t granularity = split->task.granularity;
    const struct range *first = &split->left.list.data[0], *last = &split->left.list.data[split->left.list.count - 1];
    uint64_t border = device == CPU ? first->begin + count : last->end - (count < last->end ? count : last->end);
    uint64_t ragged = border % granularity;
    if (ragged)
        count += device == CPU ? granularity - ragged : ragged;
    struct range taken = ranges_take(&split->left, count, device != CPU);
    step->part[device] = (struct corun_split_part){.begin = taken.begin, .end = taken.end, .busy = true};
    step->iterations += taken.end - taken.begin;
}

static enum corun_status begin_step(struct corun_split *split, const struct corun_split_decision *decision)
{
    struct corun_split_step step = {
        .start = now(split), .profiling = decision->profiling, .variance = decision->variance};
    uint64_t parts = 0;
    for (uint32_t d = 0; d < split->device_count; d++)
        parts += decision->parts[d];
    if (!parts)
        return CORUN_OK;
    memcpy(step.share, decision->share, sizeof step.share);
    uint32_t index = (uint32_t)split->steps.count;
    if (!vector_push(&split->steps, step))
        return CORUN_MEMORY;
    for (uint32_t d = 0; d < split->device_count; d++) {
        struct corun_split_step *place = &split->steps.data[index];
        if (!decision->parts[d] || !split->left.list.count)
            continue;
        cut(split, place, d, decision->parts[d]);
        split->busy[d] = true;
        split->step_of[d] = index;
    }
    for (uint32_t d = 0; d < split->device_count; d++) {
        const struct corun_split_part *part = &split->steps.data[index].part[d];
        if (part->busy)
            split->executor->operations->start(split->executor, d, part->begin, part->end);
    }
    return CORUN_OK;
}

static void fail_device(struct corun_split *split, const struct executor_event *event)
{
    split->usable[event->device] = false;
    split->result.devices[event->device].failure = event->failure;
}

/* A part has ended: what was not done is left again. */
static enum corun_status note_end(struct corun_split *split, const struct executor_event *event)
{
    uint32_t d = event->device;
    struct corun_split_step *step = &split->steps.data[split->step_of[d]];
    struct corun_split_part *part = &step->part[d];
    struct corun_split_device_result *device = &split->result.devices[d];
    struct device_account *account = &split->accounts[d];
    uint64_t begin = part->begin, end = part->end;
    *part = event->part;
    part->begin = begin;
    part->end = end;
    part->busy = false;
    step->end = fmax(step->end, event->time);
    split->busy[d] = false;
    double moved = (double)(part->bytes_in + part->bytes_out);
    double kept = moved > 0 ? part->copy_seconds * (double)event->kept_bytes / moved : 0;
    device->iterations += part->done;
    device->seconds += part->seconds + event->setup_seconds;
    device->copy_seconds += part->copy_seconds;
    device->setup_seconds += event->setup_seconds;
    device->bytes_in += part->bytes_in;
    device->bytes_out += part->bytes_out;
    account->setup_seconds += event->setup_again_seconds;
    if (step->profiling) {
        split->result.profiled += (double)part->done;
    } else {
        account->final_done += part->done;
        account->final_seconds += part->seconds - kept;
    }
    if (event->status != CORUN_OK && d != CPU)
        fail_device(split, event);
    return ranges_add(&split->left, begin + part->done, end) ? CORUN_OK : CORUN_MEMORY;
}

/* Waits for what is under way without giving out more. */
static void drain(struct corun_split *split)
{
    while (any_busy(split)) {
        struct executor_event event = {0};
        split->executor->operations->wait(split->executor, 0, &event);
        if (event.ended)
            split->busy[event.device] = false;
    }
}

static enum corun_status ask(struct corun_split *split, struct asking *asked, struct corun_diagnostics *diagnostics)
{
    double before = clock_thread_seconds();
    fill_view(split, &asked->view);
    asked->decision = (struct corun_split_decision){.variance = -1};
    split->strategy(&asked->view, &asked->decision);
    enum corun_status status = check(split, asked, diagnostics);
    if (status == CORUN_OK)
        status = begin_step(split, &asked->decision);
    for (uint32_t d = 0; d < split->device_count && status == CORUN_OK; d++)
        if (asked->decision.recall >> d & 1u && split->busy[d])
            split->executor->operations->recall(split->executor, d);
    split->result.deciding_seconds += clock_thread_seconds() - before;
    return status;
}

static bool any_usable(const struct corun_split *split)
{
    for (uint32_t d = 0; d < split->device_count; d++)
        if (split->usable[d])
            return true;
    return false;
}

static enum corun_status run_steps(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    struct asking asked;
    while (split->left.list.count || any_busy(split)) {
        if (!any_usable(split))
            return corun_report(diagnostics, CORUN_FAULT, CORUN_NOWHERE,
                                "task %s: every device has failed, the last one with: %s", split->task.name,
                                split->result.devices[split->device_count - 1].failure);
        enum corun_status status = ask(split, &asked, diagnostics);
        if (status != CORUN_OK)
            return status;
        struct executor_event event = {0};
        double wake = asked.decision.wake > asked.view.now ? asked.decision.wake : 0;
        split->executor->operations->wait(split->executor, wake, &event);
        if (!event.ended)
            continue;
        status = note_end(split, &event);
        if (status == CORUN_OK && event.device == CPU && event.status != CORUN_OK)
            status = corun_report(diagnostics, event.status, CORUN_NOWHERE, "task %s: the CPU's function has failed",
                                  split->task.name);
        if (status != CORUN_OK)
            return status;
    }
    return CORUN_OK;
}

/* |t1 - t2| / max over the devices that worked. */
static double imbalance(const struct corun_split_result *result)
{
    double least = INFINITY, most = 0;
    for (uint32_t d = 0; d < result->device_count; d++) {
        if (!result->devices[d].iterations)
            continue;
        least = fmin(least, result->devices[d].seconds);
        most = fmax(most, result->devices[d].seconds);
    }
    return most > 0 ? (most - least) / most : 0;
}

enum corun_status run_task(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    struct corun_split_result *result = &split->result;
    ranges_clear(&split->left);
    split->steps.count = 0;
    memset(split->accounts, 0, sizeof split->accounts);
    result->run++;
    result->reused = false;
    result->drifted = false;
    result->seconds = result->profiled = result->imbalance = result->deciding_seconds = 0;
    for (uint32_t d = 0; d < split->device_count; d++)
        result->devices[d] =
            (struct corun_split_device_result){.name = split->names[d], .failure = result->devices[d].failure};
    if (!ranges_add(&split->left, 0, result->iterations))
        return CORUN_MEMORY;
    split->executor->operations->begin_run(split->executor);
    enum corun_status status = run_steps(split, diagnostics);
    if (status != CORUN_OK)
        drain(split);
    result->seconds = now(split);
    result->profiled = result->iterations ? result->profiled / (double)result->iterations : 0;
    result->imbalance = imbalance(result);
    result->steps = split->steps.data;
    result->step_count = (uint32_t)split->steps.count;
    result->reused = split->knows && result->step_count && !result->steps[0].profiling &&
                     !memcmp(result->steps[0].share, split->learned, split->device_count * sizeof split->learned[0]);
    return status;
}
