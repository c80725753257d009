/* SPDX-License-Identifier: MIT */
/* Control flow, where threads meet, liveness, slots, registers per thread. */
#include "ptx_text.h"

#include "ptx/convergence.h"
#include "ptx/register_count.h"

struct analysed {
    struct arena *arena;
    struct ptx_module *module;
    const struct ptx_function *function;
    struct ptx_control_flow flow;
    struct ptx_allocation allocation;
};

static struct analysed analyse_function(struct ptx_module *module, const struct ptx_function *function)
{
    struct analysed result = {.arena = arena_create(), .module = module, .function = function};
    assert_int_equal(ptx_control_flow_create(function, result.arena, &result.flow), CORUN_OK);
    assert_int_equal(ptx_allocate_registers(function, &result.flow, result.arena, &result.allocation), CORUN_OK);
    return result;
}

static struct analysed analyse(const char *text)
{
    struct ptx_module *module = parse_text(text);
    return analyse_function(module, ptx_module_function(module, "k"));
}

static void finish(struct analysed *analysed)
{
    arena_destroy(analysed->arena);
    ptx_module_destroy(analysed->module);
}

static uint32_t at_label(const struct analysed *analysed, const char *name)
{
    for (uint32_t i = 0; i < analysed->function->label_count; i++)
        if (!strcmp(analysed->function->labels[i].name, name))
            return analysed->function->labels[i].instruction;
    fail_msg("no label %s", name);
    return 0;
}

static struct ptx_convergence convergence_of(const struct analysed *analysed)
{
    struct ptx_convergence convergence;
    assert_int_equal(
        ptx_convergence_create(analysed->function, &analysed->flow, PTX_EXIT, analysed->arena, &convergence), CORUN_OK);
    return convergence;
}

/* Where threads meet that a branch parts. */
static uint32_t meets(const struct analysed *analysed, uint32_t branch)
{
    const struct ptx_convergence convergence = convergence_of(analysed);
    return ptx_convergence_meets(&convergence, analysed->flow.block_of[branch]);
}

/* At how many places nobody waits any more for those who go from a branch to a label. */
static uint32_t leaves(const struct analysed *analysed, uint32_t branch, const char *label)
{
    const struct ptx_convergence convergence = convergence_of(analysed);
    return ptx_convergence_left(&convergence, analysed->flow.block_of[branch],
                                analysed->flow.block_of[at_label(analysed, label)]);
}

static uint32_t slot_of(const struct analysed *analysed, const char *name)
{
    for (uint32_t i = 0; i < analysed->function->register_count; i++)
        if (!strcmp(analysed->function->registers[i].name, name))
            return analysed->allocation.slots[i];
    fail_msg("no register %s", name);
    return 0;
}

static bool reads_unwritten(const char *text)
{
    struct analysed a = analyse(text);
    bool reads = a.allocation.reads_unwritten;
    finish(&a);
    return reads;
}

static void reads_of_what_was_not_written(void **state)
{
    (void)state;
    assert_false(reads_unwritten(
        ENTRY("mov.u32 %r1, 1;\nLOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra LOOP;\n")));
    assert_true(reads_unwritten(ENTRY("LOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra LOOP;\n")));
    assert_true(reads_unwritten(ENTRY("setp.lt.u32 %p1, 1, 9;\n@%p1 mov.u32 %r1, 1;\nmov.u32 %r2, %r1;\n")));
    /* under one guard: who reads has written */
    assert_false(reads_unwritten(ENTRY("setp.lt.u32 %p1, 1, 9;\n@%p1 mov.u32 %r1, 1;\n@%p1 add.u32 %r1, %r1, %r1;\n")));
    assert_true(reads_unwritten(ENTRY("@%p1 mov.u32 %r1, 1;\n")));
}

