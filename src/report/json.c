/* SPDX-License-Identifier: MIT */
/* The JSON of a case and of a launch (docs/json.md). */
#include "report/json.h"

#include "report/figures.h"
#include "report/json_writer.h"
#include "report/sampled.h"
#include "share/parameter_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *stalls(struct json_writer *writer, const struct corun_counters *counters)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        if (figure_stall_name(&rows[i]))
            json_put(writer, object, figure_stall_name(&rows[i]), json_count(figure_counter(counters, &rows[i])));
    }
    return object;
}

static json_t *all_counters(struct json_writer *writer, const struct corun_counters *counters)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        json_put(writer, object, rows[i].name, json_count(figure_counter(counters, &rows[i])));
    return object;
}

static json_t *gpu_parameters(struct json_writer *writer, const struct corun_gpu_config *gpu)
{
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)gpu + rows[i].offset, sizeof value);
        json_put(writer, object, rows[i].name, rows[i].words ? json_text(rows[i].words[value]) : json_count(value));
    }
    return object;
}

json_t *json_kernel_profile(struct json_writer *writer, const struct corun_case_kernel *kernel)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < kernel->profile_count; i++) {
        const struct corun_profile_line *line = &kernel->profile[i];
        json_t *object = json_object(), *waits = json_object();
        json_put(writer, object, "line", json_count(line->line));
        json_put(writer, object, "text", json_text(line->text));
        json_put(writer, object, "source", json_text(line->source));
        json_put(writer, object, "warp_instructions", json_count(line->counts.warp_instructions));
        json_put(writer, object, "thread_instructions", json_count(line->counts.thread_instructions));
        json_put(writer, waits, "data", json_count(line->counts.stall_data));
        json_put(writer, waits, "memory_data", json_count(line->counts.stall_memory_data));
        json_put(writer, waits, "pipeline", json_count(line->counts.stall_pipeline));
        json_put(writer, waits, "memory", json_count(line->counts.stall_memory));
        json_put(writer, waits, "barrier", json_count(line->counts.stall_barrier));
        json_put(writer, waits, "other", json_count(line->counts.stall_other));
        json_put(writer, object, "stalls", waits);
        json_push(writer, array, object);
    }
    return array;
}

static json_t *kernel(struct json_writer *writer, const struct corun_gpu_config *gpu,
                      const struct corun_case_kernel *row)
{
    const struct corun_counters *counters = &row->result.counters;
    json_t *object = json_object();
    json_put(writer, object, "name", json_text(row->result.name));
    json_put(writer, object, "launches", json_count(row->result.launches));
    json_put(writer, object, "cycles", json_count(row->result.cycles));
    json_put(writer, object, "profiled_cycles",
             json_count(row->result.cycles + (uint64_t)row->result.launches * gpu->profiled_launch_cycles));
    json_put(writer, object, "thread_instructions", json_count(counters->thread_instructions));
    json_put(writer, object, "warp_instructions", json_count(counters->warp_instructions));
    json_put(writer, object, "ipc", json_number(row->ipc));
    json_put(writer, object, "ipc_isolated", json_number(row->ipc_isolated));
    json_put(writer, object, "normalised_ipc", json_number(row->normalised_ipc));
    json_put(writer, object, "l1_hit_rate", json_number(figure_l1_hit_rate(counters)));
    json_put(writer, object, "l2_hit_rate", json_number(figure_l2_hit_rate(counters)));
    json_put(writer, object, "dram_bytes", json_count(figure_dram_bytes(counters)));
    json_put(writer, object, "registers_per_thread", json_count(row->result.registers_per_thread));
    json_put(writer, object, "shared_bytes", json_count(row->result.tb_shared_bytes));
    json_put(writer, object, "threads_per_tb", json_count(row->result.tb_threads));
    json_put(writer, object, "tbs_per_sm", json_count(row->result.tbs_per_sm));
    json_put(writer, object, "stalls", stalls(writer, counters));
    json_put(writer, object, "counters", all_counters(writer, counters));
    if (row->profile_count)
        json_put(writer, object, "profile", json_kernel_profile(writer, row));
    return object;
}

