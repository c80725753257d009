/* SPDX-License-Identifier: MIT */
/* Helpers of the rewriters' tests: a module and its sliced one, and a grid that is run whole and in slices, on memory of the same content. */
#ifndef TESTS_REWRITE_SLICE_RUNNER_H
#define TESTS_REWRITE_SLICE_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corun/module.h"
#include "rewrite/slice.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

enum { SLICE_OUT_BYTES = 65536 };

/* A module as it was, its sliced one, and the text of that. */
struct slice_case {
    struct corun_diagnostics *list;
    struct rewritten slices;
    char *text;
    size_t text_bytes;
    uint32_t rewrites; /* of the machine-code model, as what is run is loaded */
};

static inline void __attribute__((noreturn)) fail_with(const struct corun_diagnostics *list, const char *what)
{
    const struct corun_diagnostic *first = corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0) : NULL;
    fail_msg("%s: line %u: %s", what, first ? first->place.line : 0, first ? first->message : "");
    abort();
}

static inline struct slice_case slice_case_create(const char *text, size_t bytes)
{
    struct slice_case item = {.list = corun_diagnostics_create()};
    if (rewrite_text(slice_module, "test.ptx", text, bytes, item.list, &item.slices, &item.text, &item.text_bytes) !=
        CORUN_OK)
        fail_with(item.list, "slicing");
    return item;
}

static inline void slice_case_destroy(struct slice_case *item)
{
    rewritten_destroy(&item->slices);
    corun_diagnostics_destroy(item->list);
    free(item->text);
}

static inline const struct rewritten_kernel *slice_case_kernel(const struct slice_case *item, const char *name)
{
    const struct rewritten_kernel *kernel = rewritten_kernel_find(&item->slices, name);
    if (!kernel)
        fail_msg("there is no kernel '%s'", name);
    return kernel;
}

/* How a grid is cut. */
struct cutting {
    uint64_t slice;  /* thread blocks of a slice; 0: the kernel as it was, whole */
    uint64_t random; /* 0: the slices in order, else the seed of their order */
};

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The first thread blocks of the slices of a grid, in the order in which they are launched; the caller frees them. */
static inline uint64_t *slice_order(uint64_t total, const struct cutting *cutting, size_t *count)
{
    *count = (size_t)((total + cutting->slice - 1) / cutting->slice);
    uint64_t *firsts = calloc(*count, sizeof *firsts), state = cutting->random;
    assert_non_null(firsts);
    for (size_t i = 0; i < *count; i++)
        firsts[i] = i * cutting->slice;
    for (size_t i = *count; cutting->random && i > 1; i--) {
        size_t k = (size_t)(next_random(&state) % i);
        uint64_t kept = firsts[i - 1];
        firsts[i - 1] = firsts[k];
        firsts[k] = kept;
    }
    return firsts;
}

/* A launch of a kernel whose first parameter is the address of a buffer of SLICE_OUT_BYTES. */
struct slice_launch {
    const char *kernel;
    struct corun_dim3 grid, block;
    uint32_t words[7]; /* what follows that address, so far as the kernel has parameters */
};

static inline void run_part(struct corun_module_instance *instance, const struct slice_case *item,
                            const struct slice_launch *launch, struct corun_module *module, uint64_t first,
                            uint64_t count, uint64_t out)
{
    const struct rewritten_kernel *kernel = slice_case_kernel(item, launch->kernel);
    uint8_t block[256] = {0};
    struct corun_launch_description description = {.kernel = corun_module_kernel(module, launch->kernel),
                                                   .grid = launch->grid,
                                                   .block = launch->block,
                                                   .parameters = block,
                                                   .parameter_bytes = kernel->parameter_offset};
    struct corun_kernel_info info;
    struct corun_grid *grid;
    corun_kernel_describe(description.kernel, &info);
    memcpy(block, &out, sizeof out);
    memcpy(block + sizeof out, launch->words, sizeof launch->words);
    if (count) {
        const uint32_t shape[] = {launch->grid.x, launch->grid.y, launch->grid.z};
        slice_arguments_set((struct slice_arguments *)(block + kernel->parameter_offset), shape, first, 77);
        description.grid = (struct corun_dim3){(uint32_t)count, 1, 1};
    }
    description.parameter_bytes = info.parameter_bytes;
    if (corun_grid_create(instance, &description, item->list, &grid) != CORUN_OK)
        fail_with(item->list, "launching");
    if (corun_run_functional(grid, 1000000, item->list, NULL, NULL, NULL) != CORUN_OK)
        fail_with(item->list, "running");
    corun_grid_destroy(grid);
}

