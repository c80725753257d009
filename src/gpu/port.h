/* SPDX-License-Identifier: MIT */
/*
 * The port of an SM to the memory system: packets go out, as many at a time as the interconnect takes of an SM, and
 * replies come in, each for the unit that asked.
 */
#ifndef CORUN_GPU_PORT_H
#define CORUN_GPU_PORT_H

#include "gpu/memory_system.h"
#include "gpu/wake.h"

struct sm;

/* Who asks the memory system, and gets the reply: first the caches, which share one miss machinery (sm_caches.c). */
enum client {
    CLIENT_L1,
    CLIENT_TEXTURE,
    CLIENT_CONSTANT,
    CLIENT_INSTRUCTION,
    CLIENT_CACHES,
    CLIENT_STORE = CLIENT_CACHES,
    CLIENT_ATOMIC,
    CLIENT_SAVED_TB,
    CLIENT_COPY,
    CLIENT_CLUSTER
};

/* What a kernel writes through the port. */
struct kernel_writes {
    uint64_t last_answer; /* cycle */
    uint32_t under_way;   /* packets that were not answered */
};

struct port {
    struct packet *out, *sent; /* [limit] each: packets of this step, in order of cycle; of the step before */
    uint32_t out_count;
    bool urgent;                  /* one of this step changes what SMs read: an atomic, an access to another SM */
    uint32_t under_way, limit;    /* packets that were not answered, and how many may be */
    struct kernel_writes *writes; /* [kernel slot], as many as `counters` of the SM */
    struct reply_ring *replies, *cluster_replies;
};

/* false: out of memory. The memory system notes in `wakes` when the first reply is there. */
bool port_create(struct port *port, const struct corun_gpu_config *config, struct reply_ring *replies,
                 struct reply_ring *cluster_replies, struct wakes *wakes);
void port_destroy(struct port *port);

static inline bool port_has_room(const struct port *port)
{
    return port->under_way < port->limit;
}

/* The place of a read that is sent, to be filled in; there must be room. */
static inline struct packet *port_next(struct port *port)
{
    port->under_way++;
    return &port->out[port->out_count++];
}

/* false: too many are under way; try again after a reply. */
static inline bool port_send(struct port *port, const struct packet *packet)
{
    if (!port_has_room(port))
        return false;
    port->out[port->out_count++] = *packet;
    port->under_way++;
    if (packet->kind != PACKET_READ)
        port->writes[packet->kernel].under_way++;
    port->urgent |= packet->kind >= PACKET_ATOMIC;
    return true;
}

/* The packets of this step have been taken; `elsewhere`: they stay where they are until this is called again, and the next ones go elsewhere. */
static inline void port_empty(struct port *port, bool elsewhere)
{
    if (elsewhere) {
        struct packet *packets = port->sent;
        port->sent = port->out;
        port->out = packets;
    }
    port->out_count = 0;
    port->urgent = false;
}

/* The replies before `until` will be taken next: see sm_caches_expect. */
void port_expect(const struct sm *sm, uint64_t until);
/* Takes the replies that are there at sm->now, and gives each to whoever asked. */
void port_receive(struct sm *sm);
/* The same, those of other SMs. */
void port_receive_remote(struct sm *sm);

#endif
