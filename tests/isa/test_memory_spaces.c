/* SPDX-License-Identifier: MIT */
/* Loads, stores and atomics of every space, and what happens when they go wrong. */
#include "runner.h"

#include "isa/memory.h"

static void test_vectors_and_narrow_types(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL("mul.wide.u32 %rd1, %t, 16;\nadd.u64 %rd1, %out, %rd1;\n"
               "add.u32 %r1, %t, 1;\nadd.u32 %r2, %t, 2;\nadd.u32 %r3, %t, 3;\n"
               "st.global.v4.u32 [%rd1], {%t, %r1, %r2, %r3};\n"
               "ld.global.v2.u64 {%rd2, %rd3}, [%rd1];\n"
               "ld.global.v4.u8 {%r4, %r5, %r6, %r7}, [%rd1+4];\n"
               "st.global.v2.u64 [%rd1+4096], {%rd3, %rd2};\n"
               "neg.s32 %r8, %t;\nst.global.u8 [%rd1+8192], %r8;\nst.global.u16 [%rd1+8194], %r8;\n"
               "ld.global.s8 %r9, [%rd1+8192];\nld.global.u16 %r10, [%rd1+8194];\nld.global.s16 %rd4, [%rd1+8194];\n"
               "st.global.u32 [%rd1+8196], %r9;\nst.global.u32 [%rd1+8200], %r10;\n"
               "shr.s64 %rd4, %rd4, 32;\nst.global.u32 [%rd1+8204], %rd4;\n"
               "st.global.u32 [%rd1+16384], %r4;"),
        32);
    for (uint32_t t = 0; t < 32; t++) {
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(words[4 * t + i], t + i);
            assert_int_equal(words[1024 + 4 * t + i], t + (i + 2) % 4);
        }
        assert_int_equal(words[2048 + 4 * t], ((0u - t) & 0xff) | (0u - t) << 16);
        assert_int_equal(words[2048 + 4 * t + 1], (uint32_t)(int8_t)(0u - t));
        assert_int_equal(words[2048 + 4 * t + 2], (0u - t) & 0xffff);
        assert_int_equal(words[2048 + 4 * t + 3], t ? 0xffffffffu : 0);
        assert_int_equal(words[4096 + 4 * t], (t + 1) & 0xff);
    }
    runner_free(&runner);
}

/* Rows, parts of rows, one address for all and any addresses, of every width. */
static void test_shapes_of_accesses(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL("mul.lo.u32 %r1, %t, 0x8f0b0705;\nadd.u32 %r1, %r1, 0x71;\nst.global.u32 [%mine], %r1;\n"
               "bar.sync 0;\n"
               "setp.ge.u32 %p1, %t, 4;\nsetp.lt.and.u32 %p1, %t, 20, %p1;\n"
               "cvt.u64.u32 %rd1, %t;\nadd.u64 %rd2, %out, %rd1;\nadd.u64 %rd3, %rd2, %rd1;\n"
               "mul.wide.u32 %rd4, %t, 8;\nadd.u64 %rd4, %out, %rd4;\n"
               "ld.global.s8 %r2, [%rd2];\nst.global.u32 [%mine+1024], %r2;\n" /* a row */
               "mov.u32 %r3, 7;\n@%p1 ld.global.u16 %r3, [%rd3];\n"            /* a part of one */
               "st.global.u32 [%mine+2048], %r3;\n"
               "ld.global.s16 %r4, [%out+6];\nst.global.u32 [%mine+3072], %r4;\n" /* one address */
               "ld.global.v4.u32 {%r5, %r6, _, %r7}, [%out+16];\n"
               "add.u32 %r5, %r5, %r6;\nxor.b32 %r5, %r5, %r7;\nst.global.u32 [%mine+4096], %r5;\n"
               "and.b32 %r8, %t, 15;\nmul.wide.u32 %rd5, %r8, 8;\nadd.u64 %rd5, %out, %rd5;\n"
               "ld.global.v2.u32 {%r9, %r10}, [%rd5];\nsub.u32 %r9, %r9, %r10;\nst.global.u32 [%mine+5120], %r9;\n"
               "ld.global.u64 %rd6, [%rd5];\nst.global.u64 [%rd4+8192], %rd6;\n" /* any */
               "@%p1 st.global.u16 [%rd3+12288], %r1;\nst.global.u8 [%rd2+13312], %r1;"),
        32);
    uint32_t from[32];
    for (uint32_t t = 0; t < 32; t++)
        from[t] = t * 0x8f0b0705u + 0x71u;
    const int8_t *bytes = (const int8_t *)from;
    const uint16_t *halves = (const uint16_t *)from;
    for (uint32_t t = 0; t < 32; t++) {
        bool part = t >= 4 && t < 20;
        assert_int_equal(words[256 + t], (uint32_t)bytes[t]);
        assert_int_equal(words[512 + t], part ? halves[t] : 7);
        assert_int_equal(words[768 + t], (uint32_t)(int16_t)halves[3]);
        assert_int_equal(words[1024 + t], (from[4] + from[5]) ^ from[7]);
        assert_int_equal(words[1280 + t], from[2 * (t & 15)] - from[2 * (t & 15) + 1]);
        assert_int_equal(words[2048 + 2 * t], from[2 * (t & 15)]);
        assert_int_equal(words[2048 + 2 * t + 1], from[2 * (t & 15) + 1]);
        assert_int_equal(((const uint16_t *)(words + 3072))[t], part ? (uint16_t)from[t] : 0);
        assert_int_equal(((const uint8_t *)(words + 3328))[t], (uint8_t)from[t]);
    }
    runner_free(&runner);
}

