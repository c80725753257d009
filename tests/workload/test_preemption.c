/* SPDX-License-Identifier: MIT */
/*
 * Workloads under a policy that takes thread blocks away at random: whatever is swapped, switched or dropped at
 * whatever moment, results equal the reference, and are the same with any number of host threads. `test_preemption
 * SEED NAME…`: each of these alone, then neighbours in pairs. A seed gives the same run everywhere.
 */
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EPOCH_CYCLES 300u
#define DROPPING_EPOCHS 100u /* long thread blocks would never end if they were dropped for ever */
#define MOST_KERNELS 40u

/* ---- the policy ---- */

static uint64_t seed; /* of the test program */

struct tormentor {
    uint64_t random;
    uint32_t epochs;
};

static uint32_t below(struct tormentor *tormentor, uint32_t limit)
{
    tormentor->random ^= tormentor->random << 13;
    tormentor->random ^= tormentor->random >> 7;
    tormentor->random ^= tormentor->random << 17;
    return (uint32_t)(tormentor->random >> 33) % limit;
}

static enum corun_status start(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances)
{
    (void)view;
    (void)parameters;
    (void)allowances;
    ((struct tormentor *)state)->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return CORUN_OK;
}

/* Each of two applications in a half of every SM, or no parts at all; now and then an SM is switched off. */
static void torment_sms(struct tormentor *tormentor, const struct corun_view *view, struct corun_allowances *allowances)
{
    bool halves = view->application_count == 2 && below(tormentor, 3) == 0;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        allowances->exclusive[s] = !halves && below(tormentor, 6) == 0;
        allowances->powered[s] = s == 0 || below(tormentor, 8);
        for (uint32_t a = 0; a < view->application_count; a++) {
            struct corun_partition *partition = &allowances->partition[s * view->application_count + a];
            *partition = (struct corun_partition){0};
            if (halves)
                *partition = (struct corun_partition){.first_register = a * (view->registers_per_sm / 2),
                                                      .register_count = view->registers_per_sm / 2,
                                                      .first_shared_byte = a * (view->shared_bytes_per_sm / 2),
                                                      .shared_bytes = view->shared_bytes_per_sm / 2,
                                                      .thread_count = view->threads_per_sm / 2,
                                                      .tb_slots = view->tbs_per_sm / 2};
        }
    }
}

static void decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    struct tormentor *tormentor = state;
    uint32_t entries = view->sm_count * view->application_count;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    if (tormentor->epochs++ % 8 >= 5) { /* from time to time everybody may run */
        for (uint32_t i = 0; i < entries; i++)
            allowances->tb_limit[i] = CORUN_UNLIMITED;
        memset(allowances->partition, 0, entries * sizeof *allowances->partition);
        return;
    }
    allowances->free_transfers = below(tormentor, 6) == 0;
    for (uint32_t i = 0; i < entries; i++) {
        const struct corun_grid_view *grid = &view->applications[i % view->application_count].running;
        if (below(tormentor, 3))
            continue;
        static const enum corun_reclaim ways[] = {CORUN_RECLAIM_SWAP_TB, CORUN_RECLAIM_SWAP_TB, CORUN_RECLAIM_SWITCH_SM,
                                                  CORUN_RECLAIM_DROP, CORUN_RECLAIM_DRAIN};
        allowances->reclaim[i] = ways[below(tormentor, 5)];
        bool may_drop = grid->kernel && grid->idempotent && tormentor->epochs < DROPPING_EPOCHS;
        if (allowances->reclaim[i] == CORUN_RECLAIM_DROP && !may_drop)
            allowances->reclaim[i] = CORUN_RECLAIM_SWITCH_SM;
        allowances->tb_limit[i] = below(tormentor, 4) ? below(tormentor, 5) : CORUN_UNLIMITED;
    }
    torment_sms(tormentor, view, allowances);
}

static const struct corun_policy tormenting = {
    .version = CORUN_POLICY_VERSION,
    .name = "tormentor",
    .needs = 1u << CORUN_CAN_SWAP_TB | 1u << CORUN_CAN_SWITCH_SM | 1u << CORUN_CAN_DROP | 1u << CORUN_CAN_PARTITION |
             1u << CORUN_CAN_POWER,
    .observes = CORUN_ALL_OBSERVATIONS,
    .state_bytes = sizeof(struct tormentor),
    .start = start,
    .decide = decide,
};

/* ---- a run ---- */

struct outcome {
    uint64_t cycles;
    struct corun_counters counters[MOST_KERNELS]; /* of all applications */
    struct corun_counters sum;
};

static void print_diagnostics(const struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, i);
        print_error("%s:%u: %s\n", item->place.file ? item->place.file : "", item->place.line, item->message);
    }
}

