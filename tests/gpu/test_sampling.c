/* SPDX-License-Identifier: MIT */
/* Which thread blocks and launches a machine that samples times, and that every one of them runs once, in either way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scripted.h"

enum { SMS = 4, LAUNCHES = 40, TURNS = 30, MANY = 6000 };

/* What the source was asked to run without timing. */
struct untimed {
    uint32_t calls, tbs, first;
    uint32_t touching; /* calls that wanted to know what is touched */
    uint32_t places;
    uint64_t longer; /* turns that such a launch has beside its own, as a part of a hundred */
    enum corun_status fails;
};

static struct untimed untimed;
static struct corun_source_operations operations;

static enum corun_status run_untimed(const struct corun_grid *grid, const struct corun_untimed *how,
                                     struct corun_diagnostics *list, struct corun_untimed_result *result)
{
    const struct script *script = (const struct script *)grid;
    uint64_t each = (uint64_t)script->loop_turns * (grid->code_length - 1) + 1;
    untimed.calls++;
    untimed.tbs += how->count;
    untimed.first = how->first;
    untimed.touching += how->touch != NULL;
    untimed.places = how->places;
    assert_int_equal(how->first + how->count, grid->tb_count);
    if (untimed.fails != CORUN_OK)
        return corun_report(list, untimed.fails, CORUN_NOWHERE, "it fails");
    uint64_t warps = (uint64_t)how->count * grid->tb_warps;
    result->warp_instructions = warps * each * (100 + untimed.longer) / 100;
    result->thread_instructions = result->ptx_thread_instructions = result->warp_instructions * 32;
    return CORUN_OK;
}

static struct script *work(uint32_t tbs)
{
    struct script *script = script_new(tbs, 2);
    untimed = (struct untimed){0};
    operations = script_operations;
    operations.run_untimed = run_untimed;
    script->grid.operations = &operations;
    uint32_t row = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 2, 1, UINT64_C(1) << 40, 4);
    script->warp_stride[row] = 4096;
    script->turn_stride[row] = 128;
    for (uint16_t i = 0; i < 4; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(2 + i), 1, (uint16_t)(1 + i));
    script_end(script, 0, TURNS);
    return script;
}

struct outcome {
    uint64_t cycles, instructions;
    struct corun_kernel_result kernel;
    struct corun_application_result application;
    struct corun_sampled_group group;
    size_t groups;
};

struct launches {
    struct script *script;
    uint32_t count;
};

static const struct corun_grid *next_launch(void *user, uint32_t index)
{
    const struct launches *launches = user;
    return index < launches->count ? &launches->script->grid : NULL;
}

static struct outcome run_machine(struct script *script, uint32_t count, const struct corun_sampling *sampling,
                                  uint32_t threads)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = SMS;
    struct corun_gpu *gpu;
    struct launches launches = {script, count};
    struct corun_application_description description = {.name = "work", .grid = next_launch, .user = &launches};
    struct corun_limits limits = {.runs = 1, .threads = threads};
    uint32_t index;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    if (sampling)
        assert_int_equal(corun_gpu_sample(gpu, sampling), CORUN_OK);
    assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    struct outcome outcome = {.cycles = corun_gpu_cycles(gpu)};
    corun_gpu_application(gpu, index, &outcome.application);
    corun_gpu_kernel(gpu, index, 0, &outcome.kernel);
    outcome.groups = corun_gpu_sampled(gpu, &outcome.group, 1);
    outcome.group.name = NULL;
    outcome.instructions = outcome.application.warp_instructions;
    corun_gpu_destroy(gpu);
    return outcome;
}

static const struct corun_sampling usual = {CORUN_SAMPLING_ERROR, CORUN_SAMPLING_EVERY};

static void expect_near(uint64_t value, uint64_t expected, double part)
{
    if ((double)value < (double)expected * (1 - part) || (double)value > (double)expected * (1 + part))
        fail_msg("%llu is not within %g %% of %llu", (unsigned long long)value, part * 100,
                 (unsigned long long)expected);
}

