/* SPDX-License-Identifier: MIT */
/*
 * Scalar video operations with drawn types, parts of operands, signs, saturation and second operations, and vset2 and vset4, against the steps that the
 * PTX ISA writes down for them, with numbers of 128 bits in place of its 33 and 34.
 */
#include "runner.h"

enum { OPERATIONS = 1600, TOGETHER = 32, LANES = 32 };

static uint64_t state_of_draw = 88172645463325252u;

static uint32_t draw(void)
{
    state_of_draw = state_of_draw * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_draw >> 32);
}

enum { ADD, SUB, DIFFERENCE, MIN, MAX, LEFT, RIGHT, MULTIPLY, COMPARE, COMPARE2, COMPARE4, NAMES };
static const char *const names[NAMES] = {"vadd", "vsub", "vabsdiff", "vmin",  "vmax", "vshl",
                                         "vshr", "vmad", "vset",     "vset2", "vset4"};
static const char *const parts[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
static const char *const types[] = {"u32", "s32"};
static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const seconds[] = {"", ".add", ".min", ".max"};
static const char *const scales[] = {"", ".shr7", ".shr15"};

struct operation_drawn {
    uint32_t name, comparison, second, scale;
    uint32_t d_part, a_part, b_part;
    bool d_signed, a_signed, b_signed, saturates, wraps, plus, a_negated, b_negated, c_negated, has_c;
};

static struct operation_drawn draw_operation(void)
{
    struct operation_drawn o = {.name = draw() % NAMES,
                                .comparison = draw() % 6,
                                .a_part = draw() % 7,
                                .b_part = draw() % 7,
                                .d_signed = draw() % 2,
                                .a_signed = draw() % 2,
                                .b_signed = draw() % 2,
                                .saturates = draw() % 2,
                                .wraps = draw() % 2};
    bool shifts = o.name == LEFT || o.name == RIGHT;
    if (shifts)
        o.b_signed = false;
    if (o.name >= COMPARE)
        o.saturates = o.d_signed = false;
    if (o.name > COMPARE) {
        o.a_part = o.b_part = 0;
        o.second = draw() % 2;
        o.has_c = true;
    } else if (o.name == MULTIPLY) {
        o.scale = draw() % 3;
        o.plus = draw() % 4 == 0;
        o.has_c = true;
        if (!o.plus && draw() % 2) {
            o.a_negated = draw() % 2;
            o.b_negated = draw() % 2;
            o.c_negated = o.a_negated == o.b_negated && draw() % 2;
        }
    } else if (draw() % 3) {
        o.has_c = true;
        if (draw() % 2)
            o.second = 1 + draw() % 3;
        else
            o.d_part = 1 + draw() % 6;
    }
    return o;
}

static void write_operation(char *text, size_t room, const struct operation_drawn *o, uint32_t number)
{
    char words[64] = "";
    if (o->name == MULTIPLY)
        snprintf(words, sizeof words, "%s%s%s", o->plus ? ".po" : "", o->saturates ? ".sat" : "", scales[o->scale]);
    else if (o->name >= COMPARE)
        snprintf(words, sizeof words, ".%s%s", comparisons[o->comparison], seconds[o->second]);
    else
        snprintf(words, sizeof words, "%s%s%s", o->saturates ? ".sat" : "",
                 o->name == LEFT || o->name == RIGHT ? o->wraps ? ".wrap" : ".clamp" : "", seconds[o->second]);
    char d_type[8] = "";
    if (o->name < COMPARE)
        snprintf(d_type, sizeof d_type, ".%s", types[o->d_signed]);
    snprintf(text, room, "%s%s.%s.%s%s %%r4%s, %s%%r1%s, %s%%r2%s%s%s;\nst.global.u32 [%%mine+%u], %%r4;\n",
             names[o->name], d_type, types[o->a_signed], types[o->b_signed], words, parts[o->d_part],
             o->a_negated ? "-" : "", parts[o->a_part], o->b_negated ? "-" : "", parts[o->b_part],
             o->has_c ? o->c_negated ? ", -" : ", " : "", o->has_c ? "%r3" : "", 4096 + 128 * number);
}

/* partSelectSignExtend */
static long long selected(uint32_t value, uint32_t part, bool is_signed)
{
    if (part == 0)
        return is_signed ? (int32_t)value : (long long)value;
    if (part <= 4) {
        uint32_t byte = value / (1u << 8 * (part - 1)) % 256;
        return is_signed && byte > 127 ? (long long)byte - 256 : (long long)byte;
    }
    uint32_t half = part == 5 ? value % 65536 : value / 65536;
    return is_signed && half > 32767 ? (long long)half - 65536 : (long long)half;
}

typedef __int128 wide;

/* optSaturate */
static wide saturated(wide value, bool is_signed, uint32_t part)
{
    wide top = part == 0 ? ((wide)1 << 32) : part <= 4 ? 256 : 65536;
    wide most = is_signed ? top / 2 - 1 : top - 1, least = is_signed ? -top / 2 : 0;
    return value > most ? most : value < least ? least : value;
}

static bool compared(uint32_t comparison, long long a, long long b)
{
    return comparison == 0   ? a == b
           : comparison == 1 ? a != b
           : comparison == 2 ? a < b
           : comparison == 3 ? a <= b
           : comparison == 4 ? a > b
                             : a >= b;
}

static uint32_t multiplied(const struct operation_drawn *o, long long a, long long b, uint32_t c)
{
    bool negated = o->a_negated != o->b_negated, final = o->a_signed || o->b_signed || negated || o->c_negated;
    wide sum = (wide)a * b, with = final ? (int32_t)c : (wide)c;
    int places = o->scale == 1 ? 7 : o->scale == 2 ? 15 : 0;
    sum = (negated ? -sum : sum) + (o->c_negated ? -with : with) + o->plus;
    wide divisor = (wide)1 << places, result = sum / divisor;
    if (sum % divisor < 0)
        result--; /* down */
    return (uint32_t)(o->saturates ? saturated(result, final, 0) : result);
}

static uint32_t expected(const struct operation_drawn *o, uint32_t a, uint32_t b, uint32_t c)
{
    long long x = selected(a, o->a_part, o->a_signed), y = selected(b, o->b_part, o->b_signed);
    if (o->name > COMPARE) {
        uint32_t count = o->name == COMPARE2 ? 2 : 4, first = count == 2 ? 5 : 1, sum = c, result = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t truth =
                compared(o->comparison, selected(a, first + i, o->a_signed), selected(b, first + i, o->b_signed));
            sum += truth;
            result += truth << 32 / count * i;
        }
        return o->second ? sum : result;
    }
    if (o->name == MULTIPLY)
        return multiplied(o, x, y, c);
    long long places = o->wraps ? y % 32 : y > 32 ? 32 : y;
    wide value = o->name == ADD          ? (wide)x + y
                 : o->name == SUB        ? (wide)x - y
                 : o->name == DIFFERENCE ? (x > y ? (wide)x - y : (wide)y - x)
                 : o->name == MIN        ? (x < y ? x : y)
                 : o->name == MAX        ? (x > y ? x : y)
                 : o->name == LEFT       ? (wide)x * ((wide)1 << places)
                 : o->name == RIGHT      ? (x < 0 ? -((-x - 1) >> places) - 1 : x >> places)
                                         : compared(o->comparison, x, y);
    if (o->saturates)
        value = saturated(value, o->d_signed, o->d_part);
    wide with = o->d_signed ? (int32_t)c : (wide)c;
    value = o->second == 1   ? value + with
            : o->second == 2 ? (value < with ? value : with)
            : o->second == 3 ? (value > with ? value : with)
                             : value;
    uint32_t low = (uint32_t)value;
    if (o->d_part == 0)
        return low;
    uint32_t bits = o->d_part <= 4 ? 8 : 16, at = o->d_part <= 4 ? 8 * (o->d_part - 1) : 16 * (o->d_part - 5);
    for (uint32_t i = 0; i < bits; i++)
        c = (c & ~(1u << (at + i))) | (low >> i & 1u) << (at + i);
    return c;
}

