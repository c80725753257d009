/* SPDX-License-Identifier: MIT */
/*
 * A stage for policies by script: applications that run scripted code, a policy that does what the test says at each
 * moment, and a record of every instruction that issued. Include after cmocka's headers.
 */
#ifndef TESTS_GPU_STAGE_H
#define TESTS_GPU_STAGE_H

#include <stdio.h>

#include "scripted.h"

enum { STAGE_APPLICATIONS = 4, STAGE_ISSUES = 1 << 16, STAGE_MOMENTS = 4096, STAGE_POWERS = 64, STAGE_SMS = 8 };

struct stage_issue {
    uint64_t cycle;
    uint32_t sm, scheduler, application;
};

struct stage_moment {
    uint64_t cycle;
    enum corun_policy_event event;
    uint32_t sm;
    int64_t quota[STAGE_APPLICATIONS]; /* on that SM */
};

struct stage_power {
    uint64_t cycle;
    uint32_t sm;
    bool on;
};

struct stage {
    struct corun_gpu_config config;
    struct script *scripts[STAGE_APPLICATIONS];
    uint64_t arrivals[STAGE_APPLICATIONS];
    uint32_t application_count;
    struct corun_limits limits;
    void (*start)(struct stage *stage, const struct corun_view *view, struct corun_allowances *allowances);
    void (*decide)(struct stage *stage, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances);
    void (*see)(struct stage *stage, const struct corun_gpu *gpu, const struct corun_observation *seen);
    /* afterwards */
    enum corun_status status;
    char message[512];
    uint64_t cycles;
    struct corun_application_result results[STAGE_APPLICATIONS];
    struct corun_counters counters[STAGE_APPLICATIONS]; /* of all SMs */
    struct corun_energy_result energy;
    struct stage_issue *issues; /* [STAGE_ISSUES] */
    uint32_t issue_count;
    struct stage_moment *moments; /* [STAGE_MOMENTS] */
    uint32_t moment_count;
    struct stage_power powers[STAGE_POWERS];
    uint32_t power_count;
    uint64_t gated_cycles[STAGE_SMS];
};

/* Cycles that are accounted for, once for each scheduler or once for each application. */
static inline uint64_t scheduler_cycles(const struct corun_counters *c)
{
    return c->issue_cycles + c->stall_fetch + c->stall_control + c->stall_data + c->stall_memory_data +
           c->stall_pipeline + c->stall_memory + c->stall_barrier + c->stall_fence + c->stall_quota + c->stall_other +
           c->stall_preempted;
}

/* No cycle of a scheduler is missing, none is there twice, and what all wait for is what at least one waits for. */
static void expect_whole_cycles(const struct stage *stage, const struct corun_sm_result *sm)
{
    const struct corun_counters *all = &sm->counters, *once = &sm->schedulers;
    assert_int_equal(scheduler_cycles(once) + sm->idle_scheduler_cycles,
                     stage->cycles * stage->config.schedulers_per_sm);
    /* the instruction with which an application leaves the SM is nobody's cycle */
    assert_in_range(once->issue_cycles, all->issue_cycles, all->issue_cycles + all->tbs_completed);
    assert_int_equal(once->stall_other, 0);
    assert_true(once->stall_pipeline <= all->stall_pipeline && once->stall_memory <= all->stall_memory);
    assert_true(once->stall_data + once->stall_memory_data <= all->stall_data + all->stall_memory_data);
    assert_true(once->stall_quota <= all->stall_quota && once->stall_barrier <= all->stall_barrier);
}

/* The policy's state is a pointer to the stage: set for the time of a run, of which there is one at a time. */
static struct stage *on_stage;

static enum corun_status stage_start(void *state, const struct corun_view *view, const double *parameters,
                                     struct corun_allowances *allowances)
{
    (void)parameters;
    *(struct stage **)state = on_stage;
    if (on_stage->start)
        on_stage->start(on_stage, view, allowances);
    return CORUN_OK;
}

