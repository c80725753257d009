/* SPDX-License-Identifier: MIT */
/* Modules: PTX from fat binaries, texts and files, loaded into a context; their functions and variables. */
#include "cuda/module.h"

#include "base/bits.h"
#include "base/kernel_name.h"
#include "base/launch_bounds.h"
#include "cuda/abi.h"
#include "cuda/capture.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/device_heap.h"
#include "cuda/device_library.h"
#include "cuda/device_runtime.h"
#include "cuda/driver_launch.h"
#include "cuda/failure.h"
#include "cuda/fat_binary.h"
#include "cuda/image.h"
#include "cuda/machine.h"
#include "cuda/nested.h"
#include "cuda/object.h"
#include "cuda/occupancy.h"
#include "cuda/parts.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/ptx_text.h"
#include "cuda/ranges.h"
#include "isa/executor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_SHARED_BYTES 49152u /* of a thread block that has not asked for more */
#define MOST_TRIES 40u            /* of loading a module without what cannot be loaded */

/* NULL: the kernel runs as it is, since nothing was rewritten, or since it was refused. */
static const struct rewritten_kernel *rewritten_of(const struct module *module, const char *name)
{
    const struct rewritten_kernel *kernel = rewritten_kernel_find(&module->rewritten, name);
    return kernel && !kernel->refusal ? kernel : NULL;
}

static struct function *add_function(struct process *process, struct module *module, const struct corun_kernel *kernel,
                                     const char *name, const char *refused)
{
    struct function *function = calloc(1, sizeof *function);
    uint32_t shared = module->context->device->config.shared_bytes_per_tb;
    if (!function)
        return NULL;
    *function = (struct function){.object = {OBJECT_FUNCTION},
                                  .module = module,
                                  .kernel = kernel,
                                  .rewritten = kernel ? rewritten_of(module, kernel->info.name) : NULL,
                                  .name = name,
                                  .refused = refused,
                                  .dynamic_shared_limit = shared < PLAIN_SHARED_BYTES ? shared : PLAIN_SHARED_BYTES,
                                  .carveout = -1};
    if (function->rewritten && function->rewritten->whole)
        function->whole = corun_module_kernel(module->code, function->rewritten->whole->name);
    if (!object_add(process, &function->object)) {
        free(function);
        return NULL;
    }
    return function;
}

/* Notes that a kernel cannot be launched, and why. */
static bool refuse(struct process *process, struct module *module, const char *name, size_t name_bytes,
                   const char *reason)
{
    struct function *function = add_function(process, module, NULL, NULL, NULL);
    if (!function)
        return false;
    char *kept_name = strndup(name, name_bytes), *kept_reason = strdup(reason);
    function->name = kept_name;
    function->refused = kept_reason;
    if (kept_name && kept_reason && vector_push(&module->refused, function))
        return true;
    free(kept_name);
    free(kept_reason);
    object_remove(process, &function->object);
    free(function);
    return false;
}

/*
 * Empties the functions that the messages are about. False if a message is about something else: then the module cannot
 * be loaded at all. In what a compiler has made, whatever we do not understand is a gap of ours.
 */
static bool empty_functions(struct process *process, struct module *module, char *text, size_t bytes,
                            bool from_compiler, const struct corun_diagnostics *problems)
{
    struct ptx_text scan = {0};
    bool good = corun_diagnostics_count(problems) && ptx_text_scan(&scan, text, bytes);
    for (size_t i = 0; good && i < corun_diagnostics_count(problems); i++) {
        const struct corun_diagnostic *problem = corun_diagnostics_get(problems, i);
        const struct ptx_statement *function = ptx_text_function_at(&scan, problem->place.line);
        if (!function || (problem->status != CORUN_UNSUPPORTED && !from_compiler)) {
            good = false;
            break;
        }
        bool known = false;
        for (size_t r = 0; r < module->refused.count; r++)
            known |= strlen(module->refused.data[r]->name) == function->name_bytes &&
                     !memcmp(module->refused.data[r]->name, text + function->name, function->name_bytes);
        if (known)
            continue;
        char reason[512];
        snprintf(reason, sizeof reason, "%s:%" PRIu32 ": %s", problem->place.file ? problem->place.file : "PTX",
                 problem->place.line, problem->message);
        good = refuse(process, module, text + function->name, function->name_bytes, reason);
        ptx_text_empty(text, function);
    }
    ptx_text_free(&scan);
    return good;
}

static const char *reason_of(const struct module *module, const struct ptx_function *function)
{
    for (size_t i = 0; i < module->refused.count; i++)
        if (!strcmp(module->refused.data[i]->name, function->name))
            return module->refused.data[i]->refused;
    return NULL;
}

