/* SPDX-License-Identifier: MIT */
/* Predictors: what each kind learns, by hand and on functions that are known; files that are damaged; samples that are wrong. */
#include "model/learners.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))
#define SAMPLES 600u

static void linear_truth(double size, uint32_t cores, uint32_t ways, double y[PREDICTOR_TARGETS])
{
    y[PREDICTOR_DURATION] = 1e6 + 3e4 * size - 2e4 * cores - 1e3 * ways;
    y[PREDICTOR_IPC] = 0.5 + 0.1 * cores + 0.02 * ways;
}

/* Amdahl's law, and misses that fall with the ways. */
static void curved_truth(double size, uint32_t cores, uint32_t ways, double y[PREDICTOR_TARGETS])
{
    double speed = 1 / (0.1 + 0.9 / cores) / (1 + 2.0 / ways);
    y[PREDICTOR_DURATION] = 2e5 * (10 + size) / speed;
    y[PREDICTOR_IPC] = 0.8 * speed;
}

typedef void truth(double size, uint32_t cores, uint32_t ways, double y[PREDICTOR_TARGETS]);

static struct predictor_sample *samples_of(truth *function, uint64_t seed)
{
    struct predictor_sample *samples = calloc(SAMPLES, sizeof *samples);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        samples[i].size = (double)(learner_random(&seed) % 1000) / 10;
        samples[i].cores = 1 + learner_random(&seed) % 12;
        samples[i].ways = 1 + learner_random(&seed) % 16;
        function(samples[i].size, samples[i].cores, samples[i].ways, samples[i].measured);
    }
    return samples;
}

static struct predictor *learn(truth *function, uint64_t seed)
{
    struct predictor_sample *samples = samples_of(function, seed);
    struct predictor *predictor;
    assert_int_equal(predictor_train(samples, SAMPLES, 1, NULL, &predictor), CORUN_OK);
    free(samples);
    return predictor;
}

/* Least squares find a linear function as it is; descent comes near; with the best R² it is chosen. */
static void a_linear_function(void **unused)
{
    (void)unused;
    struct predictor *predictor = learn(linear_truth, 7);
    size_t learned, held_out;
    predictor_sample_counts(predictor, &learned, &held_out);
    assert_int_equal(learned, 480);
    assert_int_equal(held_out, 120);
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
        assert_near(predictor_r2(predictor, PREDICTOR_LINEAR, t), 1, 1e-12);
        assert_true(predictor_r2(predictor, PREDICTOR_SGD, t) > 0.999);
        assert_int_equal(predictor_chosen(predictor, t), PREDICTOR_LINEAR);
    }
    double truth_value[PREDICTOR_TARGETS], predicted[PREDICTOR_TARGETS];
    linear_truth(12.3, 5, 9, truth_value);
    predictor_predict(predictor, PREDICTOR_BEST, 12.3, 5, 9, predicted);
    assert_near(predicted[PREDICTOR_DURATION], truth_value[PREDICTOR_DURATION], 1e-3);
    assert_near(predicted[PREDICTOR_IPC], truth_value[PREDICTOR_IPC], 1e-9);
    predictor_destroy(predictor);
}

/* What no line can be: the others are better at it, and one of them is chosen. */
static void a_curved_function(void **unused)
{
    (void)unused;
    struct predictor *predictor = learn(curved_truth, 8);
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
        for (uint32_t kind = 0; kind < PREDICTOR_KIND_COUNT; kind++)
            printf("%s %.4f%s", predictor_word(kind), predictor_r2(predictor, kind, t),
                   kind + 1 < PREDICTOR_KIND_COUNT ? ", " : "\n");
        assert_true(predictor_r2(predictor, PREDICTOR_NETWORK, t) > 0.99);
        assert_true(predictor_r2(predictor, PREDICTOR_KNN, t) > 0.8);
        assert_true(predictor_r2(predictor, PREDICTOR_SVM, t) > 0.85);
        assert_true(predictor_r2(predictor, PREDICTOR_LINEAR, t) < 0.95);
        enum predictor_kind chosen = predictor_chosen(predictor, t);
        assert_true(chosen == PREDICTOR_NETWORK || chosen == PREDICTOR_KNN);
        assert_true(predictor_r2(predictor, PREDICTOR_BEST, t) == predictor_r2(predictor, chosen, t));
    }
    predictor_destroy(predictor);
}

