/* SPDX-License-Identifier: MIT */
/* Applications that come and go, on a machine that is open: whoever takes a slot finds nothing of who had it before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scripted_machine.h"

/* What `start` leaves of the second slot, and what is written there later. */
static enum corun_status begin(struct scripted_machine *m, const struct corun_view *view,
                               struct corun_allowances *allowances)
{
    (void)m;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        allowances->tb_limit[s * SCRIPTED_APPLICATIONS + 1] = 4 + s;
        allowances->quota[s * SCRIPTED_APPLICATIONS + 1] = 50;
        allowances->quota_set[s * SCRIPTED_APPLICATIONS + 1] = true;
    }
    return CORUN_OK;
}

static void write_everything(struct scripted_machine *m, const struct corun_view *view,
                             struct corun_policy_moment moment, struct corun_allowances *allowances)
{
    (void)m, (void)moment;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t entry = s * SCRIPTED_APPLICATIONS + 1;
        allowances->tb_limit[entry] = 0;
        allowances->order[entry] = 9;
        allowances->reclaim[entry] = CORUN_RECLAIM_DROP;
        allowances->partition[entry] = (struct corun_partition){0, 10, 0, 10, 32, 1};
        allowances->quota[entry] = 70;
        allowances->quota_set[entry] = allowances->quota_add[entry] = true;
        allowances->quota_refill[entry] = 80;
    }
    allowances->grant[1] = 0;
    allowances->sm_set[1] = CORUN_SMS_APART;
    allowances->out_of_reach[1] = true;
}

static void run_for_an_epoch(struct scripted_machine *m)
{
    for (uint32_t a = 0; a < SCRIPTED_APPLICATIONS; a++)
        m->applications[a] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING, .progress = 5000};
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++) {
        m->counts[i] = (struct corun_share_counts){.thread_instructions = 700, .warp_instructions = 70};
        m->held[i].tbs = 3;
    }
    m->on_decide = write_everything;
    assert_int_equal(governor_epoch(m->governor, SCRIPTED_EPOCH), CORUN_OK);
    m->on_decide = NULL;
    assert_true(governor_best_epoch_ipc(m->governor, 1) > 0 && governor_out_of_reach(m->governor, 1));
    m->applications[1].state = CORUN_APPLICATION_LEFT;
    m->applications[1].left = 1500;
    for (uint32_t s = 0; s < SCRIPTED_SMS; s++)
        m->held[s * SCRIPTED_APPLICATIONS + 1].tbs = 0;
    assert_int_equal(governor_moment(m->governor, 1500, CORUN_EVENT_LEAVE, 0, 1), CORUN_OK);
    assert_int_equal(m->view->shares[1].thread_instructions, 700);
}

static void expect_entries_of_start(const struct scripted_machine *m)
{
    const struct corun_allowances *w = governor_allowances(m->governor);
    for (uint32_t s = 0; s < SCRIPTED_SMS; s++) {
        uint32_t entry = s * SCRIPTED_APPLICATIONS + 1;
        static const struct corun_partition none;
        assert_int_equal(w->tb_limit[entry], 4 + s);
        assert_int_equal(w->order[entry], 0);
        assert_int_equal(w->reclaim[entry], CORUN_RECLAIM_DRAIN);
        assert_memory_equal(&w->partition[entry], &none, sizeof none);
        assert_int_equal(w->quota[entry], 50);
        assert_true(w->quota_set[entry] && !w->quota_add[entry]);
        assert_int_equal(w->quota_refill[entry], 0);
    }
    assert_int_equal(w->grant[1], CORUN_UNLIMITED);
    assert_int_equal(w->sm_set[1], CORUN_SMS_ALL);
    assert_false(w->out_of_reach[1]);
}

static void a_slot_is_as_if_nobody_had_had_it(void **unused)
{
    (void)unused;
    static const double speedup[] = {1, 2};
    struct scripted_machine m;
    scripted_create(&m);
    m.on_start = begin;
    scripted_open(&m);
    run_for_an_epoch(&m);
    governor_unseat(m.governor, 1);
    struct governor_application next = {.name = "c",
                                        .goal = CORUN_GOAL_FRACTION,
                                        .goal_value = 0.5,
                                        .isolated_ipc = 40,
                                        .speedup = speedup,
                                        .speedup_count = 2};
    assert_int_equal(governor_seat(m.governor, 1, &next), CORUN_OK);
    assert_true(governor_best_epoch_ipc(m.governor, 1) == 0 && !governor_out_of_reach(m.governor, 1));
    expect_entries_of_start(&m);
    /* it arrives: a new one, with its own goal */
    m.applications[1] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING, .arrived = 1600};
    assert_int_equal(governor_moment(m.governor, 1600, CORUN_EVENT_ARRIVE, 0, 1), CORUN_OK);
    const struct corun_application_view *view = &m.view->applications[1];
    assert_string_equal(view->name, "c");
    assert_int_equal(view->goal, CORUN_GOAL_FRACTION);
    assert_true(view->goal_ipc == 20 && view->isolated_ipc == 40 && view->epoch_ipc == 0 && view->ipc == 0);
    assert_ptr_equal(view->speedup, speedup);
    assert_int_equal(m.view->shares[1].thread_instructions, 0);
    assert_int_equal(m.view->shares[0].thread_instructions, 700); /* of the other one, still of its last epoch */
    /* its counts begin at zero: what they rise to is of this epoch */
    m.counts[1] = (struct corun_share_counts){.thread_instructions = 30};
    m.applications[1].progress = 1000;
    assert_int_equal(governor_epoch(m.governor, 2000), CORUN_OK);
    assert_int_equal(m.view->shares[1].thread_instructions, 30);
    assert_true(view->epoch_ipc == 1);
    assert_true(governor_best_epoch_ipc(m.governor, 1) == 0); /* it was not there from the beginning */
    scripted_end(&m);
}

