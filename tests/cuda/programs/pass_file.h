/* SPDX-License-Identifier: MIT */
/* A file descriptor for another process, through a socket, beside a byte that says nothing. */
#ifndef CORUN_PASS_FILE_H
#define CORUN_PASS_FILE_H

#include "driver_test.h"

#include <sys/socket.h>

static void send_file(int socket, int file)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {{.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &file, sizeof file);
    CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_file(int socket)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    int file;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK(recvmsg(socket, &message, 0) == 1);
    memcpy(&file, CMSG_DATA(&control.header), sizeof file);
    return file;
}

#endif