static void thread_blocks_of_a_long_launch(void **state)
{
    (void)state;
    struct script *script = work(MANY);
    struct outcome full = run_machine(script, 1, NULL, 1), sampled = run_machine(script, 1, &usual, 1);
    assert_int_equal(untimed.calls, 1);
    assert_int_equal(untimed.first + untimed.tbs, MANY);
    assert_true(untimed.first > 0 && untimed.tbs > MANY / 2);
    assert_int_equal(untimed.places, SMS * 32); /* as many of these as an SM has room for */
    expect_near(sampled.cycles, full.cycles, 0.02);
    assert_int_equal(sampled.instructions, full.instructions);
    assert_int_equal(sampled.application.thread_instructions, full.application.thread_instructions);
    assert_int_equal(sampled.kernel.counters.thread_instructions, full.kernel.counters.thread_instructions);
    assert_int_equal(sampled.kernel.counters.tbs_completed, MANY);
    expect_near(sampled.kernel.counters.loads, full.kernel.counters.loads, 0.001);
    assert_int_equal(sampled.groups, 1);
    assert_int_equal(sampled.group.parted, 1);
    assert_int_equal(sampled.group.timed, 0);
    assert_int_equal(sampled.group.cycles, sampled.kernel.cycles);
    uint64_t off = sampled.cycles > full.cycles ? sampled.cycles - full.cycles : full.cycles - sampled.cycles;
    assert_true(off <= sampled.group.margin_cycles + full.cycles / 100);
    free(script);
}

static void launches_that_are_alike(void **state)
{
    (void)state;
    struct script *script = work(64);
    struct outcome full = run_machine(script, LAUNCHES, NULL, 1), sampled = run_machine(script, LAUNCHES, &usual, 1);
    assert_true(untimed.calls > LAUNCHES / 2);
    assert_int_equal(untimed.touching, 0); /* none is timed soon */
    assert_int_equal(untimed.calls + sampled.group.timed, LAUNCHES);
    assert_int_equal(sampled.group.launches, LAUNCHES);
    assert_int_equal(sampled.kernel.launches, LAUNCHES);
    assert_int_equal(sampled.instructions, full.instructions);
    expect_near(sampled.cycles, full.cycles, 0.02);
    free(script);
}

struct beginning {
    struct script *once, *again;
};

static const struct corun_grid *once_and_again(void *user, uint32_t index)
{
    const struct beginning *beginning = user;
    return index > LAUNCHES ? NULL : index == 0 ? &beginning->once->grid : &beginning->again->grid;
}

/* A kernel that came once, in the beginning, is not waited for: only launches shortly before one that is timed warm the L2. */
static void a_kernel_that_came_once(void **state)
{
    (void)state;
    struct script *again = work(64), *once = work(32);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = SMS;
    struct corun_gpu *gpu;
    struct beginning beginning = {once, again};
    struct corun_application_description description = {.name = "work", .grid = once_and_again, .user = &beginning};
    struct corun_limits limits = {.runs = 1};
    uint32_t index;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    assert_int_equal(corun_gpu_sample(gpu, &usual), CORUN_OK);
    assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    assert_int_equal(corun_gpu_run(gpu, &limits, NULL), CORUN_OK);
    assert_true(untimed.calls > LAUNCHES / 2);
    assert_int_equal(untimed.touching, 0);
    corun_gpu_destroy(gpu);
    free(once);
    free(again);
}

/* One in four, once the first four are known: the cold one, and three. */
static void one_in_so_many(void **state)
{
    (void)state;
    struct script *script = work(64);
    struct corun_sampling sampling = {1000000, 4};
    struct outcome sampled = run_machine(script, LAUNCHES, &sampling, 1);
    assert_int_equal(sampled.group.timed, 4 + (LAUNCHES - 4) / 4);
    sampling.every = 1;
    sampled = run_machine(script, LAUNCHES, &sampling, 1);
    assert_int_equal(sampled.group.timed, LAUNCHES);
    assert_int_equal(sampled.group.estimated_cycles, 0);
    assert_int_equal(sampled.group.margin_cycles, 0);
    free(script);
}

