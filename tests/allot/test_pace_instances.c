/* SPDX-License-Identifier: MIT */
/* How pace finds the number of instances of a batch program: uphill, from the neighbours of the number that runs. */
#include "allot/policies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* A batch program of six instances alone on four cores. */
struct stage {
    struct corun_host_application_view application;
    struct corun_host_view view;
    struct corun_host_share share;
    uint32_t instances;
    struct corun_host_allowances allowances;
    double rates[7]; /* instructions per cycle with so many instances */
    void *state;
    char log[256]; /* the numbers that ran, and for how many tenths of a second */
    uint32_t last, tenths;
};

static struct stage *stage_begin(void)
{
    double parameters[8];
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->application =
        (struct corun_host_application_view){.name = "mill", .kind = CORUN_HOST_BATCH, .instances = 6, .running = 6};
    stage->view = (struct corun_host_view){.version = CORUN_HOST_POLICY_VERSION,
                                           .interval_ns = 100 * MS,
                                           .core_count = 4,
                                           .way_count = 4,
                                           .capabilities = 1u << CORUN_HOST_CAN_WAYS,
                                           .applications = &stage->application,
                                           .application_count = 1};
    stage->instances = CORUN_HOST_ALL;
    stage->allowances = (struct corun_host_allowances){.application = &stage->share, .instances = &stage->instances};
    for (uint32_t i = 0; i < allot_pace.parameter_count; i++)
        parameters[i] = allot_pace.parameters[i].initial;
    stage->state = calloc(1, allot_pace.state_bytes);
    assert_non_null(stage->state);
    assert_int_equal(allot_pace.start(stage->state, &stage->view, parameters, &stage->allowances), CORUN_OK);
    return stage;
}

static void stage_end(struct stage *stage)
{
    free(stage->state);
    free(stage);
}

static void note(struct stage *stage)
{
    size_t length = strlen(stage->log);
    if (stage->tenths)
        snprintf(stage->log + length, sizeof stage->log - length, "%u:%u ", stage->last, stage->tenths);
    stage->tenths = 0;
}

static void stage_run(struct stage *stage, uint32_t tenths)
{
    for (uint32_t i = 0; i < tenths; i++) {
        uint32_t running = stage->instances < 6 ? stage->instances : 6;
        if (running != stage->last)
            note(stage);
        stage->last = running;
        stage->tenths++;
        stage->application.running = running;
        stage->application.interval_ipc = stage->rates[running];
        stage->view.now_ns += 100 * MS;
        allot_pace.decide(stage->state, &stage->view, (struct corun_host_moment){CORUN_HOST_INTERVAL, CORUN_HOST_NONE},
                          &stage->allowances);
    }
    note(stage);
}

static void expect(struct stage *stage, const double rates[7], uint32_t tenths, const char *log)
{
    memcpy(stage->rates, rates, sizeof stage->rates);
    stage->log[0] = 0;
    stage_run(stage, tenths);
    assert_string_equal(stage->log, log);
}

/* Two is best: one is tried, two are better, four are not; two run for forty times as long, then both neighbours are tried. */
static void the_best_number_runs_most_of_the_time(void **state)
{
    static const double rates[7] = {0, 1, 2, 0, 1.5, 0, 1};
    (void)state;
    struct stage *stage = stage_begin();
    expect(stage, rates, 425, "1:5 2:5 4:5 2:200 4:5 1:5 2:200 ");
    stage_end(stage);
}

static void one_instance_is_left_alone(void **state)
{
    static const double rates[7] = {0, 1, 0.5, 0, 0.4, 0, 0.3};
    (void)state;
    struct stage *stage = stage_begin();
    expect(stage, rates, 415, "1:5 2:5 1:200 2:5 1:200 ");
    stage_end(stage);
}

/* Up to all, which is no power of two; and down again when more of them are worse all of a sudden: after the next rest,
 * which is all of the new kind. */
static void the_number_follows(void **state)
{
    static const double rising[7] = {0, 1, 2, 0, 3, 0, 3.5}, falling[7] = {0, 3, 2, 0, 1, 0, 0.5};
    (void)state;
    struct stage *stage = stage_begin();
    expect(stage, rising, 20 + 100, "1:5 2:5 4:5 6:105 ");
    expect(stage, falling, 100 + 5 + 200 + 5 + 5 + 205, "6:100 4:5 6:200 4:5 2:5 1:205 ");
    stage_end(stage);
}

/* Where nothing is counted, nothing is known to be better. */
static void nothing_is_counted(void **state)
{
    static const double rates[7] = {0};
    (void)state;
    struct stage *stage = stage_begin();
    expect(stage, rates, 110, "1:5 2:5 1:100 ");
    stage_end(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_number_runs_most_of_the_time),
        cmocka_unit_test(one_instance_is_left_alone),
        cmocka_unit_test(the_number_follows),
        cmocka_unit_test(nothing_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
