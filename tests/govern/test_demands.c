/* SPDX-License-Identifier: MIT */
/* What a policy asks of a machine that the machine has not: refused by name, before anything runs, or when it is written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scripted_machine.h"

static void what_a_machine_cannot_do_or_tell_is_refused_by_name(void **unused)
{
    (void)unused;
    enum { ALL = (1 << CORUN_CAPABILITY_COUNT) - 1 };
    static const struct {
        uint32_t capabilities, observations, needs, observes;
        bool wants_tb_complete;
        const char *message; /* NULL: it is accepted */
    } rows[] = {
        {ALL, CORUN_ALL_OBSERVATIONS, ALL, CORUN_ALL_OBSERVATIONS, true, NULL},
        {1u << CORUN_CAN_DRAIN, 0, 1u << CORUN_CAN_DRAIN, 0, false, NULL},
        {1u << CORUN_CAN_DRAIN, 0, 1u << CORUN_CAN_DRAIN | 1u << CORUN_CAN_POWER, 0, false,
         "policy scripted needs a machine that switches single SMs off; a scripted machine does not"},
        {0, 0, 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_ORDER | 1u << CORUN_CAN_POWER, 0, false,
         "that limits thread blocks per SM and application, ranks applications when an SM is filled and switches "
         "single "
         "SMs off; a scripted"},
        {ALL, CORUN_ALL_OBSERVATIONS & ~(1u << CORUN_SEES_IDLE_WARPS), 0, 1u << CORUN_SEES_IDLE_WARPS, false,
         "policy scripted needs a machine that samples the ready warps that are not picked; a scripted machine does "
         "not"},
        {ALL, 1u << CORUN_SEES_PROGRESS, 0, 1u << CORUN_SEES_PROGRESS, true, "tells each thread block that completes"},
        {ALL, CORUN_ALL_OBSERVATIONS, 1u << 31, 0, false, "that do not exist"},
        {ALL, CORUN_ALL_OBSERVATIONS, 0, 1u << 31, false, "that do not exist"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scripted_machine m;
        scripted_create(&m);
        m.machine.capabilities = rows[i].capabilities;
        m.machine.observations = rows[i].observations;
        m.policy.needs = rows[i].needs;
        m.policy.observes = rows[i].observes;
        m.policy.wants_tb_complete = rows[i].wants_tb_complete;
        assert_int_equal(scripted_open_with(&m, true), rows[i].message ? CORUN_POLICY : CORUN_OK);
        if (rows[i].message) {
            expect_message(&m, rows[i].message);
            assert_null(governor_policy(m.governor));
            expect_log(&m, ""); /* it was never called, nor will it be */
        }
        scripted_end(&m);
        assert_int_equal(m.stops, !rows[i].message);
    }
}

static void other_versions_and_parameters_out_of_range_are_refused(void **unused)
{
    (void)unused;
    static const struct corun_policy_parameter parameters[] = {{"share", 3, 1, 5, true, "", NULL}};
    struct scripted_machine m;
    scripted_create(&m);
    scripted_add(&m);
    m.policy.version = 2;
    assert_int_equal(governor_set_policy(m.governor, &m.policy, NULL, m.list), CORUN_POLICY);
    expect_message(&m, "was built for version 2 of the sharing contract, this is version 6");
    m.policy.version = CORUN_POLICY_VERSION;
    m.policy.parameters = parameters;
    m.policy.parameter_count = 1;
    const double values[] = {0, 6, 2.5, (double)NAN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        corun_diagnostics_clear(m.list);
        assert_int_equal(governor_set_policy(m.governor, &m.policy, &values[i], m.list), CORUN_ARGUMENT);
        expect_message(&m, "share must be an integer from 1 to 5");
    }
    assert_int_equal(governor_set_policy(m.governor, &m.policy, NULL, m.list), CORUN_OK);
    scripted_end(&m);
}

static enum corun_status refuse(struct scripted_machine *m, const struct corun_view *view,
                                struct corun_allowances *allowances)
{
    (void)m, (void)view;
    allowances->refusal = "it is Sunday";
    return CORUN_POLICY;
}

