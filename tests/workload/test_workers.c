/* SPDX-License-Identifier: MIT */
/*
 * The suite as workers: every buffer is byte for byte what the launches leave that nobody has rewritten, every thread block is counted once.
 * Without arguments: every kernel of the suite can be rewritten, and each thread block runs once under ten thousand changes of the table. Else
 *
 *     NAME…                  small, without timing and with: seated or not, one thread block at a time and more, on tables that change
 *     cost GPU FLAGS[:RANGE:ROUNDS] NAME@SIZE…  prints what workers cost that have every place of a simulated GPU (docs/rewrite.md); `dropping` in place of
 *                                `cost`: those that may be told to leave in the middle of thread blocks
 *     size SIZE              before NAME…: in this size
 */
#include "worker_workload.h"

struct job {
    const char *name, *size;
};

static void compare(const struct worker_run *run, const struct job *job, const uint8_t *wanted, size_t bytes,
                    const char *how)
{
    char what[200];
    snprintf(what, sizeof what, "%s, %s, flags %u, seed %llu", job->size, how, run->crew.flags,
             (unsigned long long)run->crew.random);
    compare_contents(&run->base, job->name, wanted, bytes, what);
}

static void equals_whole(void **state)
{
    enum { SEATED = WORKERS_SEATED, STRICT = WORKERS_STRICT, TELL = WORKERS_TELL, DIRECT = WORKERS_DIRECT };
    static const struct crew crews[] = {{STRICT, 0, 0, 0, false, 3, 1},
                                        {SEATED | TELL, 0, 0, 0, false, 0, 0},
                                        {0, 1, 0, 0, false, 2, 0},
                                        {TELL, 1, 0, 0, true, 0, 0}};
    static const struct crew timed[] = {{SEATED | DIRECT, 0, 0, 0, false, 4, 1}, {STRICT | TELL, 0, 0, 0, false, 0, 0},
                                        {TELL, 1, 60, 3000, false, 0, 0},        {STRICT, 2, 60, 3000, false, 3, 0},
                                        {SEATED, 3, 60, 3000, false, 2, 1},      {SEATED | DIRECT, 0, 0, 0, true, 0, 0},
                                        {TELL, 4, 60, 3000, true, 0, 0}};
    const struct job *job = *state;
    char specification[200];
    snprintf(specification, sizeof specification, "%s@%s", job->name, job->size);
    struct worker_run whole = worker_run_create(specification, NULL);
    run_without_timing(&whole);
    size_t bytes;
    uint8_t *wanted = contents_of(&whole.base, &bytes);
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        struct worker_run run = worker_run_create(specification, &crews[i]);
        run_without_timing(&run);
        compare(&run, job, wanted, bytes, "without timing");
        worker_run_destroy(&run);
    }
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.shared_bytes_per_tb = config.shared_bytes_per_sm; /* for what workers add to 48 KiB */
    for (size_t i = 0; i < sizeof timed / sizeof timed[0]; i++) {
        struct worker_run run = worker_run_create(specification, &timed[i]);
        run_with_timing(&run, &config);
        compare(&run, job, wanted, bytes, "with timing");
        worker_run_destroy(&run);
    }
    free(wanted);
    worker_run_destroy(&whole);
}

/* Each thread block once, while the owners of SMs change ten thousand times in three runs. */
static void counts_each_once(void **state)
{
    (void)state;
    enum { COUNT = 40 * 25 * 10, CHANGES = 3500 };
    static const struct crew crews[] = {{0, 1, CHANGES, 100, false, 5, 4},
                                        {WORKERS_STRICT, 2, CHANGES, 100, false, 0, 0},
                                        {WORKERS_SEATED | WORKERS_TELL, 3, CHANGES, 100, false, 3, 20}};
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 8;
    struct worker_run whole = worker_run_create(TEST_DATA "/counts.yaml", NULL);
    run_without_timing(&whole);
    size_t bytes;
    uint8_t *wanted = contents_of(&whole.base, &bytes);
    assert_int_equal(bytes, 2 * COUNT * sizeof(uint32_t));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(((const uint32_t *)(const void *)wanted)[i], 1);
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        struct worker_run run = worker_run_create(TEST_DATA "/counts.yaml", &crews[i]);
        assert_true(rewritten_kernel_find(&run.base.rewritten, "count")->ranges);
        run_with_timing(&run, &config);
        compare_contents(&run.base, "counts", wanted, bytes, "with timing");
        assert_in_range(run.changes, CHANGES / 2, CHANGES);
        worker_run_destroy(&run);
    }
    free(wanted);
    worker_run_destroy(&whole);
}

