/* SPDX-License-Identifier: MIT */
/* What a policy must not do to its tables, its state and our time, in each of its calls. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scripted_machine.h"

typedef void deed(struct scripted_machine *m, struct corun_allowances *allowances);

static void nothing(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m, (void)w;
}

static void write_limit_behind(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    w->tb_limit[SCRIPTED_SHARES] = 1;
}

static void write_powered_in_front(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    w->powered[-1] = false;
}

static void write_far_in_front(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    ((volatile char *)w->order)[-2000] = 1;
}

static void write_variable(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    w->variables[1] = 1;
}

static void write_state_behind(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)w;
    m->state[SCRIPTED_STATE] = 1;
}

static void write_state_in_front(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)w;
    m->state[-1] = 1;
}

static void replace_address(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    static uint32_t own[SCRIPTED_SHARES];
    w->order = own;
}

static const struct {
    deed *deed;
    const char *message;
} deeds[] = {
    {write_limit_behind, "it wrote beyond the end of tb_limit, which has 16 bytes (2 SMs, 2 applications)"},
    {write_powered_in_front, "it wrote in front of powered, which has 2 bytes"},
    {write_far_in_front, "it wrote in front of order"},
    {write_variable, "it wrote beyond the end of variables, which has 8 bytes"},
    {write_state_behind, "it wrote beyond the end of its state, which has 64 bytes"},
    {write_state_in_front, "it wrote in front of its state"},
    {replace_address, "it replaced the address of order"},
};
enum { DEEDS = sizeof deeds / sizeof deeds[0] };

static deed *chosen; /* of the test that runs */

static enum corun_status do_at_start(struct scripted_machine *m, const struct corun_view *view,
                                     struct corun_allowances *allowances)
{
    (void)view;
    chosen(m, allowances);
    return CORUN_OK;
}

static void do_at_moment(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    (void)view, (void)moment;
    chosen(m, allowances);
}

static void do_at_stop(struct scripted_machine *m)
{
    struct corun_allowances tables = *governor_allowances(m->governor); /* it may have kept their addresses */
    chosen(m, &tables);
}

static void nothing_wrong_is_found_where_nothing_is_wrong(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    chosen = nothing;
    scripted_create(&m);
    m.on_start = do_at_start;
    m.on_decide = do_at_moment;
    m.on_stop = do_at_stop;
    scripted_open(&m);
    memset(m.state + sizeof(void *), 0xff, SCRIPTED_STATE - sizeof(void *)); /* all of it is the policy's */
    assert_int_equal(governor_moment(m.governor, 1, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
    assert_int_equal(governor_stop(m.governor), CORUN_OK);
    scripted_end(&m);
}

static void deeds_in_start(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < DEEDS; i++) {
        struct scripted_machine m;
        chosen = deeds[i].deed;
        scripted_create(&m);
        m.on_start = do_at_start;
        assert_int_equal(scripted_open_with(&m, true), CORUN_POLICY);
        expect_message(&m, "policy scripted at cycle 0: ");
        expect_message(&m, deeds[i].message);
        assert_int_equal(governor_stop(m.governor), CORUN_POLICY); /* said once */
        assert_int_equal(corun_diagnostics_count(m.list), 1);
        assert_int_equal(m.stops, 1);
        scripted_end(&m);
    }
}

static void deeds_at_a_moment(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < DEEDS; i++) {
        struct scripted_machine m;
        chosen = deeds[i].deed;
        scripted_create(&m);
        m.on_decide = do_at_moment;
        scripted_open(&m);
        assert_int_equal(governor_moment(m.governor, 77, CORUN_EVENT_ARRIVE, 0, 0), CORUN_POLICY);
        expect_message(&m, "policy scripted at cycle 77: ");
        expect_message(&m, deeds[i].message);
        scripted_end(&m);
    }
}

static void deeds_in_stop(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < DEEDS; i++) {
        struct scripted_machine m;
        if (deeds[i].deed == replace_address) /* stop is not given them */
            continue;
        chosen = deeds[i].deed;
        scripted_create(&m);
        m.on_stop = do_at_stop;
        scripted_open(&m);
        assert_int_equal(governor_moment(m.governor, 5, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
        assert_int_equal(governor_stop(m.governor), CORUN_POLICY);
        expect_message(&m, deeds[i].message);
        scripted_end(&m);
    }
}

/* No call is so short: the limit is what is tried, not the time. */
static void calls_that_take_too_long(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.limits.seconds = 1e-300;
    assert_int_equal(scripted_open_with(&m, true), CORUN_POLICY);
    expect_message(&m, "one call of it took 0.0 seconds; more than 1e-300 are not waited for");
    scripted_end(&m);
}

/* ---- strays so far away that they leave the table's pages ---- */

enum { FAR_BYTES = 64 * 1024 };

static volatile sig_atomic_t inside;

static void note_call(void *user, bool begins)
{
    (void)user;
    inside = begins;
}

static void end_with_whether_inside(int number)
{
    (void)number;
    _exit(inside ? 42 : 43);
}

static void write_far_behind(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    ((volatile char *)w->tb_limit)[FAR_BYTES] = 1;
}

static void write_far_in_front_of_state(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)w;
    ((volatile char *)m->state)[-FAR_BYTES] = 1;
}

static void write_a_long_row(struct scripted_machine *m, struct corun_allowances *w)
{
    (void)m;
    for (size_t i = 0; i < FAR_BYTES; i++)
        ((volatile uint8_t *)w->quota_add)[i] = 1;
}

static void far_writes_stop_inside_the_call(void **unused)
{
    (void)unused;
    deed *const strays[] = {write_far_behind, write_far_in_front_of_state, write_a_long_row};
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            struct scripted_machine m;
            signal(SIGSEGV, end_with_whether_inside);
            chosen = strays[i];
            scripted_create(&m);
            m.limits.policy_call = note_call;
            m.on_decide = do_at_moment;
            scripted_open(&m);
            (void)governor_moment(m.governor, 1, CORUN_EVENT_ARRIVE, 0, 0);
            _exit(44); /* it was not stopped */
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_wrong_is_found_where_nothing_is_wrong),
        cmocka_unit_test(deeds_in_start),
        cmocka_unit_test(deeds_at_a_moment),
        cmocka_unit_test(deeds_in_stop),
        cmocka_unit_test(calls_that_take_too_long),
        cmocka_unit_test(far_writes_stop_inside_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
