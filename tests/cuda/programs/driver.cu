/* SPDX-License-Identifier: MIT */
/*
 * The driver API: contexts, modules of PTX text, launches both ways, messages in the program's buffer, entry points by
 * name.
 */
#include "check.h"

#include <cstring>

#ifdef TOOLKIT
#include <cuda.h>
#else
typedef int CUdevice;
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NOT_INITIALIZED = 3, CUDA_ERROR_INVALID_CONTEXT = 201,
       CUDA_ERROR_INVALID_PTX = 218, CUDA_ERROR_NOT_FOUND = 500 };
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define cuCtxDestroy cuCtxDestroy_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuModuleGetGlobal cuModuleGetGlobal_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
extern "C" {
CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDeviceGetName(char *, int, CUdevice);
CUresult cuDeviceTotalMem(size_t *, CUdevice);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
CUresult cuCtxDestroy(CUcontext);
CUresult cuCtxGetCurrent(CUcontext *);
CUresult cuCtxSynchronize();
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleLoadDataEx(CUmodule *, const void *, unsigned, int *, void **);
CUresult cuModuleUnload(CUmodule);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleGetGlobal(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuMemAlloc(CUdeviceptr *, size_t);
CUresult cuMemFree(CUdeviceptr);
CUresult cuMemcpyDtoH(void *, CUdeviceptr, size_t);
CUresult cuMemcpyHtoD(CUdeviceptr, const void *, size_t);
CUresult cuMemsetD32(CUdeviceptr, unsigned, size_t);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        cudaStream_t, void **, void **);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
}
#endif
extern "C" CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);

static const char text[] = ".version 6.3\n.target sm_50\n.address_size 64\n"
                           ".visible .global .align 4 .u32 bias = 5;\n"
                           ".visible .entry fill(.param .u64 out, .param .u32 value)\n{\n"
                           "    .reg .u64 %p<4>;\n    .reg .u32 %r<5>;\n"
                           "    ld.param.u64 %p1, [out];\n    ld.param.u32 %r1, [value];\n"
                           "    cvta.to.global.u64 %p1, %p1;\n"
                           "    mov.u32 %r2, %tid.x;\n    mul.wide.u32 %p2, %r2, 4;\n    add.u64 %p3, %p1, %p2;\n"
                           "    ld.global.u32 %r3, [bias];\n    add.u32 %r4, %r1, %r2;\n    add.u32 %r4, %r4, %r3;\n"
                           "    st.global.u32 [%p3], %r4;\n    ret;\n}\n";

#define SUCCEED(call) EXPECT_ERROR(CUDA_SUCCESS, call)

static void check_result(CUdeviceptr out, int want)
{
    int host[32];
    SUCCEED(cuMemcpyDtoH(host, out, sizeof host));
    for (int i = 0; i < 32; i++)
        EXPECT(host[i] == want + i);
}

int main()
{
    CUdevice device;
    CUcontext context, current;
    CUmodule module;
    CUfunction function;
    CUdeviceptr out, bias;
    size_t bytes;
    char name[64];
    const char *error;
    EXPECT_ERROR(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&device, 0));
    SUCCEED(cuInit(0));
    SUCCEED(cuDeviceGet(&device, 0));
    SUCCEED(cuDeviceGetName(name, sizeof name, device));
    EXPECT(!strcmp(name, "gtx980"));
    SUCCEED(cuDeviceTotalMem(&bytes, device));
    EXPECT(bytes == (size_t)4 << 30);
    EXPECT_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&out, 128));
    SUCCEED(cuCtxCreate_v2(&context, 0, device));
    SUCCEED(cuCtxGetCurrent(&current));
    EXPECT(current == context);
    SUCCEED(cuModuleLoadData(&module, text));
    SUCCEED(cuModuleGetFunction(&function, module, "fill"));
    EXPECT_ERROR(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "other"));
    SUCCEED(cuModuleGetFunction(&function, module, "fill"));
    SUCCEED(cuMemAlloc(&out, 128));
    unsigned value = 10;
    void *arguments[] = {&out, &value};
    SUCCEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0));
    check_result(out, 15);
    SUCCEED(cuModuleGetGlobal(&bias, &bytes, module, "bias"));
    EXPECT(bytes == 4);
    SUCCEED(cuMemsetD32(bias, 100, 1));
    struct {
        CUdeviceptr out;
        unsigned value;
    } packed = {out, 1};
    size_t packed_bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                     CU_LAUNCH_PARAM_END};
    SUCCEED(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, extra));
    check_result(out, 101);
    /* In both ways at once is in no way. */
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments, extra));
    char log[256] = "";
    void *values[] = {log, (void *)sizeof log};
#ifdef TOOLKIT
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
#else
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
#endif
    CUmodule broken;
    EXPECT_ERROR(CUDA_ERROR_INVALID_PTX,
                 cuModuleLoadDataEx(&broken, ".version 6.3\n.target sm_50\nnonsense", 2, options, values));
    EXPECT(strstr(log, ":3:") && (size_t)values[1] == strlen(log));
    SUCCEED(cuGetErrorName((CUresult)CUDA_ERROR_INVALID_PTX, &error));
    EXPECT(!strcmp(error, "CUDA_ERROR_INVALID_PTX"));
    void *entry = 0;
#ifndef TOOLKIT
    SUCCEED(cuGetProcAddress_v2("cuMemAlloc", &entry, 12000, 0, 0));
    EXPECT(entry == (void *)cuMemAlloc_v2);
#else
    SUCCEED(cuGetProcAddress("cuMemAlloc", &entry, 12000, 0, 0));
    EXPECT(entry != 0);
#endif
    SUCCEED(cuModuleUnload(module));
    SUCCEED(cuMemFree(out));
    SUCCEED(cuCtxSynchronize());
    SUCCEED(cuCtxDestroy(context));
    EXPECT_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&out, 128));
    CHECK(cudaSetDevice(0)); /* from CUDA 12 on, this makes the device's own context, and current */
    SUCCEED(cuCtxGetCurrent(&current));
    EXPECT(current);
    SUCCEED(cuModuleLoadData(&module, text));
    SUCCEED(cuModuleUnload(module));
    return 0;
}
