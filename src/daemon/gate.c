/* SPDX-License-Identifier: MIT */
/* Who may launch on a GPU of hardware, by the policies of GATE_POLICIES. */
#include "daemon/gate.h"

#include "corun/status.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- clients ---- */

static void set(struct gate *gate, uint32_t number, enum board_gate value)
{
    struct board *board = gate->clients[number].board;
    const struct gate_rules *rules = &gate->rules;
    bool bounds = rules->policy == GATE_PRIORITY || rules->policy == GATE_GOAL;
    uint64_t bound = bounds ? rules->bound_ns : rules->quantum_ns;
    gate->clients[number].noted = value != BOARD_FREE;
    gate->clients[number].shut = value == BOARD_CLOSED && (rules->policy == GATE_GOAL || rules->policy == GATE_WORKERS);
    atomic_store(&board->bound_ns, bound);
    if (atomic_exchange(&board->gate, value) != (uint32_t)value)
        (void)syscall(SYS_futex, &board->gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gate_begin(struct gate *gate, const struct gate_rules *rules, struct board_front *front)
{
    *gate = (struct gate){.front = front, .holder = GATE_MOST_CLIENTS, .learner = GATE_MOST_CLIENTS};
    gate->rules.policy = GATE_LEFT_OVER;
    gate->failed = gate_change(gate, rules, NULL) != CORUN_OK;
}

void gate_end(struct gate *gate)
{
    sms_destroy(gate->sms);
    gate->sms = NULL;
}

enum corun_status gate_change(struct gate *gate, const struct gate_rules *rules, struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    struct sms *sms = rules->policy == GATE_WORKERS ? gate->sms : NULL;
    bool fresh = rules->policy == GATE_WORKERS && (!sms || gate->failed);
    if (fresh)
        sms = sms_create(&rules->choice);
    else if (sms)
        status = sms_change(sms, &rules->choice, gate->looked, list);
    if (rules->policy == GATE_WORKERS && !sms)
        status = CORUN_MEMORY;
    if (status != CORUN_OK)
        return status;
    if (gate->sms != sms)
        sms_destroy(gate->sms);
    gate->sms = sms;
    gate->failed = false;
    gate->rules = *rules;
    gate->holder = gate->learner = GATE_MOST_CLIENTS;
    gate->ends = false;
    return CORUN_OK;
}

uint32_t gate_enter(struct gate *gate, bool urgent)
{
    return gate_enter_at(gate, gate->front, urgent);
}

uint32_t gate_enter_at(struct gate *gate, struct board_front *front, bool urgent)
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
    struct board *board = board_at(front, number);
    memset((void *)board, 0, sizeof *board);
    /* who comes does not make up for the time before */
    gate->clients[number] = (struct gate_client){.board = board,
                                                 .front = front,
                                                 .sheet = board_sheet_at(front, number),
                                                 .urgent = urgent,
                                                 .had_ns = least == GATE_NEVER ? 0 : least};
    work_begin(&gate->clients[number].work, gate->clients[number].sheet);
    rate_begin(&gate->clients[number].rate, NULL);
    gate->next = (number + 1) % GATE_MOST_CLIENTS;
    return number;
}

void gate_promise(struct gate *gate, uint32_t number, enum corun_goal_kind goal, double value,
                  const struct rate_alone *alone)
{
    struct gate_client *client = &gate->clients[number];
    client->urgent = goal != CORUN_GOAL_NONE;
    rate_promise(&client->rate, goal, value);
    if (alone)
        client->rate.alone = *alone;
}

void gate_leave(struct gate *gate, uint32_t number)
{
    gate->clients[number] = (struct gate_client){.board = NULL};
    if (gate->holder == number)
        gate->holder = GATE_MOST_CLIENTS;
    if (gate->learner == number)
        gate->learner = GATE_MOST_CLIENTS;
}

/* ---- what is allowed ---- */

static bool wants(const struct gate_client *client)
{
    return client->board && (client->busy || atomic_load(&client->board->waiting));
}

/* Whether the client has had something on the GPU since it was looked at, as far as that can be seen. */
static bool was_active(struct gate_client *client)
{
    uint32_t asked = 0;
    uint64_t launches = atomic_load(&client->board->launches);
    for (uint32_t i = 0; i < BOARD_LANES; i++)
        asked += atomic_load(&client->board->lanes[i].asked);
    bool active = client->busy || asked != client->asked || launches != client->launches;
    client->busy = board_is_busy(client->board);
    client->asked = asked;
    client->launches = launches;
    return active || client->busy;
}

static void note(struct gate *gate, uint64_t now)
{
    uint64_t active = 0, waiting = 0;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct gate_client *client = &gate->clients[i];
        if (!client->board)
            continue;
        if (client->busy)
            client->busy_ns += now - client->since;
        active |= (uint64_t)was_active(client) << i;
        /* who is held back altogether is there at no moment; who is held back because another one is busy, just at these */
        waiting |= (uint64_t)(atomic_load(&client->board->waiting) != 0 && !client->shut) << i;
    }
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct gate_client *client = &gate->clients[i];
        if (!client->board)
            continue;
        uint64_t others = (active | waiting) & ~(UINT64_C(1) << i), passed = client->since ? now - client->since : 0;
        const struct rate_look look = {.passed_ns = passed,
                                       .window_ns = gate->rules.window_ns,
                                       .wanted = client->wanted,
                                       .noted = client->noted,
                                       .others = others != 0,
                                       .blocks = work_take(&client->work, client->board, client->sheet, passed)};
        rate_note(&client->rate, client->board, &look);
        bool comes = !client->since;
        client->since = now;
        client->wanted = wants(client);
        if (client->wanted || active >> i & 1)
            gate->wanted_ns = now;
        if (client->wanted || active >> i & 1 || comes)
            client->wanted_ns = now;
    }
}

