/* SPDX-License-Identifier: MIT */
/* Binomial distributions without their tails. */
#ifndef CORUN_MODEL_BINOMIAL_H
#define CORUN_MODEL_BINOMIAL_H

#include <stdint.h>

#define BINOMIAL_MAX 64u

/* Probabilities of first … last; they sum up to 1. */
struct binomial {
    uint32_t first, last;
    double p[BINOMIAL_MAX + 1]; /* p[k - first] */
};

/* n up to BINOMIAL_MAX, chance 0 to 1. Values below `tail` times the most likely one are left out, at both ends. */
void binomial_make(uint32_t n, double chance, double tail, struct binomial *binomial);

#endif
