/* SPDX-License-Identifier: MIT */
/*
 * Carrying out what waits in streams.
 *
 * Nothing runs while the program does not ask: tasks collect in streams, and a call that waits makes the machine
 * advance until what it waits for has happened. So the order of events depends on what the program asked for and not
 * on how fast it did; the machine's clock runs while it has work. Without timing, ready tasks are carried out in the
 * order in which they were asked for. Which task is next says stream/scheduler.h.
 */
#include "cuda/engine.h"

#include "cuda/abi.h"
#include "cuda/caller.h"
#include "cuda/capture.h"
#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/device_runtime.h"
#include "cuda/failure.h"
#include "cuda/graph_condition.h"
#include "cuda/green.h"
#include "cuda/interprocess.h"
#include "cuda/journaled_copy.h"
#include "cuda/journaled_machine.h"
#include "cuda/launch_grid.h"
#include "cuda/machine.h"
#include "cuda/module.h"
#include "cuda/nested.h"
#include "cuda/object.h"
#include "cuda/pool_bytes.h"
#include "cuda/process.h"
#include "cuda/profile.h"
#include "cuda/ranges.h"
#include "cuda/record.h"
#include "cuda/remote.h"
#include "cuda/stream.h"
#include "cuda/stream_value.h"
#include "cuda/task.h"
#include "cuda/untimed.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLICE_CYCLES 50000u          /* between two looks at what other threads want */
#define NUDGE_CYCLES 20000u          /* of an event or stream that is only asked about */
#define VALUE_LOOK_MICROSECONDS 100u /* at least, of a call that waits */

static struct corun_module_instance *loaded_of(const struct task *task)
{
    return task->launch.request.function->module->loaded;
}

/* What else a task waits for: a value in memory, which is seen when the machine is looked at. */
static bool may_start(void *user, const struct stream_task *queued, uint64_t *since)
{
    const struct device *device = user;
    const struct task *task = task_of(queued);
    if (task->kind != TASK_WAIT_VALUE)
        return true;
    if (device->cycle > *since)
        *since = device->cycle;
    return stream_value_reached(task);
}

/* Takes the first task off its stream. */
static void finish(struct process *process, struct task *task, uint64_t cycle)
{
    struct stream *stream = task->stream;
    stream_finish(&stream->context->device->scheduler, &task->queued, cycle);
    process->values_waiting -= task->kind == TASK_WAIT_VALUE;
    process->functions_waiting -= task->kind == TASK_CALL;
    task_free(process, task);
    if (stream->destroyed && stream_idle(stream))
        stream_free(process, stream);
}

void engine_finish(struct process *process, struct task *task, uint64_t cycle)
{
    finish(process, task, cycle);
}

static void fail_if(const struct task *task, int error)
{
    if (error != CUDA_SUCCESS)
        cuda_context_fail(task->stream->context, error);
}

static void forget_call(struct process *process, const struct task *task)
{
    for (size_t i = 0; i < process->calling.count; i++)
        if (process->calling.data[i] == task) {
            memmove(&process->calling.data[i], &process->calling.data[i + 1],
                    (--process->calling.count - i) * sizeof *process->calling.data);
            return;
        }
}

/* Waits for the function of a task. False: it stands, or the task has gone, *gone, with its context. */
static bool wait_for_call(struct process *process, struct task *task, bool *gone)
{
    struct called *called = task->call.called;
    called->references++;
    task->call.waited = true;
    bool ended = caller_wait(process, called);
    *gone = called->dropped;
    caller_release(called);
    if (*gone)
        return false;
    task->call.waited = false;
    if (ended)
        forget_call(process, task);
    if (process->checkpoint)
        process->checkpoint->pages.known = false;
    return ended;
}

