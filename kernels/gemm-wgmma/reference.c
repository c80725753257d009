/* SPDX-License-Identifier: MIT */
/* A * transpose(B) in double precision. */
#include "halves.h"

const struct corun_reference corun_reference_gemm_wgmma = {
    .name = "gemm-wgmma", .compute = halves_multiply, .generators = halves_generators};
