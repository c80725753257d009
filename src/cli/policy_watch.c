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

void policy_watch(struct corun_case *job)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    if (!job->policy || corun_policy_find(job->policy->name) == job->policy)
        return;
    snprintf(crashed, sizeof crashed, "corun: policy %s crashed\n", job->policy->name);
    snprintf(stuck, sizeof stuck, "corun: policy %s: one call of it did not return within %d seconds\n",
             job->policy->name, CORUN_POLICY_SECONDS);
    stack_t stack = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ}; /* it may have used up its own */
    if (stack.ss_sp)
        sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        sigaction(crashes[i],
                  &(struct sigaction){.sa_handler = on_crash, .sa_flags = SA_NODEFER | (stack.ss_sp ? SA_ONSTACK : 0)},
                  NULL);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
    struct timeval second = {SECONDS_BETWEEN_LOOKS, 0};
    setitimer(ITIMER_REAL, &(struct itimerval){second, second}, NULL);
    job->policy_call = on_call;
}
