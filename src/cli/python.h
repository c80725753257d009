/* SPDX-License-Identifier: MIT */
/* Starting the Python package in python/ of the data directory. */
#ifndef CORUN_CLI_PYTHON_H
#define CORUN_CLI_PYTHON_H

#include "corun/status.h"

/*
 * Runs it with these arguments, at most 32 and NULL behind the last, and waits for its end; *exit_status is its own,
 * which has then been explained on stderr. NOT_FOUND: the package or python3 is not there; MEMORY, FILE.
 */
enum corun_status python_run(const char *const *arguments, struct corun_diagnostics *list, int *exit_status);
/* The same in place of this process: comes back only with an error. */
enum corun_status python_become(const char *const *arguments, struct corun_diagnostics *list);

#endif
