/* SPDX-License-Identifier: MIT */
/*
 * One DRAM channel: every expected cycle follows from the timing parameters. All times in DRAM cycles.
 */
#include "gpu/address_map.h"
#include "gpu/dram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct corun_gpu_config make_config(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.dram_tREFI = 0;
    return config;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void push(struct dram *dram, uint64_t cycle, uint32_t bank, uint64_t row, uint32_t sectors, bool write)
{
    struct dram_access access = {.row = row, .bank = (uint16_t)bank, .sectors = (uint8_t)sectors, .write = write};
    assert_true(dram_push(dram, cycle, &access));
}

/* Issues everything; returns the cycle of the last column command. */
static uint64_t drain(struct dram *dram)
{
    uint64_t last = 0;
    while (dram_next(dram) != UINT64_MAX) {
        struct dram_event event;
        assert_true(dram_issue(dram, &event));
        if (event.command == DRAM_COLUMN)
            last = event.cycle;
    }
    assert_true(dram_empty(dram));
    return last;
}

static uint64_t take_fill(struct dram *dram)
{
    assert_non_null(dram_first_fill(dram));
    uint64_t cycle = dram_first_fill(dram)->cycle;
    dram_drop_fill(dram);
    return cycle;
}

static void latency_of_a_closed_an_open_and_another_row(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct dram *dram = dram_create(&c);
    assert_int_equal(dram_next(dram), UINT64_MAX);
    push(dram, 1000, 3, 7, 1, false);
    drain(dram);
    assert_int_equal(take_fill(dram), 1000 + c.dram_tRCD + c.dram_tCL + 1);
    push(dram, 2000, 3, 7, 1, false);
    drain(dram);
    assert_int_equal(take_fill(dram), 2000 + c.dram_tCL + 1);
    push(dram, 3000, 3, 8, 0xf, false);
    drain(dram); /* four bursts in one bank group */
    assert_int_equal(take_fill(dram), 3000 + c.dram_tRP + c.dram_tRCD + 3 * c.dram_tCCDL + c.dram_tCL + 1);
    assert_null(dram_first_fill(dram));
    dram_destroy(dram);
}

static void rows_in_one_bank_take_turns_of_trc(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct dram *dram = dram_create(&c);
    for (uint32_t i = 0; i < 20; i++)
        push(dram, 0, 5, i, 1, false);
    uint64_t period = later(c.dram_tRC, c.dram_tRAS + c.dram_tRP);
    assert_int_equal(drain(dram), 19 * period + c.dram_tRCD);
    dram_destroy(dram);
}

/* Requests to rows A and B of one bank in turn: one activate each, or one for every request. */
static void row_hits_first_beats_age_by_the_computed_factor(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    uint64_t last[2];
    for (int fcfs = 0; fcfs < 2; fcfs++) {
        c.dram_scheduler = fcfs ? CORUN_DRAM_SCHEDULER_FCFS : CORUN_DRAM_SCHEDULER_FR_FCFS;
        struct dram *dram = dram_create(&c);
        for (uint32_t i = 0; i < 32; i++)
            push(dram, 0, 0, i % 2, 1, false);
        last[fcfs] = drain(dram);
        dram_destroy(dram);
    }
    uint64_t gap = later(c.dram_tCCDL, 1), first_row = c.dram_tRCD + 15 * gap;
    uint64_t precharge = later(c.dram_tRAS, first_row + c.dram_tRTPL);
    uint64_t second = later(precharge + c.dram_tRP, c.dram_tRC);
    assert_int_equal(last[0], second + c.dram_tRCD + 15 * gap);
    assert_int_equal(last[1], 31 * later(c.dram_tRC, c.dram_tRAS + c.dram_tRP) + c.dram_tRCD);
    assert_true(last[1] > 14 * last[0]);
}

/* FCFS never lets a younger request pass, but opens rows ahead in other banks. */
static void fcfs_keeps_the_order_of_arrival(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    c.dram_scheduler = CORUN_DRAM_SCHEDULER_FCFS;
    struct dram *dram = dram_create(&c);
    for (uint32_t i = 0; i < 60; i++) {
        struct dram_access access = {.row = i * 7 % 3, .bank = (uint16_t)(i * 5 % 16), .sectors = 1, .token = i};
        assert_true(dram_push(dram, 0, &access));
    }
    drain(dram);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(dram_first_fill(dram)->token, i);
        dram_drop_fill(dram);
    }
    dram_destroy(dram);
}

