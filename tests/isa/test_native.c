/* SPDX-License-Identifier: MIT */
/*
 * Kernels drawn at random, run by machine code and without it: what is in memory in the end, the message of a fault, and what was counted are the
 * same. Single operations are compared in lanes_harness.h.
 */
#include "isa/runner.h"

#include <inttypes.h>

#define ROUNDS 400
#define TEXT_BYTES 20000
#define DATA_BYTES 4096u /* of shared memory, and of what is loaded; what is stored lies behind */

struct text {
    char *text;
    size_t length;
    uint64_t state;
    unsigned labels;
};

static uint64_t draw(struct text *to)
{
    uint64_t z = to->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned below(struct text *to, unsigned end)
{
    return (unsigned)(draw(to) % end);
}

static void put(struct text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    to->length += (size_t)vsnprintf(to->text + to->length, TEXT_BYTES - to->length, format, arguments);
    va_end(arguments);
    assert_true(to->length < TEXT_BYTES);
}

/* The guard of one instruction in three. */
static void put_guard(struct text *to)
{
    if (below(to, 3) == 0)
        put(to, "@%s%%p%u ", below(to, 2) ? "!" : "", below(to, 4));
}

/* Registers 0 to 7 of each kind are anything; 8 and 9 of 64 bits are addresses of what is loaded and stored. */
static void put_computation(struct text *to)
{
    static const char *const words[] = {"add.u32", "sub.u32",    "mul.lo.u32", "and.b32", "or.b32",
                                        "xor.b32", "min.s32",    "max.u32",    "shl.b32", "shr.u32",
                                        "shr.s32", "mul.hi.u32", "mul.hi.s32", "div.u32"};
    static const char *const longs[] = {"add.u64", "sub.u64", "mul.lo.u64", "and.b64", "xor.b64", "min.s64", "max.u64"};
    static const char *const floats[] = {"add.rn.f32", "sub.rn.f32", "mul.rn.f32",
                                         "div.rn.f32", "min.f32",    "add.rn.ftz.f32"};
    static const char *const compared[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    unsigned d = below(to, 8), a = below(to, 8), b = below(to, 8), c = below(to, 8);
    put_guard(to);
    switch (below(to, 14)) {
    case 0:
        put(to, "%s %%r%u, %%r%u, %%r%u;\n", words[below(to, 14)], d, a, b);
        break;
    case 1:
        put(to, "%s %%r%u, %%r%u, %u;\n", words[below(to, 14)], d, a, below(to, 40));
        break;
    case 2:
        put(to, "%s %%rd%u, %%rd%u, %%rd%u;\n", longs[below(to, 7)], d, a, b);
        break;
    case 3:
        put(to, "%s %%f%u, %%f%u, %%f%u;\n", floats[below(to, 6)], d, a, b);
        break;
    case 4:
        put(to, "fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", d, a, b, c);
        break;
    case 5:
        put(to, "mad.wide.%s32 %%rd%u, %%r%u, %%r%u, %%rd%u;\n", below(to, 2) ? "u" : "s", d, a, b, c);
        break;
    case 6:
        put(to, "setp.%s.%s %%p%u, %%r%u, %%r%u;\n", compared[below(to, 6)], below(to, 2) ? "u32" : "s32", below(to, 4),
            a, b);
        break;
    case 7:
        put(to, "setp.%s.and.f32 %%p%u, %%f%u, %%f%u, %s%%p%u;\n", compared[below(to, 6)], below(to, 4), a, b,
            below(to, 2) ? "!" : "", below(to, 4));
        break;
    case 8:
        put(to, "selp.b%u %%r%s%u, %%r%s%u, %%r%s%u, %%p%u;\n", 32u << (d & 1), d & 1 ? "d" : "", d, d & 1 ? "d" : "",
            a, d & 1 ? "d" : "", b, below(to, 4));
        break;
    case 9:
        put(to, "cvt.%s %%rd%u, %%r%u;\n", below(to, 2) ? "s64.s32" : "u64.u32", d, a);
        break;
    case 10:
        put(to, "cvt.u32.u64 %%r%u, %%rd%u;\n", d, a);
        break;
    case 11:
        put(to, "shl.b64 %%rd%u, %%rd%u, %%r%u;\n", d, a, b);
        break;
    case 12:
        put(to, "mov.u32 %%r%u, %%%s;\n", d, below(to, 2) ? "tid.x" : "laneid");
        break;
    default:
        put(to, "not.pred %%p%u, %%p%u;\n", below(to, 4), below(to, 4));
        break;
    }
}

/* %rd8: an address of what is loaded; its distances from lane to lane are of many kinds. */
static void put_address(struct text *to, unsigned bytes, bool shared)
{
    unsigned row = 1 + below(to, 32), most = DATA_BYTES / bytes - 256;
    switch (below(to, 6)) {
    case 0: /* one behind the other */
    case 1:
        put(to, "mov.u32 %%r8, %%tid.x;\n");
        break;
    case 2: /* in rows, which are some way apart */
        put(to, "mov.u32 %%r8, %%tid.x;\ndiv.u32 %%r9, %%r8, %u;\nmad.lo.u32 %%r8, %%r9, %u, %%r8;\n", row,
            below(to, 3));
        break;
    case 3: /* all the same */
        put(to, "mov.u32 %%r8, %u;\n", below(to, 200));
        break;
    case 4: /* anywhere */
        put(to, "and.b32 %%r8, %%r%u, 255;\n", below(to, 8));
        break;
    default: /* two lanes are apart */
        put(to, "mov.u32 %%r8, %%tid.x;\nsetp.eq.u32 %%p4, %%r8, %u;\nselp.u32 %%r8, %u, %%r8, %%p4;\n", below(to, 64),
            below(to, 64));
        break;
    }
    put(to, "add.u32 %%r8, %%r8, %u;\nmul.lo.u32 %%r8, %%r8, %u;\n", below(to, most), bytes);
    if (shared)
        put(to, "mov.u32 %%r9, words;\nadd.u32 %%r9, %%r9, %%r8;\n");
    else
        put(to, "cvt.u64.u32 %%rd8, %%r8;\nadd.u64 %%rd8, %%out, %%rd8;\n");
}

static void put_load(struct text *to)
{
    static const char *const types[] = {"u8 %r", "s8 %r", "u16 %r", "s16 %r", "u32 %r", "f32 %f", "u64 %rd"};
    static const unsigned bytes[] = {1, 1, 2, 2, 4, 4, 8};
    unsigned kind = below(to, 7);
    bool shared = below(to, 3) == 0;
    put_address(to, bytes[kind], shared);
    put_guard(to);
    put(to, "ld.%s.%s%u, [%s];\n", shared ? "shared" : "global", types[kind], below(to, 8), shared ? "%r9" : "%rd8");
}

/* Lanes may store to one place: the last one of them wins. */
static void put_store(struct text *to)
{
    static const char *const types[] = {"u8", "u16", "u32", "u64"};
    unsigned kind = below(to, 4);
    bool shared = below(to, 3) == 0;
    put_address(to, 1u << kind, shared);
    if (!shared)
        put(to, "add.u64 %%rd8, %%rd8, %u;\n", DATA_BYTES);
    put_guard(to);
    put(to, "st.%s.%s [%s], %s%u;\n", shared ? "shared" : "global", types[kind], shared ? "%r9" : "%rd8",
        kind == 3 ? "%rd" : "%r", below(to, 8));
}

static void put_statements(struct text *to, unsigned depth);

/* Lanes part and meet again, or go round for some time. */
static void put_branch(struct text *to, unsigned depth)
{
    unsigned label = to->labels++;
    if (below(to, 3)) {
        put(to, "@%s%%p%u bra OVER%u;\n", below(to, 2) ? "!" : "", below(to, 4), label);
        put_statements(to, depth + 1);
        put(to, "OVER%u:\n", label);
        return;
    }
    put(to, "and.b32 %%r%u, %%r%u, 3;\nLOOP%u:\n", 10 + depth, below(to, 8), label);
    put_statements(to, depth + 1);
    put(to, "sub.u32 %%r%u, %%r%u, 1;\nsetp.gt.s32 %%p5, %%r%u, 0;\n@%%p5 bra LOOP%u;\n", 10 + depth, 10 + depth,
        10 + depth, label);
}

static void put_statements(struct text *to, unsigned depth)
{
    for (unsigned left = 2 + below(to, 6); left; left--) {
        unsigned kind = below(to, 10);
        if (kind == 0 && depth < 3)
            put_branch(to, depth);
        else if (kind < 3)
            put_load(to);
        else if (kind < 5)
            put_store(to);
        else
            put_computation(to);
    }
}

static void put_kernel(struct text *to)
{
    put(to, HEAD ".visible .entry k(.param .u64 p)\n{\n.shared .align 8 .b8 words[4096];\n.reg .pred %%p<8>;\n"
                 ".reg .b32 %%r<16>;\n.reg .f32 %%f<8>;\n.reg .b64 %%rd<16>;\n.reg .b64 %%out, %%mine;\n"
                 "ld.param.u64 %%out, [p];\ncvta.to.global.u64 %%out, %%out;\nmov.u32 %%r8, %%tid.x;\n"
                 "mul.wide.u32 %%mine, %%r8, 4;\nadd.u64 %%mine, %%out, %%mine;\n"
                 "mov.u32 %%r9, words;\nmad.lo.u32 %%r9, %%r8, 4, %%r9;\nst.shared.u32 [%%r9], %%r8;\n");
    for (unsigned i = 0; i < 8; i++)
        put(to,
            "ld.global.u32 %%r%u, [%%mine+%u];\nld.global.f32 %%f%u, [%%mine+%u];\nld.global.u32 %%r9, [%%mine+%u];\n"
            "mul.wide.s32 %%rd%u, %%r9, %%r%u;\n",
            i, 256 * i, i, 256 * i + 64, 256 * i + 128, i, i);
    for (unsigned i = 0; i < 6; i++)
        put(to, "setp.lt.s32 %%p%u, %%r%u, %%r%u;\n", i, i, i + 1);
    for (unsigned part = 0; part < 4; part++) {
        put_statements(to, 0);
        put(to, "bar.sync 0;\n");
    }
    for (unsigned i = 0; i < 8; i++)
        put(to,
            "st.global.u32 [%%mine+%u], %%r%u;\nst.global.f32 [%%mine+%u], %%f%u;\ncvt.u32.u64 %%r9, %%rd%u;\n"
            "st.global.u32 [%%mine+%u], %%r9;\n",
            16384 + 1024 * i, i, 32768 + 1024 * i, i, i, 49152 + 1024 * i);
    put(to, "ret;\n}\n");
}

struct outcome {
    enum corun_status status;
    char message[1024];
    struct corun_functional_result count;
    uint32_t words[65536 / 4];
};

/* 90 threads: the last warp is not whole. The allocation ends where `bytes` do. */
static void run(const char *text, uint64_t seed, bool by_code, struct outcome *outcome)
{
    struct runner runner;
    runner_load(&runner, text);
    runner_use_code(&runner, by_code);
    uint32_t *words = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
    struct text random = {.state = seed};
    for (uint32_t i = 0; i < DATA_BYTES / 4; i++)
        words[i] = below(&random, 3) ? (uint32_t)draw(&random) : below(&random, 100);
    outcome->status = runner_run_grid(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){90, 1, 1}, 0,
                                      &runner.out, 8, 1000000);
    snprintf(outcome->message, sizeof outcome->message, "%u: %s", runner_line(&runner), runner_message(&runner));
    outcome->count = runner.count;
    memcpy(outcome->words, words, sizeof outcome->words);
    runner_free(&runner);
}

static void compare(const char *text, uint64_t seed)
{
    static struct outcome without, with;
    run(text, seed, false, &without);
    run(text, seed, true, &with);
    bool same = with.status == without.status && strcmp(with.message, without.message) == 0 &&
                memcmp(with.words, without.words, sizeof with.words) == 0 &&
                with.count.warp_instructions == without.count.warp_instructions &&
                with.count.thread_instructions == without.count.thread_instructions &&
                with.count.ptx_thread_instructions == without.count.ptx_thread_instructions &&
                with.count.global_bytes == without.count.global_bytes;
    if (!same)
        fail_msg("seed %" PRIu64 ": by machine code %d (%s), %" PRIu64 " instructions of warps, %" PRIu64
                 " of threads; without %d (%s), %" PRIu64 ", %" PRIu64 "\n%s",
                 seed, (int)with.status, with.message, with.count.warp_instructions, with.count.thread_instructions,
                 (int)without.status, without.message, without.count.warp_instructions,
                 without.count.thread_instructions, text);
}

static void test_random_kernels(void **state)
{
    (void)state;
    struct text text = {.text = malloc(TEXT_BYTES)};
    assert_non_null(text.text);
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        text = (struct text){.text = text.text, .state = seed};
        put_kernel(&text);
        compare(text.text, seed);
    }
    free(text.text);
}

