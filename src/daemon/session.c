/* SPDX-License-Identifier: MIT */
/* A client: its bytes in and out, and what each of its messages does. */
#include "daemon/journal.h"

#include "isa/memory.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_WAIT (UINT64_C(1) << 42) /* cycles: nobody drives time to its end */

bool buffer_add(struct buffer *buffer, const void *data, size_t bytes)
{
    if (buffer->taken && buffer->bytes + bytes > buffer->capacity) {
        memmove(buffer->data, buffer->data + buffer->taken, buffer->bytes - buffer->taken);
        buffer->bytes -= buffer->taken;
        buffer->taken = 0;
    }
    if (buffer->bytes + bytes > buffer->capacity) {
        size_t capacity = 2 * buffer->capacity > buffer->bytes + bytes ? 2 * buffer->capacity : buffer->bytes + bytes;
        uint8_t *larger = realloc(buffer->data, capacity);
        if (!larger)
            return false;
        buffer->data = larger;
        buffer->capacity = capacity;
    }
    if (bytes)
        memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
    return true;
}

struct session *session_begin(struct node *node, uint32_t pid, uint32_t uid)
{
    struct session *session = node->sessions.count < NODE_MOST_SESSIONS ? calloc(1, sizeof *session) : NULL;
    if (!session)
        return NULL;
    *session = (struct session){.node = node,
                                .pid = pid,
                                .uid = uid,
                                .peer = {.pid = pid, .uid = uid},
                                .row = LIMITS_OWNER,
                                .number = UINT32_MAX,
                                .file = -1};
    if (vector_push(&node->sessions, session))
        return session;
    free(session);
    return NULL;
}

void session_clear(struct session *session)
{
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        if (session->spaces[i])
            space_destroy(session->spaces[i]);
    session->takes_part = session->waits = false;
    session->log.bytes = session->log_memory = 0;
    session->log_lost = false;
}

void session_hang_up(struct session *session)
{
    session->hung_up = true;
    session->idle = false;
    if (session->takes_part && (!session->waits || session->rests))
        return; /* it leaves in its turn */
    session_clear(session);
    session->gone = true;
}

void session_end(struct session *session)
{
    struct node *node = session->node;
    if (session->joined)
        node_journal_note(node->journal, session->device, session, "client",
                          session->broken ? "is turned out" : "goes");
    session_clear(session);
    for (size_t i = 0; i < node->sessions.count; i++)
        if (node->sessions.data[i] == session) {
            node->sessions.data[i] = node->sessions.data[--node->sessions.count];
            break;
        }
    free(session->in.data);
    free(session->out.data);
    free(session->log.data);
    free(session);
}

/* Modules alone are long, and nobody loads one without a context, of which there are few. */
static size_t most_unread(const struct session *session)
{
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        if (session->spaces[i])
            return (size_t)WIRE_MOST_TEXT + WIRE_MOST_LINE;
    return WIRE_MOST_LINE;
}

bool session_receive(struct session *session, const void *data, size_t bytes)
{
    size_t unread = session->in.bytes - session->in.taken;
    session->idle = false;
    return !session->broken && unread + bytes <= most_unread(session) && buffer_add(&session->in, data, bytes);
}

void session_send(struct session *session, enum wire_type type, const void *body, const void *tail, uint32_t tail_bytes)
{
    const struct wire_row *row = wire_row(type);
    struct wire_header header = {type, row->bytes + tail_bytes};
    bool reads = session->out.bytes - session->out.taken < SESSION_MOST_UNREAD;
    if (session->broken || !reads || !buffer_add(&session->out, &header, sizeof header) ||
        !buffer_add(&session->out, body, row->bytes) || !buffer_add(&session->out, tail, tail_bytes))
        session->broken = true;
}

void session_note(struct session *session, const char *text)
{
    const struct wire_message note = {.status = CORUN_OK};
    session_send(session, WIRE_MESSAGE, &note, text, (uint32_t)strlen(text));
}

void session_done(struct session *session, enum corun_status status)
{
    const struct wire_done body = {status};
    session_send(session, WIRE_DONE, &body, NULL, 0);
}

static void place(struct session *session, enum corun_status status, uint64_t where)
{
    const struct wire_place body = {status, 0, where, session->device ? corun_gpu_cycles(session->device->gpu) : 0};
    session_send(session, WIRE_PLACE, &body, NULL, 0);
}

