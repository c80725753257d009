/* SPDX-License-Identifier: MIT */
/* Modules, their kernels, and module instances: a module in the memory of one application. */
#include "assemble/assemble.h"
#include "isa/executor.h"
#include "ptx/register_count.h"
#include "ptx/source_lines.h"

#include "base/text_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT (UINT64_C(256) << 20)
#define PARAMETER_RANGE_BYTES 32768u

static enum corun_status out_of_memory(struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
}

void corun_module_destroy(struct corun_module *module)
{
    if (!module)
        return;
    ptx_module_destroy(module->ptx);
    arena_destroy(module->arena);
    free(module);
}

static void note_function_operands(const struct corun_module *module, const struct ptx_operand *operands,
                                   uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].kind == PTX_OPERAND_FUNCTION)
            module->address_taken[operands[i].function->index] = true;
}

/* Functions whose address is a value somewhere: an indirect call may reach any of them. */
static void find_addresses(const struct corun_module *module)
{
    const struct ptx_module *ptx = module->ptx;
    for (uint32_t i = 0; i < ptx->function_count; i++)
        for (uint32_t k = 0; k < ptx->functions[i]->instruction_count; k++) {
            const struct ptx_instruction *instruction = &ptx->functions[i]->instructions[k];
            note_function_operands(module, instruction->operands, instruction->operand_count);
        }
    for (uint32_t i = 0; i < ptx->variable_count; i++)
        for (uint32_t k = 0; k < ptx->variables[i]->relocation_count; k++)
            if (ptx->variables[i]->relocations[k].function)
                module->address_taken[ptx->variables[i]->relocations[k].function->index] = true;
}

/* What all kernels of the module share. */
static enum corun_status analyse_functions(struct corun_module *module, struct corun_diagnostics *list)
{
    const struct ptx_module *ptx = module->ptx;
    module->registers = ARENA_ARRAY(module->arena, struct function_registers, ptx->function_count + 1);
    module->allocations = ARENA_ARRAY(module->arena, struct ptx_allocation, ptx->function_count + 1);
    module->address_taken = ARENA_ARRAY(module->arena, bool, ptx->function_count + 1);
    if (!module->registers || !module->allocations || !module->address_taken)
        return out_of_memory(list);
    for (uint32_t i = 0; i < ptx->function_count; i++) {
        if (!ptx->functions[i]->has_body)
            continue;
        if (function_registers_create(ptx->functions[i], module->arena, &module->registers[i]) != CORUN_OK)
            return out_of_memory(list);
        module->allocations[i] = module->registers[i].allocation;
    }
    find_addresses(module);
    return CORUN_OK;
}

static enum corun_status decode_kernels(struct corun_module *module, struct corun_diagnostics *list)
{
    const struct ptx_module *ptx = module->ptx;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ptx->function_count; i++)
        count += ptx->functions[i]->is_entry && ptx->functions[i]->has_body;
    module->kernels = ARENA_ARRAY(module->arena, struct corun_kernel, count ? count : 1);
    if (!module->kernels)
        return out_of_memory(list);
    enum corun_status first = CORUN_OK;
    for (uint32_t i = 0; i < ptx->function_count; i++) {
        const struct ptx_function *function = ptx->functions[i];
        if (!function->is_entry || !function->has_body)
            continue;
        struct corun_kernel *kernel = &module->kernels[module->kernel_count];
        kernel->module = module;
        kernel->index = module->kernel_count++;
        enum corun_status status = decode_kernel(module, function, list, kernel);
        if (first == CORUN_OK)
            first = status;
        module->code_length += kernel->code_length;
    }
    return first;
}

enum corun_status corun_module_load(const char *name, const char *text, size_t bytes, struct corun_diagnostics *list,
                                    struct corun_module **module)
{
    return corun_module_assemble(name, text, bytes, ASSEMBLE_NOTHING, list, module);
}

