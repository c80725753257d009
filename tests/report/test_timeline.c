/* SPDX-License-Identifier: MIT */
/*
 * Timelines of handmade observations: tracks, ranges, limits, names. A real run's are checked by
 * tests/cli/test_timeline.py.
 */
#include "report/series.h"
#include "report/timeline.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SMS = 3 };

struct bench {
    struct corun_gpu_config config;
    struct corun_gpu *gpu; /* never run: what is sampled is zero */
    struct timeline *timeline;
    struct corun_case_application_result applications[3];
    struct corun_case_result result;
};

static const struct corun_policy *bench_policy;

static void begin(struct bench *bench, uint64_t first, uint64_t last, uint64_t limit)
{
    memset(bench, 0, sizeof *bench);
    corun_gpu_config_default(&bench->config);
    bench->config.sms = SMS;
    bench->config.core_clock_khz = 3000000; /* a cycle is a third of a nanosecond: hard on rounding */
    assert_int_equal(corun_gpu_create(&bench->config, NULL, &bench->gpu), CORUN_OK);
    for (uint32_t a = 0; a < 3; a++) {
        struct corun_application_description description = {.name = "x"};
        uint32_t index;
        assert_int_equal(corun_gpu_add(bench->gpu, &description, &index), CORUN_OK);
        bench->applications[a] = (struct corun_case_application_result){.name = a == 2 ? "o\"d\377d" : "work",
                                                                        .size = a == 2 ? "" : "small"};
    }
    struct timeline_settings settings = {&bench->config, 3, bench_policy, first, last, limit};
    bench->timeline = timeline_create(&settings);
    assert_non_null(bench->timeline);
    bench->result = (struct corun_case_result){.gpu = bench->config,
                                               .policy = CORUN_NO_POLICY,
                                               .cycles = 1000,
                                               .application_count = 3,
                                               .applications = bench->applications};
    snprintf(bench->result.gpu.name, sizeof bench->result.gpu.name, "tiny");
}

static void see(struct bench *bench, struct corun_observation seen)
{
    timeline_see(bench->timeline, bench->gpu, &seen);
}

static void launch(struct bench *bench, bool start, uint64_t number, uint32_t application,
                   const struct corun_grid *grid, uint64_t cycle)
{
    see(bench, (struct corun_observation){.kind = start ? CORUN_OBSERVED_LAUNCH_START : CORUN_OBSERVED_LAUNCH_END,
                                          .cycle = cycle,
                                          .application = application,
                                          .launch = number,
                                          .grid = grid});
}

static void tb(struct bench *bench, bool start, uint64_t number, uint32_t application, uint32_t sm, uint32_t index,
               uint64_t cycle)
{
    see(bench, (struct corun_observation){.kind = start ? CORUN_OBSERVED_TB_START : CORUN_OBSERVED_TB_END,
                                          .cycle = cycle,
                                          .sm = sm,
                                          .application = application,
                                          .tb = index,
                                          .launch = number});
}

static void sample(struct bench *bench, uint64_t cycle)
{
    see(bench, (struct corun_observation){.kind = CORUN_OBSERVED_SAMPLE, .cycle = cycle});
}

/* Writes, reads back, and ends the bench. */
static json_t *finish(struct bench *bench)
{
    char *text;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_int_equal(timeline_write(bench->timeline, &bench->result, stream), CORUN_OK);
    fclose(stream);
    json_error_t error;
    json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!trace)
        fail_msg("line %d: %s", error.line, error.text);
    free(text);
    timeline_destroy(bench->timeline);
    corun_gpu_destroy(bench->gpu);
    return trace;
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static json_int_t number_of(const json_t *event, const char *key)
{
    return json_integer_value(json_object_get(event, key));
}

static json_int_t argument(const json_t *event, const char *key)
{
    return number_of(json_object_get(event, "args"), key);
}

