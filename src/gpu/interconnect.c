/* SPDX-License-Identifier: MIT */
/* Networks as crossbar and mesh: injection of packets, their route link by link, ejection. */
#include "gpu/interconnect.h"

#include "base/bits.h"

#include <stdlib.h>

enum direction { EAST, WEST, SOUTH, NORTH, DIRECTIONS };

static uint32_t distance(const struct mesh *mesh, uint32_t from, uint32_t to)
{
    int x = (int)(from % mesh->columns) - (int)(to % mesh->columns);
    int y = (int)(from / mesh->columns) - (int)(to / mesh->columns);
    return (uint32_t)(abs(x) + abs(y));
}

static bool mesh_create(struct network *network, uint32_t sms, uint32_t slices, bool requests)
{
    struct mesh *mesh = &network->mesh;
    uint32_t nodes = sms + slices;
    while (mesh->columns * mesh->columns < nodes)
        mesh->columns++;
    mesh->rows = (uint32_t)divide_up(nodes, mesh->columns);
    uint16_t *sm_position = calloc(sms, sizeof *sm_position);
    uint16_t *slice_position = calloc(slices, sizeof *slice_position);
    mesh->source_position = requests ? sm_position : slice_position;
    mesh->destination_position = requests ? slice_position : sm_position;
    mesh->links = calloc((size_t)mesh->columns * mesh->rows * DIRECTIONS, sizeof *mesh->links);
    if (!sm_position || !slice_position || !mesh->links)
        return false;
    uint32_t slice = 0, sm = 0;
    for (uint32_t position = 0; position < nodes; position++) {
        /* Slice s stands in the middle of the s-th of `slices` equal parts. */
        if (slice < slices && position == (2 * slice + 1) * nodes / (2 * slices))
            slice_position[slice++] = (uint16_t)position;
        else
            sm_position[sm++] = (uint16_t)position;
    }
    uint32_t least = UINT32_MAX;
    for (uint32_t s = 0; s < network->sources; s++)
        for (uint32_t d = 0; d < network->destinations; d++) {
            uint32_t hops = distance(mesh, mesh->source_position[s], mesh->destination_position[d]);
            least = hops < least ? hops : least;
        }
    network->least_latency = least * network->latency;
    return true;
}

/* A header and `payload` bytes. */
static uint32_t flits_of(const struct corun_gpu_config *config, uint32_t payload)
{
    uint32_t flits = (uint32_t)divide_up(config->icnt_header_bytes + payload, config->icnt_flit_bytes);
    return flits ? flits : 1;
}

bool network_create(struct network *network, const struct corun_gpu_config *config, bool requests)
{
    uint32_t slices = config->memory_controllers * config->slices_per_controller;
    *network = (struct network){
        .sources = requests ? config->sms : slices,
        .destinations = requests ? slices : config->sms,
        .latency = config->icnt_latency,
        .least_latency = config->icnt_latency,
        .port_sources = requests ? config->icnt_sms_per_port : 1,
        .is_mesh = config->icnt == CORUN_ICNT_MESH,
    };
    network->ports = (uint32_t)divide_up(network->sources, network->port_sources);
    network->injection = allocate_lines(network->ports * sizeof *network->injection);
    network->arrivals = allocate_lines(network->destinations * sizeof *network->arrivals);
    if (!network->injection || !network->arrivals)
        return false;
    if (requests) {
        size_t lists = (size_t)network->destinations * network->sources;
        network->turn_flits = config->icnt_turn_packets * flits_of(config, config->l2_line_bytes);
        network->waiting = allocate_lines(lists * sizeof *network->waiting);
        network->turns = allocate_lines(network->destinations * sizeof *network->turns);
        if (!network->waiting || !network->turns)
            return false;
        for (size_t i = 0; i < lists; i++)
            network->waiting[i].first = NO_REQUEST;
    }
    return !network->is_mesh || mesh_create(network, config->sms, slices, requests);
}

void network_free(struct network *network)
{
    for (uint32_t i = 0; network->arrivals && i < network->destinations; i++)
        request_queue_free(&network->arrivals[i].incoming);
    free(network->arrivals);
    free(network->waiting);
    free(network->turns);
    free(network->injection);
    free(network->mesh.source_position);
    free(network->mesh.destination_position);
    free(network->mesh.links);
    request_queue_free(&network->mesh.injected);
    *network = (struct network){0};
}

