/* SPDX-License-Identifier: MIT */
/* corun query: SQL on a results file, as a table or as CSV. */
#include "cli/command.h"

#include "campaign/store.h"
#include "cli/query_guard.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SECONDS 60
#define DEFAULT_SECONDS_TEXT "60"
#define ROWS_MAX 1000000u                   /* of a table, which is laid out when all are there */
#define MEMORY_MAX_BYTES (INT64_C(1) << 30) /* of SQLite */

enum { KEY_RESULTS = 'r', KEY_CSV = 'c', KEY_CAMPAIGN = 0x100, KEY_TIME };

static const struct argp_option options[] = {
    {"results", KEY_RESULTS, "FILE", 0, "the results file [" DEFAULT_RESULTS "]", 1},
    {"campaign", KEY_CAMPAIGN, "NAME", 0, "only the cases of this campaign [all of the file]", 1},
    {"csv", KEY_CSV, NULL, 0, "comma-separated values (RFC 4180) instead of a table", 1},
    {"time", KEY_TIME, "SECONDS", 0, "give up after so many [" DEFAULT_SECONDS_TEXT "]", 1},
    {0},
};

/* clang-format off */
static const char doc[] =
    "Asks a results file of `corun campaign` in SQL; the file is only read: what would write, there or anywhere else, is "
    "refused. `.schema` in place of SQL shows its tables. A query that takes averages over several GPUs, windows or seeds "
    "without looking at them is warned of.\v"
    "Columns of the table `cases`: "
#define CASE_FIRST(name, ...) #name
#define CASE_COLUMN(name, ...) ", " #name
#include "campaign/columns.def"
    ". Of the table `applications`, a row for each application of each case: "
#define APPLICATION_FIRST(name, ...) #name
#define APPLICATION_COLUMN(name, ...) ", " #name
#include "campaign/columns.def"
    ". With cases of corun queue: of the table `queues`, a row for each scheduler of each case: "
#define QUEUE_FIRST(name, ...) #name
#define QUEUE_COLUMN(name, ...) ", " #name
#include "campaign/columns.def"
    ". Of the table `queue_kernels`, a row for each kernel of those: "
#define QUEUE_KERNEL_FIRST(name, ...) #name
#define QUEUE_KERNEL_COLUMN(name, ...) ", " #name
#include "campaign/columns.def"
    ". With cases of corun split: of the table `splits`, a row for each start of the program: "
#define SPLIT_FIRST(name, ...) #name
#define SPLIT_COLUMN(name, ...) ", " #name
#include "campaign/columns.def"
    ".\n\nExample: corun query \"SELECT policy, count(*), exp(avg(ln(stp))) FROM cases WHERE NOT isolated GROUP BY policy\"";
/* clang-format on */

