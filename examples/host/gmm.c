/* SPDX-License-Identifier: MIT */
/*
 * gmm: scores frames of speech with Gaussian mixtures, as recognisers before neural networks do: for each frame and each state of the model
 * the best of its Gaussians, with diagonal covariances. Stands for GMM of the Sirius suite.
 *
 * Data: the model, 13 MB of means and precisions, is streamed once for every eight frames. It fits in half of a large last-level cache and
 * in nothing smaller. A query is a number of frames of ten milliseconds; its eight frames at a time are a phase, 64 states are a task.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum {
    STATES = 2560,
    GAUSSIANS = 16,
    FEATURES = 40,
    BLOCK = 8,
    LANES = 8,
    TASK_STATES = 64,
    TASKS = STATES / TASK_STATES
};

struct gmm {
    float *mean, *precision; /* [STATES][GAUSSIANS][FEATURES] */
    float *weight;           /* [STATES][GAUSSIANS]: logarithm of weight and normalisation */
    float *frames;           /* [size][FEATURES] */
    float *scores;           /* [size][STATES]: below the best of the frame */
    uint32_t size, block;    /* `block`: the frame that the phase begins with */
};

static void *create(uint32_t size, uint64_t seed)
{
    struct gmm *gmm = program_allocate(1, sizeof *gmm);
    size_t count = (size_t)STATES * GAUSSIANS;
    gmm->mean = program_allocate(count * FEATURES, sizeof *gmm->mean);
    gmm->precision = program_allocate(count * FEATURES, sizeof *gmm->precision);
    gmm->weight = program_allocate(count, sizeof *gmm->weight);
    gmm->frames = program_allocate((size_t)size * FEATURES, sizeof *gmm->frames);
    gmm->scores = program_allocate((size_t)size * STATES, sizeof *gmm->scores);
    for (size_t i = 0; i < count * FEATURES; i++) {
        gmm->mean[i] = program_random_normal(seed, i);
        gmm->precision[i] = 0.25f + program_random_float(~seed, i);
    }
    for (size_t i = 0; i < count; i++)
        gmm->weight[i] = -10 * program_random_float(seed + 1, i);
    return gmm;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct gmm *gmm = state;
    gmm->size = size;
    for (size_t i = 0; i < (size_t)size * FEATURES; i++)
        gmm->frames[i] = program_random_normal(seed, i);
}

static float gaussian(const float *frame, const float *mean, const float *precision)
{
    float lane[LANES] = {0}, sum = 0;
    for (uint32_t d = 0; d < FEATURES; d += LANES)
        for (uint32_t l = 0; l < LANES; l++) {
            float apart = frame[d + l] - mean[d + l];
            lane[l] += apart * apart * precision[d + l];
        }
    for (uint32_t l = 0; l < LANES; l++)
        sum += lane[l];
    return -0.5f * sum;
}

static void score(void *user, uint32_t task)
{
    struct gmm *gmm = user;
    uint32_t frames = gmm->size - gmm->block < BLOCK ? gmm->size - gmm->block : BLOCK;
    for (uint32_t s = task * TASK_STATES; s < (task + 1) * TASK_STATES; s++) {
        float best[BLOCK];
        for (uint32_t f = 0; f < frames; f++)
            best[f] = -INFINITY;
        for (uint32_t g = s * GAUSSIANS; g < (s + 1) * GAUSSIANS; g++)
            for (uint32_t f = 0; f < frames; f++) {
                float value =
                    gmm->weight[g] + gaussian(gmm->frames + (size_t)(gmm->block + f) * FEATURES,
                                              gmm->mean + (size_t)g * FEATURES, gmm->precision + (size_t)g * FEATURES);
                best[f] = value > best[f] ? value : best[f];
            }
        for (uint32_t f = 0; f < frames; f++)
            gmm->scores[(size_t)(gmm->block + f) * STATES + s] = best[f];
    }
}

/* Scores relative to the best state of the frame, as a decoder's beam wants them. */
static void normalise(struct gmm *gmm, uint32_t frame)
{
    float *scores = gmm->scores + (size_t)frame * STATES, best = -INFINITY;
    for (uint32_t s = 0; s < STATES; s++)
        best = scores[s] > best ? scores[s] : best;
    for (uint32_t s = 0; s < STATES; s++)
        scores[s] -= best;
}

static void run(void *state, struct tasks *tasks)
{
    struct gmm *gmm = state;
    for (gmm->block = 0; gmm->block < gmm->size; gmm->block += BLOCK) {
        tasks_span(tasks, (double)gmm->block / gmm->size, (double)(gmm->block + BLOCK) / gmm->size, 1);
        tasks_phase(tasks, "score", score, gmm, TASKS);
        for (uint32_t f = gmm->block; f < gmm->size && f < gmm->block + BLOCK; f++)
            normalise(gmm, f);
    }
}

static double exact(const struct gmm *gmm, uint32_t frame, uint32_t state)
{
    double best = -INFINITY;
    for (uint32_t g = state * GAUSSIANS; g < (state + 1) * GAUSSIANS; g++) {
        double sum = 0;
        for (uint32_t d = 0; d < FEATURES; d++) {
            double apart =
                (double)gmm->frames[(size_t)frame * FEATURES + d] - (double)gmm->mean[(size_t)g * FEATURES + d];
            sum += apart * apart * (double)gmm->precision[(size_t)g * FEATURES + d];
        }
        best = fmax(best, (double)gmm->weight[g] - sum / 2);
    }
    return best;
}

/* One frame in sixteen, every state, in double precision. */
static const char *check(const void *state)
{
    const struct gmm *gmm = state;
    for (uint32_t f = 0; f < gmm->size; f += 16) {
        double best = -INFINITY;
        for (uint32_t s = 0; s < STATES; s++)
            best = fmax(best, exact(gmm, f, s));
        for (uint32_t s = 0; s < STATES; s += 7)
            if (!(fabs(exact(gmm, f, s) - best - (double)gmm->scores[(size_t)f * STATES + s]) < 1e-3))
                return "a score differs from the one in double precision";
    }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct gmm *gmm = state;
    return program_fingerprint(0, gmm->scores, (size_t)gmm->size * STATES * sizeof *gmm->scores);
}

static void destroy(void *state)
{
    struct gmm *gmm = state;
    free(gmm->mean);
    free(gmm->precision);
    free(gmm->weight);
    free(gmm->frames);
    free(gmm->scores);
    free(gmm);
}

int main(int count, char **words)
{
    const struct program program = {.name = "gmm",
                                    .what = "scores of Gaussian mixtures for frames of speech",
                                    .size_of = "frames",
                                    .size = 300,
                                    .least = 1,
                                    .most = 3000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
