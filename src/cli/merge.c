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
    struct corun_diagnostics *list;
    const char *results;
    VECTOR(const char *) files;
    bool quiet;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct merge_options *merge = state->input;
    switch (key) {
    case KEY_RESULTS:
        merge->results = value;
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

int command_merge(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "FILE...",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct merge_options merge = {.list = corun_diagnostics_create()};
    enum corun_status status = CORUN_MEMORY;
    if (merge.list) {
        struct corun_campaign_merged merged;
        command_parse(&argp, argc, argv, &merge);
        status = corun_campaign_merge(merge.results, merge.files.data, merge.files.count, merge.list, &merged);
        if (!merge.quiet)
            printf("%" PRIu32 " of %zu files merged into %s: %" PRIu64 " cases\n", merged.files, merge.files.count,
                   merge.results, merged.taken);
    }
    int exit_status = output_diagnostics(merge.list, status);
    vector_free(&merge.files);
    if (merge.list)
        corun_diagnostics_destroy(merge.list);
    return exit_status;
}
