/* SPDX-License-Identifier: MIT */
/*
 * A run: ask the strategy, begin parts, wait until something has ended, note what became of it, ask again. Here nothing knows
 * what a device is; the executor does.
 */
#include "split/engine.h"

#include "split/clock.h"
#include "split/repeat.h"
#include "split/strategy.h"

#include <assert.h>
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

/* Whether a device still computes or delivers anything that is needed. */
static bool is_needed(struct corun_split *split, uint32_t device)
{
    for (uint32_t i = 0; i < split->lines[device].count; i++)
        if (device == CPU || part_of(split, device, i)->begin < part_of(split, device, i)->end)
            return true; /* the CPU's function may still be writing */
    return split->deliveries[device].count || split->computed[device].list.count;
}

static bool any_needed(struct corun_split *split)
{
    for (uint32_t d = 0; d < split->device_count; d++)
        if (is_needed(split, d))
            return true;
    return false;
}

static void leave_line(struct line *line)
{
    line->count--;
    memmove(line->steps, line->steps + 1, line->count * sizeof line->steps[0]);
}

static void leave_deliveries(struct deliveries *deliveries)
{
    deliveries->count--;
    memmove(deliveries->ranges, deliveries->ranges + 1, deliveries->count * sizeof deliveries->ranges[0]);
    memmove(deliveries->starts, deliveries->starts + 1, deliveries->count * sizeof deliveries->starts[0]);
}

static enum corun_status check(struct corun_split *split, const struct asking *asked,
                               struct corun_diagnostics *diagnostics)
{
    uint64_t sum = 0;
    for (uint32_t d = 0; d < split->device_count; d++) {
        uint64_t part = asked->decision.parts[d];
        bool full = asked->view.queued[d] >= asked->view.most[d];
        if (part && (full || !split->usable[d]))
            return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "strategy %s gives iterations to device %u, which %s", split->strategy_name, d,
                                full ? "has not ended its part" : "cannot be used");
        if (part > asked->view.left - sum && !asked->decision.feed)
            return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "strategy %s gives away more than the %llu iterations that are left",
                                split->strategy_name, (unsigned long long)asked->view.left);
        sum += part;
    }
    uint32_t relief = asked->decision.relief;
    if (relief && (relief >= split->device_count || !split->usable[relief] ||
                   asked->view.queued[relief] >= asked->view.most[relief]))
        return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "strategy %s gives what the CPU has begun to device %u, which cannot take it",
                            split->strategy_name, relief);
    if (relief && asked->decision.parts[CPU])
        return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "strategy %s gives the CPU iterations, and what the CPU has begun to device %u",
                            split->strategy_name, relief);
    if (asked->decision.recall >> CPU & 1u && (asked->decision.parts[CPU] || asked->decision.race) &&
        !asked->view.busy[CPU])
        return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "strategy %s recalls the CPU from what it gives to the CPU", split->strategy_name);
    return CORUN_OK;
}

/* Nothing is under way, nothing was begun, and something is left. */
static enum corun_status check_idle(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    if (any_needed(split) || !split->left.list.count)
        return CORUN_OK;
    return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                        "strategy %s gives nothing to anybody, and %llu iterations are left", split->strategy_name,
                        (unsigned long long)ranges_total(&split->left));
}

/*
 * Takes the part of a device out of what is left: the CPU from the front, GPUs from the back, so that an iterative task finds
 * its bytes where they were. Whole granules: a part grows to the next border.
 */
static void cut(struct corun_split *split, struct corun_split_step *step, uint32_t device, uint64_t count, bool fed)
{
    uint64_t granularity = split->task.granularity;
    const struct range *first = &split->left.list.data[0], *last = &split->left.list.data[split->left.list.count - 1];
    uint64_t border = device == CPU ? first->begin + count : last->end - (count < last->end ? count : last->end);
    uint64_t ragged = border % granularity;
    if (ragged)
        count += device == CPU ? granularity - ragged : ragged;
    struct range taken = ranges_take(&split->left, count, device != CPU);
    step->part[device] = (struct corun_split_part){.begin = taken.begin, .end = taken.end, .fed = fed, .busy = true};
    step->iterations += taken.end - taken.begin;
}

