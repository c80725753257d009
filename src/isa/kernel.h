/* SPDX-License-Identifier: MIT */
/*
 * Decoded code: a module as the executor runs it. Immutable once loaded; addresses of module variables are not known here (every
 * module instance has its own), they are relocations in the constant pool.
 */
#ifndef CORUN_ISA_KERNEL_H
#define CORUN_ISA_KERNEL_H

#include "base/arena.h"
#include "corun/module.h"
#include "isa/bulk.h"
#include "isa/operation.h"
#include "isa/registers.h"
#include "ptx/idempotence.h"
#include "ptx/module.h"

/* Bits of operation.variant of loads, stores and atomics. */
enum memory_variant {
    MEMORY_ADDRESS_32 = 1 << 0, /* the address register has 32 bits */
    MEMORY_FRAME = 1 << 1,      /* local memory, relative to the frame of the function */
    MEMORY_PARAMETER = 1 << 2,  /* constant space: the parameter block of the launch, not memory */
    MEMORY_SILENT = 1 << 3,     /* an argument of a device function: a move for the machine, not an access */
    MEMORY_TEXTURE = 1 << 4,    /* global memory through the read-only path */
    MEMORY_SURFACE = 1 << 5,    /* of an array, which a GPU may arrange in blocks */
    MEMORY_STRONG = 1 << 6      /* loads: others may change what is loaded, meanwhile */
};

/* Bits of operation.extend. */
enum memory_extend {
    EXTEND_SIGN = 1 << 0, /* loads: sign-extend to the register */
    EXTEND_WIDE = 1 << 1, /* the registers have 64 bits */
    EXTEND_FLOAT = 1 << 2 /* atomics */
};

/* Shared memory that the system keeps where a kernel asks for it: cudaDeviceProp::reservedSharedMemPerBlock of compute capability 8 and 9. */
#define RESERVED_SHARED_BYTES 1024u

/* operation.variant of SPECIAL_REGISTER beyond enum ptx_special_register: frame of the function + offset. */
#define SPECIAL_LOCAL_ADDRESS ((uint8_t)PTX_SPECIAL_COUNT)

/* operation.variant of TRAP and of BARRIER. */
enum trap_variant { TRAP_PLAIN, TRAP_ASSERT, TRAP_FREE };
enum barrier_variant {
    BARRIER_WAIT,
    BARRIER_ARRIVE,
    BARRIER_COUNT,
    BARRIER_AND,
    BARRIER_OR,
    BARRIER_WARPGROUP
}; /* three: bar.red; the last: wgmma.mma_async, op->target: what it is about (isa/matrix.h) */
/*
 * What free of the device heap (src/cuda/device_heap.c) calls with a pointer that it cannot free, less the bytes in front of a block. The
 * second word of them has this bit where the block was freed before.
 */
#define DEVICE_HEAP_VARIABLE "corun_heap"
#define DEVICE_HEAP_FRONT_BYTES 16u
#define DEVICE_HEAP_LEAST_BYTES 32u /* of a block, with those; blocks are aligned to it */
#define DEVICE_HEAP_CLASSES 40u
#define DEVICE_HEAP_FIRST_CLASS 5u /* of such a block; the second word, where the block is used */
#define DEVICE_HEAP_WRONG "__corun_wrong_free"
#define DEVICE_HEAP_FREED (UINT64_C(1) << 63)

/* operation.extra[0] of BARRIER: all threads of a warp that have not ended come together. */
enum barrier_alignment { BARRIER_ANY, BARRIER_ALIGNED };

/* Beside the flags of operation.h: the mask is no constant, the kernel has found out who comes. */
#define MEETING_COMPUTED 4u

#define NO_FUNCTION UINT32_MAX
#define OPERAND_DISCARD 0xffffu /* a vector element or result that nobody wants; the same as of lane functions */

/* Where an argument or a result lies, on the caller's or the callee's side. */
struct call_value {
    bool in_register;
    bool wide;        /* register of 64 bits */
    bool discarded;   /* result that nobody wants */
    uint16_t operand; /* slot or OPERAND_CONSTANT | constant slot */
    uint32_t offset;  /* in the frame, if not in a register */
    uint32_t bytes;
};

