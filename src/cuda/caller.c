/* SPDX-License-Identifier: MIT */
/* The thread that calls functions of the program, and how long others wait for it. */
#include "cuda/caller.h"

#include "cuda/idle.h"
#include "cuda/process.h"
#include "cuda/program_threads.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Between two looks whether a function stands: the first ones follow soon. */
#define FIRST_LOOK_MICROSECONDS 500u
#define LAST_LOOK_MICROSECONDS 16000u

void caller_release(struct called *called)
{
    if (!--called->references)
        free(called);
}

bool caller_is_busy(const struct process *process)
{
    return process->caller.first || process->caller.runs;
}

static void call(const struct callee *callee)
{
    if (callee->function)
        callee->function(callee->user);
    else
        callee->callback(callee->stream, callee->error, callee->user);
}

/* The first of the line, which is not empty. */
static void call_next(struct process *process)
{
    struct caller *caller = &process->caller;
    struct called *called = caller->first;
    caller->first = called->next;
    if (!caller->first)
        caller->last = NULL;
    if (!called->dropped) {
        called->begun = caller->runs = true;
        caller->calls++;
        caller->stands = caller->given_up = false;
        pthread_mutex_unlock(&process->lock);
        call(&called->callee);
        process->calls_wanting++;
        pthread_mutex_lock(&process->lock);
        process->calls_wanting--;
        called->ended = true;
        caller->runs = caller->stands = caller->given_up = false;
    }
    pthread_cond_broadcast(&caller->ended);
    caller_release(called);
}

static void *call_all(void *user)
{
    struct process *process = user;
    struct caller *caller = &process->caller;
    thread_get()->calls_functions = true;
    pthread_mutex_lock(&process->lock);
    caller->thread = gettid();
    for (;;) {
        while (!caller->first || process->ended)
            pthread_cond_wait(&caller->wanted, &process->lock);
        call_next(process);
    }
    return NULL;
}

/* Signals are for the threads of the program, but those of a thread's own mistakes. */
static bool make_thread(struct process *process)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    pthread_t thread;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    bool made = pthread_create(&thread, NULL, call_all, process) == 0;
    if (made)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

struct called *caller_create(struct process *process, const struct callee *callee)
{
    struct caller *caller = &process->caller;
    struct called *called = calloc(1, sizeof *called);
    if (called && !caller->made)
        caller->made = make_thread(process);
    if (!called || !caller->made) {
        free(called);
        return NULL;
    }
    *called = (struct called){.callee = *callee, .references = 1};
    return called;
}

void caller_ask(struct process *process, struct called *called)
{
    struct caller *caller = &process->caller;
    called->references++;
    if (caller->last)
        caller->last->next = called;
    else
        caller->first = called;
    caller->last = called;
    pthread_cond_signal(&caller->wanted);
}

void caller_owe(struct process *process, struct called *called)
{
    struct caller *caller = &process->caller;
    caller_ask(process, called);
    if (caller->last_owed)
        caller->last_owed->next_owed = called;
    else
        caller->first_owed = called;
    caller->last_owed = called;
}

/* What such a function does is not waited for in itself. It is owed until it is over: several threads may wait for it. */
void caller_wait_owed(struct process *process)
{
    struct caller *caller = &process->caller;
    while (caller->first_owed && !thread_get()->calls_functions) {
        struct called *called = caller->first_owed;
        called->references++;
        (void)caller_wait(process, called);
        if (caller->first_owed == called) {
            caller->first_owed = called->next_owed;
            if (!caller->first_owed)
                caller->last_owed = NULL;
            caller_release(called);
        }
        caller_release(called);
    }
}

void caller_drop(struct process *process, struct called *called)
{
    called->dropped = true;
    pthread_cond_broadcast(&process->caller.ended);
}

/* Returns early when something has ended. */
static void wait_a_while(struct process *process, uint64_t microseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + 1000 * microseconds;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    (void)pthread_cond_timedwait(&process->caller.ended, &process->lock, &until);
}

/* Also of a context that has failed meanwhile, a function that has begun comes to its end. */
static bool is_over(const struct called *called)
{
    return called->ended || (called->dropped && !called->begun);
}

/* Until the call is over, or the function that runs was found to stand. Without the lock the thread does not wait for that. */
static void look_upon(struct process *process, const struct called *called)
{
    struct caller *caller = &process->caller;
    struct program_time time = {0};
    uint64_t look = FIRST_LOOK_MICROSECONDS, given = 0, run = 0;
    bool stood = false;
    (void)program_time_since(&time, 0);
    caller->looked_upon = true;
    while (!is_over(called) && !caller->stands && !caller->given_up) {
        wait_a_while(process, look);
        if (is_over(called))
            break;
        uint64_t before = run;
        uint64_t number = caller->calls;
        pid_t thread = caller->runs ? caller->thread : 0, watcher = process->watcher;
        pthread_mutex_unlock(&process->lock);
        bool stands = thread && program_thread_stands(thread, watcher, &run);
        given += program_time_since(&time, look);
        pthread_mutex_lock(&process->lock);
        if (caller->runs && caller->calls == number) {
            caller->stands = stands && stood && run == before;
            caller->run = run;
            caller->given_up = given >= idle_patience(process);
        }
        stood = stands;
        look = 2 * look < LAST_LOOK_MICROSECONDS ? 2 * look : LAST_LOOK_MICROSECONDS;
    }
    caller->looked_upon = false;
    pthread_cond_broadcast(&caller->ended);
}

/* It stood, and nothing has happened since. */
static bool still_stands(const struct process *process)
{
    const struct caller *caller = &process->caller;
    uint64_t run;
    return caller->given_up ||
           (caller->stands && program_thread_stands(caller->thread, process->watcher, &run) && run == caller->run);
}

bool caller_wait(struct process *process, struct called *called)
{
    struct caller *caller = &process->caller;
    bool stands = !is_over(called) && still_stands(process);
    process->calls_waiting++;
    caller->stands &= stands;
    while (!is_over(called) && !caller->stands && !caller->given_up) {
        if (caller->looked_upon)
            pthread_cond_wait(&caller->ended, &process->lock);
        else
            look_upon(process, called);
    }
    process->calls_waiting--;
    return called->ended;
}
