/* SPDX-License-Identifier: MIT */
/*
 * What passes have in common that launch kernels in another way than the program asked for. Kernels get a parameter, by which the launch
 * tells them of the grid that the program means, and reads of special registers (grid_reads.h) become reads of that. A function that
 * reads any of it gets it as further parameters from whoever calls it; a kernel that is refused hands on what the special registers say.
 * The pass says what else becomes of a body.
 */
#ifndef CORUN_REWRITE_PASS_H
#define CORUN_REWRITE_PASS_H

#include "ptx/builder.h"
#include "rewrite/rewritten.h"

/* Where a function has the values of the grid from. */
enum pass_origin { PASS_FROM_SPECIAL, PASS_FROM_ARGUMENT, PASS_FROM_PARAMETERS };

#define PASS_BLOCK_INDEX (1u << GRID_CTAID_X | 1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z)

struct pass_function {
    enum pass_origin origin;
    bool reached;                        /* a kernel that is rewritten, or a function that one of those may call */
    const struct ptx_variable *argument; /* FROM_ARGUMENT: the new parameter of the kernel */
    uint32_t block_index[3];             /* FROM_ARGUMENT: registers of %ctaid, set before anything reads them */
    const struct ptx_variable *parameters[GRID_VALUES]; /* FROM_PARAMETERS: of what the function reads */
};

struct pass;

/* What makes a pass. */
struct pass_rules {
    const char *doing;     /* "slicing kernels" */
    const char *parameter; /* name of the new one. NULL: none, and reads of the grid stay what they are */
    uint64_t parameter_bytes;
    uint32_t parameter_align;
    const int64_t
        *offsets; /* by enum grid_value, in that parameter: of what is loaded as it is. The block index is not */
    /* More reasons to refuse a kernel, by pass_refuse. NULL: none. */
    void (*decide)(struct pass *pass, const struct ptx_function *kernel);
    /* When it is known what is rewritten, in front of the first body. NULL: nothing to do. */
    enum corun_status (*prepare)(struct pass *pass);
    /* Between ptx_body_begin and ptx_body_end, with calls of pass_write. Of every function with a body. OK or MEMORY. */
    enum corun_status (*write)(struct pass *pass, uint32_t function);
};

struct pass {
    const struct pass_rules *rules;
    const struct ptx_module *source;
    struct arena *arena; /* until the pass has ended */
    struct ptx_builder *builder;
    const struct grid_reads *reads;
    struct pass_function *functions; /* by index */
    struct rewritten_kernel *kernels;
    uint32_t kernel_count;
    uint32_t *stack; /* room for every function: of walks along calls */
    bool *seen;      /* by function: pass_reach */
    void *user;
};

/* The whole pass; statuses and results as rewrite_pass has them. */
enum corun_status pass_run(const struct pass_rules *rules, void *user, const struct ptx_module *source,
                           struct corun_diagnostics *list, struct rewritten *rewritten);

/* In `decide`: the first reason counts. It has to live as long as the pass. */
void pass_refuse(struct pass *pass, const char *reason, struct ptx_place place);

/* Fills pass->seen with a function and those that it may call, directly, through others or through a pointer. */
void pass_reach(struct pass *pass, const struct ptx_function *function);
/* The first instruction that passes a test in what pass_reach says; NULL if there is none. */
const struct ptx_instruction *pass_find(struct pass *pass, const struct ptx_function *function,
                                        bool (*test)(const struct ptx_instruction *instruction));

/* Writes the old instruction at hand, as the new function has to have it. */
void pass_write(const struct pass *pass, uint32_t function, const struct ptx_instruction *instruction);

#endif
