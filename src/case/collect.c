/* SPDX-License-Identifier: MIT */
/* From the counters of a GPU to the result of a case. */
#include "case/metrics.h"
#include "case/profile.h"
#include "case/run.h"
#include "case/settle.h"
#include "corun/module.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *keep_text(struct arena *arena, const char *text)
{
    return arena_copy_text(arena, text ? text : "", text ? strlen(text) : 0);
}

/* A kernel of the isolated run by name; launches of one kernel are one row in both. */
static const struct corun_kernel_result *isolated_kernel(const struct member *member, const char *name)
{
    for (uint32_t k = 0; member->has_baseline && k < member->baseline.kernel_count; k++) {
        if (!strcmp(member->baseline.kernels[k].name, name))
            return &member->baseline.kernels[k];
    }
    return NULL;
}

/* Where the kernel begins; NULL: not known. False: out of memory. */
static bool place_kernel(struct arena *arena, const struct corun_workload_ptx *ptx, struct corun_case_kernel *kernel)
{
    kernel->ptx = kernel->source = "";
    if (!ptx)
        return true;
    char source[CORUN_SOURCE_LINE_BYTES];
    uint32_t line = corun_kernel_line(ptx->kernel);
    kernel->ptx = arena_format(arena, "%s:%" PRIu32, ptx->name, line);
    kernel->source = keep_text(arena, corun_module_source_line(ptx->module, line, source));
    return kernel->ptx && kernel->source;
}

static enum corun_status collect_kernel(struct run *run, struct arena *arena, uint32_t application, uint32_t index,
                                        struct corun_case_kernel *kernel)
{
    const struct member *member = &run->members[application];
    corun_gpu_kernel(run->gpu, application, index, &kernel->result);
    kernel->result.name = keep_text(arena, kernel->result.name);
    if (!kernel->result.name)
        return CORUN_MEMORY;
    const struct corun_counters *counters = &kernel->result.counters;
    kernel->ipc =
        metrics_ratio(counters->thread_instructions - counters->thread_instructions_dropped, kernel->result.cycles);
    const struct corun_kernel_result *isolated = isolated_kernel(member, kernel->result.name);
    kernel->ipc_isolated =
        isolated ? metrics_ratio(isolated->counters.thread_instructions, isolated->cycles) : (double)NAN;
    kernel->normalised_ipc = kernel->ipc_isolated > 0 ? kernel->ipc / kernel->ipc_isolated : (double)NAN;
    if (run->job->thread_instructions) /* its counters count on after the limit: not the work of the isolated run */
        kernel->normalised_ipc = (double)NAN;
    uint32_t count = 0;
    const struct corun_instruction *code = NULL;
    const struct corun_profile_row *rows = corun_gpu_kernel_profile(run->gpu, application, index, &count, &code);
    struct corun_workload_ptx ptx;
    bool known = corun_workload_ptx_of(member->workload, code, &ptx);
    if (!place_kernel(arena, known ? &ptx : NULL, kernel))
        return CORUN_MEMORY;
    return rows ? profile_lines(arena, known ? &ptx : NULL, rows, code, count, kernel) : CORUN_OK;
}

static void judge_goal(const struct member *member, struct corun_case_application_result *result)
{
    result->goal = member->request->goal;
    result->goal_value = member->request->goal_value;
    result->transfer_milliseconds = member->request->transfer_milliseconds;
    result->goal_ipc = member->goal_ipc;
    metrics_judge_goal(result);
}

static enum corun_status collect_application(struct run *run, struct arena *arena, uint32_t index,
                                             struct corun_case_application_result *result)
{
    const struct member *member = &run->members[index];
    uint32_t sm_count = run->job->gpu->sms;
    corun_gpu_application(run->gpu, index, &result->result);
    result->name = keep_text(arena, member->info.name);
    result->size = keep_text(arena, member->info.size);
    result->start_cycle = member->request->start_cycle;
    /* What an application does after it has reached a limit on instructions belongs to nobody's measurement. */
    uint64_t arrived = result->result.arrived_cycle, ended = result->result.measured_until_cycle;
    result->result.thread_instructions = result->result.measured_thread_instructions;
    if (arrived < result->start_cycle) /* it never did arrive */
        arrived = result->start_cycle;
    result->cycles = ended > arrived ? ended - arrived : 0;
    result->ipc = result->ipc_simulated = metrics_ratio(result->result.thread_instructions, result->cycles);
    if (run->settling && settling_cycle(run->settling)) {
        const struct settle_estimate *estimate = settling_estimate(run->settling, index);
        double window = (double)(run->job->cycles - arrived);
        result->ipc = estimate->instructions / window;
        result->ipc_half_width = estimate->half_width / window;
    }
    result->ipc_isolated = run_isolated_ipc(member);
    result->normalised_ipc = result->ipc_isolated > 0 ? result->ipc / result->ipc_isolated : (double)NAN;
    result->isolated_from_cache = member->from_cache;
    judge_goal(member, result);

