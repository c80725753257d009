/* SPDX-License-Identifier: MIT */
/*
 * Bulk copies and reductions, those of tensors among them: one thread asks for many bytes, and something else moves them.
 *
 * OPERATION_BULK reads what the active lanes ask for, and faults where it is wrong: addresses, alignment, tensor map, memory that is not
 * there. In a run without timing the bytes are moved at once. Else they are copies under way (struct bulk_pool), which a machine takes
 * apart into requests of a line each (corun/source.h: copy_next, copy_done), one row of the box after the other. A store or reduction
 * reads shared memory when its last request is made; a load writes shared memory, and tells the barrier, when the last reply is there.
 *
 * A box of a tensor is rows of elements that lie side by side, dimension 1 fastest; in shared memory each row stands behind the one
 * before, in units of 16 bytes that the swizzle exchanges by the bits of their address. Elements outside of the tensor are not read
 * and not written, and filled in in shared memory. With a mask, or an address in another thread block of the cluster, shared memory and barriers
 * are those of the thread blocks that this names. im2col (PTX ISA, "Im2col mode"): a row is the channels of a pixel; pixels follow
 * each other within the bounding box, the first of its dimensions fastest, and then in the next image; offsets are added at the end.
 */
#ifndef CORUN_ISA_BULK_H
#define CORUN_ISA_BULK_H

#include "base/archive.h"
#include "isa/atomics.h"
#include "isa/tensor_map.h"

struct corun_copy_part;
struct corun_issue;
struct corun_warp;
struct executor_sm;
struct launch;
struct operation;

enum bulk_kind {
    BULK_LOAD,          /* global to shared memory, a barrier is told */
    BULK_STORE,         /* shared to global memory, in a group */
    BULK_REDUCE,        /* the same, and reduced with what is there */
    BULK_WITHIN,        /* shared to shared memory, a barrier is told */
    BULK_REDUCE_WITHIN, /* the same, and reduced */
    BULK_PREFETCH       /* global memory to the L2 */
};

/* An address operand. */
struct bulk_place {
    uint16_t slot;
    bool narrow; /* a register of 32 bits */
    int64_t offset;
};

/* What an operation is about; operations name theirs by op->target. Slots are those of struct operation. */
struct bulk_work {
    uint8_t kind; /* enum bulk_kind */
    uint8_t rank; /* of the tensor; 0: bytes one after the other */
    bool im2col, offsets, multicast;
    uint8_t change;                                    /* reductions: enum atomic_operation */
    uint8_t type;                                      /* of a reduction without tensor: enum tensor_type */
    struct bulk_place shared, source, global, barrier; /* source: in shared memory, of what stays within it */
    uint16_t bytes, map, mask;
    uint16_t coordinate[TENSOR_MOST_RANK], offset[3];
};

/* What a copy brings to the shared memory of other thread blocks of the cluster (isa/bulk_elsewhere.h). */
struct bulk_elsewhere {
    uint8_t *bytes;  /* of a load: what goes on to them; NULL: they do not wait for it */
    uint64_t at;     /* has been sent to all of them; beyond the bytes their barriers are told */
    uint32_t rank;   /* the next of them that gets what is there */
    uint16_t others; /* a bit for each rank; 0: there is none */
    bool only;       /* the thread block itself gets nothing */
    bool here;       /* all replies of the copy are there */
};

/* What one lane asked for. */
struct bulk_copy {
    const struct bulk_work *work;
    struct corun_warp *warp; /* NULL: the place is free */
    uint32_t next;           /* lane of the same instruction, or free place, index + 1 */
    uint32_t lane, line;     /* of the PTX */
    uint32_t shared, source, barrier;
    uint64_t global, bytes; /* all of it, in shared memory */
    int64_t origin[TENSOR_MOST_RANK];
    uint32_t shift[3]; /* im2col offsets */
    uint32_t rows, row_bytes;
    uint32_t row, at; /* what has been requested so far */
    struct tensor_map map;
    struct bulk_elsewhere elsewhere;
};

/* Copies under way on an SM. */
struct bulk_pool {
    struct bulk_copy *copies;
    uint32_t count, capacity, free, used;
};

/* The lanes `mask` (not 0) ask. Timed: result->copy names what they asked for. False: a fault was raised. */
bool bulk_issue(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                bool timed);
bool bulk_next(struct executor_sm *sm, uint32_t copy, uint32_t line_bytes, struct corun_copy_part *part);
/* False: there are further parts, for other thread blocks. */
bool bulk_done(struct executor_sm *sm, uint32_t copy);

/* What a checkpoint says of a copy can be: nothing of it is outside of the thread block's shared memory. */
bool bulk_copy_is_good(const struct bulk_copy *copy);

void bulk_pool_free(struct bulk_pool *pool);
/* The launch goes: its copies are never done. */
void bulk_drop(struct executor_sm *sm, const struct launch *launch);

/* The operation that reduces elements of such a type in memory: its number, and the other way round (NULL: there is none). */
const struct operation *bulk_reduction(uint32_t number);
uint32_t bulk_reduction_number(const struct operation *op);
#define BULK_REDUCTIONS (TENSOR_TYPE_COUNT * (ATOMIC_XOR + 1u))

#endif
