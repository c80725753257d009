/* SPDX-License-Identifier: MIT */
/*
 * The governor: what stands between a policy and a machine (include/corun/machine.h). It owns the view, the allowances, the policy's
 * parameters and state, and the goals of the applications; it calls the policy at its moments, inside a guard, and checks what the policy
 * wrote before the machine hears of it. It depends on no machine: the simulated GPU is one (src/gpu/governed_gpu.c).
 *
 *     governor_create → governor_add (each application) → governor_set_policy → governor_open → { governor_moment, … } → governor_stop
 *
 * Where applications come and go: governor_seat, ARRIVE …, LEAVE, governor_unseat, and the next one can be seated there.
 *
 * One epoch: the machine says governor_epoch; the governor reads counts, works out rates and differences, fills the view, calls `decide`, looks at
 * its guards, checks the allowances, gives them to the machine (obey), and follows every limit (held, follow_limit).
 *
 * Nothing is kept outside the handle. Calls for one governor come one at a time; it calls the machine back on the caller's thread.
 */
#ifndef CORUN_GOVERN_GOVERNOR_H
#define CORUN_GOVERN_GOVERNOR_H

#include "base/archive.h"
#include "corun/machine.h"

struct governor;

/* What is known of an application beforehand. Texts and tables are the caller's and live as long as the governor. */
struct governor_application {
    const char *name;
    enum corun_goal_kind goal;
    double goal_value, goal_ipc; /* goal_ipc 0: it follows from the value, if that is possible, else it is not known */
    double isolated_ipc;         /* 0: not known */
    uint64_t run_progress;       /* of one run, in the machine's unit: makes a goal of a time; 0: not known */
    const double *speedup;
    uint32_t speedup_count;
    const struct corun_launch_view *run_launches;
    uint32_t run_launch_count;
};

struct governor_limits {
    uint64_t window;       /* in the machine's clock; 0: not limited */
    uint32_t applications; /* slots: no fewer than were added; 0: as many */
    double seconds;        /* of the host, that a call of the policy may take; 0: CORUN_POLICY_SECONDS */
    void (*policy_call)(void *user, bool begins); /* before and after each; may be NULL */
    void *user;
};

struct governor *governor_create(const struct corun_machine *machine); /* copies it; NULL when out of memory */
void governor_destroy(struct governor *governor);                      /* stops the policy if nobody has */

/* Applications are numbered in order: 0, 1, … LIMIT above CORUN_MAX_APPLICATIONS; ARGUMENT once it is open. */
enum corun_status governor_add(struct governor *governor, const struct governor_application *application);
/*
 * Once it is open: an application that is yet to arrive takes a slot that nobody has. Of who had it before nothing remains: no goal, rate, best
 * epoch, mark; its entries of the allowances are as `start` left them. ARGUMENT: it is not open, or there is no such slot.
 */
enum corun_status governor_seat(struct governor *governor, uint32_t slot,
                                const struct governor_application *application);
/*
 * Without a policy: an application that has been seated may be on so many SMs from `first_sm` on, and on no other, until it is unseated. ARGUMENT: there is
 * a policy, or it is not open, or there are no such SMs.
 */
enum corun_status governor_confine(struct governor *governor, uint32_t slot, uint32_t first_sm, uint32_t sm_count);
/* It has left, and what was told of it beforehand (speed-ups, launches) may go; its name stays in use until the slot is taken again. */
void governor_unseat(struct governor *governor, uint32_t slot);
/*
 * As corun_gpu_set_goal says, at any time. In addition a time is a goal without `ipc` where run_progress is known, and a value in instructions
 * per cycle only on a machine that counts both.
 */
enum corun_status governor_set_goal(struct governor *governor, uint32_t application, enum corun_goal_kind kind,
                                    double value, double ipc, struct corun_diagnostics *list);
/*
 * `parameters` has parameter_count values (NULL: the initial ones). POLICY, with the names: it is of another version, needs what the machine
 * cannot do, or observes what the machine cannot tell. ARGUMENT: a parameter is out of its range.
 */
enum corun_status governor_set_policy(struct governor *governor, const struct corun_policy *policy,
                                      const double *parameters, struct corun_diagnostics *list);
/*
 * Once it is open: another policy, or none (NULL), takes over at time `now`, between two moments. The new one starts on allowances as a machine begins
 * with, and is told of every application that is there (ARRIVE), and of what it runs (KERNEL_START). Parameters and errors as for
 * governor_set_policy; also POLICY: its start refuses. After an error the old policy goes on, and nothing has changed; unless the error is what
 * the old one did at its end or the new one after its start: then the run is over, as after any moment.
 */
enum corun_status governor_change_policy(struct governor *governor, uint64_t now, const struct corun_policy *policy,
                                         const double *parameters, struct corun_diagnostics *list);
const struct corun_policy *governor_policy(const struct governor *governor); /* NULL: none */

/* Makes the tables and starts the policy at time `now`. The list stays in use until governor_stop. ARGUMENT: more were added than it has slots. */
enum corun_status governor_open(struct governor *governor, uint64_t now, const struct governor_limits *limits,
                                struct corun_diagnostics *list);
/* The end of the policy. POLICY if it does then what it must not; the list is not used any more. */
enum corun_status governor_stop(struct governor *governor);

/* Constant addresses from governor_open on; without a policy nothing is limited. NULL before. */
const struct corun_allowances *governor_allowances(const struct governor *governor);

/*
 * It is `now`, and this has happened: the policy decides. Without a policy nothing follows. Events of thread blocks and epochs come through the
 * calls below. MEMORY, or POLICY with a message; then the run is over.
 */
enum corun_status governor_moment(struct governor *governor, uint64_t now, enum corun_policy_event event, uint32_t sm,
                                  uint32_t application);
/* An application has one thread block less on an SM: `completed`, or taken away. TB_COMPLETE, then LIMIT_REACHED. */
enum corun_status governor_tb_left(struct governor *governor, uint64_t now, uint32_t sm, uint32_t application,
                                   bool completed);
/* The epoch that governor_next_epoch named has ended. */
enum corun_status governor_epoch(struct governor *governor, uint64_t now);
uint64_t governor_next_epoch(const struct governor *governor);
/* Nothing has happened up to `now`: epochs that end until then are left out. */
void governor_skip_epochs(struct governor *governor, uint64_t now);

/*
 * Once it is open: to a checkpoint or from it, with the state of the policy, which has to be bytes without pointers. The same applications, policy
 * and limits are there.
 */
void governor_archive(struct corun_archive *archive, struct governor *governor);

double governor_goal_ipc(const struct governor *governor, uint32_t application); /* 0: none, or not known */
/* Of the epochs that the application began and ended in; 0: none. */
double governor_best_epoch_ipc(const struct governor *governor, uint32_t application);
bool governor_out_of_reach(const struct governor *governor, uint32_t application);

/* "policy NAME at cycle N: …" into the list; returns POLICY. For what the machine finds impossible when it obeys. */
__attribute__((format(printf, 2, 3))) enum corun_status governor_refuse(struct governor *governor, const char *format,
                                                                        ...);

#endif
