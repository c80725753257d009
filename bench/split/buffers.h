/* SPDX-License-Identifier: MIT */
/* What CPU (buffers.c) and GPU (buffers.cu) know of the words of an iteration, and what they make of them. */
#ifndef BENCH_SPLIT_BUFFERS_H
#define BENCH_SPLIT_BUFFERS_H

enum {
    BUFFERS_WORDS = 8,   /* of an iteration, in one buffer or in several */
    BUFFERS_PASSES = 8,  /* over these words */
    BUFFERS_FACTOR = 31, /* of the polynomial that is their hash */
    BUFFERS_BLOCK = 128  /* iterations of a thread block */
};

#endif
