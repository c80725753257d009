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
        uint8_t *found = expect_same_by_workers(WRITES, &launch);
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

/* Some dimensions are not read, in a grid that has them all: what is read is right nevertheless. */
static void some_dimensions(void **state)
{
    (void)state;
    static const char *const names[] = {"%ctaid.x", "%ctaid.y", "%ctaid.z"};
    static const uint32_t counts[] = {3, 5, 7};
    for (uint32_t set = 0; set < 8; set++) {
        char text[1024];
        size_t length =
            (size_t)snprintf(text, sizeof text,
                             HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<4>; .reg .b64 %%d<2>;\n"
                                  "ld.param.u64 %%d0, [out];\nmov.u32 %%r0, 0;\n");
        for (uint32_t i = 0; i < 3; i++)
            if (set >> i & 1)
                length += (size_t)snprintf(text + length, sizeof text - length,
                                           "mov.u32 %%r1, %s;\nmad.lo.u32 %%r0, %%r0, 8, %%r1;\n", names[i]);
        snprintf(text + length, sizeof text - length,
                 "mul.wide.u32 %%d1, %%r0, 4;\nadd.u64 %%d0, %%d0, %%d1;\nred.global.add.u32 [%%d0], 1;\nret;\n}\n");
        const struct test_launch launch = {"k", {3, 5, 7}, {1, 1, 1}, {0}, 0};
        uint8_t *found = expect_same_by_workers(text, &launch);
        uint32_t first = *(const uint32_t *)found, wanted = 1;
        for (uint32_t i = 0; i < 3; i++)
            wanted *= set >> i & 1 ? 1 : counts[i];
        assert_int_equal(first, wanted);
        free(found);
    }
}

/* Every thread block changes what its own SM owes, to what its index says, and counts itself. The address of the place is the second parameter. */
#define CHANGES_LIMITS \
    HEAD \
        ".visible .entry k(.param .u64 out, .param .u64 place)\n{\n.reg .b32 %%r<6>; .reg .b64 %%d<4>; .reg .pred " \
        "%%p;\n" \
        "ld.param.u64 %%d0, [out];\nld.param.u64 %%d2, [place];\nmov.u32 %%r0, %%ctaid.y;\nmov.u32 %%r1, %%ctaid.x;\n" \
        "mad.lo.u32 %%r0, %%r0, 100, %%r1;\nmul.wide.u32 %%d1, %%r0, 4;\nadd.u64 %%d0, %%d0, %%d1;\n" \
        "mov.u32 %%r2, %%tid.x;\nsetp.ne.u32 %%p, %%r2, 0;\n@%%p ret;\nred.global.add.u32 [%%d0], 1;\n" \
        "mul.lo.u32 %%r3, %%r0, -1640531535;\nshr.u32 %%r4, %%r3, 15;\nxor.b32 %%r3, %%r3, %%r4;\n" \
        "mul.lo.u32 %%r3, %%r3, -2048144777;\nshr.u32 %%r3, %%r3, 30;\n%s" \
        "st.global.u16 [%%d2], %%r3;\nret;\n}\n"

enum { COUNT = 6000 };

static void each_thread_block_runs_once(void **state)
{
    static const char format[] = CHANGES_LIMITS;
    char text[2048]; /* every second one of the limits says that who is too many leaves at once */
    int bytes = snprintf(text, sizeof text, format,
                         *state ? "and.b32 %r4, %r0, 1;\nshl.b32 %r4, %r4, 15;\nor.b32 %r3, %r3, %r4;\n" : "");
    static const uint32_t flags[] = {0, WORKERS_STRICT, WORKERS_TELL};
    rewrite_pass *pass = *state ? workers_dropping_module : workers_module;
    struct rewrite_case item = rewrite_case_create(pass, text, (size_t)bytes);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct test_launch launch = {"k", {100, 60, 1}, {33, 1, 1}, {0}, 0};
        const struct crew crew = {3, flags[i], 9, (uint32_t)i, 1};
        struct loaded loaded = load_text(&item, item.text);
        const struct worker_table table = table_create(&loaded, &item, &launch, &crew);
        memcpy(launch.words, &table.place, sizeof table.place);
        uint32_t launches = run_by_workers_on(&loaded, &item, &launch, &crew, &table);
        assert_in_range(launches, 100, COUNT); /* they did leave before their time */
        uint8_t *found = unload(&loaded);
        for (uint32_t k = 0; k < COUNT; k++)
            assert_int_equal(((const uint32_t *)found)[k], 1);
        free(found);
    }
    rewrite_case_destroy(&item);
}

/* The same by one launch after the other, each of which completes its grid, whatever is owed and however few workers there are. */
static void one_launch_completes_the_grid(void **state)
{
    (void)state;
    char text[2048];
    int bytes = snprintf(text, sizeof text, CHANGES_LIMITS, "");
    struct rewrite_case item = rewrite_case_create(workers_completing_module, text, (size_t)bytes);
    struct test_launch launch = {"k", {100, 60, 1}, {33, 1, 1}, {0}, 0};
    struct loaded loaded = load_text(&item, item.text);
    const struct completing_table table = completing_table_create(&loaded);
    memcpy(launch.words, &table.place, sizeof table.place);
    for (uint32_t use = 1; use <= 6; use++)
        complete_once(&loaded, &item, &launch, use, (uint16_t)(use % 3), &table, use);
    uint8_t *found = unload(&loaded);
    for (uint32_t k = 0; k < COUNT; k++)
        assert_int_equal(((const uint32_t *)found)[k], 6);
    free(found);
    rewrite_case_destroy(&item);
}

