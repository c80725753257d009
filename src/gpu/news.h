/* SPDX-License-Identifier: MIT */
/* What an SM reports at the next synchronisation point: thread blocks complete or gone, faults, quotas spent. */
#ifndef CORUN_GPU_NEWS_H
#define CORUN_GPU_NEWS_H

#include "corun/status.h"
#include "gpu/occupancy.h"

struct saved_tb;
struct launch;
struct sm;

enum news_kind {
    NEWS_TB_COMPLETE,
    NEWS_TB_STOPPED,
    NEWS_TB_SAVED,
    NEWS_TB_DROPPED,
    NEWS_TB_RESUMED,
    NEWS_FAULT,
    NEWS_DEADLOCK,
    NEWS_NO_MEMORY,
    NEWS_QUOTAS_SPENT
};
struct news {
    uint64_t cycle;
    uint64_t since; /* SAVED, DROPPED: when it was stopped */
    struct launch *launch;
    struct saved_tb *saved; /* SAVED, RESUMED */
    struct tb_needs needs;
    uint64_t longest_warp; /* TB_COMPLETE: its instructions */
    uint32_t tb_index;
    uint8_t kind;
    uint8_t application;
    char *message; /* FAULT, DEADLOCK: owned by the news */
    struct corun_place place;
};

/* Reports it. The message becomes the SM's. */
void sm_post(struct sm *sm, struct news news);

#endif
