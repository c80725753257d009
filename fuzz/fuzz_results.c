/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: JSON that one process of ours leaves for another: results of cases, of queues and of divided tasks for a campaign's file, records
 * of divided tasks for `corun split`, and what an agent tells of itself. The first byte says which.
 */
#include "campaign/store.h"
#include "report/agent_report.h"
#include "report/split_record.h"

#include "memory_file.h"

#include <sqlite3.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct report_style plain = {.utf8 = true, .width = 100};

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* One file for all inputs, in memory and never synchronised. */
static char folder[] = "/dev/shm/fuzz-results-XXXXXX", path[64];

static void remove_store(void)
{
    unlink(path);
    rmdir(folder);
}

static struct store *open_store(struct corun_diagnostics *list)
{
    static struct store *store;
    if (store)
        return store;
    check(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/results", folder);
    check(store_open(path, STORE_ALONE, list, &store) == CORUN_OK && !atexit(remove_store));
    check(sqlite3_exec(store_database(store), "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", NULL, NULL,
                       NULL) == SQLITE_OK);
    return store;
}

/* A result is a row, or its problem is said. */
static void keep_result(const char *command, const char *text, size_t bytes, struct corun_diagnostics *list)
{
    static const char *const applications[] = {"sgemm@small"};
    const struct corun_campaign_case item = {.gpu = "gtx980",
                                             .policy = "even",
                                             .application_count = 1,
                                             .applications = applications,
                                             .cycles = command ? 0 : 1000,
                                             .command = command};
    struct store *store = open_store(list);
    char problem[STORE_PROBLEM_BYTES];
    enum store_state before, after;
    struct store_measured measured;
    bool known;
    check(sqlite3_exec(store_database(store), "DELETE FROM cases", NULL, NULL, NULL) == SQLITE_OK);
    check(store_find(store, "key", list, &before, NULL) == CORUN_OK && before == STORE_ABSENT);
    enum corun_status status = command ? store_command_result(store, "key", &item, text, bytes, 1.5, problem, list)
                                       : store_result(store, "key", &item, text, bytes, problem, list);
    check(store_find(store, "key", list, &after, NULL) == CORUN_OK);
    check((after == STORE_FINISHED) == (status == CORUN_OK && !problem[0]));
    check(store_read(store, "key", list, &known, &measured) == CORUN_OK);
}

static void tabulate(const struct split_report *report, FILE *nowhere)
{
    struct arena *arena = arena_create();
    check(arena);
    check(split_tables(report, arena, &plain, nowhere));
    check(split_json(report, nowhere) == CORUN_OK);
    arena_destroy(arena);
}

/* Five starts of the program, with a NUL between their records; the last record is that of all that follow. */
static void read_split(const uint8_t *data, size_t size, struct corun_diagnostics *list, FILE *nowhere)
{
    struct split_case cases[SPLIT_STRATEGIES + 1] = {
        {"CPU alone", "a", NULL}, {"GPUs alone", "b", NULL}, {"sizes", "c", NULL}, {"meet", "d", NULL}};
    struct split_report report = {cases, 0};
    bool good = true;
    while (report.count < SPLIT_STRATEGIES + 1) {
        const uint8_t *end = memchr(data, 0, size);
        size_t bytes = end ? (size_t)(end - data) : size;
        struct memory_file file = memory_file_create(data, bytes);
        enum corun_status status = split_record_read(&cases[report.count++], file.path, list);
        good = good && status == CORUN_OK;
        memory_file_destroy(&file);
        if (end) {
            data += bytes + 1;
            size -= bytes + 1;
        }
    }
    if (good)
        tabulate(&report, nowhere);
    split_record_free(&report);
}

static void read_agent(const char *text, struct corun_diagnostics *list, FILE *nowhere)
{
    struct arena *arena = arena_create();
    check(arena);
    enum corun_status status = agent_report_status(text, arena, &plain, list, nowhere);
    check(status == CORUN_OK || status == CORUN_SYNTAX);
    arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const commands[] = {NULL, "queue", "split"};
    if (!size)
        return 0;
    uint8_t which = *data++;
    size--;
    struct corun_diagnostics *list = corun_diagnostics_create();
    FILE *nowhere = fopen("/dev/null", "w");
    char *text = malloc(size + 1);
    check(list && nowhere && text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (which % 5 < 3)
        keep_result(commands[which % 5], text, size, list);
    else if (which % 5 == 3)
        read_split(data, size, list, nowhere);
    else
        read_agent(text, list, nowhere);
    free(text);
    fclose(nowhere);
    corun_diagnostics_destroy(list);
    return 0;
}
