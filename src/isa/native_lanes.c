/* SPDX-License-Identifier: MIT */
/* Machine code for operations over lanes: a table of those that there is code for, and how each kind of them is computed. */
#include "isa/native_maker.h"

#include "isa/lanes.h"

#include <string.h>

enum recipe_kind {
    MOVE,
    UNARY,        /* mnemonic d, a */
    BINARY,       /* mnemonic d, a, b */
    MULTIPLY_ADD, /* mnemonic t, a, b; addition d, t, c */
    ADD_THREE,
    NOT,
    NEGATE,
    LOGIC_THREE,
    FUNNEL, /* mnemonic d, other, c where d was a or b */
    UPPER_PRODUCT,
    LOW_BITS, /* number: of them, other bits are 0, or the sign */
    LOW_SIGNED_BITS,
    FIELD,        /* mnemonic shifts to the right; place and length are constants */
    PERMUTE,      /* the selector is a constant */
    SHIFT_WIDE,   /* the number of bits has half the width */
    WIDE_PRODUCT, /* of two of 32 bits, perhaps and a sum with one of 64 */
    EXTEND,       /* 32 bits to 64 */
    NARROW,       /* 64 bits to 32 */
    COMPARE,      /* number: the predicate of the instruction */
    SELECT,
    FLOAT_UNARY,
    FLOAT_BINARY,
    FLOAT_FUSED,       /* mnemonic t, b, c where t was a */
    FLOAT_PRODUCT_SUM, /* the product rounded, then mnemonic: product and c; number: c and product */
    FLOAT_EXTREME,     /* number: of zeros the one without a sign is taken */
    FLOAT_NEGATE,
    FLOAT_ABSOLUTE,
    FLOAT_RECIPROCAL_ROOT,
    FLOAT_TO_INTEGER,
    PREDICATES /* number: as of enum predicate_rule */
};

enum extension { NOTHING, VBMI, VBMI2 };

/* Of two by the instruction, or of one. */
enum predicate_rule { OF_TWO, OPPOSITE, SAME };

struct recipe {
    lane_function function;
    ZydisMnemonic mnemonic;
    uint8_t kind, number;
    bool wide; /* its result has 64 bits; of comparisons: its operands */
    uint8_t extension;
};

#define RECIPE(name, ...) void lane_##name##_v4(const struct operation *op, const struct lanes *lanes, uint32_t mask);
#include "isa/native_lanes.def"
#undef RECIPE

static const struct recipe recipes[] = {
#define RECIPE(name, kind, mnemonic, number, wide, extension) \
    {lane_##name##_v4, ZYDIS_MNEMONIC_##mnemonic, kind, number, wide, extension},
#include "isa/native_lanes.def"
#undef RECIPE
};

static const struct recipe *find_recipe(lane_function function)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (recipes[i].function == function)
            return &recipes[i];
    return NULL;
}

/* Masks at hand: */
enum { CHOSEN = 1, CHOSEN_PART = 2, ODD = 3 };

static operand number_at(size_t offset)
{
    return at_memory(NUMBERS, (int64_t)offset, PART_BYTES);
}

/* `vector` has the results of all lanes: those of the operation's lanes become the part's. */
static void finish_part(struct block_maker *maker, const struct operation *op, bool wide, uint32_t part,
                        uint32_t vector)
{
    int32_t place = part_of(op->destination, part);
    if (maker_is_masked(maker, op))
        maker_blend(maker, wide, part, vector, maker_get(maker, place));
    maker_bind(maker, vector, place);
}

static uint32_t source(struct block_maker *maker, const struct operation *op, uint32_t which, uint32_t part)
{
    return maker_get(maker, part_of(op->source[which], part));
}

/* NaN of all kinds become the one of NVIDIA's GPUs. */
static void settle_nan(struct assembler *to, uint32_t vector)
{
    ASSEMBLE(to, VCMPPS, at_mask(ODD), at_mask(0), at_zmm(vector), at_zmm(vector), at_number(3));
    ASSEMBLE(to, VMOVDQA32, at_zmm(vector), at_mask(ODD), number_at(offsetof(struct native_numbers, nan)));
}

