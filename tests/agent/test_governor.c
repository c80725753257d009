/* SPDX-License-Identifier: MIT */
/* The contract on a host whose time is the test's: which moments come when, what the policy sees, what is obeyed and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/governor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* A host of two cores and four ways that does what it is told, and a policy that writes down what it hears. */
struct stage {
    struct arena *arena;
    struct corun_diagnostics *list;
    struct governor governor;
    struct governor_tenant tenants[2];
    struct governor_setting setting;
    struct corun_host_policy policy;
    uint32_t workers; /* that are free */
    double work[CORUN_HOST_QUERIES], tenant_work, traffic;
    char log[2048];
    uint32_t obeyed;
    /* what the policy does */
    struct corun_host_share share, batch_share;
    bool start, fairness;
    double seen_ipc, seen_tenant_ipc, seen_bandwidth, seen_progress;
    uint64_t seen_interval_ns;
};

static void note(struct stage *stage, const char *text, uint32_t q)
{
    size_t length = strlen(stage->log);
    if (q == CORUN_HOST_NONE)
        snprintf(stage->log + length, sizeof stage->log - length, "%s ", text);
    else
        snprintf(stage->log + length, sizeof stage->log - length, "%s%u ", text, q);
}

struct staged {
    double parameter;
    struct stage stage;
};
static struct staged staged;

static double query_work(void *user, uint32_t q)
{
    return ((struct stage *)user)->work[q];
}

static double tenant_work(void *user, uint32_t a)
{
    return a ? ((struct stage *)user)->tenant_work : 0;
}

static double tenant_traffic(void *user, uint32_t a)
{
    return a ? ((struct stage *)user)->traffic : 0;
}

static bool can_begin(void *user, uint32_t q)
{
    (void)q;
    return ((struct stage *)user)->workers > 0;
}

static void begin(void *user, uint32_t q)
{
    struct stage *stage = user;
    stage->workers--;
    note(stage, "begin", q);
}

static void obey(void *user)
{
    ((struct stage *)user)->obeyed++;
}

static enum corun_status policy_start(void *state, const struct corun_host_view *view, const double *parameters,
                                      struct corun_host_allowances *allowances)
{
    (void)state, (void)view;
    if (!allowances->fairness && parameters[0] < 0)
        allowances->refusal = "dislikes its parameter";
    return parameters[0] < 0 ? CORUN_ARGUMENT : CORUN_OK;
}

static void policy_decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                          struct corun_host_allowances *allowances)
{
    static const char *const words[] = {"arrives", "starts", "looks", "ends", "interval"};
    struct stage *stage = &staged.stage;
    (void)state;
    note(stage, words[moment.event], moment.query);
    if (moment.query != CORUN_HOST_NONE && moment.event != CORUN_HOST_QUERY_ENDS) {
        allowances->start[moment.query] |= stage->start;
        allowances->query[moment.query] = stage->share;
        stage->seen_ipc = view->queries[moment.query].interval_ipc;
        stage->seen_interval_ns = view->queries[moment.query].interval_ns;
        stage->seen_progress = view->queries[moment.query].progress;
    } else if (moment.event == CORUN_HOST_INTERVAL) {
        stage->seen_tenant_ipc = view->applications[1].interval_ipc;
        stage->seen_bandwidth = view->applications[1].interval_bandwidth;
    }
    allowances->application[1] = stage->batch_share;
    if (stage->fairness)
        allowances->fairness = CORUN_HOST_FAIR_APPLICATIONS;
}

static struct stage *stage_begin(uint32_t needs)
{
    staged = (struct staged){0};
    struct stage *stage = &staged.stage;
    stage->arena = arena_create();
    stage->list = corun_diagnostics_create();
    stage->workers = 8;
    stage->start = true;
    stage->tenants[0] =
        (struct governor_tenant){.name = "words", .kind = CORUN_HOST_SERVICE, .goal_ns = 100 * MS, .threads = 2};
    stage->tenants[1] =
        (struct governor_tenant){.name = "mill", .kind = CORUN_HOST_BATCH, .threads = 2, .instances = 3};
    stage->policy = (struct corun_host_policy){.version = CORUN_HOST_POLICY_VERSION,
                                               .name = "staged",
                                               .needs = needs,
                                               .observes = 0xf,
                                               .start = policy_start,
                                               .decide = policy_decide};
    stage->setting =
        (struct governor_setting){.core_count = 2,
                                  .way_count = 4,
                                  .clock_khz = 1000000,
                                  .interval_ns = 20 * MS,
                                  .capabilities = 0x3f & ~(1u << CORUN_HOST_CAN_FAIRNESS),
                                  .observations = 0xf,
                                  .tenants = stage->tenants,
                                  .tenant_count = 2,
                                  .policy = &stage->policy,
                                  .parameters = &staged.parameter,
                                  .host = {query_work, tenant_work, tenant_traffic, can_begin, begin, obey},
                                  .user = stage};
    return stage;
}

