/* SPDX-License-Identifier: MIT */
/* Which cores and ways owners get: by hand, and at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/placing.h"

#include <string.h>

static void expect_cores(const struct placing *placing, const char *owners)
{
    char text[PLACING_CORES + 1] = {0};
    for (uint32_t i = 0; i < placing->core_count; i++)
        text[i] = (char)('0' + placing->core_owner[i]);
    assert_string_equal(text, owners);
}

static void test_who_grows_and_shrinks_keeps_the_rest(void **state)
{
    (void)state;
    struct placing placing;
    placing_begin(&placing, 6, 8);
    expect_cores(&placing, "000000");
    assert_int_equal(placing_way_mask(&placing, PLACING_COMMON), 0xff);
    placing_update(&placing, (struct corun_host_share[]){{0, 0}, {2, 3}, {2, 2}}, 3);
    expect_cores(&placing, "112200");
    assert_int_equal(placing_way_mask(&placing, 1), 0x07);
    assert_int_equal(placing_way_mask(&placing, 2), 0x18);
    assert_int_equal(placing_way_mask(&placing, PLACING_COMMON), 0xe0);
    placing_update(&placing, (struct corun_host_share[]){{0, 0}, {3, 3}, {1, 2}}, 3);
    expect_cores(&placing, "112100"); /* what 2 gave, 1 takes: nobody else moves */
    placing_update(&placing, (struct corun_host_share[]){{0, 0}, {0, 0}, {1, 2}, {4, 4}}, 4);
    expect_cores(&placing, "332330");
    assert_int_equal(placing_way_mask(&placing, 1), 0);
    assert_int_equal(placing_way_mask(&placing, 2), 0x03); /* it moves up, so that there is no hole */
    assert_int_equal(placing_way_mask(&placing, 3), 0x3c);
    placing_update(&placing, (struct corun_host_share[]){{0, 0}}, 1);
    expect_cores(&placing, "000000");
    assert_int_equal(placing_way_mask(&placing, PLACING_COMMON), 0xff);
}

static void test_common_ways_are_never_none(void **state)
{
    (void)state;
    struct placing placing;
    placing_begin(&placing, 2, 4);
    placing_update(&placing, (struct corun_host_share[]){{0, 0}, {1, 4}}, 2);
    assert_int_equal(placing_way_mask(&placing, 1), 0x0f);
    assert_int_equal(placing_way_mask(&placing, PLACING_COMMON), 0x08);
    placing_begin(&placing, 2, 64);
    assert_true(placing_way_mask(&placing, PLACING_COMMON) == UINT64_MAX);
}

/* Whatever is wanted: everybody has as much, nobody shares, who wants no less keeps what it had. */
static void test_at_random(void **state)
{
    (void)state;
    enum { CORES = 20, WAYS = 12, OWNERS = 9 };
    struct placing placing, before;
    uint64_t random = 1;
    placing_begin(&placing, CORES, WAYS);
    for (uint32_t round = 0; round < 20000; round++) {
        struct corun_host_share wanted[OWNERS] = {{0, 0}};
        uint32_t cores = CORES, ways = WAYS, has[OWNERS] = {0}, had[OWNERS] = {0};
        uint64_t all = 0;
        before = placing;
        for (uint32_t i = 1; i < OWNERS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            wanted[i].cores = (uint32_t)(random >> 33) % (cores + 1) / 2;
            wanted[i].ways = wanted[i].cores ? (uint32_t)(random >> 40) % (ways + 1) / 2 : 0;
            cores -= wanted[i].cores;
            ways -= wanted[i].ways;
        }
        placing_update(&placing, wanted, OWNERS);
        for (uint32_t core = 0; core < CORES; core++) {
            has[placing.core_owner[core]]++;
            had[before.core_owner[core]]++;
        }
        for (uint32_t i = 1; i < OWNERS; i++) {
            uint64_t mask = placing_way_mask(&placing, i);
            assert_int_equal(has[i], wanted[i].cores);
            assert_int_equal(__builtin_popcountll(mask), wanted[i].ways);
            assert_false(mask & all);
            all |= mask;
            if (mask)
                assert_int_equal(mask >> __builtin_ctzll(mask), UINT64_MAX >> (64 - wanted[i].ways));
            for (uint32_t core = 0; core < CORES && wanted[i].cores >= had[i]; core++)
                if (before.core_owner[core] == i)
                    assert_int_equal(placing.core_owner[core], i);
        }
        if (ways)
            assert_int_equal(placing_way_mask(&placing, PLACING_COMMON), ~all & (UINT64_MAX >> (64 - WAYS)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_grows_and_shrinks_keeps_the_rest),
        cmocka_unit_test(test_common_ways_are_never_none),
        cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
