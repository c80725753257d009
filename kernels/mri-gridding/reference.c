/* SPDX-License-Identifier: MIT */
/* Samples of k-space, denser towards its centre, and what a grid gets of them: by scattering each, in double precision. */
#include "corun/workload.h"

#include <math.h>
#include <stdlib.h>

#define OVERSAMPLING 2.0
#define PI 3.14159265358979323846

struct scan {
    int64_t samples, size[3], points, capacity;
    double cutoff, beta; /* of the window */
    const float *sample; /* x, y, z, real, imaginary, weight of each */
};

static bool scan_of(const struct corun_problem *problem, struct scan *scan)
{
    double width = (double)corun_problem_value(problem, "width") / 10.0;
    *scan = (struct scan){
        .samples = corun_problem_value(problem, "samples"),
        .size = {corun_problem_value(problem, "nx"), corun_problem_value(problem, "ny"),
                 corun_problem_value(problem, "nz")},
        .capacity = corun_problem_value(problem, "capacity"),
        .cutoff = width / 2.0,
    };
    scan->points = scan->size[0] * scan->size[1] * scan->size[2];
    /* Beatty, Nishimura, Pauly (2005), equation 5 */
    double ratio = width * (OVERSAMPLING - 0.5) / OVERSAMPLING;
    scan->beta = PI * sqrt(ratio * ratio - 0.8);
    scan->sample = corun_problem_data(problem, "samples", CORUN_ELEMENT_F32, 6 * (uint64_t)scan->samples);
    bool fits = scan->size[0] % 8 == 0 && scan->size[1] % 4 == 0 && scan->size[2] % 8 == 0;
    return scan->sample && fits && scan->samples > 4 * scan->capacity && width > 1.3;
}

static int64_t bin_of(const struct scan *scan, const float position[3])
{
    return ((int64_t)position[2] * scan->size[1] + (int64_t)position[1]) * scan->size[0] + (int64_t)position[0];
}

/* Uniform in the unit ball (the densest samples are made of it below); the square of the distance. */
static double random_in_ball(double vector[3], uint64_t *state)
{
    double square;
    do {
        square = 0;
        for (int axis = 0; axis < 3; axis++) {
            vector[axis] = 2.0 * (double)corun_random_unit(state) - 1.0;
            square += vector[axis] * vector[axis];
        }
    } while (square >= 1.0 || square < 1e-6);
    return square;
}

/* In the ellipsoid that the grid has room for, as dense as 1 / distance from the centre. Returns the distance, in 0 to 1. */
static double random_position(const struct scan *scan, float position[3], uint64_t *state)
{
    double vector[3];
    double length = sqrt(random_in_ball(vector, state));
    double distance = sqrt((double)corun_random_unit(state));
    for (int axis = 0; axis < 3; axis++) {
        double middle = (double)scan->size[axis] / 2.0;
        position[axis] = (float)(middle + (middle - 1.0) * distance * vector[axis] / length);
    }
    return distance;
}

/*
 * The centre itself is measured again and again, as every line of a radial trajectory does: these samples are all the same, and
 * more than a bin takes, so that it does not matter which of them are left to the host. No other bin gets too many.
 */
static bool generate(const struct corun_problem *problem)
{
    struct scan scan;
    if (!scan_of(problem, &scan))
        return false;
    float *window = corun_problem_data(problem, "window", CORUN_ELEMENT_F32, 4);
    float *sample = corun_problem_data(problem, "samples", CORUN_ELEMENT_F32, 6 * (uint64_t)scan.samples);
    uint8_t *filled = calloc((size_t)scan.points, sizeof *filled);
    if (!window || !sample || !filled || scan.capacity > UINT8_MAX) {
        free(filled);
        return false;
    }
    window[0] = (float)scan.cutoff;
    window[1] = window[0] * window[0];
    window[2] = 1.0f / window[1];
    window[3] = (float)(scan.beta * scan.beta / 4.0);

    uint64_t state = problem->seed ^ UINT64_C(0x6b73706163650000);
    const float centre[3] = {(float)scan.size[0] / 2, (float)scan.size[1] / 2, (float)scan.size[2] / 2};
    int64_t central = scan.capacity + 32 + scan.samples / 1024, period = scan.samples / central;
    const float signal[2] = {1.0f + corun_random_unit(&state), corun_random_unit(&state)};
    for (int64_t i = 0; i < scan.samples; i++) {
        float *to = sample + 6 * i;
        double distance = 0;
        memcpy(to, centre, sizeof centre);
        memcpy(to + 3, signal, sizeof signal);
        if (i % period != 0) {
            do {
                distance = random_position(&scan, to, &state);
            } while (bin_of(&scan, to) == bin_of(&scan, centre) || filled[bin_of(&scan, to)] == scan.capacity);
            filled[bin_of(&scan, to)]++;
            for (int part = 0; part < 2; part++)
                to[3 + part] = (2.0f * corun_random_unit(&state) - 1.0f) / (float)(1.0 + 4.0 * distance);
        }
        to[5] = (float)(0.05 + distance); /* compensates for the density */
    }
    free(filled);
    return true;
}

