/* SPDX-License-Identifier: MIT */
/*
 * What workers of a context need lies in its device memory: a table of places, by the number of the SM, one in which every SM owes everything, and a
 * queue for each stream, which the launches there use one after the other. A thread writes what corund says into the table, in a stream that waits for nobody:
 * the program may be within a call that waits for what obeys it.
 */
#include "shim/workers.h"

#include "rewrite/slice.h"
#include "rewrite/workers.h"
#include "shim/below.h"
#include "shim/cut.h"
#include "shim/govern.h"
#include "shim/kernels.h"
#include "wire/board.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 1024u  /* %smid is below that */
#define STREAMS 1024u /* of a context; launches into further ones stay whole */
enum {
    CAPTURE_RELAXED = 2,
    MULTIPROCESSORS = 16,
    NON_BLOCKING = 1,
    ON_HOST = 1,
    ON_DEVICE = 2,
    MOST_PARAMETERS = 1024
};

/* CUDA_MEMCPY2D. */
struct rows {
    size_t from_x, from_y;
    int from_kind;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_kind;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch, width, height;
};

/* The queue of a stream. */
struct queue {
    bool taken;
    uint64_t stream; /* its number, which no other one of the process ever has */
    uint64_t address;
    uint32_t total;       /* as the queue has it, when the launches before have run */
    pthread_mutex_t lock; /* while a launch is made of several */
};

/* Of a context. Lives for ever. */
struct crew {
    struct crew *next;
    void *context;
    void *writer;              /* a stream */
    uint64_t places, all, sms; /* addresses of tables; SMs of the device */
    uint32_t written;          /* what corund said when `places` was written last */
    uint16_t limits[PLACES];
    struct queue queues[STREAMS];
};

typedef int write_value(void *stream, uint64_t address, uint32_t value, unsigned flags);

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct crew *crews; /* of contexts that are there */
    bool watched;
    _Atomic uint64_t launches;
    int (*current)(void **), (*push)(void *), (*pop)(void **), (*capture_mode)(int *);
    int (*device)(int *), (*ask)(int *, int, int);
    int (*allocate)(uint64_t *, size_t), (*free)(uint64_t);
    int (*stream_create)(void **, unsigned), (*stream_wait)(void *);
    int (*stream_id)(void *, unsigned long long *), (*stream_id_thread)(void *, unsigned long long *);
    int (*set)(uint64_t, unsigned, size_t, void *), (*copy)(const struct rows *, void *);
    write_value *write, *write_thread;
    bool usable;
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void find_calls(void)
{
    state.current = (int (*)(void **))below_find("cuCtxGetCurrent");
    state.push = (int (*)(void *))below_find("cuCtxPushCurrent_v2");
    state.pop = (int (*)(void **))below_find("cuCtxPopCurrent_v2");
    state.capture_mode = (int (*)(int *))below_find("cuThreadExchangeStreamCaptureMode");
    state.device = (int (*)(int *))below_find("cuCtxGetDevice");
    state.ask = (int (*)(int *, int, int))below_find("cuDeviceGetAttribute");
    state.allocate = (int (*)(uint64_t *, size_t))below_find("cuMemAlloc_v2");
    state.free = (int (*)(uint64_t))below_find("cuMemFree_v2");
    state.stream_create = (int (*)(void **, unsigned))below_find("cuStreamCreate");
    state.stream_wait = (int (*)(void *))below_find("cuStreamSynchronize");
    state.stream_id = (int (*)(void *, unsigned long long *))below_find("cuStreamGetId");
    state.stream_id_thread = (int (*)(void *, unsigned long long *))below_find("cuStreamGetId_ptsz");
    state.set = (int (*)(uint64_t, unsigned, size_t, void *))below_find("cuMemsetD32Async");
    state.copy = (int (*)(const struct rows *, void *))below_find("cuMemcpy2DAsync_v2");
    state.write = (write_value *)below_find("cuStreamWriteValue32_v2");
    state.write_thread = (write_value *)below_find("cuStreamWriteValue32_v2_ptsz");
    state.usable = state.current && state.push && state.pop && state.capture_mode && state.device && state.ask &&
                   state.allocate && state.free && state.stream_create && state.stream_wait && state.stream_id &&
                   state.set && state.copy && state.write;
}

/* ---- tables ---- */

