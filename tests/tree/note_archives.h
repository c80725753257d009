/* SPDX-License-Identifier: MIT */
/*
 * What check_archives.py puts before a source file: its records are noted instead of moved. The debugging information has the type of
 * each: the variable KIND_NUMBER is its address.
 */
#ifndef CORUN_TESTS_NOTE_ARCHIVES_H
#define CORUN_TESTS_NOTE_ARCHIVES_H

#include "base/archive.h"

enum noted_kind { NOTED_BYTES, NOTED_PLAIN, NOTED_RECORD, NOTED_LARGE_RECORD };

struct noted {
    size_t line, number, kind;
    const struct archive_hole *holes;
    size_t hole_count;
};

extern struct noted __start_noted[], __stop_noted[];

struct noted *noted_begin(void);
struct noted *noted_begin(void)
{
    return __start_noted;
}

struct noted *noted_end(void);
struct noted *noted_end(void)
{
    return __stop_noted;
}

#define NOTE(number, data, kind, holes, count) \
    ({ \
        __attribute__((used)) static __typeof__(*(data)) *kind##_##number; \
        __attribute__((used, section("noted"), aligned(8))) static struct noted noted_##number = {__LINE__, number, \
                                                                                                  kind, holes, count}; \
        (void)0; \
    })
/* The number is expanded before it is put behind a name. */
#define NOTE_NUMBERED(number, ...) NOTE(number, __VA_ARGS__)

#undef ARCHIVE_PLAIN
#undef ARCHIVE_RECORD
#undef ARCHIVE_LARGE_RECORD
#define archive_bytes(archive, data, bytes) NOTE_NUMBERED(__COUNTER__, data, NOTED_BYTES, NULL, 0)
#define ARCHIVE_PLAIN(archive, value) NOTE_NUMBERED(__COUNTER__, value, NOTED_PLAIN, NULL, 0)
#define ARCHIVE_RECORD(archive, record, holes) \
    NOTE_NUMBERED(__COUNTER__, record, NOTED_RECORD, holes, sizeof(holes) / sizeof *(holes))
#define ARCHIVE_LARGE_RECORD(archive, record, holes) \
    NOTE_NUMBERED(__COUNTER__, record, NOTED_LARGE_RECORD, holes, sizeof(holes) / sizeof *(holes))

#endif
