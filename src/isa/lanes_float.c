/* SPDX-License-Identifier: MIT */
/* Floating point operations; the list is lanes_float.def. */
#include "isa/lanes_approximate.h"

/* Where the operands are equal, only zeros of unlike sign differ in their bits. */
#define EXTREME(name, T, bits_type, relation, zero_operator) \
    static inline bits_type name(T a, T b) \
    { \
        bits_type x, y; \
        memcpy(&x, &a, sizeof x); \
        memcpy(&y, &b, sizeof y); \
        bits_type ordered = a == b ? x zero_operator y : a relation b ? x : y; \
        return a != a ? y : b != b ? x : ordered; \
    }
EXTREME(minimum_f32, float, uint32_t, <, |)
EXTREME(maximum_f32, float, uint32_t, >, &)
EXTREME(minimum_f64, double, uint64_t, <, |)
EXTREME(maximum_f64, double, uint64_t, >, &)

#include "isa/lanes_float.def"
