/* SPDX-License-Identifier: MIT */
/* What schedulers decide, with speeds from tables, and with kernels of which the chain's answer is known in kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "queue/describe.h"
#include "queue/events.h"
#include "queue/greedy.h"
#include "queue/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C, KINDS };

/* One SM with room for two thread blocks of 32 threads. */
static const struct corun_queue_device device = {.name = "by hand",
                                                 .clock_khz = 1,
                                                 .core_khz = 1,
                                                 .sm_count = 1,
                                                 .schedulers_per_sm = 1,
                                                 .issue_rate = 1,
                                                 .threads_per_sm = 64,
                                                 .tbs_per_sm = 2,
                                                 .registers_per_sm = 1024,
                                                 .shared_bytes_per_sm = 1024,
                                                 .barriers_per_sm = 16,
                                                 .coalesced = {1, 100},
                                                 .uncoalesced = {1, 200}};
#define SMALL \
    { \
        .tbs = 30, .tb_threads = 32, .tb_warps = 1, .tbs_per_sm = 2, .tb_instructions = 10, .smallest_slice = 1 \
    }
static const struct queue_run_kind kinds[KINDS] = {
    {.name = "A", .profile = SMALL}, {.name = "B", .profile = SMALL}, {.name = "C", .profile = SMALL}};

/* Alone 2 thread blocks in 10 000 ticks. A and B side by side 1.5 of each, B and C 1.2, A and C 1. */
static bool table_speeds(void *user, const struct corun_queue_co_schedule *pair, struct corun_queue_speeds *speeds)
{
    static const uint64_t tenths[KINDS][KINDS] = {
        [A][B] = 15, [B][A] = 15, [B][C] = 12, [C][B] = 12, [A][C] = 10, [C][A] = 10};
    (void)user;
    *speeds = (struct corun_queue_speeds){.tbs = {20, 0}, .ticks = 100000};
    if (pair->kinds[1] != CORUN_QUEUE_NONE)
        speeds->tbs[0] = speeds->tbs[1] = tenths[pair->kinds[0]][pair->kinds[1]];
    return true;
}

static enum corun_status event_table_speeds(void *user, const struct corun_queue_co_schedule *pair,
                                            struct corun_queue_speeds *speeds)
{
    return table_speeds(user, pair, speeds) ? CORUN_OK : CORUN_ARGUMENT;
}

static struct queue_run_result *run_with(const char *scheduler, const struct queue_submission *submissions,
                                         size_t count)
{
    struct event_speeds speeds = {.co_schedule = event_table_speeds};
    struct event_machine *machine = event_machine_create(&speeds, NULL);
    struct queue_run_request request = {.device = &device,
                                        .scheduler = corun_queue_scheduler_find(scheduler),
                                        .machine = event_machine_operations(machine),
                                        .measure = table_speeds,
                                        .seed = 5,
                                        .kinds = kinds,
                                        .kind_count = KINDS,
                                        .submissions = submissions,
                                        .submission_count = count};
    struct queue_run_result *result;
    assert_int_equal(queue_run(&request, NULL, &result), CORUN_OK);
    event_machine_destroy(machine);
    return result;
}

/*
 * The profit of A and B is 1 - 1 / (0.75 + 0.75), the greatest. They end together: 30 thread blocks at 1.5 in 10 000 ticks, 200 000 ticks. Then C alone,
 * 150 000 ticks; its first slices wait for nobody.
 */
static void test_opt(void **unused)
{
    (void)unused;
    const struct queue_submission submissions[] = {{0, C, 0}, {0, A, 0}, {0, B, 0}};
    struct queue_run_result *result = run_with("opt", submissions, 3);
    assert_true(result->kinds[A].beside[B] > 180000 && result->kinds[A].beside[B] <= 200000);
    assert_int_equal(result->kinds[A].beside[C], 0);
    assert_in_range(result->makespan_ticks, 345000, 360000);
    assert_in_range(result->kinds[A].p99_response_ticks, 198000, 202000);
    queue_run_result_destroy(result);
}

/* A and C side by side are no gain: one after the other. */
static void test_opt_without_gain(void **unused)
{
    (void)unused;
    const struct queue_submission submissions[] = {{0, C, 0}, {0, A, 0}};
    struct queue_run_result *result = run_with("opt", submissions, 2);
    assert_int_equal(result->kinds[A].beside[C], 0);
    assert_in_range(result->makespan_ticks, 300000, 300200);
    queue_run_result_destroy(result);
}

