/* SPDX-License-Identifier: MIT */
/* The CUDA driver that a command opens in its own process. */
#ifndef CORUN_CLI_DRIVER_H
#define CORUN_CLI_DRIVER_H

#include "cli/command.h"

/*
 * Writes its name as driver_open takes it: NVIDIA's, or corun's own where programs of `corun exec` get it. That one is told the GPU and the
 * folder of data, and that launches have their cost, in the environment: a process has one simulated machine of them. NOT_FOUND, LIMIT,
 * MEMORY.
 */
enum corun_status driver_find(bool native, const char *gpu, const char *data, char library[PATH_BYTES],
                              struct corun_diagnostics *list);

#endif
