/* SPDX-License-Identifier: MIT */
/* The state of a node as bytes, and back. */
#include "daemon/handover.h"

#include <stdio.h>
#include <string.h>

struct head {
    char version[HANDOVER_TEXT_BYTES];
    struct handover_server server;
    uint32_t device_count, session_count;
};

struct device_record {
    struct corun_gpu_config configuration;
    char policy[WIRE_MOST_POLICY];
    uint64_t cycle, missed_cycles, known_count; /* known rates follow */
};

struct session_record {
    struct peer peer;
    uint32_t number, device, row;
    uint8_t joined, takes_part, waits, rests, idle, hung_up; /* 0: no */
    int socket;
    struct wire_join join;
    uint64_t until, wake, launches;
    struct lengths latencies, runs;
    uint64_t space_count, in_bytes, out_bytes, log_bytes; /* spaces and bytes follow, in this order */
};

struct space_record {
    uint32_t number;
    int file;
    uint8_t entered; /* 0: no */
};

const char *handover_version(const struct node_settings *settings, char text[HANDOVER_TEXT_BYTES])
{
    uint64_t gpus = UINT64_C(14695981039346656037); /* Fowler, Noll and Vo: FNV-1a */
    for (uint32_t i = 0; i < settings->gpu_count; i++) {
        const uint8_t *bytes = (const uint8_t *)&settings->gpus[i].configuration;
        for (size_t b = 0; b < sizeof settings->gpus[i].configuration; b++)
            gpus = (gpus ^ bytes[b]) * UINT64_C(1099511628211);
    }
    snprintf(text, HANDOVER_TEXT_BYTES, "corund handover=%u wire=%u model=%u sizes=%zu,%zu,%zu,%zu,%zu gpus=%u,%016llx",
             HANDOVER_VERSION, WIRE_VERSION, (unsigned)CORUN_MODEL_VERSION, sizeof(struct head),
             sizeof(struct device_record), sizeof(struct session_record), sizeof(struct corun_counters),
             sizeof(struct known_rate), settings->gpu_count, (unsigned long long)gpus);
    return text;
}

const struct session *handover_obstacle(const struct node *node, const char **why)
{
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *session = node->sessions.data[i];
        *why =
            session->log_lost
                ? "has allocated and freed so often, or ended one of several contexts, that this is not known any more"
                : NULL;
        for (uint32_t s = 0; s < CORUN_MAX_APPLICATIONS && !*why; s++)
            if (session->spaces[s] && session->spaces[s]->gone)
                *why = "has a context that has ended and is still in use";
        if (*why)
            return session;
    }
    return NULL;
}

/* ---- to bytes ---- */

static bool pack_device(const struct device *device, struct buffer *state)
{
    struct device_record record = {.configuration = device->configuration,
                                   .cycle = corun_gpu_cycles(device->gpu),
                                   .missed_cycles = device->missed_cycles,
                                   .known_count = device->known.count};
    memcpy(record.policy, device->policy_text, sizeof record.policy);
    return buffer_add(state, &record, sizeof record) &&
           buffer_add(state, device->known.data, device->known.count * sizeof *device->known.data);
}

static bool pack_spaces(const struct session *session, struct buffer *state)
{
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++) {
        const struct space *space = session->spaces[i];
        struct space_record record = {i, space ? space->file : -1, space && space->application != CORUN_NO_APPLICATION};
        if (space && !buffer_add(state, &record, sizeof record))
            return false;
    }
    return true;
}

