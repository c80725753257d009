/* SPDX-License-Identifier: MIT */
/*
 * dvc: the part of a decoder for the wavelet video codec Dirac that works on pixels: inverse wavelet transform, motion
 * compensation with overlapped blocks and two reference frames, and up-sampling of decoded frames to half pixels.
 *
 * In HPCA 2012 (table 1) a decoder of 14 kernels, 112 thread blocks of 216 threads on average, problem-size-bound, for
 * 39 frames of 320 x 240. The same stages here in 10 kernels, by time some 83 thread blocks of 232 threads on average
 * on a GTX 980; brightness and the two half-sized colour planes are launches of their own:
 *   dvc_vertical_*, dvc_horizontal_*     one level of four of the inverse transform: columns in tiles of 32 x 32, then a row a
 *                                        thread block. Deslauriers-Dubuc (9,7) for the first frame, LeGall (5,3) for others
 *   dvc_predict_luma, dvc_predict_chroma blocks of 12 x 12 (6 x 6) every 8 (4) pixels overlap, up to four at a pixel, each taken
 *                                        from one or both reference frames to a quarter of a pixel; two pixels a thread
 *   dvc_reconstruct_intra, _inter        transformed differences and prediction to bytes
 *   dvc_upsample_vertical, _horizontal   the decoded frame with twice the rows, then twice the columns, by a filter of 8 taps
 * Everything is integers and as the codec specifies it. (Arithmetic decoding and dequantisation remain with the CPU.)
 *
 * What limits it: the size of the problem. Frames are small, levels of the transform smaller (20 x 15 at first), and
 * each launch waits for the one before: of the 24 a frame only the predictions have as many thread blocks as a GPU
 * takes.
 */
#define TILE_PAIRS 16 /* of rows in a tile of the vertical transform */
#define TILE_WIDTH 32
#define PREDICTED_PIXELS 2 /* a thread, side by side */

static __device__ __forceinline__ int clamp(int value, int lowest, int highest)
{
    return min(max(value, lowest), highest);
}

/* What the even samples around it (n - 1 to n + 2) tell of the odd sample n. */
struct LeGall {
    static __device__ __forceinline__ int odd(int, int here, int next, int)
    {
        return (here + next + 1) >> 1;
    }
};
struct Deslauriers {
    static __device__ __forceinline__ int odd(int before, int here, int next, int after)
    {
        return (9 * (here + next) - before - after + 8) >> 4;
    }
};

/*
 * Columns of one level: rows of `height` / 2 low and as many high coefficients become rows in order. Of the four quarters of
 * the coefficients the low one is the result of the level before.
 */
template <class Filter>
static __device__ __forceinline__ void vertical(const short *__restrict__ low, const short *__restrict__ coefficients,
                                                short *half, int pitch, int width, int height, int plane)
{
    __shared__ int evens[TILE_PAIRS + 3][TILE_WIDTH];
    int column = blockIdx.x * TILE_WIDTH + threadIdx.x;
    int pairs = height / 2;
    int first = blockIdx.y * TILE_PAIRS - 1;
    coefficients += blockIdx.z * plane + column;
    low = column < width / 2 ? low + (blockIdx.z * plane + column) : coefficients;
    const short *high = coefficients + pairs * pitch;
    half += blockIdx.z * plane + column;
    for (int i = threadIdx.y; i < TILE_PAIRS + 3; i += blockDim.y) {
        int pair = first + i;
        if (column < width && pair >= 0 && pair < pairs)
            evens[i][threadIdx.x] =
                low[pair * pitch] - ((high[max(pair - 1, 0) * pitch] + high[pair * pitch] + 2) >> 2);
    }
    __syncthreads();
    if (column >= width)
        return;
    for (int i = threadIdx.y; i < TILE_PAIRS; i += blockDim.y) {
        int pair = first + 1 + i;
        if (pair >= pairs)
            return;
        int before = evens[max(pair - 1, 0) - first][threadIdx.x];
        int here = evens[i + 1][threadIdx.x];
        int next = evens[min(pair + 1, pairs - 1) - first][threadIdx.x];
        int after = evens[min(pair + 2, pairs - 1) - first][threadIdx.x];
        half[2 * pair * pitch] = (short)here;
        half[(2 * pair + 1) * pitch] = (short)(high[pair * pitch] + Filter::odd(before, here, next, after));
    }
}

