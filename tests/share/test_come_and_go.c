/* SPDX-License-Identifier: MIT */
/*
 * For every policy, an application that arrives where another one has left is a new one. Two machines on which the same happens: on one the
 * newcomer gets the slot of the one that has left, on the other that one keeps its slot (it was stopped and never left for good), and the
 * newcomer gets a fresh one. From its arrival on, both are decided on alike, to the cycle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gpu/scripted.h"

enum { SMS = 6, SLOTS = 3, EPOCH = 1000, AFTERWARDS = 3 * EPOCH, LONGEST = 400000, SHARED = 25000 };
static const double speedup[SMS] = {1, 1.9, 2.7, 3.3, 3.7, 3.9};

struct client {
    struct script *script, *too_large;
    uint32_t runs_left; /* then it is stopped: its next grid fits no SM */
};

static const struct corun_grid *next_grid(void *user, uint32_t index)
{
    struct client *client = user;
    if (index)
        return NULL;
    if (!client->runs_left)
        return &client->too_large->grid;
    client->runs_left--;
    return &client->script->grid;
}

static struct client client_new(uint32_t tbs, uint32_t warps, uint32_t turns, uint32_t runs)
{
    struct client client = {script_new(tbs, warps), script_new(1, 1), runs};
    struct script *script = client.script;
    script->grid.registers_per_thread = 40;
    script->grid.tb_shared_bytes = 6000;
    for (uint16_t i = 0; i < 12; i++)
        script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, (uint16_t)(2 + i), 1, (uint16_t)(1 + i / 2));
    uint32_t load = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, 20, 1, (uint64_t)(tbs + 1) << 32, 4);
    script->warp_stride[load] = 512;
    script_end(script, 0, turns);
    client.too_large->grid.tb_shared_bytes = UINT32_C(1) << 30;
    return client;
}

static void client_free(struct client *client)
{
    free(client->script);
    free(client->too_large);
}

/* What was decided from the newcomer's arrival on: its entries and those of the one that stays, whatever the slot is. */
struct decided {
    uint32_t newcomer;
    uint64_t moments, sum;
    uint32_t most_sms; /* on which the newcomer may be, at its arrival */
    double goal;
    uint64_t instructions[2];
    bool told;
};

