/* SPDX-License-Identifier: MIT */
/*
 * The memory system follows the SMs: their packets go to it in order of (cycle, SM), and it is played up to where they are. It need not do so after each
 * of their steps. What they send reaches none of them before memory_system_quantum() has passed, so they may run on for as long after the cycle
 * to which it was last played. On one host thread it then follows several steps at once, which finds more of it in the host's caches; on several it
 * follows each step beside the next one.
 *
 *     one thread      SMs 1 ─ SMs 2 ─ SMs 3 ─ … ─ memory system 1 2 3 … ─ SMs 7 ─ …
 *     two threads     SMs 1 ─ SMs 2 ────────── SMs 3 ────────── …
 *                             memory system 1   memory system 2
 *
 * Nothing else differs: what the memory system does depends on what was sent, not on where it stopped. The exceptions:
 *   - atomics change what SMs read, when they are performed: where one is under way, it follows at once;
 *   - requests get other numbers, which a checkpoint shows: follower_keep_to_steps.
 * Whoever looks at the memory system between two steps gets it from follower_memory, which has it follow first.
 */
#ifndef CORUN_GPU_FOLLOWER_H
#define CORUN_GPU_FOLLOWER_H

#include "gpu/cluster_network.h"
#include "gpu/memory_system.h"

#define MOST_AHEAD 1000u /* cycles; bounds the table that packets are sorted with */

struct sm;
struct follower;

/*
 * Takes the memory system, and has it destroyed, also if this fails; sends accesses to other SMs to the network. `sms` may be filled in later. `step`: the longest one of the SMs,
 * memory_system_quantum() and MOST_AHEAD at most. NULL when out of memory.
 */
struct follower *follower_create(struct memory_system *memory, struct cluster_network *network, struct sm *const *sms,
                                 uint32_t sm_count, uint64_t step);
void follower_destroy(struct follower *follower);
/* Its state is to be the same bytes wherever it was read from a checkpoint: it gathers no steps. */
void follower_keep_to_steps(struct follower *follower);
/* The SMs have run to `end`. True: they may run another step before it follows, or, `beside`, while it does. */
bool follower_may_wait(struct follower *follower, uint64_t end, bool beside);
/* It has not followed yet. */
bool follower_is_behind(const struct follower *follower);
/* Now; false when the host is or has been out of memory. */
bool follower_follow(struct follower *follower);
/* The same in two parts: what was sent is collected from the SMs, then, while they may run, it follows. follower_failed says how that went. */
void follower_collect(struct follower *follower);
void follower_follow_beside(void *follower);
bool follower_failed(const struct follower *follower);
/* It follows, nothing happens in the SMs before `cycle`, and they go on from there. False when out of memory. */
bool follower_skip_to(struct follower *follower, uint64_t cycle);
/* After it has followed. */
struct memory_system *follower_memory(struct follower *follower);

#endif
