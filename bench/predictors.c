/* SPDX-License-Identifier: MIT */
/*
 * What a prediction of a service's query costs, by each kind of model, and what learning costs: processor time, over numbers of samples.
 *
 *     bench_predictors [SAMPLES]...
 */
#include "model/predictor.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PREDICTIONS 20000u

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Amdahl's law with misses that fall with the ways, and a tenth of noise. */
static void make_samples(struct predictor_sample *samples, uint32_t count)
{
    srand(1);
    for (uint32_t i = 0; i < count; i++) {
        struct predictor_sample *one = &samples[i];
        one->size = rand() % 1000;
        one->cores = 1 + (uint32_t)rand() % 12;
        one->ways = 1 + (uint32_t)rand() % 20;
        double speed = (0.9 + 0.2 * rand() / RAND_MAX) / (0.1 + 0.9 / one->cores) / (1 + 2.0 / one->ways);
        one->measured[PREDICTOR_DURATION] = 2e5 * (10 + one->size) / speed;
        one->measured[PREDICTOR_IPC] = 0.8 * speed;
    }
}

static int measure(uint32_t count)
{
    struct predictor_sample *samples = calloc(count, sizeof *samples);
    struct predictor *predictor = NULL;
    double sum = 0;
    if (!samples)
        return 1;
    make_samples(samples, count);
    double begin = processor_seconds();
    if (predictor_train(samples, count, 1, NULL, &predictor) != CORUN_OK) {
        free(samples);
        return 1;
    }
    printf("%u samples, learned in %.2f s\n", count, processor_seconds() - begin);
    for (uint32_t kind = 0; kind <= PREDICTOR_BEST; kind++) {
        begin = processor_seconds();
        for (uint32_t i = 0; i < PREDICTIONS; i++) {
            double predicted[PREDICTOR_TARGETS];
            predictor_predict(predictor, (enum predictor_kind)kind, i % 1100, 1 + i % 12, 1 + i % 20, predicted);
            sum += predicted[0];
        }
        double each = (processor_seconds() - begin) / PREDICTIONS;
        printf("  %-8s %8.3f us for duration and IPC, R2 %.4f and %.4f\n", predictor_word((enum predictor_kind)kind),
               1e6 * each, predictor_r2(predictor, (enum predictor_kind)kind, PREDICTOR_DURATION),
               predictor_r2(predictor, (enum predictor_kind)kind, PREDICTOR_IPC));
    }
    free(samples);
    predictor_destroy(predictor);
    return sum > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc < 2)
        status = measure(500) | measure(2000) | measure(5000);
    for (int i = 1; i < argc; i++)
        status |= measure((uint32_t)atoi(argv[i]));
    return status;
}
