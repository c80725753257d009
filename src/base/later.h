/* SPDX-License-Identifier: MIT */
/* Of two times, in whatever unit. */
#ifndef CORUN_BASE_LATER_H
#define CORUN_BASE_LATER_H

#include <stdint.h>

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
