/* SPDX-License-Identifier: MIT */
/* Coefficients and levels by definition, in double precision. The picture has no coefficient next to a rounding tie (jpeg.h). */
#include "jpeg.h"

#include <stdlib.h>

static void block_of(const float *picture, int64_t width, int64_t x, int64_t y, double block[64])
{
    for (int64_t i = 0; i < 64; i++)
        block[i] = (double)picture[(y + i / 8) * width + x + i % 8] - 128;
}

static bool has_tie(const float *picture, int64_t width, int64_t x, int64_t y, const struct jpeg_transform *transform,
                    const int steps[64])
{
    double block[64];
    block_of(picture, width, x, y, block);
    jpeg_block_forward(transform, block);
    for (int i = 0; i < 64; i++) {
        if (jpeg_near_tie(block[i] / steps[i]))
            return true;
    }
    return false;
}

static bool generate(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    float *picture = corun_problem_data(problem, "picture", CORUN_ELEMENT_F32, (uint64_t)(width * height));
    float *reciprocals = corun_problem_data(problem, "step_reciprocals", CORUN_ELEMENT_F32, 64);
    if (!picture || !reciprocals || width < 8 || height < 8 || width % 8 != 0 || height % 8 != 0)
        return false;
    int16_t *scratch = malloc((size_t)width * sizeof *scratch);
    uint8_t *row = malloc((size_t)width);
    if (!scratch || !row) {
        free(scratch);
        free(row);
        return false;
    }
    int steps[64];
    jpeg_steps((int)corun_problem_value(problem, "quality"), steps);
    for (int i = 0; i < 64; i++)
        reciprocals[i] = (float)(1.0 / steps[i]);
    struct picture_scene scene;
    picture_scene_create(&scene, problem->seed, width, height);
    for (int64_t y = 0; y < height; y++) {
        picture_row(&scene, 0, 0, 1, y, width, 32, scratch, row);
        for (int64_t x = 0; x < width; x++)
            picture[y * width + x] = row[x];
    }
    free(scratch);
    free(row);
    struct jpeg_transform transform = jpeg_transform_create();
    uint64_t state = problem->seed ^ UINT64_C(0x6a706567656e63);
    for (int64_t y = 0; y < height; y += 8) {
        for (int64_t x = 0; x < width; x += 8) {
            while (has_tie(picture, width, x, y, &transform, steps)) {
                uint64_t bits = corun_random(&state);
                float *pixel = &picture[(y + (int64_t)(bits >> 3 & 7)) * width + x + (int64_t)(bits & 7)];
                *pixel += *pixel < 128 ? 1.0F : -1.0F;
            }
        }
    }
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    uint64_t pixels = (uint64_t)(width * height);
    const float *picture = corun_problem_data(problem, "picture", CORUN_ELEMENT_F32, pixels);
    float *coefficients = corun_problem_data(problem, "coefficients", CORUN_ELEMENT_F32, pixels);
    int16_t *levels = corun_problem_data(problem, "levels", CORUN_ELEMENT_S16, pixels);
    if (!picture || !coefficients || !levels)
        return false;
    int steps[64];
    jpeg_steps((int)corun_problem_value(problem, "quality"), steps);
    struct jpeg_transform transform = jpeg_transform_create();
    double block[64];
    for (int64_t y = 0; y < height; y += 8) {
        for (int64_t x = 0; x < width; x += 8) {
            block_of(picture, width, x, y, block);
            jpeg_block_forward(&transform, block);
            for (int64_t i = 0; i < 64; i++) {
                int64_t place = (y + i / 8) * width + x + i % 8;
                coefficients[place] = (float)block[i];
                levels[place] = (int16_t)lrint(block[i] / steps[i]);
            }
        }
    }
    return true;
}

const struct corun_reference corun_reference_jpeg_encode = {
    .name = "jpeg-encode",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"picture", generate}, {0}},
};