/* Columns in one group are tCCDL apart, those in two groups tCCD: half the time. */
static void bank_groups_take_turns(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    c.dram_tCCDL = 3;
    for (uint32_t groups = 1; groups <= 3; groups++) {
        struct dram *dram = dram_create(&c);
        for (uint32_t i = 0; i < 60; i++)
            push(dram, 0, i % groups, 0, 1, false);
        uint64_t start = c.dram_tRCD, last = drain(dram);
        /* With three groups the bus is full; the activates, tRRD apart, delay the other groups' start. */
        uint64_t per_burst = groups == 1 ? 3 : groups == 2 ? 2 : 1;
        uint64_t expected = groups == 2 ? 60 * 3 / 2 : 60 * per_burst;
        assert_true(last >= start + expected - per_burst - 1);
        assert_true(last <= start + expected + 2 * c.dram_tRRD);
        dram_destroy(dram);
    }
}

static void activates_are_trrd_apart(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    c.dram_tRRD = 20;
    struct dram *dram = dram_create(&c);
    for (uint32_t i = 0; i < 16; i++)
        push(dram, 0, i, 0, 1, false);
    assert_int_equal(drain(dram), 15 * 20 + c.dram_tRCD);
    dram_destroy(dram);
}

/* Keeps the queue full with consecutive lines of `sub` slices; returns the cycle after the last column command. */
static uint64_t stream(const struct corun_gpu_config *c, uint32_t lines, uint64_t *hits, uint64_t *misses)
{
    struct dram *dram = dram_create(c);
    struct address_map map;
    address_map_create(&map, c);
    uint64_t now = 0;
    *hits = *misses = 0;
    for (uint32_t next = 0; next < lines || !dram_empty(dram);) {
        for (; next < lines && dram_places(dram, false); next++) {
            /* line n of the controller: units of two lines to its slices in turn */
            uint32_t sub = next / 2 % c->slices_per_controller;
            uint64_t local = ((uint64_t)(next / 2 / c->slices_per_controller) * 2 + next % 2) * c->l2_line_bytes;
            struct dram_access access = {.sectors = 0xf};
            access.bank = (uint16_t)address_map_bank(&map, sub, local, &access.row);
            assert_true(dram_push(dram, now, &access));
        }
        struct dram_event event;
        assert_true(dram_issue(dram, &event));
        now = event.cycle;
        if (event.command == DRAM_COLUMN)
            ++*(event.row_hit ? hits : misses);
        while (dram_first_fill(dram))
            dram_drop_fill(dram);
    }
    /* The bus has been counted as busy for every burst. */
    assert_int_equal(dram_busy(dram, UINT64_MAX / 2), *hits + *misses);
    dram_destroy(dram);
    return now + 1;
}

static void a_stream_fills_the_bus(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    uint64_t hits, misses, cycles = stream(&c, 4096, &hits, &misses);
    assert_int_equal(hits + misses, 4096 * 4);
    assert_true(cycles >= 4096 * 4);
    assert_true(cycles * 9 <= 4096 * 4 * 10);
    /* one activate per row of 2 KiB = 64 bursts */
    assert_int_equal(misses, 4096 * 4 / 64);
}

static void refresh_costs_its_share(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    uint64_t hits, misses, without = stream(&c, 8192, &hits, &misses);
    c.dram_tREFI = 2000;
    c.dram_tRFC = 500;
    uint64_t with = stream(&c, 8192, &hits, &misses);
    /* A quarter of the time is gone, and each refresh waits for the open rows and opens them again. */
    double expected = (double)without / (1.0 - 500.0 / 2000.0);
    assert_true((double)with >= expected * 0.99);
    double reopen = c.dram_tRAS + c.dram_tRP + c.dram_tRCD;
    assert_true((double)with <= (double)without / (1.0 - (500.0 + reopen) / 2000.0) * 1.02);
}

