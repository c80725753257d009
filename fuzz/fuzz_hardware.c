/* SPDX-License-Identifier: MIT */
/*
 * Programs and tools that send a corund on a GPU of hardware anything: messages of the right length with anything in them, bytes as they are, and
 * boards on which they write what they like. Before, that corund takes over the state of another one, in which the input changes bytes (an offset of 16
 * bits, and the byte that comes there). Of two users with limits and corund's own.
 */
#include "daemon/hardware_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 6, USERS = 3, MOST_EVENTS = 64, MOST_CHANGES = 15 };
#define SHARE 0.75

static const uint8_t uuid_of_gpu[WIRE_UUID_BYTES] = {1, 2, 3};

struct input {
    const uint8_t *data;
    size_t bytes;
};

static uint8_t next(struct input *input)
{
    uint8_t value = input->bytes ? *input->data : 0;
    input->data += input->bytes != 0;
    input->bytes -= input->bytes != 0;
    return value;
}

static void give(struct input *input, void *into, size_t bytes)
{
    size_t given = input->bytes < bytes ? input->bytes : bytes;
    if (given)
        memcpy(into, input->data, given);
    input->data += given;
    input->bytes -= given;
}

/* ---- what one corund hands over to the next ---- */

static void take_over(struct hardware *hardware, struct input *input)
{
    struct buffer state = {.data = NULL};
    uint64_t begun;
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!list || !hardware_hand_over(hardware, &state))
        abort();
    uint8_t changes = next(input) % (MOST_CHANGES + 1);
    for (uint8_t i = 0; i < changes; i++) {
        size_t offset = next(input);
        offset = offset << 8 | next(input);
        state.data[offset % state.bytes] = next(input);
    }
    size_t bytes = changes && next(input) == 1 ? state.bytes - 1 : state.bytes;
    enum corun_status status = hardware_take_state(hardware, state.data, bytes, &begun, list);
    const struct hardware_settings *settings = hardware->settings;
    if (hardware->known_count > MOST_KNOWN || hardware->known_next >= MOST_KNOWN ||
        !wire_text(settings->path, sizeof settings->path) ||
        !wire_text(settings->policy_text, sizeof settings->policy_text) ||
        (status != CORUN_OK && !corun_diagnostics_count(list)) || (status == CORUN_OK && bytes != state.bytes))
        abort();
    for (uint32_t i = 0; i < MOST_KNOWN; i++)
        if (!wire_text(hardware->known[i].name, WIRE_NAME_BYTES))
            abort();
    free(state.data);
    corun_diagnostics_destroy(list);
}

/* ---- clients ---- */

static struct client *begin(struct hardware *hardware, uint32_t i)
{
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    uint32_t user = i % USERS;
    *client = (struct client){.hardware = hardware,
                              .next = hardware->clients,
                              .peer = {.pid = i + 1, .uid = user ? 1000000 + user : (uint32_t)geteuid()},
                              .socket = -1};
    client->row = hardware_row_of(hardware, &client->peer);
    hardware->clients = client;
    hardware->client_count++;
    return client;
}

static void end(struct client *client)
{
    struct hardware *hardware = client->hardware;
    struct client **at = &hardware->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    hardware->client_count--;
    if (client->board)
        hardware_leave(hardware, client);
    free(client->in.data);
    free(client->out.data);
    free(client);
    hardware_look(hardware);
}

/* corund says nothing that a client does not understand. */
static void read_answers(struct client *client)
{
    struct buffer *out = &client->out;
    struct wire_frame frame;
    while (out->data && wire_take(out->data + out->taken, out->bytes - out->taken, false, &frame) == WIRE_WHOLE)
        out->taken += frame.bytes;
    if (out->taken != out->bytes)
        abort();
    out->taken = out->bytes = 0;
}

/* Each has a board of its own; goals of users promise no more than their share. */
static void check(const struct hardware *hardware)
{
    double promised[USERS] = {0};
    for (const struct client *client = hardware->clients; client; client = client->next) {
        if (!client->board)
            continue;
        if (client->number >= BOARD_CLIENTS || client->board != board_at(client->boards->front, client->number) ||
            client->boards->uid != client->peer.uid)
            abort();
        for (const struct client *other = client->next; other; other = other->next)
            if (other->board && other->gpu == client->gpu && other->number == client->number)
                abort();
        if (client->attach.goal == CORUN_GOAL_FRACTION && client->gpu == &hardware->gpus[0])
            promised[(client->peer.pid - 1) % USERS] += client->attach.goal_value;
    }
    for (uint32_t user = 1; user < USERS; user++)
        if (!(promised[user] <= SHARE + 1e-6))
            abort();
}

/* ---- what they do ---- */

static const char *const policies[] = {"left-over",  "priority",        "goal:window=1",
                                       "time-slice", "even:quantum=50", "partition"};

