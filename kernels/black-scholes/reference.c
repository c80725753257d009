/* SPDX-License-Identifier: MIT */
/* Black-Scholes prices in double precision, with the error function instead of a polynomial. */
#include "corun/workload.h"

#include <math.h>

static double cumulative_normal(double d)
{
    return 0.5 * erfc(-d * 0.70710678118654752440);
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t options = (uint64_t)corun_problem_value(problem, "options");
    const float *price = corun_problem_data(problem, "price", CORUN_ELEMENT_F32, options);
    const float *strike = corun_problem_data(problem, "strike", CORUN_ELEMENT_F32, options);
    const float *years = corun_problem_data(problem, "years", CORUN_ELEMENT_F32, options);
    float *call = corun_problem_data(problem, "call", CORUN_ELEMENT_F32, options);
    float *put = corun_problem_data(problem, "put", CORUN_ELEMENT_F32, options);
    if (!price || !strike || !years || !call || !put)
        return false;
    const double rate = 0.02, volatility = 0.3; /* as in the description */
    for (uint64_t i = 0; i < options; i++) {
        double deviation = volatility * sqrt((double)years[i]);
        double growth = (rate + 0.5 * volatility * volatility) * (double)years[i];
        double d1 = (log((double)price[i] / (double)strike[i]) + growth) / deviation;
        double d2 = d1 - deviation;
        double discounted = (double)strike[i] * exp(-rate * (double)years[i]);
        call[i] = (float)((double)price[i] * cumulative_normal(d1) - discounted * cumulative_normal(d2));
        put[i] = (float)(discounted * cumulative_normal(-d2) - (double)price[i] * cumulative_normal(-d1));
    }
    return true;
}

const struct corun_reference corun_reference_black_scholes = {.name = "black-scholes", .compute = compute};
