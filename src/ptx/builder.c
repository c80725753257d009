/* SPDX-License-Identifier: MIT */
/*
 * The copy is made of objects that are ours to change; ptx_builder_finish brings them into the order in which ptx_parse would have
 * found them: registers of the signature first and the carry flag last, labels by position, variables of the top level first.
 */
#include "ptx/builder.h"

#include "base/vector.h"
#include "ptx/printer.h"
#include "ptx/source_lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct draft {
    struct ptx_function *function;
    VECTOR(const struct ptx_variable *) parameters;
    VECTOR(const struct ptx_variable *) variables;
    VECTOR(struct ptx_register) registers;
    VECTOR(struct ptx_label) labels;
    VECTOR(struct ptx_instruction) instructions;
};

/* The body that is being written. Its old labels come first and are in the order of their positions. */
struct writing {
    struct draft *draft; /* NULL: none */
    struct ptx_instruction *old;
    uint32_t old_count, next;             /* next: behind the instruction at hand */
    uint32_t old_label_count, next_label; /* next_label: the first old one that has not been placed */
};

struct ptx_builder {
    struct arena *arena; /* of the module */
    struct ptx_module *module;
    VECTOR(const struct ptx_variable *) variables;
    bool *removed; /* by index of the source; NULL: none */
    struct draft *drafts;
    uint32_t function_count;
    struct writing writing;
    bool out_of_memory;
};

#define push(builder, vector, value) ((builder)->out_of_memory |= !vector_push(vector, value))

/* Everything that is in the module is ours until it is finished. */
static struct ptx_variable *ours(const struct ptx_variable *variable)
{
    return (struct ptx_variable *)(uintptr_t)variable;
}

static void *allocate(struct ptx_builder *builder, size_t bytes)
{
    void *block = builder->out_of_memory ? NULL : arena_allocate(builder->arena, bytes ? bytes : 1);
    builder->out_of_memory |= !block;
    return block;
}

static void *copy(struct ptx_builder *builder, const void *data, size_t bytes)
{
    void *block = allocate(builder, bytes);
    if (block && bytes)
        memcpy(block, data, bytes);
    return block;
}

static const char *copy_text(struct ptx_builder *builder, const char *text)
{
    const char *copied = copy(builder, text, strlen(text) + 1);
    return copied ? copied : "";
}

/*
 * Copies: what a pointer of the source names has the same index here.
 */
static const struct ptx_function *our_function(const struct ptx_builder *builder, const struct ptx_function *function)
{
    return function ? builder->drafts[function->index].function : NULL;
}

static const struct ptx_variable *our_variable(const struct ptx_builder *builder, const struct ptx_variable *variable)
{
    if (!variable)
        return NULL;
    switch (variable->declared) {
    case PTX_DECLARED_PARAMETER:
        return builder->drafts[variable->function->index].function->signature.parameters[variable->index];
    case PTX_DECLARED_RETURN:
        return builder->drafts[variable->function->index].function->signature.returns[variable->index];
    default:
        if (variable->space == PTX_SPACE_LOCAL || variable->space == PTX_SPACE_PARAM)
            return builder->drafts[variable->function->index].variables.data[variable->index];
        return builder->variables.data[variable->index];
    }
}

static struct ptx_operand copy_operand(struct ptx_builder *builder, const struct ptx_operand *source);

static const struct ptx_operand *copy_operands(struct ptx_builder *builder, const struct ptx_operand *source,
                                               uint32_t count)
{
    struct ptx_operand *operands = allocate(builder, count * sizeof *operands);
    for (uint32_t i = 0; operands && i < count; i++)
        operands[i] = copy_operand(builder, &source[i]);
    return operands;
}

static uint32_t count_elements(const struct ptx_operand *operand)
{
    bool has = operand->kind == PTX_OPERAND_VECTOR || operand->kind == PTX_OPERAND_TEXEL;
    return operand->kind == PTX_OPERAND_TARGETS ? operand->index : has ? operand->element_count : 0;
}

static struct ptx_operand copy_operand(struct ptx_builder *builder, const struct ptx_operand *source)
{
    struct ptx_operand operand = *source;
    if (operand.kind == PTX_OPERAND_VARIABLE || operand.kind == PTX_OPERAND_ADDRESS_VARIABLE)
        operand.variable = our_variable(builder, source->variable);
    else if (operand.kind == PTX_OPERAND_FUNCTION)
        operand.function = our_function(builder, source->function);
    else if (count_elements(source))
        operand.elements = copy_operands(builder, source->elements, count_elements(source));
    return operand;
}

