/* SPDX-License-Identifier: MIT */
/* Who loads what others may have stored or not: between thread blocks, between warps, and from launch to launch. */
#include "record/shadow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WORD UINT64_C(0x10000001000)
#define ADD 7u
#define MAXIMUM 9u
#define FLOAT_ADD (ADD | 0x80u)

struct step {
    uint32_t tb, warp, barriers;
    enum record_access access;
    uint32_t kind;
    uint64_t address;
};

static enum record_conflict take(struct record_shadow *shadow, const struct step *step)
{
    const struct record_actor actor = {step->tb, step->warp, step->barriers};
    return record_shadow_access(shadow, &actor, step->access, step->kind, step->address, 4);
}

/* All steps but the last one are in no conflict. */
static void expect(const struct step *steps, size_t count, enum record_conflict last)
{
    struct record_shadow *shadow = record_shadow_create(4);
    assert_non_null(shadow);
    assert_true(record_shadow_launch(shadow, 4, false));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(take(shadow, &steps[i]), i + 1 < count ? RECORD_NO_CONFLICT : last);
    record_shadow_destroy(shadow);
}

#define EXPECT(last, ...) \
    expect((const struct step[]){__VA_ARGS__}, sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step), last)

static void thread_blocks_may_not_meet(void **state)
{
    (void)state;
    EXPECT(RECORD_OTHER_TB, {0, 0, 0, RECORD_STORE, 0, WORD}, {1, 0, 0, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_OTHER_TB, {0, 0, 0, RECORD_LOAD, 0, WORD}, {1, 0, 0, RECORD_STORE, 0, WORD});
    EXPECT(RECORD_OTHER_TB, {0, 0, 0, RECORD_LOAD, 0, WORD}, {1, 0, 0, RECORD_ATOMIC, ADD, WORD});
    /* Barriers are of a thread block. */
    EXPECT(RECORD_OTHER_TB, {0, 0, 0, RECORD_STORE, 0, WORD}, {1, 0, 5, RECORD_LOAD, 0, WORD});
    /* One that stored is remembered though another one has stored since. */
    EXPECT(RECORD_OTHER_TB, {0, 0, 0, RECORD_STORE, 0, WORD}, {1, 0, 0, RECORD_STORE, 0, WORD + 64},
           {1, 0, 0, RECORD_STORE, 0, WORD}, {1, 0, 0, RECORD_LOAD, 0, WORD + 64}, {1, 0, 0, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_OTHER_TB, {0, 0, 0, RECORD_LOAD, 0, WORD}, {1, 0, 0, RECORD_LOAD, 0, WORD},
           {1, 0, 0, RECORD_STORE, 0, WORD});
    EXPECT(RECORD_NO_CONFLICT, {0, 0, 0, RECORD_LOAD, 0, WORD}, {1, 0, 0, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_NO_CONFLICT, {0, 0, 0, RECORD_STORE, 0, WORD}, {1, 0, 0, RECORD_LOAD, 0, WORD + 4});
}

static void warps_may_meet_after_a_barrier(void **state)
{
    (void)state;
    EXPECT(RECORD_OTHER_WARP, {0, 0, 0, RECORD_STORE, 0, WORD}, {0, 1, 0, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_OTHER_WARP, {0, 0, 0, RECORD_LOAD, 0, WORD}, {0, 1, 0, RECORD_STORE, 0, WORD});
    EXPECT(RECORD_NO_CONFLICT, {0, 0, 0, RECORD_STORE, 0, WORD}, {0, 0, 0, RECORD_LOAD, 0, WORD},
           {0, 1, 1, RECORD_LOAD, 0, WORD}, {0, 2, 1, RECORD_LOAD, 0, WORD}, {0, 1, 2, RECORD_STORE, 0, WORD});
    EXPECT(RECORD_OTHER_WARP, {0, 1, 0, RECORD_LOAD, 0, WORD}, {0, 2, 0, RECORD_LOAD, 0, WORD},
           {0, 2, 0, RECORD_STORE, 0, WORD});
    /* A warp that loads once more after the barrier does not hide another one. */
    EXPECT(RECORD_OTHER_WARP, {0, 1, 1, RECORD_LOAD, 0, WORD}, {0, 2, 1, RECORD_LOAD, 0, WORD},
           {0, 1, 1, RECORD_LOAD, 0, WORD}, {0, 1, 1, RECORD_STORE, 0, WORD});
}

static void sums_of_whole_numbers_come_in_any_order(void **state)
{
    (void)state;
    EXPECT(RECORD_NO_CONFLICT, {0, 0, 0, RECORD_ATOMIC, ADD, WORD}, {1, 0, 0, RECORD_ATOMIC, ADD, WORD},
           {1, 1, 0, RECORD_ATOMIC, ADD, WORD});
    EXPECT(RECORD_NO_CONFLICT, {0, 0, 0, RECORD_STORE, 0, WORD}, {0, 0, 1, RECORD_ATOMIC, ADD, WORD},
           {0, 1, 1, RECORD_ATOMIC, ADD, WORD}, {0, 2, 2, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_UNORDERED, {0, 0, 0, RECORD_ATOMIC, ADD, WORD}, {0, 1, 0, RECORD_ATOMIC, MAXIMUM, WORD},
           {0, 1, 1, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_UNORDERED, {0, 0, 0, RECORD_ATOMIC, FLOAT_ADD, WORD}, {0, 0, 1, RECORD_LOAD, 0, WORD});
    EXPECT(RECORD_UNORDERED, {0, 0, 0, RECORD_STORE, 0, WORD}, {0, 1, 0, RECORD_STORE, 0, WORD},
           {0, 1, 1, RECORD_LOAD, 0, WORD});
    /* What a thread block stores after a barrier is ordered again. */
    EXPECT(RECORD_NO_CONFLICT, {0, 0, 0, RECORD_ATOMIC, FLOAT_ADD, WORD}, {0, 0, 1, RECORD_STORE, 0, WORD},
           {0, 1, 2, RECORD_LOAD, 0, WORD});
}

static void launches_come_one_after_the_other(void **state)
{
    (void)state;
    const struct {
        struct step first, second; /* by thread blocks of one launch */
        enum record_conflict then; /* a load by a later launch */
    } rows[] = {
        {{0, 0, 0, RECORD_STORE, 0, WORD}, {0, 0, 0, RECORD_LOAD, 0, WORD}, RECORD_NO_CONFLICT},
        {{0, 0, 0, RECORD_ATOMIC, ADD, WORD}, {1, 0, 0, RECORD_ATOMIC, ADD, WORD}, RECORD_NO_CONFLICT},
        {{0, 0, 0, RECORD_STORE, 0, WORD}, {1, 0, 0, RECORD_STORE, 0, WORD}, RECORD_UNORDERED},
        {{0, 0, 0, RECORD_ATOMIC, ADD, WORD}, {1, 0, 0, RECORD_ATOMIC, MAXIMUM, WORD}, RECORD_UNORDERED},
        {{0, 0, 0, RECORD_ATOMIC, ADD, WORD}, {1, 0, 0, RECORD_STORE, 0, WORD}, RECORD_UNORDERED},
        {{0, 0, 0, RECORD_ATOMIC, FLOAT_ADD, WORD}, {1, 0, 0, RECORD_ATOMIC, FLOAT_ADD, WORD}, RECORD_UNORDERED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int forgets = 0; forgets < 2; forgets++) {
            struct record_shadow *shadow = record_shadow_create(4);
            assert_true(record_shadow_launch(shadow, 2, forgets));
            assert_int_equal(take(shadow, &rows[i].first), RECORD_NO_CONFLICT);
            assert_int_equal(take(shadow, &rows[i].second), RECORD_NO_CONFLICT);
            assert_int_equal(record_shadow_is_unordered(shadow), rows[i].then == RECORD_UNORDERED);
            assert_true(record_shadow_launch(shadow, 2, forgets));
            const struct step load = {1, 0, 0, RECORD_LOAD, 0, WORD};
            assert_int_equal(take(shadow, &load), forgets ? RECORD_NO_CONFLICT : rows[i].then);
            record_shadow_destroy(shadow);
        }
}

/* A thread block that has summed up and then stored is not known to have done so before another one sums up. */
static void an_order_of_one_is_none_of_all(void **state)
{
    (void)state;
    struct record_shadow *shadow = record_shadow_create(4);
    assert_true(record_shadow_launch(shadow, 2, false));
    const struct step steps[] = {{0, 0, 0, RECORD_ATOMIC, ADD, WORD},
                                 {0, 0, 1, RECORD_ATOMIC, MAXIMUM, WORD},
                                 {1, 0, 0, RECORD_ATOMIC, MAXIMUM, WORD}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(take(shadow, &steps[i]), RECORD_NO_CONFLICT);
    assert_true(record_shadow_is_unordered(shadow));
    record_shadow_destroy(shadow);
}

static void accesses_have_lengths(void **state)
{
    (void)state;
    struct record_shadow *shadow = record_shadow_create(2);
    const struct record_actor one = {0, 0, 0}, other = {1, 0, 0};
    assert_true(record_shadow_launch(shadow, 2, false));
    assert_int_equal(record_shadow_access(shadow, &one, RECORD_STORE, 0, 4094, 8), RECORD_NO_CONFLICT);
    assert_int_equal(record_shadow_access(shadow, &other, RECORD_LOAD, 0, 4092, 2), RECORD_NO_CONFLICT);
    assert_int_equal(record_shadow_access(shadow, &other, RECORD_LOAD, 0, 4102, 4), RECORD_NO_CONFLICT);
    assert_int_equal(record_shadow_access(shadow, &other, RECORD_LOAD, 0, 4088, 16), RECORD_OTHER_TB);
    assert_int_equal(record_shadow_access(shadow, &other, RECORD_LOAD, 0, 4100, 2), RECORD_OTHER_TB);
    record_shadow_destroy(shadow);
}

static void many_pages_and_thread_blocks(void **state)
{
    (void)state;
    struct record_shadow *shadow = record_shadow_create(16);
    const struct record_actor actor = {0, 0, 0};
    assert_true(record_shadow_launch(shadow, UINT32_MAX - 8, false));
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(record_shadow_access(shadow, &actor, RECORD_STORE, 0, i << 20, 16), RECORD_NO_CONFLICT);
    const struct record_actor last = {UINT32_MAX - 9, 0, 0};
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(record_shadow_access(shadow, &last, RECORD_LOAD, 0, i << 20, 16), RECORD_OTHER_TB);
    assert_false(record_shadow_launch(shadow, 100, false));
    record_shadow_destroy(shadow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_blocks_may_not_meet),
        cmocka_unit_test(warps_may_meet_after_a_barrier),
        cmocka_unit_test(sums_of_whole_numbers_come_in_any_order),
        cmocka_unit_test(launches_come_one_after_the_other),
        cmocka_unit_test(an_order_of_one_is_none_of_all),
        cmocka_unit_test(accesses_have_lengths),
        cmocka_unit_test(many_pages_and_thread_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
