/* SPDX-License-Identifier: MIT */
/* Policies on the software machine: built-in ones unchanged, and one of the test's that changes everything all the time. */
#include "software/stage.h"

/* Mean SMs of an application over the epochs that ended in (from, to]. */
static double mean_sms(const struct stage *stage, uint32_t application, uint64_t from, uint64_t to)
{
    const struct software_epoch *epochs;
    uint32_t count = software_epochs(stage->software, &epochs), seen = 0;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if (epochs[i].end_ns > from && epochs[i].end_ns <= to) {
            sum += epochs[i].shares[application].sms;
            seen++;
        }
    assert_true(seen > 0);
    return sum / seen;
}

static struct stage two(uint32_t first_spin, uint32_t second_spin)
{
    struct stage stage = stage_begin();
    stage_add(&stage, 600, first_spin, 1);
    stage_add(&stage, 600, second_spin, 1);
    return stage;
}

static void fixed_split(void **state)
{
    (void)state;
    const struct corun_policy *fixed = corun_policy_find("fixed");
    double parameters[64] = {1, 3};
    struct stage stage = two(300, 300);
    stage.options.policy = fixed;
    stage.options.parameters = parameters;
    stage_run(&stage, &(struct software_limits){.window_ns = 1000000});
    print_message("%.4f and %.4f SMs\n", mean_sms(&stage, 0, 100000, 1000000), mean_sms(&stage, 1, 100000, 1000000));
    assert_true(mean_sms(&stage, 0, 100000, 1000000) <= 1);
    assert_true(mean_sms(&stage, 1, 100000, 1000000) <= 3);
    double ratio = (double)stage.results[1].progress / (double)stage.results[0].progress;
    print_message("three SMs do %.3f times what one does\n", ratio);
    assert_true(ratio > 2.7 && ratio < 3.1);
    stage_end(&stage);
}

/* A launch of as many thread blocks as its application has SMs has one on each, not two where two workers came first. */
static void few_thread_blocks_are_spread(void **state)
{
    (void)state;
    double parameters[64] = {1, 3};
    struct stage stage = stage_begin();
    stage_add(&stage, 4, 20000, 1); /* there is room beside it, in which workers of the other one land and leave */
    stage_add(&stage, 3, 6000, 1);
    stage.options.policy = corun_policy_find("fixed");
    stage.options.parameters = parameters;
    stage.options.check = false;
    stage_run(&stage, &(struct software_limits){.window_ns = 2000000});
    print_message("3 thread blocks on %.3f SMs of 3\n", mean_sms(&stage, 1, 300000, 2000000));
    assert_true(mean_sms(&stage, 1, 300000, 2000000) > 2.7);
    stage_end(&stage);
}

/*
 * Thread blocks of the first application take the shared memory of their SMs, and leave room for others all the same. Workers of the second one that land
 * there leave; one finds the SM that is its own each time.
 */
static void one_finds_its_own_sm(void **state)
{
    (void)state;
    double parameters[64] = {3, 1};
    struct stage stage = stage_begin();
    stage_add(&stage, 60, 20000, 1);
    stage_add(&stage, 1, 2000, 2);
    stage.hands[0]->launches[0].shared_bytes = 40000;
    stage.options.policy = corun_policy_find("fixed");
    stage.options.parameters = parameters;
    stage.options.check = false;
    stage_run(&stage, &(struct software_limits){.window_ns = 2000000});
    print_message("1 thread block on %.3f SMs of 1\n", mean_sms(&stage, 1, 100000, 2000000));
    assert_true(mean_sms(&stage, 0, 300000, 2000000) > 2.9);
    assert_true(mean_sms(&stage, 1, 300000, 2000000) > 0.8);
    stage_end(&stage);
}