/* Launches that turn out to have half as much again of instructions are no longer taken for what they were. */
static void another_kind_is_timed(void **state)
{
    (void)state;
    struct script *script = work(64);
    struct corun_sampling sampling = {1000000, 1000};
    untimed.longer = 50;
    struct outcome sampled = run_machine(script, LAUNCHES, &sampling, 1);
    /* each launch without timing is of a kind that is not known, so the next one is timed, which is of the other kind */
    assert_int_equal(sampled.group.timed, 5 + (LAUNCHES - 4) / 2); /* five, one without timing, and then two and two */
    assert_true(sampled.group.margin_cycles >= sampled.group.estimated_cycles);
    free(script);
}

/* Two kernels side by side, again and again: what they do to each other is simulated. */
static void launches_that_overlap_are_timed(void **state)
{
    (void)state;
    struct script *one = work(64), *two = work(96);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = SMS;
    uint64_t cycles[2];
    for (int samples = 0; samples < 2; samples++) {
        struct corun_gpu *gpu;
        struct corun_limits limits = {.applications = 1};
        struct corun_application_description description = {.name = "streams"};
        uint32_t application, numbers[2];
        assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
        if (samples)
            assert_int_equal(corun_gpu_sample(gpu, &usual), CORUN_OK);
        assert_int_equal(corun_gpu_open(gpu, &limits, NULL), CORUN_OK);
        assert_int_equal(corun_gpu_add(gpu, &description, &application), CORUN_OK);
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            const struct corun_grid *grids[] = {&one->grid, &two->grid};
            for (uint32_t k = 0; k < 2; k++)
                assert_int_equal(corun_gpu_launch(gpu, application, grids[k], corun_gpu_cycles(gpu), 0, &numbers[k]),
                                 CORUN_OK);
            for (uint32_t k = 0; k < 2; k++) {
                struct corun_launched launched = {0};
                for (corun_gpu_launched(gpu, application, numbers[k], &launched); !launched.ended;
                     corun_gpu_launched(gpu, application, numbers[k], &launched))
                    assert_int_equal(corun_gpu_advance(gpu, corun_gpu_cycles(gpu) + 1000000), CORUN_OK);
                assert_false(launched.estimated);
            }
        }
        cycles[samples] = corun_gpu_cycles(gpu);
        corun_gpu_destroy(gpu);
    }
    assert_int_equal(untimed.calls, 0);
    assert_int_equal(cycles[0], cycles[1]);
    free(one);
    free(two);
}

static uint32_t begun; /* thread blocks */

static struct corun_tb *count_begun(const struct corun_grid *grid, uint32_t index, uint32_t sm,
                                    struct corun_warp **warps)
{
    begun++;
    return script_tb_begin(grid, index, sm, warps);
}

/* Thread blocks 100 to 119 do not come to their end before thread block 1500 has begun. */
static void wait_for_others(struct corun_warp *warp, struct corun_issue *issue)
{
    uint32_t tb = warp->number / warp->script->grid.tb_warps;
    bool waits = tb >= 100 && tb < 120 && begun <= 1500;
    if (waits && warp->turn + 1 == warp->script->loop_turns)
        warp->turn--;
    script_issue(warp, issue);
}

static void thread_blocks_that_wait_for_later_ones(void **state)
{
    (void)state;
    struct script *script = work(MANY);
    operations.tb_begin = count_begun;
    operations.issue = wait_for_others;
    begun = 0;
    struct outcome full = run_machine(script, 1, NULL, 1);
    begun = 0;
    struct outcome sampled = run_machine(script, 1, &usual, 1);
    assert_int_equal(begun, MANY);
    assert_int_equal(untimed.calls, 0);
    assert_int_equal(sampled.application.status, CORUN_OK);
    assert_int_equal(sampled.group.timed, 1);
    assert_true(sampled.cycles > full.cycles); /* it had begun to drain */
    free(script);
}

