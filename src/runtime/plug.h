/* SPDX-License-Identifier: MIT */
/*
 * Plugs: thread blocks that sleep on an SM, where a table owes them a place. They take room there, so that nobody else's thread blocks land. The place is
 * that of a worker (rewrite/workers.h), but in its limit (worker_limit) a tag stands for `after`: a plug
 * counts itself as resident, and leaves when more are than the limit lets stay, or the tag is another one.
 *
 *     launched ──► counts itself ──► asleep ◄──► looks ──► more than `limit`? counts itself out, and leaves
 */
#ifndef CORUN_RUNTIME_PLUG_H
#define CORUN_RUNTIME_PLUG_H

#include "runtime/runtime.h"

#define RUNTIME_PLUG_WARPS 32u /* of a plug, at most */
#define RUNTIME_PLUG_TAGS 16u

/*
 * Have plugs been tried on such a device? On the simulated GPU, from compute capability 7.0 on, as threads sleep. On a GPU a call of the driver that waits for
 * everything on the device would wait for plugs; that has not been tried.
 */
bool runtime_can_plug(const struct runtime *runtime);
/* Registers that a warp of a plug takes of an SM; 0: there are no plugs here, or the driver does not say. */
uint32_t runtime_plug_warp_registers(struct runtime *runtime);
struct runtime_plugs {
    unsigned long long places; /* address of a row of the table by %smid */
    uint32_t count, warps;     /* of each */
    uint32_t tag;              /* below RUNTIME_PLUG_TAGS */
    uint32_t behind;           /* stream: they come when the oldest launch in it has ended */
};
/*
 * Launches plugs, behind what has been written to the table. *given: false where all streams for plugs have some that have not left. FAULT: runtime_wait looks
 * after that. MEMORY.
 */
enum corun_status runtime_plug(struct runtime *runtime, const struct runtime_plugs *plugs, bool *given);

#endif
