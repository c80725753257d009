/* SPDX-License-Identifier: MIT */
/* The results file: its schema, its prepared statements, and what is refused when it is opened. */
#include "campaign/store.h"

#include "campaign/campaign_file.h"
#include "campaign/commands.h"
#include "campaign/rows.h"
#include "campaign/words.h"
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MILLISECONDS 60000
#define HEADER_BYTES 100 /* of an SQLite database */

/* clang-format off */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS campaigns("
    "  name TEXT PRIMARY KEY, summary TEXT NOT NULL, description TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS members("
    "  campaign TEXT NOT NULL, ordinal INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(campaign, ordinal));"
    "CREATE TABLE IF NOT EXISTS cases("
#define CASE_FIRST(name, type, ...) #name " " type
#define CASE_COLUMN(name, type, ...) ", " #name " " type
#include "campaign/columns.def"
    ");"
    "CREATE TABLE IF NOT EXISTS applications("
#define APPLICATION_FIRST(name, type, ...) #name " " type
#define APPLICATION_COLUMN(name, type, ...) ", " #name " " type
#include "campaign/columns.def"
    ", PRIMARY KEY(key, position));"
    /* results of other commands; files of before do not have these */
    "CREATE TABLE IF NOT EXISTS queues("
#define QUEUE_FIRST(name, type, ...) #name " " type
#define QUEUE_COLUMN(name, type, ...) ", " #name " " type
#include "campaign/columns.def"
    ", PRIMARY KEY(key, run));"
    "CREATE TABLE IF NOT EXISTS queue_kernels("
#define QUEUE_KERNEL_FIRST(name, type, ...) #name " " type
#define QUEUE_KERNEL_COLUMN(name, type, ...) ", " #name " " type
#include "campaign/columns.def"
    ", PRIMARY KEY(key, run, position));"
    "CREATE TABLE IF NOT EXISTS splits("
#define SPLIT_FIRST(name, type, ...) #name " " type
#define SPLIT_COLUMN(name, type, ...) ", " #name " " type
#include "campaign/columns.def"
    ", PRIMARY KEY(key, run));"
    /* who runs what, campaign/claims.h; files of before have neither */
    "CREATE TABLE IF NOT EXISTS runners("
    "  token TEXT PRIMARY KEY, machine TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,"
    "  started INTEGER NOT NULL, beat INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS claims(key TEXT PRIMARY KEY, runner TEXT NOT NULL);";
#define TABLE_NAMES \
    "('campaigns', 'members', 'cases', 'applications', 'queues', 'queue_kernels', 'splits', 'runners', 'claims')"
#define TABLES 9

/* Places of the parameters in the statements below, from 1: the columns in their order. */
enum {
    CASE_COLUMN_BEFORE_FIRST,
#define CASE_COLUMN(name, ...) CASE_##name,
#include "campaign/columns.def"
};
enum {
    APPLICATION_COLUMN_BEFORE_FIRST,
#define APPLICATION_COLUMN(name, ...) APPLICATION_##name,
#include "campaign/columns.def"
};
/* clang-format on */

struct store {
    sqlite3 *database;
    char *path;
    sqlite3_stmt *find, *seconds, *put, *put_application, *drop_applications, *drop_claim;
    sqlite3_stmt *put_queue, *put_queue_kernel, *drop_queues, *drop_queue_kernels;
    sqlite3_stmt *put_split, *drop_splits;
};

/* clang-format off */
static const struct {
    size_t offset;
    const char *text;
} statements[] = {
    {offsetof(struct store, find), "SELECT status, rowid FROM cases WHERE key = ?"},
    {offsetof(struct store, seconds), "SELECT wall_seconds FROM cases WHERE key = ? AND status = 'finished'"},
    {offsetof(struct store, put),
     "INSERT OR REPLACE INTO cases SELECT "
#define CASE_FIRST(name, ...) ":" #name
#define CASE_COLUMN(name, ...) ", :" #name
#include "campaign/columns.def"
     " WHERE :status = 'finished' OR NOT EXISTS(SELECT 1 FROM cases WHERE key = :key AND status = 'finished')"},
    {offsetof(struct store, put_application),
     "INSERT INTO applications VALUES("
#define APPLICATION_FIRST(name, ...) ":" #name
#define APPLICATION_COLUMN(name, ...) ", :" #name
#include "campaign/columns.def"
     ")"},
    {offsetof(struct store, drop_applications), "DELETE FROM applications WHERE key = ?"},
    {offsetof(struct store, drop_claim), "DELETE FROM claims WHERE key = ?"},
    {offsetof(struct store, put_queue),
     "INSERT INTO queues VALUES("
#define QUEUE_FIRST(name, ...) ":" #name
#define QUEUE_COLUMN(name, ...) ", :" #name
#include "campaign/columns.def"
     ")"},
    {offsetof(struct store, put_queue_kernel),
     "INSERT INTO queue_kernels VALUES("
#define QUEUE_KERNEL_FIRST(name, ...) ":" #name
#define QUEUE_KERNEL_COLUMN(name, ...) ", :" #name
#include "campaign/columns.def"
     ")"},
    {offsetof(struct store, put_split),
     "INSERT INTO splits VALUES("
#define SPLIT_FIRST(name, ...) ":" #name
#define SPLIT_COLUMN(name, ...) ", :" #name
#include "campaign/columns.def"
     ")"},
    {offsetof(struct store, drop_splits), "DELETE FROM splits WHERE key = ?"},
    {offsetof(struct store, drop_queues), "DELETE FROM queues WHERE key = ?"},
    {offsetof(struct store, drop_queue_kernels), "DELETE FROM queue_kernels WHERE key = ?"},
};
/* clang-format on */

/* Says what SQLite says of a file, and what the user can do about it. */
static enum corun_status report_file(const struct store *store, const char *path, int code,
                                     struct corun_diagnostics *list)
{
    const char *text = store->database ? sqlite3_errmsg(store->database) : sqlite3_errstr(code);
    int system = store->database ? sqlite3_system_errno(store->database) : 0;
    struct corun_place place = {path, 0, 0};
    switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return corun_report(list, CORUN_FILE, place,
                            "not a results file, or a damaged one (%s); it was left as it is: move it away to start "
                            "anew, or try `sqlite3 FILE .recover` to save what is in it",
                            text);
    case SQLITE_FULL:
        return corun_report(list, CORUN_FILE, place, "the disk is full; what had been finished is in the file");
    case SQLITE_IOERR:
        return corun_report(list, CORUN_FILE, place, "%s%s%s; what had been finished is in the file", text,
                            system ? ": " : "", system ? strerror(system) : "");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return corun_report(list, CORUN_FILE, place, "another process is using it (%s)", text);
    case SQLITE_NOMEM:
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    default:
        return corun_report(list, CORUN_FILE, place, "%s%s%s", text, system ? ": " : "",
                            system ? strerror(system) : "");
    }
}

