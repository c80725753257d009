/* SPDX-License-Identifier: MIT */
/*
 * fractal-flame: a fractal flame, the attractor of a few random transforms of the plane, drawn by the chaos game.
 *
 * Each thread moves a point: an affine transform, then a weighted sum of up to three nonlinear variations (sinusoidal,
 * spherical, swirl, ..., as in electric sheep), a step of its colour towards that of the transform, and, after some
 * steps, density and colour added to the pixel that the point is in. The transform is drawn per warp, so that branches
 * on variations do not diverge; and so that points of a warp, which all shrink by the same transforms, do not run into
 * one, pairs of points of both warps change places at random at every step, through shared memory. Random numbers:
 * multiply with carry, a state per thread.
 *
 * Used as Fractal Generation in HPCA 2012 (a port of electric sheep; table 1: one kernel, 512 thread blocks of 64
 * threads).
 *
 * The chaos game amplifies each rounding error. Therefore everything here is additions, multiplications, fused
 * multiply-adds, divisions, square roots and polynomials of these, in a fixed order that no compiler may contract, and
 * density and colour are integers: the picture is the same everywhere, to the last point.
 *
 * What limits it: arithmetic. A step takes about 200 instructions and, where it draws, two 64-bit atomics per point
 * into a picture that the L2 cache holds.
 */
#include "flame.h"

#define THREADS 64

/* Offset and scale from the plane to pixels. */
__constant__ float4 camera;
/* x' = x x + y y + z, y' = x x + y y + z, of each transform */
__constant__ float4 affine_x[FLAME_TRANSFORMS];
__constant__ float4 affine_y[FLAME_TRANSFORMS];
__constant__ float colour_of[FLAME_TRANSFORMS];
/* A transform is drawn if a random word is below its number, and not below that of the one before. */
__constant__ unsigned int below[FLAME_TRANSFORMS];
/* Kinds and weights of each transform's variations; a negative kind ends them. */
__constant__ int kinds[FLAME_TRANSFORMS * FLAME_VARIATIONS];
__constant__ float weights[FLAME_TRANSFORMS * FLAME_VARIATIONS];

/* Multiply with carry: word and carry. */
__device__ __forceinline__ unsigned int next_word(uint2 *generator)
{
    unsigned long long product = (unsigned long long)generator->x * 4294957665ull + generator->y;
    *generator = make_uint2((unsigned int)product, (unsigned int)(product >> 32));
    return generator->x;
}

/* Uniform in [-1, 1), a multiple of 2^-23. */
__device__ __forceinline__ float random_place(uint2 *generator)
{
    return __fsub_rn(__fmul_rn((float)(next_word(generator) >> 8), 1.0f / 8388608.0f), 1.0f);
}

/* Cosine and sine, by reduction to a quarter of the circle. */
__device__ __forceinline__ float2 direction_of(float angle)
{
    float quarters = rintf(__fmul_rn(angle, FLAME_TWO_BY_PI));
    float rest = fmaf(quarters, -FLAME_HALF_PI, angle);
    rest = fmaf(quarters, -FLAME_HALF_PI_REST, rest);
    float square = __fmul_rn(rest, rest);
    float sine = fmaf(square, fmaf(square, FLAME_SINE7, FLAME_SINE5), FLAME_SINE3);
    sine = fmaf(__fmul_rn(square, rest), sine, rest);
    float cosine = fmaf(square, fmaf(square, FLAME_COSINE8, FLAME_COSINE6), FLAME_COSINE4);
    cosine = fmaf(__fmul_rn(square, square), cosine, fmaf(square, -0.5f, 1.0f));
    int turn = (int)quarters;
    float2 direction = turn & 1 ? make_float2(sine, cosine) : make_float2(cosine, sine);
    if ((turn + 1) & 2)
        direction.x = -direction.x;
    if (turn & 2)
        direction.y = -direction.y;
    return direction;
}