struct query_options {
    struct command command;
    const char *results, *text, *campaign;
    uint32_t seconds;
    bool csv;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct query_options *query = state->input;
    switch (key) {
    case KEY_RESULTS:
        query->results = command_name("--results", value, state);
        break;
    case KEY_CSV:
        query->csv = true;
        break;
    case KEY_CAMPAIGN:
        query->campaign = value;
        break;
    case KEY_TIME:
        command_count(&query->command, "--time", value, INT32_MAX, &query->seconds);
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one SQL text is expected, not also `%s`: put quotes around it", value);
        query->text = value;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the SQL text is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/*
 * A value as text. What would end before its end, bytes and texts with a zero in them, is written as SQL has it: X'00FF', in *made, which is the caller's to
 * free. NULL when out of memory, and of NULL.
 */
static const char *value_text(sqlite3_stmt *statement, int column, char **made)
{
    int type = sqlite3_column_type(statement, column);
    const char *text = type == SQLITE_BLOB ? NULL : (const char *)sqlite3_column_text(statement, column);
    const uint8_t *data = type == SQLITE_BLOB ? sqlite3_column_blob(statement, column) : (const uint8_t *)text;
    size_t bytes = (size_t)sqlite3_column_bytes(statement, column);
    *made = NULL;
    if (type == SQLITE_NULL || (text && strlen(text) == bytes))
        return text;
    if (((bytes || type != SQLITE_BLOB) && !data) || !(*made = malloc(2 * bytes + sizeof "X''")))
        return NULL;
    char *end = stpcpy(*made, "X'");
    for (size_t i = 0; i < bytes; i++) {
        *end++ = "0123456789ABCDEF"[data[i] >> 4];
        *end++ = "0123456789ABCDEF"[data[i] & 15];
    }
    memcpy(end, "'", sizeof "'");
    return *made;
}

static void print_csv_field(const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* False when out of memory. */
static bool print_csv_row(sqlite3_stmt *statement, int count, bool heading)
{
    for (int c = 0; c < count; c++) {
        char *made = NULL;
        const char *text = heading ? sqlite3_column_name(statement, c) : value_text(statement, c, &made);
        if (c)
            putchar(',');
        if (!text && !heading && sqlite3_column_type(statement, c) != SQLITE_NULL)
            return false;
        print_csv_field(text ? text : "");
        free(made);
    }
    fputs("\r\n", stdout);
    return true;
}

/* False when out of memory. */
static bool add_row(struct columns *columns, sqlite3_stmt *statement, int count)
{
    columns_row(columns);
    for (int c = 0; c < count; c++) {
        int type = sqlite3_column_type(statement, c);
        char *made = NULL;
        const char *text = type == SQLITE_FLOAT || type == SQLITE_NULL ? "" : value_text(statement, c, &made);
        if (!text)
            return false;
        if (type == SQLITE_FLOAT)
            columns_set(columns, (uint32_t)c, PAINT_NONE, "%.6g", sqlite3_column_double(statement, c));
        else
            columns_set(columns, (uint32_t)c, PAINT_NONE, "%s", text);
        free(made);
    }
    return true;
}

/* Numbers flush right, texts flush left, as the first row has them. */
static struct columns *begin_table(struct arena *arena, sqlite3_stmt *statement, int count, bool has_row)
{
    const char *titles[COLUMNS_MAX];
    for (int c = 0; c < count; c++) {
        int type = has_row ? sqlite3_column_type(statement, c) : SQLITE_TEXT;
        titles[c] = arena_format(arena, "%s%s", type == SQLITE_TEXT ? "<" : "", sqlite3_column_name(statement, c));
        if (!titles[c])
            return NULL;
    }
    return columns_create(arena, titles, (uint32_t)count);
}

static int print_rows(struct query_options *query, sqlite3_stmt *statement, enum corun_status *status)
{
    int count = sqlite3_column_count(statement), code = sqlite3_step(statement);
    if (count == 0)
        return code;
    if (!query->csv && count > (int)COLUMNS_MAX) {
        *status =
            corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE,
                         "%d columns do not fit a table of at most %u: take --csv or name fewer", count, COLUMNS_MAX);
        return SQLITE_DONE;
    }
    struct columns *columns =
        query->csv ? NULL : begin_table(query->command.arena, statement, count, code == SQLITE_ROW);
    if (query->csv)
        (void)print_csv_row(statement, count, true);
    for (uint32_t rows = 0; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        if (query->csv || rows++ < ROWS_MAX)
            *status = (query->csv ? print_csv_row(statement, count, false) : add_row(columns, statement, count))
                          ? CORUN_OK
                          : CORUN_MEMORY;
        else
            *status = corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                   "more than %u rows do not fit a table: take --csv, or LIMIT", ROWS_MAX);
        if (*status)
            return SQLITE_DONE;
    }
    struct report_style style = output_style(stdout);
    if (!query->csv && code == SQLITE_DONE && !columns_print(columns, &style, stdout))
        *status = CORUN_MEMORY;
    return code;
}

/* Reads a little of what was opened with that code: mistakes about the file show here. */
static int try_to_read(int code, sqlite3 *const *database)
{
    if (code)
        return code;
    sqlite3_busy_timeout(*database, 10000);
    return sqlite3_exec(*database, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
}

/* "file:PATH?immutable=1" */
static char *immutable_name(const char *path)
{
    char *name = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&name, &bytes);
    if (!stream)
        return NULL;
    fputs("file:", stream);
    for (; *path; path++)
        fprintf(stream, strchr("%?#", *path) ? "%%%02x" : "%c", (unsigned char)*path);
    fputs("?immutable=1", stream);
    if (!fclose(stream))
        return name;
    free(name);
    return NULL;
}

/*
 * SQLite keeps files beside one in write-ahead mode, also for reading. Where it may not, in somebody else's folder or
 * on a read-only medium, the file does not change unless there is such a file.
 */
static int open_file(const char *path, sqlite3 **database)
{
    int code = try_to_read(store_open_file(path, SQLITE_OPEN_READONLY, database), database);
    if ((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY)
        return code;
    size_t bytes = strlen(path) + sizeof "-wal";
    char *log = malloc(bytes), *name = immutable_name(path);
    bool unchanging = false;
    if (log && name) {
        snprintf(log, bytes, "%s-wal", path);
        unchanging = access(path, R_OK) == 0 && access(log, F_OK) != 0;
    }
    if (unchanging) {
        sqlite3_close(*database);
        code = try_to_read(sqlite3_open_v2(name, database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL), database);
    }
    free(log);
    free(name);
    return code;
}

/* Whether the file is at fault, not the text. */
static bool is_of_file(int code)
{
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return true;
    default:
        return false;
    }
}

/* The tables of cases become views with what one campaign has, for this connection only. */
static int choose_campaign(const struct query_options *query, sqlite3 *database, enum corun_status *status)
{
    static const char text[] = "CREATE TEMP VIEW %s AS SELECT * FROM main.%s WHERE key IN "
                               "(SELECT key FROM main.members WHERE campaign = %Q)";
    static const char *const tables[] = {"cases", "applications", "queues", "queue_kernels", "splits"};
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, "SELECT 1 FROM campaigns WHERE name = ?", -1, &statement, NULL);
    if (!code) {
        sqlite3_bind_text(statement, 1, query->campaign, -1, SQLITE_STATIC);
        code = sqlite3_step(statement);
        if (code == SQLITE_DONE)
            *status = corun_report(query->command.list, CORUN_NOT_FOUND, (struct corun_place){query->results, 0, 0},
                                   "there is no campaign `%s`; `corun query \"SELECT name FROM campaigns\"` lists them",
                                   query->campaign);
    }
    sqlite3_finalize(statement);
    if (code != SQLITE_ROW)
        return code == SQLITE_DONE ? SQLITE_OK : code;
    code = sqlite3_exec(database, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !code;
         i++) { /* a view of what is not there does no harm */
        char *view = sqlite3_mprintf(text, tables[i], tables[i], query->campaign);
        code = view ? sqlite3_exec(database, view, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(view);
    }
    return code;
}

/* Whether the file is one of corun's: else the text asks for tables that are not there. */
static bool is_ours(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    query_guard_drop(database);
    bool ours = !sqlite3_prepare_v2(database, "PRAGMA application_id", -1, &statement, NULL) &&
                sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == STORE_APPLICATION_ID;
    sqlite3_finalize(statement);
    return ours;
}

/* Why the text was not answered, unless the file is at fault. */
static enum corun_status report_text(const struct query_options *query, const struct query_guard *guard, int code,
                                     sqlite3 *database)
{
    struct corun_diagnostics *list = query->command.list;
    if (guard->refused[0])
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "results are only read; this text %s", guard->refused);
    if (guard->out_of_time)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "it took longer than %" PRIu32 " seconds (--time)",
                            query->seconds);
    if ((code & 0xff) == SQLITE_NOMEM)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "the answer needs too much memory");
    enum corun_status status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s", sqlite3_errmsg(database));
    if (is_ours(database))
        return status;
    return corun_report(list, CORUN_FILE, (struct corun_place){query->results, 0, 0},
                        "this is no results file of corun");
}

