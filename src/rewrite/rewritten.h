/* SPDX-License-Identifier: MIT */
/* What a pass over the kernels of a module has made of them. Every pass says it in the same way: slice.h, workers.h. */
#ifndef CORUN_REWRITE_REWRITTEN_H
#define CORUN_REWRITE_REWRITTEN_H

#include "ptx/register_count.h"
#include "rewrite/grid_reads.h"

/* Where workers of a kernel may leave in the middle of a thread block: worker_drops.h. */
enum rewritten_drop { REWRITTEN_DROPS_NOWHERE, REWRITTEN_DROPS_IN_LOOPS, REWRITTEN_DROPS_AT_BARRIERS };

/* One entry of the module. */
struct rewritten_kernel {
    const struct ptx_function *function; /* in the new module */
    const char *refusal; /* NULL: it was rewritten. Else why not: the kernel is what it was, and has no new parameter */
    struct ptx_place place; /* in the source: of what the refusal is about, perhaps in a function that it calls */
    /*
     * NULL, or why the new kernel is wrong on GPUs of compute capability 7.0 and above, although it is right on those that the module is for: there
     * the threads of a warp go their own ways.
     */
    const char *only_before_volta;
    uint32_t reads; /* set of enum grid_value: by the kernel and the functions that it calls */
    /*
     * It, or a function that it calls, loads by a path that need not be coherent within a launch (ld.global.nc, ldu, textures, surfaces):
     * what others write while it runs may not be seen.
     */
    bool reads_noncoherent;
    uint32_t
        parameter_index; /* of the parameter that the pass has added, from 0; the number of parameters if there is none */
    uint64_t parameter_offset; /* in the parameter block, bytes; parameter_bytes if there is none */
    /* 32-bit registers per thread as ptx_registers_per_thread has them, in the source and in the new module. */
    uint32_t registers_before, registers_after;
    enum ptx_registers_from registers_from; /* in the new module; MAXNREG: both are that limit */
    uint32_t shared_bytes_added;            /* static shared memory */
    /* Of workers: static shared memory of the new kernel and its functions, with all gaps that alignments may leave. */
    uint64_t shared_bytes_most;
    const struct ptx_function *whole; /* in the new module: the kernel as it was; NULL: it is not there */
    uint32_t instructions_added;      /* to the body of the kernel itself, not to functions that it calls */
    bool ranges;                      /* of workers: a draw may be of several thread blocks */
    enum rewritten_drop drops;        /* of workers */
    const char *drops_text;           /* when, or why nowhere, in words; NULL: the pass is not that of workers */
    const uint32_t
        *borrows; /* rows of rewritten.borrowed that it and the functions that it calls use, in ascending order */
    uint32_t borrow_count;
};

struct rewritten {
    struct ptx_module *module;
    const struct rewritten_kernel *kernels; /* entries with a body, in the order of the module */
    uint32_t kernel_count;
    uint32_t rewritten_count; /* those that were not refused */
    /* Of borrow.h, else none: variables of another module whose addresses are to be written into a table, and the name of that. */
    const char *const *borrowed;
    const bool *
        copied; /* of each: the new module has one of that name, to be copied in front of every launch of a kernel that borrows it */
    uint32_t borrowed_count;
    const char *borrowed_table; /* NULL: there is no row */
};

/*
 * A new module in which every kernel is rewritten that can be. `source` stays as it is and may be destroyed afterwards. Everything in
 * *rewritten belongs to rewritten->module. A kernel that is refused is no error. MEMORY; on failure there is nothing to destroy.
 *
 * The source has to be whole: what another module is linked with later may call functions by their old parameters.
 */
typedef enum corun_status rewrite_pass(const struct ptx_module *source, struct corun_diagnostics *list,
                                       struct rewritten *rewritten);

void rewritten_destroy(struct rewritten *rewritten);

/*
 * Two passes, one after the other. A kernel that one of them refuses is refused, with the first reason. What it had before is of the source, as the second pass alone
 * would say. Statuses of both.
 */
enum corun_status rewrite_both(rewrite_pass *first, rewrite_pass *second, const struct ptx_module *source,
                               struct corun_diagnostics *list, struct rewritten *rewritten);

/* NULL if there is none of that name. */
const struct rewritten_kernel *rewritten_kernel_find(const struct rewritten *rewritten, const char *name);

/*
 * A pass from text to text, for whoever loads modules. `name` is the file in messages and places. *output ends with NUL (not counted in
 * *output_bytes) and is the caller's to free. Statuses of ptx_parse as well.
 */
enum corun_status rewrite_text(rewrite_pass *pass, const char *name, const char *text, size_t bytes,
                               struct corun_diagnostics *list, struct rewritten *rewritten, char **output,
                               size_t *output_bytes);

#endif
