/* SPDX-License-Identifier: MIT */
/*
 * Data as simulations of particles and image trackers have it: arrays of structures with device pointers in constant memory,
 * structures with arrays as kernel arguments, lists of neighbours, classes with their storage in shared memory, tables of device functions,
 * local arrays with computed indices.
 */
#include "check.h"

#include <cstring>

#define POINTS 20
#define SAMPLES 300
#define THREADS 64

struct tracked_point {
    int number;
    float *samples, *sum;
    float scale[3];
};

struct frame {
    const float *pixels;
    int number;
};

__constant__ tracked_point points[POINTS];
__constant__ frame current;

__global__ void track()
{
    __shared__ float partial[THREADS];
    tracked_point mine = points[blockIdx.x];
    if (current.number == 0)
        for (int i = threadIdx.x; i < SAMPLES; i += blockDim.x)
            points[mine.number].samples[i] = current.pixels[i + mine.number] * mine.scale[i % 3];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < SAMPLES; i += blockDim.x)
        sum += points[blockIdx.x].samples[i];
    partial[threadIdx.x] = sum;
    for (unsigned half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        *mine.sum = partial[0] + current.number;
}

static void test_constant_structures()
{
    static float pixels[SAMPLES + POINTS];
    tracked_point host[POINTS];
    frame frame = {};
    float *device_pixels, sum;
    for (int i = 0; i < SAMPLES + POINTS; i++)
        pixels[i] = (float)(i * 37 % 101);
    CHECK(cudaMalloc(&device_pixels, sizeof pixels));
    CHECK(cudaMemcpy(device_pixels, pixels, sizeof pixels, cudaMemcpyHostToDevice));
    for (int i = 0; i < POINTS; i++) {
        host[i].number = i;
        CHECK(cudaMalloc(&host[i].samples, SAMPLES * sizeof(float)));
        CHECK(cudaMalloc(&host[i].sum, sizeof(float)));
        host[i].scale[0] = 1;
        host[i].scale[1] = 2;
        host[i].scale[2] = (float)i;
    }
    CHECK(cudaMemcpyToSymbol(points, host, sizeof host));
    host[7].scale[0] = 5; /* one element later */
    CHECK(cudaMemcpyToSymbol(points, &host[7], sizeof host[7], 7 * sizeof host[7], cudaMemcpyHostToDevice));
    frame.pixels = device_pixels;
    for (frame.number = 0; frame.number < 3; frame.number++) {
        CHECK(cudaMemcpyToSymbol(current, &frame, sizeof frame));
        track<<<POINTS, THREADS>>>();
    }
    for (int i = 0; i < POINTS; i++) {
        float expected = 2;
        for (int k = 0; k < SAMPLES; k++)
            expected += pixels[k + i] * host[i].scale[k % 3];
        CHECK(cudaMemcpy(&sum, host[i].sum, sizeof sum, cudaMemcpyDeviceToHost));
        EXPECT(sum == expected); /* integers, all of them */
    }
}

#define BOXES 5
#define PARTICLES 40

struct particle {
    double x, charge;
};

struct box {
    int number, neighbours;
    long offset;
    struct {
        int number;
        long offset;
    } neighbour[BOXES];
};

struct space {
    double strength;
    struct {
        int boxes;
        long particles;
    } size;
    float weight[BOXES];
};

__global__ void forces(space all, const box *boxes, const particle *particles, double *force)
{
    __shared__ particle others[PARTICLES];
    const box *mine = &boxes[blockIdx.x];
    double sum = 0;
    for (int k = 0; k <= mine->neighbours; k++) {
        int from = k ? mine->neighbour[k - 1].number : mine->number;
        for (int i = threadIdx.x; i < PARTICLES; i += blockDim.x)
            others[i] = particles[boxes[from].offset + i];
        __syncthreads();
        if (threadIdx.x < PARTICLES && (int)blockIdx.x < all.size.boxes)
            for (int i = 0; i < PARTICLES; i++)
                sum += all.weight[from] * all.strength * others[i].charge *
                       (particles[mine->offset + threadIdx.x].x - others[i].x);
        __syncthreads();
    }
    if (threadIdx.x < PARTICLES)
        force[mine->offset + threadIdx.x] = sum;
}

static void test_structures_as_arguments()
{
    static particle particles[BOXES * PARTICLES];
    static double force[BOXES * PARTICLES];
    static box boxes[BOXES];
    space all = {0.5, {BOXES, BOXES * PARTICLES}, {1, 2, 3, 4, 5}};
    box *device_boxes;
    particle *device_particles;
    double *device_force;
    for (int i = 0; i < BOXES * PARTICLES; i++)
        particles[i] = {(double)(i * 7 % 23), (double)(i % 5 - 2)};
    for (int i = 0; i < BOXES; i++) {
        boxes[i].number = i;
        boxes[i].offset = i * PARTICLES;
        for (int k = 0; k < BOXES; k++)
            if (k == i - 1 || k == i + 1)
                boxes[i].neighbour[boxes[i].neighbours++] = {k, (long)k * PARTICLES};
    }
    CHECK(cudaMalloc(&device_boxes, sizeof boxes));
    CHECK(cudaMalloc(&device_particles, sizeof particles));
    CHECK(cudaMalloc(&device_force, sizeof force));
    CHECK(cudaMemcpy(device_boxes, boxes, sizeof boxes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_particles, particles, sizeof particles, cudaMemcpyHostToDevice));
    forces<<<BOXES, THREADS>>>(all, device_boxes, device_particles, device_force);
    CHECK(cudaMemcpy(force, device_force, sizeof force, cudaMemcpyDeviceToHost));
    for (int b = 0; b < BOXES; b++)
        for (int i = 0; i < PARTICLES; i++) {
            double expected = 0;
            for (int k = 0; k < BOXES; k++)
                for (int j = 0; j < PARTICLES && k >= b - 1 && k <= b + 1; j++)
                    expected += all.weight[k] * 0.5 * particles[k * PARTICLES + j].charge *
                                (particles[b * PARTICLES + i].x - particles[k * PARTICLES + j].x);
            EXPECT(force[b * PARTICLES + i] == expected); /* halves, exact */
        }
}