static json_t *goal(const struct corun_case_application_result *row)
{
    char text[48];
    figure_goal(row, text, sizeof text);
    return text[0] ? json_text(text) : json_null();
}

static json_t *goal_met(const struct corun_case_application_result *row)
{
    if (row->goal_outcome == CORUN_GOAL_NOT_SET || row->goal_outcome == CORUN_GOAL_NOT_KNOWN)
        return json_null();
    return json_boolean(row->goal_outcome == CORUN_GOAL_MET);
}

static json_t *goal_out_of_reach(const struct corun_case_application_result *row)
{
    if (row->goal_outcome == CORUN_GOAL_NOT_SET || row->goal_outcome == CORUN_GOAL_NOT_KNOWN)
        return json_null();
    return json_boolean(row->goal_outcome == CORUN_GOAL_OUT_OF_REACH);
}

/* Who it is, its goal, and how far it has come. */
static void put_progress(struct json_writer *writer, json_t *object, const struct corun_case_application_result *row)
{
    json_put(writer, object, "name", json_text(row->name));
    json_put(writer, object, "size", row->size[0] ? json_text(row->size) : json_null());
    json_put(writer, object, "status", json_text(corun_status_name(row->result.status)));
    json_put(writer, object, "goal", goal(row));
    json_put(writer, object, "goal_met", goal_met(row));
    json_put(writer, object, "goal_ipc", json_number(row->goal_ipc));
    json_put(writer, object, "goal_distance", json_number(row->goal_distance));
    json_put(writer, object, "goal_out_of_reach", goal_out_of_reach(row));
    json_put(writer, object, "best_epoch_ipc", json_number(row->result.best_epoch_ipc));
    json_put(writer, object, "start_cycle", json_count(row->start_cycle));
    json_put(writer, object, "runs", json_count(row->result.runs));
    json_put(writer, object, "first_run_cycles", json_count(row->result.first_run_cycles));
    json_put(writer, object, "thread_instructions", json_count(row->result.thread_instructions));
}

static void put_speed(struct json_writer *writer, json_t *object, const struct corun_case_application_result *row)
{
    json_put(writer, object, "cycles", json_count(row->cycles));
    json_put(writer, object, "ipc", json_number(row->ipc));
    json_put(writer, object, "ipc_isolated", json_number(row->ipc_isolated));
    json_put(writer, object, "normalised_ipc", json_number(row->normalised_ipc));
}

/* When the run ended before its window did, and how well its speeds are known; what has not settled is as it was simulated. */
static json_t *settled(struct json_writer *writer, const struct corun_case_result *result)
{
    json_t *object = json_object(), *applications = json_array();
    json_put(writer, object, "part", json_number(result->settle / 1e6));
    json_put(writer, object, "cycle", result->settled_cycle ? json_count(result->settled_cycle) : json_null());
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_case_application_result *row = &result->applications[a];
        json_t *application = json_object();
        json_put(writer, application, "ipc_half_width", json_number(row->ipc_half_width));
        json_put(writer, application, "ipc_simulated", json_number(row->ipc_simulated));
        json_push(writer, applications, application);
    }
    json_put(writer, object, "applications", applications);
    return object;
}

static json_t *application(struct json_writer *writer, const struct corun_gpu_config *gpu,
                           const struct corun_case_application_result *row)
{
    json_t *object = json_object(), *kernels = json_array();
    put_progress(writer, object, row);
    json_put(writer, object, "warp_instructions", json_count(row->result.warp_instructions));
    put_speed(writer, object, row);
    json_put(writer, object, "l1_hit_rate", json_number(figure_l1_hit_rate(&row->counters)));
    json_put(writer, object, "l2_hit_rate", json_number(figure_l2_hit_rate(&row->counters)));
    json_put(writer, object, "dram_bytes", json_count(figure_dram_bytes(&row->counters)));
    json_put(writer, object, "energy_joules", json_number(row->energy_joules));
    json_put(writer, object, "instructions_per_joule",
             json_number(figure_instructions_per_joule(row->result.thread_instructions, row->energy_joules)));
    json_put(writer, object, "stalls", stalls(writer, &row->counters));
    for (uint32_t k = 0; k < row->kernel_count; k++)
        json_push(writer, kernels, kernel(writer, gpu, &row->kernels[k]));
    json_put(writer, object, "kernels", kernels);
    return object;
}

