/* SPDX-License-Identifier: MIT */
/*
 * What a compiler's instrumentation calls in a traced program, and the end of the process, where the file is written. A recorder belongs to its
 * thread alone while the thread runs; the list of recorders has the lock. The process has one trace: its state is the library's.
 *
 * CORUN_TRACE=FILE is where the trace goes, CORUN_TRACE_RATE=N keeps one line in N (default 64).
 */
#include "corun/trace.h"

#include "trace/recorder.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_RECORDERS = 1024, MOST_SAMPLES = 8 << 20, DEFAULT_RATE = 64 };

static __thread struct recorder *mine;
static __thread bool inside; /* what the library itself copies is nobody's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct recorder *recorders[MOST_RECORDERS];
static size_t recorder_count;

static struct recorder *begin(void)
{
    const char *path = getenv("CORUN_TRACE"), *rate = getenv("CORUN_TRACE_RATE");
    struct recorder *recorder = path && *path ? calloc(1, sizeof *recorder) : NULL;
    if (!recorder)
        return NULL;
    pthread_mutex_lock(&lock);
    bool room = recorder_count < MOST_RECORDERS;
    if (room) {
        unsigned long number = rate ? strtoul(rate, NULL, 10) : DEFAULT_RATE;
        recorder_begin(recorder, (uint32_t)recorder_count,
                       number && number < UINT32_MAX ? (uint32_t)number : DEFAULT_RATE, MOST_SAMPLES);
        recorders[recorder_count++] = recorder;
    }
    pthread_mutex_unlock(&lock);
    if (!room) {
        free(recorder);
        return NULL;
    }
    return recorder;
}

void corun_trace_task(uint32_t query, uint32_t phase, uint32_t task)
{
    if (!mine)
        mine = begin();
    if (mine)
        recorder_task(mine, query, phase, task);
}

void corun_trace_pause(void)
{
    if (mine)
        mine->recording = false;
}

/* A file that is not whole is none. */
__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("CORUN_TRACE");
    if (!recorder_count || !path)
        return;
    FILE *file = fopen(path, "wb");
    bool good = file && recorders_write(recorders, recorder_count, file);
    good = file && !fclose(file) && good;
    if (file && !good)
        (void)remove(path);
}

/* clang and gcc call these under -fsanitize=thread, clang after all optimisations. What they call for atomics is not here. */
void __tsan_init(void);
void __tsan_func_entry(const void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(const void *address, size_t bytes);
void __tsan_write_range(const void *address, size_t bytes);

void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void)
{
}

static void access_one(uint64_t address, uint32_t bytes, bool store)
{
    if (!mine || inside)
        return;
    inside = true;
    recorder_access(mine, address, bytes, store);
    inside = false;
}

static void access_range(const void *address, size_t bytes, bool store)
{
    uint64_t begin = (uint64_t)(uintptr_t)address, end = begin + bytes;
    for (uint64_t at = begin; mine && at < end; at += 16) /* as copies go, sixteen bytes at a time */
        access_one(at, end - at < 16 ? (uint32_t)(end - at) : 16, store);
}

void __tsan_read_range(const void *address, size_t bytes)
{
    access_range(address, bytes, false);
}

void __tsan_write_range(const void *address, size_t bytes)
{
    access_range(address, bytes, true);
}

#define CALLBACK(name, bytes, store) \
    void __tsan_##name##bytes(const void *address); \
    void __tsan_##name##bytes(const void *address) \
    { \
        access_one((uint64_t)(uintptr_t)address, bytes, store); \
    }
#define CALLBACKS(bytes) CALLBACK(read, bytes, false) CALLBACK(write, bytes, true)
#define UNALIGNED(bytes) CALLBACK(unaligned_read, bytes, false) CALLBACK(unaligned_write, bytes, true)
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

/* Copies, which nothing else tells of: the linker takes these for the library's (--wrap). */
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int value, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    access_range(from, bytes, false);
    access_range(to, bytes, true);
    return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
    access_range(from, bytes, false);
    access_range(to, bytes, true);
    return __real_memmove(to, from, bytes);
}

void *__wrap_memset(void *to, int value, size_t bytes)
{
    access_range(to, bytes, true);
    return __real_memset(to, value, bytes);
}
