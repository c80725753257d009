/* SPDX-License-Identifier: MIT */
/* The memory system as a whole: steps, clocks, bandwidth of all its parts, contention, and where addresses go. */
#include "gpu/address_map.h"
#include "gpu/clock.h"
#include "gpu/memory_rig.h"

static uint64_t scramble(uint64_t value)
{
    return rig_mix(value, UINT64_C(0x123456789));
}

/* Everything at once: reads, writes whole and partial, atomics, hot and cold lines, four kernels. */
static bool mixture(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    if (packet->cycle < rig->start + n * (sm % 5)) /* some SMs are slower */
        return false;
    uint64_t random = scramble((uint64_t)sm << 32 | n);
    packet->address = (random >> 8 & 1 ? random >> 20 & 0x3f : random >> 20 & 0xffff) * 128;
    packet->sectors = (uint8_t)(1 + (random >> 12) % 15);
    packet->kernel = sm % RIG_KERNELS;
    packet->application = packet->kernel & 1;
    packet->address |= (uint64_t)packet->application << 40;
    switch (random & 7) {
    case 0:
        packet->kind = PACKET_ATOMIC;
        packet->bytes = (uint16_t)(4 + (random >> 40 & 0x7c));
        break;
    case 1:
    case 2:
        packet->kind = PACKET_WRITE;
        packet->full_sectors = packet->sectors & (uint8_t)(random >> 50);
        packet->bytes = (uint16_t)(32 * __builtin_popcount(packet->sectors));
        break;
    default:
        packet->kind = PACKET_READ;
    }
    return true;
}

struct outcome {
    uint64_t cycles, replies, performed, next;
    struct corun_counters counters[RIG_KERNELS];
    struct corun_memory_result result;
};

/* In comparing outcomes, replies are hashed by SM and cycle: the order of hashing is that of the rig's cycles. */
static void finish(struct rig *rig, struct outcome *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->cycles = rig->last - rig->start;
    outcome->replies = rig->replies_hash;
    outcome->performed = rig->performed_hash;
    rig_settle(rig);
    for (uint32_t kernel = 0; kernel < RIG_KERNELS; kernel++)
        outcome->counters[kernel] = *memory_system_counters(rig->memory, kernel);
    memory_system_result(rig->memory, 200000, &outcome->result);
}

#define VARIANTS 9u

static void vary(struct corun_gpu_config *c, uint32_t variant)
{
    *c = rig_config();
    c->dram_tREFI = 3000;
    c->l2_bytes = 16 * 8192;
    c->l2_mshrs = 8;
    c->dram_queue = 8;
    c->icnt_buffer = 64;
    switch (variant) {
    case 1:
        c->icnt = CORUN_ICNT_MESH;
        break;
    case 2: /* nothing divides anything */
        c->core_clock_khz = 1126001;
        c->icnt_clock_khz = 700003;
        c->l2_clock_khz = 913007;
        c->dram_clock_khz = 1752509;
        break;
    case 3:
        c->l2_bytes = 0;
        c->dram_scheduler = CORUN_DRAM_SCHEDULER_FCFS;
        break;
    case 4:
        c->memory_controllers = 3;
        c->slices_per_controller = 2;
        c->l2_bytes = 6 * 4096;
        c->l2_queue = 2;
        c->sms = 7;
        c->icnt_clock_khz = 400000;
        c->icnt = CORUN_ICNT_MESH;
        break;
    case 5:
        c->l2_far_latency = 37;
        break;
    case 6:
        c->icnt_sms_per_port = 2;
        c->icnt_turn_packets = 1;
        c->l2_dirty_ways = 3;
        c->l2_hash = !c->l2_hash;
        break;
    case 7: /* slices are busy for longer than a cycle of the network */
        c->memory_controllers = 2;
        c->slices_per_controller = 1;
        c->l2_bytes = 2 * 8192;
        c->l2_part_write_cycles = 60;
        c->icnt_turn_packets = 2;
        break;
    case 8:
        c->l2_clock_khz = c->icnt_clock_khz / 2 - 1;
        c->icnt = CORUN_ICNT_MESH;
        break;
    default:
        break;
    }
}

