/* SPDX-License-Identifier: MIT */
/*
 * Captures are counted from before the driver begins one until it has ended one without an error: then no stream is left in it. So where there is none, the driver need not
 * be asked whether a stream is captured, which is the most that the shim asks for in front of a launch.
 */
#include "shim/captures.h"

#include "shim/below.h"

#include <stdatomic.h>

static _Atomic int under_way;

bool captures_under_way(void)
{
    return atomic_load_explicit(&under_way, memory_order_relaxed) != 0; /* who launches has been told by who captures */
}

static int begun(int error)
{
    if (error != BELOW_OK)
        atomic_fetch_sub(&under_way, 1);
    return error;
}

#define BEGIN(symbol, declared, given) \
    SHIM_EXPORT int symbol declared; \
    int symbol declared \
    { \
        int(*real) declared = below(LOOKED_AT_##symbol); \
        atomic_fetch_add(&under_way, 1); \
        return begun(real given); \
    }
BEGIN(cuStreamBeginCapture, (void *stream), (stream))
BEGIN(cuStreamBeginCapture_ptsz, (void *stream), (stream))
BEGIN(cuStreamBeginCapture_v2, (void *stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2_ptsz, (void *stream, int mode), (stream, mode))
#define TO_GRAPH(symbol) \
    BEGIN(symbol, (void *stream, void *graph, const void *const *behind, const void *edges, size_t count, int mode), \
          (stream, graph, behind, edges, count, mode))
TO_GRAPH(cuStreamBeginCaptureToGraph)
TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz)

#define END(symbol) \
    SHIM_EXPORT int symbol(void *stream, void **graph); \
    int symbol(void *stream, void **graph) \
    { \
        int (*real)(void *, void **) = below(LOOKED_AT_##symbol); \
        int error = real(stream, graph); \
        if (error == BELOW_OK) \
            atomic_fetch_sub(&under_way, 1); \
        return error; \
    }
END(cuStreamEndCapture)
END(cuStreamEndCapture_ptsz)
