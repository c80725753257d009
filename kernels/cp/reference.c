/* SPDX-License-Identifier: MIT */
/* Atoms of a molecule below a plane, and their potential on its points: row by row, in double precision. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

enum { ATOM_FIELDS = 4 }; /* x, y, square of the distance from the plane, charge */

static const float SPACING = 0.1f;

static bool generate(const struct corun_problem *problem)
{
    int64_t atoms = corun_problem_value(problem, "atoms");
    int64_t columns = corun_problem_value(problem, "columns");
    int64_t rows = corun_problem_value(problem, "rows");
    float *atom_data = corun_problem_data(problem, "atom_data", CORUN_ELEMENT_F32, (uint64_t)atoms * ATOM_FIELDS);
    if (!atom_data || columns % 128 != 0 || rows % 8 != 0)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6370617400000000);
    float width = SPACING * (float)columns, height = SPACING * (float)rows;
    for (int64_t i = 0; i < atoms; i++) {
        float *atom = atom_data + i * ATOM_FIELDS;
        /* anywhere below the plane, denser on one side, never nearer than half a van der Waals radius */
        float z = 0.75f + 25.0f * corun_random_unit(&state);
        float side = corun_random_unit(&state);
        atom[0] = width * side * side;
        atom[1] = height * corun_random_unit(&state);
        atom[2] = z * z;
        atom[3] = 2.0f * corun_random_unit(&state) - 1.0f;
    }
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t atoms = (uint64_t)corun_problem_value(problem, "atoms");
    uint64_t columns = (uint64_t)corun_problem_value(problem, "columns");
    uint64_t rows = (uint64_t)corun_problem_value(problem, "rows");
    const float *atom_data = corun_problem_data(problem, "atom_data", CORUN_ELEMENT_F32, atoms * ATOM_FIELDS);
    float *potential = corun_problem_data(problem, "potential", CORUN_ELEMENT_F32, columns * rows);
    double *row_sum = malloc(columns * sizeof *row_sum);
    if (!atom_data || !potential || !row_sum) {
        free(row_sum);
        return false;
    }
    for (uint64_t row = 0; row < rows; row++) {
        for (uint64_t column = 0; column < columns; column++)
            row_sum[column] = potential[row * columns + column];
        for (uint64_t i = 0; i < atoms; i++) {
            const float *atom = atom_data + i * ATOM_FIELDS;
            double dy = (double)SPACING * (double)row - atom[1];
            double dyz2 = dy * dy + atom[2];
            for (uint64_t column = 0; column < columns; column++) {
                double dx = (double)SPACING * (double)(int32_t)column - atom[0];
                row_sum[column] += atom[3] / sqrt(dx * dx + dyz2);
            }
        }
        for (uint64_t column = 0; column < columns; column++)
            potential[row * columns + column] = (float)row_sum[column];
    }
    free(row_sum);
    return true;
}

const struct corun_reference corun_reference_cp = {
    .name = "cp",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"molecule", generate}, {0}},
};
