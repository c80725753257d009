/* SPDX-License-Identifier: MIT */
/* corun merge: several results files become one. */
#include "cli/command.h"

#include "base/vector.h"
#include "corun/campaign.h"

#include <inttypes.h>
#include <stdlib.h>

enum { KEY_RESULTS = 'r', KEY_QUIET = 'q' };

static const struct argp_option options[] = {
    {"results", KEY_RESULTS, "INTO", 0, "the results file that takes them, created when it does not exist", 1},
    {"quiet", KEY_QUIET, NULL, 0, "no summary", 1},
    {0},
};

static const char doc[] =
    "Merges results files of `corun campaign`, of shards for instance (--shard), into one. Finished cases come before "
    "failed and lost ones; what is there already stays. A file that is damaged is reported, and the others are "
    "merged.\v"
    "Each file is one transaction: merging may be interrupted and repeated.";

struct merge_options {
    struct command command;
    const char *results;
    VECTOR(const char *) files;
    bool quiet;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct merge_options *merge = state->input;
    switch (key) {
    case KEY_RESULTS:
        merge->results = command_name("--results", value, state);
        break;
    case KEY_QUIET:
        merge->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (!vector_push(&merge->files, value))
            argp_failure(state, corun_status_exit(CORUN_MEMORY), 0, "out of memory at `%s`", value);
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the files that are to be merged are missing");
        break;
    case ARGP_KEY_END:
        if (!merge->results)
            argp_error(state, "which file takes them? (--results INTO)");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static enum corun_status run_merge(void *user)
{
    struct merge_options *merge = user;
    struct corun_campaign_merged merged;
    enum corun_status status =
        corun_campaign_merge(merge->results, merge->files.data, merge->files.count, merge->command.list, &merged);
    if (!merge->quiet)
        printf("%" PRIu32 " of %zu files merged into %s: %" PRIu64 " case%s\n", merged.files, merge->files.count,
               merge->results, merged.taken, merged.taken == 1 ? "" : "s");
    return status;
}

int command_merge(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "FILE...",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct merge_options merge = {0};
    int exit_status = command_perform(&merge.command, &argp, argc, argv, run_merge, &merge);
    vector_free(&merge.files);
    return exit_status;
}
