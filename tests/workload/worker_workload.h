/* SPDX-License-Identifier: MIT */
/*
 * A workload whose kernels have been rewritten for workers, and one run of it: without timing, or on the simulated GPU, where the table
 * changes while workers run.
 */
#ifndef TESTS_WORKLOAD_WORKER_WORKLOAD_H
#define TESTS_WORKLOAD_WORKER_WORKLOAD_H

#include "rewrite/workers.h"
#include "rewritten_workload.h"

enum { MANY = 1000, MOST_SMS = 256, MOST_IN_FLIGHT = 16, ROOM = 20000 };

/* How a run goes. */
struct crew {
    uint32_t
        flags; /* set of enum worker_flag; SEATED is for the first workers of a launch, DIRECT for grids that fit at once */
    uint64_t random;  /* 0: every place is owed from the beginning to the end. Else the seed of what the table says */
    uint32_t changes; /* of the table, at most, in each launch; then every place is owed */
    uint32_t step;    /* cycles between two of them, at most */
    bool drops;       /* workers that may be told to leave at once, and are now and then */
    /* Thread blocks of a draw, 0 as 1, and how many for each worker are left to be drawn one by one. */
    uint32_t range, rounds;
};

struct worker_run {
    struct rewritten_workload base;
    struct rewritten_workload
        plain; /* with `drops`: the kernels as they are, whose launches tell whether thread blocks may start again */
    struct crew crew;
    uint64_t returned;      /* with `drops`: thread blocks that were given back, in device memory */
    uint64_t queue, places; /* in device memory; all launches use the same. Behind the places those of somebody else */
    uint32_t launch;        /* of the workload, from 0 */
    const struct launch *whole;
    uint32_t single; /* thread blocks of the launch that are drawn one by one at least */
    bool may_drop;
    /* What was counted. */
    uint64_t worker_launches, tb_count, changes;
    uint64_t given_back; /* thread blocks that were dropped, or drawn and not begun */
    uint64_t first_cycle, last_cycle;
    struct corun_application_result result;
    struct corun_counters counters; /* of all kernels */
};

static inline void put(const struct worker_run *run, uint64_t address, const void *from, size_t bytes)
{
    assert_int_equal(corun_memory_write(corun_instance_memory(run->base.instance), address, from, bytes), CORUN_OK);
}

static inline void get(const struct worker_run *run, uint64_t address, void *to, size_t bytes)
{
    assert_int_equal(corun_memory_read(corun_instance_memory(run->base.instance), address, to, bytes), CORUN_OK);
}

/* Without a crew: the kernels as they are, whole. */
static inline struct worker_run worker_run_assemble(const char *specification, const struct crew *crew,
                                                    uint32_t assembling)
{
    rewrite_pass *pass = !crew ? NULL : crew->drops ? workers_dropping_module : workers_module;
    struct worker_run run = {.base = rewritten_workload_assemble(specification, pass, assembling)};
    static const struct worker_place places[2 * MOST_SMS];
    if (!crew)
        return run;
    run.crew = *crew;
    struct corun_memory *memory = corun_instance_memory(run.base.instance);
    assert_int_equal(corun_memory_allocate(memory, sizeof(struct worker_queue), &run.queue), CORUN_OK);
    assert_int_equal(corun_memory_allocate(memory, sizeof places, &run.places), CORUN_OK);
    put(&run, run.places, places, sizeof places);
    if (crew->drops)
        run.plain = rewritten_workload_create(specification, NULL);
    if (crew->drops)
        assert_int_equal(corun_memory_allocate(memory, ROOM * sizeof(struct worker_returned), &run.returned), CORUN_OK);
    return run;
}

static inline struct worker_run worker_run_create(const char *specification, const struct crew *crew)
{
    return worker_run_assemble(specification, crew, 0);
}

static inline void worker_run_destroy(struct worker_run *run)
{
    rewritten_workload_destroy(&run->base);
    if (run->crew.drops)
        rewritten_workload_destroy(&run->plain);
}

static inline void set_limit(const struct worker_run *run, uint32_t sm, uint16_t limit)
{
    put(run, run->places + sm * sizeof(struct worker_place), &limit, sizeof limit);
}

