/* SPDX-License-Identifier: MIT */
/* Do two modules say the same? Pointers are compared by what they mean: the index of what they point to. */
#include "ptx/module.h"

#include <string.h>

static bool equal_text(const char *left, const char *right)
{
    return !strcmp(left, right);
}

static bool equal_bytes(const void *left, const void *right, uint64_t bytes)
{
    return !bytes || !memcmp(left, right, bytes);
}

static bool equal_function_index(const struct ptx_function *left, const struct ptx_function *right)
{
    return !left == !right && (!left || left->index == right->index);
}

static bool equal_variable_index(const struct ptx_variable *left, const struct ptx_variable *right)
{
    return !left == !right &&
           (!left || (left->index == right->index && left->declared == right->declared && left->space == right->space &&
                      equal_function_index(left->function, right->function)));
}

static bool equal_variable(const struct ptx_variable *left, const struct ptx_variable *right)
{
    bool named = left->declared == PTX_DECLARED_MODULE;
    if ((named && !equal_text(left->name, right->name)) || left->space != right->space || left->type != right->type ||
        left->declared != right->declared || left->linkage != right->linkage ||
        left->pointer_space != right->pointer_space || left->is_pointer != right->is_pointer ||
        left->is_array != right->is_array || left->incomplete != right->incomplete || left->vector != right->vector ||
        left->align != right->align || left->pointer_align != right->pointer_align || left->index != right->index ||
        left->parameter_register != right->parameter_register || left->bytes != right->bytes ||
        left->offset != right->offset || left->dimension_count != right->dimension_count ||
        left->initial_bytes != right->initial_bytes || left->relocation_count != right->relocation_count ||
        !equal_function_index(left->function, right->function) ||
        !equal_bytes(left->dimensions, right->dimensions, left->dimension_count * sizeof *left->dimensions) ||
        !equal_bytes(left->initial, right->initial, left->initial_bytes))
        return false;
    for (uint32_t i = 0; i < left->relocation_count; i++) {
        const struct ptx_relocation *a = &left->relocations[i], *b = &right->relocations[i];
        if (a->offset != b->offset || a->bytes != b->bytes || a->shift != b->shift || a->addend != b->addend ||
            a->generic != b->generic || !equal_variable_index(a->variable, b->variable) ||
            !equal_function_index(a->function, b->function))
            return false;
    }
    return true;
}

static bool equal_variables(const struct ptx_variable *const *left, const struct ptx_variable *const *right,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!equal_variable(left[i], right[i]))
            return false;
    return true;
}

static bool equal_signature(const struct ptx_signature *left, const struct ptx_signature *right)
{
    return left->return_count == right->return_count && left->parameter_count == right->parameter_count &&
           left->noreturn == right->noreturn && equal_variables(left->returns, right->returns, left->return_count) &&
           equal_variables(left->parameters, right->parameters, left->parameter_count);
}

static bool equal_operands(const struct ptx_operand *left, const struct ptx_operand *right, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_operand *a = &left[i], *b = &right[i];
        if (a->kind != b->kind || a->negated != b->negated || a->element_count != b->element_count ||
            a->index != b->index || a->bits != b->bits)
            return false;
        uint32_t elements = a->kind == PTX_OPERAND_TARGETS ? a->index : a->element_count;
        bool same = true;
        if (a->kind == PTX_OPERAND_VECTOR || a->kind == PTX_OPERAND_TEXEL || a->kind == PTX_OPERAND_TARGETS)
            same = equal_operands(a->elements, b->elements, elements);
        else if (a->kind == PTX_OPERAND_VARIABLE || a->kind == PTX_OPERAND_ADDRESS_VARIABLE)
            same = equal_variable_index(a->variable, b->variable);
        else if (a->kind == PTX_OPERAND_FUNCTION)
            same = equal_function_index(a->function, b->function);
        if (!same)
            return false;
    }
    return true;
}

