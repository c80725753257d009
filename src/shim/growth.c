/* SPDX-License-Identifier: MIT */
/*
 * A launch that may grow has a place: a pair of queues in device memory, which its uses take in turns, and a mark that the GPU writes into the host's when the launch begins and
 * when its queue is closed. So a thread of the shim knows what runs without asking the driver, and nothing is sent into a queue whose launch has not begun: what the stream had
 * before it may still be writing what the launch reads.
 */
#include "shim/growth.h"

#include "shim/below.h"
#include "shim/kernels.h"
#include "shim/marks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* LOOKED_AT: places that a launch looks at for a free one. Where none is, the program is far ahead of the GPU. */
enum { STREAMS = 4, NON_BLOCKING = 1, LOOKED_AT = 8 };
enum {
    STAYS = WORKERS_STAYS_BYTES / sizeof(uint32_t)
}; /* words of the marks: of the places, whose last worker stays */
_Static_assert(GROWTH_LAUNCHES + STREAMS <= STAYS && STAYS + GROWTH_LAUNCHES <= MARKS_WORDS,
               "launches have two marks each, and streams one");
_Static_assert(GROWTH_BYTES == GROWTH_LAUNCHES * 2 * sizeof(struct worker_queue), "each place has a pair of queues");

/* A launch that may grow. Marks of its n-th use: 2n - 1 when it has begun, 2n when its queue is closed. */
struct place {
    bool grows; /* nobody has forgotten its kernel */
    uint32_t uses;
    bool helped;            /* further launches were made into it, */
    uint32_t sent[STREAMS]; /* the last one in each stream by that number */
    struct kernel *kernel;  /* of the last launch that was kept */
    void *function;
    unsigned block[3], shared_bytes;
    uint32_t workers, per_sm;
    struct worker_completing_arguments arguments; /* of further workers */
    uint32_t parameters;
    size_t bytes;
    unsigned char *values; /* of its parameters, one behind the other */
};

struct growth {
    pthread_mutex_t lock;
    bool usable;
    uint64_t queues;        /* addresses */
    struct marks marks;     /* of the places, and behind those, of each stream, how many further launches have ended */
    void *streams[STREAMS]; /* NULL: nothing was sent there */
    uint32_t sent[STREAMS]; /* further launches */
    launch_function *make;
    int (*write)(void *stream, uint64_t address, uint32_t value, unsigned flags);
    int (*create)(void **stream, unsigned flags);
    uint32_t next;
    uint64_t taken[GROWTH_LAUNCHES / 64]; /* places that were not seen to be closed, a bit each */
    struct place places[GROWTH_LAUNCHES];
};

/* ---- a context ---- */

/* What is kept are pages and memory of the host. */
static struct growth *begin_anew(struct growth *before)
{
    struct growth *growth = before ? before : calloc(1, sizeof *growth);
    for (uint32_t i = 0; before && i < GROWTH_LAUNCHES; i++) {
        kernel_drop(before->places[i].kernel);
        before->places[i] = (struct place){.values = before->places[i].values, .bytes = before->places[i].bytes};
    }
    if (growth) {
        memset(growth->sent, 0, sizeof growth->sent);
        memset(growth->taken, 0, sizeof growth->taken);
        memset(growth->streams, 0, sizeof growth->streams);
    }
    return growth;
}

struct growth *growth_create(struct growth *before, uint64_t queues)
{
    struct growth *growth = begin_anew(before);
    if (!growth)
        return NULL;
    if (!before)
        pthread_mutex_init(&growth->lock, NULL);
    growth->queues = queues;
    growth->make = below(LOOKED_AT_cuLaunchKernel);
    growth->write = (int (*)(void *, uint64_t, uint32_t, unsigned))below_called(CALLED_cuStreamWriteValue32_v2);
    growth->create = (int (*)(void **, unsigned))below_called(CALLED_cuStreamCreate);
    growth->usable = growth->write && growth->create && marks_make(&growth->marks);
    return growth;
}

/* ---- launches ---- */

