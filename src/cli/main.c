/* SPDX-License-Identifier: MIT */
/*
 * corun: several CUDA applications, one simulated GPU, and each gets the service it asked for.
 *
 * The map of the house, from the top. An include only ever points down (src/layers.txt says where to); include/corun/ has what
 * every floor may see.
 *
 *   src/cli       the command: one file per subcommand (run.c, characterize.c, launch.c, …), and what they share: command.c
 *                 (options, the end), output.c (messages, files), progress.c (the line on the terminal, SIGINT), program.c
 *                 (starts CUDA programs), together.c (several on one GPU), guard.c (ends them with us), python.c (starts what
 *                 makes reports), policy_watch.c (a process that watches policies of users), candidates.c (what could come
 *                 next, for completion)
 *   src/cuda      CUDA's runtime and driver API for programs that nobody changed; a library that they load (docs/cuda.md)
 *   src/daemon    corund: one simulated GPU for several programs (node.h), behind a socket (server.c); src/wire: what is said there
 *   src/split     one task divided between CPU and GPUs; a library of its own for programs (docs/split.md)
 *   src/import    GPU descriptions of other simulators (docs/import.md)
 *   src/reproduce figures of papers (experiment.c), run as far as asked or as a time allows (reproduction.c)
 *   src/campaign  many cases (campaign.c) from one description (campaign_file.c) in processes of their own (worker.c) into a
 *                 results file (store.c), or as jobs (slurm.c); the best split of the SMs by trying (search.c)
 *   src/serve     queues of kernels (corun queue): served by events at measured speeds, or simulated in full (serve.c)
 *   src/queue     the ready queue, kernel schedulers, one file each, and runs (docs/queue.md)
 *   src/report    results as a table for people (table.c), as JSON (json.c), traces (trace.c), timelines (timeline.c),
 *                 characterisations (characterization.c), what a CUDA program did (program_record.c), and several together (program_sharing.c)
 *   src/case      a case from its description to its result (case.c), or from the words of a command line (request.c), and how it
 *                 went over time (history.c), isolated baselines (baseline.c) and their cache,
 *                 characterisations of workloads (characterize.c),
 *                 launches of anybody's PTX (launch.c, argument.c)
 *   src/workload  launch descriptions in YAML, their data, their CPU references; captured CUDA programs (capture.h)
 *   src/share     the policies: they read a view and write allowances, one file each
 *   src/allot     policies of a host, one file each; they know include/corun/host.h and nothing else
 *   src/host      the simulated host: descriptions (application_file.c, machine.c), time (simulate.c), rates (contention.c), what a policy
 *                 sees and may (governed.c), co-locations (study.c)
 *   src/gpu       the machine: SMs, caches, interconnect, DRAM; it takes warp instructions from a source and obeys allowances
 *   src/rewrite   kernels so that a scheduler can take their launches apart: slices (slice.c), workers (workers.c)
 *   src/isa       the source: PTX decoded and executed, 32 lanes at a time
 *   src/ptx       PTX text to a checked module
 *   src/base      arenas, vectors, numbers, diagnostics, YAML as a tree
 *
 * To understand it, read include/corun/source.h (what a machine is told), include/corun/policy.h (what a policy is told
 * and says), include/corun/gpu.h, then src/case/case.c, which calls everything in order.
 */
#include "cli/command.h"
#include "cli/policy_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND_ROW(name, summary) {#name, command_##name},
    CORUN_COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

/* So that no file that we open takes the place of a standard stream that is closed. */
static void keep_standard_streams(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", descriptor ? O_RDONLY : O_WRONLY); /* the wrong way round: use is still an error */
    }
}

static void pass_over(int number)
{
    (void)number;
}

/*
 * A file that may not become longer is as a disk that is full: a failed write, which says where. Not SIG_IGN: programs that we start would have that, too,
 * and a handler ends with exec.
 */
static void bear_file_limits(void)
{
    struct sigaction before, action = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        (void)sigaction(SIGXFSZ, &action, NULL);
}

int command_dispatch(const char *name, int argc, char **argv)
{
    const char *names[COMMAND_COUNT];
    char hint[128];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        if (strcmp(name, names[i]))
            continue;
        char title[32];
        snprintf(title, sizeof title, "corun %s", name);
        argv[0] = title;
        int exit_status = commands[i].run(argc, argv);
        policy_watch_end(exit_status);
        return exit_status;
    }
    fprintf(stderr, "corun: there is no command `%s`; %s\n", name,
            command_hint(name, names, COMMAND_COUNT, "see `corun help`", hint, sizeof hint));
    return corun_status_exit(CORUN_USAGE);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a pipe that nobody reads any more is a failed write, found by output_guard */
    bear_file_limits();
    setlocale(LC_CTYPE, ""); /* numbers stay as they are in every locale */
    output_guard();
    argp_err_exit_status = corun_status_exit(CORUN_USAGE);
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    if (argc && !strcmp(slash ? slash + 1 : argv[0], "corund")) /* the name that a service has */
        return command_dispatch("daemon", argc, argv);
    if (argc < 2) {
        fputs("corun: a command is missing; see `corun help`\n", stderr);
        return corun_status_exit(CORUN_USAGE);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?"))
        return command_dispatch("help", 1, argv + 1);
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
        return command_dispatch("version", 1, argv + 1);
    return command_dispatch(argv[1], argc - 1, argv + 1);
}
