/* SPDX-License-Identifier: MIT */
#ifndef CORUN_COOPERATIVE_GROUPS_REDUCE_H
#define CORUN_COOPERATIVE_GROUPS_REDUCE_H

#include "operators.h"

namespace cooperative_groups
{

/* Of all threads, to all threads. The sums of floats are those of neighbours first. */
template <typename Group, typename T, typename F> CORUN_GROUP_FUNCTION T reduce(const Group &group, T value, F combine)
{
    unsigned rank = group.thread_rank(), count = group.num_threads();
    for (unsigned step = 1; step < count; step *= 2) {
        T other = group.shfl_down(value, step);
        if (rank % (2 * step) == 0 && rank + step < count)
            value = combine(value, other);
    }
    return group.shfl(value, 0);
}

} // namespace cooperative_groups

#endif
