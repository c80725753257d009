/* SPDX-License-Identifier: MIT */
/* Which pipeline serves an instruction, and which latency class it has there. */
#include "isa/decode.h"

static uint8_t operation_class(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_MUL:
    case PTX_OP_MUL24:
        return CORUN_OPERATION_MUL;
    case PTX_OP_MAD:
    case PTX_OP_MADC:
    case PTX_OP_MAD24:
    case PTX_OP_FMA:
    case PTX_OP_MULADD:
    case PTX_OP_ADDMUL:
    case PTX_OP_MULSUB:
    case PTX_OP_SUBMUL:
    case PTX_OP_FNMA:
    case PTX_OP_FMS:
    case PTX_OP_SAD:
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
        return CORUN_OPERATION_MAD;
    case PTX_OP_DIV:
    case PTX_OP_REM:
        return CORUN_OPERATION_DIV;
    case PTX_OP_RCP:
    case PTX_OP_SQRT:
        return CORUN_OPERATION_SQRT;
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        return CORUN_OPERATION_MAX;
    default:
        return CORUN_OPERATION_ADD;
    }
}

static uint8_t unit_of_type(enum ptx_type type)
{
    return type == PTX_TYPE_F32 || ptx_type_is_half(type) ? CORUN_UNIT_FP32
           : type == PTX_TYPE_F64                         ? CORUN_UNIT_FP64
                                                          : CORUN_UNIT_INT;
}

static uint8_t unit_of_conversion(const struct ptx_instruction *instruction)
{
    bool to = ptx_type_is_float(instruction->types[0]) || ptx_type_is_half(instruction->types[0]);
    bool from = ptx_type_is_float(instruction->types[1]);
    if (to != from)
        return CORUN_UNIT_SFU;
    if (!to)
        return CORUN_UNIT_INT;
    return instruction->types[0] == PTX_TYPE_F64 || instruction->types[1] == PTX_TYPE_F64 ? CORUN_UNIT_FP64
                                                                                          : CORUN_UNIT_FP32;
}

static uint8_t unit_of(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_CVT:
        return unit_of_conversion(instruction);
    case PTX_OP_RSQRT:
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
        return CORUN_UNIT_SFU;
    case PTX_OP_DIV: /* the fast ones are a reciprocal and a product */
    case PTX_OP_RCP:
    case PTX_OP_SQRT:
        return instruction->precision ? CORUN_UNIT_SFU : unit_of_type(instruction->types[0]);
    case PTX_OP_SET:
        return unit_of_type(instruction->types[1]);
    case PTX_OP_SELP:
    case PTX_OP_SLCT:
    case PTX_OP_MOV:
        return CORUN_UNIT_INT;
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_MATCH_ANY_SYNC:
    case PTX_OP_MATCH_ALL_SYNC:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
    case PTX_OP_BAR_WARP_SYNC:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_PMEVENT:
    case PTX_OP_PMEVENT_MASK:
    case PTX_OP_BRKPT:
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_FENCE_PROXY_ASYNC:
    case PTX_OP_FENCE_PROXY_ALIAS:
        return CORUN_UNIT_CONTROL;
    default:
        return unit_of_type(instruction->types[0]);
    }
}

struct expansion {
    uint8_t further, chain;
};

/*
 * Single precision, what the assembler makes of it besides the special function: ptxas 13.0 for sm_75 and sm_90, counted in what it
 * writes for one operation whose operands were loaded. Without .ftz operands that are too small or too large are scaled before, and
 * results after. What only special cases run is not counted. Chains are what microbenchmarks.py measured on an H100: 39 to 46 cycles
 * in place of the special function's 17, 23 of the fast division.
 */
