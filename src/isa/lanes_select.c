/* SPDX-License-Identifier: MIT */
/*
 * Which function computes an instruction. Families of functions lie side by side in the lanes_*.def tables, so that a type or a
 * modifier is an offset from the family's first member.
 */
#include "isa/lanes.h"

#include "isa/lanes_half.h"
#include "isa/video.h"

#define ROW(name, ...) X(name)
#define ONE ROW
#define TWO ROW
#define THREE ROW
#define FOUR ROW
#define ONE_SLOW ROW
#define TWO_SLOW ROW
#define THREE_SLOW ROW
#define FOUR_SLOW ROW
#define COMPARE ROW
#define TEST ROW
#define OTHER(name) X(name)

enum lane_name {
    LANE_NONE,
#define X(name) LANE_##name,
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
    LANE_COUNT
};

#define X(name) void lane_##name##_baseline(const struct operation *op, const struct lanes *lanes, uint32_t mask);
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
#ifdef CORUN_LANES_V3
#define X(name) void lane_##name##_v3(const struct operation *op, const struct lanes *lanes, uint32_t mask);
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
#endif
#ifdef CORUN_LANES_V4
#define X(name) void lane_##name##_v4(const struct operation *op, const struct lanes *lanes, uint32_t mask);
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
#endif

static const lane_function functions[LANES_LEVEL_COUNT][LANE_COUNT] = {
    [LANES_BASELINE] =
        {
#define X(name) [LANE_##name] = lane_##name##_baseline,
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
        },
#ifdef CORUN_LANES_V3
    [LANES_V3] =
        {
#define X(name) [LANE_##name] = lane_##name##_v3,
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
        },
#endif
#ifdef CORUN_LANES_V4
    [LANES_V4] =
        {
#define X(name) [LANE_##name] = lane_##name##_v4,
#include "isa/lanes_convert.def"
#include "isa/lanes_float.def"
#include "isa/lanes_half.def"
#include "isa/lanes_integer.def"
#include "isa/lanes_predicate.def"
#undef X
        },
#endif
};

/* What the offsets below rely on. */
#define IN_ORDER(first, second) _Static_assert((int)(first) + 1 == (int)(second), "order of ptx/suffixes.def")
IN_ORDER(PTX_ROUNDING_RN, PTX_ROUNDING_RZ);
IN_ORDER(PTX_ROUNDING_RZ, PTX_ROUNDING_RM);
IN_ORDER(PTX_ROUNDING_RM, PTX_ROUNDING_RP);
IN_ORDER(PTX_ROUNDING_RP, PTX_ROUNDING_RNI);
IN_ORDER(PTX_ROUNDING_RNI, PTX_ROUNDING_RZI);
IN_ORDER(PTX_ROUNDING_RZI, PTX_ROUNDING_RMI);
IN_ORDER(PTX_ROUNDING_RMI, PTX_ROUNDING_RPI);
IN_ORDER(PTX_COMPARISON_GE, PTX_COMPARISON_LO);
IN_ORDER(PTX_COMPARISON_HS, PTX_COMPARISON_EQU);
IN_ORDER(PTX_SHUFFLE_UP, PTX_SHUFFLE_DOWN);
IN_ORDER(PTX_SHUFFLE_BFLY, PTX_SHUFFLE_IDX);
IN_ORDER(PTX_VOTE_ALL, PTX_VOTE_ANY);
IN_ORDER(PTX_VOTE_UNI, PTX_VOTE_BALLOT);
_Static_assert(LANE_testp_finite_f64 - LANE_testp_finite_f32 == 1 + PTX_TEST_SUBNORMAL - PTX_TEST_FINITE, "tests");
_Static_assert(LANE_setp_eq_f32z - LANE_setp_eq_f32 == 7 + PTX_COMPARISON_NAN - PTX_COMPARISON_EQU, "comparisons");

static uint32_t bits_of(uint32_t type)
{
    return ptx_types[type].bits;
}

static bool is_integer_or_bits(uint32_t type)
{
    uint32_t kind = ptx_types[type].kind;
    return kind == PTX_KIND_BITS || kind == PTX_KIND_UNSIGNED || kind == PTX_KIND_SIGNED;
}

static bool is_signed(uint32_t type)
{
    return ptx_types[type].kind == PTX_KIND_SIGNED;
}

/* Families of 16, 32 and 64 bits. */
static uint32_t by_width(uint32_t first, uint32_t type)
{
    switch (is_integer_or_bits(type) ? bits_of(type) : 0) {
    case 16:
        return first;
    case 32:
        return first + 1;
    case 64:
        return first + 2;
    default:
        return LANE_NONE;
    }
}

