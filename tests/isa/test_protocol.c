/* SPDX-License-Identifier: MIT */
/*
 * The executor as a machine drives it: warps of several thread blocks on several SMs take turns, stores are committed
 * and atomics performed between them. Memory must end as after a functional run.
 */
#include "runner.h"

#include "corun/source.h"
#include "isa/executor.h"

#define SMS 3u
#define CLOCK_KHZ 1500000u
#define SLOTS 2u /* thread blocks per SM */
#define WARPS 8u

struct slot {
    struct corun_tb *tb;
    struct corun_warp *warps[WARPS];
    uint32_t live, waiting;
};

struct waiting_atomic {
    uint32_t sm, ticket, lanes;
};

struct machine {
    const struct corun_grid *grid;
    const struct corun_source_operations *operations;
    struct slot slots[SMS][SLOTS];
    struct waiting_atomic pending[256];
    uint32_t pending_count;
    uint32_t next_tb, ended;
    uint64_t cycle;
    uint64_t local_addresses, shared_accesses;
};

static void start(struct machine *machine, uint32_t sm, struct slot *slot)
{
    slot->tb = machine->operations->tb_begin(machine->grid, machine->next_tb++, sm, slot->warps);
    assert_non_null(slot->tb);
    slot->live = (1u << machine->grid->tb_warps) - 1;
    slot->waiting = 0;
    for (uint32_t i = 0; i < machine->grid->tb_warps; i++) {
        machine->operations->warp_place(slot->warps[i], i, SMS, &machine->cycle);
        assert_int_equal(machine->operations->warp_pc(slot->warps[i]), 0);
    }
}

static void check_addresses(struct machine *machine, const struct corun_instruction *instruction,
                            const struct corun_issue *issue)
{
    if (!(instruction->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC)))
        return;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(issue->active >> lane & 1))
            continue;
        uint8_t space = issue->space == CORUN_SPACE_GENERIC ? issue->lane_space[lane] : issue->space;
        if (space == CORUN_SPACE_SHARED) {
            assert_true(issue->address[lane] < machine->grid->tb_shared_bytes);
            machine->shared_accesses++;
        } else {
            assert_int_equal(issue->address[lane] >> CORUN_APPLICATION_SHIFT, 1);
            machine->local_addresses += space == CORUN_SPACE_LOCAL;
        }
    }
}

static void run_warp(struct machine *machine, uint32_t sm, struct slot *slot, uint32_t warp)
{
    struct corun_issue issue;
    for (uint32_t turn = 0; turn < 7 && (slot->live & ~slot->waiting) >> warp & 1; turn++) {
        uint32_t pc = machine->operations->warp_pc(slot->warps[warp]);
        const struct corun_instruction *instruction = &machine->grid->code[pc];
        machine->operations->issue(slot->warps[warp], &issue);
        machine->cycle++;
        assert_int_not_equal(issue.outcome, CORUN_OUTCOME_FAULT);
        if (issue.outcome == CORUN_OUTCOME_EXIT) {
            slot->live &= ~(1u << warp);
        } else {
            assert_int_equal(issue.pc, machine->operations->warp_pc(slot->warps[warp]));
            assert_int_equal(issue.jumped, issue.pc != pc + 1);
        }
        if (issue.outcome == CORUN_OUTCOME_BARRIER)
            slot->waiting |= 1u << warp;
        if (issue.active)
            check_addresses(machine, instruction, &issue);
        if (instruction->flags & CORUN_ATOMIC && issue.active && issue.space != CORUN_SPACE_SHARED) {
            machine->pending[machine->pending_count++] = (struct waiting_atomic){sm, issue.ticket, issue.active};
            return; /* its result is not there before `complete` */
        }
    }
}

static void synchronise(struct machine *machine)
{
    for (uint32_t sm = 0; sm < SMS; sm++) {
        machine->operations->commit(machine->grid, sm);
        assert_false(machine->operations->dirty(machine->grid, sm));
    }
    for (uint32_t i = 0; i < machine->pending_count; i++) { /* in two parts, as if they lay in two sectors */
        const struct waiting_atomic *pending = &machine->pending[i];
        machine->operations->perform(machine->grid, pending->sm, pending->ticket, pending->lanes & 0x0000ffff);
        machine->operations->perform(machine->grid, pending->sm, pending->ticket, pending->lanes & 0xffff0000);
        machine->operations->complete(machine->grid, pending->sm, pending->ticket);
    }
    machine->pending_count = 0;
}