static enum corun_status answer(struct query_options *query, sqlite3 *database, struct query_guard *guard,
                                sqlite3_stmt **statement, int *code)
{
    enum corun_status status = CORUN_OK;
    const char *rest = "";
    if (query->campaign)
        *code = choose_campaign(query, database, &status);
    if (*code || status)
        return status;
    query_guard_set(guard, database, query->seconds);
    *code = sqlite3_prepare_v2(database, query->text, -1, statement, &rest);
    if (!*code && !*statement)
        return corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE, "the SQL text is empty");
    if (!*code && rest[strspn(rest, " \t\r\n;")])
        return corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE,
                            "only one statement is expected, not also `%s`", rest);
    if (!*code && !sqlite3_stmt_readonly(*statement))
        return corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE, "results are only read; this text writes");
    if (!*code)
        *code = print_rows(query, *statement, &status);
    return status;
}

static enum corun_status run_query(void *user)
{
    struct query_options *query = user;
    struct query_guard guard = {0};
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    if (!strcmp(query->text, ".schema"))
        query->text = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL";
    enum corun_status status = command_existing(query->results, query->command.list);
    if (status)
        return status;
    sqlite3_hard_heap_limit64(MEMORY_MAX_BYTES);
    int code = open_file(query->results, &database);
    bool opened = !code;
    if (opened)
        status = answer(query, database, &guard, &statement, &code);
    if (code && code != SQLITE_DONE && !status) {
        if (opened && !is_of_file(code))
            status = report_text(query, &guard, code, database);
        else
            status = corun_report(query->command.list, CORUN_FILE, (struct corun_place){query->results, 0, 0}, "%s",
                                  database ? sqlite3_errmsg(database) : sqlite3_errstr(code));
    }
    sqlite3_finalize(statement);
    if (!status) {
        query_guard_drop(database);
        query_guard_warn(&guard, database, query->command.list);
    }
    sqlite3_close(database);
    return status;
}

int command_query(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .args_doc = "SQL", .doc = doc, .help_filter = command_help_filter};
    struct query_options query = {.results = DEFAULT_RESULTS, .seconds = DEFAULT_SECONDS};
    return command_perform(&query.command, &argp, argc, argv, run_query, &query);
}
