/* SPDX-License-Identifier: MIT */
/* Launches in parts: which kind they are. */
#include "cuda/parts.h"

#include <stdlib.h>

rewrite_pass *parting_pass(const struct parting *parting)
{
    if (parting->crewing.on)
        return workers_beside_module;
    return slicing_is_on(&parting->slicing) ? slice_module : NULL;
}

struct launch_walk *launch_walk_begin(const struct parting *parting, const struct launch_request *request,
                                      struct context *context, uint64_t id)
{
    struct launch_walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return NULL;
    walk->by_workers = parting->crewing.on;
    if (!walk->by_workers)
        slicing_begin(&walk->slices, &parting->slicing, request, id);
    else if (!crew_begin(&walk->crew, &parting->crewing, request, context, id)) {
        free(walk);
        return NULL;
    }
    return walk;
}

void launch_walk_describe(struct launch_walk *walk, const struct launch_request *request,
                          struct corun_launch_description *description)
{
    if (walk->by_workers)
        crew_describe(&walk->crew, request, description);
    else
        slicing_describe(&walk->slices, walk->place, request, description);
}

bool launch_walk_next(struct launch_walk *walk)
{
    walk->place++;
    return walk->by_workers ? crew_next(&walk->crew) : walk->place < walk->slices.count;
}

void launch_walk_end(struct launch_walk *walk)
{
    if (walk && walk->by_workers)
        crew_end(&walk->crew);
    free(walk);
}
