/* Modules, libraries, linking, functions and launches of the driver API. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/call.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/engine.h"
#include "cuda/failure.h"
#include "cuda/fat_binary.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/occupancy.h"
#include "cuda/process.h"
#include "cuda/ptx_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUjit_option */
enum { JIT_INFO_LOG = 3, JIT_INFO_LOG_BYTES = 4, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };

/* What a program wants to be told of a translation. */
struct jit_log {
    char *info, *error;
    void **info_bytes, **error_bytes; /* the values of these options: in room, out what was written */
};

static struct jit_log read_options(unsigned count, const int *options, void **values)
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

/* Messages go to the program's buffer if it has one for them, else to its user. */
static void write_log(struct jit_log *log, struct corun_diagnostics *list)
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

ENTRY(int, cuModuleLoadDataEx, void **handle, const void *data, unsigned count, int *options, void **values)
{
    struct call call;
    if (driver_begin(&call)) {
        struct jit_log log = read_options(count, options, values);
        struct module *module = NULL;
        call.error = handle && data ? module_load_data(call.process, call.context, data, call.process->list, &module)
                                    : CUDA_ERROR_INVALID_VALUE;
        write_log(&log, call.process->list);
        if (call.error == CUDA_SUCCESS)
            *handle = module;
    }
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

/* A whole file, with a NUL behind it; NULL if it cannot be read. */
static char *read_file(const char *path, size_t *bytes)
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

static int load_file(struct call *call, const char *path, struct module **module)
{
    size_t bytes;
    char *text = path ? read_file(path, &bytes) : NULL;
    if (!text)
        return CUDA_ERROR_FILE_NOT_FOUND;
    uint32_t magic;
    memcpy(&magic, text, sizeof magic);
    int error;
    if (magic == FAT_BINARY_MAGIC || !memcmp(text, "\177ELF", 4)) {
        error = module_load_data(call->process, call->context, text, call->process->list, module);
    } else {
        const char *slash = strrchr(path, '/');
        error = module_load_text(call->process, call->context, slash ? slash + 1 : path, text, bytes, false,
                                 call->process->list, module);
    }
    free(text);
    say_diagnostics(call->process->list);
    return error;
}

ENTRY(int, cuModuleLoad, void **handle, const char *path)
{
    struct call call;
    if (driver_begin(&call)) {
        struct module *module = NULL;
        call.error = handle ? load_file(&call, path, &module) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *handle = module;
    }
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
        uint64_t size = 0, found = module && name ? corun_program_variable(module->loaded, name, &size) : 0;
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
            *count = (unsigned)corun_module_kernel_count(module->code);
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
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

/* Libraries: a module in the current context under another name. */

ENTRY(int, cuLibraryLoadData, void **handle, const void *data, int *jit_options, void **jit_values, unsigned jit_count,
      const int *options, void **values, unsigned count)
{
    (void)options, (void)values, (void)count;
    struct call call; /* the runtime API has the same: a device's own context comes into being */
    if (primary_begin(&call)) {
        struct jit_log log = read_options(jit_count, jit_options, jit_values);
        struct module *module = NULL;
        call.error = handle && data ? module_load_data(call.process, call.context, data, call.process->list, &module)
                                    : CUDA_ERROR_INVALID_VALUE;
        write_log(&log, call.process->list);
        if (call.error == CUDA_SUCCESS)
            *handle = module;
    }
    return call_end(&call);
}

ENTRY(int, cuLibraryLoadFromFile, void **handle, const char *path, const int *jit_options, void **jit_values,
      unsigned jit_count, const int *options, void **values, unsigned count)
{
    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    struct call call;
    if (primary_begin(&call)) {
        struct module *module = NULL;
        call.error = handle ? load_file(&call, path, &module) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS)
            *handle = module;
    }
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

ENTRY(int, cuKernelGetFunction, void **function, void *kernel)
{
    struct call call;
    if (driver_begin(&call)) {
        if (function && object_find(call.process, kernel, OBJECT_FUNCTION))
            *function = kernel;
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

ENTRY(int, cuFuncGetModule, void **module, void *handle)
{
    struct call call;
    if (driver_begin(&call)) {
        const struct function *function = object_find(call.process, handle, OBJECT_FUNCTION);
        if (function && module)
            *module = function->module;
        else
            call.error = CUDA_ERROR_INVALID_HANDLE;
    }
    return call_end(&call);
}

/* Linking: texts are kept and become a module's when it is loaded; what is complete is PTX again. */

enum { LINK_CUBIN, LINK_PTX, LINK_FAT_BINARY };

struct link_state {
    struct object object;
    struct ptx_link link;
    char *text;
    struct jit_log log;
};

ENTRY(int, cuLinkCreate_v2, unsigned count, int *options, void **values, void **state)
{
    struct call call;
    if (driver_begin(&call)) {
        struct link_state *link = state ? calloc(1, sizeof *link) : NULL;
        if (link && object_add(call.process, &link->object)) {
            link->object.kind = OBJECT_LINK;
            link->log = read_options(count, options, values);
            *state = link;
        } else {
            call.error = state ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
            free(link);
        }
    }
    return call_end(&call);
}

static int add_data(struct call *call, struct link_state *link, int type, const void *data, size_t bytes)
{
    if (type == LINK_PTX) {
        while (bytes && !((const char *)data)[bytes - 1])
            bytes--;
        return ptx_link_add(&link->link, data, bytes, false) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (type == LINK_FAT_BINARY) {
        struct fat_binary binary = {0};
        enum corun_status status = fat_binary_read(&binary, data, bytes, call->process->list);
        const struct fat_binary_text *text = fat_binary_best(&binary, call->context->device->config.compute_capability);
        int error = status != CORUN_OK                                          ? CUDA_ERROR_INVALID_IMAGE
                    : !text                                                     ? CUDA_ERROR_NO_BINARY_FOR_GPU
                    : ptx_link_add(&link->link, text->text, text->bytes, false) ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_OUT_OF_MEMORY;
        fat_binary_free(&binary);
        return error;
    }
    corun_report(call->process->list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "only PTX and fat binaries can be linked");
    return CUDA_ERROR_NOT_SUPPORTED;
}

ENTRY(int, cuLinkAddData_v2, void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
      const int *options, void **values)
{
    struct call call;
    (void)name, (void)count, (void)options, (void)values;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        if (!link)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else
            call.error = data ? add_data(&call, link, type, data, bytes) : CUDA_ERROR_INVALID_VALUE;
        if (link)
            write_log(&link->log, call.process->list);
    }
    return call_end(&call);
}

ENTRY(int, cuLinkAddFile_v2, void *state, int type, const char *path, unsigned count, const int *options, void **values)
{
    struct call call;
    (void)count, (void)options, (void)values;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        size_t bytes = 0;
        char *text = link && path ? read_file(path, &bytes) : NULL;
        if (!link)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else
            call.error = text ? add_data(&call, link, type, text, bytes) : CUDA_ERROR_FILE_NOT_FOUND;
        if (link)
            write_log(&link->log, call.process->list);
        free(text);
    }
    return call_end(&call);
}

ENTRY(int, cuLinkComplete, void *state, void **cubin, size_t *bytes)
{
    struct call call;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        size_t length = 0;
        if (!link) {
            call.error = CUDA_ERROR_INVALID_HANDLE;
        } else {
            free(link->text);
            call.error = error_of_status(ptx_link_finish(&link->link, call.process->list, &link->text, &length));
            write_log(&link->log, call.process->list);
        }
        if (call.error == CUDA_SUCCESS && cubin)
            *cubin = link->text;
        if (call.error == CUDA_SUCCESS && bytes)
            *bytes = length + 1;
    }
    return call_end(&call);
}

ENTRY(int, cuLinkDestroy, void *state)
{
    struct call call;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        if (link) {
            object_remove(call.process, &link->object);
            ptx_link_free(&link->link);
            free(link->text);
            free(link);
        } else {
            call.error = CUDA_ERROR_INVALID_HANDLE;
        }
    }
    return call_end(&call);
}

static int launch(void *handle, struct corun_dim3 grid, struct corun_dim3 block, unsigned shared, void *stream,
                  void **arguments, void **extra, bool cooperative)
{
    struct call call;
    if (driver_begin(&call)) {
        struct api_launch request = {.function = object_find(call.process, handle, OBJECT_FUNCTION),
                                     .grid = grid,
                                     .block = block,
                                     .dynamic_shared_bytes = shared,
                                     .stream = stream,
                                     .arguments = arguments,
                                     .extra = extra,
                                     .cooperative = cooperative};
        call.error = request.function ? api_launch(&call, &request) : CUDA_ERROR_INVALID_HANDLE;
        if (call.error == CUDA_ERROR_INVALID_CONFIGURATION)
            call.error = CUDA_ERROR_INVALID_VALUE; /* the driver's name for it */
    }
    return call_end(&call);
}

ENTRY(int, cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned shared, void *stream, void **arguments, void **extra)
{
    return launch(function, (struct corun_dim3){gx, gy, gz}, (struct corun_dim3){bx, by, bz}, shared, stream, arguments,
                  extra, false);
}

ENTRY(int, cuLaunchCooperativeKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, void *stream, void **arguments)
{
    return launch(function, (struct corun_dim3){gx, gy, gz}, (struct corun_dim3){bx, by, bz}, shared, stream, arguments,
                  NULL, true);
}

ENTRY(int, cuLaunchKernelEx, const struct abi_driver_launch_config *config, void *function, void **arguments,
      void **extra)
{
    bool cooperative = false;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->attribute_count; i++)
        if (config->attributes[i].id == LAUNCH_COOPERATIVE)
            cooperative = config->attributes[i].value.number != 0;
    return launch(function, config->grid, config->block, config->dynamic_shared, config->stream, arguments, extra,
                  cooperative);
}

