/* SPDX-License-Identifier: MIT */
/* Addresses of variables come from a table; constants are copied, or what loaded constant memory loads global memory. */
#include "rewrite/borrow.h"

#include "base/vector.h"
#include "rewrite/borrow_constants.h"
#include "rewrite/code.h"
#include "rewrite/pass.h"
#include "rewrite/slice.h"
#include "rewrite/workers.h"

#include <string.h>

#define BITS_OF_ADDRESS 64u
#define READ_ONLY_SINCE 32u /* sm_32 has ld.global.nc */
#define CONSTANT_BYTES 65536u

/* Of a kernel: rows of the table. */
struct borrow_list {
    const uint32_t *rows;
    uint32_t count;
};

struct borrowing {
    const struct ptx_module *source;
    struct arena *arena;
    const struct constant_addresses *constants; /* by function */
    bool any, any_constant;                     /* variables in global or constant memory; in constant memory */
    uint32_t *rows;                             /* by index of the variable: in the table; PTX_NONE: not there */
    bool *stays;                                /* the new module has it as well */
    bool *copied;                               /* by row: it does, and its content comes with every launch */
    bool *copies;                               /* by function: its constants are copied */
    const char **names;                         /* of the rows */
    uint32_t count;
    struct borrow_list *lists; /* by kernel, as the pass counts them */
    const struct ptx_variable *table;
};

static bool is_opaque(const struct ptx_variable *variable)
{
    return ptx_types[variable->type].kind == PTX_KIND_OPAQUE;
}

static bool is_in_memory(const struct ptx_variable *variable)
{
    return variable->space == PTX_SPACE_GLOBAL || variable->space == PTX_SPACE_CONST;
}

/* Another module can ask for its address. */
static bool has_address(const struct ptx_variable *variable)
{
    return is_in_memory(variable) && !variable->function && !is_opaque(variable);
}

/* The variable that an operand names; NULL: none. */
static const struct ptx_variable *variable_of(const struct ptx_operand *operand)
{
    bool names = operand->kind == PTX_OPERAND_VARIABLE || operand->kind == PTX_OPERAND_ADDRESS_VARIABLE;
    return names && is_in_memory(operand->variable) ? operand->variable : NULL;
}

/* Those that an instruction names, one after the other. NULL: no more. */
static const struct ptx_variable *next_variable(const struct ptx_instruction *instruction, uint32_t *operand,
                                                uint32_t *element)
{
    for (; *operand < instruction->operand_count; ++*operand, *element = 0) {
        const struct ptx_operand *at = &instruction->operands[*operand];
        bool has_elements = at->kind == PTX_OPERAND_VECTOR || at->kind == PTX_OPERAND_TEXEL;
        uint32_t count = has_elements ? at->element_count : 1;
        while (*element < count) {
            const struct ptx_variable *variable = variable_of(has_elements ? &at->elements[*element] : at);
            ++*element;
            if (variable)
                return variable;
        }
    }
    return NULL;
}

#define EACH_VARIABLE(instruction, variable) \
    for (uint32_t operand_ = 0, element_ = 0; (variable = next_variable(instruction, &operand_, &element_)) != NULL;)

static bool has_space(const struct ptx_instruction *instruction)
{
    return ptx_opcodes[instruction->opcode].fields >> PTX_FIELD_SPACE & 1u;
}

/* Why the variables that an instruction names cannot be borrowed in it; NULL: they can. */
static const char *obstacle_of(const struct ptx_instruction *instruction)
{
    bool value = instruction->operand_count == 2 && instruction->operands[1].kind == PTX_OPERAND_VARIABLE;
    if (value && instruction->type_count && ptx_types[instruction->types[0]].bits != BITS_OF_ADDRESS)
        return "takes a part of an address";
    if (instruction->space == PTX_SPACE_CONST && instruction->opcode != PTX_OP_LD && instruction->opcode != PTX_OP_CVTA)
        return "uses constant memory in a way that is not followed";
    return NULL;
}

/*
 * What is borrowed.
 */
