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
    struct arena *chosen;                      /* parameters of the policy that was chosen while it runs */
    struct limits limits;
    struct node_gpu gpus_found[WIRE_MOST_GPUS];
    char gpu_names[4 * WIRE_NAME_BYTES]; /* "gtx980, quadro-v100", shortened where there are many */
    struct node_settings settings;
    struct server_settings server;
    struct node *node; /* once there is one */
};

/* Settings of node and server. Errors have the places of the file. */
enum corun_status daemon_set_up(struct daemon_setup *setup);
/* Serves programs on the GPU of this computer, where the command line names no simulated one. */
enum corun_status daemon_run_hardware(struct daemon_setup *setup);
void daemon_set_down(struct daemon_setup *setup);

#endif
