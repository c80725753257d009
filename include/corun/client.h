/* SPDX-License-Identifier: MIT */
/*
 * For programs that share a GPU under corund (docs/daemon.md): what a program tells corund of itself. Link with -lcorun_client -ldl. A program that
 * runs in another way, on a real GPU or under `corun exec`, runs as before, and is answered UNSUPPORTED.
 *
 *     #include <corun/client.h>
 *     corun_set_goal(CORUN_GOAL_FRACTION, 0.9);   from here on 90 % of what it reaches alone
 */
#ifndef CORUN_CLIENT_H
#define CORUN_CLIENT_H

#include "corun/policy.h"
#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Another goal for the calling process, from now on: after what it has called before, and before what it calls later. `kind` is NONE, FRACTION (of its
 * rate alone, 0 < value <= 1) or IPC (thread instructions per cycle); `value` of NONE is not looked at. The counterpart of cudaSetQoS (Sun et al.,
 * SMQoS, section 4.1). From any thread. ARGUMENT: corund refuses it, and a note on stderr says why: the rate alone is not known, or the value does not
 * fit. UNSUPPORTED: the process has no GPU of corund. DEADLOCK: the connection to corund is gone.
 */
enum corun_status corun_set_goal(enum corun_goal_kind kind, double value);

#ifdef __cplusplus
}
#endif
#endif