static bool is_copied(const struct borrowing *borrowing, uint32_t variable)
{
    return borrowing->rows[variable] != PTX_NONE && borrowing->copied[borrowing->rows[variable]];
}

/* A variable that stays names others in its initial value: these stay as well. */
static void keep_what_is_named(struct borrowing *borrowing)
{
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < borrowing->source->variable_count; i++) {
            const struct ptx_variable *variable = borrowing->source->variables[i];
            bool names = borrowing->stays[i] && !is_copied(borrowing, i); /* a copy is empty at first */
            for (uint32_t k = 0; names && k < variable->relocation_count; k++) {
                const struct ptx_variable *target = variable->relocations[k].variable;
                more |= target && !borrowing->stays[target->index];
                if (target)
                    borrowing->stays[target->index] = true;
            }
        }
    }
}

/* The instruction reads the constants that it names where they are in the new module. */
static bool reads_copies(const struct borrowing *borrowing, uint32_t function,
                         const struct ptx_instruction *instruction)
{
    return borrowing->copies[function] && instruction->opcode != PTX_OP_CVTA;
}

static void number_variable(struct borrowing *borrowing, const struct ptx_variable *variable, bool copied)
{
    uint32_t *row = &borrowing->rows[variable->index];
    if (*row == PTX_NONE && borrowing->count < BORROW_MOST_VARIABLES) {
        borrowing->names[borrowing->count] = variable->name;
        *row = borrowing->count++;
    }
    borrowing->stays[variable->index] |= copied || *row == PTX_NONE;
    if (copied && *row != PTX_NONE)
        borrowing->copied[*row] = true;
}

static void number_variables(struct borrowing *borrowing, uint32_t function, const struct ptx_instruction *instruction)
{
    const struct ptx_variable *variable;
    bool can = !obstacle_of(instruction);
    EACH_VARIABLE(instruction, variable)
    {
        borrowing->stays[variable->index] |= !can;
        if (can && has_address(variable))
            number_variable(borrowing, variable,
                            variable->space == PTX_SPACE_CONST && reads_copies(borrowing, function, instruction));
    }
}

/* Fills `reached` with a function and those that it calls by name; who calls others is refused. */
static void reach(const struct ptx_module *source, uint32_t first, bool *reached, uint32_t *stack)
{
    uint32_t depth = 0;
    memset(reached, 0, source->function_count * sizeof *reached);
    reached[first] = true;
    stack[depth++] = first;
    while (depth) {
        const struct ptx_function *function = source->functions[stack[--depth]];
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_function *callee =
                function->instructions[i].call ? function->instructions[i].call->function : NULL;
            if (!callee || reached[callee->index])
                continue;
            reached[callee->index] = true;
            stack[depth++] = callee->index;
        }
    }
}

/* How many constants the functions read that are reached; 0: one of them has no size here. `seen` has room for every variable. */
static uint32_t count_constants(const struct ptx_module *source, const bool *reached, bool *seen)
{
    const struct ptx_variable *variable;
    uint32_t count = 0;
    memset(seen, 0, source->variable_count * sizeof *seen);
    for (uint32_t f = 0; f < source->function_count; f++)
        for (uint32_t i = 0; reached[f] && i < source->functions[f]->instruction_count; i++)
            EACH_VARIABLE(&source->functions[f]->instructions[i], variable)
            {
                if (variable->space != PTX_SPACE_CONST || seen[variable->index])
                    continue;
                if (!variable->bytes || variable->linkage == PTX_LINKAGE_EXTERN)
                    return 0;
                seen[variable->index] = true;
                count++;
            }
    return count;
}