/* Under the lock, in the crew's context. The rows are read when the copy is made: later ones may come in their place. */
static bool write_limits(struct crew *crew, uint64_t table, uint32_t sms)
{
    uint32_t first, end;
    board_sms_range(sms, (uint32_t)crew->sms, &first, &end);
    if (sms >> 16 >= BOARD_SMS) /* numbers of SMs may have gaps */
        end = PLACES;
    for (uint32_t i = 0; i < PLACES; i++)
        crew->limits[i] = i >= first && i < end ? worker_limit(WORKERS_UNLIMITED, 0) : 0;
    const struct rows rows = {.from_kind = ON_HOST,
                              .from_host = crew->limits,
                              .from_pitch = sizeof *crew->limits,
                              .to_kind = ON_DEVICE,
                              .to_device = table + offsetof(struct worker_place, limit),
                              .to_pitch = sizeof(struct worker_place),
                              .width = sizeof *crew->limits,
                              .height = PLACES};
    return state.copy(&rows, crew->writer) == BELOW_OK;
}

/* Under the lock, in its context. */
static bool fill(struct crew *crew, uint32_t sms)
{
    const size_t table = PLACES * sizeof(struct worker_place), queues = STREAMS * sizeof(struct worker_queue);
    int count = 0, device = 0;
    uint64_t memory = 0;
    if (state.device(&device) != BELOW_OK || state.ask(&count, MULTIPROCESSORS, device) != BELOW_OK || count <= 0 ||
        count > (int)PLACES || state.stream_create(&crew->writer, NON_BLOCKING) != BELOW_OK ||
        state.allocate(&memory, 2 * table + queues) != BELOW_OK)
        return false;
    crew->sms = (uint64_t)count;
    crew->all = memory;
    crew->places = memory + table;
    for (uint32_t i = 0; i < STREAMS; i++)
        crew->queues[i].address = memory + 2 * table + i * sizeof(struct worker_queue);
    /* the rows that are copied first are others by the time that they are copied, unless that is waited for */
    return state.set(memory, 0, (2 * table + queues) / sizeof(uint32_t), crew->writer) == BELOW_OK &&
           write_limits(crew, crew->all, board_sms(0, BOARD_SMS)) && state.stream_wait(crew->writer) == BELOW_OK &&
           write_limits(crew, crew->places, sms) && state.stream_wait(crew->writer) == BELOW_OK;
}

/* Under the lock, in its context, whatever other threads capture. */
static void rewrite_limits(struct crew *crew, uint32_t sms)
{
    int mode = CAPTURE_RELAXED;
    if (state.capture_mode(&mode) != BELOW_OK)
        return;
    if (write_limits(crew, crew->places, sms))
        crew->written = sms;
    (void)state.capture_mode(&mode);
}

/* Whatever corund says, until the process ends. */
static void *watch(void *user)
{
    uint32_t sms = 0;
    (void)user;
    for (;;) {
        sms = govern_sms_after(sms);
        uint32_t wanted = sms ? sms : board_sms(0, BOARD_SMS);
        pthread_mutex_lock(&state.lock);
        for (struct crew *crew = state.crews; crew; crew = crew->next) {
            if (crew->written == wanted || state.push(crew->context) != BELOW_OK)
                continue;
            rewrite_limits(crew, wanted);
            (void)state.pop(&(void *){NULL});
        }
        pthread_mutex_unlock(&state.lock);
    }
    return NULL;
}

static bool start_watching(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (state.watched)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the program's */
    state.watched = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (state.watched)
        pthread_detach(thread);
    return state.watched;
}

/* Under the lock: that of the current context; NULL: there can be none. */
static struct crew *crew_of(uint32_t sms)
{
    void *context = NULL;
    int mode = CAPTURE_RELAXED;
    if (state.current(&context) != BELOW_OK || !context)
        return NULL;
    struct crew *crew = state.crews;
    while (crew && crew->context != context)
        crew = crew->next;
    if (crew)
        return crew;
    crew = calloc(1, sizeof *crew);
    if (!crew || !start_watching() || state.capture_mode(&mode) != BELOW_OK) {
        free(crew);
        return NULL;
    }
    bool good = fill(crew, sms);
    (void)state.capture_mode(&mode);
    if (!good) {
        free(crew);
        return NULL;
    }
    crew->context = context;
    crew->written = sms;
    crew->next = state.crews;
    state.crews = crew;
    return crew;
}

void workers_context_ends(void)
{
    pthread_mutex_lock(&state.lock);
    state.crews = NULL;
    pthread_mutex_unlock(&state.lock);
}

/* ---- launches ---- */

/* Under the lock. NULL: all are taken. */
static struct queue *queue_of(struct crew *crew, uint64_t stream)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct queue *queue = &crew->queues[(stream + i) % STREAMS];
        if (queue->taken && queue->stream != stream)
            continue;
        if (!queue->taken)
            pthread_mutex_init(&queue->lock, NULL);
        queue->taken = true;
        queue->stream = stream;
        return queue;
    }
    return NULL;
}

