/* SPDX-License-Identifier: MIT */
/*
 * Products of a warpgroup (wgmma, sm_90a) against sums of the host: half precision out of shared memory with every swizzle, with a in registers, bytes; and
 * two products under way.
 */
#include "check.h"

#define SIDE 64 /* rows, columns, depth */
typedef unsigned short half_bits;

__device__ unsigned shared_place(const void *pointer)
{
    unsigned long long place;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(place) : "l"(pointer));
    return (unsigned)place;
}

/* Byte of piece `piece`, 16 bytes, of a row, in a layout of rows of `pieces` pieces; 1: no swizzle, two pieces to a row. */
template <int pieces> __device__ unsigned piece_at(unsigned row, unsigned piece)
{
    if (pieces == 1)
        return row % 8 * 16 + row / 8 * 256 + piece * 128;
    unsigned address = row * pieces * 16 + piece * 16;
    return address ^ (address >> 3 & (pieces - 1) * 16);
}

template <int pieces> __device__ unsigned long long descriptor(unsigned address)
{
    unsigned long long mode = pieces == 8 ? 1 : pieces == 4 ? 2 : pieces == 2 ? 3 : 0;
    unsigned long long leading = pieces == 1 ? 128 : 16, stride = pieces == 1 ? 256 : pieces * 128;
    return (address & 0x3ffff) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}

__device__ void fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ void commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int groups> __device__ void wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

__device__ void multiply_halves(float (&d)[32], unsigned long long a, unsigned long long b, int adds)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
        "%13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(adds)
        : "memory");
}

/* The same, of minus a, which is in registers. */
__device__ void multiply_negated(float (&d)[32], const unsigned (&a)[4], unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
                 "%11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, "
                 "%35}, %36, 1, -1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
                   "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                 : "memory");
}

__device__ void multiply_bytes(int (&d)[32], unsigned long long a, unsigned long long b, int adds)
{
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
                 "%12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p; }"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
                   "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]),
                   "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]),
                   "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]),
                   "+r"(d[30]), "+r"(d[31])
                 : "l"(a), "l"(b), "r"(adds)
                 : "memory");
}

template <typename number> __device__ void store(number *c, const number (&d)[32])
{
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    for (int i = 0; i < 32; i++)
        c[(row + i / 2 % 2 * 8) * SIDE + i / 4 * 8 + column + i % 2] = d[i];
}

/* Rows of `bytes` bytes from global memory, `count` pieces of each from piece `first` on. */
template <int pieces>
__device__ void place_rows(unsigned char *to, const unsigned char *from, int bytes, int first, int count)
{
    for (int i = threadIdx.x; i < SIDE * count; i += blockDim.x) {
        unsigned char *place = to + piece_at<pieces>(i / count, i % count);
        for (int k = 0; k < 16; k++)
            place[k] = from[i / count * bytes + (first + i % count) * 16 + k];
    }
}

/* c = a * transpose(b), half precision; a tile has a row of the swizzle, every 16 of its depth are a product. */
template <int pieces> __global__ void halves(const half_bits *a, const half_bits *b, float *c)
{
    __shared__ __align__(1024) unsigned char rows[SIDE * 128], columns[SIDE * 128];
    const int deep = pieces == 1 ? 2 : pieces; /* pieces of the depth of a tile */
    float d[32];
    for (int tile = 0; tile < SIDE / 8; tile += deep) {
        place_rows<pieces>(rows, (const unsigned char *)a, SIDE * 2, tile, deep);
        place_rows<pieces>(columns, (const unsigned char *)b, SIDE * 2, tile, deep);
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        fence();
        for (int k = 0; k < deep / 2; k++)
            multiply_halves(d, descriptor<pieces>(shared_place(rows) + k * 32),
                            descriptor<pieces>(shared_place(columns) + k * 32), tile + k > 0);
        commit();
        wait<0>();
        __syncthreads();
    }
    store(c, d);
}