static void branches_meet_at_the_post_dominator(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("@%p1 bra ELSE;\n" /* 0 */
                                      "@%p2 bra INNER;\n"
                                      "mov.u32 %r1, 1;\n"
                                      "INNER: mov.u32 %r2, 2;\n"
                                      "bra JOIN;\n"
                                      "ELSE: mov.u32 %r3, 3;\n"
                                      "JOIN: mov.u32 %r4, 4;\n"
                                      "LOOP: add.u32 %r4, %r4, 1;\n"
                                      "@%p4 bra DONE;\n" /* 8 */
                                      "@%p3 bra LOOP;\n" /* 9 */
                                      "DONE: @%p5 exit;\n"
                                      "@%p6 bra LAST;\n" /* 11 */
                                      "ret;\n"
                                      "LAST: ret;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "JOIN"));
    assert_int_equal(meets(&a, 1), at_label(&a, "INNER"));
    assert_int_equal(meets(&a, 8), at_label(&a, "DONE"));
    assert_int_equal(meets(&a, 9), at_label(&a, "DONE"));
    assert_int_equal(meets(&a, 10), PTX_EXIT);
    assert_int_equal(meets(&a, 11), PTX_EXIT);
    const struct ptx_block *first = &a.flow.blocks[0];
    assert_int_equal(first->successor_count, 2);
    assert_int_equal(a.flow.blocks[first->successors[0]].first, at_label(&a, "ELSE"));
    assert_int_equal(first->successors[1], 1);
    assert_int_equal(a.flow.blocks[a.flow.block_of[at_label(&a, "JOIN")]].predecessor_count, 2);
    finish(&a);
}

/* A branch around one that some do not come back from. */
#define ENDING(way) \
    ENTRY("@%p1 bra JOIN;\n@%p2 bra GOES_ON;\n" way \
          "GOES_ON: mov.u32 %r1, 1;\nJOIN: mov.u32 %r2, 2;\nbar.sync 0;\n@%p3 bra END;\n@%p4 exit;\nEND: ret;\n")

static void branches_meet_before_a_barrier_though_some_end(void **state)
{
    (void)state;
    static const char *const texts[] = {ENDING("ret;\n"), ENDING("exit;\n"), ENDING("LOOP: bra LOOP;\n"),
                                        ENDING("mov.u32 %r1, 3;\nbra END;\n")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct analysed a = analyse(texts[i]);
        assert_int_equal(meets(&a, 0), at_label(&a, "JOIN"));
        assert_int_not_equal(a.flow.blocks[0].post_dominator, a.flow.block_of[at_label(&a, "JOIN")]);
        assert_int_equal(meets(&a, 1), PTX_EXIT); /* who waited at END would keep others at the barrier */
        assert_int_equal(leaves(&a, 1, "GOES_ON"), 0);
        assert_int_equal(leaves(&a, 1, "JOIN"), 0);
        finish(&a);
    }
    /* A loop whose threads leave it for where nobody acts together any more. */
    struct analysed loop = analyse(
        ENTRY("LOOP: @%p1 bra ODD;\n@%p2 bra END;\nJOIN: bar.sync 0;\nadd.u32 %r1, %r1, 1;\n@%p3 bra LOOP;\nbra END;\n"
              "ODD: @%p4 bra END;\nmov.u32 %r2, 2;\nbra JOIN;\nEND: ret;\n"));
    assert_int_equal(meets(&loop, 0), at_label(&loop, "JOIN"));
    assert_int_equal(loop.flow.blocks[0].post_dominator, loop.flow.block_of[at_label(&loop, "END")]);
    finish(&loop);
    /* So it is where there is nothing that threads do together. */
    struct analysed a = analyse(ENTRY("@%p1 bra JOIN;\n@%p2 exit;\nJOIN: mov.u32 %r2, 2;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "JOIN"));
    finish(&a);
}

/* Nobody comes back from a trap, nor goes on beside one: who does not go there meets as if it were not there, in loops, too. */
static void nobody_waits_for_a_trap(void **state)
{
    (void)state;
    struct analysed a = analyse(ENDING("trap;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "JOIN"));
    assert_int_equal(meets(&a, 1), PTX_EXIT);
    finish(&a);
    a = analyse(ENTRY("LOOP: @%p1 bra ODD;\nmov.u32 %r1, 1;\nbra JOIN;\nODD: @%p2 bra BAD;\nmov.u32 %r1, 2;\n"
                      "JOIN: add.u32 %r2, %r2, 1;\n@%p3 bra LOOP;\nret;\n"
                      "BAD: @%p4 bra WORSE;\nmov.u32 %r3, 1;\nWORSE: mov.u32 %r3, 2;\ntrap;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "JOIN"));
    assert_int_equal(meets(&a, 3), PTX_EXIT);
    assert_int_equal(leaves(&a, 3, "BAD"), 2); /* JOIN, and what is behind the loop */
    assert_int_equal(leaves(&a, 3, "JOIN"), 0);
    assert_int_equal(meets(&a, at_label(&a, "BAD")), at_label(&a, "WORSE"));
    finish(&a);
    a = analyse(ENTRY("@%p1 bra ELSE;\nmov.u32 %r1, 1;\nELSE: trap;\n")); /* everybody goes there */
    assert_int_equal(meets(&a, 0), at_label(&a, "ELSE"));
    finish(&a);
}

/*
 * Those that break out of a loop, or leave several at once, wait behind it; the arms of the branch in which they do so meet without them. Expected: what
 * ptxas 13.0 makes of the same (compute capability 7.5).
 */
static void who_leaves_a_loop_is_not_waited_for(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("LOOP: @%p1 bra EVEN;\n" /* 0 */
                                      "mov.u32 %r1, 1;\n"
                                      "@%p2 bra END;\n" /* 2: break */
                                      "mov.u32 %r1, 2;\nbra TAIL;\n"
                                      "EVEN: mov.u32 %r1, 3;\n"
                                      "TAIL: add.u32 %r2, %r1, 1;\n"
                                      "@%p3 bra LOOP;\n" /* 7 */
                                      "mov.u32 %r3, 4;\nEND: mov.u32 %r3, 5;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "TAIL"));
    assert_int_equal(meets(&a, 2), at_label(&a, "END"));
    assert_int_equal(leaves(&a, 2, "END"), 2); /* TAIL, and what the loop is left to at its end */
    assert_int_equal(leaves(&a, 0, "EVEN"), 0);
    assert_int_equal(meets(&a, 7), 8);
    assert_int_equal(leaves(&a, 7, "LOOP"), 0);
    finish(&a);
    /* A return instead: the code behind the loop, which is more than a return, is where the others meet that leave at different times. */
    a = analyse(ENTRY("LOOP: @%p1 bra EVEN;\nmov.u32 %r1, 1;\n@%p2 bra OUT;\nmov.u32 %r1, 2;\nbra TAIL;\n"
                      "EVEN: mov.u32 %r1, 3;\nTAIL: add.u32 %r2, %r1, 1;\n@%p3 bra LOOP;\nmov.u32 %r3, 4;\nmov.u32 "
                      "%r3, 5;\nOUT: ret;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "TAIL"));
    assert_int_equal(meets(&a, 7), 8);
    assert_int_equal(meets(&a, 2), at_label(&a, "OUT"));
    finish(&a);
    /* Two loops, and a way out of both. */
    a = analyse(ENTRY("OUTER: mov.u32 %r1, 1;\nINNER: @%p1 bra EVEN;\n@%p2 bra END;\nmov.u32 %r1, 2;\nbra TAIL;\n"
                      "EVEN: mov.u32 %r1, 3;\nTAIL: add.u32 %r2, %r1, 1;\n@%p3 bra INNER;\n" /* 7 */
                      "mov.u32 %r3, 4;\n@%p4 bra OUTER;\n"                                   /* 9 */
                      "END: mov.u32 %r3, 5;\n"));
    assert_int_equal(meets(&a, 1), at_label(&a, "TAIL"));
    assert_int_equal(meets(&a, 7), 8);
    assert_int_equal(meets(&a, 9), at_label(&a, "END"));
    assert_int_equal(meets(&a, 2), at_label(&a, "END"));
    assert_int_equal(leaves(&a, 2, "END"), 2); /* TAIL, and what is behind the inner loop */
    assert_int_equal(leaves(&a, 7, "INNER"), 0);
    finish(&a);
}

/* `if (a || b) T else F`, and a goto from one arm into the other: T is one place, to which threads come in two ways. */
static void ways_into_one_arm_come_together(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("@%p1 bra T;\n@%p2 bra T;\nmov.u32 %r1, 1;\nbra JOIN;\nT: mov.u32 %r1, 2;\n"
                                      "JOIN: mov.u32 %r2, 3;\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "T"));
    assert_int_equal(meets(&a, 1), at_label(&a, "JOIN"));
    assert_int_equal(leaves(&a, 1, "T"), 0);
    const struct ptx_convergence convergence = convergence_of(&a);
    assert_int_equal(ptx_convergence_left(&convergence, a.flow.block_of[1], a.flow.block_of[2]), 1);
    finish(&a);
    /* Neither of two ways out of a loop is one that all go, and they come together behind: there. */
    a = analyse(ENTRY("LOOP: mov.u32 %r1, 1;\n@%p1 bra ONE;\nmov.u32 %r1, 2;\n@%p2 bra LOOP;\nmov.u32 %r2, 3;\nbra "
                      "JOIN;\nONE: mov.u32 %r2, 4;\nmov.u32 %r2, 5;\nJOIN: mov.u32 %r3, 6;\n"));
    assert_int_equal(meets(&a, 1), at_label(&a, "JOIN"));
    assert_int_equal(meets(&a, 3), at_label(&a, "JOIN"));
    finish(&a);
}

static void endless_loops_have_meeting_points_too(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("LOOP: @%p1 bra ODD;\n"
                                      "mov.u32 %r1, 1;\n"
                                      "bra JOIN;\n"
                                      "ODD: mov.u32 %r1, 2;\n"
                                      "JOIN: add.u32 %r2, %r1, 1;\n"
                                      "bra LOOP;\n"
                                      "mov.u32 %r1, 5;\n" /* never reached */
                                      "bra END;\n"
                                      "END:\n"));
    assert_int_equal(meets(&a, 0), at_label(&a, "JOIN"));
    assert_int_equal(at_label(&a, "END"), a.function->instruction_count);
    finish(&a);
    a = analyse(HEAD ".entry k() { }");
    assert_int_equal(a.flow.block_count, 0);
    assert_int_equal(a.allocation.register_slots, 0);
    finish(&a);
}

static void values_in_loops_keep_their_slots(void **state)
{
    (void)state;
    /* %r1 is needed by the next round, though its last use comes before the end of the loop */
    struct analysed a = analyse(ENTRY("mov.u32 %r1, 1;\n"
                                      "mov.u32 %r2, 0;\n"
                                      "LOOP: add.u32 %r2, %r2, %r1;\n"
                                      "mov.u32 %r3, %tid.x;\n"
                                      "add.u32 %r2, %r2, %r3;\n"
                                      "setp.lt.u32 %p1, %r2, 100;\n"
                                      "@%p1 bra LOOP;\n"
                                      "st.global.u32 [%rd1], %r2;\nret;\n"));
    assert_int_not_equal(slot_of(&a, "%r1"), slot_of(&a, "%r3"));
    assert_int_not_equal(slot_of(&a, "%r1"), slot_of(&a, "%r2"));
    assert_int_equal(slot_of(&a, "%rd1"), 0);         /* read before any write: it has a slot of its own */
    assert_int_equal(a.allocation.register_slots, 5); /* one pair and three */
    assert_int_equal(a.allocation.predicate_slots, 1);
    assert_int_equal(a.allocation.pressure, 5);
    finish(&a);
}

static void a_guarded_write_does_not_end_the_old_value(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("mov.u32 %r1, 1;\n"
                                      "mov.u32 %r2, 2;\n"
                                      "mov.u32 %r5, 3;\n"
                                      "@%p1 mov.u32 %r1, %r2;\n"
                                      "st.global.u32 [%rd1], %r1;\nret;\n"));
    assert_int_not_equal(slot_of(&a, "%r1"), slot_of(&a, "%r2"));
    assert_int_not_equal(slot_of(&a, "%r1"),
                         slot_of(&a, "%r5")); /* a result nobody reads must not destroy one that is */
    assert_int_not_equal(slot_of(&a, "%r2"), slot_of(&a, "%r5"));
    finish(&a);
}

static bool guarded_values_share_a_slot(const char *between, const char *use)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s%s%s%s", HEAD ".entry k() {\n" REGISTERS,
             "@%p1 mov.u32 %r2, 2;\n@%p1 st.global.u32 [%rd1], %r2;\n@%p1 mov.u32 %r1, 1;\n", between, use,
             " st.global.u32 [%rd1], %r1;\nret; }\n");
    struct analysed a = analyse(text);
    bool share = slot_of(&a, "%r1") == slot_of(&a, "%r2");
    finish(&a);
    return share;
}

static void values_under_one_guard_live_from_their_definition(void **state)
{
    (void)state;
    assert_true(guarded_values_share_a_slot("", "@%p1"));
    assert_true(guarded_values_share_a_slot("@%p1 add.u32 %r1, %r1, 1;", "@%p1"));
    /* a thread that did not write reads: what it had from the start */
    assert_false(guarded_values_share_a_slot("", "@!%p1"));
    assert_false(guarded_values_share_a_slot("", "@%p2"));
    assert_false(guarded_values_share_a_slot("", ""));
    assert_false(guarded_values_share_a_slot("setp.ne.u32 %p1, %r5, 0;", "@%p1"));
    assert_false(guarded_values_share_a_slot("@%p1 setp.ne.u32 %p1, %r5, 0;", "@%p1"));
    assert_false(
        guarded_values_share_a_slot("bra NEXT;\nNEXT:", "@%p1")); /* another block: it may be reached otherwise */
}

static void slots_are_used_again(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("mov.u32 %r1, 1;\n"
                                      "add.u32 %r2, %r1, 1;\n"
                                      "add.u32 %r3, %r2, 1;\n"
                                      "add.u32 %r4, %r3, 1;\n"
                                      "cvt.u64.u32 %rd2, %r4;\n"
                                      "add.u64 %rd3, %rd2, %rd1;\n"
                                      "mov.b64 {%r5, %r6}, %rd3;\n"
                                      "ret;\n"));
    assert_int_equal(slot_of(&a, "%r1"), slot_of(&a, "%r3"));
    assert_int_not_equal(slot_of(&a, "%r1"), slot_of(&a, "%r2")); /* never onto an operand of the same instruction */
    assert_int_equal(slot_of(&a, "%rd2") % 2, 0);
    assert_true(slot_of(&a, "%r5") >= 6); /* pairs and single slots stay apart */
    assert_int_equal(a.allocation.register_slots, 8);
    assert_int_equal(a.allocation.pressure, 4);
    finish(&a);
}

/*
 * The same question answered another way: bit sets iterated to a fixed point, as in any textbook. Registers that are
 * live or accessed at one instruction together must not share a slot.
 */
struct sets {
    const struct ptx_function *function;
    uint8_t *read, *written; /* per register, of the current instruction */
};

static void note(void *user, uint32_t r, enum ptx_access access)
{
    struct sets *sets = user;
    (access == PTX_READ ? sets->read : sets->written)[r] = 1;
}

static void transfer(struct sets *sets, uint32_t instruction, uint8_t *live)
{
    uint32_t count = sets->function->register_count;
    memset(sets->read, 0, count);
    memset(sets->written, 0, count);
    ptx_instruction_registers(&sets->function->instructions[instruction], note, sets);
    for (uint32_t r = 0; r < count; r++) {
        if (sets->written[r] && sets->function->instructions[instruction].guard == PTX_NONE)
            live[r] = 0;
        live[r] |= sets->read[r];
    }
}

static void check_instruction(const struct analysed *a, const struct sets *sets, const uint8_t *after, uint32_t *owner)
{
    const struct ptx_function *f = a->function;
    uint32_t slots = a->allocation.register_slots;
    memset(owner, 0xff, (slots + a->allocation.predicate_slots + 1) * sizeof *owner);
    for (uint32_t r = 0; r < f->register_count; r++) {
        if (!after[r] && !sets->read[r] && !sets->written[r])
            continue;
        assert_int_not_equal(a->allocation.slots[r], PTX_NONE);
        bool predicate = f->registers[r].type == PTX_TYPE_PRED;
        uint32_t width = ptx_types[f->registers[r].type].bits == 64 ? 2 : 1;
        for (uint32_t i = 0; i < width; i++) {
            uint32_t slot = a->allocation.slots[r] + i + (predicate ? slots : 0);
            assert_true(slot < slots + a->allocation.predicate_slots);
            assert_int_equal(owner[slot], UINT32_MAX);
            owner[slot] = r;
        }
    }
}

static void check_against_bit_sets(const struct analysed *a)
{
    const struct ptx_function *f = a->function;
    uint32_t count = f->register_count, blocks = a->flow.block_count;
    struct sets sets = {f, calloc(count + 1u, 1), calloc(count + 1u, 1)};
    uint8_t *out = calloc((size_t)blocks * count + 1, 1), *live = calloc(count + 1u, 1);
    uint32_t *owner = calloc(a->allocation.register_slots + a->allocation.predicate_slots + 1u, sizeof *owner);
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t b = blocks; b-- > 0;) {
            const struct ptx_block *block = &a->flow.blocks[b];
            memcpy(live, out + (size_t)b * count, count);
            for (uint32_t i = block->end; i-- > block->first;)
                transfer(&sets, i, live);
            for (uint32_t p = 0; p < block->predecessor_count; p++) {
                uint8_t *before = out + (size_t)block->predecessors[p] * count;
                for (uint32_t r = 0; r < count; r++) {
                    changed |= live[r] && !before[r];
                    before[r] |= live[r];
                }
            }
        }
    }
    uint32_t most = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        const struct ptx_block *block = &a->flow.blocks[b];
        memcpy(live, out + (size_t)b * count, count);
        for (uint32_t i = block->end; i-- > block->first;) {
            uint8_t *after = malloc(count + 1u);
            memcpy(after, live, count);
            transfer(&sets, i, live);
            check_instruction(a, &sets, after, owner);
            uint32_t units = 0;
            for (uint32_t r = 0; r < count; r++)
                if (after[r] && f->registers[r].type != PTX_TYPE_PRED)
                    units += ptx_types[f->registers[r].type].bits == 64 ? 2 : 1;
            most = units > most ? units : most;
            free(after);
        }
    }
    assert_true(a->allocation.pressure >= most); /* results that nobody reads count besides */
    free(sets.read);
    free(sets.written);
    free(out);
    free(live);
    free(owner);
}

static void slots_agree_in(const char *text, size_t bytes)
{
    (void)bytes;
    struct ptx_module *module = parse_text(text);
    for (uint32_t i = 0; i < module->function_count; i++) {
        struct analysed a = analyse_function(module, module->functions[i]);
        check_against_bit_sets(&a);
        arena_destroy(a.arena);
    }
    ptx_module_destroy(module);
}

static void slots_agree_with_bit_sets(void **state)
{
    (void)state;
    each_of_corpus(slots_agree_in);
}

/* Programs with arbitrary jumps and guards: nothing a compiler would write. */
static void slots_agree_with_bit_sets_on_random_code(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (uint32_t round = 0; round < 150; round++) {
        char text[16384];
        size_t used = (size_t)snprintf(text, sizeof text, "%s", HEAD ".entry k() {\n" REGISTERS);
        uint32_t length = 2 + round % 40;
        for (uint32_t i = 0; i < length; i++) {
            uint32_t random[6];
            for (uint32_t k = 0; k < 6; k++) {
                seed = seed * 1664525u + 1013904223u;
                random[k] = seed >> 20;
            }
            char guard[16] = "";
            if (random[5] % 3 == 0)
                snprintf(guard, sizeof guard, "@%s%%p%u ", random[4] % 2 ? "!" : "", random[0] % 4);
            used += (size_t)snprintf(text + used, sizeof text - used, "L%u: %s", i, guard);
            const char *forms[] = {"add.u32 %%r%u, %%r%u, %%r%u;\n", "mul.wide.u32 %%rd%u, %%r%u, %%r%u;\n",
                                   "setp.lt.u32 %%p%u, %%r%u, %%r%u;\n", "mov.b64 {%%r%u, %%r%u}, %%rd%u;\n"};
            if (random[3] % 4 == 0)
                used += (size_t)snprintf(text + used, sizeof text - used, "bra L%u;\n", random[0] % length);
            else
                used += (size_t)snprintf(text + used, sizeof text - used, forms[random[4] % 4], random[0] % 6,
                                         random[1] % 6, random[2] % 6);
        }
        snprintf(text + used, sizeof text - used, "ret; }\n");
        struct analysed a = analyse(text);
        check_against_bit_sets(&a);
        finish(&a);
    }
}

/* A second load that got the slot of %r2 would wait for the first one's data. */
static void what_a_load_writes_is_taken_until_it_is_there(void **state)
{
    (void)state;
    struct analysed a = analyse(ENTRY("ld.global.v2.u32 {%r1, %r2}, [%rd1];\n" /* nobody reads %r2 */
                                      "ld.global.v2.u32 {%r3, %r4}, [%rd1+8];\n"
                                      "add.u32 %r5, %r1, %r3;\n"
                                      "mov.u32 %r6, 1;\n"
                                      "add.u32 %r5, %r5, %r6;\n"
                                      "st.global.u32 [%rd1], %r5;\nret;\n"));
    for (uint32_t i = 1; i < 5; i++)
        for (uint32_t j = 1; j < i; j++) {
            char left[8], right[8];
            snprintf(left, sizeof left, "%%r%u", i);
            snprintf(right, sizeof right, "%%r%u", j);
            assert_int_not_equal(slot_of(&a, left), slot_of(&a, right));
        }
    assert_int_equal(a.allocation.register_slots, 2 + 4 + 1); /* %r6 has the slot of one of them, %r5 its own */
    finish(&a);
}

static void registers_of_signatures_live_throughout(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(HEAD ".func (.reg .u32 r) f (.reg .u32 a, .reg .u64 b)\n"
                                                "{ .reg .u32 t; mov.u32 t, a; mov.u32 r, t; ret; }\n");
    struct analysed a = analyse_function(module, module->functions[0]);
    assert_int_equal(a.allocation.register_slots,
                     5); /* b, a, r, t: none shares, b has a slot although nobody reads it */
    assert_int_equal(module->functions[0]->signature.parameters[1]->parameter_register, 2);
    assert_int_not_equal(a.allocation.slots[2], PTX_NONE);
    finish(&a);
}

static const char ptxas_log[] = "ptxas info    : 0 bytes gmem\n"
                                "ptxas info    : Compiling entry function 'other' for 'sm_75'\n"
                                "ptxas info    : Function properties for other\n"
                                "ptxas info    : Used 9 registers, 360 bytes cmem[0]\n"
                                "ptxas info    : Compiling entry function 'k' for 'sm_75'\n"
                                "ptxas info    : Function properties for k\n"
                                "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                "ptxas info    : Used 37 registers, 360 bytes cmem[0]\n"
                                "ptxas info    : Compiling entry function 'unused' for 'sm_75'\n";

static uint32_t registers_of(const char *text, const char *log, enum ptx_registers_from *from)
{
    struct ptx_module *module = parse_text(text);
    struct arena *arena = arena_create();
    struct ptx_allocation *allocations = calloc(module->function_count, sizeof *allocations);
    struct ptx_control_flow flow;
    for (uint32_t i = 0; i < module->function_count; i++) {
        assert_int_equal(ptx_control_flow_create(module->functions[i], arena, &flow), CORUN_OK);
        assert_int_equal(ptx_allocate_registers(module->functions[i], &flow, arena, &allocations[i]), CORUN_OK);
    }
    uint32_t registers;
    assert_int_equal(ptx_registers_per_thread(module, ptx_module_function(module, "k"), allocations, log,
                                              log ? strlen(log) : 0, &registers, from),
                     CORUN_OK);
    free(allocations);
    arena_destroy(arena);
    ptx_module_destroy(module);
    return registers;
}

/* A parameter, its conversion, an address and a constant cost nothing; what is written twice or computed does. */
static void constants_are_not_kept(void **state)
{
    (void)state;
    enum ptx_registers_from from;
    assert_int_equal(registers_of(HEAD ".shared .align 4 .b8 area[64];\n"
                                       ".entry k(.param .u64 p, .param .u32 n)\n{\n"
                                       ".reg .pred %p<2>;\n.reg .b64 %rd<6>;\n.reg .b32 %r<6>;\n"
                                       "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\n"
                                       "mov.u64 %rd3, area;\nmov.u32 %r1, 17;\nmov.u32 %r2, 1;\n"
                                       "mov.u32 %r3, %tid.x;\nsetp.eq.u32 %p1, %r3, 0;\n"
                                       "st.shared.u32 [%rd3], %r1;\n@%p1 mov.u32 %r2, 2;\n"
                                       "st.global.u32 [%rd2], %r3;\nst.global.u32 [%rd2+4], %r2;\nret;\n}\n",
                                  NULL, &from),
                     2 + 6); /* %r2 and %r3 */
}

static void registers_per_thread(void **state)
{
    (void)state;
    enum ptx_registers_from from;
    const char *plain = ENTRY("ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1; "
                              "st.global.u32 [%rd1], %r2; ret;");
    assert_int_equal(registers_of(plain, NULL, &from), 1 + 6); /* %rd1 is a parameter */
    assert_int_equal(from, PTX_REGISTERS_ALLOCATION);
    assert_int_equal(registers_of(HEAD ".entry k() .maxnreg 20 { ret; }", NULL, &from), 20);
    assert_int_equal(from, PTX_REGISTERS_MAXNREG);
    assert_int_equal(registers_of(HEAD ".entry k() .maxnreg 20 { ret; }", ptxas_log, &from), 37);
    assert_int_equal(from, PTX_REGISTERS_ASSEMBLER);
    assert_int_equal(registers_of(HEAD ".func f() { ret; } .entry k() { call f; ret; }", NULL, &from), 24);
    uint32_t found;
    assert_false(ptx_assembler_registers(ptxas_log, sizeof ptxas_log - 1, "unused", &found));
    assert_false(ptx_assembler_registers(ptxas_log, sizeof ptxas_log - 1, "oth", &found));
    for (size_t length = 0; length < sizeof ptxas_log; length++) {
        char *part = malloc(length + 1); /* a log that was cut off */
        memcpy(part, ptxas_log, length);
        if (ptx_assembler_registers(part, length, "k", &found))
            assert_int_equal(found, 37);
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_what_was_not_written),
        cmocka_unit_test(branches_meet_at_the_post_dominator),
        cmocka_unit_test(who_leaves_a_loop_is_not_waited_for),
        cmocka_unit_test(ways_into_one_arm_come_together),
        cmocka_unit_test(branches_meet_before_a_barrier_though_some_end),
        cmocka_unit_test(nobody_waits_for_a_trap),
        cmocka_unit_test(endless_loops_have_meeting_points_too),
        cmocka_unit_test(values_in_loops_keep_their_slots),
        cmocka_unit_test(a_guarded_write_does_not_end_the_old_value),
        cmocka_unit_test(values_under_one_guard_live_from_their_definition),
        cmocka_unit_test(slots_are_used_again),
        cmocka_unit_test(slots_agree_with_bit_sets),
        cmocka_unit_test(slots_agree_with_bit_sets_on_random_code),
        cmocka_unit_test(what_a_load_writes_is_taken_until_it_is_there),
        cmocka_unit_test(registers_of_signatures_live_throughout),
        cmocka_unit_test(constants_are_not_kept),
        cmocka_unit_test(registers_per_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
