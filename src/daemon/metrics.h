/* SPDX-License-Identifier: MIT */
/* What a node does, as Prometheus reads it (text format 0.0.4). */
#ifndef CORUN_DAEMON_METRICS_H
#define CORUN_DAEMON_METRICS_H

#include "daemon/node.h"

#include <stdio.h>

/* What there is to tell. Where one GPU is of hardware, all are. */
struct metrics {
    const struct wire_node *heads;
    uint32_t gpu_count;
    const struct wire_client *rows;
    uint32_t client_count;
    size_t connections;
    uint64_t refused; /* connections that were turned away */
};

/* Into a file, which is replaced as a whole. 0, or the error; then what was there stays. */
int metrics_write(const struct metrics *told, const char *path);
/* The same of a node. */
int metrics_write_node(const struct node *node, uint64_t refused, const char *path);

#endif
