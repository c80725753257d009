/*
 * Carrying out what waits in streams.
 *
 * Nothing runs while the program does not ask: tasks collect in streams, and a call that waits makes the machine go on
 * until what it waits for has happened. So the order of events depends on what the program asked for and not on how
 * fast it did; the machine's clock runs while it has work. Without timing, ready tasks are carried out in the order in
 * which they were asked for.
 *
 * A task is ready when it is the first of its stream and what it depends on has ended: for the legacy default stream,
 * what other blocking streams were given before; for those, what the legacy stream was given before; for a wait, the
 * event.
 */
#include "cuda/capture.h"
#include "cuda/stream_value.h"
#include "gpu/transfer.h"
#include "workload/stream_rules.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLICE_CYCLES 50000u                       /* between two looks at what other threads want */
#define NUDGE_CYCLES 20000u                       /* of an event or stream that is only asked about */
#define FUNCTIONAL_WATCHDOG UINT64_C(20000000000) /* warp instructions of a thread block */
#define MOST_VALUE_LOOKS 60000u                   /* of a call that waits, each at least 100 us */

static struct corun_program *program_of(const struct task *task)
{
    return task->launch.request.function->module->program;
}

static bool precedes(const struct stream *stream, const struct task *task)
{
    return stream->first && stream->first->sequence < task->sequence;
}

/* Is the first task of its stream free to start, and since when? */
static bool is_ready(const struct task *task, uint64_t *since)
{
    const struct stream *stream = task->stream;
    const struct context *context = stream->context;
    uint64_t cycle = stream->free_cycle;
    if (stream == context->legacy) {
        if (context->gone_blocking_cycle > cycle)
            cycle = context->gone_blocking_cycle;
        for (size_t i = 0; i < context->streams.count; i++) {
            const struct stream *other = context->streams.data[i];
            if (other->flags & STREAM_NON_BLOCKING || other == stream)
                continue;
            if (precedes(other, task))
                return false;
            if (other->free_cycle > cycle)
                cycle = other->free_cycle;
        }
    } else if (!(stream->flags & STREAM_NON_BLOCKING)) {
        if (precedes(context->legacy, task))
            return false;
        if (context->legacy->free_cycle > cycle)
            cycle = context->legacy->free_cycle;
    }
    if (task->kind == TASK_WAIT) {
        const struct event *event = task->event.event;
        if (event->completed < task->event.count)
            return false;
        if (event->context->device == context->device && event->cycle > cycle)
            cycle = event->cycle;
    }
    if (task->kind == TASK_WAIT_VALUE) { /* seen when the machine is looked at */
        if (!stream_value_reached(task))
            return false;
        if (context->device->cycle > cycle)
            cycle = context->device->cycle;
    }
    if (task->submitted_cycle > cycle)
        cycle = task->submitted_cycle;
    *since = cycle;
    return true;
}

/* Takes the first task off its stream. */
static void finish(struct process *process, struct task *task, uint64_t cycle)
{
    struct stream *stream = task->stream;
    stream->first = task->next;
    if (!stream->first)
        stream->last = NULL;
    if (cycle > stream->free_cycle)
        stream->free_cycle = cycle;
    task->end_cycle = cycle;
    if (task->kind == TASK_LAUNCH) {
        process->launches_waiting--;
        process->room_cycle = cycle;
    }
    process->values_waiting -= task->kind == TASK_WAIT_VALUE;
    task_free(process, task);
    if (stream->destroyed && !stream->first)
        stream_free(process, stream);
}

/* False if the task has gone while other threads had their turn. */
static bool run_call(struct process *process, struct task *task)
{
    struct context *context = task->stream->context;
    abi_host_function function = task->call.function;
    abi_stream_callback callback = task->call.callback;
    void *user = task->call.user, *stream = task->stream;
    int error = context->error;
    task->started = true;
    process->calls_running++;
    pthread_mutex_unlock(&process->lock);
    if (function)
        function(user);
    else
        callback(stream, error, user);
    pthread_mutex_lock(&process->lock);
    process->calls_running--;
    if (task->stream)
        return true;
    task_free(process, task); /* what waited in its context has been abandoned meanwhile */
    return false;
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
        event->completed = task->event.count;
        event->cycle = cycle;
        event->nanoseconds =
            process->functional ? host_nanoseconds() : device_nanoseconds(task->stream->context->device, cycle);
        break;
    case TASK_CALL:
        if (!run_call(process, task))
            return;
        break;
    case TASK_WRITE_VALUE:
        if (stream_value_write(task) != CUDA_SUCCESS)
            cuda_context_fail(task->stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
        break;
    case TASK_FREE:
        (void)memory_release(process, task->address, "cudaFreeAsync");
        break;
    default:
        break;
    }
    finish(process, task, cycle);
}