static void copy(struct assembler *to, uint32_t vector, uint32_t from)
{
    assemble_two(to, ZYDIS_MNEMONIC_VMOVDQA32, at_zmm(vector), at_zmm(from));
}

static void logic(struct assembler *to, const struct recipe *recipe, uint32_t vector, uint32_t a, uint32_t b,
                  uint32_t table)
{
    assemble(to, recipe->mnemonic, 5, (operand[]){at_zmm(vector), at_mask(0), at_zmm(a), at_zmm(b), at_number(table)});
}

/* NaN give 0, what is beyond the range the nearest end of it: the instruction gives the lower end for all of them. */
static void float_to_integer(struct assembler *to, const struct recipe *recipe, uint32_t vector, uint32_t a)
{
    assemble_two(to, recipe->mnemonic, at_zmm(vector), at_zmm(a));
    ASSEMBLE(to, VCMPPS, at_mask(ODD), at_mask(0), at_zmm(a), number_at(offsetof(struct native_numbers, beyond)),
             at_number(0x1d));
    ASSEMBLE(to, VMOVDQA32, at_zmm(vector), at_mask(ODD), number_at(offsetof(struct native_numbers, nan)));
    ASSEMBLE(to, VCMPPS, at_mask(ODD), at_mask(0), at_zmm(a), at_zmm(a), at_number(3));
    ASSEMBLE(to, VPXORD, at_zmm(vector), at_mask(ODD), at_zmm(vector), at_zmm(vector));
}

/* Vector registers with the operands of one part, and the one for its results. UPPER_PRODUCT: c is one to use. */
struct part {
    uint32_t a, b, c, d;
};

/* Products of 64 bits of the lanes with even numbers, then of those with odd ones; the upper halves of both. */
static void upper_product(struct assembler *to, const struct recipe *recipe, const struct part *part)
{
    const operand a = at_zmm(part->a), b = at_zmm(part->b), other = at_zmm(part->c), d = at_zmm(part->d);
    const operand half = at_number(32), odd = at_register(ZYDIS_REGISTER_EAX);
    ASSEMBLE(to, VPSRLQ, d, at_mask(0), a, half);
    ASSEMBLE(to, VPSRLQ, other, at_mask(0), b, half);
    assemble_three(to, recipe->mnemonic, other, other, d);
    assemble_three(to, recipe->mnemonic, d, a, b);
    ASSEMBLE(to, VPSRLQ, d, at_mask(0), d, half);
    ASSEMBLE(to, MOV, odd, at_number(0xaaaa));
    ASSEMBLE(to, KMOVD, at_mask(ODD), odd);
    ASSEMBLE(to, VMOVDQA32, d, at_mask(ODD), other);
}

/* The instruction gives b for zeros and where either is NaN. */
static void float_extreme(struct assembler *to, const struct recipe *recipe, const struct part *part)
{
    const operand a = at_zmm(part->a), b = at_zmm(part->b), d = at_zmm(part->d);
    assemble_three(to, recipe->mnemonic, d, a, b);
    ASSEMBLE(to, VCMPPS, at_mask(ODD), at_mask(0), a, b, at_number(0));
    assemble(to, recipe->number ? ZYDIS_MNEMONIC_VPANDD : ZYDIS_MNEMONIC_VPORD, 4, (operand[]){d, at_mask(ODD), a, b});
    ASSEMBLE(to, VCMPPS, at_mask(ODD), at_mask(0), b, b, at_number(3));
    ASSEMBLE(to, VMOVDQA32, d, at_mask(ODD), a);
}

/* What a constant is. False: it is a register, or not known. */
static bool find_number(const struct block_maker *maker, uint16_t source, uint32_t *number)
{
    if (!(source & OPERAND_CONSTANT) || !maker->kernel->constants)
        return false;
    memcpy(number, maker->kernel->constants + (size_t)(source & ~OPERAND_CONSTANT) * SLOT_BYTES, sizeof *number);
    return true;
}

