/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as PTX that is run, without timing, by machine code and without it, and on a GPU of one SM. What follows the first NUL is
 * what the kernels find in memory. Whatever they do, they end or are stopped, and touch nothing that is not theirs; machine code does what is
 * done without it.
 */
#include "corun/gpu.h"
#include "corun/module.h"
#include "isa/executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4096, MOST_KERNELS = 4, MOST_INSTRUCTIONS = 5000, MOST_CYCLES = 20000 };

struct run {
    struct corun_diagnostics *list;
    struct corun_memory *memory;
    struct corun_module_instance *instance;
    const uint8_t *content;
    size_t content_bytes;
    uint64_t buffer;
    bool by_code;
    FILE *outcome; /* of kernels that run without timing */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void fill_buffer(const struct run *run)
{
    uint8_t *bytes = corun_memory_pointer(run->memory, run->buffer, BUFFER_BYTES);
    check(bytes);
    for (size_t i = 0; i < BUFFER_BYTES; i++)
        bytes[i] = run->content_bytes ? run->content[i % run->content_bytes] : 0;
}

/* Pointers are to places in the buffer; the rest is as in the buffer. */
static struct corun_grid *launch(struct run *run, const struct corun_kernel *kernel)
{
    struct corun_kernel_info info;
    struct corun_grid *grid;
    corun_kernel_describe(kernel, &info);
    /* a warp and a part of one, or a warpgroup */
    uint32_t threads = run->content_bytes && run->content[0] & 1 ? 128 : 48;
    uint8_t *block = calloc(1, info.parameter_bytes + 1);
    check(block);
    for (uint32_t i = 0; i < info.parameter_count; i++) {
        const struct corun_parameter *parameter = &info.parameters[i];
        uint64_t address = run->buffer + 256 * (i % 8);
        uint8_t *place = block + parameter->offset_bytes;
        check(parameter->bytes <= info.parameter_bytes &&
              parameter->offset_bytes <= info.parameter_bytes - parameter->bytes);
        if (parameter->bytes == sizeof address)
            memcpy(place, &address, sizeof address);
        for (uint32_t b = 0; parameter->bytes != sizeof address && b < parameter->bytes && run->content_bytes; b++)
            place[b] = run->content[b % run->content_bytes];
    }
    const struct corun_launch_description description = {.kernel = kernel,
                                                         .grid = {2, 1, 1},
                                                         .block = {threads, 1, 1},
                                                         .dynamic_shared_bytes = 256,
                                                         .parameters = block,
                                                         .parameter_bytes = info.parameter_bytes};
    enum corun_status status = corun_grid_create(run->instance, &description, run->list, &grid);
    free(block);
    return status == CORUN_OK ? grid : NULL;
}

static const struct corun_grid *only_grid(void *user, uint32_t index)
{
    return index ? NULL : user;
}

static void run_timed(struct run *run, struct corun_grid *grid)
{
    struct corun_gpu_config config;
    struct corun_gpu *gpu;
    uint32_t application;
    const struct corun_application_description description = {.name = "fuzz", .grid = only_grid, .user = grid};
    const struct corun_limits limits = {.cycles = MOST_CYCLES, .runs = 1};
    corun_gpu_config_default(&config);
    config.sms = 1;
    check(corun_gpu_create(&config, run->list, &gpu) == CORUN_OK);
    check(corun_gpu_add(gpu, &description, &application) == CORUN_OK);
    (void)corun_gpu_run(gpu, &limits, run->list);
    corun_gpu_destroy(gpu);
}

static void print(void *user, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, user);
}

static void run_untimed(struct run *run, struct corun_grid *grid)
{
    struct corun_functional_result count = {0};
    struct corun_diagnostics *list = corun_diagnostics_create();
    check(list);
    enum corun_status status = corun_run_functional(grid, MOST_INSTRUCTIONS, list, print, run->outcome, &count);
    fprintf(run->outcome, "status %d, %llu %llu %llu, %s\n", (int)status, (unsigned long long)count.warp_instructions,
            (unsigned long long)count.thread_instructions, (unsigned long long)count.global_bytes,
            corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "");
    fwrite(corun_memory_pointer(run->memory, run->buffer, BUFFER_BYTES), 1, BUFFER_BYTES, run->outcome);
    corun_diagnostics_destroy(list);
}

static void run_kernel(struct run *run, const struct corun_kernel *kernel)
{
    struct corun_grid *grid = launch(run, kernel);
    if (!grid)
        return;
    fill_buffer(run);
    run_untimed(run, grid);
    corun_grid_destroy(grid);
    corun_module_instance_reset(run->instance);
    if (run->by_code)
        return;
    fill_buffer(run);
    grid = launch(run, kernel);
    check(grid);
    run_timed(run, grid);
    corun_grid_destroy(grid);
    corun_module_instance_reset(run->instance);
}

/* What came out of all kernels; owned by the caller. */
static char *run_module(const uint8_t *data, size_t size, bool by_code, size_t *bytes)
{
    const uint8_t *end = memchr(data, 0, size);
    size_t length = end ? (size_t)(end - data) : size;
    char *outcome = NULL;
    struct corun_module *module;
    struct run run = {.list = corun_diagnostics_create(), .memory = corun_memory_create(0), .by_code = by_code};
    run.content = end ? end + 1 : NULL;
    run.content_bytes = end ? size - length - 1 : 0;
    run.outcome = open_memstream(&outcome, bytes);
    check(run.list && run.memory && run.outcome);
    /* How strict memory and barriers are is up to the input, too. */
    if (run.content_bytes & 1)
        corun_memory_map_pages(run.memory);
    uint32_t checks = run.content_bytes >> 1 & (CORUN_CHECK_MEMORY | CORUN_CHECK_SYNC);
    check(corun_memory_allocate(run.memory, BUFFER_BYTES, &run.buffer) == CORUN_OK);
    if (corun_module_load("fuzz.ptx", (const char *)data, length, run.list, &module) == CORUN_OK) {
        if (corun_module_instance_create(module, run.memory, run.list, &run.instance) == CORUN_OK) {
            run.instance->native_after = by_code ? 0 : UINT32_MAX;
            corun_module_instance_check(run.instance, checks);
            for (size_t i = 0; i < corun_module_kernel_count(module) && i < MOST_KERNELS; i++)
                run_kernel(&run, corun_module_kernel_at(module, i));
            (void)corun_module_instance_outside(run.instance, run.list);
            corun_module_instance_destroy(run.instance);
        }
        corun_module_destroy(module);
    }
    fclose(run.outcome);
    corun_memory_destroy(run.memory);
    corun_diagnostics_destroy(run.list);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes, code_bytes;
    char *outcome = run_module(data, size, false, &bytes), *code_outcome = run_module(data, size, true, &code_bytes);
    check(bytes == code_bytes && memcmp(outcome, code_outcome, bytes) == 0);
    free(outcome);
    free(code_outcome);
    return 0;
}
