/* SPDX-License-Identifier: MIT */
/* The split by occupancy curves, by script. */
#include "tb_stage.h"

static void measure(struct tb_stage *tb, const double ipc[2][16], double epochs)
{
    const struct corun_view *view = &tb->stage.view;
    for (uint32_t i = 0; i < (uint32_t)epochs; i++) {
        for (uint32_t s = 0; s < view->sm_count; s++)
            for (uint32_t a = 0; a < 2; a++)
                tb->stage.shares[s * 2 + a].thread_instructions =
                    (uint64_t)(ipc[a][tb_stage_limit(tb, s, a)] * STAGE_EPOCH);
        stage_epoch(&tb->stage, IPC(0, 0));
    }
}

static void begin(struct tb_stage *tb, uint32_t sms)
{
    tb_stage_create(tb, "warped-slicer", sms, 2);
    assert_int_equal(stage_start(&tb->stage), CORUN_OK);
    tb_stage_come(tb, 0, 1000, 100, 0, 0);
    assert_true(tb_stage_limit(tb, 0, 0) == 10 && stage_variable(&tb->stage, "sampling") == 0); /* alone */
    tb_stage_come(tb, 1, 1000, 100, 0, 0);
}

/* One that grows to the end, one that has four fifths with 2: that is the best for the worse one of both. */
static void each_gets_what_it_profits_from(void **unused)
{
    (void)unused;
    static const double ipc[2][16] = {{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100},
                                      {0, 40, 80, 100, 100, 99, 98, 97, 96, 95, 94}};
    struct tb_stage tb;
    begin(&tb, 20);
    for (uint32_t s = 0; s < 10; s++) { /* 1 to 10 of each */
        assert_true(tb_stage_limit(&tb, s, 0) == s + 1 && tb_stage_limit(&tb, s, 1) == 0);
        assert_true(tb_stage_limit(&tb, s + 10, 0) == 0 && tb_stage_limit(&tb, s + 10, 1) == s + 1);
    }
    measure(&tb, ipc, 2);
    assert_true(stage_variable(&tb.stage, "sampling") == 1);
    measure(&tb, ipc, 1);
    assert_true(stage_variable(&tb.stage, "sampling") == 0);
    for (uint32_t s = 0; s < 20; s++)
        assert_true(tb_stage_limit(&tb, s, 0) == 8 && tb_stage_limit(&tb, s, 1) == 2);
    assert_true(fabs(stage_variable(&tb.stage, "predicted") - 0.8) < 1e-9);
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 1); /* the same kernel: what is known is used */
    assert_true(tb_stage_limit(&tb, 0, 0) == 8 && stage_variable(&tb.stage, "sampling") == 0);
    tb_stage_kernel(&tb, 1, 1000, 200, 0, 0);
    stage_moment(&tb.stage, CORUN_EVENT_KERNEL_START, 0, 1); /* another one */
    assert_true(tb_stage_limit(&tb, 0, 0) == 1 && tb_stage_limit(&tb, 19, 1) == 5);
    stage_end(&tb.stage);
}

/* Two SMs each, with 1 and 10: what lies between is on the line from one to the other. */
static void few_sms_measure_the_ends(void **unused)
{
    (void)unused;
    static const double ipc[2][16] = {{[1] = 10, [10] = 100}, {[1] = 10, [10] = 100}};
    struct tb_stage tb;
    begin(&tb, 4);
    assert_true(tb_stage_limit(&tb, 0, 0) == 1 && tb_stage_limit(&tb, 1, 0) == 10);
    measure(&tb, ipc, 3);
    assert_true(tb_stage_limit(&tb, 3, 0) == 5 && tb_stage_limit(&tb, 3, 1) == 5);
    assert_true(fabs(stage_variable(&tb.stage, "predicted") - 0.5) < 1e-9);
    stage_end(&tb.stage);
}

/*
 * The second needs seven for the next step, which do not fit beside five: it stays with one, and the first has the
 * rest.
 */
static void steps_that_bring_nothing_are_not_taken(void **unused)
{
    (void)unused;
    static const double ipc[2][16] = {{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100},
                                      {0, 40, 40, 40, 40, 40, 40, 90, 95, 98, 100}};
    struct tb_stage tb;
    begin(&tb, 20);
    measure(&tb, ipc, 3);
    assert_true(tb_stage_limit(&tb, 0, 0) == 9 && tb_stage_limit(&tb, 0, 1) == 1);
    stage_end(&tb.stage);
}

/* Both need nearly all to reach anything: SMs are split. */
static void too_much_is_lost(void **unused)
{
    (void)unused;
    static const double ipc[2][16] = {{0, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 10, 50, 100},
                                      {0, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 10, 50, 100}};
    struct tb_stage tb;
    begin(&tb, 20);
    measure(&tb, ipc, 3);
    assert_true(tb_stage_limit(&tb, 0, 0) == 10 && tb_stage_limit(&tb, 0, 1) == 0);
    assert_true(tb_stage_limit(&tb, 19, 0) == 0 && tb_stage_limit(&tb, 19, 1) == 10);
    stage_moment(&tb.stage, CORUN_EVENT_LEAVE, 0, 1);
    assert_true(tb_stage_limit(&tb, 19, 0) == 10);
    stage_end(&tb.stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_what_it_profits_from),
        cmocka_unit_test(few_sms_measure_the_ends),
        cmocka_unit_test(steps_that_bring_nothing_are_not_taken),
        cmocka_unit_test(too_much_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
