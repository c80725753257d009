/* SPDX-License-Identifier: MIT */
/*
 * Crews of workers and the table through a CUDA driver: corun's own on a simulated GPU of 4 SMs (CORUN_TEST_DRIVER). Every result is
 * compared byte for byte.
 */
#include "runtime/crew.h"

#include "rewrite/workers.h"
#include "runtime/serve.h"
#include "runtime/table.h"
#include "runtime/workers_ptx.h"

enum { SMS = 4, QUEUES = 16 };

/* What the table holds: the places of one application, and a queue for each launch. */
struct layout {
    struct worker_place places[SMS];
    struct worker_queue queues[QUEUES];
};

struct stage {
    struct runtime *runtime;
    struct hand *hand;
    uint32_t program, job;
    struct layout seen; /* by the last look */
    uint32_t crews_ended;
    bool ended;
};

static struct stage open_stage(uint32_t tbs, uint32_t spin, uint32_t launches)
{
    struct stage stage = {.hand = hand_create("hand", tbs, spin, launches)};
    struct runtime_options options = {.library = getenv("CORUN_TEST_DRIVER"), .workers = true, .refilled = true};
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (runtime_open(&options, list, &stage.runtime) != CORUN_OK ||
        runtime_make_table(stage.runtime, sizeof(struct layout), 0, list) != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    stage.program = workload_in(stage.runtime, &stage.hand->commands);
    return stage;
}

static void close_stage(struct stage *stage)
{
    runtime_close(stage->runtime);
    hand_destroy(stage->hand);
}

/* What has happened, without waiting. */
static void look_around(struct stage *stage)
{
    struct runtime_event event = {.kind = RUNTIME_READY};
    while (event.kind != RUNTIME_NONE) {
        assert_int_equal(runtime_wait(stage->runtime, 0, NULL, &event), CORUN_OK);
        stage->crews_ended += event.kind == RUNTIME_CREW_ENDED;
        stage->ended |= event.kind == RUNTIME_ENDED;
        if (event.kind == RUNTIME_TABLE_READ)
            stage->seen = *(const struct layout *)runtime_table_copy(stage->runtime);
        assert_true(event.kind != RUNTIME_FAILED);
    }
}

static void sleep_for(struct stage *stage, uint64_t nanoseconds)
{
    runtime_sleep(stage->runtime, nanoseconds);
    look_around(stage);
}

static void read_table(struct stage *stage)
{
    assert_int_equal(runtime_table_read(stage->runtime), CORUN_OK);
    assert_int_equal(runtime_table_read(stage->runtime), CORUN_ARGUMENT); /* one at a time */
    sleep_for(stage, 20000);
}

static void set_limits(struct stage *stage, const uint16_t limits[SMS])
{
    struct runtime_rows rows = {.offset = offsetof(struct layout, places) + offsetof(struct worker_place, limit),
                                .pitch = sizeof(struct worker_place),
                                .bytes = sizeof *limits,
                                .rows = SMS,
                                .data = limits};
    assert_int_equal(runtime_table_write(stage->runtime, &rows), CORUN_OK);
}

static void set_queues(struct stage *stage, uint32_t total, uint32_t count, uint32_t seated)
{
    struct worker_queue queues[QUEUES];
    for (uint32_t i = 0; i < count; i++)
        queues[i] = (struct worker_queue){.total = total, .next = i ? 0 : seated, .alive = i ? 0 : seated};
    struct runtime_rows rows = {.offset = offsetof(struct layout, queues),
                                .pitch = sizeof *queues,
                                .bytes = sizeof *queues,
                                .rows = count,
                                .data = queues};
    assert_int_equal(runtime_table_write(stage->runtime, &rows), CORUN_OK);
}

static void submit_job(struct stage *stage)
{
    assert_int_equal(runtime_submit(stage->runtime, stage->program, &stage->job), CORUN_OK);
    for (uint32_t first = 0, end = 0; first == end; runtime_horizon(stage->runtime, stage->job, &first, &end))
        sleep_for(stage, 1000);
}

static struct runtime_crew crew_of(const struct stage *stage, uint32_t launch, uint32_t workers, uint32_t stream)
{
    unsigned long long table = runtime_table_address(stage->runtime);
    unsigned long long queue = table + offsetof(struct layout, queues) + launch * sizeof(struct worker_queue);
    return (struct runtime_crew){.job = stage->job,
                                 .launch = launch,
                                 .workers = workers,
                                 .stream = stream,
                                 .flags = WORKERS_TELL,
                                 .places = table + offsetof(struct layout, places),
                                 .queue = queue,
                                 .previous = launch ? queue - sizeof(struct worker_queue) : 0};
}

static void launch(struct stage *stage, const struct runtime_crew *crew)
{
    assert_int_equal(runtime_crew(stage->runtime, crew), CORUN_OK);
}

static void finish(struct stage *stage, uint32_t launches)
{
    for (uint32_t i = 0; i < launches; i++)
        assert_int_equal(runtime_complete(stage->runtime, stage->job, i), CORUN_OK);
    for (uint32_t looks = 0; !stage->ended && looks < 1000; looks++)
        sleep_for(stage, 10000);
    assert_true(stage->ended);
    assert_results(stage->runtime, stage->job, &stage->hand->commands);
    runtime_release(stage->runtime, stage->job);
    stage->ended = false;
}

static bool is_complete(const struct worker_queue *queue)
{
    return queue->next >= queue->total && !queue->alive;
}

static uint32_t done_in(const struct stage *stage)
{
    uint32_t done = 0;
    for (uint32_t s = 0; s < SMS; s++)
        done += stage->seen.places[s].done;
    return done;
}

static void a_host_that_sleeps(void **state)
{
    (void)state;
    struct stage stage = open_stage(8, 1, 1);
    uint64_t before = runtime_now(stage.runtime);
    runtime_sleep(stage.runtime, 5000);
    uint64_t after = runtime_now(stage.runtime);
    assert_true(after - before >= 4999 && after - before <= 5002); /* whole cycles, and a float of milliseconds */
    close_stage(&stage);
}

static void tables_are_checked(void **state)
{
    (void)state;
    struct stage stage = open_stage(8, 1, 1);
    uint64_t data[QUEUES * 4] = {0}, size = sizeof(struct layout);
    struct runtime_rows good = {.offset = size - 64, .pitch = 32, .bytes = 32, .rows = 2, .data = data}, bad = good;
    assert_int_equal(runtime_table_write(stage.runtime, &good), CORUN_OK);
    bad.rows = 3;
    assert_int_equal(runtime_table_write(stage.runtime, &bad), CORUN_ARGUMENT);
    bad = good, bad.offset = size - 63;
    assert_int_equal(runtime_table_write(stage.runtime, &bad), CORUN_ARGUMENT);
    bad = good, bad.pitch = 31;
    assert_int_equal(runtime_table_write(stage.runtime, &bad), CORUN_ARGUMENT);
    bad = good, bad.rows = UINT64_MAX / 2;
    assert_int_equal(runtime_table_write(stage.runtime, &bad), CORUN_ARGUMENT);
    close_stage(&stage);
}

static void one_crew_does_all(void **state)
{
    (void)state;
    struct stage stage = open_stage(200, 20, 1);
    for (uint32_t round = 1; round <= 2; round++) {
        submit_job(&stage);
        set_limits(&stage, (const uint16_t[]){8, 8, 8, 8});
        set_queues(&stage, 200, 1, 0);
        struct runtime_crew crew = crew_of(&stage, 0, 32, 0);
        launch(&stage, &crew);
        sleep_for(&stage, 200000);
        read_table(&stage);
        assert_true(is_complete(&stage.seen.queues[0]));
        assert_int_equal(done_in(&stage), round * 200);
        finish(&stage, 1);
    }
    close_stage(&stage);
}

static void seated_workers_ask_nobody(void **state)
{
    (void)state;
    struct stage stage = open_stage(100, 20, 1);
    submit_job(&stage);
    set_queues(&stage, 100, 1, 32);
    struct runtime_crew crew = crew_of(&stage, 0, 32, 0);
    crew.flags |= WORKERS_SEATED;
    launch(&stage, &crew);
    sleep_for(&stage, 100000);
    read_table(&stage);
    assert_int_equal(stage.seen.queues[0].next, 32); /* no place is owed, so nobody stays */
    assert_int_equal(stage.seen.queues[0].alive, 0);
    assert_int_equal(done_in(&stage), 32);
    set_limits(&stage, (const uint16_t[]){1, 2, 3, 4});
    crew.flags = WORKERS_TELL;
    launch(&stage, &crew);
    sleep_for(&stage, 300000);
    finish(&stage, 1);
    close_stage(&stage);
}

/* Three launches ahead; a limit falls, an SM is left, grows back by a further crew in another stream. */
static void limits_and_growth(void **state)
{
    (void)state;
    struct stage stage = open_stage(400, 400, 3);
    submit_job(&stage);
    set_limits(&stage, (const uint16_t[]){4, 4, 4, 0});
    set_queues(&stage, 400, 3, 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct runtime_crew crew = crew_of(&stage, i, 16, 0);
        launch(&stage, &crew);
    }
    sleep_for(&stage, 40000);
    read_table(&stage);
    for (uint32_t s = 0; s < 3; s++)
        assert_int_equal(stage.seen.places[s].resident, 4);
    assert_int_equal(stage.seen.places[3].resident, 0);
    assert_int_equal(stage.seen.places[3].done, 0);
    set_limits(&stage, (const uint16_t[]){0, 1, 4, 4});
    sleep_for(&stage, 40000);
    read_table(&stage);
    assert_int_equal(stage.seen.places[0].resident, 0);
    assert_int_equal(stage.seen.places[1].resident, 1);
    assert_int_equal(stage.seen.places[2].resident, 4);
    assert_int_equal(stage.seen.places[3].resident, 0);
    struct runtime_crew more = crew_of(&stage, 0, 16, 1);
    launch(&stage, &more);
    sleep_for(&stage, 20000);
    read_table(&stage);
    assert_int_equal(stage.seen.places[0].resident, 0);
    assert_int_equal(stage.seen.places[3].resident, 4);
    assert_false(is_complete(&stage.seen.queues[0])); /* all of that was in the first launch */
    for (uint32_t i = 0; i < 100 && !is_complete(&stage.seen.queues[2]); i++)
        read_table(&stage);
    assert_int_equal(done_in(&stage), 1200);
    finish(&stage, 3);
    close_stage(&stage);
}

/* With no place left, all workers of all launches that were given ahead go; a crew for each brings them to their end. */
static void everybody_leaves(void **state)
{
    (void)state;
    struct stage stage = open_stage(300, 100, 2);
    submit_job(&stage);
    set_limits(&stage, (const uint16_t[]){4, 4, 4, 4});
    set_queues(&stage, 300, 2, 0);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct runtime_crew crew = crew_of(&stage, i, 16, 0);
            launch(&stage, &crew);
        }
        if (round == 0) {
            sleep_for(&stage, 20000);
            set_limits(&stage, (const uint16_t[]){0, 0, 0, 0});
            sleep_for(&stage, 100000);
            read_table(&stage);
            assert_int_equal(stage.crews_ended, 2);
            assert_true(stage.seen.queues[0].next > 0 && stage.seen.queues[0].next < 300);
            assert_int_equal(stage.seen.queues[0].alive, 0);
            assert_int_equal(stage.seen.queues[0].next, done_in(&stage));
            assert_int_equal(stage.seen.queues[1].next, 0);
            set_limits(&stage, (const uint16_t[]){2, 4, 0, 4});
        }
    }
    for (uint32_t i = 0; i < 100 && !is_complete(&stage.seen.queues[1]); i++)
        read_table(&stage);
    assert_int_equal(done_in(&stage), 600);
    finish(&stage, 2);
    close_stage(&stage);
}

