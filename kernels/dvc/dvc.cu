/*
 * dvc: the part of a decoder for the wavelet video codec Dirac that works on pixels: inverse wavelet transform, motion
 * compensation with overlapped blocks and two reference frames, and up-sampling of decoded frames to half pixels.
 *
 * In HPCA 2012 (table 1) a decoder of 14 kernels, 112 thread blocks of 216 threads on average, problem-size-bound, for 39 frames
 * of 320 x 240. The same stages here in 10 kernels; brightness and the two half-sized colour planes are launches of their own:
 *   dvc_vertical_*, dvc_horizontal_*     one level of four of the inverse transform: columns in tiles of 32 x 32, then a row a
 *                                        thread block. Deslauriers-Dubuc (9,7) for the first frame, LeGall (5,3) for others
 *   dvc_predict_luma, dvc_predict_chroma a pixel a thread: blocks of 12 x 12 (6 x 6) every 8 (4) pixels overlap, up to four
 *                                        at a pixel, each taken from one or both reference frames to a quarter of a pixel
 *   dvc_reconstruct_intra, _inter        transformed differences and prediction to bytes
 *   dvc_upsample_vertical, _horizontal   the decoded frame with twice the rows, then twice the columns, by a filter of 8 taps
 * Everything is integers and as the codec specifies it. (Arithmetic decoding and dequantisation remain with the CPU.)
 *
 * What limits it: the size of the problem. Frames are small, levels of the transform smaller (20 x 15 at first), and each
 * launch waits for the one before: hardly any of the 24 a frame fills a GPU.
 */
#define TILE_PAIRS 16 /* of rows in a tile of the vertical transform */
#define TILE_WIDTH 32

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

/* A point of a reference frame that has twice the rows and columns; the vector is in quarters of a pixel. */
static __device__ __forceinline__ int reference_sample(const unsigned char *__restrict__ upsampled, int width,
                                                       int height, int x, int y, int vector_x, int vector_y)
{
    int left = 2 * x + (vector_x >> 1);
    int top = 2 * y + (vector_y >> 1);
    int right = clamp(left + 1, 0, 2 * width - 1);
    int bottom = clamp(top + 1, 0, 2 * height - 1);
    left = clamp(left, 0, 2 * width - 1);
    top = clamp(top, 0, 2 * height - 1);
    int part_x = vector_x & 1;
    int part_y = vector_y & 1;
    const unsigned char *upper = upsampled + top * 2 * width;
    const unsigned char *lower = upsampled + bottom * 2 * width;
    int upper_sum = (2 - part_x) * upper[left] + part_x * upper[right];
    int lower_sum = (2 - part_x) * lower[left] + part_x * lower[right];
    return ((2 - part_y) * upper_sum + part_y * lower_sum + 2) >> 2;
}

/* A block is eight 16-bit fields: mode (bit r: uses reference r), three constant shades, vectors x and y of each reference. */
static __device__ __forceinline__ int low_half(int word)
{
    return word << 16 >> 16;
}

template <int SEPARATION>
static __device__ __forceinline__ void
predict(const int4 *__restrict__ blocks, int blocks_x, int blocks_y, const unsigned char *__restrict__ recent,
        const unsigned char *__restrict__ older, unsigned char *prediction, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int plane = blockIdx.z;
    recent += plane * 4 * width * height;
    older += plane * 4 * width * height;
    int edge_x = min(x % SEPARATION, SEPARATION - 1 - x % SEPARATION);
    int edge_y = min(y % SEPARATION, SEPARATION - 1 - y % SEPARATION);
    int block_x = x / SEPARATION;
    int block_y = y / SEPARATION;
    int other_x = x % SEPARATION < SEPARATION / 2 ? block_x - 1 : block_x + 1;
    int other_y = y % SEPARATION < SEPARATION / 2 ? block_y - 1 : block_y + 1;
    /* eighths of the pixel's own block; the rest is that of the nearest block, of which there is none at the border */
    int ramp_x = edge_x == 0 ? 5 : edge_x == 1 && SEPARATION == 8 ? 7 : 8;
    int ramp_y = edge_y == 0 ? 5 : edge_y == 1 && SEPARATION == 8 ? 7 : 8;
    int own_x = other_x >= 0 && other_x < blocks_x ? ramp_x : 8;
    int own_y = other_y >= 0 && other_y < blocks_y ? ramp_y : 8;
    int sum = 32;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        int weight = (i & 1 ? 8 - own_x : own_x) * (i & 2 ? 8 - own_y : own_y);
        if (weight == 0)
            continue;
        int4 block = blocks[(i & 2 ? other_y : block_y) * blocks_x + (i & 1 ? other_x : block_x)];
        int mode = low_half(block.x);
        int value = 0;
        if (mode == 0)
            value = SEPARATION == 8 ? block.x >> 16 : plane == 0 ? low_half(block.y) : block.y >> 16;
        /* colour planes have half the pixels, so half the vector */
        const int shift = SEPARATION == 8 ? 0 : 1;
        if (mode & 1)
            value = reference_sample(recent, width, height, x, y, low_half(block.z) >> shift, block.z >> 16 >> shift);
        if (mode & 2) {
            int second =
                reference_sample(older, width, height, x, y, low_half(block.w) >> shift, block.w >> 16 >> shift);
            value = mode & 1 ? (value + second + 1) >> 1 : second;
        }
        sum += weight * value;
    }
    prediction[(plane * height + y) * width + x] = (unsigned char)(sum >> 6);
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

/* The transformed planes may be larger than the pictures: pitch, and `plane` elements each. */
extern "C" __global__ void __launch_bounds__(256)
    dvc_reconstruct_intra(const short *__restrict__ transformed, unsigned char *picture, int pitch, int plane,
                          int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int value = transformed[blockIdx.z * plane + y * pitch + x] + 128;
    picture[(blockIdx.z * height + y) * width + x] = (unsigned char)clamp(value, 0, 255);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_reconstruct_inter(const short *__restrict__ transformed, const unsigned char *__restrict__ prediction,
                          unsigned char *picture, int pitch, int plane, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int place = (blockIdx.z * height + y) * width + x;
    int value = transformed[blockIdx.z * plane + y * pitch + x] + prediction[place];
    picture[place] = (unsigned char)clamp(value, 0, 255);
}

/* In the middle between the fourth and the fifth of eight pixels. */
static __device__ __forceinline__ unsigned char between(const int v[8])
{
    int sum = 21 * (v[3] + v[4]) - 7 * (v[2] + v[5]) + 3 * (v[1] + v[6]) - (v[0] + v[7]);
    return (unsigned char)clamp((sum + 16) >> 5, 0, 255);
}

extern "C" __global__ void __launch_bounds__(256)
    dvc_upsample_vertical(const unsigned char *__restrict__ picture, unsigned char *taller, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    picture += blockIdx.z * width * height + x;
    taller += (blockIdx.z * height + y) * 2 * width + x;
    int v[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] = picture[clamp(y + i - 3, 0, height - 1) * width];
    taller[0] = (unsigned char)v[3];
    taller[width] = between(v);
}

/* `height` is that of the taller picture. */
extern "C" __global__ void __launch_bounds__(256)
    dvc_upsample_horizontal(const unsigned char *__restrict__ taller, unsigned short *upsampled, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    taller += (blockIdx.z * height + y) * width;
    int v[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] = taller[clamp(x + i - 3, 0, width - 1)];
    upsampled[(blockIdx.z * height + y) * width + x] = (unsigned short)(v[3] | between(v) << 8);
}
