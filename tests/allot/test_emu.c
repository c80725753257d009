/* SPDX-License-Identifier: MIT */
/* EMU's two allocators, worked out by hand, and the policy with views that are written by hand. */
#include "allot/emu_search.h"
#include "allot/policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/*
 * A size is milliseconds on one core with 16 ways; cores divide it; each missing way adds a sixteenth. As many instructions per cycle as cores.
 * Counts how often it was asked.
 */
static void predict(const void *state, double size, uint32_t cores, uint32_t ways,
                    struct corun_host_prediction *prediction)
{
    uint32_t *asked = *(uint32_t *const *)state;
    ++*asked;
    prediction->duration_ns = 1e6 * size / cores * (1 + (16.0 - ways) / 16);
    prediction->ipc = cores;
}

/* {size, limit in ms, most cores and ways, expected cores and ways, predictions} */
static const struct {
    double size, limit_ms;
    struct corun_host_share most, expected;
    uint32_t predictions;
} searches[] = {
    /* 6 cores 16.7, 3 cores 33.3, 4 cores 25 ms; 8 ways 37.5, 12 ways 31.25, 14 ways 28.1, 13 ways 29.7 ms */
    {100, 30, {12, 16}, {4, 13}, 7},
    /* 25 ms are not less than 25: 6, 3, 4, 5 cores; 20 ms there, so ways from 12 (25, no) to 14 (22.5) and 13 (23.75) */
    {100, 25, {12, 16}, {5, 13}, 8},
    /* everything will do: 6, 3, 1 cores; 8, 4, 2, 1 ways */
    {10, 1000, {12, 16}, {1, 1}, 7},
    /* nothing will: 6, 9, 10, 11 cores; 8, 12, 14, 15 ways */
    {1000, 1, {12, 16}, {12, 16}, 8},
    /* what is free is all there is: 3 cores with 4 ways take 58.3 ms */
    {100, 60, {3, 4}, {3, 4}, 4},
    {100, 60, {1, 1}, {1, 1}, 0},
};

static void the_search_before_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        uint32_t asked = 0, *counter = &asked;
        const struct corun_host_model model = {"table", &counter, predict};
        struct corun_host_share found =
            emu_search(&model, searches[i].size, searches[i].limit_ms * 1e6, searches[i].most);
        assert_int_equal(found.cores, searches[i].expected.cores);
        assert_int_equal(found.ways, searches[i].expected.ways);
        assert_int_equal(asked, searches[i].predictions);
    }
}

/* The same as trying all: the fewest cores with all ways, and then the fewest ways. */
static void the_search_finds_what_trying_all_finds(void **state)
{
    (void)state;
    uint32_t asked = 0, *counter = &asked;
    const struct corun_host_model model = {"table", &counter, predict};
    for (int tenths = 10; tenths < 1200; tenths += 7) {
        double limit_ms = tenths / 10.0;
        struct corun_host_share best = {12, 16}, found = emu_search(&model, 100, limit_ms * 1e6, best);
        struct corun_host_prediction prediction;
        for (predict(&counter, 100, best.cores - 1, 16, &prediction);
             best.cores > 1 && prediction.duration_ns < limit_ms * 1e6;)
            if (--best.cores > 1)
                predict(&counter, 100, best.cores - 1, 16, &prediction);
        for (predict(&counter, 100, best.cores, best.ways - 1, &prediction);
             best.ways > 1 && prediction.duration_ns < limit_ms * 1e6;)
            if (--best.ways > 1)
                predict(&counter, 100, best.cores, best.ways - 1, &prediction);
        assert_int_equal(found.cores, best.cores);
        assert_int_equal(found.ways, best.ways);
    }
}

#define MS 1e6
static const struct corun_host_share all = {12, 16};

static void assert_share(struct corun_host_share share, uint32_t cores, uint32_t ways)
{
    assert_int_equal(share.cores, cores);
    assert_int_equal(share.ways, ways);
}

/* Figure 5-8: 2 cores and 1 way, predicted 2.4; 1.6, then 2.5, then 7.2 instructions per cycle are counted. */
static void the_example_of_the_thesis(void **state)
{
    (void)state;
    struct emu_query query = {
        .ipc_predicted = 2.4, .work_predicted = 2.4 * 100 * MS, .limit_ns = 200 * MS, .initial = {2, 1}};
    struct corun_host_share share = query.initial;
    share = emu_adjust(&query, 1.6, 20 * MS, share, all); /* factor 1.5: 2 * 1.5 + 1, 1 * 1.5 + 1 */
    assert_share(share, 4, 3);
    share = emu_adjust(&query, 2.5, 20 * MS, share, all); /* factor 0.96: 3.84, 2.88 */
    assert_share(share, 4, 3);
    share = emu_adjust(&query, 7.2, 20 * MS, share, all); /* factor 0.33: 1.3, but 2 at least; 1 way, not 2 */
    assert_share(share, 2, 1);
    assert_true(query.run_ns == 60 * MS);
    assert_true(query.work_completed == (1.6 + 2.5 + 7.2) * 20 * MS);
}

