/* SPDX-License-Identifier: MIT */
/*
 * A GPU that is driven from outside: launches, waking, and applications that come and go, one after the other in the same slot. Whatever
 * belongs to one that has left is destroyed at once here, so that a memory checker sees what is still named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scripted.h"

enum { SMS = 4, LONG_TURNS = 2000, FOREVER = 100000000 };

static struct script *compute(uint32_t tbs, uint32_t turns)
{
    struct script *script = script_new(tbs, 2);
    for (uint16_t i = 0; i < 4; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(2 + i), 1, (uint16_t)(1 + i));
    script_end(script, 0, turns);
    return script;
}

/* Loads, stores and atomics all the time. */
static struct script *memory(uint32_t tbs, uint32_t turns)
{
    struct script *script = script_new(tbs, 4);
    const uint64_t base = UINT64_C(1) << 40;
    uint32_t rows[] = {script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 2, 1, base, 4),
                       script_memory(script, CORUN_STORE, CORUN_SPACE_GLOBAL, 3, 1, base + (1 << 20), 64),
                       script_memory(script, CORUN_ATOMIC, CORUN_SPACE_GLOBAL, 4, 1, base + (1 << 21), 4),
                       script_memory(script, CORUN_ATOMIC | CORUN_REDUCTION, CORUN_SPACE_GLOBAL, 5, 1, base, 128)};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        script->warp_stride[rows[i]] = 4096;
        script->turn_stride[rows[i]] = 8192;
    }
    script_end(script, 0, turns);
    return script;
}

/* The last instruction before the exit faults. */
static void issue_fault(struct corun_warp *warp, struct corun_issue *issue)
{
    bool last = warp->pc + 2 == warp->script->grid.code_length;
    script_issue(warp, issue);
    if (last)
        issue->outcome = CORUN_OUTCOME_FAULT;
}

static struct corun_source_operations faulting;

static struct script *fault(void)
{
    struct script *script = compute(8, 1);
    faulting = script_operations;
    faulting.issue = issue_fault;
    script->grid.operations = &faulting;
    return script;
}

static struct corun_gpu_config small_config(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = SMS;
    config.epoch_cycles = 1000;
    return config;
}

static struct corun_gpu *open_gpu(uint32_t applications, const struct corun_policy *policy)
{
    struct corun_gpu_config config = small_config();
    struct corun_limits limits = {.applications = applications};
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    if (policy)
        assert_int_equal(corun_gpu_set_policy(gpu, policy, NULL, NULL), CORUN_OK);
    assert_int_equal(corun_gpu_open(gpu, &limits, NULL), CORUN_OK);
    return gpu;
}

static uint32_t add(struct corun_gpu *gpu, const char *name)
{
    uint32_t application;
    struct corun_application_description description = {.name = name};
    assert_int_equal(corun_gpu_add(gpu, &description, &application), CORUN_OK);
    return application;
}

static uint32_t launch(struct corun_gpu *gpu, uint32_t application, const struct script *script)
{
    uint32_t number;
    assert_int_equal(corun_gpu_launch(gpu, application, &script->grid, corun_gpu_cycles(gpu), 0, &number), CORUN_OK);
    return number;
}

static struct corun_launched wait_for(struct corun_gpu *gpu, uint32_t application, uint32_t number)
{
    struct corun_launched launched = {0};
    for (corun_gpu_launched(gpu, application, number, &launched); !launched.ended;
         corun_gpu_launched(gpu, application, number, &launched))
        assert_int_equal(corun_gpu_advance(gpu, corun_gpu_cycles(gpu) + 1000000), CORUN_OK);
    return launched;
}

static uint64_t issued_by_sms(const struct corun_gpu *gpu)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < SMS; s++) {
        struct corun_sm_result sm;
        corun_gpu_sm(gpu, s, &sm);
        sum += sm.counters.warp_instructions;
    }
    return sum;
}

static uint64_t issued_by(const struct corun_gpu *gpu, uint32_t application)
{
    struct corun_application_result result;
    corun_gpu_application(gpu, application, &result);
    return result.warp_instructions;
}

/* ---- launches ---- */

