/* SPDX-License-Identifier: MIT */
/*
 * Host threads take every index once in a round, however many threads and indices there are, and no round begins before the one before it has
 * ended; so they do beside something that the caller does first, and in rounds within that.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

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
            team_run(team, NULL, take, &account, count);
            for (uint32_t i = 0; i < MOST; i++) {
                assert_int_equal(account.taken[i], i < count);
                assert_int_equal(account.rounds[i], i < count ? round : 0);
            }
        }
        team_destroy(team);
    }
}

struct beside {
    struct team *team;
    struct account within;
    bool nests, done;
};

static void first(void *user)
{
    struct beside *beside = user;
    if (beside->nests)
        team_run(beside->team, NULL, take, &beside->within, MOST);
    beside->done = true;
}

/* What the caller does first, and a round within that, beside a round whose kind has times of its own or none. */
static void test_beside(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct team *team = team_create(threads);
        struct team_kind kind = {0};
        assert_non_null(team);
        assert_int_equal(team_threads(team), threads);
        for (uint32_t round = 1; round <= ROUNDS; round++) {
            struct account account = {.round = round};
            struct beside beside = {.team = team, .within = {.round = round}, .nests = round % 3 != 0};
            uint32_t count = round % (MOST + 1);
            kind.shared = round % 4 != 0; /* whatever its times say */
            kind.caller_share = round * 64;
            team_run_beside(team, round % 2 ? &kind : NULL, take, &account, count, first, &beside);
            assert_true(beside.done);
            for (uint32_t i = 0; i < MOST; i++) {
                assert_int_equal(account.taken[i], i < count);
                assert_int_equal(beside.within.taken[i], beside.nests);
            }
        }
        team_destroy(team);
    }
}

static void nothing_much(void *user, uint32_t index)
{
    (void)user;
    (void)index;
}

static void much(void *user, uint32_t index)
{
    (void)user;
    (void)index;
    struct timespec time = {.tv_nsec = 100000};
    nanosleep(&time, NULL);
}

/* Short rounds are not worth the others' help; long ones are, and then each does what it comes to. */
static void test_short_rounds_are_the_callers(void **state)
{
    (void)state;
    struct team *team = team_create(2);
    struct team_kind kind = {0};
    assert_non_null(team);
    for (uint32_t round = 0; round < ROUNDS; round++)
        team_run(team, &kind, much, NULL, 4);
    assert_true(kind.shared);
    assert_true(kind.caller_share > 0);
    kind = (struct team_kind){.shared = true, .ns = 1000};
    for (uint32_t round = 0; round < ROUNDS && kind.shared; round++) /* a host that is busy lengthens some of them */
        team_run(team, &kind, nothing_much, NULL, 0);
    assert_false(kind.shared);
    team_destroy(team);
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

static atomic_bool hold, held;

/* Where the helper stands, as one does whose core has been given to another process. */
static void stand(int number)
{
    (void)number;
    atomic_store(&held, true);
    while (atomic_load(&hold))
        ;
}

struct meeting {
    atomic_uint here;
    pthread_t threads[2];
};

static void meet(void *user, uint32_t index)
{
    struct meeting *meeting = user;
    meeting->threads[index] = pthread_self();
    atomic_fetch_add(&meeting->here, 1);
    while (atomic_load(&meeting->here) < 2)
        sched_yield();
}

/* A helper that has no core holds up nobody, and finds nothing of what the others have done meanwhile. */
static void test_who_does_not_come(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = stand}, before;
    struct team *team = team_create(2);
    struct meeting meeting = {0};
    assert_non_null(team);
    /* other signals are blocked in helpers */
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    team_run(team, NULL, meet, &meeting, 2);
    atomic_store(&hold, true);
    assert_int_equal(pthread_kill(meeting.threads[pthread_equal(meeting.threads[0], pthread_self()) != 0], SIGTRAP), 0);
    while (!atomic_load(&held))
        sched_yield();
    for (uint32_t round = 1; round <= 2 * ROUNDS; round++) {
        struct account account = {.round = round};
        if (round == ROUNDS)
            atomic_store(&hold, false);
        team_run(team, NULL, take, &account, MOST);
        for (uint32_t i = 0; i < MOST; i++)
            assert_int_equal(account.taken[i], 1);
    }
    team_destroy(team);
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_short_rounds_are_the_callers),
        cmocka_unit_test(test_no_round),
        cmocka_unit_test(test_who_does_not_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
