/* SPDX-License-Identifier: MIT */
/*
 * Host threads that advance SMs side by side, then channels. A round hands out indices by an atomic counter; which thread takes which
 * index does not matter to the result, since SMs and channels touch nothing that they share during a round.
 *
 * A round is short (some ten microseconds), so that waiting threads spin for a while before they sleep.
 */
#include "gpu/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define SPINS 4000u

struct team {
    uint32_t helpers;
    pthread_t *threads;
    void (*work)(void *user, uint32_t index);
    void *user;
    uint32_t count;
    atomic_uint round;    /* changes when a round begins */
    atomic_uint next;     /* index to be taken */
    atomic_uint finished; /* helpers that have no more work in this round */
    atomic_bool quit;
};

static void take_work(struct team *team)
{
    uint32_t index;
    while ((index = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed)) < team->count)
        team->work(team->user, index);
}

/* Spins, then gives the processor away again and again. */
static void wait_while_equal(atomic_uint *value, uint32_t old)
{
    for (uint32_t spins = 0; atomic_load_explicit(value, memory_order_acquire) == old; spins++)
        if (spins > SPINS)
            sched_yield();
}

static void *help(void *argument)
{
    struct team *team = argument;
    uint32_t round = 0;
    for (;;) {
        wait_while_equal(&team->round, round);
        round++;
        if (atomic_load_explicit(&team->quit, memory_order_acquire))
            return NULL;
        take_work(team);
        atomic_fetch_add_explicit(&team->finished, 1, memory_order_release);
    }
}

struct team *team_create(uint32_t threads)
{
    struct team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->threads = calloc(threads, sizeof *team->threads);
    while (team->threads && team->helpers + 1 < threads &&
           pthread_create(&team->threads[team->helpers], NULL, help, team) == 0)
        team->helpers++;
    return team;
}

void team_destroy(struct team *team)
{
    if (!team)
        return;
    atomic_store_explicit(&team->quit, true, memory_order_release);
    atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
    for (uint32_t i = 0; i < team->helpers; i++)
        pthread_join(team->threads[i], NULL);
    free(team->threads);
    free(team);
}

void team_run(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count)
{
    team->work = work;
    team->user = user;
    team->count = count;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    atomic_store_explicit(&team->finished, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&team->round, 1, memory_order_release);
    take_work(team);
    while (atomic_load_explicit(&team->finished, memory_order_acquire) < team->helpers)
        sched_yield();
}
