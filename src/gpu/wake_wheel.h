/* SPDX-License-Identifier: MIT */
/*
 * The timing wheel of an SM: at which cycles which warps have to be looked at again. A slot is one cycle, its content a
 * mask of warps, so that setting and taking are a few instructions. A wake-up farther away than the wheel is long is put
 * in its last slot: whoever takes it finds the warp not ready yet and sets it again.
 */
#ifndef CORUN_GPU_WAKE_WHEEL_H
#define CORUN_GPU_WAKE_WHEEL_H

#include "base/bits.h"
#include "gpu/clock.h"

#define WHEEL_SLOTS 512u

struct wake_wheel {
    uint64_t warps[WHEEL_SLOTS];
    uint64_t occupied[WHEEL_SLOTS / 64]; /* slots that are not empty */
    uint32_t count;                      /* how many */
};

/* `cycle` must be after `now`. */
static inline void wheel_set(struct wake_wheel *wheel, uint64_t now, uint64_t cycle, uint32_t warp)
{
    if (cycle - now >= WHEEL_SLOTS)
        cycle = now + WHEEL_SLOTS - 1;
    uint32_t slot = (uint32_t)cycle % WHEEL_SLOTS;
    wheel->count += !wheel->warps[slot]; /* whether others have the slot is anybody's guess: no branch */
    bits_set(wheel->occupied, slot);
    wheel->warps[slot] |= UINT64_C(1) << warp;
}

static inline uint64_t wheel_take(struct wake_wheel *wheel, uint64_t now)
{
    uint32_t slot = (uint32_t)now % WHEEL_SLOTS;
    uint64_t warps = wheel->warps[slot];
    if (warps) {
        wheel->warps[slot] = 0;
        bits_clear(wheel->occupied, slot);
        wheel->count--;
    }
    return warps;
}

/* The first cycle after `now` with a wake-up, NEVER if there is none. */
static inline uint64_t wheel_next(const struct wake_wheel *wheel, uint64_t now)
{
    if (!wheel->count)
        return NEVER;
    uint32_t start = (uint32_t)(now + 1) % WHEEL_SLOTS;
    uint32_t word = start / 64;
    uint64_t bits = wheel->occupied[word] & ~UINT64_C(0) << (start % 64);
    while (!bits) { /* ends: some slot is occupied, the first word's low part included on the way round */
        word = (word + 1) % (WHEEL_SLOTS / 64);
        bits = wheel->occupied[word];
    }
    uint32_t slot = word * 64 + lowest_bit(bits);
    return now + 1 + (slot - start) % WHEEL_SLOTS;
}

#endif
