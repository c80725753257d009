/* SPDX-License-Identifier: MIT */
/*
 * The campaigns of an experiment run one after the other; within a budget of time, samples grow as measured times
 * allow.
 */
#include "reproduce/reproduction.h"

#include "base/parallel.h"
#include "case/run.h"

#include <stdlib.h>

/* Before anything is measured: wall seconds of one processor for a million cycles of a case. */
#define STATED_SECONDS_PER_MEGACYCLE 6.0
/*
 * Of a budget, for the first sample, whose time is only stated; and of what is left, for a sample whose time is
 * measured.
 */
#define FIRST_SHARE 0.2
#define LATER_SHARE 0.9
/* A sample is at most so many times the one before, so that an early measurement does not decide too much. */
#define LARGEST_STEP 4u

struct reproduction {
    const struct reproduction_request *request;
    struct corun_diagnostics *list;
    struct reproduction_outcome *outcome;
    double start;
    const char *campaign;
    uint64_t sample;
    bool stopped;      /* by the user */
    double cases_each; /* cases for each combination of mixes and goals, all parts together */
    uint64_t largest;  /* combinations in the part that has most */
    double measured;   /* seconds that `measured_cases` took */
    uint64_t measured_cases;
};

static double seconds_left(const struct reproduction *run)
{
    return run->request->seconds - (run_clock() - run->start);
}

static bool tell(void *user, const struct corun_campaign_progress *progress)
{
    struct reproduction *run = user;
    const struct reproduction_request *request = run->request;
    if (request->progress && !request->progress(request->progress_user, run->campaign, run->sample, progress))
        run->stopped = true;
    if (request->seconds > 0 && seconds_left(run) <= 0)
        run->outcome->out_of_time = true;
    return !run->stopped && !run->outcome->out_of_time;
}

static enum corun_status run_part(struct reproduction *run, uint32_t part, struct reproduction_outcome *sum)
{
    const struct reproduction_request *request = run->request;
    struct experiment_extent extent = {request->extent.cycles, run->sample, request->extent.settle};
    struct corun_campaign_run_request campaign_run = request->run;
    struct corun_campaign_outcome outcome = {0};
    struct corun_campaign *campaign;
    enum corun_status status = experiment_campaign(request->experiment, part, &extent, run->list, &campaign);
    if (status)
        return status;
    size_t combinations = experiment_combinations(campaign), sampled = experiment_sampled(campaign);
    run->campaign = request->experiment->parts[part].campaign;
    campaign_run.campaign = campaign;
    campaign_run.progress = tell;
    campaign_run.progress_user = run;
    status = corun_campaign_run(&campaign_run, run->list, &outcome);
    sum->total += outcome.total;
    sum->found += outcome.found;
    sum->finished += outcome.finished;
    sum->elsewhere += outcome.elsewhere;
    sum->failed += outcome.failed;
    run->measured += outcome.seconds;
    run->measured_cases += outcome.finished;
    if (sampled)
        run->cases_each += (double)outcome.total / (double)sampled;
    run->largest = combinations > run->largest ? combinations : run->largest;
    corun_campaign_destroy(campaign);
    return status;
}

/* All parts with one sample; what an earlier sample has run is found, but counts as run now. */
static enum corun_status run_sample(struct reproduction *run)
{
    struct reproduction_outcome *outcome = run->outcome, sum = {0};
    uint32_t finished = outcome->finished;
    enum corun_status status = CORUN_OK;
    run->cases_each = 0;
    for (uint32_t part = 0; part < run->request->experiment->part_count && !status; part++) {
        if (!run->stopped && !outcome->out_of_time)
            status = run_part(run, part, &sum);
    }
    sum.interrupted = run->stopped;
    sum.out_of_time = outcome->out_of_time;
    sum.sample = run->sample;
    sum.found -= sum.found < finished ? sum.found : finished;
    sum.finished += finished;
    *outcome = sum;
    return status;
}

/* How many combinations take so many seconds, as far as is known. */
static uint64_t affordable(const struct reproduction *run, double seconds)
{
    uint32_t jobs = parallel_jobs(run->request->run.jobs);
    double one = run->measured_cases ? run->measured / (double)run->measured_cases
                                     : STATED_SECONDS_PER_MEGACYCLE * (double)run->request->extent.cycles / 1e6 / jobs;
    double count = seconds / (one * (run->cases_each > 0 ? run->cases_each : 1));
    return count < 1 ? 0 : count > 1e9 ? UINT64_C(1000000000) : (uint64_t)count;
}

/* How many cases a combination is, before any has run: with isolated runs, which later ones may have in common. */
static enum corun_status count_cases(struct reproduction *run)
{
    const struct experiment *experiment = run->request->experiment;
    struct experiment_extent extent = {run->request->extent.cycles, 1, run->request->extent.settle};
    enum corun_status status = CORUN_OK;
    for (uint32_t part = 0; part < experiment->part_count && !status; part++) {
        struct corun_campaign *campaign;
        status = experiment_campaign(experiment, part, &extent, run->list, &campaign);
        if (!status)
            run->cases_each += (double)corun_campaign_count(campaign);
        corun_campaign_destroy(campaign);
    }
    return status;
}

static enum corun_status run_within_time(struct reproduction *run)
{
    uint64_t most = run->request->extent.sample;
    enum corun_status status = count_cases(run);
    run->sample = affordable(run, run->request->seconds * FIRST_SHARE);
    for (run->sample += !run->sample; !status;) {
        if (most && run->sample > most)
            run->sample = most;
        status = run_sample(run);
        uint64_t limit = most && most < run->largest ? most : run->largest;
        if (status || run->stopped || run->outcome->out_of_time || run->sample >= limit)
            break;
        uint64_t more = affordable(run, seconds_left(run) * LATER_SHARE), step = run->sample * (LARGEST_STEP - 1);
        if (!more)
            break;
        run->sample += more < step ? more : step;
        run->sample = run->sample < limit ? run->sample : limit;
    }
    return status;
}

enum corun_status reproduction_run(const struct reproduction_request *request, struct corun_diagnostics *list,
                                   struct reproduction_outcome *outcome)
{
    struct reproduction run = {.request = request, .list = list, .outcome = outcome, .start = run_clock()};
    *outcome = (struct reproduction_outcome){0};
    run.sample = request->extent.sample;
    enum corun_status status = request->seconds > 0 ? run_within_time(&run) : run_sample(&run);
    outcome->seconds = run_clock() - run.start;
    return status;
}
