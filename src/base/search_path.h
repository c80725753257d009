/* SPDX-License-Identifier: MIT */
/* Where a program is. */
#ifndef CORUN_BASE_SEARCH_PATH_H
#define CORUN_BASE_SEARCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* As a shell finds it: a name with a slash is the path, another one is looked for in PATH. False: there is none, or `bytes` are too few. */
bool search_path_find(const char *name, char *path, size_t bytes);

#endif
