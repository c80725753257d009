/* SPDX-License-Identifier: MIT */
/* The machine of this process, or the way to that of corund. */
#include "cuda/machine.h"

#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/journaled_machine.h"
#include "cuda/process.h"
#include "cuda/remote.h"

/*
 * The machine has no policy, as `corun run` without one, so that a captured program runs there as it did here. It is
 * made for the first task that takes time.
 */
enum corun_status machine_open_gpu(struct process *process, struct device *device, struct corun_gpu **gpu)
{
    enum corun_status status = corun_gpu_create(&device->config, process->list, gpu);
    if (status != CORUN_OK)
        return status;
    struct corun_limits limits = {
        .threads = process->threads,
        .launch_cycles = simulated_duration_cycles(&process->kernel_timeout, device->config.core_clock_khz),
        .applications = CORUN_MAX_APPLICATIONS};
    corun_gpu_profile(*gpu, process->profiles);
    if (process->samples)
        status = corun_gpu_sample(*gpu, &process->sampling);
    if (status == CORUN_OK)
        status = corun_gpu_open(*gpu, &limits, process->list);
    if (status != CORUN_OK)
        corun_gpu_destroy(*gpu);
    return status;
}

static bool open_here(struct process *process, struct device *device)
{
    struct stream_scheduler *scheduler = &device->scheduler;
    struct corun_gpu *gpu;
    scheduler->base_cycle = device->cycle;
    if (process->checkpoint)
        scheduler->machine = journaled_machine_open(process, device);
    else if (machine_open_gpu(process, device, &gpu) == CORUN_OK)
        scheduler->machine = stream_machine_of_gpu(gpu);
    return scheduler->machine.operations != NULL;
}

bool machine_open(struct process *process, struct device *device)
{
    if (device->scheduler.machine.operations)
        return true;
    if (!process->remote)
        return open_here(process, device);
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
    checkpoint_ask(process, journal_digest(from->text, from->bytes, 0), "module %.100s", from->name);
    enum corun_status status = corun_module_instance_create(module, context->memory, list, instance);
    if (status == CORUN_OK) {
        corun_module_instance_check(*instance, process->checks);
        corun_module_instance_architecture(*instance, context->device->config.compute_capability);
    }
    return status;
}
