/* SPDX-License-Identifier: MIT */
/* corun share: a CUDA program that nobody changed, on the GPU that corund has. */
#include "cli/daemon_link.h"
#include "cli/share_options.h"

#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_NS UINT64_C(3000000000)
#define NAP_NS 20000000L

enum { KEY_SOCKET = 0x100, KEY_CHECK, KEY_GPU, KEY_ENVIRONMENT, KEY_SLICES, KEY_WORKERS };

static const struct argp_option options[] = {
    {"goal", KEY_SHARE_GOAL, "GOAL", 0,
     "what it is promised: 90% of its rate alone, or ipc=X thread instructions per cycle; on a GPU of hardware 90%, or "
     "ms=X for a run of it or fps=X runs a second; without it, it takes what is left",
     1},
    {"isolated", KEY_SHARE_ISOLATED, "IPC", 0,
     "its rate alone, in thread instructions per cycle [what corund saw when a program of that name ran alone]", 1},
    {"name", KEY_SHARE_NAME, "NAME", 0, "what it is called there [that of its file]", 1},
    {"gpu", KEY_GPU, "GPU", 0,
     "where corund has several: number or name of the one that it gets [the first of $CUDA_VISIBLE_DEVICES, else the "
     "one with the fewest programs for each SM]",
     1},
    {"slices", KEY_SLICES, NULL, 0,
     "on a GPU of hardware: launches that take longer than the bound of the policy are cut into slices, where the "
     "program has PTX; thread blocks must not wait for later ones",
     1},
    {"workers", KEY_WORKERS, NULL, 0,
     "on a GPU of hardware, under the policy `partition`: launches become workers, that stay on the SMs which the "
     "program has, where it has PTX; thread blocks must not wait for each other",
     1},
    {"check", KEY_CHECK, "LIST", 0, COMMAND_CHECK_TEXT, 1},
    {"environment", KEY_ENVIRONMENT, NULL, 0,
     "no program is started: print what its environment has, NAME=value, for those who start programs themselves", 2},
    {"socket", KEY_SOCKET, "PATH", 0, "where corund is [$CORUN_DAEMON_SOCKET, corund.sock in $XDG_RUNTIME_DIR or /run]",
     2},
    {0},
};

static const char doc[] =
    "Runs a CUDA program on the GPU that corund has, together with others: `corun share --goal 90% -- ./server`. The "
    "program is one for `corun exec` (docs/cuda.md); docs/daemon.md says how programs share. The exit status is the "
    "program's.";

struct share_options {
    struct command command;
    struct program program;
    const char *socket;
    char path[PATH_BYTES];
    bool environment;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct share_options *share = state->input;
    struct program *program = &share->program;
    switch (key) {
    case KEY_GPU:
        if (!*value || strlen(value) >= WIRE_NAME_BYTES)
            argp_error(state, "--gpu is a number or a name, at most %u bytes, not `%s`", WIRE_NAME_BYTES - 1, value);
        program->daemon_gpu = value;
        break;
    case KEY_CHECK:
        program->checks = value;
        command_checks(&share->command, value, &(uint32_t){0}); /* the libraries read it again */
        break;
    case KEY_SLICES:
        program->shim_slices = true;
        break;
    case KEY_WORKERS:
        program->shim_workers = true;
        break;
    case KEY_ENVIRONMENT:
        share->environment = true;
        break;
    case ARGP_KEY_SUCCESS:
        if (share->environment ? program->words != NULL : !program->words)
            argp_error(state, program->words ? "--environment starts no program" : "a program is missing");
        if (program->shim_slices && program->shim_workers)
            argp_error(state, "launches become slices or workers, not both");
        break;
    case ARGP_KEY_NO_ARGS: /* said at the end */
        break;
    case KEY_SOCKET:
        share->socket = command_name("--socket", value, state);
        break;
    default:
        return share_option(key, value, state, &share->command, program) ? 0 : program_option(key, state, program);
    }
    return 0;
}

