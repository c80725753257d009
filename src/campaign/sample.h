/* SPDX-License-Identifier: MIT */
/* Samples of the mixes and goals of a campaign: a larger one contains every smaller one. */
#ifndef CORUN_CAMPAIGN_SAMPLE_H
#define CORUN_CAMPAIGN_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Chooses `count` of all combinations of `mixes` and `goals`: chosen[mix * goals + goal] becomes true or false. Every
 * goal gets the same number, or one less if it is among the last; which mixes is by chance, which `seed` decides. What
 * is chosen with `count` is also chosen with count + 1. False when out of memory.
 */
bool sample_choose(size_t mixes, size_t goals, uint64_t count, uint64_t seed, bool *chosen);

#endif
