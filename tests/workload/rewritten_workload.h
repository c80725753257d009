/* SPDX-License-Identifier: MIT */
/* A workload whose kernels a pass has rewritten, on memory of its own. */
#ifndef TESTS_WORKLOAD_REWRITTEN_WORKLOAD_H
#define TESTS_WORKLOAD_REWRITTEN_WORKLOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corun/workload.h"
#include "isa/executor.h"
#include "rewrite/rewritten.h"
#include "workload/instance.h"

struct rewritten_workload {
    struct corun_diagnostics *list;
    struct corun_workload *workload;
    struct corun_instance *instance;
    struct rewritten rewritten; /* module NULL: the kernels are what they were */
    struct corun_module
        *beside; /* where kernels borrow: the rewritten module, and the workload's is what it was; else NULL */
    struct corun_module_instance *borrows;
    VECTOR(struct corun_grid *) grids; /* that were made of it */
};

static inline void __attribute__((noreturn)) stop_with(const struct corun_diagnostics *list, const char *what)
{
    size_t count = corun_diagnostics_count(list);
    const struct corun_diagnostic *last = count ? corun_diagnostics_get(list, count - 1) : NULL;
    fail_msg("%s: %s:%u: %s", what, last && last->place.file ? last->place.file : "", last ? last->place.line : 0,
             last ? last->message : "");
    abort();
}

/*
 * The workload's kernels become the rewritten ones, which take no more arguments from the description than before. Its module becomes the rewritten one, unless that borrows the
 * variables of what it was.
 */
static inline void rewrite_kernels(struct rewritten_workload *run, rewrite_pass *pass, uint32_t assembling)
{
    struct corun_workload *workload = run->workload;
    struct corun_module *module;
    char *text;
    size_t bytes;
    if (rewrite_text(pass, workload->ptx_path, workload->ptx, workload->ptx_bytes, run->list, &run->rewritten, &text,
                     &bytes) ||
        corun_module_assemble(workload->ptx_path, text, bytes, assembling, run->list, &module))
        stop_with(run->list, "rewriting");
    free(text);
    assert_int_equal(run->rewritten.rewritten_count, run->rewritten.kernel_count);
    if (run->rewritten.borrowed_table) {
        run->beside = module;
        return;
    }
    for (uint32_t i = 0; i < module->kernel_count; i++)
        module->kernels[i].info.parameter_count--;
    for (uint32_t i = 0; i < workload->description->kernel_launches; i++)
        workload->kernels[i] = corun_module_kernel(module, workload->kernels[i]->info.name);
    corun_module_destroy(workload->module);
    workload->module = module;
}

/* The rewritten module in the workload's memory, with the addresses of the variables of its own. */
static inline void load_beside(struct rewritten_workload *run)
{
    struct corun_memory *memory = corun_instance_memory(run->instance);
    uint64_t bytes;
    if (corun_module_instance_create(run->beside, memory, run->list, &run->borrows))
        stop_with(run->list, "loading");
    uint64_t table = corun_module_instance_variable(run->borrows, run->rewritten.borrowed_table, &bytes);
    for (uint32_t i = 0; i < run->rewritten.borrowed_count; i++) {
        uint64_t address = corun_module_instance_variable(run->instance->module, run->rewritten.borrowed[i], &bytes);
        assert_true(address != 0);
        assert_int_equal(corun_memory_write(memory, table + i * sizeof address, &address, sizeof address), CORUN_OK);
    }
}

/* Constants are as the workload's module has them. */
static inline void copy_constants(const struct rewritten_workload *run)
{
    struct corun_memory *memory = corun_instance_memory(run->instance);
    for (uint32_t i = 0; i < run->rewritten.borrowed_count; i++) {
        const char *name = run->rewritten.borrowed[i];
        uint64_t bytes, from = corun_module_instance_variable(run->instance->module, name, &bytes);
        if (!run->rewritten.copied[i])
            continue;
        uint8_t *content = malloc(bytes);
        assert_int_equal(corun_memory_read(memory, from, content, bytes), CORUN_OK);
        assert_int_equal(
            corun_memory_write(memory, corun_module_instance_variable(run->borrows, name, &bytes), content, bytes),
            CORUN_OK);
        free(content);
    }
}

/* Without a pass: as it is. `assembling` is the machine code of a GPU, made of what the pass leaves, as a driver does. */
static inline struct rewritten_workload rewritten_workload_assemble(const char *specification, rewrite_pass *pass,
                                                                    uint32_t assembling)
{
    struct rewritten_workload run = {.list = corun_diagnostics_create()};
    char data[4096];
    if (corun_data_directory(data, sizeof data, run.list) ||
        corun_workload_assemble(specification, data, assembling, run.list, &run.workload))
        stop_with(run.list, specification);
    if (pass)
        rewrite_kernels(&run, pass, assembling);
    if (corun_instance_create(run.workload, 0, 1, run.list, &run.instance))
        stop_with(run.list, specification);
    if (run.beside)
        load_beside(&run);
    return run;
}

