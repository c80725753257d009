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

/* Queries that have all come by now, on twelve cores with sixteen ways, and what they get. */
static void give(const double *sizes, uint32_t count, struct corun_host_share *shares)
{
    const struct corun_host_model learned = {"best", NULL, predict_ways};
    struct corun_host_application_view service = {.name = "a",
                                                  .kind = CORUN_HOST_SERVICE,
                                                  .goal_ns = GOAL,
                                                  .waiting = count,
                                                  .models = &learned,
                                                  .model_count = 1};
    struct corun_host_query_view queries[CORUN_HOST_QUERIES] = {{0}};
    struct corun_host_share application = {0, 0}, query[CORUN_HOST_QUERIES] = {{0, 0}};
    uint32_t instances = 0;
    bool start[CORUN_HOST_QUERIES] = {false};
    struct corun_host_allowances allowances = {
        .application = &application, .instances = &instances, .query = query, .start = start};
    struct corun_host_view view = {.version = CORUN_HOST_POLICY_VERSION,
                                   .interval_ns = 20000000,
                                   .core_count = 12,
                                   .way_count = 16,
                                   .capabilities = 1u << CORUN_HOST_CAN_WAYS,
                                   .applications = &service,
                                   .application_count = 1,
                                   .queries = queries,
                                   .query_count = count};
    double parameters[8];
    void *state = calloc(1, allot_pace.state_bytes);
    assert_non_null(state);
    for (uint32_t i = 0; i < allot_pace.parameter_count; i++)
        parameters[i] = allot_pace.parameters[i].initial;
    assert_int_equal(allot_pace.start(state, &view, parameters, &allowances), CORUN_OK);
    for (uint32_t q = 0; q < count; q++) {
        queries[q] = (struct corun_host_query_view){.state = CORUN_HOST_QUERY_WAITING, .id = q, .size = sizes[q]};
        allot_pace.decide(state, &view, (struct corun_host_moment){CORUN_HOST_QUERY_ARRIVES, q}, &allowances);
        assert_true(start[q]);
        queries[q].state = CORUN_HOST_QUERY_RUNNING;
    }
    memcpy(shares, query, count * sizeof *shares);
    free(state);
}

/*
 * One core is enough with one way (120 ms of 135) as with ten (60 ms). What counts is for how long a share is held: (1/12 + 0.1/16) * 120 against
 * (1/12 + 1/16) * 60.
 */
static void a_short_time_with_more_ways_costs_less(void **state)
{
    struct corun_host_share share;
    (void)state;
    give((const double[]){60e6}, 1, &share);
    assert_int_equal(share.cores, 1);
    assert_int_equal(share.ways, 10);
}

/* The second one finds six ways of sixteen, with which 100 ms on one core are 200: two cores, and the one way with which that is cheapest. */
static void what_is_left_is_what_is_chosen_from(void **state)
{
    struct corun_host_share shares[2];
    (void)state;
    give((const double[]){100e6, 100e6}, 2, shares);
    assert_int_equal(shares[0].cores, 1);
    assert_int_equal(shares[0].ways, 10);
    assert_int_equal(shares[1].cores, 2);
    assert_int_equal(shares[1].ways, 1);
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
        cmocka_unit_test(what_is_left_is_what_is_chosen_from),
        cmocka_unit_test(static_opt_stops_instances),
        cmocka_unit_test(heracles_gives_what_is_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
