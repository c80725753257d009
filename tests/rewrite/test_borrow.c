/* SPDX-License-Identifier: MIT */
/* Borrowed variables: the text, instruction by instruction; what kernels leave in their buffer and in the program's variables; and what is refused. */
#include "borrow_runner.h"
#include "rewrite/slice.h"

#define ENTRY \
    ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r0, %r1, %r2, %r3, %r4, %r5;\n.reg .b64 %d0, %d1, %d2, %d3, " \
    "%d4, %d5, %d6;\n.reg .pred %p0, %p1;\n"
#define BEGIN ENTRY "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 1;\n"
#define END "ret;\n}\n"
#define BODY(text) BEGIN text END
#define TABLE(rows) ".const .align 8 .b64 corun_variables[" #rows "];\n"

static void text(void **state)
{
    (void)state;
    static const struct {
        const char *variables, *before, *table, *after;
    } rows[] = {
        {".global .u32 a;\n", "ld.global.u32 %r1, [a];\n", TABLE(1),
         ".reg .b64 %x;\nld.const.b64 %x, [corun_variables];\nld.global.u32 %r1, [%x];\n"},
        {".global .u32 a[4];\n.global .u32 b[4];\n", "@%p0 st.global.u32 [b+8], %r0;\n@!%p0 st.u32 [a+4], %r0;\n",
         TABLE(2),
         ".reg .b64 %x0, %x1;\nld.const.b64 %x0, [corun_variables];\n@%p0 st.global.u32 [%x0+8], %r0;\n"
         "ld.const.b64 %x1, [corun_variables+8];\n@!%p0 st.global.u32 [%x1+4], %r0;\n"},
        {".global .u32 a[4];\n.global .u32 never[1000000];\n", "mov.u64 %d1, a;\n@%p0 mov.b64 %d2, a+4;\n", TABLE(1),
         ".reg .b64 %x;\nld.const.b64 %d1, [corun_variables];\nld.const.b64 %x, [corun_variables];\n"
         "add.s64 %x, %x, 4;\n@%p0 mov.b64 %d2, %x;\n"},
        {".global .u32 a;\n", "@%p0 cvta.global.u64 %d1, a;\ncvta.global.u64 %d1, %d1;\n", TABLE(1),
         "@%p0 ld.const.b64 %d1, [corun_variables];\ncvta.global.u64 %d1, %d1;\n"},
        {".global .u32 a;\n", "atom.global.add.u32 %r1, [a], 1;\nred.add.u32 [a], 2;\nprefetch.global.L1 [a];\n",
         TABLE(1),
         ".reg .b64 %x0, %x1, %x2;\nld.const.b64 %x0, [corun_variables];\natom.global.add.u32 %r1, [%x0], 1;\n"
         "ld.const.b64 %x1, [corun_variables];\nred.global.add.u32 [%x1], 2;\n"
         "ld.const.b64 %x2, [corun_variables];\nprefetch.global.L1 [%x2];\n"},
        {".const .u32 c[4] = {1, 2};\n", "ld.const.v2.u32 {%r1, %r2}, [c+8];\n@%p0 ld.u32 %r1, [c];\n",
         ".const .u32 c[4];\n" TABLE(1), "ld.const.v2.u32 {%r1, %r2}, [c+8];\n@%p0 ld.const.u32 %r1, [c];\n"},
        {".const .u32 c[4];\n.global .u64 g;\n.const .u64 p = generic(g);\n",
         "mov.u64 %d1, c;\nmul.wide.u32 %d2, %r0, 4;\nadd.s64 %d1, %d1, %d2;\nld.const.u32 %r1, [%d1+4];\n"
         "cvta.const.u64 %d4, c;\nld.const.u64 %d5, [p];\n",
         ".const .u32 c[4];\n.const .u64 p;\n" TABLE(2),
         "mov.u64 %d1, c;\nmul.wide.u32 %d2, %r0, 4;\nadd.s64 %d1, %d1, %d2;\nld.const.u32 %r1, [%d1+4];\n"
         "ld.const.b64 %d4, [corun_variables];\nld.const.u64 %d5, [p];\n"},
        {".const .u32 c[4];\n",
         "mov.u64 %d1, c;\nmul.wide.u32 %d2, %r0, 4;\nadd.s64 %d1, %d1, %d2;\nld.const.u32 %r1, [%d1+4];\n"
         "cvta.const.u64 %d2, %d1;\ncvta.to.const.u64 %d3, %d2;\nld.const.u32 %r2, [%d3];\ncvta.const.u64 %d4, c;\n",
         TABLE(1),
         "ld.const.b64 %d1, [corun_variables];\nmul.wide.u32 %d2, %r0, 4;\nadd.s64 %d1, %d1, %d2;\n"
         "ld.global.nc.u32 %r1, [%d1+4];\nmov.u64 %d2, %d1;\nmov.u64 %d3, %d2;\nld.global.nc.u32 %r2, [%d3];\n"
         "ld.const.b64 %d4, [corun_variables];\n"},
        {".shared .u32 s[4];\n.global .u32 a;\n", "st.shared.u32 [s], 1;\nmov.u64 %d1, s;\n", ".shared .u32 s[4];\n",
         "st.shared.u32 [s], 1;\nmov.u64 %d1, s;\n"},
        {".global .u32 corun_variables;\n", "ld.global.u32 %r1, [corun_variables];\n",
         ".const .align 8 .b64 corun_variables$1[1];\n",
         ".reg .b64 %x;\nld.const.b64 %x, [corun_variables$1];\nld.global.u32 %r1, [%x];\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char before[2048], after[2048];
        snprintf(before, sizeof before, "%s%s%s%s%s", HEAD, rows[i].variables, BEGIN, rows[i].before, END);
        snprintf(after, sizeof after, "%s%s%s%s%s", HEAD, rows[i].table, BEGIN, rows[i].after, END);
        expect_rewritten(borrow_module, before, after);
    }
}

/* Where constants come from the table, loads go by the read-only path, which sm_30 has not. */
static void old_targets(void **state)
{
    (void)state;
#define CONVERTS "cvta.to.const.u64 %d1, %d0;\n"
#define CONVERTED "mov.u64 %d1, %d0;\n"
    expect_rewritten(
        borrow_module,
        ".version 7.0\n.target sm_30\n.address_size 64\n.const .u32 c;\n" BODY(CONVERTS "ld.const.u32 %r1, [c];\n"),
        ".version 7.0\n.target sm_30\n.address_size 64\n" TABLE(1)
            BODY(CONVERTED ".reg .b64 %x;\nld.const.b64 %x, [corun_variables];\nld.global.u32 %r1, [%x];\n"));
    expect_rewritten(
        borrow_module, HEAD ".const .u32 c;\n" BODY(CONVERTS "@%p0 ld.const.u32 %r1, [c];\n"),
        HEAD TABLE(1)
            BODY(CONVERTED ".reg .b64 %x;\nld.const.b64 %x, [corun_variables];\n@%p0 ld.global.nc.u32 %r1, [%x];\n"));
}

static void expect_copies(const char *text, uint32_t count)
{
    struct rewrite_case item = rewrite_case_create(borrow_module, text, strlen(text));
    uint32_t copied = 0;
    assert_null(rewrite_case_kernel(&item, "k")->refusal);
    for (uint32_t i = 0; i < item.rewritten.borrowed_count; i++)
        copied += item.rewritten.copied[i];
    assert_int_equal(copied, count);
    rewrite_case_destroy(&item);
}

/* Constants are copied, but for too many of a kernel, those beside which the table has no room, and those of another module. */
static void which_constants_are_copied(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        char *source = NULL;
        size_t bytes;
        FILE *out = open_memstream(&source, &bytes);
        assert_non_null(out);
        fputs(HEAD, out);
        for (uint32_t i = 0; i <= BORROW_MOST_COPIES; i++)
            fprintf(out, ".const .u32 c%u;\n", i);
        fputs(ENTRY, out);
        for (uint32_t i = 0; i < BORROW_MOST_COPIES + more; i++)
            fprintf(out, "ld.const.u32 %%r1, [c%u];\n", i);
        fputs(END, out);
        fclose(out);
        expect_copies(source, more ? 0 : BORROW_MOST_COPIES);
        free(source);
    }
    expect_copies(HEAD ".const .b8 c[65000];\n" BODY("ld.const.u8 %r1, [c];\n"), 1);
    expect_copies(HEAD ".const .b8 c[65530];\n" BODY("ld.const.u8 %r1, [c];\n"), 0);
    expect_copies(
        HEAD ".extern .const .u32 c[];\n.const .u32 d;\n" BODY("ld.const.u32 %r1, [c];\nld.const.u32 %r1, [d];\n"), 0);
}

