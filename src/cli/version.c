/* SPDX-License-Identifier: MIT */
/* corun version: of the command, and of what its results depend on. */
#include "cli/command.h"

#include "corun/case.h"
#include "corun/workload.h"

#ifndef CORUN_VERSION
#error "the build defines CORUN_VERSION"
#endif

static enum corun_status print_versions(void *user)
{
    (void)user;
    printf("corun %s\n", CORUN_VERSION);
    printf("timing model %u, workloads %u, cached results %u, policy contract %u\n", CORUN_MODEL_VERSION,
           CORUN_WORKLOAD_VERSION, CORUN_RESULTS_VERSION, CORUN_POLICY_VERSION);
    return CORUN_OK;
}

int command_version(int argc, char **argv)
{
    static const struct argp argp = {
        .doc = "Prints the versions of the command and of what its results depend on.",
        .help_filter = command_help_filter,
    };
    struct command command = {0};
    return command_perform(&command, &argp, argc, argv, print_versions, NULL);
}
