/* SPDX-License-Identifier: MIT */
/* Complex numbers of single and double precision for host and device, as the
 * toolkit's header of that name has them. */
#ifndef CORUN_CUCOMPLEX_H
#define CORUN_CUCOMPLEX_H

#include "cuda_runtime.h"

#include <math.h>

/* `scale` in a quotient and an absolute value keeps what is in between from
 * overflow and underflow. */
#define CORUN_COMPLEX(type, vector, element, real, imaginary, make, conjugate, add, subtract, multiply, divide, \
                      magnitude, multiply_add, absolute, root) \
    typedef vector type; \
    CORUN_EITHER_FUNCTION element real(type x) \
    { \
        return x.x; \
    } \
    CORUN_EITHER_FUNCTION element imaginary(type x) \
    { \
        return x.y; \
    } \
    CORUN_EITHER_FUNCTION type make(element r, element i) \
    { \
        type x; \
        x.x = r; \
        x.y = i; \
        return x; \
    } \
    CORUN_EITHER_FUNCTION type conjugate(type x) \
    { \
        return make(x.x, -x.y); \
    } \
    CORUN_EITHER_FUNCTION type add(type x, type y) \
    { \
        return make(x.x + y.x, x.y + y.y); \
    } \
    CORUN_EITHER_FUNCTION type subtract(type x, type y) \
    { \
        return make(x.x - y.x, x.y - y.y); \
    } \
    CORUN_EITHER_FUNCTION type multiply(type x, type y) \
    { \
        return make(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); \
    } \
    CORUN_EITHER_FUNCTION type multiply_add(type x, type y, type z) \
    { \
        return add(multiply(x, y), z); \
    } \
    CORUN_EITHER_FUNCTION type divide(type x, type y) \
    { \
        element scale = 1 / (absolute(y.x) + absolute(y.y)); \
        element a = x.x * scale, b = x.y * scale, c = y.x * scale, d = y.y * scale; \
        element inverse = 1 / (c * c + d * d); \
        return make((a * c + b * d) * inverse, (b * c - a * d) * inverse); \
    } \
    CORUN_EITHER_FUNCTION element magnitude(type x) \
    { \
        element a = absolute(x.x), b = absolute(x.y); \
        element large = a > b ? a : b, small = a > b ? b : a; \
        if (large == 0 || large > root##_limit || small > root##_limit) \
            return a + b; \
        element ratio = small / large; \
        return large * root(1 + ratio * ratio); \
    }
#define sqrtf_limit 3.402823466e38f
#define sqrt_limit 1.7976931348623157e308
CORUN_COMPLEX(cuFloatComplex, float2, float, cuCrealf, cuCimagf, make_cuFloatComplex, cuConjf, cuCaddf, cuCsubf,
              cuCmulf, cuCdivf, cuCabsf, cuCfmaf, fabsf, sqrtf)
CORUN_COMPLEX(cuDoubleComplex, double2, double, cuCreal, cuCimag, make_cuDoubleComplex, cuConj, cuCadd, cuCsub, cuCmul,
              cuCdiv, cuCabs, cuCfma, fabs, sqrt)
#undef sqrtf_limit
#undef sqrt_limit
#undef CORUN_COMPLEX

typedef cuFloatComplex cuComplex;
CORUN_EITHER_FUNCTION cuComplex make_cuComplex(float r, float i)
{
    return make_cuFloatComplex(r, i);
}
CORUN_EITHER_FUNCTION cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x)
{
    return make_cuDoubleComplex((double)x.x, (double)x.y);
}
CORUN_EITHER_FUNCTION cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x)
{
    return make_cuFloatComplex((float)x.x, (float)x.y);
}

#endif
