/* SPDX-License-Identifier: MIT */
/* What a policy sees: what the machine tells and it has declared, goals as rates, and never a zero for what is not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scripted_machine.h"

/* Every reading is something that is neither zero nor a mark of what is not known. */
static void fill(struct scripted_machine *m)
{
    for (uint32_t a = 0; a < SCRIPTED_APPLICATIONS; a++)
        m->applications[a] = (struct corun_application_reading){.state = CORUN_APPLICATION_RUNNING,
                                                                .progress = 2000,
                                                                .runs = 1,
                                                                .grids_queued = 2,
                                                                .running = {.kernel = "kernel",
                                                                            .tbs = 10,
                                                                            .tbs_waiting = 3,
                                                                            .tbs_completed = 4,
                                                                            .tb_threads = 64,
                                                                            .tb_warps = 2,
                                                                            .tb_registers = 5,
                                                                            .tb_shared_bytes = 6,
                                                                            .tbs_per_sm = 7,
                                                                            .tbs_preempted = 8,
                                                                            .idempotent = true}};
    for (uint32_t s = 0; s < SCRIPTED_SMS; s++)
        m->sms[s] = (struct corun_sm_reading){9, 10, true, true};
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++) {
        m->shares[i] = (struct corun_share_reading){11, 12, 13, true, -14};
        m->counts[i] = (struct corun_share_counts){15, 16, 17, 18.5};
        m->held[i].tbs = 1;
    }
    m->preemptions_pending = 19;
}

static void lower_all(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                      struct corun_allowances *allowances)
{
    (void)m, (void)view, (void)moment;
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++)
        allowances->tb_limit[i] = 0;
}

#define IS_MARK(member) _Generic((member), double : isnan((double)(member)), default : (member) == NOT_KNOWN_OF(member))
#define NOT_KNOWN_OF(member) \
    _Generic((member), double : 0, uint64_t : UINT64_MAX, uint32_t : UINT32_MAX, int64_t : INT64_MIN, bool : false)

