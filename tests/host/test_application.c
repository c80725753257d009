/* SPDX-License-Identifier: MIT */
/* Descriptions of applications: what is read, and what is refused, with its place. */
#include "host/stage.h"

static const char whole[] = "application: regex\n"
                            "kind: service\n"
                            "threads: 4\n"
                            "unit: sentences\n"
                            "sizes: {table: [[10, 3], [20, 1]]}\n"
                            "instructions: [[10, 1M], [20, 3M]]\n"
                            "cycles_per_instruction: 0.5\n"
                            "overlap: 2\n"
                            "writebacks: 0.25\n"
                            "speedup:\n"
                            "  - {size: 10, cores: [1, 1.5]}\n"
                            "  - {size: 20, cores: [1, 2, 3, 4, 5]}\n"
                            "misses:\n"
                            "  - {threads: 1, size: 10, points: [[1K, 10], [3K, 4]]}\n"
                            "  - {threads: 4, size: 10, points: [[1K, 20], [3K, 8]]}\n"
                            "  - {threads: 1, size: 20, points: [[1K, 30]]}\n"
                            "  - {threads: 4, size: 20, points: [[1K, 30]]}\n";

static void everything_is_read(void **state)
{
    (void)state;
    struct host_application *application = stage_application(whole);
    assert_string_equal(application->name, "regex");
    assert_string_equal(application->unit, "sentences");
    assert_string_equal(application->summary, "");
    assert_int_equal(application->kind, CORUN_HOST_SERVICE);
    assert_int_equal(application->threads, 4);
    assert_true(application->sizes.table.points[0].y == 0.75);
    assert_true(application->sizes.table.points[1].y == 1);
    host_application_destroy(application);
}

static void curves_are_linear_between_their_points(void **state)
{
    (void)state;
    struct host_application *application = stage_application(whole);
    /* Instructions extend beyond both ends. */
    assert_true(host_application_instructions(application, 10) == 1e6);
    assert_true(host_application_instructions(application, 15) == 2e6);
    assert_true(host_application_instructions(application, 30) == 5e6);
    assert_true(host_application_instructions(application, 0) == 1); /* the line says -1e6 */
    /* Speed on cores, between rows, and beyond them. */
    assert_true(host_application_speedup(application, 10, 1) == 1);
    assert_true(host_application_speedup(application, 10, 1.5) == 1.25);
    assert_true(host_application_speedup(application, 10, 3) == 1.5);
    assert_true(host_application_speedup(application, 15, 2) == 1.75);
    assert_true(host_application_speedup(application, 99, 12) == 4); /* of 4 threads */
    assert_true(host_application_speedup(application, 5, 0.25) == 0.25);
    assert_true(host_application_speedup(application, 5, 0) == 0);
    /* Misses by bytes, threads and sizes. */
    assert_true(host_application_misses(application, 10, 1, 2048) == 7);
    assert_true(host_application_misses(application, 10, 1, 1) == 10);
    assert_true(host_application_misses(application, 10, 1, 1e9) == 4);
    assert_true(host_application_misses(application, 10, 2.5, 2048) == 10.5);
    assert_true(host_application_misses(application, 15, 1, 2048) == 18.5);
    assert_true(host_application_misses(application, 99, 99, 2048) == 30);
    host_application_destroy(application);
}

/* Amdahl: a tenth of the work in one task, the rest in tasks that divide evenly among 1 to 12 cores. */
static void stages_give_the_speed_up(void **state)
{
    (void)state;
    struct host_application *application =
        stage_application(STAGE_SERVICE("12", "{fixed: 1}", "stages: [[1, 1], [9, 27720]]"));
    for (int cores = 1; cores <= 12; cores++)
        assert_true(fabs(host_application_speedup(application, 1, cores) - 1 / (0.1 + 0.9 / cores)) < 1e-12);
    host_application_destroy(application);
    /* Seven equal tasks: four rounds on two cores, three on three, one on seven and more. */
    application = stage_application(STAGE_SERVICE("12", "{fixed: 1}", "stages: [[1, 7]]"));
    assert_true(fabs(host_application_speedup(application, 1, 2) - 7.0 / 4) < 1e-12);
    assert_true(fabs(host_application_speedup(application, 1, 3) - 7.0 / 3) < 1e-12);
    assert_true(fabs(host_application_speedup(application, 1, 12) - 7) < 1e-12);
    host_application_destroy(application);
}

