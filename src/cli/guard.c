/* SPDX-License-Identifier: MIT */
/* The guard: starts the program, takes over its orphans, passes signals on, and ends all of them when it is time. */
#include "cli/guard.h"

#include "base/process_stat.h"
#include "base/vector.h"
#include "cli/program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUR_END SIGUSR1  /* what the kernel sends the guard when we end; from us: everything is to end at once */
#define NO_MORE SIGUSR2  /* from us: there is nothing to be guarded any more */
#define GRACE_SECONDS 2  /* that what was told to end has, when the program itself has ended or its time is over */
#define STOP_SECONDS 0.5 /* that what was told to stop has to do so */
#define CANNOT_START 127

static const int held_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

void guard_begin(struct guard *guard)
{
    sigemptyset(&guard->held);
    for (size_t i = 0; i < sizeof held_signals / sizeof *held_signals; i++) {
        struct sigaction now;
        if (!sigaction(held_signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(&guard->held, held_signals[i]);
    }
    sigaddset(&guard->held, SIGCHLD);
    sigprocmask(SIG_BLOCK, &guard->held, &guard->before);
    /* Whoever ignores the ends of children has none to wait for. */
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &standard, &guard->child_before);
}

static void let_go(struct guard *guard)
{
    if (!guard->process)
        return;
    kill(guard->process, NO_MORE);
    while (waitpid(guard->process, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->process = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

void guard_end(struct guard *guard)
{
    let_go(guard);
    sigaction(SIGCHLD, &guard->child_before, NULL);
    sigprocmask(SIG_SETMASK, &guard->before, NULL);
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What a wait that ends at `until` may still take; -1: for ever. */
static int milliseconds_until(double until)
{
    double left = (until - clock_seconds()) * 1000;
    if (until == INFINITY)
        return -1;
    return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left + 1;
}

/* The next of the blocked signals that come to `signals`; 0 if none has come in that time. */
static int next_signal(int signals, double until)
{
    struct pollfd ready = {.fd = signals, .events = POLLIN};
    struct signalfd_siginfo information;
    if (poll(&ready, 1, milliseconds_until(until)) <= 0)
        return 0;
    return read(signals, &information, sizeof information) == sizeof information ? (int)information.ssi_signo : 0;
}

struct relative {
    pid_t process, parent;
    bool below; /* a child of ours, or of one of those */
};
struct relatives {
    VECTOR(struct relative) list;
};

/* Of a process; nobody's and Z if there is no such process any more. */
static struct process_stat standing_of(pid_t process)
{
    struct process_stat stat;
    return process_stat_read(process, PROCESS_WHOLE, &stat) ? stat : (struct process_stat){.state = 'Z'};
}

/* Stops what is below this process and has not been: true if there was anything. */
static bool stop_more(struct relatives *stopped)
{
    struct relatives all = {0};
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0])) {
            pid_t process = (pid_t)atol(entry->d_name);
            (void)vector_push(&all.list, ((struct relative){process, standing_of(process).parent, false}));
        }
    if (folder)
        closedir(folder);
    pid_t self = getpid();
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all.list.count; i++) {
            struct relative *one = &all.list.data[i];
            bool below = one->parent == self;
            for (size_t k = 0; k < all.list.count && !below; k++)
                below = all.list.data[k].below && all.list.data[k].process == one->parent;
            more |= below && !one->below;
            one->below = below;
        }
    }
    bool any = false;
    for (size_t i = 0; i < all.list.count; i++) {
        bool known = !all.list.data[i].below;
        for (size_t k = 0; k < stopped->list.count && !known; k++)
            known = stopped->list.data[k].process == all.list.data[i].process;
        if (!known && !kill(all.list.data[i].process, SIGSTOP) && vector_push(&stopped->list, all.list.data[i]))
            any = true;
    }
    vector_free(&all.list);
    return any;
}

/* Whether what was told to stop has stopped, or ended. */
static bool all_stand(const struct relatives *stopped)
{
    for (size_t i = 0; i < stopped->list.count; i++)
        if (!strchr("TtZXx", standing_of(stopped->list.data[i].process).state))
            return false;
    return true;
}

/*
 * To everything below this process. What has stopped starts nothing that could be missed, so they all are stopped first.
 * One that is in a fork when it is told to stop completes the fork before it does, and nobody has told its child: so we
 * look once more when all stand. One that waits for its vfork cannot stand: it starts nothing either, and is not waited
 * for longer than STOP_SECONDS. What they start because of the signal does not get it.
 */
static void signal_all(int signal)
{
    struct relatives stopped = {0};
    double until = clock_seconds() + STOP_SECONDS;
    bool stood;
    do {
        stood = all_stand(&stopped) || clock_seconds() >= until;
        if (!stood)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    } while (stop_more(&stopped) || !stood);
    for (size_t i = 0; i < stopped.list.count; i++) {
        kill(stopped.list.data[i].process, signal);
        kill(stopped.list.data[i].process, SIGCONT);
    }
    vector_free(&stopped.list);
}

/* Of the guard: the program, and whether it has ended. */
struct watch {
    pid_t program;
    bool ended;
    int status;
};

/* As waitpid: -1 if there is no child, and 0 with WNOHANG if none has ended. */
static pid_t reap(struct watch *watch, int flags)
{
    int status;
    pid_t one = waitpid(-1, &status, flags);
    if (one > 0 && one == watch->program) {
        watch->ended = true;
        watch->status = status;
    }
    return one;
}

/* What ends leaves its children to us: until there are none. */
static void end_all(struct watch *watch)
{
    do
        signal_all(SIGKILL);
    while (reap(watch, 0) > 0);
}