static inline struct rewritten_workload rewritten_workload_create(const char *specification, rewrite_pass *pass)
{
    return rewritten_workload_assemble(specification, pass, 0);
}

static inline void rewritten_workload_destroy(struct rewritten_workload *run)
{
    for (size_t i = 0; i < run->grids.count; i++)
        corun_grid_destroy(run->grids.data[i]);
    vector_free(&run->grids);
    corun_module_instance_destroy(run->borrows);
    corun_instance_destroy(run->instance);
    corun_workload_destroy(run->workload);
    corun_module_destroy(run->beside);
    rewritten_destroy(&run->rewritten);
    corun_diagnostics_destroy(run->list);
}

static inline uint64_t total_of(const struct launch *launch)
{
    return (uint64_t)launch->dim.x * launch->dim.y * launch->dim.z;
}

/*
 * A launch like `whole` on another grid, with `argument` where the pass has put its parameter, or as it is if the kernels are what they
 * were.
 */
static inline struct corun_grid *rewritten_workload_grid(struct rewritten_workload *run, const struct launch *whole,
                                                         struct corun_dim3 dim, const void *argument, size_t bytes)
{
    const struct corun_kernel *kernel =
        run->beside ? corun_module_kernel(run->beside, whole->kernel->info.name) : whole->kernel;
    uint32_t room = run->beside ? kernel->info.parameter_bytes : whole->parameter_bytes;
    uint8_t *parameters = calloc(1, room + 1u);
    struct corun_launch_description description = {.kernel = kernel,
                                                   .grid = whole->dim,
                                                   .block = whole->block,
                                                   .dynamic_shared_bytes = whole->dynamic_shared_bytes,
                                                   .parameters = parameters,
                                                   .parameter_bytes = room};
    memcpy(parameters, whole->parameters, whole->parameter_bytes);
    if (run->rewritten.module) {
        memcpy(parameters + rewritten_kernel_find(&run->rewritten, whole->kernel->info.name)->parameter_offset,
               argument, bytes);
        description.grid = dim;
    }
    if (run->beside)
        copy_constants(run);
    struct corun_grid *grid = NULL;
    if (corun_grid_create(run->beside ? run->borrows : run->instance->module, &description, run->list, &grid))
        stop_with(run->list, "launching");
    free(parameters);
    assert_true(vector_push(&run->grids, grid));
    return grid;
}

/* What all buffers hold, by their names; the caller frees it. */
static inline uint8_t *contents_of(const struct rewritten_workload *run, size_t *bytes)
{
    size_t used = 0;
    *bytes = 0;
    for (size_t i = 0; i < corun_instance_buffer_count(run->instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(run->instance, i, &info);
        *bytes += info.bytes;
    }
    uint8_t *contents = calloc(1, *bytes + 1);
    for (size_t i = 0; i < corun_instance_buffer_count(run->instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(run->instance, i, &info);
        assert_int_equal(
            corun_memory_read(corun_instance_memory(run->instance), info.address, contents + used, info.bytes),
            CORUN_OK);
        used += info.bytes;
    }
    return contents;
}

/*
 * What one thread block leaves for another one depends on which came first: on the GPU, and so in another order, the bits may be others.
 * These are held against the reference instead.
 */
static inline bool compares_bytes(const char *name)
{
    static const struct {
        const char *name, *reason;
    } depends_on_order[] = {
        {"mri-gridding",
         "samples are added to cells by atomics, in floats, which round in the order in which they come"},
    };
    for (size_t i = 0; i < sizeof depends_on_order / sizeof depends_on_order[0]; i++)
        if (!strcmp(name, depends_on_order[i].name))
            return false;
    return true;
}

/* The buffers are byte for byte what is wanted, where that may be asked, and right; `what` is for the message. */
static inline void compare_contents(const struct rewritten_workload *run, const char *name, const uint8_t *wanted,
                                    size_t bytes, const char *what)
{
    size_t found_bytes, differ = 0;
    uint8_t *found = contents_of(run, &found_bytes);
    assert_int_equal(found_bytes, bytes);
    for (size_t i = 0; i < bytes; i++)
        differ += found[i] != wanted[i];
    if (differ && compares_bytes(name))
        fail_msg("%s: %s: %zu of %zu bytes differ", name, what, differ, bytes);
    free(found);
    struct corun_verification verification;
    enum corun_status status = corun_instance_verify(run->instance, run->list, &verification);
    if (status != CORUN_OK && status != CORUN_NOT_FOUND)
        stop_with(run->list, "verifying");
}

static inline uint32_t most_registers_added(const struct rewritten_workload *run)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < run->rewritten.kernel_count; i++) {
        const struct rewritten_kernel *kernel = &run->rewritten.kernels[i];
        if (kernel->registers_after > kernel->registers_before + most)
            most = kernel->registers_after - kernel->registers_before;
    }
    return most;
}

#endif
