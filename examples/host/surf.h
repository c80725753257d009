/* SPDX-License-Identifier: MIT */
/*
 * What fe.c and fd.c share of speeded-up robust features (Bay, Ess, Tuytelaars, Van Gool: Speeded-Up Robust Features (SURF), CVIU 2008):
 * pictures of rectangles and noise, and sums over boxes of pixels.
 */
#ifndef EXAMPLES_HOST_SURF_H
#define EXAMPLES_HOST_SURF_H

#include "program.h"

struct picture {
    uint32_t width, height;
    uint8_t *pixels; /* [height][width] */
    uint32_t *
        integral; /* [height + 1][width + 1]: sum of all pixels above and to the left; wraps around, differences do not */
};

static inline void picture_draw(struct picture *picture, uint64_t seed)
{
    uint32_t width = picture->width, height = picture->height;
    for (size_t i = 0; i < (size_t)width * height; i++)
        picture->pixels[i] = (uint8_t)(96 + (program_random(seed, i / 8) >> 8 * (i % 8) & 15));
    uint32_t count = (uint32_t)((size_t)width * height / 2500);
    for (uint32_t r = 0; r < count; r++) {
        uint64_t random = program_random(~seed, r);
        uint32_t x = (uint32_t)(random % width), y = (uint32_t)((random >> 20) % height);
        uint32_t right = x + 4 + (uint32_t)(random >> 40 & 31), bottom = y + 4 + (uint32_t)(random >> 45 & 31);
        for (uint32_t row = y; row < bottom && row < height; row++)
            for (uint32_t column = x; column < right && column < width; column++)
                picture->pixels[(size_t)row * width + column] =
                    (uint8_t)((picture->pixels[(size_t)row * width + column] & 15) + (random >> 56));
    }
}

/* The sum of the pixels in columns [x, x + width) and rows [y, y + height), which lie in the picture. */
static inline int32_t picture_box(const struct picture *picture, uint32_t x, uint32_t y, uint32_t width,
                                  uint32_t height)
{
    size_t stride = picture->width + 1u;
    const uint32_t *above = picture->integral + y * stride + x, *below = above + height * stride;
    return (int32_t)(below[width] - below[0] - above[width] + above[0]);
}

/* The same, pixel by pixel: the reference. */
static inline int32_t picture_box_slowly(const struct picture *picture, uint32_t x, uint32_t y, uint32_t width,
                                         uint32_t height)
{
    int32_t sum = 0;
    for (uint32_t row = y; row < y + height; row++)
        for (uint32_t column = x; column < x + width; column++)
            sum += picture->pixels[(size_t)row * picture->width + column];
    return sum;
}

#endif
