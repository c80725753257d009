/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of plans: what fits, dominant shares, victims, filling an SM one thread block at a time, limits from a
 * plan.
 */
#include "share/tb_plan.h"

#include <string.h>

bool tb_plan_start(struct tb_plan *plan, const struct corun_view *view, const char **refusal)
{
    if (view->sm_count > TB_PLAN_SMS) {
        *refusal = "policies that share inside SMs know GPUs of at most 1024";
        return false;
    }
    memset(plan, 0, sizeof *plan);
    plan->sm_count = view->sm_count;
    plan->application_count = view->application_count;
    plan->capacity[TB_REGISTERS] = view->registers_per_sm;
    plan->capacity[TB_SHARED_BYTES] = view->shared_bytes_per_sm;
    plan->capacity[TB_THREADS] = view->threads_per_sm;
    plan->capacity[TB_SLOTS] = view->tbs_per_sm;
    return true;
}

static struct tb_shape shape_of(const struct corun_grid_view *grid)
{
    return (struct tb_shape){.needs = {[TB_REGISTERS] = grid->tb_registers,
                                       [TB_SHARED_BYTES] = grid->tb_shared_bytes,
                                       [TB_THREADS] = grid->tb_threads,
                                       [TB_SLOTS] = 1},
                             .warps = grid->tb_warps,
                             .tbs_per_sm = grid->tbs_per_sm};
}

bool tb_plan_note(struct tb_plan *plan, const struct corun_view *view, struct corun_policy_moment moment)
{
    uint32_t a = moment.application;
    const struct corun_application_view *application = &view->applications[a];
    if (moment.event == CORUN_EVENT_LEAVE) {
        plan->present[a] = false;
        plan->shapes[a] = (struct tb_shape){0};
        for (uint32_t s = 0; s < plan->sm_count; s++)
            plan->tbs[s][a] = 0;
        return true;
    }
    if (moment.event == CORUN_EVENT_ARRIVE)
        plan->present[a] = true;
    if (moment.event != CORUN_EVENT_KERNEL_START || !application->running.kernel)
        return false;
    struct tb_shape shape = shape_of(&application->running);
    bool changed = !plan->present[a] || memcmp(&shape, &plan->shapes[a], sizeof shape) != 0;
    plan->present[a] = true;
    plan->shapes[a] = shape;
    return changed;
}

uint32_t tb_plan_members(const struct tb_plan *plan)
{
    uint32_t members = 0, count = plan->application_count;
    /* the second condition is for compilers that look at bounds */
    for (uint32_t a = 0; a < count && a < CORUN_MAX_APPLICATIONS; a++)
        members |= (uint32_t)(plan->present[a] && plan->shapes[a].needs[TB_SLOTS]) << a;
    return members;
}

uint32_t tb_plan_total(const struct tb_plan *plan, uint32_t application)
{
    uint32_t sum = 0;
    for (uint32_t s = 0; s < plan->sm_count; s++)
        sum += plan->tbs[s][application];
    return sum;
}

static uint64_t taken(const struct tb_plan *plan, const uint32_t *tbs, uint32_t resource)
{
    uint64_t sum = 0;
    for (uint32_t a = 0; a < plan->application_count; a++)
        sum += (uint64_t)tbs[a] * plan->shapes[a].needs[resource];
    return sum;
}

/* One more of the application beside `tbs`. */
static bool fits(const struct tb_plan *plan, const uint32_t *tbs, uint32_t application)
{
    const struct tb_shape *shape = &plan->shapes[application];
    if (!shape->needs[TB_SLOTS] || tbs[application] >= shape->tbs_per_sm)
        return false;
    for (uint32_t r = 0; r < TB_RESOURCES; r++)
        if (taken(plan, tbs, r) + shape->needs[r] > plan->capacity[r])
            return false;
    return true;
}

bool tb_plan_fits(const struct tb_plan *plan, uint32_t sm, uint32_t application)
{
    return fits(plan, plan->tbs[sm], application);
}

uint32_t tb_plan_victims(const struct tb_plan *plan, uint32_t sm, uint32_t application, uint32_t victim)
{
    uint32_t tbs[CORUN_MAX_APPLICATIONS];
    memcpy(tbs, plan->tbs[sm], sizeof tbs);
    for (uint32_t leaving = 0;; leaving++) {
        if (fits(plan, tbs, application))
            return leaving;
        if (!tbs[victim])
            return TB_PLAN_NEVER;
        tbs[victim]--;
    }
}

static tb_share part(uint64_t amount, uint64_t whole)
{
    return amount ? amount * TB_SHARE_ONE / whole : 0;
}

tb_share tb_plan_dominant(const struct tb_plan *plan, uint32_t application, uint32_t tbs, uint32_t sms)
{
    tb_share most = 0;
    for (uint32_t r = 0; r < TB_RESOURCES; r++) {
        tb_share share = part((uint64_t)tbs * plan->shapes[application].needs[r], (uint64_t)plan->capacity[r] * sms);
        most = share > most ? share : most;
    }
    return most;
}

tb_share tb_plan_sm_share(const struct tb_plan *plan, uint32_t sm, uint32_t without)
{
    uint32_t tbs[CORUN_MAX_APPLICATIONS];
    memcpy(tbs, plan->tbs[sm], sizeof tbs);
    if (without < CORUN_MAX_APPLICATIONS)
        tbs[without] = 0;
    tb_share most = 0;
    for (uint32_t r = 0; r < TB_RESOURCES; r++) {
        tb_share share = part(taken(plan, tbs, r), plan->capacity[r]);
        most = share > most ? share : most;
    }
    return most;
}

void tb_plan_fill(const struct tb_plan *plan, uint32_t members, enum tb_measure measure,
                  uint32_t tbs[CORUN_MAX_APPLICATIONS])
{
    memset(tbs, 0, CORUN_MAX_APPLICATIONS * sizeof *tbs);
    for (;;) {
        uint32_t best = TB_PLAN_NEVER;
        uint64_t least = UINT64_MAX;
        for (uint32_t a = 0; a < plan->application_count; a++) {
            if (!(members >> a & 1u) || !fits(plan, tbs, a))
                continue;
            uint64_t has = measure == TB_DOMINANT_SHARE ? tb_plan_dominant(plan, a, tbs[a], 1)
                                                        : (uint64_t)tbs[a] * plan->shapes[a].needs[TB_THREADS];
            if (has < least || (has == least && tbs[a] > tbs[best])) {
                best = a;
                least = has;
            }
        }
        if (best == TB_PLAN_NEVER)
            return;
        tbs[best]++;
    }
}

uint32_t tb_held(const struct corun_view *view, uint32_t sm, uint32_t application)
{
    const struct corun_share_view *share = &view->shares[sm * view->application_count + application];
    return share->resident_tbs + share->pending_tbs;
}

uint32_t tb_waiting(const struct corun_view *view, uint32_t application)
{
    const struct corun_grid_view *grid = &view->applications[application].running;
    return grid->kernel ? grid->tbs_waiting + grid->tbs_preempted : 0;
}

void tb_plan_allow(const struct tb_plan *plan, struct corun_allowances *allowances)
{
    for (uint32_t s = 0; s < plan->sm_count; s++)
        for (uint32_t a = 0; a < plan->application_count; a++) {
            allowances->tb_limit[s * plan->application_count + a] = plan->tbs[s][a];
            allowances->reclaim[s * plan->application_count + a] = CORUN_RECLAIM_SWAP_TB;
        }
}