static void the_cut_into_steps_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < VARIANTS; variant++) {
        struct corun_gpu_config c;
        vary(&c, variant);
        struct outcome first, other;
        static const uint64_t steps[] = {0, 1, 7, 50};
        for (uint32_t i = 0; i < 4; i++) {
            struct rig rig;
            rig_create(&rig, &c);
            if (steps[i] && steps[i] < rig.step)
                rig.step = steps[i];
            rig_run(&rig, 300, mixture);
            finish(&rig, i ? &other : &first);
            if (i)
                assert_memory_equal(&first, &other, sizeof first);
            rig_destroy(&rig);
        }
        assert_int_not_equal(first.performed, 0);
        assert_int_not_equal(first.counters[3].icnt_replies, 0);
    }
}

/* Half of the quantum is the longest step after which it may wait: the rig notices a reply that comes too late. */
static void a_step_later_it_answers_at_the_same_cycles(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < VARIANTS; variant++) {
        struct corun_gpu_config c;
        vary(&c, variant);
        struct outcome outcomes[2];
        for (uint32_t late = 0; late < 2; late++) {
            struct rig rig;
            rig_create(&rig, &c);
            rig.step = rig.step > 1 ? rig.step / 2 : 1;
            rig.late = late;
            rig_run(&rig, 300, mixture);
            assert_false(memory_system_has_atomics(rig.memory));
            finish(&rig, &outcomes[late]);
            rig_destroy(&rig);
        }
        assert_memory_equal(&outcomes[0], &outcomes[1], sizeof *outcomes);
    }
}

static void two_in_one_process_do_not_meet(void **state)
{
    (void)state;
    struct corun_gpu_config c;
    vary(&c, 0);
    struct rig alone, a, b;
    struct outcome expected, outcome;
    rig_create(&alone, &c);
    rig_run(&alone, 200, mixture);
    finish(&alone, &expected);
    rig_destroy(&alone);
    rig_create(&a, &c);
    rig_create(&b, &c);
    rig_begin(&a, 200, mixture);
    rig_begin(&b, 200, mixture);
    bool more_a = true, more_b = true;
    while (more_a || more_b) {
        more_a = more_a && rig_step(&a);
        more_b = more_b && rig_step(&b);
    }
    finish(&a, &outcome);
    assert_memory_equal(&outcome, &expected, sizeof outcome);
    finish(&b, &outcome);
    assert_memory_equal(&outcome, &expected, sizeof outcome);
    rig_destroy(&a);
    rig_destroy(&b);
}

static void counters_add_up(void **state)
{
    (void)state;
    struct corun_gpu_config c;
    vary(&c, 0);
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 300, mixture);
    rig_settle(&rig);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.icnt_requests, 16 * 300);
    assert_int_equal(counters.icnt_replies, 16 * 300);
    assert_int_equal(counters.l2_hits + counters.l2_misses + counters.l2_merges + counters.l2_write_misses,
                     counters.l2_accesses);
    assert_int_equal((counters.dram_row_hits + counters.dram_row_misses) * c.dram_burst_bytes,
                     counters.dram_read_bytes + counters.dram_write_bytes);
    assert_int_equal(counters.dram_write_bytes, counters.l2_writebacks * 32);
    assert_true(counters.icnt_request_latency >= counters.icnt_requests * c.icnt_latency);
    struct corun_memory_result result;
    memory_system_result(rig.memory, rig.now, &result);
    assert_int_equal(result.dram_busy_cycles, counters.dram_row_hits + counters.dram_row_misses);
    assert_int_equal(result.icnt_busy_cycles, 2 * (counters.icnt_request_flits + counters.icnt_reply_flits));
    assert_int_equal(result.icnt_cycles, rig.now * 2 * (16 + 16));
    rig_destroy(&rig);
}

/* ---- bandwidth ---- */

static bool consecutive_lines(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    packet->kind = PACKET_READ;
    packet->sectors = 0xf;
    packet->address = ((uint64_t)n * rig->config.sms + sm) * 128;
    return true;
}

static bool hot_lines(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    consecutive_lines(rig, sm, n % 64, packet);
    return true;
}