/*
 * Points at 0, 1, … 7 in the first feature, with the number squared as their value. At 2.9 the five nearest are 3, 2, 4, 1, 5: (9 + 4 + 16 + 1 + 25)
 * / 5 = 11. At 2.5, 0 and 5 are equally far as the fifth (2, 3, 1, 4 are nearer): 0 has the lower number. At -9: 0 to 4, 6.
 */
static void neighbours_by_hand(void **unused)
{
    (void)unused;
    struct point points[8];
    for (uint32_t i = 0; i < 8; i++)
        points[7 - i] = (struct point){{i, 0, 0}, {i * i, 2.0 * i}};
    struct knn knn;
    knn_learn(&knn, points, 8);
    double y[PREDICTOR_TARGETS];
    knn_predict(&knn, (const double[]){2.9, 0, 0}, y);
    assert_near(y[0], 11, 1e-12);
    assert_near(y[1], 6, 1e-12);
    knn_predict(&knn, (const double[]){2.5, 0, 0}, y);
    assert_near(y[0], (0 + 1 + 4 + 9 + 16) / 5.0, 1e-12);
    knn_predict(&knn, (const double[]){-9, 0, 0}, y);
    assert_near(y[0], 6, 1e-12);
}

/* The search that stops early finds what a search through all finds. */
static void neighbours_of_many(void **unused)
{
    (void)unused;
    enum { COUNT = 300 };
    struct point points[COUNT];
    uint64_t seed = 3;
    for (uint32_t i = 0; i < COUNT; i++)
        for (uint32_t f = 0; f < FEATURES; f++) {
            points[i].x[f] = (double)(learner_random(&seed) % 20);
            points[i].y[f % PREDICTOR_TARGETS] = (double)(learner_random(&seed) % 1000);
        }
    struct knn knn;
    knn_learn(&knn, points, COUNT);
    for (uint32_t q = 0; q < 500; q++) {
        double x[FEATURES], y[PREDICTOR_TARGETS], sum = 0, before = -1;
        for (uint32_t f = 0; f < FEATURES; f++)
            x[f] = (double)(learner_random(&seed) % 26) - 3 + 0.5 * (double)(learner_random(&seed) % 2);
        knn_predict(&knn, x, y);
        /* five times the next one in order of distance and number */
        uint32_t taken = 0, last = 0;
        while (taken < NEIGHBOURS) {
            double best = INFINITY;
            uint32_t which = COUNT;
            for (uint32_t i = 0; i < COUNT; i++) {
                double distance = 0;
                for (uint32_t f = 0; f < FEATURES; f++)
                    distance += (points[i].x[f] - x[f]) * (points[i].x[f] - x[f]);
                bool after = distance > before || (distance == before && i > last);
                if (after && distance < best) {
                    best = distance;
                    which = i;
                }
            }
            before = best;
            last = which;
            sum += points[which].y[0];
            taken++;
        }
        assert_near(y[0], sum / NEIGHBOURS, 1e-9);
    }
}

static void beyond_what_was_learned(void **unused)
{
    (void)unused;
    struct predictor *predictor = learn(linear_truth, 9);
    static const double sizes[] = {-1e15, -1e6, 0, 1e6, 1e15};
    for (uint32_t kind = 0; kind <= PREDICTOR_BEST; kind++)
        for (uint32_t i = 0; i < 5; i++) {
            double predicted[PREDICTOR_TARGETS];
            predictor_predict(predictor, kind, sizes[i], i * 65535 / 4, 0, predicted);
            for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++)
                assert_true(isfinite(predicted[t]) && predicted[t] > 0);
        }
    predictor_destroy(predictor);
}

static char *write_out(const struct predictor *predictor, size_t *bytes)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);
    assert_non_null(stream);
    assert_int_equal(predictor_write(predictor, "stemmer", stream), CORUN_OK);
    fclose(stream);
    return text;
}

