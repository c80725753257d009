/* SPDX-License-Identifier: MIT */
/* Launches that run longer than they may: a kernel that stores for ever makes progress, as far as the watchdog sees. */
#include "base/bits.h"
#include "base/kernel_name.h"
#include "gpu/gpu.h"
#include "gpu/sm.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_LINES 4u

struct line {
    uint32_t line, warps;
};

/* How many warps of a launch stand where: the lines with the most warps, the most first. */
static uint32_t find_warps(const struct corun_gpu *gpu, uint32_t application, const struct launch *launch,
                           struct line lines[MOST_LINES])
{
    const struct corun_grid *grid = launch->grid;
    uint32_t count = 0, kept = 0;
    for (uint32_t pc = 0; pc < grid->code_length; pc++) {
        struct line line = {grid->code[pc].line, 0};
        for (uint32_t s = 0; s < gpu->config.sms; s++) {
            const struct sm *sm = gpu->sms[s];
            for (uint64_t left = sm->application_warps[application]; left; left &= left - 1) {
                const struct sm_warp *warp = &sm->warps[lowest_bit(left)];
                line.warps += warp->pc == pc && sm->tbs[warp->tb].launch == launch;
            }
        }
        count += line.warps;
        uint32_t at = kept;
        while (at > 0 && lines[at - 1].warps < line.warps)
            at--;
        if (!line.warps || at == MOST_LINES)
            continue;
        kept += kept < MOST_LINES;
        for (uint32_t i = kept - 1; i > at; i--)
            lines[i] = lines[i - 1];
        lines[at] = line;
    }
    for (uint32_t i = kept; i < MOST_LINES; i++)
        lines[i] = (struct line){0};
    return count;
}

static void stop(struct corun_gpu *gpu, uint32_t application, const struct launch *launch)
{
    struct line lines[MOST_LINES];
    const struct corun_grid *grid = launch->grid;
    uint64_t cycles = gpu->now - launch->first_cycle;
    uint32_t warps = find_warps(gpu, application, launch, lines);
    char text[1024];
    int used = snprintf(text, sizeof text,
                        "kernel %.400s has run for %" PRIu64 " cycles (%.3f ms), longer than it may; of %" PRIu32
                        " warps on the SMs",
                        KERNEL_NAME(grid->name), cycles, (double)cycles / gpu->config.core_clock_khz, warps);
    for (uint32_t i = 0; i < MOST_LINES && lines[i].warps; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%" PRIu32 " at line %" PRIu32, i ? ", " : ": ",
                         lines[i].warps, lines[i].line);
    application_stop(gpu, application, CORUN_TIMEOUT, (struct corun_place){grid->file, lines[0].line, 0}, text);
}

void launches_watch(struct corun_gpu *gpu)
{
    for (uint32_t a = 0; gpu->limits.launch_cycles && a < gpu->application_count; a++)
        for (const struct launch *launch = gpu->applications[a].running; launch; launch = launch->next)
            if (launch->started && gpu->now > launch->first_cycle &&
                gpu->now - launch->first_cycle > gpu->limits.launch_cycles) {
                stop(gpu, a, launch);
                break; /* and all others of the application with it */
            }
}
