/* SPDX-License-Identifier: MIT */
/* Whole runs on the discrete-event machine, with speeds from tables; every time is worked out by hand in a comment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "queue/events.h"
#include "queue/run.h"

#include <string.h>

enum { A, B, KINDS };

static const struct corun_queue_device device = {
    .name = "by hand", .clock_khz = 1, .core_khz = 1, .sm_count = 2, .schedulers_per_sm = 1, .issue_rate = 1};

/* A launch of A: 30 thread blocks, 100 ticks alone; of B: 20 thread blocks, 50 ticks. */
static const struct queue_run_kind kinds[KINDS] = {
    [A] = {.name = "A",
           .profile = {.tbs = 30, .tbs_per_sm = 4, .tb_instructions = 10},
           .bytes_in = 100,
           .bytes_out = 50,
           .device_bytes = 150},
    [B] = {.name = "B", .profile = {.tbs = 20, .tbs_per_sm = 4, .tb_instructions = 10}}};

/* Side by side 2 thread blocks of A and 1 of B in 10 ticks, alone 3 of A or 2 of B. */
static enum corun_status table_speeds(void *user, const struct corun_queue_co_schedule *pair,
                                      struct corun_queue_speeds *speeds)
{
    static const uint64_t together[KINDS] = {2, 1}, alone[KINDS] = {3, 2};
    (void)user;
    *speeds = (struct corun_queue_speeds){.ticks = 10};
    bool two = pair->kinds[1] != CORUN_QUEUE_NONE;
    for (int i = 0; i <= two; i++)
        speeds->tbs[i] = (two ? together : alone)[pair->kinds[i]];
    return CORUN_OK;
}

/* Of three or more it is 85, whatever they are. */
static enum corun_status table_whole(void *user, const uint32_t *sequence, uint32_t count, uint64_t *ticks)
{
    static const uint64_t alone[KINDS] = {100, 50}, after[KINDS][KINDS] = {{95, 40}, {90, 45}};
    (void)user;
    *ticks = count == 1 ? alone[sequence[0]] : count == 2 ? after[sequence[0]][sequence[1]] : 85;
    return CORUN_OK;
}

/* The oldest launch of each kind, slices of 4 of A and 2 of B, two of them in flight, until one is exhausted. */
static enum corun_status pairs_plan(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    (void)state;
    for (uint32_t k = 0; k < view->kind_count; k++) {
        if (view->kinds[k].first == CORUN_QUEUE_NONE)
            continue;
        uint32_t slice = k == A ? 4 : 2;
        plan->grants[plan->grant_count++] = (struct corun_queue_grant){view->kinds[k].first, slice, 2 * slice};
    }
    plan->until = CORUN_QUEUE_EXHAUSTED | CORUN_QUEUE_NEW_KIND;
    return CORUN_OK;
}

static const struct corun_queue_scheduler pairs = {.version = CORUN_QUEUE_VERSION, .name = "pairs", .plan = pairs_plan};

static const struct event_speeds tables = {.co_schedule = table_speeds, .whole = table_whole, .most_before = 1};

static struct queue_run_result *run_request(struct queue_run_request request, const struct event_speeds *speeds)
{
    struct event_machine *machine = event_machine_create(speeds, NULL);
    struct queue_run_result *result;
    request.machine = event_machine_operations(machine);
    request.kind_count = KINDS;
    assert_int_equal(queue_run(&request, NULL, &result), CORUN_OK);
    event_machine_destroy(machine);
    return result;
}

static struct queue_run_result *run_with(const struct corun_queue_scheduler *scheduler,
                                         const struct queue_submission *submissions, size_t count,
                                         struct queue_transfers transfers, uint64_t launch_ticks)
{
    struct event_speeds speeds = tables;
    speeds.launch_ticks = launch_ticks;
    const struct queue_run_request request = {.device = &device,
                                              .scheduler = scheduler,
                                              .kinds = kinds,
                                              .submissions = submissions,
                                              .submission_count = count,
                                              .transfers = transfers};
    return run_request(request, &speeds);
}