static void short_launches_are_timed(void **state)
{
    (void)state;
    struct script *script = work(64);
    struct outcome full = run_machine(script, 1, NULL, 1), sampled = run_machine(script, 1, &usual, 1);
    assert_int_equal(untimed.calls, 0);
    assert_int_equal(sampled.cycles, full.cycles);
    assert_int_equal(sampled.group.estimated_cycles, 0);
    free(script);
}

static void host_threads_change_nothing(void **state)
{
    (void)state;
    struct script *script = work(MANY);
    struct outcome one = run_machine(script, 3, &usual, 1), three = run_machine(script, 3, &usual, 3);
    assert_int_equal(one.cycles, three.cycles);
    assert_memory_equal(&one.group, &three.group, sizeof one.group);
    assert_memory_equal(&one.kernel.counters, &three.kernel.counters, sizeof one.kernel.counters);
    free(script);
}

static void a_fault_without_timing_stops_the_application(void **state)
{
    (void)state;
    struct script *script = work(MANY);
    untimed.fails = CORUN_FAULT;
    struct outcome sampled = run_machine(script, 1, &usual, 1);
    assert_int_equal(sampled.application.status, CORUN_FAULT);
    assert_int_equal(sampled.application.runs, 0);
    free(script);
    script = work(64);
    untimed.fails = CORUN_WATCHDOG;
    sampled = run_machine(script, LAUNCHES, &usual, 1);
    assert_int_equal(sampled.application.status, CORUN_WATCHDOG);
    free(script);
}

static void comes_before_the_run_and_without_policy(void **state)
{
    (void)state;
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    struct corun_gpu *gpu;
    struct corun_limits limits = {.applications = 1};
    static const struct corun_policy policy = {.name = "any"};
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    assert_int_equal(corun_gpu_sampled(gpu, NULL, 0), 0);
    assert_int_equal(corun_gpu_sample(gpu, &usual), CORUN_OK);
    assert_int_equal(corun_gpu_sample(gpu, &usual), CORUN_ARGUMENT);
    assert_int_equal(corun_gpu_set_policy(gpu, &policy, NULL, NULL), CORUN_ARGUMENT);
    corun_gpu_destroy(gpu);
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    assert_int_equal(corun_gpu_open(gpu, &limits, NULL), CORUN_OK);
    assert_int_equal(corun_gpu_sample(gpu, &usual), CORUN_ARGUMENT);
    corun_gpu_destroy(gpu);
}

static void words(void **state)
{
    (void)state;
    struct corun_sampling sampling;
    assert_int_equal(corun_sampling_parse(NULL, "--sample", NULL, &sampling), CORUN_OK);
    assert_int_equal(sampling.error, CORUN_SAMPLING_ERROR);
    assert_int_equal(sampling.every, CORUN_SAMPLING_EVERY);
    assert_int_equal(corun_sampling_parse("every=1K,error=0.5%", "--sample", NULL, &sampling), CORUN_OK);
    assert_int_equal(sampling.error, 5000);
    assert_int_equal(sampling.every, 1000);
    static const char *const wrong[] = {"error",         "error=",  "error=0", "error=101%", "error=-1%",
                                        "every=0",       "every=x", ",",       "every=2,",   "every=2,error=1%,more=1",
                                        "every=10000000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (corun_sampling_parse(wrong[i], "--sample", NULL, &sampling) != CORUN_USAGE)
            fail_msg("`%s` was taken", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_blocks_of_a_long_launch),
        cmocka_unit_test(launches_that_are_alike),
        cmocka_unit_test(a_kernel_that_came_once),
        cmocka_unit_test(one_in_so_many),
        cmocka_unit_test(another_kind_is_timed),
        cmocka_unit_test(launches_that_overlap_are_timed),
        cmocka_unit_test(thread_blocks_that_wait_for_later_ones),
        cmocka_unit_test(short_launches_are_timed),
        cmocka_unit_test(host_threads_change_nothing),
        cmocka_unit_test(a_fault_without_timing_stops_the_application),
        cmocka_unit_test(comes_before_the_run_and_without_policy),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
