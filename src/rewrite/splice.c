/* SPDX-License-Identifier: MIT */
/* Instructions of a template, with its registers, labels and variables replaced by those of the body that it goes to. */
#include "rewrite/splice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VARIABLES 4u

struct splice {
    struct ptx_module *module;
    const struct ptx_function *template;
    struct ptx_builder *builder;
    uint32_t function;
    uint32_t *registers; /* by register of the template; PTX_NONE: not wanted so far */
    uint32_t *labels;    /* by label of the template */
    struct {
        const char *name;
        const struct ptx_variable *variable;
    } variables[MOST_VARIABLES];
    uint32_t variable_count;
    uint32_t next; /* instruction of the template */
};

struct splice *splice_create(const char *text, size_t bytes)
{
    struct splice *splice = calloc(1, sizeof *splice);
    if (!splice)
        return NULL;
    enum corun_status status = ptx_parse("template", text, bytes, NULL, &splice->module);
    assert(status == CORUN_OK || status == CORUN_MEMORY);
    if (status == CORUN_OK) {
        splice->template = splice->module->functions[splice->module->function_count - 1];
        return splice;
    }
    free(splice);
    return NULL;
}

void splice_destroy(struct splice *splice)
{
    if (!splice)
        return;
    ptx_module_destroy(splice->module);
    free(splice->registers);
    free(splice->labels);
    free(splice);
}

bool splice_begin(struct splice *splice, struct ptx_builder *builder, uint32_t function)
{
    const struct ptx_function *template = splice->template;
    free(splice->registers);
    free(splice->labels);
    splice->builder = builder;
    splice->function = function;
    splice->next = splice->variable_count = 0;
    splice->registers = malloc((template->register_count + 1u) * sizeof *splice->registers);
    splice->labels = malloc((template->label_count + 1u) * sizeof *splice->labels);
    if (!splice->registers || !splice->labels)
        return false;
    memset(splice->registers, 0xff, template->register_count * sizeof *splice->registers);
    for (uint32_t i = 0; i < template->label_count; i++)
        splice->labels[i] = ptx_body_label(builder, template->labels[i].name);
    return true;
}

static uint32_t find_register(const struct splice *splice, const char *name)
{
    uint32_t i = 0;
    while (strcmp(splice->template->registers[i].name, name) != 0)
        i++;
    return i;
}

void splice_bind(struct splice *splice, const char *name, uint32_t register_index)
{
    splice->registers[find_register(splice, name)] = register_index;
}

void splice_variable(struct splice *splice, const char *name, const struct ptx_variable *variable)
{
    assert(splice->variable_count < MOST_VARIABLES);
    splice->variables[splice->variable_count].name = name;
    splice->variables[splice->variable_count++].variable = variable;
}

static uint32_t register_of(struct splice *splice, uint32_t index)
{
    if (index == PTX_NONE)
        return PTX_NONE;
    const struct ptx_register *row = &splice->template->registers[index];
    if (splice->registers[index] == PTX_NONE)
        splice->registers[index] = ptx_builder_register(splice->builder, splice->function, row->name, row->type);
    return splice->registers[index];
}

uint32_t splice_register(struct splice *splice, const char *name)
{
    return register_of(splice, find_register(splice, name));
}

uint32_t splice_label(const struct splice *splice, const char *name)
{
    uint32_t i = 0;
    while (strcmp(splice->template->labels[i].name, name) != 0)
        i++;
    return splice->labels[i];
}

static const struct ptx_variable *variable_of(const struct splice *splice, const struct ptx_variable *variable)
{
    uint32_t i = 0;
    while (strcmp(splice->variables[i].name, variable->name) != 0)
        i++;
    return splice->variables[i].variable;
}

static struct ptx_operand operand_of(struct splice *splice, const struct ptx_operand *operand)
{
    struct ptx_operand copy = *operand;
    switch (operand->kind) {
    case PTX_OPERAND_REGISTER:
    case PTX_OPERAND_ADDRESS:
        copy.index = register_of(splice, operand->index);
        break;
    case PTX_OPERAND_LABEL:
        copy.index = splice->labels[operand->index];
        break;
    case PTX_OPERAND_ADDRESS_VARIABLE:
    case PTX_OPERAND_VARIABLE:
        copy.variable = variable_of(splice, operand->variable);
        break;
    default:
        break;
    }
    return copy;
}

static void place_labels(const struct splice *splice)
{
    for (uint32_t i = 0; i < splice->template->label_count; i++)
        if (splice->template->labels[i].instruction == splice->next)
            ptx_body_place_label(splice->builder, splice->labels[i]);
}

static void write_instruction(struct splice *splice, const struct ptx_instruction *source)
{
    struct ptx_instruction instruction = *source;
    struct ptx_operand operands[8], elements[4];
    instruction.guard = register_of(splice, source->guard);
    for (uint32_t i = 0; i < source->operand_count; i++) {
        operands[i] = operand_of(splice, &source->operands[i]);
        if (operands[i].kind != PTX_OPERAND_VECTOR)
            continue;
        for (uint32_t k = 0; k < operands[i].element_count; k++)
            elements[k] = operand_of(splice, &operands[i].elements[k]);
        operands[i].elements = elements;
    }
    ptx_body_emit(splice->builder, instruction, source->operand_count, operands);
}

void splice_until(struct splice *splice, enum ptx_opcode opcode)
{
    const struct ptx_function *template = splice->template;
    for (; splice->next < template->instruction_count; splice->next++) {
        const struct ptx_instruction *next = &template->instructions[splice->next];
        if (next->opcode == opcode)
            break;
        place_labels(splice);
        write_instruction(splice, next);
    }
    place_labels(splice);
    splice->next++;
}

void splice_rest(struct splice *splice)
{
    splice_until(splice, PTX_OP_NONE);
}
