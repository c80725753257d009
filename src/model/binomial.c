/* SPDX-License-Identifier: MIT */
/*
 * From the most likely value outwards, by the ratio of neighbours; without logarithms, and nothing can run out of the range of a double.
 * Divisions by whole numbers are what would take most of the time: they come from a table.
 */
#include "model/binomial.h"

#define R(k) 1.0 / (k)
#define R8(k) R(k), R(k + 1), R(k + 2), R(k + 3), R(k + 4), R(k + 5), R(k + 6), R(k + 7)

static const double reciprocals[] = {0, R8(1), R8(9), R8(17), R8(25), R8(33), R8(41), R8(49), R8(57)};

void binomial_make(uint32_t n, double chance, double tail, struct binomial *binomial)
{
    if (n == 0 || chance <= 0 || chance >= 1) {
        binomial->first = binomial->last = chance >= 1 ? n : 0;
        binomial->p[0] = 1;
        return;
    }
    double values[BINOMIAL_MAX + 1], up = chance / (1 - chance), down = (1 - chance) / chance, sum = 1, value = 1;
    uint32_t mode = (uint32_t)((n + 1) * chance), first, last;
    mode = mode < n ? mode : n;
    values[mode] = 1;
    for (first = mode; first > 0; first--) {
        value *= first * reciprocals[n - first + 1] * down;
        if (value < tail)
            break;
        values[first - 1] = value;
        sum += value;
    }
    value = 1;
    for (last = mode; last < n; last++) {
        value *= (n - last) * reciprocals[last + 1] * up;
        if (value < tail)
            break;
        values[last + 1] = value;
        sum += value;
    }
    binomial->first = first;
    binomial->last = last;
    double scale = 1 / sum;
    for (uint32_t k = first; k <= last; k++)
        binomial->p[k - first] = values[k] * scale;
}
