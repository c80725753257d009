/* SPDX-License-Identifier: MIT */
/*
 * L2 slices with their DRAM behind the network: latencies, hits and misses, MSHRs, writes, atomics, and no L2 at all.
 * All clocks are the same here unless a test says otherwise, so that cycles add up.
 */
#include "gpu/memory_rig.h"

/* One slice, one SM more than needed; a reply of one sector is one flit. */
static struct corun_gpu_config one_slice(void)
{
    struct corun_gpu_config config = rig_config();
    config.dram_clock_khz = config.core_clock_khz;
    config.memory_controllers = config.slices_per_controller = 1;
    config.l2_bytes = 131072;
    config.l2_hash = 0;
    return config;
}

static bool same_sector(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    (void)rig, (void)n;
    packet->kind = PACKET_READ;
    packet->address = 0x4000;
    packet->sectors = 1;
    return sm == 0;
}

static bool same_line(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    same_sector(rig, sm, n, packet);
    packet->sectors = 0xf;
    return true;
}

static void latency_of_a_miss_and_a_hit(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    uint32_t way = c.icnt_latency + c.l2_latency, back = 1 + c.icnt_latency;
    uint64_t miss = rig_run(&rig, 1, same_sector);
    assert_int_equal(miss, way + c.dram_tRCD + c.dram_tCL + 1 + c.dram_latency + back);
    uint64_t hit = rig_run(&rig, 1, same_sector);
    assert_int_equal(hit, way + back);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.l2_accesses, 2);
    assert_int_equal(counters.l2_hits, 1);
    assert_int_equal(counters.l2_misses, 1);
    assert_int_equal(counters.dram_read_bytes, 32);
    assert_int_equal(counters.dram_row_misses, 1);
    rig_destroy(&rig);
}

static bool by_row(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    (void)n;
    /* run 1: a row; run 2: another line of it; run 3: another row of the same bank */
    static const uint64_t addresses[] = {0, 128, (uint64_t)2048 * 16 * 4};
    packet->kind = PACKET_READ;
    packet->sectors = 1;
    packet->address = addresses[rig->count - 1];
    return sm == 0 && n == 0;
}

static void latency_by_row_with_clocks_of_their_own(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.dram_clock_khz = 1750000; /* 1216 MHz elsewhere */
    struct rig rig;
    rig_create(&rig, &c);
    uint32_t dram[] = {c.dram_tRCD + c.dram_tCL + 1, c.dram_tCL + 1, c.dram_tRP + c.dram_tRCD + c.dram_tCL + 1};
    for (uint32_t run = 0; run < 3; run++) {
        rig.now += 1000;
        uint64_t at = rig.now + c.icnt_latency + c.l2_latency;
        uint64_t dram_start = (at * 1750 + 1215) / 1216;
        uint64_t back = ((dram_start + dram[run]) * 1216 + 1749) / 1750 + c.dram_latency + 1 + c.icnt_latency;
        uint64_t cycles = rig_run(&rig, run + 1, by_row);
        assert_int_equal(cycles, back - rig.start);
    }
    rig_destroy(&rig);
}

/* Hits of whole lines: the data port gives 32 bytes per cycle. */
static void a_slice_gives_its_bytes_per_cycle(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.icnt_flit_bytes = 136; /* the network is not the limit */
    for (c.l2_bytes_per_cycle = 32; c.l2_bytes_per_cycle <= 128; c.l2_bytes_per_cycle *= 2) {
        struct rig rig;
        rig_create(&rig, &c);
        rig_run(&rig, 1, same_sector);
        rig_run(&rig, 1, same_line);
        uint64_t cycles = rig_run(&rig, 100, same_line);
        uint64_t each = 128 / c.l2_bytes_per_cycle;
        assert_int_equal(cycles, c.icnt_latency + c.l2_latency + 16 * 100 * each + c.icnt_latency);
        rig_destroy(&rig);
    }
}