/* Families of 32 and 64 bits. */
static uint32_t by_word(uint32_t first, uint32_t type)
{
    return bits_of(type) == 32 ? first : bits_of(type) == 64 ? first + 1 : LANE_NONE;
}

/* Families of u16, u32, u64, s16, s32 and s64. */
static uint32_t by_type(uint32_t first, uint32_t type)
{
    uint32_t found = by_width(first, type);
    return found && is_signed(type) ? found + 3 : found;
}

/* Families of u32, u64, s32 and s64. */
static uint32_t by_word_type(uint32_t first, uint32_t type)
{
    uint32_t found = by_word(first, type);
    return found && is_signed(type) ? found + 2 : found;
}

/* rn, rz, rm, rp; absent is rn. LANE_NONE for the others. */
static uint32_t by_rounding(uint32_t first, uint32_t rounding, uint32_t variants)
{
    if (rounding == PTX_SUFFIX_NONE)
        return first;
    return rounding <= PTX_ROUNDING_RP ? first + (rounding - PTX_ROUNDING_RN) * variants : LANE_NONE;
}

static uint32_t with_flags(uint32_t found, const struct ptx_instruction *instruction)
{
    return found ? found + (instruction->ftz != 0) + 2 * (instruction->sat != 0) : LANE_NONE;
}

static uint32_t select_product(const struct ptx_instruction *i, uint32_t type)
{
    bool adds = i->opcode != PTX_OP_MUL;
    if (i->carry || i->opcode == PTX_OP_MADC) {
        if (i->half == PTX_HALF_LO)
            return by_word(LANE_carry_mad_lo_32, type);
        return i->half == PTX_HALF_HI ? by_word_type(LANE_carry_mad_hi_u32, type) : LANE_NONE;
    }
    if (i->sat)
        return adds && i->half == PTX_HALF_HI && type == PTX_TYPE_S32 ? LANE_mad_hi_sat_s32 : LANE_NONE;
    switch (i->half) {
    case PTX_HALF_LO:
        return by_width(adds ? LANE_mad_lo_16 : LANE_mul_lo_16, type);
    case PTX_HALF_HI:
        return by_type(adds ? LANE_mad_hi_u16 : LANE_mul_hi_u16, type);
    case PTX_HALF_WIDE:
        if (bits_of(type) > 32)
            return LANE_NONE;
        return (adds ? LANE_mad_wide_u16 : LANE_mul_wide_u16) + (bits_of(type) == 32) + 2 * is_signed(type);
    default:
        return LANE_NONE;
    }
}

static uint32_t select_product24(const struct ptx_instruction *i, uint32_t type)
{
    if (i->half != PTX_HALF_LO && i->half != PTX_HALF_HI)
        return LANE_NONE;
    uint32_t offset = 2 * (i->half == PTX_HALF_HI) + is_signed(type);
    if (i->opcode == PTX_OP_MUL24)
        return LANE_mul24_lo_u32 + offset;
    if (i->sat)
        return offset == 3 ? LANE_mad24_hi_sat_s32 : LANE_NONE;
    return LANE_mad24_lo_u32 + offset;
}

static uint32_t select_integer_sum(const struct ptx_instruction *i, uint32_t type)
{
    bool subtracts = i->opcode == PTX_OP_SUB || i->opcode == PTX_OP_SUBC;
    if (i->carry || i->opcode == PTX_OP_ADDC || i->opcode == PTX_OP_SUBC)
        return by_word(subtracts ? LANE_carry_sub_32 : LANE_carry_add_32, type);
    if (i->sat)
        return type != PTX_TYPE_S32 ? LANE_NONE : subtracts ? LANE_sub_sat_s32 : LANE_add_sat_s32;
    return by_width(subtracts ? LANE_sub_16 : LANE_add_16, type);
}

static uint32_t select_integer(const struct ptx_instruction *i)
{
    uint32_t type = i->types[0];
    if (!is_integer_or_bits(type) || i->rounding || i->ftz || i->precision)
        return LANE_NONE;
    switch (i->opcode) {
    case PTX_OP_ADD:
    case PTX_OP_ADDC:
    case PTX_OP_SUB:
    case PTX_OP_SUBC:
        return select_integer_sum(i, type);
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_MADC:
        return select_product(i, type);
    case PTX_OP_MUL24:
    case PTX_OP_MAD24:
        return select_product24(i, type);
    case PTX_OP_SAD:
        return by_type(LANE_sad_u16, type);
    case PTX_OP_DIV:
        return by_type(LANE_div_u16, type);
    case PTX_OP_REM:
        return by_type(LANE_rem_u16, type);
    case PTX_OP_ABS:
        return by_width(LANE_abs_s16, type);
    case PTX_OP_NEG:
        return by_width(LANE_neg_16, type);
    case PTX_OP_MIN:
        return i->nan ? LANE_NONE : i->relu ? LANE_min_s32_relu : by_type(LANE_min_u16, type);
    case PTX_OP_MAX:
        return i->nan ? LANE_NONE : i->relu ? LANE_max_s32_relu : by_type(LANE_max_u16, type);
    default:
        return LANE_NONE;
    }
}

