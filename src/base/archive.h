/* SPDX-License-Identifier: MIT */
/*
 * An archive: the state of something on its way to a file or back from it. One function for each module moves every field in both directions, so
 * that what is written and what is read cannot differ.
 *
 *     static void archive_thing(struct corun_archive *archive, struct thing *thing)
 *     {
 *         static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct thing, owner), ARCHIVE_HOLE(struct thing, rows)};
 *         ARCHIVE_RECORD(archive, thing, holes);        all of it but its pointers
 *         archive_bytes(archive, thing->rows, …);
 *     }
 *
 * A record is moved as it lies in memory, but for the holes: those are pointers, and members that the reader has already. So a new member of
 * a structure is moved without being named; a new pointer shows, as two files of the same state differ then. After something has gone wrong
 * nothing more is moved, and what is read is zero.
 */
#ifndef CORUN_BASE_ARCHIVE_H
#define CORUN_BASE_ARCHIVE_H

#include "corun/status.h"

#define ARCHIVE_MESSAGE_BYTES 200u
#define ARCHIVE_SECTION_BYTES 16u

struct corun_archive {
    bool reads;
    enum corun_status status;            /* what went wrong first */
    char message[ARCHIVE_MESSAGE_BYTES]; /* and what it was */
    /* Writes the bytes, or fills them; false, with status and message set by archive_fail, where that is not possible. */
    bool (*move)(struct corun_archive *archive, void *data, size_t bytes);
    void *user;
    char section[ARCHIVE_SECTION_BYTES]; /* under way, for messages */
};

struct archive_hole {
    size_t offset, bytes;
};
#define ARCHIVE_HOLE(type, member) \
    { \
        offsetof(type, member), sizeof(((type *)0)->member) \
    }

/* Keeps the first failure. */
void archive_fail(struct corun_archive *archive, enum corun_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline bool archive_fine(const struct corun_archive *archive)
{
    return archive->status == CORUN_OK;
}

void archive_bytes(struct corun_archive *archive, void *data, size_t bytes);
#define ARCHIVE(archive, value) archive_bytes(archive, &(value), sizeof(value))

/*
 * What lies between the members of a structure is nobody's, and would make two files of one state differ. Without the builtin they may, and mean the
 * same.
 *
 * The builtin of gcc 12 does not count what it walks over when it comes to a long array of structures without gaps: a gap behind such an array is cleared
 * within the array instead. A record that is moved has the array as its last member, at a multiple of eight bytes, and no gap at its end.
 */
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
#define ARCHIVE_CLEAR_PADDING(value) __builtin_clear_padding(value)
#endif
#endif
#ifndef ARCHIVE_CLEAR_PADDING
#define ARCHIVE_CLEAR_PADDING(value) ((void)(value))
#endif
/* A structure without pointers. */
#define ARCHIVE_PLAIN(archive, value) (ARCHIVE_CLEAR_PADDING(value), archive_bytes(archive, value, sizeof *(value)))

/* Everything but the holes, which are written as zeros and stay as they are when the record is read. The size must be that of the writer. */
void archive_record(struct corun_archive *archive, void *record, size_t bytes, const struct archive_hole *holes,
                    size_t hole_count);
#define ARCHIVE_RECORD(archive, record, holes) \
    (ARCHIVE_CLEAR_PADDING(record), ARCHIVE_LARGE_RECORD(archive, record, holes))
/* One that is never assigned as a whole, so that its padding is zero since it was made. */
#define ARCHIVE_LARGE_RECORD(archive, record, holes) \
    archive_record(archive, record, sizeof *(record), holes, sizeof(holes) / sizeof *(holes))

/* Much of it is zero: pages that are take no room, and nobody touches those that are zero on both sides. */
void archive_sparse(struct corun_archive *archive, void *data, size_t bytes);

/* A number that the reader must have, too: FAULT's like of a file of something else. `what`: "allocations of memory". */
void archive_same(struct corun_archive *archive, uint64_t value, const char *what);

/* A count, which the reader takes up to `most`. */
void archive_count(struct corun_archive *archive, size_t *count, size_t most);

/*
 * `count` elements of a growable array. The reader gets room for them (VECTOR: data, count, capacity), and elements that are zero: the
 * caller moves what is in them. False: nothing more is to be done with them.
 */
bool archive_vector(struct corun_archive *archive, void **data, size_t *count, size_t *capacity, size_t element,
                    size_t most);
#define ARCHIVE_VECTOR(archive, vector, most) \
    archive_vector(archive, (void **)&(vector)->data, &(vector)->count, &(vector)->capacity, sizeof *(vector)->data, \
                   most)

/* Marks the begin of a part of the file: the reader finds it there under the same name, with the same version. */
void archive_section(struct corun_archive *archive, const char *name, uint32_t version);

#endif
