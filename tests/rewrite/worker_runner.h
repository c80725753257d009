/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of workers: a grid that is run whole, and by workers with limits that change, on memory of the same content. */
#ifndef TESTS_REWRITE_WORKER_RUNNER_H
#define TESTS_REWRITE_WORKER_RUNNER_H

#include "rewrite/workers.h"
#include "rewrite_runner.h"

/* How a grid is run by workers. Without timing there is one SM, and a worker begins when the one before it has ended or waits. */
struct crew {
    uint32_t workers; /* of each launch */
    uint32_t flags;   /* set of enum worker_flag; SEATED is for those of the first launch */
    uint64_t
        random; /* 0: the limit stays 1000. Else it is drawn before every launch: often 0, sometimes 1, sometimes many */
    uint32_t range,
        single; /* as in worker_arguments_range, where the kernel may have that; 0: a draw is of one thread block */
};

/* Queue and table in device memory. */
struct worker_table {
    uint64_t queue, place;
};

static inline void read_device(const struct loaded *loaded, uint64_t address, void *to, size_t bytes)
{
    assert_int_equal(corun_memory_read(loaded->memory, address, to, bytes), CORUN_OK);
}

static inline void write_device(const struct loaded *loaded, uint64_t address, const void *from, size_t bytes)
{
    assert_int_equal(corun_memory_write(loaded->memory, address, from, bytes), CORUN_OK);
}

static inline uint32_t total_of(struct corun_dim3 grid)
{
    return grid.x * grid.y * grid.z;
}

/* The arguments of a launch by a crew. */
static inline struct worker_arguments worker_arguments_of(const struct rewrite_case *item,
                                                          const struct worker_table *table,
                                                          const struct test_launch *launch, const struct crew *crew)
{
    struct worker_arguments arguments;
    worker_arguments_set(&arguments, (const uint32_t[]){launch->grid.x, launch->grid.y, launch->grid.z}, crew->flags);
    if (rewrite_case_kernel(item, launch->kernel)->ranges)
        worker_arguments_range(&arguments, crew->range, crew->single);
    arguments.queue = table->queue;
    arguments.places = table->place;
    arguments.grid_id = 77;
    return arguments;
}

static inline struct worker_table table_create(const struct loaded *loaded, const struct rewrite_case *item,
                                               const struct test_launch *launch, const struct crew *crew)
{
    struct worker_table table = {0};
    struct worker_queue queue;
    const struct worker_place place = {.limit = 1000};
    const struct worker_arguments arguments = worker_arguments_of(item, &table, launch, crew);
    worker_queue_set(&queue, &arguments, crew->workers);
    assert_int_equal(corun_memory_allocate(loaded->memory, sizeof queue, &table.queue), CORUN_OK);
    assert_int_equal(corun_memory_allocate(loaded->memory, sizeof place, &table.place), CORUN_OK);
    write_device(loaded, table.queue, &queue, sizeof queue);
    write_device(loaded, table.place, &place, sizeof place);
    return table;
}

enum { RETURNED_ROOM = 4096 };

/* Are its kernels those of workers_dropping_module? Then limits say at times that who is too many leaves at once. */
static inline bool obeys_at_once(const struct rewrite_case *item, const struct test_launch *launch)
{
    const struct rewritten_kernel *kernel = rewrite_case_kernel(item, launch->kernel);
    return kernel->function->parameter_bytes - kernel->parameter_offset == sizeof(struct worker_dropping_arguments);
}