/* As a program would: all launches of two runs in a stream, and the data of the second from what stays on the device. */
static void whole_launches_ahead(void **state)
{
    (void)state;
    struct stage stage = open_stage(60, 50, 3);
    struct runtime_statistics statistics;
    uint64_t bytes = 0;
    for (uint32_t run = 0; run < 2; run++) {
        submit_job(&stage);
        runtime_statistics(stage.runtime, &statistics);
        assert_true(run == 0 ? statistics.bytes_in > 0 : statistics.bytes_in == bytes);
        bytes = statistics.bytes_in;
        for (uint32_t i = 0; i < 3; i++) {
            struct runtime_crew whole = crew_of(&stage, i, 0, 2);
            launch(&stage, &whole);
        }
        struct runtime_crew beyond = crew_of(&stage, 3, 0, 2);
        assert_int_equal(runtime_crew(stage.runtime, &beyond), CORUN_ARGUMENT);
        while (stage.crews_ended < 3 * (run + 1))
            sleep_for(&stage, 1000);
        finish(&stage, 3);
    }
    close_stage(&stage);
}

/* `sums` is a buffer, and `total` nobody's: what the first launch leaves in them, the second reads. */
static const char variables_ptx[] =
    WORKERS_HEAD ".visible .global .align 4 .b8 sums[1024];\n.global .align 4 .u32 total;\n"
                 ".visible .entry add(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %rd<3>;\n"
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
                 "mad.lo.u32 %r3, %r1, 32, %r2;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
                 "ld.global.u32 %r4, [%rd1];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [%rd1], %r4;\n"
                 "setp.eq.u32 %p, %r2, 0;\n@%p red.global.add.u32 [total], 1;\nret;\n}\n"
                 ".visible .entry tell(.param .u64 out)\n{\n.reg .b32 %r<6>;\n.reg .b64 %rd<3>;\n"
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
                 "mad.lo.u32 %r3, %r1, 32, %r2;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
                 "ld.global.u32 %r4, [%rd1];\nld.global.u32 %r5, [total];\nmad.lo.u32 %r4, %r5, 1000, %r4;\n"
                 "st.global.u32 [%rd1], %r4;\nret;\n}\n";

