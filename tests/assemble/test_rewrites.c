/* SPDX-License-Identifier: MIT */
/* Each rewrite of the machine-code model on kernels of a few lines, beside what an assembler makes of them, worked out by hand. */
#include "assemble/bodies.h"

static void test_copies(void **state)
{
    (void)state;
    becomes(
        ASSEMBLE_COPIES,
        "ld.param.u64 %d1, [a];\ncvta.to.global.u64 %d2, %d1;\nmov.u64 %d3, %d2;\nld.global.u32 %r1, [%d3];\n"
        "mov.u32 %r2, 7;\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%d2], %r3;\nret;\n",
        "ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1];\nadd.s32 %r3, %r1, 7;\nst.global.u32 [%d1], %r3;\nret;\n");
}

/* One immediate per instruction; none where the register changes, where it may be read before it is written, or under a guard. */
static void test_copies_that_stay(void **state)
{
    (void)state;
    static const char two[] = "ld.param.u64 %d1, [a];\nmov.u32 %r1, 7;\nmad.lo.s32 %r2, %r1, 3, %r1;\n"
                              "st.global.u32 [%d1], %r2;\nret;\n";
    becomes(ASSEMBLE_COPIES, two, two);
    static const char loop[] = "ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\n"
                               "L: add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n"
                               "st.global.u32 [%d1], %r1;\nret;\n";
    becomes(ASSEMBLE_COPIES, loop, loop);
    static const char guarded[] = "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nsetp.gt.s32 %p1, %r1, 3;\n"
                                  "@%p1 mov.u32 %r2, %r1;\nst.global.u32 [%d1], %r2;\nret;\n";
    becomes(ASSEMBLE_COPIES, guarded, guarded);
    static const char memory[] = "ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1];\nmov.u32 %r2, 3;\n"
                                 "st.global.u32 [%d1], %r2;\nret;\n";
    becomes(ASSEMBLE_COPIES, memory, memory); /* a store takes a register, and a load may fault */
}

static void test_addresses(void **state)
{
    (void)state;
    becomes(ASSEMBLE_ADDRESSES | ASSEMBLE_COPIES,
            "ld.param.u64 %d1, [a];\nadd.s64 %d2, %d1, 16;\nadd.s64 %d3, %d2, -4;\nld.global.u32 %r1, [%d3+8];\n"
            "mov.u32 %r2, tile;\nst.shared.u32 [%r2+4], %r1;\nret;\n",
            "ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1+20];\nst.shared.u32 [tile+4], %r1;\nret;\n");
    static const char far[] = "ld.param.u64 %d1, [a];\nadd.s64 %d2, %d1, 8388608;\nld.global.u32 %r1, [%d2];\n"
                              "st.global.u32 [%d1], %r1;\nret;\n";
    becomes(ASSEMBLE_ADDRESSES, far, far); /* 24 bits, signed */
    static const char wraps[] = "ld.param.u32 %r1, [n];\nadd.s32 %r2, %r1, -4;\nld.shared.u32 %r3, [%r2];\n"
                                "st.shared.u32 [%r1], %r3;\nret;\n";
    becomes(ASSEMBLE_ADDRESSES, wraps, wraps); /* of 32 bits, a sum may wrap where an address would not */
}

static void test_fuse(void **state)
{
    (void)state;
    becomes(
        ASSEMBLE_FUSE,
        "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nmul.wide.s32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\n"
        "ld.global.u32 %r2, [%d3];\nmul.lo.s32 %r3, %r1, %r2;\nadd.s32 %r4, %r3, %r1;\nand.b32 %r5, %r4, %r2;\n"
        "xor.b32 %r6, %r5, %r1;\nst.global.u32 [%d3], %r6;\nret;\n",
        "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nmad.wide.s32 %d3, %r1, 4, %d1;\nld.global.u32 %r2, [%d3];\n"
        "mad.lo.s32 %r4, %r1, %r2, %r1;\nlop3.b32 %r6, %r4, %r2, %r1, 106;\nst.global.u32 [%d3], %r6;\nret;\n");
    static const char twice[] =
        "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nmul.lo.s32 %r2, %r1, %r1;\n"
        "add.s32 %r3, %r2, %r1;\nst.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4], %r2;\nret;\n";
    becomes(ASSEMBLE_FUSE, twice, twice); /* the product is wanted, too */
    static const char floats[] = "ld.param.u64 %d1, [a];\nld.global.f32 %f1, [%d1];\nmul.f32 %f2, %f1, %f1;\n"
                                 "add.f32 %f3, %f2, %f1;\nst.global.f32 [%d1], %f3;\nret;\n";
    becomes(ASSEMBLE_FUSE, floats, floats); /* would round once instead of twice */
}

/* What no PTX has: the printed text is compared. */
static void prints(uint32_t rewrites, const char *before, const char *after)
{
    struct ptx_module *module = parse(before);
    assert_int_equal(assemble_module(module, rewrites), CORUN_OK);
    char *found = print_body(module);
    assert_string_equal(found, after);
    ptx_module_destroy(module);
    free(found);
}

