/* SPDX-License-Identifier: MIT */
/*
 * mm: C = A B, square matrices in single precision.
 *
 * An iteration of the task is an element of C; parts are whole groups of four rows, which the CPU computes together. A and C
 * are stored by rows, B in panels of 32 columns: [n / 32][n][32], so that whoever computes 32 columns reads on and on. Each
 * element is a chain of fused multiply-adds over ascending k, on CPU and GPU: results do not depend on the split.
 *
 *     nvcc -ptx -arch=compute_52 mm.cu
 *     cc -O3 -march=native -fno-math-errno mm.c common.c -o mm $(pkg-config --cflags --libs corun-split) -lm
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 4, PANEL = 32 };
enum { BLOCK_ROWS = 32, BLOCK_COLUMNS = 64, BLOCK_THREADS = 128 }; /* a thread block of mm.cu */

struct problem {
    struct corun_split *split;
    uint32_t n;
    float *a, *b, *c;
};

/* Four rows of C, from those of A, and 32 columns: as many sums as the vector registers hold. */
static void multiply_tile(const float *restrict a, const float *restrict panel, float *restrict c, uint64_t n)
{
    float sum0[PANEL] = {0}, sum1[PANEL] = {0}, sum2[PANEL] = {0}, sum3[PANEL] = {0};
    for (uint64_t k = 0; k < n; k++) {
        for (int i = 0; i < PANEL; i++) {
            float b = panel[k * PANEL + i];
            sum0[i] = fmaf(a[k], b, sum0[i]);
            sum1[i] = fmaf(a[n + k], b, sum1[i]);
            sum2[i] = fmaf(a[2 * n + k], b, sum2[i]);
            sum3[i] = fmaf(a[3 * n + k], b, sum3[i]);
        }
    }
    for (int i = 0; i < PANEL; i++) {
        c[i] = sum0[i];
        c[n + i] = sum1[i];
        c[2 * n + i] = sum2[i];
        c[3 * n + i] = sum3[i];
    }
}

/* A panel serves all rows of the part before the next one is read. */
static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    uint64_t n = problem->n;
    for (uint64_t column = 0; column < n && !corun_split_unneeded(problem->split, thread); column += PANEL)
        for (uint64_t row = begin / n; row < end / n; row += GROUP)
            multiply_tile(problem->a + row * n, problem->b + column * n, problem->c + row * n + column, n);
    return CORUN_OK;
}

enum { A, B, C, BUFFERS };

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t a = corun_split_gpu_address(gpu, A), b = corun_split_gpu_address(gpu, B),
             c = corun_split_gpu_address(gpu, C);
    uint32_t n = problem->n, first = (uint32_t)(begin / n), last = (uint32_t)(end / n);
    void *arguments[] = {&a, &b, &c, &n, &first, &last};
    const uint32_t grid[] = {n / BLOCK_COLUMNS, (last - first + BLOCK_ROWS - 1) / BLOCK_ROWS, 1};
    const uint32_t block[] = {BLOCK_THREADS, 1, 1};
    return corun_split_gpu_launch(gpu, "multiply", grid, block, 0, arguments);
}

static float element_of_b(const struct problem *problem, uint64_t k, uint64_t column)
{
    return problem->b[(column / PANEL * problem->n + k) * PANEL + column % PANEL];
}

/* The largest error of some elements, beside the double-precision sum of the absolute products. */
static double largest_error(const struct problem *problem)
{
    if (!problem->n)
        return 0;
    uint64_t n = problem->n, samples = n * n < 4096 ? n * n : 4096, step = n * n / samples;
    double most = 0;
    for (uint64_t i = 0; i < samples; i++) {
        uint64_t place = i * step + i % 61 % step, row = place / n, column = place % n;
        double sum = 0, size = 0;
        for (uint64_t k = 0; k < n; k++) {
            double product = (double)problem->a[row * n + k] * element_of_b(problem, k, column);
            sum += product;
            size += fabs(product);
        }
        most = fmax(most, fabs(problem->c[place] - sum) / size);
    }
    return most;
}

int main(int count, char **words)
{
    struct example example = {.name = "mm",
                              .what = "product of two square matrices",
                              .size_of = "rows",
                              .size = 512,
                              .full_size = 1024,
                              .multiple = BLOCK_COLUMNS};
    example_begin(&example, count, words);
    uint64_t n = example.size;
    size_t bytes = n * n * sizeof(float);
    struct problem problem = {.n = (uint32_t)n,
                              .a = example_allocate(n * n, sizeof(float)),
                              .b = example_allocate(n * n, sizeof(float)),
                              .c = example_allocate(n * n, sizeof(float))};
    for (uint64_t i = 0; i < n * n; i++) {
        problem.a[i] = 2 * example_random(2 * i) - 1;
        problem.b[i] = 2 * example_random(2 * i + 1) - 1;
    }
    const struct corun_split_buffer buffers[BUFFERS] = {
        [A] = {.name = "a", .data = problem.a, .bytes = bytes, .iteration_bytes = sizeof(float)},
        [B] = {.name = "b", .data = problem.b, .bytes = bytes}, /* all of it for each part */
        [C] = {.name = "c",
               .data = problem.c,
               .bytes = bytes,
               .access = CORUN_SPLIT_WRITE,
               .iteration_bytes = sizeof(float)}};
    struct corun_split_task task = {.iterations = n * n,
                                    .granularity = GROUP * n,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .gpu_blocks = 1.0 / (BLOCK_ROWS * BLOCK_COLUMNS),
                                    .gpu_block_threads = BLOCK_THREADS};
    example_create(&example, &task);
    problem.split = example.split;
    example_run(&example);
    int status = example_end(&example, problem.c, bytes, "largest error", largest_error(&problem), 1e-5);
    free(problem.a);
    free(problem.b);
    free(problem.c);
    return status;
}
