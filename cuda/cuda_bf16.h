/* SPDX-License-Identifier: MIT */
/* The part of CUDA's header of that name which programs use most, for `corun cc`: __nv_bfloat16 and __nv_bfloat162, as cuda_fp16.h has halves. */
#ifndef CORUN_CUDA_BF16_H
#define CORUN_CUDA_BF16_H

#include "cuda_runtime.h"
#include "half_bits.h"

#define CORUN_HALF __nv_bfloat16
#define CORUN_PAIR __nv_bfloat162
#define CORUN_NAMED bfloat16
#define CORUN_WORD "bf16"
#define CORUN_ROUND_BITS corun_bf16_of
#define CORUN_WIDEN_BITS corun_of_bf16
#include "halves.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
