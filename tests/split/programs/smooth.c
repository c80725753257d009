/* SPDX-License-Identifier: MIT */
/* A program that a user might write, for the tests of `corun exec` and `corun split`: smooth MODULE COUNT ROUNDS [TRAP] */
#include "corun/split.h"

#include <stdio.h>
#include <stdlib.h>

struct problem {
    unsigned long long count, trap;
    float *x, *y;
};

static float smooth(const float *x, unsigned long long count, unsigned long long i)
{
    float sum = 0;
    for (int offset = -32; offset <= 32; offset++) {
        long long place = (long long)i + offset;
        sum += place < 0 || place >= (long long)count ? 0.0f : x[place];
    }
    return sum * (1.0f / 65);
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        problem->y[i] = smooth(problem->x, problem->count, i);
    return CORUN_OK;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t x = corun_split_gpu_address(gpu, 0), y = corun_split_gpu_address(gpu, 1);
    void *arguments[] = {&x, &y, &begin, &end, &problem->count, &problem->trap};
    const uint32_t grid[] = {(uint32_t)((end - begin + 127) / 128), 1, 1}, block[] = {128, 1, 1};
    return corun_split_gpu_launch(gpu, "smooth", grid, block, 0, arguments);
}

static void around(void *user, uint64_t begin, uint64_t end, size_t *offset, size_t *bytes)
{
    struct problem *problem = user;
    uint64_t first = begin < 32 ? 0 : begin - 32, last = end + 32 > problem->count ? problem->count : end + 32;
    *offset = first * sizeof(float);
    *bytes = (last - first) * sizeof(float);
}

static int complain(const struct corun_diagnostics *diagnostics)
{
    for (size_t i = 0; i < corun_diagnostics_count(diagnostics); i++)
        fprintf(stderr, "smooth: %s\n", corun_diagnostics_get(diagnostics, i)->message);
    return 1;
}

int main(int count, char **arguments)
{
    if (count < 4)
        return 2;
    struct problem problem = {.count = strtoull(arguments[2], NULL, 10),
                              .trap = count > 4 ? strtoull(arguments[4], NULL, 10) : ~0ull};
    problem.x = malloc(problem.count * sizeof(float));
    problem.y = malloc(problem.count * sizeof(float));
    for (unsigned long long i = 0; i < problem.count; i++)
        problem.x[i] = (float)(i % 1000) * 0.001f;
    const struct corun_split_buffer buffers[] = {
        {.name = "x", .data = problem.x, .bytes = problem.count * 4, .range = around, .kept = true},
        {.name = "y",
         .data = problem.y,
         .bytes = problem.count * 4,
         .iteration_bytes = 4,
         .access = CORUN_SPLIT_WRITE}};
    const struct corun_split_task task = {.name = "smooth",
                                          .iterations = problem.count,
                                          .granularity = 128,
                                          .cpu = on_cpu,
                                          .gpu = on_gpu,
                                          .user = &problem,
                                          .buffers = buffers,
                                          .buffer_count = 2,
                                          .module_file = arguments[1]};
    struct corun_diagnostics *diagnostics = corun_diagnostics_create();
    struct corun_split *split;
    if (corun_split_create(&task, NULL, &split, diagnostics) != CORUN_OK)
        return complain(diagnostics);
    for (int round = 0; round < atoi(arguments[3]); round++) {
        for (unsigned long long i = 0; i < problem.count; i++)
            problem.y[i] = -1;
        if (corun_split_run(split, diagnostics) != CORUN_OK)
            return complain(diagnostics);
        const struct corun_split_result *result = corun_split_result(split);
        for (unsigned long long i = 0; i < problem.count; i++) {
            float difference = problem.y[i] - smooth(problem.x, problem.count, i);
            if (difference > 1e-5f || difference < -1e-5f) {
                fprintf(stderr, "smooth: element %llu is wrong\n", i);
                return 1;
            }
        }
        printf("round %d: %s, %u steps, %.1f us, %s\n", round, result->strategy, result->step_count,
               result->seconds * 1e6, result->simulated ? "simulated" : "wall");
        for (uint32_t d = 0; d < result->device_count; d++)
            printf("  %s: %llu iterations, %.1f us, %llu bytes in, %s\n", result->devices[d].name,
                   (unsigned long long)result->devices[d].iterations, result->devices[d].seconds * 1e6,
                   (unsigned long long)result->devices[d].bytes_in,
                   result->devices[d].failure ? result->devices[d].failure : "fine");
    }
    corun_split_destroy(split);
    corun_diagnostics_destroy(diagnostics);
    free(problem.x);
    free(problem.y);
    return 0;
}
