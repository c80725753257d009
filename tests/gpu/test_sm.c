/* SPDX-License-Identifier: MIT */
/*
 * The SM's timing against what the configuration says, with scripted code: latency of dependent chains, throughput of
 * pipelines, schedulers, barriers, shared memory conflicts, coalescing, caches. Each expectation is a formula over the
 * configuration; a difference of two lengths takes away what starting and ending cost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/launch_bounds.h"
#include "scripted.h"

static struct corun_gpu_config config_of(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 1;
    config.dram_tREFI = 0;
    return config;
}

#define GLOBAL_BASE (UINT64_C(1) << CORUN_APPLICATION_SHIFT)

static uint64_t compute_cycles(const struct corun_gpu_config *config, uint32_t warps, enum corun_unit unit,
                               enum corun_operation operation, bool dependent, uint32_t count)
{
    struct script *script = script_new(1, warps);
    for (uint32_t i = 0; i < count; i++)
        script_compute(script, unit, operation, dependent ? 1 : (uint16_t)(2 + i % 32), dependent ? 1 : 40, 42);
    script_end(script, 0, 1);
    uint64_t cycles = script_run(config, script, NULL);
    free(script);
    return cycles;
}

/* Cycles per instruction, starting and ending taken away, in hundredths. */
static uint64_t per_instruction(const struct corun_gpu_config *config, uint32_t warps, enum corun_unit unit,
                                enum corun_operation operation, bool dependent)
{
    return compute_cycles(config, warps, unit, operation, dependent, 400) -
           compute_cycles(config, warps, unit, operation, dependent, 300);
}

static void a_dependent_chain_takes_collection_plus_latency(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint32_t collect = config.collect_cycles;
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_INT, CORUN_OPERATION_ADD, true),
                     100 * (collect + config.int_add_latency));
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_FP32, CORUN_OPERATION_MAX, true),
                     100 * (collect + config.fp32_max_latency));
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_FP64, CORUN_OPERATION_MAD, true),
                     100 * (collect + config.fp64_mad_latency));
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_SFU, 0, true), 100 * (collect + config.sfu_latency));
    config.fp32_mad_latency += 7;
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, true),
                     100 * (collect + config.fp32_mad_latency));
}

static void independent_instructions_flow_at_the_initiation_interval(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint32_t warps = 32; /* 8 per scheduler: enough to hide every latency here */
    /* one per scheduler and cycle: 32 warps x 100 instructions over 4 schedulers */
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, false), 100 * warps / 4);
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_SFU, 0, false), 100 * warps / 4 * config.sfu_interval);
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP64, CORUN_OPERATION_MAD, false),
                     100 * warps * config.fp64_mad_interval / config.fp64_units);
    config.fp64_units = 4;
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP64, CORUN_OPERATION_MAD, false),
                     100 * warps / 4 * config.fp64_mad_interval);
}

/* Cycles of an instruction, where of each of four thread blocks only the first of four warps has any work. */
static uint64_t first_warps_work(const struct corun_gpu_config *config)
{
    uint64_t cycles[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct script *script = script_new(4, 4);
        for (uint32_t k = 0; k < 200 + 100 * i; k++)
            script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, (uint16_t)(2 + k % 32), 40, 42);
        script_end(script, 0, 1);
        script->early_exits = 3;
        script->early_pc = 100; /* by then all are there */
        cycles[i] = script_run(config, script, NULL);
        free(script);
    }
    return cycles[1] - cycles[0];
}

static void first_warps_rotate_among_schedulers_where_asked(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.fp32_mad_interval = 2;
    assert_int_equal(first_warps_work(&config), 4 * 100 * 2);
    config.rotate_warps = 1;
    assert_int_equal(first_warps_work(&config), 100 * 2);
}

static void quotients_keep_a_special_function_pipeline_too(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint32_t warps = 32;
    config.fp32_div_interval = 25;
    config.fp32_sqrt_interval = 5;
    config.sfu_interval = 8;
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP32, CORUN_OPERATION_SQRT, false),
                     100 * warps / 4 * 5);
    config.fp32_div_specials = 1;
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP32, CORUN_OPERATION_DIV, false),
                     100 * warps / 4 * 25);
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP32, CORUN_OPERATION_SQRT, false),
                     100 * warps / 4 * 8);
    config.fp32_div_specials = 2;
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP32, CORUN_OPERATION_SQRT, false),
                     100 * warps / 4 * 16);
    /* other operations of that pipeline, and the roots of others, do not */
    assert_int_equal(per_instruction(&config, warps, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, false), 100 * warps / 4);
    config.fp64_sqrt_latency = 200;
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_FP64, CORUN_OPERATION_SQRT, true),
                     100 * (config.collect_cycles + config.fp64_sqrt_latency));
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_INT, CORUN_OPERATION_SQRT, true),
                     100 * (config.collect_cycles + config.int_div_latency));
    assert_int_equal(per_instruction(&config, 1, CORUN_UNIT_FP32, CORUN_OPERATION_SQRT, true),
                     100 * (config.collect_cycles + config.fp32_sqrt_latency));
}

