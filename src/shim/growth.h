/* SPDX-License-Identifier: MIT */
/*
 * Launches of workers that may grow while they are under way: when a program gets other SMs, or more of one, they have them at once (docs/hardware-workers.md). Further workers run
 * in streams of the shim's, draw from the queue of the launch, and know nothing of the program's stream. The last worker of the launch itself, which stays whatever limits say, waits
 * for those that have begun (WORKERS_COMPLETE): whoever comes later finds nothing to draw.
 */
#ifndef CORUN_SHIM_GROWTH_H
#define CORUN_SHIM_GROWTH_H

#include "rewrite/workers.h"
#include "shim/cut.h"

#define GROWTH_LAUNCHES 256u /* of a context that have not ended; further ones do not grow */
#define GROWTH_NONE UINT32_MAX
#define GROWTH_BYTES (GROWTH_LAUNCHES * 2 * 16u) /* of their queues */

struct growth;
struct kernel;

/*
 * Of the current context; captures of this thread are relaxed. `before`: one of a context that has ended, which becomes this; NULL: there is none. `queues`: the address of GROWTH_BYTES of
 * zeros in device memory. NULL: out of memory. Lives for ever.
 */
struct growth *growth_create(struct growth *before, uint64_t queues);

/*
 * A place for a launch that is about to be made, of which `arguments` has all but queue and mark, which it gets, and the flag WORKERS_COMPLETE; GROWTH_NONE: it will not grow.
 * GROWTH may be NULL.
 */
uint32_t growth_take(struct growth *growth, const struct launch *launch, struct kernel *kernel, uint32_t workers,
                     struct worker_completing_arguments *arguments);
/* The launch could not be made. */
void growth_give_back(struct growth *growth, uint32_t place);
/* Kernels of the program may be gone soon: what is under way grows no more. */
void growth_forget(struct growth *growth);

/* Of all launches that may grow, the last that one of them is. */
enum growth_state {
    GROWTH_RESTS, /* has ended */
    GROWTH_WAITS, /* has not begun, or grows no more */
    GROWTH_RUNS,
    GROWTH_LACKS /* its last worker stays in spite of limits: it has no others */
};
enum growth_state growth_look(struct growth *growth);
/*
 * Further workers for what is running, where SMs have room: in the context, captures relaxed, once limits have been written. `limits`, `places`: of the first `sms` SMs; places NULL:
 * nobody has looked, and there is room.
 */
void growth_send(struct growth *growth, const uint16_t *limits, const struct worker_place *places, uint32_t sms);

#endif
