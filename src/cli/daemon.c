/* SPDX-License-Identifier: MIT */
/* corun daemon, and corund: simulated GPUs for the programs of `corun share`. */
#include "cli/command.h"

#include "base/duration.h"
#include "cli/daemon_setup.h"
#include "daemon/upgrade.h"

#include <signal.h>
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
    KEY_PATIENCE,
    KEY_PACE,
    KEY_CONFIGURATION,
    KEY_CHECK,
    KEY_TAKES_OVER,
    KEY_METRICS,
    KEY_JOURNAL
};

static const struct argp_option options[] = {
    {"simulate", KEY_SIMULATE, "GPU", 0,
     "a name (see `corun list gpus`) or a YAML file, with overrides; given again, there are several GPUs [none: the "
     "GPU of this computer]",
     1},
    {"policy", KEY_POLICY, "POLICY", 0,
     "who shares it how, NAME[:parameter=value,...] (see `corun list policies`; on the GPU of this computer left-over, "
     "priority, goal, time-slice, even or partition) [left-over; there goal]",
     1},
    {"expect", KEY_EXPECT, "NAME", 0,
     "simulated time begins when a program of that name is there; given again, programs are numbered in this order", 1},
    {"kernel-timeout", KEY_KERNEL_TIMEOUT, "TIME", 0,
     "stop a kernel that has run for so long on the simulated GPU, 10ms, 500us, 2s, or 5M cycles", 1},
    {"patience", KEY_PATIENCE, "TIME", 0,
     "time of the host, 10s, 5m or 1h, after which a program that computes holds up simulated time no longer; then "
     "results depend on the host [without end]",
     1},
    {"pace", KEY_PACE, "X", 0,
     "simulated seconds in a second of the host, at most 1, like 0.001: time follows the host's clock, whoever "
     "computes "
     "holds up nobody, and results depend on the host [time goes on while every program waits]",
     1},
    {"threads", KEY_THREADS, "N", 0, "host threads that advance SMs [1]", 1},
    {"configuration", KEY_CONFIGURATION, "FILE", 0,
     "all of this in YAML, and who may come; options given here count more. SIGHUP reads it again", 2},
    {"check", KEY_CHECK, "FILE", 0, "tell what is wrong in such a file, and where; nothing is started", 2},
    {"takes-over", KEY_TAKES_OVER, NULL, 0,
     "tell from which corund it takes over at SIGUSR2, versions and GPUs; nothing is started", 2},
    {"metrics", KEY_METRICS, "FILE", 0, "write metrics for Prometheus there, again and again", 2},
    {"journal", KEY_JOURNAL, "FILE", 0, "write what happens as a timeline there: open it in ui.perfetto.dev", 2},
    {"socket", KEY_SOCKET, "PATH", 0,
     "where programs find it [$CORUN_DAEMON_SOCKET, corund.sock in $XDG_RUNTIME_DIR or /run]", 2},
    {"quiet", KEY_QUIET, NULL, 0, "says nothing when it is ready", 2},
    {0},
};

static const char doc[] =
    "Has simulated GPUs, which several CUDA programs share: `corund --simulate gtx980 --policy even`, then `corun "
    "share -- ./program` for each of them; without --simulate, it is the GPU of this computer. Simulated time goes on "
    "only while every program waits for the GPU, so "
    "results do not depend on the host, or follows the host's clock with --pace (docs/daemon.md). SIGTERM ends it; at "
    "SIGUSR2 it becomes the corund that "
    "its file is by now, and programs run on.";

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct daemon_setup *daemon = state->input;
    switch (key) {
    case KEY_SIMULATE:
        if (!vector_push(&daemon->gpus, value))
            command_keep(daemon->command, CORUN_MEMORY);
        break;
    case KEY_POLICY:
        daemon->policy = value;
        break;
    case KEY_CONFIGURATION:
        daemon->file = command_name("--configuration", value, state);
        break;
    case KEY_CHECK:
        daemon->file = command_name("--check", value, state);
        daemon->check = true;
        break;
    case KEY_TAKES_OVER:
        daemon->takes_over = true;
        break;
    case KEY_METRICS:
        daemon->metrics = command_name("--metrics", value, state);
        break;
    case KEY_JOURNAL:
        daemon->journal = command_name("--journal", value, state);
        break;
    case KEY_SOCKET:
        daemon->socket = command_name("--socket", value, state);
        break;
    case KEY_EXPECT:
        if (!*value || strlen(value) >= WIRE_NAME_BYTES)
            argp_error(state, "--expect is the name of a program, at most %u bytes, not `%s`", WIRE_NAME_BYTES - 1,
                       value);
        if (!vector_push(&daemon->expected, value))
            command_keep(daemon->command, CORUN_MEMORY);
        break;
    case KEY_THREADS:
        command_number(daemon->command, "--threads", value, 1000, 1, 1000, &daemon->threads);
        break;
    case KEY_KERNEL_TIMEOUT:
        if (!simulated_duration_parse(value, &daemon->kernel_timeout))
            argp_error(state, "--kernel-timeout is a time like 10ms, 500us or 2s, or a number of cycles, not `%s`",
                       value);
        daemon->has_kernel_timeout = true;
        break;
    case KEY_PATIENCE:
        if (!duration_parse(value, &daemon->patience))
            argp_error(state, "--patience is a time like 10s, 5m or 1h, not `%s`", value);
        break;
    case KEY_PACE:
        if (!daemon_configuration_pace(value, &daemon->pace))
            argp_error(state, "--pace is a number above 0 and at most 1, like 0.001, not `%s`", value);
        break;
    case KEY_QUIET:
        daemon->quiet = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "`%s`: programs are started by `corun share`", value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void tell_ready(void *user)
{
    const struct daemon_setup *daemon = user;
    if (daemon->quiet)
        return;
    printf("%s, policy %s, at %s\n", daemon->gpu_names,
           daemon->settings.policy ? daemon->settings.policy->name : CORUN_NO_POLICY, daemon->server.path);
    fflush(stdout);
}

static enum corun_status run_daemon(void *user)
{
    struct daemon_setup *daemon = user;
    struct node *node = NULL;
    char version[HANDOVER_TEXT_BYTES];
    enum corun_status status = daemon_read(daemon);
    if (status == CORUN_OK && daemon_is_hardware(daemon)) {
        status = daemon_run_hardware(daemon);
        daemon_set_down(daemon);
        return status;
    }
    if (status == CORUN_OK)
        status = daemon_set_up(daemon);
    daemon->server.ready = tell_ready;
    if (status == CORUN_OK && daemon->check) {
        printf("%s: %s, policy %s, %u row%s of limits\n", daemon->file, daemon->gpu_names, daemon->settings.policy_text,
               daemon->limits.count, daemon->limits.count == 1 ? "" : "s");
    } else if (status == CORUN_OK && daemon->takes_over) {
        puts(handover_version(&daemon->settings, version));
    } else if (status == CORUN_OK) {
        daemon->settings.goes_on = upgrade_takes_over();
        status = node_create(&daemon->settings, daemon->command->list, &node);
        daemon->node = node;
        if (status == CORUN_OK)
            status = server_run(node, &daemon->server, daemon->command->list);
    }
    node_destroy(node);
    daemon_set_down(daemon);
    return status;
}

int command_daemon(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .doc = doc, .help_filter = command_help_filter};
    struct command command = {0};
    struct daemon_setup daemon = {.command = &command};
    return command_perform(&command, &argp, argc, argv, run_daemon, &daemon);
}