/* Written and read again it says the same, to the last digit; learned again from the same samples it is the same file. */
static void files_keep_everything(void **unused)
{
    (void)unused;
    struct predictor *predictor = learn(curved_truth, 10), *same = learn(curved_truth, 10), *read;
    size_t bytes, again;
    char *text = write_out(predictor, &bytes), *other = write_out(same, &again);
    assert_int_equal(bytes, again);
    assert_memory_equal(text, other, bytes);
    assert_int_equal(predictor_read("a", text, bytes, NULL, &read), CORUN_OK);
    for (uint32_t kind = 0; kind <= PREDICTOR_BEST; kind++)
        for (uint32_t i = 0; i < 50; i++) {
            double a[PREDICTOR_TARGETS], b[PREDICTOR_TARGETS];
            predictor_predict(predictor, kind, 2.1 * i, 1 + i % 12, 1 + i % 16, a);
            predictor_predict(read, kind, 2.1 * i, 1 + i % 12, 1 + i % 16, b);
            assert_true(a[0] == b[0] && a[1] == b[1]);
        }
    free(other);
    other = write_out(read, &again);
    assert_string_equal(text, other);
    assert_null(strstr(text, "\"work\""));
    assert_int_equal(predictor_work(read), PREDICTOR_WORK_COUNTED);
    free(other);
    predictor_set_work(read, PREDICTOR_WORK_PROGRESS);
    other = write_out(read, &again);
    assert_non_null(strstr(other, "\"work\":\"progress\""));
    predictor_destroy(read);
    assert_int_equal(predictor_read("progress", other, again, NULL, &read), CORUN_OK);
    assert_int_equal(predictor_work(read), PREDICTOR_WORK_PROGRESS);
    free(text);
    free(other);
    predictor_destroy(predictor);
    predictor_destroy(same);
    predictor_destroy(read);
}

/* A byte that was changed, a file that ends early: a status, never a predictor that says something else. */
static void damage_is_found(void **unused)
{
    (void)unused;
    struct predictor *predictor = learn(linear_truth, 11), *read;
    size_t bytes;
    char *text = write_out(predictor, &bytes);
    for (size_t at = 0; at + 2 < bytes; at += 1 + at % 997) {
        char byte = text[at];
        text[at] = byte == '7' ? '3' : '7';
        enum corun_status status = predictor_read("damaged", text, bytes, NULL, &read);
        if (status == CORUN_OK) {
            /* the last digits of a number can be others and mean the same */
            size_t again;
            char *other = write_out(read, &again), *whole = write_out(predictor, &bytes);
            if (strcmp(whole, other) != 0)
                fail_msg("byte %zu: '%c' became '%c' and nobody saw it", at, byte, text[at]);
            free(other);
            free(whole);
            predictor_destroy(read);
        } else {
            assert_null(read);
        }
        text[at] = byte;
    }
    for (size_t length = 0; length + 2 < bytes; length += 1 + bytes / 50)
        assert_int_equal(predictor_read("short", text, length, NULL, &read), CORUN_SYNTAX);
    size_t version = 0;
    while (memcmp(text + version, "\"version\":1", 11) != 0)
        version++;
    text[version + 10] = '2';
    assert_int_equal(predictor_read("newer", text, bytes, NULL, &read), CORUN_UNSUPPORTED);
    assert_int_equal(predictor_read("other", "[1, 2]", 6, NULL, &read), CORUN_SYNTAX);
    free(text);
    predictor_destroy(predictor);
}

static void says_of_samples(const char *text, enum corun_status wanted, uint32_t line, uint32_t column)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct predictor_sample *samples;
    size_t count;
    enum predictor_work work;
    assert_int_equal(predictor_samples_read("s.csv", text, strlen(text), list, &samples, &count, &work), wanted);
    if (wanted != CORUN_OK) {
        assert_null(samples);
        assert_int_equal(corun_diagnostics_count(list), 1);
        assert_int_equal(corun_diagnostics_get(list, 0)->place.line, line);
        assert_int_equal(corun_diagnostics_get(list, 0)->place.column, column);
    }
    free(samples);
    corun_diagnostics_destroy(list);
}