static json_t *sm(struct json_writer *writer, const struct corun_case_result *result, uint32_t index)
{
    const struct corun_sm_result *row = &result->sms[index];
    json_t *object = json_object(), *shares = json_array();
    json_put(writer, object, "busy_cycles", json_count(row->busy_cycles));
    json_put(writer, object, "occupancy",
             json_number(figure_occupancy(&result->gpu, 1, result->cycles, &row->counters)));
    json_put(writer, object, "idle_scheduler_cycles", json_count(row->idle_scheduler_cycles));
    json_put(writer, object, "gated_cycles", json_count(row->gated_cycles));
    json_put(writer, object, "stalls", stalls(writer, &row->counters));
    json_t *schedulers = stalls(writer, &row->schedulers);
    json_put(writer, schedulers, "issued", json_count(row->schedulers.issue_cycles));
    json_put(writer, object, "scheduler_cycles", schedulers);
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_counters *counters = &result->applications[a].sms[index];
        json_t *share = json_object();
        json_put(writer, share, "tbs", json_count(counters->tbs_completed));
        json_put(writer, share, "thread_instructions", json_count(counters->thread_instructions));
        json_put(writer, share, "warp_instructions", json_count(counters->warp_instructions));
        json_push(writer, shares, share);
    }
    json_put(writer, object, "applications", shares);
    return object;
}

static json_t *policy(struct json_writer *writer, const struct corun_case_result *result)
{
    json_t *object = json_object(), *parameters = json_object();
    for (uint32_t p = 0; p < result->parameter_count;) {
        struct parameter_group group = parameter_group_at(result->parameters, result->parameter_count, p);
        const struct corun_policy_parameter *parameter = &result->parameters[p];
        double value = result->parameter_values[p];
        char name[PARAMETER_TEXT_BYTES], text[PARAMETER_TEXT_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)group.name_length, parameter->name);
        parameter_group_text(result->parameters, &group, result->parameter_values, text, sizeof text);
        json_put(writer, parameters, name,
                 group.is_list || parameter->choices ? json_text(text)
                 : parameter->integer                ? json_integer((json_int_t)value)
                                                     : json_number(value));
        p += group.count;
    }
    json_put(writer, object, "name", json_text(result->policy));
    json_put(writer, object, "parameters", parameters);
    return object;
}

static json_t *window(struct json_writer *writer, const struct corun_case_result *result)
{
    json_t *object = json_object();
    json_put(writer, object, "cycles", result->window_cycles ? json_count(result->window_cycles) : json_null());
    json_put(writer, object, "thread_instructions",
             result->window_thread_instructions ? json_count(result->window_thread_instructions) : json_null());
    json_put(writer, object, "runs", result->window_runs ? json_count(result->window_runs) : json_null());
    return object;
}

static void set_memory(struct json_writer *writer, json_t *object, const struct corun_counters *counters,
                       const struct corun_memory_result *memory)
{
    json_t *dram = json_object(), *interconnect = json_object();
    json_put(writer, dram, "utilisation", json_number(figure_dram_utilisation(memory)));
    json_put(writer, dram, "row_hit_rate", json_number(figure_row_hit_rate(counters)));
    json_put(writer, dram, "read_bytes", json_count(counters->dram_read_bytes));
    json_put(writer, dram, "write_bytes", json_count(counters->dram_write_bytes));
    json_put(writer, object, "dram", dram);
    json_put(writer, interconnect, "latency_cycles", json_number(figure_interconnect_latency(counters)));
    json_put(writer, interconnect, "utilisation", json_number(figure_interconnect_utilisation(memory)));
    json_put(writer, object, "interconnect", interconnect);
}

static json_t *energy(struct json_writer *writer, const struct corun_energy_result *row, uint64_t thread_instructions)
{
    json_t *object = json_object();
#define G(name, meaning) json_put(writer, object, #name, json_number(row->name));
    CORUN_DYNAMIC_ENERGIES(G)
    CORUN_STATIC_ENERGIES(G)
#undef G
    json_put(writer, object, "total", json_number(row->total));
    json_put(writer, object, "average_watts", json_number(row->average_watts));
    json_put(writer, object, "instructions_per_joule",
             json_number(figure_instructions_per_joule(thread_instructions, row->total)));
    return object;
}