/* The angle between the point and the y axis, -pi to pi. */
__device__ __forceinline__ float angle_of(float x, float y)
{
    float across = fabsf(x);
    float along = fabsf(y);
    float ratio = __fdiv_rn(fminf(across, along), fmaxf(fmaxf(across, along), 1e-30f));
    float square = __fmul_rn(ratio, ratio);
    float angle = fmaf(square, FLAME_ATAN15, FLAME_ATAN13);
    angle = fmaf(square, angle, FLAME_ATAN11);
    angle = fmaf(square, angle, FLAME_ATAN9);
    angle = fmaf(square, angle, FLAME_ATAN7);
    angle = fmaf(square, angle, FLAME_ATAN5);
    angle = fmaf(square, angle, FLAME_ATAN3);
    angle = fmaf(__fmul_rn(square, ratio), angle, ratio);
    if (across > along)
        angle = __fsub_rn(FLAME_HALF_PI, angle);
    if (y < 0.0f)
        angle = __fsub_rn(FLAME_PI, angle);
    return x < 0.0f ? -angle : angle;
}

/* Not short, but one line or two for each kind. */
__device__ __forceinline__ float2 vary(int kind, float x, float y, float squared, float radius, unsigned int word)
{
    float inverse = __fdiv_rn(1.0f, fmaxf(radius, 1e-10f));
    switch (kind) {
    case FLAME_SINUSOIDAL:
        return make_float2(direction_of(x).y, direction_of(y).y);
    case FLAME_SPHERICAL: {
        float factor = __fmul_rn(inverse, inverse);
        return make_float2(__fmul_rn(factor, x), __fmul_rn(factor, y));
    }
    case FLAME_SWIRL: {
        float2 turn = direction_of(squared);
        return make_float2(fmaf(x, turn.y, -__fmul_rn(y, turn.x)), fmaf(x, turn.x, __fmul_rn(y, turn.y)));
    }
    case FLAME_HORSESHOE:
        return make_float2(__fmul_rn(inverse, __fmul_rn(__fsub_rn(x, y), __fadd_rn(x, y))),
                           __fmul_rn(inverse, __fmul_rn(2.0f, __fmul_rn(x, y))));
    case FLAME_POLAR:
        return make_float2(__fmul_rn(angle_of(x, y), FLAME_INVERSE_PI), __fsub_rn(radius, 1.0f));
    case FLAME_HANDKERCHIEF: {
        float angle = angle_of(x, y);
        return make_float2(__fmul_rn(radius, direction_of(__fadd_rn(angle, radius)).y),
                           __fmul_rn(radius, direction_of(__fsub_rn(angle, radius)).x));
    }
    case FLAME_HEART: {
        float2 turn = direction_of(__fmul_rn(angle_of(x, y), radius));
        return make_float2(__fmul_rn(radius, turn.y), -__fmul_rn(radius, turn.x));
    }
    case FLAME_DISC: {
        float share = __fmul_rn(angle_of(x, y), FLAME_INVERSE_PI);
        float2 turn = direction_of(__fmul_rn(FLAME_PI, radius));
        return make_float2(__fmul_rn(share, turn.y), __fmul_rn(share, turn.x));
    }
    case FLAME_SPIRAL: {
        float2 turn = direction_of(radius);
        return make_float2(__fmul_rn(inverse, fmaf(inverse, y, turn.y)), __fmul_rn(inverse, fmaf(inverse, x, -turn.x)));
    }
    case FLAME_HYPERBOLIC:
        return make_float2(__fmul_rn(__fmul_rn(inverse, inverse), x), y);
    case FLAME_DIAMOND: {
        float2 turn = direction_of(radius);
        return make_float2(__fmul_rn(__fmul_rn(inverse, x), turn.x), __fmul_rn(__fmul_rn(inverse, y), turn.y));
    }
    case FLAME_JULIA: {
        float root = sqrtf(radius);
        float2 turn = direction_of(__fmul_rn(0.5f, angle_of(x, y)));
        if (word & 2)
            root = -root;
        return make_float2(__fmul_rn(root, turn.x), __fmul_rn(root, turn.y));
    }
    case FLAME_BUBBLE: {
        float factor = __fdiv_rn(4.0f, __fadd_rn(squared, 4.0f));
        return make_float2(__fmul_rn(factor, x), __fmul_rn(factor, y));
    }
    default:
        return make_float2(x, y);
    }
}

