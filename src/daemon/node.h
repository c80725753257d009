/* SPDX-License-Identifier: MIT */
/*
 * A node: one simulated GPU and the programs that share it, without sockets. Bytes of clients come in (session_receive), bytes for them go
 * out (session.out), and node_work does what there is to do.
 *
 *     node        the machine, its clients, whose turn it is, and time (turns.c)
 *     session     a client: what it has sent, what it is still to get, its spaces (session.c)
 *     space       one context of a client: its memory, modules and application (space.c)
 *     asked       what tools ask for: the list, goals, another policy (asked.c); what that is known from: watch.c
 *
 * Simulated time goes on only while every client that takes part waits; those that do not wait are served one after the other, in the
 * order of their numbers, each until it waits. So what happens does not depend on how fast they are. A client takes part while it has a
 * space, one that was expected from its JOIN on.
 *
 * Who owns what: the node its sessions, a session its spaces, a space everything that its client has made there, and its file. Whatever a
 * client sends, and whenever it goes, nothing of another client is touched: session_end gives back all that is its own.
 */
#ifndef CORUN_DAEMON_NODE_H
#define CORUN_DAEMON_NODE_H

#include "base/vector.h"
#include "corun/gpu.h"
#include "daemon/limits.h"
#include "wire/wire.h"

#define NODE_MOST_SESSIONS 256u
#define SPACE_MOST_MODULES 4096u
#define LATENCIES_KEPT 1000u
#define SESSION_MOST_UNREAD (UINT32_C(64) << 20) /* bytes that a client has not read yet */

struct corun_profile_line;
struct session;

struct node_settings {
    struct corun_gpu_config configuration;
    const struct corun_policy *policy; /* NULL: none */
    const double *parameters;
    const struct limits *limits; /* NULL: none */
    const char *journal;         /* a file (journal.h); NULL: none */
    const char *policy_text;     /* as it was chosen, for the list */
    /* Another policy, as --policy has it; NULL: it cannot be changed. *policy becomes NULL for none; parameters stay until the next call. */
    enum corun_status (*choose)(void *user, const char *text, struct corun_diagnostics *list,
                                const struct corun_policy **policy, const double **parameters);
    void *user;
    void (*policy_call)(void *user, bool begins); /* as of a case (corun/case.h), with no user; NULL: none */
    uint32_t threads;                             /* that advance SMs */
    uint64_t launch_cycles;                       /* a kernel may run, 0: any number */
    const char *const *expected; /* names of clients, numbered in this order: time begins when all of them are there */
    uint32_t expected_count;
    /*
     * The places of the expected clients are kept until node_place_ends: time stands still while a place is empty, a client there takes part
     * as long as it is connected, and after it another one of that name can come.
     */
    bool keeps_places;
    /* An application leaves the machine, and has come so far; the cycle is that of its end. NULL: nobody asks. */
    void (*left)(void *user, const struct session *session, const struct corun_application_result *result,
                 uint64_t cycle);
    void *left_user;
    /* What a kernel of that application did at a line of its PTX, before `left`; NULL: nothing is counted. */
    void (*profiled)(void *user, const struct session *session, const char *kernel,
                     const struct corun_profile_line *line);
};

/* A launch in flight. */
struct flight {
    uint32_t number, module;
    struct corun_grid *grid;
    uint64_t since; /* the cycle from which it could begin */
    bool told;      /* its end; the grid stays until its application leaves */
};

struct space {
    struct session *session;
    uint32_t number; /* of its memory: the range of its addresses */
    struct corun_memory *memory;
    int file;
    uint8_t *storage;
    bool lent;                      /* other spaces of its client have memory of it, and it of them */
    bool gone;                      /* the client does not want it any more */
    uint32_t application;           /* CORUN_NO_APPLICATION: none */
    bool alone;                     /* no other application since this one entered */
    struct corun_diagnostics *list; /* of its application */
    VECTOR(struct corun_module *) modules;
    VECTOR(struct corun_module_instance *) instances; /* by number of its module */
    VECTOR(char *) texts;                             /* of the modules, for profiles; else none */
    VECTOR(struct flight) flights;
    VECTOR(struct wire_allocate) pinned; /* memory that is the host's */
};

struct buffer {
    uint8_t *data;
    size_t bytes, taken, capacity;
};

/* Of the last launches, in any order. */
struct launch_lengths {
    uint64_t count;
    uint64_t cycles[LATENCIES_KEPT];
};

struct session {
    struct node *node;
    uint32_t number; /* once joined */
    uint32_t pid, uid;
    struct peer peer;
    uint32_t row; /* of the limits */
    bool joined, takes_part, waits;
    bool idle;    /* it has not called for long: time goes on without it until it does */
    bool broken;  /* it has sent what it may not, or does not read: to be ended */
    bool hung_up; /* it sends no more: it leaves when what it has sent is done and it is its turn */
    bool gone;    /* it has left: to be ended */
    struct wire_join join;
    uint64_t until, wake;
    uint64_t launches;
    struct launch_lengths latencies;
    struct space *spaces[CORUN_MAX_APPLICATIONS];
    struct buffer in, out;
    int file; /* to be sent with the byte `file_at` of `out`; -1: none. Its space owns it */
    size_t file_at;
    void *user; /* the server's */
};

