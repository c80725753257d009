/* SPDX-License-Identifier: MIT */
/*
 * How a block of operations becomes machine code (native.h). Private to src/isa/native_*.c.
 *
 * The register file of a warp is seen in parts of 64 bytes: a register of 32 bits has two, one of 64 bits four. A part that code works with is
 * in one of the 32 vector registers; what was computed is stored to the warp when the vector register is wanted for another part, before a
 * function of C is called, and at the end of the block. So a part that is written twice in a block is stored once.
 *
 *     rbx  registers of the warp          r13  struct native_frame
 *     rbp  constants of the kernel        r14  struct executor_sm
 *     r12  predicates of the warp         r15  struct native_numbers
 *     rax, rcx, rdx and r8 to r11, masks k1 to k7: at hand within an operation
 */
#ifndef CORUN_ISA_NATIVE_MAKER_H
#define CORUN_ISA_NATIVE_MAKER_H

#include "base/vector.h"
#include "isa/executor.h"
#include "isa/native.h"
#include "isa/native_assembler.h"
#include "isa/native_frame.h"

#define PART_BYTES 64u
#define VECTOR_REGISTERS 32u
#define NO_PART INT32_MIN
#define MOST_JUMPS 10u
#define MASK_ALL 6u
#define MASK_PART 7u

#define ALL_REGISTERS ZYDIS_REGISTER_RBX
#define ALL_CONSTANTS ZYDIS_REGISTER_RBP
#define ALL_PREDICATES ZYDIS_REGISTER_R12
#define FRAME ZYDIS_REGISTER_R13
#define OWN_SM ZYDIS_REGISTER_R14
#define NUMBERS ZYDIS_REGISTER_R15

/* Vectors that code needs. */
struct native_numbers {
    uint64_t strides64[4][CORUN_WARP_LANES]; /* [log2 of bytes][lane] → bytes before it */
    uint32_t strides32[4][CORUN_WARP_LANES];
    uint32_t nan[16];    /* also the largest integer with a sign, and all bits but the sign */
    uint32_t sign[16];   /* also the smallest integer */
    uint32_t beyond[16]; /* 2^31 as a float */
    double one[8], half[8];
    uint32_t bytes[16]; /* [lane] → bytes before it, in each byte */
};

/* What a vector register holds. */
struct held {
    int32_t part;  /* of the registers; below 0: -1 - slot of the constants; NO_PART: nothing */
    bool dirty;    /* newer than the warp's */
    bool pinned;   /* the operation at hand needs it */
    uint32_t used; /* when */
};

/* Where a load or store goes when its short way does not do: behind the block's code. */
struct detour {
    struct held held[VECTOR_REGISTERS]; /* where it was left */
    size_t apart[2], far[MOST_JUMPS];   /* jumps to it: lanes are not in rows, and all others */
    uint32_t apart_count, far_count;
    uint32_t address[4], first, expected; /* vector registers: addresses, one of them everywhere, and one to use */
    uint32_t result[4], results;          /* vector registers that it has to fill, of a load */
    uint32_t value[4];                    /* what is stored */
    size_t loaded, back; /* where results are still those of all lanes, and where the operation is done */
    uint32_t operation;
};

struct block_maker {
    struct assembler *to;
    const struct corun_kernel *kernel;
    const bool *meets;                 /* [operation]: lanes come together there */
    const struct native_block *blocks; /* of the kernel, for these lanes: [operation] */
    bool masked;                       /* for lanes that are not the whole warp */
    uint32_t first, at;                /* operations: the block's first one, and the one at hand */
    size_t exit, carry_out; /* code that leaves all blocks, with the next operation in ecx; that which detours call */
    struct held held[VECTOR_REGISTERS];
    uint32_t clock;
    VECTOR(struct detour) detours;
};

/* The part of an operand: a slot, or OPERAND_CONSTANT | slot, all parts of which are the same. */
static inline int32_t part_of(uint16_t source, uint32_t part)
{
    return source & OPERAND_CONSTANT ? -1 - (int32_t)(source & ~OPERAND_CONSTANT) : (int32_t)(2u * source + part);
}

/* A vector register with that part, which stays there for this operation. */
uint32_t maker_get(struct block_maker *maker, int32_t part);
/* A vector register for something new, which stays for this operation. */
uint32_t maker_new(struct block_maker *maker);
/* What is in that vector register is the part's new value. */
void maker_bind(struct block_maker *maker, uint32_t vector, int32_t part);
/* The operation at hand is over. */
void maker_unpin(struct block_maker *maker);
/* Stores what is newer than the warp's; all stays at hand. */
void maker_store(struct block_maker *maker);
/* The same of one operand of so many parts, if vector registers hold what `held` says. */
void maker_store_operand(struct block_maker *maker, const struct held *held, uint16_t source, uint32_t parts);
/* Loads a part into that vector register; what the registers hold is not looked at. */
void maker_load(struct block_maker *maker, uint32_t vector, int32_t part);
/* Nothing is at hand any more. */
void maker_forget(struct block_maker *maker);

/* Do other lanes than those of the operation keep what they have? */
bool maker_is_masked(const struct block_maker *maker, const struct operation *op);
/* The lanes of an operation, if it is masked, into eax. */
void maker_lanes_to_eax(struct block_maker *maker, const struct operation *op);
/* Counts the threads of an operation that has a guard. eax is lost. */
void maker_count_guard(struct block_maker *maker, const struct operation *op);
/* The part of a register that lanes of `wide` elements have, from all lanes in MASK_ALL, into MASK_PART. */
void maker_cut_mask(struct block_maker *maker, bool wide, uint32_t part);
/* `vector` has results for all lanes: as a register's part it is to keep `old` where MASK_ALL has no lane. */
void maker_blend(struct block_maker *maker, bool wide, uint32_t part, uint32_t vector, uint32_t old);

/* The operation by its function: what there is no code for. */
void maker_call_function(struct block_maker *maker, const struct operation *op);
/* The same by executor_carry_out. What is newer than the warp's has to be stored before; vector registers are lost, or kept. */
void maker_call_executor(struct block_maker *maker, uint32_t at, bool keep);
/* The block is over after its operations up to `end`: counts them, and goes on there. */
void maker_end(struct block_maker *maker, uint32_t end);
/* The same with a branch at `end`. */
void maker_end_with_branch(struct block_maker *maker, uint32_t end);

/* An operation over lanes by code. False: there is none for it, and nothing was made. */
bool native_make_lanes(struct block_maker *maker, const struct operation *op);
/* A load or store. False when out of memory. */
bool native_make_access(struct block_maker *maker, const struct operation *op);
void native_make_detour(struct block_maker *maker, const struct detour *detour);

#endif
