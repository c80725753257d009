/* SPDX-License-Identifier: MIT */
/*
 * Further workers of launches that are under way: when a program gets more SMs, or more of one, its long launches have them at once
 * (docs/hardware-workers.md). Further workers run in streams of the shim's, draw from the queue of the launch, and know nothing of the program's stream. A guard in that stream,
 * one thread behind the launch's own workers, waits for those that have begun, and closes the queue in the same step in which it sees that there are none: whoever
 * comes later finds nothing to draw. What is left of the grid then goes to the launch behind the guard.
 */
#ifndef CORUN_SHIM_GROWTH_H
#define CORUN_SHIM_GROWTH_H

#include "rewrite/workers.h"
#include "shim/cut.h"

#define GROWTH_LAUNCHES 256u /* of a context that have not ended; further ones do not grow */
#define GROWTH_NONE UINT32_MAX

struct growth;
struct kernel;

/*
 * Of the current context; captures of this thread are relaxed. `before`: one of a context that has ended, which becomes this; NULL: there is none. NULL: the driver lacks something. Lives for
 * ever.
 */
struct growth *growth_create(struct growth *before);

/* A place among those that may grow, for a launch that is about to be made; GROWTH_NONE: it will not. */
uint32_t growth_take(struct growth *growth);
/* The queue that its workers draw from, which is closed until growth_open's launch has run. */
uint64_t growth_queue(const struct growth *growth, uint32_t place);
/*
 * In the stream of the launch: in front of its workers, and behind them. `first`: the queue as they find it; `rest`: the address of the queue for what is left behind them.
 * What the driver says.
 */
int growth_open(struct growth *growth, uint32_t place, const struct launch *launch, const struct worker_queue *first);
int growth_close(struct growth *growth, uint32_t place, const struct launch *launch, uint64_t rest, uint32_t total);
/* All of that is in the stream: from now on it grows. */
void growth_keep(struct growth *growth, uint32_t place, const struct launch *launch, struct kernel *kernel,
                 uint32_t workers, const struct worker_arguments *arguments);
/* Kernels of the program may be gone soon: what is under way grows no more. */
void growth_forget(struct growth *growth);

/* Whether a launch is running that may grow. */
bool growth_is_running(struct growth *growth);
/*
 * Further workers for what is running, where SMs have room: in the context, captures relaxed, once limits have been written. `limits`, `places`: of the first `sms` SMs; places NULL:
 * nobody has looked, and there is room.
 */
void growth_send(struct growth *growth, const uint16_t *limits, const struct worker_place *places, uint32_t sms);

#endif