static void integer_products_share_pipelines_with_single_precision_where_asked(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint32_t warps = 32;
    config.int_shares_fp32 = 0;
    config.int_units = config.fp32_units = 4;
    config.int_add_interval = config.int_mad_interval = 2;
    config.fp32_mad_interval = 6;
    for (config.mixed_pipes = 0; config.mixed_pipes < 2; config.mixed_pipes++) {
        struct script *script = script_new(1, warps);
        for (uint32_t i = 0; i < 100; i++) {
            script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_MAD, (uint16_t)(2 + i % 16), 40, 42);
            script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, (uint16_t)(18 + i % 16), 40, 42);
        }
        script_end(script, 0, 1);
        uint64_t cycles = script_run(&config, script, NULL);
        free(script);
        /* beside one another, or in turn */
        uint64_t wanted = 100 * warps / 4 * (config.mixed_pipes ? 8 : 6);
        assert_in_range(cycles, wanted - 10, wanted + 100);
    }
}

static void thread_blocks_that_wait_for_a_place_take_a_turn(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 1;
    config.tbs_per_sm = 1;
    uint64_t cycles[2][2];
    for (uint32_t turn = 0; turn < 2; turn++)
        for (uint32_t more = 0; more < 2; more++) {
            struct script *script = script_new(more ? 9 : 1, 1);
            script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 2, 3);
            script_end(script, 0, 1);
            config.tb_turn_latency = 302 * turn;
            cycles[turn][more] = script_run(&config, script, NULL);
            free(script);
        }
    assert_int_equal(cycles[1][0], cycles[0][0]); /* the first finds an empty SM */
    assert_int_equal(cycles[1][1] - cycles[0][1], 8 * 302);
}

static void thread_blocks_start_one_after_the_other_on_the_whole_gpu(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 4;
    config.tbs_per_sm = 32;
    uint64_t cycles[2][2];
    for (uint32_t limited = 0; limited < 2; limited++)
        for (uint32_t more = 0; more < 2; more++) {
            struct script *script = script_new(more ? 81 : 41, 1);
            script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 2, 3);
            script_end(script, 0, 1);
            config.tb_start_interval = 2500 * limited;
            cycles[limited][more] = script_run(&config, script, NULL);
            free(script);
        }
    assert_int_equal(cycles[0][1] - cycles[0][0], 40 / 4); /* one per cycle and SM */
    assert_int_equal(cycles[1][1] - cycles[1][0], 40 * 5 / 2);
}

static void a_warp_that_takes_four_issue_cycles_quarters_the_rate(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.warp_issue_cycles = 4;
    assert_int_equal(per_instruction(&config, 32, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, false), 100 * 8 * 4);
}

static void two_units_are_issued_together(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint64_t cycles[2][2];
    for (uint32_t width = 1; width <= 2; width++)
        for (uint32_t length = 0; length < 2; length++) {
            struct script *script = script_new(1, 32);
            for (uint32_t i = 0; i < 100 * (length + 1); i++) {
                script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_ADD, (uint16_t)(2 + i % 16), 40, 41);
                script_compute(script, CORUN_UNIT_SFU, 0, (uint16_t)(20 + i % 16), 42, 43);
            }
            script_end(script, 0, 1);
            config.issue_width = width;
            config.sfu_interval = 1;
            cycles[width - 1][length] = script_run(&config, script, NULL);
            free(script);
        }
    assert_in_range(cycles[0][1] - cycles[0][0], 32 / 4 * 200 - 4, 32 / 4 * 200 + 4);
    assert_in_range(cycles[1][1] - cycles[1][0], 32 / 4 * 100 - 4, 32 / 4 * 100 + 4);
}

static void register_banks_serve_one_or_two_reads_a_cycle(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    for (uint32_t reads = 1; reads <= 2; reads++) {
        uint64_t cycles[2];
        config.register_bank_reads = reads;
        for (uint32_t length = 0; length < 2; length++) {
            struct script *script = script_new(1, 32);
            for (uint32_t i = 0; i < 100 * (length + 1); i++) /* 40 and 44 share a bank of the scheduler's four */
                script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_ADD, (uint16_t)(2 + i % 16), 40, 44);
            script_end(script, 0, 1);
            cycles[length] = script_run(&config, script, NULL);
            free(script);
        }
        uint64_t taken = cycles[1] - cycles[0];
        if (reads == 1)
            assert_in_range(taken, 32 / 4 * 100 * 3 / 2, 32 / 4 * 100 * 2);
        else
            assert_in_range(taken, 32 / 4 * 100 - 4, 32 / 4 * 100 + 4);
    }
}

static uint64_t shared_cycles(struct corun_gpu_config *config, uint32_t warps, uint64_t stride, bool dependent,
                              uint32_t count, uint64_t *conflicts)
{
    struct script *script = script_new(1, warps);
    struct corun_counters counters;
    for (uint32_t i = 0; i < count; i++)
        script_memory(script, CORUN_LOAD, CORUN_SPACE_SHARED, dependent ? 1 : (uint16_t)(2 + i % 32),
                      dependent ? 1 : 40, 0, stride);
    script_end(script, 0, 1);
    uint64_t cycles = script_run(config, script, &counters);
    *conflicts = counters.shared_conflict_cycles;
    free(script);
    return cycles;
}

