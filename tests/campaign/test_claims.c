/* SPDX-License-Identifier: MIT */
/* Who runs which case: claims, how they are renewed, and what becomes of those of runners that are dead. */
#include "campaign/claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GOOD "{\"applications\": [{\"name\": \"a\", \"size\": \"small\", \"ipc\": 2}]}"

struct place {
    char directory[64], path[96];
    struct corun_diagnostics *list;
    struct store *stores[2];
};

static const char *const applications[] = {"a@small"};
static const struct corun_campaign_case item = {
    .gpu = "gtx980", .policy = "even", .application_count = 1, .applications = applications, .cycles = 1000, .seed = 1};

static int begin_with(void **state, enum store_use use)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->directory, "/tmp/corun-claims-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->path, sizeof place->path, "%s/results.db", place->directory);
    place->list = corun_diagnostics_create();
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_open(place->path, use, place->list, &place->stores[i]), CORUN_OK);
    *state = place;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, STORE_SHARED);
}

static int begin_on_network(void **state)
{
    return begin_with(state, STORE_NETWORK);
}

static int end(void **state)
{
    struct place *place = *state;
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (int i = 0; i < 2; i++)
        store_close(place->stores[i]);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", place->path, endings[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(place->directory), 0);
    corun_diagnostics_destroy(place->list);
    free(place);
    return 0;
}

static struct claims_runner myself(struct place *place)
{
    struct claims_runner runner;
    assert_int_equal(claims_myself(place->list, &runner), CORUN_OK);
    return runner;
}

static struct claims *join(struct place *place, int store, const struct claims_runner *runner, double now)
{
    struct claims *claims;
    assert_int_equal(claims_begin(place->stores[store], runner, now, place->list, &claims), CORUN_OK);
    return claims;
}

static enum claim take(struct place *place, struct claims *claims, const char *key)
{
    enum claim claim;
    assert_int_equal(claims_take(claims, key, place->list, &claim), CORUN_OK);
    return claim;
}

static void beat(struct place *place, struct claims *claims, double now)
{
    assert_int_equal(claims_beat(claims, now, place->list), CORUN_OK);
}

static void put(struct place *place, int store, const char *key)
{
    char problem[STORE_PROBLEM_BYTES];
    assert_int_equal(store_result(place->stores[store], key, &item, GOOD, strlen(GOOD), problem, place->list), 0);
    assert_string_equal(problem, "");
}

/* Two runners of this process: both live. */
static void a_case_is_run_once(void **state)
{
    struct place *place = *state;
    struct claims_runner one = myself(place), two = myself(place);
    assert_string_not_equal(one.token, two.token);
    assert_string_equal(one.machine, two.machine);
    struct claims *first = join(place, 0, &one, 0), *second = join(place, 1, &two, 0);
    assert_int_equal(take(place, first, "a"), CLAIM_TAKEN);
    assert_int_equal(take(place, first, "a"), CLAIM_TAKEN); /* it knows that it has it */
    assert_int_equal(take(place, second, "a"), CLAIM_ELSEWHERE);
    assert_int_equal(take(place, second, "b"), CLAIM_TAKEN);
    assert_int_equal(take(place, first, "b"), CLAIM_ELSEWHERE);
    put(place, 0, "a");
    assert_int_equal(take(place, second, "a"), CLAIM_FINISHED);
    assert_int_equal(store_failure(place->stores[1], "b", &item, "why", false, 1, place->list), CORUN_OK);
    assert_int_equal(take(place, first, "b"), CLAIM_ENDED); /* once is enough */
    claims_end(second);
    struct claims *third = join(place, 1, &two, 0);
    assert_int_equal(take(place, third, "b"), CLAIM_TAKEN); /* it failed before that one began, who wants it again */
    claims_end(third);
    claims_end(first);
}

static void what_is_given_back_is_free(void **state)
{
    struct place *place = *state;
    struct claims_runner one = myself(place), two = myself(place);
    struct claims *first = join(place, 0, &one, 0), *second = join(place, 1, &two, 0);
    assert_int_equal(take(place, first, "a"), CLAIM_TAKEN);
    claims_end(first);
    assert_int_equal(take(place, second, "a"), CLAIM_TAKEN);
    claims_end(second);
}

