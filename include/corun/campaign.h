/*
 * Campaigns: many cases from one description (docs/campaigns.md), run by worker processes, each result kept as it comes.
 *
 *     corun_campaign_load → corun_campaign_run → rows in a results file (SQLite; schema in docs/campaigns.md)
 *
 * A case is known by its content: GPU, policy, workloads, goals, window, seed and the program that simulates it. What is in the
 * results file is not run again; what changed is.
 */
#ifndef CORUN_CAMPAIGN_H
#define CORUN_CAMPAIGN_H

#include "corun/case.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_CAMPAIGN_MAX_JOBS 256u

/* One case in words: what `corun run` would be given. */
struct corun_campaign_case {
    const char *gpu, *policy;
    uint32_t application_count;
    const char *const *applications; /* WORKLOAD@SIZE[:goal=…] */
    uint64_t cycles, seed;
    bool
        isolated; /* one application without a policy that others are compared with; not asked for by the description */
};

struct corun_campaign;
/* SYNTAX with a place; NOT_FOUND, FILE; ARGUMENT: more than a million cases. */
enum corun_status corun_campaign_load(const char *path, struct corun_diagnostics *list,
                                      struct corun_campaign **campaign);
void corun_campaign_destroy(struct corun_campaign *campaign);
const char *corun_campaign_name(const struct corun_campaign *campaign);
const char *corun_campaign_summary(const struct corun_campaign *campaign);
/* The isolated runs come first, then the cases in the order of the description; strings belong to the campaign. */
size_t corun_campaign_count(const struct corun_campaign *campaign);
const struct corun_campaign_case *corun_campaign_get(const struct corun_campaign *campaign, size_t index);

struct corun_campaign_progress {
    uint32_t total, finished, failed; /* finished: now or earlier */
    uint32_t running;
    double seconds;      /* since the start */
    double seconds_left; /* estimated; NAN: not known yet */
    const char *failure; /* the message of a case that has just failed; else NULL */
};

struct corun_campaign_run_request {
    const struct corun_campaign *campaign;
    const char *results;         /* file; created when it does not exist */
    const char *data_directory;  /* where workloads and GPUs are looked up */
    const char *cache_directory; /* of isolated baselines; NULL: none */
    uint32_t jobs;               /* worker processes; 0: as many as there are processors */
    uint64_t memory_bytes;       /* of each worker; 0: no limit */
    uint32_t seconds;            /* of each case; 0: no limit */
    bool retry;                  /* also those that failed for a reason of their own */
    /* The result as one JSON object. */
    enum corun_status (*write)(const struct corun_case_result *result, FILE *stream);
    /* Called when something changed and every few seconds; false ends the campaign: cases that are running are given up. May be NULL. */
    bool (*progress)(void *user, const struct corun_campaign_progress *progress);
    void *progress_user;
};

struct corun_campaign_outcome {
    uint32_t total, found, finished, failed; /* found: in the results file before; finished: now */
    double seconds;
    bool interrupted;
};

/*
 * Runs what is not in the results file. OK also if cases failed: that is in the results file with their messages. FILE: the
 * results file cannot be used (not one of ours, damaged, disk full): what had been finished is in it.
 */
enum corun_status corun_campaign_run(const struct corun_campaign_run_request *request, struct corun_diagnostics *list,
                                     struct corun_campaign_outcome *outcome);

#ifdef __cplusplus
}
#endif
#endif
