/* SPDX-License-Identifier: MIT */
/*
 * Goals from a program: two workloads share a GPU under SMQoS, and the goal of the first one changes while they run.
 * docs/policies-smqos.md tells what goals there are. It prints the IPC of the first one in each part of the run.
 */
#include "corun/workload.h"

#include <stdio.h>

#define PART_CYCLES 300000

struct run {
    struct corun_gpu *gpu;
    struct corun_diagnostics *list;
    uint64_t instructions, part_began; /* of the first application, when this part of the run began */
    double goal;
    bool refused;
};

/* Called about every 100 000 cycles: perhaps a part of the run has ended, and a lower goal holds from here on. */
static bool change_goal(void *user, uint64_t cycle)
{
    struct run *run = user;
    struct corun_application_result first;
    if (cycle < run->part_began + PART_CYCLES)
        return true;
    corun_gpu_application(run->gpu, 0, &first);
    printf("to cycle %7llu: goal %5.1f, reached %5.1f thread instructions per cycle\n", (unsigned long long)cycle,
           run->goal, (double)(first.thread_instructions - run->instructions) / (double)(cycle - run->part_began));
    run->instructions = first.thread_instructions;
    run->part_began = cycle;
    run->goal /= 2;
    run->refused = corun_gpu_set_goal(run->gpu, 0, CORUN_GOAL_IPC, run->goal, 0, run->list) != CORUN_OK;
    return !run->refused;
}

static enum corun_status add(struct run *run, const char *name, const char *data, uint32_t index,
                             struct corun_workload **workload, struct corun_instance **instance)
{
    enum corun_status status = corun_workload_load(name, data, run->list, workload);
    if (status == CORUN_OK)
        status = corun_instance_create(*workload, index, 1, run->list, instance);
    if (status != CORUN_OK)
        return status;
    struct corun_application_description description = {0};
    corun_instance_fill(*instance, &description);
    return corun_gpu_add(run->gpu, &description, &index);
}

static enum corun_status simulate(struct run *run, const char *const names[2])
{
    char data[4096];
    struct corun_gpu_config config;
    struct corun_workload *workloads[2] = {NULL, NULL};
    struct corun_instance *instances[2] = {NULL, NULL};
    struct corun_limits limits = {.cycles = 4 * PART_CYCLES, .progress = change_goal, .user = run};
    enum corun_status status = corun_data_directory(data, sizeof data, run->list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load("gtx980:sms=4", data, run->list, &config);
    if (status == CORUN_OK)
        status = corun_gpu_create(&config, run->list, &run->gpu);
    for (uint32_t a = 0; a < 2 && status == CORUN_OK; a++)
        status = add(run, names[a], data, a, &workloads[a], &instances[a]);
    if (status == CORUN_OK)
        status = corun_gpu_set_policy(run->gpu, corun_policy_find("smqos"), NULL, run->list);
    if (status == CORUN_OK) /* before the run */
        status = corun_gpu_set_goal(run->gpu, 0, CORUN_GOAL_IPC, run->goal, 0, run->list);
    if (status == CORUN_OK)
        status = corun_gpu_run(run->gpu, &limits, run->list);
    corun_gpu_destroy(run->gpu);
    for (uint32_t a = 0; a < 2; a++) {
        corun_instance_destroy(instances[a]);
        corun_workload_destroy(workloads[a]);
    }
    return status == CORUN_OK && run->refused ? CORUN_ARGUMENT : status;
}

int main(int count, char **arguments)
{
    const char *const names[2] = {count > 1 ? arguments[1] : "sgemm@small", count > 2 ? arguments[2] : "lbm@small"};
    struct run run = {.list = corun_diagnostics_create(), .goal = 80};
    enum corun_status status = simulate(&run, names);
    for (size_t i = 0; i < corun_diagnostics_count(run.list); i++)
        fprintf(stderr, "%s\n", corun_diagnostics_get(run.list, i)->message);
    corun_diagnostics_destroy(run.list);
    return corun_status_exit(status);
}
