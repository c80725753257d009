/* SPDX-License-Identifier: MIT */
/* Where the kernels of a program spent their time (`corun exec --profile`): by line of the CUDA source and of the PTX. */
#ifndef CORUN_REPORT_PROGRAM_PROFILE_H
#define CORUN_REPORT_PROGRAM_PROFILE_H

#include "report/program_record.h"

/* Each kernel of the record: lines of the source, those with most warp cycles first, then its lines of PTX. False when out of memory. */
bool program_profile_table(const struct program_record *record, const struct report_style *style, FILE *stream);
/* A list of kernels with their lines. */
json_t *program_profile_json(struct json_writer *writer, const struct program_record *record);

#endif