/* Which functions have their constants copied. */
static enum corun_status choose_copies(struct borrowing *borrowing)
{
    const struct ptx_module *source = borrowing->source;
    bool *reached = ARENA_ARRAY(borrowing->arena, bool, source->function_count + 1u);
    bool *seen = ARENA_ARRAY(borrowing->arena, bool, source->variable_count + 1u);
    uint32_t *stack = ARENA_ARRAY(borrowing->arena, uint32_t, source->function_count + 1u);
    uint64_t bytes = sizeof(uint64_t); /* with what alignment may take, and a row for each variable */
    if (!reached || !seen || !stack)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < source->variable_count; i++)
        bytes += source->variables[i]->space == PTX_SPACE_CONST
                     ? source->variables[i]->bytes + source->variables[i]->align + sizeof(uint64_t)
                     : sizeof(uint64_t);
    for (uint32_t i = 0; i < source->function_count; i++)
        borrowing->copies[i] = bytes <= CONSTANT_BYTES && !borrowing->constants[i].converts;
    for (uint32_t i = 0; i < source->function_count; i++) {
        if (!source->functions[i]->is_entry)
            continue;
        reach(source, i, reached, stack);
        uint32_t count = count_constants(source, reached, seen);
        for (uint32_t k = 0; k < source->function_count; k++)
            borrowing->copies[k] &= !reached[k] || (count && count <= BORROW_MOST_COPIES);
    }
    return CORUN_OK;
}

static enum corun_status plan(struct borrowing *borrowing)
{
    const struct ptx_module *source = borrowing->source;
    borrowing->rows = ARENA_ARRAY(borrowing->arena, uint32_t, source->variable_count + 1u);
    borrowing->stays = ARENA_ARRAY(borrowing->arena, bool, source->variable_count + 1u);
    borrowing->copied = ARENA_ARRAY(borrowing->arena, bool, BORROW_MOST_VARIABLES);
    borrowing->copies = ARENA_ARRAY(borrowing->arena, bool, source->function_count + 1u);
    borrowing->names = ARENA_ARRAY(borrowing->arena, const char *, BORROW_MOST_VARIABLES);
    borrowing->lists = ARENA_ARRAY(borrowing->arena, struct borrow_list, source->function_count + 1u);
    if (!borrowing->rows || !borrowing->stays || !borrowing->copied || !borrowing->copies || !borrowing->names ||
        !borrowing->lists || constant_addresses_create(source, borrowing->arena, &borrowing->constants) != CORUN_OK ||
        choose_copies(borrowing) != CORUN_OK)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < source->variable_count; i++) {
        const struct ptx_variable *variable = source->variables[i];
        borrowing->rows[i] = PTX_NONE;
        borrowing->any |= is_in_memory(variable);
        borrowing->any_constant |= has_address(variable) && variable->space == PTX_SPACE_CONST;
        borrowing->stays[i] = !has_address(variable) || source->address_bits != BITS_OF_ADDRESS;
    }
    for (uint32_t i = 0; i < source->function_count && source->address_bits == BITS_OF_ADDRESS; i++)
        for (uint32_t k = 0; k < source->functions[i]->instruction_count; k++)
            number_variables(borrowing, i, &source->functions[i]->instructions[k]);
    keep_what_is_named(borrowing);
    return CORUN_OK;
}

/*
 * What is refused.
 */
static void refuse_variables(struct pass *pass, const struct ptx_instruction *instruction)
{
    const struct borrowing *borrowing = pass->user;
    const struct ptx_variable *variable;
    const char *obstacle = obstacle_of(instruction);
    EACH_VARIABLE(instruction, variable)
    {
        if (is_opaque(variable))
            obstacle = "uses a texture or surface reference, which is bound in the program's own module";
        else if (variable->function)
            obstacle = "uses a static variable of a function, of which nobody else can ask where it lies";
        else if (pass->source->address_bits != BITS_OF_ADDRESS)
            obstacle = "addresses of the module have 32 bits";
        else if (!obstacle && borrowing->rows[variable->index] == PTX_NONE)
            obstacle = "uses more variables than the table has rows";
        if (obstacle)
            pass_refuse(pass, obstacle, instruction->place);
    }
}

/* Variables may hold addresses of functions, or will: these are of one module. */
static void refuse_pointers(struct pass *pass, const struct ptx_instruction *instruction)
{
    if (instruction->call && !instruction->call->function)
        pass_refuse(
            pass, "calls through a pointer, and variables may hold addresses of functions of the program's own module",
            instruction->place);
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == PTX_OPERAND_FUNCTION)
            pass_refuse(pass, "takes the address of a function, and variables may hold it: it is one of the new module",
                        instruction->place);
}

