/* SPDX-License-Identifier: MIT */
/* The daemon's socket, without a library of systemd's: its protocols are two variables and a datagram. */
#include "daemon/listen.h"

#include "base/last_words.h"
#include "base/number.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 128
#define MOST_REASON 128u
#define LOCK_TRIES 100u
#define FIRST_HANDED_OVER 3
#define LOOP_DESCRIPTORS 6 /* of libuv: epoll, an event, and two pipes for signals */
#define PEER_PROCESS 77    /* SO_PEERPIDFD, of Linux 6.5 */

static int make_listener(const struct sockaddr_un *address, bool open)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before = umask(open ? 0111 : 0177); /* others cannot even connect */
    bool good = listener >= 0 && !bind(listener, (const struct sockaddr *)address, sizeof *address) &&
                !listen(listener, BACKLOG);
    int problem = errno;
    umask(before);
    if (!good && listener >= 0)
        close(listener);
    errno = problem;
    return good ? listener : -1;
}

/*
 * One daemon at a time looks at what lies in that folder and changes it: a socket that another one has just made must not be taken for one that was left
 * over. The lock is the folder's own, and whoever may read that can hold it, so nobody is waited for long. -1: not locked.
 */
static int lock_folder(const char *path)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const char *end = strrchr(path, '/');
    char *folder = end ? strndup(path, end > path ? (size_t)(end - path) : 1) : strdup(".");
    int locked = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    for (unsigned int i = 0; i < LOCK_TRIES && locked >= 0 && flock(locked, LOCK_EX | LOCK_NB) != 0; i++)
        (void)nanosleep(&pause, NULL);
    return locked;
}

static void unlock_folder(int locked)
{
    if (locked >= 0)
        close(locked);
}

/*
 * A socket that nobody listens at is left over from a daemon that was killed, and goes; anything else stays. What is there then, as an error number; 0:
 * nothing.
 */
static int clear_path(const char *path)
{
    struct stat found;
    struct wire_link probe;
    if (lstat(path, &found) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISSOCK(found.st_mode))
        return ENOTSOCK;
    int problem = wire_connect(&probe, path);
    wire_close(&probe);
    if (problem != ECONNREFUSED)
        return EADDRINUSE;
    return unlink(path) != 0 && errno != ENOENT ? errno : 0;
}

int listen_at(const char *path, bool open)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int locked = lock_folder(path), problem = clear_path(path);
    int listener = problem ? -1 : make_listener(&address, open);
    problem = problem ? problem : errno;
    unlock_folder(locked);
    errno = problem;
    return listener;
}

const char *listen_problem(int error)
{
    return error == EADDRINUSE ? "a daemon serves there already"
           : error == ENOTSOCK ? "what lies there is no socket, and stays"
                               : strerror(error);
}

void listen_end(int listener, const char *path)
{
    int locked = lock_folder(path);
    close(listener);
    (void)clear_path(path);
    unlock_folder(locked);
}

static bool is_number_of(const char *variable, uint64_t wanted)
{
    uint64_t number;
    const char *text = getenv(variable);
    return text && number_parse(text, 1000, &number) && number == wanted;
}

static bool listens(int socket)
{
    int value = 0;
    socklen_t bytes = sizeof value;
    bool stream = getsockopt(socket, SOL_SOCKET, SO_TYPE, &value, &bytes) == 0 && value == SOCK_STREAM;
    bytes = sizeof value;
    return stream && getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &bytes) == 0 && value;
}

int listen_handed_over(char *path, size_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNSPEC};
    socklen_t length = sizeof address;
    bool ours = is_number_of("LISTEN_PID", (uint64_t)getpid()), any = ours && getenv("LISTEN_FDS");
    bool one = any && is_number_of("LISTEN_FDS", 1);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (!any)
        return -1;
    if (!one || !listens(FIRST_HANDED_OVER) ||
        getsockname(FIRST_HANDED_OVER, (struct sockaddr *)&address, &length) != 0 || address.sun_family != AF_UNIX)
        return -2;
    if (fcntl(FIRST_HANDED_OVER, F_SETFD, FD_CLOEXEC) != 0 || fcntl(FIRST_HANDED_OVER, F_SETFL, O_NONBLOCK) != 0)
        return -2;
    snprintf(path, bytes, "%.*s", (int)sizeof address.sun_path, address.sun_path);
    return FIRST_HANDED_OVER;
}

int listen_accept(int listener, int *reserve)
{
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0 && (errno == EMFILE || errno == ENFILE) && *reserve >= 0) {
        close(*reserve);
        int unheard = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (unheard >= 0)
            close(unheard);
        *reserve = -1;
    }
    if (*reserve < 0)
        *reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return socket;
}

enum corun_status listen_check_room(struct corun_diagnostics *list)
{
    int taken[LOOP_DESCRIPTORS + 1], count = 0, problem = 0;
    while (!problem && count < LOOP_DESCRIPTORS + 1) {
        int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (one >= 0)
            taken[count++] = one;
        else
            problem = errno;
    }
    int missing = LOOP_DESCRIPTORS + 1 - count;
    while (count)
        close(taken[--count]);
    return problem ? corun_report(list, CORUN_FILE, CORUN_NOWHERE,
                                  "no clients can be served: %s; descriptors that are lacking (ulimit -n): at least %d",
                                  strerror(problem), missing)
                   : CORUN_OK;
}

/*
 * Of who has connected, as long as it is there: behind its end its number may be another process's. A kernel before Linux 6.5 does not say whether it is.
 */
static void find_cgroup(int socket, struct peer *peer)
{
    int process = -1;
    socklen_t bytes = sizeof process;
    bool told = getsockopt(socket, SOL_SOCKET, PEER_PROCESS, &process, &bytes) == 0;
    int problem = errno;
    (void)cgroup_of((pid_t)peer->pid, peer->cgroup);
    struct pollfd ended = {.fd = process, .events = POLLIN};
    if (told ? poll(&ended, 1, 0) != 0 : problem != ENOPROTOOPT)
        *peer->cgroup = 0;
    if (told)
        close(process);
}

bool listen_peer(int socket, struct peer *peer)
{
    struct ucred who;
    socklen_t bytes = sizeof who;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0)
        return false;
    *peer = (struct peer){.pid = (uint32_t)who.pid, .uid = who.uid, .gid = who.gid};
    bytes = sizeof peer->groups;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &bytes) == 0)
        peer->group_count = bytes / (socklen_t)sizeof peer->groups[0];
    else
        peer->groups_unknown = 1;
    find_cgroup(socket, peer);
    return true;
}

void listen_notify(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = 0;
    int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sender < 0)
        return;
    (void)sendto(sender, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(sender);
}

/* Whether it still hears that does not matter. */
void listen_turn_away(int socket, const char *why)
{
    struct {
        struct wire_header header;
        struct wire_done body;
        char text[MOST_REASON];
    } message = {.body = {CORUN_ARGUMENT}};
    size_t length = strnlen(why, sizeof message.text);
    message.header = (struct wire_header){WIRE_REFUSED, (uint32_t)(sizeof message.body + length)};
    memcpy(message.text, why, length);
    (void)!send(socket, &message, offsetof(__typeof__(message), text) + length, MSG_DONTWAIT | MSG_NOSIGNAL);
    last_words_close(socket);
}
