/* SPDX-License-Identifier: MIT */
/* When a policy is called, in which order with what the machine is asked for, and what the epochs make of counts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scripted_machine.h"

static void an_arrival_an_epoch_and_a_departure_in_order(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.limits.policy_call = scripted_policy_call;
    m.limits.user = &m;
    assert_int_equal(scripted_open_with(&m, true), CORUN_OK);
    expect_log(&m, "read [ START ] obey-start");
    assert_int_equal(governor_moment(m.governor, 5, CORUN_EVENT_ARRIVE, 0, 1), CORUN_OK);
    expect_log(&m, "read [ ARRIVE(0,1) ] obey");
    assert_int_equal(governor_moment(m.governor, 7, CORUN_EVENT_KERNEL_START, 0, 1), CORUN_OK);
    expect_log(&m, "read [ KERNEL_START(0,1) ] obey");
    assert_int_equal(m.view->cycle, 7);
    assert_int_equal(governor_next_epoch(m.governor), 1000);
    assert_int_equal(governor_epoch(m.governor, 1000), CORUN_OK);
    expect_log(&m, "read count [ EPOCH ] obey");
    assert_int_equal(governor_next_epoch(m.governor), 2000);
    assert_int_equal(governor_tb_left(m.governor, 1500, 1, 1, true), CORUN_OK); /* nobody asked to hear of it */
    expect_log(&m, "");
    assert_int_equal(governor_moment(m.governor, 1600, CORUN_EVENT_LEAVE, 0, 1), CORUN_OK);
    expect_log(&m, "read [ LEAVE(0,1) ] obey");
    assert_int_equal(governor_stop(m.governor), CORUN_OK);
    expect_log(&m, "[ STOP ]");
    scripted_end(&m); /* not stopped again */
    assert_int_equal(m.stops, 1);
}

static void without_a_policy_epochs_are_still_measured(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    assert_int_equal(scripted_open_with(&m, false), CORUN_OK);
    assert_null(governor_policy(m.governor));
    const struct corun_allowances *allowances = governor_allowances(m.governor);
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++)
        assert_int_equal(allowances->tb_limit[i], CORUN_UNLIMITED);
    assert_true(allowances->powered[0] && allowances->powered[1]);
    assert_int_equal(governor_moment(m.governor, 5, CORUN_EVENT_ARRIVE, 0, 1), CORUN_OK);
    expect_log(&m, "");
    m.applications[0] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING, .progress = 4000};
    assert_int_equal(governor_epoch(m.governor, 1000), CORUN_OK);
    expect_log(&m, "read count");
    assert_true(governor_best_epoch_ipc(m.governor, 0) == 4);
    assert_int_equal(governor_stop(m.governor), CORUN_OK);
    scripted_end(&m);
}

static void an_epoch_is_as_long_as_the_machine_took(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    scripted_open(&m);
    struct corun_application_reading *a = &m.applications[0], *b = &m.applications[1];
    a->state = b->state = CORUN_APPLICATION_RUNNING;
    b->arrived = 1;
    a->progress = b->progress = 3000;
    m.counts[0] = (struct corun_share_counts){100, 10, 20, 1.5};
    assert_int_equal(governor_epoch(m.governor, 1500), CORUN_OK); /* half an epoch late */
    assert_true(m.view->applications[0].epoch_ipc == 2 && m.view->applications[0].ipc == 2);
    assert_true(governor_best_epoch_ipc(m.governor, 0) == 2);
    assert_true(governor_best_epoch_ipc(m.governor, 1) == 0); /* it was not there for all of it */
    assert_int_equal(m.view->shares[0].thread_instructions, 100);
    assert_int_equal(m.view->shares[0].warp_instructions, 10);
    assert_int_equal(m.view->shares[0].issue_cycles, 20);
    assert_true(m.view->shares[0].idle_warps == 1.5);
    assert_int_equal(governor_next_epoch(m.governor), 2000);
    a->progress = 2000; /* more was dropped than done */
    b->progress = 3500;
    m.counts[0] = (struct corun_share_counts){150, 11, 20, 0};
    assert_int_equal(governor_epoch(m.governor, 2000), CORUN_OK);
    assert_true(m.view->applications[0].epoch_ipc == 0);
    assert_true(m.view->applications[1].epoch_ipc == 1 && governor_best_epoch_ipc(m.governor, 1) == 1);
    assert_int_equal(m.view->shares[0].thread_instructions, 50);
    assert_int_equal(m.view->shares[0].issue_cycles, 0);
    assert_int_equal(governor_epoch(m.governor, 5100), CORUN_OK); /* several late: they are one */
    assert_int_equal(governor_next_epoch(m.governor), 6000);
    governor_skip_epochs(m.governor, 8000); /* nothing happened */
    assert_int_equal(governor_next_epoch(m.governor), 9000);
    b->progress += 500;
    assert_int_equal(governor_epoch(m.governor, 9000), CORUN_OK);
    assert_true(m.view->applications[1].epoch_ipc == 0.5);
    a->state = CORUN_APPLICATION_LEFT;
    a->left = 4000;
    assert_int_equal(governor_moment(m.governor, 9500, CORUN_EVENT_LEAVE, 0, 0), CORUN_OK);
    assert_true(m.view->applications[0].ipc == 0.5); /* its time is over */
    scripted_end(&m);
}