static uint64_t members_of(const struct gate *gate, const struct board_front *front)
{
    uint64_t members = 0;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        members |= (uint64_t)(gate->clients[i].board && gate->clients[i].front == front) << i;
    return members;
}

/* Who goes first, on the front of each user; of other users' programs only whether one of those is busy now. */
static void publish(struct gate *gate, uint64_t first, uint64_t now)
{
    uint64_t seen = 0, busy = 0;
    gate->several = false;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        busy |= (uint64_t)(gate->clients[i].board && gate->clients[i].busy) << i;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct board_front *front = gate->clients[i].front;
        if (!gate->clients[i].board || seen >> i & 1)
            continue;
        uint64_t members = members_of(gate, front);
        gate->several |= seen != 0;
        seen |= members;
        atomic_store(&front->first, first & members);
        atomic_store(&front->elsewhere, (first & busy & ~members) != 0);
        atomic_store(&front->looked, now);
    }
}

/* Programs see themselves when one that goes first is busy: that needs nobody who would have to wake up in between. */
static uint64_t look_priority(struct gate *gate, uint64_t now)
{
    uint64_t first = 0;
    bool others = false;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        first |= (uint64_t)(client->board && client->urgent) << i;
        others |= client->board && !client->urgent;
    }
    publish(gate, first, now);
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        if (client->board && client->urgent)
            set(gate, i, others ? BOARD_COUNTED : BOARD_FREE);
        else if (client->board)
            set(gate, i, first ? BOARD_BOUNDED : BOARD_FREE);
    }
    if (!first || !others)
        return GATE_NEVER;
    return gate->several ? GATE_RATE_NS : GATE_SAMPLE_NS;
}

/* ---- goals as rates ---- */

/* Under a policy of corun/policy.h, of a program whose launches are workers: others have no part of which the rate would be. */
static bool is_to_learn(const struct gate *gate, const struct gate_client *client)
{
    bool workers = gate->rules.policy == GATE_WORKERS;
    bool needed = workers && gate->rules.choice.policy->needs_isolated_ipc;
    return client->board && (client->rate.goal == CORUN_GOAL_FRACTION || needed) &&
           !rate_alone_known(&client->rate.alone) && (!workers || atomic_load(&client->board->obeys));
}

