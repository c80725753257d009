/*
 * Sharing: the view that a policy reads, and the moments at which it is called.
 */
#include "gpu/machine.h"

#include <stdlib.h>
#include <string.h>

#define CAN(name) (1u << CORUN_CAN_##name)
#define CAPABILITIES \
    (CAN(TB_LIMIT) | CAN(ORDER) | CAN(EXCLUSIVE) | CAN(DRAIN) | CAN(SWAP_TB) | CAN(SWITCH_SM) | CAN(DROP) | \
     CAN(QUOTA) | CAN(POWER) | CAN(PARTITION))

static const char *const capability_names[] = {
#define CAPABILITY_NAME(name, meaning) meaning,
    CORUN_CAPABILITIES(CAPABILITY_NAME)
#undef CAPABILITY_NAME
};

bool sharing_allocate(struct corun_gpu *gpu)
{
    size_t sms = gpu->config.sms, entries = sms * (gpu->application_count ? gpu->application_count : 1);
    struct corun_allowances *w = &gpu->allowances;
    size_t variables = gpu->policy && gpu->policy->variable_count ? gpu->policy->variable_count : 1;
#define ALLOCATE_GUARDED(name, count) w->name = guard_allocate(gpu, count, sizeof *w->name, #name);
    GUARDED_ALLOWANCES(ALLOCATE_GUARDED)
#undef ALLOCATE_GUARDED
#define IS_MISSING(name, count) || !w->name
    if (false GUARDED_ALLOWANCES(IS_MISSING))
        return false;
#undef IS_MISSING
    gpu->application_views = calloc(CORUN_MAX_APPLICATIONS, sizeof *gpu->application_views);
    gpu->sm_views = calloc(sms, sizeof *gpu->sm_views);
    gpu->share_views = calloc(entries, sizeof *gpu->share_views);
    gpu->share_marks = calloc(entries, sizeof *gpu->share_marks);
    gpu->partitions_given = calloc(entries, sizeof *gpu->partitions_given);
    if (!gpu->application_views || !gpu->sm_views || !gpu->share_views || !gpu->share_marks || !gpu->partitions_given)
        return false;
    for (size_t i = 0; i < entries; i++)
        w->tb_limit[i] = CORUN_UNLIMITED;
    for (size_t s = 0; s < sms; s++)
        w->powered[s] = true;
    gpu->view = (struct corun_view){.version = CORUN_POLICY_VERSION,
                                    .epoch_cycles = gpu->config.epoch_cycles,
                                    .window_cycles = gpu->limits.cycles,
                                    .sm_count = gpu->config.sms,
                                    .application_count = gpu->application_count,
                                    .capabilities = CAPABILITIES,
                                    .core_clock_khz = gpu->config.core_clock_khz,
                                    .schedulers_per_sm = gpu->config.schedulers_per_sm,
                                    .registers_per_sm = gpu->config.registers_per_sm,
                                    .shared_bytes_per_sm = gpu->config.shared_bytes_per_sm,
                                    .threads_per_sm = gpu->config.threads_per_sm,
                                    .tbs_per_sm = gpu->config.tbs_per_sm,
                                    .applications = gpu->application_views,
                                    .sms = gpu->sm_views,
                                    .shares = gpu->share_views};
    return true;
}