/*
 * words[64 * thread block + thread] of what 96 threads make in shared memory and barriers, of which more and more end before, in whole warps
 * and in parts of one. `meets` uses %r1 (the thread), %r5 (a value) and %p1.
 */
#define ENDS_EARLY(declarations, meets) \
    HEAD ".extern .shared .align 4 .b8 dynamic[];\n" declarations \
         ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<16>; .reg .b64 %d<4>; .reg .pred %p<3>;\n" \
         ".shared .b32 cells[128];\n.local .b32 own[4];\n" \
         "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r0, 13;\nrem.u32 %r2, %r2, 96;\n" \
         "setp.gt.u32 %p0, %r1, %r2;\n@%p0 bra GONE;\n" \
         "mov.u32 %r3, cells;\nmad.lo.u32 %r3, %r1, 4, %r3;\nmov.u32 %r4, dynamic;\nmad.lo.u32 %r4, %r1, 4, %r4;\n" \
         "mad.lo.u32 %r5, %r0, 1000, %r1;\nst.shared.u32 [%r3], %r5;\nst.shared.u32 [%r4], %r1;\n" \
         "st.local.u32 [own+8], %r5;\n" meets \
         "xor.b32 %r6, %r1, 1;\nmin.u32 %r6, %r6, %r2;\nmov.u32 %r7, cells;\nmad.lo.u32 %r7, %r6, 4, %r7;\n" \
         "ld.shared.u32 %r8, [%r7];\nld.shared.u32 %r9, [%r4];\nld.local.u32 %r10, [own+8];\n" \
         "mad.lo.u32 %r8, %r9, 7, %r8;\nadd.u32 %r8, %r8, %r10;\nadd.u32 %r8, %r8, %r5;\n" \
         "ld.param.u64 %d0, [out];\nmad.lo.u32 %r11, %r0, 96, %r1;\nmul.wide.u32 %d1, %r11, 4;\n" \
         "add.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], %r8;\nGONE:\nret;\n}\n"

static void threads_end_before_barriers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        ENDS_EARLY("", "bar.sync 0;\n"),
        /* as many barriers as the index of the thread block says, of two numbers */
        ENDS_EARLY("", "and.b32 %r12, %r0, 3;\nAGAIN:\nbar.sync 0;\nbarrier.sync 5;\nadd.u32 %r5, %r5, 1;\n"
                       "sub.u32 %r12, %r12, 1;\nsetp.ge.s32 %p1, %r12, 0;\n@%p1 bra AGAIN;\n"),
        ENDS_EARLY("", "and.b32 %r12, %r1, 1;\nsetp.eq.u32 %p1, %r12, 0;\nbar.red.popc.u32 %r5, 0, %p1;\n"),
        ENDS_EARLY("", "setp.lt.u32 %p1, %r1, 200;\nbar.red.and.pred %p1, 0, %p1;\nselp.u32 %r5, 5, 6, %p1;\n"
                       "setp.gt.u32 %p1, %r1, 200;\nbarrier.red.or.pred %p1, 2, %p1;\nselp.u32 %r6, 7, 8, %p1;\n"
                       "add.u32 %r5, %r5, %r6;\nbar.sync 0;\nsetp.gt.u32 %p1, %r1, 200;\n"
                       "bar.red.or.pred %p1, 0, !%p1;\nselp.u32 %r6, 9, 10, %p1;\nadd.u32 %r5, %r5, %r6;\n"),
        /* between a branch and the barrier before which its ways meet */
        ENDS_EARLY("",
                   "and.b32 %r12, %r1, 7;\nsetp.lt.u32 %p1, %r12, 3;\n@%p1 bra M;\nsetp.gt.u32 %p1, %r12, 5;\n@%p1 bra "
                   "GONE;\nadd.u32 %r5, %r5, 3;\nM: bar.sync 0;\nadd.u32 %r5, %r5, 5;\nbar.red.popc.u32 %r12, 0, "
                   "%p1;\nadd.u32 %r5, %r5, %r12;\n"),
        /* in a function */
        ENDS_EARLY(".func meet() { .reg .u32 %t; bar.sync 3;\nmov.u32 %t, %tid.x;\nbar.sync 3;\nret; }\n",
                   "call meet;\nbar.sync 0;\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct test_launch launch = {"k", {60, 1, 1}, {96, 1, 1}, {0}, 512};
        free(expect_same_by_workers(texts[i], &launch));
    }
}

static uint32_t count_in(const char *text, const char *what)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

/*
 * A kernel that loads in a loop, without shared memory, hears of its next thread block by barriers, which count five bits each: in grids on either side of what
 * they can count, by thread blocks of less than a warp, of warps in part, of many warps and of planes. Each thread counts itself in the word of its
 * thread block, with its place.
 */
