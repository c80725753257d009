/* SPDX-License-Identifier: MIT */
/* Plans from files and from words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/plan.h"

#include <stdio.h>
#include <string.h>

struct desk {
    struct arena *arena;
    struct corun_diagnostics *list;
    struct plan plan;
};

static int begin(void **state)
{
    static struct desk desk;
    desk.arena = arena_create();
    desk.list = corun_diagnostics_create();
    plan_begin(&desk.plan);
    *state = &desk;
    return 0;
}

static int end(void **state)
{
    struct desk *desk = *state;
    arena_destroy(desk->arena);
    corun_diagnostics_destroy(desk->list);
    return 0;
}

static void expect_words(struct desk *desk, const char *text, const char *joined)
{
    const char *const *words = plan_split(text, desk->arena);
    char all[256] = "";
    assert_int_equal(words != NULL, joined != NULL);
    for (size_t i = 0; words && words[i]; i++) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s|", words[i]);
    }
    if (joined)
        assert_string_equal(all, joined);
}

static void test_words_as_a_shell_takes_them(void **state)
{
    struct desk *desk = *state;
    expect_words(desk, "", "");
    expect_words(desk, "  ", "");
    expect_words(desk, "gmm --serve  --load=0.3", "gmm|--serve|--load=0.3|");
    expect_words(desk, "sh -c 'a \"b\"  c' \"d 'e' \\\"\" f\\ g", "sh|-c|a \"b\"  c|d 'e' \"|f g|");
    expect_words(desk, "a '' b''c", "a||bc|");
    expect_words(desk, "$HOME *", "$HOME|*|");
    expect_words(desk, "a 'b", NULL);
    expect_words(desk, "a \\", "a|\\|");
}

static void test_a_whole_file(void **state)
{
    struct desk *desk = *state;
    static const char text[] = "policy: \"emu:margin=0.3\"\n"
                               "interval: 10ms\n"
                               "duration: 30s\n"
                               "warmup: 2s\n"
                               "cores: 0-1,4\n"
                               "confine: affinity\n"
                               "services:\n"
                               "  - name: gmm\n"
                               "    goal: 150ms\n"
                               "    model: gmm.json\n"
                               "    threads: 2\n"
                               "    command: \"gmm --serve 'a b'\"\n"
                               "  - name: web\n"
                               "    pid: [4711, 4712]\n"
                               "batch:\n"
                               "  - name: canneal\n"
                               "    instances: 4\n"
                               "    alone: 1.5e9\n"
                               "    command: [canneal, --repeat=1000]\n";
    struct plan *plan = &desk->plan;
    if (plan_parse("p.yaml", text, sizeof text - 1, desk->arena, desk->list, plan))
        fail_msg("%s", corun_diagnostics_get(desk->list, 0)->message);
    assert_int_equal(plan_check(plan, desk->list), CORUN_OK);
    assert_string_equal(plan->policy, "emu:margin=0.3");
    assert_int_equal(plan->interval_ns, 10000000);
    assert_int_equal(plan->duration_ns, UINT64_C(30000000000));
    assert_int_equal(plan->warmup_ns, UINT64_C(2000000000));
    assert_true(plan->has_cores);
    assert_int_equal(CPU_COUNT(&plan->cores), 3);
    assert_int_equal(plan->confinement, PLAN_AFFINITY);
    assert_int_equal(plan->tenant_count, 3);
    const struct plan_tenant *gmm = &plan->tenants[0], *web = &plan->tenants[1], *canneal = &plan->tenants[2];
    assert_int_equal(gmm->kind, CORUN_HOST_SERVICE);
    assert_int_equal(gmm->goal_ns, 150000000);
    assert_string_equal(gmm->model, "gmm.json");
    assert_int_equal(gmm->threads, 2);
    assert_string_equal(gmm->command[2], "a b");
    assert_null(gmm->command[3]);
    assert_int_equal(web->pid_count, 2);
    assert_int_equal(web->pids[1], 4712);
    assert_null(web->command);
    assert_int_equal(canneal->kind, CORUN_HOST_BATCH);
    assert_int_equal(canneal->instances, 4);
    assert_true(canneal->alone == 1.5e9);
    assert_string_equal(canneal->command[1], "--repeat=1000");
}

static void test_words_of_a_command_line(void **state)
{
    struct desk *desk = *state;
    struct plan *plan = &desk->plan;
    assert_int_equal(
        plan_add("gmm:goal=150ms,model=a/b.json gmm --serve", CORUN_HOST_SERVICE, desk->arena, desk->list, plan),
        CORUN_OK);
    assert_int_equal(plan_add("mill:pid=4711,pid=4712,instances=2", CORUN_HOST_BATCH, desk->arena, desk->list, plan),
                     CORUN_OK);
    assert_int_equal(plan_add("web", CORUN_HOST_SERVICE, desk->arena, desk->list, plan), CORUN_OK);
    assert_int_equal(plan_check(plan, desk->list), CORUN_OK);
    assert_string_equal(plan->tenants[0].name, "gmm");
    assert_string_equal(plan->tenants[0].model, "a/b.json");
    assert_string_equal(plan->tenants[0].command[0], "gmm");
    assert_int_equal(plan->tenants[1].pid_count, 2);
    assert_null(plan->tenants[1].command);
    assert_null(plan->tenants[2].command);
}

static void expect_wrong(struct desk *desk, const char *words, enum corun_host_kind kind, const char *message)
{
    corun_diagnostics_clear(desk->list);
    assert_int_equal(plan_add(words, kind, desk->arena, desk->list, &desk->plan), CORUN_USAGE);
    if (!strstr(corun_diagnostics_get(desk->list, 0)->message, message))
        fail_msg("%s", corun_diagnostics_get(desk->list, 0)->message);
}

static void test_words_that_are_wrong(void **state)
{
    struct desk *desk = *state;
    expect_wrong(desk, "", CORUN_HOST_SERVICE, "the name of an application has letters");
    expect_wrong(desk, "a/b", CORUN_HOST_SERVICE, "the name of an application has letters");
    expect_wrong(desk, "gmm:goal=soon", CORUN_HOST_SERVICE,
                 "goal is not among goal=TIME, model=FILE, threads=N, pid=N, or its value");
    expect_wrong(desk, "gmm:instances=2", CORUN_HOST_SERVICE, "instances is not among goal=TIME");
    expect_wrong(desk, "mill:goal=1s", CORUN_HOST_BATCH, "goal is not among instances=N, alone=RATE");
    expect_wrong(desk, "mill:instances=0", CORUN_HOST_BATCH, "instances is not among");
    expect_wrong(desk, "mill:pid=1", CORUN_HOST_BATCH, "pid is not among");
    expect_wrong(desk, "mill: x", CORUN_HOST_BATCH, "or its value is none");
    expect_wrong(desk, "mill sh -c 'x", CORUN_HOST_BATCH, "a quote does not end");
}

static void expect_file(struct desk *desk, const char *text, uint32_t line, const char *message)
{
    corun_diagnostics_clear(desk->list);
    plan_begin(&desk->plan);
    enum corun_status status = plan_parse("p.yaml", text, strlen(text), desk->arena, desk->list, &desk->plan);
    assert_int_equal(status, CORUN_SYNTAX);
    assert_int_equal(corun_diagnostics_get(desk->list, 0)->place.line, line);
    if (!strstr(corun_diagnostics_get(desk->list, 0)->message, message))
        fail_msg("%s", corun_diagnostics_get(desk->list, 0)->message);
}

static void test_files_that_are_wrong(void **state)
{
    struct desk *desk = *state;
    expect_file(desk, "polcy: emu\n", 1, "did you mean 'policy'?");
    expect_file(desk, "policy: emu\ninterval: never\n", 2, "'never' is no time");
    expect_file(desk, "cores: 3-1\n", 1, "'3-1' is no list of processors");
    expect_file(desk, "confine: hard\n", 1, "one of any, cpuset, affinity");
    expect_file(desk, "services: gmm\n", 1, "expected a list");
    expect_file(desk, "services:\n  - goal: 1s\n", 2, "the key 'name' is missing");
    expect_file(desk, "services:\n  - name: a b\n", 2, "letters, digits");
    expect_file(desk, "services:\n  - name: a\n    instances: 2\n", 3, "unknown key 'instances'");
    expect_file(desk, "batch:\n  - name: a\n    instances: many\n", 3, "'many' is not among");
    expect_file(desk, "batch:\n  - name: a\n    pid: [x]\n", 3, "no number of a process");
    expect_file(desk, "batch:\n  - name: a\n    command: \"'\"\n", 3, "a quote does not end");
    expect_file(desk, "batch:\n  - name: a\n    command: {a: b}\n", 3, "expected a list");
}

static void test_plans_that_cannot_be(void **state)
{
    struct desk *desk = *state;
    struct plan *plan = &desk->plan;
    assert_int_equal(plan_check(plan, desk->list), CORUN_ARGUMENT);
    plan_add("a", CORUN_HOST_SERVICE, desk->arena, desk->list, plan);
    plan_add("a", CORUN_HOST_BATCH, desk->arena, desk->list, plan);
    assert_int_equal(plan_check(plan, desk->list), CORUN_ARGUMENT);
    assert_string_equal(corun_diagnostics_get(desk->list, 1)->message, "two applications are called a");
    plan_begin(plan);
    plan_add("a:pid=4711 sleep", CORUN_HOST_SERVICE, desk->arena, desk->list, plan);
    assert_int_equal(plan_check(plan, desk->list), CORUN_ARGUMENT);
    assert_string_equal(corun_diagnostics_get(desk->list, 2)->message, "a has a program and process numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_words_as_a_shell_takes_them, begin, end),
        cmocka_unit_test_setup_teardown(test_a_whole_file, begin, end),
        cmocka_unit_test_setup_teardown(test_words_of_a_command_line, begin, end),
        cmocka_unit_test_setup_teardown(test_words_that_are_wrong, begin, end),
        cmocka_unit_test_setup_teardown(test_files_that_are_wrong, begin, end),
        cmocka_unit_test_setup_teardown(test_plans_that_cannot_be, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
