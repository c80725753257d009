/* SPDX-License-Identifier: MIT */
/* The file of a captured program: header checked, frame unpacked, then given to capture_read.c. */
#include "base/host_memory.h"
#include "base/text_file.h"
#include "workload/capture.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FILE_MAX_BYTES (UINT64_C(1) << 36)
#define BODY_MAX_BYTES (UINT64_C(1) << 38)
#define FIRST_BODY_BYTES (UINT64_C(1) << 20)

bool capture_is(const void *data, size_t bytes)
{
    return bytes >= CAPTURE_MAGIC_BYTES && memcmp(data, CAPTURE_MAGIC, CAPTURE_MAGIC_BYTES) == 0;
}

static uint64_t little_endian(const uint8_t *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* The frame must be what the header says; only then is it unpacked. */
static enum corun_status check_header(const uint8_t *data, size_t bytes, struct corun_place place,
                                      struct corun_diagnostics *list)
{
    if (!capture_is(data, bytes))
        return corun_report(list, CORUN_SYNTAX, place, "this is not a file of corun capture");
    if (bytes < CAPTURE_HEADER_BYTES)
        return corun_report(list, CORUN_SYNTAX, place, "the file ends within its header");
    uint64_t version = little_endian(data + CAPTURE_AT_VERSION, 4);
    if (version != CAPTURE_VERSION)
        return corun_report(list, CORUN_UNSUPPORTED, place,
                            "not supported: version %llu of captured programs; this is version %u: capture it again",
                            (unsigned long long)version, CAPTURE_VERSION);
    uint64_t packed = little_endian(data + CAPTURE_AT_PACKED_BYTES, 8);
    if (packed != bytes - CAPTURE_HEADER_BYTES)
        return corun_report(list, CORUN_SYNTAX, place, "the file is damaged: %llu bytes, its header says %llu",
                            (unsigned long long)bytes, (unsigned long long)packed + CAPTURE_HEADER_BYTES);
    uint8_t hash[CAPTURE_HASH_BYTES];
    SHA2_CTX sha;
    SHA256Init(&sha);
    SHA256Update(&sha, data + CAPTURE_HEADER_BYTES, bytes - CAPTURE_HEADER_BYTES);
    SHA256Final(hash, &sha);
    if (memcmp(hash, data + CAPTURE_AT_HASH, sizeof hash) != 0)
        return corun_report(list, CORUN_SYNTAX, place, "the file is damaged: its contents do not fit its hash");
    return CORUN_OK;
}

/* What the header promises is only believed as far as there is something to unpack. */
static enum corun_status unpack(const uint8_t *frame, size_t frame_bytes, uint64_t wanted, struct corun_place place,
                                struct corun_diagnostics *list, uint8_t **body)
{
    if (wanted > BODY_MAX_BYTES)
        return corun_report(list, CORUN_SYNTAX, place, "the file is damaged: its size makes no sense");
    if (host_memory_check(wanted, "what is packed in the file", place, list))
        return CORUN_MEMORY;
    ZSTD_DCtx *decoder = ZSTD_createDCtx();
    size_t capacity = 0, result = 1;
    uint8_t *data = NULL;
    ZSTD_inBuffer in = {frame, frame_bytes, 0};
    ZSTD_outBuffer out = {NULL, 0, 0};
    enum corun_status status = decoder ? CORUN_OK : CORUN_MEMORY;
    while (!status && result != 0 && !ZSTD_isError(result)) {
        if (out.pos == capacity) {
            if (capacity > wanted)
                break;
            capacity = capacity ? capacity * 4 : FIRST_BODY_BYTES;
            if (capacity > wanted)
                capacity = (size_t)wanted + 1;
            uint8_t *larger = realloc(data, capacity);
            if (!larger) {
                status = CORUN_MEMORY;
                break;
            }
            data = larger;
        }
        size_t in_before = in.pos, out_before = out.pos;
        out = (ZSTD_outBuffer){data, capacity, out.pos};
        result = ZSTD_decompressStream(decoder, &out, &in);
        if (in.pos == in_before && out.pos == out_before)
            break;
    }
    ZSTD_freeDCtx(decoder);
    if (!status && (result != 0 || out.pos != wanted || in.pos != in.size))
        status = corun_report(list, CORUN_SYNTAX, place, "the file is damaged: its contents cannot be unpacked");
    else if (status)
        corun_report(list, status, place, "out of memory for a captured program of %llu bytes",
                     (unsigned long long)wanted);
    if (status)
        free(data);
    else
        *body = data;
    return status;
}

enum corun_status capture_load(const char *path, uint32_t rewrites, struct corun_diagnostics *list,
                               struct captured **captured)
{
    struct corun_place place = {path, 0, 0};
    char *text = NULL;
    size_t bytes = 0;
    *captured = NULL;
    enum corun_status status = text_file_read(path, FILE_MAX_BYTES, list, &text, &bytes);
    if (status)
        return status;
    const uint8_t *data = (const uint8_t *)text;
    uint8_t *body = NULL;
    uint64_t wanted = 0;
    status = check_header(data, bytes, place, list);
    if (!status) {
        wanted = little_endian(data + CAPTURE_AT_BYTES, 8);
        status = unpack(data + CAPTURE_HEADER_BYTES, bytes - CAPTURE_HEADER_BYTES, wanted, place, list, &body);
    }
    free(text);
    if (!status)
        status = capture_read(path, body, (size_t)wanted, rewrites, list, captured);
    if (!status)
        (*captured)->file_bytes = bytes;
    return status;
}
