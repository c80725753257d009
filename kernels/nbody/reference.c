/* SPDX-License-Identifier: MIT */
/* Two clusters of bodies, and a time step of some of them under the attraction of all, summed in double precision. */
#include "corun/workload.h"

#include <math.h>

/* A point of the unit ball, uniform: from the cube around it, until one is inside. */
static void random_point(uint64_t *state, double point[3])
{
    do {
        for (int i = 0; i < 3; i++)
            point[i] = 2.0 * (double)corun_random_unit(state) - 1.0;
    } while (point[0] * point[0] + point[1] * point[1] + point[2] * point[2] > 1.0);
}

/*
 * Two thirds of the bodies in a wide ball, one third in a narrower one beside it, both denser in their middles; nearly
 * at rest. Masses vary by a factor of three, and their sum is about 1.
 */
static bool generate(const struct corun_problem *problem)
{
    uint64_t bodies = (uint64_t)corun_problem_value(problem, "bodies");
    float *position = corun_problem_data(problem, "position", CORUN_ELEMENT_F32, 4 * bodies);
    float *velocity = corun_problem_data(problem, "velocity", CORUN_ELEMENT_F32, 4 * bodies);
    if (!position || !velocity)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x626f646965730000);
    for (uint64_t i = 0; i < bodies; i++) {
        double place[3], motion[3];
        random_point(&state, place);
        random_point(&state, motion);
        bool beside = corun_random(&state) % 3 == 0;
        double distance = sqrt(place[0] * place[0] + place[1] * place[1] + place[2] * place[2]);
        for (int k = 0; k < 3; k++) {
            position[4 * i + (uint64_t)k] =
                (float)((beside ? 0.4 : 1.0) * distance * place[k] + (beside && k == 0 ? 1.2 : 0.0));
            velocity[4 * i + (uint64_t)k] = (float)(0.1 * motion[k]);
        }
        position[4 * i + 3] = (0.5f + corun_random_unit(&state)) / (float)bodies;
        velocity[4 * i + 3] = 0;
    }
    return true;
}

static void acceleration(const float *position, uint64_t bodies, const float *at, double sum[3])
{
    const double softening = 0.05; /* as in the description */
    sum[0] = sum[1] = sum[2] = 0;
    for (uint64_t j = 0; j < bodies; j++) {
        const float *from = position + 4 * j;
        double x = (double)from[0] - (double)at[0];
        double y = (double)from[1] - (double)at[1];
        double z = (double)from[2] - (double)at[2];
        double squared = x * x + y * y + z * z + softening * softening;
        double pull = (double)from[3] / (squared * sqrt(squared));
        sum[0] += pull * x;
        sum[1] += pull * y;
        sum[2] += pull * z;
    }
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t bodies = (uint64_t)corun_problem_value(problem, "bodies");
    uint64_t first = (uint64_t)corun_problem_value(problem, "first");
    uint64_t count = (uint64_t)corun_problem_value(problem, "moved");
    const float *position = corun_problem_data(problem, "position", CORUN_ELEMENT_F32, 4 * bodies);
    const float *velocity = corun_problem_data(problem, "velocity", CORUN_ELEMENT_F32, 4 * bodies);
    float *new_position = corun_problem_data(problem, "new_position", CORUN_ELEMENT_F32, 4 * bodies);
    float *new_velocity = corun_problem_data(problem, "new_velocity", CORUN_ELEMENT_F32, 4 * bodies);
    if (!position || !velocity || !new_position || !new_velocity || first > bodies || count > bodies - first)
        return false;
    const double time_step = 0.0625; /* as in the description */
    for (uint64_t i = first; i < first + count; i++) {
        double sum[3];
        acceleration(position, bodies, position + 4 * i, sum);
        for (uint64_t k = 4 * i; k < 4 * i + 3; k++) {
            double speed = (double)velocity[k] + time_step * sum[k - 4 * i];
            new_velocity[k] = (float)speed;
            new_position[k] = (float)((double)position[k] + time_step * speed);
        }
        new_velocity[4 * i + 3] = velocity[4 * i + 3];
        new_position[4 * i + 3] = position[4 * i + 3]; /* the mass */
    }
    return true;
}

const struct corun_reference corun_reference_nbody = {
    .name = "nbody",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"clusters", generate}, {0}},
};
