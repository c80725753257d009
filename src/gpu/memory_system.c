/* SPDX-License-Identifier: MIT */
/*
 * Puts interconnect, slices and DRAM together.
 *
 * One advance, to core cycle `now`, plays a chain of horizons, each the earliest moment at which a packet that is sent later could
 * appear there:
 *     the network's entry      all requests that enter before it have been sent
 *     heads at the slices      + the shortest way; ejection ports serve deliveries before it
 *     turns at the tags        + the delivery's rounding + l2_latency; slices and DRAM are played up to it
 *     entry of replies         replies that are ready before it are in their final order
 *     heads at the SMs         + the shortest way; deliveries before it go to the rings
 * What happens between two horizons depends on what was sent, not on where the steps were cut. The last one, in core
 * cycles, is now + memory_system_quantum or later.
 */
#include "gpu/memory_system.h"

#include "base/bits.h"
#include "gpu/cache_lines.h"
#include "gpu/l2.h"

#include <assert.h>
#include <stdlib.h>

#define MOST_CONTROLLERS 64

struct memory_system {
    struct memory_shared shared;
    struct memory_channel *channels;
    struct reply_ring *rings; /* per SM */
    struct team *team;        /* NULL: nobody helps */
    struct team_kind channel_rounds;
    void (*perform)(void *user, const struct packet *packet);
    void *user;
    bool beside;      /* some ring has not been accepted */
    uint32_t atomics; /* that were sent, and not replied to */
};

/* ---- creation ---- */

/* corun_gpu_config_check says what is wrong in words; here it only must not do harm. */
static bool is_possible(const struct corun_gpu_config *c)
{
    uint32_t slices = c->memory_controllers * c->slices_per_controller;
    return c->core_clock_khz && c->icnt_clock_khz && c->l2_clock_khz && c->dram_clock_khz && c->sms &&
           c->sms <= 1u << REQUEST_SOURCE_BITS && c->memory_controllers && c->memory_controllers <= MOST_CONTROLLERS &&
           c->slices_per_controller && c->slices_per_controller <= 16 && c->icnt_flit_bytes && c->icnt_latency &&
           c->icnt_buffer && is_power_of_two(c->l2_line_bytes) && is_power_of_two(c->l2_sector_bytes) &&
           c->l2_line_bytes >= 32 && c->l2_sector_bytes <= c->l2_line_bytes &&
           c->l2_line_bytes / c->l2_sector_bytes <= 8 && c->l2_bytes_per_cycle && c->l2_mshrs && c->l2_mshr_merge &&
           c->l2_queue && c->l2_bytes % slices == 0 && c->dram_bus_bytes && c->dram_data_rate &&
           is_power_of_two(c->dram_burst_bytes) && c->dram_queue && c->dram_banks && c->dram_bank_groups &&
           c->dram_banks % c->dram_bank_groups == 0 && is_power_of_two(c->dram_row_bytes) &&
           c->dram_row_bytes >= c->l2_line_bytes;
}

static void create_clocks(struct memory_shared *shared)
{
    const struct corun_gpu_config *config = &shared->config;
    shared->core_to_icnt = clock_ratio(config->core_clock_khz, config->icnt_clock_khz);
    shared->icnt_to_core = clock_ratio(config->icnt_clock_khz, config->core_clock_khz);
    shared->icnt_to_l2 = clock_ratio(config->icnt_clock_khz, config->l2_clock_khz);
    shared->l2_to_icnt = clock_ratio(config->l2_clock_khz, config->icnt_clock_khz);
    shared->l2_to_dram = clock_ratio(config->l2_clock_khz, config->dram_clock_khz);
    shared->dram_to_l2 = clock_ratio(config->dram_clock_khz, config->l2_clock_khz);
    struct clock_ratio core_to_l2 = clock_ratio(config->core_clock_khz, config->l2_clock_khz);
    shared->dram_extra = clock_ceil(&core_to_l2, config->dram_latency);
}

static uint8_t reply_flits(const struct corun_gpu_config *config, uint32_t kind, uint32_t sectors)
{
    struct packet packet = {.kind = (uint8_t)kind, .sectors = (uint8_t)((1u << sectors) - 1)};
    uint32_t flits = packet_reply_flits(config, &packet);
    return (uint8_t)(flits < UINT8_MAX ? flits : UINT8_MAX);
}