static struct ptx_variable *copy_variable(struct ptx_builder *builder, const struct ptx_variable *source)
{
    struct ptx_variable *variable = copy(builder, source, sizeof *source);
    if (!variable)
        return NULL;
    variable->name = copy_text(builder, source->name);
    variable->function = our_function(builder, source->function);
    variable->dimensions = copy(builder, source->dimensions, source->dimension_count * sizeof *source->dimensions);
    variable->initial = copy(builder, source->initial, source->initial_bytes);
    struct ptx_relocation *relocations =
        copy(builder, source->relocations, source->relocation_count * sizeof *source->relocations);
    variable->relocations = relocations; /* point into the source until all variables are there */
    return variable;
}

static void copy_relocations(struct ptx_builder *builder)
{
    for (size_t i = 0; i < builder->variables.count && !builder->out_of_memory; i++) {
        const struct ptx_variable *variable = builder->variables.data[i];
        struct ptx_relocation *relocations = (struct ptx_relocation *)(uintptr_t)variable->relocations;
        for (uint32_t k = 0; k < variable->relocation_count; k++) {
            relocations[k].variable = our_variable(builder, relocations[k].variable);
            relocations[k].function = our_function(builder, relocations[k].function);
        }
    }
}

static const struct ptx_variable *const *copy_variables(struct ptx_builder *builder,
                                                        const struct ptx_variable *const *source, uint32_t count)
{
    const struct ptx_variable **variables = allocate(builder, count * sizeof *variables);
    for (uint32_t i = 0; variables && i < count; i++)
        variables[i] = copy_variable(builder, source[i]);
    return variables;
}

static void copy_signature(struct ptx_builder *builder, struct ptx_signature *signature)
{
    signature->name = copy_text(builder, signature->name);
    signature->returns = copy_variables(builder, signature->returns, signature->return_count);
    signature->parameters = copy_variables(builder, signature->parameters, signature->parameter_count);
}

static const struct ptx_call *copy_call(struct ptx_builder *builder, const struct ptx_call *source)
{
    struct ptx_call *call = copy(builder, source, sizeof *source);
    if (!call)
        return NULL;
    call->function = our_function(builder, source->function);
    if (call->function) {
        call->signature = &call->function->signature;
    } else if (source->targets) {
        const struct ptx_function **targets = allocate(builder, source->target_count * sizeof *targets);
        for (uint32_t i = 0; targets && i < source->target_count; i++)
            targets[i] = our_function(builder, source->targets[i]);
        call->targets = targets;
        call->signature = targets ? &targets[0]->signature : NULL;
    } else {
        struct ptx_signature *signature = copy(builder, source->signature, sizeof *source->signature);
        if (signature)
            copy_signature(builder, signature);
        call->signature = signature;
    }
    call->results = copy_operands(builder, source->results, source->result_count);
    call->arguments = copy_operands(builder, source->arguments, source->argument_count);
    return call;
}

/* The function object and its signature; its body follows when all functions and variables are there. */
static void copy_heading(struct ptx_builder *builder, const struct ptx_function *source, struct ptx_function *function)
{
    *function = *source;
    function->name = copy_text(builder, source->name);
    copy_signature(builder, &function->signature);
    const char **pragmas = allocate(builder, source->pragma_count * sizeof *pragmas);
    for (uint32_t i = 0; pragmas && i < source->pragma_count; i++)
        pragmas[i] = copy_text(builder, source->pragmas[i]);
    function->pragmas = pragmas;
}

static void copy_body(struct ptx_builder *builder, const struct ptx_function *source)
{
    struct draft *draft = &builder->drafts[source->index];
    for (uint32_t i = 0; i < source->register_count; i++) {
        struct ptx_register row = source->registers[i];
        row.name = copy_text(builder, row.name);
        push(builder, &draft->registers, row);
    }
    for (uint32_t i = 0; i < source->label_count; i++) {
        struct ptx_label row = source->labels[i];
        row.name = copy_text(builder, row.name);
        push(builder, &draft->labels, row);
    }
    for (uint32_t i = 0; i < source->instruction_count && !builder->out_of_memory; i++) {
        struct ptx_instruction row = source->instructions[i];
        row.operands = copy_operands(builder, row.operands, row.operand_count);
        row.pair = copy_operand(builder, &row.pair);
        row.call = row.call ? copy_call(builder, row.call) : NULL;
        push(builder, &draft->instructions, row);
    }
}

