/* SPDX-License-Identifier: MIT */
/*
 * Matrices taken apart in double precision, many small launches that depend on each other: LU with pivots that a thread block finds, QR by
 * reflections with a template for the size of the thread block, Cholesky within one thread block and its dynamic shared memory.
 */
#include "check.h"

#include <cmath>

#define SIZE 40
#define THREADS 64

typedef double matrix[SIZE * SIZE];

static matrix original, factors, symmetric;

__global__ void find_pivot(const double *a, int k, int *pivots)
{
    __shared__ double largest[THREADS];
    __shared__ int rows[THREADS];
    unsigned t = threadIdx.x;
    largest[t] = -1;
    rows[t] = k;
    for (int row = k + (int)t; row < SIZE; row += THREADS)
        if (fabs(a[row * SIZE + k]) > largest[t]) {
            largest[t] = fabs(a[row * SIZE + k]);
            rows[t] = row;
        }
    for (unsigned half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (t < half &&
            (largest[t + half] > largest[t] || (largest[t + half] == largest[t] && rows[t + half] < rows[t]))) {
            largest[t] = largest[t + half];
            rows[t] = rows[t + half];
        }
    }
    if (t == 0)
        pivots[k] = rows[0];
}

__global__ void exchange(double *a, int k, const int *pivots)
{
    unsigned column = threadIdx.x;
    if (column >= SIZE || pivots[k] == k)
        return;
    double kept = a[k * SIZE + column];
    a[k * SIZE + column] = a[pivots[k] * SIZE + column];
    a[pivots[k] * SIZE + column] = kept;
}

__global__ void eliminate(double *a, int k)
{
    int row = k + 1 + (int)blockIdx.x, column = k + 1 + (int)threadIdx.x;
    double factor = a[row * SIZE + k] / a[k * SIZE + k];
    __syncthreads();
    if (column < SIZE)
        a[row * SIZE + column] -= factor * a[k * SIZE + column];
    if (threadIdx.x == THREADS - 1)
        a[row * SIZE + k] = factor;
}

