/* SPDX-License-Identifier: MIT */
/* corun host samples: queries of a service, simulated alone, as `corun host train` takes them. */
#include "cli/host.h"

#include "host/alone.h"

#include <string.h>

#define DEFAULT_SIZES 16u

enum { SAMPLES_KEY_OUTPUT = 'o', SAMPLES_KEY_HOST = 'H', SAMPLES_KEY_SIZES = 0x100, SAMPLES_KEY_SEED };

static const struct argp_option options[] = {
    {"host", SAMPLES_KEY_HOST, "HOST", 0, "the simulated host, NAME[:parameter=value,...] [" DEFAULT_HOST "]", 1},
    {"sizes", SAMPLES_KEY_SIZES, "N", 0, "in equal steps from the smallest query to the largest [16]", 2},
    {"seed", SAMPLES_KEY_SEED, "N", 0, "of what queries of one size differ in [1]", 2},
    {"output", SAMPLES_KEY_OUTPUT, "FILE", 0, "CSV [-: standard output]", 3},
    {0},
};

static const char doc[] =
    "Simulates single queries of a service, each cold and with nobody else on the host: of several sizes, on every "
    "number of cores, with eight numbers of ways of the last-level cache. These are the samples that `corun host "
    "simulate` has its models learn from.\vSERVICE is a description by its name, or a file.";

struct host_samples_options {
    struct command command;
    struct output output;
    const char *service, *host;
    uint32_t sizes;
    uint64_t seed;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct host_samples_options *samples = state->input;
    switch (key) {
    case SAMPLES_KEY_HOST:
        samples->host = value;
        break;
    case SAMPLES_KEY_SIZES:
        command_count(&samples->command, "--sizes", value, 1000, &samples->sizes);
        break;
    case SAMPLES_KEY_SEED:
        command_number(&samples->command, "--seed", value, 1000, 0, UINT64_MAX, &samples->seed);
        break;
    case SAMPLES_KEY_OUTPUT:
        samples->output.path = value;
        break;
    case ARGP_KEY_ARG:
        if (samples->service)
            argp_error(state, "one service: '%s' is one too many", value);
        samples->service = value;
        break;
    case ARGP_KEY_END:
        if (!samples->service)
            argp_error(state, "which SERVICE?");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static enum corun_status write_samples(struct host_samples_options *samples, const struct host_machine *machine,
                                       const struct host_application *service)
{
    struct command *command = &samples->command;
    struct corun_host_sample *rows;
    size_t count;
    if (service->kind != CORUN_HOST_SERVICE)
        return corun_report(command->list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s is a batch program, no service",
                            service->name);
    enum corun_status status =
        host_samples(machine, service, samples->seed, samples->sizes, command->arena, command->list, &rows, &count);
    if (status)
        return status;
    fputs("size,cores,ways,duration_ns,ipc\n", samples->output.file);
    for (size_t i = 0; i < count; i++)
        fprintf(samples->output.file, "%.17g,%u,%u,%.17g,%.17g\n", rows[i].size, rows[i].cores, rows[i].ways,
                rows[i].measured.duration_ns, rows[i].measured.ipc);
    return CORUN_OK;
}

static enum corun_status perform(void *user)
{
    struct host_samples_options *samples = user;
    struct corun_diagnostics *list = samples->command.list;
    struct host_application *service = NULL;
    struct host_machine machine;
    char data[PATH_BYTES];
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (!status)
        status = host_machine_load(samples->host, data, list, &machine);
    if (!status)
        status = host_application_load(samples->service, data, list, &service);
    if (!status)
        status = outputs_open(&samples->output, 1, list);
    if (!status)
        status = outputs_close(&samples->output, 1, write_samples(samples, &machine, service), list);
    host_application_destroy(service);
    return status;
}

int host_command_samples(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "SERVICE",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct host_samples_options samples = {
        .output = {.option = "--output", .path = "-"}, .host = DEFAULT_HOST, .sizes = DEFAULT_SIZES, .seed = 1};
    return command_perform(&samples.command, &argp, argc, argv, perform, &samples);
}