/* False: the task is not over. Its function stands, or it has gone while other threads had their turn. */
static bool run_call(struct process *process, struct task *task, uint64_t cycle)
{
    bool gone;
    task->call.callee.stream = task->stream;
    task->call.callee.error = task->stream->context->error;
    task->call.called = caller_create(process, &task->call.callee);
    if (!task->call.called || !vector_push(&process->calling, task)) {
        fail_if(task, CUDA_ERROR_OUT_OF_MEMORY);
        return true;
    }
    task->queued.started = true;
    task->call.cycle = cycle;
    caller_ask(process, task->call.called);
    if (wait_for_call(process, task, &gone))
        return true;
    if (!gone) {
        checkpoint_refuse(process, "a function in a stream waits for what the program does next");
        capture_refuse(process, "a function in a stream waits for what the program does next");
    }
    return false;
}

/* Functions that stood: who has come on is waited for. What has ended, has ended by now. False if nothing has. */
static bool collect_calls(struct process *process)
{
    bool any = false;
    for (size_t i = 0; i < process->calling.count;) {
        struct task *task = process->calling.data[i];
        bool gone = false;
        if (task->call.waited) {
            i++;
            continue;
        }
        if (!wait_for_call(process, task, &gone) && !gone)
            return any; /* those behind it in the line have not begun */
        uint64_t now = gone ? 0 : task->stream->context->device->cycle;
        if (!gone)
            finish(process, task, now > task->call.cycle ? now : task->call.cycle);
        any = true;
        i = 0;
    }
    return any;
}

/* Without timing there is no other clock. */
static double host_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Tasks that take no time. */
static void carry_out(struct process *process, struct task *task, uint64_t cycle)
{
    struct event *event = task->event.event;
    switch (task->kind) {
    case TASK_RECORD:
        event->reached.completed = task->event.count;
        event->reached.cycle = cycle;
        if (event->shared)
            interprocess_reached(event, task->event.count);
        event->nanoseconds =
            process->functional ? host_nanoseconds() : device_nanoseconds(task->stream->context->device, cycle);
        break;
    case TASK_CALL:
        if (!run_call(process, task, cycle))
            return;
        break;
    case TASK_WRITE_VALUE:
        fail_if(task, stream_value_write(task));
        break;
    case TASK_SET_CONDITION:
        fail_if(task, graph_condition_set(task));
        break;
    case TASK_CONDITION:
        checkpoint_refuse(process, "its graphs have conditional nodes, which a kernel's result decides");
        fail_if(task, graph_condition_run(process, task));
        break;
    case TASK_FREE:
        (void)memory_release(process, task->address, "cudaFreeAsync");
        break;
    default:
        break;
    }
    finish(process, task, cycle);
}

/* Without timing: everything that is ready, at once. */
static void run_functional(struct process *process, struct task *task)
{
    struct context *context = task->stream->context;
    int error = CUDA_SUCCESS;
    bool called;
    switch (task->kind) {
    case TASK_LAUNCH:
        untimed_start(process, task, 0);
        return;
    case TASK_COPY:
        error = copy_perform(&task->copy);
        capture_task(process, task);
        record_copy(process, context->device, task);
        break;
    case TASK_FILL:
        error = fill_perform(&task->fill);
        capture_task(process, task);
        record_copy(process, context->device, task);
        break;
    default:
        capture_task(process, task);
        called = task->kind == TASK_CALL;
        carry_out(process, task, 0);
        if (called)
            capture_called(process);
        return;
    }
    if (error != CUDA_SUCCESS)
        cuda_context_fail(context, error);
    finish(process, task, 0);
}

/* Without timing: the next task of any device; NULL if none can start. */
static struct task *next_functional(struct process *process)
{
    struct stream_task *best = NULL;
    for (uint32_t i = 0; i < process->device_count; i++) {
        const struct stream_scheduler *scheduler = &process->devices[i].scheduler;
        uint64_t since;
        struct stream_task *queued = stream_next(scheduler, &since);
        if (queued && (!best || stream_goes_first(scheduler, queued, best)))
            best = queued;
    }
    return task_of(best);
}