static void told_by_barriers(void **state)
{
    (void)state;
    static const char format[] =
        HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<16>; .reg .b64 %%d<4>; .reg .pred %%p;\n"
             "ld.param.u64 %%d0, [out];\nmov.u32 %%r0, %%ctaid.x;\nmov.u32 %%r1, 0;\nmov.u32 %%r2, 0;\n%s"
             "mov.u32 %%r3, %%nctaid.x;\nmov.u32 %%r4, %%nctaid.y;\nmad.lo.u32 %%r5, %%r2, %%r4, %%r1;\n"
             "mad.lo.u32 %%r5, %%r5, %%r3, %%r0;\nrem.u32 %%r6, %%r5, 1021;\nmul.wide.u32 %%d1, %%r6, 4;\n"
             "add.u64 %%d0, %%d0, %%d1;\nmad.lo.u32 %%r7, %%r5, 7, 1;\nmov.u32 %%r8, 0;\n"
             "AGAIN:\nld.global.u32 %%r9, [%%d0+60000];\nadd.u32 %%r8, %%r8, 1;\nadd.u32 %%r7, %%r7, "
             "%%r9;\nsetp.lt.u32 %%p, %%r8, 3;\n@%%p bra AGAIN;\n"
             "red.global.add.u32 [%%d0], %%r7;\nret;\n}\n";
    static const struct {
        struct corun_dim3 grid, block;
    } rows[] = {{{1, 1, 1}, {1, 1, 1}},      {{31, 1, 1}, {2, 2, 2}},   {{32, 1, 1}, {31, 1, 1}},
                {{33, 1, 1}, {32, 1, 1}},    {{1023, 1, 1}, {3, 1, 1}}, {{1024, 1, 1}, {33, 1, 1}},
                {{1025, 1, 1}, {64, 1, 1}},  {{3, 341, 1}, {5, 5, 3}},  {{2, 16, 32}, {16, 16, 1}},
                {{40, 5, 10}, {16, 2, 4}},   {{5, 7, 30}, {8, 1, 20}},  {{32768, 1, 1}, {40, 1, 1}},
                {{181, 182, 1}, {1, 1, 33}}, {{1, 1, 2000}, {2, 1, 1}}};
    const char *const reads[] = {"", "mov.u32 %r1, %ctaid.y;\n", "mov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.z;\n"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t k = 0; k < sizeof reads / sizeof reads[0]; k++) {
            char text[2048];
            int bytes = snprintf(text, sizeof text, format, reads[k]);
            const struct test_launch launch = {"k", rows[i].grid, rows[i].block, {0}, 0};
            const struct crew crews[] = {
                {3, WORKERS_SEATED, 0, 0, 0}, {40, WORKERS_TELL, 0, 0, 0}, {5, WORKERS_STRICT, 7, 0, 0}};
            struct rewrite_case item = rewrite_case_create(workers_module, text, (size_t)bytes);
            assert_int_equal(count_in(item.text, "bar.red.popc.u32"), 3);
            assert_null(strstr(item.text, ".shared"));
            uint8_t *whole = run_whole(&item, text, &launch);
            for (size_t c = 0; c < sizeof crews / sizeof crews[0]; c++) {
                uint8_t *found = run_crew(&item, &launch, &crews[c]);
                if (memcmp(whole, found, OUT_BYTES) != 0)
                    fail_msg("row %zu, reads %zu, crew %zu: the buffer differs:\n%s", i, k, c, item.text);
                free(found);
            }
            free(whole);
            rewrite_case_destroy(&item);
        }
}

/*
 * Whoever has shared memory, no loop in which it loads, or threads that end before barriers has the index in shared memory; so have workers that may leave
 * at once.
 */
static void told_in_shared_memory(void **state)
{
    (void)state;
#define LOOPS(body) "AGAIN:\nadd.u32 %r, %r, 1;\n" body "setp.lt.u32 %p, %r, 300;\n@%p bra AGAIN;\n"
#define LOADS LOOPS("ld.local.u32 %r, [own];\n")
    static const struct {
        const char *body;
        bool by_barriers;
    } rows[] = {{LOADS, true},
                {LOOPS("ld.global.u32 %r, [%d];\n"), true},
                {LOOPS("ld.u32 %r, [%d];\n"), true},
                {LOOPS("tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d, {%f0}];\n"), true},
                {LOOPS("tex.grad.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d, {%f0}], %f1, %f2;\n"), true},
                {LOOPS("call loops;\n"), true},
                {"call loops;\n", true},
                {LOOPS("ld.const.u32 %r, [fixed];\n"), false},
                {"ld.global.u32 %r, [%d];\n" LOOPS(""), false},
                {"ld.global.u32 %r, [%d];\n", false},
                {".shared .b32 cell;\nst.shared.u32 [cell], %r;\n" LOADS, false},
                {"@%p bra ON;\nld.global.u32 %r, [%d];\nON:\n", false},
                {"bar.sync 0;\n" LOADS, true},
                {"setp.gt.u32 %p, %r, 5;\n@%p ret;\nbar.sync 0;\n" LOADS, false}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        char text[2048];
        int bytes = snprintf(text, sizeof text, "%s%s\nret; }\n",
                             HEAD ".const .b32 fixed = 5;\n"
                                  ".func loops() { .reg .u32 %r; .reg .pred %p; .local .b32 own; mov.u32 %r, 0;\n" LOADS
                                  "ret; }\n"
                                  ".visible .entry k(.param .u64 out) { .reg .u32 %r; .reg .u64 %d; .reg .pred %p;\n"
                                  ".reg .f32 %f<4>; .local .b32 own; ld.param.u64 %d, [out];\nmov.u32 %r, %tid.x;\n"
                                  "setp.eq.u32 %p, %r, 3;\n",
                             rows[i / 2].body);
        struct rewrite_case item =
            rewrite_case_create(i % 2 ? workers_dropping_module : workers_module, text, (size_t)bytes);
        const struct rewritten_kernel *kernel = rewrite_case_kernel(&item, "k");
        assert_null(kernel->refusal);
        assert_int_equal(!strstr(item.text, "corun_worker["), rows[i / 2].by_barriers && i % 2 == 0);
        rewrite_case_destroy(&item);
    }
}

