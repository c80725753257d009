/* SPDX-License-Identifier: MIT */
/*
 * Where texts of workers go. In the texts, `<name>` stands for a row of the shorthands of worker_sheet.c, `<name word>` for one with the word in place of
 * its `?`, and `$` for what makes labels of a text that is there more than once differ.
 */
#ifndef CORUN_REWRITE_WORKER_SHEET_H
#define CORUN_REWRITE_WORKER_SHEET_H

#include <stdbool.h>
#include <stdio.h>

/* Where a text goes, and whether workers may be told to leave at once: then limits have more in their high bits. */
struct sheet {
    FILE *stream;
    bool drops;
};

void sheet_put(const struct sheet *sheet, const char *text);
/* `at` in place of each `$`. */
void sheet_put_at(const struct sheet *sheet, const char *text, const char *at);

#endif
