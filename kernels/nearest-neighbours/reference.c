/* SPDX-License-Identifier: MIT */
/* Clustered points and queries on a grid of integers, and the nearest five points of each query, with integer arithmetic. */
#include "corun/workload.h"

#include <stdlib.h>

#define DIMENSIONS 4
#define NEIGHBOURS 5
#define LIMIT 2048
#define CLUSTERS 24

struct cluster {
    int32_t centre[DIMENSIONS], spread;
};

/* Around the centre, the sum of three uniform numbers, which is near to normal; LIMIT is the edge of the world. */
static float random_coordinate(const struct cluster *cluster, int dimension, uint64_t *state)
{
    float sum = corun_random_unit(state) + corun_random_unit(state) + corun_random_unit(state) - 1.5f;
    int32_t coordinate = cluster->centre[dimension] + (int32_t)(sum * (float)cluster->spread);
    return (float)(coordinate < 0 ? 0 : coordinate >= LIMIT ? LIMIT - 1 : coordinate);
}

/* One in eight belongs to no cluster. The clusters are of different size and, as later ones are rarer, of different weight. */
static void scatter(float *places, uint64_t count, const struct cluster *clusters, uint64_t *state)
{
    for (uint64_t i = 0; i < count; i++) {
        bool anywhere = corun_random(state) % 8 == 0;
        uint64_t one = corun_random(state) % CLUSTERS, other = corun_random(state) % CLUSTERS;
        const struct cluster *cluster = &clusters[one < other ? one : other];
        for (int k = 0; k < DIMENSIONS; k++)
            places[i * DIMENSIONS + (uint64_t)k] =
                anywhere ? (float)(corun_random(state) % LIMIT) : random_coordinate(cluster, k, state);
    }
}

static bool generate(const struct corun_problem *problem)
{
    uint64_t points = (uint64_t)corun_problem_value(problem, "points");
    uint64_t queries = (uint64_t)corun_problem_value(problem, "queries");
    float *point = corun_problem_data(problem, "points", CORUN_ELEMENT_F32, points * DIMENSIONS);
    float *query = corun_problem_data(problem, "queries", CORUN_ELEMENT_F32, queries * DIMENSIONS);
    if (!point || !query || points < NEIGHBOURS)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6e65617265737400);
    struct cluster clusters[CLUSTERS];
    for (int i = 0; i < CLUSTERS; i++) {
        for (int k = 0; k < DIMENSIONS; k++)
            clusters[i].centre[k] = (int32_t)(corun_random(&state) % LIMIT);
        clusters[i].spread = 8 << corun_random(&state) % 6;
    }
    scatter(point, points, clusters, &state);
    scatter(query, queries, clusters, &state);
    return true;
}

/* A distance and an index in one number, so that the least is the nearest, and among equals the first. */
static int by_rank(const void *left, const void *right)
{
    uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
    return l < r ? -1 : l > r;
}

/* The five least come to the front: those that are not above the fifth of a sample are sorted. */
static void select_nearest(uint64_t *ranks, uint64_t count, uint64_t *candidates)
{
    uint64_t bound = UINT64_MAX, found = 0;
    uint64_t sample = count < 256 ? count : 256;
    memcpy(candidates, ranks, sample * sizeof *ranks);
    qsort(candidates, sample, sizeof *candidates, by_rank);
    bound = candidates[NEIGHBOURS - 1];
    for (uint64_t i = 0; i < count; i++) {
        candidates[found] = ranks[i];
        found += ranks[i] <= bound;
    }
    qsort(candidates, found, sizeof *candidates, by_rank);
    memcpy(ranks, candidates, NEIGHBOURS * sizeof *ranks);
}

static void rank_points(const int32_t *points, uint64_t count, const float *query, uint64_t *ranks)
{
    int32_t place[DIMENSIONS];
    for (int k = 0; k < DIMENSIONS; k++)
        place[k] = (int32_t)query[k];
    for (uint64_t i = 0; i < count; i++) {
        uint32_t square = 0;
        for (int k = 0; k < DIMENSIONS; k++) {
            int32_t difference = points[i * DIMENSIONS + (uint64_t)k] - place[k];
            square += (uint32_t)(difference * difference);
        }
        ranks[i] = (uint64_t)square << 32 | i;
    }
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t points = (uint64_t)corun_problem_value(problem, "points");
    uint64_t queries = (uint64_t)corun_problem_value(problem, "queries");
    uint64_t first = (uint64_t)corun_problem_value(problem, "first");
    uint64_t asked = (uint64_t)corun_problem_value(problem, "asked");
    const float *point = corun_problem_data(problem, "points", CORUN_ELEMENT_F32, points * DIMENSIONS);
    const float *query = corun_problem_data(problem, "queries", CORUN_ELEMENT_F32, queries * DIMENSIONS);
    int32_t *nearest = corun_problem_data(problem, "nearest", CORUN_ELEMENT_S32, queries * NEIGHBOURS);
    float *squares = corun_problem_data(problem, "squares", CORUN_ELEMENT_F32, queries * NEIGHBOURS);
    int32_t *integers = malloc(points * DIMENSIONS * sizeof *integers);
    uint64_t *ranks = malloc(2 * points * sizeof *ranks);
    bool possible = point && query && nearest && squares && integers && ranks && points >= NEIGHBOURS &&
                    first <= queries && asked <= queries - first;
    for (uint64_t i = 0; possible && i < points * DIMENSIONS; i++)
        integers[i] = (int32_t)point[i];
    for (uint64_t i = first; possible && i < first + asked; i++) {
        rank_points(integers, points, query + i * DIMENSIONS, ranks);
        select_nearest(ranks, points, ranks + points);
        for (uint64_t k = 0; k < NEIGHBOURS; k++) {
            nearest[i * NEIGHBOURS + k] = (int32_t)(ranks[k] & UINT32_MAX);
            squares[i * NEIGHBOURS + k] = (float)(ranks[k] >> 32);
        }
    }
    free(integers);
    free(ranks);
    return possible;
}

const struct corun_reference corun_reference_nearest_neighbours = {
    .name = "nearest-neighbours",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"clusters", generate}, {0}},
};