static uint32_t draw_value(void)
{
    static const uint32_t edges[] = {0,   1,     31,    32,    33,         127,        128,
                                     255, 32767, 32768, 65535, 0x7fffffff, 0x80000000, 0xffffffff};
    return draw() % 3 ? draw() : edges[draw() % (sizeof edges / sizeof *edges)];
}

/* Runs a body on drawn numbers. `path`: where its text goes, for a look at it, and for NVIDIA's assembler. */
static void load_text(struct runner *runner, char *text, size_t room, const char *body, const char *path,
                      uint32_t inputs[3][LANES])
{
    static const char empty[] = KERNEL("");
    size_t head = (size_t)(strstr(empty, "\nret;") - empty);
    snprintf(text, room, "%.*s%s%s", (int)head, empty, body, empty + head);
    if (path) {
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
    }
    runner_load(runner, text);
    for (uint32_t i = 0; i < 3 * LANES; i++)
        inputs[i / LANES][i % LANES] = draw_value();
    assert_int_equal(corun_memory_write(runner->memory, runner->out, inputs, 3 * LANES * sizeof(uint32_t)), CORUN_OK);
    assert_int_equal(runner_try(runner, LANES), CORUN_OK);
}

static void run_some(const char *path)
{
    static char text[20000];
    struct operation_drawn operations[TOGETHER];
    struct runner runner;
    char body[16000] =
        "ld.global.u32 %r1, [%mine];\nld.global.u32 %r2, [%mine+128];\nld.global.u32 %r3, [%mine+256];\n";
    for (uint32_t i = 0; i < TOGETHER; i++) {
        operations[i] = draw_operation();
        size_t used = strlen(body);
        write_operation(body + used, sizeof body - used, &operations[i], i);
    }
    uint32_t inputs[3][LANES];
    load_text(&runner, text, sizeof text, body, path, inputs);
    for (uint32_t i = 0; i < TOGETHER; i++)
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint32_t found = runner_words(&runner)[1024 + LANES * i + lane];
            uint32_t wanted = expected(&operations[i], inputs[0][lane], inputs[1][lane], inputs[2][lane]);
            if (found == wanted)
                continue;
            write_operation(body, sizeof body, &operations[i], i);
            fail_msg("%08x, not %08x, of %08x %08x %08x: %s", found, wanted, inputs[0][lane], inputs[1][lane],
                     inputs[2][lane], body);
        }
    runner_free(&runner);
}

