/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: borrowed variables. Bytes that begin with a letter or a full stop are PTX: whatever can be loaded can borrow, can be loaded then, and can become slices and
 * workers. Other bytes make a kernel (tests/rewrite/random_kernel.h), which leaves in its buffer and in the variables of the program's module what it leaves when it is that
 * module's own.
 */
#include "corun/module.h"
#include "rewrite/borrow.h"

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
        check(rewritten.rewritten_count <= rewritten.kernel_count &&
              !rewritten.borrowed_table == !rewritten.borrowed_count);
        for (uint32_t i = 0; i < rewritten.kernel_count; i++)
            for (uint32_t k = 0; k < rewritten.kernels[i].borrow_count; k++)
                check(rewritten.kernels[i].borrows[k] < rewritten.borrowed_count);
        if (loads) {
            check(corun_module_load("borrowing.ptx", output, output_bytes, list, &module) == CORUN_OK);
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
    rewrite_by(borrow_module, text, bytes, loads);
    rewrite_by(borrow_and_slice, text, bytes, loads);
    rewrite_by(borrow_for_workers, text, bytes, loads);
}

/* What a program leaves: its buffer, and its sums. */
struct left {
    uint32_t words[RANDOM_WORDS], sums[4];
};

static void copy_constant(struct corun_memory *memory, const char *name, struct corun_module_instance *borrows,
                          struct corun_module_instance *program)
{
    uint8_t content[64];
    uint64_t bytes, from = corun_module_instance_variable(program, name, &bytes),
                    to = corun_module_instance_variable(borrows, name, &bytes);
    check(bytes <= sizeof content && corun_memory_read(memory, from, content, bytes) == CORUN_OK &&
          corun_memory_write(memory, to, content, bytes) == CORUN_OK);
}

static void fill_table(struct corun_memory *memory, const struct rewritten *rewritten,
                       struct corun_module_instance *borrows, struct corun_module_instance *program)
{
    uint64_t bytes, table = 0;
    if (rewritten->borrowed_count)
        table = corun_module_instance_variable(borrows, rewritten->borrowed_table, &bytes);
    for (uint32_t i = 0; i < rewritten->borrowed_count; i++) {
        uint64_t address = corun_module_instance_variable(program, rewritten->borrowed[i], &bytes);
        check(address && corun_memory_write(memory, table + i * sizeof address, &address, sizeof address) == CORUN_OK);
        if (rewritten->copied[i])
            copy_constant(memory, rewritten->borrowed[i], borrows, program);
    }
}

static void launch(const struct random_kernel *kernel, struct corun_module *module,
                   struct corun_module_instance *instance, uint64_t out)
{
    const struct corun_kernel *entry = corun_module_kernel(module, "k");
    struct corun_kernel_info info;
    struct corun_grid *grid;
    uint8_t block[64] = {0};
    corun_kernel_describe(entry, &info);
    memcpy(block, &out, sizeof out);
    struct corun_launch_description description = {.kernel = entry,
                                                   .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
                                                   .block = {kernel->block, 1, 1},
                                                   .parameters = block,
                                                   .parameter_bytes = info.parameter_bytes};
    check(corun_grid_create(instance, &description, NULL, &grid) == CORUN_OK &&
          corun_run_functional(grid, WATCHDOG, NULL, NULL, NULL, NULL) == CORUN_OK);
    corun_grid_destroy(grid);
}

/* By the program's own kernel, or by that of a module beside it (text). */
static void run(const struct random_kernel *kernel, const char *text, size_t bytes, const struct rewritten *rewritten,
                struct left *left)
{
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *own = NULL, *beside = NULL;
    struct corun_module_instance *program = NULL, *borrows = NULL;
    uint64_t out = 0, sum_bytes;
    check(memory && corun_module_load("own.ptx", kernel->text, kernel->length, NULL, &own) == CORUN_OK &&
          corun_module_instance_create(own, memory, NULL, &program) == CORUN_OK &&
          corun_memory_allocate(memory, sizeof left->words, &out) == CORUN_OK);
    if (text) {
        check(corun_module_load("beside.ptx", text, bytes, NULL, &beside) == CORUN_OK &&
              corun_module_instance_create(beside, memory, NULL, &borrows) == CORUN_OK);
        fill_table(memory, rewritten, borrows, program);
    }
    launch(kernel, text ? beside : own, text ? borrows : program, out);
    uint64_t sums = corun_module_instance_variable(program, "sums", &sum_bytes);
    check(corun_memory_read(memory, out, left->words, sizeof left->words) == CORUN_OK &&
          corun_memory_read(memory, sums, left->sums, sizeof left->sums) == CORUN_OK);
    corun_module_instance_destroy(borrows);
    corun_module_destroy(beside);
    corun_module_instance_destroy(program);
    corun_module_destroy(own);
    corun_memory_destroy(memory);
}

static void rewrite_made_kernel(const uint8_t *data, size_t size)
{
    static struct random_kernel kernel; /* too large for the stack; one input at a time */
    static struct left whole, found;
    struct rewritten rewritten;
    char *text;
    size_t bytes;
    random_kernel_make(&kernel, data, size);
    check(rewrite_text(borrow_module, "k.ptx", kernel.text, kernel.length, NULL, &rewritten, &text, &bytes) ==
          CORUN_OK);
    check(rewritten.kernel_count == 1);
    if (rewritten.rewritten_count) {
        run(&kernel, NULL, 0, NULL, &whole);
        run(&kernel, text, bytes, &rewritten, &found);
        check(!memcmp(&whole, &found, sizeof whole));
    }
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
