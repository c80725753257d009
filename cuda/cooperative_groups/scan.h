/* SPDX-License-Identifier: MIT */
#ifndef CORUN_COOPERATIVE_GROUPS_SCAN_H
#define CORUN_COOPERATIVE_GROUPS_SCAN_H

#include "operators.h"

namespace cooperative_groups
{

/* Of the threads up to each one. */
template <typename Group, typename T, typename F>
CORUN_GROUP_FUNCTION T inclusive_scan(const Group &group, T value, F combine)
{
    unsigned rank = group.thread_rank();
    for (unsigned step = 1; step < group.num_threads(); step *= 2) {
        T other = group.shfl_up(value, step);
        if (rank >= step)
            value = combine(other, value);
    }
    return value;
}
template <typename Group, typename T> CORUN_GROUP_FUNCTION T inclusive_scan(const Group &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}

/* Of the threads before each one; 0 for the first. */
template <typename Group, typename T, typename F>
CORUN_GROUP_FUNCTION T exclusive_scan(const Group &group, T value, F combine)
{
    T before = group.shfl_up(inclusive_scan(group, value, combine), 1);
    return group.thread_rank() ? before : T(0);
}
template <typename Group, typename T> CORUN_GROUP_FUNCTION T exclusive_scan(const Group &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups

#endif
