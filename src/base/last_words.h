/* SPDX-License-Identifier: MIT */
/* The end of a connection of a local socket to which the reason has been sent. */
#ifndef CORUN_BASE_LAST_WORDS_H
#define CORUN_BASE_LAST_WORDS_H

#include <sys/socket.h>
#include <unistd.h>

/*
 * Closes it. What the other side has said already is read first: from a socket that is closed with something unread, the other side hears ECONNRESET
 * in place of what has been sent. What it says from now on fails there, with EPIPE.
 */
static inline void last_words_close(int fd)
{
    char said[4096];
    shutdown(fd, SHUT_RD);
    while (recv(fd, said, sizeof said, MSG_DONTWAIT) > 0)
        continue;
    close(fd);
}

#endif
