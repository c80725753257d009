/* SPDX-License-Identifier: MIT */
/* Messages of the wire: lengths are those of the rows, and nothing else is taken. */
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static size_t make(uint8_t *data, uint32_t type, uint32_t bytes)
{
    struct wire_header header = {type, bytes};
    memcpy(data, &header, sizeof header);
    memset(data + sizeof header, 7, bytes < 1000 ? bytes : 0);
    return sizeof header + bytes;
}

static void test_rows(void **state)
{
    (void)state;
    assert_null(wire_row(WIRE_TYPES));
    for (uint32_t type = 0; type < WIRE_TYPES; type++) {
        const struct wire_row *row = wire_row(type);
        assert_non_null(row);
        assert_int_equal(row->from_client, type < WIRE_WELCOME);
        assert_true(row->bytes > 0 && row->bytes % 4 == 0); /* no padding that would carry memory of the sender */
    }
}

static void test_lengths(void **state)
{
    (void)state;
    uint8_t data[2048];
    struct wire_frame frame;
    for (uint32_t type = 0; type < WIRE_TYPES; type++) {
        const struct wire_row *row = wire_row(type);
        bool client = row->from_client;
        size_t whole = make(data, type, row->bytes);
        for (size_t bytes = 0; bytes < whole; bytes++)
            assert_int_equal(wire_take(data, bytes, client, &frame), WIRE_PARTIAL);
        assert_int_equal(wire_take(data, whole + 9, client, &frame), WIRE_WHOLE);
        assert_int_equal(frame.type, type);
        assert_int_equal(frame.bytes, whole);
        assert_int_equal(frame.tail_bytes, 0);
        assert_int_equal(wire_take(data, whole, !client, &frame), WIRE_WRONG);
        make(data, type, row->bytes - 1);
        assert_int_equal(wire_take(data, whole, client, &frame), WIRE_WRONG);
        make(data, type, row->bytes + row->most);
        assert_int_not_equal(wire_take(data, 8, client, &frame), WIRE_WRONG);
        make(data, type, row->bytes + row->most + 1);
        assert_int_equal(wire_take(data, 8, client, &frame), WIRE_WRONG);
    }
    make(data, WIRE_TYPES, 4);
    assert_int_equal(wire_take(data, 12, true, &frame), WIRE_WRONG);
    make(data, WIRE_WAIT, UINT32_MAX);
    assert_int_equal(wire_take(data, 12, true, &frame), WIRE_WRONG);
}

/* A client's end gets messages in pieces, one with a file, and ends where there is a wrong one. */
static void test_link(void **state)
{
    (void)state;
    int sockets[2];
    uint8_t data[64];
    struct wire_frame frame;
    struct wire_time time;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    struct wire_link link = {.socket = sockets[0], .file = -1};
    const struct wire_wait wait = {5, 6};
    assert_true(wire_send(&link, WIRE_WAIT, &wait, NULL, 0));
    assert_int_equal(read(sockets[1], data, sizeof data), 24);
    assert_int_equal(wire_take(data, 24, true, &frame), WIRE_WHOLE);
    size_t bytes = make(data, WIRE_TIME, sizeof time);
    assert_int_equal(write(sockets[1], data, bytes), bytes);
    assert_int_equal(write(sockets[1], data, bytes), bytes);
    for (int i = 0; i < 2; i++) {
        assert_true(wire_receive(&link, &frame));
        assert_int_equal(frame.type, WIRE_TIME);
    }
    make(data, WIRE_TIME, 5);
    assert_int_equal(write(sockets[1], data, 13), 13);
    assert_false(wire_receive(&link, &frame));
    assert_int_equal(link.socket, -1);
    assert_false(wire_send(&link, WIRE_WAIT, &wait, NULL, 0));
    close(sockets[1]);
}

/* Who is turned away as soon as it has connected hears why, although what it says goes nowhere. */
static void test_turned_away(void **state)
{
    (void)state;
    int sockets[2];
    const struct wire_none none = {0};
    const struct wire_done done = {CORUN_ARGUMENT};
    struct wire_frame frame;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    struct wire_link here = {.socket = sockets[0], .file = -1}, there = {.socket = sockets[1], .file = -1};
    assert_true(wire_send(&there, WIRE_REFUSED, &done, "no place", 8));
    wire_close(&there);
    assert_true(wire_send(&here, WIRE_LIST, &none, NULL, 0));
    assert_true(wire_receive(&here, &frame));
    assert_int_equal(frame.type, WIRE_REFUSED);
    assert_memory_equal(frame.tail, "no place", 8);
    assert_false(wire_send(&here, WIRE_LIST, &none, NULL, 0));
    assert_int_equal(here.socket, -1);
}

static void test_path(void **state)
{
    (void)state;
    char path[32];
    setenv("XDG_RUNTIME_DIR", "/somewhere", 1);
    unsetenv("CORUN_DAEMON_SOCKET");
    assert_true(wire_socket_path(NULL, path, sizeof path));
    assert_string_equal(path, "/somewhere/corund.sock");
    setenv("CORUN_DAEMON_SOCKET", "/else", 1);
    assert_true(wire_socket_path(NULL, path, sizeof path));
    assert_string_equal(path, "/else");
    assert_true(wire_socket_path("given", path, sizeof path));
    assert_string_equal(path, "given");
    assert_false(wire_socket_path("0123456789012345678901234567890123456789", path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_link), cmocka_unit_test(test_path),
                                       cmocka_unit_test(test_turned_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
