/* SPDX-License-Identifier: MIT */
/* What strategies decide, and what comes of it with devices whose rates are known: worked out by hand. */
#include "split/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_float_equal(a, b, 1e-9)

struct world {
    struct speed speeds[4];
    struct corun_split_rate_table tables[4];
    struct corun_split_parameters parameters;
    struct corun_split_task task;
    struct corun_split_options options;
    struct corun_split *split;
    const struct corun_split_result *result;
};

static const struct corun_split_parameters defaults = {
#define P(name, value, least, most, meaning) .name = value,
#include "corun/split_parameters.def"
#undef P
};

static void prepare(struct world *world, const char *strategy, uint64_t iterations, uint32_t devices,
                    const struct speed *speeds)
{
    *world = (struct world){.parameters = defaults};
    for (uint32_t d = 0; d < devices; d++) {
        world->speeds[d] = speeds[d];
        world->tables[d] = table(&world->speeds[d]);
    }
    world->task = (struct corun_split_task){.name = "task", .iterations = iterations};
    world->options = (struct corun_split_options){
        .strategy = strategy, .parameters = &world->parameters, .rates = world->tables, .rate_count = devices};
}

/* Which waits, and divides by the last rates. */
static void as_in_the_thesis(struct world *world)
{
    world->parameters.patience = 1e9;
    world->parameters.extrapolate = 0;
}

static void go(struct world *world)
{
    if (!world->split)
        assert_int_equal(corun_split_create(&world->task, &world->options, &world->split, NULL), CORUN_OK);
    assert_int_equal(corun_split_run(world->split, NULL), CORUN_OK);
    world->result = corun_split_result(world->split);
    uint64_t done = 0;
    for (uint32_t d = 0; d < world->result->device_count; d++)
        done += world->result->devices[d].iterations;
    assert_int_equal(done, world->result->iterations);
}

static void end(struct world *world)
{
    corun_split_destroy(world->split);
}

static uint64_t given(const struct world *world, uint32_t step, uint32_t device)
{
    const struct corun_split_part *part = &world->result->steps[step].part[device];
    return part->end - part->begin;
}

/* The example behind algorithm 4-2: 65536 iterations, 1/128 is 512, 256 for each. Then 1024 if the split has not settled. */
static void cap_follows_the_example(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 65536, 2, (struct speed[]){{0, 3e-6}, {0, 1e-6}});
    as_in_the_thesis(&world);
    go(&world);
    assert_int_equal(world.result->step_count, 3);
    assert_int_equal(given(&world, 0, 0), 256);
    assert_int_equal(given(&world, 0, 1), 256);
    assert_int_equal(given(&world, 1, 0), 256); /* 1024 by 1 : 3 */
    assert_int_equal(given(&world, 1, 1), 768);
    NEAR(world.result->steps[1].variance, 0.25 * 0.25 / 4);
    NEAR(world.result->steps[2].variance, 0); /* settled: the rest, 65536 - 512 - 1024 */
    assert_in_range(given(&world, 2, 0), 15999, 16001);
    assert_int_equal(given(&world, 2, 0) + given(&world, 2, 1), 64000);
    assert_true(world.result->steps[1].profiling);
    assert_false(world.result->steps[2].profiling);
    NEAR(world.result->profiled, 1536 / 65536.0);
    end(&world);
}

/* Devices of the same speed: the even split is right at once, and the second step is the last (65024 iterations). */
static void cap_stops_after_a_first_step_that_was_right(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 65536, 2, (struct speed[]){{0, 1e-6}, {0, 1e-6}});
    go(&world);
    assert_int_equal(world.result->step_count, 2);
    assert_int_equal(given(&world, 1, 0) + given(&world, 1, 1), 65024);
    NEAR(world.result->imbalance, 0);
    NEAR(world.result->seconds, 65536 / 2 * 1e-6);
    end(&world);
}

