/* SPDX-License-Identifier: MIT */
/* A CPU so slow that the first thing it begins would be waited for: a GPU relieves it, by table and with a fake CUDA driver. */
#include "split/fake_cuda.h"
#include "split/tables.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { COUNT = 64000, GRANULE = 500, GRANULES = COUNT / GRANULE };

static const struct corun_split_parameters defaults = {
#define P(name, value, least, most, meaning) .name = value,
#include "corun/split_parameters.def"
#undef P
};

/* Time over that of the GPU alone, beside a CPU of so many times less speed, whose function asks so many times in a granule (0: never). */
static double over_the_gpu(double slower, double asks, uint32_t most)
{
    struct speed speeds[] = {{0, slower * 1e-6}, {0, 1e-6}};
    struct corun_split_rate_table tables[] = {table(&speeds[0]), table(&speeds[1])};
    const struct corun_split_task task = {.name = "task", .iterations = COUNT, .granularity = GRANULE};
    const struct corun_split_options options = {.strategy = "meet", .rates = tables, .rate_count = 2};
    struct corun_split *split;
    tables[0].asks = asks > 0 ? GRANULE * slower * 1e-6 / asks : 0;
    tables[1].most = most;
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
    const struct corun_split_result *result = corun_split_result(split);
    double seconds = result->seconds;
    assert_int_equal(result->devices[0].iterations + result->devices[1].iterations, COUNT);
    corun_split_destroy(split);
    return seconds / (COUNT * 1e-6);
}

/* A function that does not ask is waited for: a granule takes longer than the GPU for everything from 1 : GRANULES on. */
static void a_slow_cpu_costs_little(void **state)
{
    (void)state;
    for (uint32_t most = 1; most <= 8; most += 7) {
        for (int i = 0; i < 80; i++) { /* 20 to 18 000 */
            double slower = 20 * pow(1.09, i);
            assert_true(over_the_gpu(slower, 500, most) <= 1.02);
            assert_true(over_the_gpu(slower, 0, most) <= fmax(1.02, slower / GRANULES + 1e-9));
        }
    }
}

struct problem {
    const struct corun_split *split;
    unsigned calls;
    float *y;
    struct fake_control *fake;
};

fake_kernel count_up;
void count_up(uint64_t threads, void **arguments)
{
    float *y = (float *)(uintptr_t) * (uint64_t *)arguments[0]; /* NOLINT(performance-no-int-to-ptr): a fake GPU's */
    uint64_t begin = *(uint64_t *)arguments[1], end = *(uint64_t *)arguments[2];
    assert_true(threads >= end - begin);
    for (uint64_t i = begin; i < end; i++)
        y[i] = (float)i;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    uint64_t y = corun_split_gpu_address(gpu, 0);
    void *arguments[] = {&y, &begin, &end};
    const uint32_t grid[] = {(uint32_t)((end - begin + 255) / 256), 1, 1}, block[] = {256, 1, 1};
    (void)user;
    return corun_split_gpu_launch(gpu, "count_up", grid, block, 0, arguments);
}

static void set_hanging(struct fake_control *fake, int launch)
{
    pthread_mutex_lock(&fake->mutex);
    fake->hangs_at_launch = launch;
    pthread_mutex_unlock(&fake->mutex);
}

/* Spoils what it was asked for until nobody needs that. */
static enum corun_status never_ends(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    for (uint64_t i = begin; !corun_split_unneeded(problem->split, thread); i = i + 1 < end ? i + 1 : begin)
        problem->y[i] = -1;
    return CORUN_OK;
}

/* The first call takes long. */
static enum corun_status begins_slowly(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    (void)thread;
    if (!problem->calls++)
        nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
    for (uint64_t i = begin; i < end; i++)
        problem->y[i] = (float)i;
    return CORUN_OK;
}

struct world {
    struct fake_control *fake;
    struct problem problem;
    struct corun_split_buffer buffer;
    struct corun_split_task task;
    struct corun_split_parameters parameters;
    struct corun_split_options options;
};