static enum corun_status stage_run(struct stage *stage)
{
    return governor_begin(&stage->governor, &stage->setting, 1000 * MS, stage->arena, stage->list);
}

static void stage_end(struct stage *stage)
{
    arena_destroy(stage->arena);
    corun_diagnostics_destroy(stage->list);
}

static uint32_t arrive(struct stage *stage, uint64_t now_ns, uint64_t id)
{
    uint32_t q = governor_free_entry(&stage->governor);
    if (q != CORUN_HOST_NONE)
        assert_int_equal(governor_arrive(&stage->governor, now_ns, q, 0, id, 10, now_ns), CORUN_OK);
    return q;
}

static void expect_log(struct stage *stage, const char *text)
{
    assert_string_equal(stage->log, text);
    stage->log[0] = 0;
}

static void expect_message(struct stage *stage, const char *text)
{
    assert_int_equal(corun_diagnostics_count(stage->list), 1);
    assert_string_equal(corun_diagnostics_get(stage->list, 0)->message, text);
}

static void test_moments_in_their_order(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    struct governor *governor = &stage->governor;
    assert_int_equal(stage_run(stage), CORUN_OK);
    assert_int_equal(stage->obeyed, 1);
    assert_int_equal(governor_next_ns(governor), 1020 * MS);
    stage->share = (struct corun_host_share){1, 2};
    assert_int_equal(arrive(stage, 1005 * MS, 7), 0);
    expect_log(stage, "arrives0 begin0 starts0 ");
    assert_int_equal(governor->common.cores, 1);
    assert_int_equal(governor->common.ways, 2);
    assert_int_equal(governor->queries[0].share.ways, 2);
    assert_int_equal(governor_next_ns(governor), 1020 * MS);
    assert_int_equal(governor_advance(governor, 1020 * MS), CORUN_OK);
    expect_log(stage, "interval ");
    assert_int_equal(governor_next_ns(governor), 1025 * MS);
    stage->work[0] = 3e7;
    governor_progress(governor, 0, 0.25);
    assert_int_equal(governor_advance(governor, 1025 * MS), CORUN_OK);
    expect_log(stage, "looks0 ");
    assert_true(fabs(stage->seen_ipc - 1.5) < 1e-12 && stage->seen_interval_ns == 20 * MS);
    assert_true(stage->seen_progress == 0.25);
    assert_int_equal(governor_end(governor, 1030 * MS, 0), CORUN_OK);
    expect_log(stage, "ends0 ");
    assert_int_equal(governor->common.cores, 2);
    assert_int_equal(governor->view.query_count, 0);
    stage_end(stage);
}

/* A look that is late sees the whole time, and those between are not made up for. */
static void test_late_looks(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    struct governor *governor = &stage->governor;
    assert_int_equal(stage_run(stage), CORUN_OK);
    arrive(stage, 1001 * MS, 1);
    stage->log[0] = 0;
    stage->work[0] = 6e7;
    stage->tenant_work = 7.5e7;
    stage->traffic = 1e6;
    assert_int_equal(governor_advance(governor, 1061 * MS), CORUN_OK);
    expect_log(stage, "looks0 interval ");
    assert_true(fabs(stage->seen_ipc - 1) < 1e-12 && stage->seen_interval_ns == 60 * MS);
    assert_int_equal(governor_next_ns(governor), 1080 * MS);
    stage->tenant_work += 3.8e7;
    stage->traffic += 1.9e7;
    assert_int_equal(governor_advance(governor, 1080 * MS), CORUN_OK);
    expect_log(stage, "interval ");
    assert_true(fabs(stage->seen_tenant_ipc - 2) < 1e-12);
    assert_true(fabs(stage->seen_bandwidth - 1e9) < 1);
    assert_int_equal(governor_next_ns(governor), 1081 * MS);
    stage_end(stage);
}

static void test_queries_wait_for_somebody_to_work_on_them(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    struct governor *governor = &stage->governor;
    stage->workers = 1;
    assert_int_equal(stage_run(stage), CORUN_OK);
    assert_int_equal(arrive(stage, 1001 * MS, 1), 0);
    assert_int_equal(arrive(stage, 1002 * MS, 2), 1);
    assert_int_equal(arrive(stage, 1003 * MS, 3), 2);
    expect_log(stage, "arrives0 begin0 starts0 arrives1 arrives2 ");
    assert_int_equal(governor->applications[0].waiting, 2);
    stage->workers++;
    assert_int_equal(governor_end(governor, 1010 * MS, 0), CORUN_OK);
    expect_log(stage, "ends0 begin1 starts1 ");
    assert_int_equal(governor->queries[1].started_ns, 1010 * MS);
    stage->workers++;
    assert_int_equal(governor_look(governor, 1011 * MS), CORUN_OK);
    expect_log(stage, "begin2 starts2 ");
    assert_int_equal(governor_end(governor, 1012 * MS, 1), CORUN_OK);
    assert_int_equal(governor_end(governor, 1013 * MS, 2), CORUN_OK);
    assert_int_equal(governor->applications[0].running, 0);
    assert_int_equal(governor->applications[0].waiting, 0);
    stage_end(stage);
}

