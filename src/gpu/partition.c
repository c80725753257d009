/* SPDX-License-Identifier: MIT */
/*
 * Where thread blocks lie in the registers and the shared memory of an SM. Each takes one contiguous place of both, the
 * first that is free; where an SM is partitioned, inside its application's range. What lies elsewhere when that is
 * written is relocated: swapped out, and in again where there is a place for it. (Wang et al., SMK, section 2.4.3.2.)
 *
 * Without partitions a thread block starts wherever the sums allow it, as ever. One that finds no contiguous place then
 * is noted as scattered, and has to be relocated as soon as its SM is partitioned.
 */
#include "gpu/gpu.h"

#include <assert.h>
#include <string.h>

struct range {
    uint32_t first, count;
};

/* What a thread block may not overlap in one resource. */
struct obstacles {
    struct range ranges[MAX_TBS + CORUN_MAX_APPLICATIONS];
    uint32_t count;
};

static bool overlap(struct range a, struct range b)
{
    return a.count && b.count && a.first < b.first + b.count && b.first < a.first + a.count;
}

static bool inside(struct range part, struct range whole)
{
    return !part.count || (part.first >= whole.first && part.first + part.count <= whole.first + whole.count);
}

static struct range registers_of(const struct corun_partition *p)
{
    return (struct range){p->first_register, p->register_count};
}

static struct range shared_of(const struct corun_partition *p)
{
    return (struct range){p->first_shared_byte, p->shared_bytes};
}

/* NULL: none. Those that have left need theirs no more. */
static const struct corun_partition *partition_of(const struct corun_gpu *gpu, uint32_t s, uint32_t application)
{
    static const struct corun_partition none;
    const struct corun_partition *p = &gpu->allowances->partition[s * gpu->application_count + application];
    bool left = gpu->applications[application].state == CORUN_APPLICATION_LEFT;
    return left || !memcmp(p, &none, sizeof none) ? NULL : p;
}

static void add(struct obstacles *obstacles, struct range range)
{
    if (range.count)
        obstacles->ranges[obstacles->count++] = range;
}

/* Thread blocks on the SM and, for an application without a range, the ranges of the others. */
static void collect(const struct corun_gpu *gpu, uint32_t s, bool ranges, struct obstacles *registers,
                    struct obstacles *shared)
{
    const struct sm_use *use = &gpu->use[s];
    registers->count = shared->count = 0;
    for (uint32_t i = 0; i < use->place_count; i++)
        if (!use->places[i].scattered) {
            add(registers, (struct range){use->places[i].first_register, use->places[i].registers});
            add(shared, (struct range){use->places[i].first_shared_byte, use->places[i].shared_bytes});
        }
    for (uint32_t a = 0; ranges && a < gpu->application_count; a++) {
        const struct corun_partition *p = partition_of(gpu, s, a);
        if (p) {
            add(registers, registers_of(p));
            add(shared, shared_of(p));
        }
    }
}

static bool first_fit(const struct obstacles *obstacles, struct range within, uint32_t size, uint32_t *first)
{
    struct range place = {within.first, size};
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < obstacles->count; i++)
            if (overlap(place, obstacles->ranges[i])) {
                place.first = obstacles->ranges[i].first + obstacles->ranges[i].count;
                moved = true;
            }
    }
    *first = place.first;
    return size <= within.count && place.first - within.first <= within.count - size;
}

/* What is free of a range, in whatever pieces. */
static uint32_t free_of(const struct obstacles *obstacles, struct range within)
{
    uint32_t at = within.first, end = within.first + within.count, sum = 0;
    while (at < end) {
        uint32_t next = end, behind = at; /* the next obstacle, and where those that cover `at` end */
        for (uint32_t i = 0; i < obstacles->count; i++) {
            struct range o = obstacles->ranges[i];
            if (o.first <= at && o.first + o.count > behind)
                behind = o.first + o.count;
            else if (o.first > at && o.first < next)
                next = o.first;
        }
        sum += behind > at ? 0 : next - at;
        at = behind > at ? behind : next;
    }
    return sum;
}

/* Threads and slots that the application's range leaves. */
static bool has_slot(const struct corun_gpu *gpu, uint32_t s, uint32_t application, const struct corun_partition *p,
                     const struct tb_needs *needs)
{
    const struct sm_use *use = &gpu->use[s];
    uint32_t threads = needs->threads, slots = 1;
    for (uint32_t i = 0; i < use->place_count; i++)
        if (use->places[i].application == application) {
            threads += use->places[i].threads;
            slots++;
        }
    return threads <= p->thread_count && slots <= p->tb_slots;
}

enum fit { FITS, FRAGMENTED, FULL };