static bool pack_session(const struct session *session, int socket, struct buffer *state)
{
    const struct buffer *in = &session->in, *out = &session->out, *log = &session->log;
    struct session_record record = {.peer = session->peer,
                                    .number = session->number,
                                    .device = session->device ? session->device->index : UINT32_MAX,
                                    .row = session->row,
                                    .joined = session->joined,
                                    .takes_part = session->takes_part,
                                    .waits = session->waits,
                                    .rests = session->rests,
                                    .idle = session->idle,
                                    .hung_up = session->hung_up,
                                    .socket = socket,
                                    .join = session->join,
                                    .until = session->until,
                                    .wake = session->wake,
                                    .launches = session->launches,
                                    .latencies = session->latencies,
                                    .runs = session->runs,
                                    .in_bytes = in->bytes - in->taken,
                                    .out_bytes = out->bytes - out->taken,
                                    .log_bytes = log->bytes};
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        record.space_count += session->spaces[i] != NULL;
    return buffer_add(state, &record, sizeof record) && pack_spaces(session, state) &&
           (!record.in_bytes || buffer_add(state, in->data + in->taken, record.in_bytes)) &&
           (!record.out_bytes || buffer_add(state, out->data + out->taken, record.out_bytes)) &&
           (!record.log_bytes || buffer_add(state, log->data, record.log_bytes));
}

bool handover_pack(const struct node *node, const struct handover_server *server,
                   int (*socket_of)(const struct session *session), struct buffer *state)
{
    struct head head = {
        .server = *server, .device_count = node->device_count, .session_count = (uint32_t)node->sessions.count};
    (void)handover_version(&node->settings, head.version);
    bool good = buffer_add(state, &head, sizeof head);
    for (uint32_t i = 0; i < node->device_count && good; i++)
        good = pack_device(&node->devices[i], state);
    for (size_t i = 0; i < node->sessions.count && good; i++)
        good = pack_session(node->sessions.data[i], socket_of(node->sessions.data[i]), state);
    return good;
}

/* ---- and back ---- */

struct reader {
    const uint8_t *data;
    size_t bytes;
};

/* NULL: there is not so much. */
static const uint8_t *take(struct reader *reader, uint64_t bytes)
{
    const uint8_t *data = reader->data;
    if (bytes > reader->bytes)
        return NULL;
    reader->data += bytes;
    reader->bytes -= bytes;
    return data;
}

static bool take_record(struct reader *reader, void *record, size_t bytes)
{
    const uint8_t *data = take(reader, bytes);
    if (data)
        memcpy(record, data, bytes);
    return data != NULL;
}

static enum corun_status wrong(struct corun_diagnostics *list, const char *what)
{
    return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "nothing can be taken over: %s", what);
}

static enum corun_status unpack_device(struct reader *reader, struct device *device, struct corun_diagnostics *list)
{
    struct device_record record;
    if (!take_record(reader, &record, sizeof record) || record.known_count > NODE_MOST_SESSIONS)
        return wrong(list, "its state is cut off");
    if (memcmp(&record.configuration, &device->configuration, sizeof record.configuration) != 0)
        return wrong(list, "the GPUs were others");
    for (uint64_t i = 0; i < record.known_count; i++) {
        struct known_rate rate;
        if (!take_record(reader, &rate, sizeof rate) || !vector_push(&device->known, rate))
            return wrong(list, "its state is cut off");
    }
    corun_gpu_wake(device->gpu, CORUN_NO_APPLICATION, record.cycle);
    enum corun_status status = corun_gpu_advance(device->gpu, record.cycle);
    device->missed_cycles = record.missed_cycles;
    record.policy[sizeof record.policy - 1] = 0;
    if (status == CORUN_OK && strcmp(record.policy, device->policy_text) != 0)
        (void)node_change_policy(device->node, device->index, record.policy, list);
    return status;
}

static bool restore_spaces(struct session *session, const struct session_record *record, struct reader *reader,
                           bool entered[CORUN_MAX_APPLICATIONS])
{
    bool good = true;
    for (uint64_t i = 0; i < record->space_count; i++) {
        struct space_record space;
        if (!take_record(reader, &space, sizeof space))
            return false;
        if (good && space_restore(session, space.number, space.file))
            entered[space.number] = space.entered != 0;
        else
            good = false;
    }
    return good;
}