enum corun_status store_report(const struct store *store, int code, struct corun_diagnostics *list)
{
    return report_file(store, store->path, code, list);
}

struct sqlite3 *store_database(struct store *store)
{
    return store->database;
}

static int execute(struct store *store, const char *text)
{
    return sqlite3_exec(store->database, text, NULL, NULL, NULL);
}

static int take_number(void *user, int count, char **values, char **names)
{
    (void)names;
    *(long long *)user = count && values[0] ? atoll(values[0]) : 0;
    return 0;
}

static int take_text(void *user, int count, char **values, char **names)
{
    (void)names;
    snprintf(user, 200, "%s", count && values[0] ? values[0] : "");
    return 0;
}

/* "PRAGMA main.user_version" for ("PRAGMA", "main", "user_version"). */
static int ask(struct store *store, const char *verb, const char *schema_name, const char *what,
               int (*take)(void *, int, char **, char **), void *user)
{
    char text[200];
    snprintf(text, sizeof text, "%s %s.%s", verb, schema_name, what);
    return sqlite3_exec(store->database, text, take, user, NULL);
}

/* A database must be ours, of this version and whole, unless there is nothing in it. */
static enum corun_status check_file(struct store *store, const char *schema_name, const char *path,
                                    struct corun_diagnostics *list, long long *tables)
{
    long long id = 0, version = 0;
    char check[200] = "";
    struct corun_place place = {path, 0, 0};
    int code = ask(store, "SELECT count(*) FROM", schema_name, "sqlite_master", take_number, tables);
    if (!code)
        code = ask(store, "PRAGMA", schema_name, "application_id", take_number, &id);
    if (!code)
        code = ask(store, "PRAGMA", schema_name, "user_version", take_number, &version);
    if (code || !*tables)
        return code ? report_file(store, path, code, list) : CORUN_OK;
    if (id != STORE_APPLICATION_ID || version != STORE_VERSION)
        return corun_report(list, CORUN_FILE, place,
                            id == STORE_APPLICATION_ID
                                ? "results of another version of corun (%lld, this one writes %d)"
                                : "a database, but not a results file of corun (%lld, not %d)",
                            id == STORE_APPLICATION_ID ? version : id,
                            id == STORE_APPLICATION_ID ? STORE_VERSION : STORE_APPLICATION_ID);
    code = ask(store, "PRAGMA", schema_name, "quick_check(1)", take_text, check);
    if (code)
        return report_file(store, path, code, list);
    if (strcmp(check, "ok") != 0)
        return corun_report(list, CORUN_FILE, place,
                            "damaged: %s; it was left as it is: move it away to start anew, or try `sqlite3 FILE "
                            ".recover` to save what is in it",
                            check);
    return CORUN_OK;
}

