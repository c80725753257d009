/* SPDX-License-Identifier: MIT */
/* Calls of device functions: direct, nested, recursive, through registers, of the system. */
#include "runner.h"

#define ADD_FUNCTION \
    ".func (.param .b32 r) add3(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %x<4>;\n" \
    "ld.param.u32 %x1, [a];\nld.param.u32 %x2, [b];\nadd.u32 %x3, %x1, %x2;\nadd.u32 %x3, %x3, 3;\n" \
    "st.param.b32 [r], %x3;\nret;\n}\n"
#define TWICE_FUNCTION \
    ".func (.param .b32 r) twice(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %x<4>;\n" \
    "ld.param.u32 %x1, [a];\nld.param.u32 %x2, [b];\n{\n" CALL( \
        "add3", "%x1", "%x2", "%x3") "}\n" \
                                     "{\n" CALL("add3", "%x3", "%x3", "%x3") "}\nst.param.b32 [r], %x3;\nret;\n}\n"
#define CALL(name, first, second, result) \
    ".param .b32 p0; .param .b32 p1; .param .b32 q;\nst.param.b32 [p0], " first ";\nst.param.b32 [p1], " second ";\n" \
    "call.uni (q), " name ", (p0, p1);\nld.param.b32 " result ", [q];\n"

static void with_functions(char *text, size_t bytes, const char *functions, const char *kernel)
{
    snprintf(text, bytes, HEAD "%s%s", functions, kernel + strlen(HEAD));
}

static char text[16384];

static void test_direct_and_nested(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text, ADD_FUNCTION TWICE_FUNCTION,
                   KERNEL("{\n" CALL("twice", "%t", "10", "%r1") "}\n{\n" CALL("add3", "%r1", "%t",
                                                                               "%r1") "}\n"
                                                                                      "st.global.u32 [%mine], %r1;"));
    const uint32_t *words = runner_run(&runner, text, 64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(words[t], 2 * (t + 13) + 3 + t + 3);
    runner_free(&runner);
}

