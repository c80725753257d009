/* SPDX-License-Identifier: MIT */
/*
 * Policies that drop, on the software machine: what is taken in the middle of a thread block is begun again, and every thread block counts once. Kernel
 * `again` may start again: thread block b of 32 threads works `spin` rounds and writes 7 * b + t + 1 to place 32 * b + t. Kernel `hand` adds, and may not.
 *
 *     reactions     prints how soon an SM changes hands by draining and by dropping (docs/software-machine.md)
 */
#include "software/stage.h"

#include "share/sm_owners.h"
#include "software/state.h"

#include <stdio.h>

static const char again_ptx[] =
    WORKERS_HEAD ".visible .entry again(.param .u64 out, .param .u32 spin)\n{\n"
                 ".reg .pred %p<2>;\n.reg .b32 %r<13>;\n.reg .b64 %rd<3>;\n"
                 "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [spin];\n"
                 "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmov.u32 %r10, 0;\nmov.u32 %r11, %r1;\n"
                 "SPIN:\nsetp.ge.u32 %p1, %r10, %r9;\n@%p1 bra SPUN;\n"
                 "mad.lo.u32 %r11, %r11, 5, 3;\nadd.u32 %r10, %r10, 1;\nbra SPIN;\nSPUN:\n"
                 "mad.lo.u32 %r12, %r1, 32, %r2;\nmul.wide.u32 %rd2, %r12, 4;\nadd.u64 %rd2, %rd2, %rd1;\n"
                 "mad.lo.u32 %r12, %r1, 7, %r2;\nadd.u32 %r12, %r12, 1;\nand.b32 %r11, %r11, 0;\n"
                 "add.u32 %r12, %r12, %r11;\nst.global.u32 [%rd2], %r12;\nret;\n}\n";

static struct software_application *add_again(struct stage *stage, uint32_t tbs, uint32_t spin, uint32_t launches)
{
    struct software_application *application = stage_add(stage, tbs, spin, launches);
    struct hand *hand = stage->hands[stage->count - 1];
    hand->commands.ptx = again_ptx;
    hand->commands.ptx_bytes = sizeof again_ptx - 1;
    hand->commands.workers_ptx = NULL;
    for (uint32_t i = 0; i < launches; i++)
        hand->launches[i].kernel = "again";
    for (uint32_t i = 0; i < tbs * 32; i++)
        hand->final[i] = i / 32 * 7 + i % 32 + 1;
    return application;
}

/* Limits at random, at every moment, and how they are obeyed. */
struct chaos {
    uint64_t random, lowered;
    bool idempotent[STAGE_MOST];
};
static struct chaos chaos;

static void chaos_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++)
        chaos.idempotent[a] |= view->applications[a].running.kernel && view->applications[a].running.idempotent;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint64_t draw = corun_random(&chaos.random);
        allowances->exclusive[s] = draw % 2;
        for (uint32_t a = 0; a < view->application_count; a++) {
            uint32_t entry = s * view->application_count + a, before = allowances->tb_limit[entry];
            draw = corun_random(&chaos.random);
            if (draw % 4 == 0)
                continue;
            uint32_t limits[] = {0, CORUN_UNLIMITED, (uint32_t)(draw / 64 % 9)};
            allowances->tb_limit[entry] = limits[draw / 4 % 3];
            allowances->reclaim[entry] = draw / 16 % 4 ? CORUN_RECLAIM_DROP : CORUN_RECLAIM_DRAIN;
            chaos.lowered += allowances->tb_limit[entry] < before;
        }
    }
}

static enum corun_status chaos_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

static struct corun_policy chaos_policy(uint32_t needs)
{
    return (struct corun_policy){.version = CORUN_POLICY_VERSION,
                                 .name = "chaos",
                                 .summary = "anything",
                                 .paper = "",
                                 .needs = needs | 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE,
                                 .observes = 1u << CORUN_SEES_IDEMPOTENCE,
                                 .start = chaos_start,
                                 .decide = chaos_decide};
}

/* What each run leaves is right (stage_run), and what workers have counted is what there was to do. */
static void drops_at_random(void **state)
{
    (void)state;
    enum { RUNS = 5 };
    struct stage stage = stage_begin();
    const struct corun_policy policy = chaos_policy(1u << CORUN_CAN_DROP);
    chaos = (struct chaos){.random = 5};
    add_again(&stage, 150, 300, 2);
    add_again(&stage, 300, 150, 3);
    stage_add(&stage, 100, 200, 2);
    stage.options.policy = &policy;
    stage.options.epoch_ns = 8224; /* 10 000 cycles */
    stage_run(&stage, &(struct software_limits){.runs = RUNS});
    const uint64_t tbs[] = {RUNS * 2 * 150, RUNS * 3 * 300, RUNS * 2 * 100};
    for (uint32_t i = 0; i < sizeof tbs / sizeof tbs[0]; i++) {
        const struct application *a = &stage.software->applications[i];
        print_message("%u: %llu thread blocks given back; %llu counted of %llu; limits lowered %llu times\n", i,
                      (unsigned long long)stage.results[i].returned, (unsigned long long)a->done,
                      (unsigned long long)a->skipped, (unsigned long long)chaos.lowered);
        assert_int_equal(stage.results[i].status, CORUN_OK);
        assert_int_equal(stage.results[i].runs, RUNS);
        assert_int_equal(stage.results[i].thread_blocks, tbs[i]);
        assert_int_equal(a->done, a->skipped);
    }
    assert_true(stage.results[0].returned + stage.results[1].returned > 2000);
    assert_true(chaos.idempotent[0] && chaos.idempotent[1] && !chaos.idempotent[2]);
    assert_null(stage.results[0].kept);
    assert_string_equal(stage.results[2].kept, "hand");
    assert_non_null(stage.results[2].keeps);
    stage_end(&stage);
}

