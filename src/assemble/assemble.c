/* SPDX-License-Identifier: MIT */
/* The rewrites of a function in their order. */
#include "assemble/code.h"

static const struct rewrite {
    uint32_t bit;
    void (*run)(struct code *code);
} rewrites_in_order[] = {
    {ASSEMBLE_COPIES, code_propagate},         {ASSEMBLE_COPIES, code_remove_dead}, {ASSEMBLE_UNROLL, code_unroll},
    {ASSEMBLE_ADDRESSES, code_fold_addresses}, {ASSEMBLE_COPIES, code_remove_dead}, {ASSEMBLE_FUSE, code_fuse},
    {ASSEMBLE_SUMS, code_fuse_sums},           {ASSEMBLE_CONTRACT, code_contract},  {ASSEMBLE_COPIES, code_remove_dead},
    {ASSEMBLE_PREDICATE, code_predicate},      {ASSEMBLE_COMBINE, code_combine},    {ASSEMBLE_GATHER, code_gather},
    {ASSEMBLE_HALVES, code_count_halves},
};

static enum corun_status assemble_function(const struct ptx_function *function, bool apart, uint32_t rewrites,
                                           struct arena *arena, struct ptx_function *made)
{
    struct code code;
    enum corun_status status = code_open(function, arena, &code);
    code.apart = apart;
    for (uint32_t i = 0; i < sizeof rewrites_in_order / sizeof *rewrites_in_order && status == CORUN_OK; i++) {
        if (!(rewrites & rewrites_in_order[i].bit))
            continue;
        rewrites_in_order[i].run(&code);
        if (code.changed)
            status = code_refresh(&code);
    }
    if (status == CORUN_OK && rewrites & ASSEMBLE_SCHEDULE)
        status = code_schedule(&code, rewrites);
    if (status == CORUN_OK)
        code_close(&code, made);
    return status;
}

enum corun_status assemble_module(struct ptx_module *module, uint32_t rewrites)
{
    for (uint32_t i = 0; i < module->function_count && rewrites; i++) {
        struct ptx_function *function =
            (struct ptx_function *)(uintptr_t)module->functions[i]; /* ours: see the header */
        enum corun_status status = function->instruction_count
                                       ? assemble_function(function, false, rewrites, module->arena, function)
                                       : CORUN_OK;
        if (status != CORUN_OK)
            return status;
    }
    return CORUN_OK;
}

enum corun_status assemble_apart(const struct ptx_function *function, uint32_t rewrites, struct arena *arena,
                                 struct ptx_function *made)
{
    *made = *function;
    return function->instruction_count ? assemble_function(function, true, rewrites, arena, made) : CORUN_OK;
}
