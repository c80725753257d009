/* SPDX-License-Identifier: MIT */
/* Threads wait for a part, take chunks of it until none is left, and wait again. */
#include "split/team.h"

#include "split/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { HURRIED = 5 }; /* so many chunks in the time of one */

/* What the program's function and the team say to each other while a thread computes a chunk. */
struct talk {
    uint64_t begin;            /* of the chunk; UINT64_MAX: the thread computes none */
    atomic_uint_fast64_t asks; /* whether the chunk is needed */
    bool told;                 /* that it is not */
    char apart[40];            /* threads do not write into each other's cache lines */
};

struct team {
    const struct corun_split_task *task;
    double chunk_seconds;
    pthread_mutex_t mutex;
    pthread_cond_t work; /* there are chunks to take */
    uint32_t thread_count, computing, asleep;
    pthread_cond_t quiet; /* nobody computes */
    bool yields;          /* others wait for the threads' processors */
    pthread_t *threads;
    struct talk *talks;          /* for each thread */
    bool quit, active, stopping; /* stopping: who stops the part ends it */
    /* the part */
    uint64_t begin, cursor, end;
    uint64_t completed;
    uint64_t given_up;           /* what is behind has not been computed, as nobody needs it */
    atomic_bool unneeded, asked; /* what is begun; the program's function asks for that */
    double start, limit_seconds;
    enum corun_status status;
    void (*ended)(void *user, const struct team_result *result);
    void *user;
    bool hurried;
    uint64_t chunk; /* iterations that take about chunk_seconds */
    bool measured;  /* in processor time: */
    double processor_seconds, longest_seconds;
    uint64_t chunk_count, asks;
};

bool split_team_unneeded(struct team *team, uint32_t thread)
{
    if (thread >= team->thread_count)
        return false;
    if (!atomic_load_explicit(&team->asked, memory_order_relaxed))
        atomic_store_explicit(&team->asked, true, memory_order_relaxed);
    struct talk *talk = &team->talks[thread];
    uint64_t asks = atomic_load_explicit(&talk->asks, memory_order_relaxed); /* only this thread counts them */
    atomic_store_explicit(&talk->asks, asks + 1, memory_order_relaxed);
    talk->told = talk->told || atomic_load_explicit(&team->unneeded, memory_order_relaxed);
    return talk->told;
}

struct member {
    struct team *team;
    uint32_t index;
    bool pinned;
};

static void pin(uint32_t index)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || !CPU_COUNT(&allowed))
        return;
    int wanted = (int)(index % (uint32_t)CPU_COUNT(&allowed));
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &allowed) || wanted--)
            continue;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        (void)sched_setaffinity(0, sizeof one, &one); /* unpinned times are worse, not wrong */
        return;
    }
}

/* The next chunk: as long as is wanted, but so short at the end that all threads end together. */
static uint64_t chunk_end(const struct team *team)
{
    uint64_t granularity = team->task->granularity, left = team->end - team->cursor;
    uint64_t chunk = team->hurried ? team->chunk / HURRIED : team->chunk;
    uint64_t fair = left / (2 * (uint64_t)team->thread_count);
    chunk = team->thread_count > 1 && chunk > fair ? fair : chunk;
    chunk -= chunk % granularity;
    chunk = chunk < granularity ? granularity : chunk;
    return left <= chunk ? team->end : team->cursor + chunk;
}

/* A chunk took so long: the next ones are longer or shorter, within a factor of four because times are noisy. */
static void adapt_chunk(struct team *team, uint64_t iterations, double seconds)
{
    double factor = seconds > 0 ? team->chunk_seconds / seconds : 4;
    double wanted = (double)iterations * (factor > 4 ? 4 : factor), most = (double)team->task->iterations;
    wanted = wanted > most ? most : wanted;
    team->chunk = wanted < (double)team->task->granularity ? team->task->granularity : (uint64_t)wanted;
}

/*
 * How long the part has taken so far. Measured: as long as the threads would need if each had a processor of its own, whatever else the
 * machine does.
 */
static double elapsed(const struct team *team)
{
    if (!team->measured)
        return clock_seconds() - team->start;
    uint64_t threads = team->chunk_count < team->thread_count ? team->chunk_count : team->thread_count;
    double shared = threads ? team->processor_seconds / (double)threads : 0;
    return shared > team->longest_seconds ? shared : team->longest_seconds;
}

