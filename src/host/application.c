/* SPDX-License-Identifier: MIT */
/* The curves of an application, read between their points. */
#include "host/application.h"

#include <math.h>

void host_application_destroy(struct host_application *application)
{
    if (application)
        arena_destroy(application->arena);
}

/* y at x between two points, or on the line through them. */
static double on_line(struct host_point from, struct host_point to, double x)
{
    return from.y + (to.y - from.y) * ((x - from.x) / (to.x - from.x));
}

/* The first point from 1 on that is not below x; count if there is none. */
static size_t upper_point(const struct host_curve *curve, double x)
{
    size_t low = 1, high = curve->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (curve->points[middle].x < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Linear between the points, constant beyond them. */
static double curve_at(const struct host_curve *curve, double x)
{
    if (x <= curve->points[0].x)
        return curve->points[0].y;
    size_t upper = upper_point(curve, x);
    if (upper == curve->count)
        return curve->points[curve->count - 1].y;
    return on_line(curve->points[upper - 1], curve->points[upper], x);
}

double host_application_instructions(const struct host_application *application, double size)
{
    const struct host_curve *curve = &application->instructions;
    if (curve->count == 1)
        return fmax(curve->points[0].y, 1);
    size_t upper = upper_point(curve, size);
    if (upper == curve->count)
        upper--;
    return fmax(on_line(curve->points[upper - 1], curve->points[upper], size), 1);
}

/* Of one row, on whole and fractional numbers of cores. */
static double row_speedup(const struct host_speedup *row, double cores)
{
    if (cores <= 1)
        return fmax(cores, 0);
    if (cores >= row->count)
        return row->speed[row->count - 1];
    uint32_t whole = (uint32_t)cores;
    return row->speed[whole - 1] + (row->speed[whole] - row->speed[whole - 1]) * (cores - whole);
}

/* Where x lies on an axis: between `*lower` and the one after it, at *fraction of the way. */
static void find_on_axis(size_t count, double (*at)(const void *axis, size_t index), const void *axis, double x,
                         size_t *lower, double *fraction)
{
    size_t upper = 0;
    while (upper < count && at(axis, upper) < x)
        upper++;
    if (!upper || upper == count) {
        *lower = upper ? count - 1 : 0;
        *fraction = 0;
        return;
    }
    *lower = upper - 1;
    *fraction = (x - at(axis, upper - 1)) / (at(axis, upper) - at(axis, upper - 1));
}

static double number_at(const void *axis, size_t index)
{
    return ((const double *)axis)[index];
}

static double size_of_row(const void *axis, size_t index)
{
    return ((const struct host_speedup *)axis)[index].size;
}

double host_application_speedup(const struct host_application *application, double size, double cores)
{
    size_t lower;
    double fraction, most = fmin(cores, application->threads);
    find_on_axis(application->speedup_count, size_of_row, application->speedups, size, &lower, &fraction);
    double speed = row_speedup(&application->speedups[lower], most);
    return fraction > 0 ? speed + (row_speedup(&application->speedups[lower + 1], most) - speed) * fraction : speed;
}

/* At one of the sizes that there are curves for. */
static double misses_at(const struct host_application *application, size_t size, size_t thread, double fraction,
                        double bytes)
{
    const struct host_curve *curve = &application->misses[size * application->miss_thread_count + thread];
    double misses = curve_at(curve, bytes);
    return fraction > 0 ? misses + (curve_at(curve + 1, bytes) - misses) * fraction : misses;
}

double host_application_misses(const struct host_application *application, double size, double threads, double bytes)
{
    size_t row, column;
    double down, right;
    find_on_axis(application->miss_size_count, number_at, application->miss_sizes, size, &row, &down);
    find_on_axis(application->miss_thread_count, number_at, application->miss_threads, threads, &column, &right);
    double misses = misses_at(application, row, column, right, bytes);
    return down > 0 ? misses + (misses_at(application, row + 1, column, right, bytes) - misses) * down : misses;
}