/* A 0 to 100, B 105 to 155 (5 ticks to launch it), A 160 to 260. */
static void test_sequential(void **unused)
{
    (void)unused;
    const struct queue_submission submissions[] = {{0, A, 0}, {10, B, 1}, {20, A, 0}};
    struct queue_run_result *result =
        run_with(corun_queue_scheduler_find("sequential"), submissions, 3, (struct queue_transfers){0}, 5);
    assert_int_equal(result->makespan_ticks, 260);
    assert_int_equal(result->kinds[A].launches, 2);
    assert_true(result->kinds[A].mean_response_ticks == 170); /* 100 and 240 */
    assert_int_equal(result->kinds[A].p99_response_ticks, 240);
    assert_true(result->kinds[B].mean_response_ticks == 145);
    assert_true(result->kinds[B].mean_wait_ticks == 90); /* handed out when A has ended */
    assert_int_equal(result->busy_ticks, 260);
    assert_int_equal(result->kinds[A].beside[KINDS], 0);
    assert_true(result->warp_instructions == 10.0 * (30 + 20 + 30));
    queue_run_result_destroy(result);
}

/* Streams: A ends at 100; B, which was launched beside it, 40 later; A 90 after that. Then nothing, then B alone. */
static void test_base(void **unused)
{
    (void)unused;
    const struct queue_submission submissions[] = {{0, A, 0}, {10, B, 0}, {20, A, 0}, {300, B, 0}};
    struct queue_run_result *result =
        run_with(corun_queue_scheduler_find("base"), submissions, 4, (struct queue_transfers){0}, 5);
    assert_int_equal(result->kinds[A].p99_response_ticks, 210);
    assert_int_equal(result->makespan_ticks, 300 + 5 + 50);
    assert_int_equal(result->busy_ticks, 230 + 55);
    queue_run_result_destroy(result);
}

/*
 * Launches in streams are looked at together with those that were in flight before them, up to `most_before`: A ends at 100, B at 140, then A 90
 * behind B only, or 85 behind both. Where B fills the GPU 32 times over (256 thread blocks, 8 at a time), what was before B makes no difference.
 */
static void test_sequences(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t most_before, tbs;
        uint64_t end;
    } rows[] = {{1, 20, 230}, {2, 20, 225}, {100, 20, 225}, {100, 255, 225}, {100, 256, 230}};
    const struct queue_submission submissions[] = {{0, A, 0}, {10, B, 0}, {20, A, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct queue_run_kind row[KINDS] = {kinds[A], kinds[B]};
        struct event_speeds speeds = tables;
        row[B].profile.tbs = rows[i].tbs;
        speeds.most_before = rows[i].most_before;
        const struct queue_run_request request = {.device = &device,
                                                  .scheduler = corun_queue_scheduler_find("base"),
                                                  .kinds = row,
                                                  .submissions = submissions,
                                                  .submission_count = 3};
        struct queue_run_result *result = run_request(request, &speeds);
        assert_int_equal(result->makespan_ticks, rows[i].end);
        queue_run_result_destroy(result);
    }
}

/*
 * Side by side 8 thread blocks of A and 4 of B are in flight, and so a thread block of either lives 40 ticks. At 120 A's last slices, 7 and 8
 * (2 thread blocks), are handed out, and they end at 160. B, alone in the plan from 120 on, still has 8 thread blocks to begin: 4 in flight live
 * 20 ticks, two generations, 160.
 */
static void test_pair(void **unused)
{
    (void)unused;
    const struct queue_submission submissions[] = {{0, A, 0}, {0, B, 0}};
    struct queue_run_result *result = run_with(&pairs, submissions, 2, (struct queue_transfers){0}, 0);
    assert_true(result->kinds[A].mean_response_ticks == 160);
    assert_true(result->kinds[B].mean_response_ticks == 160);
    assert_int_equal(result->kinds[A].slices, 8);
    assert_int_equal(result->kinds[B].slices, 10);
    assert_int_equal(result->kinds[A].beside[B], 120);
    assert_int_equal(result->kinds[B].beside[A], 120);
    assert_int_equal(result->kinds[B].beside[KINDS], 40);
    queue_run_result_destroy(result);
}