/* KERNEL of a body that is made at run time. */
static const char *whole_kernel(char *text, size_t bytes, const char *body)
{
    static const char whole[] = KERNEL("!");
    const char *place = strchr(whole, '!');
    snprintf(text, bytes, "%.*s%s%s", (int)(place - whole), whole, body, place + 1);
    return text;
}

/* Lanes in rows of 16 or 8, as those of tiles: loaded from one pitch and stored with another, in every width. */
static void test_rows_of_tiles(void **state)
{
    (void)state;
    static const struct {
        const char *type, *value;
        uint32_t bytes;
    } widths[] = {{"u8", "%r3", 1}, {"u16", "%r3", 2}, {"u32", "%r3", 4}, {"u64", "%rd3", 8}};
    for (uint32_t w = 0; w < 4; w++)
        for (uint32_t rows = 2; rows <= 16; rows *= 2) { /* of 16, 8, 4 and 2 lanes */
            char body[2048], text[4096];
            uint32_t lanes = 32 / rows, from = lanes + 3, to = lanes + 5, bytes = widths[w].bytes;
            snprintf(body, sizeof body,
                     "div.u32 %%r1, %%t, %u;\nrem.u32 %%r2, %%t, %u;\n"
                     "mad.lo.u32 %%r4, %%r1, %u, %%r2;\nmul.wide.u32 %%rd1, %%r4, %u;\nadd.u64 %%rd1, %%out, %%rd1;\n"
                     "mad.lo.u32 %%r5, %%r1, %u, %%r2;\nmul.wide.u32 %%rd2, %%r5, %u;\nadd.u64 %%rd2, %%out, %%rd2;\n"
                     "ld.global.%s %s, [%%rd1];\nst.global.%s [%%rd2+8192], %s;",
                     lanes, lanes, from, bytes, to, bytes, widths[w].type, widths[w].value, widths[w].type,
                     widths[w].value);
            struct runner runner;
            runner_load(&runner, whole_kernel(text, sizeof text, body));
            uint8_t *data = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
            for (uint32_t i = 0; i < 4096; i++)
                data[i] = (uint8_t)(i * 7 + i / 256);
            for (uint32_t turn = 0; turn < 2; turn++) /* the place is known the second time */
                assert_int_equal(runner_try(&runner, 32), CORUN_OK);
            for (uint32_t t = 0; t < 32; t++)
                assert_memory_equal(data + 8192 + (t / lanes * to + t % lanes) * bytes,
                                    data + (t / lanes * from + t % lanes) * bytes, bytes);
            for (uint32_t i = 0; i + 1 < rows; i++) /* between two rows nothing is written */
                for (uint32_t k = 0; k < 5 * bytes; k++)
                    assert_int_equal(data[8192 + (i * to + lanes) * bytes + k], 0);
            runner_free(&runner);
        }
}

/* What a thread block finds in registers that it has not written does not depend on what the one before has left there. */
static void test_registers_that_nobody_wrote(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        /* a branch goes round the write */
        "@%%p1 bra LATER;\nmov.u32 %%r3, %u;\nLATER:\nst.global.u32 [%%mine], %%r3;",
        /* so does a guard */
        "@!%%p1 mov.u32 %%r3, %u;\nst.global.u32 [%%mine], %%r3;",
        /* a shuffle reads registers of lanes that have not come to the write; nothing else shares their slots: %t is needed later */
        "mov.u32 %%r5, 5;\n@!%%p1 mov.u32 %%r5, %u;\nmov.u32 %%r4, 0;\n@!%%p1 bra WRITE;\n"
        "setp.lt.u32 %%p2, %%t, 16;\n@!%%p2 bra LATER;\n"
        "WRITE:\nadd.u32 %%r3, %%r5, 1;\nshfl.sync.bfly.b32 %%r4, %%r3, 16, 31, 0xffffffff;\nLATER:\n"
        "st.global.u32 [%%mine], %%r4;\nst.global.u32 [%%mine+1024], %%t;\nst.global.u32 [%%mine+2048], %%r5;"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        uint32_t found[2][32];
        for (uint32_t left = 0; left < 2; left++) {
            char body[2048], text[4096];
            struct runner runner;
            int at = snprintf(body, sizeof body, "mov.u32 %%r9, %%ctaid.x;\nsetp.ne.u32 %%p1, %%r9, 0;\n");
            snprintf(body + at, sizeof body - (size_t)at, bodies[i], 77 + left);
            runner_load(&runner, whole_kernel(text, sizeof text, body));
            assert_int_equal(runner_run_grid(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){32, 1, 1},
                                             0, &runner.out, 8, 1000000),
                             CORUN_OK);
            memcpy(found[left], runner_words(&runner), sizeof found[left]);
            runner_free(&runner);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
    }
}

static void test_partial_warps_and_scatter(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        runner_run(&runner,
                   KERNEL("and.b32 %r1, %t, 5;\nsetp.eq.u32 %p1, %r1, 5;\n"
                          "@%p1 st.global.u32 [%mine], %t;\n" /* unit stride with holes */
                          "xor.b32 %r2, %t, 21;\nmul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %out, %rd1;\n"
                          "st.global.u32 [%rd1+1024], %t;\n" /* any order */
                          "ld.global.u32 %r3, [%rd1+1024];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%mine+2048], %r3;\n"
                          "mov.u32 %r4, 77;\n@%p1 ld.global.u32 %r4, [%mine];\nst.global.u32 [%mine+3072], %r4;\n"
                          "ld.global.u32 %r5, [%out+20];\nst.global.u32 [%mine+4096], %r5;"),
                   48);
    for (uint32_t t = 0; t < 48; t++) {
        assert_int_equal(words[t], (t & 5) == 5 ? t : 0);
        assert_int_equal(words[256 + (t ^ 21)], t);
        assert_int_equal(words[512 + t], t + 1);
        assert_int_equal(words[768 + t], (t & 5) == 5 ? t : 77);
        assert_int_equal(words[1024 + t], 5);
    }
    runner_free(&runner);
}

