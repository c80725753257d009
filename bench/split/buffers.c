/* SPDX-License-Identifier: MIT */
/*
 * buffers: a hash of eight words for every iteration, which lie in one buffer or, with --buffers=2, 4 or 8, in several.
 *
 * The kind of task whose parts make many copies: as many as there are buffers, of the same bytes altogether. --tell=0 does not
 * tell the library how many thread blocks it has. The result does not depend on the number of buffers.
 */
#include "buffers.h"
#include "common.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS = BUFFERS_WORDS };

struct problem {
    uint64_t n;
    uint32_t buffers, stride; /* words of an iteration in each buffer */
    uint32_t *words[WORDS];   /* of each buffer */
    uint32_t *hashes;
};

static enum corun_status on_cpu(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    const struct problem *problem = user;
    uint32_t stride = problem->stride;
    (void)thread;
    for (uint64_t i = begin; i < end; i++) {
        uint32_t sum = 1;
        for (int pass = 0; pass < BUFFERS_PASSES; pass++)
            for (uint32_t j = 0; j < WORDS; j++)
                sum = sum * BUFFERS_FACTOR + problem->words[j / stride][i * stride + j % stride];
        problem->hashes[i] = sum;
    }
    return CORUN_OK;
}

static enum corun_status on_gpu(void *user, struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    struct problem *problem = user;
    uint64_t words[WORDS], hashes = corun_split_gpu_address(gpu, problem->buffers);
    void *arguments[WORDS + 4];
    for (uint32_t j = 0; j < WORDS; j++) {
        words[j] = corun_split_gpu_address(gpu, j / problem->stride) + j % problem->stride * sizeof(uint32_t);
        arguments[j] = &words[j];
    }
    arguments[WORDS] = &hashes;
    arguments[WORDS + 1] = &problem->stride;
    arguments[WORDS + 2] = &begin;
    arguments[WORDS + 3] = &end;
    const uint32_t grid[] = {(uint32_t)((end - begin + BUFFERS_BLOCK - 1) / BUFFERS_BLOCK), 1, 1};
    const uint32_t block[] = {BUFFERS_BLOCK, 1, 1};
    return corun_split_gpu_launch(gpu, "hash", grid, block, 0, arguments);
}

/* The word `j` of iteration `i`, in whatever buffer it is. */
static uint32_t word(uint64_t i, uint32_t j)
{
    return (uint32_t)(((i * WORDS + j + 1) * 0x9e3779b97f4a7c15u) >> 32);
}

/* How many hashes are wrong, computed from the words as they were made. */
static uint64_t count_wrong(const struct problem *problem)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < problem->n; i++) {
        uint32_t sum = 1;
        for (uint32_t k = 0; k < BUFFERS_PASSES * WORDS; k++)
            sum = sum * BUFFERS_FACTOR + word(i, k % WORDS);
        wrong += problem->hashes[i] != sum;
    }
    return wrong;
}

/* Allocates the buffers and describes them. */
static void make_buffers(struct problem *problem, struct corun_split_buffer buffers[WORDS + 1])
{
    uint32_t stride = problem->stride;
    for (uint32_t b = 0; b < problem->buffers; b++) {
        uint32_t *words = example_allocate(problem->n, stride * sizeof(uint32_t));
        for (uint64_t i = 0; i < problem->n; i++)
            for (uint32_t j = 0; j < stride; j++)
                words[i * stride + j] = word(i, b * stride + j);
        problem->words[b] = words;
        buffers[b] = (struct corun_split_buffer){.name = "words",
                                                 .data = words,
                                                 .bytes = problem->n * stride * sizeof(uint32_t),
                                                 .iteration_bytes = stride * sizeof(uint32_t)};
    }
    problem->hashes = example_allocate(problem->n, sizeof(uint32_t));
    buffers[problem->buffers] = (struct corun_split_buffer){.name = "hashes",
                                                            .data = problem->hashes,
                                                            .bytes = problem->n * sizeof(uint32_t),
                                                            .access = CORUN_SPLIT_WRITE,
                                                            .iteration_bytes = sizeof(uint32_t)};
}

int main(int count, char **words)
{
    struct example example = {.name = "buffers",
                              .what = "hashes of words in several buffers",
                              .size_of = "hashes",
                              .size = 32768,
                              .full_size = 500000,
                              .multiple = 1};
    struct problem problem = {.buffers = options_take(&count, words, "buffers", 1, 1, WORDS)};
    bool tell = options_take(&count, words, "tell", 1, 0, 1);
    example_begin(&example, count, words);
    if (WORDS % problem.buffers) {
        fprintf(stderr, "--buffers=%u: not a divisor of %d\n", problem.buffers, WORDS);
        return 2;
    }
    problem.n = example.size;
    problem.stride = WORDS / problem.buffers;
    struct corun_split_buffer buffers[WORDS + 1];
    make_buffers(&problem, buffers);
    struct corun_split_task task = {.iterations = problem.n,
                                    .granularity = BUFFERS_BLOCK,
                                    .cpu = on_cpu,
                                    .gpu = on_gpu,
                                    .user = &problem,
                                    .buffers = buffers,
                                    .buffer_count = problem.buffers + 1,
                                    .gpu_blocks = tell ? 1.0 / BUFFERS_BLOCK : 0,
                                    .gpu_block_threads = tell ? BUFFERS_BLOCK : 0};
    example_create(&example, &task);
    example_run(&example);
    int status = example_end(&example, problem.hashes, problem.n * sizeof(uint32_t), "wrong hashes",
                             (double)count_wrong(&problem), 0);
    for (uint32_t b = 0; b < problem.buffers; b++)
        free(problem.words[b]);
    free(problem.hashes);
    return status;
}