static void run(struct machine *machine, const struct corun_grid *grid)
{
    *machine = (struct machine){.grid = grid, .operations = grid->operations};
    assert_int_equal(machine->operations->attach(grid, SMS, CLOCK_KHZ), CORUN_OK);
    while (machine->ended < grid->tb_count) {
        for (uint32_t sm = 0; sm < SMS; sm++)
            for (uint32_t s = 0; s < SLOTS; s++) {
                struct slot *slot = &machine->slots[sm][s];
                if (!slot->tb && machine->next_tb < grid->tb_count)
                    start(machine, sm, slot);
                if (!slot->tb)
                    continue;
                for (uint32_t warp = 0; warp < grid->tb_warps; warp++)
                    run_warp(machine, sm, slot, warp);
                if (slot->waiting == slot->live)
                    slot->waiting = 0;
            }
        synchronise(machine);
        for (uint32_t sm = 0; sm < SMS; sm++)
            for (uint32_t s = 0; s < SLOTS; s++) {
                struct slot *slot = &machine->slots[sm][s];
                if (!slot->tb || slot->live)
                    continue;
                machine->operations->tb_end(slot->tb);
                slot->tb = NULL;
                machine->ended++;
            }
    }
}

#define WORK \
    KERNEL(".shared .align 4 .u32 s[256];\n.local .align 8 .b8 depot[32];\n" \
           "mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 256, %t;\n" /* global thread */ \
           "mul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %out, %rd1;\n" \
           "and.b32 %r3, %r2, 63;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd2, %out, %rd2;\n" \
           "atom.global.add.u32 %r4, [%rd2+60000], %t;\nred.global.max.u32 [%out+65000], %r2;\n" \
           "st.global.u32 [%rd1], %r2;\nst.global.u8 [%rd1+1], 7;\nld.global.u32 %r5, [%rd1];\nadd.u32 %r5, %r5, 3;\n" \
           "st.global.u32 [%rd1], %r5;\n" \
           "shl.b32 %r6, %t, 2;\nmov.u32 %r7, s;\nadd.u32 %r7, %r7, %r6;\nst.shared.u32 [%r7], %r5;\nbar.sync 0;\n" \
           "xor.b32 %r8, %r6, 124;\nmov.u32 %r9, s;\nadd.u32 %r8, %r8, %r9;\nld.shared.u32 %r10, [%r8];\n" \
           "st.local.u32 [depot+8], %r10;\nand.b32 %r11, %t, 3;\nmov.u32 %r12, 0;\n" \
           "LOOP:\nld.global.u32 %r13, [%rd1];\nadd.u32 %r13, %r13, %r12;\nst.global.u32 [%rd1], %r13;\n" \
           "add.u32 %r12, %r12, 1;\nsetp.le.u32 %p1, %r12, %r11;\n@%p1 bra LOOP;\n" \
           "ld.local.u64 %rd3, [depot+8];\ncvt.u32.u64 %r14, %rd3;\nld.global.u32 %r15, [%rd1];\nadd.u32 %r14, %r14, " \
           "%r15;\n" \
           "st.global.u32 [%rd1], %r14;")

static void test_same_as_functional(void **state)
{
    (void)state;
    struct runner one, two;
    struct corun_dim3 grid = {20, 1, 1}, block = {256, 1, 1};
    runner_load(&one, WORK);
    runner_load(&two, WORK);
    assert_int_equal(runner_run_grid(&one, "k", grid, block, 0, &one.out, 8, 0), CORUN_OK);
    struct corun_grid *launch = runner_launch(&two, "k", grid, block, 0, &two.out, 8);
    struct machine *machine = malloc(sizeof *machine);
    run(machine, launch);
    assert_memory_equal(runner_words(&one), runner_words(&two), one.out_bytes);
    assert_int_equal(machine->local_addresses, 20 * 256 * 2);
    assert_int_equal(machine->shared_accesses, 20 * 256 * 2);
    run(machine, launch); /* again, with recycled thread blocks; atomics add up */
    assert_int_equal(runner_words(&two)[15000], 2 * runner_words(&one)[15000]);
    free(machine);
    corun_grid_destroy(launch);
    runner_free(&one);
    runner_free(&two);
}

