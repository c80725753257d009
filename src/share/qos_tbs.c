/* SPDX-License-Identifier: MIT */
/* Thread blocks of quota-based QoS: where they are at first, and how many more a kernel gets that misses its goal. */
#include "share/qos_state.h"

#include <string.h>

bool qos_has_goal(const struct corun_view *view, uint32_t application)
{
    return view->applications[application].goal_ipc > 0;
}

void qos_allocate(struct qos_state *state, const struct corun_view *view)
{
    struct tb_plan *plan = &state->plan;
    uint32_t members = tb_plan_members(plan), with_goal = 0, others = 0, place = 0;
    for (uint32_t a = 0; a < plan->application_count; a++) {
        with_goal |= (uint32_t)(members >> a & 1u && qos_has_goal(view, a)) << a;
        others += members >> a & 1u && !qos_has_goal(view, a);
    }
    for (uint32_t s = 0; s < plan->sm_count; s++)
        state->allowed[s] = with_goal;
    for (uint32_t a = 0; a < plan->application_count; a++) {
        if (!(members >> a & 1u) || qos_has_goal(view, a))
            continue;
        for (uint32_t s = place * plan->sm_count / others; s < (place + 1) * plan->sm_count / others; s++)
            state->allowed[s] |= 1u << a;
        place++;
    }
    for (uint32_t s = 0; s < plan->sm_count; s++)
        tb_plan_fill(plan, state->allowed[s], TB_THREAD_COUNT, plan->tbs[s]);
    memset(state->due, 0, sizeof state->due);
    state->guests = 0;
}

/* Thread blocks of the kernel that has just started that find place where `tbs` of another shape were. */
static uint32_t places_in(const struct tb_shape *room, uint32_t tbs, const struct tb_shape *shape)
{
    uint32_t places = shape->tbs_per_sm;
    for (uint32_t r = 0; r < TB_RESOURCES; r++)
        if (shape->needs[r] && tbs * room->needs[r] / shape->needs[r] < places)
            places = tbs * room->needs[r] / shape->needs[r];
    return places;
}

bool qos_stays(struct qos_state *state, const struct corun_view *view, uint32_t a, const struct tb_shape *last)
{
    struct tb_plan *plan = &state->plan;
    const struct tb_shape *shape = &plan->shapes[a];
    struct tb_shape *home = &state->home_shape[a];
    uint32_t bit = 1u << a, places = 0;
    if (!(state->guests & bit)) {
        *home = *last;
        for (uint32_t s = 0; s < plan->sm_count; s++)
            state->home_tbs[s][a] = plan->tbs[s][a];
    }
    bool is_home = memcmp(home, shape, sizeof *shape) == 0;
    for (uint32_t s = 0; s < plan->sm_count; s++)
        places += places_in(home, state->home_tbs[s][a], shape);
    if (!is_home && places < view->applications[a].running.tbs)
        return false;
    for (uint32_t s = 0; s < plan->sm_count; s++)
        plan->tbs[s][a] = places_in(home, state->home_tbs[s][a], shape);
    state->guests = is_home ? state->guests & ~bit : state->guests | bit;
    state->old_guests &= ~bit;
    return true;
}

/* Thread blocks that could leave an SM without its having less to issue: as many as its warps that were ready and not picked make up. */
static uint32_t idle_tbs(const struct qos_state *state, const struct corun_view *view, uint32_t s, uint32_t a)
{
    uint32_t warps = state->plan.shapes[a].warps;
    return warps ? (uint32_t)(view->shares[s * view->application_count + a].idle_warps / warps) : 0;
}

/* Fewer than two idle thread blocks per SM, on average over those that it is planned for. */
static bool lacks_tbs(const struct qos_state *state, const struct corun_view *view, uint32_t a)
{
    uint64_t idle = 0, sms = 0;
    for (uint32_t s = 0; s < view->sm_count; s++)
        if (state->plan.tbs[s][a]) {
            idle += idle_tbs(state, view, s, a);
            sms++;
        }
    return !sms || idle < 2 * sms;
}

/* The three conditions of section 3.6. */
static bool is_victim(const struct qos_state *state, const struct corun_view *view, uint32_t s, uint32_t v, uint32_t n)
{
    if (!qos_has_goal(view, v) || idle_tbs(state, view, s, v) >= n + 1)
        return true;
    double history = view->applications[v].ipc;
    return history * (1 - (double)n / tb_plan_total(&state->plan, v)) > state->members[v].goal_ipc;
}

