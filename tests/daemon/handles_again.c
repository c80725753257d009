/* SPDX-License-Identifier: MIT */
/*
 * A driver below the shim without a GPU: it gives every handle again as soon as it may, ends libraries with the device's context as corun's own driver does, and says of each
 * launch which kernel it is of which text. It allocates nothing that it does not give back, so that what the shim keeps can be counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOOD = 0, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, SLOTS = 256, NAME = 32 };
enum kind { FREE, MODULE, FUNCTION, MEMORY, STREAM };

struct slot {
    enum kind kind;
    struct slot *module; /* of a function */
    char name[NAME];     /* of a function; of a module, its first kernel's */
    bool rewritten;      /* a module that the shim has made */
    void *memory;
};

/* One context, in which one thread makes and ends things; the shim's only looks. */
static struct {
    struct slot slots[SLOTS];
    int context, uses;
} driver;
static _Thread_local bool is_current;

/* The first one: a handle that was given back is given again. */
static struct slot *take(enum kind kind)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (driver.slots[i].kind == FREE) {
            driver.slots[i] = (struct slot){.kind = kind};
            return &driver.slots[i];
        }
    abort();
}

static void give(struct slot *slot)
{
    free(slot->memory);
    *slot = (struct slot){.kind = FREE};
}

/* "" if there is none. */
static void find_entry(const char *text, char name[NAME])
{
    const char *entry = strstr(text, ".entry ");
    name[0] = 0;
    if (entry)
        sscanf(entry, ".entry %31[a-z_A-Z0-9]", name);
}

static bool is_a(const struct slot *slot, enum kind kind)
{
    return slot && slot->kind == kind;
}

/* ---- contexts ---- */

int cuInit(unsigned flags)
{
    return (int)flags;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    driver.uses++;
    *context = &driver.context;
    return device;
}

static void end_context(void)
{
    driver.uses = 0;
    is_current = false;
    for (size_t i = 0; i < SLOTS; i++)
        give(&driver.slots[i]);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    if (--driver.uses == 0)
        end_context();
    return device;
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    end_context();
    return device;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = driver.uses > 0;
    return device;
}

int cuCtxSetCurrent(const void *context)
{
    is_current = context == &driver.context;
    return GOOD;
}

int cuCtxPushCurrent_v2(const void *context)
{
    return cuCtxSetCurrent(context);
}

int cuCtxPopCurrent_v2(void **context)
{
    *context = &driver.context;
    return GOOD;
}

int cuCtxGetCurrent(void **context)
{
    *context = is_current ? &driver.context : NULL;
    return GOOD;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return is_current ? GOOD : INVALID_CONTEXT;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    enum { MULTIPROCESSORS = 16, THREADS_PER_SM = 39, MAJOR = 75, MINOR = 76, TBS_PER_SM = 106 };
    *value = attribute == MULTIPROCESSORS  ? 16
             : attribute == THREADS_PER_SM ? 2048
             : attribute == MAJOR          ? 5
             : attribute == MINOR          ? 2
             : attribute == TBS_PER_SM     ? 32
                                           : 0;
    return device;
}

/* ---- modules, libraries ---- */

int cuModuleLoadData(void **module, const void *text)
{
    struct slot *slot = take(MODULE);
    find_entry(text, slot->name);
    slot->rewritten = strstr(text, "corun") != NULL;
    *module = slot;
    return GOOD;
}

int cuLibraryLoadData(void **library, const void *text, int *jit, void **jit_values, unsigned jit_count, int *options,
                      void **values, unsigned count)
{
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    return cuModuleLoadData(library, text);
}

int cuModuleUnload(void *module)
{
    if (!is_a(module, MODULE))
        return INVALID_HANDLE;
    for (size_t i = 0; i < SLOTS; i++)
        if (driver.slots[i].module == module)
            give(&driver.slots[i]);
    give(module);
    return GOOD;
}

