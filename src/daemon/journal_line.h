/* SPDX-License-Identifier: MIT */
/* Lines of a journal in the Trace Event Format, each an event, written as it comes. */
#ifndef CORUN_DAEMON_JOURNAL_LINE_H
#define CORUN_DAEMON_JOURNAL_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What is no plain text becomes question marks: nothing of a client's ends a text of ours. */
void journal_line_text(FILE *file, const char *text);
/* Up to its arguments, which follow. `phase`: "i" a moment, "C" numbers. */
void journal_line_begin(FILE *file, const char *phase, uint32_t process, double microseconds, const char *name);
/* False: the disk is full, or gone. */
bool journal_line_end(FILE *file);
/* The name of a process of the timeline. */
bool journal_line_process(FILE *file, uint32_t process, const char *name);

#endif
