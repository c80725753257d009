/* SPDX-License-Identifier: MIT */
/*
 * A builder makes a module from another one: a copy to which registers, parameters and variables can be added, and whose bodies can
 * be written anew, instruction by instruction. Passes from PTX to PTX are loops over a body:
 *
 *     ptx_body_begin(builder, function);
 *     ptx_body_emit(builder, …);            the prologue: a jump to the first instruction does not run it again
 *     while ((next = ptx_body_next(builder))) {
 *         ptx_body_emit(builder, …);        in front of the instruction, behind its labels: a jump to them runs it
 *         ptx_body_keep(builder);           the instruction itself; without this it is left out
 *         ptx_body_emit(builder, …);        behind it
 *     }
 *     ptx_body_emit(builder, …);            behind the last label
 *     ptx_body_end(builder);
 *
 * Functions, registers and labels are named by index. Indices of the source stay valid in the builder; indices in the finished module
 * may differ. Pointers to variables that the builder gives are those of the finished module.
 *
 * Running out of memory is remembered: the functions continue and return what does no harm, and ptx_builder_finish says MEMORY.
 */
#ifndef CORUN_PTX_BUILDER_H
#define CORUN_PTX_BUILDER_H

#include "ptx/module.h"

struct ptx_builder;

/* A copy of `source`, which may be destroyed afterwards. NULL when out of memory. */
struct ptx_builder *ptx_builder_create(const struct ptx_module *source);
void ptx_builder_destroy(struct ptx_builder *builder);

/*
 * The module as it stands, printed and parsed again: it has to be well-formed, and what is parsed has to be equal. *module belongs to
 * the caller, keeps the places of the source, and is NULL unless the status is OK. Other statuses: MEMORY, and what ptx_parse says of
 * an instruction that does not fit; `list` then names it by its line in the printed text. The builder is used up either way: all that
 * remains is to destroy it.
 */
enum corun_status ptx_builder_finish(struct ptx_builder *builder, struct corun_diagnostics *list,
                                     struct ptx_module **module);

/* The function as it stands. Do not keep it beyond the next change. */
const struct ptx_function *ptx_builder_function(struct ptx_builder *builder, uint32_t function);

/* A new register of a function with a body. The name need not be unique. */
uint32_t ptx_builder_register(struct ptx_builder *builder, uint32_t function, const char *name, enum ptx_type type);

/*
 * A new last parameter, in .param, of a function with a body. The name is made unique by a suffix. Callers of a device function have
 * to be given an argument each: ptx_body_keep_call.
 */
const struct ptx_variable *ptx_builder_parameter(struct ptx_builder *builder, uint32_t function, const char *name,
                                                 enum ptx_type type);

/* The same, but an array of `bytes` bytes, aligned to `align`, a power of two: a structure. Of an entry. */
const struct ptx_variable *ptx_builder_parameter_bytes(struct ptx_builder *builder, uint32_t function, const char *name,
                                                       uint64_t bytes, uint32_t align);

/* The new module is of that version of PTX at least, as 603: for instructions that older ones have not. */
void ptx_builder_need_version(struct ptx_builder *builder, uint32_t version);

/*
 * A new variable at the top level, an array of `count` elements, zero at first, aligned to `align` bytes, a power of two of at least an
 * element. `space` is PTX_SPACE_GLOBAL, CONST or SHARED. The name is made unique by a suffix.
 */
const struct ptx_variable *ptx_builder_variable(struct ptx_builder *builder, enum ptx_suffix space, const char *name,
                                                enum ptx_type type, uint64_t count, uint32_t align);

/* The finished module does not have that variable of the source's top level, which nothing names any more by then. */
void ptx_builder_remove_variable(struct ptx_builder *builder, uint32_t index);

/* That variable of the source's top level is zero at first. */
void ptx_builder_clear_variable(struct ptx_builder *builder, uint32_t index);

/* What a variable of the source's top level is in the finished module, by its index: for operands of new instructions. */
const struct ptx_variable *ptx_builder_variable_of(const struct ptx_builder *builder, uint32_t index);

/*
 * Every read of a special register becomes one of `register_index`, which has the special register's type. Returns how many there
 * were. Not between ptx_body_begin and ptx_body_end.
 */
uint32_t ptx_builder_replace_special(struct ptx_builder *builder, uint32_t function, enum ptx_special_register special,
                                     uint32_t register_index);

/* One body at a time is written. Old instructions that ptx_body_next has not reached are kept by ptx_body_end. */
void ptx_body_begin(struct ptx_builder *builder, uint32_t function);
/* The next old instruction, whose labels are placed here; NULL behind the last one. */
const struct ptx_instruction *ptx_body_next(struct ptx_builder *builder);
/* Writes the instruction that ptx_body_next has given. */
void ptx_body_keep(struct ptx_builder *builder);
/* The same for a direct call, with `count` further arguments. */
void ptx_body_keep_call(struct ptx_builder *builder, uint32_t count, const struct ptx_operand *arguments);
/* Writes a new instruction (none with a carry flag); operands are copied, its place is that of the instruction at hand. */
void ptx_body_emit(struct ptx_builder *builder, struct ptx_instruction instruction, uint32_t count,
                   const struct ptx_operand *operands);
/* A new label, to be placed once before the end of the body. Labels may have other indices after ptx_body_end. */
uint32_t ptx_body_label(struct ptx_builder *builder, const char *name);
/* In front of what is written next. */
void ptx_body_place_label(struct ptx_builder *builder, uint32_t label);
void ptx_body_end(struct ptx_builder *builder);

/* An instruction without suffixes, guard and operands; type NONE: without types. Suffixes are set by name: `load.space = …`. */
static inline struct ptx_instruction ptx_make(enum ptx_opcode opcode, enum ptx_type type)
{
    return (struct ptx_instruction){.opcode = (uint16_t)opcode,
                                    .type_count = type != PTX_TYPE_NONE,
                                    .types = {(uint8_t)type},
                                    .guard = PTX_NONE,
                                    .carry_flag = PTX_NONE};
}

/* clang-format off: one line each */
static inline struct ptx_operand ptx_register(uint32_t index)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .index = index};
}
static inline struct ptx_operand ptx_integer(int64_t value)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_INTEGER, .offset = value};
}
static inline struct ptx_operand ptx_special(enum ptx_special_register special)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_SPECIAL, .index = special};
}
static inline struct ptx_operand ptx_label_of(uint32_t index)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_LABEL, .index = index};
}
/* {a, b}; the elements are copied when the instruction is written */
static inline struct ptx_operand ptx_vector(uint32_t count, const struct ptx_operand *elements)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_VECTOR, .element_count = (uint16_t)count, .elements = elements};
}
/* [register + offset], [variable + offset], and the address of a variable as a value */
static inline struct ptx_operand ptx_address(uint32_t index, int64_t offset)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS, .index = index, .offset = offset};
}
static inline struct ptx_operand ptx_address_in(const struct ptx_variable *variable, int64_t offset)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS_VARIABLE, .offset = offset, .variable = variable};
}
static inline struct ptx_operand ptx_variable_value(const struct ptx_variable *variable)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_VARIABLE, .variable = variable};
}
/* clang-format on */

#endif
