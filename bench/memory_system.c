/* SPDX-License-Identifier: MIT */
/*
 * What the memory system costs the host: nanoseconds of processor time per request for L2 hits, DRAM streams, scattered
 * reads, whole-line writes and atomics, with every SM sending as fast as its window allows.
 *
 *     memory_system [requests per pattern, in thousands]
 */
#include "gpu/memory_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct pattern {
    const char *name;
    void (*make)(uint32_t sm, uint64_t n, struct packet *packet);
    uint32_t per_step; /* requests per SM and step: below what the simulated GPU can take, so that queues stay short */
};

static uint64_t scramble(uint64_t value)
{
    value = (value ^ value >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 32;
}

static void make_hit(uint32_t sm, uint64_t n, struct packet *packet)
{
    packet->address = (sm * 64 + n % 64) * 128;
    packet->sectors = 0xf;
}

static void make_stream(uint32_t sm, uint64_t n, struct packet *packet)
{
    packet->address = (n * 16 + sm) * 128;
    packet->sectors = 0xf;
}

static void make_scattered(uint32_t sm, uint64_t n, struct packet *packet)
{
    packet->address = (scramble(n << 4 | sm) & 0x3ffffff) * 128;
    packet->sectors = 1;
}

static void make_write(uint32_t sm, uint64_t n, struct packet *packet)
{
    make_stream(sm, n, packet);
    packet->kind = PACKET_WRITE;
    packet->full_sectors = 0xf;
    packet->bytes = 128;
}

static void make_atomic(uint32_t sm, uint64_t n, struct packet *packet)
{
    packet->address = (scramble(n << 4 | sm) & 0xff) * 128;
    packet->sectors = 1;
    packet->kind = PACKET_ATOMIC;
    packet->bytes = 4;
    packet->lanes = 1;
}

static const struct pattern patterns[] = {
    {"L2 hits, 4 sectors", make_hit, 33},
    {"DRAM stream, 4 sectors", make_stream, 11},
    {"DRAM scattered, 1 sector", make_scattered, 6},
    {"whole-line writes", make_write, 9},
    {"atomics", make_atomic, 100},
};

static void perform(void *user, const struct packet *packet)
{
    *(uint64_t *)user += packet->token;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int run(const struct pattern *pattern, uint64_t requests)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    uint64_t performed = 0;
    struct memory_system *memory = memory_system_create(&config, perform, &performed);
    if (!memory)
        return 1;
    uint64_t step = memory_system_quantum(memory), now = 0, sent = 0, received = 0;
    uint32_t under_way[16] = {0};
    struct packet *batch = calloc(config.sms * step, sizeof *batch);
    double start = seconds();
    while (batch && received < requests) {
        size_t count = 0;
        for (uint32_t sm = 0; sm < config.sms; sm++) {
            struct reply_ring *ring = memory_system_replies(memory, sm);
            for (; ring->head != ring->tail; ring->head++, under_way[sm]--)
                received++;
        }
        for (uint64_t i = 0; i < pattern->per_step; i++)
            for (uint32_t sm = 0; sm < config.sms && sent < requests; sm++) {
                if (under_way[sm] >= config.icnt_buffer)
                    continue;
                struct packet *packet = &batch[count++];
                *packet = (struct packet){.cycle = now + i * step / pattern->per_step, .sm = (uint16_t)sm};
                pattern->make(sm, sent++ / config.sms, packet);
                under_way[sm]++;
            }
        memory_system_send(memory, batch, count);
        now += step;
        if (!memory_system_advance(memory, now))
            break;
    }
    double elapsed = seconds() - start;
    const struct corun_counters *counters = memory_system_counters(memory, 0);
    printf("%-26s %7.1f ns per request, %6.2f million requests/s, %5.2f requests per core cycle, L2 hits %3.0f %%, "
           "row hits %3.0f %%\n",
           pattern->name, 1e9 * elapsed / (double)received, 1e-6 * (double)received / elapsed,
           (double)received / (double)now, 100.0 * (double)counters->l2_hits / (double)counters->l2_accesses,
           100.0 * (double)counters->dram_row_hits /
               (double)(counters->dram_row_hits + counters->dram_row_misses + !counters->dram_row_misses));
    free(batch);
    memory_system_destroy(memory);
    return received < requests;
}

int main(int argc, char **argv)
{
    uint64_t requests = 1000 * (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (run(&patterns[i], requests)) {
            fprintf(stderr, "out of memory\n");
            return 1;
        }
    return 0;
}