static void test_variables_of_the_module(void **state)
{
    (void)state;
    struct runner runner;
    static char text[4096];
    snprintf(
        text, sizeof text, HEAD "%s%s",
        ".const .align 4 .u32 coefficients[4] = {10, 20, 30};\n"
        ".global .align 4 .u32 big[2000000000] = {6};\n.global .align 4 .u32 counter = 41;\n.global .align 8 .u64 "
        "pointer = generic(counter);\n",
        &KERNEL(
            "and.b32 %r1, %t, 3;\nmul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, coefficients;\nadd.u64 %rd1, %rd1, %rd2;\n"
            "ld.const.u32 %r2, [%rd1];\nld.const.u32 %r3, [coefficients+8];\n"
            "ld.global.u64 %rd3, [pointer];\nld.u32 %r4, [%rd3];\n"
            "cvta.const.u64 %rd4, %rd2;\nld.u32 %r5, [%rd4+4];\n"
            "add.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r2, %r2, %r5;\nst.global.u32 [%mine], %r2;\n"
            "st.global.u32 [counter], 99;")[strlen(HEAD)]);
    const uint32_t *words = runner_run(&runner, text, 32);
    static const uint32_t coefficients[4] = {10, 20, 30, 0};
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(words[t], coefficients[t & 3] + 30 + 41 + 20);
    uint64_t bytes = 0, address = corun_module_instance_variable(runner.instance, "counter", &bytes);
    uint32_t value = 0;
    assert_int_equal(bytes, 4);
    assert_int_equal(corun_memory_read(runner.memory, address, &value, 4), CORUN_OK);
    assert_int_equal(value, 99);
    uint64_t big = corun_module_instance_variable(runner.instance, "big", &bytes);
    assert_int_equal(bytes, 8000000000);
    corun_memory_read(runner.memory, big, &value, 4);
    assert_int_equal(value, 6);
    corun_memory_write(runner.memory, big + 7000000000, &value, 4);
    corun_module_instance_reset(runner.instance);
    corun_memory_read(runner.memory, address, &value, 4);
    assert_int_equal(value, 41);
    corun_memory_read(runner.memory, big, &value, 4);
    assert_int_equal(value, 6);
    corun_memory_read(runner.memory, big + 7000000000, &value, 4);
    assert_int_equal(value, 0);
    assert_int_equal(corun_module_instance_variable(runner.instance, "nothing", NULL), 0);
    runner_free(&runner);
}

static void test_shared_memory(void **state)
{
    (void)state;
    struct runner runner;
    static char text[4096];
    snprintf(
        text, sizeof text, HEAD "%s%s", ".extern .shared .align 8 .b8 dynamic[];\n.shared .align 4 .b8 fixed[20];\n",
        &KERNEL(".shared .align 4 .u32 own[64];\n"
                "mul.lo.u32 %r1, %t, 4;\nmov.u32 %r2, own;\nadd.u32 %r1, %r1, %r2;\nst.shared.u32 [%r1], %t;\n"
                "st.shared.u32 [fixed+16], 9;\n"
                "mov.u64 %rd1, dynamic;\nmul.wide.u32 %rd2, %t, 8;\nadd.u64 %rd2, %rd1, %rd2;\n"
                "cvta.shared.u64 %rd3, %rd2;\nst.u64 [%rd3], %rd2;\n"
                "isspacep.shared %p1, %rd3;\nisspacep.global %p2, %rd3;\nisspacep.global %p3, %out;\n"
                "selp.u32 %r6, 1, 0, %p1;\nselp.u32 %r7, 2, 0, %p2;\nadd.u32 %r6, %r6, %r7;\nselp.u32 %r7, 4, 0, %p3;\n"
                "add.u32 %r6, %r6, %r7;\n"
                "bar.sync 0;\nxor.b32 %r3, %t, 63;\nmul.lo.u32 %r3, %r3, 4;\nadd.u32 %r3, %r3, %r2;\n"
                "ld.shared.u32 %r4, [%r3];\nst.global.u32 [%mine], %r4;\n"
                "cvta.to.shared.u64 %rd4, %rd3;\nld.shared.u32 %r5, [%rd4];\nsub.u32 %r5, %r5, %r2;\n"
                "st.global.u32 [%mine+1024], %r5;\nst.global.u32 [%mine+2048], %r6;")[strlen(HEAD)]);
    runner_load(&runner, text);
    assert_int_equal(runner_run_grid(&runner, "k", (struct corun_dim3){3, 1, 1}, (struct corun_dim3){64, 1, 1}, 512,
                                     &runner.out, 8, 0),
                     CORUN_OK);
    const uint32_t *words = runner_words(&runner);
    struct corun_kernel_info info;
    corun_kernel_describe(corun_module_kernel_at(runner.module, 0), &info);
    assert_int_equal(info.shared_bytes, 20 + 256);
    uint32_t first = words[256];
    for (uint32_t t = 0; t < 64; t++) {
        assert_int_equal(words[t], 63 - t);
        assert_int_equal(words[256 + t], first + 8 * t);
        assert_int_equal(words[512 + t], 1 + 4);
    }
    runner_free(&runner);
}