/* Others are held back for a while where a part of a rate alone is promised that nobody knows. */
static void choose_learner(struct gate *gate, uint64_t now)
{
    struct gate_client *learner = gate->learner < GATE_MOST_CLIENTS ? &gate->clients[gate->learner] : NULL;
    if (learner && is_to_learn(gate, learner) && now < gate->learn_until)
        return;
    if (learner)
        learner->learn_again = now + GATE_LEARN_AGAIN_NS;
    gate->learner = GATE_MOST_CLIENTS;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        if (!is_to_learn(gate, client) || !wants(client) || now < client->learn_again)
            continue;
        gate->learner = i;
        gate->learn_until = now + GATE_LEARN_NS;
        return;
    }
}

/* Who has a goal, who goes first, and for whom that is not enough: bits. */
struct standing {
    uint64_t goals, first, overdue;
};

/* Whoever is alone is noted until its rate is known well; where nobody has a goal, nobody is. */
static enum board_gate gate_of(const struct gate *gate, uint32_t number, const struct standing *standing, bool alone)
{
    uint64_t first = standing->first, goals = standing->goals;
    const struct gate_client *client = &gate->clients[number];
    uint64_t own = UINT64_C(1) << number;
    if (alone)
        return client->rate.alone.wanted_ns < RATE_SETTLED_NS ? BOARD_COUNTED : BOARD_FREE;
    if (!goals)
        return BOARD_FREE;
    if (gate->learner != GATE_MOST_CLIENTS && gate->learner != number)
        return BOARD_CLOSED;
    if (standing->overdue && !((standing->overdue | first) & own))
        return BOARD_CLOSED;
    /* who has more than its goal yields to who has less */
    return goals & own && (first & own || !first) ? BOARD_COUNTED : BOARD_BOUNDED;
}

/* At odd moments: a program that does the same in every millisecond would else be seen at the same point of it each time. */
static uint64_t next_sample(struct gate *gate)
{
    gate->random = gate->random * 1664525u + 1013904223u;
    return GATE_RATE_NS / 2 + (uint64_t)(gate->random >> 8) * GATE_RATE_NS / (UINT32_MAX >> 8);
}

/* As look_priority(), and only who is behind its goal goes first. */
static uint64_t look_goals(struct gate *gate, uint64_t now)
{
    struct standing standing = {0};
    uint32_t there = 0;
    bool learns = false;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        bool urgent = client->board && client->urgent;
        bool behind = rate_is_behind(&client->rate) || client->rate.goal == CORUN_GOAL_NONE;
        there += client->board != NULL;
        standing.goals |= (uint64_t)urgent << i;
        standing.first |= (uint64_t)(urgent && behind) << i;
        standing.overdue |= (uint64_t)(urgent && rate_is_overdue(&client->rate, gate->rules.window_ns)) << i;
        learns |= client->board && client->rate.alone.wanted_ns < RATE_SETTLED_NS;
    }
    if (there > 1)
        choose_learner(gate, now);
    else
        gate->learner = GATE_MOST_CLIENTS;
    publish(gate, standing.first, now);
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        if (gate->clients[i].board)
            set(gate, i, gate_of(gate, i, &standing, there == 1));
    if (there == 1 ? !learns : !standing.goals)
        return GATE_NEVER;
    return now - gate->wanted_ns < GATE_REST_NS ? next_sample(gate) : GATE_SAMPLE_NS;
}

/* ---- turns ---- */

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
            set(gate, i, count == 1 ? BOARD_FREE : open ? BOARD_BOUNDED : BOARD_CLOSED);
    }
    return count > 1 && others_want(gate) ? GATE_LOOK_NS : GATE_NEVER;
}

/* ---- SMs ---- */

