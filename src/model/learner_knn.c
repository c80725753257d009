/* SPDX-License-Identifier: MIT */
/*
 * K nearest neighbours. Points are in order of size; a search starts at the query's size and goes outwards on both sides until what is
 * left is farther away in size alone than the neighbours that it has: exact, and without an allocation (libraries of trees make one for every
 * query).
 */
#include "model/learners.h"

#include <stdlib.h>
#include <string.h>

static int by_position(const void *first, const void *second)
{
    const struct point *a = first, *b = second;
    for (uint32_t f = 0; f < FEATURES; f++)
        if (a->x[f] != b->x[f])
            return a->x[f] < b->x[f] ? -1 : 1;
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++)
        if (a->y[t] != b->y[t])
            return a->y[t] < b->y[t] ? -1 : 1;
    return 0;
}

void knn_learn(struct knn *knn, struct point *points, uint32_t count)
{
    qsort(points, count, sizeof *points, by_position);
    *knn = (struct knn){.count = count, .points = points};
}

/* Those found until now, the nearest first. */
struct nearest {
    uint32_t count;
    struct {
        double distance; /* squared */
        uint32_t point;
    } list[NEIGHBOURS];
};

static bool is_too_far(const struct nearest *nearest, double distance)
{
    return nearest->count == NEIGHBOURS && distance > nearest->list[NEIGHBOURS - 1].distance;
}

/* Of two at the same distance, the one with the lower number is nearer. */
static void consider(const struct knn *knn, const double x[FEATURES], uint32_t index, struct nearest *nearest)
{
    double distance = 0;
    for (uint32_t f = 0; f < FEATURES; f++)
        distance += (knn->points[index].x[f] - x[f]) * (knn->points[index].x[f] - x[f]);
    uint32_t place = nearest->count;
    while (place > 0 && (nearest->list[place - 1].distance > distance ||
                         (nearest->list[place - 1].distance == distance && nearest->list[place - 1].point > index)))
        place--;
    if (place == NEIGHBOURS)
        return;
    nearest->count += nearest->count < NEIGHBOURS;
    memmove(&nearest->list[place + 1], &nearest->list[place], (nearest->count - place - 1) * sizeof nearest->list[0]);
    nearest->list[place].distance = distance;
    nearest->list[place].point = index;
}

void knn_predict(const struct knn *knn, const double x[FEATURES], double y[PREDICTOR_TARGETS])
{
    uint32_t low = 0, high = knn->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (knn->points[middle].x[0] < x[0])
            low = middle + 1;
        else
            high = middle;
    }
    struct nearest nearest = {0};
    uint32_t below = low, above = low;
    bool down = below > 0, up = above < knn->count;
    while (down || up) {
        double under = down ? x[0] - knn->points[below - 1].x[0] : 0, over = up ? knn->points[above].x[0] - x[0] : 0;
        if (down && (!up || under <= over)) {
            if (is_too_far(&nearest, under * under))
                down = false;
            else
                consider(knn, x, --below, &nearest);
            down = down && below > 0;
        } else {
            if (is_too_far(&nearest, over * over))
                up = false;
            else
                consider(knn, x, above++, &nearest);
            up = up && above < knn->count;
        }
    }
    for (uint32_t t = 0; t < PREDICTOR_TARGETS; t++) {
        y[t] = 0;
        for (uint32_t i = 0; i < nearest.count; i++)
            y[t] += knn->points[nearest.list[i].point].y[t];
        y[t] /= nearest.count;
    }
}