static void start_copy(struct process *process, struct device *device, struct task *task, uint64_t since)
{
    static const enum corun_copy_engine engines[] = {[ENGINE_TO_DEVICE] = CORUN_COPY_TO_DEVICE,
                                                     [ENGINE_TO_HOST] = CORUN_COPY_TO_HOST,
                                                     [ENGINE_WITHIN] = CORUN_COPY_WITHIN};
    struct transfer transfer = {.engine = CORUN_COPY_WITHIN, .fill = true};
    journaled_copy_ask(process, task);
    if (task->kind == TASK_FILL)
        transfer.bytes = task->fill.width_bytes * task->fill.height * task->fill.depth;
    else
        transfer = (struct transfer){engines[task->copy.engine], task->copy.pageable, false, copy_bytes(&task->copy)};
    if (!machine_open(process, device) || !stream_start_transfer(&device->scheduler, &task->queued, &transfer, since))
        failure_of_launch(process, task->stream->context, CORUN_MEMORY);
}

static void start_launch(struct process *process, struct device *device, struct task *task, uint64_t since)
{
    struct context *context = task->stream->context;
    struct corun_grid *grid = NULL;
    uint32_t application = CORUN_NO_APPLICATION;
    journaled_machine_ask(process, task);
    enum corun_status status = machine_open(process, device) ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = launch_grid_create(process, task, &grid);
    if (status == CORUN_OK)
        status = green_join_machine(context, task->stream->green, &application);
    task->launch.grid = grid;
    if (status == CORUN_OK)
        status = stream_start_launch(&device->scheduler, &task->queued, application, grid, since);
    if (status != CORUN_OK) {
        failure_of_launch(process, context, status);
        return;
    }
    const struct stream_machine *machine = &device->scheduler.machine;
    machine->operations->counters(machine->machine, application, task->queued.number, &task->launch.before);
}

/* A part has ended, and another one follows, as a launch of its own in the same stream, which the host has asked for as well. */
static void start_next_part(struct process *process, struct device *device, struct task *task)
{
    journaled_machine_release(process, task->launch.grid);
    task->launch.grid = NULL;
    uint64_t since = task->queued.end_cycle + device->config.launch_latency + device->scheduler.gap_cycles;
    uint64_t asked =
        process->launch_costs ? task->launch.walk->place * device_cycles(device, device->config.launch_interval_ns) : 0;
    if (since < task->queued.submitted_cycle + asked)
        since = task->queued.submitted_cycle + asked;
    start_launch(process, device, task, since);
}

/* sum += after - before */
static void add_difference(struct corun_counters *sum, const struct corun_counters *after,
                           const struct corun_counters *before)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++)
        *(uint64_t *)((char *)sum + rows[i].offset) += *(const uint64_t *)((const char *)after + rows[i].offset) -
                                                       *(const uint64_t *)((const char *)before + rows[i].offset);
}

static void launch_ended(struct process *process, struct device *device, struct task *task,
                         const struct corun_launched *launched)
{
    struct corun_counters counters;
    if (launched->status != CORUN_OK) {
        struct corun_module_instance *loaded = loaded_of(task);
        failure_of_launch(process, task->stream->context, launched->status);
        failure_tell_notes(process, loaded);
        return;
    }
    struct launch_walk *walk = task->launch.walk;
    task->launch.estimated |= launched->estimated;
    struct corun_counters sum = walk ? walk->counted : (struct corun_counters){0};
    const struct stream_machine *machine = &device->scheduler.machine;
    machine->operations->counters(machine->machine, task->queued.application, task->queued.number, &counters);
    add_difference(&sum, &counters, &task->launch.before);
    if (walk) {
        walk->counted = sum;
        walk->first_cycle = walk->place ? walk->first_cycle : task->queued.start_cycle;
        if (launch_walk_next(walk)) {
            start_next_part(process, device, task);
            return;
        }
        task->queued.start_cycle = walk->first_cycle;
    }
    failure_tell_notes(process, loaded_of(task));
    record_launch(process, device, task, task->launch.grid, &sum);
    if (!nested_ended(process, &device->nested, task, task->queued.end_cycle))
        finish(process, task, task->queued.end_cycle);
}