/* Fed parts may take from the end of what the CPU has not begun. Returns false if memory ends. */
static bool take_from_cpu(struct corun_split *split, const struct corun_split_decision *decision)
{
    uint64_t wanted = decision->relief ? UINT64_MAX / 2 : 0, left = ranges_total(&split->left);
    for (uint32_t d = 1; d < split->device_count; d++)
        wanted += decision->parts[d];
    if (!decision->feed || wanted <= left || !is_busy(split, CPU) || split->raced_device != CPU)
        return true;
    struct corun_split_part *part = part_of(split, CPU, 0);
    uint64_t taken = split->executor->operations->take(split->executor, wanted - left);
    part->end -= taken;
    split->steps.data[split->lines[CPU].steps[0]].iterations -= taken;
    return ranges_add(&split->left, part->end, part->end + taken);
}

/*
 * A GPU gets all that is left and what the CPU has begun and can give up. Where more than one range is left, or it does not lie behind what the CPU has begun,
 * the GPU gets the last one, and false is returned.
 */
static bool cut_relief(struct corun_split *split, struct corun_split_step *step, uint32_t device)
{
    const struct corun_split_part *own = is_busy(split, CPU) ? part_of(split, CPU, 0) : NULL;
    const struct range *first = split->left.list.data;
    bool behind = own && split->may_race && split->raced_device == CPU && split->left.list.count <= 1 &&
                  (!split->left.list.count || first->begin == own->end);
    uint64_t end = own ? own->end : 0;
    assert(step);
    if (split->left.list.count)
        cut(split, step, device, UINT64_MAX, true);
    else
        step->part[device] = (struct corun_split_part){.begin = end, .end = end, .fed = true};
    struct corun_split_part *part = &step->part[device];
    part->begin = behind ? own->begin + split->executor->operations->kept(split->executor) : part->begin;
    part->busy = part->begin < part->end;
    step->iterations += behind ? end - part->begin : 0;
    return behind;
}

/* What the CPU has begun is given up, as a GPU does it. What was complete before the CPU heard of that need not be delivered. */
static void relieve_cpu(struct corun_split *split, struct corun_split_part *part)
{
    struct corun_split_part *own = is_busy(split, CPU) ? part_of(split, CPU, 0) : NULL;
    if (!own || part->begin >= own->end)
        return;
    uint64_t end = own->end;
    own->end = own->begin + split->executor->operations->stop(split->executor);
    split->steps.data[split->lines[CPU].steps[0]].iterations -= end - own->end;
    part->begin = own->end;
}

static enum corun_status begin_step(struct corun_split *split, const struct corun_split_decision *decision)
{
    struct corun_split_step step = {
        .start = now(split), .profiling = decision->profiling, .variance = decision->variance};
    uint64_t parts = 0;
    bool any = false, relieved = false;
    for (uint32_t d = 0; d < split->device_count; d++)
        parts += decision->parts[d];
    if (!parts && !decision->relief)
        return CORUN_OK;
    memcpy(step.share, decision->share, sizeof step.share);
    uint32_t index = (uint32_t)split->steps.count;
    if (!take_from_cpu(split, decision) || !vector_push(&split->steps, step))
        return CORUN_MEMORY;
    for (uint32_t d = 0; d < split->device_count; d++) {
        struct corun_split_step *place = &split->steps.data[index];
        if (!decision->parts[d] || !split->left.list.count || (d && d == decision->relief))
            continue;
        cut(split, place, d, decision->parts[d], decision->feed && d != CPU);
    }
    if (decision->relief)
        relieved = cut_relief(split, &split->steps.data[index], decision->relief);
    for (uint32_t i = 1; i <= split->device_count;
         i++) { /* GPUs first: the CPU's threads would hinder what is enqueued */
        uint32_t d = i % split->device_count;
        const struct corun_split_part *part = &split->steps.data[index].part[d];
        if (!part->busy)
            continue;
        split->lines[d].steps[split->lines[d].count++] = index;
        split->executor->operations->start(split->executor, d, part->begin, part->end, part->fed);
        split->given[d] = now(split);
        any = true;
    }
    if (relieved)
        relieve_cpu(split, &split->steps.data[index].part[decision->relief]);
    if (!any) /* the CPU had begun all that was to be taken from it */
        split->steps.count--;
    return CORUN_OK;
}

