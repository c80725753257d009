/* SPDX-License-Identifier: MIT */
/* Quick non-local means in double precision, from a picture of doubles with its edges repeated. */
#include "picture.h"

#include <math.h>
#include <stdlib.h>

#define TILE 8
#define REACH 3
#define SIDE 7
/* Around the picture: the middle of a tile that sticks out by 7 is 4 beyond the last pixel, and sees 6 more. */
#define MARGIN 10
#define CHANNELS 3

static bool generate(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    uint8_t *picture = corun_problem_data(problem, "picture", CORUN_ELEMENT_U8, (uint64_t)(4 * width * height));
    if (!picture || width < 1 || height < 1)
        return false;
    uint8_t *row = malloc((size_t)width);
    int16_t *scratch = malloc((size_t)width * sizeof *scratch);
    bool enough = row && scratch;
    struct picture_scene scene;
    picture_scene_create(&scene, problem->seed, width, height);
    for (int64_t y = 0; y < height && enough; y++) {
        for (int channel = 0; channel < CHANNELS; channel++) {
            picture_row(&scene, 0, channel, 1, y, width, 64, scratch, row);
            for (int64_t x = 0; x < width; x++)
                picture[4 * (y * width + x) + channel] = row[x];
        }
        for (int64_t x = 0; x < width; x++)
            picture[4 * (y * width + x) + 3] = 255;
    }
    free(row);
    free(scratch);
    return enough;
}

/* Three channels one after the other in every row, so that all inner loops run over a row. */
struct plane {
    double *pixels;
    int64_t pitch; /* of a channel; a row is three */
};

static double *plane_at(const struct plane *plane, int64_t x, int64_t y, int channel)
{
    return plane->pixels + ((y + MARGIN) * CHANNELS + channel) * plane->pitch + x + MARGIN;
}

static void fill_plane(const struct plane *plane, const uint8_t *picture, int64_t width, int64_t height)
{
    for (int64_t y = -MARGIN; y < height + MARGIN; y++) {
        int64_t inside_y = y < 0 ? 0 : y >= height ? height - 1 : y;
        for (int64_t x = -MARGIN; x < width + MARGIN; x++) {
            int64_t inside_x = x < 0 ? 0 : x >= width ? width - 1 : x;
            for (int channel = 0; channel < CHANNELS; channel++)
                *plane_at(plane, x, y, channel) = picture[4 * (inside_y * width + inside_x) + channel] / 255.0;
        }
    }
}

/* How alike the surroundings of (x, y) and of each of its neighbours are; the sum of all weights. */
static double compute_weights(const struct plane *plane, int64_t x, int64_t y, double strength,
                              double weights[SIDE][SIDE])
{
    double sum = 0;
    for (int64_t dy = -REACH; dy <= REACH; dy++) {
        for (int64_t dx = -REACH; dx <= REACH; dx++) {
            double difference = 0;
            for (int64_t line = y - REACH; line <= y + REACH; line++) {
                for (int channel = 0; channel < CHANNELS; channel++) {
                    const double *own = plane_at(plane, x - REACH, line, channel);
                    const double *other = plane_at(plane, x - REACH + dx, line + dy, channel);
                    for (int i = 0; i < SIDE; i++)
                        difference += (own[i] - other[i]) * (own[i] - other[i]);
                }
            }
            double weight = exp(-(difference * strength + (double)(dx * dx + dy * dy) / (SIDE * SIDE)));
            weights[dy + REACH][dx + REACH] = weight;
            sum += weight;
        }
    }
    return sum;
}

/* The rows of a tile that are inside of the picture. */
static void filter_tile(const struct plane *plane, int64_t x, int64_t y, int64_t width, int64_t height, double strength,
                        float *result)
{
    double weights[SIDE][SIDE];
    double sum = compute_weights(plane, x + TILE / 2, y + TILE / 2, strength, weights);
    double keep = 0.8 - 0.6 * sum / (SIDE * SIDE);
    int64_t columns = width - x < TILE ? width - x : TILE;
    for (int64_t line = y; line < y + TILE && line < height; line++) {
        float *out = result + 4 * (line * width + x);
        for (int channel = 0; channel < CHANNELS; channel++) {
            double mean[TILE] = {0};
            for (int64_t dy = 0; dy < SIDE; dy++) {
                const double *row = plane_at(plane, x - REACH, line + dy - REACH, channel);
                for (int64_t dx = 0; dx < SIDE; dx++) {
                    for (int64_t i = 0; i < TILE; i++)
                        mean[i] += weights[dy][dx] * row[dx + i];
                }
            }
            const double *original = plane_at(plane, x, line, channel);
            for (int64_t i = 0; i < columns; i++)
                out[4 * i + channel] = (float)(mean[i] / sum * (1 - keep) + original[i] * keep);
        }
        for (int64_t i = 0; i < columns; i++)
            out[4 * i + 3] = (float)(sum / (SIDE * SIDE));
    }
}

static bool compute(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    uint64_t elements = (uint64_t)(4 * width * height);
    const uint8_t *picture = corun_problem_data(problem, "picture", CORUN_ELEMENT_U8, elements);
    float *result = corun_problem_data(problem, "result", CORUN_ELEMENT_F32, elements);
    struct plane plane = {.pitch = width + 2 * MARGIN};
    plane.pixels = malloc((size_t)(plane.pitch * CHANNELS * (height + 2 * MARGIN)) * sizeof *plane.pixels);
    if (!picture || !result || !plane.pixels) {
        free(plane.pixels);
        return false;
    }
    fill_plane(&plane, picture, width, height);
    for (int64_t y = 0; y < height; y += TILE) {
        for (int64_t x = 0; x < width; x += TILE)
            filter_tile(&plane, x, y, width, height, 10.0, result);
    }
    free(plane.pixels);
    return true;
}

const struct corun_reference corun_reference_denoise = {
    .name = "denoise",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"picture", generate}, {0}},
};
