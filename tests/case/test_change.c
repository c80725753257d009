/* SPDX-License-Identifier: MIT */
/* Every policy takes over from every other kind on a simulated GPU that runs, and digits do not depend on host threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/scripted.h"

enum { SMS = 4, APPLICATIONS = 3, STRETCH = 6000 };

static struct script *work(uint32_t number)
{
    struct script *script = script_new(4000, number == 1 ? 4 : 2);
    const uint64_t base = (uint64_t)(number + 1) << 40;
    for (uint16_t i = 0; i < 4; i++)
        script_compute(script, CORUN_UNIT_INT, CORUN_OPERATION_ADD, (uint16_t)(2 + i), 1, (uint16_t)(1 + i));
    if (number)
        script->warp_stride[script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 2, 1, base, 4)] = 4096;
    script_end(script, 0, 40);
    script->grid.idempotent = number == 2;
    return script;
}

struct stage {
    struct corun_gpu *gpu;
    struct corun_diagnostics *list;
    struct script *scripts[APPLICATIONS];
    uint32_t applications[APPLICATIONS];
};

static void open_stage(struct stage *stage, const struct corun_policy *policy, uint32_t threads)
{
    struct corun_gpu_config config;
    struct corun_limits limits = {.applications = 4, .threads = threads};
    corun_gpu_config_default(&config);
    config.sms = SMS;
    config.epoch_cycles = 1000;
    stage->list = corun_diagnostics_create();
    assert_int_equal(corun_gpu_create(&config, stage->list, &stage->gpu), CORUN_OK);
    if (policy)
        assert_int_equal(corun_gpu_set_policy(stage->gpu, policy, NULL, stage->list), CORUN_OK);
    assert_int_equal(corun_gpu_open(stage->gpu, &limits, stage->list), CORUN_OK);
}

static void begin(struct stage *stage)
{
    static const char *const names[APPLICATIONS] = {"a", "b", "c"};
    for (uint32_t a = 0; a < APPLICATIONS; a++) {
        uint32_t number;
        struct corun_application_description description = {.name = names[a], .isolated_ipc = 200};
        if (a == 1) {
            description.goal = CORUN_GOAL_FRACTION;
            description.goal_value = 0.3;
        }
        stage->scripts[a] = work(a);
        assert_int_equal(corun_gpu_add(stage->gpu, &description, &stage->applications[a]), CORUN_OK);
        assert_int_equal(corun_gpu_launch(stage->gpu, stage->applications[a], &stage->scripts[a]->grid, 0, 0, &number),
                         CORUN_OK);
    }
}

static void advance(struct stage *stage, uint64_t cycles)
{
    uint64_t until = corun_gpu_cycles(stage->gpu) + cycles;
    while (corun_gpu_cycles(stage->gpu) < until) {
        uint64_t before = corun_gpu_cycles(stage->gpu);
        enum corun_status status = corun_gpu_advance(stage->gpu, until);
        if (status != CORUN_OK)
            fail_msg("%s", corun_diagnostics_get(stage->list, 0)->message);
        if (corun_gpu_cycles(stage->gpu) == before)
            return; /* everything is done */
    }
}

static void close_stage(struct stage *stage)
{
    corun_gpu_destroy(stage->gpu);
    for (uint32_t a = 0; a < APPLICATIONS; a++)
        free(stage->scripts[a]);
    corun_diagnostics_destroy(stage->list);
}

static uint64_t done_by(const struct stage *stage, uint32_t a)
{
    struct corun_application_result result;
    corun_gpu_application(stage->gpu, stage->applications[a], &result);
    assert_int_equal(result.status, CORUN_OK);
    return result.thread_instructions;
}

/* Changed before anything has arrived, it is the policy that was there from the beginning. */
static void at_the_beginning(void **unused)
{
    (void)unused;
    static const char *const names[] = {"even", "smqos", "smk", "qos-rollover", "time-slice"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct corun_policy *policy = corun_policy_find(names[i]);
        struct stage set, changed;
        assert_non_null(policy);
        open_stage(&set, policy, 1);
        open_stage(&changed, NULL, 1);
        assert_int_equal(corun_gpu_change_policy(changed.gpu, policy, NULL, changed.list), CORUN_OK);
        begin(&set);
        begin(&changed);
        for (uint32_t turn = 0; turn < 4; turn++) {
            advance(&set, STRETCH);
            advance(&changed, STRETCH);
            for (uint32_t a = 0; a < APPLICATIONS; a++)
                assert_int_equal(done_by(&set, a), done_by(&changed, a));
        }
        close_stage(&set);
        close_stage(&changed);
    }
}

/* Through the whole list, forwards and backwards, in the middle of everything; rows of what was done. */
static uint32_t through_all(uint32_t threads, uint64_t *rows)
{
    struct stage stage;
    uint32_t count = 0, taken = 0;
    open_stage(&stage, NULL, threads);
    begin(&stage);
    size_t policies = 0;
    while (corun_policy_at(policies))
        policies++;
    for (size_t i = 0; i < 2 * policies; i++) {
        const struct corun_policy *policy = corun_policy_at(i < policies ? i : 2 * policies - 1 - i);
        const struct corun_policy *before = corun_gpu_policy(stage.gpu);
        corun_diagnostics_clear(stage.list);
        enum corun_status status =
            policy->needs_speedup ? CORUN_POLICY : corun_gpu_change_policy(stage.gpu, policy, NULL, stage.list);
        taken += status == CORUN_OK;
        assert_ptr_equal(corun_gpu_policy(stage.gpu), status == CORUN_OK ? policy : before);
        assert_true(status == CORUN_OK || status == CORUN_POLICY);
        advance(&stage, STRETCH);
        for (uint32_t a = 0; a < APPLICATIONS; a++)
            rows[count++] = done_by(&stage, a);
    }
    assert_int_equal(corun_gpu_change_policy(stage.gpu, NULL, NULL, stage.list), CORUN_OK);
    advance(&stage, 10000000);
    for (uint32_t a = 0; a < APPLICATIONS; a++) {
        struct corun_launched launched;
        corun_gpu_launched(stage.gpu, stage.applications[a], 0, &launched);
        assert_true(launched.ended && launched.status == CORUN_OK);
        rows[count++] = done_by(&stage, a);
    }
    rows[count++] = taken;
    close_stage(&stage);
    return count;
}

static void every_policy(void **unused)
{
    (void)unused;
    uint64_t one[512] = {0}, three[512] = {0};
    uint32_t count = through_all(1, one);
    assert_true(count < 512);
    assert_int_equal(through_all(3, three), count);
    assert_memory_equal(one, three, sizeof one);
    assert_true(one[count - 1] >= 30); /* most of them can */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_beginning),
        cmocka_unit_test(every_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
