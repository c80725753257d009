/* SPDX-License-Identifier: MIT */
/*
 * convolution: a picture of 512 columns under a filter of 7 by 7.
 *
 * An iteration of the task is a row. The kind of task whose parts read more than they own: three rows before and three behind
 * as well (`range`), and the filter, which every part needs.
 */
#include "convolution.h"
#include "common.h"
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = CONVOLUTION_WIDTH, REACH = CONVOLUTION_REACH, SIDE = CONVOLUTION_SIDE };

struct problem {
    uint32_t height;
    float *picture, *result, *filter;
};

static float convolve(const struct problem *problem, int64_t x, int64_t y)
{
    float sum = 0;
    for (int64_t j = -REACH; j <= REACH; j++) {
        if (y + j < 0 || y + j >= problem->height)
            continue;
        for (int64_t i = -REACH; i <= REACH; i++) {
            if (x + i < 0 || x + i >= WIDTH)
                continue;
            sum = fmaf(problem->picture[(y + j) * WIDTH + x + i], problem->filter[(j + REACH) * SIDE + i + REACH], sum);
        }
    }
    return sum;
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    (void)thread;
    for (uint64_t y = begin; y < end; y++)
        for (uint64_t x = 0; x < WIDTH; x++)
            problem->result[y * WIDTH + x] = convolve(problem, (int64_t)x, (int64_t)y);
    return CORUN_OK;
}

enum { PICTURE, RESULT, FILTER, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t picture = corun_split_gpu_address(gpu, PICTURE), result = corun_split_gpu_address(gpu, RESULT);
    uint64_t filter = corun_split_gpu_address(gpu, FILTER);
    uint32_t first = (uint32_t)begin;
    void *arguments[] = {&picture, &result, &filter, &first, &problem->height};
    const uint32_t grid[] = {WIDTH / CONVOLUTION_BLOCK, (uint32_t)(end - begin), 1};
    const uint32_t block[] = {CONVOLUTION_BLOCK, 1, 1};
    return corun_split_gpu_launch(gpu, "convolve", grid, block, 0, arguments);
}

/* The rows of the picture that [begin, end) of the result needs. */
static void find_rows(void *user, uint64_t begin, uint64_t end, size_t *offset, size_t *bytes)
{
    const struct problem *problem = user;
    uint64_t first = begin < REACH ? 0 : begin - REACH;
    uint64_t last = end + REACH > problem->height ? problem->height : end + REACH;
    *offset = first * WIDTH * sizeof(float);
    *bytes = (last - first) * WIDTH * sizeof(float);
}

/* Of a row, beside sums in double precision over a copy with a margin of zeroes. */
static double error_of(const struct problem *problem, uint64_t y)
{
    double rows[SIDE][WIDTH + 2 * REACH] = {{0}}, most = 0;
    for (uint64_t j = 0; j < SIDE; j++)
        for (uint64_t x = 0; x < WIDTH && y + j >= REACH && y + j - REACH < problem->height; x++)
            rows[j][x + REACH] = problem->picture[(y + j - REACH) * WIDTH + x];
    for (uint64_t x = 0; x < WIDTH; x++) {
        double sum = 0;
        for (uint64_t j = 0; j < SIDE; j++)
            for (uint64_t i = 0; i < SIDE; i++)
                sum += rows[j][x + i] * problem->filter[j * SIDE + i];
        most = fmax(most, fabs(problem->result[y * WIDTH + x] - sum));
    }
    return most;
}

static double largest_error(const struct problem *problem)
{
    double most = 0;
    for (uint64_t y = 0; y < problem->height; y++)
        most = fmax(most, error_of(problem, y));
    return most;
}

int main(int count, char **words)
{
    struct example example = {.name = "convolution",
                              .what = "a picture under a filter",
                              .size_of = "rows",
                              .size = 128,
                              .full_size = 2048,
                              .multiple = 1};
    bool tell = options_take(&count, words, "tell", 1, 0, 1);
    example_begin(&example, count, words);
    uint64_t pixels = example.size * WIDTH;
    struct problem problem = {.height = (uint32_t)example.size,
                              .picture = example_allocate(pixels, sizeof(float)),
                              .result = example_allocate(pixels, sizeof(float)),
                              .filter = example_allocate(SIDE * SIDE, sizeof(float))};
    for (uint64_t i = 0; i < pixels; i++)
        problem.picture[i] = example_random(i);
    for (uint64_t i = 0; i < SIDE * SIDE; i++)
        problem.filter[i] = example_random(pixels + i) - 0.5f;
    memset(problem.result, 0xff, pixels * sizeof(float)); /* not a number */
    const struct corun_split_buffer buffers[BUFFERS] = {
        [PICTURE] = {.name = "picture", .data = problem.picture, .bytes = pixels * sizeof(float), .range = find_rows},
        [RESULT] = {.name = "result",
                    .data = problem.result,
                    .bytes = pixels * sizeof(float),
                    .access = CORUN_SPLIT_WRITE,
                    .iteration_bytes = WIDTH * sizeof(float)},
        [FILTER] = {.name = "filter", .data = problem.filter, .bytes = SIDE * SIDE * sizeof(float)}};
    struct corun_split_task task = {.iterations = problem.height,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = tell ? WIDTH / CONVOLUTION_BLOCK : 0,
                                    .gpu_block_threads = tell ? CONVOLUTION_BLOCK : 0};
    example_create(&example, &task);
    example_run(&example);
    int status = example_end(&example, problem.result, pixels * sizeof(float), "largest error of a pixel",
                             largest_error(&problem), 1e-5);
    free(problem.picture);
    free(problem.result);
    free(problem.filter);
    return status;
}
