/* SPDX-License-Identifier: MIT */
/* A corund becomes another one, of the file that it was started from, in the same process: its descriptors stay open, its clients notice nothing. */
#ifndef CORUN_DAEMON_UPGRADE_H
#define CORUN_DAEMON_UPGRADE_H

#include "daemon/handover.h"

#define UPGRADE_PATH_BYTES 4096u
/* The file of this process. False: that is not known. To be called when it starts, before the file may be replaced. */
bool upgrade_file(char path[UPGRADE_PATH_BYTES]);

/*
 * Whether that file, started with the command line of this process, takes over from a corund of this version: it is asked with --takes-over. NULL:
 * yes; else why not.
 */
const char *upgrade_problem(const char *path, const char *version);

/*
 * Signals wait from now on, for upgrade_hear, in this process or in what it becomes. Those that came before are with the loop already: it goes round once before they, too, are
 * heard.
 */
void upgrade_hold(void);
/* Becomes it, with these bytes, while signals wait. Returns only with an error: then everything is as it was. `descriptors`: what stays open. */
int upgrade_become(const char *path, const struct buffer *state, const int *descriptors, size_t count);

/* Signals have waited for somebody who listens to them: now there is. */
void upgrade_hear(void);
/* Whether this process has become corund in that way. */
bool upgrade_takes_over(void);
/* What it is to take over, once; the caller frees it. False: there is nothing. */
bool upgrade_state(uint8_t **data, size_t *bytes);

#endif
