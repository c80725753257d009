/* SPDX-License-Identifier: MIT */
/* Real threads and a fake CUDA driver: what is computed, moved, redone after a failure, and kept from round to round. */
#include "split/engine.h"
#include "split/fake_cuda.h"
#include "split/gpu.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT 40000u

struct problem {
    float weights[16];
    float *x, *y;
    const struct corun_split *split;
    uint64_t asked; /* the end of the farthest range whose bytes were asked for */
};

struct world {
    struct problem problem;
    struct corun_split_buffer buffers[3];
    struct corun_split_task task;
    struct corun_split_options options;
    struct corun_split_parameters parameters;
    struct corun_split *split;
    const struct corun_split_result *result;
    struct fake_control *fake;
};

/* y[i] = y[i] + weights[i % 16] * x[i]: in place, so that doing it twice is noticed. */
static void compute(const float *weights, const float *x, float *y, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        y[i] += weights[i % 16] * x[i];
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    (void)thread;
    compute(problem->weights, problem->x, problem->y, begin, end);
    return CORUN_OK;
}

fake_kernel weigh;
void weigh(uint64_t threads, void **arguments)
{
    uint64_t address[3], begin = *(uint64_t *)arguments[3], end = *(uint64_t *)arguments[4];
    for (unsigned i = 0; i < 3; i++)
        address[i] = *(uint64_t *)arguments[i];
    assert_true(threads >= end - begin);
    compute((float *)(uintptr_t)address[0], (float *)(uintptr_t)address[1], (float *)(uintptr_t)address[2], begin, end);
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    uint64_t weights = corun_split_gpu_address(gpu, 0), x = corun_split_gpu_address(gpu, 1);
    uint64_t y = corun_split_gpu_address(gpu, 2);
    void *arguments[] = {&weights, &x, &y, &begin, &end};
    uint32_t grid[] = {(uint32_t)((end - begin + 255) / 256), 1, 1}, block[] = {256, 1, 1};
    (void)user;
    assert_non_null(corun_split_gpu_stream(gpu));
    return corun_split_gpu_launch(gpu, "weigh", grid, block, 0, arguments);
}

static const struct corun_split_parameters defaults = {
#define P(name, value, least, most, meaning) .name = value,
#include "corun/split_parameters.def"
#undef P
};

static void prepare(struct world *world, const char *strategy)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *world = (struct world){.parameters = defaults};
    assert_non_null(library);
    world->fake = dlsym(library, "fake_control");
    assert_non_null(world->fake);
    world->fake->launches = 0;
    world->fake->fails_at_launch = world->fake->hangs_at_launch = -1;
    world->fake->broken = world->fake->waits = world->fake->lookups = 0;
    world->fake->late_us = world->fake->slept = 0;
    world->fake->memory_bytes = world->fake->bytes_in = world->fake->bytes_out = 0;
    struct problem *problem = &world->problem;
    problem->x = malloc(COUNT * sizeof *problem->x);
    problem->y = malloc(COUNT * sizeof *problem->y);
    for (unsigned i = 0; i < 16; i++)
        problem->weights[i] = (float)i;
    for (unsigned i = 0; i < COUNT; i++) {
        problem->x[i] = (float)(i % 100);
        problem->y[i] = 1;
    }
    const struct corun_split_buffer buffers[] = {
        {.name = "weights", .data = problem->weights, .bytes = sizeof problem->weights, .kept = true},
        {.name = "x", .data = problem->x, .bytes = COUNT * 4, .iteration_bytes = 4, .kept = true},
        {.name = "y", .data = problem->y, .bytes = COUNT * 4, .iteration_bytes = 4, .access = CORUN_SPLIT_READ_WRITE}};
    memcpy(world->buffers, buffers, sizeof buffers);
    world->task = (struct corun_split_task){.name = "weigh",
                                            .iterations = COUNT,
                                            .cpu = on_cpu,
                                            .gpu = on_gpu,
                                            .user = problem,
                                            .buffers = world->buffers,
                                            .buffer_count = 3,
                                            .module = "fake"};
    world->options = (struct corun_split_options){.strategy = strategy, .threads = 3, .parameters = &world->parameters};
}

