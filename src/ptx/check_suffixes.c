/* SPDX-License-Identifier: MIT */
/* Which suffixes an instruction needs, and which fit together (PTX ISA, "Instruction Set"). */
#include "ptx/bulk.h"
#include "ptx/matrix.h"
#include "ptx/parser.h"

/* Floats, and pairs of them in one register. */
static bool is_floating(enum ptx_type type)
{
    return ptx_type_is_float(type) || ptx_type_is_half(type);
}

static bool wrong(struct parser *parser, struct ptx_place place, const char *mnemonic, const char *problem)
{
    parser_error(parser, CORUN_SYNTAX, place, "'%s' %s", mnemonic, problem);
    return false;
}

static bool has_rounding_to_integer(const struct ptx_instruction *instruction)
{
    return instruction->rounding >= PTX_ROUNDING_RNI && instruction->rounding <= PTX_ROUNDING_RPI;
}

/* Video operations, queries, and what concerns clusters. */
static const char *missing_of_rare(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_VSHL:
    case PTX_OP_VSHR:
        return !instruction->shift                     ? "needs .clamp or .wrap"
               : instruction->types[2] != PTX_TYPE_U32 ? "shifts by a number of type .u32"
                                                       : NULL;
    case PTX_OP_VSET:
    case PTX_OP_VSET2:
    case PTX_OP_VSET4:
        return instruction->comparison && instruction->comparison <= PTX_COMPARISON_GE
                   ? NULL
                   : "needs .eq, .ne, .lt, .le, .gt or .ge";
    case PTX_OP_TXQ:
        return instruction->query ? NULL : "needs an attribute such as .width";
    case PTX_OP_TXQ_LEVEL:
        return instruction->query && instruction->query <= PTX_QUERY_DEPTH ? NULL : "needs .width, .height or .depth";
    case PTX_OP_SUQ:
        return instruction->query && instruction->query <= PTX_QUERY_ARRAY_SIZE
                   ? NULL
                   : "needs .width, .height, .depth or .array_size";
    default:
        return ptx_cluster_problem(instruction);
    }
}

/* Fields without which an operation says nothing. */
static const char *missing_suffix(const struct ptx_instruction *instruction)
{
    bool is_float = is_floating(instruction->types[0]);
    switch (instruction->opcode) {
    case PTX_OP_MUL:
    case PTX_OP_MAD:
    case PTX_OP_MADC:
    case PTX_OP_MUL24:
    case PTX_OP_MAD24:
    case PTX_OP_DP2A:
        return is_float || instruction->half ? NULL : "needs .lo, .hi or .wide";
    case PTX_OP_FMA:
        return instruction->rounding ? NULL : "needs a rounding such as .rn";
    case PTX_OP_SQRT:
    case PTX_OP_RCP:
        return instruction->rounding || instruction->precision ? NULL : "needs .approx or a rounding such as .rn";
    case PTX_OP_RSQRT:
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
        return instruction->precision == PTX_PRECISION_APPROX ? NULL : "needs .approx";
    case PTX_OP_SETP:
    case PTX_OP_SET:
        return instruction->comparison ? NULL : "needs a comparison such as .lt";
    case PTX_OP_TESTP:
        return instruction->test ? NULL : "needs a test such as .finite";
    case PTX_OP_TEX:
    case PTX_OP_TEX_LEVEL:
    case PTX_OP_TEX_GRAD:
    case PTX_OP_TLD4:
    case PTX_OP_SULD_B:
    case PTX_OP_SUST_B:
        if (instruction->opcode == PTX_OP_TLD4 && !instruction->component)
            return "needs a channel such as .r";
        return instruction->geometry ? NULL : "needs a geometry such as .2d";
    case PTX_OP_SHF:
        return instruction->direction && instruction->shift ? NULL : "needs .l or .r and .wrap or .clamp";
    case PTX_OP_BMSK:
    case PTX_OP_SZEXT:
        return instruction->shift ? NULL : "needs .wrap or .clamp";
    case PTX_OP_SHFL:
        return instruction->shuffle ? NULL : "needs .up, .down, .bfly or .idx";
    case PTX_OP_VOTE:
        return instruction->vote ? NULL : "needs .all, .any, .uni or .ballot";
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_RED:
        return instruction->reduction ? NULL : "needs .popc, .and or .or";
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_REDUX_SYNC:
        return instruction->atomic ? NULL : "needs an operation such as .add";
    case PTX_OP_CVTA:
    case PTX_OP_ISSPACEP:
        return instruction->space ? NULL : "needs a space such as .global";
    case PTX_OP_MEMBAR:
        return instruction->scope ? NULL : "needs .cta, .gl or .sys";
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
        return instruction->level ? NULL : "needs .L1 or .L2";
    default:
        return missing_of_rare(instruction);
    }
}

