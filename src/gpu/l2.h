/* SPDX-License-Identifier: MIT */
/*
 * The L2 slices of one memory controller, with that controller: a channel. Channels change nothing that they share and may be played side
 * by side. Time is in L2 cycles.
 *
 * A slice serves its requests in the order of their delivery, one tag lookup per cycle, l2_latency after they arrived. One that cannot get
 * an MSHR, a line or a place in the DRAM queue stops the slice until it can. Waiting for places is first come, first served.
 *
 *   data     replies of reads and the data of writes take the slice's data port, l2_bytes_per_cycle; fills have their own port.
 *   reads    a sector that is absent is fetched; the line's MSHR collects requests until all their sectors are there.
 *   writes   write-back, write-allocate, never fetch: a sector of which only some bytes were written is kept with its
 *            bytes' mask. It is dirty, but a read of it misses and fetches; the fill merges.
 *   atomics  need their sectors like a read, then take the slice's atomic unit for atomic_interval per sector; the reply leaves
 *            atomic_latency later.
 *   halves   with l2_far_latency the slices of the first controllers are one half of the L2, the others the other one, and pairs of SMs take
 *            turns in being nearer to either. What an SM reads from the half farther off takes so much longer, and its own half keeps a copy,
 *            from which later reads of that half's SMs are served like any hit. The copy is a line of the slice that has the original: a half
 *            makes as many copies of the other's lines as the other of its lines, so that they take the room that they would take there.
 *            Stores and atomics go to the original and end the copy.
 *   no L2    reads and writes go to DRAM as they are. Atomics read, are performed at the slice, and write; those writes
 *            may exceed the DRAM queue.
 *
 * When several things fall on one cycle: fills, then slices by number, then DRAM commands. What a DRAM command changes is seen by slices
 * in the next cycle.
 */
#ifndef CORUN_GPU_L2_H
#define CORUN_GPU_L2_H

#include "gpu/address_map.h"
#include "gpu/cache.h"
#include "gpu/clock.h"
#include "gpu/dram.h"
#include "gpu/interconnect.h"
#include "gpu/request.h"

/* What a channel counts, by kernel slot: counters of statistics.def, which they are added to when somebody asks. */
#define CHANNEL_COUNTERS(X) \
    X(icnt_requests) \
    X(icnt_request_flits) \
    X(icnt_request_latency) \
    X(l2_accesses) \
    X(l2_hits) \
    X(l2_misses) \
    X(l2_merges) \
    X(l2_write_misses) \
    X(l2_writebacks) \
    X(l2_atomics) \
    X(l2_reservation_failures) \
    X(dram_read_bytes) \
    X(dram_write_bytes) \
    X(dram_row_hits) \
    X(dram_row_misses)

struct channel_counters {
#define X(name) uint64_t name;
    CHANNEL_COUNTERS(X)
#undef X
};

/*
 * An atomic that was served. Of one channel they come in order of service; all are performed in order of cycle, then
 * controller, once all of a step are known.
 */
struct served_atomic {
    uint64_t cycle;
    uint32_t request;
};

/* What the parts of one memory system have in common. A channel changes of it only the requests that are at its slices, and their queues. */
struct memory_shared {
    struct corun_gpu_config config;
    struct address_map map;
    struct clock_ratio core_to_icnt, icnt_to_core, icnt_to_l2, l2_to_icnt, l2_to_dram, dram_to_l2;
    uint64_t dram_extra;                 /* dram_latency in L2 cycles */
    uint8_t header_flits, read_flits[9]; /* of a packet without data; of the reply to a read, by sectors */
    struct request_pool pool;
    struct network requests, replies;
    struct corun_counters *counters; /* by kernel slot */
    uint32_t counter_count;
    struct served_atomic *atomics, *sorted_atomics; /* of all channels; of atomic_capacity each */
    uint32_t atomic_capacity;
    bool failed; /* the host is out of memory */
};

/* A reply that has entered the network. */
struct departure {
    uint64_t start;
    uint32_t request;
    uint16_t slice, sm;
};

enum slice_state {
    SLICE_READY,      /* serves its head at `next`, or has none */
    SLICE_WAITS_FILL, /* for a fill to free an MSHR or a line */
    SLICE_WAITS_READ, /* for a place among the reads of the DRAM */
    SLICE_WAITS_WRITE /* among its writes */
};