/* The nth event of a phase and category or name. */
static const json_t *find(const json_t *trace, const char *phase, const char *word, size_t n)
{
    size_t index;
    json_t *event;
    json_array_foreach(json_object_get(trace, "traceEvents"), index, event)
    {
        if (!strcmp(text_of(event, "ph"), phase) &&
            (!strcmp(text_of(event, "cat"), word) || !strcmp(text_of(event, "name"), word)) && !n--)
            return event;
    }
    return NULL;
}

static size_t count(const json_t *trace, const char *phase, const char *word)
{
    size_t n = 0;
    while (find(trace, phase, word, n))
        n++;
    return n;
}

static const char *thread_name(const json_t *trace, json_int_t thread)
{
    const json_t *event;
    for (size_t n = 0; (event = find(trace, "M", "thread_name", n)); n++) {
        if (number_of(event, "tid") == thread)
            return text_of(json_object_get(event, "args"), "name");
    }
    return "";
}

static const char *process_name(const json_t *trace, json_int_t process)
{
    const json_t *event;
    for (size_t n = 0; (event = find(trace, "M", "process_name", n)); n++) {
        if (number_of(event, "pid") == process)
            return text_of(json_object_get(event, "args"), "name");
    }
    return "";
}

static void expect_times(const json_t *event, double start, double end)
{
    double ts = json_number_value(json_object_get(event, "ts"));
    const json_t *duration = json_object_get(event, "dur");
    assert_true(ts > start - 1e-9 && ts < start + 1e-9);
    if (duration) /* a nanosecond less */
        assert_true(ts + json_number_value(duration) > end - 1e-3 - 1e-9 &&
                    ts + json_number_value(duration) < end - 1e-4);
}

static const struct corun_grid grid = {.name = "kernel", .tb_count = 4, .tb_threads = 96};

static void overlapping_thread_blocks_get_lanes_of_their_own(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 0, UINT64_MAX, 1000);
    launch(&bench, true, 1, 0, &grid, 10);
    tb(&bench, true, 1, 0, 1, 0, 30);
    tb(&bench, true, 1, 0, 1, 1, 31);
    tb(&bench, false, 1, 0, 1, 0, 60);
    tb(&bench, true, 1, 0, 1, 2, 60); /* where the first one was, at the cycle in which that ended */
    tb(&bench, true, 1, 0, 1, 3, 61);
    sample(&bench, 50);
    tb(&bench, false, 1, 0, 1, 1, 91);
    tb(&bench, false, 1, 0, 1, 2, 92);
    tb(&bench, false, 1, 0, 1, 3, 93);
    launch(&bench, false, 1, 0, &grid, 99);
    sample(&bench, 1000);
    json_t *trace = finish(&bench);
    static const struct {
        uint32_t tb, thread;
        double start, end; /* cycles */
    } expected[] = {{0, 200, 30, 60}, {1, 201, 31, 91}, {2, 200, 60, 92}, {3, 202, 61, 93}};
    assert_int_equal(count(trace, "X", "thread block"), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *event = find(trace, "X", "thread block", i);
        assert_int_equal(argument(event, "thread_block"), expected[i].tb);
        assert_int_equal(number_of(event, "tid"), expected[i].thread);
        expect_times(event, (double)(int)(expected[i].start / 3) / 1e3, (double)(int)(expected[i].end / 3) / 1e3);
        assert_int_equal(argument(event, "start_cycle"), (json_int_t)expected[i].start);
        assert_int_equal(argument(event, "end_cycle"), (json_int_t)expected[i].end);
        assert_string_equal(text_of(event, "name"), "kernel");
    }
    assert_string_equal(thread_name(trace, 100), "SM 0"); /* also one that had nothing to do */
    assert_string_equal(thread_name(trace, 101), "");
    assert_string_equal(thread_name(trace, 200), "SM 1");
    assert_string_equal(thread_name(trace, 202), "SM 1 track 2");
    const json_t *slice = find(trace, "X", "launch", 0);
    expect_times(slice, 0.010, 0.033);
    assert_int_equal(argument(slice, "thread_blocks"), 4);
    assert_int_equal(count(trace, "X", "waiting"), 0); /* a dispatch latency is no wait */
    json_decref(trace);
}