/*
 * A barrier is one of warps: GPUs count a warp that comes in two parts twice. So where the thread that talks has gone another way than its
 * warp, the warp meets again before the barrier: a compiler of machine code does not see to it at the head of a loop. Where no thread can have ended
 * before others come to a barrier, barriers stay what they are: the branch round this one is the same for all threads.
 */
static void warps_come_whole(void **state)
{
    (void)state;
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 out, .param .u32 more)\n{\n.reg .b32 %r<8>; .reg .b64 %d<2>; .reg .pred %p<2>;\n"
        ".shared .b32 cells[64];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nld.param.u32 %r7, [more];\n"
        "setp.eq.u32 %p0, %r7, 1;\n@%p0 ret;\nsetp.gt.u32 %p1, %r1, 40;\n@%p1 bra ON;\nmov.u32 %r2, cells;\n"
        "mad.lo.u32 %r2, %r1, 4, %r2;\nst.shared.u32 [%r2], %r0;\nON:\nbar.sync 0;\nld.shared.u32 %r3, [cells];\n"
        "mad.lo.u32 %r6, %r0, 64, %r1;\nld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r6, 4;\n"
        "add.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], %r3;\nret;\n}\n";
    const struct test_launch launch = {"k", {40, 1, 1}, {64, 1, 1}, {0}, 0};
    free(expect_same_by_workers(text, &launch));
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    assert_null(strstr(item.text, ".red."));
    assert_int_equal(count_in(item.text, "bar.sync 0;"), 2); /* its own, and that between two thread blocks */
    assert_int_equal(count_in(item.text, "bar.warp.sync"), 3);
    assert_int_equal(count_in(item.text, "NEXT:\n    bar.warp.sync 4294967295;\nSYNC:\n"), 1);
    assert_int_equal(count_in(item.text, "FIRST:\n    bar.warp.sync 4294967295;\n"), 1);
    rewrite_case_destroy(&item);
    static const char old[] = ".version 5.0\n.target sm_52\n.address_size 64\n.entry k() { bar.sync 0; ret; }\n";
    item = rewrite_case_create(workers_module, old, sizeof old - 1);
    assert_non_null(strstr(item.text, ".version 6.0\n.target sm_52\n"));
    assert_int_equal(count_in(item.text, "bar.warp.sync"), 3);
    rewrite_case_destroy(&item);
}

/* What holds for the GPUs that a module is for need not for those on which threads of a warp go their own ways. */
static void only_before_volta(void **state)
{
    (void)state;
    static const struct {
        const char *target, *body, *reason;
    } rows[] = {
        {"sm_52", "bar.sync 0;", NULL},
        {"sm_52", "@%p ret;\nbar.sync 0;", "to a barrier"},
        {"sm_75", "@%p ret;\nbar.sync 0;", NULL},
        {"sm_60", "@%p ret;\nshfl.sync.down.b32 %r, %r, 1, 31, -1;", "to a shuffle or a vote"},
        {"sm_60", "shfl.sync.down.b32 %r, %r, 1, 31, -1;\n@%p ret;", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        int bytes = snprintf(text, sizeof text,
                             ".version 6.3\n.target %s\n.address_size 64\n.entry k() { .reg .u32 %%r; .reg .pred %%p;\n"
                             "mov.u32 %%r, %%tid.x;\nsetp.gt.u32 %%p, %%r, 5;\n%s\nret; }\n",
                             rows[i].target, rows[i].body);
        struct rewrite_case item = rewrite_case_create(workers_module, text, (size_t)bytes);
        const struct rewritten_kernel *kernel = rewritten_kernel_find(&item.rewritten, "k");
        assert_null(kernel->refusal);
        assert_int_equal(kernel->only_before_volta != NULL, rows[i].reason != NULL);
        if (rows[i].reason && kernel->only_before_volta)
            assert_non_null(strstr(kernel->only_before_volta, rows[i].reason));
        rewrite_case_destroy(&item);
    }
}

/* Barriers that count their threads wait for nobody else: two warps of three meet, while the third has ended. */
static void counted_barriers_stay(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>; .reg .b64 %d<2>; .reg .pred %p<2>;\n"
             ".shared .b32 cells[64];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p0, %r1, 64;\n"
             "@%p0 ret;\nmov.u32 %r2, cells;\nmad.lo.u32 %r2, %r1, 4, %r2;\nadd.u32 %r3, %r0, %r1;\n"
             "st.shared.u32 [%r2], %r3;\nbar.sync 0, 64;\nmov.u32 %r4, cells;\nxor.b32 %r5, %r1, 32;\n"
             "mad.lo.u32 %r4, %r5, 4, %r4;\nld.shared.u32 %r3, [%r4];\nbar.sync 1, 64;\nld.param.u64 %d0, [out];\n"
             "mad.lo.u32 %r6, %r0, 64, %r1;\nmul.wide.u32 %d1, %r6, 4;\nadd.u64 %d0, %d0, %d1;\n"
             "st.global.u32 [%d0], %r3;\nret;\n}\n";
    const struct test_launch launch = {"k", {40, 1, 1}, {96, 1, 1}, {0}, 0};
    uint8_t *found = expect_same_by_workers(text, &launch);
    for (uint32_t b = 0; b < 40; b++)
        for (uint32_t t = 0; t < 64; t++)
            assert_int_equal(((const uint32_t *)found)[64 * b + t], b + (t ^ 32));
    free(found);
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    assert_non_null(strstr(item.text, "bar.sync 0, 64;"));
    assert_non_null(strstr(item.text, "bar.sync 2;")); /* the round's own: a number that is free */
    rewrite_case_destroy(&item);
}

/* f(a) = a * %nctaid.x + g(), g() = %ctaid.x + %ctaid.y: what both read is handed on, once by each. */
#define CALLED \
    ".func (.param .b32 r) g()\n{\n.reg .b32 %r<3>;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\n" \
    "add.u32 %r0, %r0, %r1;\nst.param.b32 [r], %r0;\nret;\n}\n" \
    ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<4>;\nld.param.b32 %r0, [a];\nmov.u32 %r1, %nctaid.x;\n" \
    "mul.lo.u32 %r0, %r0, %r1;\n{ .param .b32 q;\ncall.uni (q), g;\nld.param.b32 %r2, [q]; }\n" \
    "add.u32 %r0, %r0, %r2;\nst.param.b32 [r], %r0;\nret;\n}\n"
