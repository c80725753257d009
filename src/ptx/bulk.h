/* SPDX-License-Identifier: MIT */
/* Bulk copies and reductions, and those of tensors: which suffixes belong together (PTX ISA, "Data Movement and Conversion Instructions"). */
#ifndef CORUN_PTX_BULK_H
#define CORUN_PTX_BULK_H

#include "ptx/module.h"

/* Operations with the same name that take other operands: which one it is, once its suffixes are known. */
uint16_t ptx_bulk_opcode(const struct ptx_instruction *instruction);

/* Copies and reductions whose source and destination are suffixes, and changes of tensor maps. */
bool ptx_is_bulk(uint32_t opcode);

/* What is wrong with the suffixes of such an operation: "needs …"; NULL: nothing. */
const char *ptx_bulk_problem(const struct ptx_instruction *instruction);

/* Operands that it may have, and has not with these suffixes. */
uint32_t ptx_bulk_spare_operands(const struct ptx_instruction *instruction);

/* Dimensions of the tensor, from 1 to 5; 0: it has none. */
static inline uint32_t ptx_bulk_rank(const struct ptx_instruction *instruction)
{
    return instruction->rank ? instruction->rank - PTX_RANK_D1 + 1u : 0u;
}

#endif
