#include "report/json.h"

#include "report/figures.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough digits to tell results apart, few enough that the last one does not depend on the compiler. */
#define REAL_DIGITS 12

/* Every maker gives NULL when out of memory; jansson passes that on: setting NULL fails, and so does the whole. */
struct writer {
    bool failed;
};

static void set(struct writer *writer, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        writer->failed = true;
}

static void append(struct writer *writer, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        writer->failed = true;
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* JSON is UTF-8, but file names and PTX comments need not be: then their odd bytes become question marks. */
static json_t *string(const char *value)
{
    json_t *json = json_string(value);
    char *copy = json ? NULL : strdup(value);
    if (!copy)
        return json;
    for (char *c = copy; *c; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    json = json_string(copy);
    free(copy);
    return json;
}

static json_t *stalls(struct writer *writer, const struct corun_counters *counters)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        if (figure_stall_name(&rows[i]))
            set(writer, object, figure_stall_name(&rows[i]), integer(figure_counter(counters, &rows[i])));
    }
    return object;
}

static json_t *all_counters(struct writer *writer, const struct corun_counters *counters)
{
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        set(writer, object, rows[i].name, integer(figure_counter(counters, &rows[i])));
    return object;
}

static json_t *gpu_parameters(struct writer *writer, const struct corun_gpu_config *gpu)
{
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, (const char *)gpu + rows[i].offset, sizeof value);
        set(writer, object, rows[i].name, rows[i].words ? string(rows[i].words[value]) : integer(value));
    }
    return object;
}

static json_t *profile(struct writer *writer, const struct corun_case_kernel *kernel)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < kernel->profile_count; i++) {
        const struct corun_profile_line *line = &kernel->profile[i];
        json_t *object = json_object(), *waits = json_object();
        set(writer, object, "line", integer(line->line));
        set(writer, object, "text", string(line->text));
        set(writer, object, "warp_instructions", integer(line->counts.warp_instructions));
        set(writer, object, "thread_instructions", integer(line->counts.thread_instructions));
        set(writer, waits, "data", integer(line->counts.stall_data));
        set(writer, waits, "memory_data", integer(line->counts.stall_memory_data));
        set(writer, waits, "pipeline", integer(line->counts.stall_pipeline));
        set(writer, waits, "memory", integer(line->counts.stall_memory));
        set(writer, waits, "barrier", integer(line->counts.stall_barrier));
        set(writer, waits, "other", integer(line->counts.stall_other));
        set(writer, object, "stalls", waits);
        append(writer, array, object);
    }
    return array;
}

static json_t *kernel(struct writer *writer, const struct corun_case_kernel *row)
{
    const struct corun_counters *counters = &row->result.counters;
    json_t *object = json_object();
    set(writer, object, "name", string(row->result.name));
    set(writer, object, "launches", integer(row->result.launches));
    set(writer, object, "cycles", integer(row->result.cycles));
    set(writer, object, "thread_instructions", integer(counters->thread_instructions));
    set(writer, object, "warp_instructions", integer(counters->warp_instructions));
    set(writer, object, "ipc", real(row->ipc));
    set(writer, object, "ipc_isolated", real(row->ipc_isolated));
    set(writer, object, "normalised_ipc", real(row->normalised_ipc));
    set(writer, object, "l1_hit_rate", real(figure_l1_hit_rate(counters)));
    set(writer, object, "l2_hit_rate", real(figure_l2_hit_rate(counters)));
    set(writer, object, "dram_bytes", integer(figure_dram_bytes(counters)));
    set(writer, object, "registers_per_thread", integer(row->result.registers_per_thread));
    set(writer, object, "shared_bytes", integer(row->result.tb_shared_bytes));
    set(writer, object, "threads_per_tb", integer(row->result.tb_threads));
    set(writer, object, "tbs_per_sm", integer(row->result.tbs_per_sm));
    set(writer, object, "stalls", stalls(writer, counters));
    set(writer, object, "counters", all_counters(writer, counters));
    if (row->profile_count)
        set(writer, object, "profile", profile(writer, row));
    return object;
}

static json_t *goal(const struct corun_case_application_result *row)
{
    char text[48];
    figure_goal(row, text, sizeof text);
    return text[0] ? string(text) : json_null();
}

static json_t *goal_met(const struct corun_case_application_result *row)
{
    if (row->goal_outcome == CORUN_GOAL_MET || row->goal_outcome == CORUN_GOAL_MISSED)
        return json_boolean(row->goal_outcome == CORUN_GOAL_MET);
    return json_null();
}