/* Bits of the observations of which all members are known. */
static uint32_t seen(const struct corun_view *view)
{
    uint32_t known = CORUN_ALL_OBSERVATIONS;
    struct {
        const struct corun_application_view *applications;
        const struct corun_sm_view *sms;
        const struct corun_share_view *shares;
    } last = {&view->applications[view->application_count - 1], &view->sms[view->sm_count - 1],
              &view->shares[view->sm_count * view->application_count - 1]};
#define LOOK(table, member, observation) \
    if (IS_MARK(last.table->member)) \
        known &= ~(1u << CORUN_SEES_##observation); \
    else \
        assert_true(last.table->member != 0);
    CORUN_OBSERVED_MEMBERS(LOOK)
#undef LOOK
    if (view->preemptions_pending == UINT32_MAX)
        known &= ~(1u << CORUN_SEES_PREEMPTIONS);
    if (view->registers_per_sm == UINT32_MAX || view->shared_bytes_per_sm == UINT32_MAX)
        known &= ~(1u << CORUN_SEES_TB_RESOURCES);
    return known;
}

static void expect_seen(uint32_t tells, uint32_t declares)
{
    const uint32_t without_members = 1u << CORUN_SEES_TB_COMPLETE;
    struct scripted_machine m;
    scripted_create(&m);
    m.machine.observations = tells;
    m.policy.observes = declares;
    m.on_decide = lower_all;
    fill(&m);
    scripted_open(&m);
    assert_int_equal(governor_epoch(m.governor, 1000), CORUN_OK);
    assert_int_equal(governor_epoch(m.governor, 2000), CORUN_OK); /* handing over since the first */
    for (uint32_t i = 0; i < SCRIPTED_SHARES; i++)
        m.counts[i] = (struct corun_share_counts){30, 32, 34, 37.5};
    for (uint32_t a = 0; a < SCRIPTED_APPLICATIONS; a++)
        m.applications[a].progress = 4000;
    assert_int_equal(governor_epoch(m.governor, 3000), CORUN_OK);
    assert_int_equal(m.view->observations, declares);
    assert_int_equal(seen(m.view) & ~without_members, declares & ~without_members);
    scripted_end(&m);
}

static void what_is_not_told_or_not_declared_is_not_known(void **unused)
{
    (void)unused;
    expect_seen(CORUN_ALL_OBSERVATIONS, CORUN_ALL_OBSERVATIONS);
    expect_seen(CORUN_ALL_OBSERVATIONS, 0);
    for (uint32_t i = 0; i < CORUN_OBSERVATION_COUNT; i++) {
        expect_seen(CORUN_ALL_OBSERVATIONS, 1u << i);
        expect_seen(1u << i, 1u << i);
        expect_seen(CORUN_ALL_OBSERVATIONS, CORUN_ALL_OBSERVATIONS & ~(1u << i));
    }
}

static void what_is_known_beforehand_is_seen(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.limits.window = 50000;
    m.machine.clock = CORUN_CLOCK_NANOSECONDS;
    m.machine.progress_unit = CORUN_PROGRESS_THREAD_BLOCKS;
    scripted_open(&m);
    const struct corun_view *view = m.view;
    assert_true(view->version == CORUN_POLICY_VERSION && view->epoch_cycles == 1000 && view->window_cycles == 50000);
    assert_true(view->sm_count == 2 && view->application_count == 2 && view->schedulers_per_sm == 4);
    assert_true(view->clock == CORUN_CLOCK_NANOSECONDS && view->clock_khz == 1000000);
    assert_int_equal(view->progress_unit, CORUN_PROGRESS_THREAD_BLOCKS);
    assert_true(view->registers_per_sm == 1000 && view->shared_bytes_per_sm == 2000);
    assert_true(view->threads_per_sm == 512 && view->tbs_per_sm == 8);
    assert_string_equal(view->applications[1].name, "b");
    assert_true(view->applications[0].isolated_ipc == 60 && view->applications[1].isolated_ipc == 0);
    assert_int_equal(view->applications[0].state, CORUN_APPLICATION_ABSENT);
    scripted_end(&m);
}

/* ---- goals ---- */

static void goals_become_rates_on_the_machines_clock(void **unused)
{
    (void)unused;
    static const struct {
        enum corun_clock clock;
        enum corun_progress unit;
        uint32_t clock_khz;
        enum corun_goal_kind kind;
        double value, ipc, rate; /* rate 0: refused */
        const char *message;
    } rows[] = {
        /* 2 million of a run: in 4 ms at 1 GHz, 0.5 a cycle */
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_MILLISECONDS, 4, 0, 0.5, NULL},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 500000, CORUN_GOAL_MILLISECONDS, 4, 0, 1, NULL},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_FRAMES_PER_SECOND, 250, 0, 0.5,
         NULL},
        {CORUN_CLOCK_NANOSECONDS, CORUN_PROGRESS_THREAD_BLOCKS, 1000000, CORUN_GOAL_MILLISECONDS, 4, 0, 0.5, NULL},
        {CORUN_CLOCK_NANOSECONDS, CORUN_PROGRESS_THREAD_BLOCKS, 1000000, CORUN_GOAL_FRACTION, 0.25, 0, 15, NULL},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_FRACTION, 0.5, 0, 30, NULL},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_FRACTION, 0.5, 29, 29, NULL},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_IPC, 40, 0, 40, NULL},
        {CORUN_CLOCK_NANOSECONDS, CORUN_PROGRESS_THREAD_BLOCKS, 1000000, CORUN_GOAL_IPC, 40, 0, 0,
         "first: instructions per cycle are no goal on a machine that does not count both"},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_BLOCKS, 1000000, CORUN_GOAL_IPC, 40, 0, 0, "does not count both"},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_FRACTION, 1.5, 0, 0,
         "first: a goal above 100 %"},
        {CORUN_CLOCK_CYCLES, CORUN_PROGRESS_THREAD_INSTRUCTIONS, 1000000, CORUN_GOAL_MILLISECONDS, -4, 0, 0,
         "a goal is greater than 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scripted_machine m;
        scripted_create(&m);
        m.machine.clock = rows[i].clock;
        m.machine.clock_khz = rows[i].clock_khz;
        m.machine.progress_unit = rows[i].unit;
        struct governor_application first = {.name = "first", .isolated_ipc = 60, .run_progress = 2000000};
        struct governor_application second = first; /* has its goal from the beginning */
        second.goal = rows[i].kind;
        second.goal_value = rows[i].value;
        second.goal_ipc = rows[i].ipc;
        m.governor = governor_create(&m.machine);
        assert_int_equal(governor_add(m.governor, &first), CORUN_OK);
        assert_int_equal(governor_add(m.governor, &second), CORUN_OK);
        assert_int_equal(governor_set_policy(m.governor, &m.policy, NULL, m.list), CORUN_OK);
        on_stage = &m;
        assert_int_equal(governor_open(m.governor, 0, &m.limits, m.list), CORUN_OK);
        assert_int_equal(governor_set_goal(m.governor, 0, rows[i].kind, rows[i].value, rows[i].ipc, m.list),
                         rows[i].message ? CORUN_ARGUMENT : CORUN_OK);
        if (rows[i].message)
            expect_message(&m, rows[i].message);
        assert_int_equal(governor_moment(m.governor, 1, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
        for (uint32_t a = 0; a < 2; a++)
            assert_true(m.view->applications[a].goal_ipc == rows[i].rate);
        assert_int_equal(m.view->applications[0].goal, rows[i].message ? CORUN_GOAL_NONE : rows[i].kind);
        scripted_end(&m);
    }
}

static void goals_of_whom_little_is_known(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    scripted_open(&m);
    static const struct {
        uint32_t application;
        enum corun_goal_kind kind;
        const char *message;
    } rows[] = {{1, CORUN_GOAL_FRACTION, "b: its isolated IPC, of which the goal is a fraction, is not known"},
                {1, CORUN_GOAL_MILLISECONDS, "b: a time is a goal only with its instructions per cycle"},
                {2, CORUN_GOAL_IPC, "a goal for application 2 of 2"},
                {0, (enum corun_goal_kind)99, "a: there is no such kind of goal"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        corun_diagnostics_clear(m.list);
        assert_int_equal(governor_set_goal(m.governor, rows[i].application, rows[i].kind, 0.5, 0, m.list),
                         CORUN_ARGUMENT);
        expect_message(&m, rows[i].message);
    }
    assert_int_equal(governor_set_goal(m.governor, 1, CORUN_GOAL_MILLISECONDS, 0.5, 33, m.list), CORUN_OK);
    assert_int_equal(governor_set_goal(m.governor, 0, CORUN_GOAL_IPC, 5, 0, m.list), CORUN_OK);
    assert_int_equal(governor_set_goal(m.governor, 0, CORUN_GOAL_NONE, 5, 5, m.list), CORUN_OK);
    assert_int_equal(governor_moment(m.governor, 1, CORUN_EVENT_ARRIVE, 0, 0), CORUN_OK);
    assert_true(m.view->applications[0].goal_ipc == 0 && m.view->applications[0].goal_value == 0);
    assert_true(m.view->applications[1].goal_ipc == 33);
    scripted_end(&m);
}

/* The page for those who write policies names every observation. */
static void the_page_has_every_observation(void **unused)
{
    (void)unused;
    static const char *const names[] = {
#define NAME(name, meaning) "`" #name "`",
        CORUN_OBSERVATIONS(NAME)
#undef NAME
    };
    static char page[1 << 16];
    FILE *file = fopen(CORUN_SOURCE_DIR "/docs/writing-policies.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    for (uint32_t i = 0; i < CORUN_OBSERVATION_COUNT; i++)
        if (!strstr(page, names[i]))
            fail_msg("docs/writing-policies.md does not tell of %s", names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_told_or_not_declared_is_not_known),
        cmocka_unit_test(what_is_known_beforehand_is_seen),
        cmocka_unit_test(goals_become_rates_on_the_machines_clock),
        cmocka_unit_test(goals_of_whom_little_is_known),
        cmocka_unit_test(the_page_has_every_observation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