static inline void set_limits(const struct worker_run *run, uint32_t sms, uint16_t limit)
{
    for (uint32_t sm = 0; sm < sms; sm++)
        set_limit(run, sm, limit);
}

/* Somebody else has so many workers there, who never run. */
static inline void set_others(const struct worker_run *run, uint32_t sm, uint16_t count)
{
    uint64_t place = run->places + (MOST_SMS + sm) * sizeof(struct worker_place);
    put(run, place + offsetof(struct worker_place, resident), &count, sizeof count);
}

static inline void end_others(const struct worker_run *run, uint32_t sms)
{
    for (uint32_t sm = 0; sm < sms; sm++)
        set_others(run, sm, 0);
}

static inline struct worker_queue read_queue(const struct worker_run *run)
{
    struct worker_queue queue;
    get(run, run->queue, &queue, sizeof queue);
    return queue;
}

/* Thread blocks that the table has counted, on all SMs; nobody may be there. */
static inline uint64_t read_done(const struct worker_run *run)
{
    struct worker_place places[MOST_SMS];
    uint64_t done = 0;
    get(run, run->places, places, sizeof places);
    for (uint32_t sm = 0; sm < MOST_SMS; sm++) {
        assert_int_equal(places[sm].resident, 0);
        done += places[sm].done;
    }
    return done;
}

/* Goes on to the next launch, with the copies before it, which `workers` are to begin; false behind the last one. */
static inline bool next_launch(struct worker_run *run)
{
    const struct corun_grid *plain = run->crew.drops ? corun_instance_grid(run->plain.instance, run->launch) : NULL;
    run->may_drop = plain && plain->idempotent;
    run->whole = (const struct launch *)corun_instance_grid(run->base.instance, run->launch++);
    return run->whole;
}

static inline struct worker_dropping_arguments arguments_of(const struct worker_run *run, uint32_t flags)
{
    const struct launch *whole = run->whole;
    struct worker_dropping_arguments arguments = {.returned = run->returned,
                                                  .room = run->returned ? ROOM - MOST_SMS * 32 : 0};
    struct worker_arguments *plain = &arguments.plain;
    flags |= run->may_drop ? WORKERS_DROP : 0;
    worker_arguments_set(plain, (const uint32_t[]){whole->dim.x, whole->dim.y, whole->dim.z}, flags);
    if (run->base.rewritten.module && rewritten_kernel_find(&run->base.rewritten, whole->kernel->info.name)->ranges)
        worker_arguments_range(plain, run->crew.range, run->single);
    plain->queue = run->queue;
    plain->places = run->places;
    plain->stride = MOST_SMS * sizeof(struct worker_place);
    plain->grid_id = run->launch;
    return arguments;
}

static inline void begin_queue(struct worker_run *run, uint32_t workers)
{
    run->single = workers * run->crew.rounds;
    const struct worker_dropping_arguments arguments = arguments_of(run, run->crew.flags);
    struct worker_queue queue;
    worker_queue_set(&queue, &arguments.plain, workers);
    put(run, run->queue, &queue, sizeof queue);
    run->tb_count += total_of(run->whole);
}

/* A launch of so many workers, or the launch as it is if the kernels are. */
static inline struct corun_grid *worker_grid(struct worker_run *run, uint32_t workers, uint32_t flags)
{
    const struct launch *whole = run->whole;
    const struct worker_dropping_arguments arguments = arguments_of(run, flags);
    run->worker_launches++;
    return rewritten_workload_grid(&run->base, whole,
                                   flags & WORKERS_DIRECT ? whole->dim : (struct corun_dim3){workers, 1, 1}, &arguments,
                                   run->crew.drops ? sizeof arguments : sizeof arguments.plain);
}

/* What workers have said of a launch that has ended is right. */
static inline void check_launch(struct worker_run *run)
{
    const struct worker_dropping_arguments arguments = arguments_of(run, run->crew.flags);
    struct worker_queue queue = read_queue(run);
    run->given_back += queue.total - worker_draws(&arguments.plain);
    if (run->crew.flags & WORKERS_TELL)
        assert_int_equal(queue.alive, 0);
    assert_int_equal(read_done(run), run->tb_count);
}