/* The CPU computes the foremost part that a GPU has not. */
static enum corun_status begin_race(struct corun_split *split, bool trial)
{
    uint32_t device = CPU, place = 0;
    for (uint32_t d = 1; d < split->device_count; d++) {
        for (uint32_t i = 0; i < split->lines[d].count; i++) {
            const struct corun_split_part *part = part_of(split, d, i);
            if (part->begin < part->end && (device == CPU || part->begin < part_of(split, device, place)->begin)) {
                device = d;
                place = i;
            }
        }
    }
    if (device == CPU || is_busy(split, CPU) || !split->usable[CPU] || !split->may_race)
        return CORUN_OK;
    uint64_t begin = part_of(split, device, place)->begin, end = part_of(split, device, place)->end;
    end = trial && end - begin > split->task.granularity ? begin + split->task.granularity : end;
    uint32_t index = (uint32_t)split->steps.count;
    struct corun_split_step step = {.start = now(split), .variance = -1, .share[CPU] = 1};
    step.part[CPU] = (struct corun_split_part){.begin = begin, .end = end, .busy = true};
    if (!vector_push(&split->steps, step))
        return CORUN_MEMORY;
    split->raced_device = device;
    split->raced_step = split->lines[device].steps[place];
    split->lines[CPU] = (struct line){.steps = {index}, .count = 1};
    split->executor->operations->start(split->executor, CPU, begin, end, true);
    return CORUN_OK;
}

/* What was computed and has not come back is left again. */
static bool undo(struct corun_split *split, uint32_t device, struct range range)
{
    split->result.devices[device].iterations -= range.end - range.begin;
    return ranges_add(&split->left, range.begin, range.end);
}

/* A device can do nothing any more: what it had not finished is left again. */
static enum corun_status fail_device(struct corun_split *split, uint32_t device, const char *failure)
{
    bool kept = true;
    split->usable[device] = false;
    split->result.devices[device].failure = failure;
    if (split->raced_device == device) { /* the CPU's part is an ordinary one now */
        struct corun_split_part *raced = &split->steps.data[split->raced_step].part[device];
        uint64_t end = part_of(split, CPU, 0)->end;
        raced->begin = end < raced->end ? end : raced->end;
        split->raced_device = CPU;
    }
    for (; split->lines[device].count; leave_line(&split->lines[device])) {
        struct corun_split_part *part = part_of(split, device, 0);
        kept = kept && ranges_add(&split->left, part->begin, part->end);
        part->busy = false;
        part->done = 0;
    }
    for (struct ranges *computed = &split->computed[device]; computed->list.count;)
        kept = undo(split, device, ranges_take(computed, UINT64_MAX, false)) && kept;
    for (struct deliveries *back = &split->deliveries[device]; back->count; leave_deliveries(back))
        kept = undo(split, device, back->ranges[0]) && kept;
    return kept ? CORUN_OK : CORUN_MEMORY;
}

/* A GPU has computed a part that the CPU is computing, too: the CPU keeps what it has begun, unless its function can be stopped. */
static void end_race(struct corun_split *split, struct corun_split_part *part)
{
    struct corun_split_part *own = part_of(split, CPU, 0);
    uint64_t kept = split->executor->operations->stop(split->executor);
    own->end = own->begin + kept;
    part->begin = own->end;
    split->raced_device = CPU;
}

