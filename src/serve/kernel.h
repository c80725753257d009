/* SPDX-License-Identifier: MIT */
/*
 * A kernel that users submit to a queue: one launch of a workload. Its data are those that the launch finds when the workload runs: what
 * comes before it has been run without timing.
 */
#ifndef CORUN_SERVE_KERNEL_H
#define CORUN_SERVE_KERNEL_H

#include "base/arena.h"
#include "corun/workload.h"

struct served_kernel {
    const char *name;                /* as it was asked for */
    struct corun_workload *workload; /* owned */
    uint32_t launch;                 /* index of the grid within a run of the workload */
    const char *function;            /* name of the kernel */
    uint32_t tbs, tb_threads;
    uint64_t bytes_in, bytes_out, device_bytes; /* buffers that are initialised, that are outputs, and all */
};

/*
 * `text` is a workload as corun_workload_load takes it, or what the paper of Kernelet calls one (bs, mm, tea, mriq, pc, spmv, st, sad; also
 * with @SIZE). Of several launches in a run it is the one with the most threads, the first of these. What corun_workload_load
 * returns; UNSUPPORTED: a captured program. `rewrites`: as corun_workload_assemble takes them.
 */
enum corun_status served_kernel_load(const char *text, const char *data_directory, uint32_t rewrites, uint64_t seed,
                                     struct arena *arena, struct corun_diagnostics *list, struct served_kernel *kernel);
/* The workload that such a text means, as corun_workload_load takes it: the text itself, or one in the arena. */
enum corun_status served_kernel_workload(const char *text, const char *data_directory, struct arena *arena,
                                         struct corun_diagnostics *list, const char **specification);
void served_kernel_end(struct served_kernel *kernel);
/*
 * An instance of the workload in the address space `number`, with its data as the launch finds them, and the launch's grid, which belongs to
 * the instance.
 */
enum corun_status served_kernel_open(const struct served_kernel *kernel, uint32_t number, uint64_t seed,
                                     struct corun_diagnostics *list, struct corun_instance **instance,
                                     const struct corun_grid **grid);

#endif
