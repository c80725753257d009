/* SPDX-License-Identifier: MIT */
/* pace, static-opt and heracles on a host where what they do can be worked out. */
#include "allot/run.h"

#define GOAL 150000000

/* A size is nanoseconds on one core, and cores divide it; ways do nothing. */
static void predict(const void *state, double size, uint32_t cores, uint32_t ways,
                    struct corun_host_prediction *prediction)
{
    (void)state, (void)ways;
    *prediction = (struct corun_host_prediction){size / cores, cores};
}

static const struct corun_host_model model = {"exact", NULL, predict};

#define LINEAR(sizes) STAGE_SERVICE("12", sizes, "speedup: [{cores: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}]")
#define BATCH \
    "application: b\nkind: batch\nthreads: 12\ninstructions: 1G\ncycles_per_instruction: 1\noverlap: 1\n" \
    "speedup: [{cores: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}]\nmisses: [{points: [[64, 0]]}]\n"

static void run_service(struct run *run, const struct corun_host_policy *policy, const char *service, double effort)
{
    run_begin(run, policy);
    run_add(run, stage_application(service), GOAL, 0);
    run->tenants[0].models = &model;
    run->tenants[0].model_count = 1;
    run_add(run, stage_application(BATCH), 0, 1);
    run->count = 1;
    run->arrivals = calloc(1, sizeof *run->arrivals);
    assert_non_null(run->arrivals);
    run->arrivals[0] = (struct host_arrival){0, 0, run->tenants[0].application->sizes.mean, effort};
    run_perform(run, 0);
}

/* 536 ms of work, 135 ms to go (a tenth of 150 is kept free): four cores, 134 ms. */
static void a_query_gets_what_its_deadline_asks(void **state)
{
    (void)state;
    struct run run;
    run_service(&run, &allot_pace, LINEAR("{fixed: 536000000}"), 1);
    assert_int_equal(run.answers[0].ended_ns, 134000000);
    assert_true(fabs(run.results[0].core_ns - 4.0 * 134e6) < 1);
    /* The batch program had the others all the time. */
    assert_true(fabs(run.results[1].instructions - 8.0 * 134e6) < 10);
    run_end(&run);
}

/*
 * Half as much again as its size says, so it goes two thirds as fast as predicted: 804 ms of work, of which 80 are done after 20 ms on four cores. Then
 * 724 ms are left for 115: 6.3, so seven cores, and it ends in time; with what was predicted it would have taken 201 ms.
 */
static void a_query_that_is_harder_gets_more(void **state)
{
    (void)state;
    struct run run;
    run_service(&run, &allot_pace, LINEAR("{fixed: 536000000}"), 1.5);
    assert_true(run.answers[0].ended_ns <= 135000000);
    assert_true(run.answers[0].ended_ns >= 20000000 + 724000000 / 7);
    run_end(&run);
}

/* An easier one gives cores back: it takes nearly all of its time. */
static void a_query_that_is_easier_gives_back(void **state)
{
    (void)state;
    struct run run;
    run_service(&run, &allot_pace, LINEAR("{fixed: 536000000}"), 0.5);
    assert_true(run.answers[0].ended_ns > 100000000);
    assert_true(run.answers[0].ended_ns <= 135000000);
    assert_true(run.results[0].core_ns < 2.9 * (double)run.answers[0].ended_ns);
    run_end(&run);
}

/* What cannot be done in time gets all until the deadline. */
static void a_query_that_cannot_be_in_time_gets_all(void **state)
{
    (void)state;
    struct run run;
    run_service(&run, &allot_pace, LINEAR("{fixed: 2400000000}"), 1);
    assert_true(run.results[0].core_ns >= 12.0 * 134e6);
    assert_true(run.answers[0].ended_ns >= 200000000);
    run_end(&run);
}

/* As `predict`, but twice as long with fewer than ten ways. */
static void predict_ways(const void *state, double size, uint32_t cores, uint32_t ways,
                         struct corun_host_prediction *prediction)
{
    (void)state;
    *prediction = (struct corun_host_prediction){size / cores * (ways < 10 ? 2 : 1), cores};
}

/* A service and a batch program on twelve cores with sixteen ways, and what queries get. */
struct given {
    struct corun_host_model model;
    struct corun_host_application_view applications[2];
    struct corun_host_query_view queries[CORUN_HOST_QUERIES];
    struct corun_host_share application[2], query[CORUN_HOST_QUERIES];
    uint32_t instances[2];
    bool start[CORUN_HOST_QUERIES];
    struct corun_host_view view;
    struct corun_host_allowances allowances;
    double parameters[8];
    void *state;
};

static void give_begin(struct given *given)
{
    *given = (struct given){.model = {"best", NULL, predict_ways}};
    given->applications[0] = (struct corun_host_application_view){
        .name = "a", .kind = CORUN_HOST_SERVICE, .goal_ns = GOAL, .models = &given->model, .model_count = 1};
    given->applications[1] =
        (struct corun_host_application_view){.name = "b", .kind = CORUN_HOST_BATCH, .instances = 1};
    given->view = (struct corun_host_view){.version = CORUN_HOST_POLICY_VERSION,
                                           .interval_ns = 20000000,
                                           .core_count = 12,
                                           .way_count = 16,
                                           .capabilities = 1u << CORUN_HOST_CAN_WAYS,
                                           .applications = given->applications,
                                           .application_count = 2,
                                           .queries = given->queries};
    given->allowances = (struct corun_host_allowances){
        .application = given->application, .instances = given->instances, .query = given->query, .start = given->start};
    for (uint32_t i = 0; i < allot_pace.parameter_count; i++)
        given->parameters[i] = allot_pace.parameters[i].initial;
    given->state = calloc(1, allot_pace.state_bytes);
    assert_non_null(given->state);
}

