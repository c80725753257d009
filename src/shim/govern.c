/* SPDX-License-Identifier: MIT */
/*
 * Launches under corund. The board is a page that corund, this process and the GPU have. A launch looks at the gate there; where launches are
 * noted, the GPU writes the launch's number behind the launch into the board, in the order of its stream: so nobody asks the driver whether a
 * launch has ended, and programs see of each other whether they are busy. corund hears (RING) when one waits at the gate.
 *
 * Launches into a stream that is captured become nodes of a graph, and are not looked at; the launch of the graph is.
 */
#include "shim/govern.h"

#include "cuda/settings.h"
#include "shim/below.h"
#include "shim/board.h"
#include "shim/captures.h"
#include "shim/kernels.h"
#include "shim/lanes.h"
#include "shim/memory.h"
#include "shim/pace.h"
#include "wire/board.h"
#include "wire/wire.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS UINT64_C(1000000)
#define NAP_NS 50000
#define GATE_NS 50000000 /* how long a launch waits at the gate before it looks whether corund is still there */
#define AGAIN_NS UINT64_C(1000000000) /* between two attempts to find corund */
#define STALLED_NS \
    UINT64_C(3000000000) /* corund has not looked for so long while somebody stands at a gate: it stands still */
#define STALLED_AGAIN_NS UINT64_C(30000000000) /* then between two attempts */
#define HUNG_UP_NS \
    UINT64_C(50000000)               /* until the next attempt where it hangs up; each time twice as long, up to that */
#define ANSWER_S 3                   /* that an answer of corund may take */
#define LOOKS 64                     /* launches between two looks at whether corund is still there */
#define HEALTH_NS UINT64_C(20000000) /* of waiting, before the driver is asked whether the context is still good */
enum { HUNG_UP_DOUBLES = 10 };
enum { REGISTER_PORTABLE_MAPPED = 3, NOBODY_CAPTURES = 0, CAPTURE_RELAXED = 2, NOT_READY = 600 };
enum {
    FIRST_OF_CAPTURES = 900,
    LAST_OF_CAPTURES = 908
}; /* errors that say something of a capture, and nothing of the context */

/* Of the process, under `lock` but where it says so. */
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    _Atomic(struct board *) board; /* NULL: ungoverned */
    struct board *before;          /* the last one that there was; it stays mapped */
    _Atomic(struct board_sheet *) sheet;
    struct board_front *front; /* of the board, whose number it is */
    uint32_t number;
    struct wire_link link;
    char socket[4096];
    _Atomic int device; /* whose launches are governed; where the program sees several, those on others are not */
    atomic_bool several;
    uint64_t tried, again_ns;          /* to reach corund; and how long after that once more */
    _Atomic uint32_t looks, hung_up;   /* times in a row that corund has hung up instead of an answer */
    bool told;                         /* that it cannot be reached, or is gone */
    bool chosen;                       /* device: there was a context */
    bool watched;                      /* a thread asks for SMs (govern_sms_after) */
    struct board *carried;             /* of a corund that is gone: what is under way there keeps the program busy */
    bool mute;                         /* the driver cannot write values in the order of streams */
    uint64_t address;                  /* of the board, for the GPU; 0: it is not registered */
    struct lanes lanes, carried_lanes; /* of `before`, and of `carried` */
    struct pace pace;
    struct {
        int (*is_capturing)(void *stream, int *status), (*is_capturing_thread)(void *stream, int *status);
        int (*write)(void *stream, uint64_t address, uint32_t value, unsigned flags);
        int (*write_thread)(void *stream, uint64_t address, uint32_t value, unsigned flags);
        int (*device)(int *device), (*uuid)(char uuid[WIRE_UUID_BYTES], int device);
        int (*devices)(int *count);
        int (*query)(void *stream), (*query_thread)(void *stream), (*capture_mode)(int *mode);
        int (*host_register)(void *page, size_t bytes, unsigned flags);
        int (*host_address)(unsigned long long *address, void *page, unsigned flags);
        int (*sleep)(unsigned long long nanoseconds); /* of a simulated GPU */
    } driver;
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .link = {.socket = -1, .file = -1}};

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- corund ---- */

