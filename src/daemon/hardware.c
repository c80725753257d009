/* SPDX-License-Identifier: MIT */
/* Sockets of corund on a GPU of hardware. What programs may do is written to their boards; what they did is read there. */
#include "daemon/hardware.h"

#include "daemon/listen.h"
#include "daemon/node.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#define NUMBERS_KHZ 1000000u /* a cycle of the list is a nanosecond */
#define MOST_KNOWN 256u      /* names whose rates alone are kept */

/* What a program of that name did alone. */
struct known {
    char name[WIRE_NAME_BYTES];
    struct rate_alone alone;
};

struct hardware {
    uv_loop_t loop;
    uv_poll_t listener, clock;
    uv_signal_t signals[3];
    int socket, timer, file; /* of the boards */
    struct board_front *front;
    struct gate gate;
    struct hardware_settings *settings;
    struct client *clients; /* a list */
    struct known known[MOST_KNOWN];
    uint32_t known_count, known_next; /* the oldest gives its place */
};

struct client {
    uv_poll_t poll;
    struct hardware *hardware;
    struct client *next;
    struct peer peer;
    int socket;
    bool sends_file; /* with the next bytes */
    struct buffer in, out;
    struct board *board; /* NULL: it has not attached */
    uint32_t number;
    struct wire_attach attach;
    bool ends; /* nothing more is heard of it */
};

/* ---- what is there ---- */

