/* SPDX-License-Identifier: MIT */
/*
 * The timing wheel of an SM: at which cycles which warps are ready, or have to be looked at again. A slot is one cycle, its content a
 * mask of warps, so that setting and taking are a few instructions. A wake-up farther away than the wheel is long is put
 * in its last slot: whoever takes it finds the warp not ready yet and sets it again.
 *
 * Most wait for a result of a few cycles, and nothing can keep it from them: `ready` has those, for the next cycles, and nobody looks at
 * them. Whoever lets such a warp wait for something else before calls wheel_doubt.
 */
#ifndef CORUN_GPU_WAKE_WHEEL_H
#define CORUN_GPU_WAKE_WHEEL_H

#include "base/bits.h"
#include "gpu/clock.h"

#define WHEEL_SLOTS 512u
#define WHEEL_READY_SLOTS 64u

struct wake_wheel {
    uint64_t ready[WHEEL_READY_SLOTS];
    uint64_t ready_slots;                /* those that are not empty: a mask */
    uint64_t occupied[WHEEL_SLOTS / 64]; /* the same of `warps` */
    uint32_t count;                      /* how many */
    uint64_t warps[WHEEL_SLOTS];
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

/* The warp is ready at `cycle`, which is after now and less than WHEEL_READY_SLOTS away. */
static inline void wheel_set_ready(struct wake_wheel *wheel, uint64_t cycle, uint32_t warp)
{
    uint32_t slot = (uint32_t)cycle % WHEEL_READY_SLOTS;
    wheel->ready[slot] |= UINT64_C(1) << warp;
    wheel->ready_slots |= UINT64_C(1) << slot;
}

/* If the warp was to be ready at `cycle`, it is looked at then. */
static inline void wheel_doubt(struct wake_wheel *wheel, uint64_t now, uint64_t cycle, uint32_t warp)
{
    uint32_t slot = (uint32_t)cycle % WHEEL_READY_SLOTS;
    if (!(wheel->ready[slot] >> warp & 1u))
        return;
    wheel->ready[slot] &= ~(UINT64_C(1) << warp);
    if (!wheel->ready[slot])
        wheel->ready_slots &= ~(UINT64_C(1) << slot);
    wheel_set(wheel, now, cycle, warp);
}

/* Those that are ready at `now`. */
static inline uint64_t wheel_take_ready(struct wake_wheel *wheel, uint64_t now)
{
    uint32_t slot = (uint32_t)now % WHEEL_READY_SLOTS;
    uint64_t warps = wheel->ready[slot];
    wheel->ready[slot] = 0;
    wheel->ready_slots &= ~(UINT64_C(1) << slot);
    return warps;
}

/* Those to be looked at. */
static inline uint64_t wheel_take(struct wake_wheel *wheel, uint64_t now)
{
    uint32_t slot = (uint32_t)now % WHEEL_SLOTS;
    if (!(wheel->occupied[slot / 64] >> (slot % 64) & 1u))
        return 0;
    uint64_t warps = wheel->warps[slot];
    wheel->warps[slot] = 0;
    bits_clear(wheel->occupied, slot);
    wheel->count--;
    return warps;
}

/* The first cycle after `now` with one to be looked at, NEVER if there is none. */
static inline uint64_t wheel_next_look(const struct wake_wheel *wheel, uint64_t now)
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

/* The first cycle after `now` with a wake-up, NEVER if there is none. */
static inline uint64_t wheel_next(const struct wake_wheel *wheel, uint64_t now)
{
    uint64_t look = wheel_next_look(wheel, now);
    if (!wheel->ready_slots)
        return look;
    uint32_t start = (uint32_t)(now + 1) % WHEEL_READY_SLOTS;
    uint64_t turned = wheel->ready_slots >> start | wheel->ready_slots << (-start % WHEEL_READY_SLOTS);
    uint64_t ready = now + 1 + lowest_bit(turned);
    return ready < look ? ready : look;
}

#endif