/* The list of the kernel at hand, in ascending rows. False when out of memory. */
static bool list_rows(struct pass *pass)
{
    const struct borrowing *borrowing = pass->user;
    struct borrow_list *list = &borrowing->lists[pass->kernel_count - 1];
    bool *used = ARENA_ARRAY(borrowing->arena, bool, borrowing->count + 1u);
    uint32_t *rows = ARENA_ARRAY(borrowing->arena, uint32_t, borrowing->count + 1u);
    const struct ptx_variable *variable;
    if (!used || !rows)
        return false;
    for (uint32_t i = 0; i < pass->source->function_count; i++)
        for (uint32_t k = 0; pass->seen[i] && k < pass->source->functions[i]->instruction_count; k++)
            EACH_VARIABLE(&pass->source->functions[i]->instructions[k], variable)
    if (borrowing->rows[variable->index] != PTX_NONE)
        used[borrowing->rows[variable->index]] = true;
    for (uint32_t row = 0; row < borrowing->count; row++)
        if (used[row])
            rows[list->count++] = row;
    list->rows = rows;
    return true;
}

static void decide(struct pass *pass, const struct ptx_function *kernel)
{
    const struct borrowing *borrowing = pass->user;
    if (!borrowing->any)
        return;
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count; i++) {
        const struct ptx_function *function = pass->source->functions[i];
        const struct constant_addresses *constants = &borrowing->constants[i];
        if (!pass->seen[i])
            continue;
        for (uint32_t k = 0; k < function->instruction_count; k++) {
            refuse_variables(pass, &function->instructions[k]);
            refuse_pointers(pass, &function->instructions[k]);
        }
        if (borrowing->any_constant && constants->obstacle)
            pass_refuse(pass, constants->obstacle, constants->place);
    }
    if (!list_rows(pass))
        borrowing->lists[pass->kernel_count - 1].rows = NULL;
}

/*
 * What becomes of bodies.
 */
static enum corun_status prepare(struct pass *pass)
{
    struct borrowing *borrowing = pass->user;
    for (uint32_t i = 0; i < pass->source->variable_count; i++)
        if (!borrowing->stays[i])
            ptx_builder_remove_variable(pass->builder, i);
        else if (is_copied(borrowing, i))
            ptx_builder_clear_variable(pass->builder, i);
    if (!borrowing->count)
        return CORUN_OK;
    borrowing->table = ptx_builder_variable(pass->builder, PTX_SPACE_CONST, BORROW_TABLE, PTX_TYPE_B64,
                                            borrowing->count, sizeof(uint64_t));
    return borrowing->table ? CORUN_OK : CORUN_MEMORY;
}

/* A body that is being written. */
struct borrow_writer {
    const struct borrowing *borrowing;
    struct code code;
    const struct ptx_function *source;
    bool copies; /* the instruction at hand has its constants in the new module */
};

static void load_row(const struct borrow_writer *writer, const struct ptx_instruction *guarded, uint32_t row,
                     struct ptx_operand to)
{
    struct ptx_instruction load = ptx_make(PTX_OP_LD, PTX_TYPE_B64);
    load.space = PTX_SPACE_CONST;
    if (guarded) {
        load.guard = guarded->guard;
        load.guard_negated = guarded->guard_negated;
    }
    ptx_body_emit(
        writer->code.builder, load, 2,
        (struct ptx_operand[]){to, ptx_address_in(writer->borrowing->table, (int64_t)(row * sizeof(uint64_t)))});
}

/* Of the table, for a variable that an operand names; PTX_NONE: it names none, or a copy. */
static uint32_t row_of(const struct borrow_writer *writer, const struct ptx_operand *operand)
{
    const struct ptx_variable *variable = variable_of(operand);
    if (!variable || (variable->space == PTX_SPACE_CONST && writer->copies))
        return PTX_NONE;
    return writer->borrowing->rows[variable->index];
}