static void writes_wait_for_reads_and_turn_the_bus(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct dram *dram = dram_create(&c);
    /* Banks of different groups, so that only the bus is between them. */
    push(dram, 0, 0, 0, 1, false);
    push(dram, 0, 1, 0, 1, true);
    struct dram_event event = {0};
    uint64_t read = 0, write = 0;
    while (dram_next(dram) != UINT64_MAX) {
        assert_true(dram_issue(dram, &event));
        if (event.command == DRAM_COLUMN)
            *(event.write ? &write : &read) = event.cycle;
    }
    assert_int_equal(read, c.dram_tRCD);
    /* The write's row is opened once no read waits. */
    assert_int_equal(write, later(read + c.dram_tRCD, read + c.dram_tCL + 1 + 2 - c.dram_tWL));
    push(dram, write, 2, 0, 1, false);
    push(dram, write, 0, 0, 1, false);
    while (dram_next(dram) != UINT64_MAX) {
        assert_true(dram_issue(dram, &event));
        if (event.command == DRAM_COLUMN)
            break;
    }
    /* Bank 0 has its row open: read data after the write's. */
    assert_int_equal(event.cycle, write + c.dram_tWL + 1 + c.dram_tCDLR);
    drain(dram);
    /* A row that was written is closed tWR after the data. */
    push(dram, 1000, 1, 0, 1, true);
    drain(dram);
    push(dram, 1001, 1, 1, 1, true);
    assert_int_equal(drain(dram), 1000 + c.dram_tWL + 1 + c.dram_tWR + c.dram_tRP + c.dram_tRCD);
    dram_destroy(dram);
}

/* Issues the next command and keeps the places of one direction full, or of both; whether it moved data. */
static bool issue_full(struct dram *dram, bool reads, bool writes, struct dram_event *event)
{
    assert_true(dram_issue(dram, event));
    while (dram_first_fill(dram))
        dram_drop_fill(dram);
    while (reads && dram_places(dram, false))
        push(dram, event->cycle, 1 + 2 * (event->cycle & 3), 0, 1, false);
    while (writes && dram_places(dram, true))
        push(dram, event->cycle, 2 * (event->cycle & 3), 0, 1, true);
    return event->command == DRAM_COLUMN;
}

/* Seven eighths of their places: writes go before the reads that keep coming, until an eighth is left. */
static void many_writes_are_drained(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    c.dram_queue = 16;
    struct dram *dram = dram_create(&c);
    push(dram, 0, 1, 0, 1, false);
    for (uint32_t i = 0; i < 13; i++)
        push(dram, 0, 0, 0, 1, true);
    struct dram_event event;
    for (uint32_t reads = 0; reads < 100; reads += issue_full(dram, true, false, &event))
        assert_false(reads && event.write);
    push(dram, event.cycle, 0, 0, 1, true); /* the fourteenth */
    uint32_t writes = 0, reads = 0;
    for (; !writes || event.write; event.command == DRAM_COLUMN ? (event.write ? writes++ : reads++) : 0)
        if (!issue_full(dram, true, false, &event))
            event.write = writes != 0;
    assert_int_equal(writes, 12);
    assert_true(reads >= 1);
    assert_true(reads <= 17); /* those that waited, and the one that ended their turn */
    dram_destroy(dram);
}

/* Writes that come as fast as places get free do not keep a read from its turn, nor reads writes. */
static void neither_direction_starves_the_other(void **state)
{
    (void)state;
    for (int write = 0; write < 2; write++) {
        struct corun_gpu_config c = make_config();
        c.dram_queue = 16;
        struct dram *dram = dram_create(&c);
        for (uint32_t i = 0; i < 16; i++)
            push(dram, 0, write ? 1 : 0, 0, 1, !write);
        struct dram_event event;
        for (uint32_t columns = 0; columns < 50;)
            columns += issue_full(dram, write, !write, &event);
        push(dram, event.cycle, 2, 0, 1, write); /* one of the other direction */
        for (uint32_t i = 1; write && i < 14; i++)
            push(dram, event.cycle, 2, 0, 1, write);
        uint64_t begin = event.cycle;
        do
            issue_full(dram, write, !write, &event);
        while (event.command != DRAM_COLUMN || event.write != write);
        assert_true(event.cycle - begin < 200);
        dram_destroy(dram);
    }
}