/* The same draws from the same seed, and every launch is served. */
static void test_random(void **unused)
{
    (void)unused;
    struct queue_submission submissions[30];
    for (uint32_t i = 0; i < 30; i++)
        submissions[i] = (struct queue_submission){.tick = i * 20000, .kind = i % KINDS};
    struct queue_run_result *once = run_with("random", submissions, 30), *again = run_with("random", submissions, 30);
    assert_int_equal(once->makespan_ticks, again->makespan_ticks);
    assert_int_equal(once->kinds[A].launches + once->kinds[B].launches + once->kinds[C].launches, 30);
    assert_true(once->kinds[A].beside[C] > 0); /* which opt never does */
    queue_run_result_destroy(once);
    queue_run_result_destroy(again);
}

/* ---- kernelet, which sees views by hand ---- */

#define PROFILE(r_m, pur, mur) \
    { \
        .tbs = 100, .tb_threads = 64, .tb_warps = 2, .tbs_per_sm = 8, .tb_instructions = 1000, .memory_share = (r_m), \
        .coalesced_requests = 1, .uncoalesced_requests = 1, .ipc = (pur), .pipeline_utilization = (pur), \
        .memory_utilization = (mur), .smallest_slice = 8 \
    }

struct stage {
    struct corun_queue_device device;
    struct corun_queue_kind kinds[KINDS];
    struct corun_queue_launch launches[KINDS];
    struct corun_queue_view view;
};

/* A computes, B and C wait for memory and are alike. One launch of each is pending, C the oldest. */
static void prepare(struct stage *stage)
{
    *stage = (struct stage){
        .device = device,
        .kinds = {{.name = "A", .profile = PROFILE(0.001, 0.9, 0.05), .pending = 1, .first = 1},
                  {.name = "B", .profile = PROFILE(0.3, 0.2, 0.6), .pending = 1, .first = 2},
                  {.name = "C", .profile = PROFILE(0.3, 0.2, 0.6), .pending = 1, .first = 0}},
        .launches = {{.kind = C, .tbs = 100, .next = 1, .next_of_kind = CORUN_QUEUE_NONE},
                     {.kind = A, .tbs = 100, .next = 2, .next_of_kind = CORUN_QUEUE_NONE},
                     {.kind = B, .tbs = 100, .next = CORUN_QUEUE_NONE, .next_of_kind = CORUN_QUEUE_NONE}}};
    stage->device.sm_count = 4;
    stage->device.threads_per_sm = 512;
    stage->device.tbs_per_sm = 8;
    stage->view = (struct corun_queue_view){.device = &stage->device,
                                            .kind_count = KINDS,
                                            .kinds = stage->kinds,
                                            .launch_count = KINDS,
                                            .launches = stage->launches,
                                            .pending = KINDS};
}

static struct corun_queue_plan plan_of(struct stage *stage, const double *values)
{
    const struct corun_queue_scheduler *scheduler = corun_queue_scheduler_find("kernelet");
    double initial[8];
    const char *refusal = NULL;
    struct corun_queue_plan plan = {.profit = NAN};
    void *state = calloc(1, scheduler->state_bytes);
    for (uint32_t i = 0; i < scheduler->parameter_count; i++)
        initial[i] = scheduler->parameters[i].initial;
    assert_int_equal(scheduler->start(state, &stage->device, values ? values : initial, &refusal), CORUN_OK);
    assert_int_equal(scheduler->plan(state, &stage->view, &plan), CORUN_OK);
    scheduler->stop(state);
    free(state);
    return plan;
}

