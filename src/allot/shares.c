/* SPDX-License-Identifier: MIT */
/* What several policies ask of a view: what is free, and who waits. */
#include "allot/policies.h"

bool allot_divides_ways(const struct corun_host_view *view)
{
    return view->capabilities >> CORUN_HOST_CAN_WAYS & 1u;
}

struct corun_host_share allot_free(const struct corun_host_view *view, const struct corun_host_allowances *allowances)
{
    struct corun_host_share free = {view->core_count, view->way_count};
    for (uint32_t a = 0; a < view->application_count; a++) {
        free.cores -= allowances->application[a].cores;
        free.ways -= allowances->application[a].ways;
    }
    for (uint32_t q = 0; q < view->query_count; q++) {
        if (view->queries[q].state == CORUN_HOST_QUERY_RUNNING ||
            (view->queries[q].state == CORUN_HOST_QUERY_WAITING && allowances->start[q])) {
            free.cores -= allowances->query[q].cores;
            free.ways -= allowances->query[q].ways;
        }
    }
    if (!allot_divides_ways(view))
        free.ways = view->way_count;
    return free;
}

uint32_t allot_first_waiting(const struct corun_host_view *view, const struct corun_host_allowances *allowances)
{
    uint32_t first = CORUN_HOST_NONE;
    for (uint32_t q = 0; q < view->query_count; q++)
        if (view->queries[q].state == CORUN_HOST_QUERY_WAITING && !allowances->start[q] &&
            (first == CORUN_HOST_NONE || view->queries[q].id < view->queries[first].id))
            first = q;
    return first;
}

/* Queries of an application that run or are about to. */
static uint32_t count_running(const struct corun_host_view *view, const struct corun_host_allowances *allowances,
                              uint32_t application)
{
    uint32_t count = view->applications[application].running;
    for (uint32_t q = 0; q < view->query_count; q++)
        count += view->queries[q].application == application && view->queries[q].state == CORUN_HOST_QUERY_WAITING &&
                 allowances->start[q];
    return count;
}

/* With more applications than that, queries are counted again for each that waits. */
#define MOST_COUNTED 64u

void allot_start_up_to(const struct corun_host_view *view, uint32_t most, struct corun_host_allowances *allowances)
{
    uint32_t counts[MOST_COUNTED];
    bool counted = view->application_count <= MOST_COUNTED;
    for (uint32_t a = 0; counted && a < view->application_count; a++)
        counts[a] = count_running(view, allowances, a);
    for (;;) {
        uint32_t first = CORUN_HOST_NONE;
        for (uint32_t q = 0; q < view->query_count; q++) {
            if (view->queries[q].state != CORUN_HOST_QUERY_WAITING || allowances->start[q] ||
                (first != CORUN_HOST_NONE && view->queries[q].id > view->queries[first].id))
                continue;
            uint32_t application = view->queries[q].application;
            if (!most || (counted ? counts[application] : count_running(view, allowances, application)) < most)
                first = q;
        }
        if (first == CORUN_HOST_NONE)
            return;
        allowances->start[first] = true;
        if (counted)
            counts[view->queries[first].application]++;
    }
}