/* Commands are given ahead of their data, and not without gaps. */
static void the_bus_is_busy_with_data_alone(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct dram *dram = dram_create(&c);
    push(dram, 1000, 3, 7, 1, false);
    drain(dram);
    uint64_t first = take_fill(dram);
    assert_int_equal(dram_busy(dram, first - 1), 0);
    assert_int_equal(dram_busy(dram, first), 1);
    push(dram, 2000, 3, 7, 1, false);
    drain(dram);
    uint64_t second = take_fill(dram);
    assert_int_equal(dram_busy(dram, 1000), 0);
    assert_int_equal(dram_busy(dram, first), 1);
    assert_int_equal(dram_busy(dram, second - 1), 1);
    assert_int_equal(dram_busy(dram, second), 2);
    uint32_t bursts = 2;
    for (uint64_t cycle = 3000; bursts < 1002; cycle += 100, bursts++) { /* more than are kept */
        push(dram, cycle, 3, 7, 1, false);
        drain(dram);
        (void)take_fill(dram);
    }
    uint64_t end = 3000 + 999 * 100 + c.dram_tCL + 1, before = 0;
    for (uint64_t back = 0; back < 200; back++)
        assert_int_equal(dram_busy(dram, end - 100 * back), bursts - back);
    for (uint64_t cycle = 0; cycle <= end; cycle += 50) {
        uint64_t busy = dram_busy(dram, cycle);
        assert_true(busy >= before && busy <= before + 50);
        before = busy;
    }
    dram_destroy(dram);
}

/* Both come as fast as they can: each has its turn, and the bus moves data most of the time. */
static void turns_share_the_bus(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct dram *dram = dram_create(&c);
    push(dram, 0, 1, 0, 1, false);
    struct dram_event event;
    uint32_t moved[2] = {0};
    while (moved[0] + moved[1] < 10000)
        if (issue_full(dram, true, true, &event))
            moved[event.write]++;
    assert_in_range(moved[0], 4000, 6000);
    assert_true(dram_busy(dram, event.cycle) > event.cycle / 2);
    dram_destroy(dram);
}

static void a_row_that_is_always_hit_does_not_starve_others(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct dram *dram = dram_create(&c);
    uint64_t now = 0;
    push(dram, 0, 0, 0, 1, false);
    struct dram_access other = {.row = 1, .bank = 0, .sectors = 1, .token = 99};
    assert_true(dram_push(dram, 0, &other));
    for (;;) {
        while (dram_places(dram, false))
            push(dram, now, 0, 0, 1, false);
        struct dram_event event;
        assert_true(dram_issue(dram, &event));
        now = event.cycle;
        assert_true(now < DRAM_AGE_CAP + 200);
        if (dram_first_fill(dram) && dram_first_fill(dram)->token == 99)
            break;
        while (dram_first_fill(dram))
            dram_drop_fill(dram);
    }
    assert_true(now > DRAM_AGE_CAP);
    dram_destroy(dram);
}

