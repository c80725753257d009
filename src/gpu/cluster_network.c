/* SPDX-License-Identifier: MIT */
/* Ports reserved in the order in which packets come to them; a heap of the accesses that are on their way. */
#include "gpu/cluster_network.h"

#include <assert.h>
#include <stdlib.h>

/* Cycles at which the ports of an SM are free. */
struct ports {
    uint64_t request_out, request_in, reply_out, reply_in;
};

struct arrival {
    uint64_t cycle, number; /* number: in the order of sending */
    struct packet packet;
};

struct cluster_network {
    uint32_t sms, port_bytes;
    uint64_t there, back;
    struct ports *ports;
    struct reply_ring *rings;
    struct arrival *heap;
    size_t count, capacity;
    uint64_t sent;
    void (*perform)(void *user, const struct packet *packet);
    void *user;
};

uint64_t cluster_network_quantum(const struct corun_gpu_config *config)
{
    return config->cluster_latency / 2;
}

struct cluster_network *cluster_network_create(const struct corun_gpu_config *config,
                                               void (*perform)(void *user, const struct packet *packet), void *user)
{
    struct cluster_network *network = calloc(1, sizeof *network);
    if (!network)
        return NULL;
    *network = (struct cluster_network){.sms = config->sms,
                                        .port_bytes = config->cluster_port_bytes,
                                        .there = config->cluster_latency / 2,
                                        .back = config->cluster_latency - config->cluster_latency / 2,
                                        .ports = calloc(config->sms, sizeof(struct ports)),
                                        .rings = allocate_lines(config->sms * sizeof(struct reply_ring)),
                                        .perform = perform,
                                        .user = user};
    bool complete = network->ports && network->rings;
    for (uint32_t i = 0; complete && i < config->sms; i++)
        complete = reply_ring_create(&network->rings[i], config->icnt_buffer);
    if (complete)
        return network;
    cluster_network_destroy(network);
    return NULL;
}

void cluster_network_destroy(struct cluster_network *network)
{
    if (!network)
        return;
    for (uint32_t i = 0; network->rings && i < network->sms; i++)
        reply_ring_destroy(&network->rings[i]);
    free(network->rings);
    free(network->ports);
    free(network->heap);
    free(network);
}

struct reply_ring *cluster_network_replies(struct cluster_network *network, uint32_t sm)
{
    return &network->rings[sm];
}

static bool is_earlier(const struct arrival *a, const struct arrival *b)
{
    return a->cycle != b->cycle ? a->cycle < b->cycle : a->number < b->number;
}

static bool push(struct cluster_network *network, const struct arrival *arrival)
{
    if (network->count == network->capacity) {
        size_t capacity = network->capacity ? 2 * network->capacity : 64;
        struct arrival *heap = realloc(network->heap, capacity * sizeof *heap);
        if (!heap)
            return false;
        network->heap = heap;
        network->capacity = capacity;
    }
    size_t at = network->count++;
    for (; at && is_earlier(arrival, &network->heap[(at - 1) / 2]); at = (at - 1) / 2)
        network->heap[at] = network->heap[(at - 1) / 2];
    network->heap[at] = *arrival;
    return true;
}

static struct arrival pop(struct cluster_network *network)
{
    struct arrival first = network->heap[0], last = network->heap[--network->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < network->count; at = child) {
        if (child + 1 < network->count && is_earlier(&network->heap[child + 1], &network->heap[child]))
            child++;
        if (!is_earlier(&network->heap[child], &last))
            break;
        network->heap[at] = network->heap[child];
    }
    network->heap[at] = last;
    return first;
}

/* A port is taken from `cycle` on, or as soon as it is free; returns when the first part of the packet is through. */
static uint64_t pass(uint64_t *port, uint64_t cycle, uint32_t cycles)
{
    uint64_t start = cycle > *port ? cycle : *port;
    *port = start + cycles;
    return start;
}

static uint32_t cycles_of(const struct cluster_network *network, uint32_t sectors)
{
    uint32_t cycles = (sectors * CLUSTER_SECTOR_BYTES + network->port_bytes - 1) / network->port_bytes;
    return cycles ? cycles : 1;
}

bool cluster_network_send(struct cluster_network *network, const struct packet *packet)
{
    uint32_t cycles = cycles_of(network, packet->cluster.request_sectors);
    struct ports *from = &network->ports[packet->sm], *to = &network->ports[packet->cluster.target];
    uint64_t head = pass(&from->request_out, packet->cycle, cycles) + network->there;
    uint64_t start = pass(&to->request_in, head, cycles);
    const struct arrival arrival = {start + cycles - 1, network->sent++, *packet};
    return push(network, &arrival);
}

static void answer(struct cluster_network *network, uint64_t cycle, const struct packet *packet)
{
    uint32_t cycles = cycles_of(network, packet->cluster.reply_sectors);
    struct ports *from = &network->ports[packet->cluster.target], *to = &network->ports[packet->sm];
    uint64_t head = pass(&from->reply_out, cycle + packet->cluster.bank_cycles - 1, cycles) + network->back;
    uint64_t done = pass(&to->reply_in, head, cycles) + cycles - 1;
    struct reply_ring *ring = &network->rings[packet->sm];
    reply_ring_append(ring,
                      (struct reply){done, packet->token, packet->kernel, packet->sm, packet->kind, packet->client});
    reply_ring_accept(ring);
}

void cluster_network_advance(struct cluster_network *network, uint64_t now)
{
    while (network->count && network->heap[0].cycle < now) {
        const struct arrival arrival = pop(network);
        network->perform(network->user, &arrival.packet);
        answer(network, arrival.cycle, &arrival.packet);
    }
}

uint64_t cluster_network_next(const struct cluster_network *network)
{
    return network->count ? network->heap[0].cycle : NEVER;
}

void cluster_network_retire(struct cluster_network *network, const struct retired_kernels *retired)
{
    for (size_t i = 0; i < network->count; i++)
        network->heap[i].packet.kernel = heir_of(retired, network->heap[i].packet.kernel);
    for (uint32_t sm = 0; sm < network->sms; sm++)
        reply_ring_retire(&network->rings[sm], retired);
}

bool cluster_network_is_empty(const struct cluster_network *network)
{
    bool empty = network->count == 0;
    for (uint32_t sm = 0; sm < network->sms; sm++)
        empty &= network->rings[sm].head == network->rings[sm].tail;
    return empty;
}
