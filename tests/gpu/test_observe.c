/* SPDX-License-Identifier: MIT */
/*
 * Observation: what is told is what the counters say afterwards, the same with any number of threads, and changes
 * nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scripted.h"

#define GLOBAL_BASE (UINT64_C(1) << CORUN_APPLICATION_SHIFT)
#define MOST_SEEN 8192u
#define SAMPLE_CYCLES 500u

struct log {
    struct corun_observation seen[MOST_SEEN];
    uint32_t count;
    uint32_t limits[MOST_SEEN]; /* MOMENT: sum of the limits that are not unlimited */
};

static void note(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct log *log = user;
    assert_true(log->count < MOST_SEEN);
    if (seen->kind != CORUN_OBSERVED_TB_START && seen->kind != CORUN_OBSERVED_LAUNCH_START)
        assert_true(seen->cycle <= corun_gpu_cycles(gpu));
    if (seen->kind == CORUN_OBSERVED_SAMPLE)
        assert_int_equal(seen->cycle, corun_gpu_cycles(gpu));
    log->limits[log->count] = 0;
    for (uint32_t i = 0; seen->allowances && i < 6; i++) /* 3 SMs, 2 applications */
        log->limits[log->count] += seen->allowances->tb_limit[i] == CORUN_UNLIMITED ? 0 : seen->allowances->tb_limit[i];
    log->seen[log->count++] = *seen;
}

static uint32_t count_of(const struct log *log, enum corun_observed kind, uint32_t application)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < log->count; i++)
        count += log->seen[i].kind == kind && log->seen[i].application == application;
    return count;
}

static struct corun_gpu_config config_of(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 3;
    return config;
}

static struct script *work(uint32_t tbs, uint32_t application)
{
    struct script *script = script_new(tbs, 4);
    uint32_t at = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 1, 40, GLOBAL_BASE * (application + 1), 36);
    script->warp_stride[at] = 5 << 12;
    script->turn_stride[at] = 1 << 12;
    script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 2, 1, 1);
    script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 40, GLOBAL_BASE * (application + 1) + (1 << 24), 8);
    script_end(script, 0, 9);
    return script;
}

struct outcome {
    uint64_t cycles;
    struct corun_kernel_result kernels[2];
    enum corun_status statuses[2];
};

