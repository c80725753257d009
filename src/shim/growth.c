/* SPDX-License-Identifier: MIT */
/*
 * A launch that may grow has a place: a queue in device memory, and a mark that the GPU writes into the host's when the launch begins and when its queue is closed. So
 * a thread of the shim knows what runs without asking the driver, and nothing is sent into a queue whose launch has not begun: what the stream had before it may
 * still be writing what the launch reads.
 */
#include "shim/growth.h"

#include "shim/below.h"
#include "shim/kernels.h"
#include "shim/marks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 4, NON_BLOCKING = 1, CLOSED = INT32_MAX };
_Static_assert(GROWTH_LAUNCHES + STREAMS <= MARKS_WORDS, "launches and streams have a mark each");
_Static_assert(WORKERS_MOST_BLOCKS <= CLOSED, "nothing is left in a queue that is closed");
_Static_assert(offsetof(struct worker_queue, next) == 0 && offsetof(struct worker_queue, alive) == 4 &&
                   offsetof(struct worker_queue, total) == 8,
               "the text has this");

/*
 * The guard takes next and alive in one reading. Nobody is alive: it closes the queue if that is still so, and hands on what is left. Its fence is that of
 * whoever runs behind it, too.
 */
static const char text[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry corun_open(.param .u64 queue, .param .u64 mark, .param .u32 value, .param .u32 next,\n"
    ".param .u32 total)\n{\n.reg .b32 %r<3>; .reg .b64 %d<2>;\n"
    "ld.param.u64 %d0, [queue]; ld.param.u64 %d1, [mark]; ld.param.u32 %r0, [value];\n"
    "ld.param.u32 %r1, [next]; ld.param.u32 %r2, [total];\n"
    "st.volatile.global.u32 [%d0+8], %r2; st.volatile.global.u32 [%d0], %r1;\n"
    "membar.sys;\nst.volatile.global.u32 [%d1], %r0;\nret;\n}\n"
    ".visible .entry corun_close(.param .u64 queue, .param .u64 mark, .param .u32 value, .param .u64 rest,\n"
    ".param .u32 total)\n{\n.reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<6>;\n"
    "ld.param.u64 %d0, [queue]; ld.param.u64 %d1, [mark]; ld.param.u32 %r0, [value];\n"
    "ld.param.u64 %d2, [rest]; ld.param.u32 %r1, [total];\n"
    "mov.b64 %d3, 2147483647;\n"
    "AGAIN:\nld.volatile.global.u64 %d4, [%d0];\nmov.b64 {%r2, %r3}, %d4;\n"
    "setp.ne.u32 %p, %r3, 0;\n@%p bra AGAIN;\n"
    "atom.global.cas.b64 %d5, [%d0], %d4, %d3;\nsetp.ne.u64 %p, %d5, %d4;\n@%p bra AGAIN;\n"
    "st.global.u32 [%d2+8], %r1; st.global.u32 [%d2], %r2;\n"
    "membar.sys;\nst.volatile.global.u32 [%d1], %r0;\nret;\n}\n";

/* A launch that may grow. Marks of its n-th use: 2n - 1 when it has begun, 2n when its queue is closed. */
struct place {
    bool taken, kept; /* by a launch that is being made, or could not be made; its launches are in the stream */
    uint32_t uses;
    uint32_t sent[STREAMS]; /* the number of the last further launch of this place in each stream */
    struct kernel *kernel;  /* of the last launch that was kept */
    void *function;
    unsigned block[3], shared_bytes;
    uint32_t workers, per_sm;
    struct worker_arguments arguments;
    uint32_t parameters;
    size_t bytes;
    unsigned char *values; /* of its parameters, one behind the other */
};

struct growth {
    pthread_mutex_t lock;
    void *opening, *closing; /* kernels */
    uint64_t queues;         /* addresses */
    struct marks marks;      /* of the places, and behind those, of each stream, how many further launches have ended */
    void *streams[STREAMS];
    uint32_t sent[STREAMS]; /* further launches */
    launch_function *make;
    int (*write)(void *stream, uint64_t address, uint32_t value, unsigned flags);
    uint32_t next;
    struct place places[GROWTH_LAUNCHES];
};

/* ---- a context ---- */

static bool load_kernels(struct growth *growth)
{
    int (*load)(void **, const void *) = below(LOOKED_AT_cuModuleLoadData);
    int (*get)(void **, void *, const char *) = below(LOOKED_AT_cuModuleGetFunction);
    void *module = NULL;
    return load(&module, text) == BELOW_OK && get(&growth->opening, module, "corun_open") == BELOW_OK &&
           get(&growth->closing, module, "corun_close") == BELOW_OK;
}

static bool make_queues(struct growth *growth)
{
    const size_t bytes = GROWTH_LAUNCHES * sizeof(struct worker_queue);
    int (*allocate)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))below_called(CALLED_cuMemAlloc_v2);
    int (*set)(uint64_t, unsigned, size_t, void *) =
        (int (*)(uint64_t, unsigned, size_t, void *))below_called(CALLED_cuMemsetD32Async);
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))below_called(CALLED_cuStreamCreate);
    int (*wait)(void *) = (int (*)(void *))below_called(CALLED_cuStreamSynchronize);
    if (!allocate || !set || !create || !wait)
        return false;
    for (uint32_t i = 0; i < STREAMS; i++)
        if (create(&growth->streams[i], NON_BLOCKING) != BELOW_OK)
            return false;
    return allocate(&growth->queues, bytes) == BELOW_OK &&
           set(growth->queues, 0, bytes / sizeof(uint32_t), growth->streams[0]) == BELOW_OK &&
           wait(growth->streams[0]) == BELOW_OK;
}

