/* SPDX-License-Identifier: MIT */
/* Launches that are cut into slices, because others may not wait as long as the whole of them takes. */
#ifndef CORUN_SHIM_CUT_H
#define CORUN_SHIM_CUT_H

#include <stdbool.h>

struct kernel;

#define LAUNCH_MOST_PARAMETERS 1024u /* of a kernel that is launched in another form */

/* cuLaunchKernel, and what it is given. */
typedef int launch_function(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                            void **extra);
struct launch {
    launch_function *real;
    void *function;
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    void **parameters, **extra;
    bool per_thread;
};

/* Makes the launch, under corund, whole or in slices. What the driver says. */
int launch_make(const struct launch *launch);

#endif