/* ---- limits ---- */

static uint32_t wanted[SCRIPTED_SHARES];

static void write_limits(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)m, (void)view, (void)moment;
    memcpy(allowances->tb_limit, wanted, sizeof wanted);
}

static void set_limits(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    memcpy(wanted, (uint32_t[]){a, b, c, d}, sizeof wanted);
}

static void give_one_back(struct scripted_machine *m, uint32_t entry)
{
    m->held[entry].tbs--;
}

static void limits_are_followed_and_told_once_when_reached(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.on_decide = write_limits;
    set_limits(8, 8, 8, 8);
    scripted_open(&m);
    m.held[3].tbs = 4;
    set_limits(8, 8, 8, 3);
    assert_int_equal(governor_moment(m.governor, 10, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
    expect_log(&m, "read ARRIVE(0,0) obey follow(1,1)");
    m.held[3].leaving = 1;
    assert_int_equal(governor_moment(m.governor, 11, CORUN_EVENT_ARRIVE, 0, 1), CORUN_OK);
    assert_true(m.view->sms[1].handing_over && !m.view->sms[0].handing_over);
    expect_log(&m, "read ARRIVE(0,1) obey follow(1,1)");
    m.held[3] = (struct corun_held_tbs){.tbs = 3};
    assert_int_equal(governor_tb_left(m.governor, 20, 1, 1, false), CORUN_OK);
    expect_log(&m, "read LIMIT_REACHED(1,1) obey");
    assert_false(m.view->sms[1].handing_over);
    assert_int_equal(governor_tb_left(m.governor, 21, 1, 1, true), CORUN_OK); /* once */
    expect_log(&m, "");
    /* what the machine can take back at once */
    set_limits(8, 8, 8, 2);
    m.on_follow = give_one_back;
    assert_int_equal(governor_moment(m.governor, 30, CORUN_EVENT_KERNEL_START, 0, 0), CORUN_OK);
    expect_log(&m, "read KERNEL_START(0,0) obey follow(1,1) read LIMIT_REACHED(1,1) obey");
    /* the policy raises the limit itself */
    m.on_follow = NULL;
    m.held[0].tbs = 5;
    set_limits(1, 8, 8, 2);
    assert_int_equal(governor_moment(m.governor, 40, CORUN_EVENT_KERNEL_START, 0, 0), CORUN_OK);
    set_limits(5, 8, 8, 2);
    assert_int_equal(governor_moment(m.governor, 41, CORUN_EVENT_KERNEL_START, 0, 0), CORUN_OK);
    expect_log(&m, "read KERNEL_START(0,0) obey follow(0,0) read KERNEL_START(0,0) obey");
    assert_int_equal(governor_tb_left(m.governor, 42, 0, 0, true), CORUN_OK);
    expect_log(&m, "");
    /* one that leaves is above no limit any more */
    set_limits(1, 8, 8, 2);
    assert_int_equal(governor_moment(m.governor, 50, CORUN_EVENT_KERNEL_START, 0, 0), CORUN_OK);
    m.held[0].tbs = 0;
    assert_int_equal(governor_moment(m.governor, 51, CORUN_EVENT_LEAVE, 0, 0), CORUN_OK);
    assert_false(m.view->sms[0].handing_over);
    expect_log(&m, "read KERNEL_START(0,0) obey follow(0,0) read LEAVE(0,0) obey");
    scripted_end(&m);
}

static void completions_come_before_reached_limits_and_only_if_wanted(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.policy.wants_tb_complete = true;
    m.on_decide = write_limits;
    set_limits(1, 8, 8, 8);
    scripted_open(&m);
    m.held[0].tbs = 2;
    assert_int_equal(governor_moment(m.governor, 10, CORUN_EVENT_KERNEL_START, 0, 0), CORUN_OK);
    m.log[0] = '\0';
    m.held[0] = (struct corun_held_tbs){.tbs = 1, .leaving = 1};
    assert_int_equal(governor_tb_left(m.governor, 20, 0, 0, true), CORUN_OK);
    expect_log(&m, "read TB_COMPLETE(0,0) obey follow(0,0) read LIMIT_REACHED(0,0) obey follow(0,0) follow(0,0)");
    m.held[0].leaving = 0;
    assert_int_equal(governor_tb_left(m.governor, 20, 0, 0, false), CORUN_OK); /* taken away: not complete */
    expect_log(&m, "");
    scripted_end(&m);
}

static void a_machine_that_only_drains_needs_no_operations_for_limits(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.operations.held = NULL;
    m.operations.follow_limit = NULL;
    m.operations.read_epoch = NULL;
    m.machine.observations = 1u << CORUN_SEES_PROGRESS;
    m.policy.observes = 1u << CORUN_SEES_PROGRESS;
    m.on_decide = write_limits;
    set_limits(1, 1, 1, 1);
    scripted_open(&m);
    assert_int_equal(governor_epoch(m.governor, 1000), CORUN_OK);
    assert_int_equal(governor_tb_left(m.governor, 1001, 0, 0, true), CORUN_OK);
    expect_log(&m, "read EPOCH obey");
    assert_int_equal(governor_allowances(m.governor)->tb_limit[3], 1);
    scripted_end(&m);
}

/* ---- quotas ---- */

static void give_quota(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                       struct corun_allowances *allowances)
{
    (void)m, (void)view;
    allowances->quotas_on = true;
    allowances->quota_set[2] = moment.event == CORUN_EVENT_ARRIVE;
    allowances->quota[2] = 77;
}

static void note_quota(struct scripted_machine *m, const struct corun_allowances *allowances)
{
    if (allowances->quota_set[2])
        scripted_note(m, "quota=%lld", (long long)allowances->quota[2]);
}

static void a_quota_is_given_once(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.on_decide = give_quota;
    m.on_obey = note_quota;
    scripted_open(&m);
    assert_int_equal(governor_moment(m.governor, 10, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
    expect_log(&m, "read ARRIVE(0,0) obey quota=77");
    assert_false(governor_allowances(m.governor)->quota_set[2]);
    assert_int_equal(governor_moment(m.governor, 11, CORUN_EVENT_KERNEL_START, 0, 0), CORUN_OK);
    expect_log(&m, "read KERNEL_START(0,0) obey");
    scripted_end(&m);
}

/* ---- more than one, and failures ---- */

static void two_machines_do_not_disturb_each_other(void **unused)
{
    (void)unused;
    struct scripted_machine first, second;
    scripted_create(&first);
    scripted_create(&second);
    scripted_open(&first);
    scripted_open(&second);
    first.applications[0] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING, .progress = 1000};
    second.applications[0] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING, .progress = 5000};
    assert_int_equal(governor_epoch(first.governor, 1000), CORUN_OK);
    assert_int_equal(governor_epoch(second.governor, 1000), CORUN_OK);
    assert_true(first.view->applications[0].epoch_ipc == 1 && second.view->applications[0].epoch_ipc == 5);
    expect_log(&first, "read count EPOCH obey");
    expect_log(&second, "read count EPOCH obey");
    scripted_end(&first);
    assert_int_equal(governor_moment(second.governor, 1001, CORUN_EVENT_LEAVE, 0, 0), CORUN_OK);
    scripted_end(&second);
    assert_true(first.stops == 1 && second.stops == 1);
}

static void a_machine_that_fails_ends_it(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    scripted_open(&m);
    m.obeys = CORUN_MEMORY;
    assert_int_equal(governor_moment(m.governor, 10, CORUN_EVENT_ARRIVE, 0, 0), CORUN_MEMORY);
    m.obeys = CORUN_OK;
    m.log[0] = '\0';
    assert_int_equal(governor_moment(m.governor, 11, CORUN_EVENT_ARRIVE, 0, 1), CORUN_MEMORY);
    expect_log(&m, ""); /* the policy is not asked any more, but it is told the end */
    assert_int_equal(governor_stop(m.governor), CORUN_MEMORY);
    expect_log(&m, "STOP");
    scripted_end(&m);
}

static void applications_and_policy_come_before_it_is_open(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    scripted_open(&m);
    struct governor_application late = {.name = "late"};
    assert_int_equal(governor_add(m.governor, &late), CORUN_ARGUMENT);
    assert_int_equal(governor_set_policy(m.governor, &m.policy, NULL, m.list), CORUN_ARGUMENT);
    expect_message(&m, "comes too late");
    scripted_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arrival_an_epoch_and_a_departure_in_order),
        cmocka_unit_test(without_a_policy_epochs_are_still_measured),
        cmocka_unit_test(an_epoch_is_as_long_as_the_machine_took),
        cmocka_unit_test(limits_are_followed_and_told_once_when_reached),
        cmocka_unit_test(completions_come_before_reached_limits_and_only_if_wanted),
        cmocka_unit_test(a_machine_that_only_drains_needs_no_operations_for_limits),
        cmocka_unit_test(a_quota_is_given_once),
        cmocka_unit_test(two_machines_do_not_disturb_each_other),
        cmocka_unit_test(a_machine_that_fails_ends_it),
        cmocka_unit_test(applications_and_policy_come_before_it_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