/* Iterations of the CPU's part that are surely done: without those that its threads compute now. */
static uint64_t done_by_cpu(struct corun_split *split)
{
    double seconds = 0;
    uint64_t begun = is_busy(split, CPU) ? split->executor->operations->progress(split->executor, CPU, &seconds) : 0;
    uint64_t under_way = split->task.granularity * split->threads;
    return begun > under_way ? begun - under_way : 0;
}

/* Iterations whose results are neither in the program's memory nor on their way there. */
static uint64_t open_iterations(struct corun_split *split)
{
    uint64_t sum = ranges_total(&split->left) - done_by_cpu(split);
    for (uint32_t d = 0; d < split->device_count; d++) {
        sum += d ? ranges_total(&split->computed[d]) : 0;
        for (uint32_t i = 0; i < split->lines[d].count && (d || split->raced_device == CPU); i++)
            sum += part_of(split, d, i)->end - part_of(split, d, i)->begin;
    }
    return sum;
}

/* Seconds until the CPU has done so many iterations, after what each thread computes now. Infinite if nothing is known of it. */
static double cpu_seconds(struct corun_split *split, uint64_t iterations)
{
    uint64_t round = split->task.granularity * (split->threads ? split->threads : 1), done = 0;
    double seconds = 0, time = now(split);
    for (size_t i = 0; i < split->steps.count; i++) {
        const struct corun_split_part *part = &split->steps.data[i].part[CPU];
        done += part->busy ? done_by_cpu(split) : part->done;
        seconds += part->busy ? time - split->steps.data[i].start : part->done ? part->seconds : 0;
    }
    double rounds = ceil((double)iterations / (double)round), each = done ? seconds / (double)done : INFINITY;
    double lately = progress_rate(&split->progress, seconds, (double)done, split_view_enough(split));
    return rounds * (double)round * (lately > 0 ? fmax(each, 1 / lately) : each);
}

/*
 * The CPU computes everything before any result of a GPU can arrive. That saves a copy's latency at most, and costs what the GPU has computed if iterations are heavier
 * than those that told the CPU's rate: it has to be more than a fiftieth of the run, and is believed once.
 */
static bool is_sooner_on_cpu(struct corun_split *split, uint32_t device)
{
    double latency = split->latency[device], time = now(split);
    bool believed = split->left_to_cpu > 0 && time > split->left_to_cpu + latency;
    bool sooner = !believed && latency > time / 50 && split->usable[CPU] && split->may_race &&
                  cpu_seconds(split, open_iterations(split)) < latency;
    if (sooner && !(split->left_to_cpu > 0))
        split->left_to_cpu = time;
    return sooner;
}

/* A GPU has computed a part that the CPU is computing, too, and has done before the results could be here. */
static bool finish_alone(struct corun_split *split, struct corun_split_part *part)
{
    struct corun_split_part *own = part_of(split, CPU, 0);
    bool kept = ranges_add(&split->left, own->end, part->end);
    split->steps.data[split->lines[CPU].steps[0]].iterations = own->end - own->begin;
    part->begin = part->end;
    split->raced_device = CPU;
    return kept;
}

/* What GPUs have computed and the CPU has done before it could be here is left again. Returns false if memory ends. */
static bool leave_to_cpu(struct corun_split *split)
{
    bool kept = true;
    for (uint32_t d = 1; d < split->device_count; d++)
        for (bool sooner = split->computed[d].list.count && is_sooner_on_cpu(split, d);
             sooner && split->computed[d].list.count;)
            kept = undo(split, d, ranges_take(&split->computed[d], UINT64_MAX, false)) && kept;
    return kept;
}

/* The CPU has done something of a part that is under way on a GPU, and that the GPU need not deliver any more. */
static void overtake(struct corun_split *split, const struct corun_split_part *own)
{
    split->steps.data[split->raced_step].part[split->raced_device].begin = own->begin + own->done;
    split->raced_device = CPU;
}