static void say(const char *text, const char *more)
{
    if (!state.told)
        shim_say("%s%s%s", text, *more ? ": " : "", more);
    state.told = true;
}

static struct board *take_board(const struct wire_frame *frame)
{
    struct wire_attached attached;
    wire_body(frame, &attached);
    struct board_front *front = attached.number < BOARD_CLIENTS ? board_map(&state.link) : NULL;
    if (!front)
        return NULL;
    state.front = front;
    state.number = attached.number;
    return board_at(front, attached.number);
}

/* The device of the program's first launch or allocation; before there is a context, the first one that it sees. */
static void choose_device(uint8_t uuid[WIRE_UUID_BYTES])
{
    int count = 1, device = atomic_load(&state.device);
    if (!state.chosen) { /* whoever comes again may be the shim's thread, which has no context */
        state.chosen = state.driver.device && state.driver.device(&device) == BELOW_OK;
        device = state.chosen ? device : 0;
    }
    if (!state.driver.devices || state.driver.devices(&count) != BELOW_OK)
        count = 1;
    atomic_store(&state.device, device);
    atomic_store(&state.several, count > 1);
    if (!state.driver.uuid || state.driver.uuid((char *)uuid, device) != BELOW_OK)
        memset(uuid, 0, WIRE_UUID_BYTES);
}

/* Whether what is launched now is on another device than the one that is governed. */
static bool is_elsewhere(void)
{
    int device;
    return atomic_load(&state.several) && state.driver.device && state.driver.device(&device) == BELOW_OK &&
           device != atomic_load(&state.device);
}

/*
 * Under the lock: the program comes to another corund while what it has asked for before is under way, whose end the GPU writes to the board of that time. It is busy for as
 * long, where a thread notices the end (put_down).
 */
static void carry(struct board *before, struct board *board)
{
    if (before && board_under_way(before)) {
        state.carried = before;
        state.carried_lanes = state.lanes;
    }
    if (!state.watched || !state.carried || !board_under_way(state.carried))
        state.carried = NULL;
    if (state.carried)
        atomic_fetch_add(&board->starting, 1);
}

static void put_down(struct board *board)
{
    if (!board || !state.carried || board_under_way(state.carried))
        return;
    state.carried = NULL;
    atomic_fetch_sub(&board->starting, 1);
}

static void detach(bool stalled)
{
    atomic_store(&state.board, NULL);
    atomic_store(&state.sheet, NULL);
    wire_close(&state.link);
    state.tried = now();
    state.again_ns = stalled ? STALLED_AGAIN_NS : AGAIN_NS;
    say(stalled ? "corund stands still, the program runs on ungoverned"
                : "corund is gone, the program runs on ungoverned",
        "");
}

/* Under the lock. False: there is no corund any more. */
static bool ask_for_room(const struct wire_hold *hold, struct wire_room *room)
{
    struct wire_frame frame;
    if (!wire_send(&state.link, WIRE_HOLD, hold, NULL, 0) || !wire_receive(&state.link, &frame) ||
        frame.type != WIRE_ROOM) {
        detach(false);
        return false;
    }
    wire_body(&frame, room);
    return true;
}

/* Under the lock. What the program has already, of which nobody is asked. */
static void tell_memory(struct board *board)
{
    const struct wire_hold hold = {memory_total(), 0, 0};
    struct wire_room room;
    if (atomic_load(&board->limited))
        (void)ask_for_room(&hold, &room);
    else
        atomic_store(&board->bytes, hold.bytes);
}

