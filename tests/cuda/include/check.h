/* SPDX-License-Identifier: MIT */
/* What every program of these tests says when something is not as it should be. */
#ifndef CORUN_TEST_CHECK_H
#define CORUN_TEST_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call) \
    do { \
        cudaError_t check_error = (call); \
        if (check_error != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error)); \
            exit(1); \
        } \
    } while (0)

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* The call gives this error. */
#define EXPECT_ERROR(error, call) \
    do { \
        int expect_error = (int)(call); \
        if (expect_error != (int)(error)) { \
            fprintf(stderr, "%s:%d: %s gives %d, not %s\n", __FILE__, __LINE__, #call, expect_error, #error); \
            exit(1); \
        } \
    } while (0)

#endif
