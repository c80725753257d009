/* SPDX-License-Identifier: MIT */
/*
 * Scopes are gone from a module, so a body is written flat: names that were used in more than one scope get a suffix, $1, $2, …
 * Device functions are declared first, then the variables, then come the bodies.
 */
#include "ptx/printer.h"

#include "ptx/lexer.h"
#include "ptx/matrix.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_PER_LINE 10u
#define VALUES_PER_LINE 16u

struct printer {
    char *text;
    size_t length, capacity;
    bool out_of_memory;
    const struct ptx_module *module;
    struct arena *arena;
    struct name_table names;
    /* of the function being printed */
    const struct ptx_function *function;
    const char **registers, **labels, **variables, **statics; /* names by index; statics: variables of the module */
    uint32_t prototypes;
};

static void put(struct printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct printer *printer, const char *format, ...)
{
    for (;;) {
        size_t room = printer->capacity - printer->length;
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(printer->text + printer->length, room, format, arguments);
        va_end(arguments);
        if (printer->out_of_memory || length < 0)
            return;
        if ((size_t)length < room) {
            printer->length += (size_t)length;
            return;
        }
        size_t capacity = printer->capacity * 2 + (size_t)length;
        char *text = realloc(printer->text, capacity);
        if (!text) {
            printer->out_of_memory = true;
            return;
        }
        printer->text = text;
        printer->capacity = capacity;
    }
}

/* `wanted`, or `wanted$1`, … if that is taken in the function or at the top level. */
static const char *take_name(struct printer *printer, const char *wanted)
{
    const char *text = wanted;
    for (uint32_t i = 1;; i++) {
        struct name *name = text ? name_intern(&printer->names, text, strlen(text)) : NULL;
        if (!name) {
            printer->out_of_memory = true;
            return "";
        }
        if (!name->mark || (name->mark != printer->module && name->mark != printer->function)) {
            name->mark = printer->function ? (const void *)printer->function : (const void *)printer->module;
            return name->text;
        }
        text = arena_format(printer->arena, "%s$%u", wanted, i);
    }
}

static const char *variable_name(const struct printer *printer, const struct ptx_variable *variable)
{
    if (variable->declared != PTX_DECLARED_FUNCTION)
        return variable->name;
    bool is_local = variable->space == PTX_SPACE_LOCAL || variable->space == PTX_SPACE_PARAM;
    return is_local ? printer->variables[variable->index] : printer->statics[variable->index];
}

static void put_linkage(struct printer *printer, uint8_t linkage)
{
    static const char *const words[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
    put(printer, "%s", words[linkage]);
}

static uint64_t element_bytes(const struct ptx_variable *variable)
{
    return (uint64_t)ptx_types[variable->type].bits / 8 * variable->vector;
}

static void put_shape(struct printer *printer, const struct ptx_variable *variable, const char *name)
{
    put(printer, ".%s ", variable->space ? ptx_suffixes[variable->space].word : "reg");
    if (variable->space && variable->align != element_bytes(variable))
        put(printer, ".align %u ", variable->align);
    if (variable->vector > 1)
        put(printer, ".v%u ", variable->vector);
    put(printer, ".%s ", ptx_types[variable->type].word);
    if (variable->is_pointer) {
        put(printer, ".ptr ");
        if (variable->pointer_space)
            put(printer, ".%s ", ptx_suffixes[variable->pointer_space].word);
        if (variable->pointer_align)
            put(printer, ".align %u ", variable->pointer_align);
    }
    put(printer, "%s", name);
    for (uint32_t i = 0; i < variable->dimension_count; i++) {
        if (variable->incomplete && !i)
            put(printer, "[]");
        else
            put(printer, "[%llu]", (unsigned long long)variable->dimensions[i]);
    }
}

static void put_parameters(struct printer *printer, const struct ptx_variable *const *list, uint32_t count)
{
    put(printer, "(");
    for (uint32_t i = 0; i < count; i++) {
        put(printer, i ? ", " : "");
        put_shape(printer, list[i], list[i]->name);
    }
    put(printer, ")");
}

static void put_relocation(struct printer *printer, const struct ptx_relocation *relocation)
{
    const char *name = relocation->variable ? variable_name(printer, relocation->variable) : relocation->function->name;
    bool masked = relocation->bytes == 1;
    if (masked)
        put(printer, "0x%llX(", 0xffull << relocation->shift);
    put(printer, relocation->generic ? "generic(%s)" : "%s", name);
    if (relocation->addend)
        put(printer, "+%lld", (long long)relocation->addend);
    if (masked)
        put(printer, ")");
}

static void put_element(struct printer *printer, const struct ptx_variable *variable, uint64_t offset, uint64_t bytes)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < bytes && offset + i < variable->initial_bytes; i++)
        bits |= (uint64_t)variable->initial[offset + i] << (8 * i);
    if (variable->type == PTX_TYPE_F32)
        put(printer, "0f%08llX", (unsigned long long)bits);
    else if (variable->type == PTX_TYPE_F64)
        put(printer, "0d%016llX", (unsigned long long)bits);
    else
        put(printer, "%llu", (unsigned long long)bits);
}

