/* SPDX-License-Identifier: MIT */
/* A launch as workers: what it becomes, and what goes into the program's stream for it. */
#include "shim/workers.h"

#include "rewrite/slice.h"
#include "rewrite/workers.h"
#include "shim/below.h"
#include "shim/cut.h"
#include "shim/govern.h"
#include "shim/growth.h"
#include "shim/kernels.h"
#include "shim/tables.h"
#include "shim/variables.h"

#include <string.h>

/* LONG_ROUNDS: of thread blocks that the GPU holds at once. A launch that finds nothing to do takes as long as one or two of these. */
enum { LONG_ROUNDS = 32 };

typedef int write_value(void *stream, uint64_t address, uint32_t value, unsigned flags);
typedef int set_words(uint64_t address, size_t pitch, unsigned value, size_t width, size_t height, void *stream);

static struct {
    pthread_once_t once;
    _Atomic uint64_t launches;
    write_value *write, *write_thread;
    set_words *set, *set_thread;
} state = {.once = PTHREAD_ONCE_INIT};

static void find_calls(void)
{
    state.write = (write_value *)below_called(CALLED_cuStreamWriteValue32_v2);
    state.write_thread = (write_value *)below_called(CALLED_cuStreamWriteValue32_v2_ptsz);
    state.set = (set_words *)below_called(CALLED_cuMemsetD2D32Async);
    state.set_thread = (set_words *)below_called(CALLED_cuMemsetD2D32Async_ptsz);
}

static int launch_workers(const struct launch *launch, const struct kernel *kernel, uint32_t workers,
                          const struct worker_arguments *arguments)
{
    void *parameters[LAUNCH_MOST_PARAMETERS + 1];
    if (kernel->parameters)
        memcpy(parameters, launch->parameters, kernel->parameters * sizeof *parameters);
    parameters[kernel->parameters] = (void *)(uintptr_t)arguments;
    return launch->real(kernel->function, workers, 1, 1, launch->block[0], launch->block[1], launch->block[2],
                        launch->shared_bytes, launch->stream, parameters, NULL);
}

/* What a launch becomes. */
struct shape {
    uint32_t total, workers, sms;
    uint32_t per_sm, threads; /* thread blocks that an SM holds; of each */
};

_Static_assert(offsetof(struct worker_queue, next) == 0, "the words that are set anew are the first of each queue");

/* Nobody has drawn anything from them, in the order of the stream: the launches before have run by then. */
static int begin_anew(const struct launch *launch, struct queue *queue)
{
    set_words *set = launch->per_thread ? state.set_thread : state.set;
    int error = set ? set(queue->address, sizeof(struct worker_queue), 0, 1, QUEUE_LAUNCHES, launch->stream)
                    : BELOW_NOT_SUPPORTED;
    if (error == BELOW_OK)
        queue->used = 0;
    return error;
}

/* A queue for a launch: before the first workers draw, in the order of the stream. Mostly it is as the launch wants it, and nothing is written. */
static int set_queue(const struct launch *launch, struct queue *queue, const struct worker_queue *first,
                     uint64_t *address)
{
    write_value *write = launch->per_thread ? state.write_thread : state.write;
    int error = queue->used == QUEUE_LAUNCHES ? begin_anew(launch, queue) : BELOW_OK;
    if (error != BELOW_OK || !write)
        return write ? error : BELOW_NOT_SUPPORTED;
    uint32_t at = queue->used++;
    *address = queue->address + at * sizeof(struct worker_queue);
    if (queue->totals[at] != first->total) {
        error = write(launch->stream, *address + offsetof(struct worker_queue, total), first->total, 0);
        queue->totals[at] = error == BELOW_OK ? first->total : 0;
    }
    if (error == BELOW_OK && first->next)
        error = write(launch->stream, *address + offsetof(struct worker_queue, next), first->next, 0);
    return error;
}

/* What is left of a launch that grew is told to its last workers there. */
static uint64_t queue_of_rest(const struct queue *queue)
{
    return queue->address + QUEUE_LAUNCHES * sizeof(struct worker_queue);
}

/* A launch being made: what of it is in the stream already. */
struct making {
    const struct launch *launch;
    struct kernel *kernel;
    const struct crew *crew;
    struct queue *queue;
    const struct shape *shape;
    struct worker_arguments arguments; /* of the first workers */
    struct worker_queue first;
    bool is_long;
    bool begun; /* some thread blocks run */
};

/*
 * Behind workers that obey come some that do not, for what those have left; unless all thread blocks had a worker to begin with. In a long grid others that obey come in
 * between: when all SMs of the first ones are taken away, the second ones go where the program may be then.
 */
static int make_chain(struct making *making)
{
    const struct shape *shape = making->shape;
    struct worker_arguments arguments = making->arguments;
    int error = set_queue(making->launch, making->queue, &making->first, &arguments.queue);
    if (error == BELOW_OK)
        error = launch_workers(making->launch, making->kernel, shape->workers, &arguments);
    making->begun = error == BELOW_OK;
    if (error != BELOW_OK || making->first.next >= shape->total)
        return error;
    arguments.flags &= ~(uint32_t)WORKERS_SEATED;
    if (making->is_long)
        error = launch_workers(making->launch, making->kernel, shape->workers, &arguments);
    arguments.places = making->crew->all;
    return error != BELOW_OK ? error : launch_workers(making->launch, making->kernel, shape->workers, &arguments);
}