static uint32_t select_bits(const struct ptx_instruction *i)
{
    uint32_t type = i->types[0];
    bool wraps = i->shift == PTX_SHIFT_WRAP, is_second_signed = is_signed(i->types[1]);
    switch (i->opcode) {
    case PTX_OP_POPC:
        return by_word(LANE_popc_32, type);
    case PTX_OP_CLZ:
        return by_word(LANE_clz_32, type);
    case PTX_OP_BREV:
        return by_word(LANE_brev_32, type);
    case PTX_OP_BFIND:
        return by_word_type(i->shiftamt ? LANE_bfind_shiftamt_u32 : LANE_bfind_u32, type);
    case PTX_OP_BFE:
        return by_word_type(LANE_bfe_u32, type);
    case PTX_OP_BFI:
        return by_word(LANE_bfi_32, type);
    case PTX_OP_BMSK:
        return LANE_bmsk_clamp + wraps;
    case PTX_OP_SZEXT:
        return LANE_szext_clamp_u32 + wraps + 2 * is_signed(type);
    case PTX_OP_DP4A:
        return LANE_dp4a_uu + 2 * is_signed(type) + is_second_signed;
    case PTX_OP_DP2A:
        return (i->half == PTX_HALF_HI ? LANE_dp2a_hi_uu : LANE_dp2a_lo_uu) + 2 * is_signed(type) + is_second_signed;
    case PTX_OP_AND:
        return type == PTX_TYPE_PRED ? LANE_and_pred : by_width(LANE_and_16, type);
    case PTX_OP_OR:
        return type == PTX_TYPE_PRED ? LANE_or_pred : by_width(LANE_or_16, type);
    case PTX_OP_XOR:
        return type == PTX_TYPE_PRED ? LANE_xor_pred : by_width(LANE_xor_16, type);
    case PTX_OP_NOT:
        return type == PTX_TYPE_PRED ? LANE_not_pred : by_width(LANE_not_16, type);
    case PTX_OP_CNOT:
        return by_width(LANE_cnot_16, type);
    case PTX_OP_LOP3:
        return LANE_lop3;
    case PTX_OP_SHL:
        return by_width(LANE_shl_16, type);
    case PTX_OP_SHR:
        return by_type(LANE_shr_u16, type);
    case PTX_OP_SHF:
        if (!i->direction)
            return LANE_NONE;
        return (i->direction == PTX_DIRECTION_R ? LANE_shf_r_wrap : LANE_shf_l_wrap) + (i->shift == PTX_SHIFT_CLAMP);
    case PTX_OP_PRMT:
        return i->permute ? LANE_prmt_f4e + (i->permute - PTX_PERMUTE_F4E) : LANE_prmt;
    default:
        return LANE_NONE;
    }
}

static uint32_t select_video(const struct ptx_instruction *i, struct operation *op)
{
    bool four = i->opcode >= PTX_OP_VADD4;
    uint32_t kind = i->opcode - (four ? PTX_OP_VADD4 : PTX_OP_VADD2);
    op->variant = (uint8_t)(kind | (i->types[0] == PTX_TYPE_S32 ? VIDEO_SIGNED : 0) |
                            (i->types[1] == PTX_TYPE_S32 ? VIDEO_A_SIGNED : 0) |
                            (i->types[2] == PTX_TYPE_S32 ? VIDEO_B_SIGNED : 0) | (i->sat ? VIDEO_SATURATE : 0) |
                            (i->atomic ? VIDEO_SUM : 0));
    return four ? LANE_video_4 : LANE_video_2;
}

/* Two integers of 16 bits in a register. */
static uint32_t select_pair(const struct ptx_instruction *i)
{
    bool is_pair_signed = i->types[0] == PTX_TYPE_S16X2;
    switch (i->opcode) {
    case PTX_OP_ADD:
        return i->sat || i->carry || i->rounding ? LANE_NONE : LANE_add_x2;
    case PTX_OP_MIN:
        return i->relu ? LANE_min_s16x2_relu : is_pair_signed ? LANE_min_s16x2 : LANE_min_u16x2;
    case PTX_OP_MAX:
        return i->relu ? LANE_max_s16x2_relu : is_pair_signed ? LANE_max_s16x2 : LANE_max_u16x2;
    default:
        return LANE_NONE;
    }
}

