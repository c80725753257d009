/* Runs the cases of a campaign that are not in its results file: isolated runs first, then the longest first. */
#include "campaign/campaign_file.h"
#include "campaign/case_key.h"
#include "campaign/run.h"
#include "campaign/store.h"
#include "campaign/worker.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MILLISECONDS 500

struct waiting_case {
    size_t index;  /* in the campaign */
    double weight; /* expected wall seconds; 1 where nothing is known */
};

struct campaign_run {
    const struct corun_campaign_run_request *request;
    struct corun_diagnostics *list;
    struct corun_campaign_outcome *outcome;
    struct store *store;
    struct content_key *keys;
    struct waiting_case *waiting; /* of this phase */
    size_t waiting_count, next;
    double weight_done, weight_left;
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
    if (run->weight_done > 0)
        progress.seconds_left = (now - run->phase_start) / run->weight_done * run->weight_left;
    run->failure = NULL;
    if (run->request->progress && !run->request->progress(run->request->progress_user, &progress))
        run->outcome->interrupted = true;
    return !run->outcome->interrupted;
}

/* Puts into the results file how a worker ended. */
static enum corun_status finish(struct campaign_run *run, struct worker *worker, double weight)
{
    const char *text;
    size_t bytes;
    enum worker_end end = worker_take(worker, run->request, &text, &bytes);
    run->running--;
    run->weight_done += weight;
    run->weight_left -= weight;
    const char *key = run->keys[worker->index].hex;
    const struct corun_campaign_case *item = get(run, worker->index);
    if (end == WORKER_RESULT) {
        run->outcome->finished++;
        return store_result(run->store, key, item, text, bytes, run->list);
    }
    run->outcome->failed++;
    run->failure = text;
    return store_failure(run->store, key, item, text, end == WORKER_LOST, run_clock() - worker->started, run->list);
}

static double weight_of(const struct campaign_run *run, size_t index)
{
    for (size_t i = 0; i < run->waiting_count; i++) {
        if (run->waiting[i].index == index)
            return run->waiting[i].weight;
    }
    return 0;
}

static enum corun_status start_workers(struct campaign_run *run)
{
    for (uint32_t w = 0; w < run->jobs && run->next < run->waiting_count; w++) {
        if (run->workers[w].pid)
            continue;
        enum corun_status status =
            worker_start(&run->workers[w], run->request, run->waiting[run->next].index, run->list);
        if (status)
            return status;
        run->next++;
        run->running++;
    }
    return CORUN_OK;
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

static enum corun_status serve(struct campaign_run *run)
{
    struct pollfd descriptors[CORUN_CAMPAIGN_MAX_JOBS];
    for (uint32_t w = 0; w < run->jobs; w++)
        descriptors[w] = (struct pollfd){.fd = run->workers[w].pid ? run->workers[w].pipe : -1, .events = POLLIN};
    int ready = poll(descriptors, run->jobs, TICK_MILLISECONDS);
    enum corun_status status = CORUN_OK;
    for (uint32_t w = 0; ready > 0 && w < run->jobs && !status; w++) {
        if (descriptors[w].revents && worker_read(&run->workers[w]))
            status = finish(run, &run->workers[w], weight_of(run, run->workers[w].index));
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

static int heavier(const void *a, const void *b)
{
    const struct waiting_case *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight < right->weight ? 1 : -1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* Wall seconds of the isolated runs of its applications: the longest of a phase are started first. */
static double expect_seconds(struct campaign_run *run, const struct corun_campaign_case *item, size_t isolated)
{
    double sum = 0;
    for (uint32_t a = 0; a < item->application_count; a++) {
        size_t length = strcspn(item->applications[a], ":");
        double seconds = (double)NAN;
        for (size_t i = 0; i < isolated && isnan(seconds); i++) {
            const struct corun_campaign_case *alone = get(run, i);
            if (strlen(alone->applications[0]) == length &&
                !strncmp(alone->applications[0], item->applications[a], length) && !strcmp(alone->gpu, item->gpu))
                seconds = store_seconds(run->store, run->keys[i].hex);
        }
        sum += isnan(seconds) ? 1 : seconds;
    }
    return sum;
}

static size_t count_isolated(const struct campaign_run *run)
{
    size_t count = 0;
    while (count < run->outcome->total && get(run, count)->isolated)
        count++;
    return count;
}

/* The cases from `first` to before `end` that are still to be run. */
static enum corun_status choose(struct campaign_run *run, size_t first, size_t end)
{
    run->waiting_count = 0;
    size_t isolated = count_isolated(run);
    for (size_t i = first; i < end; i++) {
        enum store_state state;
        bool twice = false;
        for (size_t k = 0; k < run->waiting_count && !twice; k++)
            twice = !strcmp(run->keys[run->waiting[k].index].hex, run->keys[i].hex);
        enum corun_status status = store_find(run->store, run->keys[i].hex, run->list, &state);
        if (status)
            return status;
        if (twice || state == STORE_FINISHED || (state == STORE_FAILED && !run->request->retry)) {
            run->outcome->found += state == STORE_FINISHED || twice;
            run->outcome->failed += state == STORE_FAILED;
            continue;
        }
        double weight = first ? expect_seconds(run, get(run, i), isolated) : 1;
        run->waiting[run->waiting_count++] = (struct waiting_case){i, weight};
    }
    qsort(run->waiting, run->waiting_count, sizeof *run->waiting, heavier);
    return CORUN_OK;
}

static enum corun_status run_all(struct campaign_run *run)
{
    size_t isolated = count_isolated(run);
    enum corun_status status = store_campaign(run->store, run->request->campaign, run->keys, run->list);
    if (!status)
        status = choose(run, 0, isolated);
    if (!status)
        status = run_phase(run);
    if (!status && !run->outcome->interrupted)
        status = choose(run, isolated, run->outcome->total);
    if (!status && !run->outcome->interrupted)
        status = run_phase(run);
    if (!status)
        tell(run);
    return status;
}

enum corun_status corun_campaign_run(const struct corun_campaign_run_request *request, struct corun_diagnostics *list,
                                     struct corun_campaign_outcome *outcome)
{
    struct campaign_run run = {.request = request, .list = list, .outcome = outcome, .start = run_clock()};
    size_t count = corun_campaign_count(request->campaign);
    *outcome = (struct corun_campaign_outcome){.total = (uint32_t)count};
    run.jobs = request->jobs;
    if (!run.jobs) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        run.jobs = processors > 0 ? (uint32_t)processors : 1;
    }
    run.jobs = run.jobs < CORUN_CAMPAIGN_MAX_JOBS ? run.jobs : CORUN_CAMPAIGN_MAX_JOBS;
    run.workers = calloc(run.jobs, sizeof *run.workers);
    run.waiting = calloc(count + 1, sizeof *run.waiting);
    enum corun_status status = CORUN_OK;
    if (!run.workers || !run.waiting)
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (!status)
        status = case_keys(request->campaign, request->data_directory, list, &run.keys);
    if (!status)
        status = store_open(request->results, list, &run.store);
    if (!status)
        status = run_all(&run);
    store_close(run.store);
    for (uint32_t w = 0; run.workers && w < run.jobs; w++)
        worker_free(&run.workers[w]);
    free(run.workers);
    free(run.waiting);
    free(run.keys);
    outcome->seconds = run_clock() - run.start;
    return status;
}
