/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the executor's tests: PTX in the test, buffers in one application's memory, a run, a look at the result.
 */
#ifndef TESTS_ISA_RUNNER_H
#define TESTS_ISA_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corun/memory.h"
#include "corun/module.h"
#include "isa/executor.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
/* A kernel of one parameter: a pointer in %out; %t is tid.x. */
#define KERNEL(body) HEAD BODY(body)
/* The same, for behind functions. */
#define BODY(body) \
    ".visible .entry k(.param .u64 p)\n{\n" \
    ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<16>;\n.reg .b64 %rd<32>;\n.reg .f64 " \
    "%fd<16>;\n" \
    ".reg .b64 %out, %mine;\n.reg .b32 %t;\n" \
    "ld.param.u64 %out, [p];\ncvta.to.global.u64 %out, %out;\nmov.u32 %t, %tid.x;\n" \
    "mul.wide.u32 %mine, %t, 4;\nadd.u64 %mine, %out, %mine;\n" body "\nret;\n}\n"

struct runner {
    struct corun_diagnostics *list;
    struct corun_memory *memory;
    struct corun_module *module;
    struct corun_module_instance *instance;
    uint64_t out; /* a zeroed buffer */
    uint64_t out_bytes;
    char printed[65536];
    size_t printed_bytes;
    struct corun_functional_result count;
};

static inline const char *runner_message(const struct runner *runner)
{
    return corun_diagnostics_count(runner->list) ? corun_diagnostics_get(runner->list, 0)->message : "";
}

static inline uint32_t runner_line(const struct runner *runner)
{
    return corun_diagnostics_count(runner->list) ? corun_diagnostics_get(runner->list, 0)->place.line : 0;
}

static inline enum corun_status runner_try_load(struct runner *runner, const char *text)
{
    *runner = (struct runner){0};
    runner->list = corun_diagnostics_create();
    runner->memory = corun_memory_create(0);
    assert_non_null(runner->list);
    assert_non_null(runner->memory);
    enum corun_status status = corun_module_load("test.ptx", text, strlen(text), runner->list, &runner->module);
    if (status == CORUN_OK)
        status = corun_module_instance_create(runner->module, runner->memory, runner->list, &runner->instance);
    if (status == CORUN_OK && getenv("CORUN_TEST_NATIVE"))
        runner->instance->native_after = 0; /* the whole test by machine code: tests/CMakeLists.txt */
    return status;
}

static inline void runner_load(struct runner *runner, const char *text)
{
    enum corun_status status = runner_try_load(runner, text);
    if (status != CORUN_OK)
        print_error("%s:%u\n", runner_message(runner), runner_line(runner));
    assert_int_equal(status, CORUN_OK);
    runner->out_bytes = 65536;
    assert_int_equal(corun_memory_allocate(runner->memory, runner->out_bytes, &runner->out), CORUN_OK);
}

/* From its first instruction on the kernel runs by machine code, where the processor has any; or it never does. */
static inline void runner_use_code(struct runner *runner, bool use)
{
    runner->instance->native_after = use ? 0 : UINT32_MAX;
}

static inline void runner_free(struct runner *runner)
{
    corun_module_instance_destroy(runner->instance);
    corun_module_destroy(runner->module);
    corun_memory_destroy(runner->memory);
    corun_diagnostics_destroy(runner->list);
}

static inline void runner_print(void *user, const char *text, size_t bytes)
{
    struct runner *runner = user;
    assert_true(runner->printed_bytes + bytes < sizeof runner->printed);
    memcpy(runner->printed + runner->printed_bytes, text, bytes);
    runner->printed_bytes += bytes;
}

static inline struct corun_grid *runner_launch(struct runner *runner, const char *name, struct corun_dim3 grid,
                                               struct corun_dim3 block, uint32_t dynamic_shared, const void *parameters,
                                               size_t bytes)
{
    struct corun_launch_description description = {.kernel = corun_module_kernel(runner->module, name),
                                                   .grid = grid,
                                                   .block = block,
                                                   .dynamic_shared_bytes = dynamic_shared,
                                                   .parameters = parameters,
                                                   .parameter_bytes = bytes};
    struct corun_grid *launch = NULL;
    assert_non_null(description.kernel);
    enum corun_status status = corun_grid_create(runner->instance, &description, runner->list, &launch);
    if (status != CORUN_OK)
        print_error("%s\n", runner_message(runner));
    assert_int_equal(status, CORUN_OK);
    return launch;
}

static inline enum corun_status runner_run_grid(struct runner *runner, const char *name, struct corun_dim3 grid,
                                                struct corun_dim3 block, uint32_t dynamic_shared,
                                                const void *parameters, size_t bytes, uint64_t watchdog)
{
    struct corun_grid *launch = runner_launch(runner, name, grid, block, dynamic_shared, parameters, bytes);
    enum corun_status status =
        corun_run_functional(launch, watchdog, runner->list, runner_print, runner, &runner->count);
    corun_grid_destroy(launch);
    return status;
}

/* Kernel `k` with the out buffer as its parameter, one block. */
static inline enum corun_status runner_try(struct runner *runner, uint32_t threads)
{
    return runner_run_grid(runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){threads, 1, 1}, 0,
                           &runner->out, 8, 1000000);
}

static inline const uint32_t *runner_words(struct runner *runner)
{
    return corun_memory_pointer(runner->memory, runner->out, runner->out_bytes);
}

/* Loads KERNEL text, runs it with `threads` threads and gives the out buffer. */
static inline const uint32_t *runner_run(struct runner *runner, const char *text, uint32_t threads)
{
    runner_load(runner, text);
    enum corun_status status = runner_try(runner, threads);
    if (status != CORUN_OK)
        print_error("%s: line %u\n", runner_message(runner), runner_line(runner));
    assert_int_equal(status, CORUN_OK);
    return runner_words(runner);
}

#endif
