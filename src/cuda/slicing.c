/* SPDX-License-Identifier: MIT */
/* Which thread blocks of a launch run next, and what their kernel is told. */
#include "cuda/slicing.h"

#include "base/number.h"
#include "corun/workload.h"
#include "cuda/module.h"
#include "cuda/task.h"

#include <stdlib.h>
#include <string.h>

bool slicing_parse(const char *text, struct slicing *slicing)
{
    char size[64];
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    uint64_t number = 0, seed = 0;
    *slicing = (struct slicing){0};
    if (length >= sizeof size)
        return false;
    memcpy(size, text, length);
    size[length] = 0;
    bool is_part = !strncmp(size, "1/", 2);
    if (!number_parse(size + 2 * is_part, 1000, &number) || !number || number > SLICE_MOST_BLOCKS ||
        (colon && !number_parse(colon + 1, 1000, &seed)))
        return false;
    *slicing = (struct slicing){is_part ? 0 : (uint32_t)number, is_part ? (uint32_t)number : 0, seed};
    return true;
}

static uint64_t greatest_common_divisor(uint64_t left, uint64_t right)
{
    while (right) {
        uint64_t rest = left % right;
        left = right;
        right = rest;
    }
    return left;
}

void slicing_begin(struct slice_walk *walk, const struct slicing *slicing, const struct launch_request *request,
                   uint64_t id)
{
    const uint32_t grid[] = {request->grid.x, request->grid.y, request->grid.z};
    uint64_t total = slice_total(grid), blocks = slicing->blocks;
    if (!blocks)
        blocks = (total + slicing->part - 1) / slicing->part;
    if (request->cooperative || blocks > total)
        blocks = total;
    if (blocks > SLICE_MOST_BLOCKS)
        blocks = SLICE_MOST_BLOCKS;
    *walk = (struct slice_walk){
        .total = total, .blocks = blocks, .count = (total + blocks - 1) / blocks, .stride = 1, .id = id};
    if (!slicing->seed || walk->count > UINT32_MAX) /* products of places stay exact */
        return;
    uint64_t state = slicing->seed + id;
    walk->offset = corun_random(&state) % walk->count;
    do {
        walk->stride = 1 + corun_random(&state) % walk->count;
    } while (greatest_common_divisor(walk->stride, walk->count) != 1);
}

void slicing_describe(const struct slice_walk *walk, uint64_t place, const struct launch_request *request,
                      struct corun_launch_description *description)
{
    const uint32_t grid[] = {request->grid.x, request->grid.y, request->grid.z};
    struct slice_arguments arguments;
    uint64_t first = (walk->offset + place * walk->stride) % walk->count * walk->blocks;
    uint64_t rest = walk->total - first;
    slice_arguments_set(&arguments, grid, first, walk->id);
    memcpy(request->parameters + request->function->rewritten->parameter_offset, &arguments, sizeof arguments);
    description->grid = (struct corun_dim3){(uint32_t)(rest < walk->blocks ? rest : walk->blocks), 1, 1};
}
