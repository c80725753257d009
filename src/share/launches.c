/* SPDX-License-Identifier: MIT */
/*
 * Launches are noted as they are foreseen or seen, alike ones under one shape; rounds and the most useful SMs come from
 * the shapes.
 */
#include "share/launches.h"

/* What the view tells of an application that has arrived. */
static void foresee(struct launches *launches, const struct corun_application_view *view, uint32_t a)
{
    launches->applications[a].foreseen = view->run_launches && launches->scope == LAUNCH_SCOPE_RUN;
    launches->applications[a].count = 0;
    for (uint32_t i = 0; launches->applications[a].foreseen && i < view->run_launch_count; i++) {
        uint32_t *count = &launches->applications[a].count;
        if (*count < LAUNCH_SHAPES && view->run_launches[i].tbs_per_sm)
            launches->applications[a].shapes[(*count)++] = (struct launch_shape){
                view->run_launches[i].tbs, view->run_launches[i].tbs_per_sm, view->run_launches[i].launches};
    }
}

bool launches_note(struct launches *launches, const struct corun_view *view, struct corun_policy_moment moment)
{
    uint32_t a = moment.application;
    if (moment.event == CORUN_EVENT_ARRIVE)
        foresee(launches, &view->applications[a], a);
    if (moment.event == CORUN_EVENT_ARRIVE || moment.event == CORUN_EVENT_LEAVE)
        return true;
    const struct corun_grid_view *grid = &view->applications[a].running;
    if (moment.event != CORUN_EVENT_KERNEL_START || !grid->kernel || !grid->tbs_per_sm)
        return false;
    struct launch_shape *shapes = launches->applications[a].shapes;
    uint32_t *count = &launches->applications[a].count;
    if (launches->scope == LAUNCH_SCOPE_KERNEL) {
        bool same = *count && shapes[0].tbs == grid->tbs && shapes[0].tbs_per_sm == grid->tbs_per_sm;
        shapes[0] = (struct launch_shape){grid->tbs, grid->tbs_per_sm, 1};
        *count = 1;
        return !same;
    }
    if (launches->applications[a].foreseen || view->applications[a].runs)
        return false;
    for (uint32_t i = 0; i < *count; i++) {
        if (shapes[i].tbs == grid->tbs && shapes[i].tbs_per_sm == grid->tbs_per_sm) {
            shapes[i].launches++;
            return true;
        }
    }
    if (*count == LAUNCH_SHAPES)
        return false;
    shapes[(*count)++] = (struct launch_shape){grid->tbs, grid->tbs_per_sm, 1};
    return true;
}

uint32_t launches_most_sms(const struct launches *launches, uint32_t application)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < launches->applications[application].count; i++) {
        uint32_t tbs = launches->applications[application].shapes[i].tbs;
        most = tbs > most ? tbs : most;
    }
    return most ? most : CORUN_UNLIMITED;
}

uint32_t launches_full_sms(const struct launches *launches, uint32_t application)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < launches->applications[application].count; i++) {
        const struct launch_shape *shape = &launches->applications[application].shapes[i];
        uint32_t full = shape->tbs / shape->tbs_per_sm + (shape->tbs % shape->tbs_per_sm != 0);
        most = full > most ? full : most;
    }
    return most ? most : CORUN_UNLIMITED;
}

uint64_t launches_rounds(const struct launches *launches, uint32_t application, uint32_t sms)
{
    uint64_t rounds = 0;
    for (uint32_t i = 0; i < launches->applications[application].count; i++) {
        const struct launch_shape *shape = &launches->applications[application].shapes[i];
        uint64_t round = (uint64_t)sms * shape->tbs_per_sm;
        rounds += shape->launches * ((shape->tbs + round - 1) / round);
    }
    return rounds;
}
