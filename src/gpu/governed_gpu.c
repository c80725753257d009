/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPU as a machine (corun/machine.h): what it tells its governor, how it obeys, and what it passes on to
 * observers. It can do and tell everything, and an epoch ends at its very cycle.
 */
#include "gpu/gpu.h"

#include <stdlib.h>

#define CAN(name) (1u << CORUN_CAN_##name)
#define CAPABILITIES \
    (CAN(TB_LIMIT) | CAN(ORDER) | CAN(EXCLUSIVE) | CAN(DRAIN) | CAN(SWAP_TB) | CAN(SWITCH_SM) | CAN(DROP) | \
     CAN(QUOTA) | CAN(POWER) | CAN(PARTITION))

/* Those behind the first one may have thread blocks on any SM too. */
static bool all_are_idempotent(const struct launch *launch)
{
    for (; launch; launch = launch->next)
        if (!launch->grid->idempotent)
            return false;
    return true;
}

static void read_grid(const struct corun_gpu *gpu, const struct application *application, struct corun_grid_view *view)
{
    const struct launch *launch = application->running;
    if (!launch)
        return;
    struct tb_needs needs;
    tb_needs_compute(&gpu->config, launch->grid, &needs);
    *view = (struct corun_grid_view){.kernel = launch->grid->name,
                                     .tbs = launch->grid->tb_count,
                                     .tbs_waiting =
                                         launch->grid->tb_count - launch->next_tb + (uint32_t)launch->returned.count,
                                     .tbs_completed = launch->completed,
                                     .tb_threads = needs.threads,
                                     .tb_warps = launch->grid->tb_warps,
                                     .tb_registers = needs.registers,
                                     .tb_shared_bytes = needs.shared_bytes,
                                     .tbs_per_sm = launch->kernel->tbs_per_sm,
                                     .tbs_preempted = application->preempted_count,
                                     .idempotent = all_are_idempotent(launch)};
}

static void read_application(const struct corun_gpu *gpu, uint32_t index, struct corun_application_reading *reading)
{
    const struct application *a = &gpu->applications[index];
    *reading = (struct corun_application_reading){.state = a->state,
                                                  .arrived = a->arrived_cycle,
                                                  .left = a->ended_cycle,
                                                  .progress = application_thread_instructions(gpu, index),
                                                  .runs = a->runs};
    read_grid(gpu, a, &reading->running);
    if (a->state == CORUN_APPLICATION_RUNNING && (a->description.grid || a->description.proceed)) {
        uint32_t begun = a->grid_index + a->in_flight, count = a->description.run_launch_count;
        reading->grids_queued = count > begun ? count - begun : !a->running; /* at its end it starts over */
    }
}

static void read_share(const struct corun_gpu *gpu, uint32_t s, uint32_t a, struct corun_share_reading *reading)
{
    const struct sm *sm = gpu->sms[s];
    const struct launch *launch = gpu->applications[a].running;
    struct tb_needs needs;
    *reading = (struct corun_share_reading){.resident_tbs = sm->application_tbs[a],
                                            .pending_tbs = gpu->use[s].application_tbs[a] - sm->application_tbs[a],
                                            .leaving_tbs = gpu->use[s].leaving_tbs[a],
                                            .quota = quota_left(sm, a, gpu->now)};
    if (launch) {
        tb_needs_compute(&gpu->config, launch->grid, &needs);
        reading->one_more_fits = tb_fits(gpu, s, &needs);
    }
}

static void read_now(void *machine, struct corun_reading *reading)
{
    const struct corun_gpu *gpu = machine;
    reading->preemptions_pending = (uint32_t)gpu->leaving.count + gpu->restoring;
    for (uint32_t a = 0; a < gpu->application_count; a++)
        read_application(gpu, a, &reading->applications[a]);
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        reading->sms[s] = (struct corun_sm_reading){.powered = gpu->power[s].on,
                                                    .stalled = gpu->use[s].switching != 0,
                                                    .resident_tbs = gpu->sms[s]->resident_tbs,
                                                    .resident_warps = gpu->sms[s]->resident_warps};
        for (uint32_t a = 0; a < gpu->application_count; a++)
            read_share(gpu, s, a, &reading->shares[s * gpu->application_count + a]);
    }
}

