/* SPDX-License-Identifier: MIT */
/*
 * jpeg-decode: the part of a JPEG decoder for a grey picture that is the same for all pixels: levels times the steps of
 * the quantisation table, inverse cosine transform of blocks of 8 x 8, and rounding to bytes.
 *
 * In HPCA 2012 a partial implementation of one kernel, compute-bound, on the result of encoding a picture of
 * 3072 x 2304: 13 824 thread blocks of 64 threads, so 512 pixels each. Here these are tiles of 32 x 16 and threads are
 * 8 x 4 x 2: a thread transforms a column of eight in registers, then a row of eight of those results by way of shared
 * memory. The levels are what jpeg-encode would leave of a picture, except that none makes a pixel that lies on a
 * rounding tie.
 *
 * What limits it: arithmetic on the Quadro FX 5800 of the paper. Three bytes a pixel move, for almost three hundred
 * instructions of a thread for its eight pixels. A GTX 980 has sixteen times the arithmetic and twice the bandwidth:
 * its schedulers issue in three cycles of five, DRAM is busy for half of the time, and more of either would help.
 */
#include "jpeg.cuh"

extern "C" __global__ void __launch_bounds__(64)
    jpeg_decode_idct(const short *__restrict__ levels, const float *__restrict__ steps, unsigned char *picture,
                     int width, int height)
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
            v[i] = (float)levels[place + i * width] * __ldg(&steps[i * 8 + threadIdx.x]);
        jpeg_inverse(v);
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
        jpeg_inverse(v);
#pragma unroll
        for (int i = 0; i < 8; i++)
            row[i] = v[i];
    }
    __syncthreads();
    if (inside) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int shade = __float2int_rn(strip[i][column] + 128.0f);
            picture[place + i * width] = (unsigned char)min(max(shade, 0), 255);
        }
    }
}