static bool read_line(const char *path, const char *key, char *value, size_t bytes)
{
    char line[512];
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *text = line + strlen(key);
        text += strspn(text, ": \t");
        snprintf(value, bytes, "%.*s", (int)strcspn(text, "\n"), text);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

bool hardware_find(char gpu[WIRE_NAME_BYTES], char version[WIRE_NAME_BYTES])
{
    char path[4096], text[256] = "";
    bool found = false;
    uv_fs_t request;
    uv_dirent_t entry;
    version[0] = 0;
    if (read_line("/proc/driver/nvidia/version", "NVRM version", text, sizeof text)) {
        const char *at =
            strstr(text, "  "); /* the driver's name, its version, its date, each two blanks behind the other */
        at = at ? at + strspn(at, " ") : "";
        snprintf(version, WIRE_NAME_BYTES, "%.*s", (int)strcspn(at, " "), at);
    }
    if (uv_fs_scandir(NULL, &request, "/proc/driver/nvidia/gpus", 0, NULL) >= 0) {
        while (!found && uv_fs_scandir_next(&request, &entry) == 0) {
            snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", entry.name);
            found = read_line(path, "Model", gpu, WIRE_NAME_BYTES);
        }
    }
    uv_fs_req_cleanup(&request);
    return found;
}

bool hardware_has_service(void)
{
    char path[4096], text[32] = "";
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", folder && *folder ? folder : "/tmp/nvidia-mps");
    if (!read_line(path, "", text, sizeof text))
        return false;
    long pid = strtol(text, NULL, 10);
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* ---- time ---- */

static uint64_t now(void)
{
    return uv_hrtime();
}

/* Looks at the boards, and again when that is due. */
static void look(struct hardware *hardware)
{
    uint64_t wait = gate_look(&hardware->gate, now());
    struct itimerspec due = {.it_value = {0}};
    if (wait != GATE_NEVER)
        due.it_value = (struct timespec){(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
    (void)timerfd_settime(hardware->timer, 0, &due, NULL);
}

static void on_clock(uv_poll_t *handle, int status, int events)
{
    struct hardware *hardware = handle->data;
    uint64_t times;
    (void)status;
    (void)events;
    (void)!read(hardware->timer, &times, sizeof times);
    look(hardware);
}

/* ---- clients ---- */

static void on_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    close(client->socket);
    free(client->in.data);
    free(client->out.data);
    free(client);
}

static struct known *find_known(struct hardware *hardware, const char *name)
{
    for (uint32_t i = 0; i < hardware->known_count; i++)
        if (strcmp(hardware->known[i].name, name) == 0)
            return &hardware->known[i];
    return NULL;
}

/* Its rate alone is that of the next program of its name. */
static void keep_known(struct hardware *hardware, const struct client *client)
{
    const struct rate_alone *alone = &hardware->gate.clients[client->number].rate.alone;
    struct known *known = find_known(hardware, client->attach.name);
    if (!rate_alone_known(alone))
        return;
    if (!known) {
        known = &hardware->known[hardware->known_next];
        hardware->known_next = (hardware->known_next + 1) % MOST_KNOWN;
        hardware->known_count += hardware->known_count < MOST_KNOWN;
        memcpy(known->name, client->attach.name, sizeof known->name);
    }
    known->alone = *alone;
}

static void drop(struct client *client)
{
    struct hardware *hardware = client->hardware;
    struct client **at = &hardware->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    if (client->board)
        keep_known(hardware, client);
    if (client->board)
        gate_leave(&hardware->gate, client->number);
    uv_close((uv_handle_t *)&client->poll, on_closed);
    look(hardware);
}

static void answer(struct client *client, enum wire_type type, const void *body, const char *text)
{
    const struct wire_row *row = wire_row(type);
    uint32_t length = text ? (uint32_t)strlen(text) : 0;
    struct wire_header header = {type, row->bytes + length};
    if (!buffer_add(&client->out, &header, sizeof header) || !buffer_add(&client->out, body, row->bytes) ||
        !buffer_add(&client->out, text, length))
        client->ends = true;
}

static void refuse(struct client *client, enum corun_status status, const char *text)
{
    const struct wire_done body = {status};
    answer(client, WIRE_REFUSED, &body, text);
}

/* NULL: it is a goal. */
static const char *goal_problem_there(uint32_t kind, double value)
{
    if (kind == CORUN_GOAL_NONE)
        return NULL;
    if (kind == CORUN_GOAL_IPC || kind > CORUN_GOAL_FRAMES_PER_SECOND)
        return "on a GPU of hardware a goal is a part of the rate alone, as 90%, or ms=X or fps=X of the program's "
               "runs: "
               "nobody counts instructions there";
    if (!isfinite(value) || value <= 0 || value > (kind == CORUN_GOAL_FRACTION ? 1 : 1e9))
        return "a goal is above 0, and as a part of the rate alone at most 100%";
    return NULL;
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
        refuse(client, CORUN_ARGUMENT, "the program's shim and the daemon are of different versions of corun");
        return;
    }
    if (!wire_text(attach->name, sizeof attach->name)) {
        client->ends = true;
        return;
    }
    const char *problem = goal_problem_there(attach->goal, attach->goal_value);
    if (problem) {
        refuse(client, CORUN_ARGUMENT, problem);
        return;
    }
    client->number = gate_enter(&hardware->gate, attach->goal != CORUN_GOAL_NONE);
    if (client->number == GATE_MOST_CLIENTS) {
        refuse(client, CORUN_MEMORY, "there are too many clients");
        return;
    }
    const struct known *known = find_known(hardware, attach->name);
    gate_promise(&hardware->gate, client->number, (enum corun_goal_kind)attach->goal, attach->goal_value,
                 known ? &known->alone : NULL);
    client->board = board_at(hardware->front, client->number);
    client->sends_file = true;
    const struct wire_attached body = {client->number, 0};
    look(hardware); /* its gate, before it sees the board */
    answer(client, WIRE_BOARD, &body, NULL);
}

static void describe(const struct client *client, struct wire_client *row)
{
    struct board *board = client->board;
    const struct gate_client *place = &client->hardware->gate.clients[client->number];
    const struct rate *rate = &place->rate;
    *row =
        (struct wire_client){.number = client->number,
                             .pid = client->peer.pid,
                             .uid = client->peer.uid,
                             .state = place->busy || atomic_load(&board->waiting) ? WIRE_STATE_WAITS : WIRE_STATE_HOST,
                             .goal = client->attach.goal,
                             .goal_value = client->attach.goal_value,
                             .in_flight = (uint32_t)board_under_way(board),
                             .launches = atomic_load(&board->launches),
                             .cycles = rate->wanted_ns,
                             .runs = rate->runs,
                             .ended = rate->ended > 0 ? (uint64_t)rate->ended : 0,
                             .alone_per_second = rate_alone_per_second(&rate->alone),
                             .behind = rate_is_behind(rate)};
    memcpy(row->name, client->attach.name, sizeof row->name);
}

static void list(struct client *client)
{
    const struct hardware *hardware = client->hardware;
    struct wire_node node = {.cycle = now(), .core_clock_khz = NUMBERS_KHZ, .hardware = 1, .sample_cycles = 1};
    const struct wire_done done = {CORUN_OK};
    memcpy(node.gpu, hardware->settings->gpu, sizeof node.gpu);
    memcpy(node.policy, hardware->settings->policy_text, sizeof node.policy);
    answer(client, WIRE_NODE, &node, NULL);
    for (const struct client *other = hardware->clients; other; other = other->next) {
        struct wire_client row;
        if (!other->board)
            continue;
        describe(other, &row);
        answer(client, WIRE_CLIENT, &row, NULL);
    }
    answer(client, WIRE_DONE, &done, NULL);
}

/* Its owner, corund's user and root may. */
static bool may_change(const struct client *client, uint32_t uid)
{
    return client->peer.uid == 0 || client->peer.uid == geteuid() || client->peer.uid == uid;
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
            refuse(client, CORUN_ARGUMENT, "it is the program of another user");
            return;
        }
        const char *problem = goal_problem_there(goal.goal, goal.value);
        if (problem) {
            refuse(client, CORUN_ARGUMENT, problem);
            return;
        }
        other->attach.goal = goal.goal;
        other->attach.goal_value = goal.value;
        gate_promise(&hardware->gate, other->number, (enum corun_goal_kind)goal.goal, goal.value, NULL);
        look(hardware);
        answer(client, WIRE_DONE, &done, NULL);
        return;
    }
    refuse(client, CORUN_NOT_FOUND, "no client has that process");
}