/* `access` at %rd1, three times: the first time where nothing is wrong, then so many bytes further on. */
#define THRICE(step, access) \
    KERNEL(".shared .u32 words[64];\nmov.u32 %r5, 0;\nmov.u64 %rd1, %mine;\nmov.u32 %r1, words;\nmad.lo.u32 %r1, %t, " \
           "4, %r1;\n" \
           "setp.gt.u32 %p2, %t, 40;\nAGAIN:\n" access "add.u64 %rd1, %rd1, " step ";\nadd.u32 %r1, %r1, " step ";\n" \
           "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 3;\n@%p1 bra AGAIN;\n")

/* Some lanes leave what is allocated, or are not aligned: which thread is told of, and where. */
static void test_faults(void **state)
{
    (void)state;
    static const char *const texts[] = {
        THRICE("1", "ld.global.u32 %r2, [%rd1];\n"),
        THRICE("2", "@%p2 ld.global.u32 %r2, [%rd1];\n"),
        THRICE("2", "st.global.u32 [%rd1], %t;\n"),
        THRICE("65336", "ld.global.u32 %r2, [%rd1];\n"),
        THRICE("65336", "@%p2 st.global.u32 [%rd1], %t;\n"),
        THRICE("65336", "ld.global.u8 %r2, [%rd1];\n"),
        THRICE("1", "ld.shared.u32 %r2, [%r1];\n"),
        THRICE("60", "@!%p2 ld.shared.u32 %r2, [%r1];\n"),
        THRICE("60", "st.shared.u32 [%r1], %t;\n"),
        THRICE("65336", "mul.wide.u32 %rd2, %t, 12;\nadd.u64 %rd2, %rd2, %rd1;\nld.global.u32 %r2, [%rd2];\n"),
        THRICE("2", "mul.wide.u32 %rd2, %t, 12;\nadd.u64 %rd2, %rd2, %rd1;\nst.global.u32 [%rd2], %t;\n"),
        THRICE("65536", "ld.global.u32 %r2, [%out];\nmov.u64 %out, %rd1;\nld.global.u64 %rd3, [%out];\n")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static struct outcome with;
        compare(texts[i], i);
        run(texts[i], i, true, &with);
        assert_int_equal(with.status, CORUN_FAULT);
    }
}

