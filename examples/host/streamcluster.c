/* SPDX-License-Identifier: MIT */
/*
 * streamcluster: groups points of a stream, a block at a time, by local search for the k-median problem: would it cost less to open a centre
 * at this point? (Charikar, Guha: Improved Combinatorial Algorithms for the Facility Location and k-Median Problems, FOCS 1999.) Stands for
 * streamcluster of PARSEC.
 *
 * Data: a block of 49152 points of 64 coordinates, 12 MB, read from one end to the other for each candidate: all of it fits in a last-level
 * cache, or nothing does. One candidate is two phases; 512 points are a task.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum {
    POINTS = 49152,
    COORDINATES = 64,
    LANES = 8,
    TASK_POINTS = 512,
    TASKS = POINTS / TASK_POINTS,
    MOST_CENTRES = 64,
    GROUPS = 12
};
static const double centre_cost = 30000;

struct task_sum {
    double gain;               /* of points that would move to the candidate */
    double lost[MOST_CENTRES]; /* what the others of a centre would pay more if it were closed */
};

struct clusters {
    float *points;   /* [POINTS][COORDINATES] */
    uint8_t *centre; /* [POINTS]: place in `centres` */
    float *cost;     /* [POINTS]: squared distance from the centre */
    float *candidate_cost;
    uint32_t centres[MOST_CENTRES]; /* points */
    bool open[MOST_CENTRES];
    uint32_t centre_count, candidate, candidates, opened;
    struct task_sum *sums;    /* [TASKS] */
    bool moves[MOST_CENTRES]; /* the centre is closed for the candidate */
    double first_cost, total;
    uint64_t seed;
};

static void *create(uint32_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    struct clusters *clusters = program_allocate(1, sizeof *clusters);
    clusters->points = program_allocate((size_t)POINTS * COORDINATES, sizeof(float));
    clusters->centre = program_allocate(POINTS, 1);
    clusters->cost = program_allocate(POINTS, sizeof(float));
    clusters->candidate_cost = program_allocate(POINTS, sizeof(float));
    clusters->sums = program_allocate(TASKS, sizeof *clusters->sums);
    return clusters;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct clusters *clusters = state;
    clusters->candidates = size;
    clusters->seed = seed;
    for (uint32_t p = 0; p < POINTS; p++)
        for (uint32_t c = 0; c < COORDINATES; c++)
            clusters->points[(size_t)p * COORDINATES + c] =
                10 * program_random_float(seed + 1, program_random(seed, p) % GROUPS * COORDINATES + c) +
                program_random_normal(seed + 2, (uint64_t)p * COORDINATES + c);
}

