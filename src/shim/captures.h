/* SPDX-License-Identifier: MIT */
/* Whether streams are captured: while nobody captures any, the driver is not asked about single ones. */
#ifndef CORUN_SHIM_CAPTURES_H
#define CORUN_SHIM_CAPTURES_H

#include <stdbool.h>

/* Whether captures of the process have begun and not ended, as far as the shim can know: one that ended with an error counts for good. */
bool captures_under_way(void);

#endif
