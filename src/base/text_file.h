/* SPDX-License-Identifier: MIT */
/* Reads whole text files. */
#ifndef CORUN_BASE_TEXT_FILE_H
#define CORUN_BASE_TEXT_FILE_H

#include "corun/status.h"

/* *text has a NUL behind its `bytes` and is the caller's to free. NOT_FOUND, FILE (unreadable, no file, too large), MEMORY. */
enum corun_status text_file_read(const char *path, size_t most_bytes, struct corun_diagnostics *list, char **text,
                                 size_t *bytes);

#endif