/* The values of what lies at one index of the first DEPTH dimensions; the elements of a vector are the last dimension. */
static uint64_t values_below(const struct ptx_variable *variable, uint32_t depth)
{
    uint64_t count = variable->vector;
    for (uint32_t i = depth; i < variable->dimension_count; i++)
        count *= variable->dimensions[i];
    return count;
}

/* How many braces within the outer ones begin, and how many end, before value NUMBER. */
static uint32_t inner_braces(const struct ptx_variable *variable, uint64_t number)
{
    uint32_t count = 0;
    uint32_t depths = variable->dimension_count + (variable->vector > 1);
    for (uint32_t depth = 1; depth < depths; depth++)
        count += number % values_below(variable, depth) == 0;
    return count;
}

static void put_times(struct printer *printer, const char *text, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put(printer, "%s", text);
}

static void put_initial(struct printer *printer, const struct ptx_variable *variable)
{
    uint64_t bytes = ptx_types[variable->type].bits / 8;
    uint64_t count = (variable->initial_bytes + bytes - 1) / bytes;
    uint32_t next = 0;
    if (variable->relocation_count) {
        uint64_t last = variable->relocations[variable->relocation_count - 1].offset / bytes + 1;
        count = last > count ? last : count;
    }
    if (!count)
        return;
    bool braces = variable->is_array || variable->vector > 1;
    put(printer, braces ? " = {" : " = ");
    for (uint64_t i = 0; i < count; i++) {
        uint32_t inner = inner_braces(variable, i);
        put_times(printer, "}", i ? inner : 0);
        put(printer, i && i % VALUES_PER_LINE == 0 ? ",\n    " : i ? ", " : "");
        put_times(printer, "{", inner);
        if (next < variable->relocation_count && variable->relocations[next].offset == i * bytes)
            put_relocation(printer, &variable->relocations[next++]);
        else
            put_element(printer, variable, i * bytes, bytes);
    }
    put_times(printer, "}", inner_braces(variable, 0) + braces);
}

static void put_variable(struct printer *printer, const struct ptx_variable *variable, const char *name)
{
    put_linkage(printer, variable->linkage);
    put_shape(printer, variable, name);
    put_initial(printer, variable);
    put(printer, ";\n");
}

static void put_signature(struct printer *printer, const struct ptx_function *function, bool is_declaration)
{
    const struct ptx_signature *signature = &function->signature;
    put_linkage(printer, function->linkage);
    put(printer, function->is_entry ? ".entry " : ".func ");
    if (signature->return_count) {
        put_parameters(printer, signature->returns, signature->return_count);
        put(printer, " ");
    }
    put(printer, "%s ", function->name);
    put_parameters(printer, signature->parameters, signature->parameter_count);
    if (signature->noreturn)
        put(printer, " .noreturn");
    put(printer, is_declaration ? ";\n" : "\n");
}

