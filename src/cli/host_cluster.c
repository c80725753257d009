/* SPDX-License-Identifier: MIT */
/* corun host cluster: many nodes with a service and a batch program each, placed at random or by assignment. */
#include "cli/host.h"

#include "host/placement.h"

#include <string.h>

enum { KEY_NODES = 0x300, KEY_HUNGARIAN };

static const struct argp_option options[] = {
    {"nodes", KEY_NODES, "N", 0, "how many; services and batch programs are spread evenly [700]", 0},
    {"hungarian", KEY_HUNGARIAN, "HOSTPOLICY,...", 0,
     "policies for which batch programs are placed where they do most as well, by the Hungarian algorithm [emu]", 1},
    HOST_OPTIONS,
    {0},
};

static const char doc[] =
    "Simulates a cluster whose nodes have a service and the instances of a batch program each. Batch programs are "
    "placed "
    "at random; and, for some policies, where they do most by what is known of each pair, none beside a service whose "
    "goal it would violate.";

struct cluster_options {
    struct host_options host;
    uint32_t nodes;
    const char *hungarian;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct cluster_options *cluster = state->input;
    switch (key) {
    case KEY_NODES:
        command_count(&cluster->host.command, "--nodes", value, 4096, &cluster->nodes);
        break;
    case KEY_HUNGARIAN:
        cluster->hungarian = value;
        break;
    default:
        return host_option(key, value, state, &cluster->host);
    }
    return 0;
}

/* What the study works on. Settings of a policy follow one another, one for each node. */
struct work {
    struct host_policies policies, placed; /* placed: those of --hungarian */
    struct host_service_setting services[HOST_MOST_TENANTS];
    struct host_batch_setting batches[HOST_MOST_TENANTS];
    uint32_t service_count, batch_count;
    struct host_setting *settings;
    struct host_outcome *outcomes;
    const char **words;
    size_t *kinds;
    double *values;
    size_t count;
};

static struct host_setting pair_of(const struct work *work, const struct host_setting *policy, size_t service,
                                   size_t batch)
{
    struct host_setting setting = *policy;
    setting.service_count = setting.batch_count = 1;
    setting.services[0] = work->services[service];
    setting.batches[0] = work->batches[batch];
    return setting;
}

/* Every pair under a policy: what is known before anything is placed. */
static enum corun_status try_pairs(struct cluster_options *cluster, const struct work *work,
                                   const struct host_setting *policy, struct host_outcome **outcomes)
{
    struct arena *arena = cluster->host.command.arena;
    size_t count = (size_t)work->service_count * work->batch_count;
    struct host_setting *settings = ARENA_ARRAY(arena, struct host_setting, count);
    *outcomes = ARENA_ARRAY(arena, struct host_outcome, count);
    if (!settings || !*outcomes)
        return CORUN_MEMORY;
    for (size_t i = 0; i < count; i++)
        settings[i] = pair_of(work, policy, i / work->batch_count, i % work->batch_count);
    return host_colocate_all(settings, count, cluster->host.jobs, cluster->host.command.list, *outcomes);
}

/* The nodes of one policy, each with arrivals of its own. static-opt knows from the pairs how many instances do no harm. */
static enum corun_status add_nodes(struct cluster_options *cluster, struct work *work,
                                   const struct host_setting *policy, const char *words)
{
    struct host_outcome *pairs = NULL;
    enum corun_status status = policy->search_instances ? try_pairs(cluster, work, policy, &pairs) : CORUN_OK;
    for (uint32_t n = 0; n < cluster->nodes && !status; n++) {
        size_t service = n % work->service_count, batch = work->kinds[n];
        struct host_setting *setting = &work->settings[work->count];
        *setting = pair_of(work, policy, service, batch);
        setting->seed = policy->seed + 1 + n;
        if (pairs) {
            setting->search_instances = false;
            setting->parameters[0] = pairs[service * work->batch_count + batch].instances;
        }
        work->words[work->count++] = words;
    }
    return status;
}