static void create_flits(struct memory_shared *shared)
{
    shared->header_flits = reply_flits(&shared->config, PACKET_WRITE, 0);
    for (uint32_t sectors = 0; sectors < sizeof shared->read_flits; sectors++)
        shared->read_flits[sectors] = reply_flits(&shared->config, PACKET_READ, sectors);
}

struct memory_system *memory_system_create(const struct corun_gpu_config *config,
                                           void (*perform)(void *user, const struct packet *packet), void *user)
{
    if (!is_possible(config))
        return NULL;
    struct memory_system *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    struct memory_shared *shared = &memory->shared;
    shared->config = *config;
    memory->perform = perform;
    memory->user = user;
    create_clocks(shared);
    create_flits(shared);
    address_map_create(&shared->map, config);
    memory->channels = allocate_lines(config->memory_controllers * sizeof *memory->channels);
    memory->rings = allocate_lines(config->sms * sizeof *memory->rings);
    bool complete = memory->channels && memory->rings && network_create(&shared->requests, config, true) &&
                    network_create(&shared->replies, config, false);
    for (uint32_t i = 0; complete && i < config->memory_controllers; i++)
        complete = memory_channel_create(&memory->channels[i], shared, i);
    for (uint32_t i = 0; complete && i < config->sms; i++)
        complete = reply_ring_create(&memory->rings[i], config->icnt_buffer);
    if (!complete) {
        memory_system_destroy(memory);
        return NULL;
    }
    return memory;
}

void memory_system_destroy(struct memory_system *memory)
{
    if (!memory)
        return;
    struct memory_shared *shared = &memory->shared;
    for (uint32_t i = 0; memory->channels && i < shared->config.memory_controllers; i++)
        memory_channel_free(&memory->channels[i]);
    for (uint32_t i = 0; memory->rings && i < shared->config.sms; i++)
        reply_ring_destroy(&memory->rings[i]);
    free(memory->channels);
    free(memory->rings);
    network_free(&shared->requests);
    network_free(&shared->replies);
    request_pool_free(&shared->pool);
    free(shared->counters);
    free(shared->atomics);
    free(shared->sorted_atomics);
    free(memory);
}

uint64_t memory_system_quantum(const struct memory_system *memory)
{
    /* Rounding up at each change of clocks only makes ways longer, and horizons are whole core cycles. */
    const struct memory_shared *shared = &memory->shared;
    const struct corun_gpu_config *config = &shared->config;
    unsigned __int128 icnt_cycles = shared->requests.least_latency + shared->replies.least_latency;
    unsigned __int128 numerator =
        (icnt_cycles * config->l2_clock_khz + (unsigned __int128)config->l2_latency * config->icnt_clock_khz) *
        config->core_clock_khz;
    unsigned __int128 denominator = (unsigned __int128)config->icnt_clock_khz * config->l2_clock_khz;
    uint64_t quantum = (uint64_t)((numerator + denominator - 1) / denominator);
    return quantum ? quantum : 1;
}

void memory_system_share(struct memory_system *memory, struct team *team)
{
    memory->team = team;
}

struct reply_ring *memory_system_replies(struct memory_system *memory, uint32_t sm)
{
    return &memory->rings[sm];
}

/* Room for a kernel slot in the counters of all. */
static bool grow_counters(struct memory_system *memory, uint32_t kernel)
{
    struct memory_shared *shared = &memory->shared;
    uint32_t count = shared->counter_count ? shared->counter_count : 16;
    while (count <= kernel && count <= UINT32_MAX / 2)
        count *= 2;
    if (count <= kernel)
        return false;
    struct corun_counters *counters = realloc(shared->counters, count * sizeof *counters);
    if (!counters)
        return false;
    shared->counters = counters;
    for (uint32_t c = 0; c < shared->config.memory_controllers; c++) {
        struct channel_counters *parts = realloc(memory->channels[c].counters, count * sizeof *parts);
        if (!parts)
            return false;
        memory->channels[c].counters = parts;
        for (uint32_t i = shared->counter_count; i < count; i++)
            parts[i] = (struct channel_counters){0};
    }
    for (uint32_t i = shared->counter_count; i < count; i++)
        counters[i] = (struct corun_counters){0};
    shared->counter_count = count;
    return true;
}

