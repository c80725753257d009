/* SPDX-License-Identifier: MIT */
/*
 * Plugs (runtime/plug.h): what keeps others' workers from an SM.
 *
 * Nobody can say on which SM a worker lands. One that lands where nothing is owed leaves at once, but it has begun a launch there: the SM's L1 is emptied for it, and gives it room
 * for its shared memory. A launch of few thread blocks leaves room for such strays on its SMs. There plugs take what it leaves.
 *
 *     threads of an SM    │ workers of its owner, as many as there will ever be │      plug      │      plug      │
 *
 * The places of plugs are a row of the table behind those of the applications. Which SM is to have how many follows from the limits of the applications; those that are missing are
 * launched as a crew is, for a way round all SMs with room for them. They come at the moment at which a launch of the owner follows the one before:
 *
 *     owner's workers  ═══ launch n, after a hand-over ═══╗ the SM is empty: its L1 ╔═══ launch n + 1 ═══ …
 *     plugs                         given, behind n ──────╝ is divided anew         ╚═══ stay ═══════════ …
 */
#include "software/state.h"

#include <stdlib.h>

/* Plugs are given twice as long to land each time that some have missed their SMs, so often. */
#define MOST_MISSES 6u

#define MOST_MORE 3u /* plugs than need be */

static struct needs needs_of_plug(const struct software *software, uint32_t warps)
{
    return (struct needs){
        .threads = UINT64_C(32) * warps, .registers = (uint64_t)software->plugs.warp_registers * warps, .tbs = 1};
}

enum corun_status plugs_make(struct software *software)
{
    struct plugs *plugs = &software->plugs;
    plugs->warp_registers = software->count > 1 && software->options.launching == SOFTWARE_WORKERS
                                ? runtime_plug_warp_registers(software->runtime)
                                : 0;
    plugs->at = plugs->warp_registers ? calloc(software->places, sizeof *plugs->at) : NULL;
    return plugs->at || !plugs->warp_registers ? CORUN_OK : CORUN_MEMORY;
}

static bool is_active(const struct application *a)
{
    return a->state == CORUN_APPLICATION_RUNNING && a->status == CORUN_OK && !orders_idle(a);
}

/* The most that an application's workers take of an SM, whichever of its launches they are of. False: some launches are no workers'. */
static bool most_needs(const struct software *software, const struct application *a, struct needs *most)
{
    *most = (struct needs){0};
    for (uint32_t i = 0; i < a->launch_count; i++) {
        const struct kind *kind = &a->kinds[i];
        const struct needs one = needs_of(kind);
        struct needs all = {0};
        if (kind->about.refusal)
            return false;
        needs_add(&all, &one, crew_most_on_sm(software, a, kind));
        most->threads = all.threads > most->threads ? all.threads : most->threads;
        most->registers = all.registers > most->registers ? all.registers : most->registers;
        most->shared_bytes = all.shared_bytes > most->shared_bytes ? all.shared_bytes : most->shared_bytes;
        most->tbs = all.tbs > most->tbs ? all.tbs : most->tbs;
    }
    return true;
}

/* Its workers are on their way, or will be: of one that has a place nowhere no crew is launched. */
static bool has_crews(const struct software *software, struct application *a)
{
    bool any = crew_is_owed(software, a);
    for (uint64_t n = a->retired; n < a->given && !any; n++)
        any = order_at(a, n)->in_flight != 0;
    return any;
}

/* Could a worker of somebody else's land beside that? */
static bool others_fit(struct software *software, const struct application *a, const struct needs *taken)
{
    for (uint32_t i = 0; i < software->count; i++) {
        struct application *other = &software->applications[i];
        if (other == a || !is_active(other) || !has_crews(software, other))
            continue;
        for (uint32_t k = 0; k < other->launch_count; k++) {
            const struct needs one = needs_of(&other->kinds[k]);
            if (room_beside(software, taken, &one, 1))
                return true;
        }
    }
    return false;
}

/* So many plugs share a room of warps: as few as can, or a few more if that leaves fewer warps over. */
static uint32_t plugs_in(uint32_t room)
{
    const uint32_t least = (room + RUNTIME_PLUG_WARPS - 1) / RUNTIME_PLUG_WARPS;
    uint32_t best = least;
    for (uint32_t more = least + 1; room && more <= least + MOST_MORE; more++)
        best = room % more < room % best ? more : best;
    return best;
}

/* Plugs on each SM of an application's own take all that its workers leave. */
static void size_plugs(struct software *software, struct application *a)
{
    const struct needs warp = needs_of_plug(software, 1);
    struct needs taken;
    uint32_t room = 0;
    if (is_active(a) && most_needs(software, a, &taken) && taken.tbs < MOST_TBS_PER_SM &&
        others_fit(software, a, &taken)) {
        taken.tbs = 0; /* a plug is one, however many warps it has */
        room = room_beside(software, &taken, &(struct needs){.threads = warp.threads, .registers = warp.registers},
                           UINT32_MAX);
    }
    a->plugs = plugs_in(room);
    if (!a->plugs)
        return;
    a->plug_sizes += room / a->plugs != a->plug_warps;
    a->plug_warps = room / a->plugs;
}

/* Plugs of one size leave where those of another one come. */
static uint32_t tag_of(const struct application *a)
{
    return (2 * a->index + (a->plug_sizes & 1)) % RUNTIME_PLUG_TAGS;
}