    struct corun_counters *sms = ARENA_ARRAY(arena, struct corun_counters, sm_count);
    result->kernel_count = result->result.kernel_count;
    struct corun_case_kernel *kernels = ARENA_ARRAY(arena, struct corun_case_kernel, result->kernel_count + 1);
    if (!sms || !kernels || !result->name || !result->size)
        return CORUN_MEMORY;
    for (uint32_t s = 0; s < sm_count; s++)
        corun_gpu_share(run->gpu, s, index, &sms[s]);
    result->sms = sms;
    result->kernels = kernels;
    enum corun_status status = CORUN_OK;
    for (uint32_t k = 0; k < result->kernel_count && status == CORUN_OK; k++) {
        status = collect_kernel(run, arena, index, k, &kernels[k]);
        corun_counters_add(&result->counters, &kernels[k].result.counters);
    }
    return status;
}

/* What was asked for. */
static enum corun_status collect_case(const struct run *run, struct arena *arena, struct corun_case_result *result)
{
    const struct corun_case *job = run->job;
    const struct corun_policy *policy = job->policy;
    result->gpu = *job->gpu;
    result->policy = keep_text(arena, policy ? policy->name : CORUN_NO_POLICY);
    if (policy) {
        double *values = ARENA_ARRAY(arena, double, policy->parameter_count + 1);
        if (!values)
            return CORUN_MEMORY;
        for (uint32_t p = 0; p < policy->parameter_count; p++)
            values[p] = job->parameters ? job->parameters[p] : policy->parameters[p].initial;
        result->parameter_count = policy->parameter_count;
        result->parameters = policy->parameters;
        result->parameter_values = values;
    }
    result->window_cycles = job->cycles;
    result->window_thread_instructions = job->thread_instructions;
    result->window_runs = job->runs;
    result->settle = job->settle;
    result->settled_cycle = run->settling ? settling_cycle(run->settling) : 0;
    result->seed = job->seed;
    result->threads = run_threads(job->threads, job->gpu);
    return result->policy ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status collect_sampled(const struct run *run, struct arena *arena, struct corun_case_result *result)
{
    size_t count = corun_gpu_sampled(run->gpu, NULL, 0);
    struct corun_sampled_group *rows = ARENA_ARRAY(arena, struct corun_sampled_group, count + 1);
    if (!rows)
        return CORUN_MEMORY;
    corun_gpu_sampled(run->gpu, rows, count);
    for (size_t i = 0; i < count; i++)
        if (!(rows[i].name = keep_text(arena, rows[i].name)))
            return CORUN_MEMORY;
    uint64_t estimated = 0;
    for (size_t i = 0; i < count; i++)
        estimated += rows[i].estimated_cycles;
    /* Busses and links were busy only in what was simulated: their shares are of that time. */
    double simulated = metrics_ratio(result->cycles - (estimated < result->cycles ? estimated : 0), result->cycles);
    if (run->job->sampling && simulated > 0) {
        result->memory.dram_cycles = (uint64_t)((double)result->memory.dram_cycles * simulated);
        result->memory.icnt_cycles = (uint64_t)((double)result->memory.icnt_cycles * simulated);
    }
    result->estimated = run->job->sampling != NULL;
    result->sampled_count = (uint32_t)count;
    result->sampled = rows;
    return CORUN_OK;
}

enum corun_status run_collect(struct run *run, struct arena *arena, struct corun_case_result *result)
{
    const struct corun_case *job = run->job;
    enum corun_status status = collect_case(run, arena, result);
    if (status != CORUN_OK)
        return status;
    result->cycles = corun_gpu_cycles(run->gpu);
    result->interrupted = run->interrupted;
    result->application_count = job->application_count;
    struct corun_case_application_result *applications =
        ARENA_ARRAY(arena, struct corun_case_application_result, job->application_count);
    struct corun_sm_result *sms = ARENA_ARRAY(arena, struct corun_sm_result, job->gpu->sms);
    if (!applications || !sms)
        return CORUN_MEMORY;
    for (uint32_t a = 0; a < job->application_count && status == CORUN_OK; a++) {
        status = collect_application(run, arena, a, &applications[a]);
        corun_counters_add(&result->counters, &applications[a].counters);
    }
    for (uint32_t s = 0; s < job->gpu->sms; s++)
        corun_gpu_sm(run->gpu, s, &sms[s]);
    result->applications = applications;
    result->sms = sms;
    corun_gpu_memory(run->gpu, &result->memory);
    corun_gpu_energy(run->gpu, &result->energy);
    for (uint32_t a = 0; a < job->application_count; a++)
        applications[a].energy_joules = result->energy.applications[a];
    metrics_of_case(result);
    result->wall_seconds = run->shared_seconds;
    result->warp_instructions_per_second =
        run->shared_seconds > 0 ? (double)result->counters.warp_instructions / run->shared_seconds : (double)NAN;
    result->baseline_wall_seconds = run->baseline_seconds;
    if (status == CORUN_OK)
        status = collect_sampled(run, arena, result);
    if (status == CORUN_OK && run->history)
        status = history_collect(run->history, arena, &result->history);
    return status;
}
