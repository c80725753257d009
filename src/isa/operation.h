/* SPDX-License-Identifier: MIT */
/*
 * The decoded form of one instruction: fixed size, no pointers into the module, executed over the 32 lanes of a warp.
 *
 * Register file of a warp: slots of 32 lanes x 32 bits, lane-contiguous (128 bytes). A 64-bit value takes two consecutive
 * slots, read as 32 x uint64_t (256 bytes). 8- and 16-bit values live in a 32-bit lane; only their low bits have a meaning, so an
 * operation on them takes the low bits of its sources and writes its result zero-extended. Predicates are one bit per
 * lane in a uint32_t. Immediates live in a constant pool of the kernel as broadcast lanes, so that an operand is always
 * "32 lanes in memory" and no lane function has a variant for immediates.
 */
#ifndef CORUN_ISA_OPERATION_H
#define CORUN_ISA_OPERATION_H

#include "corun/source.h"

#define SLOT_BYTES 128u
#define OPERAND_CONSTANT 0x8000u /* operand is a slot of the constant pool */
#define NO_PREDICATE 0xffffu

struct lanes {
    uint8_t *registers; /* 64-byte aligned */
    uint32_t *predicates;
    const uint8_t *constants; /* 64-byte aligned */
};

struct operation;

/*
 * Computes an operation for the lanes in `mask` (never 0); other lanes of the destination keep their value. A lane function
 * touches nothing but registers and predicates. Full masks have a fast path.
 */
typedef void (*lane_function)(const struct operation *op, const struct lanes *lanes, uint32_t mask);

enum operation_kind {
    OPERATION_LANES,            /* `run` does everything */
    OPERATION_MEETING,          /* the same, once all lanes that its mask names have come (isa/meeting.h) */
    OPERATION_SPECIAL_REGISTER, /* mov from a special register */
    OPERATION_LOAD,
    OPERATION_STORE,
    OPERATION_ATOMIC,
    OPERATION_BULK, /* a bulk copy or reduction; op->target: what it is about (isa/bulk.h) */
    OPERATION_TEXTURE,
    OPERATION_SURFACE,
    OPERATION_TEXTURE_QUERY, /* op->extend: enum texture_query */
    OPERATION_MATRIX,        /* mma; op->target: what it is about (isa/matrix.h) */
    OPERATION_MATRIX_TRANSPOSE,
    OPERATION_MATRIX_ADDRESS, /* of one element of a fragment */
    OPERATION_MATRIX_LOAD,    /* rows of tiles, and then their elements to the lanes */
    OPERATION_MATRIX_STORE,
    OPERATION_BRANCH,
    OPERATION_BRANCH_TABLE,
    OPERATION_CALL,
    OPERATION_RETURN,
    OPERATION_EXIT,
    OPERATION_BARRIER,
    OPERATION_CLUSTER, /* what a kernel asks about its cluster; op->variant: enum cluster_question */
    OPERATION_CLUSTER_ARRIVE,
    OPERATION_CLUSTER_WAIT,
    OPERATION_FENCE,
    OPERATION_TRAP,
    OPERATION_PRINT,         /* vprintf */
    OPERATION_DEVICE_LAUNCH, /* what kernels need to launch kernels; op->variant: enum device_operation */
    OPERATION_STACK,         /* alloca and its like (isa/stack.h) */
    OPERATION_NOTHING
};

/* What a meeting's first source and its destination are. */
#define MEETING_WIDE 1u   /* the source has 64 bits */
#define MEETING_RESULT 2u /* there is a destination, of 32 bits */

/* What a plain access moves from and to each lane; those below 32 bits are extended. WORDS: several of 32 bits. */
enum element { ELEMENT_NONE, ELEMENT_U8, ELEMENT_S8, ELEMENT_U16, ELEMENT_S16, ELEMENT_32, ELEMENT_64, ELEMENT_WORDS };

/* One line of the host's cache (decode.c aligns a kernel's): warps that run different ones push each other's out. */
struct operation {
    lane_function run;
    int64_t offset;            /* memory: address offset; branch: branch_table_targets() and branch_leavings() */
    uint32_t target;           /* branch, call: operation index */
    uint32_t reconverge;       /* branch: operation index of where lanes meet that it parts, UINT32_MAX if nowhere */
    uint16_t destination;      /* slot */
    uint16_t source[4];        /* slot, or OPERAND_CONSTANT | constant slot */
    uint16_t predicate_out[2]; /* setp p|q, shfl d|p; NO_PREDICATE if absent */
    uint16_t predicate_in;     /* selp, setp with a boolean operand, addc-like; NO_PREDICATE if absent */
    uint16_t guard;            /* NO_PREDICATE: unconditional */
    uint16_t extra[4];         /* vector elements after the first, or further operands */
    int16_t merged;            /* as of struct corun_instruction */
    uint16_t
        straight; /* operations over lanes from here on, this one counted, before control may go elsewhere or lanes may meet */
    uint8_t apart; /* as straight, for lanes that are not the whole warp: up to the first meeting, 255 at most */
    uint8_t guard_negated;
    uint8_t predicate_in_negated;
    uint8_t kind;    /* enum operation_kind */
    uint8_t variant; /* what `run` or the executor still has to know: comparison, boolean operator, lut, mode, … */
    uint8_t width_bytes; /* memory: per element */
    uint8_t vector;      /* memory: elements per lane, 1, 2 or 4; a meeting: sources, of which the last is the mask */
    uint8_t space;       /* memory: enum corun_space */
    uint8_t extend;      /* memory: loads narrower than their register: 0 zero, 1 sign; a meeting: MEETING_… */
    uint8_t quick;       /* memory: enum element of a plain access (access_quick.c); ELEMENT_NONE: it is not plain */
};
_Static_assert(sizeof(struct operation) == 64, "one line of the host's cache");

/*
 * Of a branch on some ways of which lanes leave places at which others wait for them (ptx/convergence.h). For each way, the targets in their order and then the
 * next operation: how many places are left. Then the places from the nearest one on, operation indices, and UINT32_MAX: whoever leaves n of them
 * meets others at the one behind those.
 */
static inline uint32_t branch_leavings(const struct operation *op)
{
    return (uint32_t)((uint64_t)op->offset >> 32); /* index into the kernel's `leavings`; 0: nobody leaves one */
}

static inline uint32_t branch_table_targets(const struct operation *op)
{
    return (uint32_t)op->offset;
}

static inline void branch_set(struct operation *op, uint32_t table_targets, uint32_t leavings)
{
    op->offset = (int64_t)((uint64_t)leavings << 32 | table_targets);
}

static inline uint32_t branch_ways(const struct operation *op)
{
    return op->kind == OPERATION_BRANCH ? 2 : branch_table_targets(op) + 1;
}

/* Index of the first place. */
static inline uint32_t branch_places(const struct operation *op)
{
    return branch_leavings(op) + branch_ways(op);
}

/* [operation] in `meets`, which has a row for each of `count`: may lanes wait there for others that a branch has parted from them? */
void operations_mark_meetings(const struct operation *code, size_t count, const uint32_t *leavings, bool *meets);

static inline const void *lanes_source(const struct lanes *lanes, uint16_t operand)
{
    return operand & OPERAND_CONSTANT ? lanes->constants + (size_t)(operand & ~OPERAND_CONSTANT) * SLOT_BYTES
                                      : lanes->registers + (size_t)operand * SLOT_BYTES;
}

static inline void *lanes_destination(const struct lanes *lanes, uint16_t slot)
{
    return lanes->registers + (size_t)slot * SLOT_BYTES;
}

#endif