/* Two decimals: enough to draw it, and short. */
static json_t *rounded(double value)
{
    return json_number(round(value * 100) / 100);
}

/* Series of one value for each interval. */
static json_t *history(struct json_writer *writer, const struct corun_case_result *result)
{
    const struct corun_case_history *row = &result->history;
    json_t *object = json_object(), *cycles = json_array(), *powered = json_array(), *applications = json_array();
    json_t *variables = json_object();
    bool any_off = false;
    for (uint32_t i = 0; i < row->count; i++) {
        json_push(writer, cycles, json_count(row->end_cycles[i]));
        json_push(writer, powered, rounded(row->powered_sms[i]));
        any_off = any_off || row->powered_sms[i] < result->gpu.sms;
    }
    for (uint32_t a = 0; a < result->application_count; a++) {
        json_t *application = json_object(), *sms = json_array(), *tbs = json_array(), *ipc = json_array();
        for (uint32_t i = 0; i < row->count; i++) {
            const struct corun_case_history_share *share = &row->shares[(size_t)i * result->application_count + a];
            json_push(writer, sms, rounded(share->sms));
            json_push(writer, tbs, rounded(share->tbs));
            json_push(writer, ipc, rounded(share->ipc));
        }
        json_put(writer, application, "sms", sms);
        json_put(writer, application, "tbs", tbs);
        json_put(writer, application, "ipc", ipc);
        json_push(writer, applications, application);
    }
    for (uint32_t v = 0; v < row->variable_count; v++) {
        json_t *values = json_array();
        for (uint32_t i = 0; i < row->count; i++)
            json_push(writer, values, json_number(row->values[(size_t)i * row->variable_count + v]));
        json_put(writer, variables, row->variables[v].name, values);
    }
    json_put(writer, object, "end_cycles", cycles);
    json_put(writer, object, "applications", applications);
    if (any_off)
        json_put(writer, object, "powered_sms", powered);
    else
        json_decref(powered);
    json_put(writer, object, "variables", variables);
    return object;
}

/* What was asked for, and how long it went on. */
static void put_case(struct json_writer *writer, json_t *object, const struct corun_case_result *result)
{
    json_put(writer, object, "gpu", json_text(result->gpu.name));
    json_put(writer, object, "policy", policy(writer, result));
    json_put(writer, object, "window", window(writer, result));
    json_put(writer, object, "cycles", json_count(result->cycles));
    json_put(writer, object, "interrupted", json_boolean(result->interrupted));
    json_put(writer, object, "seed", json_seed(result->seed));
}

static void put_metrics(struct json_writer *writer, json_t *object, const struct corun_case_result *result)
{
    if (result->history.count)
        json_put(writer, object, "history", history(writer, result));
    json_put(writer, object, "stp", json_number(result->stp));
    json_put(writer, object, "antt", json_number(result->antt));
    json_put(writer, object, "fairness", json_number(result->fairness));
}

static json_t *case_object(struct json_writer *writer, const struct corun_case_result *result)
{
    json_t *object = json_object(), *applications = json_array(), *sms = json_array();
    put_case(writer, object, result);
    json_put(writer, object, "threads", json_count(result->threads));
    for (uint32_t a = 0; a < result->application_count; a++)
        json_push(writer, applications, application(writer, &result->gpu, &result->applications[a]));
    json_put(writer, object, "applications", applications);
    for (uint32_t s = 0; s < result->gpu.sms; s++)
        json_push(writer, sms, sm(writer, result, s));
    json_put(writer, object, "sms", sms);
    set_memory(writer, object, &result->counters, &result->memory);
    json_put(writer, object, "energy",
             energy(writer, &result->energy, figure_completed_instructions(&result->counters)));
    put_metrics(writer, object, result);
    if (result->estimated)
        json_put(writer, object, "sampling", sampled_json(writer, result->sampled, result->sampled_count));
    if (result->settle)
        json_put(writer, object, "settled", settled(writer, result));
    json_put(writer, object, "model_version", json_count(CORUN_MODEL_VERSION));
    json_put(writer, object, "gpu_parameters", gpu_parameters(writer, &result->gpu));
    json_put(writer, object, "wall_seconds", json_number(result->wall_seconds));
    json_put(writer, object, "warp_instructions_per_second", json_number(result->warp_instructions_per_second));
    return object;
}

