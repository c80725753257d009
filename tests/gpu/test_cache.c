/* SPDX-License-Identifier: MIT */
/* The tag array: lookup, replacement order, reservation, sectors, victims, and how sets are spread. */
#include "gpu/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t allocate(struct cache *cache, uint64_t address, struct cache_victim *victim)
{
    struct cache_victim ignored;
    return cache_allocate(cache, address, victim ? victim : &ignored);
}

static void rejects_impossible_shapes(void **state)
{
    (void)state;
    assert_null(cache_create(0, 4, 128, 32, false));
    assert_null(cache_create(1024, 0, 128, 32, false));
    assert_null(cache_create(1000, 2, 128, 32, false));
    assert_null(cache_create(1024, 2, 96, 32, false));
    assert_null(cache_create(1024, 2, 128, 256, false));
}

static void finds_what_was_allocated(void **state)
{
    (void)state;
    struct cache *cache = cache_create(4096, 4, 128, 32, false);
    assert_int_equal(cache_find(cache, 0), CACHE_NO_LINE);
    uint32_t line = allocate(cache, 0x12345680, NULL);
    assert_int_equal(cache_find(cache, 0x12345680), line);
    assert_int_equal(cache_find(cache, 0x123456ff), line); /* any byte of the line */
    assert_int_equal(cache_find(cache, 0x12345700), CACHE_NO_LINE);
    assert_int_equal(cache_valid(cache, line), 0);
    cache_invalidate(cache, line);
    assert_int_equal(cache_find(cache, 0x12345680), CACHE_NO_LINE);
    allocate(cache, 0x80, NULL);
    cache_flush(cache);
    assert_int_equal(cache_find(cache, 0x80), CACHE_NO_LINE);
    cache_destroy(cache);
}

/* Whatever is compared first, lines that agree in it must not be mixed up: 1024 ways, and many absent lines. */
static void tells_lines_with_equal_folds_apart(void **state)
{
    (void)state;
    struct cache *cache = cache_create(1024 * 128, 1024, 128, 128, false);
    uint64_t numbers[1024];
    uint32_t lines[1024];
    for (uint32_t i = 0; i < 1024; i++) {
        numbers[i] = i % 2 ? 0x100000 + i : (uint64_t)i << 32 | (7 ^ i * 0x9e3779b1u);
        lines[i] = allocate(cache, numbers[i] * 128, NULL);
    }
    for (uint32_t i = 0; i < 1024; i++)
        assert_int_equal(cache_find(cache, numbers[i] * 128), lines[i]);
    for (uint64_t absent = 1024; absent < 200000; absent++)
        assert_int_equal(cache_find(cache, absent * 128), CACHE_NO_LINE);
    cache_destroy(cache);
}

static void replaces_the_least_recently_used(void **state)
{
    (void)state;
    struct cache *cache = cache_create(4 * 128, 4, 128, 128, false); /* one set */
    uint32_t line[5];
    for (int i = 0; i < 4; i++)
        line[i] = allocate(cache, (uint64_t)i * 128, NULL);
    cache_touch(cache, line[0]);
    cache_touch(cache, line[2]);
    cache_touch(cache, line[1]);
    /* Oldest first: 3, 0, 2, 1. */
    struct cache_victim victim;
    assert_int_equal(allocate(cache, 4 * 128, &victim), line[3]);
    assert_int_equal(victim.address, 3 * 128);
    assert_int_equal(victim.dirty, 0);
    allocate(cache, 5 * 128, &victim);
    assert_int_equal(victim.address, 0);
    cache_invalidate(cache, line[1]); /* an invalid line goes before the oldest valid one */
    assert_int_equal(allocate(cache, 6 * 128, NULL), line[1]);
    allocate(cache, 7 * 128, &victim);
    assert_int_equal(victim.address, 2 * 128);
    cache_destroy(cache);
}

