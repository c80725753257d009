/* SPDX-License-Identifier: MIT */
/* Runs that begin when they are asked for, one request after the other: an open loop, in which nobody waits for an answer before asking again. */
#include "software/state.h"

bool requests_has(const struct application *a, uint64_t run)
{
    return !a->description.requests_ns || run < a->requests;
}

uint64_t requests_time(const struct application *a, uint64_t run)
{
    return a->description.requests_ns ? a->description.requests_ns[run] : a->last_run_ns;
}

bool requests_wait(const struct application *a, uint64_t now)
{
    const struct software_application *from = &a->description;
    return a->state == CORUN_APPLICATION_RUNNING && from->requests_ns && a->requests < from->request_count &&
           from->requests_ns[a->requests] <= now;
}

enum corun_status requests_come(struct software *software, struct application *a)
{
    enum corun_status status = CORUN_OK;
    while (status == CORUN_OK && requests_wait(a, software->now)) {
        bool idle = orders_idle(a);
        a->requests++;
        software->limits_due = true;
        if (idle) /* else the run before is under way, and its launches are told */
            status = governor_moment(software->governor, software->now, CORUN_EVENT_KERNEL_START, 0, a->index);
    }
    return status;
}
