/* SPDX-License-Identifier: MIT */
/* Kernels that cannot become workers, and which others of their module can. */
#include "worker_runner.h"

static void expect_refusal(const struct rewrite_case *item, const char *name, uint32_t line, const char *refusal)
{
    const struct rewritten_kernel *kernel = rewrite_case_kernel(item, name);
    assert_non_null(kernel->refusal);
    assert_string_equal(kernel->refusal, refusal);
    assert_int_equal(kernel->place.line, line);
    assert_int_equal(kernel->parameter_offset, kernel->function->parameter_bytes);
    assert_int_equal(kernel->registers_before, kernel->registers_after);
    assert_int_equal(kernel->shared_bytes_added, 0);
}

/* What cannot be a worker is refused with its place; the other kernels of the module are rewritten. */
static void refusals(void **state)
{
    (void)state;
    static const char text[] =
        HEAD /* 4 */ ".func ends() { .reg .pred %p;\n@%p exit;\nret; }\n"
                     ".func deep() { call ends; ret; }\n"
                     ".func reads() { .reg .u32 %r; mov.u32 %r, %ctaid.y; ret; }\n"
                     ".global .u64 table[1] = {reads};\n"
                     /* 10 */ ".entry meeting() {\n.reg .u32 %r;\nmov.u32 %r, %envreg1; ret; }\n"
                     /* 13 */ ".entry calls() { call deep; ret; }\n"
                     ".entry indirect() { .reg .u64 %d;\nP: .callprototype _ ();\ncall %d, P; ret; }\n"
                     /* 17 */ ".entry large() { .reg .u32 %r; .shared .b8 s[49100]; mov.u32 %r, s; ret; }\n"
                     ".entry full(.param .b8 p[4017]) { ret; }\n"
                     ".entry fits(.param .b8 p[4016]) { .reg .u32 %r; .shared .b8 s[49000]; mov.u32 %r, s; ret; }\n"
                     ".entry ended() { .reg .pred %p; @%p exit; ret; }\n"
                     ".entry harmless() { .reg .u64 %d; ld.global.nc.u64 %d, [table]; ret; }\n";
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    expect_refusal(&item, "meeting", 12, "reads %envreg1: all thread blocks of its grid wait for each other");
    expect_refusal(&item, "calls", 5, "'ends' ends its thread");
    expect_refusal(&item, "indirect", 16, "calls through a pointer, perhaps 'reads', which reads %ctaid.y");
    expect_refusal(&item, "large", 17, "its shared memory leaves no room for the index of the thread block");
    expect_refusal(&item, "full", 18, "its parameters leave no room for one more");
    static const char *const rewritten[] = {"fits", "ended", "harmless"};
    for (size_t i = 0; i < sizeof rewritten / sizeof rewritten[0]; i++)
        assert_null(rewrite_case_kernel(&item, rewritten[i])->refusal);
    assert_int_equal(item.rewritten.rewritten_count, 3);
    assert_int_equal(item.rewritten.kernel_count, 8);
    const struct rewritten_kernel *fits = rewrite_case_kernel(&item, "fits");
    assert_int_equal(fits->parameter_index, 1);
    assert_int_equal(fits->parameter_offset, 4016);
    assert_int_equal(fits->shared_bytes_added, 48);
    assert_false(fits->reads_noncoherent);
    assert_true(rewrite_case_kernel(&item, "harmless")->reads_noncoherent);
    rewrite_case_destroy(&item);
}

/* A barrier that workers have beside the kernel's own. */
static void barriers_that_are_not_known(void **state)
{
    (void)state;
    static const char computed[] = HEAD ".entry k() { .reg .u32 %r;\nbar.sync %r;\nbar.sync %r, 64; ret; }\n";
    struct rewrite_case item = rewrite_case_create(workers_module, computed, sizeof computed - 1);
    expect_refusal(&item, "k", 6, "it has a barrier with its number in a register: no other is known to be free");
    rewrite_case_destroy(&item);
    char all[2048];
    size_t length = (size_t)snprintf(all, sizeof all, HEAD ".entry k() {\n");
    for (uint32_t i = 0; i < 16; i++)
        length += (size_t)snprintf(all + length, sizeof all - length, "bar.sync %u, 64;\n", i);
    snprintf(all + length, sizeof all - length, "bar.sync 0, 96;\nret; }\n.entry uses() { bar.sync 2, 64; ret; }\n");
    item = rewrite_case_create(workers_module, all, strlen(all));
    expect_refusal(&item, "k", 6,
                   "the module uses all sixteen barriers, and the kernel the one that workers would have");
    assert_null(rewrite_case_kernel(&item, "uses")->refusal);
    rewrite_case_destroy(&item);
    static const char narrow[] = ".version 7.0\n.target sm_75\n.address_size 32\n.entry k() { ret; }\n";
    struct ptx_module *module;
    if (ptx_parse("narrow", narrow, sizeof narrow - 1, NULL, &module) == CORUN_OK) {
        ptx_module_destroy(module);
        item = rewrite_case_create(workers_module, narrow, sizeof narrow - 1);
        expect_refusal(&item, "k", 4, "addresses of the module have 32 bits");
        rewrite_case_destroy(&item);
    }
}

