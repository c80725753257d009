/* SPDX-License-Identifier: MIT */
/* The discrete-event machine: two servers, a list of plans whose slices are in flight, times in whole ticks. */
#include "queue/events.h"

#include "base/vector.h"

#include <stdlib.h>

/* Work of a slice and speeds are counted in 2^-32 of a thread block, so that everything is whole. */
#define TB_UNITS_LOG2 32u
#define MOST_UNITS (UINT64_MAX >> 1)
enum { SERVERS = 2 };

/* A plan that has slices in flight, or is obeyed. */
struct event_plan {
    uint64_t number;
    bool whole; /* launches that are not sliced */
    uint32_t count;
    uint32_t launches[SERVERS], kinds[SERVERS];
    uint64_t speeds[SERVERS]; /* units per tick of each launch's slices */
};

struct event_slice {
    struct queue_slice slice;
    uint64_t units; /* left; of a whole launch: ticks */
    bool started;   /* whole: `units` are set */
    bool beside;    /* whole: it was launched while its predecessor was in flight */
};

struct server {
    VECTOR(struct event_slice) slices; /* [first, count) are in flight */
    size_t first;
    uint32_t last_launch; /* whose slices came last */
    uint32_t last_kind;   /* whole: of the launch that ended last */
};

struct event_machine {
    struct event_speeds speeds;
    struct corun_diagnostics *list;
    uint64_t now;
    VECTOR(struct event_plan) plans; /* ascending; the last one is obeyed */
    struct server servers[SERVERS];
};

static size_t in_flight(const struct server *server)
{
    return server->slices.count - server->first;
}

static struct event_slice *head(const struct server *server)
{
    return in_flight(server) ? &server->slices.data[server->first] : NULL;
}

/* Plans that are over are forgotten: all before the oldest one that has slices in flight. */
static void forget_plans(struct event_machine *machine)
{
    uint64_t oldest = UINT64_MAX;
    for (int s = 0; s < SERVERS; s++) {
        const struct event_slice *slice = head(&machine->servers[s]);
        if (slice && slice->slice.plan < oldest)
            oldest = slice->slice.plan;
    }
    size_t kept = 0;
    for (size_t i = 0; i < machine->plans.count; i++) {
        if (machine->plans.data[i].number >= oldest || i + 1 == machine->plans.count)
            machine->plans.data[kept++] = machine->plans.data[i];
    }
    machine->plans.count = kept;
}

static enum corun_status unsupported(struct event_machine *machine, const char *what)
{
    return corun_report(machine->list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                        "a simulation of events knows the speeds of one kernel or two side by side, not those of %s: "
                        "simulate the queue in full",
                        what);
}

static enum corun_status take_speeds(struct event_machine *machine, const struct corun_queue_plan *plan,
                                     struct event_plan *row)
{
    struct corun_queue_co_schedule pair = {.kinds = {CORUN_QUEUE_NONE, CORUN_QUEUE_NONE}};
    struct corun_queue_speeds speeds;
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        pair.kinds[i] = row->kinds[i];
        pair.slice_tbs[i] = plan->grants[i].slice_tbs;
        pair.in_flight_tbs[i] = plan->grants[i].in_flight_tbs;
    }
    enum corun_status status = machine->speeds.co_schedule(machine->speeds.user, &pair, &speeds);
    for (uint32_t i = 0; status == CORUN_OK && i < plan->grant_count; i++) {
        /* Rounded up: a time that is a whole number of ticks stays one. */
        uint64_t ticks = speeds.ticks ? speeds.ticks : 1;
        unsigned __int128 units = (((unsigned __int128)speeds.tbs[i] << TB_UNITS_LOG2) + ticks - 1) / ticks;
        if (!units || units > MOST_UNITS)
            return unsupported(machine, "a kernel that completes nothing in the time that was measured");
        row->speeds[i] = (uint64_t)units;
    }
    return status;
}

static enum corun_status planned(void *user, uint64_t number, const struct corun_queue_view *view,
                                 const struct corun_queue_plan *plan)
{
    struct event_machine *machine = user;
    struct event_plan row = {.number = number, .count = plan->grant_count};
    uint32_t whole = 0;
    enum corun_status status = CORUN_OK;
    if (!plan->grant_count)
        return CORUN_OK;
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        whole += !plan->grants[i].slice_tbs;
        if (i < SERVERS) {
            row.launches[i] = plan->grants[i].launch;
            row.kinds[i] = view->launches[plan->grants[i].launch].kind;
        }
    }
    row.whole = whole == plan->grant_count;
    if (!row.whole && (whole || plan->grant_count > SERVERS))
        status = unsupported(machine, whole ? "whole launches beside slices" : "three");
    else if (!row.whole)
        status = take_speeds(machine, plan, &row);
    if (status == CORUN_OK && !vector_push(&machine->plans, row))
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        forget_plans(machine);
    return status;
}

/* The server of a slice: that of its launch's slices before; else the one that the other launch of the plan has not. */
static uint32_t find_server(const struct event_machine *machine, const struct event_plan *plan,
                            const struct queue_slice *slice)
{
    const struct server *servers = machine->servers;
    if (plan->whole)
        return 0;
    for (uint32_t s = 0; s < SERVERS && slice->first;
         s++) { /* the first one: its index may have been another launch's */
        if (servers[s].last_launch == slice->launch)
            return s;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        for (uint32_t s = 0; s < SERVERS && plan->launches[i] != slice->launch; s++) {
            if (servers[s].last_launch == plan->launches[i])
                return 1 - s;
        }
    }
    /* Alone, it follows what is there; of two, it goes where less is. */
    bool second_has_less = in_flight(&servers[1]) < in_flight(&servers[0]);
    return plan->count == 1 ? !second_has_less && in_flight(&servers[1]) > 0 : second_has_less;
}

