/* SPDX-License-Identifier: MIT */
/*
 * States are pairs of the two kernels' own states, and a row of the transition matrix is the outer product of a row of each: only these are
 * kept, without the zeros around them. So a step costs as much as the rows are wide, and the matrix is never made.
 */
#include "model/chain.h"

#include "model/binomial.h"
#include "model/chances.h"
#include "model/stationary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_OF_TOLERANCE 1e-3 /* what rows leave out, in parts of the tolerance */
#define MOST_STATES 65536u

/*
 * The states of one kernel: how many of its warps wait for each kind of access. `kind` is the only one that occurs, or stands for both where
 * they are lumped; MODEL_ACCESSES: both, apart.
 */
struct space {
    const struct chain_kernel *kernel;
    enum model_access kind;
    uint32_t count;
    struct {
        uint8_t idle[MODEL_ACCESSES];
    } * states;
    struct binomial *begins; /* [r]: how many of r ready warps begin to wait */
    double tail;             /* what rows leave out, relative to their greatest value */
    double *scratch;         /* three states: of the sums over what gives the same state, (warps + 1)² twice */
};

/* Part of a row: from state `first` on, `count` of them; zero elsewhere. */
struct part {
    uint32_t first, count;
    double *p;
};

struct transitions {
    struct space spaces[CHAIN_KERNELS];
    struct part *parts; /* two for each state */
    double *pool, *free;
    double *durations;
};

/* ---- the states ---- */

static enum corun_status space_make(struct space *space, const struct chain *chain, const struct chain_kernel *kernel)
{
    uint32_t w = kernel->warps, count = 0;
    *space = (struct space){.kernel = kernel, .tail = chain->tolerance * TAIL_OF_TOLERANCE};
    bool apart = chain->states == MODEL_EXACT && kernel->uncoalesced > 0 && kernel->uncoalesced < 1;
    space->kind = apart ? MODEL_ACCESSES : kernel->uncoalesced >= 1 ? MODEL_UNCOALESCED : MODEL_COALESCED;
    space->count = apart ? (w + 1) * (w + 2) / 2 : w + 1;
    space->states = malloc(space->count * sizeof *space->states);
    space->begins = malloc((w + 1) * sizeof *space->begins);
    space->scratch = malloc(2 * (size_t)(w + 1) * (w + 1) * sizeof *space->scratch);
    if (!space->states || !space->begins || !space->scratch)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i <= w; i++)
        for (uint32_t u = 0; u <= (apart ? w - i : 0); u++, count++) {
            space->states[count].idle[MODEL_COALESCED] = (uint8_t)(space->kind == MODEL_UNCOALESCED ? 0 : i);
            space->states[count].idle[MODEL_UNCOALESCED] = (uint8_t)(space->kind == MODEL_UNCOALESCED ? i : u);
        }
    for (uint32_t ready = 0; ready <= w; ready++)
        binomial_make(ready, kernel->wait, space->tail, &space->begins[ready]);
    return CORUN_OK;
}

static void space_free(struct space *space)
{
    free(space->states);
    free(space->begins);
    free(space->scratch);
}

static uint32_t idle_of(const struct space *space, uint32_t state)
{
    return space->states[state].idle[MODEL_COALESCED] + (uint32_t)space->states[state].idle[MODEL_UNCOALESCED];
}

static uint32_t ready_of(const struct space *space, uint32_t state)
{
    return space->kernel->warps - idle_of(space, state);
}

/* ---- how likely a warp that waits becomes ready ---- */

static void chances_exact(const struct chain *chain, const struct space *spaces, const uint32_t states[CHAIN_KERNELS],
                          double duration, double chances[CHAIN_KERNELS][MODEL_ACCESSES])
{
    double requests = 0;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
            requests += spaces[k].states[states[k]].idle[kind] * spaces[k].kernel->requests[kind];
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
            chances[k][kind] = chances_of(duration, chances_latency(chain, kind, requests));
}

/* ---- rows ---- */