enum { SUMS = 256, SUM_BLOCKS = SUMS / 32 };

/* The second launch in slices of so many thread blocks. */
static void run_with_variables(struct runtime *runtime, const struct workload_commands *commands, uint32_t size)
{
    struct runtime_event event = {.kind = RUNTIME_NONE};
    uint32_t job, workload = workload_in(runtime, commands);
    assert_int_equal(runtime_submit(runtime, workload, &job), CORUN_OK);
    while (event.kind != RUNTIME_ENDED) {
        assert_int_equal(runtime_wait(runtime, UINT64_MAX, NULL, &event), CORUN_OK);
        assert_true(event.kind != RUNTIME_FAILED && event.kind != RUNTIME_NONE);
        if (event.kind == RUNTIME_READY && !event.launch)
            assert_int_equal(runtime_crew(runtime, &(struct runtime_crew){.job = job}), CORUN_OK);
        for (uint32_t i = 0; event.kind == RUNTIME_READY && event.launch && i < SUM_BLOCKS; i += size)
            assert_int_equal(runtime_slice(runtime, job, i, size, 0), CORUN_OK);
        if (event.kind == RUNTIME_CREW_ENDED)
            assert_int_equal(runtime_complete(runtime, job, 0), CORUN_OK);
    }
    assert_results(runtime, job, commands);
    runtime_release(runtime, job);
}