static void go(struct world *world)
{
    if (!world->split)
        assert_int_equal(corun_split_create(&world->task, &world->options, &world->split, NULL), CORUN_OK);
    assert_int_equal(corun_split_run(world->split, NULL), CORUN_OK);
    world->result = corun_split_result(world->split);
}

/* After so many rounds, every element was computed as often. */
static void check(const struct world *world, unsigned rounds)
{
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(world->problem.y[i] == 1 + (float)rounds * ((float)(i % 16) * (float)(i % 100)));
    uint64_t sum = 0;
    for (uint32_t d = 0; d < world->result->device_count; d++)
        sum += world->result->devices[d].iterations;
    assert_int_equal(sum, world->result->iterations);
}

static void end(struct world *world)
{
    corun_split_destroy(world->split);
    assert_int_equal(world->fake->pinned, 0);
    free(world->problem.x);
    free(world->problem.y);
}

static void every_strategy_computes_the_same(void **state)
{
    (void)state;
    for (const char *devices = "13"; *devices; devices++) {
        char text[] = {*devices, '\0'};
        setenv("FAKE_CUDA_DEVICES", text, 1);
        const char *name;
        for (uint32_t i = 0; (name = corun_split_strategy_name(i)); i++) {
            struct world world;
            prepare(&world, name);
            go(&world);
            check(&world, 1);
            assert_int_equal(corun_split_gpus(world.split), (unsigned)(*devices - '0'));
            assert_int_equal(corun_split_threads(world.split), 3);
            end(&world);
        }
    }
    setenv("FAKE_CUDA_DEVICES", "1", 1);
}

static void cpu_or_gpu_can_be_alone(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap");
    world.options.no_gpu = true;
    go(&world);
    check(&world, 1);
    assert_int_equal(world.fake->launches, 0);
    end(&world);
    prepare(&world, "cap");
    world.options.no_cpu = true;
    go(&world);
    check(&world, 1);
    assert_int_equal(world.result->devices[1].iterations, COUNT);
    end(&world);
    prepare(&world, "cap");
    world.options.no_cpu = world.options.no_gpu = true;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_NOT_FOUND);
    end(&world);
}

static enum corun_status nothing_on_cpu(void *user, uint64_t begin, uint64_t end_, unsigned thread)
{
    (void)user, (void)begin, (void)end_, (void)thread;
    return CORUN_OK;
}

static enum corun_status nothing_on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end_)
{
    (void)user, (void)gpu, (void)begin, (void)end_;
    return CORUN_OK;
}

/* A part moves its own bytes only; what is kept is moved once. */
static void only_what_a_part_needs_is_moved(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.parameters.cpu_share = 0.25;
    go(&world);
    uint64_t part = COUNT / 4 * 3 * 4;
    assert_int_equal(world.fake->bytes_in, 2 * part + sizeof world.problem.weights);
    assert_int_equal(world.fake->bytes_out, part);
    assert_int_equal(world.result->devices[1].bytes_in, world.fake->bytes_in);
    assert_int_equal(world.result->devices[1].bytes_out, world.fake->bytes_out);
    go(&world);
    check(&world, 2);
    assert_int_equal(world.fake->bytes_in, 3 * part + sizeof world.problem.weights); /* y, which may have changed */
    corun_split_changed(world.split, 1, COUNT * 4 - 400, 400);
    go(&world);
    assert_int_equal(world.fake->bytes_in, 4 * part + sizeof world.problem.weights + 400);
    end(&world);
}

/* A fifth for the CPU, whose iterations take 1 us, and 3 us to move. */
static void pretend_learned(struct corun_split *split)
{
    split->knows = true;
    split->learned[0] = 0.2;
    split->learned[1] = 0.8;
    split->cpu_each = 1e-6;
    split->moves[1] = (struct moves){.each = 3e-6, .iterations = COUNT};
    split->latency[1] = split->setup[1] = 0;
}

