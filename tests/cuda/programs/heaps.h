/* SPDX-License-Identifier: MIT */
/* Two modules with one device heap: heaps.cu and heaps_more.cu. */
#ifndef CORUN_TEST_HEAPS_H
#define CORUN_TEST_HEAPS_H

#include "check.h"

#ifndef TOOLKIT
extern "C" {
__device__ void *malloc(size_t bytes);
__device__ void free(void *pointer);
}
#endif

enum { BLOCKS = 64, BLOCK_BYTES = 1000 };

/* In the other module: sums what is in the blocks and frees them; and how many blocks it is given. */
void free_there(int **blocks, int *sum);
int exhaust_there(int *got);

#endif