/* Throughput of each pair; far below nothing where the goal is violated. */
static enum corun_status value_pairs(struct cluster_options *cluster, struct work *work,
                                     const struct host_setting *policy)
{
    struct host_outcome *pairs;
    enum corun_status status = try_pairs(cluster, work, policy, &pairs);
    for (size_t i = 0; !status && i < (size_t)work->service_count * work->batch_count; i++)
        work->values[i] = pairs[i].violations ? -1e6 : pairs[i].throughput;
    return status;
}

static enum corun_status set_nodes(struct cluster_options *cluster, struct work *work)
{
    struct arena *arena = cluster->host.command.arena;
    size_t most = (size_t)cluster->nodes * (work->policies.count + work->placed.count);
    enum corun_status status = CORUN_OK;
    work->settings = ARENA_ARRAY(arena, struct host_setting, most);
    work->outcomes = ARENA_ARRAY(arena, struct host_outcome, most);
    work->words = ARENA_ARRAY(arena, const char *, most);
    work->kinds = ARENA_ARRAY(arena, size_t, cluster->nodes);
    work->values = ARENA_ARRAY(arena, double, (size_t)work->service_count * work->batch_count);
    if (!work->settings || !work->outcomes || !work->words || !work->kinds || !work->values)
        return CORUN_MEMORY;
    host_place_at_random(cluster->nodes, work->batch_count, cluster->host.seed, work->kinds);
    for (uint32_t p = 0; p < work->policies.count && !status; p++)
        status = add_nodes(cluster, work, &work->policies.settings[p], work->policies.words[p]);
    for (uint32_t p = 0; p < work->placed.count && !status; p++) {
        const char *words = arena_format(arena, "%s, placed", work->placed.words[p]);
        status = words ? value_pairs(cluster, work, &work->placed.settings[p]) : CORUN_MEMORY;
        if (!status)
            status = host_place_best(cluster->nodes, work->service_count, work->batch_count, work->values, work->kinds);
        if (!status)
            status = add_nodes(cluster, work, &work->placed.settings[p], words);
    }
    return status;
}

static enum corun_status simulate_all(struct cluster_options *cluster, struct work *work)
{
    struct command *command = &cluster->host.command;
    struct report_style style = output_style(stdout);
    struct host_report report = {.machine = &cluster->host.machine};
    enum corun_status status = set_nodes(cluster, work);
    if (!status)
        status = host_colocate_all(work->settings, work->count, cluster->host.jobs, command->list, work->outcomes);
    report.settings = work->settings;
    report.outcomes = work->outcomes;
    report.policies = work->words;
    report.count = work->count;
    if (!status && !cluster->host.quiet && !host_report_cluster(&report, command->arena, &style, stdout))
        status = CORUN_MEMORY;
    return !status && cluster->host.outputs[0].file ? host_report_json(&report, cluster->host.outputs[0].file) : status;
}

static enum corun_status perform(void *user)
{
    struct cluster_options *cluster = user;
    struct host_options *host = &cluster->host;
    struct work *work = ARENA_NEW(host->command.arena, struct work);
    enum corun_status status = work ? host_load(host) : CORUN_MEMORY;
    if (!status)
        status = host_load_policies(host, &work->policies);
    if (!status && *cluster->hungarian)
        status = host_add_policies(host, cluster->hungarian, &work->placed);
    if (!status)
        status = outputs_open(host->outputs, 1, host->command.list);
    if (status)
        return status;
    status = host_load_services(host, work->services, &work->service_count);
    if (!status)
        status = host_load_batches(host, work->batches, &work->batch_count);
    if (!status)
        status = simulate_all(cluster, work);
    host_unload(work->services, work->service_count, work->batches, work->batch_count);
    return outputs_close(host->outputs, 1, status, host->command.list);
}

int host_command_cluster(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .doc = doc, .help_filter = command_help_filter};
    struct cluster_options cluster = {.nodes = 700, .hungarian = "emu"};
    host_options_begin(&cluster.host);
    return command_perform(&cluster.host.command, &argp, argc, argv, perform, &cluster);
}
