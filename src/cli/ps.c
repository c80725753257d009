/* SPDX-License-Identifier: MIT */
/* corun ps, corun goal, corun policy: who shares the GPU of corund, another goal for one of them, another policy for all. */
#include "cli/daemon_goal.h"
#include "cli/daemon_link.h"

#include "base/number.h"
#include "report/json_writer.h"
#include "wire/board.h"

#include <math.h>
#include <string.h>

enum { KEY_JSON = 'j', KEY_GPU = 0x100 };

static const struct argp_option ps_options[] = {
    {"json", KEY_JSON, "FILE", 0, "write the list as JSON; - is stdout, and then there is no table", 1},
    DAEMON_SOCKET_OPTION(1),
    {0},
};
static const struct argp_option options[] = {DAEMON_SOCKET_OPTION(1), {0}};
static const struct argp_option policy_options[] = {
    {"gpu", KEY_GPU, "GPU", 0, "number or name of the GPU whose policy is meant [all of them]", 1},
    DAEMON_SOCKET_OPTION(1),
    {0},
};

struct ask_options {
    struct command command;
    const char *socket;
    const char *text; /* POLICY */
    const char *gpu;  /* NULL: all */
    uint32_t words;   /* that have come */
    uint64_t pid;     /* GOAL */
    struct daemon_goal goal;
    struct output json;
    struct wire_link link;
};

static error_t parse_socket(int key, char *value, struct argp_state *state)
{
    struct ask_options *ask = state->input;
    if (key != KEY_DAEMON_SOCKET)
        return ARGP_ERR_UNKNOWN;
    ask->socket = command_name("--socket", value, state);
    return 0;
}

/* ---- ps ---- */

static void add_row(struct columns *columns, const struct wire_node *node, const struct wire_client *client)
{
    char size[REPORT_SIZE_BYTES], goal[DAEMON_GOAL_BYTES], name[WIRE_NAME_BYTES];
    double rate = node->hardware ? daemon_rate(node, client) : client->ipc, alone = daemon_rate_alone(node, client);
    bool known = alone > 0 && client->cycles;
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%u", client->number);
    columns_set(columns, 1, PAINT_NONE, "%u", client->pid);
    columns_set(columns, 2, PAINT_NONE, "%s", daemon_name(client, name));
    columns_set(columns, 3, PAINT_NONE, "%s", daemon_state(client->state));
    columns_set(columns, 4, PAINT_NONE, "%s", daemon_goal_text(client, goal));
    columns_set(columns, 5, PAINT_NONE, "%llu", (unsigned long long)client->launches);
    columns_set(columns, 6, PAINT_NONE, "%llu", (unsigned long long)client->cycles);
    columns_set(columns, 7, PAINT_NONE, node->hardware ? "%.1f" : "%.2f", rate);
    columns_set(columns, 8, PAINT_NONE, known ? "%.3f" : "-", known ? rate / alone : 0.0);
    columns_set(columns, 9, PAINT_NONE, "%s", report_size(client->bytes, size));
}