/* Two applications, the second one arrives later. */
static void run(const struct corun_policy *policy, const struct corun_limits *limits, struct script *const *scripts,
                struct log *log, struct outcome *outcome)
{
    struct corun_gpu_config config = config_of();
    struct corun_gpu *gpu;
    uint32_t index;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    for (uint32_t a = 0; a < 2; a++) {
        struct corun_application_description description = {
            .name = "script", .grid = script_next, .user = scripts[a], .start_cycle = a * UINT64_C(700)};
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    if (policy)
        assert_int_equal(corun_gpu_set_policy(gpu, policy, NULL, NULL), CORUN_OK);
    if (log)
        corun_gpu_observe(gpu, SAMPLE_CYCLES, note, log);
    assert_int_equal(corun_gpu_run(gpu, limits, NULL), CORUN_OK);
    memset(outcome, 0, sizeof *outcome);
    outcome->cycles = corun_gpu_cycles(gpu);
    for (uint32_t a = 0; a < 2; a++) {
        struct corun_application_result result;
        corun_gpu_application(gpu, a, &result);
        outcome->statuses[a] = result.status;
        if (result.kernel_count)
            corun_gpu_kernel(gpu, a, 0, &outcome->kernels[a]);
    }
    corun_gpu_destroy(gpu);
}

static const struct corun_observation *find(const struct log *log, enum corun_observed kind, uint64_t launch,
                                            uint32_t tb)
{
    for (uint32_t i = 0; i < log->count; i++)
        if (log->seen[i].kind == kind && log->seen[i].launch == launch && log->seen[i].tb == tb)
            return &log->seen[i];
    return NULL;
}

static void every_thread_block_of_every_launch_is_told_once(void **state)
{
    (void)state;
    struct script *scripts[2] = {work(40, 0), work(25, 1)};
    struct corun_limits limits = {.runs = 2};
    struct log *log = calloc(1, sizeof *log);
    struct outcome outcome;
    run(NULL, &limits, scripts, log, &outcome);
    for (uint32_t a = 0; a < 2; a++) {
        assert_int_equal(count_of(log, CORUN_OBSERVED_LAUNCH_START, a), 2);
        assert_int_equal(count_of(log, CORUN_OBSERVED_LAUNCH_END, a), 2);
        assert_int_equal(count_of(log, CORUN_OBSERVED_TB_START, a), 2 * (a ? 25 : 40));
        assert_int_equal(count_of(log, CORUN_OBSERVED_TB_END, a), 2 * (a ? 25 : 40));
    }
    uint64_t tb_cycles[2] = {0}, launch_cycles[2] = {0};
    for (uint32_t i = 0; i < log->count; i++) {
        const struct corun_observation *end = &log->seen[i];
        if (end->kind == CORUN_OBSERVED_LAUNCH_END) {
            uint64_t first = UINT64_MAX;
            for (uint32_t j = 0; j < i; j++)
                if (log->seen[j].kind == CORUN_OBSERVED_TB_START && log->seen[j].launch == end->launch)
                    first = log->seen[j].cycle < first ? log->seen[j].cycle : first;
            launch_cycles[end->application] += end->cycle - first;
        }
        if (end->kind != CORUN_OBSERVED_TB_END)
            continue;
        const struct corun_observation *start = find(log, CORUN_OBSERVED_TB_START, end->launch, end->tb);
        assert_true(start && start < end && start->cycle < end->cycle);
        assert_int_equal(start->sm, end->sm);
        assert_true(start->grid == &scripts[end->application]->grid && end->grid == start->grid);
        assert_true(start->cycle >= find(log, CORUN_OBSERVED_LAUNCH_START, end->launch, 0)->cycle);
        assert_true(end->cycle <= find(log, CORUN_OBSERVED_LAUNCH_END, end->launch, 0)->cycle);
        tb_cycles[end->application] += end->cycle - start->cycle;
    }
    for (uint32_t a = 0; a < 2; a++) { /* to the cycle what the machine itself counted */
        assert_int_equal(tb_cycles[a], outcome.kernels[a].counters.tb_cycles);
        assert_int_equal(launch_cycles[a], outcome.kernels[a].cycles);
    }
    free(log);
    free(scripts[0]);
    free(scripts[1]);
}

static void it_changes_nothing_and_threads_change_it_not(void **state)
{
    (void)state;
    struct script *scripts[2] = {work(40, 0), work(25, 1)};
    struct log *first = calloc(1, sizeof *first), *log = calloc(1, sizeof *log);
    struct outcome alone, outcome;
    struct corun_limits limits = {.cycles = 40000};
    run(NULL, &limits, scripts, NULL, &alone);
    run(NULL, &limits, scripts, first, &outcome);
    assert_memory_equal(&alone, &outcome, sizeof alone);
    assert_true(first->count > 100);
    for (limits.threads = 2; limits.threads <= 3; limits.threads++) {
        log->count = 0;
        run(NULL, &limits, scripts, log, &outcome);
        assert_memory_equal(&alone, &outcome, sizeof alone);
        assert_int_equal(log->count, first->count);
        for (uint32_t i = 0; i < log->count; i++) {
            struct corun_observation *a = &first->seen[i], *b = &log->seen[i];
            assert_true(a->kind == b->kind && a->cycle == b->cycle && a->sm == b->sm && a->tb == b->tb);
            assert_true(a->application == b->application && a->launch == b->launch && a->event == b->event);
        }
    }
    free(first);
    free(log);
    free(scripts[0]);
    free(scripts[1]);
}

static void samples_come_after_each_interval_and_at_the_end(void **state)
{
    (void)state;
    struct script *scripts[2] = {work(40, 0), work(25, 1)};
    struct log *log = calloc(1, sizeof *log);
    struct corun_limits limits = {.cycles = 10250};
    struct outcome outcome;
    run(NULL, &limits, scripts, log, &outcome);
    uint64_t last = 0;
    uint32_t samples = 0;
    for (uint32_t i = 0; i < log->count; i++) {
        if (log->seen[i].kind != CORUN_OBSERVED_SAMPLE)
            continue;
        uint64_t cycle = log->seen[i].cycle;
        if (!samples)
            assert_int_equal(cycle, 0);
        else if (cycle != 10250)
            assert_true(cycle / SAMPLE_CYCLES == last / SAMPLE_CYCLES + 1 && cycle % SAMPLE_CYCLES < 100);
        last = cycle;
        samples++;
    }
    assert_int_equal(last, 10250);
    assert_int_equal(samples, 1 + 10250 / SAMPLE_CYCLES + 1);
    free(log);
    free(scripts[0]);
    free(scripts[1]);
}

/* Every epoch takes one more thread block of the first application off each SM. */
static enum corun_status squeeze_start(void *memory, const struct corun_view *view, const double *parameters,
                                       struct corun_allowances *allowances)
{
    (void)memory;
    (void)parameters;
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->tb_limit[s * view->application_count] = 8;
    return CORUN_OK;
}

static void squeeze_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                           struct corun_allowances *allowances)
{
    (void)memory;
    for (uint32_t s = 0; moment.event == CORUN_EVENT_EPOCH && s < view->sm_count; s++)
        if (allowances->tb_limit[s * view->application_count] > 1)
            allowances->tb_limit[s * view->application_count]--;
}

