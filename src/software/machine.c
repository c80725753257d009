/* SPDX-License-Identifier: MIT */
/* The operations of corun/machine.h: what this machine tells its governor, from the last look, and how it obeys. */
#include "software/state.h"

#include <math.h>

#define CAN(name) (1u << CORUN_CAN_##name)
#define SEES(name) (1u << CORUN_SEES_##name)
#define WARP_LANES 32u

static uint32_t warps_of(const struct runtime_launch *about)
{
    return (about->block[0] * about->block[1] * about->block[2] + WARP_LANES - 1) / WARP_LANES;
}

/* The first order that is not complete. */
static void read_grid(const struct software *software, struct application *a, struct corun_grid_view *view)
{
    const struct kind *kind = kind_at(a, a->head);
    const struct order *order = order_at(a, a->head);
    bool given = a->head < a->given, workers = software->options.launching == SOFTWARE_WORKERS;
    uint64_t done = a->done > a->skipped ? a->done - a->skipped : 0, tbs = kind->about.tbs;
    uint32_t returned = workers && given ? order->total - kind->draws : 0;
    uint64_t handed_out = order->sliced ? order->handed_out : tbs;
    uint64_t drawn = !given    ? 0
                     : workers ? order->next - (order->next < returned ? order->next : returned)
                               : handed_out,
             next = drawn < tbs ? drawn : tbs;
    if (!workers)
        done = given ? order->done : 0;
    *view = (struct corun_grid_view){.kernel = kind->about.kernel,
                                     .tbs = (uint32_t)tbs,
                                     .tbs_waiting = (uint32_t)(tbs - next),
                                     .tbs_completed = (uint32_t)(done < tbs ? done : tbs),
                                     .tb_threads = warps_of(&kind->about) * WARP_LANES,
                                     .tb_warps = warps_of(&kind->about),
                                     .tbs_per_sm = kind->about.tbs_per_sm,
                                     .idempotent = workers && !kind->about.keeps};
}

static void read_application(const struct software *software, struct application *a,
                             struct corun_application_reading *reading)
{
    reading->state = a->state;
    reading->arrived = a->arrived_ns;
    reading->left = a->left_ns;
    uint64_t over = (uint64_t)llround(a->worth_before);
    reading->progress = a->likely > over ? a->likely : over;
    reading->runs = (uint32_t)a->runs.count;
    if (a->description.requests_ns) {
        reading->asked = a->description.requests_ns + a->runs.count;
        reading->asked_count = a->requests - reading->runs;
    }
    if (orders_idle(a))
        return;
    reading->grids_queued = a->launch_count - 1 - (uint32_t)(a->head % a->launch_count);
    read_grid(software, a, &reading->running);
}

static void read_now(void *machine, struct corun_reading *reading)
{
    struct software *software = machine;
    for (uint32_t a = 0; a < software->count; a++)
        read_application(software, &software->applications[a], &reading->applications[a]);
    uint32_t warps[SOFTWARE_MOST_APPLICATIONS];
    for (uint32_t a = 0; a < software->count; a++)
        warps[a] = warps_of(&kind_at(&software->applications[a], software->applications[a].head)->about);
    for (uint32_t s = 0; s < software->info.sms; s++)
        for (uint32_t a = 0; a < software->count; a++) {
            uint32_t resident = share_of(software, s, a)->resident;
            reading->shares[s * software->count + a].resident_tbs = resident;
            reading->sms[s].resident_tbs += resident;
            reading->sms[s].resident_warps += resident * warps[a];
        }
}

/* The tables are read where they lie, when all that has happened is told. */
static enum corun_status obey(void *machine, const struct corun_policy_moment *moment,
                              const struct corun_allowances *allowances)
{
    struct software *software = machine;
    (void)moment;
    software->allowances = allowances;
    software->limits_due = true;
    return CORUN_OK;
}

static struct corun_held_tbs held(void *machine, uint32_t sm, uint32_t application)
{
    return (struct corun_held_tbs){.tbs = share_of(machine, sm, application)->resident};
}

/* Workers leave by themselves: there is nothing to order. */
static const struct corun_machine_operations operations = {.read = read_now, .obey = obey, .held = held};

struct corun_machine software_machine(struct software *software)
{
    bool workers = software->options.launching == SOFTWARE_WORKERS;
    uint32_t always = SEES(PROGRESS) | SEES(RUNS) | SEES(TB_PROGRESS) | SEES(OCCUPANCY);
    uint32_t counted = SEES(RESIDENT_TBS) | SEES(RESIDENT_WARPS) | SEES(HAND_OVER) | SEES(IDEMPOTENCE);
    uint32_t drop = software->drops ? CAN(DROP) : 0, apart = software->info.apart_sms ? CAN(APART) : 0;
    return (struct corun_machine){.name = workers ? "the software machine" : "the software machine without workers",
                                  .capabilities =
                                      workers ? CAN(TB_LIMIT) | CAN(EXCLUSIVE) | CAN(DRAIN) | drop : CAN(GRANT) | apart,
                                  .observations = workers ? always | counted : always,
                                  .clock = CORUN_CLOCK_NANOSECONDS,
                                  .clock_khz = 1000000,
                                  .progress_unit = software->info.progress_unit,
                                  .epoch = software->info.epoch_ns,
                                  .sm_count = software->info.sms,
                                  .threads_per_sm = software->threads_per_sm,
                                  .tbs_per_sm = MOST_TBS_PER_SM,
                                  .operations = &operations,
                                  .machine = software};
}