/* 24 bytes per cycle are a sector in 4/3 of a cycle: replies leave without a gap, each in the cycle in which it is whole. */
static void parts_of_a_cycle_are_not_lost(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.icnt_flit_bytes = 136;
    c.l2_bytes_per_cycle = 24;
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 1, same_line);
    uint64_t cycles = rig_run(&rig, 100, same_line);
    assert_int_equal(cycles, c.icnt_latency + c.l2_latency + (16 * 100 * 128 + 23) / 24 + c.icnt_latency);
    /* and what was left of a cycle long ago is nobody's */
    cycles = rig_run(&rig, 1, same_sector);
    assert_int_equal(cycles, c.icnt_latency + c.l2_latency + 2 + c.icnt_latency);
    rig_destroy(&rig);
}

static void requests_merge_up_to_the_limit(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, c.l2_mshr_merge, same_sector);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 32);
    assert_int_equal(counters.l2_misses, 1);
    assert_int_equal(counters.l2_merges, c.l2_mshr_merge - 1);
    assert_int_equal(counters.l2_reservation_failures, 0);
    rig_destroy(&rig);

    rig_create(&rig, &c);
    rig_run(&rig, c.l2_mshr_merge + 3, same_sector);
    counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 32);
    assert_int_equal(counters.l2_misses, 1);
    assert_int_equal(counters.l2_merges, c.l2_mshr_merge - 1); /* the others found the data when their turn came */
    assert_int_equal(counters.l2_hits, 3);
    assert_int_equal(counters.l2_reservation_failures, 1);
    rig_destroy(&rig);
}

static bool next_line(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    (void)rig;
    packet->kind = PACKET_READ;
    packet->sectors = 1;
    packet->address = (uint64_t)n * 128;
    return sm == 0;
}

/* Little's law: m misses under way, each taking t cycles, give m / t misses per cycle. */
static void mshrs_bound_the_bandwidth(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.dram_latency = 2000;
    for (c.l2_mshrs = 4; c.l2_mshrs <= 16; c.l2_mshrs *= 2) {
        struct rig rig;
        rig_create(&rig, &c);
        double cycles = (double)rig_run(&rig, 512, next_line);
        double expected = 512.0 / c.l2_mshrs * (c.dram_tCL + 1 + c.dram_latency);
        assert_true(cycles > expected && cycles < expected * 1.05);
        struct corun_counters counters = rig_counters(&rig);
        assert_true(counters.l2_reservation_failures >= 512 / c.l2_mshrs - 1); /* once per round at least */
        rig_destroy(&rig);
    }
}

/* Several sectors of a line that is being fetched: one MSHR, each sector read once. */
static bool one_sector_each(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    same_sector(rig, sm, n, packet);
    packet->sectors = (uint8_t)(n == 4 ? 0xf : 1 << n);
    return sm == 0;
}

static void sectors_of_a_line_are_fetched_once(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.l2_mshrs = 1;
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 5, one_sector_each);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 128);
    assert_int_equal(counters.l2_misses, 4);
    assert_int_equal(counters.l2_merges, 4);
    assert_int_equal(counters.l2_reservation_failures, 0);
    assert_true(rig.replied[4] > rig.replied[3]);
    rig_destroy(&rig);
}

/* ---- writes ---- */

static bool full_lines(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    packet->kind = PACKET_WRITE;
    packet->bytes = 128;
    packet->sectors = packet->full_sectors = 0xf;
    packet->kernel = 1;
    packet->address = (uint64_t)n * rig->config.l2_bytes / rig->config.l2_ways; /* all in one set */
    return sm == 0;
}

static void whole_sectors_are_written_without_a_fetch_and_written_back_once(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    uint64_t cycles = rig_run(&rig, 1, full_lines);
    /* 136 bytes are four flits; the data takes four cycles; the acknowledgement is one flit. */
    assert_int_equal(cycles, c.icnt_latency + 3 + c.l2_latency + 4 + c.icnt_latency);
    rig_run(&rig, c.l2_ways + 3, full_lines);
    rig_settle(&rig);
    struct corun_counters counters = *memory_system_counters(rig.memory, 1);
    assert_int_equal(counters.dram_read_bytes, 0);
    assert_int_equal(counters.l2_writebacks, 3 * 4);
    assert_int_equal(counters.dram_write_bytes, 3 * 128);
    assert_int_equal(counters.l2_hits, 4); /* the second write of line 0 */
    assert_int_equal(counters.icnt_request_flits, (1 + c.l2_ways + 3) * 4);
    assert_int_equal(counters.icnt_reply_flits, 1 + c.l2_ways + 3);
    rig_destroy(&rig);
}