/* The program has changed all of what the GPU had: a share that was learned with it there is no more than what is moved in until the CPU has done the rest. */
static void what_was_changed_is_given_back(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.parameters.cpu_share = 0.25;
    go(&world);
    struct corun_split *split = world.split;
    assert_true(gpu_lacks(split->gpus[0], COUNT / 2, COUNT) == 0);
    corun_split_changed(split, 1, COUNT * 3, COUNT);
    assert_true(gpu_lacks(split->gpus[0], COUNT / 2, COUNT) == 0.5);
    pretend_learned(split);
    give_back_changed(split);
    assert_true(split->learned[1] == 0.8 && split->lacks[1] > 0 && split->lacks[1] < 0.4 * COUNT);
    corun_split_changed(split, 1, 0, (size_t)COUNT * 4);
    give_back_changed(split);
    assert_true(split->learned[1] == 0.25 && split->learned[0] == 0.75);
    split->learned[0] = 0.2;
    split->learned[1] = 0.8;
    split->moves[1].iterations = 100; /* they tell the latency of a copy, and not how long many take */
    give_back_changed(split);
    assert_true(split->learned[1] == 0.8);
    split->knows = false;
    end(&world);
}

/* A share may grow beyond what the GPU has: these bytes move once, and nothing is to be given back for them. */
static void what_was_never_there_is_not_given_back(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.parameters.cpu_share = 0.9;
    go(&world);
    struct corun_split *split = world.split;
    assert_true(gpu_lacks(split->gpus[0], COUNT / 5, COUNT) > 0.5);
    pretend_learned(split);
    give_back_changed(split);
    assert_true(split->learned[1] == 0.8);
    corun_split_changed(split, 1, 0, (size_t)COUNT * 4);
    give_back_changed(split);
    assert_true(split->learned[1] < 0.8);
    split->knows = false;
    end(&world);
}

/* Four bytes an iteration, and how far anybody has asked. */
static void watched(void *user, uint64_t begin, uint64_t end_, size_t *offset, size_t *bytes)
{
    struct problem *problem = user;
    problem->asked = end_ > problem->asked ? end_ : problem->asked;
    *offset = begin * 4;
    *bytes = (end_ - begin) * 4;
}

/* A run of fewer iterations than the one before: nobody asks for bytes of those that are no more. */
static void what_is_no_more_is_not_asked_for(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.parameters.cpu_share = 0.25;
    world.buffers[1].iteration_bytes = 0;
    world.buffers[1].range = watched;
    go(&world);
    struct corun_split *split = world.split;
    assert_int_equal(world.problem.asked, COUNT);
    assert_int_equal(corun_split_set_iterations(split, COUNT / 2), CORUN_OK);
    pretend_learned(split);
    corun_split_changed(split, 1, 0, (size_t)COUNT * 4);
    world.problem.asked = 0;
    give_back_changed(split);
    assert_true(split->learned[1] < 0.8);
    assert_int_equal(world.problem.asked, COUNT / 2);
    split->knows = false;
    end(&world);
}

static void hundredth(void *user, uint64_t begin, uint64_t end_, size_t *offset, size_t *bytes)
{
    (void)user;
    *offset = begin / 100;
    *bytes = end_ / 100 - begin / 100;
}

/* A copy of a few bytes takes as long as one of many: of a `kept` buffer of which little is missing, all is moved, and not again when another part needs it. */
static void little_is_moved_whole(void **state)
{
    struct world world;
    char little[COUNT / 100] = {0};
    (void)state;
    prepare(&world, "static");
    world.buffers[0] = (struct corun_split_buffer){
        .name = "little", .data = little, .bytes = sizeof little, .range = hundredth, .kept = true};
    world.task.granularity = 100;
    world.task.gpu = nothing_on_gpu;
    world.task.cpu = nothing_on_cpu;
    world.parameters.cpu_share = 0.25;
    go(&world);
    uint64_t part = COUNT / 4 * 3 * 4;
    assert_int_equal(world.fake->bytes_in, 2 * part + sizeof little);
    corun_split_changed(world.split, 0, 0, 10);
    go(&world);
    assert_int_equal(world.fake->bytes_in, 3 * part + sizeof little); /* what has changed, no part needs */
    end(&world);
}

/* What a GPU has written itself it need not be told; what the CPU has written it must. */
static void results_stay_where_they_were_made(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.buffers[2].kept = true;
    world.parameters.cpu_share = 0.5;
    go(&world);
    uint64_t first = world.fake->bytes_in;
    go(&world);
    check(&world, 2);
    assert_int_equal(world.fake->bytes_in, first);
    end(&world);
}