static void all_slices_together(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    c.icnt_flit_bytes = 136;
    c.l2_bytes_per_cycle = 16; /* the slices are the limit: 16 x 16 bytes per cycle for 16 SMs */
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 64, hot_lines);
    double cycles = (double)rig_run(&rig, 1000, hot_lines);
    double expected = 16.0 * 1000 * 128 / (16 * 16);
    assert_true(cycles >= expected && cycles < expected * 1.05);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 16 * 64 * 128);
    rig_destroy(&rig);
}

static void all_channels_stream_at_nine_tenths_of_their_peak(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    struct rig rig;
    rig_create(&rig, &c);
    double cycles = (double)rig_run(&rig, 3000, consecutive_lines);
    double peak = 16.0 * 3000 * 128 / (4 * 32) * 1216 / 1750; /* 4 channels of 32 bytes per DRAM cycle */
    assert_true(cycles >= peak);
    assert_true(cycles * 0.9 <= peak);
    struct corun_memory_result result;
    memory_system_result(rig.memory, rig.now, &result);
    assert_true(result.dram_busy_cycles * 10 >= result.dram_cycles * 8);
    assert_true(result.dram_busy_cycles <= result.dram_cycles);
    rig_destroy(&rig);
}

/* Every request a new row: the banks' tRC, or all activates' tRRD, is the limit. */
static bool new_rows_of_one_bank(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    packet->kind = PACKET_READ;
    packet->sectors = 1;
    packet->address = ((uint64_t)n * rig->config.sms + sm) * rig->config.dram_row_bytes * rig->config.dram_banks;
    return true;
}

static void row_conflicts_cost_trc(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    c.dram_clock_khz = c.core_clock_khz;
    c.memory_controllers = c.slices_per_controller = 1;
    c.l2_bytes = 131072;
    c.l2_hash = 0;
    struct rig rig;
    rig_create(&rig, &c);
    double cycles = (double)rig_run(&rig, 60, new_rows_of_one_bank);
    double expected = 16.0 * 60 * (c.dram_tRAS + c.dram_tRP); /* more than tRC in this configuration */
    assert_true(cycles >= expected - 53 && cycles < expected * 1.02);
    assert_int_equal(rig_counters(&rig).dram_row_misses, 16 * 60);
    rig_destroy(&rig);
    /* Hashed, the same addresses visit all banks: tRRD is left. */
    c.l2_hash = 1;
    rig_create(&rig, &c);
    cycles = (double)rig_run(&rig, 60, new_rows_of_one_bank);
    expected = 16.0 * 60 * c.dram_tRRD;
    assert_true(cycles < expected * 1.6);
    rig_destroy(&rig);
}

/* ---- contention ---- */

static bool writes_to_one_slice(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    (void)n;
    packet->kind = PACKET_WRITE;
    packet->sectors = packet->full_sectors = 0xf;
    packet->bytes = 128;
    packet->address = (sm & 1) * 128;
    return sm < rig->senders;
}

/*
 * n SMs write lines of four flits to one slice: its ejection port, like a single SM's injection port, takes a flit per
 * cycle.
 */
static void one_slice_is_contended(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    uint64_t latency[17];
    for (uint32_t sms = 1; sms <= 16; sms *= 4) {
        struct rig rig;
        rig_create(&rig, &c);
        rig.window = 64;
        rig.senders = sms;
        uint64_t cycles = rig_run(&rig, 200, writes_to_one_slice);
        assert_true(cycles >= 4 * 200 * sms && cycles < 4 * 200 * sms + 1000);
        struct corun_counters counters = rig_counters(&rig);
        latency[sms] = counters.icnt_request_latency / counters.icnt_requests;
        rig_destroy(&rig);
    }
    assert_true(latency[4] > latency[1] + 100 && latency[16] > latency[4] + 1000);
}

/* ---- halves of the L2 ---- */

#define FAR 100u
#define READER_LINES 200u

/* Only SM `senders` reads, a line after the other, each of them another one. */
static bool one_reads(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    packet->kind = PACKET_READ;
    packet->sectors = 0xf;
    packet->address = (uint64_t)n * 128;
    return sm == rig->senders;
}

static bool one_writes(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    one_reads(rig, sm, n, packet);
    packet->kind = PACKET_WRITE;
    packet->full_sectors = 0xf;
    packet->bytes = 128;
    return sm == rig->senders;
}