static bool some_bytes(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    same_sector(rig, sm, n, packet);
    packet->kind = PACKET_WRITE;
    packet->bytes = 4;
    return sm == 0;
}

static void parts_of_a_sector_are_fetched_when_read(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 2, some_bytes);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 0);
    rig_run(&rig, 1, same_sector);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 32);
    assert_int_equal(counters.l2_misses, 1);
    assert_int_equal(counters.l2_write_misses, 2);
    rig_run(&rig, 1, same_sector);
    rig_run(&rig, 1, some_bytes);
    assert_int_equal(rig_counters(&rig).l2_hits, 2);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 32);
    rig_destroy(&rig);
}

static bool other_sector(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    bool sends = same_sector(rig, sm, n, packet);
    packet->address = 0x8000;
    return sends;
}

/* What ran without timing is found, costs no time, and is written back when its line is wanted, if it was stored. */
static void what_was_touched_outside_of_time_is_there(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    uint32_t way = c.icnt_latency + c.l2_latency, back = 1 + c.icnt_latency;
    memory_system_touch(rig.memory, 0x4000, 1, 0, false, 0, 0);
    assert_int_equal(rig_run(&rig, 1, same_sector), way + back);
    assert_int_equal(rig_counters(&rig).l2_hits, 1);
    assert_int_equal(rig_counters(&rig).l2_accesses, 1);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 0);
    for (uint32_t n = 0; n < c.l2_ways; n++) /* a set of lines, the even ones stored */
        memory_system_touch(rig.memory, (uint64_t)n * c.l2_bytes / c.l2_ways, 3, n % 2 == 0 ? 0xffff : 0, n % 2 == 0, 1,
                            0);
    assert_int_equal(memory_system_counters(rig.memory, 1)->l2_writebacks, 0);
    for (uint32_t n = 0; n < c.l2_ways; n++) /* another set's worth takes their places: outside of time that is free */
        memory_system_touch(rig.memory, (uint64_t)(c.l2_ways + n) * c.l2_bytes / c.l2_ways, 1, 0xff, true, 2, 0);
    assert_int_equal(memory_system_counters(rig.memory, 1)->l2_writebacks, 0);
    rig_run(&rig, c.l2_ways, full_lines); /* in time it is not */
    rig_settle(&rig);
    assert_int_equal(memory_system_counters(rig.memory, 2)->l2_writebacks, c.l2_ways);
    rig_destroy(&rig);
}

/* Stores that ran without timing leave parts of sectors as others do: a load in time fetches the rest, unless they were made whole or loaded. */
static void parts_that_were_touched_outside_of_time_are_fetched_when_read(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    memory_system_touch(rig.memory, 0x4000, 1, 0x7f, true, 1, 0);
    rig_run(&rig, 1, same_sector);
    assert_int_equal(rig_counters(&rig).l2_misses, 1);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 32);
    memory_system_touch(rig.memory, 0x4000, 1, 0x01, true, 1, 0); /* the rest is there */
    rig_run(&rig, 1, same_sector);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 32);
    rig_destroy(&rig);

    rig_create(&rig, &c);
    memory_system_touch(rig.memory, 0x4000, 1, 0x0f, true, 1, 0);
    memory_system_touch(rig.memory, 0x4000, 3, 0xfff0, true, 1,
                        0); /* from within the sector to the end of the next one */
    rig_run(&rig, 1, same_sector);
    assert_int_equal(rig_counters(&rig).l2_hits, 1);
    memory_system_touch(rig.memory, 0x8000, 1, 0x0f, true, 1, 0);
    memory_system_touch(rig.memory, 0x8000, 1, 0, false, 1, 0); /* a load fetched it */
    memory_system_touch(rig.memory, 0x8000, 1, 0x01, true, 1, 0);
    rig_run(&rig, 1, other_sector);
    assert_int_equal(rig_counters(&rig).l2_hits, 2);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 0);
    rig_destroy(&rig);
}

