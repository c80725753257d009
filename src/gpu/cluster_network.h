/* SPDX-License-Identifier: MIT */
/*
 * The network between the SMs of a GPC: accesses to shared memory of other thread blocks of a cluster.
 *
 *     SM that asks                                                  SM that has the data
 *     port out ── cluster_latency / 2 ─────────────────────────────► port in ─► banks, the access is performed
 *     port in ◄───────────────────────────── the rest of the latency ── port out ◄┘
 *
 * Each port moves cluster_port_bytes a cycle, sectors of 32 bytes as a whole; a packet without data takes one cycle of it. Requests and replies have
 * ports of their own. All SMs of a GPC are equally far from each other. Packets are sent in order of (cycle, SM) while no SM runs, and performed
 * in order of the cycle at which they reach the other SM, then of sending. No answer comes before the end of the step in which its request was performed, as a
 * step is no longer than half of the latency.
 */
#ifndef CORUN_GPU_CLUSTER_NETWORK_H
#define CORUN_GPU_CLUSTER_NETWORK_H

#include "gpu/memory_system.h"

#define CLUSTER_SECTOR_BYTES 32u

struct cluster_network;

/* `perform` makes the access of a packet. NULL when out of memory. */
struct cluster_network *cluster_network_create(const struct corun_gpu_config *config,
                                               void (*perform)(void *user, const struct packet *packet), void *user);
void cluster_network_destroy(struct cluster_network *network);
/* Upper bound for the length of a step. */
uint64_t cluster_network_quantum(const struct corun_gpu_config *config);
struct reply_ring *cluster_network_replies(struct cluster_network *network, uint32_t sm);
/* PACKET_CLUSTER, in order of (cycle, sm). False when out of memory. */
bool cluster_network_send(struct cluster_network *network, const struct packet *packet);
/* All packets with cycle < `now` have been sent. */
void cluster_network_advance(struct cluster_network *network, uint64_t now);
/* The next access; NEVER: none is on its way. Answers are in the rings. */
uint64_t cluster_network_next(const struct cluster_network *network);
/* As memory_system_retire. */
void cluster_network_retire(struct cluster_network *network, const struct retired_kernels *retired);
/* Nothing is on its way. */
bool cluster_network_is_empty(const struct cluster_network *network);

#endif
