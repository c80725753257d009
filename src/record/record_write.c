/* SPDX-License-Identifier: MIT */
/* Pieces are compressed and written one after the other, then the index that says where each is. */
#include "record/writer.h"

#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY /* how literals are written */
#include <zstd.h>

#define COMPRESSION_LEVEL 3

_Static_assert(sizeof((struct record_end *)0)->sum == SHA256_DIGEST_LENGTH, "the sum is a SHA-256");

static enum corun_status out_of_memory(const struct record_writer *writer)
{
    return corun_report(writer->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory writing a record");
}

static enum corun_status put(struct record_writer *writer, const void *data, size_t bytes)
{
    if (bytes && fwrite(data, 1, bytes, writer->file) != bytes)
        return corun_report(writer->list, CORUN_FILE, CORUN_NOWHERE, "no record can be written: %s: %s",
                            writer->temporary, strerror(errno));
    writer->offset += bytes;
    return CORUN_OK;
}

static bool append(struct record_bytes *to, const void *data, size_t bytes)
{
    if (!record_bytes_grow(to, bytes))
        return false;
    if (bytes)
        memcpy(to->data + to->count, data, bytes);
    to->count += bytes;
    return true;
}

static void destroy(struct record_writer *writer)
{
    if (writer->file)
        fclose(writer->file);
    ZSTD_freeCCtx(writer->compressor);
    free(writer->packed.data);
    free(writer->sizes.data);
    free(writer->control.data);
    free(writer->addresses.data);
    vector_free(&writer->launches);
    vector_free(&writer->pieces);
    for (uint32_t i = 0; i < RECORD_MOST_WARPS; i++)
        record_stream_free(&writer->streams[i]);
    record_shadow_destroy(writer->global);
    record_shadow_destroy(writer->shared);
    free(writer);
}

static enum corun_status open_file(struct record_writer *writer, const char *path)
{
    int length = snprintf(writer->temporary, sizeof writer->temporary, "%s.%ld.part", path, (long)getpid());
    snprintf(writer->path, sizeof writer->path, "%s", path);
    if (length < 0 || (size_t)length >= sizeof writer->temporary)
        return corun_report(writer->list, CORUN_FILE, CORUN_NOWHERE,
                            "no record can be written: %s: the name is too long", path);
    writer->file = fopen(writer->temporary, "wbe");
    return writer->file ? CORUN_OK
                        : corun_report(writer->list, CORUN_FILE, CORUN_NOWHERE, "no record can be written: %s: %s",
                                       writer->temporary, strerror(errno));
}

enum corun_status record_write(const char *path, const char *key, uint32_t unit_bytes, struct corun_diagnostics *list,
                               struct record_writer **result)
{
    *result = NULL;
    struct record_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory writing a record");
    writer->list = list;
    writer->compressor = ZSTD_createCCtx();
    writer->global = record_shadow_create(unit_bytes);
    writer->shared = record_shadow_create(unit_bytes);
    bool made = writer->compressor && writer->global && writer->shared;
    enum corun_status status = made ? open_file(writer, path) : out_of_memory(writer);
    if (status == CORUN_OK) {
        ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
        ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_checksumFlag, 1);
        /* What repeats makes a record small; what does not is read three times as fast as it is. */
        ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_literalCompressionMode, ZSTD_ps_disable);
        writer->head = (struct record_head){.version = RECORD_VERSION, .order = RECORD_BYTE_ORDER};
        memcpy(writer->head.magic, RECORD_MAGIC, sizeof RECORD_MAGIC);
        memcpy(writer->head.key, key, RECORD_KEY_BYTES);
        status = put(writer, &writer->head, sizeof writer->head);
    }
    if (status != CORUN_OK)
        record_write_end(writer, false, list);
    else
        *result = writer;
    return status;
}