/* Idle warps after the step: those that keep waiting, and those that begin to wait. */
static void part_of_one_kind(const struct space *space, uint32_t state, double chance, struct part *part)
{
    struct binomial stays;
    const struct binomial *begins = &space->begins[ready_of(space, state)];
    binomial_make(idle_of(space, state), 1 - chance, space->tail, &stays);
    uint32_t stay_count = stays.last - stays.first + 1, begin_count = begins->last - begins->first + 1;
    part->first = stays.first + begins->first;
    part->count = stay_count + begin_count - 1;
    memset(part->p, 0, part->count * sizeof *part->p);
    for (uint32_t i = 0; i < stay_count; i++)
        for (uint32_t j = 0; j < begin_count; j++)
            part->p[i + j] += stays.p[i] * begins->p[j];
}

/* The same for both kinds at once: those that begin are divided between the two. */
static void part_of_both(const struct space *space, uint32_t state, const double chances[MODEL_ACCESSES],
                         struct part *part)
{
    uint32_t w = space->kernel->warps, side = w + 1;
    double *from = space->scratch, *to = space->scratch + (size_t)side * side;
    const struct binomial *begins = &space->begins[ready_of(space, state)];
    struct binomial split, stays;
    memset(from, 0, (size_t)side * side * sizeof *from);
    for (uint32_t all = begins->first; all <= begins->last; all++) {
        binomial_make(all, space->kernel->uncoalesced, space->tail, &split);
        for (uint32_t u = split.first; u <= split.last; u++)
            from[(all - u) * side + u] += begins->p[all - begins->first] * split.p[u - split.first];
    }
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        uint32_t stride = kind == MODEL_COALESCED ? side : 1;
        binomial_make(space->states[state].idle[kind], 1 - chances[kind], space->tail, &stays);
        memset(to, 0, (size_t)side * side * sizeof *to);
        for (uint32_t k = stays.first; k <= stays.last; k++)
            for (uint32_t i = 0; i + (kind == MODEL_COALESCED ? k : 0) <= w; i++)
                for (uint32_t u = 0; i + u + k <= w; u++)
                    to[i * side + u + k * stride] += stays.p[k - stays.first] * from[i * side + u];
        double *swap = from;
        from = to;
        to = swap;
    }
    part->first = 0;
    part->count = space->count;
    for (uint32_t s = 0; s < space->count; s++)
        part->p[s] = from[space->states[s].idle[MODEL_COALESCED] * side + space->states[s].idle[MODEL_UNCOALESCED]];
}

static void transitions_free(struct transitions *transitions)
{
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        space_free(&transitions->spaces[k]);
    free(transitions->parts);
    free(transitions->pool);
    free(transitions->durations);
}

/* `lumped`: the chances of the row's states; NULL: kinds are kept apart. */
static void fill_row(const struct chain *chain, struct transitions *transitions, uint32_t a, uint32_t b,
                     double lumped[CHAIN_KERNELS][CHAIN_MAX_WARPS + 1])
{
    const struct space *spaces = transitions->spaces;
    const uint32_t states[CHAIN_KERNELS] = {a, b};
    uint32_t row = a * spaces[1].count + b, ready = ready_of(&spaces[0], a) + ready_of(&spaces[1], b);
    double duration = ready > 0 ? ready : 1, chances[CHAIN_KERNELS][MODEL_ACCESSES] = {{0}};
    transitions->durations[row] = duration;
    if (!lumped)
        chances_exact(chain, spaces, states, duration, chances);
    for (uint32_t k = 0; k < CHAIN_KERNELS && lumped; k++)
        chances[k][spaces[k].kind] = lumped[k][b];
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
        struct part *part = &transitions->parts[row * CHAIN_KERNELS + k];
        part->p = transitions->free;
        if (spaces[k].kind < MODEL_ACCESSES)
            part_of_one_kind(&spaces[k], states[k], chances[k][spaces[k].kind], part);
        else
            part_of_both(&spaces[k], states[k], chances[k], part);
        transitions->free += part->count;
    }
}