struct corun_counters *memory_system_counters(struct memory_system *memory, uint32_t kernel)
{
    struct memory_shared *shared = &memory->shared;
    if (kernel >= shared->counter_count && !grow_counters(memory, kernel))
        return NULL;
    struct corun_counters *counters = &shared->counters[kernel];
    for (uint32_t c = 0; c < shared->config.memory_controllers; c++) {
        struct channel_counters *part = &memory->channels[c].counters[kernel];
#define X(name) counters->name += part->name;
        CHANNEL_COUNTERS(X)
#undef X
        *part = (struct channel_counters){0};
    }
    return counters;
}

static void retire_in_slice(struct l2_slice *slice, const struct retired_kernels *retired)
{
    slice->victim.kernel = heir_of(retired, slice->victim.kernel);
    if (slice->tags)
        cache_retire(slice->tags, retired);
}

void memory_system_retire(struct memory_system *memory, const struct retired_kernels *retired)
{
    struct memory_shared *shared = &memory->shared;
    for (uint32_t i = 0; i < shared->pool.capacity; i++)
        shared->pool.slots[i].packet.kernel = heir_of(retired, shared->pool.slots[i].packet.kernel);
    for (uint32_t sm = 0; sm < shared->config.sms; sm++)
        reply_ring_retire(&memory->rings[sm], retired);
    for (uint32_t i = 0; i < shared->config.memory_controllers; i++) {
        for (uint32_t s = 0; s < shared->config.slices_per_controller; s++)
            retire_in_slice(&memory->channels[i].slices[s], retired);
        dram_retire(memory->channels[i].dram, retired);
    }
    for (uint32_t kernel = 0; kernel < shared->counter_count; kernel++)
        if (is_retired(retired, kernel)) {
            corun_counters_add(&shared->counters[retired->heir], memory_system_counters(memory, kernel));
            shared->counters[kernel] = (struct corun_counters){0};
        }
}

/* ---- outside of time ---- */

void memory_system_touch(struct memory_system *memory, uint64_t line, uint32_t sectors, uint64_t words, bool store,
                         uint16_t kernel, uint8_t application)
{
    const struct memory_shared *shared = &memory->shared;
    const struct corun_gpu_config *config = &shared->config;
    if (!config->l2_bytes)
        return;
    uint64_t local;
    uint32_t slice = address_map_slice(&shared->map, line, &local);
    struct memory_channel *channel = &memory->channels[slice / config->slices_per_controller];
    l2_slice_touch(&channel->slices[slice % config->slices_per_controller], config, local, sectors, words, store,
                   kernel, application);
}

/* ---- requests ---- */

void memory_system_send_next(struct memory_system *memory, const struct packet *packet)
{
    struct memory_shared *shared = &memory->shared;
    assert(packet->sm < shared->config.sms && packet->kind < PACKET_KINDS && packet->sectors);
    uint32_t request = request_pool_take(&shared->pool);
    if (request == NO_REQUEST || (packet->kernel >= shared->counter_count && !grow_counters(memory, packet->kernel))) {
        shared->failed = true;
        return;
    }
    struct request *r = &shared->pool.slots[request];
    uint32_t flits = shared->header_flits;
    if (packet->kind != PACKET_READ)
        flits = packet_request_flits(&shared->config, packet);
    r->packet = *packet;
    memory->atomics += packet->kind == PACKET_ATOMIC;
    r->flits = (uint8_t)(flits < UINT8_MAX ? flits : UINT8_MAX);
    uint32_t slice = address_map_slice(&shared->map, packet->address, &r->local);
    if (!network_inject(&shared->requests, &shared->pool, request, packet->sm, slice,
                        clock_ceil(&shared->core_to_icnt, packet->cycle)))
        shared->failed = true;
}

void memory_system_send(struct memory_system *memory, const struct packet *packets, size_t count)
{
    for (size_t i = 0; i < count && !memory->shared.failed; i++)
        memory_system_send_next(memory, &packets[i]);
}

/* ---- replies ---- */

/* Merges `from`'s runs [first, middle) and [middle, last) into `to`; of equal cycles, the first run's go first. */
static void merge(const struct served_atomic *from, struct served_atomic *to, uint32_t first, uint32_t middle,
                  uint32_t last)
{
    uint32_t a = first, b = middle;
    for (uint32_t i = first; i < last; i++)
        to[i] = a < middle && (b == last || from[a].cycle <= from[b].cycle) ? from[a++] : from[b++];
}

