/* SPDX-License-Identifier: MIT */
/* The daemon: a node behind a Unix socket. */
#ifndef CORUN_DAEMON_SERVER_H
#define CORUN_DAEMON_SERVER_H

#include "daemon/node.h"

/*
 * Serves the node at the path until SIGTERM or SIGINT has come, or the machine cannot continue. Users other than the daemon's own and root
 * are turned away. A client that neither waits nor calls for `patience` seconds of the host no longer holds up time (0: it does as long as it likes);
 * then results depend on the host. `ready` is called once, when clients can come; may be NULL. FILE: the path cannot be had, for which another daemon may
 * be the reason; MEMORY; POLICY: the policy did what it must not, the list says what.
 */
enum corun_status server_run(struct node *node, const char *path, double patience, void (*ready)(void *user),
                             void *user, struct corun_diagnostics *list);

#endif
