/* SPDX-License-Identifier: MIT */
/* SQLite's authoriser refuses what is not reading; what a query reads is noted for the warnings. */
#include "cli/query_guard.h"

#include "case/run.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STEPS_BETWEEN_LOOKS 20000
#define LONGEST_VALUE_BYTES (256 << 20)
#define LONGEST_PATTERN_BYTES 1000

static bool is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; word && i < count; i++) {
        if (!strcasecmp(word, words[i]))
            return true;
    }
    return false;
}
#define IS_AMONG(word, words) is_among(word, words, sizeof(words) / sizeof *(words))

/* Those that tell about the file and its tables. The second ones change something if they are given a value. */
static bool is_harmless(const char *pragma, const char *value)
{
    static const char *const any[] = {"table_info",     "table_xinfo", "table_list",       "index_list",
                                      "index_info",     "index_xinfo", "foreign_key_list", "function_list",
                                      "collation_list", "quick_check", "integrity_check",  "compile_options"};
    static const char *const plain[] = {"user_version", "application_id", "page_count",   "page_size",
                                        "encoding",     "freelist_count", "journal_mode", "database_list"};
    return IS_AMONG(pragma, any) || (!value && IS_AMONG(pragma, plain));
}

static const char *name_deed(int action)
{
    switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        return "changes rows";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return "attaches or writes another file";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return "begins or ends a transaction";
    case SQLITE_FUNCTION:
        return "calls a function that loads code";
    case SQLITE_PRAGMA:
        return "uses a PRAGMA that may change something";
    default:
        return "changes tables";
    }
}

static void note_read(struct query_guard *guard, const char *table, const char *column)
{
    /* clang-format off */
    static const char *const measured[] = {
#define MEASURED(name) #name,
#define GIVEN(name)
#define CASE_COLUMN(name, type, value, role, ...) role(name)
#define APPLICATION_COLUMN(name, type, value, role, ...) role(name)
#define QUEUE_COLUMN(name, type, value, role, ...) role(name)
#define QUEUE_KERNEL_COLUMN(name, type, value, role, ...) role(name)
#define SPLIT_COLUMN(name, type, value, role, ...) role(name)
#include "campaign/columns.def"
#undef MEASURED
#undef GIVEN
    };
    /* clang-format on */
    guard->reads_measured = guard->reads_measured || IS_AMONG(column, measured);
    if (strcasecmp(table, "cases") != 0)
        return;
#define NOTE(name, plural) guard->reads[QUERY_##name] = guard->reads[QUERY_##name] || !strcasecmp(column, #name);
    QUERY_DISTINCTIONS(NOTE)
#undef NOTE
    guard->reads_isolated = guard->reads_isolated || !strcasecmp(column, "isolated");
}

static int authorize(void *user, int action, const char *first, const char *second, const char *database,
                     const char *view)
{
    static const char *const aggregates[] = {"avg", "sum", "total", "min", "max", "count", "group_concat"};
    struct query_guard *guard = user;
    (void)database;
    if (action == SQLITE_SELECT || action == SQLITE_RECURSIVE)
        return SQLITE_OK;
    if (action == SQLITE_READ) {
        if (!view && first && second) /* else it is of the view, not of the text */
            note_read(guard, first, second);
        return SQLITE_OK;
    }
    if (action == SQLITE_FUNCTION && second && strcasecmp(second, "load_extension") != 0) {
        guard->aggregates = guard->aggregates || IS_AMONG(second, aggregates);
        return SQLITE_OK;
    }
    if (action == SQLITE_PRAGMA && is_harmless(first, second))
        return SQLITE_OK;
    /* json_each and its like declare themselves as tables; a text that does so is not sqlite3_stmt_readonly */
    if (action == SQLITE_CREATE_TABLE ||
        ((action == SQLITE_INSERT || action == SQLITE_UPDATE) && first && !strcmp(first, "sqlite_master")))
        return SQLITE_OK;
    if (!guard->refused[0])
        snprintf(guard->refused, sizeof guard->refused, "%s", name_deed(action));
    return SQLITE_DENY;
}

static int look_at_clock(void *user)
{
    struct query_guard *guard = user;
    guard->out_of_time = run_clock() > guard->until;
    return guard->out_of_time;
}

void query_guard_set(struct query_guard *guard, sqlite3 *database, unsigned seconds)
{
    *guard = (struct query_guard){.until = seconds ? run_clock() + seconds : 0};
    sqlite3_set_authorizer(database, authorize, guard);
    if (seconds)
        sqlite3_progress_handler(database, STEPS_BETWEEN_LOOKS, look_at_clock, guard);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES);
    sqlite3_limit(database, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN_BYTES);
}

void query_guard_drop(sqlite3 *database)
{
    sqlite3_set_authorizer(database, NULL, NULL);
    sqlite3_progress_handler(database, 0, NULL, NULL);
}

static const struct {
    const char *name, *plural;
} distinctions[] = {
#define DISTINCTION_ROW(name, plural) {#name, plural},
    QUERY_DISTINCTIONS(DISTINCTION_ROW)
#undef DISTINCTION_ROW
};

/* Different values of what the text did not look at. */
static void warn_of_values(sqlite3 *database, enum query_distinction which, struct corun_diagnostics *list)
{
    char text[300];
    sqlite3_stmt *statement = NULL;
    const char *name = distinctions[which].name;
    snprintf(text, sizeof text,
             "SELECT count(*), group_concat(%s, ', ') FROM (SELECT DISTINCT %s FROM cases WHERE status = 'finished' "
             "ORDER BY 1)",
             name, name);
    if (!sqlite3_prepare_v2(database, text, -1, &statement, NULL) && sqlite3_step(statement) == SQLITE_ROW &&
        sqlite3_column_int64(statement, 0) > 1)
        corun_report(
            list, CORUN_OK, CORUN_NOWHERE,
            "the cases are of %lld %s (%.60s), and the query does not look at `%s`: its figures may be over all "
            "of them",
            (long long)sqlite3_column_int64(statement, 0), distinctions[which].plural,
            (const char *)sqlite3_column_text(statement, 1), name);
    sqlite3_finalize(statement);
}

static void warn_of_isolated(sqlite3 *database, struct corun_diagnostics *list)
{
    static const char text[] = "SELECT 1 WHERE EXISTS(SELECT 1 FROM cases WHERE isolated) AND "
                               "EXISTS(SELECT 1 FROM cases WHERE NOT isolated)";
    sqlite3_stmt *statement = NULL;
    if (!sqlite3_prepare_v2(database, text, -1, &statement, NULL) && sqlite3_step(statement) == SQLITE_ROW)
        corun_report(list, CORUN_OK, CORUN_NOWHERE,
                     "the runs of one application alone, under policy left-over, may be among these figures; "
                     "`WHERE NOT isolated` leaves them out");
    sqlite3_finalize(statement);
}

void query_guard_warn(const struct query_guard *guard, sqlite3 *database, struct corun_diagnostics *list)
{
    if (!guard->aggregates || !guard->reads_measured)
        return;
    for (int i = 0; i < QUERY_DISTINCTION_COUNT; i++) {
        if (!guard->reads[i])
            warn_of_values(database, (enum query_distinction)i, list);
    }
    if (!guard->reads_isolated)
        warn_of_isolated(database, list);
}
