/* SPDX-License-Identifier: MIT */
/* What kernels are called in tables. */
#ifndef CORUN_REPORT_KERNEL_LABELS_H
#define CORUN_REPORT_KERNEL_LABELS_H

#include "base/arena.h"

#include <stdint.h>

/*
 * For each symbol the name that people gave it (kernel_name). Where that is the same for several, as for instances of a template,
 * the arguments by which they differ follow: "reduce<float, ..>", or those of the function: "scale(float*)". Where C++ does not tell them apart, it is what distinguishes
 * their symbols: "reduce [IfLi256]". Of more than 24 bytes the middle is left out, unless that makes two alike. NULL when out of memory; labels and their array live in the arena.
 */
const char *const *kernel_labels(struct arena *arena, const char *const *symbols, uint32_t count);

#endif