static bool equal_call(const struct ptx_call *left, const struct ptx_call *right)
{
    if (!left || !right)
        return left == right;
    if (!equal_function_index(left->function, right->function) || left->target != right->target ||
        left->target_count != right->target_count || left->result_count != right->result_count ||
        left->argument_count != right->argument_count || !left->targets != !right->targets)
        return false;
    for (uint32_t i = 0; left->targets && right->targets && i < left->target_count; i++)
        if (!equal_function_index(left->targets[i], right->targets[i]))
            return false;
    return (left->function || equal_signature(left->signature, right->signature)) &&
           equal_operands(left->results, right->results, left->result_count) &&
           equal_operands(left->arguments, right->arguments, left->argument_count);
}

static bool equal_instruction(const struct ptx_instruction *left, const struct ptx_instruction *right)
{
    return left->opcode == right->opcode && left->type_count == right->type_count &&
           left->operand_count == right->operand_count && !memcmp(left->types, right->types, sizeof left->types) &&
           !memcmp(left->fields, right->fields, sizeof left->fields) && left->columns == right->columns &&
           left->inner == right->inner && left->guard == right->guard && left->guard_negated == right->guard_negated &&
           left->carry_flag == right->carry_flag && left->parts == right->parts && left->whole == right->whole &&
           equal_operands(left->operands, right->operands, left->operand_count) &&
           equal_operands(&left->pair, &right->pair, 1) && equal_call(left->call, right->call);
}

static bool equal_directives(const struct ptx_function *left, const struct ptx_function *right)
{
    if (memcmp(left->maxntid, right->maxntid, sizeof left->maxntid) ||
        memcmp(left->reqntid, right->reqntid, sizeof left->reqntid) || left->minnctapersm != right->minnctapersm ||
        left->maxnctapersm != right->maxnctapersm || left->maxnreg != right->maxnreg ||
        memcmp(left->reqnctapercluster, right->reqnctapercluster, sizeof left->reqnctapercluster) ||
        left->maxclusterrank != right->maxclusterrank || left->explicitcluster != right->explicitcluster ||
        left->blocksareclusters != right->blocksareclusters || left->pragma_count != right->pragma_count)
        return false;
    for (uint32_t i = 0; i < left->pragma_count; i++)
        if (!equal_text(left->pragmas[i], right->pragmas[i]))
            return false;
    return true;
}

static bool equal_function(const struct ptx_function *left, const struct ptx_function *right)
{
    if (!equal_text(left->name, right->name) || left->is_entry != right->is_entry ||
        left->has_body != right->has_body || left->linkage != right->linkage ||
        left->parameter_bytes != right->parameter_bytes || left->register_count != right->register_count ||
        left->variable_count != right->variable_count || left->shared_count != right->shared_count ||
        left->label_count != right->label_count || left->instruction_count != right->instruction_count ||
        !equal_signature(&left->signature, &right->signature) || !equal_directives(left, right) ||
        !equal_variables(left->variables, right->variables, left->variable_count))
        return false;
    for (uint32_t i = 0; i < left->register_count; i++)
        if (left->registers[i].type != right->registers[i].type)
            return false;
    for (uint32_t i = 0; i < left->label_count; i++)
        if (left->labels[i].instruction != right->labels[i].instruction ||
            left->labels[i].nounroll != right->labels[i].nounroll)
            return false;
    for (uint32_t i = 0; i < left->instruction_count; i++)
        if (!equal_instruction(&left->instructions[i], &right->instructions[i]))
            return false;
    return true;
}

bool ptx_module_equal(const struct ptx_module *left, const struct ptx_module *right)
{
    if (left->version != right->version || !equal_text(left->target, right->target) ||
        !equal_text(left->target_options, right->target_options) || left->address_bits != right->address_bits ||
        left->variable_count != right->variable_count || left->function_count != right->function_count ||
        !equal_variables(left->variables, right->variables, left->variable_count))
        return false;
    for (uint32_t i = 0; i < left->function_count; i++)
        if (!equal_function(left->functions[i], right->functions[i]))
            return false;
    return true;
}
