/* SPDX-License-Identifier: MIT */
/*
 * Host threads that advance SMs side by side, then channels. Which thread takes which index does not matter to the result, since SMs and
 * channels touch nothing that they share during a round. It matters to speed: what an SM needs is in the caches of the core that advanced the
 * SM last. Therefore a thread has a range of indices of its own, the same ones in each round, and takes others' when its own are done.
 *
 * A round is short (some ten microseconds), so that waiting threads spin for a while before they sleep.
 */
#include "gpu/team.h"

#include "gpu/cache_lines.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define SPINS 4000u

/* A thread's part: nothing else is in its cache line. */
struct part {
    _Alignas(HOST_LINE_BYTES) atomic_uint next; /* index to be taken */
    uint32_t end;
    atomic_uint finished; /* the last round in which this thread found no more work */
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
    void (*work)(void *user, uint32_t index);
    void *user;
    _Alignas(HOST_LINE_BYTES) atomic_uint round; /* changes when a round begins */
    atomic_bool quit;
};

static void take_work(struct team *team, uint32_t self)
{
    for (uint32_t i = 0; i < team->threads; i++) {
        struct part *part = &team->parts[self + i < team->threads ? self + i : self + i - team->threads];
        uint32_t index;
        while (atomic_load_explicit(&part->next, memory_order_relaxed) < part->end &&
               (index = atomic_fetch_add_explicit(&part->next, 1, memory_order_relaxed)) < part->end)
            team->work(team->user, index);
    }
}

/* Spins, then gives the processor away again and again. */
static void wait_until(atomic_uint *value, uint32_t wanted)
{
    for (uint32_t spins = 0; atomic_load_explicit(value, memory_order_acquire) != wanted; spins++)
        if (spins > SPINS)
            sched_yield();
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct team *team = helper->team;
    for (uint32_t round = 1;; round++) {
        wait_until(&team->round, round);
        if (atomic_load_explicit(&team->quit, memory_order_acquire))
            return NULL;
        take_work(team, helper->number);
        atomic_store_explicit(&team->parts[helper->number].finished, round, memory_order_release);
    }
}

struct team *team_create(uint32_t threads)
{
    struct team *team = allocate_lines(sizeof *team);
    if (!team)
        return NULL;
    team->threads = 1;
    team->helpers = calloc(threads, sizeof *team->helpers);
    team->parts = allocate_lines(threads * sizeof *team->parts);
    if (!team->helpers || !team->parts) {
        team_destroy(team);
        return NULL;
    }
    for (uint32_t started = 1; started < threads; started++) {
        struct helper *helper = &team->helpers[started];
        *helper = (struct helper){.team = team, .number = started};
        if (pthread_create(&helper->thread, NULL, help, helper) != 0)
            break;
        team->threads = started + 1;
    }
    return team;
}

void team_destroy(struct team *team)
{
    if (!team)
        return;
    atomic_store_explicit(&team->quit, true, memory_order_release);
    atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
    for (uint32_t i = 1; i < team->threads; i++)
        pthread_join(team->helpers[i].thread, NULL);
    free(team->helpers);
    free(team->parts);
    free(team);
}

void team_run(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count)
{
    uint32_t threads = team->threads;
    team->work = work;
    team->user = user;
    for (uint32_t i = 0; i < threads; i++) {
        struct part *part = &team->parts[i];
        atomic_store_explicit(&part->next, (uint32_t)((uint64_t)count * i / threads), memory_order_relaxed);
        part->end = (uint32_t)((uint64_t)count * (i + 1) / threads);
    }
    uint32_t round = atomic_fetch_add_explicit(&team->round, 1, memory_order_release) + 1;
    take_work(team, 0);
    for (uint32_t i = 1; i < threads; i++)
        wait_until(&team->parts[i].finished, round);
}
