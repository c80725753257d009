/* SPDX-License-Identifier: MIT */
/* What surrounds the chain: GPUs, what fits on an SM, lines through latencies, virtual SMs, profit and balance. By hand. */
#include "model/co_schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static struct corun_gpu_config config_of(void)
{
    /* what the model looks at; the model layer knows nothing of defaults */
    struct corun_gpu_config config = {.registers_per_thread = 255, .threads_per_tb = 1024};
    config.sms = 10;
    config.schedulers_per_sm = 2;
    config.issue_width = 1;
    config.warp_issue_cycles = 2;
    config.core_clock_khz = 1000000;
    config.threads_per_sm = 1536;
    config.tbs_per_sm = 8;
    config.registers_per_sm = 32768;
    config.shared_bytes_per_sm = config.shared_bytes_per_tb = 48 << 10;
    config.barriers_per_sm = 128;
    config.register_unit = 64;
    config.shared_unit_bytes = 128;
    return config;
}

static struct model_gpu gpu_of(double slope, double intercept)
{
    struct corun_gpu_config config = config_of();
    struct model_gpu gpu;
    model_gpu_describe(&config, &gpu);
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
        gpu.latency[kind] = (struct model_line){slope, intercept};
    return gpu;
}

static struct model_kernel kernel_of(uint32_t threads, uint32_t registers, uint32_t shared, double memory)
{
    struct corun_gpu_config config = config_of();
    return (struct model_kernel){.memory_share = memory,
                                 .coalesced_requests = 1,
                                 .uncoalesced_requests = 32,
                                 .tb_instructions = 1000,
                                 .tbs = 1000,
                                 .tb_warps = threads / 32,
                                 .needs = model_kernel_needs(&config, threads, registers, shared, 1)};
}

/* Two schedulers that are taken for two cycles by a warp instruction: a warp instruction per cycle, as on the C2050. */
static void peak_of_a_gpu(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(0, 400);
    assert_near(model_gpu_peak(&gpu), 1, 0);
    struct corun_gpu_config config = config_of();
    config.schedulers_per_sm = 4;
    config.issue_width = 2;
    config.warp_issue_cycles = 1;
    model_gpu_describe(&config, &gpu);
    assert_near(model_gpu_peak(&gpu), 8, 0);
}

static void what_fits_on_an_sm(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(0, 400);
    struct model_kernel wide =
        kernel_of(256, 20, 0, 0.1); /* 8 warps of 640 registers: six by registers and by threads */
    assert_int_equal(wide.needs.registers, 5120);
    assert_int_equal(model_kernel_residents(&gpu, &wide), 6);
    struct model_kernel small = kernel_of(64, 8, 100, 0.1); /* places for thread blocks end first */
    assert_int_equal(small.needs.shared_bytes, 128);
    assert_int_equal(model_kernel_residents(&gpu, &small), 8);
    assert_int_equal(model_kernel_residents_beside(&gpu, &small, &wide, 5), 3);
    assert_int_equal(model_kernel_residents_beside(&gpu, &small, &wide, 6), 0); /* no thread is left */
    assert_int_equal(model_kernel_residents_beside(&gpu, &small, &wide, 7), 0);
    struct model_kernel huge = kernel_of(32, 8, 49 << 10, 0.1);
    assert_int_equal(model_kernel_residents(&gpu, &huge), 0);
}

/*
 * `wide` takes 256 threads and `small` 64, on an SM of 1536 threads and 8 places. Beside 1, 2, … of wide: 7, 6, 5, 4, 3 of small, by places;
 * beside 6 none.
 */
static void candidates_by_hand(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(0, 400);
    struct model_kernel wide = kernel_of(256, 8, 0, 0.1), small = kernel_of(64, 8, 0, 0.1);
    uint32_t residents[MODEL_MAX_CO_SCHEDULES][2];
    const struct model_kernel *const kernels[2] = {&wide, &small}, *const turned[2] = {&small, &wide};
    assert_int_equal(model_candidates(&gpu, kernels, residents), 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(residents[i][0], 1 + i);
        assert_int_equal(residents[i][1], 7 - i);
    }
    /* beside 1 or 2 of small, five of wide: the one with 1 is no candidate, nor is that with 2 */
    assert_int_equal(model_candidates(&gpu, turned, residents), 5);
    assert_int_equal(residents[0][0], 3);
    assert_int_equal(residents[0][1], 5);
    struct model_kernel all = kernel_of(32, 8, 48 << 10, 0.1);
    const struct model_kernel *const apart[2] = {&all, &all};
    assert_int_equal(model_candidates(&gpu, apart, residents), 0);
}

