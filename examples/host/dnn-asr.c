/* SPDX-License-Identifier: MIT */
/*
 * dnn-asr: a deep neural network tells how well each frame of speech fits each state of the acoustic model, and a decoder finds the best way
 * through a graph of states (Viterbi, with a beam). Stands for DNN-ASR of the Sirius suite.
 *
 * Data: 23 MB of weights (440 inputs, four hidden layers of 1024, 2048 outputs), streamed once for every 64 frames: most of a large
 * last-level cache or nothing. A query is a number of frames of ten milliseconds. A layer of 64 frames is a phase, 32 of its neurons are a
 * task; the decoder is serial.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum {
    INPUTS = 440,
    HIDDEN = 1024,
    OUTPUTS = 2048,
    LAYERS = 5,
    BATCH = 64,
    TASK_NEURONS = 32,
    LANES = 8,
    TOGETHER = 4, /* frames that a row of weights is multiplied with while it is in registers */
    PLACES = 8192 /* of the decoder's graph */
};

struct layer {
    uint32_t inputs, outputs;
    float *weights, *bias; /* [outputs][inputs], [outputs] */
};

struct asr {
    struct layer layers[LAYERS];
    float *frames;                  /* [size][INPUTS] */
    float *activations[LAYERS + 1]; /* [BATCH][…]: 0 is the input */
    float *places[2];               /* [PLACES]: best logarithmic probability of a way that ends there */
    uint32_t *from;                 /* [PLACES]: the place besides itself that a way can come from */
    uint16_t *output;               /* [PLACES]: the network's output that the place is scored with */
    uint8_t *came;                  /* [size][PLACES]: it came from there */
    uint32_t *way;                  /* [size]: the answer */
    uint32_t size, first, count;    /* frames; the batch */
    uint32_t layer;
    float score;
};

static void *create(uint32_t size, uint64_t seed)
{
    struct asr *asr = program_allocate(1, sizeof *asr);
    uint32_t inputs = INPUTS;
    asr->activations[0] = program_allocate((size_t)BATCH * INPUTS, sizeof(float));
    for (uint32_t l = 0; l < LAYERS; l++) {
        struct layer *layer = &asr->layers[l];
        *layer = (struct layer){.inputs = inputs, .outputs = l < LAYERS - 1 ? HIDDEN : OUTPUTS};
        size_t count = (size_t)layer->inputs * layer->outputs;
        layer->weights = program_allocate(count, sizeof(float));
        layer->bias = program_allocate(layer->outputs, sizeof(float));
        asr->activations[l + 1] = program_allocate((size_t)BATCH * layer->outputs, sizeof(float));
        float scale = sqrtf(2 / (float)inputs);
        for (size_t i = 0; i < count; i++)
            layer->weights[i] = scale * program_random_normal(seed + l, i);
        for (uint32_t i = 0; i < layer->outputs; i++)
            layer->bias[i] = 0.1f * program_random_normal(~seed - l, i);
        inputs = layer->outputs;
    }
    asr->frames = program_allocate((size_t)size * INPUTS, sizeof(float));
    asr->places[0] = program_allocate(PLACES, sizeof(float));
    asr->places[1] = program_allocate(PLACES, sizeof(float));
    asr->from = program_allocate(PLACES, sizeof *asr->from);
    asr->output = program_allocate(PLACES, sizeof *asr->output);
    asr->came = program_allocate((size_t)size * PLACES, 1);
    asr->way = program_allocate(size, sizeof *asr->way);
    for (uint32_t p = 0; p < PLACES; p++) {
        /* Three places of a phone follow each other; a phone follows any other. */
        asr->from[p] = p % 3 ? p - 1 : (uint32_t)(program_random(seed + 100, p) % (PLACES / 3)) * 3 + 2;
        asr->output[p] = (uint16_t)(program_random(seed + 101, p) % OUTPUTS);
    }
    return asr;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct asr *asr = state;
    asr->size = size;
    for (size_t i = 0; i < (size_t)size * INPUTS; i++)
        asr->frames[i] = program_random_normal(seed, i);
}