/* The first kernel that can make room, best effort before those with goals; NEVER if none may. */
static uint32_t find_victim(const struct qos_state *state, const struct corun_view *view, uint32_t s, uint32_t k,
                            uint32_t *leaving)
{
    const struct tb_plan *plan = &state->plan;
    for (uint32_t with_goal = 0; with_goal < 2; with_goal++)
        for (uint32_t v = 0; v < plan->application_count; v++) {
            if (v == k || !plan->tbs[s][v] || qos_has_goal(view, v) != with_goal)
                continue;
            uint32_t n = tb_plan_victims(plan, s, k, v);
            if (n == TB_PLAN_NEVER || !is_victim(state, view, s, v, n))
                continue;
            *leaving = n;
            return v;
        }
    return TB_PLAN_NEVER;
}

/* Thread blocks that have no place in the plan. */
static bool has_more(const struct tb_plan *plan, const struct corun_view *view, uint32_t a)
{
    uint32_t granted = 0;
    for (uint32_t s = 0; s < plan->sm_count; s++) {
        uint32_t held = tb_held(view, s, a);
        granted += plan->tbs[s][a] > held ? plan->tbs[s][a] - held : 0;
    }
    return tb_waiting(view, a) > granted;
}

/* Nobody without a goal could be given less. */
static bool others_at_least(const struct qos_state *state, const struct corun_view *view)
{
    for (uint32_t a = 0; a < view->application_count; a++)
        if (tb_plan_members(&state->plan) >> a & 1u && !qos_has_goal(view, a) &&
            state->members[a].artificial_goal > QOS_INITIAL_IPC)
            return false;
    return true;
}

static bool is_leaving(const struct corun_view *view)
{
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        if (view->shares[i].leaving_tbs)
            return true;
    return false;
}

/* Below its goal so far, and without thread blocks that idle. */
static bool is_short(const struct qos_state *state, const struct corun_view *view, uint32_t k)
{
    return tb_plan_members(&state->plan) >> k & 1u && qos_has_goal(view, k) &&
           view->applications[k].ipc < state->members[k].goal_ipc && lacks_tbs(state, view, k);
}

bool qos_proceed(struct qos_state *state, const struct corun_view *view)
{
    struct tb_plan *plan = &state->plan;
    bool pending = is_leaving(view), changed = false;
    if (state->guests) /* their room is not theirs to give */
        return false;
    uint32_t entries = plan->application_count * plan->sm_count, first = state->next_entry;
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t entry = (first + i) % entries, k = entry / plan->sm_count, s = entry % plan->sm_count;
        if (!(state->due[s] >> k & 1u))
            continue;
        uint32_t leaving = 0;
        bool room = tb_plan_fits(plan, s, k);
        uint32_t victim = room ? TB_PLAN_NEVER : find_victim(state, view, s, k, &leaving);
        bool can = has_more(plan, view, k) && (room || victim != TB_PLAN_NEVER);
        if (can && !room && pending)
            continue; /* its turn comes */
        state->due[s] &= ~(1u << k);
        if (!can)
            continue;
        if (!room) {
            plan->tbs[s][victim] -= leaving;
            state->swaps += leaving;
            state->next_entry = (entry + 1) % entries;
            pending = true;
        }
        plan->tbs[s][k]++;
        changed = true;
    }
    return changed;
}

bool qos_adjust(struct qos_state *state, const struct corun_view *view, bool *out_of_reach)
{
    struct tb_plan *plan = &state->plan;
    uint32_t before[CORUN_MAX_APPLICATIONS] = {0}, all_due = 0, still_due = 0;
    bool more_to_come = is_leaving(view) || state->guests || !others_at_least(state, view);
    state->guests &= ~state->old_guests; /* they seem to stay */
    state->old_guests = state->guests;
    for (uint32_t k = 0; k < plan->application_count; k++) {
        before[k] = tb_plan_total(plan, k);
        all_due |= (uint32_t)is_short(state, view, k) << k;
    }
    for (uint32_t s = 0; s < plan->sm_count; s++)
        state->due[s] = all_due;
    bool changed = qos_proceed(state, view);
    for (uint32_t s = 0; s < plan->sm_count; s++)
        still_due |= state->due[s];
    for (uint32_t k = 0; k < plan->application_count; k++) {
        bool helped = more_to_come || still_due >> k & 1u || tb_plan_total(plan, k) > before[k];
        bool missed = view->applications[k].ipc < view->applications[k].goal_ipc;
        out_of_reach[k] = all_due >> k & 1u && missed && !helped;
    }
    return changed;
}
