/* SPDX-License-Identifier: MIT */
/* What campaigns found, as tables and pictures: the work is done by the Python package in python/ (docs/reports.md). */
#include "cli/command.h"
#include "cli/python.h"

#include <stdlib.h>

enum { KEY_RESULTS = 'r', KEY_QUIET = 'q', KEY_CAMPAIGN = 'c', KEY_HTML = 256, KEY_CSV, KEY_JSON, KEY_CASES };

static const struct argp_option options[] = {
    {"results", KEY_RESULTS, "FILE", 0, "the results file [" DEFAULT_RESULTS "]", 1},
    {"campaign", KEY_CAMPAIGN, "NAME", 0, "this campaign only [all of the file]", 1},
    {"html", KEY_HTML, "FILE", 0, "writes a page with figures, one file that needs no network", 2},
    {"csv", KEY_CSV, "FILE", 0, "writes the tables as comma-separated values (RFC 4180)", 2},
    {"json", KEY_JSON, "FILE", 0, "writes the tables and all cases as JSON", 2},
    {"cases", KEY_CASES, "N", 0, "so many cases at most have their details in the page [2000]", 2},
    {"quiet", KEY_QUIET, NULL, 0, "no tables on the terminal", 3},
    {0},
};

static const char doc[] = "Tables of a results file of `corun campaign`, policy by policy: STP, ANTT, fairness, goals "
                          "met (docs/reports.md), and the same as a page with figures, as CSV and as JSON. FILE may be "
                          "-, the standard output, in place of the tables.\v"
                          "It runs python3, or what the environment variable CORUN_PYTHON names, with numpy, and with "
                          "matplotlib for the page (Debian: python3-numpy, python3-matplotlib). The results file is "
                          "only read, also while a campaign is running.";

/* The files that it writes. */
enum { REPORT_HTML, REPORT_CSV, REPORT_JSON, REPORT_OUTPUTS };

struct report_options {
    struct command command;
    const char *results, *campaign;
    struct output outputs[REPORT_OUTPUTS];
    uint64_t cases;
    bool quiet;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct report_options *report = state->input;
    switch (key) {
    case KEY_RESULTS:
        report->results = command_name("--results", value, state);
        break;
    case KEY_CAMPAIGN:
        report->campaign = value;
        break;
    case KEY_HTML:
        report->outputs[REPORT_HTML].path = value;
        break;
    case KEY_CSV:
        report->outputs[REPORT_CSV].path = value;
        break;
    case KEY_JSON:
        report->outputs[REPORT_JSON].path = value;
        break;
    case KEY_CASES:
        command_number(&report->command, "--cases", value, 1000, 0, 1000000, &report->cases);
        break;
    case KEY_QUIET:
        report->quiet = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "`%s` is too much; a results file goes behind --results", value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Becomes the Python program; comes back only if there is none. */
static enum corun_status make_report(void *user)
{
    const struct report_options *report = user;
    enum corun_status status = outputs_check(report->outputs, REPORT_OUTPUTS, report->command.list);
    if (!status)
        status = command_existing(report->results, report->command.list);
    if (status)
        return status;
    char cases[32];
    snprintf(cases, sizeof cases, "%u", (unsigned)report->cases);
    const struct {
        const char *option, *value;
    } values[] = {{"--results", report->results},
                  {"--campaign", report->campaign},
                  {"--html", report->outputs[REPORT_HTML].path},
                  {"--csv", report->outputs[REPORT_CSV].path},
                  {"--json", report->outputs[REPORT_JSON].path},
                  {"--cases", cases}};
    const char *arguments[sizeof values / sizeof *values + 2] = {NULL};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!values[i].value)
            continue;
        /* in one text, so that no value is taken for an option */
        arguments[count] = arena_format(report->command.arena, "%s=%s", values[i].option, values[i].value);
        if (!arguments[count++])
            return corun_report(report->command.list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    if (report->quiet)
        arguments[count] = "--quiet";
    return python_become(arguments, report->command.list);
}

int command_report(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .doc = doc, .help_filter = command_help_filter};
    struct report_options report = {.results = DEFAULT_RESULTS,
                                    .outputs = {{.option = "--html"}, {.option = "--csv"}, {.option = "--json"}},
                                    .cases = 2000};
    return command_perform(&report.command, &argp, argc, argv, make_report, &report);
}
