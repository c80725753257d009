/* SPDX-License-Identifier: MIT */
/* Options and their values: the whole tree, one option after the other, in double precision. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

enum { OPTION_FIELDS = 5 }; /* price, strike, log_step, up, down */

static float uniform(uint64_t *state, float lowest, float highest)
{
    return lowest + (highest - lowest) * corun_random_unit(state);
}

static bool generate(const struct corun_problem *problem)
{
    int64_t count = corun_problem_value(problem, "options");
    int64_t steps = corun_problem_value(problem, "steps");
    if (count < 1 || steps < 32 || steps % 32 != 0)
        return false;
    float *options = corun_problem_data(problem, "options", CORUN_ELEMENT_F32, (uint64_t)count * OPTION_FIELDS);
    if (!options)
        return false;
    const double rate = 0.06;
    uint64_t state = problem->seed ^ UINT64_C(0x62696e6f6d000000);
    for (int64_t i = 0; i < count; i++) {
        float *option = options + i * OPTION_FIELDS;
        double years = uniform(&state, 0.25f, 10.0f);
        double volatility = uniform(&state, 0.1f, 0.4f);
        double step_years = years / (double)steps;
        double log_step = volatility * sqrt(step_years);
        double growth = exp(rate * step_years);
        double probability = (growth - exp(-log_step)) / (exp(log_step) - exp(-log_step));
        option[0] = uniform(&state, 5.0f, 30.0f);
        option[1] = option[0] * uniform(&state, 0.5f, 2.0f);
        option[2] = (float)log_step;
        option[3] = (float)(probability / growth);
        option[4] = (float)((1.0 - probability) / growth);
    }
    return true;
}

/* Of the numbers that the device gets: rounded probabilities, used 2048 times, are another model than exact ones. */
static double value_of(const float *option, int64_t steps, double *tree)
{
    double up = option[3], down = option[4];
    for (int64_t i = 0; i <= steps; i++) {
        double price = option[0] * exp((double)option[2] * (double)(2 * i - steps));
        tree[i] = price > option[1] ? price - option[1] : 0;
    }
    for (int64_t level = steps; level > 0; level--) {
        for (int64_t i = 0; i < level; i++)
            tree[i] = up * tree[i + 1] + down * tree[i];
    }
    return tree[0];
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t count = (uint64_t)corun_problem_value(problem, "options");
    int64_t steps = corun_problem_value(problem, "steps");
    const float *options = corun_problem_data(problem, "options", CORUN_ELEMENT_F32, count * OPTION_FIELDS);
    float *values = corun_problem_data(problem, "values", CORUN_ELEMENT_F32, count);
    double *tree = calloc((size_t)steps + 1, sizeof *tree);
    bool complete = options && values && tree;
    for (uint64_t i = 0; complete && i < count; i++)
        values[i] = (float)value_of(options + i * OPTION_FIELDS, steps, tree);
    free(tree);
    return complete;
}

const struct corun_reference corun_reference_binomial_options = {
    .name = "binomial-options",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"options", generate}, {0}},
};
