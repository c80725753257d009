/* SPDX-License-Identifier: MIT */
/*
 * The suite as workers: every buffer is byte for byte what the launches leave that nobody has rewritten, every thread block is counted once.
 * Without arguments: every kernel of the suite can be rewritten, and each thread block runs once under ten thousand changes of the table. Else
 *
 *     NAME…                  small, without timing and with: seated or not, one thread block at a time and more, on tables that change
 *     cost GPU FLAGS NAME@SIZE…  prints what workers cost that have every place of a simulated GPU (docs/rewrite.md)
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
    static const struct crew crews[] = {{STRICT, 0, 0, 0}, {SEATED | TELL, 0, 0, 0}, {0, 1, 0, 0}};
    static const struct crew timed[] = {{SEATED | DIRECT, 0, 0, 0},
                                        {STRICT | TELL, 0, 0, 0},
                                        {TELL, 1, 60, 3000},
                                        {STRICT, 2, 60, 3000},
                                        {SEATED, 3, 60, 3000}};
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
    enum { COUNT = 40 * 25 * 20, CHANGES = 3500 };
    static const uint32_t flags[] = {0, WORKERS_STRICT, WORKERS_SEATED | WORKERS_TELL};
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    struct worker_run whole = worker_run_create(TEST_DATA "/counts.yaml", NULL);
    run_without_timing(&whole);
    size_t bytes;
    uint8_t *wanted = contents_of(&whole.base, &bytes);
    assert_int_equal(bytes, 2 * COUNT * sizeof(uint32_t));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(((const uint32_t *)(const void *)wanted)[i], 1);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const struct crew crew = {flags[i], i + 1, CHANGES, 100};
        struct worker_run run = worker_run_create(TEST_DATA "/counts.yaml", &crew);
        run_with_timing(&run, &config);
        compare_contents(&run.base, "counts", wanted, bytes, "with timing");
        assert_in_range(run.changes, CHANGES / 2, CHANGES);
        worker_run_destroy(&run);
    }
    free(wanted);
    worker_run_destroy(&whole);
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

/* A row of the table. */
static void print_cost(const char *specification, const struct crew *crew, const struct corun_gpu_config *config)
{
    struct worker_run whole = worker_run_create(specification, NULL), workers = worker_run_create(specification, crew);
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
    const struct crew crew = {(uint32_t)atoi(names[1]), 0, 0, 0};
    for (names += 2; *names; names++)
        print_cost(*names, &crew, &config);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[1000];
    static struct job jobs[1000];
    const char *size = "small";
    if (argc == 1) {
        const struct CMUnitTest all[] = {cmocka_unit_test(every_kernel_can_be_rewritten),
                                         cmocka_unit_test(counts_each_once)};
        return cmocka_run_group_tests(all, NULL, NULL);
    }
    if (!strcmp(argv[1], "cost")) {
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
