/* SPDX-License-Identifier: MIT */
/*
 * Decoding: from the functions of a PTX module to the operations of one kernel.
 *
 * decode.c finds the functions that a kernel can reach and lays out registers, frames and shared memory; then each
 * instruction becomes one operation, or a few where an operand needs an operation of its own (decode_instruction.c,
 * decode_memory.c, decode_call.c). classify.c says which pipeline serves it.
 */
#ifndef CORUN_ISA_DECODE_H
#define CORUN_ISA_DECODE_H

#include "base/vector.h"
#include "isa/kernel.h"
#include "isa/matrix.h"

/* An operand that there is not. Where one is prefetched all the same: a line that is used much, not a register of the warp. */
#define NO_OPERAND OPERAND_CONSTANT

#define SCRATCH_SLOTS 24u /* temporaries of an instruction, two slots each */
#define COPY_TOKENS 8u
/* Of products of warpgroups: those that are in no group yet, all groups, all but the last one, and so on. */
#define GROUP_TOKENS 8u

struct decoded_function {
    bool frees; /* as of kernel_function */
    const struct ptx_function *ptx;
    const struct function_registers *registers; /* numbers within the function */
    uint16_t first_slot, slot_count, first_predicate;
    bool allocates; /* with alloca: the last two of its slots hold what the stack was when it was called */
    uint32_t frame_bytes;
    uint32_t *parameter_offset, *return_offset, *variable_offset; /* in the frame, by index of the variable */
    uint32_t first_operation, operation_count;
    uint32_t *operation_of; /* by instruction, and one more for the end */
    uint32_t *callees;      /* direct and possible indirect ones, in functions */
    uint32_t callee_count;
    bool recursive;
};

/* A constant of the pool: a value for all lanes, perhaps plus the address of a variable. */
struct constant {
    uint64_t value;
    const struct ptx_variable *variable;
    uint32_t slot;
    bool wide;
};

struct decoder {
    struct corun_module *module;
    const struct ptx_module *ptx;
    struct corun_kernel *kernel;
    struct corun_diagnostics *list;
    struct arena *arena;
    enum corun_status status; /* of the first error */
    VECTOR(struct operation) code;
    VECTOR(struct corun_instruction) instructions;
    VECTOR(struct call_site) calls;
    VECTOR(uint32_t) branch_targets;
    VECTOR(uint32_t) leavings;
    VECTOR(struct matrix_work) matrices;
    VECTOR(struct bulk_work) bulks;
    VECTOR(struct constant) constants;
    uint32_t constant_slots;
    VECTOR(struct decoded_function) functions;
    uint32_t *function_of_index; /* ptx function index → functions, NO_FUNCTION if it is not reached */
    uint32_t *shared_offset;     /* by index of the module variable, UINT32_MAX if the kernel does not use it */
    uint32_t scratch_slot, scratch_predicate; /* temporaries of one instruction; shared by all functions */
    uint64_t open_bytes;                      /* the most that a call brings to a parameter without a size */
    /* the instruction at hand */
    struct decoded_function *function;
    const struct ptx_instruction *instruction;
    uint32_t temporaries, temporaries_most;
    uint32_t predicates;
    /* Asynchronous copies so far: what the scoreboard knows of them are tokens, slots that nothing else uses. */
    uint32_t copies, copy_groups;
    uint32_t group_of_token[COPY_TOKENS];
    uint32_t group_slot;     /* of the first of the GROUP_TOKENS, if the kernel has products of warpgroups */
    uint32_t awaited_result; /* slot of d of the last such product, UINT32_MAX: none behind a fence */
    /* What is written when there is no memory for it: so that not every caller must ask. */
    struct operation lost;
    struct corun_instruction lost_instruction;
};

