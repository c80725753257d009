/* SPDX-License-Identifier: MIT */
/*
 * Crews: how many workers a launch gets, when it begins and when it may have more.
 *
 * Nobody can say on which SM a worker will land. Those that land where nothing is owed leave at once. A GPU goes round its SMs with the thread blocks of a
 * launch, so a crew has a worker for each place that is owed, and on every other SM with room as many as that takes rounds. Each time that a crew has
 * not found its places for all that, later ones of its application have twice as many for an SM.
 */
#include "software/state.h"

/* The first stream of an application is for the first crews of its launches; a stream each for further crews that are there at once. */
static uint32_t streams_each(const struct software *software)
{
    return RUNTIME_MOST_STREAMS / software->count;
}

uint32_t crews_first_stream(const struct software *software, const struct application *a)
{
    return a->index * streams_each(software);
}

/* A stream for a further crew: behind another one, which stays to the end of its launch, it would be of no use. UINT32_MAX: none is free. */
static uint32_t free_stream(const struct software *software, const struct application *a)
{
    uint32_t first = crews_first_stream(software, a);
    for (uint32_t i = 1; i < streams_each(software); i++)
        if (!runtime_in_flight(software->runtime, first + i))
            return first + i;
    return UINT32_MAX;
}

/* Twice the workers on an SM for each time that a crew has missed its places, so often: then for every place of any SM. */
#define MOST_SCATTERED 5u