static void a_policy_may_refuse_itself(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    scripted_create(&m);
    m.on_start = refuse;
    assert_int_equal(scripted_open_with(&m, true), CORUN_POLICY);
    expect_message(&m, "cannot start with these parameters on 2 SMs with 2 applications: it is Sunday");
    scripted_end(&m);
    assert_int_equal(m.stops, 1);
}

/* ---- what it writes ---- */

typedef void writing(struct corun_allowances *w);

#define WRITING(name, ...) \
    static void name(struct corun_allowances *w) \
    { \
        __VA_ARGS__; \
    }
WRITING(odd_fill, w->fill = (enum corun_fill_rule)9)
WRITING(odd_reclaim, w->reclaim[1] = (enum corun_reclaim)77)
WRITING(odd_quota_kind, w->quotas_on = true, w->quota_kind = (enum corun_quota_kind)5)
WRITING(negative_refill, w->quota_refill[3] = -5)
WRITING(large_quota, w->quota_set[0] = true, w->quota[0] = 1001)
WRITING(registers_past_the_end,
        w->partition[0] = (struct corun_partition){.first_register = 900, .register_count = 101})
WRITING(bytes_past_the_end, w->partition[0] = (struct corun_partition){.shared_bytes = 2001})
WRITING(registers_twice, w->partition[2] = (struct corun_partition){.register_count = 10},
        w->partition[3] = (struct corun_partition){.first_register = 9, .register_count = 10})
WRITING(bytes_twice, w->partition[2] = (struct corun_partition){.shared_bytes = 10},
        w->partition[3] = (struct corun_partition){.first_shared_byte = 9, .shared_bytes = 10})
WRITING(too_many_threads, w->partition[0] = (struct corun_partition){.thread_count = 513})
WRITING(too_many_slots, w->partition[0] = (struct corun_partition){.tb_slots = 5},
        w->partition[1] = (struct corun_partition){.tb_slots = 4})
WRITING(no_power, w->powered[1] = false)
WRITING(no_mixing, w->exclusive[1] = true)
WRITING(a_limit, w->tb_limit[0] = 3)
WRITING(a_swap, w->tb_limit[0] = 3, w->reclaim[0] = CORUN_RECLAIM_SWAP_TB)
WRITING(a_drop, w->tb_limit[0] = 3, w->reclaim[0] = CORUN_RECLAIM_DROP)
WRITING(a_rank, w->order[1] = 1)
WRITING(quotas, w->quotas_on = true)
WRITING(a_partition, w->partition[1] = (struct corun_partition){.tb_slots = 4})

static writing *chosen;

static void write_it(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                     struct corun_allowances *allowances)
{
    (void)m, (void)view, (void)moment;
    chosen(allowances);
}

/* `missing`: capabilities that the machine lacks. */
static void a_grant(struct corun_allowances *w)
{
    w->grant[1] = 7;
}

WRITING(a_set_of_sms, w->sm_set[1] = CORUN_SMS_REST)
WRITING(odd_set_of_sms, w->sm_set[1] = (enum corun_sm_set)3)

static void expect_refusal(writing *deed, uint32_t missing, enum corun_clock clock, const char *message)
{
    struct scripted_machine m;
    chosen = deed;
    scripted_create(&m);
    m.machine.capabilities &= ~missing;
    m.machine.clock = clock;
    m.on_decide = write_it;
    scripted_open(&m);
    assert_int_equal(governor_moment(m.governor, 1500, CORUN_EVENT_ARRIVE, 0, 0), message ? CORUN_POLICY : CORUN_OK);
    if (message) {
        expect_message(&m, message);
        expect_log(&m, "read ARRIVE(0,0)"); /* the machine has not heard of it */
        assert_int_equal(governor_moment(m.governor, 1501, CORUN_EVENT_ARRIVE, 0, 1), CORUN_POLICY);
        expect_log(&m, "");
    }
    scripted_end(&m);
}

