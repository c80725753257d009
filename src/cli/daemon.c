/* SPDX-License-Identifier: MIT */
/* corun daemon, and corund: one simulated GPU for the programs of `corun share`. */
#include "cli/command.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/vector.h"
#include "case/specification.h"
#include "corun/workload.h"
#include "daemon/server.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_QUIET = 'q',
    KEY_SIMULATE = 0x100,
    KEY_POLICY,
    KEY_SOCKET,
    KEY_EXPECT,
    KEY_THREADS,
    KEY_KERNEL_TIMEOUT,
    KEY_PATIENCE
};

static const struct argp_option options[] = {
    {"simulate", KEY_SIMULATE, "GPU", 0, "a name (see `corun list gpus`) or a YAML file, with overrides", 1},
    {"policy", KEY_POLICY, "POLICY", 0,
     "who shares it how, NAME[:parameter=value,...] (see `corun list policies`) [left-over]", 1},
    {"expect", KEY_EXPECT, "NAME", 0,
     "simulated time begins when a program of that name is there; given again, programs are numbered in this order", 1},
    {"kernel-timeout", KEY_KERNEL_TIMEOUT, "TIME", 0,
     "stop a kernel that has run for so long on the simulated GPU, 10ms, 500us, 2s, or 5M cycles", 1},
    {"patience", KEY_PATIENCE, "TIME", 0,
     "time of the host, 10s, 5m or 1h, after which a program that computes holds up simulated time no longer; then "
     "results depend on the host [without end]",
     1},
    {"threads", KEY_THREADS, "N", 0, "host threads that advance SMs [1]", 1},
    {"socket", KEY_SOCKET, "PATH", 0,
     "where programs find it [$CORUN_DAEMON_SOCKET, corund.sock in $XDG_RUNTIME_DIR or /run]", 2},
    {"quiet", KEY_QUIET, NULL, 0, "says nothing when it is ready", 2},
    {0},
};

static const char doc[] =
    "Has one simulated GPU, which several CUDA programs share: `corund --simulate gtx980 --policy even`, then `corun "
    "share -- ./program` for each of them. Simulated time goes on only while every program waits for the GPU, so "
    "results do not depend on the host (docs/daemon.md). SIGTERM ends it.";

struct daemon_options {
    struct command command;
    const char *gpu, *policy, *socket;
    VECTOR(const char *) expected;
    struct simulated_duration kernel_timeout;
    uint64_t threads;
    double patience; /* seconds */
    bool quiet;
    char path[PATH_BYTES];
    struct node_settings settings;
    struct arena *chosen; /* parameters of the policy that was chosen while it runs */
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct daemon_options *daemon = state->input;
    switch (key) {
    case KEY_SIMULATE:
        daemon->gpu = value;
        break;
    case KEY_POLICY:
        daemon->policy = value;
        break;
    case KEY_SOCKET:
        daemon->socket = command_name("--socket", value, state);
        break;
    case KEY_EXPECT:
        if (!*value || strlen(value) >= WIRE_NAME_BYTES)
            argp_error(state, "--expect is the name of a program, at most %u bytes, not `%s`", WIRE_NAME_BYTES - 1,
                       value);
        if (!vector_push(&daemon->expected, value))
            command_keep(&daemon->command, CORUN_MEMORY);
        break;
    case KEY_THREADS:
        command_number(&daemon->command, "--threads", value, 1000, 1, 1000, &daemon->threads);
        break;
    case KEY_KERNEL_TIMEOUT:
        if (!simulated_duration_parse(value, &daemon->kernel_timeout))
            argp_error(state, "--kernel-timeout is a time like 10ms, 500us or 2s, or a number of cycles, not `%s`",
                       value);
        break;
    case KEY_PATIENCE:
        if (!duration_parse(value, &daemon->patience))
            argp_error(state, "--patience is a time like 10s, 5m or 1h, not `%s`", value);
        break;
    case KEY_QUIET:
        daemon->quiet = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "`%s`: programs are started by `corun share`", value);
        break;
    case ARGP_KEY_SUCCESS:
        if (!daemon->gpu)
            argp_error(state, "--simulate GPU is missing: GPUs of hardware cannot be shared by it");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void tell_ready(void *user)
{
    const struct daemon_options *daemon = user;
    if (daemon->quiet)
        return;
    printf("%s, policy %s, at %s\n", daemon->settings.configuration.name,
           daemon->settings.policy ? daemon->settings.policy->name : CORUN_NO_POLICY, daemon->path);
    fflush(stdout);
}

/* Another policy. The machine has its own copy of the parameters of the one before. */
static enum corun_status choose(void *user, const char *text, struct corun_diagnostics *list,
                                const struct corun_policy **policy, const double **parameters)
{
    struct daemon_options *daemon = user;
    arena_destroy(daemon->chosen);
    daemon->chosen = arena_create();
    return daemon->chosen ? specify_policy(text, daemon->chosen, list, policy, parameters) : CORUN_MEMORY;
}

static enum corun_status prepare(struct daemon_options *daemon)
{
    struct corun_diagnostics *list = daemon->command.list;
    struct node_settings *settings = &daemon->settings;
    char data[PATH_BYTES];
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(daemon->gpu, data, list, &settings->configuration);
    if (status == CORUN_OK)
        status = corun_gpu_config_check(&settings->configuration, list);
    if (status == CORUN_OK && daemon->policy)
        status = specify_policy(daemon->policy, daemon->command.arena, list, &settings->policy, &settings->parameters);
    if (status == CORUN_OK && settings->policy && settings->policy->needs_speedup)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "policy %s needs speed-up curves of its applications, which are not known of programs",
                            settings->policy->name);
    if (status == CORUN_OK && !wire_socket_path(daemon->socket, daemon->path, sizeof daemon->path))
        status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
    settings->policy_text = daemon->policy ? daemon->policy : CORUN_NO_POLICY;
    settings->choose = choose;
    settings->user = daemon;
    settings->threads = (uint32_t)daemon->threads;
    settings->launch_cycles =
        simulated_duration_cycles(&daemon->kernel_timeout, settings->configuration.core_clock_khz);
    settings->expected = daemon->expected.data;
    settings->expected_count = (uint32_t)daemon->expected.count;
    return status;
}

static enum corun_status run_daemon(void *user)
{
    struct daemon_options *daemon = user;
    struct node *node = NULL;
    enum corun_status status = prepare(daemon);
    if (status == CORUN_OK)
        status = node_create(&daemon->settings, daemon->command.list, &node);
    if (status == CORUN_OK)
        status = server_run(node, daemon->path, daemon->patience, tell_ready, daemon, daemon->command.list);
    node_destroy(node);
    vector_free(&daemon->expected);
    arena_destroy(daemon->chosen);
    return status;
}

int command_daemon(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .doc = doc, .help_filter = command_help_filter};
    struct daemon_options daemon = {.threads = 1};
    return command_perform(&daemon.command, &argp, argc, argv, run_daemon, &daemon);
}
