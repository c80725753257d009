/* SPDX-License-Identifier: MIT */
/*
 * The machine of a program whose state is saved (checkpoint.h): a simulated GPU that writes down each answer, or, as long as the journal has answers, none.
 */
#ifndef CORUN_CUDA_JOURNALED_MACHINE_H
#define CORUN_CUDA_JOURNALED_MACHINE_H

#include "base/archive.h"
#include "corun/module.h"
#include "stream/machine.h"

struct device;
struct journaled_machine;
struct process;
struct task;

/* For streams, in place of that of a GPU. operations is NULL when out of memory, or where the GPU cannot be made: the list says why. */
struct stream_machine journaled_machine_open(struct process *process, struct device *device);
/* A launch of the host's starts: what it is. */
void journaled_machine_ask(struct process *process, const struct task *task);
/* The grid of a launch is no longer needed: destroys it, unless the machine names its kernel by it. NULL: nothing happens. */
void journaled_machine_release(struct process *process, struct corun_grid *grid);

/* Grids in flight of an instance, which the caller frees; NULL when out of memory. `machine` NULL: none. */
struct corun_grid **journaled_machine_grids(const struct journaled_machine *machine,
                                            const struct corun_module_instance *instance, size_t *count);
/* The state of the GPU; whoever reads has no GPU before. Instances and memory come before. */
void journaled_machine_archive(struct corun_archive *archive, struct journaled_machine *machine);

#endif
