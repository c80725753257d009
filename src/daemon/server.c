/* SPDX-License-Identifier: MIT */
/* Sockets of a node: whoever connects becomes a session; bytes go in and out; the node works when nothing else is to be done. */
#include "daemon/server.h"

#include "daemon/listen.h"
#include "daemon/metrics.h"
#include "daemon/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define CONNECTIONS_OF_USER 64u /* where limits let others come */
#define PACE_LOOKS_MS 1u
#define DRAIN_MS 10000u
#define MOST_AT_ONCE (UINT32_C(1) << 20) /* bytes of a client before others have their turn */

/* How long everybody on a GPU has waited for one. */
struct patience {
    struct server *server;
    struct device *device;
    uv_timer_t timer;
    const struct session *holder;
};

struct server {
    struct node *node;
    uv_loop_t loop;
    uv_poll_t listener;
    uv_idle_t work;
    uv_signal_t signals[4];
    uv_timer_t upgrade; /* while it drains, to become another one */
    char file[UPGRADE_PATH_BYTES];
    uv_timer_t metrics; /* until they are written again */
    uv_timer_t pace;    /* while time follows the clock */
    uint64_t paced_at;  /* nanoseconds of that clock */
    struct patience patience[WIRE_MOST_GPUS];
    struct server_settings *settings;
    int socket, reserve; /* `reserve`: listen_accept's */
    uint64_t refused;
    bool metrics_fail; /* which has been said */
    bool holds;        /* signals wait (upgrade_hold) */
};

struct connection {
    uv_poll_t poll;
    struct server *server;
    struct session *session; /* NULL: it is being closed */
    int socket;
    int events; /* that are waited for */
};

static void on_work(uv_idle_t *handle);

/* There may be something to do for the node. */
static void wake(struct server *server)
{
    uv_idle_start(&server->work, on_work);
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    close(connection->socket);
    free(connection);
}

static void drop(struct connection *connection)
{
    if (!connection->session)
        return;
    session_end(connection->session);
    connection->session = NULL;
    uv_close((uv_handle_t *)&connection->poll, on_closed);
}

