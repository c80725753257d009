/* SPDX-License-Identifier: MIT */
/* Sockets of a node: whoever connects becomes a session; bytes go in and out; the node works when nothing else is to be done. */
#include "daemon/server.h"

#include "daemon/listen.h"
#include "daemon/metrics.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define CONNECTIONS_OF_USER 64u          /* where limits let others come */
#define MOST_AT_ONCE (UINT32_C(1) << 20) /* bytes of a client before others have their turn */

struct server {
    struct node *node;
    uv_loop_t loop;
    uv_poll_t listener;
    uv_idle_t work;
    uv_signal_t signals[4];
    uv_timer_t timer;   /* of the one that holds up time */
    uv_timer_t metrics; /* until they are written again */
    const struct session *holder;
    struct server_settings *settings;
    int socket;
    uint64_t refused;
    bool metrics_fail; /* which has been said */
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

static void on_event(uv_poll_t *handle, int status, int events)
{
    struct connection *connection = handle->data;
    if (!connection->session)
        return;
    if (status < 0 || events & UV_READABLE)
        hear(connection);
    settle(connection);
    connection->server->holder = NULL; /* it calls, or another one does */
    wake(connection->server);
}

static void on_timer(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct session *holder = node_holder(server->node);
    if (holder && holder == server->holder)
        holder->idle = true;
    server->holder = NULL;
    wake(server);
}

/* Measures how long everybody waits for one. */
static void watch_holder(struct server *server)
{
    const struct session *holder = node_holder(server->node);
    if (server->settings->patience > 0 && holder != server->holder) {
        uv_timer_stop(&server->timer);
        if (holder)
            uv_timer_start(&server->timer, on_timer, (uint64_t)(server->settings->patience * 1000), 0);
        server->holder = holder;
    }
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
    if (more)
        return;
    uv_idle_stop(&server->work);
    watch_holder(server);
}

/* One user does not take the places of all others. */
static bool has_place(const struct server *server, const struct peer *peer, uint32_t row)
{
    uint32_t count = 0;
    for (size_t i = 0; i < server->node->sessions.count; i++)
        count += server->node->sessions.data[i]->uid == peer->uid;
    return row == LIMITS_OWNER || count < CONNECTIONS_OF_USER;
}

static bool welcome(struct server *server, int socket, const struct peer *peer, uint32_t row)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return false;
    *connection = (struct connection){.server = server, .socket = socket};
    connection->poll.data = connection;
    if (uv_poll_init(&server->loop, &connection->poll, socket) != 0) {
        free(connection);
        return false;
    }
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

/* Whether it still hears that does not matter. */
static void turn_away(int socket)
{
    static const char text[] = "this user may not use the GPU of this corund";
    struct {
        struct wire_header header;
        struct wire_done body;
        char text[sizeof text];
    } message = {.header = {WIRE_REFUSED, sizeof message.body + sizeof text - 1}, .body = {CORUN_ARGUMENT}};
    memcpy(message.text, text, sizeof text);
    (void)!send(socket, &message, offsetof(__typeof__(message), text) + sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(socket);
}

static void on_connect(uv_poll_t *handle, int status, int events)
{
    struct server *server = handle->data;
    struct peer peer;
    static const struct limits none = {.count = 0};
    const struct limits *limits = server->node->settings.limits ? server->node->settings.limits : &none;
    (void)events;
    int socket = status == 0 ? accept4(server->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (socket < 0)
        return;
    uint32_t row = listen_peer(socket, &peer) ? limits_find(limits, &peer, geteuid()) : LIMITS_NOBODY;
    if (row == LIMITS_NOBODY) {
        turn_away(socket);
        server->refused++;
    } else if (!has_place(server, &peer, row) || !welcome(server, socket, &peer, row)) {
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
    int problem = metrics_write(server->node, server->refused, server->settings->metrics);
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
    server->holder = NULL; /* patience may be another */
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
    else
        uv_stop(&server->loop);
}

static bool start(struct server *server)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    size_t count = server->settings->child ? 4 : 3;
    uv_idle_init(&server->loop, &server->work);
    uv_timer_init(&server->loop, &server->timer);
    uv_timer_init(&server->loop, &server->metrics);
    server->timer.data = server->metrics.data = server;
    server->work.data = server->listener.data = server;
    for (size_t i = 0; i < count; i++) {
        server->signals[i].data = server;
        if (uv_signal_init(&server->loop, &server->signals[i]) != 0 ||
            uv_signal_start(&server->signals[i], on_signal, numbers[i]) != 0)
            return false;
    }
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
                        "no clients can be served there: %s",
                        errno == EADDRINUSE ? "a daemon serves there already" : strerror(errno));
}

enum corun_status server_run(struct node *node, struct server_settings *settings, struct corun_diagnostics *list)
{
    struct server server = {.node = node, .settings = settings, .socket = -1};
    enum corun_status status = open_socket(&server, list);
    if (status != CORUN_OK)
        return status;
    status = CORUN_MEMORY;
    if (uv_loop_init(&server.loop) == 0) {
        if (start(&server)) {
            begin_metrics(&server);
            if (settings->ready)
                settings->ready(settings->user);
            listen_notify("READY=1");
            if (!settings->child || !settings->child(settings->user))
                (void)uv_run(&server.loop, UV_RUN_DEFAULT);
            listen_notify("STOPPING=1");
            status = node->failed ? CORUN_POLICY : CORUN_OK;
        }
        stop(&server);
    }
    close(server.socket);
    if (!settings->handed_over) /* else whoever has it starts the next daemon with it */
        (void)unlink(settings->path);
    return status;
}