/* Those of all channels in a row; `ends`: where the run of each channel ends. */
static bool gather_atomics(struct memory_system *memory, uint32_t count, uint32_t *ends)
{
    struct memory_shared *shared = &memory->shared;
    if (count > shared->atomic_capacity) {
        free(shared->atomics);
        free(shared->sorted_atomics);
        shared->atomics = malloc(2 * count * sizeof *shared->atomics);
        shared->sorted_atomics = malloc(2 * count * sizeof *shared->sorted_atomics);
        shared->atomic_capacity = shared->atomics && shared->sorted_atomics ? 2 * count : 0;
        if (!shared->atomic_capacity)
            return false;
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < shared->config.memory_controllers; i++) {
        struct memory_channel *channel = &memory->channels[i];
        for (uint32_t at = 0; at < channel->atomic_count; at++)
            shared->atomics[end++] = channel->atomics[at];
        channel->atomic_count = 0;
        ends[i] = end;
    }
    return true;
}

static bool perform_atomics(struct memory_system *memory, uint32_t count)
{
    struct memory_shared *shared = &memory->shared;
    uint32_t ends[MOST_CONTROLLERS];
    if (!gather_atomics(memory, count, ends))
        return false;
    struct served_atomic *from = shared->atomics, *to = shared->sorted_atomics;
    for (uint32_t runs = shared->config.memory_controllers; runs > 1; runs = (runs + 1) / 2) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < runs; i += 2) {
            uint32_t last = i + 1 < runs ? ends[i + 1] : ends[i];
            merge(from, to, first, ends[i], last);
            ends[i / 2] = first = last;
        }
        struct served_atomic *swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; i < count; i++)
        memory->perform(memory->user, &shared->pool.slots[from[i].request].packet);
    return true;
}

static bool note_departure(struct memory_channel *channel, struct departure departure)
{
    if (channel->departure_count == channel->departure_capacity) {
        uint32_t capacity = channel->departure_capacity ? channel->departure_capacity * 2 : 64;
        struct departure *departures = capacity ? realloc(channel->departures, capacity * sizeof *departures) : NULL;
        if (!departures)
            return false;
        channel->departures = departures;
        channel->departure_capacity = capacity;
    }
    channel->departures[channel->departure_count++] = departure;
    return true;
}

/* Replies that are ready before `limit` enter the network. */
static void enter_replies(struct memory_channel *channel, struct l2_slice *slice, uint64_t limit)
{
    struct memory_shared *shared = channel->shared;
    for (uint32_t request; (request = l2_slice_take_reply(slice, &shared->pool, limit)) != NO_REQUEST;) {
        struct request *r = &shared->pool.slots[request];
        uint32_t flits = shared->header_flits;
        if (r->packet.kind == PACKET_READ)
            flits = shared->read_flits[count_sectors(r->packet.sectors)];
        else if (r->packet.kind == PACKET_ATOMIC)
            flits = packet_reply_flits(&shared->config, &r->packet);
        uint64_t cycle = clock_ceil(&shared->l2_to_icnt, r->ready);
        r->flits = (uint8_t)(flits < UINT8_MAX ? flits : UINT8_MAX);
        r->packet.cycle = clock_ceil(&shared->icnt_to_core, cycle);
        r->destination = r->packet.sm;
        uint64_t start = network_enter(&shared->replies, r, slice->number, cycle);
        if (!note_departure(channel, (struct departure){start, request, (uint16_t)slice->number, r->packet.sm}))
            channel->failed = true;
    }
}

/* Those of all channels are on their way. */
static bool forward_replies(struct memory_system *memory)
{
    struct memory_shared *shared = &memory->shared;
    bool fine = true;
    for (uint32_t i = 0; i < shared->config.memory_controllers; i++) {
        struct memory_channel *channel = &memory->channels[i];
        for (uint32_t at = 0; at < channel->departure_count; at++) {
            const struct departure *departure = &channel->departures[at];
            fine = fine && network_forward(&shared->replies, departure->request, departure->slice, departure->sm,
                                           departure->start);
        }
        channel->departure_count = 0;
    }
    return fine;
}