static void hear(struct connection *connection)
{
    uint8_t data[16384];
    struct session *session = connection->session;
    for (uint32_t got = 0; got < MOST_AT_ONCE;) {
        ssize_t bytes = recv(connection->socket, data, sizeof data, MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (bytes <= 0) {
            session_hang_up(session);
            return;
        }
        if (!session_receive(session, data, (size_t)bytes)) {
            session->broken = true;
            return;
        }
        got += (uint32_t)bytes;
    }
}

/* Sends what it can of the session's bytes, a file with the byte that it belongs to. False: the client is gone. */
static bool tell(const struct connection *connection)
{
    struct session *session = connection->session;
    struct buffer *out = &session->out;
    while (out->taken < out->bytes) {
        union {
            struct cmsghdr align;
            char room[CMSG_SPACE(sizeof(int))];
        } control = {.room = {0}};
        struct iovec part = {out->data + out->taken, out->bytes - out->taken};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        bool with_file = session->file >= 0 && session->file_at == 0;
        if (session->file >= 0 && !with_file)
            part.iov_len = session->file_at;
        if (with_file) {
            message.msg_control = control.room;
            message.msg_controllen = sizeof control.room;
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            *head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(head), &session->file, sizeof session->file);
        }
        ssize_t sent = sendmsg(connection->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        out->taken += (size_t)sent;
        if (with_file)
            session->file = -1;
        else if (session->file >= 0)
            session->file_at -= (size_t)sent;
    }
    out->taken = out->bytes = 0;
    return true;
}

static void on_event(uv_poll_t *handle, int status, int events);

/* Sends, and looks for what is to be waited for from now on. */
static void settle(struct connection *connection)
{
    struct session *session = connection->session;
    bool there = tell(connection);
    if (!there && !session->hung_up)
        session_hang_up(session);
    if (session->broken || session->gone) {
        drop(connection);
        return;
    }
    int events = session->hung_up ? 0 : UV_READABLE;
    if (there && session->out.bytes)
        events |= UV_WRITABLE;
    if (events != connection->events && events)
        uv_poll_start(&connection->poll, events, on_event);
    if (events != connection->events && !events)
        uv_poll_stop(&connection->poll);
    connection->events = events;
}

static void forget_holders(struct server *server)
{
    for (uint32_t i = 0; i < server->node->device_count; i++)
        server->patience[i].holder = NULL;
}

static void on_event(uv_poll_t *handle, int status, int events)
{
    struct connection *connection = handle->data;
    if (!connection->session)
        return;
    if (status < 0 || events & UV_READABLE)
        hear(connection);
    settle(connection);
    forget_holders(connection->server); /* it calls, or another one does */
    wake(connection->server);
}

static void on_timer(uv_timer_t *timer)
{
    struct patience *patience = timer->data;
    struct session *holder = device_holder(patience->device);
    if (holder && holder == patience->holder)
        holder->idle = true;
    patience->holder = NULL;
    wake(patience->server);
}

/* Measures how long everybody waits for one. */
static void watch_holders(struct server *server)
{
    double seconds = server->settings->patience;
    for (uint32_t i = 0; seconds > 0 && i < server->node->device_count; i++) {
        struct patience *patience = &server->patience[i];
        const struct session *holder = device_holder(patience->device);
        if (holder == patience->holder)
            continue;
        uv_timer_stop(&patience->timer);
        if (holder)
            uv_timer_start(&patience->timer, on_timer, (uint64_t)(seconds * 1000), 0);
        patience->holder = holder;
    }
}

static void on_pace(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t now = uv_hrtime();
    node_pass(server->node, now - server->paced_at);
    server->paced_at = now;
    wake(server);
}

/* Looks at the clock as long as time follows it. */
static void follow_clock(struct server *server)
{
    bool follows = node_follows_clock(server->node), runs = uv_is_active((uv_handle_t *)&server->pace);
    if (follows && !runs) {
        node_pass(server->node, 0);
        server->paced_at = uv_hrtime();
        uv_timer_start(&server->pace, on_pace, PACE_LOOKS_MS, PACE_LOOKS_MS);
    } else if (!follows && runs) {
        uv_timer_stop(&server->pace);
    }
}

/* ---- becoming another one ---- */

static void stay(struct server *server, const char *why)
{
    uv_timer_stop(&server->upgrade);
    server->node->draining = server->holds = false;
    upgrade_hear();
    server->settings->tell(server->settings->user, "it stays the corund that it is", why);
    forget_holders(server);
    wake(server);
}

static int socket_of(const struct session *session)
{
    const struct connection *connection = session->user;
    return connection->socket;
}

/* The listener, sockets, and files of memory. */
static size_t list_descriptors(const struct server *server, int *descriptors)
{
    const struct node *node = server->node;
    size_t count = 0;
    descriptors[count++] = server->socket;
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *session = node->sessions.data[i];
        descriptors[count++] = socket_of(session);
        for (uint32_t s = 0; s < CORUN_MAX_APPLICATIONS; s++)
            if (session->spaces[s])
                descriptors[count++] = session->spaces[s]->file;
    }
    return count;
}

/* Whether the other one can take over; NULL: it can. */
static const char *ask_next(const struct server *server)
{
    char version[HANDOVER_TEXT_BYTES];
    return upgrade_problem(server->file, handover_version(&server->node->settings, version));
}

