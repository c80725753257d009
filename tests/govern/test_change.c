/* SPDX-License-Identifier: MIT */
/* Another policy while a machine runs: the order of calls, what the new one finds, and that a refusal changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scripted_machine.h"

static enum corun_status other_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    struct scripted_machine *m = on_stage;
    memcpy(state, &m, sizeof m);
    scripted_note(m, "OTHER(%g)", parameters[0]);
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++) {
        assert_int_equal(allowances->tb_limit[i], CORUN_UNLIMITED);
        assert_int_equal(allowances->order[i], 0);
        allowances->tb_limit[i] = 3;
    }
    assert_true(allowances->powered[0] && !allowances->exclusive[0] && !allowances->quotas_on);
    assert_int_equal(allowances->grant[0], CORUN_UNLIMITED);
    assert_int_equal(allowances->sm_set[0], CORUN_SMS_ALL);
    assert_int_equal(view->observations, 0);
    assert_true(view->registers_per_sm == UINT32_MAX);
    allowances->variables[1] = 8;
    if (parameters[0] < 5)
        return CORUN_OK;
    allowances->refusal = "too much";
    return CORUN_ARGUMENT;
}

static void other_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    struct scripted_machine *m;
    memcpy(&m, state, sizeof m);
    (void)view, (void)allowances;
    scripted_note(m, "other%d(%u)", (int)moment.event, moment.application);
}

static const struct corun_policy_parameter parameters[] = {{"much", 1, 0, 9, false, "how much", NULL}};
static const struct corun_policy_variable variables[] = {{"first", "one"}, {"second", "another"}};
static const struct corun_policy other = {.version = CORUN_POLICY_VERSION,
                                          .name = "other",
                                          .parameters = parameters,
                                          .parameter_count = 1,
                                          .variables = variables,
                                          .variable_count = 2,
                                          .state_bytes = SCRIPTED_STATE,
                                          .start = other_start,
                                          .decide = other_decide};

static void write_much(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                       struct corun_allowances *allowances)
{
    (void)m, (void)moment;
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++) {
        allowances->tb_limit[i] = 1;
        allowances->order[i] = 2;
        allowances->quota[i] = 70;
        allowances->quota_set[i] = allowances->quota_add[i] = true;
        allowances->quota_refill[i] = 80;
    }
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->exclusive[s] = true;
    allowances->powered[0] = false;
    allowances->quotas_on = true;
    allowances->grant[0] = 4;
    allowances->sm_set[0] = CORUN_SMS_REST;
}

static void open_and_write(struct scripted_machine *m)
{
    scripted_create(m);
    scripted_open(m);
    m->applications[0] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING};
    m->applications[1] =
        (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING, .running = {.kernel = "k", .tbs = 4}};
    m->on_decide = write_much;
    assert_int_equal(governor_moment(m->governor, 100, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
    m->on_decide = NULL;
    m->log[0] = '\0';
    on_stage = m;
}

static uint32_t cleared; /* quotas that the machine was told to forget */

static void count_cleared(struct scripted_machine *m, const struct corun_allowances *allowances)
{
    (void)m;
    for (uint32_t i = 0; !allowances->quotas_on && i < SCRIPTED_SHARES; i++)
        cleared += allowances->quota_set[i] && !allowances->quota_add[i] && !allowances->quota[i];
}

static void the_new_one_takes_over(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    open_and_write(&m);
    m.held[0].tbs = 9;
    m.on_obey = count_cleared;
    cleared = 0;
    assert_int_equal(governor_change_policy(m.governor, 500, &other, NULL, m.list), CORUN_OK);
    expect_log(&m, "read OTHER(1) STOP obey-start obey-start read read other0(0) obey follow(0,0) read other0(1) obey "
                   "follow(0,0) read other2(1) obey follow(0,0) follow(0,0)");
    assert_int_equal(cleared, SCRIPTED_SHARES);
    assert_ptr_equal(governor_policy(m.governor), &other);
    const struct corun_allowances *w = governor_allowances(m.governor);
    assert_int_equal(w->tb_limit[0], 3);
    assert_true(w->powered[0] && w->variables[1] == 8);
    m.on_obey = NULL;
    assert_int_equal(governor_epoch(m.governor, SCRIPTED_EPOCH), CORUN_OK);
    expect_log(&m, "read count other4(0) obey follow(0,0)");
    assert_int_equal(m.stops, 1);
    on_stage = NULL;
    scripted_end(&m);
    assert_int_equal(m.stops, 1);
}

