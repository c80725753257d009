/* SPDX-License-Identifier: MIT */
/*
 * Whether a kernel runs while streams wait for values (docs/hardware-workers.md): N streams of the lowest priority wait for a word of the host's memory, then
 * a kernel is launched into one stream more, of the lowest or of the highest priority. A row says whether it has ended within a fifth of a second while they
 * still waited. Then what a wait for a value that is there already costs a stream.
 *
 *   waits > ROWS.csv
 */
#include "driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 256, AT_LEAST = 0, NON_BLOCKING = 1, TIMES = 2000, NOT_READY = 600 };

int cuCtxGetStreamPriorityRange(int *least, int *greatest);
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int cuStreamQuery(void *stream);
int cuStreamWaitValue32_v2(void *stream, uint64_t address, unsigned value, unsigned flags);
int cuMemHostAlloc(void **host, size_t bytes, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags);

static const char nothing[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

static double launch(void *function, void *stream)
{
    double begun = now();
    GOOD(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    while (cuStreamQuery(stream) == NOT_READY && now() < begun + 0.2)
        ;
    return cuStreamQuery(stream) == 0 ? now() - begun : -1;
}

int main(void)
{
    static const int counts[] = {0, 1, 4, 7, 8, 16, 31, 32, 64, 128, MOST};
    void *context, *module, *function, *host, *waiting[MOST], *streams[2];
    uint64_t address;
    int least, greatest;
    GOOD(cuInit(0));
    GOOD(cuDevicePrimaryCtxRetain(&context, 0));
    GOOD(cuCtxSetCurrent(context));
    GOOD(cuCtxGetStreamPriorityRange(&least, &greatest));
    GOOD(cuModuleLoadData(&module, nothing));
    GOOD(cuModuleGetFunction(&function, module, "nothing"));
    GOOD(cuMemHostAlloc(&host, 4096, 2));
    GOOD(cuMemHostGetDevicePointer_v2(&address, host, 0));
    volatile uint32_t *word = host;
    for (int i = 0; i < MOST; i++)
        GOOD(cuStreamCreateWithPriority(&waiting[i], NON_BLOCKING, least));
    GOOD(cuStreamCreateWithPriority(&streams[0], NON_BLOCKING, least));
    GOOD(cuStreamCreateWithPriority(&streams[1], NON_BLOCKING, greatest));
    (void)launch(function, streams[0]);
    printf("waiting,priority,ends_us\n");
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int high = 0; high < 2; high++) {
            *word = 0;
            GOOD(cuCtxSynchronize());
            for (int i = 0; i < counts[c]; i++)
                GOOD(cuStreamWaitValue32_v2(waiting[i], address, 1, AT_LEAST));
            double took = launch(function, streams[high]);
            printf("%d,%s,%.1f\n", counts[c], high ? "highest" : "lowest", took < 0 ? -1 : took * 1e6);
            *word = 1;
            GOOD(cuCtxSynchronize());
        }
    double begun = now();
    for (int i = 0; i < TIMES; i++)
        GOOD(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, streams[0], NULL, NULL));
    GOOD(cuStreamSynchronize(streams[0]));
    double plain = now() - begun;
    begun = now();
    for (int i = 0; i < TIMES; i++) {
        GOOD(cuStreamWaitValue32_v2(streams[0], address, 1, AT_LEAST));
        GOOD(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, streams[0], NULL, NULL));
    }
    GOOD(cuStreamSynchronize(streams[0]));
    printf("# a launch %.2f us, with a wait in front of it %.2f us (priorities %d to %d)\n", plain / TIMES * 1e6,
           (now() - begun) / TIMES * 1e6, least, greatest);
    return 0;
}
