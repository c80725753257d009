/* SPDX-License-Identifier: MIT */
/* Private caches, and what a recorder keeps of the accesses of a thread. */
#include "trace/recorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct recorder *begin(uint32_t rate, size_t most)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    assert_non_null(recorder);
    recorder_begin(recorder, 3, rate, most);
    return recorder;
}

static void end(struct recorder *recorder)
{
    recorder_free(recorder);
    free(recorder);
}

static void a_scan_misses_where_it_is_longer_than_the_second_level(void **state)
{
    (void)state;
    static const struct {
        uint64_t lines;
        bool stays;
    } scans[] = {{FILTER_L1_SETS * FILTER_WAYS, true},
                 {FILTER_L2_SETS * FILTER_WAYS, true},
                 {FILTER_L2_SETS * FILTER_WAYS + FILTER_L2_SETS, false}};
    for (size_t s = 0; s < sizeof scans / sizeof scans[0]; s++) {
        struct filter *filter = calloc(1, sizeof *filter);
        uint64_t misses = 0;
        for (uint64_t i = 0; i < 3 * scans[s].lines; i++)
            misses += filter_access(filter, i % scans[s].lines, false).miss;
        assert_int_equal(misses, scans[s].stays ? scans[s].lines : 3 * scans[s].lines);
        free(filter);
    }
}

static void what_was_stored_is_written_back_once(void **state)
{
    (void)state;
    struct filter *filter = calloc(1, sizeof *filter);
    uint64_t lines = 2 * FILTER_L2_SETS * FILTER_WAYS, written = 0, sum = 0;
    for (uint64_t i = 0; i < lines; i++) {
        struct filter_outcome outcome = filter_access(filter, i, i % 2 == 0);
        for (uint32_t k = 0; k < outcome.written_count; k++) {
            assert_int_equal(outcome.written[k] % 2, 0);
            sum += outcome.written[k];
            written++;
        }
    }
    /* The first half was pushed out by the second, each dirty line once. */
    uint64_t half = lines / 2, even = half / 2;
    assert_int_equal(written, even);
    assert_int_equal(sum, even * (half - 2) / 2);
    free(filter);
}

static void tasks_have_their_accesses(void **state)
{
    (void)state;
    struct recorder *recorder = begin(1, 1000);
    recorder_access(recorder, 64, 8, false); /* nobody's */
    recorder_task(recorder, 1, 2, 3);
    recorder_access(recorder, 640, 8, false);
    recorder_access(recorder, 644, 4, true);
    recorder_access(recorder, 64 * 1000 - 4, 8, false); /* in two lines */
    recorder_task(recorder, 1, 2, 4);
    recorder_access(recorder, 640, 1, false);
    recorder->recording = false;
    recorder_access(recorder, 1 << 20, 8, false);
    assert_int_equal(recorder->task_count, 2);
    const struct trace_task *tasks = recorder->tasks;
    assert_int_equal(tasks[0].query, 1);
    assert_int_equal(tasks[0].phase, 2);
    assert_int_equal(tasks[0].task, 3);
    assert_int_equal(tasks[0].thread, 3);
    assert_int_equal(tasks[0].accesses, 3);
    assert_int_equal(tasks[0].misses, 3);
    assert_int_equal(tasks[0].streamed, 1);  /* the second of the two lines */
    assert_int_equal(tasks[0].groups[0], 1); /* the other two are two accesses apart */
    assert_int_equal(tasks[0].samples, 3);
    assert_int_equal(tasks[1].accesses, 1);
    assert_int_equal(tasks[1].misses, 0);
    assert_int_equal(recorder->sample_count, 3);
    assert_int_equal(recorder->samples[0].line, 2 * 10);
    assert_int_equal(recorder->samples[2].line, 2 * 1000);
    assert_int_equal(recorder->samples[2].position, 3);
    end(recorder);
}

static void misses_apart_are_groups_of_their_own(void **state)
{
    (void)state;
    struct recorder *recorder = begin(1, 1000);
    recorder_task(recorder, 0, 0, 0);
    for (uint64_t i = 0; i < 10; i++) { /* a miss, far from the one before, and 19 hits */
        recorder_access(recorder, (i * 100 + 7) * 64, 8, false);
        for (uint32_t k = 0; k < 19; k++)
            recorder_access(recorder, (i * 100 + 7) * 64, 8, false);
    }
    assert_int_equal(recorder->tasks[0].misses, 10);
    assert_int_equal(recorder->tasks[0].streamed, 0);
    assert_int_equal(recorder->tasks[0].groups[0], 10); /* 16: each its own */
    assert_int_equal(recorder->tasks[0].groups[1], 5);  /* 32: two and two */
    assert_int_equal(recorder->tasks[0].groups[4], 1);  /* 256: all 200 */
    end(recorder);
}

static void a_part_of_the_lines_is_kept_and_less_when_there_are_many(void **state)
{
    (void)state;
    enum { LINES = 64000, RATE = 8, MOST = 4000 };
    struct recorder *recorder = begin(RATE, MOST);
    recorder_task(recorder, 0, 0, 0);
    for (uint64_t i = 0; i < LINES; i++)
        recorder_access(recorder, i * 64, 8, false);
    assert_int_equal(recorder->tasks[0].misses, LINES);
    assert_true(recorder->sample_count < MOST);
    assert_int_equal(recorder->tasks[0].samples, recorder->sample_count);
    /* Halved twice: an eighth would be 8000, a thirty-second is 2000. */
    assert_int_equal(recorder->threshold, (UINT64_C(1) << 32) / RATE / 4);
    assert_true(recorder->sample_count > 1800 && recorder->sample_count < 2200);
    for (size_t i = 0; i < recorder->sample_count; i++)
        assert_true(trace_hash(recorder->samples[i].line / 2) < recorder->threshold);
    end(recorder);
}

static void threads_become_one_file(void **state)
{
    (void)state;
    struct recorder *recorders[2] = {begin(1, 100000), begin(2, 100000)};
    for (uint32_t r = 0; r < 2; r++) {
        recorder_task(recorders[r], 0, 0, r);
        for (uint64_t i = 0; i < 5000; i++)
            recorder_access(recorders[r], (i + r * 1000000) * 64, 8, false);
    }
    FILE *file = tmpfile();
    struct trace_header header;
    struct trace_task tasks[2];
    assert_true(recorders_write(recorders, 2, file));
    rewind(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    assert_int_equal(fread(tasks, sizeof tasks[0], 2, file), 2);
    assert_memory_equal(header.magic, TRACE_MAGIC, 8);
    assert_int_equal(header.threshold, UINT64_C(1) << 31); /* the lower of the two */
    assert_int_equal(header.task_count, 2);
    assert_int_equal(header.sample_count, tasks[0].samples + tasks[1].samples);
    assert_true(tasks[0].samples > 2300 && tasks[0].samples < 2700);
    assert_int_equal(tasks[0].misses, 5000);
    recorders[1]->failed = true;
    assert_false(recorders_write(recorders, 2, file));
    fclose(file);
    end(recorders[0]);
    end(recorders[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_scan_misses_where_it_is_longer_than_the_second_level),
                                       cmocka_unit_test(what_was_stored_is_written_back_once),
                                       cmocka_unit_test(tasks_have_their_accesses),
                                       cmocka_unit_test(misses_apart_are_groups_of_their_own),
                                       cmocka_unit_test(a_part_of_the_lines_is_kept_and_less_when_there_are_many),
                                       cmocka_unit_test(threads_become_one_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
