/* SPDX-License-Identifier: MIT */
/*
 * A node: simulated GPUs and the programs that share them, without sockets. Bytes of clients come in (session_receive), bytes for them go
 * out (session.out), and node_work does what there is to do.
 *
 *     node        the GPUs, and all clients (node.c); which GPU a client gets (placement.c)
 *     device      a GPU: its machine, whose turn it is, and time, which is its own (turns.c)
 *     session     a client: what it has sent, what it is still to get, its spaces (session.c)
 *     space       one context of a client: its memory, modules and application (space.c)
 *     asked       what tools ask for: the list, goals, another policy (asked.c); what that is known from: watch.c
 *
 * Simulated time goes on only while every client that takes part waits; those that do not wait are served one after the other, in the
 * order of their numbers, each until it waits. So what happens does not depend on how fast they are. A client takes part while it has a
 * space, one that was expected from its JOIN on. One that says that it is idle until a cycle waits for that cycle, and holds up time there until it
 * sends something.
 *
 * At a pace (settings.pace) it is the clock of the host that time follows: every client is served when it calls, whoever computes holds up
 * nobody, and what happens depends on the host.
 *
 * A program has one GPU, from its JOIN on. What follows is of each GPU for itself.
 *
 * Who owns what: the node its GPUs and sessions, a session its spaces, a space everything that its client has made there, and its file. Whatever a
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
#define SESSION_MOST_LOG (UINT32_C(8) << 20)     /* bytes of what it has allocated and freed that are kept */
#define SESSION_MOST_UNREAD (UINT32_C(64) << 20) /* bytes that a client has not read yet */

struct corun_profile_line;
struct session;

struct node_gpu {
    struct corun_gpu_config configuration;
    uint64_t launch_cycles; /* a kernel may run, 0: any number */
};

