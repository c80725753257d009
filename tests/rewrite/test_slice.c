/* SPDX-License-Identifier: MIT */
/* Slices of kernels: what they are rewritten to, that they do what the whole grid does, and what is refused. */
#include "slice_runner.h"

static void expect_text(const char *text, const char *wanted)
{
    expect_rewritten(slice_module, text, wanted);
}

/* Where the grid has one dimension, x is an add and a comparison away, in the register in which it is wanted. */
static void x_alone_is_an_add(void **state)
{
    (void)state;
    expect_text(
        HEAD ".entry k(.param .u32 n) { .reg .u32 %r, %t;\nmov.u32 %t, %tid.x;\nmov.u32 %r, %ctaid.x;\nret; }\n",
        HEAD ".entry k(.param .u32 n, .param .align 16 .b8 s[40]) {\n.reg .u32 %r, %t; .reg .b32 f, w; .reg .pred p;\n"
             "mov.u32 %t, %tid.x;\nld.param.v2.b32 {f, w}, [s]; mov.u32 %r, %ctaid.x; add.u32 %r, %r, f;\n"
             "setp.lt.u32 p, %r, w; @p bra ROW; rem.u32 %r, %r, w;\nROW: ret; }\n");
}

/* A slice that leaves its row or its layer continues in the next one. */
static void all_dimensions_are_carried(void **state)
{
    (void)state;
    expect_text(
        HEAD ".entry k() { .reg .u32 %r2, %r0, %r1;\nmov.u32 %r2, %ctaid.z; mov.u32 %r0, %ctaid.x; mov.u32 %r1, "
             "%ctaid.y;\nret; }\n",
        HEAD
        ".entry k(.param .align 16 .b8 s[40]) { .reg .u32 %r2, %r0, %r1; .reg .b32 f, w, l; .reg .pred a;\n"
        ".reg .b32 q; .reg .pred b, c; .reg .b32 u; .reg .pred d;\n"
        "ld.param.v4.b32 {f, w, %r1, l}, [s]; ld.param.b32 %r2, [s+16];\nmov.u32 %r0, %ctaid.x; add.u32 %r0, %r0, f;\n"
        "setp.lt.u32 a, %r0, w; @a bra ROW;\nld.param.b32 q, [s+24]; mul.hi.u32 q, %r0, q; add.u32 %r1, %r1, q;\n"
        "mul.lo.u32 q, q, w; sub.u32 %r0, %r0, q; setp.ge.u32 b, %r0, w;\n"
        "@b sub.u32 %r0, %r0, w; @b add.u32 %r1, %r1, 1;\nsetp.lt.u32 c, %r1, l; @c bra ROW;\n"
        "ld.param.b32 u, [s+28]; mul.hi.u32 u, %r1, u; add.u32 %r2, %r2, u;\nmul.lo.u32 u, u, l; sub.u32 %r1, %r1, u;\n"
        "setp.ge.u32 d, %r1, l; @d sub.u32 %r1, %r1, l; @d add.u32 %r2, %r2, 1;\nROW: ret; }\n");
}

/*
 * A register that is written elsewhere too, read before, or by some threads only cannot be that of x; and what not all threads come to
 * does not compute it: then it is computed at the beginning.
 */
