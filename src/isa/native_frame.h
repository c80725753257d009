/* SPDX-License-Identifier: MIT */
/* What machine code is given: where things are, and where it adds up what only it knows. */
#ifndef CORUN_ISA_NATIVE_FRAME_H
#define CORUN_ISA_NATIVE_FRAME_H

#include "isa/executor.h"

struct native_frame {
    struct corun_warp *warp;
    struct executor_sm *sm;
    uint64_t left;                          /* warp instructions that may be run: what was run is taken off */
    uint32_t mask;                          /* lanes that run */
    uint32_t reconverge;                    /* where they meet others */
    uint32_t faulted;                       /* the next instruction has raised a fault */
    uint64_t unguarded;                     /* warp instructions run without a guard */
    int64_t unguarded_merged;               /* of the PTX beyond those, by each lane */
    uint64_t guarded_threads;               /* that ran instructions with a guard */
    int64_t guarded_merged;                 /* of the PTX beyond those */
    struct memory_cache shared, parameters; /* as a cache has an allocation */
    _Alignas(
        64) uint64_t addresses[CORUN_WARP_LANES]; /* of the operation at hand; of 32 bits each if they are narrow */
    _Alignas(64) uint8_t held[32][64];            /* vector registers, while a function of C runs */
};

#endif