static void transfer_ended(struct process *process, const struct device *device, struct task *task)
{
    int error = journaled_copy_perform(process, task);
    if (error != CUDA_SUCCESS)
        cuda_context_fail(task->stream->context, error);
    record_copy(process, device, task);
    finish(process, task, task->queued.end_cycle);
}

static void has_ended(void *user, struct stream_task *queued, const struct corun_launched *launched)
{
    struct device *device = user;
    if (launched)
        launch_ended(process_get(), device, task_of(queued), launched);
    else
        transfer_ended(process_get(), device, task_of(queued));
}

/* Ends what has ended, or starts the first of what can start, on a device or, without timing, on any (NULL); false if there is nothing. */
static bool start_one(struct process *process, struct device *device)
{
    uint64_t since = 0;
    if (collect_calls(process))
        return true;
    struct task *task = device ? nested_next(&device->nested, &since) : NULL;
    if (!task)
        task = device ? task_of(stream_next(&device->scheduler, &since)) : next_functional(process);
    if (!task)
        return false;
    untimed_beside(process);
    if (!device)
        run_functional(process, task);
    else if (task->kind == TASK_LAUNCH && task->launch.untimed)
        untimed_start(process, task, since);
    else if (task->kind == TASK_LAUNCH)
        start_launch(process, device, task, since);
    else if (task->kind == TASK_COPY || task->kind == TASK_FILL)
        start_copy(process, device, task, since);
    else
        carry_out(process, task, since);
    return true;
}

/* What its kernels have launched. */
static void collect_nested(struct process *process, struct device *device)
{
    for (size_t c = 0; process->nests && c < process->contexts.count; c++) {
        struct context *context = process->contexts.data[c];
        if (context->device == device && !context->error &&
            nested_collect(process, &device->nested, context, NULL) != CUDA_SUCCESS)
            failure_of_launch(process, context, CORUN_MEMORY);
    }
}

/*
 * One slice of one device, on which nothing can start, and no more than that even if nothing is to be simulated: `exactly`. False if it
 * has nothing to do.
 */
static bool advance_device(struct process *process, struct device *device, uint64_t slice, bool exactly)
{
    struct stream_scheduler *scheduler = &device->scheduler;
    /* Where others have the machine as well, its time passes also for a host that only waits for time. */
    bool others = exactly && process->remote && machine_open(process, device);
    if (!scheduler->launches.count && !scheduler->transfers.count && !others)
        return false;
    for (size_t c = 0; c < process->contexts.count; c++)
        if (process->contexts.data[c]->device == device)
            crew_disturb(process->contexts.data[c]);
    const struct stream_machine *machine = &scheduler->machine;
    uint64_t until = machine->operations->cycles(machine->machine) + slice, wake = stream_next_transfer(scheduler);
    enum corun_status status =
        machine->operations->advance(machine->machine, until, exactly && until < wake ? until : wake);
    device->cycle = scheduler->base_cycle + machine->operations->cycles(machine->machine);
    if (status != CORUN_OK) { /* the host is out of memory: nothing of this machine can continue */
        for (size_t c = 0; c < process->contexts.count; c++)
            if (process->contexts.data[c]->device == device)
                failure_of_launch(process, process->contexts.data[c], status);
        return true;
    }
    collect_nested(process, device);
    stream_collect(scheduler);
    return true;
}

/*
 * What can start on a device, one task at a time, or else a slice of its machine: whoever waits looks in between, and
 * continues at once when what it waits for has ended. Without timing, everything that can be done. Launches that give turns have one each.
 */
static bool work(struct process *process, uint64_t slice)
{
    bool any = false;
    (void)interprocess_look(process);
    while (process->functional && start_one(process, NULL))
        any = true;
    for (uint32_t i = 0; !process->functional && i < process->device_count; i++)
        any |= start_one(process, &process->devices[i]);
    bool turns = untimed_turns(process);
    for (uint32_t i = 0; !process->functional && !any && i < process->device_count; i++)
        any |= advance_device(process, &process->devices[i], slice, false);
    return any || turns;
}