static void even_follows_arrivals(void **state)
{
    (void)state;
    struct stage stage = two(300, 300);
    stage.options.policy = corun_policy_find("even");
    stage.applications[1].start_ns = 500000;
    stage_run(&stage, &(struct software_limits){.window_ns = 1500000});
    struct software_control control;
    software_control(stage.software, &control);
    print_message("alone %.2f SMs, then %.2f and %.2f; %llu hand-overs of %.1f us\n",
                  mean_sms(&stage, 0, 50000, 500000), mean_sms(&stage, 0, 600000, 1500000),
                  mean_sms(&stage, 1, 600000, 1500000), (unsigned long long)control.hand_overs,
                  (double)control.hand_over_ns / control.hand_overs / 1000);
    assert_true(mean_sms(&stage, 0, 50000, 500000) > 3.5);
    assert_true(mean_sms(&stage, 0, 600000, 1500000) <= 2 && mean_sms(&stage, 0, 600000, 1500000) > 1.7);
    assert_true(mean_sms(&stage, 1, 600000, 1500000) <= 2 && mean_sms(&stage, 1, 600000, 1500000) > 1.7);
    stage_end(&stage);
}

/* What a kernel does alone in a nanosecond: the same in each run, so it is run once for each of the two kernels. */
static double alone(uint32_t spin)
{
    static struct {
        uint32_t spin;
        double rate;
    } known[2];
    uint32_t place = 0;
    while (place < 2 && known[place].spin && known[place].spin != spin)
        place++;
    assert_true(place < 2);
    if (known[place].spin)
        return known[place].rate;
    struct stage stage = stage_begin();
    stage_add(&stage, 600, spin, 1);
    stage.options.launching = SOFTWARE_WHOLE;
    stage_run(&stage, &(struct software_limits){.runs = 8});
    double rate = (double)stage.results[0].progress / (double)stage.results[0].ended_ns;
    stage_end(&stage);
    known[place].spin = spin;
    known[place].rate = rate;
    return rate;
}

/* What the first one reaches of itself alone in `window_ns`, with a goal of 60 %, and the second one, without. */
static void share_with_goal(const char *policy, const double *parameters, uint64_t window_ns, double *reached,
                            double *other)
{
    double first_alone = alone(300), second_alone = alone(200); /* while no other stage is there */
    struct stage stage = two(300, 200);
    stage.options.policy = corun_policy_find(policy);
    stage.options.parameters = parameters;
    stage.applications[0].goal = CORUN_GOAL_FRACTION;
    stage.applications[0].goal_value = 0.6;
    stage.applications[0].isolated_rate = first_alone;
    stage.options.check = false; /* results would go the way of the looks */
    stage_run(&stage, &(struct software_limits){.window_ns = window_ns});
    *reached =
        (double)stage.results[0].progress / (double)stage.results[0].measured_ns / stage.applications[0].isolated_rate;
    *other = (double)stage.results[1].progress / (double)stage.results[1].measured_ns / second_alone;
    print_message("%s: goal 0.600, reached %.3f; the other did %.3f of its own\n", policy, *reached, *other);
    assert_false(stage.results[0].out_of_reach);
    stage_end(&stage);
}

static void smqos_meets_a_goal(void **state)
{
    (void)state;
    double parameters[] = {0.01, 0, 0, 0}; /* gate=off: this machine cannot switch SMs off */
    double reached, other;
    share_with_goal("smqos", parameters, 3000000, &reached, &other);
    assert_true(reached >= 0.6 && reached < 0.66);
    assert_true(other > 0.3);
}

static void pace_meets_a_goal(void **state)
{
    (void)state;
    double reached, other;
    share_with_goal("pace", NULL, 4000000, &reached, &other);
    assert_true(reached >= 0.6 && reached < 0.62);
    assert_true(other > 0.37);
}

static void spart_qos_meets_a_goal_by_draining(void **state)
{
    (void)state;
    const struct corun_policy *spart = corun_policy_find("spart-qos");
    double parameters[16], reached, other;
    for (uint32_t i = 0; i < spart->parameter_count; i++)
        parameters[i] = strcmp(spart->parameters[i].name, "reclaim") ? spart->parameters[i].initial : 0;
    share_with_goal("spart-qos", parameters, 1500000, &reached, &other);
    assert_true(reached >= 0.6 && reached < 0.8);
    assert_true(other > 0.2);
}

/* Three of four SMs for 60 %: a static split has more than the goal. Thread limits: 60 % of the threads. */
static void static_baselines(void **state)
{
    (void)state;
    double parameters[1] = {0}, reached, other;
    share_with_goal("slate", parameters, 1500000, &reached, &other);
    assert_true(reached > 0.68 && reached < 0.8);
    assert_true(other > 0.2 && other < 0.5);
    share_with_goal("thread-limits", parameters, 1500000, &reached, &other);
    assert_true(reached > 0.5 && other > 0.3);
}