static struct corun_tb *begin(struct corun_grid *launch, uint32_t sm, const uint8_t **registers)
{
    struct corun_warp *warps[WARPS];
    struct corun_tb *tb = launch->operations->tb_begin(launch, 0, sm, warps);
    assert_non_null(tb);
    *registers = warps[0]->lanes.registers;
    return tb;
}

/* What a thread block has ended with is the next one's, whichever launch that is of: a thousand launches take the memory of one. */
static void test_storage_from_launch_to_launch(void **state)
{
    (void)state;
    struct runner runner;
    struct corun_dim3 one = {1, 1, 1}, block = {256, 1, 1};
    runner_load(&runner, WORK);
    struct corun_grid *first = runner_launch(&runner, "k", one, block, 0, &runner.out, 8);
    struct corun_grid *second = runner_launch(&runner, "k", one, block, 0, &runner.out, 8);
    struct corun_grid *small = runner_launch(&runner, "k", one, (struct corun_dim3){32, 1, 1}, 0, &runner.out, 8);
    const uint8_t *of_first, *of_second, *again, *elsewhere, *of_small;
    struct corun_grid *launches[] = {first, second, small};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(first->operations->attach(launches[i], SMS, CLOCK_KHZ), CORUN_OK);
    struct corun_tb *tb = begin(first, 0, &of_first), *other = begin(second, 0, &of_second);
    assert_ptr_not_equal(of_first, of_second); /* both are in flight */
    first->operations->tb_end(tb);
    tb = begin(second, 0, &again);
    assert_ptr_equal(again, of_first);
    first->operations->tb_end(tb);
    tb = begin(second, 1, &elsewhere); /* another SM may run on another thread of the host */
    assert_ptr_not_equal(elsewhere, of_first);
    first->operations->tb_end(tb);
    tb = begin(small, 0, &of_small);
    assert_ptr_not_equal(of_small, of_first);
    first->operations->tb_end(tb);
    first->operations->tb_end(other);
    for (uint32_t i = 0; i < 3; i++)
        corun_grid_destroy(launches[i]);
    runner_free(&runner);
}

/* Another launch finds nothing in it: WORK reads a word of local memory that it does not write. */
static void test_storage_is_clean(void **state)
{
    (void)state;
    struct runner one, two;
    struct corun_dim3 grid = {20, 1, 1}, block = {256, 1, 1};
    runner_load(&one, WORK);
    runner_load(&two, WORK);
    struct machine *machine = malloc(sizeof *machine);
    struct corun_grid *launches[] = {runner_launch(&two, "k", grid, block, 0, &two.out, 8),
                                     runner_launch(&two, "k", grid, block, 0, &two.out, 8)};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(runner_run_grid(&one, "k", grid, block, 0, &one.out, 8, 0), CORUN_OK);
        run(machine, launches[i]);
        assert_memory_equal(runner_words(&one), runner_words(&two), one.out_bytes);
    }
    free(machine);
    corun_grid_destroy(launches[0]);
    corun_grid_destroy(launches[1]);
    runner_free(&one);
    runner_free(&two);
}

/* Stores of an SM are seen there at once, elsewhere after the commit; the last SM in order wins. */
static void test_visibility(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(
        &runner,
        KERNEL("mov.u32 %r1, %smid;\nld.global.u32 %r2, [%out];\nadd.u32 %r2, %r2, 10;\nadd.u32 %r2, %r2, %r1;\n"
               "st.global.u32 [%out], %r2;\nld.global.u32 %r3, [%out];\nmad.wide.u32 %rd1, %r1, 4, %out;\n"
               "st.global.u32 [%rd1+1024], %r3;"));
    struct corun_grid *launch =
        runner_launch(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){1, 1, 1}, 0, &runner.out, 8);
    const struct corun_source_operations *operations = launch->operations;
    assert_int_equal(operations->attach(launch, 2, CLOCK_KHZ), CORUN_OK);
    struct corun_warp *warp[2];
    struct corun_tb *tb[2];
    struct corun_issue issue;
    for (uint32_t sm = 0; sm < 2; sm++)
        tb[sm] = operations->tb_begin(launch, sm, sm, &warp[sm]);
    for (uint32_t sm = 2; sm-- > 0;)
        do
            operations->issue(warp[sm], &issue);
        while (issue.outcome == CORUN_OUTCOME_NEXT);
    const uint32_t *words = runner_words(&runner);
    assert_int_equal(words[0], 0);
    assert_true(operations->dirty(launch, 0) && operations->dirty(launch, 1));
    operations->commit(launch, 0);
    operations->commit(launch, 1);
    assert_int_equal(words[0], 11);
    assert_int_equal(words[256], 10);
    assert_int_equal(words[257], 11);
    operations->tb_end(tb[0]);
    operations->tb_end(tb[1]);
    corun_grid_destroy(launch);
    runner_free(&runner);
}