static float distance(const struct clusters *clusters, uint32_t a, uint32_t b)
{
    const float *x = clusters->points + (size_t)a * COORDINATES, *y = clusters->points + (size_t)b * COORDINATES;
    float lane[LANES] = {0}, sum = 0;
    for (uint32_t c = 0; c < COORDINATES; c += LANES)
        for (uint32_t l = 0; l < LANES; l++)
            lane[l] += (x[c + l] - y[c + l]) * (x[c + l] - y[c + l]);
    for (uint32_t l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static void begin(void *user, uint32_t task)
{
    struct clusters *clusters = user;
    struct task_sum *sum = &clusters->sums[task];
    sum->gain = 0;
    for (uint32_t p = task * TASK_POINTS; p < (task + 1) * TASK_POINTS; p++) {
        clusters->centre[p] = 0;
        clusters->cost[p] = distance(clusters, p, clusters->centres[0]);
        sum->gain += (double)clusters->cost[p];
    }
}

static void weigh(void *user, uint32_t task)
{
    struct clusters *clusters = user;
    struct task_sum *sum = &clusters->sums[task];
    *sum = (struct task_sum){.gain = 0};
    for (uint32_t p = task * TASK_POINTS; p < (task + 1) * TASK_POINTS; p++) {
        float cost = clusters->candidate_cost[p] = distance(clusters, p, clusters->candidate);
        double less = (double)clusters->cost[p] - (double)cost;
        if (less > 0)
            sum->gain += less;
        else
            sum->lost[clusters->centre[p]] -= less;
    }
}

static void move(void *user, uint32_t task)
{
    struct clusters *clusters = user;
    for (uint32_t p = task * TASK_POINTS; p < (task + 1) * TASK_POINTS; p++)
        if (clusters->candidate_cost[p] < clusters->cost[p] || clusters->moves[clusters->centre[p]]) {
            clusters->centre[p] = (uint8_t)clusters->opened;
            clusters->cost[p] = clusters->candidate_cost[p];
        }
}

/* What opening the candidate saves, and closing those centres whose points it can take for less than a centre costs. */
static double gain(struct clusters *clusters)
{
    double sum = -centre_cost;
    for (uint32_t t = 0; t < TASKS; t++)
        sum += clusters->sums[t].gain;
    for (uint32_t c = 0; c < clusters->centre_count; c++) {
        double lost = 0;
        for (uint32_t t = 0; t < TASKS; t++)
            lost += clusters->sums[t].lost[c];
        clusters->moves[c] = clusters->open[c] && lost < centre_cost;
        sum += clusters->moves[c] ? centre_cost - lost : 0;
    }
    return sum;
}

static void run(void *state, struct tasks *tasks)
{
    struct clusters *clusters = state;
    clusters->centre_count = 1;
    clusters->centres[0] = 0;
    clusters->open[0] = true;
    tasks_phase(tasks, "begin", begin, clusters, TASKS);
    clusters->total = centre_cost;
    for (uint32_t t = 0; t < TASKS; t++)
        clusters->total += clusters->sums[t].gain;
    clusters->first_cost = clusters->total;
    for (uint32_t i = 0; i < clusters->candidates; i++) {
        tasks_span(tasks, (double)i / clusters->candidates, (i + 1.0) / clusters->candidates, 1);
        clusters->candidate = (uint32_t)(program_random(clusters->seed + 3, i) % POINTS);
        tasks_phase(tasks, "weigh", weigh, clusters, TASKS);
        double saved = gain(clusters);
        uint32_t place = 0; /* a closed centre's, or a new one */
        while (place < clusters->centre_count && clusters->open[place])
            place++;
        if (saved <= 0 || place == MOST_CENTRES)
            continue;
        clusters->opened = place;
        tasks_phase(tasks, "move", move, clusters, TASKS);
        for (uint32_t c = 0; c < clusters->centre_count; c++)
            clusters->open[c] = clusters->open[c] && !clusters->moves[c];
        clusters->centres[place] = clusters->candidate;
        clusters->open[place] = true;
        clusters->centre_count += place == clusters->centre_count;
        clusters->total -= saved;
    }
}

/* Points are with open centres at the distance that is told, and the sum is what the steps made of it. */
static const char *check(const void *state)
{
    const struct clusters *clusters = state;
    double total = 0;
    for (uint32_t c = 0; c < clusters->centre_count; c++)
        total += clusters->open[c] ? centre_cost : 0;
    for (uint32_t p = 0; p < POINTS; p++) {
        double sum = 0;
        if (!clusters->open[clusters->centre[p]])
            return "a point is with a centre that is closed";
        for (uint32_t c = 0; c < COORDINATES; c++) {
            double apart = (double)clusters->points[(size_t)p * COORDINATES + c] -
                           (double)clusters->points[(size_t)clusters->centres[clusters->centre[p]] * COORDINATES + c];
            sum += apart * apart;
        }
        if (!(fabs(sum - (double)clusters->cost[p]) <= 1e-4 * sum + 1e-6))
            return "a point has not the cost of its centre";
        total += sum;
    }
    if (!(fabs(total - clusters->total) <= 1e-5 * clusters->first_cost))
        return "the sum of all costs is not what the steps made of it";
    return clusters->total <= clusters->first_cost ? NULL : "more centres cost more than one";
}

static uint64_t fingerprint(const void *state)
{
    const struct clusters *clusters = state;
    return program_fingerprint(program_fingerprint(0, clusters->centre, POINTS), &clusters->total,
                               sizeof clusters->total);
}

static void destroy(void *state)
{
    struct clusters *clusters = state;
    free(clusters->points);
    free(clusters->centre);
    free(clusters->cost);
    free(clusters->candidate_cost);
    free(clusters->sums);
    free(clusters);
}

int main(int count, char **words)
{
    const struct program program = {.name = "streamcluster",
                                    .what = "centres of groups of points",
                                    .size_of = "candidates",
                                    .batch = true,
                                    .size = 200,
                                    .least = 1,
                                    .most = 100000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
