/* SPDX-License-Identifier: MIT */
/*
 * What a policy sees: what the machine has told, rates and differences over epochs, goals; and nothing that the machine
 * cannot tell or the policy has not declared.
 */
#include "govern/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is visible of everything that can be observed. */
static uint32_t known(const struct governor *governor)
{
    return governor->machine.observations & (governor->policy ? governor->policy->observes : 0);
}

static bool is_known(const struct governor *governor, enum corun_observation_kind observation)
{
    return known(governor) >> observation & 1u;
}

bool view_create(struct governor *governor)
{
    const struct corun_machine *machine = &governor->machine;
    size_t sms = machine->sm_count, applications = governor->application_count ? governor->application_count : 1;
    size_t entries = sms * applications;
    struct corun_reading *reading = &governor->reading;
    governor->application_views = calloc(applications, sizeof *governor->application_views);
    governor->sm_views = calloc(sms, sizeof *governor->sm_views);
    governor->share_views = calloc(entries, sizeof *governor->share_views);
    governor->counts = calloc(entries, sizeof *governor->counts);
    governor->marks = calloc(entries, sizeof *governor->marks);
    governor->over_limit = calloc(sms, sizeof *governor->over_limit);
    reading->applications = calloc(applications, sizeof *reading->applications);
    reading->sms = calloc(sms, sizeof *reading->sms);
    reading->shares = calloc(entries, sizeof *reading->shares);
    governor->view = (struct corun_view){
        .version = CORUN_POLICY_VERSION,
        .epoch_cycles = machine->epoch,
        .window_cycles = governor->limits.window,
        .sm_count = machine->sm_count,
        .application_count = governor->application_count,
        .capabilities = machine->capabilities,
        .clock = machine->clock,
        .clock_khz = machine->clock_khz,
        .progress_unit = machine->progress_unit,
        .schedulers_per_sm = machine->schedulers_per_sm,
        .threads_per_sm = machine->threads_per_sm,
        .tbs_per_sm = machine->tbs_per_sm,
        .applications = governor->application_views,
        .sms = governor->sm_views,
        .shares = governor->share_views,
    };
    view_declare(governor);
    return governor->application_views && governor->sm_views && governor->share_views && governor->counts &&
           governor->marks && governor->over_limit && reading->applications && reading->sms && reading->shares;
}

void view_declare(struct governor *governor)
{
    governor->sms_hidden = false;
    const struct corun_machine *machine = &governor->machine;
    bool resources = is_known(governor, CORUN_SEES_TB_RESOURCES);
    governor->view.observations = known(governor);
    governor->view.registers_per_sm = resources ? machine->registers_per_sm : UINT32_MAX;
    governor->view.shared_bytes_per_sm = resources ? machine->shared_bytes_per_sm : UINT32_MAX;
}