/* `length` bits from `first` on, to the bottom; those above are 0 or, if the shift to the right is that of a signed number, the sign. */
static void cut_bits(struct assembler *to, ZydisMnemonic right, const struct part *part, uint32_t first,
                     uint32_t length)
{
    uint32_t taken = length < 32 - first ? length : 32 - first;
    ASSEMBLE(to, VPSLLD, at_zmm(part->d), at_mask(0), at_zmm(part->a), at_number(32 - first - taken));
    assemble(to, right, 4, (operand[]){at_zmm(part->d), at_mask(0), at_zmm(part->d), at_number(32 - taken)});
}

/* Bytes of a and b of each lane: what is in d says which, those of b are 64 further on. */
static void permute(struct assembler *to, const struct part *part, uint32_t selector)
{
    uint32_t places = 0;
    for (uint32_t byte = 0; byte < 4; byte++) {
        uint32_t place = selector >> 4 * byte & 7;
        places |= ((place & 3) | (place & 4 ? 64u : 0)) << 8 * byte;
    }
    ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_EAX), at_number(places));
    assemble_two(to, ZYDIS_MNEMONIC_VPBROADCASTD, at_zmm(part->d), at_register(ZYDIS_REGISTER_EAX));
    assemble_three(to, ZYDIS_MNEMONIC_VPADDB, at_zmm(part->d), at_zmm(part->d),
                   number_at(offsetof(struct native_numbers, bytes)));
    assemble_three(to, ZYDIS_MNEMONIC_VPERMI2B, at_zmm(part->d), at_zmm(part->a), at_zmm(part->b));
}

static void compute_bits(struct block_maker *maker, const struct operation *op, const struct recipe *recipe,
                         const struct part *part)
{
    uint32_t first = 0, length = recipe->number;
    switch ((enum recipe_kind)recipe->kind) {
    case LOW_BITS:
        cut_bits(maker->to, ZYDIS_MNEMONIC_VPSRLD, part, 0, length);
        break;
    case LOW_SIGNED_BITS:
        cut_bits(maker->to, ZYDIS_MNEMONIC_VPSRAD, part, 0, length);
        break;
    case FIELD:
        (void)(find_number(maker, op->source[1], &first) && find_number(maker, op->source[2], &length));
        cut_bits(maker->to, recipe->mnemonic, part, first, length);
        break;
    default: /* PERMUTE */
        (void)find_number(maker, op->source[2], &first);
        permute(maker->to, part, first);
        break;
    }
}

static void compute_integers(struct assembler *to, const struct operation *op, const struct recipe *recipe,
                             const struct part *part)
{
    const operand a = at_zmm(part->a), b = at_zmm(part->b), c = at_zmm(part->c), d = at_zmm(part->d);
    switch ((enum recipe_kind)recipe->kind) {
    case UNARY:
        assemble_two(to, recipe->mnemonic, d, a);
        break;
    case BINARY:
        assemble_three(to, recipe->mnemonic, d, a, b);
        break;
    case MULTIPLY_ADD:
        assemble_three(to, recipe->mnemonic, d, a, b);
        assemble_three(to, recipe->wide ? ZYDIS_MNEMONIC_VPADDQ : ZYDIS_MNEMONIC_VPADDD, d, d, c);
        break;
    case ADD_THREE:
        assemble_three(to, recipe->mnemonic, d, a, b);
        assemble_three(to, recipe->mnemonic, d, d, c);
        break;
    case NOT:
        logic(to, recipe, part->d, part->a, part->a, 0x55);
        break;
    case NEGATE:
        assemble_three(to, ZYDIS_MNEMONIC_VPXORD, d, d, d);
        assemble_three(to, recipe->mnemonic, d, d, a);
        break;
    case LOGIC_THREE:
        copy(to, part->d, part->a);
        logic(to, recipe, part->d, part->b, part->c, op->variant);
        break;
    case FUNNEL:
        copy(to, part->d, recipe->number ? part->b : part->a);
        assemble_three(to, recipe->mnemonic, d, recipe->number ? a : b, c);
        break;
    case UPPER_PRODUCT:
        upper_product(to, recipe, part);
        break;
    default: /* MOVE */
        copy(to, part->d, part->a);
        break;
    }
}