static _Noreturn void start_program(const struct guard *guard, pid_t parent, int failure)
{
    int problem = ECHILD;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) { /* as below */
        sigaction(SIGCHLD, &guard->child_before, NULL);
        sigprocmask(SIG_SETMASK, &guard->before, NULL);
        problem = guard->become(guard->user);
    }
    (void)!write(failure, &problem, sizeof problem);
    _exit(CANNOT_START);
}

/* Waits for the end of the program, or of everything; `terminating`: what is left of it is ended, too. */
static void watch_over(struct watch *watch, int signals, bool terminating)
{
    double until = INFINITY;
    for (;;) {
        pid_t one;
        while ((one = reap(watch, WNOHANG)) > 0)
            ;
        if (watch->ended && (one < 0 || !terminating))
            return;
        if (watch->ended && until == INFINITY)
            until = clock_seconds() + GRACE_SECONDS;
        int signal = next_signal(signals, until);
        if (signal == SIGTERM || signal == SIGHUP) {
            terminating |= signal == SIGTERM; /* who ignores a hangup is meant to stay */
            signal_all(signal);
        } else if (signal != SIGCHLD) {
            end_all(watch);
            return;
        }
    }
}

/*
 * The guard: all of its life.
 *
 * The program stays in the caller's process group, and the guard leaves for a session of its own. A guard in another group of the same session
 * would be what keeps the caller's group from being orphaned (under cron, nohup, CI). Where a group becomes orphaned while a process of the
 * group is stopped, the kernel sends SIGHUP to the whole group, to the caller, too; and a guard that is killed, or has ended the program, would
 * make the group so.
 */
static _Noreturn void stand(const struct guard *guard, pid_t parent, int failure, int report)
{
    sigset_t all;
    struct watch watch = {0};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, "guard");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, OUR_END);
    pid_t self = getpid();
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigaddset(&all, OUR_END);
    sigaddset(&all, NO_MORE);
    int signals = signalfd(-1, &all, SFD_CLOEXEC);
    bool wanted = signals >= 0 && getppid() == parent; /* it has not ended before we asked to be told */
    watch.program = wanted ? fork() : -1;
    if (watch.program == 0)
        start_program(guard, self, failure);
    setsid();
    if (watch.program < 0) {
        int problem = errno;
        (void)!write(failure, &problem, sizeof problem);
    }
    close(failure);
    if (watch.program > 0)
        watch_over(&watch, signals, guard->ends_rest);
    (void)!write(report, &watch.status, sizeof watch.status);
    int signal = 0;
    while (getppid() == parent && signal != NO_MORE)
        signal = next_signal(signals, INFINITY);
    if (getppid() != parent) {
        end_all(&watch); /* the program may have been killed with its parent, and a little earlier */
        if (guard->folder)
            program_folder_remove(guard->folder);
    }
    _exit(0);
}

/* Until the guard reports the program's end: hands on what comes for it. False if the guard was killed. */
static bool wait_for(struct guard *guard, int signals, int report)
{
    double until = guard->wall_seconds > 0 ? clock_seconds() + guard->wall_seconds : INFINITY;
    for (;;) {
        struct pollfd ready[] = {{.fd = report, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        if (poll(ready, 2, milliseconds_until(until)) < 0 && errno != EINTR)
            return false;
        if (ready[0].revents)
            return read(report, &guard->status, sizeof guard->status) == sizeof guard->status;
        if (ready[1].revents) {
            int signal = next_signal(signals, 0);
            if (signal == SIGTERM || signal == SIGHUP)
                kill(guard->process, signal);
        } else if (clock_seconds() >= until && guard->out_of_time) {
            kill(guard->process, OUR_END);
            until = INFINITY;
        } else if (clock_seconds() >= until) {
            guard->out_of_time = true;
            kill(guard->process, SIGTERM);
            until = clock_seconds() + GRACE_SECONDS;
        }
    }
}

/* The three that guard_run needs; false with errno, and none is open. */
static bool open_three(const struct guard *guard, int failure[2], int report[2], int *signals)
{
    *signals = signalfd(-1, &guard->held, SFD_CLOEXEC);
    if (*signals >= 0 && !pipe2(failure, O_CLOEXEC)) {
        if (!pipe2(report, O_CLOEXEC))
            return true;
        close(failure[0]);
        close(failure[1]);
    }
    if (*signals >= 0)
        close(*signals);
    return false;
}

int guard_run(struct guard *guard)
{
    int failure[2], report[2], signals, problem;
    sigset_t pending;
    let_go(guard); /* of the program before */
    sigpending(&pending);
    for (size_t i = 0; i < sizeof held_signals / sizeof *held_signals; i++)
        if (sigismember(&guard->held, held_signals[i]) && sigismember(&pending, held_signals[i]))
            return EINTR; /* guard_end ends us */
    if (!open_three(guard, failure, report, &signals))
        return errno;
    fflush(NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* should the guard be killed, what is below it becomes ours */
    pid_t self = getpid(), process = fork();
    if (process == 0)
        stand(guard, self, failure[1], report[1]);
    problem = process < 0 ? errno : 0;
    close(failure[1]);
    close(report[1]);
    if (process > 0) {
        guard->process = process;
        (void)!read(failure[0], &problem, sizeof problem); /* ends without a word when the program has started */
        if (!wait_for(guard, signals, report[0])) {
            struct watch left = {0};
            guard->status = SIGKILL; /* as the program, whose parent was killed */
            end_all(&left);
            guard->process = 0;
        }
    }
    close(failure[0]);
    close(report[0]);
    close(signals);
    return problem;
}
