/* SPDX-License-Identifier: MIT */
/* Parameters of a size that whoever names the size gives other values: SIZE,parameter=value,... */
#ifndef CORUN_WORKLOAD_OVERRIDES_H
#define CORUN_WORKLOAD_OVERRIDES_H

#include "workload/description.h"

#define OVERRIDES_KILO 1024u /* 16K is 16384, as sizes of data are */

/* In the order of the size's parameters; NULL where it stays as it is, else the value. */
struct overrides {
    const int64_t **values;
    const char *size_name; /* SIZE,parameter=value,...: in that order, values in decimal */
};

/*
 * `text` is parameter=value,... or NULL; a value is a whole number from 0, decimal or 0x, with K, M or G for powers of
 * 1024. Everything lives in the arena. ARGUMENT (no such parameter in the size, given twice, no such number), MEMORY.
 */
enum corun_status overrides_parse(const char *text, const struct description *description,
                                  const struct size_description *size, struct arena *arena,
                                  struct corun_diagnostics *list, struct overrides *overrides);

#endif
