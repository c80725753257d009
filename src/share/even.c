/*
 * Even: the SMs are split as evenly as possible over the running applications (Adriaens et al., "The case for GPGPU
 * spatial multitasking", HPCA 2012, section 3.5).
 *
 * Each application gets a contiguous set of SMs, in order of its number; where the division leaves a remainder, the
 * first ones get one SM more. The split is made anew whenever an application arrives or leaves. The paper starts all of
 * its applications together and so needs no hand-over: here an SM that changes hands drains, and stays closed to its new
 * owner until the old thread blocks are gone.
 */
#include "share/policies.h"

enum { PARAMETER_EXCLUSIVE };

static const struct corun_policy_parameter parameters[] = {
    [PARAMETER_EXCLUSIVE] = {"exclusive", 1, 0, 1, true,
                             "an SM that changes hands is emptied before its new owner's first thread block enters",
                             "off|on"},
};

struct even_state {
    bool exclusive;
};

static void split(const struct corun_view *view, struct corun_allowances *allowances)
{
    uint32_t running = 0;
    for (uint32_t a = 0; a < view->application_count; a++)
        running += view->applications[a].state == CORUN_APPLICATION_RUNNING;
    uint32_t first = 0, turn = 0;
    for (uint32_t a = 0; a < view->application_count; a++) {
        uint32_t count = 0;
        if (view->applications[a].state == CORUN_APPLICATION_RUNNING) {
            count = view->sm_count / running + (turn < view->sm_count % running);
            turn++;
        }
        for (uint32_t s = 0; s < view->sm_count; s++) {
            bool owned = s >= first && s < first + count;
            allowances->tb_limit[s * view->application_count + a] = owned ? CORUN_UNLIMITED : 0;
            allowances->reclaim[s * view->application_count + a] = CORUN_RECLAIM_DRAIN;
        }
        first += count;
    }
}

static enum corun_status even_start(void *state, const struct corun_view *view, const double *values,
                                    struct corun_allowances *allowances)
{
    struct even_state *even = state;
    even->exclusive = values[PARAMETER_EXCLUSIVE] != 0;
    if (view->application_count > view->sm_count) {
        allowances->refusal = "there are more applications than SMs, so some would never get one";
        return CORUN_POLICY;
    }
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->exclusive[s] = even->exclusive;
    split(view, allowances);
    return CORUN_OK;
}

static void even_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                        struct corun_allowances *allowances)
{
    (void)state;
    if (moment.event == CORUN_EVENT_ARRIVE || moment.event == CORUN_EVENT_LEAVE)
        split(view, allowances);
}

const struct corun_policy even_policy = {
    .version = CORUN_POLICY_VERSION,
    .name = "even",
    .summary = "the SMs are split evenly over the running applications",
    .paper = "Adriaens et al., The case for GPGPU spatial multitasking, HPCA 2012, section 3.5",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .needs = 1u << CORUN_CAN_TB_LIMIT | 1u << CORUN_CAN_EXCLUSIVE | 1u << CORUN_CAN_DRAIN,
    .state_bytes = sizeof(struct even_state),
    .start = even_start,
    .decide = even_decide,
};