/*
 * 1 / root of eight doubles x: two steps of Newton, y (1 + (1 - x y^2) / 2), from the instruction's estimate y, which is good to 2^-14. As a float the
 * result has the same bits as a root and a division of doubles, for each float that there is (tests/isa/test_native.c). Where it is NaN, as for
 * zeros and infinities, the estimate is exact. x is lost.
 */
static void reciprocal_root(struct assembler *to, const operand x, const operand y, const operand e, const operand t)
{
    const operand one = number_at(offsetof(struct native_numbers, one));
    const operand half = number_at(offsetof(struct native_numbers, half));
    assemble_two(to, ZYDIS_MNEMONIC_VRSQRT14PD, y, x);
    assemble_three(to, ZYDIS_MNEMONIC_VMULPD, e, x, y);
    assemble_three(to, ZYDIS_MNEMONIC_VFNMADD213PD, e, y, one);
    assemble_three(to, ZYDIS_MNEMONIC_VMULPD, t, e, half);
    assemble_three(to, ZYDIS_MNEMONIC_VFMADD213PD, t, y, y);
    assemble_three(to, ZYDIS_MNEMONIC_VMULPD, x, x, t);
    assemble_three(to, ZYDIS_MNEMONIC_VFNMADD213PD, x, t, one);
    assemble_three(to, ZYDIS_MNEMONIC_VMULPD, x, x, half);
    assemble_three(to, ZYDIS_MNEMONIC_VFMADD213PD, x, t, t);
    ASSEMBLE(to, VCMPPD, at_mask(ODD), at_mask(0), x, x, at_number(3));
    ASSEMBLE(to, VMOVAPD, x, at_mask(ODD), y);
}

static void reciprocal_roots(struct block_maker *maker, const struct part *part)
{
    struct assembler *to = maker->to;
    uint32_t y = maker_new(maker), e = maker_new(maker), t = maker_new(maker), x = maker_new(maker);
    for (uint32_t upper = 0; upper < 2; upper++) {
        if (upper)
            ASSEMBLE(to, VEXTRACTI64X4, at_ymm(x), at_mask(0), at_zmm(part->a), at_number(1));
        assemble_two(to, ZYDIS_MNEMONIC_VCVTPS2PD, at_zmm(x), at_ymm(upper ? x : part->a));
        reciprocal_root(to, at_zmm(x), at_zmm(y), at_zmm(e), at_zmm(t));
        assemble_two(to, ZYDIS_MNEMONIC_VCVTPD2PS, at_ymm(upper ? x : part->d), at_zmm(x));
    }
    ASSEMBLE(to, VINSERTI64X4, at_zmm(part->d), at_mask(0), at_zmm(part->d), at_ymm(x), at_number(1));
    settle_nan(to, part->d);
    for (uint32_t i = 0; i < 4; i++)
        maker->held[(const uint32_t[]){y, e, t, x}[i]].pinned = false;
}

static void compute_floats(struct assembler *to, const struct recipe *recipe, const struct part *part)
{
    const operand a = at_zmm(part->a), b = at_zmm(part->b), c = at_zmm(part->c), d = at_zmm(part->d);
    switch ((enum recipe_kind)recipe->kind) {
    case FLOAT_UNARY:
        assemble_two(to, recipe->mnemonic, d, a);
        break;
    case FLOAT_BINARY:
        assemble_three(to, recipe->mnemonic, d, a, b);
        break;
    case FLOAT_FUSED:
        copy(to, part->d, part->a);
        assemble_three(to, recipe->mnemonic, d, b, c);
        break;
    case FLOAT_PRODUCT_SUM:
        assemble_three(to, ZYDIS_MNEMONIC_VMULPS, d, a, b);
        assemble_three(to, recipe->mnemonic, d, recipe->number ? c : d, recipe->number ? d : c);
        break;
    case FLOAT_EXTREME:
        float_extreme(to, recipe, part);
        break;
    case FLOAT_NEGATE:
        assemble_three(to, ZYDIS_MNEMONIC_VPXORD, d, a, number_at(offsetof(struct native_numbers, sign)));
        break;
    case FLOAT_ABSOLUTE:
        assemble_three(to, ZYDIS_MNEMONIC_VPANDD, d, a, number_at(offsetof(struct native_numbers, nan)));
        break;
    default: /* FLOAT_TO_INTEGER, which knows no NaN afterwards */
        float_to_integer(to, recipe, part->d, part->a);
        return;
    }
    settle_nan(to, part->d);
}

