/* SPDX-License-Identifier: MIT */
/* An application that does again what a captured program did, as the files of a replay see it. */
#ifndef CORUN_WORKLOAD_CAPTURE_REPLAY_H
#define CORUN_WORKLOAD_CAPTURE_REPLAY_H

#include "isa/executor.h"
#include "workload/capture.h"

#define REPORTED_MISMATCHES 8u

struct timed;

/* Memory of the host that the program gave to its kernels. */
struct region {
    uint64_t address, bytes;
    uint8_t *block;
};

struct replay {
    const struct captured *captured;
    uint32_t application;
    struct corun_memory *memory;
    struct corun_source_operations operations; /* the executor's, with addresses moved */
    struct corun_module_instance **modules;    /* by module */
    size_t module_count;
    struct corun_grid **grids; /* by shape */
    size_t grid_count;
    VECTOR(struct region) regions; /* ascending, apart */
    VECTOR(uint64_t) textures;     /* handles in use */
    size_t next;                   /* operation of a run without timing */
    struct timed *timed;           /* a run on the machine; NULL: none has begun */
    struct corun_verification verification;
    bool broken;                       /* an operation could not be done: memory, or a texture that is not as it was */
    size_t wrong[REPORTED_MISMATCHES]; /* operations: the first checks that failed */
};

/* What operation `index` does to memory, at once. */
void replay_perform(struct replay *replay, size_t index);
/* Another grid of a shape, as each launch on the machine has its own. */
enum corun_status replay_make_grid(struct replay *replay, size_t shape, struct corun_diagnostics *list,
                                   struct corun_grid **grid);

/* capture_timed.c */
struct timed *timed_create(struct replay *replay); /* NULL when out of memory */
void timed_destroy(struct timed *timed);
enum corun_status timed_proceed(struct timed *timed, struct corun_gpu *gpu, uint32_t application,
                                struct corun_proceeding *proceeding);

#endif