static enum corun_status print_table(const struct ask_options *ask, const struct daemon_list *list)
{
    static const char *const simulated[] = {"client", "pid", "<name",      "<state", "goal", "launches",
                                            "cycles", "IPC", "normalised", "memory", "<GPU"};
    static const char *const hardware[] = {"client",   "pid",        "<name",      "<state", "goal", "launches",
                                           "ns of it", "launches/s", "normalised", "memory", "<GPU"};
    const char *const *titles = list->nodes[0].hardware ? hardware : simulated;
    struct report_style style = output_style(stdout);
    size_t count = sizeof simulated / sizeof *simulated - (list->gpu_count == 1);
    struct columns *columns = columns_create(ask->command.arena, titles, count);
    if (!columns)
        return CORUN_MEMORY;
    for (size_t i = 0; i < list->clients.count; i++) {
        add_row(columns, &list->nodes[list->clients.data[i].row.gpu], &list->clients.data[i].row);
        if (list->gpu_count > 1)
            columns_set(columns, 10, PAINT_NONE, "%u %s", list->clients.data[i].row.gpu,
                        list->nodes[list->clients.data[i].row.gpu].gpu);
    }
    return columns_print(columns, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
}

static json_t *client_json(struct json_writer *writer, const struct wire_node *node, const struct daemon_client *client)
{
    const struct wire_client *row = &client->row;
    json_t *object = json_object(), *samples = json_array();
    bool ended = row->p50_cycles != 0;
    json_put(writer, object, "client", json_count(row->number));
    json_put(writer, object, "pid", json_count(row->pid));
    json_put(writer, object, "uid", json_count(row->uid));
    json_put(writer, object, "name", json_text(row->name));
    json_put(writer, object, "device", json_count(row->gpu));
    json_put(writer, object, "state", json_text(daemon_state(row->state)));
    json_put(writer, object, "goal", json_text(wire_goal_word((enum corun_goal_kind)row->goal)));
    json_put(writer, object, "goal_value", row->goal == CORUN_GOAL_NONE ? json_null() : json_number(row->goal_value));
    json_put(writer, object, "launches", json_count(row->launches));
    json_put(writer, object, "launches_in_flight", json_count(row->in_flight));
    json_put(writer, object, "launch_p50_cycles", ended ? json_count(row->p50_cycles) : json_null());
    json_put(writer, object, "launch_p99_cycles", ended ? json_count(row->p99_cycles) : json_null());
    json_put(writer, object, "runs", json_count(row->runs));
    json_put(writer, object, "run_p50_cycles", row->runs ? json_count(row->run_p50_cycles) : json_null());
    json_put(writer, object, "run_p99_cycles", row->runs ? json_count(row->run_p99_cycles) : json_null());
    json_put(writer, object, "cycles", json_count(row->cycles));
    json_put(writer, object, "thread_instructions", json_count(row->thread_instructions));
    json_put(writer, object, "ipc", json_number(row->cycles ? row->ipc : (double)NAN));
    json_put(writer, object, "ipc_isolated", json_number(row->isolated_ipc > 0 ? row->isolated_ipc : (double)NAN));
    json_put(writer, object, "launches_per_second", node->hardware ? json_number(daemon_rate(node, row)) : json_null());
    json_put(writer, object, "launches_per_second_isolated",
             row->alone_per_second > 0 ? json_number(row->alone_per_second) : json_null());
    json_put(writer, object, "launches_held", node->hardware ? json_count(row->held) : json_null());
    json_put(writer, object, "held_cycles", node->hardware ? json_count(row->held_ns) : json_null());
    json_put(writer, object, "behind", node->hardware ? json_boolean(row->behind) : json_null());
    json_put(writer, object, "sm_share", row->sms ? json_number(board_sms_share(row->sms)) : json_null());
    json_put(writer, object, "memory_bytes", json_count(row->bytes));
    json_put(writer, object, "sm_cycles", json_count(row->sm_cycles));
    for (uint32_t i = 0; i < client->sample_count; i++)
        json_push(writer, samples, json_number(client->samples[i] / 100.0));
    json_put(writer, object, "sms", samples);
    return object;
}

static void put_gpu(struct json_writer *writer, json_t *object, const struct wire_node *node)
{
    json_put(writer, object, "gpu", json_text(node->gpu));
    json_put(writer, object, "sms", json_count(node->sms));
    json_put(writer, object, "core_clock_khz", json_count(node->core_clock_khz));
    json_put(writer, object, "policy", json_text(node->policy));
    json_put(writer, object, "cycle", json_count(node->cycle));
    json_put(writer, object, "sample_cycles", json_count(node->sample_cycles));
    json_put(writer, object, "memory_bytes", json_count(node->memory_bytes));
    json_put(writer, object, "used_bytes", json_count(node->used_bytes));
    json_put(writer, object, "pace", node->pace > 0 ? json_number(node->pace) : json_null());
    json_put(writer, object, "missed_cycles", json_count(node->missed_cycles));
    json_put(writer, object, "holder", node->holder ? json_count(node->holder) : json_null());
}

/* The first GPU has its members at the top, as where there is no other. */
static enum corun_status print_json(const struct daemon_list *list, FILE *stream)
{
    struct json_writer writer = {false};
    json_t *object = json_object(), *clients = json_array(), *gpus = json_array();
    put_gpu(&writer, object, &list->nodes[0]);
    for (uint32_t i = 0; i < list->gpu_count; i++) {
        json_t *gpu = json_object();
        put_gpu(&writer, gpu, &list->nodes[i]);
        json_push(&writer, gpus, gpu);
    }
    json_put(&writer, object, "gpus", gpus);
    for (size_t i = 0; i < list->clients.count; i++)
        json_push(&writer, clients,
                  client_json(&writer, &list->nodes[list->clients.data[i].row.gpu], &list->clients.data[i]));
    json_put(&writer, object, "clients", clients);
    return json_write(&writer, object, stream);
}

static enum corun_status show(struct ask_options *ask, const struct daemon_list *list)
{
    bool instead = ask->json.path && !strcmp(ask->json.path, "-");
    enum corun_status status = outputs_open(&ask->json, 1, ask->command.list);
    if (status != CORUN_OK)
        return status;
    if (ask->json.file)
        status = print_json(list, ask->json.file);
    if (status == CORUN_OK && !instead)
        status = print_table(ask, list);
    return outputs_close(&ask->json, 1, status, ask->command.list);
}

static enum corun_status run_ps(void *user)
{
    struct ask_options *ask = user;
    struct daemon_list list = {.clients = {0}};
    enum corun_status status = daemon_reach(&ask->link, ask->socket, ask->command.list);
    if (status == CORUN_OK)
        status = daemon_ask_list(&ask->link, ask->command.list, &list);
    if (status == CORUN_OK)
        status = show(ask, &list);
    daemon_list_free(&list);
    wire_close(&ask->link);
    return status;
}

static error_t parse_ps(int key, char *value, struct argp_state *state)
{
    struct ask_options *ask = state->input;
    if (key == KEY_JSON) {
        ask->json.path = value;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        argp_error(state, "`%s`: ps takes no arguments", value);
    return parse_socket(key, value, state);
}

int command_ps(int argc, char **argv)
{
    static const struct argp argp = {
        .options = ps_options,
        .parser = parse_ps,
        .doc =
            "Lists the programs that share the GPU of corund: what they do (guest: no memory yet; host: it computes, "
            "and simulated time stands still; waits: for the GPU), their goals, launches that have ended, cycles "
            "since the first one, thread instructions per cycle, the same beside the rate alone, and memory.",
        .help_filter = command_help_filter};
    struct ask_options ask = {.json = {.option = "--json"}, .link = {.socket = -1, .file = -1}};
    return command_perform(&ask.command, &argp, argc, argv, run_ps, &ask);
}

/* ---- goal ---- */

static error_t parse_goal(int key, char *value, struct argp_state *state)
{
    struct ask_options *ask = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (ask->words == 0 && (!number_parse(value, 1000, &ask->pid) || !ask->pid || ask->pid > INT32_MAX))
            argp_error(state, "`%s` is no number of a process", value);
        if (ask->words == 1 && !daemon_goal_parse(value, &ask->goal))
            argp_error(state, DAEMON_GOAL_USAGE_ALL ", or none", value);
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
    const struct wire_goal goal = {(uint32_t)ask->pid, ask->goal.kind, ask->goal.value};
    enum corun_status status = daemon_reach(&ask->link, ask->socket, ask->command.list);
    if (status == CORUN_OK)
        status = daemon_ask(&ask->link, WIRE_GOAL, &goal, NULL, 0, ask->command.list);
    wire_close(&ask->link);
    return status;
}

int command_goal(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse_goal,
        .args_doc = "PID GOAL",
        .doc = "Gives a program that shares the GPU of corund another goal: 90% of its "
               "rate alone, ipc=X thread instructions per cycle, on hardware ms=X or fps=X of its runs, or none.",
        .help_filter = command_help_filter};
    struct ask_options ask = {.link = {.socket = -1, .file = -1}};
    return command_perform(&ask.command, &argp, argc, argv, run_goal, &ask);
}

/* ---- policy ---- */

static error_t parse_policy(int key, char *value, struct argp_state *state)
{
    struct ask_options *ask = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (ask->text)
            argp_error(state, "`%s`: there is one policy at a time", value);
        if (!*value || strlen(value) >= WIRE_MOST_POLICY)
            argp_error(state, "a policy is NAME[:parameter=value,...], at most %u bytes", WIRE_MOST_POLICY - 1);
        ask->text = value;
        return 0;
    case KEY_GPU:
        ask->gpu = command_name("--gpu", value, state);
        return 0;
    default:
        return parse_socket(key, value, state);
    }
}