static void what_did_not_end_says_so(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 0, UINT64_MAX, 1000);
    launch(&bench, true, 1, 0, &grid, 10);
    tb(&bench, true, 1, 0, 0, 0, 400);
    tb(&bench, true, 1, 0, 0, 1, 900); /* was on its way when the application was stopped */
    launch(&bench, true, 2, 1, &grid, 15);
    tb(&bench, true, 2, 1, 0, 0, 20);
    launch(&bench, true, 3, 2, &grid, 2000); /* later than the end */
    launch(&bench, false, 1, 0, &grid, 800);
    sample(&bench, 1000);
    json_t *trace = finish(&bench);
    assert_int_equal(count(trace, "X", "thread block"), 2);
    assert_string_equal(text_of(json_object_get(find(trace, "X", "thread block", 0), "args"), "ended"), "stopped");
    assert_string_equal(text_of(json_object_get(find(trace, "X", "thread block", 1), "args"), "ended"), "unfinished");
    assert_int_equal(count(trace, "X", "launch"), 2);
    assert_int_equal(argument(find(trace, "X", "launch", 0), "end_cycle"), 800);
    assert_int_equal(argument(find(trace, "X", "launch", 1), "end_cycle"), 1000);
    assert_int_equal(argument(find(trace, "X", "waiting", 0), "end_cycle"), 400);
    assert_int_equal(count(trace, "X", "waiting"), 1);
    json_decref(trace);
}

static void a_range_cuts_what_sticks_out(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 300, 599, 1000);
    launch(&bench, true, 1, 0, &grid, 10);
    static const uint32_t cycles[4][2] = {{30, 300}, {40, 360}, {330, 900}, {600, 700}};
    for (uint32_t i = 0; i < 4; i++)
        tb(&bench, true, 1, 0, i % 2, i, cycles[i][0]);
    for (uint64_t cycle = 0; cycle <= 1000; cycle += 90)
        sample(&bench, cycle);
    for (uint32_t i = 0; i < 4; i++)
        tb(&bench, false, 1, 0, i % 2, i, cycles[i][1]);
    launch(&bench, false, 1, 0, &grid, 910);
    sample(&bench, 1000);
    json_t *trace = finish(&bench);
    assert_int_equal(count(trace, "X", "thread block"), 2);
    expect_times(find(trace, "X", "thread block", 0), 0.100, 0.120);
    assert_int_equal(argument(find(trace, "X", "thread block", 0), "start_cycle"), 40);
    expect_times(find(trace, "X", "thread block", 1), 0.110, 0.200);
    expect_times(find(trace, "X", "launch", 0), 0.100, 0.200);
    /* samples 270 (shown from 300 on), 360, 450, 540 */
    assert_int_equal(count(trace, "C", "DRAM utilisation"), 4);
    expect_times(find(trace, "C", "DRAM utilisation", 0), 0.100, 0.100);
    expect_times(find(trace, "C", "DRAM utilisation", 3), 0.180, 0.180);
    json_decref(trace);
}

