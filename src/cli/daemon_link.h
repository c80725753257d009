/* SPDX-License-Identifier: MIT */
/* Commands that ask corund: reaching it, its list, and its answers. */
#ifndef CORUN_CLI_DAEMON_LINK_H
#define CORUN_CLI_DAEMON_LINK_H

#include "base/vector.h"
#include "cli/command.h"
#include "wire/wire.h"

enum { KEY_DAEMON_SOCKET = 0x2000 };
#define DAEMON_SOCKET_OPTION(group) \
    { \
        "socket", KEY_DAEMON_SOCKET, "PATH", 0, \
            "where corund is [$CORUN_DAEMON_SOCKET, corund.sock in $XDG_RUNTIME_DIR or /run]", group \
    }

struct daemon_client {
    struct wire_client row; /* its name ends within */
    uint32_t samples[WIRE_MOST_SAMPLES], sample_count;
};

/* Who is there, in the order of their numbers. */
struct daemon_list {
    struct wire_node nodes[WIRE_MOST_GPUS]; /* their texts end within */
    uint32_t gpu_count;
    VECTOR(struct daemon_client) clients;
};

/* What commands ask is answered at once, but while another version takes over: after so long, nobody answers. */
#define DAEMON_PATIENCE_SECONDS 30
/* wire_connect, for commands: no send or receive of the link waits for longer than that. */
int daemon_connect(struct wire_link *link, const char *path);
/* `path`: NULL for the usual place. NOT_FOUND: nobody is there. */
enum corun_status daemon_reach(struct wire_link *link, const char *path, struct corun_diagnostics *list);
/* FILE: the connection is gone, or nobody answers. What was in the list before is replaced. */
enum corun_status daemon_ask_list(struct wire_link *link, struct corun_diagnostics *list, struct daemon_list *result);
void daemon_list_free(struct daemon_list *list);
/* A number or a name: which of them. NOT_FOUND: none, or there are several of that name. */
enum corun_status daemon_find_gpu(const struct daemon_list *list, const char *text, struct corun_diagnostics *said,
                                  uint32_t *gpu);
/* Asks what is answered by DONE or REFUSED; why not goes into the list. */
enum corun_status daemon_ask(struct wire_link *link, enum wire_type type, const void *body, const void *tail,
                             uint32_t tail_bytes, struct corun_diagnostics *list);

/* "waits"; "?" for one that is not known. */
const char *daemon_state(uint32_t state);
/* Its name, for a terminal: what is not plain ASCII becomes question marks. */
const char *daemon_name(const struct wire_client *client, char text[WIRE_NAME_BYTES]);
/* "90%", "ipc=300" or "-". */
#define DAEMON_GOAL_BYTES 32u
/* How fast a client is, and alone: thread instructions per cycle; on a GPU of hardware, launches in a second of wanting it. 0: not known. */
double daemon_rate(const struct wire_node *node, const struct wire_client *client);
double daemon_rate_alone(const struct wire_node *node, const struct wire_client *client);
const char *daemon_goal_text(const struct wire_client *client, char text[DAEMON_GOAL_BYTES]);

#endif