static void check(const struct corun_gpu *gpu, struct corun_instance *const *instances, size_t count,
                  struct corun_diagnostics *list, struct outcome *outcome)
{
    size_t kernels = 0;
    memset(outcome, 0, sizeof *outcome);
    outcome->cycles = corun_gpu_cycles(gpu);
    for (uint32_t i = 0; i < count; i++) {
        struct corun_application_result result;
        struct corun_verification verification = {0};
        corun_gpu_application(gpu, i, &result);
        assert_int_equal(result.status, CORUN_OK);
        assert_int_equal(result.runs, 1);
        enum corun_status status = corun_instance_verify(instances[i], list, &verification);
        print_diagnostics(list);
        assert_int_equal(status, CORUN_OK);
        uint64_t issued = 0, dropped = 0;
        for (uint32_t k = 0; k < result.kernel_count; k++) {
            struct corun_kernel_result kernel;
            corun_gpu_kernel(gpu, i, k, &kernel);
            issued += kernel.counters.thread_instructions;
            dropped += kernel.counters.thread_instructions_dropped;
            corun_counters_add(&outcome->sum, &kernel.counters);
            assert_true(kernels < MOST_KERNELS);
            outcome->counters[kernels++] = kernel.counters;
        }
        assert_int_equal(result.thread_instructions, issued - dropped);
    }
    const struct corun_counters *sum = &outcome->sum;
    assert_int_equal(sum->tbs_swapped_out, sum->tbs_swapped_in);
    assert_true(sum->restored_bytes <= sum->saved_bytes); /* less where transfers were free in between */
    assert_true(!sum->tbs_swapped_out || sum->restored_bytes > 0);
}

static void run(const char *const *names, size_t count, uint32_t threads, struct outcome *outcome)
{
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 4;
    config.epoch_cycles = EPOCH_CYCLES;
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(&config, list, &gpu), CORUN_OK);
    struct corun_workload *workloads[2] = {NULL};
    struct corun_instance *instances[2] = {NULL};
    for (size_t i = 0; i < count; i++) {
        char specification[200];
        snprintf(specification, sizeof specification, "%s@small", names[i]);
        enum corun_status status = corun_workload_load(specification, data, list, &workloads[i]);
        if (!status)
            status = corun_instance_create(workloads[i], (uint32_t)i, 1, list, &instances[i]);
        print_diagnostics(list);
        assert_int_equal(status, CORUN_OK);
        struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
        corun_instance_fill(instances[i], &description);
        uint32_t index;
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    assert_int_equal(corun_gpu_set_policy(gpu, &tormenting, NULL, list), CORUN_OK);
    struct corun_limits limits = {.cycles = 50000000, .runs = 1, .threads = threads};
    enum corun_status status = corun_gpu_run(gpu, &limits, list);
    print_diagnostics(list);
    assert_int_equal(status, CORUN_OK);
    check(gpu, instances, count, list, outcome);
    corun_gpu_destroy(gpu);
    for (size_t i = 0; i < count; i++) {
        corun_instance_destroy(instances[i]);
        corun_workload_destroy(workloads[i]);
    }
    corun_diagnostics_destroy(list);
}

static uint64_t swapped, switched, dropped; /* over all runs: a test in which nothing is taken away shows nothing */

static void torment(const char *const *names, size_t count, bool compare_threads)
{
    struct outcome *outcome = calloc(2, sizeof *outcome);
    assert_non_null(outcome);
    run(names, count, 1, &outcome[0]);
    const struct corun_counters *sum = &outcome[0].sum;
    print_message("%-20s %-20s %8llu cycles %6llu swapped %5llu switches %5llu dropped\n", names[0],
                  count > 1 ? names[1] : "", (unsigned long long)outcome[0].cycles,
                  (unsigned long long)sum->tbs_swapped_out, (unsigned long long)sum->sm_switches,
                  (unsigned long long)sum->tbs_dropped);
    swapped += sum->tbs_swapped_out;
    switched += sum->sm_switches;
    dropped += sum->tbs_dropped;
    if (compare_threads) {
        run(names, count, 2, &outcome[1]);
        assert_memory_equal(&outcome[0], &outcome[1], sizeof *outcome);
    }
    free(outcome);
}

static size_t name_count;
static char **all_names;

static void alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < name_count; i++)
        torment((const char *const[]){all_names[i]}, 1, i == 0);
}

static void in_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < name_count; i += 2)
        torment((const char *const[]){all_names[i], all_names[i + 1]}, 2, i == 0);
}

static void something_was_taken_away(void **state)
{
    (void)state;
    assert_true(swapped > 0 && switched > 0);
}

/* Without arguments: two of those that are there. */
static char *first_names[2];

static void find_names(void)
{
    static char text[2][100];
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload_list *workloads = NULL;
    if (corun_data_directory(data, sizeof data, list) == CORUN_OK &&
        corun_workload_list_create(data, list, &workloads) == CORUN_OK)
        for (; name_count < 2 && name_count < corun_workload_list_count(workloads); name_count++) {
            snprintf(text[name_count], sizeof text[0], "%s", corun_workload_list_get(workloads, name_count)->name);
            first_names[name_count] = text[name_count];
        }
    corun_workload_list_destroy(workloads);
    corun_diagnostics_destroy(list);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    name_count = argc > 2 ? (size_t)argc - 2 : 0;
    all_names = argc > 2 ? argv + 2 : first_names;
    if (!name_count)
        find_names();
    const struct CMUnitTest tests[] = {cmocka_unit_test(alone), cmocka_unit_test(in_pairs),
                                       cmocka_unit_test(something_was_taken_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
