/* SPDX-License-Identifier: MIT */
/* Profiles from counters, by hand. (From thread blocks: tests/cli/test_cli.py holds them against counters.) */
#include "model/profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

/* Two SMs at 1 GHz; a bus of 8 bytes at 1 GHz and twice the rate: 16 bytes a core cycle, two of them. */
static const struct corun_gpu_config config = {.sms = 2,
                                               .schedulers_per_sm = 2,
                                               .issue_width = 1,
                                               .warp_issue_cycles = 2,
                                               .core_clock_khz = 1000000,
                                               .dram_clock_khz = 1000000,
                                               .dram_bus_bytes = 8,
                                               .dram_data_rate = 2,
                                               .memory_controllers = 2,
                                               .threads_per_tb = 1024,
                                               .registers_per_thread = 63,
                                               .register_unit = 64,
                                               .shared_bytes_per_tb = 49152,
                                               .shared_unit_bytes = 128};
static const struct corun_grid grid = {.tb_count = 1000,
                                       .tb_threads = 70,
                                       .tb_warps = 3,
                                       .tb_shared_bytes = 1000,
                                       .registers_per_thread = 21,
                                       .barrier_count = 1};

/* 10 000 instructions; 400 loads of 1 900 lines wait for memory, 50 of these are uncoalesced and want 1 375 of the lines. */
static void counters_by_hand(void **unused)
{
    (void)unused;
    const struct corun_counters counters = {.warp_instructions = 10000,
                                            .tbs_completed = 20,
                                            .missing_loads = 400,
                                            .missing_load_lines = 1900,
                                            .uncoalesced_loads = 50,
                                            .uncoalesced_load_lines = 1375,
                                            .dram_read_bytes = 60000,
                                            .dram_write_bytes = 4000};
    struct model_kernel kernel;
    assert_int_equal(model_profile_counters(&config, &grid, &counters, 10000, &kernel), CORUN_OK);
    assert_near(kernel.memory_share, 0.04);
    assert_near(kernel.uncoalesced_share, 0.125);
    assert_near(kernel.coalesced_requests, 525.0 / 350);
    assert_near(kernel.uncoalesced_requests, 27.5);
    assert_near(kernel.tb_instructions, 500);
    assert_near(kernel.ipc, 0.5); /* of each of two SMs */
    assert_near(kernel.pipeline_utilization, 0.5);
    assert_near(kernel.memory_utilization, 64000 / 320000.0);
    assert_int_equal(kernel.tbs, 1000);
    assert_int_equal(kernel.needs.threads, 96); /* whole warps */
    assert_int_equal(kernel.needs.registers, 3 * 704);
    assert_int_equal(kernel.needs.shared_bytes, 1024);
}

static void what_is_not_known(void **unused)
{
    (void)unused;
    struct corun_counters counters = {.warp_instructions = 100};
    struct model_kernel kernel;
    assert_int_equal(model_profile_counters(&config, &grid, &counters, 0, &kernel), CORUN_OK);
    assert_near(kernel.memory_share, 0);
    assert_near(kernel.uncoalesced_share, 0);
    assert_near(kernel.coalesced_requests, 1);
    assert_true(isnan(kernel.tb_instructions) && isnan(kernel.ipc) && isnan(kernel.memory_utilization));
    counters.missing_loads = 101;
    assert_int_equal(model_profile_counters(&config, &grid, &counters, 0, &kernel), CORUN_ARGUMENT);
    counters = (struct corun_counters){.tbs_completed = 1};
    assert_int_equal(model_profile_counters(&config, &grid, &counters, 0, &kernel), CORUN_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_by_hand),
        cmocka_unit_test(what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
