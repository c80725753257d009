/* SPDX-License-Identifier: MIT */
/* How much memory the host has left. */
#ifndef CORUN_BASE_HOST_MEMORY_H
#define CORUN_BASE_HOST_MEMORY_H

#include "corun/status.h"

/*
 * Bytes that this process could still fill without swapping: what the system has available, less where a control group, or a limit of the
 * process, leaves less. UINT64_MAX if nothing of that is known. `root` is the beginning of the paths of /proc and /sys: "".
 */
uint64_t host_memory_available(const char *root);
/*
 * Whether that many bytes, which are about to be filled, can be there: the system would not refuse them, but end the process later on. MEMORY,
 * reported with `what` as the subject: "WHAT: its N bytes ...".
 */
enum corun_status host_memory_check(uint64_t bytes, const char *what, struct corun_place place,
                                    struct corun_diagnostics *list);

#endif
