/* SPDX-License-Identifier: MIT */
/* Who may launch on a GPU of hardware: boards are filled in by hand, and time is a number. */
#include "daemon/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)

/* As corund has it: a front, and the boards behind. */
static _Alignas(BOARD_BYTES) unsigned char pages[BOARD_FILE_BYTES];

static struct board_front *front(void)
{
    return (struct board_front *)(void *)pages;
}

static struct board *board(uint32_t number)
{
    return board_at(front(), number);
}

static struct gate with(const char *text)
{
    struct gate gate;
    struct gate_rules rules;
    assert_int_equal(gate_rules_read(text, &rules, NULL), CORUN_OK);
    memset(pages, 0, sizeof pages);
    gate_begin(&gate, &rules, front());
    return gate;
}

/* So many launches are under way, in two lanes. */
static void under_way(struct board *board, uint32_t count)
{
    atomic_store(&board->lanes[3].asked, atomic_load(&board->lanes[3].ended) + count / 2);
    atomic_store(&board->lanes[9].asked, atomic_load(&board->lanes[9].ended) + count - count / 2);
}

#define assert_gate(number, value) assert_int_equal(atomic_load(&board(number)->gate), BOARD_##value)

static void test_rules(void **unused)
{
    (void)unused;
    struct gate_rules rules;
    static const char *const bad[] = {"",
                                      "smqos",
                                      "priority:bound",
                                      "priority:bound=",
                                      "priority:x",
                                      "even:bound=3",
                                      "time-slice:quantum=0",
                                      "left-over:quantum=3",
                                      "evening",
                                      "even:quantum=-1",
                                      "priority:bound=1e3",
                                      "priority:bound=1000000000",
                                      "goal:quantum=1",
                                      "goal:window=0",
                                      "priority:window=9",
                                      "partition:bound=3",
                                      "partition:window=0"};
    assert_int_equal(gate_rules_read("priority:bound=500", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_PRIORITY && rules.bound_ns == 500 * US);
    assert_int_equal(gate_rules_read("even:quantum=999999999", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_EVEN && rules.quantum_ns == 999999999 * US);
    assert_int_equal(gate_rules_read("time-slice", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_TIME_SLICE && rules.quantum_ns == 2000 * US);
    assert_int_equal(gate_rules_read("goal:window=40,bound=70", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_GOAL && rules.window_ns == 40000 * US && rules.bound_ns == 70 * US);
    assert_int_equal(gate_rules_read("partition:window=30", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_PARTITION && rules.window_ns == 30000 * US);
    struct corun_diagnostics *list = corun_diagnostics_create();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gate_rules_read(bad[i], &rules, list), CORUN_ARGUMENT);
    assert_int_equal(corun_diagnostics_count(list), sizeof bad / sizeof *bad);
    assert_non_null(strstr(corun_diagnostics_get(list, 1)->message, "`smqos` is none of a GPU of hardware"));
    corun_diagnostics_destroy(list);
}

static void test_left_over(void **unused)
{
    (void)unused;
    struct gate gate = with("left-over");
    gate_enter(&gate, true);
    gate_enter(&gate, false);
    under_way(board(0), 4);
    assert_true(gate_look(&gate, 10) == GATE_NEVER);
    assert_gate(0, FREE);
    assert_gate(1, FREE);
    assert_true(atomic_load(&front()->first) == 0);
}

static void test_priority(void **unused)
{
    (void)unused;
    struct gate gate = with("priority:bound=300");
    const uint32_t train = gate_enter(&gate, false);
    under_way(board(train), 8);
    assert_true(gate_look(&gate, 10 * US) == GATE_NEVER); /* nobody is before it */
    assert_gate(train, FREE);
    const uint32_t server = gate_enter(&gate, true);
    assert_true(gate_look(&gate, 20 * US) == GATE_SAMPLE_NS);
    assert_gate(server, COUNTED);
    assert_gate(train, BOUNDED);
    assert_true(atomic_load(&board(train)->bound_ns) == 300 * US);
    assert_true(atomic_load(&front()->first) == UINT64_C(1) << server);
    assert_false(board_yields(front(), train));
    atomic_store(&board(server)->starting, 1); /* from the moment at which its launch begins */
    assert_true(board_yields(front(), train));
    assert_false(board_yields(front(), server)); /* not to itself */
    (void)gate_look(&gate, 30 * US);
    atomic_store(&board(server)->starting, 0);
    under_way(board(server), 3);
    assert_true(board_yields(front(), train));
    (void)gate_look(&gate, 40 * US);
    under_way(board(server), 0);
    assert_false(board_yields(front(), train));
    (void)gate_look(&gate, 90 * US);
    assert_true(gate.clients[server].busy_ns == 60 * US); /* from 30 to 90 */
    under_way(board(server), 1);
    gate_leave(&gate, server); /* in the middle of a launch */
    assert_true(gate_look(&gate, 110 * US) == GATE_NEVER);
    assert_gate(train, FREE);
    assert_false(board_yields(front(), train));
}

/* The number of launches has 32 bits. */
static void test_overflow(void **unused)
{
    (void)unused;
    struct board one = {.gate = BOARD_FREE};
    atomic_store(&one.lanes[0].asked, 2);
    atomic_store(&one.lanes[0].ended, UINT32_MAX - 1);
    assert_int_equal(board_under_way(&one), 4);
    atomic_store(&one.lanes[0].ended, 2);
    assert_false(board_is_busy(&one));
}

static void test_turns(void **unused)
{
    (void)unused;
    struct gate gate = with("time-slice:quantum=100");
    gate_enter(&gate, false);
    (void)gate_look(&gate, 1 * US);
    assert_gate(0, FREE); /* alone */
    gate_enter(&gate, false);
    gate_enter(&gate, true);
    under_way(board(0), 2);
    assert_true(gate_look(&gate, 2 * US) == GATE_NEVER); /* nobody else wants anything */
    assert_gate(0, BOUNDED);
    assert_gate(1, CLOSED);
    atomic_store(&board(2)->waiting, 1);
    assert_true(gate_look(&gate, 50 * US) == GATE_LOOK_NS);
    assert_gate(0, BOUNDED);
    (void)gate_look(&gate, 110 * US); /* its time is over, it has two launches under way */
    assert_gate(0, CLOSED);
    assert_gate(2, CLOSED);
    under_way(board(0), 0);
    atomic_store(&board(0)->waiting, 1);
    (void)gate_look(&gate, 130 * US);
    assert_gate(0, CLOSED);
    assert_gate(1, CLOSED); /* wants nothing */
    assert_gate(2, BOUNDED);
    atomic_store(&board(2)->waiting, 0);
    (void)gate_look(&gate,
                    140 * US); /* it has launched nothing, and wants nothing: the next one has its turn at once */
    assert_gate(0, BOUNDED);
    gate_leave(&gate, 0);
    atomic_store(&board(1)->waiting, 1);
    (void)gate_look(&gate, 150 * US);
    assert_gate(1, BOUNDED);
}

/* An endless kernel costs the others a second. */
static void test_late(void **unused)
{
    (void)unused;
    struct gate gate = with("time-slice:quantum=100");
    gate_enter(&gate, false);
    gate_enter(&gate, false);
    under_way(board(0), 1);
    (void)gate_look(&gate, 1 * US);
    atomic_store(&board(1)->waiting, 1);
    for (uint64_t time = 1001; time < 1000000; time += 1000) {
        (void)gate_look(&gate, time * US);
        assert_gate(0, CLOSED);
        assert_gate(1, CLOSED);
    }
    (void)gate_look(&gate, 1000101 * US);
    assert_gate(0, CLOSED);
    assert_gate(1, BOUNDED);
}

/* Whoever had more time has the later turn. */
static void test_even(void **unused)
{
    (void)unused;
    struct gate gate = with("even:quantum=100");
    for (int i = 0; i < 3; i++) {
        gate_enter(&gate, false);
        under_way(board(i), 1);
    }
    (void)gate_look(&gate, 1 * US);
    assert_gate(0, BOUNDED);
    (void)gate_look(&gate, 1001 * US); /* a launch that took ten times as long */
    under_way(board(0), 0);
    atomic_store(&board(0)->waiting, 1);
    for (uint64_t turn = 0, time = 1001; turn < 20; turn++) {
        uint32_t holder = turn % 2 ? 2 : 1;
        (void)gate_look(&gate, time * US);
        assert_gate(0, CLOSED);
        assert_gate(holder, BOUNDED);
        time += 100;
        (void)gate_look(&gate, time * US);
        assert_gate(holder, CLOSED);
        atomic_store(&board(holder)->waiting, 1);
        under_way(board(holder), 0);
    }
    (void)gate_look(&gate, 3001 * US); /* the others have had 1000 as well */
    assert_gate(0, BOUNDED);
}

static void test_places(void **unused)
{
    (void)unused;
    struct gate gate = with("priority");
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        assert_int_equal(gate_enter(&gate, false), i);
    assert_int_equal(gate_enter(&gate, true), GATE_MOST_CLIENTS);
    atomic_store(&board(7)->lanes[1].asked, 3);
    gate_leave(&gate, 7);
    assert_int_equal(gate_enter(&gate, true), 7);
    assert_false(board_is_busy(board(7))); /* it has nothing of the one before */
    gate_leave(&gate, 3);
    gate_leave(&gate, 12);
    assert_int_equal(gate_enter(&gate, true),
                     12); /* the one that was given up long ago: the GPU may still write for the other */
}

/* ---- goals as rates, on a GPU that programs have in equal parts ---- */

enum { STEP_US = 10, PROGRAMS = 3 };

/* A program that launches again and again, one at a time; `pause` lies between two of them. */
struct model {
    uint32_t number;
    uint64_t work_us, pause_us;      /* of a launch alone; on the host */
    uint64_t left_ns, rests_us;      /* of what is under way; until it launches again */
    uint64_t ended, wanted_us;       /* all in all */
    bool is_there, under_way, wants; /* wants: it waits at the gate, or on the GPU */
    uint64_t order;                  /* of what is under way, among all */
    uint64_t since_us, run_us;       /* when it began to want this launch; of all that have ended: each is a run */
    uint32_t random;                 /* not 0: pauses of 0 to twice their length */
};

/* Whose launch is the oldest one: on a GPU that has one at a time, it alone goes on. */
static const struct model *oldest_of(const struct model *models)
{
    const struct model *oldest = NULL;
    for (uint32_t i = 0; i < PROGRAMS; i++)
        if (models[i].is_there && models[i].under_way && (!oldest || models[i].order < oldest->order))
            oldest = &models[i];
    return oldest;
}

static uint64_t pause_of(struct model *model)
{
    if (!model->random || !model->pause_us)
        return model->pause_us;
    model->random = model->random * 1664525u + 1013904223u;
    return (model->random >> 8) % (2 * model->pause_us);
}

static bool may_launch(const struct model *model)
{
    uint32_t value = atomic_load(&board(model->number)->gate);
    return value != BOARD_CLOSED && !(value == BOARD_BOUNDED && board_yields(front(), model->number));
}

/* `gets_ns`: of the GPU in this step, if something is under way. */
static void step(struct model *model, uint64_t gets_ns, uint64_t order)
{
    struct board_lane *lane = &board(model->number)->lanes[1];
    bool noted = atomic_load(&board(model->number)->gate) != BOARD_FREE;
    if (model->under_way && model->left_ns <= gets_ns) {
        model->under_way = model->wants = false;
        model->ended++;
        model->run_us += order / PROGRAMS - model->since_us;
        atomic_fetch_add(&board(model->number)->run_ns, (order / PROGRAMS - model->since_us) * US);
        atomic_fetch_add(&board(model->number)->runs, 1);
        model->rests_us = pause_of(model);
        atomic_store(&lane->ended, atomic_load(&lane->asked));
    } else if (model->under_way) {
        model->left_ns -= gets_ns;
    }
    model->rests_us -= model->rests_us < STEP_US ? model->rests_us : STEP_US;
    if (!model->wants && !model->under_way && !model->rests_us)
        model->since_us = order / PROGRAMS;
    model->wants = model->under_way || !model->rests_us;
    if (model->wants && !model->under_way && may_launch(model)) {
        model->under_way = true;
        model->left_ns = model->work_us * US;
        model->order = order;
        atomic_fetch_add(&lane->asked, noted);
    }
    atomic_store(&board(model->number)->waiting, model->wants && !model->under_way);
    model->wanted_us += model->wants ? STEP_US : 0;
}

/* For so long, from `since`; the gate looks when it wants to. `one`: launches are on the GPU one after the other. */
static uint64_t simulate_on(struct gate *gate, struct model *models, uint64_t since_us, uint64_t us, bool one)
{
    uint64_t due = 0;
    for (uint64_t now = since_us; now < since_us + us; now += STEP_US) {
        uint32_t running = 0;
        for (uint32_t i = 0; i < PROGRAMS; i++)
            running += models[i].is_there && models[i].under_way;
        const struct model *oldest = oldest_of(models);
        for (uint32_t i = 0; i < PROGRAMS; i++) {
            uint64_t gets = !one ? STEP_US * US / (running ? running : 1) : &models[i] == oldest ? STEP_US * US : 0;
            if (models[i].is_there)
                step(&models[i], gets, now * PROGRAMS + i);
        }
        if (now * US < due)
            continue;
        uint64_t wait = gate_look(gate, now * US);
        due = wait == GATE_NEVER ? (now + 1000) * US : now * US + wait;
    }
    return since_us + us;
}

static uint64_t simulate(struct gate *gate, struct model *models, uint64_t since_us, uint64_t us)
{
    return simulate_on(gate, models, since_us, us, false);
}

static void enter(struct gate *gate, struct model *model, double goal)
{
    model->number = gate_enter(gate, false);
    model->is_there = true;
    if (goal > 0)
        gate_promise(gate, model->number, CORUN_GOAL_FRACTION, goal, NULL);
}

static void forget_past(struct model *models)
{
    for (uint32_t i = 0; i < PROGRAMS; i++)
        models[i].ended = models[i].wanted_us = models[i].run_us = 0;
}

/* The part of its rate alone that a program had. */
static double part(const struct model *model)
{
    return (double)(model->ended * model->work_us) / (double)model->wanted_us;
}

/* The first has its goal, and no more: the rest is the other one's, whose launches slow the first one's to half. */
static void test_goal(void **unused)
{
    (void)unused;
    static const double goals[] = {0.6, 0.75, 0.9, 0.95};
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        struct gate gate = with("goal");
        struct model models[PROGRAMS] = {{.work_us = 100}, {.work_us = 400}};
        enter(&gate, &models[0], goals[i]);
        uint64_t now = simulate(&gate, models, 1000, 300000);
        assert_gate(models[0].number, COUNTED); /* alone: it is learned */
        assert_true(rate_alone_known(&gate.clients[0].rate.alone));
        assert_float_equal(rate_alone_per_second(&gate.clients[0].rate.alone), 1e4, 20);
        enter(&gate, &models[1], 0);
        now = simulate(&gate, models, now, 1000000);
        forget_past(models);
        (void)simulate(&gate, models, now, 4000000);
        assert_float_equal(part(&models[0]), goals[i], 0.01);
        assert_float_equal((double)models[1].ended * 400 / 4e6, 1 - goals[i], 0.02);
        assert_float_equal(rate_per_second(&gate.clients[0].rate) / 1e4, goals[i], 0.05); /* as it is shown */
    }
}

/* What two programs have under a policy, the rate alone of the first one being known. */
static void run_plant(const char *policy, struct model models[PROGRAMS], double goal, bool one)
{
    const struct rate_alone alone = {.wanted_ns = RATE_SETTLED_NS, .ended = RATE_SETTLED_NS / (models[0].work_us * US)};
    struct gate gate = with(policy);
    enter(&gate, &models[0], 0);
    gate_promise(&gate, models[0].number, CORUN_GOAL_FRACTION, goal, &alone);
    enter(&gate, &models[1], 0);
    uint64_t now = simulate_on(&gate, models, 1000, 1000000, one);
    forget_past(models);
    (void)simulate_on(&gate, models, now, 2000000, one);
}

/*
 * GPUs that divide themselves or have one launch at a time, programs that always or now and then want them, launches of others that are shorter or
 * longer: the goal is reached, and where priority alone gives more than it, the other program has no less than beside that.
 */
static void test_plants(void **unused)
{
    (void)unused;
    enum { PLANTS = 2 * 2 * 3 * 2 * 3 };
    static const uint64_t works[] = {50, 400}, pauses[] = {0, 300}, others[] = {50, 200, 1000};
    for (uint32_t i = 0; i < PLANTS; i++) {
        static const double goals[] = {0.5, 0.7, 0.9};
        const double goal = goals[i / 24];
        const bool one = i / 12 % 2;
        const struct model plant[PROGRAMS] = {{.work_us = works[i % 2], .pause_us = pauses[i / 2 % 2], .random = i + 1},
                                              {.work_us = others[i / 4 % 3]}};
        struct model first[PROGRAMS], kept[PROGRAMS];
        memcpy(first, plant, sizeof plant);
        memcpy(kept, plant, sizeof plant);
        run_plant("priority", first, goal, one);
        run_plant("goal:window=20", kept, goal, one);
        double slack = 0.02 + 20e3 / (double)kept[0].wanted_us; /* of a window, a debt may be left */
        if (part(&kept[0]) < goal - slack || (part(&first[0]) >= goal + 0.05 && kept[1].ended < first[1].ended * 0.95))
            fail_msg("plant %u, goal %.1f: %.3f (%llu), under priority %.3f (%llu)", i, goal, part(&kept[0]),
                     (unsigned long long)kept[1].ended, part(&first[0]), (unsigned long long)first[1].ended);
    }
}

/*
 * A program whose launches take longer than when it was alone does not hold the others back for ever: what it does while they are held back altogether is
 * its rate alone from then on.
 */
static void test_became_slower(void **unused)
{
    (void)unused;
    const struct rate_alone alone = {.wanted_ns = RATE_SETTLED_NS, .ended = RATE_SETTLED_NS / (100 * US)};
    struct gate gate = with("goal");
    struct model models[PROGRAMS] = {{.work_us = 300}, {.work_us = 400}};
    enter(&gate, &models[0], 0);
    gate_promise(&gate, models[0].number, CORUN_GOAL_FRACTION, 0.8, &alone);
    enter(&gate, &models[1], 0);
    uint64_t now = simulate(&gate, models, 1000, 6000000);
    forget_past(models);
    (void)simulate(&gate, models, now, 4000000);
    /* older time counts for a while, but never so much that the goal cannot be reached */
    double believed = rate_alone_per_second(&gate.clients[0].rate.alone);
    assert_true(believed > 3333 * 0.99 && believed * 0.8 < 3333);
    assert_true(part(&models[0]) > 0.78);
    assert_true((double)models[1].ended * 400 / 4e6 > 0.08);
}

/* Alone for long enough, nothing is noted any more, and nobody looks. */
static void test_settled(void **unused)
{
    (void)unused;
    struct gate gate = with("goal");
    struct model models[PROGRAMS] = {{.work_us = 100}};
    enter(&gate, &models[0], 0.9);
    uint64_t now = simulate(&gate, models, 1000, 1100000);
    assert_gate(models[0].number, FREE);
    assert_true(gate_look(&gate, now * US) == GATE_NEVER);
    (void)gate_enter(&gate, false);
    assert_true(gate_look(&gate, now * US) != GATE_NEVER);
    assert_gate(models[0].number, COUNTED);
}

/* Both are there from the start: one is held back until the rate alone of the other one is known. */
static void test_learned(void **unused)
{
    (void)unused;
    struct gate gate = with("goal");
    struct model models[PROGRAMS] = {{.work_us = 100, .pause_us = 200}, {.work_us = 100}};
    enter(&gate, &models[0], 0.8);
    enter(&gate, &models[1], 0);
    uint64_t now = simulate(&gate, models, 1000, 10000);
    assert_int_equal(gate.learner, models[0].number);
    assert_gate(models[1].number, CLOSED);
    now = simulate(&gate, models, now, 1000000);
    assert_int_equal(gate.learner, GATE_MOST_CLIENTS);
    assert_float_equal(rate_alone_per_second(&gate.clients[0].rate.alone), 1e4, 1e3); /* who wants it is a sample */
    forget_past(models);
    (void)simulate(&gate, models, now, 8000000);
    assert_true(part(&models[0]) > 0.7 && part(&models[0]) < 0.9);
    assert_true(models[1].ended > 0);
}

/* Who does not launch is not waited for: others are held back for a second of ten. */
static void test_not_learned(void **unused)
{
    (void)unused;
    struct gate gate = with("goal");
    struct model models[PROGRAMS] = {{.work_us = 100}, {.work_us = 3000000}};
    enter(&gate, &models[0], 0);
    enter(&gate, &models[1], 0.5);
    (void)gate_look(&gate, 900 * US);
    uint64_t now = simulate(&gate, models, 1000, 1100000); /* one launch that takes three seconds */
    assert_int_equal(gate.learner, GATE_MOST_CLIENTS);
    assert_gate(models[0].number, BOUNDED);
    now = simulate(&gate, models, now, 8000000);
    assert_int_equal(gate.learner, GATE_MOST_CLIENTS);
    now = simulate(&gate, models, now, 2000000);
    assert_int_equal(gate.learner, models[1].number);
    gate_leave(&gate, models[1].number);
    models[1].is_there = false;
    (void)simulate(&gate, models, now, 10000);
    assert_gate(models[0].number, COUNTED);
}

/* Two goals beside best effort: each has its own. */
static void test_two_goals(void **unused)
{
    (void)unused;
    struct gate gate = with("goal");
    struct model models[PROGRAMS] = {{.work_us = 100}, {.work_us = 200}, {.work_us = 300}};
    const struct rate_alone alone[] = {{.wanted_ns = RATE_SETTLED_NS, .ended = 10000},
                                       {.wanted_ns = RATE_SETTLED_NS, .ended = 5000}};
    for (uint32_t i = 0; i < PROGRAMS; i++)
        enter(&gate, &models[i], 0);
    gate_promise(&gate, models[0].number, CORUN_GOAL_FRACTION, 0.6, &alone[0]);
    gate_promise(&gate, models[1].number, CORUN_GOAL_FRACTION, 0.3, &alone[1]);
    uint64_t now = simulate(&gate, models, 1000, 1000000);
    forget_past(models);
    (void)simulate(&gate, models, now, 8000000);
    assert_float_equal(part(&models[0]), 0.6, 0.02);
    assert_float_equal(part(&models[1]), 0.3, 0.02);
    assert_true(part(&models[2]) > 0.05);
}

/* Times of runs, as the program tells them. */
static void test_run_goals(void **unused)
{
    (void)unused;
    struct gate gate = with("goal:window=10");
    const uint32_t server = gate_enter(&gate, false), train = gate_enter(&gate, false);
    uint64_t now = 1000;
    gate_promise(&gate, server, CORUN_GOAL_MILLISECONDS, 2, NULL);
    (void)gate_look(&gate, now * US);
    atomic_store(&board(server)->runs, 3);
    atomic_store(&board(server)->run_ns, 5000 * US); /* less than 2 ms each */
    (void)gate_look(&gate, (now += 1000) * US);
    assert_true(atomic_load(&front()->first) == 0);
    atomic_store(&board(server)->runs, 4);
    atomic_store(&board(server)->run_ns, 9000 * US);
    (void)gate_look(&gate, (now += 1000) * US);
    assert_true(atomic_load(&front()->first) == UINT64_C(1) << server); /* four have taken 9 ms */
    gate_promise(&gate, server, CORUN_GOAL_FRAMES_PER_SECOND, 500, NULL);
    (void)gate_look(&gate, (now += 3000) * US);
    assert_true(atomic_load(&front()->first) == UINT64_C(1) << server);
    assert_gate(train, BOUNDED);
    atomic_store(&board(server)->runs, 6);
    (void)gate_look(&gate, (now += 500) * US); /* two in 3.5 ms */
    assert_true(atomic_load(&front()->first) == 0);
    (void)gate_look(&gate, (now += 501) * US);
    assert_true(atomic_load(&front()->first) == UINT64_C(1) << server);
    gate_promise(&gate, server, CORUN_GOAL_NONE, 0, NULL);
    assert_true(gate_look(&gate, now * US) == GATE_NEVER);
    assert_gate(train, FREE);
}

/*
 * A server without a pause to speak of, beside launches that are longer than its own: to go first is not enough, as one of them slips in between two runs. A
 * goal that it cannot reach at all holds the others back for a short time only.
 */
static void test_run_goals_kept(void **unused)
{
    (void)unused;
    static const double goals_ms[] = {0.065, 0.08, 0.1, 0.02};
    for (size_t i = 0; i < sizeof goals_ms / sizeof *goals_ms; i++) {
        struct gate gate = with("goal:window=20");
        struct model models[PROGRAMS] = {{.work_us = 50, .pause_us = 20}, {.work_us = 160}};
        enter(&gate, &models[0], 0);
        enter(&gate, &models[1], 0);
        gate_promise(&gate, models[0].number, CORUN_GOAL_MILLISECONDS, goals_ms[i], NULL);
        uint64_t now = simulate_on(&gate, models, 1000, 2000000, true);
        forget_past(models);
        (void)simulate_on(&gate, models, now, 5000000, true);
        double run_ms = (double)models[0].run_us / 1e3 / (double)models[0].ended;
        double others = (double)models[1].ended * 160 / 5e6;
        if (goals_ms[i] < 0.05) {
            assert_true(others > 0.5);
        } else {
            assert_float_equal(run_ms, goals_ms[i], 0.03 * goals_ms[i]);
            assert_true(others > 0.01);
        }
    }
}

/* Users have boards of their own, and see of each other whether somebody who goes first is busy, as of the last look. */
static void test_users(void **unused)
{
    (void)unused;
    static _Alignas(BOARD_BYTES) unsigned char more[BOARD_FILE_BYTES];
    struct board_front *other = (struct board_front *)(void *)more;
    struct gate gate = with("priority");
    memset(more, 0, sizeof more);
    const uint32_t train = gate_enter(&gate, false), server = gate_enter_at(&gate, other, true);
    assert_true(gate_look(&gate, 10 * US) == GATE_RATE_NS);
    assert_gate(train, BOUNDED);
    assert_int_equal(atomic_load(&board_at(other, server)->gate), BOARD_COUNTED);
    assert_true(atomic_load(&front()->first) == 0 && atomic_load(&other->first) == UINT64_C(1) << server);
    under_way(board_at(other, server), 2);
    under_way(board(server), 9); /* what the first user writes there is of nobody */
    assert_false(board_yields(front(), train));
    (void)gate_look(&gate, 20 * US);
    assert_true(board_yields(front(), train));
    assert_false(board_yields(other, server));
    assert_true(atomic_load(&front()->looked) == 20 * US && atomic_load(&other->looked) == 20 * US);
    const uint32_t own = gate_enter_at(&gate, other, false);
    (void)gate_look(&gate, 25 * US);
    assert_true(board_yields(other, own));
    under_way(board_at(other, server), 0);
    assert_false(board_yields(other, own)); /* at once */
    (void)gate_look(&gate, 30 * US);
    assert_false(board_yields(front(), train));
    gate_leave(&gate, server);
    gate_leave(&gate, own);
    assert_true(gate_look(&gate, 40 * US) == GATE_NEVER);
    assert_gate(train, FREE);
}

/* Slices are parts of one launch; and numbers that no GPU can make are none. */
static void test_counts(void **unused)
{
    (void)unused;
    struct rate rate;
    struct board one = {.gate = BOARD_COUNTED};
    const struct rate_look look = {.passed_ns = 1000 * US, .window_ns = 1000000 * US, .wanted = true, .noted = true};
    rate_begin(&rate, NULL);
    atomic_store(&one.lanes[2].ended, 7);
    atomic_store(&one.lanes[5].ended, 7);
    atomic_store(&one.parts, 12);
    rate_note(&rate, &one, &look);
    assert_true(rate.ended == 2 && rate.wanted_ns == 1000 * US);
    atomic_store(&one.lanes[2].ended, 3); /* backwards is a lot */
    atomic_store(&one.runs, UINT64_MAX);
    atomic_store(&one.run_ns, UINT64_MAX / 2);
    rate_note(&rate, &one, &look);
    assert_true(rate.ended == 2 && rate.runs == 0);
    atomic_store(&one.lanes[2].ended, 4);
    rate_note(&rate, &one, &look);
    assert_true(rate.ended == 3);
}

/* A server with requests of 50 us, each 5 ms, and launches of 160 us of another program, one of which it may have to wait for. */
struct seldom {
    uint64_t due, served, batch_until, closed_since, longest, requests, took;
    bool asked;
};

static void serve_seldom(struct seldom *seldom, struct board *server, uint64_t now)
{
    if (!seldom->asked && now >= seldom->due) {
        atomic_fetch_add(&server->lanes[0].asked, 1);
        seldom->asked = true;
        seldom->served = (seldom->batch_until > now ? seldom->batch_until : now) + 50 * US;
    }
    if (seldom->asked && now >= seldom->served) {
        atomic_fetch_add(&server->lanes[0].ended, 1);
        seldom->asked = false;
        seldom->requests++;
        seldom->took += now - seldom->due;
        seldom->due += 5000 * US;
    }
}

/* Others are not held back for seconds because a debt is paid while the server wants the GPU, which is a hundredth of the time. */
static void test_seldom(void **unused)
{
    (void)unused;
    struct gate gate = with("goal");
    const uint32_t server = gate_enter(&gate, true), batch = gate_enter(&gate, false);
    const struct rate_alone known = {UINT64_C(1000000000), 20000, 20000};
    struct seldom seldom = {.due = 5000 * US};
    uint64_t look = 0;
    gate_promise(&gate, server, CORUN_GOAL_FRACTION, 0.5, &known);
    for (uint64_t now = 1; now < 30000000 * US; now += 10 * US) {
        serve_seldom(&seldom, board(server), now);
        bool closed = atomic_load(&board(batch)->gate) == BOARD_CLOSED, busy = board_is_busy(board(batch));
        if (busy && now >= seldom.batch_until)
            atomic_fetch_add(&board(batch)->lanes[0].ended, 1);
        atomic_store(&board(batch)->waiting, closed);
        if (!closed && !seldom.asked && now >= seldom.batch_until) {
            atomic_fetch_add(&board(batch)->lanes[0].asked, 1);
            seldom.batch_until = now + 160 * US;
        }
        seldom.closed_since = closed ? seldom.closed_since : now;
        if (now - seldom.closed_since > seldom.longest)
            seldom.longest = now - seldom.closed_since;
        if (now >= look)
            look = now + gate_look(&gate, now);
    }
    double rate = 50e3 * (double)seldom.requests / (double)seldom.took;
    assert_true(rate > 0.45 && rate < 0.55);
    assert_true(seldom.longest < 1000000 * US);
}

/* ---- SMs ---- */

static void assert_sms(uint32_t number, uint32_t count, uint32_t first, uint32_t end)
{
    uint32_t found_first, found_end, sms = atomic_load(&board(number)->sms);
    assert_int_not_equal(sms, 0);
    board_sms_range(sms, count, &found_first, &found_end);
    assert_int_equal(found_first, first);
    assert_int_equal(found_end, end);
}

static void test_sms(void **unused)
{
    (void)unused;
    struct gate gate = with("partition:window=10");
    const uint32_t a = gate_enter(&gate, false);
    atomic_store(&board(a)->obeys, 1);
    under_way(board(a), 3);
    assert_true(gate_look(&gate, 10 * US) == GATE_NEVER);
    assert_gate(a, FREE); /* alone: whole launches, that nobody notes */
    assert_int_equal(atomic_load(&board(a)->sms), 0);
    const uint32_t b = gate_enter(&gate, false), c = gate_enter(&gate, false);
    atomic_store(&board(b)->obeys, 1);
    under_way(board(b), 1);
    under_way(board(c), 1);
    assert_true(gate_look(&gate, 20 * US) <= GATE_SAMPLE_NS);
    assert_gate(a, COUNTED);
    assert_sms(a, 16, 0, 8);
    assert_sms(b, 16, 8, 16);
    assert_sms(c, 16, 0, 16); /* its launches are no workers */
    assert_sms(b, 1, 0, 1);
    gate_promise(&gate, b, CORUN_GOAL_FRACTION, 0.75, NULL);
    (void)gate_look(&gate, 30 * US);
    assert_sms(a, 16, 0, 4);
    assert_sms(b, 16, 4, 16);
    gate_promise(&gate, b, CORUN_GOAL_FRACTION, 1, NULL);
    (void)gate_look(&gate, 40 * US);
    assert_sms(a, 64, 0, 2); /* who has no goal is not left without any */
    assert_sms(b, 64, 2, 64);
    gate_promise(&gate, a, CORUN_GOAL_FRACTION, 0.0001, NULL);
    (void)gate_look(&gate, 45 * US);
    assert_sms(a, 64, 0, 1); /* the smallest part is still one: none would be whole launches */
    gate_promise(&gate, a, CORUN_GOAL_FRACTION, 0.25, NULL);
    gate_promise(&gate, b, CORUN_GOAL_FRACTION, 0.25, NULL);
    (void)gate_look(&gate, 50 * US);
    assert_sms(a, 16, 0, 8); /* what nobody wants is theirs */
    assert_sms(b, 16, 8, 16);
    under_way(board(a), 0);
    for (uint64_t now = 60; now <= 10040; now += 20)
        (void)gate_look(&gate, now * US);
    assert_sms(a, 16, 0, 8);
    for (uint64_t now = 10080; now <= 10120; now += 20)
        (void)gate_look(&gate, now * US);
    assert_sms(b, 16, 0, 16); /* the other has wanted nothing for the window */
    under_way(board(a), 1);
    (void)gate_look(&gate, 10130 * US);
    assert_sms(a, 16, 0, 8);
    assert_sms(b, 16, 8, 16);
    const struct gate_rules none = {.policy = GATE_LEFT_OVER};
    assert_int_equal(gate_change(&gate, &none, NULL), CORUN_OK);
    (void)gate_look(&gate, 10140 * US);
    assert_int_equal(atomic_load(&board(a)->sms) | atomic_load(&board(b)->sms) | atomic_load(&board(c)->sms), 0);
}

/* Whatever a board says, there is one SM at least, and none beyond the last. */
static void test_ranges(void **unused)
{
    (void)unused;
    static const uint32_t words[] = {1, UINT32_MAX, 0xffff, 0xffff0000, 5u << 16 | 9, 2000u << 16 | 1024};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (uint32_t count = 1; count < 200; count += 13) {
            uint32_t first, end;
            board_sms_range(words[i], count, &first, &end);
            assert_true(first < end && end <= count);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),          cmocka_unit_test(test_left_over), cmocka_unit_test(test_priority),
        cmocka_unit_test(test_overflow),       cmocka_unit_test(test_turns),     cmocka_unit_test(test_even),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_late),      cmocka_unit_test(test_goal),
        cmocka_unit_test(test_became_slower),  cmocka_unit_test(test_settled),   cmocka_unit_test(test_learned),
        cmocka_unit_test(test_not_learned),    cmocka_unit_test(test_two_goals), cmocka_unit_test(test_run_goals),
        cmocka_unit_test(test_run_goals_kept), cmocka_unit_test(test_counts),    cmocka_unit_test(test_plants),
        cmocka_unit_test(test_users),          cmocka_unit_test(test_seldom),    cmocka_unit_test(test_sms),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
