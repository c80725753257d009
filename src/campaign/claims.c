/* SPDX-License-Identifier: MIT */
/* The tables `runners` and `claims`: beats, the search for dead runners, and claims taken in one transaction. */
#include "campaign/claims.h"

#include "base/process_stat.h"
#include "base/vector.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* When the beat of another runner last changed. */
struct watched {
    char token[33];
    int64_t beat;
    double since;
};

struct claims {
    struct store *store;
    sqlite3 *database;
    struct claims_runner self;
    double next_beat;
    int64_t last_row; /* when it began: later ones were written meanwhile */
    VECTOR(struct watched) watched;
};

/* The first line of a file, without its end; empty if it cannot be read. */
static void read_line(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");
    text[0] = 0;
    if (file && !fgets(text, (int)bytes, file))
        text[0] = 0;
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = 0;
}

enum corun_status claims_myself(struct corun_diagnostics *list, struct claims_runner *runner)
{
    unsigned char random[16];
    char boot[40], space[48] = "";
    struct process_stat stat;
    *runner = (struct claims_runner){.pid = getpid()};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(runner->token + 2 * i, 3, "%02x", random[i]);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0 || !boot[0])
        snprintf(runner->machine, sizeof runner->machine, "unknown %s", runner->token); /* nobody else's */
    else
        snprintf(runner->machine, sizeof runner->machine, "%s %s", boot, space);
    if (gethostname(runner->host, sizeof runner->host - 1))
        runner->host[0] = 0;
    if (process_stat_read(getpid(), PROCESS_WHOLE, &stat))
        runner->started = stat.born;
    return CORUN_OK;
}

/* Whether a runner of this machine can no longer be running. */
static bool is_gone(int64_t pid, uint64_t started)
{
    struct process_stat stat;
    if (pid <= 0 || (kill((pid_t)pid, 0) && errno == ESRCH))
        return true;
    /* Hidden from us, or it has just ended: then the next look will tell. */
    if (!process_stat_read((pid_t)pid, PROCESS_WHOLE, &stat))
        return false;
    return stat.state == 'Z' || stat.state == 'X' || (started && stat.born != started);
}

static int execute(struct claims *claims, const char *text)
{
    return sqlite3_exec(claims->database, text, NULL, NULL, NULL);
}

/* Runs a statement with up to two texts, and gives the first row, if there is one, to the caller, who finalizes it. */
static int step(struct claims *claims, const char *text, const char *first, const char *second,
                sqlite3_stmt **statement)
{
    int code = sqlite3_prepare_v2(claims->database, text, -1, statement, NULL);
    if (code)
        return code;
    if (first)
        sqlite3_bind_text(*statement, 1, first, -1, SQLITE_STATIC);
    if (second)
        sqlite3_bind_text(*statement, 2, second, -1, SQLITE_STATIC);
    return sqlite3_step(*statement);
}

/* The same of a statement without rows: SQLITE_OK or what went wrong. */
static int change(struct claims *claims, const char *text, const char *first, const char *second)
{
    sqlite3_stmt *statement = NULL;
    int code = step(claims, text, first, second, &statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
}

/* Ends a transaction; what `code` says comes first. */
static int end_transaction(struct claims *claims, int code)
{
    if (!code)
        code = execute(claims, "COMMIT");
    if (!sqlite3_get_autocommit(claims->database))
        execute(claims, "ROLLBACK");
    return code;
}

static int register_self(struct claims *claims)
{
    static const char text[] = "INSERT OR REPLACE INTO runners VALUES(?1, ?2, ?3, ?4, ?5, 1)";
    const struct claims_runner *self = &claims->self;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(claims->database, text, -1, &statement, NULL);
    if (code)
        return code;
    sqlite3_bind_text(statement, 1, self->token, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, self->machine, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, self->host, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, self->pid);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)self->started);
    code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Inside a transaction. */
static int forget(struct claims *claims, const char *token)
{
    int code = change(claims, "DELETE FROM claims WHERE runner = ?1", token, NULL);
    return code ? code : change(claims, "DELETE FROM runners WHERE token = ?1", token, NULL);
}

static bool is_here(const struct claims *claims, const char *machine)
{
    return machine && !strcmp(machine, claims->self.machine);
}

/* Whether the beat of a runner has stood still for too long. False, too, when it is seen for the first time. */
static bool is_silent(struct claims *claims, const char *token, int64_t beat, double now)
{
    for (size_t i = 0; i < claims->watched.count; i++) {
        struct watched *watched = &claims->watched.data[i];
        if (strcmp(watched->token, token) != 0)
            continue;
        if (watched->beat != beat) {
            watched->beat = beat;
            watched->since = now;
        }
        return now - watched->since > CLAIM_LEASE_SECONDS;
    }
    struct watched watched = {.beat = beat, .since = now};
    snprintf(watched.token, sizeof watched.token, "%s", token);
    (void)!vector_push(&claims->watched, watched); /* without memory it is seen for the first time again */
    return false;
}