static void a_line_through_points(void **unused)
{
    (void)unused;
    struct model_latency_point points[] = {{1, 402}, {2, 404}, {10, 420}, {50, 500}};
    struct model_line line;
    double residual;
    assert_int_equal(model_line_fit(points, 4, &line, &residual), CORUN_OK);
    assert_near(line.slope, 2, 1e-9);
    assert_near(line.intercept, 400, 1e-7);
    assert_near(residual, 0, 1e-12);
    /* (1, 1) and (2, 4): through both it would begin below 0. From (0, 1): weights 1 and 1/16, slope (1 · 0 + 2 · 3 / 16) / (1 + 4 / 16) */
    struct model_latency_point steep[] = {{1, 1}, {2, 4}};
    assert_int_equal(model_line_fit(steep, 2, &line, NULL), CORUN_OK);
    assert_near(line.intercept, 1, 0);
    assert_near(line.slope, 0.3, 1e-12);
    assert_int_equal(model_line_fit(points, 1, &line, NULL), CORUN_ARGUMENT);
    points[1].requests = points[2].requests = points[3].requests = 1;
    assert_int_equal(model_line_fit(points, 4, &line, NULL), CORUN_ARGUMENT);
    points[2].cycles = NAN;
    assert_int_equal(model_line_fit(points, 4, &line, NULL), CORUN_ARGUMENT);
}

/*
 * An SM of two virtual ones with a warp each: R_m = 1/2, L = 8 cycles, so 4 slots of 2 cycles. A warp waits 4 slots after 2 instructions: 2
 * of 6 slots, 1/6 per cycle, on each of the two.
 */
static void virtual_sms_by_hand(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(0, 8);
    struct model_kernel kernel = kernel_of(64, 8, 0, 0.5);
    struct model_prediction prediction;
    assert_int_equal(model_predict(&gpu, &kernel, 1, MODEL_EXACT, &prediction), CORUN_OK);
    assert_near(prediction.ipc[0], 2 / 6.0, 1e-7);
    assert_near(prediction.total, 2 / 6.0, 1e-7);
    assert_near(prediction.stalled, 4 / 6.0, 1e-7);
    /* three warps: one scheduler has two, the other one; two warps on one issue 0.6 (tests/model/test_chain.c) of its slots */
    kernel = kernel_of(96, 8, 0, 0.5);
    assert_int_equal(model_predict(&gpu, &kernel, 1, MODEL_EXACT, &prediction), CORUN_OK);
    assert_near(prediction.ipc[0], 0.6 / 2 + 1 / 6.0, 1e-7);
    /* one and one: the second kernel's warp goes to the other scheduler, and neither notices */
    struct model_kernel half = kernel_of(32, 8, 0, 0.5);
    const struct model_kernel *const kernels[2] = {&half, &half};
    const uint32_t one_each[2] = {1, 1}, none[2] = {0, 0}, second[2] = {0, 1};
    assert_int_equal(model_predict_pair(&gpu, kernels, one_each, MODEL_EXACT, &prediction), CORUN_OK);
    assert_near(prediction.ipc[0], 1 / 6.0, 1e-7);
    assert_near(prediction.ipc[1], 1 / 6.0, 1e-7);
    assert_int_equal(model_predict_pair(&gpu, kernels, second, MODEL_EXACT, &prediction), CORUN_OK);
    assert_near(prediction.ipc[0], 0, 0);
    assert_near(prediction.ipc[1], 1 / 6.0, 1e-7);
    assert_int_equal(model_predict_pair(&gpu, kernels, none, MODEL_EXACT, &prediction), CORUN_ARGUMENT);
    struct model_gpu unmeasured = gpu_of(0, 0);
    assert_int_equal(model_predict(&unmeasured, &kernel, 1, MODEL_LUMPED, &prediction), CORUN_ARGUMENT);
    assert_int_equal(model_predict(&gpu, &kernel, 100, MODEL_LUMPED, &prediction), CORUN_ARGUMENT);
}

/* Decisions are content with less: near enough to tell candidates apart. */
static void decisions_are_near(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(6, 500);
    for (uint32_t i = 0; i < 40; i++) {
        struct model_kernel a = kernel_of(128, 8, 0, 0.002 + 0.01 * i), b = kernel_of(192, 8, 0, 0.4 / (i + 1));
        const struct model_kernel *const kernels[2] = {&a, &b};
        const uint32_t tbs[2] = {1 + i % 4, 4 - i % 4};
        struct model_prediction exact, decision;
        assert_int_equal(model_predict_pair(&gpu, kernels, tbs, MODEL_EXACT, &exact), CORUN_OK);
        assert_int_equal(model_predict_pair(&gpu, kernels, tbs, MODEL_LUMPED, &decision), CORUN_OK);
        for (uint32_t k = 0; k < 2; k++)
            assert_near(decision.ipc[k], exact.ipc[k], 1e-4 * exact.ipc[k]);
    }
}