static void a_touch_of_what_is_on_its_way_does_no_harm(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    rig_begin(&rig, 1, same_sector);
    while (rig_step(&rig)) {
        assert_true(rig.now - rig.start < 100000);
        memory_system_touch(rig.memory, 0x4000, 0xf, UINT32_MAX, true, 1, 0);
    }
    assert_int_equal(rig.received[0], 1);
    assert_int_equal(rig_run(&rig, 1, same_sector), c.icnt_latency + c.l2_latency + 1 + c.icnt_latency);
    rig_destroy(&rig);
}

/* A word of a line per write, in turn. */
static bool word_by_word(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    some_bytes(rig, sm, n, packet);
    packet->sectors = (uint8_t)(1 << n / 8 % 4);
    packet->words = UINT64_C(1) << n % 32;
    return sm == 0;
}

static void parts_make_a_sector_whole(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 31, word_by_word); /* the last word of the fourth sector is missing */
    rig_run(&rig, 1, same_line);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 32);
    assert_int_equal(counters.l2_write_misses, 31);
    rig_destroy(&rig);

    rig_create(&rig, &c);
    rig_run(&rig, 32, word_by_word);
    rig_run(&rig, 1, same_line);
    counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 0);
    assert_int_equal(counters.l2_misses, 0);
    rig_destroy(&rig);
}

/* Line after line, as many as are run: one sector whole, words of two others. */
static bool parts_of_lines(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    full_lines(rig, sm, n, packet);
    packet->address = n * UINT64_C(128);
    packet->bytes = 40;
    packet->sectors = 0xd;
    packet->full_sectors = 0x4;
    packet->words = 0x1ff0001;
    return sm == 0;
}

static bool lines_in_a_row(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    full_lines(rig, sm, n, packet);
    packet->address = n * UINT64_C(128);
    return sm == 0;
}

static void a_slice_is_busy_with_parts(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.icnt_flit_bytes = 136;
    c.l2_bytes_per_cycle = 256;
    for (c.l2_part_write_cycles = 0; c.l2_part_write_cycles <= 3; c.l2_part_write_cycles++) {
        struct rig rig;
        rig_create(&rig, &c);
        uint64_t few = rig_run(&rig, 10, parts_of_lines), many = rig_run(&rig, 30, parts_of_lines);
        assert_int_equal(many - few, 20 * (c.l2_part_write_cycles ? 2 * c.l2_part_write_cycles : 1));
        few = rig_run(&rig, 10, lines_in_a_row);
        many = rig_run(&rig, 30, lines_in_a_row);
        assert_int_equal(many - few, 20);
        rig_destroy(&rig);
    }
}

static bool loads_in_a_row(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    lines_in_a_row(rig, sm, n, packet);
    packet->kind = PACKET_READ;
    return sm == 0;
}

/* Of a slice full of stores, what is more than the ways that may be changed goes to DRAM, and stays. */
static void stores_leave_so_many_ways_changed(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    uint32_t lines = c.l2_bytes / c.l2_line_bytes;
    for (c.l2_dirty_ways = 0; c.l2_dirty_ways <= c.l2_ways; c.l2_dirty_ways += c.l2_ways / 4) {
        struct rig rig;
        rig_create(&rig, &c);
        rig_run(&rig, lines, lines_in_a_row);
        rig_run(&rig, lines, loads_in_a_row);
        struct corun_counters counters = rig_counters(&rig);
        uint32_t written = c.l2_dirty_ways ? lines / c.l2_ways * (c.l2_ways - c.l2_dirty_ways) : 0;
        assert_int_equal(counters.l2_writebacks, 4 * written);
        assert_int_equal(counters.dram_write_bytes, 128 * written);
        assert_int_equal(counters.l2_misses, 0);
        rig_destroy(&rig);
    }
}

static bool loads_of_others(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    loads_in_a_row(rig, sm, n, packet);
    packet->address += rig->config.l2_bytes;
    return sm == 0;
}

