/* SPDX-License-Identifier: MIT */
/* A client's end of the socket. It waits: for room to send, and for answers. */
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int wire_connect(struct wire_link *link, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *link = (struct wire_link){.socket = -1, .file = -1};
    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    link->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->socket < 0)
        return errno;
    while (connect(link->socket, (const struct sockaddr *)&address, sizeof address) != 0)
        if (errno != EINTR) {
            int problem = errno;
            wire_close(link);
            return problem;
        }
    return 0;
}

void wire_close(struct wire_link *link)
{
    struct wire_link closed = *link;
    *link = (struct wire_link){.socket = -1, .file = -1};
    if (closed.socket >= 0)
        close(closed.socket);
    if (closed.file >= 0)
        close(closed.file);
    free(closed.data);
}

static bool send_all(int socket, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    while (bytes) {
        ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

/* Who is turned away is told why before it has said anything: that is still to be read. */
static bool was_told_at_once(const struct wire_link *link)
{
    uint8_t byte;
    return !link->data && recv(link->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

bool wire_send(struct wire_link *link, enum wire_type type, const void *body, const void *tail, uint32_t tail_bytes)
{
    enum { ROOM = 1024 };
    uint8_t head[ROOM];
    const struct wire_row *row = wire_row(type);
    struct wire_header header = {type, row->bytes + tail_bytes};
    if (link->socket < 0 || sizeof header + row->bytes > sizeof head || tail_bytes > row->most)
        return false;
    memcpy(head, &header, sizeof header);
    memcpy(head + sizeof header, body, row->bytes);
    if (send_all(link->socket, head, sizeof header + row->bytes) && send_all(link->socket, tail, tail_bytes))
        return true;
    int problem = errno;
    if ((problem == EPIPE || problem == ECONNRESET) && was_told_at_once(link))
        return true;
    wire_close(link);
    errno = problem;
    return false;
}

/* A file that comes with bytes; an older one that nobody has taken is closed. */
static void take_file(struct wire_link *link, struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS || part->cmsg_len < CMSG_LEN(sizeof(int)))
            continue;
        if (link->file >= 0)
            close(link->file);
        memcpy(&link->file, CMSG_DATA(part), sizeof link->file);
    }
}

/* More than any message of the daemon. */
#define LINK_BYTES (4 * WIRE_MOST_LINE)

static bool receive_more(struct wire_link *link)
{
    if (!link->data && !(link->data = malloc(LINK_BYTES)))
        return false;
    memmove(link->data, link->data + link->taken, link->bytes - link->taken);
    link->bytes -= link->taken;
    link->taken = 0;
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {link->data + link->bytes, LINK_BYTES - link->bytes};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t got;
    do
        got = recvmsg(link->socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    take_file(link, &message);
    link->bytes += (size_t)got;
    return true;
}

bool wire_receive(struct wire_link *link, struct wire_frame *frame)
{
    while (link->socket >= 0) {
        enum wire_taken taken = WIRE_PARTIAL;
        if (link->data)
            taken = wire_take(link->data + link->taken, link->bytes - link->taken, false, frame);
        if (taken == WIRE_WHOLE) {
            link->taken += frame->bytes;
            return true;
        }
        if (taken == WIRE_WRONG || !receive_more(link)) {
            wire_close(link);
            return false;
        }
    }
    return false;
}