/* How many of its lines an SM finds farther off, and which: `far`, by line; those at the same distance take the same time. */
static uint32_t count_far(struct rig *rig, uint32_t sm, bool *far)
{
    uint32_t count = 0;
    uint64_t least = UINT64_MAX;
    rig->senders = sm;
    rig_run(rig, READER_LINES, one_reads);
    const uint64_t *replied = &rig->replied[(size_t)sm * rig->count];
    for (uint32_t n = 1; n < READER_LINES; n++)
        least = replied[n] - replied[n - 1] < least ? replied[n] - replied[n - 1] : least;
    for (uint32_t n = 1; n < READER_LINES; n++) {
        uint64_t more = replied[n] - replied[n - 1] - least;
        assert_true(more == 0 || more == FAR);
        far[n] = more == FAR;
        count += far[n];
    }
    return count;
}

static void what_is_far_is_brought_near_until_it_changes(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    c.l2_far_latency = FAR;
    struct rig rig;
    bool first[READER_LINES], second[READER_LINES], again[READER_LINES];
    rig_create(&rig, &c);
    rig.window = 1;
    rig.senders = 2; /* of the second pair: it brings all from DRAM, and what is far from it is copied */
    rig_run(&rig, READER_LINES, one_reads);
    assert_int_equal(count_far(&rig, 2, first), 0);
    assert_int_equal(count_far(&rig, 3, first), 0); /* the same half */
    uint32_t count = count_far(&rig, 0, first);
    assert_true(count > READER_LINES / 3 && count < READER_LINES * 2 / 3);
    assert_int_equal(count_far(&rig, 1, second), 0);
    assert_int_equal(count_far(&rig, 4, second), 0); /* pairs take turns */
    /* A store, whoever makes it, leaves the original alone. */
    rig.senders = 0;
    rig_run(&rig, READER_LINES, one_writes);
    assert_int_equal(count_far(&rig, 0, again), count);
    assert_memory_equal(again + 1, first + 1, READER_LINES - 1);
    assert_int_equal(count_far(&rig, 2, second), READER_LINES - 1 - count);
    for (uint32_t n = 1; n < READER_LINES; n++)
        assert_int_not_equal(first[n], second[n]); /* what is near to one is far from the other */
    rig_destroy(&rig);
}

static bool three_quarters(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    packet->kind = PACKET_READ;
    packet->sectors = 0xf;
    packet->address = (uint64_t)(n % (rig->config.l2_bytes / 128 * 3 / 4)) * 128;
    return sm < rig->senders;
}

/* An array of three quarters of the L2 fits, but not what both halves have of it. */
static void copies_take_room(void **state)
{
    (void)state;
    for (uint32_t far = 0; far <= FAR; far += FAR) {
        struct corun_gpu_config c = rig_config();
        c.l2_bytes = 16 * 16384;
        c.l2_far_latency = far;
        struct rig rig;
        rig_create(&rig, &c);
        rig.senders = 4;
        uint32_t lines = c.l2_bytes / 128 * 3 / 4;
        rig_run(&rig, lines, three_quarters);
        rig_run(&rig, lines, three_quarters);
        uint64_t read = rig_counters(&rig).dram_read_bytes;
        if (far)
            assert_true(read > (uint64_t)lines * 128 * 5 / 4);
        else
            assert_int_equal(read, (uint64_t)lines * 128);
        rig_destroy(&rig);
    }
}

/* ---- clocks, quantum, next ---- */

static void clocks_do_not_drift(void **state)
{
    (void)state;
    static const uint32_t khz[] = {1000, 1216000, 1750000, 999983, 10000000, 1126001, 3};
    uint64_t random = 1;
    for (uint32_t i = 0; i < 7; i++)
        for (uint32_t j = 0; j < 7; j++) {
            struct clock_ratio ratio = clock_ratio(khz[i], khz[j]);
            for (uint32_t k = 0; k < 200; k++) {
                random = scramble(random + k);
                uint64_t cycle = random >> (24 + k % 40);
                unsigned __int128 product = (unsigned __int128)cycle * khz[j];
                assert_true(clock_floor(&ratio, cycle) == (uint64_t)(product / khz[i]));
                assert_true(clock_ceil(&ratio, cycle) == (uint64_t)((product + khz[i] - 1) / khz[i]));
            }
        }
}

