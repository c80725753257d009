/* SPDX-License-Identifier: MIT */
/* What is told of an evaluation: how far everybody has come, beside itself alone; the run over time; what control took. */
#include "evaluate/state.h"

#include "case/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INTERVALS 100u

static const char *keep_text(struct arena *arena, const char *text)
{
    return text ? arena_copy_text(arena, text, strlen(text)) : NULL;
}

static enum corun_status collect_application(struct evaluation *evaluation, uint32_t index,
                                             struct corun_case_application_result *row)
{
    const struct member *member = &evaluation->members[index];
    struct arena *arena = evaluation->result->arena;
    struct software_result from;
    software_result(evaluation->software, index, &from);
    uint64_t measured = from.measured_ns > from.arrived_ns ? from.measured_ns - from.arrived_ns : 0;
    double rate = measured ? (double)from.progress / (double)measured : (double)NAN;
    *row = (struct corun_case_application_result){
        .name = keep_text(arena, member->info.name),
        .size = keep_text(arena, member->info.size),
        .goal = member->request->goal,
        .goal_value = member->request->goal_value,
        .transfer_milliseconds = member->request->transfer_milliseconds,
        .goal_ipc = from.goal_rate > 0 ? per_cycle(evaluation, from.goal_rate) : (double)NAN,
        .start_cycle = member->request->start_cycle,
        .result = {.status = from.status,
                   .runs = from.runs,
                   .arrived_cycle = to_cycles(evaluation, from.arrived_ns),
                   .ended_cycle = to_cycles(evaluation, from.ended_ns),
                   .first_run_cycles = from.runs ? to_cycles(evaluation, from.run_ns[0]) : 0,
                   .thread_instructions = from.progress,
                   .best_epoch_ipc = per_cycle(evaluation, from.best_epoch_rate),
                   .out_of_reach = from.out_of_reach},
        .cycles = to_cycles(evaluation, measured),
        .ipc = per_cycle(evaluation, rate),
        .ipc_isolated = member->rate > 0 ? per_cycle(evaluation, member->rate) : (double)NAN,
        .normalised_ipc = member->rate > 0 ? rate / member->rate : (double)NAN};
    metrics_judge_goal(row);
    return row->name && row->size ? CORUN_OK : CORUN_MEMORY;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Nearest rank. */
static uint64_t percentile(const uint64_t *sorted, uint32_t count, uint32_t percent)
{
    uint64_t rank = ((uint64_t)count * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

static enum corun_status collect_launches(struct evaluation *evaluation, uint32_t index,
                                          struct evaluate_application *row)
{
    struct arena *arena = evaluation->result->arena;
    struct software_result from;
    software_result(evaluation->software, index, &from);
    *row = (struct evaluate_application){.launches = from.launches,
                                         .whole = from.whole,
                                         .slices = from.slices,
                                         .requests = from.requests,
                                         .crews = from.crews,
                                         .workers = from.workers,
                                         .refusal = keep_text(arena, from.refusal),
                                         .returned = from.returned,
                                         .kept = keep_text(arena, from.kept),
                                         .keeps = keep_text(arena, from.keeps),
                                         .failure = keep_text(arena, from.failure),
                                         .mismatches = from.mismatches};
    uint64_t *sorted = ARENA_ARRAY(arena, uint64_t, from.runs + 1), sum = 0;
    if (!sorted)
        return CORUN_MEMORY;
    if (!from.runs)
        return CORUN_OK;
    memcpy(sorted, from.run_ns, from.runs * sizeof *sorted);
    qsort(sorted, from.runs, sizeof *sorted, compare_times);
    for (uint32_t i = 0; i < from.runs; i++)
        sum += sorted[i];
    row->mean_run_cycles = to_cycles(evaluation, sum / from.runs);
    row->median_run_cycles = to_cycles(evaluation, percentile(sorted, from.runs, 50));
    row->p99_run_cycles = to_cycles(evaluation, percentile(sorted, from.runs, 99));
    return CORUN_OK;
}

/* Epochs [first, last] as one interval. */
static void join_epochs(const struct evaluation *evaluation, const struct software_epoch *epochs, uint32_t first,
                        uint32_t last, struct corun_case_history_share *shares)
{
    uint64_t begin = first ? epochs[first - 1].end_ns : 0, length = epochs[last].end_ns - begin;
    for (uint32_t a = 0; a < evaluation->count; a++) {
        const uint64_t progress = first ? epochs[first - 1].shares[a].progress : 0;
        double sms = 0, tbs = 0;
        uint64_t before = begin;
        for (uint32_t i = first; i <= last; i++) {
            double span = (double)(epochs[i].end_ns - before);
            sms += epochs[i].shares[a].sms * span;
            tbs += epochs[i].shares[a].tbs * span;
            before = epochs[i].end_ns;
        }
        double done = (double)epochs[last].shares[a].progress - (double)progress;
        shares[a] = (struct corun_case_history_share){.sms = sms / (double)length,
                                                      .tbs = tbs / (double)length,
                                                      .ipc = per_cycle(evaluation, done / (double)length)};
    }
}

static enum corun_status collect_history(struct evaluation *evaluation)
{
    struct arena *arena = evaluation->result->arena;
    const struct corun_policy *policy = evaluation->job->policy;
    const struct software_epoch *epochs;
    uint32_t count = software_epochs(evaluation->software, &epochs), variables = policy ? policy->variable_count : 0;
    uint32_t per = (count + MOST_INTERVALS - 1) / MOST_INTERVALS, made = per ? (count + per - 1) / per : 0;
    uint64_t *ends = ARENA_ARRAY(arena, uint64_t, made + 1);
    double *values = ARENA_ARRAY(arena, double, (size_t)made *variables + 1);
    double *powered = ARENA_ARRAY(arena, double, made + 1);
    struct corun_case_history_share *shares =
        ARENA_ARRAY(arena, struct corun_case_history_share, (size_t)made * evaluation->count + 1);
    if (!ends || !values || !powered || !shares)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < made; i++) {
        uint32_t last = (i + 1) * per < count ? (i + 1) * per - 1 : count - 1;
        ends[i] = to_cycles(evaluation, epochs[last].end_ns);
        powered[i] = evaluation->device.sms;
        join_epochs(evaluation, epochs, i * per, last, &shares[(size_t)i * evaluation->count]);
        if (variables)
            memcpy(&values[(size_t)i * variables], software_variables(evaluation->software, last),
                   variables * sizeof *values);
    }
    evaluation->result->common.history = (struct corun_case_history){.count = made,
                                                                     .end_cycles = ends,
                                                                     .shares = shares,
                                                                     .powered_sms = powered,
                                                                     .variable_count = variables,
                                                                     .variables = policy ? policy->variables : NULL,
                                                                     .values = values};
    return CORUN_OK;
}

/* What was asked for. */
static enum corun_status collect_case(const struct evaluation *evaluation, struct corun_case_result *common)
{
    const struct corun_case *job = evaluation->job;
    const struct corun_policy *policy = job->policy;
    struct arena *arena = evaluation->result->arena;
    uint32_t parameters = policy ? policy->parameter_count : 0;
    double *values = ARENA_ARRAY(arena, double, parameters + 1);
    *common = (struct corun_case_result){.gpu = *job->gpu,
                                         .policy = keep_text(arena, policy ? policy->name : CORUN_NO_POLICY),
                                         .parameter_count = parameters,
                                         .parameters = policy ? policy->parameters : NULL,
                                         .parameter_values = values,
                                         .window_cycles = job->cycles,
                                         .window_runs = job->runs,
                                         .seed = job->seed,
                                         .threads = 1,
                                         .interrupted = evaluation->interrupted,
                                         .application_count = evaluation->count,
                                         .wall_seconds = evaluation->shared_seconds,
                                         .warp_instructions_per_second = (double)NAN,
                                         .baseline_wall_seconds = evaluation->alone_seconds};
    if (!values || !common->policy)
        return CORUN_MEMORY;
    for (uint32_t p = 0; p < parameters; p++)
        values[p] = job->parameters ? job->parameters[p] : policy->parameters[p].initial;
    common->gpu.sms = evaluation->device.sms;
    common->gpu.core_clock_khz = evaluation->device.clock_khz;
    if (evaluation->request->native)
        snprintf(common->gpu.name, sizeof common->gpu.name, "%.63s", evaluation->device.device);
    return CORUN_OK;
}

enum corun_status evaluation_collect(struct evaluation *evaluation)
{
    struct evaluate_result *result = evaluation->result;
    struct corun_case_result *common = &result->common;
    struct corun_case_application_result *rows =
        ARENA_ARRAY(result->arena, struct corun_case_application_result, evaluation->count);
    struct evaluate_application *applications =
        ARENA_ARRAY(result->arena, struct evaluate_application, evaluation->count);
    enum corun_status status = rows && applications ? collect_case(evaluation, common) : CORUN_MEMORY;
    for (uint32_t i = 0; i < evaluation->count && status == CORUN_OK; i++) {
        status = collect_application(evaluation, i, &rows[i]);
        if (status == CORUN_OK)
            status = collect_launches(evaluation, i, &applications[i]);
        uint64_t end = rows[i].start_cycle + rows[i].cycles;
        common->cycles = end > common->cycles ? end : common->cycles;
    }
    common->applications = rows;
    result->applications = applications;
    result->launching = evaluation->request->launching;
    result->favour = evaluation->request->favour;
    result->clock_khz = evaluation->device.clock_khz;
    result->own_sms = evaluation->device.own_sms;
    result->apart_sms = evaluation->device.apart_sms;
    memcpy(result->device, evaluation->device.device, sizeof result->device);
    result->simulated = evaluation->device.simulated;
    result->native = evaluation->request->native;
    result->check = evaluation->request->check;
    result->load = evaluation->request->load;
    result->epoch_cycles = to_cycles(evaluation, evaluation->device.epoch_ns);
    software_control(evaluation->software, &result->control);
    if (status == CORUN_OK)
        status = collect_history(evaluation);
    if (status == CORUN_OK)
        metrics_of_case(common);
    return status;
}
