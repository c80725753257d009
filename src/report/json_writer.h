/* SPDX-License-Identifier: MIT */
/* Building JSON: what the reports share. */
#ifndef CORUN_REPORT_JSON_WRITER_H
#define CORUN_REPORT_JSON_WRITER_H

#include "corun/status.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Every maker gives NULL when out of memory; jansson passes that on: setting NULL fails, and so does the whole. */
struct json_writer {
    bool failed;
};

/* Both take the value. */
void json_put(struct json_writer *writer, json_t *object, const char *key, json_t *value);
void json_push(struct json_writer *writer, json_t *array, json_t *value);
json_t *json_count(uint64_t value);
/* Of any 64 bits: text in decimal where a number would be too large for readers whose numbers are doubles. */
json_t *json_seed(uint64_t value);
json_t *json_number(double value); /* null if it is not finite */
/* JSON is UTF-8, but file names and PTX comments need not be: then their odd bytes become question marks. */
json_t *json_text(const char *value);
/* Takes the object. MEMORY; write errors are left to the stream. */
enum corun_status json_write(const struct json_writer *writer, json_t *object, FILE *stream);

/*
 * The same text piece by piece, for an object with lists that are long: what has been written takes no memory. A member may be a list whose
 * items come one after the other.
 */
struct json_stream {
    FILE *stream;
    uint64_t members, items; /* so far; items: of the list that is open */
    bool failed;
};
void json_stream_begin(struct json_stream *json, FILE *stream);
/* Takes the value. */
void json_stream_member(struct json_stream *json, const char *key, json_t *value);
void json_stream_list(struct json_stream *json, const char *key);
void json_stream_item(struct json_stream *json, json_t *value);
void json_stream_list_end(struct json_stream *json);
/* MEMORY; write errors are left to the stream. */
enum corun_status json_stream_end(struct json_stream *json);

#endif