void sharing_free(struct corun_gpu *gpu)
{
    void *blocks[] = {gpu->application_views, gpu->sm_views,         gpu->share_views,
                      gpu->share_marks,       gpu->partitions_given, gpu->parameters};
    guard_free(gpu);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static void view_grid(const struct corun_gpu *gpu, const struct application *application, struct corun_grid_view *view)
{
    const struct launch *launch = application->running;
    *view = (struct corun_grid_view){0};
    if (!launch)
        return;
    struct tb_needs needs;
    tb_needs_compute(&gpu->config, launch->grid, &needs);
    *view = (struct corun_grid_view){.kernel = launch->grid->name,
                                     .tbs = launch->grid->tb_count,
                                     .tbs_waiting =
                                         launch->grid->tb_count - launch->next_tb + (uint32_t)launch->returned.count,
                                     .tbs_completed = launch->completed,
                                     .tb_threads = launch->grid->tb_threads,
                                     .tb_warps = launch->grid->tb_warps,
                                     .tb_registers = needs.registers,
                                     .tb_shared_bytes = needs.shared_bytes,
                                     .tbs_per_sm = launch->kernel->tbs_per_sm,
                                     .tbs_preempted = application->preempted_count,
                                     .idempotent = launch->grid->idempotent};
}

static void view_application(struct corun_gpu *gpu, uint32_t index)
{
    const struct application *a = &gpu->applications[index];
    struct corun_application_view *view = &gpu->application_views[index];
    *view = (struct corun_application_view){.name = a->name,
                                            .state = a->state,
                                            .goal = a->description.goal,
                                            .goal_value = a->description.goal_value,
                                            .goal_ipc = a->description.goal_ipc,
                                            .isolated_ipc = a->description.isolated_ipc,
                                            .epoch_ipc = a->epoch_ipc,
                                            .arrived_cycle = a->arrived_cycle,
                                            .speedup = a->description.speedup,
                                            .speedup_count = a->description.speedup_count,
                                            .program = a->description.program,
                                            .program_count = a->description.program_count,
                                            .runs = a->runs};
    view_grid(gpu, a, &view->running);
    if (a->state == CORUN_APPLICATION_RUNNING && (a->description.grid || a->description.proceed)) {
        uint32_t begun = a->grid_index + a->in_flight, count = a->description.program_count;
        view->grids_queued = count > begun ? count - begun : !a->running; /* at its end it starts over */
    }
    if (a->state == CORUN_APPLICATION_ABSENT)
        return;
    view->thread_instructions = application_thread_instructions(gpu, index);
    uint64_t end = a->state == CORUN_APPLICATION_LEFT ? a->ended_cycle : gpu->now;
    if (end > a->arrived_cycle)
        view->ipc = (double)view->thread_instructions / (double)(end - a->arrived_cycle);
}

static void view_share(struct corun_gpu *gpu, uint32_t s, uint32_t a)
{
    uint32_t entry = s * gpu->application_count + a;
    const struct sm *sm = gpu->sms[s];
    const struct launch *launch = gpu->applications[a].running;
    struct corun_share_view *view = &gpu->share_views[entry];
    struct tb_needs needs;
    view->resident_tbs = sm->application_tbs[a];
    view->pending_tbs = gpu->use[s].application_tbs[a] - sm->application_tbs[a];
    view->quota = quota_left(sm, a, gpu->now);
    view->leaving_tbs = gpu->use[s].leaving_tbs[a];
    view->one_more_fits = false;
    if (launch) {
        tb_needs_compute(&gpu->config, launch->grid, &needs);
        view->one_more_fits = tb_fits(gpu, s, &needs);
    }
}

static void view_update(struct corun_gpu *gpu)
{
    gpu->view.cycle = gpu->now;
    gpu->view.preemptions_pending = (uint32_t)gpu->leaving.count + gpu->restoring;
    for (uint32_t a = 0; a < gpu->application_count; a++)
        view_application(gpu, a);
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        gpu->sm_views[s] = (struct corun_sm_view){.powered = gpu->power[s].on,
                                                  .handing_over = gpu->use[s].over_limit != 0,
                                                  .stalled = gpu->use[s].switching != 0,
                                                  .resident_tbs = gpu->sms[s]->resident_tbs,
                                                  .resident_warps = gpu->sms[s]->resident_warps};
        for (uint32_t a = 0; a < gpu->application_count; a++)
            view_share(gpu, s, a);
    }
}

/* What happened in the epoch that has just ended. */
static void view_epoch(struct corun_gpu *gpu)
{
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        struct application *application = &gpu->applications[a];
        uint64_t instructions = application_thread_instructions(gpu, a);
        application->epoch_ipc =
            (double)(int64_t)(instructions - application->epoch_thread_instructions) / (double)gpu->config.epoch_cycles;
        if (application->epoch_ipc < 0) /* more was dropped than issued */
            application->epoch_ipc = 0;
        application->epoch_thread_instructions = instructions;
        bool whole = application->state == CORUN_APPLICATION_RUNNING &&
                     application->arrived_cycle + gpu->config.epoch_cycles <= gpu->now;
        if (whole && application->epoch_ipc > application->best_epoch_ipc)
            application->best_epoch_ipc = application->epoch_ipc;
        for (uint32_t s = 0; s < gpu->config.sms; s++) {
            uint32_t entry = s * gpu->application_count + a;
            struct corun_counters now, *mark = &gpu->share_marks[entry];
            struct corun_share_view *view = &gpu->share_views[entry];
            struct sm *sm = gpu->sms[s];
            corun_gpu_share(gpu, s, a, &now);
            view->warp_instructions = now.warp_instructions - mark->warp_instructions;
            view->thread_instructions = now.thread_instructions - mark->thread_instructions;
            view->issue_cycles = now.issue_cycles - mark->issue_cycles;
            view->idle_warps = sm->samples ? (double)sm->idle_warp_samples[a] / (double)sm->samples : 0;
            sm->idle_warp_samples[a] = 0;
            *mark = now;
        }
    }
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        gpu->sms[s]->samples = 0;
}

/*
 * After a decision: which applications stand above a limit now, and what leaves because of it. The policy hears
 * when an application is back under a limit, unless that is because it has raised it.
 */
static enum corun_status follow_limits(struct corun_gpu *gpu)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t s = 0; s < gpu->config.sms && status == CORUN_OK; s++)
        for (uint32_t a = 0; a < gpu->application_count && status == CORUN_OK; a++) {
            struct sm_use *use = &gpu->use[s];
            const uint32_t *limit = &gpu->allowances.tb_limit[s * gpu->application_count + a];
            uint32_t bit = 1u << a;
            bool over = use->application_tbs[a] > *limit;
            use->over_limit = over ? use->over_limit | bit : use->over_limit & ~bit;
            if (!over && !use->leaving_tbs[a])
                continue;
            status = preemption_follow(gpu, s, a);
            if (status == CORUN_OK && over && use->application_tbs[a] <= *limit) { /* those under way were enough */
                use->over_limit &= ~bit;
                status = sharing_moment(gpu, CORUN_EVENT_LIMIT_REACHED, s, a);
            }
        }
    return status;
}

