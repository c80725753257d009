/* SPDX-License-Identifier: MIT */
/* Which kernels may start a thread block again: by rule, one text each. */
#include "ptx_text.h"

#include "ptx/idempotence.h"

#define KERNEL(parameters, body) \
    HEAD ".global .u32 counter;\n.const .f32 table[16];\n.visible .entry k(" parameters ")\n{\n" REGISTERS "\n" body \
         "\nret;\n}\n"
#define TWO ".param .u64 p, .param .u64 q"
/* %rd1 = p, %rd2 = q, %rd3 = 4 * thread */
#define POINTERS \
    "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;\n" \
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"

static const char *judge(const char *text, char *copy)
{
    struct ptx_module *module = parse_text(text);
    struct arena *arena = arena_create();
    struct ptx_idempotence idempotence;
    assert_int_equal(ptx_idempotence_create(ptx_module_function(module, "k"), arena, &idempotence), CORUN_OK);
    snprintf(copy, 100, "%s", ptx_idempotence_text(&idempotence));
    arena_destroy(arena);
    ptx_module_destroy(module);
    return copy;
}

static void every_rule(void **state)
{
    (void)state;
    static const char differ[] = "if its arguments do not overlap", same[] = "reads what it writes", yes[] = "yes";
    static const char unknown_read[] = "reads where it cannot be foreseen",
                      unknown_write[] = "writes where it cannot be foreseen", call[] = "calls a function",
                      atomic[] = "atomics on global memory", clock[] = "reads a clock, its SM or its warp slot";
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {KERNEL(TWO, POINTERS "ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd5], %f1;"), differ},
        {KERNEL(TWO, POINTERS "ld.global.nc.f32 %f1, [%rd4]; st.global.f32 [%rd5+4], %f1;"), differ},
        {KERNEL(TWO, POINTERS "ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd4+64], %f1;"), same},
        {KERNEL(TWO, POINTERS "ld.global.f32 %f1, [%rd4];"), yes},
        {KERNEL(TWO, POINTERS "st.global.f32 [%rd5], 0f00000000;"), yes},
        /* either pointer, chosen as it runs */
        {KERNEL(TWO, POINTERS "setp.eq.u32 %p1, %r1, 0; selp.b64 %rd6, %rd4, %rd5, %p1; ld.global.f32 %f1, [%rd6]; "
                              "st.global.f32 [%rd5], %f1;"),
         same},
        /* around a loop: the address comes from the one before */
        {KERNEL(TWO, POINTERS "l: ld.global.f32 %f1, [%rd6]; add.s64 %rd6, %rd5, 4; st.global.f32 [%rd5], %f1; "
                              "setp.eq.u32 %p1, %r1, 0; @%p1 bra l;"),
         same},
        /* an index from memory keeps the root of its base; a pointer from memory has none */
        {KERNEL(TWO, POINTERS "ld.global.u32 %r2, [%rd4]; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd2, %rd6; "
                              "st.global.u32 [%rd7], %r2;"),
         differ},
        {KERNEL(TWO, POINTERS "ld.global.u64 %rd6, [%rd4]; st.global.u32 [%rd6], %r1;"), unknown_write},
        {KERNEL(TWO, POINTERS "ld.global.u64 %rd6, [%rd4]; ld.global.u32 %r2, [%rd6];"), unknown_read},
        {KERNEL(TWO, "st.global.u32 [4096], 1;"), unknown_write},
        /* pointers in halves, through predicates, shuffles and packing */
        {KERNEL(TWO, POINTERS "mov.b64 {%r3, %r4}, %rd1; mov.b64 %rd6, {%r3, %r4}; ld.global.u32 %r2, [%rd6]; "
                              "st.global.u32 [%rd4], %r2;"),
         same},
        /* variables of the module */
        {KERNEL(TWO, POINTERS "ld.const.f32 %f1, [table+4]; st.global.f32 [%rd5], %f1;"), differ},
        {KERNEL(TWO, "ld.global.u32 %r1, [counter]; st.global.u32 [counter], %r1;"), same},
        {KERNEL(TWO, "mov.u64 %rd1, counter; ld.global.u32 %r1, [%rd1]; st.global.u32 [counter], %r1;"), same},
        /* what ends with the thread block does not count */
        {KERNEL(TWO, ".shared .u32 s[32]; .local .u32 l[4];\nst.shared.u32 [s], 1; ld.shared.u32 %r1, [s]; "
                     "st.local.u32 [l], %r1; ld.local.u32 %r2, [l]; atom.shared.add.u32 %r3, [s], 1;"),
         yes},
        {KERNEL(TWO, ".shared .u32 s[32];\nmov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1; st.u32 [%rd2], 1; "
                     "ld.u32 %r1, [%rd2]; atom.add.u32 %r2, [%rd2], 1;"),
         yes},
        {KERNEL(TWO, ".shared .u32 s[32];\natom.shared.add.u32 %r3, [s], 1; mul.wide.u32 %rd3, %r3, 4;"),
         "uses what atomics on shared memory give back"},
        {KERNEL(TWO, POINTERS "atom.global.add.u32 %r2, [%rd4], 1;"), atomic},
        {KERNEL(TWO, POINTERS "red.global.add.u32 [%rd4], 1;"), atomic},
        {KERNEL(TWO, "ld.param.u64 %rd1, [p]; atom.add.u32 %r2, [%rd1], 1;"), atomic},
        {KERNEL(TWO, POINTERS "mov.u32 %r2, %smid; st.global.u32 [%rd4], %r2;"), clock},
        {KERNEL(TWO, "mov.u64 %rd1, %clock64;"), clock},
        {KERNEL(TWO, "mov.u32 %r1, %warpid;"), clock},
        {KERNEL(TWO, "ld.param.u64 %rd1, [p]; tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];"),
         "accesses memory in a way that is not analysed"},
        /* structures of pointers: each of them is a root of its own */
        {KERNEL(".param .align 8 .b8 s[16]", "ld.param.v2.u64 {%rd1, %rd2}, [s]; ld.global.u32 %r1, [%rd1]; "
                                             "st.global.u32 [%rd2], %r1;"),
         differ},
        {KERNEL(".param .align 8 .b8 s[16]", "ld.param.u64 %rd1, [s]; ld.param.u64 %rd2, [s]; "
                                             "ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;"),
         same},
        {HEAD ".func f() { ret; }\n.visible .entry k(.param .u64 p) { call f; ret; }\n", call},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char found[100];
        if (strcmp(judge(cases[i].text, found), cases[i].expected))
            fail_msg("case %zu: \"%s\", not \"%s\"", i, found, cases[i].expected);
    }
}

