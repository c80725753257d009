/* SPDX-License-Identifier: MIT */
/*
 * Runs the cases of a campaign that are not in its results file: isolated runs first, then the longest first. Other
 * runners may do the same with the same file: what they run is put aside, and looked at now and then until it is there.
 */
#include "base/parallel.h"
#include "campaign/campaign_file.h"
#include "campaign/claims.h"
#include "campaign/selection.h"
#include "campaign/store.h"
#include "campaign/worker.h"
#include "case/cache.h"
#include "case/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MILLISECONDS 500
#define LOOK_SECONDS 0.4 /* between looks at what was put aside */

#define CHECKPOINT_PATH_BYTES 4096u

struct campaign_run {
    const struct corun_campaign_run_request *request;
    struct corun_diagnostics *list;
    struct corun_campaign_outcome *outcome;
    struct store *store;
    struct claims *claims;
    struct selection selection;
    struct selected_case *waiting; /* of this phase */
    size_t waiting_count, next;
    struct selected_case *aside; /* other runners have them, or they wait for an isolated run that other runners have */
    size_t aside_count;
    uint32_t elsewhere; /* of them, with other runners */
    double next_look;   /* at those */
    double weight_done, weight_left;
    bool last_phase;
    struct worker *workers;
    char (*checkpoints)[CHECKPOINT_PATH_BYTES]; /* of each worker's case; NULL: none are kept */
    uint32_t jobs, running;
    double start, phase_start;
    const char *failure;
};

static const struct corun_campaign_case *get(const struct campaign_run *run, size_t index)
{
    return corun_campaign_get(run->request->campaign, index);
}

/* False when the user wants it to end. */
static bool tell(struct campaign_run *run)
{
    const struct corun_campaign_outcome *outcome = run->outcome;
    double now = run_clock();
    struct corun_campaign_progress progress = {.total = outcome->total,
                                               .finished = outcome->found + outcome->finished + outcome->elsewhere,
                                               .failed = outcome->failed,
                                               .running = run->running,
                                               .elsewhere = run->elsewhere,
                                               .seconds = now - run->start,
                                               .seconds_left = (double)NAN,
                                               .failure = run->failure};
    if (run->weight_done > 0 && run->last_phase)
        progress.seconds_left = (now - run->phase_start) / run->weight_done * run->weight_left;
    run->failure = NULL;
    if (run->request->progress && !run->request->progress(run->request->progress_user, &progress))
        run->outcome->interrupted = true;
    return !run->outcome->interrupted;
}

/* A case is there, or will not be. */
static void settle(struct campaign_run *run, size_t index, double weight, enum selection_state state)
{
    run->selection.states[index] = (unsigned char)state;
    run->weight_done += weight;
    run->weight_left -= weight;
}

/* Puts into the results file how a worker ended. */
static enum corun_status finish(struct campaign_run *run, struct worker *worker)
{
    const char *text;
    size_t bytes;
    char problem[STORE_PROBLEM_BYTES] = "";
    enum worker_end end = worker_take(worker, run->request, &text, &bytes);
    run->running--;
    const char *key = run->selection.keys[worker->index].hex;
    const struct corun_campaign_case *item = get(run, worker->index);
    enum corun_status status = CORUN_OK;
    if (end == WORKER_RESULT && item->command)
        status =
            store_command_result(run->store, key, item, text, bytes, run_clock() - worker->started, problem, run->list);
    else if (end == WORKER_RESULT)
        status = store_result(run->store, key, item, text, bytes, problem, run->list);
    if (status)
        return status;
    if (worker->checkpoint && end != WORKER_LOST) /* what is lost goes on from there */
        remove(worker->checkpoint);
    bool finished = end == WORKER_RESULT && !problem[0];
    settle(run, worker->index, worker->weight, finished ? SELECTION_FOUND : SELECTION_FAILED);
    if (finished) {
        run->outcome->finished++;
        return CORUN_OK;
    }
    run->failure = problem[0] ? problem : text;
    status = store_failure(run->store, key, item, run->failure, end == WORKER_LOST, run_clock() - worker->started,
                           run->list);
    if (!status)
        run->outcome->failed++;
    tell(run); /* which ends the message */
    return status;
}

/* Whether an isolated run that a case is compared with is still to come: the case would run it once more. */
static bool must_wait(const struct campaign_run *run, size_t index)
{
    const struct corun_campaign *campaign = run->request->campaign;
    for (uint32_t a = 0; campaign->alone && index >= campaign->isolated && a < get(run, index)->application_count;
         a++) {
        if (run->selection.states[campaign->alone[index][a]] == SELECTION_MISSING)
            return true;
    }
    return false;
}