static void registers_are_kept_where_they_have_to_be(void **state)
{
    (void)state;
#define PARAMETER "(.param .align 16 .b8 s[40])"
#define INDEX \
    "ld.param.v2.b32 {f, w}, [s]; mov.u32 x, %ctaid.x; add.u32 x, x, f; setp.lt.u32 p, x, w; @p bra ROW;\n" \
    "rem.u32 x, x, w;\nROW: "
#define DECLARED ".reg .b32 x, f, w; .reg .pred p;\n"
    static const struct {
        const char *before, *after;
    } rows[] = {
        {"mov.u32 %r, %ctaid.x; add.u32 %r, %r, 1; ret;", INDEX "mov.u32 %r, x; add.u32 %r, %r, 1; ret;"},
        {"add.u32 %t, %r, 1; mov.u32 %r, %ctaid.x; ret;", "add.u32 %t, %r, 1; " INDEX "mov.u32 %r, x; ret;"},
        {"add.u32 %t, %t, 1; @%q mov.u32 %r, %ctaid.x; ret;", "add.u32 %t, %t, 1; " INDEX "@%q mov.u32 %r, x; ret;"},
        {"add.u32 %t, %t, 1; mov.b32 %f, %ctaid.x; ret;", "add.u32 %t, %t, 1; " INDEX "mov.b32 %f, x; ret;"},
        {"add.u32 %t, %t, 1; @%q bra E; mov.u32 %r, %ctaid.x;\nE: ret;",
         INDEX "add.u32 %t, %t, 1; @%q bra E; mov.u32 %r, x;\nE: ret;"},
        {"add.u32 %t, %t, 1;\nB: mov.u32 %r, %ctaid.x; @%q bra B; ret;",
         INDEX "add.u32 %t, %t, 1;\nB: mov.u32 %r, x; @%q bra B; ret;"},
        {"@%q ret; mov.u32 %r, %ctaid.x; ret;", INDEX "@%q ret; mov.u32 %r, x; ret;"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024], wanted[1024];
        static const char own[] = ".reg .u32 %r, %t; .reg .f32 %f; .reg .pred %q;\n";
        snprintf(text, sizeof text, HEAD ".entry k() { %s%s }\n", own, rows[i].before);
        snprintf(wanted, sizeof wanted, HEAD ".entry k" PARAMETER " { %s" DECLARED "%s }\n", own, rows[i].after);
        expect_text(text, wanted);
    }
}

static void kernel_that_reads_nothing_gets_the_parameter(void **state)
{
    (void)state;
    expect_text(HEAD ".entry k() { .reg .u32 %r;\nmov.u32 %r, %tid.x;\nret; }\n",
                HEAD ".entry k" PARAMETER " { .reg .u32 %r;\nmov.u32 %r, %tid.x;\nret; }\n");
}

/* The shape is loaded where it was read, under the same guard. */
static void shape_is_loaded_in_place(void **state)
{
    (void)state;
    expect_text(HEAD ".entry k() { .reg .u32 %r; .reg .pred %p; .reg .b64 %d; .reg .b16 %h; .reg .f32 %f;\n"
                     "AGAIN: @!%p mov.u32 %r, %nctaid.x; mov.u16 %h, %nctaid.y; @%p cvt.u64.u32 %d, %nctaid.z;\n"
                     "mov.b32 %f, %nctaid.x; mov.u64 %d, %gridid; bra AGAIN; }\n",
                HEAD ".entry k" PARAMETER " { .reg .u32 %r; .reg .pred %p; .reg .b64 %d; .reg .b16 %h;\n"
                     ".reg .f32 %f; .reg .b32 a, b;\n"
                     "AGAIN: @!%p ld.param.b32 %r, [s+4]; ld.param.b32 a, [s+12]; cvt.u16.u32 %h, a;\n"
                     "ld.param.b32 b, [s+20]; @%p cvt.u64.u32 %d, b;\n"
                     "ld.param.b32 %f, [s+4]; ld.param.b64 %d, [s+32]; bra AGAIN; }\n");
}