enum corun_status corun_module_assemble(const char *name, const char *text, size_t bytes, uint32_t rewrites,
                                        struct corun_diagnostics *list, struct corun_module **result)
{
    *result = NULL;
    struct corun_module *module = calloc(1, sizeof *module);
    if (!module)
        return out_of_memory(list);
    module->arena = arena_create();
    enum corun_status status = module->arena ? ptx_parse(name, text, bytes, list, &module->ptx) : out_of_memory(list);
    assert(status != CORUN_OK || module->ptx);
    if (status == CORUN_OK && module->ptx->address_bits != 64)
        status = corun_report(list, CORUN_UNSUPPORTED, (struct corun_place){module->ptx->file, 0, 0},
                              "not supported: .address_size 32");
    if (status == CORUN_OK && assemble_module(module->ptx, rewrites) != CORUN_OK)
        status = out_of_memory(list);
    if (status == CORUN_OK)
        status = analyse_functions(module, list);
    if (status == CORUN_OK)
        status = decode_kernels(module, list);
    if (status != CORUN_OK) {
        corun_module_destroy(module);
        return status;
    }
    *result = module;
    return CORUN_OK;
}

/* FILE.ptx → FILE.ptxas; NULL if the name ends otherwise or memory is short. */
static char *log_path_of(const char *path)
{
    size_t length = strlen(path);
    char *log_path = length > 4 && strcmp(path + length - 4, ".ptx") == 0 ? malloc(length + 3) : NULL;
    if (log_path)
        snprintf(log_path, length + 3, "%sas", path);
    return log_path;
}

void corun_module_take_registers(struct corun_module *module, const char *log, size_t bytes)
{
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        struct corun_kernel_info *info = &module->kernels[i].info;
        if (!ptx_assembler_registers(log, bytes, info->name, &info->registers_per_thread))
            continue;
        info->registers_from = "assembler";
        info->bounds = (struct corun_launch_bounds){0};
    }
}

void corun_module_take_log(struct corun_module *module, const char *path)
{
    char *log_path = log_path_of(path), *log;
    size_t bytes;
    if (log_path && text_file_read(log_path, FILE_LIMIT, NULL, &log, &bytes) == CORUN_OK) {
        corun_module_take_registers(module, log, bytes);
        free(log);
    }
    free(log_path);
}

enum corun_status corun_module_load_file(const char *path, struct corun_diagnostics *list, struct corun_module **module)
{
    return corun_module_assemble_file(path, ASSEMBLE_NOTHING, list, module);
}

enum corun_status corun_module_assemble_file(const char *path, uint32_t rewrites, struct corun_diagnostics *list,
                                             struct corun_module **module)
{
    *module = NULL;
    char *text;
    size_t bytes;
    enum corun_status status = text_file_read(path, FILE_LIMIT, list, &text, &bytes);
    if (status != CORUN_OK)
        return status;
    status = corun_module_assemble(path, text, bytes, rewrites, list, module);
    free(text);
    if (status == CORUN_OK && *module)
        corun_module_take_log(*module, path);
    return status;
}

_Static_assert(CORUN_SOURCE_LINE_BYTES == PTX_SOURCE_TEXT, "one text");
const char *corun_module_source_line(const struct corun_module *module, uint32_t ptx_line,
                                     char text[CORUN_SOURCE_LINE_BYTES])
{
    return ptx_source_text(module->ptx, ptx_line, text);
}

uint32_t corun_kernel_line(const struct corun_kernel *kernel)
{
    const struct ptx_module *ptx = kernel->module->ptx;
    for (uint32_t i = 0; i < ptx->function_count; i++)
        if (ptx->functions[i]->is_entry && ptx->functions[i]->instruction_count &&
            !strcmp(ptx->functions[i]->name, kernel->info.name))
            return ptx->functions[i]->instructions[0].place.line;
    return 0;
}

size_t corun_module_kernel_count(const struct corun_module *module)
{
    return module->kernel_count;
}

const struct corun_kernel *corun_module_kernel_at(const struct corun_module *module, size_t index)
{
    return index < module->kernel_count ? &module->kernels[index] : NULL;
}

