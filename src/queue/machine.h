/* SPDX-License-Identifier: MIT */
/*
 * What runs the slices of a ready queue (docs/queue.md): the discrete-event machine of events.h, the simulated GPU (src/serve), or a CUDA
 * driver. A machine knows slices, not schedulers.
 */
#ifndef CORUN_QUEUE_MACHINE_H
#define CORUN_QUEUE_MACHINE_H

#include "queue/queue.h"

struct queue_machine {
    /*
     * Told every plan before the first slice of it comes; may be NULL. UNSUPPORTED, after a message: the machine does not know what such
     * a plan does.
     */
    enum corun_status (*planned)(void *user, uint64_t number, const struct corun_queue_view *view,
                                 const struct corun_queue_plan *plan);
    /* Begins a slice at tick `now`. */
    enum corun_status (*launch)(void *user, uint64_t now, const struct queue_slice *slice);
    /*
     * Goes on until a slice ends, or until the tick `until` has come. *any: *ended is the slice. *now: the tick. With nothing in flight it
     * goes to `until` at once. Several slices that end at the same tick come one after the other.
     */
    enum corun_status (*wait)(void *user, uint64_t until, uint64_t *now, struct queue_slice *ended, bool *any);
    void *user;
};

#endif
