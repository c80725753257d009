/* SPDX-License-Identifier: MIT */
/* The daemon's socket: made, or handed over by who started the daemon; and who connects to it. */
#ifndef CORUN_DAEMON_LISTEN_H
#define CORUN_DAEMON_LISTEN_H

#include "corun/status.h"
#include "daemon/limits.h"

/*
 * Others than the daemon's own user can connect only if `open`. -1 with errno; EADDRINUSE: a daemon serves there; ENOTSOCK: something else than a socket
 * lies there.
 */
int listen_at(const char *path, bool open);
/* What such an error number says. */
const char *listen_problem(int error);
/* The end of a socket of listen_at: it is closed, and leaves its path, unless another daemon has put its own there. */
void listen_end(int listener, const char *path);
/*
 * The socket that systemd has handed over (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS), whose path goes into `path`; -1: none. The environment does not
 * have it afterwards. -2: what was handed over is no such socket.
 */
int listen_handed_over(char *path, size_t bytes);
/*
 * The next one that connects; -1 with errno. Where there are no descriptors left, it is turned away unheard in place of *reserve (-1 at first), which is one
 * descriptor: else it would stay in front of the door, and the loop would turn for nothing else.
 */
int listen_accept(int listener, int *reserve);
/*
 * Whether the loop that serves, and a first client, have the descriptors that they need: libuv ends the process where they lack. FILE with a message
 * otherwise.
 */
enum corun_status listen_check_room(struct corun_diagnostics *list);
/* Who has connected, as the kernel says. */
bool listen_peer(int socket, struct peer *peer);
/* Somebody who cannot come is told why, if that fits, and is gone. */
#define LISTEN_STRANGER "this user may not use the GPU of this corund"
void listen_turn_away(int socket, const char *why);
/* Tells systemd how it stands (sd_notify(3)), if it wants to know: "READY=1". */
void listen_notify(const char *state);

#endif
