/* SPDX-License-Identifier: MIT */
/*
 * Rules of a GPU of hardware, and boards on which programs write what they like: with turns, no two programs may launch at once; under priority, none are
 * closed, and those with a goal are the ones that go first; left over, all may; under goals, only somebody whose rate alone is learned, or who is overdue, closes others,
 * only those with goals go first, and debts stay within the window.
 */
#include "daemon/gate.h"

#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 8, MOST_TEXT = 64 };

static void check(const struct gate *gate)
{
    uint32_t there = 0, open = 0, short_of_goal = 0;
    uint64_t first = 0;
    bool overdue = false;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        if (!client->board)
            continue;
        uint32_t value = atomic_load(&client->board->gate);
        there++;
        if (client->rate.debt_ns > (int64_t)gate->rules.window_ns ||
            client->rate.debt_ns < -(int64_t)gate->rules.window_ns)
            abort();
        open += value != BOARD_CLOSED;
        first |= (uint64_t)client->urgent << i;
        bool is_overdue = client->urgent && rate_is_overdue(&client->rate, gate->rules.window_ns);
        overdue |= is_overdue;
        short_of_goal +=
            is_overdue || (client->urgent && (rate_is_behind(&client->rate) || client->rate.goal == CORUN_GOAL_NONE));
        if (gate->rules.policy == GATE_PRIORITY && client->urgent && value == BOARD_BOUNDED)
            abort();
    }
    switch (gate->rules.policy) {
    case GATE_LEFT_OVER:
        if (open != there)
            abort();
        break;
    case GATE_PRIORITY:
        if (open != there || (there && atomic_load(&gate->front->first) != first))
            abort();
        break;
    case GATE_GOAL:
        if (gate->learner < GATE_MOST_CLIENTS
                ? open != 1 || atomic_load(&gate->clients[gate->learner].board->gate) == BOARD_CLOSED
                : open != (overdue ? short_of_goal : there))
            abort();
        if (there && atomic_load(&gate->front->first) & ~first)
            abort();
        break;
    case GATE_PARTITION:
        if (open != there)
            abort();
        break;
    default:
        if (open > 1)
            abort();
    }
}

/* Goals from tiny to huge, with a rate alone that is known or is not. */
static void promise(struct gate *gate, uint32_t number, uint8_t what)
{
    static const double values[] = {1e-300, 1e-9, 0.5, 1, 1e9};
    static const enum corun_goal_kind kinds[] = {CORUN_GOAL_NONE, CORUN_GOAL_FRACTION, CORUN_GOAL_MILLISECONDS,
                                                 CORUN_GOAL_FRAMES_PER_SECOND};
    const struct rate_alone alone = {.wanted_ns = UINT64_C(1) << (what % 40), .ended = UINT64_C(1) << (what % 20)};
    gate_promise(gate, number, kinds[what % 4], values[what % 5], what & 128 ? &alone : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct gate gate;
    static _Alignas(BOARD_BYTES) unsigned char pages[BOARD_FILE_BYTES];
    struct board_front *front = (struct board_front *)(void *)pages;
    char text[MOST_TEXT + 1] = "";
    struct gate_rules rules;
    uint32_t numbers[CLIENTS];
    uint64_t now = 1;
    size_t length = bytes < MOST_TEXT ? bytes : MOST_TEXT, taken = strnlen((const char *)data, length);
    memcpy(text, data, taken);
    if (gate_rules_read(text, &rules, NULL) != CORUN_OK)
        return 0;
    memset(pages, 0, sizeof pages);
    gate_begin(&gate, &rules, front);
    for (size_t i = 0; i < CLIENTS; i++)
        numbers[i] = GATE_MOST_CLIENTS;
    for (size_t i = taken + 1; i + 2 < bytes; i += 3) {
        uint32_t which = data[i] % CLIENTS;
        bool is_there = numbers[which] < GATE_MOST_CLIENTS;
        struct board *board = board_at(front, is_there ? numbers[which] : which);
        switch (data[i + 1] % 11) {
        case 0:
            if (!is_there)
                numbers[which] = gate_enter(&gate, data[i + 2] & 1);
            break;
        case 1:
            if (is_there)
                gate_leave(&gate, numbers[which]);
            numbers[which] = GATE_MOST_CLIENTS;
            break;
        case 2:
            atomic_store(&board->lanes[data[i + 2] % BOARD_LANES].asked, data[i + 2]);
            break;
        case 3:
            atomic_store(&board->lanes[data[i + 2] % BOARD_LANES].ended, data[i + 2]);
            break;
        case 4:
            atomic_store(&board->waiting, data[i + 2] & 1);
            break;
        case 5:
            atomic_store(&board->runs, (uint64_t)data[i + 2] << data[i + 2] % 60);
            break;
        case 6:
            atomic_store(&board->run_ns, (uint64_t)data[i + 2] << data[i + 2] % 60);
            break;
        case 7:
            atomic_store(&board->parts, (uint32_t)data[i + 2] << data[i + 2] % 30);
            break;
        case 9:
            atomic_store(&board->obeys, data[i + 2] & 1);
            break;
        case 8:
            if (is_there)
                promise(&gate, numbers[which], data[i + 2]);
            break;
        default:
            atomic_store(&board->gate, data[i + 2]); /* that is corund's, but programs can write there */
        }
        now += (uint64_t)data[i + 2] * 10000;
        (void)gate_look(&gate, now);
        check(&gate);
    }
    return 0;
}
