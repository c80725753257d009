/* SPDX-License-Identifier: MIT */
/*
 * Scalar video operations, and comparisons of two halves or four bytes (PTX ISA, "Scalar Video Instructions", "SIMD Video Instructions"): a part of each
 * operand as a number, one operation on them, saturation, then another operation with c, or c around the part of the result. Numbers in between
 * have as many bits as they need. GPUs since Maxwell have no such instructions, so nobody counts their cycles: one loop for all.
 */
#include "isa/video.h"

#include "base/bits.h"

typedef __int128 number;

enum second { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };

/* What op->offset holds. */
struct plan {
    uint8_t opcode; /* less PTX_OP_VADD */
    uint8_t second, comparison, scale;
    uint32_t parts; /* of the instruction */
    bool d_signed, a_signed, b_signed, saturates, wraps, plus;
};

int64_t video_pack(const struct ptx_instruction *i)
{
    bool compares = ptx_is_video_comparison(i->opcode);
    uint32_t second = i->atomic == PTX_ATOMIC_ADD   ? SECOND_ADD
                      : i->atomic == PTX_ATOMIC_MIN ? SECOND_MIN
                      : i->atomic == PTX_ATOMIC_MAX ? SECOND_MAX
                                                    : SECOND_NONE;
    uint32_t flags = (uint32_t)(!compares && i->types[0] == PTX_TYPE_S32) |
                     (uint32_t)(i->types[compares ? 0 : 1] == PTX_TYPE_S32) << 1 |
                     (uint32_t)(i->types[compares ? 1 : 2] == PTX_TYPE_S32) << 2 | (uint32_t)(i->sat != 0) << 3 |
                     (uint32_t)(i->shift == PTX_SHIFT_WRAP) << 4 | (uint32_t)(i->plus != 0) << 5;
    uint32_t scale = i->scale == PTX_SCALE_SHR7 ? 7 : i->scale == PTX_SCALE_SHR15 ? 15 : 0;
    uint32_t comparison = i->comparison ? i->comparison - PTX_COMPARISON_EQ : 0;
    return (int64_t)((uint64_t)(i->opcode - PTX_OP_VADD) | (uint64_t)second << 8 | (uint64_t)comparison << 10 |
                     (uint64_t)scale << 14 | (uint64_t)flags << 18 | (uint64_t)i->parts << 32);
}

static struct plan unpack(int64_t packed)
{
    uint64_t bits = (uint64_t)packed;
    return (struct plan){.opcode = (uint8_t)bits,
                         .second = bits >> 8 & 3,
                         .comparison = bits >> 10 & 15,
                         .scale = bits >> 14 & 15,
                         .parts = (uint32_t)(bits >> 32),
                         .d_signed = bits >> 18 & 1,
                         .a_signed = bits >> 19 & 1,
                         .b_signed = bits >> 20 & 1,
                         .saturates = bits >> 21 & 1,
                         .wraps = bits >> 22 & 1,
                         .plus = bits >> 23 & 1};
}

static uint32_t part_bits(uint32_t part)
{
    return part == PTX_PART_WHOLE ? 32 : part <= PTX_PART_B3 ? 8 : 16;
}

static uint32_t part_shift(uint32_t part)
{
    return part == PTX_PART_WHOLE ? 0 : part <= PTX_PART_B3 ? 8 * (part - PTX_PART_B0) : 16 * (part - PTX_PART_H0);
}

static int64_t field(uint32_t value, uint32_t shift, uint32_t bits, bool is_signed)
{
    uint64_t up = (uint64_t)(value >> shift) << (64 - bits);
    return is_signed ? (int64_t)up >> (64 - bits) : (int64_t)(up >> (64 - bits));
}

static int64_t part_of(uint32_t value, uint32_t part, bool is_signed)
{
    return field(value, part_shift(part), part_bits(part), is_signed);
}

static number clamp(number value, bool is_signed, uint32_t bits)
{
    number highest = ((number)1 << (bits - is_signed)) - 1, lowest = is_signed ? -highest - 1 : 0;
    return value < lowest ? lowest : value > highest ? highest : value;
}

