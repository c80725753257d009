/* SPDX-License-Identifier: MIT */
/* Where what can be computed again is kept for the next time. */
#ifndef CORUN_BASE_CACHE_FOLDER_H
#define CORUN_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The user's folder for corun, with `below` behind it ("" or "/name"); nothing is made. False: there is none, or its path is too long. */
bool cache_folder_path(char *path, size_t bytes, const char *below);
/* Makes the folder and those above it. False: errno says why not. */
bool cache_folder_make(const char *folder, mode_t mode);

#endif
