/* SPDX-License-Identifier: MIT */
/*
 * Images: from the device code that a program registered to modules of a context, and to functions and variables by
 * their host names.
 */
#include "cuda/image.h"

#include "cuda/abi.h"
#include "cuda/capture.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_calls.h"
#include "cuda/failure.h"
#include "cuda/fat_binary.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/ptx_link.h"
#include "cuda/ranges.h"
#include "isa/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * CUDA's library for launches from the device: every program that is linked has it, next to none uses it. It is left
 * out; kernels that call it get ours (device_runtime.h).
 */
#define DEVICE_RUNTIME "_cuda_device_runtime_cu_"

struct image *image_of_handle(const struct process *process, void **handle)
{
    for (size_t i = 0; i < process->images.count; i++)
        if (handle == &process->images.data[i]->handle)
            return process->images.data[i];
    return NULL;
}

/* The translation units of a program that was compiled to be linked (-rdc=true). */
static int load_linked(struct process *process, struct context *context, const char *name,
                       const struct fat_binary_wrapper *wrapper, struct corun_diagnostics *list, struct module **module)
{
    const void *const *containers = wrapper->linked;
    struct ptx_link link = {0};
    struct fat_binary binary = {0};
    int error = CUDA_SUCCESS;
    for (; *containers && error == CUDA_SUCCESS; containers++) {
        enum corun_status status = fat_binary_read(&binary, *containers, 0, list);
        const struct fat_binary_text *text = fat_binary_best(&binary, context->device->config.compute_capability);
        if (status != CORUN_OK) {
            error = CUDA_ERROR_INVALID_IMAGE;
        } else if (!text) {
            fat_binary_tell_no_text(&binary, name, list);
            error = CUDA_ERROR_NO_BINARY_FOR_GPU;
        } else if (!strstr(text->text, DEVICE_RUNTIME) && !ptx_link_add(&link, text->text, text->bytes, false)) {
            error = CUDA_ERROR_OUT_OF_MEMORY;
        }
        fat_binary_free(&binary);
        binary = (struct fat_binary){0};
    }
    char *text = NULL;
    size_t bytes = 0;
    if (error == CUDA_SUCCESS)
        error = error_of_status(ptx_link_finish(&link, list, &text, &bytes));
    if (error == CUDA_SUCCESS)
        error = module_load_text(process, context, name, text, bytes, true, list, module);
    free(text);
    ptx_link_free(&link);
    return error;
}

static size_t index_of(const struct process *process, const struct image *image)
{
    size_t index = 0;
    while (index < process->images.count && process->images.data[index] != image)
        index++;
    return index;
}

/* A managed variable in a context: where kernels have it, and where the host; NULL: nowhere. */
struct managed {
    struct context *context;
    uint64_t address, bytes;
    void *host;
};

static struct managed find_managed(const struct process *process, struct context *context,
                                   const struct image_variable *variable)
{
    const size_t index = index_of(process, variable->image);
    const struct module *module = index < context->image_modules.count ? context->image_modules.data[index] : NULL;
    struct managed found = {.context = context};
    if (module)
        found.address = corun_module_instance_variable(module->loaded, variable->name, &found.bytes);
    if (found.address)
        found.host = corun_memory_pointer(context->memory, found.address, found.bytes);
    return found;
}

static void *host_of_managed(const struct image_variable *variable)
{
    return *(void *const *)variable->host;
}

/* In the context in whose memory it lies, if that is still there. */
static struct managed find_owner(const struct process *process, const struct image_variable *variable)
{
    const struct range *range = ranges_find(process, (uint64_t)(uintptr_t)host_of_managed(variable));
    struct managed found = {0};
    if (range && range->kind == RANGE_MANAGED)
        found = find_managed(process, range->context, variable);
    return found.host == host_of_managed(variable) ? found : (struct managed){0};
}

/* In another context, which shares it. */
static struct managed find_heir(const struct process *process, const struct context *owner,
                                const struct image_variable *variable)
{
    for (size_t i = 0; i < process->contexts.count; i++) {
        struct context *context = process->contexts.data[i];
        if (context == owner || context->destroyed)
            continue;
        struct managed found = find_managed(process, context, variable);
        if (found.host && found.host == host_of_managed(variable))
            return found;
    }
    return (struct managed){0};
}