static void shared_memory_conflicts_cost_their_degree(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    static const struct {
        uint64_t stride;
        uint32_t degree;
    } rows[] = {{4, 1}, {0, 1}, {8, 2}, {16, 4}, {32, 8}, {64, 16}, {128, 32}, {12, 1}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t conflicts, more;
        uint64_t shorter = shared_cycles(&config, 8, rows[i].stride, false, 100, &conflicts);
        uint64_t longer = shared_cycles(&config, 8, rows[i].stride, false, 200, &more);
        assert_int_equal(longer - shorter, 100 * 8 * rows[i].degree);
        assert_int_equal(conflicts, 100 * 8 * (rows[i].degree - 1));
    }
    uint64_t unused;
    assert_int_equal(shared_cycles(&config, 1, 4, true, 200, &unused) -
                         shared_cycles(&config, 1, 4, true, 100, &unused),
                     100 * (config.collect_cycles + config.shared_latency));
}

static uint64_t global_cycles(struct corun_gpu_config *config, uint64_t lane_stride, bool dependent, uint32_t turns,
                              struct corun_counters *counters)
{
    struct script *script = script_new(1, 1);
    script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, dependent ? 1 : 2, dependent ? 1 : 40, GLOBAL_BASE,
                  lane_stride);
    script_end(script, 0, turns);
    uint64_t cycles = script_run(config, script, counters);
    free(script);
    return cycles;
}

static void an_l1_hit_takes_its_latency(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    struct corun_counters counters;
    /* the loop's branch issues while the load is under way */
    uint64_t taken = global_cycles(&config, 4, true, 300, &counters) - global_cycles(&config, 4, true, 200, NULL);
    assert_int_equal(taken, 100 * (config.collect_cycles + config.l1_latency));
    assert_int_equal(counters.l1_accesses, 300);
    assert_int_equal(counters.l1_misses, 1);
    assert_int_equal(counters.l1_hits, 299);
    assert_int_equal(counters.missing_loads, 1);
    assert_int_equal(counters.uncoalesced_loads, 0);
}

static void transactions_follow_the_stride(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    static const struct {
        uint64_t stride;
        uint32_t transactions, sectors;
    } rows[] = {{4, 1, 4}, {0, 1, 1}, {8, 2, 8}, {16, 4, 16}, {32, 8, 32}, {128, 32, 32}, {256, 32, 32}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct corun_counters counters;
        global_cycles(&config, rows[i].stride, true, 1, &counters);
        assert_int_equal(counters.global_transactions, rows[i].transactions);
        assert_int_equal(counters.global_sectors, rows[i].sectors);
        assert_int_equal(counters.icnt_requests, rows[i].transactions);
        assert_int_equal(counters.dram_read_bytes, rows[i].sectors * 32);
        assert_int_equal(counters.missing_loads, 1);
        assert_int_equal(counters.missing_load_lines, rows[i].transactions);
        /* 32 lanes of 4 bytes in a row touch two lines at most */
        assert_int_equal(counters.uncoalesced_loads, rows[i].transactions > 2);
        assert_int_equal(counters.uncoalesced_load_lines, rows[i].transactions > 2 ? rows[i].transactions : 0);
    }
    config.access_lanes = 16; /* half warps: two segments instead of one */
    config.l1_caches_global = 0;
    struct corun_counters counters;
    global_cycles(&config, 4, true, 1, &counters);
    assert_int_equal(counters.global_transactions, 2);
    assert_int_equal(counters.l1_accesses, 0);
}

/* Lines of the constant cache are counted as its lookups, whether it is perfect or not. */
static void constants_are_no_transactions(void **state)
{
    (void)state;
    for (uint32_t perfect = 0; perfect < 2; perfect++) {
        struct corun_gpu_config config = config_of();
        struct corun_counters counters;
        config.constant_perfect = perfect;
        struct script *script = script_new(1, 1);
        script_memory(script, CORUN_LOAD, CORUN_SPACE_CONSTANT, 1, 1, GLOBAL_BASE, 0);
        script_end(script, 0, 5);
        script_run(&config, script, &counters);
        free(script);
        assert_int_equal(counters.constant_accesses, 5);
        assert_int_equal(counters.constant_misses, perfect ? 0 : 1);
        assert_int_equal(counters.global_transactions, 0);
        assert_int_equal(counters.global_sectors, 0);
        assert_int_equal(counters.missing_loads, 0);
    }
}

/* Cycles of a load beyond one that hits a single line: the stride in bytes, then the lines per cycle. */
static uint64_t beyond_one_line(uint64_t stride, uint32_t lines_per_cycle)
{
    struct corun_gpu_config config = config_of();
    config.l1_lines_per_cycle = lines_per_cycle;
    uint64_t taken = global_cycles(&config, stride, true, 300, NULL) - global_cycles(&config, stride, true, 200, NULL);
    return taken / 100 - config.collect_cycles - config.l1_latency;
}

static void a_load_hits_several_lines_as_banks_allow(void **state)
{
    (void)state;
    assert_int_equal(beyond_one_line(4, 4), 0);
    assert_int_equal(beyond_one_line(132, 1), 31); /* 32 lines from 32 banks */
    assert_int_equal(beyond_one_line(132, 4), 7);
    assert_int_equal(beyond_one_line(132, 32), 0);
    assert_int_equal(beyond_one_line(128, 1), 31); /* 32 lines from one bank */
    assert_int_equal(beyond_one_line(128, 4), 31);
    assert_int_equal(beyond_one_line(8, 4), 1); /* two words in each second bank */
    assert_int_equal(beyond_one_line(64, 4), 15);
    assert_int_equal(beyond_one_line(68, 4), 4); /* 17 lines from 32 banks */
}

