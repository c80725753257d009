/* SPDX-License-Identifier: MIT */
/* The commands below `corun host`. */
#ifndef CORUN_CLI_HOST_H
#define CORUN_CLI_HOST_H

#include "cli/command.h"
#include "corun/workload.h"
#include "host/study.h"
#include "report/host_report.h"
#include "report/host_timeline.h"

/* C(name, summary): each has a function host_command_NAME. argv[0] is "corun host NAME". */
#define CORUN_HOST_COMMANDS(C) \
    C(train, "a predictor of a service's queries, learned from samples") \
    C(samples, "single queries of a service, simulated: what a predictor learns from") \
    C(simulate, "services and batch programs share a simulated host, under one policy after the other") \
    C(sweep, "each service with each batch program, under one policy after the other") \
    C(cluster, "many hosts with a service and a batch program each, and which are placed together") \
    C(profile, "a program, measured: what a simulated host needs to know of it") \
    C(run, "services and batch programs share this machine, under one policy") \
    C(top, "how those stand that share this machine") \
    C(restore, "puts back what an agent of this machine changed that was killed")

#define HOST_COMMAND_FUNCTION(name, summary) int host_command_##name(int argc, char **argv);
CORUN_HOST_COMMANDS(HOST_COMMAND_FUNCTION)
#undef HOST_COMMAND_FUNCTION

#define DEFAULT_HOST "e5-2650v4"
#define HOST_MOST_POLICIES 16u

/* What all of them take. */
struct host_options {
    struct command command;
    struct output outputs[2]; /* --json, --timeline */
    const char *host, *data;
    char data_room[PATH_BYTES];
    struct host_machine machine;
    const char *policies[HOST_MOST_POLICIES]; /* --policy, each a list; without any the usual ones */
    const char *services[HOST_MOST_TENANTS], *batches[HOST_MOST_TENANTS]; /* NAME[:key=value,...] */
    uint32_t policy_count, service_count, batch_count;
    uint64_t goal_ns, interval_ns, seed;
    double load;
    uint32_t queries, instances, jobs;
    bool quiet;
    bool tenants_needed; /* without any, nothing is simulated */
};

enum {
    KEY_HOST = 'H',
    KEY_POLICY = 'p',
    KEY_SERVICE = 's',
    KEY_BATCH = 'b',
    KEY_HOST_JSON = 'j',
    KEY_HOST_QUIET = 'q',
    KEY_GOAL = 0x200,
    KEY_LOAD,
    KEY_QUERIES,
    KEY_INSTANCES,
    KEY_INTERVAL,
    KEY_SEED,
    KEY_JOBS,
    KEY_TIMELINE
};

#define HOST_OPTIONS \
    {"host", KEY_HOST, "HOST", 0, "the simulated host, NAME[:parameter=value,...] [" DEFAULT_HOST "]", 1}, \
        {"policy", KEY_POLICY, "HOSTPOLICY,...", 0, "NAME[:parameter=value,...]; again for more [os,static-opt,emu]", \
         1}, \
        {"service", KEY_SERVICE, "SERVICE", 0, "NAME[:goal=150ms,load=0.3,queries=1000]; again for more", 2}, \
        {"batch", KEY_BATCH, "BATCH", 0, "a batch program, NAME[:instances=8]; again for more", 2}, \
        {"goal", KEY_GOAL, "TIME", 0, "within which 99 of 100 queries are answered [150ms]", 3}, \
        {"load", \
         KEY_LOAD, \
         "FRACTION", \
         0, \
         "of the time that the queries would take if each were alone on the host [0.3]", \
         3}, \
        {"queries", KEY_QUERIES, "N", 0, "of each service [1000]", 3}, \
        {"instances", KEY_INSTANCES, "N", 0, "of each batch program [8]", 3}, \
        {"interval", KEY_INTERVAL, "TIME", 0, "between two looks at a query [20ms]", 3}, \
        {"seed", KEY_SEED, "N", 0, "of arrivals and sizes [1]", 3}, \
        {"jobs", KEY_JOBS, "N", 0, "simulations side by side [processors]", 4}, \
        {"json", KEY_HOST_JSON, "FILE", 0, "all results; - is standard output", 4}, \
    { \
        "quiet", KEY_HOST_QUIET, NULL, 0, "no tables", 4 \
    }

/* "150ms" */
bool host_parse_time(const char *text, uint64_t *ns);
/* Defaults of all options. */
void host_options_begin(struct host_options *options);
/* For the end of a parser: ARGP_ERR_UNKNOWN if it is none of them. */
error_t host_option(int key, char *value, struct argp_state *state, struct host_options *options);

/* Policies of --policy, each with its words. */
struct host_policies {
    struct host_setting settings[HOST_MOST_POLICIES]; /* without tenants */
    const char *words[HOST_MOST_POLICIES];
    uint32_t count;
};

/* The host and the data directory. */
enum corun_status host_load(struct host_options *options);
/* More of them, "os,emu:margin=0.3": a comma before a word without `=` begins another policy. */
enum corun_status host_add_policies(struct host_options *options, const char *text, struct host_policies *policies);
/* Those of all --policy. */
enum corun_status host_load_policies(struct host_options *options, struct host_policies *policies);
/*
 * The words of --service and --batch, or, without any, all descriptions of the data directory of that kind: loaded, baselines measured, models trained.
 * What is known is the arena's; host_unload ends the applications.
 */
enum corun_status host_load_services(struct host_options *options, struct host_service_setting *services,
                                     uint32_t *count);
enum corun_status host_load_batches(struct host_options *options, struct host_batch_setting *batches, uint32_t *count);
void host_unload(const struct host_service_setting *services, uint32_t service_count,
                 const struct host_batch_setting *batches, uint32_t batch_count);

#endif
