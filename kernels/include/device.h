/* SPDX-License-Identifier: MIT */
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
struct float3 {
    float x, y, z;
};
struct int2 {
    int x, y;
} __attribute__((aligned(8)));
struct int4 {
    int x, y, z, w;
} __attribute__((aligned(16)));
struct uint2 {
    unsigned int x, y;
} __attribute__((aligned(8)));
struct uint4 {
    unsigned int x, y, z, w;
} __attribute__((aligned(16)));
struct uchar4 {
    unsigned char x, y, z, w;
} __attribute__((aligned(4)));
struct short2 {
    short x, y;
} __attribute__((aligned(4)));
struct ushort2 {
    unsigned short x, y;
} __attribute__((aligned(4)));

#define CORUN_DEVICE_FUNCTION static inline __attribute__((device, always_inline))
#define CORUN_EITHER_FUNCTION static inline __attribute__((host, device, always_inline))

#define CORUN_MAKE2(type, element) \
    CORUN_EITHER_FUNCTION type make_##type(element x, element y) \
    { \
        type value = {x, y}; \
        return value; \
    }
#define CORUN_MAKE4(type, element) \
    CORUN_EITHER_FUNCTION type make_##type(element x, element y, element z, element w) \
    { \
        type value = {x, y, z, w}; \
        return value; \
    }
CORUN_MAKE2(float2, float)
CORUN_MAKE2(int2, int)
CORUN_MAKE2(uint2, unsigned int)
CORUN_MAKE2(short2, short)
CORUN_MAKE2(ushort2, unsigned short)
CORUN_MAKE4(float4, float)
CORUN_MAKE4(int4, int)
CORUN_MAKE4(uint4, unsigned int)
CORUN_MAKE4(uchar4, unsigned char)
CORUN_EITHER_FUNCTION float3 make_float3(float x, float y, float z)
{
    float3 value = {x, y, z};
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
typedef unsigned int corun_uint_vector2 __attribute__((ext_vector_type(2)));
typedef unsigned int corun_uint_vector4 __attribute__((ext_vector_type(4)));
CORUN_DEVICE_FUNCTION uint2 __ldg(const uint2 *p)
{
    corun_uint_vector2 value = __nvvm_ldg_ui2((const corun_uint_vector2 *)p);
    return make_uint2(value.x, value.y);
}
CORUN_DEVICE_FUNCTION uint4 __ldg(const uint4 *p)
{
    corun_uint_vector4 value = __nvvm_ldg_ui4((const corun_uint_vector4 *)p);
    return make_uint4(value.x, value.y, value.z, value.w);
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
CORUN_DEVICE_FUNCTION int atomicMin(int *p, int v)
{
    return __nvvm_atom_min_gen_i(p, v);
}
CORUN_DEVICE_FUNCTION int atomicMax(int *p, int v)
{
    return __nvvm_atom_max_gen_i(p, v);
}
CORUN_DEVICE_FUNCTION unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
    return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicOr(unsigned int *p, unsigned int v)
{
    return (unsigned int)__nvvm_atom_or_gen_i((int *)p, (int)v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicExch(unsigned int *p, unsigned int v)
{
    return (unsigned int)__nvvm_atom_xchg_gen_i((int *)p, (int)v);
}
CORUN_DEVICE_FUNCTION unsigned int atomicCAS(unsigned int *p, unsigned int compare, unsigned int v)
{
    return __nvvm_atom_cas_gen_i((int *)p, (int)compare, (int)v);
}

/*
 * Barriers and fences as inline assembly, not as clang's builtins: to the alias analysis of clang 14 (globals-aa) those do not
 * touch shared variables, so that what this thread loaded before a barrier is taken for what is there after it
 * (https://github.com/llvm/llvm-project/issues/58626).
 */
#define __syncthreads() asm volatile("bar.sync 0;" ::: "memory")
CORUN_DEVICE_FUNCTION void __threadfence()
{
    asm volatile("membar.gl;" ::: "memory");
}
CORUN_DEVICE_FUNCTION void __threadfence_block()
{
    asm volatile("membar.cta;" ::: "memory");
}
CORUN_DEVICE_FUNCTION void __syncwarp(unsigned int mask = 0xffffffffu)
{
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}

/* Warp-wide operations; `mask` names the lanes that take part. */
CORUN_DEVICE_FUNCTION unsigned int __ballot_sync(unsigned int mask, int predicate)
{
    return __nvvm_vote_ballot_sync(mask, predicate);
}
CORUN_DEVICE_FUNCTION int __any_sync(unsigned int mask, int predicate)
{
    return __nvvm_vote_any_sync(mask, predicate);
}
CORUN_DEVICE_FUNCTION int __all_sync(unsigned int mask, int predicate)
{
    return __nvvm_vote_all_sync(mask, predicate);
}
CORUN_DEVICE_FUNCTION int __shfl_sync(unsigned int mask, int value, int lane)
{
    return __nvvm_shfl_sync_idx_i32(mask, value, lane, 0x1f);
}
CORUN_DEVICE_FUNCTION int __shfl_up_sync(unsigned int mask, int value, unsigned int delta)
{
    return __nvvm_shfl_sync_up_i32(mask, value, (int)delta, 0);
}
CORUN_DEVICE_FUNCTION int __shfl_down_sync(unsigned int mask, int value, unsigned int delta)
{
    return __nvvm_shfl_sync_down_i32(mask, value, (int)delta, 0x1f);
}
CORUN_DEVICE_FUNCTION int __shfl_xor_sync(unsigned int mask, int value, int lanes)
{
    return __nvvm_shfl_sync_bfly_i32(mask, value, lanes, 0x1f);
}
CORUN_DEVICE_FUNCTION unsigned int __shfl_sync(unsigned int mask, unsigned int value, int lane)
{
    return (unsigned int)__nvvm_shfl_sync_idx_i32(mask, (int)value, lane, 0x1f);
}
CORUN_DEVICE_FUNCTION unsigned int __shfl_up_sync(unsigned int mask, unsigned int value, unsigned int delta)
{
    return (unsigned int)__nvvm_shfl_sync_up_i32(mask, (int)value, (int)delta, 0);
}
CORUN_DEVICE_FUNCTION float __shfl_down_sync(unsigned int mask, float value, unsigned int delta)
{
    return __nvvm_shfl_sync_down_f32(mask, value, (int)delta, 0x1f);
}
CORUN_DEVICE_FUNCTION float __shfl_xor_sync(unsigned int mask, float value, int lanes)
{
    return __nvvm_shfl_sync_bfly_f32(mask, value, lanes, 0x1f);
}

/* Integers and bits */
CORUN_DEVICE_FUNCTION int __popc(unsigned int x)
{
    return __builtin_popcount(x);
}
CORUN_DEVICE_FUNCTION int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned int)x);
}
CORUN_DEVICE_FUNCTION int __ffs(int x)
{
    return __builtin_ffs(x);
}
CORUN_DEVICE_FUNCTION unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
    return __nvvm_prmt(x, y, selector & 0x7777); /* unlike prmt, it knows no sign */
}
CORUN_DEVICE_FUNCTION unsigned int __brev(unsigned int x)
{
    return __builtin_bitreverse32(x);
}
CORUN_DEVICE_FUNCTION unsigned int __umulhi(unsigned int x, unsigned int y)
{
    return __nvvm_mulhi_ui(x, y);
}
CORUN_DEVICE_FUNCTION int __float_as_int(float x)
{
    return __nvvm_bitcast_f2i(x);
}
CORUN_DEVICE_FUNCTION float __int_as_float(int x)
{
    return __nvvm_bitcast_i2f(x);
}