/* A policy that there is, of its length. */
static void name_policy(uint8_t *message, struct wire_header *header, uint8_t which)
{
    const char *text = policies[which % (sizeof policies / sizeof *policies)];
    size_t bytes = strlen(text);
    const struct wire_policy policy = {WIRE_ALL_GPUS};
    header->bytes = (uint32_t)(sizeof policy + bytes);
    memcpy(message, header, sizeof *header);
    memcpy(message + sizeof *header, &policy, sizeof policy);
    memcpy(message + sizeof *header + sizeof policy, text, bytes);
}

/* A message, its structure and what is behind it from the input; that of a program that comes is of this version, else hardly any would be let in. */
static void send_message(struct client *client, struct input *input, uint8_t kind)
{
    static const uint8_t often[] = {WIRE_ATTACH, WIRE_HOLD, WIRE_GOAL, WIRE_POLICY, WIRE_LIST, WIRE_RING, WIRE_ATTACH};
    uint8_t message[4096] = {0};
    uint8_t type = kind < sizeof often ? often[kind] : next(input) % WIRE_WELCOME;
    const struct wire_row *row = wire_row(type);
    uint32_t tail = row->most ? next(input) : 0;
    struct wire_header header = {type, row->bytes + tail};
    memcpy(message, &header, sizeof header);
    give(input, message + sizeof header, row->bytes + tail);
    if (type == WIRE_POLICY && tail % 2)
        name_policy(message, &header, (uint8_t)tail / 2);
    if (type == WIRE_ATTACH) {
        struct wire_attach attach;
        memcpy(&attach, message + sizeof header, sizeof attach);
        attach.version = WIRE_VERSION;
        attach.board_bytes = sizeof(struct board);
        const uint32_t value = attach.goal / 256;
        attach.goal %= CORUN_GOAL_FRAMES_PER_SECOND + 2;
        if (value & 1) /* as the host writes a double it is hardly ever a small one */
            attach.goal_value = value % 100 / 100.0;
        memcpy(message + sizeof header, &attach, sizeof attach);
    }
    hardware_receive(client, message, sizeof header + header.bytes);
}

static void write_on_board(struct board *board, struct input *input)
{
    uint8_t what = next(input), place = next(input);
    uint64_t value = (uint64_t)next(input) << place % 60;
    switch (what % 8) {
    case 0:
        atomic_store(&board->lanes[place % BOARD_LANES].asked, (uint32_t)value);
        break;
    case 1:
        atomic_store(&board->lanes[place % BOARD_LANES].ended, (uint32_t)value);
        break;
    case 2:
        atomic_store(&board->runs, value);
        break;
    case 3:
        atomic_store(&board->last_runs[place], value);
        break;
    case 4:
        atomic_store(&board->run_ns, value);
        break;
    case 5:
        atomic_store(&board->bytes, value);
        break;
    case 6:
        atomic_store(&board->obeys, (uint32_t)value);
        break;
    default:
        atomic_store(&board->waiting, (uint32_t)value);
    }
}

static void act(struct client *client, struct input *input, uint8_t kind)
{
    if (kind < 30) {
        send_message(client, input, kind % 10);
    } else if (kind < 34) {
        size_t some = next(input) < input->bytes ? input->bytes / 2 : input->bytes;
        hardware_receive(client, input->data, some);
        input->data += some;
        input->bytes -= some;
    } else if (kind < 40) {
        if (client->board)
            write_on_board(client->board, input);
    } else {
        client->ends = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input input = {data, bytes};
    const struct limits limits = {.rows = {{.of = LIMIT_OF_EVERYBODY, .clients = 2, .memory = 1 << 20, .share = SHARE}},
                                  .count = 1};
    struct hardware_settings settings = {.path = "/run/corund.sock", .policy_text = "goal", .limits = &limits};
    struct hardware *hardware = calloc(1, sizeof *hardware);
    struct client *clients[CLIENTS];
    if (!hardware || gate_rules_read(settings.policy_text, &settings.rules, NULL) != CORUN_OK)
        abort();
    hardware->settings = &settings;
    hardware->socket = hardware->timer = -1;
    const struct client owner = {.hardware = hardware, .row = LIMITS_OWNER};
    const char *problem;
    hardware_gpu_of(&owner, uuid_of_gpu, &problem)->named_by_program = false;
    take_over(hardware, &input);
    (void)hardware_set_rules(hardware, &settings.rules, NULL);
    for (uint32_t i = 0; i < CLIENTS; i++)
        clients[i] = begin(hardware, i);
    for (uint32_t event = 0; input.bytes && event < MOST_EVENTS; event++) {
        uint8_t what = next(&input), who = what % CLIENTS;
        act(clients[who], &input, what / CLIENTS);
        for (uint32_t i = 0; i < CLIENTS; i++)
            read_answers(clients[i]);
        check(hardware);
        if (clients[who]->ends) {
            end(clients[who]);
            clients[who] = begin(hardware, who);
        }
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        end(clients[i]);
    free(hardware);
    return 0;
}