/*
 * Whether processes on several machines may see the file: they have no memory in common, which the index of a
 * write-ahead log is kept in. linux/magic.h and the manual page of statfs have the numbers.
 */
static bool is_on_network(const char *path)
{
    static const uint32_t types[] = {
        0x6969,     /* NFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 */
        0x517b,     /* SMB */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x19830326, /* BeeGFS */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x01021997, /* 9P */
        0x65735546, /* FUSE: sshfs and others */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0xaad7aaea, /* PanFS */
        0x013111a8, /* IBRIX */
    };
    struct statfs about;
    if (statfs(path, &about))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if ((uint32_t)about.f_type == types[i])
            return true;
    }
    return false;
}

/* Write-ahead, unless the file is shared through a network. SQLite itself does not wait for another process here. */
static int keep_log(struct store *store, enum store_use use)
{
    bool rolls_back = use == STORE_NETWORK || (use == STORE_SHARED && is_on_network(store->path));
    const char *text = rolls_back ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
    int code = execute(store, text);
    for (int waited = 0; (code & 0xff) == SQLITE_BUSY && waited < BUSY_MILLISECONDS; waited += 20) {
        sqlite3_sleep(20);
        code = execute(store, text);
    }
    return code ? code : execute(store, "PRAGMA synchronous = FULL");
}

/*
 * What is missing of the schema: all of it in a new file, unless another process has been faster; the tables of claims
 * and of other commands in one of before.
 */
static int add_tables(struct store *store)
{
    long long tables = 0, id = 0, present = 0;
    char text[200];
    int code = sqlite3_exec(store->database,
                            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN " TABLE_NAMES,
                            take_number, &present, NULL);
    if (code || present == TABLES)
        return code;
    code = execute(store, "BEGIN IMMEDIATE"); /* from here on nobody else changes it */
    code = code ? code : ask(store, "SELECT count(*) FROM", "main", "sqlite_master", take_number, &tables);
    code = code ? code : ask(store, "PRAGMA", "main", "application_id", take_number, &id);
    if (!code && tables && id != STORE_APPLICATION_ID) {
        execute(store, "ROLLBACK");
        return SQLITE_NOTADB;
    }
    code = code ? code : execute(store, schema);
    snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d", STORE_APPLICATION_ID,
             STORE_VERSION);
    code = code ? code : execute(store, text);
    return code ? code : execute(store, "COMMIT");
}

