/* SPDX-License-Identifier: MIT */
/* The assignment with the largest sum: one row after the other finds its column along a shortest augmenting path. */
#include "host/assignment.h"

#include <math.h>
#include <stdlib.h>

#define FREE SIZE_MAX

/* Costs are values with the other sign. Every column has the row that it belongs to, a potential, and what a path to it costs. */
struct column {
    size_t row;    /* FREE */
    size_t before; /* on the shortest path: the column whose row leads here; FREE: the row that is being placed */
    double
        potential; /* so that cost - potentials of row and column is never below 0, and 0 where they belong together */
    double distance;
    bool reached; /* its distance is final */
};

struct assignment {
    const double *values;
    size_t count;
    struct column *columns;
    double *row_potentials;
};

static double reduced_cost(const struct assignment *assignment, size_t row, size_t column)
{
    return -assignment->values[row * assignment->count + column] - assignment->row_potentials[row] -
           assignment->columns[column].potential;
}

/* Paths that lead through `row`, at a distance of its own. */
static void extend(struct assignment *assignment, size_t row, size_t before, double distance)
{
    for (size_t c = 0; c < assignment->count; c++) {
        struct column *column = &assignment->columns[c];
        double through = distance + reduced_cost(assignment, row, c);
        if (!column->reached && through < column->distance) {
            column->distance = through;
            column->before = before;
        }
    }
}

/* The nearest column that is not reached yet, the first of equals. */
static size_t nearest(const struct assignment *assignment)
{
    size_t found = FREE;
    for (size_t c = 0; c < assignment->count; c++)
        if (!assignment->columns[c].reached &&
            (found == FREE || assignment->columns[c].distance < assignment->columns[found].distance))
            found = c;
    return found;
}

/* Potentials after a search that ended at that distance: paths to what was reached now cost nothing. */
static void raise_potentials(struct assignment *assignment, size_t row, double distance)
{
    assignment->row_potentials[row] += distance;
    for (size_t c = 0; c < assignment->count; c++) {
        struct column *column = &assignment->columns[c];
        if (!column->reached || column->row == FREE)
            continue;
        assignment->row_potentials[column->row] += distance - column->distance;
        column->potential -= distance - column->distance;
    }
}

static void place(struct assignment *assignment, size_t row)
{
    for (size_t c = 0; c < assignment->count; c++) {
        assignment->columns[c].distance = INFINITY;
        assignment->columns[c].reached = false;
    }
    extend(assignment, row, FREE, 0);
    size_t at = nearest(assignment);
    for (; assignment->columns[at].row != FREE; at = nearest(assignment)) {
        assignment->columns[at].reached = true;
        extend(assignment, assignment->columns[at].row, at, assignment->columns[at].distance);
    }
    raise_potentials(assignment, row, assignment->columns[at].distance);
    for (size_t before; (before = assignment->columns[at].before) != FREE; at = before)
        assignment->columns[at].row = assignment->columns[before].row;
    assignment->columns[at].row = row;
}

enum corun_status host_assign(const double *values, size_t count, size_t *column)
{
    struct assignment assignment = {values, count, calloc(count + 1, sizeof *assignment.columns),
                                    calloc(count + 1, sizeof *assignment.row_potentials)};
    enum corun_status status = assignment.columns && assignment.row_potentials ? CORUN_OK : CORUN_MEMORY;
    for (size_t c = 0; c < count && !status; c++)
        assignment.columns[c].row = FREE;
    for (size_t row = 0; row < count && !status; row++)
        place(&assignment, row);
    for (size_t c = 0; c < count && !status; c++)
        column[assignment.columns[c].row] = c;
    free(assignment.columns);
    free(assignment.row_potentials);
    return status;
}
