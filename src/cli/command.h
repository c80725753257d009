/* SPDX-License-Identifier: MIT */
/* What the files of the command line share. */
#ifndef CORUN_CLI_COMMAND_H
#define CORUN_CLI_COMMAND_H

#include "corun/module.h"
#include "report/columns.h"

#include <argp.h>
#include <stdio.h>

/* The subcommands: C(name, summary). Each has a file with a function command_NAME. */
#define CORUN_COMMANDS(C) \
    C(run, "several applications share one simulated GPU") \
    C(launch, "one kernel of any PTX file") \
    C(exec, "a CUDA program that nobody changed") \
    C(daemon, "one simulated GPU for several CUDA programs, also called corund") \
    C(share, "a CUDA program on the GPU that corund has, beside others") \
    C(ps, "the programs that share the GPU of corund") \
    C(top, "the same again and again, with SMs over time") \
    C(goal, "another goal for a program under corund") \
    C(policy, "another policy for the programs under corund") \
    C(host, "services and batch programs share the cores of a server") \
    C(split, "a program divides its work between CPU and GPU, in several ways") \
    C(queue, "kernels of many users on one GPU, in slices, by a scheduler") \
    C(cc, "compile CUDA C with clang alone, for `exec` and `launch`") \
    C(capture, "a CUDA program as a workload, in a file") \
    C(characterize, "what limits a workload: its speed over SMs and clocks, its class") \
    C(predict, "an analytical model of workloads, beside what is measured") \
    C(campaign, "many cases from one description, resumable") \
    C(search, "the best or worst split of the SMs, or the fewest for a goal") \
    C(query, "ask the results of campaigns in SQL") \
    C(merge, "several results files of campaigns become one") \
    C(report, "the results of campaigns as tables, figures, CSV and JSON") \
    C(reproduce, "a figure or a table of a paper again, beside its own numbers") \
    C(check, "read a PTX file and tell what is in it") \
    C(rewrite, "kernels of a PTX file so that their launches can be taken apart") \
    C(export, "a workload as files, to run it somewhere else") \
    C(config, "a GPU description of another simulator as one of ours") \
    C(list, "GPUs, their parameters, workloads, policies, counters") \
    C(completion, "a script with which a shell completes command lines") \
    C(version, "versions of the command, the model and the contracts") \
    C(help, "this text, or that of a command")

/* Used where the command line names no other. */
#define DEFAULT_GPU "gtx980"
#define DEFAULT_RESULTS "corun-results.db" /* of campaigns, and what is asked about */
/* Searches and experiments try what nobody wants among the averages of a campaign. */
#define DEFAULT_SEARCH_RESULTS "corun-search.db"
#define DEFAULT_REPRODUCE_RESULTS "corun-reproduce.db"

/* What CORUN_NO_POLICY is, in lists of policies. */
#define NO_POLICY_MEANING "every SM takes what fits, in the order of arrival (no policy)"

/* The longest path that the command makes, with its end. */
#define PATH_BYTES 4096u

/* The process status after a run that was ended by SIGINT, as shells have it. */
#define EXIT_INTERRUPTED 130

/* argv[0] is "corun NAME"; the result is the status of the process. */
#define CORUN_COMMAND_FUNCTION(name, summary) int command_##name(int argc, char **argv);
CORUN_COMMANDS(CORUN_COMMAND_FUNCTION)
#undef CORUN_COMMAND_FUNCTION
/* The same by its name; USAGE after a message if there is none of that name. argv[0] becomes its title. */
int command_dispatch(const char *name, int argc, char **argv);

/* What every command has, from its options to its end. */
struct command {
    struct arena *arena;
    struct corun_diagnostics *list;
    enum corun_status status; /* of the first option that could not be used */
    bool rest_is_not_ours;    /* the first argument ends our options */
    int exit_status;          /* of the process, unless there is an error of ours */
};

/*
 * Parses the options into `options` and, unless one of them could not be used, does the work; then prints what was wrong
 * and gives arena and list back. The result is the status of the process. Wrong command lines end the process with the
 * status of USAGE, --help with 0.
 */
int command_perform(struct command *command, const struct argp *argp, int argc, char **argv,
                    enum corun_status (*work)(void *options), void *options);
/* Options are parsed one after the other: the first status that is not OK stays. */
void command_keep(struct command *command, enum corun_status status);
/* The value of an option as a whole number in that range; with K, M and G, which are powers of `kilo`. */
void command_number(struct command *command, const char *option, const char *value, uint64_t kilo, uint64_t lowest,
                    uint64_t highest, uint64_t *number);
/* The same from 1 on. */
void command_count(struct command *command, const char *option, const char *value, uint32_t highest, uint32_t *number);

/* --check: names of checks; *checks is their mask (enum corun_check). */
#define COMMAND_CHECK_ROW(name, text, meaning) text " (" meaning "), "
#define COMMAND_SAMPLE_TEXT \
    "time a few launches of each kernel, and a few thread blocks of long launches; the rest is carried out without " \
    "timing, and its cycles " \
    "are estimated with an interval (docs/sampling.md) [error=2%,every=128]"
#define COMMAND_CHECK_TEXT \
    "stop kernels at mistakes that a GPU may let pass: " CORUN_CHECKS(COMMAND_CHECK_ROW) "with commas between them"
void command_checks(struct command *command, const char *value, uint32_t *checks);

/* The name of a file or folder that an option gives; an empty one ends the process. */
const char *command_name(const char *option, const char *value, struct argp_state *state);
/* Whether there is such a file to be read, and no folder. NOT_FOUND, FILE. */
enum corun_status command_existing(const char *path, struct corun_diagnostics *list);
/* The path of this command, for those that start it again. FILE */
enum corun_status command_program(char *path, size_t bytes, struct corun_diagnostics *list);