/* What computes goes with what waits, in the ratio that ends together, in slices as small as may be. */
static void test_kernelet(void **unused)
{
    (void)unused;
    struct stage stage;
    prepare(&stage);
    struct corun_queue_plan plan = plan_of(&stage, NULL);
    assert_int_equal(plan.grant_count, 2);
    assert_int_equal(plan.grants[0].launch, 1);
    assert_int_equal(plan.grants[1].launch, 2); /* B and C are equally good: the first kind */
    assert_int_equal(plan.until, CORUN_QUEUE_EXHAUSTED | CORUN_QUEUE_NEW_KIND);
    assert_true(plan.profit > 0.05 && plan.profit < 0.5);

    struct model_gpu gpu;
    struct model_kernel models[2];
    const struct model_kernel *const both[2] = {&models[0], &models[1]};
    struct model_prediction predictions[2];
    struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
    uint32_t count;
    describe_device(&stage.device, &gpu);
    for (int i = 0; i < 2; i++) {
        describe_kernel(&stage.kinds[i].profile, &models[i]);
        assert_int_equal(model_predict(&gpu, &models[i], 8, MODEL_LUMPED, &predictions[i]), CORUN_OK);
    }
    const double alone[2] = {predictions[0].ipc[0], predictions[1].ipc[0]};
    assert_int_equal(model_co_schedules(&gpu, both, alone, list, &count), CORUN_OK);
    const struct model_co_schedule *balanced = model_balanced(list, count);
    assert_true(plan.profit == balanced->profit);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(plan.grants[i].in_flight_tbs, balanced->residents[i] * 4);
        assert_int_equal(plan.grants[i].slice_tbs, plan.grants[i].in_flight_tbs < 8 ? plan.grants[i].in_flight_tbs : 8);
    }
}

/* Thresholds of 1 prune every pair: the oldest launch alone, with as much in flight as fills the GPU and a slice more. */
static void test_pruned(void **unused)
{
    (void)unused;
    struct stage stage;
    prepare(&stage);
    const double all[] = {1, 1, 0, 0, 32, 0, 0};
    struct corun_queue_plan plan = plan_of(&stage, all);
    assert_int_equal(plan.grant_count, 1);
    assert_int_equal(plan.grants[0].launch, 0);
    assert_int_equal(plan.grants[0].slice_tbs, 8);
    assert_int_equal(plan.grants[0].in_flight_tbs, 8 * 4 + 8);
    assert_true(isnan(plan.profit));
    /* Without A, what is left is alike, and is pruned by the initial thresholds. */
    stage.kinds[A].pending = 0;
    plan = plan_of(&stage, NULL);
    assert_int_equal(plan.grant_count, 1);
}

/* A pair runs if more is expected of it than the least profit. */
static void test_least_profit(void **unused)
{
    (void)unused;
    struct stage stage;
    prepare(&stage);
    double profit = plan_of(&stage, NULL).profit;
    const double just[] = {0.1, 0.1, 0, 0, 32, profit, 0}, below[] = {0.1, 0.1, 0, 0, 32, profit - 1e-6, 0};
    assert_int_equal(plan_of(&stage, just).grant_count, 1);
    assert_int_equal(plan_of(&stage, below).grant_count, 2);
}

/* With a slice that waits, none is cut to what has places; what has places is in flight beside it. */
static void test_waiting(void **unused)
{
    (void)unused;
    struct stage stage;
    prepare(&stage);
    for (uint32_t k = 0; k < sizeof stage.kinds / sizeof stage.kinds[0]; k++)
        stage.kinds[k].profile.smallest_slice = 20;
    const double two[] = {0.1, 0.1, 0, 0, 32, 0, 2};
    struct corun_queue_plan cut = plan_of(&stage, NULL), plan = plan_of(&stage, two);
    assert_int_equal(plan.grant_count, 2);
    bool shorter = false;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(plan.grants[i].slice_tbs, 20);
        assert_int_equal(plan.grants[i].in_flight_tbs, cut.grants[i].in_flight_tbs + 2 * 20);
        shorter |= cut.grants[i].slice_tbs < 20;
    }
    assert_true(shorter);
}

static void test_needs_latency(void **unused)
{
    (void)unused;
    struct corun_queue_device unknown = device;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct queue *queue;
    unknown.coalesced.base = NAN;
    const struct queue_settings settings = {.scheduler = corun_queue_scheduler_find("kernelet"), .device = &unknown};
    assert_int_equal(queue_create(&settings, list, &queue), CORUN_POLICY);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "latency"));
    corun_diagnostics_destroy(list);
}

/* ---- the limits of pairs, held to judging them all ---- */

enum { CROWD = 7 };

struct crowd {
    struct corun_queue_device device;
    struct corun_queue_kind kinds[CROWD];
    struct corun_queue_launch launches[CROWD];
    struct corun_queue_view view;
};

