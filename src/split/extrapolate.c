/* SPDX-License-Identifier: MIT */
/* A fixed time and a time for each iteration are fitted to what was measured of a GPU. */
#include "split/extrapolate.h"

#include <math.h>

static const double noise = 0.05; /* of a measured time */

/* seconds = fixed + each * iterations; each: 0 if nothing is known. */
struct line {
    double fixed, each, error; /* error: how far `each` may be off, relatively */
};

/* Through the latest part and the latest before it whose size differs enough; through the origin if there is none. */
static struct line line_of(const struct corun_split_view *view, uint32_t device)
{
    struct line line = {0};
    double size = 0, seconds = 0;
    for (uint32_t i = view->step_count; i-- > 0;) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        double other_size = (double)part->done, other = part->seconds;
        if (!part->done || !(other > 0) || part->busy)
            continue;
        if (!(size > 0)) {
            size = other_size;
            seconds = other;
            line = (struct line){0, seconds / size, 1};
            if (device == 0) { /* the CPU works chunk by chunk: its rate does not depend on sizes */
                line.error = noise;
                return line;
            }
            continue;
        }
        if (other_size > size / 1.5 && other_size < size * 1.5)
            continue;
        double each = (seconds - other) / (size - other_size);
        if (each > 0 && seconds - each * size >= 0)
            line = (struct line){seconds - each * size, each, noise * fmax(seconds, other) / fabs(seconds - other)};
        return line;
    }
    return line;
}

/* The time at which all that take part end together; who would not even have begun by then takes no part. */
static double common_end(const struct corun_split_view *view, const struct line *lines, bool *takes_part)
{
    double end = 0;
    for (bool again = true; again;) {
        double fixed = 0, rate = 0;
        again = false;
        for (uint32_t d = 0; d < view->device_count; d++) {
            fixed += takes_part[d] ? lines[d].fixed / lines[d].each : 0;
            rate += takes_part[d] ? 1 / lines[d].each : 0;
        }
        end = rate > 0 ? ((double)view->left + fixed) / rate : 0;
        for (uint32_t d = 0; d < view->device_count; d++) {
            if (!takes_part[d] || lines[d].fixed < end)
                continue;
            takes_part[d] = false;
            again = true;
        }
    }
    return end;
}

bool extrapolate(const struct corun_split_view *view, struct extrapolation *result)
{
    struct line lines[CORUN_SPLIT_MAX_DEVICES] = {0};
    bool takes_part[CORUN_SPLIT_MAX_DEVICES] = {0}, any = false;
    *result = (struct extrapolation){0};
    for (uint32_t d = 0; d < view->device_count; d++) {
        if (!view->usable[d] || view->busy[d])
            continue;
        lines[d] = line_of(view, d);
        takes_part[d] = lines[d].each > 0;
        any = any || takes_part[d];
    }
    if (!any || !view->left)
        return false;
    double end = common_end(view, lines, takes_part);
    for (uint32_t d = 0; d < view->device_count; d++) {
        if (!takes_part[d])
            continue;
        double share = (end - lines[d].fixed) / lines[d].each / (double)view->left;
        result->share[d] = share;
        result->step_cost = fmax(result->step_cost, lines[d].fixed);
        result->error_cost += end * lines[d].error * share * (1 - share);
    }
    return true;
}
