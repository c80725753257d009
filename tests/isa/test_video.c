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
    static const char empty[] = KERNEL("");
    size_t head = (size_t)(strstr(empty, "\nret;") - empty);
    snprintf(text, sizeof text, "%.*s%s%s", (int)head, empty, body, empty + head);
    if (path) { /* for a look at them, and for NVIDIA's assembler */
        FILE *file = fopen(path, "w");
        fputs(text, file);
        fclose(file);
    }
    runner_load(&runner, text);
    uint32_t inputs[3][LANES];
    for (uint32_t i = 0; i < 3 * LANES; i++)
        inputs[i / LANES][i % LANES] = draw_value();
    assert_int_equal(corun_memory_write(runner.memory, runner.out, inputs, sizeof inputs), CORUN_OK);
    assert_int_equal(runner_try(&runner, LANES), CORUN_OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
