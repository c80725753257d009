/* SPDX-License-Identifier: MIT */
/*
 * Host threads that advance SMs side by side, then channels. Which thread takes which index does not matter to the result, since SMs and
 * channels touch nothing that they share during a round. It matters to speed: what an SM needs is in the caches of the core that advanced the
 * SM last. Therefore a thread has a range of indices of its own, nearly the same ones in each round, and takes others' when its own are done:
 * the caller's from behind, everybody else's from the front, where the next range of the two begins.
 *
 * Nobody waits for a thread that has not come: where the host's cores are taken by other processes, the others do its part. The caller
 * waits for indices that have been taken and are not done yet. A thread that comes late finds nothing left, or indices of a later round.
 *
 *     caller    parts of round 7 ──► own part, then others' ──► all done ──► parts of round 8 ──► …
 *     helper    spins ─ sees 7 ─ own part, then others' ─ spins ─────────── sees 8 …
 *     helper    (no core) ─────────────────────────────────────────── sees 7, takes part in 8, sees 8 …
 *
 * While the caller has something else to do first (team_run_beside), it may begin a round within the round: that is the second job, to which
 * helpers come when the first has no index left.
 *
 * A round is short (some ten microseconds) and the next one near, so that waiting threads spin for longer than it takes to wake one before they
 * sleep.
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
#include <time.h>

#define SPIN_NANOSECONDS 200000 /* waking a thread takes 20000 on a virtual machine */
#define SPINS_PER_LOOK 64u      /* at the clock */
#define LEAST_ALONE_NS 5000     /* who takes less to do all by himself does so */
#define LEAST_SHARED_NS 3000    /* what takes less with others' help is done alone next time */
#define LEVELS 2u               /* a round, and one within it */
#define SHARE_BITS 8u           /* of the caller's share: in 256ths of an index */

/* A thread's part of a job: nothing else is in its cache lines. */
struct part {
    _Alignas(HOST_LINE_BYTES) _Atomic uint64_t rest; /* indices to be taken, and of which round: see `rest_of` */
    _Alignas(HOST_LINE_BYTES) _Atomic uint64_t done; /* how many indices this thread has done, of all rounds */
};

struct job {
    struct part *parts;                       /* [threads] */
    void (*work)(void *user, uint32_t index); /* read by who has taken an index, until that is done */
    void *user;
    uint64_t given; /* indices of all rounds */
};

struct helper {
    struct team *team;
    uint32_t number; /* of its parts; 0 are the caller's */
    pthread_t thread;
};

struct team {
    uint32_t threads; /* the caller's included */
    struct helper *helpers;
    struct job jobs[LEVELS];
    uint32_t level; /* of the job that the caller would begin now */
    pthread_mutex_t lock;
    pthread_cond_t begun;
    _Alignas(HOST_LINE_BYTES) atomic_uint round; /* changes when a round begins */
    atomic_uint asleep;                          /* helpers that want to be woken */
    atomic_bool quit;
};

/* The round and its indices from `next` to `end` in one word: whoever finds it unchanged takes an index of that round. */
static uint64_t rest_of(uint32_t round, uint32_t next, uint32_t end)
{
    return (uint64_t)round << 32 | next << 16 | end;
}

static bool take(struct part *part, bool from_front, uint32_t *index)
{
    uint64_t rest = atomic_load_explicit(&part->rest, memory_order_relaxed), left;
    do {
        uint32_t next = rest >> 16 & UINT16_MAX, end = rest & UINT16_MAX;
        if (next >= end)
            return false;
        *index = from_front ? next : end - 1;
        left = from_front ? rest + (1u << 16) : rest - 1;
    } while (
        !atomic_compare_exchange_weak_explicit(&part->rest, &rest, left, memory_order_acquire, memory_order_relaxed));
    return true;
}

/* How many indices this thread has done then. */
static uint32_t take_work(const struct team *team, struct job *job, uint32_t self)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < team->threads; i++) {
        uint32_t owner = self + i < team->threads ? self + i : self + i - team->threads;
        bool from_front = (owner == 0) == (owner == self);
        for (uint32_t index; take(&job->parts[owner], from_front, &index); done++)
            job->work(job->user, index);
    }
    if (done) {
        _Atomic uint64_t *sum = &job->parts[self].done;
        atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + done, memory_order_release);
    }
    return done;
}

/* The core is told that somebody waits. */
static inline void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* How long somebody has been spinning: at every SPINS_PER_LOOK of them the clock is looked at. */
struct spinning {
    uint32_t spins;
    uint64_t since;
};