static enum corun_status transitions_make(const struct chain *chain, struct transitions *transitions)
{
    *transitions = (struct transitions){0};
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        if (space_make(&transitions->spaces[k], chain, &chain->kernels[k]) != CORUN_OK)
            return CORUN_MEMORY;
    const struct space *spaces = transitions->spaces;
    uint32_t states = spaces[0].count * spaces[1].count;
    if (states > MOST_STATES)
        return CORUN_LIMIT;
    transitions->parts = malloc(states * CHAIN_KERNELS * sizeof *transitions->parts);
    transitions->pool = malloc(states * (size_t)(spaces[0].count + spaces[1].count) * sizeof *transitions->pool);
    transitions->durations = malloc(states * sizeof *transitions->durations);
    if (!transitions->parts || !transitions->pool || !transitions->durations)
        return CORUN_MEMORY;
    transitions->free = transitions->pool;
    double lumped[CHAIN_KERNELS][CHAIN_MAX_WARPS + 1] = {{0}};
    for (uint32_t a = 0; a < spaces[0].count; a++) {
        if (chain->states == MODEL_LUMPED)
            chances_lumped(chain, a, lumped);
        for (uint32_t b = 0; b < spaces[1].count; b++)
            fill_row(chain, transitions, a, b, chain->states == MODEL_LUMPED ? lumped : NULL);
    }
    return CORUN_OK;
}

static inline void add_multiple(double *restrict to, double factor, const double *restrict values, uint32_t count)
{
    for (uint32_t j = 0; j < count; j++)
        to[j] += factor * values[j];
}

static void step(const void *user, const double *from, double *to)
{
    const struct transitions *transitions = user;
    uint32_t columns = transitions->spaces[1].count, states = transitions->spaces[0].count * columns;
    memset(to, 0, states * sizeof *to);
    for (uint32_t s = 0; s < states; s++) {
        const struct part *parts = &transitions->parts[s * CHAIN_KERNELS];
        double *corner = to + (size_t)parts[0].first * columns + parts[1].first;
        for (uint32_t i = 0; i < parts[0].count; i++)
            add_multiple(corner + (size_t)i * columns, from[s] * parts[0].p[i], parts[1].p, parts[1].count);
    }
}

/* ---- the steady state ---- */

/* The start: warps wait independently of each other, as long as in the mean. */
static void start(const struct chain *chain, const struct transitions *transitions, double *distribution)
{
    const struct space *spaces = transitions->spaces;
    double waits[CHAIN_KERNELS], long_ones[CHAIN_KERNELS];
    chances_in_the_mean(chain, waits, long_ones);
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
        struct binomial idle, split;
        memset(spaces[k].scratch, 0, spaces[k].count * sizeof(double));
        binomial_make(spaces[k].kernel->warps, waits[k], spaces[k].tail, &idle);
        for (uint32_t s = 0; s < spaces[k].count; s++) {
            uint32_t all = idle_of(&spaces[k], s), uncoalesced = spaces[k].states[s].idle[MODEL_UNCOALESCED];
            double p = all >= idle.first && all <= idle.last ? idle.p[all - idle.first] : 0;
            binomial_make(all, spaces[k].kind < MODEL_ACCESSES ? spaces[k].kind : long_ones[k], spaces[k].tail, &split);
            bool within = uncoalesced >= split.first && uncoalesced <= split.last;
            spaces[k].scratch[s] = within ? p * split.p[uncoalesced - split.first] : 0;
        }
    }
    for (uint32_t a = 0; a < spaces[0].count; a++)
        for (uint32_t b = 0; b < spaces[1].count; b++)
            distribution[a * spaces[1].count + b] = spaces[0].scratch[a] * spaces[1].scratch[b];
}

