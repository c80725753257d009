/* Runs the cases of a campaign that are not in its results file: isolated runs first, then the longest first. */
#include "campaign/campaign_file.h"
#include "campaign/parallel.h"
#include "campaign/run.h"
#include "campaign/selection.h"
#include "campaign/store.h"
#include "campaign/worker.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MILLISECONDS 500

struct campaign_run {
    const struct corun_campaign_run_request *request;
    struct corun_diagnostics *list;
    struct corun_campaign_outcome *outcome;
    struct store *store;
    struct selection selection;
    struct selected_case *waiting; /* of this phase */
    size_t waiting_count, next;
    double weight_done, weight_left;
    bool last_phase;
    struct worker *workers;
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
                                               .finished = outcome->found + outcome->finished,
                                               .failed = outcome->failed,
                                               .running = run->running,
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

/* Puts into the results file how a worker ended. */
static enum corun_status finish(struct campaign_run *run, struct worker *worker)
{
    const char *text;
    size_t bytes;
    char problem[STORE_PROBLEM_BYTES] = "";
    enum worker_end end = worker_take(worker, run->request, &text, &bytes);
    run->running--;
    run->weight_done += worker->weight;
    run->weight_left -= worker->weight;
    const char *key = run->selection.keys[worker->index].hex;
    const struct corun_campaign_case *item = get(run, worker->index);
    enum corun_status status = CORUN_OK;
    if (end == WORKER_RESULT)
        status = store_result(run->store, key, item, text, bytes, problem, run->list);
    if (status)
        return status;
    if (end == WORKER_RESULT && !problem[0]) {
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

/* The next case, unless another process that uses the same file has finished it meanwhile. */
static enum corun_status start_worker(struct campaign_run *run, struct worker *worker, bool *full)
{
    const struct selected_case *next = &run->waiting[run->next];
    enum store_state state;
    enum corun_status status = store_find(run->store, run->selection.keys[next->index].hex, run->list, &state);
    if (status)
        return status;
    if (state == STORE_FINISHED) {
        run->outcome->found++;
        run->weight_left -= next->weight;
        run->next++;
        return CORUN_OK;
    }
    worker->weight = next->weight;
    if (worker_start(worker, run->request, next->index)) {
        run->next++;
        run->running++;
        return CORUN_OK;
    }
    *full = true; /* fewer will do, if there are any */
    return run->running
               ? CORUN_OK
               : corun_report(run->list, CORUN_FILE, CORUN_NOWHERE, "no process for a worker: %s", strerror(errno));
}

static enum corun_status start_workers(struct campaign_run *run)
{
    enum corun_status status = CORUN_OK;
    bool full = false;
    for (uint32_t w = 0; w < run->jobs && !status && !full; w++) {
        while (!run->workers[w].pid && run->next < run->waiting_count && !status && !full)
            status = start_worker(run, &run->workers[w], &full);
    }
    return status;
}

static void watch_time(struct campaign_run *run)
{
    for (uint32_t w = 0; run->request->seconds && w < run->jobs; w++) {
        struct worker *worker = &run->workers[w];
        if (worker->pid && !worker->out_of_time && run_clock() - worker->started > run->request->seconds) {
            worker->out_of_time = true;
            kill(worker->pid, SIGKILL);
        }
    }
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
    watch_time(run);
    return status;
}

/* Runs all cases that wait. */
static enum corun_status run_phase(struct campaign_run *run)
{
    enum corun_status status = CORUN_OK;
    run->next = 0;
    run->phase_start = run_clock();
    run->weight_done = run->weight_left = 0;
    for (size_t i = 0; i < run->waiting_count; i++)
        run->weight_left += run->waiting[i].weight;
    while (!status && (run->next < run->waiting_count || run->running) && tell(run)) {
        status = start_workers(run);
        if (!status)
            status = serve(run);
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
    enum corun_status status = store_campaign(run->store, campaign, run->selection.keys, run->list);
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
    run.jobs = parallel_jobs(request->jobs);
    run.jobs = run.jobs < CORUN_CAMPAIGN_MAX_JOBS ? run.jobs : CORUN_CAMPAIGN_MAX_JOBS;
    run.workers = calloc(run.jobs, sizeof *run.workers);
    run.waiting = calloc(corun_campaign_count(request->campaign) + 1, sizeof *run.waiting);
    enum corun_status status = CORUN_OK;
    if (!run.workers || !run.waiting)
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (!status)
        status = selection_create(&what, list, &run.selection);
    outcome->total = run.selection.total;
    if (!status)
        status = store_open(request->results, request->shards > 0, list, &run.store);
    if (!status)
        status = run_all(&run);
    store_close(run.store);
    for (uint32_t w = 0; run.workers && w < run.jobs; w++)
        worker_free(&run.workers[w]);
    free(run.workers);
    free(run.waiting);
    selection_free(&run.selection);
    outcome->seconds = run_clock() - run.start;
    return status;
}
