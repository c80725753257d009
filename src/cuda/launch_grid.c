/* SPDX-License-Identifier: MIT */
/* Grids of launches: shape, parameters and what the context gives them. */
#include "cuda/launch_grid.h"

#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/device_runtime.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/stream.h"
#include "cuda/task.h"
#include "isa/device_launch.h"

/* The two words that the blocks of a cooperative grid meet at: several launches may be under way, each has its own. */
static uint64_t meeting_address(struct context *context)
{
    enum { PLACES = 64, PLACE_BYTES = 256 };
    if (!context->grid_barrier) {
        if (corun_memory_allocate(context->memory, PLACES * PLACE_BYTES, &context->grid_barrier) != CORUN_OK)
            return 0;
        capture_allocate(process_get(), context, context->grid_barrier, PLACES * PLACE_BYTES);
    }
    uint64_t address = context->grid_barrier + (uint64_t)(context->grid_barrier_next++ % PLACES) * PLACE_BYTES;
    static const uint64_t zero[PLACE_BYTES / 8];
    (void)corun_memory_write(context->memory, address, zero, sizeof zero);
    return address;
}

enum corun_status launch_grid_create(struct process *process, struct task *task, struct corun_grid **grid)
{
    struct context *context = task->stream->context;
    const struct launch_request *request = &task->launch.request;
    const struct corun_kernel *kernel = function_kernel(request->function, request->dynamic_shared_bytes);
    struct corun_launch_description description = {.kernel = kernel,
                                                   .grid = request->grid,
                                                   .block = request->block,
                                                   .dynamic_shared_bytes = request->dynamic_shared_bytes,
                                                   .parameters = request->parameters,
                                                   .parameter_bytes = request->parameter_bytes,
                                                   .stack_bytes = context->limits[LIMIT_STACK],
                                                   .cluster = request->cluster.shape,
                                                   .cluster_balanced =
                                                       request->cluster.policy == CLUSTER_POLICY_BALANCED};
    if (request->cooperative && !(description.meeting_address = meeting_address(context)))
        return CORUN_MEMORY;
    process->launches += !task->launch.walk;
    if (request->function->rewritten && kernel == request->function->kernel && !task->launch.walk &&
        !(task->launch.walk = launch_walk_begin(&process->parting, request, context, process->launches)))
        return CORUN_MEMORY;
    if (task->launch.walk)
        launch_walk_describe(task->launch.walk, request, &description);
    enum corun_status status = corun_grid_create(request->function->module->loaded, &description, process->list, grid);
    if (status == CORUN_OK)
        device_launch_set_depth(*grid, task->launch.depth);
    return status;
}
