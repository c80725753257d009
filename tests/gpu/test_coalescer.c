/* SPDX-License-Identifier: MIT */
/* The coalescer against a lane-by-lane count over bytes: rows, strides, gathers, partial warps, both kinds of mask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "gpu/coalescer.h"
#include "gpu/shared_memory.h"

#include <string.h>

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void check(const struct corun_issue *issue, uint32_t lanes, uint32_t access_bytes, uint32_t line_bytes,
                  bool writes)
{
    struct transaction transactions[CORUN_WARP_LANES * 2];
    memset(transactions, 0xa5, sizeof transactions);
    uint32_t count = coalesce(issue, lanes, access_bytes, line_bytes, 32, writes, transactions);
    uint32_t lanes_seen = 0;
    for (uint32_t t = 0; t < count; t++) {
        const struct transaction *got = &transactions[t];
        uint64_t bytes[4] = {0};
        uint32_t touched = 0, members = 0;
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
            uint64_t address = issue->address[lane];
            if (!(lanes >> lane & 1u) || (address & ~(uint64_t)(line_bytes - 1)) != got->line)
                continue;
            members |= 1u << lane;
            for (uint32_t byte = 0; byte < access_bytes; byte++) {
                uint32_t offset = (uint32_t)(address - got->line) + byte;
                bytes[offset / 64] |= UINT64_C(1) << offset % 64;
                touched |= 1u << offset / PART_BYTES;
            }
        }
        assert_int_not_equal(members, 0);
        assert_int_equal(got->lanes, members);
        assert_int_equal(got->touched, touched);
        if (writes)
            assert_memory_equal(got->bytes, bytes, sizeof bytes);
        assert_int_equal(lanes_seen & members, 0);
        lanes_seen |= members;
        if (t) /* in order of their first lanes */
            assert_true(lowest_bit(transactions[t - 1].lanes) < lowest_bit(members));
    }
    assert_int_equal(lanes_seen, lanes);
}

static void transactions_cover_exactly_what_lanes_touch(void **state)
{
    (void)state;
    static const uint32_t lines[] = {32, 64, 128, 256};
    uint64_t random = 7;
    struct corun_gpu_config config = {.shared_banks = 32, .shared_bank_bytes = 4};
    for (uint32_t round = 0; round < 20000; round++) {
        struct corun_issue issue;
        uint32_t access = 1u << next_random(&random) % 5, line = lines[next_random(&random) % 4];
        uint64_t base = (UINT64_C(1) << 40) + next_random(&random) % 4096 * access;
        uint64_t stride = next_random(&random) % 3 ? access : next_random(&random) % 64 * access;
        bool gather = next_random(&random) % 4 == 0;
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            issue.address[lane] = base + (gather ? next_random(&random) % 256 * access : lane * stride);
        uint32_t lanes = next_random(&random) % 2 ? CORUN_FULL_MASK : (uint32_t)next_random(&random) | 1u;
        if (next_random(&random) % 3 == 0) { /* lanes without a gap, which do not begin at the first */
            uint32_t first = (uint32_t)next_random(&random) % CORUN_WARP_LANES;
            lanes = CORUN_FULL_MASK >> next_random(&random) % (CORUN_WARP_LANES - first) >> first << first;
        }
        bool writes = next_random(&random) % 2;
        issue.shape = 0;
        check(&issue, lanes, access, line, writes);
        uint32_t cycles = shared_access_cycles(&config, &issue, lanes, access);
        assert_int_equal(cycles, shared_memory_cycles(&config, issue.address, lanes, access));
        if (gather)
            continue;
        /* the same where the source says what they are */
        issue.shape = (uint8_t)((stride == 0 ? CORUN_SHAPE_UNIFORM : 0) | (stride == access ? CORUN_SHAPE_UNIT : 0));
        check(&issue, lanes, access, line, writes);
        assert_int_equal(cycles, shared_access_cycles(&config, &issue, lanes, access));
    }
}

