/* SPDX-License-Identifier: MIT */
/* The operations of a queue's machine, over the events of a driven queue. */
#include "drive/machine.h"

#include <stdlib.h>

static enum corun_status submit(void *user, uint64_t now, size_t number, uint32_t kind)
{
    struct driven_machine *machine = user;
    if (!machine->started)
        driven_start(machine->driven, now);
    machine->started = true;
    bool ready;
    enum corun_status status = driven_submit(machine->driven, number, kind, &ready);
    struct driven_event event = {.what = DRIVEN_READY, .tick = now, .number = number};
    return status != CORUN_OK || !ready || vector_push(&machine->moved, event) ? status : CORUN_MEMORY;
}

static enum corun_status launch(void *user, uint64_t now, const struct queue_slice *slice)
{
    struct driven_machine *machine = user;
    (void)now;
    return driven_launch(machine->driven, slice->submission, slice);
}

static enum corun_status note(struct driven_machine *machine, const struct driven_event *event)
{
    if (event->failure)
        corun_report(machine->list, CORUN_OK, CORUN_NOWHERE,
                     "launch %zu of the queue has failed: %s; the others continue", event->number, event->failure);
    return vector_push(&machine->moved, *event) ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status wait_for_slice(void *user, uint64_t until, uint64_t *now, struct queue_slice *ended, bool *any)
{
    struct driven_machine *machine = user;
    struct driven_event event;
    enum corun_status status = driven_wait(machine->driven, until, &event);
    *any = status == CORUN_OK && event.what == DRIVEN_SLICE;
    if (status != CORUN_OK)
        return status;
    if (event.tick > *now)
        *now = event.tick;
    if (*any)
        *ended = event.slice;
    else if (event.what != DRIVEN_NOTHING)
        status = note(machine, &event);
    else if (until == UINT64_MAX)
        status =
            corun_report(machine->list, CORUN_LIMIT, CORUN_NOWHERE, "the queue stands still: nothing is under way");
    return status;
}

static enum corun_status moved(void *user, size_t *number, enum queue_moved *what)
{
    struct driven_machine *machine = user;
    *what = QUEUE_NOTHING_MOVED;
    if (machine->next_moved == machine->moved.count) {
        machine->next_moved = machine->moved.count = 0;
        return CORUN_OK;
    }
    const struct driven_event *event = &machine->moved.data[machine->next_moved++];
    *number = event->number;
    *what = event->what == DRIVEN_READY ? QUEUE_ARRIVED : QUEUE_LEFT;
    return CORUN_OK;
}

struct queue_machine driven_operations(struct driven_machine *machine)
{
    return (struct queue_machine){
        .launch = launch, .wait = wait_for_slice, .submit = submit, .moved = moved, .ahead = true, .user = machine};
}

void driven_machine_end(struct driven_machine *machine)
{
    vector_free(&machine->moved);
}
