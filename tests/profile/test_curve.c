/* SPDX-License-Identifier: MIT */
/* A trace of one thread, as several cores would have made it; and traces that are none. */
#include "profile/curve.h"

#include "corun/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { QUERIES = 2, TASKS = 2, LINES = 10, ROUNDS = 4, SAMPLES = LINES * ROUNDS };

/* Two queries of one phase of two tasks; a task goes over ten lines of its own four times. */
struct stage {
    uint64_t times[TASKS];
    struct profile_phase phase;
    struct profile_query queries[QUERIES];
    struct profile_report report;
    struct {
        struct trace_header header;
        struct trace_task tasks[QUERIES * TASKS];
        struct trace_sample samples[QUERIES * TASKS * SAMPLES];
    } file;
    struct profile_trace trace;
};

static void set_up(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    stage->times[0] = stage->times[1] = 1000;
    stage->phase = (struct profile_phase){.name = "p", .task_count = TASKS, .task_ns = stage->times};
    for (uint32_t q = 0; q < QUERIES; q++)
        stage->queries[q] = (struct profile_query){.phase_count = 1, .phases = &stage->phase};
    stage->report = (struct profile_report){.query_count = QUERIES, .queries = stage->queries};
    memcpy(stage->file.header.magic, TRACE_MAGIC, sizeof stage->file.header.magic);
    stage->file.header.threshold = UINT64_C(1) << 32;
    stage->file.header.task_count = QUERIES * TASKS;
    stage->file.header.sample_count = QUERIES * TASKS * SAMPLES;
    for (uint32_t t = 0; t < QUERIES * TASKS; t++) {
        stage->file.tasks[t] = (struct trace_task){.query = t / TASKS,
                                                   .task = t % TASKS,
                                                   .accesses = 100 * SAMPLES,
                                                   .misses = SAMPLES,
                                                   .streamed = 1,
                                                   .samples = SAMPLES,
                                                   .groups = {4, 2}};
        for (uint32_t i = 0; i < SAMPLES; i++)
            stage->file.samples[t * SAMPLES + i] =
                (struct trace_sample){.line = 2 * (100 * (t % TASKS) + i % LINES), .position = 100 * i + 50};
    }
}

static enum corun_status read_trace(struct stage *stage, size_t bytes)
{
    return profile_trace_read("t", &stage->file, bytes, NULL, &stage->trace);
}

static void side_by_side_they_need_more(void **state)
{
    (void)state;
    struct stage stage;
    static const uint64_t sizes[] = {9, 10, 19, 20};
    uint64_t counts[4];
    struct profile_misses misses = {.lines = sizes, .size_count = 4, .misses = counts};
    set_up(&stage);
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_OK);
    assert_true(stage.trace.rate == 1);
    /* One core: one task after the other. Ten lines are enough but for the first round of each; twenty keep both. */
    assert_int_equal(profile_curve(&stage.report, &stage.trace, 1, NULL, &misses), CORUN_OK);
    static const uint64_t alone[] = {80, 20, 20, 0};
    assert_int_equal(misses.accesses, TASKS * SAMPLES); /* of the second query */
    assert_memory_equal(counts, alone, sizeof alone);
    /* Two cores: a line of the one, a line of the other. Nothing less than twenty lines keeps any. */
    assert_int_equal(profile_curve(&stage.report, &stage.trace, 2, NULL, &misses), CORUN_OK);
    static const uint64_t together[] = {80, 80, 80, 0};
    assert_memory_equal(counts, together, sizeof together);
}

static void totals_are_of_all_queries_but_the_first(void **state)
{
    (void)state;
    struct stage stage;
    struct profile_totals totals;
    double deviation = -1;
    set_up(&stage);
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_OK);
    profile_totals(&stage.trace, &totals);
    assert_int_equal(totals.accesses, TASKS * 100 * SAMPLES);
    assert_int_equal(totals.misses, TASKS * SAMPLES);
    assert_int_equal(totals.streamed, TASKS);
    assert_int_equal(totals.groups[0], TASKS * 4);
    assert_int_equal(totals.groups[1], TASKS * 2);
    assert_int_equal(profile_variation(&stage.trace, QUERIES, &deviation), CORUN_OK);
    assert_true(deviation == 0);
}

static void a_trace_of_another_program_is_refused(void **state)
{
    (void)state;
    struct stage stage;
    static const uint64_t size = 10;
    uint64_t count;
    struct profile_misses misses = {.lines = &size, .size_count = 1, .misses = &count};
    set_up(&stage);
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_OK);
    stage.file.tasks[1].task = TASKS;
    assert_int_equal(profile_curve(&stage.report, &stage.trace, 1, NULL, &misses), CORUN_ARGUMENT);
    stage.file.tasks[1].task = CORUN_TRACE_SERIAL;
    stage.file.tasks[1].phase = 1;
    assert_int_equal(profile_curve(&stage.report, &stage.trace, 1, NULL, &misses), CORUN_OK);
    stage.file.tasks[1].phase = 2;
    assert_int_equal(profile_curve(&stage.report, &stage.trace, 1, NULL, &misses), CORUN_ARGUMENT);
    stage.file.tasks[1] = stage.file.tasks[0];
    stage.file.tasks[1].query = QUERIES;
    assert_int_equal(profile_curve(&stage.report, &stage.trace, 1, NULL, &misses), CORUN_ARGUMENT);
}

static void files_that_are_no_traces_are_refused(void **state)
{
    (void)state;
    struct stage stage;
    set_up(&stage);
    for (size_t bytes = 0; bytes < sizeof stage.file; bytes += 8)
        assert_int_equal(read_trace(&stage, bytes), CORUN_SYNTAX);
    stage.file.header.magic[0] = 'x';
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.header.threshold = 0;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.header.task_count = UINT64_MAX / 8;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.tasks[3].samples++;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.tasks[0].samples--;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.samples[5].position = 0;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.tasks[2].accesses = 7;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
    set_up(&stage);
    stage.file.tasks[2].streamed = SAMPLES + 1;
    assert_int_equal(read_trace(&stage, sizeof stage.file), CORUN_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(side_by_side_they_need_more),
                                       cmocka_unit_test(totals_are_of_all_queries_but_the_first),
                                       cmocka_unit_test(a_trace_of_another_program_is_refused),
                                       cmocka_unit_test(files_that_are_no_traces_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