/* The modified Bessel function I0: mean of cosh(t cos(angle)) over the circle; equidistant angles converge exponentially. */
static double bessel_i0(double t)
{
    const int angles = 16;
    double sum = cosh(t) / 2 + 0.5;
    for (int i = 1; i < angles; i++)
        sum += cosh(t * cos(PI / 2 * i / angles));
    return sum / angles;
}

/* Whether a point is near enough is decided in single precision, with the rounding of the kernel: the window ends in a step. */
static void scatter(const struct scan *scan, const float *sample, double *grid, float *density)
{
    float cutoff = (float)scan->cutoff;
    float cutoff2 = cutoff * cutoff;
    int64_t low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        low[axis] = (int64_t)fmax(floor((double)sample[axis] - scan->cutoff), 0);
        high[axis] = (int64_t)fmin(ceil((double)sample[axis] + scan->cutoff), (double)scan->size[axis] - 1);
    }
    for (int64_t z = low[2]; z <= high[2]; z++) {
        for (int64_t y = low[1]; y <= high[1]; y++) {
            for (int64_t x = low[0]; x <= high[0]; x++) {
                float dx = sample[0] - (float)x, dy = sample[1] - (float)y, dz = sample[2] - (float)z;
                float square = fmaf(dz, dz, fmaf(dy, dy, dx * dx));
                if (square >= cutoff2)
                    continue;
                double part = 1.0 - (double)square / (scan->cutoff * scan->cutoff);
                double weight = bessel_i0(scan->beta * sqrt(fmax(part, 0))) * (double)sample[5];
                int64_t point = (z * scan->size[1] + y) * scan->size[0] + x;
                grid[2 * point] += weight * (double)sample[3];
                grid[2 * point + 1] += weight * (double)sample[4];
                density[point] += 1;
            }
        }
    }
}

/* Bins in the order of their numbers: how many samples each has room for, where it starts, and the number of each sample's. */
static void sort_into_bins(const struct scan *scan, uint32_t *starts, uint32_t *keys)
{
    uint32_t sum = 0;
    for (int64_t bin = 0; bin < scan->points; bin++) {
        uint32_t count = starts[bin];
        starts[bin] = sum;
        for (uint32_t i = 0; i < count; i++)
            keys[sum + i] = (uint32_t)bin;
        sum += count;
    }
    starts[scan->points] = sum;
    for (int64_t i = sum; i < scan->samples; i++)
        keys[i] = (uint32_t)scan->points;
}

static bool compute(const struct corun_problem *problem)
{
    struct scan scan;
    if (!scan_of(problem, &scan))
        return false;
    uint64_t points = (uint64_t)scan.points;
    uint32_t *bins = corun_problem_data(problem, "bins", CORUN_ELEMENT_U32, points + 1);
    uint32_t *keys = corun_problem_data(problem, "keys", CORUN_ELEMENT_U32, (uint64_t)scan.samples);
    float *result = corun_problem_data(problem, "grid", CORUN_ELEMENT_F32, 2 * points);
    float *density = corun_problem_data(problem, "density", CORUN_ELEMENT_F32, points);
    double *grid = calloc(2 * points, sizeof *grid);
    if (!bins || !keys || !result || !density || !grid) {
        free(grid);
        return false;
    }
    memset(bins, 0, (points + 1) * sizeof *bins);
    memset(density, 0, points * sizeof *density);
    for (int64_t i = 0; i < scan.samples; i++) {
        const float *sample = scan.sample + 6 * i;
        uint32_t *bin = bins + bin_of(&scan, sample);
        if (*bin == (uint32_t)scan.capacity)
            continue; /* the host's share */
        ++*bin;
        scatter(&scan, sample, grid, density);
    }
    sort_into_bins(&scan, bins, keys);
    for (uint64_t i = 0; i < 2 * points; i++)
        result[i] = (float)grid[i];
    free(grid);
    return true;
}

const struct corun_reference corun_reference_mri_gridding = {
    .name = "mri-gridding",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"scan", generate}, {0}},
};
