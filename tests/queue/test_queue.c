/* SPDX-License-Identifier: MIT */
/* The ready queue under schedulers of the tests: what is handed out, when the scheduler is asked, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "queue/queue.h"

#include <string.h>

static const struct corun_queue_device device = {.name = "by hand",
                                                 .clock_khz = 1000000,
                                                 .core_khz = 1000000,
                                                 .sm_count = 2,
                                                 .schedulers_per_sm = 1,
                                                 .issue_rate = 1};
static const struct corun_queue_profile profile = {.tbs = 10, .tbs_per_sm = 4};

/* The scheduler does what the test has written down: a plan for each call. */
struct script {
    const struct corun_queue_plan *plans;
    uint32_t count, next, events[16];
};

static struct script *script; /* of the running test */

static enum corun_status scripted_plan(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    (void)state;
    assert_true(script->next < script->count);
    script->events[script->next] = view->events;
    *plan = script->plans[script->next++];
    return CORUN_OK;
}

static const struct corun_queue_scheduler scripted = {
    .version = CORUN_QUEUE_VERSION, .name = "scripted", .plan = scripted_plan};

static struct queue *open_queue(const struct corun_queue_scheduler *scheduler, struct corun_diagnostics *list)
{
    struct queue *queue;
    uint32_t kind;
    struct queue_settings settings = {.scheduler = scheduler, .device = &device};
    assert_int_equal(queue_create(&settings, list, &queue), CORUN_OK);
    assert_int_equal(queue_kind(queue, "first", &profile, &kind), CORUN_OK);
    assert_int_equal(kind, 0);
    assert_int_equal(queue_kind(queue, "second", &profile, &kind), CORUN_OK);
    assert_int_equal(kind, 1);
    return queue;
}

static uint32_t ready(struct queue *queue, uint64_t now, uint32_t kind, uint32_t tbs)
{
    uint32_t launch;
    assert_int_equal(queue_ready(queue, now, kind, 0, tbs, now, NULL, &launch), CORUN_OK);
    return launch;
}

static struct queue_slice expect(struct queue *queue, uint64_t now, uint32_t launch, uint32_t first, uint32_t tbs)
{
    struct queue_slice slice;
    bool any;
    assert_int_equal(queue_next(queue, now, &slice, &any), CORUN_OK);
    assert_true(any);
    assert_int_equal(slice.launch, launch);
    assert_int_equal(slice.first, first);
    assert_int_equal(slice.tbs, tbs);
    return slice;
}

static void expect_none(struct queue *queue, uint64_t now)
{
    struct queue_slice slice;
    bool any;
    assert_int_equal(queue_next(queue, now, &slice, &any), CORUN_OK);
    assert_false(any);
}

static void end(struct queue *queue, uint64_t now, struct queue_slice slice, bool launch_too)
{
    bool ended;
    queue_end(queue, now, &slice, &ended);
    assert_int_equal(ended, launch_too);
}

/* Slices of three of ten thread blocks, six in flight: two at once, then one for each that ends; the last one is a single thread block. */
static void test_slices(void **unused)
{
    (void)unused;
    const struct corun_queue_plan plans[] = {
        {.grant_count = 1, .grants = {{.launch = 0, .slice_tbs = 3, .in_flight_tbs = 6}}}};
    script = &(struct script){.plans = plans, .count = 1};
    struct queue *queue = open_queue(&scripted, NULL);
    expect_none(queue, 0);
    uint32_t launch = ready(queue, 5, 0, 10);
    struct queue_slice a = expect(queue, 5, launch, 0, 3), b = expect(queue, 5, launch, 3, 3);
    assert_int_equal(a.strand, b.strand);
    expect_none(queue, 5);
    end(queue, 7, b, false); /* ends may come in any order */
    struct queue_slice c = expect(queue, 7, launch, 6, 3);
    assert_false(c.last);
    expect_none(queue, 7);
    end(queue, 9, a, false);
    struct queue_slice d = expect(queue, 9, launch, 9, 1);
    assert_true(d.last);
    assert_int_equal(queue_view(queue)->pending, 0);
    end(queue, 10, c, false);
    end(queue, 11, d, true);
    expect_none(queue, 11);
    assert_int_equal(ready(queue, 12, 1, 1), launch); /* its index is given to the next one */
    queue_destroy(queue);
}

