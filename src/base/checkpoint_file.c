/* SPDX-License-Identifier: MIT */
/* Files of checkpoints: written piece by piece beside their place, read after their checksum has been found right. */
#include "base/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY /* an allocator that is ours */
#include <zstd.h>

#define MAGIC "corun checkpoint"
#define MAGIC_BYTES 16u
#define FILE_VERSION 1u
#define BYTE_ORDER_MARK UINT32_C(0x01020304)
#define COMPRESSION_LEVEL 1
#define PIECE_BYTES ((size_t)1 << 17)
#define PATH_ROOM 4096u

struct head {
    char magic[MAGIC_BYTES];
    uint32_t version, order;
    uint64_t cycle;
    uint32_t rows, unused;
};

struct checkpoint_writer {
    struct corun_archive archive;
    int file; /* a descriptor, -1: none. The C library's streams would take of the heap of a program whose run is saved */
    SHA2_CTX sha;
    ZSTD_CCtx *compressor;
    size_t filled; /* of the piece that is to be compressed next */
    uint8_t *piece, *packed;
    size_t packed_room;
    char path[PATH_ROOM], temporary[PATH_ROOM];
};

struct checkpoint_reader {
    struct corun_archive archive;
    char path[PATH_ROOM];
    uint8_t *owned; /* the file; NULL: it is the caller's */
    struct head head;
    const struct checkpoint_row *rows;
    ZSTD_DCtx *decompressor;
    ZSTD_inBuffer in;
    bool ended; /* the frame */
};

/* Where the allocator of this code is another one than that of the library (cuda/own_heap.c), it is that of the library, too. */
static void *allocate_for_zstd(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void free_for_zstd(void *user, void *block)
{
    (void)user;
    free(block);
}

static const ZSTD_customMem own_memory = {allocate_for_zstd, free_for_zstd, NULL};

void checkpoint_identify(struct checkpoint_identity *identity, const char *name, const char *value)
{
    if (identity->count == CHECKPOINT_MOST_ROWS)
        return;
    struct checkpoint_row *row = &identity->rows[identity->count++];
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->value, sizeof row->value, "%s", value);
}

/* ---- descriptors ---- */

static bool write_all(int file, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    while (bytes) {
        ssize_t written = write(file, from, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        from += written;
        bytes -= (size_t)written;
    }
    return true;
}

/* How many that were: fewer at the end of the file, or where it cannot be read. */
static size_t read_all(int file, void *data, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t part = read(file, (uint8_t *)data + got, bytes - got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            break;
        got += (size_t)part;
    }
    return got;
}

/* ---- writing ---- */

static bool put(struct checkpoint_writer *writer, const void *data, size_t bytes)
{
    SHA256Update(&writer->sha, data, bytes);
    if (write_all(writer->file, data, bytes))
        return true;
    archive_fail(&writer->archive, CORUN_FILE, "%s: %s", writer->temporary, strerror(errno));
    return false;
}

static bool compress_piece(struct checkpoint_writer *writer, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {writer->piece, writer->filled, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {writer->packed, writer->packed_room, 0};
        left = ZSTD_compressStream2(writer->compressor, &out, &in, end);
        if (ZSTD_isError(left)) {
            archive_fail(&writer->archive, CORUN_MEMORY, "%s", ZSTD_getErrorName(left));
            return false;
        }
        if (!put(writer, writer->packed, out.pos))
            return false;
    } while (end == ZSTD_e_end ? left != 0 : in.pos < in.size);
    writer->filled = 0;
    return true;
}

static bool move_out(struct corun_archive *archive, void *data, size_t bytes)
{
    struct checkpoint_writer *writer = archive->user;
    const uint8_t *from = data;
    while (bytes) {
        size_t part = PIECE_BYTES - writer->filled < bytes ? PIECE_BYTES - writer->filled : bytes;
        memcpy(writer->piece + writer->filled, from, part);
        writer->filled += part;
        from += part;
        bytes -= part;
        if (writer->filled == PIECE_BYTES && !compress_piece(writer, ZSTD_e_continue))
            return false;
    }
    return true;
}

static void writer_destroy(struct checkpoint_writer *writer)
{
    if (writer->file >= 0)
        close(writer->file);
    ZSTD_freeCCtx(writer->compressor);
    free(writer->piece);
    free(writer->packed);
    free(writer);
}

static enum corun_status open_file(struct checkpoint_writer *writer, const char *path, struct corun_diagnostics *list)
{
    int length = snprintf(writer->temporary, sizeof writer->temporary, "%s.%ld.part", path, (long)getpid());
    snprintf(writer->path, sizeof writer->path, "%s", path);
    if (length < 0 || (size_t)length >= sizeof writer->temporary)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no checkpoint can be written: %s: the name is too long",
                            path);
    writer->file = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return writer->file >= 0 ? CORUN_OK
                             : corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no checkpoint can be written: %s: %s",
                                            path, strerror(errno));
}

