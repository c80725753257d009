/* SPDX-License-Identifier: MIT */
/*
 * Predictors in files: JSON, so that one can be looked at. Everything that was learned is in `predictor`, and `digest` is the SHA-256 of
 * that object as it is written without spaces and with its members in order. What a prediction relies on is checked here: it checks nothing.
 */
#include "model/learners.h"

#include <jansson.h>
#include <sha2.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "corun predictor"
#define CANONICAL (JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17))
#define MOST_NUMBER 1e30

static bool digest_of(const json_t *content, char digest[SHA256_DIGEST_STRING_LENGTH])
{
    char *text = json_dumps(content, CANONICAL);
    if (!text)
        return false;
    SHA256Data((const uint8_t *)text, strlen(text), digest);
    free(text);
    return true;
}

/* ---- writing ---- */

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_real(values[i]));
    if (json_array_size(array) != count) {
        json_decref(array);
        return NULL;
    }
    return array;
}

/* Rows of `count` numbers that lie `stride` bytes apart. */
static json_t *rows(const void *first, size_t stride, size_t row_count, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < row_count; i++)
        json_array_append_new(array, numbers((const double *)(const void *)((const char *)first + i * stride), count));
    if (json_array_size(array) != row_count) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *target_object(const struct predictor *predictor, uint32_t target)
{
    const struct network *network = &predictor->network[target];
    const struct svm *svm = &predictor->svm[target];
    double r2[PREDICTOR_KIND_COUNT];
    for (uint32_t kind = 0; kind < PREDICTOR_KIND_COUNT; kind++)
        r2[kind] = predictor->r2[kind][target];
    return json_pack("{s:f,s:f,s:f,s:o,s:o,s:o,s:o,s:o,s:f,s:f,s:o}", "mean", predictor->y_mean[target], "deviation",
                     predictor->y_deviation[target], "least", predictor->y_least[target], "r2",
                     numbers(r2, PREDICTOR_KIND_COUNT), "linear",
                     numbers(predictor->linear[target].weights, FEATURES + 1), "sgd",
                     numbers(predictor->sgd[target].weights, FEATURES + 1), "hidden",
                     rows(network->hidden, sizeof network->hidden[0], HIDDEN, FEATURES + 1), "output",
                     numbers(network->output, HIDDEN + 1), "gamma", svm->gamma, "rho", svm->rho, "vectors",
                     rows(svm->vectors, sizeof *svm->vectors, svm->count, FEATURES + 1));
}