static void test_call_under_divergence_with_early_return(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(
        text, sizeof text,
        ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %x<4>;\n.reg .pred %q;\n"
        "ld.param.u32 %x1, [a];\nst.param.b32 [r], 7;\nsetp.lt.u32 %q, %x1, 8;\n@%q ret;\n"
        "st.param.b32 [r], %x1;\nsetp.lt.u32 %q, %x1, 16;\n@%q bra L;\n"
        "add.u32 %x1, %x1, 100;\nst.param.b32 [r], %x1;\nret;\nL:\nret;\n}\n",
        KERNEL("mov.u32 %r1, 55;\nsetp.lt.u32 %p1, %t, 24;\n@!%p1 bra END;\n{\n.param .b32 a; .param .b32 q;\n"
               "st.param.b32 [a], %t;\ncall (q), f, (a);\nld.param.b32 %r1, [q];\n}\nEND:\n"
               "activemask.b32 %r2;\nst.global.u32 [%mine], %r1;\nst.global.u32 [%mine+128], %r2;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(words[t], t < 8 ? 7 : t < 16 ? t : t < 24 ? t + 100 : 55);
        assert_int_equal(words[32 + t], 0xffffffffu);
    }
    runner_free(&runner);
}

static void test_exit_inside_a_function(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text,
                   ".func f(.reg .b32 a)\n{\n.reg .pred %q;\nsetp.lt.u32 %q, a, 8;\n@%q exit;\nret;\n}\n",
                   KERNEL("st.global.u32 [%mine], 1;\ncall f, (%t);\nst.global.u32 [%mine], 2;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(words[t], t < 8 ? 1 : 2);
    runner_free(&runner);
}

/* As nvcc writes int sum(int n, int depth) with an array of n elements: each call sees its own, and each thread has another size. */
#define ALLOCATING \
    ".func (.param .b32 r) sum(.param .b32 n, .param .b32 depth)\n{\n.reg .b32 %x<9>;\n.reg .b64 %y<4>;\n.reg .pred " \
    "%q;\n" \
    "ld.param.u32 %x1, [n];\nld.param.u32 %x2, [depth];\nmul.wide.u32 %y1, %x1, 4;\nalloca.u64 %y2, %y1, 16;\n" \
    "cvta.local.u64 %y2, %y2;\nmov.u64 %y3, %y2;\nmov.u32 %x3, 0;\n" \
    "FILL: add.u32 %x4, %x3, %x2;\nst.u32 [%y3], %x4;\nadd.u64 %y3, %y3, 4;\nadd.u32 %x3, %x3, 1;\n" \
    "setp.lt.u32 %q, %x3, %x1;\n@%q bra FILL;\nmov.u32 %x5, 0;\nsetp.eq.u32 %q, %x2, 0;\n@%q bra ADD;\n" \
    "add.u32 %x6, %x1, 1;\nsub.u32 %x7, %x2, 1;\n{\n" CALL( \
        "sum", "%x6", "%x7", "%x5") "}\n" \
                                    "ADD: sub.u64 %y3, %y3, 4;\nld.u32 %x4, [%y3];\nadd.u32 %x5, %x5, " \
                                    "%x4;\nsetp.gt.u64 %q, %y3, %y2;\n@%q bra ADD;\n" \
                                    "st.param.b32 [r], %x5;\nret;\n}\n"

static void test_alloca_in_calls(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(
        text, sizeof text, ALLOCATING,
        KERNEL("and.b32 %r1, %t, 3;\nadd.u32 %r2, %t, 2;\nstacksave.u64 %rd1;\n{\n" CALL(
            "sum", "%r2", "%r1",
            "%r3") "}\nst.global.u32 [%mine], %r3;\n"
                   "{\n" CALL("sum", "%r2", "%r1",
                              "%r3") "}\n"
                                     "stacksave.u64 %rd2;\nsub.u64 %rd2, %rd1, %rd2;\ncvt.u32.u64 %r4, %rd2;\n"
                                     "st.global.u32 [%mine+256], %r4;"));
    const uint32_t *words = runner_run(&runner, text, 64);
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t sum = 0, n = t + 2;
        for (uint32_t depth = (t & 3) + 1; depth-- > 0; n++)
            sum += n * depth + n * (n - 1) / 2;
        assert_int_equal(words[t], sum);
        assert_int_equal(words[64 + t], 0); /* all was given back */
    }
    runner_free(&runner);
}

static void test_stack_of_an_entry(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(
            "stacksave.u64 %rd1;\nand.b32 %r1, %t, 7;\nmul.lo.u32 %r1, %r1, 12;\ncvt.u64.u32 %rd2, %r1;\n"
            "alloca.u64 %rd3, %rd2, 64;\nand.b64 %rd4, %rd3, 63;\ncvt.u32.u64 %r2, %rd4;\nst.global.u32 [%mine], %r2;\n"
            "sub.u64 %rd4, %rd1, %rd3;\ncvt.u32.u64 %r2, %rd4;\nst.global.u32 [%mine+128], %r2;\n"
            "setp.gt.u32 %p1, %t, 15;\n@%p1 alloca.u64 %rd3, 100;\nstacksave.u64 %rd4;\nsub.u64 %rd4, %rd1, %rd4;\n"
            "cvt.u32.u64 %r2, %rd4;\nst.global.u32 [%mine+256], %r2;\nstackrestore.u64 %rd1;\nstacksave.u64 %rd4;\n"
            "sub.u64 %rd4, %rd1, %rd4;\ncvt.u32.u64 %r2, %rd4;\nst.global.u32 [%mine+384], %r2;"),
        32);
    for (uint32_t t = 0; t < 32; t++) {
        uint32_t bytes = ((t & 7) * 12 + 63) / 64 * 64;
        assert_int_equal(words[t], 0);
        assert_int_equal(words[32 + t], bytes);
        assert_int_equal(words[64 + t], bytes + (t > 15 ? 104 : 0));
        assert_int_equal(words[96 + t], 0);
    }
    runner_free(&runner);
}

static void test_too_much_alloca(void **state)
{
    (void)state;
    static const char *const kernels[] = {
        KERNEL("mov.u64 %rd1, 1000000000000;\nalloca.u64 %rd2, %rd1;"),
        KERNEL("stacksave.u64 %rd1;\nsub.u64 %rd1, %rd1, 8;\nstackrestore.u64 %rd1;"),
        /* as much as is left, but not at that alignment: its beginning would lie in the frame */
        KERNEL(".local .b8 own[16];\nst.local.u32 [own], %t;\nalloca.u64 %rd1, 8;\nmov.u64 %rd1, 16608;\nalloca.u64 "
               "%rd2, %rd1, 32;\n")};
    static const char *const messages[] = {"stack overflow: alloca of 1000000000000 bytes, of which 16384 are left",
                                           "stackrestore of 0x3ff8, which stacksave has not given",
                                           "stack overflow: alloca of 16608 bytes, of which 16616 are left"};
    for (unsigned i = 0; i < 3; i++) {
        struct runner runner;
        runner_load(&runner, kernels[i]);
        assert_int_equal(runner_try(&runner, 1), CORUN_FAULT);
        assert_non_null(strstr(runner_message(&runner), messages[i]));
        runner_free(&runner);
    }
}

