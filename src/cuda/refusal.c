/* SPDX-License-Identifier: MIT */
/*
 * Launches that corun refuses although a GPU would run them: said, recorded for `corun exec`, which ends with a status of
 * its own for them, and the end of a capture. A program may continue without looking at the error.
 */
#include "cuda/refusal.h"

#include "base/kernel_name.h"
#include "cuda/capture.h"
#include "cuda/console.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/record.h"

void launch_refuse(struct process *process, const void *key, const char *kernel, const char *reason)
{
    if (pointer_map_get(&process->complained, key))
        return;
    (void)pointer_map_set(&process->complained, key, process);
    say("kernel %s cannot be launched: %s", KERNEL_NAME(kernel), reason);
    record_refusal(process, kernel, reason);
    capture_refuse(process, "kernel %s cannot be launched: %s", KERNEL_NAME(kernel), reason);
}
