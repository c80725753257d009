/* SPDX-License-Identifier: MIT */
/* What a strategy sees of a run: the view is filled anew whenever the strategy is asked. */
#include "split/engine.h"
#include "split/gpu.h"

#include <math.h>

double split_view_enough(const struct corun_split *split)
{
    return 4.0 * (double)split->task.granularity * fmax(1, split->threads);
}

/* Notes what the CPU has done. Returns its rate of late. */
static double cpu_lately(struct corun_split *split)
{
    double seconds = 0, done = 0;
    for (uint32_t i = 0; i < split->steps.count; i++) {
        const struct corun_split_part *part = &split->steps.data[i].part[CPU];
        seconds += part->seconds;
        done += (double)part->done;
    }
    double rate = progress_rate(&split->progress, seconds, done, split_view_enough(split));
    progress_note(&split->progress, seconds, done);
    return rate;
}

void split_view_fill(struct corun_split *split, struct corun_split_view *view)
{
    *view = (struct corun_split_view){.iterations = split->result.iterations,
                                      .left = ranges_total(&split->left),
                                      .granularity = split->task.granularity,
                                      .now = split->executor->operations->now(split->executor),
                                      .threads = split->threads,
                                      .device_count = split->device_count,
                                      .step_count = (uint32_t)split->steps.count,
                                      .steps = split->steps.data,
                                      .learned = split->knows ? split->learned : NULL,
                                      .parameters = &split->parameters,
                                      .user = split->strategy_user};
    view->keeps = split->keeps;
    view->reads = split->reads;
    view->block = split->task.gpu_blocks > 0 ? (uint64_t)(1 / split->task.gpu_blocks + 0.5) : 0;
    view->spent = split->spent;
    view->wasted = split->wasted;
    view->may_race = split->may_race;
    view->usual = split->knows ? split->usual : 0;
    view->asks = is_busy(split, CPU) ? split->executor->operations->asks(split->executor) : 0;
    for (uint32_t d = 0; d < split->device_count; d++) {
        const struct corun_split_gpu *gpu = d && !split->rates ? split->gpus[d - 1] : NULL;
        view->usable[d] = split->usable[d];
        view->busy[d] = is_busy(split, d);
        view->queued[d] = split->lines[d].count;
        view->most[d] = gpu ? MOST_PARTS : split->rates && split->rates[d].most ? split->rates[d].most : 1;
        view->stale[d] = split->executor->operations->stale(split->executor, d) > 0;
        view->handing[d] = split->handing[d];
        view->moving[d] = split->moves[d].each;
        view->moving_start[d] = split->moves[d].start;
        view->held[d] = split->held[d];
        view->lacks[d] = split->lacks[d];
        view->setup[d] = split->setup[d];
        view->expected[d] = split->knows ? split->expected[d] : 0;
        view->fetches[d] = split->fetches[d];
        view->fetched_at[d] = split->fetched_at[d];
        view->given[d] = split->given[d];
        view->delivery[d] = split->deliveries[d].seconds > 0 ? split->deliveries[d].seconds : split->latency[d];
        view->flat[d] = split->rates ? split->rates[d].flat : gpu ? gpu_flat(gpu) : 0;
        view->full[d] = gpu ? gpu_full(gpu) : 0;
        view->piece[d] = gpu ? gpu_piece(gpu) : 0;
        view->again[d] = gpu ? gpu_again(gpu) : 0;
        view->returning[d] = split->returning[d];
        view->latency[d] = split->latency[d];
        for (uint32_t i = 0; i < split->lines[d].count; i++)
            part_of(split, d, i)->seconds = view->now - split->steps.data[split->lines[d].steps[i]].start;
        if (is_busy(split, d))
            part_of(split, d, 0)->done =
                split->executor->operations->progress(split->executor, d, &part_of(split, d, 0)->seconds);
    }
    view->lately = cpu_lately(split);
}
