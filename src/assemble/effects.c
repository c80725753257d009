/* SPDX-License-Identifier: MIT */
/* What an instruction does besides computing: what may be moved past what. */
#include "assemble/code.h"

/* Registers from registers, and nothing else. */
#define OP(name) [PTX_OP_##name] = true
static const bool computes[PTX_OP_COUNT] = {
    OP(ADD),      OP(ADDC),  OP(SUB),      OP(SUBC),   OP(MUL),    OP(MAD),    OP(MADC),   OP(FMA),  OP(MUL24),
    OP(MAD24),    OP(SAD),   OP(DIV),      OP(REM),    OP(ABS),    OP(NEG),    OP(MIN),    OP(MAX),  OP(POPC),
    OP(CLZ),      OP(BFIND), OP(BREV),     OP(BFE),    OP(BFI),    OP(BMSK),   OP(SZEXT),  OP(DP4A), OP(DP2A),
    OP(COPYSIGN), OP(TESTP), OP(RCP),      OP(SQRT),   OP(RSQRT),  OP(SIN),    OP(COS),    OP(LG2),  OP(EX2),
    OP(TANH),     OP(SETP),  OP(SET),      OP(SELP),   OP(SLCT),   OP(AND),    OP(OR),     OP(XOR),  OP(NOT),
    OP(CNOT),     OP(LOP3),  OP(SHL),      OP(SHR),    OP(SHF),    OP(PRMT),   OP(CVT),    OP(CVTA), OP(ISSPACEP),
    OP(FNS),      OP(ADD3),  OP(CVT_PACK), OP(MULADD), OP(ADDMUL), OP(MULSUB), OP(SUBMUL), OP(FNMA), OP(FMS),
};
#undef OP

static bool is_clock(const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        if (instruction->operands[i].kind != PTX_OPERAND_SPECIAL)
            continue;
        uint32_t special = instruction->operands[i].index;
        /* A thread block may be moved. */
        if (ptx_special_is_clock(special) || special == PTX_SPECIAL_SMID || special == PTX_SPECIAL_WARPID)
            return true;
    }
    return false;
}

static bool is_ordered(const struct ptx_instruction *instruction)
{
    return (instruction->semantics != PTX_SUFFIX_NONE && instruction->semantics != PTX_SEMANTICS_WEAK) ||
           instruction->cache == PTX_CACHE_CV;
}

enum effect code_effect(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        if (is_ordered(instruction))
            return EFFECT_ORDER;
        return instruction->noncoherent != PTX_SUFFIX_NONE || instruction->space == PTX_SPACE_CONST ? EFFECT_CONSTANT
                                                                                                    : EFFECT_LOAD;
    case PTX_OP_ST:
        return is_ordered(instruction) ? EFFECT_ORDER : EFFECT_STORE;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        return instruction->semantics != PTX_SUFFIX_NONE && instruction->semantics != PTX_SEMANTICS_RELAXED
                   ? EFFECT_ORDER
                   : EFFECT_STORE;
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
        return EFFECT_CONSTANT;
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH_ANY_SYNC:
    case PTX_OP_MATCH_ALL_SYNC:
    case PTX_OP_REDUX_SYNC:
    case PTX_OP_ELECT_SYNC:
    case PTX_OP_ACTIVEMASK:
    case PTX_OP_MMA_SYNC:
    case PTX_OP_MMA_SP_SYNC:
    case PTX_OP_WMMA_MMA_SYNC:
    case PTX_OP_WMMA_MMA_XOR_POPC_SYNC:
    case PTX_OP_WMMA_MMA_AND_POPC_SYNC:
    case PTX_OP_MOVMATRIX_SYNC:
        return EFFECT_WARP;
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
    case PTX_OP_BRKPT:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_PMEVENT:
    case PTX_OP_PMEVENT_MASK:
    case PTX_OP_WGMMA_MMA_ASYNC_SP_SYNC:
    case PTX_OP_WGMMA_MMA_ASYNC_SYNC: /* accumulators may not be read before the wait, nor be written behind the fence */
    case PTX_OP_WGMMA_FENCE_SYNC:
    case PTX_OP_WGMMA_COMMIT_GROUP_SYNC:
    case PTX_OP_WGMMA_WAIT_GROUP_SYNC:
        return EFFECT_FIXED;
    case PTX_OP_MOV:
        return is_clock(instruction) ? EFFECT_FIXED : EFFECT_NONE;
    default:
        return computes[instruction->opcode] || ptx_is_video(instruction->opcode) ||
                       ptx_is_scalar_video(instruction->opcode) || ptx_is_video_comparison(instruction->opcode)
                   ? EFFECT_NONE
                   : EFFECT_ORDER;
    }
}
