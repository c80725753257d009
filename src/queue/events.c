/* SPDX-License-Identifier: MIT */
/*
 * The discrete-event machine: thread blocks that began together end together, times in whole ticks. Small launches may wait in thousands, so
 * nothing here looks at all that wait: each kind has a line of its own, and only what is first in its line can begin.
 */
#include "queue/events.h"

#include "base/vector.h"
#include "queue/heap.h"

#include <stdlib.h>

/* Work of a thread block and speeds are counted in 2^-40 of it, so that everything is whole. */
#define TB_UNITS_LOG2 40u
#define MOST_UNITS (UINT64_MAX >> 1)
#define LOADS_BEFORE 32u   /* of the GPU, with thread blocks of launches before a whole one */
enum { SIDE_BY_SIDE = 2 }; /* launches of a plan, in slices */

/* What the resident thread blocks take, or the GPU has; in the resources that are known. */
enum { THREADS, REGISTERS, SHARED_BYTES, TBS, BARRIERS, RESOURCES };
struct room {
    uint64_t of[RESOURCES];
};

struct event_kind {
    struct room needs; /* of a thread block */
    uint32_t tbs;      /* of a launch */
    uint32_t most;     /* that the GPU holds */
    uint32_t resident;
    uint32_t first, last; /* slices with thread blocks that wait, in the order of launch; NONE */
};

/* The plan that is obeyed. */
struct event_plan {
    bool whole; /* launches that are not sliced */
    uint32_t count;
    uint32_t launches[SIDE_BY_SIDE];
    uint64_t speeds[SIDE_BY_SIDE]; /* units per tick of each resident thread block */
};

struct event_slice {
    struct queue_slice slice;
    uint64_t speed, number;    /* number: 0, 1, … in the order of launch */
    uint32_t waiting, running; /* thread blocks */
    uint32_t next;             /* in the line of its kind, or of what nobody has; NONE */
};

struct event_whole {
    struct queue_slice slice;
    uint32_t behind; /* launches that were in flight when it was launched */
    bool started;
    uint64_t ticks; /* left */
};

struct event_machine {
    struct event_speeds speeds;
    struct corun_diagnostics *list;
    uint64_t now;
    struct room capacity, used;
    VECTOR(struct event_kind) kinds;
    struct event_plan plan;
    VECTOR(struct event_slice) slices; /* in flight; others are free, and linked by `next` */
    uint32_t first_free;
    uint64_t launched;   /* slices so far */
    struct heap running; /* thread blocks of a slice that began at the same tick, by the tick at which they end */
    struct heap ended;   /* slices that have ended, by number */
    uint64_t steps;      /* kinds that were looked at for what begins next, in all */
    VECTOR(struct event_whole) wholes;         /* [first_whole, count) are in flight */
    uint32_t ended_kinds[EVENT_MOST_LAUNCHES]; /* of the whole launches that ended last, the latest first; NONE */
    size_t first_whole;
};

/* ---- plans ---- */

static enum corun_status unsupported(struct event_machine *machine, const char *what)
{
    return corun_report(machine->list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                        "a simulation of events knows the speeds of one kernel or two side by side, not those of %s: "
                        "simulate the queue in full",
                        what);
}

static bool learn_kinds(struct event_machine *machine, const struct corun_queue_view *view)
{
    const struct corun_queue_device *device = view->device;
    uint64_t sms = device->sm_count;
    machine->capacity = (struct room){{[THREADS] = sms * device->threads_per_sm,
                                       [REGISTERS] = sms * device->registers_per_sm,
                                       [SHARED_BYTES] = sms * device->shared_bytes_per_sm,
                                       [TBS] = sms * device->tbs_per_sm,
                                       [BARRIERS] = sms * device->barriers_per_sm}};
    while (machine->kinds.count < view->kind_count) {
        const struct corun_queue_profile *profile = &view->kinds[machine->kinds.count].profile;
        struct event_kind kind = {.needs = {{[THREADS] = profile->tb_threads,
                                             [REGISTERS] = profile->tb_registers,
                                             [SHARED_BYTES] = profile->tb_shared_bytes,
                                             [TBS] = 1,
                                             [BARRIERS] = profile->tb_barriers}},
                                  .tbs = profile->tbs,
                                  .most = profile->tbs_per_sm * device->sm_count,
                                  .first = CORUN_QUEUE_NONE,
                                  .last = CORUN_QUEUE_NONE};
        if (!vector_push(&machine->kinds, kind))
            return false;
    }
    return true;
}