/* Under the lock. */
static bool is_free(const struct growth *growth, uint32_t at)
{
    const struct place *place = &growth->places[at];
    bool free = atomic_load_explicit(&growth->marks.words[at], memory_order_acquire) == 2 * place->uses;
    for (uint32_t i = 0; i < STREAMS && free && place->helped; i++)
        free = (int32_t)(atomic_load(&growth->marks.words[GROWTH_LAUNCHES + i]) - place->sent[i]) >= 0;
    return free;
}

/* Under the lock. GROWTH_NONE: it is not looked for any longer. */
static uint32_t find_free(struct growth *growth)
{
    for (uint32_t i = 0; i < LOOKED_AT; i++) {
        uint32_t at = (growth->next + i) % GROWTH_LAUNCHES;
        if (is_free(growth, at)) {
            growth->next = at + 1;
            return at;
        }
    }
    growth->next += LOOKED_AT;
    return GROWTH_NONE;
}

/* What a parameter takes, with whatever alignment it has. */
static size_t aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* False: there is no memory. */
static bool copy_parameters(struct place *place, const struct launch *launch, const struct kernel *kernel)
{
    size_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < kernel->parameters; i++)
        bytes += aligned(kernel->parameter_bytes[i]);
    if (bytes > place->bytes) {
        unsigned char *values = realloc(place->values, bytes);
        if (!values)
            return false;
        place->values = values;
        place->bytes = bytes;
    }
    for (uint32_t i = 0; i < kernel->parameters; i++) {
        memcpy(place->values + at, launch->parameters[i], kernel->parameter_bytes[i]);
        at += aligned(kernel->parameter_bytes[i]);
    }
    place->parameters = kernel->parameters;
    return true;
}

/* Under the lock. */
static void keep(struct growth *growth, uint32_t at, const struct launch *launch, struct kernel *kernel,
                 uint32_t workers, struct worker_completing_arguments *arguments)
{
    struct place *place = &growth->places[at];
    place->uses++;
    growth->taken[at / 64] |= UINT64_C(1) << at % 64;
    arguments->plain.queue = growth->queues + (2 * at + place->uses % 2) * sizeof(struct worker_queue);
    arguments->plain.flags |= WORKERS_COMPLETE;
    arguments->mark = marks_address(&growth->marks, at);
    arguments->begun = 2 * place->uses - 1;
    place->helped = false;
    if (place->kernel != kernel) {
        kernel_drop(place->kernel);
        place->kernel = kernel_share(kernel);
    }
    place->function = kernel->function;
    memcpy(place->block, launch->block, sizeof place->block);
    place->shared_bytes = launch->shared_bytes;
    place->workers = workers;
    place->per_sm = kernel->per_sm;
    place->arguments = *arguments;
    place->arguments.plain.flags = (arguments->plain.flags & ~(uint32_t)WORKERS_COMPLETE) | WORKERS_TELL;
    place->grows = true;
}

uint32_t growth_take(struct growth *growth, const struct launch *launch, struct kernel *kernel, uint32_t workers,
                     struct worker_completing_arguments *arguments)
{
    if (!growth || !kernel->parameter_bytes)
        return GROWTH_NONE;
    pthread_mutex_lock(&growth->lock);
    uint32_t at = growth->usable ? find_free(growth) : GROWTH_NONE;
    if (at != GROWTH_NONE && !copy_parameters(&growth->places[at], launch, kernel))
        at = GROWTH_NONE;
    if (at != GROWTH_NONE)
        keep(growth, at, launch, kernel, workers, arguments);
    pthread_mutex_unlock(&growth->lock);
    return at;
}

void growth_give_back(struct growth *growth, uint32_t place)
{
    pthread_mutex_lock(&growth->lock);
    growth->places[place].uses--;
    growth->places[place].grows = false;
    pthread_mutex_unlock(&growth->lock);
}

void growth_forget(struct growth *growth)
{
    pthread_mutex_lock(&growth->lock);
    for (uint32_t i = 0; i < GROWTH_LAUNCHES; i++) {
        growth->places[i].grows = false;
        kernel_drop(growth->places[i].kernel);
        growth->places[i].kernel = NULL;
    }
    pthread_mutex_unlock(&growth->lock);
}

