/* SPDX-License-Identifier: MIT */
/* What a GPU consists of, for gpu.c, which makes it, and gpu_part.c, which runs parts on it. */
#ifndef CORUN_SPLIT_GPU_STATE_H
#define CORUN_SPLIT_GPU_STATE_H

#include "split/gpu.h"

#include "split/ranges.h"

#define MOST_CHUNKS 8u

enum { MULTIPROCESSORS = 16, THREADS_PER_MULTIPROCESSOR = 39 }; /* attributes of a device */
enum { CONTEXT_BLOCKING = 4, STREAM_ON_ITS_OWN = 1, EVENT_BLOCKING = 1 };

struct mirror {
    unsigned long long address;
    struct ranges valid; /* bytes that are what the host has */
};

struct kernel {
    char *name;
    void *function;
};

struct corun_split_gpu {
    const struct driver *driver;
    const struct corun_split_task *task;
    uint32_t index;
    int device;
    double copy_bytes;
    uint64_t flat, full; /* iterations: a thread block for each multiprocessor; as many threads as there is room for */
    bool retained, set_up; /* the context is held; buffers that every part needs are there in this run */
    char name[128], failure[256];
    void *context, *module;
    void *in, *work, *out; /* streams */
    void *base, *final, *begin[MOST_CHUNKS], *end[MOST_CHUNKS], *arrived[MOST_CHUNKS];
    struct mirror *mirrors;
    VECTOR(struct kernel) kernels;
};

/* Notes the first thing that went wrong. Always false. */
bool gpu_fail(struct corun_split_gpu *gpu, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether a call of the driver has succeeded; notes the failure. */
bool gpu_worked(struct corun_split_gpu *gpu, int result, const char *what);

#define TRY(gpu, call, what) gpu_worked(gpu, (gpu)->driver->call, what)

#endif