__device__ __forceinline__ float2 transform(int number, float2 from, unsigned int word)
{
    float4 row = affine_x[number];
    float x = fmaf(row.x, from.x, fmaf(row.y, from.y, row.z));
    row = affine_y[number];
    float y = fmaf(row.x, from.x, fmaf(row.y, from.y, row.z));
    float squared = fmaf(x, x, __fmul_rn(y, y));
    float radius = sqrtf(squared);
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 1
    for (int i = number * FLAME_VARIATIONS; i < (number + 1) * FLAME_VARIATIONS && kinds[i] >= 0; i++) {
        /* emits nothing: without it, compilers compute all kinds ahead of the loop */
        asm volatile("" : "+f"(x), "+f"(y), "+f"(squared), "+f"(radius));
        float2 part = vary(kinds[i], x, y, squared, radius, word);
        sum.x = fmaf(weights[i], part.x, sum.x);
        sum.y = fmaf(weights[i], part.y, sum.y);
    }
    return sum;
}

/* Red and green, blue and density of a pixel are sums of 32 bits, two of them added at once. */
__device__ __forceinline__ void draw(unsigned long long *picture, const unsigned int *palette, float2 place,
                                     float colour, int width, int height)
{
    float column = __fmul_rn(__fsub_rn(place.x, camera.x), camera.z);
    float row = __fmul_rn(__fsub_rn(place.y, camera.y), camera.w);
    if (!(column >= 0.0f && column < (float)width && row >= 0.0f && row < (float)height))
        return;
    unsigned int shade = __ldg(palette + (int)__fmul_rn(colour, 256.0f));
    unsigned long long *pixel = picture + 2 * ((int)row * width + (int)column);
    atomicAdd(&pixel[0], (unsigned long long)(shade & 255) | (unsigned long long)(shade >> 8 & 255) << 32);
    atomicAdd(&pixel[1], (unsigned long long)(shade >> 16 & 255) | 1ull << 32);
}

/* All threads' points move by `steps` steps; the first `skipped` of them are not drawn. */
extern "C" __global__ void __launch_bounds__(THREADS)
    fractal_flame(unsigned long long *picture, float4 *points, uint2 *generators, const unsigned int *palette,
                  int width, int height, int steps, int skipped)
{
    __shared__ float4 places[2][THREADS];
    __shared__ unsigned int words[2][THREADS];
    int thread = threadIdx.x;
    int point = blockIdx.x * THREADS + thread;
    float4 start = points[point];
    float2 place = make_float2(start.x, start.y);
    float colour = start.z;
    uint2 generator = generators[point];

#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        int half = step & 1; /* of the shared memory: the other may still be read */
        unsigned int word = next_word(&generator);
        places[half][thread] = make_float4(place.x, place.y, colour, 0.0f);
        words[half][thread] = word;
        __syncthreads();
        bool moves = words[half][thread & 31] & 1;
        float4 from = places[half][moves ? thread ^ 32 : thread];
        unsigned int drawn = words[half][thread & 32];
        int number = 0;
        while (number < FLAME_TRANSFORMS - 1 && drawn >= below[number])
            number++;

        place = transform(number, make_float2(from.x, from.y), word);
        colour = __fmul_rn(0.5f, __fadd_rn(from.z, colour_of[number]));
        if (!(fabsf(place.x) < FLAME_LIMIT && fabsf(place.y) < FLAME_LIMIT)) {
            place.x = random_place(&generator);
            place.y = random_place(&generator);
        }
        if (step >= skipped)
            draw(picture, palette, place, colour, width, height);
    }
    points[point] = make_float4(place.x, place.y, colour, 0.0f);
    generators[point] = generator;
}