/* Where the state of a case is kept; NULL: nowhere. */
static const char *checkpoint_path(const struct campaign_run *run, const struct worker *worker, size_t index)
{
    if (!run->checkpoints)
        return NULL;
    char *path = run->checkpoints[worker - run->workers];
    int length = snprintf(path, CHECKPOINT_PATH_BYTES, "%s/%s.ck", run->request->checkpoint_directory,
                          run->selection.keys[index].hex);
    return length > 0 && (uint32_t)length < CHECKPOINT_PATH_BYTES ? path : NULL;
}

/* *aside: it is to be looked at again. *full: there is no process to be had; fewer will do, if there are any. */
static enum corun_status start_case(struct campaign_run *run, const struct selected_case *next, struct worker *worker,
                                    bool *aside, bool *full)
{
    enum claim claim;
    *aside = must_wait(run, next->index);
    if (*aside)
        return CORUN_OK;
    enum corun_status status = claims_take(run->claims, run->selection.keys[next->index].hex, run->list, &claim);
    if (status)
        return status;
    if (claim == CLAIM_ELSEWHERE) {
        *aside = true;
        run->elsewhere++;
        return CORUN_OK;
    }
    if (claim != CLAIM_TAKEN) {
        bool finished = claim == CLAIM_FINISHED;
        settle(run, next->index, next->weight, finished ? SELECTION_FOUND : SELECTION_FAILED);
        run->outcome->elsewhere += finished;
        run->outcome->failed += !finished;
        return CORUN_OK;
    }
    worker->weight = next->weight;
    worker->checkpoint = checkpoint_path(run, worker, next->index);
    if (worker_start(worker, run->request, next->index)) {
        run->running++;
        return CORUN_OK;
    }
    *full = *aside = true; /* the claim stays, and is taken again */
    return run->running
               ? CORUN_OK
               : corun_report(run->list, CORUN_FILE, CORUN_NOWHERE, "no process for a worker: %s", strerror(errno));
}

static struct worker *idle_worker(const struct campaign_run *run)
{
    for (uint32_t w = 0; w < run->jobs; w++) {
        if (!run->workers[w].pid)
            return &run->workers[w];
    }
    return NULL;
}

/* Another look at what was put aside. */
static enum corun_status look_aside(struct campaign_run *run, bool *full)
{
    enum corun_status status = CORUN_OK;
    size_t kept = 0, i = 0;
    run->next_look = run_clock() + LOOK_SECONDS;
    run->elsewhere = 0;
    for (; i < run->aside_count && !status && !*full; i++) {
        struct worker *worker = idle_worker(run);
        bool aside;
        if (!worker)
            break;
        status = start_case(run, &run->aside[i], worker, &aside, full);
        if (aside)
            run->aside[kept++] = run->aside[i];
    }
    while (i < run->aside_count)
        run->aside[kept++] = run->aside[i++];
    run->aside_count = kept;
    return status;
}

static enum corun_status start_workers(struct campaign_run *run)
{
    bool full = false;
    enum corun_status status = CORUN_OK;
    if (run->aside_count && idle_worker(run) && run_clock() >= run->next_look)
        status = look_aside(run, &full);
    while (run->next < run->waiting_count && !status && !full) {
        struct worker *worker = idle_worker(run);
        bool aside;
        if (!worker)
            break;
        status = start_case(run, &run->waiting[run->next], worker, &aside, &full);
        if (aside)
            run->aside[run->aside_count++] = run->waiting[run->next];
        run->next++;
    }
    return status;
}

/* Reads what workers have written, and waits for that if need be. */
static enum corun_status serve(struct campaign_run *run)
{
    struct pollfd descriptors[CORUN_CAMPAIGN_MAX_JOBS];
    struct worker *workers[CORUN_CAMPAIGN_MAX_JOBS];
    nfds_t count = 0; /* poll() takes no more than may be open */
    for (uint32_t w = 0; w < run->jobs; w++) {
        if (!run->workers[w].pid)
            continue;
        descriptors[count] = (struct pollfd){.fd = run->workers[w].pipe, .events = POLLIN};
        workers[count++] = &run->workers[w];
    }
    enum corun_status status = CORUN_OK;
    int ready = poll(descriptors, count, TICK_MILLISECONDS);
    if (ready < 0 && errno != EINTR)
        status =
            corun_report(run->list, CORUN_FILE, CORUN_NOWHERE, "workers cannot be waited for: %s", strerror(errno));
    for (nfds_t i = 0; ready > 0 && i < count && !status; i++) {
        if (descriptors[i].revents && worker_read(workers[i]))
            status = finish(run, workers[i]);
    }
    for (uint32_t w = 0; w < run->jobs; w++)
        worker_watch(&run->workers[w], run->request);
    return status;
}

