/* SPDX-License-Identifier: MIT */
/*
 * A matrix is transposed through tensor maps: tiles of 32 by 32 come with a swizzle, so that columns of them are read without conflicts,
 * and go in bulk. Three tiles are under way; the matrix ends within tiles. As nvcc makes it for sm_90, with maps as __grid_constant__.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)
#define GOOD(call) CHECK((call) == cudaSuccess)

enum { WIDTH = 200, HEIGHT = 148, TILE = 32, STAGES = 3, THREADS = 256 };

__device__ static uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

__device__ static void load(const CUtensorMap *map, float *tile, uint64_t *barrier, int x, int y)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(TILE * TILE * 4)
                 : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
                 "%3}], [%4];" ::"r"(shared_address(tile)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

__device__ static void wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::
            "r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to)
{
    __shared__ alignas(1024) float in[STAGES][TILE * TILE];
    __shared__ alignas(1024) float out[TILE * TILE];
    __shared__ uint64_t barriers[STAGES];
    const int rows = (HEIGHT + TILE - 1) / TILE, x = (int)blockIdx.x * TILE;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barriers[i])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int i = 0; i < STAGES && i < rows; i++)
            load(&from, in[i], &barriers[i], x, i * TILE);
    }
    __syncthreads();
    for (int row = 0; row < rows; row++) {
        int stage = row % STAGES;
        wait(&barriers[stage], row / STAGES & 1);
        for (int i = threadIdx.x; i < TILE * TILE; i += THREADS) {
            int r = i / TILE,
                c = i % TILE; /* of the result: element (c, r) of the tile, whose units of 4 are exchanged */
            out[i] = in[stage][c * TILE + ((r / 4 ^ c % 8) * 4 + r % 4)];
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
                         "r"(row * TILE), "r"(x), "r"(shared_address(out))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
            if (row + STAGES < rows)
                load(&from, in[stage], &barriers[stage], x, (row + STAGES) * TILE);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

typedef CUresult (*encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                            const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static CUtensorMap make_map(encoder encode, float *matrix, int width, int height, CUtensorMapSwizzle swizzle)
{
    CUtensorMap map;
    const cuuint64_t sizes[] = {(cuuint64_t)width, (cuuint64_t)height}, strides[] = {(cuuint64_t)width * 4};
    const cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    CHECK(encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, sizes, strides, box, steps,
                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
}

int main()
{
    static float matrix[HEIGHT][WIDTH], result[WIDTH][HEIGHT];
    void *entry = NULL;
    cudaDriverEntryPointQueryResult found;
    GOOD(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
    CHECK(entry && found == cudaDriverEntryPointSuccess);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            matrix[y][x] = (float)(y * 1000 + x);
    float *from, *to;
    GOOD(cudaMalloc(&from, sizeof matrix));
    GOOD(cudaMalloc(&to, sizeof result));
    GOOD(cudaMemcpy(from, matrix, sizeof matrix, cudaMemcpyHostToDevice));
    GOOD(cudaMemset(to, 0xff, sizeof result));
    transpose<<<(WIDTH + TILE - 1) / TILE, THREADS>>>(
        make_map((encoder)entry, from, WIDTH, HEIGHT, CU_TENSOR_MAP_SWIZZLE_128B),
        make_map((encoder)entry, to, HEIGHT, WIDTH, CU_TENSOR_MAP_SWIZZLE_NONE));
    GOOD(cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost));
    for (int x = 0; x < WIDTH; x++)
        for (int y = 0; y < HEIGHT; y++)
            CHECK(result[x][y] == matrix[y][x]);
    puts("transposed");
    return 0;
}
