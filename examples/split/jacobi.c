/* SPDX-License-Identifier: MIT */
/*
 * jacobi: Jacobi's method for a system A x = b with a dense matrix and a dominant diagonal. A round computes every element
 * of the next x from all elements of the last one.
 *
 * What is divided between CPU and GPUs is a round, by rows; an iteration of the task is a row. Rows stay where they are
 * computed from round to round, so a GPU is given its part of the matrix once.
 *
 *     nvcc -ptx -arch=compute_52 jacobi.cu
 *     cc -O3 -march=native -fno-math-errno jacobi.c common.c -o jacobi $(pkg-config --cflags --libs corun-split) -lm
 */
#include "common.h"
#include "dense.h"

#include <stdlib.h>
#include <string.h>

struct problem {
    uint32_t n;
    float *matrix, *b, *x, *next;
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    struct problem *problem = user;
    (void)thread;
    for (uint64_t row = begin; row < end; row++) {
        const float *elements = problem->matrix + row * problem->n;
        float sum = dense_row(elements, problem->x, problem->n);
        problem->next[row] = problem->x[row] + (problem->b[row] - sum) / elements[row];
    }
    return CORUN_OK;
}

enum { MATRIX, B, X, NEXT, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t matrix = corun_split_gpu_address(gpu, MATRIX), b = corun_split_gpu_address(gpu, B);
    uint64_t x = corun_split_gpu_address(gpu, X), next = corun_split_gpu_address(gpu, NEXT);
    uint32_t first = (uint32_t)begin, last = (uint32_t)end;
    void *arguments[] = {&matrix, &b, &x, &next, &problem->n, &first, &last};
    const uint32_t grid[] = {(last - first + DENSE_ROWS - 1) / DENSE_ROWS, 1, 1}, block[] = {DENSE_THREADS, 1, 1};
    return corun_split_gpu_launch(gpu, "step", grid, block, 0, arguments);
}

/* Elements from 0 to 1, so that with n on the diagonal errors halve from round to round; b is A times `solution`. */
static void fill(const struct problem *problem, float *solution)
{
    uint64_t n = problem->n;
    for (uint64_t i = 0; i < n; i++)
        solution[i] = 2 * example_random(n * n + i) - 1;
    for (uint64_t i = 0; i < n; i++) {
        float *row = problem->matrix + i * n;
        for (uint64_t j = 0; j < n; j++)
            row[j] = i == j ? (float)n : example_random(i * n + j);
        problem->b[i] = (float)dense_row_exact(row, solution, n);
    }
}

static double largest_difference(const float *a, const float *b, uint64_t n)
{
    double most = 0;
    for (uint64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)a[i] - b[i]));
    return most;
}

/* Until no element changes by more than 1e-5. */
static void solve(struct example *example, struct problem *problem)
{
    double change = INFINITY;
    for (uint32_t round = 0; round < example->rounds && change > 1e-5; round++) {
        example_run(example);
        change = largest_difference(problem->x, problem->next, problem->n);
        memcpy(problem->x, problem->next, problem->n * sizeof *problem->x);
    }
}

int main(int count, char **words)
{
    struct example example = {.name = "jacobi",
                              .what = "Jacobi's method",
                              .size_of = "equations",
                              .size = 1024,
                              .full_size = 16384,
                              .multiple = DENSE_SUMS,
                              .rounds = 50};
    example_begin(&example, count, words);
    uint64_t n = example.size;
    struct problem problem = {.n = (uint32_t)n,
                              .matrix = example_allocate(n * n, sizeof(float)),
                              .b = example_allocate(n, sizeof(float)),
                              .x = example_allocate(n, sizeof(float)),
                              .next = example_allocate(n, sizeof(float))};
    float *solution = example_allocate(n, sizeof *solution);
    fill(&problem, solution);
    const struct corun_split_buffer buffers[BUFFERS] = {
        [MATRIX] = {.name = "matrix",
                    .data = problem.matrix,
                    .bytes = n * n * sizeof(float),
                    .iteration_bytes = n * sizeof(float),
                    .kept = true},
        [B] = {.name = "b",
               .data = problem.b,
               .bytes = n * sizeof(float),
               .iteration_bytes = sizeof(float),
               .kept = true},
        [X] = {.name = "x", .data = problem.x, .bytes = n * sizeof(float)}, /* all of it for each part */
        [NEXT] = {.name = "next",
                  .data = problem.next,
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
    solve(&example, &problem);
    int status = example_end(&example, problem.x, n * sizeof(float), "distance from the solution",
                             largest_difference(problem.x, solution, n), 1e-4);
    free(problem.matrix);
    free(problem.b);
    free(problem.x);
    free(problem.next);
    free(solution);
    return status;
}
