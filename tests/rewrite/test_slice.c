/* SPDX-License-Identifier: MIT */
/* Slices of kernels: what they are rewritten to, that they do what the whole grid does, and what is refused. */
#include "slice_runner.h"

/* The kernels of `text` become those of `wanted`. */
static void expect_text(const char *text, const char *wanted)
{
    struct slice_case item = slice_case_create(text, strlen(text));
    struct ptx_module *module;
    if (ptx_parse("wanted.ptx", wanted, strlen(wanted), item.list, &module) != CORUN_OK)
        fail_with(item.list, "parsing what is wanted");
    if (!ptx_module_equal(module, item.slices.module))
        fail_msg("found\n%s", item.text);
    ptx_module_destroy(module);
    slice_case_destroy(&item);
}

/* One add where the grid has one dimension, and a remainder where the slice has left its row. */
static void x_alone_is_an_add(void **state)
{
    (void)state;
    expect_text(HEAD ".entry k(.param .u32 n) { .reg .u32 %r;\nmov.u32 %r, %ctaid.x;\nret; }\n", HEAD
                ".entry k(.param .u32 n, .param .align 8 .b8 s[32]) { .reg .u32 %r; .reg .b32 f, x, w; .reg .pred p;\n"
                "ld.param.b32 f, [s]; mov.u32 x, %ctaid.x; add.u32 x, x, f;\n"
                "ld.param.b32 w, [s+12]; setp.lt.u32 p, x, w; @p bra ROW; rem.u32 x, x, w;\n"
                "ROW: mov.u32 %r, x;\nret; }\n");
}

static void kernel_that_reads_nothing_gets_the_parameter(void **state)
{
    (void)state;
    expect_text(HEAD ".entry k() { .reg .u32 %r;\nmov.u32 %r, %tid.x;\nret; }\n",
                HEAD ".entry k(.param .align 8 .b8 s[32]) { .reg .u32 %r;\nmov.u32 %r, %tid.x;\nret; }\n");
}

/* The shape is loaded where it was read, under the same guard. */
static void shape_is_loaded_in_place(void **state)
{
    (void)state;
    expect_text(HEAD ".entry k() { .reg .u32 %r; .reg .pred %p; .reg .b64 %d; .reg .b16 %h; .reg .f32 %f;\n"
                     "AGAIN: @!%p mov.u32 %r, %nctaid.x; mov.u16 %h, %nctaid.y; @%p cvt.u64.u32 %d, %nctaid.z;\n"
                     "mov.b32 %f, %nctaid.x; mov.u64 %d, %gridid; bra AGAIN; }\n",
                HEAD ".entry k(.param .align 8 .b8 s[32]) { .reg .u32 %r; .reg .pred %p; .reg .b64 %d; .reg .b16 %h;\n"
                     ".reg .f32 %f; .reg .b32 a, b;\n"
                     "AGAIN: @!%p ld.param.b32 %r, [s+12]; ld.param.b32 a, [s+16]; cvt.u16.u32 %h, a;\n"
                     "ld.param.b32 b, [s+20]; @%p cvt.u64.u32 %d, b;\n"
                     "ld.param.b32 %f, [s+12]; ld.param.b64 %d, [s+24]; bra AGAIN; }\n");
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
        const struct slice_launch launch = {"k", grid, {2, 1, 1}, {0}};
        uint8_t *found = expect_same(i % 2 ? WRITES("u") : WRITES("b"), &launch);
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
        const struct slice_launch launch = {"k", {3, 5, 7}, {1, 1, 1}, {0}};
        uint8_t *found = expect_same(text, &launch);
        uint32_t sum = 0, first = ((const uint32_t *)found)[0];
        for (unsigned i = 0; i < SLICE_OUT_BYTES / 4; i++)
            sum += ((const uint32_t *)found)[i];
        assert_int_equal(sum, 105);
        assert_int_equal(first, (set & 1 ? 1 : 3) * (set & 2 ? 1 : 5) * (set & 4 ? 1 : 7));
        free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x_alone_is_an_add),        cmocka_unit_test(kernel_that_reads_nothing_gets_the_parameter),
        cmocka_unit_test(shape_is_loaded_in_place), cmocka_unit_test(all_dimensions),
        cmocka_unit_test(some_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