static const char *wrong_comparison(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->types[instruction->opcode == PTX_OP_SET];
    uint8_t comparison = instruction->comparison;
    bool unsigned_words = comparison >= PTX_COMPARISON_LO && comparison <= PTX_COMPARISON_HS;
    bool float_words = comparison >= PTX_COMPARISON_EQU;
    if (is_floating(type))
        return unsigned_words ? "compares floats with a comparison of unsigned integers" : NULL;
    if (float_words)
        return "compares integers with a comparison of floats";
    if (ptx_types[type].kind == PTX_KIND_BITS && comparison > PTX_COMPARISON_NE)
        return "compares untyped bits with more than .eq and .ne";
    if (ptx_type_is_signed(type) && unsigned_words)
        return "compares signed integers with a comparison of unsigned integers";
    return NULL;
}

static const char *wrong_atomic(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->types[0];
    bool is_float = is_floating(type);
    if (instruction->opcode == PTX_OP_REDUX_SYNC) {
        bool orders = instruction->atomic >= PTX_ATOMIC_MIN || instruction->atomic == PTX_ATOMIC_ADD;
        bool combines = instruction->atomic <= PTX_ATOMIC_XOR;
        if (!orders && !combines)
            return "adds, orders or combines only";
        return combines == (type == PTX_TYPE_B32) ? NULL : "needs type .b32 with a logic operation, else .u32 or .s32";
    }
    if (ptx_is_scalar_video(instruction->opcode))
        return instruction->atomic >= PTX_ATOMIC_MIN || instruction->atomic == PTX_ATOMIC_ADD
                   ? NULL
                   : "goes on with .add, .min or .max only";
    if (ptx_is_video(instruction->opcode) || ptx_is_video_comparison(instruction->opcode))
        return instruction->atomic == PTX_ATOMIC_ADD ? NULL : "sums up with .add only";
    if (type == PTX_TYPE_B16 && instruction->atomic != PTX_ATOMIC_CAS)
        return "takes type .b16 with .cas only";
    if (type == PTX_TYPE_B128 && instruction->atomic != PTX_ATOMIC_CAS && instruction->atomic != PTX_ATOMIC_EXCH)
        return "takes type .b128 with .exch and .cas only";
    bool orders = instruction->atomic == PTX_ATOMIC_MIN || instruction->atomic == PTX_ATOMIC_MAX;
    if (ptx_type_is_half(type) && instruction->atomic != PTX_ATOMIC_ADD && !(orders && instruction->noftz))
        return orders ? "needs .noftz with this type" : "only adds and orders this type";
    switch (instruction->atomic) {
    case PTX_ATOMIC_ADD:
        if (ptx_type_is_half(type) && !instruction->noftz)
            return "needs .noftz with this type";
        return ptx_types[type].kind == PTX_KIND_BITS || type == PTX_TYPE_S64 ? "does not add this type" : NULL;
    case PTX_ATOMIC_MIN:
    case PTX_ATOMIC_MAX:
        return (is_float && !ptx_type_is_half(type)) || ptx_types[type].kind == PTX_KIND_BITS
                   ? "does not order this type"
                   : NULL;
    case PTX_ATOMIC_INC:
    case PTX_ATOMIC_DEC:
        return type == PTX_TYPE_U32 ? NULL : "takes type .u32 only";
    case PTX_ATOMIC_CAS:
    case PTX_ATOMIC_EXCH:
        if (instruction->opcode == PTX_OP_RED)
            return "has no result, which is all that .exch and .cas are for";
        return is_float || ptx_type_is_signed(type) ? "takes untyped bits only" : NULL;
    default:
        return is_float ? "is a logic operation and takes no floats" : NULL;
    }
}

