/* SPDX-License-Identifier: MIT */
/* Payoffs of a call option over random paths, in double precision from the same random words. */
#include "corun/workload.h"

#include <math.h>

#define PATHS 4096 /* summed together */

static const double pi = 3.14159265358979323846;

static bool generate(const struct corun_problem *problem)
{
    float *option = corun_problem_data(problem, "option", CORUN_ELEMENT_F32, 4);
    uint32_t *key = corun_problem_data(problem, "key", CORUN_ELEMENT_U32, 2);
    if (!option || !key)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6f7074696f6e0000);
    double price = 20.0 + 80.0 * (double)corun_random_unit(&state);
    double strike = price * (0.9 + 0.4 * (double)corun_random_unit(&state));
    double years = 0.5 + 2.5 * (double)corun_random_unit(&state);
    double rate = 0.01 + 0.05 * (double)corun_random_unit(&state);
    double volatility = 0.15 + 0.25 * (double)corun_random_unit(&state);
    option[0] = (float)price;
    option[1] = (float)strike;
    option[2] = (float)((rate - 0.5 * volatility * volatility) * years);
    option[3] = (float)(volatility * sqrt(years));
    uint64_t random = corun_random(&state);
    key[0] = (uint32_t)random;
    key[1] = (uint32_t)(random >> 32);
    return true;
}

/* Philox 4x32-10 of the counter (number, 0, 0, 0): two products of 64 bits a round. */
static void random_words(uint32_t number, const uint32_t key[2], uint32_t words[4])
{
    words[0] = number;
    words[1] = words[2] = words[3] = 0;
    for (uint32_t round = 0; round < 10; round++) {
        uint64_t left = UINT64_C(0xd2511f53) * words[0];
        uint64_t right = UINT64_C(0xcd9e8d57) * words[2];
        words[0] = (uint32_t)(right >> 32) ^ words[1] ^ (key[0] + round * 0x9e3779b9u);
        words[2] = (uint32_t)(left >> 32) ^ words[3] ^ (key[1] + round * 0xbb67ae85u);
        words[1] = (uint32_t)right;
        words[3] = (uint32_t)left;
    }
}

static double unit(uint32_t word)
{
    return ((double)(word >> 9) + 0.5) / 8388608.0;
}

/* The normal number of a path: the word before the last bit of its number for the radius, the other for the angle. */
static double normal(const uint32_t words[4], unsigned path)
{
    const uint32_t *pair = words + (path & 2);
    double radius = sqrt(-2.0 * log(unit(pair[0])));
    double angle = 2.0 * pi * (unit(pair[1]) - 0.5);
    return radius * (path & 1 ? sin(angle) : cos(angle));
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t first = (uint64_t)corun_problem_value(problem, "first");
    uint64_t count = (uint64_t)corun_problem_value(problem, "simulated");
    uint64_t parts = (first + count + PATHS - 1) / PATHS;
    const float *option = corun_problem_data(problem, "option", CORUN_ELEMENT_F32, 4);
    const uint32_t *key = corun_problem_data(problem, "key", CORUN_ELEMENT_U32, 2);
    float *sums = corun_problem_data(problem, "sums", CORUN_ELEMENT_F32, 2 * parts);
    if (!option || !key || !sums)
        return false;
    for (uint64_t part = first / PATHS; part < parts; part++) {
        double sum = 0, squares = 0;
        uint64_t from = part * PATHS, to = from + PATHS;
        uint32_t words[4];
        for (uint64_t path = from; path < to; path++) {
            if (path % 4 == 0)
                random_words((uint32_t)(path / 4), key, words);
            if (path < first || path - first >= count)
                continue;
            double growth = exp((double)option[2] + (double)option[3] * normal(words, path % 4));
            double payoff = (double)option[0] * growth - (double)option[1];
            if (payoff > 0) {
                sum += payoff;
                squares += payoff * payoff;
            }
        }
        sums[2 * part] += (float)sum;
        sums[2 * part + 1] += (float)squares;
    }
    return true;
}

const struct corun_reference corun_reference_monte_carlo = {
    .name = "monte-carlo",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"option", generate}, {0}},
};