static enum corun_status launch(void *user, uint64_t now, const struct queue_slice *slice)
{
    struct event_machine *machine = user;
    const struct event_plan *plan = &machine->plans.data[machine->plans.count - 1];
    struct server *server = &machine->servers[find_server(machine, plan, slice)];
    struct event_slice row = {.slice = *slice, .units = (uint64_t)slice->tbs << TB_UNITS_LOG2};
    machine->now = now;
    row.beside = in_flight(server) > 0;
    server->last_launch = slice->launch;
    if (server->first == server->slices.count)
        server->first = server->slices.count = 0;
    return vector_push(&server->slices, row) ? CORUN_OK : CORUN_MEMORY;
}

static const struct event_plan *plan_of(const struct event_machine *machine, uint64_t number)
{
    size_t i = machine->plans.count - 1;
    while (i && machine->plans.data[i].number != number)
        i--;
    return &machine->plans.data[i];
}

/* Of the launch; else of another one of its kind. */
static bool speed_under(const struct event_plan *plan, const struct queue_slice *slice, uint64_t *speed)
{
    bool found = false;
    for (uint32_t i = 0; i < plan->count; i++) {
        bool same = plan->launches[i] == slice->launch;
        if (plan->kinds[i] != slice->kind || (found && !same))
            continue;
        *speed = plan->speeds[i];
        found = true;
    }
    return found;
}

/* Units per tick of a server's first slice: under the oldest plan that has slices in flight, if that plan has its launch. */
static uint64_t speed_of(const struct event_machine *machine, const struct event_slice *slice)
{
    const struct event_plan *own = plan_of(machine, slice->slice.plan);
    uint64_t oldest = slice->slice.plan, speed = 1;
    if (own->whole)
        return 1;
    for (int s = 0; s < SERVERS; s++) {
        const struct event_slice *other = head(&machine->servers[s]);
        if (other && other->slice.plan < oldest)
            oldest = other->slice.plan;
    }
    if (!speed_under(plan_of(machine, oldest), &slice->slice, &speed))
        (void)speed_under(own, &slice->slice, &speed);
    return speed;
}

/* A whole launch has come to the front: how long it takes from now. */
static enum corun_status start_whole(struct event_machine *machine, struct server *server)
{
    struct event_slice *slice = head(server);
    if (!slice || slice->started || !plan_of(machine, slice->slice.plan)->whole)
        return CORUN_OK;
    bool beside = slice->beside && server->last_kind != CORUN_QUEUE_NONE;
    uint64_t ticks;
    enum corun_status status = machine->speeds.whole(
        machine->speeds.user, beside ? server->last_kind : CORUN_QUEUE_NONE, slice->slice.kind, &ticks);
    slice->started = true;
    slice->units = ticks + (beside || server->last_kind == CORUN_QUEUE_NONE ? 0 : machine->speeds.launch_ticks);
    return status;
}

/* Everything in flight advances by so many ticks. */
static void advance(struct event_machine *machine, uint64_t ticks, const uint64_t speeds[SERVERS])
{
    for (int s = 0; s < SERVERS; s++) {
        struct event_slice *slice = head(&machine->servers[s]);
        unsigned __int128 done = (unsigned __int128)ticks * speeds[s];
        if (slice)
            slice->units = done < slice->units ? slice->units - (uint64_t)done : 0;
    }
    machine->now += ticks;
}

static enum corun_status wait(void *user, uint64_t until, uint64_t *now, struct queue_slice *ended, bool *any)
{
    struct event_machine *machine = user;
    uint64_t ticks = until > machine->now ? until - machine->now : 0, speeds[SERVERS] = {0};
    int first = -1;
    *any = false;
    for (int s = 0; s < SERVERS; s++) {
        enum corun_status status = start_whole(machine, &machine->servers[s]);
        const struct event_slice *slice = head(&machine->servers[s]);
        if (status != CORUN_OK)
            return status;
        if (!slice)
            continue;
        speeds[s] = speed_of(machine, slice);
        uint64_t left = slice->units / speeds[s] + (slice->units % speeds[s] != 0);
        if (left < ticks || (left == ticks && first < 0)) {
            ticks = left;
            first = s;
        }
    }
    advance(machine, ticks, speeds);
    *now = machine->now;
    if (first < 0)
        return CORUN_OK;
    struct server *server = &machine->servers[first];
    *ended = server->slices.data[server->first++].slice;
    server->last_kind = ended->kind;
    *any = true;
    return CORUN_OK;
}

struct event_machine *event_machine_create(const struct event_speeds *speeds, struct corun_diagnostics *list)
{
    struct event_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return NULL;
    machine->speeds = *speeds;
    machine->list = list;
    for (int s = 0; s < SERVERS; s++)
        machine->servers[s].last_launch = machine->servers[s].last_kind = CORUN_QUEUE_NONE;
    return machine;
}

void event_machine_destroy(struct event_machine *machine)
{
    if (!machine)
        return;
    for (int s = 0; s < SERVERS; s++)
        vector_free(&machine->servers[s].slices);
    vector_free(&machine->plans);
    free(machine);
}

struct queue_machine event_machine_operations(struct event_machine *machine)
{
    return (struct queue_machine){.planned = planned, .launch = launch, .wait = wait, .user = machine};
}