/* The CPU has all of the first run, and the GPU fetches 8000 iterations; in the second run it has these, and 1000 before. */
static void fetch_then_use(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    uint64_t *held = (uint64_t *)view->user;
    if (view->step_count)
        return;
    *held = view->held[1];
    assert_true(view->keeps);
    decision->fetch[1] = *held ? 0 : 8000;
    decision->parts[1] = *held ? *held + 1000 : 0;
    decision->parts[0] = COUNT - decision->parts[1];
    decision->share[*held ? 1 : 0] = 1;
}

/* By the program's thread, and by one of the library (memory that cannot be pinned needs that, and so do two GPUs). */
static void what_is_fetched_is_there(void **state)
{
    (void)state;
    for (int threads = 0; threads < 2; threads++) {
        struct world world;
        uint64_t held = 1;
        prepare(&world, NULL);
        world.options.function = fetch_then_use;
        world.options.strategy_user = &held;
        world.task.granularity = 100;
        if (threads)
            setenv("FAKE_CUDA_DEVICES", "2", 1);
        go(&world);
        assert_int_equal(held, 0);
        check(&world, 1);
        uint64_t moved = world.fake->bytes_in; /* a thread of the library may not have come to it */
        assert_true(threads ? moved == 0 || moved == 8000 * 4 : moved == 8000 * 4);
        go(&world);
        check(&world, 2);
        assert_true(threads ? held == moved / 4 : held == 8000);
        if (held)
            assert_int_equal(world.fake->bytes_in - moved, 1000 * 4 + 9000 * 4 + sizeof world.problem.weights);
        corun_split_changed(world.split, 1, COUNT * 4 - 400, 400);
        go(&world);
        check(&world, 3);
        end(&world);
        unsetenv("FAKE_CUDA_DEVICES");
    }
}

static void much_is_moved_in_chunks(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.options.no_cpu = true;
    world.parameters.copy_bytes = 65536;
    go(&world);
    check(&world, 1);
    assert_int_equal(world.fake->launches, 2 * COUNT * 4 / 65536);
    end(&world);
}

/* However much it moves: parts overlap with each other. */
static void a_part_that_is_fed_is_one_launch(void **state)
{
    struct world world;
    uint32_t parts = 0;
    (void)state;
    prepare(&world, "meet");
    world.parameters.copy_bytes = 4096;
    world.parameters.open = 0.25;
    go(&world);
    check(&world, 1);
    for (uint32_t i = 0; i < world.result->step_count; i++)
        parts += world.result->steps[i].part[1].end > world.result->steps[i].part[1].begin;
    assert_int_not_equal(parts, 0);
    assert_int_equal(world.fake->launches, parts);
    end(&world);
}

/* A GPU breaks in the middle of a part: the CPU does what it had not finished, exactly once. */
static void the_cpu_finishes_what_a_gpu_does_not(void **state)
{
    const char *name;
    (void)state;
    for (uint32_t i = 0; (name = corun_split_strategy_name(i)); i++) {
        struct world world;
        prepare(&world, name);
        world.fake->fails_at_launch = strcmp(name, "split") ? 0 : 5; /* others may need no second part, as times fall */
        go(&world);
        check(&world, 1);
        assert_string_equal(world.result->devices[1].failure, "an event: CUDA_ERROR_ILLEGAL_ADDRESS");
        go(&world); /* left out from now on */
        check(&world, 2);
        assert_int_equal(world.result->devices[1].iterations, 0);
        assert_non_null(world.result->devices[1].failure);
        end(&world);
    }
}

/* The same with a GPU that works beside the host, watched by the thread of the run, or by threads that sleep in the driver. */
static void a_late_gpu_may_fail(void **state)
{
    const char *name;
    (void)state;
    for (uint32_t i = 0; (name = corun_split_strategy_name(i)); i++) {
        for (int launch = 0; launch < 12; launch++) {
            struct world world;
            prepare(&world, name);
            world.task.gpu_blocks = 1.0 / 256;
            world.task.gpu_block_threads = 256;
            world.parameters.copy_bytes = 4096;
            world.parameters.spin_us = launch % 3 ? launch % 3 == 1 ? 20 : 1e6 : 0;
            world.fake->fails_at_launch = launch < 9 ? launch : -1;
            world.fake->late_us = 50;
            for (unsigned round = 0; round < 3; round++) {
                go(&world);
                check(&world, round + 1);
            }
            if (!launch)
                assert_non_null(world.result->devices[1].failure);
            end(&world);
        }
    }
}

