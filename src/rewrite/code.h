/* SPDX-License-Identifier: MIT */
/* Instructions that passes write: a line each in place of the operands of ptx_body_emit. */
#ifndef CORUN_REWRITE_CODE_H
#define CORUN_REWRITE_CODE_H

#include "ptx/builder.h"

/* Of one function, between ptx_body_begin and ptx_body_end. */
struct code {
    struct ptx_builder *builder;
    uint32_t function;
};

/* Threads that perform an instruction: all (predicate PTX_NONE), those for which a predicate is true, or those for which it is false. */
struct code_guard {
    uint32_t predicate;
    bool negated;
};
#define CODE_ALL ((struct code_guard){PTX_NONE, false})

uint32_t code_register(const struct code *code, const char *name, enum ptx_type type);
/* to = from */
void code_move(const struct code *code, struct code_guard guard, enum ptx_type type, uint32_t to,
               struct ptx_operand from);
/* to = left OPCODE right; mul is that of the low half */
void code_binary(const struct code *code, struct code_guard guard, enum ptx_opcode opcode, enum ptx_type type,
                 uint32_t to, struct ptx_operand left, struct ptx_operand right);
/* A new predicate: left COMPARISON right. */
uint32_t code_compare(const struct code *code, const char *name, enum ptx_suffix comparison, enum ptx_type type,
                      struct ptx_operand left, struct ptx_operand right);
/* `count` (1, 2 or 4) values of 32 bits that lie one after the other in a parameter, in one load. */
void code_load_words(const struct code *code, const struct ptx_variable *parameter, size_t offset, uint32_t count,
                     const uint32_t *registers);
void code_jump(const struct code *code, struct code_guard guard, uint32_t label);
/* next += place / count, place %= count, by floor(2^32 / count), which the parameter has at `reciprocal_offset`. */
void code_carry(const struct code *code, const struct ptx_variable *parameter, size_t reciprocal_offset, uint32_t place,
                uint32_t count, uint32_t next);

static inline struct code_guard code_if(uint32_t predicate)
{
    return (struct code_guard){predicate, false};
}

static inline struct code_guard code_unless(uint32_t predicate)
{
    return (struct code_guard){predicate, true};
}

#endif
