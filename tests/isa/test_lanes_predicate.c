/* SPDX-License-Identifier: MIT */
/* Comparisons, predicates, votes and shuffles over lanes. */
#include "isa/lanes_harness.h"

#include <math.h>

struct type {
    const char *word;
    char class;
    char kind; /* unsigned, signed, float, bits */
};

static const struct type types[] = {{"u16", 'h', 'u'}, {"s16", 'h', 's'}, {"u32", 'r', 'u'}, {"s32", 'r', 's'},
                                    {"u64", 'd', 'u'}, {"s64", 'd', 's'}, {"f32", 'f', 'f'}, {"f64", 'g', 'f'},
                                    {"b16", 'h', 'b'}, {"b32", 'r', 'b'}, {"b64", 'd', 'b'}};
static const char *const comparisons[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                          "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

/* What the reference computes now; tests are single-threaded. */
static struct {
    const struct type *type;
    unsigned comparison;
    bool flush;
    char operator; /* of the third operand: & | ^, or 0 */
    bool negated;
} current;

static bool exists(const struct type *type, unsigned comparison)
{
    if (comparison >= 10)
        return type->kind == 'f';
    if (comparison >= 6)
        return type->kind == 'u';
    return comparison < 2 || type->kind != 'b';
}

/* -1, 0, 1, or 2 if unordered. */
static int order(uint64_t a, uint64_t b)
{
    long double x, y;
    switch (current.type->class) {
    case 'h':
        x = current.type->kind == 's' ? (long double)(int16_t)a : (long double)(uint16_t)a;
        y = current.type->kind == 's' ? (long double)(int16_t)b : (long double)(uint16_t)b;
        break;
    case 'r':
        x = current.type->kind == 's' ? (long double)(int32_t)a : (long double)(uint32_t)a;
        y = current.type->kind == 's' ? (long double)(int32_t)b : (long double)(uint32_t)b;
        break;
    case 'd':
        x = current.type->kind == 's' ? (long double)(int64_t)a : (long double)a;
        y = current.type->kind == 's' ? (long double)(int64_t)b : (long double)b;
        break;
    case 'f':
        x = f32_from(a);
        y = f32_from(b);
        if (current.flush) {
            x = fabsl(x) < 0x1p-126L ? 0 : x;
            y = fabsl(y) < 0x1p-126L ? 0 : y;
        }
        break;
    default:
        x = f64_from(a);
        y = f64_from(b);
        break;
    }
    return isnan(x) || isnan(y) ? 2 : x < y ? -1 : x > y;
}

static bool compare(uint64_t a, uint64_t b)
{
    int relation = order(a, b);
    bool unordered = relation == 2;
    switch (current.comparison) {
    case 0:
        return relation == 0;
    case 1:
        return relation == -1 || relation == 1;
    case 2:
    case 6:
        return relation == -1;
    case 3:
    case 7:
        return relation <= 0;
    case 4:
    case 8:
        return relation == 1;
    case 5:
    case 9:
        return relation == 0 || relation == 1;
    case 10:
        return relation == 0 || unordered;
    case 11:
        return relation != 0;
    case 12:
        return relation == -1 || unordered;
    case 13:
        return relation <= 0 || unordered;
    case 14:
        return relation >= 1;
    case 15:
        return relation >= 0;
    case 16:
        return !unordered;
    default:
        return unordered;
    }
}

static bool combined(bool compared, bool other)
{
    return current.operator== '&'   ? compared && other
           : current.operator== '|' ? compared || other
           : current.operator== '^' ? compared != other
                                    : compared;
}

REFERENCE(setp, combined(compare(a, b), p) | combined(!compare(a, b), p) << 1)
REFERENCE(set_word, combined(compare(a, b), p) ? 0xffffffff : 0)
REFERENCE(set_float, combined(compare(a, b), p) ? 0x3f800000 : 0)

static void test_comparisons(void **state)
{
    (void)state;
    static const char *const operators[] = {"", ".and", ".or", ".xor"};
    for (size_t type = 0; type < sizeof types / sizeof types[0]; type++)
        for (unsigned comparison = 0; comparison < 18; comparison++)
            for (unsigned operator= 0; operator<4; operator++) {
                if (!exists(&types[type], comparison) || (operator&& comparison % 3))
                    continue;
                for (unsigned flush = 0; flush < (types[type].class == 'f' ? 2u : 1u); flush++) {
                    char name[64], classes[6];
                    current.type = &types[type];
                    current.comparison = comparison;
                    current.flush = flush;
                    current.operator= "\0&|^"[operator];
                    snprintf(name, sizeof name, "setp.%s%s%s.%s", comparisons[comparison], operators[operator], flush ? ".ftz" : "", types[type].word);
                    snprintf(classes, sizeof classes, "Q%c%c%s", types[type].class,
                             types[type].class, operator? "p" : "");
                    check_case(&(struct lanes_case){name, classes, NULL, setp, 30});
                    classes[0] = 'p';
                    check_case(&(struct lanes_case){name, classes, NULL, setp, 10});
                    snprintf(name, sizeof name, "set.%s%s%s.u32.%s", comparisons[comparison], operators[operator], flush ? ".ftz" : "", types[type].word);
                    classes[0] = 'r';
                    check_case(&(struct lanes_case){name, classes, NULL, set_word, 10});
                    snprintf(name, sizeof name, "set.%s%s%s.f32.%s", comparisons[comparison], operators[operator], flush ? ".ftz" : "", types[type].word);
                    classes[0] = 'f';
                    check_case(&(struct lanes_case){name, classes, NULL, set_float, 10});
                }
            }
}

static bool subnormal64(double x)
{
    return x != 0 && fabs(x) < 0x1p-1022;
}

/* Step by step, as the manual writes it. Bit 63: the predicate. */
static uint64_t shuffled(const struct inputs *in, unsigned mode)
{
    int lane = (int)in->lane, b = (int)(in->value[1] & 31), c = (int)(in->value[2] & 31),
        segment = (int)(in->value[2] >> 8 & 31);
    int last = (lane & segment) | (c & ~segment), first = lane & segment, from;
    bool inside = false;
    switch (mode) {
    case 0:
        from = lane - b;
        inside = from >= last;
        break;
    case 1:
        from = lane + b;
        inside = from <= last;
        break;
    case 2:
        from = lane ^ b;
        inside = from <= last;
        break;
    default:
        from = first | (b & ~segment);
        inside = from <= last;
        break;
    }
    if (!inside)
        from = lane;
    return (in->all[0][from] & 0xffffffff) | (uint64_t)inside << 63;
}

#define CLASS32 f32_from(a)
#define CASES(X) \
    X(finite, "testp.finite.f32", "pf", isfinite(CLASS32) != 0) \
    X(infinite, "testp.infinite.f32", "pf", isinf(CLASS32) != 0) \
    X(number, "testp.number.f32", "pf", !isnan(CLASS32)) \
    X(notanumber, "testp.notanumber.f32", "pf", isnan(CLASS32) != 0) \
    X(normal, "testp.normal.f32", "pf", isnormal(CLASS32) || CLASS32 == 0) \
    X(subnormal, "testp.subnormal.f32", "pf", fpclassify(CLASS32) == FP_SUBNORMAL) \
    X(finite64, "testp.finite.f64", "pg", isfinite(f64_from(a)) != 0) \
    X(infinite64, "testp.infinite.f64", "pg", isinf(f64_from(a)) != 0) \
    X(number64, "testp.number.f64", "pg", !isnan(f64_from(a))) \
    X(notanumber64, "testp.notanumber.f64", "pg", isnan(f64_from(a)) != 0) \
    X(normal64, "testp.normal.f64", "pg", isnormal(f64_from(a)) || f64_from(a) == 0) \
    X(subnormal64, "testp.subnormal.f64", "pg", subnormal64(f64_from(a))) \
    X(up, "shfl.sync.up.b32", "Drrrr", shuffled(in, 0)) \
    X(down, "shfl.sync.down.b32", "Drrrr", shuffled(in, 1)) \
    X(butterfly, "shfl.sync.bfly.b32", "Drrrr", shuffled(in, 2)) \
    X(index, "shfl.sync.idx.b32", "Drrrr", shuffled(in, 3)) \
    X(up_old, "shfl.up.b32", "Drrr", shuffled(in, 0)) \
    X(active, "activemask.b32", "r", in->mask)

#define AS_REFERENCE(id, name, classes, expression) REFERENCE(id##_reference, expression)
CASES(AS_REFERENCE)

static void test_values(void **state)
{
    (void)state;
#define AS_CASE(id, name, classes, expression) {name, classes, NULL, id##_reference, 0},
    static const struct lanes_case cases[] = {CASES(AS_CASE)};
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* Runs an instruction of predicates alone: p0 = f(p1, p2), members in slot 1 as a constant. */
static uint32_t run_predicates(const char *text, enum lanes_level level, uint32_t p1, uint32_t p2, uint32_t members,
                               uint32_t mask, const uint32_t *ballot)
{
    const struct ptx_instruction *instruction;
    struct ptx_module *module = parse_instruction(text, &instruction);
    struct machine machine = {.predicates = {0x12345678, p1, p2}};
    struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
    bool votes = instruction->opcode == PTX_OP_VOTE;
    struct operation op = {
        .source = {votes ? OPERAND_CONSTANT : 1, 2}, .predicate_in = 1, .predicate_out = {0, NO_PREDICATE}};
    if (ballot)
        op.predicate_out[0] = NO_PREDICATE;
    op.predicate_in_negated = votes && instruction->operands[1].negated;
    for (unsigned lane = 0; lane < 32; lane++)
        put_lane(machine.constants, 0, lane, 4, members);
    lanes_select_at(level, instruction, &op)(&op, &lanes, mask);
    if (ballot)
        for (unsigned lane = 0; lane < 32; lane++)
            assert_int_equal(get_lane(machine.registers, 0, lane, 4), mask >> lane & 1 ? *ballot : 0);
    ptx_module_destroy(module);
    return machine.predicates[0];
}

static void test_predicate_logic(void **state)
{
    (void)state;
    const uint32_t p1 = 0x00ff0ff0, p2 = 0x0f0f3333, mask = 0xffff00ff, old = 0x12345678 & ~mask;
    for (int level = 0; level <= (int)lanes_level_best(); level++) {
        assert_int_equal(run_predicates("and.pred %p0, %p1, %p2;", level, p1, p2, 0, mask, NULL),
                         (p1 & p2 & mask) | old);
        assert_int_equal(run_predicates("or.pred %p0, %p1, %p2;", level, p1, p2, 0, mask, NULL),
                         ((p1 | p2) & mask) | old);
        assert_int_equal(run_predicates("xor.pred %p0, %p1, %p2;", level, p1, p2, 0, mask, NULL),
                         ((p1 ^ p2) & mask) | old);
        assert_int_equal(run_predicates("not.pred %p0, %p1;", level, p1, p2, 0, mask, NULL), (~p1 & mask) | old);
        assert_int_equal(run_predicates("mov.pred %p0, %p1;", level, p1, p2, 0, mask, NULL), (p1 & mask) | old);
    }
}

static void test_votes(void **state)
{
    (void)state;
    const uint32_t old = 0x12345678;
    for (int level = 0; level <= (int)lanes_level_best(); level++) {
        static const uint32_t masks[] = {0xffffffff, 0x0000ff00, 0x80000001},
                              votes[] = {0, 0xffffffff, 0x0000ff00, 0x00000100, 0x80000001};
        for (unsigned m = 0; m < 3; m++)
            for (unsigned v = 0; v < 5; v++) {
                uint32_t mask = masks[m], in_favour = votes[v] & mask, against = ~votes[v] & mask, ballot = in_favour;
                uint32_t yes = old | mask, no = old & ~mask;
                assert_int_equal(
                    run_predicates("vote.sync.all.pred %p0, %p1, -1;", level, votes[v], 0, 0xffffffff, mask, NULL),
                    in_favour == mask ? yes : no);
                assert_int_equal(
                    run_predicates("vote.sync.any.pred %p0, %p1, -1;", level, votes[v], 0, 0xffffffff, mask, NULL),
                    in_favour ? yes : no);
                assert_int_equal(
                    run_predicates("vote.sync.any.pred %p0, !%p1, -1;", level, votes[v], 0, 0xffffffff, mask, NULL),
                    against ? yes : no);
                assert_int_equal(
                    run_predicates("vote.sync.uni.pred %p0, %p1, -1;", level, votes[v], 0, 0xffffffff, mask, NULL),
                    in_favour == mask || !in_favour ? yes : no);
                assert_int_equal(run_predicates("vote.all.pred %p0, %p1;", level, votes[v], 0, 0, mask, NULL),
                                 in_favour == mask ? yes : no);
                run_predicates("vote.sync.ballot.b32 %r0, %p1, -1;", level, votes[v], 0, 0xffffffff, mask, &ballot);
                run_predicates("vote.ballot.b32 %r0, %p1;", level, votes[v], 0, 0, mask, &ballot);
                /* Only members count. */
                ballot &= 0x0000ffff;
                if (mask & 0xffff)
                    run_predicates("vote.sync.ballot.b32 %r0, %p1, 65535;", level, votes[v], 0, 0x0000ffff, mask,
                                   &ballot);
            }
    }
}

/* p may be the third operand of its own comparison, and constants serve as predicates. */
static void test_predicate_operands(void **state)
{
    (void)state;
    const struct ptx_instruction *instruction;
    struct ptx_module *module = parse_instruction("setp.eq.and.s32 %p1|%p2, %r1, %r2, %p1;", &instruction);
    for (int level = 0; level <= (int)lanes_level_best(); level++) {
        struct machine machine = {.predicates = {0, 0x0000ffff, 0}};
        struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
        struct operation op = {.source = {1, 2}, .predicate_in = 1, .predicate_out = {1, 2}};
        for (unsigned lane = 0; lane < 32; lane++)
            put_lane(machine.registers, 1, lane, 4, lane & 1);
        lanes_select_at(level, instruction, &op)(&op, &lanes, 0xffffffff);
        assert_int_equal(machine.predicates[1], 0x00005555);
        assert_int_equal(machine.predicates[2], 0x0000aaaa);
        op.predicate_in = PREDICATE_TRUE;
        op.run(&op, &lanes, 0xffffffff);
        assert_int_equal(machine.predicates[1], 0x55555555);
        op.predicate_in_negated = 1;
        op.run(&op, &lanes, 0xffff0000);
        assert_int_equal(machine.predicates[1], 0x00005555);
        op.predicate_in = PREDICATE_FALSE;
        op.run(&op, &lanes, 0xffff0000);
        assert_int_equal(machine.predicates[1], 0x55555555);
    }
    ptx_module_destroy(module);
}

static void test_windows(void **state)
{
    (void)state;
    const struct ptx_instruction *instruction;
    struct ptx_module *module = parse_instruction("isspacep.shared %p0, %d1;", &instruction);
    for (int level = 0; level <= (int)lanes_level_best(); level++) {
        struct machine machine = {.predicates = {0}};
        struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
        struct operation op = {.source = {2, OPERAND_CONSTANT, OPERAND_CONSTANT | 2},
                               .predicate_out = {0, NO_PREDICATE},
                               .width_bytes = 8};
        for (unsigned lane = 0; lane < 32; lane++) {
            put_lane(machine.registers, 2, lane, 8, UINT64_C(0x100000000) + lane - 8);
            put_lane(machine.constants, 0, lane, 8, UINT64_C(0x100000000));
            put_lane(machine.constants, 2, lane, 8, 16);
        }
        lanes_select_at(level, instruction, &op)(&op, &lanes, 0xffffffff);
        assert_int_equal(machine.predicates[0], 0x00ffff00);
    }
    ptx_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comparisons),        cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_predicate_logic),    cmocka_unit_test(test_votes),
                                       cmocka_unit_test(test_predicate_operands), cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
