/* SPDX-License-Identifier: MIT */
/*
 * Everything beyond the SMs: interconnect, L2 slices, DRAM. Driven by gpu.c in steps, between the steps of the SMs.
 *
 * Time is in core cycles at this boundary. One step of the GPU:
 *   1. SMs run [T, T + Q) on their own and collect their packets, each with the cycle at which it enters the network.
 *   2. All packets of the step are merged in order of (cycle, sm) and given to memory_system_send.
 *   3. memory_system_advance(T + Q) plays the memory system far enough that every reply which reaches an SM before
 *      T + 2Q is in that SM's reply ring.
 * Q is at most memory_system_quantum(): the shortest request way (network and the L2's fixed latency) plus the shortest
 * reply way, so no SM can miss a reply. Where Q is at most half of that, 2 and 3 may be done while SMs run [T + Q, T + 2Q), as long as there
 * is no atomic, which changes what SMs read (follower.h). Channels may be played by several host threads, everything else is serial; all is
 * deterministic: ties go to the lower slice, then to the lower SM.
 */
#ifndef CORUN_GPU_MEMORY_SYSTEM_H
#define CORUN_GPU_MEMORY_SYSTEM_H

#include "base/archive.h"
#include "corun/gpu.h"
#include "gpu/cache_lines.h"
#include "gpu/clock.h"
#include "gpu/reply_ring.h"
#include "gpu/retired_kernels.h"
#include "gpu/team.h"

enum packet_kind {
    PACKET_READ,   /* wants `sectors` of the line; replied to with the data */
    PACKET_WRITE,  /* carries `bytes` of data; acknowledged when accepted by the slice (L2) or DRAM queue (no L2) */
    PACKET_ATOMIC, /* lanes of an atomic that fall into this line; replied to after it was performed */
    PACKET_CLUSTER, /* an access to shared memory of another SM: through the cluster network (cluster_network.h), not here */
    PACKET_KINDS
};

/* One request. Copied by value. */
struct packet {
    uint64_t cycle; /* enters the network; later, of its reply the same */
    union {
        uint64_t address; /* of the line (aligned to the line of the L2) */
        struct {
            uint16_t target;     /* SM */
            uint8_t bank_cycles; /* there */
            uint8_t request_sectors, reply_sectors;
        } cluster; /* CLUSTER */
    };
    union {
        struct {
            uint32_t lanes;  /* ATOMIC: lanes of the warp instruction in this line */
            uint32_t ticket; /* ATOMIC: of the source */
        };
        uint64_t words; /* WRITE: words of 4 bytes that are written as a whole; 0 where all sectors are full */
    };
    uint32_t token;  /* the SM's own: comes back with the reply */
    uint16_t kernel; /* statistics slot, index into memory_system_counters */
    uint16_t sm;
    uint16_t bytes;       /* payload: WRITE and ATOMIC: data carried by the request */
    uint8_t kind;         /* enum packet_kind */
    uint8_t sectors;      /* mask of 32-byte-unit sectors (l2_sector_bytes) of the line */
    uint8_t full_sectors; /* WRITE: sectors of which every byte is written (no fill needed) */
    uint8_t application;
    uint8_t client;  /* the SM's own: which unit asked (L1, instruction cache, …) */
    uint8_t repeats; /* ATOMIC: most lanes that go to one and the same address */
};

struct memory_system;

/* `perform` executes an atomic packet on memory, in order of service. */
struct memory_system *memory_system_create(const struct corun_gpu_config *config,
                                           void (*perform)(void *user, const struct packet *packet), void *user);
void memory_system_destroy(struct memory_system *memory);
/* The team plays channels side by side from now on; results are the same. It must live as long as packets are sent. */
void memory_system_share(struct memory_system *memory, struct team *team);
/* Upper bound for the length of a step, in core cycles, >= 1. */
uint64_t memory_system_quantum(const struct memory_system *memory);
struct reply_ring *memory_system_replies(struct memory_system *memory, uint32_t sm);
/* Takes packets in order of (cycle, sm); they are copied. */
void memory_system_send(struct memory_system *memory, const struct packet *packets, size_t count);
/* The same, a packet that follows those before it. */
void memory_system_send_next(struct memory_system *memory, const struct packet *packet);
/* All packets with cycle < `now` have been sent. Returns false when the host is out of memory. */
bool memory_system_advance(struct memory_system *memory, uint64_t now);
/*
 * The same while SMs run up to a later cycle, memory_system_quantum() after that of the last advance at most: their rings get what is delivered
 * when they accept it. There must be no atomic.
 */
bool memory_system_advance_beside(struct memory_system *memory, uint64_t now);
/* An atomic has been sent, and its reply has not been delivered. */
bool memory_system_has_atomics(const struct memory_system *memory);
/* Earliest core cycle at which anything can happen in it or reach an SM; NEVER if it is empty. */
uint64_t memory_system_next(const struct memory_system *memory);
/* Counters by kernel slot; grows on demand, zeroed. NULL when out of memory. */
struct corun_counters *memory_system_counters(struct memory_system *memory, uint32_t kernel);
/* Between two steps: whatever names a retired slot names the heir from now on; its counters are the heir's, and zero. */
void memory_system_retire(struct memory_system *memory, const struct retired_kernels *retired);
/*
 * Between two steps, outside of time: the L2 has these sectors of the line at that address from now on, as if a load or a store of the
 * kernel had just been there. What it evicts for them costs nothing. A store has written these words of 4 bytes: sectors of which it has not
 * written all are kept in part, as those of other stores are.
 */
void memory_system_touch(struct memory_system *memory, uint64_t line, uint32_t sectors, uint64_t words, bool store,
                         uint16_t kernel, uint8_t application);
/* Bus and link occupation up to core cycle `now`. */
void memory_system_result(const struct memory_system *memory, uint64_t now, struct corun_memory_result *result);

/* Between two steps: to a checkpoint or from it. */
void memory_system_archive(struct corun_archive *archive, struct memory_system *memory);

/* Flits of a request or reply packet: header plus payload, rounded up. */
uint32_t packet_request_flits(const struct corun_gpu_config *config, const struct packet *packet);
uint32_t packet_reply_flits(const struct corun_gpu_config *config, const struct packet *packet);

#endif