static void test_local_memory(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(
            ".local .align 16 .b8 depot[64];\nmov.u64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\n"
            "add.u64 %rd3, %rd2, 8;\nst.u32 [%rd3], %t;\n"
            "and.b32 %r1, %t, 7;\nmul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd4, %rd1, %rd4;\nst.local.u32 [%rd4+16], 500;\n"
            "mov.b64 %rd5, {%t, %t};\nst.local.v2.b64 [depot+48], {%rd5, %rd5};\nst.local.u8 [depot+49], 1;\n"
            "ld.local.u32 %r2, [depot+8];\nld.local.u32 %r3, [%rd4+16];\nld.local.u32 %r4, [depot+48];\n"
            "ld.local.u64 %rd6, [depot+56];\ncvt.u32.u64 %r5, %rd6;\nld.local.u32 %r6, [depot];\n"
            "add.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;\n"
            "st.global.u32 [%mine], %r2;"),
        64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(words[t], t + 500 + (t | 0x100) + t);
    runner_free(&runner);
}

/* One generic load whose lanes read global, shared and local memory. */
static void test_generic_lanes_disagree(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(".local .align 4 .b8 depot[8];\n.shared .align 4 .u32 s;\n"
               "st.shared.u32 [s], 1000;\nst.local.u32 [depot+4], 2000;\nst.global.u32 [%out+4096], 3000;\n"
               "mov.u64 %rd1, s;\ncvta.shared.u64 %rd1, %rd1;\nmov.u64 %rd2, depot;\ncvta.local.u64 %rd2, %rd2;\n"
               "add.u64 %rd2, %rd2, 4;\ncvta.global.u64 %rd3, %out;\nadd.u64 %rd3, %rd3, 4096;\n"
               "setp.lt.u32 %p1, %t, 10;\nselp.b64 %rd4, %rd1, %rd2, %p1;\nsetp.lt.u32 %p2, %t, 20;\n"
               "selp.b64 %rd4, %rd4, %rd3, %p2;\nld.u32 %r1, [%rd4];\nadd.u32 %r2, %r1, 1;\nst.u32 [%rd4], %r2;\n"
               "ld.u32 %r3, [%rd4];\nsub.u32 %r3, %r3, %r1;\nadd.u32 %r1, %r1, %r3;\nst.global.u32 [%mine], %r1;"),
        32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(words[t], (t < 10 ? 1000 : t < 20 ? 2000 : 3000) + 1);
    runner_free(&runner);
}

static void test_atomics_of_vectors(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(".reg .b16 %q<8>;\ncvt.rn.f32.u32 %f1, %t;\n"
               "red.global.add.v2.f32 [%out+2048], {%f1, 1.0};\n"
               "atom.relaxed.gpu.global.v4.f32.add {%f4, _, %f6, %f7}, [%out+2064], {%f1, 0f3F800000, %f1, 2.0};\n"
               "st.global.f32 [%mine], %f4;\nst.global.f32 [%mine+128], %f7;\n"
               "mov.b32 %r1, 0x3c004000;\nred.global.add.noftz.v2.f16x2 [%out+2080], {%r1, %r1};\n"
               "mov.b16 %q1, 0x3f80;\natom.global.v4.bf16.add.noftz {%q2, %q3, %q4, %q5}, [%out+2088], "
               "{%q1, %q1, %q1, %q1};\ncvt.u32.u16 %r3, %q5;\nst.global.u32 [%mine+256], %r3;\n"
               "setp.lt.u32 %p1, %t, 4;\n@%p1 red.global.add.v2.f32 [%out+2096], {1.0, 3.0};\n"
               "cvta.global.u64 %rd5, %out;\nred.add.v2.f32 [%rd5+2104], {1.0, 3.0};"),
        32);
    float sums[16];
    memcpy(sums, words + 512, sizeof sums);
    assert_true(sums[0] == 496 && sums[1] == 32);
    assert_true(sums[4] == 496 && sums[5] == 32 && sums[6] == 496 && sums[7] == 64);
    assert_int_equal(words[520], 0x50005400);
    assert_int_equal(words[521], 0x50005400);
    assert_int_equal(words[522], 0x42004200);
    assert_int_equal(words[523], 0x42004200);
    assert_true(sums[12] == 4 && sums[13] == 12 && sums[14] == 32 && sums[15] == 96);
    for (uint32_t t = 0; t < 32; t++) {
        float before[2];
        memcpy(&before[0], &words[t], 4);
        memcpy(&before[1], &words[32 + t], 4);
        assert_true(before[0] == (float)t * (float)(t - 1) / 2 && before[1] == (float)(2 * t));
    }
    runner_free(&runner);
}

