/* SPDX-License-Identifier: MIT */
/*
 * A socket at which somebody answers like corund, with whatever an input says: for fuzzers of those who connect there. Each connection gets the same messages, at once and up
 * to the end, whatever it asks; what it sends is read and forgotten.
 */
#ifndef CORUN_FUZZ_LYING_DAEMON_H
#define CORUN_FUZZ_LYING_DAEMON_H

#include "wire/wire.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LYING_MOST_MESSAGES = 64, LYING_MOST_BYTES = 1 << 18 };

struct lying_message {
    size_t end; /* in the bytes */
    int file;   /* that comes with it; -1: none */
};

struct lying_daemon {
    char path[108];
    int listener;
    pthread_mutex_t lock; /* of what follows, while it is sent or changed */
    uint8_t bytes[LYING_MOST_BYTES];
    struct lying_message messages[LYING_MOST_MESSAGES];
    size_t count;
};

static inline void lying_send(int socket, const uint8_t *data, size_t bytes, int file)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    while (bytes) {
        struct iovec part = {(void *)(uintptr_t)data, bytes};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (file >= 0) {
            message.msg_control = control.room;
            message.msg_controllen = sizeof control.room;
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            *head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(head), &file, sizeof file);
        }
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* nobody wants more */
        data += sent;
        bytes -= (size_t)sent;
        file = -1;
    }
}

static inline void *lying_serve(void *user)
{
    struct lying_daemon *daemon = user;
    for (;;) {
        uint8_t heard[4096];
        int socket = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC);
        if (socket < 0)
            abort();
        pthread_mutex_lock(&daemon->lock);
        size_t from = 0;
        for (size_t i = 0; i < daemon->count; i++) {
            lying_send(socket, daemon->bytes + from, daemon->messages[i].end - from, daemon->messages[i].file);
            from = daemon->messages[i].end;
        }
        pthread_mutex_unlock(&daemon->lock);
        (void)shutdown(socket, SHUT_WR);
        while (recv(socket, heard, sizeof heard, 0) > 0)
            ;
        close(socket);
    }
    return NULL;
}

/* Once in a process. */
static inline struct lying_daemon *lying_begin(void)
{
    struct lying_daemon *daemon = calloc(1, sizeof *daemon);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;
    if (!daemon)
        abort();
    snprintf(daemon->path, sizeof daemon->path, "/tmp/corun-fuzz-%d", (int)getpid());
    memcpy(address.sun_path, daemon->path, sizeof daemon->path);
    (void)unlink(daemon->path);
    pthread_mutex_init(&daemon->lock, NULL);
    daemon->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(daemon->listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(daemon->listener, 8) != 0 || pthread_create(&thread, NULL, lying_serve, daemon) != 0)
        abort();
    pthread_detach(thread);
    return daemon;
}

struct lying_input {
    const uint8_t *data;
    size_t bytes;
};

static inline uint8_t lying_next(struct lying_input *input)
{
    uint8_t value = input->bytes ? *input->data : 0;
    input->data += input->bytes != 0;
    input->bytes -= input->bytes != 0;
    return value;
}

static inline void lying_add(struct lying_daemon *daemon, const void *data, size_t bytes, int file)
{
    size_t from = daemon->count ? daemon->messages[daemon->count - 1].end : 0;
    if (daemon->count == LYING_MOST_MESSAGES || bytes > LYING_MOST_BYTES - from)
        return;
    memcpy(daemon->bytes + from, data, bytes);
    daemon->messages[daemon->count++] = (struct lying_message){from + bytes, file};
}

/*
 * A message as the input has it: its type; how long what is behind it is; a file, of those that there are, or none; and what of the structure, which is as `fill` makes it,
 * has another value. Types of clients are garbage.
 */
static inline void lying_message(struct lying_daemon *daemon, struct lying_input *input,
                                 void (*fill)(enum wire_type type, void *body), const int *files, uint32_t file_count)
{
    static uint8_t message[sizeof(struct wire_header) + 8192];
    uint8_t type = lying_next(input), tail = lying_next(input), file = lying_next(input), changes = lying_next(input);
    const struct wire_row *row = wire_row(type % WIRE_TYPES);
    memset(message, 0, sizeof message);
    uint32_t behind = row->most ? (row->most < tail ? row->most : tail) : 0;
    struct wire_header header = {type % WIRE_TYPES, row->bytes + behind};
    fill((enum wire_type)header.type, message + sizeof header);
    for (uint32_t i = 0; i < changes % 32; i++) {
        uint32_t at = lying_next(input);
        at = (at << 8 | lying_next(input)) % header.bytes;
        message[sizeof header + at] = lying_next(input);
    }
    if (changes >= 0xf0)
        header.bytes = (uint32_t)(lying_next(input) << 8 | lying_next(input));
    memcpy(message, &header, sizeof header);
    lying_add(daemon, message, sizeof header + row->bytes + behind, file < file_count ? files[file] : -1);
}

#endif