void session_refuse(struct session *session, enum corun_status status, const char *format, ...)
{
    char text[512];
    const struct wire_done body = {status};
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    session_send(session, WIRE_REFUSED, &body, text,
                 length < (int)sizeof text ? (uint32_t)length : (uint32_t)sizeof text - 1);
}

/* The client's own space of that number. */
static struct space *space_of(const struct session *session, uint32_t number)
{
    struct space *space = number < CORUN_MAX_APPLICATIONS ? session->spaces[number] : NULL;
    return space && !space->gone ? space : NULL;
}

/* ---- joining ---- */

/* Whether a client of that name gets this place. */
static bool place_is_free(const struct node *node, uint32_t place)
{
    if (!node->settings.keeps_places)
        return !node->begun && !node->arrived[place];
    return node_place_is_empty(node, place);
}

/* Which of the expected ones it is; their count: none. */
static uint32_t expected_as(const struct session *session)
{
    const struct node *node = session->node;
    uint32_t i = 0;
    while (i < node->settings.expected_count &&
           (!place_is_free(node, i) || strcmp(node->settings.expected[i], session->join.name) != 0))
        i++;
    return i;
}

/* False: refused. */
static bool take_gpu(struct session *session)
{
    struct node *node = session->node;
    char list[PLACEMENT_TEXT_BYTES];
    uint32_t expected = expected_as(session);
    if (!*session->join.gpu && expected < node->settings.expected_count)
        session->device = &node->devices[node->places[expected]];
    else
        session->device = placement_find(node, session->join.gpu);
    if (!session->device)
        session_refuse(session, CORUN_NOT_FOUND, "there is no GPU `%s` here: %s", session->join.gpu,
                       placement_list(node, list));
    return session->device != NULL;
}

/* Expected clients have the first numbers, in the order in which they are expected; others what is free behind these. */
static bool take_number(struct session *session)
{
    struct node *node = session->node;
    uint32_t expected = expected_as(session);
    if (expected < node->settings.expected_count) {
        node->arrived[expected] = true;
        session->number = expected;
        session->takes_part = true;
        return true;
    }
    for (uint32_t number = node->settings.expected_count; number < UINT32_MAX; number++) {
        bool taken = false;
        for (size_t i = 0; i < node->sessions.count; i++)
            taken |= node->sessions.data[i]->joined && node->sessions.data[i]->number == number;
        if (!taken) {
            session->number = number;
            return true;
        }
    }
    return false;
}

static double rate_of(const struct device *device, const char *name, uint32_t uid)
{
    for (size_t i = 0; i < device->known.count; i++)
        if (device->known.data[i].uid == uid && !strcmp(device->known.data[i].name, name))
            return device->known.data[i].ipc;
    return 0;
}

static void join(struct session *session, const struct wire_frame *frame)
{
    struct wire_join *join = &session->join;
    struct node *node = session->node;
    if (session->joined) {
        session->broken = true;
        return;
    }
    wire_body(frame, join);
    if (join->version != WIRE_VERSION || join->model_version != CORUN_MODEL_VERSION ||
        join->configuration_bytes != sizeof(struct corun_gpu_config) ||
        join->counter_bytes != sizeof(struct corun_counters)) {
        session_refuse(session, CORUN_ARGUMENT,
                       "the program's libraries and the daemon are of different versions of corun");
        return;
    }
    if (!wire_text(join->name, sizeof join->name) || !wire_text(join->gpu, sizeof join->gpu) ||
        !isfinite(join->isolated_ipc) || join->isolated_ipc < 0) {
        session->broken = true;
        return;
    }
    if (!take_gpu(session))
        return;
    const struct device *device = session->device;
    if (join->isolated_ipc == 0)
        join->isolated_ipc = rate_of(device, join->name, session->uid);
    const char *problem = goal_problem(session, join->goal, join->goal_value);
    if (!problem && device->policy && device->policy->needs_isolated_ipc && join->isolated_ipc <= 0)
        problem = "the policy needs the program's rate alone, which is not known: say --isolated";
    if (problem || !take_number(session)) {
        session->device = NULL;
        session_refuse(session, CORUN_ARGUMENT, "%s", problem ? problem : "there are too many clients");
        return;
    }
    session->joined = true;
    node_journal_note(node->journal, device, session, "client", "comes");
    struct wire_welcome welcome = {session->number, node->settings.pace > 0, device->configuration};
    session_send(session, WIRE_WELCOME, &welcome, NULL, 0);
}

