/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: fenced kernels. Bytes that begin with a letter or a full stop are PTX: whatever can be loaded can be fenced, can be loaded then, and can become workers. Other
 * bytes make a kernel (tests/rewrite/random_kernel.h), which leaves with a fence round its buffer what it leaves without, and nothing with a fence round none.
 */
#include "corun/module.h"
#include "rewrite/fence.h"
#include "rewrite/workers.h"

#include "random_kernel.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WATCHDOG 100000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static enum corun_status fenced_workers(const struct ptx_module *source, struct corun_diagnostics *list,
                                        struct rewritten *rewritten)
{
    return fence_before(workers_module, source, list, rewritten);
}

static void rewrite_by(rewrite_pass *pass, const char *text, size_t bytes, bool loads)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_module *module;
    struct rewritten rewritten;
    char *output;
    size_t output_bytes;
    check(list);
    bool good = rewrite_text(pass, "fuzz.ptx", text, bytes, list, &rewritten, &output, &output_bytes) == CORUN_OK;
    check(good || !loads);
    if (good) {
        check(rewritten.rewritten_count <= rewritten.kernel_count);
        if (loads) {
            check(corun_module_load("fenced.ptx", output, output_bytes, list, &module) == CORUN_OK);
            corun_module_destroy(module);
        }
        rewritten_destroy(&rewritten);
        free(output);
    }
    corun_diagnostics_destroy(list);
}

static void rewrite_any_text(const char *text, size_t bytes)
{
    struct corun_module *module;
    bool loads = corun_module_load("fuzz.ptx", text, bytes, NULL, &module) == CORUN_OK;
    if (loads)
        corun_module_destroy(module);
    rewrite_by(fence_module, text, bytes, loads);
    rewrite_by(fenced_workers, text, bytes, loads);
}

/* What a kernel leaves in its buffer. bounds: a fence round so much of that, and *recorded what it has recorded; -1: there is none. */
static void run(const struct random_kernel *kernel, const char *text, size_t bytes, int64_t bounds,
                uint32_t words[RANDOM_WORDS], uint64_t *recorded)
{
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *module = NULL;
    struct corun_module_instance *program = NULL;
    struct corun_kernel_info info;
    struct corun_grid *grid;
    uint8_t block[64] = {0};
    uint64_t out, record, size;
    check(memory && corun_module_load("k.ptx", text, bytes, NULL, &module) == CORUN_OK &&
          corun_module_instance_create(module, memory, NULL, &program) == CORUN_OK &&
          corun_memory_allocate(memory, sizeof *words * RANDOM_WORDS, &out) == CORUN_OK &&
          corun_memory_allocate(memory, sizeof record, &record) == CORUN_OK);
    if (bounds >= 0) {
        const struct fence_bounds fence = {.first = out, .bytes = (uint64_t)bounds, .record = record};
        uint64_t place = corun_module_instance_variable(program, FENCE_VARIABLE, &size);
        check(place && corun_memory_write(memory, place, &fence, sizeof fence) == CORUN_OK);
    }
    const struct corun_kernel *entry = corun_module_kernel(module, "k");
    corun_kernel_describe(entry, &info);
    memcpy(block, &out, sizeof out);
    struct corun_launch_description description = {.kernel = entry,
                                                   .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
                                                   .block = {kernel->block, 1, 1},
                                                   .parameters = block,
                                                   .parameter_bytes = info.parameter_bytes};
    check(corun_grid_create(program, &description, NULL, &grid) == CORUN_OK &&
          corun_run_functional(grid, WATCHDOG, NULL, NULL, NULL, NULL) == CORUN_OK &&
          corun_memory_read(memory, out, words, sizeof *words * RANDOM_WORDS) == CORUN_OK &&
          corun_memory_read(memory, record, recorded, sizeof *recorded) == CORUN_OK);
    corun_grid_destroy(grid);
    corun_module_instance_destroy(program);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
}

static void rewrite_made_kernel(const uint8_t *data, size_t size)
{
    static struct random_kernel kernel; /* too large for the stack; one input at a time */
    static uint32_t whole[RANDOM_WORDS], found[RANDOM_WORDS], none[RANDOM_WORDS];
    struct rewritten rewritten;
    uint64_t recorded;
    char *text;
    size_t bytes;
    random_kernel_make(&kernel, data, size);
    check(rewrite_text(fence_module, "k.ptx", kernel.text, kernel.length, NULL, &rewritten, &text, &bytes) == CORUN_OK);
    check(rewritten.kernel_count == 1 && rewritten.rewritten_count == 1);
    run(&kernel, kernel.text, kernel.length, -1, whole, &recorded);
    run(&kernel, text, bytes, sizeof whole, found, &recorded);
    check(!recorded && !memcmp(whole, found, sizeof whole));
    run(&kernel, text, bytes, 0, found, &recorded);
    check(!memcmp(none, found, sizeof none) && (recorded || !memcmp(none, whole, sizeof none)));
    rewritten_destroy(&rewritten);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && (isalpha(data[0]) || data[0] == '.' || data[0] == '/' || isspace(data[0])))
        rewrite_any_text((const char *)data, size);
    else
        rewrite_made_kernel(data, size);
    return 0;
}
