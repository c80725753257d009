/* SPDX-License-Identifier: MIT */
/* What the programs in this folder understand beside the options of examples/split/common.h: --NAME=N. */
#ifndef BENCH_SPLIT_OPTIONS_H
#define BENCH_SPLIT_OPTIONS_H

#include <stdint.h>

/*
 * Takes every --NAME=N out of the command line, before example_begin reads it, and returns the last N; `value` where there is none.
 * What is no number from `least` to `most` ends the program with status 2.
 */
uint32_t options_take(int *count, char **words, const char *name, uint32_t value, uint32_t least, uint32_t most);

#endif
