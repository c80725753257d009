/* SPDX-License-Identifier: MIT */
/*
 * Every policy declares all that it reads: on a machine that can tell everything it decides as if it had declared
 * everything. What it has not declared is hidden from it (src/govern/view.c), so a forgotten row shows here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gpu/scripted.h"

enum { SMS = 4, APPLICATIONS = 3, WINDOW = 20000, EPOCH = 1000 };

/* Long and short thread blocks, few and many of them, arithmetic and memory. */
static struct script *work(uint32_t application)
{
    static const struct {
        uint32_t tbs, warps, turns, registers, shared_bytes;
    } rows[APPLICATIONS] = {{90, 4, 60, 32, 0}, {40, 8, 25, 48, 12000}, {300, 2, 10, 16, 3000}};
    struct script *script = script_new(rows[application].tbs, rows[application].warps);
    script->grid.registers_per_thread = rows[application].registers;
    script->grid.tb_shared_bytes = rows[application].shared_bytes;
    uint32_t first = script->grid.code_length;
    for (uint16_t i = 0; i < 12; i++)
        script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, (uint16_t)(2 + i), 1, (uint16_t)(1 + i / 2));
    script_end(script, first, rows[application].turns);
    return script;
}

struct outcome {
    enum corun_status status;
    uint64_t cycles, instructions[APPLICATIONS];
    uint32_t runs[APPLICATIONS];
    bool out_of_reach[APPLICATIONS];
    struct corun_counters shares[SMS][APPLICATIONS];
};

static void run(const struct corun_policy *policy, uint32_t observes, uint32_t applications, double goal,
                struct outcome *outcome)
{
    static const double speedup[SMS] = {1, 1.9, 2.7, 3.3};
    struct corun_policy changed = *policy;
    changed.observes = observes;
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = SMS;
    config.epoch_cycles = EPOCH;
    struct corun_gpu *gpu;
    struct script *scripts[APPLICATIONS];
    memset(outcome, 0, sizeof *outcome);
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    for (uint32_t a = 0; a < applications; a++) {
        uint32_t index;
        char name[16];
        snprintf(name, sizeof name, "app%u", a);
        scripts[a] = work(a);
        struct corun_application_description description = {.name = name,
                                                            .grid = script_next,
                                                            .user = scripts[a],
                                                            .start_cycle = a == 2 ? 5500 : 0,
                                                            .isolated_ipc = 400 - 50 * a,
                                                            .speedup = speedup,
                                                            .speedup_count = SMS,
                                                            .goal = a ? CORUN_GOAL_NONE : CORUN_GOAL_FRACTION,
                                                            .goal_value = a ? 0 : goal};
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    struct corun_limits limits = {.cycles = WINDOW};
    struct corun_diagnostics *list = corun_diagnostics_create();
    outcome->status = corun_gpu_set_policy(gpu, &changed, NULL, list);
    if (outcome->status == CORUN_OK)
        outcome->status = corun_gpu_run(gpu, &limits, list);
    outcome->cycles = corun_gpu_cycles(gpu);
    for (uint32_t a = 0; a < applications; a++) {
        struct corun_application_result result;
        corun_gpu_application(gpu, a, &result);
        outcome->instructions[a] = result.thread_instructions;
        outcome->runs[a] = result.runs;
        outcome->out_of_reach[a] = result.out_of_reach;
        for (uint32_t s = 0; s < SMS; s++)
            corun_gpu_share(gpu, s, a, &outcome->shares[s][a]);
    }
    corun_diagnostics_destroy(list);
    corun_gpu_destroy(gpu);
    for (uint32_t a = 0; a < applications; a++)
        free(scripts[a]);
}

static bool same(const struct outcome *a, const struct outcome *b)
{
    return a->status == b->status && a->cycles == b->cycles &&
           !memcmp(a->instructions, b->instructions, sizeof a->instructions) &&
           !memcmp(a->runs, b->runs, sizeof a->runs) &&
           !memcmp(a->out_of_reach, b->out_of_reach, sizeof a->out_of_reach) &&
           !memcmp(a->shares, b->shares, sizeof a->shares);
}

static void what_is_declared_is_enough(void **unused)
{
    (void)unused;
    static const double goals[] = {0.3, 0.8};
    for (size_t i = 0; corun_policy_at(i); i++) {
        const struct corun_policy *policy = corun_policy_at(i);
        uint32_t ran = 0;
        if (policy->needs >> CORUN_CAN_GRANT & 1u) /* not of this machine */
            continue;
        for (uint32_t applications = 2; applications <= APPLICATIONS; applications++)
            for (size_t goal = 0; goal < sizeof goals / sizeof goals[0]; goal++) {
                struct outcome declared, all;
                run(policy, policy->observes, applications, goals[goal], &declared);
                run(policy, CORUN_ALL_OBSERVATIONS, applications, goals[goal], &all);
                if (!same(&declared, &all))
                    fail_msg("%s reads what it does not declare", policy->name);
                ran += declared.status == CORUN_OK;
            }
        if (!ran && strcmp(policy->name, "fixed") != 0) /* which cannot start without its split */
            fail_msg("%s was not tried", policy->name);
    }
}

/* And the test finds those that are not: without one of their rows, these decide otherwise. */
static void what_is_forgotten_shows(void **unused)
{
    (void)unused;
    static const struct {
        const char *policy;
        enum corun_observation_kind forgotten;
    } rows[] = {{"smqos", CORUN_SEES_PROGRESS},
                {"spart-qos", CORUN_SEES_PROGRESS},
                {"smk", CORUN_SEES_TB_RESOURCES},
                {"smk-pw", CORUN_SEES_RESIDENT_TBS},
                {"warped-slicer", CORUN_SEES_THREAD_INSTRUCTIONS},
                {"qos-rollover", CORUN_SEES_PROGRESS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct corun_policy *policy = corun_policy_find(rows[i].policy);
        struct outcome declared, less;
        run(policy, policy->observes, 2, 0.8, &declared);
        run(policy, policy->observes & ~(1u << rows[i].forgotten), 2, 0.8, &less);
        if (same(&declared, &less))
            fail_msg("%s did not notice row %zu", rows[i].policy, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_declared_is_enough),
        cmocka_unit_test(what_is_forgotten_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