/* Of all its kernels: cycles count for the one that came last, whether it still runs or not. */
static void count_share(const struct corun_gpu *gpu, const struct sm *sm, uint32_t application,
                        struct corun_share_counts *count)
{
    const struct application *a = &gpu->applications[application];
    for (size_t i = 0; i < a->kernels.count; i++)
        for (const struct machine_kernel *k = a->kernels.data[i]; k; k = k->twin) {
            const struct corun_counters *counters = k->slot < sm->counters_capacity ? sm->counters[k->slot] : NULL;
            if (!counters)
                continue;
            count->warp_instructions += counters->warp_instructions;
            count->thread_instructions += counters->thread_instructions;
            count->issue_cycles += counters->issue_cycles;
        }
}

static void read_epoch(void *machine, struct corun_share_counts *counts)
{
    struct corun_gpu *gpu = machine;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        struct sm *sm = gpu->sms[s];
        for (uint32_t a = 0; a < gpu->application_count; a++) {
            struct corun_share_counts *count = &counts[s * gpu->application_count + a];
            count_share(gpu, sm, a, count);
            count->idle_warps = sm->samples ? (double)sm->idle_warp_samples[a] / (double)sm->samples : 0;
            sm->idle_warp_samples[a] = 0;
        }
        sm->samples = 0;
    }
}

static void observe_moment(const struct corun_gpu *gpu, const struct corun_policy_moment *moment,
                           const struct corun_allowances *allowances)
{
    observe(gpu, &(struct corun_observation){.kind = CORUN_OBSERVED_MOMENT,
                                             .cycle = gpu->now,
                                             .sm = moment->sm,
                                             .application = moment->application,
                                             .event = moment->event,
                                             .allowances = allowances});
}

static enum corun_status obey(void *machine, const struct corun_policy_moment *moment,
                              const struct corun_allowances *allowances)
{
    struct corun_gpu *gpu = machine;
    uint64_t cycle = gpu->now + gpu->config.dispatch_latency;
    gpu->allowances = allowances;
    gpu->allowances_cycle = gpu->now;
    gpu->dispatch_due = true;
    if (moment)
        observe_moment(gpu, moment, allowances);
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        if (!quota_announce(gpu->sms[s], cycle, allowances, s * gpu->application_count, gpu->application_count))
            return CORUN_MEMORY;
    power_written(gpu);
    return partition_follow(gpu);
}

static struct corun_held_tbs held(void *machine, uint32_t sm, uint32_t application)
{
    const struct sm_use *use = &((const struct corun_gpu *)machine)->use[sm];
    return (struct corun_held_tbs){.tbs = use->application_tbs[application], .leaving = use->leaving_tbs[application]};
}

static enum corun_status follow_limit(void *machine, uint32_t sm, uint32_t application)
{
    return preemption_follow(machine, sm, application);
}

static const struct corun_machine_operations operations = {
    .read = read_now, .read_epoch = read_epoch, .obey = obey, .held = held, .follow_limit = follow_limit};

struct corun_machine governed_machine(struct corun_gpu *gpu)
{
    return (struct corun_machine){.name = "the simulated GPU",
                                  .capabilities = CAPABILITIES,
                                  .observations = CORUN_ALL_OBSERVATIONS,
                                  .clock = CORUN_CLOCK_CYCLES,
                                  .clock_khz = gpu->config.core_clock_khz,
                                  .progress_unit = CORUN_PROGRESS_THREAD_INSTRUCTIONS,
                                  .epoch = gpu->config.epoch_cycles,
                                  .sm_count = gpu->config.sms,
                                  .schedulers_per_sm = gpu->config.schedulers_per_sm,
                                  .registers_per_sm = gpu->config.registers_per_sm,
                                  .shared_bytes_per_sm = gpu->config.shared_bytes_per_sm,
                                  .threads_per_sm = gpu->config.threads_per_sm,
                                  .tbs_per_sm = gpu->config.tbs_per_sm,
                                  .largest_quota = QUOTA_LARGEST,
                                  .operations = &operations,
                                  .machine = gpu};
}

