/* SPDX-License-Identifier: MIT */
/*
 * Virtual functions of objects that kernels make and delete, with several bases and a virtual one; tables of functions; recursion with arrays of
 * its own in each frame; memory of a function's own by alloca.
 */
#include "check.h"

#include <alloca.h>

struct shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int kind() const
    {
        return 0;
    }
    __device__ virtual ~shape()
    {
    }
};

struct named {
    int name;
    __device__ virtual int get() const
    {
        return name;
    }
};

struct circle : shape {
    float radius;
    __device__ circle(float r) : radius(r)
    {
    }
    __device__ float area() const override
    {
        return 3 * radius * radius;
    }
    __device__ int kind() const override
    {
        return 1;
    }
};

struct rectangle : shape, named {
    float a, b;
    __device__ rectangle(float x, float y) : a(x), b(y)
    {
        name = 42;
    }
    __device__ float area() const override
    {
        return a * b;
    }
    __device__ int get() const override
    {
        return name + 1;
    }
};

struct cube : rectangle {
    __device__ cube(float x) : rectangle(x, x)
    {
    }
    __device__ float area() const override
    {
        return 6 * rectangle::area();
    }
    __device__ int kind() const override
    {
        return 3;
    }
};

struct counted {
    int count;
    __device__ virtual int get()
    {
        return count;
    }
};
struct once : virtual counted {
    __device__ int get() override
    {
        return count + 1;
    }
};
struct twice : virtual counted {
};
struct thrice : once, twice {
    __device__ int get() override
    {
        return once::get() + 100;
    }
};

enum { shape_count = 200, thread_count = 64 };

__global__ void make(shape **shapes)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < shape_count)
        shapes[i] = i % 3 == 0   ? (shape *)new circle((float)i)
                    : i % 3 == 1 ? new rectangle((float)i, 2)
                                 : new cube((float)i);
}

__global__ void ask(shape **shapes, float *areas, int *kinds)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= shape_count)
        return;
    thrice three;
    counted *base = &three;
    three.count = i;
    areas[i] = shapes[i]->area();
    kinds[i] = shapes[i]->kind() + 10000 * base->get();
    if (i % 3)
        kinds[i] += 10 * ((named *)(rectangle *)shapes[i])->get();
    delete shapes[i];
}

/* Orders of numbers whose sum, each times its place, is `wanted` of seven. */
__device__ __host__ __noinline__ int orders(const int *numbers, int from, int count, int wanted)
{
    int mine[6], found = 0;
    if (from == count) {
        for (int i = 0; i < count; i++)
            found += (i + 1) * numbers[i];
        return found % 7 == wanted;
    }
    for (int i = 0; i < count; i++)
        mine[i] = numbers[i];
    for (int i = from; i < count; i++) {
        mine[from] = numbers[i];
        mine[i] = numbers[from];
        found += orders(mine, from + 1, count, wanted);
        mine[from] = numbers[from];
        mine[i] = numbers[i];
    }
    return found;
}

__device__ __noinline__ int one_more(int x)
{
    return x + 1;
}
__device__ __noinline__ int doubled(int x)
{
    return x * 2;
}
__device__ __noinline__ int both(int x)
{
    return x > 100 ? x : one_more(x) + doubled(x);
}
__device__ int (*table[3])(int) = {one_more, doubled, both};

__device__ __host__ __noinline__ int backwards(int count, int step)
{
    int *own = (int *)alloca(count * sizeof *own), sum = 0;
    for (int i = 0; i < count; i++)
        own[i] = i * step;
    for (int i = 0; i < count; i++)
        sum += (i + 1) * own[count - 1 - i];
    return sum;
}

__global__ void call(int *results)
{
    const int t = (int)threadIdx.x, numbers[6] = {0, 1, 2, 3, 4, 5};
    int sum = 0;
    results[t] = orders(numbers, 0, 3 + t % 2, t % 7);
    results[thread_count + t] = table[t % 3](t) + table[(t + 1) % 3](t);
    for (int i = 0; i < 100; i++) /* more than the stack has, if it were never given back */
        sum += backwards(t % 60 + 1, t + i);
    results[2 * thread_count + t] = sum;
}

static int of_table(int which, int x)
{
    return which == 0 ? x + 1 : which == 1 ? x * 2 : x > 100 ? x : 3 * x + 1;
}

int main()
{
    shape **shapes;
    float *areas, area[shape_count];
    int *kinds, *results, kind[shape_count], result[3 * thread_count];
    CHECK(cudaMalloc(&shapes, shape_count * sizeof *shapes));
    CHECK(cudaMalloc(&areas, sizeof area));
    CHECK(cudaMalloc(&kinds, sizeof kind));
    CHECK(cudaMalloc(&results, sizeof result));
    make<<<4, 64>>>(shapes);
    ask<<<4, 64>>>(shapes, areas, kinds);
    CHECK(cudaMemcpy(area, areas, sizeof area, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(kind, kinds, sizeof kind, cudaMemcpyDeviceToHost));
    for (int i = 0; i < shape_count; i++) {
        EXPECT(area[i] == (i % 3 == 0 ? 3.0f * i * i : i % 3 == 1 ? 2.0f * i : 6.0f * i * i));
        EXPECT(kind[i] == (i % 3 == 0 ? 1 : i % 3 == 1 ? 430 : 433) + 10000 * (i + 101));
    }
    call<<<1, thread_count>>>(results);
    CHECK(cudaMemcpy(result, results, sizeof result, cudaMemcpyDeviceToHost));
    for (int t = 0; t < thread_count; t++) {
        const int numbers[6] = {0, 1, 2, 3, 4, 5};
        int sum = 0;
        for (int i = 0; i < 100; i++)
            sum += backwards(t % 60 + 1, t + i);
        EXPECT(result[t] == orders(numbers, 0, 3 + t % 2, t % 7));
        EXPECT(result[thread_count + t] == of_table(t % 3, t) + of_table((t + 1) % 3, t));
        EXPECT(result[2 * thread_count + t] == sum);
    }
    return 0;
}