static uint32_t select_packing(const struct ptx_instruction *i, struct operation *op)
{
    uint32_t type = i->types[0];
    bool is_part_signed = is_signed(type) || type == PTX_TYPE_S4 || type == PTX_TYPE_S2;
    op->variant = (uint8_t)(bits_of(type) | (is_part_signed ? PACK_SIGNED : 0));
    return LANE_pack_clamped;
}

/* Instructions of machines: of f32, with .ftz, of f64. */
static uint32_t select_machine(const struct ptx_instruction *i)
{
    uint32_t type = i->types[0] == PTX_TYPE_F64 ? 2 : i->ftz != 0;
    switch (i->opcode) {
    case PTX_OP_MULADD:
        return LANE_muladd_f32 + type;
    case PTX_OP_ADDMUL:
        return LANE_addmul_f32 + type;
    case PTX_OP_MULSUB:
        return LANE_mulsub_f32 + type;
    case PTX_OP_SUBMUL:
        return LANE_submul_f32 + type;
    case PTX_OP_FNMA:
        return LANE_fnma_f32 + type;
    case PTX_OP_FMS:
        return LANE_fms_f32 + type;
    default:
        return LANE_NONE;
    }
}

static uint32_t select_f32(const struct ptx_instruction *i)
{
    /* PTX before 1.4 had no .approx: these operations without any modifier are the approximate ones, with .ftz. */
    bool old = !i->rounding && !i->precision, approximate = i->precision == PTX_PRECISION_APPROX || old;
    uint32_t flush = i->ftz || (old && i->opcode != PTX_OP_TANH);
    switch (i->opcode) {
    case PTX_OP_ADD:
        return with_flags(by_rounding(LANE_add_rn_f32, i->rounding, 4), i);
    case PTX_OP_SUB:
        return with_flags(by_rounding(LANE_sub_rn_f32, i->rounding, 4), i);
    case PTX_OP_MUL:
        return with_flags(by_rounding(LANE_mul_rn_f32, i->rounding, 4), i);
    case PTX_OP_MAD:
    case PTX_OP_FMA:
        return with_flags(by_rounding(LANE_fma_rn_f32, i->rounding, 4), i);
    case PTX_OP_DIV:
        if (i->precision == PTX_PRECISION_FULL)
            return LANE_div_full_f32 + flush;
        return approximate ? LANE_div_approx_f32 + flush : with_flags(by_rounding(LANE_div_rn_f32, i->rounding, 2), i);
    case PTX_OP_RCP:
        return approximate ? LANE_rcp_rn_f32 + flush : with_flags(by_rounding(LANE_rcp_rn_f32, i->rounding, 2), i);
    case PTX_OP_SQRT:
        return approximate ? LANE_sqrt_rn_f32 + flush : with_flags(by_rounding(LANE_sqrt_rn_f32, i->rounding, 2), i);
    case PTX_OP_RSQRT:
        return LANE_rsqrt_approx_f32 + flush;
    case PTX_OP_SIN:
        return LANE_sin_approx_f32 + flush;
    case PTX_OP_COS:
        return LANE_cos_approx_f32 + flush;
    case PTX_OP_LG2:
        return LANE_lg2_approx_f32 + flush;
    case PTX_OP_EX2:
        return LANE_ex2_approx_f32 + flush;
    case PTX_OP_TANH:
        return LANE_tanh_approx_f32;
    case PTX_OP_MIN:
        if (i->xorsign)
            return (i->nan ? LANE_min_xorsign_nan_f32 : LANE_min_xorsign_f32) + (i->ftz != 0);
        return (i->nan ? LANE_min_nan_f32 : LANE_min_f32) + (i->ftz != 0);
    case PTX_OP_MAX:
        if (i->xorsign)
            return (i->nan ? LANE_max_xorsign_nan_f32 : LANE_max_xorsign_f32) + (i->ftz != 0);
        return (i->nan ? LANE_max_nan_f32 : LANE_max_f32) + (i->ftz != 0);
    case PTX_OP_ABS:
        return LANE_abs_f32 + (i->ftz != 0);
    case PTX_OP_NEG:
        return LANE_neg_f32 + (i->ftz != 0);
    case PTX_OP_COPYSIGN:
        return LANE_copysign_f32;
    default:
        return LANE_NONE;
    }
}

