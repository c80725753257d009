/* SPDX-License-Identifier: MIT */
/* The models behind a predictor. All see features and targets with mean 0 and standard deviation 1. */
#ifndef CORUN_MODEL_LEARNERS_H
#define CORUN_MODEL_LEARNERS_H

#include "model/predictor.h"

#define FEATURES 3u /* size, cores, ways */
#define HIDDEN 12u
#define NEIGHBOURS 5u

struct point {
    double x[FEATURES];
    double y[PREDICTOR_TARGETS];
};

/* K nearest neighbours: the samples in order of size. */
struct knn {
    uint32_t count;
    struct point *points;
};

struct linear {
    double weights[FEATURES + 1]; /* the last one alone */
};

/* tanh in the hidden layer, and a linear output; the last weight of each neuron is its bias. */
struct network {
    double hidden[HIDDEN][FEATURES + 1];
    double output[HIDDEN + 1];
};

/* Σ coefficient · exp(−gamma ‖x − vector‖²) − rho */
struct svm {
    uint32_t count;
    double gamma, rho;
    struct support_vector {
        double x[FEATURES], coefficient;
    } * vectors;
};

struct predictor {
    double x_mean[FEATURES], x_deviation[FEATURES];
    double y_mean[PREDICTOR_TARGETS], y_deviation[PREDICTOR_TARGETS], y_least[PREDICTOR_TARGETS];
    size_t learned, held_out;
    double r2[PREDICTOR_KIND_COUNT][PREDICTOR_TARGETS];
    bool alike[PREDICTOR_TARGETS]; /* all samples to judge by, when it was trained: r2 is 1 or 0 then, right or not */
    struct knn knn;
    struct linear linear[PREDICTOR_TARGETS], sgd[PREDICTOR_TARGETS];
    struct network network[PREDICTOR_TARGETS];
    struct svm svm[PREDICTOR_TARGETS];
    enum predictor_work work;
};

/* splitmix64. */
uint64_t learner_random(uint64_t *state);

/* Sorts the points, which stay the caller's. */
void knn_learn(struct knn *knn, struct point *points, uint32_t count);
void knn_predict(const struct knn *knn, const double x[FEATURES], double y[PREDICTOR_TARGETS]);
/* Least squares. MEMORY; NOT_FOUND, with a message: the library that does it. */
enum corun_status linear_learn(struct linear *linear, const struct point *points, uint32_t count,
                               enum predictor_target target, struct corun_diagnostics *list);
void sgd_learn(struct linear *linear, const struct point *points, uint32_t count, enum predictor_target target,
               uint64_t seed);
double linear_predict(const struct linear *linear, const double x[FEATURES]);
/* MEMORY, NOT_FOUND. */
enum corun_status network_learn(struct network *network, const struct point *points, uint32_t count,
                                enum predictor_target target, uint64_t seed, struct corun_diagnostics *list);
double network_predict(const struct network *network, const double x[FEATURES]);
/* The vectors are allocated. MEMORY, NOT_FOUND. */
enum corun_status svm_learn(struct svm *svm, const struct point *points, uint32_t count, enum predictor_target target,
                            struct corun_diagnostics *list);
double svm_value(const struct svm *svm, const double x[FEATURES]);

#endif
