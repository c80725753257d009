/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: predictors and their samples; a predictor that is accepted answers everything with numbers above 0. What the digest would
 * hide is tried, too: input that is an object gets the envelope and the digest that fit.
 */
#include "model/predictor.h"

#include <jansson.h>
#include <sha2.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_predictor(const char *text, size_t bytes)
{
    struct predictor *predictor;
    if (predictor_read("fuzz", text, bytes, NULL, &predictor) != CORUN_OK)
        return;
    for (uint32_t kind = 0; kind <= PREDICTOR_BEST; kind++) {
        double predicted[PREDICTOR_TARGETS];
        predictor_predict(predictor, (enum predictor_kind)kind, 1e6, 4, 4, predicted);
        if (!(predicted[0] > 0 && predicted[1] > 0 && isfinite(predicted[0]) && isfinite(predicted[1])))
            abort();
    }
    predictor_destroy(predictor);
}

static void read_content(const char *text, size_t bytes)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    json_t *content = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    char *canonical = content ? json_dumps(content, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
    if (canonical) {
        SHA256Data((const uint8_t *)canonical, strlen(canonical), digest);
        json_t *file = json_pack("{s:s,s:i,s:s,s:O}", "format", "corun predictor", "version",
                                 (int)PREDICTOR_FILE_VERSION, "digest", digest, "predictor", content);
        char *whole = file ? json_dumps(file, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
        if (whole)
            read_predictor(whole, strlen(whole));
        free(whole);
        json_decref(file);
    }
    free(canonical);
    json_decref(content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct predictor_sample *samples;
    size_t count;
    enum predictor_work work;
    read_predictor((const char *)data, size);
    if (size > 0 && data[0] == '{')
        read_content((const char *)data, size);
    if (predictor_samples_read("fuzz", (const char *)data, size, NULL, &samples, &count, &work) == CORUN_OK)
        free(samples);
    return 0;
}
