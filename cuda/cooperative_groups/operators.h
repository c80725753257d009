/* SPDX-License-Identifier: MIT */
/* What groups of a warp combine values with. */
#ifndef CORUN_COOPERATIVE_GROUPS_OPERATORS_H
#define CORUN_COOPERATIVE_GROUPS_OPERATORS_H

#include "cooperative_groups.h"

namespace cooperative_groups
{

#define CORUN_GROUP_OPERATOR(name, result) \
    template <typename T = void> struct name { \
        CORUN_GROUP_MEMBER T operator()(T a, T b) const \
        { \
            return result; \
        } \
    }; \
    template <> struct name<void> { \
        template <typename T> CORUN_GROUP_MEMBER T operator()(T a, T b) const \
        { \
            return result; \
        } \
    };
CORUN_GROUP_OPERATOR(plus, a + b)
CORUN_GROUP_OPERATOR(less, b < a ? b : a)
CORUN_GROUP_OPERATOR(greater, b > a ? b : a)
CORUN_GROUP_OPERATOR(bit_and, a &b)
CORUN_GROUP_OPERATOR(bit_or, a | b)
CORUN_GROUP_OPERATOR(bit_xor, a ^ b)
#undef CORUN_GROUP_OPERATOR

} // namespace cooperative_groups

#endif