/* Hits of a load after a store of the same line: `before`, a load has asked for it already. */
static uint64_t hits_after_store(bool allocate, uint64_t lane_stride, bool before)
{
    struct corun_gpu_config config = config_of();
    struct corun_counters counters;
    config.l1_write_allocate = allocate;
    struct script *script = script_new(1, 1);
    if (before)
        script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 3, 40, GLOBAL_BASE, 4);
    script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 40, GLOBAL_BASE, lane_stride);
    script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 4);
    script_end(script, 0, 1);
    script_run(&config, script, &counters);
    free(script);
    assert_int_equal(counters.l1_accesses, before ? 2 : 1);
    assert_int_equal(counters.l1_hits + counters.l1_misses, counters.l1_accesses);
    return counters.l1_hits;
}

static void stores_leave_whole_sectors_for_loads(void **state)
{
    (void)state;
    assert_int_equal(hits_after_store(false, 4, false), 0);
    assert_int_equal(hits_after_store(true, 4, false), 1);
    assert_int_equal(hits_after_store(true, 8, false), 0); /* every other word: the sectors are fetched */
    assert_int_equal(hits_after_store(true, 4, true), 0);  /* on its way already: both loads wait for it */
}

static struct corun_gpu_config split_config(void)
{
    struct corun_gpu_config config = config_of();
    config.l1_bytes = 32 << 10;
    config.l1_ways = 64;
    config.l1_split = CORUN_L1_SPLIT_VOLTA;
    config.shared_bytes_per_sm = config.shared_bytes_per_tb = 96 << 10;
    return config;
}

/* Loads of `lines` lines, `turns` times. */
static struct script *walk(uint32_t lines, uint32_t turns, uint32_t shared_bytes)
{
    struct script *script = script_new(1, 4);
    script->grid.tb_warps = 1;
    script->grid.tb_threads = 32;
    script->grid.tb_shared_bytes = shared_bytes;
    for (uint32_t i = 0; i < lines; i++)
        script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, (uint16_t)(1 + i % 30), 40, GLOBAL_BASE + 128 * i, 4);
    script_end(script, 0, turns);
    return script;
}

static void the_l1_is_what_shared_memory_leaves(void **state)
{
    (void)state;
    static const struct {
        uint32_t shared_bytes, setting; /* of a thread block of four warps, of which 16 fit otherwise; KB */
    } rows[] = {{0, 0}, {256, 8}, {512, 8}, {1024, 16}, {1536, 32}, {4096, 64}, {6144, 96}, {20000, 96}, {98304, 96}};
    struct corun_gpu_config config = split_config();
    struct script *script = script_new(64, 4);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        script->grid.tb_shared_bytes = rows[i].shared_bytes;
        uint32_t setting = corun_gpu_shared_setting(&config, &script->grid);
        assert_int_equal(setting, rows[i].setting * 1024);
        assert_int_equal(corun_gpu_l1_bytes(&config, setting), (128 - rows[i].setting) * 1024);
    }
    config.l1_split = CORUN_L1_SPLIT_FIXED;
    script->grid.tb_shared_bytes = 0;
    assert_int_equal(corun_gpu_l1_bytes(&config, corun_gpu_shared_setting(&config, &script->grid)), 32 * 1024);
    free(script);
    /* 800 lines are 100 KB */
    static const struct {
        enum corun_l1_split split;
        uint32_t shared_bytes, hits;
    } walks[] = {{CORUN_L1_SPLIT_VOLTA, 0, 800}, {CORUN_L1_SPLIT_VOLTA, 40000, 0}, {CORUN_L1_SPLIT_FIXED, 0, 0}};
    for (uint32_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        struct corun_counters counters;
        config.l1_split = walks[i].split;
        script = walk(800, 2, walks[i].shared_bytes);
        script_run(&config, script, &counters);
        assert_int_equal(counters.l1_hits, walks[i].hits);
        assert_int_equal(counters.l1_misses, 1600 - walks[i].hits);
        free(script);
    }
}

/* A thread block that needs more than there is takes it of the L1 at once; one that needs less changes nothing. */
static void a_neighbour_takes_its_shared_memory_of_the_l1(void **state)
{
    (void)state;
    static const uint32_t neighbours[] = {0, 90000};
    uint64_t hits[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct corun_gpu_config config = split_config();
        config.l1_flush_at_kernel = 0;
        struct script *scripts[] = {walk(600, 20, 0), walk(1, 1, neighbours[i])};
        struct corun_gpu *gpu;
        uint32_t index;
        assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
        for (uint32_t a = 0; a < 2; a++) {
            struct corun_application_description description = {
                .name = "walk", .grid = script_next, .user = scripts[a], .start_cycle = 20000 * a};
            assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
        }
        struct corun_limits limits = {.runs = 1};
        assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, 0, 0, &kernel);
        hits[i] = kernel.counters.l1_hits;
        corun_gpu_destroy(gpu);
        free(scripts[0]);
        free(scripts[1]);
    }
    assert_int_equal(hits[0], 19 * 600);
    assert_in_range(hits[1], 600, 18 * 600);
}

