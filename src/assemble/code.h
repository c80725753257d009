/* SPDX-License-Identifier: MIT */
/* A function while it is rewritten: instructions that may change, and what is known of its registers. */
#ifndef CORUN_ASSEMBLE_CODE_H
#define CORUN_ASSEMBLE_CODE_H

#include "assemble/assemble.h"
#include "ptx/control_flow.h"

#define CODE_MOST_OFFSET (INT64_C(1) << 23) /* an access of the hardware holds 24 bits, signed */

/* The instruction that writes a register, if it is one alone and always does so. */
struct definition {
    uint32_t instruction; /* PTX_NONE: several, guarded ones, none, or the value may be read before */
    uint32_t reads;       /* how often the register is read, guards included */
};

/*
 * Removed instructions stay as PTX_OP_NONE until code_close. Operands are ours: each instruction has an array of its own, elements of
 * vectors too, that may be written.
 */
struct code {
    struct arena *arena;
    struct ptx_function function; /* as it is now; shares the arrays below */
    struct ptx_instruction *instructions;
    struct ptx_label *labels;
    struct ptx_control_flow flow;
    struct definition *definitions; /* per register */
    bool changed;                   /* since code_refresh */
    bool apart;                     /* variables are somebody else's, too, and stay as they are */
};

/* What an instruction may do besides computing registers from registers. */
enum effect {
    EFFECT_NONE,     /* arithmetic */
    EFFECT_LOAD,     /* reads memory that stores may write */
    EFFECT_CONSTANT, /* reads memory that nobody writes while the kernel runs */
    EFFECT_STORE,    /* writes memory; atomics read it, too */
    EFFECT_WARP,     /* exchanges values among the lanes that are together here: shuffles, votes */
    EFFECT_ORDER,    /* orders memory: barriers, fences, volatile and ordered accesses, calls, asynchronous copies */
    EFFECT_FIXED,    /* stays where it is: control flow, clocks */
};

/* OK or MEMORY. */
enum corun_status code_open(const struct ptx_function *function, struct arena *arena, struct code *code);
/* Removed instructions go, labels that nobody names go; then blocks and definitions anew. */
enum corun_status code_refresh(struct code *code);
/* code_refresh has to come before it. */
void code_close(const struct code *code, struct ptx_function *function);

enum effect code_effect(const struct ptx_instruction *instruction);
/* Whether the first operand is written. */
bool code_writes_first(const struct ptx_instruction *instruction);
/* The operands that may be written, of one of code->instructions. */
static inline struct ptx_operand *code_operands(const struct ptx_instruction *instruction)
{
    return (struct ptx_operand *)(uintptr_t)instruction->operands;
}
/* NULL if there is no memory. */
const struct ptx_operand *code_copy_operands(struct arena *arena, const struct ptx_operand *from, uint32_t count);
uint32_t code_bits(const struct code *code, uint32_t register_index);
/* The instruction that alone defines the register of an operand, NULL if there is none. */
const struct ptx_instruction *code_definition(const struct code *code, const struct ptx_operand *operand);
/*
 * Whether `reader`, later in the same block than `definition`, could compute what that does: both run for the same lanes, and nothing between them
 * writes what `definition` reads.
 */
bool code_could_compute(const struct code *code, const struct ptx_instruction *definition,
                        const struct ptx_instruction *reader);
/*
 * Removes an instruction: another one of its block, that runs for the same lanes, is counted for it from now on. false, and nothing happens, if
 * there is none.
 */
bool code_remove(struct code *code, uint32_t index);

/* One file each; all leave the function valid, with code->changed where something happened. */
void code_propagate(struct code *code);      /* copies.c */
void code_remove_dead(struct code *code);    /* copies.c */
void code_fold_addresses(struct code *code); /* addresses.c */
void code_unroll(struct code *code);         /* unroll.c */
void code_fuse(struct code *code);           /* fuse.c */
void code_fuse_sums(struct code *code);      /* fuse.c */
void code_contract(struct code *code);       /* contract.c */
void code_predicate(struct code *code);      /* branches.c */
void code_combine(struct code *code);        /* vectors.c */
void code_gather(struct code *code);         /* atomics.c */
void code_count_halves(struct code *code);   /* halves.c */
/* schedule.c; of `rewrites`, SPARE and OCCUPANCY say within how many registers. */
enum corun_status code_schedule(struct code *code, uint32_t rewrites);

#endif