/* Slices of two, four in flight, on a machine that begins slices ahead: a third one, until one has ended; never the last one. */
static void test_ahead(void **unused)
{
    (void)unused;
    const struct corun_queue_plan plans[] = {
        {.grant_count = 1, .grants = {{.launch = 0, .slice_tbs = 2, .in_flight_tbs = 4}}}};
    struct queue *queue;
    struct queue_settings settings = {.scheduler = &scripted, .device = &device, .ahead = true};
    script = &(struct script){.plans = plans, .count = 1};
    assert_int_equal(queue_create(&settings, NULL, &queue), CORUN_OK);
    assert_int_equal(queue_kind(queue, "first", &profile, &(uint32_t){0}), CORUN_OK);
    uint32_t launch = ready(queue, 0, 0, 9);
    struct queue_slice a = expect(queue, 0, launch, 0, 2), b = expect(queue, 0, launch, 2, 2),
                       c = expect(queue, 0, launch, 4, 2);
    assert_false(a.behind || b.behind);
    assert_true(c.behind);
    expect_none(queue, 0);
    end(queue, 1, a, false);
    struct queue_slice d = expect(queue, 1, launch, 6, 2);
    assert_true(d.behind);
    expect_none(queue, 1); /* the last one ends the plan: it has its own turn */
    end(queue, 2, b, false);
    expect_none(queue, 2);
    end(queue, 3, c, false);
    struct queue_slice e = expect(queue, 3, launch, 8, 1);
    assert_true(e.last && !e.behind);
    end(queue, 4, d, false);
    end(queue, 5, e, true);
    queue_destroy(queue);
}

/* Two kinds side by side until one is exhausted; the other one keeps its strand, and its slices continue where they were. */
static void test_until_exhausted(void **unused)
{
    (void)unused;
    const struct corun_queue_plan plans[] = {{.grant_count = 2,
                                              .grants = {{.launch = 0, .slice_tbs = 4, .in_flight_tbs = 4},
                                                         {.launch = 1, .slice_tbs = 2, .in_flight_tbs = 2}},
                                              .until = CORUN_QUEUE_EXHAUSTED},
                                             {.grant_count = 2,
                                              .grants = {{.launch = 2, .slice_tbs = 5, .in_flight_tbs = 5},
                                                         {.launch = 1, .slice_tbs = 3, .in_flight_tbs = 3}},
                                              .until = CORUN_QUEUE_EXHAUSTED}};
    script = &(struct script){.plans = plans, .count = 2};
    struct queue *queue = open_queue(&scripted, NULL);
    ready(queue, 0, 0, 4);
    ready(queue, 0, 1, 6);
    ready(queue, 0, 0, 9);
    struct queue_slice a = expect(queue, 0, 0, 0, 4);
    /* the first launch is exhausted: the plan ends before its second grant is obeyed */
    struct queue_slice c = expect(queue, 0, 2, 0, 5), b = expect(queue, 0, 1, 0, 3);
    assert_int_equal(script->events[1], CORUN_QUEUE_EXHAUSTED);
    assert_int_equal(c.plan, 2);
    assert_true(a.strand != b.strand && b.strand != c.strand);
    end(queue, 3, b, false);
    struct queue_slice d = expect(queue, 3, 1, 3, 3); /* it is exhausted, too */
    assert_int_equal(d.strand, b.strand);
    script->plans = &(const struct corun_queue_plan){.grant_count = 1, .grants = {{.launch = 2, .slice_tbs = 9}}};
    script->next = 0;
    struct queue_slice rest = expect(queue, 3, 2, 5, 4);
    assert_int_equal(rest.strand, c.strand);
    end(queue, 4, a, true);
    end(queue, 4, c, false);
    end(queue, 4, rest, true);
    end(queue, 4, d, true);
    expect_none(queue, 4);
    queue_destroy(queue);
}

/* Events of one moment make one call, and only those that the plan names. */
static void test_events(void **unused)
{
    (void)unused;
    const struct corun_queue_plan one = {
        .grant_count = 1, .grants = {{.launch = 0, .slice_tbs = 1, .in_flight_tbs = 1}}, .until = CORUN_QUEUE_NEW_KIND};
    const struct corun_queue_plan plans[] = {one, one};
    script = &(struct script){.plans = plans, .count = 2};
    struct queue *queue = open_queue(&scripted, NULL);
    ready(queue, 0, 0, 3);
    struct queue_slice a = expect(queue, 0, 0, 0, 1);
    assert_int_equal(script->events[0], CORUN_QUEUE_READY | CORUN_QUEUE_NEW_KIND);
    ready(queue, 1, 0, 3);
    expect_none(queue, 1);
    assert_int_equal(script->next, 1);
    ready(queue, 2, 1, 3);
    ready(queue, 2, 1, 3);
    end(queue, 2, a, false);
    expect(queue, 2, 0, 1, 1);
    assert_int_equal(script->next, 2);
    assert_int_equal(script->events[1], CORUN_QUEUE_READY | CORUN_QUEUE_NEW_KIND | CORUN_QUEUE_SLICE_END);
    queue_destroy(queue);
}