/* ---- memory ---- */

static void make_context(struct session *session)
{
    struct space *space = NULL;
    if (!session->joined || session->file >= 0) { /* the file before has not been read yet */
        session->broken = true;
        return;
    }
    if (!allowance_has_context(session)) {
        session_note(session, "this user may not have more programs on the GPU at a time");
        place(session, CORUN_LIMIT, 0);
        return;
    }
    errno = 0;
    enum corun_status status = space_create(session, &space);
    if (status != CORUN_OK)
        session_note(session, status == CORUN_LIMIT ? "the GPU has as many programs at a time as it can have"
                              : errno == EMFILE || errno == ENFILE
                                  ? "corund has no descriptor left for another program (ulimit -n)"
                                  : "corund has no memory for another program");
    if (space) {
        session->takes_part = true;
        session->file = space->file;
        session->file_at = session->out.bytes - session->out.taken;
    }
    place(session, status, space ? space->number : 0);
}

/* Then it takes part without a context, too: when it makes the next one, which others may notice, is not the host's affair. */
static bool is_expected(const struct session *session)
{
    return session->number < session->node->settings.expected_count;
}

static void end_context(struct session *session, const struct wire_frame *frame)
{
    struct wire_memory wanted;
    wire_body(frame, &wanted);
    struct space *space = space_of(session, wanted.memory);
    bool other = false;
    if (!space) {
        session_done(session, CORUN_ARGUMENT);
        return;
    }
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        other |= i != wanted.memory && space_of(session, i);
    space->gone = true;
    session->log_lost |= other; /* what is left cannot be told apart from it */
    enum corun_status status = space_leave(space);
    if (!other) {
        session_clear(session);
        session->takes_part = is_expected(session);
    } else if (!space->lent) { /* else the others still have memory of it */
        space_destroy(space);
    }
    session_done(session, status);
}

uint64_t space_device_bytes(const struct space *space)
{
    uint64_t sum = corun_memory_allocated_bytes(space->memory);
    for (size_t p = 0; p < space->pinned.count; p++)
        sum -= space->pinned.data[p].bytes;
    return sum;
}

uint64_t device_bytes(const struct device *device)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        sum += device->spaces[i] ? space_device_bytes(device->spaces[i]) : 0;
    return sum;
}

bool session_has_memory(const struct session *session, uint64_t bytes)
{
    uint64_t most = (uint64_t)session->device->configuration.memory_mib << 20, used = device_bytes(session->device);
    return session->replays || (allowance_has_memory(session, bytes) && bytes <= most && used <= most - bytes);
}

static enum corun_status allocate(const struct session *session, const struct wire_allocate *wanted)
{
    struct space *space = space_of(session, wanted->memory);
    void *host;
    if (!space)
        return CORUN_ARGUMENT;
    uint64_t address;
    if (!wanted->pages && !session_has_memory(session, wanted->bytes))
        return CORUN_MEMORY;
    enum corun_status status = wanted->pages
                                   ? corun_memory_allocate_shared(space->memory, wanted->bytes, &address, &host)
                                   : corun_memory_allocate(space->memory, wanted->bytes, &address);
    if (status == CORUN_OK && wanted->pages && !vector_push(&space->pinned, *wanted))
        status = CORUN_MEMORY;
    /* Both decide alike, or the client has not told everything. */
    return status == CORUN_OK && address != wanted->address ? CORUN_ARGUMENT : status;
}

static void release(const struct session *session, const struct wire_frame *frame)
{
    struct wire_text_at wanted;
    wire_body(frame, &wanted);
    struct space *space = space_of(session, wanted.memory);
    if (!space || !wire_text(wanted.text, sizeof wanted.text) ||
        memory_free(space->memory, wanted.address, wanted.text) != CORUN_OK)
        return;
    for (size_t i = 0; i < space->pinned.count; i++)
        if (space->pinned.data[i].address == wanted.address) {
            space->pinned.data[i] = space->pinned.data[--space->pinned.count];
            break;
        }
}