/* gate=on, as hardware has it, is refused by name. */
static void power_is_refused(void **state)
{
    (void)state;
    struct stage stage = two(1, 1);
    stage.options.policy = corun_policy_find("smqos");
    assert_int_equal(stage_create(&stage), CORUN_OK);
    assert_int_equal(software_run(stage.software, &(struct software_limits){.runs = 1}, stage.list), CORUN_POLICY);
    assert_non_null(strstr(corun_diagnostics_get(stage.list, 0)->message, "gate=off does without"));
    stage_end(&stage);
}

/* Owners of SMs, and limits inside them, at random, at every moment. */
struct chaos {
    uint64_t random, changes, mixed, moments;
    bool exclusive;
};
static struct chaos chaos;

static void chaos_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    chaos.moments++;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t there = 0;
        for (uint32_t a = 0; a < view->application_count; a++)
            there += view->shares[s * view->application_count + a].resident_tbs != 0;
        chaos.mixed += there > 1;
        allowances->exclusive[s] = chaos.exclusive;
        for (uint32_t a = 0; a < view->application_count; a++) {
            uint32_t *limit = &allowances->tb_limit[s * view->application_count + a], before = *limit;
            uint64_t draw = corun_random(&chaos.random);
            if (draw % 8)
                *limit = draw / 8 % 3 == 0 ? 0 : draw / 8 % 3 == 1 ? CORUN_UNLIMITED : (uint32_t)(draw / 16 % 9);
            chaos.changes += *limit != before;
        }
    }
}

static enum corun_status chaos_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

static const struct corun_policy chaos_policy = {.version = CORUN_POLICY_VERSION,
                                                 .name = "chaos",
                                                 .summary = "anything",
                                                 .paper = "",
                                                 .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
                                                 .observes = 1u << CORUN_SEES_RESIDENT_TBS,
                                                 .start = chaos_start,
                                                 .decide = chaos_decide};

/* Every run leaves the right bytes (stage_run), every thread block is done once, and nobody mixes where nobody may. */
enum { RUNS = 10 };

static void live_with_chaos(bool exclusive)
{
    struct stage stage = stage_begin();
    chaos = (struct chaos){.random = 7, .exclusive = exclusive};
    stage_add(&stage, 400, 100, 3);
    stage_add(&stage, 500, 30, 2);
    stage_add(&stage, 40, 900, 4);
    stage.options.policy = &chaos_policy;
    stage.options.epoch_ns = 8224; /* 10 000 cycles */
    stage_run(&stage, &(struct software_limits){.runs = RUNS});
    print_message("%llu changes in %llu moments\n", (unsigned long long)chaos.changes,
                  (unsigned long long)chaos.moments);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(stage.results[i].status, CORUN_OK);
        assert_int_equal(stage.results[i].runs, RUNS);
    }
    assert_int_equal(stage.results[0].thread_blocks, RUNS * 3 * 400);
    assert_int_equal(stage.results[1].thread_blocks, RUNS * 2 * 500);
    assert_int_equal(stage.results[2].thread_blocks, RUNS * 4 * 40);
    assert_true(chaos.changes > 1000);
    if (exclusive)
        assert_int_equal(chaos.mixed, 0);
    else
        assert_true(chaos.mixed > 0);
    stage_end(&stage);
}

static void chaos_apart(void **state)
{
    (void)state;
    live_with_chaos(true);
}

static void chaos_mixed(void **state)
{
    (void)state;
    live_with_chaos(false);
}

/* With a pattern: the tests of these names. */
int main(int count, char **words)
{
    if (count > 1)
        cmocka_set_test_filter(words[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_split),
        cmocka_unit_test(few_thread_blocks_are_spread),
        cmocka_unit_test(one_finds_its_own_sm),
        cmocka_unit_test(even_follows_arrivals),
        cmocka_unit_test(smqos_meets_a_goal),
        cmocka_unit_test(pace_meets_a_goal),
        cmocka_unit_test(spart_qos_meets_a_goal_by_draining),
        cmocka_unit_test(static_baselines),
        cmocka_unit_test(power_is_refused),
        cmocka_unit_test(chaos_apart),
        cmocka_unit_test(chaos_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