/*
 * Atomics on their way: their thread, and their thread block, find them done; a store behind one stays; another SM sees nothing yet.
 * Every instruction is issued before the first atomic is performed.
 */
static void test_behind_atomics(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(
        &runner,
        KERNEL("mov.u32 %r1, %smid;\nmad.wide.u32 %rd1, %r1, 256, %out;\n"
               /* [0]: added to, then loaded; wider and narrower loads of the same word */
               "red.global.add.u32 [%out], 5;\nld.global.u32 %r2, [%out];\nst.global.u32 [%rd1+512], %r2;\n"
               "ld.global.v2.u32 {%r2, %r3}, [%out];\nst.global.v2.u32 [%rd1+520], {%r2, %r3};\n"
               "ld.global.u8 %r2, [%out];\nst.global.u32 [%rd1+516], %r2;\n"
               /* [8]: stored behind an exchange, whose result is the value before; then added to */
               "atom.global.exch.b32 %r4, [%rd1+32], 7;\nst.global.u32 [%rd1+32], 9;\n"
               "red.global.add.u32 [%rd1+32], 1;\nld.global.u32 %r2, [%rd1+32];\nst.global.u32 [%rd1+528], %r2;\n"
               /* [16]: compare-and-swap by the same warp */
               "atom.global.cas.b32 %r5, [%rd1+64], 0, 3;\nld.global.u32 %r2, [%rd1+64];\n"
               "st.global.u32 [%rd1+532], %r2;\n"));
    struct corun_grid *launch =
        runner_launch(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){1, 1, 1}, 0, &runner.out, 8);
    const struct corun_source_operations *operations = launch->operations;
    assert_int_equal(operations->attach(launch, 2, CLOCK_KHZ), CORUN_OK);
    uint32_t tickets[2][8], count[2] = {0};
    struct corun_tb *tb[2];
    for (uint32_t sm = 0; sm < 2; sm++) {
        struct corun_warp *warp;
        struct corun_issue issue;
        tb[sm] = operations->tb_begin(launch, sm, sm, &warp);
        do {
            uint32_t pc = operations->warp_pc(warp);
            operations->issue(warp, &issue);
            if (launch->code[pc].flags & CORUN_ATOMIC)
                tickets[sm][count[sm]++] = issue.ticket;
        } while (issue.outcome == CORUN_OUTCOME_NEXT);
        assert_int_equal(issue.outcome, CORUN_OUTCOME_EXIT);
    }
    for (uint32_t sm = 0; sm < 2; sm++)
        operations->commit(launch, sm);
    for (uint32_t sm = 2; sm-- > 0;)
        for (uint32_t i = 0; i < count[sm]; i++) {
            operations->perform(launch, sm, tickets[sm][i], 1);
            operations->complete(launch, sm, tickets[sm][i]);
        }
    const uint32_t *words = runner_words(&runner);
    assert_int_equal(words[0], 10);
    for (uint32_t sm = 0; sm < 2; sm++) {
        const uint32_t *own = words + 64 * sm, *out = own + 128;
        assert_int_equal(count[sm], 4);
        assert_int_equal(own[8], 10);
        assert_int_equal(own[16], 3);
        assert_int_equal(out[0], 5);
        assert_int_equal(out[1], 5);
        assert_int_equal(out[2], 5);
        assert_int_equal(out[3], 0);
        assert_int_equal(out[4], 10);
        assert_int_equal(out[5], 3);
        operations->tb_end(tb[sm]);
    }
    corun_grid_destroy(launch);
    runner_free(&runner);
}

