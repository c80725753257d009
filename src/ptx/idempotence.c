/* SPDX-License-Identifier: MIT */
/*
 * One set of roots per register for the whole function: every instruction gives its results the roots of all that
 * it reads, until nothing changes. Loaded values have none, but for pointers that are parameters.
 */
#include "ptx/idempotence.h"

#include "base/bits.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PASSES 64u /* addresses need a few; a text made to need thousands is refused */

struct analysis {
    const struct ptx_function *function;
    uint64_t *sets; /* per register */
    bool *is_read;  /* per register: by any instruction */
    struct ptx_root *roots;
    uint32_t root_count;
    VECTOR(struct ptx_global_access) accesses;
    struct ptx_idempotence *result;
    uint64_t read; /* roots of what the instruction at hand reads */
    bool changed, failed;
};

static void refuse(struct analysis *analysis, const struct ptx_instruction *instruction, const char *reason)
{
    if (analysis->result->reason)
        return;
    analysis->result->reason = reason;
    analysis->result->line = instruction->place.line;
}

/* The bit of a root. */
static uint64_t root_bit(struct analysis *analysis, const struct ptx_variable *variable, uint64_t offset)
{
    uint32_t i = 0;
    while (i < analysis->root_count && (analysis->roots[i].variable != variable || analysis->roots[i].offset != offset))
        i++;
    if (i == PTX_MOST_ROOTS) {
        analysis->result->reason = "has more pointers than are followed";
        return 0;
    }
    if (i == analysis->root_count)
        analysis->roots[analysis->root_count++] = (struct ptx_root){variable, offset};
    return UINT64_C(1) << i;
}

static uint64_t variable_roots(struct analysis *analysis, const struct ptx_variable *variable)
{
    switch (variable->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
        return root_bit(analysis, variable, 0);
    case PTX_SPACE_SHARED:
    case PTX_SPACE_LOCAL:
        return PTX_ROOT_PRIVATE;
    default:
        return 0;
    }
}

static uint64_t operand_roots(struct analysis *analysis, const struct ptx_operand *operand)
{
    uint64_t roots = 0;
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
    case PTX_OPERAND_ADDRESS:
        return analysis->sets[operand->index];
    case PTX_OPERAND_VARIABLE:
    case PTX_OPERAND_ADDRESS_VARIABLE:
        return variable_roots(analysis, operand->variable);
    case PTX_OPERAND_VECTOR:
        for (uint32_t i = 0; i < operand->element_count; i++)
            roots |= operand_roots(analysis, &operand->elements[i]);
        return roots;
    default:
        return 0;
    }
}

static void give(struct analysis *analysis, const struct ptx_operand *operand, uint64_t roots)
{
    if (operand->kind == PTX_OPERAND_VECTOR)
        for (uint32_t i = 0; i < operand->element_count; i++)
            give(analysis, &operand->elements[i], roots);
    if (operand->kind != PTX_OPERAND_REGISTER ||
        (analysis->sets[operand->index] | roots) == analysis->sets[operand->index])
        return;
    analysis->sets[operand->index] |= roots;
    analysis->changed = true;
}

/* Pointers among the parameters: 64 bits at once. Elements of a vector lie one after the other. */
static void load_parameter(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *to = &instruction->operands[0], *from = &instruction->operands[1];
    if (ptx_types[instruction->types[0]].bits != 64 || from->kind != PTX_OPERAND_ADDRESS_VARIABLE ||
        from->variable->function != analysis->function)
        return;
    uint64_t offset = from->variable->offset + (uint64_t)from->offset;
    if (to->kind != PTX_OPERAND_VECTOR) {
        give(analysis, to, root_bit(analysis, from->variable, offset));
        return;
    }
    for (uint32_t i = 0; i < to->element_count; i++)
        give(analysis, &to->elements[i], root_bit(analysis, from->variable, offset + 8 * i));
}

static void add_reads(void *user, uint32_t register_index, enum ptx_access access)
{
    struct analysis *analysis = user;
    if (access == PTX_READ)
        analysis->read |= analysis->sets[register_index];
}

static void note_read(void *user, uint32_t register_index, enum ptx_access access)
{
    struct analysis *analysis = user;
    if (access == PTX_READ)
        analysis->is_read[register_index] = true;
}