/* The oldest launch alone, in the slices of pairs_plan, until it is exhausted. */
static enum corun_status oldest_plan(void *state, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    (void)state;
    uint32_t slice = view->launches[view->first].kind == A ? 4 : 2;
    plan->grants[plan->grant_count++] = (struct corun_queue_grant){view->first, slice, 2 * slice};
    plan->until = CORUN_QUEUE_EXHAUSTED;
    return CORUN_OK;
}

static const struct corun_queue_scheduler oldest = {
    .version = CORUN_QUEUE_VERSION, .name = "oldest", .plan = oldest_plan};

/*
 * What is left of a plan takes room. The GPU holds 8 thread blocks. Alone, 8 of A live 26 2/3 ticks, that is 27 by whole ticks: A's slices begin
 * two by two at 0, 27, 54 and 81, the last one with 2 thread blocks, and end at 108. From 81 on there is room for 2 of B, which live 20 ticks:
 * slice 1 81 to 101, slice 2 101 to 121. Slice 3, handed out at 101, finds room when A ends: 108 to 128. Then they take turns: 121 to
 * 141, 128 to 148, …, slice 9 to 188, slice 10 181 to 201. Without room to share, B would end at 181.
 */
static void test_room(void **unused)
{
    (void)unused;
    static const uint32_t places[] = {4, 0};
    static const uint64_t ends[] = {201, 181};
    const struct queue_submission submissions[] = {{0, A, 0}, {0, B, 0}};
    for (int i = 0; i < 2; i++) {
        struct corun_queue_device full = device;
        full.tbs_per_sm = places[i];
        const struct queue_run_request request = {
            .device = &full, .scheduler = &oldest, .kinds = kinds, .submissions = submissions, .submission_count = 2};
        struct queue_run_result *result = run_request(request, &tables);
        assert_true(result->kinds[A].mean_response_ticks == 108);
        assert_int_equal(result->makespan_ticks, ends[i]);
        queue_run_result_destroy(result);
    }
}

/*
 * Small launches wait in thousands: 2 thread blocks each, fewer than a slice, so all are handed out at once. In the steady state two
 * launches are in flight, 4 thread blocks of which 3 complete in 10 ticks: a thread block lives 14 whole ticks. The GPU holds 8, so four
 * launches end every 14 ticks, in the order in which they came. What begins next is found by looking at both kinds, what ends next in a heap of
 * at most 4: the cost of a launch does not depend on how many wait.
 */
static void test_thousands(void **unused)
{
    (void)unused;
    enum { MOST = 10000, STEPS_PER_LAUNCH = 16 };
    static struct queue_submission submissions[MOST];
    struct queue_run_kind rows[KINDS] = {kinds[A], kinds[B]};
    rows[A].profile.tbs = 2;
    for (size_t count = 100; count <= MOST; count *= 10) {
        struct event_machine *machine = event_machine_create(&tables, NULL);
        const struct queue_run_request request = {.device = &device,
                                                  .scheduler = &oldest,
                                                  .machine = event_machine_operations(machine),
                                                  .kinds = rows,
                                                  .kind_count = KINDS,
                                                  .submissions = submissions,
                                                  .submission_count = count};
        struct queue_run_result *result;
        assert_int_equal(queue_run(&request, NULL, &result), CORUN_OK);
        const uint64_t rounds = count / 4; /* of four launches each */
        assert_int_equal(result->makespan_ticks, rounds * 14);
        assert_true(result->kinds[A].mean_response_ticks == 7.0 * (double)(rounds + 1));
        assert_int_equal(result->costs.slices, count);
        assert_in_range(event_machine_steps(machine), count, STEPS_PER_LAUNCH * count);
        queue_run_result_destroy(result);
        event_machine_destroy(machine);
    }
}

static const struct queue_transfers both = {.every_launch = true,
                                            .overlap = true,
                                            .engines = 2,
                                            .latency_ticks = 10,
                                            .bytes_per_second = 1000,
                                            .memory_bytes = 1000};
static const struct queue_submission two[] = {{0, A, 0}, {0, A, 0}};