static void copy_source_lines(struct ptx_builder *builder, const struct ptx_module *source)
{
    struct ptx_module *module = builder->module;
    module->source_lines =
        copy(builder, source->source_lines, source->source_line_count * sizeof *source->source_lines);
    struct ptx_source_file *files =
        copy(builder, source->source_files, source->source_file_count * sizeof *source->source_files);
    for (uint32_t i = 0; files && i < source->source_file_count; i++)
        files[i].path = copy_text(builder, source->source_files[i].path);
    module->source_files = files;
}

static void copy_module(struct ptx_builder *builder, const struct ptx_module *source)
{
    struct ptx_module *module = builder->module = copy(builder, source, sizeof *source);
    builder->drafts = calloc(source->function_count + 1u, sizeof *builder->drafts);
    builder->out_of_memory |= !builder->drafts;
    if (builder->out_of_memory)
        return;
    builder->function_count = source->function_count;
    module->arena = builder->arena;
    module->file = copy_text(builder, source->file);
    module->target = copy_text(builder, source->target);
    module->target_options = copy_text(builder, source->target_options);
    copy_source_lines(builder, source);
    struct ptx_function *functions = allocate(builder, source->function_count * sizeof *functions);
    if (!functions)
        return;
    for (uint32_t i = 0; i < source->function_count; i++)
        builder->drafts[i].function = &functions[i];
    for (uint32_t i = 0; i < source->function_count && !builder->out_of_memory; i++) {
        struct draft *draft = &builder->drafts[i];
        const struct ptx_function *function = source->functions[i];
        copy_heading(builder, function, &functions[i]);
        for (uint32_t k = 0; k < function->signature.parameter_count && !builder->out_of_memory; k++)
            push(builder, &draft->parameters, draft->function->signature.parameters[k]);
        for (uint32_t k = 0; k < function->variable_count && !builder->out_of_memory; k++)
            push(builder, &draft->variables, copy_variable(builder, function->variables[k]));
    }
    for (uint32_t i = 0; i < source->variable_count && !builder->out_of_memory; i++)
        push(builder, &builder->variables, copy_variable(builder, source->variables[i]));
    copy_relocations(builder);
    for (uint32_t i = 0; i < source->function_count && !builder->out_of_memory; i++)
        copy_body(builder, source->functions[i]);
}

struct ptx_builder *ptx_builder_create(const struct ptx_module *source)
{
    struct ptx_builder *builder = calloc(1, sizeof *builder);
    if (!builder || !(builder->arena = arena_create())) {
        free(builder);
        return NULL;
    }
    copy_module(builder, source);
    if (builder->out_of_memory) {
        ptx_builder_destroy(builder);
        return NULL;
    }
    return builder;
}

static void end_writing(struct ptx_builder *builder)
{
    free(builder->writing.old);
    builder->writing = (struct writing){0};
}

void ptx_builder_destroy(struct ptx_builder *builder)
{
    if (!builder)
        return;
    for (uint32_t i = 0; i < builder->function_count; i++) {
        struct draft *draft = &builder->drafts[i];
        vector_free(&draft->parameters);
        vector_free(&draft->variables);
        vector_free(&draft->registers);
        vector_free(&draft->labels);
        vector_free(&draft->instructions);
    }
    end_writing(builder);
    free(builder->drafts);
    free(builder->removed);
    vector_free(&builder->variables);
    arena_destroy(builder->arena);
    free(builder);
}

/* A function, or a variable of the top level. */
static bool is_taken(const struct ptx_builder *builder, const struct draft *draft, const char *name)
{
    for (uint32_t i = 0; i < builder->function_count; i++)
        if (!strcmp(builder->drafts[i].function->name, name))
            return true;
    for (size_t i = 0; i < builder->variables.count; i++)
        if (!builder->variables.data[i]->function && !strcmp(builder->variables.data[i]->name, name))
            return true;
    for (size_t i = 0; draft && i < draft->parameters.count; i++)
        if (!strcmp(draft->parameters.data[i]->name, name))
            return true;
    const struct ptx_signature *signature = draft ? &draft->function->signature : NULL;
    for (uint32_t i = 0; signature && i < signature->return_count; i++)
        if (!strcmp(signature->returns[i]->name, name))
            return true;
    return false;
}

