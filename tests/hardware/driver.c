/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver for tests: the entry points that bench/hardware/real_gpu.py calls, made of corun's functional executor,
 * and the few of NVML. So the script's whole way, from launch.json to a row of CSV, runs without a GPU.
 *
 * Like a real driver, and unlike what would be easier here: memory comes with rubbish in it; launches, copies and
 * events wait in a stream until something synchronises; a fault shows then and spoils all that follows.
 *
 * Time is counted: a launch takes a nanosecond for each of its warp instructions, everything else none. Environment:
 *
 *     DRIVER_LOG        file that gets a line of JSON for each call that matters
 *     DRIVER_NO_GPU     cuInit finds none
 *     DRIVER_CORRUPT    N: the Nth copy to the host (from 1) has a wrong byte in its middle
 *     DRIVER_NO_MEMORY  allocations of more bytes than this fail
 */
#include "corun/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUresult: R(name, code, text) */
#define RESULTS(R) \
    R(CUDA_SUCCESS, 0, "no error") \
    R(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument") \
    R(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory") \
    R(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error") \
    R(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected") \
    R(CUDA_ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed") \
    R(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found") \
    R(CUDA_ERROR_NOT_READY, 600, "device not ready") \
    R(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")

enum result {
#define RESULT_ENUM(name, code, text) name = code,
    RESULTS(RESULT_ENUM)
#undef RESULT_ENUM
};

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
enum { STREAM_ENTRIES = 1024, COPIES = 1024 };

struct module {
    struct corun_module *module;
    struct corun_module_instance *instance;
};

struct function {
    struct module *module;
    const struct corun_kernel *kernel;
    int most_dynamic_shared;
};

struct event {
    double microseconds;
    bool is_recorded;
};

struct linker {
    char *text;
    size_t bytes;
    char *log;
    size_t log_bytes;
};

struct entry {
    enum { LAUNCH, COPY, RECORD } kind;
    struct corun_grid *grid;
    char kernel[64];
    uint64_t to, from, bytes;
    struct event *event;
};

/* A process has one driver. */
static struct {
    bool ready;
    enum result spoilt;
    struct corun_memory *memory;
    struct entry stream[STREAM_ENTRIES];
    size_t waiting;
    double microseconds;
    unsigned copies_to_host;
    FILE *log;
} driver;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    if (!driver.log)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(driver.log, format, arguments);
    va_end(arguments);
    fputc('\n', driver.log);
    fflush(driver.log);
}

static int refuse(enum result result)
{
    return (int)result;
}

