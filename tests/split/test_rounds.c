/* SPDX-License-Identifier: MIT */
/* Iterative tasks: the split of a round serves the next, is corrected when it is off, and given up when that does not help. */
#include "split/engine.h"
#include "split/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct world {
    struct speed speeds[2];
    struct corun_split *split;
    const struct corun_split_result *result;
};

static void prepare(struct world *world, const char *strategy, double cpu, double gpu)
{
    *world = (struct world){.speeds = {{0, cpu}, {0, gpu}}};
    struct corun_split_rate_table tables[] = {table(&world->speeds[0]), table(&world->speeds[1])};
    struct corun_split_task task = {.name = "rounds", .iterations = 100000};
    struct corun_split_options options = {.strategy = strategy, .rates = tables, .rate_count = 2};
    assert_int_equal(corun_split_create(&task, &options, &world->split, NULL), CORUN_OK);
    world->result = corun_split_result(world->split);
}

static void round_of(struct world *world)
{
    assert_int_equal(corun_split_run(world->split, NULL), CORUN_OK);
}

static void a_round_uses_what_the_one_before_has_learned(void **state)
{
    static const char *const names[] = {"cap", "quick"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct world world;
        prepare(&world, names[i], 2e-6, 1e-6);
        round_of(&world);
        assert_false(world.result->reused);
        double first = world.result->seconds;
        for (unsigned r = 0; r < 10; r++) {
            round_of(&world);
            assert_true(world.result->reused);
            assert_int_equal(world.result->step_count, 1);
            assert_true(world.result->profiled == 0);
            assert_true(world.result->seconds < first);
            assert_float_equal(world.result->seconds, 100000 / (1 / 2e-6 + 1 / 1e-6), 1e-5);
        }
        assert_int_equal(world.result->run, 11);
        corun_split_forget(world.split);
        round_of(&world);
        assert_false(world.result->reused);
        corun_split_destroy(world.split);
    }
}

static void a_split_that_is_off_once_is_corrected(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "quick", 1e-6, 1e-6);
    round_of(&world);
    round_of(&world);
    world.speeds[1].each = 0.5e-6; /* another program has left the GPU */
    round_of(&world);
    assert_float_equal(world.result->imbalance, 0.5, 0.01);
    assert_false(world.result->drifted);
    round_of(&world);
    assert_true(world.result->reused);
    assert_true(world.result->imbalance < 0.01);
    corun_split_destroy(world.split);
}

static void a_split_that_stays_off_is_measured_anew(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "quick", 1e-6, 1e-6);
    round_of(&world);
    world.speeds[1].each = 0.5e-6;
    round_of(&world);
    assert_true(world.result->reused);
    world.speeds[1].each = 2e-6; /* the correction was for nothing */
    round_of(&world);
    assert_true(world.result->drifted);
    round_of(&world);
    assert_false(world.result->reused);
    assert_int_equal(world.result->step_count, 2);
    round_of(&world);
    assert_true(world.result->reused);
    assert_true(world.result->imbalance < 0.01);
    corun_split_destroy(world.split);
}

/* A GPU whose time does not depend on its share: every correction shortens the rounds, and nothing is measured anew. */
static void corrections_continue_while_they_help(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "quick", 1e-7, 1e-12);
    world.speeds[1].start = 4e-3;
    round_of(&world);
    double before = world.result->seconds;
    for (unsigned i = 0; i < 20; i++) {
        round_of(&world);
        assert_true(world.result->reused);
        assert_false(world.result->drifted);
        assert_true(world.result->seconds <= before * 1.01);
        before = world.result->seconds;
    }
    assert_true(world.result->imbalance < 0.06);
    corun_split_destroy(world.split);
}

/* The rest of the last step of the CPU is divided anew in the same round. */
static void cap_divides_the_rest_of_a_late_cpu(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 1e-6, 1e-6);
    round_of(&world);
    world.speeds[0].each = 4e-6;
    round_of(&world);
    assert_true(world.result->reused);
    assert_true(world.result->step_count > 1);
    assert_true(world.result->seconds < 1.03 * 100000 / (1 / 4e-6 + 1 / 1e-6));
    corun_split_destroy(world.split);
}

/* What parts change in place stays where it was changed, and cannot be moved ahead: a GPU's share does not have to grow that way. */
static void what_is_kept_and_changed_is_shared_by_rates(void **state)
{
    static float data[1000];
    static const char *const names[] = {"meet", "cap"};
    const struct corun_split_buffer buffer = {.name = "data",
                                              .data = data,
                                              .bytes = sizeof data,
                                              .iteration_bytes = sizeof data[0],
                                              .access = CORUN_SPLIT_READ_WRITE,
                                              .kept = true};
    const struct corun_split_task task = {.name = "rounds", .iterations = 1000, .buffers = &buffer, .buffer_count = 1};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct speed speeds[] = {{0, 1e-6}, {0, 1e-7}};
        const struct corun_split_rate_table tables[] = {table(&speeds[0]), table(&speeds[1])};
        const struct corun_split_options options = {.strategy = names[i], .rates = tables, .rate_count = 2};
        struct corun_split *split;
        assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
        for (unsigned r = 0; r < 8; r++) {
            assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
            assert_true(corun_split_result(split)->devices[1].iterations > 800);
        }
        corun_split_destroy(split);
    }
}