static void test_lu(double *a)
{
    static matrix product;
    int pivots[SIZE], *device_pivots;
    CHECK(cudaMalloc(&device_pivots, sizeof pivots));
    CHECK(cudaMemcpy(a, original, sizeof original, cudaMemcpyHostToDevice));
    for (int k = 0; k + 1 < SIZE; k++) {
        find_pivot<<<1, THREADS>>>(a, k, device_pivots);
        exchange<<<1, THREADS>>>(a, k, device_pivots);
        eliminate<<<SIZE - 1 - k, THREADS>>>(a, k);
    }
    CHECK(cudaMemcpy(factors, a, sizeof factors, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(pivots, device_pivots, sizeof pivots, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            product[i * SIZE + j] = 0;
            for (int k = 0; k <= i && k <= j; k++)
                product[i * SIZE + j] += (k == i ? 1 : factors[i * SIZE + k]) * factors[k * SIZE + j];
        }
    for (int k = SIZE - 2; k >= 0; k--)
        for (int j = 0; j < SIZE; j++) {
            double kept = product[k * SIZE + j];
            product[k * SIZE + j] = product[pivots[k] * SIZE + j];
            product[pivots[k] * SIZE + j] = kept;
        }
    for (int i = 0; i < SIZE * SIZE; i++)
        EXPECT(fabs(product[i] - original[i]) < 1e-12);
    CHECK(cudaFree(device_pivots));
}

template <unsigned Threads> __device__ double sum_of_all(double mine)
{
    __shared__ double sums[Threads];
    sums[threadIdx.x] = mine;
#pragma unroll
    for (unsigned half = Threads / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

/* The vector of the reflection below the diagonal, where its first element is 1; the diagonal is that of R. */
template <unsigned Threads> __global__ void find_reflection(double *a, double *scales, int k)
{
    double squares = 0;
    for (int row = k + (int)threadIdx.x; row < SIZE; row += Threads)
        squares += a[row * SIZE + k] * a[row * SIZE + k];
    double length = sqrt(sum_of_all<Threads>(squares)), head = a[k * SIZE + k], diagonal = head > 0 ? -length : length;
    __syncthreads();
    for (int row = k + 1 + (int)threadIdx.x; row < SIZE; row += Threads)
        a[row * SIZE + k] /= head - diagonal;
    if (threadIdx.x == 0) {
        a[k * SIZE + k] = diagonal;
        scales[k] = (diagonal - head) / diagonal;
    }
}

template <unsigned Threads> __global__ void reflect(double *a, const double *scales, int k)
{
    int column = k + 1 + (int)blockIdx.x;
    double sum = 0;
    for (int row = k + (int)threadIdx.x; row < SIZE; row += Threads)
        sum += (row == k ? 1 : a[row * SIZE + k]) * a[row * SIZE + column];
    double factor = scales[k] * sum_of_all<Threads>(sum);
    for (int row = k + (int)threadIdx.x; row < SIZE; row += Threads)
        a[row * SIZE + column] -= factor * (row == k ? 1 : a[row * SIZE + k]);
}

static void test_qr(double *a)
{
    double *scales;
    CHECK(cudaMalloc(&scales, SIZE * sizeof *scales));
    CHECK(cudaMemcpy(a, original, sizeof original, cudaMemcpyHostToDevice));
    for (int k = 0; k + 1 < SIZE; k++) {
        find_reflection<THREADS><<<1, THREADS>>>(a, scales, k);
        reflect<32><<<SIZE - 1 - k, 32>>>(a, scales, k);
    }
    CHECK(cudaMemcpy(factors, a, sizeof factors, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            double wanted = 0, found = 0; /* of the transposed matrix and itself */
            for (int k = 0; k < SIZE; k++)
                wanted += original[k * SIZE + i] * original[k * SIZE + j];
            for (int k = 0; k <= i && k <= j; k++)
                found += factors[k * SIZE + i] * factors[k * SIZE + j];
            EXPECT(fabs(wanted - found) < 1e-11);
        }
    CHECK(cudaFree(scales));
}

__global__ void cholesky(double *a)
{
    extern __shared__ double kept[];
    for (unsigned i = threadIdx.x; i < SIZE * SIZE; i += blockDim.x)
        kept[i] = a[i];
    for (unsigned k = 0; k < SIZE; k++) {
        __syncthreads();
        if (threadIdx.x == 0)
            kept[k * SIZE + k] = sqrt(kept[k * SIZE + k]);
        __syncthreads();
        for (unsigned row = k + 1 + threadIdx.x; row < SIZE; row += blockDim.x)
            kept[row * SIZE + k] /= kept[k * SIZE + k];
        __syncthreads();
        for (unsigned i = threadIdx.x; i < SIZE * SIZE; i += blockDim.x)
            if (i % SIZE > k && i / SIZE >= i % SIZE)
                kept[i] -= kept[i / SIZE * SIZE + k] * kept[i % SIZE * SIZE + k];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < SIZE * SIZE; i += blockDim.x)
        a[i] = i % SIZE > i / SIZE ? 0 : kept[i];
}

static void test_cholesky(double *a)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            symmetric[i * SIZE + j] = i == j;
            for (int k = 0; k < SIZE; k++)
                symmetric[i * SIZE + j] += original[i * SIZE + k] * original[j * SIZE + k];
        }
    CHECK(cudaMemcpy(a, symmetric, sizeof symmetric, cudaMemcpyHostToDevice));
    cholesky<<<1, 4 * THREADS, sizeof symmetric>>>(a);
    CHECK(cudaMemcpy(factors, a, sizeof factors, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            double found = 0;
            for (int k = 0; k < SIZE; k++)
                found += factors[i * SIZE + k] * factors[j * SIZE + k];
            EXPECT(fabs(found - symmetric[i * SIZE + j]) < 1e-11);
        }
}

int main()
{
    unsigned random = 7;
    for (int i = 0; i < SIZE * SIZE; i++) {
        random = random * 1664525 + 1013904223;
        original[i] = (double)(random >> 8) / (1 << 24) - 0.5;
    }
    double *a;
    CHECK(cudaMalloc(&a, sizeof original));
    test_lu(a);
    test_qr(a);
    test_cholesky(a);
    CHECK(cudaFree(a));
    return 0;
}