/* The thread of the run looks for the end of a part itself, if the part is short; then nobody sleeps in the driver. */
static void short_parts_are_watched(void **state)
{
    struct world world;
    (void)state;
    for (int watched = 0; watched < 2; watched++) {
        prepare(&world, "static");
        world.parameters.cpu_share = 0;
        world.parameters.spin_us = watched ? 60e6 : 0;
        assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
        world.fake->late_us = 20000;
        go(&world);
        check(&world, 1);
        assert_int_equal(world.fake->slept > 0, !watched);
        end(&world);
    }
}

static void other_gpus_continue(void **state)
{
    struct world world;
    (void)state;
    setenv("FAKE_CUDA_DEVICES", "3", 1);
    prepare(&world, "split");
    world.options.no_cpu = true;
    world.fake->fails_at_launch = 4;
    go(&world);
    check(&world, 1);
    unsigned failed = 0;
    for (uint32_t d = 1; d < 4; d++)
        failed += world.result->devices[d].failure != NULL;
    assert_int_equal(failed, 1);
    end(&world);
    setenv("FAKE_CUDA_DEVICES", "1", 1);
    prepare(&world, "cap");
    world.options.no_cpu = true;
    world.fake->fails_at_launch = 0;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
    assert_int_equal(corun_split_run(world.split, NULL), CORUN_FAULT); /* nobody is left */
    end(&world);
}

static enum corun_status sleeps(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end_)
{
    const struct timespec time = {0, 200 * 1000 * 1000};
    nanosleep(&time, NULL);
    return on_gpu(user, gpu, begin, end_);
}

static enum corun_status launches_nothing(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end_)
{
    (void)user;
    (void)gpu;
    (void)begin;
    (void)end_;
    return CORUN_OK;
}

/* A call of a real driver may take 10 us: a part for which nothing is moved waits for nothing, and others wait. */
static void a_part_waits_for_bytes_alone(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.options.no_cpu = true;
    world.task.gpu = launches_nothing;
    world.buffers[0] = world.buffers[2]; /* what is only written */
    world.buffers[0].access = CORUN_SPLIT_WRITE;
    world.task.buffer_count = 1;
    go(&world);
    assert_int_equal(world.fake->waits, 0);
    end(&world);
    prepare(&world, "static");
    world.options.no_cpu = true;
    go(&world);
    check(&world, 1);
    assert_true(world.fake->waits > 0);
    end(&world);
}

/* Before the first part; what stands in a comment alone is not missed. */
static void kernels_are_looked_up_early(void **state)
{
    static const char text[] = "fake // .entry nothing\n.visible .entry weigh(\n)\n";
    char name[] = "/tmp/corun-split-XXXXXX";
    int file = mkstemp(name);
    struct world world;
    (void)state;
    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    prepare(&world, "static");
    world.task.module = NULL;
    world.task.module_file = name;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
    assert_int_equal(world.fake->lookups, 2);
    go(&world);
    check(&world, 1);
    assert_int_equal(world.fake->lookups, 2);
    end(&world);
    unlink(name);
}

static void set_hanging(struct world *world, int launch)
{
    pthread_mutex_lock(&world->fake->mutex);
    world->fake->hangs_at_launch = launch;
    pthread_mutex_unlock(&world->fake->mutex);
}

/* A GPU does not answer any more: the CPU does its part, exactly once, and the result says so. What it says later is not heard. */
static void a_gpu_that_hangs_is_left_out(void **state)
{
    const char *name;
    (void)state;
    for (uint32_t i = 0; (name = corun_split_strategy_name(i)); i++) {
        struct world world;
        prepare(&world, name);
        world.parameters.hang = 0.05;
        set_hanging(&world, 0);
        go(&world);
        check(&world, 1);
        assert_int_equal(world.result->devices[1].iterations, 0);
        assert_non_null(strstr(world.result->devices[1].failure, "has not answered"));
        go(&world);
        check(&world, 2);
        set_hanging(&world, -1);
        go(&world);
        check(&world, 3);
        end(&world);
    }
}

