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
#define FORMAT (JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS))

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
    char *text = writer->failed ? NULL : json_dumps(object, FORMAT);
    json_decref(object);
    if (!text)
        return CORUN_MEMORY;
    fputs(text, stream);
    fputc('\n', stream);
    free(text);
    return CORUN_OK;
}

/* ---- piece by piece ---- */

/* Takes the value. Its lines but the first begin with so many blanks; ends of lines within strings are escaped. */
static void put_value(struct json_stream *json, json_t *value, int blanks)
{
    char *text = value ? json_dumps(value, FORMAT | JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    json->failed |= !text;
    for (const char *line = text; line;) {
        const char *end = strchr(line, '\n');
        fprintf(json->stream, "%.*s", end ? (int)(end - line) : (int)strlen(line), line);
        if (end)
            fprintf(json->stream, "\n%*s", blanks, "");
        line = end ? end + 1 : NULL;
    }
    free(text);
}

static void put_key(struct json_stream *json, const char *key)
{
    fprintf(json->stream, "%s\n  \"%s\": ", json->members++ ? "," : "", key);
}

void json_stream_begin(struct json_stream *json, FILE *stream)
{
    *json = (struct json_stream){.stream = stream};
    fputc('{', stream);
}

void json_stream_member(struct json_stream *json, const char *key, json_t *value)
{
    put_key(json, key);
    put_value(json, value, 2);
}

void json_stream_list(struct json_stream *json, const char *key)
{
    put_key(json, key);
    json->items = 0;
    fputc('[', json->stream);
}

void json_stream_item(struct json_stream *json, json_t *value)
{
    fputs(json->items++ ? ",\n    " : "\n    ", json->stream);
    put_value(json, value, 4);
}

void json_stream_list_end(struct json_stream *json)
{
    fputs(json->items ? "\n  ]" : "]", json->stream);
}

enum corun_status json_stream_end(struct json_stream *json)
{
    fputs("\n}\n", json->stream);
    return json->failed ? CORUN_MEMORY : CORUN_OK;
}
