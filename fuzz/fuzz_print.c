/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: what a kernel gives to vprintf. Up to the first NUL it is the format, behind it lie the arguments; the
 * text that comes out has no end of its own but that of the memory.
 */
#include "corun/module.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1024 };

static const char kernel[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                             ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n.reg .b64 %a, %b;\n.reg .b32 %r;\n"
                             "ld.param.u64 %a, [p];\nld.param.u64 %b, [q];\n{\n"
                             ".param .b64 f;\n.param .b64 a;\n.param .b32 r;\n"
                             "st.param.b64 [f], %a;\nst.param.b64 [a], %b;\n"
                             "call (r), vprintf, (f, a);\nld.param.b32 %r, [r];\n}\nret;\n}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Reads all of it, so that the sanitizers see what is not there. */
static void look_at(void *user, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *(uint32_t *)user += (uint8_t)text[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *module;
    struct corun_module_instance *instance;
    struct corun_grid *grid;
    uint64_t addresses[2];
    uint32_t sum = 0;
    const uint8_t *end = memchr(data, 0, size);
    size_t length = end ? (size_t)(end - data) : size, rest = end ? size - length - 1 : 0;
    check(list && memory);
    check(corun_module_load("k.ptx", kernel, sizeof kernel - 1, list, &module) == CORUN_OK);
    check(corun_module_instance_create(module, memory, list, &instance) == CORUN_OK);
    for (size_t i = 0; i < 2; i++)
        check(corun_memory_allocate(memory, BUFFER_BYTES, &addresses[i]) == CORUN_OK);
    length = length < BUFFER_BYTES ? length : BUFFER_BYTES;
    rest = rest < BUFFER_BYTES ? rest : BUFFER_BYTES;
    check(corun_memory_write(memory, addresses[0], data, length) == CORUN_OK);
    if (rest)
        check(corun_memory_write(memory, addresses[1], end + 1, rest) == CORUN_OK);
    const struct corun_launch_description description = {.kernel = corun_module_kernel_at(module, 0),
                                                         .grid = {1, 1, 1},
                                                         .block = {1, 1, 1},
                                                         .parameters = addresses,
                                                         .parameter_bytes = sizeof addresses};
    check(corun_grid_create(instance, &description, list, &grid) == CORUN_OK);
    (void)corun_run_functional(grid, 1000, list, look_at, &sum, NULL);
    corun_grid_destroy(grid);
    corun_module_instance_destroy(instance);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
    corun_diagnostics_destroy(list);
    return 0;
}
