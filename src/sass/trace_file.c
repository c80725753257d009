/* SPDX-License-Identifier: MIT */
/* Files of traces, as they are or compressed: .gz (one member or several) and .xz (one stream or several). */
#include "base/text_file.h"
#include "sass/trace.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FIRST_BYTES ((size_t)1 << 20)
#define MOST_AT_ONCE ((size_t)1 << 30) /* of what zlib counts in 32 bits */

/* What has been unpacked. */
struct unpacked {
    const char *path;
    struct corun_diagnostics *list;
    char *text;
    size_t bytes, capacity, most;
};

static enum corun_status broken(const struct unpacked *to, const char *why)
{
    return corun_report(to->list, CORUN_SYNTAX, (struct corun_place){to->path, 0, 0}, "cannot be unpacked: %s", why);
}

/* Room for more, and for the NUL at the end. */
static enum corun_status make_room(struct unpacked *to)
{
    if (to->bytes < to->capacity)
        return CORUN_OK;
    if (to->capacity >= to->most)
        return corun_report(to->list, CORUN_FILE, (struct corun_place){to->path, 0, 0},
                            "the file has more than %zu bytes when it is unpacked", to->most);
    size_t capacity = to->capacity ? 2 * to->capacity : FIRST_BYTES;
    capacity = capacity < to->most ? capacity : to->most;
    char *larger = realloc(to->text, capacity + 1);
    if (!larger)
        return corun_report(to->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", to->path);
    to->text = larger;
    to->capacity = capacity;
    return CORUN_OK;
}

static size_t at_most(size_t bytes)
{
    return bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE;
}

/* One step of zlib, from `data` into the room that there is. */
static int inflate_some(z_stream *stream, const uint8_t **data, size_t *left, struct unpacked *to)
{
    size_t in = at_most(*left), out = at_most(to->capacity - to->bytes);
    stream->next_in = (uint8_t *)(uintptr_t)*data;
    stream->avail_in = (uInt)in;
    stream->next_out = (uint8_t *)to->text + to->bytes;
    stream->avail_out = (uInt)out;
    int result = inflate(stream, Z_NO_FLUSH);
    *data += in - stream->avail_in;
    *left -= in - stream->avail_in;
    to->bytes += out - stream->avail_out;
    return result;
}

static enum corun_status unpack_gz(const uint8_t *data, size_t left, struct unpacked *to)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return corun_report(to->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", to->path);
    enum corun_status status = CORUN_OK;
    int result = Z_OK;
    while (status == CORUN_OK && (result != Z_STREAM_END || left)) {
        if (result == Z_STREAM_END)
            (void)inflateReset(&stream); /* another member follows */
        status = make_room(to);
        if (status != CORUN_OK)
            break;
        result = inflate_some(&stream, &data, &left, to);
        if (result == Z_BUF_ERROR && !left && to->bytes < to->capacity)
            status = broken(to, "its end is missing");
        else if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            status = result == Z_MEM_ERROR ? CORUN_MEMORY : broken(to, stream.msg ? stream.msg : "no gzip data");
    }
    (void)inflateEnd(&stream);
    return status;
}

static enum corun_status unpack_xz(const uint8_t *data, size_t bytes, struct unpacked *to)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK)
        return corun_report(to->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", to->path);
    stream.next_in = data;
    stream.avail_in = bytes;
    enum corun_status status = CORUN_OK;
    lzma_ret result = LZMA_OK;
    while (status == CORUN_OK && result == LZMA_OK) {
        status = make_room(to);
        if (status != CORUN_OK)
            break;
        stream.next_out = (uint8_t *)to->text + to->bytes;
        stream.avail_out = to->capacity - to->bytes;
        result = lzma_code(&stream, LZMA_FINISH);
        to->bytes = to->capacity - stream.avail_out;
    }
    lzma_end(&stream);
    if (status != CORUN_OK || result == LZMA_STREAM_END)
        return status;
    return result == LZMA_MEM_ERROR   ? CORUN_MEMORY
           : result == LZMA_BUF_ERROR ? broken(to, "its end is missing")
                                      : broken(to, result == LZMA_FORMAT_ERROR ? "no xz data" : "corrupt xz data");
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), bytes = strlen(ending);
    return length > bytes && !strcmp(path + length - bytes, ending);
}

enum corun_status sass_unpack(const char *path, const void *data, size_t data_bytes, size_t most,
                              struct corun_diagnostics *list, char **text, size_t *bytes)
{
    struct unpacked to = {.path = path, .list = list, .most = most};
    enum corun_status status = make_room(&to);
    if (status == CORUN_OK)
        status = ends_in(path, ".gz") ? unpack_gz(data, data_bytes, &to) : unpack_xz(data, data_bytes, &to);
    if (status != CORUN_OK || !to.text) {
        free(to.text);
        return status;
    }
    to.text[to.bytes] = 0;
    *text = to.text;
    *bytes = to.bytes;
    return CORUN_OK;
}

enum corun_status sass_file_read(const char *path, size_t most, struct corun_diagnostics *list, char **text,
                                 size_t *bytes)
{
    char *packed;
    size_t packed_bytes;
    if (!ends_in(path, ".gz") && !ends_in(path, ".xz"))
        return text_file_read(path, most, list, text, bytes);
    enum corun_status status = text_file_read(path, most, list, &packed, &packed_bytes);
    if (status != CORUN_OK)
        return status;
    status = sass_unpack(path, packed, packed_bytes, most, list, text, bytes);
    free(packed);
    return status;
}
