/* SPDX-License-Identifier: MIT */
/* What the tests of the driver API in C need: calls that must succeed or fail, and declarations of the interface. */
#ifndef CORUN_DRIVER_TEST_H
#define CORUN_DRIVER_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Device addresses are numbers, handles are pointers, and every function gives an error. */
typedef uint64_t address_t;
enum { INVALID_VALUE = 1, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700 };

int cuInit(unsigned flags);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **module, const void *text);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuMemAlloc_v2(address_t *address, size_t bytes);
int cuMemFree_v2(address_t address);
int cuMemcpyHtoD_v2(address_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, address_t from, size_t bytes);
int cuMemsetD32_v2(address_t to, unsigned value, size_t count);
int cuMemsetD32Async(address_t to, unsigned value, size_t count, void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamQuery(void *stream);
int cuStreamSynchronize(void *stream);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra);

#define EXPECT(wanted, call) \
    do { \
        int result_ = (call); \
        if (result_ != (wanted)) { \
            fprintf(stderr, "%s:%d: %s gives %d, not %d\n", __FILE__, __LINE__, #call, result_, (int)(wanted)); \
            exit(1); \
        } \
    } while (0)
#define GOOD(call) EXPECT(0, call)
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* __global__ void add_one(int *values, int count) */
static const char add_one_text[] =
    ".version 6.3\n.target sm_50\n.address_size 64\n"
    ".visible .entry add_one(.param .u64 values, .param .u32 count)\n{\n"
    ".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<3>;\n"
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
    "mad.lo.s32 %r3, %r0, %r1, %r2;\nld.param.u32 %r4, [count];\nsetp.ge.s32 %p, %r3, %r4;\n@%p ret;\n"
    "ld.param.u64 %d0, [values];\nmul.wide.s32 %d1, %r3, 4;\nadd.s64 %d2, %d0, %d1;\n"
    "ld.global.u32 %r5, [%d2];\nadd.s32 %r5, %r5, 1;\nst.global.u32 [%d2], %r5;\nret;\n}\n";

/* One launch of add_one over `count` values. */
static inline int launch_add_one(void *function, address_t values, int count, void *stream)
{
    void *arguments[] = {&values, &count};
    return cuLaunchKernel(function, (unsigned)(count + 127) / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
}

#endif
