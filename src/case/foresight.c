/* SPDX-License-Identifier: MIT */
/* What a run of an application launches, counted before it starts. */
#include "case/run.h"

#include "base/vector.h"

#include <string.h>

const struct corun_launch_view *launches_of_run(const struct run *run, const struct member *member, uint32_t *count)
{
    VECTOR(struct corun_launch_view) shapes = {0};
    bool good = true;
    for (uint32_t i = 0; i < corun_instance_grid_count(member->instance) && good; i++) {
        const struct corun_grid *grid = corun_instance_grid_at(member->instance, i);
        const char *limit;
        uint32_t tbs_per_sm = corun_gpu_occupancy(run->job->gpu, grid, &limit);
        size_t at = 0;
        while (at < shapes.count && (shapes.data[at].tbs != grid->tb_count || shapes.data[at].tbs_per_sm != tbs_per_sm))
            at++;
        if (at < shapes.count)
            shapes.data[at].launches++;
        else if (tbs_per_sm) /* else it will be stopped there */
            good = vector_push(&shapes, ((struct corun_launch_view){grid->tb_count, tbs_per_sm, 1}));
    }
    struct corun_launch_view *copy =
        good && shapes.count ? ARENA_ARRAY(run->arena, struct corun_launch_view, shapes.count) : NULL;
    if (copy)
        memcpy(copy, shapes.data, shapes.count * sizeof *copy);
    *count = copy ? (uint32_t)shapes.count : 0;
    vector_free(&shapes);
    return copy;
}
