/* SPDX-License-Identifier: MIT */
/* A * transpose(B) in double precision. */
#include "halves.h"

const struct corun_reference corun_reference_gemm_wmma = {
    .name = "gemm-wmma", .compute = halves_multiply, .generators = halves_generators};