static void what_is_required_counts_as_well(void **state)
{
    (void)state;
    struct emu_query query = {.ipc_predicted = 2.4, .work_predicted = 240 * MS, .limit_ns = 60 * MS, .initial = {2, 1}};
    struct corun_host_share share = emu_adjust(&query, 1.6, 20 * MS, query.initial, all);
    /* (240 - 32) / 40 = 5.2 are required: factor 3.25. 6.5 is rounded up, and one more; 3.25 down, and one more */
    assert_share(share, 8, 4);
    /* Bounded by what there is: (208 - 40) / 20 over 2. */
    assert_share(emu_adjust(&query, 2, 20 * MS, share, (struct corun_host_share){10, 5}), 10, 5);
    /* The time is over: all. */
    assert_share(emu_adjust(&query, 50, 20 * MS, share, all), 12, 16);
}

static void special_factors(void **state)
{
    (void)state;
    struct emu_query query = {.ipc_predicted = 3, .work_predicted = 300 * MS, .limit_ns = 200 * MS, .initial = {3, 2}};
    assert_share(emu_adjust(&query, 3, 20 * MS, query.initial, all), 3, 2); /* as predicted: nothing changes */
    assert_share(emu_adjust(&query, 0, 20 * MS, query.initial, all), 12, 16);
    query.work_completed = 1e12; /* more than was predicted in all: what is required is negative */
    assert_share(emu_adjust(&query, 6, 20 * MS, (struct corun_host_share){8, 8}, all), 4, 4);
    /* Fewer than it began with, where others have taken the rest meanwhile. */
    assert_share(emu_adjust(&query, 3, 20 * MS, (struct corun_host_share){2, 1}, (struct corun_host_share){2, 1}), 2,
                 1);
}

/* A view and allowances for two services and a batch program. */
struct stage {
    struct corun_host_application_view applications[3];
    struct corun_host_query_view queries[CORUN_HOST_QUERIES];
    struct corun_host_view view;
    struct corun_host_share application[3], query[CORUN_HOST_QUERIES];
    uint32_t instances[3];
    bool started[CORUN_HOST_QUERIES];
    struct corun_host_allowances allowances;
    uint32_t asked, *counter;
    struct corun_host_model model;
    double parameters[4];
    void *state;
};

static struct stage *stage_create(void)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->counter = &stage->asked;
    stage->model = (struct corun_host_model){"knn", &stage->counter, predict};
    for (int a = 0; a < 3; a++)
        stage->applications[a] =
            (struct corun_host_application_view){.name = "a",
                                                 .kind = a < 2 ? CORUN_HOST_SERVICE : CORUN_HOST_BATCH,
                                                 .goal_ns = a < 2 ? 150000000 : 0,
                                                 .models = a < 2 ? &stage->model : NULL,
                                                 .model_count = a < 2,
                                                 .instances = a == 2};
    stage->view = (struct corun_host_view){.version = CORUN_HOST_POLICY_VERSION,
                                           .interval_ns = 20000000,
                                           .core_count = 12,
                                           .way_count = 16,
                                           .capabilities = 1u << CORUN_HOST_CAN_WAYS,
                                           .applications = stage->applications,
                                           .application_count = 3,
                                           .queries = stage->queries};
    stage->allowances = (struct corun_host_allowances){.application = stage->application,
                                                       .instances = stage->instances,
                                                       .query = stage->query,
                                                       .start = stage->started};
    for (uint32_t i = 0; i < allot_emu.parameter_count; i++)
        stage->parameters[i] = allot_emu.parameters[i].initial;
    stage->state = calloc(1, allot_emu.state_bytes);
    assert_non_null(stage->state);
    return stage;
}

static void stage_destroy(struct stage *stage)
{
    free(stage->state);
    free(stage);
}

static enum corun_status stage_start(struct stage *stage)
{
    return allot_emu.start(stage->state, &stage->view, stage->parameters, &stage->allowances);
}

static void stage_moment(struct stage *stage, enum corun_host_event event, uint32_t q)
{
    allot_emu.decide(stage->state, &stage->view, (struct corun_host_moment){event, q}, &stage->allowances);
}

static void stage_arrive(struct stage *stage, uint32_t q, uint32_t application, double size, uint64_t arrived_ns)
{
    stage->queries[q] = (struct corun_host_query_view){
        .state = CORUN_HOST_QUERY_WAITING, .id = q, .application = application, .size = size, .arrived_ns = arrived_ns};
    stage->query[q] = (struct corun_host_share){0};
    stage->started[q] = false;
    stage->view.query_count = q + 1;
    stage_moment(stage, CORUN_HOST_QUERY_ARRIVES, q);
    if (stage->started[q])
        stage->queries[q].state = CORUN_HOST_QUERY_RUNNING;
}

static void stage_interval(struct stage *stage, uint32_t q, double ipc)
{
    stage->queries[q].interval_ns = 20000000;
    stage->queries[q].interval_ipc = ipc;
    stage_moment(stage, CORUN_HOST_QUERY_INTERVAL, q);
}

