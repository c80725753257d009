/* SPDX-License-Identifier: MIT */
/* The machine of this process, or the way to that of corund. */
#include "cuda/machine.h"

#include "cuda/context.h"
#include "cuda/process.h"
#include "cuda/remote.h"

/*
 * The machine has no policy, as `corun run` without one, so that a captured program runs there as it did here. It is
 * made for the first task that takes time.
 */
static bool open_gpu(struct process *process, struct device *device)
{
    struct stream_scheduler *scheduler = &device->scheduler;
    struct corun_gpu *gpu;
    if (corun_gpu_create(&device->config, process->list, &gpu) != CORUN_OK)
        return false;
    struct corun_limits limits = {
        .threads = process->threads,
        .launch_cycles = simulated_duration_cycles(&process->kernel_timeout, device->config.core_clock_khz),
        .applications = CORUN_MAX_APPLICATIONS};
    scheduler->base_cycle = device->cycle;
    scheduler->machine = stream_machine_of_gpu(gpu);
    corun_gpu_profile(gpu, process->profiles);
    if (process->samples && corun_gpu_sample(gpu, &process->sampling) != CORUN_OK)
        return false;
    return corun_gpu_open(gpu, &limits, process->list) == CORUN_OK;
}

bool machine_open(struct process *process, struct device *device)
{
    if (device->scheduler.machine.operations)
        return true;
    if (!process->remote)
        return open_gpu(process, device);
    device->scheduler.base_cycle = 0; /* its clock goes on, whoever comes and goes */
    device->scheduler.machine = remote_machine(process->remote);
    return true;
}

bool machine_memory_create(struct process *process, struct context *context)
{
    if (process->remote)
        return remote_memory_create(process->remote, context);
    uint32_t index = 0;
    while (index < CORUN_MAX_APPLICATIONS && process->memories_used >> index & 1u)
        index++;
    if (index == CORUN_MAX_APPLICATIONS || !(context->memory = corun_memory_create(index)))
        return false;
    corun_memory_map_pages(context->memory);
    context->memory_index = index;
    return true;
}

void machine_memory_destroy(struct process *process, struct context *context)
{
    corun_memory_destroy(context->memory);
    if (process->remote)
        remote_memory_destroy(process->remote, context->memory_index);
}

enum corun_status machine_module_load(struct process *process, struct context *context,
                                      const struct machine_module *from, struct corun_module *module,
                                      struct corun_diagnostics *list, struct corun_module_instance **instance)
{
    if (process->remote)
        return remote_module_load(process->remote, context, from, module, list, instance);
    enum corun_status status = corun_module_instance_create(module, context->memory, list, instance);
    if (status == CORUN_OK) {
        corun_module_instance_check(*instance, process->checks);
        corun_module_instance_architecture(*instance, context->device->config.compute_capability);
    }
    return status;
}
