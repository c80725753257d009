/* SPDX-License-Identifier: MIT */
/*
 * nbody: bodies that attract one another, every pair of them; rounds are steps in time.
 *
 * What is divided between CPU and GPUs are the accelerations of a step; an iteration of the task is a body. All bodies are moved
 * to a GPU before each step, and the accelerations of its part back. The program moves the bodies itself: that is short.
 *
 * The GPU takes its own approximation of a reciprocal square root and adds in another order than the CPU, so the last digits
 * depend on the split.
 *
 *     nvcc -ptx -arch=compute_52 nbody.cu
 *     cc -O3 -march=native -fno-math-errno -fno-trapping-math nbody.c common.c -o nbody \
 *         $(pkg-config --cflags --libs corun-split) -lm
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 16 };                             /* bodies that the CPU computes side by side, */
enum { PAUSE = 256 };                            /* beside so many others before it asks whether it should go on */
enum { BLOCK_BODIES = 32, BLOCK_THREADS = 256 }; /* a thread block of nbody.cu */

static const float softening = 1e-3f; /* added to squares of distances; a body needs no exception for itself */
static const float time_step = 1e-3f;

struct body {
    float x, y, z, mass;
};

struct vector {
    float x, y, z, unused; /* as wide as a GPU loads and stores at once */
};

struct problem {
    struct corun_split *split;
    uint32_t count;
    struct body *bodies;
    struct vector *accelerations;
};

struct sums {
    float x[GROUP], y[GROUP], z[GROUP];
};

/* What so many others pull at a group of bodies. */
static void add_pulls(const struct body *group, const struct body *others, uint32_t count, struct sums *sums)
{
    float x[GROUP], y[GROUP], z[GROUP];
    struct sums sum = *sums;
    for (int i = 0; i < GROUP; i++) {
        x[i] = group[i].x;
        y[i] = group[i].y;
        z[i] = group[i].z;
    }
    for (uint32_t j = 0; j < count; j++) {
        for (int i = 0; i < GROUP; i++) {
            float dx = others[j].x - x[i], dy = others[j].y - y[i], dz = others[j].z - z[i];
            float inverse = 1.0f / sqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening))));
            float pull = others[j].mass * inverse * inverse * inverse;
            sum.x[i] = fmaf(pull, dx, sum.x[i]);
            sum.y[i] = fmaf(pull, dy, sum.y[i]);
            sum.z[i] = fmaf(pull, dz, sum.z[i]);
        }
    }
    *sums = sum;
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    const struct body *bodies = problem->bodies;
    for (uint64_t first = begin; first < end; first += GROUP) {
        struct sums sums = {0};
        for (uint32_t j = 0; j < problem->count; j += PAUSE) {
            if (corun_split_unneeded(problem->split, thread))
                return CORUN_OK;
            add_pulls(bodies + first, bodies + j, problem->count - j < PAUSE ? problem->count - j : PAUSE, &sums);
        }
        for (int i = 0; i < GROUP; i++)
            problem->accelerations[first + i] = (struct vector){sums.x[i], sums.y[i], sums.z[i], 0};
    }
    return CORUN_OK;
}

enum { BODIES, ACCELERATIONS, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t bodies = corun_split_gpu_address(gpu, BODIES), accelerations = corun_split_gpu_address(gpu, ACCELERATIONS);
    uint32_t first = (uint32_t)begin, last = (uint32_t)end;
    float soft = softening;
    void *arguments[] = {&bodies, &accelerations, &problem->count, &soft, &first, &last};
    const uint32_t grid[] = {(last - first + BLOCK_BODIES - 1) / BLOCK_BODIES, 1, 1}, block[] = {BLOCK_THREADS, 1, 1};
    return corun_split_gpu_launch(gpu, "attract", grid, block, 0, arguments);
}

/* The acceleration of a body in double precision, and the sum of what it is made of. */
static double error_of(const struct problem *problem, uint32_t index)
{
    const struct body *body = &problem->bodies[index];
    const struct vector *acceleration = &problem->accelerations[index];
    double x = 0, y = 0, z = 0, size = 0;
    for (uint32_t j = 0; j < problem->count; j++) {
        const struct body *other = &problem->bodies[j];
        double dx = (double)other->x - body->x, dy = (double)other->y - body->y, dz = (double)other->z - body->z;
        double square = dx * dx + dy * dy + dz * dz, distance = sqrt(square + (double)softening);
        double pull = other->mass / (distance * distance * distance);
        x += pull * dx;
        y += pull * dy;
        z += pull * dz;
        size += pull * sqrt(square);
    }
    return fmax(fmax(fabs(acceleration->x - x), fabs(acceleration->y - y)), fabs(acceleration->z - z)) / size;
}

static double largest_error(const struct problem *problem)
{
    uint32_t samples = problem->count < 1024 ? problem->count : 1024;
    double most = 0;
    for (uint32_t i = 0; i < samples; i++)
        most = fmax(most, error_of(problem, (uint32_t)((uint64_t)i * problem->count / samples)));
    return most;
}

static void move(const struct problem *problem, struct vector *velocities)
{
    for (uint32_t i = 0; i < problem->count; i++) {
        struct vector *velocity = &velocities[i];
        velocity->x += time_step * problem->accelerations[i].x;
        velocity->y += time_step * problem->accelerations[i].y;
        velocity->z += time_step * problem->accelerations[i].z;
        problem->bodies[i].x += time_step * velocity->x;
        problem->bodies[i].y += time_step * velocity->y;
        problem->bodies[i].z += time_step * velocity->z;
    }
}

int main(int count, char **words)
{
    struct example example = {.name = "nbody",
                              .what = "attraction of all pairs of bodies",
                              .size_of = "bodies",
                              .size = 4096,
                              .full_size = 16384,
                              .multiple = GROUP,
                              .rounds = 1};
    example_begin(&example, count, words);
    uint32_t bodies = (uint32_t)example.size;
    struct problem problem = {.count = bodies,
                              .bodies = example_allocate(bodies, sizeof(struct body)),
                              .accelerations = example_allocate(bodies, sizeof(struct vector))};
    struct vector *velocities = example_allocate(bodies, sizeof *velocities);
    for (uint64_t i = 0; i < bodies; i++)
        problem.bodies[i] = (struct body){example_random(4 * i), example_random(4 * i + 1), example_random(4 * i + 2),
                                          (0.5f + example_random(4 * i + 3)) / (float)bodies};
    const struct corun_split_buffer buffers[BUFFERS] = {
        [BODIES] = {.name = "bodies",
                    .data = problem.bodies,
                    .bytes = bodies * sizeof(struct body)}, /* all of them for each part */
        [ACCELERATIONS] = {.name = "accelerations",
                           .data = problem.accelerations,
                           .bytes = bodies * sizeof(struct vector),
                           .access = CORUN_SPLIT_WRITE,
                           .iteration_bytes = sizeof(struct vector)}};
    struct corun_split_task task = {.iterations = bodies,
                                    .granularity = GROUP,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = 1.0 / BLOCK_BODIES,
                                    .gpu_block_threads = BLOCK_THREADS};
    example_create(&example, &task);
    problem.split = example.split;
    double error = 0;
    for (uint32_t round = 0; round < example.rounds; round++) {
        example_run(&example);
        error = fmax(error, largest_error(&problem));
        move(&problem, velocities);
    }
    int status = example_end(&example, NULL, 0, "largest error", error, 1e-5);
    free(problem.bodies);
    free(problem.accelerations);
    free(velocities);
    return status;
}
