/* SPDX-License-Identifier: MIT */
/* Kernels of PTX files, sliced or refused, as a table and as JSON. */
#include "report/slice_table.h"

#include "report/json_writer.h"
#include "report/kernel_labels.h"

enum column {
    COLUMN_FILE,
    COLUMN_KERNEL,
    COLUMN_SLICED,
    COLUMN_REGISTERS,
    COLUMN_REGISTERS_SLICED,
    COLUMN_INSTRUCTIONS,
    COLUMN_PARAMETER,
    COLUMN_READS,
    COLUMN_COUNT
};

/* "ctaid.x, nctaid.x", or why the kernel is refused. */
static const char *read_text(struct arena *arena, const struct rewritten_kernel *kernel)
{
    const char *text = "";
    for (uint32_t value = 0; value < GRID_VALUES && text; value++)
        if (kernel->reads & 1u << value)
            text = arena_format(arena, "%s%s%s", text, *text ? ", " : "", grid_value_text(value) + 1);
    return text;
}

static bool add_rows(const struct sliced_file *file, struct arena *arena, struct columns *columns)
{
    uint32_t count = file->slices.kernel_count;
    const char **symbols = ARENA_ARRAY(arena, const char *, count + 1u);
    for (uint32_t i = 0; symbols && i < count; i++)
        symbols[i] = file->slices.kernels[i].function->name;
    const char *const *labels = symbols ? kernel_labels(arena, symbols, count) : NULL;
    for (uint32_t i = 0; labels && i < count; i++) {
        const struct rewritten_kernel *kernel = &file->slices.kernels[i];
        const char *reads = read_text(arena, kernel);
        if (!reads)
            return false;
        columns_row(columns);
        columns_set(columns, COLUMN_FILE, PAINT_NONE, "%s", i ? "" : file->path);
        columns_set(columns, COLUMN_KERNEL, PAINT_NONE, "%s", labels[i]);
        columns_set(columns, COLUMN_SLICED, kernel->refusal ? PAINT_BAD : PAINT_NONE, kernel->refusal ? "no" : "yes");
        columns_set(columns, COLUMN_REGISTERS, PAINT_NONE, "%u", kernel->registers_before);
        columns_set(columns, COLUMN_REGISTERS_SLICED, PAINT_NONE, "%u", kernel->registers_after);
        if (kernel->refusal) {
            columns_set(columns, COLUMN_READS, PAINT_NONE, "line %u: %s", kernel->place.line, kernel->refusal);
            continue;
        }
        columns_set(columns, COLUMN_INSTRUCTIONS, PAINT_NONE, "%u", kernel->instructions_added);
        columns_set(columns, COLUMN_PARAMETER, PAINT_NONE, "%u", (uint32_t)kernel->parameter_offset);
        columns_set(columns, COLUMN_READS, PAINT_NONE, "%s", *reads ? reads : "-");
    }
    return labels != NULL;
}

bool slice_table(const struct sliced_file *files, size_t count, struct arena *arena, const struct report_style *style,
                 FILE *stream)
{
    static const char *const titles[COLUMN_COUNT] = {
        "<file", "<kernel",           "sliced",       "registers",
        "then",  "more instructions", "parameter at", "<reads, or refused at"};
    struct columns *columns = columns_create(arena, titles, COLUMN_COUNT);
    uint32_t kernels = 0, sliced = 0;
    for (size_t i = 0; i < count; i++) {
        if (!add_rows(&files[i], arena, columns))
            return false;
        kernels += files[i].slices.kernel_count;
        sliced += files[i].slices.rewritten_count;
    }
    if (!columns_print(columns, style, stream))
        return false;
    fprintf(stream, "\n%u of %u kernel%s sliced\n", sliced, kernels, kernels == 1 ? "" : "s");
    return true;
}

static json_t *json_kernel(struct json_writer *writer, const struct rewritten_kernel *kernel)
{
    static const char *const from[] = {[PTX_REGISTERS_MAXNREG] = "maxnreg", [PTX_REGISTERS_ALLOCATION] = "allocation"};
    json_t *object = json_object(), *reads = json_array();
    json_put(writer, object, "kernel", json_text(kernel->function->name));
    json_put(writer, object, "sliced", json_boolean(!kernel->refusal));
    json_put(writer, object, "refusal", kernel->refusal ? json_text(kernel->refusal) : json_null());
    json_put(writer, object, "line", kernel->refusal ? json_count(kernel->place.line) : json_null());
    json_put(writer, object, "registers", json_count(kernel->registers_before));
    json_put(writer, object, "registers_sliced", json_count(kernel->registers_after));
    json_put(writer, object, "registers_from", json_text(from[kernel->registers_from]));
    json_put(writer, object, "instructions_added", json_count(kernel->instructions_added));
    json_put(writer, object, "parameter_index", json_count(kernel->parameter_index));
    json_put(writer, object, "parameter_offset_bytes", json_count(kernel->parameter_offset));
    for (uint32_t value = 0; value < GRID_VALUES; value++)
        if (kernel->reads & 1u << value)
            json_push(writer, reads, json_text(grid_value_text(value)));
    json_put(writer, object, "reads", reads);
    return object;
}

enum corun_status slice_json(const struct sliced_file *files, size_t count, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *object = json_object(), *list = json_array();
    uint32_t all = 0, sliced = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *file = json_object(), *kernels = json_array();
        for (uint32_t k = 0; k < files[i].slices.kernel_count; k++)
            json_push(&writer, kernels, json_kernel(&writer, &files[i].slices.kernels[k]));
        json_put(&writer, file, "file", json_text(files[i].path));
        json_put(&writer, file, "kernels", kernels);
        json_push(&writer, list, file);
        all += files[i].slices.kernel_count;
        sliced += files[i].slices.rewritten_count;
    }
    json_put(&writer, object, "kernels", json_count(all));
    json_put(&writer, object, "sliced", json_count(sliced));
    json_put(&writer, object, "files", list);
    return json_write(&writer, object, stream);
}
