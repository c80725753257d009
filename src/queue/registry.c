/* SPDX-License-Identifier: MIT */
/* The list of built-in kernel schedulers: the one place that names them all. */
#include "queue/schedulers.h"

#include <string.h>

/* In order of introduction. */
static const struct corun_queue_scheduler *const schedulers[] = {
    &sequential_scheduler, &base_scheduler, &kernelet_scheduler, &opt_scheduler, &random_scheduler, &slices_scheduler};

const struct corun_queue_scheduler *corun_queue_scheduler_at(size_t index)
{
    return index < sizeof schedulers / sizeof schedulers[0] ? schedulers[index] : NULL;
}

const struct corun_queue_scheduler *corun_queue_scheduler_find(const char *name)
{
    for (size_t index = 0; corun_queue_scheduler_at(index); index++) {
        if (!strcmp(corun_queue_scheduler_at(index)->name, name))
            return corun_queue_scheduler_at(index);
    }
    return NULL;
}
