/* SPDX-License-Identifier: MIT */
/*
 * How much faster host threads make it, by the clock on the wall: for a machine with as many idle cores as threads. bench_threads computes the
 * same from times of one thread.
 *
 *     bench_scaling [-g GPU]… [-t THREADS]… [-c CYCLES] [-n RUNS] WORKLOAD …
 *
 * Each row is the first CYCLES (default 20000) of a workload: millions of warp instructions a second with the first number of threads, then how
 * many times that with the others (default 1, 2, 4, 8, 16, no more than there are processors), the fastest of RUNS runs (default 3) each, in
 * turn. Loading and filling buffers are excluded. Every number of threads has to leave the same counters. The last line for a GPU has the
 * geometric means.
 */
#include "corun/gpu.h"
#include "corun/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_GPUS 16
#define MOST_COUNTS 16

struct options {
    const char *gpus[MOST_GPUS];
    uint32_t threads[MOST_COUNTS];
    size_t gpu_count, thread_count;
    uint64_t cycles;
    int runs;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct outcome {
    uint64_t warp_instructions;
    struct corun_counters counters; /* of all kernels */
};

static void read_outcome(const struct corun_gpu *gpu, struct outcome *outcome)
{
    struct corun_application_result application = {0};
    corun_gpu_application(gpu, 0, &application);
    *outcome = (struct outcome){.warp_instructions = application.warp_instructions};
    for (uint32_t k = 0; k < application.kernel_count; k++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, 0, k, &kernel);
        corun_counters_add(&outcome->counters, &kernel.counters);
    }
}

static bool time_once(const struct corun_gpu_config *config, const struct corun_workload *workload, uint64_t cycles,
                      uint32_t threads, struct corun_diagnostics *list, double *taken, struct outcome *outcome)
{
    struct corun_instance *instance = NULL;
    struct corun_gpu *gpu = NULL;
    struct corun_application_description description = {0};
    struct corun_limits limits = {.cycles = cycles, .threads = threads};
    uint32_t index;
    bool fine = corun_instance_create(workload, 0, 1, list, &instance) == CORUN_OK &&
                corun_gpu_create(config, list, &gpu) == CORUN_OK;
    if (fine) {
        corun_instance_fill(instance, &description);
        fine = corun_gpu_add(gpu, &description, &index) == CORUN_OK;
        double start = now();
        fine = fine && corun_gpu_run(gpu, &limits, list) == CORUN_OK;
        *taken = now() - start;
        read_outcome(gpu, outcome);
    }
    corun_gpu_destroy(gpu);
    corun_instance_destroy(instance);
    return fine;
}

/* The fastest times, by number of threads. */
static bool measure(const struct options *options, const struct corun_gpu_config *config,
                    const struct corun_workload *workload, struct corun_diagnostics *list, double *fastest,
                    uint64_t *instructions)
{
    struct outcome first = {0};
    for (int run = 0; run < options->runs; run++) {
        for (size_t t = 0; t < options->thread_count; t++) {
            struct outcome result = {0};
            double taken;
            if (!time_once(config, workload, options->cycles, options->threads[t], list, &taken, &result))
                return false;
            if (run == 0 && t == 0)
                first = result;
            if (memcmp(&result, &first, sizeof first) != 0) {
                fprintf(stderr, "with %u threads other counters than with %u\n", options->threads[t],
                        options->threads[0]);
                return false;
            }
            fastest[t] = run == 0 || taken < fastest[t] ? taken : fastest[t];
        }
    }
    *instructions = first.warp_instructions;
    return true;
}

static bool report(const struct options *options, const char *gpu, const char *const *names, size_t name_count,
                   const char *data, struct corun_diagnostics *list)
{
    struct corun_gpu_config config;
    double logs[MOST_COUNTS] = {0};
    bool fine = corun_gpu_config_load(gpu, data, list, &config) == CORUN_OK;
    for (size_t n = 0; n < name_count && fine; n++) {
        struct corun_workload *workload = NULL;
        double fastest[MOST_COUNTS] = {0};
        uint64_t instructions = 0;
        fine = corun_workload_load(names[n], data, list, &workload) == CORUN_OK &&
               measure(options, &config, workload, list, fastest, &instructions);
        corun_workload_destroy(workload);
        if (!fine)
            break;
        double rate = (double)instructions / fastest[0];
        printf("%-20s %4u %-14s %8.2f", gpu, config.sms, names[n], rate * 1e-6);
        logs[0] += log(rate * 1e-6);
        for (size_t t = 1; t < options->thread_count; t++) {
            printf(" %6.2f", fastest[0] / fastest[t]);
            logs[t] += log(fastest[0] / fastest[t]);
        }
        printf("\n");
        fflush(stdout);
    }
    if (!fine)
        return false;
    printf("%-20s %4u %-14s", gpu, config.sms, "geometric mean");
    for (size_t t = 0; t < options->thread_count; t++)
        printf(t ? " %6.2f" : " %8.2f", exp(logs[t] / (double)name_count));
    printf("\n");
    return true;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const uint32_t usual[] = {1, 2, 4, 8, 16};
    int option;
    *options = (struct options){.cycles = 20000, .runs = 3};
    while ((option = getopt(argc, argv, "g:t:c:n:")) != -1) {
        if (option == 'g' && options->gpu_count < MOST_GPUS)
            options->gpus[options->gpu_count++] = optarg;
        else if (option == 't' && options->thread_count < MOST_COUNTS && atoi(optarg) > 0)
            options->threads[options->thread_count++] = (uint32_t)atoi(optarg);
        else if (option == 'c' && strtoull(optarg, NULL, 10) > 0)
            options->cycles = strtoull(optarg, NULL, 10);
        else if (option == 'n' && atoi(optarg) > 0)
            options->runs = atoi(optarg);
        else
            return false;
    }
    if (options->gpu_count == 0)
        options->gpus[options->gpu_count++] = "gtx980";
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t t = 0; options->thread_count <= t && t < sizeof usual / sizeof *usual; t++)
        if (t == 0 || usual[t] <= processors)
            options->threads[options->thread_count++] = usual[t];
    return optind < argc;
}

int main(int argc, char **argv)
{
    struct options options;
    if (!read_options(argc, argv, &options))
        return 2;
    struct corun_diagnostics *list = corun_diagnostics_create();
    char data[4096];
    bool fine = list && corun_data_directory(data, sizeof data, list) == CORUN_OK;
    printf("%-20s %4s %-14s %4s x%-2u", "GPU", "SMs", "workload", "M/s", options.threads[0]);
    for (size_t t = 1; t < options.thread_count; t++)
        printf("  on %2u", options.threads[t]);
    printf("\n");
    for (size_t g = 0; g < options.gpu_count && fine; g++)
        fine =
            report(&options, options.gpus[g], (const char *const *)argv + optind, (size_t)(argc - optind), data, list);
    for (size_t i = 0; list && i < corun_diagnostics_count(list); i++)
        fprintf(stderr, "%s\n", corun_diagnostics_get(list, i)->message);
    corun_diagnostics_destroy(list);
    return fine ? 0 : 1;
}
