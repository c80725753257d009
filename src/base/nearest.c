/* SPDX-License-Identifier: MIT */
/* Which known name a mistyped name probably meant: the one with the smallest edit distance, if that is small enough. */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST_NAME 127u

/* Edits (insert, delete, replace) from one word to the other; SIZE_MAX for very long ones. */
static size_t edit_distance(const char *from, const char *to)
{
    size_t rows = strlen(from), columns = strlen(to);
    if (rows > LONGEST_NAME || columns > LONGEST_NAME)
        return SIZE_MAX;
    size_t distance[LONGEST_NAME + 1];
    for (size_t column = 0; column <= columns; column++)
        distance[column] = column;
    for (size_t row = 1; row <= rows; row++) {
        size_t diagonal = distance[0];
        distance[0] = row;
        for (size_t column = 1; column <= columns; column++) {
            size_t above = distance[column];
            size_t best = diagonal + (from[row - 1] != to[column - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (distance[column - 1] + 1 < best)
                best = distance[column - 1] + 1;
            distance[column] = best;
            diagonal = above;
        }
    }
    return distance[columns];
}

const char *nearest_name(const char *text, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]), allowed = length / 3 > 2 ? length / 3 : 2;
        size_t distance = edit_distance(text, names[i]);
        if (distance <= allowed && distance < length && distance < best) {
            nearest = names[i];
            best = distance;
        }
    }
    return nearest;
}