/* NULL: what is at the path may be replaced. */
static const char *why_kept(const char *path)
{
    char magic[MAGIC_BYTES];
    struct stat about;
    if (stat(path, &about))
        return NULL;
    if (!S_ISREG(about.st_mode))
        return S_ISDIR(about.st_mode) ? "is a folder" : "is no plain file";
    int file = about.st_size ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t got = file >= 0 ? read_all(file, magic, sizeof magic) : 0;
    if (file >= 0)
        close(file);
    bool good = !about.st_size || (got == sizeof magic && !memcmp(magic, MAGIC, MAGIC_BYTES));
    return good ? NULL : "is there and is no checkpoint: it is not replaced";
}

enum corun_status checkpoint_try(const char *path, struct corun_diagnostics *list)
{
    const char *kept = why_kept(path);
    if (kept)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no checkpoint can be written: %s %s", path, kept);
    struct checkpoint_writer writer = {.file = -1};
    enum corun_status status = open_file(&writer, path, list);
    if (status == CORUN_OK) {
        close(writer.file);
        remove(writer.temporary);
    }
    return status;
}

enum corun_status checkpoint_write(const char *path, const struct checkpoint_identity *identity, uint64_t cycle,
                                   struct corun_diagnostics *list, struct checkpoint_writer **result)
{
    *result = NULL;
    struct checkpoint_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    writer->archive = (struct corun_archive){.move = move_out, .user = writer};
    writer->file = -1;
    writer->packed_room = ZSTD_CStreamOutSize();
    writer->piece = malloc(PIECE_BYTES);
    writer->packed = malloc(writer->packed_room);
    writer->compressor = ZSTD_createCCtx_advanced(own_memory);
    enum corun_status status = CORUN_OK;
    if (!writer->piece || !writer->packed || !writer->compressor)
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (status == CORUN_OK)
        status = open_file(writer, path, list);
    if (status != CORUN_OK) {
        writer_destroy(writer);
        return status;
    }
    ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
    SHA256Init(&writer->sha);
    struct head head = {.version = FILE_VERSION, .order = BYTE_ORDER_MARK, .cycle = cycle, .rows = identity->count};
    memcpy(head.magic, MAGIC, MAGIC_BYTES);
    put(writer, &head, sizeof head); /* what fails is in the archive */
    put(writer, identity->rows, identity->count * sizeof *identity->rows);
    *result = writer;
    return CORUN_OK;
}

struct corun_archive *checkpoint_writer_archive(struct checkpoint_writer *writer)
{
    return &writer->archive;
}

static void finish(struct checkpoint_writer *writer)
{
    uint8_t sum[SHA256_DIGEST_LENGTH];
    if (!archive_fine(&writer->archive) || !compress_piece(writer, ZSTD_e_end))
        return;
    SHA256Final(sum, &writer->sha);
    bool written = write_all(writer->file, sum, sizeof sum) && !fsync(writer->file);
    int error = errno;
    written = !close(writer->file) && written;
    writer->file = -1;
    if (!written)
        archive_fail(&writer->archive, CORUN_FILE, "%s: %s", writer->temporary, strerror(error ? error : errno));
    else if (rename(writer->temporary, writer->path))
        archive_fail(&writer->archive, CORUN_FILE, "%s: %s", writer->path, strerror(errno));
}