static void test_sums(void **state)
{
    (void)state;
    prints(ASSEMBLE_SUMS,
           "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nld.global.u32 %r2, [%d1];\nadd.s32 %r3, %r1, %r2;\n"
           "add.s32 %r4, %r3, 7;\nst.global.u32 [%d1], %r4;\nret;\n",
           "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nld.global.u32 %r2, [%d1];\nadd3.s32 %r4, %r1, %r2, 7;\n"
           "st.global.u32 [%d1], %r4;\nret;\n");
    becomes(ASSEMBLE_SUMS,
            "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nshl.b32 %r2, %r1, 4;\nadd.s32 %r3, %r1, %r2;\n"
            "st.global.u32 [%d1], %r3;\nret;\n",
            "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nmad.lo.s32 %r3, %r1, 16, %r1;\n"
            "st.global.u32 [%d1], %r3;\nret;\n");
    static const char wanted[] =
        "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nadd.s32 %r2, %r1, 3;\n"
        "add.s32 %r3, %r2, %r1;\nst.global.u32 [%d1], %r3;\nst.global.u32 [%d1+4], %r2;\nret;\n";
    becomes(ASSEMBLE_SUMS, wanted, wanted); /* the first sum is wanted, too */
    static const char constants[] = "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nadd.s32 %r2, %r1, 3;\n"
                                    "add.s32 %r3, %r2, 4;\nst.global.u32 [%d1], %r3;\nret;\n";
    becomes(ASSEMBLE_SUMS, constants, constants); /* one constant at most */
    static const char wide[] = "ld.param.u64 %d1, [a];\nld.param.u64 %d2, [a];\nadd.s64 %d3, %d1, %d2;\n"
                               "add.s64 %d4, %d3, %d1;\nst.global.u64 [%d1], %d4;\nret;\n";
    becomes(ASSEMBLE_SUMS, wide, wide);
}

static const char address[] =
    "ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\nmov.f32 %f1, 0f00000000;\n";
#define TURN "ld.global.f32 %f2, [%d1];\nadd.f32 %f1, %f1, %f2;\nadd.s64 %d1, %d1, 4;\n"

