/* SPDX-License-Identifier: MIT */
/*
 * The GPU in a checkpoint: what its files share. Each file moves its own state; pointers between them are moved as numbers: a launch by the
 * number it has on the GPU, a kernel by its slot, a grid by what its application calls it, a saved thread block by its place.
 */
#ifndef CORUN_GPU_ARCHIVE_H
#define CORUN_GPU_ARCHIVE_H

#include "base/archive.h"
#include "gpu/gpu.h"
#include "gpu/l2.h"

/* Pointers that are moved as numbers; NULL is one of them. SYNTAX where a number names nothing. */
void archive_launch(struct corun_archive *archive, const struct corun_gpu *gpu, struct launch **launch);
void archive_kernel(struct corun_archive *archive, const struct corun_gpu *gpu, struct machine_kernel **kernel);
void archive_saved(struct corun_archive *archive, const struct corun_gpu *gpu, struct saved_tb **saved);
void archive_grid(struct corun_archive *archive, const struct corun_gpu *gpu, uint32_t application,
                  const struct corun_grid **grid);
/* Of a launch; the SM's or the saved one's. */
void archive_source(struct corun_archive *archive, const struct launch *launch, struct corun_tb **tb);
void archive_warp(struct corun_archive *archive, const struct launch *launch, struct corun_warp **warp);

/* archive_sm.c */
void archive_sm(struct corun_archive *archive, struct corun_gpu *gpu, struct sm *sm);

/* kernel.c: the kernels of an application, and their slots. */
void kernels_archive(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t application);
/* watchdog.c */
void watchdog_archive(struct corun_archive *archive, const struct corun_gpu *gpu, struct application *application);

#endif
