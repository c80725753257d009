/* SPDX-License-Identifier: MIT */
/*
 * pricing: prices of European options by the formulas of Black and Scholes (Blackscholes of the CUDA samples and of PARSEC).
 *
 * An iteration of the task is an option: twelve bytes in, eight out, and some hundred operations. On a GPU copies take most of
 * the time: the kind of task that moves what it reads, once. --tell=0 does not tell the library how many thread blocks it has.
 */
#include "pricing.h"
#include "common.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

enum { STOCKS, STRIKES, YEARS, CALLS, PUTS, BUFFERS };

struct problem {
    uint64_t n;
    float *values[BUFFERS];
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    float *const *values = problem->values;
    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        pricing_price(values[STOCKS][i], values[STRIKES][i], values[YEARS][i], &values[CALLS][i], &values[PUTS][i]);
    return CORUN_OK;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    uint64_t addresses[BUFFERS];
    (void)user;
    for (uint32_t i = 0; i < BUFFERS; i++)
        addresses[i] = corun_split_gpu_address(gpu, i);
    void *arguments[] = {
        &addresses[STOCKS], &addresses[STRIKES], &addresses[YEARS], &addresses[CALLS], &addresses[PUTS], &begin, &end};
    const uint32_t grid[] = {(uint32_t)((end - begin + PRICING_BLOCK - 1) / PRICING_BLOCK), 1, 1};
    const uint32_t block[] = {PRICING_BLOCK, 1, 1};
    return corun_split_gpu_launch(gpu, "price", grid, block, 0, arguments);
}

static void fill(const struct problem *problem)
{
    for (uint64_t i = 0; i < problem->n; i++) {
        problem->values[STOCKS][i] = 5 + 25 * example_random(3 * i);
        problem->values[STRIKES][i] = 1 + 99 * example_random(3 * i + 1);
        problem->values[YEARS][i] = 0.25f + 9.75f * example_random(3 * i + 2);
    }
}

static double normal(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

/* In double precision, with the C library's functions. */
static double error_of(const struct problem *problem, uint64_t i)
{
    float *const *values = problem->values;
    double stock = values[STOCKS][i], strike = values[STRIKES][i], years = values[YEARS][i];
    double deviation = (double)PRICING_VOLATILITY * sqrt(years);
    double first = (log(stock / strike) + (double)PRICING_DRIFT * years) / deviation, second = first - deviation;
    double discounted = strike * exp(-(double)PRICING_RATE * years);
    double call = stock * normal(first) - discounted * normal(second);
    double put = discounted * normal(-second) - stock * normal(-first);
    return fmax(fabs(values[CALLS][i] - call), fabs(values[PUTS][i] - put));
}

static double largest_error(const struct problem *problem)
{
    double most = 0;
    for (uint64_t i = 0; i < problem->n; i++)
        most = fmax(most, error_of(problem, i));
    return most;
}

int main(int count, char **words)
{
    struct example example = {.name = "pricing",
                              .what = "prices of European options",
                              .size_of = "options",
                              .size = 65536,
                              .full_size = 1000000,
                              .multiple = 1,
                              .rounds = 1};
    bool tell = options_take(&count, words, "tell", 1, 0, 1);
    example_begin(&example, count, words);
    struct problem problem = {.n = example.size};
    size_t bytes = problem.n * sizeof(float);
    struct corun_split_buffer buffers[BUFFERS] = {
        {.name = "stocks"},
        {.name = "strikes"},
        {.name = "years"},
        {.name = "calls", .access = CORUN_SPLIT_WRITE},
        {.name = "puts", .access = CORUN_SPLIT_WRITE},
    };
    for (int i = 0; i < BUFFERS; i++) {
        problem.values[i] = example_allocate(problem.n, sizeof(float));
        buffers[i].data = problem.values[i];
        buffers[i].bytes = bytes;
        buffers[i].iteration_bytes = sizeof(float);
    }
    fill(&problem);
    struct corun_split_task task = {.iterations = problem.n,
                                    .granularity = PRICING_BLOCK,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = tell ? 1.0 / PRICING_BLOCK : 0,
                                    .gpu_block_threads = tell ? PRICING_BLOCK : 0};
    example_create(&example, &task);
    double error = 0;
    for (uint32_t round = 0; round < example.rounds; round++) {
        memset(problem.values[CALLS], 0xff, bytes); /* not a number */
        memset(problem.values[PUTS], 0xff, bytes);
        example_run(&example);
        error = fmax(error, largest_error(&problem));
    }
    int status = example_end(&example, problem.values[CALLS], bytes, "largest error of a price", error, 1e-4);
    for (int i = 0; i < BUFFERS; i++)
        free(problem.values[i]);
    return status;
}