static void name(const struct session *session, const struct wire_frame *frame)
{
    struct wire_text_at wanted;
    wire_body(frame, &wanted);
    const struct space *space = space_of(session, wanted.memory);
    if (space && wire_text(wanted.text, sizeof wanted.text))
        (void)memory_name(space->memory, wanted.address, "%s", wanted.text);
}

static enum corun_status adopt(const struct session *session, const struct wire_adopt *wanted)
{
    struct space *space = space_of(session, wanted->memory), *from = space_of(session, wanted->from);
    void *host = from ? corun_memory_pointer(from->memory, wanted->from_address, wanted->bytes) : NULL;
    if (!space || !host)
        return CORUN_ARGUMENT;
    /* It may itself be adopted: all memory of the client's spaces lives as long as any of them does. */
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        if (session->spaces[i])
            session->spaces[i]->lent = true;
    return corun_memory_adopt(space->memory, wanted->address, host, wanted->bytes);
}

static enum corun_status make_texture(const struct session *session, const struct wire_frame *frame)
{
    struct wire_texture wanted;
    uint64_t handle;
    wire_body(frame, &wanted);
    const struct space *space = space_of(session, wanted.memory);
    if (!space)
        return CORUN_ARGUMENT;
    enum corun_status status = corun_texture_create(space->memory, &wanted.texture, &handle);
    return status == CORUN_OK && handle != wanted.handle ? CORUN_ARGUMENT : status;
}

/* What was done, for a corund that takes over. What grows too large is not kept. */
static void keep_in_log(struct session *session, const struct wire_frame *frame)
{
    if (frame->type != WIRE_MODULE)
        session->log_memory += frame->bytes;
    if (session->log_lost)
        return;
    const uint8_t *whole = (const uint8_t *)frame->body - sizeof(struct wire_header);
    session->log_lost = session->log_memory > SESSION_MOST_LOG || !buffer_add(&session->log, whole, frame->bytes);
    if (!session->log_lost)
        return;
    free(session->log.data);
    session->log = (struct buffer){.data = NULL};
}

/* ---- modules, launches, time ---- */

static void load(struct session *session, const struct wire_frame *frame)
{
    struct wire_module wanted;
    uint32_t number = 0;
    wire_body(frame, &wanted);
    struct space *space = space_of(session, wanted.memory);
    enum corun_status status = CORUN_ARGUMENT;
    if (space && wire_text(wanted.name, sizeof wanted.name) && space->modules.count < SPACE_MOST_MODULES)
        status = space_load(space, &wanted, frame->tail, frame->tail_bytes, &number);
    if (status == CORUN_OK)
        keep_in_log(session, frame);
    place(session, status, number);
}

static void launch(struct session *session, const struct wire_frame *frame)
{
    struct wire_launch wanted;
    struct wire_launched launched = {0};
    wire_body(frame, &wanted);
    struct space *space = space_of(session, wanted.memory);
    launched.status = space ? space_launch(space, &wanted, frame->tail, frame->tail_bytes, &launched) : CORUN_ARGUMENT;
    session_send(session, WIRE_LAUNCHED, &launched, NULL, 0);
}

static void copy(struct session *session, const struct wire_frame *frame)
{
    struct wire_copy wanted;
    wire_body(frame, &wanted);
    struct corun_gpu *gpu = session->device->gpu; /* who copies takes part */
    uint64_t longest = UINT64_C(1) << 40;
    if (wanted.engine >= CORUN_COPY_ENGINES || wanted.cycles > longest ||
        wanted.since > longest + corun_gpu_cycles(gpu))
        place(session, CORUN_ARGUMENT, 0);
    else {
        uint64_t now = corun_gpu_cycles(gpu);
        if (session->node->settings.pace > 0 && wanted.since < now) /* the client has not seen what time it is */
            wanted.since = now;
        place(session, CORUN_OK,
              corun_gpu_copy(gpu, (enum corun_copy_engine)wanted.engine, wanted.since, wanted.cycles));
    }
}

/* It is the client's own account of itself: nothing depends on it, and none is longer than the machine's life. */
static void keep_run(struct session *session, const struct wire_frame *frame)
{
    struct wire_run run;
    wire_body(frame, &run);
    uint64_t most = session->device ? corun_gpu_cycles(session->device->gpu) : 0;
    lengths_add(&session->runs, run.cycles < most ? run.cycles : most, run.again);
}