static void put_directives(struct printer *printer, const struct ptx_function *function)
{
    if (function->maxntid[0] || function->maxntid[1])
        put(printer, ".maxntid %u, %u, %u\n", function->maxntid[0], function->maxntid[1], function->maxntid[2]);
    if (function->reqntid[0] || function->reqntid[1])
        put(printer, ".reqntid %u, %u, %u\n", function->reqntid[0], function->reqntid[1], function->reqntid[2]);
    if (function->minnctapersm)
        put(printer, ".minnctapersm %u\n", function->minnctapersm);
    if (function->maxnctapersm)
        put(printer, ".maxnctapersm %u\n", function->maxnctapersm);
    if (function->maxnreg)
        put(printer, ".maxnreg %u\n", function->maxnreg);
    if (function->explicitcluster)
        put(printer, ".explicitcluster\n");
    if (function->reqnctapercluster[0])
        put(printer, ".reqnctapercluster %u, %u, %u\n", function->reqnctapercluster[0], function->reqnctapercluster[1],
            function->reqnctapercluster[2]);
    if (function->blocksareclusters)
        put(printer, ".blocksareclusters\n");
    if (function->maxclusterrank)
        put(printer, ".maxclusterrank %u\n", function->maxclusterrank);
    for (uint32_t i = 0; i < function->pragma_count; i++)
        put(printer, ".pragma \"%s\";\n", function->pragmas[i]);
}

static void put_offset(struct printer *printer, int64_t offset)
{
    if (offset)
        put(printer, "+%lld", (long long)offset);
}

static void put_operand(struct printer *printer, const struct ptx_operand *operand)
{
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
        put(printer, "%s%s", operand->negated ? "!" : "", printer->registers[operand->index]);
        break;
    case PTX_OPERAND_INTEGER:
        put(printer, "%lld", (long long)operand->offset);
        break;
    case PTX_OPERAND_F32:
        put(printer, "0f%08llX", (unsigned long long)operand->bits);
        break;
    case PTX_OPERAND_F64:
        put(printer, "0d%016llX", (unsigned long long)operand->bits);
        break;
    case PTX_OPERAND_SPECIAL:
        put(printer, "%s", ptx_special_registers[operand->index].text);
        break;
    case PTX_OPERAND_ADDRESS:
        put(printer, "[%s", printer->registers[operand->index]);
        put_offset(printer, operand->offset);
        put(printer, "]");
        break;
    case PTX_OPERAND_ADDRESS_VARIABLE:
        put(printer, "[%s", variable_name(printer, operand->variable));
        put_offset(printer, operand->offset);
        put(printer, "]");
        break;
    case PTX_OPERAND_ADDRESS_ABSOLUTE:
        put(printer, "[%lld]", (long long)operand->offset);
        break;
    case PTX_OPERAND_VARIABLE:
        put(printer, "%s", variable_name(printer, operand->variable));
        put_offset(printer, operand->offset);
        break;
    case PTX_OPERAND_FUNCTION:
        put(printer, "%s", operand->function->name);
        break;
    case PTX_OPERAND_LABEL:
        put(printer, "%s", printer->labels[operand->index]);
        break;
    case PTX_OPERAND_TEXEL:
        put(printer, "[");
        put_operand(printer, &operand->elements[0]);
        for (uint32_t i = 1; i < operand->element_count; i++) {
            put(printer, i > 1 ? ", " : ", {");
            put_operand(printer, &operand->elements[i]);
        }
        put(printer, "}]");
        break;
    case PTX_OPERAND_VECTOR:
        for (uint32_t i = 0; i < operand->element_count; i++) {
            put(printer, i ? ", " : "{");
            put_operand(printer, &operand->elements[i]);
        }
        put(printer, "}");
        break;
    default:
        put(printer, "_");
    }
}

static void put_list(struct printer *printer, const struct ptx_operand *operands, uint32_t count)
{
    put(printer, "(");
    for (uint32_t i = 0; i < count; i++) {
        put(printer, i ? ", " : "");
        put_operand(printer, &operands[i]);
    }
    put(printer, ")");
}

/* What an indirect call may reach, in front of it; returns its name, NULL for a direct call. */
static const char *put_callee(struct printer *printer, const struct ptx_call *call)
{
    if (call->function)
        return NULL;
    const char *wanted = arena_format(printer->arena, "callee_%u", printer->prototypes++);
    const char *name = wanted ? take_name(printer, wanted) : "";
    printer->out_of_memory |= !wanted;
    if (call->targets) {
        put(printer, "%s: .calltargets ", name);
        for (uint32_t i = 0; i < call->target_count; i++)
            put(printer, "%s%s", i ? ", " : "", call->targets[i]->name);
        put(printer, ";\n");
        return name;
    }
    const struct ptx_signature *signature = call->signature;
    put(printer, "%s: .callprototype ", name);
    put_parameters(printer, signature->returns, signature->return_count);
    put(printer, " _ ");
    put_parameters(printer, signature->parameters, signature->parameter_count);
    put(printer, "%s;\n", signature->noreturn ? " .noreturn" : "");
    return name;
}