/* Minima and maxima of halves: a number rather than NaN, and -0 is less than 0. */
static void test_extremes_of_vectors(void **state)
{
    (void)state;
    static const uint16_t old[8] = {0x3c00, 0xc000, 0x8000, 0x0000, 0x7e00, 0x4200, 0x7e00, 0x7c00};
    static const uint16_t with[8] = {0x4000, 0x3c00, 0x0000, 0x8000, 0x4200, 0x7e00, 0xfe00, 0xfc00};
    static const uint16_t least[8] = {0x3c00, 0xc000, 0x8000, 0x8000, 0x4200, 0x4200, 0x7fff, 0xfc00};
    static const uint16_t most[8] = {0x4000, 0x3c00, 0x0000, 0x0000, 0x4200, 0x4200, 0x7fff, 0x7c00};
    struct runner runner;
    runner_load(
        &runner,
        KERNEL(".reg .b16 %q<16>;\nld.global.v4.b16 {%q0, %q1, %q2, %q3}, [%out+16];\n"
               "ld.global.v4.b16 {%q4, %q5, %q6, %q7}, [%out+24];\nld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%out+16];\n"
               "red.global.min.noftz.v8.f16 [%out+64], {%q0, %q1, %q2, %q3, %q4, %q5, %q6, %q7};\n"
               "atom.global.v8.f16.max.noftz {%q8, %q9, %q10, %q11, %q12, %q13, %q14, %q15}, [%out+80], "
               "{%q0, %q1, %q2, %q3, %q4, %q5, %q6, %q7};\nst.global.v4.b16 [%out+128], {%q8, %q9, %q10, %q11};\n"
               "st.global.v4.b16 [%out+136], {%q12, %q13, %q14, %q15};\n"
               "red.relaxed.gpu.global.v4.f16x2.min.noftz [%out+96], {%r0, %r1, %r2, %r3};\n"
               "atom.global.v4.f16x2.max.noftz {%r4, %r5, %r6, %r7}, [%out+112], {%r0, %r1, %r2, %r3};\n"
               "st.global.v4.b32 [%out+144], {%r4, %r5, %r6, %r7};\n"
               "mov.b32 %r8, 0x3f80c000;\nmov.b32 %r9, 0xff804000;\nst.global.v2.b32 [%out+160], {%r8, %r8};\n"
               "red.global.v2.bf16x2.min.noftz [%out+160], {%r9, %r9};\nmov.b16 %q0, 0x7fc0;\n"
               "red.global.v2.bf16.max.noftz [%out+164], {%q0, %q0};"));
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 16, with, sizeof with), CORUN_OK);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(corun_memory_write(runner.memory, runner.out + 64 + 16 * i, old, sizeof old), CORUN_OK);
    assert_int_equal(runner_try(&runner, 1), CORUN_OK);
    const uint8_t *bytes = (const uint8_t *)runner_words(&runner);
    for (uint32_t i = 0; i < 2; i++) {
        assert_memory_equal(bytes + 64 + 32 * i, least, sizeof least);
        assert_memory_equal(bytes + 80 + 32 * i, most, sizeof most);
        assert_memory_equal(bytes + 128 + 16 * i, old, sizeof old);
    }
    assert_int_equal(runner_words(&runner)[40], 0xff80c000);
    assert_int_equal(runner_words(&runner)[41], 0xff80c000);
    runner_free(&runner);
}

/* Registers of 128 bits: packed, unpacked, copied, loaded, stored, exchanged and compared, in global and in shared memory. */
static void test_wide_registers(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(
            ".reg .b128 %q<4>, %one;\n.shared .align 16 .b8 s[16];\ncvt.u64.u32 %rd1, %t;\nadd.u64 %rd2, %rd1, 100;\n"
            "mov.b128 %q0, {%rd1, %rd2};\nmov.b128 %q1, %q0;\nshl.b64 %rd3, %rd1, 4;\nadd.u64 %rd3, %rd3, %out;\n"
            "st.relaxed.gpu.global.b128 [%rd3], %q1;\nld.global.b128 %q2, [%rd3];\nmov.b128 {%rd4, _}, %q2;\n"
            "mov.b128 {_, %rd5}, %q2;\nadd.u64 %rd4, %rd4, %rd5;\nst.global.u64 [%rd3+512], %rd4;\n"
            /* all lanes of the warp exchange in one place: each gets what the one before has left */
            "atom.global.exch.b128 %q3, [%out+1024], %q0;\nst.global.b128 [%rd3+2048], %q3;\n"
            /* one of them finds what it compares with: the value of lane 31, and puts {7, 9} there */
            "mov.u64 %rd6, 7;\nmov.u64 %rd7, 9;\nmov.b128 %one, {%rd6, %rd7};\n"
            "atom.relaxed.gpu.global.cas.b128 %q3, [%out+1024], %q0, %one;\nst.b128 [%rd3+4096], %q3;\n"
            /* a half that differs is enough */
            "mov.b128 %q1, {%rd6, %rd6};\natom.global.cas.b128 _, [%out+1024], %q1, %q0;\n"
            "mov.b128 %q1, {%rd2, %rd7};\natom.global.cas.b128 _, [%out+1024], %q1, %q0;\n"
            "setp.eq.u32 %p1, %t, 5;\n@%p1 st.shared.b128 [s], %q0;\nbar.warp.sync 0xffffffff;\n"
            "atom.shared.cas.b128 %q3, [s], %q0, %one;\nld.shared.b128 %q2, [s];\nst.global.b128 [%rd3+6144], %q2;"),
        32);
    const uint64_t *longs = (const uint64_t *)(const void *)words;
    for (uint64_t t = 0; t < 32; t++) {
        assert_true(longs[2 * t] == t && longs[2 * t + 1] == t + 100);
        assert_true(longs[64 + 2 * t] == 2 * t + 100);
        assert_true(longs[256 + 2 * t] == (t ? t - 1 : 0) && longs[256 + 2 * t + 1] == (t ? t + 99 : 0));
        assert_true(longs[512 + 2 * t] == 31 && longs[512 + 2 * t + 1] == 131);
        assert_true(longs[768 + 2 * t] == 7 && longs[768 + 2 * t + 1] == 9);
    }
    assert_true(longs[128] == 7 && longs[129] == 9);
    runner_free(&runner);
}