/* How many operands an operation of that kind has. */
static uint32_t operand_count(uint8_t kind)
{
    switch ((enum recipe_kind)kind) {
    case MULTIPLY_ADD:
    case ADD_THREE:
    case LOGIC_THREE:
    case FUNNEL:
    case FLOAT_FUSED:
    case FLOAT_PRODUCT_SUM:
        return 3;
    case BINARY:
    case UPPER_PRODUCT:
    case PERMUTE:
    case FLOAT_BINARY:
    case FLOAT_EXTREME:
        return 2;
    default:
        return 1;
    }
}

/* What has as many bits as its operands, part by part. */
static void make_parts(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    uint32_t operands = operand_count(recipe->kind);
    for (uint32_t i = 0; i < (recipe->wide ? 4u : 2u); i++) {
        struct part part = {.a = source(maker, op, 0, i)};
        if (operands > 1)
            part.b = source(maker, op, 1, i);
        if (operands > 2)
            part.c = source(maker, op, 2, i);
        else if (recipe->kind == UPPER_PRODUCT)
            part.c = maker_new(maker);
        part.d = maker_new(maker);
        if (recipe->kind >= LOW_BITS && recipe->kind <= PERMUTE)
            compute_bits(maker, op, recipe, &part);
        else if (recipe->kind == FLOAT_RECIPROCAL_ROOT)
            reciprocal_roots(maker, &part);
        else if (recipe->kind >= FLOAT_UNARY)
            compute_floats(maker->to, recipe, &part);
        else
            compute_integers(maker->to, op, recipe, &part);
        finish_part(maker, op, recipe->wide, i, part.d);
    }
}

/* Eight lanes of 32 bits of an operand with as many bits each, as 64 bits each. */
static uint32_t widened(struct block_maker *maker, const struct operation *op, uint32_t which, uint32_t part,
                        ZydisMnemonic mnemonic)
{
    uint32_t from = source(maker, op, which, part / 2), wide = maker_new(maker);
    if (part % 2)
        ASSEMBLE(maker->to, VEXTRACTI64X4, at_ymm(wide), at_mask(0), at_zmm(from), at_number(1));
    assemble_two(maker->to, mnemonic, at_zmm(wide), at_ymm(part % 2 ? wide : from));
    return wide;
}

/* Results of 64 bits of operands of 32: all parts are computed before any is written, as they may lie where the operands do. */
static void make_widening(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    struct assembler *to = maker->to;
    uint32_t results[4];
    for (uint32_t part = 0; part < 4; part++) {
        if (recipe->kind == EXTEND) {
            results[part] = widened(maker, op, 0, part, recipe->mnemonic);
        } else if (recipe->kind == SHIFT_WIDE) {
            uint32_t bits = widened(maker, op, 1, part, ZYDIS_MNEMONIC_VPMOVZXDQ);
            uint32_t a = source(maker, op, 0, part);
            assemble_three(to, recipe->mnemonic, at_zmm(bits), at_zmm(a), at_zmm(bits));
            results[part] = bits;
        } else {
            uint32_t a = widened(maker, op, 0, part, ZYDIS_MNEMONIC_VPMOVZXDQ);
            uint32_t b = widened(maker, op, 1, part, ZYDIS_MNEMONIC_VPMOVZXDQ);
            assemble_three(to, recipe->mnemonic, at_zmm(a), at_zmm(a), at_zmm(b));
            maker->held[b].pinned = false;
            if (recipe->number)
                assemble_three(to, ZYDIS_MNEMONIC_VPADDQ, at_zmm(a), at_zmm(a), at_zmm(source(maker, op, 2, part)));
            results[part] = a;
        }
    }
    for (uint32_t part = 0; part < 4; part++)
        finish_part(maker, op, true, part, results[part]);
}