/* Pairs of 8-bit floats: from .f32 or .f16x2, cut to what is finite, and to .f16x2 without loss. */
static const char *wrong_eighths(const struct ptx_instruction *instruction)
{
    enum ptx_type to = instruction->types[0], from = instruction->types[1];
    if (ptx_type_is_eighths(to) ? from != PTX_TYPE_F32 && from != PTX_TYPE_F16X2 : to != PTX_TYPE_F16X2)
        return "converts this type from .f32 and .f16x2, and to .f16x2 only";
    if (instruction->rounding != PTX_ROUNDING_RN || instruction->ftz || instruction->sat)
        return "needs .rn, and has no .ftz and .sat with this type";
    if (!instruction->satfinite == ptx_type_is_eighths(to))
        return ptx_type_is_eighths(to) ? "needs .satfinite with this type" : "has .satfinite where nothing is cut off";
    return NULL;
}

/* .satfinite of types that have infinities: of what is rounded from .f32, in the ways that PTX gives it. */
static const char *wrong_finite(const struct ptx_instruction *instruction)
{
    enum ptx_type to = instruction->types[0];
    if ((!ptx_type_is_half(to) && to != PTX_TYPE_TF32) || instruction->types[1] != PTX_TYPE_F32)
        return "has .satfinite without a destination of 16 bits or .tf32 and a source of type .f32";
    if (instruction->ftz || instruction->sat)
        return "has .satfinite beside .ftz or .sat";
    bool rounds = instruction->rounding == PTX_ROUNDING_RN || instruction->rounding == PTX_ROUNDING_RZ ||
                  to == PTX_TYPE_TF32; /* which has roundings of its own */
    return rounds ? NULL : "needs .rn or .rz with .satfinite";
}

static const char *wrong_conversion(const struct ptx_instruction *instruction)
{
    enum ptx_type to = instruction->types[0], from = instruction->types[1];
    bool to_float = is_floating(to), from_float = is_floating(from);
    bool between_halves =
        to != from && ptx_type_is_half(to) && ptx_type_is_half(from); /* each has what the other lacks */
    bool narrower =
        ptx_types[to].bits < ptx_types[from].bits || ptx_types[to].kind == PTX_KIND_PACKED || between_halves;
    if (ptx_type_is_eighths(to) || ptx_type_is_eighths(from))
        return wrong_eighths(instruction);
    if (from == PTX_TYPE_F16X2)
        return "converts .f16x2 to 8-bit floats only";
    if (instruction->satfinite) {
        const char *problem = wrong_finite(instruction);
        if (problem)
            return problem;
    }
    if (to == PTX_TYPE_TF32) {
        bool rounds = instruction->rounding == PTX_ROUNDING_RNA || instruction->rounding == PTX_ROUNDING_RN ||
                      instruction->rounding == PTX_ROUNDING_RZ;
        return from != PTX_TYPE_F32 || !rounds || instruction->ftz || instruction->sat ||
                       (instruction->relu && instruction->rounding == PTX_ROUNDING_RNA)
                   ? "is from .f32, with .rna, or with .rn or .rz and .relu, and nothing else"
                   : NULL;
    }
    if (instruction->rounding == PTX_ROUNDING_RNA)
        return "has a rounding of other types";
    if (!to_float && from_float && !has_rounding_to_integer(instruction))
        return "needs a rounding to an integer such as .rzi";
    if (to_float && !from_float && (!instruction->rounding || has_rounding_to_integer(instruction)))
        return "needs a rounding such as .rn";
    if (to_float && from_float && narrower && (!instruction->rounding || has_rounding_to_integer(instruction)))
        return "needs a rounding such as .rn";
    bool redundant = from == PTX_TYPE_BF16 && to != from && !instruction->sat; /* PTX takes it of this type alone */
    if (to_float && from_float && !narrower && !redundant && instruction->rounding &&
        !has_rounding_to_integer(instruction))
        return "has a rounding where nothing is rounded";
    if (to_float && from_float && to != from && has_rounding_to_integer(instruction))
        return "rounds to an integer within one type only";
    if (!to_float && !from_float && instruction->rounding)
        return "has a rounding where nothing is rounded";
    if (instruction->ftz && to != PTX_TYPE_F32 && from != PTX_TYPE_F32)
        return "has .ftz without type .f32";
    return NULL;
}

