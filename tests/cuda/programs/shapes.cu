/* SPDX-License-Identifier: MIT */
/*
 * Objects of classes with virtual functions that one kernel makes and another one measures and deletes, functions by pointers from tables in
 * global and constant memory and from the host, functors as arguments, and recursion that goes two ways.
 */
#include "check.h"

#include <cmath>

#define SHAPES 300
#define THREADS 64
#define NUMBERS 50
#define TABLE 3

struct shape {
    __device__ virtual ~shape()
    {
    }
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const
    {
        return 0;
    }
};

struct circle : shape {
    float radius;
    __device__ explicit circle(float radius) : radius(radius)
    {
    }
    __device__ float area() const override
    {
        return 3.0f * radius * radius;
    }
};

struct rectangle : shape {
    float width, height;
    __device__ rectangle(float width, float height) : width(width), height(height)
    {
    }
    __device__ float area() const override
    {
        return width * height;
    }
    __device__ int corners() const override
    {
        return 4;
    }
};

struct square final : rectangle {
    __device__ explicit square(float side) : rectangle(side, side)
    {
    }
    __device__ int corners() const override
    {
        return -4;
    }
};

__global__ void make(shape **shapes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= SHAPES)
        return;
    if (i % 3 == 0)
        shapes[i] = new circle((float)i);
    else if (i % 3 == 1)
        shapes[i] = new rectangle((float)i, 2);
    else
        shapes[i] = new square((float)i);
}

__global__ void measure(shape **shapes, float *areas, int *corners)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= SHAPES)
        return;
    areas[i] = shapes[i]->area();
    corners[i] = shapes[i]->corners();
    delete shapes[i];
}

static void test_virtual_functions()
{
    static float areas[SHAPES];
    static int corners[SHAPES];
    shape **shapes;
    float *device_areas;
    int *device_corners;
    CHECK(cudaMalloc(&shapes, SHAPES * sizeof *shapes));
    CHECK(cudaMalloc(&device_areas, sizeof areas));
    CHECK(cudaMalloc(&device_corners, sizeof corners));
    make<<<(SHAPES + THREADS - 1) / THREADS, THREADS>>>(shapes);
    measure<<<(SHAPES + THREADS - 1) / THREADS, THREADS>>>(shapes, device_areas, device_corners);
    CHECK(cudaMemcpy(areas, device_areas, sizeof areas, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(corners, device_corners, sizeof corners, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SHAPES; i++) {
        float side = (float)i;
        EXPECT(areas[i] == (i % 3 == 0 ? 3 * side * side : i % 3 == 1 ? side * 2 : side * side));
        EXPECT(corners[i] == (i % 3 == 0 ? 0 : i % 3 == 1 ? 4 : -4));
    }
    CHECK(cudaFree(shapes));
    CHECK(cudaFree(device_areas));
    CHECK(cudaFree(device_corners));
}

typedef float (*operation)(float, float);

__device__ float sum_of(float a, float b)
{
    return a + b;
}

__device__ float product_of(float a, float b)
{
    return a * b;
}

__device__ float length_of(float a, float b)
{
    return sqrtf(a * a + b * b);
}

__device__ operation by_thread[TABLE] = {sum_of, product_of, length_of};
__constant__ operation by_turn[TABLE] = {product_of, sum_of, length_of};
__device__ operation alone = length_of;

__global__ void combine(float *numbers, operation given)
{
    unsigned i = threadIdx.x;
    float x = (float)i;
    numbers[i] = by_thread[i % TABLE](x, 2) + by_turn[i % TABLE](x, 3) + given(x, 1);
}

template <typename Function> __global__ void apply(Function function, float *numbers)
{
    numbers[threadIdx.x] = function(numbers[threadIdx.x]);
}

struct scaled {
    float factor;
    __device__ float operator()(float x) const
    {
        return x * factor;
    }
};

static void test_function_pointers()
{
    float numbers[THREADS], *device;
    operation given;
    CHECK(cudaMalloc(&device, sizeof numbers));
    CHECK(cudaMemcpyFromSymbol(&given, alone, sizeof given));
    combine<<<1, THREADS>>>(device, given);
    apply<<<1, THREADS>>>(scaled{4}, device);
    CHECK(cudaMemcpy(numbers, device, sizeof numbers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++) {
        float x = (float)i;
        const float first[TABLE] = {x + 2, x * 2, sqrtf(x * x + 4)}, second[TABLE] = {x * 3, x + 3, sqrtf(x * x + 9)};
        EXPECT(fabsf(numbers[i] - 4 * (first[i % TABLE] + second[i % TABLE] + sqrtf(x * x + 1))) < 1e-3f);
    }
    CHECK(cudaFree(device));
}

__device__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

/* The smaller part by recursion, the larger one in the loop. */
__device__ void sort(int *numbers, int first, int last)
{
    while (first < last) {
        int pivot = numbers[(first + last) / 2], low = first, high = last;
        while (low <= high) {
            while (numbers[low] < pivot)
                low++;
            while (numbers[high] > pivot)
                high--;
            if (low <= high) {
                int kept = numbers[low];
                numbers[low++] = numbers[high];
                numbers[high--] = kept;
            }
        }
        if (high - first < last - low) {
            sort(numbers, first, high);
            first = low;
        } else {
            sort(numbers, low, last);
            last = high;
        }
    }
}

__global__ void recurse(int *results, int *numbers)
{
    results[threadIdx.x] = ackermann(2, (int)threadIdx.x % 8);
    sort(numbers + threadIdx.x * NUMBERS, 0, NUMBERS - 1);
}

static void test_recursion()
{
    static int numbers[THREADS * NUMBERS];
    int results[THREADS], *device_numbers, *device_results;
    for (int i = 0; i < THREADS * NUMBERS; i++)
        numbers[i] = i * 7919 % 1009;
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
    CHECK(cudaMalloc(&device_numbers, sizeof numbers));
    CHECK(cudaMalloc(&device_results, sizeof results));
    CHECK(cudaMemcpy(device_numbers, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    recurse<<<1, THREADS>>>(device_results, device_numbers);
    CHECK(cudaMemcpy(results, device_results, sizeof results, cudaMemcpyDeviceToHost));
    long sum = 0, sorted_sum = 0;
    for (int i = 0; i < THREADS * NUMBERS; i++)
        sum += numbers[i];
    CHECK(cudaMemcpy(numbers, device_numbers, sizeof numbers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS * NUMBERS; i++) {
        EXPECT(i % NUMBERS == 0 || numbers[i - 1] <= numbers[i]);
        sorted_sum += numbers[i];
    }
    EXPECT(sum == sorted_sum);
    for (int i = 0; i < THREADS; i++)
        EXPECT(results[i] == 2 * (i % 8) + 3);
    CHECK(cudaFree(device_numbers));
    CHECK(cudaFree(device_results));
}

int main()
{
    test_virtual_functions();
    test_function_pointers();
    test_recursion();
    return 0;
}