static void test_atomics(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(
            ".shared .align 4 .u32 s;\n"
            "atom.global.add.u32 %r1, [%out+2048], 3;\nst.global.u32 [%mine], %r1;\n"
            "atom.global.max.s32 %r2, [%out+2052], %t;\nneg.s32 %r3, %t;\natom.global.min.s32 %r4, [%out+2056], %r3;\n"
            "atom.global.inc.u32 %r5, [%out+2060], 9;\nst.global.u32 [%mine+256], %r5;\n"
            "atom.global.dec.u32 %r6, [%out+2064], 20;\nred.global.or.b32 [%out+2068], %t;\n"
            "red.global.xor.b32 [%out+2072], %t;\natom.global.exch.b32 %r7, [%out+2076], %t;\n"
            "atom.global.cas.b32 %r8, [%out+2080], %t, 32;\n"
            "cvt.rn.f32.u32 %f1, %t;\nred.global.add.f32 [%out+2084], %f1;\n"
            "cvt.rn.f64.u32 %fd1, %t;\natom.global.add.f64 %fd2, [%out+2088], %fd1;\n"
            "cvt.u64.u32 %rd1, %t;\nshl.b64 %rd1, %rd1, 32;\nred.global.add.u64 [%out+2096], %rd1;\n"
            "atom.global.max.u64 %rd2, [%out+2104], %rd1;\nred.global.and.b32 [%out+2112], 7;\n"
            "atom.shared.add.u32 %r9, [s], 1;\nst.global.u32 [%mine+512], %r9;\n"
            "add.u64 %rd3, %out, 2116;\ncvta.global.u64 %rd3, %rd3;\natom.add.u32 %r10, [%rd3], 1;\n"
            "mov.u64 %rd4, s;\ncvta.shared.u64 %rd4, %rd4;\natom.add.u32 %r11, [%rd4], 1;\n"
            "st.global.u32 [%mine+768], %r11;\natom.global.add.u32 _, [%out+2116], 1;"),
        32);
    const uint32_t *results = words + 512;
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(words[t], 3 * t);
        assert_int_equal(words[64 + t], t % 10);
        assert_int_equal(words[128 + t], t);
        assert_int_equal(words[192 + t], 32 + t);
    }
    float sum;
    double wide_sum;
    memcpy(&sum, &results[9], 4);
    memcpy(&wide_sum, &results[10], 8);
    assert_int_equal(results[0], 96);
    assert_int_equal(results[1], 31);
    assert_int_equal((int32_t)results[2], -31);
    assert_int_equal(results[3], 2);
    assert_int_equal(results[4], 20 - 31 % 21 + 0);
    assert_int_equal(results[5], 31);
    assert_int_equal(results[6], 0);
    assert_int_equal(results[7], 31);
    assert_int_equal(results[8], 32);
    assert_true(sum == 496.0f && wide_sum == 496.0);
    assert_int_equal(results[13], 496);
    assert_int_equal(results[15], 31);
    assert_int_equal(results[16], 0);
    assert_int_equal(results[17], 64);
    runner_free(&runner);
}

static void expect_fault(const char *text, uint32_t threads, const char *message, uint32_t line)
{
    struct runner runner;
    runner_load(&runner, text);
    assert_int_equal(runner_try(&runner, threads), CORUN_FAULT);
    assert_string_equal(runner_message(&runner), message);
    assert_int_equal(runner_line(&runner), line);
    assert_string_equal(corun_diagnostics_get(runner.list, 0)->place.file, "test.ptx");
    runner_free(&runner);
}

static void test_faults(void **state)
{
    (void)state;
    expect_fault(
        KERNEL("add.u64 %mine, %mine, 65520;\nst.global.u32 [%mine], %t;"), 32,
        "kernel k, thread block (0,0,0), thread (4,0,0): store of 4 bytes at global address 0x10000011000 is out of "
        "bounds: right behind the 65536 bytes at 0x10000001000",
        20);
    expect_fault(
        KERNEL("ld.global.u32 %r1, [%out+2];"), 1,
        "kernel k, thread block (0,0,0), thread (0,0,0): misaligned load of 4 bytes at global address 0x10000001002",
        19);
    expect_fault(KERNEL("mov.u64 %rd1, 0;\nld.u64 %rd2, [%rd1];"), 1,
                 "kernel k, thread block (0,0,0), thread (0,0,0): load of 8 bytes at global address 0x0 is out of "
                 "bounds: a null "
                 "pointer",
                 20);
    /* rows of 16, the second of which goes beyond the end; once the place is known */
    expect_fault(
        KERNEL("ld.global.u32 %r1, [%out];\nshr.u32 %r2, %t, 4;\nand.b32 %r3, %t, 15;\nmad.lo.u32 %r2, %r2, 64, %r3;\n"
               "mul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %out, %rd1;\nmov.u32 %r4, 0;\n"
               "AGAIN:\nld.global.u32 %r1, [%rd1];\nadd.u64 %rd1, %rd1, 65248;\nadd.u32 %r4, %r4, 1;\n"
               "setp.lt.u32 %p1, %r4, 2;\n@%p1 bra AGAIN;"),
        32,
        "kernel k, thread block (0,0,0), thread (24,0,0): load of 4 bytes at global address 0x10000011000 is out of "
        "bounds: right behind the 65536 bytes at 0x10000001000",
        27);
    expect_fault(
        KERNEL(".shared .align 4 .b8 s[64];\nmov.u32 %r1, s;\nmad.lo.u32 %r1, %t, 4, %r1;\nst.shared.u32 [%r1], 1;"),
        32,
        "kernel k, thread block (0,0,0), thread (16,0,0): store of 4 bytes at shared address 0x40 is out of bounds: "
        "the "
        "thread block has 64 bytes of it",
        22);
    expect_fault(
        KERNEL(".local .align 4 .b8 l[16];\nst.local.u32 [l+16], 1;"), 32,
        "kernel k, thread block (0,0,0), thread (0,0,0): store of 4 bytes at local address 0x10 is out of bounds: the "
        "thread has 16 bytes of it",
        20);
    expect_fault(KERNEL("setp.eq.u32 %p1, %t, 7;\n@%p1 trap;"), 32,
                 "kernel k, thread block (0,0,0), thread (7,0,0): trap", 20);
    expect_fault(
        KERNEL("atom.global.add.u32 %r1, [%out+65536], 1;"), 1,
        "kernel k, thread block (0,0,0), thread (0,0,0): atomic of 4 bytes at global address 0x10000011000 is out of "
        "bounds: right behind the 65536 bytes at 0x10000001000",
        19);
    expect_fault(KERNEL("mov.u32 %r1, 16;\nbar.sync %r1;"), 1,
                 "kernel k, thread block (0,0,0), thread (0,0,0): barrier 16 does not exist: there are 16", 20);
    expect_fault(KERNEL("ld.param.u32 %r1, [p+2];"), 1,
                 "kernel k, thread block (0,0,0), thread (0,0,0): misaligned load of 4 bytes at offset 0x2 of the "
                 "kernel's 8 bytes of parameters",
                 19);
    expect_fault(KERNEL("mov.u64 %rd1, p;\nld.param.u32 %r1, [%rd1+8];"), 1,
                 "kernel k, thread block (0,0,0), thread (0,0,0): load of 4 bytes at offset 0x8 of the kernel's 8 "
                 "bytes of parameters is out of bounds",
                 20);
}

