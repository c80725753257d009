/* SPDX-License-Identifier: MIT */
/*
 * nns: for each query the nearest of as many points, in four dimensions, by looking at all of them.
 *
 * An iteration of the task is a query. The points are moved to a GPU once, before the first step; the queries of a part, and the
 * indices that were found, with the part. CPU and GPU compute squares of distances with the same fused multiply-adds, and
 * take the first of points at the same distance: results do not depend on the split.
 *
 *     nvcc -ptx -arch=compute_52 nns.cu
 *     cc -O3 -march=native -fno-math-errno -fno-trapping-math nns.c common.c -o nns \
 *         $(pkg-config --cflags --libs corun-split) -lm
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { DIMENSIONS = 4 };
enum { GROUP = 32 };                              /* queries that the CPU looks up side by side, */
enum { PAUSE = 128 };                             /* in so many points before it asks whether it should go on */
enum { BLOCK_QUERIES = 32, BLOCK_THREADS = 256 }; /* a thread block of nns.cu */

struct point {
    float at[DIMENSIONS];
};

struct problem {
    struct corun_split *split;
    uint32_t count; /* of points, and of queries */
    struct point *points, *queries;
    int32_t *nearest;
};

struct nearest {
    float square[GROUP];
    int32_t index[GROUP];
};

/* Looks a group of queries up in the points [begin, end). */
static void look_up(const struct problem *problem, const struct point *group, int32_t begin, int32_t end,
                    struct nearest *nearest)
{
    float x[GROUP], y[GROUP], z[GROUP], w[GROUP];
    struct nearest least = *nearest;
    for (int i = 0; i < GROUP; i++) {
        x[i] = group[i].at[0];
        y[i] = group[i].at[1];
        z[i] = group[i].at[2];
        w[i] = group[i].at[3];
    }
    for (int32_t j = begin; j < end; j++) {
        const float *at = problem->points[j].at;
        for (int i = 0; i < GROUP; i++) {
            float dx = at[0] - x[i], dy = at[1] - y[i], dz = at[2] - z[i], dw = at[3] - w[i];
            float square = fmaf(dw, dw, fmaf(dz, dz, fmaf(dy, dy, dx * dx)));
            least.index[i] = square < least.square[i] ? j : least.index[i];
            least.square[i] = square < least.square[i] ? square : least.square[i];
        }
    }
    *nearest = least;
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    int32_t count = (int32_t)problem->count;
    for (uint64_t first = begin; first < end; first += GROUP) {
        struct nearest nearest = {0};
        for (int i = 0; i < GROUP; i++)
            nearest.square[i] = 1e30f;
        for (int32_t j = 0; j < count; j += PAUSE) {
            if (corun_split_unneeded(problem->split, thread))
                return CORUN_OK;
            look_up(problem, problem->queries + first, j, count - j < PAUSE ? count : j + PAUSE, &nearest);
        }
        for (int i = 0; i < GROUP; i++)
            problem->nearest[first + i] = nearest.index[i];
    }
    return CORUN_OK;
}

enum { POINTS, QUERIES, NEAREST, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t points = corun_split_gpu_address(gpu, POINTS), queries = corun_split_gpu_address(gpu, QUERIES);
    uint64_t nearest = corun_split_gpu_address(gpu, NEAREST);
    uint32_t first = (uint32_t)begin, last = (uint32_t)end;
    void *arguments[] = {&points, &queries, &nearest, &problem->count, &first, &last};
    const uint32_t grid[] = {(last - first + BLOCK_QUERIES - 1) / BLOCK_QUERIES, 1, 1}, block[] = {BLOCK_THREADS, 1, 1};
    return corun_split_gpu_launch(gpu, "search", grid, block, 0, arguments);
}

static double distance(const struct point *a, const struct point *b)
{
    double sum = 0;
    for (int i = 0; i < DIMENSIONS; i++)
        sum += ((double)a->at[i] - b->at[i]) * ((double)a->at[i] - b->at[i]);
    return sqrt(sum);
}

/* By how much what was found is farther than the nearest in double precision, for some of the queries. */
static double largest_error(const struct problem *problem)
{
    uint32_t count = problem->count, samples = count < 1024 ? count : 1024;
    double most = 0;
    for (uint32_t s = 0; s < samples; s++) {
        uint64_t query = (uint64_t)s * count / samples;
        double least = INFINITY;
        int32_t found = problem->nearest[query];
        if (found < 0 || (uint32_t)found >= count)
            return INFINITY;
        for (uint32_t j = 0; j < count; j++)
            least = fmin(least, distance(&problem->points[j], &problem->queries[query]));
        most = fmax(most, distance(&problem->points[found], &problem->queries[query]) - least);
    }
    return most;
}

int main(int count, char **words)
{
    struct example example = {.name = "nns",
                              .what = "nearest neighbours",
                              .size_of = "points and queries",
                              .size = 4096,
                              .full_size = 16384,
                              .multiple = GROUP};
    example_begin(&example, count, words);
    uint32_t n = (uint32_t)example.size;
    struct problem problem = {.count = n,
                              .points = example_allocate(n, sizeof(struct point)),
                              .queries = example_allocate(n, sizeof(struct point)),
                              .nearest = example_allocate(n, sizeof(int32_t))};
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t d = 0; d < DIMENSIONS; d++) {
            problem.points[i].at[d] = example_random(2 * DIMENSIONS * i + d);
            problem.queries[i].at[d] = example_random(2 * DIMENSIONS * i + DIMENSIONS + d);
        }
        problem.nearest[i] = -1;
    }
    const struct corun_split_buffer buffers[BUFFERS] = {
        [POINTS] = {.name = "points",
                    .data = problem.points,
                    .bytes = n * sizeof(struct point)}, /* all of them for each part */
        [QUERIES] = {.name = "queries",
                     .data = problem.queries,
                     .bytes = n * sizeof(struct point),
                     .iteration_bytes = sizeof(struct point)},
        [NEAREST] = {.name = "nearest",
                     .data = problem.nearest,
                     .bytes = n * sizeof(int32_t),
                     .access = CORUN_SPLIT_WRITE,
                     .iteration_bytes = sizeof(int32_t)}};
    struct corun_split_task task = {.iterations = n,
                                    .granularity = GROUP,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = 1.0 / BLOCK_QUERIES,
                                    .gpu_block_threads = BLOCK_THREADS};
    example_create(&example, &task);
    problem.split = example.split;
    example_run(&example);
    int status = example_end(&example, problem.nearest, n * sizeof(int32_t), "farther than the nearest by",
                             largest_error(&problem), 1e-6);
    free(problem.points);
    free(problem.queries);
    free(problem.nearest);
    return status;
}