/* The same operand, of a register that has the variable's address. */
static struct ptx_operand borrow(const struct borrow_writer *writer, const struct ptx_operand *operand)
{
    uint32_t row = row_of(writer, operand);
    bool is_address = operand->kind == PTX_OPERAND_ADDRESS_VARIABLE;
    if (row == PTX_NONE)
        return *operand;
    uint32_t base = code_register(&writer->code, "borrowed", PTX_TYPE_B64);
    int64_t offset = is_address && operand->offset == (int32_t)operand->offset ? operand->offset : 0;
    load_row(writer, NULL, row, ptx_register(base));
    if (operand->offset != offset)
        code_binary(&writer->code, CODE_ALL, PTX_OP_ADD, PTX_TYPE_S64, base, ptx_register(base),
                    ptx_integer(operand->offset));
    return is_address ? ptx_address(base, offset) : ptx_register(base);
}

/* Whether the instruction does nothing but give a register the address of a variable, which the load of the row does as well. */
static bool is_plain(const struct borrow_writer *writer, const struct ptx_instruction *instruction)
{
    const struct ptx_operand *operands = instruction->operands;
    if (instruction->opcode != PTX_OP_MOV && (instruction->opcode != PTX_OP_CVTA || instruction->to))
        return false;
    if (operands[0].kind != PTX_OPERAND_REGISTER || operands[1].kind != PTX_OPERAND_VARIABLE || operands[1].offset)
        return false;
    return ptx_types[writer->source->registers[operands[0].index].type].kind != PTX_KIND_FLOAT &&
           row_of(writer, &operands[1]) != PTX_NONE;
}

/* Constant memory becomes global memory. False: nothing has changed. */
static bool change_space(const struct borrow_writer *writer, struct ptx_instruction *instruction)
{
    const struct borrowing *borrowing = writer->borrowing;
    if (!borrowing->any_constant || instruction->space != PTX_SPACE_CONST || writer->copies)
        return false;
    if (instruction->opcode == PTX_OP_CVTA) { /* both are generic addresses now */
        instruction->opcode = PTX_OP_MOV;
        instruction->space = instruction->to = PTX_SUFFIX_NONE;
    } else if (instruction->opcode == PTX_OP_LD) {
        instruction->space = PTX_SPACE_GLOBAL;
        if (borrowing->source->target_sm >= READ_ONLY_SINCE && !instruction->semantics)
            instruction->noncoherent = PTX_NONCOHERENT_NC;
    } else {
        return false;
    }
    return true;
}

static bool names_any(const struct borrow_writer *writer, const struct ptx_instruction *instruction)
{
    const struct ptx_variable *variable;
    EACH_VARIABLE(instruction, variable)
    if (row_of(writer, &(struct ptx_operand){.kind = PTX_OPERAND_VARIABLE, .variable = variable}) != PTX_NONE)
        return true;
    return false;
}

static void write_borrowing(const struct borrow_writer *writer, const struct ptx_instruction *instruction)
{
    enum { MOST_OPERANDS = 16, MOST_ELEMENTS = 128 };
    struct ptx_operand operands[MOST_OPERANDS], elements[MOST_ELEMENTS];
    struct ptx_instruction changed = *instruction;
    uint32_t filled = 0;
    if (is_plain(writer, instruction)) {
        load_row(writer, instruction, writer->borrowing->rows[instruction->operands[1].variable->index],
                 instruction->operands[0]);
        return;
    }
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        operands[i] = borrow(writer, &instruction->operands[i]);
        bool has_elements = operands[i].kind == PTX_OPERAND_VECTOR || operands[i].kind == PTX_OPERAND_TEXEL;
        if (!has_elements || filled + operands[i].element_count > MOST_ELEMENTS)
            continue;
        for (uint32_t k = 0; k < operands[i].element_count; k++)
            elements[filled + k] = borrow(writer, &instruction->operands[i].elements[k]);
        operands[i].elements = &elements[filled];
        filled += operands[i].element_count;
    }
    if (!has_space(instruction))
        changed.space = PTX_SUFFIX_NONE; /* it was that of the variable */
    (void)change_space(writer, &changed);
    ptx_body_emit(writer->code.builder, changed, instruction->operand_count, operands);
}