static void deliver_replies(struct memory_system *memory, uint32_t sm, uint64_t limit)
{
    struct memory_shared *shared = &memory->shared;
    struct reply_ring *ring = &memory->rings[sm];
    bool any = false;
    uint64_t delivery;
    for (uint32_t request;
         (request = network_eject(&shared->replies, &shared->pool, sm, limit, &delivery)) != NO_REQUEST;) {
        struct request *r = &shared->pool.slots[request];
        uint64_t cycle = clock_ceil(&shared->icnt_to_core, delivery);
        struct corun_counters *counters = &shared->counters[r->packet.kernel];
        counters->icnt_replies++;
        counters->icnt_reply_flits += r->flits;
        counters->icnt_reply_latency += cycle - r->packet.cycle;
        const struct packet *packet = &r->packet;
        memory->atomics -= packet->kind == PACKET_ATOMIC;
        reply_ring_append(
            ring, (struct reply){cycle, packet->token, packet->kernel, packet->sm, packet->kind, packet->client});
        any = true;
        request_pool_give(&shared->pool, request);
    }
    if (any && !memory->beside)
        reply_ring_accept(ring);
}

/* ---- channels ---- */

struct horizons {
    struct memory_channel *channels;
    uint64_t heads, turns;
};

static void advance_channel(void *user, uint32_t index)
{
    const struct horizons *horizons = user;
    struct memory_channel *channel = &horizons->channels[index];
    memory_channel_advance(channel, horizons->heads, horizons->turns);
    for (uint32_t s = 0; s < channel->slice_count; s++)
        enter_replies(channel, &channel->slices[s], horizons->turns);
}

/* Requests under way from which on it may pay to wake other threads: a few microseconds of work. */
#define WORTH_SHARING 64u

/* Beside SMs, the second of two threads has these to do. */
static bool is_shared(const struct memory_system *memory)
{
    return memory->team && memory->shared.pool.used >= WORTH_SHARING &&
           (!memory->beside || team_threads(memory->team) > 2);
}

static void advance_channels(struct memory_system *memory, uint64_t heads, uint64_t turns)
{
    struct horizons horizons = {memory->channels, heads, turns};
    uint32_t count = memory->shared.config.memory_controllers;
    if (is_shared(memory))
        team_run(memory->team, &memory->channel_rounds, advance_channel, &horizons, count);
    else
        for (uint32_t i = 0; i < count; i++)
            advance_channel(&horizons, i);
}

static bool advance(struct memory_system *memory, uint64_t now)
{
    struct memory_shared *shared = &memory->shared;
    const struct corun_gpu_config *config = &shared->config;
    uint64_t entry = clock_ceil(&shared->core_to_icnt, now);
    uint64_t heads = entry + shared->requests.least_latency;
    uint64_t turns = clock_ceil(&shared->icnt_to_l2, heads) + config->l2_latency;
    uint64_t replies = clock_ceil(&shared->l2_to_icnt, turns);
    if (shared->failed || !network_route(&shared->requests, &shared->pool, entry))
        return false;
    advance_channels(memory, heads, turns);
    uint32_t atomics = 0;
    for (uint32_t i = 0; i < config->memory_controllers; i++) {
        atomics += memory->channels[i].atomic_count;
        shared->failed |= memory->channels[i].failed;
    }
    if (shared->failed || (atomics && !perform_atomics(memory, atomics)))
        return false;
    if (!shared->pool.used)
        return true;
    if (!forward_replies(memory) || !network_route(&shared->replies, &shared->pool, replies))
        return false;
    for (uint32_t sm = 0; sm < config->sms; sm++)
        deliver_replies(memory, sm, replies + shared->replies.least_latency);
    return true;
}

bool memory_system_advance_beside(struct memory_system *memory, uint64_t now)
{
    memory->beside = true;
    return advance(memory, now);
}

bool memory_system_advance(struct memory_system *memory, uint64_t now)
{
    for (uint32_t sm = 0; memory->beside && sm < memory->shared.config.sms; sm++)
        reply_ring_accept(&memory->rings[sm]);
    memory->beside = false;
    return advance(memory, now);
}

bool memory_system_has_atomics(const struct memory_system *memory)
{
    return memory->atomics != 0;
}

/* ---- what lies ahead, and what has been ---- */

static uint64_t reply_at_sm(const struct memory_shared *shared, uint64_t ready)
{
    return clock_ceil(&shared->icnt_to_core, clock_ceil(&shared->l2_to_icnt, ready) + shared->replies.least_latency);
}