static enum result run_entry(struct entry *entry)
{
    if (entry->kind == RECORD) {
        *entry->event = (struct event){driver.microseconds, true};
        return CUDA_SUCCESS;
    }
    if (entry->kind == COPY) {
        void *to = corun_memory_pointer(driver.memory, entry->to, entry->bytes);
        const void *from = corun_memory_pointer(driver.memory, entry->from, entry->bytes);
        if (!to || !from)
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        memmove(to, from, entry->bytes);
        return CUDA_SUCCESS;
    }
    struct corun_functional_result result = {0};
    enum corun_status status = corun_run_functional(entry->grid, 1000000000, NULL, NULL, NULL, &result);
    corun_grid_destroy(entry->grid);
    driver.microseconds += (double)result.warp_instructions * 1e-3;
    note("{\"done\": \"%s\", \"warp_instructions\": %llu}", entry->kernel,
         (unsigned long long)result.warp_instructions);
    return status ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

/* What waits in the stream is done now. */
static int synchronise(void)
{
    for (size_t i = 0; i < driver.waiting && !driver.spoilt; i++)
        driver.spoilt = run_entry(&driver.stream[i]);
    driver.waiting = 0;
    return refuse(driver.spoilt);
}

static int enqueue(struct entry entry)
{
    if (driver.spoilt)
        return refuse(driver.spoilt);
    if (driver.waiting == STREAM_ENTRIES) /* a real one would block here for ever if the gate is closed */
        return CUDA_ERROR_NOT_READY;
    driver.stream[driver.waiting++] = entry;
    return CUDA_SUCCESS;
}

#define API(name, ...) \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

API(cuInit, unsigned flags)
{
    if (getenv("DRIVER_NO_GPU"))
        return CUDA_ERROR_NO_DEVICE;
    const char *log = getenv("DRIVER_LOG");
    if (log && !driver.log)
        driver.log = fopen(log, "we");
    driver.memory = driver.memory ? driver.memory : corun_memory_create(0);
    driver.ready = driver.memory && flags == 0;
    return driver.ready ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuDriverGetVersion, int *version)
{
    *version = 12040;
    return CUDA_SUCCESS;
}

API(cuDeviceGetCount, int *count)
{
    *count = 1;
    return driver.ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

API(cuDeviceGet, int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuDeviceGetName, char *name, int bytes, int device)
{
    snprintf(name, (size_t)bytes, "corun / functional %d", device);
    return CUDA_SUCCESS;
}

API(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    (void)device;
    switch (attribute) {
    case 13: /* clock rate, kHz */
        *value = 1216000;
        return CUDA_SUCCESS;
    case 16: /* SMs */
        *value = 16;
        return CUDA_SUCCESS;
    case 75: /* compute capability */
        *value = 5;
        return CUDA_SUCCESS;
    case 76:
        *value = 2;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

API(cuDeviceGetPCIBusId, char *text, int bytes, int device)
{
    snprintf(text, (size_t)bytes, "0000:00:0%d.0", device);
    return CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxRetain, void **context, int device)
{
    *context = &driver;
    return device == 0 && driver.ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

API(cuDevicePrimaryCtxRelease_v2, int device)
{
    (void)device;
    note("{\"left\": %llu}", (unsigned long long)corun_memory_allocated_bytes(driver.memory));
    return CUDA_SUCCESS;
}

API(cuCtxSetCurrent, void *context)
{
    (void)context;
    return CUDA_SUCCESS;
}

API(cuCtxSynchronize, void)
{
    return synchronise();
}

/* "Machine code" is the PTX behind a mark, so that what was not compiled is seen. */
static const char mark[] = "compiled by the tests' driver\n";

API(cuLinkCreate_v2, unsigned count, const int *options, void **values, void **state)
{
    struct linker *linker = calloc(1, sizeof *linker);
    if (!linker)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == JIT_ERROR_LOG)
            linker->log = values[i];
        else if (options[i] == JIT_ERROR_LOG_BYTES)
            linker->log_bytes = (size_t)values[i];
    }
    *state = linker;
    return CUDA_SUCCESS;
}

static struct corun_module *load(const char *text, size_t bytes, char *log, size_t log_bytes)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_module *module = NULL;
    if (corun_module_load("driver.ptx", text, bytes, list, &module) && log && log_bytes) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, 0);
        snprintf(log, log_bytes, "line %u: %s", item->place.line, item->message);
    }
    corun_diagnostics_destroy(list);
    return module;
}

