/* SPDX-License-Identifier: MIT */
/* A fixed time and a time for each iteration are fitted to what was measured of a GPU. */
#include "split/extrapolate.h"

#include "split/strategy.h"

#include <math.h>

static const double noise = 0.05; /* of a measured time */

struct line extrapolate_line(const struct corun_split_view *view, uint32_t device)
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
            line = (struct line){0, seconds / size, 1, 0, 0};
            if (part->done <= view->flat[device]) {
                line.size = size;
                line.seconds = seconds;
            }
            if (device == 0) /* the CPU works chunk by chunk: its rate does not depend on sizes */
                return (struct line){0, seconds / size, noise, 0, 0};
            continue;
        }
        if (other_size > size / 1.5 && other_size < size * 1.5)
            continue;
        double most = fmax(seconds, other), apart = fabs(size - other_size),
               each = (seconds - other) / (size - other_size);
        if (each < noise * most / apart) /* as good as flat: no steeper than what noise can hide */
            each = noise * most / apart;
        line.size = line.seconds = 0;
        if (seconds - each * size >= 0)
            line = (struct line){seconds - each * size, each, noise * most / (each * apart), 0, 0};
        return line;
    }
    return line;
}

/* What is not there yet has to be moved, which the times of the run do not have in them; and then the size does matter. */
static void add_moving(const struct corun_split_view *view, uint32_t device, double part, struct line *line)
{
    double unheld = strategy_unheld(view, device, part);
    if (!(unheld > 0))
        return;
    line->fixed += view->moving_start[device];
    line->each += view->moving[device] > 0 ? view->moving[device] * unheld / part : INFINITY;
    line->size = line->seconds = 0;
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

/*
 * A GPU of which one size is known, which did not fill it, may be faster at a larger one: its time is anything between what was measured and as many times that as
 * the part is larger. Too small a part costs another part, which takes at least as long as the one measured; so the GPU gets more than its
 * share, by what costs as long if its time should grow with the size after all. The CPU keeps what it completes while the GPU surely works.
 */
static void prefer_unknown(const struct corun_split_view *view, const struct line *lines, struct extrapolation *result)
{
    double left = (double)view->left, wanted = 0, least = 0;
    if (!(lines[0].each > 0))
        return;
    for (uint32_t d = 1; d < view->device_count; d++) {
        wanted += result->share[d] > 0 ? lines[d].size / left : 0;
        least = result->share[d] > 0 ? fmax(least, lines[d].seconds / lines[0].each / left) : least;
    }
    double given = fmax(0, fmin(wanted, result->share[0] - least));
    result->share[0] -= given;
    for (uint32_t d = 1; d < view->device_count && wanted > 0; d++)
        result->share[d] += result->share[d] > 0 ? given * lines[d].size / left / wanted : 0;
}

bool extrapolate(const struct corun_split_view *view, struct extrapolation *result)
{
    struct line lines[CORUN_SPLIT_MAX_DEVICES] = {0};
    bool takes_part[CORUN_SPLIT_MAX_DEVICES] = {0}, any = false;
    *result = (struct extrapolation){0};
    for (uint32_t d = 0; d < view->device_count; d++) {
        if (!view->usable[d] || view->busy[d])
            continue;
        lines[d] = extrapolate_line(view, d);
        takes_part[d] = lines[d].each > 0;
        any = any || takes_part[d];
    }
    if (!any || !view->left)
        return false;
    double end = common_end(view, lines, takes_part);
    for (uint32_t d = 1; d < view->device_count; d++)
        if (takes_part[d] && end > lines[d].fixed)
            add_moving(view, d, (end - lines[d].fixed) / lines[d].each, &lines[d]);
    for (uint32_t d = 1; d < view->device_count; d++)
        takes_part[d] = takes_part[d] && !isinf(lines[d].each);
    end = common_end(view, lines, takes_part);
    for (uint32_t d = 0; d < view->device_count; d++) {
        if (!takes_part[d])
            continue;
        double share = (end - lines[d].fixed) / lines[d].each / (double)view->left;
        result->share[d] = share;
        result->step_cost = fmax(result->step_cost, fmax(lines[d].fixed, lines[d].seconds));
        result->error_cost += end * lines[d].error * share * (1 - share);
    }
    prefer_unknown(view, lines, result);
    return true;
}