static void wait_for(struct session *session, const struct wire_frame *frame)
{
    struct wire_wait wanted;
    wire_body(frame, &wanted);
    uint64_t furthest = corun_gpu_cycles(session->device->gpu) + LONGEST_WAIT; /* it asks again */
    session->until = wanted.until;
    session->wake = wanted.wake != UINT64_MAX && wanted.wake > furthest ? furthest : wanted.wake;
    session->waits = !session->hung_up; /* else it leaves: what it has under way may never end */
    session->rests = false;
}

/* It leaves when it would have come back, if it hangs up. */
static void idle_for(struct session *session, const struct wire_frame *frame)
{
    struct wire_idle wanted;
    wire_body(frame, &wanted);
    uint64_t now = corun_gpu_cycles(session->device->gpu);
    if (wanted.until == UINT64_MAX) { /* unless something follows that it has sent already */
        session->idle = !session->hung_up && session->in.bytes - session->in.taken == frame->bytes;
        return;
    }
    session->until = wanted.until > now + LONGEST_WAIT ? now + LONGEST_WAIT : wanted.until;
    session->wake = session->until;
    session->waits = session->rests = true;
}

/* ---- in their order ---- */

static bool has_space(const struct session *session)
{
    bool any = false;
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        any |= session->spaces[i] != NULL;
    return any;
}

/*
 * Whether the place that it is to have is that of a client that has hung up, and leaves when it is its turn. A script's next program comes
 * before that where another client computes meanwhile.
 */
static bool comes_too_early(const struct session *session, const struct wire_frame *frame)
{
    const struct node *node = session->node;
    struct wire_join wanted;
    wire_body(frame, &wanted);
    for (size_t i = 0; i < node->sessions.count && node->settings.keeps_places; i++) {
        const struct session *other = node->sessions.data[i];
        if (other->joined && other->number < node->settings.expected_count && other->hung_up && !other->gone &&
            !other->broken && !strncmp(other->join.name, wanted.name, sizeof wanted.name))
            return true;
    }
    return false;
}

/* What other clients can notice, or what depends on where time is: only when it is the client's turn. */
static bool needs_turn(const struct session *session, const struct wire_frame *frame)
{
    enum wire_type type = frame->type;
    struct wire_goal goal = {.pid = 1};
    if (type == WIRE_GOAL)
        wire_body(frame, &goal);
    if (!goal.pid) /* its own; before it has a context nobody notices */
        return session->takes_part;
    if (type == WIRE_CONTEXT) /* of the first one nobody notices: it has the client's number */
        return has_space(session);
    return type == WIRE_CONTEXT_GONE || type == WIRE_ENTER || type == WIRE_LEAVE || type == WIRE_LAUNCH ||
           type == WIRE_COPY || type == WIRE_WAIT || type == WIRE_IDLE;
}

static void serve_memory(struct session *session, const struct wire_frame *frame)
{
    struct wire_allocate wanted;
    struct wire_adopt other;
    struct wire_at gone;
    enum corun_status status = CORUN_OK;
    switch (frame->type) {
    case WIRE_ALLOCATE:
        wire_body(frame, &wanted);
        session_done(session, status = allocate(session, &wanted));
        break;
    case WIRE_ADOPT:
        wire_body(frame, &other);
        session_done(session, status = adopt(session, &other));
        break;
    case WIRE_FREE:
        release(session, frame);
        break;
    case WIRE_NAME:
        name(session, frame);
        break;
    case WIRE_TEXTURE:
        session_done(session, status = make_texture(session, frame));
        break;
    default:
        wire_body(frame, &gone);
        if (space_of(session, gone.memory))
            (void)corun_texture_destroy(space_of(session, gone.memory)->memory, gone.address);
        break;
    }
    if (status == CORUN_OK && session->takes_part)
        keep_in_log(session, frame);
}