static void test_fault_of_a_warp(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("mov.u64 %rd1, 64;\nst.global.u32 [%rd1], %t;"));
    struct corun_grid *launch =
        runner_launch(&runner, "k", (struct corun_dim3){9, 1, 1}, (struct corun_dim3){40, 1, 1}, 0, &runner.out, 8);
    const struct corun_source_operations *operations = launch->operations;
    assert_int_equal(operations->attach(launch, 1, CLOCK_KHZ), CORUN_OK);
    struct corun_warp *warps[2];
    struct corun_issue issue;
    struct corun_place place;
    operations->tb_begin(launch, 8, 0, warps); /* never ended: the launch cleans up */
    do
        operations->issue(warps[1], &issue);
    while (issue.outcome == CORUN_OUTCOME_NEXT);
    assert_int_equal(issue.outcome, CORUN_OUTCOME_FAULT);
    assert_string_equal(
        operations->fault(warps[1], &place),
        "kernel k, thread block (8,0,0), thread (32,0,0): store of 4 bytes at global address 0x40 is out of "
        "bounds: 64 bytes from a null pointer");
    assert_string_equal(place.file, "test.ptx");
    assert_int_equal(place.line, 20);
    corun_grid_destroy(launch);
    runner_free(&runner);
}

/* Nanoseconds follow from cycles and the machine's clock, to the last digit after hours, too. */
static void test_clocks(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("mov.u64 %rd1, %clock64;\nst.global.u64 [%out], %rd1;\nmov.u64 %rd2, %globaltimer;\n"
                                "st.global.u64 [%out+8], %rd2;\nmov.u32 %r1, %globaltimer_lo;\n"
                                "st.global.u32 [%out+16], %r1;\nmov.u32 %r2, %globaltimer_hi;\n"
                                "st.global.u32 [%out+20], %r2;"));
    struct corun_grid *launch =
        runner_launch(&runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){32, 1, 1}, 0, &runner.out, 8);
    const struct corun_source_operations *operations = launch->operations;
    assert_int_equal(operations->attach(launch, 1, CLOCK_KHZ), CORUN_OK);
    struct corun_warp *warp;
    struct corun_issue issue;
    uint64_t cycle = UINT64_C(90000000000000001); /* some 17000 hours */
    operations->tb_begin(launch, 0, 0, &warp);
    operations->warp_place(warp, 0, 1, &cycle);
    do
        operations->issue(warp, &issue);
    while (issue.outcome == CORUN_OUTCOME_NEXT);
    assert_int_equal(issue.outcome, CORUN_OUTCOME_EXIT);
    operations->commit(launch, 0);
    uint64_t seen[3], nanoseconds = UINT64_C(60000000000000000); /* and two thirds of one */
    assert_int_equal(corun_memory_read(runner.memory, runner.out, seen, sizeof seen), CORUN_OK);
    assert_int_equal(seen[0], cycle);
    assert_int_equal(seen[1], nanoseconds);
    assert_int_equal(seen[2], nanoseconds);
    corun_grid_destroy(launch);
    runner_free(&runner);
}

/* What differs by lane, read by some lanes only, into registers of both widths. */
static void test_special_registers_of_some_lanes(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words =
        runner_run(&runner,
                   KERNEL("mov.u32 %r1, 9;\nmov.u32 %r2, 9;\nmov.u32 %r3, 9;\nmov.u32 %r4, 9;\nmov.u64 %rd1, 9;\n"
                          "and.b32 %r5, %t, 2;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 mov.u32 %r1, %tid.x;\n"
                          "@%p1 mov.u32 %r2, %laneid;\n@%p1 mov.u32 %r3, %lanemask_ge;\n@%p1 mov.u32 %r4, %ntid.x;\n"
                          "@%p1 mov.u64 %rd1, %clock64;\nmul.wide.u32 %rd2, %t, 20;\nadd.u64 %rd2, %out, %rd2;\n"
                          "st.global.u32 [%rd2], %r1;\nst.global.u32 [%rd2+4], %r2;\nst.global.u32 [%rd2+8], %r3;\n"
                          "st.global.u32 [%rd2+12], %r4;\ncvt.u32.u64 %r6, %rd1;\nst.global.u32 [%rd2+16], %r6;"),
                   48);
    for (uint32_t t = 0; t < 48; t++, words += 5) {
        uint32_t lane = t % 32;
        bool some = t & 2;
        assert_int_equal(words[0], some ? t : 9);
        assert_int_equal(words[1], some ? lane : 9);
        assert_int_equal(words[2], some ? UINT32_MAX << lane : 9);
        assert_int_equal(words[3], some ? 48 : 9);
        assert_true(some ? words[4] > 9 : words[4] == 9);
    }
    runner_free(&runner);
}