static void make_narrowing(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    uint32_t results[2];
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t low = source(maker, op, 0, 2 * part), high = source(maker, op, 0, 2 * part + 1);
        uint32_t upper = maker_new(maker);
        results[part] = maker_new(maker);
        assemble_two(maker->to, recipe->mnemonic, at_ymm(results[part]), at_zmm(low));
        assemble_two(maker->to, recipe->mnemonic, at_ymm(upper), at_zmm(high));
        ASSEMBLE(maker->to, VINSERTI64X4, at_zmm(results[part]), at_mask(0), at_zmm(results[part]), at_ymm(upper),
                 at_number(1));
        maker->held[upper].pinned = false;
    }
    for (uint32_t part = 0; part < 2; part++)
        finish_part(maker, op, false, part, results[part]);
}

/* ---- predicates ---- */

static operand predicate_at(uint16_t number)
{
    return at_memory(ALL_PREDICATES, (int64_t)number * 4, 4);
}

static void load_predicate(struct assembler *to, ZydisRegister where, uint16_t number, bool negated)
{
    if (number == PREDICATE_TRUE || number == PREDICATE_FALSE) {
        ASSEMBLE(to, MOV, at_register(where), at_number((number == PREDICATE_TRUE) != negated ? -1 : 0));
        return;
    }
    ASSEMBLE(to, MOV, at_register(where), predicate_at(number));
    if (negated)
        ASSEMBLE(to, NOT, at_register(where));
}

/* What is in eax, for the operation's lanes. ecx and edx are lost. */
static void store_predicate(struct block_maker *maker, const struct operation *op, uint16_t number)
{
    struct assembler *to = maker->to;
    const operand value = at_register(ZYDIS_REGISTER_EAX), old = at_register(ZYDIS_REGISTER_ECX);
    const operand lanes = at_register(ZYDIS_REGISTER_EDX);
    if (maker_is_masked(maker, op)) { /* old ^ ((old ^ value) & lanes) */
        ASSEMBLE(to, KMOVD, lanes, at_mask(MASK_ALL));
        ASSEMBLE(to, MOV, old, predicate_at(number));
        ASSEMBLE(to, XOR, value, old);
        ASSEMBLE(to, AND, value, lanes);
        ASSEMBLE(to, XOR, value, old);
    }
    ASSEMBLE(to, MOV, predicate_at(number), value);
}

/* The comparison of all lanes into eax. */
static void compare(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    struct assembler *to = maker->to;
    uint32_t parts = recipe->wide ? 4 : 2;
    for (uint32_t part = 0; part < parts; part++) {
        uint32_t a = source(maker, op, 0, part), b = source(maker, op, 1, part);
        assemble(to, recipe->mnemonic, 5,
                 (operand[]){at_mask(1 + part), at_mask(0), at_zmm(a), at_zmm(b), at_number(recipe->number)});
    }
    if (recipe->wide) {
        ASSEMBLE(to, KUNPCKBW, at_mask(1), at_mask(2), at_mask(1));
        ASSEMBLE(to, KUNPCKBW, at_mask(2), at_mask(4), at_mask(3));
    }
    ASSEMBLE(to, KUNPCKWD, at_mask(1), at_mask(2), at_mask(1));
    ASSEMBLE(to, KMOVD, at_register(ZYDIS_REGISTER_EAX), at_mask(1));
}

