/* SPDX-License-Identifier: MIT */
/* Task graphs on cores, scheduled by hand beforehand. */
#include "profile/schedule.h"

#include "corun/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t length_of(const struct profile_query *query, uint32_t cores, struct profile_start *starts)
{
    uint64_t length_ns = 0;
    assert_int_equal(profile_schedule(query, cores, starts, &length_ns), CORUN_OK);
    return length_ns;
}

static void tasks_without_needs_go_to_the_next_free_core(void **state)
{
    (void)state;
    uint64_t times[] = {5, 3, 4, 2, 6};
    struct profile_phase phase = {.serial_ns = 10, .task_count = 5, .task_ns = times};
    struct profile_query query = {.serial_ns = 7, .phase_count = 1, .phases = &phase};
    struct profile_start starts[7];
    assert_int_equal(profile_query_work(&query), 37);
    assert_int_equal(length_of(&query, 1, NULL), 37);
    /*
     *      10    13  14 15   17  19       23
     *  a   │ 0 ────────│ 3 ──│
     *  b   │ 1 ──│ 2 ────────│ 4 ─────────│ serial
     * Core a is free at 15 and takes 3 until 17; b is free at 17 as well.
     */
    assert_int_equal(length_of(&query, 2, starts), 30);
    assert_int_equal(profile_pieces(&query), 7);
    static const uint64_t expected[7] = {0, 10, 10, 13, 15, 17, 23};
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(starts[i].start_ns, expected[i]);
    assert_int_equal(starts[0].task, CORUN_TRACE_SERIAL);
    assert_int_equal(starts[6].task, CORUN_TRACE_SERIAL);
    assert_int_equal(starts[6].phase, 1);
    assert_int_equal(starts[5].task, 4);
    assert_int_equal(starts[5].length_ns, 6);
    assert_int_equal(length_of(&query, 5, NULL), 23);
    assert_int_equal(length_of(&query, 64, NULL), 23);
}

static void a_task_waits_for_its_needs(void **state)
{
    (void)state;
    /* 0 ► 2 ► 3, 1 ► 3: the path 0, 2, 3 is 9 long. */
    uint64_t times[] = {2, 6, 3, 4, 1};
    struct profile_need needs[] = {{2, 0}, {3, 2}, {3, 1}};
    struct profile_phase phase = {.task_count = 5, .need_count = 3, .task_ns = times, .needs = needs};
    struct profile_query query = {.phase_count = 1, .phases = &phase};
    struct profile_start starts[7];
    assert_int_equal(length_of(&query, 1, NULL), 16);
    /* Two cores: 0 and 1 begin; at 2 comes 2, at 5 comes 4 (3 waits for 1), at 6 comes 3. */
    assert_int_equal(length_of(&query, 2, starts), 10);
    assert_int_equal(starts[1 + 2].start_ns, 2);
    assert_int_equal(starts[1 + 4].start_ns, 5);
    assert_int_equal(starts[1 + 3].start_ns, 6);
    assert_int_equal(length_of(&query, 3, NULL), 10);
    /* On one core the lowest number that may begin comes first: 0, 1, 2, 3, 4. */
    length_of(&query, 1, starts);
    static const uint64_t expected[] = {0, 2, 8, 11, 15};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(starts[1 + i].start_ns, expected[i]);
}

static void phases_come_one_after_the_other(void **state)
{
    (void)state;
    uint64_t times[] = {4, 4, 4};
    struct profile_phase phases[] = {{.serial_ns = 1, .task_count = 3, .task_ns = times},
                                     {.serial_ns = 2},
                                     {.serial_ns = 3, .task_count = 2, .task_ns = times}};
    struct profile_query query = {.serial_ns = 5, .phase_count = 3, .phases = phases};
    assert_int_equal(length_of(&query, 1, NULL), 31);
    assert_int_equal(length_of(&query, 2, NULL), 11 + 8 + 4);
    assert_int_equal(length_of(&query, 3, NULL), 11 + 4 + 4);
}

/* A wave of rows over frames, as x264 has it: a diagonal at a time. */
static void a_wave_is_as_wide_as_its_needs_let_it(void **state)
{
    (void)state;
    enum { FRAMES = 6, ROWS = 4, COUNT = FRAMES * ROWS };
    uint64_t times[COUNT];
    struct profile_need needs[2 * COUNT];
    uint32_t count = 0;
    for (uint32_t t = 0; t < COUNT; t++) {
        times[t] = 1;
        if (t % ROWS)
            needs[count++] = (struct profile_need){t, t - 1};
        if (t >= ROWS) /* the row below, of the frame before */
            needs[count++] = (struct profile_need){t, t - ROWS + (t % ROWS + 1 < ROWS)};
    }
    struct profile_phase phase = {.task_count = COUNT, .need_count = count, .task_ns = times, .needs = needs};
    struct profile_query query = {.phase_count = 1, .phases = &phase};
    assert_int_equal(length_of(&query, 1, NULL), COUNT);
    assert_int_equal(length_of(&query, 2, NULL),
                     2 * (FRAMES - 1) + ROWS); /* a frame begins two rows after the one before */
    assert_int_equal(length_of(&query, 12, NULL), 2 * (FRAMES - 1) + ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_without_needs_go_to_the_next_free_core), cmocka_unit_test(a_task_waits_for_its_needs),
        cmocka_unit_test(phases_come_one_after_the_other), cmocka_unit_test(a_wave_is_as_wide_as_its_needs_let_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