static void change_policy(struct client *client, const struct wire_frame *frame)
{
    struct hardware *hardware = client->hardware;
    const struct wire_done done = {CORUN_OK};
    char text[WIRE_MOST_POLICY] = "";
    struct gate_rules rules;
    struct corun_diagnostics *said = corun_diagnostics_create();
    memcpy(text, frame->tail, frame->tail_bytes < sizeof text ? frame->tail_bytes : sizeof text - 1);
    enum corun_status status = said ? gate_rules_read(text, &rules, said) : CORUN_MEMORY;
    if (!may_change(client, geteuid())) {
        refuse(client, CORUN_ARGUMENT, "only the daemon's user changes the policy");
    } else if (status != CORUN_OK) {
        refuse(client, status,
               corun_diagnostics_count(said) ? corun_diagnostics_get(said, 0)->message : "out of memory");
    } else {
        gate_change(&hardware->gate, &rules);
        memcpy(hardware->settings->policy_text, text, sizeof text);
        look(hardware);
        answer(client, WIRE_DONE, &done, NULL);
    }
    corun_diagnostics_destroy(said);
}

static void serve(struct client *client, const struct wire_frame *frame)
{
    switch (frame->type) {
    case WIRE_ATTACH:
        attach(client, frame);
        break;
    case WIRE_RING:
        look(client->hardware);
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
        refuse(client, CORUN_UNSUPPORTED,
               "this corund shares a GPU of hardware; the program has the libraries of a simulated one: start it with "
               "`corun share`");
        break;
    default:
        client->ends = true;
    }
}

/* ---- bytes ---- */

static void hear(struct client *client)
{
    uint8_t data[4096];
    struct wire_frame frame;
    ssize_t bytes = recv(client->socket, data, sizeof data, MSG_DONTWAIT);
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR) ||
        (bytes > 0 && !buffer_add(&client->in, data, (size_t)bytes)))
        client->ends = true;
    enum wire_taken taken = WIRE_WHOLE;
    while (!client->ends && taken == WIRE_WHOLE) {
        taken = wire_take(client->in.data + client->in.taken, client->in.bytes - client->in.taken, true, &frame);
        if (taken == WIRE_WHOLE) {
            client->in.taken += frame.bytes;
            serve(client, &frame);
        }
        /* Nobody sends this corund anything that is longer. */
        if (taken == WIRE_WRONG ||
            (taken == WIRE_PARTIAL && client->in.bytes - client->in.taken > 2 * WIRE_MOST_POLICY))
            client->ends = true;
    }
    if (client->in.taken == client->in.bytes)
        client->in.taken = client->in.bytes = 0;
}

/* The file goes with the first bytes. Answers are short: who does not read them is dropped. */
static void tell(struct client *client)
{
    while (client->out.taken < client->out.bytes) {
        union {
            struct cmsghdr align;
            char room[CMSG_SPACE(sizeof(int))];
        } control = {.room = {0}};
        struct iovec part = {client->out.data + client->out.taken, client->out.bytes - client->out.taken};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (client->sends_file) {
            message.msg_control = control.room;
            message.msg_controllen = sizeof control.room;
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            *head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(head), &client->hardware->file, sizeof client->hardware->file);
        }
        ssize_t sent = sendmsg(client->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            client->ends = true;
            return;
        }
        client->out.taken += (size_t)sent;
        client->sends_file = false;
    }
    client->out.taken = client->out.bytes = 0;
}