static void quantum_is_the_shortest_way_there_and_back(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    struct rig rig;
    rig_create(&rig, &c);
    assert_int_equal(memory_system_quantum(rig.memory), 2 * c.icnt_latency + c.l2_latency);
    assert_int_equal(memory_system_next(rig.memory), UINT64_MAX);
    rig_destroy(&rig);
    c.l2_clock_khz = c.core_clock_khz / 2;
    rig_create(&rig, &c);
    assert_int_equal(memory_system_quantum(rig.memory), 2 * c.icnt_latency + 2 * c.l2_latency);
    rig_destroy(&rig);
}

/* All SMs sleep after sending: the GPU jumps from one `next` to another and finds every reply at its cycle. */
static void jumps_are_never_late(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < VARIANTS; variant++) {
        struct corun_gpu_config c;
        vary(&c, variant);
        struct rig rig;
        rig_create(&rig, &c);
        rig_begin(&rig, 40, mixture);
        struct packet packets[40 * 16];
        size_t count = 0;
        for (uint32_t n = 0; n < 40; n++)
            for (uint32_t sm = 0; sm < c.sms; sm++) {
                packets[count] = (struct packet){.cycle = 1000, .token = n, .sm = (uint16_t)sm};
                assert_true(mixture(&rig, sm, n, &packets[count++]));
            }
        for (size_t i = 0; i < count; i++)
            packets[i].cycle = i / c.sms;
        memory_system_send(rig.memory, packets, count);
        uint64_t now = 40;
        uint32_t received = 0, jumps = 0;
        while (received < count) {
            assert_true(memory_system_advance(rig.memory, now));
            uint64_t next = memory_system_next(rig.memory);
            assert_int_not_equal(next, UINT64_MAX);
            now = next > now ? next : now + 1;
            jumps++;
            assert_true(memory_system_advance(rig.memory, now));
            for (uint32_t sm = 0; sm < c.sms; sm++) {
                struct reply_ring *ring = memory_system_replies(rig.memory, sm);
                while (ring->head != ring->tail && ring->slots[ring->head & ring->mask].cycle <= now) {
                    assert_true(ring->slots[ring->head & ring->mask].cycle == now);
                    ring->head++;
                    received++;
                }
            }
        }
        assert_true(jumps < 4000);
        rig_settle(&rig);
        rig_destroy(&rig);
    }
}

/* It is busy for longer than a way there and back: nothing else is under way when the third one's turn comes. */
static void a_busy_slice_keeps_those_that_wait(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    c.l2_part_write_cycles = 100;
    struct memory_system *memory = memory_system_create(&c, rig_perform, NULL);
    assert_non_null(memory);
    uint64_t now = 0;
    for (uint16_t sm = 0; sm < 3; sm++) {
        struct packet packet = {.kind = PACKET_WRITE, .sm = sm, .sectors = 0xf, .bytes = 100};
        memory_system_send(memory, &packet, 1);
    }
    for (uint32_t received = 0; received < 3;) {
        now = now + 1 < memory_system_next(memory) ? memory_system_next(memory) : now + 1;
        assert_int_not_equal(now, UINT64_MAX);
        assert_true(memory_system_advance(memory, now));
        for (uint32_t sm = 0; sm < 3; sm++) {
            struct reply_ring *ring = memory_system_replies(memory, sm);
            for (; ring->head != ring->tail && ring->slots[ring->head & ring->mask].cycle <= now; received++)
                assert_true(ring->slots[ring->head++ & ring->mask].cycle == now);
        }
    }
    assert_true(now > 2 * 400); /* two writes of four sectors before the last one */
    memory_system_destroy(memory);
}

/* ---- addresses ---- */