/* Reports at the instruction at hand; the first status is kept. */
void decode_error(struct decoder *decoder, enum corun_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void decode_no_memory(struct decoder *decoder);

/* A new operation at the end of the code, with guard and line of the instruction at hand. Valid until the next one is made. */
struct operation *decode_emit(struct decoder *decoder, enum operation_kind kind);
/* Its description for the machine. */
struct corun_instruction *decode_last(struct decoder *decoder);
void decode_reads(struct corun_instruction *instruction, uint32_t slot, bool wide);
void decode_writes(struct corun_instruction *instruction, uint32_t slot, bool wide);
/* All registers that the PTX instruction at hand reads and writes, into the description of the last operation. */
void decode_registers(struct decoder *decoder);

bool decode_is_wide(const struct decoder *decoder, uint32_t register_index);
uint16_t decode_slot(const struct decoder *decoder, uint32_t register_index);
/* Nothing accesses the register but the one instruction that writes it. */
bool decode_is_dead(const struct decoder *decoder, uint32_t register_index);
uint16_t decode_predicate(const struct decoder *decoder, uint32_t register_index); /* number within the predicates */
/* Temporaries of the instruction at hand. */
uint16_t decode_temporary(struct decoder *decoder);
uint16_t decode_temporary_predicate(struct decoder *decoder);
uint16_t decode_constant(struct decoder *decoder, uint64_t value, bool wide, const struct ptx_variable *variable);
/* Where a variable of a frame or of shared memory lies. */
uint32_t decode_frame_offset(const struct decoder *decoder, const struct ptx_variable *variable);
bool decode_is_kernel_parameter(const struct ptx_variable *variable);
/* A slot with the value of an operand of `bits` bits; may emit operations that prepare it. */
uint16_t decode_source(struct decoder *decoder, const struct ptx_operand *operand, uint32_t bits);

void decode_instruction(struct decoder *decoder, const struct ptx_instruction *instruction, uint32_t index);
void decode_access(struct decoder *decoder);
/* Waits for stores and atomics. */
void decode_emit_fence(struct decoder *decoder);
/* A special register into a slot. */
void decode_emit_special(struct decoder *decoder, uint32_t special, uint16_t destination, bool wide, int64_t offset);
/* Where an address operand in a space (enum ptx_suffix; NONE: generic) leads. */
struct decoded_place {
    uint16_t slot;
    int64_t offset;
    uint8_t variant; /* enum memory_variant */
    enum corun_space space;
};
struct decoded_place decode_place(struct decoder *decoder, const struct ptx_operand *operand, uint8_t space);
/* An operation on one element of the instruction's first type there. */
struct operation *decode_emit_access(struct decoder *decoder, enum operation_kind kind,
                                     const struct decoded_place *place);
/* Asynchronous copies into shared memory, and barriers in memory: true if the instruction at hand is one of them. */
bool decode_async(struct decoder *decoder);
/* Whether the kernel multiplies in groups of warps. */
bool decode_multiplies_in_groups(const struct decoder *decoder);
/* alloca, stacksave, stackrestore: whether a function has one, and true if the instruction at hand is one. */
bool decode_allocates(const struct ptx_function *function);
bool decode_stack(struct decoder *decoder);
/* Where a function that allocates begins and, with the instruction at hand, returns. */
void decode_stack_enter(struct decoder *decoder);
void decode_stack_leave(struct decoder *decoder);
/* wgmma: true if the instruction at hand is one of them. */
bool decode_warpgroup(struct decoder *decoder);
/* Bulk copies, and what goes with tensor maps: true if the instruction at hand is one of them. */
bool decode_bulk(struct decoder *decoder);
/* What an atomic suffix (PTX_ATOMIC_…) does. */
enum atomic_operation decode_change(enum ptx_suffix word);
/* What a kernel asks about its cluster, and the barrier of the cluster: true if the instruction at hand is one of them. */
bool decode_cluster(struct decoder *decoder);
void decode_texture(struct decoder *decoder);
/* txq and suq. False: it is another instruction. */
bool decode_texture_query(struct decoder *decoder);
/* Products of matrices and tiles: true if the instruction at hand is one of them. */
bool decode_matrix(struct decoder *decoder);
/* A load or store of the instruction at hand at the address in slot `address`, by the lanes of predicate `inside`. */
void decode_surface_access(struct decoder *decoder, uint16_t address, uint16_t inside, const struct ptx_operand *data,
                           bool loads);
void decode_call(struct decoder *decoder);

/* Slots of the registers of a fragment, at most `most`; returns how many it has. */
uint32_t decode_fragment(const struct decoder *decoder, const struct ptx_operand *operand, uint16_t *slots,
                         uint32_t most);
uint32_t decode_keep_matrix(struct decoder *decoder, const struct matrix_work *work);
enum corun_tensor_type decode_tensor_type(enum ptx_type type);
/* A predicate, or PREDICATE_TRUE or PREDICATE_FALSE; whether it is negated, the operand says. */
uint16_t decode_predicate_source(const struct decoder *decoder, const struct ptx_operand *operand);

/* Writes what a run without timing wants to know: op->straight and op->quick of all operations. False when out of memory. */
bool decode_straight(struct operation *code, size_t count, const uint32_t *leavings);
/* Fills in the kernel's info but for its name. */
void decode_description(struct decoder *decoder, const struct ptx_function *function);
/* Whether no thread of the kernel that is decoded reads a register which it has not written. */
bool decode_writes_first(const struct decoder *decoder, const struct ptx_function *function);

/* Unit and operation class. */
void classify(const struct ptx_instruction *instruction, struct corun_instruction *result);

#endif