const struct corun_kernel *corun_module_kernel(const struct corun_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].info.name, name) == 0)
            return &module->kernels[i];
    return NULL;
}

void corun_kernel_describe(const struct corun_kernel *kernel, struct corun_kernel_info *info)
{
    *info = kernel->info;
}

static bool lives_in_memory(const struct ptx_variable *variable)
{
    return variable->space == PTX_SPACE_GLOBAL || variable->space == PTX_SPACE_CONST;
}

uint64_t module_variable_bytes(const struct corun_module *module)
{
    const struct ptx_module *ptx = module->ptx;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ptx->variable_count; i++)
        if (lives_in_memory(ptx->variables[i]))
            sum = ptx->variables[i]->bytes < UINT64_MAX - sum ? sum + ptx->variables[i]->bytes : UINT64_MAX;
    return sum;
}

static struct corun_place place_of(const struct corun_module *module, const struct ptx_variable *variable)
{
    return (struct corun_place){module->ptx->file, variable->place.line, variable->place.column};
}

static enum corun_status allocate_variables(struct corun_module_instance *instance, struct corun_diagnostics *list)
{
    const struct ptx_module *ptx = instance->module->ptx;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *variable = ptx->variables[i];
        if (!lives_in_memory(variable))
            continue;
        if (variable->bytes == 0) {
            if (variable->linkage == PTX_LINKAGE_EXTERN)
                return corun_report(list, CORUN_UNSUPPORTED, place_of(instance->module, variable),
                                    "not supported: variable %s, which another module defines", variable->name);
            continue;
        }
        assert(instance->variable_address); /* made with the instance */
        uint64_t *address = &instance->variable_address[i];
        if (corun_memory_allocate(instance->memory, variable->bytes, address) != CORUN_OK ||
            !memory_name(instance->memory, *address, "variable %s", variable->name))
            return corun_report(list, CORUN_MEMORY, place_of(instance->module, variable),
                                "out of memory for the %llu bytes of variable %s", (unsigned long long)variable->bytes,
                                variable->name);
    }
    for (uint32_t i = 0; i < ptx->variable_count; i++)
        for (uint32_t r = 0; r < ptx->variables[i]->relocation_count; r++) {
            const struct ptx_variable *target = ptx->variables[i]->relocations[r].variable;
            if (target && !lives_in_memory(target))
                return corun_report(list, CORUN_UNSUPPORTED, place_of(instance->module, ptx->variables[i]),
                                    "not supported: address of %s in an initial value, which differs by kernel",
                                    target->name);
        }
    return CORUN_OK;
}

static void initialise_variable(struct corun_module_instance *instance, const struct ptx_variable *variable)
{
    uint64_t address = instance->variable_address[variable->index];
    uint8_t *host = corun_memory_pointer(instance->memory, address, variable->bytes);
    if (!host)
        return;
    memory_clear(instance->memory, address);
    if (variable->initial_bytes)
        memcpy(host, variable->initial, variable->initial_bytes);
    for (uint32_t i = 0; i < variable->relocation_count; i++) {
        const struct ptx_relocation *relocation = &variable->relocations[i];
        if (relocation->offset + relocation->bytes > variable->bytes || relocation->bytes > 8)
            continue;
        uint64_t value = relocation->function ? function_address(relocation->function->index)
                                              : instance->variable_address[relocation->variable->index];
        value = (value + (uint64_t)relocation->addend) >> relocation->shift;
        memcpy(host + relocation->offset, &value, relocation->bytes);
    }
}

void corun_module_instance_reset(struct corun_module_instance *instance)
{
    const struct ptx_module *ptx = instance->module->ptx;
    for (uint32_t i = 0; i < ptx->variable_count; i++)
        if (instance->variable_address[i])
            initialise_variable(instance, ptx->variables[i]);
}