static void put_call(struct printer *printer, const struct ptx_call *call, const char *callee)
{
    put(printer, " ");
    if (call->result_count) {
        put_list(printer, call->results, call->result_count);
        put(printer, ", ");
    }
    put(printer, "%s", call->function ? call->function->name : printer->registers[call->target]);
    if (call->argument_count) {
        put(printer, ", ");
        put_list(printer, call->arguments, call->argument_count);
    }
    if (callee)
        put(printer, ", %s", callee);
}

static void put_fields(struct printer *printer, const struct ptx_instruction *instruction, const uint8_t *fields,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (instruction->fields[fields[i]])
            put(printer, ".%s", ptx_suffixes[instruction->fields[fields[i]]].word);
        if (fields[i] == PTX_FIELD_SHAPE && instruction->columns)
            put(printer, "n%uk%u", instruction->columns, instruction->inner);
    }
}

static void put_types(struct printer *printer, const struct ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->type_count; i++)
        put(printer, ".%s", ptx_types[instruction->types[i]].word);
}

/* Instructions of matrices have an order of their own, in which wmma puts the layouts before the shape. */
static void put_matrix_suffixes(struct printer *printer, const struct ptx_instruction *instruction)
{
    static const uint8_t usual[] = {PTX_FIELD_ALIGNED, PTX_FIELD_SHAPE,         PTX_FIELD_NUMBER, PTX_FIELD_TRANS,
                                    PTX_FIELD_LAYOUT,  PTX_FIELD_SECOND_LAYOUT, PTX_FIELD_SPACE};
    static const uint8_t wmma[] = {PTX_FIELD_ALIGNED, PTX_FIELD_LAYOUT, PTX_FIELD_SECOND_LAYOUT, PTX_FIELD_SHAPE,
                                   PTX_FIELD_SPACE};
    static const uint8_t saturates[] = {PTX_FIELD_SATFINITE};
    static const uint8_t last[] = {PTX_FIELD_ROUNDING, PTX_FIELD_ATOMIC, PTX_FIELD_REDUCTION};
    bool before = instruction->opcode == PTX_OP_MMA_SYNC || instruction->opcode == PTX_OP_MMA_SP_SYNC;
    if (instruction->opcode >= PTX_OP_WMMA_MMA_SYNC && instruction->opcode <= PTX_OP_WMMA_STORE_D_SYNC)
        put_fields(printer, instruction, wmma, sizeof wmma);
    else
        put_fields(printer, instruction, usual, sizeof usual);
    put_fields(printer, instruction, saturates, before);
    put_types(printer, instruction);
    put_fields(printer, instruction, last, sizeof last);
    put_fields(printer, instruction, saturates, !before);
}

static void put_mnemonic(struct printer *printer, const struct ptx_instruction *instruction)
{
    put(printer, "%s", ptx_opcodes[instruction->opcode].word);
    if (ptx_is_matrix(instruction->opcode) || instruction->number || instruction->trans) {
        put_matrix_suffixes(printer, instruction);
        return;
    }
    bool video = ptx_is_video(instruction->opcode) || ptx_is_scalar_video(instruction->opcode) ||
                 ptx_is_video_comparison(instruction->opcode); /* all their words come behind the types */
    for (uint32_t i = 0; i < PTX_FIELD_COUNT; i++)
        if (instruction->fields[i] && i != PTX_FIELD_PERMUTE && i != PTX_FIELD_OUTSIDE && !video)
            put(printer, ".%s%s", ptx_suffixes[instruction->fields[i]].word,
                instruction->map_field && instruction->fields[i] == PTX_SPACE_SHARED ? "::cta" : "");
    put_types(printer, instruction);
    uint8_t behind = instruction->permute ? instruction->permute : instruction->outside;
    if (behind)
        put(printer, ".%s", ptx_suffixes[behind].word);
    static const uint8_t words[] = {PTX_FIELD_PLUS,  PTX_FIELD_SAT,        PTX_FIELD_SCALE,
                                    PTX_FIELD_SHIFT, PTX_FIELD_COMPARISON, PTX_FIELD_ATOMIC};
    if (video)
        put_fields(printer, instruction, words, sizeof words);
}