static void launches_end_and_are_forgotten(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(1, NULL);
    uint32_t a = add(gpu, "a");
    struct script *one = compute(8, 10), *two = compute(64, 100);
    uint32_t first = launch(gpu, a, one), second = launch(gpu, a, two);
    assert_int_equal(first, 0);
    assert_int_equal(second, 1);
    struct corun_launched launched;
    corun_gpu_launched(gpu, a, second, &launched);
    assert_false(launched.ended);
    assert_int_equal(corun_gpu_forget(gpu, a, second), CORUN_ARGUMENT); /* in flight */
    launched = wait_for(gpu, a, first);
    assert_int_equal(launched.status, CORUN_OK);
    assert_true(launched.last_cycle > launched.first_cycle && launched.first_cycle > 0);
    struct corun_counters counters;
    corun_gpu_launch_counters(gpu, a, first, &counters);
    assert_int_equal(counters.tbs_completed, 8);
    assert_int_equal(corun_gpu_forget(gpu, a, first), CORUN_OK);
    free(one);
    assert_int_equal(corun_gpu_forget(gpu, a, first), CORUN_ARGUMENT);
    corun_gpu_launched(gpu, a, first, &launched);
    assert_true(launched.ended && launched.status == CORUN_ARGUMENT);
    corun_gpu_launch_counters(gpu, a, first, &counters);
    assert_int_equal(counters.tbs_completed, 0);
    assert_int_equal(wait_for(gpu, a, second).status, CORUN_OK);
    assert_int_equal(corun_gpu_forget(gpu, a, second), CORUN_OK);
    /* numbers rise; those in the middle go as well as the first and the last */
    uint32_t numbers[8];
    for (uint32_t i = 0; i < 8; i++) {
        numbers[i] = launch(gpu, a, two);
        assert_int_equal(numbers[i], 2 + i);
        assert_int_equal(wait_for(gpu, a, numbers[i]).status, CORUN_OK);
    }
    static const uint32_t order[] = {3, 0, 7, 4, 1, 6, 2, 5};
    for (uint32_t i = 0; i < 8; i++) {
        corun_gpu_launched(gpu, a, numbers[order[i]], &launched);
        assert_true(launched.ended && launched.status == CORUN_OK);
        assert_int_equal(corun_gpu_forget(gpu, a, numbers[order[i]]), CORUN_OK);
        corun_gpu_launched(gpu, a, numbers[order[i]], &launched);
        assert_int_equal(launched.status, CORUN_ARGUMENT);
    }
    struct corun_application_result result;
    corun_gpu_application(gpu, a, &result);
    assert_int_equal(result.thread_instructions, issued_by_sms(gpu) * 32);
    corun_gpu_destroy(gpu);
    free(two);
}

