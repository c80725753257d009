/* SPDX-License-Identifier: MIT */
/*
 * Rows of matrix products in which nothing but numbers takes part, eight columns at a time. Order and rounding are those of isa/matrix.h; matrix_arithmetic.c
 * has the same for one column and for everything else.
 */
#ifndef CORUN_ISA_MATRIX_ROWS_H
#define CORUN_ISA_MATRIX_ROWS_H

#include "isa/lanes.h"

#define MATRIX_ELEMENTS 1024u /* most of a matrix */
#define MATRIX_BLOCK 32u      /* most products that are added at once */
#define MATRIX_MODERATE 36 /* an exponent whose products, and their sums, are far from the ends of a single's range */
#define MATRIX_SMALLEST 0x0d800000u /* 2^-100, as a single */
#define MATRIX_LOWEST (-100000)     /* an exponent below all others: of zeros */

/*
 * significand * 2^(exponent - fraction bits), parts apart; the exponent of zero is MATRIX_LOWEST. `value`: the same as a float, if all exponents but those of
 * zeros are from -MATRIX_MODERATE to MATRIX_MODERATE; else undefined.
 */
struct matrix_numbers {
    int32_t significand[MATRIX_ELEMENTS], exponent[MATRIX_ELEMENTS];
    float value[MATRIX_ELEMENTS];
};

/* Rows of A, and of their c, one behind the other. */
struct matrix_rows {
    const struct matrix_numbers *a, *b;
    uint32_t first, lines;   /* rows; c begins with the first */
    const uint8_t *rows;     /* for each element of A the row of B that it goes with; NULL: in order */
    uint32_t count, columns; /* elements of a row; a multiple of 8 */
    uint32_t fraction_bits, block,
        kept;      /* of a product; products added at once, at most MATRIX_BLOCK; bits below the largest exponent */
    uint32_t lost; /* bits of a single that sums do not have */
    int32_t zero;  /* exponent of a c of 0, as far as others are cut off below it */
    bool to_half;  /* the last sum is rounded to f16 */
    bool moderate; /* values of A and B are defined, and each c is 0 or at least MATRIX_SMALLEST: so it is faster */
};

/* c + the products, for each column: singles become singles, or f16 with `to_half`. All levels give the same bits. */
void matrix_add_rows(const struct matrix_rows *work, enum lanes_level level, uint32_t *c);

/* sum * 2^scale, cut to a single without the bits `lost`; rounded to f16. What becomes 0 is +0. */
uint32_t matrix_cut_to_single(int64_t sum, int32_t scale, uint32_t lost);
uint32_t matrix_round_to_half(int64_t sum, int32_t scale);

#endif
