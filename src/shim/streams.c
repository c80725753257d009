/* SPDX-License-Identifier: MIT */
#include "shim/streams.h"

#include "shim/below.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { KNOWN = 8, FIRST_HANDLE = 3 }; /* 1 and 2 are the legacy stream and the thread's own */

/* Functions of the driver; NULL: it has none. Those of a pair are for whose stream 0 is everybody's, and the thread's own. */
static struct {
    pthread_once_t once;
    _Atomic uint32_t changes;
    int (*current)(void **context);
    int (*contexts[2])(void *stream, void **context, void **green);
    int (*context[2])(void *stream, void **context);
} state = {.once = PTHREAD_ONCE_INIT, .changes = 1};

/* A driver with green contexts that cannot tell a stream's two contexts apart names the green one, whose end is the device's own one's. */
static void find_calls(void)
{
    state.current = (int (*)(void **))below_called(CALLED_cuCtxGetCurrent);
    state.contexts[false] = (int (*)(void *, void **, void **))below_called(CALLED_cuStreamGetCtx_v2);
    state.contexts[true] = (int (*)(void *, void **, void **))below_called(CALLED_cuStreamGetCtx_v2_ptsz);
    if (below_called(CALLED_cuGreenCtxCreate))
        return;
    state.context[false] = (int (*)(void *, void **))below_called(CALLED_cuStreamGetCtx);
    state.context[true] = (int (*)(void *, void **))below_called(CALLED_cuStreamGetCtx_ptsz);
}

static const void *context_of(void *stream, bool per_thread)
{
    void *context = NULL, *green = NULL;
    int error = BELOW_NOT_SUPPORTED;
    if (state.contexts[per_thread])
        error = state.contexts[per_thread](stream, &context, &green);
    else if (state.context[per_thread])
        error = state.context[per_thread](stream, &context);
    return error == BELOW_OK ? context : NULL;
}

/* Of a thread: a stream as it is asked for, and what was found while so many changes had been. */
struct known {
    const void *stream;
    bool per_thread;
    uint32_t changes; /* 0: nothing */
    struct stream_place place;
};

struct stream_place streams_find(void *stream, bool per_thread)
{
    static _Thread_local struct known all[KNOWN];
    static _Thread_local char thread;
    pthread_once(&state.once, find_calls);
    uint32_t changes = atomic_load(&state.changes);
    struct known *known = &all[((uintptr_t)stream >> 4 ^ (uintptr_t)stream >> 8 ^ (uintptr_t)stream) % KNOWN];
    struct stream_key key = {stream, NULL};
    if ((uintptr_t)stream < FIRST_HANDLE) {
        void *current = NULL;
        bool own = (uintptr_t)stream == 2 || (!stream && per_thread);
        key.current = state.current && state.current(&current) == BELOW_OK ? current : NULL;
        key.stream = own ? (const void *)&thread : (const void *)(uintptr_t)1;
    }
    if (known->changes != changes || known->stream != stream || known->per_thread != per_thread ||
        known->place.key.current != key.current)
        *known = (struct known){stream, per_thread, changes, {key, context_of(stream, per_thread)}};
    return known->place;
}

void streams_changed(void)
{
    uint32_t before = atomic_fetch_add(&state.changes, 1);
    if (before == UINT32_MAX)
        atomic_fetch_add(&state.changes, 1); /* 0 says nothing */
}

/* ---- what the program calls ---- */

/* Before that, nobody may launch there any more; behind it, the handle may be given again. */
#define ENDS_STREAM(symbol) \
    SHIM_EXPORT int symbol(void *stream); \
    int symbol(void *stream) \
    { \
        int (*real)(void *) = below(LOOKED_AT_##symbol); \
        streams_changed(); \
        int error = real(stream); \
        streams_changed(); \
        return error; \
    }
ENDS_STREAM(cuStreamDestroy)
ENDS_STREAM(cuStreamDestroy_v2)
