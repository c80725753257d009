/* SPDX-License-Identifier: MIT */
/* Results files: what replaces what, merging, and files that go away. */
#include "campaign/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GOOD "{\"wall_seconds\": 1.5, \"applications\": [{\"name\": \"a\", \"size\": \"small\", \"ipc\": 2}]}"

struct place {
    char directory[64], first[96], second[96];
    struct corun_diagnostics *list;
};

static const char *const applications[] = {"a@small"};
static const struct corun_campaign_case item = {
    .gpu = "gtx980", .policy = "even", .application_count = 1, .applications = applications, .cycles = 1000, .seed = 1};

static int begin(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->directory, "/tmp/corun-store-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->first, sizeof place->first, "%s/first.db", place->directory);
    snprintf(place->second, sizeof place->second, "%s/second.db", place->directory);
    place->list = corun_diagnostics_create();
    *state = place;
    return 0;
}

static int end(void **state)
{
    struct place *place = *state;
    static const char *const names[] = {"first.db",      "second.db",    "moved.db",
                                        "first.db-wal",  "first.db-shm", "second.db-wal",
                                        "second.db-shm", "moved.db-wal", "moved.db-shm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", place->directory, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(place->directory), 0);
    corun_diagnostics_destroy(place->list);
    free(place);
    return 0;
}

static struct store *open_store(struct place *place, const char *path)
{
    struct store *store;
    assert_int_equal(store_open(path, STORE_SHARED, place->list, &store), CORUN_OK);
    return store;
}

static const char *last_message(const struct place *place)
{
    size_t count = corun_diagnostics_count(place->list);
    return count ? corun_diagnostics_get(place->list, count - 1)->message : "";
}

static enum store_state state_of(struct place *place, struct store *store, const char *key)
{
    enum store_state state;
    assert_int_equal(store_find(store, key, place->list, &state, NULL), CORUN_OK);
    return state;
}

static void put(struct place *place, struct store *store, const char *key)
{
    char problem[STORE_PROBLEM_BYTES];
    assert_int_equal(store_result(store, key, &item, GOOD, strlen(GOOD), problem, place->list), CORUN_OK);
    assert_string_equal(problem, "");
}

static void put_failure(struct place *place, struct store *store, const char *key, bool lost)
{
    assert_int_equal(store_failure(store, key, &item, "why", lost, 1, place->list), CORUN_OK);
}

static void finished_ones_stay(void **state)
{
    struct place *place = *state;
    struct store *store = open_store(place, place->first);
    assert_int_equal(state_of(place, store, "k"), STORE_ABSENT);
    put_failure(place, store, "k", true);
    assert_int_equal(state_of(place, store, "k"), STORE_LOST);
    put_failure(place, store, "k", false);
    assert_int_equal(state_of(place, store, "k"), STORE_FAILED);
    put(place, store, "k");
    assert_int_equal(state_of(place, store, "k"), STORE_FINISHED);
    put_failure(place, store, "k", true); /* of another runner */
    assert_int_equal(state_of(place, store, "k"), STORE_FINISHED);
    assert_true(store_seconds(store, "k") == 1.5);
    store_close(store);
}

static void what_is_no_result_is_told(void **state)
{
    struct place *place = *state;
    struct store *store = open_store(place, place->first);
    static const char *const texts[] = {"",
                                        "nonsense",
                                        "[]",
                                        "{}",
                                        "{\"applications\": 1}",
                                        "{\"applications\": [1e999]}",
                                        "{\"applications\": [\"\xff\"]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char problem[STORE_PROBLEM_BYTES];
        assert_int_equal(store_result(store, "k", &item, texts[i], strlen(texts[i]), problem, place->list), CORUN_OK);
        assert_non_null(strstr(problem, "no such JSON"));
        assert_int_equal(state_of(place, store, "k"), STORE_ABSENT);
    }
    store_close(store);
}

static uint32_t count_rows(struct store *store, const char *question)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store_database(store), question, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    uint32_t count = (uint32_t)sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

