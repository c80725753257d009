/* SPDX-License-Identifier: MIT */
/* A whole file as text. */
#ifndef CORUN_SPLIT_FILE_H
#define CORUN_SPLIT_FILE_H

#include "corun/status.h"

/* Reads a whole file and ends it with NUL. *text is the caller's to free. */
enum corun_status file_read(const char *path, char **text, struct corun_diagnostics *diagnostics);

#endif
