/* SPDX-License-Identifier: MIT */
/* What a GPU consists of, for gpu.c, which makes it, and gpu_part.c, which runs parts on it. */
#ifndef CORUN_SPLIT_GPU_STATE_H
#define CORUN_SPLIT_GPU_STATE_H

#include "split/gpu.h"

#include "split/ranges.h"

#include <pthread.h>
#include <stdatomic.h>

#define MOST_CHUNKS 8u

enum { MULTIPROCESSORS = 16, THREADS_PER_MULTIPROCESSOR = 39 }; /* attributes of a device */
enum { CONTEXT_BLOCKING = 4, STREAM_ON_ITS_OWN = 1, EVENT_BLOCKING = 1 };
enum { NOT_READY = 600 }; /* CUDA_ERROR_NOT_READY */

struct mirror {
    unsigned long long address;
    struct ranges valid; /* bytes that are what the host has */
};

struct kernel {
    char *name;
    void *function;
    uint32_t block_threads, shared_bytes; /* of its last launch, */
    uint32_t resident;                    /* of such blocks, those that a multiprocessor holds; 0: not known */
    bool launched;
};

/* Bytes that are moved. */
struct traffic {
    uint64_t in, out, kept;
};

/* A part under way. */
struct flight {
    uint64_t begin, end;
    uint32_t chunks;
    uint32_t computed, sent;          /* chunks: known to be computed; of these, looked at for the way back */
    uint64_t from;                    /* what is before that is on its way back */
    bool writing;                     /* its results may be on their way back */
    bool fed, ok;                     /* fed: its results are moved back by a delivery */
    bool sets_up;                     /* it moves what every part needs, up to the event `set` */
    double started;                   /* by the clock */
    double handing;                   /* seconds that the host needed to enqueue it */
    uint64_t setup_bytes, setup_kept; /* what it moves of these; of `kept` buffers */
    struct traffic traffic;
    struct snapshot *saved;
    void *last_arrived; /* one of these events: the last of its bytes is there; NULL: it moves none */
    void *base, *set, *final, *starts[MOST_CHUNKS], *ends[MOST_CHUNKS], *arrived[MOST_CHUNKS]; /* events */
};

/* Results on their way back. */
struct delivery {
    bool ok, writes;
    uint64_t begin, end;
    double started;
    struct traffic traffic;
    struct snapshot *saved;
    void *base, *final; /* events */
};

struct corun_split_gpu {
    const struct driver *driver;
    const struct corun_split_task *task;
    uint32_t index;
    int device;
    double copy_bytes;
    /* iterations: a thread block for each multiprocessor; those that move `copy_bytes`; in later runs, those that move what is worth a copy */
    uint64_t flat, piece, again;
    uint32_t multiprocessors; /* 0: strategies are not told what occupies the GPU */
    atomic_uint resident;     /* thread blocks of the task that a multiprocessor holds; launches tell more of it */
    bool retained, set_up;    /* the context is held; buffers that every part needs are there in this run */
    pthread_mutex_t mutex;    /* of the failure, and of */
    uint32_t writing;         /* parts and deliveries whose results are on their way back */
    char name[128], failure[256];
    void *context, *module;
    void *in, *out, *works[MOST_CHUNKS]; /* streams; kernels of different chunks and parts run at once */
    void *work;                          /* the one for the chunk that is being enqueued */
    void *arrived; /* an event of a flight: all that was moved in so far is there; NULL: nothing was */
    bool moving;   /* something has been moved in since that event */
    uint32_t next_work;
    double call_seconds;               /* that the shortest call of a real driver has taken; 0: not known */
    void *origin;                      /* an event: simulated times count from it */
    void *fetch_begin, *fetch_end;     /* events around what was last fetched, */
    uint64_t fetched_bytes;            /* by it */
    uint64_t begun, ended;             /* parts; the first changes with gpu_begin_part, the second with gpu_end_part */
    struct flight flights[MOST_PARTS]; /* a ring */
    uint64_t deliveries_begun, deliveries_ended;
    struct delivery deliveries[MOST_DELIVERIES]; /* a ring */
    struct mirror *mirrors;
    VECTOR(struct kernel) kernels;
};

/* Notes the first thing that went wrong. Always false. */
bool gpu_fail(struct corun_split_gpu *gpu, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether a call of the driver has succeeded; notes the failure. */
bool gpu_worked(struct corun_split_gpu *gpu, int result, const char *what);

#define TRY(gpu, call, what) gpu_worked(gpu, (gpu)->driver->call, what)

#endif
