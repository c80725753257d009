/* SPDX-License-Identifier: MIT */
/*
 * corund's configuration in YAML:
 *
 *     simulate: gtx980             as --simulate; [gtx980, quadro-v100] where there are several GPUs
 *     hardware: true               instead: the GPU of this computer
 *     policy: smqos                as --policy
 *     socket: /run/corund/corund.sock
 *     expect: [server, train]      as --expect, in this order
 *     threads: 1
 *     kernel_timeout: 10ms
 *     patience: 10s
 *     pace: 0.001
 *     metrics: /run/corund/corund.prom, every metrics_interval: 5s
 *     journal: /var/log/corund/journal.json
 *     limits:                      who may come, and how much each may have; the first row that fits counts
 *       - {user: alice, clients: 4, memory: 1G, share: 50%}
 *       - {group: students, clients: 8, memory: 512M}
 *       - {clients: 1}             everybody else
 *
 * All may be missing. What the texts of GPU, policy and times mean is up to the caller.
 */
#ifndef CORUN_DAEMON_CONFIGURATION_H
#define CORUN_DAEMON_CONFIGURATION_H

#include "base/arena.h"
#include "base/yaml_reader.h"
#include "daemon/limits.h"

#define CONFIGURATION_MOST_BYTES (1u << 18)
#define CONFIGURATION_MOST_EXPECTED 16u
#define CONFIGURATION_MOST_GPUS 8u
#define CONFIGURATION_LEAST_PACE 1e-6

struct daemon_configuration {
    struct value gpus[CONFIGURATION_MOST_GPUS];
    uint32_t gpu_count;                                            /* 0: none is given */
    bool hardware;                                                 /* the GPU of this computer */
    struct value policy, socket, metrics, journal, kernel_timeout; /* text == NULL: not given */
    struct value expected[CONFIGURATION_MOST_EXPECTED];
    uint32_t expected_count;
    uint64_t threads;        /* 0: not given */
    double patience;         /* seconds; 0: not given */
    double pace;             /* 0: not given */
    double metrics_interval; /* seconds; 0: not given */
    struct limits limits;
};

/* A pace: above 0, at most 1. */
bool daemon_configuration_pace(const char *text, double *pace);

/* Texts lie in the arena. SYNTAX and NOT_FOUND (a user or group that is not there) with places. */
enum corun_status daemon_configuration_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                                             struct corun_diagnostics *list, struct daemon_configuration *result);
enum corun_status daemon_configuration_load(const char *path, struct arena *arena, struct corun_diagnostics *list,
                                            struct daemon_configuration *result);

#endif