static enum corun_status write_body(struct pass *pass, uint32_t function)
{
    const struct borrowing *borrowing = pass->user;
    struct borrow_writer writer = {borrowing, {pass->builder, function}, pass->source->functions[function], false};
    const struct ptx_instruction *next;
    while ((next = ptx_body_next(pass->builder))) {
        struct ptx_instruction changed = *next;
        writer.copies = reads_copies(borrowing, function, next);
        if (names_any(&writer, next) && !obstacle_of(next)) {
            write_borrowing(&writer, next);
            continue;
        }
        if (change_space(&writer, &changed))
            ptx_body_emit(pass->builder, changed, next->operand_count, next->operands);
        else
            pass_write(pass, function, next);
    }
    return CORUN_OK;
}

/* Into the arena of the new module. */
static enum corun_status describe(const struct borrowing *borrowing, struct rewritten *rewritten)
{
    struct arena *arena = rewritten->module->arena;
    struct rewritten_kernel *kernels = ARENA_ARRAY(arena, struct rewritten_kernel, rewritten->kernel_count + 1u);
    const char **names = ARENA_ARRAY(arena, const char *, borrowing->count + 1u);
    bool *copied = ARENA_ARRAY(arena, bool, borrowing->count + 1u);
    if (!kernels || !names || !copied)
        return CORUN_MEMORY;
    memcpy(copied, borrowing->copied, borrowing->count * sizeof *copied);
    for (uint32_t i = 0; i < borrowing->count; i++)
        if (!(names[i] = arena_copy_text(arena, borrowing->names[i], strlen(borrowing->names[i]))))
            return CORUN_MEMORY;
    for (uint32_t i = 0; i < rewritten->kernel_count; i++) {
        const struct borrow_list *list = &borrowing->lists[i];
        uint32_t *rows = ARENA_ARRAY(arena, uint32_t, list->count + 1u);
        if (!rows || (borrowing->any && !list->rows))
            return CORUN_MEMORY;
        if (list->count)
            memcpy(rows, list->rows, list->count * sizeof *rows);
        kernels[i] = rewritten->kernels[i];
        kernels[i].borrows = rows;
        kernels[i].borrow_count = list->count;
    }
    rewritten->kernels = kernels;
    rewritten->borrowed = names;
    rewritten->copied = copied;
    rewritten->borrowed_count = borrowing->count;
    rewritten->borrowed_table = borrowing->count ? borrowing->table->name : NULL;
    return CORUN_OK;
}

enum corun_status borrow_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                struct rewritten *rewritten)
{
    static const struct pass_rules rules = {
        .doing = "borrowing variables", .decide = decide, .prepare = prepare, .write = write_body};
    struct borrowing borrowing = {.source = source, .arena = arena_create()};
    *rewritten = (struct rewritten){0};
    enum corun_status status = borrowing.arena ? plan(&borrowing) : CORUN_MEMORY;
    if (status == CORUN_MEMORY)
        corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while borrowing variables");
    if (status == CORUN_OK)
        status = pass_run(&rules, &borrowing, source, list, rewritten);
    if (status == CORUN_OK && describe(&borrowing, rewritten) != CORUN_OK) {
        rewritten_destroy(rewritten);
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while borrowing variables");
    }
    arena_destroy(borrowing.arena);
    return status;
}

enum corun_status borrow_before(rewrite_pass *pass, const struct ptx_module *source, struct corun_diagnostics *list,
                                struct rewritten *rewritten)
{
    return rewrite_both(borrow_module, pass, source, list, rewritten);
}

enum corun_status borrow_and_slice(const struct ptx_module *source, struct corun_diagnostics *list,
                                   struct rewritten *rewritten)
{
    return borrow_before(slice_module, source, list, rewritten);
}

enum corun_status borrow_for_workers(const struct ptx_module *source, struct corun_diagnostics *list,
                                     struct rewritten *rewritten)
{
    return borrow_before(workers_completing_module, source, list, rewritten);
}
