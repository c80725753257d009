/* SPDX-License-Identifier: MIT */
/* corund on a GPU of hardware, inside: its clients, and what they ask. */
#ifndef CORUN_DAEMON_HARDWARE_STATE_H
#define CORUN_DAEMON_HARDWARE_STATE_H

#include "daemon/hardware.h"
#include "daemon/hardware_journal.h"
#include "daemon/limits.h"
#include "daemon/node.h"
#include "daemon/upgrade.h"

#include <uv.h>

#define MOST_KNOWN 256u /* names whose rates alone are kept */

/* What a program of that name did alone. */
struct known {
    char name[WIRE_NAME_BYTES];
    uint32_t uid;
    uint8_t gpu[WIRE_UUID_BYTES];
    struct rate_alone alone;
};

/* The boards of a user, whose programs have the file, too; others have not: nobody writes on another user's board. */
struct boards {
    struct boards *next;
    uint32_t uid, clients; /* that have one of them */
    int file;
    struct board_front *front;
};

/* Programs on one GPU do not wait for those on another. */
struct hardware_gpu {
    struct hardware_found found;
    struct boards *boards; /* a list */
    struct gate gate;
    bool uuid_from_program; /* corund knows its name alone: the UUID is a program's word, for as long as one is there */
    bool named_by_program;  /* not found by corund: its place may be another's when nobody is there */
};

struct hardware {
    uv_loop_t loop;
    uv_poll_t listener, clock;
    uv_timer_t metrics; /* until they are written again */
    uv_idle_t upgrade;  /* to become another one */
    bool holds;         /* signals that came before have been heard, too (upgrade_hold) */
    uv_signal_t signals[4];
    int socket, timer, reserve;    /* `reserve`: listen_accept's */
    char file[UPGRADE_PATH_BYTES]; /* of this process; empty: not known */
    bool handed_over;              /* the socket was, and stays */
    bool metrics_fail;             /* which has been said */
    struct hardware_gpu gpus[WIRE_MOST_GPUS];
    uint32_t gpu_count;
    struct hardware_settings *settings;
    struct hardware_journal *journal; /* NULL: none */
    struct client *clients;           /* a list */
    uint32_t client_count;
    uint64_t refused; /* connections that were turned away */
    struct known known[MOST_KNOWN];
    uint32_t known_count, known_next; /* the oldest gives its place */
};

#define HARDWARE_SAMPLE_NS UINT64_C(100000000)

/* Hundredths of the SMs on which a program may be, over time; of zeros where no policy divides them. */
struct watched {
    uint64_t looked_ns, sampled_ns, sum, part, count;
    uint32_t samples[WIRE_MOST_SAMPLES]; /* sample i in place i modulo their number */
};

struct client {
    uv_poll_t poll;
    struct hardware *hardware;
    struct client *next;
    struct peer peer;
    uint32_t row; /* of the limits, that counts for it */
    int socket;
    bool sends_file; /* with the next bytes */
    struct buffer in, out;
    struct hardware_gpu *gpu; /* NULL: it has not attached, as board */
    struct boards *boards;
    struct board *board;
    uint32_t number;
    struct wire_attach attach;
    bool
        memory_limited; /* then `bytes` of device memory are its own; what its board says of them, all programs of its user could have written */
    uint64_t bytes;
    struct watched watched;
    bool ends; /* nothing more is heard of it */
};

/* Nanoseconds of CLOCK_MONOTONIC, as programs have them. */
uint64_t hardware_now(void);
/* Looks at the boards, and again when that is due. */
void hardware_look(struct hardware *hardware);
/* Bytes of a client: messages that are whole by now are carried out; `ends` is set where there is one that cannot be. */
void hardware_receive(struct client *client, const void *data, size_t bytes);
/* Carries out what a client asks; the answer lies in its buffer then. */
void hardware_serve(struct client *client, const struct wire_frame *frame);
/* What a client that has attached did alone is kept under its name; the client is gone. */
void hardware_keep_known(struct hardware *hardware, const struct client *client);
void hardware_leave(struct hardware *hardware, struct client *client);
/* One client more has the boards of a user; NULL: there is no memory. */
struct boards *hardware_take_boards(struct hardware_gpu *gpu, uint32_t uid);
void hardware_give_back_boards(struct hardware_gpu *gpu, struct boards *boards);
/* The GPU of that number, another one where there is none yet; NULL: none, and why. Zeros are the first one. */
struct hardware_gpu *hardware_gpu_of(const struct client *client, const uint8_t uuid[WIRE_UUID_BYTES],
                                     const char **problem);
/* The number of a client that has attached, on all GPUs. */
uint32_t hardware_number(const struct client *client);
/* Another policy, on all GPUs, and at once. After an error, those of before go on. */
enum corun_status hardware_set_rules(struct hardware *hardware, const struct gate_rules *rules,
                                     struct corun_diagnostics *list);
/* Tells the program whether its memory is limited, after which it asks. What it has by then is what its board says. */
void hardware_limit_memory(struct client *client);
/* The SMs of its workers as its board has them (board_sms), where a policy lists them the part that they are; 0: nobody limits them. */
uint32_t hardware_sms_of(const struct client *client);
/* What programs may use, as it is by now. */
void hardware_watch(struct hardware *hardware, uint64_t now_ns);
/* How many there are: the last ones, HARDWARE_SAMPLE_NS each, the newest last. */
uint32_t hardware_samples(const struct client *client, uint32_t samples[WIRE_MOST_SAMPLES]);
/* Rows of the list. */
void hardware_describe(const struct client *client, struct wire_client *row);
void hardware_describe_gpu(const struct hardware *hardware, uint32_t gpu, struct wire_node *node);
/* Other rules, and the text that they were read from. */
enum corun_status hardware_change_policy(struct hardware *hardware, const struct gate_rules *rules, const char *text,
                                         struct corun_diagnostics *list);
/* The row of the limits that counts for somebody. */
uint32_t hardware_row_of(const struct hardware *hardware, const struct peer *peer);

/* SIGUSR2: does not come back where all goes well. Signals wait (upgrade_hold). */
void hardware_become(struct hardware *hardware);
/* What the next corund takes over, behind what is in the buffer; false: there is no memory. */
bool hardware_hand_over(const struct hardware *hardware, struct buffer *state);
/* The socket, the policy and rates alone, of bytes that are said to be another corund's; no more of `hardware` is changed than these. */
enum corun_status hardware_take_state(struct hardware *hardware, const void *data, size_t bytes,
                                      uint64_t *journal_begun_ns, struct corun_diagnostics *list);
/* What another corund has handed over. */
enum corun_status hardware_take_over(struct hardware *hardware, uint64_t *journal_begun_ns,
                                     struct corun_diagnostics *list);

#endif