struct l2_mshr {
    struct request_list waiters;
    uint32_t line, next_free;
    uint16_t waiter_count;
    uint8_t pending; /* sectors on their way */
};

struct l2_slice {
    uint64_t next; /* cycle at which it serves its head; NEVER if it has none or is stopped */
    uint32_t head; /* request, NO_REQUEST if none has been taken from the network */
    uint32_t number;
    uint8_t sub;  /* number within the channel */
    uint8_t half; /* of the L2 */
    uint8_t state;
    bool stopped_once; /* this head has been counted as a reservation failure */
    bool victim_waits;
    struct cache_victim victim; /* whose write waits for a place */
    uint64_t tag_free, port_free, atomic_free;
    uint32_t port_taken; /* bytes of the data port that are taken in cycle port_free already */
    struct cache *tags;  /* NULL: no L2 */
    struct l2_mshr *mshrs;
    uint32_t *line_mshr; /* by line of the cache */
    uint8_t *partial;    /* by line: dirty sectors of which only some bytes are there */
    uint64_t *words;     /* by line: the words of 4 bytes of partial sectors that are there; nothing else counts */
    uint64_t *arrivals;  /* by line: of a copy for the other half, when it is there; NULL: the L2 has no halves */
    uint32_t first_free_mshr;
    uint32_t late_count;                              /* replies that were among the late ones */
    uint64_t late_ready;                              /* of the first of these; NEVER if there is none */
    struct request_queue late_replies;                /* to SMs of the other half, by `ready` */
    struct request_list port_replies, atomic_replies; /* each in order of `ready` */
    uint64_t *served;                                 /* cycles at which the last l2_queue requests were served */
    uint32_t served_next;                             /* which of these the next one replaces */
};

/* Slices that wait for a place in the DRAM, in the order in which they came. */
struct place_line {
    uint8_t waiters[16], head, count;
};

struct memory_channel {
    _Alignas(
        64) struct memory_shared *shared; /* channels are played side by side: no line of the host's cache for two */
    struct channel_counters *counters;    /* by kernel slot, as many as the memory system's */
    struct served_atomic *atomics;        /* since the last step */
    uint32_t atomic_count, atomic_capacity;
    struct departure *departures; /* since the last step, slice by slice */
    uint32_t departure_count, departure_capacity;
    bool failed; /* the host is out of memory */
    struct dram *dram;
    struct l2_slice *slices;
    uint32_t slice_count;
    struct place_line lines[2]; /* for a place among the reads of the DRAM, and among its writes */
    uint64_t dram_cycle;        /* L2 cycle after which the next DRAM command can be issued */
    uint64_t fill_cycle;        /* L2 cycle at which the next fill is at its slice */
};

/* False when out of memory; memory_channel_free is to be called either way. */
bool memory_channel_create(struct memory_channel *channel, struct memory_shared *shared, uint32_t controller);
void memory_channel_free(struct memory_channel *channel);
/*
 * Plays it up to, not including, `limit`. Requests whose head arrives before `icnt_limit` have all been sent, and none that is sent later
 * can be served before `limit`.
 */
void memory_channel_advance(struct memory_channel *channel, uint64_t icnt_limit, uint64_t limit);
/* To a checkpoint or from it. */
void memory_channel_archive(struct corun_archive *archive, struct memory_channel *channel);
/* Lower bound for the cycle at which any request that has left the network can be replied to; NEVER if none. */
uint64_t memory_channel_next(const struct memory_channel *channel);
/* Outside of time: sectors of a line have been loaded, or words of 4 bytes in them stored. */
void l2_slice_touch(struct l2_slice *slice, const struct corun_gpu_config *config, uint64_t local, uint32_t sectors,
                    uint64_t words, bool store, uint16_t kernel, uint8_t application);
/* The next reply of a slice that is ready before `limit`: NO_REQUEST if there is none. */
uint32_t l2_slice_take_reply(struct l2_slice *slice, struct request_pool *pool, uint64_t limit);
/* When its next reply is ready; NEVER if there is none. */
uint64_t l2_slice_reply_ready(const struct l2_slice *slice, const struct request_pool *pool);

#endif
