/* SPDX-License-Identifier: MIT */
/* Workers: that they do what the whole grid does, each thread block once, whatever the table says, and what is refused. */
#include "worker_runner.h"

/* Every thread adds 1 to word 0 of its 16, and writes what it reads of the grid to the others. */
#define WRITES \
    HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<16>; .reg .b64 %d<4>; .reg .b16 %h<4>; .reg .pred %p;\n" \
         "ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.z;\n" \
         "mov.u32 %r3, %nctaid.x;\nmov.u32 %r4, %nctaid.y;\nmov.u32 %r5, %nctaid.z;\n" \
         "mad.lo.u32 %r6, %r2, %r4, %r1;\nmad.lo.u32 %r6, %r6, %r3, %r0;\n" \
         "mov.u32 %r7, %ntid.x;\nmov.u32 %r8, %tid.x;\nmad.lo.u32 %r6, %r6, %r7, %r8;\n" \
         "mul.wide.u32 %d1, %r6, 64;\nadd.u64 %d0, %d0, %d1;\n" \
         "setp.eq.u32 %p, %r8, 0;\nmov.u32 %r9, 99;\n@%p mov.u32 %r9, %ctaid.y;\n" \
         "mov.u16 %h0, %ctaid.x;\ncvt.u32.u16 %r10, %h0;\ncvt.s32.u32 %r11, %ctaid.z;\n" \
         "mov.b32 %r12, %clusterid.x;\nmov.u32 %r13, %nclusterid.y;\nmov.u32 %r14, %ctaid.w;\n" \
         "red.global.add.u32 [%d0], 1;\nst.global.u32 [%d0+4], %r0;\n" \
         "st.global.v2.u32 [%d0+8], {%r1, %r2};\nst.global.v4.u32 [%d0+16], {%r3, %r4, %r5, %r9};\n" \
         "st.global.v4.u32 [%d0+32], {%r10, %r11, %r12, %r13};\nst.global.u32 [%d0+48], %r14;\nret;\n}\n"

static void all_dimensions(void **state)
{
    (void)state;
    static const struct corun_dim3 grids[] = {{1, 1, 1}, {11, 1, 1}, {1, 11, 1}, {1, 1, 11}, {5, 7, 1},
                                              {5, 1, 7}, {1, 5, 7},  {3, 5, 7},  {32, 2, 2}, {2, 2, 32}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        const struct corun_dim3 grid = grids[i];
        const struct test_launch launch = {"k", grid, {2, 1, 1}, {0}, 0};
        uint8_t *found = expect_same(WRITES, &launch);
        const uint32_t *words = (const uint32_t *)found;
        for (uint32_t b = 0; b < total_of(grid); b++)
            for (uint32_t t = 0; t < 2; t++, words += 16) { /* and that is right */
                const uint32_t x = b % grid.x, y = b / grid.x % grid.y, z = b / grid.x / grid.y;
                const uint32_t wanted[] = {1, x, y, z, grid.x, grid.y, grid.z, t ? 99 : y, x, z, x, grid.y, 0};
                assert_memory_equal(words, wanted, sizeof wanted);
            }
        free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