/* A CPU that needs longer for a granule than the GPU for everything is waited for once. When the GPU is slower one day, the CPU helps again. */
static void a_cpu_that_would_be_waited_for_is_left_out(void **state)
{
    struct speed speeds[] = {{0, 1e-5}, {0, 1e-7}};
    const struct corun_split_rate_table tables[] = {table(&speeds[0]), table(&speeds[1])};
    const struct corun_split_task task = {.name = "rounds", .iterations = 1000, .granularity = 100};
    const struct corun_split_options options = {.strategy = "meet", .rates = tables, .rate_count = 2};
    struct corun_split *split;
    (void)state;
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    const struct corun_split_result *result = corun_split_result(split);
    for (unsigned r = 0; r < 6; r++) {
        assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
        assert_true(r < 2 || result->seconds <= 1.02 * 1000 * 1e-7);
    }
    speeds[1].each = 1e-3;
    for (unsigned r = 0; r < 3; r++)
        assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
    assert_true(result->devices[0].iterations > 800);
    corun_split_destroy(split);
}

/* A GPU's part of what is changed in place is waited for: a GPU is left out whose least part takes longer than the CPU for everything. */
static void a_gpu_that_would_be_waited_for_is_left_out(void **state)
{
    static float data[1000];
    static const char *const names[] = {"meet", "cap"};
    const struct corun_split_buffer buffer = {.name = "data",
                                              .data = data,
                                              .bytes = sizeof data,
                                              .iteration_bytes = sizeof data[0],
                                              .access = CORUN_SPLIT_READ_WRITE};
    const struct corun_split_task task = {.name = "rounds", .iterations = 1000, .buffers = &buffer, .buffer_count = 1};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct speed speeds[] = {{0, 1e-8}, {1e-3, 1e-7}};
        const struct corun_split_rate_table tables[] = {table(&speeds[0]), table(&speeds[1])};
        const struct corun_split_options options = {.strategy = names[i], .rates = tables, .rate_count = 2};
        struct corun_split *split;
        assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
        for (unsigned r = 0; r < 6; r++) {
            assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
            assert_true(r < 3 || corun_split_result(split)->seconds < 1.02 * 1000 * 1e-8);
        }
        corun_split_destroy(split);
    }
}

/* A strategy that gives the GPU all, and then what was learned, in whole iterations. */
static void gpu_first(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    uint64_t gpu = view->learned ? (uint64_t)(view->learned[1] * (double)view->left + 1 - 1e-6) : view->left;
    if (view->busy[0] || view->busy[1])
        return;
    decision->parts[1] = gpu < view->left ? gpu : view->left;
    decision->parts[0] = view->left - decision->parts[1];
    for (unsigned d = 0; d < 2; d++)
        decision->share[d] = view->learned ? view->learned[d] : d;
}

static const struct corun_split_result *in_place(struct corun_split *split, uint64_t count)
{
    assert_int_equal(corun_split_set_iterations(split, count), CORUN_OK);
    assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
    return corun_split_result(split);
}

static struct corun_split *create_in_place(corun_split_strategy *function, uint64_t granularity, struct speed *speeds)
{
    static float data[100000];
    const struct corun_split_buffer buffer = {.name = "data",
                                              .data = data,
                                              .bytes = sizeof data,
                                              .iteration_bytes = sizeof data[0],
                                              .access = CORUN_SPLIT_READ_WRITE};
    const struct corun_split_task task = {
        .name = "rounds", .iterations = 100000, .granularity = granularity, .buffers = &buffer, .buffer_count = 1};
    const struct corun_split_rate_table tables[] = {table(&speeds[0]), table(&speeds[1])};
    const struct corun_split_options options = {.function = function, .rates = tables, .rate_count = 2};
    struct corun_split *split;
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    return split;
}

/* The first round leaves the CPU nothing. In the second, which is shorter, the CPU's granule is not rounded off; nor where there are but two granules. */
static void a_cpu_is_tried_in_rounds_that_change(void **state)
{
    struct speed speeds[] = {{0, 1e-8}, {1e-3, 1e-7}};
    (void)state;
    struct corun_split *split = create_in_place(gpu_first, 1, speeds);
    assert_int_equal(in_place(split, 240)->devices[0].iterations, 0);
    assert_in_range(in_place(split, 224)->devices[0].iterations, 1, 2);
    in_place(split, 208);
    assert_int_equal(in_place(split, 192)->devices[0].iterations, 192);
    corun_split_destroy(split);
    split = create_in_place(gpu_first, 10, speeds);
    assert_int_equal(in_place(split, 10)->devices[0].iterations, 0);
    assert_int_equal(in_place(split, 20)->devices[0].iterations, 10);
    corun_split_destroy(split);
}

