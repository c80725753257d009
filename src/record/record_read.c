/* SPDX-License-Identifier: MIT */
/* The index is read and checked when a file is opened, each piece when a thread block of it begins. */
#include "record/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static bool read_at(int descriptor, void *data, size_t bytes, uint64_t offset)
{
    uint8_t *to = data;
    while (bytes) {
        ssize_t got = pread(descriptor, to, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

void record_close(struct record_file *file)
{
    if (!file)
        return;
    if (file->idle) {
        free(file->idle->data);
        free(file->idle);
    }
    if (file->descriptor >= 0)
        close(file->descriptor);
    pthread_mutex_destroy(&file->mutex);
    ZSTD_freeDCtx(file->decompressor);
    free(file->packed);
    free(file->launches);
    free(file->pieces);
    free(file->path);
    free(file);
}

static bool pieces_fit(const struct record_file *file)
{
    for (uint32_t i = 0; i < file->piece_count; i++) {
        const struct record_piece_row *piece = &file->pieces[i];
        if (piece->offset < sizeof file->head || piece->offset > file->bytes ||
            piece->packed_bytes > file->bytes - piece->offset || piece->bytes > RECORD_MOST_PIECE_BYTES)
            return false;
    }
    return true;
}

/* The pieces of a launch hold each of its thread blocks once, in their order. */
static bool launch_fits(const struct record_file *file, const struct record_launch_row *launch)
{
    if (launch->first_piece > file->piece_count || launch->piece_count > file->piece_count - launch->first_piece ||
        !launch->tb_warps || launch->tb_warps > RECORD_MOST_WARPS)
        return false;
    uint64_t next = 0;
    uint32_t streams = RECORD_MOST_PIECE_BYTES / sizeof(struct record_stream_size) / launch->tb_warps;
    for (uint32_t i = 0; i < launch->piece_count; i++) {
        const struct record_piece_row *piece = &file->pieces[launch->first_piece + i];
        bool more = !piece->tb_count;
        if (more ? !next || piece->first_tb != next - 1 : piece->first_tb != next || piece->tb_count > streams)
            return false;
        next += piece->tb_count;
    }
    return next == launch->tb_count;
}

/* NULL: it is as it was written. */
static const char *read_index(struct record_file *file, const char *key)
{
    struct record_end end;
    uint8_t sum[SHA256_DIGEST_LENGTH];
    if (file->bytes < sizeof file->head || !read_at(file->descriptor, &file->head, sizeof file->head, 0) ||
        memcmp(file->head.magic, RECORD_MAGIC, sizeof RECORD_MAGIC) != 0)
        return "it is no record";
    if (file->head.order != RECORD_BYTE_ORDER)
        return "it is of a host with another order of bytes";
    if (file->head.version != RECORD_VERSION)
        return "its format is of another version";
    if (memcmp(file->head.key, key, RECORD_KEY_BYTES) != 0)
        return "it is of another workload, or of another corun";
    if (file->bytes < sizeof file->head + sizeof end ||
        !read_at(file->descriptor, &end, sizeof end, file->bytes - sizeof end))
        return "it ends too soon";
    uint64_t launches = (uint64_t)end.launches * sizeof *file->launches;
    uint64_t pieces = (uint64_t)end.pieces * sizeof *file->pieces;
    if (end.index_offset > file->bytes || launches + pieces + sizeof end != file->bytes - end.index_offset)
        return "it is damaged: its index cannot be";
    file->launches = malloc(launches + 1);
    file->pieces = malloc(pieces + 1);
    if (!file->launches || !file->pieces)
        return "there is no memory for its index";
    if (!read_at(file->descriptor, file->launches, launches, end.index_offset) ||
        !read_at(file->descriptor, file->pieces, pieces, end.index_offset + launches))
        return "it cannot be read";
    file->launch_count = end.launches;
    file->piece_count = end.pieces;
    SHA2_CTX sha;
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)&file->head, sizeof file->head);
    SHA256Update(&sha, (const uint8_t *)file->launches, launches);
    SHA256Update(&sha, (const uint8_t *)file->pieces, pieces);
    SHA256Update(&sha, (const uint8_t *)&end, offsetof(struct record_end, sum));
    SHA256Final(sum, &sha);
    if (memcmp(sum, end.sum, sizeof sum) != 0)
        return "it is damaged: its checksum is wrong";
    bool fits = pieces_fit(file);
    for (uint32_t i = 0; i < file->launch_count && fits; i++)
        fits = launch_fits(file, &file->launches[i]);
    return fits ? NULL : "it is damaged: its index cannot be";
}

enum corun_status record_open(const char *path, const char *key, struct corun_diagnostics *list,
                              struct record_file **result)
{
    *result = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
        return CORUN_NOT_FOUND;
    struct stat about;
    if (descriptor < 0 || fstat(descriptor, &about) || !S_ISREG(about.st_mode)) {
        enum corun_status status = corun_report(list, CORUN_FILE, CORUN_NOWHERE, "record %s cannot be read: %s", path,
                                                descriptor < 0 ? strerror(errno) : "it is no plain file");
        if (descriptor >= 0)
            close(descriptor);
        return status;
    }
    struct record_file *file = calloc(1, sizeof *file);
    if (!file) {
        close(descriptor);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    file->descriptor = descriptor;
    file->bytes = (uint64_t)about.st_size;
    pthread_mutex_init(&file->mutex, NULL);
    file->path = strdup(path);
    file->decompressor = ZSTD_createDCtx();
    const char *problem = file->path && file->decompressor ? read_index(file, key) : "there is no memory for it";
    if (problem) {
        record_close(file);
        return corun_report(list, CORUN_SYNTAX, CORUN_NOWHERE, "record %s cannot be used: %s", path, problem);
    }
    *result = file;
    return CORUN_OK;
}

uint32_t record_launch_count(const struct record_file *file)
{
    return file->launch_count;
}

bool record_fits(const struct record_file *file, uint32_t launch, const struct corun_grid *grid)
{
    const struct record_launch_row *row = launch < file->launch_count ? &file->launches[launch] : NULL;
    return row && row->tb_count == grid->tb_count && row->tb_warps == grid->tb_warps &&
           row->code_length == grid->code_length;
}

void record_measure(const struct record_file *file, struct record_size *size)
{
    *size = (struct record_size){.file_bytes = file->bytes};
    for (uint32_t i = 0; i < file->piece_count; i++)
        size->stream_bytes += file->pieces[i].bytes;
    for (uint32_t i = 0; i < file->launch_count; i++)
        size->warp_instructions += file->launches[i].warp_instructions;
}

/* ---- pieces ---- */

static bool unpack(struct record_file *file, const struct record_piece_row *row, uint8_t *data)
{
    if (row->packed_bytes > file->packed_room) {
        uint8_t *packed = realloc(file->packed, row->packed_bytes);
        if (!packed)
            return false;
        file->packed = packed;
        file->packed_room = row->packed_bytes;
    }
    if (!read_at(file->descriptor, file->packed, row->packed_bytes, row->offset))
        return false;
    size_t got = ZSTD_decompressDCtx(file->decompressor, data, row->bytes, file->packed, row->packed_bytes);
    memset(data + row->bytes, 0, RECORD_SLACK_BYTES);
    return !ZSTD_isError(got) && got == row->bytes;
}

/* False: the sizes of the streams are not those of the piece. */
static bool find_streams(struct record_piece *piece, const struct record_piece_row *row, size_t streams)
{
    const struct record_stream_size *sizes = (const struct record_stream_size *)(const void *)piece->data;
    uint64_t table = streams * sizeof *sizes, control = 0, addresses = 0;
    if (table > row->bytes)
        return false;
    for (size_t i = 0; i < streams; i++) {
        control += sizes[i].control;
        addresses += sizes[i].addresses;
    }
    if (table + control + addresses != row->bytes)
        return false;
    const uint8_t *at = piece->data + table, *at_addresses = at + control;
    for (size_t i = 0; i < streams; i++) {
        piece->spans[i] =
            (struct record_span){at, at + sizes[i].control, at_addresses, at_addresses + sizes[i].addresses};
        at = piece->spans[i].control_end;
        at_addresses = piece->spans[i].addresses_end;
    }
    return true;
}

static void piece_free(struct record_piece *piece)
{
    if (!piece)
        return;
    *piece->place = NULL;
    free(piece->data);
    free(piece);
}

static struct record_piece *load(struct record_file *file, uint32_t number, uint32_t tb_warps,
                                 struct record_piece **place)
{
    const struct record_piece_row *row = &file->pieces[number];
    size_t streams = (size_t)(row->tb_count ? row->tb_count : 1) * tb_warps;
    struct record_piece *piece = calloc(1, sizeof *piece + streams * sizeof piece->spans[0]);
    if (!piece)
        return NULL;
    piece->place = place;
    piece->first_tb = row->first_tb;
    piece->data = malloc((size_t)row->bytes + RECORD_SLACK_BYTES);
    if (!piece->data || !unpack(file, row, piece->data) || !find_streams(piece, row, streams)) {
        piece_free(piece);
        return NULL;
    }
    return piece;
}

struct record_piece *record_piece_take(struct record_file *file, uint32_t number, uint32_t tb_warps,
                                       struct record_piece **place, uint32_t users)
{
    pthread_mutex_lock(&file->mutex);
    if (!*place)
        *place = load(file, number, tb_warps, place);
    struct record_piece *piece = *place;
    if (piece) {
        piece->users += users;
        if (file->idle == piece)
            file->idle = NULL;
    }
    pthread_mutex_unlock(&file->mutex);
    return piece;
}

void record_piece_give(struct record_file *file, struct record_piece *piece, uint32_t users)
{
    pthread_mutex_lock(&file->mutex);
    piece->users -= users;
    if (!piece->users) {
        piece_free(file->idle);
        file->idle = piece;
    }
    pthread_mutex_unlock(&file->mutex);
}

void record_pieces_forget(struct record_file *file, struct record_piece **places, uint32_t count)
{
    pthread_mutex_lock(&file->mutex);
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] && places[i] == file->idle)
            file->idle = NULL;
        piece_free(places[i]);
    }
    pthread_mutex_unlock(&file->mutex);
}