/* Runs one thread with a buffer of 1000 bytes whose memory is mapped by pages: lines 18.. of the text are `body`. */
static enum corun_status run_mapped(struct runner *runner, const char *text)
{
    *runner = (struct runner){.list = corun_diagnostics_create(), .memory = corun_memory_create(0), .out_bytes = 1000};
    corun_memory_map_pages(runner->memory);
    assert_int_equal(corun_memory_allocate(runner->memory, 1000, &runner->out), CORUN_OK);
    assert_int_equal(corun_module_load("test.ptx", text, strlen(text), runner->list, &runner->module), CORUN_OK);
    assert_int_equal(corun_module_instance_create(runner->module, runner->memory, runner->list, &runner->instance),
                     CORUN_OK);
    uint32_t word = 7;
    assert_int_equal(corun_memory_write(runner->memory, runner->out, &word, sizeof word), CORUN_OK);
    return runner_run_grid(runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){1, 1, 1}, 0, &runner->out,
                           sizeof runner->out, 0);
}

static void expect_mapped(const char *text, uint32_t value, const char *note)
{
    struct runner runner;
    uint32_t word;
    assert_int_equal(run_mapped(&runner, text), CORUN_OK);
    assert_int_equal(corun_memory_read(runner.memory, runner.out, &word, sizeof word), CORUN_OK);
    assert_int_equal(word, value);
    assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), note != NULL);
    assert_string_equal(runner_message(&runner), note ? note : "");
    assert_in_range(runner_line(&runner), note ? 19 : 0, note ? 20 : 0);
    assert_false(corun_module_instance_outside(runner.instance, runner.list)); /* said once */
    runner_free(&runner);
}

static void expect_unmapped(const char *text)
{
    struct runner runner;
    assert_int_equal(run_mapped(&runner, text), CORUN_FAULT);
    assert_false(corun_module_instance_outside(runner.instance, runner.list));
    runner_free(&runner);
}

/* The buffer is at 0x10000201000 and ends at 0x102013e8, its last line at 0x10201400; 2 MiB around it can be loaded. */
static void test_mapped_pages(void **state)
{
    (void)state;
    expect_mapped(KERNEL("ld.global.u32 %r1, [%out+996];\nst.global.u32 [%out], %r1;"), 0, NULL);
    expect_mapped(KERNEL("ld.global.u32 %r1, [%out+-4];\nst.global.u32 [%out], %r1;"), 0,
                  "kernel k loads 4 bytes at 0x10000200ffc, where nothing is allocated: 4 bytes before the 1000 "
                  "bytes at 0x10000201000; the kernel continues, as on a GPU");
    expect_mapped(KERNEL("ld.global.u32 %r1, [%out+-2097152];\nst.global.u32 [%out], %r1;"), 0,
                  "kernel k loads 4 bytes at 0x10000001000, where nothing is allocated: 2097152 bytes before the 1000 "
                  "bytes at 0x10000201000; the kernel continues, as on a GPU");
    expect_mapped(KERNEL("ld.global.u32 %r1, [%out+2098172];\nst.global.u32 [%out], %r1;"), 0,
                  "kernel k loads 4 bytes at 0x100004013fc, where nothing is allocated: 2097172 bytes behind the 1000 "
                  "bytes at 0x10000201000; the kernel continues, as on a GPU");
    /* What is stored behind the end stays there. */
    expect_mapped(KERNEL("st.global.u32 [%out+1020], 5;\nld.global.u32 %r1, [%out+1020];\nst.global.u32 [%out], %r1;"),
                  5,
                  "kernel k writes 4 bytes at 0x100002013fc, where nothing is allocated: 20 bytes behind the 1000 "
                  "bytes at 0x10000201000; the kernel continues, as on a GPU");
    expect_mapped(KERNEL("atom.global.add.u32 %r1, [%out+1000], 3;\natom.global.add.u32 %r1, [%out+1000], 1;\n"
                         "st.global.u32 [%out], %r1;"),
                  3,
                  "kernel k writes 4 bytes at 0x100002013e8, where nothing is allocated: right behind the 1000 "
                  "bytes at 0x10000201000; the kernel continues, as on a GPU");
    expect_mapped(KERNEL(".shared .align 4 .b8 s[40];\nst.shared.u32 [s+252], 9;\nld.shared.u32 %r1, [s+252];\n"
                         "st.global.u32 [%out], %r1;"),
                  9,
                  "kernel k writes 4 bytes at shared address 0xfc, beyond the 40 bytes that its thread block has; the "
                  "kernel continues, as on a GPU");
    expect_unmapped(KERNEL(".shared .align 4 .b8 s[40];\nld.shared.u32 %r1, [s+256];"));
    expect_unmapped(KERNEL("mov.u32 %r1, 0;\nld.shared.u32 %r1, [%r1];"));
    expect_unmapped(KERNEL("ld.global.u32 %r1, [%out+-2097156];"));
    expect_unmapped(KERNEL("ld.global.u32 %r1, [%out+2098176];"));
    expect_unmapped(KERNEL("mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1];"));
    expect_unmapped(KERNEL("st.global.u32 [%out+1024], 5;"));
    expect_unmapped(KERNEL("st.global.u32 [%out+-4], 5;"));
    expect_unmapped(KERNEL("atom.global.add.u32 %r1, [%out+1024], 3;"));
    expect_unmapped(KERNEL("ld.global.u32 %r1, [%out+2];"));
}

