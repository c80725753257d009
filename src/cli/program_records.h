/* SPDX-License-Identifier: MIT */
/* What the processes of a program left in its folder. */
#ifndef CORUN_CLI_PROGRAM_RECORDS_H
#define CORUN_CLI_PROGRAM_RECORDS_H

#include "report/program_record.h"

/* Adds it to the record, in the order in which the processes started; an error is that of the first file that has one. */
enum corun_status program_records_read(const char *folder, struct arena *arena, struct corun_diagnostics *list,
                                       struct program_record *record);

#endif