/* Every thread writes what it reads of the grid to words[16 * (thread of the grid)]. */
#define WRITES(type) \
    HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<16>; .reg .b64 %d<4>; .reg .b16 %h<4>; .reg .pred %p;\n" \
         "ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.z;\n" \
         "mov.u32 %r3, %nctaid.x;\nmov.u32 %r4, %nctaid.y;\nmov.u32 %r5, %nctaid.z;\n" \
         "mad.lo.u32 %r6, %r2, %r4, %r1;\nmad.lo.u32 %r6, %r6, %r3, %r0;\n" \
         "mov.u32 %r7, %ntid.x;\nmov.u32 %r8, %tid.x;\nmad.lo.u32 %r6, %r6, %r7, %r8;\n" \
         "mul.wide.u32 %d1, %r6, 64;\nadd.u64 %d0, %d0, %d1;\n" \
         "setp.eq.u32 %p, %r8, 0;\nmov.u32 %r9, 99;\n@%p mov." type "32 %r9, %ctaid.y;\n" \
         "mov.u16 %h0, %ctaid.x;\ncvt.u32.u16 %r10, %h0;\ncvt.s32.u32 %r11, %ctaid.z;\n" \
         "mov." type "32 %r12, %clusterid.x;\nmov.u32 %r13, %nclusterid.y;\nmov.u32 %r14, %ctaid.w;\n" \
         "st.global.v4.u32 [%d0], {%r0, %r1, %r2, %r3};\nst.global.v4.u32 [%d0+16], {%r4, %r5, %r9, %r10};\n" \
         "st.global.v4.u32 [%d0+32], {%r11, %r12, %r13, %r14};\nret;\n}\n"

static void all_dimensions(void **state)
{
    (void)state;
    static const struct corun_dim3 grids[] = {{1, 1, 1}, {11, 1, 1}, {1, 11, 1}, {1, 1, 11}, {5, 7, 1},
                                              {5, 1, 7}, {1, 5, 7},  {3, 5, 7},  {32, 2, 2}, {2, 2, 32}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        const struct corun_dim3 grid = grids[i];
        const struct test_launch launch = {"k", grid, {2, 1, 1}, {0}, 0};
        uint8_t *found = expect_same_in_slices(i % 2 ? WRITES("u") : WRITES("b"), &launch);
        const uint32_t *words = (const uint32_t *)found;
        for (uint32_t b = 0; b < grid.x * grid.y * grid.z; b++)
            for (uint32_t t = 0; t < 2; t++, words += 16) { /* and that is right */
                const uint32_t x = b % grid.x, y = b / grid.x % grid.y, z = b / grid.x / grid.y;
                const uint32_t wanted[] = {x, y, z, grid.x, grid.y, grid.z, t ? 99 : y, x, z, x, grid.y, 0};
                assert_memory_equal(words, wanted, sizeof wanted);
            }
        free(found);
    }
}

/* Some dimensions are not read, in a grid that has them all: what is read is right nevertheless. */
static void some_dimensions(void **state)
{
    (void)state;
    static const char *const names[] = {"%ctaid.x", "%ctaid.y", "%ctaid.z"};
    for (unsigned set = 0; set < 8; set++) {
        char text[2048];
        size_t used =
            (size_t)snprintf(text, sizeof text,
                             HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<4>; .reg .b64 %%d<2>;\n"
                                  "ld.param.u64 %%d0, [out];\nmov.u32 %%r0, 0;\n");
        for (unsigned i = 0; i < 3; i++)
            if (set & 1u << i)
                used += (size_t)snprintf(text + used, sizeof text - used,
                                         "mov.u32 %%r1, %s;\nmad.lo.u32 %%r0, %%r0, 8, %%r1;\n", names[i]);
        snprintf(text + used, sizeof text - used,
                 "mul.wide.u32 %%d1, %%r0, 4;\nadd.u64 %%d0, %%d0, %%d1;\nred.global.add.u32 [%%d0], 1;\nret;\n}\n");
        const struct test_launch launch = {"k", {3, 5, 7}, {1, 1, 1}, {0}, 0};
        uint8_t *found = expect_same_in_slices(text, &launch);
        uint32_t sum = 0, first = ((const uint32_t *)found)[0];
        for (unsigned i = 0; i < OUT_BYTES / 4; i++)
            sum += ((const uint32_t *)found)[i];
        assert_int_equal(sum, 105);
        assert_int_equal(first, (set & 1 ? 1 : 3) * (set & 2 ? 1 : 5) * (set & 4 ? 1 : 7));
        free(found);
    }
}

