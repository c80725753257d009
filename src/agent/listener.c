/* SPDX-License-Identifier: MIT */
/* The agent's socket: where it is, who may come. */
#include "agent/running.h"

#include "base/last_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST_CONNECTIONS 1024u
#define KEPT_DESCRIPTORS 8 /* no connection takes those that looking at a process, or starting one, needs */

enum corun_status agent_default_socket(char *path, size_t bytes, struct corun_diagnostics *list)
{
    char folder[160];
    struct stat found;
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && runtime[0] == '/' && strlen(runtime) < sizeof folder - 16)
        snprintf(folder, sizeof folder, "%s/corun", runtime);
    else
        snprintf(folder, sizeof folder, "/tmp/corun-%u", geteuid());
    if (mkdir(folder, 0700) && errno != EEXIST)
        return corun_report(list, CORUN_FILE, (struct corun_place){folder, 0, 0}, "%s", strerror(errno));
    if (lstat(folder, &found) || !S_ISDIR(found.st_mode) || found.st_uid != geteuid() || found.st_mode & 022)
        return corun_report(list, CORUN_FILE, (struct corun_place){folder, 0, 0},
                            "this is no folder of this user's alone");
    int length = snprintf(path, bytes, "%s/agent", folder);
    return length > 0 && (size_t)length < bytes ? CORUN_OK : CORUN_MEMORY;
}

static bool address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof address->sun_path)
        return false;
    memcpy(address->sun_path, path, strlen(path));
    return true;
}

static int connect_to(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

enum corun_status listener_open(struct agent *agent)
{
    const struct corun_place place = {agent->socket_path, 0, 0};
    struct sockaddr_un address;
    if (!address_of(agent->socket_path, &address))
        return corun_report(agent->list, CORUN_FILE, place, "the path of a socket has at most %zu bytes",
                            sizeof address.sun_path - 1);
    int other = connect_to(&address);
    if (other >= 0) {
        close(other);
        return corun_report(agent->list, CORUN_ARGUMENT, place, "an agent answers there already");
    }
    struct stat found;
    if (errno == ECONNREFUSED && !lstat(agent->socket_path, &found) && S_ISSOCK(found.st_mode))
        unlink(agent->socket_path); /* of an agent that is gone */
    agent->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(0177);
    int error = agent->listener < 0 || bind(agent->listener, (const struct sockaddr *)&address, sizeof address) ||
                        listen(agent->listener, 128)
                    ? errno
                    : 0;
    umask(before);
    if (error && agent->listener >= 0) {
        close(agent->listener); /* whatever lies there is not the agent's */
        agent->listener = -1;
    }
    if (error)
        return corun_report(agent->list, CORUN_FILE, place, "no socket can be made: %s", strerror(error));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &agent->listener};
    return epoll_ctl(agent->epoll, EPOLL_CTL_ADD, agent->listener, &event) ? CORUN_MEMORY : CORUN_OK;
}

/* Of this user, or of the administrator; a process of this machine that can be seen from here. */
static bool may_come(int fd, struct process_id *process)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || bytes != sizeof peer)
        return false;
    return (peer.uid == geteuid() || peer.uid == 0) && process_find(peer.pid, process);
}

static bool add_connection(struct agent *agent, int fd, struct process_id process)
{
    struct connection *connection = calloc(1, sizeof *connection);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    if (!connection || !vector_push(&agent->connections, connection)) {
        free(connection);
        return false;
    }
    *connection = (struct connection){.fd = fd, .process = process, .since_ns = agent->now_ns};
    if (epoll_ctl(agent->epoll, EPOLL_CTL_ADD, fd, &event)) {
        agent->connections.count--;
        free(connection);
        return false;
    }
    return true;
}

/* Whether there is room for it, and for what the agent does besides. */
static bool has_room(const struct agent *agent, int fd)
{
    struct rlimit most;
    bool told = getrlimit(RLIMIT_NOFILE, &most) == 0;
    return agent->connections.count < MOST_CONNECTIONS && (!told || (rlim_t)fd + KEPT_DESCRIPTORS < most.rlim_cur);
}

static void turn_away(int fd)
{
    const struct corun_service_bye bye = {.kind = CORUN_SERVICE_BYE,
                                          .reason = "the agent has as many connections as it can have"};
    (void)!send(fd, &bye, sizeof bye, MSG_DONTWAIT | MSG_NOSIGNAL);
    last_words_close(fd);
}

void listener_accept(struct agent *agent)
{
    for (int accepted = 0; accepted < 64; accepted++) {
        struct process_id process;
        int fd = accept4(agent->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        bool room = has_room(agent, fd), may = room && may_come(fd, &process);
        agent->refused += room && !may;
        if (!room)
            turn_away(fd);
        else if (!may || !add_connection(agent, fd, process))
            close(fd);
    }
}

enum corun_status agent_ask(const char *socket, struct corun_diagnostics *list, char **text)
{
    const struct corun_service_watch watch = {CORUN_SERVICE_WATCH, CORUN_SERVICE_PROTOCOL};
    struct corun_service_status status;
    struct sockaddr_un address;
    struct timeval patience = {.tv_sec = 5};
    char *room = malloc(CORUN_SERVICE_STATUS_BYTES + 1);
    *text = NULL;
    if (!room)
        return CORUN_MEMORY;
    int fd = address_of(socket, &address) ? connect_to(&address) : -1;
    ssize_t bytes = -1;
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (send(fd, &watch, sizeof watch, MSG_NOSIGNAL) == sizeof watch)
            bytes = recv(fd, room, CORUN_SERVICE_STATUS_BYTES, 0);
        close(fd);
    }
    if (bytes >= (ssize_t)sizeof status)
        memcpy(&status, room, sizeof status);
    if (bytes < (ssize_t)sizeof status || status.kind != CORUN_SERVICE_STATUS ||
        status.bytes != (size_t)bytes - sizeof status) {
        free(room);
        return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){socket, 0, 0}, "no agent answers there");
    }
    memmove(room, room + sizeof status, status.bytes);
    room[status.bytes] = 0;
    *text = room;
    return CORUN_OK;
}