/* The same of stores in time that is not simulated: what is more was written back in that time. */
static void stores_outside_of_time_leave_as_many(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    uint32_t lines = c.l2_bytes / c.l2_line_bytes;
    for (c.l2_dirty_ways = 0; c.l2_dirty_ways <= c.l2_ways; c.l2_dirty_ways += c.l2_ways / 4) {
        struct rig rig;
        rig_create(&rig, &c);
        for (uint32_t i = 0; i < lines; i++)
            memory_system_touch(rig.memory, i * UINT64_C(128), 0xf, 0xffffffff, true, 0, 0);
        rig_run(&rig, lines, loads_of_others);
        uint32_t left = lines / c.l2_ways * (c.l2_dirty_ways ? c.l2_dirty_ways : c.l2_ways);
        assert_int_equal(rig_counters(&rig).l2_writebacks, 4 * left);
        rig_destroy(&rig);
    }
}

/* Seven words of a sector, then lines that drive it out, then the eighth: what was there then counts no longer. */
static bool seven_words(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    return word_by_word(rig, sm, n, packet) && n < 7;
}

static bool eighth_word(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    return word_by_word(rig, sm, n + 7, packet);
}

static bool lines_of_its_set(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    full_lines(rig, sm, n + 1, packet);
    packet->address += 0x4000;
    return sm == 0;
}

static void parts_of_a_line_that_left_do_not_count(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 7, seven_words);
    rig_run(&rig, c.l2_ways, lines_of_its_set);
    rig_run(&rig, 1, eighth_word);
    rig_run(&rig, 1, same_sector);
    assert_int_equal(rig_counters(&rig).dram_read_bytes, 32);
    rig_destroy(&rig);
}

/* A line with a write-back and a fetch gets through even a DRAM queue of one place. */
static bool write_then_read(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    full_lines(rig, sm, n, packet);
    if (n % 2) {
        packet->kind = PACKET_READ;
        packet->address += 1 << 24;
    }
    return true;
}

static void the_smallest_queues_do_not_lock_up(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.slices_per_controller = 4;
    c.l2_ways = 1;
    c.l2_bytes = 4 * 128;
    c.dram_queue = c.l2_mshrs = c.l2_mshr_merge = c.l2_queue = 1;
    for (uint32_t fcfs = 0; fcfs < 2; fcfs++) {
        c.dram_scheduler = fcfs ? CORUN_DRAM_SCHEDULER_FCFS : CORUN_DRAM_SCHEDULER_FR_FCFS;
        struct rig rig;
        rig_create(&rig, &c);
        rig_run(&rig, 40, write_then_read);
        rig_settle(&rig);
        assert_true(rig_counters(&rig).l2_reservation_failures > 0);
        rig_destroy(&rig);
    }
}

/* ---- atomics ---- */

static bool atomic_one(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    same_sector(rig, sm, n, packet);
    packet->kind = PACKET_ATOMIC;
    packet->lanes = 1;
    packet->bytes = 4;
    return true;
}

static bool atomic_many(const struct rig *rig, uint32_t sm, uint32_t n, struct packet *packet)
{
    atomic_one(rig, sm, n, packet);
    packet->address = (uint64_t)sm * 256; /* a slice for each */
    return true;
}

static void atomics_to_one_address_follow_one_another(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    for (c.atomic_interval = 1; c.atomic_interval <= 20; c.atomic_interval += 19, c.atomic_latency += 32) {
        struct rig rig;
        rig_create(&rig, &c);
        rig_run(&rig, 1, same_sector);
        uint64_t cycles = rig_run(&rig, 10, atomic_one);
        assert_int_equal(rig.performed, 160);
        assert_int_equal(cycles, 2 * c.icnt_latency + c.l2_latency + 160 * c.atomic_interval + c.atomic_latency);
        assert_int_equal(rig_counters(&rig).l2_atomics, 160);
        rig_destroy(&rig);
    }
}

static void atomics_to_many_slices_run_side_by_side(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.memory_controllers = 16;
    c.l2_bytes *= 16;
    c.atomic_interval = 20;
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 1, atomic_many);
    uint64_t cycles = rig_run(&rig, 10, atomic_many);
    assert_int_equal(cycles, 2 * c.icnt_latency + c.l2_latency + 10 * 20);
    rig_destroy(&rig);
}

