/* SPDX-License-Identifier: MIT */
/* What programs and tools ask of corund on a GPU of hardware: a place, the list, goals, another policy. */
#include "daemon/hardware_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NUMBERS_KHZ 1000000u /* a cycle of the list is a nanosecond */

/* ---- rates alone ---- */

static struct known *find_known(struct hardware *hardware, const struct client *client)
{
    for (uint32_t i = 0; i < hardware->known_count; i++)
        if (hardware->known[i].uid == client->peer.uid && strcmp(hardware->known[i].name, client->attach.name) == 0 &&
            memcmp(hardware->known[i].gpu, client->gpu->found.uuid, WIRE_UUID_BYTES) == 0)
            return &hardware->known[i];
    return NULL;
}

/* Its rate alone is that of the user's next program of that name. */
void hardware_keep_known(struct hardware *hardware, const struct client *client)
{
    const struct rate_alone *alone = &client->gpu->gate.clients[client->number].rate.alone;
    struct known *known = find_known(hardware, client);
    if (!rate_alone_known(alone))
        return;
    if (!known) {
        known = &hardware->known[hardware->known_next];
        hardware->known_next = (hardware->known_next + 1) % MOST_KNOWN;
        hardware->known_count += hardware->known_count < MOST_KNOWN;
        memcpy(known->name, client->attach.name, sizeof known->name);
        known->uid = client->peer.uid;
        memcpy(known->gpu, client->gpu->found.uuid, sizeof known->gpu);
    }
    known->alone = *alone;
}

void hardware_leave(struct hardware *hardware, struct client *client)
{
    hardware_keep_known(hardware, client);
    hardware_journal_note(hardware->journal, client, "client", "goes", hardware_now());
    gate_leave(&client->gpu->gate, client->number);
    hardware_give_back_boards(client->gpu, client->boards);
}

/* ---- limits ---- */

uint32_t hardware_row_of(const struct hardware *hardware, const struct peer *peer)
{
    return limits_find(hardware->settings->limits, peer, geteuid());
}

/* NULL: it is not limited. */
static const struct limit *limit_of(const struct client *client)
{
    static const struct limit nothing = {.of = LIMIT_OF_EVERYBODY};
    const struct limits *limits = client->hardware->settings->limits;
    if (client->row == LIMITS_OWNER)
        return NULL;
    return client->row < limits->count ? &limits->rows[client->row] : &nothing;
}

static bool shares_with(const struct client *client, const struct client *other)
{
    return limits_same(client->hardware->settings->limits, client->row, &client->peer, other->row, &other->peer);
}

/* Whether the limits leave a place to one more. */
static bool has_place(const struct client *client)
{
    const struct limit *limit = limit_of(client);
    uint32_t count = 0;
    for (const struct client *other = client->hardware->clients; other; other = other->next)
        count += other != client && other->board && shares_with(client, other);
    return !limit || count < limit->clients;
}

/* Whether goals of its user may promise so much; NULL: they may. */
static const char *share_problem_there(const struct client *client, uint32_t goal, double value)
{
    const struct limit *limit = limit_of(client);
    double sum = value;
    if (!limit || isinf(limit->share) || goal == CORUN_GOAL_NONE)
        return NULL;
    if (goal != CORUN_GOAL_FRACTION)
        return "where the share of a user is limited, a goal is a part of the rate alone: what times of runs take of "
               "the "
               "GPU is not known";
    if (client->board && client->attach.goal == CORUN_GOAL_FRACTION && value <= client->attach.goal_value)
        return NULL; /* it promises no more than it did, whatever the limit is by now */
    for (const struct client *other = client->hardware->clients; other; other = other->next)
        if (other != client && other->gpu == client->gpu && other->board && shares_with(client, other) &&
            other->attach.goal == CORUN_GOAL_FRACTION)
            sum += other->attach.goal_value;
    return sum <= limit->share + 1e-9 ? NULL
                                      : "the goals of this user's programs would be more than its share of the GPU";
}

static uint64_t memory_of(const struct client *client)
{
    return client->memory_limited ? client->bytes : atomic_load(&client->board->bytes);
}

