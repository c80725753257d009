/* SPDX-License-Identifier: MIT */
/* Support vector regression with radial functions: libsvm trains it; evaluated here, without its allocation for every value. */
#include "model/learners.h"
#include "model/library.h"

#include <libsvm/svm.h>

#include <math.h>
#include <stdlib.h>

/* What libsvm and others take when nothing is said, for features of standard deviation 1. */
#define COST 1
#define TUBE 0.1
#define GAMMA (1.0 / FEATURES)

/* The time of learning grows with the square of the samples: with more than so many, every second, third, … is enough. */
#define MOST_SAMPLES 5000u

/* Of libsvm. */
struct calls {
    __typeof__(svm_set_print_string_function) *set_print;
    __typeof__(svm_train) *train;
    __typeof__(svm_free_and_destroy_model) *destroy;
};

static void say_nothing(const char *text)
{
    (void)text;
}

static enum corun_status take_vectors(const struct svm_model *model, struct svm *svm)
{
    svm->count = (uint32_t)model->l;
    svm->gamma = GAMMA;
    svm->rho = model->rho[0];
    svm->vectors = calloc(svm->count + 1u, sizeof *svm->vectors);
    if (!svm->vectors)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < svm->count; i++) {
        svm->vectors[i].coefficient = model->sv_coef[0][i];
        for (const struct svm_node *node = model->SV[i]; node->index >= 0; node++)
            svm->vectors[i].x[node->index - 1] = node->value;
    }
    return CORUN_OK;
}

enum corun_status svm_learn(struct svm *svm, const struct point *points, uint32_t count, enum predictor_target target,
                            struct corun_diagnostics *list)
{
    struct calls calls;
    const struct library_function functions[] = {{"svm_set_print_string_function", &calls.set_print},
                                                 {"svm_train", &calls.train},
                                                 {"svm_free_and_destroy_model", &calls.destroy}};
    enum corun_status status =
        library_functions(CORUN_SVM_LIBRARY, functions, sizeof functions / sizeof *functions, list);
    if (status != CORUN_OK)
        return status;
    const struct svm_parameter parameter = {.svm_type = EPSILON_SVR,
                                            .kernel_type = RBF,
                                            .gamma = GAMMA,
                                            .cache_size = 64,
                                            .eps = 1e-3,
                                            .C = COST,
                                            .p = TUBE,
                                            .shrinking = 1};
    uint32_t apart = (count + MOST_SAMPLES - 1) / MOST_SAMPLES, taken = (count + apart - 1) / apart;
    struct svm_node *nodes = calloc((size_t)taken * (FEATURES + 1), sizeof *nodes),
                    **rows = calloc(taken, sizeof *rows);
    double *values = calloc(taken, sizeof *values);
    status = nodes && rows && values ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK) {
        for (uint32_t i = 0; i < taken; i++) {
            rows[i] = nodes + (size_t)i * (FEATURES + 1);
            values[i] = points[i * apart].y[target];
            for (uint32_t f = 0; f < FEATURES; f++)
                rows[i][f] = (struct svm_node){(int)f + 1, points[i * apart].x[f]};
            rows[i][FEATURES].index = -1;
        }
        const struct svm_problem problem = {(int)taken, values, rows};
        calls.set_print(say_nothing);
        struct svm_model *model = calls.train(&problem, &parameter);
        status = model ? take_vectors(model, svm) : CORUN_MEMORY;
        calls.destroy(&model);
    }
    free(nodes);
    free(rows);
    free(values);
    return status;
}

double svm_value(const struct svm *svm, const double x[FEATURES])
{
    double y = -svm->rho;
    for (uint32_t i = 0; i < svm->count; i++) {
        double distance = 0;
        for (uint32_t f = 0; f < FEATURES; f++)
            distance += (svm->vectors[i].x[f] - x[f]) * (svm->vectors[i].x[f] - x[f]);
        y += svm->vectors[i].coefficient * exp(-svm->gamma * distance);
    }
    return y;
}
