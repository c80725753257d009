/* SPDX-License-Identifier: MIT */
/*
 * The market, the random numbers, and values and their derivatives in double precision. Derivatives go forward here,
 * path by path: those of every rate and of everything made of them by one initial rate after the other, where the
 * kernel goes backward.
 */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_RATES = 80, MOST_MATURITIES = 40, OPTIONS = 15 };

static const double PERIOD = 0.25, NOTIONAL = 100;

struct market {
    int rates, maturities;
    const float *initial_rate, *volatility, *swap_rate;
    const int32_t *option_maturity;
};

/* A number and its derivatives by all initial rates. */
struct path {
    double rate[MOST_RATES];
    double by_initial[MOST_RATES][MOST_RATES]; /* [i][j]: of rate i by initial rate j; not 0 for j <= i only */
};

static bool market_of(const struct corun_problem *problem, struct market *market)
{
    market->rates = (int)corun_problem_value(problem, "rates");
    market->maturities = (int)corun_problem_value(problem, "maturities");
    if (market->rates < 2 || market->rates > MOST_RATES || market->maturities < 1 ||
        market->maturities > MOST_MATURITIES || market->rates - market->maturities > MOST_MATURITIES ||
        market->rates <= market->maturities)
        return false;
    uint64_t rates = (uint64_t)market->rates;
    market->initial_rate = corun_problem_data(problem, "initial_rate", CORUN_ELEMENT_F32, rates);
    market->volatility = corun_problem_data(problem, "volatility", CORUN_ELEMENT_F32, rates);
    market->option_maturity = corun_problem_data(problem, "option_maturity", CORUN_ELEMENT_S32, OPTIONS);
    market->swap_rate = corun_problem_data(problem, "swap_rate", CORUN_ELEMENT_F32, OPTIONS);
    return market->initial_rate && market->volatility && market->option_maturity && market->swap_rate;
}

/* The rates after the last fixing. normals[step * stride] */
static void follow_rates(const struct market *market, const float *normals, uint64_t stride, double *rate)
{
    for (int i = 0; i < market->rates; i++)
        rate[i] = market->initial_rate[i];
    for (int step = 0; step < market->maturities; step++) {
        double drift = 0, shock = sqrt(PERIOD) * normals[(uint64_t)step * stride];
        for (int i = step + 1; i < market->rates; i++) {
            double lambda = market->volatility[i - step - 1];
            drift += PERIOD * lambda * rate[i] / (1 + PERIOD * rate[i]);
            rate[i] *= exp(PERIOD * lambda * drift + lambda * (shock - 0.5 * PERIOD * lambda));
        }
    }
}

/* What swap k is worth at the last fixing, of a notional of 1. */
static double swap_value(const struct market *market, const double *rate, int k)
{
    double bond = 1, annuity = 0;
    for (int m = 0; m < market->option_maturity[k]; m++) {
        bond /= 1 + PERIOD * rate[market->maturities + m];
        annuity += PERIOD * bond;
    }
    return bond + market->swap_rate[k] * annuity - 1;
}

/*
 * The derivative of a payoff jumps where a swap is worth nothing. Single and double precision might see a swap there
 * on different sides: such a path is not used.
 */
static bool is_clear(const struct market *market, const float *normals, uint64_t stride)
{
    double rate[MOST_RATES];
    follow_rates(market, normals, stride, rate);
    for (int k = 0; k < OPTIONS; k++) {
        if (fabs(swap_value(market, rate, k)) < 1e-4)
            return false;
    }
    return true;
}

/* Box and Muller */
static float random_normal(uint64_t *state)
{
    double u = 1.0 - (double)corun_random_unit(state), v = corun_random_unit(state);
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

static bool generate(const struct corun_problem *problem)
{
    struct market market;
    uint64_t paths = (uint64_t)corun_problem_value(problem, "paths");
    if (!market_of(problem, &market))
        return false;
    int maturities = market.maturities, lengths = market.rates - maturities;
    float *normals = corun_problem_data(problem, "normals", CORUN_ELEMENT_F32, paths * (uint64_t)maturities);
    float *initial_rate = corun_problem_data(problem, "initial_rate", CORUN_ELEMENT_F32, 1);
    float *volatility = corun_problem_data(problem, "volatility", CORUN_ELEMENT_F32, 1);
    int32_t *option_maturity = corun_problem_data(problem, "option_maturity", CORUN_ELEMENT_S32, OPTIONS);
    float *swap_rate = corun_problem_data(problem, "swap_rate", CORUN_ELEMENT_F32, OPTIONS);
    if (!normals)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6c69626f72000000);
    for (int i = 0; i < market.rates; i++) {
        double years = PERIOD * i;
        initial_rate[i] = (float)(0.055 - 0.02 * exp(-years / 6)) + 0.001f * corun_random_unit(&state); /* rising */
        volatility[i] = (float)(0.12 + (0.04 + 0.06 * years) * exp(-years / 2));                        /* a hump */
    }
    /* five lengths, three rates about what swaps of such a market pay */
    for (int k = 0; k < OPTIONS; k++) {
        int length = lengths * (1 + k / 3) / 5;
        option_maturity[k] = length < 1 ? 1 : length;
        swap_rate[k] = 0.045f + 0.005f * (float)(k % 3) + 0.002f * corun_random_unit(&state);
    }
    for (uint64_t path = 0; path < paths; path++) {
        do {
            for (int step = 0; step < maturities; step++)
                normals[(uint64_t)step * paths + path] = random_normal(&state);
        } while (!is_clear(&market, normals + path, paths));
    }
    return true;
}