/* A GPU whose rate keeps growing: 512, 1024, … 16384, and then four times the step exceed what is left. */
static void cap_doubles_until_too_little_is_left(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 65536, 2, (struct speed[]){{0, 1e-6}, {2e-3, 1e-7}});
    as_in_the_thesis(&world);
    world.parameters.variance = 0;
    go(&world);
    assert_int_equal(world.result->step_count, 7);
    uint64_t step = 512;
    for (uint32_t i = 0; i < 6; i++, step *= 2) {
        assert_int_equal(given(&world, i, 0) + given(&world, i, 1), step);
        assert_true(world.result->steps[i].profiling);
    }
    assert_false(world.result->steps[6].profiling);
    NEAR(world.result->profiled, 63.0 / 128);
    end(&world);
}

static void quick_measures_once(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "quick", 12800, 2, (struct speed[]){{0, 4e-6}, {0, 1e-6}});
    go(&world);
    assert_int_equal(world.result->step_count, 2);
    assert_int_equal(given(&world, 0, 0), 50);
    assert_in_range(given(&world, 1, 0), 12700 / 5 - 1, 12700 / 5 + 1);
    assert_float_equal(world.result->seconds, 50 * 4e-6 + 2540 * 4e-6, 4e-6);
    end(&world);
}

static void split_measures_every_block(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "split", 5000, 2, (struct speed[]){{0, 1e-6}, {0, 1e-6 / 3}});
    go(&world);
    assert_int_equal(world.result->step_count, 5);
    assert_int_equal(given(&world, 0, 0), 512);
    for (uint32_t i = 1; i < 4; i++)
        assert_int_equal(given(&world, i, 0), 256);
    assert_int_equal(given(&world, 4, 0) + given(&world, 4, 1), 5000 - 4096);
    end(&world);
}

static void static_takes_the_share_that_it_is_given(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static", 1000, 3, (struct speed[]){{0, 1e-6}, {0, 1e-6}, {0, 1e-6}});
    world.parameters.cpu_share = 0.2;
    go(&world);
    assert_int_equal(world.result->step_count, 1);
    assert_int_equal(given(&world, 0, 0), 200);
    assert_int_equal(given(&world, 0, 1), 400);
    assert_int_equal(given(&world, 0, 2), 400);
    NEAR(world.result->imbalance, 0.5);
    end(&world);
}

/* Three devices: the ratio is a vector. */
static void shares_are_a_vector(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 120000, 3, (struct speed[]){{0, 6e-6}, {0, 3e-6}, {0, 2e-6}});
    world.parameters.patience = 1e9;
    go(&world);
    const struct corun_split_step *last = &world.result->steps[world.result->step_count - 1];
    NEAR(last->share[0], 1.0 / 6);
    NEAR(last->share[1], 2.0 / 6);
    NEAR(last->share[2], 3.0 / 6);
    assert_true(world.result->step_count == 3);
    assert_true(world.result->imbalance < 0.02);
    end(&world);
}

static void parts_end_at_granules(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 100003, 3, (struct speed[]){{0, 3e-6}, {0, 2e-6}, {0, 1e-6}});
    world.task.granularity = 64;
    go(&world);
    for (uint32_t i = 0; i < world.result->step_count; i++) {
        for (uint32_t d = 0; d < 3; d++) {
            const struct corun_split_part *part = &world.result->steps[i].part[d];
            assert_int_equal(part->begin % 64, part->begin == part->end ? part->begin % 64 : 0);
            assert_true(part->end % 64 == 0 || part->end == 100003 || part->begin == part->end);
        }
    }
    end(&world);
}

static void apportioning_gives_everything_away(void **state)
{
    struct corun_split_view view = {.granularity = 1, .device_count = 3, .usable = {true, true, true}};
    uint64_t parts[3];
    (void)state;
    corun_split_apportion(&view, 10, (double[]){1, 1, 1}, parts);
    assert_int_equal(parts[0] + parts[1] + parts[2], 10);
    assert_int_equal(parts[0], 4); /* equal remainders: the first device */
    corun_split_apportion(&view, 7, (double[]){0, 0, 5}, parts);
    assert_int_equal(parts[2], 7);
    view.granularity = 4;
    corun_split_apportion(&view, 10, (double[]){0.5, 0.5, 0}, parts);
    assert_int_equal(parts[0] + parts[1], 10);
    assert_int_equal(parts[2], 0);
    view.usable[0] = false;
    corun_split_apportion(&view, 10, (double[]){0.5, 0.5, 0}, parts);
    assert_int_equal(parts[0], 0);
    assert_int_equal(parts[1], 10);
    view.granularity = 1;
    corun_split_apportion(&view, UINT64_MAX / 2, (double[]){1, 1e-30, 1}, parts);
    assert_true(parts[1] + parts[2] == UINT64_MAX / 2);
}

