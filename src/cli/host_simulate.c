/* SPDX-License-Identifier: MIT */
/* corun host simulate, corun host sweep: co-locations on a simulated host. */
#include "cli/host.h"

#include <stdlib.h>
#include <time.h>

static const struct argp_option simulate_options[] = {
    HOST_OPTIONS,
    {"timeline", KEY_TIMELINE, "FILE", 0,
     "cores, ways and queries over time, under the first policy, for ui.perfetto.dev; - is standard output", 4},
    {0},
};
static const struct argp_option sweep_options[] = {HOST_OPTIONS, {0}};

static const char simulate_doc[] =
    "Services and batch programs share one simulated host, under one policy after the other: who keeps its goal, "
    "how much batch gets done (over one instance alone on the host), and who has which cores and ways of the cache.";
static const char sweep_doc[] =
    "Simulates every service with every batch program, under one policy after the other, and sums up by policy: "
    "goals that are violated, and batch throughput over one instance alone on the host.";

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct host_options *options = state->input;
    if (key == ARGP_KEY_END && options->tenants_needed && !options->service_count && !options->batch_count)
        argp_error(state, "nothing is to be simulated: --service or --batch is missing");
    return host_option(key, value, state, options);
}

/* What a study works on, from its options to its report. */
struct work {
    struct host_policies policies;
    struct host_service_setting services[HOST_MOST_TENANTS];
    struct host_batch_setting batches[HOST_MOST_TENANTS];
    uint32_t service_count, batch_count;
    struct host_setting *settings;
    struct host_outcome *outcomes;
    const char **words;
    size_t count;
};

static struct host_setting *add_setting(struct work *work, uint32_t policy)
{
    struct host_setting *setting = &work->settings[work->count];
    *setting = work->policies.settings[policy];
    work->words[work->count++] = work->policies.words[policy];
    return setting;
}

/* All tenants together under each policy. */
static void set_together(struct work *work)
{
    for (uint32_t p = 0; p < work->policies.count; p++) {
        struct host_setting *setting = add_setting(work, p);
        setting->service_count = work->service_count;
        setting->batch_count = work->batch_count;
        for (uint32_t s = 0; s < work->service_count; s++)
            setting->services[s] = work->services[s];
        for (uint32_t b = 0; b < work->batch_count; b++)
            setting->batches[b] = work->batches[b];
    }
}

/* Pair after pair, under each policy. */
static void set_pairs(struct work *work)
{
    for (uint32_t s = 0; s < work->service_count; s++)
        for (uint32_t b = 0; b < work->batch_count; b++)
            for (uint32_t p = 0; p < work->policies.count; p++) {
                struct host_setting *setting = add_setting(work, p);
                setting->service_count = setting->batch_count = 1;
                setting->services[0] = work->services[s];
                setting->batches[0] = work->batches[b];
            }
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum corun_status simulate_all(struct host_options *options, struct work *work, bool pairs)
{
    struct command *command = &options->command;
    struct report_style style = output_style(stdout);
    double begin = seconds_now();
    size_t most = pairs ? (size_t)work->service_count * work->batch_count : 1;
    work->settings = ARENA_ARRAY(command->arena, struct host_setting, most * work->policies.count);
    work->outcomes = ARENA_ARRAY(command->arena, struct host_outcome, most * work->policies.count);
    work->words = ARENA_ARRAY(command->arena, const char *, most * work->policies.count);
    struct host_timeline *timeline =
        options->outputs[1].file ? host_timeline_create(options->outputs[1].file, &options->machine) : NULL;
    if (!work->settings || !work->outcomes || !work->words || (options->outputs[1].file && !timeline))
        return CORUN_MEMORY;
    if (pairs)
        set_pairs(work);
    else
        set_together(work);
    if (timeline) {
        work->settings[0].observe = host_timeline_observe;
        work->settings[0].user = timeline;
    }
    enum corun_status status =
        host_colocate_all(work->settings, work->count, options->jobs, command->list, work->outcomes);
    const struct host_report report = {&options->machine, work->settings, work->outcomes,
                                       work->words,       work->count,    seconds_now() - begin};
    if (timeline && host_timeline_end(timeline))
        status = status ? status : CORUN_MEMORY;
    if (!status && !options->quiet &&
        !(pairs ? host_report_pairs : host_report_table)(&report, command->arena, &style, stdout))
        status = CORUN_MEMORY;
    return !status && options->outputs[0].file ? host_report_json(&report, options->outputs[0].file) : status;
}

static enum corun_status perform(struct host_options *options, bool pairs)
{
    struct work *work = ARENA_NEW(options->command.arena, struct work);
    enum corun_status status = work ? host_load(options) : CORUN_MEMORY;
    if (!status)
        status = host_load_policies(options, &work->policies);
    if (!status)
        status = outputs_open(options->outputs, 2, options->command.list);
    if (status)
        return status;
    if (pairs || options->service_count)
        status = host_load_services(options, work->services, &work->service_count);
    if (!status && (pairs || options->batch_count))
        status = host_load_batches(options, work->batches, &work->batch_count);
    if (!status)
        status = simulate_all(options, work, pairs);
    host_unload(work->services, work->service_count, work->batches, work->batch_count);
    return outputs_close(options->outputs, 2, status, options->command.list);
}

static enum corun_status simulate(void *user)
{
    return perform(user, false);
}

static enum corun_status sweep(void *user)
{
    return perform(user, true);
}

int host_command_simulate(int argc, char **argv)
{
    static const struct argp argp = {
        .options = simulate_options, .parser = parse_option, .doc = simulate_doc, .help_filter = command_help_filter};
    struct host_options options;
    host_options_begin(&options);
    options.tenants_needed = true;
    return command_perform(&options.command, &argp, argc, argv, simulate, &options);
}

int host_command_sweep(int argc, char **argv)
{
    static const struct argp argp = {
        .options = sweep_options, .parser = parse_option, .doc = sweep_doc, .help_filter = command_help_filter};
    struct host_options options;
    host_options_begin(&options);
    return command_perform(&options.command, &argp, argc, argv, sweep, &options);
}