/* The two words that the blocks of a cooperative grid meet at: several launches may be under way, each has its own. */
static uint64_t meeting_address(struct context *context)
{
    enum { PLACES = 64, PLACE_BYTES = 256 };
    if (!context->grid_barrier) {
        if (corun_memory_allocate(context->memory, PLACES * PLACE_BYTES, &context->grid_barrier) != CORUN_OK)
            return 0;
        capture_allocate(process_get(), context, context->grid_barrier, PLACES * PLACE_BYTES);
    }
    uint64_t address = context->grid_barrier + (uint64_t)(context->grid_barrier_next++ % PLACES) * PLACE_BYTES;
    static const uint64_t zero[PLACE_BYTES / 8];
    (void)corun_memory_write(context->memory, address, zero, sizeof zero);
    return address;
}

static enum corun_status make_grid(struct process *process, struct context *context,
                                   const struct launch_request *request, struct corun_grid **grid)
{
    struct corun_launch_description description = {.kernel = request->function->kernel,
                                                   .grid = request->grid,
                                                   .block = request->block,
                                                   .dynamic_shared_bytes = request->dynamic_shared_bytes,
                                                   .parameters = request->parameters,
                                                   .parameter_bytes = request->parameter_bytes};
    if (request->cooperative && !(description.meeting_address = meeting_address(context)))
        return CORUN_MEMORY;
    process->launches++;
    return corun_launch_create(request->function->module->program, &description, process->list, grid);
}

