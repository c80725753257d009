/* SPDX-License-Identifier: MIT */
/*
 * Prices of a European call and put option by the formulas of Black and Scholes, alike on CPU (pricing.c) and GPU (pricing.cu):
 * no product is added to anything but by fmaf, so that no compiler can fuse more or less.
 */
#ifndef BENCH_SPLIT_PRICING_H
#define BENCH_SPLIT_PRICING_H

#include "../../examples/split/option.h"

enum { PRICING_BLOCK = 128 }; /* options of a thread block; one is a thread */

#define PRICING_RATE 0.02f      /* of interest, in a year */
#define PRICING_VOLATILITY 0.3f /* of the stock */
#define PRICING_DRIFT 0.065f    /* rate and half the square of the volatility */

/* The standard normal distribution: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17. */
OPTION_FUNCTION float pricing_normal(float x)
{
    float size = x < 0 ? -x : x, step = 1.0f / fmaf(0.2316419f, size, 1.0f), exponent = -0.5f * x * x;
    float sum = fmaf(step, 1.330274429f, -1.821255978f);
    sum = fmaf(sum, step, 1.781477937f);
    sum = fmaf(sum, step, -0.356563782f);
    sum = fmaf(sum, step, 0.319381530f);
    float tail = 0.39894228f * option_exp(exponent < -79.0f ? -79.0f : exponent) * (sum * step);
    return x > 0 ? 1.0f - tail : tail;
}

OPTION_FUNCTION void pricing_price(float stock, float strike, float years, float *call, float *put)
{
    float deviation = PRICING_VOLATILITY * sqrtf(years);
    float first = fmaf(PRICING_DRIFT, years, option_log(stock / strike)) / deviation, second = first - deviation;
    float of_stock = pricing_normal(first), of_strike = pricing_normal(second);
    float discounted = option_exp(-PRICING_RATE * years) * strike;
    *call = fmaf(stock, of_stock, -(discounted * of_strike));
    *put = fmaf(discounted, 1.0f - of_strike, -(stock * (1.0f - of_stock)));
}

#endif