/* The slow side may cost at most 2 %, whatever the ratio; with rates that do not depend on sizes cap comes close to the ideal. */
static void slow_sides_cost_little(void **state)
{
    static const double ratios[] = {1e-4, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20, 50, 100, 1e4};
    (void)state;
    for (unsigned i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        struct world world;
        double gpu = 1e-6, cpu = gpu / ratios[i]; /* seconds of an iteration */
        prepare(&world, "cap", 1 << 20, 2, (struct speed[]){{0, cpu}, {0, gpu}});
        go(&world);
        double alone = (1 << 20) * fmin(cpu, gpu), ideal = (1 << 20) / (1 / cpu + 1 / gpu);
        assert_true(world.result->seconds <= 1.02 * alone || ratios[i] > 100);
        assert_true(ideal / world.result->seconds >= 0.93 || ratios[i] > 100);
        end(&world);
    }
}

static void a_slow_cpu_is_recalled(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 100000, 2, (struct speed[]){{0, 1e-3}, {0, 1e-6}});
    go(&world);
    const struct corun_split_part *first = &world.result->steps[0].part[0];
    assert_true(first->done > 0 && first->done < first->end - first->begin);
    end(&world);
}

static void a_gpu_that_is_late_is_left_behind(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 100000, 2, (struct speed[]){{0, 1e-6}, {0, 1e-4}});
    go(&world);
    const struct corun_split_part *first = &world.result->steps[0].part[1];
    assert_int_equal(first->done, first->end - first->begin);
    assert_true(first->seconds > world.result->steps[1].start);
    end(&world);
}

/* There is nothing to learn about a device without another. */
static void the_only_device_gets_everything(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct world world;
        prepare(&world, i ? "cap" : "quick", 10000, 2, (struct speed[]){{0, 1e-6}, {1e-3, 1e-6}});
        world.tables[0].seconds = NULL;
        go(&world);
        assert_int_equal(world.result->step_count, 1);
        assert_int_equal(given(&world, 0, 1), 10000);
        NEAR(world.result->profiled, 0);
        end(&world);
    }
}

/*
 * A GPU whose time hardly depends on the size of a part, beside a slow CPU: its first part is as large as is known to be flat, and after it
 * the GPU gets what is left, but for what the CPU completes meanwhile.
 */
static void a_gpu_that_is_not_full_is_not_underrated(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap", 4096, 2, (struct speed[]){{0, 7e-7}, {50e-6, 7e-9}});
    world.tables[1].flat = 512;
    go(&world);
    assert_int_equal(given(&world, 0, 1), 512);
    assert_true(world.result->seconds <= 2 * (50e-6 + 4096 * 7e-9));
    end(&world);
}

/*
 * The GPU is twice as fast. First part: 1/32 of 96000, 3000, done at 3 ms, when the CPU has done 1500 of its 93000. Then the rest in the ratio
 * 2 : 1: 61000 for the GPU, which ends at 64 ms, as the CPU does. Nobody has waited.
 */
static void meet_lets_nobody_wait(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet", 96000, 2, (struct speed[]){{0, 2e-6}, {0, 1e-6}});
    go(&world);
    assert_int_equal(given(&world, 0, 1), 3000);
    assert_int_equal(given(&world, 1, 1), 61000);
    assert_in_range(world.result->devices[0].iterations, 31999, 32001);
    assert_float_equal(world.result->seconds, 64e-3, 1e-5);
    assert_true(world.result->imbalance < 1e-3);
    NEAR(world.result->profiled, 0);
    end(&world);
}

/* The GPU needs a second for any part, the CPU 10 ms for everything: it does what the GPU was given, and the run ends with it. */
static void meet_does_not_wait_for_a_late_gpu(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet", 10000, 2, (struct speed[]){{0, 1e-6}, {1, 1e-9}});
    go(&world);
    NEAR(world.result->seconds, 10e-3);
    assert_int_equal(world.result->devices[0].iterations, 10000);
    assert_int_equal(world.result->devices[1].iterations, 0);
    /* The part is still under way in the next runs, and no other one is begun beside it. */
    go(&world);
    NEAR(world.result->seconds, 10e-3);
    assert_int_equal(world.result->step_count, 1);
    end(&world);
}

