/* What the files of the command line share. */
#ifndef CORUN_CLI_COMMAND_H
#define CORUN_CLI_COMMAND_H

#include "corun/status.h"
#include "report/columns.h"

#include <argp.h>
#include <stdio.h>

/* The subcommands: C(name, summary). Each has a file with a function command_NAME. */
#define CORUN_COMMANDS(C) \
    C(run, "several applications share one simulated GPU") \
    C(launch, "one kernel of any PTX file") \
    C(exec, "a CUDA program that nobody changed") \
    C(capture, "a CUDA program as a workload, in a file") \
    C(characterize, "what limits a workload: its speed over SMs and clocks, and its class") \
    C(campaign, "many cases from one description, resumable") \
    C(search, "the best or the worst split of the SMs, or the fewest for a goal, by trying many") \
    C(query, "ask the results of campaigns in SQL") \
    C(merge, "several results files of campaigns become one") \
    C(report, "the results of campaigns as tables, figures, CSV and JSON") \
    C(reproduce, "a figure or a table of a paper again, beside its own numbers") \
    C(check, "read a PTX file and tell what is in it") \
    C(export, "a workload as files, to run it somewhere else") \
    C(list, "GPUs, their parameters, workloads, policies, counters") \
    C(version, "versions of the command, the model and the contracts") \
    C(help, "this text, or that of a command")

/* Used where the command line names no other. */
#define DEFAULT_GPU "gtx980"
#define DEFAULT_RESULTS "corun-results.db"

/* The longest path that the command makes, with its end. */
#define PATH_BYTES 4096u

/* The process status after a run that was ended by SIGINT, as shells have it. */
#define EXIT_INTERRUPTED 130

/* argv[0] is "corun NAME"; the result is the status of the process. */
#define CORUN_COMMAND_FUNCTION(name, summary) int command_##name(int argc, char **argv);
CORUN_COMMANDS(CORUN_COMMAND_FUNCTION)
#undef CORUN_COMMAND_FUNCTION

/* Parses options; wrong ones end the process with the status of USAGE, --help with 0. */
void command_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same where the first argument ends our options: what follows is not ours. */
void command_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);
/* Options are parsed one after the other: *first becomes the first of their statuses that is not OK. */
void command_keep(enum corun_status *first, enum corun_status status);
/* For struct argp.help_filter: ends a help text with the list of exit statuses. */
char *command_help_filter(int key, const char *text, void *input);
/* The list of exit statuses, one per line. */
void command_print_statuses(FILE *stream);

/* Prints errors and warnings to stderr as FILE:LINE:COLUMN: text. Returns the exit status for `status`. */
int output_diagnostics(const struct corun_diagnostics *list, enum corun_status status);
/* How reports to `stream` are written: colours and lines only on a terminal that can show them. */
struct report_style output_style(FILE *stream);
/* Checks at the end of the process that everything arrived at stdout: else status FILE. */
void output_guard(void);
/*
 * Where results are cached: the folder given, else the user's, written to `room`; NULL if none is wanted or there is
 * none.
 */
const char *command_cache(const char *given, bool none, char *room, size_t bytes);

/* Opens a file for a report; "-" is stdout. NULL after a report. */
FILE *output_open(const char *path, struct corun_diagnostics *list);
/* Closes it, unless it is stdout. FILE if not everything could be written. */
enum corun_status output_close(FILE *file, const char *path, struct corun_diagnostics *list);

/* A line on stderr about how far a long run is, and SIGINT, which ends the run instead of the process. */
struct progress;
struct progress *progress_begin(bool quiet); /* NULL when out of memory: then there is neither */
/* Shows a line, now and then. False when the run is to end. Not for two threads at once. */
bool progress_step(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a simulation; `limit` is 0 if not known. */
bool progress_cycles(struct progress *progress, const char *stage, uint64_t cycle, uint64_t limit);
/* A message that stays, beside the line. */
void progress_message(struct progress *progress, const char *text);
void progress_end(struct progress *progress);

#endif
