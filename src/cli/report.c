/* What campaigns found, as tables and pictures: the work is done by the Python package in python/ (docs/reports.md). */
#include "cli/command.h"
#include "cli/python.h"

#include <errno.h>
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

struct report_options {
    struct arena *arena;
    struct corun_diagnostics *list;
    const char *results, *campaign, *html, *csv, *json;
    uint64_t cases;
    bool quiet;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct report_options *report = state->input;
    char *end = NULL;
    switch (key) {
    case KEY_RESULTS:
        report->results = value;
        break;
    case KEY_CAMPAIGN:
        report->campaign = value;
        break;
    case KEY_HTML:
        report->html = value;
        break;
    case KEY_CSV:
        report->csv = value;
        break;
    case KEY_JSON:
        report->json = value;
        break;
    case KEY_CASES:
        errno = 0;
        report->cases = strtoull(value, &end, 10);
        if (*value < '0' || *value > '9' || *end || errno || report->cases > 1000000)
            argp_error(state, "--cases: '%s' is no number from 0 to 1000000", value);
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
static enum corun_status make_report(const struct report_options *report)
{
    char cases[32];
    snprintf(cases, sizeof cases, "%u", (unsigned)report->cases);
    const struct {
        const char *option, *value;
    } values[] = {{"--results", report->results}, {"--campaign", report->campaign}, {"--html", report->html},
                  {"--csv", report->csv},         {"--json", report->json},         {"--cases", cases}};
    const char *arguments[sizeof values / sizeof *values + 2] = {NULL};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!values[i].value)
            continue;
        /* in one text, so that no value is taken for an option */
        arguments[count] = arena_format(report->arena, "%s=%s", values[i].option, values[i].value);
        if (!arguments[count++])
            return corun_report(report->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    if (report->quiet)
        arguments[count] = "--quiet";
    return python_become(arguments, report->list);
}

int command_report(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .doc = doc, .help_filter = command_help_filter};
    struct report_options report = {.results = DEFAULT_RESULTS, .cases = 2000};
    enum corun_status status = CORUN_MEMORY;
    report.arena = arena_create();
    report.list = corun_diagnostics_create();
    if (report.arena && report.list) {
        command_parse(&argp, argc, argv, &report);
        status = make_report(&report);
    }
    int exit_status = output_diagnostics(report.list, status);
    if (report.list)
        corun_diagnostics_destroy(report.list);
    arena_destroy(report.arena);
    return exit_status;
}