static void test_scalar(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < OPERATIONS / TOGETHER; i++)
        run_some(i ? NULL : getenv("CORUN_TEST_VIDEO_TEXT"));
}

/* ---- selectors of the operations on two halves and four bytes ---- */

struct selecting {
    uint32_t count, operation, comparison, a[4], b[4],
        mask; /* selectors from the lowest element on; mask: a bit for each */
    bool writes_a, writes_b, writes_mask, adds, saturates, d_signed, a_signed, b_signed;
};
enum { VADD, VSUB, VAVRG, VABSDIFF, VMIN, VMAX, VSET, SIMD_NAMES };
static const char *const simd_names[SIMD_NAMES] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"};

static struct selecting draw_selecting(void)
{
    struct selecting s = {.operation = draw() % SIMD_NAMES,
                          .count = 2 + 2 * (draw() % 2),
                          .comparison = draw() % 6,
                          .writes_a = draw() % 4 != 0,
                          .writes_b = draw() % 4 != 0,
                          .writes_mask = draw() % 4 != 0,
                          .adds = draw() % 2,
                          .d_signed = draw() % 2,
                          .a_signed = draw() % 2,
                          .b_signed = draw() % 2};
    s.saturates = !s.adds && s.operation != VSET && draw() % 2;
    s.d_signed &= s.operation != VSET;
    for (uint32_t i = 0; i < s.count; i++) {
        s.a[i] = s.writes_a ? draw() % (2 * s.count) : i;
        s.b[i] = s.writes_b ? draw() % (2 * s.count) : s.count + i;
    }
    uint32_t all = (1u << s.count) - 1;
    s.mask = s.writes_mask ? 1 + draw() % all : all;
    return s;
}

static void write_selector(char *text, const struct selecting *s, const uint32_t *elements)
{
    *text++ = '.';
    *text++ = s->count == 2 ? 'h' : 'b';
    for (uint32_t i = s->count; i-- > 0;)
        *text++ = (char)('0' + elements[i]);
    *text = 0;
}