static void test_register_parameters(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text,
                   ".func (.reg .b64 r) wide(.reg .b32 a, .reg .b64 b)\n{\n.reg .b64 %x;\ncvt.u64.u32 %x, a;\n"
                   "add.u64 r, %x, b;\nret;\n}\n",
                   KERNEL("mov.u64 %rd1, 0x100000000;\ncall (%rd2), wide, (%t, %rd1);\n"
                          "mul.wide.u32 %rd3, %t, 8;\nadd.u64 %rd3, %out, %rd3;\nst.global.u64 [%rd3], %rd2;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(words[2 * t], t);
        assert_int_equal(words[2 * t + 1], 1);
    }
    runner_free(&runner);
}

/* A structure by value, read in other pieces than it was written, and through its address. */
static void test_structure_by_value(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(
        text, sizeof text,
        ".func (.param .b32 r) f(.param .align 8 .b8 s[16])\n{\n.reg .b32 %x<6>;\n.reg .b64 %a;\n"
        "ld.param.v2.b32 {%x1, %x2}, [s];\nmov.b64 %a, s;\nld.param.u8 %x3, [%a+8];\nld.param.b32 %x4, [s+12];\n"
        "add.u32 %x1, %x1, %x2;\nadd.u32 %x3, %x3, %x4;\nadd.u32 %x1, %x1, %x3;\nst.param.b32 [r], %x1;\nret;\n}\n",
        KERNEL("{\n.param .align 8 .b8 s[16]; .param .b32 q;\nmov.b64 %rd1, {%t, %t};\nst.param.b64 [s], %rd1;\n"
               "st.param.b8 [s+8], 200;\nst.param.b8 [s+9], 1;\nst.param.f32 [s+12], 0f00000005;\n"
               "call (q), f, (s);\nld.param.b32 %r1, [q];\n}\nst.global.u32 [%mine], %r1;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(words[t], 2 * t + 205);
    runner_free(&runner);
}

static void test_indirect_through_table(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(
        text, sizeof text,
        ".func (.param .b32 r) add3(.param .b32 a, .param .b32 b);\n"
        ".func (.param .b32 r) mul(.param .b32 a, .param .b32 b);\n"
        ".global .align 8 .u64 table[2] = {add3, mul};\n" ADD_FUNCTION
        ".func (.param .b32 r) mul(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %x<4>;\n"
        "ld.param.u32 %x1, [a];\nld.param.u32 %x2, [b];\nmul.lo.u32 %x3, %x1, %x2;\n"
        "st.param.b32 [r], %x3;\nret;\n}\n",
        KERNEL("and.b32 %r2, %t, 1;\nmul.wide.u32 %rd1, %r2, 8;\nmov.u64 %rd2, table;\n"
               "add.u64 %rd1, %rd1, %rd2;\nld.global.u64 %rd3, [%rd1];\n{\n"
               ".param .b32 p0; .param .b32 p1; .param .b32 q;\nst.param.b32 [p0], %t;\nst.param.b32 [p1], 9;\n"
               "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
               "call (q), %rd3, (p0, p1), proto;\nld.param.b32 %r1, [q];\n}\n"
               "activemask.b32 %r3;\nst.global.u32 [%mine], %r1;\nst.global.u32 [%mine+128], %r3;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++) {
        assert_int_equal(words[t], t & 1 ? t * 9 : t + 12);
        assert_int_equal(words[32 + t], 0xffffffffu);
    }
    runner_free(&runner);
}

/* As of functions with `...`: the last parameter has no size, and a call brings as much as it likes, or nothing. */
static void test_any_number_of_arguments(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text,
                   ".func (.param .b32 r) sum(.param .b32 n, .param .align 16 .b8 more[])\n{\n.reg .b32 %x<4>;\n"
                   ".reg .b64 %l;\n.reg .pred %q;\nld.param.u32 %x1, [n];\nmov.u64 %l, more;\nmov.u32 %x2, 0;\n"
                   "NEXT:\nsetp.eq.u32 %q, %x1, 0;\n@%q bra END;\nld.local.u32 %x3, [%l];\nadd.u32 %x2, %x2, %x3;\n"
                   "add.u64 %l, %l, 4;\nsub.u32 %x1, %x1, 1;\nbra NEXT;\nEND:\nst.param.b32 [r], %x2;\nret;\n}\n",
                   KERNEL("{\n.param .b32 n; .param .b32 q;\nst.param.b32 [n], 0;\ncall (q), sum, (n);\n"
                          "ld.param.b32 %r1, [q];\n}\n"
                          "{\n.param .b32 n; .param .align 16 .b8 m[8]; .param .b32 q;\nst.param.b32 [n], 2;\n"
                          "st.param.b32 [m], %t;\nst.param.b32 [m+4], 1000;\ncall (q), sum, (n, m);\n"
                          "ld.param.b32 %r2, [q];\nadd.u32 %r1, %r1, %r2;\n}\n"
                          "{\n.param .b32 n; .param .align 16 .b8 m[80]; .param .b32 q;\nst.param.b32 [n], 20;\n"
                          "st.param.v4.b32 [m], {0, 1, 2, 3};\nst.param.v4.b32 [m+16], {4, 5, 6, 7};\n"
                          "st.param.v4.b32 [m+32], {8, 9, 10, 11};\nst.param.v4.b32 [m+48], {12, 13, 14, 15};\n"
                          "st.param.v4.b32 [m+64], {16, 17, 18, 19};\n"
                          "p: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 16 .b8 _[]);\n"
                          "mov.u64 %rd1, sum;\ncall (q), %rd1, (n, m), p;\nld.param.b32 %r2, [q];\n"
                          "add.u32 %r1, %r1, %r2;\n}\nst.global.u32 [%mine], %r1;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(words[t], t + 1000 + 190);
    runner_free(&runner);
}

static void test_indirect_to_no_function(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text, "",
                   KERNEL("mov.u64 %rd3, 12345;\nproto: .callprototype _ ();\ncall %rd3, proto;"));
    runner_load(&runner, text);
    assert_int_equal(runner_try(&runner, 32), CORUN_FAULT);
    assert_string_equal(
        runner_message(&runner),
        "kernel k, thread block (0,0,0), thread (0,0,0): indirect call of address 0x3039, which is not a "
        "function that can be called here");
    runner_free(&runner);
}

#define FACTORIAL \
    ".func (.param .b32 r) fact(.param .b32 a)\n{\n.reg .b32 %x<5>;\n.reg .pred %q;\n.local .align 4 .b8 " \
    "buf[8];\n.reg .b64 %l;\n" \
    "ld.param.u32 %x1, [a];\nmov.u64 %l, buf;\nst.local.u32 [%l+4], %x1;\nst.param.b32 [r], 1;\n" \
    "setp.le.u32 %q, %x1, 1;\n@%q ret;\nsub.u32 %x2, %x1, 1;\n{\n.param .b32 p; .param .b32 q;\nst.param.b32 [p], " \
    "%x2;\n" \
    "call (q), fact, (p);\nld.param.b32 %x3, [q];\n}\nld.local.u32 %x4, [buf+4];\nmul.lo.u32 %x3, %x3, %x4;\n" \
    "sub.u32 %x4, %x4, %x1;\nadd.u32 %x3, %x3, %x4;\nst.param.b32 [r], %x3;\nret;\n}\n"

static void test_recursion(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text, FACTORIAL,
                   KERNEL("and.b32 %r2, %t, 7;\n{\n.param .b32 p; .param .b32 q;\nst.param.b32 [p], %r2;\n"
                          "call (q), fact, (p);\nld.param.b32 %r1, [q];\n}\nst.global.u32 [%mine], %r1;"));
    const uint32_t *words = runner_run(&runner, text, 32);
    for (uint32_t t = 0; t < 32; t++) {
        uint32_t expected = 1;
        for (uint32_t i = 2; i <= (t & 7); i++)
            expected *= i;
        assert_int_equal(words[t], expected);
    }
    runner_free(&runner);
}

static void test_endless_recursion(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text, ".func f()\n{\ncall f;\nret;\n}\n", KERNEL("call f;"));
    runner_load(&runner, text);
    assert_int_equal(runner_try(&runner, 32), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner), "stack overflow: a call of f needs more than"));
    runner_free(&runner);
}