static double drawn(uint64_t *state) /* splitmix64: 0 to 1 */
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* A device like one of four GPUs, with kernels that compute, that wait, and that do both; coalesced, uncoalesced and mixed; a third of them profiled without an IPC. */
static void draw_crowd(struct crowd *crowd, uint64_t *seed)
{
    static const struct corun_queue_device gpus[] = {
        {.name = "2 schedulers",
         .clock_khz = 1150000,
         .core_khz = 1150000,
         .sm_count = 14,
         .schedulers_per_sm = 2,
         .issue_rate = 0.5,
         .threads_per_sm = 1536,
         .tbs_per_sm = 8,
         .registers_per_sm = 32768,
         .shared_bytes_per_sm = 49152,
         .barriers_per_sm = 128,
         .coalesced = {6.53, 524},
         .uncoalesced = {22.3, 171}},
        {.name = "4 schedulers",
         .clock_khz = 1006000,
         .core_khz = 1006000,
         .sm_count = 8,
         .schedulers_per_sm = 4,
         .issue_rate = 1,
         .threads_per_sm = 2048,
         .tbs_per_sm = 16,
         .registers_per_sm = 65536,
         .shared_bytes_per_sm = 49152,
         .barriers_per_sm = 256,
         .coalesced = {1.25, 282},
         .uncoalesced = {10.8, 90}},
        {.name = "steep",
         .clock_khz = 1216000,
         .core_khz = 1216000,
         .sm_count = 16,
         .schedulers_per_sm = 4,
         .issue_rate = 1,
         .threads_per_sm = 2048,
         .tbs_per_sm = 32,
         .registers_per_sm = 65536,
         .shared_bytes_per_sm = 98304,
         .barriers_per_sm = 512,
         .coalesced = {5.43, 253},
         .uncoalesced = {17, 1}},
        {.name = "flat",
         .clock_khz = 1000000,
         .core_khz = 1000000,
         .sm_count = 4,
         .schedulers_per_sm = 1,
         .issue_rate = 1,
         .threads_per_sm = 768,
         .tbs_per_sm = 8,
         .registers_per_sm = 65536,
         .shared_bytes_per_sm = 98304,
         .barriers_per_sm = 512,
         .coalesced = {0, 20},
         .uncoalesced = {0.1, 60}},
    };
    *crowd = (struct crowd){.device = gpus[(int)(4 * drawn(seed))]};
    uint32_t count = 2 + (uint32_t)((CROWD - 1) * drawn(seed));
    for (uint32_t k = 0; k < count; k++) {
        uint32_t warps = 1u << (uint32_t)(4 * drawn(seed));
        double uncoalesced = 3 * drawn(seed), ipc = drawn(seed);
        struct corun_queue_profile profile = {.tbs = 1000,
                                              .tb_threads = warps * 32,
                                              .tb_warps = warps,
                                              .tb_registers = warps * 640,
                                              .tb_barriers = 1,
                                              .tb_instructions = 500 + 10000 * drawn(seed),
                                              .memory_share = 0.4 * exp(-6 * drawn(seed)),
                                              .uncoalesced_share = fmax(0, fmin(1, uncoalesced - 1)),
                                              .coalesced_requests = 1 + drawn(seed),
                                              .uncoalesced_requests = 1 + 31 * drawn(seed),
                                              .ipc = ipc < 0.3 ? NAN : ipc,
                                              .pipeline_utilization = drawn(seed),
                                              .memory_utilization = drawn(seed),
                                              .smallest_slice = 1};
        struct model_gpu gpu;
        struct model_kernel model;
        describe_device(&crowd->device, &gpu);
        describe_kernel(&profile, &model);
        profile.tbs_per_sm = model_kernel_residents(&gpu, &model);
        crowd->kinds[k] = (struct corun_queue_kind){.name = "drawn", .profile = profile, .pending = 1, .first = k};
        crowd->launches[k] = (struct corun_queue_launch){.kind = k, .tbs = 1000};
    }
    crowd->view = (struct corun_queue_view){.device = &crowd->device,
                                            .kind_count = count,
                                            .kinds = crowd->kinds,
                                            .launch_count = count,
                                            .launches = crowd->launches,
                                            .pending = count};
}

