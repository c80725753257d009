/* SPDX-License-Identifier: MIT */
/* The blocks of a kernel, and the memory that their code is in. */
#include "isa/native.h"

#include "isa/executor.h"

#ifdef CORUN_NATIVE

#include "isa/lanes.h"
#include "isa/native_maker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_OPERATIONS 512u /* of a block */
#define MOST_CODE 1024u      /* bytes for an operation, on the average */

/* Code is made in a buffer, and copied to where it can run as soon as a block is complete: the same offsets here and there. */
struct native {
    struct native_code code; /* first: that is what others have of it */
    const struct corun_kernel *kernel;
    bool *meets;  /* [operation]: do lanes meet there? */
    bool *begins; /* [operation]: does a block begin there? Control may come there from elsewhere */
    struct assembler made;
    uint8_t *runs;
    size_t most; /* bytes that there is room for */
    size_t exit, carry_out;
};

static const struct native_numbers numbers __attribute__((aligned(64))) = {
#define STRIDE(i, shift) ((i) << (shift))
#define STRIDES4(i, s) STRIDE(i, s), STRIDE((i) + 1, s), STRIDE((i) + 2, s), STRIDE((i) + 3, s)
#define STRIDES(s) \
    { \
        STRIDES4(0, s), STRIDES4(4, s), STRIDES4(8, s), STRIDES4(12, s), STRIDES4(16, s), STRIDES4(20, s), \
            STRIDES4(24, s), STRIDES4(28, s) \
    }
    .strides64 = {STRIDES(0), STRIDES(1), STRIDES(2), STRIDES(3)},
    .strides32 = {STRIDES(0), STRIDES(1), STRIDES(2), STRIDES(3)},
#define SIXTEEN(x) \
    { \
        x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x \
    }
#define EIGHT(x) \
    { \
        x, x, x, x, x, x, x, x \
    }
    .nan = SIXTEEN(0x7fffffffu),
    .sign = SIXTEEN(0x80000000u),
    .beyond = SIXTEEN(0x4f000000u),
    .one = EIGHT(1.0),
    .half = EIGHT(0.5),
    .bytes = {0x00000000, 0x04040404, 0x08080808, 0x0c0c0c0c, 0x10101010, 0x14141414, 0x18181818, 0x1c1c1c1c,
              0x20202020, 0x24242424, 0x28282828, 0x2c2c2c2c, 0x30303030, 0x34343434, 0x38383838, 0x3c3c3c3c}};

static const ZydisRegister saved[] = {ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_R12,
                                      ZYDIS_REGISTER_R13, ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15};
#define SAVED (sizeof saved / sizeof *saved)

static void load_pointer(struct assembler *to, ZydisRegister where, ZydisRegister base, size_t offset)
{
    ASSEMBLE(to, MOV, at_register(where), at_memory(base, (int64_t)offset, 8));
}

/* native_code.enter: goes to a block. */
static void make_entry(struct assembler *to)
{
    for (size_t i = 0; i < SAVED; i++)
        ASSEMBLE(to, PUSH, at_register(saved[i]));
    ASSEMBLE(to, SUB, at_register(ZYDIS_REGISTER_RSP), at_number(8)); /* calls want it at a multiple of 16 */
    ASSEMBLE(to, MOV, at_register(FRAME), at_register(ZYDIS_REGISTER_RDI));
    load_pointer(to, ZYDIS_REGISTER_RAX, FRAME, offsetof(struct native_frame, warp));
    load_pointer(to, ALL_REGISTERS, ZYDIS_REGISTER_RAX, offsetof(struct corun_warp, lanes.registers));
    load_pointer(to, ALL_CONSTANTS, ZYDIS_REGISTER_RAX, offsetof(struct corun_warp, lanes.constants));
    load_pointer(to, ALL_PREDICATES, ZYDIS_REGISTER_RAX, offsetof(struct corun_warp, lanes.predicates));
    load_pointer(to, OWN_SM, FRAME, offsetof(struct native_frame, sm));
    ASSEMBLE(to, MOV, at_register(NUMBERS), at_number((int64_t)(uintptr_t)&numbers));
    ASSEMBLE(to, JMP, at_register(ZYDIS_REGISTER_RSI));
}

/* Where blocks leave to, with the next operation in ecx. */
static size_t make_exit(struct assembler *to)
{
    size_t exit = to->length;
    load_pointer(to, ZYDIS_REGISTER_RAX, FRAME, offsetof(struct native_frame, warp));
    ASSEMBLE(to, MOV, at_memory(ZYDIS_REGISTER_RAX, offsetof(struct corun_warp, stack.pc), 4),
             at_register(ZYDIS_REGISTER_ECX));
    ASSEMBLE(to, ADD, at_register(ZYDIS_REGISTER_RSP), at_number(8));
    for (size_t i = SAVED; i-- > 0;)
        ASSEMBLE(to, POP, at_register(saved[i]));
    assemble(to, ZYDIS_MNEMONIC_VZEROUPPER, 0, &(operand){0});
    assemble(to, ZYDIS_MNEMONIC_RET, 0, &(operand){0});
    return exit;
}