/* How often a word is in a text. */
static uint32_t count_of(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

/* Loads of the loop after the rewrite: five where four turns and the single one are there. */
static uint32_t loads_of(const char *body)
{
    struct ptx_module *module = parse(body);
    assert_int_equal(assemble_module(module, ASSEMBLE_UNROLL), CORUN_OK);
    char *text = print_body(module);
    uint32_t loads = count_of(text, "ld.global.f32");
    ptx_module_destroy(module);
    free(text);
    return loads;
}

static void test_contract(void **state)
{
    (void)state;
    static const char loads[] =
        "ld.param.u64 %d1, [a];\nld.global.f32 %f1, [%d1];\nld.global.f32 %f2, [%d1+4];\nld.global.f32 %f3, [%d1+8];\n",
                      store[] = "st.global.f32 [%d1], %f6;\nret;\n";
    static const char *const pairs[][2] = {
        {"mul.f32 %f4, %f1, %f2;\nadd.f32 %f6, %f4, %f3;\n", "muladd.f32 %f6, %f1, %f2, %f3;\n"},
        {"mul.f32 %f4, %f1, %f2;\nadd.f32 %f6, %f3, %f4;\n", "addmul.f32 %f6, %f1, %f2, %f3;\n"},
        {"mul.f32 %f4, %f1, %f2;\nsub.f32 %f6, %f4, %f3;\n", "mulsub.f32 %f6, %f1, %f2, %f3;\n"},
        {"mul.ftz.f32 %f4, %f1, %f2;\nsub.ftz.f32 %f6, %f3, %f4;\n", "submul.ftz.f32 %f6, %f1, %f2, %f3;\n"},
        {"neg.f32 %f4, %f1;\nfma.rn.f32 %f6, %f4, %f2, %f3;\n", "fnma.rn.f32 %f6, %f1, %f2, %f3;\n"},
        {"neg.f32 %f4, %f2;\nfma.rn.f32 %f6, %f1, %f4, %f3;\n", "fnma.rn.f32 %f6, %f2, %f1, %f3;\n"},
        {"neg.f32 %f4, %f3;\nfma.rn.f32 %f6, %f1, %f2, %f4;\n", "fms.rn.f32 %f6, %f1, %f2, %f3;\n"},
        {"neg.f32 %f4, %f1;\nadd.rn.f32 %f6, %f4, %f2;\n", "sub.rn.f32 %f6, %f2, %f1;\n"},
        {"neg.f32 %f4, %f1;\nsub.f32 %f6, %f2, %f4;\n", "add.f32 %f6, %f2, %f1;\n"},
    };
    static const char *const stay[] = {
        "mul.rn.f32 %f4, %f1, %f2;\nadd.f32 %f6, %f4, %f3;\n",                      /* says how it rounds */
        "mul.f32 %f4, %f1, %f2;\nadd.rn.f32 %f6, %f4, %f3;\n",                      /* likewise */
        "mul.f32 %f4, %f1, %f2;\nadd.ftz.f32 %f6, %f4, %f3;\n",                     /* other numbers are zero */
        "mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nadd.f32 %f6, %f5, %f4;\n", /* wanted twice */
        ("mul.f32 %f4, %f1, %f2;\nmul.f32 %f1, %f2, %f2;\nadd.f32 %f6, %f4, %f3;\nst.global.f32 [%d1], "
         "%f1;\n"),                                                /* a factor changes */
        "neg.ftz.f32 %f4, %f1;\nfma.rn.f32 %f6, %f4, %f2, %f3;\n", /* a subnormal is lost */
        "mul.f32 %f4, %f1, %f2;\nadd.sat.f32 %f6, %f4, %f3;\n",
    };
    char before[600], after[600];
    for (uint32_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        snprintf(before, sizeof before, "%s%s%s", loads, pairs[i][0], store);
        snprintf(after, sizeof after, "%s%s%s", loads, pairs[i][1], store);
        prints(ASSEMBLE_CONTRACT | ASSEMBLE_COPIES, before, after);
    }
    for (uint32_t i = 0; i < sizeof stay / sizeof stay[0]; i++) {
        snprintf(before, sizeof before, "%s%s%s", loads, stay[i], store);
        becomes(ASSEMBLE_CONTRACT, before, before);
    }
}

/* What is left of the instruction on a line, counted from 0: issued, logic, products, either, special. */
static void has_pieces(const char *body, uint32_t line, uint32_t issued, uint32_t logic, uint32_t products,
                       uint32_t either, uint32_t special)
{
    struct ptx_module *module = parse(body);
    assert_int_equal(assemble_module(module, ASSEMBLE_HALVES), CORUN_OK);
    const struct ptx_pieces *pieces = &module->functions[0]->instructions[line].pieces;
    assert_true(pieces->counted);
    assert_int_equal(pieces->issued, issued);
    assert_int_equal(pieces->logic, logic);
    assert_int_equal(pieces->products, products);
    assert_int_equal(pieces->either, either);
    assert_int_equal(pieces->special, special);
    ptx_module_destroy(module);
}

/* As ptxas 13.0 writes them for sm_80 and sm_90. Lines 0 to 2 are loads. */
static void test_halves(void **state)
{
    (void)state;
    static const struct {
        const char *code, *result;
        uint32_t line, issued, logic, products, either, special;
    } rows[] = {
        {"add.s64 %d4, %d2, %d3;\n", "%d4", 3, 2, 1, 0, 1, 0},                        /* IADD3, IADD3.X or IMAD.X */
        {"xor.b64 %d4, %d2, %d3;\n", "%d4", 3, 2, 2, 0, 0, 0},                        /* LOP3 twice */
        {"mul.lo.s64 %d4, %d2, %d3;\n", "%d4", 3, 4, 0, 3, 1, 0},                     /* IMAD.WIDE, IMAD twice, IADD3 */
        {"shl.b64 %d4, %d2, 13;\n", "%d4", 3, 2, 1, 0, 1, 0},                         /* SHF and IMAD.SHL */
        {"shr.u64 %d4, %d2, 13;\n", "%d4", 3, 2, 2, 0, 0, 0},                         /* SHF twice */
        {"shr.u64 %d4, %d2, 33;\n", "%d4", 3, 1, 1, 0, 0, 0},                         /* the upper half is zero */
        {"shr.u64 %d4, %d2, 32;\n", "%d4", 3, 1, 0, 0, 0, 0},                         /* a half with another name */
        {"and.b64 %d4, %d2, 4294967295;\n", "%d4", 3, 1, 0, 0, 0, 0},                 /* likewise */
        {"shr.u64 %d5, %d2, 33;\nxor.b64 %d4, %d2, %d5;\n", "%d4", 4, 1, 1, 0, 0, 0}, /* with zero above */
        {"xor.b64 %d5, %d2, %d3;\nand.b64 %d4, %d5, %d2;\n", "%d4", 4, 1, 2, 0, 0, 0},    /* LOP3 of three */
        {"mul.lo.s64 %d5, %d2, %d3;\nadd.s64 %d4, %d5, %d2;\n", "%d4", 4, 1, 0, 0, 0, 0}, /* IMADs add */
        {"popc.b64 %r4, %d2;\ncvt.u64.u32 %d4, %r4;\n", "%d4", 3, 2, 0, 0, 1, 2},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[500];
        snprintf(body, sizeof body,
                 "ld.param.u64 %%d1, [a];\nld.global.u64 %%d2, [%%d1];\nld.global.u64 %%d3, [%%d1+8];\n%s"
                 "st.global.u64 [%%d1], %s;\nret;\n",
                 rows[i].code, rows[i].result);
        has_pieces(body, rows[i].line, rows[i].issued, rows[i].logic, rows[i].products, rows[i].either,
                   rows[i].special);
    }
    has_pieces("ld.param.u64 %d1, [a];\nld.global.u64 %d2, [%d1];\nshr.u64 %d3, %d2, 40;\ncvt.u32.u64 %r1, %d3;\n"
               "st.global.u32 [%d1], %r1;\nret;\n",
               2, 1, 1, 0, 0, 0); /* the lower half alone is wanted */
}

/* What a loop changes can be fused as long as nothing changes it in between; each sum of a wide product computes it anew. */
static void test_fuse_in_loops(void **state)
{
    (void)state;
    becomes(ASSEMBLE_FUSE,
            "ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\n"
            "L: mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nadd.s64 %d4, %d2, %d1;\nadd.s32 %r1, %r1, 1;\n"
            "st.global.u32 [%d3], %r9;\nst.global.u32 [%d4], %r9;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\nret;\n",
            "ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\n"
            "L: mad.wide.u32 %d3, %r1, 4, %d1;\nmad.wide.u32 %d4, %r1, 4, %d1;\nadd.s32 %r1, %r1, 1;\n"
            "st.global.u32 [%d3], %r9;\nst.global.u32 [%d4], %r9;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\nret;\n");
    static const char changes[] = "ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nmov.u32 %r1, 0;\n"
                                  "L: mul.wide.u32 %d2, %r1, 4;\nadd.s32 %r1, %r1, 1;\nadd.s64 %d3, %d1, %d2;\n"
                                  "st.global.u32 [%d3], %r9;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\nret;\n";
    becomes(ASSEMBLE_FUSE, changes, changes);
}

/* A distance that stays is computed by each sum that goes it, in whatever block, if nothing else reads it and its factors stay. */
static void test_fuse_across_blocks(void **state)
{
    (void)state;
#define FROM "ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nld.param.u32 %r8, [n];\n"
#define AROUND \
    "st.global.u32 [%d1], %r9;\nst.global.u32 [%d3], %r9;\nadd.s32 %r9, %r9, -1;\nsetp.ne.s32 %p1, %r9, 0;\n" \
    "@%p1 bra L;\nret;\n"
    becomes(ASSEMBLE_FUSE, FROM "mul.wide.s32 %d2, %r8, 4;\nL: add.s64 %d1, %d1, %d2;\nadd.s64 %d3, %d2, %d1;\n" AROUND,
            FROM "L: mad.wide.s32 %d1, %r8, 4, %d1;\nmad.wide.s32 %d3, %r8, 4, %d1;\n" AROUND);
    static const char *const stay[] = {
        /* another reader; a factor that changes; a guarded sum; a product of 32 bits */
        FROM "mul.wide.s32 %d2, %r8, 4;\nL: add.s64 %d1, %d1, %d2;\nadd.s64 %d3, %d2, %d1;\nst.global.u64 [%d1], "
             "%d2;\n" AROUND,
        FROM "mul.wide.s32 %d2, %r9, 4;\nL: add.s64 %d1, %d1, %d2;\nadd.s64 %d3, %d2, %d1;\n" AROUND,
        FROM
        "mul.wide.s32 %d2, %r8, 4;\nmov.u64 %d3, %d1;\nL: add.s64 %d1, %d1, %d2;\n@%p2 add.s64 %d3, %d2, %d1;\n" AROUND,
        FROM
        "mul.lo.s32 %r2, %r8, 4;\nmov.u64 %d3, %d1;\nL: add.s32 %r3, %r9, %r2;\nst.global.u32 [%d1], %r3;\n" AROUND,
    };
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        becomes(ASSEMBLE_FUSE, stay[i], stay[i]);
}

static void test_unroll(void **state)
{
    (void)state;
    static const char behind[] = "st.global.f32 [%d1], %f1;\nret;\n";
    static const struct {
        const char *loop;
        uint32_t loads;
    } rows[] = {
        {"L: " TURN "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 5},
        {"L: " TURN "add.s32 %r1, %r1, 1;\nsetp.ge.s32 %p1, %r1, %r9;\n@!%p1 bra L;\n", 5},
        {"L: " TURN "add.s32 %r9, %r9, -1;\nsetp.ne.s32 %p1, %r9, 0;\n@%p1 bra L;\n", 5},
        {"L: " TURN "add.s32 %r1, %r1, 3;\nsetp.lt.u32 %p1, %r1, 600;\n@%p1 bra L;\n", 5},
        {"L: " TURN "sub.s32 %r9, %r9, 2;\nsetp.gt.s32 %p1, %r9, %r1;\n@%p1 bra L;\n", 5},
        {"L: " TURN "add.s32 %r9, %r9, -2;\nsetp.ne.s32 %p1, %r9, 0;\n@%p1 bra L;\n", 5},
        /* away from the bound; a bound that moves; a step that is not known; two steps; a barrier; asked not to */
        {"L: " TURN "add.s32 %r1, %r1, -1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 1},
        {"L: " TURN "add.s32 %r1, %r1, 1;\nadd.s32 %r9, %r9, -1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 1},
        {"L: " TURN "add.s32 %r1, %r1, %r9;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 1},
        {"L: " TURN "add.s32 %r1, %r1, 1;\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 1},
        {"L: " TURN "bar.sync 0;\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 1},
        {"L: .pragma \"nounroll\";\n" TURN "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, %r9;\n@%p1 bra L;\n", 1},
        /* three turns before the end would wrap */
        {"L: " TURN "add.s32 %r9, %r9, 3;\nsetp.lt.u32 %p1, %r9, 8;\n@%p1 bra L;\n", 1},
        /* as many turns as constants say, and no test: three, one, seven, to an equal bound, down, without a sign */
        {"L: " TURN "add.s32 %r1, %r1, 3;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 bra L;\n", 3},
        {"L: " TURN "add.s32 %r1, %r1, 3;\nsetp.lt.s32 %p1, %r1, 3;\n@%p1 bra L;\n", 1},
        {"L: " TURN "add.s32 %r1, %r1, 1;\nsetp.eq.s32 %p1, %r1, 7;\n@!%p1 bra L;\n", 7},
        {"mov.u32 %r1, 12;\nL: " TURN "add.s32 %r1, %r1, -2;\nsetp.gt.s32 %p1, %r1, 0;\n@%p1 bra L;\n", 6},
        {"mov.u32 %r1, 12;\nL: " TURN "sub.s32 %r1, %r1, 2;\nsetp.ge.s32 %p1, %r1, 0;\n@%p1 bra L;\n", 7},
        {"L: " TURN "add.s32 %r1, %r1, 1;\nsetp.le.s32 %p1, %r1, 9;\n@%p1 bra L;\n", 10},
        /* the bound is never met; the counter begins elsewhere on one way; a constant that was another's; too long */
        {"L: " TURN "add.s32 %r1, %r1, 3;\nsetp.ne.s32 %p1, %r1, 7;\n@%p1 bra L;\n", 5},
        {"setp.eq.s32 %p1, %r9, 0;\n@%p1 bra L;\nmov.u32 %r1, 4;\nL: " TURN
         "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra L;\n",
         5},
        {"setp.eq.s32 %p1, %r9, 0;\n@%p1 mov.u32 %r1, 4;\nL: " TURN
         "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 9;\n@%p1 bra L;\n",
         5},
        {"L: " TURN "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 200;\n@%p1 bra L;\n", 5},
        {"mov.b64 {%r9, %r1}, 8;\nL: " TURN "add.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, 10;\n@%p1 bra L;\n", 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body;
        assert_true(asprintf(&body, "%s%s%s", address, rows[i].loop, behind) > 0);
        if (loads_of(body) != rows[i].loads)
            fail_msg("not %u loads:\n%s", rows[i].loads, body);
        free(body);
    }
}

/* The last of four turns and the single one have names of their own, too, so that their products find the sums. */
static void test_unroll_and_contract(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse("ld.param.u64 %d1, [a];\nld.param.u32 %r9, [n];\nmov.f32 %f1, 0f00000000;\n"
              "L: ld.global.f32 %f2, [%d1];\nld.global.f32 %f3, [%d1+4];\nadd.s64 %d1, %d1, 8;\n"
              "mul.f32 %f4, %f2, %f3;\nsub.f32 %f1, %f1, %f4;\nadd.s32 %r9, %r9, -1;\n"
              "setp.ne.s32 %p1, %r9, 0;\n@%p1 bra L;\nst.global.f32 [%d1], %f1;\n"
              "st.global.f32 [%d1], %f3;\nret;\n");
    assert_int_equal(assemble_module(module, ASSEMBLE_UNROLL | ASSEMBLE_CONTRACT), CORUN_OK);
    char *text = print_body(module);
    assert_int_equal(count_of(text, "submul.f32"), 5);
    assert_int_equal(count_of(text, "\nsub.f32"), 0);
    assert_int_equal(count_of(text, " %f3, [%d1"), 2); /* what is read behind the loop keeps its name */
    ptx_module_destroy(module);
    free(text);
}

/* Each turn has names of its own for all that it writes, several registers with one instruction. */
/* Addresses that grow with the turns, and sums with them: once in four turns, and in the rest; offsets say the others. */
static void test_unroll_that_grows(void **state)
{
    (void)state;
    static const struct {
        const char *turn;
        uint32_t sums; /* add.s64 */
        const char *last;
    } rows[] = {
        {"ld.global.f32 %f2, [%d1+4];\nadd.s64 %d1, %d1, 16;\n", 2, "[%d1+52]"},
        {"add.s64 %d1, %d1, 16;\nld.global.f32 %f2, [%d1+4];\n", 2, "[%d1+36]"},
        {"sub.s64 %d1, %d1, 16;\nld.global.f32 %f2, [%d1+4];\n", 0, "[%d1+-28]"},
        {"add.s64 %d3, %d1, %d2;\nld.global.f32 %f2, [%d3];\nadd.s64 %d1, %d1, 8;\n", 4, "+24]"},
        {"add.s64 %d1, %d1, 8;\nadd.s64 %d3, %d2, %d1;\nld.global.f32 %f2, [%d3];\n", 4, "+32]"},
        /* read as a value; a sum of what moves; a sum that is read as a value */
        {"ld.global.f32 %f2, [%d1+4];\nst.global.u64 [%d2], %d1;\nadd.s64 %d1, %d1, 16;\n", 5, "[%d1+4]"},
        {"add.s64 %d3, %d1, %d4;\nld.global.u64 %d4, [%d3];\nadd.s64 %d1, %d1, 8;\n", 10, "[%d3]"},
        {"add.s64 %d3, %d1, %d2;\nst.global.u64 [%d3], %d3;\nadd.s64 %d1, %d1, 8;\n", 10, "[%d3]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *body;
        assert_true(
            asprintf(
                &body,
                "ld.param.u64 %%d1, [a];\nld.param.u64 %%d2, [a];\nmov.u64 %%d4, 8;\nld.param.u32 %%r9, [n];\nL: %s"
                "add.s32 %%r9, %%r9, -4;\nsetp.ne.s32 %%p1, %%r9, 0;\n@%%p1 bra L;\nst.global.u64 [%%d2], "
                "%%d1;\nret;\n",
                rows[i].turn) > 0);
        struct ptx_module *module = parse(body);
        assert_int_equal(assemble_module(module, ASSEMBLE_UNROLL), CORUN_OK);
        char *text = print_body(module);
        if (count_of(text, "add.s64") != rows[i].sums || !strstr(text, rows[i].last))
            fail_msg("not %u sums, or no %s:\n%s\n%s", rows[i].sums, rows[i].last, body, text);
        ptx_module_destroy(module);
        free(text);
        free(body);
    }
}

/* Loads of shared memory make longer loops worth it. */
static void test_unroll_of_shared(void **state)
{
    (void)state;
    static const struct {
        uint32_t loads, sums, turns;
    } rows[] = {{0, 18, 5}, {0, 19, 1}, {1, 22, 5}, {1, 23, 1}, {4, 31, 5}, {4, 32, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[4096], *at = body;
        at += sprintf(at, "ld.param.u64 %%d1, [a];\nld.param.u32 %%r9, [n];\nL:");
        for (uint32_t k = 0; k < rows[i].loads; k++)
            at += sprintf(at, "ld.shared.f32 %%f%u, [tile+%u];\n", k + 2, 16 * k);
        for (uint32_t k = 0; k < rows[i].sums; k++)
            at += sprintf(at, "add.f32 %%f1, %%f1, %%f%u;\n", 2 + k % 4);
        sprintf(
            at,
            "add.s32 %%r9, %%r9, -1;\nsetp.ne.s32 %%p1, %%r9, 0;\n@%%p1 bra L;\nst.global.f32 [%%d1], %%f1;\nret;\n");
        struct ptx_module *module = parse(body);
        assert_int_equal(assemble_module(module, ASSEMBLE_UNROLL), CORUN_OK);
        char *text = print_body(module);
        assert_int_equal(count_of(text, "add.f32"), rows[i].turns * rows[i].sums);
        ptx_module_destroy(module);
        free(text);
    }
}

static void test_unroll_of_vectors(void **state)
{
    (void)state;
    enum { LOADS = 17 };
    char *body = NULL, *text;
    size_t bytes;
    FILE *file = open_memstream(&body, &bytes);
    assert_non_null(file);
    fprintf(file, ".reg .f32 %%w<%d>;\n%sL: ", 4 * LOADS, address);
    for (int i = 0; i < LOADS; i++)
        fprintf(file, "ld.shared.v4.f32 {%%w%d, %%w%d, %%w%d, %%w%d}, [tile+%d];\n", 4 * i, 4 * i + 1, 4 * i + 2,
                4 * i + 3, 16 * (i % 16));
    fprintf(file,
            "add.s32 %%r1, %%r1, 1;\nsetp.lt.s32 %%p1, %%r1, %%r9;\n@%%p1 bra L;\nst.global.f32 [%%d1], %%w3;\nret;\n");
    fclose(file);
    struct ptx_module *module = parse(body);
    assert_int_equal(assemble_module(module, ASSEMBLE_UNROLL), CORUN_OK);
    text = print_body(module);
    assert_int_equal(count_of(text, "ld.shared.v4.f32"), 5 * LOADS);
    ptx_module_destroy(module);
    free(text);
    free(body);
}

static void test_predicate(void **state)
{
    (void)state;
    becomes(ASSEMBLE_PREDICATE,
            "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\nsetp.gt.s32 %p1, %r1, 3;\n@%p1 bra END;\n"
            "ld.global.u32 %r2, [%d1];\nEND: st.global.u32 [%d1+4], %r2;\nret;\n",
            "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\nsetp.gt.s32 %p1, %r1, 3;\n"
            "@!%p1 ld.global.u32 %r2, [%d1];\nst.global.u32 [%d1+4], %r2;\nret;\n");
    static const char barrier[] =
        "ld.param.u32 %r1, [n];\nsetp.gt.s32 %p1, %r1, 3;\n@%p1 bra END;\nbar.sync 0;\nEND: ret;\n";
    becomes(ASSEMBLE_PREDICATE, barrier, barrier);
    static const char own[] = "ld.param.u32 %r1, [n];\nsetp.gt.s32 %p1, %r1, 3;\n@%p1 bra END;\n"
                              "setp.gt.s32 %p1, %r1, 1;\nEND: @%p1 st.shared.u32 [tile], %r1;\nret;\n";
    becomes(ASSEMBLE_PREDICATE, own, own);
}

static void test_combine(void **state)
{
    (void)state;
    becomes(ASSEMBLE_COMBINE,
            "ld.shared.f32 %f1, [tile+16];\nld.shared.f32 %f2, [tile+20];\nadd.f32 %f5, %f1, %f2;\n"
            "ld.shared.f32 %f3, [tile+28];\nld.shared.f32 %f4, [tile+24];\nadd.f32 %f6, %f3, %f4;\n"
            "ld.shared.f32 %f7, [tile+32];\nadd.f32 %f8, %f6, %f7;\nret;\n",
            "ld.shared.v4.f32 {%f1, %f2, %f4, %f3}, [tile+16];\nadd.f32 %f5, %f1, %f2;\nadd.f32 %f6, %f3, %f4;\n"
            "ld.shared.f32 %f7, [tile+32];\nadd.f32 %f8, %f6, %f7;\nret;\n");
    /* a row of 8 bytes for each thread: pairs, and no more */
    becomes(ASSEMBLE_COMBINE,
            "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 3;\nmov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\n"
            "ld.shared.f32 %f1, [%r4];\nld.shared.f32 %f2, [%r4+4];\nld.shared.f32 %f3, [%r4+8];\n"
            "ld.shared.f32 %f4, [%r4+12];\nret;\n",
            "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 3;\nmov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\n"
            "ld.shared.v2.f32 {%f1, %f2}, [%r4];\nld.shared.v2.f32 {%f3, %f4}, [%r4+8];\nret;\n");
    becomes(ASSEMBLE_COMBINE,
            "mov.u32 %r1, %tid.x;\nmov.u64 %d1, tile;\nmul.wide.u32 %d2, %r1, 48;\nadd.s64 %d3, %d1, %d2;\n"
            "ld.shared.u64 %d4, [%d3+8];\nld.shared.u64 %d5, [%d3];\nret;\n",
            "mov.u32 %r1, %tid.x;\nmov.u64 %d1, tile;\nmul.wide.u32 %d2, %r1, 48;\nadd.s64 %d3, %d1, %d2;\n"
            "ld.shared.v2.u64 {%d5, %d4}, [%d3];\nret;\n");
}

/* A base that a loop moves is as aligned as the worst of what it has its value from, and loads behind the move are others. */
static void test_combine_in_loops(void **state)
{
    (void)state;
    static const char pair[] = "ld.shared.f32 %f1, [%r1];\nld.shared.f32 %f2, [%r1+4];\n",
                      both[] = "ld.shared.v2.f32 {%f1, %f2}, [%r1];\n";
    static const struct {
        const char *start, *step;
        bool wide;
    } rows[] = {
        {"mov.u32 %r1, tile;\n", "add.s32 %r1, %r1, 8;\n", true},
        {"mov.u32 %r1, tile;\n", "mad.lo.s32 %r1, %r9, 24, %r1;\n", true},
        {"mov.u32 %r1, tile;\n", "add.s32 %r1, %r1, 4;\n", false},
        {"mov.u32 %r1, tile;\n", "add.s32 %r1, %r1, %r9;\n", false},
        {"ld.param.u32 %r1, [n];\n", "add.s32 %r1, %r1, 8;\n", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text[2];
        for (uint32_t wide = 0; wide < 2; wide++)
            assert_true(asprintf(&text[wide],
                                 "ld.param.u32 %%r9, [n];\n%sL: %s%sadd.s32 %%r9, %%r9, -1;\nsetp.ne.s32 %%p1, %%r9, "
                                 "0;\n@%%p1 bra L;\nret;\n",
                                 rows[i].start, wide ? both : pair, rows[i].step) > 0);
        becomes(ASSEMBLE_COMBINE, text[0], text[rows[i].wide]);
        free(text[0]);
        free(text[1]);
    }
    static const char moved[] = "mov.u32 %r1, tile;\nL: ld.shared.f32 %f1, [%r1];\nadd.s32 %r1, %r1, 8;\n"
                                "ld.shared.f32 %f2, [%r1+4];\nsetp.ne.s32 %p1, %r1, 800;\n@%p1 bra L;\nret;\n";
    becomes(ASSEMBLE_COMBINE, moved, moved);
}

static void test_combine_that_stays(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        /* words of two lines of 8 bytes */
        "ld.shared.f32 %f1, [tile+4];\nld.shared.f32 %f2, [tile+8];\nret;\n",
        /* a store, a barrier, an order between them */
        "ld.shared.f32 %f1, [tile];\nst.shared.f32 [tile+4], %f1;\nld.shared.f32 %f2, [tile+4];\nret;\n",
        "ld.shared.f32 %f1, [tile];\nbar.sync 0;\nld.shared.f32 %f2, [tile+4];\nret;\n",
        "ld.volatile.shared.f32 %f1, [tile];\nld.volatile.shared.f32 %f2, [tile+4];\nret;\n",
        /* an address that may be any multiple of 4 */
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, tile;\nadd.s32 %r4, %r3, %r2;\n"
        "ld.shared.f32 %f1, [%r4];\nld.shared.f32 %f2, [%r4+4];\nret;\n",
        /* the upper half of what is a multiple of 16 */
        "mov.u64 %d1, tile;\nshl.b64 %d2, %d1, 4;\nmov.b64 {%r1, %r2}, %d2;\n"
        "ld.shared.f32 %f1, [%r2];\nld.shared.f32 %f2, [%r2+4];\nret;\n",
        /* a register that is written again, one under a guard */
        "ld.shared.f32 %f1, [tile];\nadd.f32 %f3, %f1, %f1;\nld.shared.f32 %f1, [tile+4];\nret;\n",
        "ld.param.u32 %r1, [n];\nsetp.gt.s32 %p1, %r1, 3;\n@%p1 ld.shared.f32 %f1, [tile];\n"
        "ld.shared.f32 %f2, [tile+4];\nret;\n",
        /* other types, memory that is not the kernel's */
        "ld.shared.f32 %f1, [tile];\nld.shared.u32 %r1, [tile+4];\nret;\n",
        "ld.param.u64 %d1, [a];\nld.global.f32 %f1, [%d1];\nld.global.f32 %f2, [%d1+4];\nret;\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        becomes(ASSEMBLE_COMBINE, bodies[i], bodies[i]);
}

/* What a call returns may be any address. */
static void test_combine_behind_a_call(void **state)
{
    (void)state;
    static const char text[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                               ".func (.reg .b32 %out) place()\n{\nmov.u32 %out, %tid.x;\nret;\n}\n"
                               ".visible .entry kernel()\n{\n.reg .b32 %r<2>;\n.reg .f32 %f<3>;\n"
                               "call.uni (%r1), place, ();\nld.shared.f32 %f1, [%r1];\nld.shared.f32 %f2, [%r1+4];\n"
                               "ret;\n}\n";
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    if (ptx_parse("test", text, strlen(text), list, &module) != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    assert_int_equal(assemble_module(module, ASSEMBLE_COMBINE), CORUN_OK);
    for (uint32_t f = 0; f < module->function_count; f++)
        assert_int_equal(module->functions[f]->instruction_count, module->functions[f]->is_entry ? 4 : 2);
    ptx_module_destroy(module);
    corun_diagnostics_destroy(list);
}

/* The proofs take the variable to begin at a multiple of 16 bytes, so it must. */
static void test_combine_aligns(void **state)
{
    (void)state;
    struct ptx_module *module = parse("ld.shared.f32 %f1, [tile];\nld.shared.f32 %f2, [tile+4];\nret;\n");
    assert_int_equal(module->functions[0]->shared[0]->align, 4);
    assert_int_equal(assemble_module(module, ASSEMBLE_COMBINE), CORUN_OK);
    assert_int_equal(module->functions[0]->shared[0]->align, 16);
    ptx_module_destroy(module);
}

/* What ptxas 13.0 does with each of them for sm_75 and sm_80; the last atomic or reduction of the body. */
static const struct {
    const char *body;
    enum ptx_gathering gathered;
} atomics[] = {
    {"atom.global.add.u32 %r1, [%d1], 1;\nst.global.u32 [%d2], %r1;\n", PTX_GATHER_COUNT},
    {"atom.global.add.u64 %d4, [%d1], 1;\nst.global.u64 [%d2], %d4;\n", PTX_GATHER_COUNT},
    {"atom.shared.add.u32 %r1, [tile], 1;\nst.global.u32 [%d2], %r1;\n", PTX_GATHER_COUNT},
    {"red.global.add.u32 [%d1], %r9;\n", PTX_GATHER_COUNT}, /* a parameter */
    {"red.global.or.b32 [%d1], 7;\n", PTX_GATHER_COUNT},
    {"ld.global.u64 %d4, [%d1];\nred.global.add.u32 [%d4], 1;\n", PTX_GATHER_COUNT},
    {"mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %d4, %r1, 4;\nadd.s64 %d5, %d1, %d4;\nred.global.add.u32 [%d5], 1;\n",
     PTX_GATHER_COUNT},
    {"ld.global.u32 %r1, [%d2];\nred.global.add.u32 [%d1], %r1;\n", PTX_GATHER_VALUES},
    {"ld.global.u32 %r1, [%d2];\nred.global.max.s32 [%d1], %r1;\n", PTX_GATHER_VALUES},
    {"ld.global.u32 %r1, [%d2];\natom.global.add.u32 %r2, [%d1], %r1;\nst.global.u32 [%d2], %r2;\n", PTX_GATHER_VALUES},
    /* addresses of each lane's own, or of a warp's that nothing proves to be one */
    {"red.global.add.u32 [%d2], 1;\n", PTX_GATHER_NOTHING},
    {"shr.u32 %r1, %r8, 5;\nmul.wide.u32 %d4, %r1, 4;\nadd.s64 %d5, %d1, %d4;\nred.global.add.u32 [%d5], 1;\n",
     PTX_GATHER_NOTHING},
    {"ld.global.u64 %d4, [%d2];\nred.global.add.u32 [%d4], 1;\n", PTX_GATHER_NOTHING},
    {"ld.local.u64 %d4, [own];\nred.global.add.u32 [%d4], 1;\n", PTX_GATHER_NOTHING},
    /* operations and types that stay lane by lane */
    {"red.global.add.f32 [%d1], %f1;\n", PTX_GATHER_NOTHING},
    {"red.global.inc.u32 [%d1], 100;\n", PTX_GATHER_NOTHING},
    {"atom.global.exch.b32 %r1, [%d1], 7;\nst.global.u32 [%d2], %r1;\n", PTX_GATHER_NOTHING},
    {"atom.global.cas.b32 %r1, [%d1], 7, 8;\nst.global.u32 [%d2], %r1;\n", PTX_GATHER_NOTHING},
    {"atom.global.min.u32 %r1, [%d1], 7;\nst.global.u32 [%d2], %r1;\n", PTX_GATHER_NOTHING},
    {"red.global.add.u64 [%d1], %d2;\n", PTX_GATHER_NOTHING},
};

static void test_gather(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof atomics / sizeof *atomics; i++) {
        char *body;
        assert_true(asprintf(&body,
                             ".local .align 8 .b8 own[8];\nld.param.u64 %%d1, [a];\nld.param.u32 %%r9, [n];\n"
                             "mov.u32 %%r8, %%tid.x;\nmul.wide.u32 %%d3, %%r8, 4;\nadd.s64 %%d2, %%d1, %%d3;\n"
                             "mov.f32 %%f1, 0f3F800000;\n%sret;\n",
                             atomics[i].body) > 0);
        struct ptx_module *module = parse(body);
        assert_int_equal(assemble_module(module, ASSEMBLE_GATHER), CORUN_OK);
        const struct ptx_function *function = module->functions[0];
        uint32_t found = 0;
        for (uint32_t k = 0; k < function->instruction_count; k++) {
            const struct ptx_instruction *instruction = &function->instructions[k];
            if (instruction->opcode != PTX_OP_ATOM && instruction->opcode != PTX_OP_RED)
                continue;
            found++;
            if (instruction->gathered != atomics[i].gathered)
                fail_msg("%d in place of %d: %s", instruction->gathered, atomics[i].gathered, atomics[i].body);
        }
        assert_int_equal(found, 1);
        ptx_module_destroy(module);
        free(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_that_stay),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_fuse),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_fuse_in_loops),
        cmocka_unit_test(test_fuse_across_blocks),
        cmocka_unit_test(test_unroll),
        cmocka_unit_test(test_unroll_and_contract),
        cmocka_unit_test(test_unroll_that_grows),
        cmocka_unit_test(test_unroll_of_shared),
        cmocka_unit_test(test_unroll_of_vectors),
        cmocka_unit_test(test_predicate),
        cmocka_unit_test(test_combine),
        cmocka_unit_test(test_combine_in_loops),
        cmocka_unit_test(test_combine_that_stays),
        cmocka_unit_test(test_combine_behind_a_call),
        cmocka_unit_test(test_combine_aligns),
        cmocka_unit_test(test_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