static void add_writes(void *user, uint32_t register_index, enum ptx_access access)
{
    struct analysis *analysis = user;
    if (access == PTX_WRITE)
        give(analysis, &(struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .index = register_index}, analysis->read);
}

/* What the results of one instruction may be computed from. */
static void propagate(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        if (instruction->space == PTX_SPACE_PARAM)
            load_parameter(analysis, instruction);
        return;
    case PTX_OP_ATOM:
    case PTX_OP_LDMATRIX_SYNC:
    case PTX_OP_WMMA_LOAD_A_SYNC:
    case PTX_OP_WMMA_LOAD_B_SYNC:
    case PTX_OP_WMMA_LOAD_C_SYNC:
        return; /* values from memory */
    default:
        break;
    }
    analysis->read = 0;
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == PTX_OPERAND_VARIABLE)
            analysis->read |= variable_roots(analysis, instruction->operands[i].variable);
    ptx_instruction_registers(instruction, add_reads, analysis);
    if (analysis->read)
        ptx_instruction_registers(instruction, add_writes, analysis);
}

static void note_access(struct analysis *analysis, const struct ptx_instruction *instruction,
                        const struct ptx_operand *address, bool writes)
{
    uint64_t roots = operand_roots(analysis, address);
    if (instruction->space == PTX_SUFFIX_NONE && roots == PTX_ROOT_PRIVATE)
        return;
    if (!roots) {
        refuse(analysis, instruction,
               writes ? "writes where it cannot be foreseen" : "reads where it cannot be foreseen");
        return;
    }
    for (size_t i = 0; i < analysis->accesses.count; i++)
        if (analysis->accesses.data[i].roots == roots && analysis->accesses.data[i].writes == writes)
            return;
    struct ptx_global_access access = {roots, writes, instruction->place.line};
    if (!vector_push(&analysis->accesses, access))
        analysis->failed = true;
}

static bool is_private(uint8_t space)
{
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM;
}

/* Values that differ when the thread block starts again, elsewhere and later. */
static bool differs(uint32_t special_register)
{
    switch (special_register) {
    case PTX_SPECIAL_WARPID:
    case PTX_SPECIAL_SMID:
        return true;
    default:
        return ptx_special_is_clock(special_register);
    }
}

/*
 * In shared memory only sums and the like: what an atomic gives back may depend on who came first, and so what is
 * written where.
 */
static void look_at_atomic(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    bool returns = instruction->opcode == PTX_OP_ATOM;
    const struct ptx_operand *operands = instruction->operands;
    uint64_t roots = operand_roots(analysis, &operands[returns]);
    bool global = instruction->space == PTX_SUFFIX_NONE ? roots != PTX_ROOT_PRIVATE : !is_private(instruction->space);
    if (global)
        refuse(analysis, instruction, "atomics on global memory");
    else if (returns && operands[0].kind == PTX_OPERAND_REGISTER && analysis->is_read[operands[0].index])
        refuse(analysis, instruction, "uses what atomics on shared memory give back");
}

static void look_at_memory(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *operands = instruction->operands;
    switch (instruction->opcode) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_LDMATRIX_SYNC:
    case PTX_OP_WMMA_LOAD_A_SYNC:
    case PTX_OP_WMMA_LOAD_B_SYNC:
    case PTX_OP_WMMA_LOAD_C_SYNC:
        if (!is_private(instruction->space))
            note_access(analysis, instruction, &operands[1], false);
        return;
    case PTX_OP_ST:
    case PTX_OP_STMATRIX_SYNC:
    case PTX_OP_WMMA_STORE_D_SYNC:
        if (!is_private(instruction->space))
            note_access(analysis, instruction, &operands[0], true);
        return;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        look_at_atomic(analysis, instruction);
        return;
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_PREFETCH_TENSORMAP:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
        return;
    default:
        break;
    }
    if (strpbrk(ptx_opcodes[instruction->opcode].operands, "mxXSG")) /* an address, a texture or a surface */
        refuse(analysis, instruction, "accesses memory in a way that is not analysed");
}

static void look_at(struct analysis *analysis, const struct ptx_instruction *instruction)
{
    if (instruction->call)
        refuse(analysis, instruction, "calls a function");
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == PTX_OPERAND_SPECIAL && differs(instruction->operands[i].index))
            refuse(analysis, instruction, "reads a clock, its SM or its warp slot");
    look_at_memory(analysis, instruction);
}