/* `TOGETHER` sums at once: each is the same as alone. */
static void multiply(const float *row, const float *inputs, uint32_t count, float sums[TOGETHER])
{
    float lane[TOGETHER][LANES] = {{0}};
    for (uint32_t i = 0; i < count; i += LANES)
        for (uint32_t f = 0; f < TOGETHER; f++)
            for (uint32_t l = 0; l < LANES; l++)
                lane[f][l] += row[i + l] * inputs[(size_t)f * count + i + l];
    for (uint32_t f = 0; f < TOGETHER; f++) {
        sums[f] = 0;
        for (uint32_t l = 0; l < LANES; l++)
            sums[f] += lane[f][l];
    }
}

static void propagate(void *user, uint32_t task)
{
    struct asr *asr = user;
    const struct layer *layer = &asr->layers[asr->layer];
    const float *inputs = asr->activations[asr->layer];
    float *outputs = asr->activations[asr->layer + 1];
    bool last = asr->layer == LAYERS - 1;
    for (uint32_t n = task * TASK_NEURONS; n < (task + 1) * TASK_NEURONS; n++)
        for (uint32_t f = 0; f < asr->count; f += TOGETHER) {
            float sums[TOGETHER];
            multiply(layer->weights + (size_t)n * layer->inputs, inputs + (size_t)f * layer->inputs, layer->inputs,
                     sums);
            for (uint32_t i = 0; i < TOGETHER; i++) {
                float sum = sums[i] + layer->bias[n];
                outputs[(size_t)(f + i) * layer->outputs + n] = last || sum > 0 ? sum : 0;
            }
        }
}

/* The scores of a frame become logarithms of probabilities. */
static void normalise(void *user, uint32_t task)
{
    struct asr *asr = user;
    float *scores = asr->activations[LAYERS] + (size_t)task * OUTPUTS, best = scores[0], sum = 0;
    for (uint32_t i = 1; i < OUTPUTS; i++)
        best = scores[i] > best ? scores[i] : best;
    for (uint32_t i = 0; i < OUTPUTS; i++)
        sum += expf(scores[i] - best);
    float shift = best + logf(sum);
    for (uint32_t i = 0; i < OUTPUTS; i++)
        scores[i] -= shift;
}

static const float stay = -0.5f, step = -0.9f;

static void decode(struct asr *asr, uint32_t frame)
{
    const float *scores = asr->activations[LAYERS] + (size_t)(frame - asr->first) * OUTPUTS;
    const float *before = asr->places[frame & 1];
    float *after = asr->places[~frame & 1];
    uint8_t *came = asr->came + (size_t)frame * PLACES;
    for (uint32_t p = 0; p < PLACES; p++) {
        float staying = before[p] + stay, stepping = before[asr->from[p]] + step;
        came[p] = stepping > staying;
        after[p] = (came[p] ? stepping : staying) + scores[asr->output[p]];
    }
}

static void trace_back(struct asr *asr)
{
    const float *last = asr->places[asr->size & 1];
    uint32_t place = 0;
    for (uint32_t p = 1; p < PLACES; p++)
        place = last[p] > last[place] ? p : place;
    asr->score = last[place];
    for (uint32_t frame = asr->size; frame-- > 0;) {
        asr->way[frame] = place;
        place = asr->came[(size_t)frame * PLACES + place] ? asr->from[place] : place;
    }
}

