/* SPDX-License-Identifier: MIT */
/* Shared objects of users, looked at before the dynamic linker does. */
#ifndef CORUN_CASE_POLICY_FILE_H
#define CORUN_CASE_POLICY_FILE_H

#include "corun/status.h"

/*
 * FILE if the file is shorter than its own headers say, as after a copy that did not come to its end. What else may be
 * wrong with it, the dynamic linker says. `what` is what it should be, for the message: "policy".
 */
enum corun_status policy_file_check(const char *what, const char *path, struct corun_diagnostics *list);

#endif