/* What detours call: executor_carry_out for the operation in esi and the lanes in edx, with all vector registers as they are. */
static size_t make_carry_out(struct assembler *to)
{
    size_t place = to->length, held = offsetof(struct native_frame, held);
    const operand operation = at_register(ZYDIS_REGISTER_RSI);
    for (uint32_t i = 0; i < VECTOR_REGISTERS; i++)
        assemble_two(to, ZYDIS_MNEMONIC_VMOVDQA32, at_memory(FRAME, (int64_t)(held + i * PART_BYTES), PART_BYTES),
                     at_zmm(i));
    load_pointer(to, ZYDIS_REGISTER_RDI, FRAME, offsetof(struct native_frame, warp));
    ASSEMBLE(to, MOV, at_memory(ZYDIS_REGISTER_RDI, offsetof(struct corun_warp, stack.pc), 4),
             at_register(ZYDIS_REGISTER_ESI));
    _Static_assert(sizeof(struct operation) == 64, "a shift by 6");
    ASSEMBLE(to, SHL, operation, at_number(6));
    ASSEMBLE(to, ADD, operation, at_memory(ZYDIS_REGISTER_RDI, offsetof(struct corun_warp, code), 8));
    ASSEMBLE(to, SUB, at_register(ZYDIS_REGISTER_RSP), at_number(8));
    assemble_call(to, (const void *)(uintptr_t)executor_carry_out);
    ASSEMBLE(to, ADD, at_register(ZYDIS_REGISTER_RSP), at_number(8));
    for (uint32_t i = 0; i < VECTOR_REGISTERS; i++)
        assemble_two(to, ZYDIS_MNEMONIC_VMOVDQA32, at_zmm(i),
                     at_memory(FRAME, (int64_t)(held + i * PART_BYTES), PART_BYTES));
    ASSEMBLE(to, TEST, at_register(ZYDIS_REGISTER_AL), at_register(ZYDIS_REGISTER_AL));
    assemble(to, ZYDIS_MNEMONIC_RET, 0, &(operand){0});
    return place;
}

/* ---- blocks ---- */

/*
 * Can it be in a block? Who asks for the time wants it as of now. `masked`: for lanes that are not the whole warp, which may have to wait for others at a
 * meeting.
 */
static bool belongs(const struct operation *op, bool masked)
{
    switch ((enum operation_kind)op->kind) {
    case OPERATION_LANES:
    case OPERATION_LOAD:
    case OPERATION_STORE:
    case OPERATION_ATOMIC:
        return true;
    case OPERATION_SPECIAL_REGISTER:
        return !ptx_special_is_clock(op->variant);
    case OPERATION_MEETING:
        return !masked && op->run && op->guard == NO_PREDICATE;
    default:
        return false;
    }
}

static void find_marks(struct native *native)
{
    const struct corun_kernel *kernel = native->kernel;
    uint32_t length = kernel->code_length;
    native->begins[0] = true;
    operations_mark_meetings(kernel->code, length, kernel->leavings, native->meets);
    for (uint32_t i = 0; i < length; i++) {
        const struct operation *op = &kernel->code[i];
        if (native->meets[i])
            native->begins[i] = true;
        if (op->kind == OPERATION_BRANCH && op->target < length)
            native->begins[op->target] = true;
        if (!belongs(op, true))
            native->begins[i + 1] = true;
    }
    for (uint32_t i = 0; i < kernel->branch_target_count; i++)
        if (kernel->branch_targets[i] < length)
            native->begins[kernel->branch_targets[i]] = true;
}

/* How many operations a block from there on has: up to where another one begins, or with a branch. */
static uint32_t block_length(const struct native *native, uint32_t first, bool masked)
{
    const struct corun_kernel *kernel = native->kernel;
    uint32_t end = first;
    while (end < kernel->code_length && end - first < MOST_OPERATIONS && belongs(&kernel->code[end], masked) &&
           (end == first || !native->begins[end]))
        end++;
    if (end < kernel->code_length && kernel->code[end].kind == OPERATION_BRANCH &&
        (end == first || !native->begins[end]))
        end++;
    else if (end - first == MOST_OPERATIONS)
        native->begins[end] = true;
    return end - first;
}

