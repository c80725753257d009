/* SPDX-License-Identifier: MIT */
/* How lanes_select.c tells the functions of lanes_half.c what to do: the fields of op->extra[3] and op->variant. */
#ifndef CORUN_ISA_LANES_HALF_H
#define CORUN_ISA_LANES_HALF_H

/* op->variant */
enum half_flag {
    HALF_BRAIN = 1 << 0,   /* bf16, not f16 */
    HALF_PAIR = 1 << 1,    /* two in a register */
    HALF_FLUSH = 1 << 2,   /* subnormal inputs and results are zero */
    HALF_CLAMP = 1 << 3,   /* to [0,1], NaN to 0 */
    HALF_RELU = 1 << 4,    /* negative results are 0 */
    HALF_NANS = 1 << 5,    /* min, max: a NaN input gives NaN */
    HALF_XORSIGN = 1 << 6, /* min, max: of magnitudes, with the exclusive or of both signs */
    HALF_FINITE = 1 << 7   /* conversions: the largest finite number in place of infinity */
};

/* op->extra[3] of half_arithmetic */
enum half_operation {
    HALF_ADD,
    HALF_SUB,
    HALF_MUL,
    HALF_FMA,
    HALF_FMA_OOB,
    HALF_NEG,
    HALF_ABS,
    HALF_MIN,
    HALF_MAX,
    HALF_EX2,
    HALF_TANH
};

/*
 * Others: setp and set: comparison | boolean << 8; conversions: rounding (0 nearest, 1 zero, 2 down, 3 up) | the other type << 8 | 4 if
 * it rounds to a whole number. Of pairs of 8-bit floats: whether they are e4m3.
 */
#define HALF_TO_WHOLE 4u

#endif
