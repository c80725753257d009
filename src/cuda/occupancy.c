/* SPDX-License-Identifier: MIT */
/* Occupancy: the machine is asked how many thread blocks of a launch fit, which is never run. */
#include "cuda/occupancy.h"

#include "cuda/abi.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/module.h"

#include <stdlib.h>

int occupancy_of_function(struct function *function, uint32_t threads, size_t dynamic_shared, uint32_t *tbs)
{
    *tbs = 0;
    if (threads == 0 || threads > function->module->context->device->config.threads_per_tb)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function->kernel)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (function->occupancy.threads == threads && function->occupancy.dynamic_shared_bytes == dynamic_shared) {
        *tbs = function->occupancy.tbs;
        return CUDA_SUCCESS;
    }
    const struct corun_kernel *kernel = function_kernel(function, dynamic_shared);
    struct corun_kernel_info info;
    corun_kernel_describe(kernel, &info);
    uint8_t *zeros = calloc(1, info.parameter_bytes + 1);
    if (!zeros)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct corun_launch_description description = {.kernel = kernel,
                                                   .grid = {1, 1, 1},
                                                   .cluster = {1, 1, 1},
                                                   .block = {threads, 1, 1},
                                                   .dynamic_shared_bytes = (uint32_t)dynamic_shared,
                                                   .parameters = zeros,
                                                   .parameter_bytes = info.parameter_bytes};
    if (info.cluster[0])
        description.grid = description.cluster = (struct corun_dim3){info.cluster[0], info.cluster[1], info.cluster[2]};
    struct corun_grid *grid;
    const char *limit;
    enum corun_status status = dynamic_shared > UINT32_MAX
                                   ? CORUN_LIMIT
                                   : corun_grid_create(function->module->loaded, &description, NULL, &grid);
    free(zeros);
    if (status != CORUN_OK)
        return status == CORUN_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS; /* none fits */
    *tbs = corun_gpu_occupancy(&function->module->context->device->config, grid, &limit);
    corun_grid_destroy(grid);
    function->occupancy = (struct occupancy){threads, *tbs, dynamic_shared};
    return CUDA_SUCCESS;
}

uint32_t occupancy_most_threads(struct function *function)
{
    const struct corun_gpu_config *config = &function->module->context->device->config;
    struct corun_kernel_info info;
    corun_kernel_describe(function->kernel, &info);
    uint32_t most = info.max_threads_per_tb ? info.max_threads_per_tb : config->threads_per_tb, threads = most, tbs = 0;
    while (occupancy_of_function(function, threads, 0, &tbs) == CUDA_SUCCESS && !tbs && threads > 32)
        threads = (threads - 1) / 32 * 32;
    return tbs ? threads : most; /* it is not the number of threads that keeps it from fitting */
}