/* Thread blocks that leave in the middle are run again: each is counted once, and what it writes is written, under ten thousand changes. */
static void drops_and_counts_each_once(void **state)
{
    (void)state;
    enum { LAUNCHES = 2, MOST = 1700 };
    /* With STRICT workers nothing is drawn beforehand: what is given back was left in the middle. */
    static const struct {
        uint32_t flags, changes, step, least;
    } rows[] = {{0, MOST, 150, 500},
                {WORKERS_STRICT, MOST, 150, 500},
                {WORKERS_SEATED | WORKERS_TELL, MOST, 150, 500},
                {WORKERS_STRICT | WORKERS_TELL, 250, 1500, 200}};
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 4;
    struct worker_run whole = worker_run_create(TEST_DATA "/drops.yaml", NULL);
    run_without_timing(&whole);
    size_t bytes;
    uint8_t *wanted = contents_of(&whole.base, &bytes);
    uint64_t changes = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct crew crew = {rows[i].flags, i + 1, rows[i].changes, rows[i].step, true, 0, 0};
        struct worker_run run = worker_run_create(TEST_DATA "/drops.yaml", &crew);
        assert_int_equal(rewritten_kernel_find(&run.base.rewritten, "alone")->drops, REWRITTEN_DROPS_IN_LOOPS);
        assert_int_equal(rewritten_kernel_find(&run.base.rewritten, "together")->drops, REWRITTEN_DROPS_AT_BARRIERS);
        run_with_timing(&run, &config);
        compare_contents(&run.base, "drops", wanted, bytes, "with timing");
        print_message("%llu changes, %llu thread blocks given back\n", (unsigned long long)run.changes,
                      (unsigned long long)run.given_back);
        assert_in_range(run.given_back, rows[i].least, LAUNCHES * ROOM);
        changes += run.changes;
        worker_run_destroy(&run);
    }
    assert_true(changes > 10000);
    free(wanted);
    worker_run_destroy(&whole);
}

static uint32_t residents(const struct worker_run *run)
{
    struct worker_place places[MOST_SMS];
    uint32_t count = 0;
    get(run, run->places, places, sizeof places);
    for (uint32_t sm = 0; sm < MOST_SMS; sm++)
        count += places[sm].resident;
    return count;
}

/*
 * Every worker is in a thread block of 16 000 cycles or more when its place is taken: told to leave at once, all have gone 5 000 cycles later, and their thread
 * blocks are back; told to leave, or where thread blocks may not start again, none has.
 */
static void leaves_in_the_middle(void **state)
{
    (void)state;
    enum { DRAIN, AT_ONCE, MAY_NOT, WAYS };
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    for (int way = 0; way < WAYS; way++) {
        const struct crew crew = {.drops = true};
        struct worker_run run = worker_run_create(TEST_DATA "/drops.yaml", &crew);
        struct worker_gpu machine = {.config = &config};
        const struct corun_application_description description = {.name = "workers", .goal = CORUN_GOAL_NONE};
        assert_int_equal(corun_gpu_create(&config, run.base.list, &machine.gpu), CORUN_OK);
        assert_int_equal(corun_gpu_open(machine.gpu, &(struct corun_limits){.applications = 1}, run.base.list),
                         CORUN_OK);
        assert_int_equal(corun_gpu_add(machine.gpu, &description, &machine.application), CORUN_OK);
        assert_true(next_launch(&run));
        assert_true(run.may_drop);
        run.may_drop = way != MAY_NOT;
        set_limits(&run, config.sms, 1);
        begin_queue(&run, config.sms);
        launch_on(&run, &machine, config.sms, 0);
        assert_int_equal(corun_gpu_advance(machine.gpu, 5000), CORUN_OK);
        uint32_t before = residents(&run);
        assert_true(before > config.sms / 2);
        set_limits(&run, config.sms, worker_limit(0, way == DRAIN ? 0 : WORKERS_AT_ONCE));
        assert_int_equal(corun_gpu_advance(machine.gpu, 10000), CORUN_OK);
        struct worker_queue queue = read_queue(&run);
        assert_int_equal(residents(&run), way == AT_ONCE ? 0 : before);
        assert_int_equal(queue.total - total_of(run.whole), way == AT_ONCE ? before : 0);
        settle(&run, &machine);
        wait_for_all(&run, &machine);
        assert_int_equal(residents(&run), 0);
        corun_gpu_destroy(machine.gpu);
        worker_run_destroy(&run);
    }
}

