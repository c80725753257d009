/* SPDX-License-Identifier: MIT */
/* corun queue: kernels of many users go through one GPU, under one scheduler after the other. */
#include "cli/command.h"

#include "base/vector.h"
#include "cli/driver.h"
#include "corun/workload.h"
#include "report/queue_report.h"
#include "serve/scheduler.h"
#include "serve/setting.h"

#include <stdlib.h>
#include <string.h>

#define TIMELINE_SPANS 250000u

enum {
    KEY_GPU = 'g',
    KEY_SCHEDULER = 's',
    KEY_ARRIVALS = 'a',
    KEY_INSTANCES = 'n',
    KEY_TRANSFERS = 't',
    KEY_FULL = 'f',
    KEY_PAIRS = 'p',
    KEY_JSON = 'j',
    KEY_QUIET = 'q',
    KEY_SEED = 0x100,
    KEY_SLICING,
    KEY_MEMORY,
    KEY_JOBS,
    KEY_TIMELINE,
    KEY_DRIVER,
    KEY_NATIVE,
    KEY_PROFILE,
    KEY_BALANCED
};

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0, "a name (see `corun list gpus`) or a YAML file, with overrides [gtx980]", 1},
    {"scheduler", KEY_SCHEDULER, "SCHEDULER", 0,
     "who decides what runs, NAME[:parameter=value,...] (see `corun list schedulers`), or a shared object, "
     "./mine.so[:...]; given again, the same "
     "launches go through each [kernelet]",
     1},
    {"arrivals", KEY_ARRIVALS, "all|poisson:RATE", 0,
     "everything is there at the beginning, or RATE launches of each kernel arrive a second, by chance [all]", 2},
    {"instances", KEY_INSTANCES, "N", 0, "launches of each kernel [100]", 2},
    {"seed", KEY_SEED, "N", 0, "of arrivals, data and draws [1]", 2},
    {"transfers", KEY_TRANSFERS, "none|overlap|apart", 0,
     "data are on the device; or every launch brings its own, copied beside kernels, or in turns with them [none]", 2},
    {"memory", KEY_MEMORY, "BYTES", 0, "device memory for the data of launches, with --transfers [all of it]", 2},
    {"slicing", KEY_SLICING, "SHARE", 0,
     "slices are no smaller than makes a kernel alone longer by this share, measured [2%]", 2},
    {"full", KEY_FULL, NULL, 0,
     "simulate every slice cycle by cycle, in place of events at speeds that are measured once", 2},
    {"pairs", KEY_PAIRS, NULL, 0, "also every pair of the kernels, in every ratio: its profit, predicted and measured",
     3},
    {"driver", KEY_DRIVER, NULL, 0,
     "through corun's own CUDA driver: rewritten kernels in streams, copies of data, launches with their cost", 2},
    {"native", KEY_NATIVE, NULL, 0,
     "through NVIDIA's CUDA driver, on the first GPU of this machine, in wall time; --gpu is what it is taken for", 2},
    {"profile", KEY_PROFILE, "counters|sample", 0,
     "kernels are known from a run on the simulated GPU, or from some thread blocks without timing and the driver's "
     "times, with --driver or --native [counters; with --native sample]",
     2},
    {"balanced-pairs", KEY_BALANCED, NULL, 0, "as --pairs, each pair only in the ratio in which slices end together", 3},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output, in place of the tables", 3},
    {"timeline", KEY_TIMELINE, "FILE", 0, "write the slices as a trace that ui.perfetto.dev opens", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no tables and no progress line", 3},
    {"jobs", KEY_JOBS, "N", 0, "measurements that are simulated side by side [as many as there are processors]", 4},
    CACHE_OPTIONS(4),
    {0},
};