enum corun_status record_writer_end_piece(struct record_writer *writer)
{
    if (!writer->sizes.count)
        return CORUN_OK;
    struct record_bytes *whole = &writer->sizes;
    if (!append(whole, writer->control.data, writer->control.count) ||
        !append(whole, writer->addresses.data, writer->addresses.count) || whole->count > RECORD_MOST_PIECE_BYTES ||
        !record_bytes_grow(&writer->packed, ZSTD_compressBound(whole->count)))
        return out_of_memory(writer);
    size_t packed =
        ZSTD_compress2(writer->compressor, writer->packed.data, writer->packed.capacity, whole->data, whole->count);
    if (ZSTD_isError(packed))
        return corun_report(writer->list, CORUN_MEMORY, CORUN_NOWHERE, "no record can be written: %s",
                            ZSTD_getErrorName(packed));
    struct record_piece_row row = {.offset = writer->offset,
                                   .packed_bytes = (uint32_t)packed,
                                   .bytes = (uint32_t)whole->count,
                                   .first_tb = writer->first_tb,
                                   .tb_count = writer->tb_count};
    if (!vector_push(&writer->pieces, row))
        return out_of_memory(writer);
    writer->launches.data[writer->launches.count - 1].piece_count++;
    writer->sizes.count = writer->control.count = writer->addresses.count = writer->tb_count = 0;
    return put(writer, writer->packed.data, packed);
}

static bool add_streams(struct record_writer *writer, uint32_t warps)
{
    bool added = true;
    for (uint32_t i = 0; i < warps && added; i++) {
        const struct record_stream *stream = &writer->streams[i];
        struct record_stream_size size = {(uint32_t)stream->control.count, (uint32_t)stream->addresses.count};
        added = append(&writer->sizes, &size, sizeof size) &&
                append(&writer->control, stream->control.data, stream->control.count) &&
                append(&writer->addresses, stream->addresses.data, stream->addresses.count);
    }
    return added;
}

enum corun_status record_writer_add(struct record_writer *writer, uint32_t tb, uint32_t warps)
{
    if (!writer->tb_count)
        writer->first_tb = tb;
    writer->tb_count++;
    if (!add_streams(writer, warps))
        return out_of_memory(writer);
    size_t bytes = writer->sizes.count + writer->control.count + writer->addresses.count;
    return bytes >= RECORD_PIECE_BYTES ? record_writer_end_piece(writer) : CORUN_OK;
}

enum corun_status record_writer_add_part(struct record_writer *writer, uint32_t tb, uint32_t warps, bool first)
{
    enum corun_status status = record_writer_end_piece(writer);
    if (status != CORUN_OK)
        return status;
    writer->first_tb = tb;
    writer->tb_count = first;
    if (!add_streams(writer, warps))
        return out_of_memory(writer);
    for (uint32_t i = 0; i < warps; i++)
        writer->streams[i].control.count = writer->streams[i].addresses.count = 0;
    return record_writer_end_piece(writer);
}

/* The index, and what is behind it. */
static enum corun_status put_index(struct record_writer *writer)
{
    struct record_end end = {.index_offset = writer->offset,
                             .launches = (uint32_t)writer->launches.count,
                             .pieces = (uint32_t)writer->pieces.count};
    size_t launches = writer->launches.count * sizeof *writer->launches.data;
    size_t pieces = writer->pieces.count * sizeof *writer->pieces.data;
    SHA2_CTX sha;
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)&writer->head, sizeof writer->head);
    SHA256Update(&sha, (const uint8_t *)writer->launches.data, launches);
    SHA256Update(&sha, (const uint8_t *)writer->pieces.data, pieces);
    SHA256Update(&sha, (const uint8_t *)&end, offsetof(struct record_end, sum));
    SHA256Final(end.sum, &sha);
    enum corun_status status = put(writer, writer->launches.data, launches);
    if (status == CORUN_OK)
        status = put(writer, writer->pieces.data, pieces);
    return status == CORUN_OK ? put(writer, &end, sizeof end) : status;
}

enum corun_status record_write_end(struct record_writer *writer, bool keep, struct corun_diagnostics *list)
{
    writer->list = list;
    enum corun_status status = keep ? put_index(writer) : CORUN_OK;
    bool opened = writer->file != NULL, closed = !opened || fclose(writer->file) == 0;
    writer->file = NULL;
    if (keep && status == CORUN_OK && (!closed || rename(writer->temporary, writer->path)))
        status = corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no record can be written: %s: %s", writer->path,
                              strerror(errno));
    if (opened && (!keep || status != CORUN_OK))
        remove(writer->temporary);
    destroy(writer);
    return status;
}
