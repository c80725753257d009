/* SPDX-License-Identifier: MIT */
/* Slices of real kernels on the simulated GPU: results as whole; events at measured speeds beside full simulations; arrivals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/arrivals.h"
#include "serve/scheduler.h"
#include "serve/serve.h"
#include "serve/simulated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char data[4096];

static int find_data(void **unused)
{
    (void)unused;
    return corun_data_directory(data, sizeof data, NULL);
}

static void load_gpu(const char *text, struct corun_gpu_config *gpu)
{
    assert_int_equal(corun_gpu_config_load(text, data, NULL, gpu), CORUN_OK);
}

/* Every slice in the order of a permutation, five in flight; the results are those of the CPU reference. */
static void serve_in_slices(const char *text, uint32_t slice_tbs)
{
    struct corun_gpu_config gpu;
    struct arena *arena = arena_create();
    struct served_kernel kernel;
    struct corun_instance *instance;
    const struct corun_grid *grid;
    struct simulated *machine;
    load_gpu("gtx980:sms=3", &gpu);
    assert_int_equal(served_kernel_load(text, data, 0, 1, arena, NULL, &kernel), CORUN_OK);
    assert_int_equal(served_kernel_open(&kernel, 0, 1, NULL, &instance, &grid), CORUN_OK);
    assert_int_equal(simulated_create(&gpu, &grid, NULL, &machine), CORUN_OK);
    struct queue_machine operations = simulated_operations(machine);
    uint32_t slices = (grid->tb_count + slice_tbs - 1) / slice_tbs, in_flight = 0, step = 1;
    for (step = slices / 2 + 1; step > 1 && slices % step == 0; step--)
        ;
    while (step > 1) { /* coprime to the number of slices */
        uint32_t a = slices, b = step;
        while (b) {
            uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
        step--;
    }
    uint64_t now = 0;
    for (uint32_t i = 0; i < slices || in_flight;) {
        struct queue_slice ended;
        bool any;
        if (i < slices && in_flight < 5) {
            uint32_t first = (uint32_t)((uint64_t)i++ * step % slices) * slice_tbs, left = grid->tb_count - first;
            const struct queue_slice slice = {
                .first = first, .tbs = left < slice_tbs ? left : slice_tbs, .strand = i % 3};
            assert_int_equal(operations.launch(operations.user, now, &slice), CORUN_OK);
            in_flight++;
            continue;
        }
        assert_int_equal(operations.wait(operations.user, UINT64_MAX, &now, &ended, &any), CORUN_OK);
        assert_true(any);
        in_flight--;
    }
    struct corun_verification verification;
    assert_int_equal(corun_instance_verify(instance, NULL, &verification), CORUN_OK);
    simulated_destroy(machine);
    corun_instance_destroy(instance);
    served_kernel_end(&kernel);
    arena_destroy(arena);
}

static void test_slices(void **unused)
{
    (void)unused;
    static const char *const names[] = {"bs@small", "tea@small", "pc@small", "mm@small"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        serve_in_slices(names[i], 1);
        serve_in_slices(names[i], 7);
        serve_in_slices(names[i], 30);
    }
}

enum { MOST_SCHEDULERS = 3 };

/* Kernels are measured once for all schedulers. */
static struct serve_result *serve_with_each(const char *gpu_text, const char *const *kernels, uint32_t count,
                                            const char *const *scheduler_texts, uint32_t scheduler_count,
                                            struct serve_request request)
{
    struct corun_gpu_config gpu;
    struct arena *arena = arena_create();
    struct serve_scheduler schedulers[MOST_SCHEDULERS];
    struct serve_result *result;
    load_gpu(gpu_text, &gpu);
    for (uint32_t i = 0; i < scheduler_count; i++)
        assert_int_equal(specify_scheduler(scheduler_texts[i], arena, NULL, &schedulers[i]), CORUN_OK);
    request.gpu = &gpu;
    request.kernels = kernels;
    request.kernel_count = count;
    request.schedulers = schedulers;
    request.scheduler_count = scheduler_count;
    request.data_directory = data;
    request.slicing_cost = 0.02;
    request.seed = 1;
    assert_int_equal(serve(&request, NULL, &result), CORUN_OK);
    arena_destroy(arena);
    return result;
}

static struct serve_result *serve_with(const char *gpu_text, const char *const *kernels, uint32_t count,
                                       const char *scheduler_text, struct serve_request request)
{
    return serve_with_each(gpu_text, kernels, count, &scheduler_text, 1, request);
}

/*
 * Makespans of the events are those of the full simulation, nearly, although these kernels are short: each finds the L2 as the one before has
 * left it, and beginnings and ends are a large part of it.
 */
static void test_events_and_cycles(void **unused)
{
    (void)unused;
    static const char *const kernels[] = {"tea@small,bytes=100K", "pc@small,threads=7500", "bs@small,blocks=75"};
    static const char *const schedulers[MOST_SCHEDULERS] = {"sequential", "base", "kernelet"};
    static const double most[MOST_SCHEDULERS] = {0.1, 0.1, 0.15};
    struct serve_request request = {.load = {.instances = 3}};
    struct serve_result *events = serve_with_each("gtx980:sms=2", kernels, 3, schedulers, MOST_SCHEDULERS, request);
    request.full = true;
    struct serve_result *full = serve_with_each("gtx980:sms=2", kernels, 3, schedulers, MOST_SCHEDULERS, request);
    for (int i = 0; i < MOST_SCHEDULERS; i++) {
        double by_events = (double)events->runs[i].result->makespan_ticks,
               in_full = (double)full->runs[i].result->makespan_ticks;
        print_message("%s: %.0f cycles by events, %.0f in full\n", schedulers[i], by_events, in_full);
        assert_true(fabs(by_events / in_full - 1) < most[i]);
        for (int k = 0; k < 3; k++)
            assert_int_equal(full->runs[i].result->kinds[k].launches, 3);
    }
    serve_result_destroy(events);
    serve_result_destroy(full);
}

/* All ratios are measured, and what computes beside what waits saves time. */
static void test_pairs(void **unused)
{
    (void)unused;
    static const char *const kernels[] = {"tea@small,bytes=100K", "pc@small,hops=31"};
    struct serve_request request = {.load = {.instances = 2}, .pairs = true};
    struct serve_result *result = serve_with("gtx980:sms=2", kernels, 2, "opt", request);
    uint32_t balanced = 0;
    double best = -1;
    assert_true(result->pair_count > 1);
    for (uint32_t i = 0; i < result->pair_count; i++) {
        balanced += result->pairs[i].balanced;
        best = fmax(best, result->pairs[i].measured_profit);
    }
    assert_int_equal(balanced, 1);
    assert_true(best > 0.05 && best < 0.5);
    assert_true(result->runs[0].result->kinds[0].beside[1] > 0);
    serve_result_destroy(result);
}

/* Launches that are smaller than what may be in flight: two of them at a time, not one after the other without end. */
static void test_small_launches(void **unused)
{
    (void)unused;
    static const char *const kernels[] = {"tea@small", "pc@small"};
    struct serve_request request = {.load = {.instances = 3}};
    struct serve_result *result = serve_with("gtx980:sms=4", kernels, 2, "kernelet", request);
    assert_true(result->runs[0].result->kinds[0].beside[1] > 0);
    assert_true(result->runs[0].result->makespan_ticks > 0);
    serve_result_destroy(result);
}

/* Copies: inputs and outputs of every launch cross the bus. */
static void test_transfers(void **unused)
{
    (void)unused;
    static const char *const kernels[] = {"tea@small"};
    struct serve_request request = {.load = {.instances = 3}, .transfers = true, .overlap = true};
    struct serve_result *overlap = serve_with("gtx980:sms=2", kernels, 1, "sequential", request);
    request.overlap = false;
    struct serve_result *apart = serve_with("gtx980:sms=2", kernels, 1, "sequential", request);
    const struct queue_run_result *run = overlap->runs[0].result;
    assert_true(run->bytes_in >= 3 * 100001 && run->bytes_out >= 3 * 100001);
    assert_true(run->overlapped_copy_ticks > 0 && run->overlapped_copy_ticks < run->copy_ticks);
    assert_int_equal(apart->runs[0].result->overlapped_copy_ticks, 0);
    assert_true(run->makespan_ticks < apart->runs[0].result->makespan_ticks);
    serve_result_destroy(overlap);
    serve_result_destroy(apart);
}

static void test_arrivals(void **unused)
{
    (void)unused;
    enum { INSTANCES = 2000 };
    struct queue_submission *list = arrivals_make(2, INSTANCES, 1e-3, 7), *again = arrivals_make(2, INSTANCES, 1e-3, 7);
    uint64_t last = 0;
    uint32_t counts[2] = {0};
    for (uint32_t i = 0; i < 2 * INSTANCES; i++) {
        assert_true(list[i].tick >= last);
        assert_int_equal(list[i].tick, again[i].tick);
        last = list[i].tick;
        counts[list[i].kind]++;
    }
    assert_int_equal(counts[0], INSTANCES);
    /* the sum of 2000 times of mean 1000: 2 000 000, its standard deviation 45 000 */
    assert_in_range(last, 1800000, 2200000);
    free(list);
    free(again);
    list = arrivals_make(2, 3, 0, 7);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(list[i].tick, 0);
        assert_int_equal(list[i].kind, i % 2);
    }
    free(list);
}