static void a_gpu_wakes_when_it_was_told_to(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(2, NULL);
    corun_gpu_wake(gpu, CORUN_NO_APPLICATION, 5000);
    assert_int_equal(corun_gpu_advance(gpu, FOREVER), CORUN_OK);
    uint64_t now = corun_gpu_cycles(gpu);
    assert_true(now >= 5000 && now < 5000 + 1000);
    uint32_t a = add(gpu, "a");
    corun_gpu_wake(gpu, a, 9000);
    corun_gpu_wake(gpu, CORUN_NO_APPLICATION, 20000);
    assert_int_equal(corun_gpu_advance(gpu, FOREVER), CORUN_OK);
    assert_true(corun_gpu_cycles(gpu) >= 9000 && corun_gpu_cycles(gpu) < 20000);
    corun_gpu_wake(gpu, CORUN_NO_APPLICATION, UINT64_MAX); /* not after all */
    struct script *script = compute(64, LONG_TURNS);
    uint32_t number = launch(gpu, a, script);
    now = corun_gpu_cycles(gpu) + 500;
    assert_int_equal(corun_gpu_advance(gpu, now), CORUN_OK);
    assert_true(corun_gpu_cycles(gpu) >= now && corun_gpu_cycles(gpu) < 20000);
    assert_int_equal(wait_for(gpu, a, number).status, CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

static void a_grid_that_never_fits_stops_its_application(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(1, NULL);
    uint32_t a = add(gpu, "a"), number;
    struct script *script = compute(1, 1);
    script->grid.tb_shared_bytes = UINT32_C(1) << 30;
    assert_int_equal(corun_gpu_launch(gpu, a, &script->grid, 0, 0, &number), CORUN_LIMIT);
    struct corun_launched launched;
    corun_gpu_launched(gpu, a, number, &launched);
    assert_true(launched.ended && launched.status == CORUN_LIMIT);
    assert_int_equal(corun_gpu_launch(gpu, a, &script->grid, 0, 0, &number), CORUN_ARGUMENT);
    assert_int_equal(corun_gpu_leave(gpu, a), CORUN_OK);
    free(script);
    script = compute(4, 1);
    a = add(gpu, "b");
    assert_int_equal(wait_for(gpu, a, launch(gpu, a, script)).status, CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

/* ---- applications ---- */

static enum corun_status write_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    (void)state, (void)parameters;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->tb_limit[i] = 3;
    return CORUN_OK;
}

/* Everything that there is for every slot, whether somebody has it or not. */
static void write_all(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                      struct corun_allowances *allowances)
{
    (void)state;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++) {
        allowances->tb_limit[i] = 1 + view->shares[i].resident_tbs;
        allowances->reclaim[i] = CORUN_RECLAIM_SWAP_TB;
        allowances->quota_refill[i] = 1000;
    }
    allowances->quotas_on = moment.event != CORUN_EVENT_EPOCH;
}

static const struct corun_policy writing = {.version = CORUN_POLICY_VERSION,
                                            .name = "writing",
                                            .observes = CORUN_ALL_OBSERVATIONS,
                                            .wants_tb_complete = true,
                                            .start = write_start,
                                            .decide = write_all};

static void applications_come_after_opening(void **unused)
{
    (void)unused;
    /* with and without a policy that writes for every slot */
    for (uint32_t i = 0; i < 2; i++) {
        struct corun_gpu *gpu = open_gpu(3, i ? &writing : NULL);
        struct script *script = compute(32, 50);
        uint32_t application[3], extra;
        struct corun_application_description description = {.name = "one too many"};
        for (uint32_t a = 0; a < 3; a++) {
            application[a] = add(gpu, "a");
            assert_int_equal(application[a], a);
            launch(gpu, application[a], script);
        }
        assert_int_equal(corun_gpu_add(gpu, &description, &extra), CORUN_LIMIT);
        for (uint32_t a = 0; a < 3; a++)
            assert_int_equal(wait_for(gpu, application[a], 0).status, CORUN_OK);
        assert_int_equal(issued_by(gpu, 0), issued_by(gpu, 2));
        corun_gpu_destroy(gpu);
        free(script);
    }
}

static void one_can_come_later(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(2, NULL);
    struct corun_application_description description = {.name = "later", .start_cycle = 7000};
    uint32_t later, number;
    assert_int_equal(corun_gpu_add(gpu, &description, &later), CORUN_OK);
    struct script *script = compute(4, 1);
    assert_int_equal(corun_gpu_launch(gpu, later, &script->grid, 0, 0, &number), CORUN_ARGUMENT);
    assert_int_equal(corun_gpu_advance(gpu, 7100), CORUN_OK);
    assert_int_equal(wait_for(gpu, later, launch(gpu, later, script)).status, CORUN_OK);
    struct corun_application_result result;
    corun_gpu_application(gpu, later, &result);
    assert_true(result.arrived_cycle >= 7000 && result.arrived_cycle < 8000);
    /* and one that never came can go */
    description.start_cycle = FOREVER;
    assert_int_equal(corun_gpu_add(gpu, &description, &later), CORUN_OK);
    assert_int_equal(corun_gpu_leave(gpu, later), CORUN_OK);
    assert_int_equal(corun_gpu_advance(gpu, corun_gpu_cycles(gpu) + 100), CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

/* Nothing of it is left, nobody else notices, and the sums of the SMs keep what it did. */
static void one_leaves_in_the_middle(void **unused)
{
    (void)unused;
    uint64_t cycles[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct corun_gpu *gpu = open_gpu(2, NULL);
        uint32_t a = add(gpu, "a"), b = add(gpu, "b");
        struct script *work = memory(20, 30), *other = memory(20, FOREVER);
        launch(gpu, b, other);
        assert_int_equal(corun_gpu_advance(gpu, 1000), CORUN_OK);
        uint32_t number = launch(gpu, a, work);
        assert_int_equal(corun_gpu_advance(gpu, 3000), CORUN_OK);
        assert_true(issued_by(gpu, b) > 0);
        assert_int_equal(corun_gpu_leave(gpu, b), CORUN_OK);
        memset(other, 0xee, sizeof *other);
        free(other);
        uint64_t done = issued_by(gpu, b); /* can still be asked */
        assert_int_equal(issued_by_sms(gpu), done + issued_by(gpu, a));
        if (i) { /* its place is taken at once; old replies are on their way still */
            uint32_t c = add(gpu, "c");
            assert_int_equal(corun_application_slot(c), corun_application_slot(b));
            assert_int_not_equal(c, b);
            struct script *third = memory(8, 4);
            assert_int_equal(wait_for(gpu, c, launch(gpu, c, third)).status, CORUN_OK);
            assert_int_equal(third->completed, 8 * 4 * 4 * 2); /* atomics: its own, each once */
            assert_int_equal(third->performed, third->completed * 32);
            assert_int_equal(corun_gpu_leave(gpu, c), CORUN_OK);
            free(third);
        }
        cycles[i] = wait_for(gpu, a, number).last_cycle;
        assert_int_equal(work->completed, UINT64_C(20) * 4 * 30 * 2);
        corun_gpu_destroy(gpu);
        free(work);
    }
    assert_true(cycles[0] && cycles[1] >= cycles[0]);
}

/* Its end is the answer to its last store, whether or not somebody on another SM has the machine look at every cycle. */
static void stores_end_alike_beside_others(void **unused)
{
    (void)unused;
    uint64_t cycles[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct corun_gpu *gpu = open_gpu(2, NULL);
        uint32_t a = add(gpu, "a"), b = add(gpu, "b");
        struct script *stores = script_new(1, 4), *other = compute(1, FOREVER);
        script_memory(stores, CORUN_STORE, CORUN_SPACE_GLOBAL, 2, 1, UINT64_C(1) << 40, 4);
        script_end(stores, 0, 1);
        if (i)
            launch(gpu, b, other);
        assert_int_equal(corun_gpu_advance(gpu, 10000), CORUN_OK);
        struct corun_launched launched = wait_for(gpu, a, launch(gpu, a, stores));
        cycles[i] = launched.last_cycle - launched.first_cycle;
        corun_gpu_destroy(gpu);
        free(stores);
        free(other);
    }
    struct corun_gpu_config config = small_config();
    assert_true(cycles[0] > 2 * config.icnt_latency + config.l2_latency);
    assert_int_equal(cycles[1], cycles[0]);
}

/* Without a policy, slots are all the same: whoever comes into one that was used is as fast as in a fresh one. */
static void a_used_slot_is_as_a_fresh_one(void **unused)
{
    (void)unused;
    struct corun_launched ends[2];
    struct corun_application_result results[2];
    for (uint32_t fresh = 0; fresh < 2; fresh++) {
        struct corun_gpu *gpu = open_gpu(3, NULL);
        uint32_t a = add(gpu, "a"), b = add(gpu, "b");
        struct script *work = memory(300, 40), *failing = fault(), *third = memory(100, 20);
        launch(gpu, a, work);
        launch(gpu, b, failing);
        assert_int_equal(wait_for(gpu, b, 0).status, CORUN_FAULT);
        if (!fresh)
            assert_int_equal(corun_gpu_leave(gpu, b), CORUN_OK);
        uint32_t c = add(gpu, "c");
        assert_int_equal(corun_application_slot(c), fresh ? 2 : 1);
        ends[fresh] = wait_for(gpu, c, launch(gpu, c, third));
        corun_gpu_application(gpu, c, &results[fresh]);
        corun_gpu_destroy(gpu);
        free(work);
        free(failing);
        free(third);
    }
    assert_memory_equal(&ends[0], &ends[1], sizeof ends[0]);
    assert_memory_equal(&results[0], &results[1], sizeof results[0]);
}

static void stale_handles_do_no_harm(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(2, NULL);
    uint32_t old = add(gpu, "old"), number = 0;
    struct script *script = compute(8, 1);
    assert_int_equal(wait_for(gpu, old, launch(gpu, old, script)).status, CORUN_OK);
    assert_int_equal(corun_gpu_leave(gpu, old), CORUN_OK);
    assert_int_equal(corun_gpu_leave(gpu, old), CORUN_ARGUMENT);
    assert_int_equal(corun_gpu_launch(gpu, old, &script->grid, 0, 0, &number), CORUN_ARGUMENT);
    struct corun_kernel_result kernel;
    corun_gpu_kernel(gpu, old, 0, &kernel); /* not stale yet */
    assert_string_equal(kernel.name, "script");
    assert_int_equal(kernel.counters.tbs_completed, 8);
    uint32_t young = add(gpu, "young"), handles[] = {old, 1, 15, 1000, CORUN_NO_APPLICATION};
    assert_int_equal(corun_application_slot(young), corun_application_slot(old));
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        uint32_t handle = handles[i], count = 7;
        struct corun_application_result result;
        struct corun_launched launched;
        struct corun_counters counters, none = {0};
        const struct corun_instruction *code;
        struct corun_diagnostics *list = corun_diagnostics_create();
        corun_gpu_application(gpu, handle, &result);
        assert_int_equal(result.status, CORUN_ARGUMENT);
        assert_int_equal(result.thread_instructions + result.kernel_count, 0);
        corun_gpu_kernel(gpu, handle, 0, &kernel);
        assert_string_equal(kernel.name, "");
        corun_gpu_launched(gpu, handle, 0, &launched);
        assert_true(launched.ended && launched.status == CORUN_ARGUMENT);
        corun_gpu_launch_counters(gpu, handle, 0, &counters);
        assert_memory_equal(&counters, &none, sizeof none);
        corun_gpu_share(gpu, 0, handle, &counters);
        assert_memory_equal(&counters, &none, sizeof none);
        assert_null(corun_gpu_kernel_profile(gpu, handle, 0, &count, &code));
        assert_int_equal(count, 0);
        assert_int_equal(corun_gpu_launch(gpu, handle, &script->grid, 0, 0, &number), CORUN_ARGUMENT);
        assert_int_equal(corun_gpu_forget(gpu, handle, 0), CORUN_ARGUMENT);
        assert_int_equal(corun_gpu_set_goal(gpu, handle, CORUN_GOAL_IPC, 1, 0, list), CORUN_ARGUMENT);
        assert_int_equal(corun_diagnostics_count(list), 1);
        assert_int_equal(corun_gpu_leave(gpu, handle), CORUN_ARGUMENT);
        if (handle != CORUN_NO_APPLICATION)
            corun_gpu_wake(gpu, handle, 1);
        corun_diagnostics_destroy(list);
    }
    corun_gpu_kernel(gpu, young, 5, &kernel);
    assert_string_equal(kernel.name, "");
    assert_int_equal(corun_gpu_set_goal(gpu, young, CORUN_GOAL_IPC, 1, 0, NULL), CORUN_OK);
    assert_int_equal(wait_for(gpu, young, launch(gpu, young, script)).status, CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

static void sixteen_slots_are_all_there_are(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(CORUN_MAX_APPLICATIONS, NULL);
    struct corun_application_description description = {.name = "one too many"};
    uint32_t handle[CORUN_MAX_APPLICATIONS], extra;
    struct script *script = compute(4, 20);
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++) {
        handle[a] = add(gpu, "a");
        launch(gpu, handle[a], script);
    }
    assert_int_equal(corun_gpu_add(gpu, &description, &extra), CORUN_LIMIT);
    assert_int_equal(corun_gpu_leave(gpu, handle[11]), CORUN_OK);
    assert_int_equal(corun_gpu_leave(gpu, handle[5]), CORUN_OK);
    assert_int_equal(corun_application_slot(handle[5] = add(gpu, "b")), 5);
    assert_int_equal(corun_application_slot(handle[11] = add(gpu, "b")), 11);
    assert_int_equal(corun_gpu_add(gpu, &description, &extra), CORUN_LIMIT);
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
        if (a != 5 && a != 11)
            assert_int_equal(wait_for(gpu, handle[a], 0).status, CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

static void a_gpu_is_opened_for_no_fewer_than_it_has(void **unused)
{
    (void)unused;
    static const uint32_t slots[] = {1, CORUN_MAX_APPLICATIONS + 1};
    for (size_t i = 0; i < 2; i++) {
        struct corun_gpu_config config = small_config();
        struct corun_limits limits = {.applications = slots[i]};
        struct corun_gpu *gpu;
        struct corun_diagnostics *list = corun_diagnostics_create();
        assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
        add(gpu, "a");
        add(gpu, "b");
        assert_int_equal(corun_gpu_open(gpu, &limits, list), CORUN_ARGUMENT);
        assert_int_equal(corun_diagnostics_count(list), 1);
        corun_diagnostics_destroy(list);
        corun_gpu_destroy(gpu);
    }
}

/* A run has the applications that it began with. */
static bool try_to_change(void *user, uint64_t cycle)
{
    (void)cycle;
    struct corun_application_description description = {.name = "late"};
    uint32_t index;
    assert_int_equal(corun_gpu_add(user, &description, &index), CORUN_ARGUMENT);
    assert_int_equal(corun_gpu_leave(user, 0), CORUN_ARGUMENT);
    return true;
}

static void nobody_joins_a_run(void **unused)
{
    (void)unused;
    struct corun_gpu_config config = small_config();
    struct corun_gpu *gpu;
    struct script *script = compute(4, 20);
    uint32_t index;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    struct corun_application_description description = {.name = "a", .grid = script_next, .user = script};
    assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    struct corun_limits limits = {.runs = 1, .progress = try_to_change, .user = gpu};
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    try_to_change(gpu, 0);
    corun_gpu_destroy(gpu);
    free(script);
}

static void see_and_try(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct corun_application_description description = {.name = "late"};
    uint32_t index, *tries = user;
    ++*tries;
    assert_int_equal(corun_gpu_add((struct corun_gpu *)gpu, &description, &index), CORUN_ARGUMENT);
    assert_int_equal(corun_gpu_leave((struct corun_gpu *)gpu, seen->application), CORUN_ARGUMENT);
}

static void nobody_comes_or_goes_within_a_step(void **unused)
{
    (void)unused;
    struct corun_gpu_config config = small_config();
    struct corun_limits limits = {.applications = 2};
    struct corun_gpu *gpu;
    uint32_t tries = 0;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    corun_gpu_observe(gpu, 0, see_and_try, &tries);
    assert_int_equal(corun_gpu_open(gpu, &limits, NULL), CORUN_OK);
    uint32_t a = add(gpu, "a");
    assert_int_equal(tries, 1); /* it arrived */
    corun_gpu_observe(gpu, 0, NULL, NULL);
    struct script *script = compute(4, 20);
    uint32_t number = launch(gpu, a, script);
    corun_gpu_observe(gpu, 0, see_and_try, &tries);
    assert_int_equal(wait_for(gpu, a, number).status, CORUN_OK);
    uint32_t before = tries;
    assert_true(before > 1);
    assert_int_equal(corun_gpu_leave(gpu, a), CORUN_OK);
    assert_int_equal(tries, before + 1);
    corun_gpu_destroy(gpu);
    free(script);
}

static void a_fault_takes_a_slot_until_its_application_leaves(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(2, NULL);
    uint32_t good = add(gpu, "good");
    struct script *long_one = memory(8, FOREVER);
    launch(gpu, good, long_one);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t bad = add(gpu, "bad"), number, extra;
        struct corun_application_description description = {.name = "one too many"};
        struct script *script = fault();
        assert_int_equal(bad >> CORUN_SLOT_BITS, i);
        number = launch(gpu, bad, script);
        assert_int_equal(wait_for(gpu, bad, number).status, CORUN_FAULT);
        free(script); /* the machine names it no more */
        struct corun_application_result result;
        corun_gpu_application(gpu, bad, &result);
        assert_int_equal(result.status, CORUN_FAULT);
        assert_int_equal(corun_gpu_add(gpu, &description, &extra), CORUN_LIMIT);
        assert_int_equal(corun_gpu_leave(gpu, bad), CORUN_OK);
        corun_gpu_application(gpu, bad, &result);
        assert_int_equal(result.status, CORUN_FAULT);
    }
    assert_int_equal(corun_gpu_leave(gpu, good), CORUN_OK);
    free(long_one);
    struct script *script = compute(16, 10);
    uint32_t last = add(gpu, "last");
    assert_int_equal(wait_for(gpu, last, launch(gpu, last, script)).status, CORUN_OK);
    corun_gpu_destroy(gpu);
    free(script);
}

/* More kernels than there are slots to count them under, at a rate at which many are retired together. */
static void thousands_come_and_go(void **unused)
{
    (void)unused;
    struct corun_gpu_config config = small_config();
    config.sms = 1;
    config.l2_bytes = 128 << 10;
    struct corun_limits limits = {.applications = 4};
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    assert_int_equal(corun_gpu_open(gpu, &limits, NULL), CORUN_OK);
    struct script *kernels[4];
    struct corun_energy_result before, after = {0};
    struct corun_sm_result sm = {0};
    uint64_t each = 0;
    for (uint32_t k = 0; k < 4; k++) {
        kernels[k] = script_new(1, 1);
        script_memory(kernels[k], CORUN_STORE, CORUN_SPACE_GLOBAL, 3, 1, (UINT64_C(1) << 40) + k * 256, 4);
        script_end(kernels[k], 0, 1);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t a = add(gpu, "a");
        for (uint32_t k = 0; k < 4; k++)
            launch(gpu, a, kernels[k]);
        bool waits = i % 3 != 2; /* some leave before their launches have begun */
        for (uint32_t k = 0; k < 4 && waits; k++)
            assert_int_equal(wait_for(gpu, a, k).status, CORUN_OK);
        each += waits ? 8 : 0;
        assert_int_equal(corun_gpu_leave(gpu, a), CORUN_OK);
        corun_gpu_sm(gpu, 0, &sm);
        assert_int_equal(sm.counters.warp_instructions, each);
        before = after;
        corun_gpu_energy(gpu, &after);
        assert_true(after.issue >= before.issue && after.interconnect >= before.interconnect);
    }
    assert_int_equal(sm.counters.tbs_completed, 2000 * 4);
    corun_gpu_destroy(gpu);
    for (uint32_t k = 0; k < 4; k++)
        free(kernels[k]);
}

/* ---- with a policy ---- */

enum { MOMENTS = 256 };

static struct {
    char log[MOMENTS][24];
    uint32_t count;
    double goals[MOMENTS];
    uint32_t limits[MOMENTS]; /* of the second slot, before the policy writes */
    uint64_t progress[MOMENTS];
    int64_t quota[MOMENTS];
    uint32_t slots;
} heard;

static enum corun_status hear_start(void *state, const struct corun_view *view, const double *parameters,
                                    struct corun_allowances *allowances)
{
    (void)state, (void)parameters;
    heard.count = 0;
    heard.slots = view->application_count;
    for (uint32_t a = 0; a < view->application_count; a++) {
        assert_int_equal(view->applications[a].state, CORUN_APPLICATION_ABSENT);
        assert_string_equal(view->applications[a].name, "");
        assert_null(view->applications[a].running.kernel);
    }
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->tb_limit[s * view->application_count + 1] = 5;
    return CORUN_OK;
}

static void hear(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                 struct corun_allowances *allowances)
{
    (void)state;
    static const char *const names[] = {"ARRIVE", "LEAVE", "START", "COMPLETE", "EPOCH", "SPENT", "REACHED", "TB"};
    uint32_t entry = 1;
    if (moment.event != CORUN_EVENT_ARRIVE && moment.event != CORUN_EVENT_LEAVE)
        return;
    assert_true(heard.count < MOMENTS);
    snprintf(heard.log[heard.count], sizeof heard.log[0], "%s %u %s", names[moment.event], moment.application,
             view->applications[moment.application].name);
    heard.goals[heard.count] = view->applications[1].goal_ipc;
    heard.limits[heard.count] = allowances->tb_limit[entry];
    heard.progress[heard.count] = view->applications[1].progress;
    heard.quota[heard.count++] = view->shares[entry].quota;
    if (moment.event == CORUN_EVENT_ARRIVE && moment.application == 1)
        for (uint32_t s = 0; s < view->sm_count; s++) { /* nobody else is to find this */
            entry = s * view->application_count + 1;
            allowances->tb_limit[entry] = 2;
            allowances->order[entry] = 3;
            allowances->quotas_on = true;
            allowances->quota_kind = CORUN_QUOTA_THREAD_AT_COMPLETION;
            allowances->quota[entry] = INT64_C(1000000000);
            allowances->quota_set[entry] = true;
            allowances->out_of_reach[1] = true;
        }
}

static const struct corun_policy hearing = {.version = CORUN_POLICY_VERSION,
                                            .name = "hearing",
                                            .observes = CORUN_ALL_OBSERVATIONS,
                                            .start = hear_start,
                                            .decide = hear};

static void policies_hear_of_new_ones(void **unused)
{
    (void)unused;
    struct corun_gpu *gpu = open_gpu(2, &hearing);
    assert_int_equal(heard.slots, 2);
    uint32_t a = add(gpu, "a"), b = 0;
    struct script *work = memory(64, 200), *other = memory(64, FOREVER);
    (void)a;
    struct corun_application_description description = {
        .name = "b", .goal = CORUN_GOAL_IPC, .goal_value = 10, .isolated_ipc = 100};
    assert_int_equal(corun_gpu_add(gpu, &description, &b), CORUN_OK);
    launch(gpu, b, other);
    assert_int_equal(corun_gpu_advance(gpu, 4100), CORUN_OK);
    struct corun_application_result result;
    corun_gpu_application(gpu, b, &result);
    assert_true(result.out_of_reach && result.thread_instructions && result.best_epoch_ipc > 0);
    assert_int_equal(corun_gpu_leave(gpu, b), CORUN_OK);
    free(other);
    description.name = "c";
    description.goal_value = 20;
    uint32_t c;
    assert_int_equal(corun_gpu_add(gpu, &description, &c), CORUN_OK);
    corun_gpu_application(gpu, c, &result);
    assert_true(result.best_epoch_ipc == 0 && result.thread_instructions == 0);
    assert_int_equal(wait_for(gpu, c, launch(gpu, c, work)).status, CORUN_OK);
    static const char *const expected[] = {"ARRIVE 0 a", "ARRIVE 1 b", "LEAVE 1 b", "ARRIVE 1 c"};
    assert_int_equal(heard.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(heard.log[i], expected[i]);
    assert_true(heard.goals[0] == 0 && heard.goals[1] == 10 && heard.goals[2] == 10 && heard.goals[3] == 20);
    assert_int_equal(heard.limits[1], 5);
    assert_int_equal(heard.limits[2], 2);
    assert_int_equal(heard.limits[3], 5); /* as `start` left it */
    assert_true(heard.progress[1] == 0 && heard.progress[2] > 0 && heard.progress[3] == 0);
    assert_true(heard.quota[1] == 0 && heard.quota[2] != 0 && heard.quota[3] == 0);
    corun_gpu_destroy(gpu);
    free(work);
}

/* ---- what may be dropped ---- */

static enum corun_status drop_start(void *state, const struct corun_view *view, const double *parameters,
                                    struct corun_allowances *allowances)
{
    (void)state, (void)parameters;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->tb_limit[i] = CORUN_UNLIMITED;
    return CORUN_OK;
}

/* Every SM is taken at the first epoch and given back at the second one: what may start again is dropped. */
static void drop_once(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                      struct corun_allowances *allowances)
{
    (void)state;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++) {
        bool again = view->applications[i % view->application_count].running.idempotent;
        allowances->tb_limit[i] = view->cycle < 1500 ? 0 : CORUN_UNLIMITED;
        allowances->reclaim[i] = again ? CORUN_RECLAIM_DROP : CORUN_RECLAIM_DRAIN;
    }
}

/* Where a launch in flight cannot start again, nothing of its application is dropped, whichever launch came first. */
static void one_launch_that_keeps_its_work_is_enough(void **unused)
{
    (void)unused;
    static const struct corun_policy dropping = {.version = CORUN_POLICY_VERSION,
                                                 .name = "dropping",
                                                 .observes = CORUN_ALL_OBSERVATIONS,
                                                 .start = drop_start,
                                                 .decide = drop_once};
    for (uint32_t keeps = 0; keeps < 3; keeps++) { /* the first, the second, none of them */
        struct corun_gpu *gpu = open_gpu(1, &dropping);
        struct script *scripts[2] = {compute(8, 500), compute(8, 500)};
        uint32_t a = add(gpu, "a"), numbers[2];
        for (uint32_t i = 0; i < 2; i++) {
            scripts[i]->grid.idempotent = i != keeps;
            numbers[i] = launch(gpu, a, scripts[i]);
        }
        uint64_t dropped = 0;
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(wait_for(gpu, a, numbers[i]).status, CORUN_OK);
        for (uint32_t s = 0; s < SMS; s++) {
            struct corun_sm_result sm;
            corun_gpu_sm(gpu, s, &sm);
            dropped += sm.counters.tbs_dropped;
        }
        assert_int_equal(dropped != 0, keeps == 2);
        corun_gpu_destroy(gpu);
        for (uint32_t i = 0; i < 2; i++)
            free(scripts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_end_and_are_forgotten),
        cmocka_unit_test(a_gpu_wakes_when_it_was_told_to),
        cmocka_unit_test(a_grid_that_never_fits_stops_its_application),
        cmocka_unit_test(applications_come_after_opening),
        cmocka_unit_test(one_can_come_later),
        cmocka_unit_test(one_leaves_in_the_middle),
        cmocka_unit_test(stores_end_alike_beside_others),
        cmocka_unit_test(a_used_slot_is_as_a_fresh_one),
        cmocka_unit_test(stale_handles_do_no_harm),
        cmocka_unit_test(sixteen_slots_are_all_there_are),
        cmocka_unit_test(a_gpu_is_opened_for_no_fewer_than_it_has),
        cmocka_unit_test(nobody_joins_a_run),
        cmocka_unit_test(nobody_comes_or_goes_within_a_step),
        cmocka_unit_test(a_fault_takes_a_slot_until_its_application_leaves),
        cmocka_unit_test(thousands_come_and_go),
        cmocka_unit_test(policies_hear_of_new_ones),
        cmocka_unit_test(one_launch_that_keeps_its_work_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
