/* SPDX-License-Identifier: MIT */
/* Programs that shared one simulated GPU, as a table and as JSON. */
#include "report/program_sharing.h"

#include "report/figures.h"
#include "report/program_profile.h"
#include "report/table.h"

#include <inttypes.h>
#include <math.h>

static uint64_t launches_of(const struct program_record *record, const struct program_share *share)
{
    return program_launches(record, share->first_process, share->processes);
}

static void set_speed(struct columns *columns, uint32_t column, int digits, double value)
{
    if (isnan(value))
        columns_set(columns, column, PAINT_NONE, "-");
    else
        columns_set(columns, column, PAINT_NONE, "%.*f", digits, value);
}

static bool print_programs(const struct program_sharing *sharing, const struct program_record *record,
                           struct arena *arena, const struct report_style *style, FILE *stream)
{
    static const char *const titles[] = {"<program", "goal",     "launches",   "cycles",
                                         "IPC",      "isolated", "normalised", "<goal met"};
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    for (uint32_t i = 0; columns && i < sharing->count; i++) {
        const struct program_share *share = &sharing->programs[i];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", share->row.name);
        columns_set(columns, 2, PAINT_NONE, "%" PRIu64, launches_of(record, share));
        columns_set(columns, 3, PAINT_NONE, "%" PRIu64, share->row.cycles);
        set_speed(columns, 4, 2, share->row.ipc);
        set_speed(columns, 5, 2, share->row.ipc_isolated);
        set_speed(columns, 6, 3, share->row.normalised_ipc);
        table_set_goal(columns, 7, &share->row);
    }
    return columns && columns_print(columns, style, stream);
}

bool program_sharing_table(const struct program_sharing *sharing, const struct program_record *record,
                           const struct report_style *style, FILE *stream)
{
    struct arena *arena = arena_create();
    if (!arena)
        return false;
    fprintf(stream, "%s at %" PRIu32 " MHz, policy %s: %" PRIu32 " program%s, %" PRIu64 " cycles\n\n", sharing->gpu,
            sharing->core_clock_khz / 1000, sharing->policy, sharing->count, sharing->count == 1 ? "" : "s",
            sharing->cycles);
    bool whole = print_programs(sharing, record, arena, style, stream);
    for (uint32_t i = 0; whole && i < sharing->count; i++) {
        const struct program_share *share = &sharing->programs[i];
        if (!share->processes)
            continue;
        fprintf(stream, "\n%s: ", share->row.name);
        whole = program_table_of(record, share->first_process, share->processes, style, stream) &&
                (!share->profile || program_profile_table(share->profile, style, stream));
    }
    arena_destroy(arena);
    return whole;
}

/* ---- JSON ---- */

static json_t *goal_outcome(const struct corun_case_application_result *row, enum corun_goal_outcome wanted)
{
    if (row->goal_outcome == CORUN_GOAL_NOT_SET || row->goal_outcome == CORUN_GOAL_NOT_KNOWN)
        return json_null();
    return json_boolean(row->goal_outcome == wanted);
}

static void put_speed(struct json_writer *writer, json_t *object, const struct corun_case_application_result *row)
{
    char goal[48];
    figure_goal(row, goal, sizeof goal);
    json_put(writer, object, "status", json_text(corun_status_name(row->result.status)));
    json_put(writer, object, "goal", goal[0] ? json_text(goal) : json_null());
    json_put(writer, object, "goal_met", goal_outcome(row, CORUN_GOAL_MET));
    json_put(writer, object, "goal_ipc", json_number(row->goal_ipc));
    json_put(writer, object, "goal_distance", json_number(row->goal_distance));
    json_put(writer, object, "goal_out_of_reach", goal_outcome(row, CORUN_GOAL_OUT_OF_REACH));
    json_put(writer, object, "arrived_cycle", json_count(row->result.arrived_cycle));
    json_put(writer, object, "thread_instructions", json_count(row->result.thread_instructions));
    json_put(writer, object, "warp_instructions", json_count(row->result.warp_instructions));
    json_put(writer, object, "cycles", json_count(row->cycles));
    json_put(writer, object, "ipc", json_number(row->ipc));
    json_put(writer, object, "ipc_isolated", json_number(row->ipc_isolated));
    json_put(writer, object, "normalised_ipc", json_number(row->normalised_ipc));
}

static json_t *share_json(struct json_writer *writer, const struct program_share *share,
                          const struct program_record *record)
{
    json_t *object = json_object(), *words = json_array(), *processes = json_array();
    for (char *const *word = share->words; *word; word++)
        json_push(writer, words, json_text(*word));
    for (uint32_t i = 0; i < share->processes; i++)
        json_push(writer, processes, json_count(share->first_process + i));
    json_put(writer, object, "name", json_text(share->row.name));
    json_put(writer, object, "command", words);
    json_put(writer, object, "exit_status", json_count((uint64_t)share->exit_status));
    json_put(writer, object, "processes", processes);
    json_put(writer, object, "launches", json_count(launches_of(record, share)));
    put_speed(writer, object, &share->row);
    if (share->profile)
        json_put(writer, object, "profile", program_profile_json(writer, share->profile));
    return object;
}

enum corun_status program_sharing_json(const struct program_sharing *sharing, const struct program_record *record,
                                       FILE *stream)
{
    struct json_writer writer = {false};
    struct json_stream json;
    json_t *programs = json_array();
    json_stream_begin(&json, stream);
    json_stream_member(&json, "gpu", json_text(sharing->gpu));
    json_stream_member(&json, "core_clock_khz", json_count(sharing->core_clock_khz));
    json_stream_member(&json, "policy", json_text(sharing->policy));
    json_stream_member(&json, "cycles", json_count(sharing->cycles));
    for (uint32_t i = 0; i < sharing->count; i++)
        json_push(&writer, programs, share_json(&writer, &sharing->programs[i], record));
    json_stream_member(&json, "programs", programs);
    program_json_put(&json, record);
    json.failed |= writer.failed;
    return json_stream_end(&json);
}