/* The block size with the most threads on an SM, and the grid that fills the GPU once. */
ENTRY(int, cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *block, void *handle, size_t (*shared_of)(int),
      size_t shared, int limit, unsigned flags)
{
    struct call call;
    (void)flags;
    if (!driver_begin(&call))
        return call_end(&call);
    struct function *function = object_find(call.process, handle, OBJECT_FUNCTION);
    if (!function || !function->kernel || !grid || !block) {
        call.error = function ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        return call_end(&call);
    }
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    const struct corun_gpu_config *config = &function->module->context->device->config;
    uint32_t most = info.max_threads_per_tb ? info.max_threads_per_tb : config->threads_per_tb, best = 0, best_tbs = 0;
    if (limit > 0 && (uint32_t)limit < most)
        most = (uint32_t)limit;
    for (uint32_t threads = most / 32 * 32; threads && call.error == CUDA_SUCCESS; threads -= 32) {
        uint32_t tbs;
        call.error = occupancy_of_function(function, threads, shared_of ? shared_of((int)threads) : shared, &tbs);
        if (tbs * threads > best * best_tbs) {
            best = threads;
            best_tbs = tbs;
        }
    }
    *block = (int)best;
    *grid = (int)(best_tbs * config->sms);
    return call_end(&call);
}

ENTRY(int, cuOccupancyMaxPotentialBlockSize, int *grid, int *block, void *function, size_t (*shared_of)(int),
      size_t shared, int limit)
{
    return corun_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}
