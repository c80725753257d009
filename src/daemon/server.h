/* SPDX-License-Identifier: MIT */
/* Sockets of a node: connections, credentials, signals, and the files that tell of it. */
#ifndef CORUN_DAEMON_SERVER_H
#define CORUN_DAEMON_SERVER_H

#include "daemon/node.h"

struct server_settings {
    char path
        [4096]; /* of the socket; where one is handed over (systemd's socket activation), its own path takes the place of this one */
    bool handed_over; /* which server_run finds out */
    /* The policy of the configuration, as the node's settings have it; empty: it has none, or does not decide. A corund that takes over from one with another has it at once. */
    char configured[WIRE_MOST_POLICY];
    double patience; /* seconds of the host; after them time goes on without the client that holds it up; 0: never */
    const char *metrics;       /* a file that is replaced again and again; NULL: none */
    double metrics_interval;   /* seconds */
    void (*ready)(void *user); /* clients can come; may be NULL */
    void (*complain)(void *user, const char *metrics, const char *problem); /* they cannot be written; said once */
    void (*tell)(void *user, const char *what,
                 const char *why); /* of a client, and of what it was asked for by SIGUSR2 */
    /*
     * SIGHUP: reads the configuration again, and changes patience, metrics and limits of the node, which must not be moved. NULL: the signal is
     * as SIGTERM.
     */
    void (*reload)(void *user);
    /*
     * For a server that starts its clients itself. `child`: a child may have ended (also called once at the start); true when the server is to
     * end. `interrupted`: one of SIGINT, SIGTERM and SIGHUP came, and does not end the server unless that is true. Both or none are NULL.
     */
    bool (*child)(void *user);
    bool (*interrupted)(void *user, int signal);
    void *user;
};

/*
 * Serves the node at its socket until SIGTERM or SIGINT. At SIGUSR2 the process becomes the corund that its file is by now (upgrade.h). FILE: there can be no socket; POLICY: the machine cannot continue, and the
 * list of the node says why. The settings stay in use and may be changed by `reload`.
 */
enum corun_status server_run(struct node *node, struct server_settings *settings, struct corun_diagnostics *list);

#endif