static void a_limit_shows_a_sample_and_says_so(void **state)
{
    (void)state;
    static const struct corun_grid one = {.name = "kernel", .tb_count = 6, .tb_threads = 96};
    struct bench bench;
    begin(&bench, 0, UINT64_MAX, 1000);
    uint64_t cycle = 0;
    for (uint64_t number = 1; number <= 1000; number++) {
        launch(&bench, true, number, number % 2, &one, cycle);
        for (uint32_t i = 0; i < 6; i++)
            tb(&bench, true, number, number % 2, i % SMS, i, cycle + 10);
        for (uint32_t i = 0; i < 6; i++)
            tb(&bench, false, number, number % 2, i % SMS, i, cycle + 20);
        cycle += 30;
        launch(&bench, false, number, number % 2, &one, cycle - 10);
        sample(&bench, cycle);
    }
    json_t *trace = finish(&bench);
    size_t shown = count(trace, "X", "thread block"), launches = count(trace, "X", "launch");
    const json_t *other = json_object_get(trace, "otherData");
    assert_true(shown > 100 && shown <= 500);
    assert_int_equal(number_of(other, "thread_blocks"), 6000);
    assert_int_equal(number_of(other, "thread_blocks_left_out"), 6000 - (json_int_t)shown);
    assert_true(launches > 20 && launches <= 62);
    assert_int_equal(number_of(other, "launches_left_out"), 1000 - (json_int_t)launches);
    assert_true(json_array_size(json_object_get(trace, "traceEvents")) <= 1000 + 50); /* beside the names of tracks */
    char name[80];
    snprintf(name, sizeof name, "tiny (shows %zu of 6000 thread blocks)", shown);
    assert_string_equal(process_name(trace, 1), name);
    /* spread over SMs, tracks, applications and time */
    size_t threads[SMS][2] = {{0}}, quarters[4] = {0}, of_process[2] = {0};
    for (size_t i = 0; i < shown; i++) {
        const json_t *event = find(trace, "X", "thread block", i);
        threads[number_of(event, "tid") / 100 - 1][number_of(event, "tid") % 100]++;
        quarters[argument(event, "start_cycle") * 4 / 30001]++;
    }
    for (size_t i = 0; i < launches; i++)
        of_process[number_of(find(trace, "X", "launch", i), "pid") - 2]++;
    for (size_t s = 0; s < SMS; s++)
        assert_true(threads[s][0] > shown / 15 && threads[s][1] > shown / 15);
    for (size_t i = 0; i < 4; i++)
        assert_true(quarters[i] > shown / 8);
    assert_true(of_process[0] > 4 && of_process[1] > 4);
    /* counters keep their distance, and the last one reaches to the end */
    size_t samples = count(trace, "C", "IPC") / 3;
    assert_true(samples > 10 && samples <= 1000 / 4 / (3 + 3 * 3));
    json_decref(trace);
}

static void names_are_unique_and_proper_json(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 0, UINT64_MAX, 1000);
    static const struct corun_grid odd = {.name = "a\\b\"c\n", .tb_count = 1, .tb_threads = 32};
    launch(&bench, true, 1, 2, &odd, 0);
    tb(&bench, true, 1, 2, 0, 0, 5);
    sample(&bench, 100);
    json_t *trace = finish(&bench);
    assert_string_equal(process_name(trace, 2), "work@small");
    assert_string_equal(process_name(trace, 3), "work@small (2)");
    assert_string_equal(process_name(trace, 4), "o\"d?d");
    assert_string_equal(text_of(find(trace, "X", "launch", 0), "name"), "a\\b\"c\n");
    json_decref(trace);
}

