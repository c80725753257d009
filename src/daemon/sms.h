/* SPDX-License-Identifier: MIT */
/*
 * SMs of a GPU of hardware, divided by a policy of corun/policy.h among programs whose launches are workers: a machine below a governor, as src/software is in
 * one process. What programs have done is read from their sheets (wire/board.h), and limits are written there; each program's shim carries both to and from
 * its own tables. Without sockets and clocks, as gate.h.
 */
#ifndef CORUN_DAEMON_SMS_H
#define CORUN_DAEMON_SMS_H

#include "corun/policy.h"
#include "corun/status.h"
#include "wire/board.h"

#define SMS_MOST_PARAMETERS 64u
#define SMS_EPOCH_NS UINT64_C(1000000)
#define SMS_LATE_NS UINT64_C(10000000) /* an epoch waits so long for what programs tell of it */

struct corun_diagnostics;
struct sms;

struct sms_choice {
    const struct corun_policy *policy; /* NULL: none */
    double parameters[SMS_MOST_PARAMETERS];
};

/* What a sheet says of its device and of the last launch there, read once: the program may write something else at any time. */
struct sms_shape {
    uint32_t sms, threads_per_sm, most_tbs; /* sms 0: not known yet, or impossible */
    uint32_t tbs_per_sm, tb_threads;        /* 0: nothing was launched */
};
struct sms_shape sms_shape_of(const struct board_sheet *sheet);

/* A program, at a look. */
struct sms_program {
    bool takes_part; /* else nothing else is read */
    bool wants;      /* it has something on the GPU, or waits for that */
    struct board *board;
    struct board_sheet *sheet;
    struct sms_shape shape;
    enum corun_goal_kind goal; /* NONE also where it is not known yet as a rate */
    double goal_value;
    double goal_rate, alone; /* thread blocks in a nanosecond; `alone` 0: not known */
    double progress;         /* thread blocks */
    uint64_t runs;
};

/* Whether the policy can be obeyed at all; ARGUMENT or POLICY with what it needs that a GPU of hardware does not do. */
enum corun_status sms_check(const struct sms_choice *choice, struct corun_diagnostics *list);

/* NULL: there is no memory. */
struct sms *sms_create(const struct sms_choice *choice);
void sms_destroy(struct sms *sms);
/* Another policy for those who are there; after an error the one before goes on. */
enum corun_status sms_change(struct sms *sms, const struct sms_choice *choice, uint64_t now_ns,
                             struct corun_diagnostics *list);
/*
 * It is `now_ns`, and the programs of BOARD_CLIENTS places are so. Limits of those that have a part are in their sheets then, and their boards say so. Not OK: the
 * policy has ended itself, or wrote what is impossible (sms_problem), and nothing is decided any more.
 */
enum corun_status sms_look(struct sms *sms, const struct sms_program *programs, uint64_t now_ns);
const char *sms_problem(const struct sms *sms);
/* Time that does not count: nobody's rate is of it. */
void sms_pause(struct sms *sms, uint64_t now_ns);
/* Whether the program has a part: else its limits are none of this policy's. */
bool sms_has_part(const struct sms *sms, uint32_t number);
/* SMs on which it may be. */
uint32_t sms_count(const struct sms *sms, uint32_t number);
/* SMs of the GPU; 0: nobody has said. */
uint32_t sms_of_gpu(const struct sms *sms);

#endif