/* A GPU whose part takes 1 ms is left out of rounds of 24 us, and not of those of 10 ms that follow. */
static void a_gpu_that_was_left_out_is_tried_in_larger_rounds(void **state)
{
    struct speed speeds[] = {{0, 1e-7}, {1e-3, 1e-10}};
    (void)state;
    struct corun_split *split = create_in_place(gpu_first, 1, speeds);
    for (unsigned round = 0; round < 3; round++)
        in_place(split, 240);
    for (unsigned round = 0; round < 3; round++)
        assert_int_equal(in_place(split, 240)->devices[1].iterations, 0);
    assert_int_equal(in_place(split, 100000)->devices[1].iterations, 0);
    assert_true(in_place(split, 100000)->devices[1].iterations > 0);
    corun_split_destroy(split);
}

/* How many copies of results are on their way at a time, at most. */
struct watch {
    const struct corun_split *split;
    uint32_t most;
};

static void fed_quarters(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    struct watch *watch = *(struct watch *const *)view->user;
    if (watch->split && watch->split->deliveries[1].count > watch->most)
        watch->most = watch->split->deliveries[1].count;
    decision->feed = true;
    decision->parts[1] = view->left && view->queued[1] < 4 ? view->iterations / 4 : 0;
    decision->again = decision->parts[1] > 0;
}

/* Each part moves more than gathers, and ends while the results of the first are on their way: a copy of their own would wait there, and have a latency of its own. */
static void results_gather_behind_a_copy(void **state)
{
    static char data[16 * 4096];
    struct watch watch = {0}, *place = &watch;
    struct speed cpu = {0, 1}, gpu = {0, 1};
    struct corun_split_rate_table tables[] = {table(&cpu), table(&gpu)};
    const struct corun_split_buffer buffer = {
        .name = "data", .data = data, .bytes = sizeof data, .iteration_bytes = 4096, .access = CORUN_SPLIT_WRITE};
    const struct corun_split_task task = {.name = "copies", .iterations = 16, .buffers = &buffer, .buffer_count = 1};
    struct corun_split_parameters parameters = {
#define P(name, value, least, most, meaning) .name = value,
#include "corun/split_parameters.def"
#undef P
    };
    struct corun_split *split;
    (void)state;
    parameters.copy_bytes = 4096;
    tables[1].most = 8;
    tables[1].back = 9.5;
    const struct corun_split_options options = {
        .function = fed_quarters, .strategy_user = &place, .parameters = &parameters, .rates = tables, .rate_count = 2};
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    watch.split = split;
    assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
    assert_int_equal(corun_split_result(split)->devices[1].iterations, 16);
    assert_int_equal(watch.most, 1);
    corun_split_destroy(split);
}

static void rounds_may_be_shorter(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 2e-6, 1e-6);
    round_of(&world);
    assert_int_equal(corun_split_set_iterations(world.split, 999), CORUN_OK);
    round_of(&world);
    assert_int_equal(world.result->devices[0].iterations + world.result->devices[1].iterations, 999);
    assert_int_equal(corun_split_set_iterations(world.split, 0), CORUN_OK);
    round_of(&world);
    assert_int_equal(world.result->step_count, 0);
    assert_int_equal(corun_split_set_iterations(world.split, 100001), CORUN_ARGUMENT);
    corun_split_destroy(world.split);
}

/* A device fails by table in a learned round; the next rounds do without it. */
static void a_learned_split_survives_a_failure(void **state)
{
    struct speed speeds[] = {{0, 1e-6}, {0, 1e-6}, {0, 1e-6}};
    struct corun_split_rate_table tables[] = {table(&speeds[0]), table(&speeds[1]), table(&speeds[2])};
    struct corun_split_task task = {.name = "rounds", .iterations = 90000};
    struct corun_split_options options = {.rates = tables, .rate_count = 3};
    struct corun_split *split;
    (void)state;
    tables[2].fails_at = 40000;
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    for (unsigned r = 0; r < 4; r++) {
        assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
        const struct corun_split_result *result = corun_split_result(split);
        uint64_t done = 0;
        for (uint32_t d = 0; d < 3; d++)
            done += result->devices[d].iterations;
        assert_int_equal(done, 90000);
        assert_true((r > 0) == (result->devices[2].failure != NULL));
        assert_true(r < 2 || result->imbalance < 0.05);
    }
    corun_split_destroy(split);
}

