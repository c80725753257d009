/* SPDX-License-Identifier: MIT */
/*
 * What an agent has changed, in a file, each line written before the change: whoever finds the file can put everything back, the agent when it ends,
 * its guardian when it was killed, the next agent when both were.
 *
 *     corun restore 1
 *     agent 4711 99128                              process and time of its start
 *     program 4712 99130                            started by the agent: its process group is ended
 *     stopped 4712 99130                            is to go on
 *     affinity 5100 88000 5101 88001 0-3            process, thread, where the thread could run
 *     home 5100 88000 /sys/fs/cgroup/cpuset/web     the control group that the process was in
 *     released 5100 88000                           is as it was: lines of it before this one count no more
 *     group /sys/fs/cgroup/cpuset/corun-4711        is removed; what is in there goes to the group above
 *     resctrl /sys/fs/resctrl/corun-4711-1          is removed
 */
#ifndef CORUN_AGENT_JOURNAL_H
#define CORUN_AGENT_JOURNAL_H

#include "agent/control_file.h"
#include "agent/process.h"
#include "corun/status.h"

#include <sched.h>

#define JOURNAL_BYTES (16u << 20)     /* of a file at most */
#define JOURNAL_SHRINKS_AT (1l << 17) /* bytes; then lines of processes that are gone or released are left out */

struct journal {
    int fd;           /* -1: none is kept */
    const char *path; /* the caller's, who keeps it as long as the journal */
    off_t shrinks_at;
};

/* A new file, for its user alone, with the agent as its first entry. FILE: also if there is one. */
enum corun_status journal_create(struct journal *journal, const char *path, struct corun_diagnostics *list);
void journal_close(struct journal *journal);

/* All return 0, or what went wrong; then the change is not to be made. */
int journal_program(struct journal *journal, struct process_id program);
int journal_stopped(struct journal *journal, struct process_id process);
int journal_affinity(struct journal *journal, struct process_id process, struct process_id thread,
                     const cpu_set_t *cores);
int journal_home(struct journal *journal, struct process_id process, const char *folder);
int journal_group(struct journal *journal, const char *folder);
int journal_resctrl(struct journal *journal, const char *folder);
/* Not a change: what the agent has changed of that process is put back. */
int journal_released(struct journal *journal, struct process_id process);

/* ---- reading ---- */

enum journal_kind {
    JOURNAL_AGENT,
    JOURNAL_PROGRAM,
    JOURNAL_STOPPED,
    JOURNAL_AFFINITY,
    JOURNAL_HOME,
    JOURNAL_GROUP,
    JOURNAL_RESCTRL,
    JOURNAL_RELEASED, /* in files alone */
    JOURNAL_KINDS
};

struct journal_entry {
    enum journal_kind kind;
    struct process_id process, thread;
    cpu_set_t cores;
    char *folder;
};
typedef VECTOR(struct journal_entry) journal_entries;

/*
 * `file` is for messages. A last line without an end was not written whole, and its change not made: it is passed over. A folder that is to be removed
 * has `corun-` in its last or last but one name. Entries of processes that were released behind them are left out. SYNTAX with the line; MEMORY. The entries are to be freed by journal_free, also after an error.
 */
enum corun_status journal_read(const char *file, const char *text, size_t bytes, struct corun_diagnostics *list,
                               journal_entries *entries);
void journal_free(journal_entries *entries);

#endif
