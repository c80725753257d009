/* SPDX-License-Identifier: MIT */
/*
 * Where a process has its GPU: in itself, or with the other programs of a node in corund (remote.h). The rest of the front door knows
 * neither: streams meet the machine in stream/machine.h, contexts and modules here.
 */
#ifndef CORUN_CUDA_MACHINE_H
#define CORUN_CUDA_MACHINE_H

#include "corun/module.h"

struct context;
struct corun_gpu;
struct device;
struct process;

/* The machine of the device, for the first task that takes time. False: there is none, the list says why. */
bool machine_open(struct process *process, struct device *device);

/* A GPU of this process for a device, opened, which the caller destroys. Statuses as of corun_gpu_open; the list says why. */
enum corun_status machine_open_gpu(struct process *process, struct device *device, struct corun_gpu **gpu);

/* The memory of a context, which gets its number as well; false when out of memory or addresses. */
bool machine_memory_create(struct process *process, struct context *context);
/* The context is gone, and nothing of it is under way. */
void machine_memory_destroy(struct process *process, struct context *context);

/* What a module was made of: the machine may have to make it once more. */
struct machine_module {
    const char *name, *text;
    size_t bytes;
    uint32_t rewrites; /* as for corun_module_assemble */
};
/* A module of the context becomes an instance; statuses as of corun_module_instance_create. */
enum corun_status machine_module_load(struct process *process, struct context *context,
                                      const struct machine_module *from, struct corun_module *module,
                                      struct corun_diagnostics *list, struct corun_module_instance **instance);

#endif
