/* SPDX-License-Identifier: MIT */
/* The known name that a mistyped one probably meant. */
#ifndef CORUN_BASE_NEAREST_H
#define CORUN_BASE_NEAREST_H

#include <stddef.h>

/*
 * The nearest of the names by edit distance, the first of equals; NULL if none is near (more than a third of its
 * letters).
 */
const char *nearest_name(const char *text, const char *const *names, size_t count);

#endif