static void write_selecting(char *text, size_t room, const struct selecting *s, uint32_t number)
{
    char a[8] = "", b[8] = "", d[8] = "", words[32] = "", *at = d;
    if (s->writes_a)
        write_selector(a, s, s->a);
    if (s->writes_b)
        write_selector(b, s, s->b);
    if (s->writes_mask) {
        *at++ = '.';
        *at++ = s->count == 2 ? 'h' : 'b';
        for (uint32_t i = s->count; i-- > 0;)
            if (s->mask >> i & 1)
                *at++ = (char)('0' + i);
    }
    if (s->operation == VSET)
        snprintf(words, sizeof words, ".%s.%s.%s", types[s->a_signed], types[s->b_signed], comparisons[s->comparison]);
    else
        snprintf(words, sizeof words, ".%s.%s.%s%s", types[s->d_signed], types[s->a_signed], types[s->b_signed],
                 s->saturates ? ".sat" : "");
    snprintf(text, room, "%s%u%s%s %%r4%s, %%r1%s, %%r2%s, %%r3;\nst.global.u32 [%%mine+%u], %%r4;\n",
             simd_names[s->operation], s->count, words, s->adds ? ".add" : "", d, a, b, 4096 + 128 * number);
}

static int64_t element(uint32_t a, uint32_t b, uint32_t index, uint32_t count, bool is_signed)
{
    uint32_t bits = 32 / count, value = (index < count ? a : b) >> index % count * bits & ((1u << bits) - 1);
    return is_signed && value >> (bits - 1) ? (int64_t)value - (INT64_C(1) << bits) : value;
}

static uint32_t expected_of_selectors(const struct selecting *s, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t bits = 32 / s->count, ones = (1u << bits) - 1, merged = 0, sum = c;
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t x = element(a, b, s->a[i], s->count, s->a_signed), y = element(a, b, s->b[i], s->count, s->b_signed);
        int64_t results[] = {x + y,         x - y, (x + y + (x + y >= 0)) >> 1, x < y ? y - x : x - y, x < y ? x : y,
                             x > y ? x : y, 0},
                value = results[s->operation];
        bool truths[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
        int64_t most = s->d_signed ? ones >> 1 : ones, least = s->d_signed ? -most - 1 : 0;
        if (s->operation == VSET)
            value = truths[s->comparison];
        if (s->saturates)
            value = value < least ? least : value > most ? most : value;
        bool chosen = s->mask >> i & 1;
        merged |= (chosen ? (uint32_t)value & ones : c >> i * bits & ones) << i * bits;
        sum += chosen ? (uint32_t)value : 0;
    }
    return s->adds ? sum : merged;
}

static void select_some(const char *path)
{
    static char text[20000];
    struct selecting operations[TOGETHER];
    struct runner runner;
    char body[16000] =
        "ld.global.u32 %r1, [%mine];\nld.global.u32 %r2, [%mine+128];\nld.global.u32 %r3, [%mine+256];\n";
    for (uint32_t i = 0; i < TOGETHER; i++) {
        operations[i] = draw_selecting();
        size_t used = strlen(body);
        write_selecting(body + used, sizeof body - used, &operations[i], i);
    }
    uint32_t inputs[3][LANES];
    load_text(&runner, text, sizeof text, body, path, inputs);
    for (uint32_t i = 0; i < TOGETHER; i++)
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint32_t found = runner_words(&runner)[1024 + LANES * i + lane];
            uint32_t wanted = expected_of_selectors(&operations[i], inputs[0][lane], inputs[1][lane], inputs[2][lane]);
            if (found == wanted)
                continue;
            write_selecting(body, sizeof body, &operations[i], i);
            fail_msg("%08x, not %08x, of %08x %08x %08x: %s", found, wanted, inputs[0][lane], inputs[1][lane],
                     inputs[2][lane], body);
        }
    runner_free(&runner);
}

static void test_selectors(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < OPERATIONS / TOGETHER; i++)
        select_some(i ? NULL : getenv("CORUN_TEST_SELECTORS_TEXT"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_selectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