static void does_not_evict_reserved_lines(void **state)
{
    (void)state;
    struct cache *cache = cache_create(2 * 128, 2, 128, 32, false);
    uint32_t a = allocate(cache, 0, NULL), b = allocate(cache, 128, NULL);
    cache_set_reserved(cache, a, 0x3);
    assert_int_equal(allocate(cache, 256, NULL), b);
    cache_set_reserved(cache, b, 0x1);
    assert_int_equal(allocate(cache, 384, NULL), CACHE_NO_LINE);
    cache_set_valid(cache, a, 0x1);
    assert_int_equal(cache_reserved(cache, a), 0x2);
    assert_int_equal(allocate(cache, 384, NULL), CACHE_NO_LINE);
    cache_set_valid(cache, a, 0x2);
    assert_int_equal(allocate(cache, 384, NULL), a);
    cache_destroy(cache);
}

static void returns_dirty_victims_with_their_owner(void **state)
{
    (void)state;
    struct cache *cache = cache_create(128, 1, 128, 32, true);
    uint32_t line = allocate(cache, 0x1000, NULL);
    cache_set_valid(cache, line, 0x1);
    cache_set_dirty(cache, line, 0x6);
    cache_set_owner(cache, line, 17, 3);
    assert_int_equal(cache_valid(cache, line), 0x7);
    assert_int_equal(cache_dirty(cache, line), 0x6);
    struct cache_victim victim;
    line = allocate(cache, 0x2000, &victim);
    assert_int_equal(victim.address, 0x1000);
    assert_int_equal(victim.dirty, 0x6);
    assert_int_equal(victim.kernel, 17);
    assert_int_equal(victim.application, 3);
    assert_int_equal(cache_dirty(cache, line), 0);
    cache_destroy(cache);
}

static void cleans_the_oldest_of_too_many_dirty_lines(void **state)
{
    (void)state;
    struct cache *cache = cache_create(512, 4, 128, 32, false);
    uint32_t lines[4];
    struct cache_victim victim;
    for (uint32_t i = 0; i < 4; i++)
        lines[i] = allocate(cache, 0x1000 * (i + 1), NULL);
    cache_set_dirty(cache, lines[1], 0x3);
    cache_set_owner(cache, lines[1], 17, 3);
    assert_false(cache_clean_oldest(cache, lines[0], 2, &victim));
    cache_set_dirty(cache, lines[2], 0xc);
    cache_set_reserved(cache, lines[1], 0x4); /* a fill is on its way */
    assert_true(cache_clean_oldest(cache, lines[0], 2, &victim));
    assert_int_equal(victim.address, 0x3000);
    cache_set_dirty(cache, lines[2], 0xc);
    cache_set_valid(cache, lines[1], 0x4);
    assert_true(cache_clean_oldest(cache, lines[0], 2, &victim));
    assert_int_equal(victim.address, 0x2000);
    assert_int_equal(victim.dirty, 0x3);
    assert_int_equal(victim.kernel, 17);
    assert_int_equal(victim.application, 3);
    assert_int_equal(cache_dirty(cache, lines[1]), 0);
    assert_int_equal(cache_valid(cache, lines[1]), 0x7);
    assert_int_equal(cache_find(cache, 0x2000), lines[1]);
    cache_destroy(cache);
}

/* A hashed cache of any number of sets holds a footprint of its own size at any power-of-two stride. */
static void spreads_strides_over_sets(void **state)
{
    (void)state;
    static const uint32_t set_counts[] = {64, 48};
    for (int i = 0; i < 2; i++) {
        uint32_t sets = set_counts[i];
        for (uint64_t stride = 128; stride <= 1 << 20; stride *= 2) {
            struct cache *cache = cache_create(sets * 16 * 128, 16, 128, 32, true);
            uint32_t evicted = 0;
            for (uint64_t n = 0; n < sets * 8u; n++) { /* half of its lines */
                struct cache_victim victim = {0};
                uint32_t line = allocate(cache, n * stride, &victim);
                cache_set_dirty(cache, line, 1);
                evicted += victim.dirty != 0;
            }
            assert_true(evicted <= sets * 8u / 50);
            cache_destroy(cache);
        }
    }
}

