/* SPDX-License-Identifier: MIT */
/* Kernels of PTX files, rewritten or refused, as a table and as JSON. */
#include "report/rewrite_table.h"

#include "report/json_writer.h"
#include "report/kernel_labels.h"

#include <string.h>

enum column {
    COLUMN_FILE,
    COLUMN_KERNEL,
    COLUMN_DONE,
    COLUMN_REGISTERS,
    COLUMN_REGISTERS_THEN,
    COLUMN_SHARED,
    COLUMN_INSTRUCTIONS,
    COLUMN_PARAMETER,
    COLUMN_READS,
    COLUMN_DROPS, /* of the pass that says so */
    COLUMN_COUNT
};

static const char *const places[] = {
    [REWRITTEN_DROPS_IN_LOOPS] = "in loops", [REWRITTEN_DROPS_AT_BARRIERS] = "at barriers"};

/* "ctaid.x, nctaid.x", or why the kernel is refused. */
static const char *read_text(struct arena *arena, const struct rewritten_kernel *kernel)
{
    const char *text = "";
    for (uint32_t value = 0; value < GRID_VALUES && text; value++)
        if (kernel->reads & 1u << value)
            text = arena_format(arena, "%s%s%s", text, *text ? ", " : "", grid_value_text(value) + 1);
    return text;
}

static bool add_rows(const struct rewritten_file *file, struct arena *arena, struct columns *columns)
{
    uint32_t count = file->rewritten.kernel_count;
    const char **symbols = ARENA_ARRAY(arena, const char *, count + 1u);
    for (uint32_t i = 0; symbols && i < count; i++)
        symbols[i] = file->rewritten.kernels[i].function->name;
    const char *const *labels = symbols ? kernel_labels(arena, symbols, count) : NULL;
    for (uint32_t i = 0; labels && i < count; i++) {
        const struct rewritten_kernel *kernel = &file->rewritten.kernels[i];
        const char *reads = read_text(arena, kernel);
        if (!reads)
            return false;
        columns_row(columns);
        columns_set(columns, COLUMN_FILE, PAINT_NONE, "%s", i ? "" : file->path);
        columns_set(columns, COLUMN_KERNEL, PAINT_NONE, "%s", labels[i]);
        columns_set(columns, COLUMN_DONE, kernel->refusal ? PAINT_BAD : PAINT_NONE, kernel->refusal ? "no" : "yes");
        columns_set(columns, COLUMN_REGISTERS, PAINT_NONE, "%u", kernel->registers_before);
        columns_set(columns, COLUMN_REGISTERS_THEN, PAINT_NONE, "%u", kernel->registers_after);
        if (kernel->refusal) {
            columns_set(columns, COLUMN_READS, PAINT_NONE, "line %u: %s", kernel->place.line, kernel->refusal);
            continue;
        }
        columns_set(columns, COLUMN_SHARED, PAINT_NONE, "%u", kernel->shared_bytes_added);
        columns_set(columns, COLUMN_INSTRUCTIONS, PAINT_NONE, "%u", kernel->instructions_added);
        columns_set(columns, COLUMN_PARAMETER, PAINT_NONE, "%u", (uint32_t)kernel->parameter_offset);
        columns_set(columns, COLUMN_READS, PAINT_NONE, "%s", *reads ? reads : "-");
        if (kernel->drops_text && kernel->drops != REWRITTEN_DROPS_NOWHERE)
            columns_set(columns, COLUMN_DROPS, PAINT_NONE, "%s%s%s", places[kernel->drops],
                        strcmp(kernel->drops_text, "yes") != 0 ? ", " : "",
                        strcmp(kernel->drops_text, "yes") != 0 ? kernel->drops_text : "");
        else if (kernel->drops_text)
            columns_set(columns, COLUMN_DROPS, PAINT_NONE, "no: %s", kernel->drops_text);
    }
    return labels != NULL;
}