static const char *unique_name(struct ptx_builder *builder, const struct draft *draft, const char *wanted)
{
    const char *name = copy_text(builder, wanted);
    for (uint32_t i = 1; !builder->out_of_memory && is_taken(builder, draft, name); i++) {
        name = arena_format(builder->arena, "%s$%u", wanted, i);
        builder->out_of_memory |= !name;
    }
    return name;
}

const struct ptx_function *ptx_builder_function(struct ptx_builder *builder, uint32_t function)
{
    struct draft *draft = &builder->drafts[function];
#define SHOW(list, vector) \
    draft->function->list##s = draft->vector.data; \
    draft->function->list##_count = (uint32_t)draft->vector.count
    SHOW(signature.parameter, parameters);
    SHOW(variable, variables);
    SHOW(register, registers);
    SHOW(label, labels);
    SHOW(instruction, instructions);
#undef SHOW
    return draft->function;
}

static bool is_carry_flag(const struct ptx_register *row)
{
    return !*row->name;
}

uint32_t ptx_builder_register(struct ptx_builder *builder, uint32_t function, const char *name, enum ptx_type type)
{
    struct draft *draft = &builder->drafts[function];
    struct ptx_register row = {copy_text(builder, name), (uint8_t)type};
    push(builder, &draft->registers, row);
    if (builder->out_of_memory)
        return 0;
    size_t index = draft->registers.count - 1;
    if (index && is_carry_flag(&draft->registers.data[index - 1])) { /* stays the last one, as ptx_parse has it */
        draft->registers.data[index] = draft->registers.data[index - 1];
        draft->registers.data[--index] = row;
    }
    return (uint32_t)index;
}

/* What an element of a type is aligned to. */
static uint32_t natural_bytes(enum ptx_type type)
{
    return ptx_types[type].bits / 8u;
}

static struct ptx_variable *add_parameter(struct ptx_builder *builder, uint32_t function, const char *name,
                                          enum ptx_type type)
{
    struct draft *draft = &builder->drafts[function];
    struct ptx_variable *parameter = allocate(builder, sizeof *parameter);
    if (!parameter)
        return NULL;
    *parameter = (struct ptx_variable){.name = unique_name(builder, draft, name),
                                       .function = draft->function,
                                       .space = PTX_SPACE_PARAM,
                                       .type = (uint8_t)type,
                                       .declared = PTX_DECLARED_PARAMETER,
                                       .vector = 1,
                                       .align = natural_bytes(type),
                                       .bytes = natural_bytes(type),
                                       .index = (uint32_t)draft->parameters.count,
                                       .parameter_register = PTX_NONE,
                                       .place = draft->function->place};
    push(builder, &draft->parameters, (const struct ptx_variable *)parameter);
    return parameter;
}

const struct ptx_variable *ptx_builder_parameter(struct ptx_builder *builder, uint32_t function, const char *name,
                                                 enum ptx_type type)
{
    return add_parameter(builder, function, name, type);
}

const struct ptx_variable *ptx_builder_parameter_bytes(struct ptx_builder *builder, uint32_t function, const char *name,
                                                       uint64_t bytes, uint32_t align)
{
    struct ptx_variable *parameter = add_parameter(builder, function, name, PTX_TYPE_B8);
    if (!parameter)
        return NULL;
    parameter->is_array = true;
    parameter->align = align;
    parameter->bytes = bytes;
    parameter->dimension_count = 1;
    parameter->dimensions = copy(builder, &bytes, sizeof bytes);
    return parameter;
}

void ptx_builder_need_version(struct ptx_builder *builder, uint32_t version)
{
    if (builder->module && builder->module->version < version)
        builder->module->version = version;
}

const struct ptx_variable *ptx_builder_variable(struct ptx_builder *builder, enum ptx_suffix space, const char *name,
                                                enum ptx_type type, uint64_t count, uint32_t align)
{
    struct ptx_variable *variable = allocate(builder, sizeof *variable);
    if (!variable)
        return NULL;
    *variable = (struct ptx_variable){.name = unique_name(builder, NULL, name),
                                      .space = (uint8_t)space,
                                      .type = (uint8_t)type,
                                      .declared = PTX_DECLARED_MODULE,
                                      .is_array = true,
                                      .vector = 1,
                                      .align = align,
                                      .bytes = natural_bytes(type) * count,
                                      .dimension_count = 1,
                                      .dimensions = copy(builder, &count, sizeof count)};
    push(builder, &builder->variables, (const struct ptx_variable *)variable);
    return variable;
}

