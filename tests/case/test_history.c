/* SPDX-License-Identifier: MIT */
/*
 * The history of a case from handmade observations: what is there, means over intervals, too many intervals, two
 * observers.
 */
#include "case/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SMS = 4, APPLICATIONS = 2, MAX_SEEN = 64 };

struct bench {
    struct corun_gpu_config config;
    struct corun_gpu *gpu; /* never run: it has no instructions, and its end is cycle 0 */
    struct corun_policy policy;
    struct corun_case job;
    struct arena *arena;
    struct history *history;
    uint64_t samples_seen[MAX_SEEN];
    uint32_t sample_count, other_count;
};

static void count_observation(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct bench *bench = user;
    assert_ptr_equal(gpu, bench->gpu);
    if (seen->kind != CORUN_OBSERVED_SAMPLE) {
        bench->other_count++;
        return;
    }
    assert_true(bench->sample_count < MAX_SEEN);
    bench->samples_seen[bench->sample_count++] = seen->cycle;
}

static const struct corun_policy_variable variables[] = {{"share", "of the first"}, {"flag", "an example"}};

static void begin(struct bench *bench, uint64_t cycles, uint64_t user_sample_cycles)
{
    memset(bench, 0, sizeof *bench);
    corun_gpu_config_default(&bench->config);
    bench->config.sms = SMS;
    assert_int_equal(corun_gpu_create(&bench->config, NULL, &bench->gpu), CORUN_OK);
    for (uint32_t a = 0; a < APPLICATIONS; a++) {
        struct corun_application_description description = {.name = "x"};
        uint32_t index;
        assert_int_equal(corun_gpu_add(bench->gpu, &description, &index), CORUN_OK);
    }
    bench->policy = (struct corun_policy){.name = "p", .variables = variables, .variable_count = 2};
    bench->job = (struct corun_case){.gpu = &bench->config,
                                     .policy = &bench->policy,
                                     .application_count = APPLICATIONS,
                                     .cycles = cycles,
                                     .observe = count_observation,
                                     .observe_user = bench,
                                     .observe_sample_cycles = user_sample_cycles};
    bench->arena = arena_create();
    bench->history = history_create(&bench->job, bench->arena);
    assert_non_null(bench->history);
    history_observe(bench->history, bench->gpu);
}

static void end(struct bench *bench)
{
    corun_gpu_destroy(bench->gpu);
    arena_destroy(bench->arena);
}

static void see(struct bench *bench, enum corun_observed kind, uint64_t cycle, uint32_t sm, uint32_t application)
{
    struct corun_observation seen = {.kind = kind,
                                     .cycle = cycle,
                                     .sm = sm,
                                     .application = application,
                                     .stopped = kind == CORUN_OBSERVED_LAUNCH_END};
    history_see(bench->history, bench->gpu, &seen);
}

static struct corun_case_history collect(const struct bench *bench)
{
    struct corun_case_history result;
    assert_int_equal(history_collect(bench->history, bench->arena, &result), CORUN_OK);
    return result;
}

static const struct corun_case_history_share *share(const struct corun_case_history *history, uint32_t interval,
                                                    uint32_t application)
{
    return &history->shares[interval * APPLICATIONS + application];
}

