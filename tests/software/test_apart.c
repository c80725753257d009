/* SPDX-License-Identifier: MIT */
/* Launches on SMs apart, on a GPU that has green contexts: where they land, in which order, and what is refused. */
#include "software/stage.h"

#include "corun/workload.h"

#include <stdio.h>

enum { SMS = 6, APART_SMS = 2 }; /* of the test's GPU; of the policy below */

#define HEAD \
    WORKERS_HEAD \
    ".visible .entry hand(.param .u64 out, .param .u32 spin)\n{\n" \
    ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<20>;\n" \
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [spin];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n" \
    "mad.lo.u32 %r12, %r1, 32, %r2;\nmul.wide.u32 %rd2, %r12, 4;\nadd.u64 %rd2, %rd2, %rd1;\n"
#define SPIN \
    "mov.u32 %r10, 0;\nSPIN:\nsetp.ge.u32 %p1, %r10, %r9;\n@%p1 bra SPUN;\n" \
    "mad.lo.u32 %r11, %r11, 5, 3;\nadd.u32 %r10, %r10, 1;\nbra SPIN;\nSPUN:\nand.b32 %r13, %r11, 0;\n"

/* Reads its place, works, and writes three times that and one more: two launches side by side leave something else than one behind the other. */
static const char ordered_ptx[] = HEAD "ld.global.u32 %r14, [%rd2];\nmov.u32 %r11, %r14;\n" SPIN
                                       "mad.lo.u32 %r14, %r14, 3, 1;\nadd.u32 %r14, %r14, %r13;\n"
                                       "st.global.u32 [%rd2], %r14;\nret;\n}\n";

/* Writes where it is. */
static const char placed_ptx[] = HEAD "mov.u32 %r11, %r1;\n" SPIN "mov.u32 %r14, %smid;\nadd.u32 %r14, %r14, %r13;\n"
                                      "st.global.u32 [%rd2], %r14;\nret;\n}\n";

static uint64_t draws;
static enum corun_sm_set wanted;
static uint32_t granted;

static enum corun_status quiet_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

/* From moment to moment somewhere else, with few thread blocks, some more, or some launches. */
static void restless_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++) {
        uint64_t draw = corun_random(&draws);
        uint32_t grants[] = {1 + (uint32_t)(draw / 32 % 12), 13 + (uint32_t)(draw / 32 % 24),
                             40 + (uint32_t)(draw / 32 % 100)};
        allowances->sm_set[a] = (enum corun_sm_set)(draw % CORUN_SM_SETS);
        allowances->grant[a] = grants[draw / 4 % 3];
    }
}

/* The other set with each launch; as the one before has not ended, that is the one before the next. */
static void changing_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++)
        allowances->sm_set[a] = (enum corun_sm_set)((allowances->sm_set[a] + 1) % CORUN_SM_SETS);
}

static void steady_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                          struct corun_allowances *allowances)
{
    (void)state, (void)moment;
    for (uint32_t a = 0; a < view->application_count; a++) {
        allowances->sm_set[a] = wanted;
        allowances->grant[a] = granted;
    }
}

static const struct corun_policy_parameter parameters[] = {{"apart", APART_SMS, 0, 100, true, "", NULL}};

static struct corun_policy scripted(void (*decide)(void *, const struct corun_view *, struct corun_policy_moment,
                                                   struct corun_allowances *))
{
    return (struct corun_policy){.version = CORUN_POLICY_VERSION,
                                 .name = "scripted",
                                 .summary = "",
                                 .paper = "",
                                 .parameters = parameters,
                                 .parameter_count = 1,
                                 .needs = 1u << CORUN_CAN_GRANT | 1u << CORUN_CAN_APART,
                                 .start = quiet_start,
                                 .decide = decide};
}

static void add(struct stage *stage, const char *ptx, size_t bytes, uint32_t tbs, uint32_t spin, uint32_t launches)
{
    stage_add(stage, tbs, spin, launches);
    struct hand *hand = stage->hands[stage->count - 1];
    hand->commands.ptx = ptx;
    hand->commands.ptx_bytes = bytes;
    hand->commands.workers_ptx = NULL;
    for (uint32_t i = 0; i < tbs * 32; i++) {
        hand->final[i] = hand->initial[i];
        for (uint32_t k = 0; k < launches; k++)
            hand->final[i] = hand->final[i] * 3 + 1;
    }
}