struct call_site {
    uint32_t function;    /* index in kernel_code.functions; NO_FUNCTION if indirect */
    uint16_t target;      /* indirect: slot of the address */
    uint8_t target_bytes; /* of that register */
    uint32_t argument_count, result_count;
    const struct call_value *arguments, *results; /* the caller's side */
};

struct kernel_function {
    const struct ptx_function *ptx;
    uint32_t first_operation; /* its entry */
    uint32_t operation_count;
    uint16_t first_slot, slot_count, pair_slots; /* those of pairs come first */
    uint16_t first_predicate, predicate_count;
    uint32_t frame_bytes; /* local memory per thread */
    bool frees;           /* free of the device heap */
    bool recursive;       /* may be called while it is active: its registers are saved at the call */
    bool is_open;         /* a call brings as much to the last parameter as it likes, up to `bytes` of that */
    uint32_t argument_count, result_count;
    const struct call_value *arguments, *results; /* the callee's side */
};

#define NO_STACK UINT32_MAX

/* A constant slot that depends on where a module instance has put a variable. */
struct constant_relocation {
    uint32_t slot; /* of the pool: 64 bits, so it and the next */
    const struct ptx_variable *variable;
    uint64_t addend;
    bool wide;
};

struct corun_kernel {
    struct corun_module *module;
    uint32_t index; /* in module->kernels */
    struct corun_kernel_info info;
    const struct operation *code;
    const struct corun_instruction *instructions;
    uint32_t code_length;
    uint32_t register_slots, predicate_slots;
    const struct kernel_function *functions; /* [0] is the kernel itself */
    uint32_t function_count;
    const uint32_t *function_of_index; /* ptx function index → functions[], NO_FUNCTION if not decoded */
    const struct call_site *calls;
    const uint32_t *
        branch_targets; /* of brx.idx, operation indices; op->target is its first, branch_table_targets() their number */
    uint32_t branch_target_count;
    const uint32_t *leavings;           /* of branches, from branch_leavings() on: isa/operation.h */
    const struct matrix_work *matrices; /* operations on matrices name theirs by op->target */
    const struct bulk_work *bulks;      /* bulk copies name theirs by op->target */
    uint32_t bulk_count;
    const uint8_t *constants; /* pool, before relocation */
    uint32_t constant_slots;
    const struct constant_relocation *relocations;
    uint32_t relocation_count;
    uint32_t reserved_offset; /* in it, of what %reserved_smem_offset_1 tells */
    uint32_t shared_bytes;    /* static; dynamic shared memory starts here, rounded up to dynamic_align */
    uint32_t dynamic_align;
    uint32_t local_bytes; /* per thread, multiple of 16 */
    bool grows;           /* recursion or alloca: STACK_BYTES of these are for it, and a launch may have more */
    uint32_t call_depth;  /* frames on the stack at once, with the kernel's own, if a launch wants no more stack */
    bool recurses;        /* more stack is room for more of them */
    uint32_t stack_slot; /* of the bytes that alloca has given a thread (isa/stack.h); NO_STACK: it does not allocate */
    bool maps;           /* names shared memory of other thread blocks (mapa) */
    bool launches;       /* kernels, itself (isa/device_launch.h) */
    uint32_t worker_end; /* operation at PTX_WORKER_END; UINT32_MAX: it is no worker */
    bool writes_first;   /* no thread reads a register that it has not written: what was in it before does not matter */
    uint32_t barrier_count;
    struct ptx_idempotence idempotence;
};

struct corun_module {
    struct arena *arena;
    struct ptx_module *ptx;
    struct function_registers *registers; /* by function index */
    struct ptx_allocation *allocations;   /* the same as the PTX layer wants it */
    bool *address_taken;                  /* by function index: may be called through a register */
    struct corun_kernel *kernels;
    uint32_t kernel_count;
    uint32_t code_length; /* of all kernels */
};

/* Decodes the entry function `function` into *kernel (whose module and index are set). */
enum corun_status decode_kernel(struct corun_module *module, const struct ptx_function *function,
                                struct corun_diagnostics *list, struct corun_kernel *kernel);

/* Do lanes that go this way from a branch leave places at which others wait for them? */
static inline bool kernel_leaves_places(const struct corun_kernel *kernel, const struct operation *branch, uint32_t way)
{
    return branch_leavings(branch) && kernel->leavings[branch_leavings(branch) + way];
}

#endif
