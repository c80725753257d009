/* SPDX-License-Identifier: MIT */
/*
 * The wire between corund and programs: a stream of messages over a Unix socket, each a header, the structure of its row in messages.def,
 * and perhaps bytes behind that. Both ends are of one machine and one version: numbers are as the host has them. docs/daemon.md says who
 * asks for what, and what lies in memory that both have.
 *
 * Nothing that comes from the other end is trusted: lengths are those of the rows, texts end with a zero (wire_text), numbers are looked up.
 */
#ifndef CORUN_WIRE_WIRE_H
#define CORUN_WIRE_WIRE_H

#include "corun/gpu.h"
#include "corun/module.h"
#include "corun/policy.h"
#include "corun/texture.h"

#define WIRE_VERSION 12u
#define WIRE_UUID_BYTES 16u
#define WIRE_NAME_BYTES 64u
#define WIRE_MOST_TEXT (UINT32_C(64) << 20)
#define WIRE_MOST_PARAMETERS 32768u
#define WIRE_MOST_LINE 65536u
#define WIRE_MOST_FLIGHTS 4096u /* launches of a context that have not ended */
#define WIRE_MOST_POLICY 1024u
#define WIRE_MOST_SAMPLES 60u
#define WIRE_MOST_GPUS 8u
#define WIRE_ALL_GPUS UINT32_MAX

struct wire_none {
    uint32_t nothing;
};

/* Of CORUN_GOAL_…; value as there: a fraction, thread instructions per cycle. */
struct wire_join {
    uint32_t version, model_version, goal;
    uint32_t configuration_bytes; /* of struct corun_gpu_config */
    uint32_t counter_bytes;       /* of struct corun_counters */
    uint32_t unused;
    double goal_value, isolated_ipc; /* 0: none, not known */
    char name[WIRE_NAME_BYTES];
    char gpu[WIRE_NAME_BYTES]; /* number or name of the GPU that it wants; empty: any */
};

struct wire_welcome {
    uint32_t number, paced; /* whether time follows the clock of the host */
    struct corun_gpu_config configuration;
};

/* Of a program on a GPU of hardware (wire/board.h); goal as in wire_join. */
struct wire_attach {
    uint32_t version, goal;
    uint32_t board_bytes; /* of struct board */
    uint32_t workers;     /* its launches become workers where corund says so */
    double goal_value;
    char name[WIRE_NAME_BYTES];
    uint8_t gpu[WIRE_UUID_BYTES]; /* of the GPU on which it launches; zeros: not known */
};

struct wire_attached {
    uint32_t number, unused;
};

/* Of a program on a GPU of hardware: the device memory that it has or, if it `grows`, wants to have. */
struct wire_hold {
    uint64_t bytes;
    uint32_t grows, unused;
};

/* `limit` and what is `used` of it by all programs that it counts, in bytes; UINT64_MAX: there is none. */
struct wire_room {
    uint32_t status, unused;
    uint64_t limit, used;
};

/* A memory is known by its number, as corun_memory_create has it. */
struct wire_memory {
    uint32_t memory;
};

struct wire_at {
    uint32_t memory, unused;
    uint64_t address; /* or a handle */
};

struct wire_text_at {
    uint32_t memory, unused;
    uint64_t address;
    char text[WIRE_NAME_BYTES];
};

struct wire_allocate {
    uint32_t memory, pages;
    uint64_t address, bytes;
};

/* Memory `from` at `from_address` is at `address` of `memory`, too. */
struct wire_adopt {
    uint32_t memory, from;
    uint64_t address, from_address, bytes;
};

struct wire_texture {
    uint32_t memory, unused;
    uint64_t handle; /* that it has where it was made */
    struct corun_texture texture;
};

struct wire_module {
    uint32_t memory;
    uint32_t rewrites, checks; /* corun_module_assemble, corun_module_instance_check */
    char name[WIRE_NAME_BYTES];
};

struct wire_launch {
    uint32_t memory, module, kernel; /* numbers of PLACE, and of the kernel in its module */
    struct corun_dim3 grid, block;
    uint32_t dynamic_shared_bytes;
    int32_t priority;
    uint8_t cluster[3], cluster_balanced; /* 0: no clusters */
    uint64_t meeting_address, cycle;
    uint64_t stack_bytes; /* as of corun_launch_description */
};

struct wire_launched {
    uint32_t status, number;
    struct corun_counters before;
};

struct wire_copy {
    uint32_t engine, unused;
    uint64_t since, cycles;
};

struct wire_wait {
    uint64_t until, wake; /* cycles; as corun_gpu_advance and corun_gpu_wake take them */
};

struct wire_idle {
    uint64_t until; /* a cycle; UINT64_MAX: it comes back when it sends something */
};

struct wire_goal {
    uint32_t pid, goal; /* pid 0: the client itself */
    double value;
};

struct wire_run {
    uint64_t cycles;
    uint32_t again, unused; /* `again`: in place of the one before, which has become longer */
};

struct wire_policy {
    uint32_t gpu; /* or WIRE_ALL_GPUS */
};

struct wire_done {
    uint32_t status;
};

struct wire_place {
    uint32_t status, unused;
    uint64_t place, cycle; /* `cycle`: of the machine, now */
};

