/* SPDX-License-Identifier: MIT */
/* What the analytical model says of kernels and of their pairs: for people, and as JSON. */
#ifndef CORUN_REPORT_PREDICTIONS_H
#define CORUN_REPORT_PREDICTIONS_H

#include "case/kernel_profile.h"
#include "case/latency_lines.h"
#include "report/columns.h"

struct predicted_pair {
    uint32_t members[2]; /* of `profiles` */
    uint32_t count;
    struct model_co_schedule *list; /* candidates; none: they do not fit together, or a number is missing */
};

struct predictions {
    const char *gpu_name;
    const struct model_gpu *gpu;
    const struct latency_line *lines; /* MODEL_ACCESSES */
    uint64_t cycles;                  /* window of the counted profiles */
    size_t count, pair_count;
    const struct kernel_profile *profiles;
    const struct predicted_pair *pairs;
};

/* False when out of memory; write errors are left to the stream. */
bool predictions_print(const struct predictions *predictions, const struct report_style *style, FILE *stream);
/* MEMORY; write errors are left to the stream. */
enum corun_status predictions_json(const struct predictions *predictions, FILE *stream);

#endif
