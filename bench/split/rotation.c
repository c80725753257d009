/* SPDX-License-Identifier: MIT */
/*
 * rotation: points turn around the origin, where they are.
 *
 * An iteration of the task is a point. The kind of task that changes a buffer in place (READ_WRITE), so that no iteration may
 * be computed twice. --turns=N says how much there is to compute; --kept=1 that in rounds points stay where they were computed.
 */
#include "rotation.h"
#include "common.h"
#include "options.h"

#include <complex.h>
#include <stdlib.h>

struct problem {
    uint64_t n;
    float *points; /* x and y of each */
    uint32_t turns;
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        rotation_turn(problem->points + 2 * i, problem->turns);
    return CORUN_OK;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t points = corun_split_gpu_address(gpu, 0);
    void *arguments[] = {&points, &problem->turns, &begin, &end};
    const uint32_t grid[] = {(uint32_t)((end - begin + ROTATION_BLOCK - 1) / ROTATION_BLOCK), 1, 1};
    const uint32_t block[] = {ROTATION_BLOCK, 1, 1};
    return corun_split_gpu_launch(gpu, "rotate", grid, block, 0, arguments);
}

static float initial(uint64_t element)
{
    return 2 * example_random(element) - 1;
}

/* Of a point after so many turns, in a turn: all of them are one multiplication by a complex number, in double precision. */
static double largest_error(const struct problem *problem, uint64_t turns)
{
    double complex all = cpow((double)ROTATION_COSINE + (double)ROTATION_SINE * I, (double)turns);
    double most = 0;
    for (uint64_t i = 0; i < problem->n; i++) {
        double complex expected = all * (initial(2 * i) + (double)initial(2 * i + 1) * I);
        double complex found = problem->points[2 * i] + (double)problem->points[2 * i + 1] * I;
        most = fmax(most, cabs(found - expected));
    }
    return most / (double)turns;
}

int main(int count, char **words)
{
    struct example example = {.name = "rotation",
                              .what = "points turn where they are",
                              .size_of = "points",
                              .size = 50000,
                              .full_size = 300000,
                              .multiple = 1,
                              .rounds = 1};
    struct problem problem = {.turns = options_take(&count, words, "turns", 128, 1, 100000)};
    bool tell = options_take(&count, words, "tell", 1, 0, 1), kept = options_take(&count, words, "kept", 0, 0, 1);
    example_begin(&example, count, words);
    problem.n = example.size;
    size_t point_bytes = 2 * sizeof(float), bytes = problem.n * point_bytes;
    problem.points = example_allocate(problem.n, point_bytes);
    for (uint64_t i = 0; i < 2 * problem.n; i++)
        problem.points[i] = initial(i);
    const struct corun_split_buffer buffer = {.name = "points",
                                              .data = problem.points,
                                              .bytes = bytes,
                                              .access = CORUN_SPLIT_READ_WRITE,
                                              .iteration_bytes = point_bytes,
                                              .kept = kept};
    struct corun_split_task task = {.iterations = problem.n,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = &buffer,
                                    .buffer_count = 1,
                                    .gpu_blocks = tell ? 1.0 / ROTATION_BLOCK : 0,
                                    .gpu_block_threads = tell ? ROTATION_BLOCK : 0};
    example_create(&example, &task);
    for (uint32_t round = 0; round < example.rounds; round++)
        example_run(&example);
    double error = largest_error(&problem, (uint64_t)problem.turns * example.runs);
    int status = example_end(&example, problem.points, bytes, "largest error of a turn", error, 1e-6);
    free(problem.points);
    return status;
}