#define CALLS_AND_WRITES(name) \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\nld.param.u64 %d0, [out];\n" \
    "{ .param .b32 v, q;\nst.param.b32 [v], 7;\ncall.uni (q), f, (v);\nld.param.b32 %r0, [q]; }\n" \
    "mov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r1, 64, %r2;\nmul.wide.u32 %d1, %r1, 4;\n" \
    "add.u64 %d0, %d0, %d1;\nred.global.add.u32 [%d0], %r0;\nret;\n}\n"

static void functions_are_told(void **state)
{
    (void)state;
    const struct test_launch launch = {"k", {5, 3, 2}, {1, 1, 1}, {0}, 0};
    uint8_t *found = expect_same_by_workers(HEAD CALLED CALLS_AND_WRITES("k"), &launch);
    for (uint32_t y = 0; y < 3; y++)
        for (uint32_t x = 0; x < 5; x++)
            assert_int_equal(((const uint32_t *)found)[64 * y + x], 2 * (7 * 5 + x + y));
    free(found);
}

/* A kernel that is refused calls functions that another one calls too: it hands on what its own launch says, and its barriers are met. */
static void refused_kernel_hands_on(void **state)
{
    (void)state;
    static const char text[] = HEAD ".func meet() { bar.sync 0; ret; }\n" CALLED CALLS_AND_WRITES(
        "k") ".visible .entry whole(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\nld.param.u64 %d0, [out];\n"
             "mov.u32 %r3, %envreg1;\n{ .param .b32 v, q;\nst.param.b32 [v], 7;\ncall.uni (q), f, (v);\n"
             "ld.param.b32 %r0, [q]; }\ncall meet;\nbar.sync 0;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %d1, %r2, 4;\n"
             "add.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], %r0;\nret;\n}\n";
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    assert_null(rewrite_case_kernel(&item, "k")->refusal);
    assert_non_null(rewrite_case_kernel(&item, "whole")->refusal);
    const struct test_launch launch = {"whole", {6, 1, 1}, {64, 1, 1}, {0}, 0};
    uint8_t *found = run_whole(&item, item.text, &launch);
    for (uint32_t x = 0; x < 6; x++)
        assert_int_equal(((const uint32_t *)found)[x], 7 * 6 + x);
    free(found);
    rewrite_case_destroy(&item);
}

/* What a worker keeps while the old kernel runs can cost an SM a thread block: the slot, what was drawn, the word of its place; beside that an address, for a moment. */
static void few_registers_are_kept(void **state)
{
    enum { VALUES = 32, KEPT = 5 };
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fputs(HEAD
          ".visible .entry k(.param .u64 out)\n{\n.reg .f32 %f<33>; .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p;\n"
          "mov.u32 %r0, %ctaid.x;\nld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 256;\nadd.u64 %d0, %d0, %d1;\n"
          "mov.u32 %r1, 0;\n",
          out);
    for (uint32_t i = 0; i < VALUES; i++)
        fprintf(out, "ld.global.f32 %%f%u, [%%d0+%u];\n", i, 4 * i);
    fputs("AGAIN:\n", out);
    for (uint32_t i = 0; i < VALUES; i++)
        fprintf(out, "fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", i, i, (i + 1) % VALUES, i);
    fputs("bar.sync 0;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 4;\n@%p bra AGAIN;\n", out);
    for (uint32_t i = 0; i < VALUES; i++)
        fprintf(out, "st.global.f32 [%%d0+%u], %%f%u;\n", 4 * i, i);
    fputs("ret;\n}\n", out);
    fclose(out);
    struct rewrite_case item = rewrite_case_create(workers_module, text, bytes);
    const struct rewritten_kernel *kernel = rewrite_case_kernel(&item, "k");
    assert_null(kernel->refusal);
    assert_true(kernel->registers_before > VALUES);
    assert_in_range(kernel->registers_after, kernel->registers_before, kernel->registers_before + KEPT);
    rewrite_case_destroy(&item);
    free(text);
}