/* Does not come back if that goes well. The other one is asked again: it has been long since, and its configuration may have become wrong. */
static void hand_over(struct server *server)
{
    struct handover_server own = {.listener = server->socket, .handed_over = server->settings->handed_over};
    struct buffer state = {.data = NULL};
    const struct node *node = server->node;
    const char *why = NULL;
    int *descriptors = calloc(1 + node->sessions.count * (1 + CORUN_MAX_APPLICATIONS), sizeof *descriptors);
    memcpy(own.path, server->settings->path, sizeof own.path);
    memcpy(own.configured, server->settings->configured, sizeof own.configured);
    if (handover_obstacle(node, &why) || (why = ask_next(server)) != NULL) {
        stay(server, why);
    } else if (!descriptors || !handover_pack(node, &own, socket_of, &state)) {
        stay(server, "out of memory");
    } else {
        int problem = upgrade_become(server->file, &state, descriptors, list_descriptors(server, descriptors));
        stay(server, strerror(problem));
    }
    free(state.data);
    free(descriptors);
}

static void on_not_drained(uv_timer_t *timer)
{
    stay(timer->data, "a kernel has not ended for ten seconds");
}

/* Asks first: nothing changes unless the other one can take over. */
static void begin_upgrade(struct server *server)
{
    const struct node *node = server->node;
    const char *why = NULL;
    if (node->draining)
        return;
    (void)handover_obstacle(node, &why);
    if (!why && !node->begun)
        why = "programs are still expected";
    if (!why && !*server->file)
        why = "its file is not known";
    if (!why)
        why = ask_next(server);
    if (why) {
        stay(server, why);
        return;
    }
    server->node->draining = true;
    uv_timer_start(&server->upgrade, on_not_drained, DRAIN_MS, 0);
    wake(server);
}

static void on_work(uv_idle_t *handle)
{
    struct server *server = handle->data;
    struct node *node = server->node;
    bool more = node_work(node);
    for (size_t i = node->sessions.count; i-- > 0;)
        settle(node->sessions.data[i]->user);
    if (node->failed)
        uv_stop(&server->loop);
    follow_clock(server);
    if (more)
        return;
    bool drained = node->draining && node_is_drained(node);
    if (drained && !server->holds) { /* once more, behind signals that have come */
        upgrade_hold();
        server->holds = true;
        return;
    }
    uv_idle_stop(&server->work);
    if (drained)
        hand_over(server);
    watch_holders(server);
}

/* Why there is no place for one more; NULL: there is. One user does not take the places of all others. */
static const char *why_no_place(const struct server *server, const struct peer *peer, uint32_t row)
{
    uint32_t count = 0;
    for (size_t i = 0; i < server->node->sessions.count; i++)
        count += server->node->sessions.data[i]->uid == peer->uid;
    if (row != LIMITS_OWNER && count >= CONNECTIONS_OF_USER)
        return "this user has as many connections to corund as a user can have";
    return server->node->sessions.count < NODE_MOST_SESSIONS ? NULL : "corund has as many connections as it can have";
}

/* A connection without a session yet. NULL: out of memory. */
static struct connection *connect_to(struct server *server, int socket)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    *connection = (struct connection){.server = server, .socket = socket};
    connection->poll.data = connection;
    if (uv_poll_init(&server->loop, &connection->poll, socket) == 0)
        return connection;
    free(connection);
    return NULL;
}

static bool welcome(struct server *server, int socket, const struct peer *peer, uint32_t row)
{
    struct connection *connection = connect_to(server, socket);
    if (!connection)
        return false;
    connection->session = session_begin(server->node, peer->pid, peer->uid);
    if (!connection->session) {
        uv_close((uv_handle_t *)&connection->poll, on_closed);
        return true;
    }
    connection->session->user = connection;
    connection->session->peer = *peer;
    connection->session->row = row;
    settle(connection);
    return true;
}