/* Constant pools with the addresses that variables have got in this instance. */
static bool relocate_constants(struct corun_module_instance *instance)
{
    const struct corun_module *module = instance->module;
    instance->constants = calloc(module->kernel_count ? module->kernel_count : 1, sizeof *instance->constants);
    if (!instance->constants)
        return false;
    for (uint32_t k = 0; k < module->kernel_count; k++) {
        const struct corun_kernel *kernel = &module->kernels[k];
        size_t bytes = (size_t)(kernel->constant_slots ? kernel->constant_slots : 1) * SLOT_BYTES;
        uint8_t *pool = instance->constants[k] = aligned_alloc(64, bytes);
        if (!pool)
            return false;
        if (kernel->constant_slots)
            memcpy(pool, kernel->constants, bytes);
        for (uint32_t i = 0; i < kernel->relocation_count; i++) {
            const struct constant_relocation *relocation = &kernel->relocations[i];
            uint64_t value = instance->variable_address[relocation->variable->index] + relocation->addend;
            void *slot = pool + (size_t)relocation->slot * SLOT_BYTES;
            for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
                if (relocation->wide)
                    ((uint64_t *)slot)[lane] = value;
                else
                    ((uint32_t *)slot)[lane] = (uint32_t)value;
        }
    }
    return true;
}

void corun_module_instance_destroy(struct corun_module_instance *instance)
{
    if (!instance)
        return;
    for (uint32_t i = 0; instance->module && instance->variable_address && i < instance->module->ptx->variable_count;
         i++)
        if (instance->variable_address[i])
            memory_free(instance->memory, instance->variable_address[i], "the end of its module");
    for (uint32_t i = 0; i < instance->sm_count; i++)
        executor_sm_destroy(instance->sms[i]);
    executor_sm_destroy(instance->functional);
    executor_tb_free_spares(instance);
    for (uint32_t k = 0; instance->natives && k < instance->module->kernel_count; k++)
        native_destroy(instance->natives[k]);
    free(instance->natives);
    for (uint32_t k = 0; instance->constants && k < instance->module->kernel_count; k++)
        free(instance->constants[k]);
    vector_free(&instance->freed_blocks.entries);
    free(instance->constants);
    free(instance->sms);
    free(instance->variable_address);
    free(instance->code_offset);
    free(instance);
}

enum corun_status corun_module_instance_create(struct corun_module *module, struct corun_memory *memory,
                                               struct corun_diagnostics *list, struct corun_module_instance **result)
{
    *result = NULL;
    struct corun_module_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return out_of_memory(list);
    instance->module = module;
    instance->memory = memory;
    instance->native_after = NATIVE_AFTER;
    instance->variable_address = calloc(module->ptx->variable_count + 1, sizeof *instance->variable_address);
    instance->code_offset = calloc(module->kernel_count + 1, sizeof *instance->code_offset);
    enum corun_status status = CORUN_OK;
    if (!instance->variable_address || !instance->code_offset)
        status = out_of_memory(list);
    if (status == CORUN_OK)
        status = allocate_variables(instance, list);
    if (status == CORUN_OK && !relocate_constants(instance))
        status = out_of_memory(list);
    if (status == CORUN_OK) {
        /* Instructions are at most 32 bytes apart in an instruction cache (gpu_parameters.def). */
        instance->code_address = memory_reserve(memory, (uint64_t)module->code_length * 32);
        instance->parameter_address = memory_reserve(memory, PARAMETER_RANGE_BYTES);
        if (!instance->code_address || !instance->parameter_address)
            status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "no addresses left for code");
    }
    if (status != CORUN_OK) {
        corun_module_instance_destroy(instance);
        return status;
    }
    for (uint32_t k = 0; k < module->kernel_count; k++)
        instance->code_offset[k + 1] = instance->code_offset[k] + module->kernels[k].code_length;
    corun_module_instance_reset(instance);
    *result = instance;
    return CORUN_OK;
}

uint64_t corun_module_instance_variable(const struct corun_module_instance *instance, const char *name, uint64_t *bytes)
{
    const struct ptx_variable *variable = ptx_module_variable(instance->module->ptx, name);
    if (!variable || !lives_in_memory(variable))
        return 0;
    if (bytes)
        *bytes = variable->bytes;
    return instance->variable_address[variable->index];
}
