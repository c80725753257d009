/* SPDX-License-Identifier: MIT */
/* corund on a GPU of hardware: programs with the shim connect, and launches are granted by policies of gate.h. */
#ifndef CORUN_DAEMON_HARDWARE_H
#define CORUN_DAEMON_HARDWARE_H

#include "daemon/gate.h"
#include "daemon/handover.h"
#include "daemon/limits.h"
#include "wire/wire.h"

/* A GPU of this computer. */
struct hardware_found {
    char name[WIRE_NAME_BYTES];
    uint8_t uuid[WIRE_UUID_BYTES]; /* zeros: not known */
};

struct hardware_settings {
    char path[4096];                            /* of the socket */
    struct hardware_found gpus[WIRE_MOST_GPUS]; /* one at least; others are added as programs come with them */
    uint32_t gpu_count;
    char policy_text[WIRE_MOST_POLICY]; /* as it was chosen */
    struct gate_rules rules;
    /* The policy of the configuration; empty: it has none, or does not decide. A corund that takes over from one with another has it at once. */
    char configured[WIRE_MOST_POLICY];
    struct gate_policies policies; /* by which texts of policies are read */
    const struct limits *limits;   /* NULL: the daemon's own user and root may come */
    const char *metrics;           /* a file that is replaced again and again; NULL: none */
    double metrics_interval;       /* seconds */
    const char *journal;           /* NULL: none */
    void (*ready)(void *user);     /* clients can come; may be NULL */
    void (*complain)(void *user, const char *metrics, const char *problem); /* they cannot be written; said once */
    /* SIGHUP: may change policy_text with its rules, limits and metrics. NULL: the signal is as SIGTERM. */
    void (*reload)(void *user);
    /* What the user should know: said on the standard error. May be NULL. */
    void (*tell)(void *user, const char *what, const char *why);
    void *user;
};

/* The GPUs of this computer, WIRE_MOST_GPUS at most, and the version of their driver; 0: there is none. */
uint32_t hardware_find(struct hardware_found *gpus, char version[WIRE_NAME_BYTES]);
/* Whether the vendor's multi-process service runs, with which programs are on the GPU at the same time; else they take turns. */
bool hardware_has_service(void);

/* The version of what one corund hands over to the next at SIGUSR2. */
const char *hardware_version(char text[HANDOVER_TEXT_BYTES]);

/* Serves until SIGTERM or SIGINT. FILE: there can be no socket. */
enum corun_status hardware_run(struct hardware_settings *settings, struct corun_diagnostics *list);

#endif