/* Launches workers until every thread block has been run; what they say of themselves has to be right. Returns how many launches it took. */
static inline uint32_t run_by_workers_on(struct loaded *loaded, const struct rewrite_case *item,
                                         const struct test_launch *launch, const struct crew *crew,
                                         const struct worker_table *table)
{
    struct worker_dropping_arguments arguments = {.plain = worker_arguments_of(item, table, launch, crew),
                                                  .room = RETURNED_ROOM / 2};
    struct worker_queue queue = {0};
    struct worker_place place;
    uint64_t random = crew->random;
    const bool at_once = obeys_at_once(item, launch);
    if (at_once)
        assert_int_equal(
            corun_memory_allocate(loaded->memory, RETURNED_ROOM * sizeof(struct worker_returned), &arguments.returned),
            CORUN_OK);
    uint32_t launches = 0;
    do {
        static const uint16_t limits[] = {0, 0, 1, 1000};
        uint16_t limit = limits[crew->random ? next_random(&random) % 4 : 3];
        if (at_once && crew->random && next_random(&random) % 2)
            limit = worker_limit(limit, WORKERS_AT_ONCE);
        write_device(loaded, table->place, &limit, sizeof limit);
        run_launch(loaded, item, launch, (struct corun_dim3){crew->workers, 1, 1}, &arguments,
                   at_once ? sizeof arguments : sizeof arguments.plain);
        arguments.plain.flags &= ~(uint32_t)WORKERS_SEATED;
        read_device(loaded, table->queue, &queue, sizeof queue);
        read_device(loaded, table->place, &place, sizeof place);
        assert_int_equal(place.resident, 0);
        if (++launches == 10000)
            fail_msg("%u of %u draws have been made after %u launches", queue.next, queue.total, launches);
    } while (queue.next < queue.total);
    assert_int_equal(place.done, total_of(launch->grid));
    if (crew->flags & WORKERS_TELL)
        assert_int_equal(queue.alive, 0);
    return launches;
}

static inline uint32_t run_by_workers(struct loaded *loaded, const struct rewrite_case *item,
                                      const struct test_launch *launch, const struct crew *crew)
{
    const struct worker_table table = table_create(loaded, item, launch, crew);
    return run_by_workers_on(loaded, item, launch, crew, &table);
}

/* In device memory: a pair of queues of launches that are COMPLETE, and what says that they have begun and ended. */
struct completing_table {
    uint64_t pair, place, mark;
};

static inline struct completing_table completing_table_create(const struct loaded *loaded)
{
    struct completing_table table;
    const struct worker_queue none[2] = {{0}};
    assert_int_equal(corun_memory_allocate(loaded->memory, sizeof none, &table.pair), CORUN_OK);
    assert_int_equal(corun_memory_allocate(loaded->memory, sizeof(struct worker_place), &table.place), CORUN_OK);
    assert_int_equal(corun_memory_allocate(loaded->memory, WORKERS_STAYS_BYTES + sizeof(uint32_t), &table.mark),
                     CORUN_OK);
    assert_int_equal(table.pair % sizeof none, 0);
    write_device(loaded, table.pair, none, sizeof none);
    return table;
}

/* The number of a use of the pair, from 1 on, by one launch, which begins under that limit; all that there is to do is done when it has ended. */
static inline void complete_once(struct loaded *loaded, const struct rewrite_case *item,
                                 const struct test_launch *launch, uint32_t workers, uint16_t limit,
                                 const struct completing_table *table, uint32_t use)
{
    const struct worker_place begun = {.limit = limit};
    const struct crew crew = {.flags = WORKERS_COMPLETE, .range = use % 4, .single = use % 3};
    const struct worker_table tables = {table->pair + use % 2 * sizeof(struct worker_queue), table->place};
    const struct worker_completing_arguments arguments = {
        .plain = worker_arguments_of(item, &tables, launch, &crew), .mark = table->mark, .begun = 2 * use - 1};
    struct worker_queue queue, other;
    struct worker_place place;
    uint32_t mark;
    write_device(loaded, table->place, &begun, sizeof begun);
    run_launch(loaded, item, launch, (struct corun_dim3){workers, 1, 1}, &arguments, sizeof arguments);
    read_device(loaded, tables.queue, &queue, sizeof queue);
    read_device(loaded, tables.queue ^ sizeof queue, &other, sizeof other);
    read_device(loaded, table->place, &place, sizeof place);
    read_device(loaded, table->mark, &mark, sizeof mark);
    assert_true(queue.next >= worker_draws(&arguments.plain) && queue.gone >= workers);
    assert_int_equal(queue.alive, 0);
    assert_memory_equal(&other, &(const struct worker_queue){0}, sizeof other);
    assert_int_equal(place.resident, 0);
    assert_int_equal(place.done, total_of(launch->grid));
    assert_int_equal(mark, 2 * use);
}

