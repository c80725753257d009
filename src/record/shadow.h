/* SPDX-License-Identifier: MIT */
/*
 * Who has loaded and stored which bytes of a launch. Warps that may do so in either order, one of them storing, make what they load depend on
 * time: those of different thread blocks, and those of one with no barrier of all of its warps between them. Atomics of one kind whose order
 * does not matter may meet; what others leave, and what several thread blocks have stored, may not be loaded by a later launch either.
 */
#ifndef CORUN_RECORD_SHADOW_H
#define CORUN_RECORD_SHADOW_H

#include "corun/source.h"

struct record_shadow;

/* `bytes` (1, 2, 4, 8, 16) are told apart no further: all accesses are aligned to them, and as long or longer. NULL: out of memory. */
struct record_shadow *record_shadow_create(uint32_t bytes);
void record_shadow_destroy(struct record_shadow *shadow);
/*
 * A launch of so many thread blocks begins; `forgets`: of what others have left nothing is there, as in shared memory. False: there were too many
 * thread blocks (2^32).
 */
bool record_shadow_launch(struct record_shadow *shadow, uint32_t tb_count, bool forgets);

/* Who accesses memory: a warp of a thread block, after so many barriers of all of its warps. */
struct record_actor {
    uint32_t tb, warp, barriers;
};

enum record_access { RECORD_LOAD, RECORD_STORE, RECORD_ATOMIC };
enum record_conflict {
    RECORD_NO_CONFLICT,
    RECORD_OTHER_TB,   /* another thread block of the launch loads or stores there, too */
    RECORD_OTHER_WARP, /* another warp of the thread block, with no barrier between them */
    RECORD_UNORDERED,  /* it loads what an earlier launch has left in an order that nobody knows */
    RECORD_NO_MEMORY
};
/*
 * An access to `bytes` bytes from `address` on. `kind`: of an atomic that gives nothing back, as struct record_grid_facts has it.
 */
enum record_conflict record_shadow_access(struct record_shadow *shadow, const struct record_actor *actor,
                                          enum record_access access, uint32_t kind, uint64_t address, uint32_t bytes);
/* Has anything been left in an order that nobody knows? */
bool record_shadow_is_unordered(const struct record_shadow *shadow);

#endif