struct node_settings {
    const struct node_gpu *gpus; /* at least one */
    uint32_t gpu_count;
    const struct corun_policy *policy; /* of each GPU; NULL: none */
    const double *parameters;
    const struct limits *limits; /* NULL: none */
    const char *journal;         /* a file (journal.h); NULL: none */
    bool goes_on;                /* another corund takes over: the journal goes on */
    const char *policy_text;     /* as it was chosen, for the list */
    /* Another policy, as --policy has it; NULL: none can be chosen. *policy becomes NULL for none; parameters stay until the next call. */
    enum corun_status (*choose)(void *user, const char *text, struct corun_diagnostics *list,
                                const struct corun_policy **policy, const double **parameters);
    void *user;
    void (*policy_call)(void *user, bool begins); /* as of a case (corun/case.h), with no user; NULL: none */
    double pace;      /* simulated seconds in a second of the host; 0: time goes on while all wait */
    uint32_t threads; /* that advance SMs, of each GPU */
    /* Names of clients, numbered in this order: time begins when all of them are there, and they take part as long as they are connected. */
    const char *const *expected;
    uint32_t expected_count;
    /*
     * The places of the expected clients are kept until node_place_ends: time stands still while a place is empty, and after a client another one
     * of that name can come.
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

/* Of the last launches or runs, in any order. */
struct lengths {
    uint64_t count;
    uint64_t cycles[LATENCIES_KEPT];
};

struct session {
    struct node *node;
    struct device *device; /* NULL before it has joined */
    uint32_t number;       /* once joined */
    uint32_t pid, uid;
    struct peer peer;
    uint32_t row; /* of the limits */
    bool joined, takes_part, waits;
    bool rests;   /* it waits, but has said that it is idle: for the cycle alone, and perhaps it computes */
    bool idle;    /* it has said so, or not called for long: time goes on without it until it calls */
    bool broken;  /* it has sent what it may not, or does not read: to be ended */
    bool hung_up; /* it sends no more: it leaves when what it has sent is done and it is its turn */
    bool gone;    /* it has left: to be ended */
    struct wire_join join;
    uint64_t until, wake;
    uint64_t launches;
    struct lengths latencies, runs;
    struct space *spaces[CORUN_MAX_APPLICATIONS];
    struct buffer in, out;
    struct buffer log; /* what its spaces were made with, for another corund that takes over */
    size_t log_memory; /* of that, without modules */
    bool log_lost;     /* there is no such log */
    bool replays;      /* that of another corund: what it has, it may have */
    int file;          /* to be sent with the byte `file_at` of `out`; -1: none. Its space owns it */
    size_t file_at;
    void *user; /* the server's */
};

/* What a program did that ran alone: its rate is what goals of that name are fractions of. */
struct known_rate {
    char name[WIRE_NAME_BYTES];
    uint32_t uid; /* whose program that was: others' goals do not depend on it */
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

/* A GPU of the node. */
struct device {
    struct node *node;
    uint32_t index;
    struct corun_gpu_config configuration;
    const struct corun_policy *policy;  /* NULL: none */
    char policy_text[WIRE_MOST_POLICY]; /* as it was chosen */
    struct corun_gpu *gpu;
    VECTOR(struct known_rate) known;
    struct space *spaces[CORUN_MAX_APPLICATIONS];
    uint64_t paced_until;   /* at a pace: the cycle to which time may go */
    double paced_part;      /* of a cycle, that has passed besides */
    uint64_t missed_cycles; /* that the host was too slow for */
    uint64_t sample_cycles;
    struct slot_use *uses; /* [slot] */
    uint16_t *held;        /* [slot][sm]: thread blocks there */
};

struct node {
    struct node_settings settings;
    struct corun_diagnostics *list; /* of the machines */
    VECTOR(struct session *) sessions;
    struct device devices[WIRE_MOST_GPUS];
    uint32_t device_count;
    bool *arrived;                /* of the expected ones */
    bool *ended;                  /* of their places: nobody comes there any more */
    uint32_t *places;             /* the GPU of each of them */
    bool begun;                   /* all expected ones are there */
    struct node_journal *journal; /* NULL: none */
    bool draining;                /* launches wait, and time goes on until none is under way */
    bool failed;                  /* a machine cannot continue: the list says why */
};

/* What a setting names has to live as long as the node. */
enum corun_status node_create(const struct node_settings *settings, struct corun_diagnostics *list, struct node **node);
void node_destroy(struct node *node);
/* Does what can be done now. True: there is more, without waiting for a client. */
bool node_work(struct node *node);

/*
 * Another policy, as --policy has it, for a GPU or for each (WIRE_ALL_GPUS). After an error the old one goes on, also on the GPUs behind the
 * one that the error is of.
 */
enum corun_status node_change_policy(struct node *node, uint32_t gpu, const char *text, struct corun_diagnostics *list);
/* The limits are others: rows of clients are found again. Nothing is taken from who has more than it may have now. `owner`: the daemon's own user. */
void node_new_limits(struct node *node, uint32_t owner);

/* At a pace: nanoseconds of the host have passed. What a machine has not done after PACE_MOST_BEHIND_NS is missed for good. */
#define PACE_MOST_BEHIND_NS UINT64_C(100000000)
void node_pass(struct node *node, uint64_t nanoseconds);
/* Whether time goes on by node_pass: at a pace, as long as a client takes part. */
bool node_follows_clock(const struct node *node);

/* While it drains: whether no launch is under way any more. */
bool node_is_drained(const struct node *node);
/* What a client has had done in its spaces, once more. False: it comes to something else. */
bool session_replay(struct session *session, const uint8_t *log, size_t bytes);

/* The client for which everybody on its GPU waits, since it computes; NULL: nobody. */
struct session *device_holder(const struct device *device);
/* Nobody of that name comes any more: an expected client that has not come is not waited for. */
void node_place_ends(struct node *node, uint32_t place);

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
/* Whether others of its name that are expected, too, have to ask before it is let in, or go before it. */
bool arrival_waits(const struct session *session, const struct wire_frame *frame);
/* Whether the place is kept, and nobody is there. */
bool node_place_is_empty(const struct node *node, uint32_t place);
void session_refuse(struct session *session, enum corun_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Text for who runs the program, beside the answer. */
void session_note(struct session *session, const char *text);
/* DONE, with how it went. */
void session_done(struct session *session, enum corun_status status);
/* turns.c: does what can be done now, of what others notice. True: there is more. */
bool device_work(struct device *device);
bool device_follows_clock(const struct device *device);
void device_pass(struct device *device, uint64_t nanoseconds);
/* Of the device, by all clients together. */
uint64_t device_bytes(const struct device *device);
/* Whether GPU and limits leave so much device memory more to the client. */
bool session_has_memory(const struct session *session, uint64_t bytes);
/* placement.c: the GPU that the client wants, or the one on which a program has most. NULL: there is none like that. */
struct device *placement_find(struct node *node, const char *wanted);
/* The GPUs of expected programs, as if they came in their order. */
void placement_of_expected(struct node *node);
/* "0 gtx980, 1 quadro-v100" */
#define PLACEMENT_TEXT_BYTES 512u
const char *placement_list(const struct node *node, char text[PLACEMENT_TEXT_BYTES]);
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
void device_describe(const struct device *device, struct wire_node *row);

/* watch.c */
bool watch_begin(struct device *device);
void watch_end(struct device *device);
uint32_t watch_samples(const struct device *device, uint32_t slot, uint32_t samples[WIRE_MOST_SAMPLES]);
uint64_t watch_sm_cycles(const struct device *device, uint32_t slot);
/* `again`: in place of the one before. */
void lengths_add(struct lengths *lengths, uint64_t cycles, bool again);
/* By nearest rank; 0: there are none. */
void lengths_tell(const struct lengths *lengths, uint64_t *p50, uint64_t *p99);

enum corun_status space_create(struct session *session, struct space **space);
void space_destroy(struct space *space);
/*
 * The space of another corund that is taken over: it has its number and its file, whose content stays. What is written until space_settle, as
 * modules are loaded once more, is not written to the file. NULL: that cannot be.
 */
struct space *space_restore(struct session *session, uint32_t number, int file);
bool space_settle(struct space *space);
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