uint64_t memory_system_next(const struct memory_system *memory)
{
    const struct memory_shared *shared = &memory->shared;
    const struct corun_gpu_config *config = &shared->config;
    uint64_t core = NEVER, icnt = NEVER, l2 = NEVER; /* at an SM; a reply's head at an SM; a reply ready */
    for (uint32_t sm = 0; sm < config->sms; sm++) {
        const struct reply_ring *ring = &memory->rings[sm];
        if (ring->head != ring->tail && ring->slots[ring->head & ring->mask].cycle < core)
            core = ring->slots[ring->head & ring->mask].cycle;
        uint64_t delivery = network_next(&shared->replies, sm);
        icnt = delivery < icnt ? delivery : icnt;
    }
    for (uint32_t i = 0; i < config->memory_controllers; i++) {
        const struct memory_channel *channel = &memory->channels[i];
        uint64_t next = memory_channel_next(channel);
        l2 = next < l2 ? next : l2;
        for (uint32_t s = 0; s < channel->slice_count; s++) {
            const struct l2_slice *slice = &channel->slices[s];
            next = l2_slice_reply_ready(slice, &shared->pool);
            l2 = next < l2 ? next : l2;
            if (slice->head == NO_REQUEST && network_waits(&shared->requests, slice->number))
                l2 = slice->tag_free < l2 ? slice->tag_free : l2;
            next = network_next(&shared->requests, slice->number);
            if (next != NEVER)
                next = clock_ceil(&shared->icnt_to_l2, next) + config->l2_latency;
            l2 = next < l2 ? next : l2;
        }
    }
    if (icnt != NEVER) {
        uint64_t cycle = clock_ceil(&shared->icnt_to_core, icnt);
        core = cycle < core ? cycle : core;
    }
    if (l2 != NEVER) {
        uint64_t cycle = reply_at_sm(shared, l2);
        core = cycle < core ? cycle : core;
    }
    return core;
}

void memory_system_result(const struct memory_system *memory, uint64_t now, struct corun_memory_result *result)
{
    const struct memory_shared *shared = &memory->shared;
    const struct corun_gpu_config *config = &shared->config;
    struct clock_ratio core_to_dram = clock_ratio(config->core_clock_khz, config->dram_clock_khz);
    uint64_t dram_cycles = clock_floor(&core_to_dram, now);
    uint64_t icnt_cycles = clock_floor(&shared->core_to_icnt, now);
    uint64_t request_links, reply_links;
    *result = (struct corun_memory_result){.dram_cycles = dram_cycles * config->memory_controllers};
    for (uint32_t i = 0; i < config->memory_controllers; i++)
        result->dram_busy_cycles += dram_busy(memory->channels[i].dram, dram_cycles);
    result->icnt_busy_cycles = network_busy(&shared->requests, icnt_cycles, &request_links) +
                               network_busy(&shared->replies, icnt_cycles, &reply_links);
    result->icnt_cycles = icnt_cycles * (request_links + reply_links);
}

/* ---- checkpoints ---- */

/* Atomics that have not been performed, replies that have not entered the network: only while a step is played. */
static bool is_in_a_step(const struct memory_system *memory)
{
    for (uint32_t i = 0; i < memory->shared.config.memory_controllers; i++)
        if (memory->channels[i].atomic_count || memory->channels[i].departure_count)
            return true;
    return memory->shared.failed;
}

/* Its configuration, clocks and addresses are as they were made. */
void memory_system_archive(struct corun_archive *archive, struct memory_system *memory)
{
    struct memory_shared *shared = &memory->shared;
    size_t counters = shared->counter_count;
    if (!archive->reads && is_in_a_step(memory))
        archive_fail(archive, CORUN_UNSUPPORTED, "a memory system in the midst of a step");
    archive_same(archive, shared->config.memory_controllers, "memory controllers");
    request_pool_archive(archive, &shared->pool);
    if (archive->reads && archive_fine(archive))
        memory->atomics = request_pool_count(&shared->pool, PACKET_ATOMIC);
    network_archive(archive, &shared->requests);
    network_archive(archive, &shared->replies);
    archive_count(archive, &counters, KERNEL_SLOTS * 2);
    if (archive->reads && counters && !memory_system_counters(memory, (uint32_t)counters - 1))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    for (uint32_t i = 0; i < counters && archive_fine(archive); i++)
        (void)memory_system_counters(memory, i); /* what channels have counted is added */
    if (archive_fine(archive))
        archive_bytes(archive, shared->counters, counters * sizeof *shared->counters);
    for (uint32_t i = 0; i < shared->config.memory_controllers && archive_fine(archive); i++)
        memory_channel_archive(archive, &memory->channels[i]);
    for (uint32_t i = 0; i < shared->config.sms && archive_fine(archive); i++)
        reply_ring_archive(archive, &memory->rings[i]);
}
