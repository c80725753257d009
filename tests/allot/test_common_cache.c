/* SPDX-License-Identifier: MIT */
/* Where ways cannot be given, they hold no query back, whatever the policy: two cores, one way, two queries at once. */
#include "allot/policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)

/* A size is milliseconds on one core; nobody may ask for other ways than there are. */
static void predict(const void *state, double size, uint32_t cores, uint32_t ways,
                    struct corun_host_prediction *prediction)
{
    assert_int_equal(ways, *(const uint32_t *)state);
    *prediction = (struct corun_host_prediction){size * 1e6 / cores, cores};
}

struct stage {
    uint32_t ways;
    struct corun_host_model model;
    struct corun_host_application_view applications[3];
    struct corun_host_query_view queries[CORUN_HOST_QUERIES];
    struct corun_host_view view;
    struct corun_host_share application[3], query[CORUN_HOST_QUERIES];
    uint32_t instances[3];
    bool started[CORUN_HOST_QUERIES];
    struct corun_host_allowances allowances;
    const struct corun_host_policy *policy;
    void *state;
};

/* Two services, and a batch program behind them. */
static void describe(struct stage *stage)
{
    stage->model = (struct corun_host_model){"best", &stage->ways, predict};
    for (uint32_t a = 0; a < 3; a++) {
        bool service = a < 2;
        stage->applications[a] =
            (struct corun_host_application_view){.name = "a",
                                                 .kind = service ? CORUN_HOST_SERVICE : CORUN_HOST_BATCH,
                                                 .goal_ns = service ? 100 * MS : 0,
                                                 .instances = !service,
                                                 .interval_ipc = 1,
                                                 .models = service ? &stage->model : NULL,
                                                 .model_count = service};
    }
    stage->view = (struct corun_host_view){.version = CORUN_HOST_POLICY_VERSION,
                                           .interval_ns = 20 * MS,
                                           .core_count = 2,
                                           .way_count = stage->ways,
                                           .applications = stage->applications,
                                           .application_count = 3,
                                           .queries = stage->queries};
    stage->allowances = (struct corun_host_allowances){.application = stage->application,
                                                       .instances = stage->instances,
                                                       .query = stage->query,
                                                       .start = stage->started};
}

static struct stage *stage_begin(const char *name, uint32_t ways)
{
    double parameters[8];
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->ways = ways;
    stage->policy = corun_host_policy_find(name);
    assert_non_null(stage->policy);
    describe(stage);
    for (uint32_t i = 0; i < stage->policy->parameter_count; i++)
        parameters[i] = stage->policy->parameters[i].initial;
    stage->state = calloc(1, stage->policy->state_bytes);
    assert_non_null(stage->state);
    assert_false(stage->policy->needs >> CORUN_HOST_CAN_WAYS & 1u);
    assert_int_equal(stage->policy->start(stage->state, &stage->view, parameters, &stage->allowances), CORUN_OK);
    return stage;
}

static void stage_end(struct stage *stage)
{
    free(stage->state);
    free(stage);
}

static void stage_moment(struct stage *stage, enum corun_host_event event, uint32_t q)
{
    stage->policy->decide(stage->state, &stage->view, (struct corun_host_moment){event, q}, &stage->allowances);
}

static void stage_arrive(struct stage *stage, uint32_t q, uint32_t application, double size)
{
    stage->queries[q] = (struct corun_host_query_view){
        .state = CORUN_HOST_QUERY_WAITING, .id = q, .application = application, .size = size};
    stage->view.query_count = q + 1;
    stage_moment(stage, CORUN_HOST_QUERY_ARRIVES, q);
    if (!stage->started[q])
        return;
    stage->queries[q].state = CORUN_HOST_QUERY_RUNNING;
    stage->queries[q].share = stage->query[q];
    stage_moment(stage, CORUN_HOST_QUERY_STARTS, q);
}

static void two_queries_start_at_once(void **state)
{
    static const char *const names[] = {"os", "fixed", "heracles", "emu", "pace"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (uint32_t ways = 1; ways <= 16; ways += 15) {
            struct stage *stage = stage_begin(names[i], ways);
            stage_arrive(stage, 0, 0, 50);
            stage_arrive(stage, 1, 1, 50);
            assert_true(stage->started[0]);
            assert_true(stage->started[1]);
            assert_int_equal(allot_free(&stage->view, &stage->allowances).ways, ways);
            stage_end(stage);
        }
    }
}

/* pace: half done after 40 of 90 ms on one core, so the 45 ms that are left fit; a tenth done, and a second core is to be had. */
static void pace_follows_with_cores_alone(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct stage *stage = stage_begin("pace", 16);
        stage_arrive(stage, 0, 0, 80);
        assert_int_equal(stage->query[0].cores, 1);
        assert_int_equal(stage->query[0].ways, 0);
        stage->view.now_ns = 40 * MS;
        stage->queries[0].progress = slow ? 0.1 : 0.5;
        stage_moment(stage, CORUN_HOST_QUERY_INTERVAL, 0);
        assert_int_equal(stage->query[0].cores, 1 + slow);
        assert_int_equal(stage->query[0].ways, 0);
        stage_end(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_queries_start_at_once),
        cmocka_unit_test(pace_follows_with_cores_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