/* Without timing: everything that is ready, at once. */
static void run_functional(struct process *process, struct task *task)
{
    struct context *context = task->stream->context;
    struct corun_grid *grid;
    enum corun_status status = CORUN_OK;
    int error = CUDA_SUCCESS;
    struct corun_program *program = NULL;
    bool called;
    switch (task->kind) {
    case TASK_LAUNCH:
        program = program_of(task);
        status = make_grid(process, context, &task->launch.request, &grid);
        if (status == CORUN_OK) {
            struct corun_functional_result result;
            capture_launch(process, task, grid);
            status = corun_run_functional(grid, FUNCTIONAL_WATCHDOG, process->list, print_device_text, NULL, &result);
            struct corun_counters counters = {.warp_instructions = result.warp_instructions,
                                              .thread_instructions = result.thread_instructions};
            record_launch(process, context->device, task, grid, &counters);
            corun_launch_destroy(grid);
            capture_launched(process);
        }
        if (status == CORUN_OK)
            failure_tell_notes(process, program);
        if (status != CORUN_OK) {
            capture_refuse(process, "kernel %s failed", task->launch.request.function->name);
            failure_of_launch(process, context, status);
            failure_tell_notes(process, program);
            return;
        }
        break;
    case TASK_COPY:
        error = copy_perform(&task->copy);
        capture_task(process, task);
        record_copy(process, context->device, task);
        break;
    case TASK_FILL:
        error = fill_perform(context, &task->fill);
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

static bool may_start(const struct device *device, const struct task *task)
{
    return !device || task->kind != TASK_LAUNCH ||
           streams_have_room(device->running.count, device->alone, task->launch.request.cooperative);
}

/* Should `task` start before `other`? What is captured is written down in the order of the calls, so that is how it runs. */
static bool goes_first(const struct process *process, const struct task *task, const struct task *other)
{
    if (process->capture)
        return task->sequence < other->sequence;
    return streams_goes_first(task->stream->priority, task->sequence, other->stream->priority, other->sequence);
}

/* Ready and not started, the most urgent one: priority, then order of the calls. NULL if there is none. */
static struct task *next_ready(struct process *process, const struct device *device, uint64_t *since)
{
    struct task *best = NULL;
    for (size_t c = 0; c < process->contexts.count; c++) {
        const struct context *context = process->contexts.data[c];
        if (context->destroyed || (device && context->device != device))
            continue;
        for (size_t i = 0; i < context->streams.count; i++) {
            struct task *task = context->streams.data[i]->first;
            uint64_t cycle;
            if (!task || task->started || !may_start(device, task))
                continue;
            if (best && !goes_first(process, task, best))
                continue;
            if (is_ready(task, &cycle)) {
                best = task;
                *since = cycle;
            }
        }
    }
    return best;
}

/*
 * The machine has no policy, as `corun run` without one, so that a captured program runs there as it did here. It is made
 * for the first task that takes time.
 */
static bool open_machine(struct process *process, struct device *device)
{
    if (device->gpu)
        return true;
    if (corun_gpu_create(&device->config, process->list, &device->gpu) != CORUN_OK)
        return false;
    for (uint32_t i = 0; i < LANES; i++) {
        struct corun_application_description description = {.name = "program", .print = print_device_text};
        device->lanes[i] = (struct lane){.application = 0};
        if (corun_gpu_add(device->gpu, &description, &device->lanes[i].application) != CORUN_OK)
            return false;
    }
    struct corun_limits limits = {.threads = process->threads};
    device->base_cycle = device->cycle;
    return corun_gpu_open(device->gpu, &limits, process->list) == CORUN_OK;
}

static uint64_t machine_cycle(const struct device *device, uint64_t cycle)
{
    return cycle > device->base_cycle ? cycle - device->base_cycle : 0;
}

static void start_copy(struct process *process, struct device *device, struct task *task, uint64_t since)
{
    static const enum corun_copy_engine engines[] = {[ENGINE_TO_DEVICE] = CORUN_COPY_TO_DEVICE,
                                                     [ENGINE_TO_HOST] = CORUN_COPY_TO_HOST,
                                                     [ENGINE_WITHIN] = CORUN_COPY_WITHIN};
    struct transfer transfer = {.engine = CORUN_COPY_WITHIN, .fill = true};
    if (task->kind == TASK_FILL)
        transfer.bytes = task->fill.width_bytes * task->fill.height * task->fill.depth;
    else
        transfer = (struct transfer){engines[task->copy.engine], task->copy.pageable, false, copy_bytes(&task->copy)};
    task->started = true;
    if (!open_machine(process, device) || !vector_push(&device->copies, task)) {
        failure_of_launch(process, task->stream->context, CORUN_MEMORY);
        return;
    }
    transfer_start(device->gpu, &device->config, &transfer, machine_cycle(device, since), &task->start_cycle,
                   &task->end_cycle);
    task->start_cycle += device->base_cycle;
    task->end_cycle += device->base_cycle;
}

/* The machine's application of a context: its own, or one that it shares when there are many contexts. */
static struct lane *lane_of(struct device *device, const struct context *context)
{
    struct lane *unused = NULL;
    for (uint32_t i = 0; i < LANES; i++) {
        struct lane *lane = &device->lanes[i];
        if (lane->context == context && !lane->broken)
            return lane;
        if (!unused && !lane->context)
            unused = lane;
    }
    for (uint32_t i = 0; i < LANES && !unused; i++)
        if (!device->lanes[i].broken)
            unused = &device->lanes[i];
    if (unused && !unused->context)
        unused->context = context;
    return unused;
}

static void start_launch(struct process *process, struct device *device, struct task *task, uint64_t since)
{
    struct context *context = task->stream->context;
    struct corun_grid *grid = NULL;
    enum corun_status status = open_machine(process, device) ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = make_grid(process, context, &task->launch.request, &grid);
    since =
        streams_kernel_since(since, task->stream->launched, task->stream->free_cycle, device->config.launch_latency);
    struct lane *lane = status == CORUN_OK ? lane_of(device, context) : NULL;
    if (status == CORUN_OK && !lane) /* every one has failed before */
        status = CORUN_LIMIT;
    task->launch.grid = grid;
    task->launch.lane = lane;
    if (status == CORUN_OK)
        status = corun_gpu_launch(device->gpu, lane->application, grid, machine_cycle(device, since),
                                  task->stream->priority, &task->launch.number);
    if (status == CORUN_OK && !vector_push(&device->running, task))
        status = CORUN_MEMORY;
    if (status != CORUN_OK) {
        if (lane)
            lane->broken = true;
        failure_of_launch(process, context, status);
        return;
    }
    task->started = task->stream->launched = true;
    device->alone = task->launch.request.cooperative;
    corun_gpu_launch_counters(device->gpu, lane->application, task->launch.number, &task->launch.before);
}

static void subtract(struct corun_counters *after, const struct corun_counters *before)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++)
        *(uint64_t *)((char *)after + rows[i].offset) -= *(const uint64_t *)((const char *)before + rows[i].offset);
}