static void prepare(struct world *world, uint32_t threads)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(library);
    *world = (struct world){.fake = dlsym(library, "fake_control"), .parameters = defaults};
    assert_non_null(world->fake);
    world->fake->launches = 0;
    world->fake->late_us = 0;
    world->fake->fails_at_launch = world->fake->hangs_at_launch = -1;
    world->problem.y = calloc(COUNT, sizeof *world->problem.y);
    world->buffer = (struct corun_split_buffer){.name = "y",
                                                .data = world->problem.y,
                                                .bytes = COUNT * sizeof(float),
                                                .iteration_bytes = sizeof(float),
                                                .access = CORUN_SPLIT_WRITE};
    world->task = (struct corun_split_task){.name = "count",
                                            .iterations = COUNT,
                                            .granularity = GRANULE,
                                            .gpu = on_gpu,
                                            .user = &world->problem,
                                            .buffers = &world->buffer,
                                            .buffer_count = 1,
                                            .module = "fake"};
    world->options =
        (struct corun_split_options){.strategy = "meet", .threads = threads, .parameters = &world->parameters};
}

/* Every number is there once the run has ended. Returns what the GPU has done. */
static uint64_t go(struct world *world)
{
    struct corun_split *split;
    assert_int_equal(corun_split_create(&world->task, &world->options, &split, NULL), CORUN_OK);
    world->problem.split = split;
    assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(world->problem.y[i] == (float)i);
    uint64_t of_gpu = corun_split_result(split)->devices[1].iterations;
    set_hanging(world->fake, -1);
    corun_split_destroy(split);
    free(world->problem.y);
    return of_gpu;
}

/* The GPU is not given all at once, and what the CPU begins is its own: it never ends that. */
static void a_gpu_relieves_the_cpu(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        struct world world;
        prepare(&world, threads);
        world.task.cpu = never_ends;
        world.fake->late_us = 20000; /* the CPU begins before the GPU has ended anything */
        assert_int_equal(go(&world), COUNT);
    }
}

/* Everything to the GPU, which the CPU computes as well until its function has asked; then the CPU gives that up. */
static void gives_up(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    unsigned *given_up = *(unsigned *const *)view->user;
    decision->feed = true;
    decision->parts[1] = view->left;
    decision->again = view->left > 0;
    decision->race = !view->left && !*given_up;
    decision->give_up = view->busy[0] && view->asks > 0;
    decision->recall = decision->give_up;
    *given_up += decision->give_up;
    decision->wake = *given_up ? 0 : view->now + 1e-3;
}

/* Never ends of itself, and the GPU ends nothing before it has. */
static enum corun_status never_ends_first(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    enum corun_status status = never_ends(user, begin, end, thread);
    set_hanging(problem->fake, -1);
    return status;
}

static void a_race_is_given_up(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        struct world world;
        unsigned count = 0, *given_up = &count;
        prepare(&world, threads);
        world.task.cpu = never_ends_first;
        world.options.function = gives_up;
        world.options.strategy_user = &given_up;
        world.problem.fake = world.fake;
        world.fake->hangs_at_launch = 0;
        assert_int_equal(go(&world), COUNT);
        assert_int_equal(count, 1);
    }
}

/* The CPU tries one granule of what a GPU has, and the GPU is left out meanwhile: the CPU does the rest of that, too. */
static void a_gpu_is_left_out_during_a_trial(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, 1);
    world.task.cpu = begins_slowly;
    world.task.gpu_blocks = 1.0 / COUNT; /* the task is small: the GPU is given all of it */
    world.parameters.hang = 0.05;
    world.fake->hangs_at_launch = 0;
    assert_int_equal(go(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_cpu_costs_little),
        cmocka_unit_test(a_gpu_relieves_the_cpu),
        cmocka_unit_test(a_race_is_given_up),
        cmocka_unit_test(a_gpu_is_left_out_during_a_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