/* ---- further workers ---- */

/* Under the lock: its workers have begun, and its queue is open. */
static bool is_running(const struct growth *growth, uint32_t at)
{
    const struct place *place = &growth->places[at];
    return place->grows && atomic_load(&growth->marks.words[at]) == 2 * place->uses - 1;
}

/* Under the lock. */
static enum growth_state state_of(const struct growth *growth, uint32_t at)
{
    if (atomic_load(&growth->marks.words[at]) == 2 * growth->places[at].uses)
        return GROWTH_RESTS;
    if (!is_running(growth, at))
        return GROWTH_WAITS;
    return atomic_load(&growth->marks.words[STAYS + at]) == 2 * growth->places[at].uses - 1 ? GROWTH_LACKS
                                                                                            : GROWTH_RUNS;
}

enum growth_state growth_look(struct growth *growth)
{
    enum growth_state state = GROWTH_RESTS;
    pthread_mutex_lock(&growth->lock);
    for (uint32_t w = 0; w < GROWTH_LAUNCHES / 64; w++)
        for (uint64_t left = growth->taken[w]; left; left &= left - 1) {
            enum growth_state one = state_of(growth, 64 * w + (uint32_t)__builtin_ctzll(left));
            if (one == GROWTH_RESTS)
                growth->taken[w] ^= left & -left;
            state = one > state ? one : state;
        }
    pthread_mutex_unlock(&growth->lock);
    return state;
}

static bool has_room(const struct place *place, const uint16_t *limits, const struct worker_place *places, uint32_t sms)
{
    for (uint32_t s = 0; places && s < sms; s++) {
        uint32_t owed = limits[s] & WORKERS_UNLIMITED;
        if (places[s].resident < (owed < place->per_sm ? owed : place->per_sm))
            return true;
    }
    return !places;
}

/* A stream in which nothing is under way; STREAMS: there is none. */
static uint32_t idle_stream(struct growth *growth)
{
    uint32_t at = 0;
    while (at < STREAMS && atomic_load(&growth->marks.words[GROWTH_LAUNCHES + at]) != growth->sent[at])
        at++;
    if (at < STREAMS && !growth->streams[at] && growth->create(&growth->streams[at], NON_BLOCKING) != BELOW_OK) {
        growth->streams[at] = NULL;
        return STREAMS;
    }
    return at;
}

static void send(struct growth *growth, struct place *place, uint32_t stream)
{
    void *parameters[LAUNCH_MOST_PARAMETERS + 1];
    size_t at = 0;
    for (uint32_t i = 0; i < place->parameters; i++) {
        parameters[i] = place->values + at;
        at += aligned(place->kernel->parameter_bytes[i]);
    }
    parameters[place->parameters] = &place->arguments;
    if (growth->make(place->function, place->workers, 1, 1, place->block[0], place->block[1], place->block[2],
                     place->shared_bytes, growth->streams[stream], parameters, NULL) != BELOW_OK)
        return;
    trace_line("further", place->kernel->name, "");
    for (uint32_t s = 0; s < STREAMS && !place->helped; s++)
        place->sent[s] = atomic_load_explicit(&growth->marks.words[GROWTH_LAUNCHES + s], memory_order_relaxed);
    place->helped = true;
    place->sent[stream] = ++growth->sent[stream];
    (void)growth->write(growth->streams[stream], marks_address(&growth->marks, GROWTH_LAUNCHES + stream),
                        growth->sent[stream], 0);
}

void growth_send(struct growth *growth, const uint16_t *limits, const struct worker_place *places, uint32_t sms)
{
    pthread_mutex_lock(&growth->lock);
    for (uint32_t i = 0; i < GROWTH_LAUNCHES; i++) {
        if (!is_running(growth, i) || !has_room(&growth->places[i], limits, places, sms))
            continue;
        uint32_t stream = idle_stream(growth);
        if (stream < STREAMS)
            send(growth, &growth->places[i], stream);
    }
    pthread_mutex_unlock(&growth->lock);
}
