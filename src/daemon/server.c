/* SPDX-License-Identifier: MIT */
/* Sockets of a node: whoever connects becomes a session; bytes go in and out; the node works when nothing else is to be done. */
#include "daemon/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define BACKLOG 128
#define MOST_AT_ONCE (UINT32_C(1) << 20) /* bytes of a client before others have their turn */

struct server {
    struct node *node;
    uv_loop_t loop;
    uv_poll_t listener;
    uv_idle_t work;
    uv_signal_t signals[2];
    uv_timer_t timer; /* of the one that holds up time */
    const struct session *holder;
    double patience; /* seconds, 0: without end */
    int socket;
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
    if (server->patience > 0 && holder != server->holder) {
        uv_timer_stop(&server->timer);
        if (holder)
            uv_timer_start(&server->timer, on_timer, (uint64_t)(server->patience * 1000), 0);
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

/* Who it is, as the kernel says; false: a stranger. */
static bool knows_peer(int socket, struct ucred *peer)
{
    socklen_t bytes = sizeof *peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, peer, &bytes) == 0 && (peer->uid == geteuid() || peer->uid == 0);
}

static bool welcome(struct server *server, int socket, const struct ucred *peer)
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
    connection->session = session_begin(server->node, (uint32_t)peer->pid, peer->uid);
    if (!connection->session) {
        uv_close((uv_handle_t *)&connection->poll, on_closed);
        return true;
    }
    connection->session->user = connection;
    settle(connection);
    return true;
}

static void on_connect(uv_poll_t *handle, int status, int events)
{
    struct server *server = handle->data;
    struct ucred peer;
    (void)events;
    int socket = status == 0 ? accept4(server->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
    if (socket >= 0 && (!knows_peer(socket, &peer) || !welcome(server, socket, &peer)))
        close(socket);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    (void)number;
    uv_stop(&server->loop);
}

/* A socket that nobody listens at is left over from a daemon that was killed. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct wire_link probe;
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int problem = wire_connect(&probe, path);
    wire_close(&probe);
    if (!problem) {
        errno = EADDRINUSE;
        return -1;
    }
    if (problem == ECONNREFUSED)
        (void)unlink(path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(0177); /* others cannot even connect */
    bool good = listener >= 0 && !bind(listener, (const struct sockaddr *)&address, sizeof address) &&
                !listen(listener, BACKLOG);
    problem = errno;
    umask(before);
    if (!good && listener >= 0)
        close(listener);
    errno = problem;
    return good ? listener : -1;
}

static bool start(struct server *server)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    uv_idle_init(&server->loop, &server->work);
    uv_timer_init(&server->loop, &server->timer);
    server->timer.data = server;
    server->work.data = server->listener.data = server;
    for (size_t i = 0; i < 2; i++) {
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

enum corun_status server_run(struct node *node, const char *path, double patience, void (*ready)(void *user),
                             void *user, struct corun_diagnostics *list)
{
    struct server server = {.node = node, .patience = patience, .socket = listen_at(path)};
    if (server.socket < 0)
        return corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "no clients can be served there: %s",
                            errno == EADDRINUSE ? "a daemon serves there already" : strerror(errno));
    enum corun_status status = CORUN_MEMORY;
    if (uv_loop_init(&server.loop) == 0) {
        if (start(&server)) {
            if (ready)
                ready(user);
            (void)uv_run(&server.loop, UV_RUN_DEFAULT);
            status = node->failed ? CORUN_POLICY : CORUN_OK;
        }
        stop(&server);
    }
    close(server.socket);
    (void)unlink(path);
    return status;
}