/* Fields of bits and bytes whose places are constants. */
static void test_places(void **state)
{
    (void)state;
    static const unsigned places[] = {0, 1, 7, 8, 15, 16, 24, 31, 32, 40},
                          lengths[] = {0, 1, 2, 8, 16, 24, 31, 32, 33, 255};
    static const unsigned selectors[] = {0x3210, 0x0123, 0x7654, 0x4567, 0x7531, 0x6240,
                                         0x1111, 0x5555, 0x3333, 0x7777, 0xba98, 0x3218};
    struct text text = {.text = malloc(TEXT_BYTES)};
    assert_non_null(text.text);
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        unsigned offset = 8192;
        text.length = 0;
        put(&text,
            HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %%t, %%r<4>;\n.reg .b64 %%out, %%mine;\n"
                 "ld.param.u64 %%out, [p];\nmov.u32 %%t, %%tid.x;\nmul.wide.u32 %%mine, %%t, 4;\n"
                 "add.u64 %%mine, %%out, %%mine;\nld.global.u32 %%r0, [%%mine];\nld.global.u32 %%r1, [%%mine+1024];\n");
        for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++, offset += 1024)
            put(&text,
                "bfe.u32 %%r2, %%r0, %u, %u;\nst.global.u32 [%%mine+%u], %%r2;\nbfe.s32 %%r2, %%r1, %u, %u;\n"
                "st.global.u32 [%%mine+%u], %%r2;\n",
                places[i], lengths[l], offset, places[i], lengths[l], offset + 512);
        for (unsigned s = 0; s < sizeof selectors / sizeof *selectors; s++, offset += 512)
            put(&text, "prmt.b32 %%r2, %%r0, %%r1, %u;\nst.global.u32 [%%mine+%u], %%r2;\n", selectors[s], offset);
        put(&text, "ret;\n}\n");
        compare(text.text, 1 + i);
    }
    free(text.text);
}

