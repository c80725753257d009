/* SPDX-License-Identifier: MIT */
/*
 * Runs of a program under corund: what it does again and again, and how long that takes on the simulated GPU. Those that the program marks
 * (corun/client.h); else from the first copy or launch that it asks for to the end of the call that waits for it, copies to the host behind that included.
 */
#ifndef CORUN_CUDA_RUNS_H
#define CORUN_CUDA_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct task;

struct runs {
    bool marked;       /* the program says where they begin and end */
    bool begun, told;  /* the one at hand; whether corund has it already */
    uint64_t begin;    /* cycle of the host */
    uint64_t launches; /* of the one at hand */
};

/* The program has put a task into a stream. */
void runs_asked(struct process *process, const struct task *task);
/* A call that waits has come to its end, and with it the cycle. */
void runs_waited(struct process *process, uint64_t cycle);

#endif
