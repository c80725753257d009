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
    static const char *const bad[] = {
        "",           "smqos",           "priority:bound",       "priority:bound=",
        "priority:x", "even:bound=3",    "time-slice:quantum=0", "left-over:quantum=3",
        "evening",    "even:quantum=-1", "priority:bound=1e3",   "priority:bound=1000000000"};
    assert_int_equal(gate_rules_read("priority:bound=500", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_PRIORITY && rules.bound_ns == 500 * US);
    assert_int_equal(gate_rules_read("even:quantum=999999999", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_EVEN && rules.quantum_ns == 999999999 * US);
    assert_int_equal(gate_rules_read("time-slice", &rules, NULL), CORUN_OK);
    assert_true(rules.policy == GATE_TIME_SLICE && rules.quantum_ns == 2000 * US);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),    cmocka_unit_test(test_left_over), cmocka_unit_test(test_priority),
        cmocka_unit_test(test_overflow), cmocka_unit_test(test_turns),     cmocka_unit_test(test_even),
        cmocka_unit_test(test_places),   cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
