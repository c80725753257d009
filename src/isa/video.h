/* SPDX-License-Identifier: MIT */
/* Scalar video operations over lanes, and vset2 and vset4: one function for all. */
#ifndef CORUN_ISA_VIDEO_H
#define CORUN_ISA_VIDEO_H

#include "isa/operation.h"
#include "ptx/module.h"

/* What op->offset has to be. Sources a, b and, where the instruction has it, c. */
int64_t video_pack(const struct ptx_instruction *instruction);
void video_lanes(const struct operation *op, const struct lanes *lanes, uint32_t mask);

#endif