/* Where nobody else could do it, a GPU is waited for. */
static void the_only_gpu_is_waited_for(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.options.no_cpu = true;
    world.parameters.hang = 0.01;
    world.task.gpu = sleeps;
    go(&world);
    check(&world, 1);
    assert_null(world.result->devices[1].failure);
    end(&world);
}

/* What nobody changes in place may be computed by both: the CPU has everything before the GPU has anything, and no time limit is needed. */
static void meet_needs_no_time_limit(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet");
    world.buffers[2].access = CORUN_SPLIT_WRITE; /* the GPU's y would be 0 before */
    set_hanging(&world, 0);
    go(&world);
    check(&world, 1);
    assert_int_equal(world.result->devices[0].iterations, COUNT);
    set_hanging(&world, -1);
    end(&world);
}

/* Of a real GPU that has all of the task the CPU tries a single granule first: it would be waited for. */
static void the_cpu_tries_one_granule(void **state)
{
    enum { GRANULE = 1000 };
    struct world world;
    uint64_t sizes[2] = {0};
    uint32_t count = 0;
    (void)state;
    prepare(&world, "meet");
    world.buffers[2].access = CORUN_SPLIT_WRITE;
    world.task.gpu_blocks = 1.0 / COUNT; /* the task is small: the GPU is given all of it */
    world.task.granularity = GRANULE;
    set_hanging(&world, 0);
    go(&world);
    check(&world, 1);
    for (uint32_t i = 0; i < world.result->step_count && count < 2; i++) {
        const struct corun_split_part *part = &world.result->steps[i].part[0];
        if (part->end > part->begin)
            sizes[count++] = part->end - part->begin;
    }
    assert_int_equal(count, 2);
    assert_int_equal(sizes[0], GRANULE);
    assert_true(sizes[1] > GRANULE); /* its rate is known */
    set_hanging(&world, -1);
    end(&world);
}

/* Spoils what it was asked for until nobody needs that. */
static enum corun_status never_ends(void *user, uint64_t begin, uint64_t end_, unsigned thread)
{
    struct problem *problem = user;
    for (uint64_t i = begin; !corun_split_unneeded(problem->split, thread); i = i + 1 < end_ ? i + 1 : begin)
        problem->y[i] = -1;
    return CORUN_OK;
}

/* A function that asks is stopped when a GPU was first, and what it has written is overwritten. */
static void what_nobody_needs_is_given_up(void **state)
{
    (void)state;
    assert_false(corun_split_unneeded(NULL, 0));
    for (unsigned late_us = 0; late_us <= 3000; late_us += 1500) { /* watched, or not any more */
        struct world world;
        prepare(&world, "meet");
        world.buffers[2].access = CORUN_SPLIT_WRITE;
        world.buffers[2].kept = true; /* the GPU's y is what it was there, 0 */
        world.task.cpu = never_ends;
        world.task.gpu_blocks = 1.0 / COUNT; /* the task is small: the GPU is given all of it */
        world.task.granularity = 1000;
        assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
        world.problem.split = world.split;
        world.fake->late_us = late_us;
        for (unsigned round = 0; round < 3; round++) {
            go(&world);
            for (unsigned i = 0; i < COUNT; i++)
                assert_true(world.problem.y[i] == (float)(round + 1) * ((float)(i % 16) * (float)(i % 100)));
            assert_int_equal(world.result->devices[1].iterations, COUNT);
        }
        end(&world);
    }
}

/* Many short rounds, parts left over, changed buffers: what a GPU has of them is never old. */
static void stale_parts_do_no_harm(void **state)
{
    struct world world;
    (void)state;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    prepare(&world, "meet");
    world.task.gpu_blocks = 1.0 / 512;
    world.task.gpu_block_threads = 256;
    world.parameters.copy_bytes = 4096;
    for (unsigned round = 0; round < 200; round++) {
        if (round)
            corun_split_changed(world.split, 1, 0, round % 7 ? 400 : 0);
        go(&world);
        check(&world, round + 1);
    }
    end(&world);
    setenv("FAKE_CUDA_DEVICES", "1", 1);
}

