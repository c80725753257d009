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
        cmocka_unit_test(static_opt_stops_instances),
        cmocka_unit_test(heracles_gives_what_is_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