/* Banks with the lanes' words as they come: the fullest has as many different ones. */
static uint32_t count_words(const struct corun_gpu_config *config, const uint64_t *addresses, uint32_t lanes,
                            uint32_t access_bytes)
{
    uint32_t unit = config->shared_bank_bytes, each = access_bytes > unit ? access_bytes / unit : 1, most = 1;
    for (uint32_t bank = 0; bank < config->shared_banks; bank++) {
        uint64_t words[CORUN_WARP_LANES * 4];
        uint32_t count = 0;
        for (uint32_t access = 0; access < CORUN_WARP_LANES * each; access++) {
            uint64_t word = addresses[access / each] / unit + access % each;
            bool counts = (lanes >> access / each & 1u) && word % config->shared_banks == bank;
            for (uint32_t i = 0; i < count; i++)
                counts = counts && words[i] != word;
            if (counts)
                words[count++] = word;
        }
        most = count > most ? count : most;
    }
    return most;
}

static void fullest_bank_decides(void **state)
{
    (void)state;
    static const uint32_t ranges[] = {4, 40, 300, 10000};
    uint64_t random = 11;
    uint32_t seen[CORUN_WARP_LANES * 4 + 1] = {0};
    for (uint32_t round = 0; round < 20000; round++) {
        struct corun_gpu_config config = {.shared_banks = 1u << next_random(&random) % 7,
                                          .shared_bank_bytes = 4u << next_random(&random) % 2};
        uint32_t access = 1u << next_random(&random) % 5, range = ranges[next_random(&random) % 4];
        uint64_t addresses[CORUN_WARP_LANES], stride = next_random(&random) % 3 ? 0 : next_random(&random) % 80;
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            addresses[lane] = (stride ? lane * stride : next_random(&random) % range) * access;
        uint32_t lanes = next_random(&random) % 2 ? CORUN_FULL_MASK : (uint32_t)next_random(&random) | 1u;
        lanes = next_random(&random) % 3 ? lanes : lanes << 16;
        uint32_t cycles = shared_memory_cycles(&config, addresses, lanes, access);
        assert_int_equal(cycles, count_words(&config, addresses, lanes, access));
        seen[cycles]++;
    }
    for (uint32_t cycles = 1; cycles <= 10; cycles++)
        assert_true(seen[cycles] > 100);
    assert_true(seen[CORUN_WARP_LANES * 4]);
}

static void full_sectors_are_those_without_a_gap(void **state)
{
    (void)state;
    struct transaction transaction = {.bytes = {UINT32_MAX, ~UINT64_C(0) << 32, ~UINT64_C(0), 1}};
    assert_int_equal(sectors_full(&transaction, 128, 32), 0x9);
    assert_int_equal(sectors_full(&transaction, 256, 32), 0x39);
    assert_int_equal(sectors_full(&transaction, 256, 64), 0x4);
    transaction.touched = 0x2d;
    assert_int_equal(sectors_touched(&transaction, 32), 0x2d);
    assert_int_equal(sectors_touched(&transaction, 64), 0x7);
    assert_int_equal(sectors_touched(&transaction, 128), 0x3);
}

static void full_words_are_those_without_a_gap(void **state)
{
    (void)state;
    struct transaction transaction = {
        .bytes = {0xf, 0x7 | UINT64_C(0xf0) << 32, 0, UINT64_C(0xff) << 56 | UINT64_C(0xf) << 52}};
    assert_true(words_full(&transaction) ==
                (UINT64_C(1) | UINT64_C(1) << 25 | UINT64_C(1) << 62 | UINT64_C(1) << 61 | UINT64_C(1) << 63));
    memset(transaction.bytes, 0xff, sizeof transaction.bytes);
    assert_true(words_full(&transaction) == ~UINT64_C(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_cover_exactly_what_lanes_touch),
        cmocka_unit_test(fullest_bank_decides),
        cmocka_unit_test(full_sectors_are_those_without_a_gap),
        cmocka_unit_test(full_words_are_those_without_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
