/* SPDX-License-Identifier: MIT */
/* Pairs by hash, sets of kinds by comparison, the best pair by looking at all that may be paired. */
#include "queue/greedy.h"

#include "queue/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t place_of(const struct greedy *greedy, uint32_t first, uint32_t second)
{
    uint64_t hash = ((uint64_t)first << 32 | second) * UINT64_C(0x9e3779b97f4a7c15);
    size_t place = (size_t)(hash >> 32) & (greedy->place_count - 1);
    while (greedy->places[place]) {
        const struct greedy_pair *pair = &greedy->pairs.data[greedy->places[place] - 1];
        if (pair->kinds[0] == first && pair->kinds[1] == second)
            break;
        place = (place + 1) & (greedy->place_count - 1);
    }
    return place;
}

/* Twice as many places, at most half of them taken. */
static bool make_room(struct greedy *greedy)
{
    if (greedy->pairs.count * 2 < greedy->place_count)
        return true;
    size_t count = greedy->place_count ? greedy->place_count * 2 : 64;
    uint32_t *places = calloc(count, sizeof *places);
    if (!places)
        return false;
    free(greedy->places);
    greedy->places = places;
    greedy->place_count = count;
    for (size_t i = 0; i < greedy->pairs.count; i++)
        places[place_of(greedy, greedy->pairs.data[i].kinds[0], greedy->pairs.data[i].kinds[1])] = (uint32_t)i + 1;
    return true;
}

/* The index of the pair of two kinds; a new one has its limit. */
static enum corun_status find_pair(struct greedy *greedy, const struct corun_queue_view *view, uint32_t one,
                                   uint32_t other, uint32_t *index)
{
    struct greedy_pair pair = {.kinds = {one < other ? one : other, one < other ? other : one}, .profit = INFINITY};
    if (!make_room(greedy))
        return CORUN_MEMORY;
    size_t place = place_of(greedy, pair.kinds[0], pair.kinds[1]);
    if (!greedy->places[place]) {
        enum corun_status status = greedy->limit ? greedy->limit(greedy->user, view, &pair) : CORUN_OK;
        if (status != CORUN_OK)
            return status;
        if (!vector_push(&greedy->pairs, pair))
            return CORUN_MEMORY;
        greedy->places[place] = (uint32_t)greedy->pairs.count;
    }
    *index = greedy->places[place] - 1;
    return CORUN_OK;
}

static double rank_of(const struct corun_queue_view *view, uint32_t kind)
{
    const struct corun_queue_profile *profile = &view->kinds[kind].profile;
    double rank = profile->pipeline_utilization - profile->memory_utilization;
    return isnan(rank) ? 0 : rank;
}

/* One of the kinds at an end of the order goes to place `to`; the lowest index of those that are alike. */
static void select_end(const struct corun_queue_view *view, uint32_t *kinds, size_t to, size_t count, double sign)
{
    size_t best = to;
    for (size_t i = to + 1; i < count; i++) {
        if (sign * rank_of(view, kinds[i]) > sign * rank_of(view, kinds[best]))
            best = i;
    }
    uint32_t kind = kinds[best];
    kinds[best] = kinds[to];
    kinds[to] = kind;
}

/* Which of the pending kinds are paired: all, or those at both ends. */
static bool rank_kinds(struct greedy *greedy, const struct corun_queue_view *view)
{
    greedy->ranked.count = 0;
    for (size_t i = 0; i < greedy->set.count; i++) {
        if (!vector_push(&greedy->ranked, greedy->set.data[i]))
            return false;
    }
    if (greedy->ranked.count <= greedy->breadth)
        return true;
    for (uint32_t i = 0; i < greedy->breadth; i++)
        select_end(view, greedy->ranked.data, i, greedy->ranked.count, i % 2 ? -1 : 1);
    greedy->ranked.count = greedy->breadth;
    return true;
}

/* Keeps the pair if it is the best one so far; of those that are alike, the first in the order of kinds. */
static void consider(struct greedy *greedy, const struct greedy_pair *pair, uint32_t turn, uint32_t *best_turn)
{
    bool alike = *best_turn != UINT32_MAX && pair->profit == greedy->best.profit && turn < *best_turn;
    if (!pair->possible || !(pair->profit > greedy->best.profit || alike))
        return;
    greedy->best = *pair;
    *best_turn = turn;
}