/* A process that has ended and was not waited for; then, its number is nobody's. */
static void the_dead_of_this_machine_are_found_at_once(void **state)
{
    struct place *place = *state;
    for (int waited_for = 0; waited_for < 2; waited_for++) {
        struct claims_runner dead = myself(place), living = myself(place);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            struct claims_runner self;
            bool good = !claims_myself(NULL, &self) && write(ends[1], &self.started, sizeof self.started) > 0;
            _exit(!good);
        }
        dead.pid = child;
        assert_int_equal(read(ends[0], &dead.started, sizeof dead.started), sizeof dead.started);
        siginfo_t information;
        assert_int_equal(waitid(P_PID, (id_t)child, &information, WEXITED | (waited_for ? 0 : WNOWAIT)), 0);
        struct claims *first = join(place, 0, &dead, 0), *second = join(place, 1, &living, 0);
        assert_int_equal(take(place, first, "a"), CLAIM_TAKEN);
        assert_int_equal(take(place, second, "a"), CLAIM_TAKEN); /* without a word of time */
        claims_end(first);
        claims_end(second);
        close(ends[0]);
        close(ends[1]);
        waitpid(child, NULL, 0);
    }
}

static void a_number_that_is_used_again(void **state)
{
    struct place *place = *state;
    struct claims_runner dead = myself(place), living = myself(place);
    dead.started--;
    struct claims *first = join(place, 0, &dead, 0);
    assert_int_equal(take(place, first, "a"), CLAIM_TAKEN);
    struct claims *second = join(place, 1, &living, 0);
    assert_int_equal(take(place, second, "a"), CLAIM_TAKEN);
    claims_end(first);
    claims_end(second);
}

/* Of another machine nothing is known but its beat; the clocks of the two have nothing to do with each other. */
static void another_machine_has_a_lease(void **state)
{
    struct place *place = *state;
    struct claims_runner other = myself(place), self = myself(place);
    strcpy(other.machine, "another boot pid:[1]");
    other.pid = 1;
    struct claims *first = join(place, 0, &other, 1e9), *second = join(place, 1, &self, 100);
    assert_int_equal(take(place, first, "a"), CLAIM_TAKEN);
    beat(place, second, 100 + CLAIM_LEASE_SECONDS - 1);
    assert_int_equal(take(place, second, "a"), CLAIM_ELSEWHERE);
    beat(place, first, 1e9 + 10); /* it lives */
    beat(place, second, 100 + CLAIM_LEASE_SECONDS + 10);
    assert_int_equal(take(place, second, "a"), CLAIM_ELSEWHERE);
    beat(place, second, 100 + 2 * CLAIM_LEASE_SECONDS + 9);
    assert_int_equal(take(place, second, "a"), CLAIM_ELSEWHERE);
    beat(place, second, 100 + 2 * CLAIM_LEASE_SECONDS + 20);
    assert_int_equal(take(place, second, "a"), CLAIM_TAKEN);
    beat(place, first, 2e9); /* it was only stopped, and continues with the others */
    assert_int_equal(take(place, first, "a"), CLAIM_ELSEWHERE);
    assert_int_equal(take(place, first, "b"), CLAIM_TAKEN);
    assert_int_equal(take(place, second, "b"), CLAIM_ELSEWHERE);
    claims_end(first);
    claims_end(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_case_is_run_once, begin, end),
        cmocka_unit_test_setup_teardown(a_case_is_run_once, begin_on_network, end),
        cmocka_unit_test_setup_teardown(what_is_given_back_is_free, begin, end),
        cmocka_unit_test_setup_teardown(what_is_given_back_is_free, begin_on_network, end),
        cmocka_unit_test_setup_teardown(the_dead_of_this_machine_are_found_at_once, begin, end),
        cmocka_unit_test_setup_teardown(the_dead_of_this_machine_are_found_at_once, begin_on_network, end),
        cmocka_unit_test_setup_teardown(a_number_that_is_used_again, begin, end),
        cmocka_unit_test_setup_teardown(a_number_that_is_used_again, begin_on_network, end),
        cmocka_unit_test_setup_teardown(another_machine_has_a_lease, begin, end),
        cmocka_unit_test_setup_teardown(another_machine_has_a_lease, begin_on_network, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