static void on_connect(uv_poll_t *handle, int status, int events)
{
    struct server *server = handle->data;
    struct peer peer;
    static const struct limits none = {.count = 0};
    const struct limits *limits = server->node->settings.limits ? server->node->settings.limits : &none;
    (void)events;
    int socket = status == 0 ? listen_accept(server->socket, &server->reserve) : -1;
    if (socket < 0)
        return;
    uint32_t row = listen_peer(socket, &peer) ? limits_find(limits, &peer, geteuid()) : LIMITS_NOBODY;
    const char *why = row == LIMITS_NOBODY ? LISTEN_STRANGER : why_no_place(server, &peer, row);
    if (why) {
        listen_turn_away(socket, why);
        server->refused++;
    } else if (!welcome(server, socket, &peer, row)) {
        close(socket);
        server->refused++;
    }
}

/* ---- metrics ---- */

static void on_metrics(uv_timer_t *timer)
{
    struct server *server = timer->data;
    if (!server->settings->metrics)
        return;
    int problem = metrics_write_node(server->node, server->refused, server->settings->metrics);
    if (problem && !server->metrics_fail)
        server->settings->complain(server->settings->user, server->settings->metrics, strerror(problem));
    server->metrics_fail = problem != 0;
}

static void begin_metrics(struct server *server)
{
    uint64_t interval = (uint64_t)(server->settings->metrics_interval * 1e3);
    uv_timer_stop(&server->metrics);
    if (server->settings->metrics)
        uv_timer_start(&server->metrics, on_metrics, 0, interval);
}

/* ---- signals ---- */

static void reload(struct server *server)
{
    server->settings->reload(server->settings->user);
    node_new_limits(server->node, geteuid());
    begin_metrics(server);
    const struct limits *limits = server->node->settings.limits;
    if (!server->settings->handed_over)
        (void)chmod(server->settings->path, limits && limits->count ? 0666 : 0600);
    forget_holders(server); /* patience may be another */
    wake(server);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    const struct server_settings *settings = server->settings;
    if (settings->interrupted) {
        if (number == SIGCHLD ? settings->child(settings->user) : settings->interrupted(settings->user, number))
            uv_stop(&server->loop);
        wake(server); /* who is not there any more is not waited for */
    } else if (number == SIGHUP && server->settings->reload)
        reload(server);
    else if (number == SIGUSR2)
        begin_upgrade(server);
    else
        uv_stop(&server->loop);
}

static bool start(struct server *server)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    uv_idle_init(&server->loop, &server->work);
    for (uint32_t i = 0; i < server->node->device_count; i++) {
        struct patience *patience = &server->patience[i];
        *patience = (struct patience){.server = server, .device = &server->node->devices[i]};
        uv_timer_init(&server->loop, &patience->timer);
        patience->timer.data = patience;
    }
    uv_timer_init(&server->loop, &server->metrics);
    uv_timer_init(&server->loop, &server->pace);
    uv_timer_init(&server->loop, &server->upgrade);
    server->upgrade.data = server;
    server->metrics.data = server->pace.data = server;
    server->work.data = server->listener.data = server;
    for (size_t i = 0; i < sizeof server->signals / sizeof *server->signals; i++) {
        int last = server->settings->child ? SIGCHLD : SIGUSR2, number = i < 3 ? numbers[i] : last;
        server->signals[i].data = server;
        if (uv_signal_init(&server->loop, &server->signals[i]) != 0 ||
            uv_signal_start(&server->signals[i], on_signal, number) != 0)
            return false;
    }
    upgrade_hear();
    return uv_poll_init(&server->loop, &server->listener, server->socket) == 0 &&
           uv_poll_start(&server->listener, UV_READABLE, on_connect) == 0;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Clients first: their sessions are the node's. */
static void stop(struct server *server)
{
    while (server->node->sessions.count)
        drop(server->node->sessions.data[0]->user);
    uv_walk(&server->loop, close_handle, NULL);
    (void)uv_run(&server->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&server->loop);
}