/* The table of a brx.idx, in front of it; returns its name. */
static const char *put_branch_targets(struct printer *printer, const struct ptx_operand *targets)
{
    const char *wanted = arena_format(printer->arena, "targets_%u", printer->prototypes++);
    const char *name = wanted ? take_name(printer, wanted) : "";
    printer->out_of_memory |= !wanted;
    put(printer, "%s: .branchtargets ", name);
    for (uint32_t i = 0; i < targets->index; i++)
        put(printer, "%s%s", i ? ", " : "", printer->labels[targets->elements[i].index]);
    put(printer, ";\n");
    return name;
}

/* Operand `index`, of a scalar video operation possibly a part of it, or negated. */
static void put_with_part(struct printer *printer, const struct ptx_instruction *instruction, uint32_t index)
{
    static const char *const words[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1", ""};
    if (index && instruction->parts & PTX_PART_NEGATES(index - 1))
        put(printer, "-");
    put_operand(printer, &instruction->operands[index]);
    if (index < 3)
        put(printer, "%s", words[instruction->parts >> index * PTX_PART_BITS & 7u]);
}

static void put_guard(struct printer *printer, const struct ptx_instruction *instruction)
{
    put(printer, "    ");
    if (instruction->guard != PTX_NONE)
        put(printer, "@%s%s ", instruction->guard_negated ? "!" : "", printer->registers[instruction->guard]);
}

/* An operation of .b128: its halves to registers of that type before, and from them behind. */
static void put_wide(struct printer *printer, const struct ptx_instruction *instruction)
{
    struct ptx_instruction wide = *instruction;
    const char *names[4] = {NULL};
    uint32_t count = instruction->operand_count;
    wide.types[0] = PTX_TYPE_B128;
    wide.vector = PTX_SUFFIX_NONE;
    put(printer, "    {\n");
    for (uint32_t i = 0; i < count; i++)
        if (instruction->operands[i].kind == PTX_OPERAND_VECTOR) {
            names[i] = take_name(printer, "%wide");
            put(printer, "    .reg .b128 %s;\n", names[i]);
        }
    bool writes = instruction->opcode != PTX_OP_ST;
    for (uint32_t i = writes; i < count; i++)
        if (names[i]) {
            put(printer, "    mov.b128 %s, ", names[i]);
            put_operand(printer, &instruction->operands[i]);
            put(printer, ";\n");
        }
    put_guard(printer, instruction);
    put_mnemonic(printer, &wide);
    for (uint32_t i = 0; i < count; i++) {
        put(printer, i ? ", " : " ");
        if (names[i])
            put(printer, "%s", names[i]);
        else
            put_operand(printer, &instruction->operands[i]);
    }
    put(printer, ";\n");
    if (writes && names[0]) {
        put_guard(printer, instruction);
        put(printer, "mov.b128 ");
        put_operand(printer, &instruction->operands[0]);
        put(printer, ", %s;\n", names[0]);
    }
    put(printer, "    }\n");
}

static void put_instruction(struct printer *printer, const struct ptx_instruction *instruction)
{
    if (instruction->whole || instruction->types[0] == PTX_TYPE_B128) {
        put_wide(printer, instruction);
        return;
    }
    const char *callee = instruction->call ? put_callee(printer, instruction->call) : NULL;
    const char *table =
        instruction->opcode == PTX_OP_BRX_IDX ? put_branch_targets(printer, &instruction->operands[1]) : NULL;
    put_guard(printer, instruction);
    put_mnemonic(printer, instruction);
    if (instruction->call)
        put_call(printer, instruction->call, callee);
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        put(printer, i ? ", " : " ");
        if (instruction->operands[i].kind == PTX_OPERAND_TARGETS)
            put(printer, "%s", table);
        else
            put_with_part(printer, instruction, i);
        if (!i && instruction->pair.kind != PTX_OPERAND_NONE) {
            put(printer, "|");
            put_operand(printer, &instruction->pair);
        }
    }
    put(printer, ";\n");
}