/* One GPU's alone, or a line for each with its number and name. */
static void print_policies(const struct daemon_list *list, uint32_t gpu)
{
    bool one = gpu != WIRE_ALL_GPUS || list->gpu_count == 1;
    for (uint32_t i = 0; i < list->gpu_count; i++)
        if (!one)
            printf("%u %s %s\n", i, list->nodes[i].gpu, list->nodes[i].policy);
        else if (i == gpu || list->gpu_count == 1)
            printf("%s\n", list->nodes[i].policy);
}

static enum corun_status run_policy(void *user)
{
    struct ask_options *ask = user;
    struct wire_policy wanted = {WIRE_ALL_GPUS};
    struct daemon_list list = {.clients = {0}};
    enum corun_status status = daemon_reach(&ask->link, ask->socket, ask->command.list);
    if (status == CORUN_OK && (!ask->text || ask->gpu))
        status = daemon_ask_list(&ask->link, ask->command.list, &list);
    if (status == CORUN_OK && ask->gpu)
        status = daemon_find_gpu(&list, ask->gpu, ask->command.list, &wanted.gpu);
    if (status == CORUN_OK && ask->text)
        status =
            daemon_ask(&ask->link, WIRE_POLICY, &wanted, ask->text, (uint32_t)strlen(ask->text), ask->command.list);
    if (status == CORUN_OK && !ask->text)
        print_policies(&list, wanted.gpu);
    daemon_list_free(&list);
    wire_close(&ask->link);
    return status;
}

int command_policy(int argc, char **argv)
{
    static const struct argp argp = {
        .options = policy_options,
        .parser = parse_policy,
        .args_doc = "[POLICY]",
        .doc =
            "Gives corund another policy, NAME[:parameter=value,...] as for `corun run` (see `corun list "
            "policies`), while programs run. Without one, prints the policy that it has; for each GPU where there are "
            "several.",
        .help_filter = command_help_filter};
    struct ask_options ask = {.link = {.socket = -1, .file = -1}};
    return command_perform(&ask.command, &argp, argc, argv, run_policy, &ask);
}