/*
 * Without timing: a worker begins when the one before it has ended, or waits.
 */
static inline void run_worker_grid(struct worker_run *run, uint32_t workers, uint32_t flags)
{
    struct corun_grid *grid = worker_grid(run, workers, flags);
    if (corun_run_functional(grid, 0, run->base.list, NULL, NULL, NULL))
        stop_with(run->base.list, "running");
}

static inline void run_without_timing(struct worker_run *run)
{
    static const uint16_t limits[] = {0, 1, MANY};
    uint64_t random = run->crew.random;
    while (next_launch(run)) {
        uint32_t workers = 5, launches = 0, again = run->crew.flags & ~(uint32_t)WORKERS_SEATED;
        if (!run->base.rewritten.module) {
            run_worker_grid(run, 0, 0);
            continue;
        }
        begin_queue(run, workers);
        do {
            set_limit(run, 0, limits[run->crew.random ? corun_random(&random) % 3 : 2]);
            run_worker_grid(run, workers, launches ? again : run->crew.flags);
            if (++launches > 1000)
                fail_msg("workers do not come to an end");
        } while (read_queue(run).next < read_queue(run).total);
        check_launch(run);
    }
}

/*
 * With timing.
 */
struct worker_gpu {
    struct corun_gpu *gpu;
    const struct corun_gpu_config *config;
    uint32_t application;
    uint32_t launches[MOST_IN_FLIGHT], in_flight;
    uint64_t cycle; /* of the last end of a launch */
    uint64_t random;
};

static inline void launch_on(struct worker_run *run, struct worker_gpu *machine, uint32_t workers, uint32_t flags)
{
    const struct corun_grid *grid = worker_grid(run, workers, flags);
    uint32_t *launch = &machine->launches[machine->in_flight++];
    if (corun_gpu_launch(machine->gpu, machine->application, grid, machine->cycle, 0, launch))
        stop_with(run->base.list, "launching with timing");
}

/* Takes out what has ended. */
static inline void settle(struct worker_run *run, struct worker_gpu *machine)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < machine->in_flight; i++) {
        struct corun_launched launched;
        corun_gpu_launched(machine->gpu, machine->application, machine->launches[i], &launched);
        if (launched.status)
            stop_with(run->base.list, "running with timing");
        if (!launched.ended) {
            machine->launches[kept++] = machine->launches[i];
            continue;
        }
        machine->cycle = launched.last_cycle;
        run->first_cycle = run->first_cycle ? run->first_cycle : launched.first_cycle;
        run->last_cycle = launched.last_cycle;
    }
    machine->in_flight = kept;
}

static inline bool fits(struct worker_run *run, const struct worker_gpu *machine)
{
    const char *limit;
    const struct corun_grid *grid = (const struct corun_grid *)run->whole;
    return total_of(run->whole) <= (uint64_t)corun_gpu_occupancy(machine->config, grid, &limit) * machine->config->sms;
}

/* As many as fit the GPU, and no more than can have something to do. */
static inline uint32_t workers_that_fit(struct worker_run *run, const struct worker_gpu *machine)
{
    const char *limit;
    struct corun_grid *grid = worker_grid(run, 1, 0);
    uint64_t fit = (uint64_t)corun_gpu_occupancy(machine->config, grid, &limit) * machine->config->sms;
    uint64_t wanted = total_of(run->whole);
    run->worker_launches--;
    return (uint32_t)(fit < wanted ? fit : wanted);
}