/* c = 1 - a * transpose(b), a in registers; a product begins while the one before is under way. */
__global__ void from_registers(const half_bits *a, const half_bits *b, float *c)
{
    __shared__ __align__(1024) unsigned char columns[SIDE * 128];
    float d[32];
    for (int i = 0; i < 32; i++)
        d[i] = 1;
    place_rows<8>(columns, (const unsigned char *)b, SIDE * 2, 0, 8);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const unsigned *words = (const unsigned *)a; /* two elements each */
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, word = threadIdx.x % 4;
    unsigned x[SIDE / 16][4];
    for (int k = 0; k < SIDE / 16; k++)
        for (int i = 0; i < 4; i++)
            x[k][i] = words[(row + i % 2 * 8) * (SIDE / 2) + k * 8 + word + i / 2 * 4];
    fence();
#pragma unroll
    for (int k = 0; k < SIDE / 16; k++) {
        multiply_negated(d, x[k], descriptor<8>(shared_place(columns) + k * 32));
        commit();
        wait<1>();
    }
    wait<0>();
    store(c, d);
}

__global__ void bytes(const signed char *a, const signed char *b, int *c)
{
    __shared__ __align__(1024) unsigned char rows[SIDE * 64], columns[SIDE * 64];
    int d[32];
    place_rows<4>(rows, (const unsigned char *)a, SIDE, 0, 4);
    place_rows<4>(columns, (const unsigned char *)b, SIDE, 0, 4);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    fence();
    for (int k = 0; k < SIDE / 32; k++)
        multiply_bytes(d, descriptor<4>(shared_place(rows) + k * 32), descriptor<4>(shared_place(columns) + k * 32), k);
    commit();
    wait<0>();
    store(c, d);
}

/* Of an integer from -8 to 8. */
static half_bits half_of(int value)
{
    int magnitude = value < 0 ? -value : value, exponent = 0;
    if (!magnitude)
        return 0;
    while (magnitude >> (exponent + 1))
        exponent++;
    return (half_bits)((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | ((magnitude << 10 >> exponent) & 0x3ff));
}

static int value_at(int matrix, int i)
{
    return (i * 7919 + matrix * 31) % 17 - 8;
}

static int sums[SIDE * SIDE];

static void check_floats(float *device, int factor, int start)
{
    static float found[SIDE * SIDE];
    CHECK(cudaMemcpy(found, device, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIDE * SIDE; i++)
        EXPECT(found[i] == (float)(factor * sums[i] + start));
    CHECK(cudaMemset(device, 0, sizeof found));
}

int main()
{
    static half_bits a[SIDE * SIDE], b[SIDE * SIDE];
    static signed char small_a[SIDE * SIDE], small_b[SIDE * SIDE];
    static int integers[SIDE * SIDE];
    half_bits *device_a, *device_b;
    float *device_c;
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = half_of(small_a[i] = (signed char)value_at(1, i));
        b[i] = half_of(small_b[i] = (signed char)value_at(2, i));
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            sums[i] += value_at(1, i / SIDE * SIDE + k) * value_at(2, i % SIDE * SIDE + k);
    CHECK(cudaMalloc(&device_a, sizeof a));
    CHECK(cudaMalloc(&device_b, sizeof b));
    CHECK(cudaMalloc(&device_c, sizeof sums));
    CHECK(cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b, sizeof b, cudaMemcpyHostToDevice));
    halves<1><<<1, 128>>>(device_a, device_b, device_c);
    check_floats(device_c, 1, 0);
    halves<2><<<1, 128>>>(device_a, device_b, device_c);
    check_floats(device_c, 1, 0);
    halves<4><<<1, 128>>>(device_a, device_b, device_c);
    check_floats(device_c, 1, 0);
    halves<8><<<1, 128>>>(device_a, device_b, device_c);
    check_floats(device_c, 1, 0);
    from_registers<<<1, 128>>>(device_a, device_b, device_c);
    check_floats(device_c, -1, 1);
    CHECK(cudaMemcpy(device_a, small_a, sizeof small_a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, small_b, sizeof small_b, cudaMemcpyHostToDevice));
    bytes<<<1, 128>>>((const signed char *)device_a, (const signed char *)device_b, (int *)device_c);
    CHECK(cudaMemcpy(integers, device_c, sizeof integers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIDE * SIDE; i++)
        EXPECT(integers[i] == sums[i]);
    return 0;
}
