/* SPDX-License-Identifier: MIT */
/*
 * What runs the slices of a ready queue (docs/queue.md): the discrete-event machine of events.h, the simulated GPU (src/serve), or a CUDA
 * driver. A machine knows slices, not schedulers.
 */
#ifndef CORUN_QUEUE_MACHINE_H
#define CORUN_QUEUE_MACHINE_H

#include "queue/queue.h"

enum queue_moved {
    QUEUE_NOTHING_MOVED,
    QUEUE_ARRIVED, /* the data of a submission are on the device */
    QUEUE_LEFT     /* its results are on the host, or its kernel has failed */
};

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
     * Advances until a slice ends, or until the tick `until` has come. *any: *ended is the slice. *now: the tick. With nothing in flight it
     * goes to `until` at once. Several slices that end at the same tick come one after the other.
     */
    enum corun_status (*wait)(void *user, uint64_t until, uint64_t *now, struct queue_slice *ended, bool *any);
    /*
     * Of a machine that copies data by itself, as a CUDA driver does; NULL otherwise, and then a run has its own memory command scheduler.
     * `submit` tells a submission of a kind, which comes at tick `now`; the first one begins the machine's time. `wait` comes back, without a slice, also when data have moved, and `moved` says whose: it is
     * asked again until nothing has.
     */
    enum corun_status (*submit)(void *user, uint64_t now, size_t submission, uint32_t kind);
    enum corun_status (*moved)(void *user, size_t *submission, enum queue_moved *what);
    bool ahead; /* queue_settings.ahead */
    void *user;
};

#endif