/* What has counted instructions says nothing of it, as files from before there was anything else. */
static json_t *content_object(const struct predictor *predictor, const char *name)
{
    json_t *object = json_pack(
        "{s:s,s:I,s:I,s:o,s:o,s:o,s:o,s:o}", "name", name, "learned", (json_int_t)predictor->learned, "held_out",
        (json_int_t)predictor->held_out, "means", numbers(predictor->x_mean, FEATURES), "deviations",
        numbers(predictor->x_deviation, FEATURES), "points",
        rows(predictor->knn.points, sizeof *predictor->knn.points, predictor->knn.count, FEATURES + PREDICTOR_TARGETS),
        "duration", target_object(predictor, PREDICTOR_DURATION), "ipc", target_object(predictor, PREDICTOR_IPC));
    if (object && predictor->work != PREDICTOR_WORK_COUNTED &&
        json_object_set_new(object, "work", json_string(predictor_work_word(predictor->work)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

enum corun_status predictor_write(const struct predictor *predictor, const char *name, FILE *stream)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    json_t *content = content_object(predictor, name), *file = NULL;
    char *text = NULL;
    if (content && digest_of(content, digest))
        file = json_pack("{s:s,s:i,s:s,s:O}", "format", FORMAT, "version", (int)PREDICTOR_FILE_VERSION, "digest",
                         digest, "predictor", content);
    if (file)
        text = json_dumps(file, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text)
        fprintf(stream, "%s\n", text);
    json_decref(content);
    json_decref(file);
    enum corun_status status = text ? CORUN_OK : CORUN_MEMORY;
    free(text);
    return status;
}

/* ---- reading ---- */

struct reader {
    const char *file;
    struct corun_diagnostics *list;
    enum corun_status status;
};

static bool refuse(struct reader *reader, enum corun_status status, const char *what, const char *wanted)
{
    if (reader->status == CORUN_OK)
        reader->status =
            corun_report(reader->list, status, (struct corun_place){reader->file, 0, 0}, "%s: %s", what, wanted);
    return false;
}

static bool read_number(struct reader *reader, const json_t *value, const char *what, double least, double *number)
{
    if (!json_is_number(value))
        return refuse(reader, CORUN_SYNTAX, what, "a number is wanted");
    *number = json_number_value(value);
    if (!(*number >= least) || !(*number <= MOST_NUMBER))
        return refuse(reader, CORUN_ARGUMENT, what, "out of range");
    return true;
}

static bool read_numbers(struct reader *reader, const json_t *array, const char *what, double least, double *values,
                         size_t count)
{
    if (!json_is_array(array) || json_array_size(array) != count)
        return refuse(reader, CORUN_SYNTAX, what, "a list of another length is wanted");
    for (size_t i = 0; i < count; i++)
        if (!read_number(reader, json_array_get(array, i), what, least, &values[i]))
            return false;
    return true;
}

/* *result is allocated: rows of `stride` bytes that begin with `count` numbers. */
static bool read_rows(struct reader *reader, const json_t *array, const char *what, size_t most, size_t stride,
                      size_t count, void **result, uint32_t *row_count)
{
    size_t length = json_array_size(array);
    if (!json_is_array(array) || length > most)
        return refuse(reader, CORUN_SYNTAX, what, "a list is wanted, and not one that long");
    *result = calloc(length + 1, stride);
    if (!*result)
        return refuse(reader, CORUN_MEMORY, what, "the host is out of memory");
    for (size_t i = 0; i < length; i++)
        if (!read_numbers(reader, json_array_get(array, i), what, -MOST_NUMBER,
                          (double *)(void *)((char *)*result + i * stride), count))
            return false;
    *row_count = (uint32_t)length;
    return true;
}

static bool read_target(struct reader *reader, const json_t *object, struct predictor *predictor, uint32_t target)
{
    struct network *network = &predictor->network[target];
    struct svm *svm = &predictor->svm[target];
    double r2[PREDICTOR_KIND_COUNT];
    void *vectors = NULL;
    const json_t *hidden = json_object_get(object, "hidden");
    bool fine =
        read_number(reader, json_object_get(object, "mean"), "mean", 0, &predictor->y_mean[target]) &&
        read_number(reader, json_object_get(object, "deviation"), "deviation", 1e-30,
                    &predictor->y_deviation[target]) &&
        read_number(reader, json_object_get(object, "least"), "least", 1e-30, &predictor->y_least[target]) &&
        read_numbers(reader, json_object_get(object, "r2"), "r2", -MOST_NUMBER, r2, PREDICTOR_KIND_COUNT) &&
        read_numbers(reader, json_object_get(object, "linear"), "linear", -MOST_NUMBER,
                     predictor->linear[target].weights, FEATURES + 1) &&
        read_numbers(reader, json_object_get(object, "sgd"), "sgd", -MOST_NUMBER, predictor->sgd[target].weights,
                     FEATURES + 1) &&
        read_numbers(reader, json_object_get(object, "output"), "output", -MOST_NUMBER, network->output, HIDDEN + 1) &&
        read_number(reader, json_object_get(object, "gamma"), "gamma", 0, &svm->gamma) &&
        read_number(reader, json_object_get(object, "rho"), "rho", -MOST_NUMBER, &svm->rho);
    if (fine && (!json_is_array(hidden) || json_array_size(hidden) != HIDDEN))
        fine = refuse(reader, CORUN_SYNTAX, "hidden", "a list of another length is wanted");
    for (uint32_t h = 0; h < HIDDEN && fine; h++)
        fine =
            read_numbers(reader, json_array_get(hidden, h), "hidden", -MOST_NUMBER, network->hidden[h], FEATURES + 1);
    fine = fine && read_rows(reader, json_object_get(object, "vectors"), "vectors", PREDICTOR_MOST_SAMPLES,
                             sizeof *svm->vectors, FEATURES + 1, &vectors, &svm->count);
    svm->vectors = vectors;
    for (uint32_t kind = 0; kind < PREDICTOR_KIND_COUNT && fine; kind++)
        predictor->r2[kind][target] = r2[kind];
    return fine;
}

static bool read_work(struct reader *reader, const json_t *word, struct predictor *predictor)
{
    predictor->work = PREDICTOR_WORK_COUNTED;
    while (word && predictor->work < PREDICTOR_WORK_COUNT &&
           (!json_is_string(word) || strcmp(json_string_value(word), predictor_work_word(predictor->work)) != 0))
        predictor->work++;
    return predictor->work < PREDICTOR_WORK_COUNT || refuse(reader, CORUN_SYNTAX, "work", "an unknown word");
}

static bool read_content(struct reader *reader, const json_t *content, struct predictor *predictor)
{
    double learned, held_out;
    void *points = NULL;
    bool fine =
        read_work(reader, json_object_get(content, "work"), predictor) &&
        read_number(reader, json_object_get(content, "learned"), "learned", 1, &learned) &&
        read_number(reader, json_object_get(content, "held_out"), "held_out", 0, &held_out) &&
        read_numbers(reader, json_object_get(content, "means"), "means", -MOST_NUMBER, predictor->x_mean, FEATURES) &&
        read_numbers(reader, json_object_get(content, "deviations"), "deviations", 1e-30, predictor->x_deviation,
                     FEATURES) &&
        read_rows(reader, json_object_get(content, "points"), "points", PREDICTOR_MOST_SAMPLES, sizeof(struct point),
                  FEATURES + PREDICTOR_TARGETS, &points, &predictor->knn.count);
    predictor->knn.points = points;
    if (fine && (predictor->knn.count == 0 || learned != predictor->knn.count || held_out > PREDICTOR_MOST_SAMPLES))
        fine = refuse(reader, CORUN_ARGUMENT, "points", "there are not as many as were learned");
    if (fine) {
        predictor->learned = (size_t)learned;
        predictor->held_out = (size_t)held_out;
        knn_learn(&predictor->knn, predictor->knn.points, predictor->knn.count);
    }
    return fine && read_target(reader, json_object_get(content, "duration"), predictor, PREDICTOR_DURATION) &&
           read_target(reader, json_object_get(content, "ipc"), predictor, PREDICTOR_IPC);
}

/* What it is, which version, and whether it is as it was written. */
static bool check_envelope(struct reader *reader, const json_t *file)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    const char *format = json_string_value(json_object_get(file, "format"));
    const char *stated = json_string_value(json_object_get(file, "digest"));
    const json_t *version = json_object_get(file, "version"), *content = json_object_get(file, "predictor");
    if (!format || strcmp(format, FORMAT) != 0 || !json_is_integer(version) || !stated || !json_is_object(content))
        return refuse(reader, CORUN_SYNTAX, "no predictor", "`corun host train` writes one");
    if (json_integer_value(version) != PREDICTOR_FILE_VERSION)
        return refuse(reader, CORUN_UNSUPPORTED, "a predictor of another version",
                      "train it again from its samples with this corun");
    if (!digest_of(content, digest))
        return refuse(reader, CORUN_MEMORY, "predictor", "the host is out of memory");
    if (strcmp(digest, stated) != 0)
        return refuse(reader, CORUN_MISMATCH, "the digest is not that of the content",
                      "the file was changed or damaged; train it again from its samples");
    return true;
}

enum corun_status predictor_read(const char *file, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct predictor **result)
{
    struct reader reader = {.file = file, .list = list};
    json_error_t error;
    *result = NULL;
    json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!object)
        return corun_report(list, CORUN_SYNTAX,
                            (struct corun_place){file, (uint32_t)error.line, (uint32_t)error.column},
                            "no predictor: %s", error.text);
    struct predictor *predictor = calloc(1, sizeof *predictor);
    if (!predictor)
        reader.status = CORUN_MEMORY;
    else if (check_envelope(&reader, object))
        read_content(&reader, json_object_get(object, "predictor"), predictor);
    json_decref(object);
    if (reader.status == CORUN_OK)
        *result = predictor;
    else
        predictor_destroy(predictor);
    return reader.status;
}
