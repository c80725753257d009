/* SPDX-License-Identifier: MIT */
/*
 * One corund takes over from another, in the same process (upgrade.c): what the node has, as bytes, and descriptors that stay open. What a
 * machine has under way cannot be handed over, since it is made of the program that simulates it; so it is drained before (node.h), and the new
 * machine begins cold, at the same cycle.
 */
#ifndef CORUN_DAEMON_HANDOVER_H
#define CORUN_DAEMON_HANDOVER_H

#include "daemon/node.h"

/* What both must have alike: versions, and sizes of what is handed over. */
#define HANDOVER_VERSION 4u
#define HANDOVER_TEXT_BYTES 200u
const char *handover_version(const struct node_settings *settings, char text[HANDOVER_TEXT_BYTES]);

/* A client that cannot be handed over, and why; NULL: all can. `why` is a whole sentence without its subject. */
const struct session *handover_obstacle(const struct node *node, const char **why);

/* What is the server's of each client, and of the node. */
struct handover_server {
    int listener;
    bool handed_over; /* the listener, by a service manager */
    char path[4096];
    char configured[WIRE_MOST_POLICY]; /* the policy that its configuration had when that was read last; empty: none */
};
/* `socket_of`: the descriptor of a client. False when out of memory. */
bool handover_pack(const struct node *node, const struct handover_server *server,
                   int (*socket_of)(const struct session *session), struct buffer *state);
/*
 * Into a node that has nothing yet. `came` is called for each client that is there again, and without a session for the socket of one that is not, which
 * is named in the list. ARGUMENT, with a message: it is the state of another version, of other GPUs, or none at all.
 */
enum corun_status handover_unpack(struct node *node, const uint8_t *data, size_t bytes, struct corun_diagnostics *list,
                                  struct handover_server *server,
                                  bool (*came)(void *user, struct session *session, int socket), void *user);

#endif