/* cvt.pack.sat.u8.s32.b32: with c where a part has less than 16 bits, and only there. */
static const char *wrong_packing(const struct ptx_instruction *instruction)
{
    bool narrow = ptx_types[instruction->types[0]].bits < 16;
    if (!instruction->sat)
        return "needs .sat";
    if (instruction->types[1] != PTX_TYPE_S32 || (instruction->type_count > 2) != narrow ||
        (narrow && instruction->types[2] != PTX_TYPE_B32))
        return narrow ? "needs .s32 and .b32 behind this type" : "needs .s32 alone behind this type";
    return NULL;
}

static const char *wrong_arithmetic(const struct ptx_instruction *instruction)
{
    enum ptx_type type = instruction->types[0];
    bool is_float = is_floating(type);
    uint16_t opcode = instruction->opcode;
    if (instruction->opcode == PTX_OP_SET)
        type = instruction->types[1];
    if (opcode == PTX_OP_SLCT)
        type = instruction->types[1];
    bool flushes_double = type == PTX_TYPE_F64 && instruction->precision == PTX_PRECISION_APPROX &&
                          (opcode == PTX_OP_RCP || opcode == PTX_OP_RSQRT);
    bool half = type == PTX_TYPE_F16 || type == PTX_TYPE_F16X2;
    bool brain_power = opcode == PTX_OP_EX2 && ptx_type_is_half(type);
    if (instruction->ftz && type != PTX_TYPE_F32 && !half && !flushes_double && !brain_power)
        return "has .ftz without type .f32";
    if (ptx_type_is_half(type) && instruction->rounding && instruction->rounding != PTX_ROUNDING_RN)
        return "rounds this type to nearest only";
    if (instruction->sat && ptx_type_is_half(type) && !half)
        return "has .sat on type .bf16";
    bool orders = opcode == PTX_OP_MIN || opcode == PTX_OP_MAX;
    if (instruction->relu && !(orders ? type == PTX_TYPE_S32 || type == PTX_TYPE_S16X2 : ptx_type_is_half(type)))
        return orders ? "has .relu without type .s32 or .s16x2" : "has .relu without a type of 16 bits";
    if (instruction->rounding > PTX_ROUNDING_RP)
        return "has a rounding of conversions";
    if (!is_float && (instruction->rounding || instruction->precision))
        return "has a rounding on integers";
    if (is_float && instruction->half)
        return "has .lo, .hi or .wide on floats";
    if (instruction->half == PTX_HALF_WIDE &&
        (ptx_types[type].bits == 64 || opcode == PTX_OP_MADC || opcode == PTX_OP_MUL24 || opcode == PTX_OP_MAD24 ||
         opcode == PTX_OP_DP2A))
        return "cannot be .wide";
    if (instruction->carry &&
        (is_float || ptx_types[type].bits < 32 || instruction->sat || instruction->half == PTX_HALF_WIDE))
        return "cannot have .cc";
    if (instruction->sat && type == PTX_TYPE_F64)
        return "has .sat on type .f64";
    bool adds = opcode == PTX_OP_ADD || opcode == PTX_OP_SUB;
    bool video = ptx_is_video(opcode) || ptx_is_scalar_video(opcode);
    if (instruction->sat && !is_float && !video &&
        !(type == PTX_TYPE_S32 && (adds || instruction->half == PTX_HALF_HI)))
        return "cannot have .sat";
    if (opcode == PTX_OP_DIV && is_float && !instruction->rounding && !instruction->precision)
        return "needs .approx, .full or a rounding such as .rn";
    if (type == PTX_TYPE_F64 && instruction->precision && !flushes_double)
        return "has .approx or .full on type .f64";
    if (flushes_double && !instruction->ftz && opcode == PTX_OP_RCP)
        return "needs .ftz on type .f64";
    if (instruction->precision && instruction->rounding)
        return "has both a precision and a rounding";
    if (instruction->nan && type != PTX_TYPE_F32 && !ptx_type_is_half(type))
        return "has .NaN without type .f32";
    if (!instruction->xorsign != !instruction->magnitude)
        return "has only one of .xorsign and .abs";
    if (instruction->oob && !ptx_type_is_half(type))
        return "has .oob without a type of halves";
    if (instruction->oob && instruction->ftz)
        return "has both .oob and .ftz";
    if (instruction->xorsign && type != PTX_TYPE_F32 && !ptx_type_is_half(type))
        return "has .xorsign without a float of at most 32 bits";
    return NULL;
}