/* Works, and lets other threads in. False if nothing can be done. */
static bool advance(struct process *process)
{
    bool any = work(process, SLICE_CYCLES);
    /* A function of the program runs, or another thread or process will write what a stream waits for. */
    bool elsewhere = !any && (process->calling.count || process->values_waiting || interprocess_look(process));
    if (any || !process->values_waiting)
        process->value_looks = 0;
    else if (++process->value_looks > 2 * process->patience_microseconds / VALUE_LOOK_MICROSECONDS)
        stream_values_give_up(process);
    bool untimed = process->untimed.count != 0; /* it may wait for what another thread does */
    process->calls_waiting++;
    pthread_mutex_unlock(&process->lock);
    if (elsewhere || untimed || process->calls_wanting) /* a lock that is taken again at once is given to nobody else */
        usleep(VALUE_LOOK_MICROSECONDS);
    pthread_mutex_lock(&process->lock);
    process->calls_waiting--;
    return any || elsewhere;
}

/* What the host waits for: a stream or all of a context up to task `count`, or an event for the `count`th time. */
struct awaited {
    struct context *context;
    struct stream *stream;
    struct event *event;
    uint64_t count;
};

static bool stream_has_reached(struct process *process, struct stream *stream, uint64_t sequence, uint64_t *cycle)
{
    return !object_find(process, stream, OBJECT_STREAM) || /* destroyed and, so, empty */
           stream_reached(&stream->queue, sequence, cycle);
}

/* Has it ended, and when? */
static bool reached(struct process *process, const struct awaited *awaited, uint64_t *cycle)
{
    *cycle = 0;
    if (awaited->event) {
        *cycle = awaited->event->reached.cycle;
        return awaited->event->reached.completed >= awaited->count;
    }
    if (awaited->stream)
        return stream_has_reached(process, awaited->stream, awaited->count, cycle);
    *cycle = awaited->context->group.gone_cycle;
    for (size_t i = 0; i < awaited->context->streams.count; i++)
        if (!stream_has_reached(process, awaited->context->streams.data[i], awaited->count, cycle))
            return false;
    return true;
}

/* What the host asks for from now on, it asks for when that had ended. */
static void host_arrives(struct process *process, const struct awaited *awaited, uint64_t cycle)
{
    struct device *device = awaited->context->device;
    if (cycle > device->host_cycle)
        device->host_cycle = cycle;
    runs_waited(process, cycle);
    capture_wait(process, awaited->context, awaited->stream, awaited->event, awaited->count);
}

static int wait_for(struct process *process, const struct awaited *awaited)
{
    const struct context *context = awaited->context;
    uint64_t cycle;
    while (!context->error && !reached(process, awaited, &cycle))
        if (!advance(process))
            return context->error ? context->error : CUDA_ERROR_UNKNOWN;
    if (!context->error) {
        host_arrives(process, awaited, cycle);
        pool_bytes_waited(process, context->device);
    }
    return context->error;
}

/* The host has the time of the machine. */
static void host_follows(struct process *process)
{
    for (uint32_t i = 0; i < process->device_count; i++)
        if (process->devices[i].host_cycle < process->devices[i].cycle)
            process->devices[i].host_cycle = process->devices[i].cycle;
}

void engine_look(struct process *process)
{
    bool any = true;
    for (uint32_t turn = 0; any && turn < 2; turn++) { /* what has ended lets others start */
        any = false;
        for (uint32_t i = 0; i < process->device_count; i++)
            while (start_one(process, &process->devices[i]))
                ;
        (void)untimed_turns(process);
        for (uint32_t i = 0; !turn && i < process->device_count; i++)
            any |= advance_device(process, &process->devices[i], 0, false);
    }
    host_follows(process);
}

