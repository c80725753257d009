/*
 * A policy of the user's runs inside this process. When it crashes, or does not come back, there is nothing to return
 * to: this says whose fault it was and ends the process, in the manner of a signal handler, with what is safe in one.
 */
#include "cli/policy_watch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_BETWEEN_LOOKS 1
#define STACK_BYTES 65536

static volatile sig_atomic_t inside;
static volatile time_t since;
static char crashed[160], stuck[160]; /* what is to be said, written beforehand */

static void end(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    _exit(written < 0 ? EXIT_FAILURE : corun_status_exit(CORUN_POLICY));
}

static void on_crash(int number)
{
    if (inside)
        end(crashed);
    signal(number, SIG_DFL); /* ours: as it would have been */
    raise(number);
}

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void on_alarm(int number)
{
    (void)number;
    if (inside && seconds_now() - since > CORUN_POLICY_SECONDS + SECONDS_BETWEEN_LOOKS)
        end(stuck);
}

static void on_call(void *user, bool begins)
{
    (void)user;
    if (begins)
        since = seconds_now();
    inside = begins;
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define CRASHES (sizeof crashes / sizeof crashes[0])
static struct sigaction before[CRASHES]; /* what they led to */

static void set_up(const char *whose, const char *crash, const char *lag)
{
    snprintf(crashed, sizeof crashed, "corun: %.80s %s\n", whose, crash);
    snprintf(stuck, sizeof stuck, "corun: %.80s%s within %d seconds\n", whose, lag ? lag : "", CORUN_POLICY_SECONDS);
    static char other[STACK_BYTES]; /* it may have used up its own */
    sigaltstack(&(stack_t){.ss_sp = other, .ss_size = sizeof other}, NULL);
    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &(struct sigaction){.sa_handler = on_crash, .sa_flags = SA_NODEFER | SA_ONSTACK},
                  &before[i]);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
    struct timeval second = {SECONDS_BETWEEN_LOOKS, 0};
    if (lag)
        setitimer(ITIMER_REAL, &(struct itimerval){second, second}, NULL);
}

void policy_watch(struct corun_case *job)
{
    char whose[160];
    if (!job->policy || corun_policy_find(job->policy->name) == job->policy)
        return;
    snprintf(whose, sizeof whose, "policy %s", job->policy->name);
    set_up(whose, "crashed", ": one call of it did not return");
    job->policy_call = on_call;
}

void policy_watch_loading(const char *where, bool nothing_else)
{
    char whose[160];
    snprintf(whose, sizeof whose, "%s: a policy", where);
    set_up(whose, "crashed while it was loaded", nothing_else ? " was not loaded" : NULL);
    on_call(NULL, true);
}

void policy_watch_loaded(void)
{
    on_call(NULL, false);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    signal(SIGALRM, SIG_DFL);
    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &before[i], NULL);
}
