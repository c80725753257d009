/* SPDX-License-Identifier: MIT */
/* What must stay in front of what within a basic block: values, registers that are written again, memory, barriers. */
#ifndef CORUN_ASSEMBLE_ORDER_H
#define CORUN_ASSEMBLE_ORDER_H

#include "assemble/code.h"
#include "base/vector.h"

#define ORDER_END UINT32_MAX

/* From an instruction of the block to a later one; indices count from the start of the block. */
struct order_edge {
    uint32_t to, next; /* next: the source's next edge */
    bool value;        /* the later one needs a result of the earlier one */
};

/* A register, from instruction to instruction of the block. */
struct order_register {
    uint32_t writer;       /* last one that wrote it, ORDER_END: none in the block */
    uint32_t first_reader; /* since then: chained in order.readers */
};

struct order_reader {
    uint32_t instruction, next;
};

struct order {
    const struct code *code;
    uint32_t *first; /* per instruction: its first edge */
    uint32_t *waits; /* per instruction: edges that lead to it */
    struct order_register *registers;
    VECTOR(struct order_edge) edges;
    VECTOR(struct order_reader) readers;
    VECTOR(uint32_t) accesses; /* instructions of the block that touch memory, since the last one that orders it */
    VECTOR(uint32_t) touched;  /* registers that `registers` has something of */
    uint32_t *base_writer;     /* per instruction: who had last written the register of its address */
    uint32_t last_order, last_fixed, last_warp;
    uint32_t instruction; /* at hand */
    bool failed;
};

/* For blocks of up to `longest` instructions. OK or MEMORY. */
enum corun_status order_create(struct order *order, const struct code *code, uint32_t longest);
void order_destroy(struct order *order);
/* The edges of a block. OK or MEMORY. */
enum corun_status order_block(struct order *order, const struct code *code, uint32_t first, uint32_t count);

#endif