/* Which rows each kernel needs, of what is called as well; whatever nobody uses is not there at all. */
static void rows_of_kernels(void **state)
{
    (void)state;
    static const char source[] = HEAD
        ".global .u32 unused[100000];\n.global .u32 a;\n.global .u32 b;\n.const .u32 c;\n"
        ".func f(.param .b32 x)\n{\n.reg .b32 %r;\nld.param.u32 %r, [x];\nst.global.u32 [b], %r;\nret;\n}\n"
        ".visible .entry none(.param .u64 out)\n{\nret;\n}\n"
        ".visible .entry two(.param .u64 out)\n{\n.reg .b32 %r;\nld.const.u32 %r, [c];\nst.global.u32 [a], %r;\n"
        "ret;\n}\n"
        ".visible .entry calls(.param .u64 out)\n{\n{ .param .b32 x;\nst.param.b32 [x], 7;\ncall f, (x); }\nret;\n}\n";
    struct rewrite_case item = rewrite_case_create(borrow_module, source, sizeof source - 1);
    const struct rewritten *made = &item.rewritten;
    assert_int_equal(made->borrowed_count, 3);
    assert_string_equal(made->borrowed_table, "corun_variables");
    assert_int_equal(made->rewritten_count, 3);
    assert_int_equal(rewrite_case_kernel(&item, "none")->borrow_count, 0);
    const struct rewritten_kernel *two = rewrite_case_kernel(&item, "two"),
                                  *calls = rewrite_case_kernel(&item, "calls");
    assert_int_equal(two->borrow_count, 2);
    assert_string_equal(made->borrowed[two->borrows[0]], "c");
    assert_string_equal(made->borrowed[two->borrows[1]], "a");
    assert_int_equal(calls->borrow_count, 1);
    assert_string_equal(made->borrowed[calls->borrows[0]], "b");
    assert_int_equal(made->module->variable_count, 2); /* the table and a copy of c */
    rewrite_case_destroy(&item);
    struct rewrite_case sliced = rewrite_case_create(slice_module, source, sizeof source - 1);
    assert_int_equal(sliced.rewritten.borrowed_count, 0);
    assert_null(sliced.rewritten.borrowed_table);
    rewrite_case_destroy(&sliced);
}

