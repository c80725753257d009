/* SPDX-License-Identifier: MIT */
/*
 * Co-schedules of two kernels: how many thread blocks of each share an SM, what that brings, and how large the slices are (Zhong and He,
 * Kernelet, TPDS 2014, section 2.2 for the profit, equation 7 for the slices). Pure functions; nothing is kept.
 */
#ifndef CORUN_MODEL_CO_SCHEDULE_H
#define CORUN_MODEL_CO_SCHEDULE_H

#include "model/prediction.h"

struct model_co_schedule {
    uint32_t residents[2]; /* thread blocks of each on one SM: the slice sizes P of equation 7, per SM */
    double ipc[2];         /* side by side: warp instructions per core cycle and SM */
    double
        profit; /* co-scheduling profit: share of the time that is saved against one after the other; < 0: it costs time */
    double seconds[2]; /* that a slice of residents · SMs thread blocks takes, side by side */
    double imbalance;  /* |seconds[0] − seconds[1]| over the longer: equation 7, relative */
};

/* No GPU has more than 64 places for thread blocks. */
#define MODEL_MAX_CO_SCHEDULES 64u

/*
 * The co-scheduling profit of section 2.2: 1 − 1 / Σ (cIPC_i / IPC_i), with cIPC_i side by side and IPC_i alone. (The text of the paper
 * prints Σ cIPC_i; IPC_i, which it defines in the same sentence, is the divisor that the profit of multithreaded processors has, and
 * with it the profit is the share of the time that is saved when both end together.) NAN if an IPC alone is not above 0.
 */
double model_profit(const double together[2], const double alone[2]);

/*
 * What the profit of a co-schedule cannot exceed, for two kernels of which each is known alone. `reach`: the IPC of each alone with the thread blocks that it has in
 * the co-schedule. A kernel beside it takes issue slots and lengthens latencies, so it is no faster there; and both share the issue slots. INFINITY
 * if an IPC alone is not above 0.
 */
double model_profit_limit(const struct model_gpu *gpu, const double reach[2], const double alone[2]);

/* Equation 7, ΔT, as seconds: |I_1 P_1 / IPC_1 − I_2 P_2 / IPC_2|; `slices` are the P of one SM. Infinite where an IPC is 0. */
double model_imbalance(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                       const uint32_t slices[2], const double ipc[2], double seconds[2]);

/*
 * The candidates for a pair: 1, 2, … thread blocks of the first kernel on each SM, and of the second as many as fit beside them; without
 * those that leave room for one more of the first. Returns how many; 0 if no thread block of one fits beside one of the other.
 */
uint32_t model_candidates(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                          uint32_t residents[MODEL_MAX_CO_SCHEDULES][2]);

/*
 * Every candidate with its prediction, in the order of model_candidates. `alone`: IPC of each kernel alone (measured, or of
 * model_predict with model_kernel_residents). ARGUMENT, MEMORY as for model_predict_pair.
 */
enum corun_status model_co_schedules(const struct model_gpu *gpu, const struct model_kernel *const kernels[2],
                                     const double alone[2], struct model_co_schedule list[MODEL_MAX_CO_SCHEDULES],
                                     uint32_t *count);
/* The one whose slices end together best (equation 7, the paper's choice), and the one of the greatest profit. NULL if count is 0. */
const struct model_co_schedule *model_balanced(const struct model_co_schedule *list, uint32_t count);
const struct model_co_schedule *model_most_profitable(const struct model_co_schedule *list, uint32_t count);

#endif