static void account_part(struct corun_split *split, const struct executor_event *event,
                         const struct corun_split_step *step, const struct corun_split_part *part)
{
    uint32_t d = event->device;
    struct corun_split_device_result *device = &split->result.devices[d];
    struct device_account *account = &split->accounts[d];
    double moved = (double)(part->bytes_in + part->bytes_out), worked = part->seconds + event->setup_seconds;
    double learned = split->learned[d] * (double)split->result.iterations, granule = (double)split->task.granularity;
    double kept = moved > 0 ? part->copy_seconds * (double)event->kept_bytes / moved : 0;
    if (split->last_end[d] > step->start) /* it was given while another one was under way */
        worked = fmax(0, event->time - split->last_end[d]);
    device->iterations += part->done;
    device->seconds += worked;
    device->copy_seconds += part->copy_seconds;
    device->setup_seconds += event->setup_seconds;
    device->bytes_in += part->bytes_in;
    device->bytes_out += part->bytes_out;
    account->setup_seconds += event->setup_again_seconds;
    account->kept_seconds += kept;
    account->moved += kept > 0 ? (double)part->done : 0;
    if (event->kept_iterations > 0)
        learn_move(split, d, event->kept_iterations, event->kept_seconds);
    if (step->profiling) {
        split->result.profiled += (double)part->done;
    } else if (!account->whole) {
        account->final_done += event->part.done; /* all that was computed, even if others were first */
        account->final_seconds += fmax(0, worked - event->setup_seconds - kept);
        account->whole = d != CPU && split->knows && (double)account->final_done > learned - granule;
    }
    split->last_end[d] = event->time;
}

/* A part has ended: what was not done is left again. */
static enum corun_status note_end(struct corun_split *split, const struct executor_event *event)
{
    uint32_t d = event->device, index = split->lines[d].steps[0];
    struct corun_split_step *step = &split->steps.data[index];
    struct corun_split_part *part = &step->part[d];
    bool fed = part->fed;
    if (event->status != CORUN_OK && d != CPU)
        return fail_device(split, d, event->failure);
    if (d != CPU && split->raced_device == d && split->raced_step == index) {
        if (!is_sooner_on_cpu(split, d))
            end_race(split, part);
        else if (!finish_alone(split, part))
            return CORUN_MEMORY;
    }
    if (event->handing_seconds > 0)
        split->handing[d] = split->handed[d] ? fmin(split->handing[d], event->handing_seconds) : event->handing_seconds;
    split->handed[d] = split->handed[d] || event->handing_seconds > 0;
    uint64_t begin = part->begin, end = part->end;
    *part = event->part;
    part->fed = fed;
    part->begin = begin;
    part->end = end;
    part->ended = event->time;
    if (d != CPU)
        part->done = end - begin;
    step->end = fmax(step->end, event->time);
    leave_line(&split->lines[d]);
    account_part(split, event, step, part);
    if (d == CPU && split->raced_device != CPU) {
        overtake(split, part);
        return CORUN_OK;
    }
    if (fed)
        return ranges_add(&split->computed[d], begin, end) ? CORUN_OK : CORUN_MEMORY;
    return ranges_add(&split->left, begin + part->done, end) ? CORUN_OK : CORUN_MEMORY;
}

/* Results of fed parts are in the program's memory. */
static enum corun_status note_delivery(struct corun_split *split, const struct executor_event *event)
{
    uint32_t d = event->device;
    struct corun_split_device_result *device = &split->result.devices[d];
    if (event->status != CORUN_OK)
        return fail_device(split, d, event->failure);
    struct device_account *account = &split->accounts[d];
    split->deliveries[d].seconds = event->time - split->deliveries[d].starts[0];
    account->back_seconds += event->time - fmax(account->back_end, split->deliveries[d].starts[0]);
    account->back += (double)(split->deliveries[d].ranges[0].end - split->deliveries[d].ranges[0].begin);
    account->back_end = event->time;
    leave_deliveries(&split->deliveries[d]);
    device->bytes_out += event->part.bytes_out;
    device->copy_seconds += event->part.copy_seconds;
    if (!is_busy(split, d))
        device->seconds += fmax(0, event->time - split->last_end[d]);
    split->last_end[d] = fmax(split->last_end[d], is_busy(split, d) ? 0 : event->time);
    return CORUN_OK;
}

