/* SPDX-License-Identifier: MIT */
/* Predictors: the samples are divided and scaled, every kind learns, the samples that were held out judge, the best one is chosen. */
#include "model/learners.h"

#include <math.h>
#include <stdlib.h>

#define HELD_OUT_OF 5u /* every fifth sample after they were shuffled */
#define LEAST_PART 0.01
#define ROUNDING 1e-24 /* part of the square of a mean: a variance below it is none */

static const char *const words[] = {
#define PREDICTOR_KIND_WORD(name, word, meaning) word,
    PREDICTOR_KINDS(PREDICTOR_KIND_WORD)
#undef PREDICTOR_KIND_WORD
};

const char *predictor_word(enum predictor_kind kind)
{
    return kind < PREDICTOR_KIND_COUNT ? words[kind] : "best";
}

static const char *const work_words[] = {
#define PREDICTOR_WORK_WORD(name, word, meaning) word,
    PREDICTOR_WORKS(PREDICTOR_WORK_WORD)
#undef PREDICTOR_WORK_WORD
};

const char *predictor_work_word(enum predictor_work work)
{
    return work_words[work];
}

void predictor_set_work(struct predictor *predictor, enum predictor_work work)
{
    predictor->work = work;
}

enum predictor_work predictor_work(const struct predictor *predictor)
{
    return predictor->work;
}

uint64_t learner_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- scaling ---- */

static void scale_input(const struct predictor *predictor, double size, uint32_t cores, uint32_t ways,
                        double x[FEATURES])
{
    const double raw[FEATURES] = {size, cores, ways};
    for (uint32_t f = 0; f < FEATURES; f++)
        x[f] = (raw[f] - predictor->x_mean[f]) / predictor->x_deviation[f];
}

/* Mean and standard deviation; 1 in place of 0, for what never changes. */
static void measure_spread(const double *values, size_t count, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    *mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    double root = sqrt(squares / (double)count);
    *deviation = root > 0 && isfinite(1 / root) ? root : 1;
}

static enum corun_status find_scales(struct predictor *predictor, const struct predictor_sample *samples, size_t count)
{
    double *values = malloc(count * sizeof *values);
    if (!values)
        return CORUN_MEMORY;
    for (uint32_t f = 0; f < FEATURES; f++) {
        for (size_t i = 0; i < count; i++)
            values[i] = f == 0 ? samples[i].size : f == 1 ? samples[i].cores : samples[i].ways;
        measure_spread(values, count, &predictor->x_mean[f], &predictor->x_deviation[f]);
    }
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
        double least = INFINITY;
        for (size_t i = 0; i < count; i++) {
            values[i] = samples[i].measured[t];
            least = fmin(least, values[i]);
        }
        predictor->y_least[t] = LEAST_PART * least;
        measure_spread(values, count, &predictor->y_mean[t], &predictor->y_deviation[t]);
    }
    free(values);
    return CORUN_OK;
}

/* ---- learning ---- */

static enum corun_status check_samples(const struct predictor_sample *samples, size_t count,
                                       struct corun_diagnostics *list)
{
    if (count < PREDICTOR_LEAST_SAMPLES || count > PREDICTOR_MOST_SAMPLES)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%zu samples: a predictor learns from %u to %u", count,
                            PREDICTOR_LEAST_SAMPLES, PREDICTOR_MOST_SAMPLES);
    for (size_t i = 0; i < count; i++) {
        const struct predictor_sample *one = &samples[i];
        bool fine = isfinite(one->size) && fabs(one->size) <= 1e15;
        for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++)
            fine = fine && one->measured[t] >= 1e-12 && one->measured[t] <= 1e18;
        if (!fine)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "sample %zu: size %g, duration %g ns, IPC %g: sizes are finite, the others above 0",
                                i + 1, one->size, one->measured[PREDICTOR_DURATION], one->measured[PREDICTOR_IPC]);
    }
    return CORUN_OK;
}

static enum corun_status learn_all(struct predictor *predictor, struct point *points, uint32_t count, uint64_t seed,
                                   struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    knn_learn(&predictor->knn, points, count);
    for (uint32_t t = 0; t < PREDICTOR_TARGETS && status == CORUN_OK; t++) {
        enum predictor_target target = (enum predictor_target)t;
        status = linear_learn(&predictor->linear[t], points, count, target, list);
        sgd_learn(&predictor->sgd[t], points, count, target, seed + t);
        if (status == CORUN_OK)
            status = network_learn(&predictor->network[t], points, count, target, seed + PREDICTOR_TARGETS + t, list);
        if (status == CORUN_OK)
            status = svm_learn(&predictor->svm[t], points, count, target, list);
    }
    return status;
}

