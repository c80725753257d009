/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: the state of a run between two steps of the GPU, saved and taken up again by another process, which goes on with the same
 * digits. Everything that the run was made of (GPU, applications, policy, limits) is made anew first; the archive has what changed since.
 * docs/checkpoints.md says what cannot be saved. Archives are made by whoever asks for checkpoints (src/base/archive.h).
 */
#ifndef CORUN_CHECKPOINT_H
#define CORUN_CHECKPOINT_H

#include "corun/gpu.h"
#include "corun/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

struct corun_archive;

struct corun_checkpoints {
    /* In place of the begin of the run: moves the state back, by corun_gpu_archive and what goes with it. NULL: the run begins at cycle 0. */
    enum corun_status (*resume)(void *user, struct corun_gpu *gpu);
    /*
     * Between two steps, at the first cycle that is not before *next; also before a run that `progress` ends early (`last`). Sets *next,
     * UINT64_MAX for never.
     */
    enum corun_status (*save)(void *user, struct corun_gpu *gpu, bool last, uint64_t *next);
    uint64_t next; /* the first time */
    /* The grids of an application by number, from 0 on, each time the same; NULL behind the last one. */
    const struct corun_grid *(*grid)(void *user, uint32_t application, uint32_t number);
    void *user;
};

/* Before corun_gpu_run; copied. */
void corun_gpu_checkpoints(struct corun_gpu *gpu, const struct corun_checkpoints *checkpoints);
/*
 * The state of the GPU, its governor and its policy to the archive or from it; from within `save` or `resume`. Instances come before: the
 * GPU names their thread blocks. What goes wrong is the archive's status. UNSUPPORTED: applications have gone,
 * clusters are in flight, or a source does not name its thread blocks. On a GPU that is driven from outside, whoever reads has opened it and added the same
 * applications before.
 */
void corun_gpu_archive(struct corun_gpu *gpu, struct corun_archive *archive);

/* Where the policy leaves its variables; NULL: there is none. */
const double *corun_gpu_policy_variables(const struct corun_gpu *gpu);

/* The memory of an instance and the thread blocks of its grids. */
void corun_instance_archive(struct corun_instance *instance, struct corun_archive *archive);
/* Its grids, for struct corun_checkpoints; NULL behind the last one. */
const struct corun_grid *corun_instance_grid_numbered(const struct corun_instance *instance, uint32_t number);

#ifdef __cplusplus
}
#endif
#endif