/*
 * Variables of every kind: what no other module sees, what points to others, what is pointed to, constants by their place and by a computed one, through functions; and a table
 * that is larger than an access may be away from its beginning.
 */
static const char program[] =
    HEAD ".global .u32 count;\n.visible .global .align 16 .b32 cells[16] = {1, 2, 3, 4};\n"
         ".const .u32 weights[8] = {5, 6, 7, 8, 9, 10, 11, 12};\n.weak .global .u32 weak = 40;\n"
         ".global .u64 place[2] = {generic(cells), generic(weights)+4};\n.shared .u32 together;\n"
         ".global .b8 wide[3000000000];\n"
         ".func (.param .b32 r) weigh(.param .b64 p, .param .b32 i)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n"
         "ld.param.u64 %d0, [p];\nld.param.u32 %r0, [i];\nand.b32 %r1, %r0, 7;\nmul.wide.u32 %d1, %r1, 4;\n"
         "mov.u64 %d2, weights;\nadd.s64 %d2, %d2, %d1;\nld.const.u32 %r2, [%d2];\nld.u32 %r3, [%d0];\n"
         "add.u32 %r2, %r2, %r3;\nst.param.b32 [r], %r2;\nret;\n}\n" //
    BODY("mov.u32 %r1, %ctaid.x;\nshl.b32 %r1, %r1, 2;\nadd.u32 %r0, %r0, %r1;\n"
         "{ .param .b64 p; .param .b32 i; .param .b32 r;\nld.global.u64 %d1, [place+8];\nst.param.b64 [p], %d1;\n"
         "st.param.b32 [i], %r0;\ncall (r), weigh, (p, i);\nld.param.u32 %r2, [r]; }\n"
         "ld.global.u64 %d3, [place];\nld.u32 %r3, [%d3+8];\nadd.u32 %r2, %r2, %r3;\n"
         "ld.const.u32 %r3, [weights+28];\nadd.u32 %r2, %r2, %r3;\nred.global.add.u32 [count], %r2;\n"
         "cvta.global.u64 %d2, cells;\nand.b32 %r4, %r0, 3;\nmul.wide.u32 %d4, %r4, 4;\nadd.s64 %d2, %d2, %d4;\n"
         "red.add.u32 [%d2+48], %r2;\n@%p0 st.global.u32 [weak], 41;\n"
         "st.shared.u32 [together], %r2;\nld.shared.u32 %r3, [together];\n"
         "mov.u64 %d5, wide;\nst.global.u8 [wide+2999999999], 77;\nadd.s64 %d5, %d5, 2999999999;\n"
         "ld.global.u8 %r5, [%d5];\nadd.u32 %r2, %r2, %r5;\n"
         "mul.wide.u32 %d6, %r0, 4;\nadd.s64 %d0, %d0, %d6;\nst.global.u32 [%d0], %r2;\n");