static void test_description_of_instructions(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, HEAD
                ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %a, %b;\n.reg .f64 %d;\n.reg .f32 %f, %g;\n.reg .pred "
                "%p;\n.reg .b32 %r;\n"
                "ld.param.u64 %a, [p];\nld.global.v2.f32 {%f, %g}, [%a];\nfma.rn.f32 %f, %f, %g, %g;\n"
                "cvt.f64.f32 %d, %f;\nsetp.gt.f64 %p, %d, 0d0000000000000000;\n@%p st.global.f64 [%a+8], %d;\n"
                "rsqrt.approx.f32 %g, %f;\natom.global.add.f32 %g, [%a], %g;\nred.global.add.f32 [%a], %g;\n"
                "membar.gl;\nbar.sync 4;\nld.global.nc.f32 %g, [%a];\nst.volatile.global.f32 [%a], %g;\nret;\n}\n");
    struct corun_grid *launch =
        runner_launch(&runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){32, 1, 1}, 0, &runner.out, 8);
    static const struct {
        uint8_t unit, operation, space, bytes, sources, destinations;
        uint16_t flags;
    } rows[] = {
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_CONSTANT, 8, 0, 2, CORUN_LOAD | CORUN_UNIFORM_LOAD | CORUN_PARAMETER},
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_GLOBAL, 8, 2, 2, CORUN_LOAD},
        {CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 0, 0, 2, 1, 0},
        {CORUN_UNIT_FP64, CORUN_OPERATION_ADD, 0, 0, 1, 2, 0},
        {CORUN_UNIT_FP64, CORUN_OPERATION_ADD, 0, 0, 2, 1, 0},
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_GLOBAL, 8, 5, 0, CORUN_STORE},
        {CORUN_UNIT_SFU, CORUN_OPERATION_ADD, 0, 0, 1, 1, 0},
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_GLOBAL, 4, 3, 1, CORUN_ATOMIC},
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_GLOBAL, 4, 3, 0, CORUN_ATOMIC | CORUN_REDUCTION},
        {CORUN_UNIT_MEMORY, 0, 0, 0, 0, 0, CORUN_FENCE},
        {CORUN_UNIT_CONTROL, 0, 0, 0, 0, 0, CORUN_BARRIER},
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_TEXTURE, 4, 2, 1, CORUN_LOAD},
        {CORUN_UNIT_MEMORY, 0, CORUN_SPACE_GLOBAL, 4, 3, 0, CORUN_STORE | CORUN_BYPASS_L1},
        {CORUN_UNIT_CONTROL, 0, 0, 0, 0, 0, CORUN_BRANCH | CORUN_EXIT},
    };
    assert_int_equal(launch->code_length, sizeof rows / sizeof *rows);
    assert_int_equal(launch->barrier_count, 5);
    assert_int_equal(launch->predicate_slots, 1 + 4); /* scratch ones of the executor included */
    assert_int_equal(launch->code[4].destinations[0], launch->register_slots);
    assert_int_equal(launch->code[5].sources[0], launch->register_slots); /* the guard */
    for (uint32_t i = 0; i < launch->code_length; i++) {
        const struct corun_instruction *instruction = &launch->code[i];
        assert_int_equal(instruction->line, 11 + i);
        assert_int_equal(instruction->unit, rows[i].unit);
        assert_int_equal(instruction->operation, rows[i].operation);
        assert_int_equal(instruction->space, rows[i].space);
        assert_int_equal(instruction->access_bytes, rows[i].bytes);
        assert_int_equal(instruction->flags, rows[i].flags);
        assert_int_equal(instruction->source_count, rows[i].sources);
        assert_int_equal(instruction->destination_count, rows[i].destinations);
    }
    corun_grid_destroy(launch);
    runner_free(&runner);
}