int cuLibraryUnload(void *library)
{
    return cuModuleUnload(library);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    if (!is_a(module, MODULE))
        return INVALID_HANDLE;
    for (size_t i = 0; i < SLOTS; i++)
        if (driver.slots[i].module == module && strcmp(driver.slots[i].name, name) == 0) {
            *function = &driver.slots[i];
            return GOOD;
        }
    struct slot *slot = take(FUNCTION);
    slot->module = module;
    snprintf(slot->name, sizeof slot->name, "%s", name);
    *function = slot;
    return GOOD;
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return cuModuleGetFunction(kernel, library, name);
}

int cuKernelGetFunction(void **function, void *kernel)
{
    *function = kernel;
    return is_a(kernel, FUNCTION) ? GOOD : INVALID_HANDLE;
}

int cuLibraryGetKernelCount(unsigned *count, void *library)
{
    *count = 1;
    return is_a(library, MODULE) ? GOOD : INVALID_HANDLE;
}

int cuModuleGetFunctionCount(unsigned *count, void *module)
{
    return cuLibraryGetKernelCount(count, module);
}

int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    return is_a(library, MODULE) && count ? cuModuleGetFunction(kernels, library, ((struct slot *)library)->name)
                                          : INVALID_HANDLE;
}

int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module)
{
    return cuLibraryEnumerateKernels(functions, count, module);
}

int cuFuncGetName(const char **name, void *function)
{
    *name = is_a(function, FUNCTION) ? ((struct slot *)function)->name : NULL;
    return *name ? GOOD : INVALID_HANDLE;
}

int cuKernelGetName(const char **name, void *kernel)
{
    return cuFuncGetName(name, kernel);
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes)
{
    (void)index;
    *offset = 0;
    *bytes = 8;
    return is_a(function, FUNCTION) ? GOOD : INVALID_HANDLE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared_bytes)
{
    (void)threads, (void)shared_bytes;
    *blocks = 2;
    return is_a(function, FUNCTION) ? GOOD : INVALID_HANDLE;
}

/* ---- memory and streams: what is asked for has been done ---- */

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    struct slot *slot = take(MEMORY);
    slot->memory = calloc(1, bytes);
    *address = (uint64_t)(uintptr_t)slot->memory;
    return GOOD;
}

int cuMemFree_v2(uint64_t address)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (driver.slots[i].memory == (void *)(uintptr_t)address)
            give(&driver.slots[i]);
    return GOOD;
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    (void)memory, (void)bytes, (void)flags;
    return GOOD;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    *address = (uint64_t)(uintptr_t)memory;
    return (int)flags;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = take(STREAM);
    return GOOD;
}

int cuStreamDestroy_v2(void *stream)
{
    give(stream);
    return GOOD;
}

int cuStreamSynchronize(void *stream)
{
    (void)stream;
    return GOOD;
}

int cuStreamGetId(void *stream, unsigned long long *number)
{
    *number = (uintptr_t)stream;
    return GOOD;
}

int cuStreamWriteValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    (void)stream;
    *(volatile uint32_t *)(uintptr_t)address = value;
    return (int)flags;
}

int cuMemsetD32Async(uint64_t address, unsigned value, size_t count, void *stream)
{
    (void)address, (void)value, (void)count, (void)stream;
    return GOOD;
}

int cuMemcpy2DAsync_v2(const void *rows, void *stream)
{
    (void)rows, (void)stream;
    return GOOD;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    (void)mode;
    return GOOD;
}

/* ---- launches ---- */

/* Those that open and close a queue of the shim tell its thread so (src/shim/growth.c): their second and third parameter. */
int cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra)
{
    const struct slot *function = handle;
    (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes, (void)stream;
    (void)extra;
    if (!is_a(function, FUNCTION))
        return INVALID_HANDLE;
    bool opens = strcmp(function->name, "corun_open") == 0, closes = strcmp(function->name, "corun_close") == 0;
    if (opens || closes)
        *(volatile uint32_t *)*(void **)parameters[1] = *(uint32_t *)parameters[2];
    else if (getenv("TELL_LAUNCHES"))
        printf("%s of %s%s\n", function->name, function->module->name,
               function->module->rewritten ? ", rewritten" : "");
    fflush(stdout);
    return grid_x ? GOOD : NOT_FOUND;
}