static uint64_t walk(struct network *network, uint32_t from, uint32_t to, uint64_t cycle, uint32_t flits)
{
    struct mesh *mesh = &network->mesh;
    uint32_t columns = mesh->columns;
    while (from % columns != to % columns) {
        bool east = from % columns < to % columns;
        cycle = link_take(&mesh->links[from * DIRECTIONS + (east ? EAST : WEST)], cycle, flits) + network->latency;
        from = east ? from + 1 : from - 1;
    }
    while (from != to) {
        bool south = from < to;
        cycle = link_take(&mesh->links[from * DIRECTIONS + (south ? SOUTH : NORTH)], cycle, flits) + network->latency;
        from = south ? from + columns : from - columns;
    }
    return cycle;
}

bool network_route(struct network *network, const struct request_pool *pool, uint64_t cycle)
{
    if (!network->is_mesh)
        return true;
    struct mesh *mesh = &network->mesh;
    while (request_queue_time(&mesh->injected) < cycle) {
        struct queued_request entry = request_queue_pop(&mesh->injected);
        const struct request *r = &pool->slots[entry.request];
        uint32_t source = (uint32_t)entry.key & ((1u << REQUEST_SOURCE_BITS) - 1);
        uint64_t head = walk(network, mesh->source_position[source], mesh->destination_position[r->destination],
                             entry.key >> REQUEST_SOURCE_BITS, r->flits);
        if (!request_queue_push(&network->arrivals[r->destination].incoming, head, source, entry.request))
            return false;
    }
    return true;
}

/* The first source with a bit set after `last`, going round. One must be set. */
static uint32_t next_source(const uint64_t *sources, uint32_t count, uint32_t last)
{
    size_t words = BIT_WORDS(count), word = (last + 1) / 64 % words;
    uint64_t bits = last + 1 < count ? sources[word] & ~UINT64_C(0) << (last + 1) % 64 : 0;
    if (last + 1 >= count) {
        word = 0;
        bits = sources[0];
    }
    while (!bits) { /* ends: some bit is set, the first word's low part included on the way round */
        word = (word + 1) % words;
        bits = sources[word];
    }
    return (uint32_t)word * 64 + lowest_bit(bits);
}

/* A packet of the source goes: how many flits may follow it in this turn, the last packet of which may go beyond. */
static void count_turn(const struct network *network, struct turns *turns, uint32_t source, uint32_t flits)
{
    if (!turns->left || turns->last_source != source)
        turns->left = network->turn_flits;
    turns->left -= flits < turns->left ? flits : turns->left;
    turns->last_source = (uint16_t)source;
}

static bool waits(const struct network *network, const uint64_t *sources)
{
    bool any = false;
    for (size_t word = 0; word < BIT_WORDS(network->sources); word++)
        any |= sources[word] != 0;
    return any;
}

bool network_waits(const struct network *network, uint32_t destination)
{
    return waits(network, network->turns[destination].waiting);
}

/* No packet waits, and of those that come the second is not there before `ready`: the first goes, without a queue. */
static bool comes_alone(const struct network *network, const struct request_queue *queue, const uint64_t *sources,
                        uint64_t ready)
{
    return !waits(network, sources) && request_queue_second(queue) >= ready;
}

uint32_t network_eject_in_turn(struct network *network, struct request_pool *pool, uint32_t destination, uint64_t limit,
                               uint64_t ready, uint64_t *delivery)
{
    struct request_queue *queue = &network->arrivals[destination].incoming;
    struct turns *turns = &network->turns[destination];
    struct request_list *lists = network->waiting + (size_t)destination * network->sources;
    uint64_t *sources = turns->waiting;
    struct link *port = &network->arrivals[destination].ejection;
    if (port->free > ready)
        ready = port->free;
    if (ready > limit) /* others may still come whose turn it would be */
        return NO_REQUEST;
    uint64_t first = request_queue_time(queue);
    if (first < ready && comes_alone(network, queue, sources, ready)) {
        struct queued_request entry = request_queue_pop(queue);
        uint32_t flits = pool->slots[entry.request].flits;
        count_turn(network, turns, (uint32_t)entry.key & ((1u << REQUEST_SOURCE_BITS) - 1), flits);
        *delivery = link_take(port, first, flits) + flits - 1;
        return entry.request;
    }
    for (; first < ready; first = request_queue_time(queue)) {
        struct queued_request entry = request_queue_pop(queue);
        uint32_t source = (uint32_t)entry.key & ((1u << REQUEST_SOURCE_BITS) - 1);
        pool->slots[entry.request].ready = entry.key >> REQUEST_SOURCE_BITS;
        request_list_append(pool, &lists[source], entry.request);
        bits_set(sources, source);
    }
    uint32_t request, source;
    uint64_t head;
    if (waits(network, sources)) {
        source = turns->last_source;
        if (!turns->left || !bits_test(sources, source))
            source = next_source(sources, network->sources, source);
        request = request_list_pop(pool, &lists[source]);
        if (lists[source].first == NO_REQUEST)
            bits_clear(sources, source);
        head = pool->slots[request].ready;
    } else {
        if (first >= limit)
            return NO_REQUEST;
        struct queued_request entry = request_queue_pop(queue);
        request = entry.request;
        head = entry.key >> REQUEST_SOURCE_BITS;
        source = (uint32_t)entry.key & ((1u << REQUEST_SOURCE_BITS) - 1);
    }
    uint32_t flits = pool->slots[request].flits;
    count_turn(network, turns, source, flits);
    *delivery = link_take(port, head, flits) + flits - 1;
    return request;
}

