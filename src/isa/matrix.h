/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices by the lanes of a warp, and tiles of 8 by 8 (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
 *
 * Fragments. With group = lane / 4 and place = lane % 4, and registers of e elements: register r of A has row group + 8 * (r % (m / 8)) and columns
 * from place * e + 4 * e * (r / (m / 8)); register r of B has column group + 8 * (r / (k / 4e)) and rows from place * e + 4 * e * (r % (k / 4e));
 * pair p of C and D has row group + 8 * (p % (m / 8)) and columns from place * 2 + 8 * (p / (m / 8)). That is what PTX documents for mma;
 * for wmma it documents nothing, and this is used, too. mma.m8n8k4 of f16 multiplies four pairs of matrices, each by 8 lanes, in a layout
 * of its own.
 *
 * Arithmetic. Integers: exact, then modulo 2^32, or the nearest of 32 bits with .satfinite. f64: fused multiply-adds in ascending order of the inner
 * dimension, from c, with the NaN of fma. Other floats: products are exact; c and as many products as 32 bytes of a hold are brought to the
 * largest exponent among them, as sums of exponents before normalisation, cut off 25 bits below that (two bits more than single precision
 * has), and added exactly; the sum is cut to single precision, subnormal numbers kept, and is the c of the next products. A result of f16
 * is the exact sum of the last products, rounded to the nearest; from a c of f32, that sum in single precision. wmma of tf32 adds 4 products at a time. NaN is 0x7fffffff or 0x7fff, a sum of zero is +0. PTX leaves order and
 * rounding open; these are the bits of an H100 (docs/conformance.md). Products that it has no instruction for are what the assembler
 * makes of them: 8-bit floats as f16 in two steps, mma.m8n8k4 of f16 in multiply-adds of single precision.
 * wgmma has the same rule on every GPU, without the detour of 8-bit floats: their 32 products are one block, cut off 13 bits below the largest
 * exponent, and the sum is cut to 13 bits of fraction (Xie et al., "MMA-Sim", arXiv:2511.10909, 2025, Hopper).
 * GPUs before it (MATRIX_A100): blocks of 16 bytes and 24 bits, for 8-bit floats and m8n8k4, too, as Fasi et al., "Numerical behavior of
 * NVIDIA tensor cores" (PeerJ Computer Science 7:e330, 2021), found them on an A100.
 */
#ifndef CORUN_ISA_MATRIX_H
#define CORUN_ISA_MATRIX_H

#include "isa/operation.h"
#include "ptx/matrix.h"

#define MATRIX_REGISTERS 8u /* of a fragment */
#define MATRIX_RESULTS 128u /* of that of a warpgroup's d */

/* Whose sums of floats: see Arithmetic above. */
enum matrix_unit { MATRIX_H100, MATRIX_A100 };

struct corun_warp;

/* What an operation on matrices is about; operations name theirs by op->target. */
struct matrix_work {
    struct ptx_matrix matrix;
    bool saturates, exclusive; /* .satfinite; .xor.popc */
    bool a_columns, b_rows;    /* mma.m8n8k4 of f16: a is .col, b is .row */
    bool transposes;           /* tiles */
    uint8_t tiles;
    uint8_t selector; /* mma.sp and its like of warpgroups */
    uint16_t d[MATRIX_RESULTS], a[MATRIX_REGISTERS], b[MATRIX_REGISTERS], c[MATRIX_REGISTERS];
    uint16_t e; /* of these: which elements a has */
    /* wgmma: a and b are 64-bit slots of descriptors, a only where it is not in registers; a_columns, b_rows: they are transposed */
    bool a_shared, a_negated, b_negated;
    uint16_t adds; /* a predicate: d is added to */
    bool adds_negated;
};

/* Where an element of a fragment is in its matrix; of a sparse A: among those that are there. */
struct matrix_place {
    uint32_t row, column;
};
struct matrix_place matrix_place(const struct ptx_matrix *matrix, enum ptx_matrix_role role, uint32_t lane,
                                 uint32_t element);
/* Elements in a register of 32 bits; 1 for wider ones. */
uint32_t matrix_packed(const struct ptx_matrix *matrix, enum ptx_matrix_role role);

/* d = a * b + c, by all lanes. */
void matrix_multiply(const struct lanes *lanes, const struct matrix_work *work, enum matrix_unit unit);

/*
 * The same of what stands row by row: `a` m x k elements (sparse: k / 2 of them, of columns `columns`), `b` k x n, `c` and `d` m x n; an element is the
 * low bits of its word. .b1: words of 32 bits along k.
 */
struct matrix_values {
    uint64_t a[1024], b[1024], c[512], d[512];
    uint8_t columns[1024];
};
void matrix_compute(const struct matrix_work *work, struct matrix_values *values, enum matrix_unit unit);

/* The fragment of a role in these registers to rows and columns, and from rows and columns of C. */
void matrix_gather(const struct lanes *lanes, const struct ptx_matrix *matrix, enum ptx_matrix_role role,
                   const uint16_t *slots, uint64_t *values);
void matrix_scatter(const struct lanes *lanes, const struct ptx_matrix *matrix, const uint16_t *slots,
                    const uint64_t *values);

/* Of a sparse A the columns of its elements, row by row, as the metadata of these lanes say. */
void matrix_find_columns(const struct lanes *lanes, const struct matrix_work *work, uint8_t *columns);

/* variant of OPERATION_MATRIX_ADDRESS */
enum matrix_address_variant {
    MATRIX_POINTER_32 = 1 << 0, /* source[0] has 32 bits */
    MATRIX_COLUMNS = 1 << 1     /* column by column */
};

/*
 * OPERATION_MATRIX_ADDRESS: the addresses of element extra[0] of the fragment of role extra[1], into `destination`; source[0]: the matrix, source[1]:
 * elements from one row (column) to the next.
 */
void matrix_addresses(const struct lanes *lanes, const struct operation *op, const struct matrix_work *work);

/* Lanes that name a row of a tile. */
uint32_t matrix_tile_lanes(const struct matrix_work *work);
/* From rows in op->destination and op->extra (op->source[1] and op->extra for a store) of those lanes to the fragment work->d, and back. */
void matrix_tiles_loaded(const struct lanes *lanes, const struct operation *op, const struct matrix_work *work);
void matrix_tiles_stored(const struct lanes *lanes, const struct operation *op, const struct matrix_work *work);
/* movmatrix: work->a into work->d. */
void matrix_transpose(const struct lanes *lanes, const struct matrix_work *work);

#endif
