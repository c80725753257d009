/* SPDX-License-Identifier: MIT */
/* Measurements, kept: in memory by what they are, in the cache by content. Several threads may measure at once. */
#include "serve/steady.h"

#include "base/parallel.h"
#include "base/vector.h"
#include "serve/measurement.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STEADY_MOST_CYCLES 400000u /* of a window, where thread blocks do not live longer */

struct kept {
    struct measurement measurement;
    struct outcome outcome;
};

struct steady {
    const struct steady_request *request;
    struct corun_diagnostics *list;
    pthread_mutex_t lock; /* of all that follows, of `list`, and of calls of progress() */
    VECTOR(struct kept *) kept;
    uint32_t *places; /* hash table: index in kept + 1; 0: none */
    size_t place_count;
    uint32_t simulated, found, done, total;
    bool interrupted;
};

enum corun_status steady_create(const struct steady_request *request, struct corun_diagnostics *list,
                                struct steady **result)
{
    struct steady *steady = calloc(1, sizeof *steady);
    *result = steady;
    if (!steady)
        return CORUN_MEMORY;
    steady->request = request;
    steady->list = list;
    pthread_mutex_init(&steady->lock, NULL);
    return CORUN_OK;
}

void steady_destroy(struct steady *steady)
{
    if (!steady)
        return;
    for (size_t i = 0; i < steady->kept.count; i++)
        free(steady->kept.data[i]);
    vector_free(&steady->kept);
    free(steady->places);
    pthread_mutex_destroy(&steady->lock);
    free(steady);
}

void steady_counts(const struct steady *steady, uint32_t *simulated, uint32_t *found)
{
    *simulated = steady->simulated;
    *found = steady->found;
}

static bool same(const struct measurement *a, const struct measurement *b)
{
    bool equal = a->kind == b->kind;
    for (uint32_t i = 0; i < MEASURED_LAUNCHES; i++)
        equal = equal && a->kernels[i] == b->kernels[i];
    for (int i = 0; i < 2; i++)
        equal = equal && a->slice_tbs[i] == b->slice_tbs[i] && a->in_flight_tbs[i] == b->in_flight_tbs[i];
    return equal;
}

static size_t place_of(const struct steady *steady, const struct measurement *measurement)
{
    uint64_t hash = measurement->kind;
    for (uint32_t i = 0; i < MEASURED_LAUNCHES; i++)
        hash = (hash ^ measurement->kernels[i]) * UINT64_C(0x100000001b3);
    for (int i = 0; i < 2; i++) {
        hash = (hash ^ measurement->slice_tbs[i]) * UINT64_C(0x100000001b3);
        hash = (hash ^ measurement->in_flight_tbs[i]) * UINT64_C(0x100000001b3);
    }
    size_t place = (size_t)(hash ^ hash >> 29) & (steady->place_count - 1);
    while (steady->places[place] && !same(&steady->kept.data[steady->places[place] - 1]->measurement, measurement))
        place = (place + 1) & (steady->place_count - 1);
    return place;
}

static bool look_up(const struct steady *steady, const struct measurement *measurement, struct outcome *outcome)
{
    size_t place = steady->place_count ? place_of(steady, measurement) : 0;
    if (!steady->place_count || !steady->places[place])
        return false;
    *outcome = steady->kept.data[steady->places[place] - 1]->outcome;
    return true;
}

static bool make_room(struct steady *steady)
{
    if (steady->kept.count * 2 < steady->place_count)
        return true;
    size_t count = steady->place_count ? steady->place_count * 2 : 256;
    uint32_t *places = calloc(count, sizeof *places);
    if (!places)
        return false;
    free(steady->places);
    steady->places = places;
    steady->place_count = count;
    for (size_t i = 0; i < steady->kept.count; i++)
        places[place_of(steady, &steady->kept.data[i]->measurement)] = (uint32_t)i + 1;
    return true;
}

static enum corun_status keep(struct steady *steady, const struct measurement *measurement,
                              const struct outcome *outcome)
{
    struct outcome other;
    if (look_up(steady, measurement, &other))
        return CORUN_OK; /* another thread was faster */
    struct kept *kept = malloc(sizeof *kept);
    if (!kept || !make_room(steady) || !vector_push(&steady->kept, kept)) {
        free(kept);
        return CORUN_MEMORY;
    }
    *kept = (struct kept){*measurement, *outcome};
    steady->places[place_of(steady, measurement)] = (uint32_t)steady->kept.count;
    return CORUN_OK;
}