static void put_registers(struct printer *printer, const struct ptx_function *function)
{
    uint32_t first = 0; /* registers of the signature are declared there */
    const struct ptx_signature *signature = &function->signature;
    for (uint32_t i = 0; i < signature->return_count; i++)
        first += signature->returns[i]->space == PTX_SUFFIX_NONE;
    for (uint32_t i = 0; i < signature->parameter_count; i++)
        first += signature->parameters[i]->space == PTX_SUFFIX_NONE;
    for (uint32_t i = first; i < function->register_count; i++) {
        const struct ptx_register *row = &function->registers[i];
        if (!*row->name) /* the carry flag */
            continue;
        bool alike = i > first && row[-1].type == row->type && (i - first) % NAMES_PER_LINE;
        if (alike)
            put(printer, ", %s", printer->registers[i]);
        else
            put(printer, "%s    .reg .%s %s", i > first ? ";\n" : "", ptx_types[row->type].word, printer->registers[i]);
    }
    put(printer, function->register_count > first && *function->registers[first].name ? ";\n" : "");
}

/* Gives every name of a body a spelling of its own. */
static bool choose_names(struct printer *printer, const struct ptx_function *function)
{
    struct arena *arena = printer->arena;
    printer->registers = ARENA_ARRAY(arena, const char *, function->register_count + 1);
    printer->labels = ARENA_ARRAY(arena, const char *, function->label_count + 1);
    printer->variables = ARENA_ARRAY(arena, const char *, function->variable_count + 1);
    if (!printer->registers || !printer->labels || !printer->variables)
        return false;
    uint32_t next = 0; /* parameters keep their names: they are in the signature */
    for (int list = 0; list < 2; list++) {
        const struct ptx_signature *signature = &function->signature;
        uint32_t count = list ? signature->parameter_count : signature->return_count;
        for (uint32_t i = 0; i < count; i++) {
            const struct ptx_variable *variable = list ? signature->parameters[i] : signature->returns[i];
            struct name *name = name_intern(&printer->names, variable->name, strlen(variable->name));
            if (!name)
                return false;
            if (name->mark != printer->module)
                name->mark = function;
            if (variable->space == PTX_SUFFIX_NONE)
                printer->registers[next++] = variable->name;
        }
    }
    for (uint32_t i = next; i < function->register_count; i++)
        printer->registers[i] = *function->registers[i].name ? take_name(printer, function->registers[i].name) : "";
    for (uint32_t i = 0; i < function->variable_count; i++)
        printer->variables[i] = take_name(printer, function->variables[i]->name);
    for (uint32_t i = 0; i < printer->module->variable_count; i++)
        if (printer->module->variables[i]->function == function)
            printer->statics[i] = take_name(printer, printer->module->variables[i]->name);
    for (uint32_t i = 0; i < function->label_count; i++)
        printer->labels[i] = take_name(printer, function->labels[i].name);
    return !printer->out_of_memory;
}

static int by_place(const void *left, const void *right)
{
    const struct ptx_label *a = *(const struct ptx_label *const *)left, *b = *(const struct ptx_label *const *)right;
    return a->instruction != b->instruction ? (a->instruction > b->instruction) - (a->instruction < b->instruction)
                                            : (a > b) - (a < b);
}

/* A pass may have added labels behind all others: they are written where they are. */
static void put_code(struct printer *printer, const struct ptx_function *function)
{
    const struct ptx_label **labels =
        ARENA_ARRAY(printer->arena, const struct ptx_label *, (size_t)function->label_count + 1);
    if (!labels) {
        printer->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < function->label_count; i++)
        labels[i] = &function->labels[i];
    qsort(labels, function->label_count, sizeof *labels, by_place);
    uint32_t next = 0;
    for (uint32_t i = 0; i <= function->instruction_count; i++) {
        for (; next < function->label_count && labels[next]->instruction == i; next++) {
            put(printer, "%s:\n", printer->labels[labels[next] - function->labels]);
            /* it counts for the labels above it */
            bool more = next + 1 < function->label_count && labels[next + 1]->instruction == i;
            if (labels[next]->nounroll && !(more && labels[next + 1]->nounroll))
                put(printer, "    .pragma \"nounroll\";\n");
        }
        if (i < function->instruction_count)
            put_instruction(printer, &function->instructions[i]);
    }
}