static void keep_memory(struct client *client, uint64_t bytes)
{
    client->bytes = bytes;
    atomic_store(&client->board->bytes, bytes);
}

/* Memory of all programs that share the limit of this one, but for its own. */
static uint64_t memory_of_others(const struct client *client)
{
    uint64_t sum = 0;
    for (const struct client *other = client->hardware->clients; other; other = other->next) {
        uint64_t bytes = other != client && other->board && shares_with(client, other) ? memory_of(other) : 0;
        sum = bytes < UINT64_MAX - sum ? sum + bytes : UINT64_MAX;
    }
    return sum;
}

static bool is_memory_limited(const struct client *client)
{
    const struct limit *limit = limit_of(client);
    return limit && limit->memory != UINT64_MAX;
}

void hardware_limit_memory(struct client *client)
{
    if (!client->board)
        return;
    bool limited = is_memory_limited(client);
    uint64_t bytes = memory_of(client);
    client->memory_limited = limited;
    keep_memory(client, bytes);
    atomic_store(&client->board->limited, limited);
}

/* ---- what is asked ---- */

static void answer_with(struct client *client, enum wire_type type, const void *body, const void *tail, size_t bytes)
{
    const struct wire_row *row = wire_row(type);
    struct wire_header header = {type, row->bytes + (uint32_t)bytes};
    if (!buffer_add(&client->out, &header, sizeof header) || !buffer_add(&client->out, body, row->bytes) ||
        !buffer_add(&client->out, tail, bytes))
        client->ends = true;
}

static void answer(struct client *client, enum wire_type type, const void *body, const char *text)
{
    answer_with(client, type, body, text, text ? strlen(text) : 0);
}

static void hardware_refuse(struct client *client, enum corun_status status, const char *text)
{
    const struct wire_done body = {status};
    answer(client, WIRE_REFUSED, &body, text);
}

static void note_goal(const struct client *client)
{
    char text[64];
    snprintf(text, sizeof text, "%s %.6g", wire_goal_word((enum corun_goal_kind)client->attach.goal),
             client->attach.goal == CORUN_GOAL_NONE ? 0 : client->attach.goal_value);
    hardware_journal_note(client->hardware->journal, client, "goal", text, hardware_now());
}

/* For the next corund. */
static void post_goal(const struct client *client)
{
    uint64_t bits;
    memcpy(&bits, &client->attach.goal_value, sizeof bits);
    atomic_store(&client->board->goal_value, bits);
    atomic_store(&client->board->goal, client->attach.goal);
}

/* NULL: it is a goal. */
static const char *goal_problem_there(const struct client *client, uint32_t kind, double value)
{
    if (kind == CORUN_GOAL_NONE)
        return NULL;
    if (kind == CORUN_GOAL_IPC || kind > CORUN_GOAL_FRAMES_PER_SECOND)
        return "on a GPU of hardware a goal is a part of the rate alone, as 90%, or ms=X or fps=X of the program's "
               "runs: nobody counts instructions there";
    if (!isfinite(value) || value <= 0 || value > (kind == CORUN_GOAL_FRACTION ? 1 : 1e9))
        return "a goal is above 0, and as a part of the rate alone at most 100%";
    return share_problem_there(client, kind, value);
}

static bool has_workers(const struct client *client)
{
    return client->attach.workers || (client->board && atomic_load(&client->board->obeys));
}

/* NULL: it is a goal, and one that the policy keeps for such a program. */
static const char *goal_problem_by_policy(const struct client *client, uint32_t kind, double value)
{
    const char *problem = goal_problem_there(client, kind, value);
    bool by_sms = client->hardware->settings->rules.policy == GATE_WORKERS && kind != CORUN_GOAL_NONE;
    return problem || !by_sms || has_workers(client)
               ? problem
               : "the policy keeps goals by SMs, and the program has no workers: start it with `corun share --workers`";
}