/*
 * The CPU needs a second for everything. The GPU has half of that, and computes it in `start`; its results would take `back` more.
 */
static void what_comes_back_late_is_not_sent_for(double start, double back, double seconds, uint64_t of_gpu)
{
    struct world world;
    prepare(&world, "meet", 1000, 2, (struct speed[]){{0, 1e-3}, {start, 0}});
    world.parameters.open = 0.5;
    world.tables[1].back = back;
    go(&world);
    NEAR(world.result->seconds, seconds);
    assert_int_equal(world.result->devices[1].iterations, of_gpu);
    end(&world);
}

static void meet_sends_for_no_results_that_come_late(void **state)
{
    (void)state;
    what_comes_back_late_is_not_sent_for(0.9, 0.5, 1, 0); /* the CPU races the GPU when that has computed its part */
    what_comes_back_late_is_not_sent_for(0.4, 0.7, 1, 0); /* the CPU is still at its own */
    what_comes_back_late_is_not_sent_for(0.4, 0.3, 0.7, 500); /* that is sooner than the CPU */
}

/* The whole part counts the way back, whatever the strategy. */
static void results_take_time_to_come_back(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static", 1000, 2, (struct speed[]){{0, 1e-3}, {0.4, 0}});
    world.tables[1].back = 0.3;
    go(&world);
    NEAR(world.result->seconds, 0.7);
    end(&world);
}

/* A GPU ends in the middle of what the CPU computes as well: the CPU keeps what it has begun, the GPU delivers the rest. */
static void meet_in_the_middle_of_a_part(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet", 1000, 2, (struct speed[]){{0, 1e-3}, {1.2, 0}});
    world.parameters.open = 0.5;
    go(&world); /* the CPU has done its 500 at 0.5 s, and 500 of the GPU's would last until 1 s: it is first */
    NEAR(world.result->seconds, 1);
    end(&world);
    prepare(&world, "meet", 1000, 2, (struct speed[]){{0, 1e-3}, {0.8, 0}});
    world.parameters.open = 0.5;
    go(&world); /* at 0.8 s the CPU has done 800 */
    NEAR(world.result->seconds, 0.8);
    assert_in_range(world.result->devices[0].iterations, 799, 801);
    end(&world);
}

/* Of a GPU that becomes late: the iterations below 400 take a second more. */
static double late_seconds(void *user, uint64_t begin, uint64_t end)
{
    return seconds_of(user, begin, end) + (begin < 400 ? 1 : 0);
}

/*
 * A granule of 100 takes the CPU 0.3 s and the GPU 0.1 s. At 0.5 s the GPU has computed its first half and gets more; the CPU ends its
 * second granule at 0.6 s. A third one would end at 0.9 s, and the GPU has everything at 0.8 s: it is not begun.
 */
static void meet_begins_no_granule_that_ends_late(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet", 1000, 2, (struct speed[]){{0, 3e-3}, {0, 1e-3}});
    world.task.granularity = 100;
    world.parameters.open = 0.5;
    go(&world);
    NEAR(world.result->seconds, 0.8);
    assert_int_equal(world.result->devices[0].iterations, 200);
    end(&world);
}

/* The GPU is late by more than a granule: the CPU has waited until then, and does the rest. */
static void meet_goes_on_beside_a_gpu_that_is_late(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet", 1000, 2, (struct speed[]){{0, 3e-3}, {0, 1e-3}});
    world.tables[1].seconds = late_seconds;
    world.task.granularity = 100;
    world.parameters.open = 0.5;
    go(&world);
    NEAR(world.result->seconds,
         2); /* expected at 0.8 s, late since 1.1 s, there at 1.8 s, in the third granule since then */
    assert_int_equal(world.result->devices[0].iterations, 500);
    end(&world);
}

