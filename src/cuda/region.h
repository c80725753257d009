/* SPDX-License-Identifier: MIT */
/*
 * The launches of a program that are timed, on request; all others are carried out at once where the machine comes to them, without timing,
 * and take no simulated time.
 */
#ifndef CORUN_CUDA_REGION_H
#define CORUN_CUDA_REGION_H

#include <stdbool.h>
#include <stdint.h>

struct region {
    bool on;              /* else every launch is timed */
    bool profiler;        /* only between cudaProfilerStart and cudaProfilerStop */
    bool profiled;        /* the program is between them */
    char kernel[1024];    /* only kernels of that name (region_names); "": of any */
    uint64_t first, last; /* only these launches of what the other conditions leave, from 1, both included; 0, 0: all */
    uint64_t seen;        /* launches that the other conditions left, so far */
};

/*
 * Conditions with `;` between them: `profiler`, `launch=N` or `launch=FROM-TO`, and `kernel=NAME` as the last one. False if the text is not
 * of that form.
 */
bool region_parse(const char *text, struct region *region);
/* Whether a symbol is that name, or a C++ function of that name, in whatever class, namespace or instance. */
bool region_names(const char *name, const char *symbol);
/* Whether the launch that the program asks for next, of the kernel of that symbol, is timed. */
bool region_times(struct region *region, const char *symbol);

#endif