static void set_sms(struct gate_client *client, uint32_t sms)
{
    if (atomic_exchange(&client->board->sms, sms) != sms)
        (void)syscall(SYS_futex, &client->board->sms, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Launches are workers, and it has wanted the GPU lately. */
static bool has_part(const struct gate *gate, const struct gate_client *client, uint64_t now)
{
    return client->board && atomic_load(&client->board->obeys) && now - client->wanted_ns <= gate->rules.window_ns;
}

static bool has_goal(const struct gate_client *client)
{
    return client->rate.goal == CORUN_GOAL_FRACTION;
}

/* The part of all SMs for a promise of all, and for each without a promise. Those are not left without any. */
struct division {
    double goal, other;
};

static struct division divide(const struct gate *gate, uint64_t now)
{
    double goals = 0;
    uint32_t others = 0;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        const struct gate_client *client = &gate->clients[i];
        if (!has_part(gate, client, now))
            continue;
        goals += has_goal(client) ? client->rate.goal_value : 0;
        others += !has_goal(client);
    }
    double least = others < 16 ? others / 32.0 : 0.5, room = 1 - least;
    double goal = !(goals > 0) ? 0 : goals > room || !others ? room / goals : 1;
    return (struct division){goal, others ? (1 - goals * goal) / others : 0};
}

/*
 * Who is alone has whole launches. Who comes, or wants the GPU again, has what it had, or everything, for the quarter of a millisecond until that is
 * noticed.
 */
static uint64_t look_partition(struct gate *gate, uint64_t now)
{
    struct division division = divide(gate, now);
    uint32_t there = 0, from = 0;
    double sum = 0;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        there += gate->clients[i].board != NULL;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct gate_client *client = &gate->clients[i];
        if (!client->board)
            continue;
        set(gate, i, there > 1 ? BOARD_COUNTED : BOARD_FREE);
        if (there == 1) {
            set_sms(client, 0);
        } else if (has_part(gate, client, now)) {
            sum += has_goal(client) ? client->rate.goal_value * division.goal : division.other;
            uint32_t end = (uint32_t)(sum * BOARD_SMS + 0.5);
            end = end > from ? end : from + 1; /* none at all would mean whole launches */
            end = end < BOARD_SMS ? end : BOARD_SMS;
            set_sms(client, board_sms(from, end));
            from = end;
        } else if (!atomic_load(&client->board->sms)) {
            set_sms(client, board_sms(0, BOARD_SMS));
        }
    }
    if (there == 1)
        return GATE_NEVER;
    return now - gate->wanted_ns < GATE_REST_NS ? next_sample(gate) : GATE_SAMPLE_NS;
}

/* ---- policies of corun/policy.h ---- */

/* Tables are there, and the program tells what is in them. */
static bool is_ready(const struct gate_client *client, const struct sms_shape *shape)
{
    return atomic_load(&client->board->obeys) && shape->sms;
}

static bool stands_still(const struct gate_client *client, uint64_t now)
{
    uint64_t looked = atomic_load(&client->sheet->looked_ns);
    return now > looked && now - looked > GATE_STALE_NS;
}

static bool takes_part(const struct gate *gate, const struct gate_client *client, const struct sms_shape *shape,
                       uint64_t now)
{
    bool lacks = gate->rules.choice.policy->needs_isolated_ipc && !rate_alone_known(&client->rate.alone);
    return is_ready(client, shape) && !stands_still(client, now) && !lacks &&
           now - client->wanted_ns <= gate->rules.window_ns;
}

/* What is promised, as thread blocks in a nanosecond; NONE where that is not known. */
static void describe_goal(struct gate_client *client, struct sms_program *program)
{
    const struct rate *rate = &client->rate;
    double each = rate->runs >= GATE_RUNS ? (double)rate->blocks / (double)rate->runs : 0, rated = 0;
    if (each > 1.05 * client->run_blocks || each < 0.95 * client->run_blocks)
        client->run_blocks = each;
    if (rate->goal == CORUN_GOAL_FRACTION)
        rated = rate->goal_value * program->alone;
    else if (rate->goal == CORUN_GOAL_MILLISECONDS)
        rated = client->run_blocks / (rate->goal_value * 1e6);
    else if (rate->goal == CORUN_GOAL_FRAMES_PER_SECOND)
        rated = client->run_blocks * rate->goal_value / 1e9;
    if (!(rated > 0) || rated > 1e9)
        return;
    program->goal = rate->goal;
    program->goal_value = rate->goal_value;
    program->goal_rate = rated;
}