static enum corun_status give_start(struct given *given)
{
    return allot_pace.start(given->state, &given->view, given->parameters, &given->allowances);
}

static void give_moment(struct given *given, enum corun_host_event event, uint32_t q)
{
    allot_pace.decide(given->state, &given->view, (struct corun_host_moment){event, q}, &given->allowances);
}

static void give_arrive(struct given *given, uint32_t q, double size)
{
    given->queries[q] = (struct corun_host_query_view){
        .state = CORUN_HOST_QUERY_WAITING, .id = q, .size = size, .arrived_ns = given->view.now_ns};
    given->view.query_count = q + 1;
    give_moment(given, CORUN_HOST_QUERY_ARRIVES, q);
    assert_true(given->start[q]);
    given->queries[q].state = CORUN_HOST_QUERY_RUNNING;
}

static void give_end(struct given *given)
{
    free(given->state);
}

/*
 * One core is enough with one way (120 ms of 135) as with ten (60 ms). What counts is for how long a share is held: (1/12 + 0.1/16) * 120 against
 * (1/12 + 1/16) * 60.
 */
static void a_short_time_with_more_ways_costs_less(void **state)
{
    struct given given;
    (void)state;
    give_begin(&given);
    assert_int_equal(give_start(&given), CORUN_OK);
    give_arrive(&given, 0, 60e6);
    assert_int_equal(given.query[0].cores, 1);
    assert_int_equal(given.query[0].ways, 10);
    give_end(&given);
}

/* The batch program beside it does nothing without ways of the cache, or does not care: a query has few, or many. */
static void what_batch_does_with_ways_is_learned(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        struct given given;
        give_begin(&given);
        given.parameters[3] = variant < 2; /* learn */
        assert_int_equal(give_start(&given), CORUN_OK);
        for (uint32_t i = 0; i < 200; i++) {
            given.application[0] = (struct corun_host_share){1 + i % 3, i % 8};
            double cores = 12.0 - given.application[0].cores, ways = 16.0 - given.application[0].ways;
            give_moment(&given, CORUN_HOST_QUERY_STARTS, 0); /* that nothing follows from */
            given.view.now_ns += 20000000;
            given.applications[1].interval_ipc = variant == 1 ? cores : cores * ways;
            give_moment(&given, CORUN_HOST_INTERVAL, CORUN_HOST_NONE);
        }
        given.application[0] = (struct corun_host_share){0, 0};
        give_arrive(&given, 0, 60e6);
        assert_int_equal(given.query[0].cores, 1);
        assert_int_equal(given.query[0].ways, variant == 0 ? 1 : 10);
        give_end(&given);
    }
}

/* The second one finds six ways of sixteen, with which 100 ms on one core are 200: two cores, and the one way with which that is cheapest. */
static void what_is_left_is_what_is_chosen_from(void **state)
{
    struct given given;
    (void)state;
    give_begin(&given);
    assert_int_equal(give_start(&given), CORUN_OK);
    give_arrive(&given, 0, 100e6);
    give_arrive(&given, 1, 100e6);
    assert_int_equal(given.query[0].cores, 1);
    assert_int_equal(given.query[0].ways, 10);
    assert_int_equal(given.query[1].cores, 2);
    assert_int_equal(given.query[1].ways, 1);
    give_end(&given);
}

/* The batch program runs on what static-opt leaves it: nothing, or its instances. */
static void static_opt_stops_instances(void **state)
{
    (void)state;
    for (int instances = 0; instances < 2; instances++) {
        struct run run;
        run_begin(&run, &allot_static_opt);
        run.parameters[0] = instances;
        run_add(&run, stage_application(BATCH), 0, 3);
        run_perform(&run, 1000000);
        assert_true(fabs(run.results[0].instructions - 12e6 * instances) < 1);
        run_end(&run);
    }
}

/* Queries of 12 ms on all cores, far apart: the service gives a core and a way every period, as long as they take at most nine tenths of the goal. */
static void heracles_gives_what_is_not_needed(void **state)
{
    (void)state;
    struct run run;
    run_begin(&run, &allot_heracles);
    run_add(&run, stage_application(LINEAR("{fixed: 144000000}")), GOAL, 0);
    run_add(&run, stage_application(BATCH), 0, 1);
    run_poisson(&run, 100, 500e6, 3);
    run_perform(&run, 0);
    const struct host_answer *first = &run.answers[0], *last = &run.answers[99];
    assert_int_equal(first->ended_ns - first->started_ns, 12000000);
    assert_true(last->ended_ns - last->started_ns > 60000000);
    assert_true(run.results[1].instructions > 0);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_gets_what_its_deadline_asks),
        cmocka_unit_test(a_query_that_is_harder_gets_more),
        cmocka_unit_test(a_query_that_is_easier_gives_back),
        cmocka_unit_test(a_query_that_cannot_be_in_time_gets_all),
        cmocka_unit_test(a_short_time_with_more_ways_costs_less),
        cmocka_unit_test(what_batch_does_with_ways_is_learned),
        cmocka_unit_test(what_is_left_is_what_is_chosen_from),
        cmocka_unit_test(static_opt_stops_instances),
        cmocka_unit_test(heracles_gives_what_is_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