enum corun_status checkpoint_write_end(struct checkpoint_writer *writer, struct corun_diagnostics *list)
{
    finish(writer);
    enum corun_status status = writer->archive.status;
    if (status != CORUN_OK) {
        corun_report(list, status, CORUN_NOWHERE, "no checkpoint could be written: %s", writer->archive.message);
        remove(writer->temporary);
    }
    writer_destroy(writer);
    return status;
}

/* ---- reading ---- */

static bool move_in(struct corun_archive *archive, void *data, size_t bytes)
{
    struct checkpoint_reader *reader = archive->user;
    ZSTD_outBuffer out = {data, bytes, 0};
    while (out.pos < out.size) {
        size_t before = reader->in.pos, had = out.pos;
        size_t left = reader->ended ? 0 : ZSTD_decompressStream(reader->decompressor, &out, &reader->in);
        if (!ZSTD_isError(left) && !left)
            reader->ended = true;
        bool stuck = reader->in.pos == before && out.pos == had;
        if (ZSTD_isError(left) || (out.pos < out.size && (stuck || reader->ended))) {
            archive_fail(archive, CORUN_SYNTAX, "%s",
                         ZSTD_isError(left) ? ZSTD_getErrorName(left) : "it ends too soon");
            return false;
        }
    }
    return true;
}

void checkpoint_reader_destroy(struct checkpoint_reader *reader)
{
    if (!reader)
        return;
    ZSTD_freeDCtx(reader->decompressor);
    free(reader->owned);
    free(reader);
}

static bool ends_with_zero(const char *text, size_t bytes)
{
    return text[bytes - 1] == 0;
}

/* NULL: the file is as it was written. */
static const char *find_damage(struct checkpoint_reader *reader, const uint8_t *data, size_t bytes)
{
    uint8_t sum[SHA256_DIGEST_LENGTH];
    struct head *head = &reader->head;
    if (!data || bytes < MAGIC_BYTES || memcmp(data, MAGIC, MAGIC_BYTES) != 0)
        return "it is no checkpoint";
    if (bytes < sizeof *head + sizeof sum)
        return "it ends too soon";
    memcpy(head, data, sizeof *head);
    if (head->order != BYTE_ORDER_MARK)
        return "it is of a host with another order of bytes";
    if (head->version != FILE_VERSION)
        return "its format is of another version";
    size_t rest = bytes - sizeof *head - sizeof sum;
    if (head->rows > CHECKPOINT_MOST_ROWS || head->rows * sizeof *reader->rows > rest)
        return "it ends too soon";
    SHA2_CTX sha;
    SHA256Init(&sha);
    SHA256Update(&sha, data, bytes - sizeof sum);
    SHA256Final(sum, &sha);
    if (memcmp(sum, data + bytes - sizeof sum, sizeof sum) != 0)
        return "it is damaged: its checksum is wrong";
    reader->rows = (const struct checkpoint_row *)(const void *)(data + sizeof *head);
    for (uint32_t i = 0; i < head->rows; i++)
        if (!ends_with_zero(reader->rows[i].name, sizeof reader->rows[i].name) ||
            !ends_with_zero(reader->rows[i].value, sizeof reader->rows[i].value))
            return "it is damaged: what it is of cannot be read";
    size_t state = sizeof *head + head->rows * sizeof *reader->rows;
    reader->in = (ZSTD_inBuffer){data + state, bytes - state - sizeof sum, 0};
    return NULL;
}

enum corun_status checkpoint_read_bytes(const char *path, const void *data, size_t bytes,
                                        struct corun_diagnostics *list, struct checkpoint_reader **result)
{
    *result = NULL;
    struct checkpoint_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    snprintf(reader->path, sizeof reader->path, "%s", path);
    reader->archive = (struct corun_archive){.reads = true, .move = move_in, .user = reader};
    reader->decompressor = ZSTD_createDCtx_advanced(own_memory);
    const char *damage = reader->decompressor ? find_damage(reader, data, bytes) : NULL;
    enum corun_status status = CORUN_OK;
    if (!reader->decompressor)
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    else if (damage)
        status = corun_report(list, CORUN_SYNTAX, CORUN_NOWHERE, "checkpoint %s: %s", path, damage);
    if (status == CORUN_OK)
        *result = reader;
    else
        checkpoint_reader_destroy(reader);
    return status;
}

