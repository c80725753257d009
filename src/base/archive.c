/* SPDX-License-Identifier: MIT */
/* Moving bytes, records, sparse memory and counts to or from a file: the same code for both directions. */
#include "base/archive.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES ((size_t)4096)

void archive_fail(struct corun_archive *archive, enum corun_status status, const char *format, ...)
{
    if (archive->status != CORUN_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(archive->message, sizeof archive->message, format, arguments);
    va_end(arguments);
    archive->status = status;
}

void archive_bytes(struct corun_archive *archive, void *data, size_t bytes)
{
    if (!bytes)
        return;
    bool moved = archive->status == CORUN_OK && archive->move(archive, data, bytes);
    if (!moved && archive->reads)
        memset(data, 0, bytes);
}

static void copy_but_holes(uint8_t *to, const uint8_t *from, size_t bytes, const struct archive_hole *holes,
                           size_t hole_count)
{
    size_t at = 0;
    for (size_t i = 0; i < hole_count; i++) {
        if (holes[i].offset > at)
            memcpy(to + at, from + at, holes[i].offset - at);
        if (holes[i].offset + holes[i].bytes > at)
            at = holes[i].offset + holes[i].bytes;
    }
    if (bytes > at)
        memcpy(to + at, from + at, bytes - at);
}

static int compare_holes(const void *left, const void *right)
{
    size_t a = ((const struct archive_hole *)left)->offset, b = ((const struct archive_hole *)right)->offset;
    return a < b ? -1 : a > b;
}

#define MOST_HOLES 48u

void archive_record(struct corun_archive *archive, void *record, size_t bytes, const struct archive_hole *holes,
                    size_t hole_count)
{
    struct archive_hole sorted[MOST_HOLES];
    archive_same(archive, bytes, "bytes of a record");
    if (!archive_fine(archive))
        return;
    uint8_t *image = hole_count <= MOST_HOLES ? calloc(1, bytes) : NULL;
    if (!image) {
        archive_fail(archive, CORUN_MEMORY, "out of memory");
        return;
    }
    memcpy(sorted, holes, hole_count * sizeof *holes);
    qsort(sorted, hole_count, sizeof *sorted, compare_holes);
    if (!archive->reads)
        copy_but_holes(image, record, bytes, sorted, hole_count);
    archive_bytes(archive, image, bytes);
    if (archive->reads && archive_fine(archive))
        copy_but_holes(record, image, bytes, sorted, hole_count);
    free(image);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    return !count || (!bytes[0] && !memcmp(bytes, bytes + 1, count - 1));
}

/* A run of pages that are not zero, by its first one and its length; then what is in them. The last run is empty. */
void archive_sparse(struct corun_archive *archive, void *data, size_t bytes)
{
    uint8_t *at = data;
    size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES, page = 0;
    while (archive_fine(archive)) {
        uint64_t run[2] = {page, 0};
        for (; !archive->reads && run[0] < pages; run[0]++) {
            size_t begin = run[0] * PAGE_BYTES, length = bytes - begin < PAGE_BYTES ? bytes - begin : PAGE_BYTES;
            if (!is_zero(at + begin, length))
                break;
        }
        for (; !archive->reads && run[0] + run[1] < pages; run[1]++) {
            size_t begin = (run[0] + run[1]) * PAGE_BYTES;
            if (is_zero(at + begin, bytes - begin < PAGE_BYTES ? bytes - begin : PAGE_BYTES))
                break;
        }
        ARCHIVE(archive, run);
        if (!archive_fine(archive))
            return;
        if (run[0] < page || run[0] > pages || run[1] > pages - run[0]) {
            archive_fail(archive, CORUN_SYNTAX, "pages beyond the end of memory");
            return;
        }
        for (; archive->reads && page < run[0]; page++) {
            size_t begin = page * PAGE_BYTES, length = bytes - begin < PAGE_BYTES ? bytes - begin : PAGE_BYTES;
            if (!is_zero(at + begin, length))
                memset(at + begin, 0, length);
        }
        page = run[0] + run[1];
        if (!run[1])
            return;
        size_t begin = run[0] * PAGE_BYTES, end = page * PAGE_BYTES < bytes ? page * PAGE_BYTES : bytes;
        archive_bytes(archive, at + begin, end - begin);
    }
}

void archive_same(struct corun_archive *archive, uint64_t value, const char *what)
{
    uint64_t there = value;
    ARCHIVE(archive, there);
    if (archive_fine(archive) && there != value)
        archive_fail(archive, CORUN_SYNTAX, "%s: %" PRIu64 " in the file, %" PRIu64 " here", what, there, value);
}

void archive_count(struct corun_archive *archive, size_t *count, size_t most)
{
    uint64_t value = *count;
    ARCHIVE(archive, value);
    if (archive_fine(archive) && value > most) {
        archive_fail(archive, CORUN_SYNTAX, "a count of %" PRIu64 ", at most %zu are possible", value, most);
        value = 0;
    }
    *count = archive_fine(archive) ? (size_t)value : 0;
}

bool archive_vector(struct corun_archive *archive, void **data, size_t *count, size_t *capacity, size_t element,
                    size_t most)
{
    size_t wanted = *count;
    archive_count(archive, &wanted, most);
    if (!archive->reads)
        return archive_fine(archive);
    void *room = NULL, *before;
    memcpy(&before, (void *)data, sizeof before); /* *data has another pointer type for the compiler */
    if (archive_fine(archive) && wanted && !(room = calloc(wanted, element)))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    free(before);
    *count = *capacity = room ? wanted : 0;
    memcpy((void *)data, &room, sizeof room);
    return archive_fine(archive);
}

void archive_section(struct corun_archive *archive, const char *name, uint32_t version)
{
    char there[ARCHIVE_SECTION_BYTES] = {0};
    uint32_t number = version;
    if (!archive_fine(archive))
        return; /* the message is about the part before */
    memset(archive->section, 0, sizeof archive->section);
    snprintf(archive->section, sizeof archive->section, "%s", name);
    memcpy(there, archive->section, sizeof there);
    ARCHIVE(archive, there);
    ARCHIVE(archive, number);
    if (!archive_fine(archive))
        return;
    if (memcmp(there, archive->section, sizeof there) != 0)
        archive_fail(archive, CORUN_SYNTAX, "the part `%s` is not where it belongs", name);
    else if (number != version)
        archive_fail(archive, CORUN_SYNTAX, "the part `%s` is of version %u, this is version %u", name, number,
                     version);
}
