/* SPDX-License-Identifier: MIT */
/* corun export: a workload as files for a real GPU. */
#include "cli/command.h"

#include "corun/workload.h"

enum { KEY_FORCE = 'f', KEY_QUIET = 'q', KEY_SEED = 0x100, KEY_MACHINE_TRACE };

static const struct argp_option options[] = {
    {"seed", KEY_SEED, "N", 0, "of the workload's data [1]", 1},
    {"force", KEY_FORCE, NULL, 0, "write into a directory that is not empty; files of the same names are replaced", 1},
    {"trace", KEY_MACHINE_TRACE, NULL, 0,
     "write a trace of machine code in its place, that `corun run trace:DIRECTORY` takes (docs/traces.md)", 1},
    {"quiet", KEY_QUIET, NULL, 0, "no summary", 1},
    {0},
};

static const char arguments_doc[] = "WORKLOAD[@SIZE[,PARAMETER=VALUE,...]] DIRECTORY";
static const char doc[] =
    "Writes everything that is needed to run a workload somewhere else, on real hardware for instance, into a "
    "directory.\vWORKLOAD is a name (see `corun list workloads`) or the path of a launch description; SIZE, PARAMETER "
    "and VALUE are as for `corun run`. The directory gets\n"
    "  launch.json      buffers, launches and copies in order, all values evaluated\n"
    "  NAME.ptx         the kernels\n"
    "  BUFFER.initial   what a buffer has at the beginning, unless it is all zero\n"
    "  BUFFER.expected  what an output must have at the end, by the CPU reference\n"
    "Numbers in these are little-endian; docs/hardware.md describes launch.json; bench/hardware/real_gpu.py runs it on "
    "an NVIDIA GPU.";

struct export_options {
    struct command command;
    const char *workload, *directory;
    uint64_t seed;
    bool overwrite, quiet, as_trace;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct export_options *export = state->input;
    switch (key) {
    case KEY_SEED:
        command_number(&export->command, "--seed", value, 1000, 0, UINT64_MAX, &export->seed);
        break;
    case KEY_FORCE:
        export->overwrite = true;
        break;
    case KEY_MACHINE_TRACE:
        export->as_trace = true;
        break;
    case KEY_QUIET:
        export->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            export->workload = value;
        else if (state->arg_num == 1)
            export->directory = value;
        else
            argp_error(state, "one workload and one directory are expected, not also `%s`", value);
        break;
    case ARGP_KEY_END:
        if (!export->workload)
            argp_error(state, "a workload is missing");
        else if (!export->directory || !*export->directory)
            argp_error(state, "a directory to write to is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void print_summary(const struct export_options *export, const struct corun_workload *workload,
                          const struct corun_instance *instance)
{
    struct corun_workload_info info;
    corun_workload_describe(workload, &info);
    uint64_t bytes = 0;
    for (size_t i = 0; i < corun_instance_buffer_count(instance); i++) {
        struct corun_buffer_info buffer;
        corun_instance_buffer_at(instance, i, &buffer);
        bytes += buffer.bytes;
    }
    size_t buffers = corun_instance_buffer_count(instance);
    unsigned launches = corun_instance_grid_count(instance);
    printf("%s@%s with seed %llu: %zu buffer%s of %.5g MB together, %u launch%s, %s; written to %s\n", info.name,
           info.size, (unsigned long long)export->seed, buffers, buffers == 1 ? "" : "s", (double)bytes * 1e-6,
           launches, launches == 1 ? "" : "es", info.has_reference ? "with expected results" : "no reference",
           export->directory);
}

static enum corun_status run_export(void *user)
{
    const struct export_options *export = user;
    struct corun_diagnostics *list = export->command.list;
    char data[PATH_BYTES];
    struct corun_workload *workload = NULL;
    struct corun_instance *instance = NULL;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (!status)
        status = corun_workload_load(export->workload, data, list, &workload);
    if (!status)
        status = corun_instance_create(workload, 0, export->seed, list, &instance);
    if (!status)
        status = (export->as_trace ? corun_instance_export_trace : corun_instance_export)(instance, export->directory,
                                                                                          export->overwrite, list);
    if (!status && !export->quiet)
        print_summary(export, workload, instance);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    return status;
}

int command_export(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = arguments_doc,
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct export_options export = {.seed = 1};
    return command_perform(&export.command, &argp, argc, argv, run_export, &export);
}