/* Thread blocks that a strand of the steady state has in flight, as it is measured: small launches follow each other two at a time. */
static uint64_t steady_in_flight(const struct corun_queue_grant *grant, uint32_t launch_tbs, uint32_t most)
{
    uint64_t tbs = grant->in_flight_tbs ? grant->in_flight_tbs / grant->slice_tbs * grant->slice_tbs : launch_tbs;
    if (launch_tbs <= tbs)
        tbs = 2 * (uint64_t)launch_tbs;
    return tbs < most ? tbs : most;
}

/* How many thread blocks of each are resident in the steady state: all in flight, or in proportion what there is room for. */
static void find_residents(const struct event_machine *machine, const struct corun_queue_view *view,
                           const struct corun_queue_plan *plan, uint64_t residents[SIDE_BY_SIDE])
{
    uint64_t all[RESOURCES] = {0};
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        const struct corun_queue_launch *launch = &view->launches[plan->grants[i].launch];
        const struct event_kind *kind = &machine->kinds.data[launch->kind];
        residents[i] = steady_in_flight(&plan->grants[i], launch->tbs, kind->most);
        for (int r = 0; r < RESOURCES; r++)
            all[r] += residents[i] * kind->needs.of[r];
    }
    for (int r = 0; r < RESOURCES; r++) {
        uint64_t capacity = machine->capacity.of[r];
        for (uint32_t i = 0; i < plan->grant_count && capacity && all[r] > capacity; i++)
            residents[i] = residents[i] * capacity / all[r] ? residents[i] * capacity / all[r] : 1;
    }
}

static enum corun_status take_speeds(struct event_machine *machine, const struct corun_queue_view *view,
                                     const struct corun_queue_plan *plan, struct event_plan *row)
{
    struct corun_queue_co_schedule pair = {.kinds = {CORUN_QUEUE_NONE, CORUN_QUEUE_NONE}};
    struct corun_queue_speeds speeds;
    uint64_t residents[SIDE_BY_SIDE];
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        pair.kinds[i] = view->launches[plan->grants[i].launch].kind;
        pair.slice_tbs[i] = plan->grants[i].slice_tbs;
        pair.in_flight_tbs[i] = plan->grants[i].in_flight_tbs;
    }
    find_residents(machine, view, plan, residents);
    enum corun_status status = machine->speeds.co_schedule(machine->speeds.user, &pair, &speeds);
    for (uint32_t i = 0; status == CORUN_OK && i < plan->grant_count; i++) {
        /* Rounded up: a time that is a whole number of ticks stays one. */
        unsigned __int128 ticks = (unsigned __int128)(speeds.ticks ? speeds.ticks : 1) * residents[i];
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
    struct event_plan row = {.count = plan->grant_count};
    uint32_t whole = 0;
    (void)number;
    if (!plan->grant_count)
        return CORUN_OK;
    if (!learn_kinds(machine, view))
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < plan->grant_count; i++) {
        whole += !plan->grants[i].slice_tbs;
        if (i < SIDE_BY_SIDE)
            row.launches[i] = plan->grants[i].launch;
    }
    row.whole = whole == plan->grant_count;
    enum corun_status status = CORUN_OK;
    if (!row.whole && (whole || plan->grant_count > SIDE_BY_SIDE))
        status = unsupported(machine, whole ? "whole launches beside slices" : "three");
    else if (!row.whole)
        status = take_speeds(machine, view, plan, &row);
    machine->plan = row;
    return status;
}

/* ---- launches ---- */

/* A place for a slice. */
static bool take_index(struct event_machine *machine, uint32_t *index)
{
    *index = machine->first_free;
    if (*index != CORUN_QUEUE_NONE) {
        machine->first_free = machine->slices.data[*index].next;
        return true;
    }
    *index = (uint32_t)machine->slices.count;
    return vector_push(&machine->slices, (struct event_slice){0});
}

