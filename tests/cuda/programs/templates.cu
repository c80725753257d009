/* SPDX-License-Identifier: MIT */
/* Templates as libraries of device code have them, with containers of the C++ library on the host's side. For `corun cc`. */
#include <cstdio>
#include <vector>

/* Of all threads of a thread block, through shuffles and shared memory. */
template <typename T, int THREADS> struct BlockReduce {
    struct Storage {
        T parts[THREADS / 32];
    };
    Storage &storage;

    __device__ explicit BlockReduce(Storage &s) : storage(s)
    {
    }
    template <typename Operation> __device__ T reduce(T value, Operation operation)
    {
        for (int delta = 16; delta; delta /= 2)
            value = operation(value, __shfl_down_sync(0xffffffffu, value, delta));
        if (threadIdx.x % warpSize == 0)
            storage.parts[threadIdx.x / 32] = value;
        __syncthreads();
        for (int i = 1; threadIdx.x == 0 && i < THREADS / 32; i++)
            value = operation(value, storage.parts[i]);
        return value;
    }
};

template <typename T> struct Most {
    __device__ T operator()(T a, T b) const
    {
        return max(a, b);
    }
};

template <typename T, int THREADS, template <typename> class Operation>
__global__ void __launch_bounds__(THREADS) reduce(const T *from, T *to, int count)
{
    __shared__ typename BlockReduce<T, THREADS>::Storage storage;
    T value = from[0];
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS)
        value = Operation<T>()(value, from[i]);
    value = BlockReduce<T, THREADS>(storage).reduce(value, Operation<T>());
    if (threadIdx.x == 0)
        to[blockIdx.x] = value;
}

template <typename T> static void print_most(T scale)
{
    std::vector<T> values;
    T *from, *to, parts[4], most = 0;
    for (int i = 0; i < 1000; i++)
        values.push_back((T)(i * 37 % 1009) * scale);
    cudaMalloc(&from, values.size() * sizeof(T));
    cudaMalloc(&to, sizeof parts);
    cudaMemcpy(from, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    reduce<T, 128, Most><<<4, 128>>>(from, to, (int)values.size());
    cudaMemcpy(parts, to, sizeof parts, cudaMemcpyDeviceToHost);
    for (T part : parts)
        most = part > most ? part : most;
    printf("%.0f\n", (double)most);
}

int main()
{
    print_most<int>(1);
    print_most<float>(2);
    print_most<double>(1e12);
    print_most<unsigned long long>(1ull << 40);
    return cudaGetLastError();
}