void ptx_builder_remove_variable(struct ptx_builder *builder, uint32_t index)
{
    if (!builder->removed)
        builder->removed = calloc(builder->module->variable_count + 1u, sizeof *builder->removed);
    builder->out_of_memory |= !builder->removed;
    if (builder->removed)
        builder->removed[index] = true;
}

void ptx_builder_clear_variable(struct ptx_builder *builder, uint32_t index)
{
    struct ptx_variable *variable = ours(builder->variables.data[index]);
    variable->initial = NULL;
    variable->initial_bytes = 0;
    variable->relocations = NULL;
    variable->relocation_count = 0;
}

const struct ptx_variable *ptx_builder_variable_of(const struct ptx_builder *builder, uint32_t index)
{
    return builder->variables.data[index];
}

uint32_t ptx_builder_replace_special(struct ptx_builder *builder, uint32_t function, enum ptx_special_register special,
                                     uint32_t register_index)
{
    struct draft *draft = &builder->drafts[function];
    uint32_t replaced = 0;
    assert(!builder->writing.draft);
    for (size_t i = 0; i < draft->instructions.count && !builder->out_of_memory; i++) {
        struct ptx_instruction *instruction = &draft->instructions.data[i];
        /* only mov and cvt read special registers, as their second operand */
        if (instruction->operand_count != 2 || instruction->operands[1].kind != PTX_OPERAND_SPECIAL ||
            instruction->operands[1].index != special)
            continue;
        ((struct ptx_operand *)(uintptr_t)instruction->operands)[1] = ptx_register(register_index);
        uint8_t type = ptx_special_registers[special].type;
        if (instruction->opcode == PTX_OP_MOV && ptx_types[instruction->types[0]].bits < ptx_types[type].bits) {
            instruction->opcode =
                PTX_OP_CVT; /* the low half: mov.u16 takes it from a special register, not from a register */
            instruction->types[0] = PTX_TYPE_U16;
            instruction->types[1] = type;
            instruction->type_count = 2;
        }
        replaced++;
    }
    return replaced;
}

void ptx_body_begin(struct ptx_builder *builder, uint32_t function)
{
    struct draft *draft = &builder->drafts[function];
    assert(!builder->writing.draft && draft->function->has_body);
    builder->writing = (struct writing){.draft = draft,
                                        .old = draft->instructions.data,
                                        .old_count = (uint32_t)draft->instructions.count,
                                        .old_label_count = (uint32_t)draft->labels.count};
    draft->instructions.data = NULL;
    draft->instructions.count = draft->instructions.capacity = 0;
}

const struct ptx_instruction *ptx_body_next(struct ptx_builder *builder)
{
    struct writing *writing = &builder->writing;
    struct draft *draft = writing->draft;
    for (; writing->next_label < writing->old_label_count; writing->next_label++) {
        if (draft->labels.data[writing->next_label].instruction > writing->next)
            break;
        ptx_body_place_label(builder, writing->next_label);
    }
    return writing->next < writing->old_count ? &writing->old[writing->next++] : NULL;
}

void ptx_body_keep(struct ptx_builder *builder)
{
    const struct writing *writing = &builder->writing;
    assert(writing->next);
    push(builder, &writing->draft->instructions, writing->old[writing->next - 1]);
}

void ptx_body_keep_call(struct ptx_builder *builder, uint32_t count, const struct ptx_operand *arguments)
{
    const struct ptx_instruction *old = &builder->writing.old[builder->writing.next - 1];
    assert(builder->writing.next && old->call && old->call->function);
    uint32_t before = old->call->argument_count;
    struct ptx_call *call = copy(builder, old->call, sizeof *old->call);
    struct ptx_operand *all = allocate(builder, (before + count) * sizeof *all);
    if (!call || !all)
        return;
    for (uint32_t i = 0; i < before + count; i++)
        all[i] = i < before ? old->call->arguments[i] : arguments[i - before];
    call->arguments = all;
    call->argument_count = before + count;
    struct ptx_instruction instruction = *old;
    instruction.call = call;
    push(builder, &builder->writing.draft->instructions, instruction);
}