static void test_a_service_that_dies_takes_its_queries_along(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    struct governor *governor = &stage->governor;
    stage->start = false;
    assert_int_equal(stage_run(stage), CORUN_OK);
    arrive(stage, 1001 * MS, 1);
    assert_int_equal(governor_end(governor, 1002 * MS, 0), CORUN_OK);
    expect_log(stage, "arrives0 ends0 ");
    assert_int_equal(governor->applications[0].running, 0);
    assert_int_equal(governor->applications[0].waiting, 0);
    stage_end(stage);
}

static void test_a_full_table(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    stage->workers = 0;
    assert_int_equal(stage_run(stage), CORUN_OK);
    for (uint32_t i = 0; i < CORUN_HOST_QUERIES; i++)
        assert_int_equal(arrive(stage, 1001 * MS + i, i), i);
    assert_int_equal(arrive(stage, 1002 * MS, 999), CORUN_HOST_NONE);
    assert_int_equal(governor_end(&stage->governor, 1003 * MS, 17), CORUN_OK);
    assert_int_equal(arrive(stage, 1004 * MS, 999), 17);
    stage_end(stage);
}

static void test_what_cannot_be_obeyed(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    assert_int_equal(stage_run(stage), CORUN_OK);
    stage->batch_share.cores = 2;
    stage->share.cores = 1;
    assert_int_equal(governor_arrive(&stage->governor, 1001 * MS, 0, 0, 1, 1, 1001 * MS), CORUN_POLICY);
    expect_message(stage, "policy staged gives out 3 cores of 2 and 0 ways of 4");
    stage_end(stage);

    stage = stage_begin(0);
    assert_int_equal(stage_run(stage), CORUN_OK);
    stage->fairness = true;
    assert_int_equal(governor_advance(&stage->governor, 1020 * MS), CORUN_POLICY);
    expect_message(stage, "policy staged divides the common cores by applications, which this host cannot");
    stage_end(stage);

    stage = stage_begin(1u << CORUN_HOST_CAN_FAIRNESS);
    assert_int_equal(stage_run(stage), CORUN_ARGUMENT);
    expect_message(stage,
                   "policy staged needs a host that divides the common cores by applications as well as by threads");
    stage_end(stage);

    stage = stage_begin(0);
    staged.parameter = -1;
    assert_int_equal(stage_run(stage), CORUN_ARGUMENT);
    expect_message(stage, "policy staged dislikes its parameter");
    stage_end(stage);
}

/* Ways that the host cannot give are everybody's: each share may name all of them, and the common ones stay all. */
static void test_ways_that_nobody_enforces(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    struct governor *governor = &stage->governor;
    stage->setting.capabilities &= ~(1u << CORUN_HOST_CAN_WAYS);
    assert_int_equal(stage_run(stage), CORUN_OK);
    stage->share = (struct corun_host_share){1, 4};
    arrive(stage, 1001 * MS, 1);
    arrive(stage, 1002 * MS, 2);
    expect_log(stage, "arrives0 begin0 starts0 arrives1 begin1 starts1 ");
    assert_int_equal(governor->common.cores, 0);
    assert_int_equal(governor->common.ways, 4);
    stage->share.ways = 5;
    assert_int_equal(governor_advance(governor, 1022 * MS), CORUN_POLICY);
    expect_message(stage, "policy staged gives out 2 cores of 2 and 5 ways of 4");
    stage_end(stage);
}

static void test_instances_come_and_go(void **state)
{
    (void)state;
    struct stage *stage = stage_begin(0);
    struct governor *governor = &stage->governor;
    assert_int_equal(stage_run(stage), CORUN_OK);
    assert_int_equal(governor->applications[1].running, 3);
    assert_int_equal(governor_instances(governor, 1001 * MS, 1, 2), CORUN_OK);
    assert_int_equal(governor->applications[1].running, 2);
    assert_int_equal(stage->obeyed, 2);
    stage_end(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_in_their_order),
        cmocka_unit_test(test_late_looks),
        cmocka_unit_test(test_queries_wait_for_somebody_to_work_on_them),
        cmocka_unit_test(test_a_service_that_dies_takes_its_queries_along),
        cmocka_unit_test(test_a_full_table),
        cmocka_unit_test(test_what_cannot_be_obeyed),
        cmocka_unit_test(test_ways_that_nobody_enforces),
        cmocka_unit_test(test_instances_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
