/* SPDX-License-Identifier: MIT */
/* Events around some launches. */
#include "shim/times.h"

#include "shim/below.h"
#include "shim/govern.h"
#include "shim/marks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* Of the first FIRST launches one of 2^FIRST_SHIFT is timed, behind those one of 2^SHIFT: that costs more than all else that the shim does for a launch. */
enum { PAIRS = 8, FIRST = 128, FIRST_SHIFT = 2, SHIFT = 3, CAPTURE_RELAXED = 2, NON_BLOCKING = 1 };
#define GOLDEN \
    2654435769u /* 2^32 times the golden section: its multiples are evenly spread, whatever a program does in turns */

/* What becomes of a pair of events. */
enum use { FREE, TAKEN, RECORDED };

struct pair {
    void *asked, *ended;
    enum use use;
    uint32_t uses; /* what the GPU writes behind `ended` */
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    _Atomic uint32_t launches;
    void *context; /* of the events; NULL: there are none */
    void *stream;
    struct pair pairs[PAIRS];
    struct marks marks; /* of the pairs */
    int (*current)(void **), (*capture_mode)(int *);
    int (*create)(void **, unsigned), (*stream_create)(void **, unsigned);
    int (*record)(void *, void *), (*record_thread)(void *, void *);
    int (*write)(void *, uint64_t, uint32_t, unsigned), (*write_thread)(void *, uint64_t, uint32_t, unsigned);
    int (*elapsed)(float *, void *, void *);
    atomic_bool usable;
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void find_calls(void)
{
    state.current = (int (*)(void **))below_called(CALLED_cuCtxGetCurrent);
    state.capture_mode = (int (*)(int *))below_called(CALLED_cuThreadExchangeStreamCaptureMode);
    state.create = (int (*)(void **, unsigned))below_called(CALLED_cuEventCreate);
    state.stream_create = (int (*)(void **, unsigned))below_called(CALLED_cuStreamCreate);
    state.record = (int (*)(void *, void *))below_called(CALLED_cuEventRecord);
    state.record_thread = (int (*)(void *, void *))below_called(CALLED_cuEventRecord_ptsz);
    state.write = (int (*)(void *, uint64_t, uint32_t, unsigned))below_called(CALLED_cuStreamWriteValue32_v2);
    state.write_thread =
        (int (*)(void *, uint64_t, uint32_t, unsigned))below_called(CALLED_cuStreamWriteValue32_v2_ptsz);
    state.elapsed = (int (*)(float *, void *, void *))below_called(CALLED_cuEventElapsedTime);
    state.usable = state.current && state.capture_mode && state.create && state.stream_create && state.record &&
                   state.record_thread && state.write && state.write_thread && state.elapsed;
}

/* Under the lock, captures relaxed: the current context is the one with events. False: it is not, or there can be none. */
static bool is_prepared(void)
{
    void *context = NULL;
    if (state.current(&context) != BELOW_OK || !context || (state.context && state.context != context))
        return false;
    if (state.context)
        return true;
    bool good = state.stream_create(&state.stream, NON_BLOCKING) == BELOW_OK && marks_make(&state.marks);
    for (uint32_t i = 0; i < PAIRS; i++)
        state.pairs[i] = (struct pair){.use = FREE, .uses = state.pairs[i].uses};
    state.usable = good;
    state.context = good ? context : NULL;
    return good;
}

/* Under the lock. What has ended is told, and its events are free. */
static void take_ended(void)
{
    for (uint32_t i = 0; i < PAIRS; i++) {
        float milliseconds;
        struct pair *pair = &state.pairs[i];
        if (pair->use != RECORDED || atomic_load(&state.marks.words[i]) != pair->uses)
            continue;
        pair->use = FREE;
        if (state.elapsed(&milliseconds, pair->asked, pair->ended) == BELOW_OK)
            govern_tell_time(milliseconds);
    }
}

/* Under the lock, captures relaxed. A program that waits for each launch needs one pair. */
static bool has_events(struct pair *pair)
{
    return (pair->asked || state.create(&pair->asked, 0) == BELOW_OK) &&
           (pair->ended || state.create(&pair->ended, 0) == BELOW_OK);
}

/* Under the lock, captures relaxed. */
static uint32_t begin(void)
{
    if (!is_prepared())
        return TIMES_NONE;
    take_ended();
    for (uint32_t i = 0; i < PAIRS; i++) {
        struct pair *pair = &state.pairs[i];
        if (pair->use == FREE && has_events(pair) && state.record(pair->asked, state.stream) == BELOW_OK) {
            pair->use = TAKEN;
            return i;
        }
    }
    return TIMES_NONE;
}

uint32_t times_begin(const struct governed *launch)
{
    uint32_t number = atomic_fetch_add_explicit(&state.launches, 1, memory_order_relaxed), timed = TIMES_NONE;
    int mode = CAPTURE_RELAXED;
    if (number * GOLDEN >> (32 - (number < FIRST ? FIRST_SHIFT : SHIFT)) || !launch->looked_at)
        return TIMES_NONE;
    pthread_once(&state.once, find_calls);
    if (!state.usable || state.capture_mode(&mode) != BELOW_OK)
        return TIMES_NONE;
    pthread_mutex_lock(&state.lock);
    timed = begin();
    pthread_mutex_unlock(&state.lock);
    (void)state.capture_mode(&mode);
    return timed;
}

/* Under the lock: the end of the launch, and a mark behind that. */
static bool is_recorded(uint32_t timed, const struct governed *launch)
{
    struct pair *pair = &state.pairs[timed];
    if (!pair->ended) /* of a context that has come meanwhile */
        return false;
    int error = (launch->per_thread ? state.record_thread : state.record)(pair->ended, launch->stream);
    if (error != BELOW_OK)
        return false;
    pair->uses++;
    error = (launch->per_thread ? state.write_thread : state.write)(launch->stream, marks_address(&state.marks, timed),
                                                                    pair->uses, 0);
    return error == BELOW_OK;
}

void times_end(uint32_t timed, const struct governed *launch, int error)
{
    if (timed == TIMES_NONE)
        return;
    pthread_mutex_lock(&state.lock);
    struct pair *pair = &state.pairs[timed];
    if (state.context)
        pair->use = error == BELOW_OK && is_recorded(timed, launch) ? RECORDED : FREE;
    pthread_mutex_unlock(&state.lock);
}

void times_context_ended(const void *context)
{
    pthread_mutex_lock(&state.lock);
    if (!context || state.context == context)
        state.context = NULL;
    pthread_mutex_unlock(&state.lock);
}