/* More pointers than there are roots: a no, not a wrong yes. */
static void too_many_roots(void **state)
{
    (void)state;
    static char text[20000], found[100];
    size_t at =
        (size_t)snprintf(text, sizeof text, "%s", HEAD ".visible .entry k(.param .align 8 .b8 s[800])\n{\n" REGISTERS);
    for (uint32_t i = 0; i < 100; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "ld.param.u64 %%rd%u, [s+%u]; ld.global.u32 %%r1, [%%rd%u];\n", i % 2, 8 * i, i % 2);
    for (uint32_t i = 0; i < 100; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "{ .reg .b64 %%x; ld.param.u64 %%x, [s+%u]; st.global.u32 [%%x], 1; }\n", 8 * i);
    snprintf(text + at, sizeof text - at, "ret;\n}\n");
    assert_string_equal(judge(text, found), "has more pointers than are followed");
}

/* A chain against the order of the text, one step a pass: given up, and soon. */
static void too_many_steps(void **state)
{
    (void)state;
    enum { STEPS = 3000 };
    size_t size = 100 * STEPS;
    char *text = malloc(size), found[100];
    size_t at = (size_t)snprintf(
        text, size, "%s", HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %x<4000>;\nst.global.u32 [%x0], 1;\n");
    for (uint32_t i = 0; i < STEPS; i++)
        at += (size_t)snprintf(text + at, size - at, "mov.u64 %%x%u, %%x%u;\n", i, i + 1);
    snprintf(text + at, size - at, "ld.param.u64 %%x%u, [p];\nret;\n}\n", STEPS);
    assert_string_equal(judge(text, found), "computes addresses in too many steps");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule), cmocka_unit_test(too_many_roots),
                                       cmocka_unit_test(too_many_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
