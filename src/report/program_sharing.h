/* SPDX-License-Identifier: MIT */
/* Programs that shared one simulated GPU under `corun exec`: how fast each was, and its goal, beside what each launched. */
#ifndef CORUN_REPORT_PROGRAM_SHARING_H
#define CORUN_REPORT_PROGRAM_SHARING_H

#include "corun/case.h"
#include "report/program_record.h"

struct program_share {
    /* Of this: name, goal, status, cycles, what it completed, speed. `result` is that of all its contexts together. */
    struct corun_case_application_result row;
    char *const *words;                   /* of its command line, NULL behind the last */
    uint32_t first_process, processes;    /* that left a record */
    const struct program_record *profile; /* only that; NULL: none was wanted */
    int exit_status;                      /* as shells have it */
};

struct program_sharing {
    const char *gpu, *policy; /* the policy as it was given */
    uint32_t core_clock_khz;
    uint64_t cycles; /* of the machine */
    uint32_t count;
    struct program_share *programs; /* [count] */
};

/* Speed and goals, then kernels and copies of each program. False when out of memory. */
bool program_sharing_table(const struct program_sharing *sharing, const struct program_record *record,
                           const struct report_style *style, FILE *stream);
/* As program_json, with the policy and a row for each program. */
enum corun_status program_sharing_json(const struct program_sharing *sharing, const struct program_record *record,
                                       FILE *stream);

#endif
