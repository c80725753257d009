/* SPDX-License-Identifier: MIT */
/* A GPU for the model: what of its configuration counts, and the line through measured latencies. */
#include "model/gpu.h"

#include <math.h>

void model_gpu_describe(const struct corun_gpu_config *config, struct model_gpu *gpu)
{
    *gpu = (struct model_gpu){.sms = config->sms,
                              .schedulers = config->schedulers_per_sm,
                              .issue_rate = (double)config->issue_width / config->warp_issue_cycles,
                              .clock_khz = config->core_clock_khz,
                              .capacity = {.threads = config->threads_per_sm,
                                           .tbs = config->tbs_per_sm,
                                           .registers = config->registers_per_sm,
                                           .shared_bytes = config->shared_bytes_per_sm,
                                           .barriers = config->barriers_per_sm}};
}

double model_gpu_peak(const struct model_gpu *gpu)
{
    return gpu->schedulers * gpu->issue_rate;
}

enum corun_status model_line_fit(const struct model_latency_point *points, size_t count, struct model_line *line,
                                 double *residual)
{
    double x_mean = 0, y_mean = 0, xx = 0, xy = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        x_mean += points[i].requests / (double)count;
        y_mean += points[i].cycles / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double x = points[i].requests - x_mean;
        xx += x * x;
        xy += x * (points[i].cycles - y_mean);
    }
    if (!isfinite(xx) || !isfinite(xy) || !(xx > 0))
        return CORUN_ARGUMENT;
    line->slope = xy / xx;
    line->intercept = y_mean - line->slope * x_mean;
    for (size_t i = 0; i < count; i++) {
        double off = points[i].cycles - line->slope * points[i].requests - line->intercept;
        squares += off * off;
    }
    if (residual)
        *residual = sqrt(squares / (double)count);
    return CORUN_OK;
}
