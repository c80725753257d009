/* SPDX-License-Identifier: MIT */
/* The part of CUDA's header of that name which programs use most, for `corun cc`: __half and __half2, on the device and, but for functions of PTX, on the host. */
#ifndef CORUN_CUDA_FP16_H
#define CORUN_CUDA_FP16_H

#include "cuda_runtime.h"
#include "half_bits.h"

#define CORUN_HALF __half
#define CORUN_PAIR __half2
#define CORUN_NAMED half
#define CORUN_WORD "f16"
#define CORUN_ROUND_BITS corun_f16_of
#define CORUN_WIDEN_BITS corun_of_f16
#include "halves.h"

typedef __half half;
typedef __half2 half2;

#endif