enum corun_status json_case(const struct corun_case_result *result, FILE *stream)
{
    struct json_writer writer = {false};
    json_t *object = case_object(&writer, result);
    return json_write(&writer, object, stream);
}

/* Launches of an application on the software machine. */
static void put_launches(struct json_writer *writer, json_t *object, const struct evaluate_result *result,
                         uint32_t index)
{
    const struct evaluate_application *row = &result->applications[index];
    json_t *runs = json_object();
    json_put(writer, runs, "mean", row->mean_run_cycles ? json_count(row->mean_run_cycles) : json_null());
    json_put(writer, runs, "median", row->median_run_cycles ? json_count(row->median_run_cycles) : json_null());
    json_put(writer, runs, "p99", row->p99_run_cycles ? json_count(row->p99_run_cycles) : json_null());
    json_put(writer, object, "run_cycles", runs);
    json_put(writer, object, "launches", json_count(row->launches));
    json_put(writer, object, "launches_whole", json_count(row->whole));
    json_put(writer, object, "slices", json_count(row->slices));
    json_put(writer, object, "crews", json_count(row->crews));
    json_put(writer, object, "workers", json_count(row->workers));
    json_put(writer, object, "no_workers_because", row->refusal ? json_text(row->refusal) : json_null());
    json_put(writer, object, "returned_tbs", json_count(row->returned));
    json_put(writer, object, "drained_kernel", row->kept ? json_text(row->kept) : json_null());
    json_put(writer, object, "drained_because", row->keeps ? json_text(row->keeps) : json_null());
    if (result->load > 0 && !index)
        json_put(writer, object, "requests", json_count(row->requests));
    json_put(writer, object, "failure", row->failure ? json_text(row->failure) : json_null());
    if (result->check)
        json_put(writer, object, "wrong_runs", json_count(row->mismatches));
}

static json_t *control(struct json_writer *writer, const struct evaluate_result *result)
{
    const struct software_control *row = &result->control;
    json_t *object = json_object();
    json_put(writer, object, "epoch_cycles", json_count(result->epoch_cycles));
    json_put(writer, object, "epochs", json_count(row->epochs));
    json_put(writer, object, "looks", json_count(row->looks));
    json_put(writer, object, "look_microseconds",
             row->looks ? json_number((double)row->look_ns / 1e3 / (double)row->looks) : json_null());
    json_put(writer, object, "writes", json_count(row->writes));
    json_put(writer, object, "hand_overs", json_count(row->hand_overs));
    json_put(writer, object, "hand_over_microseconds",
             row->hand_overs ? json_number((double)row->hand_over_ns / 1e3 / (double)row->hand_overs) : json_null());
    json_put(writer, object, "plugs", json_count(row->plugs));
    return object;
}

static json_t *evaluation_object(struct json_writer *writer, const struct evaluate_result *result)
{
    static const char *const launchings[] = {"workers", "slices", "whole"};
    static const char *const favours[] = {"plain", "priority", "sms"};
    const struct corun_case_result *common = &result->common;
    json_t *object = json_object(), *applications = json_array();
    put_case(writer, object, common);
    json_put(writer, object, "device", json_text(result->device));
    json_put(writer, object, "clock_mhz", json_number(result->clock_khz / 1e3));
    json_put(writer, object, "launching", json_text(launchings[result->launching]));
    json_put(writer, object, "streams", json_text(favours[result->favour]));
    json_put(writer, object, "own_sms", json_count(result->own_sms));
    json_put(writer, object, "apart_sms", json_count(result->apart_sms));
    if (result->load > 0)
        json_put(writer, object, "load", json_number(result->load));
    for (uint32_t a = 0; a < common->application_count; a++) {
        json_t *row = json_object();
        put_progress(writer, row, &common->applications[a]);
        put_speed(writer, row, &common->applications[a]);
        put_launches(writer, row, result, a);
        json_push(writer, applications, row);
    }
    json_put(writer, object, "applications", applications);
    if (result->launching == SOFTWARE_WORKERS)
        json_put(writer, object, "control", control(writer, result));
    put_metrics(writer, object, common);
    json_put(writer, object, "wall_seconds", json_number(common->wall_seconds));
    return object;
}