/* A pointer that the host takes of it is good on devices, too. */
static bool keep_managed(struct process *process, const struct managed *managed)
{
    const uint64_t same = (uint64_t)(uintptr_t)managed->host;
    if (corun_memory_adopt(managed->context->memory, same, managed->host, managed->bytes) != CORUN_OK)
        return false;
    (void)ranges_add(process, (struct range){same, managed->bytes, RANGE_MANAGED, 0, managed->context, {0}, NULL});
    return true;
}

/* There is one for all devices: it lies in the memory of the context that was the first to load it, and others share that. */
static void set_managed(struct process *process, struct context *context, const struct image *image)
{
    for (size_t i = 0; i < process->variables.count; i++) {
        const struct image_variable *variable = &process->variables.data[i];
        if (variable->image != image || !variable->managed)
            continue;
        const struct managed mine = find_managed(process, context, variable), owned = find_owner(process, variable);
        if (!mine.host)
            continue;
        if (owned.host && owned.context != context &&
            memory_share(context->memory, mine.address, owned.context->memory, owned.address))
            continue;
        if (keep_managed(process, &mine))
            capture_adopt(process, context, (uint64_t)(uintptr_t)mine.host, mine.bytes, mine.address);
        *(void **)(uintptr_t)variable->host = mine.host;
    }
}

void image_hand_over_managed(struct process *process, struct context *context)
{
    for (size_t i = 0; i < process->variables.count; i++) {
        const struct image_variable *variable = &process->variables.data[i];
        if (!variable->managed || variable->image->unregistered)
            continue;
        const struct managed owned = find_owner(process, variable), heir = find_heir(process, context, variable);
        if (!owned.context || owned.context != context || !heir.host)
            continue;
        const uint64_t same = (uint64_t)(uintptr_t)owned.host;
        ranges_remove(process, same);
        (void)corun_memory_free(context->memory, same);
        memory_follow(heir.context->memory, heir.address, context->memory, owned.address);
        (void)keep_managed(process, &heir);
    }
}

int image_load(struct process *process, struct context *context, const struct fat_binary_wrapper *wrapper,
               struct corun_diagnostics *list, struct module **module)
{
    size_t index = 0;
    char name[80] = "the fat binary";
    while (index < process->images.count && process->images.data[index]->wrapper != wrapper)
        index++;
    if (index < process->images.count)
        snprintf(name, sizeof name, "%.40s(%zu).ptx", program_invocation_short_name, index + 1);
    if (fat_binary_is_linked(wrapper))
        return load_linked(process, context, name, wrapper, list, module);
    struct fat_binary binary = {0};
    enum corun_status status = fat_binary_read(&binary, wrapper->container, 0, list);
    int error = status == CORUN_OK ? module_load_binary(process, context, name, &binary, list, module)
                                   : CUDA_ERROR_INVALID_IMAGE;
    fat_binary_free(&binary);
    return error;
}

/* By the driver, unless another thread has done so until this one may. Under the lock, which is let go. */
static int load_once(struct process *process, struct context *context, const struct image *image, size_t index,
                     struct module **module)
{
    void *library = NULL;
    int error = CUDA_SUCCESS;
    const struct driver_call driver = driver_call_begin(process, NULL);
    pthread_mutex_lock(&process->loading_lock);
    pthread_mutex_lock(&process->lock);
    *module = context->destroyed ? NULL : context->image_modules.data[index];
    pthread_mutex_unlock(&process->lock);
    if (!*module)
        error = driver.calls->cuLibraryLoadData(&library, image->wrapper, NULL, NULL, 0, NULL, NULL, 0);
    driver_call_end(process, &driver);
    if (error == CUDA_SUCCESS && context->destroyed)
        error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (error == CUDA_SUCCESS && !*module) {
        *module = object_find(process, library, OBJECT_MODULE);
        assert(*module);
        context->image_modules.data[index] = *module;
        set_managed(process, context, image);
    }
    pthread_mutex_unlock(&process->loading_lock);
    return error;
}

