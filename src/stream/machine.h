/* SPDX-License-Identifier: MIT */
/*
 * The machine below streams: a simulated GPU of this process (stream_machine_of_gpu), or one that another process has, which several
 * programs share (cuda/remote.h). Operations are those of an opened GPU, include/corun/gpu.h, under the same rules.
 */
#ifndef CORUN_STREAM_MACHINE_H
#define CORUN_STREAM_MACHINE_H

#include "corun/gpu.h"

struct stream_machine_operations {
    uint64_t (*cycles)(void *machine);
    const struct corun_gpu_config *(*configuration)(void *machine);
    /* An application whose kernels use the memory with that number. */
    enum corun_status (*add)(void *machine, const struct corun_application_description *description, uint32_t memory,
                             uint32_t *application);
    enum corun_status (*leave)(void *machine, uint32_t application);
    enum corun_status (*launch)(void *machine, uint32_t application, const struct corun_grid *grid, uint64_t cycle,
                                int32_t priority, uint32_t *number);
    void (*launched)(void *machine, uint32_t application, uint32_t number, struct corun_launched *launched);
    void (*counters)(void *machine, uint32_t application, uint32_t number, struct corun_counters *counters);
    enum corun_status (*forget)(void *machine, uint32_t application, uint32_t number);
    uint64_t (*copy)(void *machine, enum corun_copy_engine engine, uint64_t since, uint64_t cycles);
    /* Until a launch has ended, an application was stopped, exactly the cycle `wake`, or a step reaches `until`. */
    enum corun_status (*advance)(void *machine, uint64_t until, uint64_t wake);
    void (*close)(void *machine);
};

struct stream_machine {
    const struct stream_machine_operations *operations; /* NULL: there is no machine yet */
    void *machine;
};

/* The GPU is closed with the machine. */
struct stream_machine stream_machine_of_gpu(struct corun_gpu *gpu);

#endif
