/* SPDX-License-Identifier: MIT */
/*
 * Launches that kernels make themselves (dynamic parallelism): what a thread asks for is kept here until whoever runs the grids takes it.
 *
 * The functions of CUDA that kernels call are PTX (src/cuda/device_runtime.c). What they cannot do themselves they leave to the operations
 * below. A launch is written into a slot of the pool, a module variable; launching reads the slot as the thread sees it, so the slot is
 * free from then on. It is given back when the launched grid begins, as launches that have not begun are what the pool bounds.
 */
#ifndef CORUN_ISA_DEVICE_LAUNCH_H
#define CORUN_ISA_DEVICE_LAUNCH_H

#include "base/vector.h"
#include "corun/config.h"
#include "corun/module.h"

#include <stdbool.h>
#include <stdint.h>

struct corun_module_instance;
struct corun_warp;
struct operation;

/*
 * (b64 kernel, b32 grid x, y, z, b32 block x, y, z, b32 dynamic shared bytes) → b32: the error that a launch would have.
 * (b64 slot or event, b64 stream, b32 enum device_launch_kind) → b32: 0.
 * (b32 enum device_error_action, b32 error) → b32: the error of the thread before.
 */
#define DEVICE_LAUNCH_CHECK "__corun_launch_check"
#define DEVICE_LAUNCH "__corun_launch"
#define DEVICE_LAUNCH_ERROR "__corun_launch_error"

/*
 * The pool: u64 slots taken so far, u64 slots given back so far, u32 pending launches; from DEVICE_POOL_RING on the numbers of the free slots
 * in the order in which they are taken, each less its place (so that zeros are the slots in order); then the slots.
 */
#define DEVICE_POOL_VARIABLE "corun_launches"
#define DEVICE_POOL_GIVEN 8u
#define DEVICE_POOL_PENDING 16u
#define DEVICE_POOL_NUMBERS 20u /* u32: handles of streams and events so far */
#define DEVICE_POOL_RING 64u
/* A slot: b64 kernel, b32 grid x, y, z, b32 block x, y, z, b32 dynamic shared bytes; the parameters. */
#define DEVICE_SLOT_PARAMETERS 64u
#define DEVICE_SLOT_BYTES (DEVICE_SLOT_PARAMETERS + 4096u)
static inline uint64_t device_pool_slots(uint64_t slots)
{
    return (DEVICE_POOL_RING + 4 * slots + 63) / 64 * 64;
}

#define DEVICE_MOST_DEPTH 24u /* of grids that launch each other, as CUDA documents */

enum device_launch_kind {
    DEVICE_LAUNCH_GRID,
    DEVICE_LAUNCH_RECORD, /* an event comes to its turn in a stream */
    DEVICE_LAUNCH_WAIT    /* what follows in a stream waits for an event */
};

enum device_error_action { DEVICE_ERROR_PEEK, DEVICE_ERROR_TAKE, DEVICE_ERROR_SET };

struct device_launch {
    enum device_launch_kind kind;
    const struct corun_grid *parent;
    uint32_t sm, tb, thread; /* that launched: of the machine; in the grid; in the thread block */
    bool direct;             /* without timing: the cycle says nothing */
    uint64_t cycle;
    uint64_t stream; /* handle */
    uint64_t event;  /* RECORD, WAIT: handle */
    /* GRID */
    uint64_t slot; /* for device_launch_begun; 0: it has been given back */
    const struct corun_kernel *kernel;
    struct corun_dim3 grid, block;
    uint32_t dynamic_shared_bytes;
    uint8_t *parameters; /* malloc'd, of the kernel's parameter_bytes; NULL: none */
};

struct device_error {
    uint64_t launch; /* of the thread: struct launch.id */
    uint32_t tb, thread;
    uint32_t error;
};

/* Of one SM. */
struct device_launches {
    VECTOR(struct device_launch) made; /* and not taken */
    VECTOR(struct device_error) errors;
};

/* What a launch must not exceed. */
struct device_launch_limits {
    struct corun_gpu_config gpu;
    uint32_t pending;
};

/* Before a module's first launch, if its text has the functions: whose GPU, and how many slots the pool has. */
void device_launch_prepare(struct corun_module_instance *instance, const struct device_launch_limits *limits);
/* Moves what was launched since the last call to the end of `taken`, by SM. False when out of memory. To be called while no machine runs. */
struct device_launch_list {
    VECTOR(struct device_launch) launches;
};
bool device_launch_take(struct corun_module_instance *instance, struct device_launch_list *taken);
/* A launch is no longer pending. To be called while no machine runs. */
void device_launch_begun(struct corun_module_instance *instance, uint64_t slot);
/* How deep a grid is among grids that launch each other; 0 at first. */
void device_launch_set_depth(struct corun_grid *grid, uint32_t depth);

/* corun_source_operations.launched */
bool device_launched(const struct corun_grid *grid);
void device_launches_free(struct device_launches *launches);

/* One of the operations by the lanes `mask`. False: a fault was raised. */
bool device_launch_execute(struct corun_warp *warp, const struct operation *op, uint32_t mask);

/* operation.variant */
enum device_operation { DEVICE_OPERATION_CHECK, DEVICE_OPERATION_LAUNCH, DEVICE_OPERATION_ERROR };

#endif