static bool compare(uint32_t comparison, int64_t a, int64_t b)
{
    switch (comparison + PTX_COMPARISON_EQ) {
    case PTX_COMPARISON_EQ:
        return a == b;
    case PTX_COMPARISON_NE:
        return a != b;
    case PTX_COMPARISON_LT:
        return a < b;
    case PTX_COMPARISON_LE:
        return a <= b;
    case PTX_COMPARISON_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static number operate(const struct plan *plan, int64_t a, int64_t b)
{
    uint32_t places = plan->wraps ? (uint32_t)b & 31u : b > 32 ? 32u : (uint32_t)b;
    switch (plan->opcode + PTX_OP_VADD) {
    case PTX_OP_VADD:
        return (number)a + b;
    case PTX_OP_VSUB:
        return (number)a - b;
    case PTX_OP_VABSDIFF:
        return a < b ? (number)b - a : (number)a - b;
    case PTX_OP_VMIN:
        return a < b ? a : b;
    case PTX_OP_VMAX:
        return a > b ? a : b;
    case PTX_OP_VSHL:
        return (number)a * ((number)1 << places);
    case PTX_OP_VSHR:
        return a >> places;
    default:
        return compare(plan->comparison, a, b);
    }
}

/* With c: the second operation, or what is around the part of the result. */
static uint32_t finish(const struct plan *plan, number value, uint32_t c)
{
    uint32_t part = plan->parts & 7u, bits = part_bits(part), shift = part_shift(part);
    if (plan->saturates)
        value = clamp(value, plan->d_signed, bits);
    number with = plan->d_signed ? (int32_t)c : (number)c;
    if (plan->second == SECOND_ADD)
        value += with;
    else if (plan->second != SECOND_NONE)
        value = (value < with) == (plan->second == SECOND_MIN) ? value : with;
    if (part == PTX_PART_WHOLE)
        return (uint32_t)value;
    uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1) << shift;
    return ((uint32_t)value << shift & mask) | (c & ~mask);
}

/* A negated product is ~(a * b) + 1. What is shifted out goes down, also of negative sums. */
static uint32_t multiply_add(const struct plan *plan, int64_t a, int64_t b, uint32_t c)
{
    bool a_negated = plan->parts & PTX_PART_NEGATES(0), b_negated = plan->parts & PTX_PART_NEGATES(1);
    bool c_negated = plan->parts & PTX_PART_NEGATES(2), product_negated = a_negated != b_negated;
    bool is_signed = plan->a_signed || plan->b_signed || product_negated || c_negated;
    number sum = (number)a * b, with = is_signed ? (int32_t)c : (number)c;
    sum = product_negated ? -sum + with : c_negated ? sum - with : sum + with + plan->plus;
    sum = (number)((unsigned __int128)sum >> plan->scale & UINT64_MAX); /* 64 bits of it */
    if (is_signed)
        sum = (int64_t)(uint64_t)sum;
    return (uint32_t)(plan->saturates ? clamp(sum, is_signed, 32) : sum);
}

/* Two halves or four bytes. */
static uint32_t compare_parts(const struct plan *plan, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t count = plan->opcode + PTX_OP_VADD == PTX_OP_VSET2 ? 2 : 4, bits = 32 / count, result = 0, sum = c;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t truth = compare(plan->comparison, field(a, i * bits, bits, plan->a_signed),
                                 field(b, i * bits, bits, plan->b_signed));
        result |= truth << i * bits;
        sum += truth;
    }
    return plan->second == SECOND_ADD ? sum : result;
}

void video_lanes(const struct operation *op, const struct lanes *lanes, uint32_t mask)
{
    const struct plan plan = unpack(op->offset);
    const uint32_t *a = lanes_source(lanes, op->source[0]), *b = lanes_source(lanes, op->source[1]);
    const uint32_t *c = lanes_source(lanes, op->source[2]); /* slot 0 where there is none: it has no effect then */
    uint32_t *to = lanes_destination(lanes, op->destination), opcode = plan.opcode + PTX_OP_VADD;
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        int64_t x = part_of(a[lane], plan.parts >> PTX_PART_BITS & 7u, plan.a_signed);
        int64_t y = part_of(b[lane], plan.parts >> 2 * PTX_PART_BITS & 7u, plan.b_signed);
        to[lane] = opcode == PTX_OP_VSET2 || opcode == PTX_OP_VSET4 ? compare_parts(&plan, a[lane], b[lane], c[lane])
                   : opcode == PTX_OP_VMAD                          ? multiply_add(&plan, x, y, c[lane])
                                                                    : finish(&plan, operate(&plan, x, y), c[lane]);
    }
}
