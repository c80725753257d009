/* SPDX-License-Identifier: MIT */
/* The floor plan, and the temperatures after all steps, whole grids at a time in double precision. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

/*
 * A 16 mm chip of 0.5 mm silicon, 1024 cells a side: dx = dy = 15.625 um, 1.75e6 J/(m3 K), 100 W/(m K). capacity =
 * 0.5 * 1.75e6 * 0.0005 * dx * dy, lateral resistance = dy / (2 * 100 * 0.0005 * dx), vertical resistance = 0.0005 /
 * (100 * dx * dy); the description rounds them to what is here.
 */
static const float CAPACITY = 1.068e-7f, RESISTANCE = 10.0f, RESISTANCE_Z = 20480.0f;
static const float STEP_SECONDS = 1.458e-7f, AMBIENT = 45.0f;
static const float MOST_POWER = 7.3e-4f; /* of a cell, in W: 3e6 W/m2 */

/* A unit of the floor plan is this many cells wide and high at least. */
enum { UNIT = 24 };

static float unit_power(int64_t unit_x, int64_t unit_y, uint64_t seed)
{
    uint64_t state = seed ^ (uint64_t)(unit_x * 4099 + unit_y) * UINT64_C(0x9e3779b97f4a7c15);
    float level = corun_random_unit(&state);
    /* few units are busy, many nearly idle */
    return MOST_POWER * level * level * level;
}

static bool generate(const struct corun_problem *problem)
{
    int64_t columns = corun_problem_value(problem, "columns");
    int64_t rows = corun_problem_value(problem, "rows");
    if (columns < 1 || rows < 1)
        return false;
    uint64_t cells = (uint64_t)(columns * rows);
    float *power = corun_problem_data(problem, "power", CORUN_ELEMENT_F32, cells);
    float *temperature = corun_problem_data(problem, "temperature", CORUN_ELEMENT_F32, cells);
    if (!power || !temperature)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x686f7473706f0000);
    for (int64_t y = 0; y < rows; y++) {
        for (int64_t x = 0; x < columns; x++) {
            /* units of unequal width: every third column of units is twice as wide */
            int64_t unit_x = x / UNIT - (x / UNIT + 1) / 3;
            float unit = unit_power(unit_x, y / UNIT, problem->seed);
            int64_t cell = y * columns + x;
            power[cell] = unit * (0.75f + 0.5f * corun_random_unit(&state));
            /* warmer where it is busy, a gradient over the chip, and a little noise */
            temperature[cell] = 50.0f + 10.0f * (float)x / (float)columns + 25.0f * unit / MOST_POWER +
                                0.5f * corun_random_unit(&state);
        }
    }
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    int64_t columns = corun_problem_value(problem, "columns");
    int64_t rows = corun_problem_value(problem, "rows");
    int64_t steps = corun_problem_value(problem, "steps");
    uint64_t cells = (uint64_t)(columns * rows);
    const float *power = corun_problem_data(problem, "power", CORUN_ELEMENT_F32, cells);
    float *temperature = corun_problem_data(problem, "temperature", CORUN_ELEMENT_F32, cells);
    double *now = calloc(cells, sizeof *now);
    double *next = calloc(cells, sizeof *next);
    if (!power || !temperature || !now || !next) {
        free(now);
        free(next);
        return false;
    }
    double gain = (double)STEP_SECONDS / CAPACITY;
    for (uint64_t i = 0; i < cells; i++)
        now[i] = temperature[i];
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t y = 0; y < rows; y++) {
            for (int64_t x = 0; x < columns; x++) {
                const double *cell = now + y * columns + x;
                double flow = (AMBIENT - *cell) / RESISTANCE_Z;
                if (x > 0)
                    flow += (cell[-1] - *cell) / RESISTANCE;
                if (x < columns - 1)
                    flow += (cell[1] - *cell) / RESISTANCE;
                if (y > 0)
                    flow += (cell[-columns] - *cell) / RESISTANCE;
                if (y < rows - 1)
                    flow += (cell[columns] - *cell) / RESISTANCE;
                next[y * columns + x] = *cell + gain * (power[y * columns + x] + flow);
            }
        }
        double *other = now;
        now = next;
        next = other;
    }
    for (uint64_t i = 0; i < cells; i++)
        temperature[i] = (float)now[i];
    free(now);
    free(next);
    return true;
}

const struct corun_reference corun_reference_hotspot = {
    .name = "hotspot",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"floor_plan", generate}, {0}},
};
