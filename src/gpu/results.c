/* SPDX-License-Identifier: MIT */
/* Counters summed up for kernels, applications, SMs and the GPU. */
#include "gpu/gpu.h"

#include "gpu/stall.h"

#include <string.h>

static const struct corun_counter_row counter_rows[] = {
#define N(name, unit, meaning) {#name, unit, meaning, offsetof(struct corun_counters, name)},
#include "corun/statistics.def"
#undef N
};

const struct corun_counter_row *corun_counter_rows(size_t *count)
{
    *count = sizeof counter_rows / sizeof *counter_rows;
    return counter_rows;
}

void corun_counters_add(struct corun_counters *sum, const struct corun_counters *part)
{
#define N(name, unit, meaning) sum->name += part->name;
#include "corun/statistics.def"
#undef N
}

static void add_kernel(const struct corun_gpu *gpu, uint32_t slot, struct corun_counters *sum)
{
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        if (slot < gpu->sms[s]->counters_capacity && gpu->sms[s]->counters[slot])
            corun_counters_add(sum, gpu->sms[s]->counters[slot]);
    corun_counters_add(sum, memory_system_counters(follower_memory(gpu->follower), slot));
}

void kernel_counters(const struct corun_gpu *gpu, const struct machine_kernel *kernel, struct corun_counters *counters)
{
    memset(counters, 0, sizeof *counters);
    add_kernel(gpu, kernel->slot, counters);
}

void sum_application(const struct corun_gpu *gpu, uint32_t application, struct corun_counters *sum)
{
    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < gpu->applications[application].kernels.count; i++)
        for (const struct machine_kernel *k = gpu->applications[application].kernels.data[i]; k; k = k->twin)
            add_kernel(gpu, k->slot, sum);
}

void sum_all(const struct corun_gpu *gpu, struct corun_counters *sum)
{
    memset(sum, 0, sizeof *sum);
    for (uint32_t slot = 0; slot < gpu->kernels.used.count; slot++)
        add_kernel(gpu, slot, sum);
}

/* Kernels that run, in addition to what is past. */
static struct instruction_sum instructions_of(const struct corun_gpu *gpu, uint32_t application)
{
    struct instruction_sum sum = gpu->applications[application].past;
    for (const struct launch *launch = gpu->applications[application].running; launch; launch = launch->next) {
        struct instruction_sum now = kernel_instructions(gpu, launch->kernel);
        sum.warp += now.warp - launch->kernel->settled.warp;
        sum.thread += now.thread - launch->kernel->settled.thread;
    }
    return sum;
}

uint64_t application_thread_instructions(const struct corun_gpu *gpu, uint32_t application)
{
    return instructions_of(gpu, application).thread;
}

uint64_t corun_gpu_cycles(const struct corun_gpu *gpu)
{
    return gpu->now;
}

const struct corun_gpu_config *corun_gpu_configuration(const struct corun_gpu *gpu)
{
    return &gpu->config;
}

void corun_gpu_application(const struct corun_gpu *gpu, uint32_t handle, struct corun_application_result *result)
{
    const struct application *a = application_of(gpu, handle);
    if (!a) {
        *result = (struct corun_application_result){.status = CORUN_ARGUMENT};
        return;
    }
    uint32_t slot = slot_of(gpu, a);
    struct instruction_sum instructions = instructions_of(gpu, slot);
    *result = (struct corun_application_result){
        .status = a->status,
        .runs = a->runs,
        .arrived_cycle = a->arrived_cycle,
        .ended_cycle = a->state == CORUN_APPLICATION_LEFT ? a->ended_cycle : gpu->now,
        .first_run_cycles = a->first_run_cycles,
        .thread_instructions = instructions.thread,
        .warp_instructions = instructions.warp,
        .kernel_count = (uint32_t)a->kernels.count,
        .best_epoch_ipc = governor_best_epoch_ipc(gpu->governor, slot),
        .out_of_reach = governor_out_of_reach(gpu->governor, slot),
    };
    result->measured_until_cycle = a->reached_cycle ? a->reached_cycle : result->ended_cycle;
    result->measured_thread_instructions =
        a->reached_cycle ? a->reached_thread_instructions : result->thread_instructions;
}

static const struct machine_kernel *kernel_of(const struct corun_gpu *gpu, uint32_t handle, uint32_t kernel)
{
    const struct application *a = application_of(gpu, handle);
    return a && kernel < a->kernels.count ? a->kernels.data[kernel] : NULL;
}

void corun_gpu_kernel(const struct corun_gpu *gpu, uint32_t application, uint32_t kernel,
                      struct corun_kernel_result *result)
{
    const struct machine_kernel *k = kernel_of(gpu, application, kernel);
    if (!k) {
        *result = (struct corun_kernel_result){.name = ""};
        return;
    }
    *result = (struct corun_kernel_result){.name = k->name,
                                           .tbs_per_sm = k->tbs_per_sm,
                                           .registers_per_thread = k->registers_per_thread,
                                           .tb_shared_bytes = k->tb_shared_bytes,
                                           .tb_threads = k->tb_threads};
    for (; k; k = k->twin) {
        result->launches += k->launches;
        result->cycles += k->cycles;
        if (k->running && k->running->started && gpu->now > k->running->first_cycle)
            result->cycles += gpu->now - k->running->first_cycle;
        add_kernel(gpu, k->slot, &result->counters);
    }
}

void corun_gpu_launch_counters(const struct corun_gpu *gpu, uint32_t application, uint32_t launch,
                               struct corun_counters *counters)
{
    memset(counters, 0, sizeof *counters);
    const struct application *a = application_of(gpu, application);
    const struct launch *of = a ? application_find_launch(a, launch) : NULL;
    if (of)
        add_kernel(gpu, of->kernel->slot, counters);
}

void corun_gpu_share(const struct corun_gpu *gpu, uint32_t s, uint32_t application, struct corun_counters *counters)
{
    memset(counters, 0, sizeof *counters);
    const struct sm *sm = gpu->sms[s];
    const struct application *a = application_of(gpu, application);
    for (size_t i = 0; a && i < a->kernels.count; i++)
        for (const struct machine_kernel *k = a->kernels.data[i]; k; k = k->twin)
            if (k->slot < sm->counters_capacity && sm->counters[k->slot])
                corun_counters_add(counters, sm->counters[k->slot]);
}

void corun_gpu_sm(const struct corun_gpu *gpu, uint32_t s, struct corun_sm_result *result)
{
    const struct sm *sm = gpu->sms[s];
    *result = (struct corun_sm_result){.busy_cycles = sm->busy_cycles,
                                       .idle_scheduler_cycles = sm->idle_scheduler_cycles,
                                       .gated_cycles = power_gated_cycles(gpu, s)};
    for (uint32_t slot = 0; slot < sm->counters_capacity; slot++)
        if (sm->counters[slot])
            corun_counters_add(&result->counters, sm->counters[slot]);
    stall_of_schedulers(sm, &result->schedulers);
}

void corun_gpu_memory(const struct corun_gpu *gpu, struct corun_memory_result *result)
{
    memory_system_result(follower_memory(gpu->follower), gpu->now, result);
}

const struct corun_profile_row *corun_gpu_kernel_profile(const struct corun_gpu *gpu, uint32_t application,
                                                         uint32_t kernel, uint32_t *count,
                                                         const struct corun_instruction **code)
{
    const struct machine_kernel *k = kernel_of(gpu, application, kernel);
    *count = k ? k->code_length : 0;
    *code = k ? k->code : NULL;
    return k ? k->profile : NULL;
}
