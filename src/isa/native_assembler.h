/* SPDX-License-Identifier: MIT */
/*
 * x86-64 instructions into a buffer, by the encoder of Zydis. Vector instructions are those of AVX-512 on 512 bits unless they say otherwise.
 * Whatever goes wrong (no memory, an instruction that there is not) is kept: `failed` is looked at once, at the end.
 */
#ifndef CORUN_ISA_NATIVE_ASSEMBLER_H
#define CORUN_ISA_NATIVE_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

struct assembler {
    uint8_t *code;
    size_t length, capacity;
    bool failed;
};

/* Operands: general registers of 64 and 32 bits, vectors of 512 and 256 bits, masks, memory, numbers. */
typedef ZydisEncoderOperand operand;
operand at_register(ZydisRegister number);
operand at_zmm(uint32_t number);
operand at_ymm(uint32_t number);
operand at_xmm(uint32_t number);
operand at_mask(uint32_t number);
operand at_memory(ZydisRegister base, int64_t displacement, uint32_t bytes);
/* Element `index` of so many bytes each. */
operand at_indexed(ZydisRegister base, ZydisRegister index, uint32_t bytes, int64_t displacement);
operand at_number(int64_t value);

/* The instruction with so many operands, in the order of Intel's manuals. Most vector instructions have a mask as their second operand. */
void assemble(struct assembler *to, ZydisMnemonic mnemonic, uint32_t count, const operand *operands);
#define ASSEMBLE(to, mnemonic, ...) \
    assemble((to), ZYDIS_MNEMONIC_##mnemonic, sizeof((operand[]){__VA_ARGS__}) / sizeof(operand), \
             (operand[]){__VA_ARGS__})

/* A vector instruction without a mask: the first operand, then one or two others. */
void assemble_two(struct assembler *to, ZydisMnemonic mnemonic, operand to_where, operand from);
void assemble_three(struct assembler *to, ZydisMnemonic mnemonic, operand to_where, operand a, operand b);

/* A jump whose target comes later (JMP, JZ, …): its place, for `assemble_target`. */
size_t assemble_jump(struct assembler *to, ZydisMnemonic mnemonic);
/* That jump leads here. */
void assemble_target(struct assembler *to, size_t jump);
/* That jump leads to `place`. */
void assemble_lead(struct assembler *to, size_t jump, size_t place);
/* A jump to a place that is behind. */
void assemble_jump_back(struct assembler *to, ZydisMnemonic mnemonic, size_t place);
void assemble_call(struct assembler *to, const void *function);

#endif
