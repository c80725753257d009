/* SPDX-License-Identifier: MIT */
/*
 * A launch description with one of its sizes chosen: every expression evaluated, repetitions written out, everything
 * checked that does not need the PTX.
 */
#ifndef CORUN_WORKLOAD_PLAN_H
#define CORUN_WORKLOAD_PLAN_H

#include "workload/overrides.h"

#define PLAN_MAX_OPERATIONS 20000u
#define PLAN_MAX_BYTES (UINT64_C(1) << 34) /* of all buffers */

struct planned_buffer {
    uint64_t count, bytes;
    int64_t first, second; /* bounds of initial data of integer types */
};

struct planned_argument {
    uint64_t bits;  /* a scalar, little endian in its low bytes; a buffer: offset in bytes */
    uint8_t buffer; /* storage index, for buffers */
};

/* A launch of a kernel, or a copy on the host between two launches. Buffers are named by their storage. */
struct planned_operation {
    const struct launch_description *launch;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    const struct planned_argument *arguments;
    uint64_t copy_bytes, from_offset, to_offset;
    uint8_t from, to;
};

struct plan {
    struct arena *arena;
    const struct description *description;
    const struct size_description *size;
    struct overrides overrides;
    VECTOR(struct corun_problem_parameter) parameters;
    struct planned_buffer buffers[DESCRIPTION_MAX_BUFFERS];
    VECTOR(struct planned_operation) operations;
    struct corun_workload_work work;
    uint32_t grid_count; /* operations that are launches */
    /* Which storage each buffer names when the run has ended. */
    uint8_t final_storage[DESCRIPTION_MAX_BUFFERS];
};

/*
 * `size` is SIZE[,parameter=value,...]; NULL: medium, or the only one, or the first. The description must outlive the
 * plan. NOT_FOUND, ARGUMENT (see overrides_parse), SYNTAX, MEMORY.
 */
enum corun_status plan_create(const struct description *description, const char *size, struct corun_diagnostics *list,
                              struct plan **plan);
void plan_destroy(struct plan *plan);

#endif