bool rewrite_table_print(const struct rewrite_table *table, struct arena *arena, const struct report_style *style,
                         FILE *stream)
{
    const char *const titles[COLUMN_COUNT] = {"<file",
                                              "<kernel",
                                              table->done,
                                              "registers",
                                              "then",
                                              "more shared bytes",
                                              "more instructions",
                                              "parameter at",
                                              "<reads, or refused at",
                                              "<can be dropped"};
    bool drops = !strcmp(table->pass, "workers");
    struct columns *columns = columns_create(arena, titles, drops ? COLUMN_COUNT : COLUMN_DROPS);
    uint32_t kernels = 0, done = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (!add_rows(&table->files[i], arena, columns))
            return false;
        kernels += table->files[i].rewritten.kernel_count;
        done += table->files[i].rewritten.rewritten_count;
    }
    if (!columns_print(columns, style, stream))
        return false;
    fprintf(stream, "\n%u of %u kernel%s %s\n", done, kernels, kernels == 1 ? "" : "s", table->done);
    return true;
}

static json_t *json_kernel(struct json_writer *writer, const struct rewritten_kernel *kernel)
{
    static const char *const from[] = {[PTX_REGISTERS_MAXNREG] = "maxnreg", [PTX_REGISTERS_ALLOCATION] = "allocation"};
    json_t *object = json_object(), *reads = json_array(), *borrows = json_array();
    json_put(writer, object, "kernel", json_text(kernel->function->name));
    json_put(writer, object, "rewritten", json_boolean(!kernel->refusal));
    json_put(writer, object, "refusal", kernel->refusal ? json_text(kernel->refusal) : json_null());
    json_put(writer, object, "line", kernel->refusal ? json_count(kernel->place.line) : json_null());
    json_put(writer, object, "registers", json_count(kernel->registers_before));
    json_put(writer, object, "registers_rewritten", json_count(kernel->registers_after));
    json_put(writer, object, "registers_from", json_text(from[kernel->registers_from]));
    json_put(writer, object, "shared_bytes_added", json_count(kernel->shared_bytes_added));
    json_put(writer, object, "reads_noncoherent", json_boolean(kernel->reads_noncoherent));
    json_put(writer, object, "instructions_added", json_count(kernel->instructions_added));
    json_put(writer, object, "drops",
             kernel->drops != REWRITTEN_DROPS_NOWHERE ? json_text(places[kernel->drops]) : json_null());
    json_put(writer, object, "drops_if", kernel->drops_text ? json_text(kernel->drops_text) : json_null());
    json_put(writer, object, "parameter_index", json_count(kernel->parameter_index));
    json_put(writer, object, "parameter_offset_bytes", json_count(kernel->parameter_offset));
    for (uint32_t value = 0; value < GRID_VALUES; value++)
        if (kernel->reads & 1u << value)
            json_push(writer, reads, json_text(grid_value_text(value)));
    json_put(writer, object, "reads", reads);
    for (uint32_t i = 0; i < kernel->borrow_count; i++)
        json_push(writer, borrows, json_count(kernel->borrows[i]));
    json_put(writer, object, "borrows", borrows);
    return object;
}

enum corun_status rewrite_table_json(const struct rewrite_table *table, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *object = json_object(), *list = json_array();
    uint32_t all = 0, done = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct rewritten *rewritten = &table->files[i].rewritten;
        json_t *file = json_object(), *kernels = json_array(), *borrowed = json_array(), *copied = json_array();
        for (uint32_t k = 0; k < rewritten->kernel_count; k++)
            json_push(&writer, kernels, json_kernel(&writer, &rewritten->kernels[k]));
        json_put(&writer, file, "file", json_text(table->files[i].path));
        json_put(&writer, file, "kernels", kernels);
        for (uint32_t k = 0; k < rewritten->borrowed_count; k++) {
            json_push(&writer, borrowed, json_text(rewritten->borrowed[k]));
            json_push(&writer, copied, json_boolean(rewritten->copied[k]));
        }
        json_put(&writer, file, "borrowed", borrowed);
        json_put(&writer, file, "copied", copied);
        json_put(&writer, file, "borrowed_table",
                 rewritten->borrowed_table ? json_text(rewritten->borrowed_table) : json_null());
        json_push(&writer, list, file);
        all += rewritten->kernel_count;
        done += rewritten->rewritten_count;
    }
    json_put(&writer, object, "pass", json_text(table->pass));
    json_put(&writer, object, "kernels", json_count(all));
    json_put(&writer, object, "rewritten", json_count(done));
    json_put(&writer, object, "files", list);
    return json_write(&writer, object, stream);
}
