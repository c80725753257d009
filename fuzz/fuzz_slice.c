/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: kernels in slices. Bytes that begin with a letter or a full stop are PTX: whatever can be loaded can be sliced, can be loaded
 * then, and can be sliced again. Other bytes make a kernel (tests/rewrite/random_kernel.h), which does in slices what it does whole.
 */
#include "corun/module.h"
#include "rewrite/slice.h"

#include "random_kernel.h"

#include <ctype.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void slice_any_text(const char *text, size_t bytes)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_module *module;
    struct rewritten slices, again;
    char *sliced, *twice;
    size_t sliced_bytes, twice_bytes;
    check(list);
    bool loads = corun_module_load("fuzz.ptx", text, bytes, list, &module) == CORUN_OK;
    if (loads)
        corun_module_destroy(module);
    bool slices_well =
        rewrite_text(slice_module, "fuzz.ptx", text, bytes, list, &slices, &sliced, &sliced_bytes) == CORUN_OK;
    check(slices_well || !loads);
    if (slices_well) {
        check(slices.rewritten_count <= slices.kernel_count);
        if (loads) {
            check(corun_module_load("sliced.ptx", sliced, sliced_bytes, list, &module) == CORUN_OK);
            corun_module_destroy(module);
        }
        check(rewrite_text(slice_module, "sliced.ptx", sliced, sliced_bytes, list, &again, &twice, &twice_bytes) ==
              CORUN_OK);
        check(again.kernel_count == slices.kernel_count && again.rewritten_count <= slices.rewritten_count);
        rewritten_destroy(&again);
        free(twice);
        rewritten_destroy(&slices);
        free(sliced);
    }
    corun_diagnostics_destroy(list);
}

/* Runs `count` thread blocks from `first` on, or all of them as the kernel was (count 0). */
static void run(struct corun_module_instance *instance, const struct corun_module *module,
                const struct random_kernel *kernel, const struct rewritten *slices, uint64_t first, uint64_t count,
                uint64_t out)
{
    const struct corun_kernel *entry = corun_module_kernel(module, "k");
    uint8_t block[128] = {0};
    struct corun_kernel_info info;
    struct corun_grid *grid;
    corun_kernel_describe(entry, &info);
    memcpy(block, &out, sizeof out);
    struct corun_launch_description description = {.kernel = entry,
                                                   .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
                                                   .block = {kernel->block, 1, 1},
                                                   .parameters = block,
                                                   .parameter_bytes = info.parameter_bytes};
    if (count) {
        struct slice_arguments arguments;
        slice_arguments_set(&arguments, kernel->grid, first, 1);
        memcpy(block + slices->kernels[0].parameter_offset, &arguments, sizeof arguments);
        description.grid = (struct corun_dim3){(uint32_t)count, 1, 1};
    }
    check(corun_grid_create(instance, &description, NULL, &grid) == CORUN_OK);
    check(corun_run_functional(grid, 0, NULL, NULL, NULL, NULL) == CORUN_OK);
    corun_grid_destroy(grid);
}

/* The words that the kernel leaves: whole (slice 0), or in slices from the last one to the first one. */
static void run_all(const struct random_kernel *kernel, const char *text, size_t bytes, const struct rewritten *slices,
                    uint64_t slice, uint32_t words[RANDOM_WORDS])
{
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *module;
    struct corun_module_instance *instance;
    uint64_t out, total = slice_total(kernel->grid);
    check(memory && corun_module_load("k.ptx", text, bytes, NULL, &module) == CORUN_OK &&
          corun_module_instance_create(module, memory, NULL, &instance) == CORUN_OK &&
          corun_memory_allocate(memory, sizeof *words * RANDOM_WORDS, &out) == CORUN_OK);
    if (!slice)
        run(instance, module, kernel, slices, 0, 0, out);
    for (uint64_t left = slice ? (total + slice - 1) / slice : 0; left--;) {
        uint64_t rest = total - left * slice;
        run(instance, module, kernel, slices, left * slice, rest < slice ? rest : slice, out);
    }
    check(corun_memory_read(memory, out, words, sizeof *words * RANDOM_WORDS) == CORUN_OK);
    corun_module_instance_destroy(instance);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
}

static void slice_made_kernel(const uint8_t *data, size_t size)
{
    static struct random_kernel kernel; /* too large for the stack; one input at a time */
    uint32_t whole[RANDOM_WORDS], cut[RANDOM_WORDS];
    struct rewritten slices;
    char *text;
    size_t bytes;
    uint8_t slice = size ? data[size - 1] : 0;
    random_kernel_make(&kernel, data, size);
    check(rewrite_text(slice_module, "k.ptx", kernel.text, kernel.length, NULL, &slices, &text, &bytes) == CORUN_OK);
    check(slices.kernel_count == 1);
    if (slices.rewritten_count) {
        run_all(&kernel, kernel.text, kernel.length, &slices, 0, whole);
        run_all(&kernel, text, bytes, &slices, 1u + slice % 128u, cut);
        check(!memcmp(whole, cut, sizeof whole));
    }
    rewritten_destroy(&slices);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && (isalpha(data[0]) || data[0] == '.' || data[0] == '/' || isspace(data[0])))
        slice_any_text((const char *)data, size);
    else
        slice_made_kernel(data, size);
    return 0;
}
