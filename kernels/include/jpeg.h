/* SPDX-License-Identifier: MIT */
/*
 * For the references of jpeg-encode and jpeg-decode: the cosine transform of 8 x 8 blocks by its definition, in double precision,
 * and the quantisation table for brightness.
 */
#ifndef CORUN_KERNELS_JPEG_H
#define CORUN_KERNELS_JPEG_H

#include "picture.h"

#include <math.h>

#define JPEG_PI 3.14159265358979323846

/*
 * Rounding is where a last bit decides between two integers. Inputs are made such that nothing that gets rounded is closer than
 * this to the middle between two integers, which is ten times the error of single precision and more, so integers can be
 * compared exactly.
 */
#define JPEG_FROM_TIE 1e-3

struct jpeg_transform {
    double matrix[8][8]; /* [frequency][place] */
};

static inline struct jpeg_transform jpeg_transform_create(void)
{
    struct jpeg_transform transform;
    for (int frequency = 0; frequency < 8; frequency++) {
        for (int place = 0; place < 8; place++)
            transform.matrix[frequency][place] =
                frequency == 0 ? sqrt(0.125) : 0.5 * cos((2 * place + 1) * frequency * JPEG_PI / 16);
    }
    return transform;
}

/* Transforms all rows and writes them as columns; twice makes a block. */
static inline void jpeg_rows_to_columns(const double factors[8][8], const double from[64], double to[64])
{
    for (int row = 0; row < 8; row++) {
        for (int i = 0; i < 8; i++) {
            double sum = 0;
            for (int k = 0; k < 8; k++)
                sum += factors[i][k] * from[row * 8 + k];
            to[i * 8 + row] = sum;
        }
    }
}

static inline void jpeg_block_forward(const struct jpeg_transform *transform, double block[64])
{
    double half[64];
    jpeg_rows_to_columns(transform->matrix, block, half);
    jpeg_rows_to_columns(transform->matrix, half, block);
}

static inline void jpeg_block_inverse(const struct jpeg_transform *transform, double block[64])
{
    double transposed[8][8];
    double half[64];
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 8; k++)
            transposed[i][k] = transform->matrix[k][i];
    }
    jpeg_rows_to_columns((const double(*)[8])transposed, block, half);
    jpeg_rows_to_columns((const double(*)[8])transposed, half, block);
}

/* The example table for brightness of ITU-T T.81 (K.1), made finer for a quality from 50 to 99 as the usual encoders do. */
static inline void jpeg_steps(int quality, int steps[64])
{
    static const uint8_t base[64] = {
        16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55, //
        14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62, //
        18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92, //
        49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
    };
    for (int i = 0; i < 64; i++)
        steps[i] = (base[i] * (200 - 2 * quality) + 50) / 100;
}

static inline bool jpeg_near_tie(double value)
{
    return fabs(value - floor(value) - 0.5) < JPEG_FROM_TIE;
}

#endif