/* {what is replaced, by what, message, line} */
static const struct {
    const char *from, *to, *message;
    uint32_t line;
} mistakes[] = {
    {"kind: service", "kind: server", "an application is a service or batch, not 'server'", 2},
    {"regex", "re/gex", "a name is 1 to 64 letters, digits, -, _ or .", 1},
    {"threads: 4", "threads: 0", "'0' is no number from 1 to 1024 for 'threads'", 3},
    {"overlap: 2", "overlap: 0.5", "'0.5' is not between 1 and 1000", 8},
    {"overlap: 2", "overlaps: 2", "unknown key 'overlaps'; did you mean 'overlap'?", 8},
    {"[[10, 3], [20, 1]]", "[[10, 0], [20, 0]]", "all weights are 0", 5},
    {"[[10, 3], [20, 1]]", "[[10, 3], [5, 1]]", "[size, weight]: the first number of each pair is above the one before",
     5},
    {"{table:", "{tables:", "unknown key 'tables'; did you mean 'table'?", 5},
    {"[[10, 1M], [20, 3M]]", "[[10, 1M], 3]", "expected a pair, [size, instructions]", 6},
    {"[1, 1.5]", "[2, 3]", "the speed-up on one core is 1", 11},
    {"size: 20, cores", "size: 5, cores", "the size of each row is above the one before", 12},
    {"{size: 20, cores: [1, 2, 3, 4, 5]}", "{cores: [1, 2]}", "the key 'size' is missing", 12},
    {"  - {threads: 4, size: 20, points: [[1K, 30]]}\n", "", "there are 3 curves for 2 numbers of threads and 2 sizes",
     14},
    {"{threads: 4, size: 20,", "{threads: 1, size: 20,", "there are two curves for the same threads and size", 17},
    {"[3K, 4]", "[1K, 4]",
     "[bytes, misses of 1000 instructions]: the first number of each pair is above the one before", 14},
    {"[1K, 10]", "[1K, 1001]", "'1001' is not between 0 and 1000", 14},
    {"writebacks: 0.25", "stages: [[1, 1]]", "an application has either speedup or stages", 1},
};

static char *replaced(const char *from, const char *to)
{
    const char *at = strstr(whole, from);
    assert_non_null(at);
    char *text = malloc(sizeof whole + strlen(to));
    assert_non_null(text);
    sprintf(text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    return text;
}

static void mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct host_application *application;
        char *text = replaced(mistakes[i].from, mistakes[i].to);
        assert_int_equal(host_application_parse("a.yaml", text, strlen(text), list, &application), CORUN_SYNTAX);
        assert_null(application);
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(list, 0);
        assert_string_equal(diagnostic->message, mistakes[i].message);
        assert_int_equal(diagnostic->place.line, mistakes[i].line);
        free(text);
        corun_diagnostics_destroy(list);
    }
}

static void a_batch_program_has_no_sizes(void **state)
{
    (void)state;
    struct host_application *application =
        stage_application("application: b\nkind: batch\nthreads: 2\ninstructions: 1G\ncycles_per_instruction: 1\n"
                          "overlap: 1\nspeedup: [{cores: [1, 2]}]\nmisses: [{points: [[1K, 1]]}]\n");
    assert_true(host_application_instructions(application, 0) == 1e9);
    assert_int_equal(application->kind, CORUN_HOST_BATCH);
    host_application_destroy(application);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),           cmocka_unit_test(curves_are_linear_between_their_points),
        cmocka_unit_test(stages_give_the_speed_up),     cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(a_batch_program_has_no_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
