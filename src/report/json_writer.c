/* SPDX-License-Identifier: MIT */
/* Members of JSON objects, put with one call each; running out of memory is remembered until the end. */
#include "report/json_writer.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough digits to tell results apart, few enough that the last one does not depend on the compiler. */
#define REAL_DIGITS 12

void json_put(struct json_writer *writer, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        writer->failed = true;
}

void json_push(struct json_writer *writer, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        writer->failed = true;
}

json_t *json_count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *json_seed(uint64_t value)
{
    char text[24];
    if (value <= UINT64_C(1) << DBL_MANT_DIG)
        return json_count(value);
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* File names and PTX comments need not be: then their odd bytes become question marks. */
json_t *json_text(const char *value)
{
    json_t *json = json_string(value);
    char *copy = json ? NULL : strdup(value);
    if (!copy)
        return json;
    for (char *c = copy; *c; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    json = json_string(copy);
    free(copy);
    return json;
}

enum corun_status json_write(const struct json_writer *writer, json_t *object, FILE *stream)
{
    char *text = writer->failed ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(object);
    if (!text)
        return CORUN_MEMORY;
    fputs(text, stream);
    fputc('\n', stream);
    free(text);
    return CORUN_OK;
}