uint64_t network_next(const struct network *network, uint32_t destination)
{
    uint64_t next = request_queue_time(&network->arrivals[destination].incoming);
    if (network->is_mesh) {
        uint64_t injected = request_queue_time(&network->mesh.injected);
        if (injected != UINT64_MAX && injected + network->least_latency < next)
            next = injected + network->least_latency;
    }
    return next;
}

static uint64_t link_busy_before(const struct link *link, uint64_t cycle)
{
    /* What lies ahead of `cycle` has been given to packets without a gap, or nearly so. */
    uint64_t ahead = link->free > cycle ? link->free - cycle : 0;
    return link->busy > ahead ? link->busy - ahead : 0;
}

static uint64_t busy_before(const struct link *links, size_t count, uint64_t cycle)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < count; i++)
        busy += link_busy_before(&links[i], cycle);
    return busy;
}

uint64_t network_busy(const struct network *network, uint64_t cycle, uint64_t *links)
{
    size_t inner = (size_t)network->mesh.columns * network->mesh.rows * DIRECTIONS;
    *links = network->ports + network->destinations + inner;
    uint64_t busy = busy_before(network->injection, network->ports, cycle);
    for (uint32_t i = 0; i < network->destinations; i++)
        busy += link_busy_before(&network->arrivals[i].ejection, cycle);
    return busy + busy_before(network->mesh.links, inner, cycle);
}

uint32_t packet_request_flits(const struct corun_gpu_config *config, const struct packet *packet)
{
    return flits_of(config, packet->kind == PACKET_READ ? 0 : packet->bytes);
}

/* The data of a read, the old values of an atomic; an acknowledgement is a header alone. */
uint32_t packet_reply_flits(const struct corun_gpu_config *config, const struct packet *packet)
{
    uint32_t sectors = count_sectors(packet->sectors) * config->l2_sector_bytes;
    switch ((enum packet_kind)packet->kind) {
    case PACKET_READ:
        return flits_of(config, sectors);
    case PACKET_ATOMIC:
        return flits_of(config, packet->bytes < sectors ? packet->bytes : sectors);
    case PACKET_WRITE:
    case PACKET_CLUSTER:
    case PACKET_KINDS:
        break;
    }
    return flits_of(config, 0);
}

void network_archive(struct corun_archive *archive, struct network *network)
{
    size_t lists = (size_t)network->destinations * network->sources;
    archive_same(archive, network->sources, "sources of the network");
    archive_same(archive, network->destinations, "destinations of the network");
    archive_bytes(archive, network->injection, network->ports * sizeof *network->injection);
    for (uint32_t i = 0; i < network->destinations && archive_fine(archive); i++) {
        archive_bytes(archive, &network->arrivals[i].ejection, sizeof network->arrivals[i].ejection);
        request_queue_archive(archive, &network->arrivals[i].incoming);
    }
    if (network->waiting) {
        archive_bytes(archive, network->waiting, lists * sizeof *network->waiting);
        archive_bytes(archive, network->turns, network->destinations * sizeof *network->turns);
    }
    if (!network->is_mesh)
        return;
    archive_bytes(archive, network->mesh.links,
                  (size_t)network->mesh.columns * network->mesh.rows * DIRECTIONS * sizeof *network->mesh.links);
    request_queue_archive(archive, &network->mesh.injected);
}