/* Each float that is special in some way with each other one: in rows of 64 threads. */
static void test_floats(void **state)
{
    (void)state;
    static const uint32_t special[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
                                       0x7f800001, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
                                       0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x4f000000,
                                       0xcf000000, 0x4f800000, 0x4effffff, 0xcf000001, 0x34000000, 0x42280000};
    static const char *const operations[] = {"min.f32 %f3, %f1, %f2;\n",
                                             "max.f32 %f3, %f1, %f2;\n",
                                             "add.rn.f32 %f3, %f1, %f2;\n",
                                             "mul.rn.f32 %f3, %f1, %f2;\n",
                                             "sub.rn.f32 %f3, %f1, %f2;\n",
                                             "div.rn.f32 %f3, %f1, %f2;\n",
                                             "neg.f32 %f3, %f1;\n",
                                             "abs.f32 %f3, %f1;\n",
                                             "fma.rn.f32 %f3, %f1, %f2, %f1;\n",
                                             "cvt.rzi.s32.f32 %r1, %f1;\nmov.b32 %f3, %r1;\n",
                                             "rsqrt.approx.f32 %f3, %f1;\n"};
    const uint32_t count = sizeof special / sizeof *special;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        char text[4096];
        uint32_t found[2][64];
        snprintf(
            text, sizeof text, "%s%s%s",
            HEAD
            ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %t, %r1;\n.reg .f32 %f<4>;\n.reg .b64 %out, %mine;\n"
            "ld.param.u64 %out, [p];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %mine, %t, 4;\nadd.u64 %mine, %out, %mine;\n"
            "ld.global.f32 %f1, [%mine];\nld.global.f32 %f2, [%mine+256];\n",
            operations[i], "st.global.f32 [%mine+512], %f3;\nret;\n}\n");
        for (uint32_t a = 0; a < count; a++) {
            for (uint32_t by_code = 0; by_code < 2; by_code++) {
                struct runner runner;
                runner_load(&runner, text);
                runner_use_code(&runner, by_code);
                uint32_t *words = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
                for (uint32_t lane = 0; lane < 64; lane++) {
                    words[lane] = special[a];
                    words[64 + lane] = special[lane % count];
                }
                assert_int_equal(runner_try(&runner, 64), CORUN_OK);
                memcpy(found[by_code], words + 128, sizeof found[0]);
                runner_free(&runner);
            }
            for (uint32_t lane = 0; lane < 64; lane++)
                if (found[0][lane] != found[1][lane])
                    fail_msg("%sof %08x and %08x: %08x by machine code, %08x without", operations[i], special[a],
                             special[lane % count], found[1][lane], found[0][lane]);
        }
    }
}