/*
 * Results go back when enough of them have gathered, or their GPU has nothing else to do, or the strategy says so; or nothing is on its way back, where other parts may be moving
 * `kept` bytes, which takes longer than the way back.
 */
static void begin_deliveries(struct corun_split *split, const struct corun_split_decision *decision)
{
    for (uint32_t d = 1; d < split->device_count; d++) {
        struct ranges *computed = &split->computed[d];
        bool idle = true;
        for (uint32_t i = 0; i < split->lines[d].count; i++)
            idle = idle && part_of(split, d, i)->begin == part_of(split, d, i)->end;
        struct deliveries *back = &split->deliveries[d];
        bool behind =
            back->count && !(split->handing[d] > 0); /* it would wait there; what has gathered by then is one copy */
        if (behind || back->count == MOST_DELIVERIES || !computed->list.count)
            continue;
        struct range first = computed->list.data[0];
        bool moves = split->keeps && split->ahead && !back->count;
        double bytes = (double)bytes_written(&split->task, first.begin, first.end),
               most = GATHERED * split->parameters.copy_bytes;
        bool tiny = bytes > 0 && bytes < most / 4; /* a later copy takes hardly longer for it */
        bool wanted = decision->deliver >> d & 1u && !back->count && (!tiny || split->raced_device != CPU);
        if (!idle && !moves && !wanted && bytes < most)
            continue;
        (void)ranges_take(computed, first.end - first.begin, false);
        back->starts[back->count] = now(split);
        back->ranges[back->count++] = first;
        split->executor->operations->deliver(split->executor, d, first.begin, first.end);
    }
}

/* Waits for what is under way without giving out more. */
static void drain(struct corun_split *split)
{
    bool any = true;
    while (any) {
        struct executor_event event = {0};
        any = false;
        for (uint32_t d = 0; d < split->device_count; d++)
            any = any || is_busy(split, d) || split->deliveries[d].count;
        if (!any)
            return;
        split->executor->operations->wait(split->executor, 0, &event);
        if (event.news == NEWS_ENDED)
            leave_line(&split->lines[event.device]);
        if (event.news == NEWS_DELIVERED)
            leave_deliveries(&split->deliveries[event.device]);
        if (event.device != CPU && event.news != NEWS_NONE && event.status != CORUN_OK)
            split->lines[event.device].count = split->deliveries[event.device].count = 0;
    }
}

/* Where the iterations begin that a GPU has been given in this run, or has kept. */
static uint64_t first_held(const struct corun_split *split, uint32_t device)
{
    uint64_t end = learned_end(split, device), first = end - split->held[device];
    for (size_t i = 0; i < split->steps.count; i++) {
        const struct corun_split_part *part = &split->steps.data[i].part[device];
        if (part->end > part->begin && part->begin < first)
            first = part->begin;
    }
    return first;
}

