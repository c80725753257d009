/* SPDX-License-Identifier: MIT */
/* Modules of the driver API, and libraries, which are modules of the current context under another name. */
#include "cuda/driver_module.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/driver_api.h"
#include "cuda/engine.h"
#include "cuda/fat_binary.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUjit_option */
enum { JIT_INFO_LOG = 3, JIT_INFO_LOG_BYTES = 4, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };

struct jit_log jit_log_of_options(unsigned count, const int *options, void **values)
{
    struct jit_log log = {0};
    for (unsigned i = 0; options && values && i < count; i++) {
        if (options[i] == JIT_INFO_LOG)
            log.info = values[i];
        else if (options[i] == JIT_INFO_LOG_BYTES)
            log.info_bytes = &values[i];
        else if (options[i] == JIT_ERROR_LOG)
            log.error = values[i];
        else if (options[i] == JIT_ERROR_LOG_BYTES)
            log.error_bytes = &values[i];
    }
    return log;
}

void jit_log_write(struct jit_log *log, struct corun_diagnostics *list)
{
    if (log->info && log->info_bytes && *log->info_bytes)
        log->info[0] = 0;
    if (log->info_bytes)
        *log->info_bytes = (void *)0;
    size_t room = log->error_bytes ? (size_t)(uintptr_t)*log->error_bytes : 0, used = 0;
    if (!log->error || !room) {
        say_diagnostics(list);
        return;
    }
    log->error[0] = 0;
    for (size_t i = 0; i < corun_diagnostics_count(list) && used < room; i++) {
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(list, i);
        int length = snprintf(log->error + used, room - used, "%s:%u:%u: %s\n",
                              diagnostic->place.file ? diagnostic->place.file : "PTX", diagnostic->place.line,
                              diagnostic->place.column, diagnostic->message);
        used += length > 0 ? (size_t)length : 0;
    }
    used = used < room ? used : room - 1;
    *log->error_bytes = (void *)(uintptr_t)used;
    corun_diagnostics_clear(list);
}

static int load_data(const struct call *call, void **handle, const void *data, unsigned count, const int *options,
                     void **values)
{
    struct jit_log log = jit_log_of_options(count, options, values);
    struct module *module = NULL;
    int error = handle && data ? module_load_data(call->process, call->context, data, call->process->list, &module)
                               : CUDA_ERROR_INVALID_VALUE;
    jit_log_write(&log, call->process->list);
    if (error == CUDA_SUCCESS)
        *handle = module;
    return error;
}

ENTRY(int, cuModuleLoadDataEx, void **handle, const void *data, unsigned count, int *options, void **values)
{
    struct call call;
    if (driver_begin(&call))
        call.error = load_data(&call, handle, data, count, options, values);
    return call_end(&call);
}

ENTRY(int, cuModuleLoadData, void **handle, const void *data)
{
    return corun_cuModuleLoadDataEx(handle, data, 0, NULL, NULL);
}

ENTRY(int, cuModuleLoadFatBinary, void **handle, const void *data)
{
    return corun_cuModuleLoadDataEx(handle, data, 0, NULL, NULL);
}

char *module_file_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    *bytes = 0;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        rewind(file);
        text = length >= 0 ? malloc((size_t)length + 64) : NULL;
        if (text) {
            *bytes = fread(text, 1, (size_t)length, file);
            memset(text + *bytes, 0, (size_t)length + 64 - *bytes);
        }
    }
    if (file)
        fclose(file);
    return text;
}

static int load_file(const struct call *call, void **handle, const char *path)
{
    size_t bytes;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    char *text = path ? module_file_read(path, &bytes) : NULL;
    if (!text)
        return CUDA_ERROR_FILE_NOT_FOUND;
    uint32_t magic;
    memcpy(&magic, text, sizeof magic);
    struct module *module = NULL;
    int error;
    if (magic == FAT_BINARY_MAGIC || !memcmp(text, "\177ELF", 4)) {
        error = module_load_data(call->process, call->context, text, call->process->list, &module);
    } else {
        const char *slash = strrchr(path, '/');
        error = module_load_text(call->process, call->context, slash ? slash + 1 : path, text, bytes, false,
                                 call->process->list, &module);
    }
    free(text);
    say_diagnostics(call->process->list);
    if (error == CUDA_SUCCESS)
        *handle = module;
    return error;
}

