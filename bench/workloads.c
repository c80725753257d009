/* SPDX-License-Identifier: MIT */
/*
 * How fast workloads are simulated, one thread: warp instructions per second with timing, functional only, and their
 * ratio.
 *
 *     bench_workloads [-g GPU] [-n RUNS] [-s SIZE] [-c CYCLES] [WORKLOAD …]
 *
 * Each row is the workload from its first launch to its last, or its first CYCLES (default 100000; 0: all): a few long ones took more time
 * than all others. Timed rates are medians over RUNS (default 3), the functional one is that of one whole run; loading and filling
 * buffers are excluded; seconds are those that the processor spent on it, so that other work on the machine counts less. Without
 * names: every workload. The last line has the geometric means.
 */
#include "corun/gpu.h"
#include "corun/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST_RUNS 99

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct row {
    uint64_t instructions, cycles;
    double timed[MOST_RUNS];
    double functional; /* warp instructions a second */
};

static bool time_functional(struct corun_instance *instance, struct corun_diagnostics *list, struct row *row)
{
    struct corun_functional_result counted = {0};
    bool fine = corun_instance_restart(instance) == CORUN_OK;
    double start = seconds();
    fine = fine && corun_instance_run(instance, 0, list, NULL, NULL, &counted) == CORUN_OK;
    row->functional = (double)counted.warp_instructions / (seconds() - start);
    return fine;
}

static bool time_once(const struct corun_gpu_config *config, const struct corun_workload *workload, uint64_t cycles,
                      struct corun_diagnostics *list, struct row *row, int run)
{
    struct corun_instance *instance = NULL;
    struct corun_gpu *gpu = NULL;
    struct corun_application_description description = {0};
    struct corun_application_result result = {0};
    struct corun_limits limits = {.cycles = cycles, .runs = 1, .threads = 1};
    uint32_t index;
    bool fine = corun_instance_create(workload, 0, 1, list, &instance) == CORUN_OK &&
                corun_gpu_create(config, list, &gpu) == CORUN_OK;
    if (fine) {
        corun_instance_fill(instance, &description);
        double start = seconds();
        fine = corun_gpu_add(gpu, &description, &index) == CORUN_OK && corun_gpu_run(gpu, &limits, list) == CORUN_OK;
        row->timed[run] = seconds() - start;
        corun_gpu_application(gpu, 0, &result);
        fine = fine && result.status == CORUN_OK && (result.runs == 1 || cycles);
        row->instructions = result.warp_instructions;
        row->cycles = corun_gpu_cycles(gpu);
    }
    if (run == 0)
        fine = fine && time_functional(instance, list, row);
    corun_gpu_destroy(gpu);
    corun_instance_destroy(instance);
    return fine;
}

static bool measure(const struct corun_gpu_config *config, const char *specification, const char *data, int runs,
                    uint64_t cycles, struct corun_diagnostics *list, double *log_timed, double *log_functional)
{
    struct corun_workload *workload = NULL;
    static struct row row; /* a program's main, not the library */
    if (corun_workload_load(specification, data, list, &workload) != CORUN_OK)
        return false;
    bool fine = true;
    for (int run = 0; run < runs && fine; run++)
        fine = time_once(config, workload, cycles, list, &row, run);
    corun_workload_destroy(workload);
    if (!fine)
        return false;
    double timed = median(row.timed, runs);
    double rate = (double)row.instructions / timed;
    printf("%-22s %14llu %12llu %9.3f %12.2f %12.2f %8.3f\n", specification, (unsigned long long)row.instructions,
           (unsigned long long)row.cycles, timed, rate * 1e-6, row.functional * 1e-6, rate / row.functional);
    fflush(stdout);
    *log_timed += log(rate);
    *log_functional += log(row.functional);
    return true;
}

int main(int argc, char **argv)
{
    const char *gpu = "gtx980", *size = NULL;
    int runs = 3, option;
    uint64_t cycles = 100000;
    while ((option = getopt(argc, argv, "c:g:n:s:")) != -1) {
        switch (option) {
        case 'c':
            cycles = strtoull(optarg, NULL, 10);
            break;
        case 'g':
            gpu = optarg;
            break;
        case 'n':
            runs = atoi(optarg);
            break;
        case 's':
            size = optarg;
            break;
        default:
            return 2;
        }
    }
    runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : runs;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    struct corun_workload_list *workloads = NULL;
    char data[4096];
    bool fine = list && corun_data_directory(data, sizeof data, list) == CORUN_OK &&
                corun_gpu_config_load(gpu, data, list, &config) == CORUN_OK &&
                corun_workload_list_create(data, list, &workloads) == CORUN_OK;
    double log_timed = 0, log_functional = 0;
    size_t count = fine ? argc > optind ? (size_t)(argc - optind) : corun_workload_list_count(workloads) : 0;
    printf("%-22s %14s %12s %9s %12s %12s %8s\n", "", "warp instr.", "cycles", "seconds", "M/s timed", "M/s function",
           "ratio");
    for (size_t i = 0; i < count && fine; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s%s",
                 argc > optind ? argv[optind + (int)i] : corun_workload_list_get(workloads, i)->name, size ? "@" : "",
                 size ? size : "");
        fine = measure(&config, name, data, runs, cycles, list, &log_timed, &log_functional);
    }
    if (fine && count) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        printf(
            "geometric mean of %zu: %.3f M warp instructions/s timed, %.2f functional, on %s, one thread; median of %d "
            "runs; peak memory %ld MB\n",
            count, exp(log_timed / (double)count) * 1e-6, exp(log_functional / (double)count) * 1e-6, config.name, runs,
            usage.ru_maxrss / 1024);
    }
    for (size_t i = 0; list && i < corun_diagnostics_count(list); i++)
        fprintf(stderr, "%s\n", corun_diagnostics_get(list, i)->message);
    corun_workload_list_destroy(workloads);
    corun_diagnostics_destroy(list);
    return fine ? 0 : 1;
}
