/* SPDX-License-Identifier: MIT */
/* Rows of a results file for the results of other commands than `corun run`: what columns.def binds to the parameters of a statement. */
#ifndef CORUN_CAMPAIGN_ROWS_H
#define CORUN_CAMPAIGN_ROWS_H

#include <jansson.h>
#include <sqlite3.h>

/* NULL where the JSON has no number; "" where it has no text. */
void rows_bind_number(sqlite3_stmt *statement, int place, const json_t *value);
void rows_bind_string(sqlite3_stmt *statement, int place, const json_t *value);

/*
 * Puts the rows of a result of corun queue: `queue` and `kernel` are statements that insert a row each. What SQLite returns; the statements
 * are reset.
 */
int rows_put_queues(sqlite3_stmt *queue, sqlite3_stmt *kernel, const char *key, const json_t *result);
/* The same of a result of corun split: a row for each start of the program but that of growing parts. */
int rows_put_splits(sqlite3_stmt *split, const char *key, const json_t *result);

#endif