void ptx_body_emit(struct ptx_builder *builder, struct ptx_instruction instruction, uint32_t count,
                   const struct ptx_operand *operands)
{
    const struct writing *writing = &builder->writing;
    assert(!instruction.carry && count <= UINT8_MAX);
    struct ptx_operand *copied = copy(builder, operands, count * sizeof *operands);
    for (uint32_t i = 0; copied && i < count; i++)
        if (count_elements(&operands[i]))
            copied[i].elements =
                copy(builder, operands[i].elements, count_elements(&operands[i]) * sizeof *operands[i].elements);
    instruction.operands = copied;
    instruction.operand_count = (uint8_t)count;
    instruction.place = writing->next ? writing->old[writing->next - 1].place : writing->draft->function->place;
    push(builder, &writing->draft->instructions, instruction);
}

uint32_t ptx_body_label(struct ptx_builder *builder, const char *name)
{
    struct draft *draft = builder->writing.draft;
    struct ptx_label row = {copy_text(builder, name), PTX_NONE, draft->function->place, false};
    push(builder, &draft->labels, row);
    return builder->out_of_memory ? 0 : (uint32_t)draft->labels.count - 1;
}

void ptx_body_place_label(struct ptx_builder *builder, uint32_t label)
{
    struct draft *draft = builder->writing.draft;
    if (!builder->out_of_memory)
        draft->labels.data[label].instruction = (uint32_t)draft->instructions.count;
}

static void renumber_labels(const struct ptx_operand *operands, uint32_t count, const uint32_t *numbers)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_operand *operand = (struct ptx_operand *)(uintptr_t)&operands[i];
        if (operand->kind == PTX_OPERAND_LABEL)
            operand->index = numbers[operand->index];
        else if (operand->kind == PTX_OPERAND_TARGETS)
            renumber_labels(operand->elements, operand->index, numbers);
    }
}

/* Labels by position; those of one position stay in their order. */
static void sort_labels(struct ptx_builder *builder, struct draft *draft)
{
    size_t count = draft->labels.count, positions = draft->instructions.count + 1;
    uint32_t *starts = calloc(positions + 1, sizeof *starts), *numbers = calloc(count + 1, sizeof *numbers);
    struct ptx_label *sorted = calloc(count + 1, sizeof *sorted);
    builder->out_of_memory |= !starts || !numbers || !sorted;
    if (!builder->out_of_memory) {
        for (size_t i = 0; i < count; i++) {
            assert(draft->labels.data[i].instruction != PTX_NONE);
            starts[draft->labels.data[i].instruction + 1]++;
        }
        for (size_t i = 1; i <= positions; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < count; i++) {
            numbers[i] = starts[draft->labels.data[i].instruction]++;
            sorted[numbers[i]] = draft->labels.data[i];
        }
        if (count)
            memcpy(draft->labels.data, sorted, count * sizeof *sorted);
        for (size_t i = 0; i < draft->instructions.count; i++)
            renumber_labels(draft->instructions.data[i].operands, draft->instructions.data[i].operand_count, numbers);
    }
    free(starts);
    free(numbers);
    free(sorted);
}

void ptx_body_end(struct ptx_builder *builder)
{
    struct writing *writing = &builder->writing;
    assert(writing->draft);
    while (ptx_body_next(builder))
        ptx_body_keep(builder);
    if (!builder->out_of_memory)
        sort_labels(builder, writing->draft);
    end_writing(builder);
}

/* Shared variables that a body declares or names, each once. */
struct noting {
    VECTOR(const struct ptx_variable *) shared;
    uint32_t *noted_by; /* by index of the variable: the last function, from 1 */
    uint32_t function;  /* from 1 */
};

static void note_variable(struct ptx_builder *builder, struct noting *noting, const struct ptx_variable *variable)
{
    if (variable->space != PTX_SPACE_SHARED || noting->noted_by[variable->index] == noting->function)
        return;
    noting->noted_by[variable->index] = noting->function;
    push(builder, &noting->shared, variable);
}

static void note_operands(struct ptx_builder *builder, struct noting *noting, const struct ptx_operand *operands,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (operands[i].kind == PTX_OPERAND_VARIABLE || operands[i].kind == PTX_OPERAND_ADDRESS_VARIABLE)
            note_variable(builder, noting, operands[i].variable);
        else if (operands[i].kind != PTX_OPERAND_TARGETS)
            note_operands(builder, noting, operands[i].elements, count_elements(&operands[i]));
    }
}