/* One behind the other, wherever they are, whole and in slices. */
static void launches_keep_their_order(void **state)
{
    (void)state;
    static const enum software_launching ways[] = {SOFTWARE_WHOLE, SOFTWARE_SLICES, SOFTWARE_SLICES};
    struct corun_policy policies[] = {scripted(changing_decide), scripted(changing_decide), scripted(restless_decide)};
    for (uint32_t i = 0; i < 3; i++) {
        struct stage stage = stage_begin();
        stage.options.launching = ways[i];
        stage.options.policy = &policies[i];
        stage.options.epoch_ns = 5000;
        add(&stage, ordered_ptx, sizeof ordered_ptx - 1, 40, 300, 9);
        add(&stage, ordered_ptx, sizeof ordered_ptx - 1, 70, 100, 3);
        draws = 3;
        stage_run(&stage, &(struct software_limits){.runs = 5}); /* and results are compared */
        for (uint32_t a = 0; a < 2; a++) {
            assert_int_equal(stage.results[a].runs, 5);
            assert_int_equal(stage.results[a].launches, a ? 15 : 45);
            print_message("%llu whole, %llu slices\n", (unsigned long long)stage.results[a].whole,
                          (unsigned long long)stage.results[a].slices);
            assert_true(i < 2 ? stage.results[a].whole == stage.results[a].launches : stage.results[a].slices > 10);
        }
        stage_end(&stage);
    }
}

/* SMs on which the first run has left thread blocks of an application, as a mask. */
static uint32_t sms_of(const struct stage *stage, uint32_t application, uint32_t tbs)
{
    const uint32_t *left = software_left(stage->software, application, 0);
    uint32_t mask = 0;
    assert_non_null(left);
    for (uint32_t i = 0; i < tbs * 32; i++) {
        assert_true(left[i] < SMS);
        mask |= 1u << left[i];
    }
    return mask;
}

static void launches_land_where_they_may(void **state)
{
    (void)state;
    static const uint32_t masks[CORUN_SM_SETS] = {
        [CORUN_SMS_ALL] = (1u << SMS) - 1,
        [CORUN_SMS_APART] = (1u << APART_SMS) - 1,
        [CORUN_SMS_REST] = ((1u << SMS) - 1) & ~((1u << APART_SMS) - 1),
    };
    struct corun_policy policy = scripted(steady_decide);
    for (uint32_t i = 0; i < 2 * CORUN_SM_SETS; i++) {
        struct stage stage = stage_begin();
        stage.options.launching = i % 2 ? SOFTWARE_SLICES : SOFTWARE_WHOLE;
        stage.options.policy = &policy;
        stage.options.check = false;
        stage.options.keep = true;
        add(&stage, placed_ptx, sizeof placed_ptx - 1, 60, 50, 1);
        add(&stage, placed_ptx, sizeof placed_ptx - 1, 60, 50, 1);
        wanted = (enum corun_sm_set)(i / 2);
        granted = i % 2 ? 12 : CORUN_UNLIMITED;
        stage_run(&stage, &(struct software_limits){.runs = 2});
        struct software_info info;
        software_describe(stage.software, &info);
        assert_true(info.apart_sms == APART_SMS && info.own_sms == 0);
        for (uint32_t a = 0; a < 2; a++)
            assert_int_equal(sms_of(&stage, a, 60), masks[wanted]);
        stage_end(&stage);
    }
}

static void expect_refusal(const struct software_options *options, double apart, uint32_t count, const char *message)
{
    struct corun_policy policy = scripted(steady_decide);
    struct stage stage = stage_begin();
    stage.options = *options;
    stage.options.policy = &policy;
    stage.options.parameters = &apart;
    stage_add(&stage, 8, 50, 1);
    struct software_application applications[SOFTWARE_MOST_APPLICATIONS];
    for (uint32_t a = 0; a < count; a++)
        applications[a] = stage.applications[0];
    assert_true(software_create(&stage.options, applications, count, stage.list, &stage.software) != CORUN_OK);
    bool found = false;
    for (size_t i = 0; i < corun_diagnostics_count(stage.list); i++)
        found |= strstr(corun_diagnostics_get(stage.list, i)->message, message) != NULL;
    if (!found)
        fail_msg("%s", corun_diagnostics_get(stage.list, 0)->message);
    stage_end(&stage);
}

static void what_is_refused(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    struct software_options options = stage.options;
    stage_end(&stage);
    options.launching = SOFTWARE_SLICES;
    expect_refusal(&options, 3 + APART_SMS, 1,
                   "has 6 SMs, of which 5 cannot be divided off: 2 to 4 can, in steps of 2");
    expect_refusal(&options, SMS, 1, "has 6 SMs: with 6 of its own none is left");
    expect_refusal(&options, APART_SMS, 6, "scripted:apart=2 is for up to 5 applications, not 6");
    expect_refusal(&options, 0, 1, "policy scripted needs a machine that keeps launches of applications on SMs apart");
    options.favour = SOFTWARE_PRIORITY;
    expect_refusal(&options, APART_SMS, 1, "is for plain streams, which have neither a priority nor SMs of their own");
    options.favour = SOFTWARE_NO_FAVOUR;
    options.launching = SOFTWARE_WORKERS;
    expect_refusal(&options, APART_SMS, 1, "policy scripted needs a machine that");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_keep_their_order),
        cmocka_unit_test(launches_land_where_they_may),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
