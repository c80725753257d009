/* SPDX-License-Identifier: MIT */
/* Numbers as people write them: 10K, 2M, 4G, 0x1f. */
#ifndef CORUN_BASE_NUMBER_H
#define CORUN_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* `kilo` is 1000 or 1024. The whole text must be a number; false if it is not or does not fit 64 bits. */
bool number_parse(const char *text, uint64_t kilo, uint64_t *value);
/* A finite decimal number, in any locale; a trailing % divides by 100. The whole text must be one. */
bool number_parse_real(const char *text, double *value);

#endif
