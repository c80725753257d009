/* SPDX-License-Identifier: MIT */
/*
 * Instructions of matrices (mma, mma.sp, wmma, wgmma, ldmatrix, stmatrix): what they multiply, and which registers hold it.
 *
 * A fragment is the part of a matrix that a thread holds: a vector of registers of 32 bits with several elements each, or of 64 bits
 * for f64.
 */
#ifndef CORUN_PTX_MATRIX_H
#define CORUN_PTX_MATRIX_H

#include "ptx/module.h"

enum ptx_matrix_form { PTX_MATRIX_MMA, PTX_MATRIX_SPARSE, PTX_MATRIX_WMMA, PTX_MATRIX_WARPGROUP };
enum ptx_matrix_role { PTX_MATRIX_A, PTX_MATRIX_B, PTX_MATRIX_C };

/* D = A * B + C: A has m rows and k columns, B k rows and n columns. Of a warpgroup: the 16 rows of one of its warps. */
struct ptx_matrix {
    uint8_t form;       /* enum ptx_matrix_form */
    uint8_t d, a, b, c; /* enum ptx_type */
    bool any_layout;
    bool sparse; /* A has half of its elements */
    uint16_t m, n, k;
};

#define PTX_WARPGROUP_ROWS 16u /* of a warp */
#define PTX_WARPGROUP_WARPS 4u

/* Whether it is mma, mma.sp, an operation of wmma, or wgmma.mma_async. */
bool ptx_is_matrix(uint32_t opcode);

/* These, and those that move tiles of 8 by 8: all threads of a warp run them together. */
bool ptx_is_of_matrices(uint32_t opcode);

/*
 * The product that an mma, mma.sp or wmma.mma computes, or one of which wmma.load or wmma.store moves a fragment. False: there is none of this
 * shape and these types.
 */
bool ptx_matrix_find(const struct ptx_instruction *instruction, struct ptx_matrix *matrix);

/* What is wrong with the suffixes of such an instruction, or of ldmatrix, stmatrix, movmatrix and those beside wgmma.mma_async; NULL: nothing. */
const char *ptx_matrix_problem(const struct ptx_instruction *instruction);

/* The matrix that operand `index` holds a fragment of. */
enum ptx_matrix_role ptx_matrix_role(const struct ptx_instruction *instruction, uint32_t index);

/* Registers of a fragment, and the type that they have to have. */
uint32_t ptx_matrix_registers(const struct ptx_instruction *instruction, uint32_t index, enum ptx_type *type);

/* Registers that say all of a fragment; wmma may hold copies in further ones. */
uint32_t ptx_matrix_distinct(const struct ptx_matrix *matrix, enum ptx_matrix_role role);

/*
 * What operand *index must be, where that depends on other operands or on a value: the selector of mma.sp, and those of wgmma and setmaxnreg. NULL: all
 * are good.
 */
const char *ptx_matrix_wanted(const struct ptx_instruction *instruction, const struct ptx_operand *const *operands,
                              uint32_t count, uint32_t *index);

/* wgmma.mma_async: operands behind the predicate, the signs of a and b and whether they are transposed, if a is in registers or not. */
uint32_t ptx_matrix_constants(const struct ptx_matrix *matrix, bool registers);

/* The type of an element. */
enum ptx_type ptx_matrix_element(const struct ptx_matrix *matrix, enum ptx_matrix_role role);

#endif
