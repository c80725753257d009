/* SPDX-License-Identifier: MIT */
/* What a node does, as Prometheus reads it (text format 0.0.4). */
#ifndef CORUN_DAEMON_METRICS_H
#define CORUN_DAEMON_METRICS_H

#include "daemon/node.h"

#include <stdio.h>

/* `refused`: connections that were turned away. */
void metrics_print(const struct node *node, uint64_t refused, FILE *stream);
/* Into a file, which is replaced as a whole. 0, or the error; then what was there stays. */
int metrics_write(const struct node *node, uint64_t refused, const char *path);

#endif
