/* SPDX-License-Identifier: MIT */
/*
 * What each operation computes over the 32 lanes of a warp.
 *
 * lanes_select names the function for an instruction; the decoder fills in the operand slots. The general rule:
 *
 *   destination         <- operands[0]
 *   source[0], [1], ..  <- operands[1], [2], .. in the order written
 *   predicate operands  -> wherever they stand, they are left out of that order and go to predicate_out / predicate_in
 *
 * Exceptions and details (P is a predicate):
 *
 *   setp P|Q, a, b, C           source a b; predicate_out[0] P, [1] Q; predicate_in C, predicate_in_negated for !C
 *   set d, a, b, C              destination d; source a b; predicate_in C
 *   selp d, a, b, P             source a b; predicate_in P
 *   testp P, a                  source a; predicate_out[0] P
 *   isspacep.space P, a         source a, first address of the window (constant), bytes of the window (constant), all as wide
 *                               as a; predicate_out[0] P. Set op->width_bytes (4 or 8) before lanes_select.
 *   and/or/xor/not/mov.pred     P, A, B: predicate_out[0] P; source[0], source[1] are predicate NUMBERS (not slots), or
 *                               PREDICATE_FALSE / PREDICATE_TRUE for immediates 0 / not 0
 *   add.cc, addc, mad.cc, ..    the carry flag of the thread is a predicate that the decoder reserves: predicate_out[0] if the
 *                               instruction has .cc, predicate_in if it is addc, subc or madc; NO_PREDICATE otherwise. Set by a
 *                               difference: nothing was borrowed
 *   shfl[.sync] d|P, a, b, c, m source a b c (m may be left out); predicate_out[0] P
 *   vote.*.pred P, A, m         predicate_in A; predicate_out[0] P; source m (only with .sync)
 *   vote.ballot d, A, m         predicate_in A; destination d; source m (only with .sync)
 *   activemask d                no source
 *   vadd4.u32.s32.u32 d, a, b, c and their like: source a b c; what they do is put into op->variant here
 *   vadd.u32.s32.u32 d, a, b, c and their like, vset2, vset4: source a b c (c may be left out); what they do is put into op->offset here
 *   cvt.pack.* d, a, b, c       source a b c (c may be left out); the part is put into op->variant here
 *   add3 d, a, b, c            source a b c
 *   lop3 d, a, b, c, lut        source a b c; the table is put into op->variant here
 *   mov.b64 d, {a, b, ..}       source a b .. (pack: operands[1] is a vector of 2 or 4)
 *   mov.b64 {a, b, ..}, s       destination a; extra[0], [1], [2] the other elements; source s. LANES_DISCARD for `_`.
 *   cvta.space d, a             source a, first generic address of the window (constant as wide as a): an addition
 *   cvta.to.space d, a          the same: a subtraction
 *   mov from a special register, a variable's address or a function: not here
 *
 * predicate_in may be PREDICATE_FALSE or PREDICATE_TRUE too. Registers wider than the type of the instruction: results of 8-
 * and 16-bit operations are zero-extended to 32 bits, those of cvt.s8 and cvt.s16 sign-extended; mov, selp and slct hand on what is above. An operand of up to 32 bits is read
 * from and written to one slot, so that a 64-bit register in such a place needs a conversion before (cvt.u32.u64) or after
 * (cvt.s64.s32 if the type is signed, else cvt.u64.u32).
 *
 * Overlap: a destination may be a source of the same width. Any other overlap of destination and sources is right too, except
 * that a destination must not share some but not all of its lanes' storage with a source of the same width.
 *
 * lanes_select writes op->run, op->variant, for set op->extra[3], and op->offset as said above; nothing else.
 *
 * What PTX leaves open, and what happens here: division and remainder by zero give all ones; the result of a NaN operand of
 * f64 arithmetic is 0xfff8000000000000 (f32: 0x7fffffff, as documented); shfl from a lane that is not active reads the
 * register of that lane.
 */
#ifndef CORUN_ISA_LANES_H
#define CORUN_ISA_LANES_H

#include "isa/operation.h"
#include "ptx/module.h"

#define LANES_DISCARD 0xffffu
#define PREDICATE_TRUE 0xfffeu
#define PREDICATE_FALSE 0xfffdu

/* op->variant of operations on two halves or four bytes at once; the kinds are in the order of opcodes.def. */
enum video_variant {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_MEAN,
    VIDEO_DIFFERENCE,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_KIND = 7,
    VIDEO_SIGNED = 1 << 3, /* the result */
    VIDEO_A_SIGNED = 1 << 4,
    VIDEO_B_SIGNED = 1 << 5,
    VIDEO_SATURATE = 1 << 6,
    VIDEO_SUM = 1 << 7
};

/* op->variant of cvt.pack: bits of a part, and whether the part is signed. */
enum pack_variant { PACK_BITS = 31, PACK_SIGNED = 32 };

/* Builds of the same functions for different processors; they give the same bits. */
enum lanes_level {
    LANES_BASELINE, /* whatever the compiler was told to build for */
    LANES_V3,       /* x86-64-v3: AVX2, FMA, BMI; the same as the baseline where that was not built */
    LANES_V4,       /* x86-64-v4: AVX-512; the same as the one before where that was not built */
    LANES_LEVEL_COUNT
};

/* The best level that this processor runs. */
enum lanes_level lanes_level_best(void);

/* NULL if the combination does not exist or is not supported, or is not computed over lanes (memory, control). */
lane_function lanes_select(const struct ptx_instruction *instruction, struct operation *op);
lane_function lanes_select_at(enum lanes_level level, const struct ptx_instruction *instruction, struct operation *op);

#endif