/* A goal of 150 ms leaves 120 for a query that starts at once. */
static void queries_of_several_services_get_their_own(void **state)
{
    (void)state;
    struct stage *stage = stage_create();
    assert_int_equal(stage_start(stage), CORUN_OK);
    /* 1000 ms: 9 cores take 111; 14 ways with 9 cores 125, 15 ways 118. */
    stage_arrive(stage, 0, 0, 1000, 0);
    assert_true(stage->started[0]);
    assert_share(stage->query[0], 9, 15);
    /* Three cores and a way are left: 100 ms with one way on one core are 194, on two 97. */
    stage_arrive(stage, 1, 1, 100, 0);
    assert_share(stage->query[1], 2, 1);
    /* A core, and no way: the third waits. */
    stage_arrive(stage, 2, 1, 10, 0);
    assert_false(stage->started[2]);
    /* The first one ends: the third starts, 60 ms after it arrived; 0.8 * 90 ms are left, and one core and way are enough. */
    stage->view.now_ns = 60000000;
    stage->query[0] = (struct corun_host_share){0};
    stage_moment(stage, CORUN_HOST_QUERY_ENDS, 0);
    assert_true(stage->started[2]);
    assert_share(stage->query[2], 1, 1);
    stage_destroy(stage);
}

static void shares_follow_a_query_while_it_runs(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        struct stage *stage = stage_create();
        stage->parameters[1] = variant != 1; /* runtime */
        stage->parameters[2] = variant != 2; /* cache */
        assert_int_equal(stage_start(stage), CORUN_OK);
        stage_arrive(stage, 0, 0, 400, 0); /* 4 cores take 100 ms; with 13 ways 118.75 */
        assert_share(stage->query[0], 4, 13);
        stage_interval(stage, 0, 2); /* 4 are predicted: factor 2 */
        if (variant == 0)
            assert_share(stage->query[0], 9, 16);
        else if (variant == 1)
            assert_share(stage->query[0], 4, 13);
        else
            assert_share(stage->query[0], 9, 13);
        stage_destroy(stage);
    }
}

/* Ways that nobody can enforce hold nobody back: each query is predicted with the whole cache, has no ways of its own, and cores follow alone. */
static void where_the_cache_is_common_ways_hold_nobody_back(void **state)
{
    (void)state;
    for (uint32_t ways = 1; ways <= 16; ways += 15) {
        struct stage *stage = stage_create();
        stage->view.capabilities = 0;
        stage->view.way_count = ways;
        assert_int_equal(stage_start(stage), CORUN_OK);
        /* 400 ms: with 16 ways 4 cores take 100; with one way, 775, 7 take 110.7. */
        uint32_t cores = ways == 16 ? 4 : 7;
        stage_arrive(stage, 0, 0, 400, 0);
        assert_true(stage->started[0]);
        assert_share(stage->query[0], cores, 0);
        /* As long as there are cores, others start: 10 ms on one. */
        for (uint32_t q = 1; q <= 12 - cores; q++) {
            stage_arrive(stage, q, 1, 10, 0);
            assert_true(stage->started[q]);
            assert_share(stage->query[q], 1, 0);
        }
        stage_arrive(stage, 13 - cores, 1, 10, 0);
        assert_false(stage->started[13 - cores]);
        /* It has half as many instructions per cycle as predicted, and grows into what has been left since. */
        stage->queries[1].state = CORUN_HOST_QUERY_FREE;
        stage->queries[13 - cores].state = CORUN_HOST_QUERY_FREE;
        stage_interval(stage, 0, cores / 2.0);
        assert_share(stage->query[0], cores + 1, 0);
        stage_destroy(stage);
    }
}

static void it_is_refused_without_a_goal_or_a_model(void **state)
{
    (void)state;
    struct stage *stage = stage_create();
    stage->applications[1].goal_ns = 0;
    assert_int_equal(stage_start(stage), CORUN_ARGUMENT);
    assert_string_equal(stage->allowances.refusal, "needs a goal for each service");
    stage->applications[1].goal_ns = 1;
    stage->parameters[3] = 2; /* nn */
    assert_int_equal(stage_start(stage), CORUN_ARGUMENT);
    assert_string_equal(stage->allowances.refusal, "has no model of that name for a service");
    stage->parameters[3] = 1; /* knn */
    assert_int_equal(stage_start(stage), CORUN_OK);
    stage_destroy(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_before_the_run),
        cmocka_unit_test(the_search_finds_what_trying_all_finds),
        cmocka_unit_test(the_example_of_the_thesis),
        cmocka_unit_test(what_is_required_counts_as_well),
        cmocka_unit_test(special_factors),
        cmocka_unit_test(queries_of_several_services_get_their_own),
        cmocka_unit_test(shares_follow_a_query_while_it_runs),
        cmocka_unit_test(where_the_cache_is_common_ways_hold_nobody_back),
        cmocka_unit_test(it_is_refused_without_a_goal_or_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
