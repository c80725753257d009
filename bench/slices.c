/* SPDX-License-Identifier: MIT */
/*
 * What slicing costs: bench_slices DRIVER WORKLOAD[@SIZE] KERNEL [MOST [REPEATS]]. Times the first launch of the kernel, whole and in slices of
 * growing size, in one stream and round two, through a CUDA driver: corun's own (BUILD/cuda/libcuda.so.1; CORUN_CUDA_GPU and
 * CORUN_CUDA_LAUNCH_COSTS=1 say on which GPU) or NVIDIA's (libcuda.so.1). Up to MOST sizes [16]: 1, 2, 4, … thread blocks for each SM; the median of REPEATS measurements [1]. Prints a row for each: device, workload, kernel, thread blocks of the grid, SMs, thread blocks that fit an SM,
 * streams, thread blocks of a slice (0: whole, as the workload has it), nanoseconds.
 */
#include "runtime/measure.h"
#include "workload/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPEATS = 101 };

static struct corun_diagnostics *list;

static void need(enum corun_status status)
{
    if (status == CORUN_OK)
        return;
    for (size_t i = 0; i < corun_diagnostics_count(list); i++)
        fprintf(stderr, "bench_slices: %s\n", corun_diagnostics_get(list, i)->message);
    exit(1);
}

static struct workload_commands *load(const char *specification)
{
    char data[4096];
    struct corun_workload *workload;
    struct workload_commands *commands;
    need(corun_data_directory(data, sizeof data, list));
    need(corun_workload_load(specification, data, list, &workload));
    need(workload_commands_create(workload, WORKLOAD_ALL_LAUNCHES, 1, 0, list, &commands));
    corun_workload_destroy(workload);
    return commands;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median of so many. */
static uint64_t time_of(struct runtime *runtime, uint32_t workload, uint32_t launch, uint64_t slice, uint32_t streams,
                        uint32_t repeats)
{
    uint64_t times[MOST_REPEATS];
    for (uint32_t i = 0; i < repeats; i++)
        need(runtime_measure(runtime, workload, launch, slice, streams, list, &times[i]));
    qsort(times, repeats, sizeof *times, compare);
    return times[repeats / 2];
}

static void measure(struct runtime *runtime, const char *name, uint32_t workload, uint32_t launch, uint32_t most,
                    uint32_t repeats)
{
    struct runtime_info info;
    struct runtime_launch about;
    runtime_describe(runtime, &info);
    runtime_launch_at(runtime, workload, launch, &about);
    need(runtime_measure(runtime, workload, launch, 0, 1, list, &(uint64_t){0})); /* fills caches */
    for (uint32_t i = 0; i <= 2 * most; i++) { /* whole; then each size in one stream and round two */
        uint64_t slice = i ? (uint64_t)info.sms << (i - 1) / 2 : 0; /* 1, 2, 4, … for each SM */
        uint32_t streams = i ? 1 + (i - 1) % 2 : 1;
        if (slice >= about.tbs)
            break;
        printf("%s,\"%s\",%s,%" PRIu64 ",%u,%u,%u,%" PRIu64 ",%" PRIu64 "\n", info.device, name, about.kernel,
               about.tbs, info.sms, about.tbs_per_sm, streams, slice,
               time_of(runtime, workload, launch, slice, streams, repeats));
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct runtime *runtime;
    struct runtime_launch about;
    uint32_t workload, launch = 0;
    uint32_t repeats = argc > 5 ? (uint32_t)atoi(argv[5]) : 1;
    if (argc < 4 || argc > 6 || !repeats || repeats > MOST_REPEATS) {
        fputs("bench_slices DRIVER WORKLOAD[@SIZE] KERNEL [MOST [REPEATS]]\n", stderr);
        return 2;
    }
    list = corun_diagnostics_create();
    struct runtime_options options = {.library = argv[1], .streams = 2};
    need(runtime_open(&options, list, &runtime));
    struct workload_commands *commands = load(argv[2]);
    need(runtime_add_workload(runtime, commands, list, &workload));
    for (; launch < runtime_launch_count(runtime, workload); launch++) {
        runtime_launch_at(runtime, workload, launch, &about);
        if (!strcmp(about.kernel, argv[3]))
            break;
    }
    if (launch == runtime_launch_count(runtime, workload)) {
        fprintf(stderr, "bench_slices: %s launches no kernel %s\n", argv[2], argv[3]);
        return 1;
    }
    measure(runtime, argv[2], workload, launch, argc > 4 ? (uint32_t)atoi(argv[4]) : 16, repeats);
    runtime_close(runtime);
    workload_commands_destroy(commands);
    corun_diagnostics_destroy(list);
    return 0;
}
