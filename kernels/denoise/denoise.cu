/*
 * denoise: a colour picture freed from noise by non-local means: a pixel becomes the mean of the 7 x 7 around it, each weighted
 * by how much its own surroundings (7 x 7 again) look like those of the pixel.
 *
 * In HPCA 2012 a "modified version" of the filter, compute-bound, on a picture of 3072 x 2304: 1 kernel, 110 592 thread blocks
 * of 64 threads, hence a pixel a thread and 8 x 8 a thread block. The modification assumed here is the well-known quick one:
 * weights are computed once for the middle of a thread block, one by each of 49 threads, and shared by its 64 pixels, which
 * takes 49 comparisons of surroundings a thread block where the plain filter takes 49 a pixel.
 *
 * The 14 x 14 pixels that a thread block looks at go to shared memory as floats, where the known program has a texture cache that
 * converts. The known program also keeps much of the original pixel where few weights are above a threshold; here the mean weight
 * moves that share smoothly, so that no result hangs on the last bit of a weight. Results stay floats (with the mean weight as
 * the fourth element) for the filters that follow.
 *
 * What limits it: arithmetic and shared memory. A pixel of four bytes costs some 900 instructions; the special function unit is
 * used once for each weight.
 */
#define TILE 8
#define REACH 3
#define SIDE (2 * REACH + 1)
#define AREA (SIDE * SIDE)
#define PATCH (TILE + 2 * REACH)

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    denoise_non_local_means(const uchar4 *__restrict__ picture, float4 *result, int width, int height, float strength)
{
    __shared__ float4 patch[PATCH * PATCH];
    __shared__ float weights[AREA];
    int thread = threadIdx.y * TILE + threadIdx.x;
    int left = blockIdx.x * TILE - REACH;
    int top = blockIdx.y * TILE - REACH;
    for (int i = thread; i < PATCH * PATCH; i += TILE * TILE) {
        int x = min(max(left + i % PATCH, 0), width - 1);
        int y = min(max(top + i / PATCH, 0), height - 1);
        uchar4 pixel = picture[y * width + x];
        patch[i] = make_float4(pixel.x * (1.0f / 255), pixel.y * (1.0f / 255), pixel.z * (1.0f / 255), 0.0f);
    }
    __syncthreads();

    /* the middle is pixel (4, 4) of the thread block; its surroundings begin three before it */
    if (threadIdx.x < SIDE && threadIdx.y < SIDE) {
        const float4 *own = &patch[4 * PATCH + 4];
        const float4 *other = own + ((int)threadIdx.y - REACH) * PATCH + (int)threadIdx.x - REACH;
        float difference = 0.0f;
#pragma unroll 1
        for (int y = 0; y < SIDE; y++) {
#pragma unroll
            for (int x = 0; x < SIDE; x++) {
                float4 a = own[x];
                float4 b = other[x];
                float red = a.x - b.x;
                float green = a.y - b.y;
                float blue = a.z - b.z;
                difference += red * red + green * green + blue * blue;
            }
            own += PATCH;
            other += PATCH;
        }
        int dx = (int)threadIdx.x - REACH;
        int dy = (int)threadIdx.y - REACH;
        weights[threadIdx.y * SIDE + threadIdx.x] =
            __expf(-(difference * strength + (float)(dx * dx + dy * dy) * (1.0f / AREA)));
    }
    __syncthreads();

    float red = 0.0f;
    float green = 0.0f;
    float blue = 0.0f;
    float sum = 0.0f;
#pragma unroll 1
    for (int y = 0; y < SIDE; y++) {
#pragma unroll
        for (int x = 0; x < SIDE; x++) {
            float weight = weights[y * SIDE + x];
            float4 pixel = patch[(threadIdx.y + y) * PATCH + threadIdx.x + x];
            red += weight * pixel.x;
            green += weight * pixel.y;
            blue += weight * pixel.z;
            sum += weight;
        }
    }
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float scale = __fdividef(1.0f, sum);
    float mean_weight = sum * (1.0f / AREA);
    float keep = 0.8f - 0.6f * mean_weight;
    float4 original = patch[(threadIdx.y + REACH) * PATCH + threadIdx.x + REACH];
    red *= scale;
    green *= scale;
    blue *= scale;
    result[y * width + x] = make_float4(red + (original.x - red) * keep, green + (original.y - green) * keep,
                                        blue + (original.z - blue) * keep, mean_weight);
}