static enum corun_status prepare(struct store *store, enum store_use use, struct corun_diagnostics *list)
{
    long long tables = 0;
    enum corun_status status = check_file(store, "main", store->path, list, &tables);
    if (status)
        return status;
    int code = keep_log(store, use);
    code = code ? code : add_tables(store);
    if (code == SQLITE_NOTADB) { /* somebody else was faster */
        status = check_file(store, "main", store->path, list, &tables);
        return status ? status : store_report(store, code, list);
    }
    for (size_t i = 0; i < sizeof statements / sizeof *statements && !code; i++) {
        sqlite3_stmt **statement = (sqlite3_stmt **)((char *)store + statements[i].offset);
        code = sqlite3_prepare_v3(store->database, statements[i].text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    }
    return code ? store_report(store, code, list) : CORUN_OK;
}

/*
 * What SQLite says of these in few words or, of a file with a few bytes, not at all: it would take that for an empty one.
 * The file is not opened for this: closing it would end the locks that this process may have on it.
 */
static enum corun_status check_kind(const char *path, struct corun_diagnostics *list)
{
    struct corun_place place = {path, 0, 0};
    struct stat about;
    if (stat(path, &about))
        return CORUN_OK; /* it is to be made */
    if (!S_ISREG(about.st_mode))
        return corun_report(list, CORUN_FILE, place, "%s",
                            S_ISDIR(about.st_mode) ? "this is a directory" : "this is no regular file");
    if (access(path, R_OK))
        return corun_report(list, CORUN_FILE, place, "cannot be read: %s", strerror(errno));
    if (about.st_size > 0 && about.st_size < HEADER_BYTES)
        return corun_report(list, CORUN_FILE, place, "not a results file; it was left as it is");
    return CORUN_OK;
}

int store_open_file(const char *path, int flags, struct sqlite3 **database)
{
    *database = NULL;
    if (strncmp(path, "file:", 5) != 0)
        return sqlite3_open_v2(path, database, flags, NULL);
    size_t bytes = strlen(path) + sizeof "./";
    char *name = malloc(bytes);
    if (!name)
        return SQLITE_NOMEM;
    snprintf(name, bytes, "./%s", path);
    int code = sqlite3_open_v2(name, database, flags, NULL);
    free(name);
    return code;
}

enum corun_status store_open(const char *path, enum store_use use, struct corun_diagnostics *list,
                             struct store **result)
{
    *result = NULL;
    if (!*path || !strcmp(path, ":memory:")) /* SQLite would forget what it is given */
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "a results file cannot be called '%s'", path);
    enum corun_status status = check_kind(path, list);
    if (status)
        return status;
    struct store *store = calloc(1, sizeof *store);
    if (store)
        store->path = strdup(path);
    if (!store || !store->path) {
        free(store);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    int code = store_open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store->database);
    if (code) {
        status = store_report(store, code, list);
    } else {
        sqlite3_extended_result_codes(store->database, 1);
        sqlite3_busy_timeout(store->database, BUSY_MILLISECONDS);
        if (use == STORE_ALONE)
            execute(store, "PRAGMA locking_mode = EXCLUSIVE"); /* never fails: taken with the first access */
        status = prepare(store, use, list);
    }
    if (status)
        store_close(store);
    else
        *result = store;
    return status;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        sqlite3_finalize(*(sqlite3_stmt **)((char *)store + statements[i].offset));
    sqlite3_close(store->database);
    free(store->path);
    free(store);
}