/* The grid is larger than memory can show: the place of its last thread blocks, which no 32-bit number counts. */
static void large_grids(void **state)
{
    (void)state;
    static const struct {
        uint32_t grid[3];
        uint64_t first;
        uint32_t blocks, place[3]; /* of the last thread block of the slice */
    } rows[] = {
        {{INT32_MAX, 65535, 65535}, (UINT64_C(0x7fffffff) * 65535 * 65535) - 3, 3, {INT32_MAX - 1, 65534, 65534}},
        {{INT32_MAX, 65535, 2}, UINT64_C(0x7fffffff) * 65535 - 1, 2, {0, 0, 1}},
        {{1, 65535, 65535}, UINT64_C(65535) * 65534 + 65533, 2, {0, 65534, 65534}},
        {{1, 65535, 65535}, 65534, 65537, {0, 0, 2}},
        {{65536, 65535, 3}, (UINT64_C(1) << 32) - 1, 2, {0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* only the last thread block of a slice writes: the others would lie beyond the buffer */
        static const char text[] = HEAD
            ".visible .entry k(.param .u64 out, .param .u32 x, .param .u32 y, .param .u32 z)\n{\n"
            ".reg .b32 %r<8>; .reg .b64 %d; .reg .pred %p<3>;\nld.param.u64 %d, [out];\n"
            "ld.param.u32 %r4, [x]; ld.param.u32 %r5, [y]; ld.param.u32 %r6, [z];\n"
            "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z; mov.u32 %r3, %nctaid.x;\n"
            "setp.ne.u32 %p0, %r0, %r4; @%p0 ret;\nsetp.ne.u32 %p0, %r1, %r5; @%p0 ret;\n"
            "setp.ne.u32 %p0, %r2, %r6; @%p0 ret;\nred.global.add.u32 [%d], 1;\nst.global.u32 [%d+4], %r3;\nret;\n}\n";
        struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
        struct test_launch launch = {
            .kernel = "k", .grid = {rows[i].grid[0], rows[i].grid[1], rows[i].grid[2]}, .block = {1, 1, 1}};
        memcpy(launch.words, rows[i].place, sizeof rows[i].place);
        const uint32_t *found = (const uint32_t *)run_slice(&item, &launch, rows[i].first, rows[i].blocks);
        assert_int_equal(found[0], 1);
        assert_int_equal(found[1], rows[i].grid[0]);
        free((void *)(uintptr_t)found);
        rewrite_case_destroy(&item);
    }
}

/* f(a) = a * %nctaid.x + g(), g() = %ctaid.x + %ctaid.y: what both read is handed on, once by each. */
#define CALLED \
    ".func (.param .b32 r) g()\n{\n.reg .b32 %r<3>;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\n" \
    "add.u32 %r0, %r0, %r1;\nst.param.b32 [r], %r0;\nret;\n}\n" \
    ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<4>;\nld.param.b32 %r0, [a];\nmov.u32 %r1, %nctaid.x;\n" \
    "mul.lo.u32 %r0, %r0, %r1;\n{ .param .b32 q;\ncall.uni (q), g;\nld.param.b32 %r2, [q]; }\nadd.u32 %r0, %r0, " \
    "%r2;\n" \
    "st.param.b32 [r], %r0;\nret;\n}\n"
/* words[place of the thread block] += f(7) */
#define CALLS_AND_WRITES(name) \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\nld.param.u64 %d0, [out];\n" \
    "{ .param .b32 v, q;\nst.param.b32 [v], 7;\ncall.uni (q), f, (v);\nld.param.b32 %r0, [q]; }\n" \
    "mov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r1, 64, %r2;\nmul.wide.u32 %d1, %r1, 4;\n" \
    "add.u64 %d0, %d0, %d1;\nred.global.add.u32 [%d0], %r0;\nret;\n}\n"

static void functions_are_told(void **state)
{
    (void)state;
    const struct test_launch launch = {"k", {5, 3, 2}, {1, 1, 1}, {0}, 0};
    uint8_t *found = expect_same_in_slices(HEAD CALLED CALLS_AND_WRITES("k"), &launch);
    for (uint32_t y = 0; y < 3; y++)
        for (uint32_t x = 0; x < 5; x++)
            assert_int_equal(((const uint32_t *)found)[64 * y + x], 2 * (7 * 5 + x + y));
    free(found);
    struct rewrite_case item =
        rewrite_case_create(slice_module, HEAD CALLED CALLS_AND_WRITES("k"), strlen(HEAD CALLED CALLS_AND_WRITES("k")));
    assert_int_equal(rewrite_case_kernel(&item, "k")->reads,
                     1u << GRID_CTAID_X | 1u << GRID_CTAID_Y | 1u << GRID_NCTAID_X);
    assert_int_equal(rewrite_case_kernel(&item, "k")->parameter_index, 1);
    assert_int_equal(rewrite_case_kernel(&item, "k")->parameter_offset, 16);
    rewrite_case_destroy(&item);
}

/* A function that calls itself hands on what it was given. */
static void recursion(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .func (.param .b32 r) f(.param .b32 n)\n{\n.reg .b32 %r<4>; .reg .pred %p;\n"
             "ld.param.b32 %r0, [n];\nmov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p, %r0, 0;\n@%p bra END;\n"
             "sub.u32 %r0, %r0, 1;\n{ .param .b32 v, q;\nst.param.b32 [v], %r0;\ncall.uni (q), f, (v);\n"
             "ld.param.b32 %r2, [q]; }\nadd.u32 %r1, %r1, %r2;\nEND:\nst.param.b32 [r], %r1;\nret;\n}\n"
             ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\nld.param.u64 %d0, [out];\n"
             "{ .param .b32 v, q;\nst.param.b32 [v], 3;\ncall.uni (q), f, (v);\nld.param.b32 %r0, [q]; }\n"
             "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nred.global.add.u32 [%d0], 1;\nret;\n}\n";
    const struct test_launch launch = {"k", {9, 1, 1}, {1, 1, 1}, {0}, 0};
    uint8_t *found = expect_same_in_slices(text, &launch);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(((const uint32_t *)found)[4 * i], 1);
    free(found);
}

static void expect_refusal(const struct rewrite_case *item, const char *name, uint32_t line, const char *refusal)
{
    const struct rewritten_kernel *kernel = rewrite_case_kernel(item, name);
    assert_non_null(kernel->refusal);
    assert_string_equal(kernel->refusal, refusal);
    assert_int_equal(kernel->place.line, line);
    assert_int_equal(kernel->parameter_index, kernel->function->signature.parameter_count);
    assert_int_equal(kernel->parameter_offset, kernel->function->parameter_bytes);
    assert_int_equal(kernel->registers_before, kernel->registers_after);
}

/* Clusters of several thread blocks stay together; one of a single thread block is none. */
static void clusters(void **state)
{
    (void)state;
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".entry pairs() .reqnctapercluster 1, 2\n{ ret; }\n"
                               ".entry of_launches() .explicitcluster\n{ ret; }\n"
                               ".entry single() .reqnctapercluster 1, 1, 1\n{ ret; }\n"
                               ".entry most() .maxclusterrank 8\n{ ret; }\n";
    struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
    expect_refusal(&item, "pairs", 4, "its thread blocks come in clusters");
    expect_refusal(&item, "of_launches", 6, "its thread blocks come in clusters");
    assert_null(rewrite_case_kernel(&item, "single")->refusal);
    assert_null(rewrite_case_kernel(&item, "most")->refusal);
    rewrite_case_destroy(&item);
}

/* A function that a call brings any number of arguments to cannot have one more; one that needs none stays what it is. */
static void any_number_of_arguments(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".func reads(.param .b32 n, .param .align 8 .b8 more[])\n{ .reg .u32 %r; mov.u32 %r, %ctaid.x; ret; }\n"
             ".func harmless(.param .b32 n, .param .align 8 .b8 more[]) { ret; }\n"
             ".entry refused() { .param .b32 n; call reads, (n); ret; }\n"
             ".entry sliced() { .param .b32 n; .param .align 8 .b8 m[24]; call harmless, (n, m); ret; }\n";
    struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
    expect_refusal(&item, "refused", 4, "a function with any number of arguments reads where it is in the grid");
    assert_null(rewrite_case_kernel(&item, "sliced")->refusal);
    rewrite_case_destroy(&item);
}

/* What cannot be sliced is refused with its place; the other kernels of the module are sliced. */
static void refusals(void **state)
{
    (void)state;
    static const char text[] =
        HEAD /* 4 */ ".func pointed() { .reg .u32 %r; mov.u32 %r, %ctaid.y; ret; }\n"
                     ".func harmless() { ret; }\n"
                     ".func meets() { .reg .u32 %r; mov.u32 %r, %envreg2; ret; }\n"
                     ".extern .func elsewhere();\n.extern .func malloc(.param .u64 n);\n"
                     /* 9 */ ".global .u64 table[2] = {pointed, harmless};\n"
                     ".entry meeting() {\n.reg .u32 %r;\nmov.u32 %r, %envreg1; ret; }\n"
                     /* 13 */ ".entry indirect() { .reg .u64 %d;\nP: .callprototype _ ();\ncall %d, P; ret; }\n"
                     /* 16 */ ".entry other() { .reg .u64 %d;\nP: .callprototype _ (.param .u32 _);\n.param .u32 a;\n"
                     "call %d, (a), P; ret; }\n"
                     /* 20 */ ".entry direct() { call pointed;\nret; }\n"
                     ".entry deep() { call meets; ret; }\n"
                     ".entry outside() { call elsewhere; ret; }\n"
                     ".entry allocates() { .param .u64 n;\ncall malloc, (n); ret; }\n"
                     /* 26 */ ".entry named() { .reg .u64 %d;\nT: .calltargets harmless;\ncall %d, T; ret; }\n"
                     ".entry launched() { ret; }\n"
                     /* 30 */ ".entry launches() { .reg .u64 %d; mov.u64 %d, launched; ret; }\n"
                     ".entry full(.param .b8 p[4064]) { ret; }\n.entry fits(.param .b8 p[4048]) { ret; }\n";
    struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
    expect_refusal(&item, "meeting", 12, "reads %envreg1: all thread blocks of its grid wait for each other");
    expect_refusal(&item, "indirect", 15, "calls through a pointer, perhaps 'pointed', which reads %ctaid.y");
    expect_refusal(&item, "direct", 20, "calls 'pointed', which reads %ctaid.y and is called through pointers too");
    expect_refusal(&item, "deep", 6, "'meets' reads %envreg2: all thread blocks of its grid wait for each other");
    expect_refusal(&item, "outside", 23, "calls 'elsewhere', of which there is no body here");
    expect_refusal(&item, "launched", 29,
                   "its address is taken: who launches it through that gives it its old parameters");
    expect_refusal(&item, "full", 31, "its parameters leave no room for one more");
    static const char *const sliced[] = {"other", "allocates", "named", "launches", "fits"};
    for (size_t i = 0; i < sizeof sliced / sizeof sliced[0]; i++)
        assert_null(rewrite_case_kernel(&item, sliced[i])->refusal);
    assert_int_equal(item.rewritten.rewritten_count, 5);
    assert_int_equal(item.rewritten.kernel_count, 12);
    rewrite_case_destroy(&item);
}

/* A kernel that is refused calls a function that a sliced one calls too: it hands on what its own launch says. */
static void refused_kernel_hands_on(void **state)
{
    (void)state;
    static const char text[] = HEAD CALLED CALLS_AND_WRITES(
        "k") ".visible .entry whole(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\nld.param.u64 %d0, [out];\n"
             "mov.u32 %r3, %envreg1;\n{ .param .b32 v, q;\nst.param.b32 [v], 7;\ncall.uni (q), f, (v);\n"
             "ld.param.b32 %r0, [q]; }\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %d1, %r2, 4;\nadd.u64 %d0, %d0, %d1;\n"
             "st.global.u32 [%d0], %r0;\nret;\n}\n";
    struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
    assert_null(rewrite_case_kernel(&item, "k")->refusal);
    assert_non_null(rewrite_case_kernel(&item, "whole")->refusal);
    const struct test_launch launch = {"whole", {6, 1, 1}, {1, 1, 1}, {0}, 0};
    uint8_t *found = run_slice(&item, &launch, 0, 0);
    for (uint32_t x = 0; x < 6; x++)
        assert_int_equal(((const uint32_t *)found)[x], 7 * 6 + x);
    free(found);
    rewrite_case_destroy(&item);
}

/* The parameter lies behind the others, aligned, and its name is free. */
static void parameter_is_behind_the_others(void **state)
{
    (void)state;
    static const char text[] = HEAD ".global .u32 corun_slice;\n.entry k(.param .u64 a, .param .u8 b, .param .u32 c) "
                                    "{ .reg .u32 %r; mov.u32 %r, %nctaid.x; ret; }\n";
    struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
    const struct rewritten_kernel *kernel = rewrite_case_kernel(&item, "k");
    assert_int_equal(kernel->parameter_index, 3);
    assert_int_equal(kernel->parameter_offset, 16);
    assert_int_equal(kernel->function->parameter_bytes, 56);
    assert_string_equal(kernel->function->signature.parameters[3]->name, "corun_slice$1");
    assert_int_equal(kernel->reads, 1u << GRID_NCTAID_X);
    rewrite_case_destroy(&item);
}

/* A jump to the first instruction does not rectify again. */
static void loops_to_the_beginning(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p;\n"
             "AGAIN: mov.u32 %r0, %ctaid.x;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 5;\n@%p bra AGAIN;\n"
             "ld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\n"
             "st.global.u32 [%d0], %r1;\nret;\n}\n";
    const struct test_launch launch = {"k", {9, 1, 1}, {1, 1, 1}, {0}, 0};
    uint8_t *found = expect_same_in_slices(text, &launch);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(((const uint32_t *)found)[i], 5);
    free(found);
}

/* All slices of a launch read one %gridid, whichever width they read it in. */
static void grid_id_is_that_of_the_launch(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>; .reg .b64 %d<4>;\n"
             "ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\nmul.wide.u32 %d1, %r0, 16;\nadd.u64 %d0, %d0, %d1;\n"
             "mov.u64 %d2, %gridid;\nmov.u32 %r1, %gridid;\nst.global.u64 [%d0], %d2;\nst.global.u32 [%d0+8], "
             "%r1;\nret;\n}\n";
    struct rewrite_case item = rewrite_case_create(slice_module, text, sizeof text - 1);
    const struct test_launch launch = {"k", {9, 1, 1}, {1, 1, 1}, {0}, 0};
    uint8_t *found = run_cut(&item, text, &launch, &(struct cutting){2, 1});
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(((const uint64_t *)found)[2 * i], 77);
        assert_int_equal(((const uint32_t *)found)[4 * i + 2], 77);
    }
    free(found);
    rewrite_case_destroy(&item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x_alone_is_an_add),
        cmocka_unit_test(all_dimensions_are_carried),
        cmocka_unit_test(registers_are_kept_where_they_have_to_be),
        cmocka_unit_test(kernel_that_reads_nothing_gets_the_parameter),
        cmocka_unit_test(shape_is_loaded_in_place),
        cmocka_unit_test(all_dimensions),
        cmocka_unit_test(some_dimensions),
        cmocka_unit_test(large_grids),
        cmocka_unit_test(functions_are_told),
        cmocka_unit_test(recursion),
        cmocka_unit_test(clusters),
        cmocka_unit_test(any_number_of_arguments),
        cmocka_unit_test(refusals),
        cmocka_unit_test(refused_kernel_hands_on),
        cmocka_unit_test(parameter_is_behind_the_others),
        cmocka_unit_test(loops_to_the_beginning),
        cmocka_unit_test(grid_id_is_that_of_the_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
