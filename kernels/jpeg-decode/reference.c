/* SPDX-License-Identifier: MIT */
/* Pixels by definition, in double precision. The levels make no pixel next to a rounding tie (jpeg.h). */
#include "jpeg.h"

#include <stdlib.h>

/* What a block of levels means, before rounding. */
static void decode_block(const int16_t levels[64], const struct jpeg_transform *transform, const int steps[64],
                         double block[64])
{
    for (int i = 0; i < 64; i++)
        block[i] = (double)levels[i] * steps[i];
    jpeg_block_inverse(transform, block);
    for (int i = 0; i < 64; i++)
        block[i] += 128;
}

/* As an encoder would, and then one low frequency at a time a level more or less until no pixel lies on a tie. */
static void make_levels(const uint8_t *rows, int64_t width, const struct jpeg_transform *transform, const int steps[64],
                        uint64_t *state, int16_t levels[64])
{
    double block[64];
    for (int64_t y = 0; y < 8; y++) {
        for (int64_t x = 0; x < 8; x++)
            block[8 * y + x] = rows[y * width + x] - 128.0;
    }
    jpeg_block_forward(transform, block);
    for (int i = 0; i < 64; i++)
        levels[i] = (int16_t)lrint(block[i] / steps[i]);
    for (;;) {
        decode_block(levels, transform, steps, block);
        int i = 0;
        while (i < 64 && !jpeg_near_tie(block[i]))
            i++;
        if (i == 64)
            return;
        uint64_t bits = corun_random(state);
        int16_t *level = &levels[(bits & 3) * 8 + (bits >> 2 & 3)];
        *level = (int16_t)(*level + (bits >> 4 & 1 ? 1 : -1));
    }
}

static bool generate(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    int16_t *levels = corun_problem_data(problem, "levels", CORUN_ELEMENT_S16, (uint64_t)(width * height));
    float *float_steps = corun_problem_data(problem, "steps", CORUN_ELEMENT_F32, 64);
    if (!levels || !float_steps || width < 8 || height < 8 || width % 8 != 0 || height % 8 != 0)
        return false;
    int16_t *scratch = malloc((size_t)width * sizeof *scratch);
    uint8_t *rows = malloc((size_t)width * 8);
    if (!scratch || !rows) {
        free(scratch);
        free(rows);
        return false;
    }
    int steps[64];
    jpeg_steps((int)corun_problem_value(problem, "quality"), steps);
    for (int i = 0; i < 64; i++)
        float_steps[i] = (float)steps[i];
    struct picture_scene scene;
    picture_scene_create(&scene, problem->seed, width, height);
    struct jpeg_transform transform = jpeg_transform_create();
    uint64_t state = problem->seed ^ UINT64_C(0x6a706567646563);
    for (int64_t y = 0; y < height; y += 8) {
        for (int64_t i = 0; i < 8; i++)
            picture_row(&scene, 0, 0, 1, y + i, width, 32, scratch, rows + i * width);
        for (int64_t x = 0; x < width; x += 8) {
            int16_t block[64];
            make_levels(rows + x, width, &transform, steps, &state, block);
            for (int64_t i = 0; i < 64; i++)
                levels[(y + i / 8) * width + x + i % 8] = block[i];
        }
    }
    free(scratch);
    free(rows);
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    uint64_t pixels = (uint64_t)(width * height);
    const int16_t *levels = corun_problem_data(problem, "levels", CORUN_ELEMENT_S16, pixels);
    uint8_t *picture = corun_problem_data(problem, "picture", CORUN_ELEMENT_U8, pixels);
    if (!levels || !picture)
        return false;
    int steps[64];
    jpeg_steps((int)corun_problem_value(problem, "quality"), steps);
    struct jpeg_transform transform = jpeg_transform_create();
    for (int64_t y = 0; y < height; y += 8) {
        for (int64_t x = 0; x < width; x += 8) {
            int16_t own[64];
            double block[64];
            for (int64_t i = 0; i < 64; i++)
                own[i] = levels[(y + i / 8) * width + x + i % 8];
            decode_block(own, &transform, steps, block);
            for (int64_t i = 0; i < 64; i++) {
                double shade = rint(block[i]);
                picture[(y + i / 8) * width + x + i % 8] = (uint8_t)(shade < 0 ? 0 : shade > 255 ? 255 : shade);
            }
        }
    }
    return true;
}

const struct corun_reference corun_reference_jpeg_decode = {
    .name = "jpeg-decode",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"levels", generate}, {0}},
};