static void attach(struct client *client, const struct wire_frame *frame)
{
    struct wire_attach *attach = &client->attach;
    struct hardware *hardware = client->hardware;
    if (client->board) {
        client->ends = true;
        return;
    }
    wire_body(frame, attach);
    if (attach->version != WIRE_VERSION || attach->board_bytes != sizeof(struct board)) {
        hardware_refuse(client, CORUN_ARGUMENT, "the program's shim and the daemon are of different versions of corun");
        return;
    }
    if (!wire_text(attach->name, sizeof attach->name)) {
        client->ends = true;
        return;
    }
    const char *problem;
    client->gpu = hardware_gpu_of(client, attach->gpu, &problem);
    if (!client->gpu) {
        hardware_refuse(client, CORUN_MEMORY, problem);
        return;
    }
    problem = goal_problem_by_policy(client, attach->goal, attach->goal_value);
    if (problem) {
        hardware_refuse(client, CORUN_ARGUMENT, problem);
        return;
    }
    if (!has_place(client)) {
        hardware_refuse(client, CORUN_ARGUMENT, "this user has as many programs there as it may have");
        return;
    }
    struct boards *boards = hardware_take_boards(client->gpu, client->peer.uid);
    if (!boards) {
        hardware_refuse(client, CORUN_MEMORY, "there is no memory for its board");
        return;
    }
    client->number = gate_enter_at(&client->gpu->gate, boards->front, attach->goal != CORUN_GOAL_NONE);
    if (client->number == GATE_MOST_CLIENTS) {
        hardware_give_back_boards(client->gpu, boards);
        hardware_refuse(client, CORUN_MEMORY, "there are too many clients");
        return;
    }
    const struct known *known = find_known(hardware, client);
    gate_promise(&client->gpu->gate, client->number, (enum corun_goal_kind)attach->goal, attach->goal_value,
                 known ? &known->alone : NULL);
    client->boards = boards;
    client->board = board_at(boards->front, client->number);
    client->sends_file = true;
    client->memory_limited = is_memory_limited(client); /* it tells at once what it has */
    hardware_limit_memory(client);
    post_goal(client);
    hardware_journal_note(hardware->journal, client, "client", "comes", hardware_now());
    if (attach->goal != CORUN_GOAL_NONE)
        note_goal(client);
    const struct wire_attached body = {client->number, 0};
    hardware_look(hardware); /* its gate, before it sees the board */
    answer(client, WIRE_BOARD, &body, NULL);
}

static void describe_runs(const struct board *board, struct wire_client *row)
{
    struct lengths lengths = {.count = 0};
    row->runs = atomic_load(&board->runs);
    for (uint64_t i = 0; i < BOARD_RUNS && i < row->runs; i++)
        lengths_add(&lengths, atomic_load(&board->last_runs[i]), false);
    lengths_tell(&lengths, &row->run_p50_cycles, &row->run_p99_cycles);
}

/* A program may write there what it likes. */
static void describe_launches(const struct board *board, struct wire_client *row)
{
    struct lengths lengths = {.count = 0};
    uint64_t timed = atomic_load(&board->timed);
    for (uint64_t i = 0; i < BOARD_TIMES && i < timed; i++) {
        uint32_t bits = atomic_load(&board->last_times[i]);
        float milliseconds;
        memcpy(&milliseconds, &bits, sizeof milliseconds);
        if (milliseconds > 0 && milliseconds < 1e9F)
            lengths_add(&lengths, (uint64_t)((double)milliseconds * 1e6), false);
    }
    lengths_tell(&lengths, &row->p50_cycles, &row->p99_cycles);
}

void hardware_describe(const struct client *client, struct wire_client *row)
{
    struct board *board = client->board;
    const struct gate_client *place = &client->gpu->gate.clients[client->number];
    const struct rate *rate = &place->rate;
    *row =
        (struct wire_client){.number = hardware_number(client),
                             .gpu = (uint32_t)(client->gpu - client->hardware->gpus),
                             .pid = client->peer.pid,
                             .uid = client->peer.uid,
                             .state = place->busy || atomic_load(&board->waiting) ? WIRE_STATE_WAITS : WIRE_STATE_HOST,
                             .goal = client->attach.goal,
                             .goal_value = client->attach.goal_value,
                             .in_flight = (uint32_t)board_under_way(board),
                             .launches = atomic_load(&board->launches),
                             .cycles = rate->wanted_ns,
                             .held = atomic_load(&board->held),
                             .held_ns = atomic_load(&board->held_ns),
                             .ended = rate->ended > 0 ? (uint64_t)rate->ended : 0,
                             .alone_per_second = rate_alone_per_second(&rate->alone),
                             .behind = rate_is_behind(rate),
                             .sms = hardware_sms_of(client),
                             .bytes = memory_of(client)};
    describe_runs(board, row);
    describe_launches(board, row);
    memcpy(row->name, client->attach.name, sizeof row->name);
}

