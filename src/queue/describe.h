/* SPDX-License-Identifier: MIT */
/* Device and kinds of a queue as the analytical model takes them, and slices for so many thread blocks on an SM. */
#ifndef CORUN_QUEUE_DESCRIBE_H
#define CORUN_QUEUE_DESCRIBE_H

#include "corun/queue.h"
#include "model/co_schedule.h"

void describe_device(const struct corun_queue_device *device, struct model_gpu *gpu);
void describe_kernel(const struct corun_queue_profile *profile, struct model_kernel *kernel);
/*
 * A grant that keeps `residents` thread blocks of the kind on each SM: the smallest slices that do not cost too much (corun/queue.h,
 * smallest_slice), but no larger than all residents. With `waiting` slices beyond that in flight, which wait for places on the SMs, slices are not
 * made smaller than the smallest.
 */
struct corun_queue_grant describe_grant(const struct corun_queue_view *view, uint32_t kind, uint32_t residents,
                                        uint32_t waiting);
/* The same for a kind alone: what fills the GPU, and one slice more, which waits. */
struct corun_queue_grant describe_alone(const struct corun_queue_view *view, uint32_t kind);

#endif