/* What is measured on a GPU of hardware is launches and runs, on a simulated one instructions. */
static enum corun_status check_goal(const struct program *program, struct corun_diagnostics *list)
{
    enum corun_goal_kind kind = wire_goal_kind(program->goal_kind);
    if (program->shim && kind == CORUN_GOAL_IPC)
        return corun_report(
            list, CORUN_USAGE, CORUN_NOWHERE,
            "--goal ipc=X is of simulated GPUs, and this corund has one of hardware: 90%%, ms=X or fps=X");
    if (!program->shim && kind > CORUN_GOAL_IPC)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "--goal %s=X is of GPUs of hardware, and this corund has simulated ones: 90%% or ipc=X",
                            program->goal_kind);
    return CORUN_OK;
}

/* Whether its GPU is one of hardware: then the program gets the shim, not a driver of ours. */
static enum corun_status find_kind(struct share_options *share, struct wire_link *link)
{
    struct program *program = &share->program;
    struct daemon_list list = {.clients = {0}};
    enum corun_status status = daemon_ask_list(link, share->command.list, &list);
    program->shim = status == CORUN_OK && list.nodes[0].hardware;
    daemon_list_free(&list);
    if (status == CORUN_OK && !program->shim && (program->shim_slices || program->shim_workers))
        status = corun_report(share->command.list, CORUN_USAGE, CORUN_NOWHERE,
                              "--%s is of GPUs of hardware, and this corund has simulated ones",
                              program->shim_slices ? "slices" : "workers");
    if (status == CORUN_OK && program->goal)
        status = check_goal(program, share->command.list);
    if (program->shim && (program->daemon_gpu || program->isolated || program->checks))
        status =
            corun_report(share->command.list, CORUN_USAGE, CORUN_NOWHERE,
                         "--gpu, --isolated and --check are of simulated GPUs, and this corund has one of hardware");
    return status;
}

/* One that was started in the line before is there in a moment. Who starts programs himself is told at once. */
static int reach_daemon(const struct share_options *share, struct wire_link *link)
{
    int problem = daemon_connect(link, share->path);
    for (uint64_t waited = 0;
         (problem == ENOENT || problem == ECONNREFUSED) && !share->environment && waited < PATIENCE_NS;
         waited += NAP_NS) {
        (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        problem = daemon_connect(link, share->path);
    }
    return problem;
}

/* Before the program starts: whether there is a daemon at all, and what it has. */
static enum corun_status find_daemon(struct share_options *share)
{
    struct wire_link link;
    char real[PATH_BYTES];
    if (!wire_socket_path(share->socket, share->path, sizeof share->path))
        return corun_report(share->command.list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
    int problem = reach_daemon(share, &link);
    if (problem)
        return corun_report(share->command.list, CORUN_NOT_FOUND, (struct corun_place){share->path, 0, 0},
                            "no corund can be reached there (corund --simulate gtx980): %s", strerror(problem));
    enum corun_status status = find_kind(share, &link);
    wire_close(&link);
    if (realpath(share->path, real)) /* programs change their folder */
        memcpy(share->path, real, sizeof real);
    share->program.daemon = share->path;
    return status;
}

static enum corun_status run_share(void *user)
{
    struct share_options *share = user;
    enum corun_status status = find_daemon(share);
    if (status == CORUN_OK && share->environment)
        return program_environment(&share->program, share->command.list, stdout);
    if (status == CORUN_OK)
        status = program_find(&share->program, share->command.list);
    if (status != CORUN_OK)
        return status;
    guard_begin(&share->program.guard);
    status = program_run(&share->program, share->command.list);
    guard_end(&share->program.guard);
    share->command.exit_status = share->program.exit_status;
    return status;
}

int command_share(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "-- PROGRAM [ARGUMENT...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct share_options share = {.command = {.rest_is_not_ours = true}, .program = {.runs_are_goals = true}};
    return command_perform(&share.command, &argp, argc, argv, run_share, &share);
}
