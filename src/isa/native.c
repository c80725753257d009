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

struct native {
    struct native_block *blocks[2]; /* for whole warps, for any lanes: [operation] */
    uint8_t *code;
    size_t code_bytes;
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
    .nan = SIXTEEN(0x7fffffffu),
    .sign = SIXTEEN(0x80000000u),
    .beyond = SIXTEEN(0x4f000000u)};

static const ZydisRegister saved[] = {ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_R12,
                                      ZYDIS_REGISTER_R13, ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15};
#define SAVED (sizeof saved / sizeof *saved)

static void load_pointer(struct assembler *to, ZydisRegister where, ZydisRegister base, size_t offset)
{
    ASSEMBLE(to, MOV, at_register(where), at_memory(base, (int64_t)offset, 8));
}

/* native_code.enter, which goes to a block, and where blocks leave to. Gives the latter's place. */
static size_t make_frame(struct assembler *to)
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

/* ---- blocks ---- */

static bool is_clock(const struct operation *op)
{
    switch (op->variant) {
    case PTX_SPECIAL_CLOCK:
    case PTX_SPECIAL_CLOCK_HI:
    case PTX_SPECIAL_CLOCK64:
    case PTX_SPECIAL_GLOBALTIMER:
    case PTX_SPECIAL_GLOBALTIMER_LO:
    case PTX_SPECIAL_GLOBALTIMER_HI:
        return true;
    default:
        return false;
    }
}

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
        return !is_clock(op);
    case OPERATION_MEETING:
        return !masked && op->run && op->guard == NO_PREDICATE;
    default:
        return false;
    }
}

/* Where lanes meet, and where a block begins: where control may come to from elsewhere. */
struct marks {
    bool *meets, *begins;
};

static bool find_marks(const struct corun_kernel *kernel, struct marks *marks)
{
    uint32_t length = kernel->code_length;
    marks->meets = calloc((size_t)length + 1, sizeof(bool));
    marks->begins = calloc((size_t)length + 1, sizeof(bool));
    if (!marks->meets || !marks->begins)
        return false;
    marks->begins[0] = true;
    for (uint32_t i = 0; i < length; i++) {
        const struct operation *op = &kernel->code[i];
        if (op->reconverge < length)
            marks->meets[op->reconverge] = marks->begins[op->reconverge] = true;
        if (op->kind == OPERATION_BRANCH && op->target < length)
            marks->begins[op->target] = true;
        if (!belongs(op, true))
            marks->begins[i + 1] = true;
    }
    for (uint32_t i = 0; i < kernel->branch_target_count; i++)
        if (kernel->branch_targets[i] < length)
            marks->begins[kernel->branch_targets[i]] = true;
    return true;
}

/* How many operations a block from there on has, a branch at its end not counted. It goes on over places where another one begins. */
static uint32_t block_length(const struct corun_kernel *kernel, const struct marks *marks, uint32_t first, bool masked)
{
    uint32_t count = 0;
    while (count < MOST_OPERATIONS && first + count < kernel->code_length &&
           belongs(&kernel->code[first + count], masked) && !(count && marks->meets[first + count]))
        count++;
    return count;
}

static bool ends_with_branch(const struct corun_kernel *kernel, const struct marks *marks, uint32_t first, uint32_t end)
{
    return end < kernel->code_length && kernel->code[end].kind == OPERATION_BRANCH &&
           (end == first || !marks->meets[end]);
}

