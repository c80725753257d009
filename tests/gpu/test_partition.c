/* SPDX-License-Identifier: MIT */
/* Partitions of an SM: what fits where, what is moved, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stage.h"

enum { UNIT = 2048 }; /* registers of a thread block of one warp with 64 registers a thread */

/* Thread blocks of one warp whose instructions take 6 cycles each. */
static struct script *work(uint32_t tbs, uint32_t instructions, uint32_t units)
{
    struct script *script = script_new(tbs, 1);
    script->grid.registers_per_thread = 64 * units;
    for (uint32_t i = 0; i < instructions; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 1, 41);
    script_end(script, 0, 1);
    return script;
}

static struct stage *set_up(uint32_t units)
{
    struct stage *stage = stage_new();
    stage->config.epoch_cycles = 1000;
    stage->config.registers_per_sm = units * UNIT;
    stage->config.registers_per_thread = 255;
    return stage;
}

static void add_application(struct stage *stage, uint64_t arrival, struct script *script)
{
    stage->scripts[stage->application_count] = script;
    stage->arrivals[stage->application_count++] = arrival;
}

static struct corun_partition part(uint32_t first_unit, uint32_t units)
{
    return (struct corun_partition){
        .first_register = first_unit * UNIT, .register_count = units * UNIT, .thread_count = 512, .tb_slots = 8};
}

static struct corun_partition parts[STAGE_APPLICATIONS];
static uint32_t resident[STAGE_APPLICATIONS]; /* most of each, at epochs */

static void look(const struct corun_view *view)
{
    for (uint32_t a = 0; a < view->application_count; a++)
        if (view->shares[a].resident_tbs > resident[a])
            resident[a] = view->shares[a].resident_tbs;
}

static void from_the_start(struct stage *stage, const struct corun_view *view, struct corun_allowances *allowances)
{
    (void)stage;
    assert_true(view->capabilities & 1u << CORUN_CAN_PARTITION);
    memset(resident, 0, sizeof resident);
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->partition[i] = parts[i % view->application_count];
}

static void only_look(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                      struct corun_allowances *allowances)
{
    (void)stage;
    (void)allowances;
    if (moment.event == CORUN_EVENT_EPOCH)
        look(view);
}

static void from_the_first_epoch(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                                 struct corun_allowances *allowances)
{
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    if (view->cycle == 1000)
        from_the_start(stage, view, allowances);
    else
        look(view);
}

static uint32_t most_resident(struct corun_partition partition)
{
    struct stage *stage = set_up(8);
    add_application(stage, 0, work(60, 100, 1));
    parts[0] = partition;
    stage->start = from_the_start;
    stage->decide = only_look;
    stage->limits.cycles = 3500;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(stage->counters[0].tbs_fragmented, 0);
    stage_end(stage);
    return resident[0];
}

static void a_partition_holds_what_it_has_room_for(void **state)
{
    (void)state;
    assert_int_equal(most_resident((struct corun_partition){0}), 8);
    assert_int_equal(most_resident(part(0, 8)), 8);
    assert_int_equal(most_resident(part(3, 3)), 3);
    struct corun_partition p = part(1, 5);
    p.register_count -= 1;
    assert_int_equal(most_resident(p), 4);
    p = part(1, 5);
    p.thread_count = 2 * 32 + 31;
    assert_int_equal(most_resident(p), 2);
    p = part(1, 5);
    p.tb_slots = 1;
    assert_int_equal(most_resident(p), 1);
    p.register_count = 0;
    assert_int_equal(most_resident(p), 0);
}

static void threads_for_three(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                              struct corun_allowances *allowances)
{
    if (moment.event == CORUN_EVENT_KERNEL_START) {
        parts[0].thread_count = 3 * view->applications[0].running.tb_threads;
        from_the_start(stage, view, allowances);
    }
    only_look(stage, view, moment, allowances);
}

/* A thread block of 20 threads takes places for a warp, and a policy that plans with what it sees plans for that. */
static void a_policy_sees_threads_as_allocated(void **state)
{
    (void)state;
    struct stage *stage = set_up(8);
    add_application(stage, 0, work(60, 100, 1));
    stage->scripts[0]->grid.tb_threads = 20;
    parts[0] = part(0, 8);
    stage->start = from_the_start;
    stage->decide = threads_for_three;
    stage->limits.cycles = 3500;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(resident[0], 3);
    stage_end(stage);
}

/* Shared memory is given out in the same way. */
static void shared_memory_is_partitioned_too(void **state)
{
    (void)state;
    struct stage *stage = set_up(32);
    add_application(stage, 0, work(60, 100, 1));
    stage->scripts[0]->grid.tb_shared_bytes = 4000; /* 4096 as allocated */
    parts[0] = part(0, 32);
    parts[0].first_shared_byte = 1000;
    parts[0].shared_bytes = 3 * 4096 + 100;
    stage->start = from_the_start;
    stage->decide = only_look;
    stage->limits.cycles = 3500;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(resident[0], 3);
    stage_end(stage);
}

