/* SPDX-License-Identifier: MIT */
/* Reports of programs: what is read, and what is refused. */
#include "profile/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char head[] =
    "{\"version\": 1, \"program\": \"p\", \"what\": \"w\", \"size_of\": \"frames\", \"size\": 3, "
    "\"mean_size\": 4, \"kind\": \"batch\", \"threads\": 1, \"seed\": 1, \"queries\": ";

struct reading {
    struct arena *arena;
    struct corun_diagnostics *list;
    struct profile_report report;
};

static enum corun_status read_queries(struct reading *reading, const char *queries)
{
    char text[2000];
    snprintf(text, sizeof text, "%s%s}", head, queries);
    reading->arena = arena_create();
    reading->list = corun_diagnostics_create();
    return profile_report_parse("p.json", text, strlen(text), reading->arena, reading->list, &reading->report);
}

static void end(struct reading *reading)
{
    arena_destroy(reading->arena);
    corun_diagnostics_destroy(reading->list);
}

static void a_report_is_read(void **state)
{
    (void)state;
    struct reading reading;
    assert_int_equal(
        read_queries(&reading, "[{\"wall_ns\": 100, \"serial_ns\": 7, \"phases\": [{\"name\": \"a\", \"serial_ns\": 2, "
                               "\"tasks_ns\": [5, 6], \"needs\": [[1, 0]]}]}, {\"wall_ns\": 0, \"serial_ns\": 0, "
                               "\"phases\": []}]"),
        CORUN_OK);
    const struct profile_report *report = &reading.report;
    assert_string_equal(report->program, "p");
    assert_string_equal(report->size_of, "frames");
    assert_true(report->batch);
    assert_int_equal(report->size, 3);
    assert_int_equal(report->mean_size, 4);
    assert_int_equal(report->query_count, 2);
    assert_int_equal(report->queries[0].wall_ns, 100);
    assert_int_equal(report->queries[0].phases[0].task_ns[1], 6);
    assert_int_equal(report->queries[0].phases[0].needs[0].task, 1);
    assert_int_equal(profile_query_work(&report->queries[0]), 20);
    assert_int_equal(report->queries[1].phase_count, 0);
    end(&reading);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"[", "p.json"},
        {"3", "`queries`"},
        {"[{\"serial_ns\": 0, \"phases\": []}]", "`wall_ns`"},
        {"[{\"wall_ns\": -1, \"serial_ns\": 0, \"phases\": []}]", "`wall_ns`"},
        {"[{\"wall_ns\": 1, \"serial_ns\": 1e3, \"phases\": []}]", "`serial_ns`"},
        {"[{\"wall_ns\": 1, \"serial_ns\": 9000000000000000, \"phases\": []}]", "`serial_ns`"},
        {"[{\"wall_ns\": 1, \"serial_ns\": 1, \"phases\": [{\"name\": \"a\", \"serial_ns\": 1, \"tasks_ns\": [\"x\"], "
         "\"needs\": []}]}]",
         "`tasks_ns`"},
        {"[{\"wall_ns\": 1, \"serial_ns\": 1, \"phases\": [{\"name\": \"a\", \"serial_ns\": 1, \"tasks_ns\": [1, 1], "
         "\"needs\": [[0, 1]]}]}]",
         "`needs`"},
        {"[{\"wall_ns\": 1, \"serial_ns\": 1, \"phases\": [{\"name\": \"a\", \"serial_ns\": 1, \"tasks_ns\": [1, 1], "
         "\"needs\": [[2, 1]]}]}]",
         "`needs`"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reading reading;
        assert_int_equal(read_queries(&reading, wrong[i][0]), CORUN_SYNTAX);
        assert_int_equal(corun_diagnostics_count(reading.list), 1);
        const struct corun_diagnostic *found = corun_diagnostics_get(reading.list, 0);
        assert_string_equal(found->place.file, "p.json");
        if (i)
            assert_non_null(strstr(found->message, wrong[i][1]));
        end(&reading);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_report_is_read), cmocka_unit_test(what_cannot_be_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