/* Registers that a worker has more than its kernel: of sums in a loop, to each of which a word is added each time; `together`: these words have names of their own. */
static uint32_t registers_more(bool together)
{
    enum { SUMS = 14 };
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fputs(HEAD
          ".visible .entry k(.param .u64 out)\n{\n.reg .f32 %f<15>, %g<15>; .reg .b32 %r<3>; .reg .b64 %d<3>; .reg "
          ".pred %p;\n"
          "mov.u32 %r0, %ctaid.x;\nld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 256;\nadd.u64 %d0, %d0, %d1;\n"
          "mov.u32 %r1, 0;\n",
          out);
    for (uint32_t i = 0; i < SUMS; i++)
        fprintf(out, "mov.f32 %%f%u, 0f00000000;\n", i);
    fputs("AGAIN:\n", out);
    for (uint32_t i = 0; i < SUMS; i++)
        fprintf(out, "ld.global.f32 %%g%u, [%%d0+%u];\nadd.f32 %%f%u, %%f%u, %%g%u;\n", together ? i : 0, 4 * i, i, i,
                together ? i : 0);
    fputs("bar.sync 0;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 4;\n@%p bra AGAIN;\n", out);
    for (uint32_t i = 0; i < SUMS; i++)
        fprintf(out, "st.global.f32 [%%d0+%u], %%f%u;\n", 4 * i, i);
    fputs("ret;\n}\n", out);
    fclose(out);
    struct rewrite_case item = rewrite_case_create(workers_module, text, bytes);
    const struct rewritten_kernel *kernel = rewrite_case_kernel(&item, "k");
    assert_null(kernel->refusal);
    assert_true(kernel->registers_after <= 32);
    const uint32_t more = kernel->registers_after - kernel->registers_before;
    rewrite_case_destroy(&item);
    free(text);
    return more;
}

/*
 * Neither kernel comes to another step in its PTX. Where loads can be under way together, an assembler takes the registers of the step for them, and the worker
 * keeps none that would be taken from them; else it keeps the slot and what was drawn.
 */
static void registers_of_machine_code_decide(void **state)
{
    (void)state;
    assert_int_equal(registers_more(false), 5);
    assert_int_equal(registers_more(true), 3);
}

/* Kernels as they were beside those that have become workers, with the functions and variables of these. */
static void kernels_beside_their_workers(void **state)
{
    (void)state;
    static const char text[] = HEAD CALLED CALLS_AND_WRITES(
        "k") ".global .u32 k_whole;\n"
             ".entry keeps() { .reg .u64 %d; .global .u32 here; mov.u64 %d, here; ret; }\n"
             ".entry large() { .reg .u32 %r; .shared .align 4 .b8 s[49100]; mov.u32 %r, s; ret; }\n";
    struct rewrite_case item = rewrite_case_create(workers_beside_module, text, sizeof text - 1);
    assert_int_equal(item.rewritten.kernel_count, 3);
    assert_int_equal(item.rewritten.rewritten_count, 2);
    const struct rewritten_kernel *k = rewrite_case_kernel(&item, "k");
    assert_null(k->refusal);
    assert_non_null(k->whole);
    assert_string_equal(k->whole->name, "k_whole1");
    assert_int_equal(k->whole->parameter_bytes, 8);
    assert_int_equal(k->shared_bytes_most, 48 + 31);
    assert_null(rewrite_case_kernel(&item, "keeps")->whole);
    assert_non_null(rewrite_case_kernel(&item, "large")->refusal);
    struct loaded loaded = load_text(&item, item.text);
    const struct test_launch launch = {"k", {3, 2, 1}, {1, 1, 1}, {0}, 0};
    struct rewritten_kernel whole = {.function = k->whole, .parameter_offset = 8};
    struct rewrite_case plain = item;
    plain.rewritten.kernels = &whole;
    plain.rewritten.kernel_count = 1;
    struct test_launch as_it_was = launch;
    as_it_was.kernel = k->whole->name;
    run_launch(&loaded, &plain, &as_it_was, launch.grid, NULL, 0);
    uint8_t *found = unload(&loaded);
    for (uint32_t y = 0; y < 2; y++)
        for (uint32_t x = 0; x < 3; x++)
            assert_int_equal(((const uint32_t *)found)[64 * y + x], 7 * 3 + x + y);
    free(found);
    rewrite_case_destroy(&item);
}