/* A function that was emptied, of those that the code of `from` comes to by their names; NULL if there is none. `pending` has room for all. */
static const struct ptx_function *emptied_callee(const struct module *module, const struct ptx_function *from,
                                                 uint64_t *seen, const struct ptx_function **pending)
{
    size_t count = 0;
    memset(seen, 0, BIT_WORDS(module->code->ptx->function_count) * sizeof *seen);
    bits_set(seen, from->index);
    for (pending[count++] = from; count;) {
        const struct ptx_function *function = pending[--count];
        if (function != from && reason_of(module, function))
            return function;
        for (uint32_t i = 0; i < function->instruction_count; i++) {
            const struct ptx_call *call = function->instructions[i].call;
            if (call && call->function && !bits_test(seen, call->function->index)) {
                bits_set(seen, call->function->index);
                pending[count++] = call->function;
            }
        }
    }
    return NULL;
}

/*
 * Kernels that call an emptied function are refused as well. One that can come to it through a pointer only may never do so: it runs, and a thread that
 * does is stopped.
 */
static bool refuse_callers(struct process *process, struct module *module)
{
    const struct ptx_module *ptx = module->code->ptx;
    if (!module->refused.count)
        return true;
    uint64_t *seen = malloc(BIT_WORDS(ptx->function_count) * sizeof *seen);
    const struct ptx_function **pending = malloc(ptx->function_count * sizeof *pending);
    bool good = seen && pending;
    for (uint32_t i = 0; good && i < ptx->function_count; i++) {
        const struct ptx_function *function = ptx->functions[i];
        const char *reason = reason_of(module, function);
        if (reason && !function->is_entry && module->code->address_taken[i])
            say("note: function %s stops the threads that call it through a pointer: %s", KERNEL_NAME(function->name),
                reason);
        if (reason || !function->is_entry)
            continue;
        const struct ptx_function *callee = emptied_callee(module, function, seen, pending);
        if (callee) {
            char text[640];
            snprintf(text, sizeof text, "%s (function %.80s)", reason_of(module, callee), KERNEL_NAME(callee->name));
            good = refuse(process, module, function->name, strlen(function->name), text);
        }
    }
    free(pending);
    free(seen);
    return good;
}

static enum corun_status load_what_can_be(struct process *process, struct module *module, char *text, size_t bytes,
                                          bool from_compiler, struct corun_diagnostics *list)
{
    struct corun_diagnostics *problems = corun_diagnostics_create();
    if (!problems)
        return CORUN_MEMORY;
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < MOST_TRIES; i++) {
        corun_diagnostics_clear(problems);
        status = corun_module_assemble(module->name, text, bytes, process->devices[0].config.machine_code, problems,
                                       &module->code);
        bool gaps = status == CORUN_UNSUPPORTED || (status == CORUN_SYNTAX && from_compiler);
        if (!gaps || !empty_functions(process, module, text, bytes, from_compiler, problems))
            break;
    }
    if (status == CORUN_OK && !refuse_callers(process, module))
        status = CORUN_MEMORY;
    for (size_t i = 0; i < corun_diagnostics_count(problems); i++) {
        const struct corun_diagnostic *problem = corun_diagnostics_get(problems, i);
        corun_report(list, problem->status, problem->place, "%s", problem->message);
    }
    corun_diagnostics_destroy(problems);
    return status;
}

/* The code becomes that of its rewritten kernels, and the text theirs, which is the caller's. */
static enum corun_status rewrite_kernels(struct module *module, rewrite_pass *pass, struct machine_module *from,
                                         char **output, struct corun_diagnostics *list)
{
    struct corun_module *whole = module->code;
    size_t bytes;
    enum corun_status status =
        rewrite_text(pass, module->name, from->text, from->bytes, list, &module->rewritten, output, &bytes);
    if (status == CORUN_OK)
        status = corun_module_load(module->name, *output, bytes, list, &module->code);
    if (status != CORUN_OK)
        return status;
    corun_module_destroy(whole);
    *from = (struct machine_module){module->name, *output, bytes, 0};
    return CORUN_OK;
}

/* So that addresses of variables are known to copies. */
static bool add_variable_ranges(struct process *process, const struct module *module)
{
    const struct ptx_module *ptx = module->code->ptx;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        uint64_t address = module->loaded->variable_address[i];
        if (address &&
            !ranges_add(process,
                        (struct range){address, ptx->variables[i]->bytes, RANGE_MODULE, 0, module->context, {0}, NULL}))
            return false;
    }
    return true;
}

