/* SPDX-License-Identifier: MIT */
/* Workers that write nonsense, too much or nothing end their case and no other. */
#include "campaign/store.h"
#include "corun/campaign.h"
#include "report/json.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static const char ptx[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n"
    ".visible .entry work(.param .u64 data)\n{\n"
    "    .reg .b64 %rd<2>;\n    ld.param.u64 %rd1, [data];\n    st.global.u32 [%rd1], 1;\n    ret;\n}\n";

struct place {
    char directory[64];
    struct corun_diagnostics *list;
    struct corun_campaign *campaign;
    struct corun_campaign_run_request request;
    char results[96];
};

static void write_file(const struct place *place, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    char text[1000], path[128];
    strcpy(place->directory, "/tmp/corun-workers-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    write_file(place, "work.ptx", ptx);
    snprintf(text, sizeof text, "name: campaign\ngpus: [\"%s/configs/gpu/gtx980.yaml\"]\ncycles: 1K\ncases:\n",
             CORUN_SOURCE_DIR);
    for (int i = 0; i < 4; i++) {
        char name[20], description[300];
        snprintf(name, sizeof name, "%d.yaml", i);
        snprintf(description, sizeof description,
                 "name: n%d\nptx: work.ptx\nsizes: {small: {}}\nbuffers: [{name: data, type: u32, count: 32, output: "
                 "true}]\n"
                 "launches: [{kernel: work, grid: 1, block: 32, arguments: [{buffer: data}]}]\n",
                 i);
        write_file(place, name, description);
        snprintf(text + strlen(text), sizeof text - strlen(text), "  - [\"%s/%d.yaml\"]\n", place->directory, i);
    }
    write_file(place, "campaign.yaml", text);
    snprintf(path, sizeof path, "%s/campaign.yaml", place->directory);
    place->list = corun_diagnostics_create();
    assert_int_equal(corun_campaign_load(path, place->list, &place->campaign), CORUN_OK);
    snprintf(place->results, sizeof place->results, "%s/results.db", place->directory);
    place->request = (struct corun_campaign_run_request){.campaign = place->campaign,
                                                         .results = place->results,
                                                         .data_directory = CORUN_SOURCE_DIR "/configs",
                                                         .jobs = 3};
    *state = place;
    return 0;
}

static int end(void **state)
{
    struct place *place = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", place->directory);
    assert_int_equal(system(command), 0);
    corun_campaign_destroy(place->campaign);
    corun_diagnostics_destroy(place->list);
    free(place);
    return 0;
}

/*
 * What each of four workloads' workers writes; isolated and asked for are the same cases here: the policy is left-over.
 */
static enum corun_status write_strangely(const struct corun_case_result *result, FILE *stream)
{
    static const char chunk[1 << 16];
    switch (result->applications[0].name[1]) {
    case '0':
        fputs("{\"applications\": []}", stream);
        return CORUN_OK;
    case '1':
        fputs("no JSON at all", stream);
        return CORUN_OK;
    case '2':
        for (int i = 0; i < 70 * 16; i++)
            fwrite(chunk, 1, sizeof chunk, stream);
        return CORUN_OK;
    default:
        _Exit(3);
    }
}

static const char *const expected[] = {"", "the result is no such JSON as it should be", "its result is longer than",
                                       "the worker ended with status 3 and no result"};

struct told {
    uint32_t count;
    bool seen[4];
};

static bool progress(void *user, const struct corun_campaign_progress *now)
{
    struct told *told = user;
    for (int i = 1; i < 4 && now->failure; i++)
        told->seen[i] = told->seen[i] || strstr(now->failure, expected[i]);
    told->count += now->failure != NULL;
    return true;
}

static void strange_results(void **state)
{
    struct place *place = *state;
    struct told told = {0};
    struct corun_campaign_outcome outcome;
    place->request.write = write_strangely;
    place->request.progress = progress;
    place->request.progress_user = &told;
    assert_int_equal(corun_campaign_run(&place->request, place->list, &outcome), CORUN_OK);
    assert_int_equal(outcome.total, 4);
    assert_int_equal(outcome.finished, 1);
    assert_int_equal(outcome.failed, 3);
    assert_int_equal(told.count, 3); /* every one is told */
    for (int i = 1; i < 4; i++)
        assert_true(told.seen[i]);
    /* No result at all and one that is none are failures of the cases' own; what was too long was lost and runs again. */
    assert_int_equal(corun_campaign_run(&place->request, place->list, &outcome), CORUN_OK);
    assert_int_equal(outcome.found, 1);
    assert_int_equal(outcome.finished, 0);
    assert_int_equal(outcome.failed, 3);
    assert_int_equal(told.count, 4);
}

static enum corun_status write_well(const struct corun_case_result *result, FILE *stream)
{
    (void)result;
    fputs("{\"applications\": []}", stream);
    return CORUN_OK;
}

static void fewer_workers_will_do(void **state)
{
    struct place *place = *state;
    struct corun_campaign_outcome outcome;
    struct rlimit before;
    place->request.write = write_well;
    place->request.jobs = CORUN_CAMPAIGN_MAX_JOBS;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int used = dup(0); /* the lowest that is free */
    assert_true(used >= 0);
    close(used);
    struct rlimit tight = before;
    tight.rlim_cur = (rlim_t)used + 6; /* the results file takes four of them; a worker and its start, two */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    enum corun_status status = corun_campaign_run(&place->request, place->list, &outcome);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(status, CORUN_OK);
    assert_int_equal(outcome.finished, 4);
}

/* A column that the store looks for in a result under a name that the writer of results does not use would be NULL. */
static void every_column_is_filled(void **state)
{
    static const char *const questions[] = {
/* clang-format off */
#define CASE_COLUMN(name, ...) "SELECT count(*), count(" #name ") FROM cases",
#define APPLICATION_COLUMN(name, ...) "SELECT count(*), count(" #name ") FROM applications",
#include "campaign/columns.def"
        /* clang-format on */
    };
    struct place *place = *state;
    struct corun_campaign_outcome outcome;
    sqlite3 *database;
    place->request.write = json_case;
    assert_int_equal(corun_campaign_run(&place->request, place->list, &outcome), CORUN_OK);
    assert_int_equal(outcome.finished, 4);
    assert_int_equal(sqlite3_open(place->results, &database), SQLITE_OK);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(database, questions[i], -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        int without_goals = strstr(questions[i], "(goal_met)") ? 4 : 0;
        if (sqlite3_column_int(statement, 0) != 4 || sqlite3_column_int(statement, 1) + without_goals != 4)
            fail_msg("%s: %d of %d", questions[i], sqlite3_column_int(statement, 1), sqlite3_column_int(statement, 0));
        sqlite3_finalize(statement);
    }
    sqlite3_close(database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(strange_results, begin, end),
        cmocka_unit_test_setup_teardown(every_column_is_filled, begin, end),
        cmocka_unit_test_setup_teardown(fewer_workers_will_do, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