static void results_of_other_commands_have_rows(void **state)
{
    static const struct corun_campaign_case queue = {
        .command = "queue", .gpu = "gtx980", .policy = "base", .application_count = 1, .applications = applications};
    static const char result[] =
        "{\"ticks_per_second\": 1000, \"runs\": [{\"scheduler\": \"base\", \"makespan_ticks\": 500, \"busy_ticks\": "
        "250, "
        "\"copy_ticks\": 0, \"kernels\": [{\"name\": \"a\", \"launches\": 3, \"mean_response_ticks\": 20.0}, "
        "{\"name\": \"b\", \"launches\": 2}]}]}";
    static const char *const wrong[] = {"", "nonsense", "[]", "{}", "{\"runs\": 1}", "{\"runs\": []"};
    struct place *place = *state;
    struct store *store = open_store(place, place->first);
    char problem[STORE_PROBLEM_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(store_command_result(store, "k", &queue, wrong[i], strlen(wrong[i]), 1, problem, place->list),
                         CORUN_OK);
        assert_non_null(strstr(problem, "no such JSON as corun queue writes"));
        assert_int_equal(state_of(place, store, "k"), STORE_ABSENT);
    }
    for (int again = 0; again < 2; again++) { /* the same rows in place of those of before */
        assert_int_equal(store_command_result(store, "k", &queue, result, strlen(result), 1.25, problem, place->list),
                         CORUN_OK);
        assert_int_equal(state_of(place, store, "k"), STORE_FINISHED);
        assert_int_equal(count_rows(store, "SELECT count(*) FROM queues"), 1);
        assert_int_equal(count_rows(store, "SELECT count(*) FROM queue_kernels"), 2);
    }
    assert_true(store_seconds(store, "k") == 1.25);
    assert_int_equal(count_rows(store, "SELECT count(*) FROM queues WHERE makespan_seconds = 0.5 AND throughput = 10 "
                                       "AND utilisation = 0.5 AND copy_overlap IS NULL AND plans IS NULL"),
                     1);
    assert_int_equal(count_rows(store, "SELECT count(*) FROM queue_kernels WHERE kernel = 'a' AND throughput = 6 AND "
                                       "mean_response_seconds = 0.02 AND p99_response_seconds IS NULL"),
                     1);
    store_close(store);
}

static void a_file_that_goes_away_is_noticed(void **state)
{
    struct place *place = *state;
    char moved[128];
    snprintf(moved, sizeof moved, "%s/moved.db", place->directory);
    for (int replaced = 0; replaced < 2; replaced++) {
        struct store *store = open_store(place, place->first);
        put(place, store, "k");
        assert_int_equal(replaced ? rename(place->first, moved) : unlink(place->first), 0);
        struct store *other = replaced ? open_store(place, place->first) : NULL;
        char problem[STORE_PROBLEM_BYTES];
        assert_int_equal(store_result(store, "l", &item, GOOD, strlen(GOOD), problem, place->list), CORUN_FILE);
        assert_non_null(strstr(last_message(place), "deleted, renamed or replaced"));
        assert_int_equal(store_failure(store, "l", &item, "why", false, 1, place->list), CORUN_FILE);
        store_close(store);
        store_close(other);
    }
}

static void names_that_sqlite_would_forget(void **state)
{
    struct place *place = *state;
    struct store *store;
    assert_int_equal(store_open("", STORE_SHARED, place->list, &store), CORUN_FILE);
    assert_int_equal(store_open(":memory:", STORE_SHARED, place->list, &store), CORUN_FILE);
    assert_null(store);
}

static void names_that_sqlite_would_take_apart(void **state)
{
    static const char name[] = "file:results.db?mode=memory";
    struct place *place = *state;
    struct store *store;
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(before >= 0);
    assert_int_equal(chdir(place->directory), 0);
    assert_int_equal(store_open(name, STORE_SHARED, place->list, &store), CORUN_OK);
    store_close(store);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(fchdir(before), 0);
    close(before);
}

static void merging_takes_what_is_better(void **state)
{
    struct place *place = *state;
    struct store *ours = open_store(place, place->first), *theirs = open_store(place, place->second);
    static const struct {
        const char *key, *ours, *theirs;
        enum store_state then;
    } rows[] = {
        {"a", "", "finished", STORE_FINISHED},
        {"b", "finished", "", STORE_FINISHED},
        {"c", "failed", "finished", STORE_FINISHED},
        {"d", "finished", "failed", STORE_FINISHED},
        {"e", "lost", "finished", STORE_FINISHED},
        {"f", "", "failed", STORE_FAILED},
        {"g", "", "lost", STORE_LOST},
        {"h", "finished", "finished", STORE_FINISHED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int side = 0; side < 2; side++) {
            const char *word = side ? rows[i].theirs : rows[i].ours;
            if (!strcmp(word, "finished"))
                put(place, side ? theirs : ours, rows[i].key);
            else if (*word)
                put_failure(place, side ? theirs : ours, rows[i].key, !strcmp(word, "lost"));
        }
    }
    store_close(theirs);
    uint64_t taken;
    bool over;
    assert_int_equal(store_merge(ours, place->second, place->list, &taken, &over), CORUN_OK);
    assert_int_equal(taken, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(state_of(place, ours, rows[i].key), rows[i].then);
    assert_true(store_seconds(ours, "a") == 1.5);
    assert_int_equal(store_merge(ours, place->second, place->list, &taken, &over), CORUN_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(store_merge(ours, place->first, place->list, &taken, &over), CORUN_FILE);
    assert_non_null(strstr(last_message(place), "into itself"));
    assert_int_equal(store_merge(ours, "/no/such/file.db", place->list, &taken, &over), CORUN_FILE);
    store_close(ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finished_ones_stay, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_result_is_told, begin, end),
        cmocka_unit_test_setup_teardown(results_of_other_commands_have_rows, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_goes_away_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(names_that_sqlite_would_forget, begin, end),
        cmocka_unit_test_setup_teardown(names_that_sqlite_would_take_apart, begin, end),
        cmocka_unit_test_setup_teardown(merging_takes_what_is_better, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