static void impossible_allowances_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        writing *deed;
        const char *message;
    } rows[] = {
        {odd_fill, "policy scripted at cycle 1500: the fill rule is none of those that exist"},
        {odd_reclaim, "its way to reclaim SM 0 from b, 77, is none"},
        {odd_quota_kind, "whose kind, 5, is none"},
        {negative_refill, "SM 1 would refill the quota of b with -5; 0 to 1000 is possible"},
        {large_quota, "it gives a a quota of 1001 on SM 0; no more than 1000"},
        {registers_past_the_end, "the partition of a on SM 0 ends at register 1001; an SM has 1000"},
        {bytes_past_the_end, "ends at byte 2001 of shared memory; an SM has 2000"},
        {registers_twice, "on SM 1 it gives a the registers 0 to 9 and b 9 to 18, which overlap"},
        {bytes_twice, "on SM 1 it gives a the bytes 0 to 9 of shared memory and b 9 to 18, which overlap"},
        {too_many_threads, "partitions of SM 0 have 513 threads and 0 thread blocks together; an SM has 512 and 8"},
        {odd_set_of_sms, "the set of SMs for launches of b, 3, is none"},
        {too_many_slots, "0 threads and 9 thread blocks"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refusal(rows[i].deed, 0, CORUN_CLOCK_CYCLES, rows[i].message);
    expect_refusal(odd_fill, 0, CORUN_CLOCK_NANOSECONDS, "policy scripted at 1500 ns: the fill rule");
}

static void what_is_written_is_obeyed_whole_or_refused(void **unused)
{
    (void)unused;
    static const struct {
        writing *deed;
        enum corun_capability capability;
        const char *message;
    } rows[] = {
        {no_power, CORUN_CAN_POWER, "what it writes is for a machine that switches single SMs off; a scripted machine"},
        {no_mixing, CORUN_CAN_EXCLUSIVE, "keeps applications from mixing"},
        {a_limit, CORUN_CAN_TB_LIMIT, "limits thread blocks"},
        {a_swap, CORUN_CAN_SWAP_TB, "swaps single thread blocks"},
        {a_drop, CORUN_CAN_DROP, "abandons thread blocks"},
        {a_rank, CORUN_CAN_ORDER, "ranks applications"},
        {quotas, CORUN_CAN_QUOTA, "stops issuing"},
        {a_partition, CORUN_CAN_PARTITION, "in a given range of resources"},
        {a_grant, CORUN_CAN_GRANT, "holds launches of an application back"},
        {a_set_of_sms, CORUN_CAN_APART, "keeps launches of applications on SMs apart"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t others = ((1u << CORUN_CAPABILITY_COUNT) - 1) & ~(1u << rows[i].capability);
        expect_refusal(rows[i].deed, 1u << rows[i].capability, CORUN_CLOCK_CYCLES, rows[i].message);
        if (rows[i].capability != CORUN_CAN_SWAP_TB && rows[i].capability != CORUN_CAN_DROP)
            expect_refusal(rows[i].deed, others, CORUN_CLOCK_CYCLES, NULL);
    }
    expect_refusal(a_swap, 1u << CORUN_CAN_DROP, CORUN_CLOCK_CYCLES, NULL);
}

/* One that has left needs its partition no more: the next one may have it. */
static void partitions_of_the_departed_are_void(void **unused)
{
    (void)unused;
    struct scripted_machine m;
    chosen = registers_twice;
    scripted_create(&m);
    m.on_decide = write_it;
    scripted_open(&m);
    m.applications[0].state = CORUN_APPLICATION_LEFT;
    assert_int_equal(governor_moment(m.governor, 10, CORUN_EVENT_LEAVE, 0, 0), CORUN_OK);
    scripted_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_machine_cannot_do_or_tell_is_refused_by_name),
        cmocka_unit_test(other_versions_and_parameters_out_of_range_are_refused),
        cmocka_unit_test(a_policy_may_refuse_itself),
        cmocka_unit_test(impossible_allowances_are_refused),
        cmocka_unit_test(what_is_written_is_obeyed_whole_or_refused),
        cmocka_unit_test(partitions_of_the_departed_are_void),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
