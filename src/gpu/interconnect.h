/* SPDX-License-Identifier: MIT */
/*
 * The interconnect: two networks that share nothing, requests from SMs to slices and replies from slices to SMs.
 * Time is in interconnect cycles.
 *
 * Nothing is ticked. Every port and link keeps the cycle at which it is free; a packet of f flits takes it for f cycles.
 *   crossbar: injection port of the source (neighbouring SMs may share one), `latency` cycles, ejection port of the destination. Buffers between the two are
 *             as deep as the packets under way need (the SMs bound those), so a busy destination does not hold up packets to others.
 *   mesh:     nodes on a grid of ceil(sqrt(n)) columns, row by row; the slices stand at every n / slices-th position, the SMs fill
 *             the others in order. Packets go along X, then along Y, `latency` cycles per hop; links are taken in order of
 *             (injection, source).
 * A packet has arrived when its last flit has. Ports at SMs serve packets in order of (head's delivery, source). A slice that cannot
 * keep up takes what has arrived source by source in turns of as many flits as icnt_turn_packets stores of a line have: the backlog of one SM
 * delays the others by a turn, not by its length, and loads, which are short, come more often than stores.
 */
#ifndef CORUN_GPU_INTERCONNECT_H
#define CORUN_GPU_INTERCONNECT_H

#include "gpu/cache_lines.h"
#include "gpu/request.h"

struct link {
    uint64_t free; /* first cycle at which the next packet can take it */
    uint64_t busy; /* cycles taken so far, those up to `free` included */
};

struct mesh {
    uint32_t columns, rows;
    uint16_t *source_position, *destination_position;
    struct link *links;            /* 4 per position: east, west, south, north */
    struct request_queue injected; /* packets that have not been given their way yet */
};

/* Where packets leave a network. Slices of different channels are played side by side: a line of the host's cache for each. */
struct network_port {
    _Alignas(HOST_LINE_BYTES) struct request_queue incoming; /* by delivery of the head */
    struct link ejection;
};

/* Requests at a slice whose heads have arrived, and whose turn it is. */
struct turns {
    _Alignas(HOST_LINE_BYTES) uint16_t last_source;     /* whose turn it is */
    uint32_t left;                                      /* flits that it may still have in this turn */
    uint64_t waiting[(1u << REQUEST_SOURCE_BITS) / 64]; /* sources whose list is not empty, as bits */
};

struct network {
    uint32_t sources, destinations;
    uint32_t ports, port_sources;  /* injection ports, and sources that share each */
    uint64_t latency;              /* end to end, or per hop */
    uint64_t least_latency;        /* of the shortest way, first flit */
    struct link *injection;        /* [ports] */
    struct network_port *arrivals; /* [destinations] */
    struct turns *turns;           /* requests: [destinations] */
    struct request_list *waiting;  /* requests: [destination][source], heads that have arrived; `ready` holds when */
    uint32_t turn_flits;           /* requests: that a source may have in one turn */
    bool is_mesh;
    struct mesh mesh;
};

/* `requests`: SMs to slices, else slices to SMs. False when out of memory; network_free is to be called either way. */
bool network_create(struct network *network, const struct corun_gpu_config *config, bool requests);
void network_free(struct network *network);
/* To a checkpoint or from it. */
void network_archive(struct corun_archive *archive, struct network *network);
/* Takes the link for `flits` cycles, from `cycle` or as soon as it is free after that; returns that cycle. */
static inline uint64_t link_take(struct link *link, uint64_t cycle, uint32_t flits)
{
    uint64_t start = cycle > link->free ? cycle : link->free;
    link->free = start + flits;
    link->busy += flits;
    return start;
}

/*
 * A packet wants to enter at `cycle`; those of the sources of one port come in that order. Returns when the port takes it. Packets of different ports
 * may enter side by side.
 */
static inline uint64_t network_enter(struct network *network, struct request *r, uint32_t source, uint64_t cycle)
{
    uint32_t port = network->port_sources == 1 ? source : source / network->port_sources;
    return link_take(&network->injection[port], cycle, r->flits);
}

/* It is on its way since `start`, when it entered. False when out of memory. */
static inline bool network_forward(struct network *network, uint32_t request, uint32_t source, uint32_t destination,
                                   uint64_t start)
{
    if (network->is_mesh)
        return request_queue_push(&network->mesh.injected, start, source, request);
    return request_queue_push(&network->arrivals[destination].incoming, start + network->latency, source, request);
}

/* Both. */
static inline bool network_inject(struct network *network, struct request_pool *pool, uint32_t request, uint32_t source,
                                  uint32_t destination, uint64_t cycle)
{
    struct request *r = &pool->slots[request];
    r->destination = (uint16_t)destination;
    return network_forward(network, request, source, destination, network_enter(network, r, source, cycle));
}

/* Everything that enters before `cycle` has been injected: mesh packets get their ways. False when out of memory. */
bool network_route(struct network *network, const struct request_pool *pool, uint64_t cycle);
/*
 * Takes the next packet at `destination` whose head arrives before `limit`; by then no earlier one can be injected. *delivery is the cycle of
 * its last flit. NO_REQUEST and NEVER if there is none.
 */
static inline uint32_t network_eject(struct network *network, const struct request_pool *pool, uint32_t destination,
                                     uint64_t limit, uint64_t *delivery)
{
    struct request_queue *queue = &network->arrivals[destination].incoming;
    *delivery = NEVER;
    if (request_queue_time(queue) >= limit)
        return NO_REQUEST;
    struct queued_request entry = request_queue_pop(queue);
    uint32_t flits = pool->slots[entry.request].flits;
    *delivery =
        link_take(&network->arrivals[destination].ejection, entry.key >> REQUEST_SOURCE_BITS, flits) + flits - 1;
    return entry.request;
}

/*
 * The same for a slice that can take a packet from cycle `ready` on (or when its port is free, if that is later): of the packets whose heads
 * have arrived before that, the sources' turn decides; where there is none, the first to arrive. NO_REQUEST also if `ready` is behind `limit`:
 * whose turn it is then is not known yet.
 */
uint32_t network_eject_in_turn(struct network *network, struct request_pool *pool, uint32_t destination, uint64_t limit,
                               uint64_t ready, uint64_t *delivery);
/* A packet has been at the slice `destination` when it was not its turn. */
bool network_waits(const struct network *network, uint32_t destination);
/* Lower bound for the delivery of anything on its way to `destination` (of anything at all in a mesh before its route). */
uint64_t network_next(const struct network *network, uint32_t destination);
/* Cycles with a flit, over all links, before `cycle`; *links is their number. */
uint64_t network_busy(const struct network *network, uint64_t cycle, uint64_t *links);

#endif