/* How long a worker stays when its place is taken, told to leave behind what it does: it draws once more at most, runs what it has drawn, and leaves. */
static void stays_for_one_more_draw(void **state)
{
    (void)state;
    static const uint32_t flags[] = {0, WORKERS_STRICT, WORKERS_SEATED | WORKERS_TELL};
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const struct crew crew = {.flags = flags[i]};
        struct worker_run run = worker_run_create(TEST_DATA "/drops.yaml", &crew);
        struct worker_gpu machine = {.config = &config};
        const struct corun_application_description description = {.name = "workers", .goal = CORUN_GOAL_NONE};
        assert_int_equal(corun_gpu_create(&config, run.base.list, &machine.gpu), CORUN_OK);
        assert_int_equal(corun_gpu_open(machine.gpu, &(struct corun_limits){.applications = 1}, run.base.list),
                         CORUN_OK);
        assert_int_equal(corun_gpu_add(machine.gpu, &description, &machine.application), CORUN_OK);
        assert_true(next_launch(&run));
        set_limits(&run, config.sms, 1);
        begin_queue(&run, config.sms);
        launch_on(&run, &machine, config.sms, flags[i]);
        assert_int_equal(corun_gpu_advance(machine.gpu, 5000), CORUN_OK);
        const uint32_t before = residents(&run), drawn = read_queue(&run).next;
        assert_true(before > config.sms / 2);
        set_limits(&run, config.sms, 0);
        wait_for_all(&run, &machine);
        const struct worker_queue queue = read_queue(&run);
        assert_true(queue.next < queue.total);
        assert_in_range(queue.next - drawn, 0, before);
        assert_int_equal(read_done(&run), queue.next); /* and nobody is there */
        corun_gpu_destroy(machine.gpu);
        worker_run_destroy(&run);
    }
}

/* All of them; counted in docs/rewrite.md. */
static void every_kernel_can_be_rewritten(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload_list *workloads;
    char data[4096];
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    assert_int_equal(corun_workload_list_create(data, list, &workloads), CORUN_OK);
    for (size_t i = 0; i < corun_workload_list_count(workloads); i++) {
        struct rewritten_workload run =
            rewritten_workload_create(corun_workload_list_get(workloads, i)->name, workers_module);
        for (uint32_t k = 0; k < run.rewritten.kernel_count; k++)
            assert_null(run.rewritten.kernels[k].refusal);
        rewritten_workload_destroy(&run);
    }
    corun_workload_list_destroy(workloads);
    corun_diagnostics_destroy(list);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* A row of the table: of machine code, where the GPU has it. */
static void print_cost(const char *specification, const struct crew *crew, const struct corun_gpu_config *config)
{
    struct worker_run whole = worker_run_assemble(specification, NULL, config->machine_code);
    struct worker_run workers = worker_run_assemble(specification, crew, config->machine_code);
    run_with_timing(&whole, config);
    run_with_timing(&workers, config);
    uint64_t before = whole.last_cycle - whole.first_cycle, after = workers.last_cycle - workers.first_cycle;
    printf("| %s | %llu | %llu | %.1f | %.2f %% | %llu | %+.2f %% | %.1f %% | %.1f %% | %u |\n", specification,
           (unsigned long long)whole.worker_launches, (unsigned long long)whole.tb_count,
           (double)(workers.result.warp_instructions - whole.result.warp_instructions) / (double)whole.tb_count,
           percent(workers.result.warp_instructions - whole.result.warp_instructions, whole.result.warp_instructions),
           (unsigned long long)before, 100.0 * ((double)after / (double)before - 1),
           percent(whole.counters.l1_hits, whole.counters.l1_accesses),
           percent(workers.counters.l1_hits, workers.counters.l1_accesses), most_registers_added(&workers.base));
    fflush(stdout);
    worker_run_destroy(&workers);
    worker_run_destroy(&whole);
}

static void costs(void **state)
{
    char **names = *state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    char data[4096];
    if (corun_data_directory(data, sizeof data, list) || corun_gpu_config_load(*names, data, list, &config))
        stop_with(list, *names);
    corun_diagnostics_destroy(list);
    puts("| workload | launches | thread blocks | warp instructions more, each | of all | cycles | with workers | L1 "
         "hits | then | registers |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    struct crew crew = {.drops = !strcmp(names[-1], "dropping")};
    assert_true(sscanf(names[1], "%u:%u:%u", &crew.flags, &crew.range, &crew.rounds) >= 1);
    for (names += 2; *names; names++)
        print_cost(*names, &crew, &config);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[1000];
    static struct job jobs[1000];
    const char *size = "small";
    if (argc == 1) {
        const struct CMUnitTest all[] = {
            cmocka_unit_test(every_kernel_can_be_rewritten), cmocka_unit_test(counts_each_once),
            cmocka_unit_test(drops_and_counts_each_once), cmocka_unit_test(leaves_in_the_middle),
            cmocka_unit_test(stays_for_one_more_draw)};
        return cmocka_run_group_tests(all, NULL, NULL);
    }
    if (!strcmp(argv[1], "cost") || !strcmp(argv[1], "dropping")) {
        const struct CMUnitTest all[] = {{"costs", costs, NULL, NULL, argv + 2}};
        return cmocka_run_group_tests(all, NULL, NULL);
    }
    size_t count = 0;
    for (int i = 1; i < argc && count < sizeof tests / sizeof tests[0]; i++) {
        if (!strcmp(argv[i], "size") && i + 1 < argc) {
            size = argv[++i];
            continue;
        }
        jobs[count] = (struct job){argv[i], size};
        tests[count] = (struct CMUnitTest){argv[i], equals_whole, NULL, NULL, &jobs[count]};
        count++;
    }
    return _cmocka_run_group_tests("workers", tests, count, NULL, NULL);
}
