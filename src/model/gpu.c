/* SPDX-License-Identifier: MIT */
/* A GPU for the model: what of its configuration counts, and the line through measured latencies. */
#include "model/gpu.h"

#include <math.h>

void model_gpu_describe(const struct corun_gpu_config *config, struct model_gpu *gpu)
{
    *gpu = (struct model_gpu){.sms = config->sms,
                              .schedulers = config->schedulers_per_sm,
                              .issue_rate = 1.0 / config->warp_issue_cycles,
                              .issue_width = config->issue_width,
                              .clock_khz = config->core_clock_khz,
                              .capacity = {.threads = config->threads_per_sm,
                                           .tbs = config->tbs_per_sm,
                                           .registers = config->registers_per_sm,
                                           .shared_bytes = config->shared_bytes_per_sm,
                                           .barriers = config->barriers_per_sm}};
}

double model_gpu_peak(const struct model_gpu *gpu)
{
    return gpu->schedulers * gpu->issue_rate * gpu->issue_width;
}

/* The weight of a point: relative differences are what is minimised. */
static double weight_of(const struct model_latency_point *point)
{
    return 1 / (point->cycles * point->cycles);
}

enum corun_status model_line_fit(const struct model_latency_point *points, size_t count, struct model_line *line,
                                 double *residual)
{
    double weights = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(points[i].cycles > 0) || !(points[i].requests >= 0))
            return CORUN_ARGUMENT;
        weights += weight_of(&points[i]);
        x_mean += weight_of(&points[i]) * points[i].requests;
        y_mean += weight_of(&points[i]) * points[i].cycles;
    }
    x_mean /= weights;
    y_mean /= weights;
    for (size_t i = 0; i < count; i++) {
        double x = points[i].requests - x_mean;
        xx += weight_of(&points[i]) * x * x;
        xy += weight_of(&points[i]) * x * (points[i].cycles - y_mean);
    }
    if (!isfinite(xx) || !isfinite(xy) || !(xx > 0))
        return CORUN_ARGUMENT;
    line->slope = fmax(0, xy / xx);
    line->intercept = y_mean - line->slope * x_mean;
    if (line->intercept < 1) { /* no memory answers sooner: the best line through that point */
        xx = xy = 0;
        for (size_t i = 0; i < count; i++) {
            xx += weight_of(&points[i]) * points[i].requests * points[i].requests;
            xy += weight_of(&points[i]) * points[i].requests * (points[i].cycles - 1);
        }
        *line = (struct model_line){fmax(0, xy / xx), 1};
    }
    for (size_t i = 0; i < count; i++) {
        double off = (line->slope * points[i].requests + line->intercept) / points[i].cycles - 1;
        squares += off * off;
    }
    if (residual)
        *residual = sqrt(squares / (double)count);
    return CORUN_OK;
}
