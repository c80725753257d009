/* SPDX-License-Identifier: MIT */
/* Energy of scripted code against sums by hand from the configuration. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "scripted.h"

#define GLOBAL_BASE (UINT64_C(1) << CORUN_APPLICATION_SHIFT)
/* Static energy is rounded down to a femtojoule. */
#define EXPECT_JOULES(value, expected) \
    assert_true(fabs((value) - (expected)) <= 2e-15 + 1e-12 * fabs(expected) && isfinite(value))

static struct corun_gpu_config config_of(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 2;
    config.dram_tREFI = 0;
    config.energy_scale = 1000;
    return config;
}

/*
 * Two thread blocks of two warps. Each warp: an addition (2 registers read, 1 written), a multiply-add of one register
 * by itself (1, 1), a special function (2, 1), a double addition (2, 1), a shared load with a conflict of degree 2 (1,
 * 1), a global load (1, 1), a global store (2, 0), exit.
 */
enum { WARPS = 4, ISSUED = 8, REGISTERS = 3 + 2 + 3 + 3 + 2 + 2 + 2 };

static struct script *mixed_script(void)
{
    struct script *script = script_new(2, 2);
    script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 2, 3);
    script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 4, 5, 5);
    script_compute(script, CORUN_UNIT_SFU, 0, 6, 7, 8);
    script_compute(script, CORUN_UNIT_FP64, CORUN_OPERATION_ADD, 10, 12, 14);
    script_memory(script, CORUN_LOAD, CORUN_SPACE_SHARED, 16, 17, 0, 8);
    uint32_t load = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 18, 19, GLOBAL_BASE, 4);
    uint32_t store = script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 20, 21, GLOBAL_BASE + 65536, 4);
    script->warp_stride[load] = script->warp_stride[store] = 128;
    script_end(script, 0, 1);
    return script;
}

struct measured {
    struct corun_energy_result energy;
    struct corun_counters counters;
    uint64_t cycles;
};

/* `applications` run `script` once each, one 500 cycles after the other. */
static struct measured measure(const struct corun_gpu_config *config, struct script *script, uint32_t applications,
                               uint32_t threads)
{
    struct measured measured = {.cycles = 0};
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(config, NULL, &gpu), CORUN_OK);
    for (uint32_t a = 0; a < applications; a++) {
        uint32_t index;
        struct corun_application_description description = {
            .name = "script", .grid = script_next, .user = script, .start_cycle = a * 500};
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    struct corun_limits limits = {.runs = 1, .threads = threads};
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    for (uint32_t a = 0; a < applications; a++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, a, 0, &kernel);
        corun_counters_add(&measured.counters, &kernel.counters);
    }
    measured.cycles = corun_gpu_cycles(gpu);
    corun_gpu_energy(gpu, &measured.energy);
    corun_gpu_destroy(gpu);
    return measured;
}

static void energy_is_what_the_events_cost(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    struct script *script = mixed_script();
    struct measured m = measure(&c, script, 1, 1);
    double lanes = 32 * WARPS;
    EXPECT_JOULES(m.energy.issue, 1e-15 * WARPS * ISSUED * c.energy_issue);
    EXPECT_JOULES(m.energy.lanes,
                  1e-15 * lanes *
                      ((double)c.energy_int_lane + c.energy_fp32_lane + c.energy_sfu_lane + c.energy_fp64_lane));
    EXPECT_JOULES(m.energy.registers, 1e-15 * WARPS * REGISTERS * c.energy_register);
    EXPECT_JOULES(m.energy.shared, 1e-15 * WARPS * 2 * c.energy_shared);
    EXPECT_JOULES(m.energy.l1, 1e-15 * WARPS * c.energy_l1); /* stores are not looked up there */
    /* 4 sectors are read and 4 written per warp; what was written stays in the L2 */
    EXPECT_JOULES(m.energy.l2, 1e-15 * WARPS * 8 * c.energy_l2);
    /* requests: a header each, 128 bytes with the store; replies the other way round */
    uint32_t small = (c.icnt_header_bytes + c.icnt_flit_bytes - 1) / c.icnt_flit_bytes;
    uint32_t large = (c.icnt_header_bytes + 128 + c.icnt_flit_bytes - 1) / c.icnt_flit_bytes;
    EXPECT_JOULES(m.energy.interconnect, 1e-15 * WARPS * 2 * (small + large) * c.energy_flit);
    /* full sectors are not fetched before they are written: only the loads go to DRAM */
    assert_int_equal(m.counters.dram_write_bytes, 0);
    assert_in_range(m.counters.dram_row_misses, 1, WARPS * 4);
    EXPECT_JOULES(m.energy.dram, 1e-15 * (WARPS * 128.0 * c.energy_dram_byte +
                                          (double)m.counters.dram_row_misses * c.energy_dram_activate));
    double seconds = (double)m.cycles / (c.core_clock_khz * 1e3);
    EXPECT_JOULES(m.energy.static_rest, 1e-3 * c.static_power_rest * seconds);
    EXPECT_JOULES(m.energy.static_sm, 1e-3 * c.static_power_sm * c.sms * seconds);
    double dynamic = m.energy.issue + m.energy.lanes + m.energy.registers + m.energy.shared + m.energy.l1 +
                     m.energy.interconnect + m.energy.l2 + m.energy.dram;
    EXPECT_JOULES(m.energy.applications[0], dynamic);
    EXPECT_JOULES(corun_counters_energy(&c, &m.counters), dynamic);
    EXPECT_JOULES(m.energy.total, dynamic + m.energy.static_sm + m.energy.static_rest);
    EXPECT_JOULES(m.energy.average_watts, m.energy.total / seconds);
    free(script);
}

