/* SPDX-License-Identifier: MIT */
/*
 * Searches over the splits of SMs among applications (policy fixed): the best and the worst one, which Adriaens et al.,
 * HPCA 2012, section 3.5, call Oracle Best and Oracle Worst, and the split that SMQoS is compared with in its figure 11
 * (Offline): just enough SMs for the goal of one application, the rest to the others. Each is a campaign of its own:
 * what is in the results file is not run again.
 */
#ifndef CORUN_CAMPAIGN_SEARCH_H
#define CORUN_CAMPAIGN_SEARCH_H

#include "base/vector.h"
#include "campaign/mixes.h"
#include "campaign/store.h"

/* K(name, word, meaning) */
#define SEARCH_KINDS(K) \
    K(BEST, "oracle-best", "the split of the SMs with the best value of the metric") \
    K(WORST, "oracle-worst", "the split with the worst one") \
    K(OFFLINE, "offline", "the fewest SMs for the goal of the one that has a goal")

/* M(name, word, meaning) */
#define SEARCH_METRICS(M) \
    M(STP, "STP", "system throughput: the sum of normalised IPC; more is better") \
    M(ANTT, "ANTT", "average normalised turnaround time; less is better") \
    M(FAIRNESS, "fairness", "smallest / largest normalised IPC; more is better") \
    M(GOAL, "goal", "goals that are met, then STP; more is better")

/* clang-format off */
enum search_kind {
#define SEARCH_KIND_ENUM(name, word, meaning) SEARCH_##name,
    SEARCH_KINDS(SEARCH_KIND_ENUM)
#undef SEARCH_KIND_ENUM
    SEARCH_KIND_COUNT
};
enum search_metric {
#define SEARCH_METRIC_ENUM(name, word, meaning) SEARCH_BY_##name,
    SEARCH_METRICS(SEARCH_METRIC_ENUM)
#undef SEARCH_METRIC_ENUM
    SEARCH_METRIC_COUNT
};
/* clang-format on */

struct search_request {
    enum search_kind kind;
    enum search_metric metric; /* of BEST and WORST */
    const char *gpu;
    const char *const *applications;
    uint32_t application_count; /* 2..MIX_MAX */
    uint64_t cycles, seed;
    /*
     * If there are more splits than this, the search is coarse to fine: first those in steps of several SMs, as small
     * as the number allows; then, around the best so far, those that differ by half a step between two applications,
     * until none is better, and so on down to single SMs. It may then end in a split that only its neighbours are not
     * better than.
     */
    uint32_t most_at_once;
    struct corun_campaign_run_request run; /* without the campaign */
};

struct search_split {
    uint32_t sms[MIX_MAX];
    bool known; /* it was measured; else it failed, or the search was ended before */
    struct store_measured measured;
};

struct search_outcome {
    uint32_t sm_count;
    uint64_t possible;                  /* splits */
    uint32_t step;                      /* of the first ones; 1: all were tried */
    VECTOR(struct search_split) splits; /* tried, those of the first application from few SMs to many */
    size_t found;   /* among them; SIZE_MAX: none, because nothing was measured or the goal is never met */
    size_t nearest; /* OFFLINE, when the goal is never met: the split that comes nearest to it; else SIZE_MAX */
    uint32_t goal_application; /* OFFLINE: the one with the goal */
    bool interrupted;
    uint32_t run, failed; /* cases; run: now */
    double seconds;
};

/* ARGUMENT: too many applications for the SMs, no goal, or several; else as corun_campaign_run. */
enum corun_status search_run(const struct search_request *request, struct corun_diagnostics *list,
                             struct search_outcome *outcome);
void search_free(struct search_outcome *outcome);

#endif
