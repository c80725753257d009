#include "cli/command.h"

#include "corun/case.h"
#include "corun/workload.h"

#ifndef CORUN_VERSION
#error "the build defines CORUN_VERSION"
#endif

int command_version(int argc, char **argv)
{
    static const struct argp argp = {
        .doc = "Prints the versions of the command and of what its results depend on.",
        .help_filter = command_help_filter,
    };
    command_parse(&argp, argc, argv, NULL);
    printf("corun %s\n", CORUN_VERSION);
    printf("timing model %u, workloads %u, cached results %u, policy contract %u\n", CORUN_MODEL_VERSION,
           CORUN_WORKLOAD_VERSION, CORUN_RESULTS_VERSION, CORUN_POLICY_VERSION);
    return 0;
}
