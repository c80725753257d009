/* SPDX-License-Identifier: MIT */
/*
 * What a corund that is none, or is damaged, says to the shim: when a program joins, asks for memory or another goal, and launches; with the file of boards as it should be, or too
 * short, or with anything in it. The driver below does everything at once, and a second of the shim's clock is a look at it.
 */
#include "lying_daemon.h"
#include "shim/below.h"
#include "shim/board.h"
#include "shim/govern.h"
#include "shim/kernels.h"
#include "shim/memory.h"
#include "wire/board.h"

#include <time.h>

enum { FILES = 3, MOST_STEPS = 12 };

/* One for the process, as the shim's is. */
static struct {
    struct lying_daemon *daemon;
    int files[FILES]; /* as corund makes it; too short; one that may become so */
    struct board_front *front;
    uint64_t now_ns;
} fuzzed;

SHIM_EXPORT enum corun_status corun_shim_set_goal(enum corun_goal_kind kind, double value);
int LLVMFuzzerInitialize(const int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* ---- in place of the rest of the shim, and of time ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    fuzzed.now_ns += UINT64_C(10000000000);
    *time = (struct timespec){(time_t)(fuzzed.now_ns / 1000000000), (long)(fuzzed.now_ns % 1000000000)};
    return 0;
}

/* Boards of a corund that is gone stay mapped, of which a process has few; here it is one file that is mapped once. */
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (file >= 0 && bytes == BOARD_FILE_BYTES && fuzzed.front)
        return fuzzed.front;
    return __real_mmap(address, bytes, protection, flags, file, offset);
}

static int sleep_so_long(unsigned long long nanoseconds)
{
    (void)nanoseconds;
    return 0;
}

static int register_page(void *page, size_t bytes, unsigned flags)
{
    (void)page, (void)bytes, (void)flags;
    return BELOW_OK;
}

static int tell_address(unsigned long long *address, void *page, unsigned flags)
{
    (void)flags;
    *address = (unsigned long long)(uintptr_t)page;
    return BELOW_OK;
}

static int write_value(void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    (void)stream, (void)flags;
    memcpy((void *)(uintptr_t)address, &value, sizeof value);
    return BELOW_OK;
}

void *below_find(const char *symbol)
{
    static const struct {
        const char *name;
        void *function;
    } rows[] = {{"corun_host_sleep", (void *)(size_t)sleep_so_long},
                {"cuMemHostRegister_v2", (void *)(size_t)register_page},
                {"cuMemHostGetDevicePointer_v2", (void *)(size_t)tell_address},
                {"cuStreamWriteValue32_v2", (void *)(size_t)write_value}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, symbol))
            return rows[i].function;
    return NULL;
}

void *below_called(enum called entry)
{
    static const char *const names[CALLED_COUNT] = {
#define C(symbol) [CALLED_##symbol] = #symbol,
#include "shim/called.def"
#undef C
    };
    return below_find(names[entry]);
}

/* Nobody calls what a program calls. */
_Atomic(void *) below_entries[LOOKED_AT_COUNT];

void *below_first(enum looked_at entry)
{
    (void)entry;
    abort();
}

void shim_say(const char *format, ...)
{
    (void)format;
}

enum kernels_form kernels_form(void)
{
    return KERNELS_WHOLE;
}

void kernel_took(struct kernel *kernel, uint64_t blocks, uint64_t ns)
{
    (void)kernel, (void)blocks, (void)ns;
}

struct kernel *kernel_share(struct kernel *kernel)
{
    return kernel;
}

void kernel_drop(struct kernel *kernel)
{
    (void)kernel;
}

uint64_t memory_total(void)
{
    return 4096;
}

/* ---- the fuzzer ---- */

static int make_file(off_t bytes, int seals)
{
    int file = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, bytes) != 0 || fcntl(file, F_ADD_SEALS, seals) != 0)
        abort();
    return file;
}

int LLVMFuzzerInitialize(const int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzzed.daemon = lying_begin();
    fuzzed.files[0] = make_file((off_t)BOARD_FILE_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    fuzzed.files[1] = make_file(4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    fuzzed.files[2] = make_file((off_t)BOARD_FILE_BYTES, F_SEAL_GROW);
    fuzzed.front = mmap(NULL, BOARD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fuzzed.files[0], 0);
    if (fuzzed.front == MAP_FAILED || setenv("CORUN_SHIM_DAEMON", fuzzed.daemon->path, 1) != 0)
        abort();
    return 0;
}

static void fill(enum wire_type type, void *body)
{
    if (type == WIRE_ROOM) {
        const struct wire_room room = {.limit = 1 << 20, .used = 4096};
        memcpy(body, &room, sizeof room);
    }
}

/* As whoever has the file may write it; nobody is kept at a closed gate, where the program waits for corund. */
static void write_on_boards(struct lying_input *input)
{
    for (uint32_t i = lying_next(input) % 16; i > 0; i--) {
        uint32_t number = lying_next(input) % BOARD_CLIENTS, at = lying_next(input);
        at = (at << 8 | lying_next(input)) % BOARD_BYTES;
        ((unsigned char *)board_at(fuzzed.front, number))[at] = lying_next(input);
    }
    for (uint32_t i = 0; i < BOARD_CLIENTS; i++)
        if (atomic_load(&board_at(fuzzed.front, i)->gate) == BOARD_CLOSED)
            atomic_store(&board_at(fuzzed.front, i)->gate, BOARD_COUNTED);
    atomic_store(&fuzzed.front->first, 0);
}

static void act(struct lying_input *input)
{
    struct governed launch;
    uint64_t limit, used;
    uint8_t step = lying_next(input);
    switch (step % 8) {
    case 0:
        (void)govern_hold((uint64_t)step << 20, step & 8);
        break;
    case 1:
        (void)govern_room(4096, &limit, &used);
        break;
    case 2:
        (void)corun_shim_set_goal(CORUN_GOAL_FRACTION, 0.5);
        break;
    case 3:
        write_on_boards(input);
        break;
    case 4:
        (void)govern_sms_after(govern_sms(), 1);
        break;
    case 5:
        govern_tell_time(1.5f);
        break;
    default:
        govern_look(&launch, (void *)(uintptr_t)(step / 8), false);
        govern_begin(&launch, NULL, step);
        govern_end(&launch, step % 5 ? BELOW_OK : BELOW_NO_DEVICE);
        govern_context_ended(step & 16 ? NULL : &fuzzed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct lying_input input = {data, bytes}, steps;
    steps = input;
    for (uint32_t i = 0; i < MOST_STEPS; i++)
        (void)lying_next(&input);
    pthread_mutex_lock(&fuzzed.daemon->lock);
    fuzzed.daemon->count = 0;
    while (input.bytes && fuzzed.daemon->count < LYING_MOST_MESSAGES)
        lying_message(fuzzed.daemon, &input, fill, fuzzed.files, FILES);
    pthread_mutex_unlock(&fuzzed.daemon->lock);
    memset(fuzzed.front, 0, (size_t)(BOARD_CLIENTS + 1) * BOARD_BYTES);
    for (uint32_t i = 0; i < MOST_STEPS; i++)
        act(&steps);
    return 0;
}