struct wire_ended {
    uint32_t memory, number; /* of the launch */
    uint32_t status, unused;
    uint64_t first_cycle, last_cycle;
    struct corun_counters counters;
};

struct wire_message {
    uint32_t status, line, column; /* a note where the status is OK */
    char file[256];
};

struct wire_time {
    uint32_t status, unused;
    uint64_t cycle;
};

/* Where a client is. S(name, word, meaning) */
#define WIRE_STATES(S) \
    S(GUEST, "guest", "it has asked for no memory yet") \
    S(HOST, "host", "it computes on the host, and simulated time stands still") \
    S(WAITS, "waits", "it waits for the GPU") \
    S(IDLE, "idle", "it has said so, or computed for longer than the daemon is patient: simulated time goes on")
enum wire_state {
#define WIRE_STATE_ENUM(name, word, meaning) WIRE_STATE_##name,
    WIRE_STATES(WIRE_STATE_ENUM)
#undef WIRE_STATE_ENUM
};

struct wire_client {
    uint32_t number, pid, uid, state;
    uint32_t gpu, unused;
    uint32_t goal, in_flight;                    /* launches that have not ended */
    uint64_t launches;                           /* that have */
    double goal_value, isolated_ipc, ipc;        /* ipc: since its first launch, 0 before */
    uint64_t thread_instructions, bytes, cycles; /* allocated; since its first launch */
    uint64_t sm_cycles;                          /* of each SM, while thread blocks of it were there, summed up */
    uint64_t p50_cycles,
        p99_cycles; /* of its last launches, from when they could begin to their end; 0: none has ended */
    uint64_t runs, run_p50_cycles, run_p99_cycles; /* that it has told of; of the last ones */
    /* On a GPU of hardware: launches that were noted to end, while it wanted the GPU for `cycles`; launches in a second of
       that alone, 0: not known; whether it has less than its goal; and the SMs of its workers as its board has them. */
    uint64_t ended, held, held_ns; /* `held`: launches that have waited for others, for so long together */
    double alone_per_second;
    uint32_t behind, sms;
    char name[WIRE_NAME_BYTES];
    /* behind it: on how many SMs it was, hundredths, uint32_t for each sample, the newest last */
};

/* A GPU. */
struct wire_node {
    uint64_t cycle, sample_cycles;
    uint64_t memory_bytes, used_bytes; /* of the device, by all clients */
    double pace;                       /* simulated seconds in a second of the host; 0: time goes on while all wait */
    uint64_t missed_cycles;            /* at a pace: that the host was too slow for */
    uint32_t sms, core_clock_khz;
    uint32_t index;
    uint32_t holder;   /* pid of the client that computes while time stands still, 0: none */
    uint32_t hardware; /* no simulated GPU: cycles are nanoseconds of the host's clock */
    uint32_t unused;
    char gpu[WIRE_NAME_BYTES];
    char policy[WIRE_MOST_POLICY]; /* as it was chosen */
};

enum wire_type {
#define M(name, structure, most, meaning) WIRE_##name,
#include "wire/messages.def"
#undef M
    WIRE_TYPES
};

struct wire_header {
    uint32_t type, bytes; /* of what follows */
};

/* A row; NULL if there is no such message. */
struct wire_row {
    const char *name, *meaning;
    uint32_t bytes, most; /* of the structure, and behind it */
    bool from_client;
};
const struct wire_row *wire_row(uint32_t type);

/* A message within received bytes. */
struct wire_frame {
    enum wire_type type;
    const void *body; /* not aligned */
    const uint8_t *tail;
    uint32_t tail_bytes;
    size_t bytes; /* of all of it */
};
enum wire_taken { WIRE_WHOLE, WIRE_PARTIAL, WIRE_WRONG };
/* The first message in the bytes; WRONG: what begins there is none that this end may get. */
enum wire_taken wire_take(const uint8_t *data, size_t bytes, bool from_client, struct wire_frame *frame);
/* A copy of the structure of a frame. */
#define wire_body(frame, into) memcpy((into), (frame)->body, sizeof *(into))

/* Does the text end within its array? */
bool wire_text(const char *text, size_t bytes);

/* Kinds of goals as words of the environment: "fraction", "ipc", "ms", "fps"; what is none of these is a fraction. */
const char *wire_goal_word(enum corun_goal_kind kind);
enum corun_goal_kind wire_goal_kind(const char *word);

/* The socket where none is named: $CORUN_DAEMON_SOCKET, corund.sock of $XDG_RUNTIME_DIR, or /run/corund.sock. False: too long. */
bool wire_socket_path(const char *given, char *path, size_t bytes);

/* A client's end, that waits for answers. */
struct wire_link {
    int socket; /* -1: not connected */
    int file;   /* that came last, -1: none */
    uint8_t *data;
    size_t bytes, taken;
};
/* 0, or the error. */
int wire_connect(struct wire_link *link, const char *path);
void wire_close(struct wire_link *link);
/* False: the connection is gone, and closed. True also where the other side has ended it with a message before the first one from here. */
bool wire_send(struct wire_link *link, enum wire_type type, const void *body, const void *tail, uint32_t tail_bytes);
/* The next message; valid until the next call. */
bool wire_receive(struct wire_link *link, struct wire_frame *frame);

#endif
