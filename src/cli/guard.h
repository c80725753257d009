/* SPDX-License-Identifier: MIT */
/*
 * A program that ends with us, whatever ends us.
 *
 *     corun ──► guard ──► program ──► what the program starts
 *
 * The guard is a process of ours between the two. What the program has started becomes the guard's when its own parent
 * ends, so that nothing gets lost. The guard learns of our end from the kernel, also of one by SIGKILL: then it ends
 * everything below it and takes our folder away, until guard_end lets it go. It is in a process group of its own, so that a signal for all of ours
 * leaves it. The program is in our process group, as without a guard: what a terminal sends (Ctrl-C, Ctrl-Z, a hangup)
 * reaches it directly, and a shell's jobs are what they always are.
 */
#ifndef CORUN_CLI_GUARD_H
#define CORUN_CLI_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct guard {
    int (*become)(const void *user); /* in the program's process: becomes it, or comes back with errno */
    const void *user;
    const char *folder; /* to be taken away, with the files in it, if we are killed; NULL: none */
    bool
        ends_rest; /* what the program has started ends with it, some time later; else it may go on in the background */
    double wall_seconds;   /* the program is ended after that; 0: never */
    int status;            /* of the program, as waitpid gives it */
    bool out_of_time;      /* it was ended because of wall_seconds */
    pid_t process;         /* the guard, until guard_end; 0: none */
    sigset_t held, before; /* guard_begin */
    struct sigaction child_before;
};

/*
 * From here on SIGTERM, SIGHUP, SIGINT and SIGQUIT wait, unless they are ignored anyway, so that what is made for a
 * program can be taken away. guard_end lets them in: one that has come meanwhile, and was not for the program, ends us.
 */
void guard_begin(struct guard *guard);
void guard_end(struct guard *guard);
/*
 * Starts the program and waits for its end; one may follow the other. 0, or the error because of which it could not be started. SIGTERM and SIGHUP
 * are handed on to it and to all that it has started; what is left of that some time after the program has ended because
 * of a SIGTERM is ended, too. SIGINT and SIGQUIT come from a terminal, which sends them to the program as well: it decides.
 */
int guard_run(struct guard *guard);

#endif
