/* SPDX-License-Identifier: MIT */
/* Counts per bin, not above 255. */
#include "corun/workload.h"

#include <stdlib.h>

/* About normal: the sum of twelve uniform numbers in [-0.5, 0.5). */
static double random_normal(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (double)corun_random_unit(state) - 0.5;
    return sum;
}

/* 5 % of the inputs in one bin, 25 % and 60 % in two peaks around it, the rest anywhere. */
static uint32_t random_bin(int64_t bins, uint64_t *state)
{
    uint64_t kind = corun_random(state) % 100;
    if (kind >= 90)
        return (uint32_t)(corun_random(state) % (uint64_t)bins);
    double deviation = kind < 5 ? 0 : kind < 30 ? 64 : 4096;
    int64_t bin = bins / 2 + (int64_t)(deviation * random_normal(state));
    return (uint32_t)(bin < 0 ? 0 : bin >= bins ? bins - 1 : bin);
}

static bool generate(const struct corun_problem *problem)
{
    int64_t inputs = corun_problem_value(problem, "inputs");
    int64_t bins = corun_problem_value(problem, "bins");
    uint32_t *input = corun_problem_data(problem, "input", CORUN_ELEMENT_U32, (uint64_t)inputs);
    uint32_t *range = corun_problem_data(problem, "range", CORUN_ELEMENT_U32, 2);
    if (!input || !range || bins < 4 || bins % 4 != 0 || bins > INT32_MAX)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x696d616765000000);
    for (int64_t i = 0; i < inputs; i++)
        input[i] = random_bin(bins, &state);
    range[0] = UINT32_MAX; /* nothing seen yet */
    range[1] = 0;
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t inputs = (uint64_t)corun_problem_value(problem, "inputs");
    uint64_t bins = (uint64_t)corun_problem_value(problem, "bins");
    const uint32_t *input = corun_problem_data(problem, "input", CORUN_ELEMENT_U32, inputs);
    uint8_t *result = corun_problem_data(problem, "result", CORUN_ELEMENT_U8, bins);
    if (!input || !result)
        return false;
    memset(result, 0, bins);
    for (uint64_t i = 0; i < inputs; i++) {
        if (result[input[i]] < 255)
            result[input[i]]++;
    }
    return true;
}

const struct corun_reference corun_reference_histogram = {
    .name = "histogram",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"image", generate}, {0}},
};
