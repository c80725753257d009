/* SPDX-License-Identifier: MIT */
/*
 * crf: labels the words of sentences with a linear-chain conditional random field (Lafferty, McCallum, Pereira, ICML 2001): weights of
 * hashed features are added up for each word and label, and Viterbi's algorithm finds the best labels of the sentence. Stands for CRF of the
 * Sirius suite.
 *
 * Data: 12 MB of weights, read at random, a row of 48 bytes for each of the 20 features of a word. Words are as frequent as in language
 * (Zipf), so that some rows are read all the time and most hardly ever. A query is a number of sentences; 64 sentences are a task.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum { LABELS = 12, ROWS = 1 << 18, FEATURES = 20, WORDS = 50000, LONGEST = 40, TASK_SENTENCES = 64 };

struct crf {
    float *weights;                    /* [ROWS][LABELS] */
    float transitions[LABELS][LABELS]; /* [from][to] */
    uint32_t *first;                   /* [size + 1]: where a sentence's words begin */
    uint32_t *words;                   /* of all sentences */
    uint8_t *labels;                   /* the answer, for each word */
    float *scores;                     /* [size] */
    float *frequency;                  /* [WORDS]: cumulative */
    uint32_t size;
};

static void *create(uint32_t size, uint64_t seed)
{
    struct crf *crf = program_allocate(1, sizeof *crf);
    crf->weights = program_allocate((size_t)ROWS * LABELS, sizeof(float));
    crf->first = program_allocate(size + 1u, sizeof *crf->first);
    crf->words = program_allocate((size_t)size * LONGEST, sizeof *crf->words);
    crf->labels = program_allocate((size_t)size * LONGEST, 1);
    crf->scores = program_allocate(size, sizeof(float));
    crf->frequency = program_allocate(WORDS, sizeof(float));
    for (size_t i = 0; i < (size_t)ROWS * LABELS; i++)
        crf->weights[i] = program_random_normal(seed, i);
    for (uint32_t i = 0; i < LABELS * LABELS; i++)
        crf->transitions[i / LABELS][i % LABELS] = program_random_normal(~seed, i);
    double sum = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        crf->frequency[i] = (float)(sum += 1.0 / (i + 1));
    for (uint32_t i = 0; i < WORDS; i++)
        crf->frequency[i] /= (float)sum;
    return crf;
}

