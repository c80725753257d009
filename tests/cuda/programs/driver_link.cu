/* SPDX-License-Identifier: MIT */
/* cuLink: two texts that need each other become a module. */
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
typedef struct CUlinkState_st *CUlinkState;
enum { CUDA_SUCCESS = 0, CU_JIT_INPUT_PTX = 1 };
#define cuLinkCreate cuLinkCreate_v2
#define cuLinkAddData cuLinkAddData_v2
extern "C" {
CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuLinkCreate(unsigned, int *, void **, CUlinkState *);
CUresult cuLinkAddData(CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **);
CUresult cuLinkComplete(CUlinkState, void **, size_t *);
CUresult cuLinkDestroy(CUlinkState);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        cudaStream_t, void **, void **);
}
#endif

static char first[] = ".version 6.3\n.target sm_50\n.address_size 64\n"
                      ".extern .func (.param .b32 out) triple(.param .b32 in);\n"
                      ".extern .global .align 4 .u32 base;\n.global .align 4 .u32 mine = 1;\n"
                      ".visible .entry run(.param .u64 to)\n{\n    .reg .u64 %p<3>;\n    .reg .u32 %r<6>;\n"
                      "    ld.param.u64 %p1, [to];\n    ld.global.u32 %r1, [base];\n    ld.global.u32 %r2, [mine];\n"
                      "    add.u32 %r1, %r1, %r2;\n    {\n    .param .b32 in;\n    .param .b32 out;\n"
                      "    st.param.b32 [in], %r1;\n    call (out), triple, (in);\n"
                      "    ld.param.b32 %r3, [out];\n    }\n"
                      "    st.global.u32 [%p1], %r3;\n    ret;\n}\n";
static char second[] = ".version 6.4\n.target sm_52\n.address_size 64\n"
                       ".visible .global .align 4 .u32 base = 9;\n.global .align 4 .u32 mine = 3;\n"
                       ".visible .func (.param .b32 out) triple(.param .b32 in)\n{\n    .reg .u32 %r<4>;\n"
                       "    ld.param.b32 %r1, [in];\n    ld.global.u32 %r2, [mine];\n    mul.lo.u32 %r3, %r1, %r2;\n"
                       "    st.param.b32 [out], %r3;\n    ret;\n}\n";

#define SUCCEED(call) EXPECT_ERROR(CUDA_SUCCESS, call)

int main()
{
    CUcontext context;
    CUlinkState link;
    CUmodule module;
    CUfunction function;
    void *image;
    size_t bytes;
    int *device, value = 0;
    SUCCEED(cuInit(0));
    SUCCEED(cuDevicePrimaryCtxRetain(&context, 0));
    SUCCEED(cuCtxSetCurrent(context));
    SUCCEED(cuLinkCreate(0, 0, 0, &link));
    SUCCEED(cuLinkAddData(link, CU_JIT_INPUT_PTX, first, sizeof first, "first", 0, 0, 0));
    SUCCEED(cuLinkAddData(link, CU_JIT_INPUT_PTX, second, sizeof second, "second", 0, 0, 0));
    SUCCEED(cuLinkComplete(link, &image, &bytes));
    EXPECT(bytes > 0);
    SUCCEED(cuModuleLoadData(&module, image));
    SUCCEED(cuLinkDestroy(link));
    SUCCEED(cuModuleGetFunction(&function, module, "run"));
    CHECK(cudaMalloc(&device, sizeof value)); /* the runtime shares the primary context */
    void *arguments[] = {&device};
    SUCCEED(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 30);
    return 0;
}
