/* SPDX-License-Identifier: MIT */
/* A look: what the table told when it was copied. */
#include "software/state.h"

/* So much before its end an epoch counts as ended: the next look would be an epoch late. */
#define EPOCH_SLACK_NANOSECONDS 2000u

enum corun_status look_begin(struct software *software)
{
    software->looking = true;
    software->look_wanted = false;
    software->looking_since = software->now;
    software->look_writes = runtime_table_settled(software->runtime);
    enum corun_status status = runtime_table_read(software->runtime);
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
}

/*
 * Workers that stay. Where a look has found nobody after the limit had gone, none can have come to stay: who is counted there has landed, and is
 * about to leave.
 */
static uint32_t resident_of(const struct software *software, struct share *share, uint32_t counted)
{
    if (share->given || share->write > software->writes_known)
        return counted;
    share->emptied |= !counted;
    return share->emptied ? 0 : counted;
}

static uint32_t counted_at(const struct software *software, const uint8_t *table, uint32_t place, uint32_t application)
{
    const struct worker_place *places = (const void *)(table + places_offset(software, application));
    return places[place].resident;
}

/* What workers have counted in the places of an application. Those that wait for somebody else's have not come yet. */
static void read_places(struct software *software, struct application *a, const uint8_t *table)
{
    const struct worker_place *places = (const void *)(table + places_offset(software, a->index));
    for (uint32_t place = 0; place < software->places; place++) {
        struct share *share = share_of(software, place, a->index);
        bool known = share->raised <= software->writes_known;
        if (share->waits_for && known &&
            !counted_at(software, table, place, (uint32_t)((int)a->index + share->waits_for)))
            share->waits_for = 0;
        share->resident = share->waits_for ? 0 : resident_of(software, share, places[place].resident);
        a->done += (uint32_t)(places[place].done - share->done);
        share->done = places[place].done;
        if (share->resident && share->owed_since) {
            software->control.hand_overs++;
            software->control.hand_over_ns += software->now - (share->owed_since - 1);
            share->owed_since = 0;
        }
    }
}

/* Thread blocks of so many draws. */
static uint32_t drawn_of(const struct order *order, uint32_t draws)
{
    const struct worker_arguments arguments = {.ranges = order->ranges, .range_more = order->range_more};
    return worker_drawn(&arguments, draws);
}

static void read_queues(const struct software *software, struct application *a, const uint8_t *table)
{
    const struct worker_queue *queues = (const void *)(table + queues_offset(software, a->index));
    for (uint64_t n = a->retired; n < a->given; n++) {
        const struct worker_queue *queue = &queues[n % RING];
        struct order *order = order_at(a, n);
        order->next = order->once ? kind_at(a, n)->draws : drawn_of(order, queue->next);
        order->alive = order->once ? 0 : queue->alive;
        order->total = order->once ? kind_at(a, n)->draws : drawn_of(order, queue->total);
    }
}

/* Or thread blocks of a launch that nobody counts. */
static bool has_workers(const struct software *software, struct application *a)
{
    bool any = runs_once(a);
    for (uint32_t place = 0; place < software->places; place++)
        any |= share_of(software, place, a->index)->resident != 0;
    return any;
}

/*
 * Thread blocks that have been done, of the orders that are not complete: they belong to the first ones. While workers are in the middle of thread
 * blocks and none has ended, nobody knows how far they are: what is known is how far it was when the last one had ended.
 */
static void read_progress(struct software *software, struct application *a)
{
    uint64_t before = a->progress, left = a->done > a->skipped ? a->done - a->skipped : 0;
    a->progress = a->progress_before;
    for (uint64_t n = a->head; n < a->head + RING && left; n++) {
        const struct kind *kind = kind_at(a, n);
        uint64_t here = left < kind->about.tbs ? left : kind->about.tbs;
        a->progress += here == kind->about.tbs ? kind->progress : (uint64_t)((double)here * kind->weight);
        left -= here;
    }
    if (a->progress != before || !has_workers(software, a))
        a->progress_ns = software->now;
}

/* Tells the governor where workers have left. */
static enum corun_status tell_left(struct software *software, const uint32_t *before)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t place = 0; place < software->info.sms && status == CORUN_OK; place++)
        for (uint32_t a = 0; a < software->count && status == CORUN_OK; a++)
            if (share_of(software, place, a)->resident < before[place * software->count + a])
                status = governor_tb_left(software->governor, software->now, place, a, false);
    return status;
}

static enum corun_status take(struct software *software, const uint8_t *table, uint64_t passed_ns)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < software->places * software->count; i++)
        software->resident_before[i] = software->shares[i].resident;
    for (uint32_t i = 0; i < software->count; i++) {
        read_places(software, &software->applications[i], table);
        read_queues(software, &software->applications[i], table);
    }
    plugs_read(software, table);
    for (uint32_t i = 0; i < software->count && status == CORUN_OK; i++)
        status = orders_complete(software, &software->applications[i], software->now);
    for (uint32_t i = 0; i < software->count; i++)
        if (software->applications[i].state == CORUN_APPLICATION_RUNNING) {
            read_progress(software, &software->applications[i]);
            likely_note(software, &software->applications[i], passed_ns);
        }
    return status;
}

enum corun_status look_end(struct software *software, uint64_t time)
{
    uint64_t passed_ns = time - software->last_look;
    software->looking = false;
    software->now = software->last_look = time;
    software->look_began = software->looking_since;
    software->look_ns = time - software->looking_since;
    software->writes_known = software->look_writes;
    software->limits_due = true;
    software->control.looks++;
    software->control.look_ns += software->look_ns;
    enum corun_status status = take(software, runtime_table_copy(software->runtime), passed_ns);
    if (status == CORUN_OK)
        status = tell_left(software, software->resident_before);
    if (status != CORUN_OK || time + EPOCH_SLACK_NANOSECONDS < governor_next_epoch(software->governor))
        return status;
    software->control.epochs++;
    status = governor_epoch(software->governor, time);
    return status == CORUN_OK ? history_note(software, time) : status;
}