static void on_event(uv_poll_t *handle, int status, int events)
{
    struct client *client = handle->data;
    (void)events;
    if (status < 0)
        client->ends = true;
    else
        hear(client);
    tell(client);
    if (client->ends)
        drop(client);
}

static void on_connect(uv_poll_t *handle, int status, int events)
{
    struct hardware *hardware = handle->data;
    (void)events;
    int socket = status == 0 ? accept4(hardware->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    struct client *client = socket >= 0 ? calloc(1, sizeof *client) : NULL;
    if (!client || !listen_peer(socket, &client->peer) || uv_poll_init(&hardware->loop, &client->poll, socket) != 0) {
        free(client);
        if (socket >= 0)
            close(socket);
        return;
    }
    client->hardware = hardware;
    client->socket = socket;
    client->poll.data = client;
    client->next = hardware->clients;
    hardware->clients = client;
    if (uv_poll_start(&client->poll, UV_READABLE, on_event) != 0)
        drop(client);
}

/* ---- from start to end ---- */

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

/* Boards that programs have, too, and that cannot become shorter under anybody. */
static bool make_boards(struct hardware *hardware)
{
    hardware->file = memfd_create("corun-boards", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (hardware->file < 0 || ftruncate(hardware->file, BOARD_FILE_BYTES) != 0 ||
        fcntl(hardware->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return false;
    void *front = mmap(NULL, BOARD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, hardware->file, 0);
    hardware->front = front == MAP_FAILED ? NULL : front;
    return hardware->front != NULL;
}

static bool start(struct hardware *hardware)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    hardware->listener.data = hardware->clock.data = hardware;
    hardware->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    (void)prctl(PR_SET_TIMERSLACK, 1000);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (uv_signal_init(&hardware->loop, &hardware->signals[i]) != 0 ||
            uv_signal_start(&hardware->signals[i], on_signal, numbers[i]) != 0)
            return false;
    return hardware->timer >= 0 && uv_poll_init(&hardware->loop, &hardware->clock, hardware->timer) == 0 &&
           uv_poll_start(&hardware->clock, UV_READABLE, on_clock) == 0 &&
           uv_poll_init(&hardware->loop, &hardware->listener, hardware->socket) == 0 &&
           uv_poll_start(&hardware->listener, UV_READABLE, on_connect) == 0;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Programs run on, ungoverned: gates are opened. */
static void stop(struct hardware *hardware)
{
    const struct gate_rules none = {.policy = GATE_LEFT_OVER};
    if (hardware->front) {
        gate_change(&hardware->gate, &none);
        (void)gate_look(&hardware->gate, now());
    }
    while (hardware->clients)
        drop(hardware->clients);
    uv_walk(&hardware->loop, close_handle, NULL);
    (void)uv_run(&hardware->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&hardware->loop);
    if (hardware->timer >= 0)
        close(hardware->timer);
    if (hardware->front)
        munmap(hardware->front, BOARD_FILE_BYTES);
    if (hardware->file >= 0)
        close(hardware->file);
}

enum corun_status hardware_run(struct hardware_settings *settings, struct corun_diagnostics *list)
{
    struct hardware *hardware = calloc(1, sizeof *hardware);
    enum corun_status status = CORUN_OK;
    if (!hardware || uv_loop_init(&hardware->loop) != 0) {
        free(hardware);
        return CORUN_MEMORY;
    }
    hardware->settings = settings;
    hardware->timer = hardware->file = -1;
    bool boards = make_boards(hardware);
    gate_begin(&hardware->gate, &settings->rules, hardware->front);
    hardware->socket = boards ? listen_at(settings->path, false) : -1;
    if (!boards)
        status = CORUN_MEMORY;
    else if (hardware->socket < 0)
        status = corun_report(list, CORUN_FILE, (struct corun_place){settings->path, 0, 0},
                              "no clients can be served there: %s",
                              errno == EADDRINUSE ? "a daemon serves there already" : strerror(errno));
    else if (!start(hardware))
        status = CORUN_MEMORY;
    if (status == CORUN_OK) {
        if (settings->ready)
            settings->ready(settings->user);
        listen_notify("READY=1");
        (void)uv_run(&hardware->loop, UV_RUN_DEFAULT);
        listen_notify("STOPPING=1");
    }
    stop(hardware);
    if (hardware->socket >= 0) {
        close(hardware->socket);
        (void)unlink(settings->path);
    }
    free(hardware);
    return status;
}
