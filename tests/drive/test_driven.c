/* SPDX-License-Identifier: MIT */
/*
 * A ready queue with a CUDA driver for its machine: corun's own on a simulated GPU (CORUN_TEST_DRIVER). Results are compared byte for
 * byte with a run without timing.
 */
#include "drive/driven.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The two oldest launches side by side, in slices of seven thread blocks, two of each in flight. */
static enum corun_status plan_pairs(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    (void)state;
    for (uint32_t i = view->first; i != CORUN_QUEUE_NONE && plan->grant_count < 2; i = view->launches[i].next) {
        uint32_t tbs = view->launches[i].tbs, slice = tbs < 7 ? tbs : 7;
        plan->grants[plan->grant_count++] =
            (struct corun_queue_grant){.launch = i, .slice_tbs = slice, .in_flight_tbs = 2 * slice};
    }
    plan->until = CORUN_QUEUE_EXHAUSTED | CORUN_QUEUE_READY;
    return CORUN_OK;
}

static const struct corun_queue_scheduler pairs = {
    .version = CORUN_QUEUE_VERSION, .name = "pairs", .summary = "two at a time", .plan = plan_pairs};

/* Stores 256 MiB behind its buffer. */
static const char bad_ptx[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry bad(.param .u64 place)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [place];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1+268435456], %r1;\nret;\n}\n";
static const struct command_argument bad_place = {.bytes = 8, .is_buffer = true};
static const uint32_t zeros[64];
static const struct command_buffer bad_buffer = {
    .name = "place", .bytes = sizeof zeros, .final = zeros, .is_output = true};
static const struct command bad_launch = {
    .kernel = "bad", .grid = {20, 1, 1}, .block = {32, 1, 1}, .argument_count = 1, .arguments = &bad_place};
static const struct workload_commands bad = {.name = "bad",
                                             .ptx = bad_ptx,
                                             .ptx_bytes = sizeof bad_ptx - 1,
                                             .buffers = &bad_buffer,
                                             .buffer_count = 1,
                                             .commands = &bad_launch,
                                             .command_count = 1,
                                             .launch_count = 1};

enum { KINDS = 3, MOST = 64 };

struct stage {
    struct workload_commands *owned[KINDS];
    const struct workload_commands *kinds[KINDS];
    struct driven *driven;
    struct queue *queue;
    struct corun_queue_device device;
    uint32_t submitted, over, failed, wrong, slices, kind_of[MOST];
    uint64_t last_tick;
    bool results_stay, ahead;
};

static struct workload_commands *load(const char *specification, uint32_t launch)
{
    char data[4096];
    struct corun_workload *workload;
    struct workload_commands *commands;
    assert_int_equal(corun_data_directory(data, sizeof data, NULL), CORUN_OK);
    assert_int_equal(corun_workload_load(specification, data, NULL, &workload), CORUN_OK);
    assert_int_equal(workload_commands_create(workload, launch, 1, 0, NULL, &commands), CORUN_OK);
    corun_workload_destroy(workload);
    return commands;
}

