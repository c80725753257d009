/* SPDX-License-Identifier: MIT */
/* A stage for policies that hand over whole SMs: views in, allowances out, epoch by epoch; no machine. */
#ifndef TESTS_SHARE_SM_STAGE_H
#define TESTS_SHARE_SM_STAGE_H

#include "corun/policy.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STAGE_SMS 40u
#define STAGE_EPOCH 10000u
#define STAGE_VARIABLES 32u

struct stage {
    const struct corun_policy *policy;
    void *state;
    struct corun_view view;
    struct corun_application_view applications[CORUN_MAX_APPLICATIONS];
    struct corun_sm_view sms[STAGE_SMS];
    struct corun_share_view shares[STAGE_SMS * CORUN_MAX_APPLICATIONS];
    uint32_t tb_limit[STAGE_SMS * CORUN_MAX_APPLICATIONS], order[STAGE_SMS * CORUN_MAX_APPLICATIONS];
    enum corun_reclaim reclaim[STAGE_SMS * CORUN_MAX_APPLICATIONS];
    uint32_t grant[CORUN_MAX_APPLICATIONS];
    enum corun_sm_set sm_set[CORUN_MAX_APPLICATIONS];
    bool exclusive[STAGE_SMS], powered[STAGE_SMS], out_of_reach[CORUN_MAX_APPLICATIONS];
    double variables[STAGE_VARIABLES];
    double parameters[32];
    struct corun_allowances allowances;
    char text[STAGE_SMS + 1];
};

/* Before stage_start: parameters may be set by name. */
static inline void stage_create(struct stage *stage, const char *policy, uint32_t sms, uint32_t applications)
{
    memset(stage, 0, sizeof *stage);
    stage->policy = corun_policy_find(policy);
    assert_non_null(stage->policy);
    assert_true(stage->policy->variable_count <= STAGE_VARIABLES && stage->policy->parameter_count <= 32);
    stage->state = calloc(1, stage->policy->state_bytes);
    stage->view = (struct corun_view){.version = CORUN_POLICY_VERSION,
                                      .epoch_cycles = STAGE_EPOCH,
                                      .sm_count = sms,
                                      .application_count = applications,
                                      .capabilities = UINT32_MAX,
                                      .observations = CORUN_ALL_OBSERVATIONS,
                                      .applications = stage->applications,
                                      .sms = stage->sms,
                                      .shares = stage->shares};
    for (uint32_t i = 0; i < sms * applications; i++)
        stage->tb_limit[i] = CORUN_UNLIMITED;
    for (uint32_t s = 0; s < sms; s++)
        stage->powered[s] = true;
    for (uint32_t i = 0; i < stage->policy->parameter_count; i++)
        stage->parameters[i] = stage->policy->parameters[i].initial;
    stage->allowances = (struct corun_allowances){.tb_limit = stage->tb_limit,
                                                  .order = stage->order,
                                                  .exclusive = stage->exclusive,
                                                  .reclaim = stage->reclaim,
                                                  .powered = stage->powered,
                                                  .grant = stage->grant,
                                                  .sm_set = stage->sm_set,
                                                  .out_of_reach = stage->out_of_reach,
                                                  .variables = stage->variables};
}

static inline void stage_set(struct stage *stage, const char *parameter, double value)
{
    for (uint32_t i = 0; i < stage->policy->parameter_count; i++) {
        if (!strcmp(stage->policy->parameters[i].name, parameter)) {
            stage->parameters[i] = value;
            return;
        }
    }
    fail_msg("%s has no parameter %s", stage->policy->name, parameter);
}

static inline enum corun_status stage_start(struct stage *stage)
{
    return stage->policy->start(stage->state, &stage->view, stage->parameters, &stage->allowances);
}

static inline void stage_end(struct stage *stage)
{
    free(stage->state);
}