/* follow_rates with derivatives: of a product of the rate and an exponential whose exponent has derivatives itself. */
static void follow_path(const struct market *market, const float *normals, uint64_t stride, struct path *path)
{
    for (int i = 0; i < market->rates; i++) {
        path->rate[i] = market->initial_rate[i];
        for (int j = 0; j < market->rates; j++)
            path->by_initial[i][j] = i == j;
    }
    for (int step = 0; step < market->maturities; step++) {
        double drift = 0, shock = sqrt(PERIOD) * normals[(uint64_t)step * stride];
        double drift_by_initial[MOST_RATES] = {0};
        for (int i = step + 1; i < market->rates; i++) {
            double scaled = PERIOD * (double)market->volatility[i - step - 1];
            double bond = 1 / (1 + PERIOD * path->rate[i]);
            drift += scaled * path->rate[i] * bond;
            double growth = exp(scaled * drift + market->volatility[i - step - 1] * (shock - 0.5 * scaled));
            double grown = path->rate[i] * growth;
            double *by_initial = path->by_initial[i];
            for (int j = 1; j <= i; j++) {
                drift_by_initial[j] += scaled * bond * bond * by_initial[j];
                by_initial[j] = by_initial[j] * growth + grown * scaled * drift_by_initial[j];
            }
            path->rate[i] = grown;
        }
    }
}

/* The value of the portfolio, and its derivatives by the rates after the last fixing. */
static double portfolio(const struct market *market, const double *rate, double *by_rate)
{
    double value = 0, discount = 1;
    int last = market->maturities;
    for (int i = 0; i < market->rates; i++)
        by_rate[i] = 0;
    for (int i = 0; i < last; i++)
        discount /= 1 + PERIOD * rate[i];
    for (int k = 0; k < OPTIONS; k++) {
        double swap = swap_value(market, rate, k);
        if (swap >= 0)
            continue;
        value -= NOTIONAL * discount * swap;
        /* every payment at or after period m falls by PERIOD / (1 + PERIOD * rate) of itself for a rise of that rate */
        double bond = 1, payments[MOST_MATURITIES] = {0};
        int length = market->option_maturity[k];
        for (int m = 0; m < length; m++) {
            bond /= 1 + PERIOD * rate[last + m];
            payments[m] = PERIOD * market->swap_rate[k] * bond;
        }
        payments[length - 1] += bond;
        double from_here = 0;
        for (int m = length - 1; m >= 0; m--) {
            from_here += payments[m];
            by_rate[last + m] += NOTIONAL * discount * from_here * PERIOD / (1 + PERIOD * rate[last + m]);
        }
    }
    for (int i = 0; i < last; i++)
        by_rate[i] = -value * PERIOD / (1 + PERIOD * rate[i]);
    return value;
}

static bool compute(const struct corun_problem *problem)
{
    struct market market;
    uint64_t paths = (uint64_t)corun_problem_value(problem, "paths");
    struct path *path = malloc(sizeof *path);
    if (!path || !market_of(problem, &market)) {
        free(path);
        return false;
    }
    uint64_t rates = (uint64_t)market.rates;
    const float *normals =
        corun_problem_data(problem, "normals", CORUN_ELEMENT_F32, paths * (uint64_t)market.maturities);
    float *values = corun_problem_data(problem, "values", CORUN_ELEMENT_F32, paths);
    float *values_again = corun_problem_data(problem, "values_again", CORUN_ELEMENT_F32, paths);
    float *sensitivities = corun_problem_data(problem, "sensitivities", CORUN_ELEMENT_F32, paths * rates);
    bool complete = normals && values && values_again && sensitivities;
    for (uint64_t p = 0; complete && p < paths; p++) {
        double by_rate[MOST_RATES] = {0}, by_initial[MOST_RATES] = {0};
        follow_path(&market, normals + p, paths, path);
        values[p] = values_again[p] = (float)portfolio(&market, path->rate, by_rate);
        for (int i = 0; i < market.rates; i++) {
            for (int j = 0; j <= i; j++)
                by_initial[j] += by_rate[i] * path->by_initial[i][j];
        }
        for (uint64_t j = 0; j < rates; j++)
            sensitivities[j * paths + p] = (float)by_initial[j];
    }
    free(path);
    return complete;
}

const struct corun_reference corun_reference_lib = {
    .name = "lib",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"market", generate}, {0}},
};