static void same_results(void **state)
{
    (void)state;
    static const struct test_launch launch = {"k", {10, 1, 1}, {4, 1, 1}, {0}, 0};
    rewrite_pass *const passes[] = {borrow_module, borrow_and_slice, borrow_for_workers};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        struct rewrite_case item = rewrite_case_create(passes[i], program, sizeof program - 1);
        uint8_t *variables[2], *expected = run_original(&item, program, &launch, &variables[0]);
        assert_null(rewrite_case_kernel(&item, "k")->refusal);
        assert_int_equal(rewrite_case_kernel(&item, "k")->borrow_count, 6);
        struct beside beside = load_beside(&item, program);
        struct slice_arguments arguments;
        slice_arguments_set(&arguments, (const uint32_t[]){10, 1, 1}, 0, 1);
        if (i == 2)
            run_by_workers(&beside.loaded, &item, &launch, &(struct crew){3, WORKERS_TELL, 0, 2, 1});
        else
            run_launch(&beside.loaded, &item, &launch, launch.grid, i ? &arguments : NULL, sizeof arguments);
        uint8_t *found = unload_beside(&beside, &item, &variables[1]);
        if (memcmp(expected, found, OUT_BYTES) != 0 || memcmp(variables[0], variables[1], variable_bytes(&item)) != 0)
            fail_msg("pass %zu:\n%s", i, item.text);
        for (size_t k = 0; k < 2; k++)
            free(variables[k]);
        free(expected);
        free(found);
        rewrite_case_destroy(&item);
    }
}

static void expect_variables_stay(const char *source)
{
    static const struct test_launch launch = {"k", {1, 1, 1}, {1, 1, 1}, {0}, 0};
    struct rewrite_case item = rewrite_case_create(borrow_module, source, strlen(source));
    struct beside beside = load_beside(&item, source);
    uint64_t bytes, step = corun_module_instance_variable(beside.program, "step", &bytes);
    for (uint32_t i = 1, sum = 0; i < 5; i++) {
        uint32_t found;
        write_device(&beside.loaded, step, &i, sizeof i);
        copy_constants(&item, &beside);
        run_launch(&beside.loaded, &item, &launch, launch.grid, NULL, 0);
        read_device(&beside.loaded, beside.loaded.out, &found, sizeof found);
        assert_int_equal(found, sum += i);
    }
    uint8_t *variables, *content = unload_beside(&beside, &item, &variables);
    free(variables);
    free(content);
    rewrite_case_destroy(&item);
}

