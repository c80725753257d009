/* SPDX-License-Identifier: MIT */
/*
 * Reports of a handmade result. The tables are compared with the files beside this one; CORUN_UPDATE=1 writes those
 * anew.
 */
#include "report/json.h"
#include "report/table.h"
#include "report/trace.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a case: two applications on two SMs, one with a goal that it misses, one that was stopped ---- */

struct sample {
    struct corun_case_result result;
    struct corun_case_application_result applications[2];
    struct corun_case_kernel kernels[3];
    struct corun_profile_line lines[2];
    struct corun_counters sms[2][2];
    struct corun_sm_result sm_results[2];
    double values[1];
};

static struct corun_counters counters_of(uint64_t scale)
{
    return (struct corun_counters){.warp_instructions = 100 * scale,
                                   .thread_instructions = 3000 * scale,
                                   .issue_cycles = 100 * scale,
                                   .stall_data = 50 * scale,
                                   .stall_memory_data = 200 * scale,
                                   .stall_memory = 40 * scale,
                                   .stall_barrier = 10 * scale,
                                   .tbs_completed = scale,
                                   .warp_cycles = 4000 * scale,
                                   .l1_accesses = 60 * scale,
                                   .l1_hits = 45 * scale,
                                   .l1_misses = 15 * scale,
                                   .l2_accesses = 15 * scale,
                                   .l2_hits = 5 * scale,
                                   .icnt_requests = 15 * scale,
                                   .icnt_request_latency = 150 * scale,
                                   .icnt_replies = 15 * scale,
                                   .icnt_reply_latency = 450 * scale,
                                   .dram_read_bytes = 3200 * scale,
                                   .dram_write_bytes = 320 * scale,
                                   .dram_row_hits = 80 * scale,
                                   .dram_row_misses = 20 * scale};
}

static void fill_applications(struct sample *sample)
{
    sample->applications[0] = (struct corun_case_application_result){.name = "sgemm",
                                                                     .size = "small",
                                                                     .goal = CORUN_GOAL_FRACTION,
                                                                     .goal_value = 0.9,
                                                                     .goal_ipc = 54,
                                                                     .goal_distance = 30.0 / 54 - 1,
                                                                     .goal_outcome = CORUN_GOAL_MISSED,
                                                                     .cycles = 10000,
                                                                     .ipc = 30,
                                                                     .ipc_isolated = 60,
                                                                     .normalised_ipc = 0.5,
                                                                     .counters = counters_of(100),
                                                                     .kernel_count = 2,
                                                                     .kernels = sample->kernels,
                                                                     .sms = sample->sms[0]};
    sample->applications[0].result = (struct corun_application_result){.runs = 3,
                                                                       .ended_cycle = 10000,
                                                                       .first_run_cycles = 3100,
                                                                       .thread_instructions = 300000,
                                                                       .warp_instructions = 10000,
                                                                       .kernel_count = 2};
    sample->applications[1] = (struct corun_case_application_result){.name = "broken",
                                                                     .size = "",
                                                                     .goal_ipc = (double)NAN,
                                                                     .goal_distance = (double)NAN,
                                                                     .start_cycle = 2000,
                                                                     .cycles = 1000,
                                                                     .ipc = 9,
                                                                     .ipc_isolated = (double)NAN,
                                                                     .normalised_ipc = (double)NAN,
                                                                     .counters = counters_of(3),
                                                                     .kernel_count = 1,
                                                                     .kernels = sample->kernels + 2,
                                                                     .sms = sample->sms[1]};
    sample->applications[1].result = (struct corun_application_result){.status = CORUN_FAULT,
                                                                       .arrived_cycle = 2000,
                                                                       .ended_cycle = 3000,
                                                                       .thread_instructions = 9000,
                                                                       .warp_instructions = 300,
                                                                       .kernel_count = 1};
}