static enum corun_status read_whole(const char *path, struct corun_diagnostics *list, uint8_t **data, size_t *bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0)
        return corun_report(list, errno == ENOENT ? CORUN_NOT_FOUND : CORUN_FILE, CORUN_NOWHERE, "checkpoint %s: %s",
                            path, strerror(errno));
    bool good = !fstat(file, &about) && S_ISREG(about.st_mode);
    *bytes = good ? (size_t)about.st_size : 0;
    *data = good ? malloc(*bytes + 1) : NULL;
    bool memory = !good || *data;
    good = good && *data && read_all(file, *data, *bytes) == *bytes;
    close(file);
    if (good)
        return CORUN_OK;
    free(*data);
    *data = NULL;
    return memory ? corun_report(list, CORUN_FILE, CORUN_NOWHERE, "checkpoint %s cannot be read", path)
                  : corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
}

enum corun_status checkpoint_read(const char *path, struct corun_diagnostics *list, struct checkpoint_reader **reader)
{
    uint8_t *data = NULL;
    size_t bytes = 0;
    *reader = NULL;
    enum corun_status status = read_whole(path, list, &data, &bytes);
    if (status == CORUN_OK)
        status = checkpoint_read_bytes(path, data, bytes, list, reader);
    if (*reader)
        (*reader)->owned = data;
    else
        free(data);
    return status;
}

static bool is_digest(const char *value)
{
    return strlen(value) == 64 && strspn(value, "0123456789abcdef") == 64;
}

enum corun_status checkpoint_check(const struct checkpoint_reader *reader, const struct checkpoint_identity *identity,
                                   struct corun_diagnostics *list)
{
    for (uint32_t i = 0; i < identity->count && i < reader->head.rows; i++) {
        const struct checkpoint_row *here = &identity->rows[i], *there = &reader->rows[i];
        if (!strcmp(here->name, there->name) && !strcmp(here->value, there->value))
            continue;
        if (strcmp(here->name, there->name) != 0 || is_digest(here->value))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "checkpoint %s is of something else: %s is not what it was", reader->path, here->name);
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "checkpoint %s is of something else: %s was %s, and is %s now", reader->path, here->name,
                            there->value, here->value);
    }
    return identity->count == reader->head.rows
               ? CORUN_OK
               : corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "checkpoint %s is of another number of applications",
                              reader->path);
}

uint64_t checkpoint_cycle(const struct checkpoint_reader *reader)
{
    return reader->head.cycle;
}

struct corun_archive *checkpoint_reader_archive(struct checkpoint_reader *reader)
{
    return &reader->archive;
}

enum corun_status checkpoint_read_end(struct checkpoint_reader *reader, struct corun_diagnostics *list)
{
    if (!reader)
        return CORUN_OK;
    struct corun_archive *archive = &reader->archive;
    uint8_t more;
    ZSTD_outBuffer out = {&more, 1, 0};
    if (archive_fine(archive) && !reader->ended) {
        size_t left = ZSTD_decompressStream(reader->decompressor, &out, &reader->in);
        reader->ended = !left && !out.pos;
    }
    if (archive_fine(archive) && (!reader->ended || reader->in.pos != reader->in.size))
        archive_fail(archive, CORUN_SYNTAX, "there is more in it than a state");
    enum corun_status status = archive->status;
    if (status != CORUN_OK)
        corun_report(list, status, CORUN_NOWHERE, "checkpoint %s cannot be continued: %s%s%s", reader->path,
                     archive->section, archive->section[0] ? ": " : "", archive->message);
    checkpoint_reader_destroy(reader);
    return status;
}
