/* SPDX-License-Identifier: MIT */
/* What corund is asked, and what it answers. */
#include "cli/daemon_link.h"

#include "base/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

int daemon_connect(struct wire_link *link, const char *path)
{
    const struct timeval patience = {.tv_sec = DAEMON_PATIENCE_SECONDS};
    int problem = wire_connect(link, path);
    if (problem)
        return problem;
    (void)setsockopt(link->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(link->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return 0;
}

enum corun_status daemon_reach(struct wire_link *link, const char *named, struct corun_diagnostics *list)
{
    char path[PATH_BYTES];
    if (!wire_socket_path(named, path, sizeof path))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
    int problem = daemon_connect(link, path);
    return problem ? corun_report(list, CORUN_NOT_FOUND, (struct corun_place){path, 0, 0},
                                  "no corund can be reached there: %s", strerror(problem))
                   : CORUN_OK;
}

/* The last call of the link has failed. */
static enum corun_status lost(struct corun_diagnostics *list)
{
    return errno == EAGAIN ? corun_report(list, CORUN_FILE, CORUN_NOWHERE, "corund is there, but does not answer")
                           : corun_report(list, CORUN_FILE, CORUN_NOWHERE, "corund has closed the connection");
}

/* As wire_receive, which says by errno that nothing came in time. */
static bool receive(struct wire_link *link, struct wire_frame *frame)
{
    errno = 0;
    return wire_receive(link, frame);
}

static int by_number(const void *left, const void *right)
{
    const struct daemon_client *a = left, *b = right;
    return (a->row.number > b->row.number) - (a->row.number < b->row.number);
}

static bool keep_client(struct daemon_list *list, const struct wire_frame *frame)
{
    struct daemon_client client = {.sample_count = frame->tail_bytes / (uint32_t)sizeof client.samples[0]};
    wire_body(frame, &client.row);
    client.row.name[sizeof client.row.name - 1] = 0;
    if (client.row.gpu >= list->gpu_count) /* GPUs come first */
        return true;
    memcpy(client.samples, frame->tail, client.sample_count * sizeof client.samples[0]);
    return vector_push(&list->clients, client);
}

static void keep_node(struct wire_node *node, const struct wire_frame *frame)
{
    wire_body(frame, node);
    node->gpu[sizeof node->gpu - 1] = 0;
    node->policy[sizeof node->policy - 1] = 0;
}

enum corun_status daemon_ask_list(struct wire_link *link, struct corun_diagnostics *list, struct daemon_list *result)
{
    const struct wire_none none = {0};
    struct wire_frame frame = {.type = WIRE_NODE};
    result->clients.count = 0;
    result->gpu_count = 0;
    errno = 0;
    if (!wire_send(link, WIRE_LIST, &none, NULL, 0))
        return lost(list);
    while (frame.type != WIRE_DONE) {
        if (!receive(link, &frame))
            return lost(list);
        if (frame.type == WIRE_REFUSED)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%.*s", (int)frame.tail_bytes,
                                (const char *)frame.tail);
        if (frame.type == WIRE_NODE && result->gpu_count < WIRE_MOST_GPUS)
            keep_node(&result->nodes[result->gpu_count++], &frame);
        if (frame.type == WIRE_CLIENT && !keep_client(result, &frame))
            return CORUN_MEMORY;
    }
    if (!result->gpu_count)
        return lost(list);
    if (result->clients.count)
        qsort(result->clients.data, result->clients.count, sizeof *result->clients.data, by_number);
    return CORUN_OK;
}

enum corun_status daemon_find_gpu(const struct daemon_list *list, const char *text, struct corun_diagnostics *said,
                                  uint32_t *gpu)
{
    uint64_t number;
    uint32_t found = 0;
    if (number_parse(text, 1000, &number)) {
        *gpu = (uint32_t)number;
        found = number < list->gpu_count;
    } else {
        for (uint32_t i = 0; i < list->gpu_count; i++)
            if (!strcmp(list->nodes[i].gpu, text)) {
                *gpu = i;
                found++;
            }
    }
    if (found == 1)
        return CORUN_OK;
    return corun_report(said, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        found ? "there are several GPUs `%s`: `corun ps --json -` has their numbers"
                              : "there is no GPU `%s`: `corun ps --json -` has those that there are",
                        text);
}

void daemon_list_free(struct daemon_list *list)
{
    vector_free(&list->clients);
}

enum corun_status daemon_ask(struct wire_link *link, enum wire_type type, const void *body, const void *tail,
                             uint32_t tail_bytes, struct corun_diagnostics *list)
{
    struct wire_frame frame;
    struct wire_done done;
    errno = 0;
    if (!wire_send(link, type, body, tail, tail_bytes) || !receive(link, &frame) ||
        (frame.type != WIRE_DONE && frame.type != WIRE_REFUSED))
        return lost(list);
    wire_body(&frame, &done);
    enum corun_status status = done.status < CORUN_STATUS_COUNT ? (enum corun_status)done.status : CORUN_ARGUMENT;
    if (frame.type == WIRE_REFUSED)
        corun_report(list, status, CORUN_NOWHERE, "%.*s", (int)frame.tail_bytes, (const char *)frame.tail);
    return status;
}

const char *daemon_state(uint32_t state)
{
    static const char *const states[] = {
#define STATE_WORD(name, word, meaning) [WIRE_STATE_##name] = word,
        WIRE_STATES(STATE_WORD)
#undef STATE_WORD
    };
    return state < sizeof states / sizeof *states ? states[state] : "?";
}

const char *daemon_name(const struct wire_client *client, char text[WIRE_NAME_BYTES])
{
    size_t length = strnlen(client->name, WIRE_NAME_BYTES - 1);
    for (size_t i = 0; i < length; i++)
        text[i] = client->name[i] >= ' ' && client->name[i] <= '~' ? client->name[i] : '?';
    text[length] = 0;
    return text;
}

double daemon_rate(const struct wire_node *node, const struct wire_client *client)
{
    if (!client->cycles)
        return 0;
    uint64_t count = node->hardware ? client->ended : client->thread_instructions;
    return (double)count * (node->hardware ? node->core_clock_khz * 1e3 : 1) / (double)client->cycles;
}

double daemon_rate_alone(const struct wire_node *node, const struct wire_client *client)
{
    return node->hardware ? client->alone_per_second : client->isolated_ipc;
}

const char *daemon_goal_text(const struct wire_client *client, char text[DAEMON_GOAL_BYTES])
{
    if (client->goal == CORUN_GOAL_FRACTION)
        snprintf(text, DAEMON_GOAL_BYTES, "%.4g%%", 100 * client->goal_value);
    else if (client->goal != CORUN_GOAL_NONE)
        snprintf(text, DAEMON_GOAL_BYTES, "%s=%.6g", wire_goal_word((enum corun_goal_kind)client->goal),
                 client->goal_value);
    else
        snprintf(text, DAEMON_GOAL_BYTES, "-");
    return text;
}
