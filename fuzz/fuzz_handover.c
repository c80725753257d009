/* SPDX-License-Identifier: MIT */
/*
 * What one corund hands over to the next one: the state of a node with one client that has a context, memory and a module, in which the input changes
 * bytes (an offset of 16 bits, and the byte that comes there), behind a length up to which it is cut.
 */
#include "daemon/handover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char code[] = ".version 6.0\n.target sm_52\n.address_size 64\n.global .u32 cell;\n"
                           ".visible .entry store(.param .u64 p)\n{\n.reg .b64 %a<2>;\n.reg .b32 %r<2>;\n"
                           "ld.param.u64 %a1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%a1], %r1;\nret;\n}\n";

static int socket_of(const struct session *session)
{
    (void)session;
    return -1;
}

static bool came(void *user, struct session *session, int socket)
{
    (void)user, (void)socket;
    return session != NULL;
}

static struct node *create(const struct node_gpu *gpus, struct corun_diagnostics *list)
{
    const struct node_settings settings = {.threads = 1, .gpus = gpus, .gpu_count = 2};
    struct node *node = NULL;
    if (node_create(&settings, list, &node) != CORUN_OK)
        abort();
    return node;
}

static void say(struct session *session, enum wire_type type, const void *body, const void *tail, uint32_t tail_bytes)
{
    const struct wire_header header = {type, wire_row(type)->bytes + tail_bytes};
    if (!session_receive(session, &header, sizeof header) || !session_receive(session, body, wire_row(type)->bytes) ||
        !session_receive(session, tail, tail_bytes))
        abort();
    (void)node_work(session->node);
    session->file = -1; /* as if it had been sent */
}

static struct session *add_client(struct node *node)
{
    struct session *session = session_begin(node, 1, 2);
    const struct wire_none none = {0};
    const struct wire_memory memory = {0};
    const struct wire_allocate allocate = {0, 0, (UINT64_C(1) << CORUN_APPLICATION_SHIFT) + 0x201000, 4096};
    const struct wire_module module = {.memory = 0, .name = "code.ptx"};
    const struct wire_join join = {.version = WIRE_VERSION,
                                   .model_version = CORUN_MODEL_VERSION,
                                   .configuration_bytes = sizeof(struct corun_gpu_config),
                                   .counter_bytes = sizeof(struct corun_counters),
                                   .name = "client",
                                   .gpu = "0"};
    say(session, WIRE_JOIN, &join, NULL, 0);
    say(session, WIRE_CONTEXT, &none, NULL, 0);
    say(session, WIRE_ALLOCATE, &allocate, NULL, 0);
    say(session, WIRE_MODULE, &module, code, sizeof code - 1);
    say(session, WIRE_ENTER, &memory, NULL, 0);
    if (!session->spaces[0] || session->spaces[0]->application == CORUN_NO_APPLICATION)
        abort();
    return session;
}

/* Where clients begin in it: `before` are the bytes of a node without any. */
static void change(struct buffer *state, size_t before, const uint8_t *data, size_t bytes)
{
    if (bytes < 2)
        return;
    size_t kept = (size_t)data[0] << 8 | data[1];
    for (size_t i = 2; i + 3 <= bytes; i += 3) {
        size_t at = before + ((size_t)data[i] << 8 | data[i + 1]);
        if (at < state->bytes)
            state->data[at] = data[i + 2];
    }
    if (before + kept < state->bytes)
        state->bytes = before + kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct node_gpu gpus[2] = {{.launch_cycles = 20000}, {.launch_cycles = 20000}};
    struct handover_server server = {.listener = -1};
    struct buffer state = {.data = NULL};
    for (size_t i = 0; i < 2; i++) {
        corun_gpu_config_default(&gpus[i].configuration);
        gpus[i].configuration.sms = (uint32_t)i + 1;
    }
    struct node *node = create(gpus, list);
    if (!handover_pack(node, &server, socket_of, &state))
        abort();
    size_t before = state.bytes;
    state.bytes = 0;
    const struct session *session = add_client(node);
    int file = session->spaces[0]->file, kept = fcntl(file, F_DUPFD_CLOEXEC, 100);
    if (!handover_pack(node, &server, socket_of, &state) || kept < 0)
        abort();
    node_destroy(node);
    if (dup2(kept, file) != file)
        abort();
    change(&state, before, data, bytes);
    node = create(gpus, list);
    enum corun_status status = handover_unpack(node, state.data, state.bytes, list, &server, came, NULL);
    if (bytes < 2 && (status != CORUN_OK || node->sessions.count != 1 || corun_diagnostics_count(list)))
        abort(); /* what was not changed is taken over */
    for (uint32_t i = 0; i < 4 && node_work(node); i++)
        ;
    node_destroy(node);
    (void)close(file);
    close(kept);
    free(state.data);
    corun_diagnostics_destroy(list);
    return 0;
}