static void who_has_left_keeps_nothing_of_the_callers(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    double speedup[] = {1, 2};
    struct corun_launch_view launches[1] = {{.tbs = 1}};
    scripted_create(&m);
    scripted_open(&m);
    struct governor_application next = {
        .name = "c", .speedup = speedup, .speedup_count = 2, .run_launches = launches, .run_launch_count = 1};
    assert_int_equal(governor_seat(m.governor, 1, &next), CORUN_OK);
    assert_int_equal(governor_epoch(m.governor, SCRIPTED_EPOCH), CORUN_OK);
    assert_int_equal(m.view->applications[1].run_launch_count, 1);
    governor_unseat(m.governor, 1);
    assert_int_equal(governor_epoch(m.governor, 2 * SCRIPTED_EPOCH), CORUN_OK);
    const struct corun_application_view *view = &m.view->applications[1];
    assert_true(!view->speedup && !view->speedup_count && !view->run_launches && !view->run_launch_count);
    assert_string_equal(view->name, "c");
    scripted_end(&m);
}

/* Where no policy has the say: until somebody else has the slot. */
static void who_is_confined_has_some_of_the_sms(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    struct governor_application next = {.name = "c"};
    scripted_create(&m);
    assert_int_equal(scripted_open_with(&m, false), CORUN_OK);
    const struct corun_allowances *allowances = governor_allowances(m.governor);
    assert_int_equal(governor_seat(m.governor, 1, &next), CORUN_OK);
    assert_int_equal(governor_confine(m.governor, 1, 1, 0), CORUN_ARGUMENT);
    assert_int_equal(governor_confine(m.governor, 1, 1, SCRIPTED_SMS), CORUN_ARGUMENT);
    assert_int_equal(governor_confine(m.governor, CORUN_MAX_APPLICATIONS, 0, 1), CORUN_ARGUMENT);
    assert_int_equal(governor_confine(m.governor, 1, 1, 1), CORUN_OK);
    const uint32_t slots = SCRIPTED_APPLICATIONS;
    for (uint32_t s = 0; s < SCRIPTED_SMS; s++) {
        assert_true(allowances->tb_limit[s * slots] == CORUN_UNLIMITED);
        assert_true(allowances->tb_limit[s * slots + 1] == (s == 1 ? CORUN_UNLIMITED : 0));
    }
    assert_int_equal(governor_seat(m.governor, 1, &next), CORUN_OK);
    for (uint32_t s = 0; s < SCRIPTED_SMS; s++)
        assert_true(allowances->tb_limit[s * slots + 1] == CORUN_UNLIMITED);
    scripted_end(&m);
    scripted_create(&m);
    scripted_open(&m);
    assert_int_equal(governor_seat(m.governor, 1, &next), CORUN_OK);
    assert_int_equal(governor_confine(m.governor, 1, 1, 1), CORUN_ARGUMENT);
    scripted_end(&m);
}

static void there_are_as_many_slots_as_are_asked_for(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    struct governor_application one = {.name = "one"};
    scripted_create(&m);
    m.governor = governor_create(&m.machine);
    assert_int_equal(governor_add(m.governor, &one), CORUN_OK);
    assert_int_equal(governor_seat(m.governor, 0, &one), CORUN_ARGUMENT); /* it is not open */
    assert_int_equal(governor_set_policy(m.governor, &m.policy, NULL, m.list), CORUN_OK);
    m.limits.applications = SCRIPTED_APPLICATIONS;
    on_stage = &m;
    assert_int_equal(governor_open(m.governor, 0, &m.limits, m.list), CORUN_OK);
    on_stage = NULL;
    assert_int_equal(m.view->application_count, SCRIPTED_APPLICATIONS);
    assert_string_equal(m.view->applications[0].name, "one");
    assert_string_equal(m.view->applications[1].name, "");
    assert_int_equal(governor_add(m.governor, &one), CORUN_ARGUMENT); /* it is open */
    assert_int_equal(governor_seat(m.governor, SCRIPTED_APPLICATIONS, &one), CORUN_ARGUMENT);
    assert_int_equal(governor_seat(m.governor, 1, &one), CORUN_OK);
    scripted_end(&m);
    static const uint32_t wrong[] = {1, CORUN_MAX_APPLICATIONS + 1};
    for (size_t i = 0; i < 2; i++) {
        scripted_create(&m);
        m.limits.applications = wrong[i];
        assert_int_equal(scripted_open_with(&m, false), CORUN_ARGUMENT);
        scripted_end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_is_as_if_nobody_had_had_it),
        cmocka_unit_test(who_has_left_keeps_nothing_of_the_callers),
        cmocka_unit_test(who_is_confined_has_some_of_the_sms),
        cmocka_unit_test(there_are_as_many_slots_as_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