/* Equations 3 to 5: what each kernel issues over how long the rounds take. */
static void sum_up(const struct transitions *transitions, const double *distribution, struct chain_steady *steady)
{
    const struct space *spaces = transitions->spaces;
    double time = 0, stalled = 0, idle = 0, issued[CHAIN_KERNELS] = {0}, all = 0;
    for (uint32_t a = 0; a < spaces[0].count; a++)
        for (uint32_t b = 0; b < spaces[1].count; b++) {
            uint32_t s = a * spaces[1].count + b,
                     ready[CHAIN_KERNELS] = {ready_of(&spaces[0], a), ready_of(&spaces[1], b)};
            double p = distribution[s];
            all += p;
            time += p * transitions->durations[s];
            stalled += ready[0] + ready[1] == 0 ? p : 0;
            idle += p * (idle_of(&spaces[0], a) + idle_of(&spaces[1], b));
            for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
                issued[k] += p * ready[k];
        }
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        steady->ipc[k] = issued[k] / time;
    steady->stalled = stalled / time;
    steady->idle_warps = idle / all;
}

bool chain_in_range(const struct chain *chain)
{
    bool fine = chain->kernels[0].warps + chain->kernels[1].warps > 0;
    fine = fine && chain->tolerance >= 1e-14 && chain->tolerance <= 0.1;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
        const struct chain_kernel *kernel = &chain->kernels[k];
        fine = fine && kernel->warps <= CHAIN_MAX_WARPS && kernel->wait >= 0 && kernel->wait <= 1;
        fine = fine && kernel->uncoalesced >= 0 && kernel->uncoalesced <= 1;
        for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
            fine = fine && kernel->requests[kind] >= 0 && kernel->requests[kind] <= 1e6;
    }
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        const struct model_line *line = &chain->latency[kind];
        fine = fine && line->slope >= 0 && line->slope <= 1e9 && line->intercept > 0 && line->intercept <= 1e12;
    }
    return fine;
}

enum corun_status chain_solve(const struct chain *chain, struct chain_steady *steady)
{
    struct transitions transitions;
    if (!chain_in_range(chain))
        return CORUN_ARGUMENT;
    *steady = (struct chain_steady){0};
    enum corun_status status = transitions_make(chain, &transitions);
    double *distribution = NULL;
    if (status == CORUN_OK) {
        steady->states = transitions.spaces[0].count * transitions.spaces[1].count;
        distribution = malloc(steady->states * sizeof *distribution);
        status = distribution ? CORUN_OK : CORUN_MEMORY;
    }
    if (status == CORUN_OK) {
        struct stationary_problem problem = {
            .states = steady->states, .step = step, .user = &transitions, .tolerance = chain->tolerance};
        start(chain, &transitions, distribution);
        status = stationary_find(&problem, distribution, &steady->iterations);
    }
    if (status == CORUN_OK)
        sum_up(&transitions, distribution, steady);
    free(distribution);
    transitions_free(&transitions);
    return status;
}

enum corun_status chain_matrix(const struct chain *chain, double **matrix, double **durations, uint32_t *states)
{
    struct transitions transitions;
    *matrix = NULL;
    if (!chain_in_range(chain))
        return CORUN_ARGUMENT;
    enum corun_status status = transitions_make(chain, &transitions);
    uint32_t n = transitions.spaces[0].count * transitions.spaces[1].count;
    double *one = status == CORUN_OK ? calloc(n, sizeof *one) : NULL;
    double *all = status == CORUN_OK ? malloc((size_t)n * n * sizeof *all) : NULL;
    if (status == CORUN_OK && (!one || !all))
        status = CORUN_MEMORY;
    for (uint32_t s = 0; status == CORUN_OK && s < n; s++) {
        one[s] = 1;
        step(&transitions, one, all + (size_t)s * n);
        one[s] = 0;
    }
    if (status == CORUN_OK) {
        *matrix = all;
        *states = n;
        if (durations) {
            *durations = transitions.durations;
            transitions.durations = NULL;
        }
    } else {
        free(all);
    }
    free(one);
    transitions_free(&transitions);
    return status;
}
