/* SPDX-License-Identifier: MIT */
/*
 * Barriers of kernels for workers. A thread that has come to its end is waited for no longer on a GPU; in a worker it has to be there for
 * the next round. So it takes part in the barriers of those that still run, and says at each that it has ended; they say that they have not.
 * When nobody says so, all have ended, and that was the barrier between two rounds (worker_loop.h, SYNC).
 *
 *     bar.sync 0                 becomes     bar.red.or.pred _, N, true           ended: bar.red.or.pred p, N, false; @p again
 *
 * All threads come to the barriers that count none, so that these can have one number N, whatever theirs were. Barriers that count their
 * threads do not wait for those that have ended; they stay, and N is a number that none of them has where N is used.
 *
 * Where a barrier of the module reduces a predicate, those that have ended must not change that, nor take its result for what they want
 * to know. Then all say it by `popc`: the predicate first, and that they have not ended in a second barrier behind it. A thread that has
 * ended goes to the next round when it has seen nobody twice in a row.
 */
#ifndef CORUN_REWRITE_WORKER_BARRIERS_H
#define CORUN_REWRITE_WORKER_BARRIERS_H

#include "rewrite/pass.h"
#include "rewrite/worker_loop.h"

/* Of a module. */
struct worker_barriers {
    uint32_t
        number;   /* N: of the sixteen, the one with the fewest barriers that count their threads; mostly none has it */
    bool taken;   /* one has */
    bool reduces; /* one of those without a count reduces a predicate */
};

struct worker_barriers worker_barriers_plan(const struct ptx_module *module);
/*
 * The first barrier of a function that counts its threads and may be N, and why N is no good for kernels that come to it. NULL: there is none.
 */
const struct ptx_instruction *worker_barriers_obstacle(const struct worker_barriers *barriers,
                                                       const struct ptx_function *function, const char **reason);
/* How threads of a kernel meet, which comes to barriers without a count or not. */
enum worker_meeting worker_barriers_meeting(const struct worker_barriers *barriers, bool comes);
/* Whether an instruction is a barrier of the thread block at all. */
bool worker_barrier_is_any(const struct ptx_instruction *instruction);
/*
 * Whether an instruction arrives at a barrier, of the thread block or of a cluster of one, and does not wait. At the end of a thread block a GPU forgets who has
 * arrived where nobody waits. A worker would find them there in its next thread block, and no instruction takes them back.
 */
bool worker_barrier_arrives(const struct ptx_instruction *instruction);
/* Whether an instruction is a barrier for all threads, without a count. */
bool worker_barrier_is_for_all(const struct ptx_instruction *instruction);
/*
 * Writes what becomes of such a barrier. `none` is a predicate register that is false there, or PTX_NONE where there is none: one is made.
 */
void worker_barrier_write(const struct worker_barriers *barriers, const struct pass *pass, uint32_t function,
                          const struct ptx_instruction *instruction, uint32_t none);

#endif