/* Runs all cases that wait; in the last phase until other runners have finished theirs, too. */
static enum corun_status run_phase(struct campaign_run *run)
{
    enum corun_status status = CORUN_OK;
    run->next = 0;
    run->phase_start = run_clock();
    run->weight_done = run->weight_left = 0;
    for (size_t i = 0; i < run->waiting_count; i++)
        run->weight_left += run->waiting[i].weight;
    for (size_t i = 0; i < run->aside_count; i++)
        run->weight_left += run->aside[i].weight;
    while (!status && (run->next < run->waiting_count || run->running || (run->last_phase && run->aside_count)) &&
           tell(run)) {
        status = start_workers(run);
        if (!status && (run->running || run->aside_count))
            status = serve(run);
        if (!status)
            status = claims_beat(run->claims, run_clock(), run->list);
    }
    for (uint32_t w = 0; w < run->jobs; w++)
        worker_kill(&run->workers[w]);
    run->running = 0;
    return status;
}

/* Runs the missing ones among the cases from `first` to before `end`. */
static enum corun_status run_missing(struct campaign_run *run, size_t first, size_t end)
{
    run->waiting_count = selection_missing(&run->selection, run->store, first, end, run->waiting);
    if (run->waiting_count == SIZE_MAX)
        return corun_report(run->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    return run_phase(run);
}

static enum corun_status run_all(struct campaign_run *run)
{
    const struct corun_campaign *campaign = run->request->campaign;
    struct corun_campaign_outcome *outcome = run->outcome;
    struct claims_runner self;
    enum corun_status status = store_campaign(run->store, campaign, run->selection.keys, run->list);
    if (!status)
        status = claims_myself(run->list, &self);
    if (!status)
        status = claims_begin(run->store, &self, run_clock(), run->list, &run->claims);
    if (!status)
        status = selection_look_up(&run->selection, run->store, run->request->retry, run->list);
    if (status)
        return status;
    outcome->found = run->selection.found;
    outcome->failed = run->selection.failed;
    status = run_missing(run, 0, campaign->isolated);
    run->last_phase = true;
    if (!status && !outcome->interrupted)
        status = run_missing(run, campaign->isolated, corun_campaign_count(campaign));
    if (!status)
        tell(run);
    return status;
}

enum corun_status corun_campaign_run(const struct corun_campaign_run_request *request, struct corun_diagnostics *list,
                                     struct corun_campaign_outcome *outcome)
{
    struct campaign_run run = {.request = request, .list = list, .outcome = outcome, .start = run_clock()};
    struct selection_request what = {request->campaign, request->data_directory, request->only, request->shard,
                                     request->shards};
    *outcome = (struct corun_campaign_outcome){0};
    if (strcmp(request->campaign->command, CAMPAIGN_RUN) != 0 && !request->program)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "cases of corun %s need the path of the command",
                            request->campaign->command);
    run.jobs = parallel_jobs(request->jobs);
    run.jobs = run.jobs < CORUN_CAMPAIGN_MAX_JOBS ? run.jobs : CORUN_CAMPAIGN_MAX_JOBS;
    run.workers = calloc(run.jobs, sizeof *run.workers);
    run.waiting = calloc(corun_campaign_count(request->campaign) + 1, sizeof *run.waiting);
    run.aside = calloc(corun_campaign_count(request->campaign) + 1, sizeof *run.aside);
    enum corun_status status = CORUN_OK;
    if (request->checkpoint_directory)
        run.checkpoints = calloc(run.jobs, sizeof *run.checkpoints);
    if (!run.workers || !run.waiting || !run.aside || (request->checkpoint_directory && !run.checkpoints))
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (!status && run.checkpoints && !cache_make_directory(request->checkpoint_directory))
        status =
            corun_report(list, CORUN_FILE, CORUN_NOWHERE, "%s: %s", request->checkpoint_directory, strerror(errno));
    if (!status)
        status = selection_create(&what, list, &run.selection);
    outcome->total = run.selection.total;
    if (!status)
        status = store_open(request->results, request->shards ? STORE_ALONE : STORE_SHARED, list, &run.store);
    if (!status)
        status = run_all(&run);
    claims_end(run.claims);
    store_close(run.store);
    for (uint32_t w = 0; run.workers && w < run.jobs; w++)
        worker_free(&run.workers[w]);
    free(run.workers);
    free(run.checkpoints);
    free(run.waiting);
    free(run.aside);
    selection_free(&run.selection);
    outcome->seconds = run_clock() - run.start;
    return status;
}
