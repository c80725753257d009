/* SPDX-License-Identifier: MIT */
/* At a launch: which buffers the arguments lead to decides whether its thread blocks may start again. */
#include "runner.h"

/* q[t] = p[t] + n, with n in 64 bits so that it could be a pointer */
static const char copy[] =
    HEAD ".visible .entry copy(.param .u64 p, .param .u64 q, .param .u64 n)\n{\n.reg .b64 %rd<8>; .reg .b32 %r<4>;\n"
         "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [n];\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, %rd4; add.s64 %rd2, %rd2, %rd3;\n"
         "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;\nret;\n}\n"
         ".visible .entry through(.param .u64 n)\n{\n.reg .b64 %rd<8>;\n"
         "ld.param.u64 %rd1, [n]; st.global.u32 [%rd1], 1;\nret;\n}\n";

static bool launched(struct runner *runner, const char *kernel, const uint64_t *arguments, size_t count)
{
    struct corun_dim3 one = {1, 1, 1}, block = {32, 1, 1};
    struct corun_grid *grid = runner_launch(runner, kernel, one, block, 0, arguments, count * sizeof *arguments);
    bool idempotent = grid->idempotent;
    corun_grid_destroy(grid);
    return idempotent;
}

static void the_buffers_decide(void **state)
{
    (void)state;
    struct runner runner;
    uint64_t other;
    runner_load(&runner, copy);
    assert_int_equal(corun_memory_allocate(runner.memory, 4096, &other), CORUN_OK);
    assert_true(launched(&runner, "copy", (uint64_t[]){runner.out, other, 0}, 3));
    assert_true(launched(&runner, "copy", (uint64_t[]){runner.out + 1024, other + 1024, 64}, 3));
    assert_false(launched(&runner, "copy", (uint64_t[]){other, other, 0}, 3));
    assert_false(
        launched(&runner, "copy", (uint64_t[]){other, other + 2048, 0}, 3));       /* parts of one are not told apart */
    assert_true(launched(&runner, "copy", (uint64_t[]){other, 0, runner.out}, 3)); /* the sum leads there */
    assert_false(launched(&runner, "copy", (uint64_t[]){other, 0, other}, 3));
    assert_false(launched(&runner, "copy", (uint64_t[]){other, runner.out, other}, 3)); /* a number like a pointer */
    /* an argument that leads nowhere: what is written is not known */
    assert_false(launched(&runner, "copy", (uint64_t[]){other, 0, 0}, 3));
    assert_false(launched(&runner, "through", (uint64_t[]){0}, 1));
    assert_true(launched(&runner, "through", (uint64_t[]){other}, 1));
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_buffers_decide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