/*
 * The same, and it may grow: the guard lies in front of the last ones, and behind it nobody else runs.
 */
static int make_growing(struct making *making, struct growth *growth, uint32_t place)
{
    const struct launch *launch = making->launch;
    const struct shape *shape = making->shape;
    struct worker_arguments arguments = making->arguments;
    arguments.queue = growth_queue(growth, place);
    int error = growth_open(growth, place, launch, &making->first);
    if (error == BELOW_OK)
        error = launch_workers(launch, making->kernel, shape->workers, &arguments);
    making->begun = error == BELOW_OK;
    arguments.flags &= ~(uint32_t)WORKERS_SEATED;
    if (error == BELOW_OK)
        error = launch_workers(launch, making->kernel, shape->workers, &arguments);
    if (error == BELOW_OK)
        error = growth_close(growth, place, launch, queue_of_rest(making->queue), shape->total);
    if (error != BELOW_OK)
        return error;
    arguments.queue = queue_of_rest(making->queue);
    arguments.places = making->crew->all;
    error = launch_workers(launch, making->kernel, shape->workers, &arguments);
    if (error == BELOW_OK)
        growth_keep(growth, place, launch, making->kernel, shape->workers, &making->arguments);
    return error;
}

/* Under the queue's lock. */
static int make_launches(struct making *making, struct crew *crew)
{
    const struct launch *launch = making->launch;
    const struct shape *shape = making->shape;
    bool everywhere = shape->sms == board_sms(0, BOARD_SMS);
    making->is_long = shape->total / LONG_ROUNDS >= shape->workers;
    worker_arguments_set(&making->arguments, launch->grid, everywhere ? WORKERS_SEATED : 0);
    worker_queue_set(&making->first, &making->arguments, shape->workers);
    making->arguments.places = crew->places;
    making->arguments.grid_id = atomic_fetch_add(&state.launches, 1) + 1;
    if (!variables_copy(making->kernel->copied, making->kernel->copied_count, launch->stream, launch->per_thread))
        return BELOW_NOT_SUPPORTED;
    struct growth *growth = making->is_long ? tables_growth(crew) : NULL;
    uint32_t place = growth ? growth_take(growth) : GROWTH_NONE;
    return place != GROWTH_NONE ? make_growing(making, growth, place) : make_chain(making);
}

/* Whether the launch can be workers at all; its shape. */
static bool find_shape(const struct launch *launch, const struct governed *governed, struct kernel *kernel,
                       struct shape *shape)
{
    uint64_t total = slice_total(launch->grid),
             threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (!kernel || !total || total > WORKERS_MOST_BLOCKS || !threads || threads > 1024 || launch->extra ||
        !governed->looked_at)
        return false;
    uint32_t wave = kernel_rewritten(kernel, (uint32_t)threads, launch->shared_bytes);
    if (!wave || kernel->parameters >= LAUNCH_MOST_PARAMETERS || (kernel->parameters && !launch->parameters))
        return false;
    shape->total = (uint32_t)total;
    shape->per_sm = kernel->per_sm;
    shape->threads = (uint32_t)threads;
    shape->workers = wave < total ? wave : (uint32_t)total;
    return true;
}

/* Where it has all SMs, what has a place from the beginning gives none back sooner. */
static bool is_whole(const struct shape *shape)
{
    return shape->sms == board_sms(0, BOARD_SMS) && shape->workers == shape->total;
}

static bool launch_as_workers(const struct launch *launch, struct governed *governed, struct kernel *kernel,
                              struct shape *shape, int *error)
{
    struct crew *crew;
    struct queue *queue;
    if (!find_shape(launch, governed, kernel, shape) ||
        !tables_take(launch->stream, launch->per_thread, shape->sms, &crew, &queue) || is_whole(shape))
        return false; /* tables are there all the same: they tell corund that there are workers */
    govern_begin(governed, kernel, shape->total);
    uint32_t now = govern_sms();
    if (now && now != shape->sms) { /* it waited at the gate for that, perhaps */
        shape->sms = now;
        tables_rewrite(crew, now);
    }
    govern_tell_shape(shape->per_sm, shape->threads);
    struct making making = {
        .launch = launch, .kernel = kernel, .crew = crew, .queue = queue, .shape = shape, .begun = false};
    pthread_mutex_lock(&queue->lock);
    *error = make_launches(&making, crew);
    pthread_mutex_unlock(&queue->lock);
    governed->counted = making.begun;
    if (!making.begun) /* the program is to hear what its own launch gives */
        *error = launch->real(launch->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                              launch->block[1], launch->block[2], launch->shared_bytes, launch->stream,
                              launch->parameters, launch->extra);
    govern_end(governed, *error);
    tables_launched();
    return true;
}

bool workers_launch(const struct launch *launch, struct governed *governed, int *error)
{
    struct shape shape = {.sms = govern_sms()};
    pthread_once(&state.once, find_calls);
    if (!shape.sms || !state.write || !tables_usable())
        return false;
    struct kernel *kernel = kernel_find(launch->function);
    bool made = launch_as_workers(launch, governed, kernel, &shape, error);
    kernel_drop(kernel);
    return made;
}