static void a_barrier_costs_its_cycles_after_the_last_arrival(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint64_t cycles[2];
    for (uint32_t length = 0; length < 2; length++) {
        struct script *script = script_new(1, 4);
        for (uint32_t i = 0; i < 100 * (length + 1); i++)
            script_control(script, CORUN_BARRIER);
        script_end(script, 0, 1);
        cycles[length] = script_run(&config, script, NULL);
        free(script);
    }
    assert_int_equal(cycles[1] - cycles[0], 100 * config.barrier_cycles);
}

static void occupancy_is_limited_by_each_resource(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    struct script *script = script_new(64, 4);
    const char *limit;
    script->grid.registers_per_thread = 32;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 16);
    script->grid.registers_per_thread = 64;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 8);
    assert_string_equal(limit, "registers");
    script->grid.registers_per_thread = 16;
    script->grid.tb_shared_bytes = 40000;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 2);
    assert_string_equal(limit, "shared memory");
    script->grid.tb_shared_bytes = 0;
    script->grid.tb_warps = 1;
    script->grid.tb_threads = 32;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 32);
    assert_string_equal(limit, "thread blocks");
    script->grid.tb_warps = 64;
    script->grid.tb_threads = 2048;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 0);
    assert_string_equal(limit, "threads");
    free(script);
}

/* What ptxas 13.0 gave a kernel that takes 96 registers by itself, for an SM of 65536 with four schedulers. */
static void launch_bounds_limit_registers(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads, tbs, threads_per_sm, tbs_per_sm, registers;
    } rows[] = {
        {0, 0, 2048, 32, 96},
        {0, 8, 2048, 32, 96}, /* .minnctapersm counts for nothing alone */
        {1024, 0, 2048, 32, 64},
        {1024, 1, 2048, 32, 64},
        {768, 0, 2048, 32, 80},
        {700, 0, 2048, 32, 80},
        {672, 0, 2048, 32, 80}, /* 21 warps are 6 on a scheduler */
        {640, 0, 2048, 32, 96},
        {96, 7, 2048, 32, 80},
        {33, 10, 2048, 32, 96},
        {160, 6, 2048, 32, 64}, /* by warps of a thread block */
        {256, 4, 2048, 32, 64},
        {256, 5, 2048, 32, 48},
        {256, 6, 2048, 32, 40},
        {256, 8, 2048, 32, 32},
        {256, 9, 2048, 32, 96},
        {256, 5, 1024, 16, 96}, /* too many for the SM */
        {1024, 2, 1024, 16, 64},
        {32, 20, 1024, 16, 96},
        {32, 20, 2048, 32, 96},
        {32, 32, 2048, 32, 64},
        {32, 33, 2048, 32, 96},
        {65, 21, 2048, 32, 32},
        {65, 22, 2048, 32, 96},
        {1025, 0, 1024, 16, 96},
        {1025, 0, 2048, 32, 56},
        {2048, 0, 2048, 32, 32},
        {UINT32_MAX, UINT32_MAX, 2048, 32, 96},
    };
    struct corun_gpu_config config = config_of();
    config.registers_per_sm = 65536;
    config.register_unit = 256;
    config.schedulers_per_sm = 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct corun_launch_bounds bounds = {rows[i].threads, rows[i].tbs};
        config.threads_per_sm = rows[i].threads_per_sm;
        config.tbs_per_sm = rows[i].tbs_per_sm;
        if (launch_bounds_registers(&config, 96, &bounds) != rows[i].registers)
            fail_msg("row %zu: %u registers, not %u", i, launch_bounds_registers(&config, 96, &bounds),
                     rows[i].registers);
        assert_int_equal(launch_bounds_registers(&config, 30, &bounds), 30); /* what fits stays */
    }
    struct script *script = script_new(64, 4);
    const char *limit;
    config.threads_per_sm = 2048;
    config.tbs_per_sm = 32;
    script->grid.registers_per_thread = 96;
    script->grid.tb_warps = 32;
    script->grid.tb_threads = 1024;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 0);
    script->grid.bounds.threads = 1024;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 1);
    assert_string_equal(limit, "registers");
    script->grid.bounds.tbs = 2;
    assert_int_equal(corun_gpu_occupancy(&config, &script->grid, &limit), 2);
    free(script);
}

static void every_scheduler_cycle_has_one_cause(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    struct script *script = script_new(12, 4);
    struct corun_counters c;
    script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 64);
    script->turn_stride[0] = 4096;
    script->warp_stride[0] = 1 << 16;
    script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
    script_compute(script, CORUN_UNIT_SFU, 0, 3, 2, 2);
    script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 3, 40, GLOBAL_BASE + (1 << 24), 4);
    script_control(script, CORUN_BARRIER);
    script_end(script, 0, 20);
    uint64_t cycles = script_run(&config, script, &c);
    uint64_t causes = c.issue_cycles + c.stall_fetch + c.stall_control + c.stall_data + c.stall_memory_data +
                      c.stall_pipeline + c.stall_memory + c.stall_barrier + c.stall_fence + c.stall_quota +
                      c.stall_other;
    assert_in_range(causes, 4 * (cycles - config.dispatch_latency - 600), 4 * (cycles + 2));
    assert_int_equal(c.warp_instructions, 12 * 4 * (6 * 20 + 1));
    assert_int_equal(c.tbs_completed, 12);
    assert_int_equal(c.stores, 12 * 4 * 20);
    assert_true(c.stall_memory_data > c.stall_data);
    free(script);
}