static void samples_of_files(void **unused)
{
    (void)unused;
    static const char good[] = "ways, note,ipc,size,cores,duration_ns\n2,a b,0.5,1e2,3,4e6\r\n\n1,,0.25,7,1,5e5";
    struct predictor_sample *samples;
    size_t count;
    enum predictor_work work;
    assert_int_equal(predictor_samples_read("s.csv", good, sizeof good - 1, NULL, &samples, &count, &work), CORUN_OK);
    assert_int_equal(count, 2);
    assert_true(samples[0].size == 100 && samples[0].cores == 3 && samples[0].ways == 2);
    assert_true(samples[0].measured[PREDICTOR_DURATION] == 4e6 && samples[0].measured[PREDICTOR_IPC] == 0.5);
    assert_true(samples[1].size == 7 && samples[1].measured[PREDICTOR_DURATION] == 5e5);
    assert_int_equal(work, PREDICTOR_WORK_COUNTED);
    free(samples);
    static const char by_progress[] = "size,cores,work,ways,duration_ns,ipc\n1,2,progress,3,4,5\n1,2, progress,3,4,5\n";
    assert_int_equal(
        predictor_samples_read("s.csv", by_progress, sizeof by_progress - 1, NULL, &samples, &count, &work), CORUN_OK);
    assert_int_equal(work, PREDICTOR_WORK_PROGRESS);
    assert_int_equal(count, 2);
    free(samples);
    says_of_samples("work,size,cores,ways,duration_ns,ipc\nguessed,1,2,3,4,5\n", CORUN_SYNTAX, 2, 1);
    says_of_samples("work,size,cores,ways,duration_ns,ipc\ncounted,1,2,3,4,5\nprogress,1,2,3,4,5\n", CORUN_ARGUMENT, 3,
                    1);
    says_of_samples("", CORUN_SYNTAX, 1, 0);
    says_of_samples("size,cores,ways,ipc\n", CORUN_SYNTAX, 1, 0);
    says_of_samples("size,cores,ways,size,duration_ns,ipc\n", CORUN_SYNTAX, 1, 4);
    says_of_samples("size,cores,ways,duration_ns,ipc\n", CORUN_OK, 0, 0);
    says_of_samples("size,cores,ways,duration_ns,ipc\n1,2,3,4,5\n1,2,3,x,5\n", CORUN_SYNTAX, 3, 4);
    says_of_samples("size,cores,ways,duration_ns,ipc\n1,2,3,4\n", CORUN_SYNTAX, 2, 4);
    says_of_samples("size,cores,ways,duration_ns,ipc\n1,2,3,4,5,6\n", CORUN_SYNTAX, 2, 6);
    says_of_samples("size,cores,ways,duration_ns,ipc\n1,2.5,3,4,5\n", CORUN_ARGUMENT, 2, 2);
    says_of_samples("size,cores,ways,duration_ns,ipc\n1,2,-3,4,5\n", CORUN_ARGUMENT, 2, 3);
    says_of_samples("size,cores,ways,duration_ns,ipc\n1,2,3,4,0\n", CORUN_ARGUMENT, 2, 5);
}

static void too_little_to_learn_from(void **unused)
{
    (void)unused;
    struct predictor_sample *samples = samples_of(linear_truth, 12);
    struct predictor *predictor;
    assert_int_equal(predictor_train(samples, PREDICTOR_LEAST_SAMPLES - 1, 1, NULL, &predictor), CORUN_ARGUMENT);
    assert_null(predictor);
    samples[3].measured[PREDICTOR_IPC] = NAN;
    assert_int_equal(predictor_train(samples, SAMPLES, 1, NULL, &predictor), CORUN_ARGUMENT);
    /* features and targets that never change are nothing to fail at */
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = (struct predictor_sample){5, 2, 3, {1e6, 0.5}};
    assert_int_equal(predictor_train(samples, SAMPLES, 1, NULL, &predictor), CORUN_OK);
    double predicted[PREDICTOR_TARGETS];
    predictor_predict(predictor, PREDICTOR_BEST, 5, 2, 3, predicted);
    assert_near(predicted[PREDICTOR_DURATION], 1e6, 1);
    predictor_destroy(predictor);
    free(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_function),        cmocka_unit_test(a_curved_function),
        cmocka_unit_test(neighbours_by_hand),       cmocka_unit_test(neighbours_of_many),
        cmocka_unit_test(beyond_what_was_learned),  cmocka_unit_test(files_keep_everything),
        cmocka_unit_test(damage_is_found),          cmocka_unit_test(samples_of_files),
        cmocka_unit_test(too_little_to_learn_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
