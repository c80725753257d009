/* SPDX-License-Identifier: MIT */
/* Clock, latency and stream of the processor: the best of several attempts, because others may use it. */
#include "profile/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, ATTEMPTS = 5 };
#define STRETCH_BYTES ((size_t)256 << 20) /* far more than a cache has */
#define CACHED_BYTES ((size_t)4 << 20)    /* more than private caches have, less than a shared one */

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double measure_clock(void)
{
    enum { ROUNDS = 4 << 20, UNROLLED = 16 };
    double best = 1e9;
    uint64_t value = 1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double since = seconds();
        for (int i = 0; i < ROUNDS; i++)
#pragma GCC unroll 16
            for (int k = 0; k < UNROLLED; k++) {
                value = value << 1 | value >> 63;
                __asm__ volatile("" : "+r"(value)); /* none may be left out */
            }
        double taken = seconds() - since;
        best = taken < best ? taken : best;
    }
    return (double)ROUNDS * UNROLLED / best * 1e-9;
}

/* One chain through all lines of a stretch, in a random order (Sattolo, 1986). */
static double measure_latency(char *memory, size_t bytes)
{
    size_t lines = bytes / LINE;
    for (size_t i = 0; i < lines; i++)
        *(size_t *)(void *)(memory + i * LINE) = i;
    uint64_t random = 1;
    for (size_t i = lines - 1; i > 0; i--) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t other = (size_t)((random >> 33) % i);
        size_t *a = (size_t *)(void *)(memory + i * LINE), *b = (size_t *)(void *)(memory + other * LINE), kept = *a;
        *a = *b;
        *b = kept;
    }
    double best = 1e9;
    size_t at = 0, steps = (size_t)1 << 19;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double since = seconds();
        for (size_t i = 0; i < steps; i++) {
            at = *(size_t *)(void *)(memory + at * LINE);
            __asm__ volatile("" : "+r"(at));
        }
        double taken = seconds() - since;
        best = taken < best ? taken : best;
    }
    return best / (double)steps * 1e9;
}

static double measure_stream(const char *memory, size_t bytes)
{
    double best = 1e9;
    size_t lines = bytes / LINE;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const uint64_t *words = (const uint64_t *)(const void *)memory;
        uint64_t sum = 0;
        double since = seconds();
        for (size_t i = 0; i < bytes / sizeof *words; i += 4)
            sum += words[i] + words[i + 1] + words[i + 2] + words[i + 3];
        __asm__ volatile("" : : "r"(sum));
        double taken = seconds() - since;
        best = taken < best ? taken : best;
    }
    return best / (double)lines * 1e9;
}

static void find_name(char *name, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, room, "a processor without a name");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (colon && !strncmp(line, "model name", 10)) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, room, "%s", colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    if (file)
        fclose(file);
}

enum corun_status profile_machine_measure(struct profile_machine *machine)
{
    void *memory = mmap(NULL, STRETCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return CORUN_MEMORY;
    (void)madvise(memory, STRETCH_BYTES,
                  MADV_HUGEPAGE); /* so that translations cost little; without, they count as latency */
    find_name(machine->name, sizeof machine->name);
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    machine->cache_bytes = bytes > 0 ? (uint64_t)bytes : 0;
    machine->clock_ghz = measure_clock();
    memset(memory, 1, STRETCH_BYTES);
    machine->stream_ns = measure_stream(memory, STRETCH_BYTES);
    double far = measure_latency(memory, STRETCH_BYTES), near = measure_latency(memory, CACHED_BYTES);
    machine->memory_ns = far > near ? far - near : far;
    munmap(memory, STRETCH_BYTES);
    return CORUN_OK;
}