static uint32_t select_f64(const struct ptx_instruction *i)
{
    bool fast = i->precision == PTX_PRECISION_APPROX;
    if (i->sat || i->nan || (i->ftz && !fast))
        return LANE_NONE;
    switch (i->opcode) {
    case PTX_OP_ADD:
        return by_rounding(LANE_add_rn_f64, i->rounding, 1);
    case PTX_OP_SUB:
        return by_rounding(LANE_sub_rn_f64, i->rounding, 1);
    case PTX_OP_MUL:
        return by_rounding(LANE_mul_rn_f64, i->rounding, 1);
    case PTX_OP_MAD:
    case PTX_OP_FMA:
        return by_rounding(LANE_fma_rn_f64, i->rounding, 1);
    case PTX_OP_DIV:
        return i->precision ? LANE_NONE : by_rounding(LANE_div_rn_f64, i->rounding, 1);
    case PTX_OP_RCP:
        return fast ? LANE_rcp_approx_ftz_f64 : by_rounding(LANE_rcp_rn_f64, i->rounding, 1);
    case PTX_OP_SQRT:
        return fast ? LANE_NONE : by_rounding(LANE_sqrt_rn_f64, i->rounding, 1);
    case PTX_OP_RSQRT:
        return i->ftz ? LANE_rsqrt_approx_ftz_f64 : LANE_rsqrt_approx_f64;
    case PTX_OP_MIN:
        return LANE_min_f64;
    case PTX_OP_MAX:
        return LANE_max_f64;
    case PTX_OP_ABS:
        return LANE_abs_f64;
    case PTX_OP_NEG:
        return LANE_neg_f64;
    case PTX_OP_COPYSIGN:
        return LANE_copysign_f64;
    default:
        return LANE_NONE;
    }
}

/* u8, s8, u16, …, s64 from 0. */
static uint32_t integer_index(uint32_t type)
{
    uint32_t width = bits_of(type) == 8 ? 0 : bits_of(type) == 16 ? 1 : bits_of(type) == 32 ? 2 : 3;
    return 2 * width + is_signed(type);
}

static uint32_t select_integer_conversion(const struct ptx_instruction *i, uint32_t to, uint32_t from,
                                          struct operation *op)
{
    bool whole = i->rounding >= PTX_ROUNDING_RNI && i->rounding <= PTX_ROUNDING_RPI;
    if (ptx_types[from].kind == PTX_KIND_FLOAT) { /* these clamp with or without .sat */
        uint32_t source = from == PTX_TYPE_F64 ? 2 : i->ftz != 0;
        return whole ? LANE_cvt_rni_u8_f32 + 12 * integer_index(to) + 4 * source + (i->rounding - PTX_ROUNDING_RNI)
                     : LANE_NONE;
    }
    if (i->rounding)
        return LANE_NONE;
    if (!i->sat || (to == PTX_TYPE_U64 && from == PTX_TYPE_U64))
        return LANE_cvt_u8_u8 + 8 * integer_index(to) + integer_index(from);
    op->variant = (uint8_t)from;
    return LANE_cvt_sat_u8 + integer_index(to);
}

static uint32_t select_conversion(const struct ptx_instruction *i, struct operation *op)
{
    uint32_t to = i->types[0], from = i->types[1];
    bool to_float = to == PTX_TYPE_F32 || to == PTX_TYPE_F64, from_float = from == PTX_TYPE_F32 || from == PTX_TYPE_F64;
    bool whole = i->rounding >= PTX_ROUNDING_RNI && i->rounding <= PTX_ROUNDING_RPI;
    bool directed = i->rounding >= PTX_ROUNDING_RN && i->rounding <= PTX_ROUNDING_RP;
    uint32_t flags = (i->ftz != 0) + 2 * (i->sat != 0);
    if (to == PTX_TYPE_TF32) {
        uint32_t first = i->satfinite ? LANE_cvt_rna_finite_tf32_f32 : LANE_cvt_rna_tf32_f32;
        return i->rounding == PTX_ROUNDING_RNA ? first : first + 1 + (i->rounding == PTX_ROUNDING_RZ) + 2 * !!i->relu;
    }
    if ((!to_float && !ptx_type_is_integer(to)) || (!from_float && !ptx_type_is_integer(from)))
        return LANE_NONE;
    if (!to_float)
        return select_integer_conversion(i, to, from, op);
    if (!from_float)
        return !directed || i->sat ? LANE_NONE
                                   : (to == PTX_TYPE_F32 ? LANE_cvt_rn_f32_u8 : LANE_cvt_rn_f64_u8) +
                                         4 * integer_index(from) + (i->rounding - PTX_ROUNDING_RN);
    if (to != from) {
        if (to == PTX_TYPE_F64)
            return i->rounding ? LANE_NONE : LANE_cvt_f64_f32 + flags;
        return directed ? LANE_cvt_rn_f32_f64 + 4 * (i->rounding - PTX_ROUNDING_RN) + flags : LANE_NONE;
    }
    if (i->rounding && !whole)
        return LANE_NONE;
    uint32_t mode = whole ? 1 + (i->rounding - PTX_ROUNDING_RNI) : 0;
    if (to == PTX_TYPE_F32)
        return LANE_cvt_f32_f32 + 4 * mode + flags;
    return i->ftz ? LANE_NONE : LANE_cvt_f64_f64 + 2 * mode + (i->sat != 0);
}