/* Inside a transaction: forgets those that are dead. */
static int look_around(struct claims *claims, double now)
{
    VECTOR(struct watched) dead = {0};
    sqlite3_stmt *statement = NULL;
    int code = step(claims, "SELECT token, machine, pid, started, beat FROM runners WHERE token <> ?1",
                    claims->self.token, NULL, &statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        struct watched runner = {.beat = sqlite3_column_int64(statement, 4)};
        const char *token = (const char *)sqlite3_column_text(statement, 0);
        snprintf(runner.token, sizeof runner.token, "%s", token ? token : "");
        bool gone = is_here(claims, (const char *)sqlite3_column_text(statement, 1)) &&
                    is_gone(sqlite3_column_int64(statement, 2), (uint64_t)sqlite3_column_int64(statement, 3));
        if (gone || is_silent(claims, runner.token, runner.beat, now))
            (void)!vector_push(&dead, runner); /* without memory the next look will tell */
    }
    sqlite3_finalize(statement);
    code = code == SQLITE_DONE ? SQLITE_OK : code;
    for (size_t i = 0; i < dead.count && !code; i++)
        code = forget(claims, dead.data[i].token);
    vector_free(&dead);
    return code;
}

enum corun_status claims_beat(struct claims *claims, double now, struct corun_diagnostics *list)
{
    if (now < claims->next_beat)
        return CORUN_OK;
    claims->next_beat = now + CLAIM_BEAT_SECONDS;
    int code = execute(claims, "BEGIN IMMEDIATE");
    if (!code)
        code = change(claims, "UPDATE runners SET beat = beat + 1 WHERE token = ?1", claims->self.token, NULL);
    if (!code && !sqlite3_changes(claims->database)) /* the others took us for dead */
        code = register_self(claims);
    code = code ? code : look_around(claims, now);
    code = end_transaction(claims, code);
    return code ? store_report(claims->store, code, list) : CORUN_OK;
}

enum corun_status claims_begin(struct store *store, const struct claims_runner *runner, double now,
                               struct corun_diagnostics *list, struct claims **result)
{
    *result = NULL;
    struct claims *claims = calloc(1, sizeof *claims);
    if (!claims)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    *claims = (struct claims){.store = store, .database = store_database(store), .self = *runner};
    enum corun_status status = store_last_row(store, list, &claims->last_row);
    if (!status)
        status = claims_beat(claims, now, list);
    if (status)
        claims_end(claims);
    else
        *result = claims;
    return status;
}

void claims_end(struct claims *claims)
{
    if (!claims)
        return;
    if (!execute(claims, "BEGIN IMMEDIATE")) /* if not: they will find us gone */
        end_transaction(claims, forget(claims, claims->self.token));
    vector_free(&claims->watched);
    free(claims);
}

/* What the results file says of the case itself. False: it is there to be run, unless somebody does. */
static enum corun_status has_ended(struct claims *claims, const char *key, struct corun_diagnostics *list, bool *ended,
                                   enum claim *claim)
{
    enum store_state state;
    int64_t row = 0;
    enum corun_status status = store_find(claims->store, key, list, &state, &row);
    *claim = state == STORE_FINISHED ? CLAIM_FINISHED : CLAIM_ENDED;
    *ended = !status && (state == STORE_FINISHED || (state != STORE_ABSENT && row > claims->last_row));
    return status;
}

/* *taken: by another runner that is not known to be gone. */
static int find_claimant(struct claims *claims, const char *key, bool *taken, char gone[33])
{
    sqlite3_stmt *statement = NULL;
    int code = step(claims,
                    "SELECT token, machine, pid, started FROM claims JOIN runners ON runner = token "
                    "WHERE key = ?1 AND token <> ?2",
                    key, claims->self.token, &statement);
    *taken = code == SQLITE_ROW;
    gone[0] = 0;
    if (*taken && is_here(claims, (const char *)sqlite3_column_text(statement, 1)) &&
        is_gone(sqlite3_column_int64(statement, 2), (uint64_t)sqlite3_column_int64(statement, 3))) {
        snprintf(gone, 33, "%s", (const char *)sqlite3_column_text(statement, 0));
        *taken = false;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

enum corun_status claims_take(struct claims *claims, const char *key, struct corun_diagnostics *list, enum claim *claim)
{
    bool ended = false, taken = false;
    char gone[33];
    enum corun_status status = has_ended(claims, key, list, &ended, claim);
    if (status || ended)
        return status;
    int code = find_claimant(claims, key, &taken, gone); /* a look that keeps nobody waiting */
    if (!code && taken) {
        *claim = CLAIM_ELSEWHERE;
        return CORUN_OK;
    }
    code = code ? code : execute(claims, "BEGIN IMMEDIATE"); /* from here on it is as we see it */
    if (!code)
        status = has_ended(claims, key, list, &ended, claim);
    if (!code && !status && !ended)
        code = find_claimant(claims, key, &taken, gone);
    if (!code && !status && !ended) {
        *claim = taken ? CLAIM_ELSEWHERE : CLAIM_TAKEN;
        if (gone[0])
            code = forget(claims, gone);
        if (!code && !taken)
            code = change(claims, "INSERT OR REPLACE INTO claims VALUES(?1, ?2)", key, claims->self.token);
    }
    code = end_transaction(claims, code ? code : status ? SQLITE_ABORT : SQLITE_OK);
    return status ? status : code ? store_report(claims->store, code, list) : CORUN_OK;
}
