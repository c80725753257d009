/* SPDX-License-Identifier: MIT */
/* What a launch of CUDA before 4.0 keeps with its function. */
#ifndef CORUN_CUDA_DRIVER_LAUNCH_H
#define CORUN_CUDA_DRIVER_LAUNCH_H

struct function;

/* What the calls before such a launch have left. */
void old_launch_free(struct function *function);

#endif