/* In: 0 to 110, 110 to 220. Kernels: 110 to 210, 220 to 320. Back: 210 to 270, 320 to 380. */
static void test_overlap(void **unused)
{
    (void)unused;
    struct queue_run_result *result = run_with(corun_queue_scheduler_find("sequential"), two, 2, both, 0);
    assert_int_equal(result->makespan_ticks, 380);
    assert_int_equal(result->copy_ticks, 270 + 60);
    assert_int_equal(result->overlapped_copy_ticks, 100 + 50);
    assert_int_equal(result->bytes_in, 200);
    assert_int_equal(result->bytes_out, 100);
    queue_run_result_destroy(result);
}

/* One engine: the results of the first launch wait for nobody; the second input would have had its turn at 110. */
static void test_one_engine(void **unused)
{
    (void)unused;
    struct queue_transfers one = both;
    one.engines = 1;
    /* In 0 to 110, 110 to 220; kernel 110 to 210; back 220 to 280; kernel 220 to 320; back 320 to 380. */
    struct queue_run_result *result = run_with(corun_queue_scheduler_find("sequential"), two, 2, one, 0);
    assert_int_equal(result->makespan_ticks, 380);
    assert_int_equal(result->copy_ticks, 280 + 60);
    queue_run_result_destroy(result);
}

/* Copies and kernels take turns: all inputs that fit (0 to 220), 220 to 320, back to 380, kernel to 480, back to 540. */
static void test_apart(void **unused)
{
    (void)unused;
    struct queue_transfers apart = both;
    apart.overlap = false;
    struct queue_run_result *result = run_with(corun_queue_scheduler_find("sequential"), two, 2, apart, 0);
    assert_int_equal(result->makespan_ticks, 540);
    assert_int_equal(result->overlapped_copy_ticks, 0);
    assert_int_equal(result->copy_ticks, 340);
    queue_run_result_destroy(result);
}

/* Room for one: the second input waits until the first launch has given its memory back. 110 + 100 + 60, twice. */
static void test_memory(void **unused)
{
    (void)unused;
    struct queue_transfers small = both;
    small.memory_bytes = 200;
    struct queue_run_result *result = run_with(corun_queue_scheduler_find("sequential"), two, 2, small, 0);
    assert_int_equal(result->makespan_ticks, 540);
    queue_run_result_destroy(result);
    small.memory_bytes = 149;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct queue_run_request request = {.device = &device,
                                        .scheduler = corun_queue_scheduler_find("base"),
                                        .kinds = kinds,
                                        .kind_count = KINDS,
                                        .submissions = two,
                                        .submission_count = 2,
                                        .transfers = small};
    assert_int_equal(queue_run(&request, list, &result), CORUN_ARGUMENT);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "A needs 150 bytes"));
    corun_diagnostics_destroy(list);
}

/*
 * Kinds take turns for memory: three launches of A came before one of B, there is room for three, and B's data come second. In: A 0 to
 * 110, B to 220, A to 330. Kernels: A 110 to 210, B 220 to 270, A 330 to 430. Back: A to 270, B to 330. The last A takes what the first one
 * gave back: in 330 to 440, kernel to 540, back to 600.
 */
static void test_turns(void **unused)
{
    (void)unused;
    static const struct queue_submission four[] = {{0, A, 0}, {0, A, 0}, {0, A, 0}, {0, B, 0}};
    struct queue_run_kind rows[KINDS] = {kinds[A], kinds[B]};
    rows[B].bytes_in = 100;
    rows[B].bytes_out = 50;
    rows[B].device_bytes = 150;
    struct queue_transfers transfers = both;
    transfers.memory_bytes = 450;
    const struct queue_run_request request = {.device = &device,
                                              .scheduler = corun_queue_scheduler_find("sequential"),
                                              .kinds = rows,
                                              .submissions = four,
                                              .submission_count = 4,
                                              .transfers = transfers};
    struct queue_run_result *result = run_request(request, &tables);
    assert_true(result->kinds[B].mean_response_ticks == 270 + 60); /* 110 + 110 + 50, and back; last, it would be 600 */
    assert_int_equal(result->makespan_ticks, 600);
    queue_run_result_destroy(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequential), cmocka_unit_test(test_base),      cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_pair),       cmocka_unit_test(test_room),      cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_one_engine), cmocka_unit_test(test_apart),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_turns),      cmocka_unit_test(test_thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