static void fill(struct sample *sample)
{
    static const struct corun_policy_parameter parameters[] = {{"exclusive", 1, 0, 1, true, "a meaning", NULL}};
    static const char *const names[] = {"sgemm_tiled", "sgemm_edge", "oops"};
    memset(sample, 0, sizeof *sample);
    fill_applications(sample);
    for (uint32_t k = 0; k < 3; k++)
        sample->kernels[k] = (struct corun_case_kernel){.result = {.name = names[k],
                                                                   .launches = 3 - k,
                                                                   .cycles = 9000 / (k + 1),
                                                                   .tbs_per_sm = 4,
                                                                   .registers_per_thread = 37,
                                                                   .tb_shared_bytes = 2048,
                                                                   .tb_threads = 256,
                                                                   .counters = counters_of(k == 2 ? 3 : 50)},
                                                        .ipc = 16.5 * (k + 1),
                                                        .ipc_isolated = k == 2 ? (double)NAN : 33,
                                                        .normalised_ipc = k == 2 ? (double)NAN : 0.5 * (k + 1)};
    sample->lines[0] =
        (struct corun_profile_line){12, "ld.global.f32 %f1, [%rd1];", "heat.cu:7", {20, 600, 1, 2, 3, 4, 5, 6}};
    sample->lines[1] = (struct corun_profile_line){13, "", "", {20, 610, 0, 900, 0, 0, 0, 0}};
    sample->kernels[0].profile = sample->lines;
    sample->kernels[0].profile_count = 2;
    for (uint32_t s = 0; s < 2; s++) {
        sample->sms[0][s] = counters_of(50);
        sample->sms[1][s] = counters_of(s);
        sample->sm_results[s] = (struct corun_sm_result){.busy_cycles = 9000 + s, .counters = counters_of(50)};
    }
    sample->values[0] = 1;
    corun_gpu_config_default(&sample->result.gpu);
    sample->result.gpu.sms = 2;
    strcpy(sample->result.gpu.name, "sample");
    sample->result.policy = "even";
    sample->result.parameter_count = 1;
    sample->result.parameters = parameters;
    sample->result.parameter_values = sample->values;
    sample->result.window_cycles = sample->result.cycles = 10000;
    sample->result.seed = 7;
    sample->result.threads = 1;
    sample->result.application_count = 2;
    sample->result.applications = sample->applications;
    sample->result.sms = sample->sm_results;
    sample->result.counters = counters_of(103);
    sample->result.memory = (struct corun_memory_result){4000, 1000, 8000, 400};
    sample->result.energy = (struct corun_energy_result){.issue = 1e-5,
                                                         .lanes = 2e-5,
                                                         .registers = 3e-5,
                                                         .shared = 4e-5,
                                                         .l1 = 5e-5,
                                                         .interconnect = 6e-5,
                                                         .l2 = 7e-5,
                                                         .dram = 8e-5,
                                                         .static_sm = 9e-5,
                                                         .static_rest = 5e-5,
                                                         .total = 5e-4,
                                                         .average_watts = 60.8,
                                                         .applications = {3.6e-4}};
    sample->applications[0].energy_joules = 3.6e-4;
    sample->applications[1].energy_joules = 0;
    sample->result.stp = sample->result.antt = sample->result.fairness = (double)NAN;
    sample->result.wall_seconds = 0.5;
    sample->result.warp_instructions_per_second = 20600;
}

/* ---- snapshots ---- */

static void compare_with_file(const char *name, const char *text)
{
    char path[512], expected[16384] = "";
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    FILE *file;
    if (getenv("CORUN_UPDATE")) {
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
    }
    file = fopen(path, "r");
    assert_non_null(file);
    size_t bytes = fread(expected, 1, sizeof expected - 1, file);
    expected[bytes] = 0;
    fclose(file);
    assert_string_equal(text, expected);
}

static void the_table(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    size_t bytes;
    fill(&sample);
    FILE *stream = open_memstream(&text, &bytes);
    struct report_style plain = {.utf8 = false, .colour = false};
    assert_true(table_case(&sample.result, &plain, stream));
    assert_true(table_profile(&sample.result, &plain, stream));
    fclose(stream);
    compare_with_file("case.txt", text);
    free(text);
}

static void the_table_on_a_terminal(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    size_t bytes;
    fill(&sample);
    sample.applications[0].goal_outcome = CORUN_GOAL_MET;
    sample.applications[0].goal_distance = 0.0125;
    sample.applications[1].result.status = CORUN_OK;
    sample.result.stp = 1.5;
    sample.result.antt = (double)INFINITY;
    sample.result.fairness = 0.25;
    FILE *stream = open_memstream(&text, &bytes);
    struct report_style full = {.utf8 = true, .colour = true};
    assert_true(table_case(&sample.result, &full, stream));
    fclose(stream);
    compare_with_file("case_terminal.txt", text);
    free(text);
}

static void what_is_known_of_interrupted_isolated_runs(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    size_t bytes;
    fill(&sample);
    sample.result.interrupted = true;
    sample.result.cycles = 0;
    sample.applications[1].ipc_isolated = (double)NAN;
    FILE *stream = open_memstream(&text, &bytes);
    assert_true(table_case(&sample.result, &(struct report_style){0}, stream));
    fclose(stream);
    assert_non_null(strstr(text, "interrupted during the isolated runs: the applications have not run together yet\n\n"
                                 "application  isolated IPC\n"
                                 "-------------------------\n"
                                 "sgemm@small         60.00\n"
                                 "broken       not finished\n"));
    assert_null(strstr(text, "STP"));
    free(text);
}