static uint32_t select_move(const struct ptx_instruction *i)
{
    uint32_t bits = bits_of(i->types[0]);
    const struct ptx_operand *to = &i->operands[0], *from = &i->operands[1];
    if (i->types[0] == PTX_TYPE_PRED)
        return LANE_mov_pred;
    if (to->kind != PTX_OPERAND_VECTOR && from->kind != PTX_OPERAND_VECTOR)
        return bits == 64 ? LANE_mov_64 : bits <= 32 ? LANE_mov_32 : LANE_NONE;
    bool unpacks = to->kind == PTX_OPERAND_VECTOR;
    switch (bits * 8 + (unpacks ? to : from)->element_count) {
    case 16 * 8 + 2:
        return unpacks ? LANE_unpack_2x8 : LANE_pack_2x8;
    case 32 * 8 + 2:
        return unpacks ? LANE_unpack_2x16 : LANE_pack_2x16;
    case 32 * 8 + 4:
        return unpacks ? LANE_unpack_4x8 : LANE_pack_4x8;
    case 64 * 8 + 2:
        return unpacks ? LANE_unpack_2x32 : LANE_pack_2x32;
    case 64 * 8 + 4:
        return unpacks ? LANE_unpack_4x16 : LANE_pack_4x16;
    default:
        return LANE_NONE;
    }
}

/* The comparison of `type` that setp and set name. */
static uint32_t select_comparison(const struct ptx_instruction *i, uint32_t type)
{
    uint32_t comparison = i->comparison;
    if (!comparison)
        return LANE_NONE;
    if (type == PTX_TYPE_F32 || type == PTX_TYPE_F64) {
        uint32_t first = type == PTX_TYPE_F64 ? LANE_setp_eq_f64 : i->ftz ? LANE_setp_eq_f32z : LANE_setp_eq_f32;
        if (comparison >= PTX_COMPARISON_EQU)
            return first + 6 + (comparison - PTX_COMPARISON_EQU);
        return comparison <= PTX_COMPARISON_GE ? first + (comparison - PTX_COMPARISON_EQ) : LANE_NONE;
    }
    if (!is_integer_or_bits(type) || bits_of(type) < 16 || comparison >= PTX_COMPARISON_EQU)
        return LANE_NONE;
    uint32_t first = LANE_setp_eq_u16 + 6 * (integer_index(type) - 2);
    if (comparison >= PTX_COMPARISON_LO) /* LO LS HI HS are LT LE GT GE of unsigned values */
        return is_signed(type) ? LANE_NONE : first + 2 + (comparison - PTX_COMPARISON_LO);
    if (comparison > PTX_COMPARISON_NE && ptx_types[type].kind == PTX_KIND_BITS)
        return LANE_NONE;
    return first + (comparison - PTX_COMPARISON_EQ);
}

static uint32_t select_reduction(const struct ptx_instruction *i)
{
    bool is_signed_type = is_signed(i->types[0]);
    switch (i->atomic) {
    case PTX_ATOMIC_AND:
        return LANE_redux_and;
    case PTX_ATOMIC_OR:
        return LANE_redux_or;
    case PTX_ATOMIC_XOR:
        return LANE_redux_xor;
    case PTX_ATOMIC_ADD:
        return LANE_redux_add;
    case PTX_ATOMIC_MIN:
        return LANE_redux_min_u32 + is_signed_type;
    case PTX_ATOMIC_MAX:
        return LANE_redux_max_u32 + is_signed_type;
    default:
        return LANE_NONE;
    }
}

