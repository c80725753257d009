/* SPDX-License-Identifier: MIT */
/*
 * What a decision of the analytical model costs: all co-schedules of a pair of kernels, processor time. Kernels are random within what real ones
 * are; latency lines are those that the micro-benchmarks measured.
 *
 *     bench_predictions [PAIRS]
 */
#include "model/co_schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct bench_gpu {
    const char *name;
    struct model_gpu gpu;
};

static const struct bench_gpu gpus[] = {
    {"tesla-c2050", {14, 2, 0.5, 1, 1150000, {1536, 8, 32768, 49152, 128}, {{6.53, 524}, {22.3, 171}}}},
    {"gtx680", {8, 4, 1, 2, 1006000, {2048, 16, 65536, 49152, 256}, {{1.25, 282}, {10.8, 90}}}},
    {"gtx980", {16, 4, 1, 2, 1216000, {2048, 32, 65536, 98304, 512}, {{5.43, 253}, {17, 1}}}},
    {"quadro-v100", {80, 4, 1, 1, 1447000, {2048, 32, 65536, 98304, 512}, {{6.21, 405}, {9.39, 275}}}},
};

static double random_from(uint64_t *state) /* splitmix64: 0 to 1 */
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A thread block of 64 to 256 threads; memory instructions from 0.2 % to 30 %; half of the kernels have uncoalesced accesses. */
static struct model_kernel random_kernel(uint64_t *seed)
{
    uint32_t warps = 2u << (uint32_t)(3 * random_from(seed));
    double uncoalesced = random_from(seed);
    return (struct model_kernel){.memory_share = 0.3 * exp(-5 * random_from(seed)),
                                 .uncoalesced_share = uncoalesced < 0.5 ? 0 : 2 * uncoalesced - 1,
                                 .coalesced_requests = 1,
                                 .uncoalesced_requests = 2 + 30 * random_from(seed),
                                 .tb_instructions = 1000 + 10000 * random_from(seed),
                                 .tbs = 10000,
                                 .tb_warps = warps,
                                 .needs = {warps * 32, 1, warps * 768, 0, 1}};
}

static int measure(const struct bench_gpu *bench, uint32_t pairs)
{
    uint64_t seed = 1;
    double sum = 0, worst = 0, candidates = 0;
    uint32_t most = 0, done = 0, long_ones = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        const struct model_kernel a = random_kernel(&seed), b = random_kernel(&seed);
        const struct model_kernel *const kernels[2] = {&a, &b};
        const double alone[2] = {0.5, 0.5};
        struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES];
        uint32_t count;
        double begin = processor_seconds();
        if (model_co_schedules(&bench->gpu, kernels, alone, list, &count) != CORUN_OK)
            return 1;
        double taken = processor_seconds() - begin;
        sum += taken;
        worst = fmax(worst, taken);
        long_ones += taken > 1e-3;
        candidates += count;
        most = count > most ? count : most;
        done++;
    }
    printf("%-12s %4.1f candidates, %2u at most: %.3f ms, %.3f ms at most, %.1f %% above 1 ms; %.1f us a candidate\n",
           bench->name, candidates / done, most, 1e3 * sum / done, 1e3 * worst, 100.0 * long_ones / done,
           1e6 * sum / candidates);
    return 0;
}

int main(int argc, char **argv)
{
    int pairs = argc > 1 ? atoi(argv[1]) : 300;
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
        if (measure(&gpus[i], pairs > 0 ? (uint32_t)pairs : 1)) {
            fprintf(stderr, "%s: no prediction\n", gpus[i].name);
            return 1;
        }
    return 0;
}
