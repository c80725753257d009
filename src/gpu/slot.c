/* SPDX-License-Identifier: MIT */
/*
 * The slots of applications: a number below application_count, under which policies, observers, counters and allowances know one. On a
 * machine that is driven from outside, one application after the other can have the same slot. A handle is the slot and, above
 * it, how many had that before: what is asked in the name of one that is gone is told from what its successor asks.
 */
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(CORUN_MAX_APPLICATIONS == 1u << CORUN_SLOT_BITS, "a handle holds every slot");

struct application *application_of(const struct corun_gpu *gpu, uint32_t handle)
{
    uint32_t slot = corun_application_slot(handle);
    if (slot >= gpu->application_count)
        return NULL;
    const struct application *application = &gpu->applications[slot];
    bool same = application->name && application->generation == handle >> CORUN_SLOT_BITS;
    return same ? (struct application *)application : NULL;
}

uint32_t slot_of(const struct corun_gpu *gpu, const struct application *application)
{
    return (uint32_t)(application - gpu->applications);
}

uint32_t handle_of(const struct corun_gpu *gpu, uint32_t slot)
{
    return gpu->applications[slot].generation << CORUN_SLOT_BITS | slot;
}

uint32_t slot_find_free(const struct corun_gpu *gpu)
{
    uint32_t slot = 0;
    while (slot < gpu->application_count && gpu->applications[slot].name && !gpu->applications[slot].released)
        slot++;
    return slot < gpu->application_count ? slot : NOTHING;
}

/* What the one before was counted under, and what SMs and dispatcher still know of it. */
static void sweep_out(struct corun_gpu *gpu, uint32_t slot)
{
    struct application *application = &gpu->applications[slot];
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        sm_forget_application(gpu->sms[s], slot);
        gpu->use[s].fragmented &= ~(1u << slot);
    }
    for (size_t i = 0; i < application->kernels.count; i++)
        for (struct machine_kernel *kernel = application->kernels.data[i]; kernel; kernel = kernel->twin)
            kernel_retire(gpu, kernel);
    application_destroy(application);
}

static struct governor_application agreed_on(const struct corun_application_description *description, const char *name)
{
    return (struct governor_application){.name = name,
                                         .goal = description->goal,
                                         .goal_value = description->goal_value,
                                         .goal_ipc = description->goal_ipc,
                                         .isolated_ipc = description->isolated_ipc,
                                         .run_progress = description->run_thread_instructions,
                                         .speedup = description->speedup,
                                         .speedup_count = description->speedup_count,
                                         .run_launches = description->run_launches,
                                         .run_launch_count = description->run_launch_count};
}

enum corun_status slot_fill(struct corun_gpu *gpu, uint32_t slot,
                            const struct corun_application_description *description)
{
    struct application *application = &gpu->applications[slot];
    char *name = strdup(description->name);
    if (!name)
        return CORUN_MEMORY;
    struct governor_application agreed = agreed_on(description, name);
    enum corun_status status =
        gpu->opened ? governor_seat(gpu->governor, slot, &agreed) : governor_add(gpu->governor, &agreed);
    if (status == CORUN_OK && description->sm_count)
        status = governor_confine(gpu->governor, slot, description->first_sm, description->sm_count);
    if (status != CORUN_OK) {
        free(name);
        return status;
    }
    uint32_t generation = application->name ? application->generation + 1 : application->generation;
    if (application->name)
        sweep_out(gpu, slot);
    *application = (struct application){.description = *description,
                                        .name = name,
                                        .generation = generation % (CORUN_NO_APPLICATION >> CORUN_SLOT_BITS),
                                        .wake = NEVER};
    return CORUN_OK;
}
