/* SPDX-License-Identifier: MIT */
/* A driven queue as the machine of queue_run (queue/run.h). */
#ifndef CORUN_DRIVE_MACHINE_H
#define CORUN_DRIVE_MACHINE_H

#include "base/vector.h"
#include "drive/driven.h"
#include "queue/machine.h"

/* {driven, list}; the rest is 0. Ended by driven_machine_end. */
struct driven_machine {
    struct driven *driven;
    struct corun_diagnostics *list; /* messages: kernels that have failed */
    bool started;
    VECTOR(struct driven_event) moved;
    size_t next_moved;
};

/* `wait` gives LIMIT, after a message, where it would wait for ever. */
struct queue_machine driven_operations(struct driven_machine *machine);
void driven_machine_end(struct driven_machine *machine);

#endif
