/* SPDX-License-Identifier: MIT */
/* A stage for policies that share inside the SM: thread blocks, quotas and partitions on top of sm_stage.h. */
#ifndef TESTS_SHARE_TB_STAGE_H
#define TESTS_SHARE_TB_STAGE_H

#include "sm_stage.h"

#define TB_STAGE_ENTRIES (STAGE_SMS * CORUN_MAX_APPLICATIONS)

struct tb_stage {
    struct stage stage;
    struct corun_partition partition[TB_STAGE_ENTRIES];
    int64_t quota[TB_STAGE_ENTRIES], quota_refill[TB_STAGE_ENTRIES];
    bool quota_set[TB_STAGE_ENTRIES], quota_add[TB_STAGE_ENTRIES];
};

/* SMs of 1000 registers, 1000 bytes of shared memory, 1000 threads and 100 thread blocks, with one scheduler. */
static inline void tb_stage_create(struct tb_stage *tb, const char *policy, uint32_t sms, uint32_t applications)
{
    memset(tb, 0, sizeof *tb);
    stage_create(&tb->stage, policy, sms, applications);
    struct corun_view *view = &tb->stage.view;
    view->registers_per_sm = view->shared_bytes_per_sm = view->threads_per_sm = 1000;
    view->tbs_per_sm = 100;
    view->schedulers_per_sm = 1;
    struct corun_allowances *w = &tb->stage.allowances;
    w->partition = tb->partition;
    w->quota = tb->quota;
    w->quota_refill = tb->quota_refill;
    w->quota_set = tb->quota_set;
    w->quota_add = tb->quota_add;
}

/* The application's next kernel: `tbs` thread blocks of these needs. */
static inline void tb_stage_kernel(struct tb_stage *tb, uint32_t application, uint32_t tbs, uint32_t registers,
                                   uint32_t shared_bytes, uint32_t threads)
{
    struct stage *stage = &tb->stage;
    uint32_t needs[] = {registers, shared_bytes, threads, 10};
    uint32_t most = 0;
    for (uint32_t i = 0; i < 4; i++)
        most = needs[i] > most ? needs[i] : most;
    stage->applications[application].running = (struct corun_grid_view){.kernel = "kernel",
                                                                        .tbs = tbs,
                                                                        .tbs_waiting = tbs,
                                                                        .tb_threads = threads,
                                                                        .tb_warps = (threads + 31) / 32,
                                                                        .tb_registers = registers,
                                                                        .tb_shared_bytes = shared_bytes,
                                                                        .tbs_per_sm = 1000 / most};
}

/* It arrives and starts that kernel. */
static inline void tb_stage_come(struct tb_stage *tb, uint32_t application, uint32_t tbs, uint32_t registers,
                                 uint32_t shared_bytes, uint32_t threads)
{
    stage_moment(&tb->stage, CORUN_EVENT_ARRIVE, 0, application);
    tb_stage_kernel(tb, application, tbs, registers, shared_bytes, threads);
    stage_moment(&tb->stage, CORUN_EVENT_KERNEL_START, 0, application);
}

static inline uint32_t tb_stage_limit(const struct tb_stage *tb, uint32_t s, uint32_t application)
{
    return tb->stage.tb_limit[s * tb->stage.view.application_count + application];
}

static inline uint32_t tb_stage_limits(const struct tb_stage *tb, uint32_t application)
{
    uint32_t sum = 0;
    for (uint32_t s = 0; s < tb->stage.view.sm_count; s++)
        sum += tb_stage_limit(tb, s, application);
    return sum;
}

/*
 * The machine obeys: what is above its limit has left, each SM holds what it may as long as there is something waiting.
 * Quotas that were set have been taken over.
 */
static inline void tb_stage_obey(struct tb_stage *tb)
{
    struct stage *stage = &tb->stage;
    for (uint32_t s = 0; s < stage->view.sm_count; s++)
        for (uint32_t a = 0; a < stage->view.application_count; a++) {
            uint32_t limit = tb_stage_limit(tb, s, a);
            struct corun_share_view *share = &stage->shares[s * stage->view.application_count + a];
            struct corun_grid_view *grid = &stage->applications[a].running;
            while (share->resident_tbs > limit) {
                share->resident_tbs--;
                grid->tbs_preempted++;
            }
        }
    for (uint32_t s = 0; s < stage->view.sm_count; s++)
        for (uint32_t a = 0; a < stage->view.application_count; a++) {
            struct corun_share_view *share = &stage->shares[s * stage->view.application_count + a];
            struct corun_grid_view *grid = &stage->applications[a].running;
            while (share->resident_tbs < tb_stage_limit(tb, s, a) && grid->tbs_waiting + grid->tbs_preempted) {
                share->resident_tbs++;
                --*(grid->tbs_preempted ? &grid->tbs_preempted : &grid->tbs_waiting);
            }
        }
    memset(tb->quota_set, 0, sizeof tb->quota_set);
}

/* A thread block completes, and the policy hears of it. */
static inline void tb_stage_complete(struct tb_stage *tb, uint32_t s, uint32_t application)
{
    struct stage *stage = &tb->stage;
    stage->shares[s * stage->view.application_count + application].resident_tbs--;
    stage->applications[application].running.tbs_completed++;
    stage_moment(stage, CORUN_EVENT_TB_COMPLETE, s, application);
}

#endif