/* The greatest limit first. */
static int compare_open(const void *one, const void *other)
{
    const struct greedy_open *a = one, *b = other;
    if (a->limit != b->limit)
        return a->limit > b->limit ? -1 : 1;
    return (a->turn > b->turn) - (a->turn < b->turn);
}

/* Judges what may be better than the best pair so far. */
static enum corun_status judge_open(struct greedy *greedy, const struct corun_queue_view *view, uint32_t *best_turn)
{
    if (greedy->open.count)
        qsort(greedy->open.data, greedy->open.count, sizeof *greedy->open.data, compare_open);
    for (size_t i = 0; i < greedy->open.count; i++) {
        const struct greedy_open *open = &greedy->open.data[i];
        struct greedy_pair pair = greedy->pairs.data[open->pair];
        if (open->limit <= greedy->least || open->limit < greedy->best.profit)
            break;
        pair.profit = 0;
        enum corun_status status = greedy->judge(greedy->user, view, &pair);
        if (status != CORUN_OK)
            return status;
        pair.judged = true;
        greedy->pairs.data[open->pair] = pair;
        consider(greedy, &pair, open->turn, best_turn);
    }
    return CORUN_OK;
}

static enum corun_status decide(struct greedy *greedy, const struct corun_queue_view *view)
{
    uint32_t turn = 0, best_turn = UINT32_MAX;
    greedy->best = (struct greedy_pair){.profit = greedy->least};
    greedy->open.count = 0;
    if (!rank_kinds(greedy, view))
        return CORUN_MEMORY;
    for (size_t i = 0; i < greedy->ranked.count; i++) {
        for (size_t j = i + 1; j < greedy->ranked.count; j++, turn++) {
            uint32_t index;
            enum corun_status status = find_pair(greedy, view, greedy->ranked.data[i], greedy->ranked.data[j], &index);
            if (status != CORUN_OK)
                return status;
            const struct greedy_pair *pair = &greedy->pairs.data[index];
            if (pair->judged)
                consider(greedy, pair, turn, &best_turn);
            else if (!vector_push(&greedy->open, ((struct greedy_open){index, turn, pair->profit})))
                return CORUN_MEMORY;
        }
    }
    return judge_open(greedy, view, &best_turn);
}

/* The pending kinds now; false: out of memory. */
static bool take_set(struct greedy *greedy, const struct corun_queue_view *view)
{
    greedy->set.count = 0;
    for (uint32_t k = 0; k < view->kind_count; k++) {
        if (view->kinds[k].pending && !vector_push(&greedy->set, k))
            return false;
    }
    return true;
}

static bool same_set(const struct greedy *greedy)
{
    return greedy->decided && greedy->set.count == greedy->last_set.count &&
           !memcmp(greedy->set.data, greedy->last_set.data, greedy->set.count * sizeof *greedy->set.data);
}

void greedy_write(const struct corun_queue_view *view, const struct greedy_pair *pair, uint32_t waiting,
                  struct corun_queue_plan *plan)
{
    plan->until = CORUN_QUEUE_EXHAUSTED | CORUN_QUEUE_NEW_KIND;
    if (!pair->residents[0]) {
        plan->grants[plan->grant_count++] = describe_alone(view, view->launches[view->first].kind);
        return;
    }
    plan->profit = pair->profit;
    for (int i = 0; i < 2; i++)
        plan->grants[plan->grant_count++] = describe_grant(view, pair->kinds[i], pair->residents[i], waiting);
}

enum corun_status greedy_plan(struct greedy *greedy, const struct corun_queue_view *view, struct corun_queue_plan *plan)
{
    if (!take_set(greedy, view))
        return CORUN_MEMORY;
    if (!same_set(greedy)) {
        enum corun_status status = decide(greedy, view);
        if (status != CORUN_OK)
            return status;
        greedy->last_set.count = 0;
        for (size_t i = 0; i < greedy->set.count; i++) {
            if (!vector_push(&greedy->last_set, greedy->set.data[i]))
                return CORUN_MEMORY;
        }
        greedy->decided = true;
    }
    greedy_write(view, &greedy->best, greedy->waiting, plan);
    return CORUN_OK;
}

void greedy_end(struct greedy *greedy)
{
    vector_free(&greedy->pairs);
    vector_free(&greedy->open);
    vector_free(&greedy->set);
    vector_free(&greedy->last_set);
    vector_free(&greedy->ranked);
    free(greedy->places);
    greedy->places = NULL;
}