/* Whose SM is it, with nobody else there? `count`: nobody's. */
static uint32_t owner_of(const struct software *software, uint32_t place)
{
    uint32_t owner = software->count;
    for (uint32_t i = 0; i < software->count; i++) {
        const struct share *share = share_of(software, place, i);
        if (share->given && (share->after || owner < software->count))
            return software->count;
        owner = share->given ? i : owner;
    }
    for (uint32_t i = 0; i < software->count; i++)
        if (i != owner && share_of(software, place, i)->resident)
            return software->count;
    return software->allowances->exclusive[place] ? owner : software->count;
}

void plugs_plan(struct software *software, uint64_t *first, uint64_t *last)
{
    struct plugs *plugs = &software->plugs;
    for (uint32_t i = 0; plugs->at && i < software->count; i++)
        size_plugs(software, &software->applications[i]);
    for (uint32_t place = 0; plugs->at && place < software->places; place++) {
        const uint64_t row = (uint64_t)software->count * software->places + place;
        const uint32_t owner = owner_of(software, place);
        const struct application *a = owner < software->count ? &software->applications[owner] : NULL;
        const uint16_t limit = a && a->plugs ? worker_limit(a->plugs, (int)tag_of(a)) : 0;
        if (software->limit_rows[row] == limit)
            continue;
        plugs->at[place].given = a ? a->plugs : 0;
        plugs->at[place].warps = a ? a->plug_warps : 0;
        software->limit_rows[row] = limit;
        *first = *first < row ? *first : row;
        *last = *last > row ? *last : row;
    }
}

void plugs_read(struct software *software, const uint8_t *table)
{
    const struct worker_place *places = (const void *)(table + places_offset(software, software->count));
    for (uint32_t place = 0; software->plugs.at && place < software->places; place++)
        software->plugs.at[place].resident = places[place].resident;
}

void plugs_add(const struct software *software, uint32_t place, struct needs *taken)
{
    const struct plug *plug = software->plugs.at ? &software->plugs.at[place] : NULL;
    const struct needs one = needs_of_plug(software, plug ? plug->warps : 0);
    if (plug) /* those that are too many are about to leave */
        needs_add(taken, &one, plug->resident < plug->given ? plug->resident : plug->given);
}

static uint32_t missing_on(const struct software *software, uint32_t place, const struct application *a)
{
    const struct plug *plug = &software->plugs.at[place];
    return owner_of(software, place) == a->index && plug->given > plug->resident ? plug->given - plug->resident : 0;
}

/* As many as are missing on an application's SMs, and on every other SM with room as many as a round of all of these takes. */
static uint32_t missing(const struct software *software, const struct application *a)
{
    const struct needs one = needs_of_plug(software, a->plug_warps);
    uint32_t count = 0, rounds = 0;
    for (uint32_t place = 0; place < software->places; place++) {
        uint32_t here = missing_on(software, place, a);
        count += here;
        rounds = here > rounds ? here : rounds;
    }
    for (uint32_t place = 0; place < software->places && rounds; place++) {
        uint32_t here = missing_on(software, place, a), land = room_on(software, place, a, &one, rounds);
        count += land > here ? land - here : 0;
    }
    return count;
}

/* Have the last plugs of an application had the time to land, and has a look been begun since? */
static bool have_landed(const struct software *software, struct application *a)
{
    if (a->head < a->plugs_from)
        return false;
    if (!a->plugs_ns)
        a->plugs_ns = software->now;
    return software->look_began >= a->plugs_ns + ((uint64_t)LANDING_NANOSECONDS << a->plugs_missed);
}

static enum corun_status grow(struct software *software, struct application *a)
{
    bool given = false;
    if (!is_active(a) || (a->plugs_given && !have_landed(software, a)))
        return CORUN_OK;
    const uint32_t count = missing(software, a);
    if (!count) {
        a->plugs_given = false;
        a->plugs_missed = 0;
        return CORUN_OK;
    }
    const struct runtime_plugs plugs = {.places = runtime_table_address(software->runtime) +
                                                  places_offset(software, software->count),
                                        .count = count,
                                        .warps = a->plug_warps,
                                        .tag = tag_of(a),
                                        .behind = crews_first_stream(software, a)};
    enum corun_status status = runtime_plug(software->runtime, &plugs, &given);
    a->plugs_missed += a->plugs_given && a->plugs_missed < MOST_MISSES;
    a->plugs_given = true;
    a->plugs_ns = 0;
    a->plugs_from = a->given > a->head ? a->head + 1 : a->head;
    software->control.plugs += given ? count : 0;
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait looks after that */
}

enum corun_status plugs_grow(struct software *software)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; software->plugs.at && i < software->count && status == CORUN_OK; i++)
        status = grow(software, &software->applications[i]);
    return status;
}

void plugs_start_over(struct software *software)
{
    struct plugs *plugs = &software->plugs;
    for (uint32_t place = 0; plugs->at && place < software->places; place++) {
        plugs->at[place] = (struct plug){0};
        software->limit_rows[(uint64_t)software->count * software->places + place] = 0;
    }
    for (uint32_t i = 0; i < software->count; i++)
        software->applications[i].plugs_given = false;
}