static bool is_over(struct spinning *spinning)
{
    relax();
    if (++spinning->spins % SPINS_PER_LOOK)
        return false;
    uint64_t now = now_ns();
    if (!spinning->since)
        spinning->since = now;
    return now - spinning->since > SPIN_NANOSECONDS;
}

/* Spins, then sleeps; the round that has begun since `seen`. */
static uint32_t wait_for_round(struct team *team, uint32_t seen)
{
    struct spinning spinning = {0};
    uint32_t round;
    do {
        round = atomic_load_explicit(&team->round, memory_order_acquire);
        if (round != seen)
            return round;
    } while (!is_over(&spinning));
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
        for (uint32_t level = 0; level < LEVELS; level++)
            take_work(team, &team->jobs[level], helper->number);
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
    bool complete = (team->helpers = calloc(threads, sizeof *team->helpers)) != NULL;
    for (uint32_t level = 0; level < LEVELS; level++)
        complete &= (team->jobs[level].parts = allocate_lines(threads * sizeof(struct part))) != NULL;
    if (!complete) {
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
    for (uint32_t level = 0; level < LEVELS; level++)
        free(team->jobs[level].parts);
    free(team);
}

uint32_t team_threads(const struct team *team)
{
    return team->threads;
}

/* Spins, then gives the processor away again and again: those who have taken an index need one. */
static void wait_until_done(const struct team *team, const struct job *job)
{
    struct spinning spinning = {0};
    for (;;) {
        uint64_t done = 0;
        for (uint32_t i = 0; i < team->threads; i++)
            done += atomic_load_explicit(&job->parts[i].done, memory_order_acquire);
        if (done == job->given)
            return;
        if (is_over(&spinning))
            sched_yield();
    }
}

/* The first `own` indices are the caller's; the others have equal parts of the rest. */
static struct job *begin_job(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count,
                             uint32_t own)
{
    assert(count <= TEAM_MOST && team->level < LEVELS);
    struct job *job = &team->jobs[team->level];
    uint32_t helpers = team->threads - 1, next = 0;
    uint32_t round = atomic_load_explicit(&team->round, memory_order_relaxed) + 1;
    job->work = work;
    job->user = user;
    job->given += count;
    for (uint32_t i = 0; i <= helpers; i++) {
        uint32_t end = helpers ? own + (uint32_t)((uint64_t)(count - own) * i / helpers) : count;
        atomic_store_explicit(&job->parts[i].rest, rest_of(round, next, end), memory_order_release);
        next = end;
    }
    begin_round(team);
    return job;
}

static void nothing(void *user)
{
    (void)user;
}

static void run_alone(void (*work)(void *user, uint32_t index), void *user, uint32_t count, void (*first)(void *user),
                      void *first_user)
{
    first(first_user);
    for (uint32_t i = 0; i < count; i++)
        work(user, i);
}

/* How many indices the caller has done then; the first `own` are his. */
static uint32_t run_shared(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count,
                           uint32_t own, void (*first)(void *user), void *first_user)
{
    struct job *job = begin_job(team, work, user, count, own < count ? own : count);
    team->level++;
    first(first_user);
    team->level--;
    uint32_t done = take_work(team, job, 0);
    wait_until_done(team, job);
    return done;
}

void team_run_beside(struct team *team, struct team_kind *kind, void (*work)(void *user, uint32_t index), void *user,
                     uint32_t count, void (*first)(void *user), void *first_user)
{
    if (!kind) {
        run_shared(team, work, user, count, count / team->threads, first, first_user);
        return;
    }
    uint64_t since = now_ns();
    if (kind->shared) {
        uint32_t own = (kind->caller_share + (1u << (SHARE_BITS - 1))) >> SHARE_BITS;
        uint32_t done = run_shared(team, work, user, count, own, first, first_user);
        kind->caller_share = (7 * kind->caller_share + (done << SHARE_BITS)) / 8;
    } else {
        run_alone(work, user, count, first, first_user);
    }
    kind->ns = (7 * kind->ns + now_ns() - since) / 8;
    kind->shared = kind->ns >= (kind->shared ? LEAST_SHARED_NS : LEAST_ALONE_NS);
}

void team_run(struct team *team, struct team_kind *kind, void (*work)(void *user, uint32_t index), void *user,
              uint32_t count)
{
    team_run_beside(team, kind, work, user, count, nothing, NULL);
}
