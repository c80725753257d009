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
                          const struct worker_completing_arguments *arguments)
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

/* A launch being made. */
struct making {
    const struct launch *launch;
    struct kernel *kernel;
    struct crew *crew;
    const struct shape *shape;
    struct worker_completing_arguments arguments;
    bool begun; /* some thread blocks run */
};

/* Under the queue's lock. Behind workers that obey come some that do not, for what those have left; unless all thread blocks had a worker to begin with. */
static int make_chain(struct making *making, struct queue *queue)
{
    const struct shape *shape = making->shape;
    struct worker_completing_arguments *arguments = &making->arguments;
    struct worker_queue first;
    arguments->plain.flags |= shape->sms == board_sms(0, BOARD_SMS) ? WORKERS_SEATED : 0;
    worker_queue_set(&first, &arguments->plain, shape->workers);
    int error = set_queue(making->launch, queue, &first, &arguments->plain.queue);
    if (error == BELOW_OK)
        error = launch_workers(making->launch, making->kernel, shape->workers, arguments);
    making->begun = error == BELOW_OK;
    if (error != BELOW_OK || first.next >= first.total)
        return error;
    arguments->plain.flags &= ~(uint32_t)WORKERS_SEATED;
    arguments->plain.places = making->crew->all;
    return launch_workers(making->launch, making->kernel, shape->workers, arguments);
}

static int make_in_queue(struct making *making)
{
    const struct launch *launch = making->launch;
    struct queue *queue = tables_queue(making->crew, launch->stream, launch->per_thread);
    if (!queue)
        return BELOW_NOT_SUPPORTED;
    pthread_mutex_lock(&queue->lock);
    int error = make_chain(making, queue);
    pthread_mutex_unlock(&queue->lock);
    return error;
}

/* Thread blocks that are short are drawn several at a time: as far as it is known how long they take, of those that run at once. */
static void set_range(struct making *making)
{
    const struct shape *shape = making->shape;
    if (!making->kernel->ranges || shape->workers >= shape->total)
        return;
    const uint64_t block_ns = atomic_load(&making->kernel->block_ps) * shape->workers / 1000;
    worker_arguments_range(&making->arguments.plain, worker_range_blocks(block_ns, WORKERS_RANGE_NS), shape->workers);
}

/* One launch, whose last worker stays, and which may grow; where it cannot, two. */
static int make_launches(struct making *making)
{
    const struct launch *launch = making->launch;
    struct growth *growth = making->crew->growth;
    worker_arguments_set(&making->arguments.plain, launch->grid, 0);
    set_range(making);
    making->arguments.plain.places = making->crew->places;
    making->arguments.plain.grid_id = atomic_fetch_add_explicit(&state.launches, 1, memory_order_relaxed) + 1;
    if (!variables_copy(making->kernel->copied, making->kernel->copied_count, launch->stream, launch->per_thread))
        return BELOW_NOT_SUPPORTED;
    uint32_t workers = making->shape->workers,
             place = growth_take(growth, launch, making->kernel, workers, &making->arguments);
    if (place == GROWTH_NONE)
        return make_in_queue(making);
    int error = launch_workers(launch, making->kernel, workers, &making->arguments);
    making->begun = error == BELOW_OK;
    if (!making->begun)
        growth_give_back(growth, place);
    return error;
}

/* The kernel in the form of workers, mostly as it was launched before; NULL: it has none. The caller drops it. */
static struct kernel *find_workers(const struct launch *launch, struct governed *governed, uint32_t threads)
{
    struct kernel *kernel = kernel_find_made(launch->function, govern_context(governed), threads, launch->shared_bytes);
    if (kernel || !(kernel = kernel_find(launch->function)))
        return kernel;
    if (kernel_rewritten(kernel, threads, launch->shared_bytes))
        return kernel;
    kernel_drop(kernel);
    return NULL;
}

/* Whether the launch can be workers at all; its kernel, which the caller drops, and its shape. */
static struct kernel *find_shape(const struct launch *launch, struct governed *governed, struct shape *shape)
{
    uint64_t total = slice_total(launch->grid),
             threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (!slice_grid_is_good(launch->grid) || total > WORKERS_MOST_BLOCKS || !threads || threads > 1024 || launch->extra)
        return NULL;
    struct kernel *kernel = find_workers(launch, governed, (uint32_t)threads);
    if (kernel && (kernel->parameters >= LAUNCH_MOST_PARAMETERS || (kernel->parameters && !launch->parameters))) {
        kernel_drop(kernel);
        return NULL;
    }
    if (!kernel)
        return NULL;
    shape->total = (uint32_t)total;
    shape->per_sm = kernel->per_sm;
    shape->threads = (uint32_t)threads;
    shape->workers = kernel->wave < total ? kernel->wave : (uint32_t)total;
    return kernel;
}

/* Where it has all SMs, what has a place from the beginning gives none back sooner. */
static bool is_whole(const struct shape *shape)
{
    return shape->sms == board_sms(0, BOARD_SMS) && shape->workers == shape->total;
}

static bool launch_as_workers(const struct launch *launch, struct governed *governed, struct kernel *kernel,
                              struct shape *shape, int *error)
{
    struct crew *crew = tables_take((void *)(uintptr_t)kernel->context, shape->sms);
    if (!crew || is_whole(shape))
        return false; /* tables are there all the same: they tell corund that there are workers */
    govern_begin(governed, kernel, shape->total);
    uint32_t now = govern_launch_sms(governed);
    if (now && now != shape->sms) { /* it waited at the gate for that, perhaps */
        shape->sms = now;
        tables_rewrite(crew, now);
    }
    govern_tell_shape(shape->per_sm, shape->threads);
    struct making making = {.launch = launch, .kernel = kernel, .crew = crew, .shape = shape, .begun = false};
    *error = make_launches(&making);
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
    struct shape shape = {.sms = govern_launch_sms(governed)};
    pthread_once(&state.once, find_calls);
    if (!shape.sms || !state.write || !tables_usable())
        return false;
    struct kernel *kernel = find_shape(launch, governed, &shape);
    if (!kernel)
        return false;
    bool made = launch_as_workers(launch, governed, kernel, &shape, error);
    kernel_drop(kernel);
    return made;
}
