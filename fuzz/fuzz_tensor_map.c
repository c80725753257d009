/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as a tensor map, and coordinates. A map that is good comes back as it was from the bytes that it is written to. Copies
 * of every kind with it end, or are a fault, and touch nothing that is not theirs.
 */
#include "corun/memory.h"
#include "corun/module.h"
#include "isa/tensor_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4096, MAP_FIRST = 8, INPUT_BYTES = 1 + 20 + 6 + 120, MOST_INSTRUCTIONS = 1000, KINDS = 6 };

/* What the first byte says, modulo KINDS, and the number of dimensions behind that. */
static const char *const copies[KINDS] = {
    "cp.async.bulk.tensor.%ud.shared::cta.global.tile.mbarrier::complete_tx::bytes [room], [%%d0, {%s}], [bar];",
    "cp.async.bulk.tensor.%ud.shared::cta.global.im2col.mbarrier::complete_tx::bytes [room], [%%d0, {%s}], [bar], %s;",
    "cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group [%%d0, {%s}], [room];",
    "cp.reduce.async.bulk.tensor.%ud.global.shared::cta.add.tile.bulk_group [%%d0, {%s}], [room];",
    "cp.reduce.async.bulk.tensor.%ud.global.shared::cta.min.tile.bulk_group [%%d0, {%s}], [room];",
    "cp.async.bulk.prefetch.tensor.%ud.L2.global.tile [%%d0, {%s}];",
};
static const char *const coordinates[] = {"%r0", "%r0, %r1", "%r0, %r1, %r2", "%r0, %r1, %r2, %r3",
                                          "%r0, %r1, %r2, %r3, %r4"};
static const char *const offsets[] = {"", "", "{%h0}", "{%h0, %h1}", "{%h0, %h1, %h2}"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void come_back(const uint8_t *bytes)
{
    struct tensor_map map, again;
    char text[TENSOR_TEXT];
    uint8_t packed[TENSOR_MAP_BYTES];
    if (!tensor_map_unpack(bytes, &map, text)) {
        check(strlen(text) > 0 && strlen(text) < TENSOR_TEXT);
        return;
    }
    tensor_map_pack(&map, packed);
    check(tensor_map_unpack(packed, &again, text));
    check(!memcmp(&map, &again, sizeof map));
}

static void write_kernel(char *text, size_t bytes, uint32_t kind, uint32_t rank)
{
    int head = snprintf(text, bytes,
                        ".version 8.0\n.target sm_90\n.address_size 64\n"
                        ".visible .entry k(.param .align 64 .b8 map[128], .param .align 4 .b8 asked[28])\n{\n"
                        ".reg .b16 %%h<3>; .reg .b32 %%r<5>; .reg .b64 %%d<1>;\n.shared .align 1024 .b8 room[8192];\n"
                        ".shared .align 8 .b64 bar;\nmov.b64 %%d0, map; cvta.param.u64 %%d0, %%d0;\n"
                        "ld.param.s32 %%r0, [asked]; ld.param.s32 %%r1, [asked+4]; ld.param.s32 %%r2, [asked+8];\n"
                        "ld.param.s32 %%r3, [asked+12]; ld.param.s32 %%r4, [asked+16]; ld.param.u16 %%h0, [asked+20];\n"
                        "ld.param.u16 %%h1, [asked+22]; ld.param.u16 %%h2, [asked+24];\n"
                        "mbarrier.init.shared::cta.b64 [bar], 1;\n");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    head += snprintf(text + head, bytes - (size_t)head, copies[kind], rank, coordinates[rank - 1], offsets[rank - 1]);
#pragma GCC diagnostic pop
    snprintf(text + head, bytes - (size_t)head, "\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t input[INPUT_BYTES] = {0};
    memcpy(input, data, size < sizeof input ? size : sizeof input);
    uint32_t kind = input[0] % KINDS, rank = input[0] / KINDS % TENSOR_MOST_RANK + 1;
    rank = kind == 1 && rank < 3 ? 3 : rank;
    struct tensor_map model = {.rank = 1};
    struct {
        _Alignas(64) uint8_t map[TENSOR_MAP_BYTES];
        uint8_t asked[28];
    } parameters = {.map = {0}};
    tensor_map_pack(&model, parameters.map); /* its magic number */
    memcpy(parameters.map + MAP_FIRST, input + 27, TENSOR_MAP_BYTES - MAP_FIRST);
    memcpy(parameters.asked, input + 1, 26);

    char text[2048];
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *module = NULL;
    struct corun_module_instance *instance = NULL;
    uint64_t buffer;
    check(list && memory);
    write_kernel(text, sizeof text, kind, rank);
    check(corun_module_load("k.ptx", text, strlen(text), list, &module) == CORUN_OK);
    check(corun_module_instance_create(module, memory, list, &instance) == CORUN_OK);
    check(corun_memory_allocate(memory, BUFFER_BYTES, &buffer) == CORUN_OK);
    if (!parameters.map[MAP_FIRST + 7]) { /* in the buffer, or behind it */
        uint64_t address = buffer + (parameters.map[MAP_FIRST] | (uint64_t)parameters.map[MAP_FIRST + 1] % 32 << 8);
        memcpy(parameters.map + MAP_FIRST, &address, sizeof address);
    }
    come_back(parameters.map);
    struct corun_launch_description description = {.kernel = corun_module_kernel(module, "k"),
                                                   .grid = {1, 1, 1},
                                                   .block = {1, 1, 1},
                                                   .parameters = &parameters,
                                                   .parameter_bytes = TENSOR_MAP_BYTES + 28};
    struct corun_grid *grid = NULL;
    struct corun_functional_result count;
    check(corun_grid_create(instance, &description, list, &grid) == CORUN_OK);
    enum corun_status status = corun_run_functional(grid, MOST_INSTRUCTIONS, list, NULL, NULL, &count);
    check(status == CORUN_OK || status == CORUN_FAULT);
    corun_grid_destroy(grid);
    corun_module_instance_destroy(instance);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
    corun_diagnostics_destroy(list);
    return 0;
}