static uint32_t select_choice(const struct ptx_instruction *i, struct operation *op)
{
    uint32_t type = i->types[0], comparison;
    switch (i->opcode) {
    case PTX_OP_SETP:
        op->variant = i->boolean;
        return select_comparison(i, type);
    case PTX_OP_SET:
        comparison = select_comparison(i, i->types[1]);
        op->variant = i->boolean;
        op->extra[3] = (uint16_t)(comparison - LANE_setp_eq_u16);
        return !comparison ? LANE_NONE : type == PTX_TYPE_F32 ? LANE_set_float : LANE_set_word;
    case PTX_OP_SELP:
        return bits_of(type) == 64 ? LANE_selp_64 : LANE_selp_32;
    case PTX_OP_SLCT:
        return (i->types[1] == PTX_TYPE_S32 ? LANE_slct_32_s32
                : i->ftz                    ? LANE_slct_32_f32_ftz
                                            : LANE_slct_32_f32) +
               (bits_of(type) == 64);
    case PTX_OP_TESTP:
        return !i->test ? LANE_NONE
                        : (type == PTX_TYPE_F64 ? LANE_testp_finite_f64 : LANE_testp_finite_f32) +
                              (i->test - PTX_TEST_FINITE);
    case PTX_OP_ISSPACEP:
        return op->width_bytes == 4 ? LANE_isspacep_32 : LANE_isspacep_64;
    case PTX_OP_SHFL:
        return i->shuffle ? LANE_shfl_up + (i->shuffle - PTX_SHUFFLE_UP) : LANE_NONE;
    case PTX_OP_VOTE:
        op->variant = i->sync != 0;
        if (!i->vote || (i->vote == PTX_VOTE_BALLOT) != (type == PTX_TYPE_B32))
            return LANE_NONE;
        return LANE_vote_all + (i->vote - PTX_VOTE_ALL);
    case PTX_OP_ACTIVEMASK:
        return LANE_activemask;
    case PTX_OP_MATCH_ANY_SYNC:
        return by_word(LANE_match_any_32, type);
    case PTX_OP_MATCH_ALL_SYNC:
        return by_word(LANE_match_all_32, type);
    case PTX_OP_REDUX_SYNC:
        return select_reduction(i);
    case PTX_OP_ELECT_SYNC:
        return LANE_elect;
    case PTX_OP_FNS:
        return LANE_fns;
    default:
        return LANE_NONE;
    }
}

static bool is_half(uint32_t type)
{
    return type == PTX_TYPE_F16 || type == PTX_TYPE_F16X2 || type == PTX_TYPE_BF16 || type == PTX_TYPE_BF16X2;
}

static uint8_t half_flags(const struct ptx_instruction *i, uint32_t type)
{
    bool brain = type == PTX_TYPE_BF16 || type == PTX_TYPE_BF16X2;
    bool pair = type == PTX_TYPE_F16X2 || type == PTX_TYPE_BF16X2;
    return (uint8_t)((brain ? HALF_BRAIN : 0) | (pair ? HALF_PAIR : 0) | (i->ftz ? HALF_FLUSH : 0) |
                     (i->sat ? HALF_CLAMP : 0) | (i->relu ? HALF_RELU : 0) | (i->nan ? HALF_NANS : 0) |
                     (i->xorsign ? HALF_XORSIGN : 0) | (i->satfinite ? HALF_FINITE : 0));
}

static uint32_t select_half_conversion(const struct ptx_instruction *i, struct operation *op)
{
    uint32_t to = i->types[0], from = i->types[1];
    bool whole = i->rounding >= PTX_ROUNDING_RNI && i->rounding <= PTX_ROUNDING_RPI;
    uint32_t mode = !i->rounding ? 0 : i->rounding - (whole ? PTX_ROUNDING_RNI : PTX_ROUNDING_RN);
    if (mode > 3)
        return LANE_NONE;
    op->variant = half_flags(i, is_half(to) ? to : from);
    op->extra[3] = (uint16_t)(mode | (whole ? HALF_TO_WHOLE : 0) | (is_half(to) ? from : to) << 8);
    bool pairs = op->variant & HALF_PAIR || from == PTX_TYPE_F16X2 || from == PTX_TYPE_BF16X2;
    if (is_half(to) && is_half(from))
        return pairs ? LANE_NONE : to == from ? LANE_half_to_half : LANE_half_from_number;
    if (op->variant & HALF_PAIR)
        return is_half(to) && from == PTX_TYPE_F32 ? LANE_half_from_pair : LANE_NONE;
    return is_half(to) ? LANE_half_from_number : LANE_half_to_number;
}

static uint32_t select_eighths(const struct ptx_instruction *i, struct operation *op)
{
    uint32_t to = i->types[0], from = i->types[1];
    op->variant = i->relu ? HALF_RELU : 0;
    op->extra[3] = to == PTX_TYPE_E4M3X2 || from == PTX_TYPE_E4M3X2;
    if (!ptx_type_is_eighths(to))
        return LANE_halves_from_eighths;
    return from == PTX_TYPE_F32 ? LANE_eighths_from_pair : LANE_eighths_from_halves;
}