#define MEETS(name) ".func " name "() { bar.sync 0; ret; }\n"
#define ENDS_AND_MEETS(name, calls) \
    ".visible .entry " name \
    "(.param .u64 out)\n{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<2>; .shared .b32 cells[96];\n" \
    "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nsetp.ge.u32 %p, %r0, 64;\n@%p ret;\n" \
    "mov.u32 %r2, cells;\nmad.lo.u32 %r2, %r0, 4, %r2;\nadd.u32 %r3, %r0, %r1;\nst.shared.u32 [%r2], %r3;\n" calls \
    "mov.u32 %r2, cells;\nxor.b32 %r3, %r0, 63;\nmad.lo.u32 %r2, %r3, 4, %r2;\nld.shared.u32 %r3, [%r2];\n" \
    "mad.lo.u32 %r1, %r1, 64, %r0;\nmul.wide.u32 %d1, %r1, 4;\nadd.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], " \
    "%r3;\nret;\n}\n"

/*
 * One kernel of the module may use any barrier. It stays as it is, with the functions that it alone calls; whoever calls one of its functions that wait for all
 * stays, too; the others become workers.
 */
static void kernels_beside_one_of_any_barrier(void **state)
{
    (void)state;
    static const char text[] = HEAD MEETS("own") /* 5 */ MEETS("both") MEETS(
        "others") ".func harmless() { ret; }\n"
                  ".entry any() { .reg .u32 %r;\ncall own; call both; call harmless;\nbar.sync %r, 64; ret; }\n" //
        ENDS_AND_MEETS("caller", "call both;\n") ENDS_AND_MEETS("k", "call others; call harmless;\n");
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    expect_refusal(&item, "any", 10, "it has a barrier with its number in a register: no other is known to be free");
    expect_refusal(&item, "caller", 5,
                   "a function waits for all threads, which a kernel calls that may use any barrier");
    assert_null(rewrite_case_kernel(&item, "k")->refusal);
    uint32_t reductions = 0;
    for (uint32_t i = 0; i < item.rewritten.module->function_count; i++) {
        const struct ptx_function *function = item.rewritten.module->functions[i];
        for (uint32_t k = 0; !function->is_entry && k < function->instruction_count; k++)
            reductions += function->instructions[k].opcode == PTX_OP_BARRIER_RED;
    }
    assert_int_equal(reductions, 1); /* that of `others` */
    rewrite_case_destroy(&item);
    const struct test_launch launch = {"k", {20, 1, 1}, {96, 1, 1}, {0}, 0};
    uint8_t *found = expect_same_by_workers(text, &launch);
    for (uint32_t i = 0; i < 20 * 64; i++)
        assert_int_equal(((const uint32_t *)found)[i], i / 64 + (63 - i % 64));
    free(found);
}

/* Who has arrived where nobody waits would still be there in the next thread block. */
static void arrivals_that_nobody_waits_for(void **state)
{
    (void)state;
    static const char text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                               ".func arrives() { barrier.arrive 2, 64; ret; }\n"
                               ".entry itself() {\nbar.arrive 1, 64; ret; }\n"
                               ".entry calls() { call arrives; ret; }\n"
                               ".entry cluster() { barrier.cluster.arrive; barrier.cluster.wait; ret; }\n"
                               ".entry waits() { bar.sync 1, 64; ret; }\n";
    static const char reason[] =
        "threads arrive at a barrier without waiting: nobody may do at the end of a thread block";
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    expect_refusal(&item, "itself", 6, reason);
    expect_refusal(&item, "calls", 4, reason);
    expect_refusal(&item, "cluster", 8, reason);
    assert_null(rewrite_case_kernel(&item, "waits")->refusal);
    rewrite_case_destroy(&item);
}

/*
 * Threads that differ end, and others of their warp act as one. Where all threads of a thread block go the same way, or a thread ends behind
 * that, or the GPU runs warps in step, there is nothing to refuse.
 */
