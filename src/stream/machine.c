/* SPDX-License-Identifier: MIT */
/* A simulated GPU of this process as the machine below streams. */
#include "stream/machine.h"

static uint64_t cycles(void *machine)
{
    return corun_gpu_cycles(machine);
}

static const struct corun_gpu_config *configuration(void *machine)
{
    return corun_gpu_configuration(machine);
}

static enum corun_status add(void *machine, const struct corun_application_description *description, uint32_t memory,
                             uint32_t *application)
{
    (void)memory; /* grids have it */
    return corun_gpu_add(machine, description, application);
}

static enum corun_status leave(void *machine, uint32_t application)
{
    return corun_gpu_leave(machine, application);
}

static enum corun_status launch(void *machine, uint32_t application, const struct corun_grid *grid, uint64_t cycle,
                                int32_t priority, uint32_t *number)
{
    return corun_gpu_launch(machine, application, grid, cycle, priority, number);
}

static void launched(void *machine, uint32_t application, uint32_t number, struct corun_launched *result)
{
    corun_gpu_launched(machine, application, number, result);
}

static void counters(void *machine, uint32_t application, uint32_t number, struct corun_counters *result)
{
    corun_gpu_launch_counters(machine, application, number, result);
}

static enum corun_status forget(void *machine, uint32_t application, uint32_t number)
{
    return corun_gpu_forget(machine, application, number);
}

static uint64_t copy(void *machine, enum corun_copy_engine engine, uint64_t since, uint64_t length_cycles)
{
    return corun_gpu_copy(machine, engine, since, length_cycles);
}

static enum corun_status advance(void *machine, uint64_t until, uint64_t wake)
{
    corun_gpu_wake(machine, CORUN_NO_APPLICATION, wake);
    return corun_gpu_advance(machine, until);
}

static void close_gpu(void *machine)
{
    corun_gpu_destroy(machine);
}

struct stream_machine stream_machine_of_gpu(struct corun_gpu *gpu)
{
    static const struct stream_machine_operations operations = {
        cycles, configuration, add, leave, launch, launched, counters, forget, copy, advance, close_gpu};
    return (struct stream_machine){&operations, gpu};
}