static void find_blocks(struct native *native)
{
    for (uint32_t masked = 0; masked < 2; masked++)
        for (uint32_t first = 0; first < native->kernel->code_length; first++)
            if (native->begins[first])
                native->code.blocks[masked][first].operations = block_length(native, first, masked);
}

static void make_operation(struct block_maker *maker)
{
    const struct operation *op = &maker->kernel->code[maker->at];
    bool made = true;
    if (op->kind != OPERATION_LANES && op->kind != OPERATION_MEETING)
        made = native_make_access(maker, op);
    else if (op->kind != OPERATION_LANES || !native_make_lanes(maker, op))
        maker_call_function(maker, op);
    if (!made)
        maker->to->failed = true;
    maker_unpin(maker);
}

static void make_block(struct block_maker *maker, uint32_t count)
{
    const struct operation *code = maker->kernel->code;
    uint32_t end = maker->first + count;
    bool branch = code[end - 1].kind == OPERATION_BRANCH;
    maker_forget(maker);
    for (maker->at = maker->first; maker->at < end - branch && !maker->to->failed; maker->at++)
        make_operation(maker);
    if (branch)
        maker_end_with_branch(maker, end - 1);
    else
        maker_end(maker, end);
    for (size_t i = 0; i < maker->detours.count && !maker->to->failed; i++)
        native_make_detour(maker, &maker->detours.data[i]);
    vector_free(&maker->detours);
}

/* What was made from `from` on to where it can run. */
static bool publish(struct native *native, size_t from)
{
    const struct assembler *made = &native->made;
    if (made->failed || made->length > native->most || mprotect(native->runs, native->most, PROT_READ | PROT_WRITE))
        return false;
    memcpy(native->runs + from, made->code + from, made->length - from);
    return !mprotect(native->runs, native->most, PROT_READ | PROT_EXEC);
}

const void *native_make(struct native_code *code, bool masked, uint32_t first)
{
    struct native *native = (struct native *)code;
    struct native_block *block = &code->blocks[masked][first];
    size_t from = native->made.length;
    struct block_maker maker = {.to = &native->made,
                                .kernel = native->kernel,
                                .meets = native->meets,
                                .blocks = code->blocks[masked],
                                .masked = masked,
                                .first = first,
                                .exit = native->exit,
                                .carry_out = native->carry_out};
    make_block(&maker, block->operations);
    if (publish(native, from)) {
        block->code = native->runs + from;
    } else {
        block->operations = 0;
        native->made.length = from;
        native->made.failed = false;
    }
    return block->code;
}

/* Room for the code of all blocks, of which only what is used takes memory. */
static bool make_room(struct native *native)
{
    size_t places = (size_t)native->kernel->code_length + 1;
    native->meets = calloc(places, sizeof(bool));
    native->begins = calloc(places, sizeof(bool));
    native->code.blocks[0] = calloc(2 * places, sizeof(struct native_block));
    native->code.blocks[1] = native->code.blocks[0] + places;
    native->most = (2 * places * MOST_CODE + 4095) / 4096 * 4096;
    void *runs = mmap(NULL, native->most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    native->runs = runs == MAP_FAILED ? NULL : runs;
    return native->meets && native->begins && native->code.blocks[0] && native->runs;
}

struct native *native_create(const struct corun_kernel *kernel, uint32_t after)
{
    if (lanes_level_best() != LANES_V4)
        return NULL;
    struct native *native = calloc(1, sizeof *native);
    if (!native)
        return NULL;
    native->kernel = kernel;
    native->code.after = after;
    if (make_room(native)) {
        make_entry(&native->made);
        native->exit = make_exit(&native->made);
        native->carry_out = make_carry_out(&native->made);
        find_marks(native);
        find_blocks(native);
        native->code.enter = (void (*)(struct native_frame *, const void *))(uintptr_t)native->runs;
        if (publish(native, 0))
            return native;
    }
    native_destroy(native);
    return NULL;
}

void native_destroy(struct native *native)
{
    if (!native)
        return;
    if (native->runs)
        munmap(native->runs, native->most);
    free(native->code.blocks[0]);
    free(native->meets);
    free(native->begins);
    free(native->made.code);
    free(native);
}

struct native_code *native_code(struct native *native)
{
    return &native->code;
}

#else

struct native *native_create(const struct corun_kernel *kernel, uint32_t after)
{
    (void)kernel;
    (void)after;
    return NULL;
}

void native_destroy(struct native *native)
{
    (void)native;
}

struct native_code *native_code(struct native *native)
{
    (void)native;
    return NULL;
}

const void *native_make(struct native_code *code, bool masked, uint32_t first)
{
    (void)code;
    (void)masked;
    (void)first;
    return NULL;
}

#endif
