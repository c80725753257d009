/* SPDX-License-Identifier: MIT */
/* What a warp does, as bytes (format.h). */
#ifndef CORUN_RECORD_ENCODE_H
#define CORUN_RECORD_ENCODE_H

#include "record/format.h"

struct record_bytes {
    uint8_t *data;
    size_t count, capacity;
};

struct record_stream {
    struct record_bytes control, addresses;
    uint32_t lanes, lanes_before;
    uint32_t run;         /* plain instructions that are not written yet */
    uint64_t base, local; /* of the application's range, and in it of the warp's local memory */
    uint64_t places[RECORD_PLACES];
};

/* From the warp's first instruction on; the memory of the bytes is kept. */
void record_stream_begin(struct record_stream *stream, uint64_t base, uint64_t local);
/* The instruction `pc` did this. False: out of memory. */
bool record_stream_add(struct record_stream *stream, const struct corun_instruction *code, uint32_t pc,
                       const struct corun_issue *issue);
/* What the warp does further is in another piece. False: out of memory. */
bool record_stream_part(struct record_stream *stream);
void record_stream_free(struct record_stream *stream);

/* Room for so many bytes more. False: out of memory. */
bool record_bytes_grow(struct record_bytes *bytes, size_t more);

#endif