static void put_function(struct printer *printer, const struct ptx_function *function)
{
    printer->function = function;
    printer->prototypes = 0;
    printer->out_of_memory |= !choose_names(printer, function);
    if (printer->out_of_memory)
        return;
    put(printer, "\n");
    put_signature(printer, function, false);
    put_directives(printer, function);
    put(printer, "{\n");
    put_registers(printer, function);
    for (uint32_t i = 0; i < printer->module->variable_count; i++) {
        const struct ptx_variable *variable = printer->module->variables[i];
        if (variable->function == function) {
            put(printer, "    ");
            put_variable(printer, variable, printer->statics[i]);
        }
    }
    for (uint32_t i = 0; i < function->variable_count; i++) {
        put(printer, "    ");
        put_variable(printer, function->variables[i], printer->variables[i]);
    }
    put_code(printer, function);
    put(printer, "}\n");
    printer->function = NULL;
}

/* A variable whose initial value names one that comes later: then all are announced first. */
static bool names_later_variable(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->variable_count; i++)
        for (uint32_t k = 0; k < module->variables[i]->relocation_count; k++)
            if (module->variables[i]->relocations[k].variable && !module->variables[i]->function &&
                module->variables[i]->relocations[k].variable->index > i)
                return true;
    return false;
}

static void put_variables(struct printer *printer)
{
    const struct ptx_module *module = printer->module;
    bool announce = names_later_variable(module);
    for (uint32_t i = 0; announce && i < module->variable_count; i++) {
        if (module->variables[i]->function || module->variables[i]->linkage == PTX_LINKAGE_EXTERN)
            continue;
        put(printer, ".extern ");
        put_shape(printer, module->variables[i], module->variables[i]->name);
        put(printer, ";\n");
    }
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (!module->variables[i]->function)
            put_variable(printer, module->variables[i], module->variables[i]->name);
}

static void put_module(struct printer *printer)
{
    const struct ptx_module *module = printer->module;
    for (uint32_t i = 0; i < module->function_count; i++)
        take_name(printer, module->functions[i]->name);
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (!module->variables[i]->function)
            take_name(printer, module->variables[i]->name);
    put(printer, ".version %u.%u\n.target %s%s%s\n", module->version / 100, module->version % 100, module->target,
        *module->target_options ? ", " : "", module->target_options);
    put(printer, ".address_size %u\n\n", module->address_bits);
    for (uint32_t i = 0; i < module->function_count; i++)
        if (!module->functions[i]->is_entry || !module->functions[i]->has_body)
            put_signature(printer, module->functions[i], true);
    put_variables(printer);
    for (uint32_t i = 0; i < module->function_count; i++)
        if (module->functions[i]->has_body)
            put_function(printer, module->functions[i]);
}

bool ptx_prints_copies(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        for (uint32_t k = 0; k < module->functions[i]->instruction_count; k++) {
            const struct ptx_instruction *instruction = &module->functions[i]->instructions[k];
            if (instruction->whole || instruction->types[0] == PTX_TYPE_B128)
                return true;
        }
    return false;
}

enum corun_status ptx_print(const struct ptx_module *module, char **text, size_t *bytes)
{
    struct printer printer = {.module = module, .capacity = 4096};
    *text = NULL;
    *bytes = 0;
    printer.text = calloc(1, printer.capacity);
    printer.arena = arena_create();
    if (printer.arena)
        printer.statics = ARENA_ARRAY(printer.arena, const char *, (size_t)module->variable_count + 1);
    printer.out_of_memory =
        !printer.text || !printer.arena || !printer.statics || !name_table_create(&printer.names, printer.arena);
    if (!printer.out_of_memory)
        put_module(&printer);
    name_table_destroy(&printer.names);
    arena_destroy(printer.arena);
    if (printer.out_of_memory) {
        free(printer.text);
        return CORUN_MEMORY;
    }
    *text = printer.text;
    *bytes = printer.length;
    return CORUN_OK;
}