static void a_refusal_changes_nothing(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    double much = 7, wrong = 10;
    open_and_write(&m);
    assert_int_equal(governor_change_policy(m.governor, 500, &other, &much, m.list), CORUN_POLICY);
    expect_message(&m, "policy other cannot start with these parameters on 2 SMs with 2 applications: too much");
    expect_log(&m, "read OTHER(7)");
    corun_diagnostics_clear(m.list);
    assert_int_equal(governor_change_policy(m.governor, 500, &other, &wrong, m.list), CORUN_ARGUMENT);
    expect_message(&m, "much must be a number from 0 to 9, not 10");
    corun_diagnostics_clear(m.list);
    struct corun_policy demanding = other;
    demanding.needs = 1u << 31;
    assert_int_equal(governor_change_policy(m.governor, 500, &demanding, NULL, m.list), CORUN_POLICY);
    demanding.version = 3;
    assert_int_equal(governor_change_policy(m.governor, 500, &demanding, NULL, m.list), CORUN_POLICY);
    expect_log(&m, "");
    const struct corun_allowances *w = governor_allowances(m.governor);
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++)
        assert_true(w->tb_limit[i] == 1 && w->order[i] == 2 && w->quota_refill[i] == 80);
    assert_true(w->exclusive[1] && !w->powered[0] && w->quotas_on && w->grant[0] == 4 && w->sm_set[0]);
    assert_int_equal(m.view->observations, CORUN_ALL_OBSERVATIONS);
    assert_int_equal(governor_epoch(m.governor, SCRIPTED_EPOCH), CORUN_OK);
    expect_log(&m, "read count EPOCH obey");
    assert_int_equal(m.stops, 0);
    on_stage = NULL;
    scripted_end(&m);
    assert_int_equal(m.stops, 1);
}

/* None, then one again; a slot that is taken meanwhile has the entries of a machine without a policy. */
static void none_and_back(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    struct governor_application late = {.name = "late"};
    open_and_write(&m);
    assert_int_equal(governor_change_policy(m.governor, 500, NULL, NULL, m.list), CORUN_OK);
    expect_log(&m, "STOP obey-start obey-start read");
    assert_null(governor_policy(m.governor));
    assert_int_equal(governor_allowances(m.governor)->tb_limit[1], CORUN_UNLIMITED);
    assert_int_equal(governor_seat(m.governor, 1, &late), CORUN_OK);
    assert_int_equal(governor_allowances(m.governor)->tb_limit[1], CORUN_UNLIMITED);
    assert_int_equal(governor_epoch(m.governor, SCRIPTED_EPOCH), CORUN_OK);
    expect_log(&m, "read count");
    for (int turn = 0; turn < 200; turn++)
        assert_int_equal(governor_change_policy(m.governor, 1500, turn % 2 ? &other : &m.policy, NULL, m.list),
                         CORUN_OK);
    assert_ptr_equal(governor_policy(m.governor), &other);
    on_stage = NULL;
    scripted_end(&m);
    assert_int_equal(m.stops, 101);
}

/* Before it is open a policy is set, not changed. */
static void not_before_it_is_open(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    scripted_add(&m);
    assert_int_equal(governor_change_policy(m.governor, 0, &other, NULL, m.list), CORUN_ARGUMENT);
    scripted_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_new_one_takes_over),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(none_and_back),
        cmocka_unit_test(not_before_it_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