/* Each alone: 100 s and 50 s of work at IPC 0.5 and 0.4; together at 0.4 and 0.3: 1 − 1 / (0.8 + 0.75). */
static void profit_by_hand(void **unused)
{
    (void)unused;
    const double together[2] = {0.4, 0.3}, alone[2] = {0.5, 0.4}, halves[2] = {0.25, 0.2}, nothing[2] = {0, 0.4};
    assert_near(model_profit(together, alone), 1 - 1 / 1.55, 1e-15);
    assert_near(model_profit(halves, alone), 0, 1e-15); /* taking turns */
    assert_true(isnan(model_profit(together, nothing)));
}

/* 3 thread blocks of 1000 at IPC 0.5 are 6000 cycles, 5 at IPC 0.25 20 000; at 1 GHz the difference is 14 us. */
static void balance_by_hand(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(0, 400);
    struct model_kernel a = kernel_of(64, 8, 0, 0.1), b = a;
    const struct model_kernel *const kernels[2] = {&a, &b};
    const uint32_t slices[2] = {3, 5};
    const double ipc[2] = {0.5, 0.25}, stuck[2] = {0.5, 0};
    double seconds[2];
    assert_near(model_imbalance(&gpu, kernels, slices, ipc, seconds), 14e-6, 1e-15);
    assert_near(seconds[0], 6e-6, 1e-15);
    assert_true(isinf(model_imbalance(&gpu, kernels, slices, stuck, seconds)));
}

/* A kernel beside itself gains nothing in any division, and is in balance in the middle. */
static void co_schedules_of_one_kernel(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(3, 400);
    struct model_kernel kernel = kernel_of(128, 8, 0, 0.1);
    const struct model_kernel *const kernels[2] = {&kernel, &kernel};
    struct model_prediction full;
    assert_int_equal(model_predict(&gpu, &kernel, 8, MODEL_LUMPED, &full), CORUN_OK);
    const double alone[2] = {full.total, full.total};
    struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
    uint32_t count;
    assert_int_equal(model_co_schedules(&gpu, kernels, alone, list, &count), CORUN_OK);
    assert_int_equal(count, 7);
    for (uint32_t i = 0; i < count; i++) {
        assert_near(list[i].profit, 0, 2e-3);
        assert_near(list[i].imbalance, 0, 5e-3);
    }
    assert_null(model_balanced(list, 0));
    assert_null(model_most_profitable(list, 0));
}

/* One that computes beside one that waits: both sides of the SM are used, which is what the whole is for. */
static void complements_gain(void **unused)
{
    (void)unused;
    struct model_gpu gpu = gpu_of(10, 500);
    struct model_kernel computes = kernel_of(128, 8, 0, 0.005), waits = kernel_of(128, 8, 0, 0.3);
    const struct model_kernel *const kernels[2] = {&computes, &waits};
    struct model_prediction prediction;
    double alone[2];
    for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(model_predict(&gpu, kernels[k], 8, MODEL_LUMPED, &prediction), CORUN_OK);
        alone[k] = prediction.total;
    }
    struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
    uint32_t count;
    assert_int_equal(model_co_schedules(&gpu, kernels, alone, list, &count), CORUN_OK);
    const struct model_co_schedule *best = model_most_profitable(list, count), *balanced = model_balanced(list, count);
    assert_true(best->profit > 0.05);
    assert_true(best->profit >= balanced->profit);
    for (uint32_t i = 0; i < count; i++)
        assert_true(fabs(balanced->seconds[0] - balanced->seconds[1]) <= fabs(list[i].seconds[0] - list[i].seconds[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_of_a_gpu),
        cmocka_unit_test(what_fits_on_an_sm),
        cmocka_unit_test(candidates_by_hand),
        cmocka_unit_test(a_line_through_points),
        cmocka_unit_test(virtual_sms_by_hand),
        cmocka_unit_test(decisions_are_near),
        cmocka_unit_test(profit_by_hand),
        cmocka_unit_test(balance_by_hand),
        cmocka_unit_test(co_schedules_of_one_kernel),
        cmocka_unit_test(complements_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