/* What is kept are pages and memory of the host. */
static struct growth *begin_anew(struct growth *before)
{
    struct growth *growth = before ? before : calloc(1, sizeof *growth);
    for (uint32_t i = 0; before && i < GROWTH_LAUNCHES; i++) {
        kernel_drop(before->places[i].kernel);
        before->places[i] = (struct place){.values = before->places[i].values, .bytes = before->places[i].bytes};
    }
    if (growth)
        memset(growth->sent, 0, sizeof growth->sent);
    return growth;
}

struct growth *growth_create(struct growth *before)
{
    struct growth *growth = begin_anew(before);
    if (!growth)
        return NULL;
    if (!before)
        pthread_mutex_init(&growth->lock, NULL);
    growth->make = below(LOOKED_AT_cuLaunchKernel);
    growth->write = (int (*)(void *, uint64_t, uint32_t, unsigned))below_called(CALLED_cuStreamWriteValue32_v2);
    /* what there is after a failure stays: nobody tries again */
    if (growth->write && load_kernels(growth) && marks_make(&growth->marks) && make_queues(growth))
        return growth;
    return NULL;
}

/* ---- launches ---- */

/* Under the lock. */
static bool is_free(const struct growth *growth, uint32_t at)
{
    const struct place *place = &growth->places[at];
    bool free = !place->taken && atomic_load(&growth->marks.words[at]) == 2 * place->uses;
    for (uint32_t i = 0; i < STREAMS && free; i++)
        free = (int32_t)(atomic_load(&growth->marks.words[GROWTH_LAUNCHES + i]) - place->sent[i]) >= 0;
    return free;
}

uint32_t growth_take(struct growth *growth)
{
    uint32_t found = GROWTH_NONE;
    pthread_mutex_lock(&growth->lock);
    for (uint32_t i = 0; i < GROWTH_LAUNCHES && found == GROWTH_NONE; i++) {
        uint32_t at = (growth->next + i) % GROWTH_LAUNCHES;
        if (!is_free(growth, at))
            continue;
        struct place *place = &growth->places[at];
        found = at;
        growth->next = at + 1;
        place->taken = true;
        place->kept = false;
        place->uses++;
        for (uint32_t s = 0; s < STREAMS; s++)
            place->sent[s] = atomic_load(&growth->marks.words[GROWTH_LAUNCHES + s]);
    }
    pthread_mutex_unlock(&growth->lock);
    return found;
}