/* Thread blocks that are longer than their SM is left to them: when so many have been given back, the rest drain. */
static void it_comes_to_its_end(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    const struct corun_policy policy = chaos_policy(1u << CORUN_CAN_DROP);
    chaos = (struct chaos){.random = 5};
    add_again(&stage, 256, 8000, 1);
    stage.options.policy = &policy;
    stage.options.epoch_ns = 8224;
    stage_run(&stage, &(struct software_limits){.runs = 1, .stall_ns = 10000000});
    print_message("%llu given back in %llu ns\n", (unsigned long long)stage.results[0].returned,
                  (unsigned long long)stage.results[0].ended_ns);
    assert_int_equal(stage.results[0].status, CORUN_OK);
    assert_in_range(stage.results[0].returned, MOST_RETURNED, MOST_RETURNED + 4 * MOST_TBS_PER_SM);
    stage_end(&stage);
}

/* Who writes it without having said so has workers that cannot. */
static void a_policy_has_to_say_so(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    const struct corun_policy policy = chaos_policy(0);
    chaos = (struct chaos){.random = 5};
    add_again(&stage, 100, 100, 2);
    stage.options.policy = &policy;
    assert_int_equal(stage_create(&stage), CORUN_OK);
    assert_int_equal(software_run(stage.software, &(struct software_limits){.runs = 1}, stage.list), CORUN_POLICY);
    assert_non_null(strstr(corun_diagnostics_get(stage.list, 0)->message,
                           "abandons thread blocks and starts them again; the software machine does not"));
    stage_end(&stage);
}

static void set(const struct corun_policy *policy, double *parameters, const char *name, double value)
{
    for (uint32_t i = 0; i < policy->parameter_count; i++)
        if (!strcmp(policy->parameters[i].name, name))
            parameters[i] = value;
}

/* Nanoseconds from a decision to the new owner's first workers, where two take turns. */
static uint64_t hand_over(enum sm_reclaim reclaim, uint32_t spin, struct software_result *result)
{
    struct stage stage = stage_begin();
    double parameters[8] = {0};
    const struct corun_policy *policy = corun_policy_find("time-slice");
    for (uint32_t i = 0; i < policy->parameter_count; i++)
        parameters[i] = policy->parameters[i].initial;
    set(policy, parameters, "reclaim", reclaim);
    set(policy, parameters, "microseconds", 500);
    for (uint32_t i = 0; i < 2; i++)
        add_again(&stage, 4000000 / spin, spin, 1);
    stage.options.policy = policy;
    stage.options.parameters = parameters;
    stage_run(&stage, &(struct software_limits){.window_ns = 3000000});
    struct software_control control;
    software_control(stage.software, &control);
    *result = stage.results[0];
    assert_true(control.hand_overs >= 12);
    uint64_t mean = control.hand_over_ns / control.hand_overs;
    stage_end(&stage);
    return mean;
}

static void an_sm_changes_hands_sooner(void **state)
{
    (void)state;
    struct software_result drained, dropped;
    uint64_t drain = hand_over(SM_RECLAIM_DRAIN, 4000, &drained), drop = hand_over(SM_RECLAIM_DROP, 4000, &dropped);
    print_message("hand-over: %llu ns by draining, %llu by dropping (%llu thread blocks given back)\n",
                  (unsigned long long)drain, (unsigned long long)drop, (unsigned long long)dropped.returned);
    assert_int_equal(drained.returned, 0);
    assert_true(dropped.returned > 0);
    assert_true(2 * drop < drain);
}

/* How long a thread block takes that has the SM with as many as fit: nanoseconds. */
static double length_of(uint32_t spin)
{
    enum { WINDOW_NS = 1000000 };
    struct stage stage = stage_begin();
    stage.options.policy = corun_policy_find("even");
    add_again(&stage, 40000000 / spin, spin, 1);
    stage_run(&stage, &(struct software_limits){.window_ns = WINDOW_NS});
    double done = (double)stage.software->applications[0].done;
    stage_end(&stage);
    return STAGE_SMS * MOST_TBS_PER_SM * (double)WINDOW_NS / done;
}

/* What docs/software-machine.md says of drops. */
static int print_reactions(void)
{
    static const uint32_t spins[] = {80, 320, 1600};
    for (uint32_t i = 0; i < sizeof spins / sizeof spins[0]; i++) {
        struct software_result drained, dropped;
        uint64_t drain = hand_over(SM_RECLAIM_DRAIN, spins[i], &drained);
        uint64_t drop = hand_over(SM_RECLAIM_DROP, spins[i], &dropped);
        const uint64_t instructions = 32 * (5 * (uint64_t)spins[i] + 20);
        printf("thread block %.1f us: by draining %.1f us, by dropping %.1f us; thread blocks done %llu, then %llu\n",
               length_of(spins[i]) / 1e3, (double)drain / 1e3, (double)drop / 1e3,
               (unsigned long long)(drained.progress / instructions),
               (unsigned long long)(dropped.progress / instructions));
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "reactions"))
        return print_reactions();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_at_random),
        cmocka_unit_test(it_comes_to_its_end),
        cmocka_unit_test(a_policy_has_to_say_so),
        cmocka_unit_test(an_sm_changes_hands_sooner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