/* Something else is owed: everything, nothing, or a few places on some SMs, there and then after somebody else, who comes and goes. */
static inline void change_table(struct worker_run *run, struct worker_gpu *machine)
{
    static const uint16_t limits[] = {0, 0, 1, 2, 3, MANY};
    uint64_t *random = &machine->random;
    run->changes++;
    /* Who is to leave in the middle of a thread block needs some time to hear of it. */
    const uint32_t all = run->crew.drops ? 64 : 8, sms = run->crew.drops ? 1 : 1 + machine->config->sms / 4;
    if (corun_random(random) % all == 0) {
        bool at_once = run->crew.drops && corun_random(random) % 2;
        set_limits(run, machine->config->sms,
                   corun_random(random) % 2 ? MANY : worker_limit(0, at_once ? WORKERS_AT_ONCE : 0));
        return;
    }
    for (uint32_t i = 0; i < sms; i++) {
        uint32_t sm = (uint32_t)(corun_random(random) % machine->config->sms);
        uint16_t limit = limits[corun_random(random) % 6];
        bool at_once = run->crew.drops && corun_random(random) % 2;
        set_limit(run, sm, worker_limit(limit, at_once ? WORKERS_AT_ONCE : corun_random(random) % 3 == 0));
        set_others(run, (uint32_t)(corun_random(random) % machine->config->sms), (uint16_t)(corun_random(random) % 2));
    }
}

static inline void wait_for_all(struct worker_run *run, struct worker_gpu *machine)
{
    for (; machine->in_flight; settle(run, machine))
        if (corun_gpu_advance(machine->gpu, UINT64_MAX / 2))
            stop_with(run->base.list, "running with timing");
}

/* One launch of the workload, by workers. */
static inline void run_launch(struct worker_run *run, struct worker_gpu *machine)
{
    uint32_t workers = workers_that_fit(run, machine), changes = 0;
    if (run->crew.flags & WORKERS_DIRECT && fits(run, machine)) {
        launch_on(run, machine, workers, run->crew.flags);
        wait_for_all(run, machine);
        return;
    }
    const uint32_t first = run->crew.flags & ~(uint32_t)WORKERS_DIRECT, again = first & ~(uint32_t)WORKERS_SEATED;
    bool changing = run->crew.random;
    begin_queue(run, workers);
    launch_on(run, machine, workers, first);
    for (struct worker_queue queue = read_queue(run); machine->in_flight || queue.next < queue.total;
         queue = read_queue(run)) {
        bool grow = changing && corun_random(&machine->random) % 4 == 0 && machine->in_flight < MOST_IN_FLIGHT;
        if (!machine->in_flight || grow)
            launch_on(run, machine, workers, again);
        uint64_t step = changing ? 20 + corun_random(&machine->random) % run->crew.step : UINT64_MAX / 2;
        if (corun_gpu_advance(machine->gpu, corun_gpu_cycles(machine->gpu) + step))
            stop_with(run->base.list, "running with timing");
        settle(run, machine);
        if (changing && ++changes < run->crew.changes) {
            change_table(run, machine);
        } else if (changing) {
            changing = false;
            end_others(run, machine->config->sms);
            set_limits(run, machine->config->sms, MANY);
        }
    }
    check_launch(run);
}

/* One run, alone on a GPU. */
static inline void run_with_timing(struct worker_run *run, const struct corun_gpu_config *config)
{
    struct worker_gpu machine = {.config = config, .random = run->crew.random};
    const struct corun_application_description description = {.name = "workers", .goal = CORUN_GOAL_NONE};
    const struct corun_limits limits = {.applications = 1};
    if (corun_gpu_create(config, run->base.list, &machine.gpu))
        stop_with(run->base.list, "running with timing");
    if (corun_gpu_open(machine.gpu, &limits, run->base.list) ||
        corun_gpu_add(machine.gpu, &description, &machine.application))
        stop_with(run->base.list, "running with timing");
    while (next_launch(run)) {
        if (run->base.rewritten.module) {
            set_limits(run, config->sms, MANY);
            run_launch(run, &machine);
            continue;
        }
        run->tb_count += total_of(run->whole);
        launch_on(run, &machine, 0, 0);
        wait_for_all(run, &machine);
    }
    corun_gpu_application(machine.gpu, machine.application, &run->result);
    for (uint32_t i = 0; i < run->result.kernel_count; i++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(machine.gpu, machine.application, i, &kernel);
        corun_counters_add(&run->counters, &kernel.counters);
    }
    corun_gpu_destroy(machine.gpu);
}

#endif
