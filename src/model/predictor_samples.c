/* SPDX-License-Identifier: MIT */
/* Samples of queries from CSV. */
#include "model/predictor.h"

#include "base/number.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 64u
#define MOST_CELL 64u

enum column { SIZE, CORES, WAYS, DURATION, IPC, NUMBERS, WORK = NUMBERS, COLUMNS, PASSED_OVER = COLUMNS };
static const char *const titles[] = {"size", "cores", "ways", "duration_ns", "ipc", "work"};

struct table {
    const char *file, *next, *end;
    struct corun_diagnostics *list;
    uint32_t line;
    enum column columns[MOST_COLUMNS];
    uint32_t column_count;
    enum predictor_work work; /* of the first line; COUNT before it */
};

static enum corun_status complain(const struct table *table, enum corun_status status, uint32_t column,
                                  const char *text, const char *cell)
{
    return corun_report(table->list, status, (struct corun_place){table->file, table->line, column}, "%s: '%s'", text,
                        cell);
}

/* Copies the next cell of the line without the spaces around it; false at the end of the line. A cell that is too long is cut. */
static bool next_cell(struct table *table, bool *more, char cell[MOST_CELL])
{
    if (!*more)
        return false;
    const char *from = table->next;
    while (table->next < table->end && *table->next != ',' && *table->next != '\n')
        table->next++;
    const char *to = table->next;
    *more = table->next < table->end && *table->next == ',';
    if (*more)
        table->next++;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    size_t length = (size_t)(to - from) < MOST_CELL - 1 ? (size_t)(to - from) : MOST_CELL - 1;
    memcpy(cell, from, length);
    cell[length] = 0;
    return true;
}

static void end_line(struct table *table)
{
    while (table->next < table->end && *table->next != '\n')
        table->next++;
    if (table->next < table->end)
        table->next++;
    table->line++;
}

static bool is_blank_line(const struct table *table)
{
    const char *at = table->next;
    while (at < table->end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == table->end || *at == '\n';
}

static enum corun_status read_titles(struct table *table)
{
    char cell[MOST_CELL];
    bool more = true, seen[COLUMNS] = {false};
    while (next_cell(table, &more, cell)) {
        enum column column = SIZE;
        while (column < COLUMNS && strcmp(cell, titles[column]) != 0)
            column++;
        if (table->column_count == MOST_COLUMNS)
            return complain(table, CORUN_SYNTAX, MOST_COLUMNS, "too many columns", cell);
        if (column < COLUMNS && seen[column])
            return complain(table, CORUN_SYNTAX, table->column_count + 1, "two columns of this title", cell);
        if (column < COLUMNS)
            seen[column] = true;
        table->columns[table->column_count++] = column;
    }
    for (uint32_t column = 0; column < NUMBERS; column++)
        if (!seen[column])
            return complain(table, CORUN_SYNTAX, 0,
                            "no column of this title in the first line (size, cores, ways, duration_ns, ipc)",
                            titles[column]);
    end_line(table);
    return CORUN_OK;
}

/* All lines are of the same kind. */
static enum corun_status read_work(struct table *table, uint32_t column, const char *cell)
{
    enum predictor_work work = PREDICTOR_WORK_COUNTED;
    while (work < PREDICTOR_WORK_COUNT && strcmp(cell, predictor_work_word(work)) != 0)
        work++;
    if (work == PREDICTOR_WORK_COUNT)
        return complain(table, CORUN_SYNTAX, column, "neither counted nor progress", cell);
    if (table->work != PREDICTOR_WORK_COUNT && table->work != work)
        return complain(table, CORUN_ARGUMENT, column, "not what the lines before have", cell);
    table->work = work;
    return CORUN_OK;
}

static enum corun_status read_row(struct table *table, struct predictor_sample *sample)
{
    double values[NUMBERS] = {0};
    char cell[MOST_CELL];
    uint32_t index = 0;
    for (bool more = true; next_cell(table, &more, cell); index++) {
        if (index >= table->column_count)
            return complain(table, CORUN_SYNTAX, index + 1, "more cells than titles", cell);
        enum column column = table->columns[index];
        if (column == PASSED_OVER)
            continue;
        if (column == WORK) {
            enum corun_status status = read_work(table, index + 1, cell);
            if (status)
                return status;
            continue;
        }
        if (!number_parse_real(cell, &values[column]))
            return complain(table, CORUN_SYNTAX, index + 1, "no number", cell);
        bool whole = column == CORES || column == WAYS;
        if (!isfinite(values[column]) ||
            (whole && (values[column] < 0 || values[column] > 65535 || floor(values[column]) != values[column])))
            return complain(table, CORUN_ARGUMENT, index + 1, whole ? "no number of cores or ways" : "not finite",
                            cell);
        if ((column == DURATION || column == IPC) && !(values[column] > 0))
            return complain(table, CORUN_ARGUMENT, index + 1, "not above 0", cell);
    }
    if (index < table->column_count)
        return complain(table, CORUN_SYNTAX, index, "fewer cells than titles", cell);
    *sample = (struct predictor_sample){.size = values[SIZE],
                                        .cores = (uint32_t)values[CORES],
                                        .ways = (uint32_t)values[WAYS],
                                        .measured = {values[DURATION], values[IPC]}};
    end_line(table);
    return CORUN_OK;
}

enum corun_status predictor_samples_read(const char *file, const char *text, size_t bytes,
                                         struct corun_diagnostics *list, struct predictor_sample **samples,
                                         size_t *count, enum predictor_work *work)
{
    struct table table = {
        .file = file, .next = text, .end = text + bytes, .list = list, .line = 1, .work = PREDICTOR_WORK_COUNT};
    VECTOR(struct predictor_sample) all = {0};
    *samples = NULL;
    *count = 0;
    enum corun_status status = read_titles(&table);
    while (status == CORUN_OK && table.next < table.end) {
        struct predictor_sample sample;
        if (is_blank_line(&table)) {
            end_line(&table);
            continue;
        }
        if (all.count == PREDICTOR_MOST_SAMPLES)
            status = complain(&table, CORUN_ARGUMENT, 0, "too many samples", "100000 are the most");
        if (status == CORUN_OK)
            status = read_row(&table, &sample);
        if (status == CORUN_OK && !vector_push(&all, sample))
            status = CORUN_MEMORY;
    }
    if (status != CORUN_OK) {
        vector_free(&all);
        return status;
    }
    *samples = all.data;
    *count = all.count;
    *work = table.work == PREDICTOR_WORK_COUNT ? PREDICTOR_WORK_COUNTED : table.work;
    return CORUN_OK;
}