static enum corun_status launch(void *user, uint64_t now, const struct queue_slice *slice)
{
    struct event_machine *machine = user;
    const struct event_plan *plan = &machine->plan;
    machine->now = now;
    if (plan->whole) {
        if (machine->first_whole == machine->wholes.count)
            machine->first_whole = machine->wholes.count = 0;
        struct event_whole row = {.slice = *slice, .behind = (uint32_t)(machine->wholes.count - machine->first_whole)};
        return vector_push(&machine->wholes, row) ? CORUN_OK : CORUN_MEMORY;
    }
    uint32_t place = 0, index;
    while (plan->launches[place] != slice->launch)
        place++;
    if (!take_index(machine, &index))
        return CORUN_MEMORY;
    machine->slices.data[index] = (struct event_slice){.slice = *slice,
                                                       .speed = plan->speeds[place],
                                                       .number = machine->launched++,
                                                       .waiting = slice->tbs,
                                                       .next = CORUN_QUEUE_NONE};
    struct event_kind *kind = &machine->kinds.data[slice->kind];
    *(kind->last == CORUN_QUEUE_NONE ? &kind->first : &machine->slices.data[kind->last].next) = index;
    kind->last = index;
    return CORUN_OK;
}

/* How many thread blocks of a kind find room beside those that are resident. */
static uint32_t room_for(const struct event_machine *machine, const struct event_kind *kind)
{
    uint64_t most = kind->most - kind->resident;
    for (int r = 0; r < RESOURCES; r++) {
        uint64_t capacity = machine->capacity.of[r], used = machine->used.of[r], need = kind->needs.of[r];
        uint64_t fits = !capacity || !need ? most : used < capacity ? (capacity - used) / need : 0;
        most = fits < most ? fits : most;
    }
    return (uint32_t)most;
}

/* So many more thread blocks of a kind are resident; fewer: the number is below 0. */
static void add_residents(struct event_machine *machine, struct event_kind *kind, int64_t tbs)
{
    kind->resident += (uint32_t)tbs;
    for (int r = 0; r < RESOURCES; r++)
        machine->used.of[r] += (uint64_t)tbs * kind->needs.of[r];
}

/* The slice that was launched first of those with thread blocks that wait and find room; NONE. */
static uint32_t next_to_begin(struct event_machine *machine)
{
    uint32_t next = CORUN_QUEUE_NONE;
    for (size_t k = 0; k < machine->kinds.count; k++) {
        const struct event_kind *kind = &machine->kinds.data[k];
        const struct event_slice *slices = machine->slices.data;
        machine->steps++;
        if (kind->first != CORUN_QUEUE_NONE &&
            (next == CORUN_QUEUE_NONE || slices[kind->first].number < slices[next].number) && room_for(machine, kind))
            next = kind->first;
    }
    return next;
}

/* Thread blocks that wait take what room there is, in the order of launch. */
static bool dispatch(struct event_machine *machine)
{
    for (uint32_t i; (i = next_to_begin(machine)) != CORUN_QUEUE_NONE;) {
        struct event_slice *slice = &machine->slices.data[i];
        struct event_kind *kind = &machine->kinds.data[slice->slice.kind];
        uint32_t room = room_for(machine, kind), tbs = room < slice->waiting ? room : slice->waiting;
        uint64_t ticks = ((UINT64_C(1) << TB_UNITS_LOG2) + slice->speed - 1) / slice->speed;
        if (!heap_put(&machine->running, (struct heap_entry){machine->now + ticks, i, tbs}))
            return false;
        add_residents(machine, kind, tbs);
        slice->waiting -= tbs;
        slice->running += tbs;
        if (slice->waiting)
            continue;
        kind->first = slice->next;
        if (kind->first == CORUN_QUEUE_NONE)
            kind->last = CORUN_QUEUE_NONE;
    }
    return true;
}

/* Of the launches that a whole one was launched behind, how many matter. */
static uint32_t count_before(const struct event_machine *machine, uint32_t behind)
{
    uint32_t most = machine->speeds.most_before < behind ? machine->speeds.most_before : behind, count = 0;
    double loads = 0;
    for (; count < most && loads < LOADS_BEFORE; count++) {
        const struct event_kind *kind = &machine->kinds.data[machine->ended_kinds[count]];
        loads += (double)kind->tbs / kind->most;
    }
    return count;
}

/* The whole launch at the front; NULL: none is in flight. */
static struct event_whole *front_whole(const struct event_machine *machine)
{
    return machine->first_whole < machine->wholes.count ? &machine->wholes.data[machine->first_whole] : NULL;
}

/* A whole launch has come to the front: how long it takes from now. */
static enum corun_status start_whole(struct event_machine *machine)
{
    struct event_whole *whole = front_whole(machine);
    if (!whole || whole->started)
        return CORUN_OK;
    uint32_t kinds[EVENT_MOST_LAUNCHES], before = count_before(machine, whole->behind);
    for (uint32_t i = 0; i < before; i++)
        kinds[i] = machine->ended_kinds[before - 1 - i];
    kinds[before] = whole->slice.kind;
    whole->started = true;
    enum corun_status status = machine->speeds.whole(machine->speeds.user, kinds, before + 1, &whole->ticks);
    if (!whole->behind && machine->ended_kinds[0] != CORUN_QUEUE_NONE)
        whole->ticks += machine->speeds.launch_ticks;
    return status;
}