/* Workers of a launch that has to wait for another one: they leave while thread blocks of that one want places. */
static void later_launches_wait(void **state)
{
    (void)state;
    static const char text[] = HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d;\nld.param.u64 %d, [out];\n"
                                    "red.global.add.u32 [%d], 1;\nret;\n}\n";
    static const struct {
        struct worker_queue previous;
        uint32_t count;
    } rows[] = {{{5, 0, 10, 0}, 0}, {{5, 2, 10, 0}, 0}, {{10, 0, 10, 0}, 8}, {{14, 0, 10, 0}, 8}};
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    const struct test_launch launch = {"k", {8, 1, 1}, {32, 1, 1}, {0}, 0};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const struct crew crew = {3, i % 2 ? WORKERS_TELL : 0, 0, 0, 0};
        struct loaded loaded = load_text(&item, item.text);
        const struct worker_table table = table_create(&loaded, &item, &launch, &crew);
        struct worker_arguments arguments = worker_arguments_of(&item, &table, &launch, &crew);
        assert_int_equal(corun_memory_allocate(loaded.memory, sizeof rows[0].previous, &arguments.previous), CORUN_OK);
        write_device(&loaded, arguments.previous, &rows[i / 2].previous, sizeof rows[0].previous);
        run_launch(&loaded, &item, &launch, (struct corun_dim3){3, 1, 1}, &arguments, sizeof arguments);
        struct worker_queue queue;
        struct worker_place place;
        read_device(&loaded, table.queue, &queue, sizeof queue);
        read_device(&loaded, table.place, &place, sizeof place);
        assert_int_equal(place.done, rows[i / 2].count);
        assert_int_equal(place.resident, 0);
        assert_int_equal(queue.alive, 0);
        assert_int_equal(queue.next >= queue.total, rows[i / 2].count != 0);
        uint8_t *found = unload(&loaded);
        assert_int_equal(*(const uint32_t *)found, 32 * rows[i / 2].count);
        free(found);
    }
    rewrite_case_destroy(&item);
}

/*
 * Who is to come after somebody else begins when nobody is in that place; leaves it when nothing is left, or no place is owed, while the other one is there
 * for ever.
 */
static void some_come_after_others(void **state)
{
    (void)state;
    static const char text[] = HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d;\nld.param.u64 %d, [out];\n"
                                    "red.global.add.u32 [%d], 1;\nret;\n}\n";
    static const struct {
        uint32_t limit;
        int after; /* the place behind this one, or before */
        uint16_t other;
        uint32_t next, count;
    } rows[] = {{WORKERS_UNLIMITED, 1, 0, 0, 8},
                {WORKERS_UNLIMITED, -1, 0, 0, 8},
                {5, 2, 0, 0, 8},
                {WORKERS_UNLIMITED, 1, 2, 8, 0},
                {3, -1, 1, 8, 0},
                {0, 1, 1, 0, 0}};
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    const struct test_launch launch = {"k", {8, 1, 1}, {32, 1, 1}, {0}, 0};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const struct crew crew = {3, i % 2 ? WORKERS_TELL : 0, 0, 0, 0};
        struct loaded loaded = load_text(&item, item.text);
        const struct worker_table table = table_create(&loaded, &item, &launch, &crew);
        struct worker_arguments arguments = worker_arguments_of(&item, &table, &launch, &crew);
        struct worker_place places[5] = {{0}};
        struct worker_queue queue = {.next = rows[i / 2].next, .total = 8};
        places[2].limit = worker_limit(rows[i / 2].limit, rows[i / 2].after);
        places[2 + rows[i / 2].after].resident = rows[i / 2].other;
        assert_int_equal(corun_memory_allocate(loaded.memory, sizeof places, &arguments.places), CORUN_OK);
        write_device(&loaded, arguments.places, places, sizeof places);
        write_device(&loaded, table.queue, &queue, sizeof queue);
        arguments.places += 2 * sizeof places[0];
        arguments.stride = sizeof places[0];
        run_launch(&loaded, &item, &launch, (struct corun_dim3){3, 1, 1}, &arguments, sizeof arguments);
        read_device(&loaded, table.queue, &queue, sizeof queue);
        read_device(&loaded, arguments.places - 2 * sizeof places[0], places, sizeof places);
        assert_int_equal(places[2].done, rows[i / 2].count);
        assert_int_equal(places[2].resident, 0);
        assert_int_equal(queue.alive, 0);
        assert_int_equal(queue.next < queue.total, rows[i / 2].limit == 0);
        free(unload(&loaded));
    }
    rewrite_case_destroy(&item);
}

/* Where so many are there as a launch wants on an SM, no more join, whatever the limit says; others do. */
static void so_many_on_an_sm(void **state)
{
    (void)state;
    static const char text[] = HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d;\nld.param.u64 %d, [out];\n"
                                    "red.global.add.u32 [%d], 1;\nret;\n}\n";
    static const struct {
        uint16_t limit, resident;
        uint32_t most, count;
    } rows[] = {{9, 2, 2, 0}, {9, 3, 2, 0}, {9, 2, 3, 8}, {9, 0, 1, 8}, {9, 8, 0, 8}, {9, 8, WORKERS_MOST_PER_SM, 8},
                {2, 2, 3, 0}};
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    const struct test_launch launch = {"k", {8, 1, 1}, {32, 1, 1}, {0}, 0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct crew crew = {3, workers_per_sm(rows[i].most), 0, 0, 0};
        struct loaded loaded = load_text(&item, item.text);
        const struct worker_table table = table_create(&loaded, &item, &launch, &crew);
        const struct worker_arguments arguments = worker_arguments_of(&item, &table, &launch, &crew);
        struct worker_place place = {.limit = rows[i].limit, .resident = rows[i].resident};
        write_device(&loaded, table.place, &place, sizeof place);
        run_launch(&loaded, &item, &launch, (struct corun_dim3){3, 1, 1}, &arguments, sizeof arguments);
        read_device(&loaded, table.place, &place, sizeof place);
        assert_int_equal(place.done, rows[i].count);
        assert_int_equal(place.resident, rows[i].resident);
        free(unload(&loaded));
    }
    rewrite_case_destroy(&item);
}