/* Three kernels in turns are three different sequences of any length; by chance, two kernels are all 2^n of them. */
static void test_sequences_of_arrivals(void **unused)
{
    (void)unused;
    struct queue_submission *turns = arrivals_make(3, 100, 0, 7), *chance = arrivals_make(2, 1000, 1e-3, 7);
    assert_int_equal(arrivals_before(turns, 300, 15, 3), 15);
    assert_int_equal(arrivals_before(turns, 300, 15, 2), 1); /* not fewer than one */
    assert_int_equal(arrivals_before(chance, 2000, 15, 64), 5);
    assert_int_equal(arrivals_before(chance, 2000, 3, 64), 3);
    assert_int_equal(arrivals_before(chance, 2000, 15, 7), 1);
    assert_int_equal(arrivals_before(chance, 2000, 15, 8), 2);
    free(turns);
    free(chance);
}

/* Where a thread block lives longer than the 400 000 cycles for which steady states are looked at otherwise, it is two of its lives. */
static void test_long_lives(void **unused)
{
    (void)unused;
    struct corun_gpu_config gpu;
    struct arena *arena = arena_create();
    struct served_kernel kernel;
    struct steady *steady;
    struct steady_alone alone;
    struct corun_queue_speeds speeds;
    load_gpu("gtx980:sms=1", &gpu);
    assert_int_equal(served_kernel_load("pc@small,hops=400", data, 0, 1, arena, NULL, &kernel), CORUN_OK);
    const struct steady_request request = {.gpu = &gpu, .kernels = &kernel, .kernel_count = 1, .seed = 1, .jobs = 1};
    assert_int_equal(steady_create(&request, NULL, &steady), CORUN_OK);
    assert_int_equal(steady_alone(steady, 0, &alone), CORUN_OK);
    uint64_t life = alone.counters.tb_cycles / alone.counters.tbs_completed;
    print_message("a thread block lives %llu cycles\n", (unsigned long long)life);
    assert_true(life > 250000);
    const struct corun_queue_co_schedule pair = {
        .kinds = {0, CORUN_QUEUE_NONE}, .slice_tbs = {1}, .in_flight_tbs = {kernel.tbs / 2}};
    assert_int_equal(steady_speeds(steady, &pair, &speeds), CORUN_OK);
    assert_true(speeds.ticks / 1024 >= 2 * life);
    steady_destroy(steady);
    served_kernel_end(&kernel);
    arena_destroy(arena);
}

static void test_wrong_schedulers(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *says;
        enum corun_status status;
    } rows[] = {
        {"kernlet", "did you mean `kernelet`", CORUN_NOT_FOUND},
        {"kernelet:pur=2", "pur is a number from 0 to 1", CORUN_ARGUMENT},
        {"base:strands=2", "no parameter `strands`", CORUN_ARGUMENT},
        {"./not-there.so", "not-there.so", CORUN_NOT_FOUND},
    };
    struct arena *arena = arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct serve_scheduler scheduler;
        assert_int_equal(specify_scheduler(rows[i].text, arena, list, &scheduler), rows[i].status);
        assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, rows[i].says));
        corun_diagnostics_destroy(list);
    }
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_events_and_cycles),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_small_launches),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_sequences_of_arrivals),
        cmocka_unit_test(test_long_lives),
        cmocka_unit_test(test_wrong_schedulers),
    };
    return cmocka_run_group_tests(tests, find_data, NULL);
}