/* ---- time ---- */

/* Ticks until thread blocks end, or a whole launch does; UINT64_MAX: nothing runs. */
static uint64_t ticks_to_next(const struct event_machine *machine)
{
    uint64_t next = UINT64_MAX;
    if (machine->running.entries.count)
        next = machine->running.entries.data[0].key - machine->now;
    const struct event_whole *whole = front_whole(machine);
    if (whole && whole->ticks < next)
        next = whole->ticks;
    return next;
}

/* Everything that runs advances by so many ticks; what ends leaves its room. */
static bool advance(struct event_machine *machine, uint64_t ticks)
{
    machine->now += ticks;
    struct event_whole *whole = front_whole(machine);
    if (whole)
        whole->ticks -= ticks < whole->ticks ? ticks : whole->ticks;
    while (machine->running.entries.count && machine->running.entries.data[0].key <= machine->now) {
        struct heap_entry end = heap_take(&machine->running);
        struct event_slice *slice = &machine->slices.data[end.slice];
        slice->running -= end.tbs;
        add_residents(machine, &machine->kinds.data[slice->slice.kind], -(int64_t)end.tbs);
        if (!slice->running && !slice->waiting &&
            !heap_put(&machine->ended, (struct heap_entry){.key = slice->number, .slice = end.slice}))
            return false;
    }
    return true;
}

/* A slice or whole launch that has ended leaves; of slices that ended at one tick, the one that was launched first. */
static bool take_ended(struct event_machine *machine, struct queue_slice *ended)
{
    const struct event_whole *whole = front_whole(machine);
    if (whole && !whole->ticks) {
        *ended = whole->slice;
        machine->first_whole++;
        for (uint32_t i = EVENT_MOST_LAUNCHES - 1; i > 0; i--)
            machine->ended_kinds[i] = machine->ended_kinds[i - 1];
        machine->ended_kinds[0] = ended->kind;
        return true;
    }
    if (!machine->ended.entries.count)
        return false;
    uint32_t index = heap_take(&machine->ended).slice;
    *ended = machine->slices.data[index].slice;
    machine->slices.data[index].next = machine->first_free;
    machine->first_free = index;
    return true;
}

static enum corun_status wait(void *user, uint64_t until, uint64_t *now, struct queue_slice *ended, bool *any)
{
    struct event_machine *machine = user;
    enum corun_status status = start_whole(machine);
    *any = false;
    while (status == CORUN_OK) {
        *any = take_ended(machine, ended);
        if (*any)
            break;
        if (!dispatch(machine))
            return CORUN_MEMORY;
        uint64_t ticks = ticks_to_next(machine), left = until > machine->now ? until - machine->now : 0;
        if (!advance(machine, ticks < left ? ticks : left))
            return CORUN_MEMORY;
        if (ticks > left)
            break;
    }
    *now = machine->now;
    return status;
}

struct event_machine *event_machine_create(const struct event_speeds *speeds, struct corun_diagnostics *list)
{
    struct event_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return NULL;
    machine->speeds = *speeds;
    machine->list = list;
    machine->first_free = CORUN_QUEUE_NONE;
    if (machine->speeds.most_before > EVENT_MOST_LAUNCHES - 1)
        machine->speeds.most_before = EVENT_MOST_LAUNCHES - 1;
    for (uint32_t i = 0; i < EVENT_MOST_LAUNCHES; i++)
        machine->ended_kinds[i] = CORUN_QUEUE_NONE;
    return machine;
}

void event_machine_destroy(struct event_machine *machine)
{
    if (!machine)
        return;
    vector_free(&machine->kinds);
    vector_free(&machine->slices);
    heap_free(&machine->running);
    heap_free(&machine->ended);
    vector_free(&machine->wholes);
    free(machine);
}

struct queue_machine event_machine_operations(struct event_machine *machine)
{
    return (struct queue_machine){.planned = planned, .launch = launch, .wait = wait, .user = machine};
}

uint64_t event_machine_steps(const struct event_machine *machine)
{
    return machine->steps + machine->running.steps + machine->ended.steps;
}