/* A row of a wavelet transform with its storage in shared memory; PITCH keeps columns out of one bank. */
template <typename T, int COLUMNS, int ROWS> class tile
{
    enum { PITCH = COLUMNS + 3 };
    T cells[PITCH * ROWS];

  public:
    __device__ T &at(int x, int y)
    {
        return cells[y * PITCH + x];
    }
    template <typename LIFT> __device__ void lift(const LIFT &step, int first)
    {
        for (int x = 2 * (int)threadIdx.x + first; x < COLUMNS; x += 2 * (int)blockDim.x)
            step(at(x ? x - 1 : 1, threadIdx.y), at(x, threadIdx.y), at(x + 1 < COLUMNS ? x + 1 : x - 1, threadIdx.y));
        __syncthreads();
    }
};

struct predict {
    __device__ void operator()(int left, int &middle, int right) const
    {
        middle -= (left + right) >> 1;
    }
};

struct update {
    int rounding;
    __device__ void operator()(int left, int &middle, int right) const
    {
        middle += (left + right + rounding) >> 2;
    }
};

template <int COLUMNS, int ROWS> __global__ void __launch_bounds__(64) transform(const int *from, int *to)
{
    __shared__ tile<int, COLUMNS, ROWS> rows;
    int first = blockIdx.x * COLUMNS * ROWS;
    for (int x = threadIdx.x; x < COLUMNS; x += blockDim.x)
        rows.at(x, threadIdx.y) = from[first + threadIdx.y * COLUMNS + x];
    __syncthreads();
    rows.lift(predict(), 1);
    rows.lift(update{2}, 0);
    for (int x = threadIdx.x; x < COLUMNS; x += blockDim.x)
        to[first + threadIdx.y * COLUMNS + x] = rows.at(x, threadIdx.y);
}

static void test_classes_in_shared_memory()
{
    enum { COLUMNS = 32, ROWS = 4, COUNT = 3 * COLUMNS * ROWS };
    int from[COUNT], to[COUNT], *device;
    for (int i = 0; i < COUNT; i++)
        from[i] = i * 7919 % 256 - 128;
    CHECK(cudaMalloc(&device, 2 * sizeof from));
    CHECK(cudaMemcpy(device, from, sizeof from, cudaMemcpyHostToDevice));
    transform<COLUMNS, ROWS><<<3, dim3(8, ROWS)>>>(device, device + COUNT);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(to, device + COUNT, sizeof to, cudaMemcpyDeviceToHost));
    for (int *row = from; row < from + COUNT; row += COLUMNS) {
        for (int x = 1; x < COLUMNS; x += 2)
            row[x] -= (row[x - 1] + row[x + 1 < COLUMNS ? x + 1 : x - 1]) >> 1;
        for (int x = 0; x < COLUMNS; x += 2)
            row[x] += (row[x ? x - 1 : 1] + row[x + 1] + 2) >> 2;
    }
    EXPECT(!memcmp(from, to, sizeof from));
}

typedef int (*step)(int, int);

__device__ int add(int a, int b)
{
    return a + b;
}

__device__ int multiply(int a, int b)
{
    return a * b % 1009;
}

__device__ step steps[2] = {add, multiply};

__global__ void interpret(int *results)
{
    int stack[24], state = threadIdx.x + 1;
    for (int i = 0; i < 24; i++)
        stack[i] = (i * 5 + threadIdx.x) % 17;
    for (int i = 0; i < 60; i++) {
        int place = (state + i) % 24, other = (i * 7) % 24;
        int kept = stack[place];
        stack[place] = stack[other];
        stack[other] = kept;
        state = steps[stack[place] & 1](state, stack[other] + 1) & 0xffff;
    }
    results[threadIdx.x] = state;
}

static void test_tables_of_functions()
{
    int results[THREADS], *device;
    CHECK(cudaMalloc(&device, sizeof results));
    interpret<<<1, THREADS>>>(device);
    CHECK(cudaMemcpy(results, device, sizeof results, cudaMemcpyDeviceToHost));
    for (int t = 0; t < THREADS; t++) {
        int stack[24], state = t + 1;
        for (int i = 0; i < 24; i++)
            stack[i] = (i * 5 + t) % 17;
        for (int i = 0; i < 60; i++) {
            int place = (state + i) % 24, other = (i * 7) % 24;
            int kept = stack[place];
            stack[place] = stack[other];
            stack[other] = kept;
            int operand = stack[other] + 1;
            state = (stack[place] & 1 ? state * operand % 1009 : state + operand) & 0xffff;
        }
        EXPECT(results[t] == state);
    }
}

int main()
{
    test_constant_structures();
    test_structures_as_arguments();
    test_classes_in_shared_memory();
    test_tables_of_functions();
    CHECK(cudaDeviceReset());
    return 0;
}