void hardware_describe_gpu(const struct hardware *hardware, uint32_t gpu, struct wire_node *node)
{
    *node = (struct wire_node){.cycle = hardware_now(),
                               .core_clock_khz = NUMBERS_KHZ,
                               .hardware = 1,
                               .sample_cycles = HARDWARE_SAMPLE_NS,
                               .index = gpu};
    const struct sms *sms = hardware->gpus[gpu].gate.sms;
    node->sms = sms ? sms_of_gpu(sms) : 0;
    memcpy(node->gpu, hardware->gpus[gpu].found.name, sizeof node->gpu);
    memcpy(node->policy, hardware->settings->policy_text, sizeof node->policy);
}

/* What is refused changes nothing; what a program has already stays its own, whatever the limit is by now. */
static void hold(struct client *client, const struct wire_frame *frame)
{
    struct wire_hold wanted;
    const struct limit *limit = limit_of(client);
    wire_body(frame, &wanted);
    if (!client->board) {
        client->ends = true;
        return;
    }
    uint64_t most = limit ? limit->memory : UINT64_MAX, others = memory_of_others(client);
    bool more = wanted.grows && wanted.bytes > memory_of(client);
    struct wire_room room = {.status = CORUN_OK, .limit = most};
    if (more && most != UINT64_MAX && (others > most || wanted.bytes > most - others))
        room.status = CORUN_MEMORY;
    else
        keep_memory(client, wanted.bytes);
    uint64_t own = memory_of(client);
    room.used = own < UINT64_MAX - others ? own + others : UINT64_MAX;
    answer(client, WIRE_ROOM, &room, NULL);
}

static void list(struct client *client)
{
    struct hardware *hardware = client->hardware;
    const struct wire_done done = {CORUN_OK};
    struct wire_node node;
    uint32_t samples[WIRE_MOST_SAMPLES];
    hardware_watch(hardware, hardware_now());
    for (uint32_t i = 0; i < hardware->gpu_count; i++) {
        hardware_describe_gpu(hardware, i, &node);
        answer(client, WIRE_NODE, &node, NULL);
    }
    for (const struct client *other = hardware->clients; other; other = other->next) {
        struct wire_client row;
        if (!other->board)
            continue;
        hardware_describe(other, &row);
        answer_with(client, WIRE_CLIENT, &row, samples, hardware_samples(other, samples) * sizeof *samples);
    }
    answer(client, WIRE_DONE, &done, NULL);
}

/* Its owner, corund's user and root may. */
static bool may_change(const struct client *client, uint32_t uid)
{
    return client->row == LIMITS_OWNER || client->peer.uid == uid;
}

static void change_goal(struct client *client, const struct wire_frame *frame)
{
    struct hardware *hardware = client->hardware;
    const struct wire_done done = {CORUN_OK};
    struct wire_goal goal;
    wire_body(frame, &goal);
    for (struct client *other = hardware->clients; other; other = other->next) {
        if (!other->board || (goal.pid ? other->peer.pid != goal.pid : other != client))
            continue;
        if (!may_change(client, other->peer.uid)) {
            hardware_refuse(client, CORUN_ARGUMENT, "it is the program of another user");
            return;
        }
        const char *problem = goal_problem_by_policy(other, goal.goal, goal.value);
        if (problem) {
            hardware_refuse(client, CORUN_ARGUMENT, problem);
            return;
        }
        other->attach.goal = goal.goal;
        other->attach.goal_value = goal.value;
        gate_promise(&other->gpu->gate, other->number, (enum corun_goal_kind)goal.goal, goal.value, NULL);
        note_goal(other);
        post_goal(other);
        hardware_look(hardware);
        answer(client, WIRE_DONE, &done, NULL);
        return;
    }
    hardware_refuse(client, CORUN_NOT_FOUND, "no client has that process");
}

