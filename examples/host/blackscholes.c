/* SPDX-License-Identifier: MIT */
/*
 * blackscholes: prices of European options by the formula of Black and Scholes (The Pricing of Options and Corporate Liabilities, 1973).
 * Stands for blackscholes of PARSEC: much arithmetic, little data, no communication.
 *
 * Data: 24 bytes an option, 65536 options, swept again and again; 1.5 MB stay in a way or two of a last-level cache. The normal distribution
 * is approximated by a polynomial (Abramowitz, Stegun: Handbook of Mathematical Functions, 26.2.17: error below 7.5e-8).
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum { TASK_OPTIONS = 1024 };

struct option {
    float price, strike, rate, volatility, years;
    uint32_t put;
};

struct market {
    struct option *options;
    float *values;
    uint32_t count, sweeps;
};

enum { OPTIONS = 65536 };

static void *create(uint32_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    struct market *market = program_allocate(1, sizeof *market);
    market->count = OPTIONS;
    market->options = program_allocate(OPTIONS, sizeof *market->options);
    market->values = program_allocate(OPTIONS, sizeof *market->values);
    return market;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct market *market = state;
    market->sweeps = size;
    for (uint32_t i = 0; i < market->count; i++)
        market->options[i] = (struct option){.price = 20 + 80 * program_random_float(seed, 6ull * i),
                                             .strike = 20 + 80 * program_random_float(seed, 6ull * i + 1),
                                             .rate = 0.01f + 0.09f * program_random_float(seed, 6ull * i + 2),
                                             .volatility = 0.05f + 0.6f * program_random_float(seed, 6ull * i + 3),
                                             .years = 0.1f + 2 * program_random_float(seed, 6ull * i + 4),
                                             .put = program_random(seed, 6ull * i + 5) & 1};
}

static float normal_distribution(float x)
{
    float t = 1 / (1 + 0.2316419f * fabsf(x));
    float sum = t * (0.319381530f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
    float tail = 0.39894228f * expf(-0.5f * x * x) * sum;
    return x < 0 ? tail : 1 - tail;
}

static float price(const struct option *option)
{
    float root = option->volatility * sqrtf(option->years);
    float above = (logf(option->price / option->strike) +
                   (option->rate + 0.5f * option->volatility * option->volatility) * option->years) /
                  root;
    float discounted = option->strike * expf(-option->rate * option->years);
    float call = option->price * normal_distribution(above) - discounted * normal_distribution(above - root);
    return option->put ? call - option->price + discounted : call;
}

static void price_some(void *user, uint32_t task)
{
    struct market *market = user;
    for (uint32_t i = task * TASK_OPTIONS; i < (task + 1) * TASK_OPTIONS; i++)
        market->values[i] = price(&market->options[i]);
}

static void run(void *state, struct tasks *tasks)
{
    struct market *market = state;
    tasks_span(tasks, 0, 1, market->sweeps);
    for (uint32_t sweep = 0; sweep < market->sweeps; sweep++)
        tasks_phase(tasks, "price", price_some, market, market->count / TASK_OPTIONS);
}

static double exact(const struct option *option)
{
    double root = (double)option->volatility * sqrt((double)option->years), strike = (double)option->strike;
    double above = (log((double)option->price / strike) +
                    ((double)option->rate + 0.5 * (double)option->volatility * (double)option->volatility) *
                        (double)option->years) /
                   root;
    double discounted = strike * exp(-(double)option->rate * (double)option->years);
    double call =
        (double)option->price * erfc(-above * M_SQRT1_2) / 2 - discounted * erfc((root - above) * M_SQRT1_2) / 2;
    return option->put ? call - (double)option->price + discounted : call;
}

static const char *check(const void *state)
{
    const struct market *market = state;
    for (uint32_t i = 0; i < market->count; i++)
        if (!(fabs(exact(&market->options[i]) - (double)market->values[i]) < 1e-3))
            return "a price differs from the one in double precision";
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct market *market = state;
    return program_fingerprint(0, market->values, market->count * sizeof *market->values);
}

static void destroy(void *state)
{
    struct market *market = state;
    free(market->options);
    free(market->values);
    free(market);
}

int main(int count, char **words)
{
    const struct program program = {.name = "blackscholes",
                                    .what = "prices of European options",
                                    .size_of = "sweeps",
                                    .batch = true,
                                    .size = 100,
                                    .least = 1,
                                    .most = 100000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