/* What happened, told to the policy. */
static inline void stage_moment(struct stage *stage, enum corun_policy_event event, uint32_t sm, uint32_t application)
{
    if (event == CORUN_EVENT_ARRIVE) {
        stage->applications[application].state = CORUN_APPLICATION_RUNNING;
        stage->applications[application].arrived_cycle = stage->view.cycle;
    }
    if (event == CORUN_EVENT_LEAVE)
        stage->applications[application].state = CORUN_APPLICATION_LEFT;
    stage->policy->decide(stage->state, &stage->view, (struct corun_policy_moment){event, sm, application},
                          &stage->allowances);
}

/* Of each application, in a line of a script. */
#define IPC(...) ((const double[CORUN_MAX_APPLICATIONS]){__VA_ARGS__})

/* Time passes; application a completes ipc[a] thread instructions a cycle. */
static inline void stage_run(struct stage *stage, uint64_t cycles, const double *ipc)
{
    assert(stage->view.application_count <= CORUN_MAX_APPLICATIONS);
    stage->view.cycle += cycles;
    for (uint32_t a = 0; a < stage->view.application_count; a++)
        stage->applications[a].progress += (uint64_t)(ipc[a] * (double)cycles);
}

/* The end of an epoch in which the applications had these IPCs. */
static inline void stage_epoch_ends(struct stage *stage, const double *ipc)
{
    for (uint32_t a = 0; a < stage->view.application_count; a++)
        stage->applications[a].epoch_ipc = ipc[a];
    stage_moment(stage, CORUN_EVENT_EPOCH, 0, 0);
}

static inline void stage_epoch(struct stage *stage, const double *ipc)
{
    stage_run(stage, STAGE_EPOCH, ipc);
    stage_epoch_ends(stage, ipc);
}

/* `tbs` thread blocks of an application are on an SM. */
static inline void stage_resident(struct stage *stage, uint32_t s, uint32_t application, uint32_t tbs)
{
    struct corun_share_view *share = &stage->shares[s * stage->view.application_count + application];
    stage->sms[s].resident_tbs += tbs - share->resident_tbs;
    share->resident_tbs = tbs;
}

/* `tbs` thread blocks of an application are on their way to an SM. */
static inline void stage_pending(struct stage *stage, uint32_t s, uint32_t application, uint32_t tbs)
{
    stage->shares[s * stage->view.application_count + application].pending_tbs = tbs;
}

/* One letter per SM: its owner; '.' nobody, '-' nobody and without power. */
static inline const char *stage_owners(struct stage *stage)
{
    for (uint32_t s = 0; s < stage->view.sm_count; s++) {
        stage->text[s] = stage->powered[s] ? '.' : '-';
        assert_true(stage->exclusive[s]);
        for (uint32_t a = 0; a < stage->view.application_count; a++) {
            uint32_t limit = stage->tb_limit[s * stage->view.application_count + a];
            assert_true(limit == 0 || limit == CORUN_UNLIMITED);
            if (!limit)
                continue;
            assert_true(stage->text[s] == '.'); /* one owner, and it has power */
            stage->text[s] = (char)('A' + a);
        }
    }
    stage->text[stage->view.sm_count] = 0;
    return stage->text;
}

/* A line of a script: an epoch in which the applications have these IPCs, and who has which SM after it. */
static inline void stage_expect(struct stage *stage, const double *ipc, const char *owners)
{
    stage_epoch(stage, ipc);
    if (strcmp(stage_owners(stage), owners))
        fail_msg("epoch %u: %s, not %s", (unsigned)(stage->view.cycle / STAGE_EPOCH), stage->text, owners);
}

static inline double stage_variable(const struct stage *stage, const char *name)
{
    for (uint32_t i = 0; i < stage->policy->variable_count; i++) {
        if (!strcmp(stage->policy->variables[i].name, name))
            return stage->variables[i];
    }
    fail_msg("%s has no variable %s", stage->policy->name, name);
    return 0;
}

#endif