static void mix(struct decided *decided, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        decided->sum = (decided->sum ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
}

#define MIX(decided, value) mix(decided, &(value), sizeof(value))

static void note(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    (void)gpu;
    struct decided *decided = user;
    const struct corun_allowances *w = seen->allowances;
    if (seen->kind != CORUN_OBSERVED_MOMENT || !decided->newcomer)
        return;
    decided->moments++;
    MIX(decided, seen->cycle);
    MIX(decided, seen->event);
    MIX(decided, seen->sm);
    bool is_newcomer = seen->application == decided->newcomer;
    MIX(decided, is_newcomer);
    for (uint32_t s = 0; s < SMS; s++) {
        const uint32_t entries[] = {s * SLOTS, s * SLOTS + decided->newcomer};
        for (size_t i = 0; i < 2; i++) {
            MIX(decided, w->tb_limit[entries[i]]);
            MIX(decided, w->order[entries[i]]);
            MIX(decided, w->reclaim[entries[i]]);
            MIX(decided, w->partition[entries[i]]);
            MIX(decided, w->quota[entries[i]]);
            MIX(decided, w->quota_refill[entries[i]]);
        }
        MIX(decided, w->exclusive[s]);
        MIX(decided, w->powered[s]);
        if (!decided->told)
            decided->most_sms += w->tb_limit[entries[1]] != 0;
    }
    decided->told = true;
    MIX(decided, w->quotas_on);
    MIX(decided, w->fill);
    MIX(decided, w->out_of_reach[0]);
    MIX(decided, w->out_of_reach[decided->newcomer]);
}

static void advance_to(struct corun_gpu *gpu, uint64_t cycle)
{
    while (corun_gpu_cycles(gpu) < cycle)
        assert_int_equal(corun_gpu_advance(gpu, cycle), CORUN_OK);
}

static uint32_t add(struct corun_gpu *gpu, const char *name, struct client *client, double goal)
{
    uint32_t application;
    struct corun_application_description description = {.name = name,
                                                        .grid = next_grid,
                                                        .user = client,
                                                        .isolated_ipc = 600,
                                                        .speedup = speedup,
                                                        .speedup_count = SMS,
                                                        .goal = goal > 0 ? CORUN_GOAL_FRACTION : CORUN_GOAL_NONE,
                                                        .goal_value = goal};
    assert_int_equal(corun_gpu_add(gpu, &description, &application), CORUN_OK);
    return application;
}

static void play(const struct corun_policy *policy, const double *goals, bool fresh, struct decided *decided)
{
    double parameters[64] = {0};
    for (uint32_t i = 0; i < policy->parameter_count; i++) {
        const char *parameter = policy->parameters[i].name;
        parameters[i] = policy->parameters[i].initial;
        if (!strncmp(parameter, "split_", strlen("split_")))
            parameters[i] = i < SLOTS ? SMS / SLOTS : 0;
        if (!strcmp(parameter, "slice"))
            parameters[i] = 10 * EPOCH;
    }
    /* the one that leaves and the one that comes have thread blocks of one shape */
    struct client a = client_new(60, 4, 20, UINT32_MAX), b = client_new(40, 8, 10, 4),
                  c = client_new(40, 8, 10, UINT32_MAX);
    struct corun_gpu_config config;
    struct corun_limits limits = {.applications = SLOTS};
    struct corun_gpu *gpu;
    struct corun_application_result result;
    memset(decided, 0, sizeof *decided);
    decided->sum = UINT64_C(0xcbf29ce484222325);
    corun_gpu_config_default(&config);
    config.sms = SMS;
    config.epoch_cycles = EPOCH;
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    assert_int_equal(corun_gpu_set_policy(gpu, policy, parameters, NULL), CORUN_OK);
    corun_gpu_observe(gpu, 0, note, decided);
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (corun_gpu_open(gpu, &limits, list) != CORUN_OK)
        fail_msg("%s: %s", policy->name, corun_diagnostics_get(list, 0)->message);
    add(gpu, "stays", &a, goals[0]);
    uint32_t leaves = add(gpu, "leaves", &b, goals[1]);
    do {
        advance_to(gpu, corun_gpu_cycles(gpu) + EPOCH);
        corun_gpu_application(gpu, leaves, &result);
    } while (result.status == CORUN_OK && corun_gpu_cycles(gpu) < LONGEST);
    if (result.status != CORUN_LIMIT)
        fail_msg("%s: the second one never got far enough", policy->name);
    advance_to(gpu, corun_gpu_cycles(gpu) + AFTERWARDS);
    if (!fresh) {
        assert_int_equal(corun_gpu_leave(gpu, leaves), CORUN_OK);
        client_free(&b);
    }
    decided->newcomer = fresh ? 2 : 1;
    uint32_t comes = add(gpu, "comes", &c, goals[2]);
    assert_int_equal(corun_application_slot(comes), decided->newcomer);
    advance_to(gpu, corun_gpu_cycles(gpu) + SHARED);
    corun_gpu_application(gpu, 0, &result);
    decided->instructions[0] = result.thread_instructions;
    corun_gpu_application(gpu, comes, &result);
    decided->instructions[1] = result.thread_instructions;
    assert_int_equal(result.status, CORUN_OK);
    corun_gpu_destroy(gpu);
    corun_diagnostics_destroy(list);
    if (fresh)
        client_free(&b);
    client_free(&a);
    client_free(&c);
}

static void a_newcomer_is_new_to_every_policy(void **unused)
{
    (void)unused;
    /* of the one that stays, the one that leaves, the newcomer */
    static const double goals[][3] = {{0.3, 0.2, 0}, {0.2, 0, 0.3}};
    for (size_t i = 0; corun_policy_at(i); i++)
        for (size_t g = 0; g < sizeof goals / sizeof goals[0]; g++) {
            const struct corun_policy *policy = corun_policy_at(i);
            struct decided used, fresh;
            if (policy->needs >> CORUN_CAN_GRANT & 1u) /* not of this machine */
                continue;
            play(policy, goals[g], false, &used);
            play(policy, goals[g], true, &fresh);
            if (!used.instructions[1] || !used.moments)
                fail_msg("%s: nothing was decided for the newcomer, or it did nothing", policy->name);
            if (used.most_sms != fresh.most_sms)
                fail_msg("%s: %u SMs, and %u in a fresh slot", policy->name, used.most_sms, fresh.most_sms);
            if (!strcmp(policy->name, "fixed")) /* a slot has SMs of its own */
                continue;
            if (used.sum != fresh.sum || used.moments != fresh.moments ||
                used.instructions[0] != fresh.instructions[0] || used.instructions[1] != fresh.instructions[1])
                fail_msg("%s, goals %zu: the newcomer is not treated as in a fresh slot", policy->name, g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_is_new_to_every_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