static void a_window_that_ends_before_the_first_kernel(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    size_t bytes;
    fill(&sample);
    sample.applications[1].result.status = CORUN_OK;
    sample.applications[1].kernel_count = 0;
    sample.applications[1].counters = (struct corun_counters){0};
    sample.applications[1].result.thread_instructions = 0;
    sample.applications[1].ipc = 0;
    sample.applications[1].cycles = 10000;
    FILE *stream = open_memstream(&text, &bytes);
    assert_true(table_case(&sample.result, &(struct report_style){0}, stream));
    fclose(stream);
    assert_non_null(strstr(text, "\nbroken            -     0      -         -           -  -\n"));
    assert_non_null(strstr(text, "\n\nbroken: the window of 10 000 cycles ended before its first kernel began\n"));
    assert_null(strstr(text, "sgemm@small: the window"));
    free(text);
    sample.applications[1].cycles = 0;
    sample.result.cycles = 12000;
    stream = open_memstream(&text, &bytes);
    assert_true(table_case(&sample.result, &(struct report_style){0}, stream));
    fclose(stream);
    assert_non_null(strstr(text, "\n\nbroken: the window of 12 000 cycles ended before its first kernel began\n"));
    free(text);
}

/* Eleven intervals of 100 and 400 cycles by turns: two of them make a column, and the last one is alone. */
static void how_the_split_moved(void **state)
{
    (void)state;
    static const uint64_t ends[] = {100, 500, 600, 1000, 1100, 1500, 1600, 2000, 2100, 2500, 2600};
    struct corun_case_history_share shares[11][2] = {{{0}}};
    double powered[11];
    struct sample sample;
    char *text;
    size_t bytes;
    for (uint32_t i = 0; i < 11; i++) {
        shares[i][0].sms = i < 3 ? 2 : 1; /* the second column: (100 * 2 + 400 * 1) / 500 */
        shares[i][1].sms = i < 6 ? 0 : 1;
        powered[i] = i == 9 ? 1 : 2; /* the fifth column: 400 of 500 cycles */
    }
    fill(&sample);
    sample.result.history =
        (struct corun_case_history){.count = 11, .end_cycles = ends, .shares = &shares[0][0], .powered_sms = powered};
    FILE *stream = open_memstream(&text, &bytes);
    assert_true(table_case(&sample.result, &(struct report_style){0}, stream));
    fclose(stream);
    assert_non_null(strstr(text, "\n\n"
                                 "SMs in use, until  500   1K  1.5K   2K  2.5K  2.6K\n"
                                 "--------------------------------------------------\n"
                                 "sgemm@small        2.0  1.2   1.0  1.0   1.0   1.0\n"
                                 "broken             0.0  0.0   0.0  1.0   1.0   1.0\n"
                                 "switched off       0.0  0.0   0.0  0.0   0.8   0.0\n"
                                 "\n"));
    free(text);

    /* It did not move by a whole SM, and none was switched off. */
    for (uint32_t i = 0; i < 11; i++) {
        shares[i][0].sms = i < 2 ? 1.05 : 2;
        shares[i][1].sms = 1;
        powered[i] = 2;
    }
    stream = open_memstream(&text, &bytes);
    assert_true(table_case(&sample.result, &(struct report_style){0}, stream));
    fclose(stream);
    assert_null(strstr(text, "SMs in use"));
    free(text);
}

/* ---- JSON ---- */