/* All workers of a launch read one %gridid, and the shape of the grid, wherever they do. */
static void grid_is_that_of_the_launch(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p;\n"
             "ld.param.u64 %d0, [out];\nmov.u32 %r0, %ctaid.x;\nmul.wide.u32 %d1, %r0, 16;\nadd.u64 %d0, %d0, %d1;\n"
             "mov.u64 %d2, %gridid;\nmov.u32 %r1, %nctaid.x;\nsetp.gt.u32 %p, %r0, 3;\n@%p mov.u32 %r1, %nctaid.y;\n"
             "st.global.u64 [%d0], %d2;\nst.global.u32 [%d0+8], %r1;\nret;\n}\n";
    struct rewrite_case item = rewrite_case_create(workers_module, text, sizeof text - 1);
    const struct test_launch launch = {"k", {9, 1, 1}, {1, 1, 1}, {0}, 0};
    uint8_t *found = run_crew(&item, &launch, &(struct crew){2, 0, 0, 0, 0});
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(((const uint64_t *)found)[2 * i], 77);
        assert_int_equal(((const uint32_t *)found)[4 * i + 2], i > 3 ? 1 : 9);
    }
    free(found);
    rewrite_case_destroy(&item);
}

/* Every thread block belongs to one draw; so many at the end are drawn alone; and a range takes no longer than it may. */
static void ranges_share_out_the_grid(void **state)
{
    (void)state;
    static const uint32_t grids[][3] = {{1, 1, 1}, {63, 1, 1}, {128, 1, 1}, {129, 1, 1}, {7, 11, 13}, {1000, 3, 1}};
    static uint8_t seen[3000];
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        for (uint32_t blocks = 0; blocks <= WORKERS_MOST_RANGE; blocks++)
            for (uint32_t single = 0; single < 300; single += 60) {
                struct worker_arguments arguments;
                worker_arguments_set(&arguments, grids[i], 0);
                worker_arguments_range(&arguments, blocks, single);
                const uint32_t total = grids[i][0] * grids[i][1] * grids[i][2], more = arguments.range_more,
                               draws = worker_draws(&arguments);
                memset(seen, 0, sizeof seen);
                for (uint32_t d = 0; d < draws; d++) {
                    const uint32_t ranges = arguments.ranges, first = (d < ranges ? d & ~63u : ranges) * more + d;
                    for (uint32_t k = 0; k <= (d < ranges ? more : 0); k++) {
                        assert_true(first + 64 * k < total);
                        assert_int_equal(seen[first + 64 * k]++, 0);
                    }
                }
                for (uint32_t block = 0; block < total; block++)
                    assert_int_equal(seen[block], 1);
                assert_true(!arguments.ranges || draws - arguments.ranges >= single);
                assert_int_equal(arguments.ranges != 0, blocks > 1 && total >= single + 64 * blocks);
                assert_int_equal(worker_drawn(&arguments, draws), total);
                assert_int_equal(worker_drawn(&arguments, draws + 5), total + 5);
                assert_int_equal(worker_drawn(&arguments, arguments.ranges / 2), arguments.ranges / 2 * (1 + more));
            }
    assert_int_equal(worker_range_blocks(0, 1000), 1);
    assert_int_equal(worker_range_blocks(2000, 1000), 1);
    assert_int_equal(worker_range_blocks(499, 1000), 2);
    assert_int_equal(worker_range_blocks(1, 1000), WORKERS_MOST_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_dimensions),
        cmocka_unit_test(some_dimensions),
        cmocka_unit_test(each_thread_block_runs_once),
        cmocka_unit_test(one_launch_completes_the_grid),
        cmocka_unit_test(ranges_share_out_the_grid),
        {"each_thread_block_runs_once_at_once", each_thread_block_runs_once, NULL, NULL, (void *)1},
        cmocka_unit_test(threads_end_before_barriers),
        cmocka_unit_test(told_by_barriers),
        cmocka_unit_test(told_in_shared_memory),
        cmocka_unit_test(counted_barriers_stay),
        cmocka_unit_test(warps_come_whole),
        cmocka_unit_test(only_before_volta),
        cmocka_unit_test(functions_are_told),
        cmocka_unit_test(refused_kernel_hands_on),
        cmocka_unit_test(few_registers_are_kept),
        cmocka_unit_test(registers_of_machine_code_decide),
        cmocka_unit_test(kernels_beside_their_workers),
        cmocka_unit_test(later_launches_wait),
        cmocka_unit_test(some_come_after_others),
        cmocka_unit_test(so_many_on_an_sm),
        cmocka_unit_test(grid_is_that_of_the_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