static void a_gpu_without_room_is_left_out(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap");
    world.fake->memory_bytes = 1000;
    go(&world);
    check(&world, 1);
    assert_non_null(world.result->devices[1].failure);
    end(&world);
}

static enum corun_status fails(void *user, uint64_t begin, uint64_t end_, unsigned thread)
{
    (void)user;
    (void)thread;
    return begin <= 5000 && end_ > 5000 ? CORUN_FILE : CORUN_OK;
}

static void a_failing_cpu_function_ends_the_run(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap");
    world.task.cpu = fails;
    world.options.no_gpu = true;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
    assert_int_equal(corun_split_run(world.split, NULL), CORUN_FILE);
    end(&world);
}

static enum corun_status run_again(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    if (corun_split_run((struct corun_split *)problem->split, NULL) != CORUN_ARGUMENT)
        return CORUN_FAULT;
    return on_cpu(user, begin, end, thread);
}

/* It would wait for itself. */
static void a_run_inside_a_run_is_refused(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "meet");
    world.options.no_gpu = true;
    world.task.cpu = run_again;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
    world.problem.split = world.split;
    for (unsigned round = 0; round < 2; round++)
        go(&world);
    check(&world, 2);
    end(&world);
}

static void descriptions_that_cannot_be_are_refused(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "cap");
    world.buffers[2].iteration_bytes = 0;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_ARGUMENT);
    world.buffers[2].iteration_bytes = 8;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_ARGUMENT);
    world.buffers[2].iteration_bytes = 4;
    world.task.module = "not a module";
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_SYNTAX);
    world.options.strategy = "none";
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_NOT_FOUND);
    assert_null(world.split);
    end(&world);
}

/* Threads and a failing GPU under the simulated clock, where CPU parts are repeated: in place, and right all the same. */
static void repeated_parts_are_restored(void **state)
{
    struct world world;
    (void)state;
    for (int launch = -1; launch < 3; launch++) {
        prepare(&world, "cap");
        world.options.clock = CORUN_SPLIT_CLOCK_SIMULATED;
        world.fake->fails_at_launch = launch;
        go(&world);
        assert_true(world.result->simulated);
        check(&world, 1);
        end(&world);
    }
}

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* While a GPU works for 0.2 s, the CPU's three threads and the program's have nothing to do: all of them sleep. */
static void who_waits_does_not_spin(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.parameters.cpu_share = 0;
    world.task.gpu = sleeps;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
    double before = processor_seconds();
    go(&world);
    assert_true(processor_seconds() - before < 0.1);
    check(&world, 1);
    end(&world);
}

/* A run in which the GPU ends nothing before the CPU has begun, and the CPU ends nothing before the GPU has been given the rest. */
struct meeting {
    struct world world;
    atomic_uint_fast64_t first; /* iteration that the GPU has been given */
};

static enum corun_status given_late(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end_)
{
    struct meeting *meeting = user;
    if (begin < atomic_load(&meeting->first))
        atomic_store(&meeting->first, begin);
    return on_gpu(user, gpu, begin, end_);
}

enum { FIRST_GRANULE = 100 };

static enum corun_status begins_early(void *user, uint64_t begin, uint64_t end_, unsigned thread)
{
    struct meeting *meeting = user;
    set_hanging(&meeting->world, -1);
    for (unsigned i = 0; !begin && i < 10000 && atomic_load(&meeting->first) > FIRST_GRANULE; i++)
        usleep(1000);
    if (!begin)
        usleep(50000); /* who is offered the rest again and again is so in this time */
    return on_cpu(&meeting->world.problem, begin, end_, thread);
}

/* Meet, which counts how often it is asked. */
static void counted_meet(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    unsigned *const *asked = view->user;
    assert_true(++**asked < 100); /* who is offered the same again and again is asked for ever */
    corun_split_strategy_find("meet")(view, decision);
}

