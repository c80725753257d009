/* SPDX-License-Identifier: MIT */
/* Matrices of half precision by tensor operations: mma with tiles that ldmatrix has loaded, and wmma, each against sums of the host. */
#include "check.h"

#define SIZE 64
typedef unsigned short half_bits;

/* c = a * b, a by rows, b by columns; a warp has 16 rows and 8 columns of c. */
__global__ void by_mma(const half_bits *a, const half_bits *b, float *c)
{
    __shared__ __align__(16) half_bits rows[16][8], columns[8][8];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < SIZE; k += 8) {
        for (int i = lane; i < 128; i += 32)
            rows[i / 8][i % 8] = a[(row + i / 8) * SIZE + k + i % 8];
        for (int i = lane; i < 64; i += 32)
            columns[i / 8][i % 8] = b[(column + i / 8) * SIZE + k + i % 8];
        __syncthreads();
        unsigned a0, a1, b0;
        unsigned long long from_a = (unsigned long long)rows[lane % 16], from_b = (unsigned long long)columns[lane % 8];
        asm volatile("{ .reg .u64 s; .reg .u32 t; cvta.to.shared.u64 s, %2; cvt.u32.u64 t, s;\n"
                     "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [t]; }"
                     : "=r"(a0), "=r"(a1)
                     : "l"(from_a)
                     : "memory");
        asm volatile("{ .reg .u64 s; .reg .u32 t; cvta.to.shared.u64 s, %1; cvt.u32.u64 t, s;\n"
                     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [t]; }"
                     : "=r"(b0)
                     : "l"(from_b)
                     : "memory");
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a0), "r"(a1), "r"(b0));
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        c[(row + lane / 4 + i / 2 * 8) * SIZE + column + lane % 4 * 2 + i % 2] = d[i];
}

/* The same by wmma, 16 rows and columns for a warp, doubled element by element before they are stored. */
__global__ void by_wmma(const half_bits *a, const half_bits *b, float *c)
{
    int row = blockIdx.y * 16, column = blockIdx.x * 16, stride = SIZE;
    float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = 0; k < SIZE; k += 16) {
        unsigned x[8], y[8];
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])
                     : "l"(a + row * SIZE + k), "r"(stride)
                     : "memory");
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]), "=r"(y[4]), "=r"(y[5]), "=r"(y[6]), "=r"(y[7])
                     : "l"(b + column * SIZE + k), "r"(stride)
                     : "memory");
        asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                     "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
                     "{%0, %1, %2, %3, %4, %5, %6, %7};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]),
                       "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
    }
    for (int i = 0; i < 8; i++)
        d[i] *= 2;
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"l"(
                     c + row * SIZE + column),
                 "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]), "r"(stride)
                 : "memory");
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

int main()
{
    static half_bits a[SIZE * SIZE], b[SIZE * SIZE];
    static float first[SIZE * SIZE], second[SIZE * SIZE];
    half_bits *device_a, *device_b;
    float *device_c;
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = half_of(value_at(1, i));
        b[i] = half_of(value_at(2, i));
    }
    CHECK(cudaMalloc(&device_a, sizeof a));
    CHECK(cudaMalloc(&device_b, sizeof b));
    CHECK(cudaMalloc(&device_c, sizeof first));
    CHECK(cudaMemcpy(device_a, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b, sizeof b, cudaMemcpyHostToDevice));
    by_mma<<<dim3(SIZE / 8, SIZE / 16), 32>>>(device_a, device_b, device_c);
    CHECK(cudaMemcpy(first, device_c, sizeof first, cudaMemcpyDeviceToHost));
    by_wmma<<<dim3(SIZE / 16, SIZE / 16), 32>>>(device_a, device_b, device_c);
    CHECK(cudaMemcpy(second, device_c, sizeof second, cudaMemcpyDeviceToHost));
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++) {
            int sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += value_at(1, row * SIZE + k) * value_at(2, column * SIZE + k);
            EXPECT(first[row * SIZE + column] == (float)sum);
            EXPECT(second[row * SIZE + column] == (float)(2 * sum));
        }
    return 0;
}