static enum corun_status find(struct steady *steady, const struct measurement *measurement, struct outcome *outcome);

/* Warp instructions of a launch of each kernel, which the speeds of slices are computed with. */
static enum corun_status find_instructions(struct steady *steady, const struct measurement *measurement,
                                           uint64_t instructions[2])
{
    enum corun_status status = CORUN_OK;
    for (int i = 0; i < 2 && status == CORUN_OK; i++) {
        struct outcome outcome = {.warp_instructions = 0};
        const struct measurement alone = measurement_of(MEASUREMENT_ALONE, &measurement->kernels[i], 1);
        if (measurement->kind == MEASUREMENT_SPEEDS && measurement->kernels[i] != CORUN_QUEUE_NONE)
            status = find(steady, &alone, &outcome);
        instructions[i] = outcome.warp_instructions;
    }
    return status;
}

/* May another one be simulated? Tells what it is. With the lock. */
static bool may_measure(struct steady *steady, const struct measurement *measurement)
{
    const struct steady_request *request = steady->request;
    char words[256];
    if (!steady->interrupted && request->progress &&
        !request->progress(request->progress_user, measurement_words(request, measurement, words, sizeof words),
                           steady->done, steady->total))
        steady->interrupted = true;
    return !steady->interrupted;
}

static void pass_on(const struct corun_diagnostics *from, struct corun_diagnostics *to)
{
    for (size_t i = 0; i < corun_diagnostics_count(from); i++) {
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(from, i);
        corun_report(to, diagnostic->status, diagnostic->place, "%s", diagnostic->message);
    }
}

/* From the cache, or simulated, without the lock. */
static enum corun_status obtain(struct steady *steady, const struct measurement *measurement,
                                struct corun_diagnostics *list, struct outcome *outcome)
{
    const struct steady_request *request = steady->request;
    struct content_key key;
    uint64_t instructions[2];
    enum corun_status status = measurement_key(request, measurement, &key);
    if (status != CORUN_OK)
        return status;
    *outcome = (struct outcome){.ticks = 0};
    bool found = measurement_load(request, &key, measurement, list, outcome);
    pthread_mutex_lock(&steady->lock);
    bool good = found || may_measure(steady, measurement);
    *(found ? &steady->found : &steady->simulated) += good;
    pthread_mutex_unlock(&steady->lock);
    if (found)
        return CORUN_OK;
    if (!good)
        return CORUN_TIMEOUT;
    status = find_instructions(steady, measurement, instructions);
    if (status == CORUN_OK)
        status = measurement_run(request, measurement, instructions, list, outcome);
    if (status == CORUN_OK)
        measurement_store(request, &key, measurement, outcome, list);
    return status;
}

static enum corun_status find(struct steady *steady, const struct measurement *measurement, struct outcome *outcome)
{
    pthread_mutex_lock(&steady->lock);
    bool known = look_up(steady, measurement, outcome);
    pthread_mutex_unlock(&steady->lock);
    if (known)
        return CORUN_OK;
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!list)
        return CORUN_MEMORY;
    enum corun_status status = obtain(steady, measurement, list, outcome);
    pthread_mutex_lock(&steady->lock);
    pass_on(list, steady->list);
    if (status == CORUN_OK)
        status = keep(steady, measurement, outcome);
    pthread_mutex_unlock(&steady->lock);
    corun_diagnostics_destroy(list);
    return status;
}

enum corun_status steady_alone(struct steady *steady, uint32_t kernel, struct steady_alone *alone)
{
    struct outcome outcome;
    const struct measurement measurement = measurement_of(MEASUREMENT_ALONE, &kernel, 1);
    enum corun_status status = find(steady, &measurement, &outcome);
    if (status == CORUN_OK)
        *alone = (struct steady_alone){outcome.ticks, outcome.warp_instructions, outcome.counters};
    return status;
}