/* GPUs move in what is before that, when their lines are free. */
static void begin_fetches(struct corun_split *split, struct corun_split_decision *decision, const double *line_free)
{
    for (uint32_t d = 1; d < split->device_count; d++) {
        if (!decision->fetch[d])
            continue;
        uint64_t end = first_held(split, d), count = decision->fetch[d] < end ? decision->fetch[d] : end;
        uint64_t begin = end - count, ragged = begin % split->task.granularity;
        begin += ragged ? split->task.granularity - ragged : 0;
        if (begin >= end || split->fetches[d] || !split->usable[d])
            continue;
        split->fetches[d] = split->executor->operations->fetch(split->executor, d, begin, end);
        double seconds = split->moves[d].start + split->moves[d].each * (double)(end - begin);
        if (split->fetches[d])
            split->fetch_late[d] = 0.01 * seconds;
        else
            split->fetch_late[d] *= 2; /* it may be late by as much again */
        split->fetched_at[d] =
            split->fetches[d] ? fmax(now(split), line_free[d]) + seconds : now(split) + split->fetch_late[d];
        if (!split->fetches[d])
            decision->wake = decision->wake > 0 ? fmin(decision->wake, split->fetched_at[d]) : split->fetched_at[d];
    }
}

static enum corun_status ask(struct corun_split *split, struct asking *asked, struct corun_diagnostics *diagnostics)
{
    double before = clock_thread_seconds();
    if (!leave_to_cpu(split))
        return CORUN_MEMORY;
    split_view_fill(split, &asked->view);
    asked->decision = (struct corun_split_decision){.variance = -1};
    split->strategy(&asked->view, &asked->decision);
    enum corun_status status = check(split, asked, diagnostics);
    size_t steps = split->steps.count;
    double line_free[CORUN_SPLIT_MAX_DEVICES] = {0};
    for (uint32_t d = 1; d < split->device_count; d++)
        line_free[d] = asked->decision.fetch[d] ? strategy_line_free(&asked->view, d, asked->decision.parts[d]) : 0;
    if (status == CORUN_OK)
        status = begin_step(split, &asked->decision);
    if (status == CORUN_OK && asked->decision.race)
        status = begin_race(split, asked->decision.trial);
    if (status == CORUN_OK)
        status = check_idle(split, diagnostics);
    if (split->steps.count == steps) /* the same view would give the same decision */
        asked->decision.again = false;
    if (status == CORUN_OK && asked->decision.recall >> CPU & 1u && is_busy(split, CPU)) {
        bool gives_up = asked->decision.give_up && split->raced_device != CPU;
        (void)(gives_up ? split->executor->operations->stop : split->executor->operations->recall)(split->executor);
    }
    if (status == CORUN_OK) {
        begin_deliveries(split, &asked->decision);
        begin_fetches(split, &asked->decision, line_free);
    }
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

/* When a GPU will have been waited for long enough. */
static double hang_time(struct corun_split *split, uint32_t device)
{
    double since = split->deliveries[device].count ? split->deliveries[device].starts[0] : INFINITY;
    bool others = false;
    for (uint32_t d = 0; d < split->device_count; d++)
        others = others || (d != device && split->usable[d]);
    if (is_busy(split, device))
        since = fmin(since, fmax(split->steps.data[split->lines[device].steps[0]].start, split->last_end[device]));
    if (split->executor->operations->stale(split->executor, device) && split->usable[device])
        since = fmin(since, -split->stale_before[device]);
    bool watched = others && split->parameters.hang > 0 && !split->rates && !split->simulated;
    return watched ? fmax(since + split->parameters.hang, split->patient_until[device]) : INFINITY;
}

static double first_hang_time(struct corun_split *split)
{
    double first = INFINITY;
    for (uint32_t d = 1; d < split->device_count; d++)
        first = fmin(first, hang_time(split, d));
    return isinf(first) ? 0 : first;
}

/* A GPU that has not answered for `hang` seconds is left out, if there is anybody else. */
static enum corun_status look_for_hangs(struct corun_split *split)
{
    static const char why[] = "it has not answered for as long as `hang` allows";
    for (uint32_t d = 1; d < split->device_count; d++) {
        double time = now(split);
        if (!(time >= hang_time(split, d)))
            continue;
        if (split->executor->operations->give_up(split->executor, d, why))
            return fail_device(split, d, why);
        split->patient_until[d] = time + split->parameters.hang; /* it is answering just now */
    }
    return CORUN_OK;
}

/* Waits for the next thing that happens, and notes it. */
static enum corun_status wait_for_news(struct corun_split *split, double wake, struct corun_diagnostics *diagnostics)
{
    struct executor_event event = {0};
    double deadline = first_hang_time(split);
    deadline = !(wake > 0) ? deadline : !(deadline > 0) ? wake : fmin(wake, deadline);
    split->executor->operations->wait(split->executor, deadline, &event);
    if (event.news == NEWS_NONE)
        return look_for_hangs(split);
    enum corun_status status = event.news == NEWS_ENDED ? note_end(split, &event) : note_delivery(split, &event);
    if (status == CORUN_OK && event.device == CPU && event.status != CORUN_OK)
        status = corun_report(diagnostics, event.status, CORUN_NOWHERE, "task %s: the CPU's function has failed",
                              split->task.name);
    return status;
}

static enum corun_status run_steps(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    struct asking asked;
    while (split->left.list.count || any_needed(split)) {
        if (!any_usable(split))
            return corun_report(diagnostics, CORUN_FAULT, CORUN_NOWHERE,
                                "task %s: every device has failed, the last one with: %s", split->task.name,
                                split->result.devices[split->device_count - 1].failure);
        enum corun_status status = ask(split, &asked, diagnostics);
        if (status != CORUN_OK)
            return status;
        if (asked.decision.again)
            continue;
        double wake = asked.decision.wake > asked.view.now ? asked.decision.wake : 0;
        do
            status = wait_for_news(split, wake, diagnostics);
        while (status == CORUN_OK && split->executor->operations->more(split->executor));
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
    find_held(split);
    give_back_changed(split); /* looks at the run before */
    ranges_clear(&split->left);
    split->steps.count = 0;
    memset(split->accounts, 0, sizeof split->accounts);
    memset(split->lines, 0, sizeof split->lines);
    memset(split->deliveries, 0, sizeof split->deliveries);
    memset(split->given, 0, sizeof split->given);
    memset(split->last_end, 0, sizeof split->last_end);
    memset(split->fetches, 0, sizeof split->fetches);
    for (uint32_t d = 0; d < split->device_count; d++)
        split->fetched_at[d] = fmax(0, split->fetched_at[d] - result->seconds);
    memset(split->patient_until, 0, sizeof split->patient_until);
    split->progress.count = 0;
    split->left_to_cpu = 0;
    split->raced_device = CPU;
    result->run++;
    result->reused = false;
    result->drifted = false;
    result->seconds = result->profiled = result->imbalance = result->deciding_seconds = 0;
    for (uint32_t d = 0; d < split->device_count; d++)
        ranges_clear(&split->computed[d]);
    for (uint32_t d = 0; d < split->device_count; d++)
        result->devices[d] =
            (struct corun_split_device_result){.name = split->names[d], .failure = result->devices[d].failure};
    if (!ranges_add(&split->left, 0, result->iterations))
        return CORUN_MEMORY;
    split->executor->operations->begin_run(split->executor);
    for (uint32_t d = 0; d < split->device_count; d++)
        split->was_stale[d] = split->executor->operations->stale(split->executor, d) > 0;
    enum corun_status status = run_steps(split, diagnostics);
    if (status != CORUN_OK)
        drain(split);
    result->seconds = now(split);
    split->executor->operations->release(split->executor);
    for (uint32_t d = 0; d < split->device_count; d++)
        split->stale_before[d] =
            split->executor->operations->stale(split->executor, d) ? split->stale_before[d] + result->seconds : 0;
    result->profiled = result->iterations ? result->profiled / (double)result->iterations : 0;
    result->imbalance = imbalance(result);
    result->steps = split->steps.data;
    result->step_count = (uint32_t)split->steps.count;
    result->reused = split->knows && result->step_count && !result->steps[0].profiling &&
                     !memcmp(result->steps[0].share, split->learned, split->device_count * sizeof split->learned[0]);
    return status;
}