/* What one launch of so many workers leaves in the buffer. */
static inline uint8_t *run_completing(const struct rewrite_case *item, const struct test_launch *launch,
                                      uint32_t workers, uint16_t limit)
{
    const uint32_t use = 1 + workers % 5; /* ranges of 1 to 3 */
    struct loaded loaded = load_text(item, item->text);
    const struct completing_table table = completing_table_create(&loaded);
    complete_once(&loaded, item, launch, workers, limit, &table, use);
    return unload(&loaded);
}

/* A launch whole, as it was in `original`; gives the buffer. */
static inline uint8_t *run_whole(const struct rewrite_case *item, const char *original,
                                 const struct test_launch *launch)
{
    struct loaded loaded = load_text(item, original);
    run_launch(&loaded, item, launch, launch->grid, NULL, 0);
    return unload(&loaded);
}

/* The same by workers, with what they have in the buffer then. */
static inline uint8_t *run_crew(const struct rewrite_case *item, const struct test_launch *launch,
                                const struct crew *crew)
{
    struct loaded loaded = load_text(item, item->text);
    run_by_workers(&loaded, item, launch, crew);
    return unload(&loaded);
}

/* The rewritten kernel on the whole grid. */
static inline uint8_t *run_straight(const struct rewrite_case *item, const struct test_launch *launch)
{
    struct loaded loaded = load_text(item, item->text);
    const struct crew crew = {.flags = WORKERS_DIRECT};
    const struct worker_table table = {0};
    const struct worker_dropping_arguments arguments = {.plain = worker_arguments_of(item, &table, launch, &crew)};
    run_launch(&loaded, item, launch, launch->grid, &arguments,
               obeys_at_once(item, launch) ? sizeof arguments : sizeof arguments.plain);
    return unload(&loaded);
}

/* Few workers and many, seated or not, strict or not, with limits that change: what the whole grid did. */
static inline uint8_t *expect_same_by_workers(const char *text, const struct test_launch *launch)
{
    enum { SEATED = WORKERS_SEATED, STRICT = WORKERS_STRICT, TELL = WORKERS_TELL };
    static const struct crew crews[] = {{1, 0, 0, 0, 0},
                                        {1, SEATED, 0, 3, 0},
                                        {3, SEATED, 0, 0, 0},
                                        {100, SEATED, 0, 2, 1},
                                        {5, TELL, 0, 4, 5},
                                        {4, SEATED | TELL, 0, 0, 0},
                                        {2, 0, 1, 2, 0},
                                        {3, TELL, 2, 0, 0},
                                        {7, SEATED, 3, 5, 7},
                                        {1, STRICT, 0, 2, 3},
                                        {5, SEATED | STRICT, 0, 0, 0},
                                        {4, SEATED | STRICT | TELL, 5, 3, 1},
                                        {3, STRICT, 6, 100, 0}};
    struct rewrite_case item = rewrite_case_create(workers_module, text, strlen(text));
    if (rewrite_case_kernel(&item, launch->kernel)->refusal)
        fail_msg("%s", rewrite_case_kernel(&item, launch->kernel)->refusal);
    uint8_t *whole = run_whole(&item, text, launch);
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        uint8_t *found = run_crew(&item, launch, &crews[i]);
        if (memcmp(whole, found, OUT_BYTES) != 0)
            fail_msg("%u workers, flags %u, limits %llu: the buffer differs:\n%s", crews[i].workers, crews[i].flags,
                     (unsigned long long)crews[i].random, item.text);
        free(found);
    }
    uint8_t *found = run_straight(&item, launch);
    if (memcmp(whole, found, OUT_BYTES) != 0)
        fail_msg("without workers the buffer differs:\n%s", item.text);
    free(found);
    rewrite_case_destroy(&item);
    item = rewrite_case_create(workers_completing_module, text, strlen(text));
    for (uint32_t workers = 1; workers < 8; workers += 3) {
        uint8_t *completed = run_completing(&item, launch, workers, workers / 3 % 2);
        if (memcmp(whole, completed, OUT_BYTES) != 0)
            fail_msg("in one launch of %u workers, the buffer differs:\n%s", workers, item.text);
        free(completed);
    }
    rewrite_case_destroy(&item);
    return whole;
}

#endif
