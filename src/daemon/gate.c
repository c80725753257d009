/* SPDX-License-Identifier: MIT */
/* Who may launch on a GPU of hardware, by the policies of GATE_POLICIES. */
#include "daemon/gate.h"

#include "corun/status.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define US UINT64_C(1000)

static const struct {
    const char *word;
} names[] = {
#define GATE_POLICY_ROW(name, word, meaning) {word},
    GATE_POLICIES(GATE_POLICY_ROW)
#undef GATE_POLICY_ROW
};

const char *gate_policy_name(enum gate_policy policy)
{
    return names[policy].word;
}

/* ---- rules ---- */

/* A whole number of microseconds, up to a comma or the end. */
static bool read_time(const char *text, size_t bytes, uint64_t *ns)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 8)
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *ns = value * US;
    return bytes > 0 && value > 0;
}

static enum corun_status read_parameters(const char *text, struct gate_rules *rules, struct corun_diagnostics *list)
{
    const char *policy = names[rules->policy].word;
    bool turns = rules->policy == GATE_TIME_SLICE || rules->policy == GATE_EVEN;
    while (*text) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=,");
        uint64_t *place = NULL;
        if (rules->policy == GATE_PRIORITY && name == 5 && !strncmp(text, "bound", name))
            place = &rules->bound_ns;
        if (turns && name == 7 && !strncmp(text, "quantum", name))
            place = &rules->quantum_ns;
        if (!place)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "policy %s of a GPU of hardware has no parameter `%.*s`%s", policy, (int)name, text,
                                turns                            ? " (quantum)"
                                : rules->policy == GATE_PRIORITY ? " (bound)"
                                                                 : "");
        if (name == length || !read_time(text + name + 1, length - name - 1, place))
            return corun_report(
                list, CORUN_ARGUMENT, CORUN_NOWHERE,
                "policy %s: `%.*s` is no whole number of microseconds from 1 to 999999999, like %.*s=500", policy,
                (int)length, text, (int)name, text);
        text += length + (text[length] == ',');
    }
    return CORUN_OK;
}

enum corun_status gate_rules_read(const char *text, struct gate_rules *rules, struct corun_diagnostics *list)
{
    size_t length = strcspn(text, ":");
    *rules = (struct gate_rules){.bound_ns = 200 * US, .quantum_ns = 2000 * US};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].word) == length && !strncmp(text, names[i].word, length)) {
            rules->policy = (enum gate_policy)i;
            return read_parameters(text + length + (text[length] == ':'), rules, list);
        }
    return corun_report(
        list, CORUN_ARGUMENT, CORUN_NOWHERE,
        "policy `%.*s` is none of a GPU of hardware: left-over, priority, time-slice or even; others need "
        "limits on each SM, which whole launches cannot obey",
        (int)length, text);
}

/* ---- clients ---- */

