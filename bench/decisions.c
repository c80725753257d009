/* SPDX-License-Identifier: MIT */
/*
 * What the decisions of a scheduler of kernels cost, processor time: launches of Kernelet's eight kernels are all pending, the scheduler kernelet
 * decides, and slices end in the order in which they were handed out. The longest decision is the first one, which has the most pairs to predict.
 * Profiles and latency lines are what was measured on a Tesla C2050 (docs/results/kernelet-model.md); what a thread block takes of an SM,
 * too.
 *
 *     bench_decisions [REPETITIONS]
 */
#include "queue/describe.h"
#include "queue/queue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KERNELS = 8 };

static const struct {
    const char *name;
    uint32_t tbs, threads, registers, shared_bytes;
    double instructions, memory_share, uncoalesced_share, coalesced, uncoalesced, pur, mur;
} kernels[KERNELS] = {{"pc", 391, 256, 3584, 0, 1247, 0.1602, 0.96, 1, 31.99, 0.0086, 0.5911},
                      {"spmv", 192, 192, 3072, 0, 2419, 0.1856, 0.3288, 1, 29.72, 0.0389, 0.0722},
                      {"st", 512, 128, 3328, 0, 1620, 0.1424, 0, 1.08, 1, 0.3821, 0.3882},
                      {"bs", 480, 128, 2816, 0, 4600, 0.0425, 0, 1, 1, 0.4829, 0.4806},
                      {"mm", 400, 256, 6656, 2048, 10000, 0.0226, 0, 1.91, 1, 0.8294, 0.0186},
                      {"tea", 1954, 128, 2304, 0, 2427, 0.00165, 0, 2, 1, 0.966, 0.0815},
                      {"mriq", 128, 256, 6656, 0, 24936, 0.0016, 0, 1, 1, 0.6132, 0.0142},
                      {"sad", 1232, 64, 3072, 2304, 2671, 0.0514, 1, 1, 7.3, 0.2687, 0.0187}};

static const struct corun_queue_device gpus[] = {
    {"tesla-c2050",
     CORUN_CLOCK_CYCLES,
     1150000,
     1150000,
     14,
     2,
     0.5,
     1536,
     8,
     32768,
     49152,
     128,
     0,
     {6.53, 524},
     {22.3, 171}},
    {"gtx680", CORUN_CLOCK_CYCLES, 1006000, 1006000, 8, 4, 1, 2048, 16, 65536, 49152, 256, 0, {1.25, 282}, {10.8, 90}},
    {"gtx980", CORUN_CLOCK_CYCLES, 1216000, 1216000, 16, 4, 1, 2048, 32, 65536, 98304, 512, 0, {5.43, 253}, {17, 1}},
    {"quadro-v100",
     CORUN_CLOCK_CYCLES,
     1447000,
     1447000,
     80,
     4,
     1,
     2048,
     32,
     65536,
     98304,
     512,
     0,
     {6.21, 405},
     {9.39, 275}},
};

static struct corun_queue_profile profile_of(const struct corun_queue_device *device, uint32_t k)
{
    struct corun_queue_profile profile = {.tbs = kernels[k].tbs,
                                          .tb_threads = kernels[k].threads,
                                          .tb_warps = kernels[k].threads / 32,
                                          .tb_registers = kernels[k].registers,
                                          .tb_shared_bytes = kernels[k].shared_bytes,
                                          .tb_barriers = 1,
                                          .tb_instructions = kernels[k].instructions,
                                          .memory_share = kernels[k].memory_share,
                                          .uncoalesced_share = kernels[k].uncoalesced_share,
                                          .coalesced_requests = kernels[k].coalesced,
                                          .uncoalesced_requests = kernels[k].uncoalesced,
                                          .ipc = NAN,
                                          .pipeline_utilization = kernels[k].pur,
                                          .memory_utilization = kernels[k].mur};
    struct model_gpu gpu;
    struct model_kernel model;
    describe_device(device, &gpu);
    describe_kernel(&profile, &model);
    profile.tbs_per_sm = model_kernel_residents(&gpu, &model);
    return profile;
}

static uint32_t count_candidates(const struct corun_queue_device *device)
{
    struct model_gpu gpu;
    uint32_t count = 0, residents[MODEL_MAX_CO_SCHEDULES][2];
    describe_device(device, &gpu);
    for (uint32_t a = 0; a < KERNELS; a++)
        for (uint32_t b = a + 1; b < KERNELS; b++) {
            const struct corun_queue_profile profiles[2] = {profile_of(device, a), profile_of(device, b)};
            struct model_kernel models[2];
            const struct model_kernel *const both[2] = {&models[0], &models[1]};
            for (int i = 0; i < 2; i++)
                describe_kernel(&profiles[i], &models[i]);
            count += model_candidates(&gpu, both, residents);
        }
    return count;
}

static bool run_queue(const struct corun_queue_device *device, uint32_t launches, struct queue_costs *costs)
{
    enum { MOST_SLICES = 4096 };
    static struct queue_slice slices[MOST_SLICES];
    struct queue_settings settings = {.scheduler = corun_queue_scheduler_find("kernelet"), .device = device};
    struct queue *queue;
    uint64_t first = 0, next = 0; /* slices in flight */
    bool any, ended;
    if (queue_create(&settings, NULL, &queue) != CORUN_OK)
        return false;
    bool fine = true;
    for (uint32_t k = 0; k < KERNELS && fine; k++) {
        const struct corun_queue_profile profile = profile_of(device, k);
        uint32_t kind;
        fine = queue_kind(queue, kernels[k].name, &profile, &kind) == CORUN_OK;
        for (uint32_t i = 0; i < launches && fine; i++)
            fine = queue_ready(queue, 0, kind, 0, profile.tbs, 0, NULL, NULL) == CORUN_OK;
    }
    do {
        for (any = true; fine && any && next - first < MOST_SLICES; next += any)
            fine = queue_next(queue, first, &slices[next % MOST_SLICES], &any) == CORUN_OK;
        if (next > first)
            queue_end(queue, first, &slices[first % MOST_SLICES], &ended);
    } while (fine && next > first++);
    queue_costs(queue, costs);
    queue_destroy(queue);
    return fine;
}

int main(int argc, char **argv)
{
    static const uint32_t launches[] = {1, 13, 125, 1250};
    int repetitions = argc > 1 ? atoi(argv[1]) : 5;
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        uint32_t candidates = count_candidates(&gpus[g]);
        for (size_t l = 0; l < sizeof launches / sizeof launches[0]; l++) {
            double longest = INFINITY, others = INFINITY;
            struct queue_costs costs = {0};
            for (int r = 0; r < repetitions; r++) {
                if (!run_queue(&gpus[g], launches[l], &costs)) {
                    fprintf(stderr, "%s: no plan\n", gpus[g].name);
                    return 1;
                }
                longest = fmin(longest, costs.longest_seconds);
                others = fmin(others, (costs.seconds - costs.longest_seconds) / (double)(costs.plans - 1));
            }
            printf("%-12s %5u pending, %3u co-schedules: longest decision %.3f ms, others %.2f us, %.0f KB\n",
                   gpus[g].name, launches[l] * KERNELS, candidates, 1e3 * longest, 1e6 * others,
                   (double)costs.bytes / 1e3);
        }
    }
    return 0;
}