/* Constants that the host sets between two launches, copied and not, and what one launch leaves for the next. */
static void variables_stay(void **state)
{
    (void)state;
#define SUM ".const .u32 step;\n.global .u32 sum;\n"
#define ADDS \
    "ld.const.u32 %r1, [step];\nld.global.u32 %r2, [sum];\nadd.u32 %r2, %r2, %r1;\nst.global.u32 [sum], %r2;\n" \
    "st.global.u32 [%d0], %r2;\n"
    expect_variables_stay(HEAD SUM BODY(ADDS));
    expect_variables_stay(HEAD SUM BODY(CONVERTS ADDS));
}

static enum corun_status dropping_workers(const struct ptx_module *source, struct corun_diagnostics *list,
                                          struct rewritten *rewritten)
{
    return borrow_before(workers_dropping_module, source, list, rewritten);
}

/* Nobody can tell any more what the thread blocks write, so they do not start again. */
static void never_dropped(void **state)
{
    (void)state;
    static const char source[] = HEAD ".global .u32 cells[4];\n.visible .entry k()\n{\n.reg .b32 %r;\n.reg .pred %p;\n"
                                      "mov.u32 %r, 0;\nL:\nst.global.u32 [cells], 5;\nadd.u32 %r, %r, 1;\n"
                                      "setp.lt.u32 %p, %r, 9;\n@%p bra L;\nret;\n}\n";
    struct rewrite_case alone = rewrite_case_create(workers_dropping_module, source, sizeof source - 1);
    struct rewrite_case item = rewrite_case_create(dropping_workers, source, sizeof source - 1);
    assert_int_equal(rewrite_case_kernel(&alone, "k")->drops, REWRITTEN_DROPS_IN_LOOPS);
    assert_null(rewrite_case_kernel(&item, "k")->refusal);
    assert_int_equal(rewrite_case_kernel(&item, "k")->drops, REWRITTEN_DROPS_NOWHERE);
    rewrite_case_destroy(&alone);
    rewrite_case_destroy(&item);
}

static void refusals(void **state)
{
    (void)state;
#define CONSTANT(text) HEAD ".const .u32 c[4];\n.global .u64 kept;\n" BODY(text)
    static const struct {
        const char *text, *reason;
        bool beside; /* another kernel of the module, which does none of it */
    } rows[] = {
        {HEAD ".global .surfref s;\n" BODY("suld.b.1d.b32.trap %r1, [s, {%r0}];\n"), "bound in the program's own",
         true},
        {HEAD BODY(".global .u32 inner;\nst.global.u32 [inner], 1;\n"), "static variable of a function", false},
        {HEAD ".global .u32 a;\n.func f()\n{\nret;\n}\n" BODY("mov.u64 %d1, f;\n"), "takes the address of a function",
         true},
        {HEAD ".func f()\n{\nret;\n}\n.global .u64 a = f;\n" BODY(
             "ld.global.u64 %d1, [a];\np: .callprototype _ ();\ncall %d1, (), p;\n"),
         "calls through a pointer", true},
        {HEAD ".global .u32 a;\n" BODY("mov.u32 %r1, a;\n"), "takes a part of an address", true},
        {CONSTANT("mov.u64 %d1, c;\nst.global.u64 [kept], %d1;\n"), "go where others may use it", true},
        {CONSTANT("ld.global.u64 %d1, [kept];\nld.const.u32 %r1, [%d1];\n"), "cannot be foreseen", true},
        {CONSTANT("ld.global.u64 %d1, [kept];\ncvta.const.u64 %d1, %d1;\n"), "cannot be foreseen", true},
        {CONSTANT("mov.u64 %d1, c;\nld.u32 %r1, [%d1];\n"), "for another one", true},
        {CONSTANT("ld.const.u32 %r1, [16];\n"), "no variable has", true},
        {CONSTANT("ld.global.u64 %d1, [kept];\nisspacep.const %p1, %d1;\n"), "asks whether", true},
        {HEAD ".const .u32 c;\n.const .u64 pointer = c;\n" BODY(
             "ld.const.u64 %d1, [pointer];\nmov.u64 %d1, c;\nld.const.u32 %r1, [%d1];\n"),
         "some are in memory", true},
        {".version 7.0\n.target sm_75\n.address_size 32\n.global .u32 a;\n.visible .entry k(.param .u32 out)\n{\n"
         ".reg .b32 %r;\nld.global.u32 %r, [a];\nret;\n}\n",
         "32 bits", true},
    };
#undef CONSTANT
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char whole[4096];
        snprintf(whole, sizeof whole, "%s.visible .entry other()\n{\nret;\n}\n", rows[i].text);
        struct rewrite_case item = rewrite_case_create(borrow_module, whole, strlen(whole));
        const struct rewritten_kernel *kernel = rewrite_case_kernel(&item, "k");
        if (!kernel->refusal || !strstr(kernel->refusal, rows[i].reason) || kernel->place.line < 5)
            fail_msg("row %zu: %s, line %u", i, kernel->refusal ? kernel->refusal : "not refused", kernel->place.line);
        assert_null(rewrite_case_kernel(&item, "other")->refusal);
        rewrite_case_destroy(&item);
        item = rewrite_case_create(borrow_for_workers, whole, strlen(whole));
        assert_non_null(rewrite_case_kernel(&item, "k")->refusal);
        rewrite_case_destroy(&item);
    }
}

