/* SPDX-License-Identifier: MIT */
/* corun ps, corun goal: who shares the GPU of corund, and another goal for one of them. */
#include "cli/daemon_goal.h"

#include "base/number.h"
#include "cli/command.h"
#include "wire/wire.h"

#include <string.h>

enum { KEY_SOCKET = 0x100 };

static const struct argp_option options[] = {
    {"socket", KEY_SOCKET, "PATH", 0, "where corund is [$CORUN_DAEMON_SOCKET, corund.sock in $XDG_RUNTIME_DIR or /run]",
     1},
    {0},
};

struct ask_options {
    struct command command;
    const char *socket;
    uint32_t words; /* that have come */
    uint64_t pid;   /* GOAL */
    struct daemon_goal goal;
    struct wire_link link;
};

static error_t parse_socket(int key, char *value, struct argp_state *state)
{
    struct ask_options *ask = state->input;
    if (key != KEY_SOCKET)
        return ARGP_ERR_UNKNOWN;
    ask->socket = command_name("--socket", value, state);
    return 0;
}

static enum corun_status reach(struct ask_options *ask)
{
    char path[PATH_BYTES];
    if (!wire_socket_path(ask->socket, path, sizeof path))
        return corun_report(ask->command.list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
    int problem = wire_connect(&ask->link, path);
    return problem ? corun_report(ask->command.list, CORUN_NOT_FOUND, (struct corun_place){path, 0, 0},
                                  "no corund can be reached there: %s", strerror(problem))
                   : CORUN_OK;
}

static enum corun_status lost(const struct ask_options *ask)
{
    return corun_report(ask->command.list, CORUN_FILE, CORUN_NOWHERE, "corund has closed the connection");
}

static void add_row(struct columns *columns, const struct wire_client *client)
{
    static const char *const states[] = {
#define STATE_WORD(name, word, meaning) [WIRE_STATE_##name] = word,
        WIRE_STATES(STATE_WORD)
#undef STATE_WORD
    };
    char size[REPORT_SIZE_BYTES];
    bool alone = client->isolated_ipc > 0 && client->cycles;
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%u", client->number);
    columns_set(columns, 1, PAINT_NONE, "%u", client->pid);
    columns_set(columns, 2, PAINT_NONE, "%.*s", (int)sizeof client->name, client->name);
    columns_set(columns, 3, PAINT_NONE, "%s",
                client->state < sizeof states / sizeof *states ? states[client->state] : "?");
    if (client->goal == CORUN_GOAL_FRACTION)
        columns_set(columns, 4, PAINT_NONE, "%.4g%%", 100 * client->goal_value);
    else if (client->goal == CORUN_GOAL_IPC)
        columns_set(columns, 4, PAINT_NONE, "ipc=%.6g", client->goal_value);
    else
        columns_set(columns, 4, PAINT_NONE, "-");
    columns_set(columns, 5, PAINT_NONE, "%u", client->launches);
    columns_set(columns, 6, PAINT_NONE, "%llu", (unsigned long long)client->cycles);
    columns_set(columns, 7, PAINT_NONE, "%.2f", client->ipc);
    columns_set(columns, 8, PAINT_NONE, alone ? "%.3f" : "-", alone ? client->ipc / client->isolated_ipc : 0.0);
    columns_set(columns, 9, PAINT_NONE, "%s", report_size(client->bytes, size));
}

static enum corun_status list_clients(struct ask_options *ask)
{
    static const char *const titles[] = {"client",   "pid",    "<name", "<state",     "goal",
                                         "launches", "cycles", "IPC",   "normalised", "memory"};
    const struct wire_none none = {0};
    struct wire_frame frame;
    struct wire_client client;
    struct report_style style = output_style(stdout);
    struct columns *columns = columns_create(ask->command.arena, titles, sizeof titles / sizeof *titles);
    if (!columns)
        return CORUN_MEMORY;
    if (!wire_send(&ask->link, WIRE_LIST, &none, NULL, 0))
        return lost(ask);
    for (;;) {
        if (!wire_receive(&ask->link, &frame))
            return lost(ask);
        if (frame.type != WIRE_CLIENT)
            break;
        wire_body(&frame, &client);
        add_row(columns, &client);
    }
    return columns_print(columns, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status run_ps(void *user)
{
    struct ask_options *ask = user;
    enum corun_status status = reach(ask);
    if (status == CORUN_OK)
        status = list_clients(ask);
    wire_close(&ask->link);
    return status;
}

static error_t parse_ps(int key, char *value, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG)
        argp_error(state, "`%s`: ps takes no arguments", value);
    return parse_socket(key, value, state);
}

int command_ps(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_ps,
        .doc =
            "Lists the programs that share the GPU of corund: what they do (guest: no memory yet; host: it computes, "
            "and simulated time stands still; waits: for the GPU), their goals, launches that have ended, cycles "
            "since the first one, thread instructions per cycle, the same beside the rate alone, and memory.",
        .help_filter = command_help_filter};
    struct ask_options ask = {.link = {.socket = -1, .file = -1}};
    return command_perform(&ask.command, &argp, argc, argv, run_ps, &ask);
}

static error_t parse_goal(int key, char *value, struct argp_state *state)
{
    struct ask_options *ask = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (ask->words == 0 && (!number_parse(value, 1000, &ask->pid) || !ask->pid || ask->pid > INT32_MAX))
            argp_error(state, "`%s` is no number of a process", value);
        if (ask->words == 1 && !daemon_goal_parse(value, &ask->goal))
            argp_error(state, DAEMON_GOAL_USAGE ", or none", value);
        if (ask->words++ == 2)
            argp_error(state, "`%s`: one process, one goal", value);
        return 0;
    case ARGP_KEY_SUCCESS:
        if (ask->words != 2)
            argp_error(state, "the number of a process and its goal are missing: corun goal 1234 80%%");
        return 0;
    default:
        return parse_socket(key, value, state);
    }
}

static enum corun_status run_goal(void *user)
{
    struct ask_options *ask = user;
    struct wire_frame frame;
    struct wire_done done;
    const struct wire_goal goal = {(uint32_t)ask->pid, ask->goal.kind, ask->goal.value};
    enum corun_status status = reach(ask);
    if (status == CORUN_OK && (!wire_send(&ask->link, WIRE_GOAL, &goal, NULL, 0) || !wire_receive(&ask->link, &frame) ||
                               (frame.type != WIRE_DONE && frame.type != WIRE_REFUSED)))
        status = lost(ask);
    else if (status == CORUN_OK) {
        wire_body(&frame, &done);
        status = done.status < CORUN_STATUS_COUNT ? (enum corun_status)done.status : CORUN_ARGUMENT;
        if (frame.type == WIRE_REFUSED)
            corun_report(ask->command.list, status, CORUN_NOWHERE, "%.*s", (int)frame.tail_bytes,
                         (const char *)frame.tail);
    }
    wire_close(&ask->link);
    return status;
}

int command_goal(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_goal,
        .args_doc = "PID GOAL",
        .doc = "Gives a program under corund another goal while it runs: `corun goal 1234 80%`, `corun goal 1234 "
               "ipc=300`, `corun goal 1234 none`.",
        .help_filter = command_help_filter};
    struct ask_options ask = {.link = {.socket = -1, .file = -1}};
    return command_perform(&ask.command, &argp, argc, argv, run_goal, &ask);
}