static enum corun_status look_sms(struct gate *gate, uint64_t now)
{
    struct sms_program programs[GATE_MOST_CLIENTS] = {0};
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct gate_client *client = &gate->clients[i];
        if (!client->board)
            continue;
        const struct sms_shape shape = sms_shape_of(client->sheet);
        if (!takes_part(gate, client, &shape, now))
            continue;
        programs[i] = (struct sms_program){.takes_part = true,
                                           .wants = wants(client),
                                           .board = client->board,
                                           .sheet = client->sheet,
                                           .shape = shape,
                                           .goal = CORUN_GOAL_NONE,
                                           .alone = rate_alone_blocks(&client->rate.alone),
                                           .progress = client->rate.progress,
                                           .runs = client->rate.runs};
        describe_goal(client, &programs[i]);
    }
    return sms_look(gate->sms, programs, now);
}

/*
 * A program that has a part may launch while it has an SM. One that has wanted nothing for a while stands at the gate when it comes back: that rings, and corund
 * gives it a part. One that stands still has what it had. All else goes everywhere.
 */
static void let_launch(struct gate *gate, uint32_t number, uint64_t now)
{
    struct gate_client *client = &gate->clients[number];
    const struct sms_shape shape = sms_shape_of(client->sheet);
    bool part = sms_has_part(gate->sms, number), ready = is_ready(client, &shape), still = stands_still(client, now);
    bool idle = ready && !still && now - client->wanted_ns > gate->rules.window_ns;
    if (!part && !(ready && still) && !idle)
        set_sms(client, board_sms(0, BOARD_SMS));
    bool closed = part ? !sms_count(gate->sms, number) : idle;
    set(gate, number, closed ? BOARD_CLOSED : BOARD_COUNTED);
}

/* Who is alone has whole launches. While a rate alone is learned, others are held back, and the policy sleeps. */
static uint64_t look_workers(struct gate *gate, uint64_t now)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        there += gate->clients[i].board != NULL;
    if (there > 1)
        choose_learner(gate, now);
    else
        gate->learner = GATE_MOST_CLIENTS;
    bool learns = gate->learner != GATE_MOST_CLIENTS;
    if (learns)
        sms_pause(gate->sms, now);
    else if (there > 1)
        gate->failed = look_sms(gate, now) != CORUN_OK;
    bool counts = false;
    if (gate->failed)
        return GATE_NEVER;
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++) {
        struct gate_client *client = &gate->clients[i];
        if (!client->board)
            continue;
        counts |= there > 1 || client->rate.alone.wanted_ns < RATE_SETTLED_NS;
        if (there == 1)
            set(gate, i, counts ? BOARD_COUNTED : BOARD_FREE);
        else if (learns)
            set(gate, i, i == gate->learner ? BOARD_COUNTED : BOARD_CLOSED);
        else
            let_launch(gate, i, now);
        if (there == 1 || i == gate->learner)
            set_sms(client, 0);
    }
    if (!counts)
        return GATE_NEVER;
    return now - gate->wanted_ns < GATE_REST_NS ? next_sample(gate) : GATE_SAMPLE_NS;
}

static uint64_t look_left_over(struct gate *gate)
{
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        if (gate->clients[i].board)
            set(gate, i, BOARD_FREE);
    return GATE_NEVER;
}

/* Nobody divides them. */
static void forget_sms(struct gate *gate)
{
    for (uint32_t i = 0; i < GATE_MOST_CLIENTS; i++)
        if (gate->clients[i].board)
            set_sms(&gate->clients[i], 0);
}

uint64_t gate_look(struct gate *gate, uint64_t now_ns)
{
    uint64_t passed = gate->looked ? now_ns - gate->looked : 0;
    gate->looked = now_ns;
    note(gate, now_ns);
    if (gate->rules.policy != GATE_PRIORITY && gate->rules.policy != GATE_GOAL)
        publish(gate, 0, now_ns);
    if (gate->failed || (gate->rules.policy != GATE_PARTITION && gate->rules.policy != GATE_WORKERS))
        forget_sms(gate);
    switch (gate->rules.policy) {
    case GATE_PRIORITY:
        return look_priority(gate, now_ns);
    case GATE_GOAL:
        return look_goals(gate, now_ns);
    case GATE_TIME_SLICE:
    case GATE_EVEN:
        return look_turns(gate, passed);
    case GATE_PARTITION:
        return look_partition(gate, now_ns);
    case GATE_WORKERS:
        return gate->failed ? look_left_over(gate) : look_workers(gate, now_ns);
    default:
        return look_left_over(gate);
    }
}