static uint64_t first_issue(const struct stage *stage, uint32_t application)
{
    for (uint32_t i = 0; i < stage->issue_count; i++)
        if (stage->issues[i].application == application)
            return stage->issues[i].cycle;
    return 0;
}

static uint64_t last_issue(const struct stage *stage, uint32_t application)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < stage->issue_count; i++)
        if (stage->issues[i].application == application)
            last = stage->issues[i].cycle;
    return last;
}

/*
 * The first has unit 0 for itself, the others share units 1 to 3. The second takes unit 1, the third unit 2; when the
 * second has ended, units 1 and 3 are free, but the fourth needs two side by side.
 */
static void what_is_free_in_pieces_is_not_enough(void **state)
{
    (void)state;
    struct stage *stage = set_up(4);
    add_application(stage, 0, work(1, 500, 1));
    add_application(stage, 100, work(1, 20, 1));
    add_application(stage, 200, work(1, 300, 1));
    add_application(stage, 600, work(1, 20, 2));
    memset(parts, 0, sizeof parts);
    parts[0] = part(0, 1);
    stage->start = from_the_start;
    stage->limits.runs = 1;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_true(last_issue(stage, 1) < 600);
    assert_true(first_issue(stage, 3) >= last_issue(stage, 2) + stage->config.dispatch_latency);
    assert_true(last_issue(stage, 0) > first_issue(stage, 3)); /* it did not have to wait for that one */
    assert_int_equal(stage->counters[3].tbs_fragmented, 1);
    assert_int_equal(stage->counters[0].tbs_swapped_out, 0);
    stage_end(stage);

    /* without partitions it starts at once */
    stage = set_up(4);
    add_application(stage, 0, work(1, 500, 1));
    add_application(stage, 100, work(1, 20, 1));
    add_application(stage, 200, work(1, 300, 1));
    add_application(stage, 600, work(1, 20, 2));
    stage->limits.runs = 1;
    stage_run(stage);
    assert_in_range(first_issue(stage, 3), 600, 700);
    stage_end(stage);
}

/* Four thread blocks of the first fill the SM; at the first epoch each application gets a half of it. */
static struct stage *halves(uint32_t first, uint32_t second)
{
    struct stage *stage = set_up(4);
    add_application(stage, 0, work(4, 1000, 1));
    add_application(stage, 500, work(2, 50, 1));
    memset(parts, 0, sizeof parts);
    parts[0] = part(first, 2);
    parts[1] = part(second, 2);
    stage->decide = from_the_first_epoch;
    stage->limits.cycles = 0;
    stage->limits.runs = 1;
    return stage;
}

static void what_lies_outside_its_partition_is_relocated(void **state)
{
    (void)state;
    for (uint32_t first = 0; first <= 2; first += 2) { /* it keeps the lower or the upper half: two stay, two move */
        struct stage *stage = halves(first, 2 - first);
        stage_run(stage);
        assert_int_equal(stage->status, CORUN_OK);
        for (uint32_t a = 0; a < 2; a++) {
            assert_int_equal(stage->results[a].runs, 1);
            assert_int_equal(stage->counters[a].warp_instructions, a ? 2 * 51 : 4 * 1001);
        }
        assert_int_equal(stage->counters[0].tbs_swapped_out, 2);
        assert_int_equal(stage->counters[0].tbs_swapped_in, 2);
        assert_int_equal(stage->counters[1].tbs_swapped_out, 0);
        assert_true(stage->counters[0].saved_bytes >= 2 * UNIT * 4);
        assert_int_equal(stage->counters[0].restored_bytes, stage->counters[0].saved_bytes);
        assert_int_equal(resident[0], 2);
        /* the second could not start before the first had made room, and did not wait for its end */
        assert_true(first_issue(stage, 1) > 1000 + stage->config.dispatch_latency);
        assert_true(last_issue(stage, 1) < 4000);
        stage_end(stage);
    }
}

/* The only thread block is moved to another part of its own SM. */
static void a_thread_block_comes_back_to_its_sm(void **state)
{
    (void)state;
    struct stage *stage = set_up(4);
    add_application(stage, 0, work(1, 1000, 1));
    memset(parts, 0, sizeof parts);
    parts[0] = part(2, 1);
    stage->decide = from_the_first_epoch;
    stage->limits.cycles = 0;
    stage->limits.runs = 1;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(stage->results[0].runs, 1);
    assert_int_equal(stage->counters[0].tbs_swapped_out, 1);
    assert_int_equal(stage->counters[0].tbs_swapped_in, 1);
    assert_int_equal(stage->counters[0].warp_instructions, 1001);
    stage_end(stage);
}

