/* SPDX-License-Identifier: MIT */
/*
 * kmeans: points gather around 32 centroids, by Lloyd's algorithm (Least squares quantization in PCM, 1982).
 *
 * What is divided between CPU and GPUs is the first half of a round: the nearest centroid of every point; an iteration of the
 * task is a point. The program moves the centroids. The kind of task that comes in rounds with bytes that stay: points are
 * kept, but for three that the program moves in every round; centroids are kept as well, and change as a whole.
 */
#include "kmeans.h"
#include "common.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = KMEANS_DIMENSIONS, CENTROIDS = KMEANS_CENTROIDS, MOVED = 3 };

struct problem {
    uint64_t n;
    float *points, *centroids;
    int32_t *nearest;
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        problem->nearest[i] = kmeans_nearest(problem->points + i * DIMENSIONS, problem->centroids);
    return CORUN_OK;
}

enum { POINTS, CENTRES, NEAREST, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    uint64_t points = corun_split_gpu_address(gpu, POINTS), centroids = corun_split_gpu_address(gpu, CENTRES);
    uint64_t nearest = corun_split_gpu_address(gpu, NEAREST);
    (void)user;
    void *arguments[] = {&points, &centroids, &nearest, &begin, &end};
    const uint32_t grid[] = {(uint32_t)((end - begin + KMEANS_BLOCK - 1) / KMEANS_BLOCK), 1, 1};
    const uint32_t block[] = {KMEANS_BLOCK, 1, 1};
    return corun_split_gpu_launch(gpu, "assign", grid, block, 0, arguments);
}

/* Points around seven places; the first of them are centroids. */
static void fill(const struct problem *problem)
{
    uint64_t n = problem->n * DIMENSIONS;
    for (uint64_t i = 0; i < n; i++)
        problem->points[i] = example_random(i) + floorf(7 * example_random(n + i / DIMENSIONS));
    for (uint64_t i = 0; i < CENTROIDS * DIMENSIONS; i++)
        problem->centroids[i] = problem->points[i];
}

static double distance(const struct problem *problem, uint64_t point, int32_t centroid)
{
    double sum = 0;
    for (int d = 0; d < DIMENSIONS; d++) {
        double difference =
            (double)problem->points[point * DIMENSIONS + (uint64_t)d] - problem->centroids[centroid * DIMENSIONS + d];
        sum += difference * difference;
    }
    return sqrt(sum);
}

/* How much further away than the nearest centroid the one is that was found, at most, in double precision. */
static double largest_error(const struct problem *problem)
{
    double most = 0;
    for (uint64_t i = 0; i < problem->n; i++) {
        if (problem->nearest[i] < 0 || problem->nearest[i] >= CENTROIDS)
            return INFINITY;
        double least = INFINITY;
        for (int32_t k = 0; k < CENTROIDS; k++)
            least = fmin(least, distance(problem, i, k));
        most = fmax(most, distance(problem, i, problem->nearest[i]) - least);
    }
    return most;
}

/* Every centroid goes to the middle of its points. */
static void move_centroids(const struct problem *problem)
{
    double sums[CENTROIDS][DIMENSIONS] = {{0}};
    uint64_t counts[CENTROIDS] = {0};
    for (uint64_t i = 0; i < problem->n; i++) {
        counts[problem->nearest[i]]++;
        for (uint64_t d = 0; d < DIMENSIONS; d++)
            sums[problem->nearest[i]][d] += problem->points[i * DIMENSIONS + d];
    }
    for (int k = 0; k < CENTROIDS; k++)
        for (int d = 0; d < DIMENSIONS && counts[k]; d++)
            problem->centroids[k * DIMENSIONS + d] = (float)(sums[k][d] / (double)counts[k]);
}

/* Some points move a little; the library is told of each. */
static void move_points(const struct problem *problem, struct corun_split *split, uint32_t round)
{
    for (uint32_t i = 0; i < MOVED; i++) {
        uint64_t point = (uint64_t)((double)example_random(MOVED * round + i) * (double)problem->n);
        uint64_t element = point * DIMENSIONS;
        problem->points[element] += 0.25f;
        corun_split_changed(split, POINTS, element * sizeof(float), sizeof(float));
    }
}

int main(int count, char **words)
{
    struct example example = {.name = "kmeans",
                              .what = "points gather around centroids",
                              .size_of = "points",
                              .size = 16384,
                              .full_size = 131072,
                              .multiple = CENTROIDS,
                              .rounds = 8};
    bool tell = options_take(&count, words, "tell", 1, 0, 1), kept = options_take(&count, words, "kept", 1, 0, 1);
    example_begin(&example, count, words);
    uint64_t n = example.size;
    size_t point_bytes = DIMENSIONS * sizeof(float), centroid_bytes = CENTROIDS * point_bytes;
    struct problem problem = {.n = n,
                              .points = example_allocate(n, point_bytes),
                              .centroids = example_allocate(CENTROIDS, point_bytes),
                              .nearest = example_allocate(n, sizeof(int32_t))};
    fill(&problem);
    const struct corun_split_buffer buffers[BUFFERS] = {
        [POINTS] = {.name = "points",
                    .data = problem.points,
                    .bytes = n * point_bytes,
                    .iteration_bytes = point_bytes,
                    .kept = kept},
        [CENTRES] = {.name = "centroids", .data = problem.centroids, .bytes = centroid_bytes, .kept = kept},
        [NEAREST] = {.name = "nearest",
                     .data = problem.nearest,
                     .bytes = n * sizeof(int32_t),
                     .access = CORUN_SPLIT_WRITE,
                     .iteration_bytes = sizeof(int32_t)}};
    struct corun_split_task task = {.iterations = n,
                                    .granularity = KMEANS_BLOCK,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = tell ? 1.0 / KMEANS_BLOCK : 0,
                                    .gpu_block_threads = tell ? KMEANS_BLOCK : 0};
    example_create(&example, &task);
    double error = 0;
    for (uint32_t round = 0; round < example.rounds; round++) {
        memset(problem.nearest, 0xff, n * sizeof(int32_t)); /* no centroid */
        example_run(&example);
        error = fmax(error, largest_error(&problem));
        if (error == INFINITY)
            break;
        move_centroids(&problem);
        corun_split_changed(example.split, CENTRES, 0, centroid_bytes);
        move_points(&problem, example.split, round);
    }
    int status = example_end(&example, problem.nearest, n * sizeof(int32_t), "largest detour", error, 1e-5);
    free(problem.points);
    free(problem.centroids);
    free(problem.nearest);
    return status;
}