static void test_refusals(void **unused)
{
    (void)unused;
    static const struct {
        struct corun_queue_plan plan;
        const char *says;
    } rows[] = {
        {{.grant_count = 0}, "no grants"},
        {{.grant_count = 1, .grants = {{.launch = 7}}}, "launch 7, which is not pending"},
        {{.grant_count = 2, .grants = {{.launch = 0}, {.launch = 0}}}, "another grant has already"},
        {{.grant_count = 1, .grants = {{.launch = 0, .slice_tbs = 4, .in_flight_tbs = 3}}}, "never fits 3 in flight"},
        {{.grant_count = 1, .grants = {{.launch = 0, .in_flight_tbs = 3}}}, "all that is left at once"},
        {{.grant_count = CORUN_QUEUE_MAX_GRANTS + 1}, "more than 16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        script = &(struct script){.plans = &rows[i].plan, .count = 1};
        struct queue *queue = open_queue(&scripted, list);
        struct queue_slice slice;
        bool any;
        ready(queue, 0, 0, 3);
        assert_int_equal(queue_next(queue, 0, &slice, &any), CORUN_POLICY);
        assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "scheduler scripted"));
        assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, rows[i].says));
        queue_destroy(queue);
        corun_diagnostics_destroy(list);
    }
    struct corun_queue_scheduler old = scripted;
    struct queue *queue;
    old.version++;
    assert_int_equal(queue_create(&(struct queue_settings){.scheduler = &old, .device = &device}, NULL, &queue),
                     CORUN_POLICY);
    old.version--;
    old.needs_measured = true;
    assert_int_equal(queue_create(&(struct queue_settings){.scheduler = &old, .device = &device}, NULL, &queue),
                     CORUN_ARGUMENT);
}

static void test_sequential(void **unused)
{
    (void)unused;
    struct queue *queue = open_queue(corun_queue_scheduler_find("sequential"), NULL);
    ready(queue, 0, 1, 7);
    ready(queue, 0, 0, 9);
    struct queue_slice a = expect(queue, 0, 0, 0, 7);
    expect_none(queue, 0);
    end(queue, 8, a, true);
    struct queue_slice b = expect(queue, 8, 1, 0, 9);
    ready(queue, 9, 0, 2);
    expect_none(queue, 9);
    end(queue, 10, b, true);
    expect(queue, 10, 0, 0, 2);
    queue_destroy(queue);
}

/* Slices of 4 thread blocks, two in flight; the next launch begins when the first has ended. */
static void test_slices_of_a_size(void **unused)
{
    (void)unused;
    const double values[] = {4, 2};
    struct queue *queue;
    uint32_t kind;
    struct queue_settings settings = {
        .scheduler = corun_queue_scheduler_find("slices"), .device = &device, .parameters = values};
    assert_int_equal(queue_create(&settings, NULL, &queue), CORUN_OK);
    assert_int_equal(queue_kind(queue, "first", &profile, &kind), CORUN_OK);
    ready(queue, 0, 0, 10);
    ready(queue, 0, 0, 3);
    struct queue_slice a = expect(queue, 0, 0, 0, 4), b = expect(queue, 0, 0, 4, 4);
    expect_none(queue, 0);
    end(queue, 5, b, false);
    struct queue_slice c = expect(queue, 5, 0, 8, 2);
    expect_none(queue, 5);
    end(queue, 6, a, false);
    expect_none(queue, 6);
    end(queue, 7, c, true);
    expect(queue, 7, 1, 0, 3);
    queue_destroy(queue);
    const double none[] = {0, 1};
    settings.parameters = none;
    assert_int_equal(queue_create(&settings, NULL, &queue), CORUN_ARGUMENT);
}

/* Two streams: the third launch follows when one of the first two has ended. */
static void test_base(void **unused)
{
    (void)unused;
    const double streams[] = {2};
    struct queue *queue;
    uint32_t kind;
    struct queue_settings settings = {
        .scheduler = corun_queue_scheduler_find("base"), .device = &device, .parameters = streams};
    assert_int_equal(queue_create(&settings, NULL, &queue), CORUN_OK);
    assert_int_equal(queue_kind(queue, "first", &profile, &kind), CORUN_OK);
    for (uint32_t i = 0; i < 3; i++)
        ready(queue, 0, 0, 10 + i);
    struct queue_slice a = expect(queue, 0, 0, 0, 10), b = expect(queue, 0, 1, 0, 11);
    assert_true(a.strand != b.strand);
    expect_none(queue, 0);
    end(queue, 5, b, true);
    struct queue_slice c = expect(queue, 5, 2, 0, 12);
    assert_int_equal(c.strand, b.strand);
    queue_destroy(queue);
    const double none[] = {0};
    settings.parameters = none;
    assert_int_equal(queue_create(&settings, NULL, &queue), CORUN_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_until_exhausted),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_slices_of_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
