/* SPDX-License-Identifier: MIT */
/*
 * For programs that share a GPU under corund (docs/daemon.md): what a program tells corund of itself. Link with -lcorun_client -ldl. A program that
 * runs in another way, on a real GPU or under `corun exec`, runs as before, and is answered UNSUPPORTED.
 *
 *     #include <corun/client.h>
 *     corun_set_goal(CORUN_GOAL_FRACTION, 0.9);   from here on 90 % of what it reaches alone
 *     corun_say_idle(250000);                     it wants nothing of the GPU for 250 us of simulated time
 */
#ifndef CORUN_CLIENT_H
#define CORUN_CLIENT_H

#include "corun/policy.h"
#include "corun/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Another goal for the calling process, from now on: after what it has called before, and before what it calls later. `kind` is NONE, FRACTION (of its
 * rate alone, 0 < value <= 1) or, on a simulated GPU, IPC (thread instructions per cycle); on one of hardware MILLISECONDS (of one of its runs, below) or
 * FRAMES_PER_SECOND (runs a second). `value` of NONE is not looked at. The counterpart of cudaSetQoS (Sun et al.,
 * SMQoS, section 4.1). From any thread. ARGUMENT: corund refuses it, and a note on stderr says why: the rate alone is not known, or the value does not
 * fit. UNSUPPORTED: the process has no GPU of corund. DEADLOCK: the connection to corund is gone.
 */
enum corun_status corun_set_goal(enum corun_goal_kind kind, double value);

/*
 * The calling process wants nothing of the GPU for so many nanoseconds of simulated time from where its calls have come to, at most CORUN_LONGEST_IDLE_NS: a server without
 * requests. What it has asked for goes on, and this call waits for it as far as it takes of that time; for the rest, simulated time passes for others while the process
 * computes. Its next call of CUDA, from any thread, or of this header comes when all of that time has passed, neither before nor after, and waits if it must. So cycles are the
 * same in every run. With CORUN_UNTIL_CALLED it waits for what was asked for, and then time passes until its next call: the cycle of that depends on the host.
 * It is the same under `corun exec`. Between two calls of CUDA that wait, other processes wait for one that does not say so (docs/daemon.md, Time).
 * ARGUMENT: it is longer than that. UNSUPPORTED: the process has no context, or no GPU that is simulated. DEADLOCK: the connection to corund is gone.
 */
#define CORUN_UNTIL_CALLED UINT64_MAX
#define CORUN_LONGEST_IDLE_NS UINT64_C(1000000000000)
enum corun_status corun_say_idle(uint64_t nanoseconds);

/*
 * A run of the program, a request that it answers, for the P99 of its runs in `corun top`: from begin_run to end_run with what that gave, in time of the simulated
 * GPU as the program sees it, which has come as far as the last call that waited. On a GPU of hardware it is time of the host's clock, and runs are what goals in
 * milliseconds and frames are of. Runs may overlap. The first begin_run ends what corund takes for
 * runs by itself (docs/daemon.md). begin_run gives 0 in a process without a GPU of corund. From any thread. end_run: UNSUPPORTED: there is no GPU of
 * corund; ARGUMENT: no begin_run gave that.
 */
uint64_t corun_begin_run(void);
enum corun_status corun_end_run(uint64_t begun);

#ifdef __cplusplus
}
#endif
#endif