static void moments_tell_what_changed(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 0, UINT64_MAX, 1000);
    uint32_t limits[SMS * 3], order[SMS * 3] = {0};
    bool exclusive[SMS] = {false, true, true};
    for (size_t i = 0; i < SMS * 3; i++)
        limits[i] = i % 3 == 0 ? CORUN_UNLIMITED : i % 3 == 1 ? (uint32_t)i / 3 * 2 : 0;
    struct corun_allowances allowances = {.tb_limit = limits, .order = order, .exclusive = exclusive};
    struct corun_observation moment = {
        .kind = CORUN_OBSERVED_MOMENT, .cycle = 30, .application = 1, .event = CORUN_EVENT_ARRIVE};
    moment.allowances = &allowances;
    see(&bench, moment);
    moment.cycle = 60;
    moment.event = CORUN_EVENT_EPOCH;
    see(&bench, moment); /* nothing new */
    moment.cycle = 90;
    limits[0] = 5;
    see(&bench, moment);
    moment.cycle = 120;
    moment.event = CORUN_EVENT_LIMIT_REACHED;
    moment.sm = 2;
    see(&bench, moment);
    sample(&bench, 1000);
    json_t *trace = finish(&bench);
    assert_int_equal(count(trace, "i", "allowances"), 2);
    const json_t *event = find(trace, "i", "allowances", 0);
    assert_string_equal(text_of(event, "name"), "new allowances: work@small (2) arrives");
    assert_int_equal(argument(event, "exclusive_sms"), 2);
    const json_t *list = json_object_get(json_object_get(event, "args"), "allowances");
    assert_string_equal(json_string_value(json_array_get(list, 0)), "work@small: 3 SMs, as many thread blocks as fit");
    assert_string_equal(json_string_value(json_array_get(list, 1)), "work@small (2): 2 SMs, 2 to 4 thread blocks each");
    assert_string_equal(json_string_value(json_array_get(list, 2)), "o\"d?d: 0 SMs");
    event = find(trace, "i", "allowances", 1);
    assert_string_equal(text_of(event, "name"), "new allowances: an epoch has ended");
    list = json_object_get(json_object_get(event, "args"), "allowances");
    assert_string_equal(json_string_value(json_array_get(list, 0)), "work@small: 3 SMs, 5 thread blocks each or more");
    assert_int_equal(count(trace, "i", "moment"), 1);
    event = find(trace, "i", "moment", 0);
    assert_string_equal(text_of(event, "name"), "work@small (2) is back under its limit");
    assert_int_equal(argument(event, "sm"), 2);
    json_decref(trace);
}

static void preempt(struct bench *bench, enum corun_observed kind, uint32_t sm, uint64_t cycle)
{
    see(bench,
        (struct corun_observation){.kind = kind, .cycle = cycle, .sm = sm, .application = 1, .tb = 2, .launch = 7});
}

/* Stopped and saved on one SM, restored and ended on another. */
static void preempted_thread_blocks_are_saved_and_restored(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 0, UINT64_MAX, 1000);
    launch(&bench, true, 7, 1, &grid, 10);
    tb(&bench, true, 7, 1, 0, 2, 30);
    preempt(&bench, CORUN_OBSERVED_TB_PREEMPTED, 0, 300);
    preempt(&bench, CORUN_OBSERVED_TB_SAVED, 0, 360);
    tb(&bench, true, 7, 1, 0, 3, 360); /* its track is free */
    preempt(&bench, CORUN_OBSERVED_TB_RESTORING, 2, 600);
    preempt(&bench, CORUN_OBSERVED_TB_RESUMED, 2, 690);
    preempt(&bench, CORUN_OBSERVED_TB_SAVED, 1, 700); /* not there */
    tb(&bench, false, 7, 1, 2, 2, 900);
    sample(&bench, 1000);
    json_t *trace = finish(&bench);
    static const struct {
        const char *category, *name, *ended;
        json_int_t start, end, thread;
    } expected[] = {{"thread block", "kernel", "preempted", 30, 300, 100},
                    {"preemption", "saving kernel", "complete", 300, 360, 100},
                    {"preemption", "restoring kernel", "complete", 600, 690, 300},
                    {"thread block", "kernel", "complete", 690, 900, 300},
                    {"thread block", "kernel", "unfinished", 360, 1000, 100}};
    size_t blocks = 0, preemptions = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        bool is_block = !strcmp(expected[i].category, "thread block");
        const json_t *event = find(trace, "X", expected[i].category, is_block ? blocks++ : preemptions++);
        assert_non_null(event);
        assert_string_equal(text_of(event, "name"), expected[i].name);
        assert_string_equal(text_of(json_object_get(event, "args"), "ended"), expected[i].ended);
        assert_int_equal(argument(event, "start_cycle"), expected[i].start);
        assert_int_equal(argument(event, "end_cycle"), expected[i].end);
        assert_int_equal(number_of(event, "tid"), expected[i].thread);
    }
    assert_int_equal(count(trace, "X", "thread block"), 3);
    assert_int_equal(count(trace, "X", "preemption"), 2);
    json_decref(trace);
}

static const struct corun_policy_variable shown[] = {{"share", "of the first"}, {"upper bound", "of that"}};
static const struct corun_policy with_variables = {.name = "p", .variables = shown, .variable_count = 2};

