/* SPDX-License-Identifier: MIT */
/* Requests where a launch takes the host time, as it does on a GPU. */
#include "software/stage.h"

#include <stdio.h>

/* The longest time of a run that is asked for, alone or beside one that launches much. */
static uint64_t longest_answer(enum software_launching launching, bool beside)
{
    enum { REQUESTS = 40 };
    uint64_t times[REQUESTS], longest = 0;
    struct stage stage = stage_begin();
    for (uint32_t i = 0; i < REQUESTS; i++)
        times[i] = 20000 + 31300 * i;
    stage.options.launching = launching;
    stage_add(&stage, 4, 100, 1);
    stage.applications[0].requests_ns = times;
    stage.applications[0].request_count = REQUESTS;
    stage.applications[0].goal = CORUN_GOAL_FRACTION;
    stage.applications[0].goal_value = 0.5;
    if (beside)
        stage_add(&stage, 1, 1, 13);
    stage_run(&stage, &(struct software_limits){.window_ns = times[REQUESTS - 1] + 30000});
    assert_int_equal(stage.results[0].runs, REQUESTS);
    for (uint32_t i = 0; i < REQUESTS; i++)
        longest = stage.results[0].run_ns[i] > longest ? stage.results[0].run_ns[i] : longest;
    stage_end(&stage);
    return longest;
}

/* Who asks while another one has launches to give does not wait until the host has given them all. */
static void a_request_beside_many_launches(void **state)
{
    (void)state;
    for (enum software_launching launching = SOFTWARE_SLICES; launching <= SOFTWARE_WHOLE; launching++) {
        uint64_t alone = longest_answer(launching, false), beside = longest_answer(launching, true);
        print_message("at most %llu ns alone, %llu ns beside\n", (unsigned long long)alone, (unsigned long long)beside);
        assert_true(beside < alone + 4000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_request_beside_many_launches)};
    (void)setenv("CORUN_CUDA_LAUNCH_COSTS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