/* A range that is written while thread blocks are on their way: none starts outside it. */
static void what_is_on_its_way_is_taken_back(void **state)
{
    (void)state;
    struct stage *stage = set_up(4);
    stage->config.dispatch_latency = 300;
    add_application(stage, 990, work(8, 200, 1));
    memset(parts, 0, sizeof parts);
    parts[0] = part(1, 2);
    stage->decide = from_the_first_epoch;
    stage->limits.cycles = 0;
    stage->limits.runs = 1;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_int_equal(stage->results[0].runs, 1);
    assert_int_equal(resident[0], 2);
    assert_int_equal(stage->counters[0].warp_instructions, 8 * 201);
    stage_end(stage);
}

static struct corun_partition wrong[2];

static void write_wrong(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    (void)stage;
    (void)view;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    allowances->partition[2] = wrong[0]; /* of SM 1 */
    allowances->partition[3] = wrong[1];
}

static void expect_refusal(struct corun_partition first, struct corun_partition second, const char *message)
{
    struct stage *stage = set_up(4);
    stage->config.sms = 2;
    add_application(stage, 0, work(60, 100, 1));
    add_application(stage, 0, work(60, 100, 1));
    wrong[0] = first;
    wrong[1] = second;
    stage->decide = write_wrong;
    stage_run(stage);
    assert_int_equal(stage->status, message ? CORUN_POLICY : CORUN_OK);
    if (message && !strstr(stage->message, message))
        fail_msg("%s", stage->message);
    stage_end(stage);
}

static void impossible_partitions_are_refused_by_name(void **state)
{
    (void)state;
    struct corun_partition p = part(0, 2), q = part(2, 2);
    expect_refusal(p, q, NULL);
    expect_refusal(
        p, part(3, 2),
        "policy scripted at cycle 1000: the partition of app1 on SM 1 ends at register 10240; an SM has 8192");
    expect_refusal(p, part(1, 2), "on SM 1 it gives app0 the registers 0 to 4095 and app1 2048 to 6143, which overlap");
    p.first_shared_byte = 90000;
    p.shared_bytes = 10000;
    expect_refusal(p, q, "the partition of app0 on SM 1 ends at byte 100000 of shared memory; an SM has 98304");
    p.shared_bytes = 2000;
    q.first_shared_byte = 91999;
    q.shared_bytes = 1;
    expect_refusal(p, q,
                   "it gives app0 the bytes 90000 to 91999 of shared memory and app1 91999 to 91999, which overlap");
    q.first_shared_byte = 92000;
    expect_refusal(p, q, NULL);
    q.thread_count = 1537;
    expect_refusal(p, q,
                   "its partitions of SM 1 have 2049 threads and 16 thread blocks together; an SM has 2048 and 32");
    q = part(2, 2);
    q.tb_slots = UINT32_MAX;
    expect_refusal(p, q, "have 1024 threads and 4294967303 thread blocks together");
    q.first_register = UINT32_MAX;
    expect_refusal(p, q, "ends at register 4294971391");
}

/* Other ranges on every SM at every epoch. */
static void wander(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    (void)stage;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    for (uint32_t s = 0; s < view->sm_count; s++) {
        uint32_t cut = (uint32_t)(view->cycle / 1000 + s) % 5 + 1; /* 1 to 5 of 6 units */
        bool swapped = view->cycle / 1000 % 3 == 0;
        allowances->partition[s * 2 + swapped] = part(0, cut);
        allowances->partition[s * 2 + !swapped] = part(cut, 6 - cut);
    }
}

static void the_digits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct stage *stage = set_up(6);
    stage->config.sms = 3;
    add_application(stage, 0, work(40, 120, 1));
    add_application(stage, 0, work(25, 90, 1));
    stage->decide = wander;
    stage->limits.cycles = 40000;
    stage_run(stage);
    assert_int_equal(stage->status, CORUN_OK);
    assert_true(stage->counters[0].tbs_swapped_out > 20 && stage->counters[1].tbs_swapped_out > 20);
    assert_true(stage->results[0].runs >= 1 && stage->results[1].runs >= 1);
    struct stage first = *stage;
    first.issues = malloc(stage->issue_count * sizeof *first.issues);
    memcpy(first.issues, stage->issues, stage->issue_count * sizeof *first.issues);
    stage->limits.threads = 3;
    stage_run(stage);
    assert_int_equal(stage->issue_count, first.issue_count);
    assert_memory_equal(stage->issues, first.issues, stage->issue_count * sizeof *first.issues);
    assert_memory_equal(stage->counters, first.counters, sizeof first.counters);
    free(first.issues);
    stage_end(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_holds_what_it_has_room_for),
        cmocka_unit_test(a_policy_sees_threads_as_allocated),
        cmocka_unit_test(shared_memory_is_partitioned_too),
        cmocka_unit_test(what_is_free_in_pieces_is_not_enough),
        cmocka_unit_test(what_lies_outside_its_partition_is_relocated),
        cmocka_unit_test(a_thread_block_comes_back_to_its_sm),
        cmocka_unit_test(what_is_on_its_way_is_taken_back),
        cmocka_unit_test(impossible_partitions_are_refused_by_name),
        cmocka_unit_test(the_digits_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