static void collect_launch(struct process *process, struct device *device, struct task *task,
                           const struct corun_launched *launched)
{
    struct corun_counters counters;
    corun_gpu_launch_counters(device->gpu, task->launch.lane->application, task->launch.number, &counters);
    subtract(&counters, &task->launch.before);
    failure_tell_notes(process, program_of(task));
    task->start_cycle = device->base_cycle + launched->first_cycle;
    task->end_cycle = device->base_cycle + launched->last_cycle;
    record_launch(process, device, task, task->launch.grid, &counters);
    finish(process, task, task->end_cycle);
}

/* Launches that have ended, in the order in which they were started. */
static void collect_launches(struct process *process, struct device *device)
{
    for (size_t i = 0; i < device->running.count;) {
        struct task *task = device->running.data[i];
        struct lane *lane = task->launch.lane;
        struct corun_launched launched;
        corun_gpu_launched(device->gpu, lane->application, task->launch.number, &launched);
        if (!launched.ended) {
            i++;
            continue;
        }
        memmove(&device->running.data[i], &device->running.data[i + 1],
                (--device->running.count - i) * sizeof *device->running.data);
        if (launched.status == CORUN_OK) {
            collect_launch(process, device, task, &launched);
            continue;
        }
        lane->broken = true;
        struct corun_program *program = program_of(task);
        /* The machine may still name the grid: it is kept as long as the machine. */
        failure_of_launch(process, task->stream->context, launched.status);
        failure_tell_notes(process, program);
        i = 0; /* that has taken others away */
    }
}

static void collect_copies(struct process *process, struct device *device)
{
    for (size_t i = 0; i < device->copies.count;) {
        struct task *task = device->copies.data[i];
        if (task->end_cycle > device->cycle) {
            i++;
            continue;
        }
        device->copies.count--;
        memmove(&device->copies.data[i], &device->copies.data[i + 1],
                (device->copies.count - i) * sizeof *device->copies.data);
        struct context *context = task->stream->context;
        int error = task->kind == TASK_COPY ? copy_perform(&task->copy) : fill_perform(context, &task->fill);
        if (error != CUDA_SUCCESS)
            cuda_context_fail(context, error);
        record_copy(process, device, task);
        finish(process, task, task->end_cycle);
    }
}

/* Starts the first of what can start, on a device or, without timing, on any (NULL); false if nothing can. */
static bool start_one(struct process *process, struct device *device)
{
    uint64_t since = 0;
    struct task *task = next_ready(process, device, &since);
    if (!task)
        return false;
    if (!device)
        run_functional(process, task);
    else if (task->kind == TASK_LAUNCH)
        start_launch(process, device, task, since);
    else if (task->kind == TASK_COPY || task->kind == TASK_FILL)
        start_copy(process, device, task, since);
    else
        carry_out(process, task, since);
    return true;
}

/* One slice of one device, on which nothing can start. False if it has nothing to do. */
static bool advance_device(struct process *process, struct device *device, uint64_t slice)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < device->copies.count; i++)
        if (device->copies.data[i]->end_cycle < next)
            next = device->copies.data[i]->end_cycle;
    if (!device->running.count && next == UINT64_MAX)
        return false;
    corun_gpu_wake(device->gpu, device->lanes[0].application, next == UINT64_MAX ? next : machine_cycle(device, next));
    enum corun_status status = corun_gpu_advance(device->gpu, corun_gpu_cycles(device->gpu) + slice);
    device->cycle = device->base_cycle + corun_gpu_cycles(device->gpu);
    if (status != CORUN_OK) { /* the host is out of memory: nothing of this machine can go on */
        for (size_t c = 0; c < process->contexts.count; c++)
            if (process->contexts.data[c]->device == device)
                failure_of_launch(process, process->contexts.data[c], status);
        return true;
    }
    collect_launches(process, device);
    collect_copies(process, device);
    return true;
}

