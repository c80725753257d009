/* SPDX-License-Identifier: MIT */
/*
 * The cosine transform of eight values and back, orthonormal as in JPEG, for jpeg-encode and jpeg-decode. Symmetry halves the
 * work: sums of opposite values make the even coefficients, their differences the odd ones.
 */
#ifndef CORUN_KERNELS_JPEG_CUH
#define CORUN_KERNELS_JPEG_CUH

/* cos(k * pi / 16) / 2 */
#define JPEG_C1 0.49039264020161522f
#define JPEG_C2 0.46193976625564337f
#define JPEG_C3 0.41573480615127262f
#define JPEG_C4 0.35355339059327376f
#define JPEG_C5 0.27778511650980111f
#define JPEG_C6 0.19134171618254489f
#define JPEG_C7 0.09754516100806413f

/* A thread block of 8 x 4 x 2 threads takes a tile of 32 x 16: two strips of four blocks, a warp each. */
#define JPEG_TILE_WIDTH 32
#define JPEG_STRIP_HEIGHT 8
#define JPEG_STRIPS 2
#define JPEG_PITCH (JPEG_TILE_WIDTH + 1) /* so that the eight rows of four blocks lie in 32 different banks */

static __device__ __forceinline__ void jpeg_forward(float v[8])
{
    float sum0 = v[0] + v[7], difference0 = v[0] - v[7];
    float sum1 = v[1] + v[6], difference1 = v[1] - v[6];
    float sum2 = v[2] + v[5], difference2 = v[2] - v[5];
    float sum3 = v[3] + v[4], difference3 = v[3] - v[4];
    float outer = sum0 + sum3, outer_difference = sum0 - sum3;
    float inner = sum1 + sum2, inner_difference = sum1 - sum2;
    v[0] = (outer + inner) * JPEG_C4;
    v[4] = (outer - inner) * JPEG_C4;
    v[2] = outer_difference * JPEG_C2 + inner_difference * JPEG_C6;
    v[6] = outer_difference * JPEG_C6 - inner_difference * JPEG_C2;
    v[1] = difference0 * JPEG_C1 + difference1 * JPEG_C3 + difference2 * JPEG_C5 + difference3 * JPEG_C7;
    v[3] = difference0 * JPEG_C3 - difference1 * JPEG_C7 - difference2 * JPEG_C1 - difference3 * JPEG_C5;
    v[5] = difference0 * JPEG_C5 - difference1 * JPEG_C1 + difference2 * JPEG_C7 + difference3 * JPEG_C3;
    v[7] = difference0 * JPEG_C7 - difference1 * JPEG_C5 + difference2 * JPEG_C3 - difference3 * JPEG_C1;
}

static __device__ __forceinline__ void jpeg_inverse(float v[8])
{
    float mean = (v[0] + v[4]) * JPEG_C4, other = (v[0] - v[4]) * JPEG_C4;
    float second = v[2] * JPEG_C2 + v[6] * JPEG_C6, sixth = v[2] * JPEG_C6 - v[6] * JPEG_C2;
    float even0 = mean + second, even1 = other + sixth, even2 = other - sixth, even3 = mean - second;
    float odd0 = v[1] * JPEG_C1 + v[3] * JPEG_C3 + v[5] * JPEG_C5 + v[7] * JPEG_C7;
    float odd1 = v[1] * JPEG_C3 - v[3] * JPEG_C7 - v[5] * JPEG_C1 - v[7] * JPEG_C5;
    float odd2 = v[1] * JPEG_C5 - v[3] * JPEG_C1 + v[5] * JPEG_C7 + v[7] * JPEG_C3;
    float odd3 = v[1] * JPEG_C7 - v[3] * JPEG_C5 + v[5] * JPEG_C3 - v[7] * JPEG_C1;
    v[0] = even0 + odd0;
    v[7] = even0 - odd0;
    v[1] = even1 + odd1;
    v[6] = even1 - odd1;
    v[2] = even2 + odd2;
    v[5] = even2 - odd2;
    v[3] = even3 + odd3;
    v[4] = even3 - odd3;
}

#endif
