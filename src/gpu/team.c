/* SPDX-License-Identifier: MIT */
/*
 * Host threads that advance SMs side by side, then channels. Which thread takes which index does not matter to the result, since SMs and
 * channels touch nothing that they share during a round. It matters to speed: what an SM needs is in the caches of the core that advanced the
 * SM last. Therefore a thread has a range of indices of its own, the same ones in each round, and takes others' when its own are done.
 *
 * Nobody waits for a thread that has not come: where the host's cores are taken by other processes, the others do its part. The caller
 * waits for indices that have been taken and are not done yet. A thread that comes late finds the parts of another round, and takes nothing.
 *
 *     caller    parts of round 7 ──► own part, then others' ──► all done ──► parts of round 8 ──► …
 *     helper    spins ─ sees 7 ─ own part, then others' ─ spins ─────────── sees 8 …
 *     helper    (no core) ─────────────────────────────────────────── sees 7, finds parts of 8: takes nothing, sees 8 …
 *
 * A round is short (some ten microseconds), so that waiting threads spin for a while before they sleep.
 */
#include "gpu/team.h"

#include "gpu/cache_lines.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define SPINS 20000u

/* A thread's part: nothing else is in its cache lines. */
struct part {
    _Alignas(HOST_LINE_BYTES) _Atomic uint64_t rest; /* indices to be taken, and of which round: see `rest_of` */
    _Alignas(HOST_LINE_BYTES) _Atomic uint64_t done; /* how many indices this thread has done, of all rounds */
};

struct helper {
    struct team *team;
    uint32_t number; /* of its part; 0 is the caller's */
    pthread_t thread;
};

struct team {
    uint32_t threads; /* the caller's included */
    struct helper *helpers;
    struct part *parts;
    void (*work)(void *user, uint32_t index); /* read by who has taken an index, until that is done */
    void *user;
    uint64_t given; /* indices of all rounds */
    pthread_mutex_t lock;
    pthread_cond_t begun;
    _Alignas(HOST_LINE_BYTES) atomic_uint round; /* changes when a round begins */
    atomic_uint asleep;                          /* helpers that want to be woken */
    atomic_bool quit;
};

/* The round and its indices from `next` to `end` in one word, so that nobody takes an index of another round than he came for. */
static uint64_t rest_of(uint32_t round, uint32_t next, uint32_t end)
{
    return (uint64_t)round << 32 | next << 16 | end;
}

static bool take(struct part *part, uint32_t round, uint32_t *index)
{
    uint64_t rest = atomic_load_explicit(&part->rest, memory_order_relaxed);
    do {
        *index = (uint32_t)rest >> 16;
        if (rest >> 32 != round || *index >= (rest & UINT16_MAX))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&part->rest, &rest, rest + (1u << 16), memory_order_acquire,
                                                    memory_order_relaxed));
    return true;
}

static void take_work(struct team *team, uint32_t self, uint32_t round)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < team->threads; i++) {
        struct part *part = &team->parts[self + i < team->threads ? self + i : self + i - team->threads];
        uint32_t index;
        for (; take(part, round, &index); done++)
            team->work(team->user, index);
    }
    if (done) {
        _Atomic uint64_t *sum = &team->parts[self].done;
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + done, memory_order_release);
    }
}

/* Spins, then sleeps; the round that has begun since `seen`. */
static uint32_t wait_for_round(struct team *team, uint32_t seen)
{
    uint32_t round = seen;
    for (uint32_t spins = 0; spins < SPINS && round == seen; spins++)
        round = atomic_load_explicit(&team->round, memory_order_acquire);
    if (round != seen)
        return round;
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while ((round = atomic_load(&team->round)) == seen)
        pthread_cond_wait(&team->begun, &team->lock);
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
    return round;
}

/* A helper that goes to sleep says so before it looks at the round again, and the round changes before the caller looks who sleeps. */
static void begin_round(struct team *team)
{
    atomic_fetch_add(&team->round, 1);
    if (atomic_load(&team->asleep)) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_broadcast(&team->begun);
        pthread_mutex_unlock(&team->lock);
    }
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct team *team = helper->team;
    for (uint32_t round = 0;;) {
        round = wait_for_round(team, round);
        if (atomic_load_explicit(&team->quit, memory_order_acquire))
            return NULL;
        take_work(team, helper->number, round);
    }
}

/* How many there are then, with the caller. Signals are the caller's: who blocks one there is not interrupted by it here. */
static uint32_t start_helpers(struct team *team, uint32_t threads)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t blocked, before;
    uint32_t started = 1;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    for (; started < threads; started++) {
        struct helper *helper = &team->helpers[started];
        *helper = (struct helper){.team = team, .number = started};
        if (pthread_create(&helper->thread, NULL, help, helper) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct team *team_create(uint32_t threads)
{
    struct team *team = allocate_lines(sizeof *team);
    if (!team)
        return NULL;
    team->threads = 1;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begun, NULL);
    team->helpers = calloc(threads, sizeof *team->helpers);
    team->parts = allocate_lines(threads * sizeof *team->parts);
    if (!team->helpers || !team->parts) {
        team_destroy(team);
        return NULL;
    }
    team->threads = start_helpers(team, threads);
    return team;
}

void team_destroy(struct team *team)
{
    if (!team)
        return;
    atomic_store_explicit(&team->quit, true, memory_order_release);
    begin_round(team);
    for (uint32_t i = 1; i < team->threads; i++)
        pthread_join(team->helpers[i].thread, NULL);
    pthread_cond_destroy(&team->begun);
    pthread_mutex_destroy(&team->lock);
    free(team->helpers);
    free(team->parts);
    free(team);
}

/* Spins, then gives the processor away again and again: those who have taken an index need one. */
static void wait_until_done(const struct team *team)
{
    for (uint32_t spins = 0;; spins++) {
        uint64_t done = 0;
        for (uint32_t i = 0; i < team->threads; i++)
            done += atomic_load_explicit(&team->parts[i].done, memory_order_acquire);
        if (done == team->given)
            return;
        if (spins > SPINS)
            sched_yield();
    }
}

void team_run(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count)
{
    assert(count <= TEAM_MOST);
    uint32_t threads = team->threads, round = atomic_load_explicit(&team->round, memory_order_relaxed) + 1;
    team->work = work;
    team->user = user;
    team->given += count;
    for (uint32_t i = 0; i < threads; i++) {
        uint32_t next = (uint32_t)((uint64_t)count * i / threads),
                 end = (uint32_t)((uint64_t)count * (i + 1) / threads);
        atomic_store_explicit(&team->parts[i].rest, rest_of(round, next, end), memory_order_release);
    }
    begin_round(team);
    take_work(team, 0, round);
    wait_until_done(team);
}
