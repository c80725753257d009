/* SPDX-License-Identifier: MIT */
/*
 * Several programs of one `corun exec` on one simulated GPU. The node is corund's (daemon/node.h), in this process, at a socket in a folder that
 * is gone at the end; each program has a starter, a process of ours that guards it (guard.h), so that all can run at the same time.
 */
#ifndef CORUN_CLI_TOGETHER_H
#define CORUN_CLI_TOGETHER_H

#include "cli/daemon_setup.h"
#include "cli/share_options.h"
#include "report/program_sharing.h"

struct together {
    struct command *command;
    struct daemon_setup setup;        /* gpu, policy, threads and kernel timeout of the command line */
    const char *checks;               /* of all programs; NULL: none */
    double wall_seconds;              /* that each may take; 0: any time */
    bool profile;                     /* where kernels issue and wait is wanted */
    struct program_record **profiles; /* [programs] if so */
    bool baselines;                   /* every program's rate alone is wanted */
    VECTOR(struct program) programs;
    const char **names; /* of them, no two alike */
    int signal;         /* that ended them; 0: none */
    bool out_of_time;   /* one of them was ended because of wall_seconds */
    size_t refused;     /* the first program that had a launch refused, counted from 1; 0: none */
};

/*
 * The programs of a command line: words, then `:`, options of the next program, `--`, its words, and so on. `first` has the options of the
 * first one. What is wrong ends the process.
 */
void together_split(struct together *together, const struct program *first, char **words, struct argp_state *state);
/*
 * Those whose rate alone is needed and not given run alone first; then all run together. What their processes launched is added to the
 * record, and the sharing is in the command's arena. Errors are of ours: how programs ended is in the sharing.
 */
enum corun_status together_run(struct together *together, struct program_record *record,
                               struct program_sharing *sharing);
void together_end(struct together *together);

#endif