/*
 * What can start on a device, one task at a time, or else a slice of its machine: whoever waits looks in between, and
 * goes on at once when what it waits for has ended. Without timing, everything that can be done.
 */
static bool work(struct process *process, uint64_t slice)
{
    bool any = false;
    while (process->functional && start_one(process, NULL))
        any = true;
    for (uint32_t i = 0; !process->functional && i < process->device_count; i++)
        any |= start_one(process, &process->devices[i]);
    for (uint32_t i = 0; !process->functional && !any && i < process->device_count; i++)
        any |= advance_device(process, &process->devices[i], slice);
    return any;
}

/* Works, and lets other threads in. False if nothing can go on. */
static bool advance(struct process *process)
{
    bool any = work(process, SLICE_CYCLES);
    /* A function of the program runs in another thread, or another thread will write what a stream waits for. */
    bool elsewhere = !any && (process->calls_running || process->values_waiting);
    if (any || !process->values_waiting)
        process->value_looks = 0;
    else if (++process->value_looks > MOST_VALUE_LOOKS)
        stream_values_give_up(process);
    pthread_mutex_unlock(&process->lock);
    if (elsewhere)
        usleep(100);
    pthread_mutex_lock(&process->lock);
    return any || elsewhere;
}

/* What the host waits for: a stream or all of a context up to task `count`, or an event for the `count`th time. */
struct awaited {
    struct context *context;
    struct stream *stream;
    struct event *event;
    uint64_t count;
};

static bool stream_reached(struct process *process, struct stream *stream, uint64_t sequence, uint64_t *cycle)
{
    if (!object_find(process, stream, OBJECT_STREAM)) /* destroyed and, so, empty */
        return true;
    if (stream->first && stream->first->sequence <= sequence)
        return false;
    if (stream->free_cycle > *cycle)
        *cycle = stream->free_cycle;
    return true;
}

/* Has it ended, and when? */
static bool reached(struct process *process, const struct awaited *awaited, uint64_t *cycle)
{
    *cycle = 0;
    if (awaited->event) {
        *cycle = awaited->event->cycle;
        return awaited->event->completed >= awaited->count;
    }
    if (awaited->stream)
        return stream_reached(process, awaited->stream, awaited->count, cycle);
    *cycle = awaited->context->gone_cycle;
    for (size_t i = 0; i < awaited->context->streams.count; i++)
        if (!stream_reached(process, awaited->context->streams.data[i], awaited->count, cycle))
            return false;
    return true;
}

/* What the host asks for from now on, it asks for when that had ended. */
static void host_arrives(struct process *process, const struct awaited *awaited, uint64_t cycle)
{
    struct device *device = awaited->context->device;
    if (cycle > device->host_cycle)
        device->host_cycle = cycle;
    capture_wait(process, awaited->context, awaited->stream, awaited->event, awaited->count);
}

static int wait_for(struct process *process, const struct awaited *awaited)
{
    const struct context *context = awaited->context;
    uint64_t cycle;
    while (!context->error && !reached(process, awaited, &cycle))
        if (!advance(process))
            return context->error ? context->error : CUDA_ERROR_UNKNOWN;
    if (!context->error)
        host_arrives(process, awaited, cycle);
    return context->error;
}

/* Goes on a little, so that programs that ask again and again come to an end. */
static int ask_for(struct process *process, const struct awaited *awaited)
{
    const struct context *context = awaited->context;
    struct device *device = context->device;
    uint64_t cycle, until = device->cycle + NUDGE_CYCLES;
    bool ended;
    while (!(ended = reached(process, awaited, &cycle)) && !context->error && device->cycle < until &&
           work(process, until - device->cycle))
        ;
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
        .context = stream->context, .stream = stream, .count = stream->last ? stream->last->sequence : 0};
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
    struct awaited awaited = {.context = context, .count = process->next_sequence};
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

bool engine_nudge(struct process *process)
{
    bool any = work(process, NUDGE_CYCLES);
    for (uint32_t i = 0; i < process->device_count; i++)
        process->devices[i].host_cycle = process->devices[i].cycle;
    return any;
}

