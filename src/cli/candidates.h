/* SPDX-License-Identifier: MIT */
/* What could stand in place of a word of the command line, for the completion of shells. */
#ifndef CORUN_CLI_CANDIDATES_H
#define CORUN_CLI_CANDIDATES_H

#include <argp.h>
#include <stdbool.h>

/*
 * As argv[1], in place of the options and arguments of a command: it prints what could stand in place of the last word behind, and does
 * nothing else. Every command comes by its table of options in command_perform, which looks for this.
 */
#define CANDIDATES_WANTED "--candidates"

/*
 * Prints what could stand in place of the last of the words of a command with this table, to stdout, a line each: the word, a tab, what
 * it means. A line "@files", "@directories" or "@programs" leaves that to the shell. `rest_is_not_ours` as in struct command. The result
 * is the status of the process.
 */
int candidates_print(const struct argp *argp, bool rest_is_not_ours, int count, char **words);

/* The same for the words behind "corun": the command is one of them. */
int candidates_of_line(int count, char **words);

#endif