/* What FindCoSchedule chooses when every pair in every ratio is solved; false: none. */
static bool choose_from_all(const struct crowd *crowd, const double *values, uint32_t chosen[2],
                            struct model_co_schedule *best)
{
    struct model_gpu gpu;
    struct model_kernel models[CROWD];
    struct model_prediction prediction;
    double alone[CROWD], greatest = values[5];
    bool any = false;
    describe_device(&crowd->device, &gpu);
    for (uint32_t k = 0; k < crowd->view.kind_count; k++) {
        describe_kernel(&crowd->kinds[k].profile, &models[k]);
        assert_int_equal(model_predict(&gpu, &models[k], crowd->kinds[k].profile.tbs_per_sm, MODEL_LUMPED, &prediction),
                         CORUN_OK);
        alone[k] = values[3] != 0 && models[k].ipc > 0 ? models[k].ipc : prediction.ipc[0];
    }
    for (uint32_t a = 0; a < crowd->view.kind_count; a++)
        for (uint32_t b = a + 1; b < crowd->view.kind_count; b++) {
            const struct model_kernel *const both[2] = {&models[a], &models[b]};
            struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
            uint32_t count;
            if (!crowd->kinds[a].pending || !crowd->kinds[b].pending ||
                (fabs(models[a].pipeline_utilization - models[b].pipeline_utilization) < values[0] &&
                 fabs(models[a].memory_utilization - models[b].memory_utilization) < values[1]))
                continue;
            assert_int_equal(model_co_schedules(&gpu, both, (const double[2]){alone[a], alone[b]}, list, &count),
                             CORUN_OK);
            const struct model_co_schedule *one =
                values[2] != 0 ? model_most_profitable(list, count) : model_balanced(list, count);
            if (!one || !(one->profit > greatest))
                continue;
            greatest = one->profit;
            *best = *one;
            chosen[0] = a;
            chosen[1] = b;
            any = true;
        }
    return any;
}

/* Kinds come to an end one after the other; whatever was judged before, the plan is what looking at everything gives, to the last digit. */
static void test_limits(void **unused)
{
    (void)unused;
    const struct corun_queue_scheduler *scheduler = corun_queue_scheduler_find("kernelet");
    uint64_t seed = 16;
    uint32_t pairs = 0, none = 0;
    for (uint32_t trial = 0; trial < 250; trial++) {
        struct crowd crowd;
        draw_crowd(&crowd, &seed);
        const double values[] = {0.1, 0.1, trial / 2 % 2, trial % 2, 32, trial % 5 ? 0 : 0.2 * drawn(&seed), 0};
        const char *refusal = NULL;
        void *state = calloc(1, scheduler->state_bytes);
        assert_int_equal(scheduler->start(state, &crowd.device, values, &refusal), CORUN_OK);
        for (uint32_t left = crowd.view.kind_count; left > 0; left--) {
            struct corun_queue_plan plan = {.profit = NAN};
            struct model_co_schedule best;
            uint32_t chosen[2], gone = (uint32_t)(left * drawn(&seed)), oldest = 0;
            while (!crowd.kinds[oldest].pending)
                oldest++;
            crowd.view.first = oldest;
            assert_int_equal(scheduler->plan(state, &crowd.view, &plan), CORUN_OK);
            if (choose_from_all(&crowd, values, chosen, &best)) {
                assert_int_equal(plan.grant_count, 2);
                assert_true(plan.profit == best.profit);
                for (int i = 0; i < 2; i++) {
                    assert_int_equal(plan.grants[i].launch, chosen[i]);
                    assert_int_equal(plan.grants[i].in_flight_tbs, best.residents[i] * crowd.device.sm_count);
                }
                pairs++;
            } else {
                assert_int_equal(plan.grant_count, 1);
                none++;
            }
            for (uint32_t k = 0; k < crowd.view.kind_count; k++)
                if (crowd.kinds[k].pending && gone-- == 0)
                    crowd.kinds[k].pending = 0;
        }
        scheduler->stop(state);
        free(state);
    }
    assert_true(pairs > 400 && none > 100);
}