static void mshrs_bound_what_is_under_way(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    uint64_t cycles[2];
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct script *script = script_new(1, 32);
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t at =
                script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, (uint16_t)(2 + i), 40, GLOBAL_BASE + i * 128, 4);
            script->warp_stride[at] = 8 * 128;
            script->turn_stride[at] = 1 << 18;
        }
        script_end(script, 0, 20);
        config.l1_mshrs = pass ? 8 : 256;
        struct corun_counters counters;
        cycles[pass] = script_run(&config, script, &counters);
        assert_int_equal(counters.l1_misses, 20 * 8 * 32);
        free(script);
    }
    /* Little: with 8 MSHRs at most 8 lines come back per round trip, which takes more than the fixed latencies */
    uint64_t round_trip = 2 * config.icnt_latency + config.l2_latency + config.dram_latency;
    assert_true(cycles[1] >= 20 * 8 * 32 / 8 * round_trip);
    assert_true(cycles[0] * 4 < cycles[1]);
}

static void atomics_are_performed_once_per_lane(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 2;
    struct script *script = script_new(4, 4);
    script_memory(script, CORUN_ATOMIC, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 0);
    script_memory(script, CORUN_ATOMIC | CORUN_REDUCTION, CORUN_SPACE_GLOBAL, 3, 40, GLOBAL_BASE, 256);
    script_end(script, 0, 10);
    struct corun_counters counters;
    script_run(&config, script, &counters);
    assert_int_equal(script->performed, 4 * 4 * 10 * 2 * 32);
    assert_int_equal(script->completed, 4 * 4 * 10 * 2);
    assert_int_equal(counters.atomics, 4 * 4 * 10 * 2);
    free(script);
}

/* All lanes at one address: as many rounds of the L2 as lanes, or one. What `lanes` of them are put together need. */
static uint64_t atomics_at_one_address(const struct corun_gpu_config *config, enum corun_space space, uint32_t flags)
{
    struct script *script = script_new(1, 4);
    for (uint32_t i = 0; i < 20; i++)
        script_memory(script, CORUN_ATOMIC | flags, space, (uint16_t)(2 + i), 40,
                      space == CORUN_SPACE_GLOBAL ? GLOBAL_BASE : 0, 0);
    script_end(script, 0, 1);
    uint64_t cycles = script_run(config, script, NULL);
    if (space == CORUN_SPACE_GLOBAL)
        assert_int_equal(script->performed, 4 * 20 * 32); /* lane by lane all the same */
    free(script);
    return cycles;
}

static void gathered_atomics_are_one_operation(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 1;
    config.atomic_interval = 40; /* more than the slots of what counts or sums the lanes */
    uint32_t rounds = 4 * 20 * config.atomic_interval;
    uint64_t apart = atomics_at_one_address(&config, CORUN_SPACE_GLOBAL, 0);
    assert_in_range(apart, 32 * rounds, 32 * rounds + 1000);
    assert_in_range(atomics_at_one_address(&config, CORUN_SPACE_GLOBAL, CORUN_GATHERED), rounds, rounds + 1000);
    assert_in_range(atomics_at_one_address(&config, CORUN_SPACE_GLOBAL, CORUN_GATHERED_VALUES), rounds, rounds + 1000);
    /* of shared memory: a cycle for the first lane and two for each other one, beside the slots of one scheduler of four, 1 + 5 a warp */
    uint32_t lanes = CORUN_REDUCTION;
    config.shared_atomic_interval = 2;
    assert_in_range(atomics_at_one_address(&config, CORUN_SPACE_SHARED, lanes), 4 * 20 * 63 - 100, 4 * 20 * 63 + 100);
    assert_in_range(atomics_at_one_address(&config, CORUN_SPACE_SHARED, lanes | CORUN_GATHERED), 20 * 6 - 10,
                    20 * 6 + 100);
}

/* Integers of 64 bits are pairs: each part takes its pipeline, and what either may run goes where there is room. */
static void pieces_take_their_pipelines(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 1;
    config.expansions = true;
    config.mixed_pipes = true;
    config.int_shares_fp32 = false;
    config.collect_cycles = 1;
    config.int_add_latency = config.int_mul_latency = config.fp32_mul_latency = 3;
    config.int_add_interval = config.int_mul_interval = config.int_mad_interval = 2;
    static const struct {
        uint8_t further, chain, logic, products, either;
        uint32_t latency, interval;
    } rows[] = {{1, 1, 1, 0, 1, 8, 2},   /* a sum: one in each pipeline */
                {1, 0, 2, 0, 0, 4, 4},   /* logic: both in one */
                {3, 2, 0, 3, 1, 12, 6}}; /* a product: three, and one in the other */
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t chained = 0; chained < 2; chained++) {
            uint32_t warps = chained ? 1 : 32, each = chained ? rows[i].latency : 8 * rows[i].interval, count = 50;
            struct script *script = script_new(1, warps);
            for (uint32_t k = 0; k < count; k++) {
                script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, chained ? 2 : (uint16_t)(2 + k % 16),
                               chained ? 2 : 40, 41);
                struct corun_instruction *instruction = &script->code[k];
                instruction->flags = CORUN_PIECES;
                instruction->further = rows[i].further;
                instruction->chain = rows[i].chain;
                instruction->pieces.logic = rows[i].logic;
                instruction->pieces.products = rows[i].products;
                instruction->pieces.either = rows[i].either;
            }
            script_end(script, 0, 1);
            assert_in_range(script_run(&config, script, NULL), count * each - each, count * each + 60);
            free(script);
        }
}