uint64_t growth_queue(const struct growth *growth, uint32_t place)
{
    return growth->queues + place * sizeof(struct worker_queue);
}

static int launch_one(const struct launch *launch, void *function, void **parameters)
{
    return launch->real(function, 1, 1, 1, 1, 1, 1, 0, launch->stream, parameters, NULL);
}

int growth_open(struct growth *growth, uint32_t place, const struct launch *launch, const struct worker_queue *first)
{
    uint64_t queue = growth_queue(growth, place), mark = marks_address(&growth->marks, place);
    uint32_t value = 2 * growth->places[place].uses - 1, next = first->next, total = first->total;
    return launch_one(launch, growth->opening, (void *[]){&queue, &mark, &value, &next, &total});
}

int growth_close(struct growth *growth, uint32_t place, const struct launch *launch, uint64_t rest, uint32_t total)
{
    uint64_t queue = growth_queue(growth, place), mark = marks_address(&growth->marks, place);
    uint32_t value = 2 * growth->places[place].uses;
    return launch_one(launch, growth->closing, (void *[]){&queue, &mark, &value, &rest, &total});
}

/* What a parameter takes, with whatever alignment it has. */
static size_t aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* False: nobody knows how long they are, or there is no memory. */
static bool copy_parameters(struct place *place, const struct launch *launch, const struct kernel *kernel)
{
    size_t bytes = 0, at = 0;
    if (!kernel->parameter_bytes)
        return false;
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

void growth_keep(struct growth *growth, uint32_t at, const struct launch *launch, struct kernel *kernel,
                 uint32_t workers, const struct worker_arguments *arguments)
{
    struct place *place = &growth->places[at];
    pthread_mutex_lock(&growth->lock);
    place->taken = false;
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
    place->arguments.queue = growth_queue(growth, at);
    place->arguments.flags = (arguments->flags & ~(uint32_t)WORKERS_SEATED) | WORKERS_TELL;
    place->kept = copy_parameters(place, launch, kernel);
    pthread_mutex_unlock(&growth->lock);
}

void growth_forget(struct growth *growth)
{
    pthread_mutex_lock(&growth->lock);
    for (uint32_t i = 0; i < GROWTH_LAUNCHES; i++) {
        growth->places[i].kept = false;
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
    return place->kept && atomic_load(&growth->marks.words[at]) == 2 * place->uses - 1;
}

bool growth_is_running(struct growth *growth)
{
    bool running = false;
    pthread_mutex_lock(&growth->lock);
    for (uint32_t i = 0; i < GROWTH_LAUNCHES && !running; i++)
        running = is_running(growth, i);
    pthread_mutex_unlock(&growth->lock);
    return running;
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
static uint32_t idle_stream(const struct growth *growth)
{
    uint32_t at = 0;
    while (at < STREAMS && atomic_load(&growth->marks.words[GROWTH_LAUNCHES + at]) != growth->sent[at])
        at++;
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
    place->sent[stream] = ++growth->sent[stream];
    (void)growth->write(growth->streams[stream], marks_address(&growth->marks, GROWTH_LAUNCHES + stream),
                        growth->sent[stream], 0);
}

void growth_send(struct growth *growth, const uint16_t *limits, const struct worker_place *places, uint32_t sms)
{
    pthread_mutex_lock(&growth->lock);
    for (uint32_t i = 0; i < GROWTH_LAUNCHES; i++) {
        uint32_t stream = idle_stream(growth);
        if (stream < STREAMS && is_running(growth, i) && has_room(&growth->places[i], limits, places, sms))
            send(growth, &growth->places[i], stream);
    }
    pthread_mutex_unlock(&growth->lock);
}