static void strides_spread_evenly(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{4, 4}, {12, 2}, {3, 1}, {5, 2}, {8, 1}, {56, 1}, {64, 1}};
    for (uint32_t i = 0; i < 7; i++) {
        struct corun_gpu_config c = rig_config();
        c.memory_controllers = shapes[i][0];
        c.slices_per_controller = shapes[i][1];
        struct address_map map;
        address_map_create(&map, &c);
        uint32_t slices = c.memory_controllers * c.slices_per_controller;
        for (uint64_t stride = 128; stride <= 1 << 20; stride *= 2)
            for (uint64_t application = 0; application < 3; application++) {
                uint32_t hits[64] = {0}, banks[16] = {0}, total = 4000 * slices;
                for (uint64_t n = 0; n < total; n++) {
                    uint64_t local, row;
                    hits[address_map_slice(&map, (application << 40) + n * stride, &local)]++;
                    banks[address_map_bank(&map, 0, local, &row)]++;
                }
                for (uint32_t s = 0; s < slices; s++)
                    assert_true(hits[s] > 3600 && hits[s] < 4400);
                for (uint32_t b = 0; b < 16; b++)
                    assert_true(banks[b] > total / 16 * 2 / 3 && banks[b] < total / 16 * 4 / 3);
            }
    }
}

static void no_two_lines_share_a_place(void **state)
{
    (void)state;
    static const uint32_t shapes[][2] = {{4, 4}, {3, 2}};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t hash = 0; hash < 2; hash++) {
            struct corun_gpu_config c = rig_config();
            c.memory_controllers = shapes[i][0];
            c.slices_per_controller = shapes[i][1];
            c.l2_hash = hash;
            struct address_map map;
            address_map_create(&map, &c);
            uint32_t slices = c.memory_controllers * c.slices_per_controller, lines = 8192 * slices;
            uint8_t *seen = calloc(lines, 1);
            uint32_t *in_row = calloc(lines, sizeof *in_row);
            for (uint64_t n = 0; n < lines; n++) {
                uint64_t local, row;
                uint32_t slice = address_map_slice(&map, n * 128, &local);
                assert_true(slice < slices && local / 128 < 8192); /* dense */
                assert_int_equal(seen[slice * 8192 + local / 128]++, 0);
                uint32_t bank = address_map_bank(&map, slice % c.slices_per_controller, local, &row);
                uint32_t controller = slice / c.slices_per_controller;
                in_row[(row * c.memory_controllers + controller) * 16 + bank]++;
            }
            /* Rows are full (2048 / 128 lines), except where the last ones are only partly used. */
            uint32_t full = 0;
            for (uint32_t r = 0; r < lines; r++) {
                assert_true(in_row[r] <= 16);
                full += in_row[r] == 16;
            }
            assert_int_equal(full, lines / 16);
            free(seen);
            free(in_row);
        }
}

static void impossible_configurations_are_refused(void **state)
{
    (void)state;
    struct corun_gpu_config c = rig_config();
    c.l2_line_bytes = 96;
    assert_null(memory_system_create(&c, rig_perform, NULL));
    c = rig_config();
    c.slices_per_controller = 17;
    assert_null(memory_system_create(&c, rig_perform, NULL));
    c = rig_config();
    c.dram_bank_groups = 3;
    assert_null(memory_system_create(&c, rig_perform, NULL));
    c = rig_config();
    c.l2_ways = 7;
    assert_null(memory_system_create(&c, rig_perform, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cut_into_steps_changes_nothing),
        cmocka_unit_test(a_step_later_it_answers_at_the_same_cycles),
        cmocka_unit_test(two_in_one_process_do_not_meet),
        cmocka_unit_test(counters_add_up),
        cmocka_unit_test(all_slices_together),
        cmocka_unit_test(all_channels_stream_at_nine_tenths_of_their_peak),
        cmocka_unit_test(row_conflicts_cost_trc),
        cmocka_unit_test(one_slice_is_contended),
        cmocka_unit_test(what_is_far_is_brought_near_until_it_changes),
        cmocka_unit_test(copies_take_room),
        cmocka_unit_test(clocks_do_not_drift),
        cmocka_unit_test(quantum_is_the_shortest_way_there_and_back),
        cmocka_unit_test(jumps_are_never_late),
        cmocka_unit_test(a_busy_slice_keeps_those_that_wait),
        cmocka_unit_test(strides_spread_evenly),
        cmocka_unit_test(no_two_lines_share_a_place),
        cmocka_unit_test(impossible_configurations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