/* Against a plain model: 5 sets of 3 ways, random traffic. */
static void agrees_with_a_plain_model(void **state)
{
    (void)state;
    struct cache *cache = cache_create(5 * 3 * 64, 3, 64, 32, false);
    uint64_t tag[5][3] = {{0}};
    uint64_t used[5][3] = {{0}};
    uint64_t random = 1, time = 0;
    for (int i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t number = 1 + (random >> 33) % 40;
        uint32_t set = (uint32_t)(number % 5);
        int way = -1, oldest = 0;
        for (int w = 0; w < 3; w++) {
            if (tag[set][w] == number)
                way = w;
            if (used[set][w] < used[set][oldest])
                oldest = w;
        }
        uint32_t line = cache_find(cache, number * 64);
        assert_int_equal(line == CACHE_NO_LINE, way < 0);
        if (way >= 0) {
            cache_touch(cache, line);
        } else {
            struct cache_victim victim;
            assert_int_not_equal(cache_allocate(cache, number * 64, &victim), CACHE_NO_LINE);
            assert_int_equal(victim.address / 64, tag[set][oldest]);
            tag[set][oldest] = number;
            way = oldest;
        }
        used[set][way] = ++time;
    }
    cache_destroy(cache);
}

static void ways_in_use_change(void **state)
{
    (void)state;
    struct cache *cache = cache_create(4 * 8 * 128, 8, 128, 32, false); /* four sets */
    for (uint32_t ways = 8; ways; ways /= 2) {
        cache_set_ways(cache, ways);
        for (uint64_t line = 0; line < 32; line++)
            assert_int_equal(cache_find(cache, line * 128), CACHE_NO_LINE);
        for (uint64_t line = 0; line < 32; line++)
            assert_true(allocate(cache, line * 128, NULL) < 4 * ways);
        uint64_t kept = 0;
        for (uint64_t line = 0; line < 32; line++)
            kept += cache_find(cache, line * 128) != CACHE_NO_LINE;
        assert_int_equal(kept, 4 * ways);
        assert_int_not_equal(cache_find(cache, UINT64_C(31) * 128), CACHE_NO_LINE);
    }
    cache_destroy(cache);
}

/* With more ways than are looked through for every line. */
static void ways_out_of_use_are_not_found(void **state)
{
    (void)state;
    struct cache *cache = cache_create(4 * 32 * 128, 32, 128, 32, false); /* four sets */
    for (uint64_t line = 0; line < 128; line++)
        allocate(cache, line * 128, NULL);
    cache_set_ways(cache, 17);
    for (uint64_t line = 0; line < 128; line++)
        assert_int_equal(cache_find(cache, line * 128), CACHE_NO_LINE);
    for (uint64_t line = 0; line < 128; line++)
        assert_in_range(allocate(cache, line * 128, NULL), 0, 4 * 17 - 1);
    for (uint64_t line = 0; line < 128; line++) {
        uint32_t found = cache_find(cache, line * 128);
        assert_int_equal(found != CACHE_NO_LINE, line >= 128 - 4 * 17);
        if (found != CACHE_NO_LINE)
            assert_true(cache_address(cache, found) == line * 128);
    }
    cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejects_impossible_shapes),
        cmocka_unit_test(finds_what_was_allocated),
        cmocka_unit_test(tells_lines_with_equal_folds_apart),
        cmocka_unit_test(replaces_the_least_recently_used),
        cmocka_unit_test(does_not_evict_reserved_lines),
        cmocka_unit_test(returns_dirty_victims_with_their_owner),
        cmocka_unit_test(cleans_the_oldest_of_too_many_dirty_lines),
        cmocka_unit_test(spreads_strides_over_sets),
        cmocka_unit_test(agrees_with_a_plain_model),
        cmocka_unit_test(ways_in_use_change),
        cmocka_unit_test(ways_out_of_use_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