/* Who an SM is for, that it is off, and what the controller thinks. */
static void states_and_variables(void **state)
{
    (void)state;
    struct bench bench;
    bench_policy = &with_variables;
    begin(&bench, 60, UINT64_MAX, 1000);
    bench_policy = NULL;
    uint32_t limits[SMS * 3] = {CORUN_UNLIMITED, 0, 0, 0, 4, 2, 0, 0, 0}, order[SMS * 3] = {0};
    bool exclusive[SMS] = {false};
    double values[2] = {(double)NAN, 2};
    struct corun_allowances allowances = {
        .tb_limit = limits, .order = order, .exclusive = exclusive, .variables = values};
    struct corun_observation moment = {
        .kind = CORUN_OBSERVED_MOMENT, .cycle = 30, .event = CORUN_EVENT_EPOCH, .allowances = &allowances};
    struct corun_observation power = {.kind = CORUN_OBSERVED_POWER, .cycle = 300, .sm = 2, .powered = false};
    see(&bench, moment);
    sample(&bench, 90);
    moment.cycle = 150;
    see(&bench, moment); /* nothing is new */
    see(&bench, power);
    see(&bench, power); /* nor here */
    sample(&bench, 360);
    moment.cycle = 390;
    values[0] = 0.5;
    limits[2 * 3] = 1; /* of one that is off: it shows when it is on again */
    limits[0] = 0;
    see(&bench, moment);
    power.cycle = 600;
    power.powered = true;
    see(&bench, power);
    moment.cycle = 690;
    moment.event = CORUN_EVENT_QUOTAS_SPENT;
    moment.sm = 1;
    see(&bench, moment);
    sample(&bench, 1000);
    json_t *trace = finish(&bench);
    static const struct {
        const char *category, *name;
        json_int_t start, end, sm;
    } expected[] = {{"owner", "nobody", 30, 300, 2},
                    {"owner", "work@small", 30, 390, 0},
                    {"power", "switched off", 300, 600, 2},
                    {"owner", "nobody", 390, 1000, 0},
                    {"owner", "work@small (2) + o\"d?d", 30, 1000, 1},
                    {"owner", "work@small", 600, 1000, 2}};
    size_t owners = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        bool is_owner = !strcmp(expected[i].category, "owner");
        const json_t *event = find(trace, "X", expected[i].category, is_owner ? owners++ : 0);
        assert_non_null(event);
        assert_string_equal(text_of(event, "name"), expected[i].name);
        assert_int_equal(argument(event, "start_cycle"), expected[i].start);
        assert_int_equal(argument(event, "end_cycle"), expected[i].end);
        assert_int_equal(argument(event, "sm"), expected[i].sm);
        assert_int_equal(number_of(event, "tid"), 100 * (expected[i].sm + 1) + 99);
    }
    assert_int_equal(count(trace, "X", "owner"), 5);
    assert_string_equal(thread_name(trace, 199), "SM 0 is for");
    expect_times(find(trace, "X", "owner", 0), 0.020, 0.100);
    assert_int_equal(count(trace, "C", "share"), 1); /* before, it was not known */
    expect_times(find(trace, "C", "share", 0), 0.130, 0.130);
    assert_int_equal(count(trace, "C", "upper bound"), 1); /* it never changes */
    expect_times(find(trace, "C", "upper bound", 0), 0.020, 0.020);
    const json_t *powered = find(trace, "C", "SMs with power", 1);
    assert_int_equal(json_number_value(json_object_get(json_object_get(powered, "args"), "SMs")), SMS - 1);
    const json_t *spent = find(trace, "i", "moment", 0);
    assert_string_equal(text_of(spent, "name"), "quotas are spent");
    assert_int_equal(number_of(spent, "tid"), 299);
    json_decref(trace);
}

static void epoch_ends(struct bench *bench, uint64_t cycle)
{
    see(bench, (struct corun_observation){.kind = CORUN_OBSERVED_MOMENT, .cycle = cycle, .event = CORUN_EVENT_EPOCH});
}

