/* SPDX-License-Identifier: MIT */
/*
 * Thread limits: every SM is everybody's, and each application has a share of its threads, at least one thread block: as the multi-process service
 * of CUDA limits the active threads of a client. A goal is the share, what is left is split evenly over the others (Sun et al., SMQoS,
 * Parallel Computing 2022, section 6.1: "the thread limit ratio of Volta-MPS is set according to the QoS policy"). A limit is no reservation.
 */
#include "share/goal_split.h"
#include "share/policies.h"

enum { PARAMETER_BATCH };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_BATCH] = {"batch", 0, 0, 100, false,
                         "percentage of each application without a goal; 0: an even part of what goals leave", NULL},
};

struct thread_limits_state {
    double batch;
};

static bool is_batch(const struct corun_application_view *application)
{
    return application->state == CORUN_APPLICATION_RUNNING && !(goal_split_ratio(application) > 0);
}

static double share_of_batch(const struct thread_limits_state *state, const struct corun_view *view)
{
    double left = 1;
    uint32_t batch = 0;
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_application_view *application = &view->applications[a];
        left -= application->state == CORUN_APPLICATION_RUNNING ? goal_split_ratio(application) : 0;
        batch += is_batch(application);
    }
    if (state->batch > 0)
        return state->batch / 100;
    return batch && left > 0 ? left / batch : 0;
}

static uint32_t limit_of(const struct corun_view *view, uint32_t a, double share)
{
    uint32_t threads = view->applications[a].running.kernel ? view->applications[a].running.tb_threads : 0;
    double tbs = threads ? share * view->threads_per_sm / threads + 1e-9 : 1;
    return tbs >= 1 ? (uint32_t)tbs : 1;
}

static void allow(const struct thread_limits_state *state, const struct corun_view *view,
                  struct corun_allowances *allowances)
{
    double batch = share_of_batch(state, view);
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_application_view *application = &view->applications[a];
        uint32_t limit = limit_of(view, a, is_batch(application) ? batch : goal_split_ratio(application));
        for (uint32_t s = 0; s < view->sm_count; s++)
            allowances->tb_limit[s * view->application_count + a] = limit;
    }
}

static enum corun_status thread_limits_start(void *memory, const struct corun_view *view, const double *values,
                                             struct corun_allowances *allowances)
{
    struct thread_limits_state *state = memory;
    state->batch = values[PARAMETER_BATCH];
    if (goal_split_too_much(view, &allowances->refusal))
        return CORUN_POLICY;
    allow(state, view, allowances);
    return CORUN_OK;
}

static void thread_limits_decide(void *memory, const struct corun_view *view, struct corun_policy_moment moment,
                                 struct corun_allowances *allowances)
{
    if (moment.event != CORUN_EVENT_LIMIT_REACHED)
        allow(memory, view, allowances);
}

const struct corun_policy thread_limits_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "thread-limits",
    .summary = "a share of the threads of every SM, as goals are of the isolated IPC",
    .paper = "Volta-MPS in Sun et al., SMQoS, Parallel Computing 2022, section 6.1",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_DRAIN,
    .needs_isolated_ipc = true,
    .state_bytes = sizeof(struct thread_limits_state),
    .start = thread_limits_start,
    .decide = thread_limits_decide,
};
