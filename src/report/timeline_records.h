/* SPDX-License-Identifier: MIT */
/* What a timeline keeps: collected by timeline.c, written by timeline_json.c. */
#ifndef CORUN_REPORT_TIMELINE_RECORDS_H
#define CORUN_REPORT_TIMELINE_RECORDS_H

#include "base/arena.h"
#include "base/vector.h"
#include "report/series.h"
#include "report/timeline.h"

#define NO_CYCLE UINT64_MAX

enum slice_end { SLICE_COMPLETE, SLICE_STOPPED, SLICE_UNFINISHED, SLICE_PREEMPTED };

/* What a thread block does on its SM. */
enum tb_phase { TB_RUNS, TB_IS_SAVED, TB_IS_RESTORED };

struct tb_slice {
    uint64_t key;
    uint64_t start, end, launch;
    uint32_t tb, name, sm;
    uint8_t track, application, how, phase;
};

struct launch_slice {
    uint64_t key;
    uint64_t number;
    uint64_t earliest; /* its thread blocks may start */
    uint64_t first_tb; /* NO_CYCLE: none did */
    uint64_t end;      /* NO_CYCLE: it runs */
    uint32_t tbs, tbs_completed, tb_threads;
    uint32_t name;
    uint8_t application, how;
};

/* What a policy allows an application, over all SMs. */
struct allowance {
    uint32_t sms;             /* that may hold thread blocks of it */
    uint32_t lowest, highest; /* limits on these */
};

struct moment {
    uint64_t key;
    uint64_t cycle;
    enum corun_policy_event event;
    uint32_t sm, application;
    uint32_t exclusive_sms;
    uint64_t changed; /* what the policy allows: 1, else 0; without a gap, as ARCHIVE_CLEAR_PADDING wants it */
    struct allowance allowances[CORUN_MAX_APPLICATIONS];
};

/* Who may use an SM, by what the policy allows, or that it has no power. */
struct sm_slice {
    uint64_t key;
    uint64_t start, end;
    uint32_t sm;
    uint32_t applications; /* bit mask */
    bool off;
};

/* Not complete: the run ended in it. */
struct epoch_slice {
    uint64_t key;
    uint64_t start, end;
    bool complete;
};

/* Of the controller of a policy, as of the cycle. */
struct variables_sample {
    uint64_t key;
    uint64_t cycle;
    double values[]; /* [variable_count] */
};

/* Counted from the start of the run, but SMs with a thread block of it as of the cycle. */
struct application_sample {
    uint64_t thread_instructions;
    uint64_t tb_cycles; /* resident thread blocks, summed over cycles */
    uint64_t sms;
};
struct timeline_sample {
    uint64_t key;
    uint64_t cycle;
    uint64_t powered_sms; /* as wide as the others: checkpoints have no gaps */
    struct corun_memory_result memory;
    struct application_sample applications[]; /* [application_count] */
};

struct resident_tb {
    uint64_t launch; /* 0: the track is free */
    uint64_t start;
    uint32_t tb, name;
    uint8_t application, phase;
};

struct timeline {
    struct timeline_settings settings;
    uint32_t sms, tracks; /* of each SM: as many as it can hold thread blocks */
    struct arena *arena;
    VECTOR(const char *) names; /* of kernels */
    struct series tbs, launches, moments, epochs, samples, states, variables;
    struct resident_tb *residents;              /* [sm][track] */
    uint32_t *tracks_used;                      /* [sm] */
    uint64_t tb_cycles[CORUN_MAX_APPLICATIONS]; /* of thread blocks that have ended */
    VECTOR(struct launch_slice) running;        /* in flight */
    struct sm_slice *state;                     /* [sm]: now, without an end; start NO_CYCLE: nothing is known */
    uint64_t epoch_start;                       /* of the one that runs */
    struct variables_sample *values;            /* the latest */
    bool any_off;
    /* allowances as they were last seen */
    uint32_t *tb_limit, *order;     /* [sm][application] */
    bool *exclusive;                /* [sm] */
    struct timeline_sample *sample; /* the latest */
    uint64_t end_cycle;             /* up to which it was observed */
    bool failed;                    /* out of memory */
};

/* States of SMs, epochs and the policy's variables (timeline_states.c). */
bool timeline_states_create(struct timeline *timeline, uint64_t limit);
void timeline_see_states(struct timeline *timeline, const struct corun_allowances *allowances, uint64_t cycle);
void timeline_see_power(struct timeline *timeline, uint32_t sm, bool powered, uint64_t cycle);
void timeline_see_variables(struct timeline *timeline, const double *values, uint64_t cycle);
void timeline_see_epoch(struct timeline *timeline, uint64_t end_cycle);
void timeline_close_states(struct timeline *timeline);
uint32_t timeline_powered_sms(const struct timeline *timeline);

/* Keeps a record of a series. */
void timeline_add(struct timeline *timeline, struct series *series, const void *record);
bool timeline_in_range(const struct timeline *timeline, uint64_t start, uint64_t end);
/* Ends what is still open at the end of the run. */
void timeline_close(struct timeline *timeline);

#endif