/* A GPU that has done everything but what the CPU has begun gets none of that, and is not offered it again and again. */
static void what_is_begun_is_not_offered(void **state)
{
    struct meeting meeting = {.first = COUNT};
    struct world *world = &meeting.world;
    unsigned count = 0, *asked = &count;
    (void)state;
    prepare(world, NULL);
    world->options.function = counted_meet;
    world->options.strategy_user = &asked;
    world->options.threads = 1;
    world->task.cpu = begins_early;
    world->task.gpu = given_late;
    world->task.user = &meeting;
    world->task.granularity = FIRST_GRANULE;
    set_hanging(world, 0);
    go(world);
    check(world, 1);
    assert_int_equal(atomic_load(&meeting.first), FIRST_GRANULE);
    assert_int_equal(world->result->devices[0].iterations, FIRST_GRANULE);
    end(world);
}

/* Who watches a GPU goes to sleep when a part takes longer than `spin_us`. */
static void who_watches_sleeps_in_time(void **state)
{
    struct world world;
    (void)state;
    prepare(&world, "static");
    world.parameters.cpu_share = 0;
    assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_OK);
    world.fake->late_us = 300000;
    double before = processor_seconds();
    go(&world);
    assert_true(processor_seconds() - before < 0.1);
    assert_true(world.fake->slept > 0);
    check(&world, 1);
    end(&world);
}

static void settings_have_the_last_word(void **state)
{
    struct world world;
    (void)state;
    setenv("CORUN_SPLIT", "strategy=split,threads=1,gpus=0,first=1/4,block=10000", 1);
    prepare(&world, "cap");
    go(&world);
    assert_string_equal(world.result->strategy, "split");
    assert_int_equal(corun_split_threads(world.split), 1);
    assert_int_equal(corun_split_gpus(world.split), 0);
    assert_int_equal(world.result->steps[0].iterations, 10000);
    end(&world);
    static const char *const wrong[] = {"strategy",  "strategy=none", "threads=-1", "threads=1.5", "first=2",
                                        "first=1/0", "first=x",       "clock=sun",  "nothing=1",   "variance=nan"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("CORUN_SPLIT", wrong[i], 1);
        prepare(&world, "cap");
        assert_int_equal(corun_split_create(&world.task, &world.options, &world.split, NULL), CORUN_SYNTAX);
        end(&world);
    }
    unsetenv("CORUN_SPLIT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_computes_the_same),
        cmocka_unit_test(cpu_or_gpu_can_be_alone),
        cmocka_unit_test(only_what_a_part_needs_is_moved),
        cmocka_unit_test(what_was_changed_is_given_back),
        cmocka_unit_test(what_was_never_there_is_not_given_back),
        cmocka_unit_test(what_is_no_more_is_not_asked_for),
        cmocka_unit_test(little_is_moved_whole),
        cmocka_unit_test(results_stay_where_they_were_made),
        cmocka_unit_test(what_is_fetched_is_there),
        cmocka_unit_test(much_is_moved_in_chunks),
        cmocka_unit_test(a_part_that_is_fed_is_one_launch),
        cmocka_unit_test(the_cpu_finishes_what_a_gpu_does_not),
        cmocka_unit_test(a_late_gpu_may_fail),
        cmocka_unit_test(short_parts_are_watched),
        cmocka_unit_test(other_gpus_continue),
        cmocka_unit_test(a_part_waits_for_bytes_alone),
        cmocka_unit_test(kernels_are_looked_up_early),
        cmocka_unit_test(a_gpu_that_hangs_is_left_out),
        cmocka_unit_test(the_only_gpu_is_waited_for),
        cmocka_unit_test(meet_needs_no_time_limit),
        cmocka_unit_test(the_cpu_tries_one_granule),
        cmocka_unit_test(what_nobody_needs_is_given_up),
        cmocka_unit_test(stale_parts_do_no_harm),
        cmocka_unit_test(a_gpu_without_room_is_left_out),
        cmocka_unit_test(a_failing_cpu_function_ends_the_run),
        cmocka_unit_test(a_run_inside_a_run_is_refused),
        cmocka_unit_test(descriptions_that_cannot_be_are_refused),
        cmocka_unit_test(repeated_parts_are_restored),
        cmocka_unit_test(who_waits_does_not_spin),
        cmocka_unit_test(what_is_begun_is_not_offered),
        cmocka_unit_test(who_watches_sleeps_in_time),
        cmocka_unit_test(settings_have_the_last_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