static void begin(struct stage *stage, uint64_t memory_bytes, bool in_turns)
{
    *stage = (struct stage){.results_stay = stage->results_stay,
                            .ahead = stage->ahead,
                            .device = {.name = "test",
                                       .clock = CORUN_CLOCK_NANOSECONDS,
                                       .clock_khz = 1000000,
                                       .core_khz = 1216000,
                                       .sm_count = 4,
                                       .schedulers_per_sm = 4}};
    stage->kinds[0] = stage->owned[0] = load("matmul@small", 0);
    stage->kinds[1] = stage->owned[1] = load("tea@small,bytes=40000", 0);
    stage->kinds[2] = &bad;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct driven_request request = {
        .options = {.library = getenv("CORUN_TEST_DRIVER"), .memory_bytes = memory_bytes, .in_turns = in_turns},
        .clock_khz = 1000000,
        .kinds = stage->kinds,
        .count = KINDS,
        .results_stay = stage->results_stay};
    if (driven_create(&request, list, &stage->driven) != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    struct queue_settings settings = {.scheduler = &pairs, .device = &stage->device, .ahead = stage->ahead};
    assert_int_equal(queue_create(&settings, list, &stage->queue), CORUN_OK);
    for (uint32_t k = 0; k < KINDS; k++) {
        const uint32_t *grid = stage->kinds[k]->commands[0].grid;
        struct corun_queue_profile profile = {.tbs = grid[0] * grid[1] * grid[2], .tbs_per_sm = 4};
        assert_int_equal(queue_kind(stage->queue, stage->kinds[k]->name, &profile, &(uint32_t){0}), CORUN_OK);
    }
    corun_diagnostics_destroy(list);
}

static uint32_t tbs_of(const struct stage *stage, size_t number)
{
    const uint32_t *grid = stage->kinds[stage->kind_of[number]]->commands[0].grid;
    return grid[0] * grid[1] * grid[2];
}

static void take(struct stage *stage, const struct driven_event *event)
{
    static const char tags[MOST]; /* a place for each number */
    bool ended;
    assert_true(event->tick >= stage->last_tick);
    stage->last_tick = event->tick;
    switch (event->what) {
    case DRIVEN_READY:
        assert_int_equal(queue_ready(stage->queue, event->tick, stage->kind_of[event->number], 0,
                                     tbs_of(stage, event->number), 0, (void *)(uintptr_t)&tags[event->number], NULL),
                         CORUN_OK);
        break;
    case DRIVEN_SLICE:
        queue_end(stage->queue, event->tick, &event->slice, &ended);
        break;
    case DRIVEN_OVER:
        stage->over++;
        stage->failed += event->failure != NULL;
        if (event->failure)
            assert_string_equal(event->failure, "CUDA_ERROR_ILLEGAL_ADDRESS");
        break;
    default:
        fail_msg("nothing is under way, and %u of %u are over", stage->over, stage->submitted);
    }
    for (bool any = true; any;) {
        struct queue_slice slice;
        assert_int_equal(queue_next(stage->queue, event->tick, &slice, &any), CORUN_OK);
        stage->slices += any;
        if (any)
            assert_int_equal(driven_launch(stage->driven, (size_t)((const char *)slice.tag - tags), &slice), CORUN_OK);
    }
}

/* True: it was ready at once. */
static bool submit(struct stage *stage, uint32_t kind)
{
    struct driven_event event = {.what = DRIVEN_READY, .tick = stage->last_tick, .number = stage->submitted};
    bool ready;
    assert_int_equal(driven_submit(stage->driven, stage->submitted, kind, &ready), CORUN_OK);
    stage->kind_of[stage->submitted++] = kind;
    if (ready)
        take(stage, &event);
    return ready;
}

static void finish(struct stage *stage)
{
    while (stage->over < stage->submitted) {
        struct driven_event event;
        assert_int_equal(driven_wait(stage->driven, UINT64_MAX, &event), CORUN_OK);
        take(stage, &event);
    }
    assert_int_equal(driven_mismatches(stage->driven), stage->wrong);
    queue_destroy(stage->queue);
    driven_destroy(stage->driven);
    workload_commands_destroy(stage->owned[0]);
    workload_commands_destroy(stage->owned[1]);
}

static void launches_in_pairs(void **state)
{
    (void)state;
    struct stage stage = {0};
    begin(&stage, 0, false);
    uint32_t slices = 0;
    for (uint32_t i = 0; i < 10; i++) {
        submit(&stage, i % 2);
        slices += (tbs_of(&stage, i) + 6) / 7;
    }
    finish(&stage);
    assert_int_equal(stage.slices, slices);
    assert_int_equal(stage.failed, 0);
}

/* A slice that waits behind another one begins without the host: the launches end earlier, with the same slices. */
static void one_slice_waits(void **state)
{
    (void)state;
    uint64_t ticks[2];
    uint32_t slices[2];
    for (int ahead = 0; ahead < 2; ahead++) {
        struct stage stage = {.ahead = ahead};
        begin(&stage, 0, false);
        for (uint32_t i = 0; i < 10; i++)
            submit(&stage, i % 2);
        finish(&stage);
        ticks[ahead] = stage.last_tick;
        slices[ahead] = stage.slices;
    }
    assert_int_equal(slices[0], slices[1]);
    assert_true(ticks[1] < ticks[0]);
}

/* The results of the first submission of a kind are copied and compared, those of others stay. */
static void results_stay(void **state)
{
    (void)state;
    struct stage stage = {.results_stay = true};
    struct runtime_statistics statistics;
    uint64_t bytes = 0;
    begin(&stage, 0, false);
    for (uint32_t i = 0; i < 6; i++)
        submit(&stage, i % 2);
    for (uint32_t k = 0; k < 2; k++)
        for (size_t b = 0; b < stage.kinds[k]->buffer_count; b++)
            bytes += stage.kinds[k]->buffers[b].is_output ? stage.kinds[k]->buffers[b].bytes : 0;
    while (stage.over < stage.submitted) {
        struct driven_event event;
        assert_int_equal(driven_wait(stage.driven, UINT64_MAX, &event), CORUN_OK);
        take(&stage, &event);
    }
    runtime_statistics(driven_runtime(stage.driven), &statistics);
    assert_int_equal(statistics.bytes_out, bytes);
    finish(&stage);
}

/* Data that are brought before time begins: submissions are ready when they come, and nothing is copied in after that. */
static void data_are_brought_before(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {0, 1, 1, 0, 1, 0};
    struct stage stage = {.results_stay = true};
    struct runtime_statistics statistics;
    struct driven_event event;
    begin(&stage, 0, false);
    assert_int_equal(driven_bring(stage.driven, kinds, 6), CORUN_OK);
    driven_start(stage.driven, 1000);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(submit(&stage, kinds[i]));
    while (stage.over < stage.submitted) {
        assert_int_equal(driven_wait(stage.driven, UINT64_MAX, &event), CORUN_OK);
        take(&stage, &event);
    }
    runtime_statistics(driven_runtime(stage.driven), &statistics);
    assert_int_equal(statistics.bytes_in, 0);
    finish(&stage);
}

/* Of ten, some fit the memory; a kernel fails, and its data that were brought come again. */
static void what_was_brought_survives_a_fault(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {0, 1, 2, 1, 0, 1, 0, 2, 1, 0};
    struct stage stage = {0};
    begin(&stage, 400 << 10, false);
    assert_int_equal(driven_bring(stage.driven, kinds, 10), CORUN_OK);
    driven_start(stage.driven, 0);
    for (uint32_t i = 0; i < 10; i++)
        submit(&stage, kinds[i]);
    finish(&stage);
    assert_int_equal(stage.failed, 2);
}

/* Results that are not what was expected are counted, although they are looked at after all that runs. */
static void wrong_results_are_counted(void **state)
{
    (void)state;
    for (int stay = 0; stay < 2; stay++) {
        struct stage stage = {.results_stay = stay};
        begin(&stage, 0, false);
        uint64_t bytes = stage.owned[1]->buffers[stage.owned[1]->buffer_count - 1].bytes;
        uint8_t *other = calloc(bytes, 1);
        struct command_buffer *buffers = (struct command_buffer *)(uintptr_t)stage.owned[1]->buffers;
        for (size_t i = 0; i < stage.owned[1]->buffer_count; i++)
            if (buffers[i].is_output && buffers[i].bytes <= bytes)
                buffers[i].final = other;
        for (uint32_t i = 0; i < 6; i++)
            submit(&stage, i % 2);
        while (stage.over < stage.submitted) {
            struct driven_event event;
            assert_int_equal(driven_wait(stage.driven, UINT64_MAX, &event), CORUN_OK);
            take(&stage, &event);
        }
        assert_int_equal(driven_mismatches(stage.driven), stay ? 1 : 3);
        stage.wrong = stay ? 1 : 3;
        finish(&stage);
        free(other);
    }
}

static void in_little_memory_and_in_turns(void **state)
{
    (void)state;
    struct stage stage = {0};
    begin(&stage, 400 << 10, true);
    for (uint32_t i = 0; i < 10; i++)
        submit(&stage, i % 2);
    finish(&stage);
    assert_int_equal(stage.failed, 0);
}

/* Two of a kind whose kernel fails, in the midst of others, with slices of both under way. */
static void others_do_not_notice_a_fault(void **state)
{
    (void)state;
    struct stage stage = {0};
    begin(&stage, 0, false);
    for (uint32_t i = 0; i < 9; i++)
        submit(&stage, i == 1 || i == 6 ? 2 : i % 2);
    finish(&stage);
    assert_int_equal(stage.failed, 2);
}

static void waits_until_a_tick(void **state)
{
    (void)state;
    struct stage stage = {0};
    struct driven_event event;
    begin(&stage, 0, false);
    uint64_t now = driven_now(stage.driven);
    assert_int_equal(driven_wait(stage.driven, now + 5000000, &event), CORUN_OK);
    assert_int_equal(event.what, DRIVEN_NOTHING);
    assert_true(event.tick >= now + 5000000);
    submit(&stage, 0);
    finish(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_in_pairs),
        cmocka_unit_test(one_slice_waits),
        cmocka_unit_test(results_stay),
        cmocka_unit_test(data_are_brought_before),
        cmocka_unit_test(what_was_brought_survives_a_fault),
        cmocka_unit_test(wrong_results_are_counted),
        cmocka_unit_test(in_little_memory_and_in_turns),
        cmocka_unit_test(others_do_not_notice_a_fault),
        cmocka_unit_test(waits_until_a_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