/* Each module has its own variables: a launch that goes whole, in front of one that does not, uses the same. */
static void whole_launches_share_variables(void **state)
{
    uint32_t *values = aligned_alloc(4096, 8192), *final = values + 1024;
    struct command_argument out = {.bytes = 8, .is_buffer = true};
    struct command_buffer buffer = {.name = "sums",
                                    .symbol = "sums",
                                    .bytes = SUMS * sizeof *values,
                                    .initial = values,
                                    .final = final,
                                    .is_output = true};
    struct command launches[2];
    struct workload_commands commands = {.name = "variables",
                                         .ptx = variables_ptx,
                                         .ptx_bytes = sizeof variables_ptx - 1,
                                         .buffers = &buffer,
                                         .buffer_count = 1,
                                         .commands = launches,
                                         .command_count = 2,
                                         .launch_count = 2};
    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        launches[i] = (struct command){.kernel = i ? "tell" : "add",
                                       .grid = {SUM_BLOCKS, 1, 1},
                                       .block = {32, 1, 1},
                                       .argument_count = 1,
                                       .arguments = &out};
    for (uint32_t i = 0; i < SUMS; i++) {
        values[i] = 7 * i;
        final[i] = values[i] + 1 + 1000 * SUM_BLOCKS;
    }
    for (uint32_t ways = 0; ways < 4; ways++) {
        bool workers = ways & 1;
        struct runtime_options options = {.library = getenv("CORUN_TEST_DRIVER"), .workers = workers};
        struct runtime *runtime;
        struct runtime_launch about;
        launches[0].shared_bytes = ways & 2 ? 49152 : 0; /* workers have no room beside that */
        assert_int_equal(runtime_open(&options, NULL, &runtime), CORUN_OK);
        run_with_variables(runtime, &commands, workers ? SUM_BLOCKS : SUM_BLOCKS / 4);
        runtime_launch_at(runtime, 0, 0, &about);
        assert_int_equal(about.refusal != NULL, ways == 3);
        runtime_launch_at(runtime, 0, 1, &about);
        assert_null(about.refusal);
        runtime_close(runtime);
    }
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_sleeps),   cmocka_unit_test(tables_are_checked),
        cmocka_unit_test(one_crew_does_all),    cmocka_unit_test(seated_workers_ask_nobody),
        cmocka_unit_test(limits_and_growth),    cmocka_unit_test(everybody_leaves),
        cmocka_unit_test(whole_launches_ahead), cmocka_unit_test(whole_launches_share_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
