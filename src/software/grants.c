/* SPDX-License-Identifier: MIT */
/*
 * Grants: launches are held back, and go whole or in slices, as the policy says how many thread blocks of an application may be in flight. So it
 * is for kernels that cannot be workers, and where nobody may rewrite anything: a launch as a whole is always something that can be held back.
 */
#include "software/state.h"

static uint32_t grant_of(const struct software *software, const struct application *a)
{
    return software->options.policy ? software->allowances->grant[a->index] : CORUN_UNLIMITED;
}

static bool can_be_sliced(const struct software *software, const struct kind *kind)
{
    return software->options.launching == SOFTWARE_SLICES && !kind->about.refusal;
}

struct streams grants_streams(uint32_t count, uint32_t application, enum corun_sm_set set)
{
    uint32_t each = RUNTIME_MOST_STREAMS / count, part = each / CORUN_SM_SETS, end = (application + 1) * each;
    uint32_t rest = end - part, apart = rest - part;
    return set == CORUN_SMS_REST    ? (struct streams){rest, end}
           : set == CORUN_SMS_APART ? (struct streams){apart, rest}
                                    : (struct streams){application * each, apart};
}

/* Streams into which the application launches now. */
static struct streams streams_now(const struct software *software, const struct application *a)
{
    uint32_t each = RUNTIME_MOST_STREAMS / software->count;
    if (!software->info.apart_sms)
        return (struct streams){a->index * each, (a->index + 1) * each};
    return grants_streams(software->count, a->index, software->allowances->sm_set[a->index]);
}

static enum corun_status give_whole(struct software *software, struct application *a)
{
    const struct kind *kind = kind_at(a, a->given);
    a->launches++;
    a->whole++;
    a->tbs_in_flight += kind->about.tbs;
    return crew_give_into(software, a, a->given++, streams_now(software, a).first);
}

/* The stream in which the fewest slices are: one after the other, they would leave the device idle between them. */
static uint32_t emptiest_stream(const struct software *software, const struct application *a)
{
    struct streams streams = streams_now(software, a);
    uint32_t best = streams.first;
    for (uint32_t i = streams.first + 1; i < streams.end; i++)
        if (runtime_in_flight(software->runtime, i) < runtime_in_flight(software->runtime, best))
            best = i;
    return best;
}

/*
 * Half of the grant, so that a slice is there when the one before ends; the whole launch, or the rest of it, if that is within the grant.
 * 0: nothing may go.
 */
static uint64_t size_of_slice(const struct application *a, uint64_t left, uint32_t grant)
{
    uint64_t half = ((uint64_t)grant + 1) / 2, size = left <= grant && !a->tbs_in_flight ? left : half;
    size = size < left ? size : left;
    return grant == CORUN_UNLIMITED ? left : a->tbs_in_flight + size <= grant ? size : 0;
}

static enum corun_status give_slice(struct software *software, struct application *a, uint64_t count)
{
    struct order *order = order_at(a, a->head);
    if (!order->sliced) {
        order->sliced = order->given = true;
        a->launches++;
        a->given++;
    }
    enum corun_status status = runtime_slice(software->runtime, orders_job(a, a->head / a->launch_count)->job,
                                             order->handed_out, count, emptiest_stream(software, a));
    if (status != CORUN_OK)
        return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
    order->handed_out += count;
    a->tbs_in_flight += count;
    a->slices++;
    return CORUN_OK;
}

/* A launch goes as it is, also ahead of the one before, while what is in flight stays within the grant. */
static bool goes_as_it_is(const struct software *software, const struct application *a, uint32_t grant)
{
    const struct kind *kind = kind_at(a, a->given);
    if (grant == CORUN_UNLIMITED || a->tbs_in_flight + kind->about.tbs <= grant)
        return true;
    return grant && a->given == a->head && !a->tbs_in_flight && !can_be_sliced(software, kind);
}

enum corun_status grants_proceed(struct software *software, struct application *a, bool *any)
{
    uint32_t grant = grant_of(software, a);
    const struct order *first = order_at(a, a->head);
    const struct kind *kind = kind_at(a, a->head);
    bool begun = a->head < a->given && first->sliced, next = !begun && orders_can_give(software, a);
    bool whole = next && goes_as_it_is(software, a, grant);
    *any = whole;
    if (whole)
        return give_whole(software, a);
    if (begun || (next && a->given == a->head && kind->about.tbs > grant && can_be_sliced(software, kind))) {
        uint64_t count = size_of_slice(a, kind->about.tbs - (begun ? first->handed_out : 0), grant);
        *any = count != 0;
        return count ? give_slice(software, a, count) : CORUN_OK;
    }
    return CORUN_OK;
}

enum corun_status grants_slice_ended(struct software *software, struct application *a,
                                     const struct runtime_event *event, uint64_t run, uint64_t time)
{
    uint64_t n = run * a->launch_count + event->launch;
    struct order *order = order_at(a, n);
    order->done += event->count;
    a->tbs_in_flight -= event->count;
    a->progress = a->progress_before + (uint64_t)((double)order->done * kind_at(a, n)->weight);
    a->progress_ns = time;
    return order->done == kind_at(a, n)->about.tbs ? orders_complete(software, a, time) : CORUN_OK;
}
