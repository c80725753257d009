/*
 * The part of CUDA C that clang needs a header for, so that kernels compile without an NVIDIA toolkit: attributes, special
 * registers, and thin names for compiler builtins. It is included ahead of every kernel by the build; nvcc, which brings
 * all this itself, does not see it. Functions of the math library come from libclc (last block).
 */
#ifndef CORUN_DEVICE_H
#define CORUN_DEVICE_H

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

#define CORUN_SPECIAL(name, from) \
    __declspec(property(get = get_##name)) unsigned int name; \
    static inline __attribute__((device, always_inline)) unsigned int get_##name() \
    { \
        return __nvvm_read_ptx_sreg_##from##_##name(); \
    }
#define CORUN_SPECIAL3(type, from) \
    struct type { \
        CORUN_SPECIAL(x, from) \
        CORUN_SPECIAL(y, from) \
        CORUN_SPECIAL(z, from) \
    };
CORUN_SPECIAL3(corun_thread_index, tid)
CORUN_SPECIAL3(corun_block_index, ctaid)
CORUN_SPECIAL3(corun_block_dim, ntid)
CORUN_SPECIAL3(corun_grid_dim, nctaid)
extern const __device__ __attribute__((weak)) corun_thread_index threadIdx;
extern const __device__ __attribute__((weak)) corun_block_index blockIdx;
extern const __device__ __attribute__((weak)) corun_block_dim blockDim;
extern const __device__ __attribute__((weak)) corun_grid_dim gridDim;
static const __device__ int warpSize = 32;

struct float2 {
    float x, y;
} __attribute__((aligned(8)));
struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16)));
struct uint2 {
    unsigned int x, y;
} __attribute__((aligned(8)));
struct uint4 {
    unsigned int x, y, z, w;
} __attribute__((aligned(16)));

#define CORUN_DEVICE_FUNCTION static inline __attribute__((device, always_inline))

CORUN_DEVICE_FUNCTION uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w)
{
    uint4 value = {x, y, z, w};
    return value;
}
CORUN_DEVICE_FUNCTION float4 make_float4(float x, float y, float z, float w)
{
    float4 value = {x, y, z, w};
    return value;
}

/* Read-only data path: ld.global.nc */
CORUN_DEVICE_FUNCTION float __ldg(const float *p)
{
    return __nvvm_ldg_f(p);
}
CORUN_DEVICE_FUNCTION int __ldg(const int *p)
{
    return __nvvm_ldg_i(p);
}
CORUN_DEVICE_FUNCTION unsigned int __ldg(const unsigned int *p)
{
    return __nvvm_ldg_ui(p);
}

CORUN_DEVICE_FUNCTION int atomicAdd(int *p, int v)
{
    return __nvvm_atom_add_gen_i(p, v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicAdd(unsigned int *p, unsigned int v)
{
    return __nvvm_atom_add_gen_i((int *)p, (int)v);
}
CORUN_DEVICE_FUNCTION float atomicAdd(float *p, float v)
{
    return __nvvm_atom_add_gen_f(p, v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicMin(unsigned int *p, unsigned int v)
{
    return __nvvm_atom_min_gen_ui(p, v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicMax(unsigned int *p, unsigned int v)
{
    return __nvvm_atom_max_gen_ui(p, v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicCAS(unsigned int *p, unsigned int compare, unsigned int v)
{
    return __nvvm_atom_cas_gen_i((int *)p, (int)compare, (int)v);
}

/* Special function unit: sin.approx, cos.approx, ex2.approx, lg2.approx, rsqrt.approx */
CORUN_DEVICE_FUNCTION float __sinf(float x)
{
    return __nvvm_sin_approx_f(x);
}
CORUN_DEVICE_FUNCTION float __cosf(float x)
{
    return __nvvm_cos_approx_f(x);
}
CORUN_DEVICE_FUNCTION float __expf(float x)
{
    return __nvvm_ex2_approx_f(x * 1.44269504f);
}
CORUN_DEVICE_FUNCTION float __logf(float x)
{
    return __nvvm_lg2_approx_f(x) * 0.69314718f;
}
CORUN_DEVICE_FUNCTION float rsqrtf(float x)
{
    return __nvvm_rsqrt_approx_f(x);
}
CORUN_DEVICE_FUNCTION float sqrtf(float x)
{
    return __nvvm_sqrt_rn_f(x);
}
CORUN_DEVICE_FUNCTION float fabsf(float x)
{
    return __builtin_fabsf(x);
}
CORUN_DEVICE_FUNCTION float fminf(float x, float y)
{
    return __nvvm_fmin_f(x, y);
}
CORUN_DEVICE_FUNCTION float fmaxf(float x, float y)
{
    return __nvvm_fmax_f(x, y);
}
CORUN_DEVICE_FUNCTION float rintf(float x)
{
    return __builtin_rintf(x);
}
CORUN_DEVICE_FUNCTION int min(int x, int y)
{
    return x < y ? x : y;
}
CORUN_DEVICE_FUNCTION int max(int x, int y)
{
    return x > y ? x : y;
}
CORUN_DEVICE_FUNCTION unsigned int min(unsigned int x, unsigned int y)
{
    return x < y ? x : y;
}
CORUN_DEVICE_FUNCTION unsigned int max(unsigned int x, unsigned int y)
{
    return x > y ? x : y;
}

/* Math library: the names under which libclc defines them. */
__device__ float exp(float x);
__device__ float log(float x);
__device__ float sin(float x);
__device__ float cos(float x);
__device__ float pow(float x, float y);
CORUN_DEVICE_FUNCTION float expf(float x)
{
    return exp(x);
}
CORUN_DEVICE_FUNCTION float logf(float x)
{
    return log(x);
}
CORUN_DEVICE_FUNCTION float sinf(float x)
{
    return sin(x);
}
CORUN_DEVICE_FUNCTION float cosf(float x)
{
    return cos(x);
}
CORUN_DEVICE_FUNCTION float powf(float x, float y)
{
    return pow(x, y);
}

#endif