static const char doc[] =
    "Launches of kernels by many users are ready, and there is one GPU: a scheduler decides which of them run side by "
    "side, "
    "in slices of how many thread blocks. Says when each kernel was served, what ran beside what, how long all took, "
    "and "
    "what deciding cost (docs/queue.md).\n\n"
    "Kernels alone, side by side and one behind the other are simulated once and kept; the queue runs on these "
    "speeds.\v"
    "KERNEL is a workload (see `corun list workloads`) as for `corun run`, or what Kernelet's paper calls one: bs mm "
    "tea "
    "mriq pc spmv st sad. Of a workload with several kernels it is the launch with the most threads.";

enum { QUEUE_JSON, QUEUE_TIMELINE, QUEUE_OUTPUTS };

struct queue_options {
    struct command command;
    const char *gpu;
    struct output outputs[QUEUE_OUTPUTS];
    struct cache_options cache;
    bool quiet, driver, native, profile_set;
    char library[PATH_BYTES];
    VECTOR(const char *) scheduler_texts;
    struct serve_scheduler *schedulers;
    struct corun_gpu_config config;
    struct serve_request request;
    struct queue_timeline timeline;
    char data[PATH_BYTES];
    struct progress *progress;
};

static void set(struct queue_options *queue, const char *option, const char *value)
{
    command_keep(&queue->command, serve_set(option, value, queue->command.list, &queue->request));
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct queue_options *queue = state->input;
    struct serve_request *request = &queue->request;
    switch (key) {
    case KEY_GPU:
        queue->gpu = value;
        break;
    case KEY_SCHEDULER:
        if (!vector_push(&queue->scheduler_texts, (const char *)value))
            command_keep(&queue->command, CORUN_MEMORY);
        break;
    case KEY_ARRIVALS:
        set(queue, "arrivals", value);
        break;
    case KEY_INSTANCES:
        set(queue, "instances", value);
        break;
    case KEY_SEED:
        set(queue, "seed", value);
        break;
    case KEY_TRANSFERS:
        set(queue, "transfers", value);
        break;
    case KEY_SLICING:
        set(queue, "slicing", value);
        break;
    case KEY_MEMORY:
        set(queue, "memory", value);
        break;
    case KEY_FULL:
        request->full = true;
        break;
    case KEY_PAIRS:
        request->pairs = true;
        break;
    case KEY_BALANCED:
        request->balanced_pairs = true;
        break;
    case KEY_DRIVER:
        queue->driver = true;
        break;
    case KEY_NATIVE:
        queue->native = true;
        break;
    case KEY_PROFILE:
        queue->profile_set = true;
        set(queue, "profile", value);
        break;
    case KEY_JSON:
        queue->outputs[QUEUE_JSON].path = value;
        break;
    case KEY_TIMELINE:
        queue->outputs[QUEUE_TIMELINE].path = value;
        break;
    case KEY_QUIET:
        queue->quiet = true;
        break;
    case KEY_JOBS:
        command_count(&queue->command, "--jobs", value, 1000, &request->jobs);
        break;
    case ARGP_KEY_ARGS:
        request->kernels = (const char *const *)state->argv + state->next;
        request->kernel_count = (uint32_t)(state->argc - state->next);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a kernel is missing");
        break;
    case ARGP_KEY_SUCCESS:
        if (queue->driver + queue->native + request->full > 1)
            argp_error(state, "--full, --driver and --native exclude each other");
        return 0;
    default:
        return cache_option(key, value, state, &queue->cache);
    }
    return 0;
}

static bool show_progress(void *user, const char *what, uint32_t done, uint32_t total)
{
    struct queue_options *queue = user;
    return total ? progress_step(queue->progress, "%.90s: %u of %u", what, done, total)
                 : progress_step(queue->progress, "%.90s", what);
}

static enum corun_status find_schedulers(struct queue_options *queue)
{
    size_t count = queue->scheduler_texts.count;
    queue->schedulers = ARENA_ARRAY(queue->command.arena, struct serve_scheduler, count + 1);
    if (!queue->schedulers)
        return CORUN_MEMORY;
    for (size_t i = 0; i < count; i++) {
        enum corun_status status = specify_scheduler(queue->scheduler_texts.data[i], queue->command.arena,
                                                     queue->command.list, &queue->schedulers[i]);
        if (status != CORUN_OK)
            return status;
    }
    queue->request.schedulers = queue->schedulers;
    queue->request.scheduler_count = (uint32_t)count;
    return CORUN_OK;
}