static void applications_add_up(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    struct script *script = mixed_script();
    struct measured one = measure(&c, script, 1, 1), three = measure(&c, script, 3, 1);
    const struct corun_energy_result *e = &three.energy;
    assert_true(e->applications[0] == one.energy.applications[0]);
    assert_true(e->applications[1] > 0 && e->applications[2] > 0 && e->applications[3] == 0);
    EXPECT_JOULES(e->applications[0] + e->applications[1] + e->applications[2],
                  e->total - e->static_sm - e->static_rest);
    free(script);
}

static bool no_progress(void *user, uint64_t cycle)
{
    (void)user;
    (void)cycle;
    return true;
}

static void a_gpu_that_does_nothing_has_static_power_only(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    struct script *script = mixed_script();
    struct corun_gpu *gpu;
    struct corun_energy_result energy;
    uint32_t index;
    assert_int_equal(corun_gpu_create(&c, NULL, &gpu), CORUN_OK);
    corun_gpu_energy(gpu, &energy);
    assert_true(energy.total == 0 && isnan(energy.average_watts));
    /* It arrives after the end of the window. */
    struct corun_application_description description = {
        .name = "late", .grid = script_next, .user = script, .start_cycle = 2000000};
    assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    struct corun_limits limits = {.cycles = 1216000, .progress = no_progress};
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    assert_int_equal(corun_gpu_cycles(gpu), 1216000); /* a millisecond */
    corun_gpu_energy(gpu, &energy);
    EXPECT_JOULES(energy.static_sm, 1e-6 * c.sms * c.static_power_sm);
    EXPECT_JOULES(energy.static_rest, 1e-6 * c.static_power_rest);
    EXPECT_JOULES(energy.total, energy.static_sm + energy.static_rest);
    EXPECT_JOULES(energy.average_watts, 1e-3 * (c.sms * c.static_power_sm + c.static_power_rest));
    assert_true(energy.issue == 0 && energy.dram == 0 && energy.applications[0] == 0);
    corun_gpu_destroy(gpu);
    free(script);
}

/* Which group a parameter belongs to; those of `lanes` and `dram` are not the whole of it. */
static const struct {
    size_t parameter, group;
    bool whole;
} rows[] = {
#define ROW(parameter, group, whole) \
    { \
        offsetof(struct corun_gpu_config, parameter), offsetof(struct corun_energy_result, group), whole \
    }
    ROW(energy_issue, issue, true),
    ROW(energy_int_lane, lanes, false),
    ROW(energy_fp32_lane, lanes, false),
    ROW(energy_fp64_lane, lanes, false),
    ROW(energy_sfu_lane, lanes, false),
    ROW(energy_register, registers, true),
    ROW(energy_shared, shared, true),
    ROW(energy_l1, l1, true),
    ROW(energy_l2, l2, true),
    ROW(energy_flit, interconnect, true),
    ROW(energy_dram_byte, dram, false),
    ROW(energy_dram_activate, dram, false),
    ROW(static_power_sm, static_sm, true),
    ROW(static_power_rest, static_rest, true),
#undef ROW
};

static const size_t groups[] = {
#define G(name, meaning) offsetof(struct corun_energy_result, name),
    CORUN_DYNAMIC_ENERGIES(G) CORUN_STATIC_ENERGIES(G)
#undef G
};

static double value_at(const struct corun_energy_result *energy, size_t offset)
{
    double value;
    memcpy(&value, (const char *)energy + offset, sizeof value);
    return value;
}

static void a_parameter_changes_its_group_and_no_cycle(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    struct script *script = mixed_script();
    struct measured before = measure(&c, script, 1, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct corun_gpu_config doubled = c;
        *(uint32_t *)(void *)((char *)&doubled + rows[i].parameter) *= 2;
        struct measured after = measure(&doubled, script, 1, 1);
        assert_int_equal(after.cycles, before.cycles);
        assert_memory_equal(&after.counters, &before.counters, sizeof after.counters);
        for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
            double was = value_at(&before.energy, groups[g]), is = value_at(&after.energy, groups[g]);
            if (groups[g] != rows[i].group)
                assert_true(is == was);
            else if (rows[i].whole)
                assert_true(fabs(is - 2 * was) <= 2e-15);
            else
                assert_true(is > was && is < 2 * was);
        }
    }
    free(script);
}

