/* SPDX-License-Identifier: MIT */
/* Puts back what an agent has changed. */
#ifndef CORUN_AGENT_RESTORE_H
#define CORUN_AGENT_RESTORE_H

#include "agent/journal.h"

struct restored {
    uint32_t programs, stopped, threads, processes, groups; /* ended, going on, moved back, moved back, removed */
    uint32_t failed;                                        /* of what is still there */
};

/*
 * Ends programs (SIGTERM, and SIGKILL for what is still there after `grace_ms`), lets go on what was stopped, and so on: whatever is gone needs nothing, and
 * to do it twice does no harm. Statuses of journal_read; the file stays.
 */
enum corun_status restore_from(const char *path, uint32_t grace_ms, struct corun_diagnostics *list,
                               struct restored *restored);

/*
 * The same, unless the agent that wrote the file is still there; then the file goes, if all was put back. NOT_FOUND: there is none, ARGUMENT: it is
 * there.
 */
enum corun_status restore_leftover(const char *path, struct corun_diagnostics *list, struct restored *restored);

#endif