static void endings_before_acts_of_a_warp(void **state)
{
    (void)state;
    static const struct {
        const char *target, *body;
        uint32_t line; /* of what is refused; 0: nothing */
    } rows[] = {
        {"sm_75", "setp.gt.u32 %p, %t, 5;\n@%p ret;\nshfl.sync.idx.b32 %r, %r, 0, 31, -1;\nret;", 8},
        {"sm_60", "setp.gt.u32 %p, %t, 5;\n@%p ret;\nshfl.sync.idx.b32 %r, %r, 0, 31, -1;\nret;", 0},
        {"sm_75", "setp.gt.u32 %p, %c, 5;\n@%p ret;\nshfl.sync.idx.b32 %r, %r, 0, 31, -1;\nret;", 0},
        {"sm_75", "shfl.sync.idx.b32 %r, %r, 0, 31, -1;\nsetp.gt.u32 %p, %t, 5;\n@%p ret;\nst.local.u32 [l], %r;\nret;",
         0},
        /* by way of a value that is written where threads have parted */
        {"sm_75",
         "mov.u32 %r, 0;\nsetp.gt.u32 %p, %t, 5;\n@%p bra A;\nmov.u32 %r, 1;\nA:\nsetp.eq.u32 %q, %r, 0;\n"
         "@%q bra GONE;\nbar.warp.sync -1;\nGONE: ret;",
         13},
        {"sm_75",
         "mov.u32 %r, 0;\nsetp.gt.u32 %p, %t, 5;\n@%p bra A;\nmov.u32 %t, 1;\nA:\nsetp.eq.u32 %q, %r, 0;\n"
         "@%q bra GONE;\nbar.warp.sync -1;\nGONE: ret;",
         0},
        /* from memory; a loop that threads leave one after the other; all together */
        {"sm_75",
         "ld.global.u32 %r, [g];\nsetp.gt.u32 %p, %r, 5;\n@!%p bra GONE;\nvote.sync.any.pred %p, %p, -1;\n"
         "GONE: ret;",
         9},
        {"sm_75", "A: vote.sync.any.pred %q, %p, -1;\nsub.u32 %t, %t, 1;\nsetp.gt.s32 %p, %t, 0;\n@%p bra A;\nret;", 6},
        {"sm_75", "A: vote.sync.any.pred %q, %p, -1;\nsub.u32 %c, %c, 1;\nsetp.gt.s32 %p, %c, 0;\n@%p bra A;\nret;", 0},
        {"sm_75", "setp.gt.u32 %p, %t, 5;\n@%p ret;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r, %r;\nret;", 8},
        {"sm_75",
         "movmatrix.sync.aligned.m8n8.trans.b16 %r, %r;\nsetp.gt.u32 %p, %r, 5;\n@%p ret;\nbar.warp.sync -1;\nret;", 9},
        {"sm_75", "setp.gt.u32 %p, %c, 5;\n@%p ret;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r, %r;\nret;", 0},
        /* in a function */
        {"sm_75", "setp.gt.u32 %p, %t, 5;\n@%p exit;\ncall f;\nret;", 8},
        {"sm_75", "setp.gt.u32 %p, %t, 5;\n@%p exit;\ncall h;\nret;", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        int length =
            snprintf(text, sizeof text,
                     ".version 7.0\n.target %s\n.address_size 64\n.global .u32 g; .func h() { ret; } .func f() { "
                     "bar.warp.sync -1; ret; }\n.entry k() { .reg .u32 %%r, %%t, %%c; .reg .pred %%p, %%q; .local "
                     ".b32 l; mov.u32 %%t, %%tid.x; mov.u32 %%c, %%ctaid.x;\n%s }\n",
                     rows[i].target, rows[i].body);
        struct rewrite_case item = rewrite_case_create(workers_module, text, (size_t)length);
        if (rows[i].line)
            expect_refusal(&item, "k", rows[i].line,
                           "threads of a warp may end before others come to this, which names them");
        else if (rewrite_case_kernel(&item, "k")->refusal)
            fail_msg("%zu: %s", i, rewrite_case_kernel(&item, "k")->refusal);
        rewrite_case_destroy(&item);
    }
}

/* Threads that end between a branch and the barrier at which its ways meet: the others meet there all the same. */
static void ends_before_meetings(void **state)
{
    (void)state;
    static const char *const ends[] = {"@%q ret;", "@%q exit;", "mov.u32 %t, 0;"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[512];
        int length = snprintf(text, sizeof text,
                              HEAD ".entry k() { .reg .u32 %%t; .reg .pred %%p, %%q; mov.u32 %%t, %%tid.x;\n"
                                   "setp.eq.u32 %%p, %%t, 40;\nsetp.gt.u32 %%q, %%t, 50;\n@%%p bra M;\n%s\n"
                                   "add.u32 %%t, %%t, 1;\nM: bar.sync 0;\nret; }\n",
                              ends[i]);
        struct rewrite_case item = rewrite_case_create(workers_module, text, (size_t)length);
        assert_null(rewrite_case_kernel(&item, "k")->refusal);
        rewrite_case_destroy(&item);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(barriers_that_are_not_known),
        cmocka_unit_test(kernels_beside_one_of_any_barrier),
        cmocka_unit_test(arrivals_that_nobody_waits_for),
        cmocka_unit_test(endings_before_acts_of_a_warp),
        cmocka_unit_test(ends_before_meetings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
