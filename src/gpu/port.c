/* SPDX-License-Identifier: MIT */
/* What goes through the port of an SM, and who gets what comes back. */
#include "gpu/port.h"

#include "gpu/sm.h"

#include <stdlib.h>

bool port_create(struct port *port, const struct corun_gpu_config *config, struct reply_ring *replies,
                 struct reply_ring *cluster_replies, struct wakes *wakes)
{
    port->limit = config->icnt_buffer;
    port->out = malloc(port->limit * sizeof *port->out);
    port->sent = malloc(port->limit * sizeof *port->sent);
    port->replies = replies;
    port->cluster_replies = cluster_replies;
    replies->first_cycle = &wakes->cycle[WAKE_REPLY];
    cluster_replies->first_cycle = &wakes->cycle[WAKE_REMOTE];
    return port->out && port->sent;
}

void port_destroy(struct port *port)
{
    free(port->out);
    free(port->sent);
    free(port->writes);
}

static void hand_on(struct sm *sm, const struct reply *reply)
{
    struct port *port = &sm->port;
    port->under_way--;
    if (reply->kind != PACKET_READ) {
        port->writes[reply->kernel].under_way--;
        port->writes[reply->kernel].last_answer = sm->now;
    }
    switch (reply->client) {
    case CLIENT_STORE:
        load_store_stored(sm, reply->token);
        break;
    case CLIENT_ATOMIC:
        load_store_answered(sm, reply->token, sm->caches.by_client[CLIENT_L1].latency);
        break;
    case CLIENT_CLUSTER:
        load_store_answered(sm, reply->token, 0);
        break;
    case CLIENT_SAVED_TB:
        preemption_engine_reply(sm, reply);
        break;
    case CLIENT_COPY:
        copy_engine_answered(sm, reply->token);
        break;
    default:
        sm_caches_reply(sm, reply->token);
    }
    load_store_retry(sm);
    copy_engine_retry(sm);
}

static void receive(struct sm *sm, struct reply_ring *ring, uint64_t *first_cycle)
{
    while (*first_cycle <= sm->now) {
        const struct reply *reply = &ring->slots[ring->head++ & ring->mask];
        *first_cycle = ring->head != ring->tail ? ring->slots[ring->head & ring->mask].cycle : NEVER;
        hand_on(sm, reply);
    }
}

void port_expect(const struct sm *sm, uint64_t until)
{
    const struct reply_ring *ring = sm->port.replies;
    for (uint32_t stage = 0; stage < EXPECT_STAGES; stage++)
        for (uint32_t at = ring->head; at != ring->tail; at++) {
            const struct reply *reply = &ring->slots[at & ring->mask];
            if (reply->cycle >= until)
                break;
            if (reply->client < CLIENT_CACHES)
                sm_caches_expect(sm, reply->token, stage);
        }
}

void port_receive(struct sm *sm)
{
    receive(sm, sm->port.replies, &sm->wakes.cycle[WAKE_REPLY]);
}

void port_receive_remote(struct sm *sm)
{
    receive(sm, sm->port.cluster_replies, &sm->wakes.cycle[WAKE_REMOTE]);
}