void view_free(struct governor *governor)
{
    void *blocks[] = {governor->application_views,
                      governor->sm_views,
                      governor->share_views,
                      governor->counts,
                      governor->marks,
                      governor->over_limit,
                      governor->reading.sms,
                      governor->reading.shares,
                      governor->reading.applications};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

void view_read(struct governor *governor)
{
    struct corun_reading *reading = &governor->reading;
    size_t sms = governor->machine.sm_count, applications = governor->application_count;
    reading->preemptions_pending = 0;
    memset(reading->applications, 0, applications * sizeof *reading->applications);
    memset(reading->sms, 0, sms * sizeof *reading->sms);
    memset(reading->shares, 0, sms * applications * sizeof *reading->shares);
    governor->machine.operations->read(governor->machine.machine, reading);
}

static void fill_application(struct governor *governor, uint32_t index)
{
    const struct member *member = &governor->members[index];
    const struct governor_application *agreed = &member->application;
    const struct corun_application_reading *reading = &governor->reading.applications[index];
    struct corun_application_view *view = &governor->application_views[index];
    *view = (struct corun_application_view){.name = agreed->name,
                                            .state = reading->state,
                                            .goal = agreed->goal,
                                            .goal_value = agreed->goal_value,
                                            .goal_ipc = agreed->goal_ipc,
                                            .isolated_ipc = agreed->isolated_ipc,
                                            .epoch_ipc = member->epoch_ipc,
                                            .arrived_cycle = reading->arrived,
                                            .runs = reading->runs,
                                            .running = reading->running,
                                            .grids_queued = reading->grids_queued,
                                            .speedup = agreed->speedup,
                                            .speedup_count = agreed->speedup_count,
                                            .run_launches = agreed->run_launches,
                                            .run_launch_count = agreed->run_launch_count,
                                            .asked_cycles = reading->asked,
                                            .asked_count = reading->asked_count};
    if (reading->state == CORUN_APPLICATION_ABSENT)
        return;
    view->progress = reading->progress;
    uint64_t end = reading->state == CORUN_APPLICATION_LEFT ? reading->left : governor->now;
    if (end > reading->arrived)
        view->ipc = (double)view->progress / (double)(end - reading->arrived);
}

static void fill_share(struct governor *governor, size_t entry)
{
    const struct corun_share_reading *reading = &governor->reading.shares[entry];
    struct corun_share_view *view = &governor->share_views[entry]; /* the other members are of the last epoch */
    view->resident_tbs = reading->resident_tbs;
    view->pending_tbs = reading->pending_tbs;
    view->leaving_tbs = reading->leaving_tbs;
    view->one_more_fits = reading->one_more_fits;
    view->quota = reading->quota;
}

#define NOT_KNOWN(member) \
    _Generic((member), double \
             : (double)NAN, uint64_t \
             : UINT64_MAX, uint32_t \
             : UINT32_MAX, int64_t \
             : INT64_MIN, bool \
             : false)

/* Does the policy see anything of single SMs? */
static bool sees_sms(const struct governor *governor)
{
    uint32_t of_sms = 0;
#define OF_applications(observation) 0u
#define OF_sms(observation) 1u << CORUN_SEES_##observation
#define OF_shares(observation) 1u << CORUN_SEES_##observation
#define ADD(table, member, observation) of_sms |= OF_##table(observation);
    CORUN_OBSERVED_MEMBERS(ADD)
#undef ADD
#undef OF_applications
#undef OF_sms
#undef OF_shares
    return known(governor) & of_sms;
}

/* What is not known is never read as zero. Of SMs and shares only if that does not stand there already. */
static void hide_unknown(struct governor *governor)
{
    struct {
        struct corun_application_view *applications;
        struct corun_sm_view *sms;
        struct corun_share_view *shares;
    } const views = {governor->application_views, governor->sm_views, governor->share_views};
    struct {
        size_t applications, sms, shares;
    } const counts = {governor->application_count, governor->sms_hidden ? 0 : governor->machine.sm_count,
                      governor->sms_hidden ? 0 : (size_t)governor->machine.sm_count * governor->application_count};
#define HIDE(table, member, observation) \
    if (!is_known(governor, CORUN_SEES_##observation)) \
        for (size_t i = 0; i < counts.table; i++) \
            views.table[i].member = NOT_KNOWN(views.table[i].member);
    CORUN_OBSERVED_MEMBERS(HIDE)
#undef HIDE
    if (!is_known(governor, CORUN_SEES_PREEMPTIONS))
        governor->view.preemptions_pending = UINT32_MAX;
}

static void fill_sms(struct governor *governor)
{
    for (uint32_t s = 0; s < governor->machine.sm_count; s++) {
        const struct corun_sm_reading *reading = &governor->reading.sms[s];
        governor->sm_views[s] = (struct corun_sm_view){.powered = reading->powered,
                                                       .handing_over = governor->over_limit[s] != 0,
                                                       .stalled = reading->stalled,
                                                       .resident_tbs = reading->resident_tbs,
                                                       .resident_warps = reading->resident_warps};
    }
    for (size_t entry = 0; entry < (size_t)governor->machine.sm_count * governor->application_count; entry++)
        fill_share(governor, entry);
}

void view_fill(struct governor *governor)
{
    governor->view.cycle = governor->now;
    governor->view.preemptions_pending = governor->reading.preemptions_pending;
    for (uint32_t a = 0; a < governor->application_count; a++)
        fill_application(governor, a);
    if (!governor->sms_hidden)
        fill_sms(governor);
    if (known(governor) != CORUN_ALL_OBSERVATIONS)
        hide_unknown(governor);
    governor->sms_hidden = !sees_sms(governor);
}

void view_forget(struct governor *governor, uint32_t slot)
{
    governor->sms_hidden = false;
    for (uint32_t s = 0; s < governor->machine.sm_count; s++) {
        size_t entry = (size_t)s * governor->application_count + slot;
        governor->marks[entry] = (struct corun_share_counts){0};
        governor->share_views[entry] = (struct corun_share_view){0};
        governor->over_limit[s] &= ~(1u << slot);
    }
}

static void epoch_of_application(struct governor *governor, uint32_t index)
{
    struct member *member = &governor->members[index];
    const struct corun_application_reading *reading = &governor->reading.applications[index];
    uint64_t passed = governor->now - governor->epoch_began;
    member->epoch_ipc = (double)(int64_t)(reading->progress - member->epoch_progress) / (double)passed;
    if (!(member->epoch_ipc > 0)) /* more was dropped than done */
        member->epoch_ipc = 0;
    member->epoch_progress = reading->progress;
    bool whole = reading->state == CORUN_APPLICATION_RUNNING && reading->arrived <= governor->epoch_began;
    if (whole && member->epoch_ipc > member->best_epoch_ipc)
        member->best_epoch_ipc = member->epoch_ipc;
}

void view_epoch(struct governor *governor)
{
    size_t entries = (size_t)governor->machine.sm_count * governor->application_count;
    for (uint32_t a = 0; a < governor->application_count; a++)
        epoch_of_application(governor, a);
    if (!governor->machine.operations->read_epoch)
        return;
    governor->sms_hidden = false;
    memset(governor->counts, 0, entries * sizeof *governor->counts);
    governor->machine.operations->read_epoch(governor->machine.machine, governor->counts);
    for (size_t entry = 0; entry < entries; entry++) {
        const struct corun_share_counts *now = &governor->counts[entry], *mark = &governor->marks[entry];
        struct corun_share_view *view = &governor->share_views[entry];
        view->warp_instructions = now->warp_instructions - mark->warp_instructions;
        view->thread_instructions = now->thread_instructions - mark->thread_instructions;
        view->issue_cycles = now->issue_cycles - mark->issue_cycles;
        view->idle_warps = now->idle_warps;
    }
    struct corun_share_counts *before = governor->marks;
    governor->marks = governor->counts;
    governor->counts = before;
}
