/* SPDX-License-Identifier: MIT */
/* Profiles of kernels, from a row for each instruction to one for each line of the PTX. */
#ifndef CORUN_ISA_PROFILE_LINES_H
#define CORUN_ISA_PROFILE_LINES_H

#include "corun/case.h"
#include "corun/module.h"

void profile_row_add(struct corun_profile_row *sum, const struct corun_profile_row *row);
/* Nothing was issued there, and nobody waited. */
bool profile_row_is_empty(const struct corun_profile_row *row);
/* Whether one of the kernels of the module has this code. */
bool profile_is_of(const struct corun_module *module, const struct corun_instruction *code);
/*
 * Tells every line at which something was done, ascending, with its text without blanks around it. `text`: the PTX of the module, or "". False
 * when out of memory.
 */
bool profile_tell_lines(const struct corun_module *module, const char *text, const struct corun_profile_row *rows,
                        const struct corun_instruction *code, uint32_t count,
                        void (*tell)(void *user, const struct corun_profile_line *line), void *user);

#endif