/* Which atomics of shared memory ptxas writes as loops, and how many instructions a turn of them has. */
static void loops_of_shared_memory_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t turn;
    } rows[] = {
        {"red.shared.add.u32 [words], %r1;", 0},
        {"atom.shared.exch.b64 %rd1, [words], %rd1;", 0},
        {"atom.shared.cas.b64 %rd1, [words], %rd1, %rd1;", 0},
        {"red.shared.inc.u32 [words], %r1;", 0},
        {"red.global.add.f32 [there], %f1;", 0},
        {"red.shared.add.f32 [words], %f1;", 5},
        {"red.shared.add.noftz.f16x2 [words], %r1;", 5},
        {"red.shared.add.noftz.f16 [words], %h1;", 6},
        {"atom.shared.add.f64 %d1, [words], %d1;", 6},
        {"red.shared.add.u64 [words], %rd1;", 7},
        {"red.shared.xor.b64 [words], %rd1;", 7},
        {"red.shared.max.s64 [words], %rd1;", 8},
        {"red.add.f32 [%rd1], %f1;", 5}, /* of generic addresses: if they lead there */
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 ".version 7.0\n.target sm_75\n.address_size 64\n.global .f32 there;\n.entry k(.param .u64 p) {\n"
                 ".shared .align 8 .b8 words[64];\n.reg .b16 %%h<2>;\n.reg .b32 %%r<2>;\n.reg .b64 %%rd<2>;\n"
                 ".reg .f32 %%f<2>;\n.reg .f64 %%d<2>;\n%s\nst.shared.b64 [words+8], %%rd1;\nret;\n}\n",
                 rows[i].text);
        struct runner runner;
        runner_load(&runner, text);
        struct corun_grid *launch =
            runner_launch(&runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){32, 1, 1}, 0, &runner.out, 8);
        const struct corun_instruction *found = NULL;
        for (uint32_t pc = 0; pc < launch->code_length && !found; pc++)
            found = launch->code[pc].flags & CORUN_ATOMIC ? &launch->code[pc] : NULL;
        if (found)
            assert_int_equal(found->flags & CORUN_COMPARED ? found->further + 1 : 0, rows[i].turn);
        else
            fail();
        corun_grid_destroy(launch);
        runner_free(&runner);
    }
}

struct touched {
    uint64_t address;
    uint32_t bytes;
    bool store;
};

struct touches {
    struct touched list[256];
    uint32_t count;
};

static void note_touch(void *user, uint64_t address, uint32_t bytes, bool store)
{
    struct touches *touches = user;
    assert_true(touches->count < 256);
    touches->list[touches->count++] = (struct touched){address, bytes, store};
}

struct stores {
    uint64_t bytes;
};

static void note_store(void *user, uint64_t address, uint32_t bytes, bool store)
{
    struct stores *stores = user;
    assert_true(address != 0);
    stores->bytes += store ? bytes : 0;
}

/* One place for all lanes, a row, some lanes of a row, and every lane elsewhere: the first time round memory is looked up, the second it is known. */
static void test_what_a_run_without_timing_touches(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("xor.b32 %r2, %t, 1;\nmul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %out, %rd1;\n"
                                "setp.lt.u32 %p1, %t, 8;\nmov.u32 %r3, 0;\n"
                                "LOOP:\nld.global.u32 %r1, [%out+64];\nst.global.u32 [%mine], %r1;\n"
                                "@%p1 st.global.u32 [%mine+256], %r1;\nld.global.u32 %r4, [%rd1];\n"
                                "st.global.u32 [%rd1+512], %r4;\n"
                                "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 2;\n@%p2 bra LOOP;"));
    struct corun_grid *grid =
        runner_launch(&runner, "k", (struct corun_dim3){2, 1, 1}, (struct corun_dim3){32, 1, 1}, 0, &runner.out, 8);
    struct touches touches = {0};
    struct corun_untimed how = {.count = 2, .touch_from = 1, .touch = note_touch, .touch_user = &touches};
    struct corun_untimed_result result;
    assert_int_equal(grid->operations->run_untimed(grid, &how, runner.list, &result), CORUN_OK);
    assert_int_equal(touches.count, 2 * (3 + 2 * 32)); /* of the second thread block only */
    for (uint32_t turn = 0; turn < 2; turn++) {
        const struct touched *touched = touches.list + turn * (3 + 2 * 32);
        const struct touched first[] = {
            {runner.out + 64, 4, false}, {runner.out, 128, true}, {runner.out + 256, 32, true}};
        for (uint32_t i = 0; i < 3 + 2 * 32; i++) {
            uint32_t lane = (i - 3) % 32;
            struct touched other = {runner.out + (i < 3 + 32 ? 0 : 512) + 4 * (uint64_t)(lane ^ 1u), 4, i >= 3 + 32};
            struct touched expected = i < 3 ? first[i] : other;
            assert_int_equal(touched[i].address, expected.address);
            assert_int_equal(touched[i].bytes, expected.bytes);
            assert_int_equal(touched[i].store, expected.store);
        }
    }
    corun_grid_destroy(grid);
    runner_free(&runner);
}

