/* SPDX-License-Identifier: MIT */
/*
 * uneven: iterations of one task that take different times, as loops over triangles, images with an object in them and lists of different lengths do.
 *
 * An iteration of the task maps a number, four bytes in and four out, as often as --shape says: 0 all as often, 1 and 2 more and more and less and less,
 * 3, 4 and 5 a hundred times as often in the first and the last tenth, and the fifth in the middle. --least=N is how often the lightest does. --tell=0 does not tell the
 * library how many thread blocks it has.
 */
#include "uneven.h"
#include "common.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST, LAST, BUFFERS };
enum { ASKED = 8 }; /* after so many numbers the CPU asks whether it is needed */

struct problem {
    uint64_t n;
    uint32_t shape, least;
    float *values[BUFFERS];
    double *work;                    /* before each iteration, in mean ones */
    const struct corun_split *split; /* to ask it */
};

static float mapped(const struct problem *problem, uint64_t i)
{
    return uneven_map(problem->values[FIRST][i], uneven_count(problem->shape, problem->least, i, problem->n));
}

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    for (uint64_t i = begin; i < end && !(i % ASKED == 0 && corun_split_unneeded(problem->split, thread)); i++)
        problem->values[LAST][i] = mapped(problem, i);
    return CORUN_OK;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t first = corun_split_gpu_address(gpu, FIRST), last = corun_split_gpu_address(gpu, LAST);
    void *arguments[] = {&first, &last, &problem->shape, &problem->least, &problem->n, &begin, &end};
    const uint32_t grid[] = {(uint32_t)((end - begin + UNEVEN_BLOCK - 1) / UNEVEN_BLOCK), 1, 1};
    const uint32_t block[] = {UNEVEN_BLOCK, 1, 1};
    return corun_split_gpu_launch(gpu, "map", grid, block, 0, arguments);
}

static double work(void *user, uint64_t begin, uint64_t end)
{
    const struct problem *problem = user;
    return problem->work[end] - problem->work[begin];
}

static void add_work(const struct problem *problem)
{
    double *sum = problem->work;
    for (uint64_t i = 0; i < problem->n; i++)
        sum[i + 1] = sum[i] + uneven_count(problem->shape, problem->least, i, problem->n);
    for (uint64_t i = 0; i < problem->n; i++)
        sum[i] *= (double)problem->n / sum[problem->n];
    sum[problem->n] = (double)problem->n;
}

static double largest_error(const struct problem *problem)
{
    double most = 0;
    for (uint64_t i = 0; i < problem->n; i++) {
        double error = fabs((double)problem->values[LAST][i] - (double)mapped(problem, i));
        most = error <= most ? most : error; /* what is no number is not lost */
    }
    return most;
}

int main(int count, char **words)
{
    struct example example = {.name = "uneven",
                              .what = "numbers mapped again and again, some more often",
                              .size_of = "numbers",
                              .size = 65536,
                              .full_size = 1000000,
                              .multiple = 1,
                              .rounds = 1};
    struct problem problem = {.shape = options_take(&count, words, "shape", RISING, 0, SHAPES - 1),
                              .least = options_take(&count, words, "least", 4, 1, 1000000)};
    bool tell = options_take(&count, words, "tell", 1, 0, 1);
    example_begin(&example, count, words);
    problem.n = example.size;
    size_t bytes = problem.n * sizeof(float);
    struct corun_split_buffer buffers[BUFFERS] = {{.name = "first"}, {.name = "last", .access = CORUN_SPLIT_WRITE}};
    for (int i = 0; i < BUFFERS; i++) {
        problem.values[i] = example_allocate(problem.n, sizeof(float));
        buffers[i].data = problem.values[i];
        buffers[i].bytes = bytes;
        buffers[i].iteration_bytes = sizeof(float);
    }
    for (uint64_t i = 0; i < problem.n; i++)
        problem.values[FIRST][i] = 0.01f + 0.98f * example_random(i);
    problem.work = example_allocate(problem.n + 1, sizeof(double));
    problem.work[0] = 0;
    add_work(&problem);
    struct corun_split_task task = {.iterations = problem.n,
                                    .granularity = UNEVEN_BLOCK,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = BUFFERS,
                                    .work = work,
                                    .gpu_blocks = tell ? 1.0 / UNEVEN_BLOCK : 0,
                                    .gpu_block_threads = tell ? UNEVEN_BLOCK : 0};
    example_create(&example, &task);
    problem.split = example.split;
    double error = 0;
    for (uint32_t round = 0; round < example.rounds; round++) {
        memset(problem.values[LAST], 0xff, bytes); /* not a number */
        example_run(&example);
        error = fmax(error, largest_error(&problem));
    }
    int status = example_end(&example, problem.values[LAST], bytes, "largest error of a number", error, 0);
    for (int i = 0; i < BUFFERS; i++)
        free(problem.values[i]);
    free(problem.work);
    return status;
}
