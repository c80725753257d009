/* SPDX-License-Identifier: MIT */
/* Members of a result's JSON become values of rows. */
#include "campaign/rows.h"

#include "report/split_record.h"

/* Places of the parameters, from 1: the columns in their order. */
/* clang-format off */
enum {
    QUEUE_COLUMN_BEFORE_FIRST,
#define QUEUE_COLUMN(name, ...) QUEUE_##name,
#include "campaign/columns.def"
};
enum {
    QUEUE_KERNEL_COLUMN_BEFORE_FIRST,
#define QUEUE_KERNEL_COLUMN(name, ...) QUEUE_KERNEL_##name,
#include "campaign/columns.def"
};
enum {
    SPLIT_COLUMN_BEFORE_FIRST,
#define SPLIT_COLUMN(name, ...) SPLIT_COLUMN_##name,
#include "campaign/columns.def"
};
/* clang-format on */

void rows_bind_number(sqlite3_stmt *statement, int place, const json_t *value)
{
    if (json_is_integer(value))
        sqlite3_bind_int64(statement, place, json_integer_value(value));
    else if (json_is_real(value))
        sqlite3_bind_double(statement, place, json_real_value(value));
    else if (json_is_boolean(value))
        sqlite3_bind_int(statement, place, json_is_true(value));
}

void rows_bind_string(sqlite3_stmt *statement, int place, const json_t *value)
{
    sqlite3_bind_text(statement, place, json_is_string(value) ? json_string_value(value) : "", -1, SQLITE_TRANSIENT);
}

/* Of a result of corun queue. */
struct queue_row {
    const char *key;
    const json_t *all, *of_run, *of_kernel;
    size_t run, position;
};

/* NULL in the row unless there is such a part. */
static void bind_part(sqlite3_stmt *put, int place, double of, double all)
{
    if (all > 0)
        sqlite3_bind_double(put, place, of / all);
}

static double rows_launches(const struct queue_row *row)
{
    double launches = 0;
    const json_t *kernels = json_object_get(row->of_run, "kernels");
    for (size_t i = 0; i < json_array_size(kernels); i++)
        launches += json_number_value(json_object_get(json_array_get(kernels, i), "launches"));
    return launches;
}

static double rows_seconds(const struct queue_row *row, const json_t *ticks)
{
    double rate = json_number_value(json_object_get(row->all, "ticks_per_second"));
    return rate > 0 ? json_number_value(ticks) / rate : 0;
}

static double rows_makespan(const struct queue_row *row)
{
    return rows_seconds(row, json_object_get(row->of_run, "makespan_ticks"));
}

/* The values of columns.def. */
#define TEXT(value) sqlite3_bind_text(put, place, value, -1, SQLITE_STATIC)
#define NUMBER(value) sqlite3_bind_int64(put, place, (sqlite3_int64)(value))
#define OF_ALL(name) json_object_get(row->all, name)
#define OF_RUN(name) json_object_get(row->of_run, name)
#define OF_KERNEL(name) json_object_get(row->of_kernel, name)
#define WORDS(value) rows_bind_string(put, place, value)
#define FIGURE(value) rows_bind_number(put, place, value)
#define SECONDS(value) \
    if (json_is_number(value)) \
    sqlite3_bind_double(put, place, rows_seconds(row, value))
#define PART(of, all) bind_part(put, place, of, all)
#define PER_SECOND(count) bind_part(put, place, count, rows_makespan(row))

static void bind_queue(sqlite3_stmt *put, const struct queue_row *row)
{
    int place = 0;
#define QUEUE_COLUMN(name, type, value, ...) \
    place = QUEUE_##name; \
    value;
#include "campaign/columns.def"
}

static void bind_queue_kernel(sqlite3_stmt *put, const struct queue_row *row)
{
    int place = 0;
#define QUEUE_KERNEL_COLUMN(name, type, value, ...) \
    place = QUEUE_KERNEL_##name; \
    value;
#include "campaign/columns.def"
}

static int step(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

int rows_put_queues(sqlite3_stmt *queue, sqlite3_stmt *kernel, const char *key, const json_t *result)
{
    const json_t *runs = json_object_get(result, "runs");
    struct queue_row row = {.key = key, .all = result};
    int code = SQLITE_OK;
    for (row.run = 0; row.run < json_array_size(runs) && !code; row.run++) {
        row.of_run = json_array_get(runs, row.run);
        bind_queue(queue, &row);
        code = step(queue);
        const json_t *kernels = json_object_get(row.of_run, "kernels");
        for (row.position = 0; row.position < json_array_size(kernels) && !code; row.position++) {
            row.of_kernel = json_array_get(kernels, row.position);
            bind_queue_kernel(kernel, &row);
            code = step(kernel);
        }
    }
    return code;
}

/* Of a result of corun split: one start of the program. */
struct split_row {
    const char *key;
    size_t run;
    const json_t *start, *rounds;
    double ideal; /* seconds */
};

/* Over all rounds. */
static double total(const json_t *rounds, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(rounds); i++)
        sum += json_number_value(json_object_get(json_array_get(rounds, i), name));
    return sum;
}

static double cpu_iterations(const struct split_row *row)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(row->rounds); i++) {
        const json_t *devices = json_object_get(json_array_get(row->rounds, i), "devices");
        sum += json_number_value(json_object_get(json_array_get(devices, 0), "iterations"));
    }
    return sum;
}

static bool is_reproducible(const struct split_row *row)
{
    bool is = json_array_size(row->rounds) > 0;
    for (size_t i = 0; i < json_array_size(row->rounds); i++)
        is = is && json_is_false(json_object_get(json_array_get(row->rounds, i), "measured"));
    return is;
}

#define OF_START(name) json_object_get(row->start, name)
#define OF_FIRST(name) json_object_get(json_array_get(row->rounds, 0), name)
#define REAL(value) sqlite3_bind_double(put, place, value)

static void bind_split(sqlite3_stmt *put, const struct split_row *row)
{
    int place = 0;
#define SPLIT_COLUMN(name, type, value, ...) \
    place = SPLIT_COLUMN_##name; \
    value;
#include "campaign/columns.def"
}

static const json_t *rounds_of(const json_t *starts, size_t number)
{
    return json_object_get(json_array_get(starts, number), "rounds");
}

int rows_put_splits(sqlite3_stmt *split, const char *key, const json_t *result)
{
    const json_t *starts = json_object_get(result, "cases");
    double cpu = total(rounds_of(starts, SPLIT_CPU), "seconds"), gpu = total(rounds_of(starts, SPLIT_GPU), "seconds");
    struct split_row row = {.key = key, .ideal = cpu > 0 && gpu > 0 ? 1 / (1 / cpu + 1 / gpu) : 0};
    int code = SQLITE_OK;
    for (row.run = 0; row.run < json_array_size(starts) && !code; row.run++) {
        if (row.run == SPLIT_SIZES) /* not made to be quick */
            continue;
        row.start = json_array_get(starts, row.run);
        row.rounds = rounds_of(starts, row.run);
        bind_split(split, &row);
        code = step(split);
    }
    return code;
}