/* One warp's atomics of shared memory with a result, each address that of the one before, `stride` bytes from lane to lane. */
static uint64_t chain_of_atomics(const struct corun_gpu_config *config, uint32_t flags, uint64_t stride,
                                 uint64_t *accesses)
{
    struct script *script = script_new(1, 1);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t at = script_memory(script, CORUN_ATOMIC | flags, CORUN_SPACE_SHARED, 2, 2, 0, stride);
        script->code[at].further = flags & CORUN_COMPARED ? 4 : 0;
    }
    script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 3, 2, 2); /* waits for the last one */
    script_end(script, 0, 1);
    struct corun_counters counters;
    uint64_t cycles = script_run(config, script, &counters);
    *accesses = counters.shared_accesses;
    free(script);
    return cycles;
}

static void sums_in_shared_memory_are_loops(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 1;
    config.shared_latency = 22;
    config.shared_atomic_interval = 2;
    config.shared_atomic_latency = 17;
    config.shared_loop_cycles = 100;
    uint64_t accesses, first = chain_of_atomics(&config, 0, 4, &accesses);
    assert_int_equal(accesses, 10);
    assert_in_range(first, 10 * (22 + 17), 10 * (22 + 17) + 60);
    assert_in_range(chain_of_atomics(&config, 0, 0, &accesses), first + 10 * 62, first + 10 * 62);
    assert_in_range(chain_of_atomics(&config, CORUN_COMPARED, 4, &accesses), 10 * 100, 10 * 100 + 60);
    assert_int_equal(accesses, 10 * 2);
    /* a turn for each lane, and its swap waits for those of the lanes that are left: 2 × (31 + 30 + … + 1) */
    assert_in_range(chain_of_atomics(&config, CORUN_COMPARED, 0, &accesses), 10 * (32 * 100 + 992),
                    10 * (32 * 100 + 992) + 60);
    assert_int_equal(accesses, 10 * 32 * 2);
    /* without a result the warp goes on behind the last turn all the same */
    assert_in_range(chain_of_atomics(&config, CORUN_COMPARED | CORUN_REDUCTION, 0, &accesses), 10 * 32 * 100,
                    10 * (32 * 100 + 992) + 60);
    /* where words are locked, all are loops, and who waits for the lock stores nothing */
    config.shared_locks = true;
    assert_in_range(chain_of_atomics(&config, 0, 0, &accesses), 10 * 32 * 100, 10 * 32 * 100 + 60);
    config.shared_locks = false;
    config.shared_loop_cycles = 0;
    assert_int_equal(chain_of_atomics(&config, CORUN_COMPARED, 4, &accesses), first);
}

static void threads_change_no_digit(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    config.sms = 5;
    uint64_t reference = 0;
    struct corun_counters first;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct script *script = script_new(40, 6);
        uint32_t at = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 36);
        script->warp_stride[at] = 5 << 12;
        script->turn_stride[at] = 1 << 12;
        script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
        script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 40, GLOBAL_BASE + (1 << 24), 8);
        script_end(script, 0, 15);
        struct corun_gpu *gpu;
        uint32_t index;
        assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
        struct corun_application_description description = {.name = "script", .grid = script_next, .user = script};
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
        struct corun_limits limits = {.runs = 2, .threads = threads};
        assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, 0, 0, &kernel);
        if (threads == 1) {
            reference = corun_gpu_cycles(gpu);
            first = kernel.counters;
        }
        assert_int_equal(corun_gpu_cycles(gpu), reference);
        assert_memory_equal(&kernel.counters, &first, sizeof first);
        assert_int_equal(kernel.launches, 2);
        corun_gpu_destroy(gpu);
        free(script);
    }
}

struct order {
    uint32_t warps[4096];
    uint32_t count;
};

static void note_warp(void *user, const struct corun_trace_event *event)
{
    struct order *order = user;
    if (order->count < 4096)
        order->warps[order->count++] = event->warp;
}

