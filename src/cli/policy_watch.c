/* SPDX-License-Identifier: MIT */
/*
 * A policy of the user's runs in the process that simulates. Whatever it does to that process, be it that it crashes, ends it, or never
 * comes back, somebody must be there to say so: before the first shared object is loaded the command splits in two. The child runs
 * the command; the parent does nothing but watch it, hand on the signals that are meant for it, and end as it ends. What the child
 * is about stands in a page that both see, so the parent needs no help of the child, whose memory may be in ruins.
 */
#include "cli/policy_watch.h"

#include "corun/gpu.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WHOSE_BYTES 160u

enum phase {
    OURS,    /* it is not the policy that runs, unless by threads of its own */
    LOADING, /* its constructors */
    CALL,
    ENDING /* destructors, and what it wanted to be called at exit; all that is ours has been done */
};

/* What the child is about. */
struct page {
    _Atomic(enum phase) phase;
    _Atomic(uint64_t) changes; /* of the phase */
    int exit_status;           /* ENDING: with which it is to end */
    char whose[WHOSE_BYTES];   /* "policy NAME", "WHERE: a policy" */
};

static struct page *page; /* NULL: nothing is watched */

static void enter(enum phase phase)
{
    atomic_store(&page->phase, phase);
    atomic_fetch_add(&page->changes, 1);
}

static bool is_crash(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT ||
           number == SIGTRAP || number == SIGSYS;
}

/* What the phase adds to "policy NAME crashed". */
static const char *when(enum phase phase)
{
    static const char *const words[] = {
        [OURS] =
            ", not in one of its calls: by a thread of its own, or by what it wrote over memory that is not its own",
        [LOADING] = " while it was loaded",
        [CALL] = " in one of its calls",
        [ENDING] = " after the run, when it was unloaded"};
    return words[phase];
}

/* In the parent: ends it as the child has ended. */
__attribute__((noreturn)) static void end_like(int status)
{
    enum phase phase = atomic_load(&page->phase);
    page->whose[sizeof page->whose - 1] = 0;
    if (WIFSIGNALED(status) && !is_crash(WTERMSIG(status))) { /* from outside */
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, WTERMSIG(status));
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    } else if (WIFSIGNALED(status)) {
        fprintf(stderr, "corun: %s crashed%s (%s)\n", page->whose, when(phase), strsignal(WTERMSIG(status)));
    } else if (phase != ENDING) {
        fprintf(stderr, "corun: %s ended the process with status %d%s\n", page->whose, WEXITSTATUS(status),
                when(phase));
    } else if (WEXITSTATUS(status) == page->exit_status || WEXITSTATUS(status) == corun_status_exit(CORUN_FILE)) {
        _exit(WEXITSTATUS(status)); /* FILE: not everything arrived at the standard output */
    } else {
        fprintf(stderr, "corun: %s ended the process with status %d instead of %d%s\n", page->whose,
                WEXITSTATUS(status), page->exit_status, when(phase));
    }
    _exit(corun_status_exit(CORUN_POLICY));
}

__attribute__((noreturn)) static void end_stuck(pid_t child, enum phase phase)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (phase == CALL)
        fprintf(stderr, "corun: %s: one call of it did not return within %d seconds\n", page->whose,
                CORUN_POLICY_SECONDS);
    else
        fprintf(stderr, "corun: %s was not %s within %d seconds\n", page->whose,
                phase == LOADING ? "loaded" : "unloaded after the run", CORUN_POLICY_SECONDS);
    _exit(corun_status_exit(CORUN_POLICY));
}

/*
 * In the parent. Seconds are counted here, one by one: while the whole job is stopped at the terminal they do not pass. What the terminal
 * sends, the child gets as well; what somebody sends to this process is handed on.
 */
__attribute__((noreturn)) static void watch(pid_t child, const sigset_t *signals)
{
    uint64_t changes_before = 0;
    for (int seconds = 0, status;;) {
        struct timespec second = {1, 0};
        siginfo_t about;
        int number = sigtimedwait(signals, &about, &second);
        if (number == SIGCHLD) {
            if (waitpid(child, &status, WNOHANG) == child)
                end_like(status);
        } else if (number > 0) {
            if (about.si_code <= 0)
                kill(child, number);
        } else if (errno == EAGAIN) {
            enum phase phase = atomic_load(&page->phase);
            uint64_t changes = atomic_load(&page->changes);
            bool is_ours = phase == OURS;
            seconds = is_ours || changes != changes_before ? 0 : seconds + 1;
            changes_before = changes;
            if (seconds > CORUN_POLICY_SECONDS)
                end_stuck(child, phase);
        }
    }
}

/* A debugger wants to see the policy in the process that it has started. */
static bool is_traced(void)
{
    char line[128];
    int tracer = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "TracerPid: %d", &tracer) == 1)
            break;
    }
    if (file)
        fclose(file);
    return tracer != 0;
}

/* Comes back in the child. */
static void split(void)
{
    static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t signals, before;
    void *shared = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++)
        sigaddset(&signals, handed_on[i]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &signals, &before);
    fflush(NULL);
    pid_t parent = getpid(), child = shared == MAP_FAILED ? -1 : fork();
    if (child < 0) {
        fprintf(stderr, "corun: no process can be started for the policy: %s\n", strerror(errno));
        exit(corun_status_exit(CORUN_MEMORY));
    }
    page = shared;
    if (child > 0)
        watch(child, &signals);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would say how it ended */
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void policy_watch_loading(const char *where)
{
    if (!page && !is_traced())
        split();
    if (!page)
        return;
    snprintf(page->whose, sizeof page->whose, "%.120s: a policy", where);
    enter(LOADING);
}

void policy_watch_loaded(void)
{
    if (page)
        enter(OURS);
}

static void on_call(void *user, bool begins)
{
    (void)user;
    enter(begins ? CALL : OURS);
}

policy_call *policy_watch_calls(const struct corun_policy *policy)
{
    if (!page || !policy || corun_policy_find(policy->name) == policy)
        return NULL;
    snprintf(page->whose, sizeof page->whose, "policy %.80s", policy->name);
    return on_call;
}

void policy_watch(struct corun_case *job)
{
    policy_call *call = policy_watch_calls(job->policy);
    if (call)
        job->policy_call = call;
}

void policy_watch_end(int exit_status)
{
    if (!page)
        return;
    fflush(stdout); /* what fails here fails again at the end, and is said there */
    page->exit_status = exit_status;
    enter(ENDING);
}
