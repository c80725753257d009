/* SPDX-License-Identifier: MIT */
/* What sampling came to. */
#include "report/sampled.h"

#include "report/kernel_labels.h"

#include <inttypes.h>
#include <math.h>

static struct corun_sampled_group sum_of(const struct corun_sampled_group *groups, uint32_t count)
{
    struct corun_sampled_group sum = {.name = ""};
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct corun_sampled_group *group = &groups[i];
        sum.launches += group->launches;
        sum.timed += group->timed;
        sum.parted += group->parted;
        sum.cycles += group->cycles;
        sum.estimated_cycles += group->estimated_cycles;
        sum.warp_instructions += group->warp_instructions;
        sum.timed_warp_instructions += group->timed_warp_instructions;
        squares += (double)group->margin_cycles * (double)group->margin_cycles;
    }
    sum.margin_cycles = (uint64_t)sqrt(squares);
    return sum;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

bool sampled_table(const struct corun_sampled_group *groups, uint32_t count, struct arena *arena,
                   const struct report_style *style, FILE *stream)
{
    static const char *const titles[] = {"<sampled",      "blocks", "launches", "timed",
                                         "timed in part", "instr.", "cycles",   "95 %"};
    struct corun_sampled_group sum = sum_of(groups, count);
    if (!sum.estimated_cycles) {
        fprintf(stream, "sampled: nothing was long enough, every launch was timed in full\n");
        return true;
    }
    fprintf(stream, "estimated: %" PRIu64 " cycles of launches, ± %.2f %% (95 %%); %.1f %% of the instructions timed\n",
            sum.cycles, share(sum.margin_cycles, sum.cycles) * 100,
            share(sum.timed_warp_instructions, sum.warp_instructions) * 100);
    const char **symbols = ARENA_ARRAY(arena, const char *, count + 1);
    for (uint32_t i = 0; symbols && i < count; i++)
        symbols[i] = groups[i].name;
    const char *const *labels = symbols ? kernel_labels(arena, symbols, count) : NULL;
    struct columns *columns = columns_create(arena, titles, sizeof titles / sizeof *titles);
    for (uint32_t i = 0; labels && i < count; i++) {
        const struct corun_sampled_group *group = &groups[i];
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", labels[i]);
        columns_set(columns, 1, PAINT_NONE, "%" PRIu32, group->tb_count);
        columns_set(columns, 2, PAINT_NONE, "%" PRIu32, group->launches);
        columns_set(columns, 3, PAINT_NONE, "%" PRIu32, group->timed);
        columns_set(columns, 4, PAINT_NONE, "%" PRIu32, group->parted);
        columns_set(columns, 5, PAINT_NONE, "%.1f %%",
                    share(group->timed_warp_instructions, group->warp_instructions) * 100);
        columns_set(columns, 6, PAINT_NONE, "%" PRIu64, group->cycles);
        columns_set(columns, 7, PAINT_NONE, "± %.2f %%", share(group->margin_cycles, group->cycles) * 100);
    }
    return labels && columns_print(columns, style, stream);
}

static void put(struct json_writer *writer, json_t *object, const struct corun_sampled_group *group)
{
    json_put(writer, object, "launches", json_count(group->launches));
    json_put(writer, object, "launches_timed", json_count(group->timed));
    json_put(writer, object, "launches_timed_in_part", json_count(group->parted));
    json_put(writer, object, "cycles", json_count(group->cycles));
    json_put(writer, object, "cycles_estimated", json_count(group->estimated_cycles));
    json_put(writer, object, "cycles_margin", json_count(group->margin_cycles));
    json_put(writer, object, "warp_instructions", json_count(group->warp_instructions));
    json_put(writer, object, "warp_instructions_timed", json_count(group->timed_warp_instructions));
}

json_t *sampled_json(struct json_writer *writer, const struct corun_sampled_group *groups, uint32_t count)
{
    json_t *object = json_object(), *rows = json_array();
    struct corun_sampled_group sum = sum_of(groups, count);
    json_put(writer, object, "estimated", json_boolean(sum.estimated_cycles != 0));
    put(writer, object, &sum);
    for (uint32_t i = 0; i < count; i++) {
        json_t *row = json_object();
        json_put(writer, row, "kernel", json_text(groups[i].name));
        json_put(writer, row, "tbs", json_count(groups[i].tb_count));
        json_put(writer, row, "threads_per_tb", json_count(groups[i].tb_threads));
        put(writer, row, &groups[i]);
        json_push(writer, rows, row);
    }
    json_put(writer, object, "groups", rows);
    return object;
}
