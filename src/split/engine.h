/* SPDX-License-Identifier: MIT */
/* What a split holds: its description, its devices, what it has learned, and the state of the run. */
#ifndef CORUN_SPLIT_ENGINE_H
#define CORUN_SPLIT_ENGINE_H

#include "corun/split.h"

#include "split/executor.h"
#include "split/ranges.h"

struct driver;
struct team;

#define CPU 0u
#define MAX_GPUS (CORUN_SPLIT_MAX_DEVICES - 1)

/* What is known of a device's work in a run. */
struct device_account {
    double setup_seconds; /* whole buffers that the next run moves again */
    uint64_t final_done;  /* outside of profiling steps */
    double final_seconds; /* without copies of `kept` bytes, which the next run finds there */
};

struct corun_split {
    struct corun_split_task task; /* a copy, with its buffers */
    struct corun_split_parameters parameters;
    char *strategy_name;
    corun_split_strategy *strategy;
    const void *strategy_context;
    struct corun_split_rate_table *rates; /* owned; NULL unless deterministic */
    bool simulated;
    uint32_t threads, gpu_count, device_count;
    char *names[CORUN_SPLIT_MAX_DEVICES];
    bool has_cpu;
    bool *pinned; /* per buffer */
    struct driver *driver;
    struct corun_split_gpu *gpus[MAX_GPUS];
    struct team *team;
    struct executor *executor;
    char *record; /* file to which each run adds a line; NULL: none */

    /* the run */
    struct ranges left;
    VECTOR(struct corun_split_step) steps;
    bool usable[CORUN_SPLIT_MAX_DEVICES], busy[CORUN_SPLIT_MAX_DEVICES];
    uint32_t step_of[CORUN_SPLIT_MAX_DEVICES]; /* of the part under way */
    struct device_account accounts[CORUN_SPLIT_MAX_DEVICES];
    struct corun_split_result result;

    /* from run to run */
    bool knows; /* `learned` holds */
    double learned[CORUN_SPLIT_MAX_DEVICES], last_imbalance;
    double best_seconds; /* of the slowest device in the shortest run since the split was learned */
};

enum corun_status run_task(struct corun_split *split, struct corun_diagnostics *diagnostics);
/* After a run: what its times say about the next one. */
void learn(struct corun_split *split);
/* Adds a line to the record. */
enum corun_status record_run(const struct corun_split *split, struct corun_diagnostics *diagnostics);

struct executor *virtual_create(struct corun_split *split); /* NULL: out of memory */
struct executor *wall_create(struct corun_split *split);

#endif