/* Under the lock. A board that was there before stays mapped: the GPU may still write to it. */
static void attach(void)
{
    struct wire_attach attach = {.version = WIRE_VERSION,
                                 .goal = CORUN_GOAL_NONE,
                                 .board_bytes = sizeof(struct board),
                                 .workers = kernels_form() == KERNELS_WORKERS};
    const char *goal = getenv(setting_GOAL), *kind = getenv(setting_GOAL_KIND);
    struct wire_frame frame;
    struct board *board = NULL;
    state.tried = now();
    if (state.before) { /* `corun goal`, or the program itself, may have changed it */
        uint64_t bits = atomic_load(&state.before->goal_value);
        attach.goal = (uint32_t)atomic_load(&state.before->goal);
        memcpy(&attach.goal_value, &bits, sizeof bits);
    } else if (goal && *goal) {
        attach.goal = wire_goal_kind(kind);
        attach.goal_value = strtod(goal, NULL);
    }
    board_fill_name(attach.name);
    choose_device(attach.gpu);
    state.again_ns = AGAIN_NS;
    int problem = wire_connect(&state.link, state.socket);
    if (problem) {
        say("corund cannot be reached, the program runs ungoverned", strerror(problem));
        return;
    }
    const struct timeval patience = {ANSWER_S, 0};
    (void)setsockopt(state.link.socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(state.link.socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    uint32_t hung_up = atomic_exchange(&state.hung_up, 0);
    uint64_t asked = now();
    state.again_ns = STALLED_AGAIN_NS;
    if (wire_send(&state.link, WIRE_ATTACH, &attach, NULL, 0) && wire_receive(&state.link, &frame)) {
        char text[512] = "";
        if (frame.type == WIRE_REFUSED)
            snprintf(text, sizeof text, "%.*s", (int)frame.tail_bytes, (const char *)frame.tail);
        else if (frame.type == WIRE_BOARD)
            board = take_board(&frame);
        if (!board)
            say("corund refuses, the program runs ungoverned", text);
    } else if (now() - asked < ANSWER_S * UINT64_C(1000000000)) { /* it may be about to end, or to begin */
        say("corund hangs up, the program runs ungoverned until it answers", "");
        state.tried = now();
        uint64_t wait_ns = HUNG_UP_NS << (hung_up < HUNG_UP_DOUBLES ? hung_up : HUNG_UP_DOUBLES);
        state.again_ns = wait_ns < STALLED_AGAIN_NS ? wait_ns : STALLED_AGAIN_NS;
        atomic_store(&state.hung_up, hung_up + 1);
    } else {
        say("corund does not answer, the program runs ungoverned", "");
    }
    if (!board) {
        wire_close(&state.link);
        return;
    }
    atomic_store(&board->obeys, kernels_form() == KERNELS_WORKERS);
    state.address = 0;
    state.told = false;
    carry(state.before, board);
    memset(&state.lanes, 0, sizeof state.lanes);
    state.before = board;
    atomic_store(&state.sheet, board_sheet_at(state.front, state.number));
    atomic_store(&state.board, board);
    tell_memory(board);
}

static void begin(void)
{
    const char *socket = getenv(setting_SHIM_DAEMON);
    state.driver.is_capturing = (int (*)(void *, int *))below_called(CALLED_cuStreamIsCapturing);
    state.driver.is_capturing_thread = (int (*)(void *, int *))below_called(CALLED_cuStreamIsCapturing_ptsz);
    state.driver.write = (int (*)(void *, uint64_t, uint32_t, unsigned))below_called(CALLED_cuStreamWriteValue32_v2);
    state.driver.write_thread =
        (int (*)(void *, uint64_t, uint32_t, unsigned))below_called(CALLED_cuStreamWriteValue32_v2_ptsz);
    state.driver.device = (int (*)(int *))below_called(CALLED_cuCtxGetDevice);
    state.driver.devices = (int (*)(int *))below_called(CALLED_cuDeviceGetCount);
    state.driver.uuid = (int (*)(char *, int))below_called(CALLED_cuDeviceGetUuid_v2);
    if (!state.driver.uuid)
        state.driver.uuid = (int (*)(char *, int))below_called(CALLED_cuDeviceGetUuid);
    state.driver.query = (int (*)(void *))below_called(CALLED_cuStreamQuery);
    state.driver.query_thread = (int (*)(void *))below_called(CALLED_cuStreamQuery_ptsz);
    state.driver.capture_mode = (int (*)(int *))below_called(CALLED_cuThreadExchangeStreamCaptureMode);
    state.driver.host_register = (int (*)(void *, size_t, unsigned))below_called(CALLED_cuMemHostRegister_v2);
    state.driver.host_address =
        (int (*)(unsigned long long *, void *, unsigned))below_called(CALLED_cuMemHostGetDevicePointer_v2);
    state.driver.sleep = (int (*)(unsigned long long))below_called(CALLED_corun_host_sleep);
    if (!socket || !*socket || strlen(socket) >= sizeof state.socket)
        return;
    memcpy(state.socket, socket, strlen(socket) + 1);
    attach();
}

/* corund has closed its end. */
static bool is_gone(void)
{
    char byte;
    return recv(state.link.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Under the lock. */
static void ring(void)
{
    static const struct wire_none none = {0};
    if (!wire_send(&state.link, WIRE_RING, &none, NULL, 0))
        detach(false);
}

void govern_forked(void)
{
    (void)pthread_mutex_init(&state.lock, NULL);
    atomic_store(&state.board, NULL);
    atomic_store(&state.sheet, NULL);
    wire_close(&state.link);
    state.socket[0] = 0;
}

/* ---- waiting ---- */

/* `own`: for what the program itself has under way. */
static void nap(uint64_t since, bool own)
{
    const struct timespec time = {0, NAP_NS};
    if (own && state.driver.sleep) /* simulated time goes on in calls alone, and not faster than the host's */
        (void)state.driver.sleep(NAP_NS);
    if (!state.driver.sleep && now() - since < SPIN_NS)
        sched_yield();
    else
        nanosleep(&time, NULL);
}

/* At most GATE_NS; on a simulated GPU, whose time goes on in calls alone, in many naps. False: it was as long as that. */
static bool doze(struct board *board)
{
    const struct timespec patience = {0, GATE_NS}, time = {0, NAP_NS};
    if (!state.driver.sleep)
        return syscall(SYS_futex, &board->gate, FUTEX_WAIT, BOARD_CLOSED, &patience, NULL, 0) == 0 ||
               errno != ETIMEDOUT;
    for (int i = 0; i < GATE_NS / NAP_NS && atomic_load(&board->gate) == BOARD_CLOSED; i++) {
        (void)state.driver.sleep(NAP_NS);
        nanosleep(&time, NULL);
    }
    return atomic_load(&board->gate) != BOARD_CLOSED;
}

/* Until corund opens the gate, or is gone. */
static void wait_at_gate(struct board *board)
{
    uint64_t since = now();
    atomic_fetch_add(&board->waiting, 1);
    pthread_mutex_lock(&state.lock);
    const struct board_front *front = state.front; /* stays mapped */
    if (atomic_load(&state.board) == board)
        ring();
    pthread_mutex_unlock(&state.lock);
    while (atomic_load(&board->gate) == BOARD_CLOSED && atomic_load(&state.board) == board) {
        if (doze(board))
            continue;
        pthread_mutex_lock(&state.lock);
        uint64_t time = now(), looked = atomic_load(&front->looked);
        bool stalled = time - since > STALLED_NS && time > looked + STALLED_NS;
        if (atomic_load(&state.board) == board && (stalled || is_gone()))
            detach(stalled);
        pthread_mutex_unlock(&state.lock);
    }
    atomic_fetch_sub(&board->waiting, 1);
    atomic_fetch_add(&board->held, 1);
    atomic_fetch_add(&board->held_ns, now() - since);
}

/* Until no program that goes first is busy. A short wait is spent awake: such programs are busy for microseconds. */
static void yield_to_others(struct board *board, struct board_front *front, uint32_t number)
{
    uint64_t since = now(), looked = since;
    atomic_fetch_add(&board->waiting, 1);
    while (atomic_load(&board->gate) == BOARD_BOUNDED && atomic_load(&state.board) == board &&
           board_yields(front, number)) {
        nap(since, false);
        uint64_t time = now();
        if (time - looked < GATE_NS)
            continue;
        looked = time;
        pthread_mutex_lock(&state.lock);
        bool stalled = time - since > STALLED_NS && atomic_load(&front->elsewhere) &&
                       time > atomic_load(&front->looked) + STALLED_NS;
        if (atomic_load(&state.board) == board && (stalled || is_gone()))
            detach(stalled);
        pthread_mutex_unlock(&state.lock);
    }
    atomic_fetch_sub(&board->waiting, 1);
    atomic_fetch_add(&board->held, 1);
    atomic_fetch_add(&board->held_ns, now() - since);
}

/* Under the lock: what was under way in the context will never be written to have ended, as it is in error, or gone. NULL: it is not known which. */
static void forget(struct board *board, const void *context)
{
    lanes_end(board == state.before ? &state.lanes : NULL, board, context);
    if (state.carried)
        lanes_end(&state.carried_lanes, state.carried, context);
}

void govern_context_ended(const void *context)
{
    pthread_mutex_lock(&state.lock);
    struct board *board = atomic_load(&state.board);
    if (board)
        forget(board, context);
    pthread_mutex_unlock(&state.lock);
}

/* Whether the context works on. Other threads may capture meanwhile. */
static bool is_healthy(const struct governed *launch)
{
    int (*query)(void *) = launch->per_thread ? state.driver.query_thread : state.driver.query;
    int mode = CAPTURE_RELAXED;
    if (!query || !state.driver.capture_mode || state.driver.capture_mode(&mode) != 0)
        return true;
    int error = query(launch->stream);
    (void)state.driver.capture_mode(&mode);
    return error == BELOW_OK || error == NOT_READY || (error >= FIRST_OF_CAPTURES && error <= LAST_OF_CAPTURES);
}

/* A moment without the lock. Whether the context is good is looked at now and then. */
static void rest(const struct governed *launch, struct board *board, uint64_t since, uint64_t *looked)
{
    pthread_mutex_unlock(&state.lock);
    nap(since, true);
    bool due = now() - *looked > HEALTH_NS, healthy = !due || is_healthy(launch);
    if (due)
        *looked = now();
    pthread_mutex_lock(&state.lock);
    if (!healthy)
        forget(board, launch->place.context);
}

/*
 * Until so little is under way that one launch more is within the bound. Under the lock, given back meanwhile. Where nothing ends for long, it may wait for what the
 * program does only behind this launch: a value that its host writes, a launch in another stream.
 */
static void wait_for_room(const struct governed *launch, struct board *board)
{
    uint64_t since = now(), looked = since, ended = since, before = board_under_way(board);
    for (bool closely = false;; closely = true) {
        uint64_t under_way = board_under_way(board), bound = atomic_load(&board->bound_ns);
        pace_see(&state.pace, under_way, closely, now());
        if (under_way != before)
            ended = now();
        before = under_way;
        if (!under_way || now() - ended > STALLED_NS ||
            (state.pace.each_ns && (under_way + 1) * state.pace.each_ns <= bound) ||
            atomic_load(&board->gate) != BOARD_BOUNDED)
            return;
        rest(launch, board, since, &looked);
    }
}

/* ---- lanes ---- */

static bool register_board(struct board *board)
{
    unsigned long long address = 0;
    if (!state.driver.host_register || !state.driver.host_address)
        return false;
    (void)state.driver.host_register(board, BOARD_BYTES, REGISTER_PORTABLE_MAPPED); /* it may be registered already */
    if (state.driver.host_address(&address, board, 0) != 0)
        return false;
    state.address = address;
    return true;
}

static int write_end(const struct governed *launch, struct board *board, uint32_t value)
{
    int (*write)(void *, uint64_t, uint32_t, unsigned) =
        launch->per_thread ? state.driver.write_thread : state.driver.write;
    uint64_t offset = (uint64_t)((const char *)&launch->lane->ended - (const char *)board);
    return write(launch->stream, state.address + offset, value, 0);
}

static bool is_captured(void *stream, bool per_thread)
{
    int (*ask)(void *, int *) = per_thread ? state.driver.is_capturing_thread : state.driver.is_capturing;
    int status = NOBODY_CAPTURES;
    return captures_under_way() && ask && (ask(stream, &status) != 0 || status != NOBODY_CAPTURES);
}

/* ---- launches ---- */

/* Whether corund is gone, or one is there again. */
static void look_for_corund(void)
{
    pthread_mutex_lock(&state.lock);
    if (atomic_load(&state.board) && is_gone())
        detach(false);
    else if (!atomic_load(&state.board) && now() - state.tried > state.again_ns)
        attach();
    pthread_mutex_unlock(&state.lock);
}

uint64_t govern_bound(const struct governed *launch)
{
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    if (!board || !launch->looked_at || atomic_load_explicit(&board->gate, memory_order_acquire) < BOARD_BOUNDED)
        return 0;
    return atomic_load(&board->bound_ns);
}

void govern_measure(const struct governed *launch)
{
    uint64_t since = now(), looked = since;
    if (!launch->lane)
        return;
    pthread_mutex_lock(&state.lock);
    struct board *board = atomic_load(&state.board);
    while (board && state.pace.under_way == 1 && state.pace.exactly && board_under_way(board) == 1 &&
           now() - since < STALLED_NS) {
        rest(launch, board, since, &looked);
        pace_see(&state.pace, board_under_way(board), true, now());
    }
    pthread_mutex_unlock(&state.lock);
}

static struct board *board_of(const struct governed *launch)
{
    return (struct board *)((uintptr_t)launch->lane & ~(uintptr_t)(BOARD_BYTES - 1));
}

void govern_part(const struct governed *launch)
{
    if (launch->lane)
        atomic_fetch_add(&board_of(launch)->parts, 1);
}

/* Waits until the launch may go, and takes the lock. */
static void enter_gate(const struct governed *launch, struct board *board)
{
    for (;;) {
        while (atomic_load(&board->gate) == BOARD_CLOSED && atomic_load(&state.board) == board)
            wait_at_gate(board);
        pthread_mutex_lock(&state.lock);
        if (atomic_load(&board->gate) == BOARD_BOUNDED)
            wait_for_room(launch, board);
        bool yields = atomic_load(&board->gate) == BOARD_BOUNDED && atomic_load(&state.board) == board &&
                      board_yields(state.front, state.number);
        struct board_front *front = state.front;
        uint32_t number = state.number;
        if (!yields)
            return;
        pthread_mutex_unlock(&state.lock);
        yield_to_others(board, front, number);
    }
}

void govern_look(struct governed *launch, void *stream, bool per_thread)
{
    pthread_once(&state.once, begin);
    if (state.socket[0] && (atomic_fetch_add_explicit(&state.looks, 1, memory_order_relaxed) % LOOKS == 0 ||
                            atomic_load_explicit(&state.hung_up, memory_order_relaxed)))
        look_for_corund();
    *launch = (struct governed){.stream = stream, .per_thread = per_thread};
    launch->looked_at =
        atomic_load_explicit(&state.board, memory_order_acquire) && !is_captured(stream, per_thread) && !is_elsewhere();
}

const void *govern_context(struct governed *launch)
{
    if (!launch->placed)
        launch->place = streams_find(launch->stream, launch->per_thread);
    launch->placed = true;
    return launch->place.context;
}

void govern_begin(struct governed *launch, struct kernel *kernel, uint64_t blocks)
{
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    launch->kernel = kernel;
    launch->blocks = blocks;
    if (!board || !launch->looked_at)
        return;
    if (atomic_load_explicit(&board->gate, memory_order_acquire) == BOARD_FREE) {
        atomic_fetch_add_explicit(&board->launches, 1, memory_order_relaxed);
        return;
    }
    (void)govern_context(launch);
    enter_gate(launch, board);
    if (atomic_load(&state.board) == board && !state.mute)
        launch->lane = lanes_of(&state.lanes, board, &launch->place);
    if (launch->lane)
        atomic_fetch_add(&board->starting, 1);
    pthread_mutex_unlock(&state.lock);
}

/* Before the launch can have ended: thread blocks up to it that no workers count. */
static void note_blocks(const struct governed *launch, const struct board *board, uint32_t number)
{
    if (board != state.before) /* of a corund that is gone */
        return;
    _Atomic uint32_t *blocks = board_sheet_at(state.front, state.number)->whole[launch->lane - board->lanes];
    uint32_t before = atomic_load(&blocks[(number - 1) % BOARD_RING]);
    atomic_store(&blocks[number % BOARD_RING], before + (launch->counted ? 0 : (uint32_t)launch->blocks));
}

void govern_end(struct governed *launch, int error)
{
    if (!launch->lane)
        return;
    pthread_mutex_lock(&state.lock);
    struct board *board = board_of(launch);
    if (error != BELOW_OK && !is_healthy(launch))
        forget(board, launch->place.context);
    if (error == BELOW_OK && (state.address || register_board(board))) {
        uint32_t number = atomic_load(&launch->lane->asked) + 1;
        note_blocks(launch, board, number);
        atomic_store(&launch->lane->asked, number);
        int problem = write_end(launch, board, number);
        if (problem &&
            register_board(board)) /* another context than that with which it was registered, which is gone */
            problem = write_end(launch, board, number);
        if (problem) {
            forget(board, launch->place.context);
            state.mute |= problem == BELOW_NOT_SUPPORTED;
        }
        atomic_fetch_add(&board->launches, 1);
        pace_begun(&state.pace, launch->kernel, launch->blocks);
    }
    atomic_fetch_sub(&board->starting, 1);
    pthread_mutex_unlock(&state.lock);
}

struct board *govern_board(void)
{
    pthread_once(&state.once, begin);
    return atomic_load_explicit(&state.board, memory_order_acquire);
}

/* ---- SMs ---- */

uint32_t govern_sms(void)
{
    pthread_once(&state.once, begin);
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    return board && !is_elsewhere() ? atomic_load(&board->sms) : 0;
}

uint32_t govern_launch_sms(const struct governed *launch)
{
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    return board && launch->looked_at ? atomic_load_explicit(&board->sms, memory_order_acquire) : 0;
}

uint32_t govern_sms_after(uint32_t seen, uint64_t patience_ns)
{
    const struct timespec patience = {0, (long)patience_ns};
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    if (board && atomic_load(&board->sms) == seen)
        (void)syscall(SYS_futex, &board->sms, FUTEX_WAIT, seen, &patience, NULL, 0);
    else if (!board)
        nanosleep(&patience, NULL);
    pthread_mutex_lock(&state.lock);
    state.watched = true;
    board = atomic_load(&state.board);
    if (board && is_gone())
        detach(false);
    else if (!board && state.socket[0] && now() - state.tried > state.again_ns)
        attach(); /* the program may have nothing more to ask for */
    board = atomic_load(&state.board);
    put_down(board);
    pthread_mutex_unlock(&state.lock);
    return board ? atomic_load(&board->sms) : 0;
}

void govern_wake(void)
{
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    if (board)
        (void)syscall(SYS_futex, &board->sms, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

struct board_sheet *govern_sheet(void)
{
    return atomic_load_explicit(&state.sheet, memory_order_acquire);
}

bool govern_is_busy(void)
{
    const struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    return board && board_is_busy(board);
}

void govern_tell_shape(uint32_t tbs_per_sm, uint32_t tb_threads)
{
    struct board_sheet *sheet = govern_sheet();
    if (!sheet || (atomic_load_explicit(&sheet->tbs_per_sm, memory_order_relaxed) == tbs_per_sm &&
                   atomic_load_explicit(&sheet->tb_threads, memory_order_relaxed) == tb_threads))
        return;
    atomic_store(&sheet->tbs_per_sm, tbs_per_sm);
    atomic_store(&sheet->tb_threads, tb_threads);
}

uint64_t govern_now(void)
{
    return now();
}

/* ---- memory ---- */

bool govern_is_captured(void *stream, bool per_thread)
{
    pthread_once(&state.once, begin);
    return is_captured(stream, per_thread);
}

/* NULL: there is no corund, not even again. */
static struct board *board_now(void)
{
    pthread_once(&state.once, begin);
    if (state.socket[0] && !atomic_load(&state.board))
        look_for_corund();
    return atomic_load(&state.board);
}

enum govern_memory govern_memory(void)
{
    const struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    if (!board && !(board = board_now()))
        return state.socket[0] ? GOVERN_NOTED : GOVERN_UNNOTED;
    return atomic_load_explicit(&board->limited, memory_order_relaxed) ? GOVERN_ASKED : GOVERN_NOTED;
}

struct board *govern_noting(void)
{
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    return board && !atomic_load_explicit(&board->limited, memory_order_relaxed) ? board : NULL;
}

bool govern_hold(uint64_t bytes, bool grows)
{
    const struct wire_hold hold = {bytes, grows, 0};
    struct wire_room room = {.status = CORUN_OK};
    struct board *board = atomic_load_explicit(&state.board, memory_order_acquire);
    if (!board && !(board = board_now()))
        return true;
    if (!atomic_load_explicit(&board->limited, memory_order_acquire)) {
        atomic_store_explicit(&board->bytes, bytes, memory_order_release);
        return true;
    }
    pthread_mutex_lock(&state.lock);
    if (atomic_load(&state.board) && !ask_for_room(&hold, &room))
        room.status = CORUN_OK;
    pthread_mutex_unlock(&state.lock);
    return room.status == CORUN_OK;
}

bool govern_room(uint64_t bytes, uint64_t *limit, uint64_t *used)
{
    const struct wire_hold hold = {bytes, 0, 0};
    struct wire_room room;
    (void)board_now();
    pthread_mutex_lock(&state.lock);
    struct board *board = atomic_load(&state.board);
    bool limited = board && atomic_load(&board->limited) && ask_for_room(&hold, &room);
    pthread_mutex_unlock(&state.lock);
    if (limited) {
        *limit = room.limit;
        *used = room.used;
    }
    return limited;
}

/* ---- what programs tell (corun/client.h) ---- */

SHIM_EXPORT enum corun_status corun_shim_set_goal(enum corun_goal_kind kind, double value);
enum corun_status corun_shim_set_goal(enum corun_goal_kind kind, double value)
{
    const struct wire_goal goal = {0, kind, value};
    struct wire_frame frame;
    enum corun_status status = CORUN_UNSUPPORTED;
    pthread_once(&state.once, begin);
    pthread_mutex_lock(&state.lock);
    if (atomic_load(&state.board)) {
        status = CORUN_DEADLOCK;
        if (!wire_send(&state.link, WIRE_GOAL, &goal, NULL, 0) || !wire_receive(&state.link, &frame))
            detach(false);
        else if (frame.type == WIRE_DONE)
            status = CORUN_OK;
        else
            status = CORUN_ARGUMENT;
        if (status == CORUN_ARGUMENT && frame.type == WIRE_REFUSED)
            shim_say("corund refuses the goal: %.*s", (int)frame.tail_bytes, (const char *)frame.tail);
    }
    pthread_mutex_unlock(&state.lock);
    return status;
}
