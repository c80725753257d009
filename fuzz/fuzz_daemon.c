/* SPDX-License-Identifier: MIT */
/*
 * Clients of corund that send anything: bytes as they are, and messages of the right length with anything in them, from three clients whose
 * messages are mixed. What a program gets from a daemon is taken apart in the same way.
 */
#include "daemon/node.h"

#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 3, MOST_WORK = 4 };

static const char code[] = ".version 6.0\n.target sm_52\n.address_size 64\n.global .u32 cell;\n"
                           ".visible .entry store(.param .u64 p)\n{\n.reg .b64 %a<2>;\n.reg .b32 %r<2>;\n"
                           "ld.param.u64 %a1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%a1], %r1;\nret;\n}\n";

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

/* A policy that is given away and taken again, by the length of its name: names and parameters have a fuzzer of their own. */
static enum corun_status choose(void *user, const char *text, struct corun_diagnostics *list,
                                const struct corun_policy **policy, const double **parameters)
{
    (void)list;
    *policy = strlen(text) % 2 ? user : NULL;
    *parameters = NULL;
    return strlen(text) > 30 ? CORUN_NOT_FOUND : CORUN_OK;
}

static enum corun_status start(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances)
{
    (void)state, (void)parameters;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->tb_limit[i] = 2;
    return CORUN_OK;
}

static void decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    (void)state, (void)view;
    allowances->order[moment.application] = (uint32_t)moment.event;
}

/* A message of a client, its structure and what is behind it from the input. */
static void send_message(struct session *session, struct input *input, uint8_t kind)
{
    uint8_t message[2048] = {0};
    const struct wire_row *row = wire_row(kind % WIRE_WELCOME);
    uint32_t tail = row->most ? next(input) : 0;
    struct wire_header header = {kind % WIRE_WELCOME, row->bytes + tail};
    memcpy(message, &header, sizeof header);
    size_t given = input->bytes < row->bytes + tail ? input->bytes : row->bytes + tail;
    if (given)
        memcpy(message + sizeof header, input->data, given);
    input->data += given;
    input->bytes -= given;
    if (header.type == WIRE_JOIN) { /* else hardly any would be let in */
        struct wire_join join;
        memcpy(&join, message + sizeof header, sizeof join);
        join.version = WIRE_VERSION;
        join.model_version = CORUN_MODEL_VERSION;
        join.configuration_bytes = sizeof(struct corun_gpu_config);
        join.counter_bytes = sizeof(struct corun_counters);
        memcpy(message + sizeof header, &join, sizeof join);
    }
    bool whole = header.type == WIRE_MODULE && tail < 128;
    if (whole) {
        header.bytes = row->bytes + (uint32_t)sizeof code - 1;
        memcpy(message, &header, sizeof header);
        memcpy(message + sizeof header + row->bytes, code, sizeof code - 1);
    }
    if (!session_receive(session, message, sizeof header + header.bytes))
        session->broken = true;
}

/* The first client has no limits, the others have those of their users. */
static struct session *begin(struct node *node, uint32_t i)
{
    struct session *session = session_begin(node, i, i);
    if (session && i)
        session->row = 0;
    return session;
}

/* What a server does after each piece of work. */
static void sweep(struct node *node, struct session **sessions)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (!sessions[i])
            continue;
        struct buffer *out = &sessions[i]->out;
        struct wire_frame frame;
        while (out->data && wire_take(out->data + out->taken, out->bytes - out->taken, false, &frame) == WIRE_WHOLE)
            out->taken += frame.bytes;
        if (out->taken != out->bytes)
            abort(); /* the daemon says nothing that a client does not understand */
        out->taken = out->bytes = 0;
        sessions[i]->file = -1;
        if (sessions[i]->broken || sessions[i]->gone) {
            session_end(sessions[i]);
            sessions[i] = begin(node, i);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input input = {data, bytes};
    struct corun_policy policy = {.version = CORUN_POLICY_VERSION, .name = "fuzz", .start = start, .decide = decide};
    struct node_settings settings = {.threads = 1, .choose = choose, .user = &policy};
    const struct limits limits = {.rows = {{.of = LIMIT_OF_EVERYBODY, .clients = 1, .memory = 1 << 20, .share = 0.5}},
                                  .count = 1};
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct node *node = NULL;
    struct session *sessions[CLIENTS];
    struct wire_frame frame;
    (void)wire_take(data, bytes, false, &frame);
    settings.limits = &limits;
    struct node_gpu gpus[2] = {{.launch_cycles = 20000}, {.launch_cycles = 20000}};
    for (size_t i = 0; i < 2; i++) {
        corun_gpu_config_default(&gpus[i].configuration);
        gpus[i].configuration.sms = (uint32_t)i + 1;
    }
    settings.gpus = gpus;
    settings.gpu_count = 2;
    if (!list || node_create(&settings, list, &node) != CORUN_OK)
        abort();
    for (uint32_t i = 0; i < CLIENTS; i++)
        sessions[i] = begin(node, i);
    for (uint32_t i = 0; input.bytes && i < 64; i++) {
        uint8_t what = next(&input);
        struct session *session = sessions[what % CLIENTS];
        uint8_t kind = what / CLIENTS;
        if (kind < 64) {
            send_message(session, &input, kind);
        } else if (kind < 80) {
            size_t some = next(&input) < input.bytes ? input.bytes / 2 : input.bytes;
            (void)session_receive(session, input.data, some);
            input.data += some;
            input.bytes -= some;
        } else {
            session_hang_up(session);
        }
        for (uint32_t work = 0; work < MOST_WORK && node_work(node); work++)
            sweep(node, sessions);
        sweep(node, sessions);
        if (node->failed)
            break;
    }
    node_destroy(node);
    corun_diagnostics_destroy(list);
    return 0;
}
