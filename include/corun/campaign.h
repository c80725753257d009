/* SPDX-License-Identifier: MIT */
/*
 * Campaigns: many cases from one description (docs/campaigns.md), run by worker processes, each result kept as it comes.
 *
 *     corun_campaign_load → corun_campaign_run → rows in a results file (SQLite; schema in docs/campaigns.md)
 *
 * A case is known by its content: GPU, policy, workloads, goals, window, seed and the program that simulates it. What is in the
 * results file is not run again; what changed is. Cases of other commands are known likewise; the command itself runs them.
 */
#ifndef CORUN_CAMPAIGN_H
#define CORUN_CAMPAIGN_H

#include "corun/case.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_CAMPAIGN_MAX_JOBS 256u

/* An option of another command than `corun run`, by its long name. */
struct corun_campaign_option {
    const char *name, *value; /* value: NULL: it has none */
};

/* One case in words: what `corun run` would be given, or another command. */
struct corun_campaign_case {
    const char *gpu, *policy; /* of another command: its GPU, and its schedulers or strategies */
    uint32_t application_count;
    const char *const *applications; /* WORKLOAD@SIZE[:goal=…]; of another command: what follows its options */
    uint64_t cycles, seed;           /* cycles: 0 with another command */
    uint32_t settle;                 /* as in struct corun_case */
    bool
        isolated; /* one application without a policy that others are compared with; not asked for by the description */
    const char *command; /* NULL: run */
    uint32_t option_count;
    const struct corun_campaign_option *options; /* as the description gives them, of another command */
};

struct corun_campaign;
/* SYNTAX with a place; NOT_FOUND, FILE; ARGUMENT: more than a million cases. */
enum corun_status corun_campaign_load(const char *path, struct corun_diagnostics *list,
                                      struct corun_campaign **campaign);
void corun_campaign_destroy(struct corun_campaign *campaign);
const char *corun_campaign_name(const struct corun_campaign *campaign);
const char *corun_campaign_summary(const struct corun_campaign *campaign);
/* The command that all cases are of: "run" or another. */
const char *corun_campaign_command(const struct corun_campaign *campaign);
/* The isolated runs come first, then the cases in the order of the description; strings belong to the campaign. */
size_t corun_campaign_count(const struct corun_campaign *campaign);
const struct corun_campaign_case *corun_campaign_get(const struct corun_campaign *campaign, size_t index);

struct corun_campaign_progress {
    uint32_t total, finished, failed; /* finished: now or earlier */
    uint32_t running, elsewhere;      /* here; with other runners, as far as is known */
    double seconds;                   /* since the start */
    double seconds_left;              /* estimated; NAN: not known yet */
    const char *failure;              /* the message of a case that has just failed; else NULL */
};

struct corun_campaign_run_request {
    const struct corun_campaign *campaign;
    const char *results;         /* file; created when it does not exist */
    const char *data_directory;  /* where workloads and GPUs are looked up */
    const char *cache_directory; /* of isolated baselines; NULL: none */
    const char
        *replay_directory; /* of records, as in struct corun_case, for cases of `corun run`; NULL: they are executed */
    const char *program;   /* path of the command `corun`, which runs cases of other commands than `corun run` */
    /*
     * Where each case that can be saved leaves its state every so many seconds, and goes on from it when it runs again; created when
     * needed. NULL: nowhere.
     */
    const char *checkpoint_directory;
    double checkpoint_seconds;
    uint32_t jobs;         /* worker processes; 0: as many as there are processors */
    uint64_t memory_bytes; /* of each worker; 0: no limit */
    uint32_t seconds;      /* of each case; 0: no limit */
    bool retry;            /* also those that failed for a reason of their own */
    /*
     * A part of the cases: the shard-th, from 1, of `shards` parts that differ by one case at most (0: all); and only
     * those whose keys are in the file `only` (NULL: all). The results file of a shard is its runner's alone meanwhile.
     */
    uint32_t shard, shards;
    const char *only;
    /* The result as one JSON object. */
    enum corun_status (*write)(const struct corun_case_result *result, FILE *stream);
    /* Called when something changed and every few seconds; false ends the campaign: cases that are running are given up. May be NULL. */
    bool (*progress)(void *user, const struct corun_campaign_progress *progress);
    void *progress_user;
};

struct corun_campaign_outcome {
    /*
     * total: different ones; found: in the results file before; finished: now, by this runner; elsewhere: now, by another
     */
    uint32_t total, found, finished, elsewhere, failed;
    double seconds;
    bool interrupted;
};

/*
 * Runs what is not in the results file. Several runners may do so at once with one file: each case is run by one of them,
 * and all come back when there is nothing left, also of what the others run. OK also if cases failed: that is in the results file with their messages. FILE: the
 * results file cannot be used (not one of ours, damaged, disk full): what had been finished is in it. ARGUMENT: cases are of another command and
 * there is no `program`.
 */
enum corun_status corun_campaign_run(const struct corun_campaign_run_request *request, struct corun_diagnostics *list,
                                     struct corun_campaign_outcome *outcome);

/*
 * Merges results files into one, which is created when it does not exist: one transaction for each. FILE: some could not
 * be used, which is said in `list`, and all others are in; or the one that they are merged into cannot be written.
 */
struct corun_campaign_merged {
    uint32_t files, refused; /* merged, and those that could not be */
    uint64_t taken;          /* cases that were missing, or not finished */
};
enum corun_status corun_campaign_merge(const char *results, const char *const *files, size_t count,
                                       struct corun_diagnostics *list, struct corun_campaign_merged *merged);

#define CORUN_CAMPAIGN_MAX_TASKS 100000u

struct corun_campaign_submit_request {
    const struct corun_campaign *campaign;
    const char *results, *data_directory; /* as for corun_campaign_run */
    const char *only;
    bool retry;
    const char *program;              /* path of the command */
    uint32_t tasks;                   /* at most; fewer if there are fewer cases */
    const char *const *task_options;  /* of `corun campaign` in each task; ends with NULL */
    const char *const *slurm_options; /* of sbatch, for all jobs; ends with NULL */
};

struct corun_campaign_submitted {
    uint32_t total, found, failed, missing, tasks; /* tasks: 0: nothing is missing */
    char job[32], merge_job[32];                   /* as Slurm numbers them */
    char *folder;                                  /* of the tasks' files; the caller's to free */
};

/*
 * Submits the missing cases to Slurm: an array job with one results file for each task, and a job that merges them
 * afterwards. What an earlier submission has left is merged before. NOT_FOUND: Slurm is not there; FILE: it refuses, or
 * jobs of an earlier submission have not ended, or a file cannot be used.
 */
enum corun_status corun_campaign_submit(const struct corun_campaign_submit_request *request,
                                        struct corun_diagnostics *list, struct corun_campaign_submitted *submitted);

#ifdef __cplusplus
}
#endif
#endif