static int launch_workers(const struct launch *launch, const struct kernel *kernel, uint32_t workers,
                          const struct worker_arguments *arguments)
{
    void *parameters[MOST_PARAMETERS + 1];
    if (kernel->parameters)
        memcpy(parameters, launch->parameters, kernel->parameters * sizeof *parameters);
    parameters[kernel->parameters] = (void *)(uintptr_t)arguments;
    return launch->real(kernel->function, workers, 1, 1, launch->block[0], launch->block[1], launch->block[2],
                        launch->shared_bytes, launch->stream, parameters, NULL);
}

/* What a launch becomes. */
struct shape {
    uint32_t total, workers, sms;
};

/* Under the queue's lock. Behind workers that obey come some that do not, for what those have left; unless all thread blocks had a worker to begin with. */
static int make_launches(const struct launch *launch, const struct kernel *kernel, const struct crew *crew,
                         struct queue *queue, const struct shape *shape, bool *begun)
{
    write_value *write = launch->per_thread ? state.write_thread : state.write;
    bool everywhere = shape->sms == board_sms(0, BOARD_SMS);
    struct worker_arguments arguments;
    struct worker_queue first;
    worker_arguments_set(&arguments, launch->grid, everywhere ? WORKERS_SEATED : 0);
    worker_queue_set(&first, &arguments, shape->workers);
    arguments.queue = queue->address;
    arguments.places = crew->places;
    arguments.grid_id = atomic_fetch_add(&state.launches, 1) + 1;
    *begun = false;
    int error = write ? BELOW_OK : BELOW_NOT_SUPPORTED;
    if (error == BELOW_OK && queue->total != shape->total) {
        error = write(launch->stream, queue->address + offsetof(struct worker_queue, total), shape->total, 0);
        queue->total = error == BELOW_OK ? shape->total : 0;
    }
    if (error == BELOW_OK)
        error = write(launch->stream, queue->address + offsetof(struct worker_queue, next), first.next, 0);
    if (error == BELOW_OK)
        error = launch_workers(launch, kernel, shape->workers, &arguments);
    *begun = error == BELOW_OK;
    if (error != BELOW_OK || first.next >= shape->total)
        return error;
    arguments.places = crew->all;
    arguments.flags &= ~(uint32_t)WORKERS_SEATED;
    return launch_workers(launch, kernel, shape->workers, &arguments);
}

/* The crew and the queue for a launch; false: there is none. */
static bool take_queue(const struct launch *launch, uint32_t sms, struct crew **crew, struct queue **queue)
{
    unsigned long long stream;
    int (*identify)(void *, unsigned long long *) = launch->per_thread ? state.stream_id_thread : state.stream_id;
    if (!identify || identify(launch->stream, &stream) != BELOW_OK)
        return false;
    pthread_mutex_lock(&state.lock);
    *crew = crew_of(sms);
    *queue = *crew ? queue_of(*crew, stream) : NULL;
    if (*crew && (*crew)->written != sms)
        rewrite_limits(*crew, sms);
    pthread_mutex_unlock(&state.lock);
    return *queue != NULL;
}

/* Whether the launch can be workers at all; its shape. */
static bool find_shape(const struct launch *launch, struct kernel *kernel, struct shape *shape)
{
    uint64_t total = slice_total(launch->grid),
             threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (!kernel || !total || total > WORKERS_MOST_BLOCKS || !threads || threads > 1024 || launch->extra ||
        govern_is_captured(launch->stream, launch->per_thread))
        return false;
    uint32_t wave = kernel_rewritten(kernel, (uint32_t)threads, launch->shared_bytes);
    if (!wave || kernel->parameters >= MOST_PARAMETERS || (kernel->parameters && !launch->parameters))
        return false;
    shape->total = (uint32_t)total;
    shape->workers = wave < total ? wave : (uint32_t)total;
    /* Where it has all SMs, what has a place from the beginning gives none back sooner. */
    return shape->sms != board_sms(0, BOARD_SMS) || shape->workers < shape->total;
}

bool workers_launch(const struct launch *launch, int *error)
{
    struct shape shape = {.sms = govern_sms()};
    struct governed governed;
    struct crew *crew;
    struct queue *queue;
    bool begun;
    pthread_once(&state.once, find_calls);
    if (!shape.sms || !state.usable)
        return false;
    struct kernel *kernel = kernel_find(launch->function);
    if (!find_shape(launch, kernel, &shape) || !take_queue(launch, shape.sms, &crew, &queue))
        return false;
    govern_begin(&governed, launch->stream, launch->per_thread, kernel, shape.total);
    pthread_mutex_lock(&queue->lock);
    *error = make_launches(launch, kernel, crew, queue, &shape, &begun);
    pthread_mutex_unlock(&queue->lock);
    if (!begun) /* the program is to hear what its own launch gives */
        *error = launch->real(launch->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                              launch->block[1], launch->block[2], launch->shared_bytes, launch->stream,
                              launch->parameters, launch->extra);
    govern_end(&governed, *error);
    return true;
}
