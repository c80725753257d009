/* SPDX-License-Identifier: MIT */
/* What corund is made of: its command line, its configuration file, and both together. */
#ifndef CORUN_CLI_DAEMON_SETUP_H
#define CORUN_CLI_DAEMON_SETUP_H

#include "base/arena.h"
#include "base/duration.h"
#include "base/vector.h"
#include "cli/command.h"
#include "corun/case.h"
#include "daemon/configuration.h"
#include "daemon/server.h"

struct daemon_setup {
    struct command *command;
    /* of the command line; NULL and 0: not given */
    VECTOR(const char *) gpus;
    const char *policy, *socket, *metrics, *journal, *file;
    VECTOR(const char *) expected;
    struct simulated_duration kernel_timeout;
    uint64_t threads;
    double patience, pace;
    bool check, takes_over, quiet, has_kernel_timeout;
    /* of both */
    struct daemon_configuration configuration; /* as it was read last */
    struct arena *texts;                       /* of that */
    struct arena *texts_before;                /* while it is read again: of what it was */
    struct arena *chosen;                      /* parameters of the policy that was chosen while it runs */
    struct limits limits;
    struct node_gpu gpus_found[WIRE_MOST_GPUS];
    char gpu_names[4 * WIRE_NAME_BYTES]; /* "gtx980, quadro-v100", shortened where there are many */
    struct node_settings settings;
    struct server_settings server;
    struct node *node; /* once there is one */
};

/* Reads the configuration file, if there is one, for what follows. */
enum corun_status daemon_read(struct daemon_setup *setup);
/* Whether it is the GPU of this computer that is meant. */
bool daemon_is_hardware(const struct daemon_setup *setup);
/* The file once more, at SIGHUP; false: it is wrong, which has been said, and all stays as it was. */
bool daemon_read_again(struct daemon_setup *setup, struct daemon_configuration *before);
/* What a text of the file means is said with its place there, unless it has one of its own. */
enum corun_status daemon_add_place(const struct corun_diagnostics *said, struct corun_place place,
                                   enum corun_status status, struct corun_diagnostics *list);
/* Another policy, of the setup `user`; parameters live until the next one is chosen, and whoever has them then has a copy. */
enum corun_status daemon_choose_policy(void *user, const char *text, struct corun_diagnostics *list,
                                       const struct corun_policy **policy, const double **parameters);
void daemon_complain(void *user, const char *metrics, const char *problem);
bool daemon_differ(const struct value *one, const struct value *other);
/* Settings of node and server. Errors have the places of the file. */
enum corun_status daemon_set_up(struct daemon_setup *setup);
/* Serves programs on the GPU of this computer, where the command line names no simulated one. */
enum corun_status daemon_run_hardware(struct daemon_setup *setup);
void daemon_set_down(struct daemon_setup *setup);

#endif
