/* SPDX-License-Identifier: MIT */
/* The built-in kernel schedulers: one file each, named in registry.c. */
#ifndef CORUN_QUEUE_SCHEDULERS_H
#define CORUN_QUEUE_SCHEDULERS_H

#include "corun/queue.h"

extern const struct corun_queue_scheduler sequential_scheduler;
extern const struct corun_queue_scheduler base_scheduler;
extern const struct corun_queue_scheduler kernelet_scheduler;
extern const struct corun_queue_scheduler opt_scheduler;
extern const struct corun_queue_scheduler random_scheduler;
extern const struct corun_queue_scheduler slices_scheduler;

#endif
