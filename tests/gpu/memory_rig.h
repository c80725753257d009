/* SPDX-License-Identifier: MIT */
/*
 * SMs in place of the real ones, for tests of the memory system: each sends its packets in order, one per cycle, while
 * it has fewer than `window` under way, and notes every reply.
 */
#ifndef TESTS_GPU_MEMORY_RIG_H
#define TESTS_GPU_MEMORY_RIG_H

#include "gpu/memory_system.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RIG_KERNELS 4

struct rig {
    struct corun_gpu_config config;
    struct memory_system *memory;
    uint64_t step, now, start; /* start: first cycle at which they send */
    uint32_t window, count;    /* count: packets per SM */
    uint32_t senders;          /* for `make`: how many SMs take part */
    /* Fills in address, kind, sectors, … of packet `n` of an SM; false: it has no more. */
    bool (*make)(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet);
    uint32_t *sent, *received;
    uint64_t *replied; /* by sm * count + n: cycle */
    uint64_t last;     /* reply */
    uint64_t replies_hash, performed_hash, performed;
    struct packet *batch;
    bool late; /* the memory system follows after the SMs' next step, which is half of its quantum at most */
    struct packet *waiting;
    size_t waiting_count;
};

static inline struct corun_gpu_config rig_config(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.dram_tREFI = 0;
    config.l2_bytes_per_cycle = 32; /* a sector */
    return config;
}

static inline uint64_t rig_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline void rig_perform(void *user, const struct packet *packet)
{
    struct rig *rig = user;
    rig->performed++;
    rig->performed_hash = rig_mix(rig->performed_hash, (uint64_t)packet->sm << 32 | packet->token);
}

static inline void rig_create(struct rig *rig, const struct corun_gpu_config *config)
{
    *rig = (struct rig){.config = *config, .window = config->icnt_buffer};
    rig->memory = memory_system_create(config, rig_perform, rig);
    assert_non_null(rig->memory);
    rig->step = memory_system_quantum(rig->memory);
}

static inline void rig_destroy(struct rig *rig)
{
    memory_system_destroy(rig->memory);
    free(rig->sent);
    free(rig->received);
    free(rig->replied);
    free(rig->batch);
    free(rig->waiting);
}

static inline void rig_begin(struct rig *rig, uint32_t count,
                             bool (*make)(const struct rig *, uint32_t, uint32_t, struct packet *))
{
    free(rig->sent);
    free(rig->received);
    free(rig->replied);
    free(rig->batch);
    free(rig->waiting);
    rig->waiting_count = 0;
    rig->count = count;
    rig->make = make;
    rig->sent = calloc(rig->config.sms, sizeof *rig->sent);
    rig->received = calloc(rig->config.sms, sizeof *rig->received);
    rig->replied = calloc((size_t)rig->config.sms * count, sizeof *rig->replied);
    rig->batch = calloc((size_t)rig->config.sms * rig->step, sizeof *rig->batch);
    rig->waiting = calloc((size_t)rig->config.sms * rig->step, sizeof *rig->waiting);
    rig->start = rig->now;
    rig->last = 0;
}

static inline void rig_receive(struct rig *rig, uint32_t sm, uint64_t cycle)
{
    struct reply_ring *ring = memory_system_replies(rig->memory, sm);
    while (ring->head != ring->tail && ring->slots[ring->head & ring->mask].cycle <= cycle) {
        const struct reply *reply = &ring->slots[ring->head++ & ring->mask];
        assert_int_equal(reply->sm, sm);
        assert_true(reply->cycle == cycle); /* the SM looks at every cycle: an earlier one came too late */
        assert_true(reply->token < rig->sent[sm]);
        uint64_t *replied = &rig->replied[(size_t)sm * rig->count + reply->token];
        assert_int_equal(*replied, 0); /* exactly one reply */
        *replied = reply->cycle;
        rig->received[sm]++;
        rig->last = reply->cycle > rig->last ? reply->cycle : rig->last;
        rig->replies_hash = rig_mix(rig->replies_hash, reply->cycle << 24 | (uint64_t)sm << 16 | reply->token);
    }
}

/* The packets of the step before are sent; SMs have run beside that, without what it delivers. */
static inline void rig_follow_late(struct rig *rig, size_t count)
{
    memory_system_send(rig->memory, rig->waiting, rig->waiting_count);
    assert_true(memory_system_advance_beside(rig->memory, rig->now));
    struct packet *packets = rig->waiting;
    rig->waiting = rig->batch;
    rig->waiting_count = count;
    rig->batch = packets;
}

/* One step; false when everything has been sent and replied to. */
static inline bool rig_step(struct rig *rig)
{
    size_t count = 0;
    bool more = false;
    uint64_t end = rig->now + rig->step;
    for (uint64_t cycle = rig->now; cycle < end; cycle++)
        for (uint32_t sm = 0; sm < rig->config.sms; sm++) {
            rig_receive(rig, sm, cycle);
            struct packet packet = {.cycle = cycle, .token = rig->sent[sm], .sm = (uint16_t)sm};
            bool room = rig->sent[sm] - rig->received[sm] < rig->window;
            if (room && rig->sent[sm] < rig->count && rig->make(rig, sm, rig->sent[sm], &packet)) {
                rig->batch[count++] = packet;
                rig->sent[sm]++;
            }
        }
    if (rig->late) {
        rig_follow_late(rig, count);
        for (uint32_t sm = 0; sm < rig->config.sms; sm++)
            reply_ring_accept(memory_system_replies(rig->memory, sm));
    } else {
        memory_system_send(rig->memory, rig->batch, count);
        assert_true(memory_system_advance(rig->memory, end));
    }
    rig->now = end;
    for (uint32_t sm = 0; sm < rig->config.sms; sm++)
        more |= rig->received[sm] != rig->sent[sm];
    return more || count;
}

/* Sends `count` packets per SM; returns the cycles from the first one to the last reply. */
static inline uint64_t rig_run(struct rig *rig, uint32_t count,
                               bool (*make)(const struct rig *, uint32_t, uint32_t, struct packet *))
{
    rig_begin(rig, count, make);
    while (rig_step(rig))
        assert_true(rig->now - rig->start < 3000000);
    return rig->last - rig->start;
}

/* Until DRAM has nothing left to write either. */
static inline void rig_settle(struct rig *rig)
{
    while (memory_system_next(rig->memory) != UINT64_MAX) {
        assert_true(memory_system_advance(rig->memory, rig->now + rig->step));
        rig->now += rig->step;
    }
}

static inline struct corun_counters rig_counters(struct rig *rig)
{
    struct corun_counters sum = {0};
    for (uint32_t kernel = 0; kernel < RIG_KERNELS; kernel++) {
        const uint64_t *part = (const uint64_t *)memory_system_counters(rig->memory, kernel);
        for (size_t i = 0; i < sizeof sum / sizeof *part; i++)
            ((uint64_t *)&sum)[i] += part[i];
    }
    return sum;
}

#endif
