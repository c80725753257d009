/* SPDX-License-Identifier: MIT */
/*
 * sad: sums of absolute differences between every block of a frame and every place within 16 pixels in a reference
 * frame, for the seven block shapes of H.264 (4x4 to 16x16): what a video encoder's full motion search looks up.
 *
 * Parboil's sad, one of the memory-intensive programs of the SMK chapter and of Kernelet (TPDS 2014), and memory-bound
 * in HPCA 2012 (table 1: 3 kernels, 4354 thread blocks of 66 threads on average, for two frames of 320 x 240). The same
 * three kernels and thread blocks here (4800 x 61, 300 x 128 and 300 x 32):
 *   mb_sad_calc           a thread block takes one 4x4 block, a thread 18 of the 33 x 33 places, three neighbours at a
 *                         time out of the same pixels; results go through shared memory so that they leave as whole words
 *   larger_sad_calc_8     sums of two and four of them (8x4, 4x8, 8x8), two places a thread and step
 *   larger_sad_calc_16    sums of those again (16x8, 8x16, 16x16)
 * The reference frame comes with its edges repeated by 16 pixels, as codecs keep it: that stands for the clamping of a
 * texture. SADs are 16 bits wide; the place is the fastest index, a block has MAX_POSITIONS of them, some of which stay
 * unused.
 *
 * What limits it: loads. The first kernel, four fifths of the time and more, does little but load pixels, and as a
 * thread's places lie 18 from its neighbour's, each load of a warp touches some twenty cache lines. Where there is no
 * first-level cache (Quadro FX 5800), all of that goes to DRAM. The L1 of a GTX 980 has the pixels, but gives out a line
 * a cycle: schedulers wait for the load/store unit nine cycles of ten, DRAM idles, and speed grows with the SMs. The
 * other kernels read four words and write five for six additions, as fast as DRAM takes them.
 */
#define SEARCH_WIDTH 33
#define POSITIONS (SEARCH_WIDTH * SEARCH_WIDTH)
#define MAX_POSITIONS 1096 /* a multiple of 8, for aligned rows */
#define PLACES_PER_THREAD 18
#define WORDS (MAX_POSITIONS / 2) /* of two SADs */
#define USED_WORDS ((POSITIONS + 1) / 2)

/* blockIdx is the 4x4 block; the top left place of the search is the same pixel in the extended frame. */
extern "C" __global__ void __launch_bounds__(61)
    mb_sad_calc(unsigned int *sad_4x4, const unsigned short *__restrict__ frame,
                const unsigned short *__restrict__ extended, int width, int extended_width)
{
    __shared__ unsigned short block[16];
    __shared__ unsigned int results[WORDS];
    int block_x = blockIdx.x * 4;
    int block_y = blockIdx.y * 4;
    if (threadIdx.x < 16)
        block[threadIdx.x] = frame[(block_y + (threadIdx.x >> 2)) * width + block_x + (threadIdx.x & 3)];
    if (threadIdx.x == 0)
        results[POSITIONS / 2] = 0; /* the last word has one place only */
    __syncthreads();

    int place = threadIdx.x * PLACES_PER_THREAD;
    int end = min(place + PLACES_PER_THREAD, POSITIONS);
    int row = place / SEARCH_WIDTH;
    int column = place % SEARCH_WIDTH;
    unsigned short *sads = (unsigned short *)results;
    for (; place < end; place += 3) {
        const unsigned short *pixel = extended + (block_y + row) * extended_width + block_x + column;
        int sum[3] = {0, 0, 0};
#pragma unroll
        for (int y = 0; y < 4; y++) {
            int pixels[6];
#pragma unroll
            for (int x = 0; x < 6; x++)
                pixels[x] = pixel[x];
#pragma unroll
            for (int x = 0; x < 4; x++) {
                int own = block[y * 4 + x];
#pragma unroll
                for (int i = 0; i < 3; i++)
                    sum[i] += abs(own - pixels[x + i]);
            }
            pixel += extended_width;
        }
#pragma unroll
        for (int i = 0; i < 3; i++)
            sads[place + i] = (unsigned short)sum[i];
        column += 3;
        if (column == SEARCH_WIDTH) {
            column = 0;
            row++;
        }
    }
    __syncthreads();

    unsigned int *destination = sad_4x4 + (blockIdx.y * gridDim.x + blockIdx.x) * WORDS;
    for (int word = threadIdx.x; word < USED_WORDS; word += blockDim.x)
        destination[word] = results[word];
}

/* Every place of four blocks two by two, of which `blocks_x` pairs lie in a row: their sums side by side, one below the other, all. */
__device__ __forceinline__ void add_four(const unsigned int *top, const unsigned int *bottom, unsigned int *wide,
                                         unsigned int *tall, unsigned int *whole, int blocks_x)
{
    for (int word = threadIdx.x; word < USED_WORDS; word += 32) {
        unsigned int top_left = top[word];
        unsigned int top_right = top[word + WORDS];
        unsigned int bottom_left = bottom[word];
        unsigned int bottom_right = bottom[word + WORDS];
        wide[word] = top_left + top_right;
        wide[word + blocks_x * WORDS] = bottom_left + bottom_right;
        tall[word] = top_left + bottom_left;
        tall[word + WORDS] = top_right + bottom_right;
        whole[word] = top_left + top_right + bottom_left + bottom_right;
    }
}

/*
 * Two SADs lie in a word and never carry from one into the other: 16 x 16 x 255 fits 16 bits.
 * blockIdx is the macroblock of 16 x 16, threadIdx.y its quarter. Blocks of every shape are in raster order.
 */
extern "C" __global__ void __launch_bounds__(128)
    larger_sad_calc_8(const unsigned int *__restrict__ sad_4x4, unsigned int *sad_8x4, unsigned int *sad_4x8,
                      unsigned int *sad_8x8)
{
    int blocks_x = gridDim.x * 2; /* of 8 x 8 */
    int x = blockIdx.x * 2 + (threadIdx.y & 1);
    int y = blockIdx.y * 2 + (threadIdx.y >> 1);
    const unsigned int *top = sad_4x4 + (2 * y * (2 * blocks_x) + 2 * x) * WORDS;
    const unsigned int *bottom = top + 2 * blocks_x * WORDS;
    unsigned int *wide = sad_8x4 + (2 * y * blocks_x + x) * WORDS;
    unsigned int *tall = sad_4x8 + (y * (2 * blocks_x) + 2 * x) * WORDS;
    unsigned int *whole = sad_8x8 + (y * blocks_x + x) * WORDS;
    add_four(top, bottom, wide, tall, whole, blocks_x);
}

extern "C" __global__ void __launch_bounds__(32)
    larger_sad_calc_16(const unsigned int *__restrict__ sad_8x8, unsigned int *sad_16x8, unsigned int *sad_8x16,
                       unsigned int *sad_16x16)
{
    int blocks_x = gridDim.x; /* of 16 x 16 */
    int x = blockIdx.x;
    int y = blockIdx.y;
    const unsigned int *top = sad_8x8 + (2 * y * (2 * blocks_x) + 2 * x) * WORDS;
    const unsigned int *bottom = top + 2 * blocks_x * WORDS;
    unsigned int *wide = sad_16x8 + (2 * y * blocks_x + x) * WORDS;
    unsigned int *tall = sad_8x16 + (y * (2 * blocks_x) + 2 * x) * WORDS;
    unsigned int *whole = sad_16x16 + (y * blocks_x + x) * WORDS;
    add_four(top, bottom, wide, tall, whole, blocks_x);
}