/* Its log, and then its applications. */
static bool restore_work(struct session *session, const uint8_t *log, size_t bytes,
                         const bool entered[CORUN_MAX_APPLICATIONS])
{
    bool good = session_replay(session, log, bytes);
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS && good; i++) {
        struct space *space = session->spaces[i];
        if (!space)
            continue;
        good = space_settle(space);
        if (good && entered[i])
            good = space_enter(space) == CORUN_OK;
        space->alone = false; /* what it did before is not known */
    }
    return good;
}

static void copy_record(struct session *session, const struct session_record *record)
{
    struct node *node = session->node;
    session->device = record->device < node->device_count ? &node->devices[record->device] : NULL;
    session->peer = record->peer;
    session->number = record->number;
    session->joined = record->joined != 0;
    session->takes_part = record->takes_part != 0;
    session->join = record->join;
    session->until = record->until;
    session->wake = record->wake;
    session->launches = record->launches;
    session->latencies = record->latencies;
    session->runs = record->runs;
}

/* A session that could not be restored is ended, and its client told by the end of the connection, which is up to `came`. */
static enum corun_status unpack_session(struct reader *reader, struct node *node, struct corun_diagnostics *list,
                                        bool (*came)(void *user, struct session *session, int socket), void *user)
{
    struct session_record record;
    bool entered[CORUN_MAX_APPLICATIONS] = {false};
    if (!take_record(reader, &record, sizeof record) || record.space_count > CORUN_MAX_APPLICATIONS)
        return wrong(list, "its state is cut off");
    struct session *session = session_begin(node, record.peer.pid, record.peer.uid);
    if (!session)
        return CORUN_MEMORY;
    copy_record(session, &record);
    bool good = session->device || (!record.joined && !record.takes_part);
    good = restore_spaces(session, &record, reader, entered) && good;
    const uint8_t *in = take(reader, record.in_bytes), *out = take(reader, record.out_bytes),
                  *log = take(reader, record.log_bytes);
    if (!in || !out || !log)
        return wrong(list, "its state is cut off");
    good = good && restore_work(session, log, record.log_bytes, entered) &&
           buffer_add(&session->in, in, record.in_bytes) && buffer_add(&session->out, out, record.out_bytes);
    session->row = record.row;
    session->waits = record.waits != 0;
    session->rests = record.rests != 0;
    session->idle = record.idle != 0;
    session->hung_up = record.hung_up != 0;
    if (good && came(user, session, record.socket))
        return CORUN_OK;
    corun_report(list, CORUN_OK, CORUN_NOWHERE, "%.*s (process %u) could not be taken over", (int)WIRE_NAME_BYTES,
                 record.join.name, record.peer.pid);
    session_end(session);
    (void)came(user, NULL, record.socket);
    return CORUN_OK;
}

enum corun_status handover_unpack(struct node *node, const uint8_t *data, size_t bytes, struct corun_diagnostics *list,
                                  struct handover_server *server,
                                  bool (*came)(void *user, struct session *session, int socket), void *user)
{
    struct reader reader = {data, bytes};
    struct head head;
    char version[HANDOVER_TEXT_BYTES];
    if (!take_record(&reader, &head, sizeof head) ||
        strncmp(head.version, handover_version(&node->settings, version), sizeof head.version) != 0)
        return wrong(list, "it is of another version");
    if (head.device_count != node->device_count)
        return wrong(list, "the GPUs were others");
    *server = head.server;
    server->path[sizeof server->path - 1] = server->configured[sizeof server->configured - 1] = 0;
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < head.device_count && status == CORUN_OK; i++)
        status = unpack_device(&reader, &node->devices[i], list);
    for (uint32_t i = 0; i < head.session_count && status == CORUN_OK; i++)
        status = unpack_session(&reader, node, list, came, user);
    node->begun = true; /* whoever was expected has come before */
    return status;
}