static json_t *written(const struct sample *sample, char **text)
{
    size_t bytes;
    FILE *stream = open_memstream(text, &bytes);
    assert_int_equal(json_case(&sample->result, stream), CORUN_OK);
    fclose(stream);
    json_t *object = json_loads(*text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(object);
    return object;
}

/* A goal that could not be reached is not just missed: the table says what the best epoch was. */
static void a_goal_out_of_reach(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    size_t bytes;
    fill(&sample);
    struct corun_case_application_result *first = &sample.applications[0];
    first->goal = CORUN_GOAL_FRAMES_PER_SECOND;
    first->goal_value = 60;
    first->transfer_milliseconds = 1.5;
    first->goal_outcome = CORUN_GOAL_OUT_OF_REACH;
    first->result.best_epoch_ipc = 40.5; /* of 54 */
    FILE *stream = open_memstream(&text, &bytes);
    assert_true(table_case(&sample.result, &(struct report_style){0}, stream));
    fclose(stream);
    assert_non_null(strstr(text, "fps=60,transfer=1.5"));
    assert_non_null(strstr(text, "out of reach: 44.4 % short, 75.0 % of it in the best epoch"));
    free(text);
    json_t *object = written(&sample, &text);
    json_t *app = json_array_get(json_object_get(object, "applications"), 0);
    assert_string_equal(json_string_value(json_object_get(app, "goal")), "fps=60,transfer=1.5");
    assert_true(json_is_false(json_object_get(app, "goal_met")));
    assert_true(json_is_true(json_object_get(app, "goal_out_of_reach")));
    assert_true(json_number_value(json_object_get(app, "best_epoch_ipc")) == 40.5);
    json_decref(object);
    free(text);
}

static void expect_keys(const json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        if (!json_object_get(object, *keys))
            fail_msg("there is no %s", *keys);
    }
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* What the JSON of a run promises, object by object. */
static const char *const keys_of_run[] = {"gpu",      "policy",       "cycles",
                                          "seed",     "threads",      "applications",
                                          "sms",      "dram",         "interconnect",
                                          "energy",   "stp",          "antt",
                                          "fairness", "wall_seconds", "warp_instructions_per_second",
                                          NULL};
static const char *const keys_of_app[] = {"name",
                                          "size",
                                          "goal",
                                          "goal_met",
                                          "goal_out_of_reach",
                                          "best_epoch_ipc",
                                          "runs",
                                          "thread_instructions",
                                          "warp_instructions",
                                          "cycles",
                                          "ipc",
                                          "ipc_isolated",
                                          "normalised_ipc",
                                          "l1_hit_rate",
                                          "l2_hit_rate",
                                          "dram_bytes",
                                          "energy_joules",
                                          "instructions_per_joule",
                                          "stalls",
                                          "kernels",
                                          NULL};
static const char *const keys_of_energy[] = {"issue",
                                             "lanes",
                                             "registers",
                                             "shared",
                                             "l1",
                                             "interconnect",
                                             "l2",
                                             "dram",
                                             "static_sm",
                                             "static_rest",
                                             "total",
                                             "average_watts",
                                             "instructions_per_joule",
                                             NULL};
static const char *const keys_of_kernel[] = {"name", "launches", "cycles", NULL};
static const char *const keys_of_sm[] = {"busy_cycles",      "occupancy",    "stalls",
                                         "scheduler_cycles", "applications", NULL};

static void the_json_has_what_it_promises(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    fill(&sample);
    json_t *object = written(&sample, &text);
    expect_keys(object, keys_of_run);
    json_t *first = json_array_get(json_object_get(object, "applications"), 0),
           *second = json_array_get(json_object_get(object, "applications"), 1);
    expect_keys(first, keys_of_app);
    expect_keys(second, keys_of_app);
    assert_string_equal(json_string_value(json_object_get(first, "goal")), "90%");
    assert_true(json_is_false(json_object_get(first, "goal_met")));
    assert_true(json_is_null(json_object_get(second, "goal_met")));
    assert_true(json_is_false(json_object_get(first, "goal_out_of_reach")));
    assert_true(json_is_null(json_object_get(second, "goal_out_of_reach")));
    assert_true(json_is_null(json_object_get(second, "ipc_isolated"))); /* not known: null, not NaN */
    assert_true(json_is_null(json_object_get(object, "stp")));
    assert_true(number(first, "l1_hit_rate") == 0.75);
    assert_true(number(first, "dram_bytes") == 352000);
    assert_true(number(json_object_get(first, "stalls"), "memory_data") == 20000);
    assert_int_equal(json_array_size(json_object_get(first, "kernels")), 2);
    expect_keys(json_array_get(json_object_get(first, "kernels"), 0), keys_of_kernel);
    json_t *sms = json_object_get(object, "sms");
    assert_int_equal(json_array_size(sms), 2);
    expect_keys(json_array_get(sms, 1), keys_of_sm);
    json_t *share = json_array_get(json_object_get(json_array_get(sms, 1), "applications"), 1);
    assert_true(number(share, "tbs") == 1 && number(share, "thread_instructions") == 3000);
    assert_true(number(json_object_get(object, "dram"), "utilisation") == 0.25);
    assert_true(number(json_object_get(object, "dram"), "row_hit_rate") == 0.8);
    assert_true(number(json_object_get(object, "interconnect"), "latency_cycles") == 20);
    assert_true(number(json_object_get(object, "interconnect"), "utilisation") == 0.05);
    json_t *energy = json_object_get(object, "energy");
    expect_keys(energy, keys_of_energy);
    assert_true(number(energy, "dram") == 8e-5 && number(energy, "total") == 5e-4);
    assert_true(number(energy, "instructions_per_joule") == 309000 / 5e-4);
    assert_true(number(first, "energy_joules") == 3.6e-4);
    assert_true(number(second, "energy_joules") == 0);
    assert_true(json_is_null(json_object_get(second, "instructions_per_joule")));
    json_t *policy = json_object_get(object, "policy");
    assert_string_equal(json_string_value(json_object_get(policy, "name")), "even");
    assert_true(number(json_object_get(policy, "parameters"), "exclusive") == 1);
    json_decref(object);
    free(text);
}

static void equal_results_give_equal_bytes(void **state)
{
    (void)state;
    struct sample first, second;
    char *texts[2];
    fill(&first);
    fill(&second);
    json_decref(written(&first, &texts[0]));
    json_decref(written(&second, &texts[1]));
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

static void odd_bytes_do_not_break_the_json(void **state)
{
    (void)state;
    struct sample sample;
    char *text;
    fill(&sample);
    sample.applications[0].name = "\xff\xfe\"quoted\"\n";
    sample.lines[1].text = "// caf\xe9";
    json_t *object = written(&sample, &text);
    json_t *first = json_array_get(json_object_get(object, "applications"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "??\"quoted\"\n");
    json_decref(object);
    free(text);
}

static void a_launch(void **state)
{
    (void)state;
    static const char *const keys[] = {"cycles",
                                       "thread_instructions",
                                       "warp_instructions",
                                       "ipc",
                                       "registers_per_thread",
                                       "shared_bytes",
                                       "l1_hit_rate",
                                       "l2_hit_rate",
                                       "dram_bytes",
                                       "wall_seconds",
                                       "warp_instructions_per_second",
                                       NULL};
    struct launch_result launch = {.kernel = "add",
                                   .functional = true,
                                   .thread_instructions = 3200,
                                   .warp_instructions = 100,
                                   .ipc = (double)NAN,
                                   .registers_per_thread = 12,
                                   .wall_seconds = 0.25,
                                   .warp_instructions_per_second = 400};
    for (int timed = 0; timed < 2; timed++) {
        char *text;
        size_t bytes;
        launch.functional = !timed;
        launch.cycles = timed ? 640 : 0;
        launch.ipc = timed ? 5 : (double)NAN;
        launch.counters = timed ? counters_of(1) : (struct corun_counters){0};
        FILE *stream = open_memstream(&text, &bytes);
        assert_int_equal(json_launch(&launch, stream), CORUN_OK);
        fclose(stream);
        json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        expect_keys(object, keys);
        assert_int_equal(json_is_null(json_object_get(object, "cycles")), !timed);
        json_decref(object);
        free(text);
        stream = open_memstream(&text, &bytes);
        struct report_style plain = {.utf8 = false, .colour = false};
        assert_true(table_launch(&launch, &plain, stream));
        fclose(stream);
        compare_with_file(timed ? "launch.txt" : "launch_functional.txt", text);
        free(text);
    }
}

static void a_trace_line(void **state)
{
    (void)state;
    static const struct corun_instruction code[] = {{.unit = CORUN_UNIT_INT, .line = 4},
                                                    {.unit = CORUN_UNIT_MEMORY, .line = 9}};
    static const struct corun_grid grid = {.name = "add", .code = code, .code_length = 2};
    struct corun_trace_event event = {.cycle = 77,
                                      .sm = 1,
                                      .scheduler = 2,
                                      .warp = 6,
                                      .application = 0,
                                      .tb = 5,
                                      .grid = &grid,
                                      .pc = 1,
                                      .active = 0xff};
    char *text;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    struct trace trace;
    trace_create(&trace, stream, false);
    trace_event(&trace, &event);
    trace_end(&trace);
    fclose(stream);
    assert_string_equal(text, "# cycle sm scheduler warp application tb kernel pc line unit active\n"
                              "77 1 2 6 0 5 add 1 9 memory 000000ff\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(a_goal_out_of_reach),
        cmocka_unit_test(the_table_on_a_terminal),
        cmocka_unit_test(what_is_known_of_interrupted_isolated_runs),
        cmocka_unit_test(a_window_that_ends_before_the_first_kernel),
        cmocka_unit_test(how_the_split_moved),
        cmocka_unit_test(the_json_has_what_it_promises),
        cmocka_unit_test(equal_results_give_equal_bytes),
        cmocka_unit_test(odd_bytes_do_not_break_the_json),
        cmocka_unit_test(a_launch),
        cmocka_unit_test(a_trace_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
