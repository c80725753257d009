/* SPDX-License-Identifier: MIT */
/* What CPU (convolution.c) and GPU (convolution.cu) know of the picture and its filter. */
#ifndef BENCH_SPLIT_CONVOLUTION_H
#define BENCH_SPLIT_CONVOLUTION_H

enum {
    CONVOLUTION_WIDTH = 512, /* of the picture */
    CONVOLUTION_REACH = 3,   /* of the filter, in each direction */
    CONVOLUTION_SIDE = 2 * CONVOLUTION_REACH + 1,
    CONVOLUTION_BLOCK = 128 /* pixels of a thread block, in a row */
};

#endif
