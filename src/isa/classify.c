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
    case PTX_OP_BRKPT:
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
    case PTX_OP_GRIDDEPCONTROL:
    case PTX_OP_FENCE_PROXY_ASYNC:
        return CORUN_UNIT_CONTROL;
    default:
        return unit_of_type(instruction->types[0]);
    }
}

void classify(const struct ptx_instruction *instruction, struct corun_instruction *result)
{
    result->unit = unit_of(instruction);
    result->operation = operation_class(instruction);
}