/* 10000 cycles are a hundred intervals of 100. */
static void test_means(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 10000, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 0, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 0, 1, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 50, 1, 0); /* a second one on the same SM: half of the interval */
    see(&bench, CORUN_OBSERVED_TB_START, 75, 2, 1);
    see(&bench, CORUN_OBSERVED_SAMPLE, 100, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_END, 120, 1, 0);
    see(&bench, CORUN_OBSERVED_TB_PREEMPTED, 125, 2, 1); /* still there */
    see(&bench, CORUN_OBSERVED_TB_SAVED, 150, 2, 1);
    see(&bench, CORUN_OBSERVED_TB_RESTORING, 175, 3, 1);
    see(&bench, CORUN_OBSERVED_TB_RESUMED, 190, 3, 1);
    see(&bench, CORUN_OBSERVED_LAUNCH_END, 180, 0, 0); /* stopped: its last thread block goes with it */
    see(&bench, CORUN_OBSERVED_TB_END, 185, 1, 0);     /* nothing is there that could end */
    see(&bench, CORUN_OBSERVED_SAMPLE, 199, 0, 0);     /* not due */
    see(&bench, CORUN_OBSERVED_SAMPLE, 200, 0, 0);
    struct corun_case_history history = collect(&bench);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.end_cycles[0], 100);
    assert_int_equal(history.end_cycles[1], 200);
    assert_float_equal(share(&history, 0, 0)->tbs, 1.5, 1e-9);
    assert_float_equal(share(&history, 0, 0)->sms, 1, 1e-9);
    assert_float_equal(share(&history, 0, 1)->tbs, 0.25, 1e-9);
    assert_float_equal(share(&history, 1, 0)->tbs, 0.2 + 0.8, 1e-9); /* until 120 and until 180 */
    assert_float_equal(share(&history, 1, 0)->sms, 0.8, 1e-9);
    assert_float_equal(share(&history, 1, 1)->tbs, 0.5 + 0.25, 1e-9);
    assert_float_equal(share(&history, 1, 1)->sms, 0.75, 1e-9);
    end(&bench);
}

/* We are told of thread blocks ahead of their start; the bench's machine stands at cycle 0. */
static void test_those_to_come(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 10000, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 90, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 140, 1, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 150, 1, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 350, 2, 1);
    see(&bench, CORUN_OBSERVED_SAMPLE, 100, 0, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 200, 0, 0);
    see(&bench, CORUN_OBSERVED_LAUNCH_END, 250, 0, 1); /* stopped before its only one came */
    see(&bench, CORUN_OBSERVED_SAMPLE, 300, 0, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 400, 0, 0);
    struct corun_case_history history = collect(&bench);
    const double tbs[] = {0.1, 1 + 0.6 + 0.5, 3, 3}, sms[] = {0.1, 1.6, 2, 2};
    for (uint32_t i = 0; i < 4; i++) {
        assert_float_equal(share(&history, i, 0)->tbs, tbs[i], 1e-9);
        assert_float_equal(share(&history, i, 0)->sms, sms[i], 1e-9);
        assert_float_equal(share(&history, i, 1)->tbs, 0, 1e-9);
        assert_float_equal(share(&history, i, 1)->sms, 0, 1e-9);
    }
    end(&bench);
}

/* An SM is not in use from the end of its last thread block to the start of the next one, which we were told of before. */
static void test_empty_until_the_next_one_comes(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 10000, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 0, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 50, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 60, 0, 1); /* another application's, which stays */
    see(&bench, CORUN_OBSERVED_TB_END, 20, 0, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 100, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 180, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 350, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_END, 130, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_PREEMPTED, 350, 0, 0); /* before it came */
    see(&bench, CORUN_OBSERVED_TB_SAVED, 350, 0, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 200, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_END, 290, 0, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 300, 0, 0);
    see(&bench, CORUN_OBSERVED_SAMPLE, 400, 0, 0);
    struct corun_case_history history = collect(&bench);
    const double tbs[] = {0.2 + 0.5, 0.3 + 0.2, 0.9, 0}, other[] = {0.4, 1, 1, 1};
    for (uint32_t i = 0; i < 4; i++) {
        assert_float_equal(share(&history, i, 0)->tbs, tbs[i], 1e-9);
        assert_float_equal(share(&history, i, 0)->sms, tbs[i], 1e-9);
        assert_float_equal(share(&history, i, 1)->sms, other[i], 1e-9);
    }
    end(&bench);
}