static void note_body(struct ptx_builder *builder, struct noting *noting, const struct draft *draft)
{
    struct ptx_function *function = draft->function;
    noting->shared.count = 0;
    noting->function = function->index + 1;
    for (size_t i = 0; i < builder->variables.count; i++)
        if (builder->variables.data[i]->function == function)
            note_variable(builder, noting, builder->variables.data[i]);
    for (size_t i = 0; i < draft->instructions.count; i++)
        note_operands(builder, noting, draft->instructions.data[i].operands, draft->instructions.data[i].operand_count);
    function->shared_count = (uint32_t)noting->shared.count;
    function->shared = copy(builder, noting->shared.data, noting->shared.count * sizeof *noting->shared.data);
}

static void finish_function(struct ptx_builder *builder, struct draft *draft)
{
    struct ptx_function *function = draft->function;
    uint32_t flag = (uint32_t)draft->registers.count - 1;
    for (size_t i = 0; i < draft->instructions.count; i++)
        if (draft->instructions.data[i].carry_flag != PTX_NONE)
            draft->instructions.data[i].carry_flag = flag;
    uint64_t offset = 0;
    for (size_t i = 0; i < draft->parameters.count; i++) {
        struct ptx_variable *parameter = ours(draft->parameters.data[i]);
        parameter->offset = offset = (offset + parameter->align - 1) & ~(uint64_t)(parameter->align - 1);
        offset += parameter->bytes;
    }
    function->parameter_bytes = offset;
#define KEEP(list, vector) \
    function->list##_count = (uint32_t)draft->vector.count; \
    function->list##s = copy(builder, draft->vector.data, draft->vector.count * sizeof *draft->vector.data)
    KEEP(signature.parameter, parameters);
    KEEP(variable, variables);
    KEEP(register, registers);
    KEEP(label, labels);
    KEEP(instruction, instructions);
#undef KEEP
}

/* Variables of the top level come before those of bodies. The module still counts those of the source. */
static void finish_variables(struct ptx_builder *builder)
{
    uint32_t count = (uint32_t)builder->variables.count, before = builder->module->variable_count, filled = 0;
    const struct ptx_variable **sorted = allocate(builder, count * sizeof *sorted);
    for (int of_bodies = 0; sorted && of_bodies < 2; of_bodies++)
        for (uint32_t i = 0; i < count; i++)
            if ((builder->variables.data[i]->function != NULL) == of_bodies &&
                !(builder->removed && i < before && builder->removed[i])) {
                sorted[filled] = builder->variables.data[i];
                ours(sorted[filled])->index = filled;
                filled++;
            }
    builder->module->variables = sorted;
    builder->module->variable_count = filled;
}

static void finish_module(struct ptx_builder *builder)
{
    struct noting noting = {.noted_by = calloc(builder->variables.count + 1, sizeof *noting.noted_by)};
    const struct ptx_function **functions = allocate(builder, builder->function_count * sizeof *functions);
    builder->out_of_memory |= !noting.noted_by;
    finish_variables(builder);
    for (uint32_t i = 0; i < builder->function_count && !builder->out_of_memory; i++) {
        note_body(builder, &noting, &builder->drafts[i]);
        finish_function(builder, &builder->drafts[i]);
        functions[i] = builder->drafts[i].function;
    }
    builder->module->functions = functions;
    vector_free(&noting.shared);
    free(noting.noted_by);
}

enum corun_status ptx_builder_finish(struct ptx_builder *builder, struct corun_diagnostics *list,
                                     struct ptx_module **module)
{
    char *text = NULL;
    size_t bytes;
    struct ptx_module *again = NULL;
    enum corun_status status = CORUN_MEMORY;
    assert(!builder->writing.draft && builder->arena);
    *module = NULL;
    if (!builder->out_of_memory)
        finish_module(builder);
    if (!builder->out_of_memory)
        status = ptx_print(builder->module, &text, &bytes);
    if (status == CORUN_OK)
        status = ptx_parse("rewritten", text, bytes, list, &again);
    if (status == CORUN_OK && !ptx_prints_copies(builder->module) && !ptx_module_equal(builder->module, again))
        status = corun_report(list, CORUN_SYNTAX, CORUN_NOWHERE, "the rewritten module reads as another one");
    else if (status == CORUN_MEMORY)
        corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while rewriting PTX");
    free(text);
    ptx_module_destroy(again);
    if (status == CORUN_OK) {
        *module = builder->module;
        builder->arena = NULL; /* the module's */
    }
    return status;
}
