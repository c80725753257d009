/* SPDX-License-Identifier: MIT */
/* Host threads take every index once in a round, however many threads and indices there are, and no round begins before the one before it has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "gpu/team.h"

enum { MOST = 40, ROUNDS = 200 };

struct account {
    uint32_t round;
    uint32_t taken[MOST];  /* by index: how often, in this round */
    uint32_t rounds[MOST]; /* and in which round last */
};

static void take(void *user, uint32_t index)
{
    struct account *account = user;
    account->taken[index]++;
    account->rounds[index] = account->round;
}

static void test_every_index_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct team *team = team_create(threads);
        assert_non_null(team);
        for (uint32_t round = 1; round <= ROUNDS; round++) {
            struct account account = {.round = round};
            uint32_t count = round % (MOST + 1); /* none, fewer than threads, more */
            team_run(team, take, &account, count);
            for (uint32_t i = 0; i < MOST; i++) {
                assert_int_equal(account.taken[i], i < count);
                assert_int_equal(account.rounds[i], i < count ? round : 0);
            }
        }
        team_destroy(team);
    }
}

/* A team may be destroyed without a round. */
static void test_no_round(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct team *team = team_create(threads);
        assert_non_null(team);
        team_destroy(team);
    }
    team_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_index_once), cmocka_unit_test(test_no_round)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
