/* SPDX-License-Identifier: MIT */
/* Running what an experiment needs, as much of it as is asked for or as a time allows. */
#ifndef CORUN_REPRODUCE_REPRODUCTION_H
#define CORUN_REPRODUCE_REPRODUCTION_H

#include "reproduce/experiment.h"

struct reproduction_request {
    const struct experiment *experiment;
    struct corun_campaign_run_request run; /* without the campaign and the progress, which are set here */
    struct experiment_extent extent;       /* with `seconds`, at most that sample */
    double seconds; /* 0: no limit. Else samples grow, each with all cases of the one before, while the time lasts */
    /* As in struct corun_campaign_run_request, with the name of the campaign and the sample that is being run. */
    bool (*progress)(void *user, const char *campaign, uint64_t sample, const struct corun_campaign_progress *progress);
    void *progress_user;
};

struct reproduction_outcome {
    uint32_t total, found, finished, elsewhere, failed; /* cases of all parts, as in struct corun_campaign_outcome */
    bool interrupted, out_of_time;                      /* out_of_time: in the middle of a sample */
    double seconds;
    uint64_t sample; /* the last one that was begun; 0: all */
};

/* As corun_campaign_run, for each part. NOT_FOUND: policies are missing. */
enum corun_status reproduction_run(const struct reproduction_request *request, struct corun_diagnostics *list,
                                   struct reproduction_outcome *outcome);

#endif
