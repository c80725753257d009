/* SPDX-License-Identifier: MIT */
/*
 * The machine-code model: what an assembler makes of PTX, as PTX.
 *
 * PTX is not what hardware runs. The vendor's assembler puts loads in front of what does not need them, folds additions into addresses, takes
 * constants and copies out, fuses integer products with sums, and replaces short branches by predicates. Run in the order in which a
 * compiler wrote it, a kernel waits for every load in turn. These rewrites are made here on the parsed module, before it is decoded:
 *
 *     ptx_parse ─► struct ptx_module ─► assemble_module ─► the same module, other instructions ─► analyses, decoding (src/isa)
 *
 * Each is one that assemblers visibly make, has a switch, and leaves every result as it was, bit for bit. No floating-point operation is
 * reassociated or dropped, and what is contracted rounds as often as before. Lines of the PTX stay with the instructions. What is removed is counted in the instruction of the
 * same block that stands for it (ptx_instruction.merged), so that thread instructions of the PTX can still be told.
 *
 * Registers decide occupancy first: the scheduler may use as many as the next step of occupancy leaves to the source order.
 */
#ifndef CORUN_ASSEMBLE_ASSEMBLE_H
#define CORUN_ASSEMBLE_ASSEMBLE_H

#include "ptx/module.h"

/* R(NAME, "name", "what it does") */
#define ASSEMBLE_REWRITES(R) \
    R(COPIES, "copies", \
      "registers that copy another or hold an immediate give way to what they hold; what nobody reads goes") \
    R(ADDRESSES, "addresses", "sums with immediates and addresses of shared variables fold into loads and stores") \
    R(FUSE, "fuse", "integer multiply-adds and logic functions of three operands") \
    R(PREDICATE, "predicate", "short forward branches become predicates") \
    R(SCHEDULE, "schedule", "list scheduling of each basic block: what is waited for longest goes first") \
    R(COMBINE, "combine", "loads of neighbouring words of shared memory become one, before blocks are scheduled") \
    R(UNROLL, "unroll", "short loops that count run four turns at a time") \
    R(SUMS, "sums", "sums of three integers, and of one that is shifted by a constant, are one instruction") \
    R(GATHER, "gather", "integer atomics whose lanes all go to one address are one operation of their warp") \
    R(SPARE, "spare", "what is scheduled takes no registers that save no cycle") \
    R(OCCUPANCY, "occupancy", \
      "what is scheduled takes the registers of full occupancy, or of the next step above those of the source order") \
    R(CONTRACT, "contract", \
      "a product and a sum of floats that may be contracted are one instruction, and negations go") \
    R(HALVES, "halves", "integers of 64 bits are as many instructions as their halves that somebody wants need")

enum assemble_rewrite_bit {
#define ASSEMBLE_BIT(name, word, meaning) ASSEMBLE_BIT_##name,
    ASSEMBLE_REWRITES(ASSEMBLE_BIT)
#undef ASSEMBLE_BIT
};
enum assemble_rewrite {
    ASSEMBLE_NOTHING = 0,
#define ASSEMBLE_MASK(name, word, meaning) ASSEMBLE_##name = 1 << ASSEMBLE_BIT_##name,
    ASSEMBLE_REWRITES(ASSEMBLE_MASK)
#undef ASSEMBLE_MASK
#define ASSEMBLE_EACH(name, word, meaning) | ASSEMBLE_##name
        ASSEMBLE_EVERYTHING = 0 ASSEMBLE_REWRITES(ASSEMBLE_EACH)
#undef ASSEMBLE_EACH
};

/*
 * Rewrites all functions of a module, in place: to be called by its only owner, before anybody else sees it. `rewrites` is a mask of
 * enum assemble_rewrite. OK or MEMORY; after MEMORY the module is whole, but some functions may be as they were.
 */
enum corun_status assemble_module(struct ptx_module *module, uint32_t rewrites);
/*
 * What they make of one function with a body, as another one, in `arena`: for whoever asks what machine code it would have. `function` and its variables stay as they are,
 * also in their alignment. OK or MEMORY.
 */
enum corun_status assemble_apart(const struct ptx_function *function, uint32_t rewrites, struct arena *arena,
                                 struct ptx_function *made);

#endif