/* What is changed in place is not computed twice. */
static void meet_does_not_race_in_place(void **state)
{
    static float numbers[1000];
    struct world world;
    struct corun_split_buffer buffer = {.name = "numbers",
                                        .data = numbers,
                                        .bytes = sizeof numbers,
                                        .iteration_bytes = 4,
                                        .access = CORUN_SPLIT_READ_WRITE};
    (void)state;
    prepare(&world, "meet", 1000, 2, (struct speed[]){{0, 1e-3}, {1.2, 0}});
    world.parameters.open = 0.5;
    world.task.buffers = &buffer;
    world.task.buffer_count = 1;
    go(&world);
    NEAR(world.result->seconds, 1.2);
    assert_int_equal(world.result->devices[1].iterations, 500);
    end(&world);
}

static void meet_costs_nothing_at_any_ratio(void **state)
{
    static const double ratios[] = {0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20, 50, 100};
    static const double fixed_times[] = {0, 0.001, 0.02};
    (void)state;
    for (unsigned i = 0; i < 3 * sizeof ratios / sizeof ratios[0]; i++) {
        struct world world;
        double gpu = 1e-6, cpu = gpu / ratios[i / 3], fixed = fixed_times[i % 3] * (1 << 20) * gpu;
        prepare(&world, "meet", 1 << 20, 2, (struct speed[]){{0, cpu}, {fixed, gpu}});
        go(&world);
        double gpu_alone = (1 << 20) * gpu + fixed, cpu_alone = (1 << 20) * cpu;
        assert_true(world.result->seconds <= 1.02 * fmin(gpu_alone, cpu_alone));
        assert_true(1 / (1 / gpu_alone + 1 / cpu_alone) / world.result->seconds >= 0.93);
        end(&world);
    }
}

static void meet_survives_a_failure(void **state)
{
    (void)state;
    for (uint64_t at = 1; at < 60000; at += 997) {
        struct world world;
        prepare(&world, "meet", 60000, 3, (struct speed[]){{0, 2e-6}, {1e-4, 1e-6}, {1e-3, 5e-7}});
        world.tables[2].fails_at = at;
        world.tables[1].most = world.tables[2].most = 3;
        go(&world);
        end(&world);
    }
}

/* What nobody can decide is said, not done. */
static void greedy(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    decision->parts[0] = view->left + 1;
}

static void idle(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    (void)view;
    (void)decision;
}

static void halves(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    const double *share = view->user;
    if (!view->busy[0] && !view->busy[1])
        corun_split_apportion(view, view->left > 10 ? view->left / 2 : view->left, share, decision->parts);
}

static void users_bring_their_own(void **state)
{
    struct world world;
    double share[] = {1, 3};
    (void)state;
    prepare(&world, NULL, 1000, 2, (struct speed[]){{0, 1}, {0, 1}});
    world.options.function = halves;
    world.options.strategy_user = share;
    go(&world);
    assert_int_equal(given(&world, 0, 0), 125);
    assert_int_equal(given(&world, 0, 1), 375);
    assert_string_equal(world.result->strategy, "own");
    end(&world);
    corun_split_strategy *wrong[] = {greedy, idle};
    for (unsigned i = 0; i < 2; i++) {
        prepare(&world, NULL, 1000, 2, (struct speed[]){{0, 1}, {0, 1}});
        world.options.function = wrong[i];
        assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
        assert_int_equal(corun_split_run(world.split, NULL), CORUN_ARGUMENT);
        end(&world);
    }
}

static void strategies_have_names(void **state)
{
    static const char *const names[] = {"static", "quick", "split", "cap", "meet"};
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(corun_split_strategy_name(i), names[i]);
        assert_non_null(corun_split_strategy_find(names[i]));
    }
    assert_null(corun_split_strategy_name(5));
    assert_null(corun_split_strategy_find("none"));
}

