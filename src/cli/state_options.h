/* SPDX-License-Identifier: MIT */
/* Where one run keeps its state, and what it goes on from: the same three options of every command that has them (docs/checkpoints.md). */
#ifndef CORUN_CLI_STATE_OPTIONS_H
#define CORUN_CLI_STATE_OPTIONS_H

#include "cli/command.h"

struct state_options {
    const char *file, *resume; /* NULL: none */
    uint64_t cycle, every;     /* 0: not */
};

enum { KEY_STATE_FILE = 0x3200, KEY_STATE_EVERY, KEY_STATE_RESUME };

/* Rows of struct argp_option; `state` says what is saved: "the state of the shared run". */
#define STATE_OPTIONS(state, group) \
    {"checkpoint", \
     KEY_STATE_FILE, \
     "FILE[@CYCLE]", \
     0, \
     "save " state " to FILE at that cycle, and when SIGTERM or SIGINT ends the run (docs/checkpoints.md)", \
     group}, \
        {"checkpoint-every", KEY_STATE_EVERY, "N", 0, "also at every multiple of N cycles", group}, \
    { \
        "resume", KEY_STATE_RESUME, "FILE", 0, \
            "go on from that state, with the same results; if FILE is that of --checkpoint and not there yet, from " \
            "the beginning", \
            group \
    }

/* False if it is none of these options. With ARGP_KEY_SUCCESS it looks whether they fit, and gives false. */
bool state_option(int key, const char *value, struct argp_state *argp, struct command *command,
                  struct state_options *options);

#endif