ENTRY(int, cuModuleLoad, void **handle, const char *path)
{
    struct call call;
    if (driver_begin(&call))
        call.error = load_file(&call, handle, path);
    return call_end(&call);
}

ENTRY(int, cuModuleUnload, void *handle)
{
    struct call call;
    if (driver_begin(&call)) {
        struct module *module = object_find(call.process, handle, OBJECT_MODULE);
        call.error = module ? engine_wait_context(call.process, module->context) : CUDA_ERROR_INVALID_HANDLE;
        if (call.error == CUDA_SUCCESS)
            module_unload(call.process, module);
    }
    return call_end(&call);
}

ENTRY(int, cuModuleGetFunction, void **handle, void *module_handle, const char *name)
{
    struct call call;
    if (driver_begin(&call)) {
        struct module *module = object_find(call.process, module_handle, OBJECT_MODULE);
        struct function *function = NULL;
        if (!handle || !name)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else
            call.error = module ? module_function(call.process, module, name, &function) : CUDA_ERROR_INVALID_HANDLE;
        if (call.error == CUDA_SUCCESS)
            *handle = function;
    }
    return call_end(&call);
}

ENTRY(int, cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, void *module_handle, const char *name)
{
    struct call call;
    if (driver_begin(&call)) {
        struct module *module = object_find(call.process, module_handle, OBJECT_MODULE);
        uint64_t size = 0, found = module && name ? corun_module_instance_variable(module->loaded, name, &size) : 0;
        if (!module)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (!name || (!address && !bytes))
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!found)
            call.error = CUDA_ERROR_NOT_FOUND;
        if (call.error == CUDA_SUCCESS && address)
            *address = found;
        if (call.error == CUDA_SUCCESS && bytes)
            *bytes = size;
    }
    return call_end(&call);
}

ENTRY(int, cuLibraryGetGlobal, uint64_t *address, size_t *bytes, void *library, const char *name)
{
    return corun_cuModuleGetGlobal_v2(address, bytes, library, name);
}

ENTRY(int, cuModuleGetFunctionCount, unsigned *count, void *module_handle)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct module *module = object_find(call.process, module_handle, OBJECT_MODULE);
        if (module && count)
            *count = (unsigned)module_kernel_count(module);
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

/* Libraries are asked for without a context: whether one is still there is known so (shim/kernels.c). */
ENTRY(int, cuLibraryGetKernelCount, unsigned *count, void *library)
{
    struct call call;
    if (driver_begin_started(&call)) {
        const struct module *module = object_find(call.process, library, OBJECT_MODULE);
        if (module && count)
            *count = (unsigned)module_kernel_count(module);
        else
            call.error = module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

ENTRY(int, cuModuleGetLoadingMode, int *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = 2; /* lazy */
    return CUDA_SUCCESS;
}

ENTRY(int, cuLibraryLoadData, void **handle, const void *data, int *jit_options, void **jit_values, unsigned jit_count,
      const int *options, void **values, unsigned count)
{
    (void)options, (void)values, (void)count;
    struct call call; /* the runtime API has the same: a device's own context comes into being */
    if (primary_begin(&call))
        call.error = load_data(&call, handle, data, jit_count, jit_options, jit_values);
    return call_end(&call);
}

ENTRY(int, cuLibraryLoadFromFile, void **handle, const char *path, const int *jit_options, void **jit_values,
      unsigned jit_count, const int *options, void **values, unsigned count)
{
    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    struct call call;
    if (primary_begin(&call))
        call.error = load_file(&call, handle, path);
    return call_end(&call);
}

ENTRY(int, cuLibraryGetModule, void **module, void *library)
{
    struct call call;
    if (driver_begin(&call)) {
        if (module && object_find(call.process, library, OBJECT_MODULE))
            *module = library;
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

ENTRY(int, cuModuleEnumerateFunctions, void **functions, unsigned count, void *handle)
{
    struct call call;
    struct module *module = driver_begin_object(&call, handle, OBJECT_MODULE, functions);
    size_t there = module ? module_kernel_count(module) : 0;
    for (size_t i = 0; i < there && i < count && call.error == CUDA_SUCCESS; i++) {
        struct corun_kernel_info info;
        struct function *function = NULL;
        corun_kernel_describe(corun_module_kernel_at(module->code, i), &info);
        call.error = module_function(call.process, module, info.name, &function);
        functions[i] = function;
    }
    return call_end(&call);
}
