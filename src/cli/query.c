#include "cli/command.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_RESULTS = 'r', KEY_CSV = 'c' };

static const struct argp_option options[] = {
    {"results", KEY_RESULTS, "FILE", 0, "the results file [" DEFAULT_RESULTS "]", 1},
    {"csv", KEY_CSV, NULL, 0, "comma-separated values (RFC 4180) instead of a table", 1},
    {0},
};

static const char doc[] =
    "Asks a results file of `corun campaign` in SQL; the file is only read. `.schema` in place of SQL shows its "
    "tables.\v"
    "Example: corun query \"SELECT policy, count(*), exp(avg(ln(stp))) FROM cases WHERE NOT isolated GROUP BY policy\"";

struct query_options {
    struct command command;
    const char *results, *text;
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

static void print_csv_row(sqlite3_stmt *statement, int count, bool heading)
{
    for (int c = 0; c < count; c++) {
        const char *text =
            heading ? sqlite3_column_name(statement, c) : (const char *)sqlite3_column_text(statement, c);
        if (c)
            putchar(',');
        print_csv_field(text ? text : "");
    }
    fputs("\r\n", stdout);
}

static void add_row(struct columns *columns, sqlite3_stmt *statement, int count)
{
    columns_row(columns);
    for (int c = 0; c < count; c++) {
        if (sqlite3_column_type(statement, c) == SQLITE_FLOAT)
            columns_set(columns, (uint32_t)c, PAINT_NONE, "%.6g", sqlite3_column_double(statement, c));
        else if (sqlite3_column_type(statement, c) != SQLITE_NULL)
            columns_set(columns, (uint32_t)c, PAINT_NONE, "%s", (const char *)sqlite3_column_text(statement, c));
    }
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
        print_csv_row(statement, count, true);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        if (query->csv)
            print_csv_row(statement, count, false);
        else
            add_row(columns, statement, count);
    }
    struct report_style style = output_style(stdout);
    if (!query->csv && code == SQLITE_DONE && !columns_print(columns, &style, stdout))
        *status = CORUN_MEMORY;
    return code;
}

/* Opens and reads a little: mistakes about the file show here. */
static int open_to_read(const char *name, int flags, sqlite3 **database)
{
    int code = sqlite3_open_v2(name, database, SQLITE_OPEN_READONLY | flags, NULL);
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
    int code = open_to_read(path, 0, database);
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
        code = open_to_read(name, SQLITE_OPEN_URI, database);
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

static enum corun_status run_query(void *user)
{
    struct query_options *query = user;
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    enum corun_status status = CORUN_OK;
    const char *rest = "";
    if (!strcmp(query->text, ".schema"))
        query->text = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL";
    status = command_existing(query->results, query->command.list);
    if (status)
        return status;
    int code = open_file(query->results, &database);
    bool opened = !code;
    if (!code)
        code = sqlite3_prepare_v2(database, query->text, -1, &statement, &rest);
    if (!code && !statement)
        status = corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE, "the SQL text is empty");
    else if (!code && rest[strspn(rest, " \t\r\n;")])
        status = corun_report(query->command.list, CORUN_USAGE, CORUN_NOWHERE,
                              "only one statement is expected, not also `%s`", rest);
    else if (!code)
        code = print_rows(query, statement, &status);
    opened = opened && !is_of_file(code);
    if (code && code != SQLITE_DONE && !status)
        status = corun_report(query->command.list, opened ? CORUN_USAGE : CORUN_FILE,
                              opened ? CORUN_NOWHERE : (struct corun_place){query->results, 0, 0}, "%s",
                              database ? sqlite3_errmsg(database) : sqlite3_errstr(code));
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return status;
}

int command_query(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .args_doc = "SQL", .doc = doc, .help_filter = command_help_filter};
    struct query_options query = {.results = DEFAULT_RESULTS};
    return command_perform(&query.command, &argp, argc, argv, run_query, &query);
}