static enum corun_status open_socket(struct server *server, struct corun_diagnostics *list)
{
    struct server_settings *settings = server->settings;
    const struct limits *limits = server->node->settings.limits;
    server->socket = listen_handed_over(settings->path, sizeof settings->path);
    settings->handed_over = server->socket >= 0;
    if (server->socket == -2)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE,
                            "what has been handed over (LISTEN_FDS) is not one Unix socket that listens");
    if (server->socket == -1)
        server->socket = listen_at(settings->path, limits && limits->count);
    if (server->socket >= 0)
        return CORUN_OK;
    return corun_report(list, CORUN_FILE, (struct corun_place){settings->path, 0, 0},
                        "no clients can be served there: %s", listen_problem(errno));
}

static void end_socket(struct server *server)
{
    if (server->settings->handed_over)
        close(server->socket); /* whoever has it starts the next daemon with it */
    else if (server->socket >= 0)
        listen_end(server->socket, server->settings->path);
}

/* ---- taking over from another one ---- */

static bool came_again(void *user, struct session *session, int socket)
{
    struct server *server = user;
    struct connection *connection = session ? connect_to(server, socket) : NULL;
    if (!session)
        close(socket);
    if (!connection)
        return false;
    (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        if (session->spaces[i])
            (void)fcntl(session->spaces[i]->file, F_SETFD, FD_CLOEXEC);
    connection->session = session;
    session->user = connection;
    return true;
}

static enum corun_status take_over(struct server *server, struct corun_diagnostics *list)
{
    struct handover_server before;
    uint8_t *state = NULL;
    size_t bytes = 0;
    enum corun_status status = CORUN_ARGUMENT;
    if (upgrade_state(&state, &bytes))
        status = handover_unpack(server->node, state, bytes, list, &before, came_again, server);
    free(state);
    if (status != CORUN_OK)
        return status;
    (void)fcntl(before.listener, F_SETFD, FD_CLOEXEC);
    server->socket = before.listener;
    server->settings->handed_over = before.handed_over;
    memcpy(server->settings->path, before.path, sizeof before.path);
    if (strcmp(before.configured, server->settings->configured) != 0) /* the file is another by now */
        (void)node_change_policy(server->node, WIRE_ALL_GPUS, server->node->settings.policy_text, list);
    for (size_t i = server->node->sessions.count; i-- > 0;)
        settle(server->node->sessions.data[i]->user);
    node_new_limits(server->node, geteuid());
    for (size_t i = 0; server->settings->tell && i < corun_diagnostics_count(list); i++)
        server->settings->tell(server->settings->user, "of what it takes over",
                               corun_diagnostics_get(list, i)->message);
    corun_diagnostics_clear(list);
    return CORUN_OK;
}

enum corun_status server_run(struct node *node, struct server_settings *settings, struct corun_diagnostics *list)
{
    struct server server = {.node = node, .settings = settings, .socket = -1, .reserve = -1};
    bool takes_over = upgrade_takes_over();
    enum corun_status status = takes_over ? CORUN_OK : open_socket(&server, list);
    if (status != CORUN_OK)
        return status;
    (void)upgrade_file(server.file);
    status = listen_check_room(list);
    if (status == CORUN_OK && uv_loop_init(&server.loop) != 0)
        status = CORUN_MEMORY;
    if (status != CORUN_OK) {
        end_socket(&server);
        return status;
    }
    if (takes_over)
        status = take_over(&server, list);
    if (status == CORUN_OK && !start(&server))
        status = CORUN_MEMORY;
    if (status == CORUN_OK) {
        begin_metrics(&server);
        wake(&server);
        if (settings->ready)
            settings->ready(settings->user);
        listen_notify("READY=1");
        if (!settings->child || !settings->child(settings->user))
            (void)uv_run(&server.loop, UV_RUN_DEFAULT);
        listen_notify("STOPPING=1");
        status = node->failed ? CORUN_POLICY : CORUN_OK;
    }
    stop(&server);
    if (server.reserve >= 0)
        close(server.reserve);
    end_socket(&server);
    return status;
}
