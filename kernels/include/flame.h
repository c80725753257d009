/* SPDX-License-Identifier: MIT */
/*
 * What kernel and reference of fractal-flame agree on: the kinds of variations, and the numbers by which their
 * functions of angles are computed (polynomials that interpolate at Chebyshev nodes; all powers but the given ones are
 * zero, and the first is exact).
 */
#ifndef CORUN_FLAME_H
#define CORUN_FLAME_H

#define FLAME_TRANSFORMS 4
#define FLAME_VARIATIONS 3  /* of a transform, at most */
#define FLAME_LIMIT 1000.0f /* points beyond are lost and start again */

enum flame_variation {
    FLAME_LINEAR,
    FLAME_SINUSOIDAL,
    FLAME_SPHERICAL,
    FLAME_SWIRL,
    FLAME_HORSESHOE,
    FLAME_POLAR,
    FLAME_HANDKERCHIEF,
    FLAME_HEART,
    FLAME_DISC,
    FLAME_SPIRAL,
    FLAME_HYPERBOLIC,
    FLAME_DIAMOND,
    FLAME_JULIA,
    FLAME_BUBBLE,
    FLAME_KINDS
};

#define FLAME_PI 3.14159274f
#define FLAME_INVERSE_PI 0.318309873f
#define FLAME_TWO_BY_PI 0.636619747f
#define FLAME_HALF_PI 1.57079637f
#define FLAME_HALF_PI_REST -4.37113883e-8f /* half of pi is the sum of both */

/* sin x = x + x^3 (3 + 5 x^2 + 7 x^4), |x| <= pi / 4 */
#define FLAME_SINE3 -0.166666642f
#define FLAME_SINE5 0.00833272468f
#define FLAME_SINE7 -0.000195828557f
/* cos x = 1 - x^2 / 2 + x^4 (4 + 6 x^2 + 8 x^4), |x| <= pi / 4 */
#define FLAME_COSINE4 0.0416666642f
#define FLAME_COSINE6 -0.00138882757f
#define FLAME_COSINE8 2.45424872e-05f
/* atan x = x + x^3 (3 + 5 x^2 + ... + 15 x^12), 0 <= x <= 1 */
#define FLAME_ATAN3 -0.333332658f
#define FLAME_ATAN5 0.199934676f
#define FLAME_ATAN7 -0.141764283f
#define FLAME_ATAN9 0.103942581f
#define FLAME_ATAN11 -0.0668907389f
#define FLAME_ATAN13 0.0298522115f
#define FLAME_ATAN15 -0.00634395797f

#endif
