/* SPDX-License-Identifier: MIT */
/*
 * What a node has done, over simulated time, in the Trace Event Format of timelines (ui.perfetto.dev): who came and went, goals and policies that were
 * chosen, decisions of the policy that change how many SMs somebody may have, and the SMs that everybody had. One event a line, written as it comes,
 * so that a journal whose daemon was killed lacks only its last bracket. Each GPU is a process of the timeline, with its own time.
 */
#ifndef CORUN_DAEMON_JOURNAL_H
#define CORUN_DAEMON_JOURNAL_H

#include "daemon/node.h"

struct node_journal;

/* NULL: with errno. */
struct node_journal *node_journal_open(const char *path, const struct node *node);
void node_journal_close(struct node_journal *journal); /* NULL: nothing */
/* All do nothing without a journal, or when it could not be written. */
/* `device`: NULL: nothing has happened to any. */
void node_journal_note(struct node_journal *journal, const struct device *device, const struct session *session,
                       const char *what, const char *text);
void node_journal_moment(struct node_journal *journal, const struct device *device,
                         const struct corun_observation *seen);
void node_journal_sample(struct node_journal *journal, const struct device *device, uint64_t cycle);

#endif
