/* SPDX-License-Identifier: MIT */
/*
 * What a text like ./mine.so:first=2 means, without code of the user's in this process: a shared object is loaded by
 * another one, whose end, whatever it is, ends nothing else. So nothing of it runs when this process ends, either.
 */
#ifndef CORUN_CASE_POLICY_PROBE_H
#define CORUN_CASE_POLICY_PROBE_H

#include "base/arena.h"
#include "corun/status.h"

#include <stdint.h>

struct policy_meaning {
    const char *name; /* NULL: left-over, which is no policy */
    const double *parameters;
    uint32_t parameter_count;
};

/*
 * As specify_policy; what *meaning points to is in the arena, or stays. POLICY: the shared object ended the process that
 * loaded it, or did not come back within CORUN_POLICY_SECONDS.
 */
enum corun_status policy_probe(const char *text, struct arena *arena, struct corun_diagnostics *list,
                               struct policy_meaning *meaning);

#endif