static uint32_t draw_word(const struct crf *crf, float at)
{
    uint32_t low = 0, high = WORDS - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (crf->frequency[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct crf *crf = state;
    crf->size = size;
    for (uint32_t s = 0, word = 0; s < size; s++) {
        uint32_t length = 2 + (uint32_t)(program_random(~seed, s) % (LONGEST - 1));
        crf->first[s] = word;
        for (uint32_t i = 0; i < length; i++, word++)
            crf->words[word] = draw_word(crf, program_random_float(seed, word));
        crf->first[s + 1] = word;
    }
}

/* The rows of a word's features: what surrounds it, alone, in pairs and in threes. */
static void find_rows(const uint32_t *words, uint32_t count, uint32_t at, uint32_t rows[FEATURES])
{
    uint32_t around[5];
    for (uint32_t i = 0; i < 5; i++) /* beyond the ends of the sentence: no word */
        around[i] = at + i >= 2 && at + i - 2 < count ? words[at + i - 2] : WORDS;
    for (uint32_t i = 0; i < FEATURES; i++) {
        uint64_t key = i;
        if (i < 5)
            key = key << 40 | around[i];
        else if (i < 15) /* two words of the five */
            key = (key << 20 | around[(i - 5) % 5]) << 20 | around[((i - 5) % 5 + 1 + (i - 5) / 5) % 5];
        else
            key = ((key << 20 | around[(i - 15) % 3]) << 19 | around[(i - 15) % 3 + 1]) ^ (uint64_t)around[2] << 44;
        rows[i] = (uint32_t)(program_random(12345, key) % ROWS);
    }
}

static void score_word(const struct crf *crf, uint32_t sentence, uint32_t at, float scores[LABELS])
{
    uint32_t rows[FEATURES], first = crf->first[sentence];
    find_rows(crf->words + first, crf->first[sentence + 1] - first, at, rows);
    for (uint32_t l = 0; l < LABELS; l++)
        scores[l] = 0;
    for (uint32_t f = 0; f < FEATURES; f++)
        for (uint32_t l = 0; l < LABELS; l++)
            scores[l] += crf->weights[(size_t)rows[f] * LABELS + l];
}

static void label_sentence(struct crf *crf, uint32_t sentence)
{
    uint32_t first = crf->first[sentence], count = crf->first[sentence + 1] - first, best = 0;
    float way[LABELS], next[LABELS], own[LABELS];
    uint8_t from[LONGEST][LABELS] = {{0}};
    score_word(crf, sentence, 0, way);
    for (uint32_t i = 1; i < count; i++) {
        score_word(crf, sentence, i, own);
        for (uint32_t to = 0; to < LABELS; to++) {
            next[to] = way[0] + crf->transitions[0][to];
            for (uint32_t l = 1; l < LABELS; l++)
                if (way[l] + crf->transitions[l][to] > next[to]) {
                    next[to] = way[l] + crf->transitions[l][to];
                    from[i][to] = (uint8_t)l;
                }
        }
        for (uint32_t to = 0; to < LABELS; to++)
            way[to] = next[to] + own[to];
    }
    for (uint32_t l = 1; l < LABELS; l++)
        best = way[l] > way[best] ? l : best;
    crf->scores[sentence] = way[best];
    for (uint32_t i = count; i-- > 0; best = from[i][best])
        crf->labels[first + i] = (uint8_t)best;
}

static void label_some(void *user, uint32_t task)
{
    struct crf *crf = user;
    for (uint32_t s = task * TASK_SENTENCES; s < (task + 1) * TASK_SENTENCES && s < crf->size; s++)
        label_sentence(crf, s);
}

static void run(void *state, struct tasks *tasks)
{
    struct crf *crf = state;
    tasks_phase(tasks, "label", label_some, crf, (crf->size + TASK_SENTENCES - 1) / TASK_SENTENCES);
}

static double score_labels(const struct crf *crf, uint32_t sentence, const uint8_t *labels, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        float own[LABELS];
        score_word(crf, sentence, i, own);
        sum += (double)own[labels[i]] + (i ? (double)crf->transitions[labels[i - 1]][labels[i]] : 0);
    }
    return sum;
}

/* Labels have the score that is told; for short sentences, no others have a higher one. */
static const char *check(const void *state)
{
    const struct crf *crf = state;
    for (uint32_t s = 0; s < crf->size; s++) {
        uint32_t count = crf->first[s + 1] - crf->first[s], ways = 1;
        double score = score_labels(crf, s, crf->labels + crf->first[s], count);
        if (!(fabs(score - (double)crf->scores[s]) < 1e-3))
            return "labels do not have their score";
        for (uint32_t i = 0; i < count && count <= 3; i++)
            ways *= LABELS;
        for (uint32_t w = 0; w < ways && count <= 3; w++) {
            const uint8_t labels[3] = {(uint8_t)(w % LABELS), (uint8_t)(w / LABELS % LABELS),
                                       (uint8_t)(w / LABELS / LABELS)};
            if (score_labels(crf, s, labels, count) > score + 1e-3)
                return "other labels have a higher score";
        }
    }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct crf *crf = state;
    return program_fingerprint(program_fingerprint(0, crf->labels, crf->first[crf->size]), crf->scores,
                               crf->size * sizeof *crf->scores);
}

static void destroy(void *state)
{
    struct crf *crf = state;
    free(crf->weights);
    free(crf->first);
    free(crf->words);
    free(crf->labels);
    free(crf->scores);
    free(crf->frequency);
    free(crf);
}

int main(int count, char **words)
{
    const struct program program = {.name = "crf",
                                    .what = "labels of words by a conditional random field",
                                    .size_of = "sentences",
                                    .size = 4000,
                                    .least = 1,
                                    .most = 100000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