int engine_make_room(struct process *process, struct context *context)
{
    struct device *device = context->device;
    if (process->launches_waiting < STREAMS_MOST_WAITING)
        return context->error;
    while (!context->error && process->launches_waiting >= STREAMS_MOST_WAITING)
        if (!advance(process))
            break;
    if (process->room_cycle > device->host_cycle)
        device->host_cycle = process->room_cycle;
    return context->error;
}

/* It goes on in the machine, but for nobody: what it is an application of takes no more launches. */
static void forget_running(struct device *device, struct task *task)
{
    for (size_t i = 0; i < device->running.count; i++)
        if (device->running.data[i] == task) {
            task->launch.lane->broken = true;
            memmove(&device->running.data[i], &device->running.data[i + 1],
                    (--device->running.count - i) * sizeof *device->running.data);
            return;
        }
}

void engine_abandon(struct process *process, struct context *context)
{
    struct device *device = context->device;
    for (size_t i = 0; i < device->copies.count;)
        if (device->copies.data[i]->stream->context == context)
            device->copies.data[i] = device->copies.data[--device->copies.count];
        else
            i++;
    for (size_t s = 0; s < context->streams.count; s++) {
        struct stream *stream = context->streams.data[s];
        while (stream->first) {
            struct task *task = stream->first;
            stream->first = task->next;
            if (task->kind == TASK_LAUNCH)
                process->launches_waiting--;
            process->values_waiting -= task->kind == TASK_WAIT_VALUE;
            if (task->kind == TASK_RECORD) /* whoever waits for it learns of the error */
                task->event.event->completed = task->event.count;
            if (task->kind == TASK_CALL && task->started) { /* the thread that is in it frees it */
                task->stream = NULL;
                continue;
            }
            if (task->kind == TASK_LAUNCH && task->launch.grid) {
                /* The machine may name the grid as long as it lives. */
                task->stream = NULL;
                task->next = device->orphans;
                device->orphans = task;
                forget_running(device, task);
                continue;
            }
            task_free(process, task);
        }
        stream->last = NULL;
    }
}

void engine_close(struct process *process, struct device *device)
{
    corun_gpu_destroy(device->gpu);
    device->gpu = NULL;
    memset(device->lanes, 0, sizeof device->lanes);
    vector_free(&device->running);
    while (device->orphans) {
        struct task *task = device->orphans;
        device->orphans = task->next;
        task_free(process, task);
    }
}

int engine_occupancy(struct function *function, uint32_t threads, size_t dynamic_shared, uint32_t *tbs)
{
    *tbs = 0;
    if (threads == 0 || threads > function->module->context->device->config.threads_per_tb)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function->kernel)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (function->occupancy.threads == threads && function->occupancy.dynamic_shared_bytes == dynamic_shared) {
        *tbs = function->occupancy.tbs;
        return CUDA_SUCCESS;
    }
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    uint8_t *zeros = calloc(1, info.parameter_bytes + 1);
    if (!zeros)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct corun_launch_description description = {.kernel = function->kernel,
                                                   .grid = {1, 1, 1},
                                                   .block = {threads, 1, 1},
                                                   .dynamic_shared_bytes = (uint32_t)dynamic_shared,
                                                   .parameters = zeros,
                                                   .parameter_bytes = info.parameter_bytes};
    struct corun_grid *grid;
    const char *limit;
    enum corun_status status = dynamic_shared > UINT32_MAX
                                   ? CORUN_LIMIT
                                   : corun_launch_create(function->module->program, &description, NULL, &grid);
    free(zeros);
    if (status != CORUN_OK)
        return status == CORUN_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS; /* none fits */
    *tbs = corun_gpu_occupancy(&function->module->context->device->config, grid, &limit);
    corun_launch_destroy(grid);
    function->occupancy = (struct occupancy){threads, *tbs, dynamic_shared};
    return CUDA_SUCCESS;
}

uint32_t engine_most_threads(struct function *function)
{
    const struct corun_gpu_config *config = &function->module->context->device->config;
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    uint32_t most = info.max_threads_per_tb ? info.max_threads_per_tb : config->threads_per_tb, threads = most, tbs = 0;
    while (engine_occupancy(function, threads, 0, &tbs) == CUDA_SUCCESS && !tbs && threads > 32)
        threads = (threads - 1) / 32 * 32;
    return tbs ? threads : most; /* it is not the number of threads that keeps it from fitting */
}