/* Advances a little, so that programs that ask again and again come to an end. */
static int ask_for(struct process *process, const struct awaited *awaited)
{
    const struct context *context = awaited->context;
    struct device *device = context->device;
    uint64_t cycle, until = device->cycle + NUDGE_CYCLES;
    bool ended;
    bool more = !remote_paced(process->remote);
    if (!more)
        engine_look(process);
    while (!(ended = reached(process, awaited, &cycle)) && !context->error && more && device->cycle < until)
        more = work(process, until - device->cycle) && !process->untimed.count;
    if (context->error)
        return context->error;
    if (ended)
        host_arrives(process, awaited, cycle);
    else if (device->host_cycle < device->cycle)
        device->host_cycle = device->cycle;
    return ended ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* What is asked for meanwhile by other threads is not waited for. */
static struct awaited all_of_stream(struct stream *stream)
{
    return (struct awaited){
        .context = stream->context, .stream = stream, .count = stream->queue.last ? stream->queue.last->sequence : 0};
}

int engine_wait_stream(struct process *process, struct stream *stream)
{
    struct awaited awaited = all_of_stream(stream);
    return wait_for(process, &awaited);
}

int engine_ask_stream(struct process *process, struct stream *stream)
{
    struct awaited awaited = all_of_stream(stream);
    return ask_for(process, &awaited);
}

int engine_wait_context(struct process *process, struct context *context)
{
    struct awaited awaited = {.context = context, .count = process->host.last_sequence};
    return wait_for(process, &awaited);
}

int engine_wait_event(struct process *process, struct event *event, uint64_t count)
{
    struct awaited awaited = {.context = event->context, .event = event, .count = count};
    event->references++;
    int error = wait_for(process, &awaited);
    event_release(process, event);
    return error;
}

int engine_ask_event(struct process *process, struct event *event, uint64_t count)
{
    struct awaited awaited = {.context = event->context, .event = event, .count = count};
    event->references++;
    int error = ask_for(process, &awaited);
    event_release(process, event);
    return error;
}

void engine_host_launches(const struct process *process, const struct stream *stream)
{
    struct device *device = stream->context->device;
    if (process->launch_costs && !process->functional)
        device->host_cycle += device_cycles(device, device->config.launch_interval_ns);
}

int engine_host_sleeps(struct process *process, struct context *context, uint64_t nanoseconds)
{
    struct device *device = context->device;
    while (process->functional && !context->error && start_one(process, NULL))
        ; /* whatever is asked for needs no time, and a GPU does it without being asked again */
    (void)untimed_turns(process);
    if (process->functional)
        return context->error;
    device->host_cycle += device_cycles(device, nanoseconds);
    while (!context->error && device->cycle < device->host_cycle) {
        bool any = false;
        for (uint32_t i = 0; i < process->device_count; i++)
            any |= start_one(process, &process->devices[i]);
        if (!any && !advance_device(process, device, device->host_cycle - device->cycle, true))
            break; /* nothing is under way */
    }
    return context->error;
}

enum corun_status engine_host_idles(struct process *process, struct device *device, uint64_t cycle)
{
    const struct stream_scheduler *scheduler = &device->scheduler;
    enum corun_status status = CORUN_OK;
    bool any = true;
    (void)untimed_turns(process);
    while (any && device->cycle < cycle) {
        any = start_one(process, process->functional ? NULL : device);
        if (!any && (scheduler->launches.count || scheduler->transfers.count))
            any = advance_device(process, device, cycle - device->cycle, true);
    }
    if (process->remote && device->cycle < cycle)
        status = remote_idle(process->remote, cycle);
    uint64_t then = cycle == UINT64_MAX ? device->cycle : cycle;
    if (device->host_cycle < then)
        device->host_cycle = then;
    return status;
}

void engine_host_returns(struct process *process)
{
    uint64_t until;
    if (!process->remote || !remote_idles(process->remote, &until))
        return;
    (void)remote_come_back(process->remote); /* what is wrong, the next call is told of */
    process->devices[0].cycle = remote_cycle(process->remote);
    if (until == UINT64_MAX) /* else it asks in the cycle that it has said */
        host_follows(process);
}

bool engine_nudge(struct process *process)
{
    bool any = work(process, NUDGE_CYCLES);
    host_follows(process);
    return any;
}

int engine_make_room(struct process *process, struct context *context)
{
    struct device *device = context->device;
    if (process->host.launches_waiting < STREAM_MOST_WAITING)
        return context->error;
    while (!context->error && process->host.launches_waiting >= STREAM_MOST_WAITING)
        if (!advance(process))
            break;
    if (process->host.room_cycle > device->host_cycle)
        device->host_cycle = process->host.room_cycle;
    return context->error;
}

/* Functions in a stream that cannot continue are not called, but callbacks are, with the error (cudaStreamAddCallback): a program may wait for them. */
static void tell_callback(struct process *process, const struct task *task)
{
    struct callee callee = task->call.callee;
    callee.error = task->stream->context->error;
    callee.stream = task->stream;
    struct called *called = callee.error && callee.callback ? caller_create(process, &callee) : NULL;
    if (called)
        caller_owe(process, called);
}

static void abandon_call(struct process *process, struct task *task)
{
    struct called *called = task->call.called;
    process->functions_waiting--;
    if (!called || !called->begun)
        tell_callback(process, task);
    if (called)
        caller_drop(process, called);
    forget_call(process, task);
}

/* Drops a task. What another thread still has to do with is kept until that is over. */
static void abandon(struct process *process, struct device *device, struct task *task)
{
    (void)stream_forget(&device->scheduler, &task->queued);
    untimed_forget(process, task);
    process->host.launches_waiting -= task->kind == TASK_LAUNCH;
    process->values_waiting -= task->kind == TASK_WAIT_VALUE;
    if (task->kind == TASK_RECORD) { /* whoever waits for it learns of the error */
        task->event.event->reached.completed = task->event.count;
        if (task->event.event->shared)
            interprocess_reached(task->event.event, task->event.count);
    }
    if (task->kind == TASK_CALL)
        abandon_call(process, task);
    task_free(process, task);
}

void engine_abandon(struct process *process, struct context *context)
{
    green_leave_machine(context);
    nested_abandon(process, &context->device->nested, context);
    for (size_t s = 0; s < context->streams.count; s++) {
        struct stream_queue *queue = &context->streams.data[s]->queue;
        while (queue->first) {
            struct task *task = task_of(queue->first);
            queue->first = task->queued.next;
            abandon(process, context->device, task);
        }
        queue->last = NULL;
    }
}

void engine_prepare(struct process *process)
{
    for (uint32_t i = 0; i < process->device_count; i++) {
        struct stream_scheduler *scheduler = &process->devices[i].scheduler;
        scheduler->host = &process->host;
        scheduler->in_order_of_calls = process->capture; /* as it is written down */
        scheduler->may_start = may_start;
        if (process->launch_costs)
            scheduler->gap_cycles = device_cycles(&process->devices[i], process->devices[i].config.launch_gap_ns);
        scheduler->ended = has_ended;
        scheduler->user = &process->devices[i];
    }
}

void engine_close(struct process *process, struct device *device)
{
    struct stream_machine *machine = &device->scheduler.machine;
    record_sampled(process, device);
    for (size_t c = 0; c < process->contexts.count; c++)
        if (process->contexts.data[c]->device == device)
            profile_record_all(process, process->contexts.data[c]);
    if (machine->operations)
        machine->operations->close(machine->machine);
    *machine = (struct stream_machine){NULL, NULL};
    /* The next machine begins here, with the host: what it did before does not tell in its cycles. */
    uint64_t end = device->host_cycle > device->cycle ? device->host_cycle : device->cycle;
    device->cycle = device->host_cycle = end;
    vector_free(&device->scheduler.launches);
    device->scheduler.nested = 0;
    vector_free(&device->scheduler.transfers);
    for (size_t c = 0; c < process->contexts.count; c++)
        if (process->contexts.data[c]->device == device)
            green_forget_machine(process->contexts.data[c]);
}