/* What a program did that ran alone: its rate is what goals of that name are fractions of. */
struct known_rate {
    char name[WIRE_NAME_BYTES];
    double ipc;
};

/* An application slot, and the SMs that it has been seen on. */
struct slot_use {
    bool there;
    uint32_t sms; /* that hold thread blocks of it */
    uint64_t since, sm_cycles, sampled, sampled_sm_cycles;
    uint32_t sample_count;
    uint32_t samples[WIRE_MOST_SAMPLES]; /* hundredths of SMs, a ring */
};

struct node {
    struct node_settings settings;
    struct corun_gpu *gpu;
    struct corun_diagnostics *list; /* of the machine */
    VECTOR(struct session *) sessions;
    VECTOR(struct known_rate) known;
    struct space *spaces[CORUN_MAX_APPLICATIONS];
    bool *arrived;                 /* of the expected ones */
    bool *ended;                   /* of their places: nobody comes there any more */
    bool begun;                    /* all expected ones are there */
    char policy[WIRE_MOST_POLICY]; /* as it was chosen */
    struct node_journal *journal;  /* NULL: none */
    uint64_t sample_cycles;
    struct slot_use *uses; /* [slot] */
    uint16_t *held;        /* [slot][sm]: thread blocks there */
    bool failed;           /* the machine cannot continue: the list says why */
};

/* What a setting names has to live as long as the node. */
enum corun_status node_create(const struct node_settings *settings, struct corun_diagnostics *list, struct node **node);
void node_destroy(struct node *node);
/* Does what can be done now. True: there is more, without waiting for a client. */
bool node_work(struct node *node);

/* Another policy, as --policy has it. After an error the old one goes on. */
enum corun_status node_change_policy(struct node *node, const char *text, struct corun_diagnostics *list);
/* The limits are others: rows of clients are found again. Nothing is taken from who has more than it may have now. `owner`: the daemon's own user. */
void node_new_limits(struct node *node, uint32_t owner);

/* Nobody of that name comes any more: an expected client that has not come is not waited for. */
void node_place_ends(struct node *node, uint32_t place);

/* The client for which everybody waits, since it computes; NULL: nobody. */
struct session *node_holder(const struct node *node);

/* NULL: out of memory, or there are too many. */
struct session *session_begin(struct node *node, uint32_t pid, uint32_t uid);
/* What has come from the client. False when out of memory or too much at once. */
bool session_receive(struct session *session, const void *data, size_t bytes);
/* The client sends no more. */
void session_hang_up(struct session *session);
/* Frees it, with all that is the client's: nothing of it is under way any more. */
void session_end(struct session *session);

/* ---- between the files of the node ---- */

bool buffer_add(struct buffer *buffer, const void *data, size_t bytes);
void session_send(struct session *session, enum wire_type type, const void *body, const void *tail,
                  uint32_t tail_bytes);
/* Serves the first message that the client has sent; `turn`: also what others can notice. False: there is none that can be served. */
bool session_serve(struct session *session, bool turn);
/* Gives back all that is the client's; it takes part no more. */
void session_clear(struct session *session);
/* Whether the place is kept, and nobody is there. */
bool node_place_is_empty(const struct node *node, uint32_t place);
void session_refuse(struct session *session, enum corun_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* DONE, with how it went. */
void session_done(struct session *session, enum corun_status status);
/* Of the device, by all clients together. */
uint64_t node_device_bytes(const struct node *node);
uint64_t space_device_bytes(const struct space *space);

/* What is wrong with a goal for the client, the share of its user looked at as well; NULL: nothing. */
const char *goal_problem(const struct session *session, uint32_t kind, double value);
/* Whether the limits of the client's user leave so much, or one more context. */
bool allowance_has_memory(const struct session *session, uint64_t bytes);
bool allowance_has_context(const struct session *session);
void asked_list(struct session *session);
void asked_goal(struct session *session, const struct wire_frame *frame);
void asked_policy(struct session *session, const struct wire_frame *frame);
/* A row for the list of clients; returns how many samples. */
uint32_t session_describe(const struct session *session, struct wire_client *row, uint32_t samples[WIRE_MOST_SAMPLES]);
void node_describe(const struct node *node, struct wire_node *row);

/* watch.c */
bool watch_begin(struct node *node);
void watch_end(struct node *node);
uint32_t watch_samples(const struct node *node, uint32_t slot, uint32_t samples[WIRE_MOST_SAMPLES]);
uint64_t watch_sm_cycles(const struct node *node, uint32_t slot);
void launches_add(struct launch_lengths *latencies, uint64_t cycles);
/* By nearest rank; 0: there are none. */
void launches_tell(const struct launch_lengths *latencies, uint64_t *p50, uint64_t *p99);

enum corun_status space_create(struct session *session, struct space **space);
void space_destroy(struct space *space);
enum corun_status space_enter(struct space *space);
enum corun_status space_leave(struct space *space);
enum corun_status space_load(struct space *space, const struct wire_module *module, const void *text, uint32_t bytes,
                             uint32_t *number);
enum corun_status space_launch(struct space *space, const struct wire_launch *launch, const void *parameters,
                               uint32_t bytes, struct wire_launched *launched);
/* Tells the client which of its launches have ended; false: none since it was told last. */
bool space_tell(struct space *space);
/* What is in the list goes to the client. */
void space_say(struct space *space);

#endif