static void moments_come_with_what_the_policy_allows(void **state)
{
    (void)state;
    static const struct corun_policy policy = {.version = CORUN_POLICY_VERSION,
                                               .name = "squeeze",
                                               .needs = 1u << CORUN_CAN_TB_LIMIT,
                                               .start = squeeze_start,
                                               .decide = squeeze_decide};
    struct script *scripts[2] = {work(400, 0), work(25, 1)};
    struct log *log = calloc(1, sizeof *log);
    struct corun_limits limits = {.cycles = 45000};
    struct outcome outcome;
    run(&policy, &limits, scripts, log, &outcome);
    uint32_t arrivals = 0, epochs = 0, drained = 0;
    for (uint32_t i = 0; i < log->count; i++) {
        const struct corun_observation *seen = &log->seen[i];
        if (seen->kind != CORUN_OBSERVED_MOMENT)
            continue;
        assert_non_null(seen->allowances);
        arrivals += seen->event == CORUN_EVENT_ARRIVE;
        drained += seen->event == CORUN_EVENT_LIMIT_REACHED;
        if (seen->event == CORUN_EVENT_EPOCH)
            assert_int_equal(log->limits[i], 3 * (8 - ++epochs));
    }
    assert_int_equal(arrivals, 2);
    assert_int_equal(epochs, 45000 / config_of().epoch_cycles);
    assert_true(epochs >= 2 && drained >= 3);
    /* without a policy there are moments, but no allowances */
    log->count = 0;
    run(NULL, &limits, scripts, log, &outcome);
    assert_true(count_of(log, CORUN_OBSERVED_MOMENT, 0) > 2);
    for (uint32_t i = 0; i < log->count; i++)
        assert_null(log->seen[i].allowances);
    free(log);
    free(scripts[0]);
    free(scripts[1]);
}

static void a_stopped_application_ends_its_launch(void **state)
{
    (void)state;
    struct script *scripts[2] = {script_new(4, 2), work(25, 1)};
    script_compute(scripts[0], CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 2, 3);
    script_end(scripts[0], 0, UINT32_MAX); /* endless */
    struct log *log = calloc(1, sizeof *log);
    struct corun_limits limits = {.cycles = 60000, .watchdog_cycles = 12000};
    struct outcome outcome;
    run(NULL, &limits, scripts, log, &outcome);
    assert_int_equal(outcome.statuses[0], CORUN_WATCHDOG);
    assert_int_equal(outcome.statuses[1], CORUN_OK);
    assert_int_equal(count_of(log, CORUN_OBSERVED_TB_START, 0), 4);
    assert_int_equal(count_of(log, CORUN_OBSERVED_TB_END, 0), 0);
    assert_int_equal(count_of(log, CORUN_OBSERVED_LAUNCH_END, 0), 1);
    assert_true(count_of(log, CORUN_OBSERVED_TB_END, 1) > 25);
    free(log);
    free(scripts[0]);
    free(scripts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_block_of_every_launch_is_told_once),
        cmocka_unit_test(it_changes_nothing_and_threads_change_it_not),
        cmocka_unit_test(samples_come_after_each_interval_and_at_the_end),
        cmocka_unit_test(moments_come_with_what_the_policy_allows),
        cmocka_unit_test(a_stopped_application_ends_its_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