/* A module in memory of its own, with a buffer. */
struct loaded {
    struct corun_memory *memory;
    struct corun_module *module;
    struct corun_module_instance *instance;
    uint64_t out;
};

static inline struct loaded load_text(const struct slice_case *item, const char *text)
{
    struct loaded loaded = {.memory = corun_memory_create(0)};
    if (corun_module_assemble("test.ptx", text, strlen(text), item->rewrites, item->list, &loaded.module) != CORUN_OK ||
        corun_module_instance_create(loaded.module, loaded.memory, item->list, &loaded.instance) != CORUN_OK)
        fail_with(item->list, "loading");
    assert_int_equal(corun_memory_allocate(loaded.memory, SLICE_OUT_BYTES, &loaded.out), CORUN_OK);
    return loaded;
}

/* The content of the buffer, which the caller frees. */
static inline uint8_t *unload(struct loaded *loaded)
{
    uint8_t *content = malloc(SLICE_OUT_BYTES);
    assert_int_equal(corun_memory_read(loaded->memory, loaded->out, content, SLICE_OUT_BYTES), CORUN_OK);
    corun_module_instance_destroy(loaded->instance);
    corun_module_destroy(loaded->module);
    corun_memory_destroy(loaded->memory);
    return content;
}

/* One slice, or with a count of 0 a kernel that was refused, of the sliced module; gives the buffer. */
static inline uint8_t *run_slice(const struct slice_case *item, const struct slice_launch *launch, uint64_t first,
                                 uint64_t count)
{
    struct loaded loaded = load_text(item, item->text);
    run_part(loaded.instance, item, launch, loaded.module, first, count, loaded.out);
    return unload(&loaded);
}

/* A launch in slices, or whole as it was in `original`; gives the buffer. */
static inline uint8_t *run_cut(const struct slice_case *item, const char *original, const struct slice_launch *launch,
                               const struct cutting *cutting)
{
    struct loaded loaded = load_text(item, cutting->slice ? item->text : original);
    uint64_t total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    size_t count = 0;
    uint64_t *firsts = cutting->slice ? slice_order(total, cutting, &count) : NULL;
    if (!cutting->slice)
        run_part(loaded.instance, item, launch, loaded.module, 0, 0, loaded.out);
    for (size_t i = 0; i < count; i++) {
        uint64_t rest = total - firsts[i];
        run_part(loaded.instance, item, launch, loaded.module, firsts[i], rest < cutting->slice ? rest : cutting->slice,
                 loaded.out);
    }
    free(firsts);
    return unload(&loaded);
}

/* Slices of 1, 2, 3, 7, a half, one less than all, and all, in order and not, do what the whole grid did; gives what that is. */
static inline uint8_t *expect_same(const char *text, const struct slice_launch *launch)
{
    struct slice_case item = slice_case_create(text, strlen(text));
    uint64_t total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    uint8_t *whole = run_cut(&item, text, launch, &(struct cutting){0});
    const uint64_t sizes[] = {1, 2, 3, 7, (total + 1) / 2, total > 1 ? total - 1 : 1, total};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint64_t random = 0; random < 2; random++) {
            uint8_t *cut = run_cut(&item, text, launch, &(struct cutting){sizes[i], random});
            if (memcmp(whole, cut, SLICE_OUT_BYTES) != 0)
                fail_msg("slices of %llu of %llu thread blocks%s differ:\n%s", (unsigned long long)sizes[i],
                         (unsigned long long)total, random ? ", in another order," : "", item.text);
            free(cut);
        }
    slice_case_destroy(&item);
    return whole;
}

#endif
