/* SPDX-License-Identifier: MIT */
/* Helpers of the rewriters' tests: a module and its rewritten one, and memory that both run on. */
#ifndef TESTS_REWRITE_REWRITE_RUNNER_H
#define TESTS_REWRITE_REWRITE_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corun/module.h"
#include "rewrite/rewritten.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

enum { OUT_BYTES = 65536 };

/* A module as it was, what a pass has made of it, and the text of that. */
struct rewrite_case {
    struct corun_diagnostics *list;
    struct rewritten rewritten;
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

static inline struct rewrite_case rewrite_case_create(rewrite_pass *pass, const char *text, size_t bytes)
{
    struct rewrite_case item = {.list = corun_diagnostics_create()};
    if (rewrite_text(pass, "test.ptx", text, bytes, item.list, &item.rewritten, &item.text, &item.text_bytes) !=
        CORUN_OK)
        fail_with(item.list, "rewriting");
    return item;
}

static inline void rewrite_case_destroy(struct rewrite_case *item)
{
    rewritten_destroy(&item->rewritten);
    corun_diagnostics_destroy(item->list);
    free(item->text);
}

static inline const struct rewritten_kernel *rewrite_case_kernel(const struct rewrite_case *item, const char *name)
{
    const struct rewritten_kernel *kernel = rewritten_kernel_find(&item->rewritten, name);
    if (!kernel)
        fail_msg("there is no kernel '%s'", name);
    return kernel;
}

/* The kernels of `text` become those of `wanted`. */
static inline void expect_rewritten(rewrite_pass *pass, const char *text, const char *wanted)
{
    struct rewrite_case item = rewrite_case_create(pass, text, strlen(text));
    struct ptx_module *module;
    if (ptx_parse("wanted.ptx", wanted, strlen(wanted), item.list, &module) != CORUN_OK)
        fail_with(item.list, "parsing what is wanted");
    if (!ptx_module_equal(module, item.rewritten.module))
        fail_msg("found\n%s", item.text);
    ptx_module_destroy(module);
    rewrite_case_destroy(&item);
}

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A launch of a kernel whose first parameter is the address of a buffer of OUT_BYTES. */
struct test_launch {
    const char *kernel;
    struct corun_dim3 grid, block;
    uint32_t words[7]; /* what follows that address, so far as the kernel has parameters */
    uint32_t dynamic_shared_bytes;
};

/* A program in memory of its own, with a buffer. */
struct loaded {
    struct corun_memory *memory;
    struct corun_module *module;
    struct corun_module_instance *instance;
    uint64_t out;
};

static inline struct loaded load_text(const struct rewrite_case *item, const char *text)
{
    struct loaded loaded = {.memory = corun_memory_create(0)};
    if (corun_module_assemble("test.ptx", text, strlen(text), item->rewrites, item->list, &loaded.module) != CORUN_OK ||
        corun_module_instance_create(loaded.module, loaded.memory, item->list, &loaded.instance) != CORUN_OK)
        fail_with(item->list, "loading");
    assert_int_equal(corun_memory_allocate(loaded.memory, OUT_BYTES, &loaded.out), CORUN_OK);
    return loaded;
}

/* The content of the buffer, which the caller frees. */
static inline uint8_t *unload(struct loaded *loaded)
{
    uint8_t *content = malloc(OUT_BYTES);
    assert_int_equal(corun_memory_read(loaded->memory, loaded->out, content, OUT_BYTES), CORUN_OK);
    corun_module_instance_destroy(loaded->instance);
    corun_module_destroy(loaded->module);
    corun_memory_destroy(loaded->memory);
    return content;
}

/* Runs a kernel of the module on `grid`, with `argument` where the pass has put its parameter. */
static inline void run_launch(struct loaded *loaded, const struct rewrite_case *item, const struct test_launch *launch,
                              struct corun_dim3 grid, const void *argument, size_t argument_bytes)
{
    const struct rewritten_kernel *kernel = rewrite_case_kernel(item, launch->kernel);
    uint8_t block[256] = {0};
    struct corun_launch_description description = {.kernel = corun_module_kernel(loaded->module, launch->kernel),
                                                   .grid = grid,
                                                   .block = launch->block,
                                                   .dynamic_shared_bytes = launch->dynamic_shared_bytes,
                                                   .parameters = block};
    struct corun_kernel_info info;
    struct corun_grid *running;
    corun_kernel_describe(description.kernel, &info);
    memcpy(block, &loaded->out, sizeof loaded->out);
    memcpy(block + sizeof loaded->out, launch->words, sizeof launch->words);
    if (argument)
        memcpy(block + kernel->parameter_offset, argument, argument_bytes);
    description.parameter_bytes = info.parameter_bytes;
    if (corun_grid_create(loaded->instance, &description, item->list, &running) != CORUN_OK)
        fail_with(item->list, "launching");
    if (corun_run_functional(running, 10000000, item->list, NULL, NULL, NULL) != CORUN_OK)
        fail_with(item->list, "running");
    corun_grid_destroy(running);
}

#endif
