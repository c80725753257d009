/* SPDX-License-Identifier: MIT */
#include "shim/pace.h"

#include "shim/govern.h"
#include "shim/kernels.h"

void pace_see(struct pace *pace, uint64_t under_way, bool closely, uint64_t time_ns)
{
    if (under_way == pace->under_way)
        return;
    if (closely && under_way < pace->under_way && pace->exactly) {
        uint64_t each = (time_ns - pace->seen_ns) / (pace->under_way - under_way);
        pace->each_ns = each > pace->each_ns ? each : pace->each_ns - (pace->each_ns - each) / 8;
        if (pace->under_way == 1 && pace->kernel)
            kernel_took(pace->kernel, pace->blocks, each);
    }
    pace->exactly = closely;
    pace->seen_ns = time_ns;
    pace->under_way = under_way;
}

void pace_begun(struct pace *pace, struct kernel *kernel, uint64_t blocks)
{
    if (pace->under_way++)
        return;
    pace->seen_ns = govern_now();
    pace->exactly = true;
    kernel_drop(pace->kernel);
    pace->kernel = kernel_share(kernel);
    pace->blocks = blocks;
}