static void set(const struct gate *gate, struct board *board, enum board_gate value)
{
    const struct gate_rules *rules = &gate->rules;
    uint64_t bound = rules->policy == GATE_PRIORITY ? rules->bound_ns : rules->quantum_ns;
    atomic_store(&board->bound_ns, bound);
    if (atomic_exchange(&board->gate, value) != (uint32_t)value)
        (void)syscall(SYS_futex, &board->gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gate_begin(struct gate *gate, const struct gate_rules *rules, struct board_front *front)
{
    *gate = (struct gate){.rules = *rules, .front = front, .holder = GATE_MOST_CLIENTS};
}

void gate_change(struct gate *gate, const struct gate_rules *rules)
{
    gate->rules = *rules;
    gate->holder = GATE_MOST_CLIENTS;
    gate->ends = false;
}

uint32_t gate_enter(struct gate *gate, bool urgent)
{
    uint32_t number = GATE_MOST_CLIENTS;
    uint64_t least = GATE_NEVER;
    for (uint32_t i = GATE_MOST_CLIENTS; i-- > 0;) {
        uint32_t at = (gate->next + i) % GATE_MOST_CLIENTS;
        if (!gate->clients[at].board)
            number = at;
        else if (gate->clients[at].had_ns < least)
            least = gate->clients[at].had_ns;
    }
    if (number == GATE_MOST_CLIENTS)
        return number;
    struct board *board = board_at(gate->front, number);
    memset((void *)board, 0, sizeof *board);
    /* who comes does not make up for the time before */
    gate->clients[number] =
        (struct gate_client){.board = board, .urgent = urgent, .had_ns = least == GATE_NEVER ? 0 : least};
    gate->next = (number + 1) % GATE_MOST_CLIENTS;
    return number;
}

void gate_leave(struct gate *gate, uint32_t number)
{
    gate->clients[number] = (struct gate_client){.board = NULL};
    if (gate->holder == number)
        gate->holder = GATE_MOST_CLIENTS;
}

/* ---- what is allowed ---- */

static void note(struct gate *gate, uint64_t now)
{
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct gate_client *client = &gate->clients[i];
        bool busy = client->board && board_is_busy(client->board);
        if (client->busy && client->board)
            client->busy_ns += now - client->since;
        if (client->board)
            client->since = now;
        client->busy = busy;
    }
}

/* Programs see themselves when one that goes first is busy: that needs nobody who would have to wake up in between. */
static uint64_t look_priority(struct gate *gate)
{
    uint64_t first = 0;
    bool others = false;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        first |= (uint64_t)(client->board && client->urgent) << i;
        others |= client->board && !client->urgent;
    }
    atomic_store(&gate->front->first, first);
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        if (client->board && client->urgent)
            set(gate, client->board, others ? BOARD_COUNTED : BOARD_FREE);
        else if (client->board)
            set(gate, client->board, first ? BOARD_BOUNDED : BOARD_FREE);
    }
    return first && others ? GATE_SAMPLE_NS : GATE_NEVER;
}

static bool wants(const struct gate_client *client)
{
    return client->board && (client->busy || atomic_load(&client->board->waiting));
}

/* Who has the next turn: behind the holder, or of least time. */
static uint32_t next_of(const struct gate *gate)
{
    uint32_t next = GATE_MOST_CLIENTS, first = gate->holder == GATE_MOST_CLIENTS ? 0 : gate->holder + 1;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        uint32_t at = (first + i) % GATE_MOST_CLIENTS;
        const struct gate_client *client = &gate->clients[at];
        bool before = next == GATE_MOST_CLIENTS ||
                      (gate->rules.policy == GATE_EVEN && client->had_ns < gate->clients[next].had_ns);
        if (wants(client) && before)
            next = at;
    }
    return next;
}

/* Whether anybody else wants a turn. */
static bool others_want(const struct gate *gate)
{
    bool want = false;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        want |= i != gate->holder && wants(&gate->clients[i]);
    return want;
}

static uint64_t look_turns(struct gate *gate, uint64_t passed)
{
    uint32_t count = 0;
    struct gate_client *holder = gate->holder < GATE_MOST_CLIENTS ? &gate->clients[gate->holder] : NULL;
    if (holder) {
        holder->had_ns += passed;
        gate->turn_ns += passed;
        gate->ends |= others_want(gate) && (gate->turn_ns >= gate->rules.quantum_ns || !wants(holder));
    }
    bool late = gate->turn_ns >= gate->rules.quantum_ns + GATE_LATE_NS;
    if (!holder || (gate->ends && (!holder->busy || late))) {
        gate->holder = next_of(gate);
        gate->turn_ns = 0;
        gate->ends = false;
    }
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        count += gate->clients[i].board != NULL;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        bool open = i == gate->holder && !gate->ends;
        if (gate->clients[i].board)
            set(gate, gate->clients[i].board, count == 1 ? BOARD_FREE : open ? BOARD_BOUNDED : BOARD_CLOSED);
    }
    return count > 1 && others_want(gate) ? GATE_LOOK_NS : GATE_NEVER;
}

uint64_t gate_look(struct gate *gate, uint64_t now_ns)
{
    uint64_t passed = gate->looked ? now_ns - gate->looked : 0;
    gate->looked = now_ns;
    note(gate, now_ns);
    if (gate->rules.policy != GATE_PRIORITY)
        atomic_store(&gate->front->first, 0);
    switch (gate->rules.policy) {
    case GATE_PRIORITY:
        return look_priority(gate);
    case GATE_TIME_SLICE:
    case GATE_EVEN:
        return look_turns(gate, passed);
    default:
        for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
            if (gate->clients[i].board)
                set(gate, gate->clients[i].board, BOARD_FREE);
        return GATE_NEVER;
    }
}
