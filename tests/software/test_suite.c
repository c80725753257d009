/* SPDX-License-Identifier: MIT */
/*
 * The suite as workers on the software machine: what each run leaves is compared, byte for byte, with a run without timing, while a policy moves
 * owners and limits at random; with --drop, taking what they hold at once; with --slices in slices, while it grants at random. Arguments: workloads; without any, those of a moment.
 * CORUN_TEST_CAPABILITY: compute capability of the GPU in CORUN_CUDA_GPU; without it that of a gtx980.
 */
#include "software/software.h"

#include "corun/workload.h"
#include "workload/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draws;

static uint32_t compute_capability(void)
{
    const char *known = getenv("CORUN_TEST_CAPABILITY");
    return known ? (uint32_t)strtoul(known, NULL, 10) : 52;
}

static enum corun_status restless_start(void *state, const struct corun_view *view, const double *parameters,
                                        struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

/* Each SM changes hands every other time, or is taken from all, or given to all. */
static void restless_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint64_t draw = corun_random(&draws);
        if (draw % 2)
            continue;
        uint32_t owner = (uint32_t)(draw / 2 % (view->application_count + 2));
        allowances->exclusive[s] = owner < view->application_count;
        for (uint32_t a = 0; a < view->application_count; a++)
            allowances->tb_limit[s * view->application_count + a] =
                owner == a || owner == view->application_count ? CORUN_UNLIMITED : 0;
    }
}

static void restless_drops(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                           struct corun_allowances *allowances)
{
    restless_decide(state, view, moment, allowances);
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->reclaim[i] = CORUN_RECLAIM_DROP;
}

static void restless_grants(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_grid_view *running = &view->applications[a].running;
        uint64_t draw = corun_random(&draws);
        uint32_t some = running->kernel ? 1 + (uint32_t)(draw / 4 % running->tbs) : 1;
        uint32_t grants[] = {0, some, some, CORUN_UNLIMITED};
        allowances->grant[a] = grants[draw % 4];
    }
}

static const struct corun_policy restless_slices = {.version = CORUN_POLICY_VERSION,
                                                    .name = "restless",
                                                    .summary = "grants at random",
                                                    .paper = "",
                                                    .needs = 1u << CORUN_CAN_GRANT,
                                                    .start = restless_start,
                                                    .decide = restless_grants};

static const struct corun_policy restless = {.version = CORUN_POLICY_VERSION,
                                             .name = "restless",
                                             .summary = "everything, at random",
                                             .paper = "",
                                             .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
                                             .observes = 1u << CORUN_SEES_RESIDENT_TBS,
                                             .start = restless_start,
                                             .decide = restless_decide};

static const struct corun_policy restless_drop = {.version = CORUN_POLICY_VERSION,
                                                  .name = "restless",
                                                  .summary = "everything, at random and at once",
                                                  .paper = "",
                                                  .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE |
                                                           1u << CORUN_CAN_DROP,
                                                  .observes = 1u << CORUN_SEES_RESIDENT_TBS,
                                                  .start = restless_start,
                                                  .decide = restless_drops};

static struct workload_commands *load(const char *specification, struct corun_diagnostics *list)
{
    char data[4096];
    struct corun_workload *workload = NULL;
    struct workload_commands *commands = NULL;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (status == CORUN_OK)
        status = corun_workload_load(specification, data, list, &workload);
    if (status == CORUN_OK)
        (void)workload_commands_create(workload, WORKLOAD_ALL_LAUNCHES, 1, compute_capability(), list, &commands);
    corun_workload_destroy(workload);
    return commands;
}

static bool say(const struct corun_diagnostics *list, const char *name)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++)
        fprintf(stderr, "%s: %s\n", name, corun_diagnostics_get(list, i)->message);
    return false;
}

/* Sums of floats by atomics come out as the thread blocks come. */
static bool may_differ(const char *name)
{
    return !strncmp(name, "mri-gridding", strlen("mri-gridding"));
}

static bool check(const struct software *software, uint32_t count, const char *const *names)
{
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        struct software_result result;
        software_result(software, i, &result);
        bool right = result.status == CORUN_OK && (!result.mismatches || may_differ(names[i]));
        if (!right)
            fprintf(stderr, "%s: status %s, %s; of %u runs %u were wrong\n", names[i], corun_status_name(result.status),
                    result.failure ? result.failure : "no failure", result.runs, result.mismatches);
        printf("%-24s %3u runs, %4llu launches, %4llu whole, %4llu slices, %5llu crews, %6llu workers, %4llu given "
               "back%s%s\n",
               names[i], result.runs, (unsigned long long)result.launches, (unsigned long long)result.whole,
               (unsigned long long)result.slices, (unsigned long long)result.crews, (unsigned long long)result.workers,
               (unsigned long long)result.returned, result.refusal ? ": " : "", result.refusal ? result.refusal : "");
        good &= right;
    }
    return good;
}

/* Two at a time. */
static bool run(uint32_t count, const char *const *names, const struct corun_policy *policy)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct software_options options = {.library = getenv("CORUN_TEST_DRIVER"),
                                       .launching = policy == &restless_slices ? SOFTWARE_SLICES : SOFTWARE_WORKERS,
                                       .policy = policy,
                                       .epoch_ns = 8224,
                                       .check = true};
    struct software_application applications[2] = {{0}};
    struct workload_commands *commands[2] = {NULL};
    struct software *software = NULL;
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        commands[i] = load(names[i], list);
        applications[i] = (struct software_application){.name = names[i], .commands = commands[i]};
        good &= commands[i] != NULL;
    }
    draws = 11;
    good =
        good && software_create(&options, applications, count, list, &software) == CORUN_OK &&
        software_run(software, &(struct software_limits){.runs = policy == &restless_drop ? 1 : 3}, list) == CORUN_OK;
    good = good ? check(software, count, names) : say(list, names[0]);
    software_destroy(software);
    for (uint32_t i = 0; i < count; i++)
        workload_commands_destroy(commands[i]);
    corun_diagnostics_destroy(list);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const few[] = {"hotspot@small", "pathfinder@small", "spmv@small"};
    const struct corun_policy *policy = &restless;
    if (argc > 1 && !strcmp(argv[1], "--slices"))
        policy = &restless_slices;
    if (argc > 1 && !strcmp(argv[1], "--drop"))
        policy = &restless_drop;
    bool good = true;
    uint32_t first = policy == &restless ? 1 : 2, count = (uint32_t)argc > first ? (uint32_t)argc - first : 3;
    const char *const *names = (uint32_t)argc > first ? (const char *const *)&argv[first] : few;
    for (uint32_t i = 0; i < count; i += 2)
        good = run(count - i < 2 ? 1 : 2, &names[i], policy) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
