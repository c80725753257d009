/* SPDX-License-Identifier: MIT */
/*
 * The suite in slices: every buffer is byte for byte what the launches leave that nobody has cut. Without arguments: every kernel
 * of the suite can be sliced. Else
 *
 *     NAME…              small, without timing and with: slices of 1, of a prime, of a half and of an uneven part, in order and not
 *     cost NAME@SIZE…    prints what slicing costs: each launch as one slice, on a simulated GPU (docs/rewrite.md)
 *     borrow NAME@SIZE…  the same, with the variables of a module beside it
 *     size SIZE          before NAME…: in this size
 */
#include "sliced_workload.h"

struct job {
    const char *name, *size;
};

static void compare(const struct sliced_run *run, const struct job *job, const uint8_t *wanted, size_t bytes,
                    const char *how)
{
    char what[200];
    snprintf(what, sizeof what, "%s, %s, slices of %llu%s", job->size, how, (unsigned long long)run->blocks,
             run->cutting.shuffled ? " in another order" : "");
    compare_contents(&run->base, job->name, wanted, bytes, what);
}

static void equals_whole(void **state)
{
    static const struct cutting cuttings[] = {{0, 1, false, false}, {0, 7, true, false},  {2, 0, true, false},
                                              {3, 1, false, false}, {1, 0, false, false}, {3, 1, true, true}};
    static const struct cutting timed[] = {
        {0, 1, false, false}, {0, 13, true, false}, {2, 0, true, false}, {3, 1, false, false}, {2, 1, false, true}};
    const struct job *job = *state;
    char specification[200];
    snprintf(specification, sizeof specification, "%s@%s", job->name, job->size);
    struct sliced_run whole = sliced_run_create(specification, NULL);
    whole.cutting = (struct cutting){1, 0, false, false};
    struct corun_functional_result counted, sliced_counted;
    run_without_timing(&whole, &counted);
    size_t bytes;
    uint8_t *wanted = contents_of(&whole.base, &bytes);
    for (size_t i = 0; i < sizeof cuttings / sizeof cuttings[0]; i++) {
        struct sliced_run run = sliced_run_create(specification, &cuttings[i]);
        run_without_timing(&run, &sliced_counted);
        compare(&run, job, wanted, bytes, "without timing");
        assert_int_equal(run.tb_count, whole.tb_count);
        sliced_run_destroy(&run);
    }
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    for (size_t i = 0; i < sizeof timed / sizeof timed[0]; i++) {
        struct sliced_run run = sliced_run_create(specification, &timed[i]);
        run_with_timing(&run, &config);
        compare(&run, job, wanted, bytes, "with timing");
        sliced_run_destroy(&run);
    }
    free(wanted);
    sliced_run_destroy(&whole);
}

/* All of them; counted in docs/rewrite.md. */
static void every_kernel_can_be_sliced(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload_list *workloads;
    char data[4096];
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    assert_int_equal(corun_workload_list_create(data, list, &workloads), CORUN_OK);
    for (size_t i = 0; i < corun_workload_list_count(workloads); i++) {
        struct sliced_run run =
            sliced_run_create(corun_workload_list_get(workloads, i)->name, &(struct cutting){1, 0, false, i % 2});
        for (uint32_t k = 0; k < run.base.rewritten.kernel_count; k++)
            assert_null(run.base.rewritten.kernels[k].refusal);
        sliced_run_destroy(&run);
    }
    corun_workload_list_destroy(workloads);
    corun_diagnostics_destroy(list);
}

/* A row of the table. */
static void print_cost(const char *specification, const struct corun_gpu_config *config, bool borrows)
{
    const struct cutting one = {1, 0, false, borrows};
    struct sliced_run whole = sliced_run_create(specification, NULL), sliced = sliced_run_create(specification, &one);
    whole.cutting = one;
    struct corun_application_result before = run_with_timing(&whole, config), after = run_with_timing(&sliced, config);
    printf("| %s | %llu | %llu | %.1f | %.2f %% | %llu | %+.2f %% | %u |\n", specification,
           (unsigned long long)whole.slice_count, (unsigned long long)whole.tb_count,
           (double)(after.warp_instructions - before.warp_instructions) / (double)whole.tb_count,
           100.0 * (double)(after.warp_instructions - before.warp_instructions) / (double)before.warp_instructions,
           (unsigned long long)before.first_run_cycles,
           100.0 * ((double)after.first_run_cycles / (double)before.first_run_cycles - 1),
           most_registers_added(&sliced.base));
    fflush(stdout);
    sliced_run_destroy(&sliced);
    sliced_run_destroy(&whole);
}

static void costs(void **state)
{
    char **names = *state;
    bool borrows = !strcmp(names[-1], "borrow");
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    puts("| workload | launches | thread blocks | warp instructions more, each | of all | cycles | with slices | "
         "registers |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|");
    for (; *names; names++)
        print_cost(*names, &config, borrows);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[1000];
    static struct job jobs[1000];
    const char *size = "small";
    if (argc == 1) {
        const struct CMUnitTest all[] = {cmocka_unit_test(every_kernel_can_be_sliced)};
        return cmocka_run_group_tests(all, NULL, NULL);
    }
    if (!strcmp(argv[1], "cost") || !strcmp(argv[1], "borrow")) {
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
    return _cmocka_run_group_tests("slices", tests, count, NULL, NULL);
}
