/* SPDX-License-Identifier: MIT */
/*
 * A policy for corun in one file: every SM is shared, and every few epochs one thread block of each SM goes from the application that
 * is farthest ahead to the one that is farthest behind, compared with what each reaches alone. docs/writing-policies.md tells it line by line.
 */
#include "corun/policy.h"

enum { PAUSE, PARAMETER_COUNT };
static const struct corun_policy_parameter parameters[] = {
    [PAUSE] = {"pause", 1, 1, 1000, true, "epochs between two moves", NULL},
};

struct state { /* zeroed before `start` */
    uint32_t pause, epochs;
};

/* Each gets as many thread blocks as fit, divided by the number of those that are there. */
static void split(const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t present = 0;
    for (uint32_t a = 0; a < view->application_count; a++)
        present += view->applications[a].state == CORUN_APPLICATION_RUNNING;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++) {
        uint32_t fitting = view->applications[i % view->application_count].running.tbs_per_sm;
        allowances->tb_limit[i] = present && fitting > present ? fitting / present : 1;
        allowances->reclaim[i] = CORUN_RECLAIM_SWAP_TB;
    }
}

static void move(const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t behind = 0, ahead = 0;
    double least = 2, most = 0; /* of what it reaches alone */
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_application_view *application = &view->applications[a];
        double reached = application->ipc / application->isolated_ipc;
        if (application->state == CORUN_APPLICATION_RUNNING && reached < least)
            least = reached, behind = a;
        if (application->state == CORUN_APPLICATION_RUNNING && reached > most)
            most = reached, ahead = a;
    }
    for (uint32_t s = 0; s < view->sm_count && behind != ahead; s++) {
        uint32_t *limits = &allowances->tb_limit[s * view->application_count];
        if (limits[ahead] > 1) {
            limits[ahead]--;
            limits[behind]++;
        }
    }
}

static enum corun_status start(void *memory, const struct corun_view *view, const double *values,
                               struct corun_allowances *allowances)
{
    ((struct state *)memory)->pause = (uint32_t)values[PAUSE];
    split(view, allowances);
    return CORUN_OK;
}

static void decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    struct state *state = memory;
    if (moment.event == CORUN_EVENT_KERNEL_START || moment.event == CORUN_EVENT_LEAVE)
        split(view, allowances);
    if (moment.event == CORUN_EVENT_EPOCH && ++state->epochs % state->pause == 0)
        move(view, allowances);
}

const struct corun_policy corun_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "fair-turns",
    .summary = "thread blocks go from whoever is ahead to whoever is behind",
    .paper = "an example",
    .parameters = parameters, .parameter_count = PARAMETER_COUNT,
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_SWAP_TB,
    .observes = 1u << CORUN_SEES_PROGRESS | 1u << CORUN_SEES_OCCUPANCY,
    .needs_isolated_ipc = true, .state_bytes = sizeof(struct state),
    .start = start, .decide = decide,
};
