/* SPDX-License-Identifier: MIT */
/* What remote.c and remote_machine.c share. */
#ifndef CORUN_CUDA_REMOTE_LINK_H
#define CORUN_CUDA_REMOTE_LINK_H

#include "base/vector.h"
#include "wire/wire.h"

struct remote_instance {
    const struct corun_module_instance *instance;
    uint32_t number; /* of the module, in the daemon's space */
};

/* A context, as the daemon has it. */
struct remote_space {
    struct remote *remote;
    uint32_t number;
    int file;
    uint8_t *storage;
    struct corun_memory *memory; /* its context's; NULL: there is none */
    VECTOR(struct remote_instance) instances;
};

/* Pages of the program that are a part of a space's file while they are registered. */
struct remote_loan {
    uint32_t space;
    uint64_t address;      /* that was registered */
    uint64_t first, bytes; /* whole pages of the program */
    uint64_t place;        /* in the space's memory */
};

struct remote_launch {
    uint32_t application, number;
    struct corun_launched launched;
    struct corun_counters counters; /* before it, until it has ended */
};

struct remote {
    struct wire_link link;
    bool lost, complained, paced;
    struct corun_diagnostics *list; /* the process's */
    struct corun_gpu_config configuration;
    uint64_t cycle; /* of the machine, when it told last */
    bool idles;     /* it is left idle until that cycle, UINT64_MAX: until it is called */
    uint64_t idle_until;
    struct remote_space spaces[CORUN_MAX_APPLICATIONS];
    VECTOR(struct remote_launch) launches;
    VECTOR(struct remote_loan) loans;
    int forking[2]; /* a pipe while the process forks and has loans; the child closes it when it has none */
};

/* The connection is gone, which is said once. Gives a status. */
enum corun_status remote_lost(struct remote *remote);
/* What came as a status; FAULT: there is none such. */
enum corun_status remote_status(uint32_t status);
/* The answer of that type, after what else has come. False: the connection is gone. */
bool remote_answer(struct remote *remote, enum wire_type type, struct wire_frame *frame);
/* Asks what is answered by DONE, or by PLACE. */
enum corun_status remote_ask(struct remote *remote, enum wire_type type, const void *body);
enum corun_status remote_place(struct remote *remote, enum wire_type type, const void *body, const void *tail,
                               uint32_t tail_bytes, struct wire_place *place);
/*
 * remote_loan.c: memory of the program becomes part of a space, at its own address. UNSUPPORTED: some of its pages are registered already, or
 * cannot be had.
 */
enum corun_status remote_lend(struct remote_space *space, uint64_t address, const void *host, uint64_t bytes);
/* What was registered at the address is the program's alone again. */
void remote_return(struct remote_space *space, uint64_t address);
/* The same for all that the space has. */
void remote_return_all(const struct remote_space *space);
/* Memory that the host has within a loan: the space, and where it lies there. False: there is none. */
bool remote_find_loan(const struct remote *remote, const void *host, uint64_t bytes, uint32_t *space,
                      uint64_t *address);

/* A launch has ended. */
void remote_ended(struct remote *remote, const struct wire_frame *frame);

#endif