API(cuLinkAddData_v2, void *state, int kind, const char *data, size_t bytes, const char *name, unsigned count,
    const int *options, void **values)
{
    struct linker *linker = state;
    if (kind != 1 || bytes == 0 || data[bytes - 1] != 0 || !name || count || options || values)
        return CUDA_ERROR_INVALID_VALUE; /* PTX ends with a NUL that counts */
    struct corun_module *module = load(data, bytes - 1, linker->log, linker->log_bytes);
    if (!module)
        return CUDA_ERROR_INVALID_PTX;
    corun_module_destroy(module);
    linker->bytes = sizeof mark - 1 + bytes;
    linker->text = malloc(linker->bytes);
    if (!linker->text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(linker->text, mark, sizeof mark - 1);
    memcpy(linker->text + sizeof mark - 1, data, bytes);
    note("{\"compiled\": \"%s\"}", name);
    return CUDA_SUCCESS;
}

API(cuLinkComplete, void *state, void **image, size_t *bytes)
{
    const struct linker *linker = state;
    *image = linker->text;
    *bytes = linker->bytes;
    return linker->text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuLinkDestroy, void *state)
{
    struct linker *linker = state;
    if (linker->text)
        memset(linker->text, 0xdb, linker->bytes); /* whoever kept a pointer to it notices */
    free(linker->text);
    free(linker);
    return CUDA_SUCCESS;
}

API(cuModuleLoadData, void **result, const char *image)
{
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const char *text = strncmp(image, mark, sizeof mark - 1) == 0 ? image + sizeof mark - 1 : image;
    module->module = load(text, strlen(text), NULL, 0);
    if (!module->module || corun_module_instance_create(module->module, driver.memory, NULL, &module->instance)) {
        free(module);
        return CUDA_ERROR_INVALID_PTX;
    }
    *result = module;
    note("{\"loaded\": %zu}", corun_module_kernel_count(module->module));
    return CUDA_SUCCESS;
}

API(cuModuleUnload, void *handle)
{
    struct module *module = handle;
    int status = synchronise();
    corun_module_instance_destroy(module->instance);
    corun_module_destroy(module->module);
    free(module);
    note("{\"unloaded\": true}");
    return status;
}

API(cuModuleGetFunction, void **result, void *handle, const char *name)
{
    struct module *module = handle;
    const struct corun_kernel *kernel = corun_module_kernel(module->module, name);
    struct function *function = kernel ? calloc(1, sizeof *function) : NULL; /* never freed: handles are not */
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    *function = (struct function){module, kernel, 48 << 10};
    *result = function;
    return CUDA_SUCCESS;
}

API(cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, void *handle, const char *name)
{
    const struct module *module = handle;
    uint64_t size = 0;
    *address = corun_module_instance_variable(module->instance, name, &size);
    *bytes = size;
    return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API(cuFuncGetAttribute, int *value, int attribute, void *handle)
{
    const struct function *function = handle;
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    *value = (int)(attribute == 4 ? info.registers_per_thread : info.local_bytes);
    return attribute == 3 || attribute == 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuFuncSetAttribute, void *handle, int attribute, int value)
{
    struct function *function = handle;
    if (attribute != 8)
        return CUDA_ERROR_INVALID_VALUE;
    function->most_dynamic_shared = value;
    return CUDA_SUCCESS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *handle, int threads, size_t shared_bytes)
{
    *blocks = handle && threads > 0 ? 2048 / threads - (int)(shared_bytes >> 20) : 0;
    return CUDA_SUCCESS;
}

API(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    const char *most = getenv("DRIVER_NO_MEMORY");
    if ((most && bytes > strtoull(most, NULL, 10)) || bytes == 0 ||
        corun_memory_allocate(driver.memory, bytes, address))
        return bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    memset(corun_memory_pointer(driver.memory, *address, bytes), 0xa5, bytes);
    return CUDA_SUCCESS;
}

API(cuMemFree_v2, uint64_t address)
{
    int status = synchronise();
    return corun_memory_free(driver.memory, address) ? CUDA_ERROR_INVALID_VALUE : status;
}

/* The host's memory that a kernel sees is the device's that the host sees. */
static struct {
    void *host;
    uint64_t address;
} mapped[COPIES];
static size_t mapped_count;

API(cuMemHostAlloc, void **host, size_t bytes, unsigned flags)
{
    if (flags != 2 || mapped_count == COPIES ||
        corun_memory_allocate(driver.memory, bytes, &mapped[mapped_count].address))
        return CUDA_ERROR_INVALID_VALUE;
    *host = mapped[mapped_count].host = corun_memory_pointer(driver.memory, mapped[mapped_count].address, bytes);
    mapped_count++;
    return CUDA_SUCCESS;
}

API(cuMemHostGetDevicePointer_v2, uint64_t *address, void *host, unsigned flags)
{
    for (size_t i = 0; i < mapped_count && !flags; i++) {
        if (mapped[i].host == host) {
            *address = mapped[i].address;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

API(cuMemFreeHost, void *host)
{
    uint64_t address;
    if (cuMemHostGetDevicePointer_v2(&address, host, 0))
        return CUDA_ERROR_INVALID_VALUE;
    return cuMemFree_v2(address);
}

API(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
    int status = synchronise();
    if (!status && corun_memory_write(driver.memory, to, from, bytes))
        status = CUDA_ERROR_INVALID_VALUE;
    note("{\"to_device\": %llu, \"bytes\": %zu}", (unsigned long long)to, bytes);
    return status;
}

API(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
    int status = synchronise();
    if (!status && corun_memory_read(driver.memory, from, to, bytes))
        status = CUDA_ERROR_INVALID_VALUE;
    const char *corrupt = getenv("DRIVER_CORRUPT");
    if (corrupt && ++driver.copies_to_host == strtoul(corrupt, NULL, 10))
        ((uint8_t *)to)[bytes / 2 + 3] ^= 0x41; /* of a float: sign and exponent */
    note("{\"to_host\": %llu, \"bytes\": %zu}", (unsigned long long)from, bytes);
    return status;
}

API(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    note("{\"copy\": [%llu, %llu, %zu]}", (unsigned long long)from, (unsigned long long)to, bytes);
    return stream ? CUDA_ERROR_INVALID_VALUE
                  : enqueue((struct entry){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

API(cuMemsetD8_v2, uint64_t address, unsigned char value, size_t bytes)
{
    int status = synchronise();
    void *data = corun_memory_pointer(driver.memory, address, bytes);
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    memset(data, value, bytes);
    note("{\"set\": %llu, \"bytes\": %zu}", (unsigned long long)address, bytes);
    return status;
}

static void note_launch(const struct corun_kernel_info *info, const unsigned size[6], unsigned shared_bytes,
                        const uint8_t *block)
{
    char text[2 * 4096 + 1] = "";
    for (uint32_t i = 0; i < info->parameter_bytes && i < 4096; i++)
        snprintf(text + 2 * i, 3, "%02x", block[i]);
    note("{\"launch\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared_bytes\": %u, "
         "\"parameters\": \"%s\"}",
         info->name, size[0], size[1], size[2], size[3], size[4], size[5], shared_bytes, text);
}

API(cuLaunchKernel, void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
    unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra)
{
    const struct function *function = handle;
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    if (stream || extra || shared_bytes > (unsigned)function->most_dynamic_shared)
        return CUDA_ERROR_INVALID_VALUE;
    uint8_t *block = calloc(1, info.parameter_bytes + 1u);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < info.parameter_count; i++)
        memcpy(block + info.parameters[i].offset_bytes, parameters[i], info.parameters[i].bytes);
    note_launch(&info, (unsigned[]){grid_x, grid_y, grid_z, block_x, block_y, block_z}, shared_bytes, block);
    struct corun_launch_description description = {
        .kernel = function->kernel,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .dynamic_shared_bytes = shared_bytes,
        .parameters = block,
        .parameter_bytes = info.parameter_bytes,
    };
    struct entry entry = {.kind = LAUNCH};
    snprintf(entry.kernel, sizeof entry.kernel, "%s", info.name);
    enum corun_status status = corun_grid_create(function->module->instance, &description, NULL, &entry.grid);
    free(block);
    return status ? CUDA_ERROR_INVALID_VALUE : enqueue(entry);
}

API(cuEventCreate, void **event, unsigned flags)
{
    *event = calloc(1, sizeof(struct event));
    return *event && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuEventRecord, void *event, void *stream)
{
    ((struct event *)event)->is_recorded = false;
    return stream ? CUDA_ERROR_INVALID_VALUE : enqueue((struct entry){.kind = RECORD, .event = event});
}

API(cuEventElapsedTime, float *milliseconds, void *start, void *end)
{
    const struct event *first = start, *last = end;
    if (!first->is_recorded || !last->is_recorded)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((last->microseconds - first->microseconds) * 1e-3);
    return CUDA_SUCCESS;
}

API(cuEventDestroy_v2, void *event)
{
    free(event);
    return CUDA_SUCCESS;
}

API(cuGetErrorName, int code, const char **text)
{
    switch (code) {
#define RESULT_NAME(name, value, words) \
    case value: \
        *text = #name; \
        return CUDA_SUCCESS;
        RESULTS(RESULT_NAME)
#undef RESULT_NAME
    default:
        *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

API(cuGetErrorString, int code, const char **text)
{
    switch (code) {
#define RESULT_TEXT(name, value, words) \
    case value: \
        *text = words; \
        return CUDA_SUCCESS;
        RESULTS(RESULT_TEXT)
#undef RESULT_TEXT
    default:
        *text = NULL;
        return CUDA_ERROR_INVALID_VALUE;
    }
}

API(nvmlInit_v2, void)
{
    return 0;
}

API(nvmlShutdown, void)
{
    return 0;
}

API(nvmlSystemGetDriverVersion, char *text, unsigned bytes)
{
    snprintf(text, bytes, "550.54");
    return 0;
}

API(nvmlDeviceGetHandleByPciBusId_v2, const char *bus, void **device)
{
    *device = &driver;
    return strcmp(bus, "0000:00:00.0") == 0 ? 0 : 2;
}

API(nvmlDeviceGetClockInfo, void *device, int clock, unsigned *megahertz)
{
    *megahertz = 1000;
    return device == &driver && clock == 1 ? 0 : 2;
}

API(nvmlDeviceGetApplicationsClock, void *device, int clock, unsigned *megahertz)
{
    *megahertz = clock == 1 ? 1100 : 3500;
    return device == &driver ? 0 : 2;
}
