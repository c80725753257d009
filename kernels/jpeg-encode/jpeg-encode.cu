/* SPDX-License-Identifier: MIT */
/*
 * jpeg-encode: the part of a JPEG encoder for a grey picture that is the same for all pixels: cosine transform of
 * blocks of 8 x 8 pixels, then division by the steps of a quantisation table. (Ordering and entropy coding remain with
 * the CPU.)
 *
 * In HPCA 2012 a partial implementation, memory-bound, on a picture of 3072 x 2304: 2 kernels, on average 73 694 thread
 * blocks of 64 threads. That is a mean by time of two shapes, which are those here:
 *   jpeg_encode_dct        13 824 thread blocks of 8 x 4 x 2 threads, each for 32 x 16 pixels. A thread transforms a column of
 *                          eight pixels in registers, then a row of eight of those results by way of shared memory
 *   jpeg_encode_quantize   110 592 thread blocks of 8 x 8 threads, each for one block, a thread a coefficient
 * The table is read through the read-only cache, not constant memory, whose words would go out to 32 lanes one after
 * the other.
 *
 * The picture is in single precision, too, as the host leaves it for a transform of floats.
 *
 * What limits it: memory. A pixel goes in as four bytes, out as a coefficient of four, in again, and out as two, with
 * some ten operations of arithmetic for all that, and the rows of a thread block of the second kernel are but 32 bytes
 * long.
 */
#include "jpeg.cuh"

extern "C" __global__ void __launch_bounds__(64)
    jpeg_encode_dct(const float *__restrict__ picture, float *coefficients, int width, int height)
{
    __shared__ float tile[JPEG_STRIPS][JPEG_STRIP_HEIGHT][JPEG_PITCH];
    float v[8];
    float(*strip)[JPEG_PITCH] = tile[threadIdx.z];
    int column = threadIdx.y * 8 + threadIdx.x;
    int x = blockIdx.x * JPEG_TILE_WIDTH + column;
    int y = (blockIdx.y * JPEG_STRIPS + threadIdx.z) * JPEG_STRIP_HEIGHT;
    bool inside = x < width && y < height; /* whole blocks: width and height are multiples of eight */
    int place = y * width + x;
    if (inside) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = picture[place + i * width] - 128.0f;
        jpeg_forward(v);
#pragma unroll
        for (int i = 0; i < 8; i++)
            strip[i][column] = v[i];
    }
    __syncthreads();
    float *row = &strip[threadIdx.x][threadIdx.y * 8];
    if (inside) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = row[i];
        jpeg_forward(v);
#pragma unroll
        for (int i = 0; i < 8; i++)
            row[i] = v[i];
    }
    __syncthreads();
    if (inside) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            coefficients[place + i * width] = strip[i][column];
    }
}

extern "C" __global__ void __launch_bounds__(64)
    jpeg_encode_quantize(const float *__restrict__ coefficients, const float *__restrict__ step_reciprocals,
                         short *levels, int width)
{
    int x = blockIdx.x * 8 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    int place = y * width + x;
    float reciprocal = __ldg(&step_reciprocals[threadIdx.y * 8 + threadIdx.x]);
    levels[place] = (short)__float2int_rn(coefficients[place] * reciprocal);
}