/* A learned round: the CPU computes [0, 900) in 1 us each, 450 are done; a GPU has computed its 100 in 50 us. */
static void late_cpu(struct world *world, struct corun_split_view *view, struct corun_split_step *step)
{
    static const double learned[] = {0.9, 0.1};
    *world = (struct world){.parameters = defaults};
    *step = (struct corun_split_step){.iterations = 1000, .share = {0.9, 0.1}};
    step->part[0] = (struct corun_split_part){.end = 900, .done = 450, .seconds = 450e-6, .busy = true};
    step->part[1] = (struct corun_split_part){.begin = 900, .end = 1000, .done = 100, .seconds = 50e-6};
    *view = (struct corun_split_view){.iterations = 1000, .granularity = 1, .now = 450e-6, .threads = 1};
    view->device_count = 2;
    view->usable[0] = view->usable[1] = view->busy[0] = view->keeps = true;
    view->queued[0] = view->most[0] = view->most[1] = 1;
    view->usual = 900e-6;
    view->learned = learned;
    view->parameters = &world->parameters;
    view->step_count = 1;
    view->steps = step;
    view->piece[1] = 64;
    view->held[1] = 100;
}

/* What is left is divided anew where its bytes are there, or arrive soon enough; else they are moved for later rounds. */
static void cap_counts_what_has_to_be_moved(void **state)
{
    const struct {
        uint64_t held;
        double start, each;
        bool ahead, divided;
        uint64_t fetched;
    } cases[] = {
        {1000, 0, 3e-6, true, true, 0},       /* all is there */
        {100, 0, 1e-7, true, true, 0},        /* at once */
        {100, 50e-6, 3e-6, true, false, 133}, /* (450 - 50) / 3; the 300 that the GPU would get take 900 us */
        {100, 0, 0, true, false, 64},         /* nothing is known: a piece */
        {100, 50e-6, 3e-6, false, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        struct corun_split_view view;
        struct corun_split_step step;
        struct corun_split_decision decision = {.variance = -1};
        late_cpu(&world, &view, &step);
        view.held[1] = cases[i].held;
        view.moving_start[1] = cases[i].start;
        view.moving[1] = cases[i].each;
        world.parameters.ahead = cases[i].ahead;
        corun_split_strategy_find("cap")(&view, &decision);
        assert_int_equal(decision.recall, cases[i].divided);
        assert_int_equal(decision.fetch[1], cases[i].fetched);
        view.fetches[1] = true; /* once in a run */
        decision = (struct corun_split_decision){.variance = -1};
        corun_split_strategy_find("cap")(&view, &decision);
        assert_int_equal(decision.fetch[1], 0);
    }
}

/* What a GPU was told before is on its way: a further copy behind it is told when the line is free. */
static void a_fetch_waits_for_the_one_before(void **state)
{
    struct world world;
    struct corun_split_view view;
    struct corun_split_step step;
    struct corun_split_decision decision = {.variance = -1};
    (void)state;
    late_cpu(&world, &view, &step);
    view.moving[1] = 3e-6;
    view.moving_start[1] = 50e-6;
    view.fetched_at[1] = 460e-6;
    corun_split_strategy_find("cap")(&view, &decision);
    assert_int_equal(decision.fetch[1], 0);
    assert_true(fabs(decision.wake - 460e-6) < 1e-9);
}

/* The GPU's part takes 600 us, and the CPU's next one 900 less 1 for each iteration that is fetched: for the rest of that the GPU can wait. */
static void a_fetch_may_last_into_the_next_run(void **state)
{
    struct world world;
    struct corun_split_view view;
    struct corun_split_step step;
    struct corun_split_decision decision = {.variance = -1};
    (void)state;
    late_cpu(&world, &view, &step);
    view.moving[1] = 3e-6;
    view.moving_start[1] = 50e-6;
    view.expected[1] = 600e-6;
    corun_split_strategy_find("cap")(&view, &decision);
    assert_in_range(decision.fetch[1], 174, 175); /* 450 us, and 725 - 600: 50 + 175 * 3 */
}

/* What lies before the first GPU's iterations are the second one's, as long as that has any. */
static void the_gpu_beside_the_cpu_fetches(void **state)
{
    const double learned[2][3] = {{0.85, 0.1, 0.05}, {0.9, 0.1, 0}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world world;
        struct corun_split_view view;
        struct corun_split_step step;
        struct corun_split_decision decision = {.variance = -1};
        late_cpu(&world, &view, &step);
        step.part[2] =
            (struct corun_split_part){.begin = 850, .end = 900, .done = i ? 0 : 50, .seconds = i ? 0 : 25e-6};
        view.device_count = 3;
        view.usable[2] = true;
        view.most[2] = 1;
        view.piece[2] = 64;
        view.held[2] = 50;
        view.learned = learned[i];
        view.may_race = true;
        view.moving[1] = view.moving[2] = 3e-6;
        view.moving_start[1] = view.moving_start[2] = 50e-6;
        corun_split_strategy_find("meet")(&view, &decision);
        assert_int_equal(decision.fetch[1] > 0, i);
        assert_true(decision.fetch[2] > 0);
    }
}

/* meet gives such a GPU nothing more, and its CPU goes on. */
static void meet_gives_what_is_there(void **state)
{
    struct world world;
    struct corun_split_view view;
    struct corun_split_step step;
    (void)state;
    for (int held = 0; held < 2; held++) {
        struct corun_split_decision decision = {.variance = -1};
        late_cpu(&world, &view, &step);
        view.moving[1] = 3e-6;
        view.moving_start[1] = 450e-6;
        view.held[1] = held ? 1000 : 100;
        view.may_race = true;
        corun_split_strategy_find("meet")(&view, &decision);
        assert_true(held ? decision.parts[1] > 100 : decision.parts[1] == 0);
        assert_int_equal(decision.recall, 0);
    }
}

/* A GPU that the CPU has done without is tried again when its tries have cost no more than 1 % of all runs. */
static void meet_tries_a_gpu_as_often_as_it_pays(void **state)
{
    static const double alone[] = {1, 0};
    struct world world;
    struct corun_split_view view;
    struct corun_split_step step;
    (void)state;
    for (int tried = 0; tried < 2; tried++) {
        struct corun_split_decision decision = {.variance = -1};
        late_cpu(&world, &view, &step);
        view.step_count = 0;
        view.left = 1000;
        view.busy[0] = false;
        view.queued[0] = 0;
        view.learned = alone;
        view.now = 0;
        view.spent = 1e-3;
        view.wasted = tried ? 9e-6 : 11e-6;
        corun_split_strategy_find("meet")(&view, &decision);
        assert_true(tried ? decision.parts[1] > 0 : decision.parts[1] == 0);
        assert_int_equal(decision.parts[0] + decision.parts[1], 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cap_follows_the_example),
        cmocka_unit_test(cap_stops_after_a_first_step_that_was_right),
        cmocka_unit_test(cap_doubles_until_too_little_is_left),
        cmocka_unit_test(quick_measures_once),
        cmocka_unit_test(split_measures_every_block),
        cmocka_unit_test(static_takes_the_share_that_it_is_given),
        cmocka_unit_test(shares_are_a_vector),
        cmocka_unit_test(parts_end_at_granules),
        cmocka_unit_test(apportioning_gives_everything_away),
        cmocka_unit_test(slow_sides_cost_little),
        cmocka_unit_test(a_slow_cpu_is_recalled),
        cmocka_unit_test(a_gpu_that_is_late_is_left_behind),
        cmocka_unit_test(the_only_device_gets_everything),
        cmocka_unit_test(a_gpu_that_is_not_full_is_not_underrated),
        cmocka_unit_test(meet_lets_nobody_wait),
        cmocka_unit_test(meet_does_not_wait_for_a_late_gpu),
        cmocka_unit_test(meet_sends_for_no_results_that_come_late),
        cmocka_unit_test(results_take_time_to_come_back),
        cmocka_unit_test(meet_in_the_middle_of_a_part),
        cmocka_unit_test(meet_begins_no_granule_that_ends_late),
        cmocka_unit_test(meet_goes_on_beside_a_gpu_that_is_late),
        cmocka_unit_test(meet_does_not_race_in_place),
        cmocka_unit_test(meet_costs_nothing_at_any_ratio),
        cmocka_unit_test(meet_survives_a_failure),
        cmocka_unit_test(users_bring_their_own),
        cmocka_unit_test(strategies_have_names),
        cmocka_unit_test(cap_counts_what_has_to_be_moved),
        cmocka_unit_test(a_fetch_waits_for_the_one_before),
        cmocka_unit_test(a_fetch_may_last_into_the_next_run),
        cmocka_unit_test(the_gpu_beside_the_cpu_fetches),
        cmocka_unit_test(meet_gives_what_is_there),
        cmocka_unit_test(meet_tries_a_gpu_as_often_as_it_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
