/* SPDX-License-Identifier: MIT */
/* The pool of threads of examples/host: everything runs once, after what it needs; and what it reports. */
#include "tasks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 500, NEEDS = 3 };

struct work {
    atomic_uint ended[COUNT];
    uint32_t earlier[COUNT][NEEDS];
    atomic_uint early; /* tasks that began before what they need had ended */
};

static void one(void *user, uint32_t task)
{
    struct work *work = user;
    for (uint32_t n = 0; n < NEEDS; n++)
        if (work->earlier[task][n] < COUNT && !atomic_load(&work->ended[work->earlier[task][n]]))
            atomic_fetch_add(&work->early, 1);
    atomic_fetch_add(&work->ended[task], 1);
}

static void run_graph(struct tasks *tasks, struct work *work)
{
    memset(work, 0, sizeof *work);
    tasks_begin(tasks, "graph", one, work, COUNT);
    for (uint32_t t = 0; t < COUNT; t++)
        for (uint32_t n = 0; n < NEEDS; n++) {
            uint32_t back = 1 + (t * 7 + n * 13) % 40;
            work->earlier[t][n] = back <= t ? t - back : COUNT;
            if (back <= t)
                tasks_need(tasks, t, t - back);
        }
    tasks_run(tasks);
}

static void every_task_runs_once_after_its_needs(void **state)
{
    (void)state;
    struct work *work = malloc(sizeof *work);
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct tasks *tasks = tasks_create(threads);
        assert_int_equal(tasks_threads(tasks), threads);
        for (uint32_t round = 0; round < 20; round++) {
            run_graph(tasks, work);
            assert_int_equal(work->early, 0);
            for (uint32_t t = 0; t < COUNT; t++)
                assert_int_equal(work->ended[t], 1);
        }
        tasks_destroy(tasks);
    }
    free(work);
}

static void note(void *user, uint32_t task)
{
    uint32_t *order = user;
    order[1 + order[0]++] = task;
}

static void one_thread_takes_the_lowest_number_that_may_begin(void **state)
{
    (void)state;
    uint32_t order[6] = {0};
    struct tasks *tasks = tasks_create(1);
    tasks_begin(tasks, "order", note, order, 5);
    tasks_need(tasks, 4, 3);
    tasks_need(tasks, 1, 0);
    tasks_need(tasks, 3, 1);
    tasks_run(tasks);
    static const uint32_t rising[] = {5, 0, 1, 2, 3, 4}; /* a need that has ended holds nothing back */
    assert_memory_equal(order, rising, sizeof rising);
    order[0] = 0;
    tasks_begin(tasks, "order", note, order, 5); /* needs are of one phase alone */
    tasks_run(tasks);
    assert_memory_equal(order, rising, sizeof rising);
    tasks_destroy(tasks);
}

static void nothing(void *user, uint32_t task)
{
    (void)user;
    (void)task;
}

static void read_report(const struct tasks *tasks, char *text, size_t room)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    tasks_report(tasks, file);
    rewind(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

static void a_query_that_is_run_again_is_one(void **state)
{
    (void)state;
    struct tasks *tasks = tasks_create(2);
    tasks_phase(tasks, "before", nothing, NULL, 3); /* of no query */
    for (uint32_t round = 0; round < 2; round++) {
        tasks_query_begin(tasks, 0);
        tasks_phase(tasks, "first", nothing, NULL, 3);
        tasks_begin(tasks, "second", nothing, NULL, 2);
        tasks_need(tasks, 1, 0);
        tasks_run(tasks);
        tasks_query_end(tasks);
    }
    char text[2000];
    read_report(tasks, text, sizeof text);
    const char *found = strstr(text, "\"phases\"");
    assert_null(strstr(text, "before"));
    assert_non_null(strstr(text, "\"needs\": [[1,0]]"));
    assert_non_null(found);
    assert_null(strstr(found + 1, "\"phases\""));
    assert_null(strstr(strstr(text, "first") + 1, "first"));
    tasks_destroy(tasks);
}

static void wait_a_while(void *context, uint32_t task)
{
    (void)context;
    (void)task;
    usleep(1000);
}

static void hear(void *context, double progress)
{
    double *heard = context; /* how often, the last one, the largest step back */
    heard[0]++;
    heard[2] = heard[1] - progress > heard[2] ? heard[1] - progress : heard[2];
    heard[1] = progress;
}

static void how_far_it_is(void **state)
{
    (void)state;
    double heard[3] = {0};
    struct tasks *tasks = tasks_create(1);
    tasks_tell_progress(tasks, hear, heard);
    tasks_phase(tasks, "without a span", wait_a_while, NULL, 40);
    assert_true(heard[0] == 0);
    tasks_span(tasks, 0, 1, 1);
    tasks_phase(tasks, "all", wait_a_while, NULL, 40);
    assert_true(heard[0] >= 3 && heard[0] <= 40 && heard[1] > 0.5 && heard[1] < 1);
    memset(heard, 0, sizeof heard);
    tasks_span(tasks, 0.5, 0.75, 2);
    tasks_phase(tasks, "first half", wait_a_while, NULL, 20);
    assert_true(heard[1] > 0.5 && heard[1] <= 0.625);
    tasks_phase(tasks, "second half", wait_a_while, NULL, 20);
    assert_true(heard[1] > 0.625 && heard[1] <= 0.75 && heard[2] <= 0);
    double before = heard[0];
    tasks_phase(tasks, "beyond", wait_a_while, NULL, 20);
    assert_true(heard[0] == before);
    tasks_destroy(tasks);
}

static void all_threads_have_numbers(void **state)
{
    (void)state;
    int32_t ids[5];
    struct tasks *tasks = tasks_create(5);
    tasks_thread_ids(tasks, ids);
    assert_int_equal(ids[0], gettid());
    for (uint32_t i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d", ids[i]);
        assert_return_code(access(path, F_OK), errno);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(ids[i], ids[k]);
    }
    tasks_destroy(tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_runs_once_after_its_needs),
                                       cmocka_unit_test(one_thread_takes_the_lowest_number_that_may_begin),
                                       cmocka_unit_test(a_query_that_is_run_again_is_one),
                                       cmocka_unit_test(how_far_it_is), cmocka_unit_test(all_threads_have_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
