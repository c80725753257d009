/* SPDX-License-Identifier: MIT */
/*
 * What programs and the agent of `corun host run` tell each other over a Unix socket of type SOCK_SEQPACKET, which keeps messages apart. Each message
 * is one of these structures, in the byte order of the machine, and exactly as long: a message of another length, an unknown kind or a value out of its
 * range ends the connection, and no other. `include/corun/service.h` has functions that do all this; docs/host-linux.md shows a client in Python.
 *
 *   program                                agent
 *     HELLO    ─────────────────────────►           who it is; the agent reads its process from the socket
 *              ◄─────────────────────────  WELCOME
 *     ARRIVE   ─────────────────────────►           a query has come, and waits
 *              ◄─────────────────────────  START    it may start, on that many cores
 *     BEGIN    ─────────────────────────►           these threads work on it; left out, all of the process do
 *     PROGRESS ─────────────────────────►           how far it is, as often as the program likes
 *     END      ─────────────────────────►           it has been answered
 *     WORK     ─────────────────────────►           of a batch program: what it has done since it began
 *              ◄─────────────────────────  BYE      why the connection ends
 *
 *     WATCH    ─────────────────────────►           in place of HELLO: asks for a STATUS, again for another one
 *              ◄─────────────────────────  STATUS   how things stand, as JSON (docs/json.md)
 */
#ifndef CORUN_SERVICE_MESSAGES_H
#define CORUN_SERVICE_MESSAGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_SERVICE_PROTOCOL 1u
#define CORUN_SERVICE_NAME_BYTES 64u      /* of a name, with its NUL */
#define CORUN_SERVICE_THREADS 1024u       /* that a query has at most */
#define CORUN_SERVICE_WORKERS 256u        /* queries that a program answers at a time at most */
#define CORUN_SERVICE_STATUS_BYTES 65536u /* of a STATUS at most, with its head */

/* M(NAME, structure). The first member of each is the kind; START, WELCOME, STATUS and BYE are the agent's. */
#define CORUN_SERVICE_MESSAGES(M) \
    M(HELLO, hello) \
    M(WELCOME, welcome) \
    M(ARRIVE, arrive) \
    M(START, start) \
    M(BEGIN, begin) \
    M(PROGRESS, progress) \
    M(END, end) \
    M(WORK, work) \
    M(WATCH, watch) \
    M(STATUS, status) \
    M(BYE, bye)

/* clang-format off */
enum corun_service_message {
    CORUN_SERVICE_NOTHING, /* so that the first kind is 1 */
#define CORUN_SERVICE_MESSAGE_ENUM(name, structure) CORUN_SERVICE_##name,
    CORUN_SERVICE_MESSAGES(CORUN_SERVICE_MESSAGE_ENUM)
#undef CORUN_SERVICE_MESSAGE_ENUM
    CORUN_SERVICE_MESSAGE_COUNT
};
/* clang-format on */

enum corun_service_role { CORUN_SERVICE_SERVES, CORUN_SERVICE_BATCH };

/* Times are of CLOCK_MONOTONIC, in ns; 0: now. The agent takes none that lies in its future, or before the connection. */
struct corun_service_hello {
    uint32_t kind, protocol;
    uint32_t role;    /* enum corun_service_role */
    uint32_t workers; /* queries that it can answer at a time, 1 to CORUN_SERVICE_WORKERS; batch: 1 */
    char name[CORUN_SERVICE_NAME_BYTES]; /* of the application, as the agent knows it; the rest is NUL */
};
struct corun_service_welcome {
    uint32_t kind, protocol;
    uint64_t interval_ns; /* between two looks at a query */
};
struct corun_service_arrive {
    uint32_t kind, reserved; /* reserved: 0 */
    uint64_t query;          /* a number of the program's own, of no other query that has not ended */
    double size;             /* of its input, finite, 0 or more */
    uint64_t at_ns;
};
struct corun_service_start {
    uint32_t kind;
    uint32_t cores; /* that it has now */
    uint64_t query;
};
struct corun_service_begin {
    uint32_t kind;
    uint32_t thread_count; /* 0: all of the process */
    uint64_t query;
    /* int32_t threads[thread_count] follows: as gettid() numbers them */
};
struct corun_service_progress {
    uint32_t kind, reserved;
    uint64_t query;
    double progress; /* 0 to 1 */
};
struct corun_service_end {
    uint32_t kind, reserved;
    uint64_t query;
    uint64_t at_ns;
};
struct corun_service_work {
    uint32_t kind, reserved;
    double work; /* in any unit, never less than before */
};
struct corun_service_watch {
    uint32_t kind, protocol;
};
struct corun_service_status {
    uint32_t kind;
    uint32_t bytes; /* of the text that follows, without a NUL */
};
struct corun_service_bye {
    uint32_t kind, reserved;
    char reason[120]; /* the rest is NUL */
};

#ifdef __cplusplus
}
#endif
#endif