/* Arithmetic that is not contracted: what these say is what is computed. */
CORUN_DEVICE_FUNCTION float fmaf(float x, float y, float z)
{
    return __nvvm_fma_rn_f(x, y, z);
}
CORUN_DEVICE_FUNCTION float __fmaf_rn(float x, float y, float z)
{
    return __nvvm_fma_rn_f(x, y, z);
}
CORUN_DEVICE_FUNCTION float __fmul_rn(float x, float y)
{
    return __nvvm_mul_rn_f(x, y);
}
CORUN_DEVICE_FUNCTION float __fadd_rn(float x, float y)
{
    return __nvvm_add_rn_f(x, y);
}
CORUN_DEVICE_FUNCTION float __fsub_rn(float x, float y)
{
    return __nvvm_add_rn_f(x, -y);
}
CORUN_DEVICE_FUNCTION float __fdiv_rn(float x, float y)
{
    return __nvvm_div_rn_f(x, y);
}
CORUN_DEVICE_FUNCTION float __fdividef(float x, float y)
{
    return __nvvm_div_approx_f(x, y);
}
CORUN_DEVICE_FUNCTION float __frcp_rn(float x)
{
    return __nvvm_rcp_rn_f(x);
}
CORUN_DEVICE_FUNCTION float __saturatef(float x)
{
    return __nvvm_saturate_f(x);
}
CORUN_DEVICE_FUNCTION int __float2int_rn(float x)
{
    return __nvvm_f2i_rn(x);
}
CORUN_DEVICE_FUNCTION float floorf(float x)
{
    return __nvvm_floor_f(x);
}
CORUN_DEVICE_FUNCTION float ceilf(float x)
{
    return __nvvm_ceil_f(x);
}
CORUN_DEVICE_FUNCTION float truncf(float x)
{
    return __nvvm_trunc_f(x);
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
CORUN_DEVICE_FUNCTION int abs(int x)
{
    return __builtin_abs(x);
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
