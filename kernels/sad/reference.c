/* SPDX-License-Identifier: MIT */
/* Every SAD of every block shape straight from the pixels, no sums of sums. Two frames of a scene in motion. */
#include "picture.h"

#include <stdlib.h>

#define REACH 16
#define SEARCH_WIDTH (2 * REACH + 1)
#define ROW 1096 /* SADs of one block, as they lie in memory */

static bool generate(const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    int64_t extended_width = width + 2 * REACH;
    int64_t extended_height = height + 2 * REACH;
    uint16_t *frame = corun_problem_data(problem, "frame", CORUN_ELEMENT_U16, (uint64_t)(width * height));
    uint16_t *extended =
        corun_problem_data(problem, "extended", CORUN_ELEMENT_U16, (uint64_t)(extended_width * extended_height));
    if (!frame || !extended || width < 16 || height < 16 || width % 16 != 0 || height % 16 != 0)
        return false;
    uint8_t *row = malloc((size_t)width);
    int16_t *scratch = malloc((size_t)width * sizeof *scratch);
    bool enough = row && scratch;
    struct picture_scene scene;
    picture_scene_create(&scene, problem->seed, width, height);
    for (int64_t y = 0; y < height && enough; y++) {
        picture_row(&scene, 1, 0, 1, y, width, 48, scratch, row);
        for (int64_t x = 0; x < width; x++)
            frame[y * width + x] = row[x];
    }
    for (int64_t y = 0; y < extended_height && enough; y++) {
        int64_t inside = y < REACH ? 0 : y >= height + REACH ? height - 1 : y - REACH;
        picture_row(&scene, 0, 0, 1, inside, width, 48, scratch, row);
        for (int64_t x = 0; x < extended_width; x++)
            extended[y * extended_width + x] = row[x < REACH ? 0 : x >= width + REACH ? width - 1 : x - REACH];
    }
    free(row);
    free(scratch);
    return enough;
}

struct search {
    const uint16_t *frame, *extended;
    int64_t width, height;
};

/* All places of all blocks of one shape. */
static void compute_shape(const struct search *search, int64_t block_width, int64_t block_height, uint16_t *sads)
{
    int64_t extended_width = search->width + 2 * REACH;
    for (int64_t top = 0; top < search->height; top += block_height) {
        for (int64_t left = 0; left < search->width; left += block_width) {
            for (int64_t place = 0; place < SEARCH_WIDTH * SEARCH_WIDTH; place++) {
                const uint16_t *block = search->frame + top * search->width + left;
                const uint16_t *other =
                    search->extended + (top + place / SEARCH_WIDTH) * extended_width + left + place % SEARCH_WIDTH;
                uint32_t sum = 0;
                for (int64_t y = 0; y < block_height; y++) {
                    for (int64_t x = 0; x < block_width; x++)
                        sum += (uint32_t)abs(block[x] - other[x]);
                    block += search->width;
                    other += extended_width;
                }
                sads[place] = (uint16_t)sum;
            }
            sads += ROW;
        }
    }
}

static bool compute(const struct corun_problem *problem)
{
    struct search search = {.width = corun_problem_value(problem, "width"),
                            .height = corun_problem_value(problem, "height")};
    search.frame = corun_problem_data(problem, "frame", CORUN_ELEMENT_U16, 1);
    search.extended = corun_problem_data(problem, "extended", CORUN_ELEMENT_U16, 1);
    static const struct {
        const char *name;
        int64_t width, height;
    } shapes[] = {{"sad_4x4", 4, 4},   {"sad_8x4", 8, 4},   {"sad_4x8", 4, 8},    {"sad_8x8", 8, 8},
                  {"sad_16x8", 16, 8}, {"sad_8x16", 8, 16}, {"sad_16x16", 16, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t blocks = search.width / shapes[i].width * (search.height / shapes[i].height);
        uint16_t *sads = corun_problem_data(problem, shapes[i].name, CORUN_ELEMENT_U16, (uint64_t)(blocks * ROW));
        if (!sads)
            return false;
        compute_shape(&search, shapes[i].width, shapes[i].height, sads);
    }
    return true;
}

const struct corun_reference corun_reference_sad = {
    .name = "sad",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"frames", generate}, {0}},
};