static void bursts_larger_than_a_sector_fetch_more(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    c.dram_burst_bytes = 64;
    struct dram *dram = dram_create(&c);
    static const struct {
        uint32_t sectors, columns;
    } cases[] = {{0x1, 1}, {0x3, 1}, {0x6, 2}, {0xf, 2}, {0x9, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        push(dram, i * 1000, 0, 0, cases[i].sectors, false);
        uint32_t columns = 0;
        while (dram_next(dram) != UINT64_MAX) {
            struct dram_event event;
            assert_true(dram_issue(dram, &event));
            columns += event.command == DRAM_COLUMN;
        }
        assert_int_equal(columns, cases[i].columns);
    }
    dram_destroy(dram);
}

/* ---- every command of random traffic obeys every parameter ---- */

struct checker {
    uint64_t activated[16], precharged[16], last_read[16], written[16], group[4];
    uint64_t any_activate, any_column, read_data_end, write_data_end, blocked_until;
    uint64_t row[16];
    bool open[16], was_activated[16], any, column, group_used[4], read[16], write[16], any_write, any_read;
};

static void check(struct checker *k, const struct corun_gpu_config *c, const struct dram_event *e)
{
    uint32_t b = e->bank, g = b % c->dram_bank_groups;
    uint64_t t = e->cycle;
    switch (e->command) {
    case DRAM_REFRESH:
        memset(k->open, 0, sizeof k->open);
        break;
    case DRAM_PRECHARGE:
        assert_true(k->open[b]);
        assert_true(t >= k->activated[b] + c->dram_tRAS);
        assert_true(!k->read[b] || t >= k->last_read[b] + c->dram_tRTPL);
        assert_true(!k->write[b] || t >= k->written[b] + c->dram_tWR);
        k->open[b] = false;
        k->precharged[b] = t;
        break;
    case DRAM_ACTIVATE:
        assert_false(k->open[b]);
        assert_true(!k->was_activated[b] || t >= k->activated[b] + c->dram_tRC);
        assert_true(!k->precharged[b] || t >= k->precharged[b] + c->dram_tRP);
        assert_true(!k->any || t >= k->any_activate + c->dram_tRRD);
        k->open[b] = k->was_activated[b] = k->any = true;
        k->activated[b] = k->any_activate = t;
        k->read[b] = k->write[b] = false;
        break;
    case DRAM_COLUMN:
        assert_true(k->open[b]);
        assert_true(t >= k->activated[b] + c->dram_tRCD);
        assert_true(!k->column || t >= k->any_column + c->dram_tCCD);
        assert_true(!k->group_used[g] || t >= k->group[g] + c->dram_tCCDL);
        if (e->write) {
            assert_true(!k->any_read || t + c->dram_tWL >= k->read_data_end + 2);
            k->write_data_end = k->written[b] = t + c->dram_tWL + 1;
            k->write[b] = k->any_write = true;
        } else {
            assert_true(!k->any_write || t >= k->write_data_end + c->dram_tCDLR);
            k->read_data_end = t + c->dram_tCL + 1;
            k->last_read[b] = t;
            k->read[b] = k->any_read = true;
        }
        k->any_column = k->group[g] = t;
        k->column = k->group_used[g] = true;
        break;
    }
}

static void random_traffic_obeys_every_parameter(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 8; variant++) {
        struct corun_gpu_config c = make_config();
        c.dram_scheduler = variant & 1 ? CORUN_DRAM_SCHEDULER_FCFS : CORUN_DRAM_SCHEDULER_FR_FCFS;
        c.dram_tREFI = variant & 2 ? 3000 : 0;
        c.dram_tCCD = variant & 4 ? 2 : 1;
        c.dram_tCCDL = 3;
        struct dram *dram = dram_create(&c);
        struct checker checker = {0};
        uint64_t random = variant + 1, now = 0;
        uint32_t pushed = 0, read_back = 0, reads = 0, left = 0;
        while (pushed < 5000 || !dram_empty(dram)) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bool write = random >> 33 & 1;
            if (pushed < 5000 && dram_places(dram, write) && (random >> 60 < 6 || dram_empty(dram))) {
                if (dram_empty(dram) && random >> 50 & 1)
                    now += random >> 40 & 0xfff; /* idle for a while */
                push(dram, now, random >> 36 & 15, random >> 40 & 3, 1 + (random >> 44 & 14), write);
                pushed++;
                reads += !write;
                continue;
            }
            struct dram_event event;
            assert_true(dram_issue(dram, &event));
            assert_true(event.cycle >= now);
            now = event.cycle;
            check(&checker, &c, &event);
            left += event.left;
            while (dram_first_fill(dram)) {
                dram_drop_fill(dram);
                read_back++;
            }
        }
        assert_int_equal(left, 5000);
        assert_int_equal(read_back, reads);
        dram_destroy(dram);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_of_a_closed_an_open_and_another_row),
        cmocka_unit_test(rows_in_one_bank_take_turns_of_trc),
        cmocka_unit_test(row_hits_first_beats_age_by_the_computed_factor),
        cmocka_unit_test(fcfs_keeps_the_order_of_arrival),
        cmocka_unit_test(bank_groups_take_turns),
        cmocka_unit_test(activates_are_trrd_apart),
        cmocka_unit_test(a_stream_fills_the_bus),
        cmocka_unit_test(refresh_costs_its_share),
        cmocka_unit_test(writes_wait_for_reads_and_turn_the_bus),
        cmocka_unit_test(many_writes_are_drained),
        cmocka_unit_test(neither_direction_starves_the_other),
        cmocka_unit_test(the_bus_is_busy_with_data_alone),
        cmocka_unit_test(turns_share_the_bus),
        cmocka_unit_test(a_row_that_is_always_hit_does_not_starve_others),
        cmocka_unit_test(bursts_larger_than_a_sector_fetch_more),
        cmocka_unit_test(random_traffic_obeys_every_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