/* Absent: fetched once, performed in the order of arrival when it is there, and written back when evicted. */
static void atomics_wait_for_their_sector(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.icnt_turn_packets = 1; /* the order that is expected below */
    c.icnt_flit_bytes = 256;
    struct rig rig;
    rig_create(&rig, &c);
    rig_run(&rig, 3, atomic_one);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 32);
    assert_int_equal(rig.performed, 48);
    uint64_t hash = 0;
    for (uint32_t n = 0; n < 3; n++)
        for (uint32_t sm = 0; sm < 16; sm++)
            hash = rig_mix(hash, (uint64_t)sm << 32 | n);
    assert_int_equal(rig.performed_hash, hash);
    rig_run(&rig, c.l2_ways + 8, full_lines); /* 0x4000 is a multiple of the set's stride */
    rig_settle(&rig);
    assert_true(rig_counters(&rig).l2_writebacks >= 1);
    rig_destroy(&rig);
}

/* ---- no L2 ---- */

static void without_an_l2_everything_goes_to_dram(void **state)
{
    (void)state;
    struct corun_gpu_config c = one_slice();
    c.l2_bytes = 0;
    struct rig rig;
    rig_create(&rig, &c);
    uint32_t way = c.icnt_latency + c.l2_latency;
    assert_int_equal(rig_run(&rig, 1, same_sector),
                     way + c.dram_tRCD + c.dram_tCL + 1 + c.dram_latency + 1 + c.icnt_latency);
    assert_int_equal(rig_run(&rig, 1, same_sector), way + c.dram_tCL + 1 + c.dram_latency + 1 + c.icnt_latency);
    assert_int_equal(rig_run(&rig, 1, full_lines), way + 3 + 4 + c.icnt_latency); /* acknowledged by the queue */
    rig_settle(&rig);
    struct corun_counters counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 64);
    assert_int_equal(counters.dram_write_bytes, 128);
    assert_int_equal(counters.l2_accesses, 0);
    rig_run(&rig, 1, atomic_one);
    rig_settle(&rig);
    assert_int_equal(rig.performed, 16);
    counters = rig_counters(&rig);
    assert_int_equal(counters.dram_read_bytes, 64 + 16 * 32);
    assert_int_equal(counters.dram_write_bytes, 128 + 16 * 32);
    rig_destroy(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_of_a_miss_and_a_hit),
        cmocka_unit_test(latency_by_row_with_clocks_of_their_own),
        cmocka_unit_test(a_slice_gives_its_bytes_per_cycle),
        cmocka_unit_test(parts_of_a_cycle_are_not_lost),
        cmocka_unit_test(requests_merge_up_to_the_limit),
        cmocka_unit_test(mshrs_bound_the_bandwidth),
        cmocka_unit_test(sectors_of_a_line_are_fetched_once),
        cmocka_unit_test(whole_sectors_are_written_without_a_fetch_and_written_back_once),
        cmocka_unit_test(parts_of_a_sector_are_fetched_when_read),
        cmocka_unit_test(parts_make_a_sector_whole),
        cmocka_unit_test(a_slice_is_busy_with_parts),
        cmocka_unit_test(stores_leave_so_many_ways_changed),
        cmocka_unit_test(stores_outside_of_time_leave_as_many),
        cmocka_unit_test(parts_of_a_line_that_left_do_not_count),
        cmocka_unit_test(the_smallest_queues_do_not_lock_up),
        cmocka_unit_test(atomics_to_one_address_follow_one_another),
        cmocka_unit_test(atomics_to_many_slices_run_side_by_side),
        cmocka_unit_test(atomics_wait_for_their_sector),
        cmocka_unit_test(without_an_l2_everything_goes_to_dram),
        cmocka_unit_test(what_was_touched_outside_of_time_is_there),
        cmocka_unit_test(parts_that_were_touched_outside_of_time_are_fetched_when_read),
        cmocka_unit_test(a_touch_of_what_is_on_its_way_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
