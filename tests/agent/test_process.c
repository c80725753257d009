/* SPDX-License-Identifier: MIT */
/* Processes, their threads, where these may run, and what they are counted to do: real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/affinity.h"
#include "agent/counters.h"
#include "child.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void test_a_process_and_its_threads(void **state)
{
    (void)state;
    struct process_id own, child = child_begin(3, false), later;
    process_list threads = {0}, tree = {0};
    assert_true(process_find(getpid(), &own));
    assert_true(process_lives(child));
    assert_true(child.born >= own.born);
    assert_true(process_threads(child.pid, &threads));
    for (size_t i = 0; i < threads.count; i++)
        assert_true(process_has_thread(child.pid, threads.data[i]));
    assert_false(process_has_thread(child.pid, getpid()));
    assert_true(process_descends(child.pid, getpid()));
    assert_true(process_descends(child.pid, child.pid));
    assert_false(process_descends(getpid(), child.pid));
    assert_true(process_tree(getpid(), &tree));
    assert_int_equal(tree.data[0], getpid());
    assert_int_equal(tree.count, 2);
    assert_int_equal(tree.data[1], child.pid);
    later = child;
    later.born++;
    assert_false(process_lives(later)); /* the number is used again */
    kill(child.pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
    assert_false(process_lives(child)); /* nobody has waited for it yet */
    waitpid(child.pid, NULL, 0);
    assert_false(process_lives(child));
    assert_false(process_find(0, &own));
    assert_false(process_find(-1, &own));
    threads.count = 0;
    assert_true(process_threads(child.pid, &threads));
    assert_int_equal(threads.count, 0);
    assert_true(isnan(process_thread_cpu_ns(child.pid, child.pid)));
    vector_free(&threads);
    vector_free(&tree);
}

static void expect_list(const char *text, const char *again)
{
    cpu_set_t cores;
    char room[128];
    assert_true(affinity_parse(text, &cores));
    assert_string_equal(affinity_format(&cores, room, sizeof room), again);
}

static void test_lists_of_processors(void **state)
{
    (void)state;
    cpu_set_t cores;
    char room[8];
    expect_list("0", "0");
    expect_list("0-3,8,10-11", "0-3,8,10-11");
    expect_list("3,2,1,7\n", "1-3,7");
    expect_list("1023", "1023");
    const char *const wrong[] = {"",    "\n",  "a", "1-", "-1", "3-1", "0,", ",0", "1024", "0-99999999999999999999",
                                 "0 1", "0,1;"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(affinity_parse(wrong[i], &cores));
    assert_true(affinity_parse("0,2,4,6,8,10", &cores));
    assert_string_equal(affinity_format(&cores, room, sizeof room), "0,2,4,6");
}

static void test_all_threads_move(void **state)
{
    (void)state;
    cpu_set_t all, one, now;
    struct process_id child = child_begin(5, true);
    process_list threads = {0};
    assert_int_equal(affinity_get_thread(0, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(affinity_set_process(child.pid, &one), 0);
    assert_true(process_threads(child.pid, &threads));
    assert_int_equal(threads.count, 5);
    for (size_t i = 0; i < threads.count; i++) {
        assert_int_equal(affinity_get_thread(threads.data[i], &now), 0);
        assert_true(CPU_EQUAL(&now, &one));
    }
    CPU_ZERO(&one);
    assert_int_equal(affinity_set_process(child.pid, &one), EINVAL);
    vector_free(&threads);
    child_end(child);
    assert_int_equal(affinity_set_process(child.pid, &all), 0); /* nobody is left to be moved */
}

/* The event that is everywhere stands for the one that is not: threads that were there, threads that come. */
static void test_counters(void **state)
{
    (void)state;
    const char *why;
    struct counters counters = {0}, one = {0};
    if (counters_try(COUNTERS_CLOCK, &why)) {
        print_message("skipped: perf events: %s\n", why);
        skip();
    }
    struct process_id child = child_begin(3, true);
    assert_true(isnan(counters_read(&counters)));
    assert_int_equal(counters_add_process(&counters, COUNTERS_CLOCK, child.pid), 0);
    assert_int_equal(counters.files.count, 3);
    assert_int_equal(counters_add_thread(&one, COUNTERS_CLOCK, child.pid), 0);
    double before = process_cpu_ns(child.pid), thread_before = process_thread_cpu_ns(child.pid, child.pid);
    usleep(200000);
    double counted = counters_read(&counters), clock = process_cpu_ns(child.pid) - before;
    double of_thread = counters_read(&one), thread_clock = process_thread_cpu_ns(child.pid, child.pid) - thread_before;
    assert_true(counted > 1e6);
    assert_true(fabs(counted - clock) < 0.2 * clock + 1e7);
    assert_true(fabs(of_thread - thread_clock) < 0.2 * thread_clock + 1e7);
    counters_end(&counters);
    counters_end(&one);
    child_end(child);
    assert_int_equal(counters_add_process(&counters, COUNTERS_CLOCK, child.pid), ESRCH);
    counters_end(&counters);
}

/* Whether instructions can be counted or not, the reason is there. */
static void test_instructions_or_the_reason(void **state)
{
    (void)state;
    const char *why = NULL;
    struct counters counters = {0};
    int error = counters_try(COUNTERS_INSTRUCTIONS, &why);
    assert_non_null(why);
    if (error) {
        print_message("no instructions are counted here: %s\n", why);
        return;
    }
    struct process_id child = child_begin(2, true);
    assert_int_equal(counters_add_process(&counters, COUNTERS_INSTRUCTIONS, child.pid), 0);
    usleep(100000);
    assert_true(counters_read(&counters) > 1e6);
    counters_end(&counters);
    child_end(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_and_its_threads),  cmocka_unit_test(test_lists_of_processors),
        cmocka_unit_test(test_all_threads_move),           cmocka_unit_test(test_counters),
        cmocka_unit_test(test_instructions_or_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