/* Rows of one level, a thread block each: `width` / 2 low and as many high coefficients become pixels in order, halved. */
template <class Filter>
static __device__ __forceinline__ void horizontal(const short *__restrict__ half, short *result, int pitch, int width,
                                                  int plane)
{
    extern __shared__ int row[];
    int pairs = width / 2;
    int *evens = row;
    int *odds = row + pairs;
    int start = blockIdx.z * plane + blockIdx.x * pitch;
    const short *low = half + start;
    const short *high = low + pairs;
    for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x)
        odds[pair] = high[pair];
    __syncthreads();
    for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x)
        evens[pair] = low[pair] - ((odds[max(pair - 1, 0)] + odds[pair] + 2) >> 2);
    __syncthreads();
    short2 *out = (short2 *)(result + start);
    for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
        int here = evens[pair];
        int odd = odds[pair] + Filter::odd(evens[max(pair - 1, 0)], here, evens[min(pair + 1, pairs - 1)],
                                           evens[min(pair + 2, pairs - 1)]);
        out[pair] = make_short2((short)((here + 1) >> 1), (short)((odd + 1) >> 1));
    }
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_vertical_legall(const short *__restrict__ low, const short *__restrict__ coefficients, short *half, int pitch,
                        int width, int height, int plane)
{
    vertical<LeGall>(low, coefficients, half, pitch, width, height, plane);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_vertical_deslauriers(const short *__restrict__ low, const short *__restrict__ coefficients, short *half,
                             int pitch, int width, int height, int plane)
{
    vertical<Deslauriers>(low, coefficients, half, pitch, width, height, plane);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_horizontal_legall(const short *__restrict__ half, short *result, int pitch, int width, int plane)
{
    horizontal<LeGall>(half, result, pitch, width, plane);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_horizontal_deslauriers(const short *__restrict__ half, short *result, int pitch, int width, int plane)
{
    horizontal<Deslauriers>(half, result, pitch, width, plane);
}

/*
 * Two pixels, (x, y) and the next, moved by a vector in quarters of a pixel, of a reference frame that has twice the rows and
 * columns; between half pixels the value is in between.
 */
static __device__ __forceinline__ void reference_samples(const unsigned char *__restrict__ upsampled, int width,
                                                         int height, int x, int y, int vector_x, int vector_y,
                                                         int samples[PREDICTED_PIXELS])
{
    int top = 2 * y + (vector_y >> 1);
    int bottom = clamp(top + 1, 0, 2 * height - 1);
    top = clamp(top, 0, 2 * height - 1);
    const unsigned char *upper = upsampled + top * 2 * width;
    const unsigned char *lower = upsampled + bottom * 2 * width;
    int part_x = vector_x & 1;
    int part_y = vector_y & 1;
    int left = 2 * x + (vector_x >> 1);
    int upper_weights[2] = {(2 - part_x) * (2 - part_y), part_x * (2 - part_y)};
    int lower_weights[2] = {(2 - part_x) * part_y, part_x * part_y};
    if (left >= 0 && left + 2 * PREDICTED_PIXELS <= 2 * width) {
        upper += left;
        lower += left;
#pragma unroll
        for (int k = 0; k < PREDICTED_PIXELS; k++)
            samples[k] = (upper_weights[0] * upper[2 * k] + upper_weights[1] * upper[2 * k + 1] +
                          lower_weights[0] * lower[2 * k] + lower_weights[1] * lower[2 * k + 1] + 2) >>
                         2;
    } else {
#pragma unroll
        for (int k = 0; k < PREDICTED_PIXELS; k++) {
            int at = clamp(left + 2 * k, 0, 2 * width - 1);
            int next = clamp(left + 2 * k + 1, 0, 2 * width - 1);
            samples[k] = (upper_weights[0] * upper[at] + upper_weights[1] * upper[next] + lower_weights[0] * lower[at] +
                          lower_weights[1] * lower[next] + 2) >>
                         2;
        }
    }
}

/* A block is eight 16-bit fields: mode (bit r: uses reference r), three constant shades, vectors x and y of each reference. */
static __device__ __forceinline__ int low_half(int word)
{
    return (short)word;
}

/* Bytes of a word, first in the lowest. */
static __device__ __forceinline__ unsigned int byte_of(unsigned int word, int i)
{
    return word >> 8 * i & 255;
}

/* Eighths that a block has at a pixel of its row or column; the block that overlaps there, if there is one, has the rest. */
template <int SEPARATION> static __device__ __forceinline__ int own_weight(int place)
{
    int edge = min(place % SEPARATION, SEPARATION - 1 - place % SEPARATION);
    return edge == 0 ? 5 : edge == 1 && SEPARATION == 8 ? 7 : 8;
}

/* A thread takes pixels that overlap with the same other blocks: one aside, one above or below, one aslant. */
template <int SEPARATION>
static __device__ __forceinline__ void
predict(const int4 *__restrict__ blocks, int blocks_x, int blocks_y, const unsigned char *__restrict__ recent,
        const unsigned char *__restrict__ older, unsigned char *prediction, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * PREDICTED_PIXELS;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int plane = blockIdx.z;
    recent += plane * 4 * width * height;
    older += plane * 4 * width * height;
    int block_x = x / SEPARATION;
    int block_y = y / SEPARATION;
    int other_x = x % SEPARATION < SEPARATION / 2 ? block_x - 1 : block_x + 1;
    int other_y = y % SEPARATION < SEPARATION / 2 ? block_y - 1 : block_y + 1;
    bool alone_x = other_x < 0 || other_x >= blocks_x; /* at the border */
    bool alone_y = other_y < 0 || other_y >= blocks_y;
    int own_y = alone_y ? 8 : own_weight<SEPARATION>(y);
    int own_x[PREDICTED_PIXELS], sums[PREDICTED_PIXELS];
#pragma unroll
    for (int k = 0; k < PREDICTED_PIXELS; k++) {
        own_x[k] = alone_x ? 8 : own_weight<SEPARATION>(x + k);
        sums[k] = 32;
    }
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        int weight_y = i & 2 ? 8 - own_y : own_y;
        if (weight_y == 0 || (i & 1 && own_x[0] == 8 && own_x[1] == 8))
            continue;
        int4 block = blocks[(i & 2 ? other_y : block_y) * blocks_x + (i & 1 ? other_x : block_x)];
        int mode = low_half(block.x);
        int shade = SEPARATION == 8 ? block.x >> 16 : plane == 0 ? low_half(block.y) : block.y >> 16;
        int values[PREDICTED_PIXELS] = {shade, shade}; /* if there is no reference */
        /* colour planes have half the pixels, so half the vector */
        const int shift = SEPARATION == 8 ? 0 : 1;
        if (mode & 1)
            reference_samples(recent, width, height, x, y, low_half(block.z) >> shift, block.z >> 16 >> shift, values);
        if (mode & 2) {
            int seconds[PREDICTED_PIXELS];
            reference_samples(older, width, height, x, y, low_half(block.w) >> shift, block.w >> 16 >> shift, seconds);
#pragma unroll
            for (int k = 0; k < PREDICTED_PIXELS; k++)
                values[k] = mode & 1 ? (values[k] + seconds[k] + 1) >> 1 : seconds[k];
        }
#pragma unroll
        for (int k = 0; k < PREDICTED_PIXELS; k++)
            sums[k] += weight_y * (i & 1 ? 8 - own_x[k] : own_x[k]) * values[k];
    }
    *(unsigned short *)(prediction + ((plane * height + y) * width + x)) =
        (unsigned short)(sums[0] >> 6 | sums[1] >> 6 << 8);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_predict_luma(const int4 *__restrict__ blocks, int blocks_x, int blocks_y,
                     const unsigned char *__restrict__ recent, const unsigned char *__restrict__ older,
                     unsigned char *prediction, int width, int height)
{
    predict<8>(blocks, blocks_x, blocks_y, recent, older, prediction, width, height);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_predict_chroma(const int4 *__restrict__ blocks, int blocks_x, int blocks_y,
                       const unsigned char *__restrict__ recent, const unsigned char *__restrict__ older,
                       unsigned char *prediction, int width, int height)
{
    predict<4>(blocks, blocks_x, blocks_y, recent, older, prediction, width, height);
}

/*
 * The remaining kernels take four pixels a thread, a word of bytes. Transformed planes may be larger than the pictures: `pitch`,
 * and `plane` elements each. Without PREDICTED the prediction is 128.
 */
template <bool PREDICTED>
static __device__ __forceinline__ void reconstruct(const short *__restrict__ transformed,
                                                   const unsigned char *__restrict__ prediction, unsigned char *picture,
                                                   int pitch, int plane, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int place = (blockIdx.z * height + y) * width + x;
    int2 pairs = *(const int2 *)(transformed + (blockIdx.z * plane + y * pitch + x));
    unsigned int expected = PREDICTED ? *(const unsigned int *)(prediction + place) : 0x80808080u;
    int first = clamp(low_half(pairs.x) + (int)byte_of(expected, 0), 0, 255);
    int second = clamp((pairs.x >> 16) + (int)byte_of(expected, 1), 0, 255);
    int third = clamp(low_half(pairs.y) + (int)byte_of(expected, 2), 0, 255);
    int fourth = clamp((pairs.y >> 16) + (int)byte_of(expected, 3), 0, 255);
    *(unsigned int *)(picture + place) = first | second << 8 | third << 16 | fourth << 24;
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_reconstruct_intra(const short *__restrict__ transformed, unsigned char *picture, int pitch, int plane,
                          int width, int height)
{
    reconstruct<false>(transformed, 0, picture, pitch, plane, width, height);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_reconstruct_inter(const short *__restrict__ transformed, const unsigned char *__restrict__ prediction,
                          unsigned char *picture, int pitch, int plane, int width, int height)
{
    reconstruct<true>(transformed, prediction, picture, pitch, plane, width, height);
}

/* In the middle between the fourth and the fifth of eight pixels. */
static __device__ __forceinline__ unsigned int between(int a, int b, int c, int d, int e, int f, int g, int h)
{
    return clamp((21 * (d + e) - 7 * (c + f) + 3 * (b + g) - (a + h) + 16) >> 5, 0, 255);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_upsample_vertical(const unsigned char *__restrict__ picture, unsigned char *taller, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    picture += blockIdx.z * width * height + x;
    taller += (blockIdx.z * height + y) * 2 * width + x;
    unsigned int rows[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        rows[i] = *(const unsigned int *)(picture + clamp(y + i - 3, 0, height - 1) * width);
    unsigned int middle = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        middle |= between(byte_of(rows[0], i), byte_of(rows[1], i), byte_of(rows[2], i), byte_of(rows[3], i),
                          byte_of(rows[4], i), byte_of(rows[5], i), byte_of(rows[6], i), byte_of(rows[7], i))
                  << 8 * i;
    *(unsigned int *)taller = rows[3];
    *(unsigned int *)(taller + width) = middle;
}

/* `height` is that of the taller picture. */
extern "C" __global__ void __launch_bounds__(256)
    dvc_upsample_horizontal(const unsigned char *__restrict__ taller, unsigned char *upsampled, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int row = (blockIdx.z * height + y) * width;
    const unsigned int *own = (const unsigned int *)(taller + row + x);
    /* four pixels before and four after, the first or last one where the picture ends */
    unsigned int words[3];
    words[1] = own[0];
    words[0] = x > 0 ? own[-1] : byte_of(words[1], 0) * 0x01010101u;
    words[2] = x + 4 < width ? own[1] : byte_of(words[1], 3) * 0x01010101u;
    unsigned int v[12];
#pragma unroll
    for (int i = 0; i < 12; i++)
        v[i] = byte_of(words[i / 4], i % 4);
    unsigned int out[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        out[i] = v[i + 4] | between(v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5], v[i + 6], v[i + 7], v[i + 8])
                                << 8;
    *(uint2 *)(upsampled + 2 * (row + x)) = make_uint2(out[0] | out[1] << 16, out[2] | out[3] << 16);
}
