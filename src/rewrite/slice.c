/* SPDX-License-Identifier: MIT */
/*
 * Index rectification. A kernel computes where its thread block lies in the grid (block_index.h), and reads of %ctaid become reads of
 * that. Reads of %nctaid become loads of the parameter in the same place, which keeps no register.
 */
#include "rewrite/slice.h"

#include "rewrite/block_index.h"
#include "rewrite/pass.h"

#include <stddef.h>

static void write_block_index(struct pass *pass, uint32_t function, struct block_index *index)
{
    struct pass_function *plan = &pass->functions[function];
    block_index_write(index, &(struct code){pass->builder, function}, plan->argument);
    for (uint32_t i = 0; i < 3; i++)
        plan->block_index[i] = index->registers[i];
}

static enum corun_status write_body(struct pass *pass, uint32_t function)
{
    struct block_index index = {0};
    bool computes =
        pass->functions[function].origin == PASS_FROM_ARGUMENT && pass->reads[function].reads & PASS_BLOCK_INDEX;
    if (computes)
        index = block_index_plan(pass->source->functions[function], pass->reads[function].reads);
    if (computes && !index.position)
        write_block_index(pass, function, &index);
    const struct ptx_instruction *next;
    for (uint32_t i = 0; (next = ptx_body_next(pass->builder)); i++) {
        if (computes && index.position && i == index.position)
            write_block_index(pass, function, &index);
        if (computes && block_index_says(&index, i))
            continue; /* its register has the value */
        pass_write(pass, function, next);
    }
    return CORUN_OK;
}

enum corun_status slice_module(const struct ptx_module *source, struct corun_diagnostics *list,
                               struct rewritten *rewritten)
{
    static const int64_t offsets[GRID_VALUES] = {[GRID_NCTAID_X] = offsetof(struct slice_arguments, grid_x),
                                                 [GRID_NCTAID_Y] = offsetof(struct slice_arguments, grid_y),
                                                 [GRID_NCTAID_Z] = offsetof(struct slice_arguments, grid_z),
                                                 [GRID_GRIDID] = offsetof(struct slice_arguments, grid_id)};
    static const struct pass_rules rules = {.doing = "slicing kernels",
                                            .parameter = SLICE_PARAMETER,
                                            .parameter_bytes = sizeof(struct slice_arguments),
                                            .parameter_align = SLICE_PARAMETER_ALIGN,
                                            .offsets = offsets,
                                            .write = write_body};
    return pass_run(&rules, NULL, source, list, rewritten);
}