static void stage_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                         struct corun_allowances *allowances)
{
    struct stage *stage = *(struct stage **)state;
    if (stage->moment_count < STAGE_MOMENTS) {
        struct stage_moment *note = &stage->moments[stage->moment_count++];
        *note = (struct stage_moment){.cycle = view->cycle, .event = moment.event, .sm = moment.sm};
        for (uint32_t a = 0; a < view->application_count; a++)
            note->quota[a] = view->shares[moment.sm * view->application_count + a].quota;
    }
    if (stage->decide)
        stage->decide(stage, view, moment, allowances);
}

static void stage_note(void *user, const struct corun_trace_event *event)
{
    struct stage *stage = user;
    if (stage->issue_count < STAGE_ISSUES)
        stage->issues[stage->issue_count++] =
            (struct stage_issue){event->cycle, event->sm, event->scheduler, event->application};
}

static void stage_see(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct stage *stage = user;
    if (stage->see)
        stage->see(stage, gpu, seen);
    if (seen->kind == CORUN_OBSERVED_POWER && stage->power_count < STAGE_POWERS)
        stage->powers[stage->power_count++] = (struct stage_power){seen->cycle, seen->sm, seen->powered};
}

/* A stage with one SM; scripts are added by the test and freed with stage_end. */
static inline struct stage *stage_new(void)
{
    struct stage *stage = calloc(1, sizeof *stage);
    corun_gpu_config_default(&stage->config);
    stage->config.sms = 1;
    stage->config.dram_tREFI = 0;
    stage->config.energy_scale = 1000;
    stage->limits.cycles = 5000;
    stage->issues = calloc(STAGE_ISSUES, sizeof *stage->issues);
    stage->moments = calloc(STAGE_MOMENTS, sizeof *stage->moments);
    return stage;
}

static inline void stage_end(struct stage *stage)
{
    for (uint32_t a = 0; a < stage->application_count; a++)
        free(stage->scripts[a]);
    free(stage->issues);
    free(stage->moments);
    free(stage);
}

static inline void stage_run(struct stage *stage)
{
    static const struct corun_policy policy = {.version = CORUN_POLICY_VERSION,
                                               .name = "scripted",
                                               .observes = CORUN_ALL_OBSERVATIONS,
                                               .state_bytes = sizeof(struct stage *),
                                               .start = stage_start,
                                               .decide = stage_decide};
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu *gpu;
    stage->issue_count = stage->moment_count = stage->power_count = 0;
    stage->message[0] = '\0';
    assert_int_equal(corun_gpu_create(&stage->config, NULL, &gpu), CORUN_OK);
    for (uint32_t a = 0; a < stage->application_count; a++) {
        uint32_t index;
        char name[16];
        snprintf(name, sizeof name, "app%u", a);
        struct corun_application_description description = {
            .name = name, .grid = script_next, .user = stage->scripts[a], .start_cycle = stage->arrivals[a]};
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    assert_int_equal(corun_gpu_set_policy(gpu, &policy, NULL, NULL), CORUN_OK);
    corun_gpu_trace(gpu, 0, UINT64_MAX, stage_note, stage);
    corun_gpu_observe(gpu, 0, stage_see, stage);
    on_stage = stage;
    stage->status = corun_gpu_run(gpu, &stage->limits, list);
    on_stage = NULL;
    stage->cycles = corun_gpu_cycles(gpu);
    for (uint32_t a = 0; a < stage->application_count; a++) {
        corun_gpu_application(gpu, a, &stage->results[a]);
        memset(&stage->counters[a], 0, sizeof stage->counters[a]);
        for (uint32_t k = 0; k < stage->results[a].kernel_count; k++) {
            struct corun_kernel_result kernel;
            corun_gpu_kernel(gpu, a, k, &kernel);
            corun_counters_add(&stage->counters[a], &kernel.counters);
        }
    }
    for (uint32_t s = 0; s < stage->config.sms && s < STAGE_SMS; s++) {
        struct corun_sm_result sm;
        corun_gpu_sm(gpu, s, &sm);
        stage->gated_cycles[s] = sm.gated_cycles;
        if (stage->status == CORUN_OK)
            expect_whole_cycles(stage, &sm);
    }
    corun_gpu_energy(gpu, &stage->energy);
    if (corun_diagnostics_count(list))
        snprintf(stage->message, sizeof stage->message, "%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    corun_gpu_destroy(gpu);
}

#endif
