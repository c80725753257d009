/* SPDX-License-Identifier: MIT */
/*
 * Launches, whole or in slices. A launch is cut where corund bounds what is under way, the kernel's thread blocks have been seen to take longer than that
 * together, and there is a sliced form of it. A slice takes half of the bound, so that one can wait behind the other; but it has no fewer thread
 * blocks than the GPU holds at once, since fewer would take as long. Slices go into the program's stream, one behind the other.
 */
#include "shim/cut.h"

#include "rewrite/slice.h"
#include "shim/below.h"
#include "shim/govern.h"
#include "shim/kernels.h"
#include "shim/times.h"
#include "shim/variables.h"
#include "shim/workers.h"

#include <string.h>

static int make(const struct launch *launch, void *function, const unsigned grid[3], void **parameters,
                struct kernel *kernel, struct governed *governed)
{
    govern_begin(governed, kernel, (uint64_t)grid[0] * grid[1] * grid[2]);
    int error = launch->real(function, grid[0], grid[1], grid[2], launch->block[0], launch->block[1], launch->block[2],
                             launch->shared_bytes, launch->stream, parameters, launch->extra);
    govern_end(governed, error);
    return error;
}

/* How many thread blocks a slice has; `total`: it is not cut. */
static uint64_t slice_blocks(const struct launch *launch, struct kernel *kernel, uint64_t total, uint64_t bound_ns)
{
    uint64_t block_ps = atomic_load(&kernel->block_ps),
             threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (!block_ps || total * block_ps / 1000 <= bound_ns || kernel->whole || threads > 1024 || launch->extra ||
        !slice_grid_is_good(launch->grid))
        return total;
    uint32_t wave = kernel_rewritten(kernel, (uint32_t)threads, launch->shared_bytes);
    if (!wave || kernel->parameters >= LAUNCH_MOST_PARAMETERS || (kernel->parameters && !launch->parameters))
        return total;
    uint64_t blocks = bound_ns * 1000 / 2 / block_ps;
    if (blocks < wave)
        blocks = wave;
    return blocks < total ? blocks : total;
}

static int make_slices(const struct launch *launch, struct governed *governed, struct kernel *kernel, uint64_t total,
                       uint64_t blocks)
{
    static _Atomic uint64_t launches;
    uint64_t number = atomic_fetch_add(&launches, 1) + 1;
    void *parameters[LAUNCH_MOST_PARAMETERS + 1];
    struct slice_arguments arguments;
    int error = BELOW_OK;
    if (kernel->parameters)
        memcpy(parameters, launch->parameters, kernel->parameters * sizeof *parameters);
    parameters[kernel->parameters] = &arguments;
    for (uint64_t first = 0; first < total && error == BELOW_OK; first += blocks) {
        const unsigned grid[3] = {(unsigned)(total - first < blocks ? total - first : blocks), 1, 1};
        slice_arguments_set(&arguments, launch->grid, first, number);
        if (first)
            govern_look(governed, launch->stream, launch->per_thread);
        error = make(launch, kernel->function, grid, parameters, kernel, governed);
        if (total - first > blocks)
            govern_part(governed);
    }
    return error;
}

static int make_some_way(const struct launch *launch, struct governed *governed)
{
    int made;
    enum kernels_form form = kernels_form();
    if (form == KERNELS_WORKERS && workers_launch(launch, governed, &made))
        return made;
    uint64_t bound_ns = form == KERNELS_SLICES ? govern_bound(governed) : 0;
    struct kernel *kernel = bound_ns ? kernel_find(launch->function) : NULL;
    uint64_t total = slice_total(launch->grid), blocks = total;
    if (kernel && total)
        blocks = slice_blocks(launch, kernel, total, bound_ns);
    if (blocks < total && variables_copy(kernel->copied, kernel->copied_count, launch->stream, launch->per_thread)) {
        made = make_slices(launch, governed, kernel, total, blocks);
    } else {
        made = make(launch, launch->function, launch->grid, launch->parameters, kernel, governed);
        if (kernel && made == BELOW_OK && !atomic_load(&kernel->block_ps))
            govern_measure(governed);
    }
    kernel_drop(kernel);
    return made;
}

int launch_make(const struct launch *launch)
{
    struct governed governed;
    govern_look(&governed, launch->stream, launch->per_thread);
    uint32_t timed = times_begin(&governed);
    int error = make_some_way(launch, &governed);
    times_end(timed, &governed, error);
    return error;
}
