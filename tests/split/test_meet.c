/* SPDX-License-Identifier: MIT */
/* What meet gives out, asked with views that were written by hand. */
#include "corun/split.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct corun_split_parameters defaults = {
#define P(name, value, least, most, meaning) .name = value,
#include "corun/split_parameters.def"
#undef P
};

/* Of a GPU of which nothing is known: `full` iterations occupy it, `piece` of them move copy_bytes. */
static uint64_t first_part_of_meet(uint64_t full, uint64_t piece)
{
    struct corun_split_view view = {
        .iterations = 1000, .left = 1000, .granularity = 1, .device_count = 2, .parameters = &defaults};
    struct corun_split_decision decision = {0};
    view.usable[0] = view.usable[1] = view.may_race = true;
    view.most[0] = 1;
    view.most[1] = 8;
    view.full[1] = full;
    view.piece[1] = piece;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

/* Parts of other sizes may leave a small rest that begins when they end. */
static void meet_gives_a_small_task_whole(void **state)
{
    (void)state;
    assert_int_equal(first_part_of_meet(1000, 0), 1000);
    assert_int_equal(first_part_of_meet(1000, 300), 250); /* equal pieces, no small last one */
    assert_int_equal(first_part_of_meet(500, 0), 250);    /* two waves of thread blocks are all, in quarters */
    assert_int_equal(first_part_of_meet(400, 0),
                     200); /* two waves, in pieces of a quarter; the rest when one has ended */
    assert_int_equal(first_part_of_meet(50, 0), 31); /* an eighth of the task, the same way */
}

/* What a GPU gets of 1000 iterations before one of its parts has ended, if parts read bytes or not. 50 occupy it. */
static uint64_t opening_of_meet(bool reads, double handing)
{
    struct corun_split_step step = {.iterations = 125};
    struct corun_split_view view = {.iterations = 1000,
                                    .left = 875,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .step_count = 1,
                                    .steps = &step,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    step.part[1] = (struct corun_split_part){.begin = 875, .end = 1000, .fed = true, .busy = true};
    view.usable[0] = view.usable[1] = view.may_race = view.busy[1] = true;
    view.most[0] = view.queued[1] = 1;
    view.most[1] = 8;
    view.full[1] = 50;
    view.reads = reads;
    view.handing[1] = handing;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

/* An eighth of the task is all. The line to the GPU would be idle until a part has ended. */
static void meet_opens_with_more_where_parts_read(void **state)
{
    (void)state;
    assert_int_equal(opening_of_meet(false, 0), 0);
    assert_in_range(opening_of_meet(true, 0), 1, 125);
    assert_int_equal(opening_of_meet(true, 1e-5), 0);
}

/* A GPU has ended 100 of 100000 iterations in 1 ms, and the CPU as many; nothing is under way there. */
static uint64_t further_part_of_meet(double handing)
{
    struct corun_split_step step = {.iterations = 100000, .end = 1e-3};
    struct corun_split_view view = {.iterations = 100000,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 1e-3,
                                    .step_count = 1,
                                    .steps = &step,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    step.part[0] = (struct corun_split_part){.end = 99900, .done = 100, .seconds = 1e-3, .busy = true};
    step.part[1] = (struct corun_split_part){
        .begin = 99900, .end = 100000, .done = 100, .seconds = 1e-3, .fed = true, .ended = 1e-3};
    view.usable[0] = view.usable[1] = view.may_race = view.busy[0] = true;
    view.queued[0] = view.most[0] = 1;
    view.most[1] = 8;
    view.full[1] = 4;
    view.handing[1] = handing;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

/* A piece is as long as `chunk_us`, 25 us, or 20 times what the host needs to enqueue one; at most half of the balance, and a 256th of it at least. */
static void meet_gives_no_pieces_that_the_host_is_late_with(void **state)
{
    (void)state;
    assert_in_range(further_part_of_meet(0), 194, 196);
    assert_in_range(further_part_of_meet(100e-6), 199, 200);
    assert_in_range(further_part_of_meet(10e-3), 19000, 20001);
}

/*
 * The first 100 of 1000 iterations have taken a GPU 1 ms. The CPU has no granule that counts: it has given its only one up. All that is open is for the
 * GPU, and in one piece its bytes would not move beside its thread blocks.
 */
static void meet_gives_what_is_left_in_pieces(void **state)
{
    (void)state;
    struct corun_split_step step = {.iterations = 1000, .end = 1e-3};
    struct corun_split_view view = {.iterations = 1000,
                                    .left = 900,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 1e-3,
                                    .step_count = 1,
                                    .steps = &step,
                                    .parameters = &defaults};
    step.part[0] = (struct corun_split_part){.seconds = 1e-3, .ended = 1e-3};
    step.part[1] =
        (struct corun_split_part){.begin = 900, .end = 1000, .done = 100, .seconds = 1e-3, .fed = true, .ended = 1e-3};
    view.usable[0] = view.usable[1] = view.may_race = true;
    view.most[0] = 1;
    view.most[1] = 8;
    for (uint64_t piece = 0; piece <= 400; piece += 400) {
        struct corun_split_decision decision = {0};
        view.piece[1] = piece;
        corun_split_strategy_find("meet")(&view, &decision);
        assert_int_equal(decision.parts[1], piece ? 299 : 899); /* of 899: the CPU may have begun one */
    }
}

/* One part after the other has been moved longer than it was computed; that moves copy_bytes are 3000. The CPU is slow. */
static uint64_t part_beside_copies(double copied)
{
    struct corun_split_step steps[] = {{.iterations = 100000, .end = 1e-4}, {.iterations = 500, .end = 2e-4}};
    struct corun_split_view view = {.iterations = 100000,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 2e-4,
                                    .step_count = 2,
                                    .steps = steps,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    steps[0].part[0] = (struct corun_split_part){.end = 99000, .done = 10, .seconds = 2e-4, .busy = true};
    for (int i = 0; i < 2; i++)
        steps[i].part[1] = (struct corun_split_part){.begin = 99500 - 500u * (unsigned)i,
                                                     .end = 100000 - 500u * (unsigned)i,
                                                     .done = 500,
                                                     .seconds = 1e-4,
                                                     .copy_seconds = copied * 1e-4,
                                                     .fed = true,
                                                     .ended = (i + 1) * 1e-4};
    view.usable[0] = view.usable[1] = view.may_race = view.busy[0] = true;
    view.queued[0] = view.most[0] = 1;
    view.most[1] = 8;
    view.full[1] = 100;
    view.piece[1] = 3000;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

/* Each part has copies of its own, and each copy a latency. */
static void meet_gives_no_pieces_that_are_but_moved(void **state)
{
    (void)state;
    assert_in_range(part_beside_copies(0.1), 50, 500);
    assert_int_equal(part_beside_copies(0.9), 3000);
}

/* The GPU's share of earlier runs. Half of copy_bytes are `again` iterations. Of the share, the GPU lacks the `kept` bytes of `lacks` iterations, 1 us each. */
static uint64_t learned_part_without(uint64_t again, double handing, double returning, double lacks)
{
    static const double learned[2] = {0.2, 0.8};
    struct corun_split_view view = {.iterations = 1000,
                                    .left = 1000,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .threads = 1,
                                    .learned = learned,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    view.usable[0] = view.usable[1] = view.may_race = true;
    view.most[0] = 1;
    view.most[1] = 8;
    view.again[1] = again;
    view.handing[1] = handing;
    view.expected[1] = 1e-3;
    view.returning[1] = returning;
    view.latency[1] = returning > 0 ? 10e-6 : 0;
    view.keeps = lacks > 0;
    view.lacks[1] = lacks;
    view.moving[1] = 1e-6;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

static uint64_t learned_part_of_meet(uint64_t again, double handing, double returning)
{
    return learned_part_without(again, handing, returning, 0);
}

/* Results of the first piece go back while others are computed. */
static void meet_gives_what_was_learned_in_pieces_worth_a_copy(void **state)
{
    (void)state;
    assert_int_equal(learned_part_of_meet(0, 0, 0), 800);    /* not known */
    assert_int_equal(learned_part_of_meet(1000, 0, 0), 800); /* nothing to move */
    assert_int_equal(learned_part_of_meet(200, 0, 0), 200);
    assert_int_equal(learned_part_of_meet(1, 0, 0), 100);             /* as many as may be under way */
    assert_int_equal(learned_part_of_meet(1, 20e-6, 0), 400);         /* 20 times what the host needs to enqueue one */
    assert_int_equal(learned_part_of_meet(1, 0, 1e-9), 800);          /* results are back within a copy's latency */
    assert_int_equal(learned_part_of_meet(1, 0, 250e-9), 200);        /* 200 us beside 1 ms, a copy takes 10 */
    assert_int_equal(learned_part_of_meet(1, 0, 1e-3), 100);          /* 1 ms beside 800 */
    assert_in_range(learned_part_without(1, 0, 400e-9, 0), 159, 160); /* 320 us beside 1 ms */
    assert_in_range(learned_part_without(1, 0, 2e-6, 100), 100, 101); /* 1.6 ms beside 1 */
}

/* Two granules are open, one of which a thread of the CPU has begun. That takes the CPU 3 ms or more, and the GPU 50 us. */
static void meet_gives_a_granule_to_the_faster_side(void **state)
{
    struct corun_split_step step = {.iterations = 64, .end = 50e-6};
    struct corun_split_view view = {.iterations = 64,
                                    .granularity = 16,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 6e-3,
                                    .step_count = 1,
                                    .steps = &step,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    (void)state;
    step.part[0] = (struct corun_split_part){.end = 48, .done = 16, .seconds = 6e-3, .busy = true};
    step.part[1] =
        (struct corun_split_part){.begin = 48, .end = 64, .done = 16, .seconds = 50e-6, .fed = true, .ended = 50e-6};
    view.usable[0] = view.usable[1] = view.may_race = view.busy[0] = true;
    view.queued[0] = view.most[0] = 1;
    view.most[1] = 8;
    view.full[1] = 16;
    corun_split_strategy_find("meet")(&view, &decision);
    assert_int_equal(decision.parts[1], 16);
}

/*
 * A GPU computes a piece as large as what occupies it, a second one has ended at 1 ms. When the first thread blocks of the piece end, others
 * should be there. The CPU ends its granule of 1000 when the GPU has all but done everything, or long before.
 */
static uint64_t given_beside_one_piece(double cpu_each)
{
    struct corun_split_step steps[] = {{.iterations = 20000, .end = 1e-3}, {.iterations = 10000}};
    struct corun_split_view view = {.iterations = 200000,
                                    .granularity = 1000,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 1e-3,
                                    .step_count = 2,
                                    .steps = steps,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    double done = fmax(1000, floor(1e-3 / cpu_each / 1000) * 1000);
    steps[0].part[0] =
        (struct corun_split_part){.end = 180000, .done = (uint64_t)done, .seconds = done * cpu_each, .busy = true};
    steps[0].part[1] = (struct corun_split_part){
        .begin = 190000, .end = 200000, .done = 10000, .seconds = 1e-3, .fed = true, .ended = 1e-3};
    steps[1].part[1] = (struct corun_split_part){.begin = 180000, .end = 190000, .busy = true, .fed = true};
    view.usable[0] = view.usable[1] = view.may_race = view.busy[0] = view.busy[1] = true;
    view.queued[0] = view.most[0] = view.queued[1] = 1;
    view.most[1] = 8;
    view.full[1] = 10000;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

static void meet_keeps_two_pieces_under_way(void **state)
{
    (void)state;
    assert_in_range(given_beside_one_piece(1e-6), 1000, 20000);
}

/*
 * Parts of 500 iterations take a GPU 200 us each, `copied` of which are copies, and end each 50 us; four of them are under way, which is two waves. There is much left, and
 * the CPU is slow. copy_bytes are 3000 iterations.
 */
static uint64_t given_beside_two_waves(double copied, uint32_t under_way, double handing, bool keeps)
{
    enum { STEPS = 12 };
    struct corun_split_step steps[STEPS] = {0};
    struct corun_split_view view = {.iterations = 100000,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 550e-6,
                                    .step_count = STEPS,
                                    .steps = steps,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    for (unsigned i = 0; i < STEPS; i++) {
        bool busy = i >= STEPS - 4;
        steps[i].iterations = 500;
        steps[i].start = i < 4 ? 0 : (i - 3) * 50e-6;
        steps[i].part[1] = (struct corun_split_part){.begin = 99500 - 500u * i,
                                                     .end = 100000 - 500u * i,
                                                     .done = busy ? 0 : 500,
                                                     .seconds = busy ? 0 : 200e-6,
                                                     .copy_seconds = busy ? 0 : copied,
                                                     .fed = true,
                                                     .busy = busy,
                                                     .ended = busy ? 0 : 200e-6 + i * 50e-6};
    }
    for (uint32_t i = under_way; i < 4; i++) /* the CPU has done it */
        steps[STEPS - 1 - i].part[1] = (struct corun_split_part){0};
    steps[0].part[0] = (struct corun_split_part){.end = 94000, .done = 50, .seconds = 550e-6, .busy = true};
    view.usable[0] = view.usable[1] = view.may_race = view.busy[0] = view.busy[1] = true;
    view.queued[0] = view.most[0] = 1;
    view.queued[1] = under_way;
    view.most[1] = 8;
    view.full[1] = 1000;
    view.piece[1] = 3000;
    view.handing[1] = handing;
    view.keeps = keeps;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.parts[1];
}

/* Thread blocks may differ, and one that takes longer keeps the room of all its part: two waves need not occupy a GPU. */
static void meet_fills_a_gpu_while_much_is_left(void **state)
{
    (void)state;
    assert_in_range(given_beside_two_waves(10e-6, 4, 0, false), 500, 1000);
    assert_int_equal(given_beside_two_waves(150e-6, 4, 0, false), 0); /* mostly moved: the line is at work */
    assert_int_equal(given_beside_two_waves(10e-6, 4, 0, true),
                     0); /* `kept` bytes: they would be in the way of what is fetched */
    assert_int_equal(given_beside_two_waves(10e-6, 4, 1e-6, false), 0);
}

/* Of each part a quarter is a copy, but a part ends each 50 us, of which the line is at work for 50: half of that may be latency. */
static void meet_makes_pieces_larger_where_the_line_is_busy(void **state)
{
    (void)state;
    assert_in_range(given_beside_two_waves(10e-6, 1, 0, false), 500, 600);
    assert_int_equal(given_beside_two_waves(50e-6, 1, 0, false), 1000);
}

/* 179 granules are open and not begun. The GPU does everything in 19 ms; the CPU's next granule would take 20. */
static void meet_leaves_everything_to_a_gpu_that_is_sooner(void **state)
{
    (void)state;
    assert_in_range(given_beside_one_piece(20e-6), 178000, 179000);
}

/* A thread block takes 32 iterations, and a granule has 16: what is given in half blocks takes the GPU as long. */
static void meet_gives_whole_thread_blocks(void **state)
{
    struct corun_split_view view = {
        .iterations = 4096, .left = 4096, .granularity = 16, .block = 32, .device_count = 2, .parameters = &defaults};
    struct corun_split_decision decision = {0};
    (void)state;
    view.usable[0] = view.usable[1] = view.may_race = true;
    view.most[0] = 1;
    view.most[1] = 8;
    view.full[1] = (4096 * 3 / 4 + 64) / 2; /* two waves in pieces of a quarter: 784, of 49 granules */
    corun_split_strategy_find("meet")(&view, &decision);
    assert_int_equal(decision.parts[1], 768);
    view.block = 24; /* no block of whole granules */
    corun_split_strategy_find("meet")(&view, &decision);
    assert_int_equal(decision.parts[1], 784);
}

/*
 * A GPU has under way all that the CPU has not begun, and is ready at 1.01 ms. The CPU's granule ends at 2 ms, or at 1.005; or none of
 * it has ended yet.
 */
static uint32_t relief_of_meet(double cpu_seconds, uint64_t done, bool may_race)
{
    struct corun_split_step steps[] = {{.iterations = 2000, .end = 1e-3}, {.iterations = 100}};
    struct corun_split_view view = {.iterations = 2100,
                                    .granularity = 100,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 1e-3,
                                    .step_count = 2,
                                    .steps = steps,
                                    .may_race = may_race,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    steps[0].part[0] = (struct corun_split_part){.end = 100, .done = done, .seconds = cpu_seconds, .busy = true};
    steps[0].part[1] =
        (struct corun_split_part){.begin = 200, .end = 2100, .done = 1900, .seconds = 1e-3, .fed = true, .ended = 1e-3};
    steps[1].part[1] = (struct corun_split_part){.begin = 100, .end = 200, .busy = true, .fed = true};
    view.usable[0] = view.usable[1] = view.busy[0] = view.busy[1] = true;
    view.queued[0] = view.most[0] = view.queued[1] = 1;
    view.most[1] = 8;
    view.full[1] = 100;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision.relief;
}

static void meet_relieves_a_cpu_that_is_late(void **state)
{
    (void)state;
    assert_int_equal(relief_of_meet(3e-3, 100, true), 1); /* later than another part of the GPU */
    assert_int_equal(relief_of_meet(1.005e-3, 100, true), 0);
    assert_int_equal(relief_of_meet(1e-3, 0, true), 1); /* nobody knows when */
    assert_int_equal(relief_of_meet(3e-3, 100, false), 0);
}

/*
 * The CPU computes what a GPU has as well, and its granule ends long after the GPU, at 1.5 ms at the earliest. Its function asks every 0.2 ms: the CPU is told in time for
 * its last question before that.
 */
static struct corun_split_decision race_with_questions(double now, double asks)
{
    struct corun_split_step steps[] = {{.iterations = 1000, .end = 1e-3}, {.iterations = 1000}, {0}};
    struct corun_split_view view = {.iterations = 2000,
                                    .granularity = 1000,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = now,
                                    .asks = asks,
                                    .step_count = 3,
                                    .steps = steps,
                                    .may_race = true,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    steps[0].part[1] =
        (struct corun_split_part){.begin = 1000, .end = 2000, .done = 1000, .seconds = 1e-3, .ended = 1e-3};
    steps[1].part[1] = (struct corun_split_part){.end = 1000, .seconds = now, .busy = true};
    steps[2].part[0] = (struct corun_split_part){.end = 1000, .seconds = now, .busy = true};
    view.usable[0] = view.usable[1] = view.busy[0] = view.busy[1] = true;
    view.queued[0] = view.most[0] = view.queued[1] = 1;
    view.most[1] = 8;
    view.full[1] = 2000;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision;
}

static void meet_gives_up_what_would_be_late(void **state)
{
    (void)state;
    struct corun_split_decision before = race_with_questions(1e-3, 0.2e-3);
    assert_false(before.give_up);
    assert_true(fabs(before.wake - 1.3e-3) < 1e-9);
    struct corun_split_decision then = race_with_questions(1.3e-3, 0.2e-3);
    assert_true(then.give_up);
    assert_int_equal(then.recall, 1);
    assert_false(race_with_questions(1.3e-3, 0).give_up); /* a function that does not ask */
}

/*
 * mc on a V100 at 9.47 us: three of four parts that ran at once have ended, and two more are under way. By their rate the GPU ends at 29 us; if the fourth is about to
 * end as well, before the CPU's seventh granule, at 24.0.
 */
static void meet_leaves_the_cpu_no_granule_that_may_be_late(void **state)
{
    static const struct {
        double start, seconds;
        uint64_t begin, end;
    } given[] = {{0, 8.81e-6, 884736, 1048576}, {0, 9.03e-6, 720896, 884736}, {0, 9.47e-6, 557056, 720896},
                 {0, 0, 393216, 557056},        {8.81e-6, 0, 205824, 393216}, {9.03e-6, 0, 9216, 205824}};
    struct corun_split_step steps[6] = {0};
    struct corun_split_view view = {.iterations = 1048576,
                                    .granularity = 1024,
                                    .block = 1024,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 9.47e-6,
                                    .step_count = 6,
                                    .steps = steps,
                                    .may_race = true,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    (void)state;
    for (int i = 0; i < 6; i++) {
        bool busy = !(given[i].seconds > 0);
        uint64_t count = given[i].end - given[i].begin;
        steps[i] = (struct corun_split_step){.iterations = count, .start = given[i].start};
        steps[i].part[1] = (struct corun_split_part){.begin = given[i].begin,
                                                     .end = given[i].end,
                                                     .done = busy ? 0 : count,
                                                     .seconds = busy ? 9.47e-6 - given[i].start : given[i].seconds,
                                                     .busy = busy,
                                                     .fed = true,
                                                     .ended = busy ? 0 : given[i].start + given[i].seconds};
        steps[i].end = busy ? 0 : steps[i].start + given[i].seconds;
    }
    steps[0].part[0] = (struct corun_split_part){.end = 9216, .done = 3072, .seconds = 3072 * 3.35e-9, .busy = true};
    steps[0].iterations += 9216;
    view.usable[0] = view.usable[1] = view.busy[0] = view.busy[1] = true;
    view.queued[0] = view.most[0] = 1;
    view.queued[1] = 3;
    view.most[1] = 8;
    view.full[1] = 655360;
    view.delivery[1] = 8.69e-6;
    corun_split_strategy_find("meet")(&view, &decision);
    assert_int_equal(decision.parts[1], 4096);
}

/* A real GPU that has been given so much of 16000 iterations; none has ended yet. The CPU is idle. */
static struct corun_split_decision before_a_real_gpu_has_ended(uint64_t given, double usual)
{
    struct corun_split_step steps[] = {{.iterations = given}};
    struct corun_split_view view = {.iterations = 16000,
                                    .left = 16000 - given,
                                    .granularity = 1,
                                    .device_count = 2,
                                    .threads = 1,
                                    .now = 1e-3,
                                    .step_count = given > 0,
                                    .steps = steps,
                                    .usual = usual,
                                    .parameters = &defaults};
    struct corun_split_decision decision = {0};
    steps[0].part[1] = (struct corun_split_part){.begin = 16000 - given, .end = 16000, .busy = true, .fed = true};
    view.usable[0] = view.usable[1] = view.may_race = true;
    view.most[0] = 1;
    view.most[1] = 8;
    view.queued[1] = given > 0;
    view.busy[1] = given > 0;
    view.full[1] = 400;
    view.handing[1] = 1e-5;
    corun_split_strategy_find("meet")(&view, &decision);
    return decision;
}

/* The first two pieces, of an eighth together, are given before the CPU begins. */
static void meet_serves_a_real_gpu_first(void **state)
{
    (void)state;
    struct corun_split_decision first = before_a_real_gpu_has_ended(0, 0);
    assert_int_equal(first.parts[1], 666);
    assert_int_equal(first.parts[0], 0);
    assert_true(first.again && !first.race);
    struct corun_split_decision second = before_a_real_gpu_has_ended(666, 0);
    assert_int_equal(second.parts[1], 1334);
    assert_int_equal(second.parts[0], 0);
    struct corun_split_decision third = before_a_real_gpu_has_ended(2000, 0);
    assert_int_equal(third.parts[1], 0);
    assert_int_equal(third.parts[0], 14000);
}

/* What a real GPU has been given wholly the CPU begins when the GPU is later than in earlier runs. */
static void meet_trusts_a_real_gpu(void **state)
{
    (void)state;
    assert_true(before_a_real_gpu_has_ended(16000, 0).race);
    assert_true(before_a_real_gpu_has_ended(16000, 0).trial); /* nothing of the CPU is known either */
    assert_true(before_a_real_gpu_has_ended(16000, 4e-4).race);
    struct corun_split_decision decision = before_a_real_gpu_has_ended(16000, 1e-3);
    assert_false(decision.race);
    assert_true(decision.wake > 1.9e-3 && decision.wake < 2.1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meet_gives_a_small_task_whole),
        cmocka_unit_test(meet_opens_with_more_where_parts_read),
        cmocka_unit_test(meet_gives_no_pieces_that_the_host_is_late_with),
        cmocka_unit_test(meet_gives_no_pieces_that_are_but_moved),
        cmocka_unit_test(meet_gives_what_was_learned_in_pieces_worth_a_copy),
        cmocka_unit_test(meet_gives_a_granule_to_the_faster_side),
        cmocka_unit_test(meet_gives_what_is_left_in_pieces),
        cmocka_unit_test(meet_keeps_two_pieces_under_way),
        cmocka_unit_test(meet_fills_a_gpu_while_much_is_left),
        cmocka_unit_test(meet_makes_pieces_larger_where_the_line_is_busy),
        cmocka_unit_test(meet_leaves_everything_to_a_gpu_that_is_sooner),
        cmocka_unit_test(meet_gives_whole_thread_blocks),
        cmocka_unit_test(meet_relieves_a_cpu_that_is_late),
        cmocka_unit_test(meet_gives_up_what_would_be_late),
        cmocka_unit_test(meet_leaves_the_cpu_no_granule_that_may_be_late),
        cmocka_unit_test(meet_serves_a_real_gpu_first),
        cmocka_unit_test(meet_trusts_a_real_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