static enum corun_status report(struct queue_options *queue, const struct serve_result *result)
{
    FILE *json = queue->outputs[QUEUE_JSON].file, *timeline = queue->outputs[QUEUE_TIMELINE].file;
    struct report_style style = output_style(stdout);
    enum corun_status status = CORUN_OK;
    if (!queue->quiet && json != stdout && timeline != stdout)
        status = queue_tables(result, queue->command.arena, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
    if (timeline && status == CORUN_OK)
        status = queue_timeline_write(&queue->timeline, result, timeline) ? CORUN_OK : CORUN_MEMORY;
    if (timeline && queue->timeline.left_out)
        corun_report(queue->command.list, CORUN_OK, CORUN_NOWHERE,
                     "the timeline has the first %zu slices, %zu are left out", queue->timeline.limit,
                     queue->timeline.left_out);
    if (json && status == CORUN_OK)
        status = queue_json(result, json);
    return status;
}

static enum corun_status serve_all(struct queue_options *queue, struct serve_result **result)
{
    struct corun_diagnostics *list = queue->command.list;
    enum corun_status status = outputs_spare(queue->outputs, QUEUE_OUTPUTS, queue->gpu, list);
    for (uint32_t k = 0; k < queue->request.kernel_count && status == CORUN_OK; k++)
        status = outputs_spare(queue->outputs, QUEUE_OUTPUTS, queue->request.kernels[k], list);
    if (status == CORUN_OK)
        status = outputs_open(queue->outputs, QUEUE_OUTPUTS, list);
    if (status != CORUN_OK)
        return status;
    if (queue->outputs[QUEUE_TIMELINE].file) {
        queue->request.slice = queue_timeline_slice;
        queue->request.slice_user = &queue->timeline;
    }
    queue->progress = progress_begin(queue->quiet);
    status = serve(&queue->request, list, result);
    progress_end(queue->progress);
    if (status == CORUN_OK && queue->timeline.failed)
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        status = report(queue, *result);
    return outputs_close(queue->outputs, QUEUE_OUTPUTS, status, list);
}

static enum corun_status run_queue(void *user)
{
    struct queue_options *queue = user;
    struct serve_request *request = &queue->request;
    struct corun_diagnostics *list = queue->command.list;
    struct serve_result *result = NULL;
    if (!queue->scheduler_texts.count && !vector_push(&queue->scheduler_texts, (const char *)SERVE_DEFAULT_SCHEDULER))
        return CORUN_MEMORY;
    enum corun_status status = find_schedulers(queue);
    if (status == CORUN_OK)
        status = corun_data_directory(queue->data, sizeof queue->data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(queue->gpu, queue->data, list, &queue->config);
    if (status == CORUN_OK && (queue->driver || queue->native)) {
        status = driver_find(queue->native, queue->gpu, queue->data, queue->library, list);
        request->driver = queue->library;
        request->sampled |= queue->native && !queue->profile_set;
    }
    request->gpu = &queue->config;
    request->data_directory = queue->data;
    request->cache_directory = cache_folder(&queue->cache);
    request->progress = show_progress;
    request->progress_user = queue;
    if (status == CORUN_OK)
        status = serve_all(queue, &result);
    if (result && result->interrupted)
        queue->command.exit_status = EXIT_INTERRUPTED;
    serve_result_destroy(result);
    vector_free(&queue->timeline.spans);
    return status;
}

int command_queue(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "KERNEL...",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct queue_options queue = {.gpu = DEFAULT_GPU,
                                  .outputs = {{.option = "--json"}, {.option = "--timeline"}},
                                  .timeline = {.limit = TIMELINE_SPANS}};
    serve_initial(&queue.request);
    int exit_status = command_perform(&queue.command, &argp, argc, argv, run_queue, &queue);
    vector_free(&queue.scheduler_texts);
    return exit_status;
}