/* The part is over when nothing is left to take and nobody computes. The caller holds the mutex, which is free during `ended`. */
static void end_if_over(struct team *team)
{
    if (!team->active || team->stopping || team->cursor < team->end || team->computing)
        return;
    struct team_result result = {team->end - team->begin, elapsed(team), team->asks, team->status};
    team->active = false;
    pthread_mutex_unlock(&team->mutex);
    team->ended(team->user, &result);
    pthread_mutex_lock(&team->mutex);
}

/* `unbroken`: processor time of this thread since it has offered its processor to others. */
static void compute_chunk(struct team *team, uint32_t index, double *unbroken)
{
    if (team->limit_seconds > 0 && team->cursor > team->begin && elapsed(team) >= team->limit_seconds) {
        team->end = team->cursor;
        end_if_over(team);
        return;
    }
    uint64_t begin = team->cursor, end = chunk_end(team);
    team->cursor = end;
    team->computing++;
    team->talks[index] = (struct talk){.begin = begin};
    if (team->asleep &&
        team->cursor < team->end) /* each thread wakes the next: who starts a part has other things to do */
        pthread_cond_signal(&team->work);
    bool measured = team->measured;
    pthread_mutex_unlock(&team->mutex);
    double before = measured ? clock_thread_seconds() : clock_seconds();
    enum corun_status status = team->task->cpu(team->task->user, begin, end, index);
    double seconds = (measured ? clock_thread_seconds() : clock_seconds()) - before;
    *unbroken += seconds;
    if (team->yields &&
        *unbroken >= team->chunk_seconds) { /* a thread that wakes up waits no longer than for a chunk */
        sched_yield();
        *unbroken = 0;
    }
    pthread_mutex_lock(&team->mutex);
    team->processor_seconds += seconds;
    team->longest_seconds = seconds > team->longest_seconds ? seconds : team->longest_seconds;
    team->chunk_count++;
    team->asks += atomic_exchange_explicit(&team->talks[index].asks, 0, memory_order_relaxed);
    team->talks[index].begin = UINT64_MAX;
    team->computing--;
    if (team->talks[index].told) {
        team->given_up = begin < team->given_up ? begin : team->given_up;
    } else {
        team->completed += end - begin;
        adapt_chunk(team, end - begin, seconds);
    }
    if (status != CORUN_OK && team->status == CORUN_OK) {
        team->status = status;
        team->end = team->cursor;
    }
    if (!team->computing)
        pthread_cond_signal(&team->quiet);
    end_if_over(team);
}

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct team *team = member->team;
    uint32_t index = member->index;
    double unbroken = 0;
    if (member->pinned)
        pin(index);
    free(member);
    pthread_mutex_lock(&team->mutex);
    while (!team->quit) {
        if (team->active && team->cursor < team->end) {
            compute_chunk(team, index, &unbroken);
            continue;
        }
        team->asleep++;
        pthread_cond_wait(&team->work, &team->mutex);
        team->asleep--;
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

struct team *split_team_create(uint32_t threads, bool measured, bool yields, double chunk_seconds,
                               const struct corun_split_task *task)
{
    struct team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->task = task;
    team->chunk_seconds = chunk_seconds;
    team->chunk = task->granularity;
    team->measured = measured;
    team->yields = yields;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->work, NULL);
    pthread_cond_init(&team->quiet, NULL);
    team->threads = calloc(threads, sizeof *team->threads);
    team->talks = calloc(threads, sizeof *team->talks);
    while (team->threads && team->talks && team->thread_count < threads) {
        struct member *member = malloc(sizeof *member);
        if (!member)
            break;
        *member = (struct member){team, team->thread_count, measured};
        team->talks[team->thread_count].begin = UINT64_MAX;
        if (pthread_create(&team->threads[team->thread_count], NULL, member_main, member)) {
            free(member);
            break;
        }
        pthread_mutex_lock(&team->mutex); /* the others read the count */
        team->thread_count++;
        pthread_mutex_unlock(&team->mutex);
    }
    if (team->thread_count == threads)
        return team;
    split_team_destroy(team);
    return NULL;
}

void split_team_destroy(struct team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->mutex);
    team->quit = true;
    pthread_cond_broadcast(&team->work);
    pthread_mutex_unlock(&team->mutex);
    for (uint32_t i = 0; i < team->thread_count; i++)
        pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->work);
    pthread_cond_destroy(&team->quiet);
    pthread_mutex_destroy(&team->mutex);
    free(team->threads);
    free(team->talks);
    free(team);
}

