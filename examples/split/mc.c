/* SPDX-License-Identifier: MIT */
/*
 * mc: the price of a European call option by simulation: the average payoff over random paths of the stock.
 *
 * An iteration of the task is a path; parts are whole granules of 1024 of them, and each granule has a sum of its own, which
 * the program adds up. Path and payoff are functions of the path's number, the same on CPU and GPU, and payoffs are integers
 * (option.h): so the result does not depend on the split.
 *
 *     nvcc -ptx -arch=compute_52 mc.cu
 *     cc -O3 -march=native -fno-math-errno -fno-trapping-math mc.c common.c -o mc \
 *         $(pkg-config --cflags --libs corun-split) -lm
 */
#include "common.h"
#include "option.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 64 };          /* paths that the CPU computes side by side */
enum { PAUSE = 256 };         /* paths after which it asks whether they are needed */
enum { BLOCK_THREADS = 256 }; /* a thread block of mc.cu, which takes a granule */

static const double rate = 0.05, volatility = 0.2, years = 1;

struct problem {
    struct option option;
    uint64_t *sums; /* for each granule */
    const struct corun_split *split;
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    const struct option option = problem->option;
    for (uint64_t granule = begin / OPTION_GRANULE; granule < end / OPTION_GRANULE; granule++) {
        uint64_t sum = 0;
        for (uint64_t first = granule * OPTION_GRANULE; first < (granule + 1) * OPTION_GRANULE; first += GROUP) {
            if (!(first % PAUSE) && corun_split_unneeded(problem->split, thread))
                return CORUN_OK;
            int payoffs[GROUP];
            for (uint32_t i = 0; i < GROUP; i++)
                payoffs[i] = option_payoff(&option, (uint32_t)first + i, (uint32_t)(first >> 32));
            for (uint32_t i = 0; i < GROUP; i++)
                sum += (uint32_t)payoffs[i];
        }
        problem->sums[granule] = sum;
    }
    return CORUN_OK;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t sums = corun_split_gpu_address(gpu, 0);
    void *arguments[] = {&sums, &problem->option, &begin, &end};
    const uint32_t grid[] = {(uint32_t)((end - begin) / OPTION_GRANULE), 1, 1}, block[] = {BLOCK_THREADS, 1, 1};
    return corun_split_gpu_launch(gpu, "simulate", grid, block, 0, arguments);
}

static void sums_of(void *user, uint64_t begin, uint64_t end, size_t *offset, size_t *bytes)
{
    (void)user;
    *offset = begin / OPTION_GRANULE * sizeof(uint64_t);
    *bytes = (end - begin) / OPTION_GRANULE * sizeof(uint64_t);
}

/* The payoff of a path, in double precision and with the functions of the C library. */
static double exact_payoff(uint64_t path)
{
    unsigned int first, second;
    option_random((unsigned int)path, (unsigned int)(path >> 32), &first, &second);
    double radius = sqrt(-2 * log((double)option_uniform(first)));
    double normal = radius * cos(2 * M_PI * ((double)option_uniform(second) - 0.5));
    double growth = exp((rate - volatility * volatility / 2) * years + volatility * sqrt(years) * normal);
    return fmax(100 * growth - 105, 0);
}

/* The largest error of the sums of some granules. */
static double largest_error(const struct problem *problem, uint64_t granules)
{
    uint64_t samples = granules < 256 ? granules : 256;
    double most = 0;
    for (uint64_t s = 0; s < samples; s++) {
        uint64_t granule = s * granules / samples;
        double sum = 0;
        for (uint64_t i = 0; i < OPTION_GRANULE; i++)
            sum += exact_payoff(granule * OPTION_GRANULE + i);
        most = fmax(most, fabs((double)problem->sums[granule] / OPTION_UNIT / sum - 1));
    }
    return most;
}

/* The formula of Black and Scholes. */
static double exact_price(void)
{
    double deviation = volatility * sqrt(years);
    double d = (log(100. / 105) + (rate + volatility * volatility / 2) * years) / deviation;
    return (100 * erfc(-d / M_SQRT2) - 105 * exp(-rate * years) * erfc(-(d - deviation) / M_SQRT2)) / 2;
}

int main(int count, char **words)
{
    struct example example = {.name = "mc",
                              .what = "price of a European option",
                              .size_of = "paths",
                              .size = 1 << 20,
                              .full_size = 1 << 26,
                              .multiple = OPTION_GRANULE};
    example_begin(&example, count, words);
    uint64_t granules = example.size / OPTION_GRANULE;
    struct problem problem = {.option = {.price = 100,
                                         .strike = 105,
                                         .mean = (float)((rate - volatility * volatility / 2) * years),
                                         .deviation = (float)(volatility * sqrt(years))},
                              .sums = example_allocate(granules, sizeof(uint64_t))};
    const struct corun_split_buffer sums = {.name = "sums",
                                            .data = problem.sums,
                                            .bytes = granules * sizeof(uint64_t),
                                            .access = CORUN_SPLIT_WRITE,
                                            .range = sums_of};
    struct corun_split_task task = {.iterations = example.size,
                                    .granularity = OPTION_GRANULE,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = &sums,
                                    .buffer_count = 1,
                                    .gpu_blocks = 1.0 / OPTION_GRANULE,
                                    .gpu_block_threads = BLOCK_THREADS};
    example_create(&example, &task);
    problem.split = example.split;
    example_run(&example);
    uint64_t total = 0;
    for (uint64_t i = 0; i < granules; i++)
        total += problem.sums[i];
    printf("price %.6f, by the formula of Black and Scholes %.6f\n",
           exp(-rate * years) * (double)total / OPTION_UNIT / (double)example.size, exact_price());
    int status = example_end(&example, problem.sums, granules * sizeof(uint64_t), "largest error of a sum",
                             largest_error(&problem, granules), 1e-5);
    free(problem.sums);
    return status;
}
