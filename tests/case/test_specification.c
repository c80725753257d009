/* SPDX-License-Identifier: MIT */
/* Applications, policies, dimensions and traces as they are written on the command line. */
#include "case/specification.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bench {
    struct arena *arena;
    struct corun_diagnostics *list;
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->arena = arena_create();
    bench->list = corun_diagnostics_create();
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    arena_destroy(bench->arena);
    corun_diagnostics_destroy(bench->list);
    free(bench);
    return 0;
}

static const char *message(const struct bench *bench)
{
    size_t count = corun_diagnostics_count(bench->list);
    assert_true(count >= 1);
    return corun_diagnostics_get(bench->list, count - 1)->message;
}

static void applications(void **state)
{
    struct bench *bench = *state;
    struct corun_case_application application;
    assert_int_equal(specify_application("sgemm", bench->arena, bench->list, &application), CORUN_OK);
    assert_string_equal(application.workload, "sgemm");
    assert_int_equal(application.goal, CORUN_GOAL_NONE);
    assert_int_equal(application.start_cycle, 0);
    assert_int_equal(specify_application("sgemm@small:goal=90%:start=20K", bench->arena, bench->list, &application),
                     CORUN_OK);
    assert_string_equal(application.workload, "sgemm@small");
    assert_int_equal(application.goal, CORUN_GOAL_FRACTION);
    assert_true(application.goal_value == 0.9);
    assert_int_equal(application.start_cycle, 20000);
    assert_int_equal(specify_application("spmv:start=5:goal=ipc=812.5", bench->arena, bench->list, &application),
                     CORUN_OK);
    assert_int_equal(application.goal, CORUN_GOAL_IPC);
    assert_true(application.goal_value == 812.5 && application.start_cycle == 5);
    assert_int_equal(specify_application("./a:b=c/d.yaml@large:goal=ms=1.5", bench->arena, bench->list, &application),
                     CORUN_OK);
    assert_string_equal(application.workload, "./a:b=c/d.yaml@large");
    assert_int_equal(application.goal, CORUN_GOAL_MILLISECONDS);
    assert_true(application.goal_value == 1.5 && application.transfer_milliseconds == 0);
    assert_int_equal(specify_application("sgemm:goal=fps=60,transfer=2.5", bench->arena, bench->list, &application),
                     CORUN_OK);
    assert_string_equal(application.workload, "sgemm");
    assert_int_equal(application.goal, CORUN_GOAL_FRAMES_PER_SECOND);
    assert_true(application.goal_value == 60 && application.transfer_milliseconds == 2.5);
    assert_int_equal(specify_application("sgemm:goal=ms=5,transfer=0:start=3", bench->arena, bench->list, &application),
                     CORUN_OK);
    assert_int_equal(application.goal, CORUN_GOAL_MILLISECONDS);
    assert_true(application.goal_value == 5 && application.start_cycle == 3);
}

/* What belongs to the workload stays with it: NAME@SIZE,parameter=value,... */
static void applications_with_parameters(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *text, *workload;
        double goal;
        uint64_t start;
    } rows[] = {
        {"sgemm@small,m=128", "sgemm@small,m=128", 0, 0},
        {"sgemm@small,m=128,n=1K:goal=90%:start=20K", "sgemm@small,m=128,n=1K", 0.9, 20000},
        {"sgemm@small,goal=1,start=2:start=3:goal=ipc=4", "sgemm@small,goal=1,start=2", 4, 3},
        {"./a:b=c,d.yaml@small,m=1", "./a:b=c,d.yaml@small,m=1", 0, 0},
        {"./a:b=c,d.yaml@small,m=1:start=2:goal=ms=3", "./a:b=c,d.yaml@small,m=1", 3, 2},
        {"./a:b/c.yaml@small,m=1", "./a:b/c.yaml@small,m=1", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct corun_case_application application;
        assert_int_equal(specify_application(rows[i].text, bench->arena, bench->list, &application), CORUN_OK);
        assert_string_equal(application.workload, rows[i].workload);
        assert_true(application.goal_value == rows[i].goal && application.start_cycle == rows[i].start);
    }
}

static void wrong_applications(void **state)
{
    struct bench *bench = *state;
    static const char *const texts[] = {"",
                                        ":goal=90%",
                                        "sgemm:goal=",
                                        "sgemm:goal=90",
                                        "sgemm:goal=ipc=",
                                        "sgemm:goal=ipc=-5",
                                        "sgemm:goal=ipc=0",
                                        "sgemm:goal=ipc=1e308G",
                                        "sgemm:goal=0%",
                                        "sgemm:goal=101%",
                                        "sgemm:goal=ms=5%",
                                        "sgemm:goal=fps=0",
                                        "sgemm:goal=fps=60%",
                                        "sgemm:goal=hz=60",
                                        "sgemm:goal=90%,transfer=1",
                                        "sgemm:goal=ipc=5,transfer=1",
                                        "sgemm:goal=ms=5,transfer=",
                                        "sgemm:goal=ms=5,transfer=-1",
                                        "sgemm:goal=ms=5,transfer=1%",
                                        "sgemm:goal=ms=5,transfer=1,transfer=1",
                                        "sgemm:goal=ms=5,start=1",
                                        "sgemm:goal=,transfer=1",
                                        "sgemm:goal=ms=,transfer=1",
                                        "sgemm:start=",
                                        "sgemm:start=-1",
                                        "sgemm:start=x",
                                        "sgemm:90%",
                                        "sgemm:gaol=90%",
                                        "sgemm@small,m=128:gaol=90%",
                                        "sgemm@small:m=128",
                                        "./a.yaml@small,m=128:gaol=90%",
                                        "sgemm:goal=90%:goal=80%",
                                        "sgemm:start=1:start=2",
                                        "sgemm:"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct corun_case_application application;
        corun_diagnostics_clear(bench->list);
        if (specify_application(texts[i], bench->arena, bench->list, &application) != CORUN_USAGE)
            fail_msg("%s was taken", texts[i]);
        assert_int_equal(corun_diagnostics_count(bench->list), 1);
    }
}