int module_of_image(struct process *process, struct context *context, const struct image *image, struct module **module)
{
    const size_t index = index_of(process, image);
    while (context->image_modules.count <= index)
        if (!vector_push(&context->image_modules, (struct module *)NULL))
            return CUDA_ERROR_OUT_OF_MEMORY;
    *module = context->image_modules.data[index];
    return *module ? CUDA_SUCCESS : load_once(process, context, image, index, module);
}

/* By the driver, as a kernel of the library that the image became. Under the lock, which is let go. */
static int find_function(struct process *process, struct module *module, const char *name, struct function **result)
{
    void *kernel = NULL, *function = NULL;
    const struct driver_call driver = driver_call_begin(process, NULL);
    int error = driver.calls->cuLibraryGetKernel(&kernel, module, name);
    if (error == CUDA_SUCCESS)
        error = driver.calls->cuKernelGetFunction(&function, kernel);
    driver_call_end(process, &driver);
    if (error == CUDA_SUCCESS)
        *result = object_find(process, function, OBJECT_FUNCTION);
    return error == CUDA_SUCCESS && !*result ? CUDA_ERROR_INVALID_HANDLE : error;
}

static const struct image_function *registered(const struct process *process, const void *host)
{
    size_t index = (size_t)(uintptr_t)pointer_map_get(&process->function_of_host, host);
    return index ? &process->functions.data[index - 1] : NULL;
}

const char *function_name_of_host(const struct process *process, const void *host)
{
    const struct image_function *function = registered(process, host);
    return function ? function->name : NULL;
}

int function_of_host(struct process *process, struct context *context, const void *host, struct function **result)
{
    *result = pointer_map_get(&context->functions, host);
    if (*result)
        return CUDA_SUCCESS;
    /* A handle of cudaGetKernel or cudaGetFuncBySymbol is a function already. */
    *result = object_find(process, host, OBJECT_FUNCTION);
    if (*result)
        return CUDA_SUCCESS;
    const struct image_function *function = registered(process, host);
    if (!function)
        return CUDA_ERROR_INVALID_DEVICE_FUNCTION;
    struct module *module;
    int error = module_of_image(process, context, function->image, &module);
    if (error == CUDA_SUCCESS)
        error = find_function(process, module, function->name, result);
    if (error == CUDA_ERROR_NOT_FOUND)
        error = CUDA_ERROR_INVALID_DEVICE_FUNCTION;
    if (error == CUDA_SUCCESS && !pointer_map_set(&context->functions, host, *result))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error == CUDA_SUCCESS)
        (*result)->host = host;
    return error;
}

/* A managed variable by what the program says of it, which is where it lies: it is registered by where that is kept. */
static const struct image_variable *managed_at(const struct process *process, const void *host)
{
    const struct range *range = ranges_find(process, (uint64_t)(uintptr_t)host);
    if (!range || range->kind != RANGE_MANAGED)
        return NULL;
    for (size_t i = 0; i < process->variables.count; i++) {
        const struct image_variable *variable = &process->variables.data[i];
        if (variable->managed && !variable->image->unregistered && host_of_managed(variable) == host)
            return variable;
    }
    return NULL;
}

int variable_of_host(struct process *process, struct context *context, const void *host, uint64_t *address,
                     uint64_t *bytes)
{
    size_t index = (size_t)(uintptr_t)pointer_map_get(&process->variable_of_host, host);
    const struct image_variable *managed = index ? NULL : managed_at(process, host);
    if (managed) { /* host and devices have it at the same address */
        *address = (uint64_t)(uintptr_t)host;
        *bytes = managed->bytes;
        return CUDA_SUCCESS;
    }
    if (!index)
        return CUDA_ERROR_INVALID_SYMBOL;
    const struct image_variable *variable = &process->variables.data[index - 1];
    struct module *module;
    int error = module_of_image(process, context, variable->image, &module);
    if (error != CUDA_SUCCESS)
        return error;
    *address = corun_module_instance_variable(module->loaded, variable->name, bytes);
    if (*address)
        return CUDA_SUCCESS;
    if (!process->variables.data[index - 1].told_absent)
        say("note: the device code has no variable %s: the compiler has left it out", variable->name);
    process->variables.data[index - 1].told_absent = true;
    return CUDA_ERROR_INVALID_SYMBOL;
}