static void issue_order(struct corun_gpu_config *config, struct order *order)
{
    struct script *script = script_new(1, 4);
    config->schedulers_per_sm = 1;
    config->issue_width = 1;
    config->int_units = config->fp32_units = 1;
    for (uint32_t i = 0; i < 10; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(1 + i), 40, 41);
    script_end(script, 0, 1);
    struct corun_gpu *gpu;
    uint32_t index;
    assert_int_equal(corun_gpu_create(config, NULL, &gpu), CORUN_OK);
    struct corun_application_description description = {.name = "script", .grid = script_next, .user = script};
    assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    corun_gpu_trace(gpu, 0, UINT64_MAX, note_warp, order);
    struct corun_limits limits = {.runs = 1};
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

static void greedy_stays_and_round_robin_turns(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    struct order greedy = {.count = 0}, turning = {.count = 0};
    config.scheduler = CORUN_SCHEDULER_GTO;
    issue_order(&config, &greedy);
    config.scheduler = CORUN_SCHEDULER_LRR;
    issue_order(&config, &turning);
    assert_int_equal(greedy.count, 44);
    assert_int_equal(turning.count, 44);
    for (uint32_t i = 0; i < 44; i++) {
        assert_int_equal(greedy.warps[i], i / 11);
        assert_int_equal(turning.warps[i], i % 4);
    }
}

static void instruction_cache_misses_are_counted_and_cost(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    struct corun_counters fits, exceeds;
    uint64_t cycles[2];
    config.icache_perfect = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t length = pass ? 2048 : 512; /* 8 bytes each: 16 KB and 4 KB in a cache of 8 KB */
        struct script *script = script_new(1, 1);
        for (uint32_t i = 0; i < length; i++)
            script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(1 + i % 32), 40, 41);
        script_end(script, 0, 20);
        cycles[pass] = script_run(&config, script, pass ? &exceeds : &fits);
        free(script);
    }
    assert_int_equal(fits.icache_misses, 512 / 16 + 1);
    assert_true(exceeds.icache_misses >= 19 * 2048 / 16); /* LRU over a cyclic sweep that does not fit: never a hit */
    assert_true(cycles[1] > cycles[0] * 4 * 3);
}

/*
 * Warps whose fetch is refused resume with the reply that can help them: as early as if they had been let wait for it, or
 * as soon as there is a place in the network.
 */
static void refused_fetches_continue_with_a_reply(void **state)
{
    (void)state;
    struct corun_gpu_config config = config_of();
    struct corun_counters counters;
    uint64_t cycles[2];
    config.icache_perfect = 0;
    config.sms = 1;
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct script *script = script_new(1, 8);
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 40, 41);
        script_end(script, 0, 1);
        config.l1_mshr_merge = pass ? 1 : 8;
        cycles[pass] = script_run(&config, script, &counters);
        assert_int_equal(counters.icache_misses, pass ? 1 : 8);
        assert_int_equal(counters.icache_accesses, 8);
        free(script);
    }
    assert_int_equal(cycles[0], cycles[1]);
    uint64_t accesses[2];
    for (uint32_t pass = 0; pass < 2; pass++) {
        struct script *script = script_new(1, 1);
        script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE, 4);
        for (uint32_t i = 0; i < 30; i++)
            script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(2 + i), 40, 41);
        script_end(script, 0, 1);
        config.icnt_buffer = pass ? 1 : 8; /* the load has the only place while the second line is wanted */
        cycles[pass] = script_run(&config, script, &counters);
        accesses[pass] = counters.icache_accesses;
        assert_int_equal(counters.icache_misses, 2);
        free(script);
    }
    assert_true(cycles[1] > cycles[0] + 100);
    assert_int_equal(accesses[0], accesses[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dependent_chain_takes_collection_plus_latency),
        cmocka_unit_test(independent_instructions_flow_at_the_initiation_interval),
        cmocka_unit_test(first_warps_rotate_among_schedulers_where_asked),
        cmocka_unit_test(quotients_keep_a_special_function_pipeline_too),
        cmocka_unit_test(integer_products_share_pipelines_with_single_precision_where_asked),
        cmocka_unit_test(thread_blocks_that_wait_for_a_place_take_a_turn),
        cmocka_unit_test(thread_blocks_start_one_after_the_other_on_the_whole_gpu),
        cmocka_unit_test(a_warp_that_takes_four_issue_cycles_quarters_the_rate),
        cmocka_unit_test(two_units_are_issued_together),
        cmocka_unit_test(register_banks_serve_one_or_two_reads_a_cycle),
        cmocka_unit_test(shared_memory_conflicts_cost_their_degree),
        cmocka_unit_test(an_l1_hit_takes_its_latency),
        cmocka_unit_test(transactions_follow_the_stride),
        cmocka_unit_test(constants_are_no_transactions),
        cmocka_unit_test(a_load_hits_several_lines_as_banks_allow),
        cmocka_unit_test(stores_leave_whole_sectors_for_loads),
        cmocka_unit_test(the_l1_is_what_shared_memory_leaves),
        cmocka_unit_test(a_neighbour_takes_its_shared_memory_of_the_l1),
        cmocka_unit_test(a_barrier_costs_its_cycles_after_the_last_arrival),
        cmocka_unit_test(occupancy_is_limited_by_each_resource),
        cmocka_unit_test(launch_bounds_limit_registers),
        cmocka_unit_test(every_scheduler_cycle_has_one_cause),
        cmocka_unit_test(mshrs_bound_what_is_under_way),
        cmocka_unit_test(atomics_are_performed_once_per_lane),
        cmocka_unit_test(gathered_atomics_are_one_operation),
        cmocka_unit_test(sums_in_shared_memory_are_loops),
        cmocka_unit_test(pieces_take_their_pipelines),
        cmocka_unit_test(threads_change_no_digit),
        cmocka_unit_test(greedy_stays_and_round_robin_turns),
        cmocka_unit_test(instruction_cache_misses_are_counted_and_cost),
        cmocka_unit_test(refused_fetches_continue_with_a_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