void split_team_start(struct team *team, uint64_t begin, uint64_t end, double limit_seconds, bool hurried,
                      void (*ended)(void *user, const struct team_result *result), void *user)
{
    pthread_mutex_lock(&team->mutex);
    team->begin = team->cursor = begin;
    team->end = end;
    team->completed = team->chunk_count = team->asks = 0;
    team->processor_seconds = team->longest_seconds = 0;
    team->limit_seconds = limit_seconds;
    team->hurried = hurried;
    team->given_up = end;
    atomic_store_explicit(&team->unneeded, false, memory_order_relaxed);
    team->status = CORUN_OK;
    team->ended = ended;
    team->user = user;
    team->active = true;
    team->start = clock_seconds();
    pthread_cond_signal(&team->work);
    pthread_mutex_unlock(&team->mutex);
}

uint64_t split_team_recall(struct team *team)
{
    pthread_mutex_lock(&team->mutex);
    if (team->active) {
        team->end = team->cursor;
        end_if_over(team); /* no thread has taken anything yet */
    }
    uint64_t kept = team->end - team->begin;
    pthread_mutex_unlock(&team->mutex);
    return kept;
}

uint64_t split_team_stop(struct team *team)
{
    if (!atomic_load_explicit(&team->asked, memory_order_relaxed))
        return split_team_recall(team);
    pthread_mutex_lock(&team->mutex);
    atomic_store_explicit(&team->unneeded, true, memory_order_relaxed);
    if (team->active)
        team->end = team->cursor;
    team->stopping = team->active;
    while (team->active && team->computing)
        pthread_cond_wait(&team->quiet, &team->mutex);
    team->stopping = false;
    team->end = team->given_up < team->end ? team->given_up : team->end;
    team->cursor = team->end;
    end_if_over(team);
    uint64_t kept = team->end - team->begin;
    pthread_mutex_unlock(&team->mutex);
    return kept;
}

uint64_t split_team_take(struct team *team, uint64_t count)
{
    uint64_t granularity = team->task->granularity, taken = 0;
    pthread_mutex_lock(&team->mutex);
    if (team->active && team->cursor < team->end && count) {
        uint64_t before = team->end, end = before - (count < before ? count : before);
        end -= end % granularity; /* a border that parts may have */
        team->end = end > team->cursor ? end : team->cursor;
        taken = before - team->end;
        end_if_over(team);
    }
    pthread_mutex_unlock(&team->mutex);
    return taken;
}

uint64_t split_team_progress(struct team *team)
{
    pthread_mutex_lock(&team->mutex);
    uint64_t completed = team->completed;
    pthread_mutex_unlock(&team->mutex);
    return completed;
}

uint64_t split_team_kept(struct team *team)
{
    pthread_mutex_lock(&team->mutex);
    uint64_t first = team->cursor;
    for (uint32_t i = 0; i < team->thread_count && atomic_load_explicit(&team->asked, memory_order_relaxed); i++)
        first = team->talks[i].begin < first ? team->talks[i].begin : first;
    first -= team->begin;
    pthread_mutex_unlock(&team->mutex);
    return first;
}

double split_team_asks(struct team *team)
{
    pthread_mutex_lock(&team->mutex);
    uint64_t asks = team->asks;
    uint32_t threads = team->computing ? team->computing : 1;
    for (uint32_t i = 0; i < team->thread_count; i++)
        asks += atomic_load_explicit(&team->talks[i].asks, memory_order_relaxed);
    double seconds = asks ? (clock_seconds() - team->start) * threads / (double)asks : 0;
    pthread_mutex_unlock(&team->mutex);
    return seconds;
}

struct run {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool over;
    struct team_result result;
};

static void end_run(void *user, const struct team_result *result)
{
    struct run *run = user;
    pthread_mutex_lock(&run->mutex);
    run->result = *result;
    run->over = true;
    pthread_cond_signal(&run->ended); /* under the mutex: afterwards the run may be gone */
    pthread_mutex_unlock(&run->mutex);
}

struct team_result split_team_run(struct team *team, uint64_t begin, uint64_t end, double limit_seconds, bool hurried)
{
    struct run run = {.mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    split_team_start(team, begin, end, limit_seconds, hurried, end_run, &run);
    pthread_mutex_lock(&run.mutex);
    while (!run.over)
        pthread_cond_wait(&run.ended, &run.mutex);
    pthread_mutex_unlock(&run.mutex);
    pthread_cond_destroy(&run.ended);
    pthread_mutex_destroy(&run.mutex);
    return run.result;
}
