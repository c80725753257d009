/* SPDX-License-Identifier: MIT */
/*
 * What corund has done on a GPU of hardware, over the host's time, in the Trace Event Format: who came and went, goals and policies that were chosen, and
 * every tenth of a second how fast each program was beside itself alone, and which part of that time it was behind its goal.
 */
#ifndef CORUN_DAEMON_HARDWARE_JOURNAL_H
#define CORUN_DAEMON_HARDWARE_JOURNAL_H

#include "daemon/gate.h"

struct hardware;
struct client;
struct hardware_journal;

/* NULL: with errno. */
struct hardware_journal *hardware_journal_open(const char *path, const char *gpu, const char *policy, uint64_t now_ns);
/* When it began; 0: there is none. */
uint64_t hardware_journal_begun(const struct hardware_journal *journal);
/* One that another corund has begun. */
struct hardware_journal *hardware_journal_continue(const char *path, uint64_t begun_ns, uint64_t now_ns);
void hardware_journal_close(struct hardware_journal *journal); /* NULL: nothing */
/* All do nothing without a journal, or when it could not be written. `client`: NULL: of nobody. */
void hardware_journal_note(struct hardware_journal *journal, const struct client *client, const char *what,
                           const char *text, uint64_t now_ns);
/* After each look at the boards. */
void hardware_journal_look(struct hardware_journal *journal, const struct hardware *hardware, uint64_t now_ns);

#endif
