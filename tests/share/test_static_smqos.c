/* SPDX-License-Identifier: MIT */
/* Static SMQoS by script: the ratio of SMs is the goal. */
#include "sm_stage.h"

static uint32_t sms_of(struct stage *stage, char letter)
{
    uint32_t count = 0;
    for (const char *c = stage_owners(stage); *c; c++)
        count += *c == letter;
    return count;
}

/* A has a goal of so many per cent; the others have none. */
static void expect(uint32_t sms, uint32_t applications, double percent, uint32_t expected)
{
    struct stage stage;
    stage_create(&stage, "static-smqos", sms, applications);
    stage.applications[0].goal = CORUN_GOAL_FRACTION;
    stage.applications[0].goal_value = percent / 100;
    assert_int_equal(stage_start(&stage), CORUN_OK);
    for (uint32_t a = 0; a < applications; a++)
        stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, a);
    if (sms_of(&stage, 'A') != expected)
        fail_msg("%g %% of %u: %s", percent, sms, stage_owners(&stage));
    assert_int_equal(sms_of(&stage, '.') + sms_of(&stage, '-'), 0);
    stage_end(&stage);
}

static void ratio_is_the_goal(void **unused)
{
    (void)unused;
    expect(24, 2, 80, 20); /* 19.2 */
    expect(24, 2, 85, 21); /* 20.4 */
    expect(24, 2, 90, 22); /* 21.6 */
    expect(24, 2, 95, 23); /* 22.8 */
    expect(24, 2, 50, 12);
    expect(25, 2, 28, 7); /* and not the 7.000000000000001 of floating point */
    for (uint32_t percent = 5; percent < 100; percent += 5)
        expect(20, 2, percent, percent / 5);
    expect(24, 2, 100, 23); /* the other one keeps one */
    expect(24, 3, 95, 22);
    expect(2, 2, 99, 1);
}

static void others_share_the_rest_evenly(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "static-smqos", 10, 4);
    stage.applications[1].goal = CORUN_GOAL_IPC; /* 450 of the 900 that it reaches alone */
    stage.applications[1].goal_ipc = 450;
    stage.applications[1].isolated_ipc = 900;
    assert_int_equal(stage_start(&stage), CORUN_OK);
    for (uint32_t a = 0; a < 4; a++)
        stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, a);
    assert_string_equal(stage_owners(&stage), "AABBBBBCCD");
    stage_epoch(&stage, IPC(0, 0, 0, 0)); /* nothing moves it */
    assert_string_equal(stage_owners(&stage), "AABBBBBCCD");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 0);
    assert_string_equal(stage_owners(&stage), "BBBBBCCCDD");
    stage.applications[1].goal_ipc = 810;
    stage_epoch(&stage, IPC(0, 0, 0, 0)); /* 90 %; C and D keep one each */
    assert_string_equal(stage_owners(&stage), "BBBBBBBBCD");
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "CCCCCDDDDD");
    stage_end(&stage);
}

static void several_goals_must_add_up(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "static-smqos", 2, 2);
    stage.applications[0].goal = stage.applications[1].goal = CORUN_GOAL_FRACTION;
    stage.applications[0].goal_value = 0.6;
    stage.applications[1].goal_value = 0.4;
    assert_int_equal(stage_start(&stage), CORUN_OK);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 0);
    stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, 1);
    assert_string_equal(stage_owners(&stage), "AB"); /* 1.2 and 0.8; everybody has at least one */
    stage_end(&stage);
    stage_create(&stage, "static-smqos", 20, 2);
    stage.applications[0].goal = stage.applications[1].goal = CORUN_GOAL_FRACTION;
    stage.applications[0].goal_value = 0.6;
    stage.applications[1].goal_value = 0.5;
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "add up"));
    stage_end(&stage);
    stage_create(&stage, "static-smqos", 2, 3);
    assert_int_equal(stage_start(&stage), CORUN_POLICY);
    assert_non_null(strstr(stage.allowances.refusal, "more applications than SMs"));
    stage_end(&stage);
}

/* 10 SMs, A: 60 %. While they run, B gets a goal of 60 %, too: A comes first, and C keeps its SM. */
static void goals_in_conflict_during_the_run(void **unused)
{
    (void)unused;
    struct stage stage;
    stage_create(&stage, "static-smqos", 10, 3);
    stage.applications[0].goal = CORUN_GOAL_FRACTION;
    stage.applications[0].goal_value = 0.6;
    assert_int_equal(stage_start(&stage), CORUN_OK);
    for (uint32_t a = 0; a < 3; a++)
        stage_moment(&stage, CORUN_EVENT_ARRIVE, 0, a);
    assert_string_equal(stage_owners(&stage), "AAAAAABBCC");
    for (uint32_t s = 0; s < 10; s++)
        stage_resident(&stage, s, (uint32_t)(stage_owners(&stage)[s] - 'A'), 2);
    stage.applications[1].goal = CORUN_GOAL_FRACTION;
    stage.applications[1].goal_value = 0.6;
    stage_epoch(&stage, IPC(0, 0, 0));
    assert_string_equal(stage_owners(&stage), "AAAAAABBBC");
    /* C ends before SM 8, which still holds its thread blocks, has changed hands */
    stage_resident(&stage, 8, 2, 0);
    stage_resident(&stage, 9, 2, 0);
    stage_moment(&stage, CORUN_EVENT_LEAVE, 0, 2);
    assert_string_equal(stage_owners(&stage), "AAAAAABBBB");
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratio_is_the_goal),
        cmocka_unit_test(others_share_the_rest_evenly),
        cmocka_unit_test(several_goals_must_add_up),
        cmocka_unit_test(goals_in_conflict_during_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