/* A goal that is kept by SMs is one of a program whose launches are workers. */
static const struct client *without_workers(const struct hardware *hardware)
{
    for (const struct client *client = hardware->clients; client; client = client->next)
        if (client->board && client->attach.goal != CORUN_GOAL_NONE && !has_workers(client))
            return client;
    return NULL;
}

enum corun_status hardware_change_policy(struct hardware *hardware, const struct gate_rules *rules, const char *text,
                                         struct corun_diagnostics *list)
{
    struct hardware_settings *settings = hardware->settings;
    const struct client *without = rules->policy == GATE_WORKERS ? without_workers(hardware) : NULL;
    if (without)
        return corun_report(
            list, CORUN_ARGUMENT, CORUN_NOWHERE,
            "policy %s keeps goals by SMs, and %s (process %u) has a goal and no workers: start it with "
            "`corun share --workers`",
            rules->choice.policy->name, without->attach.name, without->peer.pid);
    enum corun_status status = hardware_set_rules(hardware, rules, list);
    if (status != CORUN_OK)
        return status;
    if (text != settings->policy_text)
        snprintf(settings->policy_text, sizeof settings->policy_text, "%s", text);
    settings->rules = *rules;
    hardware_journal_note(hardware->journal, NULL, "policy", text, hardware_now());
    return CORUN_OK;
}

/* NULL: it may. */
static const char *policy_problem(const struct client *client, uint32_t gpu)
{
    const struct hardware *hardware = client->hardware;
    if (gpu != WIRE_ALL_GPUS && gpu >= hardware->gpu_count)
        return "there is no such GPU";
    if (gpu != WIRE_ALL_GPUS && hardware->gpu_count > 1)
        return "on hardware, a policy is of all GPUs";
    return client->row == LIMITS_OWNER ? NULL : "only the daemon's user changes the policy";
}

static void change_policy(struct client *client, const struct wire_frame *frame)
{
    struct hardware *hardware = client->hardware;
    const struct wire_done done = {CORUN_OK};
    char text[WIRE_MOST_POLICY] = "";
    struct gate_rules rules;
    struct wire_policy asked;
    memcpy(text, frame->tail, frame->tail_bytes < sizeof text ? frame->tail_bytes : sizeof text - 1);
    wire_body(frame, &asked);
    const char *problem = policy_problem(client, asked.gpu);
    if (problem) {
        bool missing = asked.gpu != WIRE_ALL_GPUS && asked.gpu >= hardware->gpu_count;
        hardware_refuse(client, missing ? CORUN_NOT_FOUND : CORUN_ARGUMENT, problem);
        return;
    }
    struct corun_diagnostics *said = corun_diagnostics_create();
    enum corun_status status =
        said ? gate_rules_choose(text, &hardware->settings->policies, &rules, said) : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = hardware_change_policy(hardware, &rules, text, said);
    if (status == CORUN_OK)
        answer(client, WIRE_DONE, &done, NULL);
    else
        hardware_refuse(client, status,
                        corun_diagnostics_count(said) ? corun_diagnostics_get(said, 0)->message : "out of memory");
    corun_diagnostics_destroy(said);
}

void hardware_serve(struct client *client, const struct wire_frame *frame)
{
    switch (frame->type) {
    case WIRE_ATTACH:
        attach(client, frame);
        break;
    case WIRE_RING:
        hardware_look(client->hardware);
        break;
    case WIRE_HOLD:
        hold(client, frame);
        break;
    case WIRE_LIST:
        list(client);
        break;
    case WIRE_GOAL:
        change_goal(client, frame);
        break;
    case WIRE_POLICY:
        change_policy(client, frame);
        break;
    case WIRE_JOIN:
        hardware_refuse(
            client, CORUN_UNSUPPORTED,
            "this corund shares a GPU of hardware; the program has the libraries of a simulated one: start it with "
            "`corun share`");
        break;
    default:
        client->ends = true;
    }
}