static void policies(void **state)
{
    struct bench *bench = *state;
    const struct corun_policy *policy;
    const double *values;
    assert_int_equal(specify_policy("cooperative", bench->arena, bench->list, &policy, &values), CORUN_OK);
    assert_string_equal(policy->name, "cooperative");
    assert_true(values[0] == 1);
    assert_int_equal(specify_policy("cooperative:runs=2K", bench->arena, bench->list, &policy, &values), CORUN_OK);
    assert_true(values[0] == 2000);
    assert_int_equal(specify_policy("left-over", bench->arena, bench->list, &policy, &values), CORUN_OK);
    assert_null(policy);
    assert_null(values);
}

static void wrong_policies(void **state)
{
    struct bench *bench = *state;
    const struct corun_policy *policy;
    const double *values;
    assert_int_equal(specify_policy("evne", bench->arena, bench->list, &policy, &values), CORUN_NOT_FOUND);
    assert_non_null(strstr(message(bench), "did you mean `even`"));
    assert_int_equal(specify_policy("magic", bench->arena, bench->list, &policy, &values), CORUN_NOT_FOUND);
    assert_non_null(strstr(message(bench), "corun list policies"));
    assert_int_equal(specify_policy("", bench->arena, bench->list, &policy, &values), CORUN_NOT_FOUND);
    assert_int_equal(specify_policy("cooperative:rnus=2", bench->arena, bench->list, &policy, &values), CORUN_ARGUMENT);
    assert_non_null(strstr(message(bench), "did you mean `runs`"));
    static const char *const texts[] = {"cooperative:",         "cooperative:runs",     "cooperative:runs=",
                                        "cooperative:runs=0",   "cooperative:runs=1.5", "cooperative:runs=1e9",
                                        "cooperative:runs=1,,", "cooperative:runs=two", "left-over:runs=1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (specify_policy(texts[i], bench->arena, bench->list, &policy, &values) != CORUN_ARGUMENT)
            fail_msg("%s was taken", texts[i]);
    }
}

static void choices_by_name(void **state)
{
    struct bench *bench = *state;
    const struct corun_policy *policy;
    const double *values;
    assert_int_equal(specify_policy("even:exclusive=off", bench->arena, bench->list, &policy, &values), CORUN_OK);
    assert_true(values[0] == 0);
    assert_int_equal(specify_policy("even:exclusive=on", bench->arena, bench->list, &policy, &values), CORUN_OK);
    assert_true(values[0] == 1);
    static const char *const texts[] = {"even:exclusive=0", "even:exclusive=", "even:exclusive=off|on",
                                        "even:exclusive=of", "even:exclusive=onn"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (specify_policy(texts[i], bench->arena, bench->list, &policy, &values) != CORUN_ARGUMENT)
            fail_msg("%s was taken", texts[i]);
        assert_non_null(strstr(message(bench), "is one of off|on, not `"));
    }
}

static void dimensions(void **state)
{
    struct bench *bench = *state;
    struct corun_dim3 size;
    assert_int_equal(specify_dimensions("4", "--grid", bench->list, &size), CORUN_OK);
    assert_true(size.x == 4 && size.y == 1 && size.z == 1);
    assert_int_equal(specify_dimensions("1K,2,3", "--grid", bench->list, &size), CORUN_OK);
    assert_true(size.x == 1000 && size.y == 2 && size.z == 3);
    static const char *const texts[] = {"", "0", "1,0", "1,2,3,4", "1,", "x", "-1", "4294967296", "1 ,2"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (specify_dimensions(texts[i], "--grid", bench->list, &size) != CORUN_USAGE)
            fail_msg("%s was taken", texts[i]);
        assert_non_null(strstr(message(bench), "--grid"));
    }
}

static void traces(void **state)
{
    struct bench *bench = *state;
    const char *file;
    uint64_t first, last;
    assert_int_equal(specify_trace("out.txt", "--trace", bench->arena, bench->list, &file, &first, &last), CORUN_OK);
    assert_string_equal(file, "out.txt");
    assert_true(first == 0 && last == UINT64_MAX);
    assert_int_equal(specify_trace("a:b.txt:1K-2K", "--trace", bench->arena, bench->list, &file, &first, &last),
                     CORUN_OK);
    assert_string_equal(file, "a:b.txt");
    assert_true(first == 1000 && last == 2000);
    assert_int_equal(specify_trace("out:9-5", "--trace", bench->arena, bench->list, &file, &first, &last), CORUN_USAGE);
    assert_int_equal(specify_trace(":1-5", "--trace", bench->arena, bench->list, &file, &first, &last), CORUN_USAGE);
    assert_int_equal(specify_trace("", "--trace", bench->arena, bench->list, &file, &first, &last), CORUN_USAGE);
}

int main(void)
{
#define WITH_LISTS(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH_LISTS(applications),       WITH_LISTS(applications_with_parameters),
        WITH_LISTS(wrong_applications), WITH_LISTS(policies),
        WITH_LISTS(wrong_policies),     WITH_LISTS(choices_by_name),
        WITH_LISTS(dimensions),         WITH_LISTS(traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