/* Fills in how many operations blocks have. */
static void find_blocks(const struct corun_kernel *kernel, const struct marks *marks, bool masked,
                        struct native_block *blocks)
{
    for (uint32_t first = 0; first < kernel->code_length; first++) {
        uint32_t count = marks->begins[first] ? block_length(kernel, marks, first, masked) : 0;
        if (marks->begins[first])
            blocks[first].operations = count + ends_with_branch(kernel, marks, first, first + count);
    }
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

static void make_block(struct block_maker *maker, uint32_t first)
{
    const struct operation *code = maker->kernel->code;
    uint32_t end = first + maker->blocks[first].operations;
    bool branch = code[end - 1].kind == OPERATION_BRANCH;
    maker_forget(maker);
    maker->first = first;
    for (maker->at = first; maker->at < end - branch && !maker->to->failed; maker->at++)
        make_operation(maker);
    if (branch)
        maker_end_with_branch(maker, end - 1);
    else
        maker_end(maker, end);
    for (size_t i = 0; i < maker->detours.count && !maker->to->failed; i++)
        native_make_detour(maker, &maker->detours.data[i]);
    maker->detours.count = 0;
}

/* Code of all blocks; where that of each begins goes to `offsets`. */
static void make_blocks(struct block_maker *maker, size_t *offsets)
{
    for (uint32_t first = 0; first < maker->kernel->code_length && !maker->to->failed; first++) {
        if (!maker->blocks[first].operations)
            continue;
        offsets[first] = maker->to->length;
        make_block(maker, first);
    }
    for (size_t i = 0; i < maker->links.count; i++)
        assemble_lead(maker->to, maker->links.data[i].jump, offsets[maker->links.data[i].target]);
    vector_free(&maker->detours);
    vector_free(&maker->links);
}

/* The code to where it can run. */
static bool publish(struct native *native, const struct assembler *to)
{
    void *code =
        to->failed ? MAP_FAILED : mmap(NULL, to->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return false;
    native->code = code;
    native->code_bytes = to->length;
    memcpy(code, to->code, to->length);
    return !mprotect(code, to->length, PROT_READ | PROT_EXEC);
}

static bool make_code(struct native *native, const struct corun_kernel *kernel)
{
    struct marks marks = {NULL, NULL};
    struct assembler to = {NULL, 0, 0, false};
    size_t places = (size_t)kernel->code_length + 1, exit = make_frame(&to);
    size_t *offsets = calloc(2 * places, sizeof *offsets);
    native->blocks[0] = calloc(2 * places, sizeof(struct native_block));
    native->blocks[1] = native->blocks[0] + places;
    bool made = offsets && native->blocks[0] && find_marks(kernel, &marks);
    for (uint32_t masked = 0; made && masked < 2; masked++) {
        struct block_maker maker = {.to = &to,
                                    .kernel = kernel,
                                    .meets = marks.meets,
                                    .blocks = native->blocks[masked],
                                    .masked = masked,
                                    .exit = exit};
        find_blocks(kernel, &marks, masked, native->blocks[masked]);
        make_blocks(&maker, &offsets[masked * places]);
    }
    made = made && publish(native, &to);
    for (size_t i = 0; made && i < 2 * places; i++)
        native->blocks[0][i].code = native->code + offsets[i];
    free(to.code);
    free(offsets);
    free(marks.meets);
    free(marks.begins);
    return made;
}

struct native *native_create(const struct corun_kernel *kernel)
{
    if (lanes_level_best() != LANES_V4)
        return NULL;
    struct native *native = calloc(1, sizeof *native);
    if (native && !make_code(native, kernel)) {
        native_destroy(native);
        return NULL;
    }
    return native;
}

void native_destroy(struct native *native)
{
    if (!native)
        return;
    if (native->code)
        munmap(native->code, native->code_bytes);
    free(native->blocks[0]);
    free(native);
}

struct native_code native_code(const struct native *native)
{
    struct native_code none = {NULL, {NULL, NULL}};
    return native ? (struct native_code){(void (*)(struct native_frame *, const void *))(uintptr_t)native->code,
                                         {native->blocks[0], native->blocks[1]}}
                  : none;
}

#else

struct native *native_create(const struct corun_kernel *kernel)
{
    (void)kernel;
    return NULL;
}

void native_destroy(struct native *native)
{
    (void)native;
}

struct native_code native_code(const struct native *native)
{
    (void)native;
    return (struct native_code){NULL, {NULL, NULL}};
}

#endif