/* Functions that CUDA has for kernels, where the text declares them. What cannot be linked stays as it is, and its kernels are refused. */
static void link_library(const struct process *process, struct module *module, char **text, size_t *bytes,
                         struct corun_diagnostics *list)
{
    const struct context *context = module->context;
    char *linked = NULL;
    size_t linked_bytes;
    /* Launches in parts, and those on a machine elsewhere, are the host's. */
    if (device_runtime_wanted(*text) && !process->remote && !parting_pass(&process->parting) &&
        device_runtime_link(context, process->device_count, *text, *bytes, list, &linked, &linked_bytes) == CORUN_OK) {
        free(*text);
        *text = linked;
        *bytes = linked_bytes;
        module->launches = true;
    }
    if (device_heap_wanted(*text) &&
        device_heap_link(context, *text, *bytes, list, &linked, &linked_bytes) == CORUN_OK) {
        free(*text);
        *text = linked;
        *bytes = linked_bytes;
    }
    if (device_library_wanted(*text) && device_library_link(*text, *bytes, list, &linked, &linked_bytes) == CORUN_OK) {
        free(*text);
        *text = linked;
        *bytes = linked_bytes;
    }
}

int module_load_text(struct process *process, struct context *context, const char *name, const char *text, size_t bytes,
                     bool from_compiler, struct corun_diagnostics *list, struct module **result)
{
    *result = NULL;
    struct module *module = calloc(1, sizeof *module);
    char *copy = malloc(bytes + 1);
    if (!module || !copy) {
        free(module);
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    *module = (struct module){.object = {OBJECT_MODULE}, .context = context, .name = strdup(name)};
    link_library(process, module, &copy, &bytes, list);
    enum corun_status status =
        module->name ? load_what_can_be(process, module, copy, bytes, from_compiler, list) : CORUN_MEMORY;
    struct machine_module from = {module->name, copy, bytes, process->devices[0].config.machine_code};
    char *rewritten = NULL;
    if (status == CORUN_OK && parting_pass(&process->parting))
        status = rewrite_kernels(module, parting_pass(&process->parting), &from, &rewritten, list);
    if (status == CORUN_OK)
        status = machine_module_load(process, context, &from, module->code, list, &module->loaded);
    if (status == CORUN_OK)
        device_heap_take(context, module);
    if (status == CORUN_OK && module->launches)
        nested_prepare(process, context, module);
    if (status == CORUN_OK)
        capture_module(process, module, copy, bytes);
    if (process->profiles && status == CORUN_OK)
        module->text = strndup(from.text, from.bytes);
    free(rewritten);
    free(copy);
    if (status == CORUN_OK && (!add_variable_ranges(process, module) || !object_add(process, &module->object) ||
                               !vector_push(&context->modules, module)))
        status = CORUN_MEMORY;
    if (status != CORUN_OK) {
        module_unload(process, module);
        module_free(process, module);
        return error_of_status(status);
    }
    *result = module;
    return CUDA_SUCCESS;
}

int module_load_binary(struct process *process, struct context *context, const char *name,
                       const struct fat_binary *binary, struct corun_diagnostics *list, struct module **module)
{
    const struct fat_binary_text *text = fat_binary_best(binary, context->device->config.compute_capability);
    if (!text) {
        fat_binary_tell_no_text(binary, name, list);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return module_load_text(process, context, name, text->text, text->bytes, true, list, module);
}

/* None of them has a NUL in it: a text may be shorter. */
static uint32_t magic_of(const void *data)
{
    uint32_t magic = 0;
    memcpy(&magic, data, strnlen(data, sizeof magic));
    return magic;
}

int module_load_data(struct process *process, struct context *context, const void *data, struct corun_diagnostics *list,
                     struct module **module)
{
    *module = NULL;
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    if (magic_of(data) == FAT_BINARY_WRAPPER_MAGIC) {
        const struct fat_binary_wrapper *wrapper = data;
        if (fat_binary_is_linked(wrapper) || (wrapper->container && magic_of(wrapper->container) == FAT_BINARY_MAGIC))
            return image_load(process, context, wrapper, list, module);
        data = wrapper->container;
    }
    if (!data)
        return CUDA_ERROR_INVALID_IMAGE;
    if (!strncmp(data, "\177ELF", 4)) {
        corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "machine code (a cubin) cannot be loaded, only PTX");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (magic_of(data) != FAT_BINARY_MAGIC)
        return module_load_text(process, context, "module.ptx", data, strlen(data), false, list, module);
    struct fat_binary binary = {0};
    enum corun_status status = fat_binary_read(&binary, data, 0, list);
    int error = status == CORUN_OK ? module_load_binary(process, context, "the fat binary", &binary, list, module)
                                   : CUDA_ERROR_INVALID_IMAGE;
    fat_binary_free(&binary);
    return error;
}

int module_function(struct process *process, struct module *module, const char *name, struct function **result)
{
    *result = NULL;
    for (size_t i = 0; i < module->refused.count; i++)
        if (!strcmp(module->refused.data[i]->name, name)) {
            *result = module->refused.data[i];
            return CUDA_SUCCESS;
        }
    const struct corun_kernel *kernel = corun_module_kernel(module->code, name);
    if (!kernel || (module->rewritten.module && !rewritten_kernel_find(&module->rewritten, name)))
        return CUDA_ERROR_NOT_FOUND;
    struct function *function = pointer_map_get(&module->functions, kernel);
    if (!function) {
        function = add_function(process, module, kernel, kernel->info.name, NULL);
        if (!function || !pointer_map_set(&module->functions, kernel, function))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *result = function;
    return CUDA_SUCCESS;
}

size_t module_kernel_count(const struct module *module)
{
    return module->rewritten.module ? module->rewritten.kernel_count : corun_module_kernel_count(module->code);
}

uint32_t function_parameter_count(const struct function *function)
{
    return function->rewritten ? function->rewritten->parameter_index : function->kernel->info.parameter_count;
}

uint32_t function_architecture(const struct function *function)
{
    return function->module->code->ptx->target_sm;
}

const struct corun_kernel *function_kernel(const struct function *function, size_t dynamic_shared_bytes)
{
    const uint32_t most = function->module->context->device->config.shared_bytes_per_tb;
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    return function->whole && info.shared_bytes + dynamic_shared_bytes > most ? function->whole : function->kernel;
}

/* Of the kernel as the program has it. */
static uint32_t shared_bytes_of(const struct function *function)
{
    struct corun_kernel_info info;
    corun_kernel_describe(function->whole ? function->whole : function->kernel, &info);
    return info.shared_bytes - (function->rewritten && !function->whole ? function->rewritten->shared_bytes_added : 0);
}

void function_describe(struct function *function, struct abi_function_attributes *attributes)
{
    struct corun_kernel_info info;
    uint32_t architecture = function_architecture(function);
    const struct corun_gpu_config *config = &function->module->context->device->config;
    uint32_t capability = config->compute_capability;
    corun_kernel_describe(function->kernel, &info);
    *attributes = (struct abi_function_attributes){
        .shared_bytes = shared_bytes_of(function),
        .constant_bytes = info.constant_bytes,
        .local_bytes = info.local_bytes,
        .max_threads = (int)occupancy_most_threads(function),
        .registers = (int)launch_bounds_registers(config, info.registers_per_thread, &info.bounds),
        .ptx_version = (int)architecture,
        .binary_version = (int)(architecture > capability ? architecture : capability),
        .max_dynamic_shared = (int)function->dynamic_shared_limit,
        .preferred_carveout = function->carveout,
    };
    function_cluster_describe(function, attributes);
}

/* The handles are dead; code and addresses stay, because the machine may know them. */
void module_unload(struct process *process, struct module *module)
{
    if (module->unloaded)
        return;
    module->unloaded = true;
    object_remove(process, &module->object);
    for (size_t i = 0; i < module->functions.capacity; i++)
        if (module->functions.entries[i].value)
            object_remove(process, module->functions.entries[i].value);
    for (size_t i = 0; i < module->refused.count; i++)
        object_remove(process, &module->refused.data[i]->object);
    if (module->loaded)
        for (uint32_t i = 0; i < module->code->ptx->variable_count; i++)
            if (module->loaded->variable_address[i])
                ranges_remove(process, module->loaded->variable_address[i]);
}

void module_free(struct process *process, struct module *module)
{
    module_unload(process, module);
    for (size_t i = 0; i < module->functions.capacity; i++)
        if (module->functions.entries[i].value) {
            old_launch_free(module->functions.entries[i].value);
            free(module->functions.entries[i].value);
        }
    for (size_t i = 0; i < module->refused.count; i++) {
        pointer_map_remove(&process->complained, module->refused.data[i]);
        free((char *)(uintptr_t)module->refused.data[i]->name);
        free((char *)(uintptr_t)module->refused.data[i]->refused);
        old_launch_free(module->refused.data[i]);
        free(module->refused.data[i]);
    }
    pointer_map_free(&module->functions);
    vector_free(&module->refused);
    corun_module_instance_destroy(module->loaded);
    corun_module_destroy(module->code);
    rewritten_destroy(&module->rewritten);
    free(module->name);
    free(module->text);
    free(module);
}