static void test_power_and_variables(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 10000, 0);
    double values[2] = {0.25, 1};
    struct corun_allowances allowances = {.variables = values};
    struct corun_observation moment = {
        .kind = CORUN_OBSERVED_MOMENT, .event = CORUN_EVENT_EPOCH, .allowances = &allowances};
    struct corun_observation power = {.kind = CORUN_OBSERVED_POWER, .cycle = 60, .sm = 3, .powered = false};
    see(&bench, CORUN_OBSERVED_SAMPLE, 100, 0, 0); /* no policy was asked yet */
    history_see(bench.history, bench.gpu, &moment);
    see(&bench, CORUN_OBSERVED_SAMPLE, 200, 0, 0);
    power.cycle = 250;
    history_see(bench.history, bench.gpu, &power);
    values[0] = 0.75;
    history_see(bench.history, bench.gpu, &moment);
    see(&bench, CORUN_OBSERVED_SAMPLE, 300, 0, 0);
    power.cycle = 310;
    power.powered = true;
    history_see(bench.history, bench.gpu, &power);
    see(&bench, CORUN_OBSERVED_SAMPLE, 400, 0, 0);
    struct corun_case_history history = collect(&bench);
    assert_int_equal(history.count, 4);
    assert_int_equal(history.variable_count, 2);
    assert_string_equal(history.variables[0].name, "share");
    assert_true(history.values[0] != history.values[0]); /* not known */
    assert_float_equal(history.values[1 * 2], 0.25, 0);
    assert_float_equal(history.values[2 * 2], 0.75, 0);
    assert_float_equal(history.values[2 * 2 + 1], 1, 0);
    const double powered[] = {4, 4, 3.5, 3.9};
    for (uint32_t i = 0; i < 4; i++)
        assert_float_equal(history.powered_sms[i], powered[i], 1e-9);
    end(&bench);
}

/*
 * Without an end that is known, intervals double: of 1000 samples a thousand cycles apart, no more than a hundred are
 * kept.
 */
static void test_too_many(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 0, 0, 0);
    for (uint64_t cycle = 0; cycle <= 1000000; cycle += 1000) {
        if (cycle == 500000)
            see(&bench, CORUN_OBSERVED_TB_START, cycle, 0, 0);
        see(&bench, CORUN_OBSERVED_SAMPLE, cycle, 0, 0);
    }
    struct corun_case_history history = collect(&bench);
    assert_in_range(history.count, HISTORY_INTERVALS / 2, HISTORY_INTERVALS);
    double tb_cycles = 0;
    uint64_t before = 0;
    for (uint32_t i = 0; i < history.count; i++) {
        assert_true(history.end_cycles[i] > before);
        tb_cycles += share(&history, i, 0)->tbs * (double)(history.end_cycles[i] - before);
        before = history.end_cycles[i];
    }
    assert_float_equal(tb_cycles, (double)before + (double)(before - 500000), 1);
    assert_true(1000000 - before < 16000);
    end(&bench);
}

/* The case's own observer gets the samples that it would have got without us, and everything else. */
static void test_passes_on(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 10000, 30);
    for (uint64_t cycle = 0; cycle <= 200; cycle += 10)
        see(&bench, CORUN_OBSERVED_SAMPLE, cycle, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_START, 5, 0, 0);
    see(&bench, CORUN_OBSERVED_TB_RESUMED, 5, 0, 0);
    see(&bench, CORUN_OBSERVED_MOMENT, 5, 0, 0);
    assert_int_equal(bench.other_count, 3);
    assert_int_equal(bench.sample_count, 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(bench.samples_seen[i], 30 * i);
    history_end(bench.history); /* the machine stands at 0 */
    assert_int_equal(bench.sample_count, 8);
    assert_int_equal(bench.samples_seen[7], 0);
    assert_int_equal(collect(&bench).count, 2);
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_those_to_come),
        cmocka_unit_test(test_empty_until_the_next_one_comes),
        cmocka_unit_test(test_power_and_variables),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_passes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