static json_t *application(struct writer *writer, const struct corun_case_application_result *row)
{
    json_t *object = json_object(), *kernels = json_array();
    set(writer, object, "name", string(row->name));
    set(writer, object, "size", row->size[0] ? string(row->size) : json_null());
    set(writer, object, "status", string(corun_status_name(row->result.status)));
    set(writer, object, "goal", goal(row));
    set(writer, object, "goal_met", goal_met(row));
    set(writer, object, "goal_ipc", real(row->goal_ipc));
    set(writer, object, "goal_distance", real(row->goal_distance));
    set(writer, object, "start_cycle", integer(row->start_cycle));
    set(writer, object, "runs", integer(row->result.runs));
    set(writer, object, "first_run_cycles", integer(row->result.first_run_cycles));
    set(writer, object, "thread_instructions", integer(row->result.thread_instructions));
    set(writer, object, "warp_instructions", integer(row->result.warp_instructions));
    set(writer, object, "cycles", integer(row->cycles));
    set(writer, object, "ipc", real(row->ipc));
    set(writer, object, "ipc_isolated", real(row->ipc_isolated));
    set(writer, object, "normalised_ipc", real(row->normalised_ipc));
    set(writer, object, "l1_hit_rate", real(figure_l1_hit_rate(&row->counters)));
    set(writer, object, "l2_hit_rate", real(figure_l2_hit_rate(&row->counters)));
    set(writer, object, "dram_bytes", integer(figure_dram_bytes(&row->counters)));
    set(writer, object, "energy_joules", real(row->energy_joules));
    set(writer, object, "instructions_per_joule",
        real(figure_instructions_per_joule(row->result.thread_instructions, row->energy_joules)));
    set(writer, object, "stalls", stalls(writer, &row->counters));
    for (uint32_t k = 0; k < row->kernel_count; k++)
        append(writer, kernels, kernel(writer, &row->kernels[k]));
    set(writer, object, "kernels", kernels);
    return object;
}

static json_t *sm(struct writer *writer, const struct corun_case_result *result, uint32_t index)
{
    const struct corun_sm_result *row = &result->sms[index];
    json_t *object = json_object(), *shares = json_array();
    set(writer, object, "busy_cycles", integer(row->busy_cycles));
    set(writer, object, "occupancy", real(figure_occupancy(&result->gpu, 1, result->cycles, &row->counters)));
    set(writer, object, "idle_scheduler_cycles", integer(row->idle_scheduler_cycles));
    set(writer, object, "stalls", stalls(writer, &row->counters));
    for (uint32_t a = 0; a < result->application_count; a++) {
        const struct corun_counters *counters = &result->applications[a].sms[index];
        json_t *share = json_object();
        set(writer, share, "tbs", integer(counters->tbs_completed));
        set(writer, share, "thread_instructions", integer(counters->thread_instructions));
        set(writer, share, "warp_instructions", integer(counters->warp_instructions));
        append(writer, shares, share);
    }
    set(writer, object, "apps", shares);
    return object;
}

static json_t *policy(struct writer *writer, const struct corun_case_result *result)
{
    json_t *object = json_object(), *parameters = json_object();
    for (uint32_t p = 0; p < result->parameter_count; p++) {
        double value = result->parameter_values[p];
        set(writer, parameters, result->parameters[p].name,
            result->parameters[p].integer ? json_integer((json_int_t)value) : real(value));
    }
    set(writer, object, "name", string(result->policy));
    set(writer, object, "params", parameters);
    return object;
}

static json_t *window(struct writer *writer, const struct corun_case_result *result)
{
    json_t *object = json_object();
    set(writer, object, "cycles", result->window_cycles ? integer(result->window_cycles) : json_null());
    set(writer, object, "thread_instructions",
        result->window_thread_instructions ? integer(result->window_thread_instructions) : json_null());
    set(writer, object, "runs", result->window_runs ? integer(result->window_runs) : json_null());
    return object;
}

static void set_memory(struct writer *writer, json_t *object, const struct corun_counters *counters,
                       const struct corun_memory_result *memory)
{
    json_t *dram = json_object(), *interconnect = json_object();
    set(writer, dram, "utilisation", real(figure_dram_utilisation(memory)));
    set(writer, dram, "row_hit_rate", real(figure_row_hit_rate(counters)));
    set(writer, dram, "read_bytes", integer(counters->dram_read_bytes));
    set(writer, dram, "write_bytes", integer(counters->dram_write_bytes));
    set(writer, object, "dram", dram);
    set(writer, interconnect, "latency_cycles", real(figure_interconnect_latency(counters)));
    set(writer, interconnect, "utilisation", real(figure_interconnect_utilisation(memory)));
    set(writer, object, "interconnect", interconnect);
}