/* What is written into a file that was deleted is lost with it. */
static enum corun_status check_place(const struct store *store, struct corun_diagnostics *list)
{
    int moved = 0;
    if (sqlite3_file_control(store->database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
        return CORUN_OK;
    return corun_report(list, CORUN_FILE, (struct corun_place){store->path, 0, 0},
                        "the results file was deleted, renamed or replaced while it was in use");
}

enum corun_status store_find(struct store *store, const char *key, struct corun_diagnostics *list,
                             enum store_state *state, int64_t *row)
{
    sqlite3_bind_text(store->find, 1, key, -1, SQLITE_STATIC);
    int code = sqlite3_step(store->find);
    *state = STORE_ABSENT;
    if (code == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(store->find, 0);
        *state = word && !strcmp(word, "finished") ? STORE_FINISHED
                 : word && !strcmp(word, "lost")   ? STORE_LOST
                                                   : STORE_FAILED;
        if (row)
            *row = sqlite3_column_int64(store->find, 1);
    }
    enum corun_status status = code == SQLITE_ROW || code == SQLITE_DONE ? CORUN_OK : store_report(store, code, list);
    sqlite3_reset(store->find);
    return status;
}

enum corun_status store_last_row(struct store *store, struct corun_diagnostics *list, int64_t *row)
{
    long long last = 0;
    int code = sqlite3_exec(store->database, "SELECT max(rowid) FROM cases", take_number, &last, NULL);
    *row = last;
    return code ? store_report(store, code, list) : CORUN_OK;
}

double store_seconds(struct store *store, const char *key)
{
    double seconds = (double)NAN;
    sqlite3_bind_text(store->seconds, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_step(store->seconds) == SQLITE_ROW)
        seconds = sqlite3_column_double(store->seconds, 0);
    sqlite3_reset(store->seconds);
    return seconds;
}

static double column_number(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? (double)NAN
                                                                 : sqlite3_column_double(statement, column);
}

enum corun_status store_read(struct store *store, const char *key, struct corun_diagnostics *list, bool *known,
                             struct store_measured *measured)
{
    static const char question[] =
        "SELECT stp, antt, fairness, position, ipc, normalised_ipc, goal_met FROM cases JOIN applications USING(key) "
        "WHERE key = ? AND status = 'finished'";
    sqlite3_stmt *statement = NULL;
    *known = false;
    *measured = (struct store_measured){.stp = (double)NAN, .antt = (double)NAN, .fairness = (double)NAN};
    int code = sqlite3_prepare_v2(store->database, question, -1, &statement, NULL);
    if (!code)
        sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    while (!code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        code = SQLITE_OK;
        *known = true;
        measured->stp = column_number(statement, 0);
        measured->antt = column_number(statement, 1);
        measured->fairness = column_number(statement, 2);
        int position = sqlite3_column_int(statement, 3);
        if (position < 0 || position >= (int)CORUN_MAX_APPLICATIONS)
            continue;
        measured->applications[position].ipc = column_number(statement, 4);
        measured->applications[position].normalised_ipc = column_number(statement, 5);
        measured->applications[position].has_goal = sqlite3_column_type(statement, 6) != SQLITE_NULL;
        measured->applications[position].goal_met = sqlite3_column_int(statement, 6) != 0;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? CORUN_OK : store_report(store, code, list);
}

/* Ends a transaction: commits if `code` is SQLITE_OK, else takes everything back. */
static enum corun_status end_transaction(struct store *store, int code, struct corun_diagnostics *list)
{
    if (!code)
        code = execute(store, "COMMIT");
    if (!code)
        return CORUN_OK;
    enum corun_status status = store_report(store, code, list);
    if (!sqlite3_get_autocommit(store->database))
        execute(store, "ROLLBACK");
    return status;
}

static int bind_and_step(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

enum corun_status store_campaign(struct store *store, const struct corun_campaign *campaign,
                                 const struct content_key *keys, struct corun_diagnostics *list)
{
    sqlite3_stmt *insert = NULL, *drop = NULL, *member = NULL;
    int code =
        sqlite3_prepare_v2(store->database, "INSERT OR REPLACE INTO campaigns VALUES(?, ?, ?)", -1, &insert, NULL);
    if (!code)
        code = sqlite3_prepare_v2(store->database, "DELETE FROM members WHERE campaign = ?", -1, &drop, NULL);
    if (!code)
        code = sqlite3_prepare_v2(store->database, "INSERT INTO members VALUES(?, ?, ?)", -1, &member, NULL);
    if (!code)
        code = execute(store, "BEGIN IMMEDIATE");
    if (!code) {
        sqlite3_bind_text(insert, 1, campaign->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 2, campaign->summary, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, campaign->text, -1, SQLITE_STATIC);
        code = bind_and_step(insert);
        sqlite3_bind_text(drop, 1, campaign->name, -1, SQLITE_STATIC);
        code = code ? code : bind_and_step(drop);
        for (size_t i = 0; i < campaign->cases.count && !code; i++) {
            sqlite3_bind_text(member, 1, campaign->name, -1, SQLITE_STATIC);
            sqlite3_bind_int64(member, 2, (sqlite3_int64)i);
            sqlite3_bind_text(member, 3, keys[i].hex, -1, SQLITE_STATIC);
            code = bind_and_step(member);
        }
    }
    enum corun_status status = end_transaction(store, code, list);
    sqlite3_finalize(insert);
    sqlite3_finalize(drop);
    sqlite3_finalize(member);
    return status;
}

/* The applications of a case in one text, as a command line has them. */
static char *join(const struct corun_campaign_case *item)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream)
        words_put_all(item->applications, item->application_count, stream);
    if (stream && fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

/* What a row of `cases` is made of. */
struct case_row {
    const char *key, *status, *message;
    const struct corun_campaign_case *item;
    const json_t *result; /* NULL: it has none */
    const char *json;     /* the same as it was written */
    size_t bytes;
    char *applications; /* case_row_begin makes these two; the caller frees the first */
    char ended[sizeof "2026-01-01T00:00:00Z"];
};

/* False when out of memory. */
static bool case_row_begin(struct case_row *row)
{
    time_t now = time(NULL);
    struct tm utc;
    row->applications = join(row->item);
    return gmtime_r(&now, &utc) && strftime(row->ended, sizeof row->ended, "%Y-%m-%dT%H:%M:%SZ", &utc) &&
           row->applications;
}

/* The values of columns.def. */
#define TEXT(value) sqlite3_bind_text(put, place, value, -1, SQLITE_STATIC)
#define NUMBER(value) sqlite3_bind_int64(put, place, (sqlite3_int64)(value))
#define RESULT(path) rows_bind_number(put, place, json_case_value(result, path))
#define RESULT_TEXT(path) rows_bind_string(put, place, json_case_value(result, path))
#define WHOLE sqlite3_bind_text64(put, place, row->json, row->bytes, SQLITE_STATIC, SQLITE_UTF8)

static void bind_case(sqlite3_stmt *put, const struct case_row *row)
{
    const json_t *result = row->result;
    int place = 0;
#define CASE_COLUMN(name, type, value, ...) \
    place = CASE_##name; \
    value;
#include "campaign/columns.def"
}

static void bind_application(sqlite3_stmt *put, const char *key, size_t position, const json_t *result)
{
    int place = 0;
#define APPLICATION_COLUMN(name, type, value, ...) \
    place = APPLICATION_##name; \
    value;
#include "campaign/columns.def"
}

static int put_applications(struct store *store, const char *key, const json_t *applications)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < json_array_size(applications) && !code; i++) {
        bind_application(store->put_application, key, i, json_array_get(applications, i));
        code = bind_and_step(store->put_application);
    }
    return code;
}

static int drop_rows(sqlite3_stmt *statement, const char *key)
{
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    return bind_and_step(statement);
}

static int drop_claim(struct store *store, const char *key)
{
    return drop_rows(store->drop_claim, key);
}

enum corun_status store_result(struct store *store, const char *key, const struct corun_campaign_case *item,
                               const char *json, size_t bytes, char problem[STORE_PROBLEM_BYTES],
                               struct corun_diagnostics *list)
{
    json_t *result = json_case_read(json, bytes, problem);
    if (!result)
        return CORUN_OK;
    enum corun_status place = check_place(store, list);
    if (place) {
        json_decref(result);
        return place;
    }
    struct case_row row = {
        .key = key, .status = "finished", .message = "", .item = item, .result = result, .json = json, .bytes = bytes};
    int code = case_row_begin(&row) ? execute(store, "BEGIN IMMEDIATE") : SQLITE_NOMEM;
    if (!code) {
        bind_case(store->put, &row);
        code = bind_and_step(store->put);
        code = code ? code : drop_rows(store->drop_applications, key);
        code = code ? code : put_applications(store, key, json_case_applications(result));
        code = code ? code : drop_claim(store, key);
    }
    enum corun_status status = end_transaction(store, code, list);
    json_decref(result);
    free(row.applications);
    return status;
}

static int put_command_rows(struct store *store, const char *key, const char *command, const json_t *result)
{
    int code = drop_rows(store->drop_queues, key);
    code = code ? code : drop_rows(store->drop_queue_kernels, key);
    code = code ? code : drop_rows(store->drop_splits, key);
    if (code)
        return code;
    if (!strcmp(command, "queue"))
        return rows_put_queues(store->put_queue, store->put_queue_kernel, key, result);
    return strcmp(command, "split") ? SQLITE_OK : rows_put_splits(store->put_split, key, result);
}

enum corun_status store_command_result(struct store *store, const char *key, const struct corun_campaign_case *item,
                                       const char *json, size_t bytes, double seconds,
                                       char problem[STORE_PROBLEM_BYTES], struct corun_diagnostics *list)
{
    json_error_t error;
    json_t *result = json_loadb(json, bytes, 0, &error);
    problem[0] = 0;
    if (!json_is_array(json_object_get(result, command_find(item->command)->results))) {
        snprintf(problem, STORE_PROBLEM_BYTES, "its result is no such JSON as corun %s writes: %.200s", item->command,
                 result ? "its list is missing" : error.text);
        json_decref(result);
        return CORUN_OK;
    }
    enum corun_status place = check_place(store, list);
    if (place) {
        json_decref(result);
        return place;
    }
    struct case_row row = {
        .key = key, .status = "finished", .message = "", .item = item, .result = result, .json = json, .bytes = bytes};
    int code = case_row_begin(&row) ? execute(store, "BEGIN IMMEDIATE") : SQLITE_NOMEM;
    if (!code) {
        bind_case(store->put, &row);
        sqlite3_bind_double(store->put, CASE_wall_seconds, seconds);
        code = bind_and_step(store->put);
        code = code ? code : put_command_rows(store, key, item->command, result);
        code = code ? code : drop_claim(store, key);
    }
    enum corun_status status = end_transaction(store, code, list);
    json_decref(result);
    free(row.applications);
    return status;
}

enum corun_status store_failure(struct store *store, const char *key, const struct corun_campaign_case *item,
                                const char *message, bool lost, double seconds, struct corun_diagnostics *list)
{
    enum corun_status place = check_place(store, list);
    if (place)
        return place;
    struct case_row row = {.key = key, .status = lost ? "lost" : "failed", .message = message, .item = item};
    int code = case_row_begin(&row) ? execute(store, "BEGIN IMMEDIATE") : SQLITE_NOMEM;
    if (!code) {
        bind_case(store->put, &row);
        sqlite3_bind_double(store->put, CASE_wall_seconds, seconds); /* there is no result that would know them */
        code = bind_and_step(store->put);
        code = code ? code : drop_claim(store, key);
    }
    enum corun_status status = end_transaction(store, code, list);
    free(row.applications);
    return status;
}

/* Rows of the other file that are better than ours, or that we do not have. */
#define BETTER \
    "NOT EXISTS(SELECT 1 FROM main.cases AS ours WHERE ours.key = theirs.key AND (ours.status = 'finished' OR " \
    "(theirs.status <> 'finished' AND ours.ended >= theirs.ended)))"

#define TAKE_ROWS(table) \
    "INSERT OR REPLACE INTO main." table " SELECT * FROM other." table \
    " WHERE key IN (SELECT key FROM other.cases AS theirs WHERE " BETTER ")"

/* Files of before have no more than the first of them. */
static const struct {
    const char *name, *take;
} row_tables[] = {{"applications", TAKE_ROWS("applications")},
                  {"queues", TAKE_ROWS("queues")},
                  {"queue_kernels", TAKE_ROWS("queue_kernels")},
                  {"splits", TAKE_ROWS("splits")}};
static const char take_cases[] = "INSERT OR REPLACE INTO main.cases SELECT * FROM other.cases AS theirs WHERE " BETTER;
static const char take_campaigns[] =
    "INSERT INTO main.members SELECT * FROM other.members WHERE campaign NOT IN (SELECT name FROM main.campaigns);"
    "INSERT OR IGNORE INTO main.campaigns SELECT * FROM other.campaigns";

/* The file is attached. */
static int take_rows(struct store *store, uint64_t *taken)
{
    uint64_t count = 0;
    char question[120];
    int code = execute(store, "BEGIN"); /* the first statement writes: it locks our file, not the other one */
    for (size_t i = 0; i < sizeof row_tables / sizeof *row_tables && !code; i++) {
        long long there = 0;
        snprintf(question, sizeof question, "SELECT count(*) FROM other.sqlite_master WHERE name = '%s'",
                 row_tables[i].name);
        code = sqlite3_exec(store->database, question, take_number, &there, NULL);
        if (!code && there)
            code = execute(store, row_tables[i].take);
    }
    if (!code)
        code = execute(store, take_cases);
    count = (uint64_t)sqlite3_changes64(store->database);
    if (!code)
        code = execute(store, take_campaigns);
    if (!code)
        code = execute(store, "COMMIT");
    if (!code)
        *taken = count;
    return code;
}

static int attach(struct store *store, const char *path)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->database, "ATTACH ? AS other", -1, &statement, NULL);
    if (!code) {
        sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
        code = bind_and_step(statement);
    }
    sqlite3_finalize(statement);
    return code;
}

enum corun_status store_merge(struct store *store, const char *path, struct corun_diagnostics *list, uint64_t *taken,
                              bool *end)
{
    struct stat theirs, ours;
    struct corun_place place = {path, 0, 0};
    *taken = 0;
    *end = false;
    if (stat(path, &theirs)) /* SQLite would create it */
        return corun_report(list, CORUN_FILE, place, "cannot be read: %s", strerror(errno));
    if (!stat(store->path, &ours) && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
        return corun_report(list, CORUN_FILE, place, "a results file cannot be merged into itself");
    int code = attach(store, path);
    if (code)
        return report_file(store, path, code, list);
    long long tables = 0;
    enum corun_status status = check_file(store, "other", path, list, &tables);
    if (!status && tables) {
        code = take_rows(store, taken);
        *end = (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_NOMEM || (code & 0xff) == SQLITE_READONLY;
        if (code)
            status = report_file(store, *end ? store->path : path, code, list);
        if (!sqlite3_get_autocommit(store->database))
            execute(store, "ROLLBACK");
    }
    execute(store, "DETACH other");
    return status;
}
