/* SPDX-License-Identifier: MIT */
/* Memory that one host thread writes while another writes what lies beside it: in lines of the host's cache of its own. */
#ifndef CORUN_GPU_CACHE_LINES_H
#define CORUN_GPU_CACHE_LINES_H

#include <stdlib.h>
#include <string.h>

#define HOST_LINE_BYTES 64u

/* Zeroed; to be freed. NULL when out of memory. */
static inline void *allocate_lines(size_t bytes)
{
    size_t whole = (bytes + HOST_LINE_BYTES - 1) / HOST_LINE_BYTES * HOST_LINE_BYTES;
    void *memory = whole >= bytes ? aligned_alloc(HOST_LINE_BYTES, whole) : NULL;
    if (memory)
        memset(memory, 0, whole);
    return memory;
}

#endif