static void serve_machine(struct session *session, const struct wire_frame *frame)
{
    struct wire_memory wanted;
    struct space *space;
    switch (frame->type) {
    case WIRE_ENTER:
        wire_body(frame, &wanted);
        space = space_of(session, wanted.memory);
        place(session, space ? space_enter(space) : CORUN_ARGUMENT, 0);
        break;
    case WIRE_LEAVE:
        wire_body(frame, &wanted);
        space = space_of(session, wanted.memory);
        session_done(session, space ? space_leave(space) : CORUN_ARGUMENT);
        break;
    case WIRE_LAUNCH:
        launch(session, frame);
        break;
    case WIRE_COPY:
        copy(session, frame);
        break;
    case WIRE_WAIT:
        wait_for(session, frame);
        break;
    case WIRE_IDLE:
        idle_for(session, frame);
        break;
    default: /* for a corund of hardware */
        session->broken = true;
        break;
    }
}

static void serve(struct session *session, const struct wire_frame *frame)
{
    switch (frame->type) {
    case WIRE_JOIN:
        join(session, frame);
        break;
    case WIRE_ATTACH:
        session_refuse(session, CORUN_UNSUPPORTED,
                       "this corund has simulated GPUs, and the program comes with the shim of one of hardware");
        break;
    case WIRE_LIST:
        asked_list(session);
        break;
    case WIRE_GOAL:
        asked_goal(session, frame);
        break;
    case WIRE_POLICY:
        asked_policy(session, frame);
        break;
    case WIRE_RUN:
        keep_run(session, frame);
        break;
    case WIRE_CONTEXT:
        make_context(session);
        break;
    case WIRE_CONTEXT_GONE:
        end_context(session, frame);
        break;
    case WIRE_MODULE:
        load(session, frame);
        break;
    case WIRE_ALLOCATE:
    case WIRE_ADOPT:
    case WIRE_FREE:
    case WIRE_NAME:
    case WIRE_TEXTURE:
    case WIRE_TEXTURE_GONE:
        serve_memory(session, frame);
        break;
    default:
        serve_machine(session, frame);
        break;
    }
}

bool session_serve(struct session *session, bool turn)
{
    struct wire_frame frame;
    struct buffer *in = &session->in;
    if (session->broken || session->waits || in->bytes == in->taken)
        return false;
    enum wire_taken taken = wire_take(in->data + in->taken, in->bytes - in->taken, true, &frame);
    if (taken == WIRE_WRONG)
        session->broken = true;
    if (taken != WIRE_WHOLE)
        return false;
    if (needs_turn(session, &frame)) {
        if (!session->takes_part) { /* it has nothing that could be meant */
            session->broken = true;
            return false;
        }
        if (!turn || (frame.type == WIRE_LAUNCH && session->node->draining))
            return false;
    }
    if (frame.type == WIRE_JOIN && !session->joined &&
        (comes_too_early(session, &frame) || arrival_waits(session, &frame)))
        return false;
    serve(session, &frame);
    in->taken += frame.bytes;
    if (in->taken == in->bytes)
        in->taken = in->bytes = 0;
    return true;
}

/* ---- once more ---- */

/* Whether all that has been answered went well. */
static bool went_well(const struct session *session)
{
    const struct buffer *out = &session->out;
    struct wire_frame frame;
    struct wire_done done;
    for (size_t at = 0; at < out->bytes; at += frame.bytes) {
        if (wire_take(out->data + at, out->bytes - at, false, &frame) != WIRE_WHOLE)
            return false;
        if (frame.type != WIRE_DONE && frame.type != WIRE_PLACE)
            continue;
        wire_body(&frame, &done); /* both begin with the status */
        if (done.status != CORUN_OK)
            return false;
    }
    return true;
}

bool session_replay(struct session *session, const uint8_t *log, size_t bytes)
{
    struct wire_frame frame;
    bool good = true;
    session->replays = true;
    for (size_t at = 0; at < bytes && good; at += frame.bytes) {
        good = wire_take(log + at, bytes - at, true, &frame) == WIRE_WHOLE &&
               (frame.type == WIRE_MODULE || frame.type == WIRE_ALLOCATE || frame.type == WIRE_FREE ||
                frame.type == WIRE_NAME || frame.type == WIRE_ADOPT || frame.type == WIRE_TEXTURE ||
                frame.type == WIRE_TEXTURE_GONE);
        if (good)
            serve(session, &frame);
    }
    session->replays = false;
    good = good && !session->broken && went_well(session);
    session->out.bytes = session->out.taken = 0;
    return good;
}