static void run(void *state, struct tasks *tasks)
{
    struct asr *asr = state;
    for (uint32_t p = 0; p < PLACES; p++)
        asr->places[0][p] = p % 3 ? -1e4f : 0;
    for (asr->first = 0; asr->first < asr->size; asr->first += BATCH) {
        uint32_t left = asr->size - asr->first < BATCH ? asr->size - asr->first : BATCH;
        asr->count =
            (left + TOGETHER - 1) / TOGETHER * TOGETHER; /* what the last batch has beyond is of the one before */
        for (size_t i = 0; i < (size_t)left * INPUTS; i++)
            asr->activations[0][i] = asr->frames[(size_t)asr->first * INPUTS + i];
        tasks_span(tasks, (double)asr->first / asr->size, (double)(asr->first + BATCH) / asr->size, LAYERS + 1);
        for (asr->layer = 0; asr->layer < LAYERS; asr->layer++)
            tasks_phase(tasks, "layer", propagate, asr, asr->layers[asr->layer].outputs / TASK_NEURONS);
        tasks_phase(tasks, "normalise", normalise, asr, left);
        for (uint32_t f = asr->first; f < asr->first + left; f++)
            decode(asr, f);
    }
    trace_back(asr);
}

/* The probabilities of one frame in double precision: all outputs of the network, one after the other. */
static void exact(const struct asr *asr, uint32_t frame, double *scores)
{
    double values[2][OUTPUTS], sum = 0;
    for (uint32_t i = 0; i < INPUTS; i++)
        values[0][i] = (double)asr->frames[(size_t)frame * INPUTS + i];
    for (uint32_t l = 0; l < LAYERS; l++) {
        const struct layer *layer = &asr->layers[l];
        for (uint32_t n = 0; n < layer->outputs; n++) {
            double value = (double)layer->bias[n];
            for (uint32_t i = 0; i < layer->inputs; i++)
                value += (double)layer->weights[(size_t)n * layer->inputs + i] * values[l & 1][i];
            values[~l & 1][n] = l < LAYERS - 1 && value < 0 ? 0 : value;
        }
    }
    for (uint32_t i = 0; i < OUTPUTS; i++)
        sum += exp(values[LAYERS & 1][i]);
    for (uint32_t i = 0; i < OUTPUTS; i++)
        scores[i] = values[LAYERS & 1][i] - log(sum);
}

/* The last frames' probabilities are still there: some of them against double precision. The way is one of the graph. */
static const char *check(const void *state)
{
    const struct asr *asr = state;
    double scores[OUTPUTS];
    uint32_t begin = (asr->size - 1) / BATCH * BATCH;
    for (uint32_t frame = begin; frame < asr->size; frame += 1 + (asr->size - begin) / 3) {
        exact(asr, frame, scores);
        for (uint32_t i = 0; i < OUTPUTS; i++)
            if (!(fabs(scores[i] - (double)asr->activations[LAYERS][(size_t)(frame - begin) * OUTPUTS + i]) < 2e-3))
                return "a probability differs from the one in double precision";
        uint32_t place = asr->way[frame];
        if (frame && asr->way[frame - 1] != place && asr->way[frame - 1] != asr->from[place])
            return "the way leaves the graph";
    }
    /* No way is better than the best output in every frame of the last batch. */
    float bound = 0;
    for (uint32_t f = begin; f < asr->size; f++) {
        const float *row = asr->activations[LAYERS] + (size_t)(f - begin) * OUTPUTS;
        float best = row[0];
        for (uint32_t i = 1; i < OUTPUTS; i++)
            best = row[i] > best ? row[i] : best;
        bound += best;
    }
    return asr->score <= bound + 1e-3f ? NULL : "the way is better than any can be";
}

static uint64_t fingerprint(const void *state)
{
    const struct asr *asr = state;
    return program_fingerprint(program_fingerprint(0, &asr->score, sizeof asr->score), asr->way,
                               asr->size * sizeof *asr->way);
}

static void destroy(void *state)
{
    struct asr *asr = state;
    free(asr->activations[0]);
    for (uint32_t l = 0; l < LAYERS; l++) {
        free(asr->layers[l].weights);
        free(asr->layers[l].bias);
        free(asr->activations[l + 1]);
    }
    free(asr->frames);
    free(asr->places[0]);
    free(asr->places[1]);
    free(asr->from);
    free(asr->output);
    free(asr->came);
    free(asr->way);
    free(asr);
}

int main(int count, char **words)
{
    const struct program program = {.name = "dnn-asr",
                                    .what = "speech through a deep neural network and a decoder",
                                    .size_of = "frames",
                                    .size = 100,
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