enum corun_status ptx_idempotence_create(const struct ptx_function *function, struct arena *arena,
                                         struct ptx_idempotence *idempotence)
{
    *idempotence = (struct ptx_idempotence){0};
    struct analysis analysis = {.function = function, .result = idempotence, .changed = true};
    analysis.sets = calloc(function->register_count + 1, sizeof *analysis.sets);
    analysis.is_read = calloc(function->register_count + 1, sizeof *analysis.is_read);
    analysis.roots = ARENA_ARRAY(arena, struct ptx_root, PTX_MOST_ROOTS);
    analysis.failed = !analysis.sets || !analysis.is_read || !analysis.roots;
    for (uint32_t i = 0; i < function->instruction_count && !analysis.failed; i++)
        ptx_instruction_registers(&function->instructions[i], note_read, &analysis);
    for (uint32_t pass = 0; analysis.changed && !analysis.failed; pass++) {
        analysis.changed = false;
        if (pass == MOST_PASSES) {
            idempotence->reason = "computes addresses in too many steps";
            break;
        }
        for (uint32_t i = 0; i < function->instruction_count; i++)
            propagate(&analysis, &function->instructions[i]);
    }
    for (uint32_t i = 0; i < function->instruction_count && !analysis.failed; i++)
        look_at(&analysis, &function->instructions[i]);
    size_t count = analysis.accesses.count;
    struct ptx_global_access *accesses = ARENA_ARRAY(arena, struct ptx_global_access, count + 1);
    if (accesses && count)
        memcpy(accesses, analysis.accesses.data, count * sizeof *accesses);
    idempotence->roots = analysis.roots;
    idempotence->root_count = analysis.root_count;
    idempotence->accesses = accesses;
    idempotence->access_count = (uint32_t)count;
    free(analysis.sets);
    free(analysis.is_read);
    vector_free(&analysis.accesses);
    return analysis.failed || !accesses ? CORUN_MEMORY : CORUN_OK;
}

#define MOST_BUFFERS 128u

static bool overlap(const uint64_t *read, uint32_t reads, const uint64_t *written, uint32_t writes)
{
    for (uint32_t r = 0; r < reads; r++)
        for (uint32_t w = 0; w < writes; w++)
            if (read[r] == written[w])
                return true;
    return false;
}

bool ptx_idempotence_holds(const struct ptx_idempotence *idempotence, ptx_find_buffer *find, const void *user)
{
    uint64_t read[MOST_BUFFERS], written[MOST_BUFFERS];
    uint32_t counts[2] = {0, 0};
    if (idempotence->reason)
        return false;
    for (uint32_t i = 0; i < idempotence->access_count; i++) {
        const struct ptx_global_access *access = &idempotence->accesses[i];
        bool known = access->roots & PTX_ROOT_PRIVATE;
        for (uint64_t rest = access->roots & ~PTX_ROOT_PRIVATE; rest; rest &= rest - 1) {
            uint64_t buffer = find(user, &idempotence->roots[lowest_bit(rest)]);
            if (!buffer)
                continue;
            if (counts[access->writes] == MOST_BUFFERS)
                return false;
            (access->writes ? written : read)[counts[access->writes]++] = buffer;
            known = true;
        }
        if (!known)
            return false;
    }
    return !overlap(read, counts[false], written, counts[true]);
}

/* What is read and written, of all accesses. */
static void sum_up(const struct ptx_idempotence *idempotence, uint64_t *read, uint64_t *written)
{
    *read = *written = 0;
    for (uint32_t i = 0; i < idempotence->access_count; i++)
        *(idempotence->accesses[i].writes ? written : read) |= idempotence->accesses[i].roots & ~PTX_ROOT_PRIVATE;
}

bool ptx_idempotence_never(const struct ptx_idempotence *idempotence)
{
    uint64_t read, written;
    sum_up(idempotence, &read, &written);
    return read & written;
}

const char *ptx_idempotence_text(const struct ptx_idempotence *idempotence)
{
    uint64_t read, written;
    if (idempotence->reason)
        return idempotence->reason;
    sum_up(idempotence, &read, &written);
    if (read & written)
        return "reads what it writes";
    return read && written ? "if its arguments do not overlap" : "yes";
}