enum corun_status steady_sliced(struct steady *steady, uint32_t kernel, uint32_t slice_tbs, uint32_t in_flight_tbs,
                                uint64_t *ticks)
{
    struct outcome outcome;
    struct measurement measurement = measurement_of(MEASUREMENT_SLICED, &kernel, 1);
    measurement.slice_tbs[0] = slice_tbs;
    measurement.in_flight_tbs[0] = in_flight_tbs;
    enum corun_status status = find(steady, &measurement, &outcome);
    if (status == CORUN_OK)
        *ticks = outcome.ticks;
    return status;
}

/*
 * How long the steady state of a kernel is looked at, at most: long enough for two generations of thread blocks as they live alone. What such a
 * thread block does differs from its beginning to its end, where others have to begin and to end many times.
 */
static enum corun_status find_most_cycles(struct steady *steady, uint32_t kernel, uint64_t *most)
{
    struct steady_alone alone;
    enum corun_status status = steady_alone(steady, kernel, &alone);
    if (status != CORUN_OK || !alone.counters.tbs_completed)
        return status;
    uint64_t cycles = 2 * alone.counters.tb_cycles / alone.counters.tbs_completed;
    *most = cycles > *most ? cycles : *most;
    return CORUN_OK;
}

enum corun_status steady_speeds(struct steady *steady, const struct corun_queue_co_schedule *co_schedule,
                                struct corun_queue_speeds *speeds)
{
    struct outcome outcome;
    struct measurement measurement = measurement_of(MEASUREMENT_SPEEDS, co_schedule->kinds, 2);
    enum corun_status status = CORUN_OK;
    measurement.most_cycles = STEADY_MOST_CYCLES;
    for (int i = 0; i < 2 && status == CORUN_OK; i++) {
        if (co_schedule->kinds[i] == CORUN_QUEUE_NONE)
            continue;
        measurement.slice_tbs[i] = co_schedule->slice_tbs[i];
        measurement.in_flight_tbs[i] = co_schedule->in_flight_tbs[i];
        status = find_most_cycles(steady, co_schedule->kinds[i], &measurement.most_cycles);
    }
    if (status == CORUN_OK)
        status = find(steady, &measurement, &outcome);
    if (status == CORUN_OK)
        *speeds = outcome.speeds;
    return status;
}

/* Ticks of a sequence of launches from its start to the end of all. */
static enum corun_status find_sequence(struct steady *steady, const uint32_t *kernels, uint32_t count,
                                       struct outcome *outcome)
{
    const struct measurement sequence =
        measurement_of(count > 1 ? MEASUREMENT_SEQUENCE : MEASUREMENT_ALONE, kernels, count);
    *outcome = (struct outcome){.ticks = 0};
    return count ? find(steady, &sequence, outcome) : CORUN_OK;
}

enum corun_status steady_sequence(struct steady *steady, const uint32_t *kernels, uint32_t count, uint64_t *ticks)
{
    struct outcome before, all;
    enum corun_status status = find_sequence(steady, kernels, count - 1, &before);
    if (status == CORUN_OK)
        status = find_sequence(steady, kernels, count, &all);
    if (status != CORUN_OK)
        return status;
    *ticks = all.ticks > before.ticks ? all.ticks - before.ticks : 1;
    return CORUN_OK;
}

struct work {
    struct steady *steady;
    const struct corun_queue_co_schedule *list;
    size_t count, next;
    enum corun_status status;
};

static void *work_on(void *user)
{
    struct work *work = user;
    struct steady *steady = work->steady;
    for (;;) {
        pthread_mutex_lock(&steady->lock);
        size_t index = work->next++;
        bool stop = index >= work->count || work->status != CORUN_OK;
        steady->done = (uint32_t)index;
        pthread_mutex_unlock(&steady->lock);
        if (stop)
            return NULL;
        struct corun_queue_speeds speeds;
        enum corun_status status = steady_speeds(steady, &work->list[index], &speeds);
        pthread_mutex_lock(&steady->lock);
        if (status != CORUN_OK)
            work->status = status;
        pthread_mutex_unlock(&steady->lock);
    }
}

enum corun_status steady_prepare(struct steady *steady, const struct corun_queue_co_schedule *list, size_t count)
{
    struct work work = {.steady = steady, .list = list, .count = count};
    steady->total = (uint32_t)count;
    parallel_run(parallel_jobs(steady->request->jobs), work_on, &work);
    steady->total = steady->done = 0;
    return work.status;
}