enum corun_status json_machines(const struct corun_case_result *hardware, const struct evaluate_result *software,
                                FILE *stream)
{
    struct json_writer writer = {false};
    if (!hardware) {
        json_t *alone = evaluation_object(&writer, software);
        return json_write(&writer, alone, stream);
    }
    json_t *object = json_object();
    json_put(&writer, object, "hardware", case_object(&writer, hardware));
    json_put(&writer, object, "software", evaluation_object(&writer, software));
    return json_write(&writer, object, stream);
}

json_t *json_case_read(const char *text, size_t bytes, char problem[JSON_PROBLEM_BYTES])
{
    json_error_t error;
    json_t *result = json_loadb(text, bytes, 0, &error);
    problem[0] = 0;
    if (json_is_array(json_case_applications(result)))
        return result;
    snprintf(problem, JSON_PROBLEM_BYTES, "the result is no such JSON as it should be: %s",
             result ? "there is no list of applications" : error.text);
    json_decref(result);
    return NULL;
}

const json_t *json_case_applications(const json_t *result)
{
    return json_object_get(result, "applications");
}

const json_t *json_case_value(const json_t *result, const char *path)
{
    for (const char *rest = path; result && rest; rest = strchr(rest, '.') ? strchr(rest, '.') + 1 : NULL)
        result = json_object_getn(result, rest, strcspn(rest, "."));
    return result;
}

enum corun_status corun_case_result_json(const struct corun_case_result *result, char **text)
{
    size_t bytes;
    *text = NULL;
    FILE *stream = open_memstream(text, &bytes);
    if (!stream)
        return CORUN_MEMORY;
    enum corun_status status = json_case(result, stream);
    if (fclose(stream) != 0)
        status = CORUN_MEMORY;
    if (status != CORUN_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

enum corun_status json_launch(const struct launch_result *result, FILE *stream)
{
    struct json_writer writer = {false};
    bool timed = !result->functional;
    const struct corun_counters *counters = &result->counters;
    json_t *object = json_object();
    json_put(&writer, object, "kernel", json_text(result->kernel));
    json_put(&writer, object, "status", json_text(corun_status_name(result->status)));
    json_put(&writer, object, "interrupted", json_boolean(result->interrupted));
    json_put(&writer, object, "cycles", timed ? json_count(result->cycles) : json_null());
    json_put(&writer, object, "profiled_cycles", timed ? json_count(result->profiled_cycles) : json_null());
    json_put(&writer, object, "thread_instructions", json_count(result->thread_instructions));
    json_put(&writer, object, "warp_instructions", json_count(result->warp_instructions));
    json_put(&writer, object, "ipc", json_number(result->ipc));
    json_put(&writer, object, "registers_per_thread", json_count(result->registers_per_thread));
    json_put(&writer, object, "shared_bytes", json_count(result->shared_bytes));
    json_put(&writer, object, "tbs_per_sm", result->tbs_per_sm ? json_count(result->tbs_per_sm) : json_null());
    json_put(&writer, object, "l1_hit_rate", json_number(figure_l1_hit_rate(counters)));
    json_put(&writer, object, "l2_hit_rate", json_number(figure_l2_hit_rate(counters)));
    json_put(&writer, object, "dram_bytes", timed ? json_count(figure_dram_bytes(counters)) : json_null());
    if (timed) {
        set_memory(&writer, object, counters, &result->memory);
        json_put(&writer, object, "energy", energy(&writer, &result->energy, result->thread_instructions));
        json_put(&writer, object, "stalls", stalls(&writer, counters));
        json_put(&writer, object, "counters", all_counters(&writer, counters));
    }
    json_put(&writer, object, "wall_seconds", json_number(result->wall_seconds));
    json_put(&writer, object, "warp_instructions_per_second", json_number(result->warp_instructions_per_second));
    return json_write(&writer, object, stream);
}