static uint32_t least(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

/* Places of an SM for workers of a kind. */
static uint32_t places_of(const struct kind *kind)
{
    return kind->about.tbs_per_sm ? kind->about.tbs_per_sm : 1;
}

struct want {
    uint64_t owed;  /* workers that have a place by their limits and are not there */
    uint64_t stray; /* places where they would land and leave */
};

/* Workers that an SM owes. Of a first crew nobody is there; where they come when others have gone, they are on their way. */
static uint32_t owed_on(const struct software *software, uint32_t place, const struct application *a,
                        const struct kind *kind, uint32_t most, bool beside_resident)
{
    const struct share *share = share_of(software, place, a->index);
    uint32_t limit = least(least(share->given, places_of(kind)), most), there = beside_resident ? share->resident : 0;
    return limit <= there || (beside_resident && share->after && share->covered) ? 0 : limit - there;
}

/* `most`: no SM is to have more. */
static struct want wanted(const struct software *software, const struct application *a, const struct kind *kind,
                          uint32_t most, bool beside_resident)
{
    const struct needs one = needs_of(kind);
    struct want want = {0};
    uint32_t rounds = 0;
    for (uint32_t place = 0; place < software->places; place++) {
        uint32_t owed = owed_on(software, place, a, kind, most, beside_resident);
        want.owed += owed;
        rounds = owed > rounds ? owed : rounds;
    }
    rounds = least(rounds << a->scattered, places_of(kind));
    for (uint32_t place = 0; place < software->places; place++) {
        uint32_t owed = owed_on(software, place, a, kind, most, beside_resident);
        uint32_t land = room_on(software, place, beside_resident ? NULL : a, &one, rounds);
        want.stray += land > owed ? land - owed : 0;
    }
    return want;
}

/* No more than there are draws left, unless those have not been enough. */
static uint32_t size_of(const struct application *a, struct want want, uint32_t draws)
{
    if (!want.owed || !draws)
        return 0;
    uint64_t workers = (want.owed < draws || a->scattered ? want.owed : draws) + want.stray;
    return workers < INT32_MAX ? (uint32_t)workers : INT32_MAX;
}

/* Workers of a kind that all SMs owe together, where none has more than `most`. */
static uint64_t owed_with(const struct software *software, const struct application *a, const struct kind *kind,
                          uint32_t most)
{
    uint64_t owed = 0;
    for (uint32_t place = 0; place < software->places; place++)
        owed += least(least(share_of(software, place, a->index)->given, places_of(kind)), most);
    return owed;
}

/*
 * A launch of fewer thread blocks than it is owed places is spread over its SMs, as a grid would be: no SM has more workers than are needed
 * for all thread blocks to run at once. 0: it has as many as are owed.
 */
static uint32_t most_per_sm(const struct software *software, const struct application *a, const struct kind *kind)
{
    uint32_t most = 1, places = places_of(kind);
    while (most < places && owed_with(software, a, kind, most) < kind->draws)
        most++;
    return most < places ? most : 0;
}

static uint32_t bound_per_sm(const struct software *software, const struct application *a, const struct kind *kind)
{
    uint32_t most = most_per_sm(software, a, kind);
    return most ? most : UINT32_MAX;
}

uint32_t crew_most_on_sm(const struct software *software, const struct application *a, const struct kind *kind)
{
    return least(bound_per_sm(software, a, kind), places_of(kind));
}

bool crew_is_owed(const struct software *software, const struct application *a)
{
    bool owed = false;
    for (uint32_t place = 0; place < software->places; place++)
        owed |= share_of(software, place, a->index)->given != 0;
    return owed;
}

uint32_t crew_size(const struct software *software, const struct application *a, uint64_t n)
{
    const struct kind *kind = kind_at(a, n);
    struct want want = wanted(software, a, kind, bound_per_sm(software, a, kind), false);
    return kind->draws ? size_of(a, want, UINT32_MAX) : 0; /* whoever finds nothing to draw leaves */
}

void crews_look_for_scattered(const struct software *software, struct application *a)
{
    const struct kind *kind = kind_at(a, a->head);
    uint32_t most = bound_per_sm(software, a, kind);
    if (!order_at(a, a->head)->workers)
        return;
    bool missed = false;
    for (uint32_t place = 0; place < software->places; place++)
        missed |= share_of(software, place, a->index)->covered && owed_on(software, place, a, kind, most, true) != 0;
    if (missed && a->scattered < MOST_SCATTERED)
        a->scattered++;
}

static const struct job_of_run *job_of(const struct application *a, uint64_t n)
{
    uint64_t run = n / a->launch_count;
    for (uint32_t i = 0; i < JOBS; i++)
        if (a->jobs[i].used && a->jobs[i].run == run)
            return &a->jobs[i];
    return NULL;
}

/* A launch of this kind ends before its places could be somebody else's. */
static bool is_short(const struct software *software, const struct kind *kind)
{
    uint64_t length = kind->launch_ns ? kind->launch_ns : kind->alone_ns;
    return length && length <= HAND_OVER_LOOKS * software->look_ns;
}

/* Nobody else has a place anywhere, nor somebody of its own whom others wait for, and all its thread blocks are owed one. */
static bool is_owed_all(const struct software *software, const struct application *a, const struct kind *kind)
{
    for (uint32_t place = 0; place < software->places; place++)
        for (uint32_t i = 0; i < software->count; i++) {
            const struct share *share = share_of(software, place, i);
            if (i == a->index ? share->given < places_of(kind) || share->after : share->given || share->resident)
                return false;
        }
    if (software->drops &&
        !kind->about.keeps) /* workers can give back their places sooner than thread blocks that run once */
        return is_short(software, kind);
    return kind->draws <= (uint64_t)software->places * places_of(kind) || is_short(software, kind);
}

/* Workers that draw have been given before it, and are not known to have done. */
static bool is_behind_workers(struct application *a, uint64_t n)
{
    return n > a->head && !order_at(a, n - 1)->once && !kind_at(a, n - 1)->about.refusal;
}

bool crew_can_run_once(const struct software *software, struct application *a, uint64_t n)
{
    const struct kind *kind = kind_at(a, n);
    return !is_behind_workers(a, n) && !order_at(a, n)->workers && is_owed_all(software, a, kind);
}

bool crew_is_soon_to_run_once(const struct software *software, struct application *a, uint64_t n)
{
    return is_behind_workers(a, n) && is_owed_all(software, a, kind_at(a, n)) &&
           is_owed_all(software, a, kind_at(a, n - 1));
}

static uint32_t flags_of(const struct software *software, struct application *a, uint64_t n, bool first)
{
    uint32_t most = workers_per_sm(most_per_sm(software, a, kind_at(a, n)));
    uint32_t drop = software->drops && !kind_at(a, n)->about.keeps ? WORKERS_DROP : 0;
    return first ? most | drop : most | drop | WORKERS_TELL; /* the end of a first crew is seen by its stream */
}

/* The stream of the order before, which need not have ended, as a mask. What is before that one is in the same stream or has been waited for. */
static uint32_t stream_before(struct application *a, uint64_t n)
{
    bool under_way = n > a->head && order_at(a, n - 1)->in_flight;
    return under_way ? UINT32_C(1) << order_at(a, n - 1)->stream : 0;
}

static enum corun_status give(struct software *software, struct application *a, uint64_t n, uint32_t workers,
                              uint32_t stream)
{
    struct order *order = order_at(a, n);
    unsigned long long table = runtime_table_address(software->runtime);
    unsigned long long queues = table + queues_offset(software, a->index);
    bool first = stream == crews_first_stream(software, a);
    bool follows = n > 0 && !kind_at(a, n - 1)->about.refusal && !order_at(a, n - 1)->once;
    struct runtime_crew crew = {
        .job = job_of(a, n)->job,
        .launch = (uint32_t)(n % a->launch_count),
        .workers = workers,
        .stream = stream,
        .flags = flags_of(software, a, n, first),
        .places = table + places_offset(software, a->index),
        .queue = queues + n % RING * sizeof(struct worker_queue),
        .stride = software->places * (uint32_t)sizeof(struct worker_place),
        .ranges = order->ranges,
        .range_more = order->range_more,
        .returned = software->drops ? table + returned_offset(software, a->index) : 0,
        .room = software->drops ? MOST_RETURNED : 0,
        .uncounted = order->once,
        .behind = software->options.launching == SOFTWARE_WORKERS ? 0 : stream_before(a, n),
        .previous = follows ? queues + (n - 1) % RING * sizeof(struct worker_queue) : 0,
    };
    enum corun_status status = runtime_crew(software->runtime, &crew);
    if (status != CORUN_OK)
        return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
    for (uint32_t place = 0; place < software->places; place++) {
        struct share *share = share_of(software, place, a->index);
        share->covered |= share->given != 0;
        share->owed_since = order->once ? 0 : share->owed_since; /* nobody will be seen there */
    }
    order->in_flight++;
    order->first_in_flight += first;
    order->given = true;
    order->workers += workers;
    order->given_write = runtime_table_written(software->runtime);
    order->could_begin_ns = software->now;
    a->crews += workers != 0;
    a->workers += workers;
    return CORUN_OK;
}

enum corun_status crew_give(struct software *software, struct application *a, uint64_t n, uint32_t workers)
{
    return give(software, a, n, workers, crews_first_stream(software, a));
}

enum corun_status crew_give_into(struct software *software, struct application *a, uint64_t n, uint32_t stream)
{
    order_at(a, n)->stream = stream;
    return give(software, a, n, 0, stream);
}

/* Workers of the order at the head that have been given and have neither a place nor ended. */
static bool any_on_the_way(const struct software *software, struct order *order)
{
    if (runtime_table_settled(software->runtime) < order->given_write)
        order->could_begin_ns = software->now;
    return software->now < order->could_begin_ns + LANDING_NANOSECONDS;
}

enum corun_status crews_grow(struct software *software, struct application *a)
{
    if (a->head >= a->given || a->state != CORUN_APPLICATION_RUNNING)
        return CORUN_OK;
    const struct kind *kind = kind_at(a, a->head);
    struct order *order = order_at(a, a->head);
    if (kind->about.refusal || order->sealed || !order->in_flight || order->next >= order->total ||
        any_on_the_way(software, order))
        return CORUN_OK;
    uint32_t stream = free_stream(software, a);
    if (stream == UINT32_MAX)
        return CORUN_OK;
    crews_look_for_scattered(software, a);
    uint32_t workers =
        size_of(a, wanted(software, a, kind, bound_per_sm(software, a, kind), true), order->total - order->next);
    return workers ? give(software, a, a->head, workers, stream) : CORUN_OK;
}