/* What leaks in one kernel is another one's business where that computes such addresses, and only there. */
static void leaks(void **state)
{
    (void)state;
    static const char source[] =
        HEAD ".const .u32 c[4];\n.global .u64 kept;\n.visible .entry leaks()\n{\n.reg .b64 %d;\nmov.u64 %d, c;\n"
             "st.global.u64 [kept], %d;\nret;\n}\n"
             ".visible .entry computes()\n{\n.reg .b64 %d;\n.reg .b32 %r;\nmov.u64 %d, c;\nld.const.u32 %r, [%d];\n"
             "ret;\n}\n.visible .entry names()\n{\n.reg .b32 %r;\nld.const.u32 %r, [c+4];\nret;\n}\n";
    struct rewrite_case item = rewrite_case_create(borrow_module, source, sizeof source - 1);
    assert_non_null(rewrite_case_kernel(&item, "leaks")->refusal);
    assert_non_null(strstr(rewrite_case_kernel(&item, "computes")->refusal, "some are in memory"));
    assert_null(rewrite_case_kernel(&item, "names")->refusal);
    rewrite_case_destroy(&item);
}

/* The table has an end; whoever uses what is beyond is refused, and finds its variable where it was. */
static void more_than_the_table_holds(void **state)
{
    (void)state;
    char *source = NULL;
    size_t bytes;
    FILE *out = open_memstream(&source, &bytes);
    fprintf(out, HEAD);
    for (uint32_t i = 0; i <= BORROW_MOST_VARIABLES; i++)
        fprintf(out, ".global .u32 v%u;\n", i);
    fprintf(out, ".visible .entry first()\n{\n");
    for (uint32_t i = 0; i < BORROW_MOST_VARIABLES; i++)
        fprintf(out, "st.global.u32 [v%u], %u;\n", i, i);
    fprintf(out, "ret;\n}\n.visible .entry last()\n{\nst.global.u32 [v%u], 1;\nret;\n}\n", BORROW_MOST_VARIABLES);
    fclose(out);
    struct rewrite_case item = rewrite_case_create(borrow_module, source, bytes);
    assert_null(rewrite_case_kernel(&item, "first")->refusal);
    assert_int_equal(rewrite_case_kernel(&item, "first")->borrow_count, BORROW_MOST_VARIABLES);
    assert_non_null(strstr(rewrite_case_kernel(&item, "last")->refusal, "more variables"));
    assert_int_equal(item.rewritten.module->variable_count, 2);
    rewrite_case_destroy(&item);
    free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text),
                                       cmocka_unit_test(old_targets),
                                       cmocka_unit_test(which_constants_are_copied),
                                       cmocka_unit_test(rows_of_kernels),
                                       cmocka_unit_test(same_results),
                                       cmocka_unit_test(variables_stay),
                                       cmocka_unit_test(never_dropped),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(leaks),
                                       cmocka_unit_test(more_than_the_table_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