static uint32_t select_half_set(const struct ptx_instruction *i, struct operation *op)
{
    uint32_t to = i->types[0];
    op->variant = half_flags(i, i->types[1]);
    op->extra[3] = (uint16_t)(i->comparison | i->boolean << 8);
    bool brain = to == PTX_TYPE_BF16 || to == PTX_TYPE_BF16X2;
    op->extra[2] = !is_half(to) ? 0xffff : brain ? 0x3f80 : 0x3c00;
    op->extra[1] = to == PTX_TYPE_F32;
    op->extra[0] = bits_of(to) == 16;
    return LANE_half_set;
}

static uint32_t select_half(const struct ptx_instruction *i, struct operation *op)
{
    static const struct {
        uint16_t opcode;
        uint8_t operation;
    } operations[] = {{PTX_OP_ADD, HALF_ADD}, {PTX_OP_SUB, HALF_SUB},  {PTX_OP_MUL, HALF_MUL}, {PTX_OP_FMA, HALF_FMA},
                      {PTX_OP_NEG, HALF_NEG}, {PTX_OP_ABS, HALF_ABS},  {PTX_OP_MIN, HALF_MIN}, {PTX_OP_MAX, HALF_MAX},
                      {PTX_OP_EX2, HALF_EX2}, {PTX_OP_TANH, HALF_TANH}};
    if (i->opcode == PTX_OP_CVT)
        return select_half_conversion(i, op);
    if (i->opcode == PTX_OP_SET)
        return select_half_set(i, op);
    op->variant = half_flags(i, i->types[0]);
    if (i->opcode == PTX_OP_SETP) {
        op->extra[3] = (uint16_t)(i->comparison | i->boolean << 8);
        return LANE_half_setp;
    }
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
        if (operations[k].opcode == i->opcode && i->rounding <= PTX_ROUNDING_RN) {
            op->extra[3] = i->oob ? HALF_FMA_OOB : operations[k].operation;
            return LANE_half_arithmetic;
        }
    return LANE_NONE;
}

static uint32_t select_name(const struct ptx_instruction *i, struct operation *op)
{
    if (i->opcode == PTX_OP_CVT && (ptx_type_is_eighths(i->types[0]) || ptx_type_is_eighths(i->types[1])))
        return select_eighths(i, op);
    if (is_half(i->types[0]) || is_half(i->types[1]))
        return select_half(i, op);
    if (ptx_is_video(i->opcode))
        return select_video(i, op);
    if (ptx_type_is_pair(i->types[0]))
        return select_pair(i);
    switch (i->opcode) {
    case PTX_OP_CVT_PACK:
        return select_packing(i, op);
    case PTX_OP_MOV:
        return select_move(i);
    case PTX_OP_CVT:
        return select_conversion(i, op);
    case PTX_OP_CVTA:
        return by_width(i->to ? LANE_sub_16 : LANE_add_16, i->types[0]);
    case PTX_OP_ADD3:
        return LANE_add3;
    case PTX_OP_LOP3:
        op->variant = i->operand_count > 4 ? (uint8_t)i->operands[4].bits : 0;
        return LANE_lop3;
    default:
        break;
    }
    uint32_t found = select_machine(i);
    if (!found)
        found = select_choice(i, op);
    if (!found)
        found = select_bits(i);
    if (!found && i->types[0] == PTX_TYPE_F32)
        return select_f32(i);
    if (!found && i->types[0] == PTX_TYPE_F64)
        return select_f64(i);
    return found ? found : select_integer(i);
}

lane_function lanes_select_at(enum lanes_level level, const struct ptx_instruction *instruction, struct operation *op)
{
    op->variant = 0;
    bool compares = instruction->opcode == PTX_OP_VSET2 || instruction->opcode == PTX_OP_VSET4;
    if (compares || ptx_is_scalar_video(instruction->opcode)) {
        op->offset = video_pack(instruction);
        op->run = video_lanes;
        return op->run;
    }
    uint32_t name = select_name(instruction, op);
    lane_function function = name ? functions[level][name] : NULL;
    while (name && !function && level > LANES_BASELINE)
        function = functions[--level][name];
    op->run = function;
    return function;
}

enum lanes_level lanes_level_best(void)
{
#if defined(CORUN_LANES_V4)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return LANES_V4;
#endif
#if defined(CORUN_LANES_V3)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return LANES_V3;
#endif
    return LANES_BASELINE;
}

lane_function lanes_select(const struct ptx_instruction *instruction, struct operation *op)
{
    return lanes_select_at(lanes_level_best(), instruction, op);
}