static json_t *energy(struct writer *writer, const struct corun_case_result *result)
{
    const struct corun_energy_result *row = &result->energy;
    json_t *object = json_object();
#define G(name, meaning) set(writer, object, #name, real(row->name));
    CORUN_DYNAMIC_ENERGIES(G)
    CORUN_STATIC_ENERGIES(G)
#undef G
    set(writer, object, "total", real(row->total));
    set(writer, object, "average_watts", real(row->average_watts));
    set(writer, object, "instructions_per_joule",
        real(figure_instructions_per_joule(result->counters.thread_instructions, row->total)));
    return object;
}

/* Takes the object. */
static enum corun_status dump(const struct writer *writer, json_t *object, FILE *stream)
{
    char *text = writer->failed ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(object);
    if (!text)
        return CORUN_MEMORY;
    fputs(text, stream);
    fputc('\n', stream);
    free(text);
    return CORUN_OK;
}

enum corun_status json_case(const struct corun_case_result *result, FILE *stream)
{
    struct writer writer = {false};
    json_t *object = json_object(), *applications = json_array(), *sms = json_array();
    set(&writer, object, "gpu", string(result->gpu.name));
    set(&writer, object, "policy", policy(&writer, result));
    set(&writer, object, "window", window(&writer, result));
    set(&writer, object, "cycles", integer(result->cycles));
    set(&writer, object, "interrupted", json_boolean(result->interrupted));
    set(&writer, object, "seed", integer(result->seed));
    set(&writer, object, "threads", integer(result->threads));
    for (uint32_t a = 0; a < result->application_count; a++)
        append(&writer, applications, application(&writer, &result->applications[a]));
    set(&writer, object, "apps", applications);
    for (uint32_t s = 0; s < result->gpu.sms; s++)
        append(&writer, sms, sm(&writer, result, s));
    set(&writer, object, "sms", sms);
    set_memory(&writer, object, &result->counters, &result->memory);
    set(&writer, object, "energy", energy(&writer, result));
    set(&writer, object, "stp", real(result->stp));
    set(&writer, object, "antt", real(result->antt));
    set(&writer, object, "fairness", real(result->fairness));
    set(&writer, object, "model_version", integer(CORUN_MODEL_VERSION));
    set(&writer, object, "gpu_parameters", gpu_parameters(&writer, &result->gpu));
    set(&writer, object, "wall_seconds", real(result->wall_seconds));
    set(&writer, object, "warp_instructions_per_second", real(result->warp_instructions_per_second));
    return dump(&writer, object, stream);
}

enum corun_status json_launch(const struct launch_result *result, FILE *stream)
{
    struct writer writer = {false};
    bool timed = !result->functional;
    const struct corun_counters *counters = &result->counters;
    json_t *object = json_object();
    set(&writer, object, "kernel", string(result->kernel));
    set(&writer, object, "status", string(corun_status_name(result->status)));
    set(&writer, object, "interrupted", json_boolean(result->interrupted));
    set(&writer, object, "cycles", timed ? integer(result->cycles) : json_null());
    set(&writer, object, "thread_instructions", integer(result->thread_instructions));
    set(&writer, object, "warp_instructions", integer(result->warp_instructions));
    set(&writer, object, "ipc", real(result->ipc));
    set(&writer, object, "registers_per_thread", integer(result->registers_per_thread));
    set(&writer, object, "shared_bytes", integer(result->shared_bytes));
    set(&writer, object, "tbs_per_sm", result->tbs_per_sm ? integer(result->tbs_per_sm) : json_null());
    set(&writer, object, "l1_hit_rate", real(figure_l1_hit_rate(counters)));
    set(&writer, object, "l2_hit_rate", real(figure_l2_hit_rate(counters)));
    set(&writer, object, "dram_bytes", timed ? integer(figure_dram_bytes(counters)) : json_null());
    if (timed) {
        set_memory(&writer, object, counters, &result->memory);
        set(&writer, object, "stalls", stalls(&writer, counters));
        set(&writer, object, "counters", all_counters(&writer, counters));
    }
    set(&writer, object, "wall_seconds", real(result->wall_seconds));
    set(&writer, object, "warp_instructions_per_second", real(result->warp_instructions_per_second));
    return dump(&writer, object, stream);
}
