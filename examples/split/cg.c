/* SPDX-License-Identifier: MIT */
/*
 * cg: the method of conjugate gradients for a system A x = b with a dense, symmetric, positive definite matrix.
 *
 * What is divided between CPU and GPUs is the product q = A p of each round, by rows; an iteration of the task is a row. Rows
 * stay where they are computed from round to round, so a GPU is given its part of the matrix once. The vectors are short
 * beside the matrix, and the program does the rest of a round with them.
 *
 *     nvcc -ptx -arch=compute_52 cg.cu
 *     cc -O3 -march=native -fno-math-errno cg.c common.c -o cg $(pkg-config --cflags --libs corun-split) -lm
 */
#include "common.h"
#include "dense.h"

#include <stdlib.h>

struct problem {
    uint32_t n;
    float *matrix, *p, *q;
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    (void)thread;
    for (uint64_t row = begin; row < end; row++)
        problem->q[row] = dense_row(problem->matrix + row * problem->n, problem->p, problem->n);
    return CORUN_OK;
}

enum { MATRIX, P, Q, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t matrix = corun_split_gpu_address(gpu, MATRIX);
    uint64_t p = corun_split_gpu_address(gpu, P), q = corun_split_gpu_address(gpu, Q);
    uint32_t first = (uint32_t)begin, last = (uint32_t)end;
    void *arguments[] = {&matrix, &p, &q, &problem->n, &first, &last};
    const uint32_t grid[] = {(last - first + DENSE_ROWS - 1) / DENSE_ROWS, 1, 1}, block[] = {DENSE_THREADS, 1, 1};
    return corun_split_gpu_launch(gpu, "multiply", grid, block, 0, arguments);
}

/* Random elements around 0, and a diagonal that makes all eigenvalues positive, the largest about five times the smallest. */
static void fill(const struct problem *problem, float *b)
{
    uint64_t n = problem->n;
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j <= i; j++) {
            float element = i == j ? sqrtf(3.0f * (float)n) : 2 * example_random(i * n + j) - 1;
            problem->matrix[i * n + j] = problem->matrix[j * n + i] = element;
        }
        b[i] = 2 * example_random(n * n + i) - 1;
    }
}

static double dot(const float *a, const float *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* Until the residual is 1e-5 of b. */
static void solve(struct example *example, struct problem *problem, const float *b, float *x, float *r)
{
    uint64_t n = problem->n;
    for (uint64_t i = 0; i < n; i++)
        r[i] = problem->p[i] = b[i];
    double square = dot(r, r, n), enough = 1e-10 * square;
    for (uint32_t round = 0; round < example->rounds && square > enough; round++) {
        example_run(example);
        float alpha = (float)(square / dot(problem->p, problem->q, n));
        for (uint64_t i = 0; i < n; i++) {
            x[i] += alpha * problem->p[i];
            r[i] -= alpha * problem->q[i];
        }
        double before = square;
        square = dot(r, r, n);
        float beta = (float)(square / before);
        for (uint64_t i = 0; i < n; i++)
            problem->p[i] = r[i] + beta * problem->p[i];
    }
}

/* |b - A x| / |b| in double precision */
static double residual(const struct problem *problem, const float *b, const float *x)
{
    uint64_t n = problem->n;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        double difference = b[i] - dense_row_exact(problem->matrix + i * n, x, n);
        sum += difference * difference;
    }
    return sqrt(sum / dot(b, b, n));
}

int main(int count, char **words)
{
    struct example example = {.name = "cg",
                              .what = "conjugate gradients",
                              .size_of = "equations",
                              .size = 1024,
                              .full_size = 16384,
                              .multiple = DENSE_SUMS,
                              .rounds = 50};
    example_begin(&example, count, words);
    uint64_t n = example.size;
    struct problem problem = {.n = (uint32_t)n,
                              .matrix = example_allocate(n * n, sizeof(float)),
                              .p = example_allocate(n, sizeof(float)),
                              .q = example_allocate(n, sizeof(float))};
    float *b = example_allocate(n, sizeof *b), *x = example_allocate(n, sizeof *x), *r = example_allocate(n, sizeof *r);
    fill(&problem, b);
    const struct corun_split_buffer buffers[BUFFERS] = {
        [MATRIX] = {.name = "matrix",
                    .data = problem.matrix,
                    .bytes = n * n * sizeof(float),
                    .iteration_bytes = n * sizeof(float),
                    .kept = true},
        [P] = {.name = "p", .data = problem.p, .bytes = n * sizeof(float)}, /* all of it for each part */
        [Q] = {.name = "q",
               .data = problem.q,
               .bytes = n * sizeof(float),
               .access = CORUN_SPLIT_WRITE,
               .iteration_bytes = sizeof(float)}};
    struct corun_split_task task = {.iterations = n,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = 1.0 / DENSE_ROWS,
                                    .gpu_block_threads = DENSE_THREADS};
    example_create(&example, &task);
    solve(&example, &problem, b, x, r);
    int status = example_end(&example, x, n * sizeof *x, "residual", residual(&problem, b, x), 3e-5);
    free(problem.matrix);
    free(problem.p);
    free(problem.q);
    free(b);
    free(x);
    free(r);
    return status;
}