enum corun_status sharing_tb_left(struct corun_gpu *gpu, uint32_t sm, uint32_t application, bool completed)
{
    struct sm_use *use = &gpu->use[sm];
    uint32_t bit = 1u << application;
    bool reached = use->over_limit & bit && use->application_tbs[application] <=
                                                gpu->allowances.tb_limit[sm * gpu->application_count + application];
    enum corun_status status = CORUN_OK;
    gpu->dispatch_due = true;
    if (reached)
        use->over_limit &= ~bit;
    if (completed && gpu->policy && gpu->policy->wants_tb_complete)
        status = sharing_moment(gpu, CORUN_EVENT_TB_COMPLETE, sm, application);
    if (status == CORUN_OK && reached)
        status = sharing_moment(gpu, CORUN_EVENT_LIMIT_REACHED, sm, application);
    if (status == CORUN_OK && use->leaving_tbs[application])
        status = preemption_follow(gpu, sm, application);
    return status;
}

enum corun_status sharing_moment(struct corun_gpu *gpu, enum corun_policy_event event, uint32_t sm,
                                 uint32_t application)
{
    gpu->dispatch_due = true;
    struct corun_observation seen = {
        .kind = CORUN_OBSERVED_MOMENT, .cycle = gpu->now, .sm = sm, .application = application, .event = event};
    if (!gpu->policy) {
        observe(gpu, &seen);
        return CORUN_OK;
    }
    view_update(gpu);
    struct corun_policy_moment moment = {event, sm, application};
    enum corun_status status = guard_call(gpu, &moment);
    gpu->allowances_cycle = gpu->now;
    if (status == CORUN_OK)
        status = allowances_check(gpu);
    seen.allowances = &gpu->allowances;
    if (status == CORUN_OK)
        observe(gpu, &seen);
    if (status == CORUN_OK)
        status = allowances_hand_over(gpu);
    return status == CORUN_OK ? follow_limits(gpu) : status;
}

enum corun_status sharing_epoch(struct corun_gpu *gpu)
{
    view_epoch(gpu);
    gpu->next_epoch += gpu->config.epoch_cycles;
    return sharing_moment(gpu, CORUN_EVENT_EPOCH, 0, 0);
}

enum corun_status sharing_start(struct corun_gpu *gpu)
{
    uint64_t sample = gpu->config.epoch_cycles / SAMPLES_PER_EPOCH;
    gpu->next_epoch = gpu->config.epoch_cycles;
    if (!gpu->policy)
        return CORUN_OK;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        gpu->sms[s]->sample_cycles = sample ? sample : 1;
        gpu->sms[s]->next_sample = gpu->sms[s]->sample_cycles;
    }
    uint32_t missing = gpu->policy->needs & ~CAPABILITIES;
    if (missing)
        return corun_report(gpu->list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s needs a machine that %s; the simulated GPU does not", gpu->policy->name,
                            capability_names[lowest_bit(missing)]);
    view_update(gpu);
    enum corun_status status = guard_call(gpu, NULL);
    if (status == CORUN_OK)
        status = allowances_check(gpu);
    return status == CORUN_OK ? allowances_hand_over(gpu) : status;
}

void sharing_stop(struct corun_gpu *gpu)
{
    if (gpu->policy && gpu->policy->stop)
        gpu->policy->stop(gpu->policy_state);
}

enum corun_status corun_gpu_set_policy(struct corun_gpu *gpu, const struct corun_policy *policy,
                                       const double *parameters, struct corun_diagnostics *list)
{
    if (policy->version != CORUN_POLICY_VERSION)
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s was built for version %u of the sharing contract, this is version %u",
                            policy->name, policy->version, CORUN_POLICY_VERSION);
    gpu->parameters = calloc(policy->parameter_count + 1, sizeof *gpu->parameters);
    gpu->policy_state = guard_allocate(gpu, policy->state_bytes ? policy->state_bytes : 1, 1, "its state");
    if (!gpu->parameters || !gpu->policy_state)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < policy->parameter_count; i++) {
        const struct corun_policy_parameter *row = &policy->parameters[i];
        double value = parameters ? parameters[i] : row->initial;
        if (!(value >= row->lowest && value <= row->highest) || (row->integer && value != (double)(int64_t)value))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "policy %s: %s must be %s from %g to %g, not %g",
                                policy->name, row->name, row->integer ? "an integer" : "a number", row->lowest,
                                row->highest, value);
        gpu->parameters[i] = value;
    }
    gpu->policy = policy;
    return CORUN_OK;
}