/* The one factor multiplies everything, and no cycle. */
static void the_scale_multiplies_everything(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    struct script *script = mixed_script();
    struct measured before = measure(&c, script, 1, 1);
    c.energy_scale = 2500;
    struct measured after = measure(&c, script, 1, 1);
    assert_int_equal(after.cycles, before.cycles);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        EXPECT_JOULES(value_at(&after.energy, groups[g]), 2.5 * value_at(&before.energy, groups[g]));
    EXPECT_JOULES(after.energy.total, 2.5 * before.energy.total);
    EXPECT_JOULES(after.energy.average_watts, 2.5 * before.energy.average_watts);
    EXPECT_JOULES(after.energy.applications[0], 2.5 * before.energy.applications[0]);
    EXPECT_JOULES(corun_counters_energy(&c, &after.counters), after.energy.applications[0]);
    free(script);
}

static void energy_does_not_depend_on_threads(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    c.sms = 8;
    struct script *script = script_new(24, 4);
    for (uint32_t i = 0; i < 20; i++) {
        script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, (uint16_t)(1 + i % 8), 9, 10);
        uint32_t at = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, (uint16_t)(11 + i % 8), 20,
                                    GLOBAL_BASE + i * 4096, 4);
        script->warp_stride[at] = 65536;
    }
    script_end(script, 0, 1);
    struct measured one = measure(&c, script, 3, 1), four = measure(&c, script, 3, 4);
    assert_memory_equal(&one.energy, &four.energy, sizeof one.energy);
    free(script);
}

/* Every event that costs something, alone: no term of a group can be lost unseen. */
static const struct {
    size_t counter, parameter;
    double share; /* of the parameter that one costs */
} events[] = {
#define EVENT_SHARE(counter, parameter, share) \
    { \
        offsetof(struct corun_counters, counter), offsetof(struct corun_gpu_config, parameter), share \
    }
#define EVENT(counter, parameter) EVENT_SHARE(counter, parameter, 1)
    EVENT(warp_instructions, energy_issue),
    EVENT(int_lanes, energy_int_lane),
    EVENT(fp32_lanes, energy_fp32_lane),
    EVENT(fp64_lanes, energy_fp64_lane),
    EVENT(sfu_lanes, energy_sfu_lane),
    EVENT_SHARE(tensor_multiply_adds, energy_tensor_lane, 1.0 / 64),
    EVENT(register_accesses, energy_register),
    EVENT(shared_accesses, energy_shared),
    EVENT(shared_conflict_cycles, energy_shared),
    EVENT(l1_accesses, energy_l1),
    EVENT(texture_accesses, energy_l1),
    EVENT(constant_accesses, energy_l1),
    EVENT(icnt_request_flits, energy_flit),
    EVENT(icnt_reply_flits, energy_flit),
    EVENT(l2_accesses, energy_l2),
    EVENT(l2_writebacks, energy_l2),
    EVENT(dram_read_bytes, energy_dram_byte),
    EVENT(dram_write_bytes, energy_dram_byte),
    EVENT(dram_row_misses, energy_dram_activate),
#undef EVENT
#undef EVENT_SHARE
};

static void each_event_costs_what_its_parameter_says(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    size_t row_count;
    const struct corun_counter_row *counter_rows = corun_counter_rows(&row_count);
    for (size_t i = 0; i < row_count; i++) {
        struct corun_counters counters = {0};
        *(uint64_t *)(void *)((char *)&counters + counter_rows[i].offset) = 64000192;
        double expected = 0;
        for (size_t e = 0; e < sizeof events / sizeof *events; e++)
            if (events[e].counter == counter_rows[i].offset)
                expected = 64000192e-15 * events[e].share *
                           *(const uint32_t *)(const void *)((const char *)&c + events[e].parameter);
        double is = corun_counters_energy(&c, &counters);
        if (!(fabs(is - expected) <= 1e-12 * expected))
            fail_msg("%s: %g J, expected %g J", counter_rows[i].name, is, expected);
    }
    for (size_t e = 0; e < sizeof events / sizeof *events; e++)
        assert_true(*(const uint32_t *)(const void *)((const char *)&c + events[e].parameter) > 0);
}

/* Counters near their limit: sums do not wrap. */
static void large_counts_do_not_overflow(void **state)
{
    (void)state;
    struct corun_gpu_config c = config_of();
    struct corun_counters counters = {.dram_read_bytes = UINT64_MAX, .dram_write_bytes = UINT64_MAX};
    c.energy_dram_byte = 1000000000;
    EXPECT_JOULES(corun_counters_energy(&c, &counters), 2 * (double)UINT64_MAX * 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_what_the_events_cost),
        cmocka_unit_test(applications_add_up),
        cmocka_unit_test(a_gpu_that_does_nothing_has_static_power_only),
        cmocka_unit_test(a_parameter_changes_its_group_and_no_cycle),
        cmocka_unit_test(the_scale_multiplies_everything),
        cmocka_unit_test(energy_does_not_depend_on_threads),
        cmocka_unit_test(each_event_costs_what_its_parameter_says),
        cmocka_unit_test(large_counts_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