static void test_memory_interface(void **state)
{
    (void)state;
    struct corun_memory *memory = corun_memory_create(2);
    uint64_t first, second, third;
    uint8_t bytes[300] = {1, 2, 3}, read[300];
    assert_int_equal(corun_memory_allocate(memory, 300, &first), CORUN_OK);
    assert_int_equal(corun_memory_allocate(memory, 1 << 20, &second), CORUN_OK);
    assert_int_equal(first >> CORUN_APPLICATION_SHIFT, 3);
    assert_int_equal(first % 256, 0);
    assert_int_equal(second % 256, 0);
    assert_true(second >= first + 300 + 256 - 44);
    assert_int_equal(corun_memory_write(memory, first, bytes, 300), CORUN_OK);
    assert_int_equal(corun_memory_write(memory, first + 1, bytes, 300), CORUN_FAULT);
    assert_int_equal(corun_memory_read(memory, first, read, 300), CORUN_OK);
    assert_memory_equal(bytes, read, 300);
    assert_int_equal(corun_memory_read(memory, first - 1, read, 1), CORUN_FAULT);
    assert_int_equal(corun_memory_read(memory, first, read, UINT64_MAX), CORUN_FAULT);
    assert_null(corun_memory_pointer(memory, first + 300, 1));
    assert_null(corun_memory_pointer(memory, UINT64_MAX, 2));
    assert_int_equal(corun_memory_allocated_bytes(memory), 300 + (1 << 20));
    assert_int_equal(corun_memory_free(memory, first + 256), CORUN_ARGUMENT);
    assert_int_equal(corun_memory_free(memory, first), CORUN_OK);
    assert_int_equal(corun_memory_free(memory, first), CORUN_ARGUMENT);
    assert_int_equal(corun_memory_allocate(memory, UINT64_MAX, &third), CORUN_MEMORY);
    assert_int_equal(corun_memory_allocate(memory, 0, &third), CORUN_MEMORY);
    assert_int_equal(corun_memory_allocate(memory, UINT64_C(1) << 37, &third), CORUN_OK); /* nobody touches it */
    corun_memory_destroy(memory);
}

/* Two memories have the same bytes, each at its own address; they stay when the one that had them first has gone. */
static void test_shared_storage(void **state)
{
    (void)state;
    struct corun_memory *first = corun_memory_create(0), *second = corun_memory_create(1);
    uint64_t there, here, other;
    uint32_t value = 7;
    assert_int_equal(corun_memory_allocate(first, 4, &there), CORUN_OK);
    assert_int_equal(corun_memory_allocate(second, 4, &here), CORUN_OK);
    assert_int_equal(corun_memory_allocate(second, 8, &other), CORUN_OK);
    assert_int_equal(corun_memory_write(first, there, &value, 4), CORUN_OK);
    assert_false(memory_share(second, other, first, there)); /* of another size */
    assert_false(memory_share(second, here + 4, first, there));
    struct memory_cache cache = {0};
    assert_non_null(memory_lookup(second, &cache, here, 4));
    const uint64_t generation = memory_generation(second);
    assert_true(memory_share(second, here, first, there));
    assert_true(memory_generation(second) != generation); /* the cache is stale */
    assert_ptr_equal(corun_memory_pointer(second, here, 4), corun_memory_pointer(first, there, 4));
    assert_int_equal(corun_memory_allocated_bytes(second), 8);
    memory_follow(second, here, first, there);
    assert_int_equal(corun_memory_allocated_bytes(first), 0);
    assert_int_equal(corun_memory_allocated_bytes(second), 12);
    corun_memory_destroy(first);
    value = 0;
    assert_int_equal(corun_memory_read(second, here, &value, 4), CORUN_OK);
    assert_int_equal(value, 7);
    corun_memory_destroy(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_and_narrow_types),
        cmocka_unit_test(test_shapes_of_accesses),
        cmocka_unit_test(test_rows_of_tiles),
        cmocka_unit_test(test_registers_that_nobody_wrote),
        cmocka_unit_test(test_partial_warps_and_scatter),
        cmocka_unit_test(test_variables_of_the_module),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_local_memory),
        cmocka_unit_test(test_generic_lanes_disagree),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_atomics_of_vectors),
        cmocka_unit_test(test_extremes_of_vectors),
        cmocka_unit_test(test_wide_registers),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_mapped_pages),
        cmocka_unit_test(test_memory_interface),
        cmocka_unit_test(test_shared_storage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
