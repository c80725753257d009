/* SPDX-License-Identifier: MIT */
/* What launches that were timed tell of others: by all instructions or by the longest warp, of a whole group or of a kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/sample_group.h"

#define ERROR 20000u /* 2 % */

static uint64_t all_cycles;

static struct sample_work work_of(uint64_t warp, uint64_t longest)
{
    return (struct sample_work){warp, warp * 32, longest};
}

/* A launch was timed: as the machine does, the first one tells its kind only. */
static void timed(struct sample_group *group, uint64_t warp, uint64_t longest, uint64_t cycles)
{
    struct sample_work work = work_of(warp, longest);
    struct sample_timing timing = {.cycles = cycles};
    uint32_t kind = sample_group_kind(group, &work);
    assert_true(kind != SAMPLE_NO_KIND);
    sample_group_note(group, kind, warp);
    if (group->launches) {
        all_cycles += cycles;
        all_cycles -= sample_group_learn(group, kind, &work, &timing, ERROR);
    }
    group->launches++;
}

/* One was not; what it was given. */
static uint64_t estimated(struct sample_group *group, uint64_t warp, uint64_t longest)
{
    struct sample_work work = work_of(warp, longest);
    uint32_t kind = sample_group_kind(group, &work);
    assert_true(kind != SAMPLE_NO_KIND);
    uint64_t cycles = sample_group_estimate(group, kind, &work, all_cycles, ERROR);
    sample_group_note(group, kind, warp);
    all_cycles += cycles;
    group->launches++;
    return cycles;
}

static struct sample_group *new_group(void)
{
    struct sample_group *group = sample_group_create("kernel");
    assert_non_null(group);
    all_cycles = 0;
    return group;
}

static bool knows_next(const struct sample_group *group)
{
    return sample_group_knows_next(group, all_cycles, ERROR);
}

static void nothing_is_known_of_none(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    assert_false(knows_next(group));
    assert_int_equal(sample_group_margin(group), 0);
    sample_group_destroy(group);
}

/* Five cycles for each instruction of the longest warp, whatever the others did: four launches behind the first one tell that. */
static void as_long_as_the_longest_warp(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    static const uint64_t instructions[] = {10000, 10400, 9600, 10900, 9900}, longest[] = {200, 400, 300, 350, 250};
    for (size_t i = 0; i < 5; i++) {
        assert_false(knows_next(group));
        timed(group, instructions[i], longest[i], i ? 5 * longest[i] : 7777);
    }
    assert_true(knows_next(group));
    assert_int_equal(group->all.measure, SAMPLE_LONGEST);
    assert_int_equal(estimated(group, 10200, 370), 5 * 370);
    assert_int_equal(sample_group_margin(group), 0);
    sample_group_destroy(group);
}

/* The other way round; and the longest warp need not be known. */
static void as_many_cycles_as_instructions(void **state)
{
    (void)state;
    for (uint64_t longest = 0; longest < 2; longest++) {
        struct sample_group *group = new_group();
        for (uint64_t i = 0; i < 5; i++)
            timed(group, 10000 + 200 * i, longest * (100 + i * i), 3 * (10000 + 200 * i));
        assert_true(knows_next(group));
        assert_int_equal(group->all.measure, SAMPLE_INSTRUCTIONS);
        assert_int_equal(estimated(group, 10100, longest * 500), 30300);
        sample_group_destroy(group);
    }
}

/* Two kinds with one rate: two launches of each are enough, for all of the group tell. A launch of a size that was never timed is not known. */
static void kinds_with_one_rate(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    timed(group, 10000, 10, 50000);
    for (uint64_t i = 0; i < 2; i++) {
        assert_false(knows_next(group));
        timed(group, 15000, 10, 30000);
        timed(group, 10000, 10, 20000);
    }
    assert_int_equal(group->kind_count, 2);
    assert_true(knows_next(group));
    assert_int_equal(estimated(group, 15000, 10), 30000);
    assert_true(knows_next(group));
    assert_int_equal(sample_group_margin(group), 0);
    assert_int_equal(estimated(group, 40000, 10), 80000); /* the best guess there is, and its margin says so */
    assert_int_equal(sample_group_margin(group), 80000);
    (void)estimated(group, 10000, 10);
    (void)estimated(group, 40000, 10);
    group->kinds[group->last].next = group->last; /* such a one is expected again */
    assert_false(knows_next(group));
    sample_group_destroy(group);
}

/* Two kinds with rates of their own, four launches of each. */
static void kinds_with_two_rates(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    timed(group, 10000, 10, 20000);
    for (uint64_t i = 0; i < 4; i++) {
        timed(group, 15000, 10, 60000);
        assert_false(knows_next(group));
        timed(group, 10000, 10, 20000);
    }
    assert_true(knows_next(group));
    assert_int_equal(estimated(group, 15000, 10), 60000);
    assert_int_equal(estimated(group, 10000, 10), 20000);
    assert_int_equal(group->all.skipped, 0);
    sample_group_destroy(group);
}

/* A cold launch behind the first one stands for itself: what is left is known exactly. */
static void a_cold_launch(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    timed(group, 10000, 10, 50000);
    timed(group, 10000, 10, 40000);
    for (uint64_t i = 0; i < 4; i++) {
        assert_false(knows_next(group));
        timed(group, 10000, 10, 20000);
    }
    assert_int_equal(group->cold, 1);
    assert_int_equal(group->all.timed, 4);
    assert_int_equal(all_cycles, 80000);
    assert_int_equal(group->known_cycles, 80000);
    assert_int_equal(group->kinds[0].points.timed, 4);
    assert_true(knows_next(group));
    assert_int_equal(estimated(group, 10000, 10), 20000);
    sample_group_destroy(group);
}

/* What has a hundredth of all cycles may be known ten times less well. */
static void small_shares_may_be_less_known(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    timed(group, 10000, 10, 20000);
    for (uint64_t i = 0; i < 4; i++)
        timed(group, 10000, 10, 20000 + (i % 2 ? 1000 : 0)); /* ± 4.5 % */
    assert_false(knows_next(group));
    assert_true(sample_group_knows_next(group, all_cycles * 100, ERROR));
    sample_group_destroy(group);
}

/* The oldest points make room for new ones. */
static void more_launches_than_points(void **state)
{
    (void)state;
    struct sample_group *group = new_group();
    timed(group, 10000, 10, 20000);
    for (uint64_t i = 0; i < RATIO_POINTS; i++)
        timed(group, 10000, 10, 20000);
    for (uint64_t i = 0; i < RATIO_POINTS; i++)
        timed(group, 10000, 10, 30000);
    assert_true(knows_next(group));
    assert_int_equal(estimated(group, 10000, 10), 30000);
    sample_group_destroy(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_none),       cmocka_unit_test(as_long_as_the_longest_warp),
        cmocka_unit_test(as_many_cycles_as_instructions), cmocka_unit_test(kinds_with_one_rate),
        cmocka_unit_test(kinds_with_two_rates),           cmocka_unit_test(a_cold_launch),
        cmocka_unit_test(small_shares_may_be_less_known), cmocka_unit_test(more_launches_than_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