/* No co-schedule has more than its limit; `reach` is what each has alone with as many thread blocks. */
static void test_limit_holds(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    double closest = INFINITY;
    for (uint32_t trial = 0; trial < 400; trial++) {
        struct crowd crowd;
        struct model_gpu gpu;
        struct model_kernel models[2];
        const struct model_kernel *const both[2] = {&models[0], &models[1]};
        struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
        struct model_prediction prediction;
        double alone[2], reach[2];
        uint32_t count;
        draw_crowd(&crowd, &seed);
        describe_device(&crowd.device, &gpu);
        for (int i = 0; i < 2; i++) {
            describe_kernel(&crowd.kinds[i].profile, &models[i]);
            assert_int_equal(
                model_predict(&gpu, &models[i], crowd.kinds[i].profile.tbs_per_sm, MODEL_LUMPED, &prediction),
                CORUN_OK);
            alone[i] = prediction.ipc[0];
        }
        assert_int_equal(model_co_schedules(&gpu, both, alone, list, &count), CORUN_OK);
        for (uint32_t c = 0; c < count; c++) {
            for (int i = 0; i < 2; i++) {
                assert_int_equal(model_predict(&gpu, &models[i], list[c].residents[i], MODEL_LUMPED, &prediction),
                                 CORUN_OK);
                reach[i] = prediction.ipc[0];
            }
            double limit = model_profit_limit(&gpu, reach, alone);
            closest = fmin(closest, limit - list[c].profit);
            assert_true(limit >= list[c].profit);
        }
    }
    print_message("closest to its limit: %.2e\n", closest);
}

/* ---- how often pairs are judged ---- */

struct judged {
    uint32_t calls;
};

static enum corun_status count_judge(void *user, const struct corun_queue_view *view, struct greedy_pair *pair)
{
    struct judged *judged = user;
    (void)view;
    judged->calls++;
    pair->possible = true;
    pair->profit = 1.0 / (1 + pair->kinds[0] + pair->kinds[1]);
    pair->residents[0] = pair->residents[1] = 1;
    return CORUN_OK;
}

/* 100 kinds, four of them paired: those at the ends of PUR - MUR, 6 pairs; and a set that comes again costs nothing. */
static void test_breadth(void **unused)
{
    (void)unused;
    enum { MANY = 100 };
    struct corun_queue_kind *many = calloc(MANY, sizeof *many);
    struct corun_queue_launch *launches = calloc(MANY, sizeof *launches);
    struct judged judged = {0};
    struct greedy greedy = {.judge = count_judge, .user = &judged, .breadth = 4};
    for (uint32_t k = 0; k < MANY; k++) {
        many[k] = (struct corun_queue_kind){.profile = SMALL, .pending = 1, .first = k};
        many[k].profile.pipeline_utilization = (double)(k * 37 % MANY) / MANY;
        many[k].profile.memory_utilization = 0;
        launches[k] = (struct corun_queue_launch){.kind = k, .tbs = 30};
    }
    struct corun_queue_view view = {.device = &device,
                                    .kind_count = MANY,
                                    .kinds = many,
                                    .launch_count = MANY,
                                    .launches = launches,
                                    .pending = MANY};
    struct corun_queue_plan plan = {.profit = NAN};
    assert_int_equal(greedy_plan(&greedy, &view, &plan), CORUN_OK);
    assert_int_equal(judged.calls, 6);
    /* 37 k mod 100 is 0, 1, 98, 99 for k = 0, 73, 54, 27; the best of their pairs is 0 and 27 */
    assert_int_equal(plan.grants[0].launch, 0);
    assert_int_equal(plan.grants[1].launch, 27);
    plan = (struct corun_queue_plan){.profit = NAN};
    assert_int_equal(greedy_plan(&greedy, &view, &plan), CORUN_OK);
    assert_int_equal(judged.calls, 6);
    many[0].pending = 0;
    plan = (struct corun_queue_plan){.profit = NAN};
    assert_int_equal(greedy_plan(&greedy, &view, &plan), CORUN_OK);
    assert_in_range(judged.calls, 7, 12); /* pairs of before are known */
    greedy_end(&greedy);
    free(many);
    free(launches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opt),      cmocka_unit_test(test_opt_without_gain), cmocka_unit_test(test_random),
        cmocka_unit_test(test_kernelet), cmocka_unit_test(test_pruned),           cmocka_unit_test(test_least_profit),
        cmocka_unit_test(test_waiting),  cmocka_unit_test(test_needs_latency),    cmocka_unit_test(test_breadth),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_limit_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
