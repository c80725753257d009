/* SPDX-License-Identifier: MIT */
/*
 * Predictors of a service's queries: from the size of the input, cores and ways of the last-level cache to duration and instructions per cycle
 * (Wang, The Architecture Designs and Scheduling Algorithms for Heterogeneous Datacenters, thesis, SJTU 2017, section 5.4.1). Several models
 * learn from 80 % of the samples; the other 20 % say how well each predicts, and the best one is chosen for duration and IPC apart.
 */
#ifndef CORUN_MODEL_PREDICTOR_H
#define CORUN_MODEL_PREDICTOR_H

#include "corun/status.h"

#include <stdio.h>

/* K(NAME, word, meaning) */
#define PREDICTOR_KINDS(K) \
    K(KNN, "knn", "the mean of the five nearest samples") \
    K(LINEAR, "linear", "linear regression") \
    K(SGD, "sgd", "a linear function by stochastic gradient descent") \
    K(NETWORK, "network", "a neural network with one hidden layer") \
    K(SVM, "svm", "support vector regression")

enum predictor_kind {
#define PREDICTOR_KIND_ENUM(name, word, meaning) PREDICTOR_##name,
    PREDICTOR_KINDS(PREDICTOR_KIND_ENUM)
#undef PREDICTOR_KIND_ENUM
        PREDICTOR_KIND_COUNT,
    PREDICTOR_BEST = PREDICTOR_KIND_COUNT /* for each target the kind that was chosen */
};
const char *predictor_word(enum predictor_kind kind);

enum predictor_target { PREDICTOR_DURATION, PREDICTOR_IPC, PREDICTOR_TARGETS };

/*
 * What the instructions of samples were counted by. Counted work and progress cannot be held against each other: a predictor knows which it learned.
 * W(NAME, word, meaning)
 */
#define PREDICTOR_WORKS(W) \
    W(COUNTED, "counted", "instructions that the processor retired") \
    W(PROGRESS, "progress", "a thousand instructions for each unit of the size, as far as the query is")

enum predictor_work {
#define PREDICTOR_WORK_ENUM(name, word, meaning) PREDICTOR_WORK_##name,
    PREDICTOR_WORKS(PREDICTOR_WORK_ENUM)
#undef PREDICTOR_WORK_ENUM
        PREDICTOR_WORK_COUNT
};
const char *predictor_work_word(enum predictor_work work);

/* One query alone on the host. */
struct predictor_sample {
    double size;
    uint32_t cores, ways;
    double measured[PREDICTOR_TARGETS]; /* duration in ns, instructions per cycle: finite and above 0 */
};

#define PREDICTOR_LEAST_SAMPLES 10u
#define PREDICTOR_MOST_SAMPLES 100000u

struct predictor;

/*
 * Learns all kinds. The samples are divided at random by `seed`; the same samples and seed give the same predictor. ARGUMENT: too few or
 * too many samples, or one that is not finite or not above 0; MEMORY.
 */
enum corun_status predictor_train(const struct predictor_sample *samples, size_t count, uint64_t seed,
                                  struct corun_diagnostics *list, struct predictor **predictor);
void predictor_destroy(struct predictor *predictor);
/* COUNTED unless it is said otherwise. */
void predictor_set_work(struct predictor *predictor, enum predictor_work work);
enum predictor_work predictor_work(const struct predictor *predictor);

/*
 * Coefficient of determination on the samples that were held out: 1 is perfect, 0 no better than their mean; may be below 0. Where they are all alike it is
 * not defined, and this is 1 of a kind that is right, else 0.
 */
double predictor_r2(const struct predictor *predictor, enum predictor_kind kind, enum predictor_target target);
/* Whether it is defined, of a predictor that has been trained, not read. */
bool predictor_has_r2(const struct predictor *predictor, enum predictor_target target);
/*
 * The kind of the greatest R² but for SVM, which goes through all its vectors for each prediction: the thesis rules it out for that
 * (section 5.4.1.2), and bench_predictors says what it costs here.
 */
enum predictor_kind predictor_chosen(const struct predictor *predictor, enum predictor_target target);
/* The sizes of the two parts. */
void predictor_sample_counts(const struct predictor *predictor, size_t *learned, size_t *held_out);

/*
 * Predicts both targets: finite, above 0. Cannot fail, allocates nothing, and may be called by several threads at once. Beyond what was learned it
 * is what the model makes of it, but never below a hundredth of the smallest value that was learned.
 */
void predictor_predict(const struct predictor *predictor, enum predictor_kind kind, double size, uint32_t cores,
                       uint32_t ways, double predicted[PREDICTOR_TARGETS]);

/* ---- files ---- */

#define PREDICTOR_FILE_VERSION 1u

/*
 * JSON with a version, and a digest of what is in it. `name` says whose predictor it is. MEMORY; write errors are left to the stream.
 */
enum corun_status predictor_write(const struct predictor *predictor, const char *name, FILE *stream);
/*
 * From text; `file` is for messages. SYNTAX: no JSON, or not of this form; UNSUPPORTED: of another version; MISMATCH: the digest is not
 * that of the content, so that it was changed or damaged; ARGUMENT: a number is out of its range; MEMORY.
 */
enum corun_status predictor_read(const char *file, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct predictor **predictor);

/*
 * Samples from CSV: a line of titles, in any order `size`, `cores`, `ways`, `duration_ns`, `ipc`, perhaps `work` (a word of PREDICTOR_WORKS, the same in all
 * lines; without it they are COUNTED), others are passed over; then numbers. *samples is the caller's to free. SYNTAX, ARGUMENT with line and column; MEMORY.
 */
enum corun_status predictor_samples_read(const char *file, const char *text, size_t bytes,
                                         struct corun_diagnostics *list, struct predictor_sample **samples,
                                         size_t *count, enum predictor_work *work);

#endif
