/* SPDX-License-Identifier: MIT */
/* Q(x) = sum over k of |phi(k)|^2 (cos, sin)(2 pi k.x), in double precision. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

static bool compute(const struct corun_problem *problem)
{
    size_t points = (size_t)corun_problem_value(problem, "points");
    size_t samples = (size_t)corun_problem_value(problem, "samples");
    const float *phi_r = corun_problem_data(problem, "phi_r", CORUN_ELEMENT_F32, samples);
    const float *phi_i = corun_problem_data(problem, "phi_i", CORUN_ELEMENT_F32, samples);
    const float *kx = corun_problem_data(problem, "kx", CORUN_ELEMENT_F32, samples);
    const float *ky = corun_problem_data(problem, "ky", CORUN_ELEMENT_F32, samples);
    const float *kz = corun_problem_data(problem, "kz", CORUN_ELEMENT_F32, samples);
    const float *x = corun_problem_data(problem, "x", CORUN_ELEMENT_F32, points);
    const float *y = corun_problem_data(problem, "y", CORUN_ELEMENT_F32, points);
    const float *z = corun_problem_data(problem, "z", CORUN_ELEMENT_F32, points);
    float *q_r = corun_problem_data(problem, "q_r", CORUN_ELEMENT_F32, points);
    float *q_i = corun_problem_data(problem, "q_i", CORUN_ELEMENT_F32, points);
    if (!phi_r || !phi_i || !kx || !ky || !kz || !x || !y || !z || !q_r || !q_i)
        return false;
    const double two_pi = 6.283185307179586477;
    for (size_t i = 0; i < points; i++) {
        double real = 0, imaginary = 0;
        for (size_t k = 0; k < samples; k++) {
            double magnitude = (double)phi_r[k] * (double)phi_r[k] + (double)phi_i[k] * (double)phi_i[k];
            double turns = (double)kx[k] * (double)x[i] + (double)ky[k] * (double)y[i] + (double)kz[k] * (double)z[i];
            real += magnitude * cos(two_pi * turns);
            imaginary += magnitude * sin(two_pi * turns);
        }
        q_r[i] = (float)real;
        q_i[i] = (float)imaginary;
    }
    return true;
}

const struct corun_reference corun_reference_mri_q = {.name = "mri-q", .compute = compute};