static void expect_epoch(const json_t *trace, size_t n, json_int_t number, json_int_t start, json_int_t end,
                         const char *ended)
{
    const json_t *event = find(trace, "X", "epoch", n);
    char name[32];
    snprintf(name, sizeof name, "epoch %lld", (long long)number);
    assert_non_null(event);
    assert_string_equal(text_of(event, "name"), name);
    assert_int_equal(number_of(event, "pid"), 1);
    assert_string_equal(thread_name(trace, number_of(event, "tid")), "epochs");
    assert_int_equal(argument(event, "epoch"), number);
    assert_int_equal(argument(event, "start_cycle"), start);
    assert_int_equal(argument(event, "end_cycle"), end);
    assert_string_equal(text_of(json_object_get(event, "args"), "ended"), ended);
}

static void epochs_have_a_track(void **state)
{
    (void)state;
    struct bench bench;
    begin(&bench, 150, UINT64_MAX, 1000);
    bench.config.epoch_cycles = 100;
    epoch_ends(&bench, 100); /* before what is asked for */
    epoch_ends(&bench, 200);
    epoch_ends(&bench, 500); /* nothing was under way from 200 on: epochs 3 and 4 had no moment */
    sample(&bench, 560);     /* the end of the run */
    json_t *trace = finish(&bench);
    assert_int_equal(count(trace, "X", "epoch"), 3);
    expect_epoch(trace, 0, 2, 100, 200, "complete");
    expect_times(find(trace, "X", "epoch", 0), 0.050, 0.066); /* cut where the range begins */
    expect_epoch(trace, 1, 5, 400, 500, "complete");
    expect_epoch(trace, 2, 6, 500, 560, "unfinished");
    json_decref(trace);

    begin(&bench, 0, UINT64_MAX, 1000); /* of which epochs have a 64th */
    bench.config.epoch_cycles = 100;
    for (uint64_t epoch = 1; epoch <= 60; epoch++)
        epoch_ends(&bench, 100 * epoch);
    sample(&bench, 6000); /* the end of the run and of an epoch */
    trace = finish(&bench);
    assert_int_equal(count(trace, "X", "epoch"), 15); /* every fourth */
    for (size_t i = 0; i < 15; i++)
        expect_epoch(trace, i, 4 * (json_int_t)i + 1, 400 * (json_int_t)i, 400 * (json_int_t)i + 100, "complete");
    assert_int_equal(number_of(json_object_get(trace, "otherData"), "epochs"), 60);
    assert_int_equal(number_of(json_object_get(trace, "otherData"), "epochs_left_out"), 45);
    json_decref(trace);
}

static void a_series_keeps_its_limit_and_its_distance(void **state)
{
    (void)state;
    struct series series;
    series_init(&series, sizeof(uint64_t[2]), 10);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(series_add(&series, (uint64_t[2]){i, i * i}));
        assert_true(series.count <= 10);
    }
    assert_int_equal(series.seen, 1000);
    assert_true(series.count >= 5);
    uint64_t step = series.mask + 1;
    assert_int_equal(step, 128);
    for (size_t i = 0; i < series.count; i++) {
        const uint64_t *record = series_at(&series, i);
        assert_int_equal(record[0], i * step);
        assert_int_equal(record[1], record[0] * record[0]);
    }
    series_free(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_thread_blocks_get_lanes_of_their_own),
        cmocka_unit_test(what_did_not_end_says_so),
        cmocka_unit_test(a_range_cuts_what_sticks_out),
        cmocka_unit_test(a_limit_shows_a_sample_and_says_so),
        cmocka_unit_test(names_are_unique_and_proper_json),
        cmocka_unit_test(moments_tell_what_changed),
        cmocka_unit_test(preempted_thread_blocks_are_saved_and_restored),
        cmocka_unit_test(states_and_variables),
        cmocka_unit_test(epochs_have_a_track),
        cmocka_unit_test(a_series_keeps_its_limit_and_its_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
