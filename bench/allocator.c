/* SPDX-License-Identifier: MIT */
/*
 * What EMU's allocator costs: processor time of the two binary searches before a query runs, with models of the samples that
 * `corun host` takes of a service (1536 on the default host), by kind. The decision that it belongs to: at most 100 us. Usage: bench_allocator [REPETITIONS]
 */
#include "allot/emu_search.h"
#include "host/arrivals.h"
#include "host/learned.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SIZES 16u
#define CORES 12u
#define WAYS 8u

/* Durations that fall with cores and ways: what they are changes nothing of the cost. */
static void fill(struct corun_host_sample *samples)
{
    for (uint32_t i = 0; i < SIZES * CORES * WAYS; i++) {
        uint32_t cores = 1 + i % CORES, ways = 2 + 2 * (i / CORES % WAYS);
        uint32_t step = i / (CORES * WAYS);
        double size = 1.0 + step;
        samples[i] =
            (struct corun_host_sample){size, cores, ways, {1e7 * size / cores * (1 + 1.0 / ways), cores * 1.5}};
    }
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void measure(const struct corun_host_model *model, uint32_t repetitions)
{
    struct host_random random = host_random_of(1, 1);
    uint32_t cores = 0;
    double begin = processor_seconds();
    for (uint32_t i = 0; i < repetitions; i++) {
        double size = 1 + 15 * host_random_next(&random), limit_ns = 0.8 * 150e6 * host_random_next(&random);
        cores += emu_search(model, size, limit_ns, (struct corun_host_share){12, 16}).cores;
    }
    double seconds = processor_seconds() - begin;
    printf("%-8s two searches: %.1f us of processor time on average, %.2f cores found\n", model->name,
           seconds / repetitions * 1e6, (double)cores / repetitions);
}

int main(int argc, char **argv)
{
    static struct corun_host_sample samples[SIZES * CORES * WAYS];
    struct corun_host_model models[HOST_LEARNED_MODELS];
    struct predictor *predictor = NULL;
    uint32_t repetitions = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
    struct arena *arena = arena_create();
    fill(samples);
    if (!arena || host_learn(samples, SIZES * CORES * WAYS, 1, arena, NULL, &predictor, models)) {
        fputs("the models cannot be learned\n", stderr);
        return 1;
    }
    for (uint32_t i = 0; i < HOST_LEARNED_MODELS; i++)
        measure(&models[i], repetitions);
    predictor_destroy(predictor);
    arena_destroy(arena);
    return 0;
}
