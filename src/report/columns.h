/* SPDX-License-Identifier: MIT */
/* Text in columns that line up. */
#ifndef CORUN_REPORT_COLUMNS_H
#define CORUN_REPORT_COLUMNS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define COLUMNS_MAX 20u

/* How reports are written. */
struct report_style {
    bool utf8;     /* rules may be drawn with U+2500 */
    bool colour;   /* ANSI escapes */
    bool markdown; /* tables of a Markdown page */
    bool
        wraps; /* nothing is wider: long texts go on below, in their column, and columns without room in a part below */
    uint32_t
        width; /* columns that a table may take; names in its first one are shortened for that. 0: as many as it needs */
};

enum report_paint { PAINT_NONE, PAINT_GOOD, PAINT_BAD, PAINT_TITLE };

struct columns; /* made in an arena and gone with it */

/* `titles` holds `count` texts; a column whose title starts with '<' is flush left (the sign is not shown). */
struct columns *columns_create(struct arena *arena, const char *const *titles, uint32_t count);
void columns_row(struct columns *columns);         /* begins a new row: cells not set are empty */
bool columns_empty(const struct columns *columns); /* no row */
void columns_set(struct columns *columns, uint32_t column, enum report_paint paint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* False when memory ran out while the table was made or printed; write errors are left to the stream. */
bool columns_print(struct columns *columns, const struct report_style *style, FILE *stream);

/*
 * Names that a line has no room for, behind `taken` columns of something else, lose their middle as in a table; those that differ still do.
 * `names` then holds texts of the arena. False when out of memory.
 */
bool columns_shorten_names(const char **names, uint32_t count, uint32_t taken, const struct report_style *style,
                           struct arena *arena);
/* Lines of a text, whose ends are line feeds; where texts wrap, lines that are too long go on in the next one, as far in. */
void columns_text(const char *text, const struct report_style *style, FILE *stream);
/* The same of a text that is formatted, such as a heading of a table. What fits no memory is printed in one line. */
void columns_format(const struct report_style *style, FILE *stream, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define REPORT_SIZE_BYTES 32u
/* Bytes in the unit that suits them, as in 4.21 MB; powers of 1000. Returns `text`. */
const char *report_size(uint64_t bytes, char text[REPORT_SIZE_BYTES]);

#endif