static void make_comparison(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    struct assembler *to = maker->to;
    compare(maker, op, recipe);
    if (op->predicate_in != NO_PREDICATE) {
        load_predicate(to, ZYDIS_REGISTER_ECX, op->predicate_in, op->predicate_in_negated);
        assemble(to,
                 op->variant == PTX_BOOLEAN_AND  ? ZYDIS_MNEMONIC_AND
                 : op->variant == PTX_BOOLEAN_OR ? ZYDIS_MNEMONIC_OR
                                                 : ZYDIS_MNEMONIC_XOR,
                 2, (operand[]){at_register(ZYDIS_REGISTER_EAX), at_register(ZYDIS_REGISTER_ECX)});
    }
    if (op->predicate_out[0] != NO_PREDICATE)
        store_predicate(maker, op, op->predicate_out[0]);
}

static void make_predicates(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    struct assembler *to = maker->to;
    const operand a = at_register(ZYDIS_REGISTER_EAX), b = at_register(ZYDIS_REGISTER_ECX);
    load_predicate(to, ZYDIS_REGISTER_EAX, op->source[0], recipe->number == OPPOSITE);
    if (recipe->number == OF_TWO) {
        load_predicate(to, ZYDIS_REGISTER_ECX, op->source[1], false);
        assemble(to, recipe->mnemonic, 2, (operand[]){a, b});
    }
    if (op->predicate_out[0] != NO_PREDICATE)
        store_predicate(maker, op, op->predicate_out[0]);
}

static void make_selection(struct block_maker *maker, const struct operation *op, const struct recipe *recipe)
{
    struct assembler *to = maker->to;
    load_predicate(to, ZYDIS_REGISTER_EAX, op->predicate_in, op->predicate_in_negated);
    ASSEMBLE(to, KMOVD, at_mask(CHOSEN), at_register(ZYDIS_REGISTER_EAX));
    for (uint32_t part = 0; part < (recipe->wide ? 4u : 2u); part++) {
        uint32_t a = source(maker, op, 0, part), b = source(maker, op, 1, part), d = maker_new(maker);
        ASSEMBLE(to, KSHIFTRD, at_mask(CHOSEN_PART), at_mask(CHOSEN), at_number(part * (recipe->wide ? 8 : 16)));
        assemble(to, recipe->mnemonic, 4, (operand[]){at_zmm(d), at_mask(CHOSEN_PART), at_zmm(b), at_zmm(a)});
        finish_part(maker, op, recipe->wide, part, d);
    }
}

static bool is_supported(const struct recipe *recipe, const struct block_maker *maker, const struct operation *op)
{
    uint32_t first, second;
    if ((recipe->extension == VBMI && !__builtin_cpu_supports("avx512vbmi")) ||
        (recipe->extension == VBMI2 && !__builtin_cpu_supports("avx512vbmi2")))
        return false;
    if (recipe->kind == FIELD)
        return find_number(maker, op->source[1], &first) && find_number(maker, op->source[2], &second) && first < 32 &&
               second && second < 256;
    /* The fourth bit of a place asks for a sign. */
    return recipe->kind != PERMUTE || (find_number(maker, op->source[2], &first) && !(first & 0x8888));
}

bool native_make_lanes(struct block_maker *maker, const struct operation *op)
{
    const struct recipe *recipe = find_recipe(op->run);
    if (!recipe || !is_supported(recipe, maker, op))
        return false;
    if (recipe->kind == COMPARE && op->predicate_out[1] != NO_PREDICATE)
        return false;
    if (op->guard != NO_PREDICATE)
        maker_count_guard(maker, op);
    if (maker_is_masked(maker, op)) {
        maker_lanes_to_eax(maker, op);
        ASSEMBLE(maker->to, KMOVD, at_mask(MASK_ALL), at_register(ZYDIS_REGISTER_EAX));
    }
    if (recipe->kind == COMPARE)
        make_comparison(maker, op, recipe);
    else if (recipe->kind == PREDICATES)
        make_predicates(maker, op, recipe);
    else if (recipe->kind == SELECT)
        make_selection(maker, op, recipe);
    else if (recipe->kind == WIDE_PRODUCT || recipe->kind == EXTEND || recipe->kind == SHIFT_WIDE)
        make_widening(maker, op, recipe);
    else if (recipe->kind == NARROW)
        make_narrowing(maker, op, recipe);
    else
        make_parts(maker, op, recipe);
    return true;
}