/* "did you mean `NAME`?" with the nearest of the names, else `otherwise`; in `room`. */
const char *command_hint(const char *word, const char *const *names, size_t count, const char *otherwise, char *room,
                         size_t bytes);

/* Where results are cached, and records of runs kept, as the options below say. */
struct cache_options {
    const char *folder;
    bool none;
    const char *replay; /* NULL: workloads are executed */
    char room[PATH_BYTES];
};
enum { KEY_CACHE = 0x1000, KEY_NO_CACHE, KEY_REPLAY };
#define CACHE_OPTIONS(group) \
    {"cache", KEY_CACHE, "DIR", 0, "where isolated runs are kept [~/.cache/corun]", group}, \
    { \
        "no-cache", KEY_NO_CACHE, NULL, 0, "compute isolated runs anew and keep none", group \
    }
/* For those who run campaigns, beside these. */
#define REPLAY_OPTION(group) \
    { \
        "replay", KEY_REPLAY, "DIR", 0, \
            "execute each workload once, keep a record in DIR, and simulate all cases from records; the results do " \
            "not " \
            "depend on it (docs/replay.md)", \
            group \
    }
/* For the end of a parser: ARGP_ERR_UNKNOWN if it is none of them. */
error_t cache_option(int key, const char *value, struct argp_state *state, struct cache_options *cache);
/* The folder given, else the user's; NULL if none is wanted or there is none. */
const char *cache_folder(struct cache_options *cache);

/* Where cases that run keep their states, for commands that run campaigns. */
struct checkpoint_options {
    const char *folder, *every; /* as they were given; NULL: not */
    double seconds;             /* between two */
};
enum { KEY_CHECKPOINTS = 0x1010, KEY_CHECKPOINTS_EVERY };
#define CHECKPOINT_OPTIONS(group) \
    {"checkpoints", \
     KEY_CHECKPOINTS, \
     "DIR", \
     0, \
     "keep the state of each case that runs in DIR: one that is killed goes on from there when the command is " \
     "started " \
     "again (docs/checkpoints.md)", \
     group}, \
    { \
        "checkpoint-every", KEY_CHECKPOINTS_EVERY, "DURATION", 0, \
            "time between two states of a case, as 90s, 30m or 1h [60s]", group \
    }
/* The same as cache_option; `seconds` is set with the folder. With ARGP_KEY_END it looks whether both fit. */
error_t checkpoint_option(int key, const char *value, struct argp_state *state, struct checkpoint_options *options);

/* For struct argp.help_filter: ends a help text with the list of exit statuses. */
char *command_help_filter(int key, const char *text, void *input);

/* Prints errors and warnings to stderr as FILE:LINE:COLUMN: text. Returns the exit status for `status`. */
int output_diagnostics(const struct corun_diagnostics *list, enum corun_status status);
/* How reports to `stream` are written: colours and lines only on a terminal that can show them. */
struct report_style output_style(FILE *stream);
/* Checks at the end of the process that everything arrived at stdout: else status FILE. */
void output_guard(void);
/*
 * A file that an option names; "-" is stdout. A regular file that is there is replaced when the new one is whole, and stays as it is
 * until then. One that looks like an input of ours, or like a program, is not replaced at all.
 */
struct output {
    const char *option, *path; /* path: NULL if it is not asked for */
    const char *ending; /* of files that it makes and may replace, although inputs end in it as well; NULL: none */
    bool
        stays; /* not written anew: what is at its place is opened for reading and writing, and whoever writes cuts it back */
    bool later; /* others open it when there is something to write */
    FILE *file;
    char *target; /* where a file without a name goes in the end; NULL: it has its name already */
};
/* USAGE if a name is empty, two are the same file (both "-" or by way of links), or one is not to be replaced. */
enum corun_status outputs_check(const struct output *outputs, size_t count, struct corun_diagnostics *list);
/* USAGE if one of them is the file that this word of the command line names, perhaps with more behind an @ or a colon. */
enum corun_status outputs_spare(const struct output *outputs, size_t count, const char *word,
                                struct corun_diagnostics *list);
/*
 * The same as outputs_check, and opens them all: before the work, so that one that cannot be written does not cost its time. After an
 * error none is open.
 */
enum corun_status outputs_open(struct output *outputs, size_t count, struct corun_diagnostics *list);
/*
 * Closes what is open, stdout excepted, and puts it in its place, unless nothing was written because of an error. `status`,
 * or FILE if that is OK and not everything could be written.
 */
enum corun_status outputs_close(struct output *outputs, size_t count, enum corun_status status,
                                struct corun_diagnostics *list);

/* A line on stderr about how far a long run is, and SIGINT, which ends the run instead of the process. */
struct progress;
struct progress *progress_begin(bool quiet); /* NULL when out of memory: then there is neither */
/* Shows a line, now and then. False when the run is to end. Not for two threads at once. */
bool progress_step(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a simulation; `limit` is 0 if not known. */
bool progress_cycles(struct progress *progress, const char *stage, uint64_t cycle, uint64_t limit);
/* The same for a case, with the time that is left. */
struct corun_case_progress;
bool progress_case(struct progress *progress, const struct corun_case_progress *now);
/* The same for a campaign of that name; unless `quiet`, also why a case failed. */
struct corun_campaign_progress;
bool progress_campaign(struct progress *progress, const char *name, bool quiet,
                       const struct corun_campaign_progress *now);
/* "3 h 05 min", "2 min 10 s", in `text`. */
const char *progress_duration(double seconds, char *text, size_t bytes);
void progress_end(struct progress *progress);

#endif