/* Two places: the first loads of both thread blocks come before the first store, and the third one begins where one has ended. */
static void test_thread_blocks_side_by_side(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd1, %r1, 512;\nadd.u64 %rd1, %mine, %rd1;\n"
                                "ld.global.u32 %r2, [%rd1];\nld.global.u32 %r3, [%rd1+128];\n"
                                "add.u32 %r4, %r2, %r3;\nst.global.u32 [%rd1+256], %r4;"));
    struct corun_grid *grid =
        runner_launch(&runner, "k", (struct corun_dim3){3, 1, 1}, (struct corun_dim3){32, 1, 1}, 0, &runner.out, 8);
    for (uint32_t places = 1; places <= 2; places++) {
        struct touches touches = {0};
        struct corun_untimed how = {.count = 3, .places = places, .touch = note_touch, .touch_user = &touches};
        struct corun_untimed_result result;
        assert_int_equal(grid->operations->run_untimed(grid, &how, runner.list, &result), CORUN_OK);
        static const uint64_t offsets[][9] = {
            {0, 128, 256, 512, 512 + 128, 512 + 256, 1024, 1024 + 128, 1024 + 256},
            {0, 128, 512, 512 + 128, 256, 512 + 256, 1024, 1024 + 128, 1024 + 256},
        };
        assert_int_equal(touches.count, 9);
        for (uint32_t i = 0; i < 9; i++) {
            assert_int_equal(touches.list[i].address - runner.out, offsets[places - 1][i]);
            assert_int_equal(touches.list[i].store, offsets[places - 1][i] % 512 == 256);
        }
    }
    corun_grid_destroy(grid);
    runner_free(&runner);
}

/* The first two wait for the last one, which has no place at first; and where lanes leave gaps, nothing is stored. */
static void test_one_that_waits_beside_others(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                KERNEL("mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 2;\n@%p1 st.global.u32 [%out+1024], 1;\n"
                       "LOOP:\nld.volatile.global.u32 %r2, [%out+1024];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra LOOP;\n"
                       "setp.ne.u32 %p3, %t, 1;\n@%p3 st.global.u32 [%mine], %r2;"));
    struct corun_grid *grid =
        runner_launch(&runner, "k", (struct corun_dim3){3, 1, 1}, (struct corun_dim3){4, 1, 1}, 0, &runner.out, 8);
    struct stores stores = {0};
    struct corun_untimed how = {
        .count = 3, .places = 2, .watchdog = 10000000, .touch = note_store, .touch_user = &stores};
    struct corun_untimed_result result;
    assert_int_equal(grid->operations->run_untimed(grid, &how, runner.list, &result), CORUN_OK);
    assert_int_equal(stores.bytes, 4 + 3 * 3 * 4);
    corun_grid_destroy(grid);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_functional),
        cmocka_unit_test(test_storage_from_launch_to_launch),
        cmocka_unit_test(test_storage_is_clean),
        cmocka_unit_test(test_visibility),
        cmocka_unit_test(test_behind_atomics),
        cmocka_unit_test(test_fault_of_a_warp),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_special_registers_of_some_lanes),
        cmocka_unit_test(test_description_of_instructions),
        cmocka_unit_test(loops_of_shared_memory_are_known),
        cmocka_unit_test(test_what_a_run_without_timing_touches),
        cmocka_unit_test(test_thread_blocks_side_by_side),
        cmocka_unit_test(test_one_that_waits_beside_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