static const char *wrong_vector_atomic(const struct ptx_instruction *instruction)
{
    if (instruction->types[0] != PTX_TYPE_F32 && !ptx_type_is_half(instruction->types[0]))
        return "takes vectors of .f32, .f16, .bf16, .f16x2 and .bf16x2 only";
    if (instruction->vector == PTX_VECTOR_V8 && ptx_types[instruction->types[0]].bits > 16)
        return "takes vectors of eight elements of 16 bits only";
    bool generic = instruction->space == PTX_SUFFIX_NONE;
    return generic || instruction->space == PTX_SPACE_GLOBAL ? NULL : "takes vectors in .global only";
}

static const char *wrong_memory(const struct ptx_instruction *instruction)
{
    uint8_t space = instruction->space;
    if (instruction->types[0] == PTX_TYPE_B128 && instruction->vector)
        return "takes no vectors of type .b128";
    if (instruction->mmio && (instruction->semantics != PTX_SEMANTICS_RELAXED || instruction->scope != PTX_SCOPE_SYS ||
                              (space && space != PTX_SPACE_GLOBAL)))
        return "has .mmio without .relaxed.sys, or outside .global";
    switch (instruction->opcode) {
    case PTX_OP_MOV:
        return instruction->vector && instruction->types[0] == PTX_TYPE_PRED ? "takes no vectors of type .pred" : NULL;
    case PTX_OP_LD:
        if (instruction->noncoherent && space != PTX_SPACE_GLOBAL)
            return "has .nc outside .global";
        return NULL;
    case PTX_OP_LDU:
        return space && space != PTX_SPACE_GLOBAL ? "loads from .global only" : NULL;
    case PTX_OP_ST:
        return space == PTX_SPACE_CONST ? "cannot store to .const" : NULL;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        if (instruction->vector)
            return wrong_vector_atomic(instruction);
        return space && space != PTX_SPACE_GLOBAL && space != PTX_SPACE_SHARED ? "works on .global and .shared only"
                                                                               : NULL;
    case PTX_OP_VOTE:
        return (instruction->vote == PTX_VOTE_BALLOT) != (instruction->types[0] == PTX_TYPE_B32)
                   ? "needs type .b32 with .ballot, else .pred"
                   : NULL;
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_RED:
        return (instruction->reduction == PTX_REDUCTION_POPC) != (instruction->types[0] == PTX_TYPE_U32)
                   ? "needs type .u32 with .popc, else .pred"
                   : NULL;
    case PTX_OP_PREFETCH:
        return space && space != PTX_SPACE_GLOBAL && space != PTX_SPACE_LOCAL ? "works on .global and .local only"
                                                                              : NULL;
    default:
        return NULL;
    }
}

bool check_suffixes(struct parser *parser, const struct ptx_instruction *instruction, const char *mnemonic,
                    struct ptx_place place)
{
    bool bulk = ptx_is_bulk(instruction->opcode);
    const char *problem = bulk ? ptx_bulk_problem(instruction) : ptx_matrix_problem(instruction);
    if (problem || bulk || ptx_is_matrix(instruction->opcode))
        return !problem || wrong(parser, place, mnemonic, problem);
    problem = missing_suffix(instruction);
    if (!problem && instruction->comparison)
        problem = wrong_comparison(instruction);
    if (!problem && instruction->atomic)
        problem = wrong_atomic(instruction);
    if (!problem)
        problem = instruction->opcode == PTX_OP_CVT        ? wrong_conversion(instruction)
                  : instruction->opcode == PTX_OP_CVT_PACK ? wrong_packing(instruction)
                                                           : wrong_arithmetic(instruction);
    if (!problem)
        problem = wrong_memory(instruction);
    return !problem || wrong(parser, place, mnemonic, problem);
}