static void judge(struct predictor *predictor, const struct predictor_sample *samples, size_t count)
{
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
        double mean = 0, all = 0;
        for (size_t i = 0; i < count; i++)
            mean += samples[i].measured[t] / (double)count;
        for (size_t i = 0; i < count; i++)
            all += (samples[i].measured[t] - mean) * (samples[i].measured[t] - mean);
        predictor->alike[t] = all <= ROUNDING * mean * mean * (double)count;
        for (uint32_t kind = 0; kind < PREDICTOR_KIND_COUNT; kind++) {
            double off = 0, predicted[PREDICTOR_TARGETS];
            for (size_t i = 0; i < count; i++) {
                predictor_predict(predictor, (enum predictor_kind)kind, samples[i].size, samples[i].cores,
                                  samples[i].ways, predicted);
                off += (predicted[t] - samples[i].measured[t]) * (predicted[t] - samples[i].measured[t]);
            }
            predictor->r2[kind][t] = !predictor->alike[t] ? 1 - off / all : off > 1e-12 * mean * mean ? 0 : 1;
        }
    }
}

enum corun_status predictor_train(const struct predictor_sample *samples, size_t count, uint64_t seed,
                                  struct corun_diagnostics *list, struct predictor **result)
{
    *result = NULL;
    enum corun_status status = check_samples(samples, count, list);
    if (status != CORUN_OK)
        return status;
    size_t held_out = count / HELD_OUT_OF, learned = count - held_out;
    struct predictor *predictor = calloc(1, sizeof *predictor);
    struct predictor_sample *shuffled = malloc(count * sizeof *shuffled);
    struct point *points = calloc(learned, sizeof *points);
    status = predictor && shuffled && points ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK) {
        uint64_t state = seed;
        for (size_t i = 0; i < count; i++) {
            size_t other = learner_random(&state) % (i + 1);
            shuffled[i] = shuffled[other];
            shuffled[other] = samples[i];
        }
        predictor->learned = learned;
        predictor->held_out = held_out;
        predictor->knn.points = points;
        status = find_scales(predictor, shuffled + held_out, learned);
        for (size_t i = 0; i < learned; i++) {
            const struct predictor_sample *one = &shuffled[held_out + i];
            scale_input(predictor, one->size, one->cores, one->ways, points[i].x);
            for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++)
                points[i].y[t] = (one->measured[t] - predictor->y_mean[t]) / predictor->y_deviation[t];
        }
        points = NULL;
    }
    if (status == CORUN_OK)
        status = learn_all(predictor, predictor->knn.points, (uint32_t)learned, seed, list);
    if (status == CORUN_OK)
        judge(predictor, shuffled, held_out);
    free(points);
    free(shuffled);
    if (status == CORUN_OK)
        *result = predictor;
    else
        predictor_destroy(predictor);
    return status;
}

void predictor_destroy(struct predictor *predictor)
{
    if (!predictor)
        return;
    free(predictor->knn.points);
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++)
        free(predictor->svm[t].vectors);
    free(predictor);
}

/* ---- asking ---- */

double predictor_r2(const struct predictor *predictor, enum predictor_kind kind, enum predictor_target target)
{
    return kind < PREDICTOR_KIND_COUNT ? predictor->r2[kind][target]
                                       : predictor->r2[predictor_chosen(predictor, target)][target];
}

bool predictor_has_r2(const struct predictor *predictor, enum predictor_target target)
{
    return !predictor->alike[target];
}

enum predictor_kind predictor_chosen(const struct predictor *predictor, enum predictor_target target)
{
    enum predictor_kind best = PREDICTOR_KNN;
    for (uint32_t kind = 0; kind < PREDICTOR_KIND_COUNT; kind++)
        if (kind != PREDICTOR_SVM && predictor->r2[kind][target] > predictor->r2[best][target])
            best = (enum predictor_kind)kind;
    return best;
}

void predictor_sample_counts(const struct predictor *predictor, size_t *learned, size_t *held_out)
{
    *learned = predictor->learned;
    *held_out = predictor->held_out;
}

static double predict_scaled(const struct predictor *predictor, enum predictor_kind kind, enum predictor_target target,
                             const double x[FEATURES])
{
    double both[PREDICTOR_TARGETS];
    switch (kind) {
    case PREDICTOR_LINEAR:
        return linear_predict(&predictor->linear[target], x);
    case PREDICTOR_SGD:
        return linear_predict(&predictor->sgd[target], x);
    case PREDICTOR_NETWORK:
        return network_predict(&predictor->network[target], x);
    case PREDICTOR_SVM:
        return svm_value(&predictor->svm[target], x);
    default:
        knn_predict(&predictor->knn, x, both);
        return both[target];
    }
}

void predictor_predict(const struct predictor *predictor, enum predictor_kind kind, double size, uint32_t cores,
                       uint32_t ways, double predicted[PREDICTOR_TARGETS])
{
    double x[FEATURES];
    scale_input(predictor, size, cores, ways, x);
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
        enum predictor_target target = (enum predictor_target)t;
        enum predictor_kind own = kind == PREDICTOR_BEST ? predictor_chosen(predictor, target) : kind;
        double y = predict_scaled(predictor, own, target, x) * predictor->y_deviation[t] + predictor->y_mean[t];
        predicted[t] = y > predictor->y_least[t] && isfinite(y) ? y : predictor->y_least[t];
    }
}