static enum fit find_place(const struct corun_gpu *gpu, uint32_t s, uint32_t application, const struct tb_needs *needs,
                           struct sm_place *place)
{
    const struct corun_partition *p = partition_of(gpu, s, application);
    struct obstacles registers, shared;
    struct range all_registers = {0, gpu->config.registers_per_sm}, all_shared = {0, gpu->config.shared_bytes_per_sm};
    collect(gpu, s, !p, &registers, &shared);
    if (p) {
        if (!has_slot(gpu, s, application, p, needs))
            return FULL;
        all_registers = registers_of(p);
        all_shared = shared_of(p);
    }
    if (first_fit(&registers, all_registers, needs->registers, &place->first_register) &&
        first_fit(&shared, all_shared, needs->shared_bytes, &place->first_shared_byte))
        return FITS;
    return free_of(&registers, all_registers) >= needs->registers && free_of(&shared, all_shared) >= needs->shared_bytes
               ? FRAGMENTED
               : FULL;
}

bool partition_fits(struct corun_gpu *gpu, uint32_t s, const struct launch *launch, const struct tb_needs *needs)
{
    struct sm_use *use = &gpu->use[s];
    uint32_t application = launch->kernel->application;
    struct sm_place place;
    if (!use->partitioned)
        return true;
    for (uint32_t i = 0; i < use->place_count; i++)
        if (use->places[i].scattered) /* nobody knows what is free before it has left */
            return false;
    enum fit fit = find_place(gpu, s, application, needs, &place);
    if (fit == FRAGMENTED && !(use->fragmented >> application & 1u)) {
        use->fragmented |= 1u << application;
        memory_system_counters(follower_memory(gpu->follower), launch->kernel->slot)->tbs_fragmented++;
    }
    return fit == FITS;
}

void partition_enter(struct corun_gpu *gpu, uint32_t s, const struct launch *launch, uint32_t tb_index,
                     const struct tb_needs *needs)
{
    struct sm_use *use = &gpu->use[s];
    uint8_t application = launch->kernel->application;
    struct sm_place place = {.launch = launch,
                             .tb_index = tb_index,
                             .application = application,
                             .threads = needs->threads,
                             .registers = needs->registers,
                             .shared_bytes = needs->shared_bytes};
    place.scattered = find_place(gpu, s, application, needs, &place) != FITS;
    use->places[use->place_count++] = place;
    use->fragmented = 0;
}

void partition_leave(struct corun_gpu *gpu, uint32_t s, const struct launch *launch, uint32_t tb_index)
{
    struct sm_use *use = &gpu->use[s];
    uint32_t i = 0;
    while (i < use->place_count && (use->places[i].launch != launch || use->places[i].tb_index != tb_index))
        i++;
    assert(i < use->place_count);
    memmove(&use->places[i], &use->places[i + 1], (--use->place_count - i) * sizeof *use->places);
    use->fragmented = 0;
}

/* Does it lie where it must not, now that the SM is partitioned? */
static bool misplaced(const struct corun_gpu *gpu, uint32_t s, const struct sm_place *place)
{
    const struct corun_partition *own = partition_of(gpu, s, place->application);
    struct range registers = {place->first_register, place->registers};
    struct range shared = {place->first_shared_byte, place->shared_bytes};
    if (place->scattered)
        return true;
    if (own)
        return !inside(registers, registers_of(own)) || !inside(shared, shared_of(own));
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        const struct corun_partition *p = partition_of(gpu, s, a);
        if (p && (overlap(registers, registers_of(p)) || overlap(shared, shared_of(p))))
            return true;
    }
    return false;
}

/* Those that lie elsewhere, and those that came last where there are more than the range has threads or slots for. */
static enum corun_status relocate(struct corun_gpu *gpu, uint32_t s)
{
    const struct sm_use *use = &gpu->use[s];
    struct sm_place places[MAX_TBS];
    uint32_t count = use->place_count, threads[CORUN_MAX_APPLICATIONS] = {0}, slots[CORUN_MAX_APPLICATIONS] = {0};
    enum corun_status status = CORUN_OK;
    memcpy(places, use->places, count * sizeof *places); /* one that is taken back leaves at once */
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        uint32_t a = places[i].application;
        const struct corun_partition *p = partition_of(gpu, s, a);
        bool stays = !misplaced(gpu, s, &places[i]) &&
                     (!p || (threads[a] + places[i].threads <= p->thread_count && slots[a] < p->tb_slots));
        if (stays) {
            threads[a] += places[i].threads;
            slots[a]++;
        } else {
            status = preemption_relocate(gpu, s, places[i].launch, places[i].tb_index);
        }
    }
    return status;
}

enum corun_status partition_follow(struct corun_gpu *gpu)
{
    size_t row = gpu->application_count * sizeof *gpu->partitions_given;
    enum corun_status status = CORUN_OK;
    for (uint32_t s = 0; s < gpu->config.sms && status == CORUN_OK; s++) {
        size_t first = (size_t)s * gpu->application_count;
        struct sm_use *use = &gpu->use[s];
        if (!memcmp(&gpu->partitions_given[first], &gpu->allowances->partition[first], row))
            continue;
        memcpy(&gpu->partitions_given[first], &gpu->allowances->partition[first], row);
        use->fragmented = 0;
        use->partitioned = false;
        for (uint32_t a = 0; a < gpu->application_count; a++)
            use->partitioned |= partition_of(gpu, s, a) != NULL;
        if (use->partitioned)
            status = relocate(gpu, s);
    }
    return status;
}
