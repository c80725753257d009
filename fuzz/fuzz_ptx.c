/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as PTX. What parses is analysed, printed and parsed again, and rewritten by a builder that changes nothing, and must come
 * out equal, unless it has operations of .b128.
 *
 * scripts/fuzz.sh builds and runs it; tests/ptx/corpus has seeds.
 */
#include "ptx/builder.h"
#include "ptx/printer.h"
#include "ptx/register_count.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void analyse(const struct ptx_module *module)
{
    struct arena *arena = arena_create();
    struct ptx_allocation *allocations = calloc(module->function_count + 1u, sizeof *allocations);
    check(arena && allocations);
    for (uint32_t i = 0; i < module->function_count; i++) {
        struct ptx_control_flow flow;
        check(ptx_control_flow_create(module->functions[i], arena, &flow) == CORUN_OK);
        check(ptx_allocate_registers(module->functions[i], &flow, arena, &allocations[i]) == CORUN_OK);
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        uint32_t registers;
        enum ptx_registers_from from;
        if (module->functions[i]->is_entry)
            check(ptx_registers_per_thread(module, module->functions[i], allocations, NULL, 0, &registers, &from) ==
                  CORUN_OK);
    }
    free(allocations);
    arena_destroy(arena);
}

static void print_again(const struct ptx_module *module)
{
    char *text, *text_again;
    size_t bytes, bytes_again;
    struct ptx_module *again;
    check(ptx_print(module, &text, &bytes) == CORUN_OK);
    check(ptx_parse("printed", text, bytes, NULL, &again) == CORUN_OK);
    check(ptx_prints_copies(module) || ptx_module_equal(module, again));
    check(ptx_print(again, &text_again, &bytes_again) == CORUN_OK);
    check(ptx_prints_copies(module) || (bytes == bytes_again && !memcmp(text, text_again, bytes)));
    free(text);
    free(text_again);
    ptx_module_destroy(again);
}

static void rewrite(const struct ptx_module *module)
{
    struct ptx_builder *builder = ptx_builder_create(module);
    struct ptx_module *built;
    check(builder != NULL);
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (!module->functions[i]->has_body)
            continue;
        ptx_body_begin(builder, i);
        while (ptx_body_next(builder))
            ptx_body_keep(builder);
        ptx_body_end(builder);
    }
    check(ptx_builder_finish(builder, NULL, &built) == CORUN_OK);
    check(ptx_module_equal(module, built));
    ptx_module_destroy(built);
    ptx_builder_destroy(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    enum corun_status status = ptx_parse("fuzz", (const char *)data, size, list, &module);
    check((status == CORUN_OK) == (module != NULL));
    check((status == CORUN_OK) == !corun_diagnostics_count(list));
    if (module) {
        analyse(module);
        print_again(module);
        rewrite(module);
    }
    ptx_module_destroy(module);
    corun_diagnostics_destroy(list);
    return 0;
}