#define VPRINTF ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
#define PRINT \
    "{\n.param .b64 f; .param .b64 a; .param .b32 q;\nst.param.b64 [f], %rd1;\nst.param.b64 [a], %rd2;\n" \
    "call (q), vprintf, (f, a);\nld.param.b32 %r9, [q];\n}\n"

static void test_printf(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(
        text, sizeof text,
        VPRINTF
        /* "%d|%5u|%-5x|%lld|%.2f|%s|%c|%%|%p|%08.3e|%*d\n" and "str" */
        ".global .align 1 .b8 format[] = {37,100,124,37,53,117,124,37,45,53,120,124,37,108,108,100,124,37,46,50,102,"
        "124,37,115,124,37,99,124,37,37,124,37,112,124,37,48,56,46,51,101,124,37,42,100,10,0};\n"
        ".global .align 1 .b8 str[] = {115,116,114,0};\n",
        KERNEL(
            ".local .align 8 .b8 depot[80];\n"
            "setp.gt.u32 %p1, %t, 1;\n@%p1 bra END;\n"
            "neg.s32 %r1, %t;\nst.local.u32 [depot], %r1;\nst.local.u32 [depot+4], 42;\n"
            "st.local.u32 [depot+8], 255;\nst.local.u64 [depot+16], -5000000000;\n"
            "st.local.f64 [depot+24], 0d400C000000000000;\nmov.u64 %rd1, str;\ncvta.global.u64 %rd1, %rd1;\n"
            "st.local.u64 [depot+32], %rd1;\nst.local.u32 [depot+40], 90;\nst.local.u64 [depot+48], 4660;\n"
            "st.local.f64 [depot+56], 0d40934A0000000000;\nst.local.u32 [depot+64], 4;\nst.local.u32 [depot+68], 7;\n"
            "mov.u64 %rd1, format;\ncvta.global.u64 %rd1, %rd1;\nmov.u64 %rd2, depot;\n"
            "cvta.local.u64 %rd2, %rd2;\n" PRINT "st.global.u32 [%mine], %r9;\nEND:\n"));
    const uint32_t *words = runner_run(&runner, text, 32);
    assert_string_equal(runner.printed, "0|   42|ff   |-5000000000|3.50|str|Z|%|0x1234|1.234e+03|   7\n"
                                        "-1|   42|ff   |-5000000000|3.50|str|Z|%|0x1234|1.234e+03|   7\n");
    assert_int_equal(words[0], 11); /* arguments, the one of * included */
    runner_free(&runner);
}

