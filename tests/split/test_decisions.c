/* SPDX-License-Identifier: MIT */
/* A strategy of the user's own may decide anything: a run computes everything, or says what cannot be. */
#include "corun/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4096, GRANULE = 64 };

/* What each bit of `mode` has the strategy say, whatever the view. */
enum {
    RELIEF = 1,
    CPU_PART = 2,
    FEED = 4,
    RACE = 8,
    GPU_PART = 16,
    GIVE_UP = 32,
    TRIAL = 64,
    AGAIN = 128,
    RECALL = 256,
    WAKE = 512,
    ONCE = 1024,
    MODES = 2048
};

static void say(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    unsigned mode = *(const unsigned *)view->user;
    if (mode & ONCE && view->step_count)
        return;
    decision->relief = mode & RELIEF ? 1 : 0;
    decision->parts[0] = mode & CPU_PART ? view->left : 0;
    decision->parts[1] = mode & GPU_PART ? view->left : 0;
    decision->feed = mode & FEED;
    decision->race = mode & RACE;
    decision->give_up = mode & GIVE_UP;
    decision->trial = mode & TRIAL;
    decision->again = mode & AGAIN;
    decision->recall = mode & RECALL ? 1 : 0;
    decision->wake = mode & WAKE ? view->now + 1e-5 : 0;
}

static double seconds_of(void *user, uint64_t begin, uint64_t end)
{
    return *(const double *)user * (double)(end - begin);
}

static enum corun_status count_up(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    unsigned char *computed = user;
    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        computed[i] = 1;
    return CORUN_OK;
}

static enum corun_status run(unsigned mode, double asks, uint32_t most)
{
    static unsigned char computed[COUNT];
    double cpu = 1e-7, gpu = 1e-8;
    const struct corun_split_rate_table tables[] = {{.seconds = seconds_of, .user = &cpu, .asks = asks},
                                                    {.seconds = seconds_of, .user = &gpu, .most = most}};
    const struct corun_split_task task = {
        .name = "task", .iterations = COUNT, .granularity = GRANULE, .cpu = count_up, .user = computed};
    const struct corun_split_options options = {
        .function = say, .strategy_user = &mode, .rates = tables, .rate_count = 2};
    struct corun_split *split;
    memset(computed, 0, sizeof computed);
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    enum corun_status status = corun_split_run(split, NULL);
    corun_split_destroy(split);
    if (status == CORUN_OK)
        assert_null(memchr(computed, 0, sizeof computed));
    return status;
}

static void any_decision_computes_all_or_is_refused(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < MODES; mode++) {
        for (unsigned i = 0; i < 4; i++) {
            enum corun_status status = run(mode, i & 1 ? 1e-6 : 0, i & 2 ? 8 : 1);
            assert_true(status == CORUN_OK || status == CORUN_ARGUMENT);
        }
    }
}

static void decisions_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    assert_int_equal(run(CPU_PART, 0, 1), CORUN_OK);
    assert_int_equal(run(CPU_PART | RELIEF, 0, 1), CORUN_ARGUMENT);
    assert_int_equal(run(CPU_PART | RECALL, 0, 1), CORUN_ARGUMENT);
    assert_int_equal(run(RACE, 0, 1), CORUN_ARGUMENT);
    assert_int_equal(run(0, 0, 1), CORUN_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_decision_computes_all_or_is_refused),
        cmocka_unit_test(decisions_that_contradict_themselves_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