static struct expansion expansion_of_float(const struct ptx_instruction *instruction)
{
    bool exact = !instruction->precision, scaled = !instruction->ftz;
    switch (instruction->opcode) {
    case PTX_OP_EX2:
        return (struct expansion){scaled ? 3 : 0, 0};
    case PTX_OP_RSQRT:
    case PTX_OP_LG2:
        return scaled ? (struct expansion){3, 6} : (struct expansion){0, 0};
    case PTX_OP_SIN:
    case PTX_OP_COS:
        return (struct expansion){1, 1};
    case PTX_OP_SQRT:
        if (exact)
            return (struct expansion){7, 0}; /* its latency is one of the configuration */
        return scaled ? (struct expansion){3, 6} : (struct expansion){0, 0};
    case PTX_OP_RCP:
        if (exact)
            return (struct expansion){7, 0};
        return scaled ? (struct expansion){6, 6} : (struct expansion){0, 0};
    case PTX_OP_DIV:
        if (exact)
            return (struct expansion){9, 0};
        if (instruction->precision == PTX_PRECISION_FULL)
            return scaled ? (struct expansion){7, 7} : (struct expansion){4, 6};
        return scaled ? (struct expansion){4, 6} : (struct expansion){1, 1};
    default:
        return (struct expansion){0, 0};
    }
}

/* The same for integers of 32 bits; those of 64 bits are calls. */
static struct expansion expansion_of_integer(const struct ptx_instruction *instruction)
{
    bool is_signed = ptx_type_is_signed(instruction->types[0]);
    if (instruction->operand_count > 2 && instruction->operands[2].kind == PTX_OPERAND_INTEGER)
        return (struct expansion){0, 0};
    switch (instruction->opcode) {
    case PTX_OP_DIV:
        return (struct expansion){is_signed ? 23 : 17, 0};
    case PTX_OP_REM:
        return (struct expansion){is_signed ? 21 : 16, 0};
    default:
        return (struct expansion){0, 0};
    }
}

static struct expansion expansion_of(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->types[0];
    if (type == PTX_TYPE_F32)
        return expansion_of_float(instruction);
    return type == PTX_TYPE_U32 || type == PTX_TYPE_S32 ? expansion_of_integer(instruction) : (struct expansion){0, 0};
}

/* IADD3 or IMAD.IADD, MOV or IMAD.MOV, SHF or IMAD.SHL: the vendor's assembler writes one or the other. */
static bool is_either(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->types[0];
    if (ptx_type_is_float(type) || ptx_type_is_half(type) || ptx_types[type].bits != 32)
        return false;
    switch (instruction->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return !instruction->sat;
    case PTX_OP_MOV:
        return true;
    case PTX_OP_SHL:
        return instruction->operands[2].kind == PTX_OPERAND_INTEGER;
    default:
        return false;
    }
}

static bool is_comparison(const struct ptx_instruction *instruction)
{
    return instruction->types[instruction->opcode == PTX_OP_SET] == PTX_TYPE_F32 &&
           (instruction->opcode == PTX_OP_SETP || instruction->opcode == PTX_OP_SET ||
            instruction->opcode == PTX_OP_MIN || instruction->opcode == PTX_OP_MAX);
}

/* Between single precision and integers of at most 32 bits. */
static bool is_conversion(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_CVT && ptx_types[instruction->types[0]].bits <= 32 &&
           ptx_types[instruction->types[1]].bits <= 32;
}

/* What src/assemble has counted. A division keeps its own pipeline for as long as the GPU says. */
static void take_pieces(const struct ptx_pieces *pieces, struct corun_instruction *result)
{
    result->further = (uint8_t)(pieces->issued - 1);
    result->chain = pieces->chain;
    result->pieces.logic = pieces->logic;
    result->pieces.products = pieces->products;
    result->pieces.either = pieces->either;
    result->pieces.special = pieces->special;
    if (result->operation != CORUN_OPERATION_DIV)
        result->flags |= CORUN_PIECES;
}

void classify(const struct ptx_instruction *instruction, struct corun_instruction *result)
{
    if (is_either(instruction))
        result->flags |= CORUN_EITHER;
    if (is_conversion(instruction))
        result->flags |= CORUN_CONVERSION;
    if (is_comparison(instruction))
        result->flags |= CORUN_COMPARISON;
    result->unit = unit_of(instruction);
    result->operation = operation_class(instruction);
    struct expansion expansion = expansion_of(instruction);
    result->further = expansion.further;
    result->chain = expansion.chain;
    if (instruction->pieces.counted)
        take_pieces(&instruction->pieces, result);
}