/* All floats from 1 to 4; all others are these times a power of four. */
static void test_reciprocal_roots(void **state)
{
    (void)state;
    struct runner runners[2];
    uint32_t *words[2];
    const uint32_t threads = 1024;
    for (uint32_t by_code = 0; by_code < 2; by_code++) {
        runner_load(&runners[by_code],
                    KERNEL("ld.global.u32 %r1, [%out+65532];\nadd.u32 %r1, %r1, %t;\nAGAIN:\nmov.b32 %f1, %r1;\n"
                           "rsqrt.approx.f32 %f2, %f1;\nst.global.f32 [%mine], %f2;\n"
                           "add.u32 %r1, %r1, 1024;\nadd.u64 %mine, %mine, 4096;\nadd.u32 %r2, %r2, 1;\n"
                           "setp.lt.u32 %p1, %r2, 15;\n@%p1 bra AGAIN;\n"));
        runner_use_code(&runners[by_code], by_code);
        words[by_code] =
            corun_memory_pointer(runners[by_code].memory, runners[by_code].out, runners[by_code].out_bytes);
    }
    for (uint32_t first = 0x3f800000; first < 0x40800000; first += 15 * threads) {
        for (uint32_t by_code = 0; by_code < 2; by_code++) {
            words[by_code][16383] = first;
            assert_int_equal(runner_try(&runners[by_code], threads), CORUN_OK);
        }
        for (uint32_t i = 0; i < 15 * threads; i++)
            if (words[0][i] != words[1][i])
                fail_msg("of %08x: %08x by machine code, %08x without", first + i, words[1][i], words[0][i]);
    }
    runner_free(&runners[0]);
    runner_free(&runners[1]);
}

/* What is stored is the address. */
static void test_addresses(void **state)
{
    (void)state;
    compare(THRICE("8", "mul.wide.u32 %rd2, %t, 24;\nadd.u64 %rd2, %rd2, %rd1;\nand.b64 %rd2, %rd2, -8;\nst.global.u64 "
                        "[%rd2], %rd2;\n"
                        "mul.lo.u32 %r2, %r1, 8;\nand.b32 %r2, %r2, 248;\nst.shared.u32 [%r2], %r2;\n"
                        "ld.shared.u32 %r3, [%r1];\nst.global.u32 [%mine+32768], %r3;\n"),
            1);
}

/* A loop without an end is stopped when it has had as many instructions as it may have. */
static void test_watchdog(void **state)
{
    (void)state;
    compare(KERNEL("LOOP:\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%mine], %r1;\nbra LOOP;\n"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_kernels),   cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_places),           cmocka_unit_test(test_floats),
                                       cmocka_unit_test(test_reciprocal_roots), cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_watchdog)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
