/* SPDX-License-Identifier: MIT */
/*
 * The same task divided by corun/split.h and by StarPU 1.3, on the CPU's threads: wall time, median of runs.
 *
 *     bench_starpu [THREADS]        the default is 2
 *
 * StarPU's task is one codelet over a vector that is partitioned into blocks, 4 and 32 for each worker; the scheduler is the one of
 * STARPU_SCHED (its default is lws). Its vector is registered once, partitioned and gathered in every run.
 */
#include "corun/split.h"
#include "medians.h"
#include "split/clock.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 15
#define REACH 32

struct problem {
    uint64_t count;
    const float *x;
    float *y;
};

static void smooth(const struct problem *problem, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        float sum = 0;
        uint64_t first = i < REACH ? 0 : i - REACH, last = i + REACH >= problem->count ? problem->count - 1 : i + REACH;
        for (uint64_t k = first; k <= last; k++)
            sum += problem->x[k];
        problem->y[i] = sum * (1.0f / (2 * REACH + 1));
    }
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    (void)thread;
    smooth(user, begin, end);
    return CORUN_OK;
}

static void starpu_block(void *buffers[], void *argument)
{
    struct problem *problem;
    starpu_codelet_unpack_args(argument, &problem);
    uint64_t begin = (uint64_t)((float *)STARPU_VECTOR_GET_PTR(buffers[0]) - problem->y);
    smooth(problem, begin, begin + STARPU_VECTOR_GET_NX(buffers[0]));
}

static double serial(struct problem *problem)
{
    double seconds[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double before = clock_seconds();
        smooth(problem, 0, problem->count);
        seconds[i] = clock_seconds() - before;
    }
    return median(seconds, RUNS);
}

static double ours(struct problem *problem, uint32_t threads)
{
    const struct corun_split_task task = {
        .name = "smooth", .iterations = problem->count, .granularity = 16, .cpu = on_cpu, .user = problem};
    const struct corun_split_options options = {.threads = threads, .no_gpu = true};
    struct corun_split *split;
    double seconds[RUNS];
    if (corun_split_create(&task, &options, &split, NULL) != CORUN_OK)
        return 0;
    for (int i = 0; i < RUNS; i++) {
        double before = clock_seconds();
        if (corun_split_run(split, NULL) != CORUN_OK)
            return 0;
        seconds[i] = clock_seconds() - before;
    }
    corun_split_destroy(split);
    return median(seconds, RUNS);
}

static double theirs(struct problem *problem, unsigned blocks)
{
    struct starpu_codelet codelet = {.cpu_funcs = {starpu_block}, .nbuffers = 1, .modes = {STARPU_W}};
    struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block, .nchildren = blocks};
    starpu_data_handle_t vector;
    double seconds[RUNS];
    starpu_resume();
    starpu_vector_data_register(&vector, STARPU_MAIN_RAM, (uintptr_t)problem->y, (uint32_t)problem->count,
                                sizeof(float));
    for (int i = 0; i < RUNS; i++) {
        double before = clock_seconds();
        starpu_data_partition(vector, &filter);
        for (unsigned b = 0; b < blocks; b++)
            if (starpu_task_insert(&codelet, STARPU_W, starpu_data_get_sub_data(vector, 1, b), STARPU_VALUE, &problem,
                                   sizeof problem, 0))
                return 0;
        starpu_task_wait_for_all();
        starpu_data_unpartition(vector, STARPU_MAIN_RAM);
        seconds[i] = clock_seconds() - before;
    }
    starpu_data_unregister(vector);
    starpu_pause();
    return median(seconds, RUNS);
}

int main(int count, char **arguments)
{
    uint32_t threads = count > 1 ? (uint32_t)atoi(arguments[1]) : 2;
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = (int)threads;
    conf.ncuda = conf.nopencl = 0;
    if (threads < 1 || threads > 256 || starpu_init(&conf))
        return 1;
    starpu_pause(); /* its idle workers poll, which would slow down the others */
    printf("%u threads, median of %d runs\n\n| elements | one thread | corun/split.h | StarPU, %u blocks | StarPU, %u "
           "blocks |\n|--:|--:|--:|--:|--:|\n",
           threads, RUNS, 4 * threads, 32 * threads);
    for (uint64_t elements = 10000; elements <= 10000000; elements *= 10) {
        struct problem problem = {.count = elements};
        float *x = malloc(elements * sizeof *x);
        problem.y = malloc(elements * sizeof *problem.y);
        for (uint64_t i = 0; i < elements; i++)
            x[i] = (float)(i % 1000);
        problem.x = x;
        double alone = serial(&problem), mine = ours(&problem, threads), few = theirs(&problem, 4 * threads);
        printf("| %llu | %.3f ms | %.3f ms | %.3f ms | %.3f ms |\n", (unsigned long long)elements, 1e3 * alone,
               1e3 * mine, 1e3 * few, 1e3 * theirs(&problem, 32 * threads));
        free(x);
        free(problem.y);
    }
    starpu_resume();
    starpu_shutdown();
    return 0;
}