/* The CPU's share after a run of 1 ms in which it has computed so many of 100000 iterations, and a GPU the others. */
static double share_of_cpu(uint64_t computed, double handing)
{
    struct corun_split split = {.device_count = 2, .usable = {true, true}, .handing = {0, handing}};
    split.parameters.drift = 0.1;
    split.result.iterations = 100000;
    split.result.seconds = 1e-3;
    split.result.devices[0] = (struct corun_split_device_result){.iterations = computed, .seconds = 1e-3};
    split.result.devices[1] = (struct corun_split_device_result){.iterations = 100000 - computed, .seconds = 1e-3};
    learn(&split);
    assert_true(split.knows);
    assert_float_equal(split.learned[0] + split.learned[1], 1, 1e-12);
    return split.learned[0];
}

/* It would save 5 us of 1 ms, or 20. */
static void a_cpu_that_saves_less_than_handing_out_costs_is_left_out(void **state)
{
    (void)state;
    assert_float_equal(share_of_cpu(500, 0), 0.005, 1e-9); /* a simulated GPU's host needs no time */
    assert_true(share_of_cpu(500, 10e-6) == 0);
    assert_float_equal(share_of_cpu(2000, 10e-6), 0.02, 1e-9);
    assert_true(share_of_cpu(2000, 30e-6) == 0);
}

/* 1 ms beside a CPU that has computed some of 100000 iterations in as long: what it would have needed for all is more, or as much; then 1.5 ms. */
static void what_the_cpu_would_have_done_sooner_is_waste(void **state)
{
    struct corun_split split = {.device_count = 2, .usable = {true, true}};
    (void)state;
    split.parameters.drift = 0.1;
    split.result.iterations = 100000;
    split.result.seconds = 1e-3;
    split.result.devices[0] = (struct corun_split_device_result){.iterations = 50000, .seconds = 1e-3};
    split.result.devices[1] = (struct corun_split_device_result){.iterations = 50000, .seconds = 1e-3};
    learn(&split);
    assert_float_equal(split.spent, 1e-3, 1e-12);
    assert_true(split.wasted == 0);
    split.result.devices[0] = (struct corun_split_device_result){.iterations = 90000, .seconds = 0.9e-3};
    split.result.seconds = 1.5e-3;
    learn(&split);
    assert_float_equal(split.wasted, 0.5e-3, 1e-12);
    split.result.seconds = 0.8e-3;
    learn(&split);
    assert_float_equal(split.wasted, 0.3e-3, 1e-12);
    assert_float_equal(split.spent, 3.3e-3, 1e-12);
}

/*
 * A part costs the GPU 10 ms, and 40 us for each iteration; an iteration costs the CPU 12 ms. Whatever the first round has taught, the rounds
 * come to last no longer than the GPU alone needs: a part that is given besides costs 10 ms, and is no reason to leave the CPU more.
 */
static void a_part_besides_is_no_speed(void **state)
{
    struct world world = {.speeds = {{0, 12e-3}, {10e-3, 40e-6}}};
    struct corun_split_rate_table tables[] = {table(&world.speeds[0]), table(&world.speeds[1])};
    struct corun_split_task task = {.name = "rounds", .iterations = 1000};
    struct corun_split_options options = {.rates = tables, .rate_count = 2};
    (void)state;
    tables[1].most = 8;
    assert_int_equal(corun_split_create(&task, &options, &world.split, NULL), CORUN_OK);
    world.result = corun_split_result(world.split);
    for (unsigned round = 0; round < 20; round++)
        round_of(&world);
    assert_true(world.result->seconds <= 50e-3 * 1.001);
    corun_split_destroy(world.split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_uses_what_the_one_before_has_learned),
        cmocka_unit_test(a_split_that_is_off_once_is_corrected),
        cmocka_unit_test(a_split_that_stays_off_is_measured_anew),
        cmocka_unit_test(corrections_continue_while_they_help),
        cmocka_unit_test(cap_divides_the_rest_of_a_late_cpu),
        cmocka_unit_test(what_is_kept_and_changed_is_shared_by_rates),
        cmocka_unit_test(a_cpu_that_would_be_waited_for_is_left_out),
        cmocka_unit_test(a_gpu_that_would_be_waited_for_is_left_out),
        cmocka_unit_test(a_cpu_is_tried_in_rounds_that_change),
        cmocka_unit_test(a_gpu_that_was_left_out_is_tried_in_larger_rounds),
        cmocka_unit_test(results_gather_behind_a_copy),
        cmocka_unit_test(rounds_may_be_shorter),
        cmocka_unit_test(a_learned_split_survives_a_failure),
        cmocka_unit_test(what_the_cpu_would_have_done_sooner_is_waste),
        cmocka_unit_test(a_cpu_that_saves_less_than_handing_out_costs_is_left_out),
        cmocka_unit_test(a_part_besides_is_no_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