static void test_printf_with_bad_string(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text, VPRINTF, KERNEL("mov.u64 %rd1, 16;\nmov.u64 %rd2, 0;\n" PRINT));
    runner_load(&runner, text);
    assert_int_equal(runner_try(&runner, 1), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner), "vprintf: the format at 0x10 is out of bounds"));
    runner_free(&runner);
}

static void test_unknown_system_function(void **state)
{
    (void)state;
    struct runner runner;
    with_functions(text, sizeof text, ".extern .func (.param .b64 r) malloc(.param .b64 f);\n",
                   KERNEL("{\n.param .b64 f; .param .b64 q;\nst.param.b64 [f], %rd1;\ncall (q), malloc, (f);\n}\n"));
    assert_int_equal(runner_try_load(&runner, text), CORUN_UNSUPPORTED);
    assert_string_equal(runner_message(&runner), "not supported: a call of malloc, which has no body here");
    assert_true(runner_line(&runner) > 10);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct_and_nested),       cmocka_unit_test(test_call_under_divergence_with_early_return),
        cmocka_unit_test(test_exit_inside_a_function),  cmocka_unit_test(test_register_parameters),
        cmocka_unit_test(test_alloca_in_calls),         cmocka_unit_test(test_stack_of_an_entry),
        cmocka_unit_test(test_too_much_alloca),         cmocka_unit_test(test_structure_by_value),
        cmocka_unit_test(test_indirect_through_table),  cmocka_unit_test(test_any_number_of_arguments),
        cmocka_unit_test(test_indirect_to_no_function), cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_endless_recursion),       cmocka_unit_test(test_printf),
        cmocka_unit_test(test_printf_with_bad_string),  cmocka_unit_test(test_unknown_system_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
