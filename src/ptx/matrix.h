/* SPDX-License-Identifier: MIT */
/*
 * Instructions of matrices (mma, mma.sp, wmma, ldmatrix, stmatrix): what they multiply, and which registers hold it.
 *
 * A fragment is the part of a matrix that a thread holds: a vector of registers of 32 bits with several elements each, or of 64 bits
 * for f64.
 */
#ifndef CORUN_PTX_MATRIX_H
#define CORUN_PTX_MATRIX_H

#include "ptx/module.h"

enum ptx_matrix_form { PTX_MATRIX_MMA, PTX_MATRIX_SPARSE, PTX_MATRIX_WMMA };
enum ptx_matrix_role { PTX_MATRIX_A, PTX_MATRIX_B, PTX_MATRIX_C };

/* D = A * B + C: A has m rows and k columns, B k rows and n columns. */
struct ptx_matrix {
    uint8_t form;       /* enum ptx_matrix_form */
    uint8_t d, a, b, c; /* enum ptx_type */
    bool any_layout;
    uint16_t m, n, k;
};

/* Whether it is mma, mma.sp, or an operation of wmma. */
bool ptx_is_matrix(uint32_t opcode);

/* These, and those that move tiles of 8 by 8: all threads of a warp run them together. */
bool ptx_is_of_matrices(uint32_t opcode);

/*
 * The product that an mma, mma.sp or wmma.mma computes, or one of which wmma.load or wmma.store moves a fragment. False: there is none of this
 * shape and these types.
 */
bool ptx_matrix_find(const struct ptx_instruction *instruction, struct ptx_matrix *matrix);

/* What is wrong with the suffixes of such an instruction, or of ldmatrix, stmatrix and movmatrix; NULL: nothing. */
const char *ptx_matrix_problem(const struct ptx_instruction *instruction);

/* The matrix that operand `index` holds a fragment of. */
enum ptx_matrix_role ptx_matrix_role(const struct ptx_instruction *instruction, uint32_t index);

/* Registers of a fragment, and the type that they have to have. */
uint32_t ptx_matrix_registers(const struct ptx_instruction *instruction, uint32_t index, enum ptx_type *type);

/* Registers that say all of a fragment; wmma may hold copies in further ones. */
uint32_t ptx_matrix_distinct(const struct ptx_matrix *matrix, enum ptx_matrix_role role);

/* mma.sp: from how many parts of a group of lanes the metadata may come; 0 for all other instructions. */
uint32_t ptx_matrix_selectors(const struct ptx_instruction *instruction);

/* The type of an element. */
enum ptx_type ptx_matrix_element(const struct ptx_matrix *matrix, enum ptx_matrix_role role);

#endif