static void sample_idle_warps(struct corun_gpu *gpu)
{
    uint64_t sample = gpu->config.epoch_cycles / SAMPLES_PER_EPOCH;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        struct sm *sm = gpu->sms[s];
        if (sm->sample_cycles)
            continue;
        sm->sample_cycles = sample ? sample : 1;
        sm->next_sample = sm->now + sm->sample_cycles;
    }
}

enum corun_status governed_start(struct corun_gpu *gpu)
{
    size_t entries = (size_t)gpu->config.sms * (gpu->application_count ? gpu->application_count : 1);
    struct governor_limits limits = {.window = gpu->limits.cycles,
                                     .applications = gpu->application_count,
                                     .seconds = gpu->limits.policy_seconds,
                                     .policy_call = gpu->limits.policy_call,
                                     .user = gpu->limits.policy_call_user};
    gpu->partitions_given = calloc(entries, sizeof *gpu->partitions_given);
    if (!gpu->partitions_given)
        return CORUN_MEMORY;
    if (governor_policy(gpu->governor))
        sample_idle_warps(gpu);
    enum corun_status status = governor_open(gpu->governor, gpu->now, &limits, gpu->list);
    gpu->allowances = governor_allowances(gpu->governor);
    return status;
}

enum corun_status governed_moment(struct corun_gpu *gpu, enum corun_policy_event event, uint32_t sm,
                                  uint32_t application)
{
    struct corun_policy_moment moment = {event, sm, application};
    gpu->dispatch_due = true;
    if (!governor_policy(gpu->governor))
        observe_moment(gpu, &moment, NULL);
    return governor_moment(gpu->governor, gpu->now, event, sm, application);
}

enum corun_status governed_epoch(struct corun_gpu *gpu)
{
    struct corun_policy_moment moment = {CORUN_EVENT_EPOCH, 0, 0};
    gpu->dispatch_due = true;
    enum corun_status status = governor_epoch(gpu->governor, gpu->now);
    if (!governor_policy(gpu->governor))
        observe_moment(gpu, &moment, NULL);
    return status;
}

enum corun_status governed_tb_left(struct corun_gpu *gpu, uint32_t sm, uint32_t application, bool completed)
{
    gpu->dispatch_due = true;
    return governor_tb_left(gpu->governor, gpu->now, sm, application, completed);
}

enum corun_status corun_gpu_set_policy(struct corun_gpu *gpu, const struct corun_policy *policy,
                                       const double *parameters, struct corun_diagnostics *list)
{
    if (gpu->sampling)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a GPU that samples takes no policy: its decisions would be about what is not simulated");
    return governor_set_policy(gpu->governor, policy, parameters, list);
}

enum corun_status corun_gpu_change_policy(struct corun_gpu *gpu, const struct corun_policy *policy,
                                          const double *parameters, struct corun_diagnostics *list)
{
    if (!gpu->opened || gpu->busy)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a policy is changed between two steps of a GPU that is driven from outside");
    if (policy)
        sample_idle_warps(gpu);
    gpu->busy = true;
    enum corun_status status = governor_change_policy(gpu->governor, gpu->now, policy, parameters, list);
    gpu->busy = false;
    gpu->dispatch_due = true;
    gpu->no_tb_since = gpu->no_quota_since = gpu->now;
    return status;
}

const struct corun_policy *corun_gpu_policy(const struct corun_gpu *gpu)
{
    return governor_policy(gpu->governor);
}

enum corun_status corun_gpu_set_goal(struct corun_gpu *gpu, uint32_t application, enum corun_goal_kind kind,
                                     double value, double goal_ipc, struct corun_diagnostics *list)
{
    const struct application *of = application_of(gpu, application);
    if (!of || of->released)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a goal for application %u of %u: it has left, or never was here", application,
                            gpu->application_count);
    return governor_set_goal(gpu->governor, slot_of(gpu, of), kind, value, goal_ipc, list);
}
